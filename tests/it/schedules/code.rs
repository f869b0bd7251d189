//! A program as Go text, and as instructions of which each knows its line.

use super::model::{Program, Stmt};

/// What a goroutine does, at a line of the text.
#[derive(Clone, Debug)]
pub struct Instruction {
    pub op: Op,
    pub line: u32,
}

/// An instruction; targets are places in the list.
#[derive(Clone, Debug)]
pub enum Op {
    Send(usize),
    Receive(usize),
    Close(usize),
    /// Receives, or goes on behind the loop.
    Next(usize, usize),
    Lock(usize),
    Unlock(usize),
    Done,
    Wait,
    Go(usize),
    /// Whether it sends, on which channel, and where it goes on.
    Select(Vec<(bool, usize, usize)>, Option<usize>),
    Jump(usize),
    /// Goes on there, or not.
    Branch(usize),
    End,
}

/// A program's text, and the instructions of each of its goroutines.
pub struct Code {
    pub text: String,
    pub bodies: Vec<Vec<Instruction>>,
}

/// What is written into the text for a run: a parameter, what is called first in each goroutine, and
/// what before each statement.
#[derive(Clone, Copy, Default)]
pub struct Probes {
    pub param: &'static str,
    pub enter: &'static str,
    pub step: &'static str,
}

/// Writes `program` as the function `name` of the package `package`, in a file of its own.
pub fn code(program: &Program, package: &str, name: &str, probes: Probes) -> Code {
    let text = format!("package {package}\n\nimport \"sync\"\n\n");
    let mut writer = Writer {
        program,
        probes,
        line: 1 + text.lines().count() as u32,
        text,
        depth: 0,
        bodies: vec![Vec::new(); program.bodies.len()],
        deferrals: vec![Vec::new(); program.bodies.len()],
    };
    writer.line(&format!("func {name}({}) {{", probes.param));
    writer.depth += 1;
    for (channel, capacity) in program.channels.iter().enumerate() {
        let capacity = if *capacity == 0 { String::new() } else { format!(", {capacity}") };
        writer.line(&format!("c{channel} := make(chan int{capacity})"));
        writer.line(&format!("_ = c{channel}"));
    }
    for mutex in 0..program.mutexes {
        writer.line(&format!("var m{mutex} sync.Mutex"));
        writer.line(&format!("_ = &m{mutex}"));
    }
    writer.line("var w sync.WaitGroup");
    writer.line(&format!("w.Add({})", program.expected));
    writer.body(0);
    writer.depth -= 1;
    writer.line("}");
    Code { text: writer.text, bodies: writer.bodies }
}

struct Writer<'p> {
    program: &'p Program,
    probes: Probes,
    text: String,
    line: u32,
    depth: usize,
    bodies: Vec<Vec<Instruction>>,
    /// What each body has deferred.
    deferrals: Vec<Vec<Instruction>>,
}

impl Writer<'_> {
    fn line(&mut self, text: &str) {
        self.text += &"\t".repeat(self.depth);
        self.text += text;
        self.text.push('\n');
        self.line += 1;
    }

    fn probe(&mut self, probe: &str) {
        if !probe.is_empty() {
            self.line(probe);
        }
    }

    fn body(&mut self, number: usize) {
        self.probe(self.probes.enter);
        let program = self.program;
        for stmt in &program.bodies[number].deferred {
            let deferred = self.deferred(stmt);
            self.deferrals[number].push(deferred);
        }
        self.block(number, &program.bodies[number].statements);
        self.leave(number);
    }

    fn deferred(&mut self, stmt: &Stmt) -> Instruction {
        let line = self.line;
        match stmt {
            Stmt::Send(c) => {
                self.line("defer func() {");
                self.line(&format!("\tc{c} <- 1"));
                self.line("}()");
                Instruction { op: Op::Send(*c), line: line + 1 }
            }
            Stmt::Close(c) => {
                self.line(&format!("defer close(c{c})"));
                Instruction { op: Op::Close(*c), line }
            }
            _ => {
                self.line("defer w.Done()");
                Instruction { op: Op::Done, line }
            }
        }
    }

    /// What happens at the end of a body.
    fn leave(&mut self, body: usize) {
        let deferred: Vec<Instruction> = self.deferrals[body].iter().rev().cloned().collect();
        self.bodies[body].extend(deferred);
        self.push(body, Op::End);
    }

    fn block(&mut self, body: usize, statements: &[Stmt]) {
        for stmt in statements {
            self.probe(self.probes.step);
            self.stmt(body, stmt);
        }
    }

    /// At the line that is written next.
    fn push(&mut self, body: usize, op: Op) -> usize {
        self.bodies[body].push(Instruction { op, line: self.line });
        self.bodies[body].len() - 1
    }

    fn here(&self, body: usize) -> usize {
        self.bodies[body].len()
    }

    fn simple(&mut self, body: usize, op: Op, text: &str) {
        self.push(body, op);
        self.line(text);
    }

    fn stmt(&mut self, body: usize, stmt: &Stmt) {
        match stmt {
            Stmt::Send(c) => self.simple(body, Op::Send(*c), &format!("c{c} <- 1")),
            Stmt::Receive(c) => self.simple(body, Op::Receive(*c), &format!("<-c{c}")),
            Stmt::Close(c) => self.simple(body, Op::Close(*c), &format!("close(c{c})")),
            Stmt::Lock(m) => self.simple(body, Op::Lock(*m), &format!("m{m}.Lock()")),
            Stmt::Unlock(m) => self.simple(body, Op::Unlock(*m), &format!("m{m}.Unlock()")),
            Stmt::Done => self.simple(body, Op::Done, "w.Done()"),
            Stmt::Wait => self.simple(body, Op::Wait, "w.Wait()"),
            Stmt::Return => {
                self.leave(body);
                self.line("return");
            }
            Stmt::Go(started) => {
                self.simple(body, Op::Go(*started), "go func() {");
                self.depth += 1;
                self.body(*started);
                self.depth -= 1;
                self.line("}()");
            }
            Stmt::Range(c, inner) => {
                let next = self.push(body, Op::Next(*c, 0));
                self.inner(body, &format!("for range c{c} {{"), inner);
                self.push(body, Op::Jump(next));
                self.line("}");
                self.bodies[body][next].op = Op::Next(*c, self.here(body));
            }
            Stmt::Twice(inner) => {
                let first = self.here(body);
                self.inner(body, "for range 2 {", inner);
                self.line("}");
                self.again(body, first);
            }
            Stmt::If(then, or) => {
                let branch = self.push(body, Op::End);
                self.inner(body, "if maybe() {", then);
                let end = self.push(body, Op::End);
                let otherwise = self.here(body);
                self.inner(body, "} else {", or);
                self.line("}");
                self.bodies[body][branch].op = Op::Branch(otherwise);
                self.bodies[body][end].op = Op::Jump(self.here(body));
            }
            Stmt::Select(cases, default) => self.select(body, cases, default.as_deref()),
        }
    }

    fn inner(&mut self, body: usize, head: &str, statements: &[Stmt]) {
        self.line(head);
        self.depth += 1;
        self.block(body, statements);
        self.depth -= 1;
    }

    /// The instructions from `first` on once more.
    fn again(&mut self, body: usize, first: usize) {
        let by = self.here(body) - first;
        let mut copy = self.bodies[body][first..].to_vec();
        for Instruction { op, .. } in &mut copy {
            match op {
                Op::Next(_, target) | Op::Jump(target) | Op::Branch(target) => *target += by,
                Op::Select(cases, default) => {
                    let targets = cases.iter_mut().map(|(_, _, target)| target);
                    targets.chain(default).for_each(|target| *target += by);
                }
                _ => {}
            }
        }
        self.bodies[body].extend(copy);
    }

    fn select(&mut self, body: usize, cases: &[super::model::Case], default: Option<&[Stmt]>) {
        let select = self.push(body, Op::End);
        self.line("select {");
        let (mut arms, mut ends) = (Vec::new(), Vec::new());
        for case in cases {
            let c = case.channel;
            let head =
                if case.sends { format!("case c{c} <- 1:") } else { format!("case <-c{c}:") };
            arms.push((case.sends, c, self.here(body)));
            self.inner(body, &head, &case.body);
            ends.push(self.push(body, Op::End));
        }
        let default = default.map(|statements| {
            let target = self.here(body);
            self.inner(body, "default:", statements);
            ends.push(self.push(body, Op::End));
            target
        });
        self.line("}");
        let behind = self.here(body);
        self.bodies[body][select].op = Op::Select(arms, default);
        for end in ends {
            self.bodies[body][end].op = Op::Jump(behind);
        }
    }
}
