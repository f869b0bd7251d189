//! Timers that nobody has a name for: `time.Tick`, and what a `select` in a loop waits on.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{BlockId, Cfg, Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Callee, Def, Type};
use crate::rules::FunctionCx;
use crate::rules::held::Held;
use crate::rules::recurrence::{self, Runs};
use crate::rules::timer_not_stopped::INSTEAD_OF_AFTER;
use crate::summary::{At, Function, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// Constant waits up to this long, in nanoseconds, are of no interest once the loop has ended.
const SOON: i128 = 5_000_000_000;

/// Waits up to this long leave little behind, however often: what the turns of so much time have made.
pub(super) const BRIEF: i128 = 30_000_000_000;

/// The finding about a ticker or timer that is thrown away while it runs, if there is one.
pub fn check(cx: &FunctionCx<'_>, function: &Function<'_>, held: &Held<'_>) -> Option<Finding> {
    match held.fact.ends.is_empty() || is_channel_alone(function, held) {
        true => unstoppable(cx, function, held),
        false => waited_for(cx, function, held),
    }
}

/// Whether a ticker is made for its channel, and nobody has the ticker itself: `time.NewTicker(d).C`.
fn is_channel_alone(function: &Function<'_>, held: &Held<'_>) -> bool {
    let file = function.file;
    let parents = file.parents(Node::Decl(function.index.func(function.id).decl));
    let around = || parents.of(Node::Expr(held.call));
    &*held.fact.what == "ticker"
        && held.name.is_none()
        && matches!(around(), Some(Node::Expr(outer)) if matches!(
            file.expr(outer).kind,
            ExprKind::Selector { name, .. } if name.name.as_str() == "C"
        ))
}

/// `time.Tick` in a function that returns, or again and again.
fn unstoppable(cx: &FunctionCx<'_>, function: &Function<'_>, held: &Held<'_>) -> Option<Finding> {
    let cfg = &function.body(held.at.body).cfg;
    let again = cfg.reaches(held.at.step, held.at.step);
    let leaves = cfg.finds(Start::After(held.at.step), (), &mut Leave { function, held });
    let once = || matches!(recurrence::runs(&cx.package, cx.func), Runs::Once);
    if !again && (!leaves || once() || goes_on(function, held)) {
        return None;
    }
    let call = function.text(held.call);
    let message = match again {
        true => format!(
            "each turn of this loop makes another ticker by `{call}`, and none is ever stopped"
        ),
        false => format!("the ticker of `{call}` ticks on when the function has returned"),
    };
    let mut finding = cx.finding(held.span(function), "nobody can stop it", message);
    finding.why =
        "with this module's `go` line the runtime keeps a ticker until it is stopped, and a \
                   channel alone gives nothing to stop it with"
            .to_owned();
    finding.help = match again {
        true => "make one `time.NewTicker` before the loop and `defer` its `Stop`, or use \
                 `time.After` for a wait that is meant to begin anew"
            .to_owned(),
        false => "`time.NewTicker`, and `defer` its `Stop`".to_owned(),
    };
    Some(finding)
}

/// Whether a literal of the function that has no end, as a goroutine that it leaves, receives from the ticker.
fn goes_on(function: &Function<'_>, held: &Held<'_>) -> bool {
    let file = function.file;
    let Some(name) = &held.name else { return false };
    let receives = |step: Step| match step {
        Step::Next(stmt) => match file.stmt(stmt).kind {
            StmtKind::Range { subject, .. } => Some(subject),
            _ => None,
        },
        step => step.received_from(file),
    };
    let mut others = function.bodies().filter(|&body| body != held.at.body);
    others.any(|body| {
        let cfg = &function.body(body).cfg;
        let mut received = cfg.steps().filter_map(|step| receives(cfg.step(step)));
        cfg.exits().next().is_none() && received.any(|channel| function.text(channel) == *name)
    })
}

/// `case <-time.After(d)` in a loop, when another case is taken.
fn waited_for(cx: &FunctionCx<'_>, function: &Function<'_>, held: &Held<'_>) -> Option<Finding> {
    let file = function.file;
    let cfg = &function.body(held.at.body).cfg;
    if held.name.is_some()
        || !cfg.reaches(held.at.step, held.at.step)
        || !may_go_on(cx, function, held.call)
    {
        return None;
    }
    let (select, own) = arm(cx, function, held.call)?;
    let entered = cfg.step_of_stmt(select)?;
    let others = cfg.edges_of(cfg.block_of(entered)).iter().filter_map(|edge| match edge.kind {
        EdgeKind::Arm(_, index) if index != own => Some((index, edge.to)),
        _ => None,
    });
    let others: Vec<(u32, BlockId)> = others.collect();
    let again = others.iter().any(|&(_, block)| comes_to(cfg, block, held.at.step));
    let wait = wait(function, held.call);
    let long = match wait {
        Some(wait) => wait > SOON,
        None => {
            !function.args(held.call).first().is_some_and(|&wait| is_worked_out(function, wait))
        }
    };
    if others.is_empty() || !(again || long) {
        return None;
    }
    let call = function.text(held.call);
    let message = match again {
        true => format!("each turn that another case ends leaves the timer of `{call}` behind"),
        false => format!("the timer of `{call}` stays when another case ends this loop"),
    };
    let mut finding = cx.finding(held.span(function), "stays until it fires", message);
    let adds_up = || matches!(recurrence::runs(&cx.package, cx.func), Runs::Again(..));
    // Where it is not known how long that is, it may be a moment: then only what each value leaves adds up.
    let sends = || again && others.iter().any(|&(index, _)| is_send(function, select, index));
    let is_long = wait.map_or_else(sends, |wait| wait > BRIEF);
    finding.confidence = match is_long && (again || adds_up()) {
        true => finding.confidence.min(Confidence::Medium),
        // One timer for each time that the loop ends, or for each turn of the last seconds.
        false => Confidence::Low,
    };
    finding.labels.push(Label {
        location: cx.location(file.stmt(select).span),
        role: Role::Left,
        message: "another case can be chosen".to_owned(),
    });
    finding.why = "with this module's `go` line the runtime keeps a timer until it fires or is \
                   stopped, and nobody has this one to stop it"
        .to_owned();
    finding.help = INSTEAD_OF_AFTER.to_owned();
    Some(finding)
}

/// Whether a case of a `select` sends.
fn is_send(function: &Function<'_>, select: StmtId, index: u32) -> bool {
    let file = function.file;
    let StmtKind::Select(clauses) = &file.stmt(select).kind else { return false };
    let comm = clauses.get(index as usize).and_then(|clause| clause.comm);
    comm.is_some_and(|comm| matches!(file.stmt(comm).kind, StmtKind::Send { .. }))
}

/// Whether a loop around a call may have any number of turns. Those over what a value holds end soon,
/// and their timers with them.
fn may_go_on(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let parents = file.parents(Node::Decl(cx.declared().decl));
    let body = |node: &Node| match *node {
        Node::Expr(expr) => !matches!(file.expr(expr).kind, ExprKind::FuncLit(_)),
        _ => true,
    };
    let loops = parents.around(Node::Expr(call)).take_while(body).filter_map(|node| {
        let Node::Stmt(stmt) = node else { return None };
        match file.stmt(stmt).kind {
            StmtKind::For { .. } => Some(true),
            StmtKind::Range { subject, .. } => {
                let ty = function.index.underlying(function.info.type_of(subject));
                Some(!matches!(ty, Type::Slice(_) | Type::Array(_) | Type::Map(_)))
            }
            _ => None,
        }
    });
    let loops: Vec<bool> = loops.collect();
    // A loop of `goto` is none of these.
    loops.is_empty() || loops.contains(&true)
}

/// The `select` that receives from what the call gives, and the case that does.
pub(super) fn arm(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<(StmtId, u32)> {
    let file = function.file;
    let parents = file.parents(Node::Decl(cx.declared().decl));
    let mut around = parents.around(Node::Expr(call));
    let comm = around.find_map(|node| match node {
        Node::Stmt(stmt) => Some(stmt),
        _ => None,
    })?;
    let Some(Node::Stmt(select)) = parents.of(Node::Stmt(comm)) else { return None };
    let StmtKind::Select(clauses) = &file.stmt(select).kind else { return None };
    let index = clauses.iter().position(|clause| clause.comm == Some(comm))?;
    Some((select, index as u32))
}

/// How long a timer waits, in nanoseconds, if that is a constant, or a variable that is never another.
pub(super) fn wait(function: &Function<'_>, call: ExprId) -> Option<i128> {
    let duration = *function.args(call).first()?;
    let constant = |expr: ExprId| function.info.constant(expr)?.as_int();
    constant(duration).or_else(|| {
        let Def::Local(local) = *function.info.resolve(duration) else { return None };
        match function.only_definition_of(local)?.source {
            Source::Expr(value) => constant(value),
            _ => None,
        }
    })
}

/// Whether a duration is what some call gives, as one that grows from turn to turn: nobody knows how long
/// it is.
fn is_worked_out(function: &Function<'_>, duration: ExprId) -> bool {
    let duration = function.file.unparen(duration);
    match function.file.expr(duration).kind {
        ExprKind::Call { ref args, .. } => match function.info.callee(duration) {
            Callee::Conversion(_) => args.first().is_some_and(|&of| is_worked_out(function, of)),
            _ => true,
        },
        ExprKind::Binary { left, right, .. } => {
            is_worked_out(function, left) || is_worked_out(function, right)
        }
        ExprKind::Ident(_) => {
            let Def::Local(local) = *function.info.resolve(duration) else { return false };
            let mut sources = function.definitions_of(local).peekable();
            sources.peek().is_some()
                && sources.all(|definition| match definition.source {
                    Source::Expr(value) => is_call(function, value),
                    Source::Result(..) => true,
                    _ => false,
                })
        }
        _ => false,
    }
}

fn is_call(function: &Function<'_>, expr: ExprId) -> bool {
    let expr = function.file.unparen(expr);
    matches!(function.file.expr(expr).kind, ExprKind::Call { .. })
        && !matches!(function.info.callee(expr), Callee::Conversion(_))
}

pub(super) fn comes_to(cfg: &Cfg, block: BlockId, step: StepId) -> bool {
    cfg.starts_without(Start::Block(block), step, &|_| false)
}

/// A walk to the exits; a loop over the ticks themselves has no end of its own.
struct Leave<'w, 'a> {
    function: &'w Function<'a>,
    held: &'w Held<'w>,
}

impl Walk for Leave<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), _: StepId) -> Passing<()> {
        Passing::On(())
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let EdgeKind::Done(stmt) = edge.kind else { return Some(()) };
        let StmtKind::Range { subject, .. } = self.function.file.stmt(stmt).kind else {
            return Some(());
        };
        let cfg = &self.function.body(self.held.at.body).cfg;
        let step = cfg.step_of_stmt(stmt)?;
        let places = self.function.places(At { body: self.held.at.body, step }, subject);
        (!places.may_be(&self.held.whole())).then_some(())
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}
