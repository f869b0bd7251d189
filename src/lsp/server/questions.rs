//! What the client asks of a file: answered from a report on the present state of affairs, at once or
//! when there is one.

use std::sync::Arc;
use std::time::Instant;

use gen_lsp_types::{ExecuteCommandParams, HoverParams, MessageType, ShowDocumentParams, Uri};
use lsp_server::{ErrorCode, RequestId, ResponseError};
use serde_json::Value;

use super::{Server, error, internal};
use crate::analysis::Report;
use crate::lsp::hover::{self, About, Told};
use crate::lsp::question::{self, Question, Reply};
use crate::lsp::worker::{Inquiry, Task};
use crate::lsp::{actions, uri};
use crate::source::SourceText;

impl Server {
    pub(super) fn command(
        &mut self,
        id: &RequestId,
        params: ExecuteCommandParams,
    ) -> Result<Option<Value>, ResponseError> {
        let arguments = params.arguments.unwrap_or_default();
        match (params.command.as_str(), arguments.as_slice()) {
            (actions::SHOW, [Value::String(uri), Value::String(fingerprint)]) => {
                let (uri, fingerprint) = (uri.clone(), fingerprint.clone());
                self.ask(id, Question::Show { uri, fingerprint })
            }
            (command, _) => {
                let message = format!("there is no command `{command}` with these arguments");
                Err(error(ErrorCode::InvalidParams, message))
            }
        }
    }

    /// What is told of a directive needs no run.
    pub(super) fn hover(
        &mut self,
        id: &RequestId,
        params: HoverParams,
    ) -> Result<Option<Value>, ResponseError> {
        let asked = &params.text_document_position_params;
        if let Some(document) = self.documents.get(&asked.text_document.uri.0) {
            let offset = document.offset(asked.position, self.client().encoding);
            let text = SourceText::new(document.text.clone().into_bytes());
            if let Some(told) = hover::of_directive(&text, offset) {
                let (about, client) = (About::Place(offset), self.client());
                return Ok(Some(question::told(document, about, &[told], client)));
            }
        }
        self.ask(id, Question::Hover(params))
    }

    /// Answers at once if the present state of affairs is known; else later.
    pub(super) fn ask(
        &mut self,
        id: &RequestId,
        question: Question,
    ) -> Result<Option<Value>, ResponseError> {
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
    pub(super) fn reply(
        &mut self,
        id: &RequestId,
        report: Option<&Report>,
        question: &Question,
    ) -> Option<Value> {
        let known = report.zip(self.documents.get(question.uri()));
        let reply = self.named(|names| question::reply(id, known, question, self.client(), names));
        match reply {
            Reply::Answer(answer) => Some(answer),
            Reply::Inquire(inquiry) => {
                self.tasks.send(Task::Inquire(inquiry)).is_err().then_some(Value::Null)
            }
            Reply::Show(document) => {
                self.show_document(document);
                Some(Value::Null)
            }
        }
    }

    pub(super) fn show_document(&mut self, document: Option<(String, String)>) {
        let Some((name, text)) = document else {
            return self.show(MessageType::Info, "this finding is no longer there");
        };
        let file = self.papers.get_mut().file(&name, || text);
        let Some(file) = file.filter(|_| self.client().shows) else {
            return self.show(MessageType::Warning, "the document cannot be shown");
        };
        let params = ShowDocumentParams {
            uri: Uri(uri::of_path(&file)),
            external: None,
            take_focus: Some(true),
            selection: None,
        };
        self.ask_client("window/showDocument", question::to_value(params));
    }

    /// What the worker has found; it may be of a text that is no longer there.
    pub(super) fn inquired(&self, inquiry: Inquiry, told: Result<Vec<Told>, String>) {
        let document = self.documents.values().find(|open| open.path == inquiry.path);
        let answer = match told {
            Ok(told) => Ok(document.map_or(Value::Null, |document| {
                question::told(document, inquiry.about, &told, self.client())
            })),
            Err(panic) => Err(internal(&panic)),
        };
        self.answer(inquiry.id, answer);
    }
}
