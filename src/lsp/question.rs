//! What a client asks about a file, and the answers that a report gives.

use std::path::Path;

use gen_lsp_types::{
    CodeActionParams, Contents, DocumentDiagnosticParams, FullDocumentDiagnosticReport, Hover,
    HoverParams, MarkupContent, MarkupKind, Position, Range, RelatedFullDocumentDiagnosticReport,
    Uri,
};
use lsp_server::RequestId;
use serde::Serialize;
use serde_json::Value;

use crate::analysis::Report;
use crate::source::{EditorLines, EditorPosition};

use super::actions;
use super::client::Client;
use super::diagnostics::{self, Places};
use super::document::Document;
use super::hover::Told;
use super::worker::Inquiry;

/// A request that needs a report.
pub enum Question {
    /// The diagnostics of a file.
    Diagnostics(DocumentDiagnosticParams),
    /// What can be done about them.
    Actions(Box<CodeActionParams>),
    /// What is told of a place.
    Hover(HoverParams),
}

impl Question {
    /// The file that it is about.
    pub fn uri(&self) -> &str {
        let document = match self {
            Question::Diagnostics(params) => &params.text_document,
            Question::Actions(params) => &params.text_document,
            Question::Hover(params) => &params.text_document_position_params.text_document,
        };
        &document.uri.0
    }
}

/// The answer to a question, from the report that speaks of its file, if one does; or else where it
/// is to be found.
pub fn reply(
    id: &RequestId,
    known: Option<(&Report, &Document)>,
    question: &Question,
    client: &Client,
    uri_of: &dyn Fn(&Path) -> Uri,
) -> Result<Value, Inquiry> {
    match question {
        Question::Diagnostics(_) => {
            let items = known.and_then(|(report, document)| {
                let places = Places::new(report, client.encoding);
                diagnostics::by_file(report, &places, uri_of).remove(&document.path)
            });
            let items = items.unwrap_or_default();
            Ok(to_value(RelatedFullDocumentDiagnosticReport {
                related_documents: None,
                full_document_diagnostic_report: FullDocumentDiagnosticReport {
                    result_id: None,
                    items,
                },
            }))
        }
        Question::Actions(params) => {
            let actions = known.map(|(report, document)| {
                actions::actions(report, client.encoding, &document.path, params, uri_of)
            });
            Ok(to_value(actions.unwrap_or_default()))
        }
        Question::Hover(params) => {
            let document = known.map(|(_, document)| document);
            let of_run = document.and_then(|document| Some((document, document.root.clone()?)));
            let Some((document, root)) = of_run else { return Ok(Value::Null) };
            let position = params.text_document_position_params.position;
            Err(Inquiry {
                root,
                path: document.path.clone(),
                offset: document.offset(position, client.encoding),
                id: id.clone(),
            })
        }
    }
}

/// What is told of a place, as the client reads it.
pub fn told(document: &Document, told: &Told, client: &Client) -> Value {
    let text = document.text.as_bytes();
    let lines = EditorLines::new(text);
    let position = |offset| {
        let EditorPosition { line, column } = lines.position(text, offset, client.encoding);
        Position { line, character: column }
    };
    let range = Range { start: position(told.span.start), end: position(told.span.end) };
    let kind = if client.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
    let contents = MarkupContent { kind, value: told.markdown.clone() };
    to_value(Hover { contents: Contents::MarkupContent(contents), range: Some(range) })
}

/// A value of the protocol as JSON.
pub fn to_value(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("the types of the protocol are JSON")
}
