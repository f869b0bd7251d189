//! A goroutine that closes a channel at its end, and on another way out does not.
//!
//! Evidence: one place closes the channel, and it stands at the end of a goroutine, or in one that
//! a function starts; a path of the goroutine, or of that function, returns past it, while whoever
//! receives waits for nothing else: he ranges over the channel, receives with nothing beside, or
//! is a caller that gets the channel as a result.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Callee, Def, LocalKind};
use crate::rules::conditions::{Conditions, Decided, condition, locals_in, names_any};
use crate::rules::evidence::claimed::tells_of_others;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::stays_ready;
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::summary::{BodyId, Read, Source};
use crate::syntax::{BranchKind, ExprId, Node, StmtId, StmtKind};

/// Reports the closes that are skipped; `ranges` says for which of the receivers.
pub(super) fn check(groups: &Groups<'_>, ranges: bool, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        if group.ops.iter().any(|op| op.act == Act::Range) == ranges {
            findings.extend(check_group(groups, group));
        }
    }
}

/// The body that ought to close, and the step that does, or that starts who does.
struct Closing<'a> {
    literal: Option<ExprId>,
    body: BodyId,
    read: std::sync::Arc<Read<'a>>,
    step: StepId,
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    if group.ops.iter().any(|op| op.act == Act::Notify) {
        return None;
    }
    let mut closes: Vec<&Op> = group.ops.iter().filter(|op| op.act == Act::Close).collect();
    if closes.len() > 1 {
        let all = closes.clone();
        closes.retain(|&close| !all.iter().any(|other| is_instead(groups, group, close, other)));
    }
    match closes[..] {
        [close] => check_close(groups, group, close, None),
        // Others close channels of the same kind.
        _ => closes.iter().find_map(|close| {
            let waiter = only_for(groups, group, close)?;
            check_close(groups, group, close, Some(waiter))
        }),
    }
}

/// Whether a function closes a channel of its own where it does not come to start the goroutine that closes it
/// later.
fn is_instead(groups: &Groups<'_>, group: &Group, close: &Op, later: &Op) -> bool {
    let scene = &groups.scenes[close.scene];
    let made = group.ops.iter().any(|op| matches!(op.act, Act::Make(_)) && op.scene == close.scene);
    let started = || {
        let go = go_of(scene, later.literal?)?;
        let cfg = scene.graph(close.literal)?;
        let (closed, started) = (scene.step_of(&cfg, close.node)?, cfg.step_of_stmt(go)?);
        let outer = scene.literal_around(Node::Stmt(go)) == close.literal;
        (outer && !cfg.reaches(closed, started) && !cfg.reaches(started, closed)).then_some(())
    };
    made && close.scene == later.scene && close.literal != later.literal && started().is_some()
}

/// Whether an operation waits for the close of its channel and for nothing else.
fn waits(op: &Op) -> bool {
    match op.act {
        Act::Range => true,
        Act::Receive => op.select.is_none(),
        _ => false,
    }
}

/// Who waits for what a function closes that was given the channel to do so: its caller has made it and, on
/// the way there and from there on, gives it to nobody else.
fn only_for<'g>(groups: &Groups<'_>, group: &'g Group, close: &Op) -> Option<&'g Op> {
    let scene = &groups.scenes[close.scene];
    let Def::Local(param) = scene.info.resolve(close.channel) else { return None };
    let param = scene.info.local(*param);
    let LocalKind::Param(index) = param.kind else { return None };
    if param.owner.is_some() {
        return None;
    }
    group.ops.iter().filter(|op| waits(op)).find(|waiter| {
        let caller = &groups.scenes[waiter.scene];
        let Some(local) = caller.local(waiter.channel) else { return false };
        let made =
            group.ops.iter().any(|op| matches!(op.act, Act::Make(_)) && op.scene == waiter.scene);
        let Some(cfg) = caller.graph(None) else { return false };
        let is_given = |&call: &ExprId| {
            let given = caller.args(call).get(index as usize);
            given.is_some_and(|&arg| caller.local(arg) == Some(local))
        };
        made && caller.info.local(local).kind == LocalKind::Var
            && caller.calls(scene.cx.func).filter(is_given).any(|call| {
                let Some(at) = cfg.step_of_expr(call) else { return false };
                let given = caller.args(call)[index as usize];
                caller.uses(local).all(|usage| {
                    let receives = |op: &Op| {
                        op.scene == waiter.scene
                            && op.channel == usage
                            && matches!(op.act, Act::Receive | Act::Range)
                    };
                    let node = Node::Expr(usage);
                    let is_definition = || match caller.parent(node) {
                        Some(Node::Stmt(stmt)) => match &caller.file.stmt(stmt).kind {
                            StmtKind::Define { left, .. } => left.contains(&usage),
                            _ => false,
                        },
                        _ => false,
                    };
                    let apart = || {
                        caller.literal_around(node).is_none()
                            && caller.step_of(&cfg, node).is_some_and(|step| {
                                !cfg.reaches(step, at) && !cfg.reaches(at, step)
                            })
                    };
                    caller.file.unparen(given) == usage
                        || group.ops.iter().any(receives)
                        || is_definition()
                        || apart()
                })
            })
    })
}

/// Looks for a way past a close; `only` is who waits for it, if others close channels of the group too.
fn check_close(
    groups: &Groups<'_>,
    group: &Group,
    close: &Op,
    only: Option<&Op>,
) -> Option<Finding> {
    let scene = &groups.scenes[close.scene];
    let waiter = only.or_else(|| group.ops.iter().find(|op| !op.same_body(close) && waits(op)));
    let closing = closing(scene, close)?;
    let own = match closing.literal {
        Some(_) => goes(scene, closing.literal),
        None => false,
    };
    let outer = closing.literal != close.literal;
    let given = outer && is_given(scene, close.channel);
    // A caller has the channel as a result, and only its close tells of the end.
    let returned = own && group.open && is_returned(scene, close, group);
    if !(waiter.is_some() && !group.open && (own || given) || returned) {
        return None;
    }
    let cfg = &closing.read.function.body(closing.body).cfg;
    let conditions = Conditions::new(&closing.read.function, closing.body);
    let once = waiter.is_some_and(|op| op.act == Act::Receive);
    let is_end = |op: &&Op| match op.act {
        Act::Send => once,
        Act::Close => true,
        _ => false,
    };
    let ends = group
        .ops
        .iter()
        .filter(|op| op.scene == close.scene)
        .filter(is_end)
        .filter_map(|op| scene.step_of(cfg, op.node))
        .chain([closing.step])
        .collect();
    let mut walk = Past {
        read: &closing.read,
        groups,
        scene: close.scene,
        conditions: &conditions,
        ends_too: returned,
        several: is_one_of_several(scene, &closing).then_some(closing.body),
        ends,
    };
    // Before the channel is made nobody waits for it.
    let made = group
        .ops
        .iter()
        .filter(|op| matches!(op.act, Act::Make(_)) && op.scene == close.scene)
        .find_map(|op| scene.step_of(cfg, op.node));
    let start = made.or_else(|| came(scene, &closing, close.channel));
    let (start, known) = match start {
        Some(step) => (Start::After(step), conditions.known_after(cfg, step)),
        None => (Start::Entry, Vec::new()),
    };
    let paths = cfg.search(start, known, &mut walk);
    let (path, exit) = paths.iter().find_map(|path| match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => Some((path, stmt)),
        _ => None,
    })?;
    if waiter.is_some_and(|waiter| tells_last(groups, scene, close, waiter, path)) {
        return None;
    }
    // Who was given the channel has the fault, and can mend it.
    let waiting = waiter.filter(|waiter| !given || waiter.scene == close.scene);
    let mut finding = match waiting {
        Some(waiter) => tell_waiter(groups, scene, close, waiter),
        None => tell_return(scene, close),
    };
    finding.confidence = confidence(scene);
    let left = scene.cx.location(first_line(scene, scene.span(Node::Stmt(exit))));
    if waiting.is_none() {
        finding.primary = left;
    }
    finding.defect =
        groups.only_make_of(group).unwrap_or_else(|| scene.cx.location(close.span(scene)));
    let label = |location: Location, role: Role, message: &str| Label {
        location,
        role,
        message: message.to_owned(),
    };
    let sends = group.ops.iter().filter(|op| op.act == Act::Send && op.same_body(close));
    finding.labels.extend(sends.take(1).map(|op| {
        let at = scene.cx.location(first_line(scene, op.span(scene)));
        label(at, Role::Context, "the goroutine sends here")
    }));
    if finding.primary != left {
        finding.labels.push(label(left, Role::Left, "it leaves here without closing it"));
    } else if let Some(waiter) = waiter {
        let at = &groups.scenes[waiter.scene];
        let waits = at.cx.location(first_line(at, waiter.span(at)));
        finding.labels.push(label(waits, Role::Stuck, "who waits for it stays here"));
    }
    let closed = scene.cx.location(close.span(scene));
    finding.labels.push(label(closed, Role::Context, "closed on another way out"));
    let name = scene.text(close.channel);
    finding.why = format!("nobody else closes `{name}`");
    finding.help = format!("`defer close({name})`, or close it on this way out too");
    Some(finding)
}

/// Whether a path leaves by what it has sent, and who ranges over the channel may leave by what it has received: both
/// know the last value.
fn tells_last(
    groups: &Groups<'_>,
    scene: &Scene<'_>,
    close: &Op,
    waiter: &Op,
    path: &Path<Decided>,
) -> bool {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return false };
    let Some(decided) = path.decisions().filter_map(condition).next_back() else { return false };
    let named = locals_in(&read.function, Node::Expr(decided));
    let sends_it = scene.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Send { value, .. } = scene.file.stmt(stmt).kind else { return false };
        scene.literal_around(node) == close.literal
            && names_any(&read.function, Node::Expr(value), &named)
    });
    let at = &groups.scenes[waiter.scene];
    let Node::Stmt(range) = waiter.node else { return false };
    let StmtKind::Range { key: Some(received), body, .. } = at.file.stmt(range).kind else {
        return false;
    };
    let Some(received) = at.local(received) else { return false };
    let leaves = at.file.descendants(Node::Stmt(body)).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::If { cond, then, .. } = at.file.stmt(stmt).kind else { return false };
        let last = at.file.block(then).last().copied();
        let leaves = last.is_some_and(|last| {
            matches!(
                at.file.stmt(last).kind,
                StmtKind::Return(_) | StmtKind::Branch { kind: BranchKind::Break, .. }
            )
        });
        leaves && at.mentions(Node::Expr(cond), received)
    });
    sends_it && leaves
}

/// Where a body receives what it has the channel from: before that the request was not taken.
fn came(scene: &Scene<'_>, closing: &Closing<'_>, channel: ExprId) -> Option<StepId> {
    let local = root_variable(scene, channel)??;
    let function = &closing.read.function;
    let mut bound = function.definitions_of(local).filter_map(|definition| definition.at);
    let (at, None) = (bound.next()?, bound.next()) else { return None };
    let step = function.step(at);
    let receives = matches!(step, Step::Bind(_)) || step.received_from(scene.file).is_some();
    (receives && at.body == closing.body).then_some(at.step)
}

/// Where the close is decided: in its own body, or where the goroutine is started that closes on
/// all its ways.
fn closing<'a>(scene: &Scene<'a>, close: &Op) -> Option<Closing<'a>> {
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let body = read.function.body_of(close.literal)?;
    let cfg = &read.function.body(body).cfg;
    let step = scene.step_of(cfg, close.node)?;
    let everywhere = is_everywhere(cfg, step);
    if !everywhere {
        return match cfg.step(step) {
            // What is deferred late is meant to be.
            Step::Defer(_) => None,
            _ => Some(Closing { literal: close.literal, body, step, read }),
        };
    }
    let literal = close.literal?;
    let go = go_of(scene, literal)?;
    let outer = scene.literal_around(Node::Stmt(go));
    let body = read.function.body_of(outer)?;
    let step = read.function.body(body).cfg.step_of_stmt(go)?;
    Some(Closing { literal: outer, body, step, read })
}

/// Whether the body of a close closes the channel whenever it is left.
pub(super) fn is_done_on_all_ways(scene: &Scene<'_>, close: &Op) -> bool {
    let graph = scene.graph(close.literal);
    graph.is_some_and(|cfg| {
        scene.step_of(&cfg, close.node).is_some_and(|step| is_everywhere(&cfg, step))
    })
}

fn is_everywhere(cfg: &Cfg, step: StepId) -> bool {
    match cfg.step(step) {
        Step::Defer(_) => cfg.steps().next() == Some(step) || never_avoids(cfg, step),
        _ => never_avoids(cfg, step),
    }
}

fn never_avoids(cfg: &Cfg, step: StepId) -> bool {
    !cfg.leaves_without(&|other| other == step)
}

/// The `go` statement that starts a literal where it stands.
fn go_of(scene: &Scene<'_>, literal: ExprId) -> Option<StmtId> {
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
    scene.go_of(call)
}

/// Whether a body is that of a literal that a loop starts in goroutines.
fn is_one_of_several(scene: &Scene<'_>, closing: &Closing<'_>) -> bool {
    let start = closing.literal.and_then(|literal| go_of(scene, literal));
    start.is_some_and(|start| !scene.loops_around(Node::Stmt(start)).is_empty())
}

/// Whether a literal runs in a goroutine of its own.
fn goes(scene: &Scene<'_>, literal: Option<ExprId>) -> bool {
    let Some(literal) = literal else { return false };
    if go_of(scene, literal).is_some() {
        return true;
    }
    scene.given_to(literal).is_some_and(|call| {
        scene.method_call(call).is_some_and(|(_, name)| name.name.as_str() == "Go")
            && !matches!(scene.info.callee(call), Callee::Builtin(_))
    })
}

/// Whether a channel is a parameter of the function.
fn is_given(scene: &Scene<'_>, channel: ExprId) -> bool {
    match scene.info.resolve(channel) {
        Def::Local(local) => {
            let local = scene.info.local(*local);
            matches!(local.kind, LocalKind::Param(_)) && local.owner.is_none()
        }
        _ => false,
    }
}

/// Whether the function makes the channel and returns it, and the goroutine sends on it.
fn is_returned(scene: &Scene<'_>, close: &Op, group: &Group) -> bool {
    let Def::Local(local) = scene.info.resolve(close.channel) else { return false };
    let makes = group.ops.iter().filter(|op| matches!(op.act, Act::Make(_)));
    let made_here = makes.clone().count() == 1 && makes.clone().all(|op| op.scene == close.scene);
    let sends = group.ops.iter().filter(|op| op.act == Act::Send);
    let sends_here = sends.clone().count() > 0 && sends.clone().all(|op| op.same_body(close));
    let given = scene.uses(*local).all(|usage| match scene.parent(Node::Expr(usage)) {
        Some(Node::Expr(call)) => {
            !scene.args(call).contains(&usage)
                || matches!(scene.info.callee(call), Callee::Builtin(_) | Callee::Conversion(_))
        }
        _ => true,
    });
    made_here && sends_here && given
}

impl Past<'_, '_> {
    /// Whether a condition is the `ok` of a receive or the like: who closes that channel may well
    /// be the one who waits.
    fn asks_ok(&self, cond: ExprId) -> bool {
        let local = self.groups.scenes[self.scene].local(cond);
        local.is_some_and(|local| {
            let mut definitions = self.read.function.definitions_of(local);
            definitions.any(|definition| matches!(definition.source, Source::Computed))
        })
    }

    /// Whether a condition tells one of several goroutines that it is the first or the last.
    fn is_claim(&self, cond: ExprId) -> bool {
        let scene = &self.groups.scenes[self.scene];
        self.several.is_some_and(|body| tells_of_others(scene, &self.read.function, cond, body))
    }
}

/// Looks for a way out past the close.
struct Past<'p, 'a> {
    read: &'p Read<'a>,
    groups: &'p Groups<'a>,
    scene: usize,
    conditions: &'p Conditions,
    /// Whether who receives is not seen, and may leave at an end that this body looks at.
    ends_too: bool,
    /// The body, if a loop starts several goroutines with it: the one that knows to be the last closes for all.
    several: Option<BodyId>,
    /// The closes, who starts the one that is looked at, and the sends after which one who waits for a value
    /// alone has it.
    ends: Vec<StepId>,
}

impl Walk for Past<'_, '_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        if self.ends.contains(&step) {
            return Passing::Drop;
        }
        Passing::On(self.conditions.after(decided, step))
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        let scene = &self.groups.scenes[self.scene];
        if let EdgeKind::Arm(select, index) = edge.kind
            && let StmtKind::Select(clauses) = &scene.file.stmt(select).kind
            && let Some(comm) = clauses.get(index as usize).and_then(|clause| clause.comm)
            && let Some(channel) = Step::Comm(comm).received_from(scene.file)
            && stays_ready(self.groups, self.scene, scene.file.unparen(channel))
            && (self.ends_too || scene.method_call(channel).is_none())
        {
            return None;
        }
        // Without a channel there is nothing to close.
        if let EdgeKind::True(cond) | EdgeKind::False(cond) = edge.kind
            && (asks_for_nil_channel(scene, cond) || self.asks_ok(cond) || self.is_claim(cond))
        {
            return None;
        }
        self.conditions.along(decided, edge)
    }

    fn exit(&mut self, _: &Decided, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_))
    }
}

/// Whether a condition compares a channel with `nil`, or asks for the error of a context.
fn asks_for_nil_channel(scene: &Scene<'_>, cond: ExprId) -> bool {
    scene.file.descendants(Node::Expr(cond)).any(|node| {
        let Node::Expr(expr) = node else { return false };
        let channel = matches!(
            scene.cx.index().underlying(scene.info.type_of(expr)),
            crate::index::Type::Chan(..)
        );
        let context = scene.method_call(expr).is_some_and(|(_, name)| name.name.as_str() == "Err");
        channel || context
    })
}

fn tell_waiter(groups: &Groups<'_>, scene: &Scene<'_>, close: &Op, waiter: &Op) -> Finding {
    let at = &groups.scenes[waiter.scene];
    let name = scene.text(close.channel);
    let message = match waiter.act {
        Act::Range => format!(
            "`{name}` is never closed when a goroutine of `{}` returns early, and this loop never ends",
            scene.name.name
        ),
        _ => format!(
            "nobody is left to send on `{name}` or close it when a goroutine of `{}` returns early",
            scene.name.name
        ),
    };
    at.cx.finding(first_line(at, waiter.span(at)), "stays here", message)
}

fn tell_return(scene: &Scene<'_>, close: &Op) -> Finding {
    let name = scene.text(close.channel);
    let message = format!(
        "`{name}` stays open when this returns, and whoever receives from it waits for ever"
    );
    scene.cx.finding(close.span(scene), "leaves without closing it", message)
}
