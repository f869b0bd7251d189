//! Between which versions of a module and of Go a fact holds.
//!
//! A bound that cannot be decided is answered by `None` and never by a guess.

use std::fmt;

use serde::Deserialize;

use super::{GoVersion, Version};

/// For which versions a fact holds.
#[derive(Clone, Debug, Default)]
pub struct Gate {
    /// The module that the bounds speak of; empty for Go's library.
    pub module: Box<str>,
    /// The first version for which the fact holds.
    pub since: Option<Bound>,
    /// The first version for which it no longer does.
    pub until: Option<Bound>,
    /// Bounds on go.mod's `go` line.
    pub go: GoBounds,
}

/// A bound on a module's version: `v0.21.0`, or `v0.21.0, 20201117065206` with the time of the
/// commit that made the difference.
///
/// The time decides for versions that name a commit and no release (`v0.0.0-…`): their place in
/// the order of versions says nothing of what they hold.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub struct Bound {
    /// The first release with the difference.
    pub version: Version,
    /// When it was committed, as pseudo-versions write it: `yyyymmddhhmmss`.
    pub time: Option<u64>,
}

impl Bound {
    /// Whether `version` is at or after the bound; `None` when that cannot be decided.
    fn reached(&self, version: &Version) -> Option<bool> {
        let nameless = Version::parse("v0.0.0").expect("a version");
        match version.pseudo_timestamp() {
            Some(committed) if *version < nameless => self.time.map(|time| time <= committed),
            _ => Some(self.version <= *version),
        }
    }
}

impl TryFrom<String> for Bound {
    type Error = String;

    fn try_from(text: String) -> Result<Bound, String> {
        let wrong = || {
            format!(
                "`{text}` is not a bound on a module's version: expected `v1.2.3` or \
                 `v1.2.3, yyyymmddhhmmss`"
            )
        };
        let (version, time) = match text.split_once(',') {
            Some((version, time)) => (version, Some(time.trim())),
            None => (text.as_str(), None),
        };
        let version = Version::parse(version).ok_or_else(wrong)?;
        let time = match time {
            Some(time) if time.len() == 14 => Some(time.parse().map_err(|_| wrong())?),
            Some(_) => return Err(wrong()),
            None => None,
        };
        Ok(Bound { version, time })
    }
}

/// Bounds on the version of Go: `>=1.23`, `<1.21`, `>=1.16, <1.23`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct GoBounds {
    /// The first version for which the fact holds.
    pub since: Option<GoVersion>,
    /// The first version for which it no longer does.
    pub until: Option<GoVersion>,
}

impl TryFrom<String> for GoBounds {
    type Error = String;

    fn try_from(text: String) -> Result<GoBounds, String> {
        let mut bounds = GoBounds::default();
        for part in text.split(',').map(str::trim) {
            let (slot, version) = if let Some(version) = part.strip_prefix(">=") {
                (&mut bounds.since, version)
            } else if let Some(version) = part.strip_prefix('<') {
                (&mut bounds.until, version)
            } else {
                return Err(format!(
                    "`{text}` is not a bound on Go's version: expected `>=1.23`, `<1.23` or both \
                     with a comma"
                ));
            };
            *slot = Some(
                GoVersion::parse(version.trim())
                    .ok_or_else(|| format!("`{version}` is not a version of Go"))?,
            );
        }
        Ok(bounds)
    }
}

/// The versions that a module selects, as far as they are known.
pub trait Versions {
    /// The selected version of a module.
    fn module(&self, path: &str) -> Option<&Version>;
    /// The version in the go.mod's `go` line.
    fn go(&self) -> Option<GoVersion>;
}

/// Nothing is known: facts without bounds hold, all others are undecided.
pub struct NoVersions;

impl Versions for NoVersions {
    fn module(&self, _: &str) -> Option<&Version> {
        None
    }

    fn go(&self) -> Option<GoVersion> {
        None
    }
}

impl Gate {
    /// Whether the fact holds for these versions; `None` when that cannot be decided.
    pub fn holds(&self, versions: &dyn Versions) -> Option<bool> {
        let version = versions.module(&self.module);
        let go = versions.go();
        let bounds = [
            self.since.as_ref().map(|since| version.and_then(|v| since.reached(v))),
            self.until.as_ref().map(|until| version.and_then(|v| until.reached(v)).map(|r| !r)),
            self.go.since.map(|since| go.map(|go| since <= go)),
            self.go.until.map(|until| go.map(|go| go < until)),
        ];
        let mut bounds = bounds.into_iter().flatten();
        if bounds.clone().any(|bound| bound == Some(false)) {
            return Some(false);
        }
        bounds.all(|bound| bound == Some(true)).then_some(true)
    }
}

impl fmt::Display for Gate {
    /// The bounds, empty when there are none.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut bounds = Vec::new();
        if let Some(since) = &self.since {
            bounds.push(format!("{} >= {}", self.module, since.version));
        }
        if let Some(until) = &self.until {
            bounds.push(format!("{} < {}", self.module, until.version));
        }
        if let Some(since) = self.go.since {
            bounds.push(format!("go >= {since}"));
        }
        if let Some(until) = self.go.until {
            bounds.push(format!("go < {until}"));
        }
        f.write_str(&bounds.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixed(Option<Version>, Option<GoVersion>);

    impl Versions for Fixed {
        fn module(&self, path: &str) -> Option<&Version> {
            self.0.as_ref().filter(|_| path == "k8s.io/apimachinery")
        }

        fn go(&self) -> Option<GoVersion> {
            self.1
        }
    }

    /// Checks whether a fact with the bounds holds for a module version and a version of Go; the
    /// empty text is a version that is not known.
    fn check(until: &str, go: &str, version: &str, own_go: &str, expected: Option<bool>) {
        let gate = Gate {
            module: "k8s.io/apimachinery".into(),
            until: Bound::try_from(String::from(until)).ok(),
            go: GoBounds::try_from(String::from(go)).unwrap_or_default(),
            ..Gate::default()
        };
        let versions = Fixed(Version::parse(version), GoVersion::parse(own_go));
        assert_eq!(gate.holds(&versions), expected, "{gate} for {version} and {own_go}");
    }

    #[test]
    fn a_gate_decides_or_says_that_it_cannot() {
        check("v0.21.0", "", "v0.20.15", "", Some(true));
        check("v0.21.0", "", "v0.21.0-rc.0", "", Some(true));
        check("v0.21.0", "", "v0.21.0", "", Some(false));
        check("v0.21.0", "", "", "1.20", None);
        check("", "", "", "", Some(true));
        let both = ">=1.16, <1.23";
        check("v0.21.0", both, "v0.20.0", "1.22.7", Some(true));
        check("v0.21.0", both, "v0.20.0", "1.23rc1", Some(false));
        check("v0.21.0", both, "v0.20.0", "1.15", Some(false));
        check("v0.21.0", both, "v0.20.0", "", None);
        check("v0.21.0", both, "v0.30.0", "", Some(false));
        check("v0.21.0", both, "", "1.23", Some(false));
    }

    #[test]
    fn a_commit_without_a_release_is_placed_by_its_time() {
        let (before, after) =
            ("v0.0.0-20190404173353-6a84e37a896d", "v0.0.0-20210404173353-6a84e37a896d");
        check("v0.21.0, 20201117065206", "", before, "", Some(true));
        check("v0.21.0, 20201117065206", "", after, "", Some(false));
        check("v0.21.0", "", before, "", None);
        check("v0.21.0", "", "v0.21.1-0.20190404173353-6a84e37a896d", "", Some(false));
    }
}
