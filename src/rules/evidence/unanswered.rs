//! A wait for an answer after the request for it has failed.
//!
//! Evidence: the channel is made for this one request; whoever sends on it or closes it does so in
//! other functions, when the answer comes; a call between the `make` and the receive gives an error
//! that the function returns, after the receive; and nothing on the way to the receive has asked
//! whether there was one. Where the channel itself has been sent to who answers, no other call is the
//! request.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Edge, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Def, LocalId, Type};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::traffic::body_of;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::summary::{BodyId, Function, Read, Source};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtId, StmtKind};

/// Reports the receives that wait for the answer to a request that has failed.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open) {
        let waits = group.ops.iter().filter(|op| op.act == Act::Receive && op.select.is_none());
        findings.extend(waits.filter_map(|wait| check_wait(groups, group, wait)));
    }
}

/// A call that may have failed when its answer is waited for.
struct Request {
    call: ExprId,
    returned: StmtId,
}

fn check_wait(groups: &Groups<'_>, group: &Group, wait: &Op) -> Option<Finding> {
    let scene = &groups.scenes[wait.scene];
    let make = group.ops.iter().find(|op| matches!(op.act, Act::Make(_)) && op.same_body(wait))?;
    if !is_answered_elsewhere(groups, group, wait) {
        return None;
    }
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let body = body_of(scene, &read, wait.node)?;
    let cfg = &read.function.body(body).cfg;
    let made = scene.step_of(cfg, make.node)?;
    let waits = scene.step_of(cfg, wait.node)?;
    let request = request(scene, &read, body, made, waits)?;
    if is_asked_for(scene, cfg, make, waits) && !is_given(scene, make, request.call) {
        return None;
    }
    if group.may_have_room() && is_answered_before(groups, group, wait, &request) {
        return None;
    }
    Some(tell(scene, &read.function, make, wait, &request))
}

/// Whether only other functions answer, none of which this one has started as a goroutine: those
/// may answer whatever becomes of the request.
fn is_answered_elsewhere(groups: &Groups<'_>, group: &Group, wait: &Op) -> bool {
    let scene = &groups.scenes[wait.scene];
    let mut answers = group
        .ops
        .iter()
        .filter(|op| matches!(op.act, Act::Send | Act::Close | Act::Notify))
        .peekable();
    answers.peek().is_some()
        && answers.all(|op| {
            let other = groups.scenes[op.scene].cx.func;
            op.act != Act::Notify && op.scene != wait.scene && scene.starts(other).next().is_none()
        })
}

/// Whether another call of this function than the request comes to an answer, which the channel keeps.
fn is_answered_before(groups: &Groups<'_>, group: &Group, wait: &Op, request: &Request) -> bool {
    let scene = &groups.scenes[wait.scene];
    group.ops.iter().filter(|op| op.act == Act::Send).any(|op| {
        let answers = groups.scenes[op.scene].cx.func;
        scene.calls(answers).any(|call| call != request.call)
    })
}

/// The variable that holds the new channel, and what is made of it.
fn holders(scene: &Scene<'_>, make: &Op) -> Vec<LocalId> {
    let targets = |node: Node| {
        let around = scene.around(node).find(|node| matches!(node, Node::Stmt(_)));
        let targets =
            around.and_then(|around| scene.assignment(around)).map(|(targets, _)| targets);
        targets.unwrap_or_default().into_iter().flatten().collect::<Vec<LocalId>>()
    };
    let mut holders = targets(make.node);
    for at in 0..holders.len() {
        holders.extend(scene.uses(holders[at]).flat_map(|used| targets(Node::Expr(used))));
    }
    holders
}

/// Whether the channel has been sent to who answers, whatever way has led to the receive: no call asks for
/// the answer then that is not given the channel.
fn is_asked_for(scene: &Scene<'_>, cfg: &Cfg, make: &Op, waits: StepId) -> bool {
    let holders = holders(scene, make);
    scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Send { value, .. } = scene.file.stmt(stmt).kind else { return false };
        holders.iter().any(|&holder| scene.mentions(Node::Expr(value), holder))
            && scene.step_of(cfg, node).is_some_and(|step| cfg.dominates(step, waits))
    })
}

/// Whether a call is given the channel, or what holds it.
fn is_given(scene: &Scene<'_>, make: &Op, call: ExprId) -> bool {
    holders(scene, make).iter().any(|&holder| scene.mentions(Node::Expr(call), holder))
}

/// The call whose error is returned after the receive and not looked at before.
fn request(
    scene: &Scene<'_>,
    read: &Read<'_>,
    body: BodyId,
    made: StepId,
    waits: StepId,
) -> Option<Request> {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    cfg.steps().find_map(|step| {
        let Step::Return(returned) = cfg.step(step) else { return None };
        if !cfg.reaches(waits, step) {
            return None;
        }
        // What is returned as an error is one, though the call that gives it is not known.
        let error = returned_error(scene, body, function, returned)?;
        let set = definitions(function, body, error)?;
        let unasked = |&&(at, _): &&(StepId, ExprId)| {
            cfg.reaches(made, at)
                && arrives(function, cfg, error, &set, at, waits)
                && arrives(function, cfg, error, &set, waits, step)
        };
        set.iter().find(unasked).map(|&(_, call)| Request { call, returned })
    })
}

/// The variable that a statement returns as the error of its function.
fn returned_error(
    scene: &Scene<'_>,
    body: BodyId,
    function: &Function<'_>,
    returned: StmtId,
) -> Option<LocalId> {
    let StmtKind::Return(ref values) = scene.file.stmt(returned).kind else { return None };
    let signature = match function.body(body).literal {
        None => scene.cx.index().func_type(scene.cx.func),
        Some(literal) => scene.info.type_of(literal).clone(),
    };
    let Type::Func(signature) = signature else { return None };
    let returns_error = signature.results.last().is_some_and(|result| result.is_error());
    scene.local(*values.last()?).filter(|_| returns_error)
}

/// Where a variable is given the result of a call, and of which; `None` if it gets something else,
/// or something in another body.
fn definitions(
    function: &Function<'_>,
    body: BodyId,
    error: LocalId,
) -> Option<Vec<(StepId, ExprId)>> {
    let mut calls = Vec::new();
    for definition in function.definitions_of(error) {
        let Some(at) = definition.at else { continue };
        let (Source::Expr(value) | Source::Result(value, _)) = definition.source else {
            return None;
        };
        let is_call = matches!(function.file.expr(value).kind, ExprKind::Call { .. });
        if at.body != body || !is_call {
            return None;
        }
        calls.push((at.step, value));
    }
    Some(calls)
}

/// Whether there is a way on which the error stays, and is not found to be nil.
fn arrives(
    function: &Function<'_>,
    cfg: &Cfg,
    error: LocalId,
    set: &[(StepId, ExprId)],
    from: StepId,
    to: StepId,
) -> bool {
    let mut walk = Failed { function, error, set, to };
    cfg.finds(Start::After(from), (), &mut walk)
}

struct Failed<'f, 'a> {
    function: &'f Function<'a>,
    error: LocalId,
    set: &'f [(StepId, ExprId)],
    to: StepId,
}

impl Walk for Failed<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.to {
            return Passing::Found;
        }
        match self.set.iter().any(|&(at, _)| at == step) {
            true => Passing::Drop,
            false => Passing::On(()),
        }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let Some((asked, holds)) = edge.kind.condition() else { return Some(()) };
        let file = self.function.file;
        match file.expr(file.unparen(asked)).kind {
            ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. }
                if [left, right].iter().any(|&side| self.is_error(side)) =>
            {
                // `err == io.EOF` says too that there was one.
                (holds == (op == BinaryOp::Ne)).then_some(())
            }
            _ => Some(()),
        }
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
    }
}

impl Failed<'_, '_> {
    fn is_error(&self, expr: ExprId) -> bool {
        let resolved = self.function.info.resolve(self.function.file.unparen(expr));
        matches!(resolved, Def::Local(local) if *local == self.error)
    }
}

fn tell(
    scene: &Scene<'_>,
    function: &Function<'_>,
    make: &Op,
    wait: &Op,
    request: &Request,
) -> Finding {
    let cx = &scene.cx;
    let name = scene.text(wait.channel);
    let callee = function.callee_text(request.call);
    let message = format!(
        "this waits for an answer on `{name}` also when `{callee}` has failed, and then nobody gives one"
    );
    let mut finding = cx.finding(first_line(scene, wait.span(scene)), "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: cx.location(make.span(scene)),
        role: Role::Made,
        message: format!("`{name}` is made here"),
    });
    finding.labels.push(Label {
        location: cx.location(first_line(scene, scene.span(Node::Expr(request.call)))),
        role: Role::Condition,
        message: "this may fail".to_owned(),
    });
    finding.labels.push(Label {
        location: cx.location(first_line(scene, scene.span(Node::Stmt(request.returned)))),
        role: Role::Context,
        message: "its error is returned here, after the wait".to_owned(),
    });
    finding.why =
        "the channel is made for this one request, and only what comes of the request answers on it"
            .to_owned();
    finding.help = "return the error before waiting".to_owned();
    finding
}
