//! Things that are made before somebody asks for one.
//!
//! Evidence: a loop without an end makes one thing after the other, waits for nothing but room in the channel of
//! those that are ready, and looks between two of them at a field that tells that all is over. Who wants one
//! calls a method, which gives what it receives, or leaves when that field says so. So the room is full whenever
//! nobody asks, whatever its size, and the loop waits in its send when the end comes, which nobody tells it
//! there. The channel is a field of the object that both are methods of: not one that comes with a question.

use crate::flow::Step;
use crate::index::{Builtin, Callee, Type};
use crate::rules::evidence::groups::{Group, Groups, Op};
use crate::rules::evidence::leaver::{Arm, leaving_arm};
use crate::rules::scene::Scene;
use crate::source::Location;
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, UnaryOp};

/// The arm on which a method that gives what it receives returns, if that hears of the end by a field.
pub(super) fn arm(groups: &Groups<'_>, group: &Group, receive: &Op) -> Option<Arm> {
    leaving_arm(groups, group, receive)?;
    let scene = &groups.scenes[receive.scene];
    if receive.literal.is_some() || !gives(scene, receive) || groups.is_started(scene, None) {
        return None;
    }
    // Who makes a channel for each question has room for its answer.
    let is_kept = group.only_make().is_some_and(|make| make.scene != receive.scene);
    if !is_kept || !scene.is_of_receiver(receive.channel) {
        return None;
    }
    let (select, own) = receive.select?;
    let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return None };
    let others = clauses.iter().enumerate().filter(|(at, _)| *at != own as usize);
    others.map(|(_, clause)| clause).find_map(|clause| {
        let comm = clause.comm?;
        let channel = scene.file.unparen(Step::Comm(comm).received_from(scene.file)?);
        let leaves = clause
            .body
            .last()
            .is_some_and(|&last| matches!(scene.file.stmt(last).kind, StmtKind::Return(_)));
        (leaves && end(scene, channel).is_some()).then(|| Arm::for_good(comm, channel))
    })
}

/// Whether a send fills the room of its channel, and its loop hears of the same ends as those who receive.
pub(super) fn keeps_full(groups: &Groups<'_>, send: &Op, receives: &[(&Op, Arm)]) -> bool {
    let scene = &groups.scenes[send.scene];
    if !scene.is_of_receiver(send.channel) {
        return false;
    }
    let endless =
        |&stmt: &StmtId| matches!(scene.file.stmt(stmt).kind, StmtKind::For { cond: None, .. });
    let around = scene.loops_around(send.node);
    let Some(&turns) = around.iter().find(|stmt| endless(stmt)) else { return false };
    let inside = || scene.file.descendants(Node::Stmt(turns));
    let heard: Vec<Location> = inside().filter_map(|node| looked_at(scene, node)).collect();
    let waits = |node: Node| match node {
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Select(clauses) => clauses.iter().all(|clause| clause.comm.is_some()),
            StmtKind::Range { subject, .. } => {
                let index = scene.cx.index();
                !matches!(
                    index.underlying(scene.info.type_of(*subject)),
                    Type::Slice(_) | Type::Map(_)
                )
            }
            _ => false,
        },
        Node::Expr(expr) => match scene.file.expr(expr).kind {
            ExprKind::Unary { op: UnaryOp::Recv, .. } => !scene.is_arm(expr),
            // Who asks how much there is does not wait for room.
            ExprKind::Call { .. } => {
                let asks =
                    matches!(scene.info.callee(expr), Callee::Builtin(Builtin::Len | Builtin::Cap));
                let of = scene.args(expr).first();
                asks && of.is_some_and(|&of| scene.text(of) == scene.text(send.channel))
            }
            _ => false,
        },
        Node::Decl(_) => false,
    };
    !inside().any(waits)
        && receives.iter().all(|(receive, arm)| {
            let of = end(&groups.scenes[receive.scene], arm.channel);
            of.is_some_and(|end| heard.contains(&end))
        })
}

/// Whether a function gives its caller what is received.
fn gives(scene: &Scene<'_>, receive: &Op) -> bool {
    let index = scene.cx.index();
    let Type::Func(signature) = index.func_type(scene.cx.func) else { return false };
    let Type::Chan(_, element) = index.underlying(scene.info.type_of(receive.channel)) else {
        return false;
    };
    signature.results.first().is_some_and(|first| first.identical(&element) == Some(true))
}

/// The field that a clause or question of a loop looks at to know whether all is over.
fn looked_at(scene: &Scene<'_>, node: Node) -> Option<Location> {
    let Node::Expr(expr) = node else { return None };
    match scene.file.expr(expr).kind {
        ExprKind::Unary { op: UnaryOp::Recv, operand } => end(scene, scene.file.unparen(operand)),
        ExprKind::Call { .. } => {
            let (context, name) = scene.method_call(expr)?;
            let asks = name.name.as_str() == "Err" && scene.info.type_of(context).is_context();
            asks.then(|| scene.field(context))?
        }
        _ => None,
    }
}

/// The field that holds a channel that tells of the end, or the context that does.
fn end(scene: &Scene<'_>, channel: ExprId) -> Option<Location> {
    match scene.method_call(channel) {
        Some((context, name)) if name.name.as_str() == "Done" => scene.field(context),
        Some(_) => None,
        None => {
            let is_signal = scene.cx.index().is_signal(scene.info.type_of(channel));
            is_signal.then(|| scene.field(channel))?
        }
    }
}
