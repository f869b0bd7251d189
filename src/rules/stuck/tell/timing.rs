//! What is told of closes and timers: where a channel was closed, and whether the function of a timer sends what is
//! waited for.

use memchr::memmem;

use crate::explore::{Action, Goroutine, Kind, Misuse, Site, Stuck, WaitsFor};
use crate::program::code::Op;
use crate::rules::stuck::tell::Story;

/// How far behind an assignment the function of its timer is looked for.
const FUNCTION: usize = 200;

impl Story<'_> {
    /// Where the channel was closed on which a goroutine sends, or which it closes again: the last close on the way
    /// of what has the same name.
    pub(super) fn closed_at(&self, stuck: &Stuck, centre: &Goroutine) -> Option<Site> {
        let (Kind::Misuse(Misuse::SendOnClosed) | Kind::Misuse(Misuse::CloseOfClosed)) = stuck.kind
        else {
            return None;
        };
        let last = |text: &str| text.rsplit('.').next().unwrap_or_default().to_owned();
        let name = last(&self.operand(centre.at));
        let is_close = |site: Site| {
            let text = self.text(site);
            let closed = text.strip_prefix("defer ").unwrap_or(&text).strip_prefix("close(");
            closed.is_some_and(|closed| last(closed.trim_end_matches(')')) == name)
        };
        stuck.witness.iter().rev().map(|step| step.at).find(|&at| at != centre.at && is_close(at))
    }

    /// Whether who ranges over a channel gives it away in a `defer`, to be closed when the loop is
    /// over, which can be left: by what the loop asks, and as many values come as are asked for.
    pub fn closes_itself(&self, centre: &Goroutine) -> bool {
        if centre.waits_for != WaitsFor::Range || !self.may_be_left(centre.at) {
            return false;
        }
        let channel = self.operand(centre.at);
        let func = centre.at.func;
        self.program.func(func).code.iter().enumerate().any(|(pc, op)| {
            let text = match op {
                Op::Defer { .. } => self.text(Site { func, pc: pc as u32 }),
                _ => return false,
            };
            text.split_once('(').is_some_and(|(_, args)| args.trim_end_matches(')') == channel)
        })
    }

    /// Whether something in the body of a `range` leaves the loop.
    fn may_be_left(&self, site: Site) -> bool {
        let func = self.program.func(site.func);
        let next = site.pc as usize;
        let Some(&Op::RangeNext { exit, .. }) = func.code.get(next) else { return true };
        func.code[next + 1..exit as usize].iter().any(|op| match *op {
            Op::Return(_) => true,
            Op::Jump(target) | Op::Branch { target, .. } => target >= exit,
            _ => false,
        })
    }

    /// Whether a goroutine waits for what the function of a timer sends that could not be stopped any more: that
    /// runs, or has run. All that the timer is set to is a timer with such a function.
    pub fn waits_for_timer(&self, stuck: &Stuck, centre: &Goroutine) -> bool {
        centre.waits_for == WaitsFor::Receive
            && stuck.witness.iter().any(|step| {
                let text = match step.action {
                    Action::Condition(false) => self.text(step.at),
                    _ => return false,
                };
                let timer = text.strip_suffix(".Stop()").and_then(|timer| timer.rsplit_once('.'));
                timer.is_some_and(|(_, timer)| self.is_timer_that_sends(timer))
            })
    }

    /// Whether all that a field is set to in the package is nil, or a timer whose function sends.
    fn is_timer_that_sends(&self, field: &str) -> bool {
        let set = format!(".{field} = ");
        let mut sends = false;
        for (_, file) in self.files {
            let text = file.source.bytes();
            for at in memmem::find_iter(text, set.as_bytes()) {
                let value = &text[at + set.len()..];
                let line = value.split(|&byte| byte == b'\n').next().unwrap_or_default();
                let function = &value[..value.len().min(FUNCTION)];
                let has = |text: &[u8], what: &str| memmem::find(text, what.as_bytes()).is_some();
                match line {
                    b"nil" => {}
                    _ if has(line, "AfterFunc(") && has(function, " <- ") => sends = true,
                    _ => return false,
                }
            }
        }
        sends
    }
}
