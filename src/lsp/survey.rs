//! The diagnostics of whole workspaces, for clients that ask for them: a thread of its own that
//! analyses the folders of the client as the command line does, with what is kept of former runs,
//! and the state of that.
//!
//! A survey is about what is saved: it begins anew when files have changed on the disk, not with
//! every key. A client that knows the last survey waits until there is another, as the protocol
//! wants it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::Receiver;
use std::thread;
use std::time::{Duration, Instant};

use gen_lsp_types::{
    Diagnostic, FullDocumentDiagnosticReport, ProgressToken, UnchangedDocumentDiagnosticReport,
    Uri, WorkspaceDiagnosticParams, WorkspaceDiagnosticReport, WorkspaceDocumentDiagnosticReport,
    WorkspaceFullDocumentDiagnosticReport, WorkspaceUnchangedDocumentDiagnosticReport,
};
use lsp_server::RequestId;
use serde_json::{Value, json};

use crate::analysis::{self, Keeping, Progress, Report};
use crate::project::{self, LoadOptions};

use super::server::Event;
use super::worker::{self, Trouble};
use super::{Kept, OptionsIn, client, gopls, question, uri};

/// Whole folders to analyse.
#[derive(Debug)]
pub struct Job {
    /// The folders.
    pub folders: Vec<PathBuf>,
    /// What is open.
    pub overlays: BTreeMap<PathBuf, Vec<u8>>,
    /// How the client wants things.
    pub settings: client::Settings,
    /// How far it is.
    pub progress: Arc<Progress>,
}

/// What came of a [`Job`].
#[derive(Debug)]
pub enum Surveyed {
    /// One of its folders is done.
    Folder(PathBuf, Result<Box<Report>, Trouble>),
    /// All of them are; what is wrong with the cache, if anything is.
    All(Option<String>),
}

/// Does what there is to do until there is no more. `kept` is called when something is kept for the
/// first time.
pub fn work(
    jobs: Receiver<Job>,
    options_in: &OptionsIn,
    kept: impl FnOnce() -> Option<Kept>,
    tell: impl Fn(Event),
) {
    // Whoever types comes first: half of the machine is theirs.
    let threads = thread::available_parallelism().map_or(1, |all| all.get().div_ceil(2));
    let mut find_kept = Some(kept);
    let mut kept = None;
    for job in jobs {
        if let Some(find) = find_kept.take() {
            kept = find();
        }
        for folder in &job.folders {
            let report = analysis::caught(|| {
                let survey = || survey(folder, &job, options_in, kept.as_ref());
                analysis::on_threads(Some(threads), survey)
                    .unwrap_or_else(|why| Err(Trouble::Internal(why)))
            });
            let report = report.unwrap_or_else(|panic| Err(Trouble::Internal(panic)));
            tell(Event::Surveyed(Surveyed::Folder(folder.clone(), report.map(Box::new))));
        }
        let trouble = kept.as_ref().and_then(|kept| kept.cache.finish());
        tell(Event::Surveyed(Surveyed::All(trouble)));
    }
}

fn survey(
    folder: &Path,
    job: &Job,
    options_in: &OptionsIn,
    kept: Option<&Kept>,
) -> Result<Report, Trouble> {
    let base = options_in(folder);
    // Somebody looks around there, and works on none of it.
    let libraries = [base.goroot.as_deref(), base.module_cache.as_deref()];
    let holds_libraries = libraries.into_iter().flatten().any(|dir| dir.starts_with(folder));
    if folder.parent().is_none() || holds_libraries {
        let why = format!("`{}` is not analysed as a whole: it holds libraries", folder.display());
        return Err(Trouble::Config(vec![why]));
    }
    let goroot = job.settings.goroot.clone().or(base.goroot.clone());
    let options = LoadOptions { goroot, overlays: job.overlays.clone(), ..base };
    let settings = worker::settings(&options, &job.settings)?;
    let snapshot = project::load(&options);
    let selections = settings.selections(&options, &snapshot).map_err(Trouble::Config)?;
    let catalog = &settings.catalog;
    let mut report = match kept {
        None => analysis::analyze(&snapshot, catalog, &selections, &job.progress),
        Some(Kept { cache, program }) => {
            let base = settings.base(&options, *program);
            let keeping = Keeping { cache, base, verify: false, complete: false };
            analysis::analyze_keeping(&snapshot, catalog, &selections, &job.progress, &keeping)
        }
    };
    gopls::leave_out(&mut report, |rule| job.settings.names(rule));
    let is_unwanted = job.progress.unwanted.load(Ordering::Relaxed);
    if is_unwanted { Err(Trouble::Unwanted) } else { Ok(report) }
}

/// Files that change together are one change.
const PAUSE: Duration = Duration::from_millis(200);

/// How far a survey is, is told so often.
const TICK: Duration = Duration::from_millis(200);

/// What is known of the workspace, and who waits for more.
#[derive(Debug, Default)]
pub struct Survey {
    /// Whether nothing has changed since the last survey began.
    is_fresh: bool,
    due: Option<Instant>,
    running: Option<Running>,
    /// By folder and file.
    known: BTreeMap<PathBuf, BTreeMap<PathBuf, Found>>,
    /// How many surveys have ended, and which of them the client was told of last.
    ended: u64,
    told: u64,
    waiting: Vec<Waiting>,
}

/// The diagnostics of a file.
#[derive(Debug)]
pub struct Found {
    uri: Uri,
    version: Option<i32>,
    items: Vec<Diagnostic>,
    /// What tells them from others.
    id: String,
}

#[derive(Debug)]
struct Running {
    progress: Arc<Progress>,
    token: ProgressToken,
    /// Whether the client knows the token, and has been told that it has begun.
    has_begun: bool,
    tick: Instant,
}

#[derive(Debug)]
struct Waiting {
    id: RequestId,
    token: Option<ProgressToken>,
    /// What the client has, by path, in its own spelling.
    previous: BTreeMap<PathBuf, (Uri, String)>,
    work: Option<ProgressToken>,
    /// The folders that it was told of.
    told: BTreeSet<PathBuf>,
}

/// Something to say to the client.
pub enum Say {
    /// `$/progress` with these parameters.
    Progress(Value),
    /// The answer to a request.
    Answer(RequestId, Value),
    /// `window/workDoneProgress/create` for this token.
    Create(ProgressToken),
}

impl Found {
    /// What was found in a file, as the client is told of it.
    pub fn new(uri: Uri, version: Option<i32>, items: Vec<Diagnostic>) -> Found {
        let id = question::result_id(&items);
        Found { uri, version, items, id }
    }

    fn told(&self, previous: Option<&(Uri, String)>) -> WorkspaceDocumentDiagnosticReport {
        let (uri, version) = (self.uri.clone(), self.version);
        if previous.is_some_and(|(_, id)| *id == self.id) {
            return WorkspaceUnchangedDocumentDiagnosticReport {
                uri,
                version,
                unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport {
                    result_id: self.id.clone(),
                },
            }
            .into();
        }
        full(uri, version, Some(self.id.clone()), self.items.clone())
    }
}

fn full(
    uri: Uri,
    version: Option<i32>,
    result_id: Option<String>,
    items: Vec<Diagnostic>,
) -> WorkspaceDocumentDiagnosticReport {
    WorkspaceFullDocumentDiagnosticReport {
        uri,
        version,
        full_document_diagnostic_report: FullDocumentDiagnosticReport { result_id, items },
    }
    .into()
}

impl Survey {
    /// When there is something to do.
    pub fn next(&self) -> Option<Instant> {
        match &self.running {
            Some(running) => Some(running.tick),
            None => self.due,
        }
    }

    /// Somebody asks.
    pub fn ask(
        &mut self,
        id: RequestId,
        params: WorkspaceDiagnosticParams,
        say: &mut dyn FnMut(Say),
    ) {
        let previous = params.previous_result_ids.into_iter().filter_map(|previous| {
            Some((uri::to_path(&previous.uri.0)?, (previous.uri, previous.value)))
        });
        self.waiting.push(Waiting {
            id,
            token: params.partial_result_params.partial_result_token,
            previous: previous.collect(),
            work: params.work_done_progress_params.work_done_token,
            told: BTreeSet::new(),
        });
        match (&self.running, self.is_fresh) {
            (None, false) => self.due = Some(Instant::now()),
            (None, true) if self.told < self.ended => self.answer(say),
            (None, true) | (Some(_), _) => {}
        }
    }

    /// Files have changed on the disk.
    pub fn touch(&mut self) {
        self.is_fresh = false;
        if !self.waiting.is_empty() {
            self.due = Some(Instant::now() + PAUSE);
        }
    }

    /// Starts a survey if one is due, of what `job` gives; tells how far the one that runs is. `shows`:
    /// whether the client shows progress that it has not asked for.
    pub fn tick(
        &mut self,
        shows: bool,
        job: impl FnOnce(Arc<Progress>) -> bool,
        say: &mut dyn FnMut(Say),
    ) {
        let now = Instant::now();
        if let Some(running) = &mut self.running {
            if running.tick <= now {
                running.tick = now + TICK;
                running.tell(shows, say);
            }
            return;
        }
        if self.due.is_none_or(|due| due > now) || self.waiting.is_empty() {
            return;
        }
        (self.due, self.is_fresh) = (None, true);
        let progress = Arc::new(Progress::default());
        let own = || ProgressToken::String(format!("straggler/{}", self.ended));
        let asked = self.waiting.iter().find_map(|waiting| waiting.work.clone());
        let (is_asked, token) = (asked.is_some(), asked.unwrap_or_else(own));
        let mut running =
            Running { progress: Arc::clone(&progress), token, has_begun: false, tick: now + TICK };
        // A token that the client has not given is for what takes long.
        if is_asked {
            running.begin(say);
        }
        self.running = Some(running);
        if !job(progress) {
            self.end(say);
        }
    }

    /// A folder is done.
    pub fn folder(
        &mut self,
        folder: PathBuf,
        found: BTreeMap<PathBuf, Found>,
        say: &mut dyn FnMut(Say),
    ) {
        for waiting in &mut self.waiting {
            let Some(token) = &waiting.token else { continue };
            let items = items(&waiting.previous, &found);
            waiting.told.insert(folder.clone());
            if !items.is_empty() {
                say(partial(token, items));
            }
        }
        self.known.insert(folder, found);
    }

    /// All folders are.
    pub fn end(&mut self, say: &mut dyn FnMut(Say)) {
        if let Some(running) = self.running.take()
            && running.has_begun
        {
            say(progress(&running.token, json!({ "kind": "end" })));
        }
        self.ended += 1;
        self.answer(say);
    }

    /// The folders of the client are these now.
    pub fn keep(&mut self, folders: &[PathBuf]) {
        self.known.retain(|folder, _| folders.contains(folder));
    }

    /// Nobody waits for this request any more; whether somebody did.
    pub fn cancel(&mut self, id: &RequestId) -> bool {
        let before = self.waiting.len();
        self.waiting.retain(|waiting| waiting.id != *id);
        self.waiting.len() < before
    }

    /// Nobody is to wait any more: the requests that did. What runs is of no use.
    pub fn leave(&mut self) -> Vec<RequestId> {
        self.stop();
        self.is_fresh = false;
        std::mem::take(&mut self.waiting).into_iter().map(|waiting| waiting.id).collect()
    }

    /// Ends what runs.
    pub fn stop(&self) {
        if let Some(running) = &self.running {
            running.progress.unwanted.store(true, Ordering::Relaxed);
        }
    }

    fn answer(&mut self, say: &mut dyn FnMut(Say)) {
        self.told = self.ended;
        for waiting in std::mem::take(&mut self.waiting) {
            let untold = self.known.iter().filter(|(folder, _)| !waiting.told.contains(*folder));
            let mut all: Vec<WorkspaceDocumentDiagnosticReport> =
                untold.flat_map(|(_, found)| items(&waiting.previous, found)).collect();
            // Files of which nothing is known any more have nothing wrong with them.
            let is_known = |path: &PathBuf| self.known.values().any(|it| it.contains_key(path));
            let gone = waiting.previous.iter().filter(|(path, _)| !is_known(path));
            all.extend(gone.map(|(_, (uri, _))| full(uri.clone(), None, None, Vec::new())));
            if let Some(token) = &waiting.token
                && !all.is_empty()
            {
                say(partial(token, std::mem::take(&mut all)));
            }
            let report = WorkspaceDiagnosticReport { items: all };
            say(Say::Answer(waiting.id, question::to_value(report)));
        }
    }
}

impl Running {
    fn begin(&mut self, say: &mut dyn FnMut(Say)) {
        self.has_begun = true;
        let begin = json!({
            "kind": "begin", "title": "straggler", "message": "reading the workspace",
            "cancellable": false, "percentage": 0,
        });
        say(progress(&self.token, begin));
    }

    fn tell(&mut self, shows: bool, say: &mut dyn FnMut(Say)) {
        if !self.has_begun {
            if !shows {
                return;
            }
            say(Say::Create(self.token.clone()));
            self.begin(say);
        }
        let count = |number: &std::sync::atomic::AtomicUsize| number.load(Ordering::Relaxed);
        let (done, total) = (count(&self.progress.done), count(&self.progress.total));
        if total > 0 {
            let report = json!({
                "kind": "report", "message": format!("{done} of {total}"),
                "percentage": (done * 100 / total).min(100),
            });
            say(progress(&self.token, report));
        }
    }
}

fn items(
    previous: &BTreeMap<PathBuf, (Uri, String)>,
    found: &BTreeMap<PathBuf, Found>,
) -> Vec<WorkspaceDocumentDiagnosticReport> {
    found.iter().map(|(path, found)| found.told(previous.get(path))).collect()
}

fn partial(token: &ProgressToken, items: Vec<WorkspaceDocumentDiagnosticReport>) -> Say {
    progress(token, question::to_value(WorkspaceDiagnosticReport { items }))
}

fn progress(token: &ProgressToken, value: Value) -> Say {
    Say::Progress(json!({ "token": token, "value": value }))
}
