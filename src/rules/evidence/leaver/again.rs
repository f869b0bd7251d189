//! Whether more answers than one may come on a channel that is made for whoever waits.
//!
//! Evidence: somebody sends again on the channel that it has, in a loop or behind another send; or is called
//! again with it, by a loop that gives it no other one; or it belongs to an object whose methods send, and more
//! than one call of them is there. Room for one answer is no way out then.

use crate::flow::StepId;
use crate::index::{LocalId, LocalKind};
use crate::rules::evidence::groups::{Act, Op};
use crate::rules::evidence::leaver::Left;
use crate::rules::recurrence;
use crate::rules::scene::Scene;
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, UnaryOp};

/// So many calls are followed from a send towards where its channel comes from.
const MAX_CALLS: u32 = 4;

impl Left<'_, '_> {
    /// Whether more answers than one may come on the channel that is made here.
    pub(super) fn may_be_answered_again(&self, make: &Op) -> bool {
        let sends = || self.group.ops.iter().filter(|op| op.act == Act::Send);
        sends().any(|send| {
            let scene = &self.groups.scenes[send.scene];
            let Some(root) = root_of(scene, send.channel) else { return false };
            let begin = match send.literal {
                Some(literal) => Node::Expr(literal),
                None => Node::Decl(scene.cx.declared().decl),
            };
            sends().any(|next| self.follows(send, next, root))
                || is_of_busy_object(scene, send)
                || self.comes_again(make, (send.scene, begin), Some(root), MAX_CALLS)
        }) || self.is_asked_twice(make)
    }

    /// Whether one send may come after another of the same body, or after itself, with the variable as it was
    /// from which it has the channel.
    fn follows(&self, send: &Op, next: &Op, root: LocalId) -> bool {
        let scene = &self.groups.scenes[send.scene];
        if !send.same_body(next) || root_of(scene, next.channel) != Some(root) {
            return false;
        }
        let Some(cfg) = scene.graph(send.literal) else { return false };
        let (Some(from), Some(to)) = (send.step(scene, &cfg), next.step(scene, &cfg)) else {
            return false;
        };
        let own = cfg.body();
        let set = cfg.function().definitions_of(root).filter_map(|it| it.at);
        let set: Vec<_> = set.filter(|at| at.body == own).map(|at| at.step).collect();
        cfg.reaches_without(from, to, &|step| set.contains(&step))
    }

    /// Whether what stands here runs again with the same channel, which it has from this variable: a loop around
    /// it neither makes the channel nor sets the variable, or that is so of a call which gives it the channel.
    fn comes_again(
        &self,
        make: &Op,
        (at, node): (usize, Node),
        root: Option<LocalId>,
        calls: u32,
    ) -> bool {
        let scene = &self.groups.scenes[at];
        let made = (at == make.scene).then(|| scene.span(make.node));
        let Some(root) = root else { return made.is_some_and(|made| loops(scene, node, &[made])) };
        let mut set = set_at(scene, root);
        set.extend(made);
        if loops(scene, node, &set) {
            return true;
        }
        if calls == 0 {
            return false;
        }
        let follow = |at: usize, call: ExprId, given: Option<ExprId>| {
            given.is_some_and(|given| {
                let root = root_of(&self.groups.scenes[at], given);
                self.comes_again(make, (at, Node::Expr(call)), root, calls - 1)
            })
        };
        let local = scene.info.local(root);
        match (local.owner, local.kind) {
            (Some(literal), LocalKind::Param(place)) => match scene.parent(Node::Expr(literal)) {
                Some(Node::Expr(call)) => {
                    follow(at, call, scene.args(call).get(place as usize).copied())
                }
                _ => false,
            },
            (None, LocalKind::Param(_) | LocalKind::Receiver) => {
                let given = |caller: &Scene<'_>, call: ExprId| match local.kind {
                    LocalKind::Param(place) => caller.args(call).get(place as usize).copied(),
                    _ => caller.method_call(call).map(|(base, _)| base),
                };
                self.groups.scenes.iter().enumerate().any(|(at, caller)| {
                    let mut calls = caller.calls(scene.cx.func);
                    calls.any(|call| follow(at, call, given(caller, call)))
                })
            }
            _ => false,
        }
    }

    /// Whether the function that makes the channel calls, or starts, one that sends, and one after that.
    fn is_asked_twice(&self, make: &Op) -> bool {
        let scene = &self.groups.scenes[make.scene];
        let sends = self.group.ops.iter().filter(|op| op.act == Act::Send);
        let mut senders: Vec<usize> = sends.map(|send| send.scene).collect();
        senders.sort_unstable();
        senders.dedup();
        let calls = senders.iter().flat_map(|&at| scene.calls(self.groups.scenes[at].cx.func));
        let calls: Vec<ExprId> = calls.collect();
        let Some(cfg) = scene.graph(make.literal) else { return false };
        let step = |call: ExprId| {
            let below = scene.literal_below(make.literal, Node::Expr(call));
            scene.step_of(&cfg, Node::Expr(below.unwrap_or(call)))
        };
        let steps: Vec<StepId> = calls.into_iter().filter_map(step).collect();
        steps
            .iter()
            .any(|&first| steps.iter().any(|&second| first != second && cfg.reaches(first, second)))
    }
}

/// Whether a channel is a field of the object that the method which sends is called of, and not by one call
/// alone.
fn is_of_busy_object(scene: &Scene<'_>, send: &Op) -> bool {
    scene.is_of_receiver(send.channel)
        && recurrence::all_calls(&scene.cx.package, scene.cx.declared())
            .is_none_or(|calls| calls.len() != 1)
}

/// Whether a loop stands around a node, in its own body or around that, that holds none of these places.
fn loops(scene: &Scene<'_>, node: Node, places: &[Span]) -> bool {
    scene.around(node).any(|around| match around {
        Node::Stmt(stmt) => {
            let kind = &scene.file.stmt(stmt).kind;
            matches!(kind, StmtKind::For { .. } | StmtKind::Range { .. })
                && !places.iter().any(|&place| scene.span(around).contains(place))
        }
        _ => false,
    })
}

/// The variable that a channel is the value of, or a field of that.
fn root_of(scene: &Scene<'_>, expr: ExprId) -> Option<LocalId> {
    let plain = |mut expr: ExprId| {
        loop {
            expr = match scene.file.expr(expr).kind {
                ExprKind::Paren(inner) | ExprKind::Star(inner) => inner,
                ExprKind::Unary { op: UnaryOp::Addr, operand } => operand,
                _ => return expr,
            };
        }
    };
    let expr = plain(expr);
    let base = scene.selector(expr).map_or(expr, |(base, _)| plain(base));
    scene.local(base)
}

/// Where a variable is declared and set.
fn set_at(scene: &Scene<'_>, local: LocalId) -> Vec<Span> {
    let mut set = vec![scene.info.local(local).span];
    if let Some(graph) = scene.graph(None) {
        let function = graph.function();
        let set_by = function.definitions_of(local).filter_map(|it| it.at);
        set.extend(set_by.map(|at| function.body(at.body).cfg.step(at.step).span(scene.file)));
    }
    set
}
