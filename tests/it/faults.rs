//! A disk that fails somewhere: whatever call it is, no run says that nothing was found where it has not
//! looked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rayon::prelude::*;

use crate::cli::{module, straggler};

/// Compiled and put before the C library.
const SHIM: &str = "tests/it/faults/fail_nth.c";

/// How many calls of a run may fail, each in a run of its own.
const CALLS: usize = 500;

/// Needs the other package, which go.mod says how to find.
const STATUS: &str = "package m

import \"example.com/m/below\"

func Status(url string) (int, error) {
	response, err := below.Get(url)
	if err != nil {
		return 0, err
	}
	return response.StatusCode, nil
}
";

const BELOW: &str = "package below

import \"net/http\"

func Get(url string) (*http.Response, error) { return http.Get(url) }

func Left(stop bool) int {
	results := make(chan int)
	go func() { results <- 1 }()
	if stop {
		return 0
	}
	return <-results
}
";

/// All of the standard library that there is.
const HTTP: &str = "package http

type Response struct {
	StatusCode int
	Body       interface{ Close() error }
}

func Get(url string) (*Response, error)
";

/// Says with a severity that it was read.
const CONFIG: &str = "[severity]\nsend-without-receiver = \"warning\"\n";

fn shim(dir: &Path) -> PathBuf {
    let library = dir.join("fail_nth.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let compiled = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .arg(&library)
        .arg(crate::harness::root().join(SHIM))
        .status();
    assert!(compiled.expect("a C compiler").success(), "{SHIM} compiles");
    library
}

/// Runs `straggler check args` with each of its first calls failing. All that it finds when none fails has to be found, or the exit code
/// and a message say that it may not have been.
fn check(args: &[&str]) {
    let files = [("status.go", STATUS), ("below/left.go", BELOW), ("straggler.toml", CONFIG)];
    let module = module(&files);
    let tools = tempfile::tempdir().expect("a temporary directory");
    let library = shim(tools.path());
    let goroot = tools.path().join("go");
    fs::create_dir_all(goroot.join("src/net/http")).expect("a directory");
    fs::write(goroot.join("src/net/http/http.go"), HTTP).expect("a file");
    let run = |at: usize| {
        let cache = tempfile::tempdir().expect("a temporary directory");
        let counted = tools.path().join(format!("{at}.count"));
        let output = straggler(module.path())
            .args(["check", "-j", "1", "--format", "concise"])
            .args(args)
            .arg("./...")
            .env("XDG_CACHE_HOME", cache.path())
            .env("GOROOT", &goroot)
            .env("LD_PRELOAD", &library)
            .env("FAIL_AT", at.to_string())
            .env("FAIL_COUNT", &counted)
            .output()
            .expect("straggler runs");
        let calls = fs::read_to_string(&counted).map_or(0, |text| text.parse().expect("a number"));
        (output, calls)
    };
    let (whole, calls): (_, usize) = run(0);
    let found = String::from_utf8_lossy(&whole.stdout).matches(": warning[").count();
    assert_eq!((whole.status.code(), found), (Some(1), 2), "{whole:?}");
    assert!(calls > 50, "calls are counted: {calls}");
    let failures: Vec<String> = (1..=CALLS.min(calls))
        .into_par_iter()
        .filter_map(|at| {
            let (output, _) = run(at);
            let is_whole = output.stdout == whole.stdout && output.status.code() == Some(1);
            let says_so = output.status.code() == Some(2) && !output.stderr.is_empty();
            let told = || {
                format!(
                    "{at}: {:?}\n{}{}",
                    output.status,
                    String::from_utf8_lossy(&output.stdout),
                    String::from_utf8_lossy(&output.stderr)
                )
            };
            (!is_whole && !says_so).then(told)
        })
        .collect();
    assert!(failures.is_empty(), "{} of {calls}:\n{}", failures.len(), failures.join("\n"));
}

#[test]
fn no_call_that_fails_hides_a_finding() {
    check(&["--no-cache"]);
}

#[test]
fn no_call_that_fails_hides_a_finding_where_answers_are_kept() {
    check(&[]);
}
