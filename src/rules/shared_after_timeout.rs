//! `shared-after-timeout`: a function gives up waiting for its goroutine, and goes on with variables
//! that the goroutine may write at that very time; or a filter does so with an object that it has
//! put into the request's context, outside of a filter that leaves its handler behind; or with the
//! response writer that it gave to the handler. Where the goroutine tells nobody that it is done, the
//! function need not have waited.

mod begun;
mod outside;
mod untold;
mod writer;

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Path, PathEnd, Step, StepId};
use crate::index::{Def, LocalId, Type};
use crate::rules::access::{self, Access, What};
use crate::rules::handoff::way_out;
use crate::rules::scene::{holds_any, may_start_goroutines, serves_tests};
use crate::rules::shared_after_timeout::begun::Begun;
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Span;
use crate::summary::{Act, At, BodyId, Function, Read};
use crate::syntax::StmtKind;

pub const RULE: Rule = Rule {
    page: include_str!("../../rules/shared-after-timeout.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    let first = findings.len();
    of_goroutines(cx, findings);
    outside::check(cx, findings);
    writer::check(cx, findings);
    // A test whose time is up has failed.
    if serves_tests(cx.index(), cx.func) {
        findings[first..].iter_mut().for_each(|finding| finding.confidence = Confidence::Low);
    }
}

fn of_goroutines(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    let starts = may_start_goroutines(cx);
    if !holds_any(cx, &["func("]) || !starts && !holds_any(cx, &["select"]) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for begun in begun::all(&read, body) {
            let told = check_begun(cx, &read, &begun);
            findings.extend(told.or_else(|| untold::check(cx, &read, &begun)));
        }
    }
}

fn check_begun(cx: &FunctionCx<'_>, read: &Read<'_>, begun: &Begun) -> Option<Finding> {
    let function = &read.function;
    let Begun { spawn, inside, .. } = begun;
    let theirs: Vec<Access> = inside
        .iter()
        .flat_map(|&body| access::of_body(function, body))
        .filter(|access| is_outside(function, access, inside) && is_late(function, access))
        .collect();
    let ours = access::of_body(function, spawn.at.body);
    let mut conflicts: Vec<Conflict<'_>> = Vec::new();
    for use_ in &ours {
        let met = theirs.iter().find(|their| {
            meet(function, their, use_) && !(locked(read, their.at) && locked(read, use_.at))
        });
        if let Some(their) = met {
            conflicts.push(Conflict { their, ours: use_ });
        }
    }
    let mut reached: Vec<(Path<bool>, &Conflict<'_>)> = Vec::new();
    let mut asked: Vec<LocalId> = Vec::new();
    for Conflict { their, .. } in &conflicts {
        if asked.contains(&their.variable) {
            continue;
        }
        asked.push(their.variable);
        let of_variable =
            |step: StepId| conflicts.iter().find(|conflict| conflict.is_at(their.variable, step));
        let wanted = |step: StepId| {
            of_variable(step).is_some() && leaves_from(function, spawn.at.body, step)
        };
        let renews = |step: StepId| {
            declares(function, spawn.at.body, step, their.variable)
                || begun.may_be_awaited(cx, function, At { body: spawn.at.body, step })
        };
        let uses = read.gives_up(spawn, &wanted, &renews).into_iter();
        let mut uses = uses.filter_map(|path| match path.end {
            PathEnd::Step(step) => Some((path, of_variable(step)?)),
            PathEnd::Exit(..) => None,
        });
        reached.extend(uses.next());
    }
    let (path, first) = reached.first()?;
    let more: Vec<&Conflict<'_>> = reached[1..].iter().map(|(_, conflict)| *conflict).collect();
    Some(finding(cx, function, begun, path, first, &more))
}

/// A goroutine's access and one of the function that started it, to the same thing.
struct Conflict<'c> {
    their: &'c Access,
    ours: &'c Access,
}

impl Conflict<'_> {
    fn is_at(&self, variable: LocalId, step: StepId) -> bool {
        self.ours.variable == variable && self.ours.at.step == step
    }
}

/// Whether a step declares the variable, so that it is another one from then on.
fn declares(function: &Function<'_>, body: BodyId, step: StepId, variable: LocalId) -> bool {
    let name = function.info.local(variable).span;
    match function.step(At { body, step }) {
        Step::Assign(stmt) | Step::Comm(stmt) | Step::Bind(stmt) => {
            let span = function.file.stmt(stmt).span;
            span.start <= name.start
                && name.end <= span.end
                && function.defines(At { body, step }, variable)
        }
        Step::Declare(decl) => {
            let span = function.file.decl(decl).span;
            span.start <= name.start && name.end <= span.end
        }
        _ => false,
    }
}

/// Whether the goroutine comes to this access only after something that may take its time.
fn is_late(function: &Function<'_>, access: &Access) -> bool {
    let cfg = &function.body(access.at.body).cfg;
    access.what.is_write()
        || cfg.steps().any(|step| {
            let takes_time = matches!(
                cfg.step(step),
                Step::Call(_) | Step::Recv(_) | Step::Select(_) | Step::Next(_) | Step::Send(_)
            );
            takes_time && step != access.at.step && cfg.dominates(step, access.at.step)
        })
}

/// Whether the variable belongs to a function around the goroutine.
fn is_outside(function: &Function<'_>, access: &Access, inside: &[BodyId]) -> bool {
    function.owner(access.variable).is_some_and(|owner| {
        !inside.contains(&owner) && function.enclosing(inside[0]).any(|around| around == owner)
    })
}

/// Whether two accesses are to the same memory, and one of them writes.
fn meet(function: &Function<'_>, their: &Access, ours: &Access) -> bool {
    if their.variable != ours.variable || !(their.what.is_write() || ours.what.is_write()) {
        return false;
    }
    let of_elements = |what| matches!(what, What::ElementWritten | What::ElementRead);
    if their.fields == ours.fields {
        return match (their.what, ours.what) {
            (What::ElementWritten, What::Given) => !with_error(function, ours),
            (a, b) if of_elements(a) && of_elements(b) => true,
            // The map or slice stays the same where only its elements change.
            (What::ElementWritten, _) | (_, What::ElementWritten) => {
                their.what == What::Written || ours.what == What::Written
            }
            _ => true,
        };
    }
    // A field of what the other side has replaced, read or given away as a whole.
    let (whole, part) = match ours.fields.len() < their.fields.len() {
        true => (ours, their),
        false => (their, ours),
    };
    if !part.fields.starts_with(&whole.fields) {
        return false;
    }
    match whole.what {
        What::Written => true,
        What::Read => is_struct(function, whole),
        What::Given => {
            is_struct(function, whole)
                || !with_error(function, whole)
                    && is_returned(function, whole)
                    && !can_order(function, whole)
        }
        What::ElementWritten | What::ElementRead => false,
    }
}

/// Whether the value of an access is a struct, which is copied as a whole.
fn is_struct(function: &Function<'_>, access: &Access) -> bool {
    let ty = match access.expr {
        Some(expr) => function.info.type_of(expr),
        None => &function.info.local(access.variable).ty,
    };
    matches!(function.index.underlying(ty), Type::Struct(_) | Type::Array(_))
}

/// Whether who has a value can wait for those that write in it: what it points to has a channel or a lock.
fn can_order(function: &Function<'_>, access: &Access) -> bool {
    let Some(expr) = access.expr else { return false };
    let of = function.info.type_of(expr).strip_pointer();
    let Type::Struct(of) = function.index.underlying(of) else { return false };
    of.fields.iter().any(|field| match field.ty.strip_pointer() {
        Type::Chan(..) => true,
        ty => ty.named().is_some_and(|named| named.qualified().path.as_str() == "sync"),
    })
}

fn is_returned(function: &Function<'_>, access: &Access) -> bool {
    matches!(function.step(access.at), Step::Return(_))
}

/// Whether something is returned together with an error, so that callers do not look at it.
fn with_error(function: &Function<'_>, access: &Access) -> bool {
    let Step::Return(stmt) = function.step(access.at) else { return false };
    let StmtKind::Return(values) = &function.file.stmt(stmt).kind else { return false };
    values.last().is_some_and(|&last| {
        function.info.type_of(last).is_error()
            && !matches!(function.info.resolve(function.file.unparen(last)), Def::Nil)
    })
}

/// Whether a lock is taken on every path to a step of its body.
fn locked(read: &Read<'_>, at: At) -> bool {
    let cfg = &read.function.body(at.body).cfg;
    read.effects(at.body).effects.iter().any(|effect| {
        let locks = matches!(effect.act, Act::Method(name)
            if matches!(name.as_str(), "Lock" | "RLock"));
        locks && effect.at.step != at.step && cfg.dominates(effect.at.step, at.step)
    })
}

/// Whether the body can be left by a return or at its end from this step.
fn leaves_from(function: &Function<'_>, body: BodyId, step: StepId) -> bool {
    let cfg = &function.body(body).cfg;
    matches!(cfg.step(step), Step::Return(_)) || !cfg.escapes(step, &|_| false).is_empty()
}

/// How many further variables a finding shows.
const SHOWN: usize = 3;

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    begun: &Begun,
    path: &Path<bool>,
    first: &Conflict<'_>,
    more: &[&Conflict<'_>],
) -> Finding {
    let name = name(function, first.their);
    let (theirs, ours) = (verb(first.their), verb(first.ours));
    let message = format!(
        "{} {theirs} `{name}` when this function may have stopped waiting for it and {ours} `{name}` \
         itself: nothing orders the two",
        begun.who()
    );
    let primary = span(function, first.their);
    let mut finding = cx.finding(primary, &format!("{theirs} `{name}`"), message);
    let mut label = |span: Span, role: Role, message: String| {
        finding.labels.push(Label { location: cx.location(span), role, message });
    };
    let variable = function.info.local(first.their.variable);
    label(variable.span, Role::Made, format!("both sides use the one `{}`", variable.name));
    let (start, told) = begun.start(function);
    label(start, Role::Started, told);
    if let Some((span, told)) = way_out(function, begun.spawn.at, path) {
        label(span, Role::Left, told);
    }
    label(span(function, first.ours), Role::Context, format!("this side {ours} `{name}`"));
    for conflict in more.iter().take(SHOWN) {
        let name = self::name(function, conflict.their);
        let theirs = verb(conflict.their);
        label(
            span(function, conflict.their),
            Role::Context,
            format!("the same holds for `{name}`, which {} {theirs} here", begun.who()),
        );
    }
    finding.why =
        "the goroutine was not stopped, only left: it finishes its work later, or at that \
                   very moment"
            .to_owned();
    finding.help = "let the goroutine keep its results in variables of its own and send them over \
                    the channel (with a buffer of one), so that only the arm that receives them \
                    uses them; or wait for the goroutine on this way out too"
        .to_owned();
    finding.defect = finding.primary;
    finding
}

fn name(function: &Function<'_>, access: &Access) -> String {
    let mut name = function.info.local(access.variable).name.to_string();
    for field in &access.fields {
        name.push('.');
        name.push_str(field.as_str());
    }
    name
}

fn verb(access: &Access) -> &'static str {
    match access.what {
        What::Written => "writes",
        What::ElementWritten => "writes elements of",
        What::Read => "reads",
        What::ElementRead => "reads elements of",
        What::Given if access.expr.is_none() => "returns",
        What::Given => "uses",
    }
}

fn span(function: &Function<'_>, access: &Access) -> Span {
    match access.expr {
        Some(expr) => function.file.expr(expr).span,
        None => function.step(access.at).span(function.file),
    }
}
