//! The targets in each run of the tests: with what was found once, and with some bytes at random.

use std::fs;
use std::panic::catch_unwind;

use super::{TARGETS, Target};
use crate::harness::{Random, names_in, root};

const SEED: u64 = 20_261_123;

/// So many inputs are made for each target.
const INPUTS: usize = 40;

#[track_caller]
fn check(name: &str, what: &str, target: Target, bytes: &[u8]) {
    assert!(catch_unwind(|| target(bytes)).is_ok(), "{name}: {what}: {}", bytes.escape_ascii());
}

#[test]
fn what_was_found_once_is_mended() {
    for name in names_in("fixtures/fuzz") {
        let known = TARGETS.iter().find(|(known, _)| *known == name);
        let (_, target) = known.unwrap_or_else(|| panic!("there is no target {name}"));
        let dir = format!("fixtures/fuzz/{name}");
        for input in names_in(&dir) {
            let bytes = fs::read(root().join(&dir).join(&input)).expect("a readable file");
            check(&name, &input, *target, &bytes);
        }
    }
}

#[test]
fn any_bytes_will_do() {
    let mut random = Random(SEED);
    for (name, target) in TARGETS {
        for number in 0..INPUTS {
            let length = random.below(300);
            let bytes: Vec<u8> = (0..length).map(|_| random.below(256) as u8).collect();
            check(name, &format!("input {number}"), *target, &bytes);
        }
    }
}
