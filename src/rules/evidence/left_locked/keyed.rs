//! Locks of many things, each by its key: `l.Lock(key)` and `l.Unlock(key)`.
//!
//! Who has the key can give the lock back: whatever gets it on the way, and is not known to unlock nothing by a
//! key, may do so, and so may who finds it where it is stored.

use super::{LOCKS, Operation, UNLOCKS, root_variable};
use crate::flow::{Cfg, Path, Step, StepId};
use crate::index::{Basic, Callee, FuncId, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::conditions::{Decided, condition};
use crate::rules::evidence::locks::MAX_CALLS;
use crate::rules::scene::Scene;
use crate::summary::{At, Read};
use crate::syntax::{ExprId, ExprKind, File, Ident, Node, StmtId, StmtKind};

/// What a call is given that locks or unlocks by a key: one variable, or a field of it, that is no flag and no end
/// of waiting.
pub(super) fn key_of(scene: &Scene<'_>, call: ExprId) -> Option<ExprId> {
    let &[key] = scene.args(call) else { return None };
    root_variable(scene, key)??;
    let ty = scene.info.type_of(key);
    let is_other = ty.is_context()
        || ty.is_error()
        || ty.is_named("time", "Duration")
        || matches!(scene.cx.index().underlying(ty), Type::Func(_))
        || matches!(scene.cx.index().underlying(ty), Type::Basic(Basic::Bool));
    (!is_other).then_some(key)
}

/// What a lock is taken for.
pub(super) struct Key<'k, 'a> {
    scene: &'k Scene<'a>,
    /// The variable that it is, or is a field of.
    variable: LocalId,
    /// Whether the body has it for itself, by its own `range`.
    pub is_own: bool,
    /// The loop whose turns each have another one.
    range: Option<StmtId>,
}

impl<'k, 'a> Key<'k, 'a> {
    /// The key of a lock; `None` where the function unlocks anything by another key, or asks what that gives.
    pub fn of(
        scene: &'k Scene<'a>,
        operations: &[Operation],
        lock: &Operation,
        key: ExprId,
    ) -> Option<Key<'k, 'a>> {
        let variable = root_variable(scene, key)??;
        let is_other = |call: ExprId| {
            let unlocks =
                scene.method_call(call).is_some_and(|(_, name)| unlocks(name.name.as_str()));
            let same = |it: &Operation| {
                it.call == call
                    && it.text == lock.text
                    && it.key.and_then(|key| root_variable(scene, key)) == Some(Some(variable))
            };
            unlocks && !scene.args(call).is_empty() && !operations.iter().any(same)
        };
        let others =
            scene.nodes.iter().any(|&node| matches!(node, Node::Expr(call) if is_other(call)));
        if others {
            return None;
        }
        let range = scene.loops_around(Node::Expr(lock.call)).into_iter().find(|&stmt| {
            let StmtKind::Range { key, value, .. } = scene.file.stmt(stmt).kind else {
                return false;
            };
            let mut bound = [key, value].into_iter().flatten();
            bound.any(|bound| scene.local(bound) == Some(variable))
        });
        let local = scene.info.local(variable);
        let home = scene.literal_around(Node::Expr(lock.call));
        let is_own = range.is_some()
            && matches!(local.kind, LocalKind::Var | LocalKind::LoopVar)
            && local.owner == home;
        Some(Key { scene, variable, is_own, range })
    }

    /// The step by which a `range` takes the next key, if a turn that unlocks goes on to it.
    pub fn next_turn(
        &self,
        cfg: &Cfg,
        lock: &Operation,
        releases: &[&Operation],
    ) -> Option<StepId> {
        let next = cfg.step_of_stmt(self.range?)?;
        let mut regular = releases.iter().filter(|it| !it.deferred && it.at.body == lock.at.body);
        regular.any(|it| cfg.reaches(it.at.step, next)).then_some(next)
    }

    /// Whether the turn of a path unlocks below what the path has last decided.
    pub fn is_skipped(&self, path: &Path<(bool, Decided)>, releases: &[&Operation]) -> bool {
        let Some(last) = path.decisions().filter_map(condition).next_back() else { return false };
        let decided = self.scene.span(Node::Expr(last)).end;
        let within = self.range.map(|range| self.scene.span(Node::Stmt(range)));
        releases.iter().any(|release| {
            let span = self.scene.span(Node::Expr(release.call));
            span.start > decided && within.is_some_and(|within| within.contains(span))
        })
    }

    /// Whether a `return` gives the caller the key, or a literal, without an error.
    pub fn is_given_by(&self, returned: StmtId) -> bool {
        let StmtKind::Return(results) = &self.scene.file.stmt(returned).kind else { return false };
        results.iter().any(|&result| {
            let ty = self.scene.info.type_of(result);
            let is_literal = |node| {
                matches!(node, Node::Expr(part)
                if matches!(self.scene.file.expr(part).kind, ExprKind::FuncLit(_)))
            };
            !ty.is_error() && self.is_named_in(Node::Expr(result))
                || self.scene.file.descendants(Node::Expr(result)).any(is_literal)
        })
    }

    /// Whether a step gives the key to somebody who may unlock, or keeps it, or makes the text mean another one.
    pub fn settles(&self, read: &Read<'a>, at: At) -> bool {
        let scene = self.scene;
        if read.function.defines(at, self.variable) {
            return true;
        }
        match read.function.step(at) {
            Step::Call(call) => self.may_be_unlocked_by(call),
            Step::FuncLit(literal) => self.is_named_in(Node::Expr(literal)),
            Step::Assign(stmt) => self.is_kept_by(stmt),
            Step::Send(stmt) | Step::Comm(stmt) => {
                let sends = matches!(scene.file.stmt(stmt).kind, StmtKind::Send { .. });
                sends && (self.range.is_some() || self.is_named_in(Node::Stmt(stmt)))
            }
            _ => false,
        }
    }

    fn may_be_unlocked_by(&self, call: ExprId) -> bool {
        let scene = self.scene;
        let is_given = || {
            scene.args(call).iter().any(|&arg| {
                self.is_named_in(Node::Expr(arg))
                    || matches!(scene.info.type_of(arg), Type::Func(_))
            })
        };
        match *scene.info.callee(call) {
            Callee::Func(func) => {
                !is_of_one_lock(scene.file, call) && may_unlock_by_key(&scene.cx, func, MAX_CALLS)
            }
            Callee::Builtin(_) | Callee::Conversion(_) => false,
            Callee::External(_) => {
                let is_function = |&arg: &ExprId| matches!(scene.info.type_of(arg), Type::Func(_));
                scene.args(call).iter().any(is_function)
            }
            Callee::InterfaceMethod(_) | Callee::Unknown { .. } => is_given(),
            Callee::Literal(_) | Callee::Value(_) => true,
        }
    }

    /// Whether an assignment keeps the key, or in a turn of a loop anything that is there after it.
    fn is_kept_by(&self, stmt: StmtId) -> bool {
        let scene = self.scene;
        let left = match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } => &**left,
            StmtKind::IncDec { operand, .. } => std::slice::from_ref(operand),
            _ => return false,
        };
        let around = self.range.map(|range| scene.span(Node::Stmt(range)));
        let is_fleeting = |&target: &ExprId| {
            scene.text(target) == "_"
                || scene.local(target).is_some_and(|local| {
                    let declared = scene.info.local(local).span;
                    around.is_none_or(|around| around.contains(declared))
                })
        };
        !left.iter().all(is_fleeting) && (around.is_some() || self.is_named_in(Node::Stmt(stmt)))
    }

    fn is_named_in(&self, node: Node) -> bool {
        let scene = self.scene;
        let is_it =
            |node| matches!(node, Node::Expr(part) if scene.local(part) == Some(self.variable));
        is_it(node) || scene.file.descendants(node).any(is_it)
    }
}

fn unlocks(name: &str) -> bool {
    name.to_ascii_lowercase().contains("unlock")
}

/// Whether a call locks or unlocks one thing, and so nothing by a key.
fn is_of_one_lock(file: &File, call: ExprId) -> bool {
    file.args(call).is_empty()
        && file.method_call(call).is_some_and(|(_, name)| {
            LOCKS.contains(&name.name.as_str()) || UNLOCKS.contains(&name.name.as_str())
        })
}

/// Whether a function, or one that it calls, unlocks by a key, or names a function that unlocks as a value.
fn may_unlock_by_key(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> bool {
    let index = cx.index();
    let file = index.file_of(func);
    let text = file.source.slice(file.decl(index.func(func).decl).span);
    if memchr::memmem::find(text, b"nlock").is_some() {
        let Some(scene) = Scene::of(&cx.package, func) else { return true };
        if scene.nodes.iter().any(|&node| is_unlock_by_key(&scene, node)) {
            return true;
        }
    }
    let Some(read) = cx.summaries().read(func) else { return true };
    let Some(depth) = depth.checked_sub(1) else { return false };
    let function = &read.function;
    function.calls().any(|(_, call)| match *function.info.callee(call) {
        Callee::Func(callee) => {
            callee != func
                && !is_of_one_lock(function.file, call)
                && may_unlock_by_key(cx, callee, depth)
        }
        _ => false,
    })
}

/// Whether a node names what unlocks, and does more than to call it without arguments.
fn is_unlock_by_key(scene: &Scene<'_>, node: Node) -> bool {
    let Node::Expr(expr) = node else { return false };
    let name = match scene.file.expr(expr).kind {
        ExprKind::Ident(name) | ExprKind::Selector { name: Ident { name, .. }, .. } => name,
        _ => return false,
    };
    let is_plain_call = matches!(scene.parent(node), Some(Node::Expr(call))
        if matches!(scene.file.expr(call).kind, ExprKind::Call { callee, .. } if callee == expr)
            && scene.args(call).is_empty());
    unlocks(name.as_str()) && !is_plain_call
}
