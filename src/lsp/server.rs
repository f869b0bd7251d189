//! The thread that knows the state of affairs: what is open, what is analysed, who waits for what.
//! Whatever happens comes to it as an event, one after the other, and it waits for nothing else.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::time::{Duration, Instant};

use gen_lsp_types::{
    Diagnostic, DidChangeConfigurationParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams,
    DidOpenTextDocumentParams, DidSaveTextDocumentParams, HoverParams, InitializeParams,
    MessageType, PublishDiagnosticsParams, Uri,
};
use lsp_server::{ErrorCode, Message, Notification, Request, RequestId, Response, ResponseError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::analysis::{self, Progress, Report};
use crate::project;
use crate::source::SourceText;

use super::OptionsIn;
use super::client::{Client, Settings};
use super::diagnostics::{self, Places};
use super::document::Document;
use super::hover::{self, Told};
use super::question::{self, Question};
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
    Told(Inquiry, Result<Option<Told>, String>),
    /// There can be no runs.
    CannotAnalyse(String),
    /// There is no client any more.
    End,
}

/// So long the user has to stop typing before a run starts that nobody has asked for.
const PAUSE: Duration = Duration::from_millis(20);

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
    options_in: OptionsIn,
    phase: Phase,
    client: Option<Client>,
    /// What is open, by the client's URI.
    documents: BTreeMap<String, Document>,
    /// Where runs are made, by root.
    units: BTreeMap<PathBuf, Unit>,
    /// The root of the run that is under way, and how to end it.
    running: Option<(PathBuf, Arc<Progress>)>,
    /// Numbers of states of affairs, over all units.
    last_revision: u64,
    last_request: i32,
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
    pub fn new(outgoing: Sender<Value>, tasks: Sender<Task>, options_in: OptionsIn) -> Server {
        Server {
            outgoing,
            tasks,
            options_in,
            phase: Phase::Strange,
            client: None,
            documents: BTreeMap::new(),
            units: BTreeMap::new(),
            running: None,
            last_revision: 0,
            last_request: 0,
            ended: false,
        }
    }

    /// Serves until the end; whether the client said goodbye as it should. `watch` is called with
    /// the process whose end is the server's end too.
    pub fn run(mut self, events: &Receiver<Event>, watch: &dyn Fn(i32)) -> bool {
        while !self.ended {
            let due = self.units.values().filter_map(|unit| unit.due).min();
            let due = due.filter(|_| self.running.is_none());
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
        }
        if let Some((_, progress)) = &self.running {
            progress.unwanted.store(true, Ordering::Relaxed);
        }
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
                Ok(Some(Value::Null))
            }
            (Phase::Serving, "textDocument/diagnostic") => {
                self.ask(&id, Question::Diagnostics(parse(params)?))
            }
            (Phase::Serving, "textDocument/codeAction") => {
                self.ask(&id, Question::Actions(parse(params)?))
            }
            (Phase::Serving, "textDocument/hover") => self.hover(&id, parse(params)?),
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
        let (watches, configures) = (client.watches, client.configures);
        if watches {
            let globs = ["**/*.go", "**/go.mod", "**/go.work", "**/straggler.toml"];
            let watchers: Vec<Value> =
                globs.iter().map(|glob| json!({ "globPattern": glob })).collect();
            let registration = json!({
                "id": "files",
                "method": "workspace/didChangeWatchedFiles",
                "registerOptions": { "watchers": watchers },
            });
            self.ask_client(
                "client/registerCapability",
                json!({ "registrations": [registration] }),
            );
        }
        if configures {
            self.ask_settings();
        }
    }

    fn did_open(&mut self, params: DidOpenTextDocumentParams) {
        let opened = params.text_document;
        let uri = opened.uri.0;
        let path = uri::to_path(&uri).filter(|path| path.extension().is_some_and(|it| it == "go"));
        let Some(path) = path else {
            return self.log(&format!("`{uri}` is no Go file of this machine"));
        };
        let root = self.root_of(&path);
        if let Some(root) = &root {
            self.touch(root.clone(), Changed::Files);
        }
        let (version, text) = (opened.version, opened.text);
        let document = Document { uri: uri.clone(), path, version, text, root };
        self.documents.insert(uri, document);
    }

    fn did_change(&mut self, params: DidChangeTextDocumentParams) {
        let uri = &params.text_document.text_document_identifier.uri.0;
        let encoding = self.client().encoding;
        let Some(document) = self.documents.get_mut(uri) else {
            return self.log(&format!("`{uri}` is not open"));
        };
        document.change(params.text_document.version, params.content_changes, encoding);
        if let Some(root) = document.root.clone() {
            self.touch(root, Changed::Texts);
        }
    }

    /// What is saved may concern others that are not open.
    fn did_save(&mut self, params: &DidSaveTextDocumentParams) {
        let document = self.documents.get(&params.text_document.uri.0);
        if let Some(root) = document.and_then(|document| document.root.clone()) {
            self.touch(root, Changed::Files);
        }
    }

    fn did_close(&mut self, params: &DidCloseTextDocumentParams) {
        let Some(document) = self.documents.remove(&params.text_document.uri.0) else { return };
        let Some(root) = document.root else { return };
        self.touch(root.clone(), Changed::Files);
        if self.open_in(&root).next().is_none() {
            self.forget(&root);
        }
    }

    fn did_change_files(&mut self, params: &DidChangeWatchedFilesParams) {
        let paths: Vec<PathBuf> =
            params.changes.iter().filter_map(|event| uri::to_path(&event.uri.0)).collect();
        let is_module_file = |path: &PathBuf| {
            path.file_name().is_some_and(|name| name == "go.mod" || name == "go.work")
        };
        if paths.iter().any(is_module_file) {
            self.find_roots();
        }
        let is_config =
            |path: &PathBuf| path.file_name().is_some_and(|name| name == "straggler.toml");
        let reconfigured = paths.iter().any(is_config);
        let changed = if reconfigured { Changed::Config } else { Changed::Files };
        self.touch_all(changed);
    }

    fn did_change_settings(&mut self, params: &DidChangeConfigurationParams) {
        if self.client().configures {
            return self.ask_settings();
        }
        self.set(&params.settings);
    }

    fn did_change_folders(&mut self, params: &DidChangeWorkspaceFoldersParams) {
        if let Some(client) = &mut self.client {
            client.change_folders(&params.event.added, &params.event.removed);
        }
        self.find_roots();
        self.touch_all(Changed::Files);
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
        if cancelled > 0 {
            self.answer(id, Err(error(ErrorCode::RequestCanceled, "cancelled".to_owned())));
        }
    }

    /// What the client answers to what it was asked: the settings are all that matters.
    fn response(&mut self, response: Response) {
        if let Ok(Value::Array(settings)) = response.response_result
            && let [settings] = settings.as_slice()
        {
            self.set(settings);
        }
    }

    fn set(&mut self, value: &Value) {
        match Settings::parse(value) {
            Err(fault) => {
                self.show(MessageType::Warning, &format!("the settings of straggler: {fault}"));
            }
            Ok(settings) if settings == self.client().settings => {}
            Ok(settings) => {
                if let Some(client) = &mut self.client {
                    client.settings = settings;
                }
                self.touch_all(Changed::Config);
            }
        }
    }

    fn ask_settings(&mut self) {
        let items = json!({ "items": [{ "section": "straggler" }] });
        self.ask_client("workspace/configuration", items);
    }

    /// What is told of a directive needs no run.
    fn hover(
        &mut self,
        id: &RequestId,
        params: HoverParams,
    ) -> Result<Option<Value>, ResponseError> {
        let asked = &params.text_document_position_params;
        if let Some(document) = self.documents.get(&asked.text_document.uri.0) {
            let offset = document.offset(asked.position, self.client().encoding);
            let text = SourceText::new(document.text.clone().into_bytes());
            if let Some(told) = hover::of_directive(&text, offset) {
                return Ok(Some(question::told(document, &told, self.client())));
            }
        }
        self.ask(id, Question::Hover(params))
    }

    /// Answers at once if the present state of affairs is known; else later.
    fn ask(&mut self, id: &RequestId, question: Question) -> Result<Option<Value>, ResponseError> {
        let document = self.documents.get(question.uri());
        let Some(root) = document.and_then(|document| document.root.clone()) else {
            return Ok(self.reply(id, None, &question));
        };
        let unit = self.units.entry(root).or_default();
        if let Some((revision, report)) = &unit.done
            && *revision == unit.revision
        {
            let report = Arc::clone(report);
            return Ok(self.reply(id, Some(&report), &question));
        }
        unit.due = Some(Instant::now());
        unit.waiting.push((id.clone(), question));
        Ok(None)
    }

    /// The answer to a question; `None` if the worker has to find it.
    fn reply(&self, id: &RequestId, report: Option<&Report>, question: &Question) -> Option<Value> {
        let uri_of = |path: &Path| self.uri_of(path);
        let known = report.zip(self.documents.get(question.uri()));
        match question::reply(id, known, question, self.client(), &uri_of) {
            Ok(reply) => Some(reply),
            Err(inquiry) => self.tasks.send(Task::Inquire(inquiry)).is_err().then_some(Value::Null),
        }
    }

    /// What the worker has found; it may be of a text that is no longer there.
    fn inquired(&self, inquiry: Inquiry, told: Result<Option<Told>, String>) {
        let document = self.documents.values().find(|open| open.path == inquiry.path);
        let answer = match told {
            Ok(told) => Ok(match told.zip(document) {
                Some((told, document)) => question::told(document, &told, self.client()),
                None => Value::Null,
            }),
            Err(panic) => {
                Err(error(ErrorCode::InternalError, format!("straggler failed: {panic}")))
            }
        };
        self.answer(inquiry.id, answer);
    }

    /// Makes a new state of affairs of a unit, for which a run is due.
    fn touch(&mut self, root: PathBuf, changed: Changed) {
        if let Some((running, progress)) = &self.running
            && *running == root
        {
            progress.unwanted.store(true, Ordering::Relaxed);
        }
        self.last_revision += 1;
        let unit = self.units.entry(root).or_default();
        unit.revision = self.last_revision;
        let asked = !unit.waiting.is_empty();
        unit.changed = unit.changed.max(changed);
        unit.due = Some(Instant::now() + if asked { Duration::ZERO } else { PAUSE });
    }

    fn touch_all(&mut self, changed: Changed) {
        let roots: Vec<PathBuf> = self.units.keys().cloned().collect();
        for root in roots {
            self.touch(root, changed);
        }
        if self.client().pulls && self.client().refreshes {
            self.ask_client("workspace/diagnostic/refresh", Value::Null);
        }
    }

    /// Where a run for a file is made.
    fn root_of(&self, path: &Path) -> Option<PathBuf> {
        let folders = &self.client().folders;
        project::run_root(&(self.options_in)(path.parent()?), path, folders)
    }

    /// Finds the roots of what is open again.
    fn find_roots(&mut self) {
        let roots: Vec<(String, Option<PathBuf>)> = self
            .documents
            .iter()
            .map(|(uri, document)| (uri.clone(), self.root_of(&document.path)))
            .collect();
        for (uri, root) in roots {
            if let Some(document) = self.documents.get_mut(&uri) {
                document.root.clone_from(&root);
            }
            if let Some(root) = root {
                self.touch(root, Changed::Files);
            }
        }
        let roots: Vec<PathBuf> = self.units.keys().cloned().collect();
        for root in roots {
            if self.open_in(&root).next().is_none() {
                self.forget(&root);
            }
        }
    }

    /// What is open below a root.
    fn open_in(&self, root: &Path) -> impl Iterator<Item = &Document> {
        self.documents.values().filter(move |open| open.root.as_deref() == Some(root))
    }

    /// Takes back what was said of a unit of which nothing is open any more.
    fn forget(&mut self, root: &Path) {
        let Some(unit) = self.units.remove(root) else { return };
        for path in unit.published.into_keys() {
            self.publish(&path, None, Vec::new());
        }
        for (id, question) in unit.waiting {
            if let Some(reply) = self.reply(&id, None, &question) {
                self.answer(id, Ok(reply));
            }
        }
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
        let texts = self.documents.values();
        let overlays =
            texts.map(|open| (open.path.clone(), open.text.clone().into_bytes())).collect();
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
                self.log(&format!("straggler failed: {panic}"));
                Report::default()
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
        let mut found = diagnostics::by_file(report, &places, &|path| self.uri_of(path));
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

    fn client(&self) -> &Client {
        self.client.as_ref().expect("nothing is done for a client before it has said who it is")
    }

    fn log(&self, message: &str) {
        self.notify("window/logMessage", json!({ "type": MessageType::Log, "message": message }));
    }

    fn show(&self, kind: MessageType, message: &str) {
        self.notify("window/showMessage", json!({ "type": kind, "message": message }));
    }

    fn ask_client(&mut self, method: &str, params: Value) {
        self.last_request += 1;
        let request = Request::new(self.last_request.into(), method.to_owned(), params);
        self.send(wire::encode(&request.into()));
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
    analysis::caught(work).unwrap_or_else(|panic| {
        Err(error(ErrorCode::InternalError, format!("straggler failed: {panic}")))
    })
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
