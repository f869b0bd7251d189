//! Channels of several functions that are given to one recipient outside of the package: some
//! functions give up their sends when a context ends, another one does not.
//!
//! Evidence: how the recipient receives is not seen, but at least two functions of the package say
//! that it may leave, by sending in a `select` beside a context's end. The function whose send is
//! bare has a context too, gives its channel to the same argument of the same function or method,
//! and keeps the channel from everybody else.

use rustc_hash::FxHashSet;

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::evidence::groups::{Act, Group, Groups, Op, Recipient};
use crate::rules::evidence::leaver::is_done;
use crate::rules::evidence::sibling::{guard, is_candidate, is_last_word};
use crate::rules::evidence::{confidence_at, first_line};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, ExprKind, Node, StmtId};

/// How many functions have to say that the recipient may leave.
const WITNESSES: usize = 2;

/// Reports the bare sends.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        let &[recipient] = &group.recipients[..] else { continue };
        if group.ops.iter().any(|op| matches!(op.act, Act::Receive | Act::Range)) {
            continue;
        }
        let mut told: Vec<&Op> = Vec::new();
        for bare in &group.ops {
            let told_before = told.iter().any(|other| other.scene == bare.scene);
            if told_before
                || !is_candidate(groups, group, bare)
                || is_last_word(groups, bare)
                || !has_context(&groups.scenes[bare.scene])
            {
                continue;
            }
            let witnesses = witnesses(groups, recipient, bare.scene);
            if witnesses.len() >= WITNESSES {
                told.push(bare);
                findings.push(tell(groups, bare, recipient, witnesses[0]));
            }
        }
    }
}

/// A send that gives up, and the arm and the context's end with which it does.
type Guarded<'g> = (&'g Op, StmtId, ExprId);

/// One such send of each other function that gives its channel to the recipient.
fn witnesses<'g>(groups: &'g Groups<'_>, recipient: Recipient, scene: usize) -> Vec<Guarded<'g>> {
    let given = |group: &&Group| group.recipients.contains(&recipient);
    let ops = groups.all().iter().filter(given).flat_map(|group| &group.ops);
    let mut seen = FxHashSet::from_iter([scene]);
    let mut witnesses = Vec::new();
    for op in ops.filter(|op| op.act == Act::Send) {
        let of_context = |channel| is_done(&groups.scenes[op.scene], channel);
        if !seen.contains(&op.scene)
            && let Some((comm, channel)) = guard(groups, op, of_context)
        {
            seen.insert(op.scene);
            witnesses.push((op, comm, channel));
        }
    }
    witnesses
}

/// Whether a function has a context: an expression of that type, or what a method `Context` gives.
fn has_context(scene: &Scene<'_>) -> bool {
    scene.nodes.iter().any(|&node| {
        let Node::Expr(expr) = node else { return false };
        match scene.file.expr(expr).kind {
            ExprKind::Call { ref args, .. } if args.is_empty() => {
                scene.method_call(expr).is_some_and(|(_, name)| name.name.as_str() == "Context")
            }
            ExprKind::Ident(_) => scene.info.type_of(expr).is_context(),
            _ => false,
        }
    })
}

fn tell(groups: &Groups<'_>, bare: &Op, recipient: Recipient, witness: Guarded<'_>) -> Finding {
    let scene = &groups.scenes[bare.scene];
    let cx = &scene.cx;
    let (guarded, comm, done) = witness;
    let other = &groups.scenes[guarded.scene];
    let (name, to, end) = (scene.text(bare.channel), recipient.0.name, other.text(done));
    let message = format!(
        "this send on `{name}` waits for ever once `{to}` has stopped receiving: others that give it a channel give up at `<-{end}`"
    );
    let mut finding = cx.finding(first_line(scene, bare.span(scene)), "stays here", message);
    finding.confidence = confidence_at(scene, bare.node);
    finding.labels.push(Label {
        location: other.cx.location(first_line(other, guarded.span(other))),
        role: Role::Context,
        message: format!("`{}` has a way out of the same send", other.name.name),
    });
    finding.labels.push(Label {
        location: other.cx.location(first_line(other, other.span(Node::Stmt(comm)))),
        role: Role::Context,
        message: "which is this".to_owned(),
    });
    finding.why = format!(
        "`{to}` is not seen here; {WITNESSES} other functions of the package, or more, say that it may be gone when a context ends"
    );
    finding.help = "send in a `select` with the end of the context here too".to_owned();
    finding
}
