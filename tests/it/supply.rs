//! What straggler is made of, as `deny.toml` wants it: licences, and no crate that talks to another
//! machine.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::harness::root;

#[test]
fn the_crates_are_those_that_are_allowed() {
    let deny = fs::read_to_string(root().join("deny.toml")).expect("a file");
    let deny: toml::Table = deny.parse().expect("TOML");
    let words = |section: &str, key: &str| -> BTreeSet<String> {
        let list = deny[section][key].as_array().expect("a list");
        list.iter().map(|word| word.as_str().expect("a text").to_owned()).collect()
    };
    let (licences, banned) = (words("licenses", "allow"), words("bans", "deny"));
    let output = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--format-version=1",
            "--locked",
            "--offline",
            "--filter-platform",
            "x86_64-unknown-linux-gnu",
        ])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for package in metadata["packages"].as_array().expect("packages") {
        let name = package["name"].as_str().expect("a name");
        assert!(!banned.contains(name), "{name} is banned");
        let licence = package["license"].as_str().unwrap_or_default();
        assert!(is_allowed(licence, &licences), "{name}: {licence}");
    }
}

/// Whether an SPDX expression without nested brackets is met: of each alternative one part.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    let expression = expression.replace('/', " OR ").replace(['(', ')'], " ");
    expression.split(" AND ").all(|part| {
        let mut alternatives = part.split(" OR ").map(str::trim);
        alternatives.any(|licence| allowed.contains(licence))
    })
}
