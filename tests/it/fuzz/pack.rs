//! Any bytes as a facts file: what was not written so is refused; where somebody has taken care that the hash is what it
//! must be, what is read is what writing it again gives.

use std::collections::BTreeMap;

use straggler::cache::{Key, Pack, PackError};

use super::cache_entry::edited;
use super::choices::Choices;

/// How long the hash at the end is: `src/cache/pack.rs`.
const SEAL: usize = 32;

fn pack() -> Pack {
    let files = [("go.mod", "module m\n"), ("p/p.go", "package p\n"), ("q/q.go", "")];
    let files = files.map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()));
    let entries = [b"one", b"two"].map(|text| (Key::of(text), text.to_vec()));
    Pack { files: BTreeMap::from(files), entries: BTreeMap::from(entries) }
}

pub fn target(bytes: &[u8]) {
    let (program, pack) = (Key::of(b"this program"), pack());
    let whole = pack.seal(program, "1.2.3");
    assert_eq!(Pack::open(&whole, program), Ok(pack));
    let mut choices = Choices::new(bytes);
    if choices.one_in(2) {
        let damaged = match choices.one_in(4) {
            true => choices.rest().to_vec(),
            false => edited(&whole, &mut choices),
        };
        assert!(damaged == whole || Pack::open(&damaged, program).is_err());
        return;
    }
    let mut sealed = edited(&whole[..whole.len() - SEAL], &mut choices);
    let seal = Key::of(&sealed);
    sealed.extend(seal.bytes());
    match Pack::open(&sealed, program) {
        Ok(read) => assert_eq!(Pack::open(&read.seal(program, "1.2.3"), program), Ok(read)),
        Err(PackError::Program { version }) => assert!(version.len() <= sealed.len()),
        Err(_) => {}
    }
}
