//! A goroutine that waits for a channel which nobody closes or sends on, or for something out of its starter's hands.
//!
//! Evidence: a function makes the channel, and all that it does with it is to receive: in an arm of a `select` of a
//! goroutine that it starts, which the other arms end only when what the function was given does: its receiver's own
//! channel, or a channel or context of its caller. Who made the channel meant to end the goroutine by it.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Def, LocalId, LocalKind};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::traffic::{Made, made_channels};
use crate::rules::evidence::{confidence_at, ends_process, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node, StmtId, StmtKind};

/// Reports the arms of the goroutines of a function that nobody makes ready.
pub(super) fn check(scene: &Scene<'_>, findings: &mut Vec<Finding>) {
    let Some(read) = scene.cx.summaries().read(scene.cx.func) else { return };
    if ends_process(&scene.cx) {
        return;
    }
    let made = made_channels(scene, &read).into_iter();
    findings.extend(made.filter_map(|made| check_channel(scene, &made)));
}

fn check_channel(scene: &Scene<'_>, made: &Made) -> Option<Finding> {
    let mut arms = Vec::new();
    for used in scene.uses(made.local) {
        if !scene.is_target(used) {
            let around = scene.parent(Node::Expr(used))?;
            arms.push(scene.transfer(around).filter(|&(_, receives)| receives).map(|_| around)?);
        }
    }
    let [arm] = arms[..] else { return None };
    let (select, _) = scene.select_of(arm)?;
    let go = scene.go_around(scene.literal_around(Node::Stmt(select))?)?;
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
    let mut others = Vec::new();
    for clause in clauses {
        let channel = Step::Comm(clause.comm?).received_from(scene.file)?;
        if scene.local(channel) != Some(made.local) {
            others.push(channel);
        }
    }
    let outlasts = |&channel: &ExprId| is_of_others(scene, channel);
    others.iter().all(outlasts).then(|| tell(scene, made, arm, go, &others))
}

/// Whether a channel, or the context that it is of, is the receiver's or was given to the function.
fn is_of_others(scene: &Scene<'_>, channel: ExprId) -> bool {
    let of = match scene.method_call(channel) {
        Some((context, name)) if name.name.as_str() == "Done" => context,
        Some(_) => return false,
        None => scene.file.unparen(channel),
    };
    let is_given = |local: LocalId| {
        let local = scene.info.local(local);
        local.owner.is_none() && matches!(local.kind, LocalKind::Receiver | LocalKind::Param(_))
    };
    let is_timer =
        matches!(scene.info.resolve(of), Def::Field(field) if field.name.as_str() == "C");
    !is_timer && root_variable(scene, of).flatten().is_some_and(is_given)
}

fn tell(scene: &Scene<'_>, made: &Made, arm: Node, go: StmtId, others: &[ExprId]) -> Finding {
    let name = scene.info.local(made.local).name;
    let texts: Vec<String> =
        others.iter().map(|&channel| format!("`{}`", scene.text(channel))).collect();
    let message = format!(
        "nobody closes `{name}` or sends on it, so this goroutine stays until {} ends it",
        texts.join(" or ")
    );
    let span = first_line(scene, scene.span(arm));
    let mut finding = scene.cx.finding(span, "never ready", message);
    finding.confidence = confidence_at(scene, arm);
    let mut label = |node: Node, role: Role, message: &str| {
        let location = scene.cx.location(first_line(scene, scene.span(node)));
        finding.labels.push(Label { location, role, message: message.to_owned() });
    };
    label(Node::Expr(made.make), Role::Made, "made here, and given to nobody");
    label(Node::Stmt(go), Role::Started, "the goroutine is started here");
    finding.why = format!("`{}` returns and leaves the goroutine behind", scene.name.name);
    finding.help = format!("`defer close({name})` right after it is made");
    finding
}
