//! Goroutines and receives of which there are as many, by counts that are told in two ways.
//!
//! A loop starts goroutines that send, and another one receives, with no way out but when its count is up. Where
//! that count is what a call says, a sum, or something that the first loop does not speak of, the two may well be
//! the same: the explorer has chosen each for itself. So may it be where the second loop ranges over the channel and
//! breaks by a number, and where the first stands in another function, which the count was not handed to.

use crate::diagnostic::{Finding, Role};
use crate::flow::Step;
use crate::index::{Builtin, Callee, FuncId, LocalId, LocalKind, Type};
use crate::rules::PackageCx;
use crate::rules::conditions::{header, locals_in};
use crate::rules::scene::{Scene, declared_at};
use crate::source::Span;
use crate::summary::{Function, Source};
use crate::syntax::{BinaryOp, BranchKind, ExprId, ExprKind, Node, StmtId, StmtKind};

/// Whether what was found by exploring rests on a loop that receives more or less often than another one starts who
/// sends, and nothing tells how often that is.
pub(super) fn is_counted_apart(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    match finding.rule {
        "send-without-receiver" | "receive-without-sender" => {
            are_apart(cx, finding).unwrap_or_else(|| is_counted_elsewhere(cx, finding))
        }
        "range-never-closed" => breaks_by_number(cx, finding).unwrap_or(false),
        "close-misuse" => is_awaited(cx, finding).unwrap_or(false),
        _ => false,
    }
}

/// Whether the goroutine that was found calls `Done` of something that the function which starts it calls `Wait` of,
/// and which is no `sync.WaitGroup` that the explorer counts: a group of another type, or behind an interface.
fn is_awaited(cx: &PackageCx<'_>, finding: &Finding) -> Option<bool> {
    let started = finding.labels.iter().find(|label| label.role == Role::Started)?.location;
    let scene = Scene::at(cx, started)?;
    let is_go = |node: &&Node| match **node {
        Node::Stmt(stmt) => {
            matches!(scene.file.stmt(stmt).kind, StmtKind::Go(_))
                && scene.file.stmt(stmt).span.start == started.span.start
        }
        _ => false,
    };
    let go = scene.span(*scene.nodes.iter().find(is_go)?);
    let called = |wanted: &str, inside: bool| -> Vec<ExprId> {
        let calls = scene.nodes.iter().filter_map(|&node| {
            let Node::Expr(call) = node else { return None };
            let (group, name) = scene.method_call(call)?;
            let is_inside = go.contains_offset(scene.span(node).start);
            (name.name.as_str() == wanted && is_inside == inside).then_some(group)
        });
        calls.collect()
    };
    let is_counted =
        |group: ExprId| scene.info.type_of(group).strip_pointer().is_named("sync", "WaitGroup");
    let done = called("Done", true).into_iter().filter(|&group| !is_counted(group));
    let done: Vec<String> = done.map(|group| scene.text(group)).collect();
    Some(called("Wait", false).iter().any(|&group| done.contains(&scene.text(group))))
}

/// Whether those who send are started by a loop of another function than the one whose loop receives, and both
/// count by themselves: neither is given a number.
fn is_counted_elsewhere(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let by_itself = |scene: &Scene<'_>, node: Node| {
        let turns = scene.loops_around(node).first().copied();
        let header = turns.and_then(|turns| header(scene.file, turns));
        header.is_some_and(|header| !asks_given_number(scene, header))
    };
    let made = finding.labels.iter().find(|label| label.role == Role::Made);
    let Some(made) = made.map(|label| label.location) else { return false };
    let Some(scene) = Scene::at(cx, made) else { return false };
    let Some(channel) = scene.nodes.iter().find_map(|&node| {
        let (targets, values) = scene.assignment(node)?;
        let of = |value: &ExprId| scene.span(Node::Expr(*value)) == made.span;
        *targets.get(values.iter().position(of)?)?
    }) else {
        return false;
    };
    let receives = |node: Node| {
        let of = scene.transfer(node).filter(|&(_, receives)| receives);
        of.is_some_and(|(of, _)| scene.local(of) == Some(channel))
    };
    if !scene.nodes.iter().any(|&node| receives(node) && by_itself(&scene, node)) {
        return false;
    }
    let is_given = |scene: &Scene<'_>, arg: ExprId, channel| scene.local(arg) == Some(channel);
    let hand_on = |scene: &Scene<'_>, channel: LocalId, node: Node| {
        let Node::Expr(call) = node else { return None };
        let Callee::Func(callee) = *scene.info.callee(call) else { return None };
        let place = scene.args(call).iter().position(|&arg| is_given(scene, arg, channel))?;
        (callee.package == scene.cx.func.package).then_some((callee, place))
    };
    let handed_on = scene.nodes.iter().filter_map(|&node| hand_on(&scene, channel, node));
    let mut given: Vec<(FuncId, usize)> = handed_on.collect();
    let mut at = 0;
    while let Some(&(func, place)) = given.get(at) {
        at += 1;
        let Some(other) = Scene::of(cx, func) else { continue };
        let Some(channel) = other.info.param(None, place as u32) else { continue };
        // Where something else is decided there, that is what leaves a value out.
        if decides_more(cx, finding, &other) {
            return false;
        }
        for &node in other.nodes.iter() {
            let sends = || {
                let of = other.transfer(node).filter(|&(_, receives)| !receives);
                of.is_some_and(|(of, _)| is_given(&other, of, channel))
            };
            let handed_on = hand_on(&other, channel, node);
            if (handed_on.is_some() || sends()) && by_itself(&other, node) {
                return true;
            }
            given.extend(handed_on.filter(|it| !given.contains(it)));
        }
    }
    false
}

/// Whether a finding rests on a condition of a function that says more than when one of its loops ends.
fn decides_more(cx: &PackageCx<'_>, finding: &Finding, of: &Scene<'_>) -> bool {
    let conditions = finding.labels.iter().filter(|label| label.role == Role::Condition);
    let mut own = conditions
        .map(|label| label.location)
        .filter(|&place| declared_at(cx, place) == Some(of.cx.func));
    let headers: Vec<Span> = of
        .nodes
        .iter()
        .filter_map(|&node| match node {
            Node::Stmt(stmt) => header(of.file, stmt).map(|header| of.span(Node::Expr(header))),
            _ => None,
        })
        .collect();
    own.any(|place| !headers.iter().any(|header| header.contains(place.span)))
}

/// Whether what decides on the turns of a loop is a number that the function was given.
fn asks_given_number(scene: &Scene<'_>, header: ExprId) -> bool {
    scene.file.descendants(Node::Expr(header)).any(|node| {
        let Node::Expr(part) = node else { return false };
        let local = scene.local(part).map(|local| scene.info.local(local));
        let is_given = local.is_some_and(|local| matches!(local.kind, LocalKind::Param(_)));
        is_given && matches!(scene.info.type_of(part), Type::Basic(_))
    })
}

/// Whether a range over a channel breaks when some number is reached, and nothing tells how many turns the loop has
/// that starts those who send.
fn breaks_by_number(cx: &PackageCx<'_>, finding: &Finding) -> Option<bool> {
    let scene = Scene::at(cx, finding.primary)?;
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let (range, channel) = scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Range { subject, .. } = scene.file.stmt(stmt).kind else { return None };
        let begins = scene.span(node).start == finding.primary.span.start;
        begins.then(|| Some((stmt, scene.local(subject)?)))?
    })?;
    let is_number = |asked: ExprId| match scene.file.expr(scene.file.unparen(asked)).kind {
        ExprKind::Binary { left, .. } => {
            matches!(scene.info.type_of(left), Type::Basic(basic) if basic.is_integer())
        }
        _ => false,
    };
    let breaks = |node: Node| {
        let Node::Stmt(stmt) = node else { return false };
        let leaves = match scene.file.stmt(stmt).kind {
            StmtKind::Return(_) => true,
            StmtKind::Branch { kind, .. } => kind == BranchKind::Break,
            _ => false,
        };
        let mut asked = scene.around(node).take_while(|&it| it != Node::Stmt(range));
        leaves
            && scene.loops_around(node).first() == Some(&range)
            && asked.any(|it| match it {
                Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
                    StmtKind::If { cond, .. } => is_number(cond),
                    _ => false,
                },
                _ => false,
            })
    };
    let sends = scene.nodes.iter().filter(|&&node| {
        scene
            .transfer(node)
            .is_some_and(|(of, receives)| !receives && scene.local(of) == Some(channel))
    });
    let goes = sends.filter_map(|&node| scene.go_around(scene.literal_around(node)?));
    let starts = goes.flat_map(|go| scene.loops_around(Node::Stmt(go))).collect();
    let counted = Counted { scene: &scene, function: &read.function, starts };
    let unknown = || counted.starts.iter().any(|&it| counted.is_unknown(it));
    Some(scene.nodes.iter().any(|&node| breaks(node)) && unknown())
}

/// Whether it does; `None` where the channel is not sent on by goroutines of one loop and received from in another.
fn are_apart(cx: &PackageCx<'_>, finding: &Finding) -> Option<bool> {
    let scene = Scene::at(cx, finding.primary)?;
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let channel = scene.nodes.iter().find_map(|&node| {
        let (channel, _) = scene.transfer(node)?;
        (scene.span(node) == finding.primary.span).then(|| scene.local(channel))?
    })?;
    let owner = scene.info.local(channel).owner;
    let (mut receives, mut sends) = (Vec::new(), Vec::new());
    for &node in scene.nodes.iter() {
        match scene.transfer(node) {
            Some((of, _)) if scene.local(of) != Some(channel) => {}
            Some((_, true)) => receives.push(node),
            Some((_, false)) => sends.push(node),
            None => {}
        }
    }
    let counters = receives.iter().map(|&node| {
        let here = scene.literal_around(node) == owner;
        scene.loops_around(node).first().copied().filter(|_| here)
    });
    let counters: Vec<StmtId> = counters.collect::<Option<_>>()?;
    let goes = sends.iter().map(|&node| {
        let go = scene.go_around(scene.literal_around(node)?)?;
        (scene.literal_around(Node::Stmt(go)) == owner).then_some(go)
    });
    let goes: Vec<StmtId> = goes.collect::<Option<_>>()?;
    let starts: Vec<StmtId> =
        goes.iter().flat_map(|&go| scene.loops_around(Node::Stmt(go))).collect();
    if counters.is_empty() || starts.is_empty() {
        return None;
    }
    // Nobody leaves between the two loops, or the second before its count is up; who stays in that has not left.
    let first = goes.iter().map(|&go| scene.span(Node::Stmt(go)).start).min()?;
    let last = counters.iter().map(|&it| scene.span(Node::Stmt(it)).end).max()?;
    let leaves = |node: Node| {
        let Node::Stmt(stmt) = node else { return false };
        let leaves = match scene.file.stmt(stmt).kind {
            StmtKind::Return(_) => true,
            StmtKind::Branch { kind, .. } => {
                matches!(kind, BranchKind::Break | BranchKind::Goto)
            }
            _ => false,
        };
        let at = scene.span(node);
        leaves && first < at.start && at.end <= last && scene.literal_around(node) == owner
    };
    if finding.rule == "send-without-receiver" && scene.nodes.iter().any(|&node| leaves(node)) {
        return Some(false);
    }
    let counted = Counted { scene: &scene, function: &read.function, starts };
    let unknown = counters.iter().any(|&it| counted.is_unknown(it) && !counted.are_compared(it));
    Some(unknown || counted.starts.iter().any(|&it| counted.is_rounded(it)))
}

/// Two loops of a function, of which one starts those who send.
struct Counted<'s, 'a> {
    scene: &'s Scene<'a>,
    function: &'s Function<'a>,
    /// The loops that start who sends.
    starts: Vec<StmtId>,
}

/// How many variables lie at most between a loop and what its count was worked out from.
const MAX_VARIABLES: u32 = 4;

impl Counted<'_, '_> {
    /// Whether the function asks whether a loop has as many turns as one that starts: then it may have others.
    fn are_compared(&self, turns: StmtId) -> bool {
        let locals = |turns: StmtId| {
            let header = header(self.scene.file, turns);
            header.map_or_else(Vec::new, |header| locals_in(self.function, Node::Expr(header)))
        };
        let counts = locals(turns);
        let starts: Vec<LocalId> = self.starts.iter().flat_map(|&it| locals(it)).collect();
        self.scene.nodes.iter().any(|&node| {
            let Node::Stmt(stmt) = node else { return false };
            let StmtKind::If { cond, .. } = self.scene.file.stmt(stmt).kind else { return false };
            let ExprKind::Binary { left, right, .. } = self.scene.file.expr(cond).kind else {
                return false;
            };
            let [left, right] =
                [left, right].map(|side| locals_in(self.function, Node::Expr(side)));
            let names = |side: &[LocalId], of: &[LocalId], others: &[LocalId]| {
                side.iter().any(|local| of.contains(local) && !others.contains(local))
            };
            names(&left, &counts, &starts) && names(&right, &starts, &counts)
                || names(&left, &starts, &counts) && names(&right, &counts, &starts)
        })
    }

    /// Whether a loop has a part of the elements, whose size was worked out by a division.
    fn is_rounded(&self, turns: StmtId) -> bool {
        let scene = self.scene;
        let divides = |node: Node| match node {
            Node::Expr(part) => is_division(scene, part),
            _ => false,
        };
        header(scene.file, turns).is_some_and(|header| {
            scene.file.descendants(Node::Expr(header)).any(|node| {
                let Node::Expr(part) = node else { return false };
                let only = scene.local(part).and_then(|it| self.function.only_definition_of(it));
                let value = match only.map(|only| only.source) {
                    Some(Source::Expr(value)) => value,
                    _ => return divides(node),
                };
                divides(node) || scene.file.descendants(Node::Expr(value)).any(divides)
            })
        })
    }

    /// Whether nothing tells how many turns a loop has beside those of the loops that start.
    fn is_unknown(&self, turns: StmtId) -> bool {
        let scene = self.scene;
        header(scene.file, turns)
            .is_some_and(|count| self.is_unknown_count(count, turns, MAX_VARIABLES))
    }

    fn is_unknown_count(&self, count: ExprId, turns: StmtId, depth: u32) -> bool {
        let Some(depth) = depth.checked_sub(1) else { return true };
        let scene = self.scene;
        scene.file.descendants(Node::Expr(count)).any(|node| {
            let Node::Expr(part) = node else { return false };
            match scene.file.expr(part).kind {
                ExprKind::Call { .. } => !matches!(
                    scene.info.callee(part),
                    Callee::Builtin(
                        Builtin::Len
                            | Builtin::Cap
                            | Builtin::Min
                            | Builtin::Max
                            | Builtin::Make
                            | Builtin::Append
                    ) | Callee::Conversion(_)
                ),
                _ if is_division(scene, part) => true,
                _ => scene
                    .local(part)
                    .is_some_and(|local| self.is_unknown_local(local, turns, depth)),
            }
        })
    }

    fn is_unknown_local(&self, local: LocalId, turns: StmtId, depth: u32) -> bool {
        let scene = self.scene;
        let is_number =
            matches!(scene.info.local(local).ty, Type::Basic(basic) if basic.is_integer());
        let inside = scene.span(Node::Stmt(turns));
        if !is_number
            && scene.uses(local).any(|used| {
                inside.contains(scene.span(Node::Expr(used)))
                    && (scene.is_deleted(used) || scene.is_target(used))
            })
        {
            return true;
        }
        let spoken_of = self.starts.iter().any(|&start| {
            header(scene.file, start)
                .is_some_and(|header| scene.mentions(Node::Expr(header), local))
        });
        if spoken_of && !self.starts.contains(&turns) {
            return false;
        }
        self.function.definitions_of(local).any(|definition| match definition.source {
            Source::Zero => false,
            Source::Expr(value) => self.is_unknown_count(value, turns, depth),
            Source::Computed => !definition.at.is_some_and(|at| match self.function.step(at) {
                Step::Assign(stmt) => adds_constant(scene, stmt),
                _ => false,
            }),
            Source::Given | Source::Result(..) | Source::Element(_) => true,
        })
    }
}

/// Whether an expression rounds.
fn is_division(scene: &Scene<'_>, expr: ExprId) -> bool {
    matches!(
        scene.file.expr(expr).kind,
        ExprKind::Binary { op: BinaryOp::Div | BinaryOp::Rem | BinaryOp::Shr | BinaryOp::Shl, .. }
    )
}

/// Whether a statement changes a number by a constant.
fn adds_constant(scene: &Scene<'_>, stmt: StmtId) -> bool {
    match &scene.file.stmt(stmt).kind {
        StmtKind::IncDec { .. } => true,
        StmtKind::Assign { right, .. } => {
            right.iter().all(|&value| scene.info.constant(value).is_some())
        }
        _ => false,
    }
}
