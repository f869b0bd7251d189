//! The language server: the third door to the analysis, for editors.
//!
//! It speaks the Language Server Protocol over a pair of streams and does what the command line
//! does, with the text of open files in place of what is on the disk: the same loading, the same
//! analysis, the same configuration. For a file that is open it tells what a run of the command
//! line in the root of its workspace or module would tell of its package.
//!
//! ```text
//! input --wire--> server --jobs--> worker: project::load, analysis::analyze
//!                   |  ^------------ report -----|
//! output <--wire----+
//! ```
//!
//! Three threads read, write and analyse, and a fourth one looks at whole workspaces for clients that
//! ask for that; the server itself never waits for any of them, so that a newer edit ends an older
//! run. It runs no program and outlives whatever its client sends; it ends with its input, or with
//! the process that started it, and leaves nothing behind but what the cache keeps.

mod actions;
mod client;
mod diagnostics;
mod document;
mod gopls;
mod hover;
mod papers;
mod parent;
mod question;
mod server;
mod survey;
mod uri;
mod wire;
mod witness;
mod worker;

use std::io::{BufRead, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::cache::{Cache, Key};
use crate::project::LoadOptions;
use server::{Event, Server};

/// What the command line would load in a directory, before any paths are given.
pub type OptionsIn = Arc<dyn Fn(&Path) -> LoadOptions + Send + Sync>;

/// Where it is kept what was worked out, for whole workspaces.
#[derive(Debug)]
pub struct Kept {
    /// Where.
    pub cache: Cache,
    /// The key of the program that works it out.
    pub program: Key,
}

/// What the server is given of the machine.
pub struct Outside {
    /// What the command line would load.
    pub options_in: OptionsIn,
    /// Where answers are kept, if anywhere; called when that is needed for the first time.
    pub kept: Box<dyn FnOnce() -> Option<Kept> + Send>,
    /// Writes a document of a name for the client to show, and gives its path.
    pub write: papers::Write,
}

/// So many events wait for the server before whoever makes them waits too.
const EVENTS: usize = 1024;

/// What is still to be written when the server ends is written within this time or not at all: the
/// client may be gone.
const LAST_WORDS: Duration = Duration::from_millis(300);

/// Serves a client until it says goodbye or is gone; whether it said goodbye. `output` gets nothing
/// but the protocol.
pub fn serve(
    input: impl BufRead + Send + 'static,
    output: impl Write + Send + 'static,
    outside: Outside,
) -> bool {
    let Outside { options_in, kept, write: write_document } = outside;
    let (events, incoming) = mpsc::sync_channel(EVENTS);
    let (outgoing, to_write) = mpsc::channel();
    let (jobs, to_do) = mpsc::channel();
    let (surveys, to_survey) = mpsc::channel();
    let written = spawn("write", {
        let events = events.clone();
        move || write(to_write, output, &events)
    });
    spawn("read", {
        let events = events.clone();
        move || read(input, &events)
    });
    spawn("analyse", {
        let (events, options_in) = (events.clone(), Arc::clone(&options_in));
        // Nobody hears of it when the server is gone.
        let tell = {
            let events = events.clone();
            move |event| drop(events.send(event))
        };
        move || {
            if let Err(why) = worker::work(to_do, &options_in, tell) {
                let _ = events.send(Event::CannotAnalyse(why));
            }
        }
    });
    spawn("survey", {
        let (events, options_in) = (events.clone(), Arc::clone(&options_in));
        move || survey::work(to_survey, &options_in, kept, |event| drop(events.send(event)))
    });
    let watch = move |process| {
        let events = events.clone();
        spawn("watch", move || {
            parent::wait_for_end(process);
            let _ = events.send(Event::End);
        });
    };
    let goodbye =
        Server::new(outgoing, jobs, surveys, options_in, write_document).run(&incoming, &watch);
    let _ = written.recv_timeout(LAST_WORDS);
    goodbye
}

/// Starts a thread; the receiver learns when it has ended.
fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> mpsc::Receiver<()> {
    let (ended, end) = mpsc::channel();
    let named = thread::Builder::new().name(name.to_owned());
    let started = named.spawn(move || {
        work();
        drop(ended);
    });
    started.expect("a process can have a handful of threads");
    end
}

fn read(mut input: impl BufRead, events: &mpsc::SyncSender<Event>) {
    while let Ok(Some(incoming)) = wire::read(&mut input) {
        if events.send(Event::Incoming(incoming)).is_err() {
            return;
        }
    }
    let _ = events.send(Event::End);
}

fn write(
    messages: mpsc::Receiver<serde_json::Value>,
    mut output: impl Write,
    events: &mpsc::SyncSender<Event>,
) {
    for message in messages {
        if wire::write(&message, &mut output).and_then(|()| output.flush()).is_err() {
            let _ = events.send(Event::End);
            return;
        }
    }
}
