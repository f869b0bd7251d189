//! Where a team's own files are: `straggler.toml` and the baseline.

use std::path::{Path, PathBuf};

use super::read::{Disk, ReadError};
use super::{LoadOptions, path};
use crate::diagnostic::{Note, NoteKind};

/// A `straggler.toml` or a baseline, not yet understood.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Its path as shown to people.
    pub path: String,
    /// The directory that holds it, absolute.
    pub dir: PathBuf,
    /// Its text.
    pub text: String,
}

const CONFIG: &str = "straggler.toml";

/// The name of a baseline that is found without being named.
pub const BASELINE: &str = "straggler-baseline.txt";

/// The `straggler.toml` of the working directory, or else of the nearest directory above it in the
/// same repository. What stands outside the repository is never read.
pub fn find_config(options: &LoadOptions) -> Option<Result<ConfigFile, Note>> {
    find(options, CONFIG)
}

/// The [`BASELINE`] of the working directory, or else of the nearest directory above it in the same
/// repository.
pub fn find_baseline(options: &LoadOptions) -> Option<Result<ConfigFile, Note>> {
    find(options, BASELINE)
}

/// The baseline at `path`, absolute or relative to the working directory.
pub fn read_baseline(options: &LoadOptions, path: &Path) -> Result<ConfigFile, Note> {
    read(&Disk::new(options), &path::clean(&options.cwd.join(path)), &options.cwd)
}

fn find(options: &LoadOptions, name: &str) -> Option<Result<ConfigFile, Note>> {
    let disk = Disk::new(options);
    let repository = options.cwd.ancestors().find(|dir| dir.join(".git").exists());
    let last = repository.unwrap_or(&options.cwd);
    let file = options
        .cwd
        .ancestors()
        .take_while(|dir| dir.starts_with(last))
        .map(|dir| dir.join(name))
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
    let dir = file.parent().unwrap_or(cwd).to_path_buf();
    Ok(ConfigFile { path, dir, text })
}
