//! The producer's side: a type of the module itself with a goroutine whose send, on the channel that the type hands
//! out, knows nothing of what ends the type.
//!
//! Evidence: the channel is unbuffered, made with the object, and the package itself does not receive from it: a
//! method or an exported field hands it out. The goroutine sends in a loop, with nothing beside, itself or in a method
//! that it calls of its object (see [`worker`](super::worker)). The object has an exported method by which its user
//! says that he has had enough; or who makes it gives a context, and the loop asks between two sends whether that is
//! done. A channel may have room where the loop goes on for ever and the method that ends the object waits for the
//! goroutine. Or a function makes the channel, starts the goroutine as a literal that sends on it, and puts it into the
//! object, which may have the method from what it embeds: it passes on the events of another watch ([`Held`]).

use crate::catalog::Signature;
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Builtin, Callee, Def, LocalId, LocalKind, ObjectId};
use crate::rules::FunctionCx;
use crate::rules::endable::may_end;
use crate::rules::scene::{Scene, holds_any};
use crate::rules::watch;
use crate::rules::watch_not_drained::worker::Worker;
use crate::source::{Location, Span};
use crate::summary::named;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// Methods by which a consumer says that it has had enough.
const ENDS: [&str; 4] = ["Stop", "Close", "Shutdown", "Cancel"];

/// How many sends a finding shows besides the first.
const SHOWN: usize = 3;

/// Whether a function's text may be that of such a producer.
pub fn may_be(cx: &FunctionCx<'_>) -> bool {
    holds_any(cx, &["<-"]) && (cx.declared().receiver.is_some() || holds_any(cx, &["go func"]))
}

/// Reports the sends of the goroutines in `scene` that are such producers: it is one itself, or starts one.
pub fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    if watch::is_about_tests(scene) {
        return;
    }
    for producer in Producer::all(scene) {
        let told = producer.run(scene).and_then(|producer| {
            Story::of(scene, &producer).map(|story| finding(scene, &producer, &story))
        });
        findings.extend(told);
    }
}

/// The bare sends of one goroutine on one channel of an object.
struct Producer {
    /// The type of the object.
    ty: ObjectId,
    /// The channel.
    field: Symbol,
    /// Where a function starts it as a literal: the statement.
    literal: Option<StmtId>,
    /// Else who runs the function.
    worker: Option<Worker>,
    /// The sends in a loop of the function itself, and those that stand in none.
    sends: Vec<Span>,
    once: Vec<Span>,
}

impl Producer {
    /// Those of a function: as a method, and of the literals that it starts.
    fn all(scene: &Scene<'_>) -> Vec<Producer> {
        let mut all: Vec<Producer> = Vec::new();
        for &node in scene.nodes.iter() {
            let Node::Stmt(stmt) = node else { continue };
            let StmtKind::Send { channel, .. } = scene.file.stmt(stmt).kind else { continue };
            // A guarded send beside a bare one may be the one that matters after the end.
            if is_communication(scene, node) {
                continue;
            }
            let Some((ty, field, literal)) = sent_to(scene, node, channel) else { continue };
            let is_same = |it: &Producer| (it.ty, it.field, it.literal) == (ty, field, literal);
            let at = all.iter().position(is_same).unwrap_or_else(|| {
                let (sends, once) = (Vec::new(), Vec::new());
                all.push(Producer { ty, field, literal, worker: None, sends, once });
                all.len() - 1
            });
            match scene.loops_around(node).is_empty() {
                true => all[at].once.push(scene.span(node)),
                false => all[at].sends.push(scene.span(node)),
            }
        }
        all
    }

    /// With who runs it, and all its sends that are made again and again; `None` if there are none.
    fn run(mut self, scene: &Scene<'_>) -> Option<Producer> {
        if self.literal.is_none() {
            let worker = Worker::of(&scene.cx, self.ty)?;
            if worker.in_loop {
                self.sends.append(&mut self.once);
                self.sends.sort_unstable();
            }
            self.worker = Some(worker);
        }
        (!self.sends.is_empty()).then_some(self)
    }

    /// The context whose end an arm of a `select` in the loop of the first send asks for, and the arm.
    fn asks_for_end(&self, scene: &Scene<'_>) -> Option<(String, Span)> {
        let is_first = |node: &&Node| scene.span(**node) == self.sends[0];
        let send = *scene.nodes.iter().find(is_first)?;
        let &outermost = scene.loops_around(send).last()?;
        let around = scene.span(Node::Stmt(outermost));
        scene.nodes.iter().find_map(|&node| {
            let Node::Stmt(select) = node else { return None };
            let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
            if !around.contains(scene.span(node)) {
                return None;
            }
            clauses.iter().find_map(|clause| {
                let done = Step::Comm(clause.comm?).received_from(scene.file)?;
                let (context, name) = scene.method_call(done)?;
                let is_end = name.name.as_str() == "Done"
                    && scene.info.type_of(context).is_context()
                    && !clause.span.contains(self.sends[0]);
                is_end.then(|| (scene.text(context), scene.span(Node::Expr(done))))
            })
        })
    }
}

/// A channel that a function makes for a goroutine of its own, and puts into the object that it gives.
struct Held {
    ty: ObjectId,
    field: Symbol,
}

impl Held {
    /// The one that a variable is, if nothing is done with that but to send on it and to close it in the goroutine, and
    /// to put it into one object.
    fn of(scene: &Scene<'_>, channel: ExprId, goroutine: ExprId) -> Option<Held> {
        let variable = scene.local(channel)?;
        made(scene, variable)?;
        let inside = |used: ExprId| scene.literal_around(Node::Expr(used)) == Some(goroutine);
        let mut held = None;
        for used in scene.uses(variable) {
            let is_kept = match scene.parent(Node::Expr(used)) {
                _ if scene.is_target(used) => true,
                Some(Node::Stmt(stmt)) => {
                    let send = matches!(scene.file.stmt(stmt).kind, StmtKind::Send { channel, .. }
                        if scene.file.unparen(channel) == used);
                    send && inside(used)
                }
                Some(Node::Expr(around)) => match &scene.file.expr(around).kind {
                    ExprKind::CompositeLit { elements, .. } => {
                        let key = elements.iter().find(|it| it.value == used).and_then(|it| it.key);
                        let ExprKind::Ident(field) = scene.file.expr(key?).kind else {
                            return None;
                        };
                        let ty = scene.info.type_of(around).declared()?;
                        held.replace(Held { ty, field }).is_none()
                    }
                    ExprKind::Call { .. } => {
                        inside(used)
                            && matches!(scene.info.callee(around), Callee::Builtin(Builtin::Close))
                    }
                    _ => false,
                },
                _ => false,
            };
            if !is_kept {
                return None;
            }
        }
        held
    }
}

/// The call that makes the channel of a variable, if it has one value.
fn made(scene: &Scene<'_>, variable: LocalId) -> Option<ExprId> {
    let read = scene.cx.summaries().read(scene.cx.func)?;
    read.function.only_make_of(variable).map(|(_, make)| make)
}

/// The object whose channel a send is on, as its type and field, and where the literal that sends is started.
fn sent_to(
    scene: &Scene<'_>,
    send: Node,
    channel: ExprId,
) -> Option<(ObjectId, Symbol, Option<StmtId>)> {
    let Some(literal) = scene.literal_around(send) else {
        let (base, field) = scene.selector(channel)?;
        let is_own = scene.receiver() == Some(scene.local(base)?);
        return is_own.then_some((scene.cx.owner()?, field.name, None));
    };
    let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
    let started = scene.go_of(call)?;
    let (ty, field) = match scene.selector(channel) {
        Some((base, field)) => (scene.info.local(scene.local(base)?).ty.declared()?, field.name),
        None => {
            let Held { ty, field } = Held::of(scene, channel, literal)?;
            (ty, field)
        }
    };
    Some((ty, field, Some(started)))
}

/// The places that make a send a trap.
struct Story {
    made: Location,
    /// Whether the channel has room, and who ends the object waits for the goroutine.
    room: bool,
    started: Location,
    handed_out: (Symbol, Location),
    ended: Ended,
}

/// How the user of the object ends it.
enum Ended {
    /// By a method.
    By(Symbol, Location),
    /// By a context: what it is called, and where the goroutine asks for its end.
    With(String, Location),
}

impl Story {
    /// What the other functions of the package do with the channel; `None` if it does not come to
    /// a trap, or is not understood.
    fn of(sender: &Scene<'_>, producer: &Producer) -> Option<Story> {
        let (mut made, mut handed_out, mut ended, mut awaited) = (None, None, None, None);
        let started = match &producer.worker {
            Some(worker) => worker.started,
            None => sender.cx.location(sender.span(Node::Stmt(producer.literal?))),
        };
        let worker = producer.worker.as_ref();
        let own = worker.map_or(vec![sender.cx.func], |worker| worker.methods(&sender.cx));
        let mut takes_context = false;
        let (index, field) = (sender.cx.index(), producer.field);
        for func in &index.package(sender.cx.func.package).funcs {
            let cx = FunctionCx { func: func.id, ..sender.cx };
            let is_method = func.receiver.and_then(|receiver| receiver.ty) == Some(producer.ty);
            if !is_method && !holds_any(&cx, &[field.as_str()]) {
                continue;
            }
            let Some(scene) = Scene::new(cx) else { continue };
            let part = Part { scene: &scene, ty: producer.ty, field };
            if is_method && func.name.is_exported() {
                let place = cx.location(scene.name.span);
                if ENDS.contains(&func.name.as_str()) {
                    ended = ended.or(Some(Ended::By(func.name, place)));
                    let waits = || worker.is_some_and(|worker| worker.is_awaited_by(&scene));
                    if awaited.is_none() && waits() {
                        awaited = Some(Ended::By(func.name, place));
                    }
                }
                if part.returns_channel() {
                    handed_out = handed_out.or(Some((func.name, place)));
                }
            }
            let interferes = match own.contains(&func.id) {
                true => func.id != sender.cx.func && part.receives(),
                false => part.interferes(),
            };
            if interferes {
                return None;
            }
            if let (Some((span, room)), None) = (part.makes(), made) {
                made = Some((cx.location(span), room));
                takes_context = takes_context_that_ends(&scene);
            }
        }
        let (made, room) = made?;
        if room {
            let goes_on = worker.is_some_and(|worker| worker.sends_for_ever(&sender.cx, field));
            ended = awaited.filter(|_| goes_on);
            takes_context = false;
        }
        if !room {
            ended = ended.or_else(|| embedded_end(sender, producer, made));
        }
        if field.is_exported() && index.object(producer.ty).name.is_exported() {
            handed_out = handed_out.or(Some((field, made)));
        }
        if takes_context {
            let done = producer.asks_for_end(sender);
            let with = |(context, span)| Ended::With(context, sender.cx.location(span));
            ended = ended.or_else(|| done.map(with));
        }
        Some(Story { made, room, started, handed_out: handed_out?, ended: ended? })
    }
}

/// The method of what the object embeds by which its user says that he has had enough.
fn embedded_end(sender: &Scene<'_>, producer: &Producer, made: Location) -> Option<Ended> {
    let index = sender.cx.index();
    let ty = index.object_type(producer.ty);
    let from = index.package(sender.cx.package.package).path;
    ENDS.into_iter().map(Symbol::new).find_map(|name| {
        let known = match index.lookup(&ty, name, from) {
            Def::Method(method, _) => {
                index.func(method).receiver.is_some_and(|of| of.ty != Some(producer.ty))
            }
            Def::InterfaceMethod(_) => true,
            // What is not there to be read has it if the catalog says so.
            Def::External(method) => {
                named(sender.cx.catalog(), method).of::<Signature>().next().is_some()
            }
            _ => false,
        };
        known.then_some(Ended::By(name, made))
    })
}

/// Whether the function is given a context that somebody may end.
fn takes_context_that_ends(scene: &Scene<'_>) -> bool {
    scene.info.locals().iter().any(|local| match local.kind {
        LocalKind::Param(place) if local.owner.is_none() => {
            local.ty.is_context() && may_end(&scene.cx, place)
        }
        _ => false,
    })
}

/// What one function does with the field of values of the type.
struct Part<'s, 'a> {
    scene: &'s Scene<'a>,
    ty: ObjectId,
    field: Symbol,
}

impl Part<'_, '_> {
    /// Where it makes the channel as part of a new value, and whether that has room.
    fn makes(&self) -> Option<(Span, bool)> {
        let scene = self.scene;
        scene.nodes.iter().find_map(|&node| {
            let Node::Expr(literal) = node else { return None };
            let value = scene.file.field_of(literal, &|name| name == self.field.as_str())?;
            if self.declares(literal) != Some(true) {
                return None;
            }
            let make = match scene.local(value) {
                Some(variable) => made(scene, variable)?,
                None => scene.file.unparen(value),
            };
            let Callee::Builtin(Builtin::Make) = scene.info.callee(make) else { return None };
            let room = match scene.args(make) {
                [_] => false,
                [_, capacity] => {
                    let capacity = scene.info.constant(*capacity);
                    capacity.and_then(|capacity| capacity.as_int()) != Some(0)
                }
                _ => return None,
            };
            Some((scene.span(Node::Expr(make)), room))
        })
    }

    /// Whether it receives from the channel itself.
    fn receives(&self) -> bool {
        let scene = self.scene;
        scene.nodes.iter().any(|&node| match node {
            Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
                StmtKind::Range { subject, .. } => self.is_channel(subject),
                _ => false,
            },
            _ => scene
                .transfer(node)
                .is_some_and(|(from, receives)| receives && self.is_channel(from)),
        })
    }

    /// Whether a `return` gives the channel.
    fn returns_channel(&self) -> bool {
        self.scene.nodes.iter().any(|&node| match node {
            Node::Stmt(stmt) => match &self.scene.file.stmt(stmt).kind {
                StmtKind::Return(values) => values.iter().any(|&value| self.is_channel(value)),
                _ => false,
            },
            _ => false,
        })
    }

    /// Whether it does anything with the channel but hand it out or close it in a `defer`: receive
    /// from it, give it away, replace it.
    fn interferes(&self) -> bool {
        let scene = self.scene;
        scene.nodes.iter().any(|&node| {
            let Node::Expr(expr) = node else { return false };
            if !self.is_channel(expr) {
                return false;
            }
            match scene.parent(node) {
                Some(Node::Stmt(stmt)) => {
                    !matches!(scene.file.stmt(stmt).kind, StmtKind::Return(_))
                }
                Some(Node::Expr(outer)) => !matches!(
                    scene.info.callee(outer),
                    Callee::Builtin(Builtin::Len | Builtin::Cap)
                ),
                _ => true,
            }
        })
    }

    /// Whether `expr` is `x.field` for an `x` of the type.
    fn is_channel(&self, expr: ExprId) -> bool {
        self.scene.selector(expr).is_some_and(|(base, name)| {
            name.name == self.field && self.declares(base) != Some(false)
        })
    }

    /// Whether the type of `expr` is the type in question; `None` if that is not known.
    fn declares(&self, expr: ExprId) -> Option<bool> {
        let ty = self.scene.info.type_of(expr);
        if ty.is_unknown() {
            return None;
        }
        Some(ty.declared() == Some(self.ty))
    }
}

/// Whether a send is the communication of a clause of a `select`.
fn is_communication(scene: &Scene<'_>, send: Node) -> bool {
    match scene.parent(send) {
        Some(Node::Stmt(stmt)) => match &scene.file.stmt(stmt).kind {
            StmtKind::Select(clauses) => {
                clauses.iter().any(|clause| clause.comm.map(Node::Stmt) == Some(send))
            }
            _ => false,
        },
        _ => false,
    }
}

/// What a method that ends the object does of the send.
fn left_by(name: Symbol, waits: bool) -> String {
    match waits {
        false => format!("`{name}` neither receives nor wakes the send"),
        true => {
            format!("`{name}` waits for the goroutine, and neither receives nor wakes the send")
        }
    }
}

fn finding(scene: &Scene<'_>, producer: &Producer, story: &Story) -> Finding {
    let (field, sends) = (producer.field, &producer.sends);
    let method = scene.name.name;
    let worker = producer.worker.as_ref().map(|worker| scene.cx.index().func(worker.func).name);
    let goroutine = match worker {
        None => format!("the goroutine that `{method}` starts"),
        Some(worker) => format!("the goroutine of `{worker}`"),
    };
    let channel = story.handed_out.0;
    let (end, left, why, help) = match &story.ended {
        Ended::By(name, place) => (
            name.to_string(),
            (*place, left_by(*name, story.room)),
            format!("a consumer calls `{name}` when it has had enough"),
            format!(
                "let `{name}` close a channel, and send in a `select` that also receives from it"
            ),
        ),
        Ended::With(context, place) => (
            context.clone(),
            (
                *place,
                format!("the goroutine asks for the end of `{context}` between two sends only"),
            ),
            format!("a consumer that has had enough ends `{context}`"),
            format!("send in a `select` that also receives from `{context}.Done()`"),
        ),
    };
    let message = match story.room {
        false => format!(
            "`{end}` does not end this send: once the consumer of `{channel}` has left, {goroutine} stays here"
        ),
        true => format!(
            "`{end}` does not end this send, and waits for it: once the consumer of `{channel}` has left and its room \
             is used up, both stay"
        ),
    };
    let mut finding = scene.cx.finding(sends[0], "stays here", message);
    finding.confidence = Confidence::Medium;
    // Each method that sends is to be mended by itself.
    if producer.worker.as_ref().is_none_or(|worker| worker.func == scene.cx.func) {
        finding.defect = story.made;
    }
    let label = |location: Location, role: Role, message: String| Label { location, role, message };
    let room = if story.room { "with room" } else { "without a buffer" };
    finding.labels = vec![
        label(story.made, Role::Made, format!("`{field}` is made here, {room}")),
        label(story.started, Role::Started, "the goroutine starts here".to_owned()),
    ];
    if story.handed_out.1 != story.made {
        let message = format!("`{channel}` hands `{field}` out");
        finding.labels.push(label(story.handed_out.1, Role::Context, message));
    }
    finding.labels.push(label(left.0, Role::Left, left.1));
    finding.labels.extend(
        sends
            .iter()
            .skip(1)
            .take(SHOWN)
            .map(|&span| label(scene.cx.location(span), Role::Stuck, "and here".to_owned())),
    );
    finding.why = format!(
        "{why}, and then receives no more; an event that was already in hand has nobody to go to"
    );
    finding.help = help;
    finding
}
