//! Texts that a client shows as documents: the pages of rules, and how a finding comes about. They
//! are files of a directory that nobody else can read, and that goes with the server.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// The directory, made when the first text needs it.
#[derive(Debug, Default)]
pub struct Papers {
    dir: Option<PathBuf>,
    written: BTreeSet<PathBuf>,
    /// Whether nothing could be written; nothing more is tried then.
    refused: bool,
}

/// So many names are tried for the directory: one that exists belongs to somebody else.
const MAX_TRIES: u32 = 100;

impl Papers {
    /// The file `name` with `text`, which is written once. `None` if it cannot be.
    pub fn file(&mut self, name: &str, text: impl FnOnce() -> String) -> Option<PathBuf> {
        if self.refused {
            return None;
        }
        let file = self.write(name, text);
        self.refused = file.is_err();
        file.ok()
    }

    fn write(&mut self, name: &str, text: impl FnOnce() -> String) -> io::Result<PathBuf> {
        let dir = match &self.dir {
            Some(dir) => dir,
            None => self.dir.insert(make_dir(&std::env::temp_dir())?),
        };
        let path = dir.join(name);
        if !self.written.contains(&path) {
            fs::write(&path, text())?;
            self.written.insert(path.clone());
        }
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
    fn a_text_is_written_once_and_goes_in_the_end() {
        let mut papers = Papers::default();
        let file = papers.file("a.md", || "a".to_owned()).expect("a file");
        assert_eq!(papers.file("a.md", || unreachable!()), Some(file.clone()));
        assert_eq!(fs::read_to_string(&file).expect("a file"), "a");
        drop(papers);
        assert!(!file.parent().expect("a directory").exists());
    }
}
