//! What is in the directory of a cache, and how room is made in it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::Stats;
use super::entry::UNFINISHED;

/// How long the size of a cache is not looked at, unless a process alone has written much.
const CALM: Duration = Duration::from_secs(3600);

/// A process that has written this part of what is allowed looks at the size at once.
const MUCH: u64 = 8;

/// Room is made down to this part (of [`WHOLE`]) of what is allowed, so that it lasts for a while.
const LEFT: u64 = 3;
const WHOLE: u64 = 4;

/// The file whose time is that of the last look.
const LOOKED: &str = "looked";

/// A file of the cache.
pub(super) struct Entry {
    path: PathBuf,
    pub bytes: u64,
    used: SystemTime,
}

/// Makes room if the size was not looked at for some time, or if this process has `stored` much.
pub(super) fn if_due(dir: &Path, stored: u64, max_bytes: u64) {
    let looked = fs::metadata(dir.join(LOOKED)).and_then(|found| found.modified());
    let is_calm = looked.is_ok_and(|at| at.elapsed().is_ok_and(|ago| ago < CALM));
    if is_calm && stored < max_bytes / MUCH {
        return;
    }
    // Whoever cannot leave a mark looks again the next time.
    let _ = fs::write(dir.join(LOOKED), []);
    trim(dir, max_bytes);
}

/// Deletes the entries that were used least lately until those that are left are no larger than
/// `max_bytes`, if they are; and what dead processes have left unfinished.
pub(super) fn trim(dir: &Path, max_bytes: u64) {
    let is_unfinished = |entry: &Entry| {
        let name = entry.path.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with(UNFINISHED)
    };
    let (unfinished, mut entries): (Vec<Entry>, Vec<Entry>) =
        entries(dir).into_iter().partition(is_unfinished);
    for entry in unfinished {
        if entry.used.elapsed().is_ok_and(|ago| ago > CALM) {
            // Another process may be at it too.
            let _ = fs::remove_file(&entry.path);
        }
    }
    let mut bytes: u64 = entries.iter().map(|entry| entry.bytes).sum();
    if bytes <= max_bytes {
        return;
    }
    entries.sort_by(|a, b| (a.used, &a.path).cmp(&(b.used, &b.path)));
    for entry in entries {
        if bytes <= max_bytes / WHOLE * LEFT {
            return;
        }
        let _ = fs::remove_file(&entry.path);
        bytes -= entry.bytes;
    }
}

/// Deletes all entries, and nothing that is not one.
pub(super) fn all(dir: &Path) -> io::Result<Stats> {
    let mut deleted = Stats::default();
    for entry in entries(dir) {
        match fs::remove_file(&entry.path) {
            Ok(()) => {
                deleted.entries += 1;
                deleted.bytes += entry.bytes;
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}

/// The entries in `dir`, those included that are being written.
pub(super) fn entries(dir: &Path) -> Vec<Entry> {
    let mut entries = Vec::new();
    let shards = fs::read_dir(dir).into_iter().flatten().flatten();
    let is_shard = |name: &str| name.len() == 2 && name.bytes().all(|b| b.is_ascii_hexdigit());
    for shard in shards.filter(|shard| is_shard(&shard.file_name().to_string_lossy())) {
        for entry in fs::read_dir(shard.path()).into_iter().flatten().flatten() {
            let Ok(found) = entry.metadata() else { continue };
            let Ok(used) = found.modified() else { continue };
            if found.is_file() {
                entries.push(Entry { path: entry.path(), bytes: found.len(), used });
            }
        }
    }
    entries
}
