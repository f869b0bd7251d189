//! Whether somebody may end a context: who gives it, through the callers of the run, and what that was made
//! of. A rule that speaks of the end of a context which was given asks here whether there is one.

pub mod kept;
mod seen;

use rustc_hash::FxHashSet;

use crate::catalog::{Base, Context, ContextRole, Facts, Model, Op, TypeRole};
use crate::index::{BodyInfo, Callee, FuncId, LocalId, LocalKind, Type};
use crate::rules::recurrence::Runs;
use crate::rules::scene::{Scene, serves_tests};
use crate::rules::{FunctionCx, PackageCx, literals, recurrence, unended};
use crate::summary::{
    Act, At, BodyId, Cancel, ContextRoot, Function, Mode, Place, Root, Source, facts, named,
    operand,
};
use crate::syntax::{ExprId, ExprKind, File, Node, Symbol};

pub use seen::{ends_with_handler, is_seen_to_end};

/// How many callers are followed to the one that makes the context.
const MAX_CALLERS: u32 = 9;

/// Whether somebody may end this parameter of the declared function, a context: nobody in the run
/// calls it, or some caller gives it a context that was given to that and may be ended, or, in another
/// package, one that it made to end.
pub fn may_end(cx: &FunctionCx<'_>, index: u32) -> bool {
    Search::default().of_param(cx, index, MAX_CALLERS, false) != Some(false)
}

/// As [`may_end`], where what a caller in the package itself made to end counts too.
pub fn may_be_done(cx: &FunctionCx<'_>, index: u32) -> bool {
    Search::default().of_param(cx, index, MAX_CALLERS, true) != Some(false)
}

/// As [`may_end`], of a parameter of a function literal that is kept as a value.
pub fn may_end_in_value(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    literal: ExprId,
    index: u32,
) -> bool {
    Search::default().of_value(cx, function, (literal, index), MAX_CALLERS) != Some(false)
}

/// The parameters that were asked about. The answers: whether somebody may end it; `None` where that
/// rests on what is being asked already.
#[derive(Default)]
struct Search {
    params: FxHashSet<(FuncId, u32)>,
    values: FxHashSet<(ExprId, FuncId, u32)>,
}

impl Search {
    fn of_param(&mut self, cx: &FunctionCx<'_>, index: u32, depth: u32, own: bool) -> Option<bool> {
        if !self.params.insert((cx.func, index)) {
            return None;
        }
        let calls = recurrence::calls(&cx.package, cx.declared());
        self.of_calls(cx, &calls, index, depth, own)
    }

    /// A parameter of a function literal: of one that is called or started where it stands, or that the
    /// package keeps as a value.
    fn of_value(
        &mut self,
        cx: &FunctionCx<'_>,
        function: &Function<'_>,
        (literal, index): (ExprId, u32),
        depth: u32,
    ) -> Option<bool> {
        let body = function.bodies().find(|&body| function.body(body).literal == Some(literal));
        if let Some(given) =
            body.and_then(|body| literals::called_with(function, body, literal, index))
        {
            return self.is_given(cx, function, given, depth);
        }
        if let Some(beside) =
            body.and_then(|body| literals::context_beside(function, body, literal))
            && self.is_given(cx, function, beside, depth) == Some(false)
        {
            return Some(false);
        }
        if !self.values.insert((literal, cx.func, index)) {
            return None;
        }
        match literals::calls_of_value(cx, function, literal) {
            Some(calls) => self.of_calls(cx, &calls, index, depth, false),
            None => Some(true),
        }
    }

    fn of_calls(
        &mut self,
        cx: &FunctionCx<'_>,
        calls: &[(FuncId, ExprId)],
        index: u32,
        depth: u32,
        own: bool,
    ) -> Option<bool> {
        let (mut called, mut known) = (false, false);
        for &(caller, call) in calls {
            let args = cx.index().file_of(caller).args(call);
            let Some(&arg) = args.get(index as usize) else { continue };
            called = true;
            let Some(read) = cx.summaries().read(caller) else {
                known = true;
                continue;
            };
            let Some(at) = read.function.at_call(call) else { return Some(true) };
            let package = PackageCx { package: caller.package, ..cx.package };
            let caller = FunctionCx { package, func: caller };
            let any = own || caller.func.package != cx.func.package;
            let given = self.is_given(&caller, &read.function, (at, arg), depth);
            if given == Some(true)
                || is_made_to_end(&caller, &read.function, (at, arg), any, MAX_DERIVATIONS)
                || own && is_of_group(&caller, &read.function, (at, arg))
            {
                return Some(true);
            }
            known |= given.is_some();
        }
        match (called, known) {
            (false, _) => Some(true),
            (true, true) => Some(false),
            (true, false) => None,
        }
    }

    fn is_given(
        &mut self,
        cx: &FunctionCx<'_>,
        function: &Function<'_>,
        (mut at, mut context): (At, ExprId),
        depth: u32,
    ) -> Option<bool> {
        let ty = function.info.type_of(context).strip_pointer();
        if cx.package.has_role(ty, TypeRole::ContextInForm) {
            return Some(false);
        }
        if holds_context(cx, ty) {
            return self.is_request_given(cx, function, at, context, depth);
        }
        for _ in 0..MAX_DERIVATIONS {
            let origin = cx.summaries().context(function, at, context);
            let places = origin.places();
            if !places.is_empty() || !origin.roots.contains(&ContextRoot::Unknown) {
                let mut answer = places.is_empty().then_some(false);
                for place in &places {
                    let ends = match (place.root, depth.checked_sub(1)) {
                        (Root::Param(index), Some(depth)) if place.path.is_empty() => {
                            self.of_param(cx, index, depth, false)
                        }
                        (Root::LiteralParam(literal, index), Some(depth))
                            if place.path.is_empty() =>
                        {
                            self.of_value(cx, function, (literal, index), depth)
                        }
                        _ => Some(
                            !is_left_alone(cx, function, place)
                                && !kept::is_fresh(cx, function, context),
                        ),
                    };
                    if ends == Some(true) {
                        return ends;
                    }
                    answer = answer.or(ends);
                }
                return answer;
            }
            let made = function.places(at, context).only().map(|place| place.root);
            let Some(Root::Call(call, _)) = made else { return Some(false) };
            let args = function.args(call);
            let mut contexts = args.iter().filter(|&&arg| function.info.type_of(arg).is_context());
            let (Some(&parent), None, Some(before)) =
                (contexts.next(), contexts.next(), function.at_call(call))
            else {
                return Some(false);
            };
            (at, context) = (before, parent);
        }
        Some(false)
    }

    /// Whether the context of a request may end: one that a function makes or reads which has no
    /// context itself, as `http.ReadRequest`, never does, nor does that of a composite literal. A
    /// literal of which it is not known when it runs may run when the request has been answered.
    fn is_request_given(
        &mut self,
        cx: &FunctionCx<'_>,
        function: &Function<'_>,
        at: At,
        request: ExprId,
        depth: u32,
    ) -> Option<bool> {
        let places = function.object_places(at, request);
        match places.only().map(|place| (place.root, place.path.is_empty())) {
            Some((Root::Param(index), true)) if depth > 0 => {
                let under = || {
                    let read = cx.summaries().read(cx.func);
                    read.is_none_or(|read| literals::is_under(cx, &read, at))
                };
                match under() {
                    true => self.of_param(cx, index, depth - 1, false),
                    false => Some(false),
                }
            }
            Some((Root::Made(made), true)) => {
                let made = function.file.expr(function.file.unparen(made));
                Some(!matches!(made.kind, ExprKind::CompositeLit { .. }))
            }
            Some((Root::Call(call, _), true)) => {
                let ExprKind::Call { ref args, .. } = function.file.expr(call).kind else {
                    return Some(true);
                };
                let name = function.info.callee(call).qualified(function.index);
                let carries = |&arg: &ExprId| {
                    let ty = function.info.type_of(arg);
                    ty.is_unknown() || is_context(cx, ty) || holds_context(cx, ty.strip_pointer())
                };
                Some(name.is_none_or(|name| name.receiver.is_some()) || args.iter().any(carries))
            }
            _ => Some(true),
        }
    }
}

/// Whether a context is made where it stands with an end of its own: a deadline; or if `any`, a signal, a
/// cancel function, or by something out of sight.
fn is_made_to_end(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    (at, context): (At, ExprId),
    any: bool,
    depth: u32,
) -> bool {
    let origin = cx.summaries().context(function, at, context);
    origin.derivations.iter().any(|&call| {
        let callee = function.info.callee(call);
        let known = facts(cx.catalog(), function.index, callee);
        let mut contexts = known.all_in_force::<Context>(cx.versions()).peekable();
        match (contexts.peek(), callee) {
            (Some(_), _) => contexts.any(|fact| {
                let cancel =
                    || any && fact.cancel.is_some_and(|cancel| ends_before(cx, call, cancel));
                fact.deadline || cancel()
            }),
            (None, _) if !any => false,
            (None, &Callee::Func(func)) => gives_ended(cx, func, depth),
            (None, _) => true,
        }
    })
}

/// Whether a context is that of a group, which the first error of any of its goroutines ends
/// (<https://pkg.go.dev/golang.org/x/sync/errgroup#WithContext>).
fn is_of_group(cx: &FunctionCx<'_>, function: &Function<'_>, (at, context): (At, ExprId)) -> bool {
    let origin = cx.summaries().context(function, at, context);
    origin.derivations.iter().any(|&call| {
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        known.all_in_force::<Model>(cx.versions()).any(|fact| fact.op == Op::ErrgroupWithContext)
    })
}

/// Whether the process goes on when a context is cancelled that a call makes, with its cancel function as
/// this result: not where the context is made once, by `main` or a command, whose own body calls that function
/// nowhere but in a `defer`.
fn ends_before(cx: &FunctionCx<'_>, call: ExprId, number: u32) -> bool {
    let cancel = Place::root(Root::Call(call, number));
    let is_called = || {
        let read = cx.summaries().read(cx.func);
        read.is_none_or(|read| {
            read.effects(BodyId::OWN).effects.iter().any(|effect| {
                effect.place == cancel && effect.act == Act::Called && effect.mode == Mode::Now
            })
        })
    };
    let others_end = || {
        !matches!(recurrence::runs(&cx.package, cx.func), Runs::Once)
            && !unended::is_kept_for_nobody(cx, call, number)
    };
    is_called() || others_end()
}

/// Whether a function may give a context that it made to end.
fn gives_ended(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> bool {
    let (Some(read), Some(depth)) = (cx.summaries().read(func), depth.checked_sub(1)) else {
        return true;
    };
    let package = PackageCx { package: func.package, ..cx.package };
    let (cx, function) = (FunctionCx { package, func }, &read.function);
    function.returns().any(|(at, values)| {
        let mut given = values.iter().filter(|&&value| function.info.type_of(value).is_context());
        // A `return` of a function that names its results.
        values.is_empty()
            || given.any(|&value| is_made_to_end(&cx, function, (at, value), true, depth))
    })
}

/// How many calls are followed that take a context and give one.
const MAX_DERIVATIONS: u32 = 4;

/// Whether a context is one that a value holds to which nobody in the run gives one, as that of a command
/// that is executed without.
fn is_left_alone(cx: &FunctionCx<'_>, function: &Function<'_>, place: &Place) -> bool {
    let index = cx.index();
    // The text has one word, and what stands beside it.
    let known = |text: &str| {
        let word = Symbol::new(text.trim_matches(|letter: char| !letter.is_alphanumeric()));
        cx.package.packages_with(word).any(|package| {
            index.package(package).funcs.iter().any(|func| {
                let file = index.file_of(func.id);
                let whole = || file.source.slice(file.decl(func.decl).span);
                index.may_name(func.id, word)
                    && memchr::memmem::find(whole(), text.as_bytes()).is_some()
                    && !serves_tests(index, func.id)
            })
        })
    };
    let is_left = |fact: &Context| {
        fact.left_by.iter().any(|word| known(word)) && !fact.given_by.iter().any(|word| known(word))
    };
    function.calls().any(|(at, call)| {
        let facts = facts(cx.catalog(), function.index, function.info.callee(call));
        let mut contexts = facts.all_in_force::<Context>(cx.versions());
        let Some(fact) = contexts.find(|fact| !fact.given_by.is_empty()) else { return false };
        let holder = operand(function, call, Base::Receiver);
        let holder = holder.and_then(|holder| function.object_places(at, holder).only().cloned());
        holder.is_some_and(|holder| place.is_within(&holder)) && is_left(fact)
    }) || held_in(cx, function, place)
        .is_some_and(|(field, fact)| is_left(fact) && !known(&format!(".{field} = ")))
}

/// The field of a parameter that a place is, and what is known of the context in it.
fn held_in<'c>(
    cx: &FunctionCx<'c>,
    function: &Function<'_>,
    place: &Place,
) -> Option<(Symbol, &'c Context)> {
    let [field] = place.path[..] else { return None };
    let (owner, index) = match place.root {
        Root::Param(index) => (None, index),
        Root::LiteralParam(literal, index) => (Some(literal), index),
        _ => return None,
    };
    let given = function.info.local(function.info.param(owner, index)?);
    let member = of_member(cx, given.ty.strip_pointer(), field)?;
    Some((field, member.in_force::<Context>(cx.versions())?))
}

/// What is known of a field or method of a type.
fn of_member<'c>(cx: &FunctionCx<'c>, ty: &Type, member: Symbol) -> Option<&'c Facts> {
    let holder = ty.named()?;
    let mut name = holder.qualified();
    (name.receiver, name.name) = (Some(holder.name), member);
    Some(named(cx.catalog(), name))
}

/// Whether a channel is what `Done` gives of a context that nobody ends: one that the function was given and that
/// nobody in the run ends, or one that nobody can end; `None` where it is neither given nor that.
pub fn is_of_endless(scene: &Scene<'_>, channel: ExprId) -> Option<bool> {
    let (context, _) = scene.method_call(channel)?;
    if is_made_without_end(scene, channel, context) {
        return Some(true);
    }
    let local = scene.local(context)?;
    let parent = ends_with_its_body(scene, local);
    let given = scene.info.local(parent.unwrap_or(local));
    let is_context = parent.is_some() || given.ty.is_context();
    match given.kind {
        LocalKind::Param(index) if given.owner.is_none() && is_context => {
            Some(!may_be_done(&scene.cx, index))
        }
        _ => None,
    }
}

/// Whether a context, of which a call gives the channel, is `Background` or `TODO` itself. Who makes one of that in a
/// function of his own may end it.
fn is_made_without_end(scene: &Scene<'_>, call: ExprId, context: ExprId) -> bool {
    let (cx, Some(read)) = (&scene.cx, scene.cx.summaries().read(scene.cx.func)) else {
        return false;
    };
    let Some(at) = read.function.at_call(scene.file.unparen(call)) else { return false };
    let origin = cx.summaries().context(&read.function, at, context);
    let is_known = |root: &ContextRoot| match *root {
        ContextRoot::Fresh(made) => {
            let known = facts(cx.catalog(), cx.index(), scene.info.callee(made));
            known.all_in_force::<Context>(cx.versions()).next().is_some()
        }
        _ => false,
    };
    origin.cancel() == Cancel::Nobody && origin.roots.iter().all(is_known)
}

/// The variable of the context that another one is derived from, if nothing but a `defer` of the same body calls
/// its cancel function: what waits in that body hears of no other end than that of the parent.
fn ends_with_its_body(scene: &Scene<'_>, derived: LocalId) -> Option<LocalId> {
    let read = scene.cx.summaries().read(scene.cx.func)?;
    let only = read.function.only_definition_of(derived)?;
    let Source::Result(call, 0) = only.source else { return None };
    let cancel = scene.cancel_of(call).filter(|_| scene.args(call).len() == 1)?;
    let home = scene.literal_around(Node::Expr(call));
    let deferred = scene.uses(cancel).all(|used| match scene.parent(Node::Expr(used)) {
        Some(Node::Expr(call)) => {
            scene.is_deferred(call) && scene.literal_around(Node::Expr(call)) == home
        }
        Some(Node::Stmt(_)) => scene.is_target(used),
        _ => false,
    });
    deferred.then(|| scene.local(*scene.args(call).first()?)).flatten()
}

/// Whether this type is a context, or one that a library makes of it.
pub fn is_context(cx: &FunctionCx<'_>, ty: &Type) -> bool {
    ty.is_context() || cx.package.has_role(ty, TypeRole::Context)
}

/// Whether this type is a request, and `Context()` the context that it holds.
pub fn holds_context(cx: &FunctionCx<'_>, ty: &Type) -> bool {
    let is_accessor = |fact: &Context| fact.role == ContextRole::Accessor;
    cx.package.has_role(ty, TypeRole::Request)
        && of_member(cx, ty, Symbol::new("Context"))
            .is_some_and(|facts| facts.all_in_force(cx.versions()).any(is_accessor))
}

/// Whether a call asks whether a context is over: `ctx.Err()`.
pub fn asks_err(file: &File, info: &BodyInfo, call: ExprId) -> bool {
    file.method_call(call).is_some_and(|(context, name)| {
        name.name.as_str() == "Err" && info.type_of(context).is_context()
    })
}

/// The ticker of whose channel an expression is: nobody ever closes that one, `Stop` does not either
/// (<https://pkg.go.dev/time#Ticker.Stop>).
pub fn ticker_of(file: &File, info: &BodyInfo, channel: ExprId) -> Option<ExprId> {
    let ExprKind::Selector { base, name } = file.expr(file.unparen(channel)).kind else {
        return None;
    };
    let is_ticker = info.type_of(base).strip_pointer().is_named("time", "Ticker");
    (is_ticker && name.name.as_str() == "C").then_some(base)
}
