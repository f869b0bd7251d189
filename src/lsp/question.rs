//! What a client asks about a file, and the answers that a report gives.

use gen_lsp_types::{
    CodeActionParams, CodeLens, CodeLensParams, Command, Contents, Diagnostic,
    DocumentDiagnosticParams, FullDocumentDiagnosticReport, Hover, HoverParams, MarkupContent,
    MarkupKind, Position, Range, RelatedFullDocumentDiagnosticReport,
    RelatedUnchangedDocumentDiagnosticReport, UnchangedDocumentDiagnosticReport,
};
use lsp_server::RequestId;
use serde::Serialize;
use serde_json::Value;

use crate::analysis::Report;
use crate::cache::Key;
use crate::source::{EditorLines, EditorPosition, Span};

use super::client::Client;
use super::diagnostics::{self, Names, Places};
use super::document::Document;
use super::hover::{About, Told};
use super::worker::Inquiry;
use super::{actions, witness};

/// A request that needs a report.
pub enum Question {
    /// The diagnostics of a file.
    Diagnostics(DocumentDiagnosticParams),
    /// What can be done about them.
    Actions(Box<CodeActionParams>),
    /// What is told of a place.
    Hover(HoverParams),
    /// What is told of all places of a file.
    Lenses(CodeLensParams),
    /// How the finding comes about that has this fingerprint.
    Show {
        /// The file of the finding.
        uri: String,
        /// What tells the finding from others.
        fingerprint: String,
    },
}

/// What becomes of a question.
pub enum Reply {
    /// This is the answer.
    Answer(Value),
    /// The answer is to be found here.
    Inquire(Inquiry),
    /// This document, of this name, is to be shown; there is none if the finding is gone.
    Show(Option<(String, String)>),
}

impl Question {
    /// The file that it is about.
    pub fn uri(&self) -> &str {
        let document = match self {
            Question::Diagnostics(params) => &params.text_document,
            Question::Actions(params) => &params.text_document,
            Question::Hover(params) => &params.text_document_position_params.text_document,
            Question::Lenses(params) => &params.text_document,
            Question::Show { uri, .. } => return uri,
        };
        &document.uri.0
    }
}

/// What becomes of a question, with the report that speaks of its file, if one does.
pub fn reply(
    id: &RequestId,
    known: Option<(&Report, &Document)>,
    question: &Question,
    client: &Client,
    names: Names<'_>,
) -> Reply {
    let inquire = |about: &dyn Fn(&Document) -> About| {
        let document = known.map(|(_, document)| document);
        let of_run = document.and_then(|document| Some((document, document.root.clone()?)));
        let Some((document, root)) = of_run else { return Reply::Answer(Value::Null) };
        let (path, about) = (document.path.clone(), about(document));
        Reply::Inquire(Inquiry { root, path, about, id: id.clone() })
    };
    match question {
        Question::Diagnostics(params) => {
            let items = known.and_then(|(report, document)| {
                let places = Places::new(report, client.encoding);
                diagnostics::by_file(report, &places, names).remove(&document.path)
            });
            let items = items.unwrap_or_default();
            let previous = params.previous_result_id.as_deref();
            Reply::Answer(diagnostics_since(previous, items))
        }
        Question::Actions(params) => {
            let actions = known.map(|(report, document)| {
                actions::actions(report, client, &document.path, params, names)
            });
            Reply::Answer(to_value(actions.unwrap_or_default()))
        }
        Question::Hover(params) => {
            let position = params.text_document_position_params.position;
            inquire(&|document| About::Place(document.offset(position, client.encoding)))
        }
        Question::Lenses(_) => inquire(&|_| About::All),
        Question::Show { fingerprint, .. } => Reply::Show(known.and_then(|(report, _)| {
            let index = report.fingerprints.iter().position(|known| known == fingerprint)?;
            let text = witness::document(report, index);
            let id = Key::of(text.as_bytes()).to_string();
            Some((format!("{}-{}.md", report.findings[index].rule, &id[..12]), text))
        })),
    }
}

/// Diagnostics for a client that has those of this number.
fn diagnostics_since(previous: Option<&str>, items: Vec<Diagnostic>) -> Value {
    let result_id = result_id(&items);
    if previous == Some(result_id.as_str()) {
        return to_value(RelatedUnchangedDocumentDiagnosticReport {
            related_documents: None,
            unchanged_document_diagnostic_report: UnchangedDocumentDiagnosticReport { result_id },
        });
    }
    to_value(RelatedFullDocumentDiagnosticReport {
        related_documents: None,
        full_document_diagnostic_report: FullDocumentDiagnosticReport {
            result_id: Some(result_id),
            items,
        },
    })
}

/// What tells diagnostics from others.
pub fn result_id(items: &[Diagnostic]) -> String {
    Key::of(to_value(items).to_string().as_bytes()).to_string()
}

/// What is told of places, as the client reads it.
pub fn told(document: &Document, about: About, told: &[Told], client: &Client) -> Value {
    let text = document.text.as_bytes();
    let lines = EditorLines::new(text);
    let position = |offset| {
        let EditorPosition { line, column } = lines.position(text, offset, client.encoding);
        Position { line, character: column }
    };
    let range = |span: Span| Range { start: position(span.start), end: position(span.end) };
    let lens = |told: &Told| CodeLens {
        range: range(told.span),
        // There is nothing to do but read.
        command: Some(Command { title: told.line.clone(), ..Command::default() }),
        data: None,
    };
    match about {
        About::All => to_value(told.iter().map(lens).collect::<Vec<CodeLens>>()),
        About::Place(_) => to_value(told.first().map(|told| {
            let kind = if client.markdown { MarkupKind::Markdown } else { MarkupKind::PlainText };
            let contents = MarkupContent { kind, value: told.markdown.clone() };
            Hover { contents: Contents::MarkupContent(contents), range: Some(range(told.span)) }
        })),
    }
}

/// A value of the protocol as JSON.
pub fn to_value(value: impl Serialize) -> Value {
    serde_json::to_value(value).expect("the types of the protocol are JSON")
}
