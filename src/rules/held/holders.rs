//! What a function makes for itself alone and puts a thing into: as long as nobody else knows the
//! whole, nobody else ends the part.

use super::names_end;
use crate::flow::{Step, StepId};
use crate::index::{Callee, FuncId, Selection, Type};
use crate::rules::{FunctionCx, recurrence, unended};
use crate::summary::{Act, At, BodyId, Effect, Function, Mode, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, StmtKind, Symbol};

/// A thing as part of a whole.
pub(super) struct Part {
    /// The part.
    pub place: Place,
    /// The assignment that makes it one, if the whole is older than that.
    pub since: Option<StepId>,
}

/// The methods that alone do anything with a part: it is a field that is not exported of a type of the package, and
/// nobody calls them there. So whoever has the whole in the package, in a literal or goroutine, leaves the part alone.
/// `None` if that is not so.
pub(super) fn own_enders(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    part: &Place,
) -> Option<Vec<Symbol>> {
    let (Root::Made(literal), [name]) = (part.root, &part.path[..]) else { return None };
    let ty = function.info.type_of(literal).strip_pointer();
    let Type::Struct(of) = cx.index().underlying(ty) else { return None };
    let field = of.fields.iter().find(|field| field.name == *name)?;
    let is_own = cx.index().package(cx.func.package).holds(field.location.file);
    if name.is_exported() || !is_own {
        return None;
    }
    let selection = Selection {
        name: *name,
        owner: ty.clone(),
        path: Box::default(),
        location: Some(field.location),
        ty: field.ty.clone(),
        indirect: false,
        expression: false,
    };
    let enders = unended::enders(&cx.package, &selection)?;
    let is_method_of_callers = |&ender: &FuncId| {
        let ender = cx.index().func(ender);
        let is_in_package = |&(caller, _): &(FuncId, ExprId)| {
            caller.package == cx.func.package && caller != cx.func
        };
        ender.receiver.is_some() && !recurrence::calls(&cx.package, ender).iter().any(is_in_package)
    };
    let names = || enders.iter().map(|&ender| cx.index().func(ender).name).collect();
    enders.iter().all(is_method_of_callers).then(names)
}

/// Whether what is done to the whole leaves a part alone that only these methods end.
pub(super) fn leaves_part(effect: &Effect, enders: &[Symbol]) -> bool {
    match effect.act {
        Act::Method(name) => !enders.contains(&name) && !names_end(name),
        Act::Captured => true,
        act => !act.escapes(),
    }
}

/// What a thing becomes a part of where it is stored; `None` if others may find it there. `thing`
/// is the thing, or what is stored is a whole that it is a part of.
pub(super) fn parts(function: &Function<'_>, stored: &Effect, thing: &Place) -> Option<Vec<Part>> {
    let at = stored.at;
    let rest = thing.path.get(stored.place.path.len()..)?;
    let is_stored = |value: ExprId| function.places(at, value).may_be(&stored.place);
    let mut whole: Option<Vec<Part>> = Some(Vec::new());
    let mut add = |place: Option<Place>, since: Option<StepId>| match (place, &mut whole) {
        (Some(place), Some(parts)) => {
            let place = rest.iter().fold(place, |place, &field| place.field(field));
            parts.push(Part { place, since });
        }
        _ => whole = None,
    };
    let step = function.step(at);
    step.for_each_operand(function.file, &mut |expr| {
        let ExprKind::CompositeLit { elements, .. } = &function.file.expr(expr).kind else {
            return;
        };
        for element in elements.iter().filter(|element| is_stored(element.value)) {
            add(element.key.and_then(|key| field_of(function, expr, key)), None);
        }
    });
    if let Step::Assign(stmt) = step
        && let StmtKind::Assign { left, right, .. } = &function.file.stmt(stmt).kind
    {
        for (place, &target) in left.iter().enumerate() {
            let gets_it = match right[..] {
                [value] if left.len() > 1 => {
                    let call = function.file.unparen(value);
                    stored.place == Place::root(Root::Call(call, place as u32))
                }
                _ => right.get(place).is_some_and(|&value| is_stored(value)),
            };
            if gets_it {
                add(own_field(function, at, target), Some(at.step));
            }
        }
    }
    whole.filter(|parts| !parts.is_empty())
}

/// The field `key` of the struct that a literal makes.
fn field_of(function: &Function<'_>, literal: ExprId, key: ExprId) -> Option<Place> {
    let ExprKind::Ident(field) = function.file.expr(key).kind else { return None };
    let ty = function.index.underlying(function.info.type_of(literal));
    matches!(ty, Type::Struct(_)).then(|| Place::root(Root::Made(literal)).field(field))
}

/// A field of something that this function makes.
fn own_field(function: &Function<'_>, at: At, target: ExprId) -> Option<Place> {
    let target = function.file.unparen(target);
    let ExprKind::Selector { .. } = function.file.expr(target).kind else { return None };
    let places = function.places(at, target);
    let place = places.only().filter(|place| !place.path.is_empty())?;
    match place.root {
        Root::Made(_) | Root::Local(_) => Some(place.clone()),
        _ => None,
    }
}

/// Whether something that is done to the whole may end its parts, or have somebody else do that.
pub(super) fn may_end_parts(function: &Function<'_>, effect: &Effect) -> bool {
    let Act::Method(name) = effect.act else { return effect.act.escapes() };
    let is_known = function
        .step(effect.at)
        .call(function.file)
        .is_some_and(|call| matches!(function.info.callee(call), Callee::Func(_)));
    !is_known || effect.mode >= Mode::Joined || names_end(name) || name.as_str() == "Cleanup"
}

/// Whether the literals that know the whole leave a part of it alone, whenever they run.
pub(super) fn leave_alone(read: &Read<'_>, owner: BodyId, part: &Place) -> bool {
    let function = &read.function;
    let literals = function.bodies().filter(|&body| body != owner);
    let mut effects = literals.flat_map(|body| &read.effects(body).effects);
    effects.all(|effect| {
        let is_above = part.is_within(&effect.place);
        let captured = effect.act == Act::Captured;
        !is_above && !effect.place.is_within(part)
            || is_above && (captured || !may_end_parts(function, effect))
    })
}
