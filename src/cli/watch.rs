//! `--watch`: one run after the other, whenever something has changed that could matter.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

use notify::{Event, EventKind, RecursiveMode, Watcher};

use super::{fail, tell};
use crate::project;

/// An editor that saves and a branch that is switched change many files at once.
const CALM: Duration = Duration::from_millis(100);

/// Runs `check` now and after each change below `paths`, until the process is interrupted.
pub fn run(paths: &[PathBuf], check: impl Fn() -> ExitCode) -> ExitCode {
    let (send, events) = mpsc::channel();
    let watched = notify::recommended_watcher(move |event| {
        // Nobody receives only when the process ends.
        let _ = send.send(event);
    })
    .and_then(|mut watcher| {
        for dir in dirs(paths) {
            watcher.watch(&dir, RecursiveMode::Recursive)?;
        }
        Ok(watcher)
    });
    let _watcher = match watched {
        Ok(watcher) => watcher,
        Err(error) => return fail(&[format!("--watch: {error}")]),
    };
    loop {
        if io::stdout().is_terminal() {
            print!("\x1b[2J\x1b[H");
            let _ = io::stdout().flush();
        }
        let code = check();
        tell(|out| writeln!(out, "waiting for changes"));
        if !changed(&events) {
            return code;
        }
    }
}

/// The directories that hold what is analysed.
fn dirs(paths: &[PathBuf]) -> Vec<PathBuf> {
    let dir = |path: &PathBuf| {
        let path = if path.ends_with("...") { path.parent().unwrap_or(path) } else { path };
        let named = path.ancestors().find(|path| path.is_dir());
        named.unwrap_or(Path::new(".")).to_path_buf()
    };
    match paths {
        [] => vec![PathBuf::from(".")],
        paths => paths.iter().map(dir).collect(),
    }
}

/// Waits for a change that matters and for calm after it; `false` if none can come.
fn changed(events: &Receiver<notify::Result<Event>>) -> bool {
    loop {
        let Ok(event) = events.recv() else { return false };
        if !event.is_ok_and(|event| matters(&event)) {
            continue;
        }
        while events.recv_timeout(CALM).is_ok() {}
        return true;
    }
}

fn matters(event: &Event) -> bool {
    let is_source = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let names = ["go.mod", "go.work", "modules.txt", project::CONFIG, project::BASELINE];
        name.ends_with(".go") || names.contains(&&*name)
    };
    !matches!(event.kind, EventKind::Access(_)) && event.paths.iter().any(is_source)
}
