//! A channel that a goroutine closes at its end, while others still use it.
//!
//! Evidence, one of two. A loop starts goroutines that all close the same channel, whatever way they go, or as
//! each decides for itself, and none knows that it is the first or the last: the second close panics. Or one goroutine closes it when it is over, for reasons of its own, and nobody is told
//! before; a method that others call sends on it in a `select` with a way to leave: that does not keep the send
//! from panicking.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Cfg, Start, StepId};
use crate::index::{Builtin, Callee, FuncId, LocalKind};
use crate::rules::FunctionCx;
use crate::rules::conditions::condition;
use crate::rules::evidence::claimed::{conditions_above, tells_of_others};
use crate::rules::evidence::closed::{finding, may_recover, waits};
use crate::rules::evidence::counts_itself::starts_of;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::{has_leaving_arm, holds_lock};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::{first_line, label};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// How many calls lie between a send and who is called from outside.
const MAX_CALLERS: u32 = 4;

/// Reports a close that each goroutine of a loop comes to.
pub(super) fn by_each<'a>(groups: &Groups<'a>, close: &Op) -> Option<Finding> {
    let scene = &groups.scenes[close.scene];
    let graph = scene.graph(close.literal)?;
    let at = scene.step_of(&graph, close.node)?;
    let always = !graph.leaves_without(&|step| step == at);
    if !always && (!is_own_matter(scene, close) || is_claimed(scene, close, &graph, at))
        || waits(scene)
    {
        return None;
    }
    let local = scene.local(close.channel);
    let param = local.and_then(|local| match scene.info.local(local) {
        local if local.owner.is_none() && close.literal.is_none() => match local.kind {
            LocalKind::Param(place) => Some(place),
            _ => None,
        },
        _ => None,
    });
    let own;
    let (starter, start, channel) = match (close.literal, param) {
        (Some(literal), _) => {
            let start = scene.go_around(literal)?;
            (scene, start, given_to_literal(scene, literal, start, close.channel)?)
        }
        (None, Some(place)) => {
            let given = |(starter, start): (Scene<'a>, StmtId)| {
                let StmtKind::Go(call) = starter.file.stmt(start).kind else { return None };
                let given = *starter.args(starter.file.unparen(call)).get(place as usize)?;
                is_same_each_turn(&starter, start, given).then_some((starter, start, given))
            };
            let (starter, start, channel) = starts_of(scene)?.into_iter().find_map(given)?;
            own = starter;
            (&own, start, channel)
        }
        (None, None) => return None,
    };
    if !is_same_each_turn(starter, start, channel) {
        return None;
    }
    let name = starter.text(channel);
    let may = if always { "closes" } else { "may close" };
    let message =
        format!("each goroutine that this loop starts {may} `{name}`: the second close panics");
    let mut finding = finding(groups, close, message);
    finding.labels.push(Label {
        location: starter.cx.location(first_line(starter, starter.span(Node::Stmt(start)))),
        role: Role::Started,
        message: "started in each turn, with the same channel".to_owned(),
    });
    if is_on_event(starter, start) {
        finding.confidence = Confidence::Low;
    }
    finding.why =
        "a close of a closed channel panics, as does a send of those that still run".to_owned();
    finding.help = "close it once, when all of them are over".to_owned();
    Some(finding)
}

/// Whether a turn of the loop around a `go` statement comes to it by a case alone: that of an event which may come
/// only once.
fn is_on_event(scene: &Scene<'_>, start: StmtId) -> bool {
    let turns = scene.loops_around(Node::Stmt(start)).first().map(|&turns| Node::Stmt(turns));
    scene.around(Node::Stmt(start)).take_while(|&node| Some(node) != turns).any(|node| {
        matches!(node, Node::Stmt(stmt)
            if matches!(scene.file.stmt(stmt).kind, StmtKind::Select(_) | StmtKind::Switch { .. }))
    })
}

/// Whether a goroutine knows that it is the only one of them to come to a close.
fn is_claimed(scene: &Scene<'_>, close: &Op, graph: &Cfg, at: StepId) -> bool {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    let function = &read.function;
    let Some(body) = function.body_of(close.literal) else { return false };
    conditions_above(graph, at)
        .filter_map(condition)
        .any(|asked| tells_of_others(scene, function, asked, body))
}

/// What a literal that a `go` statement runs calls by this name: what it was given, if that is a parameter of its own.
fn given_to_literal(
    scene: &Scene<'_>,
    literal: ExprId,
    start: StmtId,
    channel: ExprId,
) -> Option<ExprId> {
    let own = scene.local(channel).map(|local| scene.info.local(local));
    let Some(own) = own.filter(|own| own.owner == Some(literal)) else { return Some(channel) };
    let LocalKind::Param(place) = own.kind else { return Some(channel) };
    let StmtKind::Go(call) = scene.file.stmt(start).kind else { return None };
    scene.args(scene.file.unparen(call)).get(place as usize).copied()
}

/// Whether all that decides on a close are variables of the body itself: nobody else is asked.
fn is_own_matter(scene: &Scene<'_>, close: &Op) -> bool {
    let home = scene.body_of(close.literal);
    let is_own = |condition: ExprId| {
        scene.file.descendants(Node::Expr(condition)).all(|node| match node {
            Node::Expr(expr) => match scene.file.expr(expr).kind {
                ExprKind::Ident(_) => match scene.local(expr) {
                    Some(local) => scene.info.local(local).owner == close.literal,
                    None => scene.is_nil(expr) || scene.info.constant(expr).is_some(),
                },
                ExprKind::Binary { .. } | ExprKind::Paren(_) | ExprKind::BasicLit(_) => true,
                _ => false,
            },
            _ => true,
        })
    };
    let around = scene.around(close.node).take_while(|&around| around != Node::Stmt(home));
    around.into_iter().all(|around| match around {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::If { cond, .. } => is_own(cond),
            StmtKind::Select(_) | StmtKind::Switch { .. } => false,
            _ => true,
        },
        _ => true,
    })
}

/// Whether a `go` statement comes again in a loop, and what an expression names is the same each time.
fn is_same_each_turn(scene: &Scene<'_>, start: StmtId, channel: ExprId) -> bool {
    let Some(variable) = root_variable(scene, channel) else { return false };
    let Some(&around) = scene.loops_around(Node::Stmt(start)).last() else { return false };
    let graph = scene.graph(scene.literal_around(Node::Stmt(start)));
    let comes_again = graph.is_some_and(|graph| {
        graph.step_of_stmt(start).is_some_and(|step| graph.reaches(step, step))
    });
    let span = scene.span(Node::Stmt(around));
    let is_set = |node: Node| {
        scene.assignment(node).is_some_and(|(targets, _)| {
            variable.is_some_and(|variable| targets.contains(&Some(variable)))
        })
    };
    let is_stored = |node: Node| {
        let Node::Stmt(stmt) = node else { return false };
        let (StmtKind::Assign { left, .. } | StmtKind::Define { left, .. }) =
            &scene.file.stmt(stmt).kind
        else {
            return false;
        };
        left.iter().any(|&left| scene.text(left) == scene.text(channel))
    };
    let is_bound = |node: Node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Range { key, value, .. } = scene.file.stmt(stmt).kind else { return false };
        let mut bound = [key, value].into_iter().flatten();
        variable.is_some() && bound.any(|bound| scene.local(bound) == variable)
    };
    let mut inside = scene.nodes.iter().filter(|&&node| span.contains(scene.span(node)));
    comes_again && !inside.any(|&node| is_set(node) || is_stored(node) || is_bound(node))
}

/// Reports a close by which a goroutine ends, beside senders that it does not tell.
pub(super) fn by_one(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let closer = &groups.scenes[close.scene];
    let only = group.ops.iter().filter(|op| op.act == Act::Close).count() == 1;
    let sends_itself = group.ops.iter().any(|op| op.act == Act::Send && op.same_body(close));
    if !only || group.open || sends_itself || waits(closer) || holds_lock(closer, close) {
        return None;
    }
    let start = match close.literal {
        Some(literal) => closer.cx.location(closer.span(Node::Stmt(closer.go_around(literal)?))),
        None => {
            let (starter, start) = starts_of(closer)?.into_iter().next()?;
            starter.cx.location(first_line(&starter, starter.span(Node::Stmt(start))))
        }
    };
    if !ends_untold(closer, close) {
        return None;
    }
    let send = group.ops.iter().find(|op| {
        may_come_beside(groups, op, closer.cx.func) && has_leaving_arm(groups, group, op)
    })?;
    let sender = &groups.scenes[send.scene];
    let name = closer.text(close.channel);
    let message = format!(
        "`{name}` is closed when this goroutine ends, and `{}` may be about to send on it: that panics",
        sender.name.name
    );
    let mut finding = finding(groups, close, message);
    finding.labels.push(Label {
        location: start,
        role: Role::Started,
        message: "the goroutine is started here".to_owned(),
    });
    finding.labels.push(label(groups, send, Role::Context, "the other arm does not protect it"));
    Some(finding)
}

/// Whether a way leads to a close on which the goroutine ends nothing else that others could hear of.
fn ends_untold(scene: &Scene<'_>, close: &Op) -> bool {
    let Some(graph) = scene.graph(close.literal) else { return false };
    let Some(at) = scene.step_of(&graph, close.node) else { return false };
    let Node::Expr(own) = close.node else { return false };
    let tells = |step: StepId| tells(scene, &graph, step, own);
    match scene.is_deferred(own) {
        true => graph.leaves_without(&tells),
        false => graph.starts_without(Start::Entry, at, &tells),
    }
}

/// Whether a step ends something, or defers that: a channel, a context, or whatever has a method that is called
/// so.
fn tells(scene: &Scene<'_>, graph: &Cfg, step: StepId, own: ExprId) -> bool {
    let call = graph.step(step).call(scene.file);
    let Some(call) = call.filter(|&call| call != own) else { return false };
    let named = |name: Symbol| {
        let name = name.as_str().to_ascii_lowercase();
        ["close", "cancel", "stop", "shutdown", "done", "finish"].iter().any(|it| name.contains(it))
    };
    match scene.info.callee(call) {
        Callee::Builtin(builtin) => *builtin == Builtin::Close,
        Callee::Conversion(_) => false,
        Callee::Func(func) => named(scene.cx.index().func(*func).name),
        _ => match scene.method_call(call) {
            // Who asks a context for its channel ends nothing.
            Some((base, name)) => {
                named(name.name)
                    && !(name.name.as_str() == "Done" && scene.info.type_of(base).is_context())
            }
            // Of a function value, or a literal, nothing is known.
            None => true,
        },
    }
}

/// Whether an operation is a send that may come, and panic, beside what a function does: its own function holds
/// no lock meanwhile, and others may call that.
pub(super) fn may_come_beside(groups: &Groups<'_>, op: &Op, closer: FuncId) -> bool {
    let sender = &groups.scenes[op.scene];
    op.act == Act::Send
        && op.literal.is_none()
        && !holds_lock(sender, op)
        && !may_recover(groups, op)
        && is_called_beside(sender, closer, MAX_CALLERS)
}

/// Whether others than a goroutine may call a function: it is exported, or one who calls it is.
fn is_called_beside(scene: &Scene<'_>, goroutine: FuncId, depth: u32) -> bool {
    if scene.cx.func == goroutine {
        return false;
    }
    if scene.name.name.is_exported() {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let users = scene.cx.package.named_outside_tests(scene.cx.func);
    users.into_iter().filter(|(user, _)| *user != scene.cx.func).any(|(user, _)| {
        let user = Scene::new(FunctionCx { func: user, ..scene.cx });
        user.is_some_and(|user| is_called_beside(&user, goroutine, depth))
    })
}
