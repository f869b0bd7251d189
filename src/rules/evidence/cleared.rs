//! A channel in a field that is closed and set to nil at once, while a goroutine looks at the field
//! anew in each turn of its loop.
//!
//! Evidence: the assignment of `nil` follows the close with nothing between, and a goroutine of the
//! package receives from the same field in a loop, with no other way out that stays ready, and
//! without asking whether the field is nil. Where it is elsewhere in its loop at that moment it
//! comes back to a nil channel, and never learns of the close.

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::leaving_arm;
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::syntax::{BinaryOp, ExprKind, Node, StmtKind};

/// Reports the receives whose channel is taken away.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        for close in group.ops.iter().filter(|op| op.act == Act::Close) {
            if let Some(cleared) = cleared(&groups.scenes[close.scene], close)
                && !is_taken_before(groups, group, close)
            {
                let mut waiters = group.ops.iter().filter(|op| {
                    op.act == Act::Receive
                        && !op.same_body(close)
                        && is_same_field(groups, close, op)
                        && looks_again(groups, group, op)
                });
                findings.extend(waiters.next().map(|waiter| tell(groups, close, cleared, waiter)));
            }
        }
    }
}

/// The statement right after a close that sets the same field to nil.
fn cleared(scene: &Scene<'_>, close: &Op) -> Option<Span> {
    scene.selector(close.channel)?;
    let name = scene.text(close.channel);
    let after = scene.span(close.node).end;
    scene.nodes.iter().find_map(|&node| {
        let Node::Stmt(stmt) = node else { return None };
        let StmtKind::Assign { left, op: None, right } = &scene.file.stmt(stmt).kind else {
            return None;
        };
        let ([target], [value]) = (&left[..], &right[..]) else { return None };
        let span = scene.span(node);
        let next = after <= span.start && {
            let between = scene.file.source.text(Span::new(after, span.start));
            let mut lines = between.lines().map(|line| line.trim_matches([' ', '\t', '\r', ';']));
            lines.all(|line| line.is_empty() || line.starts_with("//"))
        };
        (next && scene.is_nil(*value) && scene.text(*target) == name).then_some(span)
    })
}

/// Whether something is sent on the channel before it is closed: then the goroutine has come to it, and may
/// have left by what it was sent.
fn is_taken_before(groups: &Groups<'_>, group: &Group, close: &Op) -> bool {
    let scene = &groups.scenes[close.scene];
    group.ops.iter().any(|op| {
        op.act == Act::Send
            && op.select.is_none()
            && op.same_body(close)
            && scene.span(op.node).end <= scene.span(close.node).start
    })
}

/// Whether two operations name their channel by the same field: another that holds the channel too
/// still holds it.
fn is_same_field(groups: &Groups<'_>, one: &Op, other: &Op) -> bool {
    let field = |op: &Op| {
        let scene = &groups.scenes[op.scene];
        let (base, field) = scene.selector(op.channel)?;
        let owner = scene.info.type_of(base).strip_pointer().named()?.qualified();
        Some((owner, field.name))
    };
    field(one).is_some_and(|one| field(other) == Some(one))
}

/// Whether a receive reads the field anew in each turn of a goroutine's loop, and nothing else ends
/// that loop or asks for nil.
fn looks_again(groups: &Groups<'_>, group: &Group, waiter: &Op) -> bool {
    let scene = &groups.scenes[waiter.scene];
    let Some((_, field)) = scene.selector(waiter.channel) else { return false };
    let started = groups.is_started(scene, waiter.literal);
    let asks = |node: &Node| {
        let Node::Expr(expr) = *node else { return false };
        let ExprKind::Binary { op: BinaryOp::Eq | BinaryOp::Ne, left, right, .. } =
            scene.file.expr(expr).kind
        else {
            return false;
        };
        let is_field = |side| scene.selector(side).is_some_and(|(_, name)| name.name == field.name);
        is_field(left) && scene.is_nil(right) || is_field(right) && scene.is_nil(left)
    };
    let other_way = leaving_arm(groups, group, waiter).is_some_and(|arm| arm.stays());
    started
        && !other_way
        && !scene.loops_around(waiter.node).is_empty()
        && !scene.nodes.iter().any(asks)
}

/// Tells it where the field is set to nil: there it can be mended.
fn tell(groups: &Groups<'_>, close: &Op, cleared: Span, waiter: &Op) -> Finding {
    let scene = &groups.scenes[waiter.scene];
    let closer = &groups.scenes[close.scene];
    let name = closer.text(close.channel);
    let message = format!(
        "`{name}` is nil as soon as it is closed: the goroutine that comes back to it in `{}` never learns of the close",
        scene.name.name
    );
    let mut finding = closer.cx.finding(cleared, "set to nil at once", message);
    finding.confidence = confidence(scene);
    finding.defect = scene.cx.location(first_line(scene, scene.span(waiter.node)));
    finding.labels.push(Label {
        location: closer.cx.location(closer.span(close.node)),
        role: Role::Left,
        message: "closed here".to_owned(),
    });
    finding.labels.push(Label {
        location: finding.defect,
        role: Role::Stuck,
        message: "the goroutine stays here".to_owned(),
    });
    finding.why = "an operation on a nil channel waits for ever".to_owned();
    finding.help =
        "set it to nil when the goroutine has ended, or give the goroutine the channel itself"
            .to_owned();
    finding
}
