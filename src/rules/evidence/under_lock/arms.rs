//! The other arms of a `select` under a lock, or with a send to oneself: whether each is ready only when all is
//! over.

use crate::flow::Step;
use crate::index::Def;
use crate::rules::evidence::groups::{Act, Groups, Op};
use crate::rules::evidence::leaver::is_done;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, StmtKind};

/// Whether an operation waits until its partner comes or what it is a part of is over: it has nothing beside, or
/// arms that wait for the end of a context which the value keeps, or for a field that the package does nothing
/// with but to close it.
pub(in crate::rules::evidence) fn stays(groups: &Groups<'_>, op: &Op) -> bool {
    op.select.is_none() || !ends(groups, op).is_empty()
}

/// What the other arms of its `select` wait for, if each is the end of all; none, too, if there are no others.
pub(in crate::rules::evidence) fn ends(groups: &Groups<'_>, op: &Op) -> Vec<ExprId> {
    let scene = &groups.scenes[op.scene];
    let Some((select, own)) = op.select else { return Vec::new() };
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return Vec::new() };
    let others = clauses.iter().zip(0..).filter(|&(_, place)| place != own);
    let ends = others.map(|(clause, _)| {
        let channel = Step::Comm(clause.comm?).received_from(scene.file)?;
        is_end(groups, op.scene, scene, channel).then_some(channel)
    });
    ends.collect::<Option<Vec<_>>>().unwrap_or_default()
}

fn is_end(groups: &Groups<'_>, at: usize, scene: &Scene<'_>, channel: ExprId) -> bool {
    let is_field =
        |expr: ExprId| matches!(scene.info.resolve(scene.file.unparen(expr)), Def::Field(_));
    if is_done(scene, channel) {
        return scene.method_call(channel).is_some_and(|(context, _)| is_field(context));
    }
    is_field(channel)
        && groups.of_expr(at, channel).is_some_and(|group| {
            let mut ops = group.ops.iter();
            let closed = group.ops.iter().any(|op| op.act == Act::Close);
            closed && !group.open && ops.all(|op| !matches!(op.act, Act::Send | Act::Notify))
        })
}
