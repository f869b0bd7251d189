//! The files of one directory, parted into the packages that builds would compile together.
//!
//! Every file belongs to at least one view and is reported from exactly one: the base view if that
//! compiles it, else the view of the nearest build that does; a test from a view with tests. Files
//! that no one build compiles together never share a view.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::Path;

use super::constraint::{self, Constraint};
use super::header::Header;

/// A build configuration of a package: for which target, and with which tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct View {
    /// Target and tags.
    pub build: Build,
    /// Which tests belong to it.
    pub tests: Tests,
}

/// What build constraints ask about.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Build {
    /// The operating system.
    pub goos: &'static str,
    /// The architecture.
    pub goarch: &'static str,
    /// Whether `cgo` is satisfied.
    pub cgo: bool,
    /// Whether the compiler is gccgo, not gc.
    pub gccgo: bool,
    /// The N of the newest `go1.N` that is satisfied.
    pub release: u32,
    /// The other tags that are satisfied.
    pub tags: BTreeSet<String>,
}

impl Build {
    /// The build that every directory is looked at with first, whatever the host: linux/amd64 with
    /// the gc compiler and cgo, and without custom tags.
    pub fn base() -> Build {
        Build {
            goos: "linux",
            goarch: "amd64",
            cgo: true,
            gccgo: false,
            release: constraint::NEWEST_RELEASE,
            tags: BTreeSet::new(),
        }
    }
}

/// `windows/amd64, without cgo, gccgo, go1.20, tags a b`; only what differs from the base follows
/// the target.
impl fmt::Display for Build {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.goos, self.goarch)?;
        if !self.cgo {
            f.write_str(", without cgo")?;
        }
        if self.gccgo {
            f.write_str(", gccgo")?;
        }
        if self.release != constraint::NEWEST_RELEASE {
            write!(f, ", go1.{}", self.release)?;
        }
        if !self.tags.is_empty() {
            f.write_str(", tags")?;
        }
        self.tags.iter().try_for_each(|tag| write!(f, " {tag}"))
    }
}

/// Which tests a view holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Tests {
    /// None: the package as others import it.
    None,
    /// The package and its `_test.go` files of the same package name.
    InPackage,
    /// The `_test.go` files of package `name_test` alone.
    External,
}

/// A file of a directory.
pub(super) struct ListedFile {
    /// The name in its package clause.
    pub package: Option<String>,
    pub constraint: Constraint,
    pub test: bool,
    /// Whether the user asked for it.
    pub wanted: bool,
    /// Whether Go would not look at it (`_x.go`, `x.txt`), so that it belongs to no build: it is
    /// looked at beside the files of the base build, which do not see it.
    pub apart: bool,
}

impl ListedFile {
    /// A file by its name in the directory and its header.
    pub fn new(name: &str, header: &Header, wanted: bool) -> ListedFile {
        let (constraint, _) = constraint::of_file(name, header);
        ListedFile {
            package: header.package.clone(),
            constraint,
            test: is_test(name),
            wanted,
            apart: !is_go_file(name),
        }
    }
}

/// Whether Go counts a file of this name as a test.
pub(super) fn is_test(name: &str) -> bool {
    name.ends_with("_test.go")
}

/// Whether Go looks at a file of this name.
pub(super) fn is_go_file(name: &str) -> bool {
    name.ends_with(".go") && !name.starts_with(['_', '.'])
}

/// Which of two packages in one directory an import of it denotes: not a program or the
/// `documentation` that Go leaves out, then the one named like the directory.
pub(super) fn is_rather_imported(name: &str, than: &str, dir: &Path) -> bool {
    let last = dir.file_name().unwrap_or_default();
    let rank = |name: &str| (!matches!(name, "main" | "documentation"), last == name);
    rank(name) > rank(than)
}

/// A package that a directory holds. Files are indices into the directory's list.
#[derive(Debug)]
pub(super) struct PlannedPackage {
    pub name: String,
    pub view: View,
    pub files: Vec<usize>,
    pub report: Vec<usize>,
}

/// The packages of a directory.
#[derive(Debug, Default)]
pub(super) struct Plan {
    /// Base views first, then by build; within a build by name, then by tests.
    pub packages: Vec<PlannedPackage>,
    /// Files that no build compiles.
    pub never_built: Vec<usize>,
}

impl Plan {
    /// For external tests: the package whose name they carry, with its in-package tests if they
    /// are there, in the same build or else in the base build.
    pub fn under_test(&self, at: usize) -> Option<usize> {
        let tests = &self.packages[at];
        if tests.view.tests != Tests::External {
            return None;
        }
        let name = tests.name.strip_suffix("_test")?;
        let candidates =
            self.packages.iter().enumerate().filter(|(_, package)| {
                package.name == name && package.view.tests != Tests::External
            });
        let rank = |package: &PlannedPackage| {
            let build = match package.view.build == tests.view.build {
                true => 2,
                false if package.view.build == Build::base() => 1,
                false => 0,
            };
            (build, package.view.tests)
        };
        let best = candidates.max_by_key(|(_, package)| rank(package))?;
        (rank(best.1).0 > 0).then_some(best.0)
    }
}

/// The name of a package none of whose files has a package clause.
const NO_NAME: &str = "_";

/// In a directory with more builds than this, files that the base excludes are looked at without the
/// others of their package, so that what a directory costs grows with its files alone. The most that
/// Go's own tree has is 61, in `runtime`.
const MAX_BUILDS: usize = 200;

/// Parts the files of a directory into packages.
pub(super) fn plan(files: &[ListedFile]) -> Plan {
    let mut plan = Plan::default();
    let base = Build::base();
    // The build that each file is reported from; the base is there even for no file, since the
    // others import it.
    let mut builds: BTreeMap<Build, BTreeSet<usize>> = BTreeMap::new();
    for (at, file) in files.iter().enumerate().filter(|(_, file)| !file.apart) {
        if file.constraint.holds(&base) {
            builds.entry(base.clone()).or_default().insert(at);
        } else if let Some(build) = file.constraint.nearest() {
            builds.entry(build).or_default().insert(at);
        } else {
            plan.never_built.push(at);
        }
    }
    let own_of_base = builds.remove(&base).unwrap_or_default();
    let fallback = only_name(files, &own_of_base);
    let name = |at: usize| files[at].package.as_deref().unwrap_or(fallback);
    let is_crowded = builds.len() > MAX_BUILDS;
    for (build, own) in std::iter::once((base.clone(), own_of_base)).chain(builds) {
        let compiled: Vec<usize> = match is_crowded && build != base {
            true => own.iter().copied().collect(),
            false => (0..files.len())
                .filter(|&at| !files[at].apart && files[at].constraint.holds(&build))
                .collect(),
        };
        let names: BTreeSet<&str> = own.iter().map(|&at| name(at)).collect();
        for package in names {
            let of_name = compiled.iter().copied().filter(|&at| name(at) == package);
            let (tests, sources): (Vec<usize>, Vec<usize>) =
                of_name.partition(|&at| files[at].test);
            let mut add = |kind: Tests, reported: &[usize], files: Vec<usize>| {
                let reported = reported.iter().copied().filter(|at| own.contains(at));
                plan.packages.push(PlannedPackage {
                    name: package.to_owned(),
                    view: View { build: build.clone(), tests: kind },
                    report: reported.collect(),
                    files,
                });
            };
            if sources.iter().any(|at| own.contains(at)) {
                add(Tests::None, &sources, sources.clone());
            }
            if tests.iter().any(|at| own.contains(at)) {
                let external = package.ends_with("_test") && sources.is_empty();
                let kind = if external { Tests::External } else { Tests::InPackage };
                let mut together = [sources, tests.clone()].concat();
                together.sort_unstable();
                add(kind, &tests, together);
            }
        }
    }
    for at in (0..files.len()).filter(|&at| files[at].apart) {
        let mut beside: Vec<usize> = (0..files.len())
            .filter(|&other| {
                let file = &files[other];
                let compiled = !file.apart && !file.test && file.constraint.holds(&base);
                other == at || compiled && name(other) == name(at)
            })
            .collect();
        beside.sort_unstable();
        plan.packages.push(PlannedPackage {
            name: name(at).to_owned(),
            view: View { build: base.clone(), tests: Tests::None },
            files: beside,
            report: vec![at],
        });
    }
    for package in &mut plan.packages {
        package.report.retain(|&at| files[at].wanted);
    }
    plan
}

/// The package name that a file without a package clause is taken to have: the only one of the
/// base build's sources.
fn only_name<'a>(files: &'a [ListedFile], own_of_base: &BTreeSet<usize>) -> &'a str {
    let sources = own_of_base.iter().map(|&at| &files[at]).filter(|file| !file.test);
    let names: BTreeSet<&str> = sources.filter_map(|file| file.package.as_deref()).collect();
    match names.len() {
        1 => names.first().expect("one name"),
        _ => NO_NAME,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::header;

    /// Each file is `name: header`; one that starts with `+` was asked for.
    fn check(files: &[&str], expected: &[&str]) {
        let mut names = Vec::new();
        let mut listed = Vec::new();
        for file in files {
            let (name, source) = file.split_once(": ").expect("name: header");
            let (wanted, name) = match name.strip_prefix('+') {
                Some(name) => (true, name),
                None => (false, name),
            };
            names.push(name);
            listed.push(ListedFile::new(name, &header::scan(source.as_bytes()), wanted));
        }
        let plan = plan(&listed);
        let print = |list: &[usize]| list.iter().map(|&at| names[at]).collect::<Vec<_>>().join(" ");
        let mut printed = Vec::new();
        for (at, package) in plan.packages.iter().enumerate() {
            let tests = match package.view.tests {
                Tests::None => "",
                Tests::InPackage => " with tests",
                Tests::External => " tests",
            };
            let tested = plan.under_test(at).map_or(String::new(), |at| format!(" of {at}"));
            printed.push(format!(
                "{}{tests}{tested} ({}): {} | {}",
                package.name,
                package.view.build,
                print(&package.files),
                print(&package.report)
            ));
        }
        if !plan.never_built.is_empty() {
            printed.push(format!("never: {}", print(&plan.never_built)));
        }
        assert_eq!(printed, expected);
    }

    #[test]
    fn tests_are_views_of_their_own() {
        check(
            &[
                "+a.go: package p",
                "+a_test.go: package p",
                "+b_test.go: package p_test",
                "c.go: package p",
            ],
            &[
                "p (linux/amd64): a.go c.go | a.go",
                "p with tests (linux/amd64): a.go a_test.go c.go | a_test.go",
                "p_test tests of 1 (linux/amd64): b_test.go | b_test.go",
            ],
        );
    }

    #[test]
    fn a_package_that_is_called_test_is_no_test() {
        check(
            &["+a.go: package p_test", "+a_test.go: package p_test"],
            &[
                "p_test (linux/amd64): a.go | a.go",
                "p_test with tests (linux/amd64): a.go a_test.go | a_test.go",
            ],
        );
    }

    #[test]
    fn files_that_exclude_each_other_do_not_meet() {
        check(
            &[
                "+a.go: package p",
                "+a_linux.go: package p",
                "+a_windows.go: package p",
                "+b_windows.go: package p",
                "+other.go: //go:build !linux && !windows\n\npackage p",
                "+e_test.go: //go:build e2e\n\npackage p_test",
                "+i_test.go: //go:build e2e\n\npackage p",
            ],
            &[
                "p (linux/amd64): a.go a_linux.go | a.go a_linux.go",
                "p (darwin/amd64): a.go other.go | other.go",
                "p with tests (linux/amd64, tags e2e): a.go a_linux.go i_test.go | i_test.go",
                "p_test tests of 2 (linux/amd64, tags e2e): e_test.go | e_test.go",
                "p (windows/amd64): a.go a_windows.go b_windows.go | a_windows.go b_windows.go",
            ],
        );
    }

    #[test]
    fn a_program_beside_a_package_is_another_package() {
        check(
            &[
                "+a.go: package p",
                "+gen.go: //go:build ignore\n\npackage main",
                "+never.go: //go:build linux && windows\n\npackage p",
                "+broken.go: pack",
                "+_x.go: package p",
            ],
            &[
                "p (linux/amd64): a.go broken.go | a.go broken.go",
                "main (linux/amd64, tags ignore): gen.go | gen.go",
                "p (linux/amd64): a.go broken.go _x.go | _x.go",
                "never: never.go",
            ],
        );
    }

    #[test]
    fn a_directory_with_too_many_builds_is_looked_at_file_by_file() {
        let listed = |name: &str, source: &str| {
            ListedFile::new(name, &header::scan(source.as_bytes()), true)
        };
        let tagged = |n| listed(&format!("f{n}.go"), &format!("//go:build t{n}\n\npackage p"));
        let mut files: Vec<ListedFile> = (0..MAX_BUILDS).map(tagged).collect();
        files.push(listed("base.go", "package p"));
        let all: usize = plan(&files).packages.iter().map(|package| package.files.len()).sum();
        assert_eq!(all, 2 * MAX_BUILDS + 1);
        files.push(tagged(MAX_BUILDS));
        let all: usize = plan(&files).packages.iter().map(|package| package.files.len()).sum();
        assert_eq!(all, MAX_BUILDS + 2);
    }

    #[test]
    fn an_external_test_alone_tests_the_base() {
        check(
            &["a.go: package p", "+e_test.go: //go:build e2e\n\npackage p_test"],
            &[
                "p (linux/amd64): a.go | ",
                "p_test tests of 0 (linux/amd64, tags e2e): e_test.go | e_test.go",
            ],
        );
    }
}
