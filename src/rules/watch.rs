//! What the rules of group `watch` mean by a watch: a variable whose `ResultChan()` hands out a
//! channel of events, and whose `Stop()` ends the goroutine that sends on it.
//!
//! Here stands what a use of such a variable does to the watch in it. What is not understood hands
//! the watch over to others, who may stop it: so nothing that is claimed rests on a guess.

pub mod life;

use rustc_hash::FxHashMap;

use crate::catalog::{End, Entry, Facts, Producer};
use crate::flow::{Cfg, StepId};
use crate::index::{LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::scene::{Scene, holds_any, serves_tests};
use crate::source::Span;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtKind, Symbol, UnaryOp};

/// The method that hands out the channel of events.
pub const CHANNEL: &str = "ResultChan";

/// The method that ends a watch.
pub const STOP: &str = "Stop";

/// Methods that tell something of a watch and leave it as it is.
const QUESTIONS: [&str; 2] = ["Done", "Err"];

/// A variable that holds a watch.
#[derive(Clone, Debug)]
pub struct Watch {
    /// The variable.
    pub variable: LocalId,
    /// Its name.
    pub name: Symbol,
    /// The function literal whose variable it is; `None` for the declared function itself.
    pub owner: Option<ExprId>,
    /// Variables that hold the channel of this watch, and nothing else.
    pub channels: Vec<LocalId>,
    /// Variables that hold an event of this watch.
    pub events: Vec<LocalId>,
}

/// Where a watch comes into a variable.
#[derive(Clone, Copy, Debug)]
pub struct Opening {
    /// The assignment.
    pub node: Node,
    /// The call that makes the watch.
    pub call: ExprId,
    /// The variable that says whether the call failed.
    pub error: Option<LocalId>,
}

/// What a step does to the watch in a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It stops it, now or (by `defer`) at every exit that follows.
    Stops,
    /// The variable holds something else afterwards.
    Replaces,
    /// Others have it now, or its events are drained.
    HandsOver,
}

/// What the steps of a graph do to the watch in a variable.
#[derive(Clone, Debug, Default)]
pub struct Effects {
    /// By step.
    pub at: FxHashMap<StepId, Effect>,
    /// Those of `at` that are done by a function literal: it sees the variable, so that it also
    /// concerns watches that come into the variable later.
    pub by_literals: Vec<(StepId, Effect)>,
}

/// What a use of the variable means for the watch.
enum Use {
    Harmless,
    Stops,
    Events,
    Replaces,
    HandsOver,
}

impl Watch {
    /// The variables of the function that hold watches.
    pub fn all(scene: &Scene<'_>) -> Vec<Watch> {
        let mut variables: Vec<LocalId> = scene
            .nodes
            .iter()
            .filter_map(|&node| match node {
                Node::Expr(expr) => scene.local(channel_receiver(scene, expr)?),
                _ => None,
            })
            .collect();
        let locals = (0..scene.info.locals().len() as u32).map(LocalId);
        variables.extend(
            locals.filter(|&local| producer_of_type(scene, &scene.info.local(local).ty).is_some()),
        );
        variables.sort_unstable();
        variables.dedup();
        variables.retain(|&variable| scene.info.local(variable).kind.is_variable());
        variables.into_iter().map(|variable| Watch::new(scene, variable)).collect()
    }

    fn new(scene: &Scene<'_>, variable: LocalId) -> Watch {
        let local = scene.info.local(variable);
        let mut watch = Watch {
            variable,
            name: local.name,
            owner: local.owner,
            channels: Vec::new(),
            events: Vec::new(),
        };
        watch.channels = watch.find_channels(scene);
        watch.events = watch.find_events(scene);
        watch
    }

    /// Whether it was given to the function.
    pub fn parameter(&self, scene: &Scene<'_>) -> Option<u32> {
        match scene.info.local(self.variable).kind {
            LocalKind::Param(index) => Some(index),
            _ => None,
        }
    }

    /// Whether an expression is the channel of this watch.
    pub fn is_channel(&self, scene: &Scene<'_>, expr: ExprId) -> bool {
        let local = match channel_receiver(scene, expr) {
            Some(base) => return scene.local(base) == Some(self.variable),
            None => scene.local(expr),
        };
        local.is_some_and(|local| self.channels.contains(&local))
    }

    /// Whether an expression is `<-c` for the channel of this watch.
    pub fn is_receive(&self, scene: &Scene<'_>, expr: ExprId) -> bool {
        match scene.file.expr(scene.file.unparen(expr)).kind {
            ExprKind::Unary { op: UnaryOp::Recv, operand } => self.is_channel(scene, operand),
            _ => false,
        }
    }

    /// Where watches come into the variable, but for what function literals below do.
    pub fn openings(&self, scene: &Scene<'_>) -> Vec<Opening> {
        let own = |&&node: &&Node| scene.literal_around(node) == self.owner;
        scene
            .nodes
            .iter()
            .filter(own)
            .filter_map(|&node| {
                let (left, right) = scene.assignment(node)?;
                let &[call] = right else { return None };
                let call = scene.file.unparen(call);
                if !matches!(scene.file.expr(call).kind, ExprKind::Call { .. }) {
                    return None;
                }
                match *left {
                    [Some(watch)] if watch == self.variable => {
                        Some(Opening { node, call, error: None })
                    }
                    [Some(watch), error] if watch == self.variable => {
                        Some(Opening { node, call, error })
                    }
                    _ => None,
                }
            })
            .collect()
    }

    /// What the steps of the graph of the owner's body do to the watch.
    pub fn effects(&self, scene: &Scene<'_>, graph: &Cfg) -> Effects {
        let mut effects = Effects::default();
        let mut literals: Vec<ExprId> = Vec::new();
        for expr in self.all_uses(scene) {
            if let Some(literal) = scene.literal_below(self.owner, Node::Expr(expr)) {
                literals.push(literal);
                continue;
            }
            let effect = match self.use_of(scene, expr) {
                Use::Harmless | Use::Events => continue,
                Use::Stops => Effect::Stops,
                Use::Replaces => Effect::Replaces,
                Use::HandsOver => Effect::HandsOver,
            };
            let around = scene.parent(Node::Expr(expr)).unwrap_or(Node::Expr(expr));
            if let Some(step) = scene.step_of(graph, around) {
                effects.add(step, effect);
            }
        }
        literals.sort_unstable();
        literals.dedup();
        for literal in literals {
            let (at, effect) = match self.deferred_effect(scene, literal) {
                Some((at, Some(effect))) => (at, effect),
                Some((_, None)) => continue,
                None => (Node::Expr(literal), Effect::HandsOver),
            };
            if let Some(step) = scene.step_of(graph, at) {
                effects.add(step, effect);
                effects.by_literals.push((step, effect));
            }
        }
        effects
    }

    /// Where the variable, or one of its channels, is named.
    fn all_uses(&self, scene: &Scene<'_>) -> impl Iterator<Item = ExprId> {
        let channels = self.channels.iter().flat_map(|&channel| scene.uses(channel));
        scene.uses(self.variable).chain(channels)
    }

    /// For a literal of `defer func() { ... }()`: the statement, and what the literal does to the
    /// watch when it runs.
    fn deferred_effect(
        &self,
        scene: &Scene<'_>,
        literal: ExprId,
    ) -> Option<(Node, Option<Effect>)> {
        let Node::Expr(call) = scene.parent(Node::Expr(literal))? else { return None };
        let at = scene.parent(Node::Expr(call))?;
        let Node::Stmt(stmt) = at else { return None };
        let StmtKind::Defer(deferred) = scene.file.stmt(stmt).kind else { return None };
        if scene.file.unparen(deferred) != call || scene.args(call).contains(&literal) {
            return None;
        }
        let below = |expr: &ExprId| {
            scene.around(Node::Expr(*expr)).any(|around| around == Node::Expr(literal))
        };
        let mut stops = false;
        for expr in self.all_uses(scene).filter(below) {
            match self.use_of(scene, expr) {
                Use::Harmless => {}
                Use::Stops => stops = true,
                // A deferred receive drains; a deferred assignment is beyond this room.
                Use::Events | Use::Replaces | Use::HandsOver => {
                    return Some((at, Some(Effect::HandsOver)));
                }
            }
        }
        Some((at, stops.then_some(Effect::Stops)))
    }

    /// What naming the variable, or one of its channels, at `expr` does.
    fn use_of(&self, scene: &Scene<'_>, expr: ExprId) -> Use {
        let is_channel = scene.local(expr) != Some(self.variable);
        let Some(around) = scene.parent(Node::Expr(expr)) else { return Use::HandsOver };
        match around {
            Node::Expr(outer) => match &scene.file.expr(outer).kind {
                ExprKind::Selector { name, .. } if !is_channel => {
                    self.selected(scene, outer, name.name.as_str())
                }
                ExprKind::Binary { op: BinaryOp::Eq | BinaryOp::Ne, left, right, .. }
                    if scene.is_nil(*left) || scene.is_nil(*right) =>
                {
                    Use::Harmless
                }
                ExprKind::Unary { op: UnaryOp::Recv, .. } if is_channel => Use::Events,
                _ => Use::HandsOver,
            },
            Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                StmtKind::Range { subject, .. }
                    if is_channel && scene.file.unparen(*subject) == expr =>
                {
                    Use::Events
                }
                StmtKind::Assign { left, op: None, right } | StmtKind::Define { left, right } => {
                    match left.contains(&expr) {
                        true if is_channel => Use::Harmless,
                        true => Use::Replaces,
                        false
                            if left.len() == right.len()
                                && is_discarded(scene, left, right, expr) =>
                        {
                            Use::Harmless
                        }
                        false => Use::HandsOver,
                    }
                }
                _ => Use::HandsOver,
            },
            Node::Decl(_) => Use::HandsOver,
        }
    }

    /// What `w.name` does.
    fn selected(&self, scene: &Scene<'_>, selector: ExprId, name: &str) -> Use {
        let called = match scene.parent(Node::Expr(selector)) {
            Some(Node::Expr(call)) => match scene.file.expr(call).kind {
                ExprKind::Call { callee, .. } if scene.file.unparen(callee) == selector => {
                    Some(call)
                }
                _ => None,
            },
            _ => None,
        };
        match called {
            Some(_) if name == STOP => Use::Stops,
            Some(_) if QUESTIONS.contains(&name) => Use::Harmless,
            Some(call) if name == CHANNEL => self.channel_used(scene, call),
            _ => Use::HandsOver,
        }
    }

    /// What is done with the result of `w.ResultChan()`.
    fn channel_used(&self, scene: &Scene<'_>, call: ExprId) -> Use {
        match scene.parent(Node::Expr(call)) {
            Some(Node::Expr(outer)) => match &scene.file.expr(outer).kind {
                ExprKind::Unary { op: UnaryOp::Recv, .. } => Use::Events,
                _ => Use::HandsOver,
            },
            Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
                StmtKind::Range { .. } => Use::Events,
                _ => match scene.assignment(Node::Stmt(stmt)) {
                    Some((left, _)) if is_one_of(&left, &self.channels) => Use::Harmless,
                    _ => Use::HandsOver,
                },
            },
            Some(Node::Decl(decl)) => match scene.assignment(Node::Decl(decl)) {
                Some((left, _)) if is_one_of(&left, &self.channels) => Use::Harmless,
                _ => Use::HandsOver,
            },
            None => Use::HandsOver,
        }
    }

    /// Variables to which nothing but `w.ResultChan()` is ever assigned.
    fn find_channels(&self, scene: &Scene<'_>) -> Vec<LocalId> {
        let mut channels: Vec<LocalId> = Vec::new();
        let mut others: Vec<LocalId> = Vec::new();
        for &node in scene.nodes.iter() {
            let Some((left, right)) = scene.assignment(node) else { continue };
            match (&*left, right) {
                ([Some(local)], &[value])
                    if channel_receiver(scene, value)
                        .is_some_and(|base| scene.local(base) == Some(self.variable)) =>
                {
                    channels.push(*local);
                }
                _ => others.extend(left.iter().flatten()),
            }
        }
        channels.retain(|channel| {
            !others.contains(channel) && scene.info.local(*channel).owner == self.owner
        });
        channels.sort_unstable();
        channels.dedup();
        channels
    }

    /// Variables that a receive from the channel, or a range over it, stores an event in.
    fn find_events(&self, scene: &Scene<'_>) -> Vec<LocalId> {
        let mut events: Vec<LocalId> = scene
            .nodes
            .iter()
            .filter_map(|&node| {
                if let Node::Stmt(stmt) = node
                    && let StmtKind::Range { key: Some(key), subject, .. } =
                        scene.file.stmt(stmt).kind
                {
                    return self.is_channel(scene, subject).then(|| scene.local(key))?;
                }
                let (left, right) = scene.assignment(node)?;
                let &[value] = right else { return None };
                self.is_receive(scene, value).then(|| *left.first()?)?
            })
            .collect();
        events.sort_unstable();
        events.dedup();
        events
    }
}

impl Effects {
    fn add(&mut self, step: StepId, effect: Effect) {
        let known = self.at.entry(step).or_insert(effect);
        *known = (*known).max(effect);
    }
}

/// `w` of `w.ResultChan()`.
pub fn channel_receiver(scene: &Scene<'_>, expr: ExprId) -> Option<ExprId> {
    let (base, name) = scene.method_call(expr)?;
    let call = scene.file.unparen(expr);
    (name.name.as_str() == CHANNEL && scene.args(call).is_empty()).then_some(base)
}

/// Whether a function's text may speak of a watch: it names the channel, or something like
/// `Watch(...)` or `watch.Interface`.
pub fn may_have_any(cx: &FunctionCx<'_>) -> bool {
    holds_any(cx, &[CHANNEL, "atch"])
}

/// What the catalog says of values of this type as producers of events.
fn producer_of_type<'a>(scene: &Scene<'a>, ty: &Type) -> Option<&'a Entry> {
    let named = ty.named()?;
    producers(scene.facts_of(named.qualified())).next()
}

fn producers(facts: &Facts) -> impl Iterator<Item = &Entry> {
    let of_events = |(_, producer): &(&Entry, &Producer)| &*producer.channel == CHANNEL;
    facts.of::<Producer>().filter(of_events).map(|(entry, _)| entry)
}

/// The catalog's entry on the goroutine behind a watch: known by the variable's type, or, where
/// types are missing, by the module whose client the opening call is by its form.
pub fn producer<'a>(scene: &Scene<'a>, watch: &Watch, opening: &Opening) -> Option<&'a Entry> {
    let ty = &scene.info.local(watch.variable).ty;
    if !ty.is_unknown() {
        return producer_of_type(scene, ty);
    }
    let (form, _) = scene.resource_by_form(opening.call)?;
    let catalog = scene.cx.catalog();
    let packages = catalog.known_packages();
    packages
        .into_iter()
        .flat_map(|package| catalog.describe(package))
        .flat_map(|(_, facts)| producers(facts))
        .find(|entry| entry.gate.module == form.gate.module)
}

/// Whether leaving this call's watch without `Stop` leaves a goroutine: the catalog says so of the
/// call, or nothing is given to it that could end the watch from outside.
pub fn needs_stop(scene: &Scene<'_>, call: ExprId) -> bool {
    let by_form = || scene.resource_by_form(call).map(|(_, resource)| resource);
    match scene.resource(call).or_else(by_form) {
        Some(resource) => {
            resource.context.is_none() && resource.ends.contains(&End::Method(STOP.into()))
        }
        None => scene.args(call).iter().all(|&arg| {
            let ty = scene.info.type_of(arg);
            !ty.is_unknown() && !ends_others(ty)
        }),
    }
}

/// Whether a value of this type can end what it is given to: a context, a channel, a function, or a
/// structure that may hold one.
fn ends_others(ty: &Type) -> bool {
    !matches!(ty, Type::Basic(_) | Type::Slice(_) | Type::Map(_))
}

/// Whether a file is about tests, whose goroutines end with the process.
pub fn is_about_tests(scene: &Scene<'_>) -> bool {
    serves_tests(scene.cx.index(), scene.cx.func)
}

/// Whether the function is a program's `main`, whose end is the end of all goroutines.
pub fn is_main(scene: &Scene<'_>) -> bool {
    let package = scene.file.package.map(|package| package.name);
    scene.cx.declared().receiver.is_none()
        && scene.name.name.as_str() == "main"
        && package.is_some_and(|name| name.as_str() == "main")
}

/// The closing brace of a body.
pub fn closing_brace(scene: &Scene<'_>, owner: Option<ExprId>) -> Span {
    let end = scene.file.stmt(scene.body_of(owner)).span.end;
    Span::new(end.saturating_sub(1), end)
}

/// What a function or literal is called in a message.
pub fn called(scene: &Scene<'_>, owner: Option<ExprId>) -> String {
    match owner {
        None => format!("`{}`", scene.name.name),
        Some(_) => format!("this function literal in `{}`", scene.name.name),
    }
}

fn is_one_of(left: &[Option<LocalId>], locals: &[LocalId]) -> bool {
    matches!(left, [Some(local)] if locals.contains(local))
}

/// Whether `expr` is assigned to the blank identifier.
fn is_discarded(scene: &Scene<'_>, left: &[ExprId], right: &[ExprId], expr: ExprId) -> bool {
    let place = right.iter().position(|&value| scene.file.unparen(value) == expr);
    place.is_some_and(|place| {
        matches!(scene.file.expr(left[place]).kind, ExprKind::Ident(name) if name.is_blank())
    })
}
