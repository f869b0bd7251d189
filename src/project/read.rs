//! Bytes of files, read so that nothing can hang or exhaust the run: only regular files, never
//! opened blocking, never more than a limit; overlays stand in for files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{DirEntry, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::LoadOptions;
use super::view;

/// Why a file was not read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is larger than the limit, which is given.
    TooLarge(u64),
    /// It is a directory, FIFO, socket, device or a loop of symbolic links.
    NotRegular(&'static str),
    /// It is a symbolic link that leads out of the tree it was found in.
    LeadsOut,
    /// The operating system said no.
    Io(io::Error),
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReadError::TooLarge(limit) => write!(f, "larger than the limit of {limit} bytes"),
            ReadError::NotRegular(what) => write!(f, "not a regular file but {what}"),
            ReadError::LeadsOut => {
                f.write_str("a symbolic link that leads out of the module; name it to have it read")
            }
            ReadError::Io(error) => write!(f, "cannot be read: {}", reason(error)),
        }
    }
}

/// The operating system's reason in lower case, without the number that Rust adds.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

/// The disk under the overlays.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    /// Bytes that stand in for a file, by absolute path.
    pub overlays: Arc<BTreeMap<PathBuf, Vec<u8>>>,
    /// Larger files are not read.
    pub max_file_bytes: u64,
    /// What could not be looked at, by path.
    failed: Arc<Mutex<BTreeMap<PathBuf, String>>>,
}

impl Disk {
    pub fn new(options: &LoadOptions) -> Disk {
        Disk::with(options.overlays.clone(), options.max_file_bytes)
    }

    /// A disk with these overlays.
    pub fn with(overlays: BTreeMap<PathBuf, Vec<u8>>, max_file_bytes: u64) -> Disk {
        Disk { overlays: Arc::new(overlays), max_file_bytes, failed: Arc::default() }
    }

    /// What could not be looked at although it may well be there, by path, with the reason: less is
    /// known than this looks like.
    pub fn failed(&self) -> BTreeMap<PathBuf, String> {
        self.failures().clone()
    }

    fn failures(&self) -> MutexGuard<'_, BTreeMap<PathBuf, String>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What there is, unless there is nothing or it cannot be looked at.
    fn found<T>(&self, path: &Path, looked_at: io::Result<T>) -> Option<T> {
        looked_at.inspect_err(|error| self.remember(path, error)).ok()
    }

    fn remember(&self, path: &Path, error: &io::Error) {
        if !is_absence(error) {
            self.failures().entry(path.to_owned()).or_insert_with(|| reason(error));
        }
    }

    /// What is at `path`, symbolic links followed, and not by overlays.
    fn metadata(&self, path: &Path) -> Option<Metadata> {
        self.found(path, std::fs::metadata(path))
    }

    /// Whether there is anything at `path`, whatever it is.
    pub fn exists(&self, path: &Path) -> bool {
        self.metadata(path).is_some()
    }

    /// Whether there is a directory.
    pub fn is_dir(&self, path: &Path) -> bool {
        self.metadata(path).is_some_and(|found| found.is_dir())
    }

    /// What is in a directory, as far as it can be read.
    fn entries(&self, dir: &Path) -> impl Iterator<Item = DirEntry> {
        let entries = self.found(dir, std::fs::read_dir(dir)).into_iter().flatten();
        entries.map_while(|entry| self.found(dir, entry))
    }

    /// Reads a regular file (symbolic links followed) or its overlay.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        self.bytes(path).inspect_err(|error| {
            if let ReadError::Io(error) = error {
                self.remember(path, error);
            }
        })
    }

    fn bytes(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let too_large = Err(ReadError::TooLarge(self.max_file_bytes));
        if let Some(bytes) = self.overlays.get(path) {
            let fits = bytes.len() as u64 <= self.max_file_bytes;
            return if fits { Ok(bytes.clone()) } else { too_large };
        }
        // Opening some devices has effects, so a look comes first. The file may be replaced between
        // that look and the opening, so opening does not block, and what was opened is looked at again.
        regular(&std::fs::metadata(path).map_err(classify)?)?;
        let file = open(path).map_err(classify)?;
        let metadata = file.metadata().map_err(ReadError::Io)?;
        regular(&metadata)?;
        if metadata.len() > self.max_file_bytes {
            return too_large;
        }
        let mut bytes = Vec::with_capacity(metadata.len() as usize + 1);
        file.take(self.max_file_bytes + 1).read_to_end(&mut bytes).map_err(ReadError::Io)?;
        if bytes.len() as u64 > self.max_file_bytes { too_large } else { Ok(bytes) }
    }

    /// Whether there is a file, or an overlay that stands in for one.
    pub fn is_file(&self, path: &Path) -> bool {
        self.overlays.contains_key(path) || self.metadata(path).is_some_and(|found| found.is_file())
    }

    /// The overlays below a directory: their paths stand together in the order of paths.
    pub fn overlays_below<'d>(&'d self, dir: &'d Path) -> impl Iterator<Item = &'d PathBuf> {
        let later = (Bound::Excluded(dir), Bound::Unbounded);
        let paths = self.overlays.range::<Path, _>(later).map(|(path, _)| path);
        paths.take_while(move |path| path.starts_with(dir))
    }

    /// What Go would look at in a directory, overlays included, whatever it is, but for directories
    /// that are packages with a name like `nats.go`. A directory that cannot be read has nothing.
    pub fn go_files(&self, dir: &Path) -> BTreeSet<PathBuf> {
        let is_go = |path: &PathBuf| {
            path.file_name().is_some_and(|name| view::is_go_file(&name.to_string_lossy()))
        };
        let named = self.entries(dir).filter(|entry| is_go(&entry.path()));
        let is_dir = |entry: &DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
        let files_only = named.filter(|entry| !is_dir(entry) || !self.has_go_files(&entry.path()));
        let mut files: BTreeSet<PathBuf> = files_only.map(|entry| entry.path()).collect();
        let overlays = self.overlays_below(dir).filter(|path| path.parent() == Some(dir));
        files.extend(overlays.filter(|path| is_go(path)).cloned());
        files
    }

    /// Whether a directory holds a file that Go looks at.
    pub fn has_go_files(&self, dir: &Path) -> bool {
        self.entries(dir).any(|entry| view::is_go_file(&entry.file_name().to_string_lossy()))
    }

    /// Whether `path` is a symbolic link to a file outside `root` and outside its own directory.
    /// Where go.mod itself is a link, as in the trees that build systems make of links, the
    /// directory that it leads to counts as the root too.
    pub fn leads_out(&self, path: &Path, root: &Path) -> bool {
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if self.overlays.contains_key(path) || !is_link(path) {
            return false;
        }
        // One that leads nowhere is told of when it is read.
        let Ok(target) = path.canonicalize() else { return false };
        let go_mod = root.join("go.mod").canonicalize().ok();
        let insides = [
            root.canonicalize().ok(),
            path.parent().and_then(|dir| dir.canonicalize().ok()),
            go_mod.as_deref().and_then(Path::parent).map(Path::to_owned),
        ];
        target.is_file() && !insides.iter().flatten().any(|inside| target.starts_with(inside))
    }
}

/// Whether an error says that there is nothing, or nothing for us.
pub(super) fn is_absence(error: &io::Error) -> bool {
    use io::ErrorKind::{InvalidFilename, InvalidInput, NotADirectory, NotFound, PermissionDenied};
    let is_nothing = [NotFound, NotADirectory, PermissionDenied, InvalidFilename, InvalidInput];
    is_nothing.contains(&error.kind()) || is_link_loop(error)
}

fn classify(error: io::Error) -> ReadError {
    if is_link_loop(&error) {
        return ReadError::NotRegular("a loop of symbolic links");
    }
    ReadError::Io(error)
}

#[cfg(unix)]
fn is_link_loop(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ELOOP)
}

#[cfg(not(unix))]
fn is_link_loop(_: &io::Error) -> bool {
    false
}

fn regular(metadata: &Metadata) -> Result<(), ReadError> {
    if metadata.is_file() { Ok(()) } else { Err(ReadError::NotRegular(kind(metadata))) }
}

#[cfg(unix)]
fn kind(metadata: &Metadata) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    let file_type = metadata.file_type();
    if file_type.is_dir() {
        "a directory"
    } else if file_type.is_fifo() {
        "a FIFO"
    } else if file_type.is_socket() {
        "a socket"
    } else {
        "a device"
    }
}

#[cfg(not(unix))]
fn kind(metadata: &Metadata) -> &'static str {
    if metadata.is_dir() { "a directory" } else { "a device" }
}

#[cfg(unix)]
fn open(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).open(path)
}
