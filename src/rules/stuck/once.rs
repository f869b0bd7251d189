//! Goroutines that stay, but are started once in the life of the process.

use crate::diagnostic::{Finding, Role};
use crate::rules::PackageCx;
use crate::rules::recurrence::is_once;
use crate::source::{Location, Span};
use crate::syntax::{File, Node, StmtKind};

/// Whether what was found by exploring are goroutines that stay, started where that is done once, by who
/// goes on.
pub fn is_left_once(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    if !only_stays(finding.rule) {
        return false;
    }
    let labels = |role: Role| finding.labels.iter().filter(move |label| label.role == role);
    let Some(started) = labels(Role::Started).next().map(|label| label.location) else {
        return false;
    };
    let funcs = &cx.index.package(cx.package).funcs;
    let starter = funcs.iter().filter(|func| func.file == started.file).find_map(|func| {
        let file: &File = cx.index.file_of(func.id);
        let within = |label: Location, span: Span| {
            let Location { file, span: label } = label;
            file == func.file && span.start <= label.start && label.end <= span.end
        };
        let declared = file.decl(func.decl).span;
        let waits = || labels(Role::Stuck).any(|label| within(label.location, declared));
        if !within(started, declared) || waits() {
            return None;
        }
        let is_start = |node: &Node| match *node {
            Node::Stmt(stmt) => {
                let stmt = file.stmt(stmt);
                matches!(stmt.kind, StmtKind::Go(_)) && within(started, stmt.span)
            }
            _ => false,
        };
        let go = file.descendants(Node::Decl(func.decl)).filter(is_start).last()?;
        Some((func.id, go))
    });
    starter.is_some_and(|(func, go)| is_once(cx, func, go))
}

/// Whether what a rule tells of does no more than stay, as long as it is one.
fn only_stays(rule: &str) -> bool {
    matches!(
        rule,
        "range-never-closed"
            | "receive-without-sender"
            | "select-never-ready"
            | "send-without-receiver"
    )
}
