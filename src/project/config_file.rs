//! Where a team's own files are: `straggler.toml` and the baseline. What stands outside the
//! repository is never read, unless somebody names it on the command line.

use std::path::{Path, PathBuf};

use super::read::{Disk, ReadError, is_absence};
use super::{LoadOptions, path};
use crate::diagnostic::{Note, NoteKind};

/// A `straggler.toml` or a baseline, not yet understood.
#[derive(Clone, Debug)]
pub struct ConfigFile {
    /// Its path as shown to people.
    pub path: String,
    /// Its path, absolute.
    pub file: PathBuf,
    /// The directory that holds it, absolute.
    pub dir: PathBuf,
    /// Its text.
    pub text: String,
}

/// The name of a configuration that is found without being named.
pub const CONFIG: &str = "straggler.toml";

/// The name of a baseline that is found without being named.
pub const BASELINE: &str = "straggler-baseline.txt";

/// Where the [`CONFIG`] is that holds for the files of `dir`: its own, or else that of the nearest
/// directory above it in the same repository; where there is none, up to the working directory.
pub fn find_config(options: &LoadOptions, dir: &Path) -> Option<PathBuf> {
    find(options, dir, CONFIG)
}

/// The configuration at a place that [`find_config`] has found.
pub fn read_found_config(options: &LoadOptions, file: &Path) -> Result<ConfigFile, Note> {
    read_found(options, file)
}

/// The configuration at `path`, absolute or relative to the working directory.
pub fn read_config(options: &LoadOptions, path: &Path) -> Result<ConfigFile, Note> {
    read(&Disk::new(options), &path::clean(&options.cwd.join(path)), &options.cwd)
}

/// The configuration that another extends by `name`: relative to that, and in the same repository.
pub fn read_extended(
    options: &LoadOptions,
    from: &ConfigFile,
    name: &str,
) -> Result<ConfigFile, Note> {
    let file = path::clean(&from.dir.join(name));
    read_inside(options, &top(&from.dir, &options.cwd), &file)
}

/// The [`BASELINE`] of the working directory, or else of the nearest directory above it in the same
/// repository.
pub fn find_baseline(options: &LoadOptions) -> Option<Result<ConfigFile, Note>> {
    find(options, &options.cwd, BASELINE).map(|file| read_found(options, &file))
}

/// The baseline at `path`, absolute or relative to the working directory.
pub fn read_baseline(options: &LoadOptions, path: &Path) -> Result<ConfigFile, Note> {
    read(&Disk::new(options), &path::clean(&options.cwd.join(path)), &options.cwd)
}

fn find(options: &LoadOptions, dir: &Path, name: &str) -> Option<PathBuf> {
    let top = top(dir, &options.cwd);
    dir.ancestors()
        .take_while(|dir| dir.starts_with(&top))
        .map(|dir| dir.join(name))
        .find(|file| options.overlays.contains_key(file) || may_be(file))
}

/// Whether a file is there, or may be: then reading it says what is wrong.
fn may_be(file: &Path) -> bool {
    file.symlink_metadata().err().is_none_or(|error| !is_absence(&error))
}

/// Reads what [`find`] has found: from wherever that was looked for, it is below the same top as the
/// directory that it stands in.
fn read_found(options: &LoadOptions, file: &Path) -> Result<ConfigFile, Note> {
    let dir = file.parent().unwrap_or(file);
    read_inside(options, &top(dir, &options.cwd), file)
}

/// The outermost directory in which a file for `dir` may stand: the root of its repository; without
/// one the working directory, or `dir` itself where it is not below that.
fn top(dir: &Path, cwd: &Path) -> PathBuf {
    let repository = dir.ancestors().find(|dir| dir.join(".git").exists());
    let otherwise = if dir.starts_with(cwd) { cwd } else { dir };
    repository.unwrap_or(otherwise).to_path_buf()
}

/// Reads a file that neither by its path nor by symbolic links stands outside `top`.
fn read_inside(options: &LoadOptions, top: &Path, file: &Path) -> Result<ConfigFile, Note> {
    let leads_out = match (file.canonicalize(), top.canonicalize()) {
        (Ok(file), Ok(top)) => !file.starts_with(top),
        _ => !file.starts_with(top),
    };
    if leads_out {
        let message = format!("is outside of `{}`, and not read", path::display(top, &options.cwd));
        return Err(refused(file, &options.cwd, message));
    }
    read(&Disk::new(options), file, &options.cwd)
}

fn read(disk: &Disk, file: &Path, cwd: &Path) -> Result<ConfigFile, Note> {
    let bytes =
        disk.read(file).map_err(|error: ReadError| refused(file, cwd, error.to_string()))?;
    let text =
        String::from_utf8(bytes).map_err(|_| refused(file, cwd, "is not UTF-8".to_owned()))?;
    let dir = file.parent().unwrap_or(cwd).to_path_buf();
    Ok(ConfigFile { path: path::display(file, cwd), file: file.to_path_buf(), dir, text })
}

fn refused(file: &Path, cwd: &Path, message: String) -> Note {
    let path = path::display(file, cwd);
    Note { path, line_column: None, kind: NoteKind::Unreadable, message }
}
