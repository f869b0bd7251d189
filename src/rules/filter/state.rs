//! What a filter and the inner side share through the context of the request: an object that the
//! filter puts there, or takes from there, and goes on using after the inner handler has returned;
//! and the functions by which the inner side changes it.

use crate::catalog::TypeRole;
use crate::flow::{Step, StepId};
use crate::index::{Callee, FuncId, ObjectId, Type, TypeDecl};
use crate::rules::FunctionCx;
use crate::rules::fields::{self, FieldUse};
use crate::rules::handoff::has_role;
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Function, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind};

use super::stash::gives_context;

/// A field of an object in the context that a filter uses after the inner handler has returned, and
/// that the inner side changes.
#[derive(Clone, Debug)]
pub struct StateUse {
    /// The type of the object.
    pub name: String,
    /// The use.
    pub used: FieldUse,
    /// The step of the handler that comes to it.
    pub step: Location,
    /// The writes that the inner side can make to it at the same time: nothing orders them.
    pub writes: Vec<StateWrite>,
}

/// A write to an object that a function has got from a context.
#[derive(Clone, Debug)]
pub struct StateWrite {
    /// The function.
    pub func: FuncId,
    /// The write.
    pub used: FieldUse,
}

/// What the steps of a handler's body that are `after` the inner handler has returned use of
/// objects in the context.
pub(super) fn uses<'a>(
    cx: &FunctionCx<'a>,
    read: &Read<'a>,
    body: BodyId,
    after: &dyn Fn(StepId) -> bool,
) -> Vec<StateUse> {
    let function = &read.function;
    let mut found = Vec::new();
    for (object, ty, name) in objects(cx, function, body) {
        let cfg = &function.body(body).cfg;
        let mut known: Option<Vec<StateWrite>> = None;
        for step in cfg.steps().filter(|&step| after(step)) {
            let step_location = cx.location(function.step(At { body, step }).span(function.file));
            let uses = fields::of_body(cx, read, body, &object, &|asked| asked == step);
            for used in uses {
                let writes = known.get_or_insert_with(|| writes(cx, ty)).iter();
                let writes: Vec<StateWrite> =
                    writes.filter(|write| used.races_with(&write.used)).cloned().collect();
                if !writes.is_empty() {
                    found.push(StateUse { name: name.clone(), used, step: step_location, writes });
                }
            }
        }
    }
    found
}

/// The objects that a handler's body puts into a context or gets out of one, with their types.
fn objects(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    body: BodyId,
) -> Vec<(Place, ObjectId, String)> {
    let cfg = &function.body(body).cfg;
    let mut found: Vec<(Place, ObjectId, String)> = Vec::new();
    let mut add = |place: Place, ty: &Type| {
        if let Some((ty, name)) = own_type(ty)
            && !found.iter().any(|(known, ..)| *known == place)
        {
            found.push((place, ty, name));
        }
    };
    for step in cfg.steps() {
        let Step::Call(call) = cfg.step(step) else { continue };
        let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { continue };
        if gives_context(function.info.type_of(call)) {
            for &arg in args {
                let ty = function.info.type_of(arg);
                if let Some(place) = function.places(At { body, step }, arg).only()
                    && place.path.is_empty()
                {
                    add(place.clone(), ty);
                }
            }
        }
        if let Callee::Func(func) = function.info.callee(call)
            && gets_from_context(cx, *func, MAX_DEPTH)
        {
            let ty = match function.info.type_of(call) {
                Type::Tuple(results) => results.first().cloned().unwrap_or_default(),
                ty => ty.clone(),
            };
            add(Place::root(Root::Call(call, 0)), &ty);
        }
    }
    found
}

/// The declaration of a type whose pointer this is.
fn own_type(ty: &Type) -> Option<(ObjectId, String)> {
    let Type::Pointer(base) = ty else { return None };
    let named = base.named()?;
    match named.decl {
        TypeDecl::Global(object) => Some((object, named.name.to_string())),
        _ => None,
    }
}

/// How many functions are followed to where a context is asked.
const MAX_DEPTH: u32 = 3;

/// Whether the first result of a function is something that it gets from a context or a request.
fn gets_from_context(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let Type::Func(signature) = cx.index().func_type(func) else { return false };
    let is_asked = |ty: &Type| ty.is_context() || has_role(cx, ty, TypeRole::Request);
    let gives = signature.results.first().is_some_and(|result| own_type(result).is_some());
    if !gives || !signature.params.iter().any(is_asked) {
        return false;
    }
    let Some(read) = cx.summaries().read(func) else { return false };
    let returned = |effect: &&crate::summary::Effect| effect.act == Act::Returned(0);
    read.effects(BodyId::OWN).effects.iter().filter(returned).any(|effect| {
        effect.place.path.is_empty()
            && is_from_context(cx, &read.function, effect.place.root, depth)
    })
}

/// Whether what a place starts from is what a context gives.
fn is_from_context(cx: &FunctionCx<'_>, function: &Function<'_>, root: Root, depth: u32) -> bool {
    let Root::Call(call, 0) = root else { return false };
    match function.info.callee(call) {
        Callee::Func(func) => gets_from_context(cx, *func, depth),
        _ => asks_context(function, call),
    }
}

/// Whether a call is `ctx.Value(...)`.
fn asks_context(function: &Function<'_>, call: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return false };
    match function.file.expr(function.file.unparen(callee)).kind {
        ExprKind::Selector { base, name } => {
            name.name.as_str() == "Value" && function.info.type_of(base).is_context()
        }
        _ => false,
    }
}

/// Whether a function has a variable for objects of a type.
fn holds_type(function: &Function<'_>, ty: ObjectId) -> bool {
    let mut locals = function.info.locals().iter();
    locals.any(|local| own_type(&local.ty).is_some_and(|(own, _)| own == ty))
}

/// The writes of functions in the package of a type to objects of it that they get from a context.
fn writes(cx: &FunctionCx<'_>, ty: ObjectId) -> Vec<StateWrite> {
    let mut found = Vec::new();
    for func in &cx.index().package(ty.package).funcs {
        if cx.index().is_in_test_file(func.id) {
            continue;
        }
        let Some(read) = cx.summaries().read(func.id) else { continue };
        let cx = FunctionCx { func: func.id, ..*cx };
        let function = &read.function;
        let cfg = &function.body(BodyId::OWN).cfg;
        for step in cfg.steps() {
            let Step::Call(call) = cfg.step(step) else { continue };
            let asked = asks_context(function, call) && holds_type(function, ty);
            let gets = matches!(function.info.callee(call), Callee::Func(callee)
                if gets_from_context(&cx, *callee, MAX_DEPTH)
                    && own_type(function.info.type_of(call)).is_some_and(|(own, _)| own == ty));
            if !asked && !gets {
                continue;
            }
            let object = Place::root(Root::Call(call, 0));
            let uses = fields::of_body(&cx, &read, BodyId::OWN, &object, &|_| true);
            let writes = uses.into_iter().filter(|used| used.what.is_write());
            found.extend(writes.map(|used| StateWrite { func: func.id, used }));
        }
    }
    found
}
