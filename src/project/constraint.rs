//! Build constraints: `//go:build` and `// +build` lines, `_GOOS_GOARCH` file names, whether a
//! [`Build`] satisfies them, and the nearest build that does.
//!
//! The rules are those of `go/build` and `go/build/constraint`; the tables are
//! `internal/syslist`'s. `import "C"` asks for nothing: cgo counts as there.

use std::collections::BTreeSet;

use super::header::Header;
use super::view::Build;

/// When a file is compiled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Constraint {
    /// The tag is satisfied.
    Tag(String),
    /// The other is not satisfied.
    Not(Box<Constraint>),
    /// All are; none is always.
    All(Vec<Constraint>),
    /// At least one is.
    Any(Vec<Constraint>),
}

/// A `//go:build` expression that is not one.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct BadConstraint;

/// The constraint of a file: that of its name and that of its header. A `//go:build` line that does
/// not parse is left out.
pub(super) fn of_file(name: &str, header: &Header) -> (Constraint, Result<(), BadConstraint>) {
    let mut all = of_name(name);
    let mut result = Ok(());
    match &header.go_build {
        Some(line) => match parse(line) {
            Ok(constraint) => all.push(constraint),
            Err(bad) => result = Err(bad),
        },
        None if header.plus_build.iter().map(String::len).sum::<usize>() > MAX_LENGTH => {
            result = Err(BadConstraint);
        }
        None => all.extend(header.plus_build.iter().map(|line| plus_build(line))),
    }
    (Constraint::All(all), result)
}

/// What a file name asks for: `*_GOOS`, `*_GOARCH`, `*_GOOS_GOARCH`, each also before `_test`.
fn of_name(name: &str) -> Vec<Constraint> {
    let stem = name.split('.').next().unwrap_or_default();
    let mut parts: Vec<&str> = stem.split('_').skip(1).collect();
    if parts.last() == Some(&"test") {
        parts.pop();
    }
    let tag = |name: &str| Constraint::Tag(name.to_owned());
    match parts[..] {
        [.., os, arch] if is_os(os) && is_arch(arch) => vec![tag(os), tag(arch)],
        [.., last] if is_os(last) || is_arch(last) => vec![tag(last)],
        _ => Vec::new(),
    }
}

/// A line of the older form: blanks part alternatives, commas what must hold together.
fn plus_build(line: &str) -> Constraint {
    let term = |term: &str| match term.strip_prefix('!') {
        Some(tag) => Constraint::Not(Box::new(Constraint::Tag(tag.to_owned()))),
        None => Constraint::Tag(term.to_owned()),
    };
    let alternative = |text: &str| Constraint::All(text.split(',').map(term).collect());
    Constraint::Any(line.split_whitespace().map(alternative).collect())
}

/// Longer constraints are refused, since the search for a build takes time for each tag. The longest
/// of Go's own tree has 300 bytes.
const MAX_LENGTH: usize = 2000;

/// Parentheses nested deeper than this are refused; nobody writes them.
const MAX_DEPTH: u32 = 50;

/// Reads the expression of a `//go:build` line.
fn parse(text: &str) -> Result<Constraint, BadConstraint> {
    if text.len() > MAX_LENGTH {
        return Err(BadConstraint);
    }
    let tokens = tokens(text)?;
    let mut parser = Parser { tokens: &tokens, depth: 0 };
    let constraint = parser.any()?;
    if parser.tokens.is_empty() { Ok(constraint) } else { Err(BadConstraint) }
}

fn tokens(text: &str) -> Result<Vec<&str>, BadConstraint> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let is_tag = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let length = match first {
            '(' | ')' | '!' => 1,
            '&' if rest.starts_with("&&") => 2,
            '|' if rest.starts_with("||") => 2,
            _ => rest.find(|c| !is_tag(c)).unwrap_or(rest.len()),
        };
        if length == 0 {
            return Err(BadConstraint);
        }
        let (token, after) = rest.split_at(length);
        tokens.push(token);
        rest = after.trim_start();
    }
    Ok(tokens)
}

struct Parser<'a> {
    tokens: &'a [&'a str],
    depth: u32,
}

impl Parser<'_> {
    fn take(&mut self, token: &str) -> bool {
        let found = self.tokens.first() == Some(&token);
        if found {
            self.tokens = &self.tokens[1..];
        }
        found
    }

    fn any(&mut self) -> Result<Constraint, BadConstraint> {
        let mut list = vec![self.all()?];
        while self.take("||") {
            list.push(self.all()?);
        }
        Ok(if list.len() > 1 { Constraint::Any(list) } else { list.remove(0) })
    }

    fn all(&mut self) -> Result<Constraint, BadConstraint> {
        let mut list = vec![self.not()?];
        while self.take("&&") {
            list.push(self.not()?);
        }
        Ok(if list.len() > 1 { Constraint::All(list) } else { list.remove(0) })
    }

    fn not(&mut self) -> Result<Constraint, BadConstraint> {
        // Go refuses `!!tag`, so one `!` is all that there can be.
        if self.take("!") {
            return Ok(Constraint::Not(Box::new(self.atom()?)));
        }
        self.atom()
    }

    fn atom(&mut self) -> Result<Constraint, BadConstraint> {
        if self.take("(") {
            self.depth += 1;
            if self.depth > MAX_DEPTH {
                return Err(BadConstraint);
            }
            let inner = self.any()?;
            self.depth -= 1;
            return if self.take(")") { Ok(inner) } else { Err(BadConstraint) };
        }
        match self.tokens.split_first() {
            Some((tag, rest)) if !matches!(*tag, ")" | "!" | "&&" | "||") => {
                self.tokens = rest;
                Ok(Constraint::Tag((*tag).to_owned()))
            }
            _ => Err(BadConstraint),
        }
    }
}

impl Constraint {
    /// Whether a build compiles the file.
    pub fn holds(&self, build: &Build) -> bool {
        match self {
            Constraint::Tag(tag) => build.satisfies(tag),
            Constraint::Not(inner) => !inner.holds(build),
            Constraint::All(list) => list.iter().all(|inner| inner.holds(build)),
            Constraint::Any(list) => list.iter().any(|inner| inner.holds(build)),
        }
    }

    /// The build nearest to the base that compiles the file: the fewest tags set otherwise, then
    /// the first target of [`TARGETS`]. `None` if there is none.
    ///
    /// Beyond [`MAX_SUBSETS_OF`] tags not every combination is tried, so that a hostile line costs
    /// little: only no tag, each alone, and all of them.
    pub fn nearest(&self) -> Option<Build> {
        let mut tags = BTreeSet::new();
        self.collect(&mut tags);
        let releases: BTreeSet<u32> = tags
            .iter()
            .filter_map(|tag| release(tag))
            .flat_map(|minor| [minor, minor.saturating_sub(1)])
            .chain([NEWEST_RELEASE])
            .collect();
        let about_target = tags.iter().any(|tag| is_os(tag) || is_arch(tag) || *tag == "unix");
        let toggles: Vec<&str> = tags
            .iter()
            .copied()
            .filter(|tag| !is_os(tag) && !is_arch(tag) && *tag != "unix" && release(tag).is_none())
            .collect();
        let every_pair = || OSES.iter().flat_map(|&os| ARCHES.iter().map(move |&arch| (os, arch)));
        for flipped in subsets(&toggles) {
            let targets = TARGETS.iter().copied().chain(every_pair());
            for (goos, goarch) in targets.take(if about_target { usize::MAX } else { 1 }) {
                for &release in releases.iter().rev() {
                    let mut build = Build { goos, goarch, release, ..Build::base() };
                    flipped.iter().for_each(|tag| build.flip(tag));
                    if self.holds(&build) {
                        return Some(build);
                    }
                }
            }
        }
        None
    }

    fn collect<'a>(&'a self, tags: &mut BTreeSet<&'a str>) {
        match self {
            Constraint::Tag(tag) => {
                tags.insert(tag);
            }
            Constraint::Not(inner) => inner.collect(tags),
            Constraint::All(list) | Constraint::Any(list) => {
                list.iter().for_each(|inner| inner.collect(tags));
            }
        }
    }
}

/// All subsets of so many tags are tried.
const MAX_SUBSETS_OF: usize = 8;

/// Subsets of `tags`, smaller ones first.
fn subsets<'a>(tags: &[&'a str]) -> Vec<Vec<&'a str>> {
    if tags.len() > MAX_SUBSETS_OF {
        let mut subsets = vec![Vec::new()];
        subsets.extend(tags.iter().map(|&tag| vec![tag]));
        subsets.push(tags.to_vec());
        return subsets;
    }
    let mut masks: Vec<u32> = (0..1 << tags.len()).collect();
    masks.sort_by_key(|mask| mask.count_ones());
    let subset = |mask: u32| {
        let chosen = tags.iter().enumerate().filter(|(at, _)| mask >> at & 1 == 1);
        chosen.map(|(_, &tag)| tag).collect()
    };
    masks.into_iter().map(subset).collect()
}

impl Build {
    /// Whether a tag is satisfied, as `go/build` decides it.
    fn satisfies(&self, tag: &str) -> bool {
        match tag {
            "cgo" => self.cgo,
            "gc" => !self.gccgo,
            "gccgo" => self.gccgo,
            "unix" => UNIX.contains(&self.goos),
            "linux" if self.goos == "android" => true,
            "solaris" if self.goos == "illumos" => true,
            "darwin" if self.goos == "ios" => true,
            _ if tag == self.goos || tag == self.goarch => true,
            _ => match release(tag) {
                Some(minor) => minor <= self.release,
                None => self.tags.contains(tag),
            },
        }
    }

    /// Makes satisfied what is not, and the other way round.
    fn flip(&mut self, tag: &str) {
        match tag {
            "cgo" => self.cgo = !self.cgo,
            "gc" | "gccgo" => self.gccgo = !self.gccgo,
            _ => {
                self.tags.insert(tag.to_owned());
            }
        }
    }
}

/// The N of `go1.N`.
fn release(tag: &str) -> Option<u32> {
    tag.strip_prefix("go1.")?.parse().ok()
}

/// The newest release whose `go1.N` the base build satisfies.
pub(super) const NEWEST_RELEASE: u32 = 27;

fn is_os(name: &str) -> bool {
    OSES.contains(&name)
}

fn is_arch(name: &str) -> bool {
    ARCHES.contains(&name)
}

/// Every operating system that is or was known to Go (`internal/syslist.KnownOS`).
const OSES: &[&str] = &[
    "linux",
    "darwin",
    "windows",
    "freebsd",
    "netbsd",
    "openbsd",
    "dragonfly",
    "solaris",
    "illumos",
    "aix",
    "android",
    "ios",
    "js",
    "wasip1",
    "plan9",
    "hurd",
    "nacl",
    "zos",
];

/// Those that satisfy the tag `unix` (`internal/syslist.UnixOS`).
const UNIX: &[&str] = &[
    "aix",
    "android",
    "darwin",
    "dragonfly",
    "freebsd",
    "hurd",
    "illumos",
    "ios",
    "linux",
    "netbsd",
    "openbsd",
    "solaris",
];

/// Every architecture that is or was known to Go (`internal/syslist.KnownArch`).
const ARCHES: &[&str] = &[
    "amd64",
    "arm64",
    "386",
    "arm",
    "ppc64le",
    "s390x",
    "riscv64",
    "loong64",
    "wasm",
    "mips",
    "mipsle",
    "mips64",
    "mips64le",
    "ppc64",
    "amd64p32",
    "armbe",
    "arm64be",
    "mips64p32",
    "mips64p32le",
    "ppc",
    "riscv",
    "s390",
    "sparc",
    "sparc64",
];

/// The targets that exist (`go tool dist list`), the likelier ones first, the base at the front.
const TARGETS: &[(&str, &str)] = &[
    ("linux", "amd64"),
    ("linux", "arm64"),
    ("darwin", "amd64"),
    ("darwin", "arm64"),
    ("windows", "amd64"),
    ("windows", "arm64"),
    ("windows", "386"),
    ("linux", "386"),
    ("linux", "arm"),
    ("linux", "ppc64le"),
    ("linux", "s390x"),
    ("linux", "riscv64"),
    ("linux", "loong64"),
    ("linux", "mips"),
    ("linux", "mipsle"),
    ("linux", "mips64"),
    ("linux", "mips64le"),
    ("linux", "ppc64"),
    ("freebsd", "amd64"),
    ("freebsd", "arm64"),
    ("freebsd", "386"),
    ("freebsd", "arm"),
    ("netbsd", "amd64"),
    ("netbsd", "arm64"),
    ("netbsd", "386"),
    ("netbsd", "arm"),
    ("openbsd", "amd64"),
    ("openbsd", "arm64"),
    ("openbsd", "386"),
    ("openbsd", "arm"),
    ("openbsd", "ppc64"),
    ("openbsd", "riscv64"),
    ("dragonfly", "amd64"),
    ("solaris", "amd64"),
    ("illumos", "amd64"),
    ("aix", "ppc64"),
    ("android", "arm64"),
    ("android", "amd64"),
    ("android", "arm"),
    ("android", "386"),
    ("ios", "arm64"),
    ("ios", "amd64"),
    ("js", "wasm"),
    ("wasip1", "wasm"),
    ("plan9", "amd64"),
    ("plan9", "386"),
    ("plan9", "arm"),
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::header;

    /// Checks in which build a file is first compiled.
    fn check(name: &str, source: &str, expected: &str) {
        let (constraint, parsed) = of_file(name, &header::scan(source.as_bytes()));
        let build = match (constraint.holds(&Build::base()), parsed) {
            (_, Err(BadConstraint)) => "bad".to_owned(),
            (true, _) => "base".to_owned(),
            (false, _) => constraint.nearest().map_or("none".to_owned(), |build| build.to_string()),
        };
        assert_eq!(build, expected, "{name} {source}");
    }

    fn check_line(line: &str, expected: &str) {
        check("x.go", &format!("//go:build {line}\n\npackage p\n"), expected);
    }

    #[test]
    fn file_names() {
        let check_name = |name, expected| check(name, "package p\n", expected);
        check_name("x.go", "base");
        check_name("linux.go", "base");
        check_name("windows.go", "base");
        check_name("x_linux.go", "base");
        check_name("x_unix.go", "base");
        check_name("x_windows.go", "windows/amd64");
        check_name("x_windows_test.go", "windows/amd64");
        check_name("x_arm64.go", "linux/arm64");
        check_name("x_windows_386.go", "windows/386");
        check_name("x_windows_unix.go", "base");
        check_name("windows_amd64.go", "base");
        check_name("x_js.go", "js/wasm");
        check_name("x_windows.pb.go", "windows/amd64");
        check_name("x_zos.go", "zos/amd64");
    }

    #[test]
    fn expressions() {
        check_line("linux && !windows", "base");
        check_line("unix", "base");
        check_line("!unix", "windows/amd64");
        check_line("!linux", "darwin/amd64");
        check_line("!linux && !darwin && !windows", "freebsd/amd64");
        check_line("!cgo", "linux/amd64, without cgo");
        check_line("gccgo", "linux/amd64, gccgo");
        check_line("ignore", "linux/amd64, tags ignore");
        check_line("(windows || e2e) && integration", "windows/amd64, tags integration");
        check_line("a && b && !c", "linux/amd64, tags a b");
        check_line("linux && windows", "none");
        check_line("android", "android/arm64");
        check_line("linux && !android", "base");
        check_line("go1.21", "base");
        check_line("!go1.21", "linux/amd64, go1.20");
        check_line("go1.99", "linux/amd64, go1.99");
        check_line("wasm", "js/wasm");
    }

    #[test]
    fn many_tags_cost_little() {
        let tags: Vec<String> = (0..40).map(|n| format!("tag{n}")).collect();
        check_line(&tags.join(" || "), "linux/amd64, tags tag0");
        check_line(&format!("{} && tag1 && !tag1", tags.join(" && ")), "none");
    }

    #[test]
    fn broken_expressions() {
        for line in ["", "a &&", "a b", "(a", "a)", "!!a", "a & b", "a, b"] {
            check_line(line, "bad");
        }
        let deep = 900;
        check_line(&format!("{}a{}", "(".repeat(deep), ")".repeat(deep)), "bad");
    }

    #[test]
    fn the_older_form() {
        let check_lines = |lines, expected| check("x.go", lines, expected);
        check_lines("// +build linux,386 darwin\n\npackage p", "darwin/amd64");
        check_lines("// +build darwin windows\n// +build !amd64\n\npackage p", "darwin/arm64");
        check_lines("//go:build linux\n// +build windows\n\npackage p", "base");
    }

    #[test]
    fn both_name_and_line_count() {
        check("x_windows.go", "//go:build arm64\n\npackage p", "windows/arm64");
        check("x_windows.go", "//go:build linux\n\npackage p", "none");
    }
}
