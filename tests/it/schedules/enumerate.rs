//! All schedules of a program, by brute force: no reduction, no canonical form, nothing that the
//! explorer does too.

use std::collections::{BTreeSet, HashSet};

use super::code::{Code, Op};
use super::model::Program;

/// What can become of a program.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The lines at which somebody can be.
    pub reached: BTreeSet<u32>,
    /// The lines at which somebody can stay for ever.
    pub stuck: BTreeSet<u32>,
    /// Whether a run can end with nobody left behind.
    pub can_end: bool,
    /// Whether Go can stop the process: a send on a closed channel and the like.
    pub can_die: bool,
}

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    /// Of each goroutine where it is; nobody starts one twice but in a loop.
    goroutines: Vec<(usize, usize)>,
    /// How many values are in it, and whether it is closed.
    channels: Vec<(usize, bool)>,
    locked: Vec<bool>,
    expected: usize,
}

/// More states than this are not looked at: there is no outcome then.
const MAX_STATES: usize = 200_000;

/// Runs `program` in all ways.
pub fn enumerate(program: &Program, code: &Code) -> Option<Outcome> {
    let start = State {
        goroutines: vec![(0, 0)],
        channels: vec![(0, false); program.channels.len()],
        locked: vec![false; program.mutexes],
        expected: program.expected,
    };
    let mut outcome = Outcome::default();
    let mut seen = HashSet::from([start.clone()]);
    let mut open = vec![start];
    while let Some(state) = open.pop() {
        let lines = state.goroutines.iter().map(|&(body, at)| code.bodies[body][at].line);
        outcome.reached.extend(lines.clone());
        let mut next = Vec::new();
        let world = World { program, code, state: &state };
        match world.successors(&mut next) {
            Err(Died) => outcome.can_die = true,
            Ok(()) if next.is_empty() => {
                outcome.stuck.extend(lines);
                outcome.can_end |= state.goroutines.is_empty();
            }
            Ok(()) => {}
        }
        for state in next {
            if seen.insert(state.clone()) {
                open.push(state);
            }
        }
        if seen.len() > MAX_STATES {
            return None;
        }
    }
    Some(outcome)
}

/// The process is over in one of the states that follow.
struct Died;

struct World<'w> {
    program: &'w Program,
    code: &'w Code,
    state: &'w State,
}

impl World<'_> {
    fn op(&self, goroutine: usize) -> &Op {
        let (body, at) = self.state.goroutines[goroutine];
        &self.code.bodies[body][at].op
    }

    /// The state with these goroutines at other places.
    fn moved(&self, to: &[(usize, usize)]) -> State {
        let mut state = self.state.clone();
        for &(goroutine, at) in to {
            state.goroutines[goroutine].1 = at;
        }
        state
    }

    /// What a goroutine offers: whether it sends, on which channel, and where it goes on.
    fn offers(&self, goroutine: usize) -> Vec<(bool, usize, usize)> {
        let on = self.state.goroutines[goroutine].1 + 1;
        match self.op(goroutine) {
            Op::Send(channel) => vec![(true, *channel, on)],
            Op::Receive(channel) | Op::Next(channel, _) => vec![(false, *channel, on)],
            Op::Select(cases, _) => cases.clone(),
            _ => Vec::new(),
        }
    }

    /// All states that follow. A process that may die goes on in the others.
    fn successors(&self, next: &mut Vec<State>) -> Result<(), Died> {
        let mut died = false;
        for goroutine in 0..self.state.goroutines.len() {
            died |= self.step(goroutine, next).is_err();
        }
        if died { Err(Died) } else { Ok(()) }
    }

    fn step(&self, goroutine: usize, next: &mut Vec<State>) -> Result<(), Died> {
        let on = self.state.goroutines[goroutine].1 + 1;
        let mut state = self.moved(&[(goroutine, on)]);
        match *self.op(goroutine) {
            Op::End => drop(state.goroutines.remove(goroutine)),
            Op::Jump(target) => state.goroutines[goroutine].1 = target,
            Op::Branch(target) => next.push(self.moved(&[(goroutine, target)])),
            Op::Go(body) => state.goroutines.push((body, 0)),
            Op::Lock(mutex) if self.state.locked[mutex] => return Ok(()),
            Op::Lock(mutex) => state.locked[mutex] = true,
            Op::Unlock(mutex) if !self.state.locked[mutex] => return Err(Died),
            Op::Unlock(mutex) => state.locked[mutex] = false,
            Op::Done if self.state.expected == 0 => return Err(Died),
            Op::Done => state.expected -= 1,
            Op::Wait if self.state.expected > 0 => return Ok(()),
            Op::Wait => {}
            Op::Close(channel) if self.state.channels[channel].1 => return Err(Died),
            Op::Close(channel) => state.channels[channel].1 = true,
            Op::Send(_) | Op::Receive(_) | Op::Next(..) | Op::Select(..) => {
                return self.communicate(goroutine, next);
            }
        }
        next.push(state);
        Ok(())
    }

    fn communicate(&self, goroutine: usize, next: &mut Vec<State>) -> Result<(), Died> {
        let (mut is_ready, mut died) = (false, false);
        for (sends, channel, target) in self.offers(goroutine) {
            let (held, closed) = self.state.channels[channel];
            let capacity = self.program.channels[channel];
            let mut state = self.moved(&[(goroutine, target)]);
            is_ready |= if sends { closed || held < capacity } else { closed || held > 0 };
            if sends && closed {
                died = true;
            } else if sends && held < capacity {
                state.channels[channel].0 += 1;
                next.push(state);
            } else if !sends && held > 0 {
                state.channels[channel].0 -= 1;
                next.push(state);
            } else if !sends && closed {
                if let Op::Next(_, behind) = *self.op(goroutine) {
                    state.goroutines[goroutine].1 = behind;
                }
                next.push(state);
            } else if capacity == 0 {
                // Each meeting is told once, by who sends.
                for other in (0..self.state.goroutines.len()).filter(|&other| other != goroutine) {
                    for (_, _, there) in self
                        .offers(other)
                        .into_iter()
                        .filter(|offer| (offer.0, offer.1) == (!sends, channel))
                    {
                        if sends {
                            next.push(self.moved(&[(goroutine, target), (other, there)]));
                        }
                    }
                }
            }
        }
        // Whoever could be met may be about to wait, and not do so yet.
        if let Op::Select(_, Some(default)) = *self.op(goroutine)
            && !is_ready
        {
            next.push(self.moved(&[(goroutine, default)]));
        }
        if died { Err(Died) } else { Ok(()) }
    }
}
