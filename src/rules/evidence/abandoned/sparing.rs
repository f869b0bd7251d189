//! Senders that may send no more once the owner of the channel leaves: they send only when it asks for it, or
//! tell of no error that it makes itself.

use crate::flow::{Cfg, EdgeKind, Path, Start, Step, StepId};
use crate::index::{Def, LocalId, LocalKind};
use crate::rules::conditions::{Conditions, Way, condition, key, locals_in};
use crate::rules::evidence::abandoned::{Abandoned, Leaving, Sender};
use crate::rules::evidence::traffic::{Deed, received_from};
use crate::rules::spared::leaves_out_the_end;
use crate::summary::{At, BodyId, Function};
use crate::syntax::{CommClause, ExprId, ExprKind, Node, StmtKind};

impl Abandoned<'_, '_, '_> {
    /// Whether it depends on the owner of the channel, or on what a sender was given, whether one sends.
    pub(super) fn may_send_no_more(&self) -> bool {
        self.depends_on_owner()
            || self.capacity > 0 && (self.is_paced() || self.is_disarmed())
            || self.are_ended()
            || self.bodies().any(|body| self.asks_parameters(body))
    }

    /// Whether one of the senders may send where this way out is taken: none does if each sends only where a
    /// condition holds that this way has found not to, of variables which are given a value once.
    pub(super) fn may_send_on(&self, path: &Path<Leaving>) -> bool {
        let function = &self.channel.read.function;
        let found: Vec<Asked> =
            path.decisions().filter_map(|edge| decided(function, edge)).collect();
        let is_ruled_out = |sender: &Sender| {
            sender.literal.is_some_and(|body| {
                let cfg = &function.body(body).cfg;
                let sends = |step: &StepId| {
                    let deeds = self.channel.deeds_at(At { body, step: *step });
                    deeds.iter().any(|deed| {
                        matches!(deed, Deed::Send | Deed::GuardedSend)
                            || self.channel.inner(deed).sends > 0
                    })
                };
                let mut sends = cfg.steps().filter(sends).peekable();
                sends.peek().is_some()
                    && sends.all(|step| {
                        let mut conditions = conditions_above(cfg, step);
                        conditions.any(|edge| {
                            decided(function, edge).is_some_and(|asked| {
                                found.contains(&Asked { holds: !asked.holds, ..asked })
                            })
                        })
                    })
            })
        };
        !self.senders.iter().all(is_ruled_out)
    }

    /// Whether there is room for a value, and the owner of the channel asks its senders for each by a
    /// channel of its own, and for the next only when it has received what they said.
    fn is_paced(&self) -> bool {
        let (scene, cfg) = (self.channel.scene, self.cfg());
        let is_shared = |channel: ExprId| {
            let Some(local) = scene.local(channel) else { return false };
            scene.info.local(local).kind == LocalKind::Var
                && self.senders.iter().all(|sender| {
                    let span = cfg.step(sender.step).span(scene.file);
                    scene.uses(local).any(|usage| span.contains(scene.span(Node::Expr(usage))))
                })
        };
        let asks = |step: &StepId| {
            matches!(cfg.step(*step), Step::Send(_))
                && cfg.step(*step).sent_on(scene.file).is_some_and(is_shared)
        };
        let received = |step: StepId| received_from(scene, cfg, step).is_some_and(is_shared);
        let asked: Vec<StepId> = cfg.steps().filter(asks).collect();
        if asked.is_empty() {
            return false;
        }
        let conditions = Conditions::new(&self.channel.read.function, self.channel.owner);
        let again = |from: StepId| {
            let to = |step: StepId| asked.contains(&step);
            let mut way = Way { conditions: &conditions, to: &to, settled: &received };
            cfg.finds(Start::After(from), conditions.known_after(cfg, from), &mut way)
        };
        !asked.iter().any(|&from| again(from))
    }

    /// Whether each sender is started by a clause of a `select` that takes the channel away by which it was
    /// reached: no second one is started before somebody gives it back.
    fn is_disarmed(&self) -> bool {
        let (scene, cfg) = (self.channel.scene, self.cfg());
        let takes_away = |clause: &CommClause| {
            let channel = clause.comm.and_then(|comm| Step::Comm(comm).received_from(scene.file));
            let Some(armed) = channel.and_then(|channel| scene.local(channel)) else {
                return false;
            };
            clause.body.iter().any(|&stmt| match &scene.file.stmt(stmt).kind {
                StmtKind::Assign { left, right, .. } => {
                    let nil = |&value: &ExprId| {
                        matches!(scene.info.resolve(scene.file.unparen(value)), Def::Nil)
                    };
                    left.iter().any(|&left| scene.local(left) == Some(armed))
                        && right.iter().any(nil)
                }
                _ => false,
            })
        };
        self.senders.iter().all(|sender| {
            let started = cfg.step(sender.step).span(scene.file);
            scene.nodes.iter().any(|&node| match node {
                Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                    StmtKind::Select(clauses) => clauses
                        .iter()
                        .any(|clause| clause.span.contains(started) && takes_away(clause)),
                    _ => false,
                },
                _ => false,
            })
        })
    }

    /// Whether the senders serve something that the owner of the channel ends, and tell of no error that comes
    /// of it.
    fn are_ended(&self) -> bool {
        let scene = self.channel.scene;
        self.senders.iter().all(|sender| {
            let body =
                sender.literal.and_then(|body| self.channel.read.function.body(body).literal);
            body.is_some_and(|literal| leaves_out_the_end(scene, literal))
        })
    }

    /// Whether a goroutine sends only if a variable says so that the owner of the channel writes
    /// while it runs.
    fn depends_on_owner(&self) -> bool {
        let function = &self.channel.read.function;
        self.bodies().any(|body| {
            let cfg = &function.body(body).cfg;
            let mut asked = cfg.blocks().flat_map(|block| cfg.edges_of(block));
            asked.any(|edge| {
                let Some(condition) = condition(edge.kind) else { return false };
                locals_in(function, Node::Expr(condition)).into_iter().any(|local| {
                    function.owner(local) != Some(body)
                        && !function
                            .definitions_of(local)
                            .any(|definition| definition.at.is_some_and(|at| at.body == body))
                        && function.definitions_of(local).any(|definition| {
                            definition.at.is_some_and(|at| {
                                at.body == self.channel.owner
                                    && self
                                        .senders
                                        .iter()
                                        .any(|sender| self.cfg().reaches(sender.step, at.step))
                            })
                        })
                })
            })
        })
    }

    /// Whether a literal looks at what it is given, so that one start of it may send and another
    /// not.
    fn asks_parameters(&self, body: BodyId) -> bool {
        let function = &self.channel.read.function;
        let cfg = &function.body(body).cfg;
        cfg.blocks()
            .flat_map(|block| cfg.edges_of(block))
            .filter_map(|edge| condition(edge.kind))
            .any(|condition| {
                locals_in(function, Node::Expr(condition)).into_iter().any(|local| {
                    function.owner(local) == Some(body)
                        && matches!(function.info.local(local).kind, LocalKind::Param(_))
                })
            })
    }
}

/// What is said of variables that are given a value once.
#[derive(PartialEq, Eq)]
struct Asked {
    /// The words in which equal conditions are known.
    text: String,
    of: Vec<LocalId>,
    holds: bool,
}

/// What an edge says of variables that are given a value once.
fn decided(function: &Function<'_>, edge: EdgeKind) -> Option<Asked> {
    let (condition, holds) = edge.condition()?;
    let locals = locals_in(function, Node::Expr(condition));
    let is_fixed = |&local: &LocalId| {
        function.definitions_of(local).count() == 1 && !function.is_addressed(local)
    };
    let names_parts = function.file.descendants(Node::Expr(condition)).any(|node| match node {
        Node::Expr(part) => {
            matches!(function.info.resolve(part), Def::Field(_))
                || matches!(
                    function.file.expr(part).kind,
                    ExprKind::Index { .. } | ExprKind::Star(_) | ExprKind::Call { .. }
                )
        }
        _ => false,
    });
    let is_fixed = !locals.is_empty() && locals.iter().all(is_fixed) && !names_parts;
    let (text, opposite) = key(function, condition).filter(|_| is_fixed)?;
    Some(Asked { text, of: locals, holds: holds != opposite })
}

/// The conditions that have been decided on every way to a step.
fn conditions_above(cfg: &Cfg, step: StepId) -> impl Iterator<Item = EdgeKind> {
    let start = cfg.only_edge_to(cfg.block_of(step));
    let above = std::iter::successors(start, |&(block, _)| cfg.only_edge_to(block));
    above.map(|(_, edge)| edge.kind)
}
