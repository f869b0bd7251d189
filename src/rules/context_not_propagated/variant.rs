//! Calls that take no context although a sibling of them does.

use crate::catalog::{Blocking, Carrier, Name, Wait, When};
use crate::diagnostic::{Confidence, Edit, Finding, Fix, Label, Role, Safety};
use crate::index::{Constant, Def, LocalId, Type};
use crate::rules::FunctionCx;
use crate::rules::bound;
use crate::rules::context_not_propagated::own::{self, From, Own, Reach};
use crate::rules::context_not_propagated::sibling;
use crate::rules::context_not_propagated::{callee_text, purpose, push_own, use_own};
use crate::source::Span;
use crate::summary::{Act, At, Function, Mode, Place, Read, Root, facts};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind};

/// The calls of the function that wait without a context where one could be given.
pub fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let mut findings = Vec::new();
    for (at, call) in function.calls() {
        let Some(variant) = without_context(cx, function, call) else { continue };
        let Some((at, waits)) = wait_of(cx, read, (at, call), variant.when) else { continue };
        findings.extend(check_call(cx, read, at, call, waits, &variant));
    }
    findings
}

/// What could stand in place of a call that takes no context.
pub struct Variant {
    /// When the call waits.
    pub when: When,
    /// How sure that is.
    pub confidence: Confidence,
    /// Whether it runs a program.
    pub runs_program: bool,
    /// Whether the call is told how long it may wait at most.
    is_timed: bool,
    /// What to write instead, for help.
    instead: String,
    /// The name of a sibling that takes the same after a context.
    prepend: Option<String>,
    /// Methods that put a bound on the wait.
    pub bounded_by: Vec<Box<str>>,
}

/// The variant under a context of a call that takes none: by the catalog, or by what is declared.
pub fn without_context(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<Variant> {
    // What is cheap to ask first.
    let is_short = || bound::is_short(cx, function, call, false);
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let Some(blocking) = known.in_force::<Blocking>(cx.versions()) else {
        let sibling = sibling::of(cx, function, call).filter(|_| !is_short())?;
        let name = sibling.name.to_string();
        return Some(Variant {
            when: When::Call,
            confidence: sibling.confidence,
            runs_program: false,
            is_timed: false,
            instead: format!("`{name}`"),
            prepend: Some(name),
            bounded_by: Vec::new(),
        });
    };
    let takes_none = blocking.context.is_none() && blocking.only_with.is_none();
    let variant = blocking.variant.as_ref().filter(|_| takes_none && !is_short())?;
    let runs_program = blocking.wait == Wait::Exec;
    Some(Variant {
        when: blocking.when,
        confidence: match runs_program && runs_known(function, call) {
            true => Confidence::Low,
            false => Confidence::High,
        },
        runs_program,
        is_timed: blocking.timeout.as_ref().is_some_and(|place| place.field.is_none()),
        instead: match &blocking.instead {
            Some(instead) => instead.to_string(),
            None => format!("`{}`", short(variant)),
        },
        prepend: blocking.prepend.then(|| variant.name.to_string()),
        bounded_by: blocking.bounded_by.clone(),
    })
}

/// Whether a call starts a program that the code names: most of those do something small on this
/// machine and end, and which do not cannot be told. One that a setting names may be anything, unless
/// it is asked for its version.
fn runs_known(function: &Function<'_>, call: ExprId) -> bool {
    let text = |arg: &ExprId| match function.info.constant(*arg) {
        Some(Constant::String(text)) => Some(&**text),
        _ => None,
    };
    match function.args(call) {
        [program, asked] if text(program).is_none() => {
            matches!(text(asked), Some("version" | "-version" | "--version"))
        }
        args => args.first().and_then(text).is_some(),
    }
}

/// Where such a call waits, or a method of its result does.
pub fn wait_of(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    (at, call): (At, ExprId),
    when: When,
) -> Option<(At, ExprId)> {
    match when {
        When::Call => Some((at, call)),
        When::Result => wait_of_result(cx, read, call)
            .filter(|&(_, waits)| !read.function.reads_from_terminal(waits)),
        When::Never => None,
    }
}

fn check_call(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    at: At,
    call: ExprId,
    waits: ExprId,
    variant: &Variant,
) -> Option<Finding> {
    let function = &read.function;
    let others = others_of(cx, function, (at, waits), call);
    let spans: Vec<Span> = [call, waits]
        .into_iter()
        .chain(others.iter().copied())
        .map(|expr| function.file.expr(expr).span)
        .collect();
    if purpose::ends_something(function, waits)
        || purpose::is_explained(function, &spans)
        || purpose::after_the_end(function, at)
    {
        return None;
    }
    let Reach::Own(own) = own::at_hand(cx, read, at) else { return None };
    if purpose::is_watched(cx, function, at)
        || purpose::asks_for_deadline(function, &own.text)
        || purpose::is_left_to_goroutine(function, call)
    {
        return None;
    }
    // A type that is made to end by itself may know better than its context.
    if own.from == From::Field && !mentions(function, &own) {
        return None;
    }
    if asks_with(cx, read, call, &own) || is_the_other_way(function, call, &own) {
        return None;
    }
    Some(finding(cx, function, &own, call, (waits, &others), variant))
}

/// What else makes what is waited of, on other ways than this call.
fn others_of(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    (at, waits): (At, ExprId),
    call: ExprId,
) -> Vec<ExprId> {
    let mut makers = makers_of(cx, function, at, waits);
    match makers.contains(&call) {
        true => makers.retain(|&maker| maker != call),
        false => makers.clear(),
    }
    makers
}

/// Whether the function calls the sibling with its context, too, with the same receiver and what else is given
/// here: it decides between the two.
fn is_the_other_way(function: &Function<'_>, call: ExprId, own: &Own) -> bool {
    let called = |call: ExprId| {
        let (base, name) = function.file.method_call(call)?;
        Some((function.text(base), name.name))
    };
    let Some((base, name)) = called(call) else { return false };
    let given: Vec<String> = function.args(call).iter().map(|&arg| function.text(arg)).collect();
    function.calls().any(|(_, other)| {
        let args = function.args(other);
        let starts_with_own = args.first().is_some_and(|&first| function.text(first) == own.text);
        starts_with_own
            && called(other).is_some_and(|(receiver, longer)| {
                receiver == base && longer.as_str().starts_with(name.as_str())
            })
            && args[1..].iter().map(|&arg| function.text(arg)).eq(given.iter().cloned())
    })
}

/// Whether a call asks a condition again and again that fails once the context is cancelled: it is given to
/// what the condition waits for, and the error of that is returned, also within another, or fails the test,
/// which ends the asking.
fn asks_with(cx: &FunctionCx<'_>, read: &Read<'_>, call: ExprId, own: &Own) -> bool {
    let function = &read.function;
    let (file, info) = (function.file, &function.info);
    let known = facts(cx.catalog(), function.index, info.callee(call));
    if !known.in_force::<Blocking>(cx.versions()).is_some_and(|fact| fact.wait == Wait::Poll) {
        return false;
    }
    let local = |expr: ExprId| match info.resolve(file.unparen(expr)) {
        Def::Local(local) => Some(*local),
        _ => None,
    };
    let conditions = function.args(call).iter().map(|&arg| file.unparen(arg));
    conditions.filter(|&arg| matches!(file.expr(arg).kind, ExprKind::FuncLit(_))).any(|condition| {
        let inside = || file.descendants(Node::Expr(condition));
        let failed = |node: Node| {
            let Node::Stmt(stmt) = node else { return None };
            let (StmtKind::Define { left, right } | StmtKind::Assign { left, right, .. }) =
                &file.stmt(stmt).kind
            else {
                return None;
            };
            let [asked] = right[..] else { return None };
            let ExprKind::Call { ref args, .. } = file.expr(file.unparen(asked)).kind else {
                return None;
            };
            let is_given = args.iter().any(|&arg| function.text(arg) == own.text);
            is_given.then(|| local(*left.last()?)).flatten()
        };
        let errors: Vec<LocalId> = inside().filter_map(failed).collect();
        let names_error = |node: Node| {
            file.descendants(node).any(|node| match node {
                Node::Expr(expr) => local(expr).is_some_and(|it| errors.contains(&it)),
                _ => false,
            })
        };
        inside().any(|node| {
            let Node::Stmt(stmt) = node else { return false };
            match file.stmt(stmt).kind {
                StmtKind::Return(ref results) => {
                    results.last().is_some_and(|&last| names_error(Node::Expr(last)))
                }
                StmtKind::If { cond, then, .. } => {
                    names_error(Node::Expr(cond)) && ends_test(function, then)
                }
                _ => false,
            }
        })
    })
}

/// Whether a statement ends the goroutine of a test, by name.
fn ends_test(function: &Function<'_>, stmt: StmtId) -> bool {
    let file = function.file;
    file.descendants(Node::Stmt(stmt)).any(|node| {
        let Node::Expr(call) = node else { return false };
        file.method_call(call)
            .is_some_and(|(_, name)| matches!(name.name.as_str(), "Fatal" | "Fatalf" | "FailNow"))
    })
}

/// Whether the function itself looks at the context that its receiver holds.
fn mentions(function: &Function<'_>, own: &Own) -> bool {
    let root = Node::Decl(function.index.func(function.id).decl);
    function.file.descendants(root).any(|node| match node {
        Node::Expr(expr) => {
            matches!(function.file.expr(expr).kind, ExprKind::Selector { .. })
                && function.text(expr) == own.text
        }
        _ => false,
    })
}

/// Where a method waits of what a call returns, and nobody else has it who could end that. Of several calls that
/// make it without a context, each on a way of its own, it is the first one that this is told of.
pub fn wait_of_result(cx: &FunctionCx<'_>, read: &Read<'_>, made: ExprId) -> Option<(At, ExprId)> {
    let function = &read.function;
    // Who makes a request on a context of its own has decided that nothing else ends it.
    let maker = facts(cx.catalog(), function.index, function.info.callee(made));
    let fixed =
        maker.in_force::<Blocking>(cx.versions()).is_some_and(|fact| fact.context.is_some());
    let (at, call, makers) = function.calls().find_map(|(at, call)| {
        let makers = makers_of(cx, function, at, call);
        (makers.first() == Some(&made)).then_some((at, call, makers))
    })?;
    let shared = makers.iter().any(|&maker| {
        let result = Place::root(Root::Call(maker, 0));
        is_shared(read, &result) && !is_only_sent(cx, read, maker, &result)
    });
    (!shared && !bound::is_short(cx, function, call, fixed)).then_some((at, call))
}

/// The calls that make what a call waits of, in the order of the text: one, or several of which none takes a
/// context.
fn makers_of(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, call: ExprId) -> Vec<ExprId> {
    let Some((_, operand)) = carrier_of(cx, function, call) else { return Vec::new() };
    let places = function.object_places(at, operand);
    let maker = |place: &Place| match place.root {
        Root::Call(call, 0) if place.path.is_empty() => Some(call),
        _ => None,
    };
    let makers: Option<Vec<ExprId>> = places.list.iter().map(maker).collect();
    let mut makers = makers.filter(|_| !places.unknown).unwrap_or_default();
    makers.sort_by_key(|&maker| function.file.expr(maker).span.start);
    let takes_none = |&maker: &ExprId| {
        let known = facts(cx.catalog(), function.index, function.info.callee(maker));
        known.in_force::<Blocking>(cx.versions()).is_some_and(|fact| {
            fact.when == When::Result && fact.context.is_none() && fact.variant.is_some()
        })
    };
    if makers.len() > 1 && !makers.iter().all(takes_none) {
        makers.clear();
    }
    makers
}

/// What ends the wait of a call with its context, and the expression that is it.
fn carrier_of(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
) -> Option<(Carrier, ExprId)> {
    let ExprKind::Call { callee, ref args, .. } = function.file.expr(call).kind else {
        return None;
    };
    let known = facts(cx.catalog(), function.index, function.info.callee(call));
    let carrier = known.in_force::<Blocking>(cx.versions()).and_then(|fact| fact.context)?;
    let operand = match (carrier, &function.file.expr(function.file.unparen(callee)).kind) {
        (Carrier::Receiver, ExprKind::Selector { base, .. }) => *base,
        (Carrier::Request(index), _) => *args.get(index as usize)?,
        _ => return None,
    };
    Some((carrier, operand))
}

/// Whether something is used by who may still be at it when the function is left, or before.
fn is_shared(read: &Read<'_>, result: &Place) -> bool {
    read.function.bodies().any(|body| {
        let mut effects = read.effects(body).effects.iter();
        effects.any(|effect| effect.place.is_within(result) && effect.mode >= Mode::Joined)
    })
}

/// Whether what a call makes is a request that literals do nothing with but send it and ask it for its parts: a
/// request has one context from the start, so that those who have it cannot end it.
fn is_only_sent(cx: &FunctionCx<'_>, read: &Read<'_>, made: ExprId, result: &Place) -> bool {
    let function = &read.function;
    let file = function.file;
    let Some(made) = function.at_call(made) else { return false };
    let is_sent = |at: At| {
        let Some(call) = function.step(at).call(file) else { return false };
        matches!(carrier_of(cx, function, call), Some((Carrier::Request(_), operand))
            if function.object_places(at, operand).may_be(result))
    };
    // What stands at the step itself, and not in a literal there.
    let is_given = |at: At| {
        let Some(call) = function.step(at).call(file) else { return false };
        let receiver = file.method_call(call).map(|(base, _)| base);
        let mut given = function.args(call).iter().copied().chain(receiver);
        given.any(|given| function.places(at, given).may_be(result))
    };
    function.bodies().all(|body| {
        let effects = read.effects(body).effects.iter();
        effects.filter(|effect| effect.place.is_within(result)).all(|effect| {
            match (effect.mode >= Mode::Joined, effect.act) {
                (true, _) => !is_given(effect.at),
                (false, Act::Method(_) | Act::Touched(..) | Act::Captured) => true,
                (false, _) => body == made.body || is_sent(effect.at),
            }
        })
    })
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    own: &Own,
    call: ExprId,
    (waits, others): (ExprId, &[ExprId]),
    variant: &Variant,
) -> Finding {
    let name = cx.declared().name;
    let callee = callee_text(function, call);
    let waiting = callee_text(function, waits);
    let message = format!(
        "`{waiting}` waits without a context, so when {} is cancelled, the wait goes on",
        own.shown_of(name)
    );
    let callee_span = match function.file.expr(call).kind {
        ExprKind::Call { callee, .. } => function.file.expr(callee).span,
        _ => function.file.expr(call).span,
    };
    let mut finding = cx.finding(callee_span, "takes no context", message);
    push_own(cx, &mut finding, own);
    for &other in others {
        finding.labels.push(Label {
            location: cx.location(function.file.expr(other).span),
            role: Role::Made,
            message: "nor does this take one".to_owned(),
        });
    }
    if waits != call {
        finding.labels.push(Label {
            location: cx.location(function.file.expr(waits).span),
            role: Role::Stuck,
            message: "waits here".to_owned(),
        });
    }
    finding.why = format!("`{callee}` is not told of any context, so nothing ends the wait early");
    finding.confidence = finding.confidence.min(variant.confidence);
    // Who says how long it may take has thought of it, unless the context is asked for beside it.
    let decided = variant.is_timed && own.from != From::Field;
    if decided || is_run_with(cx, function, call, own) {
        finding.confidence = Confidence::Low;
    }
    finding.help = format!("use {} with {}", variant.instead, own.shown());
    if own.declared.start > callee_span.start {
        finding.help += ", where that is at hand";
    } else if let Some(name) = &variant.prepend {
        finding.fixes.extend(prepend(cx, function, own, (call, others), name));
    }
    finding
}

/// Whether a call prepares a statement in a function that gives the context to what runs on the database: that
/// is the long part of the wait, and ends with the context.
fn is_run_with(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId, own: &Own) -> bool {
    let prepares = match function.info.type_of(call) {
        Type::Tuple(results) => results.first().is_some_and(is_statement),
        result => is_statement(result),
    };
    prepares
        && function.calls().any(|(_, other)| {
            let known = facts(cx.catalog(), function.index, function.info.callee(other));
            let runs = |fact: &Blocking| fact.wait == Wait::Sql && fact.context.is_some();
            let given = function.args(other).first();
            given.is_some_and(|&given| function.text(given) == own.text)
                && known.in_force::<Blocking>(cx.versions()).is_some_and(runs)
        })
}

fn is_statement(ty: &Type) -> bool {
    matches!(ty, Type::Pointer(to) if to.is_named("database/sql", "Stmt"))
}

/// The variant as code writes it, but for the name of a receiver.
fn short(variant: &Name) -> String {
    match &variant.receiver {
        Some(receiver) => format!("{receiver}.{}", variant.name),
        None => {
            let package = variant.package.rsplit('/').next().unwrap_or(&variant.package);
            format!("{package}.{}", variant.name)
        }
    }
}

/// The variant's name and the context as a new first argument, of a call and of those that stand for it on other
/// ways.
fn prepend(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    own: &Own,
    (call, others): (ExprId, &[ExprId]),
    variant: &str,
) -> Option<Fix> {
    let file = function.file;
    let mut edits = Vec::new();
    for &call in [call].iter().chain(others) {
        let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return None };
        let ExprKind::Selector { name, .. } = file.expr(file.unparen(callee)).kind else {
            return None;
        };
        let callee = file.expr(callee).span;
        // Whether the name of the context means it here.
        use_own(cx, function, own, Span::new(callee.end, callee.end))?;
        let open = args.first().map(|&first| file.expr(first).span.start)?;
        edits.push(Edit { location: cx.location(name.span), replacement: variant.to_owned() });
        edits.push(Edit {
            location: cx.location(Span::new(open, open)),
            replacement: format!("{}, ", own.text),
        });
    }
    let message = format!("use `{variant}` with `{}`", own.text);
    Some(Fix { message, safety: Safety::Safe, edits })
}
