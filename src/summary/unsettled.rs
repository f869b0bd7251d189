//! Ways out of a function on which a thing is left as it was made.
//!
//! This is the question behind "a path leaves without Stop". Two kinds of paths are no evidence
//! and are left out: those on which the thing was never made, since the call that makes it also
//! returned an error or the thing is nil; and those that decide one condition in two ways.

use crate::flow::{Edge, Exit, Passing, Path, Start, StepId, Walk};
use crate::index::{Def, Type};
use crate::summary::Read;
use crate::summary::effect::Effect;
use crate::summary::function::{At, BodyId, Function};
use crate::summary::place::{Place, Root};
use crate::syntax::{BinaryOp, ExprId, ExprKind};

/// How many decisions a path remembers.
const MAX_DECISIONS: usize = 4;
/// How many blocks are looked at on the way to where the thing is made.
const MAX_BLOCKS_BEFORE: usize = 32;

impl Read<'_> {
    /// The shortest path to each exit by `return` or at the end, from right after `made`, that
    /// passes no step with an effect on `place`, or on something that it is a part of, that
    /// `settles` the matter; also the shortest path back to `made`, if there is one. A deferred
    /// effect settles the paths that register it, and an effect that is not sure counts as one.
    pub fn unsettled(
        &self,
        made: At,
        place: &Place,
        settles: &dyn Fn(&Effect) -> bool,
    ) -> Vec<Path> {
        let mut walk = Unsettled { read: self, made, place, settles };
        let body = &self.function.body(made.body);
        let known = walk.decided_before();
        let paths = body.cfg.search(Start::After(made.step), known, &mut walk);
        paths.into_iter().map(|path| Path { edges: path.edges, end: path.end, state: () }).collect()
    }
}

struct Unsettled<'w, 'a> {
    read: &'w Read<'a>,
    made: At,
    place: &'w Place,
    settles: &'w dyn Fn(&Effect) -> bool,
}

/// A condition that has the same answer wherever it is asked, since nothing in it can change.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Question {
    /// Whether a value is true.
    Truth(Place),
    /// Whether a value is nil.
    Nil(Place),
    /// How a value compares with a constant, by the text of that.
    Constant(Place, BinaryOp, String),
}

impl Walk for Unsettled<'_, '_> {
    /// The questions that have been answered on the way, the latest last.
    type State = Vec<(Question, bool)>;

    fn step(&mut self, state: &Self::State, step: StepId) -> Passing<Self::State> {
        let at = At { body: self.made.body, step };
        let settled = self
            .read
            .effects_at(at)
            .any(|effect| self.place.is_within(&effect.place) && (self.settles)(effect));
        match settled {
            true => Passing::Drop,
            false if at == self.made => Passing::Found,
            false => Passing::On(state.clone()),
        }
    }

    fn edge(&mut self, state: &Self::State, edge: &Edge) -> Option<Self::State> {
        let Some((question, answer)) = self.decision(edge) else { return Some(state.clone()) };
        if self.is_never_made(&question, answer) {
            return None;
        }
        let mut state = state.clone();
        if let Some((_, earlier)) = state.iter().find(|(asked, _)| *asked == question) {
            return (*earlier == answer).then_some(state);
        }
        if state.len() == MAX_DECISIONS {
            state.remove(0);
        }
        state.push((question, answer));
        Some(state)
    }

    fn exit(&mut self, _: &Self::State, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

impl Unsettled<'_, '_> {
    /// The question that an edge answers.
    fn decision(&self, edge: &Edge) -> Option<(Question, bool)> {
        let (cond, holds) = edge.kind.condition()?;
        question(&self.read.function, self.made.body, cond, holds)
    }

    /// What has been decided wherever the thing is made, as far as the blocks around it tell.
    fn decided_before(&self) -> Vec<(Question, bool)> {
        let cfg = &self.read.function.body(self.made.body).cfg;
        let mut block = cfg.block_of(self.made.step);
        let mut known = Vec::new();
        for _ in 0..MAX_BLOCKS_BEFORE {
            let Some((before, edge)) = cfg.only_edge_to(block) else { break };
            known.extend(self.decision(&edge));
            block = before;
        }
        known.truncate(MAX_DECISIONS);
        known.reverse();
        known
    }

    /// Whether the answer says that there is nothing to settle: the thing is nil, or the error
    /// that comes with it is not.
    fn is_never_made(&self, question: &Question, answer: bool) -> bool {
        let Question::Nil(asked) = question else { return false };
        if self.place.is_within(asked) {
            return answer;
        }
        match (self.place.root, asked.root) {
            (Root::Call(call, _), Root::Call(of, result)) if call == of => {
                !answer && is_error(&self.read.function, of, result)
            }
            _ => false,
        }
    }
}

/// Whether a result of a call is an error, as far as its type is known.
fn is_error(function: &Function<'_>, call: ExprId, result: u32) -> bool {
    match function.info.type_of(call) {
        Type::Tuple(results) => {
            results.get(result as usize).is_some_and(|ty| ty.is_error() || ty.is_unknown())
        }
        Type::Unknown => result > 0,
        _ => false,
    }
}

/// The question that a condition asks, and the answer if the condition `holds` or not.
fn question(
    function: &Function<'_>,
    body: BodyId,
    cond: ExprId,
    holds: bool,
) -> Option<(Question, bool)> {
    let step = function.body(body).cfg.step_of_expr(cond)?;
    let place = |expr: ExprId| {
        let place = function.places(At { body, step }, expr).only()?.clone();
        // A field may be assigned between two questions; a variable that was assigned has
        // another place.
        let fixed = match place.root {
            Root::Receiver | Root::Param(_) | Root::LiteralParam(..) => true,
            Root::Call(..) | Root::Made(_) => true,
            Root::Global(_) | Root::Local(_) | Root::Read(_) | Root::Element(_) => false,
        };
        (fixed && place.path.is_empty()).then_some(place)
    };
    let ExprKind::Binary { op, left, right, .. } = function.file.expr(cond).kind else {
        return Some((Question::Truth(place(cond)?), holds));
    };
    let is_nil = |expr| matches!(function.info.resolve(function.file.unparen(expr)), Def::Nil);
    let (asked, constant) = match (is_nil(left), is_nil(right)) {
        (false, true) => (left, None),
        (true, false) => (right, None),
        _ if function.info.constant(right).is_some() => (left, Some(right)),
        _ => return None,
    };
    let (op, holds) = match op {
        BinaryOp::Ne => (BinaryOp::Eq, !holds),
        BinaryOp::Ge => (BinaryOp::Lt, !holds),
        BinaryOp::Le => (BinaryOp::Gt, !holds),
        other => (other, holds),
    };
    let place = place(asked)?;
    match constant {
        None => (op == BinaryOp::Eq).then_some((Question::Nil(place), holds)),
        Some(constant) => Some((Question::Constant(place, op, function.text(constant)), holds)),
    }
}
