//! Senders that may send no more once the owner of the channel leaves: they send only when it asks for it, or
//! tell of no error that it makes itself.

use crate::flow::{EdgeKind, Path, Start, Step, StepId};
use crate::index::{Builtin, Callee, Constant, Def, LocalId, LocalKind, Type};
use crate::rules::conditions::{
    Conditions, Way, asked, condition, key, locals_in, names_any, variables,
};
use crate::rules::evidence::abandoned::{Abandoned, Leaving, Sender};
use crate::rules::evidence::claimed::{conditions_above, tells_of_others};
use crate::rules::evidence::traffic::{Deed, received_from};
use crate::rules::scene::Scene;
use crate::rules::spared::leaves_out_the_end;
use crate::summary::{At, BodyId, Function};
use crate::syntax::{
    BinaryOp, CommClause, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol, UnaryOp,
};

impl Abandoned<'_, '_, '_> {
    /// Whether it depends on the owner of the channel, or on what a sender was given, whether one sends.
    pub(super) fn may_send_no_more(&self) -> bool {
        self.depends_on_owner()
            || self.counts_what_is_out()
            || self.receives_for_each_turn()
            || self.is_paced()
            || self.capacity > 0 && self.is_disarmed()
            || self.are_claimed()
            || self.are_ended()
            || self.bodies().any(|body| self.asks_parameters(body))
    }

    /// The receives of the owner, in its own body.
    fn own_receives(&self) -> impl Iterator<Item = Node> {
        let cfg = self.cfg();
        let own = self.channel.deeds.iter().filter(|(at, deeds)| {
            at.body == self.channel.owner && deeds.iter().any(|deed| matches!(deed, Deed::Receive))
        });
        own.filter_map(move |(at, _)| match cfg.step(at.step) {
            Step::Recv(receive) => Some(Node::Expr(receive)),
            Step::Comm(comm) => Some(Node::Stmt(comm)),
            _ => None,
        })
    }

    /// Whether the owner receives for as long as a counter says that something is out: a loop whose condition compares a
    /// number, or the length of something, that its body changes.
    fn counts_what_is_out(&self) -> bool {
        let scene = self.channel.scene;
        let file = scene.file;
        let is_count = |loop_stmt: StmtId| {
            let StmtKind::For { cond: Some(cond), body, .. } = file.stmt(loop_stmt).kind else {
                return false;
            };
            let inside = file.stmt(body).span;
            let counters = file.descendants(Node::Expr(cond)).filter_map(|node| match node {
                Node::Expr(expr) => {
                    let local = scene.local(expr)?;
                    let is_number = matches!(scene.info.local(local).ty, Type::Basic(basic) if basic.is_integer());
                    let is_measured = scene.given_to(expr).is_some_and(|call| {
                        matches!(scene.info.callee(call), Callee::Builtin(Builtin::Len))
                    });
                    (is_number || is_measured).then_some(local)
                }
                _ => None,
            });
            let is_changed = |local: LocalId| {
                scene.uses(local).any(|used| {
                    let within = inside.contains(scene.span(Node::Expr(used)));
                    within
                        && match scene.parent(Node::Expr(used)) {
                            Some(Node::Stmt(stmt)) => match &file.stmt(stmt).kind {
                                StmtKind::IncDec { .. } => true,
                                StmtKind::Assign { left, .. } => left.contains(&used),
                                _ => false,
                            },
                            _ => scene.is_deleted(used),
                        }
                })
            };
            counters.into_iter().any(is_changed)
        };
        self.own_receives().any(|receive| {
            let loops = scene.loops_around(receive);
            loops.iter().any(|&turns| is_count(turns) || self.counts_down(turns))
        }) || scene.nodes.iter().any(|&node| match node {
            Node::Stmt(stmt) => match file.stmt(stmt).kind {
                StmtKind::Range { subject, .. } => {
                    self.channel.is_named(subject) && self.counts_down(stmt)
                }
                _ => false,
            },
            _ => false,
        })
    }

    /// Whether a loop asks whether a number is zero that it counts down: `if n--; n == 0`.
    fn counts_down(&self, turns: StmtId) -> bool {
        let scene = self.channel.scene;
        let file = scene.file;
        let inside: Vec<Node> = file.descendants(Node::Stmt(turns)).collect();
        let is_decremented = |local: LocalId| {
            inside.iter().any(|&node| match node {
                Node::Stmt(stmt) => match file.stmt(stmt).kind {
                    StmtKind::IncDec { operand, increment } => {
                        !increment && scene.local(operand) == Some(local)
                    }
                    _ => false,
                },
                _ => false,
            })
        };
        inside.iter().any(|&node| {
            let Node::Stmt(stmt) = node else { return false };
            let StmtKind::If { cond, .. } = file.stmt(stmt).kind else { return false };
            match file.expr(file.unparen(cond)).kind {
                ExprKind::Binary { op: BinaryOp::Eq | BinaryOp::Le, left, right, .. } => {
                    let zero = scene.info.constant(right).and_then(Constant::as_int) == Some(0);
                    zero && scene.local(left).is_some_and(is_decremented)
                }
                _ => false,
            }
        })
    }

    /// Whether the senders are started in a loop of a few turns that are written down, and there is a receive outside of
    /// loops for each: `for _, f := range []func() error{a, b}`.
    fn receives_for_each_turn(&self) -> bool {
        let scene = self.channel.scene;
        let alone = |receive: &Node| scene.loops_around(*receive).is_empty();
        let receives = self.own_receives().filter(alone).count() + usize::from(self.capacity);
        // What it starts sends once in each turn, or what it starts once sends in turns.
        let turns = |sender: &Sender| {
            let Step::Go(go) = self.cfg().step(sender.step) else { return None };
            let started = scene.loops_around(Node::Stmt(go));
            let sends = || {
                let literal = self.channel.read.function.body(sender.literal?).literal;
                let mut own = scene.nodes.iter().filter(|&&node| match node {
                    Node::Stmt(stmt) => {
                        let sends = matches!(scene.file.stmt(stmt).kind,
                            StmtKind::Send { channel, .. } if self.channel.is_named(channel));
                        sends && scene.literal_around(node) == literal
                    }
                    _ => false,
                });
                let send = *own.next()?;
                own.next().is_none().then(|| scene.loops_around(send))
            };
            match started[..] {
                [turns] if sender.volume.sends == 1 => written_turns(scene, turns),
                [] => match sends()?[..] {
                    [turns] => written_turns(scene, turns),
                    _ => None,
                },
                _ => None,
            }
        };
        matches!(self.senders[..], [sender] if turns(&sender).is_some_and(|turns| turns <= receives))
    }

    /// Whether a way out is taken where what the loop that starts the senders goes by says that it had no turns, or how many:
    /// `if len(xs) == 0` below `for range xs`.
    fn asks_for_turns(&self, path: &Path<Leaving>) -> bool {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let file = scene.file;
        let heads = self.senders.iter().filter_map(|sender| {
            let Step::Go(go) = self.cfg().step(sender.step) else { return None };
            let &turns = scene.loops_around(Node::Stmt(go)).first()?;
            match file.stmt(turns).kind {
                StmtKind::Range { subject, .. } => Some(locals_in(function, Node::Expr(subject))),
                StmtKind::For { cond: Some(cond), .. } => {
                    Some(locals_in(function, Node::Expr(cond)))
                }
                _ => None,
            }
        });
        let heads: Vec<LocalId> = heads.flatten().collect();
        let names = |asked: ExprId| names_any(function, Node::Expr(asked), &heads);
        path.edges.iter().any(|edge| match edge.kind {
            EdgeKind::Case(switch, _) | EdgeKind::NoCase(switch) => {
                matches!(file.stmt(switch).kind, StmtKind::Switch { tag: Some(tag), .. } if names(tag))
            }
            kind => condition(kind).is_some_and(|asked| match file.expr(file.unparen(asked)).kind {
                ExprKind::Binary { left, right, .. } => {
                    let one = |one, other| scene.info.constant(one).is_some() && names(other);
                    one(right, left) || one(left, right)
                }
                _ => false,
            }),
        })
    }

    /// Whether one of the senders may send where this way out is taken: none does if each sends only where a
    /// condition holds that this way has found not to, of variables which are given a value once.
    pub(super) fn may_send_on(&self, path: &Path<Leaving>) -> bool {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let found: Vec<Asked> =
            path.decisions().flat_map(|edge| decided(scene, function, edge)).collect();
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
                            decided(scene, function, edge).into_iter().any(|asked| {
                                found.contains(&Asked { holds: !asked.holds, ..asked })
                            })
                        })
                    })
            })
        };
        !self.senders.iter().all(is_ruled_out) && !self.asks_for_turns(path)
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
        if asked.iter().any(|&from| again(from)) {
            return false;
        }
        // Without room for it the answer to the last one has to be received as well.
        self.capacity > 0
            || self.bodies().all(|body| self.sends_when_asked(body, &asked))
                && !asked.iter().any(|&from| cfg.leaves_from(Start::After(from), &received))
    }

    /// Whether a step sends, and waits until somebody receives.
    fn sends_at(&self, at: At) -> bool {
        let deeds = self.channel.deeds_at(at).iter();
        deeds
            .into_iter()
            .any(|deed| matches!(deed, Deed::Send) || self.channel.inner(deed).sends > 0)
    }

    /// Whether a sender comes to each of its sends by way of a receive from what the owner sends on in these steps.
    fn sends_when_asked(&self, body: BodyId, asked: &[StepId]) -> bool {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let asking = |step: &StepId| {
            let channel = self.cfg().step(*step).sent_on(scene.file);
            channel.and_then(|channel| scene.local(channel))
        };
        let asking: Vec<LocalId> = asked.iter().filter_map(asking).collect();
        let cfg = &function.body(body).cfg;
        let is_asked = |step: StepId| {
            let from = received_from(scene, cfg, step).and_then(|from| scene.local(from));
            from.is_some_and(|from| asking.contains(&from))
        };
        let sends = |step: StepId| self.sends_at(At { body, step });
        let conditions = Conditions::new(function, body);
        let unasked = |start: Start| {
            let mut way = Way { conditions: &conditions, to: &sends, settled: &is_asked };
            cfg.finds(start, Vec::new(), &mut way)
        };
        !unasked(Start::Entry)
            && cfg.steps().filter(|&step| sends(step)).all(|step| !unasked(Start::After(step)))
    }

    /// Whether each sender sends only where it has come first, or last: as an atomic operation tells, or what it has in
    /// common with the others and changes itself. How many of them that is nobody knows.
    fn are_claimed(&self) -> bool {
        let several = |sender: &Sender| {
            self.senders.len() > 1 || self.cfg().reaches(sender.step, sender.step)
        };
        self.senders.iter().all(|sender| {
            sender.volume.may_pass
                && several(sender)
                && sender.literal.is_some_and(|body| self.is_claimed(body))
        })
    }

    fn is_claimed(&self, body: BodyId) -> bool {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let cfg = &function.body(body).cfg;
        let mut sends = cfg.steps().filter(|&step| self.sends_at(At { body, step })).peekable();
        sends.peek().is_some()
            && sends.all(|send| {
                conditions_above(cfg, send).any(|edge| match edge {
                    EdgeKind::Arm(select, arm) => self.takes_one(select, arm),
                    _ => condition(edge)
                        .is_some_and(|asked| tells_of_others(scene, function, asked, body)),
                })
            })
    }

    /// Whether an arm of a `select` that need not wait receives from another channel.
    fn takes_one(&self, select: StmtId, arm: u32) -> bool {
        let scene = self.channel.scene;
        let StmtKind::Select(clauses) = &scene.file.stmt(select).kind else { return false };
        let comm = clauses.get(arm as usize).and_then(|clause| clause.comm);
        let from = comm.and_then(|comm| Step::Comm(comm).received_from(scene.file));
        clauses.iter().any(|clause| clause.comm.is_none())
            && from.is_some_and(|from| scene.local(from).is_some() && !self.channel.is_named(from))
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

    /// The variables that are also sent to each sender, which decides by them whether to go on.
    pub(super) fn told(&self) -> Vec<LocalId> {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let decides = |sender: &Sender, told: LocalId| {
            let Some(body) = sender.literal else { return false };
            let cfg = &function.body(body).cfg;
            let asks = |node: Node| {
                scene.file.descendants(node).any(|part| match part {
                    Node::Expr(part) => match scene.file.expr(part).kind {
                        ExprKind::Unary { op: UnaryOp::Recv, operand } => {
                            scene.local(operand) == Some(told)
                        }
                        _ => false,
                    },
                    _ => false,
                })
            };
            let comes_of = |local: LocalId| {
                let mut set = function.definitions_of(local);
                set.any(|it| function.taken_from(it).is_some_and(|from| asks(Node::Expr(from))))
            };
            let edges = cfg.edges();
            edges.filter_map(|edge| condition(edge.kind)).any(|asked| {
                asks(Node::Expr(asked))
                    || locals_in(function, Node::Expr(asked)).into_iter().any(comes_of)
            })
        };
        let told = scene.nodes.iter().filter_map(|&node| {
            let Node::Stmt(stmt) = node else { return None };
            let StmtKind::Send { channel, value } = scene.file.stmt(stmt).kind else { return None };
            let told = scene.local(channel).filter(|_| !self.channel.is_named(channel))?;
            let value = scene.local(value)?;
            self.senders.iter().all(|sender| decides(sender, told)).then_some(value)
        });
        told.collect()
    }

    /// Whether the only sender, once it has received from this other channel, sends no more: who could send on that
    /// knows that it has chosen so.
    pub(super) fn is_taken_instead(&self, other: ExprId) -> bool {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let ([sender], Some(other)) = (&self.senders[..], scene.local(other)) else { return false };
        let Some(body) = sender.literal.filter(|_| !self.cfg().reaches(sender.step, sender.step))
        else {
            return false;
        };
        let made = function.only_definition_of(other).and_then(|only| function.taken_from(only));
        let has_room = made.is_none_or(|made| scene.args(made).len() != 1);
        let cfg = &function.body(body).cfg;
        let sends = |step: StepId| self.sends_at(At { body, step });
        let mut receives = cfg.steps().filter(|&step| {
            received_from(scene, cfg, step).and_then(|from| scene.local(from)) == Some(other)
        });
        !has_room
            && receives.next().is_some_and(|step| !cfg.reaches_any(step, &sends))
            && receives.next().is_none()
    }

    /// Whether an edge is taken where a call tells that a sender never runs: it had only been ordered, and what the
    /// order gave takes it back, as `Stop` of a timer, or what `context.AfterFunc` returns.
    pub(super) fn is_taken_back(&self, edge: EdgeKind) -> bool {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let Some((asked, true)) = asked(scene.file, edge) else { return false };
        let ExprKind::Call { callee, .. } = scene.file.expr(asked).kind else { return false };
        let stopped = scene.method_call(asked).map_or(callee, |(base, _)| base);
        let only = scene.local(stopped).and_then(|local| function.only_definition_of(local));
        let Some(order) = only.and_then(|only| function.taken_from(only)) else { return false };
        let order = scene.file.unparen(order);
        let name = scene.info.callee(order).qualified(scene.cx.index());
        name.is_some_and(|name| name.name.as_str() == "AfterFunc")
            && self.senders.iter().all(|sender| {
                let literal = sender.literal.and_then(|body| function.body(body).literal);
                literal.is_some_and(|literal| scene.given_to(literal) == Some(order))
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
            let mut asked = cfg.edges();
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

/// What an edge says of variables that are given a value once, and of fields that the function does not set.
fn decided(scene: &Scene<'_>, function: &Function<'_>, edge: EdgeKind) -> Vec<Asked> {
    let file = scene.file;
    let (asked, chosen) = match edge {
        EdgeKind::Case(switch, place) => (switch, Some(place as usize)),
        EdgeKind::NoCase(switch) => (switch, None),
        _ => {
            let Some((condition, holds)) = edge.condition() else { return Vec::new() };
            let named = key(function, condition).filter(|_| is_fixed(scene, function, condition));
            let of = variables(function, condition);
            let asked = |(text, opposite)| Asked { text, of, holds: holds != opposite };
            return named.map(asked).into_iter().collect();
        }
    };
    let StmtKind::Switch { tag: Some(tag), ref cases, .. } = file.stmt(asked).kind else {
        return Vec::new();
    };
    if key(function, tag).is_none() || !is_fixed(scene, function, tag) {
        return Vec::new();
    }
    let of = locals_in(function, Node::Expr(tag));
    let named = cases.iter().enumerate().filter_map(|(place, case)| {
        let values: Vec<String> =
            case.values.as_ref()?.iter().map(|&value| scene.text(value)).collect();
        let text = format!("{} {}", scene.text(tag), values.join(","));
        Some(Asked { text, of: of.clone(), holds: chosen == Some(place) })
    });
    named.collect()
}

/// Whether what a condition asks about stays the same in a function.
fn is_fixed(scene: &Scene<'_>, function: &Function<'_>, condition: ExprId) -> bool {
    let file = function.file;
    let is_set = |name: Symbol| {
        scene.assigns(|target| match file.expr(file.unparen(target)).kind {
            ExprKind::Selector { name: set, .. } => set.name == name,
            ExprKind::Ident(set) => set == name,
            _ => false,
        })
    };
    file.descendants(Node::Expr(condition)).all(|node| {
        let Node::Expr(part) = node else { return true };
        match (&file.expr(part).kind, function.info.resolve(part)) {
            (ExprKind::Index { .. } | ExprKind::Star(_), _) => false,
            (ExprKind::Selector { name, .. }, Def::Field(_)) => !is_set(name.name),
            (ExprKind::Ident(name), Def::Global(_)) => !is_set(*name),
            (ExprKind::Ident(_), &Def::Local(local)) => function.has_one_value(local),
            _ => true,
        }
    })
}

/// How many turns a loop has, if that is written down: the elements of a literal, or the numbers up to a constant.
fn written_turns(scene: &Scene<'_>, stmt: StmtId) -> Option<usize> {
    let file = scene.file;
    let number = |expr: ExprId| usize::try_from(scene.info.constant(expr)?.as_int()?).ok();
    match file.stmt(stmt).kind {
        StmtKind::Range { subject, .. } => match &file.expr(file.unparen(subject)).kind {
            ExprKind::CompositeLit { elements, .. } => Some(elements.len()),
            _ => number(subject),
        },
        StmtKind::For { init: Some(init), cond: Some(cond), post: Some(_), .. } => {
            let StmtKind::Define { right, .. } = &file.stmt(init).kind else { return None };
            let ExprKind::Binary { op, left, right: limit, .. } = file.expr(cond).kind else {
                return None;
            };
            let from = right.first().and_then(|&from| number(from))?;
            let is_plain = from == 0 && op == BinaryOp::Lt && scene.local(left).is_some();
            is_plain.then(|| number(limit))?
        }
        _ => None,
    }
}
