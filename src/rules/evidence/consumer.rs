//! A consumer that gives up on an error while its producer goes on sending.
//!
//! Evidence: all operations on the channel are seen; every receiver is a loop of a goroutine of its
//! own, or of the function that starts all who send, and has a way out which neither the close of the
//! channel nor what was received decides (what a `switch` chooses does so, unless an error is met
//! after it); a send with nothing beside stands in a loop elsewhere. Once the last consumer has gone
//! that way, the send waits for ever, however much room there is, unless the room was made for the
//! loop, or whoever sends asks how much there is. A consumer that receives beside something else
//! counts where there is no room, or the loop around the send has no condition. A send that gives up
//! when the caller's context is done counts where the caller waits for the sender. Where the consumer
//! closes another channel to say that it has left, a send of a method that does not look need not stand
//! in a loop, and a constant number of places is taken by and by. A consumer that leaves because its
//! variable is nil has seen the channel closed, and one that takes turns with the sender loses nothing.

mod turns;

use rustc_hash::FxHashSet;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{
    BlockId, Cfg, Edge, EdgeKind, Exit, Passing, PathEnd, Start, Step, StepId, Walk,
};
use crate::index::{Callee, Def, FuncId, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::conditions::{Conditions, Decided, condition, header, locals_in};
use crate::rules::evidence::announced;
use crate::rules::evidence::consumer::turns::{answers_each, is_asked_for, takes_turns};
use crate::rules::evidence::groups::{Act, Group, Groups, Op, is_started};
use crate::rules::evidence::leaver::holds_lock;
use crate::rules::evidence::traffic::{after_recover, asks_length};
use crate::rules::evidence::{confidence_at, first_line};
use crate::rules::held::names_end;
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::{At, Read, Root, Source};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// Reports the sends whose consumers may all have given up.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        findings.extend(check_group(groups, group));
    }
}

/// How a consumer leaves.
pub(super) struct Exits {
    /// What it returns by.
    pub left: Span,
    /// The last thing that was decided.
    pub decided: Option<Span>,
    /// What a method was called of whose error was that, as it is written.
    failed: Option<String>,
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    if group.open || group.ops.iter().any(|op| op.act == Act::Notify) {
        return None;
    }
    let receives: Vec<&Op> =
        group.ops.iter().filter(|op| matches!(op.act, Act::Receive | Act::Range)).collect();
    // Who closes the channel when he leaves keeps nobody waiting, and who lends himself out anew for each value is
    // known to nobody then.
    let is_gone = |op: &&Op| closes_at_end(groups, group, op) || lends_itself(groups, op);
    if receives.iter().any(is_gone) {
        return None;
    }
    let ends = announced::ends(groups, group);
    let says_end = !ends.is_empty();
    let exits: Vec<Exits> =
        receives.iter().map(|op| gives_up(groups, group, op, says_end)).collect::<Option<_>>()?;
    let misses_end = |op: &Op| {
        says_end
            && op.select.is_none()
            && op.literal.is_none()
            && announced::is_missed(groups, op, receives.iter().copied(), &ends)
    };
    // A receiver beside others takes all room only if more is sent than its loop turns.
    let in_loop = |op: &Op| {
        let scene = &groups.scenes[op.scene];
        let alone = receives.iter().all(|op| op.select.is_none()) || !group.may_have_room();
        (alone || goes_on_sending(groups, op)) && !scene.loops_around(op.node).is_empty()
    };
    let send = group.ops.iter().find(|op| {
        let scene = &groups.scenes[op.scene];
        op.act == Act::Send
            && (op.select.is_none() || waits_with_caller(groups, op))
            && receives.iter().all(|receive| !receive.same_body(op))
            && (in_loop(op) || misses_end(op) || comes_anew(groups, group, op, &receives))
            && !after_recover(scene, op.node)
            && !holds_lock(scene, op)
            && !has_room(groups, group, op)
            && !asks_how_full(groups, group, op)
            && !(group.may_have_room() && is_asked_for(groups, op))
            && !receives.iter().any(|receive| {
                takes_turns(groups, receive, op) || answers_each(groups, group, receive, op)
            })
            && !receives
                .iter()
                .zip(&exits)
                .any(|(receive, exit)| ends_source(groups, receive, exit, op))
            && !receives.iter().any(|receive| {
                receive.scene == op.scene && encloses(scene, receive.literal, op.literal)
            })
    })?;
    let makes = group.ops.iter().filter(|op| matches!(op.act, Act::Make(_))).count();
    let (first, exit) = (receives.first()?, exits.first()?);
    (makes > 0).then(|| tell(groups, group, send, (first, exit), says_end))
}

/// Whether the body of a receiver closes the channel in a `defer`.
fn closes_at_end(groups: &Groups<'_>, group: &Group, receive: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    group.ops.iter().filter(|op| op.act == Act::Close && op.scene == receive.scene).any(|close| {
        let call = match close.literal {
            Some(literal) if close.literal != receive.literal => scene
                .parent(Node::Expr(literal))
                .filter(|_| scene.literal_around(Node::Expr(literal)) == receive.literal),
            literal => Some(close.node).filter(|_| literal == receive.literal),
        };
        matches!(call, Some(Node::Expr(call)) if scene.is_deferred(call))
    })
}

/// Whether the loop of a receiver asks in each turn whether its object is taken back, by a call that is given the whole
/// of it: `if !group.release(c)`.
fn lends_itself(groups: &Groups<'_>, receive: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    let Some(receiver) = scene.receiver() else { return false };
    let is_lent = |node: Node| {
        let Node::Expr(call) = node else { return false };
        matches!(scene.file.expr(call).kind, ExprKind::Call { .. })
            && scene.args(call).iter().any(|&arg| scene.local(arg) == Some(receiver))
    };
    let around = match receive.node {
        Node::Stmt(stmt) if receive.act == Act::Range => vec![stmt],
        node => scene.loops_around(node),
    };
    around.into_iter().any(|turns| {
        scene.file.descendants(Node::Stmt(turns)).any(|node| {
            let Node::Stmt(stmt) = node else { return false };
            let StmtKind::If { cond, .. } = scene.file.stmt(stmt).kind else { return false };
            scene.file.descendants(Node::Expr(cond)).any(is_lent)
        })
    })
}

/// Whether a send without a loop is done anew by whoever calls an exported method, which no field of its
/// receiver keeps from it, while all who receive without room for it are methods of the same type.
fn comes_anew(groups: &Groups<'_>, group: &Group, send: &Op, receives: &[&Op]) -> bool {
    let scene = &groups.scenes[send.scene];
    let is_own = |receive: &&Op| {
        receive.select.is_none() && groups.scenes[receive.scene].cx.owner() == scene.cx.owner()
    };
    let Some(receiver) = scene.receiver() else { return false };
    let is_exported = scene.name.name.as_str().starts_with(char::is_uppercase);
    let Some(cfg) = scene.graph(send.literal) else { return false };
    let Some(at) = scene.step_of(&cfg, send.node) else { return false };
    // What a field says may be that nobody receives any more.
    let asks_own = |expr: ExprId| scene.mentions(Node::Expr(expr), receiver);
    let is_asked = |block: BlockId| {
        cfg.edges_of(block).iter().any(|edge| condition(edge.kind).is_some_and(asks_own))
            && cfg.steps_of(block).last().is_some_and(|step| cfg.reaches(step, at))
    };
    is_exported
        && send.literal.is_none()
        && scene.selector(send.channel).is_some()
        && !group.may_have_room()
        && receives.iter().all(is_own)
        && !cfg.blocks().any(is_asked)
}

/// Whether a send stands in a loop that has no condition, and nothing beside it.
fn goes_on_sending(groups: &Groups<'_>, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    send.select.is_none()
        && scene
            .loops_around(send.node)
            .into_iter()
            .any(|around| matches!(scene.file.stmt(around).kind, StmtKind::For { cond: None, .. }))
}

/// Whether the channel is made with room for as many values as a loop around the send has turns:
/// both speak of the same thing, or its function was told how much room to make.
fn has_room(groups: &Groups<'_>, group: &Group, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    let loops = scene.loops_around(send.node).into_iter();
    let heads = loops.filter_map(|turns| header(scene.file, turns));
    let turns: Vec<Symbol> = heads.flat_map(|head| variables(scene, head)).collect();
    let mut makes = group.ops.iter().filter(|op| op.act == Act::Make(None));
    makes.any(|op| {
        let maker = &groups.scenes[op.scene];
        let Node::Expr(make) = op.node else { return false };
        let Some(&capacity) = maker.args(make).get(1) else { return false };
        variables(maker, capacity).into_iter().any(|name| turns.contains(&name))
            || maker
                .local(capacity)
                .is_some_and(|local| matches!(maker.info.local(local).kind, LocalKind::Param(_)))
    })
}

/// Whether the function that sends asks how many values lie in the channel, as one does that sends only
/// where there is room.
fn asks_how_full(groups: &Groups<'_>, group: &Group, send: &Op) -> bool {
    let scene = &groups.scenes[send.scene];
    let channel = scene.text(send.channel);
    group.may_have_room() && asks_length(scene, &|asked| scene.text(asked) == channel)
}

/// Whether a consumer closes what the loop around a send asks for more, as a connection that both
/// sides share, or leaves because that has failed: then that loop ends, too.
fn ends_source(groups: &Groups<'_>, receive: &Op, exit: &Exits, send: &Op) -> bool {
    let consumer = &groups.scenes[receive.scene];
    let sender = &groups.scenes[send.scene];
    let owner = consumer.cx.owner();
    if owner.is_none() || owner != sender.cx.owner() {
        return false;
    }
    let bases = |scene: &Scene<'_>, of: &dyn Fn(ExprId, Symbol) -> bool| -> Vec<String> {
        let called = scene.nodes.iter().filter_map(|&node| {
            let Node::Expr(call) = node else { return None };
            let (base, name) = scene.method_call(call)?;
            let is_part = scene.selector(base).is_some();
            (is_part && of(call, name.name)).then(|| scene.text(base))
        });
        called.collect()
    };
    let looped = |call: ExprId| !sender.loops_around(Node::Expr(call)).is_empty();
    let asked = bases(sender, &|call, name| looped(call) && !names_end(name));
    let ended = bases(consumer, &|_, name| names_end(name));
    ended.iter().chain(&exit.failed).any(|ended| asked.contains(ended))
}

/// The names of variables and fields in an expression; of `x.f` that is `f`, since much may be
/// reached by `x`.
fn variables(scene: &Scene<'_>, expr: ExprId) -> Vec<Symbol> {
    let is_base = |expr: ExprId| {
        matches!(scene.parent(Node::Expr(expr)), Some(Node::Expr(around))
            if matches!(scene.file.expr(around).kind, ExprKind::Selector { .. }))
    };
    let named = scene.file.descendants(Node::Expr(expr)).filter_map(|node| {
        let Node::Expr(expr) = node else { return None };
        match scene.file.expr(expr).kind {
            ExprKind::Ident(name)
                if !is_base(expr) && !matches!(scene.info.resolve(expr), Def::Builtin(_)) =>
            {
                Some(name)
            }
            ExprKind::Selector { name, .. } => Some(name.name),
            _ => None,
        }
    });
    named.collect()
}

/// Whether a send gives up only when the context of the caller is done, while the caller waits for the
/// goroutine that sends: the caller's caller would have to end what nobody works on any more.
fn waits_with_caller(groups: &Groups<'_>, op: &Op) -> bool {
    let scene = &groups.scenes[op.scene];
    let (Some((select, place)), Some(literal)) = (op.select, op.literal) else { return false };
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
    let mut others = clauses.iter().enumerate().filter(|(index, _)| *index as u32 != place);
    others.all(|(_, clause)| clause.comm.is_some_and(|comm| is_callers_end(scene, literal, comm)))
        && is_waited_for(scene, literal)
}

/// Whether a communication receives from `Done` of a context that the function was given.
fn is_callers_end(scene: &Scene<'_>, literal: ExprId, comm: StmtId) -> bool {
    let end = || {
        let channel = Step::Comm(comm).received_from(scene.file)?;
        let (context, name) = scene.method_call(channel)?;
        let read = scene.cx.summaries().read(scene.cx.func)?;
        let body = read.function.body_of_literal(literal)?;
        let step = read.function.body(body).cfg.step_of_stmt(comm)?;
        let at = At { body, step };
        let origin = scene.cx.summaries().context(&read.function, at, context);
        let given = matches!(origin.only()?.root, Root::Param(_));
        Some(name.name.as_str() == "Done" && given && origin.derivations.is_empty())
    };
    end().unwrap_or(false)
}

/// Whether the body that starts a goroutine waits for it: by the group that starts it, or one that it
/// is done with at its end.
fn is_waited_for(scene: &Scene<'_>, literal: ExprId) -> bool {
    let Some(Node::Expr(start)) = scene.parent(Node::Expr(literal)) else { return false };
    let home = scene.literal_around(Node::Expr(start));
    let calls = || {
        scene.nodes.iter().filter_map(|&node| match node {
            Node::Expr(call) => scene.method_call(call).map(|(base, name)| (call, base, name)),
            _ => None,
        })
    };
    let inside = |call: ExprId| scene.literal_around(Node::Expr(call)) == Some(literal);
    let mut groups = calls().filter(|(call, _, name)| match name.name.as_str() {
        "Go" => *call == start,
        "Done" => inside(*call) && scene.is_deferred(*call),
        _ => false,
    });
    groups.any(|(_, group, _)| {
        let group = scene.text(group);
        calls().any(|(call, base, name)| {
            name.name.as_str() == "Wait"
                && scene.text(base) == group
                && scene.literal_around(Node::Expr(call)) == home
        })
    })
}

/// Whether one literal stands within another.
fn encloses(scene: &Scene<'_>, outer: Option<ExprId>, inner: Option<ExprId>) -> bool {
    match (outer, inner) {
        (Some(outer), Some(inner)) => {
            scene.span(Node::Expr(outer)).contains(scene.span(Node::Expr(inner)))
        }
        _ => false,
    }
}

/// The way on which a consumer leaves its loop for a reason of its own. If it says so, it may be a method that
/// others run, and receive beside something else whatever room there is.
fn gives_up(groups: &Groups<'_>, group: &Group, op: &Op, says_end: bool) -> Option<Exits> {
    let scene = &groups.scenes[op.scene];
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let body = read.function.body_of(op.literal)?;
    let cfg = &read.function.body(body).cfg;
    let receive = op.step(scene, cfg)?;
    // Of a receive beside others it is less plain that all room is ever taken.
    let fills = || group.ops.iter().any(|op| op.act == Act::Send && goes_on_sending(groups, op));
    if op.select.is_some() && group.may_have_room() && !says_end && !fills() {
        return None;
    }
    let started = is_goroutine(groups, op)
        || op.literal.is_none()
            && (says_end && !is_called(&scene.cx) || starts_senders(groups, group, op));
    if !started || !cfg.reaches(receive, receive) || drains_at_end(scene, cfg, group, op) {
        return None;
    }
    let again: Vec<StepId> = group
        .ops
        .iter()
        .filter(|other| matches!(other.act, Act::Receive | Act::Range) && other.same_body(op))
        .filter_map(|other| other.step(scene, cfg))
        .collect();
    exits_from(scene, &read, op, &again, (Start::After(receive), true))
}

/// Whether what an operation stands in is run by a goroutine of its own.
fn is_goroutine(groups: &Groups<'_>, op: &Op) -> bool {
    let scene = &groups.scenes[op.scene];
    groups.is_started(scene, op.literal) || op.literal.is_none() && runs_apart(&scene.cx)
}

/// Where the goroutine that receives in a `select` returns by another arm of it, with an error that it has met
/// there.
pub(super) fn fails_beside(groups: &Groups<'_>, op: &Op) -> Option<Exits> {
    let scene = &groups.scenes[op.scene];
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let cfg = &read.function.body(read.function.body_of(op.literal)?).cfg;
    let (select, own) = op.select?;
    if !is_goroutine(groups, op) {
        return None;
    }
    let again: Vec<StepId> = op.step(scene, cfg).into_iter().collect();
    let arms = cfg.edges_of(cfg.block_of(cfg.step_of_stmt(select)?)).iter();
    let others = arms.filter(|edge| matches!(edge.kind, EdgeKind::Arm(_, arm) if arm != own));
    others
        .map(|edge| Start::Block(edge.to))
        .find_map(|start| exits_from(scene, &read, op, &again, (start, false)))
}

/// The first way out from a step on which one does not receive again. `counts` says whether anything that is
/// decided there is enough, or an error is called for.
fn exits_from<'a>(
    scene: &Scene<'a>,
    read: &Read<'a>,
    op: &Op,
    again: &[StepId],
    (start, counts): (Start, bool),
) -> Option<Exits> {
    let body = read.function.body_of(op.literal)?;
    let cfg = &read.function.body(body).cfg;
    let conditions = Conditions::new(&read.function, body);
    let (value, more) = bound(scene, op);
    let mut loops = scene.loops_around(op.node);
    if let Node::Stmt(range) = op.node {
        loops.push(range);
    }
    let mut walk = GiveUp {
        scene,
        read,
        again,
        tainted: tainted(scene, read, value),
        more,
        conditions: &conditions,
        rejoining: rejoining(cfg, again),
        loops,
    };
    let paths = cfg.search(start, (Vec::new(), counts), &mut walk);
    let path = paths.first()?;
    let decided = path.decisions().filter_map(condition).next_back();
    let left = match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => scene.span(Node::Stmt(stmt)),
        _ => decided.map(|expr| scene.span(Node::Expr(expr)))?,
    };
    let failed = decided.and_then(|asked| failed(scene, read, asked));
    Some(Exits { left, decided: decided.map(|expr| scene.span(Node::Expr(expr))), failed })
}

/// Whether the function that receives starts all goroutines that send: when it returns nobody else is left who
/// knows of them.
fn starts_senders(groups: &Groups<'_>, group: &Group, receive: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    let started_here = |func: FuncId| {
        scene.cx.package.named_outside_tests(func).into_iter().all(|(user, expr)| {
            let literal = || scene.literal_around(Node::Expr(expr));
            user == scene.cx.func
                && (scene.starts(func).next().is_some()
                    || literal().is_some_and(|literal| is_started(scene, literal)))
        })
    };
    let mut sends = group.ops.iter().filter(|op| op.act == Act::Send).peekable();
    sends.peek().is_some()
        && sends.all(|send| {
            send.scene != receive.scene
                && send.literal.is_none()
                && started_here(groups.scenes[send.scene].cx.func)
        })
}

/// What a method was called of that gave the error which a condition asks for.
fn failed(scene: &Scene<'_>, read: &Read<'_>, asked: ExprId) -> Option<String> {
    let (error, _) = scene.nil_test(asked)?;
    read.function.definitions_of(error).find_map(|definition| match definition.source {
        Source::Expr(call) | Source::Result(call, _) => {
            let (base, _) = scene.method_call(scene.file.unparen(call))?;
            scene.selector(base).map(|_| scene.text(base))
        }
        _ => None,
    })
}

/// Whether the package names a function outside of tests.
fn is_called(cx: &FunctionCx<'_>) -> bool {
    !cx.package.named_outside_tests(cx.func).is_empty()
}

/// Whether all calls of a function stand in literals that are started, each run once by its goroutine.
fn runs_apart(cx: &FunctionCx<'_>) -> bool {
    let called = cx.package.named_outside_tests(cx.func);
    !called.is_empty()
        && called.into_iter().all(|(user, expr)| {
            let Some(user) = Scene::new(FunctionCx { func: user, ..*cx }) else { return false };
            let node = Node::Expr(expr);
            let calls = matches!(user.parent(node), Some(Node::Expr(call))
                if matches!(user.info.callee(call), Callee::Func(func) if *func == cx.func));
            let literal = user.literal_around(node);
            calls
                && literal.is_some_and(|literal| is_started(&user, literal))
                && user.loops_around(node).is_empty()
        })
}

/// Whether a deferred literal receives what is left.
fn drains_at_end(scene: &Scene<'_>, cfg: &Cfg, group: &Group, op: &Op) -> bool {
    cfg.steps().any(|step| {
        let Step::Defer(stmt) = cfg.step(step) else { return false };
        let span = scene.span(Node::Stmt(stmt));
        group.ops.iter().any(|other| {
            other.scene == op.scene
                && matches!(other.act, Act::Receive | Act::Range)
                && span.contains(scene.span(other.node))
        })
    })
}

/// The variables that a receive binds: what is received, and whether there was anything.
pub(super) fn bound(scene: &Scene<'_>, op: &Op) -> (Option<LocalId>, Option<LocalId>) {
    match op.node {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::Range { key, .. } => (key.and_then(|key| scene.local(key)), None),
            _ => (None, None),
        },
        node => match scene.parent(node).and_then(|around| scene.assignment(around)) {
            Some((targets, values)) => {
                let target = |place: usize| targets.get(place).copied().flatten();
                // `v, ok := <-c` has one value for two targets.
                match values {
                    [_] => (target(0), target(1)),
                    _ => {
                        let own = values
                            .iter()
                            .position(|&value| Node::Expr(scene.file.unparen(value)) == op.node);
                        (own.and_then(target), None)
                    }
                }
            }
            None => (None, None),
        },
    }
}

/// The variables that hold what was received or was taken from it.
fn tainted(scene: &Scene<'_>, read: &Read<'_>, value: Option<LocalId>) -> Vec<LocalId> {
    let function = &read.function;
    let mut locals: Vec<LocalId> = value.into_iter().collect();
    let mut next = 0;
    while next < locals.len() {
        let from = locals[next];
        next += 1;
        for number in 0..scene.info.locals().len() as u32 {
            let local = LocalId(number);
            let taken = function.definitions_of(local).any(|definition| match definition.source {
                Source::Expr(value) => {
                    scene.mentions(Node::Expr(value), from) && !holds_call(scene, value)
                }
                _ => false,
            });
            if taken && !locals.contains(&local) {
                locals.push(local);
            }
        }
    }
    locals
}

fn holds_call(scene: &Scene<'_>, value: ExprId) -> bool {
    scene.file.descendants(Node::Expr(value)).any(|node| match node {
        Node::Expr(expr) => {
            matches!(scene.file.expr(expr).kind, ExprKind::Call { .. })
                && !matches!(scene.info.callee(expr), Callee::Builtin(_) | Callee::Conversion(_))
        }
        _ => false,
    })
}

/// Looks for a way out that the channel has no part in.
struct GiveUp<'g, 'a> {
    scene: &'g Scene<'a>,
    read: &'g Read<'a>,
    again: &'g [StepId],
    tainted: Vec<LocalId>,
    /// The variable that says whether something was received.
    more: Option<LocalId>,
    conditions: &'g Conditions,
    /// Conditions that do not decide whether the loop is left.
    rejoining: Vec<ExprId>,
    /// The loops that receive: how many turns they have may be agreed on between the two sides.
    loops: Vec<StmtId>,
}

/// In larger graphs every condition counts as one that decides.
const MAX_BLOCKS: usize = 1_000;

/// The conditions that do not decide whether the loop goes on or is left: both ways come together again
/// before that.
fn rejoining(cfg: &Cfg, again: &[StepId]) -> Vec<ExprId> {
    if cfg.blocks().count() > MAX_BLOCKS {
        return Vec::new();
    }
    let ends = |block: BlockId| cfg.steps_of(block).any(|step| again.contains(&step));
    let reached = |from: BlockId, besides: &FxHashSet<BlockId>| {
        let mut met = FxHashSet::default();
        let mut open = vec![from];
        while let Some(block) = open.pop() {
            if !besides.contains(&block) && !ends(block) && met.insert(block) {
                open.extend(cfg.edges_of(block).iter().map(|edge| edge.to));
            }
        }
        met
    };
    let goes_on = |met: &FxHashSet<BlockId>, from: BlockId| {
        let edges = met.iter().flat_map(|&block| cfg.edges_of(block));
        ends(from) || edges.into_iter().any(|edge| ends(edge.to))
    };
    let joins = |one: BlockId, other: BlockId| {
        let nowhere = FxHashSet::default();
        let (mine, theirs) = (reached(one, &nowhere), reached(other, &nowhere));
        let apart = reached(one, &theirs);
        goes_on(&mine, one) == goes_on(&theirs, other)
            && !apart.into_iter().any(|block| cfg.exit_of(block).is_some())
    };
    let conditions = cfg.blocks().filter_map(|block| match cfg.edges_of(block) {
        [one, other] => match (one.kind, other.kind) {
            (EdgeKind::True(asked), EdgeKind::False(_))
            | (EdgeKind::False(asked), EdgeKind::True(_))
                if joins(one.to, other.to) && joins(other.to, one.to) =>
            {
                Some(asked)
            }
            _ => None,
        },
        _ => None,
    });
    conditions.collect()
}

impl Walk for GiveUp<'_, '_> {
    /// What is decided, and whether that is more than which clause was chosen: what a `switch` chooses may
    /// well be the last that is sent.
    type State = (Decided, bool);

    fn step(&mut self, (decided, counts): &Self::State, step: StepId) -> Passing<Self::State> {
        if self.again.contains(&step) {
            return Passing::Drop;
        }
        Passing::On((self.conditions.after(decided, step), *counts))
    }

    fn edge(&mut self, (decided, counts): &Self::State, edge: &Edge) -> Option<Self::State> {
        let mut counts = *counts;
        match edge.kind {
            EdgeKind::Done(range) if self.loops.contains(&range) => return None,
            // What a `select` chooses may well be the last that is sent, as what a `switch` does.
            EdgeKind::Arm(..) => return None,
            EdgeKind::Case(..) | EdgeKind::NoCase(_) => counts = false,
            EdgeKind::True(asked) | EdgeKind::False(asked) => {
                let function = &self.read.function;
                let asks = locals_in(function, Node::Expr(asked));
                let ends = matches!(edge.kind, EdgeKind::False(_))
                    && self.more.is_some_and(|more| asks.contains(&more));
                // A loop sets its channel to nil when that was closed.
                let is_nil = || {
                    self.scene.nil_test(asked).is_some_and(|(local, unequal)| {
                        unequal == matches!(edge.kind, EdgeKind::False(_))
                            && matches!(function.info.local(local).ty, Type::Chan(..))
                    })
                };
                let decides = !self.rejoining.contains(&asked);
                if ends
                    || is_nil()
                    || decides && asks.iter().any(|local| self.tainted.contains(local))
                {
                    return None;
                }
                let error = function.file.descendants(Node::Expr(asked)).any(|node| match node {
                    // Of a function that is not seen the error has no type here.
                    Node::Expr(expr) => matches!(function.info.resolve(expr), Def::Nil),
                    _ => false,
                });
                let compares = match function.file.expr(asked).kind {
                    ExprKind::Binary { op, left, .. } => {
                        // That it is not this error says no more than that there may be another.
                        let other = matches!(
                            (op, edge.kind),
                            (BinaryOp::Eq, EdgeKind::False(_)) | (BinaryOp::Ne, EdgeKind::True(_))
                        );
                        !(other && function.info.type_of(left).is_error())
                    }
                    _ => false,
                };
                // A count or a comparison may be agreed on between the two sides.
                if !error && compares && decides {
                    return None;
                }
                counts |= decides
                    && self.scene.nil_test(asked).is_some_and(|(local, unequal)| {
                        unequal == matches!(edge.kind, EdgeKind::True(_))
                            && function.info.local(local).ty.is_error()
                    });
            }
            _ => {}
        }
        Some((self.conditions.along(decided, edge)?, counts))
    }

    fn exit(&mut self, (_, counts): &Self::State, exit: Exit) -> bool {
        *counts && matches!(exit, Exit::Return(_) | Exit::End)
    }
}

/// Tells it where the consumer gives up, if the send stands in another function and cannot know: whoever reads
/// the send alone sees nothing wrong. `says_end` says whether the consumer tells that it has left.
fn tell(
    groups: &Groups<'_>,
    group: &Group,
    send: &Op,
    (receive, exit): (&Op, &Exits),
    says_end: bool,
) -> Finding {
    let scene = &groups.scenes[send.scene];
    let consumer = &groups.scenes[receive.scene];
    let name = scene.text(send.channel);
    let waits = match send.select {
        None => " waits for nothing else",
        Some(_) => ", and who waits for it, wait until the caller's context is done",
    };
    let sent = scene.cx.location(first_line(scene, send.span(scene)));
    let left = consumer.cx.location(first_line(consumer, exit.left));
    let at_send = says_end || send.scene == receive.scene;
    let mut finding = match at_send {
        true => {
            let message = format!(
                "nobody is left to receive from `{name}` when its consumers have given up, and this send{waits}"
            );
            scene.cx.finding(first_line(scene, send.span(scene)), "stays here", message)
        }
        false => {
            let message = format!(
                "nobody is left to receive from `{name}` when `{}` has given up here, and the send in `{}`{waits}",
                consumer.name.name, scene.name.name
            );
            let span = first_line(consumer, exit.left);
            consumer.cx.finding(span, "the consumer gives up here", message)
        }
    };
    finding.confidence = confidence_at(scene, send.node);
    finding.defect = groups.only_make_of(group).unwrap_or(sent);
    finding.labels.push(Label {
        location: consumer.cx.location(first_line(consumer, receive.span(consumer))),
        role: Role::Context,
        message: "it is received here".to_owned(),
    });
    if let Some(decided) = exit.decided.filter(|decided| *decided != exit.left) {
        finding.labels.push(Label {
            location: consumer.cx.location(first_line(consumer, decided)),
            role: Role::Condition,
            message: "decided here".to_owned(),
        });
    }
    finding.labels.push(match at_send {
        true => Label {
            location: left,
            role: Role::Left,
            message: "the consumer gives up here".to_owned(),
        },
        false => {
            Label { location: sent, role: Role::Stuck, message: "the send stays here".to_owned() }
        }
    });
    finding.why = "a consumer that returns early leaves the rest to nobody".to_owned();
    finding.help =
        "receive all that is sent also after an error, or send in a `select` with what tells of it"
            .to_owned();
    finding
}
