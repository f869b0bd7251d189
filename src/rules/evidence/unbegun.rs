//! A wait for a goroutine that a method starts on one of its ways alone.
//!
//! Evidence: a channel in a field that is not exported. All that the package ever does with it is to make it, once;
//! to give it to one goroutine that a method starts; and to receive from it. On another way that method ends well
//! without having started that, by a choice that stays as it is for the object: a field that is set where it is
//! made, and nowhere else. A method waits for the channel with nothing beside, whatever was chosen: nobody
//! else can close it or send.

use rustc_hash::FxHashSet;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Exit, Passing, Start, StepId, Walk};
use crate::index::{Builtin, Callee, Def, LocalKind, Selection, Type};
use crate::rules::evidence::never_done::{field_of, may_select};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::rules::unended::is_in_variables;
use crate::rules::{FunctionCx, PackageCx};
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol, UnaryOp};

/// Reports the waits.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &["<-"]) || outside_tests(package, &["go "]).next().is_none() {
        return;
    }
    let mut seen: FxHashSet<Location> = FxHashSet::default();
    for scene in outside_tests(package, &["<-"]).filter_map(Scene::new) {
        for &node in scene.nodes.iter() {
            let Some(channel) = awaited(&scene, node) else { continue };
            let Some((field, location)) = field_of(&scene, channel) else { continue };
            if !seen.insert(location) || !comes_to(&scene, node) {
                continue;
            }
            if let Some(found) = check_field(package, &scene, field) {
                findings.push(tell(&scene, node, channel, &found));
            }
        }
    }
}

/// The field of the receiver that a receive waits for, with nothing beside, in the body of a method.
fn awaited(scene: &Scene<'_>, node: Node) -> Option<ExprId> {
    let Node::Expr(expr) = node else { return None };
    let ExprKind::Unary { op: UnaryOp::Recv, operand } = scene.file.expr(expr).kind else {
        return None;
    };
    let alone = scene.literal_around(node).is_none() && !scene.is_arm(expr);
    (alone && scene.is_of_receiver(operand)).then(|| scene.file.unparen(operand))
}

/// Whether a method comes to a wait on all its ways but those on which something failed.
fn comes_to(scene: &Scene<'_>, wait: Node) -> bool {
    let own = Node::Stmt(scene.body_of(None));
    let decides = |around: Node| match around {
        Node::Stmt(stmt) => !matches!(
            scene.file.stmt(stmt).kind,
            StmtKind::Block(_)
                | StmtKind::Expr(_)
                | StmtKind::Assign { .. }
                | StmtKind::Define { .. }
        ),
        Node::Expr(_) | Node::Decl(_) => false,
    };
    let start = scene.span(wait).start;
    !scene.around(wait).take_while(|&around| around != own).any(decides)
        && scene.nodes.iter().all(|&node| match node {
            Node::Stmt(stmt) if scene.span(node).start < start => {
                !matches!(scene.file.stmt(stmt).kind, StmtKind::Return(_))
                    || scene.literal_around(node).is_some()
            }
            _ => true,
        })
}

struct Unbegun<'a> {
    /// Where the channel is made.
    made: Location,
    starter: Scene<'a>,
    start: StmtId,
    /// The condition that chooses.
    chosen: ExprId,
}

fn check_field<'a>(
    package: &PackageCx<'a>,
    waiter: &Scene<'a>,
    field: &Selection,
) -> Option<Unbegun<'a>> {
    let of_package = package.index.package(package.package);
    let location = field.location?;
    if !of_package.holds(location.file) || is_in_variables(of_package, field.name) {
        return None;
    }
    let mut made = None;
    let mut started: Option<(Scene<'a>, StmtId)> = None;
    for scene in outside_tests(package, &[field.name.as_str()]).filter_map(Scene::new) {
        let mut here = None;
        for &node in scene.nodes.iter() {
            let Node::Expr(expr) = node else { continue };
            if let Some(value) = value_of_key(&scene, expr, field.name) {
                if !is_make(&scene, value) || made.is_some() {
                    return None;
                }
                made = Some(scene.cx.location(scene.span(Node::Expr(value))));
            }
            if !may_select(&scene, expr, field) {
                continue;
            }
            match used(&scene, expr)? {
                Used::Made(value) if made.is_none() => {
                    made = Some(scene.cx.location(scene.span(Node::Expr(value))));
                }
                Used::Given(start) if here.is_none() && started.is_none() => here = Some(start),
                Used::Received => {}
                Used::Made(_) | Used::Given(_) => return None,
            }
        }
        if let Some(start) = here {
            started = Some((scene, start));
        }
    }
    let (made, (starter, start)) = (made?, started?);
    let own = starter.cx.owner().is_some() && starter.cx.owner() == waiter.cx.owner();
    if !own
        || starter.cx.func == waiter.cx.func
        || starter.literal_around(Node::Stmt(start)).is_some()
        || !starter.loops_around(Node::Stmt(start)).is_empty()
        || starter.calls(waiter.cx.func).next().is_some()
    {
        return None;
    }
    let chosen = choice_around(&starter, start)?;
    (is_passed(&starter, start)
        && is_settled(package, &starter, chosen)
        && !knows(waiter, &starter))
    .then_some(Unbegun { made, starter, start, chosen })
}

enum Used {
    Made(ExprId),
    /// It is given to the goroutine that a statement starts.
    Given(StmtId),
    Received,
}

/// What is done with a field where it is named; `None` if that is anything else.
fn used(scene: &Scene<'_>, channel: ExprId) -> Option<Used> {
    match scene.parent(Node::Expr(channel))? {
        Node::Expr(around) => match scene.file.expr(around).kind {
            ExprKind::Unary { op: UnaryOp::Recv, .. } => Some(Used::Received),
            ExprKind::Call { .. } => {
                let start = scene.go_of(around)?;
                scene.given_to(channel)?;
                Some(Used::Given(start))
            }
            _ => None,
        },
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, op: None, right } => {
                let (&[target], &[value]) = (&left[..], &right[..]) else { return None };
                (scene.file.unparen(target) == channel && is_make(scene, value))
                    .then_some(Used::Made(value))
            }
            _ => None,
        },
        Node::Decl(_) => None,
    }
}

fn is_make(scene: &Scene<'_>, value: ExprId) -> bool {
    matches!(scene.info.callee(scene.file.unparen(value)), Callee::Builtin(Builtin::Make))
}

/// What a literal of a struct sets a field of this name to.
fn value_of_key(scene: &Scene<'_>, literal: ExprId, name: Symbol) -> Option<ExprId> {
    let ExprKind::CompositeLit { elements, .. } = &scene.file.expr(literal).kind else {
        return None;
    };
    let of_name =
        |key: ExprId| matches!(scene.file.expr(key).kind, ExprKind::Ident(key) if key == name);
    elements.iter().find(|element| element.key.is_some_and(of_name)).map(|element| element.value)
}

/// The condition of the only `if` around a statement.
fn choice_around(scene: &Scene<'_>, start: StmtId) -> Option<ExprId> {
    let own = Node::Stmt(scene.body_of(None));
    let mut chosen = None;
    for around in scene.around(Node::Stmt(start)).take_while(|&around| around != own) {
        let Node::Stmt(stmt) = around else { return None };
        match scene.file.stmt(stmt).kind {
            StmtKind::Block(_) => {}
            StmtKind::If { cond, .. } if chosen.is_none() => chosen = Some(cond),
            _ => return None,
        }
    }
    chosen
}

/// Whether a method may end well without having come to a statement.
fn is_passed(scene: &Scene<'_>, start: StmtId) -> bool {
    let Some(graph) = scene.graph(None) else { return false };
    let Some(step) = graph.step_of_stmt(start) else { return false };
    let Type::Func(signature) = scene.cx.index().func_type(scene.cx.func) else { return false };
    let of_error = signature.results.last().is_some_and(|result| result.is_error());
    let mut walk = Past { scene, step, of_error };
    graph.finds(Start::Entry, (), &mut walk)
}

struct Past<'p, 'a> {
    scene: &'p Scene<'a>,
    step: StepId,
    of_error: bool,
}

impl Walk for Past<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.step { Passing::Drop } else { Passing::On(()) }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        let Exit::Return(stmt) = exit else { return matches!(exit, Exit::End) };
        let StmtKind::Return(results) = &self.scene.file.stmt(stmt).kind else { return false };
        !self.of_error || results.last().is_some_and(|&last| self.scene.is_nil(last))
    }
}

/// Whether a condition rests on nothing but what an object is made with: fields of the receiver that nobody sets
/// but those who make one, parts of them, and what functions say of these.
fn is_settled(package: &PackageCx<'_>, scene: &Scene<'_>, condition: ExprId) -> bool {
    let mut fields = 0;
    let settled = scene.file.descendants(Node::Expr(condition)).all(|node| {
        let Node::Expr(expr) = node else { return false };
        match &scene.file.expr(expr).kind {
            ExprKind::Call { .. } => match scene.info.callee(expr) {
                Callee::Func(func) => scene.cx.index().func(*func).receiver.is_none(),
                Callee::External(name) => name.receiver.is_none(),
                Callee::Builtin(_) | Callee::Conversion(_) => true,
                _ => false,
            },
            ExprKind::Unary { op, .. } => *op == UnaryOp::Not,
            ExprKind::Selector { .. } => match scene.info.resolve(expr) {
                Def::Field(field) => {
                    fields += usize::from(scene.is_of_receiver(expr));
                    is_never_set(package, field)
                }
                _ => true,
            },
            ExprKind::Ident(_) => scene.local(expr).is_none_or(|local| {
                let variable = scene.info.local(local);
                variable.kind == LocalKind::Receiver || matches!(variable.ty, Type::Func(_))
            }),
            ExprKind::Paren(_) | ExprKind::Binary { .. } | ExprKind::BasicLit(_) => true,
            _ => false,
        }
    });
    settled && fields > 0
}

/// Whether no method of the package sets a field or takes its address.
fn is_never_set(package: &PackageCx<'_>, field: &Selection) -> bool {
    outside_tests(package, &[field.name.as_str()]).filter_map(Scene::new).all(|scene| {
        scene.cx.owner().is_none()
            || scene.nodes.iter().all(|&node| {
                let Node::Expr(expr) = node else { return true };
                !may_select(&scene, expr, field) || is_read(&scene, expr)
            })
    })
}

fn is_read(scene: &Scene<'_>, expr: ExprId) -> bool {
    let addressed = match scene.parent(Node::Expr(expr)) {
        Some(Node::Expr(around)) => {
            matches!(scene.file.expr(around).kind, ExprKind::Unary { op: UnaryOp::Addr, .. })
        }
        Some(Node::Stmt(stmt)) => matches!(scene.file.stmt(stmt).kind, StmtKind::IncDec { .. }),
        _ => false,
    };
    !addressed && !scene.is_target(expr)
}

/// Whether who calls a method that waits asks for something which the starter sets or decides by.
fn knows(waiter: &Scene<'_>, starter: &Scene<'_>) -> bool {
    let spoken: FxHashSet<Symbol> = starter
        .nodes
        .iter()
        .filter_map(|&node| match node {
            Node::Expr(expr) => scene_field(starter, expr),
            _ => None,
        })
        .collect();
    let uses = waiter.cx.package.uses();
    let calls = uses.calls.get(&waiter.cx.func).map_or(&[][..], Vec::as_slice);
    calls.iter().any(|&(func, _)| {
        let Some(caller) = Scene::new(FunctionCx { func, ..waiter.cx }) else { return true };
        caller.nodes.iter().any(|&node| {
            let Node::Stmt(stmt) = node else { return false };
            let StmtKind::If { cond, .. } = caller.file.stmt(stmt).kind else { return false };
            caller.file.descendants(Node::Expr(cond)).any(|node| match node {
                Node::Expr(expr) => {
                    scene_field(&caller, expr).is_some_and(|field| spoken.contains(&field))
                }
                _ => false,
            })
        })
    })
}

fn scene_field(scene: &Scene<'_>, expr: ExprId) -> Option<Symbol> {
    scene.selector(expr).map(|(_, name)| name.name)
}

fn tell(scene: &Scene<'_>, wait: Node, channel: ExprId, found: &Unbegun<'_>) -> Finding {
    let name = scene.text(channel);
    let starter = &found.starter;
    let message = format!(
        "nobody is there to end this wait for `{name}` when `{}` has gone the other way: only what it starts on one \
         gets the channel",
        starter.name.name
    );
    let mut finding = scene.cx.finding(first_line(scene, scene.span(wait)), "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: found.made,
        role: Role::Made,
        message: "made here".to_owned(),
    });
    let mut label = |node: Node, role: Role, message: &str| {
        let location = starter.cx.location(first_line(starter, starter.span(node)));
        finding.labels.push(Label { location, role, message: message.to_owned() });
    };
    label(Node::Expr(found.chosen), Role::Condition, "decided here");
    label(Node::Stmt(found.start), Role::Context, "given away here, and nowhere else");
    finding.why = format!(
        "nothing else in the package closes `{name}` or sends on it, and the wait does not ask what was decided"
    );
    finding.help =
        "wait only where the goroutine was started, or close the channel where it is not"
            .to_owned();
    finding
}
