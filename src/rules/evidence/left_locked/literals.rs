//! Function literals that give back what the body around them has locked.
//!
//! What is deferred, started, returned or given away has the lock from the step on that makes it: a way out
//! before that is one on which nobody gives it back.

use super::Operation;
use crate::flow::{Cfg, StepId};
use crate::index::Type;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// How a literal comes to give a lock back.
pub(super) struct Giver {
    /// The step from which on it may.
    pub from: StepId,
    /// Whether somebody else than the function decides when it does.
    pub is_handed_out: bool,
}

impl Giver {
    /// How the literal that unlocks comes to do so; `None` where that may be for what was locked on another way,
    /// or in another turn: it is made before the lock is taken, stands elsewhere, or is kept for later calls.
    pub fn of(scene: &Scene<'_>, cfg: &Cfg, lock: &Operation, unlock: &Operation) -> Option<Giver> {
        let home = scene.literal_around(Node::Expr(lock.call));
        let literal = scene.literal_below(home, Node::Expr(unlock.call))?;
        if scene.literal_around(Node::Expr(literal)) != home {
            return None;
        }
        if let Some(started) = scene.go_around(literal) {
            let from = scene.step_of(cfg, Node::Stmt(started))?;
            return Some(Giver { from, is_handed_out: false });
        }
        let called = match scene.parent(Node::Expr(literal)) {
            Some(Node::Expr(call)) if is_called(scene, call, literal) => Some(call),
            _ => None,
        };
        let given = called.or_else(|| scene.given_to(literal));
        if called.is_none() && is_stored(scene, literal) {
            return None;
        }
        let from = cfg.step_of_expr(given.unwrap_or(literal))?;
        let in_place = called.is_some_and(|call| !scene.is_deferred(call));
        let after = cfg.reaches(lock.at.step, from) && !cfg.reaches(from, lock.at.step);
        (in_place || after).then_some(Giver { from, is_handed_out: called.is_none() })
    }
}

fn is_called(scene: &Scene<'_>, call: ExprId, literal: ExprId) -> bool {
    match scene.file.expr(call).kind {
        ExprKind::Call { callee, .. } => scene.file.unparen(callee) == literal,
        _ => false,
    }
}

/// Whether a literal, or what it is a part of, is put where a later call of the function finds it.
fn is_stored(scene: &Scene<'_>, literal: ExprId) -> bool {
    let mut around = scene.around(Node::Expr(literal));
    let Some(statement) = around.find(|node| !matches!(node, Node::Expr(_))) else { return true };
    match scene.assignment(statement) {
        Some((variables, _)) => variables.iter().any(Option::is_none),
        None => matches!(statement, Node::Stmt(stmt)
            if matches!(scene.file.stmt(stmt).kind, StmtKind::Send { .. })),
    }
}

/// Whether a `return` may give the caller a literal of another call, or what has one: a result that is neither
/// nil, empty nor an error, and no number or text.
pub(super) fn may_give_another(scene: &Scene<'_>, returned: StmtId) -> bool {
    let StmtKind::Return(results) = &scene.file.stmt(returned).kind else { return false };
    results.iter().any(|&result| {
        let ty = scene.info.type_of(result);
        let is_empty = match &scene.file.expr(scene.file.unparen(result)).kind {
            ExprKind::CompositeLit { elements, .. } => elements.is_empty(),
            _ => false,
        };
        let is_plain = matches!(scene.cx.index().underlying(ty), Type::Basic(_));
        !(scene.is_nil(result) || ty.is_error() || is_empty || is_plain)
    })
}
