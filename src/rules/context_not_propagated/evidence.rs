//! Whether a callee waits for something that the context it is given could end.

use std::sync::Arc;

use crate::catalog::{Blocking, Carrier, Context, NonBlocking, Pure, Starter, Wait, When};
use crate::diagnostic::Confidence;
use crate::flow::Step;
use crate::index::{Callee, Def, FuncId, LocalKind, ObjectId, Selection, Type, TypeDecl};
use crate::project::PackageId;
use crate::rules::FunctionCx;
use crate::rules::bound::{is_brief, is_within, lacks_option};
use crate::rules::context_not_propagated::{purpose, variant};
use crate::rules::scene::serves_tests;
use crate::source::Location;
use crate::summary::{self, At, BodyId, Cancel, Function, Place, Read, Root, What, facts};
use crate::syntax::{BinaryOp, DeclKind, ExprId, ExprKind, Node, StmtKind};

/// That a callee waits.
#[derive(Clone)]
pub struct Evidence {
    /// How sure that is.
    pub confidence: Confidence,
    /// Where it waits in the end, if that is in sight.
    pub waits_at: Option<Location>,
    /// Whether that wait ends too when something does that the callee's receiver has: its own life.
    pub ends_with_receiver: bool,
    /// Whether nothing but the form of a call says that it waits.
    pub by_form: bool,
}

impl Evidence {
    /// Nothing but the form of a call says that it waits.
    fn by_form() -> Evidence {
        Evidence {
            confidence: Confidence::Medium,
            waits_at: None,
            ends_with_receiver: false,
            by_form: true,
        }
    }
}

/// How many calls are followed to something that waits.
const MAX_DEPTH: u32 = 4;

/// Whether the call waits for something that its argument `arg`, a context, could end.
pub fn waits_on(cx: &FunctionCx<'_>, read: &Read<'_>, call: ExprId, arg: u32) -> Option<Evidence> {
    waits_within(cx, read, call, arg, MAX_DEPTH)
        .or_else(|| by_neglect(&read.function, call, arg))
        .or_else(|| by_feeding(cx, &read.function, call, arg))
}

/// Of a function that gives a channel, which a goroutine of its feeds until the context ends: the
/// caller receives from it.
fn by_feeding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    arg: u32,
) -> Option<Evidence> {
    let Callee::Func(func) = *function.info.callee(call) else { return None };
    if !matches!(function.info.type_of(call), Type::Chan(..)) {
        return None;
    }
    let feeder = cx.summaries().read(func)?;
    let context = Place::root(Root::Param(arg));
    let ends = |body: BodyId| {
        let mut waits = feeder.waits(body).iter().map(|(_, wait)| wait);
        body != BodyId::OWN
            && waits
                .any(|wait| matches!(&wait.cancel, Cancel::By(enders) if enders.contains(&context)))
    };
    if !feeder.function.bodies().any(ends) {
        return None;
    }
    let given = Place::root(Root::Call(call, 0));
    let file = function.file;
    let received = |at: At| match function.step(at) {
        Step::Next(stmt) => match file.stmt(stmt).kind {
            StmtKind::Range { subject, .. } => Some(subject),
            _ => None,
        },
        step => step.received_from(file),
    };
    let waits = function.bodies().find_map(|body| {
        let steps = function.body(body).cfg.steps();
        steps.map(|step| At { body, step }).find_map(|at| {
            received(at).filter(|&channel| function.places(at, channel).only() == Some(&given))
        })
    })?;
    let span = file.expr(waits).span;
    let waits_at = Some(Location { file: function.file_id, span });
    Some(Evidence {
        confidence: Confidence::Medium,
        waits_at,
        ends_with_receiver: false,
        by_form: false,
    })
}

/// Of a method of which nothing is known but its name, and that says that a peer is addressed: it
/// gets another context first, and the function does not look at its own anywhere.
fn by_neglect(function: &Function<'_>, call: ExprId, arg: u32) -> Option<Evidence> {
    let is_method = match function.info.callee(call) {
        Callee::External(name) => name.receiver.is_some(),
        Callee::Unknown { name } => name.is_some(),
        _ => false,
    };
    let own = function.info.locals().iter().position(|local| {
        local.owner.is_none() && matches!(local.kind, LocalKind::Param(_)) && local.ty.is_context()
    })?;
    let declared = Node::Decl(function.index.func(function.id).decl);
    let neglected = function.file.descendants(declared).all(|node| match node {
        Node::Expr(expr) => {
            !matches!(function.info.resolve(expr), Def::Local(local) if local.0 as usize == own)
        }
        _ => true,
    });
    let addresses = purpose::callee_name(function, call).is_some_and(purpose::addresses_peer);
    (is_method && arg == 0 && neglected && addresses).then_some(Evidence::by_form())
}

/// Of a function out of sight that is given `context.TODO()` first: its caller looks at an error of it, and who wrote
/// that says himself that a context is missing.
pub fn by_admission(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    arg: u32,
) -> Option<Evidence> {
    let is_plain = purpose::callee_name(function, call)
        .is_some_and(|name| !purpose::is_setting(name) && !purpose::is_telling(name));
    let is_unseen = match function.info.callee(call) {
        Callee::External(name) => name.receiver.is_none(),
        Callee::Unknown { name } => name.is_some(),
        _ => false,
    };
    let unknown = matches!(by_catalog(cx, function, call, arg), Known::Nothing);
    (arg == 0 && is_plain && is_unseen && unknown).then(|| by_use(function, call)).flatten()
}

fn waits_within(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    call: ExprId,
    arg: u32,
    depth: u32,
) -> Option<Evidence> {
    let function = &read.function;
    let callee = function.info.callee(call);
    if purpose::callee_name(function, call).is_some_and(purpose::is_telling) {
        return None;
    }
    match by_catalog(cx, function, call, arg) {
        Known::Nothing => {}
        Known::Harmless => return None,
        Known::Waits(when) => {
            let waits = match when {
                When::Result => variant::wait_of_result(cx, read, call)?.1,
                _ => call,
            };
            let span = function.file.expr(waits).span;
            return Some(Evidence {
                confidence: Confidence::High,
                waits_at: Some(Location { file: function.file_id, span }),
                ends_with_receiver: false,
                by_form: false,
            });
        }
    }
    let is_setting = || purpose::callee_name(function, call).is_some_and(purpose::is_setting);
    match callee {
        Callee::Func(func) => match cx.summaries().read(*func) {
            Some(_) if depth == 0 => None,
            Some(_) => through(cx, *func, arg, depth - 1),
            // One of the module that is not part of the run may wait for nobody.
            None if is_of_module(cx, func.package) || is_setting() => None,
            None => by_form(function, call, &cx.index().func_type(*func), arg),
        },
        Callee::InterfaceMethod(selection) => match implementations(cx, selection) {
            None if is_setting() || may_be_in_sight(cx, selection) => None,
            None => by_form(function, call, &selection.ty, arg),
            Some(_) if depth == 0 => None,
            Some(known) => through_any(cx, &known, arg, depth - 1),
        },
        _ if is_setting() => None,
        Callee::External(name) if name.receiver.is_some() => by_use(function, call),
        Callee::Unknown { name: Some(_) } => {
            let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return None };
            let callee = function.file.unparen(callee);
            let is_method = matches!(function.file.expr(callee).kind, ExprKind::Selector { .. });
            is_method.then(|| by_use(function, call)).flatten()
        }
        _ => None,
    }
}

/// What the catalog says of a call that is given a context.
enum Known {
    /// Nothing.
    Nothing,
    /// That the context ends no wait.
    Harmless,
    /// That the context ends a wait.
    Waits(When),
}

fn by_catalog(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId, arg: u32) -> Known {
    let callee = function.info.callee(call);
    let Some(name) = callee.qualified(function.index) else { return Known::Nothing };
    let known = facts(cx.catalog(), function.index, callee);
    if let Some(blocking) = known.in_force::<Blocking>(cx.versions()) {
        return match (blocking.context, blocking.when) {
            (_, When::Never) => Known::Harmless,
            _ if lacks_option(function, call, blocking) => Known::Harmless,
            _ if is_brief(function, call, blocking) => Known::Harmless,
            // To open a stream takes no longer than to send a message.
            _ if blocking.wait == Wait::Stream => Known::Harmless,
            _ if is_within(cx, blocking.wait) => Known::Harmless,
            (Some(Carrier::Param(index)), _)
                if index == arg
                    && blocking.wait == Wait::Goroutines
                    && is_local(function, call) =>
            {
                Known::Harmless
            }
            (Some(Carrier::Param(index)), when) if index == arg => Known::Waits(when),
            // Which context counts is said of the request or the receiver, not of this argument.
            _ => Known::Harmless,
        };
    }
    let (package, receiver, own) =
        (name.path.as_str(), name.receiver.map(|name| name.as_str()), name.name.as_str());
    let catalog = cx.catalog();
    let harmless = known.in_force::<Context>(cx.versions()).is_some()
        || known.in_force::<Starter>(cx.versions()).is_some_and(|starter| !starter.waits)
        || catalog.covering::<NonBlocking>(package, receiver, own, cx.versions()).is_some()
        || catalog.covering::<Pure>(package, receiver, own, cx.versions()).is_some();
    // What the standard library waits for is in the catalog.
    let standard = !package.split('/').next().unwrap_or_default().contains('.')
        && cx.index().package(cx.package.package).path.as_str() != package
        && !matches!(callee, Callee::Func(func) if cx.summaries().read(*func).is_some());
    match harmless || standard && !matches!(callee, Callee::InterfaceMethod(_)) {
        true => Known::Harmless,
        false => Known::Nothing,
    }
}

/// Whether a method is called on a variable of the function: what waits there waits for goroutines
/// of the same function, which have to be ended first.
fn is_local(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return false };
    let ExprKind::Selector { base, .. } = file.expr(file.unparen(callee)).kind else {
        return false;
    };
    match function.info.resolve(file.unparen(base)) {
        Def::Local(local) => function.info.local(*local).kind == LocalKind::Var,
        _ => false,
    }
}

/// Whether a call gives a context to a method that keeps it in its receiver: then it is the context of
/// that, for as long as it lives, and not of the call alone.
pub fn is_kept(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId, arg: u32) -> bool {
    let Callee::Func(func) = *function.info.callee(call) else { return false };
    let Some(read) = cx.summaries().read(func) else { return false };
    let callee = &read.function;
    let given = Place::root(Root::Param(arg));
    let body = &callee.body(BodyId::OWN);
    body.cfg.steps().any(|step| {
        let Step::Assign(stmt) = body.cfg.step(step) else { return false };
        let StmtKind::Assign { left, right, .. } = &callee.file.stmt(stmt).kind else {
            return false;
        };
        left.iter().zip(right).any(|(&left, &right)| {
            let target = callee.file.expr(callee.file.unparen(left));
            let is_field = matches!(target.kind, ExprKind::Selector { .. });
            let at = At { body: BodyId::OWN, step };
            let held = || callee.places(at, left).only().map(|place| place.root);
            is_field
                && callee.info.type_of(right).is_context()
                && held() == Some(Root::Receiver)
                && cx.summaries().context(callee, at, right).only().as_ref() == Some(&given)
        })
    })
}

/// Whether a function of the run waits on its parameter, a context.
pub fn waits_in(cx: &FunctionCx<'_>, func: FuncId, param: u32) -> Option<Evidence> {
    through(cx, func, param, MAX_DEPTH - 1)
}

/// Whether a function of the run waits on its parameter, itself or in what it calls.
fn through(cx: &FunctionCx<'_>, func: FuncId, param: u32, depth: u32) -> Option<Evidence> {
    cx.package.memo.waits((func, param, depth), || find_through(cx, func, param, depth))
}

fn find_through(cx: &FunctionCx<'_>, func: FuncId, param: u32, depth: u32) -> Option<Evidence> {
    let read = cx.summaries().read(func)?;
    let place = Place::root(Root::Param(param));
    let mut waits = read.summary.waits.iter().filter(|wait| {
        wait.what != What::Library(Wait::Stream)
            && !wait.timed
            && !matches!(wait.what, What::Library(wait) if is_within(cx, wait))
            && matches!(&wait.cancel, Cancel::By(enders) if enders.contains(&place))
    });
    // What others of the process give back when they have done: how soon that is, is theirs to say.
    let is_shared = |wait: &&summary::Wait| wait.what == What::Library(Wait::Goroutines);
    let waits = waits.clone().find(|wait| !is_shared(wait)).or_else(|| waits.next());
    if let Some(wait) = waits {
        let ends_with_receiver = matches!(&wait.cancel, Cancel::By(enders)
            if enders.iter().any(|ender| ender.root == Root::Receiver));
        let waits_at = Some(wait.location);
        return Some(Evidence {
            confidence: if is_shared(&wait) { Confidence::Low } else { Confidence::High },
            waits_at,
            ends_with_receiver,
            by_form: false,
        });
    }
    let function = &read.function;
    for step in function.body(BodyId::OWN).cfg.steps() {
        let at = At { body: BodyId::OWN, step };
        let Step::Call(call) = function.step(at) else { continue };
        let args = function.args(call);
        for (index, &arg) in (0..).zip(args) {
            if !function.info.type_of(arg).is_context() {
                continue;
            }
            let origin = cx.summaries().context(function, at, arg);
            // What the callee bounds in time itself does not wait for long.
            if origin.detached || origin.deadline || origin.only().as_ref() != Some(&place) {
                continue;
            }
            if let Some(evidence) = waits_within(cx, &read, call, index, depth) {
                let here = Location { file: function.file_id, span: function.file.expr(call).span };
                return Some(Evidence { waits_at: evidence.waits_at.or(Some(here)), ..evidence });
            }
        }
    }
    None
}

/// Whether one of the implementations of an interface's method waits on its parameter. If others
/// wait for nobody, it is not known which of them is called: that is asked of the first call alone,
/// since the number of those below it grows with a power of the depth.
fn through_any(cx: &FunctionCx<'_>, known: &[FuncId], param: u32, depth: u32) -> Option<Evidence> {
    let waits = |func: &FuncId| through(cx, *func, param, depth);
    let mut found = known.iter().find_map(waits)?;
    let first = depth + 1 == MAX_DEPTH;
    if first && !known.iter().all(|func| hands_on(cx, *func) || waits(func).is_some()) {
        found.confidence = Confidence::Low;
    }
    Some(found)
}

/// Whether a method calls one of its own name, as those do that put themselves before others.
fn hands_on(cx: &FunctionCx<'_>, func: FuncId) -> bool {
    let (index, name) = (cx.index(), cx.index().func(func).name);
    let file = index.file_of(func);
    let info = index.body(func);
    file.descendants(Node::Decl(index.func(func).decl)).any(|node| {
        let Node::Expr(call) = node else { return false };
        match info.callee(call) {
            Callee::InterfaceMethod(selection) => selection.name == name,
            _ => false,
        }
    })
}

/// How many implementations of an interface are looked into.
const MAX_IMPLEMENTATIONS: usize = 8;

/// The methods that stand for an interface's method, as far as their bodies are there; `None` if
/// nobody is known to implement the interface.
///
/// An interface of the module is implemented by what the package at hand can reach in its module, or
/// else by others of the run, and one that only packages implement which are not part of the run may
/// wait for nobody; so is one of another module that is part of the run. Of an interface that comes from
/// outside, its own package is asked: others implement it elsewhere.
pub fn implementations(cx: &FunctionCx<'_>, selection: &Selection) -> Option<Arc<[FuncId]>> {
    let object = selection.owner.declared()?;
    let find = || find_implementations(cx, selection, object);
    match selection.owner.named()?.args.is_empty() {
        true => cx.package.memo.implementations((object, selection.name), find),
        false => find(),
    }
}

fn find_implementations(
    cx: &FunctionCx<'_>,
    selection: &Selection,
    object: ObjectId,
) -> Option<Arc<[FuncId]>> {
    let index = cx.index();
    let of_module = is_of_module(cx, object.package);
    let own = cx.package.package;
    let others = [own].into_iter().chain(index.reach_in_module(own).iter().copied());
    let others = others.filter(|&package| of_module && package != object.package);
    let in_package = |package: PackageId| {
        let methods = index.package(package).funcs.iter().filter(|func| {
            let ty = func.receiver.filter(|_| func.name == selection.name).and_then(|of| of.ty);
            ty.is_some_and(|ty| {
                let pointer = index.object_type(ty).pointer();
                index.implements(&pointer, &selection.owner) == Some(true)
                    && !serves_tests(index, func.id)
            })
        });
        methods.map(|func| func.id)
    };
    let mut methods: Vec<FuncId> =
        [object.package].into_iter().chain(others).flat_map(in_package).collect();
    let named = || cx.package.packages_with(selection.name);
    let of_run = of_module || named().any(|package| package == object.package);
    if methods.is_empty() && of_run {
        methods.extend(named().flat_map(in_package));
    }
    let anybody = of_run && !methods.is_empty();
    let read = methods.into_iter().filter(|&func| cx.summaries().of(func).is_some());
    let read: Arc<[FuncId]> = read.take(MAX_IMPLEMENTATIONS).collect();
    (anybody || !read.is_empty()).then_some(read)
}

/// Whether a method of the module with a body may be what a call through a generic interface of the module
/// runs: which types implement that is not understood.
fn may_be_in_sight(cx: &FunctionCx<'_>, selection: &Selection) -> bool {
    let Some(named) = selection.owner.named().filter(|named| !named.args.is_empty()) else {
        return false;
    };
    let TypeDecl::Global(object) = named.decl else { return false };
    let index = cx.index();
    let has_method = |package: PackageId| {
        let mut funcs = index.package(package).funcs.iter();
        funcs.any(|func| {
            func.receiver.is_some() && func.name == selection.name && !serves_tests(index, func.id)
        })
    };
    is_of_module(cx, object.package) && cx.package.packages_with(selection.name).any(has_method)
}

/// Whether a package is the one at hand, or one of its module that it can reach.
fn is_of_module(cx: &FunctionCx<'_>, package: PackageId) -> bool {
    let own = cx.package.package;
    package == own || cx.index().reach_in_module(own).contains(&package)
}

/// Of a method whose body is out of sight: it takes a context first and can fail.
fn by_form(function: &Function<'_>, call: ExprId, ty: &Type, arg: u32) -> Option<Evidence> {
    let ExprKind::Call { callee, .. } = function.file.expr(call).kind else { return None };
    let callee = function.file.unparen(callee);
    let is_function = match function.file.expr(callee).kind {
        ExprKind::Selector { base, .. } => {
            matches!(function.info.resolve(function.file.unparen(base)), Def::Package(_))
        }
        _ => true,
    };
    let Type::Func(signature) = ty else { return None };
    let takes = signature.params.get(arg as usize).is_some_and(Type::is_context);
    let fails = signature.results.last().is_some_and(Type::is_error);
    (takes && fails && arg == 0 && !is_function).then_some(Evidence::by_form())
}

/// Of a method of which nothing is known but its name: the caller looks at an error of it.
fn by_use(function: &Function<'_>, call: ExprId) -> Option<Evidence> {
    let file = function.file;
    let declared = &file.decl(function.index.func(function.id).decl).kind;
    let DeclKind::Func(declared) = declared else { return None };
    let root = Node::Decl(function.index.func(function.id).decl);
    let parents = file.parents(root);
    let Node::Stmt(stmt) = parents.of(Node::Expr(call))? else { return None };
    let fails = match &file.stmt(stmt).kind {
        StmtKind::Return(values) => {
            let around = parents.around(Node::Stmt(stmt)).find_map(|node| match node {
                Node::Expr(expr) => match &file.expr(expr).kind {
                    ExprKind::FuncLit(literal) => Some(&literal.signature),
                    _ => None,
                },
                _ => None,
            });
            let results = &around.unwrap_or(&declared.signature).results;
            values.last() == Some(&call)
                && results.last().is_some_and(|last| function.info.type_of(last.ty).is_error())
        }
        StmtKind::Define { left, right } | StmtKind::Assign { left, right, op: None } => {
            let last = left.last().map(|&last| file.unparen(last));
            right.len() == 1 && last.is_some_and(|last| is_error(function, root, last))
        }
        _ => false,
    };
    fails.then_some(Evidence::by_form())
}

/// Whether a variable is an error: by its type, or, if that is not known, since it is called one or
/// compared with `nil`.
fn is_error(function: &Function<'_>, root: Node, variable: ExprId) -> bool {
    let Def::Local(local) = function.info.resolve(variable) else { return false };
    let declared = function.info.local(*local);
    if declared.ty.is_error() {
        return true;
    }
    if !declared.ty.is_unknown() || matches!(declared.kind, LocalKind::Param(_)) {
        return false;
    }
    let file = function.file;
    let called_so = declared.name.as_str().to_ascii_lowercase().contains("err");
    called_so
        || file.descendants(root).any(|node| {
            let Node::Expr(expr) = node else { return false };
            let ExprKind::Binary { op: BinaryOp::Eq | BinaryOp::Ne, left, right, .. } =
                file.expr(expr).kind
            else {
                return false;
            };
            matches!(function.info.resolve(file.unparen(left)), Def::Local(other) if other == local)
                && matches!(function.info.resolve(file.unparen(right)), Def::Nil)
        })
}
