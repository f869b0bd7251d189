//! What ends a wait for an object, and who calls that.

use crate::catalog::Op;
use crate::flow::Step;
use crate::index::{Basic, Callee, Def, Func, FuncId, Index, ObjectId, Type};
use crate::project::PackageId;
use crate::rules::callee_cannot_be_cancelled::Look;
use crate::rules::callee_cannot_be_cancelled::stay::{Stay, field_of, holds};
use crate::rules::scene::serves_tests;
use crate::summary::{At, BodyFlow, Function, Read};
use crate::syntax::{ExprId, ExprKind, File, Node, StmtKind, Symbol};

/// Who wakes a wait for a condition.
pub(super) struct Wakers {
    /// The methods that end it: they set what the wait looks at, or wake it without anything to do.
    pub enders: Vec<Symbol>,
    /// The methods that give it what it waits for.
    pub feeders: Vec<Symbol>,
}

/// The methods that wake a wait of `waiter`, a method of `owner`, for its condition `cond`. `None` if it
/// is not known who does.
pub(super) fn of_type(
    look: Look<'_, '_>,
    owner: ObjectId,
    cond: Symbol,
    waiter: &Read<'_>,
) -> Option<Wakers> {
    let index = look.cx.index();
    let flags = flags(index, owner, &waiter.function);
    let funcs = &index.package(owner.package).funcs;
    let mut enders: Vec<&Func> = Vec::new();
    let mut feeders: Vec<Symbol> = Vec::new();
    for func in funcs.iter().filter(|func| func.id != waiter.function.id) {
        let mentions = flags.iter().chain([&cond]).any(|&name| holds(index, func, name));
        if !mentions || serves_tests(index, func.id) {
            continue;
        }
        let deed = deed(look, func, owner, cond, &flags);
        let is_method = func.receiver.and_then(|receiver| receiver.ty) == Some(owner);
        match deed {
            Deed::Nothing => {}
            Deed::Feeds if is_method => feeders.push(func.name),
            Deed::Ends if is_method => enders.push(func),
            Deed::Feeds | Deed::Ends => return None,
        }
    }
    // What calls one of them on its own object is one too.
    for _ in 0..2 {
        let more: Vec<&Func> = funcs
            .iter()
            .filter(|func| func.receiver.and_then(|receiver| receiver.ty) == Some(owner))
            .filter(|func| enders.iter().all(|ender| ender.id != func.id))
            .filter(|func| enders.iter().any(|ender| calls(index, func, ender)))
            .collect();
        enders.extend(more);
    }
    if enders.iter().any(|ender| ender.id == waiter.function.id) {
        return None;
    }
    let enders = enders.into_iter().map(|ender| ender.name).collect();
    Some(Wakers { enders, feeders })
}

/// What a function does to those who wait.
enum Deed {
    Nothing,
    /// It wakes them, and gives them something.
    Feeds,
    /// It tells them to end.
    Ends,
}

fn deed(look: Look<'_, '_>, func: &Func, owner: ObjectId, cond: Symbol, flags: &[Symbol]) -> Deed {
    let index = look.cx.index();
    let file: &File = index.file_of(func.id);
    let info = index.body(func.id);
    let own_field = |expr: ExprId| {
        let (of, name) = field_of(file, &info, expr)?;
        (of.declared() == Some(owner)).then_some(name)
    };
    let (mut wakes, mut changes) = (false, false);
    for node in file.descendants(Node::Decl(func.decl)) {
        match node {
            Node::Stmt(stmt) => match &file.stmt(stmt).kind {
                StmtKind::Assign { left, .. } => {
                    for &left in left {
                        if own_field(left).is_some_and(|name| flags.contains(&name)) {
                            return Deed::Ends;
                        }
                        changes = true;
                    }
                }
                StmtKind::IncDec { .. } | StmtKind::Send { .. } => changes = true,
                _ => {}
            },
            Node::Expr(expr) => {
                let ExprKind::Call { callee, .. } = file.expr(expr).kind else { continue };
                let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else {
                    continue;
                };
                let known = crate::summary::facts(look.cx.catalog(), index, info.callee(expr));
                let op = known.in_force::<crate::catalog::Model>(look.cx.versions());
                match op.map(|model| model.op) {
                    Some(Op::CondSignal | Op::CondBroadcast) => {
                        wakes |= own_field(base) == Some(cond);
                    }
                    Some(Op::Lock | Op::Unlock) => {}
                    // What it calls may put something in.
                    _ => changes = true,
                }
            }
            Node::Decl(_) => {}
        }
    }
    match (wakes, changes) {
        (false, _) => Deed::Nothing,
        (true, true) => Deed::Feeds,
        (true, false) => Deed::Ends,
    }
}

/// The yes-or-no fields of a type that a function looks at.
fn flags(index: &Index<'_>, owner: ObjectId, function: &Function<'_>) -> Vec<Symbol> {
    let root = Node::Decl(index.func(function.id).decl);
    let flag = |node| {
        let Node::Expr(expr) = node else { return None };
        let (of, name) = field_of(function.file, &function.info, expr)?;
        let is_bool = matches!(
            index.underlying(function.info.type_of(expr)),
            Type::Basic(Basic::Bool | Basic::UntypedBool)
        );
        (of.declared() == Some(owner) && is_bool).then_some(name)
    };
    let mut flags: Vec<Symbol> = function.file.descendants(root).filter_map(flag).collect();
    flags.dedup();
    flags
}

fn calls(index: &Index<'_>, caller: &Func, callee: &Func) -> bool {
    if !holds(index, caller, callee.name) {
        return false;
    }
    let (file, info) = (index.file_of(caller.id), index.body(caller.id));
    file.descendants(Node::Decl(caller.decl)).any(|node| match node {
        Node::Expr(expr) if matches!(file.expr(expr).kind, ExprKind::Call { .. }) => {
            matches!(*info.callee(expr), Callee::Func(func) if func == callee.id)
        }
        _ => false,
    })
}

/// Whether the function of the loop gives the wait itself what it waits for, in a goroutine of its own or
/// elsewhere: how long that takes is in its own hands.
pub(super) fn are_fed_by(look: Look<'_, '_>, stay: &Stay, function: &Function<'_>) -> bool {
    let file = function.file;
    let root = Node::Decl(function.index.func(function.id).decl);
    !stay.feeders.is_empty()
        && file.descendants(root).any(|node| match node {
            Node::Expr(call) => {
                file.method_call(call).is_some_and(|(_, name)| stay.feeders.contains(&name.name))
                    && is_of(look, stay, function.info.callee(call))
            }
            _ => false,
        })
}

/// Whether anybody may end the wait but the code behind the loop.
pub(super) fn are_called_elsewhere(
    look: Look<'_, '_>,
    stay: &Stay,
    turn: (&Function<'_>, At),
) -> bool {
    stay.enders.iter().any(|&ender| {
        let of_run = look.cx.package.packages_with(ender);
        let own = look.below.is_dependency(turn.0.id.package).then_some(turn.0.id.package);
        let packages: Vec<PackageId> =
            of_run.chain(stay.packages.iter().copied()).chain(own).collect();
        packages.into_iter().any(|package| is_called_in(look, stay, ender, package, turn))
    })
}

fn is_called_in(
    look: Look<'_, '_>,
    stay: &Stay,
    ender: Symbol,
    package: PackageId,
    turn: (&Function<'_>, At),
) -> bool {
    let index = look.cx.index();
    index.package(package).funcs.iter().any(|func| {
        if !holds(index, func, ender) || serves_tests(index, func.id) {
            return false;
        }
        let is_own = stay.object.ty.declared().is_some()
            && func.receiver.and_then(|receiver| receiver.ty) == stay.object.ty.declared();
        !is_own && may_end(look, stay, ender, func.id, turn)
    })
}

fn may_end(
    look: Look<'_, '_>,
    stay: &Stay,
    ender: Symbol,
    func: FuncId,
    (function, turn): (&Function<'_>, At),
) -> bool {
    let index = look.cx.index();
    let file: &File = index.file_of(func);
    let info = index.body(func);
    let mut called = Vec::new();
    file.descendants(Node::Decl(index.func(func).decl)).any(|node| {
        let Node::Expr(expr) = node else { return false };
        match file.expr(expr).kind {
            ExprKind::Call { callee, .. } => {
                let callee = file.unparen(callee);
                called.push(callee);
                let ExprKind::Selector { base, name } = file.expr(callee).kind else {
                    return false;
                };
                name.name == ender
                    && is_of(look, stay, info.callee(expr))
                    && !is_another(stay, field_of(file, &info, base))
                    && !(func == function.id && is_behind(function, turn, expr))
            }
            // The method as a value: whoever has it may call it.
            ExprKind::Selector { name, .. } if name.name == ender && !called.contains(&expr) => {
                match info.resolve(expr) {
                    Def::Method(method, _) => {
                        let owner = index.func(*method).receiver.and_then(|receiver| receiver.ty);
                        owner == stay.object.ty.declared()
                    }
                    Def::InterfaceMethod(_) | Def::External(_) | Def::Unknown => true,
                    _ => false,
                }
            }
            _ => false,
        }
    })
}

/// Whether a call may be one of a method of the object.
fn is_of(look: Look<'_, '_>, stay: &Stay, callee: &Callee) -> bool {
    let index = look.cx.index();
    let object = &stay.object.ty;
    match callee {
        Callee::Func(method) => {
            let owner = index.func(*method).receiver.and_then(|receiver| receiver.ty);
            owner.is_some() && owner == object.declared()
                || matches!(index.underlying(object), Type::Interface(_))
                    && owner.is_some_and(|owner| {
                        let ty = index.object_type(owner).pointer();
                        index.implements(&ty, object) != Some(false)
                    })
        }
        Callee::InterfaceMethod(selection) => {
            let same = selection.owner.declared() == object.declared();
            let is_interface = matches!(index.underlying(object), Type::Interface(_));
            same || is_interface
                || index.implements(&object.clone().pointer(), &selection.owner) != Some(false)
        }
        // A type that is not there is another one than the object's, if that is known.
        Callee::External(name) => match (name.receiver, object.named()) {
            (Some(_), Some(own)) if object.declared().is_some() => own.path == name.path,
            _ => true,
        },
        Callee::Unknown { .. } => true,
        _ => false,
    }
}

/// Whether an object is held by another field than the one that is waited for.
fn is_another(stay: &Stay, base: Option<(Type, Symbol)>) -> bool {
    match (&stay.object.field, base) {
        (Some((own, field)), Some((of, name))) => {
            own.declared().is_some()
                && of.declared().is_some()
                && (own.declared(), *field) != (of.declared(), name)
        }
        _ => false,
    }
}

/// Whether a call comes only after the loop: it stands behind it, or is deferred around it.
fn is_behind(function: &Function<'_>, turn: At, call: ExprId) -> bool {
    let Some(at) = function.at_call(call) else { return false };
    let cfg = &function.body(turn.body).cfg;
    if at.body == turn.body {
        return match cfg.step(at.step) {
            Step::Call(_) => !cfg.reaches(at.step, turn.step),
            Step::Defer(_) => true,
            _ => false,
        };
    }
    cfg.steps().any(|step| {
        let Step::Defer(stmt) = cfg.step(step) else { return false };
        let deferred = BodyFlow::statement_call(function.file, stmt);
        deferred.is_some_and(|deferred| match function.info.callee(deferred) {
            Callee::Literal(literal) => function.body_of_literal(*literal) == Some(at.body),
            _ => false,
        })
    })
}
