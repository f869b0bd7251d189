//! The rules of group `stuck`: a goroutine that nothing will ever wake.
//!
//! They share one exploration of each root of a package, and differ in what the stuck goroutine
//! was doing: one table, in `judge`, maps a stuck state to the id of a rule. `tell` makes a
//! finding of it, with the path that leads there.

mod counted;
mod dead_end;
mod judge;
mod once;
mod tell;

pub use once::only_stays;

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;

use crate::catalog::Versions;
use crate::diagnostic::{Confidence, Finding};
use crate::explore::{self, Calls, Choices, Exploration, Limits, Root, Site, Stuck, WaitsFor};
use crate::index::is_of_word;
use crate::program::code::{FuncId, Op};
use crate::program::{self, Environment, Program, Source};
use crate::rules::evidence::{self, Evidence};
use crate::rules::scene::{Scene, is_written_as_test};
use crate::rules::{Check, PackageCx, Rule, spared};
use crate::source::FileId;
use crate::syntax::File;

pub const CLOSE_MISUSE: Rule =
    with(include_str!("../../rules/close-misuse.md"), evidence::close_misuse);
pub const COND_WAIT_LOST: Rule =
    with(include_str!("../../rules/cond-wait-lost.md"), evidence::cond_wait_lost);
pub const DOUBLE_LOCK: Rule =
    with(include_str!("../../rules/double-lock.md"), evidence::double_lock);
pub const LOCK_HELD_WHILE_BLOCKED: Rule =
    with(include_str!("../../rules/lock-held-while-blocked.md"), evidence::lock_held_while_blocked);
pub const LOCK_ORDER: Rule = with(include_str!("../../rules/lock-order.md"), evidence::lock_order);
pub const NIL_CHANNEL: Rule =
    with(include_str!("../../rules/nil-channel.md"), evidence::nil_channel);
pub const ONCE_SELF: Rule = rule(include_str!("../../rules/once-self.md"));
pub const RANGE_NEVER_CLOSED: Rule =
    with(include_str!("../../rules/range-never-closed.md"), evidence::range_never_closed);
pub const RECEIVE_WITHOUT_SENDER: Rule =
    with(include_str!("../../rules/receive-without-sender.md"), evidence::receive_without_sender);
pub const SELECT_NEVER_READY: Rule =
    with(include_str!("../../rules/select-never-ready.md"), evidence::select_never_ready);
pub const SEND_AND_RECEIVE_IN_ONE_GOROUTINE: Rule = with(
    include_str!("../../rules/send-and-receive-in-one-goroutine.md"),
    evidence::send_and_receive_in_one_goroutine,
);
pub const SEND_WITHOUT_RECEIVER: Rule =
    with(include_str!("../../rules/send-without-receiver.md"), evidence::send_without_receiver);
pub const UNLOCK_MISSING: Rule =
    with(include_str!("../../rules/unlock-missing.md"), evidence::unlock_missing);
pub const WAITGROUP_UNBALANCED: Rule =
    with(include_str!("../../rules/waitgroup-unbalanced.md"), evidence::waitgroup_unbalanced);

/// The highest confidence that a finding of the explorer has. Where nobody asks for findings of so
/// little confidence nothing is explored.
pub const EXPLORED: Confidence = Confidence::High;

const fn rule(page: &'static str) -> Rule {
    Rule { page, check: Check::Exploration(None) }
}

/// A rule that also says what is shown without exploring.
const fn with(page: &'static str, evidence: Evidence) -> Rule {
    Rule { page, check: Check::Exploration(Some(evidence)) }
}

/// A package that is ready to be explored.
pub struct Explorer<'a> {
    files: Vec<(FileId, &'a File)>,
    program: Program,
    /// What was explored of another text of the package, where that can tell something of this one.
    past: Option<Arc<Past>>,
    quiet: Mutex<FxHashMap<FuncId, Quiet>>,
}

/// What was explored of a package, for when it is explored again after an edit.
#[derive(Debug)]
pub struct Past {
    program: Program,
    /// The roots from which nothing was found to be stuck.
    quiet: FxHashMap<FuncId, Quiet>,
}

/// A root from which nothing was found to be stuck.
#[derive(Clone, Debug)]
struct Quiet {
    limits: Limits,
    /// What makes its receiver, if that was asked for.
    makers: Vec<FuncId>,
    exploration: Arc<Exploration>,
}

impl<'a> Explorer<'a> {
    /// Compiles the functions of a package, of whose files these are the whole trees.
    pub fn new(
        files: Vec<(FileId, &'a File)>,
        versions: &dyn Versions,
        past: Option<Arc<Past>>,
    ) -> Explorer<'a> {
        let sources: Vec<Source<'_>> =
            files.iter().map(|&(id, file)| Source { id, file }).collect();
        // Go 1.22: https://go.dev/blog/loopvar-preview
        let shares_loop_variables = versions.go().is_some_and(|go| (go.major, go.minor) < (1, 22));
        let program = program::compile(&sources, &Known { shares_loop_variables });
        let past = past.filter(|past| past.program.speaks_as(&program));
        Explorer { files, program, past, quiet: Mutex::default() }
    }

    /// Whether these files may hold a function that an exploration starts from, as far as their names and
    /// words tell: most packages need not be compiled.
    pub fn may_have_roots(files: &[(FileId, &File)], wanted: &dyn Fn(FileId) -> bool) -> bool {
        let holds = |file: &File, word: &str| holds_word(file.source.bytes(), word.as_bytes());
        let is_entry = |name: &str| {
            name == "main"
                || ["Example", "Test", "Benchmark", "Fuzz"].iter().any(|it| name.starts_with(it))
        };
        let makes_channels = files.iter().any(|(_, file)| holds(file, "chan"));
        let receives = |file: &File| memchr::memmem::find(file.source.bytes(), b"<-").is_some();
        let may = |file: &File| {
            makes_channels && (holds(file, "make") || receives(file))
                || ["go", "Lock", "RLock", "TryLock"].iter().any(|word| holds(file, word))
                || file.funcs().any(|(_, func)| is_entry(func.name.name.as_str()))
        };
        files.iter().any(|&(id, file)| wanted(id) && may(file))
    }

    /// What was explored, for another text of the package.
    pub fn into_past(self) -> Past {
        let quiet = self.quiet.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner());
        Past { program: self.program, quiet }
    }

    /// The functions of these files that an exploration starts from. `test` says which of them are
    /// of tests: what a test hands to others may be meant to panic, or runs in a time of its own.
    pub fn roots(
        &self,
        wanted: &dyn Fn(FileId) -> bool,
        test: &dyn Fn(FileId) -> bool,
    ) -> Vec<FuncId> {
        let is_root = |root: &FuncId| {
            let func = self.program.func(*root);
            wanted(func.file) && !(func.traits.handed && test(func.file))
        };
        self.program.roots().filter(is_root).collect()
    }

    /// The file of a root.
    pub fn file_of(&self, root: FuncId) -> FileId {
        self.program.func(root).file
    }

    /// What is found from one root. `test` says whether it belongs to a test, `doubtful` whether
    /// anybody wants what has low confidence: if not, a test is explored only as far as its steps are
    /// certain.
    pub fn explore(&self, root: FuncId, test: bool, doubtful: bool) -> Explored {
        let closed = self.program.is_entry(root);
        // What is named as a test in a file that is none runs as a program does.
        let test = test || !closed && self.program.is_given_test(root);
        let ends_process = closed && self.program.func(root).symbol.as_str() == "main";
        let start = Root { func: root, maker: None, closed, ends_process };
        let limits = if test {
            let choices = if doubtful { Choices::Last } else { Choices::Never };
            Limits { choices, ..TEST }
        } else if closed {
            Limits::default()
        } else {
            OPEN
        };
        let story = tell::Story { program: &self.program, files: &self.files, root, test };
        let verdict = |stuck: &Stuck| {
            let verdict = judge::judge(stuck)?;
            // `main` that waits for a context which never ends, or for goroutines that are not
            // done, is meant to stay, as `select {}`.
            let centre = &stuck.goroutines[verdict.centre];
            let is_meant = matches!(verdict.fault, judge::Fault::Context | judge::Fault::Counter);
            if ends_process && centre.number == 0 && is_meant {
                return None;
            }
            let is_left = matches!(verdict.fault, judge::Fault::LeftLocked);
            let is_spared = story.is_meant(centre)
                || story.closes_itself(centre)
                || story.falls_through(stuck, centre)
                || story.has_room_for_nothing(stuck, centre)
                || story.waits_for_timer(stuck, centre)
                || story.is_told_by_failure(stuck, centre)
                || is_left && story.is_handed_over(centre);
            (!is_spared).then_some(verdict)
        };
        let exploration = self.exploration(start, limits, &|stuck| verdict(stuck).is_some());
        let findings = exploration.stuck.iter().filter_map(|stuck| {
            let mut finding = story.finding(stuck, &verdict(stuck)?);
            finding.confidence = finding.confidence.min(EXPLORED);
            Some(finding)
        });
        Explored {
            findings: findings.collect(),
            complete: exploration.complete(),
            states: exploration.states as u64,
            steps: exploration.steps,
        }
    }

    /// What is reached from a root, `told` being what of that is worth telling.
    fn exploration(
        &self,
        start: Root,
        limits: Limits,
        told: &dyn Fn(&Stuck) -> bool,
    ) -> Arc<Exploration> {
        let unchanged = self.unchanged(start, &limits).cloned();
        let quiet = unchanged.unwrap_or_else(|| {
            let mut exploration = explore::explore(&self.program, start, &limits);
            // What is called hides what is done here: without the calls that are given nothing it fits.
            let tells = exploration.stuck.iter().any(told);
            if limits == OPEN && !tells && !exploration.complete() {
                let limits = Limits { calls: Calls::Given, ..limits };
                exploration.follow(explore::explore(&self.program, start, &limits));
                // What other goroutines do hides what this one does to itself.
                let tells = exploration.stuck.iter().any(told);
                if !exploration.complete() && !tells {
                    self.follow_channels(&mut exploration, start, limits);
                    if self.takes_locks(&exploration) {
                        self.follow_alone(&mut exploration, start, limits, &judge::is_own_lock);
                    }
                }
            }
            let makers = match limits == OPEN && exploration.asks_unknown {
                true => self.program.makers_of(start.func),
                false => Vec::new(),
            };
            let tells = exploration.stuck.iter().any(told);
            if !tells && !makers.is_empty() && self.takes_locks(&exploration) {
                for &maker in &makers {
                    self.follow_maker(&mut exploration, Root { maker: Some(maker), ..start });
                }
            }
            Quiet { limits, makers, exploration: Arc::new(exploration) }
        });
        let exploration = Arc::clone(&quiet.exploration);
        if exploration.stuck.is_empty() {
            let all = self.quiet.lock();
            all.unwrap_or_else(|poisoned| poisoned.into_inner()).insert(start.func, quiet);
        }
        exploration
    }

    /// Adds what becomes of each channel that a function makes and gives to goroutines, with all for unknown that
    /// is not given that one.
    fn follow_channels(&self, exploration: &mut Exploration, start: Root, limits: Limits) {
        let code = &self.program.func(start.func).code;
        if !code.iter().any(|op| matches!(op, Op::Go { .. })) {
            return;
        }
        let is_made = |op: &Op| match *op {
            Op::Make(ty) => {
                matches!(self.program.types.underlying(ty), program::types::Type::Chan(..))
            }
            _ => false,
        };
        let made = (0..).zip(code).filter(|(_, op)| is_made(op));
        for (pc, _) in made.take(MAX_CHANNELS) {
            let site = Site { func: start.func, pc };
            let limits = Limits { calls: Calls::Of(site), ..limits };
            let mut of_channel = explore::explore(&self.program, start, &limits);
            of_channel.stuck.retain(|stuck| {
                let mut at = stuck.goroutines.iter().flat_map(|goroutine| &goroutine.resources);
                // Who was to give a lock back may have been left out.
                let locked = |it: &explore::Goroutine| {
                    matches!(it.waits_for, WaitsFor::Lock | WaitsFor::RLock)
                };
                at.any(|resource| resource.made == Some(site))
                    && !stuck.goroutines.iter().any(locked)
            });
            of_channel.bounds = exploration.bounds;
            exploration.follow(of_channel);
        }
    }

    /// Adds what a method does to itself that is called for what a function has just made: there what its fields
    /// hold is known.
    fn follow_maker(&self, exploration: &mut Exploration, start: Root) {
        self.follow_alone(exploration, start, MADE, &|stuck| {
            let is_begun = stuck.goroutines.iter().all(|goroutine| {
                let funcs = goroutine.calls.iter().map(|call| call.func);
                funcs.chain([goroutine.at.func]).all(|func| Some(func) != start.maker)
            });
            is_begun && judge::is_own_lock(stuck) && judge::is_held_by_running(stuck)
        });
    }

    /// Adds what a goroutine does to itself alone, as far as it counts.
    fn follow_alone(
        &self,
        exploration: &mut Exploration,
        start: Root,
        limits: Limits,
        counts: &dyn Fn(&Stuck) -> bool,
    ) {
        let limits = Limits { calls: Calls::Alone, ..limits };
        let mut alone = explore::explore(&self.program, start, &limits);
        alone.stuck.retain_mut(|stuck| {
            // How often something is done does not matter to who does it to himself.
            stuck.doubts.inexact = false;
            counts(stuck)
        });
        // It sees no schedule: what was left out still is.
        alone.bounds = exploration.bounds;
        exploration.follow(alone);
    }

    /// Whether the code that was looked at takes a lock.
    fn takes_locks(&self, exploration: &Exploration) -> bool {
        let takes = |op: &Op| match op {
            Op::CallMethod { name, .. } => matches!(self.program.name(*name), "Lock" | "RLock"),
            _ => false,
        };
        let mut code = exploration.looked_at.iter().flat_map(|&func| &self.program.func(func).code);
        code.any(takes)
    }

    /// What came of a root before, if all that it rests on is as it was.
    fn unchanged(&self, start: Root, limits: &Limits) -> Option<&Quiet> {
        let past = self.past.as_ref()?;
        let quiet = past.quiet.get(&start.func).filter(|quiet| quiet.limits == *limits)?;
        let is_asked = quiet.exploration.asks_unknown;
        if is_asked && quiet.makers != self.program.makers_of(start.func) {
            return None;
        }
        let is_same = |&func: &FuncId| past.program.runs_as(&self.program, func);
        quiet.exploration.looked_at.iter().all(is_same).then_some(quiet)
    }
}

/// Whether the whole run makes what was found by exploring doubtful: the goroutines stay, but are started once
/// in the life of the process, or end what they serve; what they rest on is said only later, or the panic is
/// caught, or only one is let to what panics when it is done twice, or there may well be as many receives as
/// sends; or the way there ends before, in a function that never comes back.
pub fn is_doubtful(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    once::is_left_once(cx, finding)
        || leaves_out_the_end(cx, finding)
        || evidence::is_said_too_late(cx, finding)
        || evidence::is_caught(cx, finding)
        || evidence::is_claimed(cx, finding)
        || counted::is_counted_apart(cx, finding)
        || dead_end::is_dead_end(cx, finding)
        || may_have_failed(cx, finding)
}

/// Whether what waits stands in a file that helps tests by a library for them, and is none itself: what fails
/// there ends the test in ways that only the library knows, and who would have waited after that does not. A
/// sender that it has left behind stays.
fn may_have_failed(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    if finding.rule == "send-without-receiver" {
        return false;
    }
    let place = finding.primary;
    let file = cx.index.package(cx.package).file(place.file);
    !cx.index.is_test_file(place.file)
        && file.is_some_and(|file| is_written_as_test(cx.index, file))
}

/// Whether the goroutine that was found serves something, and would tell of no error that its end makes.
fn leaves_out_the_end(cx: &PackageCx<'_>, finding: &Finding) -> bool {
    let Some(scene) = Scene::at(cx, finding.primary) else { return false };
    let node = scene.outermost(finding.primary.span);
    let literal = node.and_then(|node| scene.literal_around(node));
    literal.is_some_and(|literal| spared::leaves_out_the_end(&scene, literal))
}

/// Whether a word stands in a text.
fn holds_word(text: &[u8], word: &[u8]) -> bool {
    let is_of_word = |at: Option<usize>| at.and_then(|at| text.get(at)).is_some_and(is_of_word);
    let is_whole = |at: usize| !is_of_word(at.checked_sub(1)) && !is_of_word(Some(at + word.len()));
    memchr::memmem::find_iter(text, word).any(is_whole)
}

/// What came of one root.
pub struct Explored {
    /// What is found.
    pub findings: Vec<Finding>,
    /// Whether every state was seen that was to be.
    pub complete: bool,
    /// How many states were.
    pub states: u64,
    /// How many instructions were run.
    pub steps: u64,
}

/// Where parameters may be anything most states are choices of values, and what is found is found
/// early: in 110 repositories nothing that is worth telling came after 1,150 states or 490 decisions. Where
/// all begins in one state the schedules need the room.
const OPEN: Limits = Limits { states: 1_200, decisions: 500, steps: 400_000, ..Limits::DEFAULT };

/// Of a test little is claimed that rests on a choice, and what rests on none is found early.
const TEST: Limits =
    Limits { states: 500, decisions: 60, chosen: 400, steps: 400_000, ..Limits::DEFAULT };

/// What a method does to itself once its object is made is found early.
const MADE: Limits = Limits { states: 300, decisions: 120, steps: 100_000, ..Limits::DEFAULT };

/// How many channels of a function are followed each by itself.
const MAX_CHANNELS: usize = 4;

struct Known {
    shares_loop_variables: bool,
}

impl Environment for Known {
    fn loop_variables_per_iteration(&self) -> bool {
        !self.shares_loop_variables
    }
}
