//! What the steps of a function do to one channel that nobody else knows.

mod count;
pub(super) mod last;

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Builtin, Callee, Def, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::conditions::{condition, names_any};
use crate::rules::evidence::runs::{How, runs};
use crate::rules::evidence::traffic::last::Last;
use crate::rules::evidence::{ends_process, first_line};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::summary::{At, BodyId, Read};
use crate::syntax::{DeclKind, ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// So many sends count as any number.
pub(super) const MANY: u8 = 100;

/// How many calls deep a channel is followed.
const MAX_DEPTH: u32 = 3;

/// How many names a channel can have.
const MAX_ALIASES: usize = 8;

/// What a step does to the channel.
#[derive(Clone, Debug)]
pub(super) enum Deed {
    /// It sends, and waits until somebody receives.
    Send,
    /// It sends, or does something else.
    GuardedSend,
    /// It receives.
    Receive,
    /// It closes.
    Close,
    /// It runs a literal of the function that uses the channel.
    Literal(How, BodyId),
    /// It gives the channel to a function.
    Function(How, Volume),
}

/// What running a body does to the channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Volume {
    /// How many sends that wait there are at most on a path, those of goroutines that it starts
    /// included.
    pub sends: u8,
    /// Whether it sends, be it only if nothing else comes first.
    pub offers: bool,
    /// Whether it receives.
    pub receives: bool,
    /// Whether it receives only if nothing else comes first, and can return without.
    pub may_leave: bool,
    /// Whether it closes.
    pub closes: bool,
    /// Whether after some send none follows.
    pub has_last: bool,
    /// How the last value is known to be that, if what was sent decides whether another one follows.
    pub last: Option<Last>,
    /// Whether there is a way through on which nothing is sent.
    pub may_pass: bool,
    /// The first send in the text.
    pub sent_at: Option<Location>,
    /// Where it ranges over the channel, with no way out but its close.
    pub ranges: Option<Location>,
    /// What its first result says wherever it has sent, if that is one word.
    pub answer: Option<bool>,
}

/// A channel that only the steps of one function, and functions that it is given to, use.
pub(super) struct Channel<'s, 'a> {
    pub scene: &'s Scene<'a>,
    pub read: Arc<Read<'a>>,
    /// Its names.
    pub aliases: Vec<LocalId>,
    /// The body whose variable it is.
    pub owner: BodyId,
    pub deeds: FxHashMap<At, Vec<Deed>>,
    volumes: FxHashMap<BodyId, Volume>,
    /// The literals that only send on it, are given to calls, and run when those like.
    pub callbacks: Vec<BodyId>,
    /// The call that gives it, if that stands where the channel is used.
    origin: Option<ExprId>,
    /// Where its function gives it to its callers, and as which result; `None` if nobody may.
    returned: Option<Vec<(StmtId, u32)>>,
}

/// Whether a function asks for the length of what is such.
pub(super) fn asks_length(scene: &Scene<'_>, is_it: &dyn Fn(ExprId) -> bool) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        matches!(scene.file.expr(call).kind, ExprKind::Call { .. })
            && matches!(scene.info.callee(call), Callee::Builtin(Builtin::Len))
            && scene.args(call).first().is_some_and(|&asked| is_it(asked))
    })
}

impl<'s, 'a> Channel<'s, 'a> {
    /// The channel that a variable of the function always is; `None` if somebody else may use it,
    /// or if it is not known when something is done to it.
    pub fn of(scene: &'s Scene<'a>, read: &Arc<Read<'a>>, local: LocalId) -> Option<Self> {
        Channel::with_callbacks(scene, read, local).filter(|channel| channel.callbacks.is_empty())
    }

    /// The same, where callbacks may send on it too: when they do is not known, and in no deed.
    pub fn with_callbacks(
        scene: &'s Scene<'a>,
        read: &Arc<Read<'a>>,
        local: LocalId,
    ) -> Option<Self> {
        Channel::at_depth(scene, read, local, 0)
    }

    /// The channel that a variable of the function always is, which its callers get too, and where
    /// they do. Callbacks may send on it too.
    pub fn returned(
        scene: &'s Scene<'a>,
        read: &Arc<Read<'a>>,
        local: LocalId,
    ) -> Option<(Self, Vec<(StmtId, u32)>)> {
        let mut channel = Channel::empty(scene, read, read.function.owner(local)?);
        channel.aliases.push(local);
        channel.returned = Some(Vec::new());
        let mut channel = channel.filled(0)?;
        let returned = channel.returned.take()?;
        Some((channel, returned))
    }

    /// The channel that a call gives, which is this variable if it is one.
    pub fn given(
        scene: &'s Scene<'a>,
        read: &Arc<Read<'a>>,
        call: ExprId,
        local: Option<LocalId>,
    ) -> Option<Self> {
        let owner = body_of(scene, read, Node::Expr(call))?;
        let mut channel = Channel::empty(scene, read, owner);
        match local {
            Some(local) if read.function.owner(local) != Some(owner) => return None,
            Some(local) => channel.aliases.push(local),
            None => {
                channel.origin = Some(call);
                channel.add_use(call, 0)?;
            }
        }
        channel.filled(0)
    }

    fn at_depth(
        scene: &'s Scene<'a>,
        read: &Arc<Read<'a>>,
        local: LocalId,
        depth: u32,
    ) -> Option<Self> {
        let mut channel = Channel::empty(scene, read, read.function.owner(local)?);
        channel.aliases.push(local);
        channel.filled(depth)
    }

    fn empty(scene: &'s Scene<'a>, read: &Arc<Read<'a>>, owner: BodyId) -> Self {
        Channel {
            scene,
            read: Arc::clone(read),
            aliases: Vec::new(),
            owner,
            deeds: FxHashMap::default(),
            volumes: FxHashMap::default(),
            callbacks: Vec::new(),
            origin: None,
            returned: None,
        }
    }

    /// Reads all that is done by its names.
    fn filled(mut self, depth: u32) -> Option<Self> {
        let (scene, channel) = (self.scene, &mut self);
        let mut next = 0;
        while let Some(&alias) = channel.aliases.get(next) {
            next += 1;
            if next > MAX_ALIASES {
                return None;
            }
            for usage in scene.uses(alias).collect::<Vec<_>>() {
                channel.add_use(usage, depth)?;
            }
        }
        channel.add_literals()?;
        channel.measure()?;
        Some(self)
    }

    /// What running a body does.
    pub fn volume(&self, body: BodyId) -> Volume {
        self.volumes.get(&body).copied().unwrap_or_default()
    }

    /// What a step does.
    pub fn deeds_at(&self, at: At) -> &[Deed] {
        self.deeds.get(&at).map_or(&[], Vec::as_slice)
    }

    /// Whether an expression names the channel.
    pub fn is_named(&self, expr: ExprId) -> bool {
        self.scene.local(expr).is_some_and(|local| self.aliases.contains(&local))
            || self.origin.is_some_and(|origin| self.scene.file.unparen(expr) == origin)
    }

    fn at(&self, node: Node) -> Option<At> {
        place_of(self.scene, &self.read, node)
    }

    fn add(&mut self, at: Option<At>, deed: Deed) -> Option<()> {
        // What is never reached does nothing.
        if let Some(at) = at {
            self.deeds.entry(at).or_default().push(deed);
        }
        Some(())
    }

    /// Reads one use of a name; `None` if it is more than is understood.
    fn add_use(&mut self, usage: ExprId, depth: u32) -> Option<()> {
        let (scene, file) = (self.scene, self.scene.file);
        let around = scene.parent(Node::Expr(usage))?;
        match around {
            Node::Stmt(stmt) => match &file.stmt(stmt).kind {
                StmtKind::Send { channel, .. } if file.unparen(*channel) == usage => {
                    let deed = match is_guarded(scene, around) {
                        false => Deed::Send,
                        true => Deed::GuardedSend,
                    };
                    self.add(self.at(around), deed)
                }
                StmtKind::Range { subject, .. } if file.unparen(*subject) == usage => {
                    let body = body_of(scene, &self.read, around);
                    let at = body.and_then(|body| {
                        let step = self.read.function.body(body).cfg.step_of_stmt(stmt)?;
                        Some(At { body, step })
                    });
                    self.add(at, Deed::Receive)
                }
                StmtKind::Define { left, .. } | StmtKind::Assign { left, op: None, .. }
                    if left.contains(&usage) || self.origin == Some(usage) =>
                {
                    Some(())
                }
                StmtKind::Expr(_) if self.origin == Some(usage) => Some(()),
                StmtKind::Return(values) if scene.literal_around(around).is_none() => {
                    let place = values.iter().position(|&value| file.unparen(value) == usage)?;
                    self.returned.as_mut()?.push((stmt, place as u32));
                    Some(())
                }
                _ => None,
            },
            Node::Expr(expr) => match &file.expr(expr).kind {
                ExprKind::Unary { op: UnaryOp::Recv, .. } => {
                    self.add(self.at(around), Deed::Receive)
                }
                ExprKind::Binary { .. } => Some(()),
                ExprKind::Call { args, .. } => {
                    let index = args.iter().position(|&arg| file.unparen(arg) == usage)?;
                    self.add_argument(expr, index as u32, depth)
                }
                _ => None,
            },
            Node::Decl(_) => None,
        }
    }

    /// The channel is given to a call.
    fn add_argument(&mut self, call: ExprId, index: u32, depth: u32) -> Option<()> {
        let (scene, read) = (self.scene, Arc::clone(&self.read));
        match scene.info.callee(call) {
            Callee::Builtin(Builtin::Close) => self.add(read.function.at_call(call), Deed::Close),
            Callee::Builtin(Builtin::Len | Builtin::Cap) => Some(()),
            Callee::Literal(literal) => self.add_parameter(*literal, index),
            Callee::Value(value) => {
                let literal = literal_of(&read, scene.local(*value)?)?;
                let called_once = scene.uses(scene.local(*value)?).count() <= 2;
                self.add_parameter(literal, index).filter(|()| called_once)
            }
            Callee::Func(func) => {
                let known = FunctionCx { func: *func, ..scene.cx };
                if depth >= MAX_DEPTH || scene.cx.func == *func {
                    return None;
                }
                let volume = given(known, index, depth + 1)?;
                let how = match scene.parent(Node::Expr(call)) {
                    Some(Node::Stmt(stmt)) => match scene.file.stmt(stmt).kind {
                        StmtKind::Go(_) => How::Go,
                        StmtKind::Defer(_) => How::Defer,
                        _ => How::Call,
                    },
                    _ => How::Call,
                };
                self.add(read.function.at_call(call), Deed::Function(how, volume))
            }
            _ => None,
        }
    }

    /// The channel is given to a literal, as this parameter.
    fn add_parameter(&mut self, literal: ExprId, index: u32) -> Option<()> {
        let param = self.scene.info.param(Some(literal), index)?;
        let given_once = self.read.function.definitions_of(param).count() == 1;
        self.aliases.push(param);
        given_once.then_some(())
    }

    /// Adds where the literals run that use the channel; those inside others first.
    fn add_literals(&mut self) -> Option<()> {
        let read = Arc::clone(&self.read);
        for body in read.function.bodies().rev() {
            if body == self.owner || !self.deeds.keys().any(|at| at.body == body) {
                continue;
            }
            match runs(self.scene, &read.function, body) {
                Some(runs) => {
                    for run in runs {
                        self.add(Some(run.at), Deed::Literal(run.how, body))?;
                    }
                }
                None if self.is_callback(body) => self.callbacks.push(body),
                None => return None,
            }
        }
        // A literal that is run by one that stands before it was not seen to use the channel.
        let stray = |at: &At| {
            at.body != self.owner
                && !self
                    .deeds
                    .values()
                    .flatten()
                    .any(|deed| matches!(deed, Deed::Literal(_, body) if *body == at.body))
        };
        let used =
            |at: &At| runs(self.scene, &read.function, at.body).is_some_and(|r| !r.is_empty());
        (!self.deeds.keys().any(|at| stray(at) && used(at))).then_some(())
    }

    /// Whether a body is a literal that is given to a call, and only sends.
    fn is_callback(&self, body: BodyId) -> bool {
        let Some(literal) = self.read.function.body(body).literal else { return false };
        let mut deeds = self.deeds.iter().filter(|(at, _)| at.body == body);
        self.scene.given_to(literal).is_some()
            && deeds.all(|(_, deeds)| {
                deeds.iter().all(|deed| matches!(deed, Deed::Send | Deed::GuardedSend))
            })
    }

    /// Measures all bodies, those inside others first; `None` if literals run each other.
    fn measure(&mut self) -> Option<()> {
        let read = Arc::clone(&self.read);
        let mut open: Vec<BodyId> = read
            .function
            .bodies()
            .filter(|&body| body != self.owner || self.scene_is_callee())
            .filter(|body| self.deeds.keys().any(|at| at.body == *body))
            .collect();
        while !open.is_empty() {
            let before = open.len();
            open.retain(|&body| {
                let ready =
                    self.deeds.iter().filter(|(at, _)| at.body == body).all(|(_, deeds)| {
                        deeds.iter().all(|deed| match deed {
                            Deed::Literal(_, inner) => self.volumes.contains_key(inner),
                            _ => true,
                        })
                    });
                if ready {
                    let volume = self.measure_body(body);
                    self.volumes.insert(body, volume);
                }
                !ready
            });
            if open.len() == before {
                return None;
            }
        }
        Some(())
    }

    /// Whether the channel is a parameter, so that all of the function is somebody's traffic.
    fn scene_is_callee(&self) -> bool {
        let Some(&first) = self.aliases.first() else { return false };
        let kind = self.scene.info.local(first).kind;
        matches!(kind, LocalKind::Param(_)) && self.owner == BodyId::OWN
    }

    fn measure_body(&self, body: BodyId) -> Volume {
        let function = &self.read.function;
        let cfg = &function.body(body).cfg;
        let mut volume = Volume::default();
        let mut sends: Vec<StepId> = Vec::new();
        for step in cfg.steps() {
            let at = At { body, step };
            for deed in self.deeds_at(at) {
                let inner = self.inner(deed);
                volume.offers |= inner.offers || matches!(deed, Deed::Send | Deed::GuardedSend);
                volume.receives |= inner.receives || matches!(deed, Deed::Receive);
                volume.closes |= inner.closes || matches!(deed, Deed::Close);
                let sent_here = match deed {
                    Deed::Send => {
                        sends.push(step);
                        let span = cfg.step(step).span(function.file);
                        Some(self.scene.cx.location(span))
                    }
                    _ => {
                        if inner.sends > 0 {
                            sends.push(step);
                        }
                        inner.sent_at
                    }
                };
                volume.sent_at = volume.sent_at.or(sent_here);
                let ranges = || {
                    let Step::Next(range) = cfg.step(step) else { return None };
                    let span = function.file.stmt(range).span;
                    let span = first_line(self.scene, span);
                    goes_on(cfg, step, Some(range)).then(|| self.scene.cx.location(span))
                };
                volume.ranges = volume.ranges.or(inner.ranges).or_else(ranges);
            }
        }
        if volume.receives {
            volume.may_leave = self.may_leave(body);
        }
        if sends.is_empty() {
            return volume;
        }
        volume.may_pass = cfg.finds(Start::Entry, (), &mut Around { sends: &sends });
        let all: FxHashSet<StepId> = sends.iter().copied().collect();
        volume.has_last =
            sends.iter().any(|&send| !cfg.reaches_any(send, &|step| all.contains(&step)));
        volume.last = last::last(self, body, &sends);
        volume.answer = count::answer(self, body, &sends);
        volume.sends = count::most(self, body, sends.len() > 1);
        volume
    }

    /// Whether an arm of a `select` leads out of a body that receives in another arm of it, and in
    /// no other place.
    fn may_leave(&self, body: BodyId) -> bool {
        let cfg = &self.read.function.body(body).cfg;
        let receives: Vec<StepId> = cfg
            .steps()
            .filter(|&step| {
                self.deeds_at(At { body, step })
                    .iter()
                    .any(|deed| matches!(deed, Deed::Receive) || self.inner(deed).receives)
            })
            .collect();
        let all_arms = receives.iter().all(|&step| matches!(cfg.step(step), Step::Comm(_)));
        let paths = cfg.search(Start::Entry, (), &mut Around { sends: &receives });
        all_arms
            && paths.iter().any(|path| {
                matches!(path.end, PathEnd::Exit(_, Exit::Return(_) | Exit::End))
                    && path.decisions().any(|kind| matches!(kind, EdgeKind::Arm(..)))
                    && !path.decisions().filter_map(condition).any(|asked| {
                        names_any(&self.read.function, Node::Expr(asked), &self.aliases)
                    })
            })
    }

    /// What a step is.
    pub fn step(&self, at: At) -> Step {
        self.read.function.step(at)
    }

    /// What a deed comes to, literals and functions followed.
    pub fn inner(&self, deed: &Deed) -> Volume {
        match deed {
            Deed::Literal(_, body) => self.volume(*body),
            Deed::Function(_, volume) => *volume,
            _ => Volume::default(),
        }
    }
}

/// Looks for ways around some steps.
struct Around<'a> {
    sends: &'a [StepId],
}

impl Walk for Around<'_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if self.sends.contains(&step) { Passing::Drop } else { Passing::On(()) }
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        true
    }
}

/// Whether a body does not end once it has come to a step, but by the end of one of its ranges.
pub(super) fn goes_on(cfg: &Cfg, from: StepId, range: Option<StmtId>) -> bool {
    struct Out {
        range: Option<StmtId>,
    }
    impl Walk for Out {
        type State = ();
        fn step(&mut self, (): &(), _: StepId) -> Passing<()> {
            Passing::On(())
        }
        fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
            (!matches!(edge.kind, EdgeKind::Done(range) if Some(range) == self.range)).then_some(())
        }
        fn passes_missing(&self) -> bool {
            true
        }
        fn exit(&mut self, (): &(), _: Exit) -> bool {
            true
        }
    }
    !cfg.finds(Start::After(from), (), &mut Out { range })
}

/// What a function does to a channel that it is given; `None` if that is not understood.
pub(super) fn given(cx: FunctionCx<'_>, index: u32, depth: u32) -> Option<Volume> {
    let file = cx.file();
    let DeclKind::Func(func) = &file.decl(cx.declared().decl).kind else { return None };
    if func.signature.params.iter().any(|param| param.variadic) {
        return None;
    }
    let read = cx.summaries().read(cx.func)?;
    let scene = Scene::new(cx)?;
    let Some(param) = scene.info.param(None, index) else {
        // A parameter without a name is not used.
        return Some(Volume::default());
    };
    if read.function.definitions_of(param).count() != 1 {
        return None;
    }
    let channel = Channel::at_depth(&scene, &read, param, depth)?;
    channel.callbacks.is_empty().then(|| channel.volume(BodyId::OWN))
}

/// The literal that a variable always is.
fn literal_of(read: &Read<'_>, variable: LocalId) -> Option<ExprId> {
    let definition = read.function.only_definition_of(variable)?;
    let crate::summary::Source::Expr(value) = definition.source else { return None };
    let value = read.function.file.unparen(value);
    matches!(read.function.file.expr(value).kind, ExprKind::FuncLit(_)).then_some(value)
}

/// The body that a node stands in; `None` if that is never reached.
pub(super) fn body_of(scene: &Scene<'_>, read: &Read<'_>, node: Node) -> Option<BodyId> {
    read.function.body_of(scene.literal_around(node))
}

/// The step that a node is part of; `None` if that is never reached.
pub(super) fn place_of(scene: &Scene<'_>, read: &Read<'_>, node: Node) -> Option<At> {
    let body = body_of(scene, read, node)?;
    let cfg: &Cfg = &read.function.body(body).cfg;
    Some(At { body, step: scene.step_of(cfg, node)? })
}

/// Whether a send is one of several clauses of a `select`, or a panic handler's: it waits only if
/// something else has gone wrong.
fn is_guarded(scene: &Scene<'_>, send: Node) -> bool {
    if let Some(Node::Stmt(stmt)) = scene.parent(send)
        && let StmtKind::Select(clauses) = &scene.file.stmt(stmt).kind
        && clauses.iter().any(|clause| clause.comm.map(Node::Stmt) == Some(send))
        && clauses.len() > 1
    {
        return true;
    }
    after_recover(scene, send)
}

/// Whether a statement is only reached after a panic that was recovered.
pub(super) fn after_recover(scene: &Scene<'_>, node: Node) -> bool {
    let recovers = |cond: Node| {
        scene.file.descendants(cond).any(|node| match node {
            Node::Expr(call) => {
                matches!(scene.info.callee(call), Callee::Builtin(Builtin::Recover))
            }
            _ => false,
        })
    };
    let literal = scene.literal_around(node);
    scene
        .around(node)
        .take_while(|around| *around != literal.map_or(*around, Node::Expr) || literal.is_none())
        .any(|around| {
            let Node::Stmt(stmt) = around else { return false };
            let StmtKind::If { init, cond, .. } = scene.file.stmt(stmt).kind else { return false };
            if recovers(Node::Expr(cond)) || init.is_some_and(|init| recovers(Node::Stmt(init))) {
                return true;
            }
            names(scene, Node::Expr(cond)).any(|local| is_recovered(scene, local, &recovers))
        })
}

fn names(scene: &Scene<'_>, node: Node) -> impl Iterator<Item = LocalId> {
    scene.file.descendants(node).filter_map(|node| match node {
        Node::Expr(expr) => match scene.info.resolve(expr) {
            Def::Local(local) => Some(*local),
            _ => None,
        },
        _ => None,
    })
}

fn is_recovered(scene: &Scene<'_>, local: LocalId, recovers: &dyn Fn(Node) -> bool) -> bool {
    scene.uses(local).any(|usage| match scene.parent(Node::Expr(usage)) {
        Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
            StmtKind::Define { left, right } | StmtKind::Assign { left, right, .. } => {
                left.contains(&usage) && right.iter().any(|&value| recovers(Node::Expr(value)))
            }
            _ => false,
        },
        _ => false,
    })
}

/// Visits the channels that a function makes and of which all is understood, but for those that end with
/// the process.
pub(super) fn each_channel(scene: &Scene<'_>, mut visit: impl FnMut(&Channel<'_, '_>, Made)) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    for made in made_channels(scene, &read) {
        if made.at.body == BodyId::OWN && ends_process(&scene.cx) {
            continue;
        }
        if let Some(channel) = Channel::of(scene, &read, made.local) {
            visit(&channel, made);
        }
    }
}

/// Visits the channels that a function makes in its own body and gives its callers, with where it does and as which
/// result, and of which all else is understood.
pub(super) fn each_returned<'a>(
    scene: &Scene<'a>,
    mut visit: impl FnMut(&Channel<'_, 'a>, Made, &[(StmtId, u32)]),
) {
    let Type::Func(signature) = scene.cx.index().func_type(scene.cx.func) else { return };
    let gives = |ty: &Type| matches!(scene.cx.index().underlying(ty), Type::Chan(..));
    if !signature.results.iter().any(gives) {
        return;
    }
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    for made in made_channels(scene, &read) {
        if made.at.body == BodyId::OWN
            && let Some((channel, returned)) = Channel::returned(scene, &read, made.local)
        {
            visit(&channel, made, &returned);
        }
    }
}

/// The channels that variables of the function are from where they are made, and for ever.
pub(super) fn made_channels(scene: &Scene<'_>, read: &Read<'_>) -> Vec<Made> {
    let function = &read.function;
    let mut found = Vec::new();
    for number in 0..scene.info.locals().len() as u32 {
        let local = LocalId(number);
        if scene.info.local(local).kind != LocalKind::Var {
            continue;
        }
        let Some(definition) = function.only_definition_of(local) else { continue };
        let (crate::summary::Source::Expr(make), Some(at)) = (definition.source, definition.at)
        else {
            continue;
        };
        let make = scene.file.unparen(make);
        if let Some(capacity) = capacity(scene, make) {
            found.push(Made { local, make, at, capacity });
        }
    }
    found
}

/// A channel that is made and stored in a variable.
#[derive(Clone, Copy)]
pub(super) struct Made {
    pub local: LocalId,
    /// The `make`.
    pub make: ExprId,
    /// Where it is stored.
    pub at: At,
    pub capacity: u8,
}

/// The capacity of a `make(chan T, n)`, if it is known and small.
fn capacity(scene: &Scene<'_>, make: ExprId) -> Option<u8> {
    if !matches!(scene.info.callee(make), Callee::Builtin(Builtin::Make)) {
        return None;
    }
    let args = scene.args(make);
    let ty = args.first()?;
    if !matches!(scene.cx.index().underlying(scene.info.type_of(*ty)), Type::Chan(..)) {
        return None;
    }
    match args.get(1) {
        None => Some(0),
        Some(&capacity) => {
            let capacity = scene.info.constant(capacity)?.as_int()?;
            u8::try_from(capacity).ok().filter(|&capacity| capacity <= 4)
        }
    }
}

/// What a step receives from, that of a `range` included.
pub(super) fn received_from(scene: &Scene<'_>, cfg: &Cfg, step: StepId) -> Option<ExprId> {
    match cfg.step(step) {
        Step::Next(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::Range { subject, .. } => Some(subject),
            _ => None,
        },
        other => other.received_from(scene.file),
    }
}
