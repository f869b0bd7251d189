//! The thread that knows the state of affairs: what is open, what is analysed, who waits for what.
//! Whatever happens comes to it as an event, one after the other, and it waits for nothing else.

mod changes;
mod questions;
mod workspace;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::Instant;

use gen_lsp_types::{Diagnostic, InitializeParams, MessageType, PublishDiagnosticsParams, Uri};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::analysis::{self, Progress, Report};
use crate::rules;

use super::OptionsIn;
use super::client::Client;
use super::diagnostics::{self, Names, Places};
use super::document::Document;
use super::hover::{self, Told};
use super::papers::{self, Papers};
use super::question::{self, Question};
use super::survey::{self, Survey, Surveyed};
use super::uri;
use super::wire::{self, Incoming};
use super::worker::{Changed, Done, Inquiry, Job, Task, Trouble};

/// Something that happens to the server.
#[derive(Debug)]
pub enum Event {
    /// The client says something.
    Incoming(Incoming),
    /// A run has ended.
    Done(Done),
    /// An answer has been found, or a panic instead.
    Told(Inquiry, Result<Vec<Told>, String>),
    /// More is known of the workspace.
    Surveyed(Surveyed),
    /// There can be no runs.
    CannotAnalyse(String),
    /// There is no client any more.
    End,
}

/// What the server is to the client.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    Strange,
    Serving,
    ShutDown,
}

/// The state of affairs.
pub struct Server {
    outgoing: Sender<Value>,
    tasks: Sender<Task>,
    surveys: Sender<survey::Job>,
    options_in: OptionsIn,
    phase: Phase,
    client: Option<Client>,
    /// What is open, by the client's URI.
    documents: BTreeMap<String, Document>,
    /// Where runs are made, by root.
    units: BTreeMap<PathBuf, Unit>,
    /// The root of the run that is under way, and how to end it.
    running: Option<(PathBuf, Arc<Progress>)>,
    survey: Survey,
    papers: RefCell<Papers>,
    /// Numbers of states of affairs, over all units.
    last_revision: u64,
    last_request: i32,
    /// The request for settings that is not answered yet.
    asked_settings: Option<RequestId>,
    ended: bool,
}

/// A place where runs are made, and what came of them.
#[derive(Default)]
struct Unit {
    /// The number of the state of affairs.
    revision: u64,
    /// When the next run shall start.
    due: Option<Instant>,
    /// What may be another than in the last run.
    changed: Changed,
    /// The last report, and what it is about.
    done: Option<(u64, Arc<Report>)>,
    /// Who waits for a report on the present state of affairs.
    waiting: Vec<(RequestId, Question)>,
    /// What was sent to a client that does not ask: files, the versions of those that are open, and
    /// diagnostics.
    published: BTreeMap<PathBuf, (Option<i32>, Vec<Diagnostic>)>,
    /// What is wrong with the configuration, as the user was told.
    complaint: Vec<String>,
}

type Answer = Result<Value, ResponseError>;

impl Server {
    /// A server that nobody has spoken to yet.
    pub fn new(
        outgoing: Sender<Value>,
        tasks: Sender<Task>,
        surveys: Sender<survey::Job>,
        options_in: OptionsIn,
        write: papers::Write,
    ) -> Server {
        Server {
            outgoing,
            tasks,
            surveys,
            options_in,
            phase: Phase::Strange,
            client: None,
            documents: BTreeMap::new(),
            units: BTreeMap::new(),
            running: None,
            survey: Survey::default(),
            papers: RefCell::new(Papers::new(write)),
            last_revision: 0,
            last_request: 0,
            asked_settings: None,
            ended: false,
        }
    }

    /// Serves until the end; whether the client said goodbye as it should. `watch` is called with
    /// the process whose end is the server's end too.
    pub fn run(mut self, events: &Receiver<Event>, watch: &dyn Fn(i32)) -> bool {
        while !self.ended {
            let due = self.units.values().filter_map(|unit| unit.due).min();
            let due = due.filter(|_| self.running.is_none());
            let due = due.into_iter().chain(self.survey.next()).min();
            let event = match due {
                None => events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(due) => events.recv_timeout(due.saturating_duration_since(Instant::now())),
            };
            match event {
                Ok(event) => self.handle(event, watch),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            // What came in at the same time is part of what the next run is about.
            while !self.ended {
                match events.try_recv() {
                    Ok(event) => self.handle(event, watch),
                    Err(TryRecvError::Empty | TryRecvError::Disconnected) => break,
                }
            }
            self.start_due();
            self.survey_due();
        }
        if let Some((_, progress)) = &self.running {
            progress.unwanted.store(true, Ordering::Relaxed);
        }
        self.survey.stop();
        self.phase == Phase::ShutDown
    }

    fn handle(&mut self, event: Event, watch: &dyn Fn(i32)) {
        match event {
            Event::Incoming(Incoming::Message(Message::Request(request))) => {
                self.request(request, watch);
            }
            Event::Incoming(Incoming::Message(Message::Notification(notification))) => {
                self.notification(notification);
            }
            Event::Incoming(Incoming::Message(Message::Response(response))) => {
                self.response(response);
            }
            Event::Incoming(Incoming::Garbage(answer)) => self.send(answer),
            Event::Done(done) => self.done(done),
            Event::Told(inquiry, told) => self.inquired(inquiry, told),
            Event::Surveyed(surveyed) => self.surveyed(surveyed),
            Event::CannotAnalyse(why) => self.show(MessageType::Error, &why),
            Event::End => self.ended = true,
        }
    }

    fn request(&mut self, request: Request, watch: &dyn Fn(i32)) {
        let Request { id, method, params } = request;
        let answer = guarded(|| match (self.phase, method.as_str()) {
            (Phase::Strange, "initialize") => self.initialize(params, watch).map(Some),
            (Phase::Strange, _) => {
                Err(error(ErrorCode::ServerNotInitialized, "`initialize` comes first".to_owned()))
            }
            (Phase::ShutDown, _) => {
                Err(error(ErrorCode::InvalidRequest, "the server is shut down".to_owned()))
            }
            (Phase::Serving, "shutdown") => {
                self.phase = Phase::ShutDown;
                for id in self.survey.leave() {
                    self.answer(id, Err(cancelled()));
                }
                Ok(Some(Value::Null))
            }
            (Phase::Serving, "textDocument/diagnostic") => {
                self.ask(&id, Question::Diagnostics(parse(params)?))
            }
            (Phase::Serving, "textDocument/codeAction") => {
                self.ask(&id, Question::Actions(parse(params)?))
            }
            (Phase::Serving, "textDocument/hover") => self.hover(&id, parse(params)?),
            (Phase::Serving, "textDocument/codeLens") => match self.client().settings.code_lens {
                true => self.ask(&id, Question::Lenses(parse(params)?)),
                false => Ok(Some(json!([]))),
            },
            (Phase::Serving, "workspace/diagnostic") => {
                let params = parse(params)?;
                self.surveying(|survey, say| survey.ask(id.clone(), params, say));
                Ok(None)
            }
            (Phase::Serving, "workspace/executeCommand") => self.command(&id, parse(params)?),
            (Phase::Serving, "initialize") => {
                Err(error(ErrorCode::InvalidRequest, "there was an `initialize`".to_owned()))
            }
            (Phase::Serving, method) => {
                Err(error(ErrorCode::MethodNotFound, format!("there is no method `{method}`")))
            }
        });
        match answer {
            Ok(None) => {}
            Ok(Some(result)) => self.answer(id, Ok(result)),
            Err(error) => self.answer(id, Err(error)),
        }
    }

    fn notification(&mut self, notification: Notification) {
        let Notification { method, params } = notification;
        if method == "exit" {
            self.ended = true;
            return;
        }
        if self.phase != Phase::Serving {
            return;
        }
        let result = guarded(|| {
            match method.as_str() {
                "initialized" => self.initialized(),
                "textDocument/didOpen" => self.did_open(parse(params)?),
                "textDocument/didChange" => self.did_change(parse(params)?),
                "textDocument/didSave" => self.did_save(&parse(params)?),
                "textDocument/didClose" => self.did_close(&parse(params)?),
                "workspace/didChangeWatchedFiles" => self.did_change_files(&parse(params)?),
                "workspace/didChangeConfiguration" => self.did_change_settings(&parse(params)?),
                "workspace/didChangeWorkspaceFolders" => self.did_change_folders(&parse(params)?),
                "$/cancelRequest" => self.cancel(&params),
                _ => {}
            }
            Ok(())
        });
        if let Err(error) = result {
            self.log(&format!("`{method}` is left out: {}", error.message));
        }
    }

    fn initialize(&mut self, params: Value, watch: &dyn Fn(i32)) -> Answer {
        let params: InitializeParams = parse(params)?;
        let (client, settings) = Client::new(&params);
        if let Err(fault) = settings {
            self.show(MessageType::Warning, &format!("the settings of straggler: {fault}"));
        }
        let answer = question::to_value(client.answer());
        self.client = Some(client);
        self.phase = Phase::Serving;
        if let Some(process) = params.process_id {
            watch(process);
        }
        Ok(answer)
    }

    fn initialized(&mut self) {
        let Some(client) = &self.client else { return };
        let mut registrations = Vec::new();
        if client.watches {
            let globs = ["**/*.go", "**/go.mod", "**/go.work", "**/straggler.toml"];
            let watchers: Vec<Value> =
                globs.iter().map(|glob| json!({ "globPattern": glob })).collect();
            registrations.push(json!({
                "id": "files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": { "watchers": watchers },
            }));
        }
        if client.tells_settings {
            registrations.push(json!({
                "id": "settings",
                "method": "workspace/didChangeConfiguration",
                "registerOptions": { "section": "straggler" },
            }));
        }
        let configures = client.configures;
        if !registrations.is_empty() {
            let registrations = json!({ "registrations": registrations });
            self.ask_client("client/registerCapability", registrations);
        }
        if configures {
            self.ask_settings();
        }
    }

    fn cancel(&mut self, params: &Value) {
        let Ok(id) = parse::<RequestId>(params["id"].clone()) else { return };
        let waiting = self.units.values_mut().map(|unit| &mut unit.waiting);
        let cancelled: usize = waiting
            .map(|waiting| {
                let before = waiting.len();
                waiting.retain(|(waiting, _)| *waiting != id);
                before - waiting.len()
            })
            .sum();
        if self.survey.cancel(&id) || cancelled > 0 {
            self.answer(id, Err(self::cancelled()));
        }
    }

    /// What the client answers to what it was asked: the settings are all that matters.
    fn response(&mut self, response: Response) {
        if self.asked_settings.take_if(|id| *id == response.id).is_some()
            && let Ok(Value::Array(settings)) = response.response_result
            && let [settings] = settings.as_slice()
        {
            self.set(settings);
        }
    }

    /// What is open below a root.
    fn open_in(&self, root: &Path) -> impl Iterator<Item = &Document> {
        self.documents.values().filter(move |open| open.root.as_deref() == Some(root))
    }

    fn overlays(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let texts = self.documents.values();
        texts.map(|open| (open.path.clone(), open.text.clone().into_bytes())).collect()
    }

    fn start_due(&mut self) {
        if self.running.is_some() {
            return;
        }
        let now = Instant::now();
        let due = self.units.iter().filter_map(|(root, unit)| Some((unit.due?, root)));
        let Some((_, root)) = due.filter(|(due, _)| *due <= now).min() else { return };
        let root = root.clone();
        let progress = Arc::new(Progress::default());
        let files: Vec<PathBuf> = self.open_in(&root).map(|open| open.path.clone()).collect();
        let overlays = self.overlays();
        let settings = self.client().settings.clone();
        let unit = self.units.get_mut(&root).expect("it is due");
        unit.due = None;
        let job = Job {
            root: root.clone(),
            files,
            overlays,
            revision: unit.revision,
            settings,
            changed: std::mem::take(&mut unit.changed),
            progress: Arc::clone(&progress),
        };
        // Without a worker there are no reports, as the user was told.
        if self.tasks.send(Task::Run(job)).is_ok() {
            self.running = Some((root, progress));
        }
    }

    fn done(&mut self, done: Done) {
        self.running = None;
        let Done { root, revision, report } = done;
        let Some(unit) = self.units.get_mut(&root) else { return };
        let report = match report {
            Ok(report) => {
                unit.complaint.clear();
                report
            }
            Err(Trouble::Unwanted) => return,
            Err(Trouble::Config(messages)) => {
                // It is read again with the next run.
                unit.changed = Changed::Config;
                if unit.complaint != messages {
                    unit.complaint.clone_from(&messages);
                    self.show(MessageType::Error, &messages.join("\n"));
                }
                Report::default()
            }
            Err(Trouble::Internal(panic)) => {
                let waiting = std::mem::take(&mut unit.waiting);
                for (id, _) in waiting {
                    self.answer(id, Err(internal(&panic)));
                }
                return self.log(&internal(&panic).message);
            }
        };
        let Some(unit) = self.units.get_mut(&root) else { return };
        if revision != unit.revision {
            return;
        }
        let report = Arc::new(report);
        unit.done = Some((revision, Arc::clone(&report)));
        let waiting = std::mem::take(&mut unit.waiting);
        for (id, question) in waiting {
            let reply = guarded(|| Ok(self.reply(&id, Some(&report), &question)));
            if let Some(reply) = reply.transpose() {
                self.answer(id, reply);
            }
        }
        if !self.client().pulls {
            self.publish_all(&root, &report);
        }
    }

    /// Sends what is new in `report`, and takes back what is not in it.
    fn publish_all(&mut self, root: &Path, report: &Report) {
        let places = Places::new(report, self.client().encoding);
        let mut found = self.named(|names| diagnostics::by_file(report, &places, names));
        let versions: BTreeMap<PathBuf, i32> =
            self.open_in(root).map(|open| (open.path.clone(), open.version)).collect();
        for path in versions.keys() {
            found.entry(path.clone()).or_default();
        }
        let Some(unit) = self.units.get_mut(root) else { return };
        let before = std::mem::take(&mut unit.published);
        let now: BTreeMap<PathBuf, (Option<i32>, Vec<Diagnostic>)> = found
            .into_iter()
            .map(|(path, diagnostics)| {
                let version = versions.get(&path).copied();
                (path, (version, diagnostics))
            })
            .collect();
        unit.published.clone_from(&now);
        for path in before.keys().filter(|path| !now.contains_key(*path)) {
            self.publish(path, None, Vec::new());
        }
        for (path, (version, diagnostics)) in now {
            let same = before
                .get(&path)
                .is_some_and(|(before, told)| *before == version && *told == diagnostics);
            if !same {
                self.publish(&path, version, diagnostics);
            }
        }
    }

    fn publish(&self, path: &Path, version: Option<i32>, diagnostics: Vec<Diagnostic>) {
        let params = PublishDiagnosticsParams { uri: self.uri_of(path), version, diagnostics };
        self.notify("textDocument/publishDiagnostics", params);
    }

    /// A path as the client spells it.
    fn uri_of(&self, path: &Path) -> Uri {
        let open = self.documents.values().find(|open| open.path == path);
        Uri(open.map_or_else(|| uri::of_path(path), |open| open.uri.clone()))
    }

    /// Gives `work` how the client calls things.
    fn named<T>(&self, work: impl FnOnce(Names<'_>) -> T) -> T {
        let uri_of = |path: &Path| self.uri_of(path);
        let page_of = |rule: &'static str| {
            let page = rules::find(rule).filter(|_| self.client().links)?;
            let text = || hover::of_page(&page.page);
            let file = self.papers.borrow_mut().file(&format!("{rule}.md"), text)?;
            Some(Uri(uri::of_path(&file)))
        };
        work(Names { uri_of: &uri_of, page_of: &page_of })
    }

    fn client(&self) -> &Client {
        self.client.as_ref().expect("nothing is done for a client before it has said who it is")
    }

    fn log(&self, message: &str) {
        self.notify("window/logMessage", json!({ "type": MessageType::Log, "message": message }));
    }

    fn show(&self, kind: MessageType, message: &str) {
        self.notify("window/showMessage", json!({ "type": kind, "message": message }));
    }

    fn ask_client(&mut self, method: &str, params: Value) -> RequestId {
        self.last_request += 1;
        let id = RequestId::from(self.last_request);
        let request = Request::new(id.clone(), method.to_owned(), params);
        self.send(wire::encode(&request.into()));
        id
    }

    fn notify(&self, method: &str, params: impl Serialize) {
        let notification = Notification::new(method.to_owned(), params);
        self.send(wire::encode(&notification.into()));
    }

    fn answer(&self, id: RequestId, response_result: Answer) {
        self.send(wire::encode(&Response { id, response_result }.into()));
    }

    /// There is nobody left to tell if that fails.
    fn send(&self, message: Value) {
        let _ = self.outgoing.send(message);
    }
}

/// A panic is an answer like others, and the server lives.
fn guarded<T>(work: impl FnOnce() -> Result<T, ResponseError>) -> Result<T, ResponseError> {
    analysis::caught(work).unwrap_or_else(|panic| Err(internal(&panic)))
}

fn internal(panic: &str) -> ResponseError {
    error(ErrorCode::InternalError, format!("straggler failed: {panic}"))
}

fn cancelled() -> ResponseError {
    error(ErrorCode::RequestCanceled, "cancelled".to_owned())
}

fn parse<T: DeserializeOwned>(params: Value) -> Result<T, ResponseError> {
    serde_json::from_value(params)
        .map_err(|reason| error(ErrorCode::InvalidParams, reason.to_string()))
}

fn error(code: ErrorCode, message: String) -> ResponseError {
    ResponseError { code: code as i32, message, data: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_an_answer() {
        let answer: Answer = guarded(|| panic!("no way"));
        let error = answer.expect_err("an error");
        assert_eq!(error.code, ErrorCode::InternalError as i32);
        assert!(error.message.starts_with("straggler failed: no way at "), "{}", error.message);
    }
}
