//! The documents of an editor's server: files of a directory that nobody else can read, and that goes
//! with the server.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory, made when the first document needs it.
#[derive(Debug, Default)]
pub struct Papers {
    dir: Option<PathBuf>,
}

/// So many names are tried for the directory: one that exists belongs to somebody else.
const MAX_TRIES: u32 = 100;

impl Papers {
    /// Writes a document, and gives its path.
    pub fn write(&mut self, name: &str, text: &str) -> io::Result<PathBuf> {
        let dir = match &self.dir {
            Some(dir) => dir,
            None => self.dir.insert(make_dir(&std::env::temp_dir())?),
        };
        let path = dir.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Papers {
    fn drop(&mut self) {
        if let Some(dir) = &self.dir {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

/// Makes a directory below `parent`, which others may write to.
fn make_dir(parent: &Path) -> io::Result<PathBuf> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let process = std::process::id();
    let names = (0..MAX_TRIES).map(|number| parent.join(format!("straggler-{process}-{number}")));
    let mut last = io::Error::from(io::ErrorKind::AlreadyExists);
    for dir in names {
        match builder.create(&dir) {
            Ok(()) => return Ok(dir),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => last = error,
            Err(error) => return Err(error),
        }
    }
    Err(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_goes_in_the_end() {
        let mut papers = Papers::default();
        let file = papers.write("a.md", "a").expect("a file");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "a");
        drop(papers);
        assert!(!file.parent().expect("a directory").exists());
    }
}
