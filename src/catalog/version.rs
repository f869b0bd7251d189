//! Versions of modules and of the Go language, and their order.

use std::cmp::Ordering;
use std::fmt;

/// A module version as Go writes it: `v1.2.3`, `v2.0.0+incompatible`,
/// `v0.0.0-20191016115326-20453efc2458`.
///
/// Ordered by semantic versioning's precedence, so build metadata (`+incompatible`) does not count,
/// as in `golang.org/x/mod/semver`.
#[derive(Clone, Debug)]
pub struct Version {
    semver: semver::Version,
}

impl Version {
    /// Reads `v` and a semantic version; `None` for anything else (branch names, `latest`, `v1`).
    pub fn parse(text: &str) -> Option<Version> {
        let semver = semver::Version::parse(text.strip_prefix('v')?).ok()?;
        Some(Version { semver })
    }

    /// The time stamp (`yyyymmddhhmmss`) of a pseudo-version, which names a commit between
    /// releases. A `v0.0.0-…` says nothing about which releases came before it: compare it by this
    /// date.
    pub fn pseudo_timestamp(&self) -> Option<u64> {
        let pre = self.semver.pre.as_str();
        let (rest, hash) = pre.rsplit_once('-')?;
        let stamp = rest.rsplit('.').next()?;
        let is_hash = hash.len() == 12 && hash.bytes().all(|b| b.is_ascii_hexdigit());
        (is_hash && stamp.len() == 14).then(|| stamp.parse().ok()).flatten()
    }
}

impl PartialEq for Version {
    fn eq(&self, other: &Version) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Version {}

impl PartialOrd for Version {
    fn partial_cmp(&self, other: &Version) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Version {
    fn cmp(&self, other: &Version) -> Ordering {
        self.semver.cmp_precedence(&other.semver)
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}", self.semver)
    }
}

/// A version of Go as in a `go` line: `1.21`, `1.21.3`, `1.21rc1`.
///
/// Ordered as the go command orders them: from 1.21 on, `1.21` (the language) comes before
/// `1.21rc1`, which comes before `1.21.0`; before that, `1.20` is `1.20.0`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GoVersion {
    /// 1.
    pub major: u32,
    /// The language version.
    pub minor: u32,
    /// The release of it.
    patch: Option<u32>,
    /// The preview of it.
    preview: Option<(Preview, u32)>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Preview {
    Alpha,
    Beta,
    Candidate,
}

/// The first version whose first release is written `1.N.0`.
const FIRST_WITH_ZERO_RELEASE: u32 = 21;

impl GoVersion {
    /// The language version `major.minor`.
    pub fn language(major: u32, minor: u32) -> GoVersion {
        let patch = (major == 1 && minor < FIRST_WITH_ZERO_RELEASE).then_some(0);
        GoVersion { major, minor, patch, preview: None }
    }

    /// Reads a version without the `go` before it; `None` for anything else. What follows a `-`
    /// or a space (`1.21.3-custom`) names a build and does not count.
    pub fn parse(text: &str) -> Option<GoVersion> {
        let text = text.split(['-', ' ']).next()?;
        let (major, rest) = number(text)?;
        let Some(rest) = rest.strip_prefix('.') else {
            return rest.is_empty().then(|| GoVersion::language(major, 0));
        };
        let (minor, rest) = number(rest)?;
        let language = GoVersion::language(major, minor);
        if rest.is_empty() {
            return Some(language);
        }
        if let Some(rest) = rest.strip_prefix('.') {
            let (patch, rest) = number(rest)?;
            return rest.is_empty().then_some(GoVersion { patch: Some(patch), ..language });
        }
        let previews =
            [("alpha", Preview::Alpha), ("beta", Preview::Beta), ("rc", Preview::Candidate)];
        let (preview, rest) = previews
            .into_iter()
            .find_map(|(name, preview)| Some((preview, rest.strip_prefix(name)?)))?;
        let (serial, rest) = number(rest)?;
        rest.is_empty().then_some(GoVersion {
            patch: None,
            preview: Some((preview, serial)),
            ..language
        })
    }
}

/// The decimal number at the start of `text` (no leading zeros), and what follows it.
fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    let (digits, rest) = text.split_at(digits);
    if digits.len() > 1 && digits.starts_with('0') {
        return None;
    }
    Some((digits.parse().ok()?, rest))
}

impl fmt::Display for GoVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)?;
        if let Some((preview, serial)) = self.preview {
            let name = match preview {
                Preview::Alpha => "alpha",
                Preview::Beta => "beta",
                Preview::Candidate => "rc",
            };
            return write!(f, "{name}{serial}");
        }
        match self.patch {
            Some(patch) if patch > 0 || self.minor >= FIRST_WITH_ZERO_RELEASE => {
                write!(f, ".{patch}")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the versions are in strictly ascending order and come back as written.
    fn check_order<V: Ord + fmt::Display>(parse: fn(&str) -> Option<V>, ascending: &[&str]) {
        let versions: Vec<V> =
            ascending.iter().map(|text| parse(text).expect("a version")).collect();
        for (text, version) in ascending.iter().zip(&versions) {
            assert_eq!(version.to_string(), *text);
        }
        for pair in versions.windows(2) {
            assert!(pair[0] < pair[1], "{} < {}", pair[0], pair[1]);
        }
    }

    #[test]
    fn module_versions_are_ordered_as_go_orders_them() {
        check_order(
            Version::parse,
            &[
                "v0.0.0-20191016115326-20453efc2458",
                "v0.18.8",
                "v0.21.0-alpha.1",
                "v0.21.0-rc.0.0.20210331140202-000000000000",
                "v0.21.0",
                "v0.21.1-0.20210501000000-abcdefabcdef",
                "v2.0.0+incompatible",
                "v10.0.0",
            ],
        );
        assert_eq!(Version::parse("v2.0.0+incompatible"), Version::parse("v2.0.0"));
        assert_eq!(Version::parse("1.2.3"), None);
        assert_eq!(Version::parse("v1.2"), None);
        assert_eq!(Version::parse("master"), None);
    }

    #[test]
    fn pseudo_versions_have_a_date() {
        let stamp = |text| Version::parse(text).expect("a version").pseudo_timestamp();
        assert_eq!(stamp("v0.0.0-20191016115326-20453efc2458"), Some(20191016115326));
        assert_eq!(stamp("v0.21.1-0.20210501000000-abcdefabcdef"), Some(20210501000000));
        assert_eq!(stamp("v1.0.0-rc.1"), None);
    }

    #[test]
    fn go_versions_are_ordered_as_go_orders_them() {
        check_order(
            GoVersion::parse,
            &["1.9", "1.13.2", "1.20rc1", "1.20", "1.21", "1.21beta1", "1.21rc2", "1.21.0"],
        );
        assert_eq!(GoVersion::parse("1.20.0"), GoVersion::parse("1.20"));
        assert_eq!(GoVersion::parse("1.22.3-custom"), GoVersion::parse("1.22.3"));
        assert_eq!(GoVersion::parse("1.x"), None);
        assert_eq!(GoVersion::parse("1.021"), None);
    }
}
