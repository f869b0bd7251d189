//! What is told of who leaves: whether it ends what the goroutine works on that is left behind.

use crate::explore::{Action, Goroutine, Site, Stuck};
use crate::program::code::{FuncId, Op};
use crate::rules::stuck::tell::Story;

impl Story<'_> {
    /// Whether another goroutine left by an arm of a `select` in which it ends what is called as well in the loop in
    /// which this one waits, or is started: that fails from then on, and tells it in time, unless more comes before it
    /// does.
    pub fn is_told_by_failure(&self, stuck: &Stuck, centre: &Goroutine) -> bool {
        let is_there = |number: u32| stuck.goroutines.iter().any(|other| other.number == number);
        let sites = [centre.at, centre.started];
        let turns: Vec<FuncId> =
            sites.into_iter().filter(|&at| self.loops(at) > 0).map(|at| at.func).collect();
        let calls = |base: &String| {
            let call = format!("{base}.");
            turns.iter().any(|&func| {
                self.program.func(func).code.iter().enumerate().any(|(pc, op)| {
                    matches!(op, Op::CallMethod { .. })
                        && self.text(Site { func, pc: pc as u32 }).starts_with(&call)
                })
            })
        };
        !turns.is_empty()
            && stuck.witness.iter().filter(|step| !is_there(step.goroutine)).any(|step| {
                let case = match step.action {
                    Action::External { case }
                    | Action::Buffer { case }
                    | Action::Closed { case }
                    | Action::Clock { case } => case,
                    _ => None,
                };
                case.is_some_and(|case| self.ended_in_arm(step.at, case).iter().any(calls))
            })
    }

    /// What an arm of a `select` ends before it leaves: the text of what a method is called on that closes it.
    fn ended_in_arm(&self, select: Site, case: u32) -> Vec<String> {
        let func = self.program.func(select.func);
        let Some(&Op::Select(table)) = func.code.get(select.pc as usize) else { return Vec::new() };
        let Some(case) = func.selects[table as usize].cases.get(case as usize) else {
            return Vec::new();
        };
        let is_over = |op: &Op| matches!(op, Op::Return(_) | Op::Jump(_));
        let mut ended = Vec::new();
        for (at, op) in func.code.iter().enumerate().skip(case.target as usize) {
            if is_over(op) {
                break;
            }
            let Op::CallMethod { name, .. } = *op else { continue };
            let name = self.program.name(name);
            let ends =
                ["Close", "Stop", "Shutdown", "Cancel"].iter().any(|end| name.starts_with(end));
            let text = self.text(Site { func: select.func, pc: at as u32 });
            let base = text.split_once(&format!(".{name}("));
            ended.extend(base.filter(|_| ends).map(|(base, _)| base.to_owned()));
        }
        ended
    }
}
