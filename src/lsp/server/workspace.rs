//! What the client is told of its workspace as a whole.

use std::time::Instant;

use serde_json::json;

use super::{Server, internal};
use crate::lsp::diagnostics::{self, Places};
use crate::lsp::survey::{self, Found, Say, Survey, Surveyed};
use crate::lsp::worker::Trouble;

impl Server {
    /// Does something with what is known of the workspace, and says what comes of it.
    pub(super) fn surveying(&mut self, work: impl FnOnce(&mut Survey, &mut dyn FnMut(Say))) {
        let mut all = Vec::new();
        work(&mut self.survey, &mut |say| all.push(say));
        for say in all {
            match say {
                Say::Progress(params) => self.notify("$/progress", params),
                Say::Answer(id, answer) => self.answer(id, Ok(answer)),
                Say::Create(token) => {
                    let params = json!({ "token": token });
                    self.ask_client("window/workDoneProgress/create", params);
                }
            }
        }
    }

    pub(super) fn surveyed(&mut self, surveyed: Surveyed) {
        match surveyed {
            Surveyed::Folder(folder, Ok(report)) => {
                let places = Places::new(&report, self.client().encoding);
                let found = self.named(|names| diagnostics::by_file(&report, &places, names));
                let found = found.into_iter().map(|(path, items)| {
                    let open = self.documents.values().find(|open| open.path == path);
                    let version = open.map(|open| open.version);
                    let found = Found::new(self.uri_of(&path), version, items);
                    (path, found)
                });
                let found = found.collect();
                self.surveying(|survey, say| survey.folder(folder, found, say));
            }
            Surveyed::Folder(_, Err(Trouble::Unwanted)) => {}
            Surveyed::Folder(_, Err(Trouble::Config(messages))) => self.log(&messages.join("\n")),
            Surveyed::Folder(_, Err(Trouble::Internal(panic))) => {
                for id in self.survey.leave() {
                    self.answer(id, Err(internal(&panic)));
                }
                self.log(&internal(&panic).message);
            }
            Surveyed::All(trouble) => {
                if let Some(trouble) = trouble {
                    self.log(&trouble);
                }
                self.surveying(|survey, say| survey.end(say));
            }
        }
    }

    pub(super) fn survey_due(&mut self) {
        let Some(client) = &self.client else { return };
        if self.survey.next().is_none_or(|next| next > Instant::now()) {
            return;
        }
        let (shows, folders) = (client.shows_progress, client.outermost_folders());
        let (settings, overlays) = (client.settings.clone(), self.overlays());
        let surveys = self.surveys.clone();
        let job =
            |progress| surveys.send(survey::Job { folders, overlays, settings, progress }).is_ok();
        self.surveying(|survey, say| survey.tick(shows, job, say));
    }
}
