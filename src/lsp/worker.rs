//! The thread that analyses: one job after the other, each from the disk and what is open.

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;

use crate::analysis::{self, Progress, Report, Settings};
use crate::project::{self, LoadOptions, Reach};

use super::OptionsIn;
use super::client;

/// A run that somebody waits for.
#[derive(Debug)]
pub struct Job {
    /// The directory that it is a run in.
    pub root: PathBuf,
    /// The directories whose files are reported.
    pub dirs: Vec<PathBuf>,
    /// What is open.
    pub overlays: BTreeMap<PathBuf, Vec<u8>>,
    /// The number of the state of affairs that it is about.
    pub revision: u64,
    /// How the client wants things.
    pub settings: client::Settings,
    /// Whether the configuration may be another one than in the job before.
    pub reconfigured: bool,
    /// Tells it that it is no longer wanted.
    pub progress: Arc<Progress>,
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

/// Does jobs until there are no more. An error says why none can be done at all.
pub fn work(
    jobs: Receiver<Job>,
    options_in: &OptionsIn,
    tell: impl Fn(Done) + Send,
) -> Result<(), String> {
    analysis::on_threads(None, move || {
        let mut worker = Worker { options_in, settings: HashMap::new() };
        for job in jobs {
            let (root, revision) = (job.root.clone(), job.revision);
            let report = analysis::caught(|| worker.run(job));
            let report = report.unwrap_or_else(|panic| Err(Trouble::Internal(panic)));
            tell(Done { root, revision, report });
        }
    })
}

struct Worker<'a> {
    options_in: &'a OptionsIn,
    /// The settings of each root.
    settings: HashMap<PathBuf, Settings>,
}

impl Worker<'_> {
    fn run(&mut self, job: Job) -> Result<Report, Trouble> {
        let is_unwanted = || job.progress.unwanted.load(Ordering::Relaxed);
        let base = (self.options_in)(&job.root);
        let options = LoadOptions {
            paths: job.dirs,
            reach: Reach::Imports,
            goroot: job.settings.goroot.clone().or(base.goroot.clone()),
            overlays: job.overlays,
            ..base
        };
        if job.reconfigured {
            self.settings.remove(&job.root);
        }
        if is_unwanted() {
            return Err(Trouble::Unwanted);
        }
        if !self.settings.contains_key(&job.root) {
            let settings = Settings::find(&options, true, job.settings.config());
            self.settings.insert(job.root.clone(), settings.map_err(Trouble::Config)?);
        }
        let Settings { selection, catalog } = &self.settings[&job.root];
        let snapshot = project::load(&options);
        let report = analysis::analyze(&snapshot, catalog, selection, &job.progress);
        if is_unwanted() { Err(Trouble::Unwanted) } else { Ok(report) }
    }
}
