//! The context that an object keeps for its own end, by which the goroutine leaves that receives for it.
//!
//! Evidence: the field is set once, where the channel is made too. There the context is derived with a cancel function
//! that goes into another field, which a method calls; or it is the maker's parameter, which somebody may end. The
//! goroutine looks at the field, or is started by the maker with what it puts there.

use crate::catalog::Context;
use crate::index::{FuncId, LocalId, LocalKind, ObjectId};
use crate::rules::endable::may_end;
use crate::rules::evidence::groups::{Groups, Op};
use crate::rules::evidence::leaver::{Arm, is_done};
use crate::rules::scene::{Scene, naming};
use crate::source::Location;
use crate::summary::facts;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol};

/// Such a context.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct OwnContext {
    owner: ObjectId,
    /// The field that holds it.
    pub name: Symbol,
    /// Who ends it: the method that calls the cancel function, and where; or the maker, who is given it.
    pub ender: FuncId,
    pub ended: Location,
}

impl OwnContext {
    /// The context of the object that makes a channel, if a receive from that leaves at its end.
    pub(super) fn of(
        groups: &Groups<'_>,
        make: &Op,
        receive: &Op,
        arm: &Arm,
    ) -> Option<OwnContext> {
        let scene = &groups.scenes[receive.scene];
        let maker = &groups.scenes[make.scene];
        let owner = scene.cx.owner()?;
        if !is_done(scene, arm.channel) {
            return None;
        }
        let (context, _) = scene.method_call(arm.channel)?;
        if !scene.info.type_of(context).is_context() {
            return None;
        }
        let name = match scene.selector(context).filter(|_| scene.is_of_receiver(context)) {
            Some((_, name)) => name.name,
            None => {
                let given = started_with(maker, scene, scene.local(context)?)?;
                puts(maker, owner).find(|&(_, value)| maker.local(value) == Some(given))?.0
            }
        };
        if !is_set_by(maker, owner, name) {
            return None;
        }
        let (ender, ended) = match held(maker, owner, name)? {
            Held::Given(param) => {
                let may_end = may_end(&maker.cx, param);
                (maker.cx.func, may_end.then(|| maker.cx.location(maker.name.span))?)
            }
            Held::Derived(cancel) => canceller(maker, owner, cancel, scene.cx.func)?,
        };
        Some(OwnContext { owner, name, ender, ended })
    }

    /// Whether another method of the object than the receivers asks whether it is over.
    pub(super) fn is_asked(&self, scene: &Scene<'_>, receivers: &[FuncId]) -> bool {
        naming(&scene.cx, self.name).any(|scene| {
            scene.cx.owner() == Some(self.owner)
                && !receivers.contains(&scene.cx.func)
                && scene.nodes.iter().any(|&node| {
                    let Node::Expr(call) = node else { return false };
                    scene.method_call(call).is_some_and(|(context, name)| {
                        matches!(name.name.as_str(), "Done" | "Err")
                            && is_field(&scene, context, self.owner, self.name)
                    })
                })
        })
    }
}

/// What the field is set to.
enum Held {
    /// The parameter of the maker.
    Given(u32),
    /// A context whose cancel function is put into this field.
    Derived(Symbol),
}

/// The variable of the maker that the only start of a method gives for one of its parameters; nobody else runs it.
fn started_with(maker: &Scene<'_>, method: &Scene<'_>, param: LocalId) -> Option<LocalId> {
    let LocalKind::Param(place) = method.info.local(param).kind else { return None };
    let users = method.cx.package.named_outside_tests(method.cx.func);
    if users.len() != 1 || method.uses(param).any(|used| method.is_target(used)) {
        return None;
    }
    let (_, call) = maker.starts(method.cx.func).next()?;
    maker.local(*maker.args(call).get(place as usize)?)
}

/// Whether an expression is this field of an object of the type.
fn is_field(scene: &Scene<'_>, expr: ExprId, owner: ObjectId, name: Symbol) -> bool {
    scene.selector(expr).is_some_and(|(base, selected)| {
        selected.name == name && scene.info.type_of(base).declared() == Some(owner)
    })
}

/// The fields of objects of the type that a function sets to a value each, and the values.
fn puts(scene: &Scene<'_>, owner: ObjectId) -> impl Iterator<Item = (Symbol, ExprId)> {
    scene.nodes.iter().flat_map(move |&node| match node {
        Node::Expr(literal) => keyed(scene, owner, literal),
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, op: None, right } if left.len() == right.len() => {
                let pairs = left.iter().zip(right);
                let own = pairs.filter_map(|(&target, &value)| {
                    let (base, name) = scene.selector(target)?;
                    let is_own = scene.info.type_of(base).declared() == Some(owner);
                    is_own.then_some((name.name, scene.file.unparen(value)))
                });
                own.collect()
            }
            _ => Vec::new(),
        },
        Node::Decl(_) => Vec::new(),
    })
}

/// The fields that a literal of the type sets, and their values.
fn keyed(scene: &Scene<'_>, owner: ObjectId, literal: ExprId) -> Vec<(Symbol, ExprId)> {
    let ExprKind::CompositeLit { elements, .. } = &scene.file.expr(literal).kind else {
        return Vec::new();
    };
    if scene.info.type_of(literal).declared() != Some(owner) {
        return Vec::new();
    }
    let keyed = elements.iter().filter_map(|element| {
        let ExprKind::Ident(name) = scene.file.expr(element.key?).kind else { return None };
        Some((name, scene.file.unparen(element.value)))
    });
    keyed.collect()
}

/// Whether a function is the only one that sets a field of objects of the type.
fn is_set_by(maker: &Scene<'_>, owner: ObjectId, name: Symbol) -> bool {
    naming(&maker.cx, name).filter(|scene| scene.cx.func != maker.cx.func).all(|scene| {
        let is_it = |target: ExprId| is_field(&scene, target, owner, name);
        let literal = |&node: &Node| match node {
            Node::Expr(literal) => keyed(&scene, owner, literal).iter().any(|put| put.0 == name),
            _ => false,
        };
        !scene.assigns(is_it) && !scene.nodes.iter().any(literal)
    })
}

/// What the maker sets a field to that is a context.
fn held(maker: &Scene<'_>, owner: ObjectId, name: Symbol) -> Option<Held> {
    let mut put = puts(maker, owner).filter(|&(field, _)| field == name).map(|(_, value)| value);
    let Some(value) = put.next().filter(|_| put.next().is_none()) else {
        // `x.ctx, x.cancel = context.WithCancel(...)`
        return maker.nodes.iter().find_map(|&node| {
            let Node::Stmt(stmt) = node else { return None };
            let StmtKind::Assign { left, op: None, right } = &maker.file.stmt(stmt).kind else {
                return None;
            };
            let ([context, _], [call]) = (&left[..], &right[..]) else { return None };
            let cancel = *left.get(cancel_of(maker, *call)? as usize)?;
            let (_, kept) = maker.selector(cancel)?;
            let is_own =
                is_field(maker, *context, owner, name) && is_field(maker, cancel, owner, kept.name);
            is_own.then_some(Held::Derived(kept.name))
        });
    };
    let variable = maker.local(value)?;
    let mut made = maker.nodes.iter().filter_map(|&node| {
        let (targets, values) = maker.assignment(node)?;
        targets.contains(&Some(variable)).then_some((targets, values))
    });
    let Some((targets, values)) = made.next() else {
        let LocalKind::Param(place) = maker.info.local(variable).kind else { return None };
        return maker.info.local(variable).owner.is_none().then_some(Held::Given(place));
    };
    let [call] = values else { return None };
    let cancel = (*targets.get(cancel_of(maker, *call)? as usize)?)?;
    let kept = puts(maker, owner).find(|&(_, value)| maker.local(value) == Some(cancel))?.0;
    made.next().is_none().then_some(Held::Derived(kept))
}

/// Which result of a call is the cancel function of the context that it derives.
fn cancel_of(scene: &Scene<'_>, call: ExprId) -> Option<u32> {
    let known = facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(call));
    known.all_in_force::<Context>(scene.cx.versions()).find_map(|fact| fact.cancel)
}

/// A method of the type, another than this function, that calls the function which objects of it keep in a field.
fn canceller(
    maker: &Scene<'_>,
    owner: ObjectId,
    name: Symbol,
    but: FuncId,
) -> Option<(FuncId, Location)> {
    let of_owner = |scene: &Scene<'_>| scene.cx.owner() == Some(owner) && scene.cx.func != but;
    naming(&maker.cx, name).filter(of_owner).find_map(|scene| {
        let call = scene.nodes.iter().copied().find(|&node| {
            let Node::Expr(call) = node else { return false };
            let ExprKind::Call { callee, .. } = scene.file.expr(call).kind else { return false };
            is_field(&scene, callee, owner, name)
        })?;
        Some((scene.cx.func, scene.cx.location(scene.span(call))))
    })
}
