//! Methods that take no context beside one that does: `Get` beside `GetContext`, by what is
//! declared alone.

use std::sync::Arc;

use crate::catalog::{Blocking, NonBlocking, Pure, Wait};
use crate::diagnostic::Confidence;
use crate::flow::Step;
use crate::index::{Callee, Def, FuncId, Signature, Type};
use crate::rules::context_not_propagated::{evidence, purpose};
use crate::rules::{FunctionCx, bound, makers};
use crate::summary::{At, BodyId, Function, What, covering, facts};
use crate::syntax::{ExprId, Symbol};

/// A method of the same type that does the same under a context.
pub struct Sibling {
    /// Its name.
    pub name: Symbol,
    /// How sure it is that the call waits.
    pub confidence: Confidence,
}

/// What is put behind a name for the sibling that takes a context.
const SUFFIXES: [&str; 3] = ["WithContext", "Context", "Ctx"];

/// The sibling of what is called, if that is a method of another package which takes no context and
/// can fail, and the sibling takes the same after one.
pub fn of(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<Sibling> {
    let callee = function.info.callee(call);
    let name = callee.qualified(function.index).filter(|name| name.receiver.is_some())?;
    let own = cx.index().package(cx.package.package).path;
    // What the standard library waits for is in the catalog.
    let standard = !name.path.as_str().split('/').next().unwrap_or_default().contains('.');
    if name.path == own
        || standard
        || purpose::is_setting(name.name.as_str())
        || is_told(cx, function, call)
    {
        return None;
    }
    let (ty, body) = match callee {
        Callee::Func(func) => (cx.index().func_type(*func), Some(*func)),
        Callee::InterfaceMethod(selection) => (selection.ty.clone(), None),
        _ => return None,
    };
    let (base, _) = function.file.method_call(call)?;
    let receiver = function.info.type_of(base);
    SUFFIXES.iter().find_map(|suffix| {
        let sibling = Symbol::new(&format!("{}{suffix}", name.name));
        let (other, func) = match cx.index().lookup(receiver, sibling, own) {
            Def::Method(func, selection) => (selection.ty.clone(), Some(func)),
            Def::InterfaceMethod(selection) => (selection.ty.clone(), None),
            _ => return None,
        };
        let (Type::Func(takes_none), Type::Func(takes_one)) = (&ty, &other) else { return None };
        if !is_same_under_context(takes_none, takes_one)
            || asks_database(takes_none) && bound::has_databases_within(cx)
        {
            return None;
        }
        let confidence = match (body, func) {
            (Some(body), Some(func)) => through(cx, body, func)?,
            _ if waits_for_nobody(cx, function, call) => return None,
            _ => Confidence::Medium,
        };
        // What is called back can look at the context itself, and pauses between its calls are short.
        let confidence = match takes_none.params.iter().any(|param| matches!(param, Type::Func(_)))
        {
            true => Confidence::Low,
            false => confidence,
        };
        Some(Sibling { name: sibling, confidence })
    })
}

/// Whether a method gives what `database/sql` does, as those that stand for a `sql.DB` or `sql.Tx`.
fn asks_database(method: &Signature) -> bool {
    method.results.iter().any(|result| {
        let named = result.strip_pointer().named();
        named.is_some_and(|named| named.qualified().path.as_str() == "database/sql")
    })
}

/// Whether the methods that stand for an interface's are in sight, those of what makes the receiver if that
/// is known, and none of them waits for others than who holds a lock or a database of the process.
fn waits_for_nobody(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let Callee::InterfaceMethod(selection) = function.info.callee(call) else { return false };
    let waits = |func: FuncId| {
        cx.summaries().of(func).is_none_or(|summary| {
            summary.waits.iter().any(|wait| match wait.what {
                What::Library(wait) => wait != Wait::Lock && !bound::is_within(cx, wait),
                _ => true,
            })
        })
    };
    let index = cx.index();
    let made: Option<Arc<[FuncId]>> = makers::of_receiver(cx, function, call).and_then(|makers| {
        let types = makers.into_iter().map(|maker| made_by(cx, maker));
        types
            .map(|ty| {
                match index.lookup(&ty?, selection.name, index.package(cx.func.package).path) {
                    Def::Method(method, _) => Some(method),
                    _ => None,
                }
            })
            .collect()
    });
    let known = made.or_else(|| evidence::implementations(cx, selection));
    known.is_some_and(|known| !known.is_empty() && !known.iter().copied().any(waits))
}

/// The type of what a function of the run returns first, if it returns one and no interface.
fn made_by(cx: &FunctionCx<'_>, func: FuncId) -> Option<Type> {
    let read = cx.summaries().read(func)?;
    let function = &read.function;
    let values = function.returns().filter_map(|(_, values)| values.first());
    let mut types = values.map(|&value| function.info.type_of(value).clone());
    let first = types.next()?;
    let is_concrete = !matches!(cx.index().underlying(&first), Type::Interface(_) | Type::Unknown);
    (is_concrete && types.all(|ty| ty.identical(&first) == Some(true))).then_some(first)
}

/// Whether the catalog speaks of a call.
fn is_told(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let callee = function.info.callee(call);
    let (catalog, versions, index) = (cx.catalog(), cx.versions(), function.index);
    facts(catalog, index, callee).in_force::<Blocking>(versions).is_some()
        || covering::<NonBlocking>(catalog, versions, index, callee).is_some()
        || covering::<Pure>(catalog, versions, index, callee).is_some()
}

/// Whether both can fail, and the second takes what the first takes after a context, and options at most behind
/// that.
fn is_same_under_context(takes_none: &Signature, takes_one: &Signature) -> bool {
    let same = |a: &[Type], b: &[Type]| {
        a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.identical(b) != Some(false))
    };
    let taken = takes_one.params.get(1..).unwrap_or_default();
    let without_options = match taken.split_last() {
        Some((_, rest)) if takes_one.variadic && !takes_none.variadic => rest,
        _ => taken,
    };
    !takes_none.params.iter().any(Type::is_context)
        && takes_none.results.last().is_some_and(Type::is_error)
        && takes_one.params.first().is_some_and(Type::is_context)
        && same(&takes_none.params, without_options)
        && same(&takes_none.results, &takes_one.results)
}

/// Of methods whose bodies may be in sight: the first calls the second with a context that nobody
/// ends, and that waits on it.
fn through(cx: &FunctionCx<'_>, body: FuncId, sibling: FuncId) -> Option<Confidence> {
    let Some(read) = cx.summaries().read(body) else { return Some(Confidence::Medium) };
    let function = &read.function;
    let cut = function.body(BodyId::OWN).cfg.steps().any(|step| {
        let at = At { body: BodyId::OWN, step };
        let Step::Call(call) = function.step(at) else { return false };
        let args = function.args(call);
        matches!(function.info.callee(call), Callee::Func(func) if *func == sibling)
            && args.first().is_some_and(|&context| {
                let origin = cx.summaries().context(function, at, context);
                origin.is_fresh() && !origin.deadline
            })
    });
    let waits = cx.summaries().of(sibling).is_some_and(|summary| {
        summary.waits.iter().any(|wait| matches!(wait.what, What::Library(_)))
    });
    (cut && waits)
        .then(|| evidence::waits_in(cx, sibling, 0))
        .flatten()
        .map(|found| found.confidence)
}
