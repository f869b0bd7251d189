//! A wait for the answer to a request that may never have been handed over.
//!
//! Evidence: a function makes a channel for the answer, puts it into a request, and gives that to a function of the
//! package with something that ends; that function sends the request once, in a `select` which is left when the end has
//! come, and says nothing of which it was. Who then waits for the answer does not look at that end: nobody has the
//! request, and nobody answers.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Builtin, Callee, FuncId, LocalId, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::conditions::locals_in;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::source::{Location, Span};
use crate::summary::{Function, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// Reports the waits of the function for answers that cannot come once something has ended.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    let function = &read.function;
    let answers = |request: ExprId| {
        let mut named = locals_in(function, Node::Expr(request));
        named.retain(|&local| is_made(function, local));
        named
    };
    for &node in scene.nodes.iter() {
        let Node::Stmt(stmt) = node else { continue };
        let StmtKind::Expr(call) = scene.file.stmt(stmt).kind else { continue };
        let call = scene.file.unparen(call);
        let Callee::Func(to) = *scene.info.callee(call) else { continue };
        let args = scene.args(call);
        let is_own = to.package == scene.cx.package.package && to != scene.cx.func;
        if !is_own || args.iter().all(|&arg| answers(arg).is_empty()) {
            continue;
        }
        let Some(sender) = Sender::of(scene, to) else { continue };
        let given = |place: u32| args.get(place as usize).copied();
        let (Some(request), Some(end)) = (given(sender.value), given(sender.end)) else { continue };
        if scene.is_nil(end) {
            continue;
        }
        for answer in answers(request) {
            findings.extend(lost(scene, function, call, answer, end, &sender));
        }
    }
}

/// A function that sends what it is given, or gives up.
struct Sender {
    /// The parameter that it sends.
    value: u32,
    /// The parameter that ends the try.
    end: u32,
    /// Where it gives up.
    gives_up: Location,
}

impl Sender {
    fn of(scene: &Scene<'_>, func: FuncId) -> Option<Sender> {
        let Type::Func(signature) = scene.cx.index().func_type(func) else { return None };
        if !signature.results.is_empty() {
            return None;
        }
        let scene = Scene::new(FunctionCx { func, ..scene.cx })?;
        let read = scene.cx.summaries().read(func)?;
        let param = |expr: ExprId| match scene.info.local(scene.local(expr)?).kind {
            LocalKind::Param(place) => Some(place),
            _ => None,
        };
        let mut found = None;
        for &node in scene.nodes.iter() {
            let Node::Stmt(stmt) = node else { continue };
            match &scene.file.stmt(stmt).kind {
                // Where it sends elsewhere too, more than one may have the request.
                StmtKind::Send { .. } if found.is_none() => {
                    let Some(Node::Stmt(select)) = scene.parent(node) else { return None };
                    found = Some((select, stmt));
                }
                StmtKind::Send { .. } => return None,
                _ => {}
            }
        }
        let (select, send) = found?;
        let StmtKind::Send { value, .. } = scene.file.stmt(send).kind else { return None };
        let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
        let value = param(value)?;
        clauses.iter().find_map(|clause| {
            let comm = clause.comm?;
            let from = Step::Comm(comm).received_from(scene.file)?;
            let end = param(from).or_else(|| param(read.function.done_of(from)?))?;
            let span = first_line(&scene, scene.span(Node::Stmt(comm)));
            Some(Sender { value, end, gives_up: scene.cx.location(span) })
        })
    }
}

/// Whether a variable is a channel of the function that is made once.
fn is_made(function: &Function<'_>, local: LocalId) -> bool {
    let declared = function.info.local(local);
    let is_make =
        |made: ExprId| matches!(function.info.callee(made), Callee::Builtin(Builtin::Make));
    declared.kind == LocalKind::Var
        && matches!(declared.ty, Type::Chan(..))
        && function
            .only_definition_of(local)
            .is_some_and(|only| matches!(only.source, Source::Expr(made) if is_make(made)))
}

/// The wait for an answer behind the call that may not hand the request over, if it does not look at the end.
fn lost(
    scene: &Scene<'_>,
    function: &Function<'_>,
    call: ExprId,
    answer: LocalId,
    end: ExprId,
    sender: &Sender,
) -> Option<Finding> {
    let (home, called) = (scene.literal_around(Node::Expr(call)), scene.span(Node::Expr(call)));
    let end = scene.text(function.done_of(end).unwrap_or(end));
    let is_end = |channel: ExprId| {
        scene.text(channel) == end
            || function.done_of(channel).is_some_and(|context| scene.text(context) == end)
    };
    let received = |comm: StmtId| Step::Comm(comm).received_from(scene.file);
    let of_answer =
        |comm: StmtId| received(comm).is_some_and(|from| scene.local(from) == Some(answer));
    let later =
        |node: Node| scene.span(node).start >= called.end && scene.literal_around(node) == home;
    let wait =
        scene.nodes.iter().copied().filter(|&node| later(node)).find(|&node| match node {
            Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                StmtKind::Select(clauses) => clauses.iter().filter_map(|it| it.comm).any(of_answer),
                _ => false,
            },
            Node::Expr(expr) => match scene.file.expr(expr).kind {
                ExprKind::Unary { op: UnaryOp::Recv, operand } => {
                    scene.local(operand) == Some(answer)
                }
                _ => false,
            },
            Node::Decl(_) => false,
        })?;
    let others: Vec<ExprId> = match wait {
        Node::Stmt(select) => match &scene.file.stmt(select).kind {
            StmtKind::Select(clauses) => {
                // With a `default` it waits for nobody.
                let comms = clauses.iter().map(|it| it.comm).collect::<Option<Vec<StmtId>>>()?;
                let others = comms.into_iter().filter(|&comm| !of_answer(comm));
                others.filter_map(received).collect()
            }
            _ => return None,
        },
        _ => Vec::new(),
    };
    if others.iter().any(|&other| is_end(other)) {
        return None;
    }
    // Who asks in between whether the end has come knows.
    let between = scene.file.source.slice(Span::new(called.end, scene.span(wait).start));
    if memchr::memmem::find(between, b"if ").is_some() {
        return None;
    }
    let name = scene.info.local(answer).name;
    let callee = match scene.file.expr(call).kind {
        ExprKind::Call { callee, .. } => scene.text(callee),
        _ => return None,
    };
    let message = format!(
        "nobody answers on `{name}` when `{callee}` has given up at the end of `{end}`: the request was not sent"
    );
    let span = first_line(scene, scene.span(wait));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: scene.cx.location(first_line(scene, called)),
        role: Role::Context,
        message: "says nothing of whether it has sent the request".to_owned(),
    });
    finding.labels.push(Label {
        location: sender.gives_up,
        role: Role::Left,
        message: "it gives up here".to_owned(),
    });
    finding.why = match others.first() {
        Some(&last) => format!("only `{}` ends this wait then", scene.text(last)),
        None => "nothing ends this wait then".to_owned(),
    };
    finding.help = format!("wait for `{end}` here, too, or let `{callee}` say whether it has sent");
    Some(finding)
}
