//! Calls that do not wait for long whatever the context: they bring a bound of their own, or ask a
//! peer on the same machine.

use crate::catalog::{self, Base, Blocking, Driver, Wait};
use crate::index::{Callee, Constant, Def, FuncId, Index, LocalKind, ObjectKind, Package, Type};
use crate::project::PackageId;
use crate::rules::memo::Kept;
use crate::rules::{FunctionCx, PackageCx};
use crate::summary::{At, Function, Place, Root, facts, operand};
use crate::syntax::{
    BinaryOp, DeclId, DeclKind, ExprId, ExprKind, File, LitKind, Node, StmtId, StmtKind, Symbol,
    UnaryOp,
};

/// Whether a call is bound in time where it stands, or reaches no further than this machine. If
/// `fixed`, the timeout of a client counts only if it is fixed where the client is made: one that
/// comes from elsewhere may be long.
pub fn is_short(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId, fixed: bool) -> bool {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let Some(blocking) = known.in_force::<Blocking>(cx.versions()) else {
        return has_timeout(cx, function, call);
    };
    is_timed(cx, function, call, blocking, fixed)
        || blocking.short
        || is_own_address(function, call)
        || function.is_bounded_before(call, &blocking.bounded_by)
        || !blocking.near.is_empty() && is_near(function, call, &blocking.near)
        || matches!(blocking.wait, Wait::Net | Wait::Http) && is_loopback(function, call)
        || is_within(cx, blocking.wait)
}

/// Whether what is waited for is a database that is a part of the process.
pub fn is_within(cx: &FunctionCx<'_>, wait: Wait) -> bool {
    wait == Wait::Sql && has_databases_within(cx)
}

/// Whether the databases that `database/sql` can open here are a part of the process: the build has a
/// driver of such, and none that is known to ask a peer; or the package imports such drivers alone.
pub fn has_databases_within(cx: &FunctionCx<'_>) -> bool {
    let files = cx.index().package(cx.package.package).files().iter();
    let imports = files.flat_map(|(_, file)| file.imports.iter().map(|import| import.path));
    let drivers = |path: Symbol| {
        let mut drivers = cx.catalog().of_packages::<Driver>();
        drivers.find(|(package, _)| *package == path.as_str()).map(|(_, driver)| driver)
    };
    let mut imported = imports.filter_map(drivers).peekable();
    if imported.peek().is_some() {
        return imported.all(|driver| driver.in_process);
    }
    let has = |in_process: bool| {
        let mut drivers = cx.catalog().of_packages::<Driver>();
        drivers.any(|(module, driver)| {
            driver.in_process == in_process && cx.versions().module(module).is_some()
        })
    };
    has(true) && !has(false)
}

/// Whether a call waits only with an option, which it is not seen to be given.
pub fn lacks_option(function: &Function<'_>, call: ExprId, blocking: &Blocking) -> bool {
    blocking.only_with.as_ref().is_some_and(|option| {
        !function.args(call).iter().any(|&arg| {
            let name = function.info.callee(arg).qualified(function.index);
            name.is_some_and(|name| name.is(option))
        })
    })
}

/// Whether what a call leaves to be read ends by itself: it is made with a bound on the time, whichever.
pub fn is_in_time(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let blocking = known.in_force::<Blocking>(cx.versions());
    blocking.is_some_and(|blocking| is_timed(cx, function, call, blocking, false))
        || passes_on(cx, function, call, WRAPPERS, &is_timed_request) == Some(true)
}

/// Functions that ask in the name of others lie at most so deep.
const WRAPPERS: u32 = 3;

/// Whether a call asks a peer with a bound; `None` if it asks none, or the caller gives what bounds it.
fn is_timed_request(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<bool> {
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let blocking = known.in_force::<Blocking>(cx.versions())?;
    let bound = operand(function, call, blocking.timeout.as_ref()?.base)?;
    let kind = function.variable(bound).map(|local| function.info.local(local).kind);
    let timed = is_timed(cx, function, call, blocking, false);
    (timed || !matches!(kind, Some(LocalKind::Param(_)))).then_some(timed)
}

/// Whether what a function of the run gives comes from calls of it, or of those that it calls for the same,
/// and whether all of them that can say so say yes; `None` where none can.
pub fn passes_on(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    depth: u32,
    says: &dyn Fn(&FunctionCx<'_>, &Function<'_>, ExprId) -> Option<bool>,
) -> Option<bool> {
    let Callee::Func(func) = *function.info.callee(call) else { return None };
    let read = cx.summaries().read(func).filter(|_| depth > 0)?;
    let inner = FunctionCx { func, ..*cx };
    let given = first_result(function, call);
    let mut said = read.function.calls().filter_map(|(_, below)| {
        let own = says(&inner, &read.function, below);
        own.or_else(|| {
            (first_result(&read.function, below).identical(given) == Some(true))
                .then(|| passes_on(&inner, &read.function, below, depth - 1, says))
                .flatten()
        })
    });
    let first = said.next()?;
    Some(first && said.all(|yes| yes))
}

/// The type of what a call gives first.
fn first_result<'f>(function: &'f Function<'_>, call: ExprId) -> &'f Type {
    match function.info.type_of(call) {
        Type::Tuple(types) => types.first().unwrap_or(&Type::Unknown),
        ty => ty,
    }
}

fn is_timed(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    blocking: &Blocking,
    fixed: bool,
) -> bool {
    blocking.timeout.as_ref().is_some_and(|place| is_given(cx, function, call, place, fixed))
}

/// A parameter that carries the bound of a wait in a field of its own: a client, a dialer.
pub struct Given {
    param: u32,
    field: Box<str>,
}

impl Given {
    /// What bounds the wait of a call, where the function is given it.
    pub fn of(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<Given> {
        let known = facts(cx.catalog(), function.index, function.info.callee(call));
        let place = known.in_force::<Blocking>(cx.versions())?.timeout.as_ref()?;
        let field = place.field.clone()?;
        Given { param: 0, field }.at(function, call, operand(function, call, place.base)?)
    }

    /// The same for who calls that function, if it is given it, too.
    pub fn above(self, function: &Function<'_>, call: ExprId) -> Option<Given> {
        let given = *function.args(call).get(self.param as usize)?;
        self.at(function, call, given)
    }

    fn at(self, function: &Function<'_>, call: ExprId, operand: ExprId) -> Option<Given> {
        let places = function.object_places(function.at_call(call)?, operand);
        match places.only().map(|place| (place.root, &place.path[..])) {
            Some((Root::Param(param), [])) => Some(Given { param, ..self }),
            _ => None,
        }
    }

    /// Whether a call gives it with a bound.
    pub fn is_made(&self, cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
        let given = function.args(call).get(self.param as usize);
        let is_field = |name: &str| *name == *self.field;
        given.is_some_and(|&given| has_field(cx, function, call, given, false, &is_field))
    }
}

/// The longest bound at a call that is no wait worth cancelling: 10 s, in nanoseconds.
const BRIEF: i128 = 10_000_000_000;

/// Whether a call is given its bound as an argument, and that is a few seconds at most.
pub fn is_brief(function: &Function<'_>, call: ExprId, blocking: &Blocking) -> bool {
    let Some(place) = blocking.timeout.as_ref().filter(|place| place.field.is_none()) else {
        return false;
    };
    operand(function, call, place.base)
        .and_then(|duration| nanoseconds(function, duration))
        .is_some_and(|time| time <= BRIEF)
}

/// A duration that is written as a number of the units of `time`; also where that package is not there.
pub fn nanoseconds(function: &Function<'_>, duration: ExprId) -> Option<i128> {
    let file = function.file;
    let duration = file.unparen(duration);
    if let Some(Constant::Int(value)) = function.info.constant(duration) {
        return Some(*value);
    }
    match file.expr(duration).kind {
        ExprKind::Binary { op: BinaryOp::Mul, left, right, .. } => {
            nanoseconds(function, left)?.checked_mul(nanoseconds(function, right)?)
        }
        ExprKind::Selector { base, name } => {
            match (function.text(base).as_str(), name.name.as_str()) {
                ("time", "Nanosecond") => Some(1),
                ("time", "Microsecond") => Some(1_000),
                ("time", "Millisecond") => Some(1_000_000),
                ("time", "Second") => Some(1_000_000_000),
                ("time", "Minute") => Some(60_000_000_000),
                ("time", "Hour") => Some(3_600_000_000_000),
                _ => None,
            }
        }
        _ => None,
    }
}

/// Whether an argument, or what it is put together from, is a text that begins with an address of this
/// machine (RFC 1122, 3.2.1.3; RFC 4291, 2.5.3; RFC 6761, 6.3).
fn is_loopback(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let declared = function.index.func(function.id).decl;
    let args = function.args(call).iter().map(|&arg| made_in(file, declared, arg));
    let args = args.flat_map(|arg| file.descendants(Node::Expr(arg)));
    let texts = args.filter_map(|node| match node {
        Node::Expr(expr) => match function.info.constant(expr) {
            Some(Constant::String(text)) => Some(text),
            _ => None,
        },
        _ => None,
    });
    let mut texts = texts.map(|text| text.split_once("://").map_or(&**text, |(_, host)| host));
    texts.any(|text| ["localhost", "127.", "[::1]"].iter().any(|host| text.starts_with(host)))
}

/// Whether something stands at the place of a bound: an argument, or a field of what is given.
fn is_given(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    place: &catalog::Place,
    fixed: bool,
) -> bool {
    let Some(operand) = operand(function, call, place.base) else { return false };
    match &place.field {
        None => is_fixed(function, operand),
        Some(field) => has_field(cx, function, call, operand, fixed, &|name| *name == **field),
    }
}

/// Whether a duration is fixed where it stands: it names no variable.
fn is_fixed(function: &Function<'_>, duration: ExprId) -> bool {
    function.file.descendants(Node::Expr(duration)).all(|node| {
        let Node::Expr(expr) = node else { return false };
        match function.info.resolve(expr) {
            Def::Local(local) => !function.info.local(*local).kind.is_variable(),
            Def::Global(object) => function.index.object(*object).kind != ObjectKind::Var,
            Def::Field(_) => false,
            _ => true,
        }
    })
}

/// The same by the text alone, where nothing is known of the names: it is a literal, times what a
/// package that does not vary in letters names (`10 * time.Second`).
fn is_plain(file: &File, duration: ExprId) -> bool {
    file.descendants(Node::Expr(duration)).all(|node| {
        let Node::Expr(expr) = node else { return false };
        match file.expr(expr).kind {
            ExprKind::Ident(name) => name.as_str() == "time",
            ExprKind::Selector { .. } => true,
            ExprKind::BasicLit(_) | ExprKind::Binary { .. } | ExprKind::Paren(_) => true,
            _ => false,
        }
    })
}

/// Whether the receiver has a field that is called a timeout, and it is given a value.
fn has_timeout(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> bool {
    operand(function, call, Base::Receiver).is_some_and(|receiver| {
        has_field(cx, function, call, receiver, false, &|name| name.ends_with("Timeout"))
    })
}

/// Whether such a field of an operand is given a value: before the call, or where it is made, here or
/// where the package makes what it keeps in the variable or field that the operand comes from. If
/// `fixed`, what it is made with has to be fixed there: what comes from elsewhere may be long.
fn has_field(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    operand: ExprId,
    fixed: bool,
    is_field: &dyn Fn(&str) -> bool,
) -> bool {
    let Some(at) = function.at_call(call) else { return false };
    if is_assigned_before(function, call, operand, is_field) {
        return true;
    }
    let places = function.object_places(at, operand);
    let Some(place) = places.only() else { return false };
    if let (Root::Made(made), []) = (place.root, &place.path[..]) {
        return field_within(function.file, made, is_field)
            .is_some_and(|value| !fixed || is_fixed(function, value));
    }
    if let (Root::Call(made, 0), []) = (place.root, &place.path[..])
        && let Callee::Func(func) = *function.info.callee(made)
    {
        return gives_with(cx, func, fixed, is_field);
    }
    kept_in(function, place).is_some_and(|name| is_made_with(cx, function, name, fixed, is_field))
}

/// Whether all that a function gives but `nil` is made in it with such a field.
fn gives_with(
    cx: &FunctionCx<'_>,
    func: FuncId,
    fixed: bool,
    is_field: &dyn Fn(&str) -> bool,
) -> bool {
    let Some(read) = cx.summaries().read(func) else { return false };
    let function = &read.function;
    let file = function.file;
    let given = function.returns().map(|(at, values)| (at, values.first().copied()));
    let is_nil = |value: ExprId| matches!(function.info.resolve(file.unparen(value)), Def::Nil);
    let mut given = given.filter(|&(_, value)| !value.is_some_and(is_nil)).peekable();
    let has_field = |(at, value): (At, Option<ExprId>)| {
        let places = value.map(|value| function.object_places(at, value));
        let Some(place) = places.as_ref().and_then(|places| places.only()) else { return false };
        let (Root::Made(made), []) = (place.root, &place.path[..]) else { return false };
        let value = field_within(file, made, is_field);
        value.is_some_and(|value| !fixed || is_fixed(function, value))
    };
    given.peek().is_some() && given.all(has_field)
}

/// The value that a composite literal gives such a field, its own or that of a part of it: what wraps a client waits
/// as long as that.
fn field_within(file: &File, made: ExprId, is_field: &dyn Fn(&str) -> bool) -> Option<ExprId> {
    let of_part = || {
        let ExprKind::CompositeLit { elements, .. } = &file.expr(made).kind else { return None };
        elements.iter().find_map(|part| file.field_of(made_by(file, part.value), is_field))
    };
    file.field_of(made, is_field).or_else(of_part)
}

/// Whether a field of a variable is assigned above a call.
pub fn is_assigned_before(
    function: &Function<'_>,
    call: ExprId,
    operand: ExprId,
    is_field: &dyn Fn(&str) -> bool,
) -> bool {
    let file = function.file;
    let end = file.expr(call).span.start;
    let variable = |expr: ExprId| function.text(expr).trim_start_matches('&').to_owned();
    let wanted = variable(operand);
    assigned(file, function.index.func(function.id).decl, is_field)
        .any(|(stmt, base, _)| file.stmt(stmt).span.end <= end && variable(base) == wanted)
}

/// Where a declaration assigns to fields, with what has the field, and the value where that stands there.
fn assigned<'f>(
    file: &'f File,
    decl: DeclId,
    is_field: &'f dyn Fn(&str) -> bool,
) -> impl Iterator<Item = (StmtId, ExprId, Option<ExprId>)> + use<'f> {
    let assigned = file.descendants(Node::Decl(decl)).filter_map(|node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Assign { left, op, right } = &file.stmt(stmt).kind else { return None };
        Some((stmt, left, right, op.is_none()))
    });
    assigned.flat_map(move |(stmt, left, right, plain)| {
        left.iter().enumerate().filter_map(move |(at, &left)| {
            let ExprKind::Selector { base, name } = file.expr(file.unparen(left)).kind else {
                return None;
            };
            let value = right.get(at).copied().filter(|_| plain);
            is_field(name.name.as_str()).then_some((stmt, base, value))
        })
    })
}

/// The variable of the package or the field that a place is, or is an element of.
fn kept_in(function: &Function<'_>, place: &Place) -> Option<Symbol> {
    if let Some(&field) = place.path.last() {
        return Some(field);
    }
    match place.root {
        Root::Global(object) => Some(function.index.object(object).name),
        Root::Read(read) => kept_under(function.file, read),
        _ => None,
    }
}

/// The name of the variable or field that an expression is, or is an element of.
fn kept_under(file: &File, expr: ExprId) -> Option<Symbol> {
    match file.expr(file.unparen(expr)).kind {
        ExprKind::Ident(name) => Some(name),
        ExprKind::Selector { name, .. } => Some(name.name),
        ExprKind::Index { base, .. } => match file.expr(file.unparen(base)).kind {
            ExprKind::Ident(name) => Some(name),
            ExprKind::Selector { name, .. } => Some(name.name),
            _ => None,
        },
        _ => None,
    }
}

/// Whether the package makes what it keeps under a name with such a field.
fn is_made_with(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    name: Symbol,
    fixed: bool,
    is_field: &dyn Fn(&str) -> bool,
) -> bool {
    let package = function.index.package(function.id.package);
    let gives_bound = |file: &File, made: ExprId| {
        called_in(cx.index(), package, file, made)
            .is_some_and(|func| gives_with(cx, func, fixed, is_field))
    };
    let is_bound = |file: &File, decl: DeclId, made: ExprId| {
        let made_here = made_in(file, decl, made);
        let value = file.field_of(made_here, is_field);
        let value = value.or_else(|| given_in(file, decl, made, is_field));
        value.is_some_and(|value| !fixed || is_plain(file, value)) || gives_bound(file, made_here)
    };
    all_kept(&cx.package, package, name).any(|(file, decl, value)| is_bound(file, decl, value))
}

/// The function that a call in a file of a package is of by its name: one of that package, or of one of the run that the
/// file imports.
fn called_in(index: &Index<'_>, package: &Package, file: &File, call: ExprId) -> Option<FuncId> {
    let ExprKind::Call { callee, .. } = file.expr(call).kind else { return None };
    let named = |package: &Package, name: Symbol| {
        let mut funcs = package.funcs.iter().filter(|func| func.receiver.is_none());
        funcs.find(|func| func.name == name).map(|func| func.id)
    };
    match file.expr(file.unparen(callee)).kind {
        ExprKind::Ident(name) => named(package, name),
        ExprKind::Selector { base, name } => {
            let ExprKind::Ident(alias) = file.expr(base).kind else { return None };
            let is_meant = |other: &&Package| {
                file.imports.iter().any(|import| {
                    import.path == other.path
                        && import.name.map_or(other.name, |name| name.name) == alias
                })
            };
            let imported = index.imports_in_run(package.id).iter();
            let other = imported.map(|&other| index.package(other)).find(is_meant)?;
            named(other, name.name)
        }
        _ => None,
    }
}

/// What a package keeps under a name, with the declaration that does so.
fn all_kept<'a>(
    cx: &PackageCx<'_>,
    package: &'a Package,
    name: Symbol,
) -> impl Iterator<Item = (&'a File, DeclId, ExprId)> + use<'a> {
    let kept = cx.memo.kept(package.id, || kept_in_package(package));
    let places = kept.get(&name).cloned();
    places.into_iter().flat_map(move |places| {
        let declarations = package.declarations().zip(0..);
        let there = declarations.filter(move |(_, place)| places.binary_search(place).is_ok());
        there.flat_map(move |((file, decl), _)| {
            let kept = file.descendants(Node::Decl(decl)).flat_map(move |node| kept_by(file, node));
            kept.filter(move |&(under, _)| under == name).map(move |(_, value)| (file, decl, value))
        })
    })
}

/// In which declarations of a package something is kept, by the names under which it is.
fn kept_in_package(package: &Package) -> Kept {
    let mut all = Kept::default();
    for ((file, decl), place) in package.declarations().zip(0..) {
        for node in file.descendants(Node::Decl(decl)) {
            for (name, _) in kept_by(file, node) {
                let places = all.entry(name).or_default();
                if places.last() != Some(&place) {
                    places.push(place);
                }
            }
        }
    }
    all
}

/// Whether a package makes each channel itself where it keeps it under this name, so that nobody else has it.
pub fn makes_each_channel(cx: &PackageCx<'_>, package: PackageId, name: Symbol) -> bool {
    let package = cx.index.package(package);
    let is_make = |file: &File, value: ExprId| match file.expr(file.unparen(value)).kind {
        ExprKind::Call { callee, .. } => {
            matches!(file.expr(callee).kind, ExprKind::Ident(name) if name.as_str() == "make")
        }
        _ => false,
    };
    let mut values = all_kept(cx, package, name).peekable();
    values.peek().is_some() && values.all(|(file, _, value)| is_make(file, value))
}

/// What a node stores, and under which names.
pub fn kept_by(file: &File, node: Node) -> impl Iterator<Item = (Symbol, ExprId)> {
    let mut kept: Vec<(Symbol, ExprId)> = Vec::new();
    match node {
        Node::Stmt(stmt) => {
            if let StmtKind::Assign { left, right, .. } = &file.stmt(stmt).kind {
                let pairs = left.iter().zip(right);
                kept.extend(
                    pairs.filter_map(|(&left, &right)| Some((kept_under(file, left)?, right))),
                );
            }
        }
        Node::Decl(decl) => {
            if let DeclKind::Var(spec) = &file.decl(decl).kind {
                let pairs = spec.names.iter().zip(&spec.values);
                kept.extend(pairs.map(|(name, &value)| (name.name, value)));
            }
        }
        Node::Expr(expr) => {
            if let ExprKind::CompositeLit { elements, .. } = &file.expr(expr).kind {
                kept.extend(
                    elements.iter().filter_map(|element| {
                        Some((kept_under(file, element.key?)?, element.value))
                    }),
                );
            }
        }
    }
    kept.into_iter()
}

/// The composite literal that an expression is or points to, or else the expression.
pub fn made_by(file: &File, expr: ExprId) -> ExprId {
    match file.expr(file.unparen(expr)).kind {
        ExprKind::Unary { op: UnaryOp::Addr, operand } => file.unparen(operand),
        _ => file.unparen(expr),
    }
}

/// What a declaration assigns to a field of a variable, as in `client.Timeout = limit`.
fn given_in(
    file: &File,
    decl: DeclId,
    variable: ExprId,
    is_field: &dyn Fn(&str) -> bool,
) -> Option<ExprId> {
    let ExprKind::Ident(variable) = file.expr(made_by(file, variable)).kind else { return None };
    let is_variable = |expr: ExprId| match file.expr(file.unparen(expr)).kind {
        ExprKind::Ident(name) => name == variable,
        _ => false,
    };
    let mut assigned = assigned(file, decl, is_field);
    assigned.find_map(|(_, base, value)| value.filter(|_| is_variable(base)))
}

/// As [`made_by`], where the expression may be a variable that the declaration defines: what that is made as.
fn made_in(file: &File, decl: DeclId, expr: ExprId) -> ExprId {
    let made = made_by(file, expr);
    let ExprKind::Ident(name) = file.expr(made).kind else { return made };
    let mut defined = file.descendants(Node::Decl(decl)).filter_map(|node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Define { left, right } = &file.stmt(stmt).kind else { return None };
        let is_it =
            |&left: &ExprId| matches!(file.expr(left).kind, ExprKind::Ident(it) if it == name);
        right.get(left.iter().position(is_it)?).copied()
    });
    match (defined.next(), defined.next()) {
        (Some(value), None) => made_by(file, value),
        _ => made,
    }
}

/// Whether an argument is the address that something of the program listens at.
fn is_own_address(function: &Function<'_>, call: ExprId) -> bool {
    let file = function.file;
    let ExprKind::Call { ref args, .. } = file.expr(call).kind else { return false };
    args.iter().flat_map(|&arg| file.descendants(Node::Expr(arg))).any(|node| {
        let Node::Expr(expr) = node else { return false };
        let ExprKind::Call { callee, ref args, .. } = file.expr(expr).kind else { return false };
        args.is_empty()
            && matches!(file.expr(file.unparen(callee)).kind,
                ExprKind::Selector { name, .. } if name.name.as_str() == "Addr")
    })
}

/// Whether the first argument is one of these texts: as a literal, or by the clause of a `switch`
/// over it that the call stands in.
fn is_near(function: &Function<'_>, call: ExprId, near: &[Box<str>]) -> bool {
    let file = function.file;
    let Some(first) = operand(function, call, Base::Param(0)) else { return false };
    let is_one = |expr: ExprId| {
        let text = function.text(expr);
        matches!(file.expr(expr).kind, ExprKind::BasicLit(LitKind::String))
            && near.iter().any(|near| text.trim_matches(['"', '`']) == &**near)
    };
    if is_one(file.unparen(first)) {
        return true;
    }
    let parents = file.parents(Node::Decl(function.index.func(function.id).decl));
    let at = file.expr(call).span.start;
    parents.around(Node::Expr(call)).any(|node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::Switch { tag: Some(tag), ref cases, .. } = file.stmt(stmt).kind else {
            return false;
        };
        let clause = cases.iter().find(|case| case.span.start <= at && at < case.span.end);
        let values = clause.and_then(|case| case.values.as_deref()).unwrap_or_default();
        function.text(tag) == function.text(first)
            && !values.is_empty()
            && values.iter().all(|&value| is_one(value))
    })
}
