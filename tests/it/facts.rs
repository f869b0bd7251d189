//! `straggler facts` and `check --facts`: packages that were looked at one by one, each where there is
//! nothing but its own files and the facts of what it imports, say together what one run says.

use std::fs;
use std::path::{Path, PathBuf};

use crate::cache::edits::{USED, USING};
use crate::cache::process::LEAK;
use crate::cli::{module, seen, straggler};
use crate::harness::root;

/// A module whose finding rests on two packages that it vendors.
const DEPENDING: &str = "fixtures/rules/callee-cannot-be-cancelled/bad-dependency";

/// A test in a package of its own, of which the package knows nothing.
const TEST: &str = "package m_test\n\nimport (\n\t\"testing\"\n\n\t\"example.com/bad/leak\"\n)\n\n\
func TestLate(t *testing.T) {\n\tready := make(chan bool)\n\tgo func() { ready <- true }()\n\tm.Late(nil)\n}\n";

/// The targets, each after those that it imports: its name, its files, and the names of all that it
/// imports, directly or not.
const TARGETS: &[(&str, &[&str], &[&str])] = &[
    ("queue", &["vendor/example.com/scheduler/queue/queue.go"], &[]),
    ("scheduler", &["vendor/example.com/scheduler/scheduler.go"], &["queue"]),
    ("simulator", &["main.go", "oracle.go"], &["queue", "scheduler"]),
    ("used", &["used/used.go"], &[]),
    ("using", &["using/using.go"], &["used"]),
    ("leak", &["leak/leak.go", "leak/broken.go"], &[]),
    ("leak_test", &["leak/leak_test.go"], &["leak"]),
];

/// What decides what imports denote.
const DECIDING: &[&str] = &["go.mod", "vendor/modules.txt", "straggler.toml"];

/// A module of several packages, one of them a dependency, and a place for their facts.
struct Packages {
    module: tempfile::TempDir,
    facts: tempfile::TempDir,
}

impl Packages {
    fn new() -> Packages {
        let module = module(&[
            ("straggler.toml", "min-confidence = 'low'\n"),
            ("used/used.go", USED),
            ("using/using.go", &USING.replace("example.com/m", "example.com/bad")),
            ("leak/leak.go", LEAK),
            ("leak/broken.go", "package m\n\nfunc Broken( {\n"),
            ("leak/leak_test.go", TEST),
        ]);
        for file in ["go.mod", "main.go", "oracle.go", "vendor/modules.txt"] {
            copy(&root().join(DEPENDING), module.path(), file);
        }
        for (_, files, _) in TARGETS {
            let vendored = files.iter().filter(|file| file.starts_with("vendor/"));
            vendored.for_each(|file| copy(&root().join(DEPENDING), module.path(), file));
        }
        Packages { module, facts: directory() }
    }

    fn of(&self, target: &str) -> PathBuf {
        self.facts.path().join(target)
    }

    /// Writes the facts of a target in a place where there is nothing but what it is given.
    fn write_alone(&self, target: &str) {
        let (_, files, imports) = named(target);
        let sandbox = directory();
        for file in files.iter().chain(DECIDING) {
            copy(self.module.path(), sandbox.path(), file);
        }
        let given: Vec<PathBuf> = imports.iter().map(|import| self.of(import)).collect();
        let told = facts(sandbox.path(), files, &given, &self.of(target));
        assert_eq!(told, "exit 0\n", "{target}");
    }

    fn write_all(&self) {
        TARGETS.iter().for_each(|(target, ..)| self.write_alone(target));
    }

    fn all(&self) -> Vec<PathBuf> {
        TARGETS.iter().map(|(target, ..)| self.of(target)).collect()
    }

    /// What one run says.
    fn whole(&self, args: &[&str]) -> String {
        let mut command = straggler(self.module.path());
        command.args(["check", "--no-cache"]).args(args);
        seen(&command.output().expect("straggler runs"))
    }

    /// What the facts say, to somebody who has nothing else.
    fn together(&self, given: &[PathBuf], args: &[&str]) -> String {
        let nowhere = directory();
        let mut command = straggler(nowhere.path());
        command.arg("check").args(args).arg("--facts").args(given);
        seen(&command.output().expect("straggler runs"))
    }
}

fn directory() -> tempfile::TempDir {
    tempfile::tempdir().expect("a directory")
}

fn named(target: &str) -> (&str, &[&str], &[&str]) {
    *TARGETS.iter().find(|(name, ..)| *name == target).expect("a target")
}

fn copy(from: &Path, to: &Path, file: &str) {
    let target = to.join(file);
    fs::create_dir_all(target.parent().expect("a parent")).expect("a directory");
    fs::copy(from.join(file), target).expect("copied");
}

/// Writes the facts of `paths`, and gives what is said.
fn facts(dir: &Path, paths: &[&str], given: &[PathBuf], out: &Path) -> String {
    let mut command = straggler(dir);
    command.arg("facts").args(paths).arg("--out").arg(out);
    if !given.is_empty() {
        command.arg("--facts").args(given);
    }
    seen(&command.output().expect("straggler runs"))
}

/// Without the line on standard error that only a run on facts has.
fn without_origin(told: &str) -> String {
    let is_origin = |line: &str| line.contains("known from the facts");
    told.lines().filter(|line| !is_origin(line)).map(|line| format!("{line}\n")).collect()
}

#[test]
fn packages_one_by_one_say_what_one_run_says() {
    let packages = Packages::new();
    packages.write_all();
    let all = packages.all();
    let whole = packages.whole(&["--format", "concise"]);
    for part in [
        "main.go:42:2: ",
        "leak/broken.go:3:12: ",
        "leak/leak.go:5:14: ",
        "leak/leak_test.go:11:14: ",
        "used/used.go:30:3: ",
    ] {
        assert!(whole.contains(part), "{part} in\n{whole}");
    }
    for format in ["human", "concise", "json", "sarif", "gitlab"] {
        let args = ["--format", format];
        assert_eq!(without_origin(&packages.together(&all, &args)), packages.whole(&args));
    }
    // Who calls `used.Run`, and how often, is for those to say who are not known where it was looked at.
    let told = packages.together(&all, &[]);
    assert!(told.contains("each turn of this loop comes here"), "{told}");
    assert!(told.contains(" worked out here, the others are known from the facts\n"), "{told}");
    let told = packages.together(&[packages.of("used")], &[]);
    assert!(!told.contains("each turn of this loop comes here"), "{told}");
    assert!(told.ends_with("! all of it is known from the facts\n"), "{told}");
}

#[test]
fn equal_packages_have_equal_facts() {
    let (one, other) = (Packages::new(), Packages::new());
    one.write_all();
    let dir = other.module.path();
    for (target, files, imports) in TARGETS {
        // Where everything is at hand, on as many threads as there are, and from a list.
        let given: Vec<String> =
            imports.iter().map(|import| format!("{}\n", other.of(import).display())).collect();
        let list = other.of("list");
        fs::write(&list, given.concat()).expect("a file");
        let list = PathBuf::from(format!("@{}", list.display()));
        assert_eq!(facts(dir, files, &[list], &other.of(target)), "exit 0\n");
        let read = |packages: &Packages| fs::read(packages.of(target)).expect("facts");
        assert_eq!(read(&one), read(&other), "{target}");
    }
}

#[test]
fn only_what_is_asked_for_is_reported() {
    let packages = Packages::new();
    packages.write_all();
    let mut command = straggler(packages.module.path());
    command.args(["check", "leak", "used/used.go", "--format", "concise", "--facts"]);
    let told = seen(&command.args(packages.all()).output().expect("straggler runs"));
    assert!(told.contains("leak/leak.go:5:14: ") && told.contains("used/used.go:30:3: "), "{told}");
    assert!(!told.contains("main.go"), "{told}");
    let told = packages.together(&packages.all(), &["nowhere"]);
    assert_eq!(told, "exit 2\n! error: `nowhere` is in none of the facts\n");
}

#[test]
fn a_facts_file_that_is_not_what_was_written_is_refused() {
    let packages = Packages::new();
    packages.write_all();
    let path = packages.of("using");
    let whole = fs::read(&path).expect("facts");
    let shown = path.display();
    let check = |bytes: &[u8], why: &str| {
        fs::write(&path, bytes).expect("written");
        let expected = format!("exit 2\n! error: `{shown}` {why}\n");
        assert_eq!(packages.together(&packages.all(), &[]), expected);
        let module = packages.module.path();
        let told = facts(module, &["main.go"], &packages.all(), &packages.of("again"));
        assert_eq!(told, expected);
        assert!(!packages.of("again").exists());
    };
    let damaged = "is cut short or damaged; write it again";
    for length in [0, 1, 7, 8, 9, 40, 41, 100, whole.len() / 2, whole.len() - 1] {
        check(&whole[..length], damaged);
    }
    for at in [8, 9, 41, 60, whole.len() / 2, whole.len() - 33, whole.len() - 1] {
        let mut flipped = whole.clone();
        flipped[at] ^= 4;
        check(&flipped, damaged);
    }
    check(&[&whole[..], b"\0"].concat(), damaged);
    check(b"package using\n", "is no facts file");
    let of_form = |form: u8| [b"strgfct", &[form][..], &whole[8..]].concat();
    let again = "form 1 is read here); write it again";
    check(&of_form(0), &format!("was written by an older straggler (form 0; {again}"));
    check(&of_form(2), &format!("was written by a newer straggler (form 2; {again}"));
    // The key of the program comes first: with another one, and sealed as it must be.
    let sealed = |mut bytes: Vec<u8>| {
        bytes.truncate(whole.len() - 32);
        let seal = blake3::hash(&bytes);
        bytes.extend(seal.as_bytes());
        bytes
    };
    let mut other = whole.clone();
    other[20] ^= 1;
    let version = env!("CARGO_PKG_VERSION");
    let program = format!("was written by another build of straggler ({version}); write it again");
    check(&sealed(other), &program);
    // A path that leads out of where the files belong.
    let at = whole.windows(14).position(|text| text == b"using/using.go").expect("a path");
    let mut leading = whole.clone();
    leading[at..at + 14].copy_from_slice(b"../../using.go");
    check(&sealed(leading), damaged);
    fs::remove_file(&path).expect("removed");
    let told = packages.together(&packages.all(), &[]);
    assert!(told.starts_with(&format!("exit 2\n! error: `{shown}` cannot be read: ")), "{told}");
}

#[test]
fn facts_that_are_out_of_date_are_never_a_wrong_answer() {
    let packages = Packages::new();
    packages.write_all();
    let (module, used) = (packages.module.path(), packages.of("used"));
    let before = fs::read(&used).expect("facts");
    fs::write(module.join("used/used.go"), USED.replace("p.work <- func() {}", "p.Close()"))
        .expect("a file");
    packages.write_alone("used");
    // `using` was looked at with what `used` said before.
    let args = ["--format", "concise"];
    assert_eq!(without_origin(&packages.together(&packages.all(), &args)), packages.whole(&args));
    // Two that hold another text of one file, and one that holds another than the disk.
    let former = packages.of("former");
    fs::write(&former, before).expect("written");
    assert_eq!(
        packages.together(&[used.clone(), former.clone()], &[]),
        format!(
            "exit 2\n! error: `{}` holds another `used/used.go` than `{}`: one of them is out of \
             date; write it again\n",
            former.display(),
            used.display()
        )
    );
    let again = packages.of("again");
    assert_eq!(
        facts(module, &["used"], std::slice::from_ref(&former), &again),
        format!(
            "exit 2\n! error: `{}` holds another `used/used.go` than the working directory: it is \
             out of date; write it again\n",
            former.display()
        )
    );
    assert!(!again.exists());
}

#[test]
fn what_is_missing_is_told() {
    let packages = Packages::new();
    let (module, out) = (packages.module.path(), packages.of("out"));
    assert_eq!(
        facts(module, &["using"], &[], &out),
        "exit 0\n! warning: no facts are given of `example.com/bad/used`, which is imported: less is \
         known without\n"
    );
    let told = |paths: &[&str]| facts(module, paths, &[], &out);
    assert_eq!(told(&["vendor"]), "exit 2\n! error: `vendor` holds no Go files\n");
    let told_of_none = told(&["none.go"]);
    assert!(
        told_of_none.starts_with("exit 2\n! error: `none.go`: cannot be read: "),
        "{told_of_none}"
    );
    assert_eq!(
        facts(&module.join("leak"), &["."], &[], &out),
        "exit 2\n! error: `.` belongs to no module at or below the working directory; run this in \
         the root of its module or workspace\n"
    );
    assert_eq!(
        facts(&module.join("leak"), &["../used"], &[], &out),
        "exit 2\n! error: `../used/used.go` is not below the working directory\n"
    );
}
