//! What the client tells of files, folders and settings, and which runs that makes due.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use gen_lsp_types::{
    DidChangeConfigurationParams, DidChangeTextDocumentParams, DidChangeWatchedFilesParams,
    DidChangeWorkspaceFoldersParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, MessageType,
};
use serde_json::{Value, json};

use super::Server;
use crate::lsp::client::Settings;
use crate::lsp::document::Document;
use crate::lsp::uri;
use crate::lsp::worker::Changed;
use crate::project;

/// Files that are opened, saved or changed together are one change. Who is sent diagnostics as they type
/// does not wait for such a pause: a run that a newer key ends has cost little.
const PAUSE: Duration = Duration::from_millis(20);

impl Server {
    pub(super) fn did_open(&mut self, params: DidOpenTextDocumentParams) {
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
        let document = Document { uri: uri.clone(), path, version, text, root, saved: true };
        self.documents.insert(uri, document);
    }

    pub(super) fn did_change(&mut self, params: DidChangeTextDocumentParams) {
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
    pub(super) fn did_save(&mut self, params: &DidSaveTextDocumentParams) {
        self.survey.touch();
        let Some(document) = self.documents.get_mut(&params.text_document.uri.0) else { return };
        document.saved = true;
        if let Some(root) = document.root.clone() {
            self.touch(root, Changed::Files);
        }
    }

    pub(super) fn did_close(&mut self, params: &DidCloseTextDocumentParams) {
        let Some(document) = self.documents.remove(&params.text_document.uri.0) else { return };
        if !document.saved {
            self.survey.touch();
        }
        let Some(root) = document.root else { return };
        self.touch(root.clone(), Changed::Files);
        if self.open_in(&root).next().is_none() {
            self.forget(&root);
        }
    }

    pub(super) fn did_change_files(&mut self, params: &DidChangeWatchedFilesParams) {
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

    pub(super) fn did_change_settings(&mut self, params: &DidChangeConfigurationParams) {
        if self.client().configures {
            return self.ask_settings();
        }
        self.set(&params.settings);
    }

    pub(super) fn did_change_folders(&mut self, params: &DidChangeWorkspaceFoldersParams) {
        if let Some(client) = &mut self.client {
            client.change_folders(&params.event.added, &params.event.removed);
            self.survey.keep(&client.outermost_folders());
        }
        self.find_roots();
        self.touch_all(Changed::Files);
    }

    pub(super) fn ask_settings(&mut self) {
        let items = json!({ "items": [{ "section": "straggler" }] });
        self.asked_settings = Some(self.ask_client("workspace/configuration", items));
    }

    pub(super) fn set(&mut self, value: &Value) {
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
                if self.client().refreshes_lenses {
                    self.ask_client("workspace/codeLens/refresh", Value::Null);
                }
            }
        }
    }

    /// Makes a new state of affairs of a unit, for which a run is due.
    pub(super) fn touch(&mut self, root: PathBuf, changed: Changed) {
        if let Some((running, progress)) = &self.running
            && *running == root
        {
            progress.unwanted.store(true, Ordering::Relaxed);
        }
        self.last_revision += 1;
        // What was changed while nothing of it was open was told to nobody.
        let is_known = self.units.contains_key(&root);
        let changed = if is_known { changed } else { Changed::Config };
        let unit = self.units.entry(root).or_default();
        unit.revision = self.last_revision;
        unit.changed = unit.changed.max(changed);
        let is_typed =
            unit.changed == Changed::Texts && self.client.as_ref().is_some_and(|it| !it.pulls);
        let is_urgent = !unit.waiting.is_empty() || is_typed;
        unit.due = Some(Instant::now() + if is_urgent { Duration::ZERO } else { PAUSE });
    }

    pub(super) fn touch_all(&mut self, changed: Changed) {
        self.survey.touch();
        let roots: Vec<PathBuf> = self.units.keys().cloned().collect();
        for root in roots {
            self.touch(root, changed);
        }
        if self.client().pulls && self.client().refreshes {
            self.ask_client("workspace/diagnostic/refresh", Value::Null);
        }
    }

    /// Where a run for a file is made.
    pub(super) fn root_of(&self, path: &Path) -> Option<PathBuf> {
        let folders = &self.client().folders;
        project::run_root(&(self.options_in)(path.parent()?), path, folders)
    }

    /// Finds the roots of what is open again.
    pub(super) fn find_roots(&mut self) {
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

    /// Takes back what was said of a unit of which nothing is open any more.
    pub(super) fn forget(&mut self, root: &Path) {
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
}
