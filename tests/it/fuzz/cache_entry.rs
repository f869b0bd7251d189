//! Any bytes in place of an entry of the cache. Where their hash is not what it must be, a run tells what
//! it tells without a cache; where somebody has taken care that it is, the run ends all the same.

use std::fs;
use std::path::PathBuf;
use std::sync::LazyLock;

use straggler::analysis::{self, Keeping, Memory, Progress, Report};
use straggler::cache::{Cache, Key};
use straggler::project;

use super::check::{self, Files};
use super::choices::Choices;

const PROGRAM: &[u8] = b"package p\n\nimport \"example.com/m/q\"\n\nfunc f(done chan bool) {\n\tlate := make(chan int)\n\tgo func() { late <- 1 }()\n\tselect {\n\tcase <-late:\n\tcase <-done:\n\t}\n\tq.Lock()\n}\n\n//straggler:ignore ALL a reason\nfunc g() { select {} }\n\nvar broken = (\n\
-- q/q.go --\npackage q\n\nimport \"sync\"\n\nvar mu sync.Mutex\n\nfunc Lock() {\n\tmu.Lock()\n\tmu.Lock()\n}\n";

/// How an entry begins, the key included, and how long the hash at its end is: `src/cache/entry.rs`.
const HEAD: usize = 8 + 32;
const SEAL: usize = 32;

/// A directory with the entries of a run, and what that told.
struct Kept {
    dir: tempfile::TempDir,
    files: Files,
    entries: Vec<(PathBuf, Vec<u8>)>,
    told: String,
}

static KEPT: LazyLock<Kept> = LazyLock::new(|| {
    let dir = tempfile::tempdir().expect("a directory");
    let files = check::files(PROGRAM);
    let told = check::told(&check::report(&files, &mut Memory::default()));
    assert!(told.contains("send-without-receiver") && told.contains("double-lock"), "{told}");
    assert_eq!(check::told(&run(&cache(&dir), &files)), told);
    let shards = fs::read_dir(dir.path()).expect("a cache").flatten().map(|entry| entry.path());
    let inside = shards
        .filter(|path| path.is_dir())
        .flat_map(|shard| fs::read_dir(shard).expect("a directory"));
    let mut paths: Vec<PathBuf> = inside.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    // Of each package what it answers, what was found by exploring it, and what its functions do; and which
    // names the texts hold that somebody asked for.
    assert_eq!(paths.len(), 7);
    let entries = paths.into_iter().map(|path| (path.clone(), fs::read(path).expect("an entry")));
    let entries = entries.collect();
    Kept { dir, files, entries, told }
});

fn cache(dir: &tempfile::TempDir) -> Cache {
    Cache::new(dir.path().to_owned(), 1 << 30)
}

fn run(cache: &Cache, files: &Files) -> Report {
    let keeping = Keeping { cache, base: Key::of(b"this program"), verify: false, complete: false };
    let options = check::options(files);
    let run = || {
        let (selections, progress) = (check::all_rules(), Progress::default());
        let snapshot = project::load(&options);
        analysis::analyze_keeping(&snapshot, check::catalog(), &selections, &progress, &keeping)
    };
    analysis::on_threads(Some(1), run).expect("a thread")
}

pub fn target(bytes: &[u8]) {
    let kept = &*KEPT;
    let mut choices = Choices::new(bytes);
    let (path, whole) = &kept.entries[choices.below(kept.entries.len())];
    let is_sealed = choices.one_in(2);
    let mut damaged = match choices.one_in(4) {
        true => choices.rest().to_vec(),
        false => edited(
            &whole[HEAD * usize::from(is_sealed)..whole.len() - SEAL * usize::from(is_sealed)],
            &mut choices,
        ),
    };
    if is_sealed {
        damaged.splice(..0, whole[..HEAD].iter().copied());
        damaged.extend(blake3::hash(&damaged).as_bytes());
    }
    let is_whole = damaged == *whole;
    // What was explored, and what functions do, is read where there is no answer.
    kept.entries.iter().for_each(|(path, _)| fs::remove_file(path).expect("removed"));
    fs::write(path, damaged).expect("written");
    let cache = cache(&kept.dir);
    let told = check::told(&run(&cache, &kept.files));
    let complaint = cache.finish();
    kept.entries.iter().for_each(|(path, whole)| fs::write(path, whole).expect("written"));
    if !is_sealed {
        assert_eq!(told, kept.told);
        assert_eq!(complaint.is_some(), !is_whole, "{complaint:?}");
    }
}

/// `bytes` with some changes.
pub fn edited(bytes: &[u8], choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    while !choices.is_over() {
        let at =
            (usize::from(choices.byte()) << 8 | usize::from(choices.byte())) % (bytes.len() + 1);
        let end = (at + choices.below(16)).min(bytes.len());
        match choices.below(5) {
            0 => drop(bytes.drain(at..end)),
            1 => bytes.truncate(at),
            2 => drop(bytes.splice(at..at, [choices.byte()])),
            3 if at < bytes.len() => bytes[at] ^= 1 << choices.below(8),
            _ if at < bytes.len() => bytes[at] = choices.byte(),
            _ => {}
        }
    }
    bytes
}
