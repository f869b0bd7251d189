//! From a stuck state to a finding: what happens to whom, in the user's names, in order of time.

mod served;
mod timing;

use memchr::memmem;
use rustc_hash::FxHashSet;

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::explore::{
    Action, Goroutine, Kind, Misuse, Resource, ResourceKind, Site, Stuck, WaitsFor,
};
use crate::program::Program;
use crate::program::code::{Func, FuncId, Op, Operator, SelectCase, Slot};
use crate::program::library::Intrinsic;
use crate::rules::find;
use crate::rules::stuck::judge::{Fault, Verdict};
use crate::source::{FileId, Location, SourceText, Span};
use crate::syntax::File;

/// Conditions that are told at most, the last ones.
const MAX_CONDITIONS: usize = 4;

/// Longer pieces of source are cut.
const MAX_TEXT: usize = 60;

/// What is needed to tell what happened.
pub(super) struct Story<'a> {
    pub program: &'a Program,
    pub files: &'a [(FileId, &'a File)],
    pub root: FuncId,
    /// Whether the root belongs to a test.
    pub test: bool,
}

impl Story<'_> {
    /// The finding for a stuck state.
    pub fn finding(&self, stuck: &Stuck, verdict: &Verdict) -> Finding {
        let page = &find(verdict.rule).expect("the table names rules that exist").page;
        let centre = &stuck.goroutines[verdict.centre];
        let primary_site = self.primary(centre, verdict.fault);
        let made = centre.resources.first().and_then(|resource| resource.made);
        let primary = self.location(primary_site);
        Finding {
            rule: page.id,
            severity: page.severity,
            confidence: self.confidence(stuck, centre).min(page.confidence),
            message: self.message(stuck, centre, verdict.fault),
            primary,
            primary_label: match primary_site == centre.at {
                false if verdict.fault == Fault::OwnLock => "never returns".to_owned(),
                _ => self.primary_label(centre, verdict.fault),
            },
            labels: self.labels(stuck, verdict, primary),
            why: self.why(stuck),
            help: match stopped_at(centre) {
                Some(_) => "wait in a `select` with what ends the goroutine too".to_owned(),
                None => help(verdict.fault).to_owned(),
            },
            fixes: Vec::new(),
            defect: match verdict.fault {
                Fault::LeftLocked => primary,
                _ => self.location(made.unwrap_or(centre.at)),
            },
        }
    }

    /// The place that is shown first: where it stays, or where a lock is taken and never given
    /// back, or where its holder calls what takes it again.
    fn primary(&self, centre: &Goroutine, fault: Fault) -> Site {
        match fault {
            Fault::LeftLocked => held_at(centre).unwrap_or(centre.at),
            Fault::OwnLock => {
                let holder = held_at(centre).map(|at| at.func);
                let mut calls = centre.calls.iter().copied();
                let by_holder = calls.find(|call| Some(call.func) == holder);
                by_holder.filter(|_| holder != Some(centre.at.func)).unwrap_or(centre.at)
            }
            _ => centre.at,
        }
    }

    fn message(&self, stuck: &Stuck, centre: &Goroutine, fault: Fault) -> String {
        let name = self.resource_name(centre);
        let who = self.who(centre);
        let stays = format!("{who} never ends");
        match fault {
            Fault::Send => {
                let capacity = centre.resources.iter().find_map(|resource| match resource.kind {
                    ResourceKind::Channel { capacity, .. } => Some(capacity),
                    _ => None,
                });
                let how = match capacity {
                    None | Some(0) => "unbuffered".to_owned(),
                    Some(capacity) => format!("its buffer of {capacity} is full"),
                };
                format!("nobody is left to receive from `{name}` ({how}), so {stays}")
            }
            Fault::Receive | Fault::Range if stopped_at(centre).is_some() => {
                format!("`{name}` gets nothing more once its timer is stopped, so {stays}")
            }
            Fault::Receive => format!("nobody is left to send on `{name}` or close it, so {stays}"),
            Fault::Context => format!("nothing ever ends `{name}`, so {stays}"),
            Fault::Range => format!("`{name}` is never closed, so {stays}"),
            Fault::Select => format!("no case of this `select` can become ready any more, so {stays}"),
            Fault::Spin => format!("the way out of this `select` is never ready, so {stays}"),
            Fault::Nil => format!("`{name}` is nil here, so {stays}"),
            Fault::OwnLock => {
                let again = if self.reads_again(centre) {
                    "which it already holds for reading, while a writer waits"
                } else {
                    "which it already holds"
                };
                format!("{who} waits for `{name}`, {again}")
            }
            Fault::Order => format!("two goroutines take `{name}` and another lock in opposite order"),
            Fault::LeftLocked => {
                let name = held_at(centre).map_or(name, |site| self.operand(site));
                format!("`{name}` is locked here and not unlocked on every way out")
            }
            Fault::HeldLock if matches!(centre.waits_for, WaitsFor::Lock | WaitsFor::RLock) => {
                format!("{who} waits for `{name}`, whose holder is blocked")
            }
            Fault::HeldLock => {
                let lock = centre.holds.first().map(|&(_, at)| self.operand(at));
                let lock = lock.unwrap_or_default();
                format!(
                    "{who} is blocked on `{name}` while it holds `{lock}`, which the other side needs"
                )
            }
            Fault::Counter => format!("`{name}` never gets to zero, so {stays}"),
            Fault::Negative => format!("`{name}` gets below zero, which panics"),
            Fault::Condition => format!("nobody signals `{name}` any more, so {stays}"),
            Fault::Once => format!("`{name}` waits for a call that is still running, so {stays}"),
            Fault::Misuse(misuse) => match misuse {
                Misuse::SendOnClosed => format!("`{name}` can be closed before this send, which panics"),
                Misuse::CloseOfClosed => format!("`{name}` can be closed twice, which panics"),
                _ => format!("`{name}` is nil when it is closed, which panics"),
            },
        }
        .trim_end()
        .to_owned()
            + if stuck.doubts.failed_test { " after the test has failed" } else { "" }
    }

    fn who(&self, goroutine: &Goroutine) -> String {
        if goroutine.number == 0 {
            return format!("`{}`", short(&self.program.func(self.root).name));
        }
        let location = self.location(goroutine.started);
        match self.source(location.file) {
            Some(source) => {
                format!("the goroutine started at line {}", source.line(location.span.start))
            }
            None => "a goroutine".to_owned(),
        }
    }

    fn reads_again(&self, goroutine: &Goroutine) -> bool {
        goroutine.waits_for == WaitsFor::RLock
            && held_at(goroutine).is_some_and(|at| self.text(at).contains(".RLock("))
    }

    fn primary_label(&self, centre: &Goroutine, fault: Fault) -> String {
        match fault {
            Fault::LeftLocked => "locked here".to_owned(),
            Fault::Misuse(_) | Fault::Negative => "panics here".to_owned(),
            _ => match centre.waits_for {
                WaitsFor::Lock | WaitsFor::RLock => "waits here for ever".to_owned(),
                _ => "blocked here for ever".to_owned(),
            },
        }
    }

    /// The other places of the story, in order of time.
    fn labels(&self, stuck: &Stuck, verdict: &Verdict, primary: Location) -> Vec<Label> {
        let mut labels: Vec<Label> = Vec::new();
        let mut add = |site: Site, role: Role, message: String| {
            if site == Site::NONE {
                return;
            }
            let location = self.location(site);
            if location != primary && !labels.iter().any(|label| label.location == location) {
                labels.push(Label { location, role, message });
            }
        };
        let centre = &stuck.goroutines[verdict.centre];
        for resource in &centre.resources {
            if let Some(made) = resource.made {
                add(made, Role::Made, "made here".to_owned());
            }
        }
        for &(_, at) in &centre.holds {
            add(at, Role::Context, format!("`{}` is taken here", self.operand(at)));
        }
        if centre.number != 0 {
            add(centre.started, Role::Started, "the goroutine is started here".to_owned());
        }
        for (at, truth) in self.conditions(stuck) {
            add(at, Role::Condition, format!("`{}` is {truth}", self.text(at)));
        }
        for (at, case) in self.left(stuck) {
            let message = format!("goes on with `{case}` instead");
            add(at, Role::Left, message);
        }
        if let Some(at) = self.closed_at(stuck, centre) {
            add(at, Role::Left, "closed here".to_owned());
        }
        if let Some(at) = stopped_at(centre) {
            add(at, Role::Left, "stopped here, which does not close its channel".to_owned());
        }
        for &at in &centre.calls {
            add(at, Role::Context, "called from here".to_owned());
        }
        for (at, other) in stuck.goroutines.iter().enumerate() {
            if at != verdict.centre {
                let who = self.who(other);
                add(other.at, Role::Stuck, format!("{who} is blocked here"));
                for &(_, held) in &other.holds {
                    add(held, Role::Context, format!("`{}` is taken here", self.operand(held)));
                }
            }
        }
        if matches!(verdict.fault, Fault::LeftLocked | Fault::OwnLock) {
            add(centre.at, Role::Stuck, "waits here for ever".to_owned());
        }
        labels
    }

    /// The last conditions that were decided, each place once.
    fn conditions(&self, stuck: &Stuck) -> Vec<(Site, bool)> {
        let mut conditions: Vec<(Site, bool)> = Vec::new();
        for step in stuck.witness.iter().rev() {
            if let Action::Condition(truth) = step.action
                && !conditions.iter().any(|&(at, _)| at == step.at)
                && conditions.len() < MAX_CONDITIONS
            {
                conditions.push((step.at, truth));
            }
        }
        conditions.reverse();
        conditions
    }

    /// Where goroutines that are not stuck took their last case of a select: what they do instead
    /// of waiting for the others.
    fn left(&self, stuck: &Stuck) -> Vec<(Site, String)> {
        let mut left = Vec::new();
        let mut seen = Vec::new();
        for step in stuck.witness.iter().rev() {
            if seen.contains(&step.goroutine)
                || stuck.goroutines.iter().any(|goroutine| goroutine.number == step.goroutine)
            {
                continue;
            }
            let case = match step.action {
                Action::External { case }
                | Action::Buffer { case }
                | Action::Closed { case }
                | Action::Clock { case }
                | Action::Rendezvous { case, .. } => case,
                _ => None,
            };
            let Some(case) = case else { continue };
            seen.push(step.goroutine);
            if let Some(text) = self.case_text(step.at, case) {
                left.push((step.at, text));
            }
        }
        left.reverse();
        left
    }

    fn case_text(&self, site: Site, case: u32) -> Option<String> {
        let func = self.program.func(site.func);
        let span = self.select(site)?.get(case as usize)?.span;
        Some(self.slice(func.file, span))
    }

    /// What happened, as one sentence for each step that matters.
    fn why(&self, stuck: &Stuck) -> String {
        let mut parts = Vec::new();
        for (at, truth) in self.conditions(stuck) {
            parts.push(format!("`{}` is {truth} at line {}", self.text(at), self.line(at)));
        }
        for (at, case) in self.left(stuck) {
            parts.push(format!("the `select` at line {} goes on with `{case}`", self.line(at)));
        }
        if parts.is_empty() {
            return String::new();
        }
        format!("this happens when {}", parts.join(", and "))
    }

    /// How much the claim rests on.
    fn confidence(&self, stuck: &Stuck, centre: &Goroutine) -> Confidence {
        let counts = !matches!(centre.waits_for, WaitsFor::Lock | WaitsFor::RLock);
        let miscounted = stuck.doubts.shrunk && counts;
        let chosen = stuck.witness.iter().any(|step| step.action.is_choice());
        let doubtful = stuck.doubts.failed_test
            || stuck.doubts.unlikely
            // A test sleeps for as long as it takes.
            || self.test && stuck.doubts.overslept
            || self.test && stuck.doubts.hurried && matches!(stuck.kind, Kind::Misuse(_))
            || miscounted
            || self.asks_twice(stuck)
            || self.asks_own_count(stuck)
            || self.asks_who_is_last(stuck)
            || chosen && stuck.goroutines.iter().any(|each| self.counts_by_value(stuck, each))
            || self.is_idle(stuck)
            // That a call gave nil, or nobody has stored an element, rests on what was chosen for it.
            || centre.waits_for == WaitsFor::NilChannel
                && chosen
                && (self.ranges(centre.at) || self.is_of_element(centre.at))
            // How often a loop counts down is decided by what is not known.
            || stuck.kind == Kind::Misuse(Misuse::NegativeCounter) && self.loops(centre.at) > 0;
        if doubtful || stuck.kind == Kind::Livelock {
            return Confidence::Low;
        }
        // A test chooses what it is given: what is unknown there is not open but not understood.
        if chosen && (self.test || self.is_sized(centre) || is_lonely(stuck, centre)) {
            return Confidence::Low;
        }
        if chosen || centre.external || stuck.kind == Kind::Component {
            return Confidence::Medium;
        }
        Confidence::High
    }

    /// Whether an instruction takes the next value of a `range`.
    fn ranges(&self, site: Site) -> bool {
        let func = self.program.func(site.func);
        matches!(func.code.get(site.pc as usize), Some(Op::RangeNext { .. }))
    }

    /// Whether an operation is about an element of a slice or map, in place or as a `range` gives it.
    fn is_of_element(&self, site: Site) -> bool {
        let (func, operand) = (self.program.func(site.func), self.operand(site));
        let gives = |ops: &[Op]| {
            matches!(ops, [Op::RangeNext { .. }, Op::Declare(slot) | Op::Store(slot)]
                if func.vars[slot.0 as usize].name.as_str() == operand)
        };
        operand.ends_with(']') || func.code.windows(2).any(gives)
    }

    /// Whether a channel is full whose capacity is computed: how it compares to the number of
    /// values is decided by what is not known here.
    fn is_sized(&self, centre: &Goroutine) -> bool {
        matches!(self.size_of_full(centre), Some((1.., size)) if !matches!(size, Some(Op::Const(_))))
    }

    /// Whether a channel has no room since a variable with its size was taken for zero: whoever asks for
    /// room asks for some, and for as many goroutines that make use of it.
    pub fn has_room_for_nothing(&self, stuck: &Stuck, centre: &Goroutine) -> bool {
        let is_decided = |action| matches!(action, Action::Count(0) | Action::Condition(_));
        matches!(self.size_of_full(centre), Some((0, Some(Op::Load(_)))))
            && stuck.witness.iter().any(|step| is_decided(step.action))
    }

    /// The capacity of a channel that is full, and what its size was computed with last.
    fn size_of_full(&self, centre: &Goroutine) -> Option<(u32, Option<&Op>)> {
        let full = |resource: &Resource| match resource.kind {
            ResourceKind::Channel { capacity, .. } if centre.waits_for == WaitsFor::Send => {
                resource.made.map(|made| (made, capacity))
            }
            _ => None,
        };
        let (made, capacity) = centre.resources.iter().find_map(full)?;
        let code = &self.program.func(made.func).code;
        let size = (made.pc as usize).checked_sub(1).and_then(|before| code.get(before));
        Some((capacity, size))
    }

    /// Whether a goroutine waits at a channel that it made itself only to wait, `select {}` by another
    /// name; or for the end of a context of which it is known where it is made that it has none.
    pub fn is_meant(&self, centre: &Goroutine) -> bool {
        if let [only] = &centre.resources[..]
            && self.is_background(only)
        {
            return true;
        }
        let func = self.program.func(centre.at.func);
        if let Some(&Op::Select(table)) = func.code.get(centre.at.pc as usize) {
            return func.selects[table as usize].cases.is_empty();
        }
        if centre.waits_for == WaitsFor::NilChannel {
            return func.waits_at_nil(centre.at.pc as usize);
        }
        if !matches!(centre.waits_for, WaitsFor::Receive | WaitsFor::Range) {
            return false;
        }
        let Some(made) = centre.resources.first().and_then(|resource| resource.made) else {
            return false;
        };
        let func = self.program.func(made.func);
        let waits = |op: Option<&Op>| matches!(op, Some(Op::Receive { .. } | Op::RangeStart(_)));
        let code = &func.code;
        if made.func != centre.at.func || !matches!(code.get(made.pc as usize), Some(Op::Make(_))) {
            return false;
        }
        match code.get(made.pc as usize + 1) {
            Some(&Op::Declare(slot)) => code.iter().enumerate().all(|(at, op)| match *op {
                Op::Load(used) if used == slot => waits(code.get(at + 1)),
                Op::Store(used) => used != slot,
                _ => true,
            }),
            next => waits(next),
        }
    }

    fn is_background(&self, resource: &Resource) -> bool {
        let Some(made) = resource.made.filter(|_| resource.of_context) else { return false };
        match self.program.func(made.func).code.get(made.pc as usize) {
            Some(&Op::CallExternal { callee, .. }) => {
                self.program.external(callee).intrinsic == Intrinsic::Background
            }
            _ => false,
        }
    }

    /// Whether a lock that is left locked is one that another function of the package gives back without
    /// taking it: it goes from hand to hand.
    pub fn is_handed_over(&self, centre: &Goroutine) -> bool {
        let Some(taken) = held_at(centre) else { return false };
        let (lock, text) = (self.operand(taken), self.text(taken));
        // What a method takes for its caller another form of evidence follows.
        if !text.contains("Lock(") {
            return true;
        }
        let Some((_, field)) = lock.rsplit_once('.') else { return false };
        let reads = text.contains(".RLock(");
        let gives = if reads { "RUnlock(" } else { "Unlock(" };
        let gives = format!(".{field}.{gives}");
        let takes = ["Lock(", "RLock("].map(|takes| format!(".{field}.{takes}"));
        // Whoever is sent its address may give it back.
        let (address, cond) = (format!("&{lock}"), format!("NewCond(&{lock}"));
        self.files.iter().any(|(_, file)| {
            file.funcs().any(|(decl, _)| {
                let body = file.source.slice(file.decl(decl).span);
                let has = |what: &String| memmem::find(body, what.as_bytes()).is_some();
                has(&gives) && !takes.iter().any(has) || has(&text) && has(&address) && !has(&cond)
            })
        })
    }

    /// Whether all who are left wait for new work or for their end when the test that started them
    /// has returned: idle, and not stuck.
    fn is_idle(&self, stuck: &Stuck) -> bool {
        stuck.goroutines.iter().all(|goroutine| {
            let only_receives = match self.select(goroutine.at) {
                Some(cases) => cases.len() > 1 && cases.iter().all(|case| !case.send),
                None if self.test => match goroutine.waits_for {
                    // In a loop that asks for work, in one that does it.
                    WaitsFor::Condition if self.loops(goroutine.at) > 1 => true,
                    // A goroutine of the code under test, which the test has not ended.
                    WaitsFor::Receive | WaitsFor::Range | WaitsFor::Condition => {
                        let file = |func| self.program.func(func).file;
                        let mut on_the_way = goroutine.calls.iter().chain([&goroutine.at]);
                        on_the_way.any(|&site| self.loops(site) > 0)
                            && file(goroutine.at.func) != file(self.root)
                    }
                    _ => false,
                },
                None => false,
            };
            goroutine.number != 0 && only_receives
        })
    }

    /// Whether a counter stays up since no case was chosen of a `switch` over texts or types: most often it was
    /// seen to before that it is one of them, or there are no others.
    pub fn falls_through(&self, stuck: &Stuck, centre: &Goroutine) -> bool {
        if centre.waits_for != WaitsFor::Counter {
            return false;
        }
        let is_type = |site: Site| {
            let before = site.pc.checked_sub(1);
            let code = &self.program.func(site.func).code;
            before.is_some_and(|before| matches!(code[before as usize], Op::IsType(_)))
        };
        let falls = |is_case: &dyn Fn(Site) -> bool| {
            let cases = stuck.witness.iter().filter_map(|step| match step.action {
                Action::Condition(truth) if is_case(step.at) => Some(truth),
                _ => None,
            });
            let cases: Vec<bool> = cases.collect();
            cases.len() > 1 && cases.iter().all(|&truth| !truth)
        };
        falls(&|site| self.text(site).starts_with('"')) || falls(&is_type)
    }

    /// How many loops of its function an instruction lies in.
    fn loops(&self, site: Site) -> usize {
        let code = &self.program.func(site.func).code;
        let back = |(at, op): (usize, &Op)| match *op {
            Op::Jump(target) | Op::Branch { target, .. }
                if target <= site.pc && at >= site.pc as usize =>
            {
                Some(target)
            }
            _ => None,
        };
        let heads: FxHashSet<u32> = code.iter().enumerate().filter_map(back).collect();
        heads.len()
    }

    fn select(&self, site: Site) -> Option<&[SelectCase]> {
        let func = self.program.func(site.func);
        match *func.code.get(site.pc as usize)? {
            Op::Select(table) => Some(&func.selects[table as usize].cases),
            _ => None,
        }
    }

    /// Whether the same call was asked at two places, and answered differently: it may be a flag
    /// that only ever goes one way.
    fn asks_twice(&self, stuck: &Stuck) -> bool {
        let mut asked: Vec<(Site, String, bool)> = Vec::new();
        for step in &stuck.witness {
            let Action::Condition(truth) = step.action else { continue };
            let text = self.text(step.at);
            if !text.contains('(') {
                continue;
            }
            let other = asked
                .iter()
                .any(|(at, known, answer)| *at != step.at && *known == text && *answer != truth);
            if other {
                return true;
            }
            asked.push((step.at, text, truth));
        }
        false
    }

    /// Whether it rests on what a field held at the beginning that the same file counts up or down:
    /// most often it counts what was started, so that not any number goes.
    fn asks_own_count(&self, stuck: &Stuck) -> bool {
        stuck.witness.iter().any(|step| {
            let Action::Condition(_) = step.action else { return false };
            let file = self.program.func(step.at.func).file;
            let (Some(source), text) = (self.source(file), self.text(step.at)) else {
                return false;
            };
            let is_part = |c: char| !(c.is_alphanumeric() || matches!(c, '_' | '.'));
            let mut fields = text.split(is_part).filter(|word| word.contains('.'));
            fields.any(|field| {
                let counts = ["++", "--", " += ", " -= "];
                let is_counted = |count: &&str| {
                    memmem::find(source.bytes(), format!("{field}{count}").as_bytes()).is_some()
                };
                counts.iter().any(is_counted)
            })
        })
    }

    /// Whether it is about the count of a group to which the same file adds what a field, a method or a variable
    /// of the package says, or what was worked out: how that compares to the turns of a loop is decided by what
    /// is not known.
    fn counts_by_value(&self, stuck: &Stuck, goroutine: &Goroutine) -> bool {
        let counts = stuck.kind == Kind::Misuse(Misuse::NegativeCounter)
            || goroutine.waits_for == WaitsFor::Counter;
        if !counts {
            return false;
        }
        let add = format!("{}.Add(", self.operand(goroutine.at));
        let file = self.program.func(goroutine.at.func).file;
        let of_file = self.program.funcs.iter().filter(|func| func.file == file);
        of_file.into_iter().any(|func| {
            (0..func.code.len()).any(|pc| {
                let Op::CallMethod { name, args: 1, .. } = func.code[pc] else { return false };
                self.program.name(name) == "Add"
                    && self.slice(file, func.spans[pc]).starts_with(&add)
                    && self.is_of_value(func, pc)
            })
        })
    }

    /// Whether the argument of the call at `pc` is what a value, a method or a computation says.
    fn is_of_value(&self, func: &Func, pc: usize) -> bool {
        match func.before(pc, 1) {
            Some(Op::Load(slot) | Op::LoadCell(slot)) => is_worked_out(func, slot),
            Some(Op::Global(_)) => true,
            Some(before) => {
                let text = self.slice(func.file, func.spans[pc]);
                let arg = text.split_once(".Add(").map_or("", |(_, arg)| arg.trim_end_matches(')'));
                let Some(source) = self.source(func.file) else { return false };
                // Of a variable, what is counted is started after it.
                let text = match before {
                    _ if arg.contains('.') => source.bytes(),
                    Op::Len => {
                        let end = func.spans.iter().map(|span| span.end).max().unwrap_or_default();
                        source.slice(Span::new(func.spans[pc].end, end))
                    }
                    _ => return false,
                };
                !ranges_over_counted(text, arg.as_bytes())
            }
            None => false,
        }
    }

    /// Whether it rests on how an atomic counter compares that goroutines count up or down: the last of them
    /// finds another number than all others.
    fn asks_who_is_last(&self, stuck: &Stuck) -> bool {
        stuck.witness.iter().any(|step| {
            let Action::Condition(_) = step.action else { return false };
            let text = self.text(step.at);
            ["atomic.Add", ".Add("].iter().any(|count| text.contains(count))
        })
    }

    /// The name of what a goroutine waits at, as the operation says it.
    fn resource_name(&self, goroutine: &Goroutine) -> String {
        self.operand(goroutine.at)
    }

    /// What the operation at `site` is about: the channel of a send, the lock of a `Lock`.
    fn operand(&self, site: Site) -> String {
        let text = match self.select(site).map(|cases| cases.iter().find(|case| case.send)) {
            // What goes wrong at a `select` as a whole is its send.
            Some(Some(case)) => self.slice(self.program.func(site.func).file, case.span),
            _ => self.text(site),
        };
        let text = text.strip_prefix("defer ").unwrap_or(&text);
        let text = text.strip_prefix("go ").unwrap_or(text);
        // What is counted down when the function returns that it was given.
        if let Some((counter, _)) = text.split_once(".Go(") {
            return counter.to_owned();
        }
        if let Some((_, subject)) = text.split_once("range ") {
            return subject.trim().to_owned();
        }
        if let Some((before, after)) = text.split_once("<-") {
            let before = before.trim();
            return if before.is_empty() || before.ends_with('=') { after } else { before }
                .trim()
                .trim_end_matches(".Done()")
                .to_owned();
        }
        if let Some(argument) = text.strip_prefix("close(") {
            return argument.trim_end_matches(')').to_owned();
        }
        match text.rfind('.') {
            Some(dot) if text.ends_with(')') => text[..dot].to_owned(),
            _ => text.to_owned(),
        }
    }

    fn text(&self, site: Site) -> String {
        if site == Site::NONE {
            return String::new();
        }
        let func = self.program.func(site.func);
        self.slice(func.file, func.spans[site.pc as usize])
    }

    fn slice(&self, file: FileId, span: Span) -> String {
        let Some(source) = self.source(file) else { return String::new() };
        let text = source.text(span);
        let line = text.lines().next().unwrap_or_default().trim();
        let cut: String = line.chars().take(MAX_TEXT).collect();
        if cut.len() < line.len() { format!("{cut}...") } else { cut }
    }

    fn line(&self, site: Site) -> u32 {
        let location = self.location(site);
        self.source(location.file).map_or(0, |source| source.line(location.span.start))
    }

    fn source(&self, file: FileId) -> Option<&SourceText> {
        self.files.iter().find(|(id, _)| *id == file).map(|(_, file)| &file.source)
    }

    fn location(&self, site: Site) -> Location {
        let func = self.program.func(site.func);
        let span = func.spans[site.pc as usize];
        Location { file: func.file, span: self.first_line(func.file, span) }
    }

    /// A statement with a body is shown by its first line.
    fn first_line(&self, file: FileId, span: Span) -> Span {
        let Some(source) = self.source(file) else { return span };
        let end = source.line_span(source.line(span.start)).map_or(span.end, |line| line.end);
        Span::new(span.start, span.end.min(end).max(span.start))
    }
}

/// Whether the root waits for others, and did not start any: it was given nothing to do.
fn is_lonely(stuck: &Stuck, centre: &Goroutine) -> bool {
    let receives =
        matches!(centre.waits_for, WaitsFor::Receive | WaitsFor::Range | WaitsFor::Select);
    receives
        && stuck.goroutines.iter().all(|goroutine| goroutine.number == 0)
        && stuck.witness.iter().all(|step| step.goroutine == 0)
}

/// Whether a variable is given what is worked out, and bounds no loop: that has as many turns as it says. What
/// is fixed, a length, and `n++` are followed.
fn is_worked_out(func: &Func, slot: Slot) -> bool {
    let is_load =
        |op: Option<Op>| matches!(op, Some(Op::Load(it) | Op::LoadCell(it)) if it == slot);
    let bounds = |at: usize| {
        matches!(
            func.code[at],
            Op::Binary(Operator::Lt | Operator::Le | Operator::Gt | Operator::Ge)
        ) && (is_load(func.before(at, 1)) || is_load(func.before(at, 2)))
    };
    let is_given = |at: usize| match func.code[at] {
        Op::Store(it) | Op::StoreCell(it) | Op::Declare(it) | Op::DeclareCell(it) if it == slot => {
            match func.before(at, 1) {
                Some(Op::Const(_) | Op::Len | Op::Zero(_)) => false,
                Some(Op::Binary(Operator::Add | Operator::Sub)) => {
                    !matches!(func.before(at, 2), Some(Op::Const(_)))
                }
                _ => true,
            }
        }
        _ => false,
    };
    (0..func.code.len()).any(is_given) && !(0..func.code.len()).any(bounds)
}

/// Whether what begins as `len(x.f` is the length of something that a loop in the same text goes over.
fn ranges_over_counted(text: &[u8], length: &[u8]) -> bool {
    length.strip_prefix(b"len(").is_some_and(|counted| {
        let ranged = [b"range ", counted].concat();
        let bound = [b"< len(", counted, b")"].concat();
        let mut ranges = memmem::find_iter(text, &ranged);
        let is_whole = |at: usize| matches!(text.get(at + ranged.len()), Some(b' ' | b'['));
        ranges.any(is_whole) || memmem::find(text, &bound).is_some()
    })
}

/// Where the timer was stopped that a goroutine waits for alone.
fn stopped_at(goroutine: &Goroutine) -> Option<Site> {
    match &goroutine.resources[..] {
        [only] => only.stopped,
        _ => None,
    }
}

/// Where the lock that a goroutine waits for was taken.
fn held_at(goroutine: &Goroutine) -> Option<Site> {
    goroutine.resources.iter().find_map(|resource| match &resource.kind {
        ResourceKind::Lock { held } => held.first().map(|lock| lock.at),
        _ => None,
    })
}

/// The name of a function without what its literals add.
fn short(name: &str) -> &str {
    name.split(".func").next().unwrap_or(name)
}

fn help(fault: Fault) -> &'static str {
    match fault {
        Fault::Send => {
            "give the channel room for this send, or send in a `select` with what ends the receiver"
        }
        Fault::Receive => {
            "close the channel on every way out of its sender, or receive in a `select`"
        }
        Fault::Context => "call the cancel function on every way out",
        Fault::Range => "close the channel when its last sender is done",
        Fault::Select | Fault::Spin => "add a case that is ready when the others have gone",
        Fault::Nil => "make the channel before it is used",
        Fault::OwnLock => {
            "unlock before the call, or split off a function that is called with the lock held"
        }
        Fault::Order => "take the locks in the same order everywhere",
        Fault::LeftLocked => "unlock in a `defer`, or on each way out",
        Fault::HeldLock => "give the lock back before waiting",
        Fault::Counter => "call `Done` in a `defer` of each goroutine that was added",
        Fault::Negative => "call `Done` once for each that was added",
        Fault::Condition => "signal after each change that is waited for, with the lock held",
        Fault::Once => "do not call `Do` of the same `Once` from inside its function",
        Fault::Misuse(_) => "close the channel in one place only, after its last send",
    }
}
