//! `missing-deadline`: a call of another process or machine with a context that nothing ends in
//! time, where the same type puts a deadline on such calls elsewhere.
//!
//! The evidence is the type's own. The context was made here, or by a function of the module that
//! only makes contexts, so that no caller can have bounded it; its cancel function is called when
//! the function is left, and not before; and a method of the same receiver gives calls of the same
//! peer a context with a deadline.

mod accepted;
mod connection;
mod handed;
mod http;
mod own_bound;
mod process;

use crate::catalog::Context;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::index::{Callee, Def, LocalKind, Type};
use crate::rules::peer::{
    WithContext, calls_with_context, is_known_peer, may_fail, waits_for_one_answer,
};
use crate::rules::scene::{Scene, serves_tests};
use crate::rules::{Check, FunctionCx, Rule, held};
use crate::source::Location;
use crate::summary::{BodyId, ContextRoot, Function, Read, Root, facts};
use crate::syntax::{ExprId, ExprKind, Node};

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/missing-deadline.md"), check: Check::Function(check) };

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    findings.extend(http::check(cx, &read));
    findings.extend(connection::check(cx, &read));
    findings.extend(accepted::check(cx, &read));
    findings.extend(handed::check(cx, &read));
    findings.extend(own_bound::check(cx, &read));
    findings.extend(process::check(cx, &read));
    let mut scene: Option<Scene<'_>> = None;
    for call in calls_with_context(cx, &read) {
        if call.origin.deadline || !waits_for_one_answer(cx, &read.function, call.call) {
            continue;
        }
        if scene.is_none() {
            scene = Scene::new(*cx);
        }
        let Some(scene) = &scene else { return };
        let Some(made) = made_unbounded(scene, &read, &call) else { continue };
        let evidence = sibling(cx, &read, &call).or_else(|| {
            let fresh = call.origin.is_fresh()
                && call.origin.derivations.iter().all(|&made| !gives_cancel(scene, made));
            let waits = || {
                let locked = waited_for(cx, &read.function, &call);
                locked.or_else(|| counted(&read.function, &call))
            };
            fresh.then(waits)?
        });
        let Some(evidence) = evidence else { continue };
        findings.push(finding(cx, &read, &call, made, &evidence));
        // One context is one fault, however many calls it is given to.
        return;
    }
}

/// Where a context is made that nothing ends as long as the function waits: it is new, or was
/// derived here with a cancel function that only `defer` calls.
fn made_unbounded(scene: &Scene<'_>, read: &Read<'_>, call: &WithContext) -> Option<ExprId> {
    let function = &read.function;
    let cx = &scene.cx;
    if call.at.body != BodyId::OWN {
        return None;
    }
    let mut cancels = None;
    for &derived in &call.origin.derivations {
        let known = facts(cx.catalog(), function.index, function.info.callee(derived));
        let facts: Vec<&Context> = known.all_in_force::<Context>(cx.versions()).collect();
        if facts.iter().any(|fact| fact.deadline) {
            return None;
        }
        if facts.iter().any(|fact| fact.cancel.is_some()) {
            cancels = Some(derived);
        } else if facts.is_empty() && gives_cancel(scene, derived) {
            if !only_returns_cancel(scene, derived) {
                return None;
            }
            cancels = Some(derived);
        }
    }
    // A function that makes a context of a channel ends it with that.
    let is_channel = |&arg: &ExprId| {
        let ty = function.info.type_of(arg);
        matches!(function.index.underlying(ty), Type::Chan(..))
    };
    let ends = |made: ExprId| function.args(made).iter().any(is_channel);
    match &call.origin.roots[..] {
        [ContextRoot::Fresh(fresh)] if ends(*fresh) || cancels.is_some_and(ends) => None,
        [ContextRoot::Fresh(fresh)] if cancels.is_none() => Some(*fresh),
        [ContextRoot::Fresh(_) | ContextRoot::Place(_)] => {
            let made = cancels?;
            is_ended_at_exit_only(scene, made).then_some(made)
        }
        _ => None,
    }
}

/// Whether a call that derives a context gives something beside it.
fn gives_cancel(scene: &Scene<'_>, derived: ExprId) -> bool {
    let assigned = scene.parent(Node::Expr(derived)).and_then(|stmt| scene.assignment(stmt));
    match assigned {
        Some((left, right)) => left.len() > right.len(),
        None => matches!(scene.info.type_of(derived), Type::Tuple(types) if types.len() > 1),
    }
}

/// Whether a function of the run that derives a context, and gives its cancel function beside it, is seen
/// to leave it at that: one with a goroutine or literal of its own may end it for a reason of its own.
fn only_returns_cancel(scene: &Scene<'_>, derived: ExprId) -> bool {
    let Callee::Func(func) = *scene.info.callee(derived) else { return true };
    let read = scene.cx.summaries().read(func);
    read.is_none_or(|read| read.function.bodies().count() == 1)
}

/// Whether the cancel function that a call gives is used in `defer cancel()` alone.
fn is_ended_at_exit_only(scene: &Scene<'_>, made: ExprId) -> bool {
    let Some(stmt) = scene.parent(Node::Expr(made)) else { return false };
    let Some((left, _)) = scene.assignment(stmt) else { return false };
    let [_, Some(cancel)] = left[..] else { return false };
    let mut uses = 0;
    scene.uses(cancel).all(|expr| {
        let call = match scene.parent(Node::Expr(expr)) {
            Some(around) if around == stmt => return true,
            Some(Node::Expr(call)) => call,
            _ => return false,
        };
        uses += 1;
        scene.is_deferred(call) && matches!(scene.file.expr(call).kind, ExprKind::Call { .. })
    }) && uses > 0
}

/// Why a wait without a bound does harm.
struct Evidence {
    location: Location,
    /// What is there.
    label: String,
    /// What to do about it.
    help: &'static str,
}

/// The lock that others wait for as long as the call waits.
///
/// Much that is local takes a context too, and ends soon by itself: the peer has to be known as
/// one.
fn waited_for(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: &WithContext,
) -> Option<Evidence> {
    let at = call.at;
    let file = function.file;
    if !is_known_peer(cx, function, call.call) {
        return None;
    }
    let cfg = &function.body(at.body).cfg;
    let method = |step: StepId| {
        let Step::Call(call) = cfg.step(step) else { return None };
        let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
        match file.expr(file.unparen(callee)).kind {
            ExprKind::Selector { base, name } if args.is_empty() => {
                Some((base, name.name.as_str()))
            }
            _ => None,
        }
    };
    cfg.steps().filter(|&step| step != at.step && cfg.dominates(step, at.step)).find_map(|step| {
        let (lock, "Lock") = method(step)? else { return None };
        let text = function.text(lock);
        let unlocks = |other: StepId| {
            method(other)
                .is_some_and(|(base, name)| name == "Unlock" && function.text(base) == text)
        };
        let is_held = cfg.reaches_without(step, at.step, &unlocks);
        is_held.then(|| Evidence {
            location: Location { file: function.file_id, span: cfg.step(step).span(file) },
            label: format!("`{text}` is held from here on"),
            help: "`context.WithTimeout` with a bound that those who wait can bear",
        })
    })
}

/// The `defer wg.Done()` of a function that is given the group: whoever started it with others like it
/// waits for the slowest of them.
fn counted(function: &Function<'_>, call: &WithContext) -> Option<Evidence> {
    let file = function.file;
    let cfg = &function.body(call.at.body).cfg;
    let group = |step: StepId| {
        let Step::Defer(_) = cfg.step(step) else { return None };
        let done = cfg.step(step).call(file)?;
        let (base, name) = file.method_call(done)?;
        let Def::Local(local) = *function.info.resolve(file.unparen(base)) else { return None };
        let local = function.info.local(local);
        let is_group = local.ty.strip_pointer().is_named("sync", "WaitGroup");
        let given = matches!(local.kind, LocalKind::Param(_)) && local.owner.is_none();
        (name.name.as_str() == "Done" && is_group && given).then_some(base)
    };
    cfg.steps().filter(|&step| cfg.reaches(step, call.at.step)).find_map(|step| {
        let text = function.text(group(step)?);
        Some(Evidence {
            location: Location { file: function.file_id, span: cfg.step(step).span(file) },
            label: format!("whoever waits for `{text}` waits for this"),
            help: "`context.WithTimeout` with a bound that those who wait can bear",
        })
    })
}

/// A call of the same peer, by the same function or a method of the same type, that has a deadline.
fn sibling(cx: &FunctionCx<'_>, read: &Read<'_>, call: &WithContext) -> Option<Evidence> {
    let base = peer(&read.function, call.call)?;
    if base.is_empty() && !is_own_step(&read.function, call.call)
        || !may_fail(&read.function, call.call)
    {
        return None;
    }
    let bases = match base.is_empty() {
        true => asked(cx, &read.function, call.call),
        false => vec![base],
    };
    bases.iter().find_map(|base| bounded_elsewhere(cx, read, call, base))
}

/// A call of a peer with a deadline, other than `call`.
fn bounded_elsewhere(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    call: &WithContext,
    base: &str,
) -> Option<Evidence> {
    let own = bounded_call(cx, read, base, Some(call.call));
    if own.is_some() {
        return own;
    }
    let receiver = cx.owner()?;
    let package = cx.index().package(receiver.package);
    let name = cx.index().object(receiver).name;
    let mut siblings = package.methods(name).filter(|method| method.id != cx.func);
    siblings.find_map(|method| {
        let other = FunctionCx { func: method.id, ..*cx };
        let read = cx.summaries().read(method.id)?;
        bounded_call(&other, &read, base, None)
    })
}

/// Whether a call is of a step of the type's own. What it offers to everybody can be called with a
/// deadline by whoever cannot wait, and what an interface in it does is not known to be remote.
fn is_own_step(function: &Function<'_>, call: ExprId) -> bool {
    match function.info.callee(call) {
        Callee::Func(func) => !function.index.func(*func).name.is_exported(),
        _ => false,
    }
}

/// What stands for the peer in a call, the receiver's own name left out: `.client` of
/// `s.client.Stop(ctx)`, and nothing for `s.stop(ctx)`.
fn peer(function: &Function<'_>, call: ExprId) -> Option<String> {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
    let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else { return None };
    if !matches!(file.expr(base).kind, ExprKind::Selector { .. } | ExprKind::Ident(_)) {
        return None;
    }
    let text = function.text(base);
    let root = text.split('.').next().unwrap_or_default().to_owned();
    let receiver = function.info.locals().iter().find_map(|local| {
        let is_receiver = local.kind == LocalKind::Receiver;
        is_receiver.then(|| local.name.as_str().to_owned())
    })?;
    (root == receiver).then(|| text[root.len()..].to_owned())
}

fn bounded_call(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    base: &str,
    except: Option<ExprId>,
) -> Option<Evidence> {
    let function = &read.function;
    let calls = calls_with_context(cx, read);
    let bounded = calls.iter().find(|call| {
        Some(call.call) != except
            && call.origin.deadline
            && !call.origin.roots.contains(&ContextRoot::Unknown)
            && match peer(function, call.call) {
                Some(own) if own == base => true,
                // A method of the type that hands the context on to the peer.
                Some(own) if own.is_empty() => {
                    asked(cx, function, call.call).iter().any(|asked| asked == base)
                }
                _ => false,
            }
    })?;
    let span = function.file.expr(bounded.call).span;
    Some(Evidence {
        location: Location { file: function.file_id, span },
        label: format!("in `{}` the same peer gets a deadline", cx.declared().name.as_str()),
        help: "`context.WithTimeout`, as elsewhere in this type",
    })
}

/// The peers to which a method of the package that is called gives its first parameter.
fn asked(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Vec<String> {
    let Callee::Func(func) = *function.info.callee(call) else { return Vec::new() };
    if func.package != cx.func.package {
        return Vec::new();
    }
    let Some(read) = cx.summaries().read(func) else { return Vec::new() };
    let inner = FunctionCx { func, ..*cx };
    let calls = calls_with_context(&inner, &read);
    let given = calls.iter().filter(|call| {
        matches!(&call.origin.roots[..], [ContextRoot::Place(place)]
            if place.path.is_empty() && place.root == Root::Param(0))
    });
    let peers = given.filter_map(|call| peer(&read.function, call.call));
    peers.filter(|peer| !peer.is_empty()).collect()
}

fn finding(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    call: &WithContext,
    made: ExprId,
    evidence: &Evidence,
) -> Finding {
    let function = &read.function;
    let file = function.file;
    let callee = function.callee_text(call.call);
    let context = function.text(call.context);
    let message = format!(
        "`{callee}` waits as long as its peer likes: `{context}` has no deadline, and is made here"
    );
    let made_at = cx.location(file.expr(made).span);
    let mut finding = cx.finding(made_at.span, "no deadline", message);
    finding.labels.push(Label {
        location: cx.location(file.expr(call.call).span),
        role: Role::Stuck,
        message: "waits here for an answer that may never come".to_owned(),
    });
    finding.labels.push(Label {
        location: evidence.location,
        role: Role::Context,
        message: evidence.label.clone(),
    });
    finding.why =
        "a peer that hangs does not answer, and nobody else holds this context to cancel \
                   it: the goroutine stays, and all that wait for it"
            .to_owned();
    finding.help = evidence.help.to_owned();
    finding.defect = made_at;
    finding
}
