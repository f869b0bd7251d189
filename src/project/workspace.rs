//! Where the command line would be run for a file that somebody has open.

use std::path::{Path, PathBuf};

use super::LoadOptions;
use super::modules::{self, Roots};
use super::read::Disk;
use super::walk;

/// The directory whose run, with all below it, speaks of the Go file `file`: that of the workspace
/// that its module is part of, or else of the module, or else the outermost of `folders` that holds
/// the file, or else the file's own. `None` for what such a run walks past, and for the sources of
/// the standard library and the module cache.
pub fn run_root(options: &LoadOptions, file: &Path, folders: &[PathBuf]) -> Option<PathBuf> {
    let foreign = [options.goroot.as_deref(), options.module_cache.as_deref()];
    if foreign.into_iter().flatten().any(|dir| file.starts_with(dir)) {
        return None;
    }
    let disk = Disk::new(options);
    let mut roots = Roots::new(&disk);
    let dir = file.parent()?;
    let module = roots.of(dir).filter(|root| root.is_module).map(|root| root.dir);
    let root = match module {
        Some(module) => modules::work_dir(&module, options, &disk).unwrap_or(module),
        None => {
            let holding = folders.iter().filter(|folder| file.starts_with(folder));
            let outermost = holding.min_by_key(|folder| folder.components().count());
            outermost.cloned().unwrap_or_else(|| dir.to_owned())
        }
    };
    (!walk::is_passed_by(dir, &root, &mut roots)).then_some(root)
}
