//! Versions from the lock files of the tools before modules: dep's `Gopkg.lock`, glide's
//! `glide.lock`, godep's `Godeps/Godeps.json`.
//!
//! They are read line by line, for the two or three keys that matter, so that no parser of TOML,
//! YAML and JSON is needed for files that nobody writes any more.

use std::collections::BTreeMap;

use crate::catalog::Version;

/// What a lock file tells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lock {
    /// The import path of the directory that the lock file belongs to.
    pub import_path: Option<String>,
    /// Versions by the path of a repository or package.
    pub versions: BTreeMap<String, Version>,
}

/// A lock file's path below a root, and how it is read.
type LockFile = (&'static str, fn(&str) -> Lock);

/// The lock files that are known.
pub(super) const LOCK_FILES: &[LockFile] =
    &[("Gopkg.lock", dep), ("glide.lock", glide), ("Godeps/Godeps.json", godep)];

/// `[[projects]]` tables with `name = "…"` and `version = "…"`.
fn dep(text: &str) -> Lock {
    let value = |line: &str, key: &str| {
        let rest = line.trim().strip_prefix(key)?.trim_start().strip_prefix('=')?;
        Some(rest.trim().trim_matches('"').to_owned())
    };
    pairs(
        text,
        |line| line.trim().starts_with('['),
        |line| value(line, "name"),
        |line| value(line, "version"),
    )
}

/// `- name: …` entries with `version: …`.
fn glide(text: &str) -> Lock {
    let value = |line: &str, key: &str| {
        let rest = line.trim().trim_start_matches("- ").strip_prefix(key)?.strip_prefix(':')?;
        Some(rest.trim().trim_matches(['"', '\'']).to_owned())
    };
    pairs(
        text,
        |line| line.starts_with("- "),
        |line| value(line, "name"),
        |line| value(line, "version"),
    )
}

/// Objects with `"ImportPath"` and `"Comment"`, which is what `git describe` said; the first
/// `"ImportPath"` is that of the project itself.
fn godep(text: &str) -> Lock {
    let value = |line: &str, key: &str| {
        let rest = line.trim().strip_prefix(key)?.trim_start().strip_prefix(':')?;
        Some(rest.trim().trim_end_matches(',').trim_matches('"').to_owned())
    };
    let own = text.lines().find_map(|line| value(line, "\"ImportPath\""));
    let mut lock = pairs(
        text,
        |line| line.trim().starts_with('{'),
        |line| value(line, "\"ImportPath\""),
        |line| value(line, "\"Comment\""),
    );
    // Entries are packages; their repository is what versions are asked for by.
    for (path, version) in lock.versions.clone() {
        for (at, _) in path.match_indices('/') {
            lock.versions.entry(path[..at].to_owned()).or_insert_with(|| version.clone());
        }
    }
    lock.import_path = own;
    lock
}

/// Collects names and versions that stand on lines of the same entry.
fn pairs(
    text: &str,
    starts: impl Fn(&str) -> bool,
    name: impl Fn(&str) -> Option<String>,
    version: impl Fn(&str) -> Option<String>,
) -> Lock {
    let mut lock = Lock::default();
    let mut current = (None, None);
    for line in text.lines().chain(std::iter::once("")) {
        if starts(line) {
            current = (None, None);
        }
        current.0 = name(line).or(current.0);
        current.1 = version(line).as_deref().and_then(described).or(current.1);
        if let (Some(name), Some(version)) = (&current.0, &current.1) {
            lock.versions.insert(name.clone(), version.clone());
        }
    }
    lock
}

/// The version that `git describe` starts from: of `v1.2.3-5-gabcdef0`, `v1.2.3`.
fn described(text: &str) -> Option<Version> {
    let mut base = text;
    if let Some((rest, hash)) = text.rsplit_once("-g")
        && hash.bytes().all(|byte| byte.is_ascii_hexdigit())
        && let Some((rest, commits)) = rest.rsplit_once('-')
        && commits.bytes().all(|byte| byte.is_ascii_digit())
    {
        base = rest;
    }
    Version::parse(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(read: fn(&str) -> Lock, text: &str, expected: &[(&str, &str)]) {
        let lock = read(text);
        let versions: Vec<(String, String)> =
            lock.versions.iter().map(|(path, v)| (path.clone(), v.to_string())).collect();
        let expected: Vec<(String, String)> =
            expected.iter().map(|(path, v)| (path.to_string(), v.to_string())).collect();
        assert_eq!(versions, expected);
    }

    #[test]
    fn dep_locks() {
        check(
            dep,
            "[[projects]]\n  digest = \"1:ab\"\n  name = \"k8s.io/client-go\"\n  packages = [\n    \"tools\",\n  ]\n  \
             revision = \"aa\"\n  version = \"v8.0.0\"\n\n[[projects]]\n  branch = \"master\"\n  name = \"a.b/c\"\n\n\
             [solve-meta]\n  solver-version = 1\n",
            &[("k8s.io/client-go", "v8.0.0")],
        );
    }

    #[test]
    fn glide_locks() {
        check(
            glide,
            "hash: aa\nimports:\n- name: k8s.io/client-go\n  version: v6.0.0\n  subpackages:\n  - tools\n\
             - name: a.b/c\n  version: 20453efc2458\ntestImports: []\n",
            &[("k8s.io/client-go", "v6.0.0")],
        );
    }

    #[test]
    fn godep_locks() {
        let text = "{\n\t\"ImportPath\": \"k8s.io/kubernetes\",\n\t\"Deps\": [\n\t\t{\n\t\t\t\"ImportPath\": \"a.b/c/pkg\",\n\
                    \t\t\t\"Comment\": \"v1.2.3-5-gabcdef0\",\n\t\t\t\"Rev\": \"aa\"\n\t\t},\n\t\t{\n\
                    \t\t\t\"ImportPath\": \"a.b/d\",\n\t\t\t\"Rev\": \"bb\"\n\t\t}\n\t]\n}\n";
        check(godep, text, &[("a.b", "v1.2.3"), ("a.b/c", "v1.2.3"), ("a.b/c/pkg", "v1.2.3")]);
        assert_eq!(godep(text).import_path.as_deref(), Some("k8s.io/kubernetes"));
    }
}
