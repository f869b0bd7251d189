//! Consumers that run what each message carries: the function that a sender has put into it may take the lock that
//! he holds while he waits for room.

use crate::flow::Step;
use crate::index::{Callee, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::evidence::consumer::bound;
use crate::rules::evidence::groups::{Groups, Op};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::locks::{Locks, MAX_CALLS, Taken, taken};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol, UnaryOp};

/// Where a function that a message carries takes a lock of the sender's receiver, if who receives the message runs
/// it before he receives once more: it is a literal of the sender, or of one that calls it for the same object.
pub(super) fn needs(
    groups: &Groups<'_>,
    send: &Op,
    receive: &Op,
    locks: &Locks,
    lock: &Taken,
) -> Option<Location> {
    let scene = &groups.scenes[send.scene];
    let receiver = scene.receiver()?;
    let (locked, _) = scene.method_call(lock.call)?;
    if send.literal.is_some() || root_variable(scene, locked) != Some(Some(receiver)) {
        return None;
    }
    let Node::Stmt(stmt) = send.node else { return None };
    let StmtKind::Send { value, .. } = scene.file.stmt(stmt).kind else { return None };
    run_by(&groups.scenes[receive.scene], receive).find_map(|field| {
        let function = scene.file.unparen(value_of(scene, value, field)?);
        if let ExprKind::FuncLit(_) = scene.file.expr(function).kind {
            return takes(scene, function, receiver, locks, lock);
        }
        let LocalKind::Param(place) = scene.info.local(scene.local(function)?).kind else {
            return None;
        };
        let uses = scene.cx.package.uses();
        uses.calls.get(&scene.cx.func)?.iter().find_map(|&(caller, call)| {
            let caller = Scene::new(FunctionCx { func: caller, ..scene.cx })?;
            let given = caller.file.unparen(*caller.args(call).get(place as usize)?);
            let (base, _) = caller.method_call(call)?;
            matches!(caller.file.expr(given).kind, ExprKind::FuncLit(_)).then_some(())?;
            takes(&caller, given, caller.local(base)?, locks, lock)
        })
    })
}

/// The fields of what is received that the receiver calls before it receives once more.
fn run_by<'s>(scene: &'s Scene<'_>, receive: &'s Op) -> impl Iterator<Item = Symbol> + use<'s> {
    let received = bound(scene, receive).0;
    let calls = || {
        let cfg = scene.graph(receive.literal)?;
        let at = receive.step(scene, &cfg)?;
        let fields = cfg.steps().filter_map(|step| {
            let Step::Call(call) = cfg.step(step) else { return None };
            let Callee::Value(_) = scene.info.callee(call) else { return None };
            let (base, name) = scene.method_call(call)?;
            let is_own = received.is_some() && scene.local(base) == received;
            (is_own && cfg.reaches(at, step) && cfg.reaches(step, at)).then_some(name.name)
        });
        Some(fields.collect::<Vec<_>>())
    };
    calls().unwrap_or_default().into_iter()
}

/// What a literal of a struct sets a field to.
fn value_of(scene: &Scene<'_>, made: ExprId, field: Symbol) -> Option<ExprId> {
    let mut made = scene.file.unparen(made);
    if let ExprKind::Unary { op: UnaryOp::Addr, operand } = scene.file.expr(made).kind {
        made = scene.file.unparen(operand);
    }
    let ExprKind::CompositeLit { ref elements, .. } = scene.file.expr(made).kind else {
        return None;
    };
    let named = elements.iter().find(|element| {
        let key = element.key.map(|key| &scene.file.expr(key).kind);
        matches!(key, Some(ExprKind::Ident(name)) if *name == field)
    });
    let in_order = || {
        let ty = scene.info.type_of(made).strip_pointer();
        let Type::Struct(fields) = scene.cx.index().underlying(ty) else { return None };
        let place = fields.fields.iter().position(|own| own.name == field)?;
        elements.get(place).filter(|element| element.key.is_none())
    };
    named.or_else(in_order).map(|element| element.value)
}

/// Where a literal takes a lock of what a variable around it has, itself or by a method of that.
fn takes(
    scene: &Scene<'_>,
    literal: ExprId,
    owner: LocalId,
    locks: &Locks,
    lock: &Taken,
) -> Option<Location> {
    let cfg = scene.graph(Some(literal))?;
    cfg.steps().find_map(|step| {
        let Step::Call(call) = cfg.step(step) else { return None };
        let (base, _) = scene.method_call(call)?;
        match taken(scene, call) {
            Some(own) => (own.excludes(lock) && root_variable(scene, base) == Some(Some(owner)))
                .then_some(own.location),
            None => match scene.info.callee(call) {
                Callee::Func(func) if scene.local(base) == Some(owner) => {
                    locks.takes(&scene.cx.package, *func, lock, MAX_CALLS)
                }
                _ => None,
            },
        }
    })
}
