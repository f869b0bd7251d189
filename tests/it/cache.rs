//! The cache: what is kept is what would be found, whatever happens to the sources and to the cache.

pub mod edits;
pub mod process;

use std::fs;
use std::path::Path;

use straggler::cache::{Cache, Hasher, Key};

fn key(text: &str) -> Key {
    Hasher::new("test").text(text).finish()
}

fn cache(dir: &Path) -> Cache {
    Cache::new(dir.join("cache"), 1 << 20)
}

#[test]
fn what_is_stored_is_loaded() {
    let dir = tempfile::tempdir().expect("a directory");
    let first = cache(dir.path());
    assert_eq!(first.load(key("a")), None);
    first.store(key("a"), b"one");
    first.store(key("b"), b"");
    let second = cache(dir.path());
    assert_eq!(second.load(key("a")), Some(b"one".to_vec()));
    assert_eq!(second.load(key("b")), Some(Vec::new()));
    second.store(key("a"), b"another");
    assert_eq!(first.load(key("a")), Some(b"another".to_vec()));
    assert_eq!(first.stats().entries, 2);
    assert_eq!((first.finish(), second.finish()), (None, None));
    assert_eq!(first.clean().expect("deleted").entries, 2);
    assert_eq!(second.load(key("a")), None);
    assert_eq!(second.finish(), None);
}

#[test]
fn keys_tell_parts_apart() {
    let parts =
        |parts: &[&str]| parts.iter().fold(Hasher::new("k"), |h, part| h.text(part)).finish();
    assert_ne!(parts(&["ab", "c"]), parts(&["a", "bc"]));
    assert_ne!(parts(&["ab"]), parts(&["ab", ""]));
    assert_ne!(Hasher::new("k").finish(), Hasher::new("l").finish());
}

#[test]
fn a_damaged_entry_is_a_miss_and_told_of_once() {
    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path());
    cache.store(key("a"), b"some bytes that somebody wants to have again");
    let path = cache.path(key("a"));
    let whole = fs::read(&path).expect("an entry");
    let check = |damaged: &[u8], what: &str| {
        fs::write(&path, damaged).expect("written");
        assert_eq!(cache.load(key("a")), None, "{what}");
        assert_eq!(cache.load(key("a")), None, "{what}");
        let told = cache.finish().unwrap_or_default();
        assert!(told.ends_with("holds a damaged entry, which was not used"), "{what}: {told}");
        assert_eq!(cache.finish(), None, "{what}");
    };
    for length in 0..whole.len() {
        check(&whole[..length], &format!("cut to {length} bytes"));
    }
    for bit in 0..whole.len() * 8 {
        let mut flipped = whole.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        check(&flipped, &format!("bit {bit} flipped"));
    }
    check(&[&whole[..], b"\0"].concat(), "a byte more");
    let other = cache.path(key("b"));
    fs::create_dir_all(other.parent().expect("a directory")).expect("made");
    fs::write(&other, &whole).expect("written");
    assert_eq!(cache.load(key("b")), None, "the entry of another key");
    fs::write(&path, &whole).expect("written");
    assert!(cache.load(key("a")).is_some());
}

#[test]
fn what_was_used_least_lately_goes() {
    use std::time::{Duration, SystemTime};

    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path());
    let used = |name: &str, hours: u64| {
        let at = SystemTime::now() - Duration::from_secs(hours * 3600);
        let file = fs::File::options().write(true).open(cache.path(key(name))).expect("an entry");
        file.set_modified(at).expect("marked");
    };
    let names: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    for (name, hours) in names.iter().zip(10..) {
        cache.store(key(name), &[0; 1000]);
        used(name, hours);
    }
    // Use makes young.
    assert!(cache.load(key("7")).is_some());
    cache.trim(1 << 20);
    assert_eq!(cache.stats().entries, 8);
    cache.trim(6000);
    let left: Vec<&str> =
        names.iter().map(String::as_str).filter(|name| cache.load(key(name)).is_some()).collect();
    assert_eq!(left, ["0", "1", "2", "7"]);
}

#[cfg(unix)]
#[test]
fn the_directory_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt;

    let dir = tempfile::tempdir().expect("a directory");
    let cache = cache(dir.path());
    cache.store(key("a"), b"one");
    let mode = |path: &Path| fs::metadata(path).expect("a directory").permissions().mode() & 0o777;
    assert_eq!(mode(cache.dir()), 0o700);
    assert_eq!(mode(cache.path(key("a")).parent().expect("a directory")), 0o700);
}

#[test]
fn a_cache_that_cannot_be_written_is_told_of_once() {
    let dir = tempfile::tempdir().expect("a directory");
    fs::write(dir.path().join("cache"), "a file").expect("written");
    let cache = cache(dir.path());
    cache.store(key("a"), b"one");
    cache.store(key("b"), b"two");
    assert_eq!(cache.load(key("a")), None);
    let told = cache.finish().unwrap_or_default();
    assert!(told.contains("cannot be written: "), "{told}");
    assert_eq!(cache.finish(), None);
}
