//! Answers that are gathered once, each by its turn of a loop.
//!
//! Evidence: the loop around a receive has as many turns as a field of the receiver says, and that field only
//! ever grows, by one for each goroutine that is started to send. So who gathers counts on all answers of the
//! object's life: when it leaves before it has them, to gather again would be to wait for those that are taken
//! too, and nobody is there for the answers that come late.

use crate::index::{Builtin, Callee, FuncId};
use crate::rules::FunctionCx;
use crate::rules::evidence::groups::{Groups, Op, is_started};
use crate::rules::scene::{Scene, naming};
use crate::source::Location;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Ident, Node, StmtId, StmtKind, UnaryOp};

/// Whether a receive takes the answers of all goroutines that are ever started for its object, one in each turn,
/// and all of `sends` are theirs.
pub(super) fn takes_each_once(groups: &Groups<'_>, receive: &Op, sends: &[&Op]) -> bool {
    let scene = &groups.scenes[receive.scene];
    let Some(&innermost) = scene.loops_around(receive.node).first() else { return false };
    if !scene.is_of_receiver(receive.channel) {
        return false;
    }
    let Some((field, name)) = turns(scene, innermost) else { return false };
    let Some(growing) = growing(scene, field, name) else { return false };
    sends.iter().all(|send| is_counted(groups, send, &growing))
}

/// The field of the receiver that says how many turns a loop has.
fn turns(scene: &Scene<'_>, stmt: StmtId) -> Option<(Location, Ident)> {
    let receiver = scene.receiver()?;
    let bound = match scene.file.stmt(stmt).kind {
        StmtKind::For { init: Some(init), cond: Some(cond), .. } => {
            let ExprKind::Binary { op: BinaryOp::Lt | BinaryOp::Ne, left, right, .. } =
                scene.file.expr(scene.file.unparen(cond)).kind
            else {
                return None;
            };
            let turn = scene.local(left)?;
            let (targets, values) = scene.assignment(Node::Stmt(init))?;
            let at = targets.iter().position(|&target| target == Some(turn))?;
            starts_at_zero(scene, *values.get(at)?).then_some(right)?
        }
        StmtKind::Range { subject, .. } => subject,
        _ => return None,
    };
    let mut fields = scene.file.descendants(Node::Expr(bound)).filter_map(|node| {
        let Node::Expr(expr) = node else { return None };
        let (base, name) = scene.selector(expr)?;
        (scene.local(base) == Some(receiver)).then_some((scene.field(expr)?, name))
    });
    let only = fields.next()?;
    fields.next().is_none().then_some(only)
}

/// Whether a value is zero, also as the argument of a conversion.
fn starts_at_zero(scene: &Scene<'_>, value: ExprId) -> bool {
    let value = match scene.info.callee(value) {
        Callee::Conversion(_) => scene.args(value).first().copied().unwrap_or(value),
        _ => value,
    };
    scene.info.constant(value).and_then(|constant| constant.as_int()) == Some(0)
}

/// The functions in which a field grows, if it does nothing else anywhere in its package.
fn growing(scene: &Scene<'_>, field: Location, name: Ident) -> Option<Vec<FuncId>> {
    let mut growing = Vec::new();
    for user in naming(&scene.cx, name.name) {
        for &node in user.nodes.iter() {
            let Node::Expr(expr) = node else { continue };
            if user.is_key(expr, name.name) {
                return None;
            }
            if user.selector(expr).is_none() || user.field(expr) != Some(field) {
                continue;
            }
            match done_to(&user, expr)? {
                Deed::Grown => growing.push(user.cx.func),
                Deed::Read => {}
            }
        }
    }
    (!growing.is_empty()).then_some(growing)
}

/// What is done to a count.
enum Deed {
    Grown,
    Read,
}

/// What stands around the name of a count: `None` for what may set it back.
fn done_to(scene: &Scene<'_>, count: ExprId) -> Option<Deed> {
    let around = match scene.parent(Node::Expr(count))? {
        Node::Stmt(stmt) => return assigned(scene, stmt, count),
        Node::Expr(around) => around,
        Node::Decl(_) => return Some(Deed::Read),
    };
    match scene.file.expr(around).kind {
        ExprKind::Selector { name, .. } => {
            let Node::Expr(call) = scene.parent(Node::Expr(around))? else { return None };
            let amount = scene.args(call).first().copied();
            called(scene, name.name.as_str(), amount)
        }
        ExprKind::Unary { op: UnaryOp::Addr, .. } => {
            let call = scene.given_to(around)?;
            let name = scene.info.callee(call).qualified(scene.cx.index())?;
            if name.path.as_str() != "sync/atomic" {
                return None;
            }
            let verb = name.name.as_str().trim_end_matches(|end: char| end.is_ascii_digit());
            let verb = verb.trim_end_matches("Uint").trim_end_matches("Int");
            called(scene, verb, scene.args(call).get(1).copied())
        }
        _ => Some(Deed::Read),
    }
}

/// What a statement does to a count that it names by itself.
fn assigned(scene: &Scene<'_>, stmt: StmtId, count: ExprId) -> Option<Deed> {
    match &scene.file.stmt(stmt).kind {
        StmtKind::IncDec { increment, .. } => increment.then_some(Deed::Grown),
        StmtKind::Assign { left, op, right } if left.contains(&count) => match (op, &right[..]) {
            (Some(BinaryOp::Add), [amount]) => grown_by(scene, *amount),
            (None, [value]) => {
                let appends = matches!(scene.info.callee(*value), Callee::Builtin(Builtin::Append));
                let to = scene.args(*value).first()?;
                (appends && scene.text(*to) == scene.text(count)).then_some(Deed::Grown)
            }
            _ => None,
        },
        _ => Some(Deed::Read),
    }
}

/// What a function or method of `sync/atomic` does to a count.
fn called(scene: &Scene<'_>, verb: &str, amount: Option<ExprId>) -> Option<Deed> {
    match verb {
        "Add" => grown_by(scene, amount?),
        "Load" => Some(Deed::Read),
        _ => None,
    }
}

fn grown_by(scene: &Scene<'_>, amount: ExprId) -> Option<Deed> {
    (scene.info.constant(amount)?.as_int()? == 1).then_some(Deed::Grown)
}

/// Whether a send stands in a goroutine of its own, and each function that starts it counts, itself or by
/// what it calls.
fn is_counted(groups: &Groups<'_>, send: &Op, growing: &[FuncId]) -> bool {
    let sender = &groups.scenes[send.scene];
    let counts = |scene: &Scene<'_>| {
        growing.iter().any(|&func| func == scene.cx.func || scene.calls(func).next().is_some())
    };
    if let Some(literal) = send.literal {
        return is_started(sender, literal) && counts(sender);
    }
    let func = sender.cx.func;
    let named = sender.cx.package.named_outside_tests(func);
    !named.is_empty()
        && named.into_iter().all(|(user, expr)| {
            let Some(user) = Scene::new(FunctionCx { func: user, ..sender.cx }) else {
                return false;
            };
            let started = match user.parent(Node::Expr(expr)) {
                Some(Node::Expr(call)) => user.go_of(call).is_some(),
                _ => false,
            };
            started && counts(&user)
        })
}
