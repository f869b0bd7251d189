//! The search through the states: those that need the fewest preemptions first, the newest first
//! among them. It finds sooner than depth-first search, and the paths that it finds have the
//! fewest switches between goroutines.

use std::cell::Cell;
use std::collections::BinaryHeap;
use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::explore::code::Code;
use crate::explore::components;
use crate::explore::key;
use crate::explore::machine::{Machine, Stop};
use crate::explore::object::Object;
use crate::explore::process::{Decision, Frame, GoroutineId, Mode, Operation, Process};
use crate::explore::reduce;
use crate::explore::report;
use crate::explore::state::State;
use crate::explore::transition::{Step, Way};
use crate::explore::value::{ObjectId, Value};
use crate::explore::{Bound, Calls, Choices, Exploration, Kind, Limits, Root, Site};
use crate::program::Program;
use crate::program::code::FuncId;

/// A state that was met: how it was reached first, and where it leads.
pub(super) struct Node {
    pub parent: Option<u32>,
    /// Who moved to get here, where, and how.
    pub by: GoroutineId,
    pub at: Site,
    pub event: Event,
    pub cost: u32,
    /// Whether something was chosen on the way here.
    pub chosen: bool,
    /// Whether the witness tells of a choice.
    pub told_choice: bool,
    /// The states that follow; complete once the state was expanded.
    pub next: Vec<u32>,
    /// The goroutines of the state: what each is about to do, and whether it cannot.
    pub waiting: Vec<Waiting>,
    /// Whether a bound cut something off behind it.
    pub cut: bool,
    /// Whether a step out of it is a misuse, with which the process ends.
    pub misused: bool,
}

/// A goroutine in a state, as far as a search for those that never get on needs it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub id: GoroutineId,
    pub started: Site,
    pub blocked: bool,
    /// The cases of a select that nothing in this state can make ready.
    pub dead: Vec<u32>,
    pub at: Site,
}

/// A step of a witness.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Event {
    Start,
    /// Something unknown was decided; for a condition, which way.
    Decided(Decision, Option<bool>),
    Did(Step),
}

impl Event {
    /// Whether it rests on something that is not known, and could have been otherwise.
    fn is_choice(self) -> bool {
        match self {
            Event::Start => false,
            Event::Decided(..) | Event::Did(Step::Fail | Step::Stop(_)) => true,
            Event::Did(Step::Communicate(_, way)) => {
                matches!(way, Way::External | Way::ExternalClosed | Way::Clock)
            }
            Event::Did(_) => false,
        }
    }

    /// Whether it is a choice that a witness tells of.
    fn is_told_choice(self) -> bool {
        let action = report::action(self);
        action.is_some_and(|action| action.is_choice())
    }
}

/// A state that is entered after all that rest on no choice.
struct Later {
    parent: u32,
    by: GoroutineId,
    at: Site,
    event: Event,
    cost: u32,
    state: State,
}

struct Entry {
    cost: u32,
    node: u32,
    state: State,
}

impl PartialEq for Entry {
    fn eq(&self, other: &Entry) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Entry {}

impl PartialOrd for Entry {
    fn partial_cmp(&self, other: &Entry) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Entry {
    /// The greatest is taken first.
    fn cmp(&self, other: &Entry) -> std::cmp::Ordering {
        other.cost.cmp(&self.cost).then(self.node.cmp(&other.node))
    }
}

pub(super) struct Search<'p> {
    pub machine: Machine<'p>,
    pub nodes: Vec<Node>,
    root: Root,
    seen: FxHashMap<u128, u32>,
    queue: BinaryHeap<Entry>,
    later: Vec<Later>,
    found: FxHashSet<(Site, Site)>,
    /// States in which something was decided.
    decisions: usize,
    /// States that were reached through a choice.
    chosen: usize,
    scratch: key::Scratch,
    out: Exploration,
}

/// Explores from a root.
pub(super) fn run(program: &Program, root: Root, limits: &Limits) -> Exploration {
    let looked_at = vec![Cell::new(false); program.funcs.len()];
    let code = Code::new(program, &looked_at);
    let mut search = Search {
        machine: Machine::new(code, limits, root.closed),
        nodes: Vec::new(),
        root,
        seen: FxHashMap::default(),
        queue: BinaryHeap::new(),
        later: Vec::new(),
        found: FxHashSet::default(),
        decisions: 0,
        chosen: 0,
        scratch: key::Scratch::default(),
        out: Exploration::default(),
    };
    search.explore();
    search.out.states = search.nodes.len();
    search.out.steps = search.machine.steps;
    search.out.asks_unknown = search.machine.asks_unknown;
    let funcs = looked_at.iter().zip(0..).filter(|(looked_at, _)| looked_at.get());
    search.out.looked_at = funcs.map(|(_, id)| FuncId(id)).collect();
    search.out
}

impl Search<'_> {
    fn explore(&mut self) {
        let state = self.first();
        self.add(
            state,
            None,
            GoroutineId(0),
            Site { func: self.root.func, pc: 0 },
            Event::Start,
            0,
        );
        while let Some(entry) = self.queue.pop().or_else(|| self.enter_later()) {
            let limits = self.machine.limits;
            if self.nodes.len() >= limits.states || self.decisions >= limits.decisions {
                self.cut(Bound::States);
                break;
            }
            if self.machine.steps >= limits.steps {
                self.cut(Bound::Instructions);
                break;
            }
            self.expand(entry);
        }
        if self.out.complete() && self.machine.limits.calls == Calls::Synchronising {
            for stuck in components::never_on(self) {
                self.keep(stuck);
            }
        }
    }

    /// The state in which the root begins, with parameters and captured variables of which nothing
    /// is known.
    fn first(&mut self) -> State {
        let mut state = State::default();
        let func = self.machine.program.func(self.root.func);
        let mut frame = self.called(&mut state, self.root.func, 0);
        // What a literal captures, others have too, and may change if anybody does.
        for &(_, slot) in &func.captures {
            let var = &func.vars[slot.0 as usize];
            let value = self.machine.symbolic(&mut state, var.ty);
            let cell = Object::Cell(value);
            let cell = if var.settled { state.add(cell, None) } else { state.add_external(cell) };
            frame.values[slot.0 as usize] = Value::Ref(cell);
        }
        let mut frames = vec![frame];
        if let Some(maker) = self.root.maker {
            let results = self.machine.program.func(maker).results.len();
            frames[0].mode = Mode::Await;
            frames.push(self.called(&mut state, maker, results as u8));
        }
        state.processes.push(Rc::new(Process {
            id: GoroutineId(0),
            started: Site { func: self.root.func, pc: 0 },
            frames: frames.into_iter().map(Rc::new).collect(),
            pending: None,
            unwinding: None,
        }));
        state
    }

    /// A function that is called with anything, and of which so many results are wanted.
    fn called(&mut self, state: &mut State, id: FuncId, want: u8) -> Frame {
        let func = self.machine.program.func(id);
        let mut frame = self.machine.new_frame(id, want);
        for &slot in func.receiver.iter().chain(&func.params) {
            let ty = func.vars[slot.0 as usize].ty;
            frame.values[slot.0 as usize] = self.machine.symbolic(state, ty);
        }
        frame
    }

    /// The state of a node, by the steps that lead there.
    pub(super) fn replay(&mut self, node: u32) -> Option<State> {
        let mut path = Vec::new();
        let mut next = Some(node);
        while let Some(at) = next {
            path.push(at);
            next = self.nodes[at as usize].parent;
        }
        let mut state = self.first();
        self.machine.settle(&mut state).ok()?;
        for &at in path.iter().rev().skip(1) {
            let node = &self.nodes[at as usize];
            let (by, event) = (node.by, node.event);
            let index = state.process(by)?;
            let step = match event {
                Event::Start => continue,
                Event::Decided(decision, _) => Step::Decide(decision),
                Event::Did(step) => step,
            };
            self.machine.apply(&mut state, index, step).ok()?;
            self.machine.settle(&mut state).ok()?;
        }
        Some(state)
    }

    fn cut(&mut self, bound: Bound) {
        self.out.bounds[bound as usize] += 1;
    }

    /// Lets the goroutines of a new state run to their next operations, and enters it. Gives its
    /// number, or nothing if it ends there.
    fn add(
        &mut self,
        mut state: State,
        parent: Option<u32>,
        by: GoroutineId,
        at: Site,
        event: Event,
        cost: u32,
    ) -> Option<u32> {
        match self.machine.settle(&mut state) {
            Ok(()) => {}
            Err(Stop::Cut(bound)) => {
                self.cut(bound);
                self.leave_out(parent);
                return None;
            }
            Err(_) => return None,
        }
        if state.doubts.failed_test && self.machine.limits.choices == Choices::Never {
            self.leave_out(parent);
            return None;
        }
        // When `main` returns the process ends, and with it everything that is merely alive.
        if self.root.ends_process && state.process(GoroutineId(0)).is_none() {
            return None;
        }
        let seen = key::key(self.machine.program, &self.machine.terms, &state, &mut self.scratch);
        let before = parent.map(|parent| &self.nodes[parent as usize]);
        let chosen = before.is_some_and(|node| node.chosen) || event.is_choice();
        let told_choice = before.is_some_and(|node| node.told_choice) || event.is_told_choice();
        if chosen && self.chosen >= self.machine.limits.chosen && !self.seen.contains_key(&seen.key)
        {
            self.cut(Bound::States);
            self.leave_out(parent);
            return None;
        }
        let next = self.nodes.len() as u32;
        let node = *self.seen.entry(seen.key).or_insert(next);
        if node == next {
            self.forget_dead(&mut state);
            if seen.facts.contains(&false) {
                // Nobody will ask, and the numbers of what they speak of are used again.
                let mut met = seen.facts.iter();
                Rc::make_mut(&mut state.facts).retain(|_| met.next() == Some(&true));
            }
            state.heap.keep(|id| self.scratch.is_reached(id));
            let node = Node {
                parent,
                by,
                at,
                event,
                cost,
                chosen,
                told_choice,
                next: Vec::new(),
                waiting: Vec::new(),
                cut: false,
                misused: false,
            };
            self.decisions += usize::from(matches!(event, Event::Decided(..)));
            self.chosen += usize::from(chosen);
            self.nodes.push(node);
            self.queue.push(Entry { cost, node: next, state });
        }
        Some(node)
    }

    /// Clears the variables that nobody reads any more: what they refer to is not kept.
    fn forget_dead(&self, state: &mut State) {
        for process in &mut state.processes {
            let dead = |frame: &Frame| -> Vec<usize> {
                let func = self.machine.program.func(frame.func);
                let is_live = key::liveness(self.machine.program.all(), func, frame);
                let vars = func.vars.len().min(frame.values.len());
                let refers = |slot: &usize| frame.values[*slot].object().is_some();
                (0..vars).filter(refers).filter(|&slot| !is_live(slot)).collect()
            };
            for at in 0..process.frames.len() {
                let dead = dead(&process.frames[at]);
                if dead.is_empty() {
                    continue;
                }
                let frame = Rc::make_mut(&mut Rc::make_mut(process).frames[at]);
                for slot in dead {
                    frame.values[slot] = Value::Nil;
                }
            }
        }
    }

    fn expand(&mut self, entry: Entry) {
        let Entry { node, state, .. } = entry;
        let enabled: Vec<Vec<Step>> =
            (0..state.processes.len()).map(|at| self.machine.enabled(&state, at)).collect();
        self.note_waiting(node, &state, &enabled);
        if enabled.iter().all(Vec::is_empty) {
            self.terminal(node, &state);
            return;
        }
        let alone = reduce::alone(&self.machine, &state, &enabled);
        let last = self.nodes[node as usize].by;
        let last_goes_on = state.process(last).is_some_and(|at| !enabled[at].is_empty());
        let goes = |at: &usize| alone.is_none_or(|alone| alone == *at);
        let steps = (0..enabled.len()).filter(goes);
        let steps = steps.flat_map(|at| enabled[at].iter().map(move |&step| (at, step)));
        let mut steps = steps.peekable();
        let mut state = Some(state);
        while let Some((at, step)) = steps.next() {
            // The last step may have the state, unless it is what Go panics at: that is told of the state.
            let is_needed = steps.peek().is_some() || matches!(step, Step::Misuse(_));
            let next = if is_needed { state.clone() } else { state.take() };
            let Some(next) = next else { break };
            let preempts = last_goes_on && next.processes[at].id != last;
            let cost = self.nodes[node as usize].cost + u32::from(preempts);
            self.take(node, state.as_ref(), next, at, step, cost);
        }
    }

    /// Takes one step out of a state: `next` is the state before it, and so is `state` where it is
    /// still needed.
    fn take(
        &mut self,
        node: u32,
        state: Option<&State>,
        mut next: State,
        at: usize,
        step: Step,
        cost: u32,
    ) {
        let by = next.processes[at].id;
        let site = next.processes[at].pending.as_ref().map_or(Site::NONE, |pending| pending.at);
        match self.machine.apply(&mut next, at, step) {
            Ok(()) => {}
            Err(Stop::Cut(bound)) => {
                self.cut(bound);
                self.leave_out(Some(node));
                return;
            }
            Err(_) => {
                if let (Step::Misuse(misuse), Some(state)) = (step, state) {
                    let stuck = report::stuck(self, node, state, &[at], Kind::Misuse(misuse));
                    self.keep(stuck);
                    self.nodes[node as usize].misused = true;
                }
                return;
            }
        }
        let event = match step {
            Step::Decide(decision) => Event::Decided(decision, self.truth_after(&next, by)),
            step => Event::Did(step),
        };
        let later = Later { parent: node, by, at: site, event, cost, state: next };
        let limits = self.machine.limits;
        let waits = limits.choices != Choices::Freely
            && !self.nodes[node as usize].told_choice
            && event.is_told_choice();
        match limits.choices {
            Choices::Last if waits && self.later.len() < limits.chosen => self.later.push(later),
            Choices::Never if waits => self.leave_out(Some(node)),
            _ => self.enter(later),
        }
    }

    /// Enters a state behind another.
    fn enter(&mut self, Later { parent: node, by, at, event, cost, state }: Later) {
        if let Some(to) = self.add(state, Some(node), by, at, event, cost) {
            if to == node && matches!(event, Event::Decided(..)) {
                // The decision changed nothing: what comes after it is not known.
                self.cut(Bound::Instructions);
                self.leave_out(Some(node));
                return;
            }
            let edges = &mut self.nodes[node as usize].next;
            if !edges.contains(&to) {
                edges.push(to);
            }
        }
    }

    /// Enters what was to wait until nothing else is left, and gives the first of it.
    fn enter_later(&mut self) -> Option<Entry> {
        for later in std::mem::take(&mut self.later) {
            self.enter(later);
        }
        self.queue.pop()
    }

    /// Says that not all was explored behind a state.
    fn leave_out(&mut self, behind: Option<u32>) {
        if let Some(node) = behind {
            self.nodes[node as usize].cut = true;
        }
    }

    /// Which way the condition goes that a goroutine stands at, now that something was decided.
    fn truth_after(&mut self, state: &State, id: GoroutineId) -> Option<bool> {
        let process = &state.processes[state.process(id)?];
        let frame = process.frames.last()?;
        let op = self.machine.program.func(frame.func).code.get(frame.pc as usize)?;
        if !matches!(op, crate::program::code::Op::Branch { .. }) || process.pending.is_some() {
            return None;
        }
        let value = *frame.values.last()?;
        self.machine.truth(state, value).ok()
    }

    fn note_waiting(&mut self, node: u32, state: &State, enabled: &[Vec<Step>]) {
        let waiting = state
            .processes
            .iter()
            .enumerate()
            .filter_map(|(at, process)| {
                let pending = process.pending.as_ref()?;
                let blocked = enabled[at].is_empty() && !self.machine.is_awaited(state, at);
                let dead = match &pending.operation {
                    Operation::Select { cases, .. } => dead_cases(state, cases, &enabled[at]),
                    _ => Vec::new(),
                };
                Some(Waiting {
                    id: process.id,
                    started: process.started,
                    blocked,
                    dead,
                    at: pending.at,
                })
            })
            .collect();
        self.nodes[node as usize].waiting = waiting;
    }

    /// Nobody can do anything any more.
    fn terminal(&mut self, node: u32, state: &State) {
        let idle = |process: &Rc<Process>| {
            let pending = process.pending.as_ref();
            pending.is_some_and(|pending| {
                matches!(&pending.operation, Operation::Select { cases, .. } if cases.is_empty())
            })
        };
        // `select {}` is meant to stay.
        if state.processes.is_empty() || state.processes.iter().any(idle) {
            return;
        }
        let all: Vec<usize> = (0..state.processes.len()).collect();
        let stuck = report::stuck(self, node, state, &all, Kind::Terminal);
        self.keep(stuck);
    }

    /// Keeps what is found, unless all of it was found before.
    fn keep(&mut self, stuck: crate::explore::Stuck) {
        let mut new = false;
        for goroutine in &stuck.goroutines {
            new |= self.found.insert((goroutine.at, goroutine.started));
        }
        if new {
            self.out.stuck.push(stuck);
        }
    }
}

/// The receives of a select on channels of the explored code that cannot happen.
fn dead_cases(state: &State, cases: &[(Value, Option<Value>)], steps: &[Step]) -> Vec<u32> {
    let internal = |id: ObjectId| {
        matches!(state.heap.get(id), Object::Channel(_)) && !state.heap.is_external(id)
    };
    let mut dead = Vec::new();
    for (at, (channel, value)) in cases.iter().enumerate() {
        let at = at as u32;
        let can =
            steps.iter().any(|step| matches!(step, Step::Communicate(Some(c), _) if *c == at));
        if value.is_none() && !can && channel.object().is_some_and(internal) {
            dead.push(at);
        }
    }
    dead
}
