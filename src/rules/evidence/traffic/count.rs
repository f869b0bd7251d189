//! How often a body sends on its ways, and what it says once it has sent.
//!
//! A part of a body that answers with one word wherever it has sent tells whoever called it: where the caller
//! finds the other word, nothing was sent.

use crate::flow::{Cfg, Edge, Exit, Passing, Start, Step, StepId, Walk};
use crate::rules::conditions::{Conditions, Decided};
use crate::rules::evidence::runs::How;
use crate::rules::evidence::traffic::{Channel, Deed, MANY};
use crate::summary::{At, BodyId, Source};
use crate::syntax::{ExprId, StmtKind};

/// Beyond so many sends in a loop it is any number.
const COUNTED: u8 = 6;

/// How often a body sends at most. `several` says whether it does so at more than one place.
pub(super) fn most(channel: &Channel<'_, '_>, body: BodyId, several: bool) -> u8 {
    let function = &channel.read.function;
    let conditions = Conditions::new(function, body);
    let mut walk = Count { channel, body, conditions: &conditions, several, most: 0 };
    function.body(body).cfg.search(Start::Entry, Counted::default(), &mut walk);
    walk.most
}

/// See [`Volume::answer`](super::Volume::answer). `sends` is where it sends.
pub(super) fn answer(channel: &Channel<'_, '_>, body: BodyId, sends: &[StepId]) -> Option<bool> {
    let cfg = &channel.read.function.body(body).cfg;
    let mut walk = Answers { channel, cfg, answers: Vec::new() };
    for &send in sends {
        cfg.search(Start::After(send), (), &mut walk);
    }
    match walk.answers[..] {
        [answer] => answer,
        _ => None,
    }
}

/// Collects what is answered, each word once.
struct Answers<'c, 's, 'a> {
    channel: &'c Channel<'s, 'a>,
    cfg: &'c Cfg,
    answers: Vec<Option<bool>>,
}

impl Answers<'_, '_, '_> {
    fn add(&mut self, answer: Option<bool>) {
        if !self.answers.contains(&answer) {
            self.answers.push(answer);
        }
    }
}

impl Walk for Answers<'_, '_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if let Step::Missing(_) = self.cfg.step(step) {
            self.add(None);
        }
        Passing::On(())
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        let scene = self.channel.scene;
        let answer = match exit {
            Exit::Return(stmt) => match &scene.file.stmt(stmt).kind {
                StmtKind::Return(values) => {
                    let word = values.first().and_then(|&value| scene.info.constant(value));
                    word.and_then(|word| word.as_bool())
                }
                _ => None,
            },
            Exit::End => None,
            _ => return false,
        };
        self.add(answer);
        false
    }
}

/// Counts the sends on the paths of a body.
struct Count<'c, 's, 'a> {
    channel: &'c Channel<'s, 'a>,
    body: BodyId,
    conditions: &'c Conditions,
    several: bool,
    most: u8,
}

/// What is known on a way.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Counted {
    sends: u8,
    decided: Decided,
    /// The call that sent last, if it says so: what it answers then, and how much was sent before it.
    told: Option<(ExprId, bool, u8)>,
}

impl Count<'_, '_, '_> {
    /// The call whose answer a condition is.
    fn answering(&self, condition: ExprId) -> Option<ExprId> {
        let (scene, function) = (self.channel.scene, &self.channel.read.function);
        let Some(local) = scene.local(condition) else { return Some(condition) };
        match function.only_definition_of(local)?.source {
            Source::Expr(call) | Source::Result(call, 0) => Some(scene.file.unparen(call)),
            _ => None,
        }
    }
}

impl Walk for Count<'_, '_, '_> {
    type State = Counted;

    fn step(&mut self, state: &Counted, step: StepId) -> Passing<Counted> {
        let mut next = state.clone();
        self.conditions.step(&mut next.decided, step);
        for deed in self.channel.deeds_at(At { body: self.body, step }) {
            let inner = self.channel.inner(deed);
            let more = match deed {
                Deed::Send => 1,
                // What a deferred literal asks before it sends tells it that nothing was sent yet.
                Deed::Literal(How::Defer, _) if self.several && inner.may_pass => 0,
                _ => inner.sends,
            };
            if more == 0 {
                continue;
            }
            let cfg = &self.channel.read.function.body(self.body).cfg;
            let called = || cfg.step(step).call(self.channel.scene.file);
            next.told = match deed {
                Deed::Literal(How::Call, _) | Deed::Function(How::Call, _) => {
                    inner.answer.zip(called()).map(|(answer, call)| (call, answer, next.sends))
                }
                _ => None,
            };
            next.sends = next.sends.saturating_add(more);
            if next.sends > COUNTED {
                next.sends = MANY;
            }
        }
        self.most = self.most.max(next.sends);
        Passing::On(next)
    }

    fn edge(&mut self, state: &Counted, edge: &Edge) -> Option<Counted> {
        let mut next = state.clone();
        if !self.conditions.edge(&mut next.decided, edge) {
            return None;
        }
        if let Some((call, answer, before)) = next.told
            && let Some((condition, holds)) = edge.kind.condition()
            && self.answering(condition) == Some(call)
        {
            next.told = None;
            if holds != answer {
                next.sends = before;
            }
        }
        Some(next)
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, _: &Counted, _: Exit) -> bool {
        false
    }
}
