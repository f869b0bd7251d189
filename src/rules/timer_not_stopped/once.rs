//! A timer that is made in an arm of a `select` which no second turn of its loop takes.

use crate::flow::Step;
use crate::index::{Builtin, Callee, Def, LocalId};
use crate::rules::held::Held;
use crate::summary::{Definition, Function, Source};
use crate::syntax::{CommClause, ExprId, ExprKind, Node, StmtKind};

/// Whether the timer is made where only one value of a channel leads: the arm gives up its channel, as in
/// `dead = nil`, or the channel was made for one answer, with room for it.
pub(super) fn is(function: &Function<'_>, held: &Held<'_>) -> bool {
    let file = function.file;
    let made = held.span(function);
    let decl = function.index.func(function.id).decl;
    let clauses = file.descendants(Node::Decl(decl)).filter_map(|node| match node {
        Node::Stmt(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Select(clauses) => clauses.iter().find(|clause| clause.span.contains(made)),
            _ => None,
        },
        _ => None,
    });
    let mut received = clauses.filter_map(|clause| Some((clause, channel(function, clause)?)));
    received.any(|(clause, local)| {
        function
            .definitions_of(local)
            .any(|definition| gives_up(function, held, clause, definition))
            || function
                .only_definition_of(local)
                .is_some_and(|definition| is_for_one(function, definition))
    })
}

/// The variable of the channel that an arm receives from.
fn channel(function: &Function<'_>, clause: &CommClause) -> Option<LocalId> {
    let channel = Step::Comm(clause.comm?).received_from(function.file)?;
    function.variable(channel)
}

/// Whether an assignment in the arm makes its channel nil, on each way that makes the timer.
fn gives_up(
    function: &Function<'_>,
    held: &Held<'_>,
    clause: &CommClause,
    definition: &Definition,
) -> bool {
    let (Source::Expr(value), Some(at)) = (definition.source, definition.at) else { return false };
    let value = function.file.unparen(value);
    let cfg = &function.body(at.body).cfg;
    at.body == held.at.body
        && (cfg.dominates(at.step, held.at.step) || cfg.dominates(held.at.step, at.step))
        && matches!(function.info.resolve(value), Def::Nil)
        && clause.span.contains(function.file.expr(value).span)
}

/// Whether it is `make(chan T, 1)`, which is not made again in another turn.
fn is_for_one(function: &Function<'_>, definition: &Definition) -> bool {
    let (Source::Expr(made), Some(at)) = (definition.source, definition.at) else { return false };
    let made = function.file.unparen(made);
    let cfg = &function.body(at.body).cfg;
    let has_room_for_one = |&room: &ExprId| {
        let room = function.file.unparen(room);
        matches!(function.file.expr(room).kind, ExprKind::BasicLit(_)) && function.text(room) == "1"
    };
    matches!(function.info.callee(made), Callee::Builtin(Builtin::Make))
        && function.args(made).get(1).is_some_and(has_room_for_one)
        && !cfg.reaches(at.step, at.step)
}
