//! The files of one directory, parted into the packages that builds would compile together.

use std::collections::BTreeSet;

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
}

impl Build {
    /// The build that every directory is looked at with first, whatever the host: linux/amd64 with
    /// the gc compiler and cgo, and without custom tags.
    pub fn base() -> Build {
        Build { goos: "linux", goarch: "amd64" }
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
pub(super) struct ListedFile<'a> {
    pub header: &'a Header,
    pub test: bool,
    /// Whether the user asked for it.
    pub wanted: bool,
}

/// A package that a directory holds. Files are indices into the directory's list.
#[derive(Debug)]
pub(super) struct PlannedPackage {
    pub name: String,
    pub view: View,
    pub files: Vec<usize>,
    pub report: Vec<usize>,
}

/// The name of a package none of whose files has a package clause.
const NO_NAME: &str = "_";

/// Parts the files of a directory into packages.
pub(super) fn plan(files: &[ListedFile<'_>]) -> Vec<PlannedPackage> {
    let all: Vec<usize> = (0..files.len()).collect();
    let mut plan = Vec::new();
    let names: BTreeSet<&str> = all.iter().map(|&at| name(&files[at])).collect();
    for package in names {
        let of_name: Vec<usize> =
            all.iter().copied().filter(|&at| name(&files[at]) == package).collect();
        let (tests, sources): (Vec<usize>, Vec<usize>) =
            of_name.into_iter().partition(|&at| files[at].test);
        let wanted = |list: &[usize]| -> Vec<usize> {
            list.iter().copied().filter(|&at| files[at].wanted).collect()
        };
        let external = package.ends_with("_test") && sources.is_empty();
        if !sources.is_empty() {
            plan.push(PlannedPackage {
                name: package.to_owned(),
                view: View { build: Build::base(), tests: Tests::None },
                report: wanted(&sources),
                files: sources.clone(),
            });
        }
        if !tests.is_empty() {
            let kind = if external { Tests::External } else { Tests::InPackage };
            let report = wanted(&tests);
            let mut with_tests = sources;
            with_tests.extend(tests);
            with_tests.sort_unstable();
            plan.push(PlannedPackage {
                name: package.to_owned(),
                view: View { build: Build::base(), tests: kind },
                files: with_tests,
                report,
            });
        }
    }
    plan
}

fn name<'a>(file: &ListedFile<'a>) -> &'a str {
    file.header.package.as_deref().unwrap_or(NO_NAME)
}
