//! A channel that a literal makes, used where a flag tells that the literal has not run.
//!
//! Evidence: a variable is declared without a channel, and one literal alone stores channels in it;
//! before it does, on every way, it sets a flag that nobody else sets. Where all ways to a use have
//! found the flag unset, and nothing after that may run the literal, the channel is nil: a close
//! panics, and a send or receive waits for ever.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{Basic, Builtin, Callee, LocalId, Type};
use crate::rules::evidence::traffic::received_from;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::summary::{At, BodyId, Definition, Function, Source};
use crate::syntax::{ExprId, Node};

/// Reports the uses of channels that nobody has made yet.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    let function = &read.function;
    let locals = || (0..scene.info.locals().len() as u32).map(LocalId);
    let is_channel = |local: &LocalId| {
        let ty = scene.cx.index().underlying(&scene.info.local(*local).ty);
        matches!(ty, Type::Chan(..))
    };
    for channel in locals().filter(is_channel) {
        let zero = |of: &Definition| matches!(of.source, Source::Zero);
        let Some(made) = Made::of(function, channel, &zero) else { continue };
        let flag = locals().find(|&flag| is_flag(scene, function, flag, &made));
        let Some(flag) = flag else { continue };
        findings.extend(use_before(scene, function, &made, flag));
    }
}

/// A variable that is unset at first, and that one literal sets.
struct Made {
    local: LocalId,
    /// The body that declares it, and the literal's.
    home: BodyId,
    body: BodyId,
    /// Where the literal sets it.
    set: Vec<At>,
}

impl Made {
    fn of(
        function: &Function<'_>,
        local: LocalId,
        unset: &dyn Fn(&Definition) -> bool,
    ) -> Option<Made> {
        let home = function.owner(local)?;
        let (first, rest): (Vec<&Definition>, Vec<&Definition>) =
            function.definitions_of(local).partition(|of| of.at.is_none_or(|at| at.body == home));
        let is_unset = matches!(first[..], [first] if first.at.is_some() && unset(first));
        let set: Vec<At> = rest.iter().filter_map(|definition| definition.at).collect();
        let body = set.first()?.body;
        let alone = set.iter().all(|at| at.body == body) && !function.is_addressed(local);
        (is_unset && alone).then_some(Made { local, home, body, set })
    }
}

/// Whether a variable is false at first, and the literal sets it before it makes the channel.
fn is_flag(scene: &Scene<'_>, function: &Function<'_>, flag: LocalId, made: &Made) -> bool {
    let is = |of: &Definition, wanted: bool| match of.source {
        Source::Zero => !wanted,
        Source::Expr(value) => {
            scene.info.constant(value).and_then(|value| value.as_bool()) == Some(wanted)
        }
        _ => false,
    };
    if !matches!(scene.info.local(flag).ty, Type::Basic(Basic::Bool)) {
        return false;
    }
    let Some(own) = Made::of(function, flag, &|of| is(of, false)) else { return false };
    let cfg = &function.body(made.body).cfg;
    let mut sets =
        function.definitions_of(flag).filter(|of| of.at.is_some_and(|at| own.set.contains(&at)));
    own.home == made.home
        && own.body == made.body
        && sets.all(|of| is(of, true))
        && own.set.iter().any(|set| made.set.iter().all(|at| cfg.dominates(set.step, at.step)))
}

fn use_before(
    scene: &Scene<'_>,
    function: &Function<'_>,
    made: &Made,
    flag: LocalId,
) -> Option<Finding> {
    let cfg = &function.body(made.home).cfg;
    let literal = function.body(made.body).literal?;
    let mut names: Vec<LocalId> = Vec::new();
    if let Some((targets, _)) =
        scene.parent(Node::Expr(literal)).and_then(|at| scene.assignment(at))
    {
        names.extend(targets.into_iter().flatten());
    }
    let within = scene.span(Node::Expr(literal));
    // Whoever is given the literal may run it as soon as he has it.
    let runs = |step: StepId| {
        let node = scene.outermost(cfg.step(step).span(scene.file));
        matches!(cfg.step(step), Step::Call(_) | Step::Go(_) | Step::Defer(_))
            && node.is_none_or(|node| {
                scene.span(node).contains(within)
                    || names.iter().any(|&name| scene.mentions(node, name))
            })
    };
    let used = |step: StepId| used_at(scene, cfg, step, made.local);
    let found = cfg.steps().find(|&step| {
        used(step).is_some() && {
            let mut walk = Unset { scene, flag, to: step, runs: &runs };
            let any = cfg.starts_without(Start::Entry, step, &|_| false);
            any && !cfg.finds(Start::Entry, false, &mut walk)
        }
    })?;
    Some(tell(scene, function, made, flag, cfg, found, used(found)?))
}

/// What is done to the channel at a step, with nothing beside.
fn used_at(scene: &Scene<'_>, cfg: &Cfg, step: StepId, channel: LocalId) -> Option<Act> {
    let is = |expr: ExprId| scene.local(expr) == Some(channel);
    match cfg.step(step) {
        Step::Recv(_) => received_from(scene, cfg, step).is_some_and(is).then_some(Act::Wait),
        Step::Send(_) => cfg.step(step).sent_on(scene.file).is_some_and(is).then_some(Act::Wait),
        Step::Call(call) => {
            let closes = matches!(scene.info.callee(call), Callee::Builtin(Builtin::Close))
                && matches!(scene.args(call), [closed] if is(*closed));
            closes.then_some(Act::Close)
        }
        _ => None,
    }
}

#[derive(Clone, Copy)]
enum Act {
    Close,
    Wait,
}

/// Looks for a way to a step on which the flag was not found unset, or the literal may have run since.
struct Unset<'u, 'a> {
    scene: &'u Scene<'a>,
    flag: LocalId,
    to: StepId,
    runs: &'u dyn Fn(StepId) -> bool,
}

impl Walk for Unset<'_, '_> {
    /// Whether the flag is unset.
    type State = bool;

    fn step(&mut self, unset: &bool, step: StepId) -> Passing<bool> {
        match step {
            step if step == self.to && !unset => Passing::Found,
            step if step == self.to => Passing::Drop,
            step => Passing::On(*unset && !(self.runs)(step)),
        }
    }

    fn edge(&mut self, unset: &bool, edge: &Edge) -> Option<bool> {
        let asks = matches!(edge.kind, EdgeKind::False(asked) if self.scene.local(asked) == Some(self.flag));
        Some(*unset || asks)
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, _: &bool, _: Exit) -> bool {
        false
    }
}

fn tell(
    scene: &Scene<'_>,
    function: &Function<'_>,
    made: &Made,
    flag: LocalId,
    cfg: &Cfg,
    at: StepId,
    act: Act,
) -> Finding {
    let (name, flag) = (scene.info.local(made.local).name, scene.info.local(flag).name);
    let what = match act {
        Act::Close => "a close of nil panics",
        Act::Wait => "nothing ever comes on a nil channel",
    };
    let message = format!("`{name}` is nil where `{flag}` is not set, and {what}");
    let span = first_line(scene, cfg.step(at).span(scene.file));
    let mut finding = scene.cx.finding(span, "nil here", message);
    finding.confidence = confidence(scene);
    let sets = made.set.iter().map(|&at| first_line(scene, function.step(at).span(scene.file)));
    finding.labels.extend(sets.take(1).map(|span| Label {
        location: scene.cx.location(span),
        role: Role::Made,
        message: format!("made here alone, after `{flag}` is set"),
    }));
    finding.why = format!("what makes `{name}` has not run where `{flag}` is not set");
    finding.help = format!("make `{name}` where it is declared");
    finding
}
