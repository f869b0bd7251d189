//! `context-not-propagated`: a function that has a context waits for something out of its reach.
//!
//! The claim needs three things: a context at hand ([`own`]), a place where it is cut off (a fresh
//! context, or a call that takes none), and something behind that place which waits
//! ([`evidence`]). What is meant to outlive the context ([`purpose`]) is none of it.

mod alike;
mod below;
mod callers;
mod deferred;
mod evidence;
mod group;
mod own;
mod purpose;
mod sibling;
mod undecided;
mod variant;

pub use evidence::Evidence;

use crate::catalog::{Base, Blocking, Context, ContextRole};
use crate::diagnostic::{Confidence, Edit, Finding, Fix, Label, Role, Safety};
use crate::index::{LocalKind, Type};
use crate::rules::endable::kept;
use crate::rules::held::runs_process;
use crate::rules::makers;
use crate::rules::scene::serves_tests;
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::{Location, Span};
use crate::summary::{Act, At, ContextRoot, Function, Mode, Place, Read, Root, facts};
use crate::syntax::{ExprId, ExprKind, Node, Parents, StmtKind};
use callers::Callers;
use own::{From, Own, Reach};

pub const RULE: Rule = Rule {
    page: include_str!("../../rules/context-not-propagated.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if runs_process(cx) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let fresh = fresh_contexts(cx, &read);
    if fresh.iter().all(|fresh| fresh.kept) {
        findings.extend(alike::check(cx, &read));
    }
    for fresh in fresh {
        let Some(finding) = check_fresh(cx, &read, &fresh) else { continue };
        if makers::never_waits(cx, &read.function, fresh.call) {
            continue;
        }
        // A parameter that is missing is one fault, however many contexts are made in its place.
        let same = |other: &&mut Finding| other.defect == finding.defect;
        match findings.iter_mut().find(same) {
            Some(first) => first.labels.push(Label {
                location: finding.primary,
                role: Role::Context,
                message: "nor this".to_owned(),
            }),
            None => findings.push(finding),
        }
    }
    findings.extend(variant::check(cx, &read));
    findings.extend(group::check(cx, &read));
    findings.extend(below::check(cx, &read));
}

/// A context that is made here, or kept in a field, and given to something that waits.
struct Fresh {
    /// Whether it is kept in a field: of that is not asked yet whether it may be done.
    kept: bool,
    /// The call that makes it, or the field.
    made: ExprId,
    /// The call that it is given to.
    call: ExprId,
    /// Which argument it is there.
    arg: u32,
    /// Where that happens.
    at: At,
    /// That it waits.
    evidence: Evidence,
    /// The calls that derive what is given from what is made.
    derivations: Vec<ExprId>,
    /// Whether a deadline is put on it on every way.
    deadline: bool,
    /// Whether what is given may also be something of which nothing is known.
    unclear: bool,
}

/// Where the function gives a context of its own making to something that waits: for each one
/// that is made, the first that waits.
fn fresh_contexts(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Fresh> {
    let function = &read.function;
    let file = function.file;
    let mut found: Vec<Fresh> = Vec::new();
    for (at, call) in function.calls() {
        let args = function.args(call);
        for (index, &arg) in (0..).zip(args) {
            if !function.info.type_of(arg).is_context() {
                continue;
            }
            let origin = cx.summaries().context(function, at, arg);
            let mut roots = origin.roots.iter().filter(|root| **root != ContextRoot::Unknown);
            let (made, kept) = match (roots.next(), roots.next()) {
                (Some(&ContextRoot::Fresh(made)), None) => (made, false),
                (Some(ContextRoot::Place(_)), None)
                    if kept::is_field(function, arg) && origin.derivations.is_empty() =>
                {
                    (file.unparen(arg), true)
                }
                _ => continue,
            };
            let known = found.iter().any(|fresh| fresh.made == made);
            if known || origin.detached || !kept && !is_root(cx, function, made) {
                continue;
            }
            let by_admission = || match !kept && is_undecided(cx, function, made) {
                true => evidence::by_admission(cx, function, call, index),
                false => None,
            };
            let evidence = evidence::waits_on(cx, read, call, index).or_else(by_admission);
            if let Some(evidence) = evidence {
                let unclear = origin.roots.len() > 1;
                let (derivations, deadline) = (origin.derivations, origin.deadline);
                found.push(Fresh {
                    kept,
                    made,
                    call,
                    arg: index,
                    at,
                    evidence,
                    derivations,
                    deadline,
                    unclear,
                });
            }
        }
    }
    found
}

/// Whether a call is one of `Background` or `TODO`, and not of a function that decides for itself.
fn is_root(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let callee = function.info.callee(call);
    let known = facts(cx.catalog(), function.index, callee);
    known.all_in_force::<Context>(cx.versions()).any(|fact| fact.role == ContextRole::Root)
}

/// Whether a call makes a context that stands for one that has not been decided on.
fn is_undecided(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    known.all_in_force::<Context>(cx.versions()).any(|fact| fact.undecided)
}

fn check_fresh(cx: &FunctionCx<'_>, read: &Read<'_>, fresh: &Fresh) -> Option<Finding> {
    let function = &read.function;
    let file = function.file;
    let spans = [file.expr(fresh.made).span, file.expr(fresh.call).span];
    let made_at = match fresh.kept {
        true => fresh.at,
        false => function.at_call(fresh.made)?,
    };
    let ends = purpose::ends_something(function, fresh.call);
    // A goroutine that ends something may go on when the function has returned.
    if ends
        && !(purpose::is_made_to_end(function, fresh.call)
            && is_undecided(cx, function, fresh.made)
            && !is_in_goroutine(function, fresh.call))
        || purpose::waits_for_peers(function, fresh.call)
        || purpose::is_explained(function, &spans)
        || purpose::is_beside_an_end(function, fresh.call)
        || !fresh.kept && purpose::is_watched(cx, function, fresh.at)
        || purpose::after_the_end(function, fresh.at)
        || purpose::after_the_end(function, made_at)
        || evidence::is_kept(cx, function, fresh.call, fresh.arg)
    {
        return None;
    }
    let own = match own::at_hand(cx, read, fresh.at) {
        Reach::Own(own) => own,
        _ if fresh.kept => return None,
        Reach::Caller if !fresh.unclear && !fresh.deadline && !others_end(cx, read, fresh) => {
            return check_callers(cx, read, fresh);
        }
        Reach::Caller | Reach::Away => return None,
    };
    let is_other = own.from != From::Field && own.is_named() && !own.is_later;
    if fresh.kept && !(is_other && kept::is_fresh(cx, function, fresh.made)) {
        return None;
    }
    // A literal that is called back, or what the method belongs to, has it already: that may be what waits.
    if fresh.evidence.by_form && own.is_named() && own.is_within_call(function, fresh.call) {
        return None;
    }
    // What the package only ever asks says when its loops end, and nothing of what is called there.
    if own.is_signal && !is_undecided(cx, function, fresh.made) {
        return None;
    }
    // A part of the receiver that is told to stop lives as long as the receiver.
    if own.from == From::Field && fresh.evidence.ends_with_receiver {
        return None;
    }
    let ends = fresh.unclear || fresh.deadline || others_end(cx, read, fresh);
    // Where every other call follows the context, this one was decided on.
    let is_decided = || {
        !fresh.kept
            && !is_undecided(cx, function, fresh.made)
            && purpose::others_follow(cx, function, fresh.call)
    };
    // What runs some time later need not run under the context that the variable held before.
    if ends && (own.is_later || !hides(function, fresh, &own)) {
        return None;
    }
    let mut finding = cut_off(cx, function, fresh, &own);
    finding.confidence = finding.confidence.min(fresh.evidence.confidence);
    // Neither that something waits far below is known, nor that the context ever ends.
    let is_far = fresh.evidence.waits_at.is_some();
    if fresh.evidence.by_form && is_far && !own.is_seen_to_end(cx)
        || is_decided()
        || is_apart(function, fresh, &own)
    {
        finding.confidence = Confidence::Low;
    }
    if fresh.kept {
        finding.confidence = finding.confidence.min(Confidence::Medium);
    }
    if own.from == From::Field {
        finding.confidence = finding.confidence.min(Confidence::Medium);
    }
    Some(finding)
}

/// Whether the function keeps a context of its own for all that it does, and of the one that it is given asks for
/// nothing but its end.
fn is_apart(function: &Function<'_>, fresh: &Fresh, own: &Own) -> bool {
    let is_stored = || {
        let around = parents(function).of(Node::Expr(fresh.made));
        matches!(around, Some(Node::Stmt(stmt)) if matches!(
            function.file.stmt(stmt).kind,
            StmtKind::Define { .. } | StmtKind::Assign { .. }
        )) || matches!(around, Some(Node::Decl(_)))
    };
    own.from == From::Param
        && (fresh.kept || is_stored())
        && purpose::asks_only_for_end(function, own.declared)
}

/// Whether a cancel function that is made on the way is there for more than to clean up, so that
/// somebody may end the wait.
fn others_end(cx: &FunctionCx<'_>, read: &Read<'_>, fresh: &Fresh) -> bool {
    let function = &read.function;
    fresh.derivations.iter().any(|&call| {
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        let mut contexts = known.all_in_force::<Context>(cx.versions()).peekable();
        if contexts.peek().is_none() {
            return true;
        }
        contexts.filter_map(|fact| fact.cancel).any(|result| {
            let cancel = Place::root(Root::Call(call, result));
            let mut effects = function.bodies().flat_map(|body| &read.effects(body).effects);
            effects.any(|effect| {
                let cleans_up = effect.act == Act::Called && effect.mode == Mode::Deferred;
                effect.place == cancel && !cleans_up
            })
        })
    })
}

/// Whether what is derived from the fresh context takes the name of the one at hand, so that
/// nothing after it can reach that any more.
fn hides(function: &Function<'_>, fresh: &Fresh, own: &Own) -> bool {
    let file = function.file;
    let parents = parents(function);
    fresh.derivations.iter().any(|&call| {
        let Some(Node::Stmt(stmt)) = parents.of(Node::Expr(call)) else { return false };
        let (StmtKind::Define { left, .. } | StmtKind::Assign { left, .. }) = &file.stmt(stmt).kind
        else {
            return false;
        };
        let first = left.first().map(|&first| &file.expr(file.unparen(first)).kind);
        matches!(first, Some(ExprKind::Ident(name)) if *name == own.name && own.from == From::Param)
    })
}

/// What stands around each part of a function.
fn parents(function: &Function<'_>) -> Parents {
    function.file.parents(Node::Decl(function.index.func(function.id).decl))
}

/// Whether a call is made by a goroutine that the function starts.
fn is_in_goroutine(function: &Function<'_>, call: ExprId) -> bool {
    let parents = parents(function);
    parents.around(Node::Expr(call)).any(|node| match node {
        Node::Stmt(stmt) => matches!(function.file.stmt(stmt).kind, StmtKind::Go(_)),
        _ => false,
    })
}

/// A function without a context of its own waits on one that nobody ends, and is called by one
/// that has a context; or nobody in sight calls it, and it says itself that it lacks one.
fn check_callers(cx: &FunctionCx<'_>, read: &Read<'_>, fresh: &Fresh) -> Option<Finding> {
    if is_told_otherwise(read) || stands_for_callee(cx, read, fresh) {
        return None;
    }
    let caller = match callers::of(cx) {
        Callers::With(caller) => caller,
        Callers::Without => return None,
        Callers::Unknown => return undecided::check(cx, read, fresh),
    };
    // What is far away has to be known to wait, and not by its form alone.
    let near = caller.calls.len() == 1 && caller.func.package == cx.func.package;
    let bounded = || {
        let known = facts(cx.catalog(), read.function.index, read.function.info.callee(fresh.call));
        let bound =
            known.in_force::<Blocking>(cx.versions()).and_then(|fact| fact.timeout.as_ref());
        bound.is_some_and(|place| matches!(place.base, Base::Param(_)) && place.field.is_none())
    };
    if !near && (fresh.evidence.confidence < Confidence::High || bounded()) {
        return None;
    }
    let function = &read.function;
    let name = cx.declared().name;
    let made = function.text(fresh.made);
    let span = function.file.expr(fresh.made).span;
    let message = format!(
        "`{name}` waits in `{}` on `{made}`, so when {} of its caller `{}` is cancelled, the wait \
         goes on",
        callee_text(function, fresh.call),
        caller.own.shown(),
        cx.index().func(caller.func).name,
    );
    let mut finding = cx.finding(span, "nobody can cancel this", message);
    // Where no end of the caller's context is in sight, the function may do well without one.
    let waits = fresh.evidence.confidence;
    finding.confidence = match caller.seen || caller.is_for_others && waits == Confidence::High {
        true => waits.min(Confidence::Medium),
        false => Confidence::Low,
    };
    finding.defect = cx.index().name_of(cx.func);
    for (number, &location) in caller.calls.iter().enumerate() {
        let message = match number {
            0 => format!("called here, where {} is at hand", caller.own.shown()),
            _ => "which calls this".to_owned(),
        };
        finding.labels.push(Label { location, role: Role::Context, message });
    }
    push_waits_at(&mut finding, function, fresh);
    finding.why = why(&made);
    finding.help =
        format!("give `{name}` a parameter `ctx context.Context` and pass {}", caller.own.shown());
    Some(finding)
}

/// Whether a function is given a channel that carries nothing: it is told to stop by that.
fn is_told_otherwise(read: &Read<'_>) -> bool {
    let function = &read.function;
    function.info.locals().iter().any(|local| {
        let is_param = local.owner.is_none() && matches!(local.kind, LocalKind::Param(_));
        is_param
            && matches!(&local.ty, Type::Chan(_, value)
                if matches!(function.index.underlying(value), Type::Struct(of) if of.fields.is_empty()))
    })
}

/// Whether a function is the form without a context of what it calls: `Dial` of `DialContext`. Who has
/// one can call that.
fn stands_for_callee(cx: &FunctionCx<'_>, read: &Read<'_>, fresh: &Fresh) -> bool {
    let own = cx.declared().name.as_str();
    let callee = purpose::callee_name(&read.function, fresh.call);
    callee.is_some_and(|callee| callee.to_lowercase().starts_with(&own.to_lowercase()))
}

fn cut_off(cx: &FunctionCx<'_>, function: &Function<'_>, fresh: &Fresh, own: &Own) -> Finding {
    let name = cx.declared().name;
    let made = function.text(fresh.made);
    let span = function.file.expr(fresh.made).span;
    let message = format!(
        "`{}` waits on `{made}`, so when {} is cancelled, the wait goes on",
        callee_text(function, fresh.call),
        own.shown_of(name),
    );
    let mut finding = cx.finding(span, "cut off from the context here", message);
    push_own(cx, &mut finding, own);
    push_waits_at(&mut finding, function, fresh);
    finding.why = match fresh.kept {
        false => why(&made),
        true => format!(
            "all that is ever stored in `{made}` is never done: what is given it waits for as long \
             as its peer likes"
        ),
    };
    finding.help = match own.is_named() {
        true => format!("pass `{}`, or a context derived from it", own.text),
        false => "give the parameter a name and pass it".to_owned(),
    };
    finding.fixes.extend(use_own(cx, function, own, span));
    finding
}

fn why(made: &str) -> String {
    format!("`{made}` is never done: what is given it waits for as long as its peer likes")
}

/// Where the context comes in.
fn push_own(cx: &FunctionCx<'_>, finding: &mut Finding, own: &Own) {
    let message = match own.from {
        From::Param | From::Holder => format!("{} ends when the caller gives up", own.shown()),
        From::Field => format!("{} ends when `{}` does", own.shown(), own.name),
    };
    let location = cx.location(own.declared);
    finding.labels.push(Label { location, role: Role::Made, message });
}

/// Where it waits in the end.
fn push_waits_at(finding: &mut Finding, function: &Function<'_>, fresh: &Fresh) {
    let call = Location { file: function.file_id, span: function.file.expr(fresh.call).span };
    let location = fresh.evidence.waits_at.unwrap_or(call);
    let message = "waits here".to_owned();
    finding.labels.push(Label { location, role: Role::Stuck, message });
}

/// What is called, on one line.
fn callee_text(function: &Function<'_>, call: ExprId) -> String {
    let ExprKind::Call { callee, .. } = function.file.expr(call).kind else {
        return function.text(call);
    };
    function.line(callee)
}

/// Replaces what stands at `span` by the context at hand, if its name means it there.
fn use_own(cx: &FunctionCx<'_>, function: &Function<'_>, own: &Own, span: Span) -> Option<Fix> {
    let locals = function.info.locals().iter();
    let hidden = locals
        .filter(|local| local.name == own.name && local.span != own.declared)
        .any(|local| local.span.start < span.start);
    (own.is_named() && !hidden).then(|| Fix {
        message: format!("pass `{}`", own.text),
        safety: Safety::Safe,
        edits: vec![Edit { location: cx.location(span), replacement: own.text.clone() }],
    })
}
