//! A channel of one function that is left before all has been received that its goroutines send.
//!
//! Evidence: the channel is made here and known to nobody else; all receives stand in the body that
//! made it; there is a path from there that starts goroutines, receives less often than they send
//! (the buffer counted in), and leaves. The path must not depend on what those goroutines do: one
//! that has waited for their end, that a signal of theirs has chosen, or that looks at what they
//! wrote is no evidence.

mod agreed;
mod sparing;
mod told;

use std::cell::OnceCell;

use rustc_hash::FxHashSet;

use crate::diagnostic::Finding;
use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Path, Start, Step, StepId, Walk};
use crate::index::{Basic, Builtin, Callee, Def, LocalId, LocalKind, Type};
use crate::rules::conditions::{Conditions, Decided, condition, locals_in, names_any};
use crate::rules::evidence::ends_process;
use crate::rules::evidence::runs::How;
use crate::rules::evidence::traffic::last::Last;
use crate::rules::evidence::traffic::{
    Channel, Deed, MANY, Made, Volume, asks_length, body_of, made_channels, received_from,
};
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::{At, BodyId};
use crate::syntax::{BinaryOp, BranchKind, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// Reports the channels of the function that are abandoned.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    let stores: OnceCell<Vec<StmtId>> = OnceCell::new();
    for made in made_channels(scene, &read) {
        let Some(channel) = Channel::with_callbacks(scene, &read, made.local) else { continue };
        let Some(abandoned) = Abandoned::of(&channel, made) else { continue };
        let is_it = |asked| scene.local(asked).is_some_and(|it| channel.aliases.contains(&it));
        // Who asks how full it is sends only where there is room.
        if made.capacity != 0 && asks_length(scene, &is_it) {
            continue;
        }
        let way_out = abandoned.way_out(stores.get_or_init(|| stores_of(scene)));
        let counts = || made.at.body != BodyId::OWN || !ends_process(&scene.cx);
        findings.extend(way_out.filter(|_| counts()).map(|path| abandoned.tell(made, &path)));
    }
}

/// A goroutine that sends.
#[derive(Clone, Copy)]
struct Sender {
    /// Where it is started.
    step: StepId,
    /// The literal that it runs; `None` for a function.
    literal: Option<BodyId>,
    volume: Volume,
}

/// The statements of a function that may store what was received.
pub(super) fn stores_of(scene: &Scene<'_>) -> Vec<StmtId> {
    let stores = scene.nodes.iter().filter_map(|&node| match node {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::Define { .. } | StmtKind::Assign { .. } | StmtKind::Range { .. } => {
                Some(stmt)
            }
            _ => None,
        },
        _ => None,
    });
    stores.collect()
}

pub(super) struct Abandoned<'c, 's, 'a> {
    channel: &'c Channel<'s, 'a>,
    /// Where its owner gets it.
    at: At,
    capacity: u8,
    senders: Vec<Sender>,
    given: Option<Given>,
}

/// A channel that a call gives, on which goroutines of what was called send.
pub(super) struct Given {
    pub volume: Volume,
    /// The variable that says whether the call has failed, and given none, and where that is set.
    pub failed: Option<(LocalId, At)>,
    /// The variables that hold what else those goroutines may tell by that they are done.
    pub tell: Vec<LocalId>,
    /// The fields that those goroutines name.
    pub fields: FxHashSet<Symbol>,
}

impl<'c, 's, 'a> Abandoned<'c, 's, 'a> {
    /// The channel, if the roles are clear: others send, its owner receives.
    fn of(channel: &'c Channel<'s, 'a>, made: Made) -> Option<Self> {
        Abandoned::at(channel, made.at, made.capacity, None)
    }

    /// A channel that its owner gets here, made or given.
    pub(super) fn at(
        channel: &'c Channel<'s, 'a>,
        at: At,
        capacity: u8,
        given: Option<Given>,
    ) -> Option<Self> {
        let of_call = |given: &Given| Sender { step: at.step, literal: None, volume: given.volume };
        let mut senders: Vec<Sender> = given.as_ref().map(of_call).into_iter().collect();
        for (&done, deeds) in &channel.deeds {
            for deed in deeds {
                let inner = channel.inner(deed);
                if done.body != channel.owner {
                    // Of a literal, what matters is known where it is run.
                    continue;
                }
                match deed {
                    Deed::Send | Deed::GuardedSend => return None,
                    Deed::Close if matches!(channel.step(done), Step::Defer(_)) => return None,
                    Deed::Literal(How::Go, _) | Deed::Function(How::Go, _) if inner.receives => {
                        return None;
                    }
                    Deed::Literal(How::Go, body) if inner.sends > 0 => senders.push(Sender {
                        step: done.step,
                        literal: Some(*body),
                        volume: inner,
                    }),
                    Deed::Function(How::Go, _) if inner.sends > 0 => {
                        senders.push(Sender { step: done.step, literal: None, volume: inner });
                    }
                    Deed::Literal(How::Defer, _) | Deed::Function(How::Defer, _) => return None,
                    Deed::Literal(How::Call, _) | Deed::Function(How::Call, _)
                        if inner.sends > 0 || inner.closes =>
                    {
                        return None;
                    }
                    _ => {}
                }
            }
        }
        // What a callback sends comes before the goroutine goes on that has given it away.
        let function = &channel.read.function;
        let is_within = |body: BodyId| {
            function
                .enclosing(body)
                .any(|around| senders.iter().any(|sender: &Sender| sender.literal == Some(around)))
        };
        if !channel.callbacks.iter().all(|&body| is_within(body)) {
            return None;
        }
        senders.sort_by_key(|sender| sender.step);
        (!senders.is_empty()).then_some(Abandoned { channel, at, capacity, senders, given })
    }

    /// See [`Given::failed`].
    fn failed(&self) -> Option<(LocalId, At)> {
        self.given.as_ref()?.failed
    }

    fn cfg(&self) -> &Cfg {
        &self.channel.read.function.body(self.channel.owner).cfg
    }

    fn bodies(&self) -> impl Iterator<Item = BodyId> {
        self.senders.iter().filter_map(|sender| sender.literal)
    }

    fn at_step(&self, step: StepId) -> At {
        At { body: self.channel.owner, step }
    }

    /// A way out, in a function with these [stores](stores_of).
    pub(super) fn way_out(&self, stores: &[StmtId]) -> Option<Path<Leaving>> {
        let looped = self.senders.iter().any(|sender| self.cfg().reaches(sender.step, sender.step));
        if looped && self.capacity >= 2 || self.may_send_no_more() {
            return None;
        }
        let conditions = Conditions::new(&self.channel.read.function, self.channel.owner);
        // How many values callbacks send, and which of them is the last, nobody knows.
        let repeats = self.channel.callbacks.is_empty()
            && (self.senders.len() > 1
                || looped
                || self.senders.iter().all(|sender| !sender.volume.has_last));
        let last = match self.senders[..] {
            [ref sender] if !looped => sender.volume.last,
            _ => None,
        };
        let mut walk = Leave {
            of: self,
            conditions: &conditions,
            repeats,
            last,
            received: self.bound(stores, 0),
            oks: self.bound(stores, 1),
            written: self.written(),
            told: self.told(),
            headers: self.headers(),
        };
        let begun = Leaving {
            pending: self.given.as_ref().map_or(0, |given| counted(given.volume.sends)),
            passed: 0,
            unasked: self.given.as_ref().is_some_and(|given| given.failed.is_some()),
            decided: Vec::new(),
        };
        let paths = self.cfg().search(Start::After(self.at.step), begun, &mut walk);
        let is_one = |path: &Path<Leaving>| self.is_independent(path) && self.may_send_on(path);
        paths.into_iter().filter(is_one).min_by_key(|path| !ends_by_arm(path))
    }

    /// The variables that hold what was received, or its `ok`, by the place on the left.
    fn bound(&self, stores: &[StmtId], place: usize) -> Vec<LocalId> {
        let scene = self.channel.scene;
        let mut locals = Vec::new();
        for &stmt in stores {
            let target = match &scene.file.stmt(stmt).kind {
                StmtKind::Define { left, right } | StmtKind::Assign { left, right, .. } => {
                    let from = right.first().and_then(|&value| received(scene, value));
                    if !from.is_some_and(|from| self.channel.is_named(from)) {
                        continue;
                    }
                    left.get(place).copied()
                }
                StmtKind::Range { key, subject, .. } if self.channel.is_named(*subject) => {
                    key.filter(|_| place == 0)
                }
                _ => continue,
            };
            locals.extend(target.and_then(|target| scene.local(target)));
        }
        locals
    }

    /// The variables that the senders write.
    fn written(&self) -> Vec<LocalId> {
        let function = &self.channel.read.function;
        let bodies: Vec<BodyId> = self.bodies().collect();
        let mut locals = Vec::new();
        for number in 0..function.info.locals().len() as u32 {
            let local = LocalId(number);
            let by_sender = function.definitions_of(local).any(|definition| {
                definition.at.is_some_and(|at| {
                    function.enclosing(at.body).any(|body| bodies.contains(&body))
                })
            });
            let inside = function
                .owner(local)
                .is_none_or(|owner| function.enclosing(owner).any(|body| bodies.contains(&body)));
            if by_sender && !inside {
                locals.push(local);
            }
        }
        locals
    }

    /// The edges by which a loop ends that receives, and in which nothing is started: it has
    /// received as often as it was meant to. Its condition says so, or one within it that asks for a
    /// count of what it has received.
    fn headers(&self) -> FxHashSet<EdgeKind> {
        let scene = self.channel.scene;
        let cfg = self.cfg();
        let step_loops = |step: StepId| {
            let node = scene.outermost(cfg.step(step).span(scene.file));
            node.map_or_else(Vec::new, |node| scene.loops_around(node))
        };
        let mut started = FxHashSet::default();
        for sender in &self.senders {
            started.extend(step_loops(sender.step));
        }
        let mut headers = FxHashSet::default();
        for (at, deeds) in &self.channel.deeds {
            if at.body != self.channel.owner
                || !deeds.iter().any(|deed| matches!(deed, Deed::Receive))
            {
                continue;
            }
            for around in step_loops(at.step) {
                if started.contains(&around) {
                    continue;
                }
                headers.extend(counted_ends(scene, around, cfg.step(at.step).span(scene.file)));
                match scene.file.stmt(around).kind {
                    StmtKind::Range { .. } => {
                        headers.insert(EdgeKind::Done(around));
                    }
                    StmtKind::For { cond: Some(cond), .. } => {
                        headers.extend(scene.file.descendants(Node::Expr(cond)).filter_map(
                            |node| match node {
                                Node::Expr(expr) => Some(EdgeKind::False(expr)),
                                _ => None,
                            },
                        ));
                    }
                    _ => {}
                }
            }
        }
        headers
    }

    /// Whether passing a step means that the senders have come to their end, or that one of them
    /// has chosen this way instead of its send.
    fn waits_for_senders(&self, step: StepId) -> bool {
        let (scene, cfg) = (self.channel.scene, self.cfg());
        let function = &self.channel.read.function;
        let waits = |node: Node| {
            scene.file.descendants(node).any(|node| match node {
                Node::Expr(call) => scene
                    .method_call(call)
                    .is_some_and(|(base, name)| name.name.as_str() == "Wait" && self.shared(base)),
                _ => false,
            })
        };
        match cfg.step(step) {
            Step::Call(call) => {
                let direct = scene
                    .method_call(call)
                    .is_some_and(|(base, name)| name.name.as_str() == "Wait" && self.shared(base));
                if direct {
                    return true;
                }
            }
            Step::Defer(stmt) if waits(Node::Stmt(stmt)) => return true,
            _ => {}
        }
        if let Some(to) = cfg.step(step).sent_on(scene.file) {
            return self.is_taken_instead(to);
        }
        let Some(from) = received_from(scene, cfg, step) else { return false };
        if self.channel.is_named(from) {
            return false;
        }
        if let Some((context, name)) = scene.method_call(from)
            && name.name.as_str() == "Done"
        {
            return self.cancelled_by_sender(context);
        }
        if let Some(given) = &self.given
            && let Some((_, field)) = scene.selector(from)
        {
            return given.fields.contains(&field.name);
        }
        let Some(local) = scene.local(from) else { return false };
        if self.given.as_ref().is_some_and(|given| given.tell.contains(&local)) {
            return true;
        }
        let kind = scene.info.local(local).kind;
        if !matches!(kind, LocalKind::Var) {
            return false;
        }
        for usage in scene.uses(local) {
            let signals = match scene.parent(Node::Expr(usage)) {
                Some(Node::Stmt(stmt)) => match scene.file.stmt(stmt).kind {
                    StmtKind::Send { channel, .. } => scene.file.unparen(channel) == usage,
                    _ => false,
                },
                // Closed, or given to somebody who may signal.
                Some(Node::Expr(call)) => scene.args(call).contains(&usage),
                _ => false,
            };
            let Some(body) = body_of(scene, &self.channel.read, Node::Expr(usage)) else {
                continue;
            };
            if !signals {
                continue;
            }
            if body == self.channel.owner {
                if self.is_given_to_sender(usage) {
                    return true;
                }
                continue;
            }
            let own = self
                .bodies()
                .find(|&sender| function.enclosing(body).any(|around| around == sender));
            match own {
                Some(sender) if !self.signals_first(sender, Node::Expr(usage)) => return true,
                Some(_) => {}
                None if self.body_waits(body) => return true,
                None => {}
            }
        }
        false
    }

    /// Whether a function that sends is given another channel too: it may use the one or the other.
    fn is_given_to_sender(&self, usage: ExprId) -> bool {
        let scene = self.channel.scene;
        self.senders.iter().any(|sender| {
            let span = self.cfg().step(sender.step).span(scene.file);
            sender.literal.is_none() && span.contains(scene.span(Node::Expr(usage)))
        })
    }

    /// Whether a goroutine may send after this signal of its own.
    fn signals_first(&self, sender: BodyId, signal: Node) -> bool {
        let scene = self.channel.scene;
        let function = &self.channel.read.function;
        let cfg = &function.body(sender).cfg;
        if body_of(scene, &self.channel.read, signal) != Some(sender) {
            return false;
        }
        let Some(signal) = scene.step_of(cfg, signal) else { return false };
        if matches!(cfg.step(signal), Step::Defer(_)) {
            return false;
        }
        cfg.steps().any(|step| {
            let sends = self
                .channel
                .deeds_at(At { body: sender, step })
                .iter()
                .any(|deed| matches!(deed, Deed::Send) || self.channel.inner(deed).sends > 0);
            sends && cfg.reaches(signal, step)
        })
    }

    /// Whether a body waits for others before it goes on.
    fn body_waits(&self, body: BodyId) -> bool {
        let function = &self.channel.read.function;
        let cfg = &function.body(body).cfg;
        cfg.steps().any(|step| match cfg.step(step) {
            Step::Recv(_) | Step::Select(_) | Step::Next(_) => true,
            Step::Call(call) => self
                .channel
                .scene
                .method_call(call)
                .is_some_and(|(_, name)| name.name.as_str().starts_with("Wait")),
            _ => false,
        })
    }

    /// Whether a variable that an expression names is in the hands of the senders too, or is what
    /// they were started with.
    fn shared(&self, expr: ExprId) -> bool {
        let scene = self.channel.scene;
        let function = &self.channel.read.function;
        let named = locals_in(function, Node::Expr(expr));
        if named.is_empty() {
            return true;
        }
        self.senders.iter().any(|sender| {
            let span = self.cfg().step(sender.step).span(scene.file);
            scene.nodes.iter().any(|&node| match node {
                Node::Expr(used) => {
                    span.contains(scene.span(node))
                        && matches!(scene.info.resolve(used), Def::Local(local) if named.contains(local))
                }
                _ => false,
            })
        })
    }

    /// Whether a context is one that a sender can cancel.
    fn cancelled_by_sender(&self, context: ExprId) -> bool {
        let scene = self.channel.scene;
        let function = &self.channel.read.function;
        let Some(local) = scene.local(context) else { return false };
        let calls: Vec<ExprId> = function
            .definitions_of(local)
            .filter_map(|definition| match definition.source {
                crate::summary::Source::Result(call, _) => Some(call),
                _ => None,
            })
            .collect();
        (0..function.info.locals().len() as u32).map(LocalId).any(|other| {
            other != local
                && function.definitions_of(other).any(|definition| {
                    matches!(definition.source, crate::summary::Source::Result(call, _) if calls.contains(&call))
                })
                && self.senders.iter().any(|sender| {
                    let span = self.cfg().step(sender.step).span(scene.file);
                    scene.uses(other).any(|usage| {
                        span.contains(scene.span(Node::Expr(usage)))
                    })
                })
        })
    }

    /// Whether nothing that was counted on the way chose this path, where it is not known how often
    /// is sent.
    fn is_independent(&self, path: &Path<Leaving>) -> bool {
        if path.state.pending < MANY {
            return true;
        }
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        !path.decisions().filter_map(condition).any(|condition| {
            let ordered = matches!(
                scene.file.expr(scene.file.unparen(condition)).kind,
                ExprKind::Binary {
                    op: BinaryOp::Lt
                        | BinaryOp::Le
                        | BinaryOp::Gt
                        | BinaryOp::Ge
                        | BinaryOp::Eq
                        | BinaryOp::Ne,
                    ..
                }
            );
            let counts = locals_in(function, Node::Expr(condition)).into_iter().any(|local| {
                let ty = scene.cx.index().underlying(&function.info.local(local).ty);
                matches!(ty, Type::Basic(Basic::Int | Basic::Int64 | Basic::Int32))
                    && function.definitions_of(local).count() > 1
            });
            ordered && counts
        })
    }
}

/// What is known on the way out.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Leaving {
    /// Sends that nobody has received.
    pending: u8,
    /// Which of the senders were started.
    passed: u32,
    /// Whether nobody has asked yet if there is a channel at all.
    unasked: bool,
    decided: Decided,
}

struct Leave<'l, 'c, 's, 'a> {
    of: &'l Abandoned<'c, 's, 'a>,
    conditions: &'l Conditions,
    /// Whether whatever is received another send may follow.
    repeats: bool,
    /// How the last value is known to be that, on both sides.
    last: Option<Last>,
    received: Vec<LocalId>,
    oks: Vec<LocalId>,
    written: Vec<LocalId>,
    told: Vec<LocalId>,
    headers: FxHashSet<EdgeKind>,
}

impl Leave<'_, '_, '_, '_> {
    fn is_left(&self, state: &Leaving) -> bool {
        state.pending > self.of.capacity
    }

    /// One value is received; `again` if it may have been that of a callback, and the others come
    /// in further turns.
    fn receive(&self, state: &mut Leaving, again: bool) -> bool {
        match state.pending {
            0 => false,
            MANY => true,
            _ if again && !self.of.channel.callbacks.is_empty() => true,
            _ => {
                state.pending -= 1;
                true
            }
        }
    }
}

/// Beyond so many sends that nobody has received it is any number.
const COUNTED: u8 = 8;

/// Whether what was decided last on a way out is the arm of a `select`: nothing that the senders did has to be so.
fn ends_by_arm(path: &Path<Leaving>) -> bool {
    matches!(path.decisions().next_back(), Some(EdgeKind::Arm(..)))
}

fn counted(sends: u8) -> u8 {
    if sends > COUNTED { MANY } else { sends }
}

/// Whether something holds a call that is given the channel: what it answers may be that it has received.
fn is_answer_of(channel: &Channel<'_, '_>, node: Node) -> bool {
    let scene = channel.scene;
    scene.file.descendants(node).any(|node| match node {
        Node::Expr(call) => {
            scene.args(call).iter().any(|&arg| channel.is_named(arg))
                && !matches!(scene.info.callee(call), Callee::Builtin(_))
        }
        _ => false,
    })
}

impl Walk for Leave<'_, '_, '_, '_> {
    type State = Leaving;

    fn step(&mut self, state: &Leaving, step: StepId) -> Passing<Leaving> {
        let abandoned = self.of;
        if step == abandoned.at.step {
            return if self.is_left(state) { Passing::Found } else { Passing::Drop };
        }
        let mut next = state.clone();
        self.conditions.step(&mut next.decided, step);
        if next.pending > 0 && abandoned.waits_for_senders(step) {
            return Passing::Drop;
        }
        let first = abandoned.senders.partition_point(|sender| sender.step < step);
        for sender in abandoned.senders[first..].iter().take_while(|sender| sender.step == step) {
            next.passed |= sender_bit(&abandoned.senders, step);
            next.pending = counted(next.pending.saturating_add(sender.volume.sends));
        }
        if let Some((error, set)) = abandoned.failed() {
            let at = abandoned.at_step(step);
            next.unasked &= at == set || !abandoned.channel.read.function.defines(at, error);
        }
        let deeds = abandoned.channel.deeds_at(abandoned.at_step(step));
        // Who closes it has no send to wait for, and a function may receive all or nothing.
        let ends = deeds.iter().any(|deed| {
            let inner = abandoned.channel.inner(deed);
            inner.receives && !inner.may_leave || matches!(deed, Deed::Close)
        });
        if ends {
            return Passing::Drop;
        }
        let ranges = matches!(abandoned.cfg().step(step), Step::Next(_));
        if !ranges
            && deeds.iter().any(|deed| matches!(deed, Deed::Receive))
            && !self.receive(&mut next, abandoned.cfg().reaches(step, step))
        {
            return Passing::Drop;
        }
        Passing::On(next)
    }

    fn edge(&mut self, state: &Leaving, edge: &Edge) -> Option<Leaving> {
        let mut next = state.clone();
        if !self.conditions.edge(&mut next.decided, edge) || self.headers.contains(&edge.kind) {
            return None;
        }
        let channel = self.of.channel;
        if let EdgeKind::More(stmt) | EdgeKind::Done(stmt) = edge.kind
            && let StmtKind::Range { subject, .. } = channel.scene.file.stmt(stmt).kind
            && channel.is_named(subject)
        {
            let more = matches!(edge.kind, EdgeKind::More(_));
            return (more && self.receive(&mut next, true)).then_some(next);
        }
        if self.is_agreed(edge.kind) {
            return None;
        }
        if self.of.is_taken_back(edge.kind) {
            return None;
        }
        let Some(condition) = condition(edge.kind) else { return Some(next) };
        let node = Node::Expr(condition);
        if next.unasked
            && let Some((asked, fails)) = channel.scene.nil_decided(edge.kind)
            && self.of.failed().is_some_and(|(error, _)| error == asked)
        {
            next.unasked = false;
            if fails {
                return None;
            }
        }
        if names_any(&channel.read.function, node, &self.written)
            || names_any(&channel.read.function, node, &self.told)
            || names_any(&channel.read.function, node, &self.oks)
                && matches!(edge.kind, EdgeKind::False(_))
            || is_answer_of(channel, node)
        {
            return None;
        }
        Some(next)
    }

    fn exit(&mut self, state: &Leaving, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End) && self.is_left(state)
    }
}

/// The edges by which a loop is left when what is counted beside a receive, which stands there, has come to some number.
fn counted_ends(scene: &Scene<'_>, around: StmtId, receive: Span) -> Vec<EdgeKind> {
    let file = scene.file;
    let stmts = |node: Node| {
        file.descendants(node).filter_map(|node| match node {
            Node::Stmt(stmt) => Some(stmt),
            _ => None,
        })
    };
    let beside = stmts(Node::Stmt(around)).find_map(|stmt| match &file.stmt(stmt).kind {
        StmtKind::Select(clauses) => clauses.iter().find(|clause| clause.span.contains(receive)),
        _ => None,
    });
    let Some(beside) = beside else { return Vec::new() };
    let counted: Vec<LocalId> = beside
        .body
        .iter()
        .filter_map(|&stmt| match &file.stmt(stmt).kind {
            StmtKind::IncDec { operand, .. } => scene.local(*operand),
            StmtKind::Assign { left, .. } => match file.expr(file.unparen(*left.first()?)).kind {
                ExprKind::Index { base, .. } => scene.local(base),
                _ => None,
            },
            _ => None,
        })
        .collect();
    let asks = |cond: ExprId| {
        let ExprKind::Binary { op: BinaryOp::Eq, left, right, .. } = file.expr(cond).kind else {
            return false;
        };
        let count = match scene.info.callee(file.unparen(left)) {
            Callee::Builtin(Builtin::Len) => scene.args(file.unparen(left)).first().copied(),
            _ => Some(left),
        };
        let is_counted = count.and_then(|count| scene.local(count));
        is_counted.is_some_and(|local| counted.contains(&local))
            && scene.info.constant(right).is_some()
    };
    let ends = stmts(Node::Stmt(around)).filter_map(|stmt| {
        let StmtKind::If { cond, then, .. } = file.stmt(stmt).kind else { return None };
        let StmtKind::Block(body) = &file.stmt(then).kind else { return None };
        let leaves = body.last().is_some_and(|&last| {
            matches!(
                file.stmt(last).kind,
                StmtKind::Return(_) | StmtKind::Branch { kind: BranchKind::Break, .. }
            )
        });
        let cond = file.unparen(cond);
        (leaves && asks(cond)).then_some(EdgeKind::True(cond))
    });
    ends.collect()
}

fn sender_bit(senders: &[Sender], step: StepId) -> u32 {
    let place = senders.partition_point(|sender| sender.step < step);
    let is_sender = senders.get(place).is_some_and(|sender| sender.step == step);
    if is_sender { 1_u32.checked_shl(place as u32).unwrap_or(0) } else { 0 }
}

/// `c` of an expression `<-c`.
fn received(scene: &Scene<'_>, expr: ExprId) -> Option<ExprId> {
    match scene.file.expr(scene.file.unparen(expr)).kind {
        ExprKind::Unary { op: crate::syntax::UnaryOp::Recv, operand } => Some(operand),
        _ => None,
    }
}
