//! A signal to leave that is sent to a goroutine which has left with an error.
//!
//! Evidence: all operations on the channel are seen, it is unbuffered, and what it carries says nothing: each
//! receive stands in a `select` in a loop of a goroutine, and ends it. By another arm that goroutine returns
//! when it has met an error. A function sends with nothing beside, and asks for nothing before that the
//! goroutine has a part in: who stops what has failed waits for ever, where a close would not.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{BlockId, Cfg, EdgeKind};
use crate::index::{Basic, Callee, Type};
use crate::rules::evidence::consumer::{Exits, fails_beside};
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::leaver::holds_lock;
use crate::rules::evidence::traffic::after_recover;
use crate::rules::evidence::{confidence_at, first_line};
use crate::rules::scene::holds_any;
use crate::syntax::{ExprKind, Node};

/// Reports the signals that nobody may hear any more.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        findings.extend(check_group(groups, group));
    }
}

fn check_group(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let is_other = |op: &Op| !matches!(op.act, Act::Make(Some(0)) | Act::Send | Act::Receive);
    if group.open || group.ops.iter().any(is_other) {
        return None;
    }
    let with = |act: Act| group.ops.iter().filter(move |op| op.act == act);
    let (receives, sends): (Vec<&Op>, Vec<&Op>) =
        (with(Act::Receive).collect(), with(Act::Send).collect());
    let exits: Vec<Exits> = receives
        .iter()
        .map(|op| ends_its_loop(groups, op).then(|| fails_beside(groups, op))?)
        .collect::<Option<_>>()?;
    let (receive, exit) = (receives.first()?, exits.first()?);
    let send = sends.iter().find(|op| is_always_sent(groups, op, &receives))?;
    with(Act::Make(Some(0))).next()?;
    Some(tell(groups, group, send, (receive, exit)))
}

/// Whether a receive is one of several things that a loop waits for, and what comes says only that it is over.
fn ends_its_loop(groups: &Groups<'_>, receive: &Op) -> bool {
    let scene = &groups.scenes[receive.scene];
    let (index, channel) = (scene.cx.index(), scene.info.type_of(receive.channel));
    let is_flag = || match index.underlying(channel) {
        Type::Chan(_, value) => matches!(index.underlying(&value), Type::Basic(Basic::Bool)),
        _ => false,
    };
    let leaves = || {
        let cfg = scene.graph(receive.literal)?;
        let at = receive.step(scene, &cfg)?;
        Some(!cfg.reaches(at, at))
    };
    (index.is_signal(channel) || is_flag())
        && receive.select.is_some()
        && !scene.loops_around(receive.node).is_empty()
        && leaves().unwrap_or(false)
}

/// Whether a function sends whatever the receivers have done: what it asks before is no affair of theirs.
fn is_always_sent(groups: &Groups<'_>, send: &Op, receives: &[&Op]) -> bool {
    let scene = &groups.scenes[send.scene];
    let is_told = |node: Node| {
        let Node::Expr(expr) = node else { return false };
        match scene.file.expr(expr).kind {
            ExprKind::Call { .. } => matches!(scene.info.callee(expr), Callee::Func(_)),
            ExprKind::Selector { name, .. } => receives
                .iter()
                .any(|op| holds_any(&groups.scenes[op.scene].cx, &[name.name.as_str()])),
            _ => false,
        }
    };
    let asks_them = |cfg: &Cfg, block: BlockId| {
        cfg.edges_of(block).iter().any(|edge| match edge.kind {
            EdgeKind::Jump => false,
            kind => kind
                .condition()
                .is_none_or(|(asked, _)| scene.file.descendants(Node::Expr(asked)).any(is_told)),
        })
    };
    let apart = |cfg: &Cfg| {
        let at = send.step(scene, cfg)?;
        let before = |block: &BlockId| cfg.steps_of(*block).any(|step| cfg.reaches(step, at));
        Some(!cfg.blocks().filter(before).any(|block| asks_them(cfg, block)))
    };
    send.select.is_none()
        && send.literal.is_none()
        && !receives.iter().any(|it| it.scene == send.scene)
        && scene.loops_around(send.node).is_empty()
        && !after_recover(scene, send.node)
        && !holds_lock(scene, send)
        && scene.graph(None).is_some_and(|cfg| apart(&cfg).unwrap_or(false))
}

fn tell(groups: &Groups<'_>, group: &Group, send: &Op, (receive, exit): (&Op, &Exits)) -> Finding {
    let scene = &groups.scenes[send.scene];
    let receiver = &groups.scenes[receive.scene];
    let name = scene.text(send.channel);
    let message = format!(
        "nobody receives from `{name}` once `{}` has left with an error, and this send waits for nothing else",
        receiver.name.name
    );
    let mut finding = scene.cx.finding(first_line(scene, send.span(scene)), "stays here", message);
    finding.confidence = confidence_at(scene, send.node);
    finding.defect = groups.only_make_of(group).unwrap_or(finding.primary);
    let at = |span| receiver.cx.location(first_line(receiver, span));
    finding.labels.push(Label {
        location: at(receive.span(receiver)),
        role: Role::Context,
        message: "it is received here".to_owned(),
    });
    if let Some(decided) = exit.decided {
        finding.labels.push(Label {
            location: at(decided),
            role: Role::Condition,
            message: "decided here".to_owned(),
        });
    }
    finding.labels.push(Label {
        location: at(exit.left),
        role: Role::Left,
        message: format!("`{}` leaves here", receiver.name.name),
    });
    finding.why =
        "a signal that is sent needs somebody who still receives; one that is closed does not"
            .to_owned();
    finding.help =
        format!("close `{name}` instead, once, or send in a `select` with what tells of the end");
    finding
}
