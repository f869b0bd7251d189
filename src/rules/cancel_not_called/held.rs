//! Functions of the package that give their callers something to end: a function that ends a
//! goroutine, or a value that keeps the cancel function of a context. A caller's path may lose that
//! as it may lose a cancel function.

use crate::catalog::Context;
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Callee, Def, FuncId, LocalId, LocalKind, Type};
use crate::rules::cancel_not_called::{is_local, uses, with_cancel};
use crate::rules::{FunctionCx, conditions};
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Function, Guard, Mode, Origin, Place, Read, Root};
use crate::syntax::{ExprId, ExprKind, Node, Parents, StmtKind, Symbol};

/// What the only result of a function has to be ended for.
struct Ending {
    what: What,
    /// Where what has to be ended is started or made.
    started: Location,
}

enum What {
    /// It is a function, and without its call a goroutine stays.
    Goroutine,
    /// This field of it cancels a context that is derived from one of the caller's.
    Field(Symbol),
}

/// The calls of the function that give something to end which a path loses.
pub(super) fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let mut findings = Vec::new();
    let mut parents: Option<Parents> = None;
    for (at, call) in function.calls() {
        let Callee::Func(func) = function.info.callee(call) else { continue };
        let Some(ending) = ending(cx, *func) else { continue };
        let declared = Node::Decl(cx.declared().decl);
        let parents = parents.get_or_insert_with(|| function.file.parents(declared));
        let Some((local, stored)) = stored(function, parents, at, call) else { continue };
        findings.extend(check_call(cx, function, parents, (at, call), (local, stored), &ending));
    }
    findings
}

/// The variable of the same body that the only result of a call is stored in, and the step of that.
fn stored(
    function: &Function<'_>,
    parents: &Parents,
    at: At,
    call: ExprId,
) -> Option<(LocalId, StepId)> {
    let Node::Stmt(stmt) = parents.of(Node::Expr(call))? else { return None };
    let StmtKind::Define { left, right } = &function.file.stmt(stmt).kind else { return None };
    let ([variable], [_]) = (&left[..], &right[..]) else { return None };
    let Def::Local(local) = function.info.resolve(function.file.unparen(*variable)) else {
        return None;
    };
    let declared = function.info.local(*local);
    let stays = declared.kind == LocalKind::Var && !declared.captured;
    let step = function.body(at.body).cfg.step_of_stmt(stmt)?;
    stays.then_some((*local, step))
}

/// What a function of the package gives to its caller to end.
fn ending(cx: &FunctionCx<'_>, func: FuncId) -> Option<Ending> {
    if func.package != cx.package.package {
        return None;
    }
    let Type::Func(signature) = cx.index().func_type(func) else { return None };
    let [result] = &signature.results[..] else { return None };
    let read = cx.summaries().read(func)?;
    let callee = FunctionCx { package: cx.package, func };
    match result {
        Type::Func(ends) if ends.params.is_empty() && ends.results.is_empty() => goroutine(&read),
        made if keeps_function(cx, made) => field(&callee, &read),
        _ => None,
    }
}

/// Whether a type is a struct, or a pointer to one, that has a function for a field.
fn keeps_function(cx: &FunctionCx<'_>, ty: &Type) -> bool {
    let Type::Struct(fields) = cx.index().underlying(ty.strip_pointer()) else { return false };
    let is_function = |ty: &Type| matches!(cx.index().underlying(ty), Type::Func(_));
    fields.fields.iter().any(|field| is_function(&field.ty))
}

/// The goroutine that stays until the function is called that is returned.
fn goroutine(read: &Read<'_>) -> Option<Ending> {
    let function = &read.function;
    let effects = &read.effects(BodyId::OWN).effects;
    let returns_literal = read.summary.results.first()?.contains(&Origin::Literal);
    let ended = effects.iter().filter(|effect| {
        let ends = matches!(effect.act, Act::Closed | Act::SentTo(_));
        ends && effect.mode.is_later() && matches!(effect.place.root, Root::Made(_))
    });
    let mut places = ended.map(|effect| &effect.place);
    let waits = places.find_map(|place| {
        effects.iter().find(|effect| {
            let waits = matches!(effect.act, Act::Received(_) | Act::Drained);
            let bare = !matches!(effect.act, Act::Received(Guard::Default));
            let ends = || {
                let beside = effects.iter().filter(|other| {
                    let receives = matches!(other.act, Act::Received(_));
                    other.at == effect.at && other.mode == Mode::Spawned && receives
                });
                beside
                    .map(|other| &other.place)
                    .all(|other| other == place || is_of_context(function, other))
            };
            waits && bare && effect.mode == Mode::Spawned && effect.place == *place && ends()
        })
    })?;
    let span = function.step(waits.at).span(function.file);
    let started = Location { file: function.file_id, span };
    returns_literal.then_some(Ending { what: What::Goroutine, started })
}

/// Whether a channel is the `Done()` of a context.
fn is_of_context(function: &Function<'_>, place: &Place) -> bool {
    match (place.root, place.path.last()) {
        (_, Some(name)) => name.as_str() == "Done()",
        (Root::Call(call, _), None) => {
            let callee = function.info.callee(call).qualified(function.index);
            callee.is_some_and(|name| name.name.as_str() == "Done")
        }
        _ => false,
    }
}

/// The field of the result that keeps the cancel function of a context, where nobody else has that.
fn field(cx: &FunctionCx<'_>, read: &Read<'_>) -> Option<Ending> {
    let function = &read.function;
    let effects = &read.effects(BodyId::OWN).effects;
    for step in function.body(BodyId::OWN).cfg.steps() {
        let at = At { body: BodyId::OWN, step };
        let Step::Call(call) = function.step(at) else { continue };
        let Some(Context { cancel: Some(result), deadline: false, .. }) =
            with_cancel(cx, function, call)
        else {
            continue;
        };
        let args = function.args(call);
        let parent = cx.summaries().context(function, at, *args.first()?);
        let of_caller = parent
            .only()
            .is_some_and(|place| matches!(place.root, Root::Param(_)) && place.path.is_empty());
        let cancel = Root::Call(call, *result);
        let mut acts = effects.iter().filter(|effect| effect.place.root == cancel).peekable();
        let kept = acts.peek().is_some()
            && acts.all(|effect| matches!(effect.act, Act::Returned(_) | Act::Stored));
        if !of_caller || !kept || effects.iter().any(|effect| effect.mode >= Mode::Joined) {
            continue;
        }
        let Some(field) = field_of(function, cancel) else { continue };
        let started = Location { file: function.file_id, span: function.file.expr(call).span };
        return Some(Ending { what: What::Field(field), started });
    }
    None
}

/// The field of a composite literal that is returned on the spot, and that gets this value.
fn field_of(function: &Function<'_>, value: Root) -> Option<Symbol> {
    let file = function.file;
    function.returns().find_map(|(at, values)| {
        let mut made = file.unparen(*values.first()?);
        if let ExprKind::Unary { operand, .. } = file.expr(made).kind {
            made = file.unparen(operand);
        }
        let ExprKind::CompositeLit { elements, .. } = &file.expr(made).kind else { return None };
        elements.iter().find_map(|element| {
            let place = function.places(at, element.value);
            let key = element.key.map(|key| &file.expr(key).kind);
            match (place.only(), key) {
                (Some(place), Some(ExprKind::Ident(name))) if place.root == value => Some(*name),
                _ => None,
            }
        })
    })
}

fn check_call(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    parents: &Parents,
    (at, call): (At, ExprId),
    (local, stored): (LocalId, StepId),
    ending: &Ending,
) -> Option<Finding> {
    if function.owner(local) != Some(at.body) {
        return None;
    }
    let mut walk = Lost { function, parents, at, local, what: &ending.what };
    let paths = conditions::search(function, at.body, Start::After(stored), (), &mut walk);
    let return_of = |path: &Path| match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => Some(function.file.stmt(stmt).span),
        _ => None,
    };
    let span = paths.iter().filter_map(return_of).min_by_key(|span| span.start)?;
    let name = function.info.local(local).name;
    let Callee::Func(func) = function.info.callee(call) else { return None };
    let callee = cx.index().func(*func).name;
    let (message, why, help) = match ending.what {
        What::Goroutine => (
            format!(
                "this return leaves the goroutine behind that `{callee}` has started: `{name}` has \
                 not been called"
            ),
            format!(
                "the goroutine waits until `{name}` is called, or for something else to end it"
            ),
            format!("call `{name}()` on this path too"),
        ),
        What::Field(field) => (
            format!(
                "this return leaves `{name}` behind, and the context in it: `{name}.{field}` has \
                 not been called"
            ),
            "the context stays with its parent until that ends".to_owned(),
            format!("call `{name}.{field}` on this path too"),
        ),
    };
    let mut finding = cx.finding(span, "left without the call", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    let started = match ending.what {
        What::Goroutine => "this goroutine is started",
        What::Field(_) => "the context is made",
    };
    finding.labels.push(Label {
        location: cx.location(function.file.expr(call).span),
        role: Role::Made,
        message: format!("`{name}` is made here"),
    });
    finding.labels.push(Label {
        location: ending.started,
        role: Role::Started,
        message: started.to_owned(),
    });
    finding.why = why;
    finding.help = help;
    finding.defect = cx.location(function.file.expr(call).span);
    Some(finding)
}

/// A walk along the paths on which nothing can have ended it.
struct Lost<'f, 'a> {
    function: &'f Function<'a>,
    parents: &'f Parents,
    at: At,
    local: LocalId,
    what: &'f What,
}

impl Lost<'_, '_> {
    /// Whether an expression uses the variable for more than to look at or set another field.
    fn is_use(&self, expr: ExprId) -> bool {
        let function = self.function;
        if !is_local(function, expr, self.local) {
            return false;
        }
        let What::Field(field) = self.what else { return true };
        let around = self.parents.around(Node::Expr(expr)).find_map(|node| match node {
            Node::Expr(around) => match function.file.expr(around).kind {
                ExprKind::Paren(_) => None,
                _ => Some(around),
            },
            _ => None,
        });
        !around.is_some_and(|around| match function.info.resolve(around) {
            Def::Field(selection) => selection.name != *field,
            _ => false,
        })
    }
}

impl Walk for Lost<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        let function = self.function;
        let what = function.step(At { body: self.at.body, step });
        let mut used = false;
        what.for_each_operand(function.file, &mut |expr| used |= self.is_use(expr));
        if let Step::FuncLit(literal) = what {
            used |= uses(function, Node::Expr(literal), self.local);
        }
        if used { Passing::Drop } else { Passing::On(()) }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_))
    }
}
