//! The goroutine that waits for a foreign end and for a channel of the call, which the call leaves early without
//! closing it.
//!
//! Evidence: the goroutine's first statement is a `select` with two arms, one for the foreign end and one for a channel
//! that the body makes. All that is done with that channel elsewhere stands in the same body, after the `go`: it is
//! closed, sent on or handed on. On one way out none of that is done, and the function has not learnt of the foreign
//! end. The context of a request is a foreign end where the function answers with a response: it is a client's.

use rustc_hash::FxHashSet;

use super::{Helper, SERVES, Started, callers_end_it, foreign_end, make_of, started, told};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Exit, Passing, PathEnd, Start, Step, StepId, Walk};
use crate::index::{LocalId, Type};
use crate::rules::conditions;
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::summary::{At, ContextRoot, Place, Read, Root};
use crate::syntax::{ExprId, Node, StmtKind};

/// What a `go` statement starts, if it is such a goroutine.
pub(super) fn check_spawn(scene: &Scene<'_>, read: &Read<'_>, go: At) -> Option<Finding> {
    let (helper, done) = helper(scene, read, go)?;
    let settled = settled(scene, read, go, &helper, done)?;
    if callers_end_it(scene, &helper) {
        return None;
    }
    let mut over = told(scene, read, go, &helper, &SERVES);
    over.extend(&settled);
    over.extend(ends_receiver(scene, read, go));
    let mut walk = Leave { over };
    let paths = conditions::search(&read.function, go.body, Start::After(go.step), (), &mut walk);
    let left = paths.iter().find_map(|path| match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => {
            let span = scene.span(Node::Stmt(stmt));
            // Who says that a context is over leaves because of that.
            (!scene.file.source.text(span).contains(".Err()")).then_some(span)
        }
        PathEnd::Exit(..) => {
            let end = scene.span(Node::Stmt(read.function.body(go.body).block)).end;
            Some(Span::new(end.saturating_sub(1), end))
        }
        PathEnd::Step(_) => None,
    })?;
    let cfg = &read.function.body(go.body).cfg;
    let first = settled.iter().min().map(|&step| cfg.step(step).span(scene.file))?;
    Some(finding(scene, read, go, &helper, done, first, left))
}

/// The goroutine, and the channel of the body that is its other way out.
fn helper(scene: &Scene<'_>, read: &Read<'_>, go: At) -> Option<(Helper, LocalId)> {
    let function = &read.function;
    let Started { literal, body, statements } = started(read, go)?;
    let StmtKind::Select(clauses) = &scene.file.stmt(*statements.first()?).kind else {
        return None;
    };
    let cfg = &function.body(body).cfg;
    let [(own, own_end), (other, other_end)] = clauses
        .iter()
        .map(|clause| {
            let step = cfg.step_of_stmt(clause.comm?)?;
            Some((step, cfg.step(step).received_from(scene.file)?))
        })
        .collect::<Option<Vec<_>>>()?[..]
    else {
        return None;
    };
    let made =
        |received: ExprId| scene.local(received).filter(|&local| is_made(scene, read, go, local));
    let (wait, done, step, received) = match (made(own_end), made(other_end)) {
        (Some(done), None) => (own, done, other, other_end),
        (None, Some(done)) => (other, done, own, own_end),
        _ => return None,
    };
    let helper = Helper {
        literal,
        wait: cfg.step(wait).span(scene.file),
        channel: function.text(received),
        end: foreign(scene, read, At { body, step }, received)?,
    };
    Some((helper, done))
}

/// Whether a variable is a channel that the body which starts the goroutine makes.
fn is_made(scene: &Scene<'_>, read: &Read<'_>, go: At, local: LocalId) -> bool {
    make_of(read, local).is_some_and(|(at, make)| {
        let ty = read.function.index.underlying(scene.info.type_of(make));
        at.body == go.body && matches!(ty, Type::Chan(..))
    })
}

/// The end that the goroutine looks at besides, if somebody else brings it about: also that of the request which a
/// client was given to send.
fn foreign(scene: &Scene<'_>, read: &Read<'_>, at: At, received: ExprId) -> Option<Place> {
    let function = &read.function;
    foreign_end(scene, read, at, received).or_else(|| {
        let context = function.done_of(scene.file.unparen(received))?;
        let origin = scene.cx.summaries().context(function, at, context);
        let [ContextRoot::Place(place)] = &origin.roots[..] else { return None };
        let is_clients = place.is_context_of_request()
            && matches!(place.root, Root::Param(_))
            && place.path.len() == 1
            && answers_with_response(scene)
            && origin.derivations.is_empty();
        is_clients.then(|| place.clone())
    })
}

/// Whether the function gives a response of `net/http`, as a client does and no server.
fn answers_with_response(scene: &Scene<'_>) -> bool {
    let Type::Func(signature) = scene.cx.index().func_type(scene.cx.func) else { return false };
    let is_response = |ty: &Type| ty.strip_pointer().is_named("net/http", "Response");
    signature.results.iter().any(is_response)
}

/// The steps after the `go` that do something with the channel; `None` if something is done with it at another time.
fn settled(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    helper: &Helper,
    done: LocalId,
) -> Option<FxHashSet<StepId>> {
    let function = &read.function;
    let cfg = &function.body(go.body).cfg;
    let owner = function.body(go.body).literal;
    let inside = scene.file.expr(helper.literal).span;
    let mut settled = FxHashSet::default();
    for used in scene.uses(done).filter(|&used| !scene.is_target(used)) {
        let node = Node::Expr(used);
        if inside.contains(scene.span(node)) {
            continue;
        }
        let step = scene.step_of(cfg, node)?;
        let in_turn = scene.literal_around(node) == owner
            && !matches!(cfg.step(step), Step::Defer(_))
            && cfg.reaches(go.step, step)
            && !cfg.reaches(step, go.step);
        settled.extend(in_turn.then_some(step));
        if !in_turn {
            return None;
        }
    }
    (!settled.is_empty()).then_some(settled)
}

/// The steps that may end what the function's receiver is: calls of its methods, or of functions that it keeps, with
/// such names.
fn ends_receiver(scene: &Scene<'_>, read: &Read<'_>, go: At) -> Vec<StepId> {
    let cfg = &read.function.body(go.body).cfg;
    let ends = |&step: &StepId| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let Some((base, name)) = scene.method_call(call) else { return false };
        let name = name.name.as_str().to_lowercase();
        let is_end = ["cancel", "close", "shutdown", "stop"].iter().any(|end| name.contains(end));
        let own = scene.receiver();
        is_end && own.is_some_and(|own| scene.mentions(Node::Expr(base), own))
    };
    cfg.steps().filter(ends).collect()
}

struct Leave {
    over: FxHashSet<StepId>,
}

impl Walk for Leave {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if self.over.contains(&step) { Passing::Drop } else { Passing::On(()) }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

fn finding(
    scene: &Scene<'_>,
    read: &Read<'_>,
    go: At,
    helper: &Helper,
    done: LocalId,
    settled: Span,
    left: Span,
) -> Finding {
    let cx = &scene.cx;
    let (name, channel) = (scene.info.local(done).name, &helper.channel);
    let message = format!(
        "this goroutine waits for `{channel}` only where `{}` leaves early: nobody closes `{name}` then",
        scene.name.name
    );
    let mut finding = cx.finding(helper.wait, "waits on", message);
    finding.confidence = Confidence::Medium;
    let label = |span: Span, role: Role, message: String| Label {
        location: cx.location(span),
        role,
        message,
    };
    let go = read.function.step(go).span(scene.file);
    finding.labels = vec![
        label(go, Role::Started, "started here".to_owned()),
        label(left, Role::Left, format!("left here, and `{name}` is nobody's")),
        label(settled, Role::Context, format!("on another way `{name}` is closed or handed on")),
    ];
    finding.labels.sort_by_key(|label| label.location.span.start);
    finding.why = format!(
        "`{channel}` belongs to whoever called: each call that is left so leaves one goroutine more until then, with \
         all that it refers to"
    );
    finding.help = format!("close `{name}` on this way out too");
    finding
}
