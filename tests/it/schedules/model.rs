//! Small programs of goroutines that synchronise, made at random: all closed, so that nothing about
//! them is unknown but some conditions, and without endless loops, so that each run ends or stays
//! where somebody waits.

use crate::harness::Random;

/// A function that starts goroutines.
pub struct Program {
    /// The capacity of each channel.
    pub channels: Vec<usize>,
    /// How many mutexes there are.
    pub mutexes: usize,
    /// How many `Done` the WaitGroup is told to expect.
    pub expected: usize,
    /// The function, and what it starts: number `n` is started by a `Go(n)`.
    pub bodies: Vec<Body>,
}

/// What a goroutine does.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// What it defers first of all: sends, closes, `Done`.
    pub deferred: Vec<Stmt>,
    pub statements: Vec<Stmt>,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    Send(usize),
    Receive(usize),
    Close(usize),
    /// `for range c { ... }`
    Range(usize, Vec<Stmt>),
    Lock(usize),
    Unlock(usize),
    Done,
    Wait,
    Go(usize),
    Select(Vec<Case>, Option<Vec<Stmt>>),
    /// `for range 2 { ... }`
    Twice(Vec<Stmt>),
    /// Of a condition that nobody knows.
    If(Vec<Stmt>, Vec<Stmt>),
    Return,
}

/// An arm of a `select`.
#[derive(Clone, Debug)]
pub struct Case {
    pub sends: bool,
    pub channel: usize,
    pub body: Vec<Stmt>,
}

impl Program {
    /// The next one.
    pub fn random(random: &mut Random) -> Program {
        let goroutines = 1 + random.below(3);
        let mut maker = Maker {
            channels: 1 + random.below(2),
            mutexes: random.below(3),
            waits: random.below(3) == 0,
            in_range: false,
            random,
        };
        let mut bodies: Vec<Body> = (0..=goroutines).map(|_| maker.body()).collect();
        let mut expected = 0;
        for started in 1..=goroutines {
            // Mostly the function itself starts them.
            let starter = if maker.random.below(4) == 0 { maker.random.below(started) } else { 0 };
            let at = maker.random.below(bodies[starter].statements.len() + 1);
            bodies[starter].statements.insert(at, Stmt::Go(started));
            if maker.waits && maker.random.below(4) > 0 {
                let started = &mut bodies[started];
                let defers = maker.random.below(2) == 0;
                if defers { &mut started.deferred } else { &mut started.statements }
                    .push(Stmt::Done);
                expected += 1;
            }
        }
        if maker.waits {
            bodies[0].statements.push(Stmt::Wait);
            // Now and then somebody miscounts.
            expected += usize::from(maker.random.below(6) == 0);
        }
        let capacities = [0, 0, 0, 1, 2];
        Program {
            channels: (0..maker.channels).map(|_| *maker.random.one_of(&capacities)).collect(),
            mutexes: maker.mutexes,
            expected,
            bodies,
        }
    }
}

struct Maker<'r> {
    channels: usize,
    mutexes: usize,
    waits: bool,
    /// Whether the statement stands in a `range`: who sends there may go on for ever.
    in_range: bool,
    random: &'r mut Random,
}

impl Maker<'_> {
    fn body(&mut self) -> Body {
        let mut body = Body { deferred: Vec::new(), statements: self.block(3, 2) };
        if self.random.below(4) == 0 {
            let channel = self.random.below(self.channels);
            let sends = self.random.below(2) == 0;
            body.deferred.push(if sends { Stmt::Send(channel) } else { Stmt::Close(channel) });
        }
        body
    }

    fn block(&mut self, longest: usize, depth: usize) -> Vec<Stmt> {
        let length = self.random.below(longest + 1);
        let mut block = Vec::new();
        for _ in 0..length {
            self.push(&mut block, depth);
        }
        block
    }

    fn push(&mut self, block: &mut Vec<Stmt>, depth: usize) {
        let channel = self.random.below(self.channels);
        match self.random.below(18) {
            0..=3 if !self.in_range => block.push(Stmt::Send(channel)),
            4..=7 => block.push(Stmt::Receive(channel)),
            8 => block.push(Stmt::Close(channel)),
            9 | 10 if self.mutexes > 0 => {
                let mutex = self.random.below(self.mutexes);
                block.push(Stmt::Lock(mutex));
                block.extend(self.block(2, depth.saturating_sub(1)));
                if self.random.below(8) > 0 {
                    block.push(Stmt::Unlock(mutex));
                }
            }
            11 if depth > 0 => {
                let outer = std::mem::replace(&mut self.in_range, true);
                let body = self.block(2, depth - 1);
                self.in_range = outer;
                block.push(Stmt::Range(channel, body));
            }
            12 | 13 if depth > 0 => {
                let cases = 1 + self.random.below(2);
                let cases = (0..cases).map(|_| self.case(depth - 1)).collect();
                let default = (self.random.below(3) == 0).then(|| self.block(1, depth - 1));
                block.push(Stmt::Select(cases, default));
            }
            14 if depth > 0 => {
                let body = self.block(2, depth - 1);
                block.push(Stmt::Twice(body));
            }
            15 if depth < 2 => block.push(Stmt::Return),
            16 if depth > 0 => {
                let (then, or) = (self.block(2, depth - 1), self.block(1, depth - 1));
                block.push(Stmt::If(then, or));
            }
            _ => {}
        }
    }

    fn case(&mut self, depth: usize) -> Case {
        Case {
            sends: !self.in_range && self.random.below(2) == 0,
            channel: self.random.below(self.channels),
            body: self.block(1, depth),
        }
    }
}
