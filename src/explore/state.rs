//! A state: heap, goroutines, package variables and what was decided about unknowns. Cloning one
//! is cheap: objects and frames are shared until they are written.

use std::rc::Rc;

use crate::explore::Site;
use crate::explore::object::{Entry, Object};
use crate::explore::process::{GoroutineId, Process};
use crate::explore::value::{ObjectId, TermId, Unknown, Value};
use crate::program::code::GlobalId;
use crate::program::types::TypeId;

#[derive(Clone, Debug, Default)]
pub(super) struct Heap {
    entries: Vec<Option<Rc<Entry>>>,
    /// No entry below this is free.
    first_free: usize,
}

impl Heap {
    pub fn add(&mut self, entry: Entry) -> ObjectId {
        let free = self.entries[self.first_free..].iter().position(Option::is_none);
        let at = free.map_or(self.entries.len(), |at| self.first_free + at);
        self.first_free = at + 1;
        let entry = Some(Rc::new(entry));
        if at == self.entries.len() {
            self.entries.push(entry);
        } else {
            self.entries[at] = entry;
        }
        ObjectId(at as u32)
    }

    pub fn entry(&self, id: ObjectId) -> &Entry {
        self.entries[id.0 as usize].as_ref().expect("what is referred to is kept")
    }

    pub fn get(&self, id: ObjectId) -> &Object {
        &self.entry(id).object
    }

    pub fn entry_mut(&mut self, id: ObjectId) -> &mut Entry {
        let entry = self.entries[id.0 as usize].as_mut().expect("what is referred to is kept");
        Rc::make_mut(entry)
    }

    pub fn get_mut(&mut self, id: ObjectId) -> &mut Object {
        &mut self.entry_mut(id).object
    }

    pub fn is_external(&self, id: ObjectId) -> bool {
        self.entry(id).external
    }

    /// Number of places, free ones included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    pub fn ids(&self) -> impl Iterator<Item = ObjectId> + '_ {
        let used = |(at, entry): (usize, &Option<Rc<Entry>>)| {
            entry.is_some().then_some(ObjectId(at as u32))
        };
        self.entries.iter().enumerate().filter_map(used)
    }

    /// Frees what `keep` does not hold.
    pub fn keep(&mut self, keep: impl Fn(ObjectId) -> bool) {
        let mut first_free = None;
        for (at, entry) in self.entries.iter_mut().enumerate() {
            if entry.is_some() && !keep(ObjectId(at as u32)) {
                *entry = None;
            }
            if entry.is_none() && first_free.is_none() {
                first_free = Some(at);
            }
        }
        while self.entries.last().is_some_and(Option::is_none) {
            self.entries.pop();
        }
        self.first_free = first_free.unwrap_or(self.entries.len()).min(self.entries.len());
    }

    fn change_values(
        &mut self,
        change: &mut dyn FnMut(&mut Value),
        concerns: &impl Fn(Value) -> bool,
    ) {
        for entry in self.entries.iter_mut().flatten() {
            let mut concerned = false;
            entry.object.values(&mut |value| concerned |= concerns(value));
            if concerned {
                Rc::make_mut(entry).object.change_values(change);
            }
        }
    }
}

/// What makes a later report weaker: once set, it stays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Doubts {
    /// A test has already failed.
    pub failed_test: bool,
    /// A number of iterations was cut, or a large count made small.
    pub inexact: bool,
    /// A large number was taken for a small one: counts that are equal may look different.
    pub shrunk: bool,
    /// A call was skipped because of a bound.
    pub cut: bool,
    /// Other code was taken to have given an answer that it may never give: a channel that it has
    /// closed, an error of a call that is given nothing but numbers.
    pub unlikely: bool,
    /// A sleep was over although somebody had room for a value that was not sent yet.
    pub overslept: bool,
    /// A sleep was over although somebody could go on who had not done so.
    pub hurried: bool,
}

/// How many calls are remembered by their results.
const MAX_RESULTS: usize = 16;

#[derive(Clone, Debug, Default)]
pub(super) struct State {
    pub heap: Heap,
    pub processes: Vec<Rc<Process>>,
    /// The package variables that were used, sorted.
    pub globals: Rc<Vec<(GlobalId, Value)>>,
    /// What was decided about terms.
    pub facts: Rc<Vec<(TermId, Value)>>,
    pub next_unknown: u32,
    pub next_goroutine: u32,
    pub doubts: Doubts,
    /// Whether other code was given a function of the package: it may call it, and what that calls,
    /// at any time, so that it reaches the package variables.
    pub opened: bool,
    /// The unknowns of which some answer is unlikely: false, or not nil.
    pub unlikely: Rc<Vec<u32>>,
    /// The unknowns that one call gave each: the first and the last, which may be an error.
    pub results: Rc<Vec<(u32, u32)>>,
}

impl State {
    pub fn add(&mut self, object: Object, made: Option<Site>) -> ObjectId {
        self.heap.add(Entry { external: false, made, object })
    }

    pub fn add_external(&mut self, object: Object) -> ObjectId {
        self.heap.add(Entry { external: true, made: None, object })
    }

    pub fn unknown(&mut self, ty: TypeId) -> Value {
        self.next_unknown += 1;
        Value::Unknown(Unknown { id: self.next_unknown, ty, non_nil: false })
    }

    pub fn non_nil(&mut self, ty: TypeId) -> Value {
        self.next_unknown += 1;
        Value::Unknown(Unknown { id: self.next_unknown, ty, non_nil: true })
    }

    /// Notes that the last `count` unknowns are the results of one call.
    pub fn come_together(&mut self, count: u32) {
        let all = Rc::make_mut(&mut self.results);
        if all.len() == MAX_RESULTS {
            all.remove(0);
        }
        all.push((self.next_unknown + 1 - count, self.next_unknown));
    }

    /// Notes that `value` is not likely to turn out false, or other than nil.
    pub fn is_unlikely(&mut self, value: Value) {
        if let Value::Unknown(unknown) = value {
            Rc::make_mut(&mut self.unlikely).push(unknown.id);
        }
    }

    pub fn process(&self, id: GoroutineId) -> Option<usize> {
        self.processes.iter().position(|process| process.id == id)
    }

    pub fn fact(&self, term: TermId) -> Option<Value> {
        self.facts.iter().find(|(known, _)| *known == term).map(|&(_, value)| value)
    }

    pub fn global(&self, id: GlobalId) -> Option<Value> {
        let at = self.globals.binary_search_by_key(&id, |&(id, _)| id).ok()?;
        Some(self.globals[at].1)
    }

    pub fn set_global(&mut self, id: GlobalId, value: Value) {
        let globals = Rc::make_mut(&mut self.globals);
        match globals.binary_search_by_key(&id, |&(id, _)| id) {
            Ok(at) => globals[at].1 = value,
            Err(at) => globals.insert(at, (id, value)),
        }
    }

    /// Replaces values everywhere. `concerns` says which values `change` would touch.
    pub fn change_values(
        &mut self,
        change: &mut dyn FnMut(&mut Value),
        concerns: &impl Fn(Value) -> bool,
    ) {
        self.heap.change_values(change, concerns);
        for process in &mut self.processes {
            let mut concerned = false;
            let mut note = |value| concerned |= concerns(value);
            process.frames.iter().for_each(|frame| frame.values(&mut note));
            if let Some(pending) = &process.pending {
                pending.operation.values(&mut note);
            }
            if !concerned {
                continue;
            }
            let process = Rc::make_mut(process);
            for frame in &mut process.frames {
                let mut concerned = false;
                frame.values(&mut |value| concerned |= concerns(value));
                if concerned {
                    Rc::make_mut(frame).change_values(change);
                }
            }
            if let Some(pending) = &mut process.pending {
                pending.operation.change_values(change);
            }
        }
        if self.globals.iter().any(|&(_, value)| concerns(value)) {
            Rc::make_mut(&mut self.globals).iter_mut().for_each(|(_, value)| change(value));
        }
    }
}
