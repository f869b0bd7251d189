//! Real editors with the configurations that `editors/` offers.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::cli::module;
use crate::harness::root;
use crate::lsp::LEAKS;

/// Where `cargo` puts the program, before whatever else is called `straggler`.
fn path_with_straggler() -> std::ffi::OsString {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_straggler"));
    let own = program.parent().expect("a program is in a directory").to_owned();
    let others = std::env::var_os("PATH").unwrap_or_default();
    let all = std::iter::once(own).chain(std::env::split_paths(&others));
    std::env::join_paths(all).expect("a path of directories")
}

#[test]
fn neovim_shows_a_finding_and_sees_it_go() {
    if std::env::var_os("STRAGGLER_SKIP_NVIM").is_some() {
        return;
    }
    let module = module(&[("p.go", LEAKS)]);
    let script = root().join("tests/editors/neovim.lua");
    let output = Command::new("nvim")
        .args(["--headless", "-n", "-u", "NONE", "-S"])
        .arg(&script)
        .current_dir(module.path())
        .env("PATH", path_with_straggler())
        .env("STRAGGLER_PLUGIN", root().join("editors/neovim/straggler.lua"))
        .env("STRAGGLER_FILE", module.path().join("p.go"))
        .env("XDG_STATE_HOME", module.path().join(".state"))
        .env("XDG_DATA_HOME", module.path().join(".data"))
        .env("XDG_CACHE_HOME", module.path().join(".cache"))
        .stdin(Stdio::null())
        .output()
        .expect(
            "nvim can be run: `apt-get install neovim`, or STRAGGLER_SKIP_NVIM=1 to leave it out",
        );
    let told = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}:\n{told}", output.status);
}
