//! The file of an entry: what it is, of which key, the bytes, and a hash of all of that.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Write};
use std::path::Path;

use super::key::Key;

/// How an entry starts; the last byte is the version of the form.
const MAGIC: &[u8; 8] = b"strgglr\x01";

const KEY: usize = 32;
const SEAL: usize = 32;

/// How the name of a file starts that is being written.
pub(super) const UNFINISHED: &str = "new-";

/// Says to backup programs that there is nothing to keep (<https://bford.info/cachedir/>).
const TAG: (&str, &str) = ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n");

/// The bytes of the file.
pub(super) fn wrap(key: Key, payload: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(MAGIC.len() + KEY + payload.len() + SEAL);
    bytes.extend(MAGIC);
    bytes.extend(key.bytes());
    bytes.extend(payload);
    let seal = Key::of(&bytes);
    bytes.extend(seal.bytes());
    bytes
}

/// The payload in the bytes of a file; `None` if they are not what was written for `key`.
pub(super) fn unwrap(key: Key, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let end = bytes.len().checked_sub(SEAL)?;
    let (sealed, seal) = bytes.split_at(end);
    let rest = sealed.strip_prefix(MAGIC)?.strip_prefix(key.bytes())?;
    if Key::of(sealed).bytes() != seal {
        return None;
    }
    let start = end - rest.len();
    bytes.truncate(end);
    bytes.drain(..start);
    Some(bytes)
}

/// Writes the file at `path`, which is in a directory of `dir`: nobody ever sees half of it.
pub(super) fn write(dir: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let holder = path.parent().unwrap_or(dir);
    // Seeded anew by each call and each process.
    let number = RandomState::new().hash_one(path);
    let beside = holder.join(format!("{UNFINISHED}{number:016x}"));
    let mut file = match create(&beside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            make(dir, holder)?;
            create(&beside)?
        }
        created => created?,
    };
    let written = file.write_all(bytes).and_then(|()| fs::rename(&beside, path));
    written.inspect_err(|_| {
        // The first error is the one to tell.
        let _ = fs::remove_file(&beside);
    })
}

fn create(path: &Path) -> io::Result<File> {
    OpenOptions::new().write(true).create_new(true).open(path)
}

fn make(dir: &Path, holder: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    if !dir.is_dir() {
        builder.create(dir)?;
        fs::write(dir.join(TAG.0), TAG.1)?;
    }
    builder.create(holder)
}
