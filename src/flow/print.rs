//! The printed form of a graph, for tests and for people who debug a rule.

use std::fmt::Write;

use crate::flow::{BlockId, Cfg, EdgeKind, Exit, Step};
use crate::source::Span;
use crate::syntax::{ExprId, File, StmtId, StmtKind};

impl Cfg {
    /// One paragraph for each block: its number, its steps, and where it leads.
    ///
    /// ```text
    /// 0:
    ///   call f()
    ///   x := f()
    ///   eval x > 0
    ///   true -> 1, false -> 2
    /// 1:
    ///   return x
    ///   exit return
    /// ```
    pub fn print(&self, file: &File) -> String {
        let mut out = String::new();
        for block in self.blocks() {
            self.print_block(file, block, &mut out).expect("a string takes all that is written");
        }
        out
    }

    fn print_block(&self, file: &File, block: BlockId, out: &mut String) -> std::fmt::Result {
        writeln!(out, "{}:", block.0)?;
        for step in self.steps_of(block) {
            writeln!(out, "  {}", print_step(file, self.step(step)))?;
        }
        if let Some(exit) = self.exit_of(block) {
            let deferred = self.deferred_at(block);
            let name = match exit {
                Exit::Return(_) => "return",
                Exit::End => "end",
                Exit::Panic(_) => "panic",
                Exit::Never(_) => "never",
                Exit::Unknown => "unknown",
            };
            write!(out, "  exit {name}")?;
            for step in deferred.may {
                let always = if deferred.must.contains(&step) { "" } else { "perhaps " };
                let call = self.step(step).call(file).expect("a defer statement has a call");
                write!(out, "; {always}runs {}", expr_text(file, call))?;
            }
            writeln!(out)?;
        }
        let edges: Vec<String> = self
            .edges_of(block)
            .iter()
            .map(|edge| {
                let kind = match edge.kind {
                    EdgeKind::Jump => String::new(),
                    EdgeKind::True(_) => "true ".into(),
                    EdgeKind::False(_) => "false ".into(),
                    EdgeKind::Case(_, index) => format!("case {index} "),
                    EdgeKind::NoCase(_) => "no case ".into(),
                    EdgeKind::Arm(_, index) => format!("arm {index} "),
                    EdgeKind::More(_) => "more ".into(),
                    EdgeKind::Done(_) => "done ".into(),
                };
                format!("{kind}-> {}", edge.to.0)
            })
            .collect();
        match edges.is_empty() {
            true if self.exit_of(block).is_none() => writeln!(out, "  stays"),
            true => Ok(()),
            false => writeln!(out, "  {}", edges.join(", ")),
        }
    }
}

fn print_step(file: &File, step: Step) -> String {
    match step {
        Step::Call(expr) => format!("call {}", expr_text(file, expr)),
        Step::Recv(expr) => format!("recv {}", expr_text(file, expr)),
        Step::FuncLit(expr) => format!("literal {}", expr_text(file, expr)),
        Step::Eval(expr) => format!("eval {}", expr_text(file, expr)),
        Step::Send(stmt) => format!("send {}", stmt_text(file, stmt)),
        Step::Assign(stmt) | Step::Go(stmt) | Step::Defer(stmt) | Step::Return(stmt) => {
            stmt_text(file, stmt)
        }
        Step::Declare(decl) => text(file, file.decl(decl).span),
        Step::Select(_) => "select".into(),
        Step::Comm(stmt) => format!("comm {}", stmt_text(file, stmt)),
        Step::Next(stmt) => match file.stmt(stmt).kind {
            StmtKind::Range { subject, .. } => format!("next {}", expr_text(file, subject)),
            _ => "next".into(),
        },
        Step::Bind(stmt) => match file.stmt(stmt).kind {
            StmtKind::Range { key, value, .. } => {
                let names = key.into_iter().chain(value).map(|name| expr_text(file, name));
                format!("bind {}", names.collect::<Vec<_>>().join(", "))
            }
            _ => "bind".into(),
        },
        Step::Missing(span) => format!("missing {}", text(file, span)),
    }
}

fn expr_text(file: &File, expr: ExprId) -> String {
    text(file, file.expr(expr).span)
}

fn stmt_text(file: &File, stmt: StmtId) -> String {
    text(file, file.stmt(stmt).span)
}

/// The text of a span in one line, shortened where the middle is long.
fn text(file: &File, span: Span) -> String {
    const LONG: usize = 60;
    let text = file.source.text(span);
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    if line.chars().count() <= LONG {
        return line;
    }
    let start: String = line.chars().take(LONG / 2).collect();
    format!("{start}...")
}
