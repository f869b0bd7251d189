//! Who runs a function that sends for an object: the method that is started as a goroutine, and what it calls of
//! its own object.
//!
//! Room in the channel is no way out for a goroutine that sends in every turn of a loop without a condition: the
//! room is used up once the consumer is slower than it. A method that ends the object and then waits for that
//! goroutine waits with it.

use crate::flow::StepId;
use crate::index::{Builtin, Callee, FuncId, ObjectId};
use crate::rules::FunctionCx;
use crate::rules::scene::{Graph, Scene};
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// How many calls there are at most between the method that is started and the send.
const MAX_CALLS: u32 = 2;

/// A method that somebody starts as a goroutine.
pub struct Worker {
    pub started: Location,
    /// The method itself, which a literal may call, and who starts it.
    pub func: FuncId,
    starter: FuncId,
    /// Whether a loop stands around the calls that lead from there to the function in question.
    pub in_loop: bool,
}

impl Worker {
    /// The one that runs `func`, a method of `ty`: itself, or a method that calls it of its own object.
    pub fn of(cx: &FunctionCx<'_>, ty: ObjectId) -> Option<Worker> {
        above(cx, ty, false, MAX_CALLS)
    }

    /// The methods that run in the goroutine: each is called where it is written.
    pub fn methods(&self, cx: &FunctionCx<'_>) -> Vec<FuncId> {
        let mut all = vec![self.func];
        let mut next = 0;
        for _ in 0..=MAX_CALLS {
            for at in std::mem::replace(&mut next, all.len())..all.len() {
                let Some(scene) = Scene::new(FunctionCx { func: all[at], ..*cx }) else { continue };
                let called: Vec<FuncId> = of_own(&scene).map(|(_, callee)| callee).collect();
                for callee in called {
                    if !all.contains(&callee) {
                        all.push(callee);
                    }
                }
            }
        }
        all
    }

    /// Whether it sends on a field of its object in every turn of a loop that has no condition.
    pub fn sends_for_ever(&self, cx: &FunctionCx<'_>, field: Symbol) -> bool {
        sends_in_turns(&FunctionCx { func: self.func, ..*cx }, field, false, MAX_CALLS)
    }

    /// Whether a method waits, with nothing beside, for what the goroutine does when it is over.
    pub fn is_awaited_by(&self, ender: &Scene<'_>) -> bool {
        let awaited: Vec<Location> =
            ender.nodes.iter().filter_map(|&node| awaited(ender, node)).collect();
        let is_awaited = |field: Location| awaited.contains(&field);
        !awaited.is_empty()
            && [self.func, self.starter].into_iter().any(|func| {
                let cx = FunctionCx { func, ..ender.cx };
                Scene::new(cx).is_some_and(|scene| {
                    scene.nodes.iter().any(|&node| tells(&scene, node).is_some_and(is_awaited))
                })
            })
    }
}

fn above(cx: &FunctionCx<'_>, ty: ObjectId, in_loop: bool, calls: u32) -> Option<Worker> {
    cx.package.named_outside_tests(cx.func).into_iter().find_map(|(user, usage)| {
        let scene = Scene::new(FunctionCx { func: user, ..*cx })?;
        let Some(Node::Expr(call)) = scene.parent(Node::Expr(usage)) else { return None };
        if !matches!(*scene.info.callee(call), Callee::Func(callee) if callee == cx.func) {
            return None;
        }
        let literal = scene.literal_around(Node::Expr(call));
        let started = match literal {
            _ if scene.go_of(call).is_some() => scene.go_of(call),
            Some(literal) if scene.runs_in_turn(Some(literal), call) => scene.go_around(literal),
            _ => None,
        };
        if let Some(go) = started {
            let in_loop = in_loop
                || scene.go_of(call).is_none() && !scene.loops_around(Node::Expr(call)).is_empty();
            let started = scene.cx.location(scene.span(Node::Stmt(go)));
            return Some(Worker { started, func: cx.func, starter: user, in_loop });
        }
        let calls = calls.checked_sub(1)?;
        let of_own = scene.cx.owner() == Some(ty) && of_own(&scene).any(|(own, _)| own == call);
        let in_loop = in_loop || !scene.loops_around(Node::Expr(call)).is_empty();
        of_own.then(|| above(&scene.cx, ty, in_loop, calls))?
    })
}

/// The methods that a method calls of its own object where they are written, and the calls.
fn of_own(scene: &Scene<'_>) -> impl Iterator<Item = (ExprId, FuncId)> {
    let own = scene.receiver();
    let methods = scene.methods_in_turn(None);
    let of_own = methods.filter(move |&(_, _, base)| own.is_some() && scene.local(base) == own);
    of_own.map(|(call, callee, _)| (call, callee))
}

fn sends_in_turns(cx: &FunctionCx<'_>, field: Symbol, endless: bool, calls: u32) -> bool {
    let Some(scene) = Scene::new(*cx) else { return false };
    let Some(graph) = scene.graph(None) else { return false };
    let own = scene.receiver();
    let in_turns = |node: Node| endless || is_in_turns(&scene, &graph, node);
    let sends = scene.nodes.iter().any(|&node| {
        let Some((channel, false)) = scene.transfer(node) else { return false };
        let of_own = scene.selector(channel).is_some_and(|(base, name)| {
            name.name == field && own.is_some() && scene.local(base) == own
        });
        let bare = scene.select_of(node).is_none() && scene.literal_around(node).is_none();
        of_own && bare && in_turns(node)
    });
    let Some(calls) = calls.checked_sub(1) else { return sends };
    sends
        || of_own(&scene).any(|(call, callee)| {
            let endless = in_turns(Node::Expr(call));
            sends_in_turns(&FunctionCx { func: callee, ..*cx }, field, endless, calls)
        })
}

/// Whether a loop of the body that has no condition comes to its next turn after a node.
fn is_in_turns(scene: &Scene<'_>, graph: &Graph<'_>, node: Node) -> bool {
    let Some(step) = scene.step_of(graph, node) else { return false };
    scene.loops_around(node).into_iter().any(|around| {
        let StmtKind::For { cond: None, .. } = scene.file.stmt(around).kind else { return false };
        first_in(scene, graph, around).is_some_and(|first| graph.reaches(step, first))
    })
}

/// The step of a loop that comes first in its text.
fn first_in(scene: &Scene<'_>, graph: &Graph<'_>, around: StmtId) -> Option<StepId> {
    let span = scene.span(Node::Stmt(around));
    let start = |step: &StepId| graph.step(*step).span(scene.file).start;
    let within = |step: &StepId| span.contains(graph.step(*step).span(scene.file));
    graph.steps().filter(within).min_by_key(start)
}

/// The field that a method waits for where it stands: a group, or a channel with nothing beside.
fn awaited(scene: &Scene<'_>, node: Node) -> Option<Location> {
    let Node::Expr(expr) = node else { return None };
    if scene.literal_around(node).is_some() {
        return None;
    }
    if let Some((channel, true)) = scene.transfer(node) {
        return scene.field(channel).filter(|_| scene.select_of(node).is_none());
    }
    let (group, name) = scene.method_call(expr)?;
    let waits = name.name.as_str() == "Wait" && scene.go_of(expr).is_none();
    scene.field(group).filter(|_| waits)
}

/// The field by which a node tells that its function is over: a group that is counted down, a channel that is closed.
fn tells(scene: &Scene<'_>, node: Node) -> Option<Location> {
    let Node::Expr(call) = node else { return None };
    let ExprKind::Call { .. } = scene.file.expr(call).kind else { return None };
    if let Callee::Builtin(Builtin::Close) = scene.info.callee(call) {
        return scene.field(*scene.args(call).first()?).filter(|_| scene.is_deferred(call));
    }
    let (group, name) = scene.method_call(call)?;
    let tells = match name.name.as_str() {
        "Done" => scene.is_deferred(call),
        "Go" => true,
        _ => false,
    };
    scene.field(group).filter(|_| tells)
}
