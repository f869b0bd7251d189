//! What a run has worked out, kept for the next: bytes by key, in files of one directory.
//!
//! A key is the hash of all that the kept bytes depend on, so an entry is never wrong, only
//! unneeded: nothing is ever invalidated. An entry is written beside its place and renamed, and
//! carries a hash of itself, so that any number of processes share a directory without locks and
//! an entry that was cut, damaged or of another version is a miss. The entries that were used
//! least lately go when there are too many. A cache that cannot be read or written costs time and
//! nothing else: no function here fails.
//!
//! What the bytes mean is nobody's business here, and no path or text of a program is looked at.

mod code;
mod entry;
mod key;
mod pack;
mod place;
mod sweep;

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

pub use code::{Reader, Writer};
pub use key::{Hasher, Key, of_executable};
pub use pack::{Pack, PackError};
pub use place::default_dir;

/// The default of the size that a cache may have: 512 MiB.
pub const DEFAULT_MAX_BYTES: u64 = 512 << 20;

/// An entry that was used so lately is not marked as used again.
const MARK_AFTER: Duration = Duration::from_secs(3600);

/// A directory of entries, or entries that are carried from run to run in [packs](Pack).
#[derive(Debug)]
pub struct Cache {
    dir: PathBuf,
    carried: Option<Carried>,
    max_bytes: u64,
    /// Bytes of entries written by this process.
    stored: AtomicU64,
    damaged: AtomicBool,
    /// Why an entry could not be written; nothing more is tried then.
    unwritable: Mutex<Option<String>>,
}

/// Entries that are in no directory.
#[derive(Debug, Default)]
struct Carried {
    given: BTreeMap<Key, Vec<u8>>,
    new: Mutex<BTreeMap<Key, Vec<u8>>>,
}

/// What a cache holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stats {
    /// How many entries.
    pub entries: u64,
    /// Their size.
    pub bytes: u64,
}

impl Cache {
    /// The cache in `dir`, which need not exist.
    pub fn new(dir: PathBuf, max_bytes: u64) -> Cache {
        Cache {
            dir,
            carried: None,
            max_bytes,
            stored: AtomicU64::new(0),
            damaged: AtomicBool::new(false),
            unwritable: Mutex::default(),
        }
    }

    /// A cache that holds `entries`, and what is stored in it for whoever asks for [`Cache::into_new`].
    pub fn carrying(entries: BTreeMap<Key, Vec<u8>>) -> Cache {
        let carried = Carried { given: entries, ..Carried::default() };
        Cache { carried: Some(carried), ..Cache::new(PathBuf::new(), 0) }
    }

    /// What was stored in a cache that is no directory.
    pub fn into_new(self) -> BTreeMap<Key, Vec<u8>> {
        let new = self.carried.map(|carried| carried.new.into_inner());
        new.map(|new| new.unwrap_or_else(|poisoned| poisoned.into_inner())).unwrap_or_default()
    }

    /// The directory.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The bytes that were stored under `key`.
    pub fn load(&self, key: Key) -> Option<Vec<u8>> {
        if let Some(carried) = &self.carried {
            return locked(&carried.new).get(&key).or_else(|| carried.given.get(&key)).cloned();
        }
        let path = self.path(key);
        let bytes = fs::read(&path).ok()?;
        let Some(payload) = entry::unwrap(key, bytes) else {
            self.damaged.store(true, Ordering::Relaxed);
            return None;
        };
        mark_as_used(&path);
        Some(payload)
    }

    /// Keeps `payload` under `key`.
    pub fn store(&self, key: Key, payload: &[u8]) {
        if let Some(carried) = &self.carried {
            locked(&carried.new).insert(key, payload.to_vec());
            return;
        }
        if self.is_unwritable() {
            return;
        }
        let bytes = entry::wrap(key, payload);
        match entry::write(&self.dir, &self.path(key), &bytes) {
            Ok(()) => {
                self.stored.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            }
            Err(error) => *self.unwritable() = Some(error.to_string()),
        }
    }

    /// As [`Cache::store`], for what spares later runs of the same machine some reading: it is not
    /// carried elsewhere.
    pub fn remember(&self, key: Key, payload: &[u8]) {
        if self.carried.is_none() {
            self.store(key, payload);
        }
    }

    /// Ends the use of the cache: makes room if it has grown too large. Gives what is wrong with
    /// the cache, if anything is: lower case, no full stop.
    pub fn finish(&self) -> Option<String> {
        let stored = self.stored.swap(0, Ordering::Relaxed);
        if stored > 0 {
            sweep::if_due(&self.dir, stored, self.max_bytes);
        }
        let dir = self.dir.display();
        if let Some(reason) = self.unwritable().take() {
            return Some(format!("the cache in `{dir}` cannot be written: {reason}"));
        }
        self.damaged
            .swap(false, Ordering::Relaxed)
            .then(|| format!("the cache in `{dir}` holds a damaged entry, which was not used"))
    }

    /// What it holds.
    pub fn stats(&self) -> Stats {
        let sizes = sweep::entries(&self.dir).into_iter().map(|entry| entry.bytes);
        sizes.fold(Stats::default(), |stats, bytes| Stats {
            entries: stats.entries + 1,
            bytes: stats.bytes + bytes,
        })
    }

    /// Deletes all entries. Gives what was deleted.
    pub fn clean(&self) -> io::Result<Stats> {
        sweep::all(&self.dir)
    }

    /// Deletes the entries that were used least lately until those that are left are no larger than
    /// `max_bytes`.
    pub fn trim(&self, max_bytes: u64) {
        sweep::trim(&self.dir, max_bytes);
    }

    /// Where an entry is, or would be.
    pub fn path(&self, key: Key) -> PathBuf {
        let name = key.to_string();
        self.dir.join(&name[..2]).join(&name[2..])
    }

    fn is_unwritable(&self) -> bool {
        self.unwritable().is_some()
    }

    fn unwritable(&self) -> MutexGuard<'_, Option<String>> {
        locked(&self.unwritable)
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// The time of the file is that of its last use, give or take [`MARK_AFTER`]. A cache that cannot be
/// written forgets who uses it.
fn mark_as_used(path: &Path) {
    let now = SystemTime::now();
    let used = fs::metadata(path).and_then(|found| found.modified());
    if used.is_ok_and(|used| now.duration_since(used).is_ok_and(|ago| ago > MARK_AFTER)) {
        let _ = fs::File::options().write(true).open(path).and_then(|file| file.set_modified(now));
    }
}
