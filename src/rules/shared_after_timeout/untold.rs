//! A goroutine that nobody can wait for: the last thing that it does is to give a variable of the function
//! around it a value, and the function reads that variable.
//!
//! Evidence: after the write the goroutine does nothing that others could notice, neither a call nor
//! anything with a channel, so no wait of anybody comes after it; and there is a way from the `go` statement
//! to a read in the body that started it, or in what that defers, on which the function neither writes the
//! variable itself nor waits for anything. What it waits for might be there to give the goroutine its
//! time, and is not told; nor is a flag that a loop asks again and again.

use crate::catalog;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Exit, Passing, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Basic, Builtin, Callee, Type};
use crate::rules::FunctionCx;
use crate::rules::access::{self, Access, What};
use crate::rules::shared_after_timeout::begun::Begun;
use crate::rules::shared_after_timeout::{declares, is_outside, meet, name, span, verb};
use crate::source::Span;
use crate::summary::{At, BodyId, Function, Read, What as Waited};
use crate::syntax::StmtKind;

/// Reports a read of what the goroutine writes last.
pub fn check(cx: &FunctionCx<'_>, read: &Read<'_>, begun: &Begun) -> Option<Finding> {
    let function = &read.function;
    let own = *begun.inside.first()?;
    let steps = |body: BodyId| function.body(body).cfg.steps().map(move |step| At { body, step });
    let defers = steps(own).any(|at| matches!(function.step(at), Step::Defer(_)));
    if begun.given_to.is_some() || defers {
        return None;
    }
    let last = access::of_body(function, own).into_iter().filter(|access| {
        is_outside(function, access, &begun.inside)
            && is_set(function, access)
            && is_last(function, access.at)
    });
    last.into_iter().find_map(|their| {
        let (ours, how) = read_meanwhile(read, begun.spawn.at, &their)?;
        Some(finding(cx, function, begun, &their, &ours, how))
    })
}

/// Whether a variable, a field or an element of a map gets a value.
fn is_set(function: &Function<'_>, access: &Access) -> bool {
    match access.what {
        What::Written => true,
        What::ElementWritten => access.expr.is_some_and(|expr| {
            matches!(function.index.underlying(function.info.type_of(expr)), Type::Map(_))
        }),
        What::Read | What::ElementRead | What::Given => false,
    }
}

/// Whether nothing that a body may do after a step can be noticed by others.
fn is_last(function: &Function<'_>, at: At) -> bool {
    let cfg = &function.body(at.body).cfg;
    let is_quiet = |step: StepId| match cfg.step(step) {
        Step::Assign(_)
        | Step::Declare(_)
        | Step::Bind(_)
        | Step::Eval(_)
        | Step::Return(_)
        | Step::FuncLit(_) => true,
        Step::Call(call) => match function.info.callee(call) {
            Callee::Conversion(_) => true,
            Callee::Builtin(builtin) => !matches!(builtin, Builtin::Close | Builtin::Panic),
            _ => false,
        },
        Step::Next(stmt) => match function.file.stmt(stmt).kind {
            StmtKind::Range { subject, .. } => matches!(
                function.index.underlying(function.info.type_of(subject)),
                Type::Slice(_) | Type::Map(_) | Type::Array(_) | Type::Basic(_)
            ),
            _ => false,
        },
        _ => false,
    };
    cfg.steps().all(|step| !cfg.reaches(at.step, step) || is_quiet(step))
}

/// Where the body that starts the goroutine, or what it defers, reads what that writes; and when, if it is
/// not where it stands.
fn read_meanwhile(read: &Read<'_>, start: At, their: &Access) -> Option<(Access, &'static str)> {
    let function = &read.function;
    if let Some(ours) = first_read(read, start.body, Start::After(start.step), Some(start), their) {
        return Some((ours, ""));
    }
    let cfg = &function.body(start.body).cfg;
    let is_defer = |step: &StepId| matches!(cfg.step(*step), Step::Defer(_));
    if read.waits(start.body).iter().any(|(at, _)| is_defer(&at.step)) {
        return None;
    }
    cfg.steps().filter(is_defer).find_map(|step| {
        let call = cfg.step(step).call(function.file)?;
        let Callee::Literal(literal) = function.info.callee(call) else { return None };
        let finds = |from: StepId, wanted: &dyn Fn(StepId) -> bool, leaves: bool| {
            let (body, start) = (start.body, Some(start));
            let mut walk = Meanwhile { read, body, start, their, wanted, leaves };
            cfg.finds(Start::After(from), (), &mut walk)
        };
        let from = match cfg.dominates(step, start.step) {
            true => start.step,
            false => finds(start.step, &|at| at == step, false).then_some(step)?,
        };
        if !finds(from, &|_| false, true) {
            return None;
        }
        let body = function.body_of_literal(*literal)?;
        let ours = first_read(read, body, Start::Entry, None, their)?;
        Some((ours, " when the function is left"))
    })
}

/// The first read of what the goroutine writes, on a way in a body that passes no wait and no write.
fn first_read(
    read: &Read<'_>,
    body: BodyId,
    from: Start,
    start: Option<At>,
    their: &Access,
) -> Option<Access> {
    let function = &read.function;
    let ours: Vec<Access> = access::of_body(function, body)
        .into_iter()
        .filter(|access| {
            !access.what.is_write()
                && access.fields == their.fields
                && !is_polled(function, access)
                && meet(function, their, access)
        })
        .collect();
    if ours.is_empty() {
        return None;
    }
    let wanted = |step: StepId| ours.iter().any(|access| access.at.step == step);
    let mut walk = Meanwhile { read, body, start, their, wanted: &wanted, leaves: false };
    let found = function.body(body).cfg.search(from, (), &mut walk);
    let PathEnd::Step(step) = found.first()?.end else { return None };
    ours.into_iter().find(|access| access.at.step == step)
}

/// Whether a read is of a flag, in a loop.
fn is_polled(function: &Function<'_>, access: &Access) -> bool {
    let ty = match access.expr {
        Some(expr) => function.info.type_of(expr),
        None => &function.info.local(access.variable).ty,
    };
    let is_flag = matches!(function.index.underlying(ty), Type::Basic(Basic::Bool));
    is_flag && function.body(access.at.body).cfg.reaches(access.at.step, access.at.step)
}

/// A walk along what a body does while the goroutine may write.
struct Meanwhile<'w, 'a> {
    read: &'w Read<'a>,
    body: BodyId,
    /// The `go` statement, where it is of this body.
    start: Option<At>,
    their: &'w Access,
    wanted: &'w dyn Fn(StepId) -> bool,
    /// Whether a way out is looked for.
    leaves: bool,
}

impl Meanwhile<'_, '_> {
    /// Whether a step gives the variable another value, or is of another variable from then on.
    fn renews(&self, at: At) -> bool {
        let function = &self.read.function;
        let mut here = Vec::new();
        access::of_step(function, at, &mut here);
        declares(function, at.body, at.step, self.their.variable)
            || here.iter().any(|access| {
                access.what == What::Written
                    && access.variable == self.their.variable
                    && self.their.fields.starts_with(&access.fields)
            })
    }

    /// Whether a step waits for something other than an answer from outside.
    fn waits(&self, at: At) -> bool {
        let outside = |what: Waited| {
            use catalog::Wait;
            matches!(what, Waited::Library(Wait::Http | Wait::Rpc | Wait::Sql))
        };
        let step = self.read.function.step(at);
        matches!(step, Step::Recv(_) | Step::Send(_) | Step::Select(_) | Step::Comm(_))
            || self.read.waits(at.body).iter().any(|(wait, it)| *wait == at && !outside(it.what))
    }
}

impl Walk for Meanwhile<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        let at = At { body: self.body, step };
        if (self.wanted)(step) {
            return Passing::Found;
        }
        let is_defer = matches!(self.read.function.step(at), Step::Defer(_));
        match self.start == Some(at) || self.renews(at) || !is_defer && self.waits(at) {
            true => Passing::Drop,
            false => Passing::On(()),
        }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        self.leaves && matches!(exit, Exit::Return(_) | Exit::End)
    }
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    begun: &Begun,
    their: &Access,
    ours: &Access,
    when: &str,
) -> Finding {
    let name = name(function, their);
    let (theirs, reads) = (verb(their), verb(ours));
    let message = format!(
        "the goroutine {theirs} `{name}` at a time that nobody can know, and this function {reads} `{name}`{when}: \
         nothing orders the two"
    );
    let mut finding = cx.finding(span(function, their), &format!("{theirs} `{name}`"), message);
    let mut label = |span: Span, role: Role, message: String| {
        finding.labels.push(Label { location: cx.location(span), role, message });
    };
    let variable = function.info.local(their.variable);
    label(variable.span, Role::Made, format!("both sides use the one `{}`", variable.name));
    let (start, told) = begun.start(function);
    label(start, Role::Started, told);
    label(span(function, ours), Role::Context, format!("this side {reads} `{name}`{when}"));
    finding.why =
        "after the write the goroutine does nothing that anybody could wait for".to_owned();
    finding.help =
        "close a channel at the end of the goroutine and receive from it before the read, or do without the \
         goroutine"
            .to_owned();
    finding.defect = finding.primary;
    finding
}
