//! From paths to a snapshot: what is read, how it is parted into packages, where imports lead.
//!
//! A tree of files is written as text, `-- path --` before each; a snapshot is printed as text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use straggler::project::{self, LoadOptions, Snapshot, Tests, Workspaces};
use straggler::syntax::Symbol;

/// A temporary directory, links in its path resolved.
struct Tree {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

fn tree(text: &str) -> Tree {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let root = dir.path().canonicalize().expect("a path");
    for section in text.split("-- ").skip(1) {
        let (path, text) = section.split_once(" --\n").expect("-- path --");
        let path = root.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, text).expect("a file");
    }
    Tree { _dir: dir, root }
}

impl Tree {
    fn options(&self, paths: &[&str]) -> LoadOptions {
        LoadOptions::new(&self.root, paths.iter().map(PathBuf::from).collect())
    }

    #[track_caller]
    fn check(&self, paths: &[&str], expected: &str) {
        self.check_options(&self.options(paths), expected);
    }

    #[track_caller]
    fn check_options(&self, options: &LoadOptions, expected: &str) {
        let snapshot = project::load(options);
        assert_eq!(self.print(&snapshot).trim(), unindent(expected), "{:?}", options.paths);
    }

    /// Packages with files (those that are reported with `*`), notes, and counts if some file was
    /// skipped.
    fn print(&self, snapshot: &Snapshot) -> String {
        let mut out = String::new();
        for package in &snapshot.packages {
            let tests = match package.view.tests {
                Tests::None => "",
                Tests::InPackage => " with tests",
                Tests::External => " tests",
            };
            out += &format!("{} {}{tests}", package.import_path, package.name);
            let build = package.view.build.to_string();
            if build != "linux/amd64" {
                out += &format!(" ({build})");
            }
            if let Some(tested) = package.under_test {
                let tested = snapshot.package(tested);
                assert_eq!(format!("{}_test", tested.import_path), package.import_path.as_str());
            }
            out += ":";
            for &id in &package.files {
                let star = if package.report.contains(&id) { "*" } else { "" };
                out += &format!(" {star}{}", snapshot.file(id).display);
            }
            out += "\n";
        }
        for note in &snapshot.notes {
            let place = note.line_column.map_or(String::new(), |(line, _)| format!("{line}:"));
            out += &format!("! {}:{place} {:?}: {}\n", note.path, note.kind, note.message);
        }
        let counts = &snapshot.counts;
        assert_eq!(counts.found, counts.analysed + counts.skipped.values().sum::<usize>());
        if !counts.skipped.is_empty() {
            out += &format!("found {}, skipped {:?}\n", counts.found, counts.skipped);
        }
        out.replace(self.root.to_str().expect("UTF-8"), "ROOT")
    }

    /// Where an import in the package `from` leads.
    fn import(&self, snapshot: &Snapshot, from: &str, import_path: &str) -> String {
        let of_path = |path: &str| {
            let mut packages = snapshot.packages.iter();
            packages.find(|package| package.import_path.as_str() == path)
        };
        let from = of_path(from).expect("a package of the run").importer;
        let Some(found) = snapshot.dependency(from, Symbol::new(import_path)) else {
            return "missing".to_owned();
        };
        let again = snapshot.dependency(from, Symbol::new(import_path)).expect("found again");
        assert_eq!(again.files.len(), found.files.len());
        let mut out = format!("{} {}:", found.import_path, found.name);
        for file in &found.files {
            assert_eq!(snapshot.file(file.id).path, file.path);
            out += &format!(" {}", file.display);
        }
        if found.package.is_some() {
            out += " (of the run)";
        }
        out.replace(self.root.to_str().expect("UTF-8"), "ROOT")
    }
}

fn unindent(text: &str) -> String {
    text.trim().lines().map(str::trim_start).collect::<Vec<_>>().join("\n")
}

const MODULE: &str = "-- go.mod --\nmodule example.com/m\n\ngo 1.21\n";

#[test]
fn each_file_is_reported_from_one_view() {
    let tree = tree(&format!(
        "{MODULE}\
         -- a.go --\npackage m\n\
         -- a_test.go --\npackage m\n\
         -- b_test.go --\npackage m_test\n\
         -- a_windows.go --\npackage m\n\
         -- b_windows.go --\npackage m\n\
         -- gen.go --\n//go:build ignore\n\npackage main\n\
         -- never.go --\n//go:build linux && windows\n\npackage m\n\
         -- bad.go --\n\n//go:build &&\n\npackage m\n"
    ));
    tree.check(
        &[],
        "example.com/m m: *a.go *bad.go
         example.com/m m with tests: a.go *a_test.go bad.go
         example.com/m_test m_test tests: *b_test.go
         example.com/m main (linux/amd64, tags ignore): *gen.go
         example.com/m m (windows/amd64): a.go *a_windows.go *b_windows.go bad.go
         ! bad.go:2: ParseError: the build constraint does not parse; the file is taken to have none
         ! never.go:1: NeverBuilt: no build satisfies the constraints of its name and lines; skipped
         found 8, skipped {NeverBuilt: 1}",
    );
}

#[test]
fn patterns_walk_past_what_go_walks_past() {
    let tree = tree(&format!(
        "{MODULE}ignore ./third/party\nignore node_modules\n\
         -- a/a.go --\npackage a\n-- a/_x.go --\npackage a\n-- a/.x.go --\npackage a\n\
         -- a/vendor/v/v.go --\npackage v\n-- a/testdata/t/t.go --\npackage t\n\
         -- _b/b.go --\npackage b\n-- .c/c.go --\npackage c\n\
         -- third/party/p.go --\npackage p\n-- a/node_modules/n/n.go --\npackage n\n\
         -- nested/go.mod --\nmodule example.com/nested\n-- nested/n/n.go --\npackage n\n"
    ));
    let all = "example.com/m/a a: *a/a.go\nexample.com/nested/n n: *nested/n/n.go";
    for paths in [&[][..], &["."], &["./..."], &["..."], &["a", "nested"]] {
        tree.check(paths, all);
    }
    tree.check(&["./a..."], "example.com/m/a a: *a/a.go");
    tree.check(&["a/vendor"], "v v: *a/vendor/v/v.go");
    tree.check(&["./a/testdata/..."], "example.com/m/a/testdata/t t: *a/testdata/t/t.go");
    tree.check(&["_b", ".c/c.go"], "example.com/m/.c c: *.c/c.go\nexample.com/m/_b b: *_b/b.go");
    tree.check(&["third/party"], "example.com/m/third/party p: *third/party/p.go");
    tree.check(
        &["a/_x.go", "a/a.go"],
        "example.com/m/a a: *a/a.go\nexample.com/m/a a: *a/_x.go a/a.go",
    );
}

#[test]
fn a_file_is_reported_alone_and_its_package_read() {
    let tree = tree(&format!(
        "{MODULE}-- a.go --\npackage m\n-- b.go --\npackage m\n-- c_windows.go --\npackage m\n"
    ));
    let windows = "example.com/m m (windows/amd64): a.go b.go";
    tree.check(&["a.go"], &format!("example.com/m m: *a.go b.go\n{windows} c_windows.go"));
    tree.check(&["./b.go"], &format!("example.com/m m: a.go *b.go\n{windows} c_windows.go"));
    tree.check(&["c_windows.go"], &format!("example.com/m m: a.go b.go\n{windows} *c_windows.go"));
    tree.check(
        &["a.go", "b.go", "a.go"],
        &format!("example.com/m m: *a.go *b.go\n{windows} c_windows.go"),
    );
}

#[test]
fn what_is_imported_of_the_module_is_read_too() {
    let tree = tree(&format!(
        "{MODULE}-- a/a.go --\npackage a\n\nimport \"example.com/m/b\"\n\
         -- b/b.go --\npackage b\n\nimport \"example.com/m/internal/c\"\n\
         -- b/b_test.go --\npackage b\n\nimport \"example.com/m/d\"\n\
         -- internal/c/c.go --\npackage c\n-- d/d.go --\npackage d\n\
         -- testdata/e/e.go --\npackage e\n\nimport \"example.com/m/internal/c\"\n"
    ));
    let c = "example.com/m/internal/c c: internal/c/c.go";
    let b = "example.com/m/b b: b/b.go";
    tree.check(&["a/a.go"], &format!("example.com/m/a a: *a/a.go\n{b}\n{c}"));
    // Wherever the run starts: below, what is read is told from there.
    let options = LoadOptions { cwd: tree.root.join("a"), ..tree.options(&["."]) };
    let snapshot = project::load(&options);
    let paths: Vec<&str> = snapshot.packages.iter().map(|it| it.import_path.as_str()).collect();
    assert_eq!(paths, ["example.com/m/a", "example.com/m/b", "example.com/m/internal/c"]);
    tree.check(&["testdata/e"], &format!("{c}\nexample.com/m/testdata/e e: *testdata/e/e.go"));
}

#[test]
fn import_paths_of_the_module_can_be_named() {
    let tree = tree(&format!(
        "{MODULE}-- a/a.go --\npackage a\n-- a/b/b.go --\npackage b\n-- goroot/src/fmt/fmt.go --\npackage fmt\n"
    ));
    tree.check(&["example.com/m/a"], "example.com/m/a a: *a/a.go");
    let both = "example.com/m/a a: *a/a.go\nexample.com/m/a/b b: *a/b/b.go";
    tree.check(&["example.com/m/a/..."], both);
    tree.check(
        &["example.com/other/a", "nothing", "./nothing/...", "a"],
        &format!(
            "{both}\n! ./nothing/...: Missing: no such file or directory\n\
             ! example.com/other/a: Missing: no such file, directory or package\n\
             ! nothing: Missing: no such file or directory"
        ),
    );
    let goroot = Some(tree.root.join("goroot"));
    let options = LoadOptions { goroot, ..tree.options(&["fmt"]) };
    tree.check_options(&options, "example.com/m/goroot/src/fmt fmt: *goroot/src/fmt/fmt.go");
}

const WORKSPACE: &str = "-- go.work --\ngo 1.21\nuse (\n\t./a\n\t./b\n\t./gone\n)\nreplace example.com/r => ./r\n\
     -- a/go.mod --\nmodule example.com/a\ngo 1.21\nrequire example.com/b v1.0.0\nrequire example.com/r v1.0.0\n\
     -- a/a.go --\npackage a\nimport _ \"example.com/b\"\n\
     -- b/go.mod --\nmodule example.com/b\ngo 1.21\n-- b/b.go --\npackage b\n-- b/sub/s.go --\npackage sub\n\
     -- r/go.mod --\nmodule example.com/r\n-- r/r.go --\npackage r\n\
     -- alone/go.mod --\nmodule example.com/alone\n-- alone/x.go --\npackage alone\n";

#[test]
fn modules_of_a_workspace_import_each_other() {
    let tree = tree(WORKSPACE);
    let options = tree.options(&["a", "alone", "b/b.go"]);
    tree.check_options(
        &options,
        "example.com/a a: *a/a.go
         example.com/alone alone: *alone/x.go
         example.com/b b: *b/b.go
         ! go.work: BadModuleFile: `use ./gone` names a directory without a go.mod; left out",
    );
    let snapshot = project::load(&options);
    let import = |from, path| tree.import(&snapshot, from, path);
    assert_eq!(import("example.com/a", "example.com/b"), "example.com/b b: b/b.go (of the run)");
    assert_eq!(import("example.com/a", "example.com/b/sub"), "example.com/b/sub sub: b/sub/s.go");
    assert_eq!(import("example.com/a", "example.com/r"), "example.com/r r: r/r.go");
    assert_eq!(import("example.com/alone", "example.com/b"), "missing");

    let off = LoadOptions { workspaces: Workspaces::Off, ..options };
    let snapshot = project::load(&off);
    assert_eq!(tree.import(&snapshot, "example.com/a", "example.com/b"), "missing");
    assert_eq!(snapshot.missing_dependencies(), ["example.com/b"]);
}

/// A module that requires `example.com/dep v1.0.0`, whose sources are vendored and in a module
/// cache; the cache also knows a higher version by way of `example.com/Other`.
const DEPENDENT: &str = "-- go.mod --\nmodule example.com/m\ngo 1.16\n\
     require example.com/dep v1.0.0\nrequire example.com/Other v0.1.0\n\
     -- m.go --\npackage m\n\
     -- vendor/modules.txt --\n# example.com/dep v1.0.0\n## explicit\nexample.com/dep\n# example.com/Other v0.1.0\n## explicit\n\
     -- vendor/example.com/dep/dep.go --\npackage dep\n\
     -- cache/cache/download/example.com/!other/@v/v0.1.0.mod --\nmodule example.com/Other\nrequire example.com/dep v1.1.0\n\
     -- cache/example.com/dep@v1.1.0/dep.go --\npackage dep\n\
     -- cache/example.com/dep@v1.1.0/dep_test.go --\npackage dep\n\
     -- cache/example.com/dep@v1.1.0/dep_windows.go --\npackage dep\n\
     -- cache/example.com/!other@v0.1.0/sub/sub.go --\npackage sub\n";

fn dependent(go_mod: impl Fn(String) -> String) -> (Tree, Snapshot) {
    let tree = tree(DEPENDENT);
    let path = tree.root.join("go.mod");
    fs::write(&path, go_mod(fs::read_to_string(&path).expect("a file"))).expect("a file");
    let module_cache = Some(tree.root.join("cache"));
    let snapshot = project::load(&LoadOptions { module_cache, ..tree.options(&["m.go"]) });
    (tree, snapshot)
}

#[test]
fn a_vendor_directory_that_agrees_goes_before_the_module_cache() {
    let (tree, snapshot) = dependent(|text| text);
    let import = |path| tree.import(&snapshot, "example.com/m", path);
    assert_eq!(import("example.com/dep"), "example.com/dep dep: vendor/example.com/dep/dep.go");
    let version = |path| snapshot.modules[0].version(path).map(ToString::to_string);
    assert_eq!(version("example.com/dep"), Some("v1.0.0".to_owned()));
}

#[test]
fn else_minimal_version_selection_finds_the_sources() {
    for change in [("go 1.16", "go 1.13"), ("dep v1.0.0", "dep v1.0.1")] {
        let (tree, snapshot) = dependent(|text| text.replace(change.0, change.1));
        let import = |path| tree.import(&snapshot, "example.com/m", path);
        let cached = "example.com/dep dep: cache/example.com/dep@v1.1.0/dep.go";
        assert_eq!(import("example.com/dep"), cached);
        let other = "example.com/Other/sub sub: cache/example.com/!other@v0.1.0/sub/sub.go";
        assert_eq!(import("example.com/Other/sub"), other);
        assert_eq!(import("example.com/Other/gone"), "missing");
        assert_eq!(import("example.com/dep/../dep"), "missing");
        let version = |path| snapshot.modules[0].version(path).map(ToString::to_string);
        assert_eq!(version("example.com/dep"), Some("v1.1.0".to_owned()));
        assert_eq!(version("example.com/gone"), None);
    }
}

#[test]
fn the_standard_library_has_dependencies_of_its_own() {
    let tree = tree(&format!(
        "{MODULE}require golang.org/x/net v0.1.0\n-- m.go --\npackage m\n\
         -- cache/golang.org/x/net@v0.1.0/dns/dns.go --\npackage dns\n\
         -- goroot/src/net/net.go --\npackage net\n\
         -- goroot/src/vendor/golang.org/x/net/dns/dns.go --\npackage dns\n"
    ));
    let options = LoadOptions {
        goroot: Some(tree.root.join("goroot")),
        module_cache: Some(tree.root.join("cache")),
        ..tree.options(&["m.go"])
    };
    let snapshot = project::load(&options);
    let own = "golang.org/x/net/dns dns: cache/golang.org/x/net@v0.1.0/dns/dns.go";
    assert_eq!(tree.import(&snapshot, "example.com/m", "golang.org/x/net/dns"), own);
    let net = snapshot.dependency(snapshot.packages[0].importer, Symbol::new("net")).expect("net");
    let dns = snapshot.dependency(net.importer, Symbol::new("golang.org/x/net/dns")).expect("dns");
    assert_eq!(dns.import_path.as_str(), "vendor/golang.org/x/net/dns");
    assert_eq!(dns.files[0].display, "goroot/src/vendor/golang.org/x/net/dns/dns.go");
    for path in ["C", "unsafe"] {
        assert!(snapshot.dependency(net.importer, Symbol::new(path)).is_none());
    }
    assert_eq!(snapshot.missing_dependencies(), [""; 0]);
}

#[test]
fn a_tree_without_go_mod_shows_its_import_path() {
    let tree = tree(
        "-- Gopkg.lock --\n[[projects]]\n  name = \"k8s.io/client-go\"\n  version = \"v8.0.0\"\n\
         -- cmd/main.go --\npackage main\nimport (\n\"github.com/me/tool/pkg/a\"\n\"github.com/me/tool/pkg/b\"\n\"k8s.io/client-go/rest\"\n)\n\
         -- pkg/a/a.go --\npackage a\n-- pkg/b/b.go --\npackage b\n\
         -- vendor/k8s.io/client-go/rest/rest.go --\npackage rest\n",
    );
    let options = tree.options(&["cmd", "pkg/a"]);
    tree.check_options(
        &options,
        "github.com/me/tool/cmd main: *cmd/main.go
         github.com/me/tool/pkg/a a: *pkg/a/a.go
         github.com/me/tool/pkg/b b: pkg/b/b.go",
    );
    let snapshot = project::load(&options);
    let import = |path| tree.import(&snapshot, "github.com/me/tool/cmd", path);
    assert_eq!(
        import("github.com/me/tool/pkg/b"),
        "github.com/me/tool/pkg/b b: pkg/b/b.go (of the run)"
    );
    let vendored = "k8s.io/client-go/rest rest: vendor/k8s.io/client-go/rest/rest.go";
    assert_eq!(import("k8s.io/client-go/rest"), vendored);
    let version = snapshot.modules[0].version("k8s.io/client-go").map(ToString::to_string);
    assert_eq!(version.as_deref(), Some("v8.0.0"));
}

#[test]
fn what_is_vendored_belongs_to_what_vendors_it() {
    let tree = tree(&format!(
        "{MODULE}-- vendor/a.b/c/go.mod --\nmodule a.b/c\n-- vendor/a.b/c/c.go --\npackage c\n\
         -- vendor/a.b/d/d.go --\npackage d\n\
         -- x/vendor/me/go.mod --\nmodule example.com/me\n-- x/vendor/me/me.go --\npackage me\n"
    ));
    let options = tree.options(&["vendor/a.b/c"]);
    tree.check_options(&options, "a.b/c c: *vendor/a.b/c/c.go");
    let snapshot = project::load(&options);
    assert_eq!(snapshot.modules[0].path, "example.com/m");
    assert_eq!(tree.import(&snapshot, "a.b/c", "a.b/d"), "a.b/d d: vendor/a.b/d/d.go");
    // A directory may be called so for other reasons.
    tree.check(&["x/vendor/me"], "example.com/me me: *x/vendor/me/me.go");
}

#[test]
fn one_import_that_fits_by_chance_names_no_tree() {
    let tree = tree(
        "-- glide.lock --\n-- a.go --\npackage a\nimport \"github.com/pkg/errors\"\nimport \"golang.org/x/net/context\"\n\
         -- errors/e.go --\npackage errors\n-- context/c.go --\npackage context\n",
    );
    let snapshot = project::load(&tree.options(&[]));
    assert_eq!(tree.import(&snapshot, "_/.", "github.com/pkg/errors"), "missing");
    assert_eq!(tree.import(&snapshot, "_/.", "golang.org/x/net/context"), "missing");
}

#[test]
fn module_files_that_do_not_parse_are_told_of_and_the_run_goes_on() {
    let tree = tree(
        "-- go.mod --\nmodule example.com/m\nrequire (\nbroken\n\
         -- a.go --\npackage m\n\
         -- w/go.work --\nuse .\nfrob x\n-- w/go.mod --\nmodule w\n\n-- w/w.go --\npackage w\n\
         -- w/vendor/modules.txt --\n# a b c d\n\
         -- dir/go.mod --\n\u{0}\u{1}garbage\n-- dir/d.go --\npackage d\n",
    );
    tree.check(
        &[],
        "example.com/m m: *a.go
         _/dir d: *dir/d.go
         w w: *w/w.go
         ! dir/go.mod:1: BadModuleFile: unknown directive `\u{0}\u{1}garbage`; the other lines count
         ! go.mod:3: BadModuleFile: a `require` line has the form `require example.com/path v1.2.3` (and 1 more line is wrong); the other lines count
         ! w/go.work:2: BadModuleFile: unknown directive `frob`; the other lines count
         ! w/vendor/modules.txt:1: BadModuleFile: a module line has the form `# example.com/path v1.2.3`; the other lines count",
    );
}

#[test]
fn overlays_stand_in_for_files() {
    let tree = tree(&format!("{MODULE}-- a.go --\npackage m\n-- sub/s.go --\npackage sub\n"));
    let overlay = |path: &str, text: &str| (tree.root.join(path), text.as_bytes().to_vec());
    let overlays: BTreeMap<PathBuf, Vec<u8>> = [
        overlay("a.go", "package changed\n"),
        overlay("b.go", "package changed\n"),
        overlay("new/n.go", "package n\n"),
        overlay("testdata/t.go", "package t\n"),
        overlay("go.mod", "module example.com/changed\n"),
    ]
    .into();
    let with = |paths: &[&str]| LoadOptions { overlays: overlays.clone(), ..tree.options(paths) };
    tree.check_options(
        &with(&[]),
        "example.com/changed changed: *a.go *b.go
         example.com/changed/new n: *new/n.go
         example.com/changed/sub sub: *sub/s.go",
    );
    tree.check_options(&with(&["b.go"]), "example.com/changed changed: a.go *b.go");
    tree.check_options(&with(&["new"]), "example.com/changed/new n: *new/n.go");
    let snapshot = project::load(&with(&["a.go"]));
    let found = tree.import(&snapshot, "example.com/changed", "example.com/changed/new");
    assert_eq!(found, "example.com/changed/new n: new/n.go");
}

#[test]
fn too_large_files_are_skipped_and_told_of() {
    let big = format!("package m\n{}", "//\n".repeat(100));
    let tree = tree(&format!("{MODULE}-- a.go --\npackage m\n-- big.go --\n{big}"));
    let options = |paths| LoadOptions { max_file_bytes: 100, ..tree.options(paths) };
    tree.check_options(
        &options(&[]),
        "example.com/m m: *a.go
         ! big.go: TooLarge: larger than the limit of 100 bytes; skipped
         found 2, skipped {TooLarge: 1}",
    );
    tree.check_options(&options(&["a.go"]), "example.com/m m: *a.go");
}

#[test]
fn dependencies_are_bounded() {
    let tree = tree(&format!(
        "{MODULE}-- m.go --\npackage m\n-- a/a.go --\npackage a\n-- b/b.go --\npackage b\n"
    ));
    let options = LoadOptions { max_dependency_packages: 1, ..tree.options(&["m.go"]) };
    let snapshot = project::load(&options);
    assert_eq!(
        tree.import(&snapshot, "example.com/m", "example.com/m/a"),
        "example.com/m/a a: a/a.go"
    );
    assert_eq!(snapshot.dependency_notes(), []);
    assert_eq!(tree.import(&snapshot, "example.com/m", "example.com/m/b"), "missing");
    let notes = snapshot.dependency_notes();
    let [note] = notes.as_slice() else { panic!("one note: {notes:?}") };
    assert!(note.message.starts_with("the dependencies are more than 1 packages"), "{note:?}");
}

#[cfg(unix)]
#[test]
fn what_is_no_regular_file_is_never_opened_and_told_of_once() {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    let tree = tree(&format!(
        "{MODULE}-- a.go --\npackage m\n-- dir.go/d.go --\npackage d\n-- empty.go/txt --\n-- sub/s.go --\npackage sub\n"
    ));
    let at = |path: &str| tree.root.join(path);
    let made = Command::new("mkfifo").arg(at("fifo.go")).status().expect("mkfifo runs");
    assert!(made.success());
    let _socket = UnixListener::bind(at("socket.go")).expect("a socket");
    symlink("/dev/zero", at("zero.go")).expect("a link");
    symlink("loop.go", at("loop.go")).expect("a link");
    symlink("nowhere", at("dangling.go")).expect("a link");
    symlink("..", at("sub/up")).expect("a link");
    symlink("../a.go", at("sub/inside.go")).expect("a link");
    tree.check(
        &[],
        "example.com/m m: *a.go
         example.com/m/dir.go d: *dir.go/d.go
         example.com/m/sub m: *sub/inside.go
         example.com/m/sub sub: *sub/s.go
         ! dangling.go: Unreadable: cannot be read: no such file or directory; skipped
         ! empty.go: NotRegular: not a regular file but a directory; skipped
         ! fifo.go: NotRegular: not a regular file but a FIFO; skipped
         ! loop.go: NotRegular: not a regular file but a loop of symbolic links; skipped
         ! socket.go: NotRegular: not a regular file but a socket; skipped
         ! sub/up: NotRegular: a symbolic link to a directory above it; not followed
         ! zero.go: NotRegular: not a regular file but a device; skipped
         found 10, skipped {NotRegular: 5, Unreadable: 1}",
    );
    tree.check(
        &["fifo.go", "a.go/x.go"],
        "example.com/m m: a.go
         ! a.go/x.go: Unreadable: cannot be read: not a directory
         ! fifo.go: NotRegular: not a regular file but a FIFO; skipped
         found 1, skipped {NotRegular: 1}",
    );
}

#[cfg(unix)]
#[test]
fn a_link_out_of_the_module_is_read_only_when_named() {
    use std::os::unix::fs::symlink;

    let tree = tree(
        "-- out/o.go --\npackage m\n-- out/go.mod --\nmodule example.com/out\n\
         -- m/go.mod --\nmodule example.com/m\n-- m/a.go --\npackage m\n",
    );
    symlink("../out/o.go", tree.root.join("m/o.go")).expect("a link");
    symlink("../out", tree.root.join("m/dir")).expect("a link");
    tree.check(
        &["m"],
        "example.com/m m: *m/a.go
         ! m/o.go: NotRegular: a symbolic link that leads out of the module; name it to have it read; skipped
         found 2, skipped {NotRegular: 1}",
    );
    tree.check(&["m/o.go"], "example.com/m m: m/a.go *m/o.go");
    tree.check(&["m/dir"], "example.com/out m: *m/dir/o.go");
    // A tree of nothing but links, as build systems lay out, is read.
    fs::create_dir(tree.root.join("links")).expect("a directory");
    symlink("../out/go.mod", tree.root.join("links/go.mod")).expect("a link");
    symlink("../out/o.go", tree.root.join("links/o.go")).expect("a link");
    tree.check(&["links"], "example.com/out m: *links/o.go");
}

/// The base view of every package of the standard library, and its tests, hold the files that the
/// go command says they hold; and no file is in no view.
#[test]
fn views_of_the_standard_library_are_those_of_go_list() {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let cwd = Path::new(env!("CARGO_MANIFEST_DIR"));
    let options = LoadOptions::from_env(cwd, Vec::new(), None, |name| std::env::var_os(name));
    let src = options.goroot.clone().expect("a Go installation").join("src");
    let lists = "{{range .GoFiles}} {{.}}{{end}}{{range .CgoFiles}} {{.}}{{end}}|\
                 {{range .TestGoFiles}} {{.}}{{end}}|{{range .XTestGoFiles}} {{.}}{{end}}";
    let output = Command::new("go")
        .args(["list", "-e", "-f", &format!("{{{{.ImportPath}}}}|{lists}"), "std", "cmd/go/..."])
        .envs([("GOOS", "linux"), ("GOARCH", "amd64"), ("CGO_ENABLED", "1"), ("GOFLAGS", "")])
        .envs([("GOEXPERIMENT", "none")])
        .current_dir(&src)
        .output()
        .expect("go runs (STRAGGLER_SKIP_GO=1 leaves this out)");
    let listed = String::from_utf8(output.stdout).expect("UTF-8");
    assert!(listed.lines().count() > 200, "{}", String::from_utf8_lossy(&output.stderr));

    let snapshot = project::load(&LoadOptions { paths: vec![src.clone()], ..options });
    let skipped = &snapshot.counts.skipped;
    assert_eq!(snapshot.counts.found, snapshot.counts.analysed + skipped.values().sum::<usize>());
    let mut views: BTreeMap<(&str, Tests), Vec<&str>> = BTreeMap::new();
    for package in &snapshot.packages {
        if package.view.build == project::Build::base() && !package.report.is_empty() {
            let path = package.import_path.as_str();
            let path = match package.view.tests {
                Tests::External => path.strip_suffix("_test").expect("external tests"),
                _ => path,
            };
            let files = package.report.iter().map(|&id| {
                let display = &snapshot.files[id.0 as usize].display;
                display.rsplit('/').next().expect("a name")
            });
            views.entry((path, package.view.tests)).or_default().extend(files);
        }
    }
    for line in listed.lines() {
        let parts: Vec<&str> = line.split('|').collect();
        let path = parts[0];
        if path.contains("vendor/") {
            continue;
        }
        // Which experiments are on by default is known to the go command alone.
        let compared = |file: &&str| {
            let text = fs::read_to_string(src.join(path).join(file)).expect("a file");
            !text
                .lines()
                .any(|line| line.starts_with("//go:build") && line.contains("goexperiment"))
        };
        for (kind, files) in
            [Tests::None, Tests::InPackage, Tests::External].into_iter().zip(&parts[1..])
        {
            let mut expected: Vec<&str> = files.split_whitespace().filter(compared).collect();
            expected.sort_unstable();
            let mut seen = views.remove(&(path, kind)).unwrap_or_default();
            seen.retain(compared);
            seen.sort_unstable();
            assert_eq!(seen, expected, "{path} {kind:?}");
        }
    }
}

/// Every dependency of a module with real dependencies is found where the go command finds it, and
/// every selected version is the one that it selects.
#[test]
fn dependencies_are_found_where_go_list_finds_them() {
    if std::env::var_os("STRAGGLER_SKIP_GO").is_some() {
        return;
    }
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/rules/watch-not-drained");
    for case in ["bad", "good-upgraded"] {
        let dir = fixtures.join(case);
        let go_list = |args: &[&str]| {
            let output = Command::new("go")
                .arg("list")
                .args(args)
                .envs([("GOOS", "linux"), ("GOARCH", "amd64"), ("CGO_ENABLED", "1")])
                .envs([("GOFLAGS", "-mod=readonly"), ("GOWORK", "off")])
                .current_dir(&dir)
                .output()
                .expect("go runs (STRAGGLER_SKIP_GO=1 leaves this out)");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            String::from_utf8(output.stdout).expect("UTF-8")
        };
        // The first call downloads what is not there yet.
        let packages = go_list(&["-deps", "-f", "{{.ImportPath}}|{{.Dir}}", "./..."]);
        let modules =
            go_list(&["-m", "-f", "{{if not .Main}}{{.Path}}|{{.Version}}{{end}}", "all"]);

        let options = LoadOptions::from_env(&dir, Vec::new(), None, |name| std::env::var_os(name));
        let snapshot = project::load(&options);
        let main = snapshot.packages[0].importer;
        let net = snapshot.dependency(main, Symbol::new("net")).expect("the package net");
        let mut compared = 0;
        for line in packages.lines() {
            let (path, expected) = line.split_once('|').expect("path|dir");
            let (from, path) = match path.strip_prefix("vendor/") {
                Some(path) => (net.importer, path),
                None => (main, path),
            };
            if path != "unsafe" {
                let found = snapshot.dependency(from, Symbol::new(path));
                let found = found.unwrap_or_else(|| panic!("{case}: {path} is missing"));
                assert_eq!(found.dir, Path::new(expected), "{case}: {path}");
                compared += 1;
            }
        }
        assert!(compared > 300, "{case}: {compared} packages");
        for line in modules.lines().filter(|line| !line.is_empty()) {
            let (path, expected) = line.split_once('|').expect("path|version");
            let found = snapshot.modules[0].version(path).map(ToString::to_string);
            assert_eq!(found.as_deref(), Some(expected), "{case}: {path}");
        }
    }
}
