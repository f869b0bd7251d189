//! Decisions by which one of several goroutines that run the same body knows that it is the first, or the last.

use crate::diagnostic::Finding;
use crate::flow::{Cfg, EdgeKind, StepId};
use crate::index::{Callee, LocalId, LocalKind};
use crate::rules::conditions::condition;
use crate::rules::scene::Scene;
use crate::rules::{FunctionCx, PackageCx};
use crate::summary::{At, BodyId, Function};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// The conditions that have been decided on every way to a step.
pub(super) fn conditions_above(cfg: &Cfg, step: StepId) -> impl Iterator<Item = EdgeKind> {
    let start = cfg.only_edge_to(cfg.block_of(step));
    let above = std::iter::successors(start, |&(block, _)| cfg.only_edge_to(block));
    above.map(|(_, edge)| edge.kind)
}

/// Whether a condition in a literal depends on what other goroutines that run it have done: on an atomic operation,
/// the try of a lock, a method that changes what it is called of, or what the literal itself sets, deletes from or
/// puts back.
pub(super) fn tells_of_others(
    scene: &Scene<'_>,
    function: &Function<'_>,
    asked: ExprId,
    body: BodyId,
) -> bool {
    let is_within = |at: At| function.enclosing(at.body).any(|around| around == body);
    let is_own = |local: LocalId| {
        function
            .owner(local)
            .is_some_and(|owner| function.enclosing(owner).any(|around| around == body))
    };
    let mut open = vec![Node::Expr(asked)];
    let mut met: Vec<LocalId> = Vec::new();
    while let Some(node) = open.pop() {
        for part in scene.file.descendants(node) {
            let Node::Expr(part) = part else { continue };
            if is_claim(scene, part) || changes_its_receiver(scene, part) {
                return true;
            }
            let Some(local) = scene.local(part) else { continue };
            if met.contains(&local) {
                continue;
            }
            met.push(local);
            let mut set =
                function.definitions_of(local).filter(|set| set.at.is_some_and(is_within));
            if !is_own(local) {
                let literal = function.body(body).literal;
                if set.next().is_some()
                    || deletes_from(scene, local, literal)
                    || hands_round(scene, local, literal)
                {
                    return true;
                }
                continue;
            }
            // Who runs a literal inside of the body gives it what he keeps.
            if is_pointed_to(scene, part) && function.owner(local) != Some(body) {
                return true;
            }
            let from = set.filter_map(|set| function.taken_from(set));
            open.extend(from.map(Node::Expr));
        }
    }
    false
}

/// Whether a finding of something that panics when it is done twice stands where only the one comes that a call has
/// told so.
pub fn is_claimed(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let claimed = || {
        let scene = Scene::at(cx, finding.primary)?;
        let is_call = |node: &Node| matches!(node, Node::Expr(_));
        let told = |node: &Node| is_call(node) && scene.span(*node) == finding.primary.span;
        let node = scene.nodes.iter().copied().find(told)?;
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let body = read.function.body_of(scene.literal_around(node))?;
        let cfg = &read.function.body(body).cfg;
        let at = scene.step_of(cfg, node)?;
        let mut above = conditions_above(cfg, at).filter_map(condition);
        Some(above.any(|asked| comes_of_claim(&scene, &read.function, asked)))
    };
    finding.rule == "close-misuse" && claimed().unwrap_or(false)
}

/// Whether a condition asks a call that says so, or what one has given.
fn comes_of_claim(scene: &Scene<'_>, function: &Function<'_>, asked: ExprId) -> bool {
    scene.file.descendants(Node::Expr(asked)).any(|node| {
        let Node::Expr(part) = node else { return false };
        let given = scene.local(part).and_then(|local| function.only_definition_of(local));
        let given = given.and_then(|only| function.taken_from(only));
        [Some(part), given]
            .into_iter()
            .flatten()
            .any(|call| is_claim(scene, scene.file.unparen(call)))
    })
}

/// Whether a call says of several who make it to one that it came first.
fn is_claim(scene: &Scene<'_>, call: ExprId) -> bool {
    let Some(name) = scene.info.callee(call).qualified(scene.cx.index()) else { return false };
    let claims = ["LoadOrStore", "LoadAndDelete", "CompareAndSwap", "CompareAndDelete", "TryLock"];
    match name.path.as_str() {
        "sync/atomic" => true,
        "sync" => claims.iter().any(|claim| name.name.as_str().ends_with(claim)),
        _ => false,
    }
}

/// Whether an expression names the parameter of a literal, and what that points to is meant: `*n`.
fn is_pointed_to(scene: &Scene<'_>, named: ExprId) -> bool {
    let is_param = scene
        .local(named)
        .is_some_and(|local| matches!(scene.info.local(local).kind, LocalKind::Param(_)));
    is_param
        && matches!(scene.parent(Node::Expr(named)), Some(Node::Expr(around))
            if matches!(scene.file.expr(around).kind, ExprKind::Star(_)))
}

/// Whether a call is that of a method which sets a field of what it is called of.
fn changes_its_receiver(scene: &Scene<'_>, call: ExprId) -> bool {
    let Callee::Func(func) = *scene.info.callee(call) else { return false };
    let Some(method) = Scene::new(FunctionCx { func, ..scene.cx }) else { return false };
    let is_field = |target: ExprId| match method.file.expr(method.file.unparen(target)).kind {
        ExprKind::Selector { base, .. } => method
            .local(base)
            .is_some_and(|local| method.info.local(local).kind == LocalKind::Receiver),
        _ => false,
    };
    method.nodes.iter().any(|&node| match node {
        Node::Expr(expr) => is_field(expr) && method.is_target(expr),
        Node::Stmt(stmt) => match method.file.stmt(stmt).kind {
            StmtKind::IncDec { operand, .. } => is_field(operand),
            _ => false,
        },
        Node::Decl(_) => false,
    })
}

/// Whether a literal deletes from a map.
fn deletes_from(scene: &Scene<'_>, map: LocalId, literal: Option<ExprId>) -> bool {
    scene
        .uses(map)
        .any(|used| scene.is_deleted(used) && scene.literal_around(Node::Expr(used)) == literal)
}

/// Whether a literal receives from a channel and sends on it: what is in there goes round.
fn hands_round(scene: &Scene<'_>, channel: LocalId, literal: Option<ExprId>) -> bool {
    let own = |&&node: &&Node| scene.literal_around(node) == literal;
    let transfers = || scene.nodes.iter().filter(own).filter_map(|&node| scene.transfer(node));
    let does = |receives: bool| {
        transfers().any(|(of, way)| way == receives && scene.local(of) == Some(channel))
    };
    does(true) && does(false)
}
