//! What can be done about findings: their fixes, a directive that keeps them quiet, and a look at
//! how they come about.

use std::collections::HashMap;
use std::path::Path;

use gen_lsp_types::{
    CodeAction, CodeActionKind, CodeActionParams, Command, Diagnostic, Position, Range, TextEdit,
    Uri, WorkspaceEdit,
};
use serde_json::json;

use crate::analysis::{self, Report};
use crate::diagnostic::{Finding, Fix, Safety};
use crate::source::{EditorLines, EditorPosition, Encoding, SourceText};
use crate::syntax::{self, OutlineDecl};

use super::client::Client;
use super::diagnostics::{self, Names, Places};

/// The kind of the action that applies all safe fixes of a file.
pub const FIX_ALL: CodeActionKind = CodeActionKind::new("source.fixAll.straggler");

/// The command that shows how a finding comes about: its arguments are the URI of the file and the
/// fingerprint of the finding.
pub const SHOW: &str = "straggler.showWitness";

/// What stands in a directive until somebody says why.
const REASON: &str = "REASON";

/// What can be done about the findings of `path` that the range of `params` touches.
pub fn actions(
    report: &Report,
    client: &Client,
    path: &Path,
    params: &CodeActionParams,
    names: Names<'_>,
) -> Vec<CodeAction> {
    let places = Places::new(report, client.encoding);
    let asked = |kind: &CodeActionKind| {
        params.context.only.as_ref().is_none_or(|only| only.iter().any(|it| covers(it, kind)))
    };
    let here = |finding: &&Finding| places.path(finding.primary) == path;
    let mut actions = Vec::new();
    if asked(&CodeActionKind::QuickFix) {
        for (index, finding) in report.findings.iter().enumerate().filter(|(_, it)| here(it)) {
            if touches(places.range(finding.primary), params.range) {
                let told = diagnostics::diagnostic(report, index, &places, names);
                quick_fixes(report, finding, &told, &places, names.uri_of, &mut actions);
                if client.shows {
                    let uri = (names.uri_of)(path);
                    let mut action = show(uri, report.fingerprint(index));
                    action.diagnostics = Some(vec![told]);
                    actions.push(action);
                }
            }
        }
    }
    // Nobody wants it beside the fixes of one place, so it has to be asked for.
    if params.context.only.is_some() && asked(&FIX_ALL) {
        let safe = |fix: &&Fix| fix.safety == Safety::Safe;
        let findings = report.findings.iter().filter(here);
        let fixes = findings.filter_map(|finding| finding.fixes.iter().find(safe));
        let edit = edit(fixes, &places, names.uri_of);
        if edit.changes.as_ref().is_some_and(|changes| !changes.is_empty()) {
            actions.push(action("Apply all safe fixes of straggler", FIX_ALL, edit));
        }
    }
    actions
}

/// Whether one who asks for `asked` is given `kind`: `source.fixAll` stands for all below it.
fn covers(asked: &CodeActionKind, kind: &CodeActionKind) -> bool {
    let (asked, kind) = (asked.as_str(), kind.as_str());
    kind.strip_prefix(asked).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

fn touches(a: Range, b: Range) -> bool {
    let place = |position: Position| (position.line, position.character);
    place(a.start) <= place(b.end) && place(b.start) <= place(a.end)
}

fn quick_fixes(
    report: &Report,
    finding: &Finding,
    told: &Diagnostic,
    places: &Places<'_>,
    uri_of: &dyn Fn(&Path) -> Uri,
    actions: &mut Vec<CodeAction>,
) {
    let first = actions.len();
    for fix in &finding.fixes {
        let title = capitalised(&fix.message);
        let edit = edit([fix].into_iter(), places, uri_of);
        actions.push(CodeAction {
            is_preferred: Some(fix.safety == Safety::Safe && actions.len() == first),
            ..action(&title, CodeActionKind::QuickFix, edit)
        });
    }
    if finding.rule != crate::rules::bad_suppression::ID {
        let file = report.file(finding.primary.file);
        let uri = uri_of(&file.absolute);
        let rule = finding.rule;
        let offset = finding.primary.span.start;
        let here = quiet_above(&file.text, offset, rule, &uri);
        actions.push(action(&format!("Ignore `{rule}` here"), CodeActionKind::QuickFix, here));
        let outline = syntax::outline(file.text.bytes());
        let around = |decl: &&OutlineDecl| decl.span.contains_offset(offset);
        if let Some(decl) = outline.decls.iter().find(around) {
            let all = quiet_above(&file.text, decl.span.start, rule, &uri);
            let title = format!("Ignore `{rule}` in this declaration");
            actions.push(action(&title, CodeActionKind::QuickFix, all));
        }
    }
    for action in &mut actions[first..] {
        action.diagnostics = Some(vec![told.clone()]);
    }
}

fn show(uri: Uri, fingerprint: &str) -> CodeAction {
    let title = "Show how it comes about".to_owned();
    let command = Command {
        title: title.clone(),
        tooltip: None,
        command: SHOW.to_owned(),
        arguments: Some(vec![json!(uri), json!(fingerprint)]),
    };
    CodeAction {
        title,
        kind: Some(CodeActionKind::QuickFix),
        command: Some(command),
        ..CodeAction::default()
    }
}

fn action(title: &str, kind: CodeActionKind, edit: WorkspaceEdit) -> CodeAction {
    CodeAction {
        title: title.to_owned(),
        kind: Some(kind),
        edit: Some(edit),
        ..CodeAction::default()
    }
}

/// The edits of fixes. Of fixes that overlap the first is made.
fn edit<'f>(
    fixes: impl Iterator<Item = &'f Fix>,
    places: &Places<'_>,
    uri_of: &dyn Fn(&Path) -> Uri,
) -> WorkspaceEdit {
    let mut changes: HashMap<Uri, Vec<TextEdit>> = HashMap::new();
    let mut taken: Vec<crate::source::Location> = Vec::new();
    for fix in fixes {
        let overlaps = |edit: &crate::diagnostic::Edit| {
            let (file, span) = (edit.location.file, edit.location.span);
            taken.iter().any(|it| {
                it.file == file && it.span.start < span.end && span.start < it.span.end
                    || it.file == file && it.span == span
            })
        };
        if fix.edits.iter().any(overlaps) {
            continue;
        }
        for edit in &fix.edits {
            taken.push(edit.location);
            changes.entry(uri_of(places.path(edit.location))).or_default().push(TextEdit {
                range: places.range(edit.location),
                new_text: edit.replacement.clone(),
            });
        }
    }
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

/// Puts a directive on a line of its own above the line of `offset`.
fn quiet_above(text: &SourceText, offset: u32, rule: &str, uri: &Uri) -> WorkspaceEdit {
    let (at, new_text) = analysis::directive_above(text, offset, rule, REASON);
    let lines = EditorLines::new(text.bytes());
    let EditorPosition { line, .. } = lines.position(text.bytes(), at, Encoding::Utf8);
    let start = Position { line, character: 0 };
    let edit = TextEdit { range: Range { start, end: start }, new_text };
    let changes = HashMap::from([(uri.clone(), vec![edit])]);
    WorkspaceEdit { changes: Some(changes), ..WorkspaceEdit::default() }
}

fn capitalised(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + chars.as_str()
}
