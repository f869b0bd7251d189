//! A channel that is closed unasked beside a field of which somebody asks whether it was ever set.
//!
//! Evidence: one method puts a channel and something else into two fields of its receiver, both in one block that
//! it decides on; nothing sets them before, and whoever makes the object does not call it. A function closes the
//! channel in any case, and asks in the same body whether the other field is nil: so it may run when that block
//! has not, and the channel is nil then as well. Of what a method always makes it is not known whether somebody
//! ends an object that was never started.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Builtin, Callee, FuncId};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::{confidence, first_line, label};
use crate::rules::scene::{Scene, naming};
use crate::source::Location;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Ident, Node, StmtId, StmtKind, Symbol, UnaryOp};

/// Reports the closes of channels that may not have been made.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all().iter().filter(|group| !group.open && group.only_field.is_some()) {
        let close = group.ops.iter().find(|op| op.act == Act::Close);
        findings.extend(close.and_then(|close| half_set(groups, group, close)));
    }
}

fn half_set(groups: &Groups<'_>, group: &Group, close: &Op) -> Option<Finding> {
    let scene = &groups.scenes[close.scene];
    let (object, name) = scene.selector(close.channel)?;
    let object = scene.local(object)?;
    if !is_always_done(scene, close.node) || is_asked(scene, group.only_field?, name) {
        return None;
    }
    let setter = only_setter(scene, group.only_field?, name)?;
    let asked = scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::If { cond, .. } = scene.file.stmt(stmt).kind else { return None };
        let (field, unequal) = asked_field(scene, cond)?;
        let (of, other) = scene.selector(field)?;
        let same = scene.literal_around(node) == close.literal && scene.local(of) == Some(object);
        let together = only_setter(scene, scene.field(field)?, other) == Some(setter);
        (same && unequal && together).then_some((cond, other.name))
    });
    let (cond, other) = asked.filter(|_| setter.0 != scene.cx.func)?;
    let make = group
        .ops
        .iter()
        .find(|op| matches!(op.act, Act::Make(_)) && groups.scenes[op.scene].cx.func == setter.0)?;
    let by = &groups.scenes[make.scene];
    let owner = scene.cx.index().object(by.cx.owner()?).name;
    let mut makers = naming(&scene.cx, owner).filter(|maker| makes(maker, owner)).peekable();
    // Who makes the object may set it up at once.
    let is_made = makers.peek().is_some();
    if !is_made || makers.any(|maker| maker.calls(setter.0).next().is_some()) {
        return None;
    }
    let channel = scene.text(close.channel);
    let message = format!(
        "`{channel}` is nil here where `{other}` is, until `{}` has set them, and closing a nil channel panics",
        by.name.name
    );
    let mut finding =
        scene.cx.finding(first_line(scene, close.span(scene)), "panics here", message);
    finding.confidence = confidence(scene);
    let told = format!("the only place where it is made; `{other}` is set beside it");
    finding.labels.push(label(groups, make, Role::Made, told));
    finding.labels.push(Label {
        location: scene.cx.location(scene.span(Node::Expr(cond))),
        role: Role::Condition,
        message: format!("`{other}` may be nil here"),
    });
    finding.why = format!(
        "`{}` sets both fields in one block, which it need not come to, and nobody else does",
        by.name.name
    );
    finding.help =
        format!("close it where `{other}` is not nil, or make it where its owner is made");
    Some(finding)
}

/// Whether a function comes to a node on each way through it, and to the literals around it too.
fn is_always_done(scene: &Scene<'_>, node: Node) -> bool {
    let mut node = node;
    loop {
        let literal = scene.literal_around(node);
        let Some(cfg) = scene.graph(literal) else { return false };
        let Some(wanted) = scene.step_of(&cfg, node) else { return false };
        if cfg.leaves_without(&|step| step == wanted) {
            return false;
        }
        match literal {
            Some(literal) => node = Node::Expr(literal),
            None => return true,
        }
    }
}

/// Whether a function makes a value of the type with this name.
fn makes(scene: &Scene<'_>, owner: Symbol) -> bool {
    scene.nodes.iter().any(|&node| match node {
        Node::Expr(expr) => {
            let made = match scene.file.expr(expr).kind {
                ExprKind::CompositeLit { .. } => true,
                ExprKind::Call { .. } => {
                    matches!(scene.info.callee(expr), Callee::Builtin(Builtin::New))
                }
                _ => false,
            };
            let ty = scene.info.type_of(expr).strip_pointer().named();
            made && ty.is_some_and(|named| named.name == owner)
        }
        _ => false,
    })
}

/// Whether somebody asks of a field whether it is nil.
fn is_asked(scene: &Scene<'_>, field: Location, name: Ident) -> bool {
    naming(&scene.cx, name.name).any(|user| {
        user.nodes.iter().any(|&node| match node {
            Node::Expr(expr) => {
                asked_field(&user, expr).is_some_and(|(asked, _)| user.field(asked) == Some(field))
            }
            _ => false,
        })
    })
}

/// The field that a condition asks of whether it is nil, and whether it is to be none.
fn asked_field(scene: &Scene<'_>, cond: ExprId) -> Option<(ExprId, bool)> {
    let ExprKind::Binary { op, left, right, .. } = scene.file.expr(scene.file.unparen(cond)).kind
    else {
        return None;
    };
    let is_test = matches!(op, BinaryOp::Eq | BinaryOp::Ne) && scene.is_nil(right);
    is_test.then_some((scene.file.unparen(left), op == BinaryOp::Ne))
}

/// The method that alone sets a field of its receiver, and the block that does, which it may leave out.
fn only_setter(scene: &Scene<'_>, field: Location, name: Ident) -> Option<(FuncId, StmtId)> {
    let mut only = None;
    for user in naming(&scene.cx, name.name) {
        for &node in user.nodes.iter() {
            let Node::Expr(expr) = node else { continue };
            if user.is_key(expr, name.name) {
                return None;
            }
            let Some((base, _)) = user.selector(expr) else { continue };
            if user.field(expr) != Some(field) {
                continue;
            }
            let is_taken = matches!(user.parent(node), Some(Node::Expr(around))
                if matches!(user.file.expr(around).kind, ExprKind::Unary { op: UnaryOp::Addr, .. }));
            if is_taken {
                return None;
            }
            if user.is_target(expr) {
                let own = user.receiver().is_some() && user.receiver() == user.local(base);
                let setter = (user.cx.func, decided_block(&user, node)?);
                if !own || only.is_some_and(|only| only != setter) {
                    return None;
                }
                only = Some(setter);
            }
        }
    }
    only
}

/// The innermost block around a node, if that is one of an `if`.
fn decided_block(scene: &Scene<'_>, node: Node) -> Option<StmtId> {
    let mut around = scene.around(node);
    let block = around.find_map(|around| match around {
        Node::Stmt(stmt) => {
            matches!(scene.file.stmt(stmt).kind, StmtKind::Block(_)).then_some(stmt)
        }
        _ => None,
    })?;
    let decided = matches!(around.next()?, Node::Stmt(stmt)
        if matches!(scene.file.stmt(stmt).kind, StmtKind::If { .. }));
    (decided && scene.literal_around(node).is_none()).then_some(block)
}
