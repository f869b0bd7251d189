//! Goroutines that stay, but are started once in the life of the process.

use crate::diagnostic::{Finding, Role};
use crate::index::FuncId;
use crate::rules::PackageCx;
use crate::rules::recurrence::{is_again, is_once};
use crate::source::{Location, Span};
use crate::syntax::{File, Node, StmtKind};

/// Whether what was found by exploring are goroutines that stay, started where that is done once, by who
/// goes on; or of a program, where most end with it, and that do not come again and again.
pub(super) fn is_left_once(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let is_program = cx.index.package(cx.package).name.as_str() == "main";
    if !is_program && !only_stays(finding.rule) {
        return false;
    }
    let Some((func, go)) = starter(cx, finding) else { return false };
    is_program && !is_again(cx, func, go) || only_stays(finding.rule) && is_once(cx, func, go)
}

/// Where the goroutine is started that stays, unless who starts it stays too.
fn starter(cx: &PackageCx<'_>, finding: &Finding) -> Option<(FuncId, Node)> {
    let labels = |role: Role| finding.labels.iter().filter(move |label| label.role == role);
    let started = labels(Role::Started).next()?.location;
    let funcs = &cx.index.package(cx.package).funcs;
    funcs.iter().filter(|func| func.file == started.file).find_map(|func| {
        let file: &File = cx.index.file_of(func.id);
        let within = |label: Location, span: Span| {
            let Location { file, span: label } = label;
            file == func.file && span.start <= label.start && label.end <= span.end
        };
        let declared = file.decl(func.decl).span;
        if !within(started, declared) {
            return None;
        }
        let starts: Vec<(Node, Span)> = file
            .descendants(Node::Decl(func.decl))
            .filter_map(|node| match node {
                Node::Stmt(stmt) => {
                    let stmt = file.stmt(stmt);
                    matches!(stmt.kind, StmtKind::Go(_)).then_some((node, stmt.span))
                }
                _ => None,
            })
            .collect();
        // Whoever waits in a goroutine that the function starts is not the function.
        let waits = |label: Location| {
            within(label, declared) && !starts.iter().any(|(_, start)| within(label, *start))
        };
        if labels(Role::Stuck).any(|label| waits(label.location)) {
            return None;
        }
        let go = starts.iter().rev().find(|(_, start)| within(started, *start))?;
        Some((func.id, go.0))
    })
}

/// Whether what a rule tells of does no more than stay, as long as it is one.
pub fn only_stays(rule: &str) -> bool {
    matches!(
        rule,
        "range-never-closed"
            | "receive-without-sender"
            | "select-never-ready"
            | "send-without-receiver"
    )
}
