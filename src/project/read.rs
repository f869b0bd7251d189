//! Bytes of files, read so that nothing can hang or exhaust the run: only regular files, never
//! opened blocking, never more than a limit; overlays stand in for files.

use std::collections::BTreeMap;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Why a file was not read.
#[derive(Debug)]
pub(super) enum ReadError {
    /// It is larger than the limit, which is given.
    TooLarge(u64),
    /// It is a directory, FIFO, socket, device or a loop of symbolic links.
    NotRegular(&'static str),
    /// The operating system said no.
    Io(io::Error),
}

/// The disk under the overlays.
#[derive(Clone, Debug)]
pub(super) struct Disk {
    /// Bytes that stand in for a file, by absolute path.
    pub overlays: BTreeMap<PathBuf, Vec<u8>>,
    /// Larger files are not read.
    pub max_file_bytes: u64,
}

impl Disk {
    /// Reads a regular file (symbolic links followed) or its overlay.
    pub fn read(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
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
        self.overlays.contains_key(path) || path.is_file()
    }
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
