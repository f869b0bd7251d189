//! Paths through the graph: is there one, and which conditions were decided on it.

use std::collections::VecDeque;
use std::hash::Hash;

use rustc_hash::FxHashSet;

use crate::flow::{BlockId, Cfg, Edge, EdgeKind, Exit, Step, StepId};

/// Where a path begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Start {
    /// At the beginning of the body.
    Entry,
    /// Right after a step.
    After(StepId),
    /// Before the first step of a block.
    Block(BlockId),
}

/// A path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Path<S = ()> {
    /// The edges taken, in order.
    pub edges: Vec<Edge>,
    /// Where it ends.
    pub end: PathEnd,
    /// What the walk knew there.
    pub state: S,
}

/// Where a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PathEnd {
    /// The function is left at the end of a block.
    Exit(BlockId, Exit),
    /// At a step that was looked for.
    Step(StepId),
}

impl<S> Path<S> {
    /// What was decided on the way, in order: all edges but plain jumps.
    pub fn decisions(&self) -> impl DoubleEndedIterator<Item = EdgeKind> {
        self.edges.iter().map(|edge| edge.kind).filter(|kind| !matches!(kind, EdgeKind::Jump))
    }
}

/// What a walk makes of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing<S> {
    /// It goes on, knowing this.
    On(S),
    /// It is of no interest any more.
    Drop,
    /// It has found what it looks for.
    Found,
}

/// A walk along all paths at once, with a little knowledge about each. Two paths that meet in a
/// block with equal knowledge go on as one.
pub trait Walk {
    /// What is known on a path. It must have few values, since each block is visited once for each.
    type State: Clone + Eq + Hash;

    /// What passing this step makes of a path.
    fn step(&mut self, state: &Self::State, step: StepId) -> Passing<Self::State>;

    /// What taking this edge makes of a path; `None` if it cannot be taken.
    fn edge(&mut self, state: &Self::State, edge: &Edge) -> Option<Self::State> {
        let _ = edge;
        Some(state.clone())
    }

    /// Whether paths go on where something could not be understood. A search for a path that does
    /// harm stops there, since anything may have happened.
    fn passes_missing(&self) -> bool {
        false
    }

    /// Whether a path that leaves the function like this is one that is looked for.
    fn exit(&mut self, state: &Self::State, exit: Exit) -> bool;
}

/// A block that a search has come to.
struct Node<S> {
    block: BlockId,
    /// What is known at its beginning.
    state: S,
    /// The node before it, and the edge from there.
    from: Option<(usize, Edge)>,
}

/// How many blocks a search visits at most, counted once for each different state.
const VISITS: usize = 100_000;

impl Cfg {
    /// The shortest path that `walk` looks for, to each place where one ends, the shortest first.
    pub fn search<W: Walk>(
        &self,
        start: Start,
        state: W::State,
        walk: &mut W,
    ) -> Vec<Path<W::State>> {
        self.search_for(usize::MAX, start, state, walk)
    }

    /// Whether there is a path that `walk` looks for.
    pub fn finds<W: Walk>(&self, start: Start, state: W::State, walk: &mut W) -> bool {
        !self.search_for(1, start, state, walk).is_empty()
    }

    /// The shortest paths, and not more of them than are wanted.
    fn search_for<W: Walk>(
        &self,
        wanted: usize,
        start: Start,
        state: W::State,
        walk: &mut W,
    ) -> Vec<Path<W::State>> {
        let mut found = Vec::new();
        let mut ends = FxHashSet::default();
        let mut nodes: Vec<Node<W::State>> = Vec::new();
        let mut seen = FxHashSet::default();
        let mut open = VecDeque::from([0]);
        let (block, mut after) = match start {
            Start::Entry => (Cfg::ENTRY, None),
            Start::Block(block) => (block, None),
            Start::After(step) => (self.block_of(step), Some(step)),
        };
        if after.is_none() {
            seen.insert((block, state.clone()));
        }
        nodes.push(Node { block, state, from: None });
        while let Some(index) = open.pop_front() {
            let (block, mut state) = (nodes[index].block, nodes[index].state.clone());
            let steps = match after.take() {
                Some(skipped) => skipped.0 + 1..self.blocks[block.0 as usize].last_step,
                None => {
                    self.blocks[block.0 as usize].first_step
                        ..self.blocks[block.0 as usize].last_step
                }
            };
            let mut passed = 1;
            let end = 'block: {
                for step in steps.map(StepId) {
                    passed += 1;
                    if matches!(self.step(step), Step::Missing(_)) && !walk.passes_missing() {
                        break 'block None;
                    }
                    match walk.step(&state, step) {
                        Passing::On(next) => state = next,
                        Passing::Drop => break 'block None,
                        Passing::Found => break 'block Some(PathEnd::Step(step)),
                    }
                }
                for edge in self.edges_of(block) {
                    passed += 1;
                    if let Some(next) = walk.edge(&state, edge)
                        && nodes.len() < VISITS
                        && seen.insert((edge.to, next.clone()))
                    {
                        open.push_back(nodes.len());
                        nodes.push(Node {
                            block: edge.to,
                            state: next,
                            from: Some((index, *edge)),
                        });
                    }
                }
                self.exit_of(block)
                    .filter(|&exit| walk.exit(&state, exit))
                    .map(|exit| PathEnd::Exit(block, exit))
            };
            self.pass(passed);
            if let Some(end) = end.filter(|&end| ends.insert(end)) {
                let mut edges = Vec::new();
                let mut at = nodes[index].from;
                while let Some((parent, edge)) = at {
                    edges.push(edge);
                    at = nodes[parent].from;
                }
                edges.reverse();
                found.push(Path { edges, end, state });
                if found.len() == wanted {
                    break;
                }
            }
        }
        found
    }

    /// The shortest path from right after `from` to each exit, by which no step that satisfies
    /// `settled` is passed. A `defer` that settles the matter settles it for the paths that
    /// register it. Exits by panic, by calls that never return, and unknown ones are not counted:
    /// a rule that wants them asks [`Cfg::search`].
    pub fn escapes(&self, from: StepId, settled: &dyn Fn(StepId) -> bool) -> Vec<Path> {
        self.search(Start::After(from), (), &mut Escape { settled })
    }

    /// Whether a path through the body leaves it by which no step that satisfies `settled` is passed, as
    /// [`Cfg::escapes`] counts exits.
    pub fn leaves_without(&self, settled: &dyn Fn(StepId) -> bool) -> bool {
        self.leaves_from(Start::Entry, settled)
    }

    /// As [`Cfg::leaves_without`], of the paths from somewhere.
    pub fn leaves_from(&self, from: Start, settled: &dyn Fn(StepId) -> bool) -> bool {
        self.finds(from, (), &mut Escape { settled })
    }

    /// Whether a step that satisfies `to` can come after `from`.
    pub fn reaches_any(&self, from: StepId, to: &dyn Fn(StepId) -> bool) -> bool {
        self.finds(Start::After(from), (), &mut Reach { to, avoid: &|_| false, missing: true })
    }

    /// Whether `to` can come after `from` without a step between them that satisfies `avoid`.
    pub fn reaches_without(
        &self,
        from: StepId,
        to: StepId,
        avoid: &dyn Fn(StepId) -> bool,
    ) -> bool {
        self.starts_without(Start::After(from), to, avoid)
    }

    /// As [`Cfg::reaches_without`], from where a path may also begin with the function.
    pub fn starts_without(&self, from: Start, to: StepId, avoid: &dyn Fn(StepId) -> bool) -> bool {
        self.finds(from, (), &mut Reach { to: &|step| step == to, avoid, missing: false })
    }

    /// Whether one of some steps can be come to from the beginning past none of some others.
    pub fn begins_without(
        &self,
        to: &dyn Fn(StepId) -> bool,
        avoid: &dyn Fn(StepId) -> bool,
    ) -> bool {
        self.finds(Start::Entry, (), &mut Reach { to, avoid, missing: false })
    }

    /// Whether a step can come after an edge.
    pub fn leads(&self, edge: &Edge, to: StepId) -> bool {
        self.starts_without(Start::Block(edge.to), to, &|_| false)
    }

    /// Whether every path from the beginning to `below` passes `above` first; a step dominates
    /// itself.
    pub fn dominates(&self, above: StepId, below: StepId) -> bool {
        let mut walk =
            Reach { to: &|step| step == below, avoid: &|step| step == above, missing: true };
        above == below || !self.finds(Start::Entry, (), &mut walk)
    }
}

struct Escape<'a> {
    settled: &'a dyn Fn(StepId) -> bool,
}

impl Walk for Escape<'_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if (self.settled)(step) { Passing::Drop } else { Passing::On(()) }
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

struct Reach<'r> {
    to: &'r dyn Fn(StepId) -> bool,
    avoid: &'r dyn Fn(StepId) -> bool,
    /// Whether code that is missing may lead there.
    missing: bool,
}

impl Walk for Reach<'_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        match step {
            step if (self.to)(step) => Passing::Found,
            step if (self.avoid)(step) => Passing::Drop,
            _ => Passing::On(()),
        }
    }

    fn passes_missing(&self) -> bool {
        self.missing
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
    }
}
