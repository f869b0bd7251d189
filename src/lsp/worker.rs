//! The thread that analyses: one job after the other, each from the disk and what is open.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use lsp_server::RequestId;

use crate::analysis::{self, Asked, Memory, Progress, Report, Settings};
use crate::project::{self, LoadOptions, Reach, Snapshot};

use super::OptionsIn;
use super::client;
use super::gopls;
use super::hover::{self, About, Told};
use super::server::Event;

/// A run that somebody waits for.
#[derive(Debug)]
pub struct Job {
    /// The directory that it is a run in.
    pub root: PathBuf,
    /// The files that are reported.
    pub files: Vec<PathBuf>,
    /// What is open.
    pub overlays: BTreeMap<PathBuf, Vec<u8>>,
    /// The number of the state of affairs that it is about.
    pub revision: u64,
    /// How the client wants things.
    pub settings: client::Settings,
    /// What may be another than in the job before.
    pub changed: Changed,
    /// Tells it that it is no longer wanted.
    pub progress: Arc<Progress>,
}

/// Places that somebody wants to be told of, in what the last run of a root was about.
#[derive(Debug)]
pub struct Inquiry {
    /// The directory of the run.
    pub root: PathBuf,
    /// The file.
    pub path: PathBuf,
    /// The place, or all of them.
    pub about: About,
    /// Who asks.
    pub id: RequestId,
}

/// Something to do.
#[derive(Debug)]
pub enum Task {
    /// A run.
    Run(Job),
    /// An answer.
    Inquire(Inquiry),
}

/// What may be another than before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Changed {
    /// The text of what is open.
    #[default]
    Texts,
    /// What is open, or on the disk.
    Files,
    /// The configuration too.
    Config,
}

/// What came of a [`Job`].
#[derive(Debug)]
pub struct Done {
    /// The directory of the run.
    pub root: PathBuf,
    /// The number of the job.
    pub revision: u64,
    /// The report; of a job that is no longer wanted, nothing that is of use.
    pub report: Result<Report, Trouble>,
}

/// Why there is no report.
#[derive(Debug)]
pub enum Trouble {
    /// The job was no longer wanted.
    Unwanted,
    /// The configuration is refused, for these reasons.
    Config(Vec<String>),
    /// straggler itself failed.
    Internal(String),
}

/// Does what there is to do until there is no more. An error says why none can be done at all.
pub fn work(
    tasks: Receiver<Task>,
    options_in: &OptionsIn,
    tell: impl Fn(Event) + Send,
) -> Result<(), String> {
    analysis::on_threads(None, move || {
        let mut worker = Worker { options_in, kept: HashMap::new() };
        for task in tasks {
            match task {
                Task::Run(job) => {
                    let (root, revision) = (job.root.clone(), job.revision);
                    let report = analysis::caught(|| worker.run(job));
                    let report = report.unwrap_or_else(|panic| Err(Trouble::Internal(panic)));
                    tell(Event::Done(Done { root, revision, report }));
                }
                Task::Inquire(inquiry) => {
                    let told = analysis::caught(|| worker.inquire(&inquiry));
                    tell(Event::Told(inquiry, told));
                }
            }
        }
    })
}

/// The settings of a run for an editor.
pub fn settings(options: &LoadOptions, wanted: &client::Settings) -> Result<Settings, Trouble> {
    let asked = Asked { config: wanted.config(), unless_named: gopls::RULES, ..Asked::default() };
    Settings::find(options, asked).map_err(Trouble::Config)
}

struct Worker<'a> {
    options_in: &'a OptionsIn,
    kept: HashMap<PathBuf, Kept>,
}

/// What the last run of a root leaves for the next.
#[derive(Default)]
struct Kept {
    settings: Option<Settings>,
    snapshot: Option<Snapshot>,
    memory: Memory,
}

impl Worker<'_> {
    fn inquire(&mut self, inquiry: &Inquiry) -> Vec<Told> {
        let Some(Kept { settings: Some(settings), snapshot: Some(snapshot), memory }) =
            self.kept.get_mut(&inquiry.root)
        else {
            return Vec::new();
        };
        analysis::inquire(snapshot, &settings.catalog, memory, |index, summaries| {
            hover::of_code(snapshot, index, summaries, &inquiry.path, inquiry.about)
        })
    }

    fn run(&mut self, job: Job) -> Result<Report, Trouble> {
        let is_unwanted = || job.progress.unwanted.load(Ordering::Relaxed);
        let Kept { settings, snapshot, memory } = self.kept.entry(job.root.clone()).or_default();
        // It stays so until a run comes that is wanted.
        if job.changed >= Changed::Files {
            *snapshot = None;
        }
        if job.changed == Changed::Config {
            *settings = None;
        }
        if is_unwanted() {
            return Err(Trouble::Unwanted);
        }
        let base = (self.options_in)(&job.root);
        let options = LoadOptions {
            paths: job.files,
            reach: Reach::Itself,
            goroot: job.settings.goroot.clone().or(base.goroot.clone()),
            overlays: job.overlays,
            ..base
        };
        let settings = match settings {
            Some(settings) => settings,
            None => settings.insert(self::settings(&options, &job.settings)?),
        };
        let edited = snapshot.take().and_then(|before| before.edited(&options.overlays));
        let now = snapshot.insert(edited.unwrap_or_else(|| project::load(&options)));
        let selections = settings.selections(&options, now).map_err(Trouble::Config)?;
        let catalog = &settings.catalog;
        let mut report = analysis::analyze_again(now, catalog, &selections, &job.progress, memory);
        gopls::leave_out(&mut report, |rule| job.settings.names(rule));
        if is_unwanted() { Err(Trouble::Unwanted) } else { Ok(report) }
    }
}
