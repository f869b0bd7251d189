//! A cancel function that is called only by a goroutine which waits for the end of that very context first, or for
//! that of something that lives longer than the call: the function returns, nobody cancels, and the goroutine stays.

use super::{Made, is_local, uses};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::index::{Callee, LocalId};
use crate::rules::FunctionCx;
use crate::rules::held::names_end;
use crate::rules::recurrence::{self, Runs};
use crate::source::Location;
use crate::summary::{Act, At, BodyFlow, BodyId, Effect, Function, Mode, Place, Read, Root};
use crate::syntax::{ExprKind, Node, StmtId, StmtKind};

/// The context whose cancel function has this variable.
pub(super) fn check(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    made: &Made,
    cancel: LocalId,
) -> Option<Finding> {
    let function = &read.function;
    let context = function.variable(made.context).filter(|_| made.given.is_none())?;
    let (go, goroutine) = only_goroutine(function, made, cancel)?;
    let (select, channels) = waits_first(function, goroutine, context, cancel)?;
    if super::ends_with_handler(cx, function, made)
        || !returns_before(cx, read, made, context, (go, goroutine))
        || channels.iter().any(|channel| may_be_ended(read, go, channel))
    {
        return None;
    }
    let again = match recurrence::runs(&cx.package, cx.func) {
        Runs::Again(location, message) => (location, message.to_owned()),
        Runs::Once => return None,
        Runs::Unknown => counted(cx, read, go, goroutine)?,
    };
    Some(tell(cx, function, made, select, again))
}

fn tell(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    made: &Made,
    select: At,
    (location, again): (Location, String),
) -> Finding {
    let file = function.file;
    let (context, cancel) = (function.text(made.context), function.text(made.cancel));
    let message = format!(
        "`{cancel}` is called only by a goroutine that waits for the end of `{context}` first: the function \
         returns, and the goroutine stays"
    );
    let mut finding = cx.finding(file.expr(made.cancel).span, "nobody calls it in time", message);
    finding.confidence = Confidence::Medium;
    let waits = function.step(select).span(file);
    finding.labels.push(Label {
        location: cx.location(waits),
        role: Role::Stuck,
        message: format!("waits here until what `{context}` is derived from ends"),
    });
    finding.labels.push(Label { location, role: Role::Context, message: again });
    finding.why =
        "each call leaves one more goroutine and one more context with the parent".to_owned();
    finding.help = format!("`defer {cancel}()` right after it is made");
    finding.defect = cx.location(file.expr(made.call).span);
    finding
}

/// The goroutine that alone has the cancel function, and does nothing with it but to call it.
fn only_goroutine(function: &Function<'_>, made: &Made, cancel: LocalId) -> Option<(At, BodyId)> {
    let file = function.file;
    let cfg = &function.body(made.at.body).cfg;
    let mut started = cfg.steps().filter_map(|step| {
        let Step::Go(stmt) = cfg.step(step) else { return None };
        let call = BodyFlow::statement_call(file, stmt)?;
        let Callee::Literal(literal) = *function.info.callee(call) else { return None };
        let is_it = uses(function, Node::Expr(literal), cancel) && function.args(call).is_empty();
        Some((At { body: made.at.body, step }, function.body_of_literal(literal)?))
            .filter(|_| is_it)
    });
    let (go, goroutine) = started.next().filter(|_| started.next().is_none())?;
    if !cfg.dominates(made.stored, go.step) || cfg.reaches(go.step, go.step) {
        return None;
    }
    let literal = function.body(goroutine).literal?;
    let named = |node: Node| {
        let named = file.descendants(node).filter(|&node| match node {
            Node::Expr(expr) => expr != made.cancel && is_local(function, expr, cancel),
            _ => false,
        });
        named.count()
    };
    let called = ended_at(function, goroutine, cancel).count();
    let all = named(Node::Decl(function.index.func(function.id).decl));
    (called > 0 && called == all && called == named(Node::Expr(literal))).then_some((go, goroutine))
}

/// The calls of the cancel function in a body, also those that it defers.
fn ended_at<'f>(
    function: &'f Function<'_>,
    body: BodyId,
    cancel: LocalId,
) -> impl Iterator<Item = StepId> + 'f {
    let cfg = &function.body(body).cfg;
    cfg.steps().filter(move |&step| {
        let is_call = matches!(cfg.step(step), Step::Call(_) | Step::Defer(_));
        let call = cfg.step(step).call(function.file).filter(|_| is_call);
        call.is_some_and(|call| match function.file.expr(call).kind {
            ExprKind::Call { callee, .. } => {
                is_local(function, function.file.unparen(callee), cancel)
            }
            _ => false,
        })
    })
}

/// The `select` that a goroutine comes to before it calls the cancel function or ends, with the channels that end the
/// wait beside the context.
fn waits_first(
    function: &Function<'_>,
    goroutine: BodyId,
    context: LocalId,
    cancel: LocalId,
) -> Option<(At, Vec<Place>)> {
    let cfg = &function.body(goroutine).cfg;
    let (select, stmt) = cfg.steps().find_map(|step| match cfg.step(step) {
        Step::Select(stmt) => Some((step, stmt)),
        _ => None,
    })?;
    let is_before = |step: StepId| match cfg.step(step) {
        Step::Call(_) => cfg.dominates(select, step),
        _ => true,
    };
    if cfg.leaves_without(&|step| step == select)
        || !ended_at(function, goroutine, cancel).all(is_before)
        || cfg.reaches(select, select)
    {
        return None;
    }
    let at = At { body: goroutine, step: select };
    Some((at, arms(function, at, stmt, context)?))
}

/// The channels of the arms of a `select` that is ended by the end of a context or by what its arms receive from: each
/// is a field of something that the function was given, or of what a call gives it.
fn arms(function: &Function<'_>, at: At, select: StmtId, context: LocalId) -> Option<Vec<Place>> {
    let file = function.file;
    let StmtKind::Select(clauses) = &file.stmt(select).kind else { return None };
    let mut channels = Vec::new();
    let mut waits = false;
    for clause in clauses {
        let channel = Step::Comm(clause.comm?).received_from(file)?;
        if let Some(of) = function.done_of(channel) {
            if !is_local(function, file.unparen(of), context) {
                return None;
            }
            waits = true;
            continue;
        }
        let places = function.places(at, channel);
        let place = places.only()?;
        let is_field = matches!(place.root, Root::Receiver | Root::Param(_) | Root::Call(..))
            && place.path.last().is_some_and(|name| !name.as_str().ends_with("()"));
        if !is_field {
            return None;
        }
        channels.push(place.clone());
    }
    (waits && !channels.is_empty()).then_some(channels)
}

/// Whether the function may end what a channel is a field of, or tell somebody else to.
fn may_be_ended(read: &Read<'_>, go: At, channel: &Place) -> bool {
    let holder = Place::root(channel.root);
    let mut effects = read.effects(go.body).effects.iter().filter(|effect| effect.at != go);
    effects.any(|effect| match effect.act {
        Act::Closed | Act::SentTo(_) => effect.place == *channel,
        Act::Method(name) => channel.is_within(&effect.place) && names_end(name),
        act => act.escapes() && effect.place == holder,
    })
}

/// Whether the function may return while the context goes on: nothing else that it starts or stores has that, and
/// neither it nor whom it calls with it goes round in a loop, or waits for the end of the context alone.
fn returns_before(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    made: &Made,
    context: LocalId,
    (go, goroutine): (At, BodyId),
) -> bool {
    let function = &read.function;
    let cfg = &function.body(made.at.body).cfg;
    let place = Place::root(Root::Call(made.call, 0));
    let is_kept = |effect: &Effect| {
        effect.place.is_within(&place)
            && effect.at != go
            && effect.at.body != goroutine
            && (effect.act.escapes() || effect.mode >= Mode::Joined)
    };
    let mut effects = function.bodies().flat_map(|body| &read.effects(body).effects);
    if made.at.body != BodyId::OWN
        || effects.any(is_kept)
        || cfg.escapes(go.step, &|step| made.is_awaited_at(function, step)).is_empty()
        || cfg.steps().any(|step| cfg.reaches(made.stored, step) && cfg.reaches(step, step))
    {
        return false;
    }
    let mut given = function.calls().filter(|&(at, call)| {
        at.body == made.at.body
            && call != made.call
            && cfg.reaches(made.stored, at.step)
            && function.args(call).iter().any(|&arg| function.variable(arg) == Some(context))
    });
    given.all(|(_, call)| {
        let Callee::Func(func) = *function.info.callee(call) else { return false };
        let Some(called) = cx.summaries().read(func) else { return false };
        let inner = &called.function;
        let cfg = &inner.body(BodyId::OWN).cfg;
        let ends = |step: StepId| inner.end_received(cfg.step(step)).is_some();
        !cfg.steps().any(|step| cfg.reaches(step, step)) && cfg.leaves_without(&ends)
    })
}

/// The call by which the function's receiver counts the goroutine, which so is one of those that the receiver waits for
/// when it ends.
fn counted(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    go: At,
    goroutine: BodyId,
) -> Option<(Location, String)> {
    let function = &read.function;
    let counts = |effect: &&Effect, name: &str| {
        effect.place.root == Root::Receiver
            && !effect.place.path.is_empty()
            && matches!(effect.act, Act::Method(method) if method.as_str() == name)
    };
    let done = read.effects(goroutine).effects.iter().find(|effect| counts(effect, "Done"))?;
    let own = read.effects(go.body).effects.iter();
    let cfg = &function.body(go.body).cfg;
    let add = own.filter(|effect| counts(effect, "Add")).find(|effect| {
        effect.place == done.place
            && effect.at.body == go.body
            && cfg.dominates(effect.at.step, go.step)
    })?;
    let message = "the receiver counts the goroutines that its calls start".to_owned();
    Some((cx.location(function.step(add.at).span(function.file)), message))
}
