//! The producer's side: a type of the module itself that a constructor starts a goroutine for, whose
//! send on the channel that the type hands out knows nothing of the method that ends the type.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{Builtin, Callee, FuncId, ObjectId};
use crate::rules::FunctionCx;
use crate::rules::scene::{Scene, holds_any};
use crate::source::{Location, Span};
use crate::syntax::{ExprId, Node, StmtKind, Symbol};

/// Methods by which a consumer says that it has had enough.
const ENDS: [&str; 4] = ["Stop", "Close", "Shutdown", "Cancel"];

/// How many sends a finding shows besides the first.
const SHOWN: usize = 3;

/// Whether a function's text may be that of such a producer: a method with a send.
pub fn may_be(cx: &FunctionCx<'_>) -> bool {
    cx.declared().receiver.is_some() && holds_any(cx, &["<-"])
}

/// Reports the sends of the method of `scene`, if it is such a producer.
pub fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(receiver) = scene.cx.owner() else { return };
    let sends = bare_sends(scene);
    let Some(&(field, _)) = sends.first() else { return };
    let sends: Vec<Span> =
        sends.into_iter().filter(|(other, _)| *other == field).map(|(_, span)| span).collect();
    let Some(story) = Story::of(scene, receiver, field) else { return };
    findings.push(finding(scene, field, &sends, &story));
}

/// The places that make a send a trap.
struct Story {
    made: Location,
    started: Location,
    handed_out: (Symbol, Location),
    ended: (Symbol, Location),
}

impl Story {
    /// What the other functions of the package do with the channel; `None` if it does not come to
    /// a trap, or is not understood.
    fn of(producer: &Scene<'_>, ty: ObjectId, field: Symbol) -> Option<Story> {
        let (mut made, mut started, mut handed_out, mut ended) = (None, None, None, None);
        let index = producer.cx.index();
        for func in &index.package(producer.cx.func.package).funcs {
            let cx = FunctionCx { func: func.id, ..producer.cx };
            let is_method = func.receiver.and_then(|receiver| receiver.ty) == Some(ty);
            if !is_method && !holds_any(&cx, &[field.as_str()]) {
                continue;
            }
            let Some(scene) = Scene::new(cx) else { continue };
            let part = Part { scene: &scene, ty, field };
            if is_method {
                let name = (func.name, cx.location(scene.name.span));
                if func.name.is_exported() && ENDS.contains(&func.name.as_str()) {
                    ended = ended.or(Some(name));
                }
                if func.name.is_exported() && part.returns_channel() {
                    handed_out = handed_out.or(Some(name));
                }
            }
            if func.id != producer.cx.func && part.interferes() {
                return None;
            }
            if let Some((made_at, started_at)) = part.constructs(producer.cx.func) {
                made = made.or(Some(cx.location(made_at)));
                started = started.or(Some(cx.location(started_at)));
            }
        }
        Some(Story { made: made?, started: started?, handed_out: handed_out?, ended: ended? })
    }
}

/// What one function does with the field of values of the type.
struct Part<'s, 'a> {
    scene: &'s Scene<'a>,
    ty: ObjectId,
    field: Symbol,
}

impl Part<'_, '_> {
    /// Where it makes the channel without a buffer, as part of a new value, and starts `producer`.
    fn constructs(&self, producer: FuncId) -> Option<(Span, Span)> {
        let scene = self.scene;
        let made = scene.nodes.iter().find_map(|&node| {
            let Node::Expr(literal) = node else { return None };
            let value = scene.file.field_of(literal, &|name| name == self.field.as_str())?;
            if self.declares(literal) != Some(true) {
                return None;
            }
            let make = scene.file.unparen(value);
            let unbuffered = matches!(scene.info.callee(make), Callee::Builtin(Builtin::Make))
                && match scene.args(make) {
                    [_] => true,
                    [_, capacity] => {
                        let capacity = scene.info.constant(*capacity);
                        capacity.and_then(|capacity| capacity.as_int()) == Some(0)
                    }
                    _ => false,
                };
            unbuffered.then(|| scene.span(Node::Expr(make)))
        })?;
        let started = scene.nodes.iter().find_map(|&node| {
            let Node::Stmt(stmt) = node else { return None };
            let StmtKind::Go(_) = scene.file.stmt(stmt).kind else { return None };
            let starts = scene.file.descendants(node).any(|node| match node {
                Node::Expr(call) => {
                    matches!(scene.info.callee(call), Callee::Func(func) if *func == producer)
                }
                _ => false,
            });
            starts.then(|| scene.span(node))
        })?;
        Some((made, started))
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
        let object = self.scene.cx.index().object(self.ty);
        let path = self.scene.cx.index().package(self.ty.package).path;
        Some(ty.named().is_some_and(|named| named.name == object.name && named.path == path))
    }
}

/// The sends on fields of the receiver that stand in a loop and in no `select`, in order of source.
fn bare_sends(scene: &Scene<'_>) -> Vec<(Symbol, Span)> {
    let Some(receiver) = scene.receiver() else { return Vec::new() };
    let mut sends = Vec::new();
    for &node in scene.nodes.iter() {
        let Node::Stmt(stmt) = node else { continue };
        let StmtKind::Send { channel, .. } = scene.file.stmt(stmt).kind else { continue };
        let Some((base, field)) = scene.selector(channel) else { continue };
        if scene.local(base) != Some(receiver) || scene.literal_around(node).is_some() {
            continue;
        }
        if is_communication(scene, node) {
            // A guarded send beside a bare one may be the one that matters after the end.
            continue;
        }
        let in_loop = scene.around(node).any(|around| match around {
            Node::Stmt(around) => {
                matches!(
                    scene.file.stmt(around).kind,
                    StmtKind::For { .. } | StmtKind::Range { .. }
                )
            }
            _ => false,
        });
        if in_loop {
            sends.push((field.name, scene.span(node)));
        }
    }
    sends
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

fn finding(scene: &Scene<'_>, field: Symbol, sends: &[Span], story: &Story) -> Finding {
    let (method, name) = (scene.name.name, story.ended.0);
    let channel = story.handed_out.0;
    let message = format!(
        "`{name}` does not end this send: once the consumer of `{channel}` has left, the goroutine of \
         `{method}` stays here"
    );
    let mut finding = scene.cx.finding(sends[0], "stays here", message);
    finding.confidence = Confidence::Medium;
    finding.defect = story.made;
    let label = |location: Location, role: Role, message: String| Label { location, role, message };
    finding.labels = vec![
        label(story.made, Role::Made, format!("`{field}` is made here, without a buffer")),
        label(story.started, Role::Started, "the goroutine starts here".to_owned()),
        label(story.handed_out.1, Role::Context, format!("`{channel}` hands `{field}` out")),
        label(story.ended.1, Role::Left, format!("`{name}` neither receives nor wakes the send")),
    ];
    finding.labels.extend(
        sends
            .iter()
            .skip(1)
            .take(SHOWN)
            .map(|&span| label(scene.cx.location(span), Role::Stuck, "and here".to_owned())),
    );
    finding.why = format!(
        "a consumer calls `{name}` when it has had enough, and then receives no more; an event that \
         was already in hand has nobody to go to"
    );
    finding.help =
        format!("let `{name}` close a channel, and send in a `select` that also receives from it");
    finding
}
