//! A goroutine that looks between two sends at what its caller ends it by, and not while it sends.
//!
//! Evidence: each call of a function makes an unbuffered channel of its own, gives it to the caller and to
//! nobody else, and starts one goroutine, which alone sends on it: with nothing beside, in a loop. A `select` of
//! that loop leaves by what the caller gave the function for it, a context or a channel, or by what it got from it:
//! a channel, or a function that closes one or cancels a context. So the caller means to end it, and does not have
//! to receive after that; nor could he know how long, where nobody closes the channel. If the goroutine closes it at its
//! end, he may receive until then, and is taken to do so unless some caller is known who does more than range over it.
//! Where the end comes while the goroutine is on its way to the send, it stays there.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{EdgeKind, Start, Step};
use crate::index::{Builtin, Callee, FuncId, LocalId, LocalKind, Type};
use crate::rules::endable::may_end;
use crate::rules::evidence::leaver::is_done;
use crate::rules::evidence::runs::How;
use crate::rules::evidence::traffic::{Channel, Deed, Made};
use crate::rules::evidence::{confidence_at, first_line};
use crate::rules::scene::Scene;
use crate::rules::{FunctionCx, recurrence};
use crate::source::{Location, Span};
use crate::summary::{BodyId, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// What is told of a channel that a function gives its callers, where its goroutine may stay at a send.
pub(super) fn check(
    channel: &Channel<'_, '_>,
    made: Made,
    returned: &[(StmtId, u32)],
) -> Option<Finding> {
    let (scene, read) = (channel.scene, &channel.read);
    let is_plain = made.capacity == 0 && channel.callbacks.is_empty();
    let &(returned, _) = returned.first().filter(|_| is_plain)?;
    let own = channel.deeds.iter().filter(|(at, _)| at.body == BodyId::OWN);
    let mut own = own.flat_map(|(at, deeds)| deeds.iter().map(|deed| (at.step, deed)));
    let (Some((start, deed)), None) = (own.next(), own.next()) else { return None };
    let inner = channel.inner(deed);
    if inner.sends == 0 || inner.receives {
        return None;
    }
    let cfg = &read.function.body(BodyId::OWN).cfg;
    if cfg.reaches(start, start) {
        return None;
    }
    let receives = receives_to_the_end(scene);
    if receives.unwrap_or(inner.closes) {
        return None;
    }
    let started = first_line(scene, cfg.step(start).span(scene.file));
    let told = Told { scene, made, started, returned, closes: inner.closes };
    match *deed {
        Deed::Literal(How::Go, body) => {
            let sender = Sender { scene, channel, body, given: None };
            Some(told.finding(&sender, sender.between()?))
        }
        Deed::Function(How::Go, _) => {
            let Step::Go(go) = cfg.step(start) else { return None };
            let StmtKind::Go(call) = scene.file.stmt(go).kind else { return None };
            let Callee::Func(func) = *scene.info.callee(call) else { return None };
            let callee = Scene::new(FunctionCx { func, ..scene.cx })?;
            let args = scene.args(call);
            let place = args.iter().position(|&arg| channel.is_named(arg))?;
            let param = callee.info.param(None, place as u32)?;
            let of_callee = callee.cx.summaries().read(func)?;
            let channel = Channel::of(&callee, &of_callee, param)?;
            let given = Some((scene, args));
            let sender = Sender { scene: &callee, channel: &channel, body: BodyId::OWN, given };
            Some(told.finding(&sender, sender.between()?))
        }
        _ => None,
    }
}

/// Whether all that is known to call the function does nothing but range over what it gives, and has no other end;
/// `None` if nothing is known to call it.
fn receives_to_the_end(scene: &Scene<'_>) -> Option<bool> {
    let calls = recurrence::calls(&scene.cx.package, scene.cx.declared());
    let only_ranges = |&(func, call): &(FuncId, ExprId)| {
        let Some(caller) = Scene::of(&scene.cx.package, func) else { return false };
        let is_range = |used: ExprId| match caller.parent(Node::Expr(used)) {
            Some(Node::Stmt(stmt)) => matches!(
                caller.file.stmt(stmt).kind,
                StmtKind::Range { subject, .. } if caller.file.unparen(subject) == used
            ),
            _ => false,
        };
        let Some((targets, _)) =
            caller.parent(Node::Expr(call)).and_then(|around| caller.assignment(around))
        else {
            return is_range(call);
        };
        let is_channel = |local: &LocalId| {
            matches!(scene.cx.index().underlying(&caller.info.local(*local).ty), Type::Chan(..))
        };
        let mut kept = targets.into_iter().flatten().filter(is_channel);
        kept.all(|local| caller.uses(local).all(|used| is_range(used) || caller.is_target(used)))
    };
    (!calls.is_empty()).then(|| calls.iter().all(only_ranges))
}

/// The goroutine that sends.
struct Sender<'s, 'a> {
    scene: &'s Scene<'a>,
    /// The channel as it knows it.
    channel: &'s Channel<'s, 'a>,
    body: BodyId,
    /// Where another function starts it, what that gives it.
    given: Option<(&'s Scene<'a>, &'a [ExprId])>,
}

/// A send, and the arm by which its goroutine leaves between two of them.
struct Between {
    send: Node,
    /// What the arm receives from.
    end: ExprId,
}

impl<'s, 'a> Sender<'s, 'a> {
    fn between(&self) -> Option<Between> {
        let (scene, function) = (self.scene, &self.channel.read.function);
        let cfg = &function.body(self.body).cfg;
        let own = self.channel.deeds.iter().filter(|(at, _)| at.body == self.body);
        // What sends in another way, or is done by somebody else, is not understood.
        let mut sends = Vec::new();
        for (at, deeds) in own {
            match deeds[..] {
                [Deed::Send] => sends.push(at.step),
                [Deed::Close] => {}
                _ => return None,
            }
        }
        sends.sort_unstable_by_key(|&step| cfg.step(step).span(scene.file).start);
        let literal = function.body(self.body).literal;
        for &step in &sends {
            let Step::Send(stmt) = cfg.step(step) else { continue };
            let send = Node::Stmt(stmt);
            let Some(&outermost) = scene.loops_around(send).last() else { continue };
            let around = scene.span(Node::Stmt(outermost));
            let selects = scene.nodes.iter().filter_map(|&node| match node {
                Node::Stmt(stmt) if around.contains(scene.span(node)) => {
                    let own = scene.literal_around(node) == literal;
                    let select = matches!(scene.file.stmt(stmt).kind, StmtKind::Select(_));
                    (own && select).then_some(stmt)
                }
                _ => None,
            });
            for select in selects {
                if let Some(end) = self.left_by(select, send) {
                    return Some(Between { send, end });
                }
            }
        }
        None
    }

    /// What the arm of a `select` receives from by which the goroutine leaves, if the caller ends it.
    fn left_by(&self, select: StmtId, send: Node) -> Option<ExprId> {
        let scene = self.scene;
        let cfg = &self.channel.read.function.body(self.body).cfg;
        let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
        let step = cfg.step_of_stmt(select)?;
        let sent = scene.step_of(cfg, send)?;
        cfg.edges_of(cfg.block_of(step)).iter().find_map(|edge| {
            let EdgeKind::Arm(of, index) = edge.kind else { return None };
            let clause = clauses.get(index as usize).filter(|_| of == select)?;
            let end = scene.file.unparen(Step::Comm(clause.comm?).received_from(scene.file)?);
            if clause.span.contains(scene.span(send)) || !self.is_callers(end) {
                return None;
            }
            let again = |at| at == step || at == sent;
            let leaves = cfg.leaves_from(Start::Block(edge.to), &again);
            leaves.then_some(end)
        })
    }

    /// Whether what ends the goroutine is what the caller of the maker gave that for it, or got from it.
    fn is_callers(&self, end: ExprId) -> bool {
        let scene = self.scene;
        let held = match is_done(scene, end) {
            true => scene.method_call(end).and_then(|(context, _)| scene.local(context)),
            false => scene.local(end),
        };
        let Some((maker, local)) = held.and_then(|local| self.of_maker(local)) else {
            return false;
        };
        let (index, known) = (maker.cx.index(), maker.info.local(local));
        let is_channel = matches!(index.underlying(&known.ty), Type::Chan(..));
        let is_end = if is_channel { index.is_signal(&known.ty) } else { known.ty.is_context() };
        is_end
            && match known.kind {
                LocalKind::Param(place) if known.owner.is_none() && is_kept(maker, local) => {
                    is_channel || may_end(&maker.cx, place)
                }
                LocalKind::Var if is_channel => {
                    is_kept(maker, local) && is_given_to_caller(maker, local)
                }
                // Perhaps in the parameter whose name it takes.
                _ => {
                    cancel_of(maker, local).is_some_and(|cancel| is_given_to_caller(maker, cancel))
                }
            }
    }

    /// The variable of the function that makes the channel which a parameter of the goroutine always is, or which that
    /// captures.
    fn of_maker(&self, local: LocalId) -> Option<(&'s Scene<'a>, LocalId)> {
        let Some((maker, args)) = self.given else { return Some((self.scene, local)) };
        let param = self.scene.info.local(local);
        let LocalKind::Param(place) = param.kind else { return None };
        if param.owner.is_some() || !is_kept(self.scene, local) {
            return None;
        }
        Some((maker, maker.local(*args.get(place as usize)?)?))
    }
}

/// Whether a variable is given a value once.
fn is_kept(scene: &Scene<'_>, local: LocalId) -> bool {
    let read = scene.cx.summaries().read(scene.cx.func);
    read.is_some_and(|read| read.function.only_definition_of(local).is_some())
}

/// The function that ends a context which a variable is from where that is made, once.
fn cancel_of(maker: &Scene<'_>, context: LocalId) -> Option<LocalId> {
    let read = maker.cx.summaries().read(maker.cx.func)?;
    let mut made = read.function.definitions_of(context).filter_map(|it| match it.source {
        Source::Result(call, 0) => Some(Some(call)),
        Source::Given => None,
        _ => Some(None),
    });
    let (Some(Some(call)), None) = (made.next(), made.next()) else { return None };
    maker.cancel_of(call)
}

/// Whether the function gives its caller a channel or function, or a literal that closes or calls it.
fn is_given_to_caller(maker: &Scene<'_>, local: LocalId) -> bool {
    let is_it = |expr: ExprId| maker.local(expr) == Some(local);
    let ends = |call: ExprId| match &maker.file.expr(call).kind {
        ExprKind::Call { callee, args, .. } => {
            let closes = matches!(maker.info.callee(call), Callee::Builtin(Builtin::Close));
            is_it(*callee) || closes && args.first().is_some_and(|&closed| is_it(closed))
        }
        _ => false,
    };
    let gives = |value: ExprId| {
        let value = maker.file.unparen(value);
        let is_literal = matches!(maker.file.expr(value).kind, ExprKind::FuncLit(_));
        let mut below = maker.file.descendants(Node::Expr(value));
        is_it(value)
            || is_literal && below.any(|node| matches!(node, Node::Expr(call) if ends(call)))
    };
    maker.nodes.iter().any(|&node| match node {
        Node::Stmt(stmt) if maker.literal_around(node).is_none() => {
            match &maker.file.stmt(stmt).kind {
                StmtKind::Return(values) => values.iter().any(|&value| gives(value)),
                _ => false,
            }
        }
        _ => false,
    })
}

/// What is told of the channel.
struct Told<'s, 'a> {
    scene: &'s Scene<'a>,
    made: Made,
    started: Span,
    returned: StmtId,
    /// Whether the goroutine closes the channel at its end.
    closes: bool,
}

impl Told<'_, '_> {
    fn finding(&self, sender: &Sender<'_, '_>, Between { send, end }: Between) -> Finding {
        let scene = self.scene;
        let (name, maker) = (scene.info.local(self.made.local).name, scene.name.name);
        let end_text = sender.scene.text(end);
        let message = format!(
            "this send waits for nothing else: when the caller of `{maker}` ends it and leaves, nobody \
             is left to receive from `{name}` (unbuffered)"
        );
        let at = first_line(sender.scene, sender.scene.span(send));
        let mut finding = sender.scene.cx.finding(at, "stays here", message);
        finding.confidence = confidence_at(scene, Node::Stmt(self.returned));
        if self.closes {
            finding.confidence = finding.confidence.min(Confidence::Medium);
        }
        let own = |span| scene.cx.location(span);
        let label =
            |location: Location, role: Role, message: String| Label { location, role, message };
        let make = own(scene.span(Node::Expr(self.made.make)));
        finding.defect = make;
        let left = sender.scene.cx.location(sender.scene.span(Node::Expr(end)));
        finding.labels = vec![
            label(make, Role::Made, format!("`{name}` is made here, unbuffered")),
            label(own(self.started), Role::Started, "the goroutine starts here".to_owned()),
            label(
                own(first_line(scene, scene.span(Node::Stmt(self.returned)))),
                Role::Context,
                "the caller alone can receive from it".to_owned(),
            ),
            label(
                left,
                Role::Left,
                "the goroutine learns of its end here only, between two sends".to_owned(),
            ),
        ];
        finding.why = match self.closes {
            true => format!(
                "who ends the goroutine by `{end_text}` has had enough, and need not receive until `{name}` is closed"
            ),
            false => format!(
                "nobody closes `{name}`, so who ends the goroutine by `{end_text}` cannot wait for its last value"
            ),
        };
        finding.help = format!("send in a `select` that also receives from `{end_text}`");
        finding
    }
}
