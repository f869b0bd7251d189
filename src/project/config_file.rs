//! Where a team's `straggler.toml` is.

use std::path::Path;

use super::read::{Disk, ReadError};
use super::{LoadOptions, path};
use crate::diagnostic::{Note, NoteKind};

/// A `straggler.toml`, not yet understood.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Its path as shown to people.
    pub path: String,
    /// Its text.
    pub text: String,
}

const NAME: &str = "straggler.toml";

/// The `straggler.toml` of the working directory, or else of the nearest directory above it in the
/// same repository. What stands outside the repository is never read.
pub fn find_config(options: &LoadOptions) -> Option<Result<ConfigFile, Note>> {
    let disk = Disk::new(options);
    let repository = options.cwd.ancestors().find(|dir| dir.join(".git").exists());
    let last = repository.unwrap_or(&options.cwd);
    let file = options
        .cwd
        .ancestors()
        .take_while(|dir| dir.starts_with(last))
        .map(|dir| dir.join(NAME))
        .find(|file| file.symlink_metadata().is_ok())?;
    Some(read(&disk, &file, &options.cwd))
}

fn read(disk: &Disk, file: &Path, cwd: &Path) -> Result<ConfigFile, Note> {
    let path = path::display(file, cwd);
    let refused = |message: String| Note {
        path: path.clone(),
        line_column: None,
        kind: NoteKind::Unreadable,
        message,
    };
    let bytes = disk.read(file).map_err(|error: ReadError| refused(error.to_string()))?;
    let text = String::from_utf8(bytes).map_err(|_| refused("is not UTF-8".to_owned()))?;
    Ok(ConfigFile { path, text })
}
