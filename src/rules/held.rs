//! Things that a call gives and somebody has to end: where a function holds one, and the paths on
//! which it lets go of it.
//!
//! What such a thing is, and what ends it, is said by the catalog's tables of resources. A thing
//! counts as seen to as soon as anybody else may know it: it is returned, stored, sent, captured
//! or passed to code of which nothing is known. So a path that is found here is one on which the
//! function was the only owner and left.

mod holders;
mod paths;

use crate::catalog::{Base, Carrier, Context, End, Resource, Versions};
use crate::flow::{Step, StepId};
use crate::index::{Callee, Def, FuncId, LocalId, Type};
use crate::rules::endable::ends_with_handler;
use crate::rules::scene::is_beside_tests;
use crate::rules::{FunctionCx, recurrence, turns};
use crate::source::Span;
use crate::summary::{Act, At, BodyId, ContextOrigin, Function, Mode, Place, Read, Root, facts};
use crate::syntax::{DeclKind, ExprId, ExprKind, Node, Parents, StmtKind, Symbol};

pub use paths::{Lost, Test, Way, let_go, lost};

/// How many calls are followed from a function of the run to the one whose result it returns.
const MAX_WRAPPERS: u32 = 4;

/// A thing that a call gives.
#[derive(Clone)]
pub struct Held<'a> {
    /// Where the call is.
    pub at: At,
    /// The call.
    pub call: ExprId,
    /// Which result of it holds the thing.
    pub result: u32,
    /// What is known of the thing.
    pub fact: &'a Resource,
    /// What the result is stored in, as the code writes it; `None` if it is thrown away, or if it
    /// is part of a larger expression.
    pub name: Option<String>,
    /// Whether nothing takes the result.
    pub dropped: bool,
}

/// The things that a function gets from calls, of those kinds that `wanted` admits, as the facts
/// that hold for `versions` say.
pub fn all<'a>(
    cx: &FunctionCx<'a>,
    read: &Read<'a>,
    versions: &dyn Versions,
    wanted: &dyn Fn(&Resource) -> bool,
) -> Vec<Held<'a>> {
    let memo = cx.package.memo;
    if memo.is_given_nothing(cx.func) {
        return Vec::new();
    }
    let function = &read.function;
    let mut found = Vec::new();
    let mut is_given = false;
    let mut parents: Option<Parents> = None;
    for body in function.bodies() {
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            let at = At { body, step };
            let Step::Call(call) = cfg.step(step) else { continue };
            let Some(given) = given(cx, function, call, versions, MAX_WRAPPERS) else { continue };
            is_given = true;
            for (fact, result) in given {
                if !wanted(fact) {
                    continue;
                }
                let root = Node::Decl(cx.declared().decl);
                let parents = parents.get_or_insert_with(|| function.file.parents(root));
                let (name, dropped) = taken(function, parents, call, result);
                found.push(Held { at, call, result, fact, name, dropped });
            }
        }
    }
    if !is_given {
        memo.note_given_nothing(cx.func);
    }
    found
}

/// What a call gives, with the result that holds it: said by the catalog, or found in the body of
/// a function that only hands on what it was given itself. `None` where it gives nothing in any version.
fn given<'a>(
    cx: &FunctionCx<'a>,
    function: &Function<'_>,
    call: ExprId,
    versions: &dyn Versions,
    wrappers: u32,
) -> Option<Vec<(&'a Resource, u32)>> {
    let callee = function.info.callee(call);
    let known = facts(cx.catalog(), function.index, callee);
    let direct: Vec<(&'a Resource, u32)> = known
        .of::<Resource>()
        .filter(|(entry, _)| entry.gate.holds(versions) == Some(true))
        .map(|(_, fact)| fact)
        .filter(|fact| !fact.without_options || !is_tied(function, call, &fact.tied_by))
        .filter_map(|fact| match fact.place.base {
            Base::Result(result) => Some((fact, result)),
            _ => None,
        })
        .collect();
    let is_known = || known.of::<Resource>().next().is_some();
    let handed_on = match callee {
        Callee::Func(callee) if direct.is_empty() && wrappers > 0 => {
            handed_on(cx, *callee, versions, wrappers - 1)
        }
        _ => None,
    };
    handed_on.or_else(|| is_known().then_some(direct))
}

/// What a function gives that was given to it itself; `None` where it was given nothing that it returns, in
/// any version.
fn handed_on<'a>(
    cx: &FunctionCx<'a>,
    callee: FuncId,
    versions: &dyn Versions,
    wrappers: u32,
) -> Option<Vec<(&'a Resource, u32)>> {
    let memo = cx.package.memo;
    if memo.is_handing_on_nothing(callee, wrappers) {
        return None;
    }
    let nothing = || memo.note_handing_on_nothing(callee, wrappers);
    let Some(read) = cx.summaries().read_giver(callee) else {
        nothing();
        return None;
    };
    let mut found: Vec<(&'a Resource, u32)> = Vec::new();
    let mut shared: Vec<u32> = Vec::new();
    let mut is_given = false;
    for effect in &read.effects(BodyId::OWN).effects {
        let (Act::Returned(result), Root::Call(inner, of_inner)) = (effect.act, effect.place.root)
        else {
            continue;
        };
        if !effect.place.path.is_empty() {
            continue;
        }
        let inside = given(cx, &read.function, inner, versions, wrappers);
        is_given |= inside.is_some();
        let Some((fact, place)) =
            inside.into_iter().flatten().find(|&(_, place)| place == of_inner)
        else {
            continue;
        };
        if is_shared(&read, inner, place, fact, effect.at) {
            shared.push(result);
        } else if found.iter().all(|&(_, known)| known != result) {
            found.push((fact, result));
        }
    }
    if !is_given {
        nothing();
        return None;
    }
    // Where one way out hands on what was seen to, callers cannot tell whether there is more to do.
    found.retain(|(_, result)| !shared.contains(result));
    Some(found)
}

/// Whether a thing that a function returns was ended or shared by it before: a wrapper that does
/// more than hand it on.
fn is_shared(read: &Read<'_>, call: ExprId, result: u32, fact: &Resource, returned: At) -> bool {
    let whole = Place::root(Root::Call(call, result));
    let cfg = &read.function.body(BodyId::OWN).cfg;
    // What comes after the next call is another thing.
    let again = cfg.step_of_expr(call);
    let reaches =
        |from: StepId| cfg.reaches_without(from, returned.step, &|step| Some(step) == again);
    read.effects(BodyId::OWN).effects.iter().any(|effect| {
        let about = effect.place.is_within(&whole);
        let settles = ends(fact, effect.act)
            || (effect.act.escapes() && !matches!(effect.act, Act::Returned(_)));
        about && settles && (effect.mode != Mode::Now || reaches(effect.at.step))
    })
}

/// Whether an option of a call may tie what it gives to something else: one of these functions made it, or any
/// if none is named, or it is not seen what did.
fn is_tied(function: &Function<'_>, call: ExprId, tied_by: &[Box<str>]) -> bool {
    let ExprKind::Call { callee, ref args, spread, .. } = function.file.expr(call).kind else {
        return true;
    };
    let fixed = match function.info.type_of(callee) {
        Type::Func(signature) if signature.variadic => signature.params.len() - 1,
        Type::Func(_) => return false,
        // Of a library that is not there it is not known which arguments are options.
        _ if tied_by.is_empty() => 0,
        _ => 1,
    };
    let is_other = |&option: &ExprId| {
        let made_by = function.info.callee(function.file.unparen(option)).qualified(function.index);
        made_by.is_some_and(|it| !tied_by.iter().any(|name| **name == *it.name.as_str()))
    };
    let options = args.get(fixed..).unwrap_or_default();
    spread || !options.is_empty() && (tied_by.is_empty() || !options.iter().all(is_other))
}

/// Whether a method has a name that Go programs give to what ends a value.
pub fn names_end(method: Symbol) -> bool {
    matches!(method.as_str(), "Close" | "Shutdown" | "Stop")
}

/// The fields that a thing is stored in of what its function makes for itself.
pub fn parts_of(read: &Read<'_>, body: BodyId, thing: &Place) -> Vec<Place> {
    let stored = read.effects(body).effects.iter().filter(|effect| {
        (effect.act, effect.mode) == (Act::Stored, Mode::Now) && effect.place == *thing
    });
    let parts = stored.filter_map(|effect| holders::parts(&read.function, effect, thing));
    parts.flatten().map(|part| part.place).collect()
}

/// Whether an act on the thing is one of those that end it.
pub fn ends(fact: &Resource, act: Act) -> bool {
    fact.ends.iter().any(|end| match (end, act) {
        (End::Method(name), Act::Method(called)) => **name == *called.as_str(),
        (End::Call, Act::Called) => true,
        (End::Receive, Act::Received(_) | Act::Drained) => true,
        _ => false,
    })
}

/// Whether the thing may have ended after an act on it: who asks for its `Done` channel learns that it has ended by
/// itself.
fn may_have_ended(fact: &Resource, act: Act) -> bool {
    ends(fact, act) || matches!(act, Act::Method(name) if name.as_str() == "Done")
}

impl Held<'_> {
    /// What the result stands for.
    pub fn whole(&self) -> Place {
        Place::root(Root::Call(self.call, self.result))
    }

    /// The thing itself: the result, or the field of it that has to be ended.
    pub fn thing(&self) -> Place {
        match &self.fact.place.field {
            Some(field) => self.whole().field(Symbol::new(field)),
            None => self.whole(),
        }
    }

    /// The variables that may say whether there is one already: it is made in a turn of a loop, for a variable that
    /// outlives it.
    fn states(&self, function: &Function<'_>) -> Vec<LocalId> {
        let file = function.file;
        let parents = file.parents(Node::Decl(function.index.func(function.id).decl));
        let Some(Node::Stmt(stmt)) = parents.of(Node::Expr(self.call)) else { return Vec::new() };
        let StmtKind::Assign { left, .. } = &file.stmt(stmt).kind else { return Vec::new() };
        let holder = left.get(self.result as usize).and_then(|&target| function.variable(target));
        holder.map_or_else(Vec::new, |holder| turns::states(function, &parents, stmt, holder))
    }

    /// The thing as the code writes it.
    pub fn text(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        Some(match &self.fact.place.field {
            Some(field) => format!("{name}.{field}"),
            None => name.to_owned(),
        })
    }

    /// The bytes of the call.
    pub fn span(&self, function: &Function<'_>) -> Span {
        function.file.expr(self.call).span
    }
}

/// What takes a result of a call, a variable or the field of a struct that is made with it, and whether
/// nothing does.
pub fn taken(
    function: &Function<'_>,
    parents: &Parents,
    call: ExprId,
    result: u32,
) -> (Option<String>, bool) {
    let file = function.file;
    let target = match parents.of(Node::Expr(call)) {
        Some(Node::Expr(around)) => {
            return (element(function, parents, call, around), false);
        }
        Some(Node::Stmt(stmt)) => match &file.stmt(stmt).kind {
            StmtKind::Expr(_) => return (None, true),
            StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right } => {
                let place = match right[..] {
                    [_] => Some(result as usize),
                    _ => right.iter().position(|&value| value == call),
                };
                place.and_then(|place| left.get(place))
            }
            _ => None,
        },
        Some(Node::Decl(decl)) => match &file.decl(decl).kind {
            DeclKind::Var(spec) => {
                let name = spec.names.get(result as usize).filter(|_| spec.values.len() == 1);
                return (name.map(|name| name.name.as_str().to_owned()), false);
            }
            _ => None,
        },
        _ => None,
    };
    match target.map(|&target| (target, function.info.resolve(file.unparen(target)))) {
        Some((_, Def::Blank)) => (None, true),
        Some((target, _)) => (Some(function.text(target)), false),
        None => (None, false),
    }
}

/// The field that gets a value where a struct is made for a variable: `s.pool`.
fn element(
    function: &Function<'_>,
    parents: &Parents,
    value: ExprId,
    literal: ExprId,
) -> Option<String> {
    let file = function.file;
    let ExprKind::CompositeLit { elements, .. } = &file.expr(literal).kind else { return None };
    let key = elements.iter().find(|element| element.value == value)?.key?;
    let ExprKind::Ident(field) = file.expr(key).kind else { return None };
    let made = parents.around(Node::Expr(literal)).find(|node| !matches!(node, Node::Expr(_)))?;
    let Node::Stmt(stmt) = made else { return None };
    let (StmtKind::Define { left, right } | StmtKind::Assign { left, right, .. }) =
        &file.stmt(stmt).kind
    else {
        return None;
    };
    let ([variable], [_]) = (&left[..], &right[..]) else { return None };
    Some(format!("{}.{field}", function.text(*variable)))
}

/// Whether the context that a call is made with is one that this function can cancel, or every caller of it that
/// the run shows, so that the thing ends with it.
pub fn ends_with_context(cx: &FunctionCx<'_>, function: &Function<'_>, held: &Held<'_>) -> bool {
    let cancelled = |at: At, context: ExprId| {
        let origin = cx.summaries().context(function, at, context);
        may_cancel(cx, function, &origin)
            || ends_with_handler(cx, function, at, context)
            || match origin.only() {
                Some(Place { root: Root::Param(index), path }) if path.is_empty() => {
                    callers_cancel(cx, index)
                }
                _ => false,
            }
    };
    match held.fact.context {
        Some(Carrier::Param(index)) => {
            let given = function.args(held.call).get(index as usize);
            given.is_some_and(|&given| cancelled(held.at, given))
        }
        Some(Carrier::Request(index)) => request(function, held, index).any(|made| {
            let at = function.at_call(made);
            let args = function.args(made).iter();
            let mut contexts = args.filter(|&&arg| function.info.type_of(arg).is_context());
            at.is_some_and(|at| contexts.any(|&context| cancelled(at, context)))
        }),
        _ => false,
    }
}

/// Whether a function makes a context itself, with the means to cancel it.
fn may_cancel(cx: &FunctionCx<'_>, function: &Function<'_>, origin: &ContextOrigin) -> bool {
    origin.derivations.iter().any(|&call| {
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        known.all_in_force::<Context>(cx.versions()).any(|fact| fact.cancel.is_some())
    })
}

/// Whether all callers of the function, which no other package can call, make the context that they give it for
/// this parameter with the means to cancel it.
fn callers_cancel(cx: &FunctionCx<'_>, index: u32) -> bool {
    if cx.declared().name.is_exported() {
        return false;
    }
    let calls = recurrence::calls(&cx.package, cx.declared());
    !calls.is_empty()
        && calls.iter().all(|&(caller, call)| {
            let Some(read) = cx.summaries().read(caller) else { return false };
            let function = &read.function;
            let given = function.args(call).get(index as usize);
            given.zip(function.at_call(call)).is_some_and(|(&given, at)| {
                may_cancel(cx, function, &cx.summaries().context(function, at, given))
            })
        })
}

/// The calls that may have made the request that a call is given.
pub fn request<'h>(
    function: &'h Function<'_>,
    held: &'h Held<'_>,
    index: u32,
) -> impl Iterator<Item = ExprId> + 'h {
    let given = function.args(held.call).get(index as usize);
    let places = given.map(|&given| function.places(held.at, given).list).unwrap_or_default();
    places.into_iter().filter_map(|place| match place.root {
        Root::Call(call, 0) => Some(call),
        _ => None,
    })
}

/// Whether a function is `main` or `init`, whose things end with the process.
pub fn runs_process(cx: &FunctionCx<'_>) -> bool {
    let name = cx.declared().name.as_str();
    cx.declared().receiver.is_none() && matches!(name, "main" | "init")
}

/// Whether a function is `main` or `init`, or belongs to tests.
pub fn runs_process_or_test(cx: &FunctionCx<'_>) -> bool {
    runs_process(cx) || is_beside_tests(cx)
}
