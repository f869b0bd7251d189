//! Reaching definitions: which assignments can have given a variable the value that it has at a
//! step.

use std::collections::BTreeMap;
use std::ops::Range;

use rustc_hash::FxHashSet;

use crate::flow::{EdgeKind, Forward, Solution, Step, StepId};
use crate::index::{LocalId, LocalKind, Type};
use crate::summary::function::{At, BodyId, Function, is_given};
use crate::syntax::{DeclKind, ExprId, ExprKind, StmtId, StmtKind, UnaryOp};

/// An assignment to a local variable.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The variable.
    pub local: LocalId,
    /// Where; `None` for what is there from the beginning.
    pub at: Option<At>,
    /// What is assigned.
    pub source: Source,
}

/// What is assigned to a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The argument that the caller gives.
    Given,
    /// The zero value.
    Zero,
    /// The value of an expression.
    Expr(ExprId),
    /// A result of a call that has several.
    Result(ExprId, u32),
    /// The `ok` of `v, ok := x`, or something computed from the old value.
    Computed,
    /// The key or value of a `range`.
    Element(StmtId),
}

/// The reaching definitions of one body.
#[derive(Default)]
pub(super) struct Reaching {
    solution: Option<Solution<Vec<u64>>>,
    /// The definitions of this body that the bits stand for.
    tracked: Vec<u32>,
    /// The definitions of this body, in order of steps.
    changes: Vec<Change>,
}

/// A step that defines a variable.
struct Change {
    step: StepId,
    /// The bits of all definitions of the variable.
    rivals: Range<u32>,
    /// The bit of this one.
    bit: u32,
}

/// Finds all definitions of all locals.
pub(super) fn collect(function: &mut Function<'_>) {
    let given: Vec<(LocalId, Source)> = (0..function.info.locals().len() as u32)
        .map(LocalId)
        .filter(|&local| is_given(function.info.local(local).kind))
        .map(|local| match function.info.local(local).kind {
            LocalKind::Result(_) => (local, Source::Zero),
            _ => (local, Source::Given),
        })
        .collect();
    for (local, source) in given {
        function.define(local, None, source);
    }
    for body in function.bodies() {
        let mut found = Vec::new();
        for step in function.body(body).cfg.steps() {
            step_definitions(function, At { body, step }, &mut found);
        }
        for (local, at, source) in found {
            function.define(local, Some(at), source);
        }
    }
    find_addressed(function);
}

/// Iterates, for each body, over the variables that are assigned in it more than once.
pub(super) fn solve(function: &mut Function<'_>) {
    let mut of_bodies: BTreeMap<BodyId, Vec<u32>> = BTreeMap::new();
    for local in (0..function.by_local.len() as u32).map(LocalId) {
        if let Some(body) = function.owner(local).filter(|_| follows_flow(function, local)) {
            let definitions = &function.by_local[local.0 as usize];
            of_bodies.entry(body).or_default().extend(definitions);
        }
    }
    for (body, tracked) in of_bodies {
        let mut changes: Vec<Change> = Vec::new();
        let mut entry = vec![0u64; tracked.len().div_ceil(64)];
        let mut first = 0;
        let same = |a: &u32, b: &u32| {
            function.definitions[*a as usize].local == function.definitions[*b as usize].local
        };
        for of_local in tracked.chunk_by(same) {
            let rivals = first..first + of_local.len() as u32;
            first = rivals.end;
            for (bit, &definition) in rivals.clone().zip(of_local) {
                match function.definitions[definition as usize].at {
                    None => set(&mut entry, bit),
                    Some(at) => {
                        changes.push(Change { step: at.step, rivals: rivals.clone(), bit });
                    }
                }
            }
        }
        changes.sort_by_key(|change| change.step);
        let analysis = Analysis { entry, changes: &changes };
        let solution = function.body(body).cfg.solve(&analysis);
        function.bodies[body.0 as usize].reaching = Reaching { solution, tracked, changes };
    }
}

/// Whether the definitions of a local can be told apart by where one is: there are several, and
/// all are in the body that owns it.
fn follows_flow(function: &Function<'_>, local: LocalId) -> bool {
    let definitions = &function.by_local[local.0 as usize];
    definitions.len() > 1
        && definitions.iter().all(|&definition| {
            let at = function.definitions[definition as usize].at;
            at.is_none_or(|at| function.owner(local) == Some(at.body))
        })
}

impl Function<'_> {
    /// The definitions that can have given `local` the value that it has right before a step, and
    /// whether the value can come from nowhere else: where the address of a variable is taken,
    /// others than assignments by name may change it.
    pub fn reaching(&self, local: LocalId, at: At) -> (Vec<&Definition>, bool) {
        let all = &self.by_local[local.0 as usize];
        let definitions = |chosen: &[u32]| {
            chosen.iter().map(|&definition| &self.definitions[definition as usize]).collect()
        };
        if self.addressed[local.0 as usize] {
            return (definitions(all), false);
        }
        if all.len() <= 1 || !follows_flow(self, local) {
            return (definitions(all), true);
        }
        match self.reaching_from_owner(local, at) {
            Some(chosen) => (definitions(&chosen), true),
            None => (definitions(all), false),
        }
    }

    fn reaching_from_owner(&self, local: LocalId, at: At) -> Option<Vec<u32>> {
        let all = &self.by_local[local.0 as usize];
        let owner = self.owner(local)?;
        if owner == at.body {
            return self.reaching_here(local, at);
        }
        // A literal sees what was assigned when it was made, and all that comes later.
        let made = self
            .enclosing(at.body)
            .filter_map(|body| self.body(body).made)
            .find(|made| made.body == owner)?;
        let mut chosen = self.reaching_here(local, made)?;
        let here: FxHashSet<u32> = chosen.iter().copied().collect();
        for &definition in all {
            let at = self.definitions[definition as usize].at;
            if !here.contains(&definition)
                && at.is_some_and(|at| self.body(owner).cfg.reaches(made.step, at.step))
            {
                chosen.push(definition);
            }
        }
        chosen.sort_unstable();
        Some(chosen)
    }

    fn reaching_here(&self, local: LocalId, at: At) -> Option<Vec<u32>> {
        let body = self.body(at.body);
        let Reaching { solution, tracked, changes } = &body.reaching;
        let block = body.cfg.block_of(at.step);
        let begin = body.cfg.steps_of(block).next()?;
        let at_entry = solution.as_ref()?.at_entry(block)?;
        // The definitions of one variable stand together, in the order of the variables.
        let of = |definition: &u32| self.definitions[*definition as usize].local;
        let first = tracked.partition_point(|definition| of(definition) < local);
        let count = tracked[first..].partition_point(|definition| of(definition) == local);
        let own = first as u32..(first + count) as u32;
        let before = changes.partition_point(|change| change.step < at.step);
        let here = changes[..before].iter().rev().take_while(|change| change.step >= begin);
        if let Some(last) = here.into_iter().find(|change| own.contains(&change.bit)) {
            return Some(vec![tracked[last.bit as usize]]);
        }
        Some(own.filter(|&bit| is_set(at_entry, bit)).map(|bit| tracked[bit as usize]).collect())
    }
}

struct Analysis<'r> {
    entry: Vec<u64>,
    changes: &'r [Change],
}

impl Forward for Analysis<'_> {
    type State = Vec<u64>;

    fn entry(&self) -> Vec<u64> {
        self.entry.clone()
    }

    fn join(&self, into: &mut Vec<u64>, from: &Vec<u64>) -> bool {
        let mut changed = false;
        for (into, from) in into.iter_mut().zip(from) {
            changed |= *from & !*into != 0;
            *into |= from;
        }
        changed
    }

    fn step(&self, state: &mut Vec<u64>, step: StepId) {
        let first = self.changes.partition_point(|change| change.step < step);
        for change in self.changes[first..].iter().take_while(|change| change.step == step) {
            clear(state, &change.rivals);
            set(state, change.bit);
        }
    }
}

fn set(bits: &mut [u64], bit: u32) {
    bits[bit as usize / 64] |= 1 << (bit % 64);
}

fn clear(bits: &mut [u64], range: &Range<u32>) {
    for word in range.start / 64..range.end.div_ceil(64) {
        let from = range.start.saturating_sub(word * 64);
        let to = (range.end - word * 64).min(64);
        bits[word as usize] &= !((!0 << from) & (!0 >> (64 - to)));
    }
}

fn is_set(bits: &[u64], bit: u32) -> bool {
    bits[bit as usize / 64] & 1 << (bit % 64) != 0
}

/// The definitions of one step.
fn step_definitions(function: &Function<'_>, at: At, found: &mut Vec<(LocalId, At, Source)>) {
    let file = function.file;
    match function.step(at) {
        Step::Assign(stmt) | Step::Comm(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Define { left, right } | StmtKind::Assign { left, right, op: None } => {
                for (place, &target) in left.iter().enumerate() {
                    if let Some(local) = function.variable(target) {
                        found.push((local, at, assigned(function, left.len(), right, place)));
                    }
                }
            }
            StmtKind::Assign { left, .. } => {
                for &target in left {
                    if let Some(local) = function.variable(target) {
                        found.push((local, at, Source::Computed));
                    }
                }
            }
            StmtKind::IncDec { operand, .. } => {
                if let Some(local) = function.variable(*operand) {
                    found.push((local, at, Source::Computed));
                }
            }
            _ => {}
        },
        Step::Declare(decl) => {
            let DeclKind::Var(spec) = &file.decl(decl).kind else { return };
            for (place, name) in spec.names.iter().enumerate() {
                let Some(local) = function.info.declared_at(name.span) else { continue };
                let source = match spec.values.is_empty() {
                    true => Source::Zero,
                    false => assigned(function, spec.names.len(), &spec.values, place),
                };
                found.push((local, at, source));
            }
        }
        Step::Bind(stmt) => {
            let StmtKind::Range { key, value, .. } = file.stmt(stmt).kind else { return };
            for target in key.into_iter().chain(value) {
                if let Some(local) = function.variable(target) {
                    found.push((local, at, Source::Element(stmt)));
                }
            }
        }
        Step::Eval(subject) => {
            // The subject of a type switch is the value of its clauses' variables.
            let cfg = &function.body(at.body).cfg;
            let edges = cfg.edges_of(cfg.block_of(at.step));
            let Some(stmt) = edges.iter().find_map(|edge| match edge.kind {
                EdgeKind::Case(stmt, _) => Some(stmt),
                _ => None,
            }) else {
                return;
            };
            let StmtKind::TypeSwitch { subject: own, cases, .. } = &file.stmt(stmt).kind else {
                return;
            };
            for case in cases.iter().filter(|_| *own == subject) {
                if let Some(local) = function.info.clause_variable(case.span) {
                    found.push((local, at, Source::Expr(subject)));
                }
            }
        }
        _ => {}
    }
}

/// What the left side number `place` of `count` gets.
fn assigned(function: &Function<'_>, count: usize, right: &[ExprId], place: usize) -> Source {
    if count == right.len() {
        return Source::Expr(right[place]);
    }
    let [value] = right[..] else { return Source::Computed };
    let value = function.file.unparen(value);
    match function.file.expr(value).kind {
        ExprKind::Call { .. } => Source::Result(value, place as u32),
        // `v, ok :=` of a receive, an index or a type assertion.
        _ if place == 0 => Source::Expr(value),
        _ => Source::Computed,
    }
}

/// Marks the variables whose address is taken, except structs and arrays: their address is their
/// identity.
fn find_addressed(function: &mut Function<'_>) {
    let mut marked = Vec::new();
    for body in function.bodies() {
        let cfg = &function.body(body).cfg;
        for step in cfg.steps() {
            cfg.step(step).for_each_operand(function.file, &mut |expr| {
                if let ExprKind::Unary { op: UnaryOp::Addr, operand } =
                    function.file.expr(expr).kind
                    && let Some(local) = function.variable(operand)
                {
                    marked.push(local);
                }
            });
        }
    }
    marked.retain(|&local| {
        let ty = function.index.underlying(&function.info.local(local).ty);
        !matches!(ty, Type::Struct(_) | Type::Array(_))
    });
    for local in marked {
        function.addressed[local.0 as usize] = true;
    }
}
