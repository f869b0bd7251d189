//! How often a function runs while its process lives, as far as the run's own calls tell: for each
//! request or turn of a loop that goes on, once when the process starts, or nobody knows.
//!
//! What a function leaves behind counts only where it runs again and again. The calls are looked
//! for by name in the function's package and in those that import it; calls through an interface
//! count where the receiver is known to implement it. It never says that anything is wrong.

use std::cell::LazyCell;
use std::collections::VecDeque;
use std::sync::Arc;

use rustc_hash::FxHashSet;

use crate::catalog::{Callback, Called, TypeRole};
use crate::index::{Basic, BodyInfo, Callee, Def, Func, FuncId, Index, Type};
use crate::project::PackageId;
use crate::rules::PackageCx;
use crate::rules::scene::{importers, is_example, is_for_tests, serves_tests};
use crate::source::{Location, Span};
use crate::summary::facts;
use crate::syntax::{BranchKind, ExprId, ExprKind, File, Ident, Node, Parents, StmtId, StmtKind};

/// How often a function runs.
pub enum Runs {
    /// For each request, or for each turn of a loop that goes on; shown at this place.
    Again(Location, &'static str),
    /// When the process starts, or a command of it: all that leads to it is known.
    Once,
    /// Not known.
    Unknown,
}

/// How many functions are asked who calls them.
const MAX_FUNCTIONS: usize = 96;

/// How many calls lie between the function and where its process starts.
const MAX_DEPTH: u32 = 9;

/// How many calls lie between the function and what runs again and again: from further away it is no longer
/// sure that it comes here.
const MAX_DEPTH_AGAIN: u32 = 6;

/// How often `func` runs, by those who call it, and who call those. A program's own package counts as
/// running once what it keeps for later.
pub fn runs(cx: &PackageCx<'_>, func: FuncId) -> Runs {
    followed(cx, func, false)
}

fn followed(cx: &PackageCx<'_>, func: FuncId, strict: bool) -> Runs {
    let asked = func;
    let again = |depth: u32, location, told| match depth <= MAX_DEPTH_AGAIN {
        true => Runs::Again(location, told),
        false => Runs::Unknown,
    };
    let mut met = FxHashSet::from_iter([func]);
    let mut open = VecDeque::from([(func, 0)]);
    let mut unknown = false;
    // Those that a start or a command leads to, and who calls whom.
    let mut begun = FxHashSet::default();
    let mut calls: Vec<(FuncId, FuncId)> = Vec::new();
    while let Some((func, depth)) = open.pop_front() {
        let declared = cx.index.func(func);
        if let Some(location) = serves_requests(cx, declared) {
            return again(depth, location, "runs for each request");
        }
        if is_begun(cx, func) {
            begun.insert(func);
            continue;
        }
        if depth == MAX_DEPTH || met.len() > MAX_FUNCTIONS {
            unknown = true;
            continue;
        }
        let users = users(cx, declared);
        unknown |= users.is_unknown() || strict && users.kept_by_program;
        // Who calls a method through an interface of a library is not seen.
        unknown |=
            users.calls.is_empty() && !users.has_unseen() && may_be_called_by_library(declared);
        if users.by_command {
            begun.insert(func);
        }
        for &Call { caller, call, by_command } in &users.calls {
            let around = repeats(cx, caller, &parents_in(cx, caller), Node::Expr(call));
            if let Some((location, message)) = around {
                return again(depth + 1, location, message);
            }
            if by_command {
                begun.insert(func);
                continue;
            }
            calls.push((caller, func));
            if met.insert(caller) {
                open.push_back((caller, depth + 1));
            }
        }
    }
    // What only calls itself, or is called by nobody, does not run.
    while let Some(&(_, callee)) =
        calls.iter().find(|(caller, callee)| begun.contains(caller) && !begun.contains(callee))
    {
        begun.insert(callee);
    }
    if unknown || !begun.contains(&asked) { Runs::Unknown } else { Runs::Once }
}

/// Whether a function never runs while the program does that it is part of: nobody in the run calls it, nor
/// those who would. Of a package that no program of the run has, and of a method that a library may call
/// through an interface, that is not known.
pub fn never_runs(cx: &PackageCx<'_>, func: FuncId) -> bool {
    !is_started(cx, func, true)
}

/// As [`never_runs`], where a method is taken to be called by the run alone.
pub fn is_called_by_nobody(cx: &PackageCx<'_>, func: FuncId) -> bool {
    !is_started(cx, func, false)
}

/// Whether a name begins with one of some words, whatever the case: what it says of when something is done.
pub fn begins_with(name: &str, words: &[&str]) -> bool {
    let name = name.to_lowercase();
    words.iter().any(|word| name.starts_with(word))
}

/// Whether a library may call a function through an interface of its own.
fn may_be_called_by_library(func: &Func) -> bool {
    func.receiver.is_some() && func.name.is_exported()
}

/// Whether a function, or one that leads to it, may be called by others than those who are seen to: because of
/// what it is, or by `libraries` although nobody is seen to.
fn is_started(cx: &PackageCx<'_>, func: FuncId, libraries: bool) -> bool {
    let mut met = FxHashSet::from_iter([func]);
    let mut open = vec![func];
    while let Some(func) = open.pop() {
        let declared = cx.index.func(func);
        let users = users(cx, declared);
        // What is named by somebody who never runs is handed to nobody.
        let is_free = users.calls.is_empty() && users.named_in.is_empty();
        let serves = || serves_requests(cx, declared).is_some();
        let is_started = is_start(cx.index, declared)
            || serves_tests(cx.index, func)
            || declared.is_literal
            || users.called_by_name
            || users.in_variable
            || (is_free || declared.name.as_str() == "ServeHTTP") && serves()
            || libraries && is_free && may_be_called_by_library(declared)
            || !is_of_program(cx, func.package);
        if is_started || met.len() > MAX_FUNCTIONS {
            return true;
        }
        let callers = users.calls.iter().map(|call| call.caller);
        let callers = callers.chain(users.named_in.iter().copied());
        open.extend(callers.filter(|&caller| met.insert(caller)));
    }
    false
}

/// Whether a program of the run has a package, itself or through others; one that shows how a library is used,
/// or serves tests, is none.
pub fn is_of_program(cx: &PackageCx<'_>, package: PackageId) -> bool {
    cx.memo.is_of_program(package, || find_program(cx, package))
}

fn find_program(cx: &PackageCx<'_>, package: PackageId) -> bool {
    let mut met = FxHashSet::from_iter([package]);
    let mut open = vec![package];
    while let Some(package) = open.pop() {
        let path = cx.index.path_in_module(package);
        if cx.index.package(package).name.as_str() == "main"
            && !is_for_tests(path)
            && !is_example(path)
        {
            return true;
        }
        let importers = importers(cx, package).into_iter();
        open.extend(
            importers.filter(|&importer| !cx.index.is_with_tests(importer) && met.insert(importer)),
        );
    }
    false
}

/// Whether a function runs when the process starts: `main` and `init`; or is a command of a program,
/// which is given its arguments and gives what the process ends with.
fn is_start(index: &Index<'_>, func: &Func) -> bool {
    match (func.name.as_str(), func.receiver) {
        ("init", None) => true,
        ("main", None) => index.package(func.id.package).name.as_str() == "main",
        ("Run", Some(_)) => {
            let Type::Func(signature) = index.func_type(func.id) else { return false };
            let is_text = |ty: &Type| matches!(ty, Type::Basic(Basic::String));
            let given_text = match &signature.params[..] {
                [Type::Slice(element)] => is_text(element),
                _ => false,
            };
            given_text && matches!(&signature.results[..], [Type::Basic(Basic::Int)])
        }
        _ => false,
    }
}

/// Where a function says that it is there for one request: it is given it, or is what a controller
/// calls for each change.
fn serves_requests(cx: &PackageCx<'_>, func: &Func) -> Option<Location> {
    let Type::Func(signature) = cx.index.func_type(func.id) else { return None };
    let of_request = signature.params.iter().any(|param| is_of_request(cx, param));
    let reconciles = func.receiver.is_some() && func.name.as_str() == "Reconcile";
    (of_request || reconciles).then(|| cx.index.name_of(func.id))
}

/// Whether a type is a request, what answers one, or what a framework gives a handler.
pub fn is_of_request(cx: &PackageCx<'_>, ty: &Type) -> bool {
    [TypeRole::ResponseWriter, TypeRole::Request, TypeRole::Pooled]
        .into_iter()
        .any(|role| cx.has_role(ty, role))
}

/// Who uses a function.
#[derive(Default)]
pub struct Users {
    calls: Vec<Call>,
    /// Whether it is a command's function, or a variable with a command calls it.
    by_command: bool,
    /// Whether a program's own package has it in a literal that it keeps for later.
    kept_by_program: bool,
    /// Whether somebody may use it who is not listed.
    unknown: bool,
    /// Whether something that is not known has a method of its name called.
    called_by_name: bool,
    /// The functions that name it where it is not called.
    named_in: Vec<FuncId>,
    /// Whether the initial value of a package's variable names it.
    in_variable: bool,
}

impl Users {
    /// Whether anybody may use it but those whose calls are listed.
    fn has_unseen(&self) -> bool {
        self.unknown || self.called_by_name || self.by_command || self.kept_by_program
    }

    /// Whether who is not known may use it. Calls of its name tell that only where no other call is known:
    /// what has a common name (`Run`) would never be known otherwise.
    fn is_unknown(&self) -> bool {
        self.unknown || self.called_by_name && self.calls.is_empty()
    }

    /// It is named where it is not called, by a command or by who is not known.
    fn named(&mut self, by_command: bool) {
        match by_command {
            true => self.by_command = true,
            false => self.unknown = true,
        }
    }
}

struct Call {
    caller: FuncId,
    call: ExprId,
    /// Whether a command's function makes it, which the caller only keeps.
    by_command: bool,
}

/// The calls of a function, if there are no others: see [`calls`].
pub fn all_calls(cx: &PackageCx<'_>, func: &Func) -> Option<Vec<(FuncId, ExprId)>> {
    let users = users(cx, func);
    (!users.has_unseen() && !users.calls.is_empty()).then(|| calls(cx, func))
}

/// The calls of a function in its package and in those of the run that import it, tests left out.
pub fn calls(cx: &PackageCx<'_>, func: &Func) -> Vec<(FuncId, ExprId)> {
    users(cx, func).calls.iter().map(|Call { caller, call, .. }| (*caller, *call)).collect()
}

/// Whether the process ends when a function returns: it is `main`, or the function of a command.
pub fn is_begun(cx: &PackageCx<'_>, func: FuncId) -> bool {
    let declared = cx.index.func(func);
    is_start(cx.index, declared) || is_literal_of_command(cx, declared)
}

/// The calls of a function, as [`calls`] gives them, and of each whether it stands in a literal that is the
/// function of a command; nothing if it may have others, or is such a function itself.
pub fn known_calls(cx: &PackageCx<'_>, func: &Func) -> Vec<(FuncId, ExprId, bool)> {
    let users = users(cx, func);
    let calls = users.calls.iter().filter(|_| !users.is_unknown() && users.named_in.is_empty());
    calls.map(|call| (call.caller, call.call, call.by_command)).collect()
}

/// Who uses a function, in its package and in those of the run that import it.
fn users(cx: &PackageCx<'_>, func: &Func) -> Arc<Users> {
    cx.memo.users(func.id, || find_users(cx, func))
}

fn find_users(cx: &PackageCx<'_>, func: &Func) -> Users {
    let mut users = Users::default();
    let name = func.name.as_str();
    let own = func.id.package;
    for package in cx.packages_with(func.name) {
        // With tests a package is there twice, and its functions call nobody else there.
        let is_other = package != own;
        let is_test =
            || cx.index.is_with_tests(package) || is_for_tests(cx.index.path_in_module(package));
        if is_other && (is_test() || !may_use(cx.index, package, func)) {
            continue;
        }
        for caller in &cx.index.package(package).funcs {
            if !cx.index.may_name(caller.id, func.name) {
                continue;
            }
            let file = cx.index.file_of(caller.id);
            let text = file.source.slice(file.decl(caller.decl).span);
            if serves_tests(cx.index, caller.id) || !holds(text, name.as_bytes()) {
                continue;
            }
            find_uses(cx, func, caller, &mut users);
        }
        find_in_variables(cx, package, func, &mut users);
    }
    users
}

/// Where the initial values of a package's variables name a function.
fn find_in_variables(cx: &PackageCx<'_>, package: PackageId, func: &Func, users: &mut Users) {
    let of_package = cx.index.package(package);
    for (spec, number) in of_package.specs.iter().zip(0..) {
        if !of_package.may_name(spec.file, spec.decl, func.name) {
            continue;
        }
        let file = of_package.tree(spec.file, spec.decl);
        let text = file.source.slice(file.decl(spec.decl).span);
        if !holds(text, func.name.as_str().as_bytes()) {
            continue;
        }
        let info = cx.index.spec_body(package, number);
        let parents = file.parents(Node::Decl(spec.decl));
        for node in file.descendants(Node::Decl(spec.decl)) {
            let Node::Expr(expr) = node else { continue };
            if cx.index.func_named(&info, expr).is_none_or(|id| !is_same(cx.index, id, func)) {
                continue;
            }
            let around = Around { cx, info: &info, file, parents: &parents };
            users.in_variable = true;
            users.named(around.is_of_command(node));
        }
    }
}

/// Whether a package may call a function of another: a method may be called through an interface, that of a program
/// only by what is a part of the program.
fn may_use(index: &Index<'_>, package: PackageId, func: &Func) -> bool {
    let path = |package: PackageId| index.package(package).path;
    let (own, program) = (path(func.id.package), func.id.package);
    let is_program = index.package(program).name.as_str() == "main";
    // With tests a package is there twice.
    let is_part = || {
        let reached = index.reach_in_module(program).iter();
        path(package) == own || reached.copied().any(|other| path(other) == path(package))
    };
    func.receiver.is_some() && (!is_program || is_part())
        || index.imports_in_run(package).iter().any(|&other| path(other) == own)
}

/// Whether `id` is a function, or the same declaration as it is built for another system or with tests.
pub fn is_same(index: &Index<'_>, id: FuncId, func: &Func) -> bool {
    let same = || {
        let other = index.func(id);
        other.file == func.file && other.decl == func.decl
    };
    id == func.id || same()
}

fn holds(text: &[u8], name: &[u8]) -> bool {
    !name.is_empty() && memchr::memmem::find(text, name).is_some()
}

fn find_uses(cx: &PackageCx<'_>, func: &Func, caller: &Func, users: &mut Users) {
    let file: &File = cx.index.file_of(caller.id);
    let info = cx.index.body(caller.id);
    let parents = LazyCell::new(|| file.parents(Node::Decl(caller.decl)));
    let around = || Around { cx, info: &info, file, parents: &parents };
    let in_command = LazyCell::new(|| is_literal_of_command(cx, caller));
    let is_of_command = |node: Node| around().is_of_command(node) || *in_command;
    let is_for_command = |node: Node| is_of_command(node) || around().is_handed_to_command(node);
    let mut callees: FxHashSet<ExprId> = FxHashSet::default();
    for node in file.descendants(Node::Decl(caller.decl)) {
        let Node::Expr(expr) = node else { continue };
        match file.expr(expr).kind {
            ExprKind::Call { callee, .. } => {
                let is_call = match info.callee(expr) {
                    Callee::Func(called) => is_same(cx.index, *called, func),
                    Callee::InterfaceMethod(selection)
                        if selection.name == func.name && !is_of_same_type(caller, func) =>
                    {
                        let may_run = may_run(cx.index, func, &selection.owner);
                        users.called_by_name |= may_run.is_none();
                        may_run == Some(true)
                    }
                    Callee::Unknown { name } => {
                        users.called_by_name |= *name == Some(func.name);
                        false
                    }
                    _ => false,
                };
                if is_call {
                    callees.insert(file.unparen(callee));
                    let of_program = cx.index.package(caller.id.package).name.as_str() == "main";
                    let by_command = is_of_command(node);
                    let is_kept = !by_command && around().is_kept_for_later(node);
                    users.kept_by_program |= is_kept && of_program;
                    users.unknown |= is_kept && !of_program;
                    users.calls.push(Call { caller: caller.id, call: expr, by_command });
                }
            }
            ExprKind::Ident(name) | ExprKind::Selector { name: Ident { name, .. }, .. }
                if name == func.name
                    && !callees.contains(&expr)
                    && cx
                        .index
                        .func_named(&info, expr)
                        .is_some_and(|id| is_same(cx.index, id, func)) =>
            {
                users.named_in.push(caller.id);
                users.named(is_for_command(node));
            }
            _ => {}
        }
    }
}

/// A declaration with what is known of it, to ask of a place in it.
#[derive(Clone, Copy)]
struct Around<'r, 'a> {
    cx: &'r PackageCx<'a>,
    info: &'r BodyInfo,
    file: &'r File,
    parents: &'r Parents,
}

impl Around<'_, '_> {
    /// Whether a place stands in a function literal that is neither called, started nor deferred where it
    /// stands, nor given to what is known to do that, so that whoever has it may call it at any time.
    fn is_kept_for_later(&self, node: Node) -> bool {
        let (file, parents) = (self.file, self.parents);
        let runs_it = |call: ExprId| {
            let known = facts(self.cx.catalog, self.cx.index, self.info.callee(call));
            known.all_in_force::<Callback>(self.cx.versions).any(|fact| match fact.called {
                Called::Before | Called::Goroutine => true,
                Called::Once | Called::Later | Called::Request | Called::Cleanup => false,
            })
        };
        parents.around(node).any(|around| {
            let Node::Expr(literal) = around else { return false };
            if !matches!(file.expr(literal).kind, ExprKind::FuncLit(_)) {
                return false;
            }
            match parents.around(around).next() {
                Some(Node::Expr(outer)) => match file.expr(outer).kind {
                    ExprKind::Call { callee, .. } => {
                        file.unparen(callee) != literal && !runs_it(outer)
                    }
                    _ => true,
                },
                _ => true,
            }
        })
    }

    /// Whether a function is given to another of the run that does nothing else with it than to give it to a
    /// command, or to call it in a literal that one has.
    fn is_handed_to_command(&self, function: Node) -> bool {
        let Some(Node::Expr(call)) = self.parents.of(function) else { return false };
        let ExprKind::Call { ref args, .. } = self.file.expr(call).kind else { return false };
        let given = args.iter().position(|&arg| Node::Expr(arg) == function);
        let (Some(given), Callee::Func(taker)) = (given, self.info.callee(call)) else {
            return false;
        };
        let cx = self.cx;
        let info = cx.index.body(*taker);
        let Some(param) = info.param(None, given as u32) else { return false };
        let file: &File = cx.index.file_of(*taker);
        let parents = parents_in(cx, *taker);
        let around = Around { cx, info: &info, file, parents: &parents };
        let uses =
            file.descendants(Node::Decl(cx.index.func(*taker).decl)).filter(|&node| match node {
                Node::Expr(expr) => {
                    matches!(info.resolve(expr), Def::Local(local) if *local == param)
                }
                _ => false,
            });
        let mut uses = uses.peekable();
        uses.peek().is_some() && uses.all(|node| around.is_of_command(node))
    }

    /// Whether a place is a function that a command has, or stands in a literal that one has: its user
    /// runs it once.
    fn is_of_command(&self, node: Node) -> bool {
        let is_command =
            |expr: ExprId| self.cx.has_role(self.info.type_of(expr), TypeRole::Command);
        let file = self.file;
        let mut function = node;
        for around in self.parents.around(node) {
            match around {
                Node::Expr(expr) => match &file.expr(expr).kind {
                    ExprKind::FuncLit(_) => function = around,
                    ExprKind::CompositeLit { elements, .. } => {
                        let is_given = elements.iter().any(|it| Node::Expr(it.value) == function);
                        if is_given && is_command(expr) {
                            return true;
                        }
                    }
                    // `command.Action(run)`
                    ExprKind::Call { args, .. } => {
                        let is_given = args.iter().any(|&arg| Node::Expr(arg) == function);
                        let of_command = |(base, _)| is_command(base);
                        if is_given && file.method_call(expr).is_some_and(of_command) {
                            return true;
                        }
                    }
                    _ => {}
                },
                Node::Stmt(stmt) => {
                    let StmtKind::Assign { left, right, .. } = &file.stmt(stmt).kind else {
                        continue;
                    };
                    let is_given = right.iter().any(|&value| Node::Expr(value) == function);
                    let of_command = |&left: &ExprId| match file.expr(file.unparen(left)).kind {
                        ExprKind::Selector { base, .. } => is_command(base),
                        _ => false,
                    };
                    if is_given && left.iter().any(of_command) {
                        return true;
                    }
                }
                Node::Decl(_) => {}
            }
        }
        false
    }
}

/// Whether a function is a literal of a package variable that a command has.
fn is_literal_of_command(cx: &PackageCx<'_>, func: &Func) -> bool {
    if !func.is_literal {
        return false;
    }
    let package = cx.index.package(func.id.package);
    let span = cx.index.file_of(func.id).decl(func.decl).span;
    let mut specs = package.specs.iter().zip(0..).filter(|(spec, _)| {
        spec.file == func.file && package.text_around(spec.file, spec.decl).1.contains(span)
    });
    specs.any(|(spec, number)| {
        let file = package.tree(spec.file, spec.decl);
        let declared = Node::Decl(spec.decl);
        let node = file.descendants(declared).find(|&node| match node {
            Node::Expr(expr) => file.expr(expr).span == span,
            _ => false,
        });
        let (info, parents) = (cx.index.spec_body(func.id.package, number), file.parents(declared));
        let around = Around { cx, info: &info, file, parents: &parents };
        node.is_some_and(|node| around.is_of_command(node))
    })
}

/// Whether what a place in a function leaves behind is left once, and ends with the process.
pub fn is_once(cx: &PackageCx<'_>, func: FuncId, node: Node) -> bool {
    let file: &File = cx.index.file_of(func);
    let parents = parents_in(cx, func);
    if repeats(cx, func, &parents, node).is_some() {
        return false;
    }
    let info = cx.index.body(func);
    let around = Around { cx, info: &info, file, parents: &parents };
    around.is_of_command(node)
        || is_literal_of_command(cx, cx.index.func(func))
        || !around.is_kept_for_later(node) && matches!(followed(cx, func, true), Runs::Once)
}

/// Whether a place in a function is come to again and again.
pub fn is_again(cx: &PackageCx<'_>, func: FuncId, node: Node) -> bool {
    repeats(cx, func, &parents_in(cx, func), node).is_some()
        || matches!(runs(cx, func), Runs::Again(..))
}

/// The loop without an end, or over a channel, in each turn of which a function comes to a place of its own, and
/// what to say of it.
pub fn repeated_by(
    cx: &PackageCx<'_>,
    func: FuncId,
    node: Node,
) -> Option<(Location, &'static str)> {
    repeats(cx, func, &parents_in(cx, func), node)
}

/// What stands around what in a declared function.
fn parents_in(cx: &PackageCx<'_>, func: FuncId) -> Parents {
    cx.index.file_of(func).parents(Node::Decl(cx.index.func(func).decl))
}

/// Whether a method may be what a call through an interface runs; `None` where that is not known.
fn may_run(index: &Index<'_>, method: &Func, interface: &Type) -> Option<bool> {
    let Some(owner) = method.receiver.and_then(|receiver| receiver.ty) else { return Some(false) };
    let ty = index.object_type(owner);
    index.implements(&ty.pointer(), interface)
}

/// Whether both are methods of one type: what it keeps behind an interface, to call the same of it, are
/// others than itself.
fn is_of_same_type(caller: &Func, func: &Func) -> bool {
    let owner = |func: &Func| func.receiver.and_then(|receiver| receiver.ty);
    owner(caller).is_some() && owner(caller) == owner(func)
}

/// Where something stands in a loop that goes on as long as there is something to do: one without an
/// end in sight, or over a channel; or in a function literal that answers requests. With what to say of it.
fn repeats(
    cx: &PackageCx<'_>,
    caller: FuncId,
    parents: &Parents,
    node: Node,
) -> Option<(Location, &'static str)> {
    let func = cx.index.func(caller);
    let file: &File = cx.index.file_of(caller);
    let info = cx.index.body(caller);
    let around = parents.around(node).find(|&around| match around {
        Node::Stmt(stmt) => match file.stmt(stmt).kind {
            StmtKind::For { post: None, .. } => !leaves(file, parents, node, around),
            StmtKind::Range { subject, .. } => {
                matches!(cx.index.underlying(info.type_of(subject)), Type::Chan(..))
            }
            _ => false,
        },
        Node::Expr(expr) => match &file.expr(expr).kind {
            ExprKind::FuncLit(_) => match info.type_of(expr) {
                Type::Func(signature) => {
                    signature.params.iter().any(|param| is_of_request(cx, param))
                }
                _ => false,
            },
            _ => false,
        },
        Node::Decl(_) => false,
    })?;
    let (span, message) = match around {
        Node::Stmt(stmt) => (file.stmt(stmt).span, "each turn of this loop comes here"),
        Node::Expr(expr) => (file.expr(expr).span, "runs for each request"),
        Node::Decl(_) => return None,
    };
    let word = file.source.slice(span).iter().take_while(|byte| byte.is_ascii_alphabetic()).count();
    let span = Span::new(span.start, span.start + word as u32);
    Some((Location { file: func.file, span }, message))
}

/// Whether the turn of a loop that comes to something ends with the loop: it is part of a `return`, or stands in a
/// case or block that ends with one, and is not continued behind it.
fn leaves(file: &File, parents: &Parents, node: Node, around: Node) -> bool {
    let returns = |stmt: StmtId| matches!(file.stmt(stmt).kind, StmtKind::Return(_));
    let goes_on = |node: Node| match node {
        Node::Stmt(stmt) => match file.stmt(stmt).kind {
            StmtKind::Branch { kind, .. } => kind != BranchKind::Break,
            _ => false,
        },
        _ => false,
    };
    let mut inside = node;
    for outer in parents.around(node).take_while(|&node| node != around) {
        let Node::Stmt(stmt) = outer else { continue };
        let ends = match &file.stmt(stmt).kind {
            StmtKind::Return(_) => true,
            StmtKind::Select(clauses) => clauses.iter().any(|clause| {
                let parts = clause.comm.iter().chain(&clause.body);
                let is_in = parts.into_iter().any(|&part| Node::Stmt(part) == inside);
                is_in && clause.body.last().is_some_and(|&last| returns(last))
            }),
            StmtKind::Block(stmts) => {
                let behind = stmts.iter().skip_while(|&&part| Node::Stmt(part) != inside);
                behind.clone().last().is_some_and(|&last| returns(last))
                    && !behind.flat_map(|&part| file.descendants(Node::Stmt(part))).any(goes_on)
            }
            _ => false,
        };
        if ends {
            return true;
        }
        inside = outer;
    }
    false
}
