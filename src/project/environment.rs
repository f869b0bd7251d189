//! Where Go's own sources and the module cache are on this machine, as the go command would say,
//! without running it.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The root of the Go installation: `$GOROOT`, the parent of the `go` on `PATH` (links resolved),
/// or one of the places where installers put it. `None` if none of them holds `src`.
pub fn find_goroot() -> Option<PathBuf> {
    let named = variable("GOROOT");
    let on_path = env::var_os("PATH").and_then(|path| goroot_on(&path));
    let usual = ["/usr/local/go", "/usr/lib/go"].map(PathBuf::from);
    named.into_iter().chain(on_path).chain(usual).find(|root| root.join("src").is_dir())
}

/// The module cache: `$GOMODCACHE`, `pkg/mod` in the first element of `$GOPATH`, or
/// `~/go/pkg/mod`. `None` if it is no directory.
pub fn find_module_cache() -> Option<PathBuf> {
    let in_gopath = variable("GOPATH")
        .and_then(|list| env::split_paths(&list).next())
        .map(|first| first.join("pkg/mod"));
    let in_home = variable("HOME").map(|home| home.join("go/pkg/mod"));
    let cache = variable("GOMODCACHE").or(in_gopath).or(in_home)?;
    cache.is_dir().then_some(cache)
}

fn goroot_on(path: &OsStr) -> Option<PathBuf> {
    let go = env::split_paths(path).map(|dir| dir.join("go")).find(|go| go.is_file())?;
    let go = go.canonicalize().ok()?;
    go.parent().and_then(Path::parent).map(Path::to_owned)
}

fn variable(name: &str) -> Option<PathBuf> {
    env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}
