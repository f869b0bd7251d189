//! `done-arm-does-not-leave`: a `for`/`select` that learns that everything is over and goes round
//! again.
//!
//! The claim is made on the graph alone: from the arm no path leaves the function without passing
//! the same `select` again, and nothing on those paths can wait, or change what the arm receives
//! from.

mod asked_only;
mod ticker;
mod timer;
mod unreached;

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Exit, Passing, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Builtin, Callee, Def, LocalId};
use crate::rules::scene::holds_any;
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::{FileId, Span};
use crate::summary::{At, Function, Root};
use crate::syntax::{
    Body, BranchKind, CommClause, DeclKind, Element, ExprId, ExprKind, File, Node, Parents,
    StmtKind, UnaryOp,
};

pub const RULE: Rule = Rule {
    page: include_str!("../../rules/done-arm-does-not-leave.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["select"]) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let function = &read.function;
    findings.extend(timer::check(cx, function));
    findings.extend(unreached::check(cx));
    for body in function.bodies() {
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            let Step::Select(stmt) = cfg.step(step) else { continue };
            let StmtKind::Select(clauses) = &function.file.stmt(stmt).kind else { continue };
            for clause in clauses {
                let select = At { body, step };
                let found = check_arm(cx, function, select, clause);
                findings.extend(
                    found.or_else(|| asked_only::check(cx, function, select, clauses, clause)),
                );
            }
            findings.extend(ticker::check(cx, function, At { body, step }, clauses));
        }
    }
}

/// What an arm receives from once everything is over.
struct Over {
    /// As the finding says it: `ctx` is done, `s.stop` is closed.
    told: String,
    /// The variables that the channel is reached by.
    variables: Vec<LocalId>,
}

fn check_arm(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    select: At,
    clause: &CommClause,
) -> Option<Finding> {
    let file = function.file;
    let comm = clause.comm?;
    let channel = Step::Comm(comm).received_from(file)?;
    let cfg = &function.body(select.body).cfg;
    let arm = cfg.step_of_stmt(comm)?;
    let (comes_back, leaves, steps) = round(function, select, arm)?;
    if !comes_back || leaves {
        return None;
    }
    let over = over(cx, function, select, channel)?;
    if steps.iter().any(|&step| touches(function, select, step, &over.variables)) {
        return None;
    }
    let bare_break = bare_break(file, clause);
    if others_leave(function, select, arm) && bare_break.is_none() {
        return None;
    }
    Some(finding(cx, function, channel, &over, bare_break))
}

/// Whether an arm comes back to its `select`, whether it leaves, and what it does; `None` if it may
/// wait.
fn round(function: &Function<'_>, select: At, arm: StepId) -> Option<(bool, bool, Vec<StepId>)> {
    let mut round = Round { function, select, waits: false, steps: Vec::new() };
    let cfg = &function.body(select.body).cfg;
    let ends = cfg.search(Start::After(arm), (), &mut round);
    let comes_back = ends.iter().any(|end| matches!(end.end, PathEnd::Step(_)));
    let leaves = ends.iter().any(|end| matches!(end.end, PathEnd::Exit(..)));
    (!round.waits).then_some((comes_back, leaves, round.steps))
}

/// A walk from the arm until the `select` comes round again.
struct Round<'f, 'a> {
    function: &'f Function<'a>,
    select: At,
    /// Whether something on the way waits, or may.
    waits: bool,
    /// What is passed.
    steps: Vec<StepId>,
}

impl Walk for Round<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.select.step {
            return Passing::Found;
        }
        let what = self.function.step(At { body: self.select.body, step });
        self.waits |=
            matches!(what, Step::Recv(_) | Step::Send(_) | Step::Select(_) | Step::Next(_));
        self.steps.push(step);
        Passing::On(())
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        true
    }
}

/// Whether passing `step` may end the loop, or change what the arm receives from: it assigns a
/// variable that the channel is reached by, or one that a condition or channel of the loop looks
/// at, or it calls something that may do so or not come back.
fn touches(function: &Function<'_>, select: At, step: StepId, variables: &[LocalId]) -> bool {
    let file = function.file;
    match function.step(At { body: select.body, step }) {
        Step::Missing(_) => true,
        Step::Assign(stmt) => {
            let (StmtKind::Assign { left, .. } | StmtKind::Define { left, .. }) =
                &file.stmt(stmt).kind
            else {
                return false;
            };
            left.iter().any(|&target| match base_variable(function, target) {
                Some(local) => variables.contains(&local),
                None => !matches!(function.info.resolve(file.unparen(target)), Def::Blank),
            })
        }
        Step::Call(call) => may_not_return(function, call),
        _ => false,
    }
}

/// Whether a call of which nothing is known is named like one that ends the program.
fn may_not_return(function: &Function<'_>, call: ExprId) -> bool {
    let name = match function.info.callee(call) {
        Callee::External(name) => name.name,
        Callee::InterfaceMethod(selection) => selection.name,
        Callee::Unknown { name: Some(name) } => *name,
        Callee::Value(_) | Callee::Unknown { name: None } => return true,
        _ => return false,
    };
    may_end(name.as_str())
}

/// Whether a name says that a call may end the goroutine or the program.
fn may_end(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["fatal", "exit", "panic", "die", "abort", "quit", "fail"].iter().any(|end| name.contains(end))
}

/// The local variable at the root of `x`, `x.f`, `*x`, `x[i]`.
fn base_variable(function: &Function<'_>, expr: ExprId) -> Option<LocalId> {
    let file = function.file;
    let mut at = expr;
    loop {
        at = file.unparen(at);
        match &file.expr(at).kind {
            ExprKind::Ident(_) => {
                return match function.info.resolve(at) {
                    Def::Local(local) => Some(*local),
                    _ => None,
                };
            }
            ExprKind::Selector { base, .. } | ExprKind::Index { base, .. } => at = *base,
            ExprKind::Star(operand) => at = *operand,
            ExprKind::Call { callee, .. } => at = *callee,
            _ => return None,
        }
    }
}

/// What it means that `channel` is ready for good, if it means that.
fn over(cx: &FunctionCx<'_>, function: &Function<'_>, select: At, channel: ExprId) -> Option<Over> {
    let file = function.file;
    let channel = file.unparen(channel);
    let variables: Vec<LocalId> = base_variable(function, channel).into_iter().collect();
    if let Some(context) = function.done_of(channel) {
        let told = format!("`{}` is done", function.text(context));
        return Some(Over { told, variables });
    }
    let places = function.places(select, channel);
    if let Some(place) = places.only()
        && let Root::Call(call, 0) = place.root
        && place.path.is_empty()
        && let Some(context) = function.done_of(call)
    {
        let told = format!("`{}` is done", function.text(context));
        return Some(Over { told, variables });
    }
    if !only_closed(cx, function, channel) {
        return None;
    }
    Some(Over { told: format!("`{}` is closed", function.text(channel)), variables })
}

/// Whether nothing is ever sent on the channel variable or field `channel`, it is closed
/// somewhere in the package, and the package keeps it to itself: every use is one that can be
/// judged.
fn only_closed(cx: &FunctionCx<'_>, function: &Function<'_>, channel: ExprId) -> bool {
    if !function.index.is_signal(function.info.type_of(channel)) {
        return false;
    }
    let wanted = match function.info.resolve(channel) {
        Def::Field(selection) => match (selection.owner.named(), selection.location) {
            (Some(_), Some(location)) if !selection.name.is_exported() => {
                Wanted::Field(location.file, location.span)
            }
            _ => return false,
        },
        Def::Local(local) => Wanted::Local(*local),
        _ => return false,
    };
    let package = cx.index().package(cx.package.package);
    let mut closed = false;
    for func in &package.funcs {
        if matches!(wanted, Wanted::Local(_)) && func.id != cx.func {
            continue;
        }
        let file = cx.index().file_of(func.id);
        let DeclKind::Func(declared) = &file.decl(func.decl).kind else { continue };
        let Body::Parsed(block) = file.body(declared) else { continue };
        let root = Node::Stmt(block);
        let info = cx.index().body(func.id);
        let mut parents: Option<Parents> = None;
        for node in file.descendants(root) {
            let Node::Expr(expr) = node else { continue };
            if !wanted.is(info.resolve(expr)) {
                continue;
            }
            let parents = parents.get_or_insert_with(|| file.parents(root));
            match usage(file, parents, expr, |call| {
                matches!(info.callee(call), Callee::Builtin(Builtin::Close))
            }) {
                Usage::Closed => closed = true,
                Usage::Harmless => {}
                Usage::Other => return false,
            }
        }
    }
    closed
}

enum Wanted {
    Field(FileId, Span),
    Local(LocalId),
}

impl Wanted {
    fn is(&self, def: &Def) -> bool {
        match (self, def) {
            (Wanted::Field(file, span), Def::Field(selection)) => {
                selection.location.is_some_and(|at| at.file == *file && at.span == *span)
            }
            (Wanted::Local(wanted), Def::Local(local)) => wanted == local,
            _ => false,
        }
    }
}

enum Usage {
    Closed,
    /// Received from, made, or compared.
    Harmless,
    Other,
}

fn usage(file: &File, parents: &Parents, expr: ExprId, is_close: impl Fn(ExprId) -> bool) -> Usage {
    let node = Node::Expr(expr);
    let is_make = |value: ExprId| match file.expr(file.unparen(value)).kind {
        ExprKind::Call { callee, .. } => {
            matches!(file.expr(callee).kind, ExprKind::Ident(name) if name.as_str() == "make")
        }
        _ => false,
    };
    match parents.of(node) {
        Some(Node::Expr(parent)) => match &file.expr(parent).kind {
            ExprKind::Unary { op: UnaryOp::Recv, .. } | ExprKind::Binary { .. } => Usage::Harmless,
            ExprKind::Call { args, .. } if args.contains(&expr) && is_close(parent) => {
                Usage::Closed
            }
            ExprKind::CompositeLit { elements, .. } => {
                let made = |element: &Element| element.key == Some(expr) && is_make(element.value);
                if elements.iter().any(made) { Usage::Harmless } else { Usage::Other }
            }
            _ => Usage::Other,
        },
        Some(Node::Stmt(parent)) => match &file.stmt(parent).kind {
            StmtKind::Assign { left, op: None, right } | StmtKind::Define { left, right } => {
                let target = left.iter().position(|&target| target == expr);
                match target.and_then(|target| right.get(target)) {
                    Some(&value) if left.len() == right.len() && is_make(value) => Usage::Harmless,
                    _ => Usage::Other,
                }
            }
            _ => Usage::Other,
        },
        _ => Usage::Other,
    }
}

/// Whether some path from the `select` by another arm leaves the function.
fn others_leave(function: &Function<'_>, select: At, arm: StepId) -> bool {
    struct Others(StepId);
    impl Walk for Others {
        type State = ();
        fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
            if step == self.0 { Passing::Drop } else { Passing::On(()) }
        }
        fn passes_missing(&self) -> bool {
            true
        }
        fn exit(&mut self, (): &(), _: Exit) -> bool {
            true
        }
    }
    let cfg = &function.body(select.body).cfg;
    cfg.finds(Start::After(select.step), (), &mut Others(arm))
}

/// The unlabelled `break` that ends the arm: it leaves the `select` and nothing else.
fn bare_break(file: &File, clause: &CommClause) -> Option<Span> {
    let last = file.stmt(*clause.body.last()?);
    match last.kind {
        StmtKind::Branch { kind: BranchKind::Break, label: None } => Some(last.span),
        _ => None,
    }
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    channel: ExprId,
    over: &Over,
    bare_break: Option<Span>,
) -> Finding {
    let span = function.file.expr(channel).span;
    let message = format!(
        "once {}, this loop spins for ever: the arm neither returns nor leaves the loop, and is \
         ready again at once",
        over.told
    );
    let mut finding = cx.finding(span, "always ready from then on", message);
    if let Some(span) = bare_break {
        finding.labels.push(Label {
            location: cx.location(span),
            role: Role::Left,
            message: "this `break` leaves the `select`, not the loop around it".to_owned(),
        });
        finding.confidence = Confidence::High;
    }
    finding.why = format!(
        "a receive from a closed channel never waits, so once {}, `select` takes this arm in every turn",
        over.told
    );
    finding.help = "`return` here, or give the loop a label and `break` to it".to_owned();
    finding
}
