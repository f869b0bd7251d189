//! Keys: hashes of all that an answer depends on.

use std::fmt;
use std::fs;
use std::io;
use std::path::Path;

use super::Cache;

/// The name of an entry.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(pub(super) [u8; 32]);

/// In hexadecimal digits.
impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl Key {
    /// The bytes of the hash.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// The key with these bytes for its hash.
    pub fn read(bytes: &[u8]) -> Option<Key> {
        bytes.try_into().ok().map(Key)
    }

    /// The key of some bytes alone.
    pub fn of(bytes: &[u8]) -> Key {
        Key(*blake3::hash(bytes).as_bytes())
    }
}

/// Makes a key of its parts. Each part is told from the next: their lengths are hashed too.
#[derive(Clone, Debug)]
pub struct Hasher(blake3::Hasher);

impl Hasher {
    /// A key of one kind, which is never that of another kind.
    pub fn new(kind: &str) -> Hasher {
        Hasher(blake3::Hasher::new()).text(kind)
    }

    /// With a text.
    pub fn text(self, text: &str) -> Hasher {
        self.data(text.as_bytes())
    }

    /// With bytes.
    pub fn data(mut self, bytes: &[u8]) -> Hasher {
        self.0.update(&(bytes.len() as u64).to_le_bytes()).update(bytes);
        self
    }

    /// With a path.
    pub fn path(self, path: &Path) -> Hasher {
        self.data(path.as_os_str().as_encoded_bytes())
    }

    /// With a number.
    pub fn number(mut self, number: u64) -> Hasher {
        self.0.update(&number.to_le_bytes());
        self
    }

    /// With another key.
    pub fn key(mut self, key: Key) -> Hasher {
        self.0.update(&key.0);
        self
    }

    /// With other keys, and how many.
    pub fn keys(self, keys: impl ExactSizeIterator<Item = Key>) -> Hasher {
        let hasher = self.number(keys.len() as u64);
        keys.fold(hasher, Hasher::key)
    }

    /// The key.
    pub fn finish(self) -> Key {
        Key(*self.0.finalize().as_bytes())
    }
}

/// The key of what the executable at `path` is. Where the system tells when a file was last changed
/// in any way, `cache` remembers it, so that the same file is read once.
pub fn of_executable(path: &Path, cache: &Cache) -> io::Result<Key> {
    let Some(file) = identity(path)? else { return Ok(Key::of(&fs::read(path)?)) };
    if let Some(known) = cache.load(file).and_then(|bytes| <[u8; 32]>::try_from(bytes).ok()) {
        return Ok(Key(known));
    }
    let key = Key::of(&fs::read(path)?);
    cache.remember(file, &key.0);
    Ok(key)
}

/// A file that has been neither replaced nor changed: nobody can set the time of the last change of
/// its inode.
#[cfg(unix)]
fn identity(path: &Path) -> io::Result<Option<Key>> {
    use std::os::unix::fs::MetadataExt;
    let found = fs::metadata(path)?;
    let times = [found.mtime(), found.mtime_nsec(), found.ctime(), found.ctime_nsec()];
    let numbers = [found.dev(), found.ino(), found.len()];
    let hasher = Hasher::new("executable").path(path);
    let hasher = times.iter().fold(hasher, |hasher, &time| hasher.number(time as u64));
    Ok(Some(numbers.into_iter().fold(hasher, Hasher::number).finish()))
}

#[cfg(not(unix))]
fn identity(_: &Path) -> io::Result<Option<Key>> {
    Ok(None)
}
