//! What a call is given, by the parameters of what it calls.

use std::borrow::Cow;

use crate::index::{Def, Type};
use crate::summary::function::{At, Function};
use crate::summary::place::{Place, Places, Root};
use crate::syntax::{ExprId, ExprKind};

/// What a call is given.
pub(super) struct Arguments {
    /// What a method is called on, as the code there says.
    pub object: Option<Places>,
    /// The part of it that declares the method: the same, or what is embedded in it.
    pub receiver: Option<Places>,
    /// The arguments, without a receiver that a method expression takes first.
    pub params: Vec<Places>,
    /// The parameter that takes all further arguments.
    variadic: Option<u32>,
}

impl Arguments {
    /// The arguments of a call of `callee`.
    pub fn of(function: &Function<'_>, at: At, callee: ExprId, args: &[ExprId]) -> Arguments {
        let callee = function.file.unparen(callee);
        let base = match function.file.expr(callee).kind {
            ExprKind::Selector { base, .. } => Some(base),
            _ => None,
        };
        let is_expression = match function.info.resolve(callee) {
            Def::Method(_, selection) | Def::InterfaceMethod(selection) => {
                Some(selection.expression)
            }
            Def::External(name) if name.receiver.is_some() => Some(false),
            // Of a type that is not known: what a package declares would be.
            Def::Unknown => Some(false),
            _ => None,
        };
        let places = |expr: ExprId| match function.is_plain(expr) {
            true => Places::default(),
            false => function.places(at, expr),
        };
        let (object, rest) = match (is_expression, args) {
            (Some(false), _) => (base.map(|base| function.object_places(at, base)), args),
            (Some(true), [first, rest @ ..]) => (Some(places(*first)), rest),
            _ => (None, args),
        };
        let embedded = match function.info.resolve(callee) {
            Def::Method(_, selection) | Def::InterfaceMethod(selection) => &selection.path[..],
            _ => &[],
        };
        let mut receiver = object.clone();
        for place in receiver.iter_mut().flat_map(|receiver| &mut receiver.list) {
            place.path.extend(embedded);
        }
        let variadic = match function.info.type_of(callee) {
            Type::Func(signature) if signature.variadic => {
                (signature.params.len() as u32).checked_sub(1)
            }
            _ => None,
        };
        let params = match rest {
            [call] if matches!(function.info.type_of(*call), Type::Tuple(_)) => {
                results(function, *call)
            }
            _ => rest.iter().map(|&arg| places(arg)).collect(),
        };
        Arguments { object, receiver, params, variadic }
    }

    /// Whether the method is one of something embedded.
    pub fn is_promoted(&self) -> bool {
        self.object != self.receiver
    }

    /// The arguments for a parameter: several for a variadic one.
    pub fn param(&self, index: u32) -> Option<Cow<'_, Places>> {
        let (first, more) = self.params.get(index as usize..)?.split_first()?;
        let mut all = Cow::Borrowed(first);
        if self.variadic == Some(index) {
            more.iter().for_each(|more| all.to_mut().merge(more));
        }
        Some(all)
    }
}

/// The results of `g()` in `f(g())`.
fn results(function: &Function<'_>, call: ExprId) -> Vec<Places> {
    let count = match function.info.type_of(call) {
        Type::Tuple(types) => types.len() as u32,
        _ => 1,
    };
    let call = function.file.unparen(call);
    (0..count).map(|result| Places::from(Place::root(Root::Call(call, result)))).collect()
}
