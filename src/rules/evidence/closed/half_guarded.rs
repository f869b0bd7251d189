//! A channel that is closed unasked beside one whose close is kept from coming twice.
//!
//! Evidence: a method that others call closes a field of its receiver once only, however often it is called (in the
//! `default` of a `select` that receives from it, in the function of a `sync.Once`, or behind a flag or an atomic
//! exchange of its own), and nobody else closes that one: so the method itself says that it may be called again. On
//! each way through it, the one on which that was closed already among them, it also closes another field, or calls
//! a method of a field that does. Nothing makes that one again or sets it to nil, so the second call panics.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, Exit, Passing, Start, StepId, Walk};
use crate::index::Callee;
use crate::rules::evidence::caught::catches;
use crate::rules::evidence::closed::finding;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::{first_line, is_addressed};
use crate::rules::scene::{Scene, compared_with_nil, naming};
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Ident, Node, StmtKind, UnaryOp};

/// Reports a close that comes with each call of a method that is made for more than one.
pub(super) fn again(groups: &Groups<'_>, close: &Op) -> Option<Finding> {
    let closer = &groups.scenes[close.scene];
    if close.literal.is_some() || !closer.is_of_receiver(close.channel) || catches(closer, None) {
        return None;
    }
    let field = Field::of(closer, close.channel)?;
    if !comes_always(closer, close.node, field) {
        return None;
    }
    let own = close.scene;
    if let Some(guard) = guard_in(groups, own, field) {
        return (closer.name.name.is_exported() && stays(closer, field))
            .then(|| told(groups, close, guard, None));
    }
    let uses = closer.cx.package.uses();
    let calls = uses.calls.get(&closer.cx.func)?;
    calls.iter().find_map(|&(caller, call)| {
        let number = groups.scenes.iter().position(|scene| scene.cx.func == caller)?;
        let caller = &groups.scenes[number];
        let (part, _) = caller.method_call(call)?;
        let of = Field::of(caller, part)?;
        let in_turn =
            caller.literal_around(Node::Expr(call)).is_none() && caller.go_of(call).is_none();
        if !in_turn
            || number == own
            || !caller.name.name.is_exported()
            || !caller.is_of_receiver(part)
            || catches(caller, None)
            || !comes_always(caller, Node::Expr(call), of)
        {
            return None;
        }
        let guard = guard_in(groups, number, field)?;
        (stays(closer, field) && stays(caller, of))
            .then(|| told(groups, close, guard, Some((number, call))))
    })
}

fn told(
    groups: &Groups<'_>,
    close: &Op,
    guard: Guard<'_>,
    through: Option<(usize, ExprId)>,
) -> Finding {
    let scene = &groups.scenes[close.scene];
    let method = &groups.scenes[guard.close.scene];
    let name = scene.text(close.channel);
    let kept = method.text(guard.close.channel);
    let message = format!(
        "`{name}` is closed again when `{}` is called again, from which only `{kept}` is kept: that panics",
        method.name.name
    );
    let mut finding = finding(groups, close, message);
    let mut labelled = |node: Node, message: String| {
        let location = method.cx.location(first_line(method, method.span(node)));
        finding.labels.push(Label { location, role: Role::Context, message });
    };
    labelled(guard.node, format!("a second call does not close `{kept}`, and goes on"));
    if let Some((_, call)) = through {
        labelled(Node::Expr(call), "and comes here each time".to_owned());
    }
    finding.why = "closing a closed channel panics".to_owned();
    finding.help =
        format!("close both where `{kept}` is closed, or return where that was closed before");
    finding
}

/// A field of the receiver.
#[derive(Clone, Copy)]
struct Field {
    at: Location,
    name: Ident,
}

impl Field {
    fn of(scene: &Scene<'_>, expr: ExprId) -> Option<Field> {
        let (_, name) = scene.selector(expr)?;
        Some(Field { at: scene.field(expr)?, name })
    }
}

/// What keeps a close from coming twice.
struct Guard<'g> {
    /// The close that is kept from that.
    close: &'g Op,
    /// What keeps it.
    node: Node,
}

/// What keeps a close of another field from coming twice, in a function that goes on whether it does or not.
fn guard_in<'g>(groups: &'g Groups<'_>, number: usize, other: Field) -> Option<Guard<'g>> {
    let scene = &groups.scenes[number];
    groups.all().iter().find_map(|group| {
        let mut closes = group.ops.iter().filter(|op| op.act == Act::Close);
        let close = closes.next().filter(|_| closes.next().is_none())?;
        if close.scene != number
            || !scene.is_of_receiver(close.channel)
            || scene.field(close.channel) == Some(other.at)
            || !scene.loops_around(close.node).is_empty()
        {
            return None;
        }
        let node = in_select(scene, group, close)
            .filter(|_| !group.open)
            .or_else(|| in_once(scene, close))
            .or_else(|| behind_flag(scene, close))?;
        Some(Guard { close, node })
    })
}

/// The `select` in whose `default` a channel is closed that is received from beside.
pub(super) fn in_select(scene: &Scene<'_>, group: &Group, close: &Op) -> Option<Node> {
    if close.literal.is_some() {
        return None;
    }
    let select = scene.around(close.node).find_map(|around| match around {
        Node::Stmt(stmt) if matches!(scene.file.stmt(stmt).kind, StmtKind::Select(_)) => Some(stmt),
        _ => None,
    })?;
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
    let [one, two] = &clauses[..] else { return None };
    let (asks, closes) = if one.comm.is_none() { (two, one) } else { (one, two) };
    let own = scene.field(close.channel);
    let is_asked = group.ops.iter().any(|op| {
        op.act == Act::Receive
            && op.scene == close.scene
            && op.select.is_some_and(|(of, _)| of == select)
            && scene.field(op.channel) == own
    });
    let is_default = closes.comm.is_none() && closes.span.contains(scene.span(close.node));
    (is_default && is_asked && asks.body.is_empty()).then_some(Node::Stmt(select))
}

/// The call of `Do` that a channel is closed in, if no other function has that `sync.Once`.
fn in_once(scene: &Scene<'_>, close: &Op) -> Option<Node> {
    let literal = close.literal?;
    let call = scene.given_to(literal)?;
    let (once, name) = scene.method_call(call)?;
    let is_once = scene.info.type_of(once).strip_pointer().is_named("sync", "Once");
    let own = is_once
        && name.name.as_str() == "Do"
        && scene.literal_around(Node::Expr(call)).is_none()
        && scene.is_of_receiver(once);
    let field = own.then(|| Field::of(scene, once))??;
    let mut users = naming(&scene.cx, field.name.name);
    let elsewhere = users.any(|user| {
        user.cx.func != scene.cx.func
            && user.nodes.iter().any(|&node| match node {
                Node::Expr(expr) => user.field(expr) == Some(field.at),
                _ => false,
            })
    });
    (!elsewhere).then_some(Node::Expr(call))
}

/// The condition that a channel is closed behind: that a flag was not set before, which is set there, or that an
/// atomic exchange says so.
fn behind_flag(scene: &Scene<'_>, close: &Op) -> Option<Node> {
    if close.literal.is_some() {
        return None;
    }
    let around = scene.around(close.node).find_map(|around| match around {
        Node::Stmt(stmt) => match scene.file.stmt(stmt).kind {
            StmtKind::If { cond, then, init: None, .. } => Some((stmt, cond, then)),
            _ => None,
        },
        _ => None,
    });
    let (stmt, cond, then) = around?;
    if !scene.span(Node::Stmt(then)).contains(scene.span(close.node)) {
        return None;
    }
    let cond = scene.file.unparen(cond);
    if let Some((base, name)) = scene.method_call(cond) {
        let exchanges = matches!(name.name.as_str(), "CompareAndSwap" | "CAS");
        return (exchanges && scene.is_of_receiver(base) && is_own(scene, base))
            .then_some(Node::Expr(cond));
    }
    if let ExprKind::Call { .. } = scene.file.expr(cond).kind {
        let name = scene.info.callee(cond).qualified(scene.cx.index())?;
        let exchanges =
            name.path.as_str() == "sync/atomic" && name.name.as_str().starts_with("CompareAndSwap");
        let &first = scene.args(cond).first()?;
        let ExprKind::Unary { op: UnaryOp::Addr, operand } =
            scene.file.expr(scene.file.unparen(first)).kind
        else {
            return None;
        };
        return (exchanges && scene.is_of_receiver(operand) && is_own(scene, operand))
            .then_some(Node::Expr(cond));
    }
    let ExprKind::Unary { op: UnaryOp::Not, operand } = scene.file.expr(cond).kind else {
        return None;
    };
    let flag = Field::of(scene, operand).filter(|_| scene.is_of_receiver(operand))?;
    let sets = scene.file.descendants(Node::Stmt(then)).any(|node| match node {
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, op: None, .. } => {
                left.iter().any(|&left| scene.field(left) == Some(flag.at))
            }
            _ => false,
        },
        _ => false,
    });
    (sets && is_own(scene, operand)).then_some(Node::Stmt(stmt))
}

/// Whether no other function than this sets a field that is its flag, nor takes its address.
fn is_own(scene: &Scene<'_>, flag: ExprId) -> bool {
    let Some(flag) = Field::of(scene, flag) else { return false };
    let mut users = naming(&scene.cx, flag.name.name);
    !users.any(|user| {
        user.cx.func != scene.cx.func
            && user.nodes.iter().any(|&node| match node {
                Node::Expr(expr) if user.field(expr) == Some(flag.at) => {
                    let changes = |(_, name): (ExprId, Ident)| name.name.as_str() != "Load";
                    let method = user.parent(node).and_then(|around| match around {
                        Node::Expr(selector) => user.selector(selector),
                        _ => None,
                    });
                    user.is_target(expr) || is_addressed(&user, expr) || method.is_some_and(changes)
                }
                _ => false,
            })
    })
}

/// Whether a field keeps what it has been set to: nobody sets it to nil or takes its address, and `scene`, which
/// closes it, or what that calls, does not set it at all.
fn stays(scene: &Scene<'_>, field: Field) -> bool {
    let called = |scene: &Scene<'_>| -> Vec<_> {
        let calls = scene.nodes.iter().filter_map(|&node| match node {
            Node::Expr(call) => match *scene.info.callee(call) {
                Callee::Func(func) => Some(func),
                _ => None,
            },
            _ => None,
        });
        calls.collect()
    };
    let own = called(scene);
    naming(&scene.cx, field.name.name).all(|user| {
        let is_near = user.cx.func == scene.cx.func || own.contains(&user.cx.func);
        user.nodes.iter().all(|&node| match node {
            Node::Expr(expr) if user.field(expr) == Some(field.at) => {
                !is_addressed(&user, expr)
                    && !(user.is_target(expr) && (is_near || is_cleared(&user, expr)))
            }
            // All at once: `*x = T{}`.
            Node::Stmt(stmt) if is_near => match &user.file.stmt(stmt).kind {
                StmtKind::Assign { left, .. } => {
                    !left.iter().any(|&left| matches!(user.file.expr(left).kind, ExprKind::Star(_)))
                }
                _ => true,
            },
            _ => true,
        })
    })
}

/// Whether what is assigned to is set to nil.
fn is_cleared(scene: &Scene<'_>, target: ExprId) -> bool {
    let Some(Node::Stmt(stmt)) = scene.parent(Node::Expr(target)) else { return false };
    let StmtKind::Assign { left, right, .. } = &scene.file.stmt(stmt).kind else { return false };
    left.len() == right.len()
        && left.iter().zip(right).any(|(&left, &right)| left == target && scene.is_nil(right))
}

/// Whether each way through a function comes to a node, but for those on which a field is nil.
fn comes_always(scene: &Scene<'_>, node: Node, field: Field) -> bool {
    let Some(graph) = scene.graph(None) else { return false };
    let Some(wanted) = scene.step_of(&graph, node) else { return false };
    !graph.finds(Start::Entry, (), &mut Past { scene, wanted, field })
}

/// A walk out of a function past no close, while a field is not nil.
struct Past<'p, 'a> {
    scene: &'p Scene<'a>,
    wanted: StepId,
    field: Field,
}

impl Walk for Past<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if step == self.wanted { Passing::Drop } else { Passing::On(()) }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let Some((asked, holds)) = edge.kind.condition() else { return Some(()) };
        let scene = self.scene;
        let is_nil =
            compared_with_nil(scene.file, &scene.info, asked).is_some_and(|(operand, is_set)| {
                is_set != holds
                    && scene.is_of_receiver(operand)
                    && scene.field(operand) == Some(self.field.at)
            });
        (!is_nil).then_some(())
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        !matches!(exit, Exit::Never(_))
    }
}
