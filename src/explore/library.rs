//! The functions and methods of Go's libraries that the machine implements.

use crate::explore::call::Call;
use crate::explore::machine::{Machine, Stop};
use crate::explore::memory::Member;
use crate::explore::object::{Channel, Clock, Finish, Object, OnceState};
use crate::explore::process::{AtomicOp, Deferred, Operation, Process};
use crate::explore::state::State;
use crate::explore::step::goexit;
use crate::explore::value::{ObjectId, Term, Value};
use crate::program::code::{ExternalId, NameId};
use crate::program::library::{Intrinsic, LibType};
use crate::program::types::{Type, TypeId};

/// How many processors there are: two goroutines that wait for each other show what more of them would.
const PROCESSORS: i64 = 2;

/// How far away a time is that is meant never to come, in nanoseconds: a year of them.
const NEVER: i64 = 365 * 24 * 3_600_000_000_000;

/// A method of a library type, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    Lock,
    Unlock,
    RLock,
    RUnlock,
    TryLock,
    RLocker,
    Add,
    Done,
    Wait,
    Go,
    Do,
    Signal,
    Broadcast,
    Err,
    Deadline,
    Load,
    Store,
    Swap,
    CompareAndSwap,
    Stop,
    Reset,
    Acquire,
    TryAcquire,
    Release,
    /// Fails a test and ends its goroutine, or ends the process.
    Fatal,
    /// Ends a test's goroutine without failing it.
    Skip,
    /// Fails a test, which goes on.
    Fail,
    Run,
    Cleanup,
    Context,
    /// A subtest that lets the function around it go on.
    Parallel,
    /// Writes a log, or tells something: keeps nothing.
    Tell,
    Panic,
}

impl Known {
    pub fn new(name: &str) -> Option<Known> {
        Some(match name {
            "Lock" => Known::Lock,
            "Unlock" => Known::Unlock,
            "RLock" => Known::RLock,
            "RUnlock" => Known::RUnlock,
            "TryLock" => Known::TryLock,
            "RLocker" => Known::RLocker,
            "Add" => Known::Add,
            "Done" => Known::Done,
            "Wait" => Known::Wait,
            "Go" | "TryGo" => Known::Go,
            "Do" => Known::Do,
            "Signal" => Known::Signal,
            "Broadcast" => Known::Broadcast,
            "Err" => Known::Err,
            "Deadline" => Known::Deadline,
            "Load" => Known::Load,
            "Store" => Known::Store,
            "Swap" => Known::Swap,
            "CompareAndSwap" => Known::CompareAndSwap,
            "Stop" => Known::Stop,
            "Reset" => Known::Reset,
            "Acquire" => Known::Acquire,
            "TryAcquire" => Known::TryAcquire,
            "Release" => Known::Release,
            "Fatal" | "Fatalf" | "Fatalln" | "FailNow" | "FatalDepth" | "Fatalw" => Known::Fatal,
            "Skip" | "Skipf" | "SkipNow" => Known::Skip,
            "Error" | "Errorf" | "Fail" => Known::Fail,
            "Run" => Known::Run,
            "Cleanup" => Known::Cleanup,
            "Context" => Known::Context,
            "Panic" | "Panicf" | "Panicln" => Known::Panic,
            "Log" | "Logf" | "Helper" | "Name" | "String" | "Debug" | "Debugf" | "Info"
            | "Infof" | "Warn" | "Warnf" | "Warning" | "Warningf" | "Print" | "Printf"
            | "Println" | "Failed" => Known::Tell,
            "Parallel" => Known::Parallel,
            _ => return None,
        })
    }
}

impl Machine<'_> {
    /// A method of an object that the machine implements.
    pub(super) fn call_library(
        &mut self,
        state: &mut State,
        process: &mut Process,
        receiver: Value,
        name: NameId,
        call: Call,
    ) -> Result<(), Stop> {
        let Some(id) = receiver.object() else {
            return self.call_unknown(state, process, None, call);
        };
        let want = call.want;
        let Some(known) = self.known(name) else {
            self.deliver(state, process, Vec::new(), want);
            return Ok(());
        };
        let site = process.site();
        let first = call.args.first().copied();
        let operation = match (state.heap.get(id), known) {
            (Object::Mutex(_) | Object::OpenLock, Known::Lock | Known::RLock) => {
                Operation::Lock(id)
            }
            (Object::Mutex(_) | Object::OpenLock, Known::Unlock | Known::RUnlock) => {
                Operation::Unlock(id)
            }
            (Object::RwMutex { .. }, Known::Lock) => Operation::Lock(id),
            (Object::RwMutex { .. }, Known::Unlock) => Operation::Unlock(id),
            (Object::RwMutex { .. }, Known::RLock) => Operation::RLock(id),
            (Object::RwMutex { .. }, Known::RUnlock) => Operation::RUnlock(id),
            (Object::Mutex(_) | Object::RwMutex { .. }, Known::TryLock)
                if !state.heap.is_external(id) =>
            {
                Operation::TryLock(id)
            }
            (Object::RwMutex { .. }, Known::RLocker) => {
                // Its Lock is the read lock: a struct of another package that only locks.
                let value = state.unknown(TypeId::UNKNOWN);
                self.deliver(state, process, vec![value], want);
                return Ok(());
            }
            (Object::WaitGroup { .. }, Known::Add) => {
                Operation::Add(id, first.unwrap_or(Value::Int(1)))
            }
            (Object::WaitGroup { .. }, Known::Done) => Operation::Add(id, Value::Int(-1)),
            (Object::WaitGroup { .. }, Known::Wait) => Operation::Wait { group: id, of: None },
            (Object::WaitGroup { .. }, Known::Go) => {
                if let Object::WaitGroup { count, .. } = state.heap.get_mut(id) {
                    *count += 1;
                }
                return self.go_and_finish(state, process, Finish::WaitGroup, id, call, site);
            }
            (&Object::Group { wait, .. }, Known::Go) => {
                if let Object::WaitGroup { count, .. } = state.heap.get_mut(wait) {
                    *count += 1;
                }
                return self.go_and_finish(state, process, Finish::Group, id, call, site);
            }
            (&Object::Group { wait, .. }, Known::Wait) => {
                Operation::Wait { group: wait, of: Some(id) }
            }
            (Object::Once(OnceState::Done), Known::Do) => {
                self.deliver(state, process, Vec::new(), want);
                return Ok(());
            }
            (Object::Once(_), Known::Do) => Operation::OnceDo(id, first.unwrap_or(Value::Nil)),
            (Object::Cond { .. }, Known::Wait) => Operation::CondWait(id),
            (Object::Cond { .. }, Known::Signal) => Operation::Signal { cond: id, all: false },
            (Object::Cond { .. }, Known::Broadcast) => Operation::Signal { cond: id, all: true },
            (&Object::Context { done, .. }, Known::Done) => {
                self.deliver(state, process, vec![Value::Ref(done)], want);
                return Ok(());
            }
            (&Object::Context { done, .. }, Known::Err) => {
                let ended = self.has_ended(state, Value::Ref(done));
                let error =
                    if ended { state.non_nil(TypeId::ERROR) } else { state.unknown(TypeId::ERROR) };
                self.deliver(state, process, vec![error], want);
                return Ok(());
            }
            (Object::Timer { .. }, Known::Stop) => Operation::StopTimer(id),
            (&Object::Timer { channel, periodic, .. }, Known::Reset) => {
                if let Object::Channel(channel) = state.heap.get_mut(channel) {
                    channel.clock = if periodic { Clock::Always } else { Clock::Once };
                    channel.stopped = None;
                }
                self.deliver(state, process, Vec::new(), want);
                return Ok(());
            }
            (Object::Semaphore { .. }, Known::Acquire) => Operation::Acquire {
                semaphore: id,
                weight: call.args.get(1).copied().unwrap_or(Value::Int(1)),
                context: first.unwrap_or(Value::Nil),
            },
            (Object::Semaphore { .. }, Known::Release) => {
                Operation::Release(id, first.unwrap_or(Value::Int(1)))
            }
            (Object::Atomic(_), _) => {
                return self.atomic_method(process, id, known, &call).map_or_else(
                    || {
                        let unknown = state.unknown(TypeId::UNKNOWN);
                        if let Object::Atomic(value) = state.heap.get_mut(id) {
                            *value = unknown;
                        }
                        self.deliver(state, process, Vec::new(), want);
                        Ok(())
                    },
                    |()| Ok(()),
                );
            }
            // Whether a lock that others know, or that of readers, is taken by a try is not known: what it
            // guards is then unknown too, but the lock itself stays what it is.
            _ => {
                self.deliver(state, process, Vec::new(), want);
                return Ok(());
            }
        };
        self.wait(process, operation, want);
        Ok(())
    }

    fn atomic_method(
        &self,
        process: &mut Process,
        id: ObjectId,
        known: Known,
        call: &Call,
    ) -> Option<()> {
        let op = match known {
            Known::Load => AtomicOp::Load,
            Known::Store => AtomicOp::Store,
            Known::Add => AtomicOp::Add,
            Known::Swap => AtomicOp::Swap,
            Known::CompareAndSwap => AtomicOp::CompareAndSwap,
            _ => return None,
        };
        let arg = |at| call.args.get(at).copied().unwrap_or(Value::Nil);
        let operation = Operation::Atomic { op, target: Value::Ref(id), args: [arg(0), arg(1)] };
        self.wait(process, operation, call.want);
        Some(())
    }

    fn go_and_finish(
        &mut self,
        state: &mut State,
        process: &mut Process,
        finish: Finish,
        id: ObjectId,
        call: Call,
        site: crate::explore::Site,
    ) -> Result<(), Stop> {
        let last = Value::Ref(state.add(Object::Finish(finish, id), None));
        let callee = call.args.first().copied().unwrap_or(Value::Nil);
        let want = call.want;
        let start = Call { callee, args: Vec::new(), spread: false, want: 0, deferred: false };
        self.start_with(state, start, site, Some(last))?;
        self.deliver(state, process, Vec::new(), want);
        Ok(())
    }

    /// A function that a library called has returned.
    pub(super) fn finish(
        &mut self,
        state: &mut State,
        process: &mut Process,
        finish: Finish,
        id: ObjectId,
    ) {
        let operation = match finish {
            Finish::Once => Operation::OnceDone(id),
            Finish::WaitGroup => Operation::Add(id, Value::Int(-1)),
            Finish::Group => Operation::GroupDone(id, self.first_result(state, process)),
        };
        self.wait(process, operation, 0);
    }

    /// What the function that a goroutine leaves returns first.
    fn first_result(&self, state: &mut State, process: &Process) -> Value {
        let result = process.frames.last().and_then(|frame| {
            let named = self.program.func(frame.func).result_slots.first();
            let slot = named.map(|slot| frame.values[slot.0 as usize]);
            slot.map(|value| self.through_cell(state, value)).or(frame.results.first().copied())
        });
        result.unwrap_or_else(|| state.unknown(TypeId::ERROR))
    }

    /// A method of something unknown whose name tells what it does.
    pub(super) fn call_by_name(
        &mut self,
        state: &mut State,
        process: &mut Process,
        name: NameId,
        call: &Call,
    ) -> Option<Result<(), Stop>> {
        let lib = self.lib_type_of(call.callee);
        let testing = lib == Some(LibType::Testing);
        match self.known(name)? {
            Known::Fatal if testing => {
                state.doubts.failed_test = true;
                goexit(process);
                Some(Ok(()))
            }
            Known::Skip if testing => {
                goexit(process);
                Some(Ok(()))
            }
            Known::Fatal | Known::Panic => Some(Err(Stop::End)),
            Known::Fail => {
                state.doubts.failed_test |= testing;
                self.deliver(state, process, Vec::new(), call.want);
                Some(Ok(()))
            }
            Known::Run if testing && call.args.len() == 2 => {
                let inner = state.unknown(self.type_of(call.callee));
                let run = Call {
                    callee: call.args[1],
                    args: vec![inner],
                    spread: false,
                    want: 0,
                    deferred: false,
                };
                let result = self.call(state, process, run);
                if call.want > 0 {
                    // Whether the subtest passed: pushed before it runs, below nothing.
                    return Some(Err(Stop::Cut(crate::explore::Bound::Instructions)));
                }
                Some(result)
            }
            Known::Cleanup if testing && call.args.len() == 1 => {
                let at = process.site();
                // The function that the test itself runs is the lowest one that was given this `t`.
                let tests = process.frames.iter().position(|frame| {
                    let params = &self.program.func(frame.func).params;
                    params.iter().any(|slot| {
                        let value = frame.values[slot.0 as usize];
                        self.through_cell(state, value) == call.callee
                    })
                });
                if let Some(bottom) = process.frames.get_mut(tests.unwrap_or(0)) {
                    let args = Vec::new().into_boxed_slice();
                    let deferred = Deferred { callee: call.args[0], args, at, at_end: true };
                    // What was given last runs first.
                    let defers = &mut std::rc::Rc::make_mut(bottom).defers;
                    let earlier = defers.iter().take_while(|deferred| deferred.at_end).count();
                    defers.insert(earlier, deferred);
                }
                self.deliver(state, process, Vec::new(), call.want);
                Some(Ok(()))
            }
            Known::Context if testing || lib == Some(LibType::Request) => {
                let value = Value::Ref(self.context_of_others(state));
                self.deliver(state, process, vec![value], call.want);
                Some(Ok(()))
            }
            Known::Done if call.args.is_empty() && call.want == 1 => {
                let done = match self.terms.keeps(&[call.callee]) {
                    true => Value::Term(self.terms.intern(Term::Done(call.callee))),
                    false => state.unknown(TypeId::UNKNOWN),
                };
                self.deliver(state, process, vec![done], call.want);
                Some(Ok(()))
            }
            Known::Err if call.args.is_empty() && call.want == 1 => {
                let done = Value::Term(self.terms.intern(Term::Done(call.callee)));
                self.has_ended(state, done).then(|| {
                    let error = state.non_nil(TypeId::ERROR);
                    self.deliver(state, process, vec![error], call.want);
                    Ok(())
                })
            }
            known @ (Known::Parallel | Known::Tell) => {
                // What follows in a subtest runs when the function around it has returned.
                let subtest = known == Known::Parallel;
                state.doubts.inexact |= subtest && process.frames.len() > 1;
                self.deliver(state, process, Vec::new(), call.want);
                Some(Ok(()))
            }
            _ => None,
        }
    }

    /// The library type that an unknown is, or points to.
    fn lib_type_of(&self, value: Value) -> Option<LibType> {
        let ty = self.type_of(value);
        let types = &self.program.types;
        let ty = types.pointee(ty).unwrap_or(ty);
        match types.underlying(ty) {
            Type::Lib(lib) => Some(*lib),
            _ => None,
        }
    }

    /// A function of another package.
    pub(super) fn call_external(
        &mut self,
        state: &mut State,
        process: &mut Process,
        id: ExternalId,
        call: Call,
    ) -> Result<(), Stop> {
        let site = process.site();
        let want = call.want;
        let arg = |at: usize| call.args.get(at).copied().unwrap_or(Value::Nil);
        let intrinsic = self.program.external(id).intrinsic;
        let results = match intrinsic {
            Intrinsic::Unknown => {
                // C calls what was exported to it, without being given it.
                if self.program.external(id).path.as_str() == "C" {
                    self.open(state);
                }
                let settled = |value: &Value| matches!(value, Value::Int(_) | Value::Bool(_));
                if call.args.is_empty() || !call.args.iter().all(settled) {
                    return self.call_unknown(state, process, None, call);
                }
                let results: Vec<Value> =
                    (0..want).map(|_| state.unknown(TypeId::UNKNOWN)).collect();
                results.iter().for_each(|&result| state.is_unlikely(result));
                results
            }
            Intrinsic::Pure => {
                self.escape_callable(state, &call.args);
                Vec::new()
            }
            Intrinsic::CallsWrite | Intrinsic::CallsString => {
                let writer = call.args.first().filter(|_| intrinsic == Intrinsic::CallsWrite);
                if let Some(result) = self.call_through(state, process, &call, writer, &["Write"]) {
                    return result;
                }
                if let Some(result) = self.call_string(state, process, &call) {
                    return result;
                }
                self.escape_callable(state, &call.args);
                Vec::new()
            }
            Intrinsic::CallsRead => {
                let names = intrinsic.runs();
                if let Some(result) = self.call_through(state, process, &call, &call.args, names) {
                    return result;
                }
                for &value in &call.args {
                    self.escape(state, value);
                }
                Vec::new()
            }
            Intrinsic::Processors => vec![Value::Int(PROCESSORS)],
            Intrinsic::NewError => vec![state.non_nil(TypeId::PLAIN_ERROR)],
            Intrinsic::Serves => {
                for &value in &call.args {
                    self.escape(state, value);
                }
                vec![state.non_nil(TypeId::ERROR)]
            }
            Intrinsic::WrapError => vec![match arg(0) {
                open @ (Value::Nil | Value::Unknown(_) | Value::Term(_)) => open,
                _ => state.non_nil(TypeId::ERROR),
            }],
            Intrinsic::ErrorIs => match (arg(0), arg(1)) {
                (Value::Nil, _) => vec![Value::Bool(false)],
                (error @ Value::Unknown(_), of) => {
                    vec![self.term(state, Term::ErrorIs(error, of), TypeId::BOOL)]
                }
                _ => Vec::new(),
            },
            Intrinsic::Exit => return Err(Stop::End),
            Intrinsic::Background => vec![self.new_context(state, None, Clock::None, site)],
            Intrinsic::WithCancel | Intrinsic::WithDeadline | Intrinsic::NotifyContext => {
                let intrinsic = self.program.external(id).intrinsic;
                let clock =
                    if intrinsic == Intrinsic::WithCancel { Clock::None } else { Clock::Always };
                let context = self.derived_context(state, arg(0), clock, site);
                let cancel = match context.object() {
                    Some(context) => Value::Ref(state.add(Object::Cancel(context), Some(site))),
                    None => state.non_nil(TypeId::UNKNOWN),
                };
                vec![context, cancel]
            }
            Intrinsic::WithValue => vec![arg(0)],
            Intrinsic::WithoutCancel => vec![self.new_context(state, None, Clock::None, site)],
            Intrinsic::ContextAfterFunc => {
                self.escape(state, arg(1));
                Vec::new()
            }
            Intrinsic::After => vec![self.clock_channel(state, Clock::Once, site)],
            Intrinsic::Tick => vec![self.clock_channel(state, Clock::Always, site)],
            Intrinsic::NewTimer | Intrinsic::NewTicker => {
                let periodic = self.program.external(id).intrinsic == Intrinsic::NewTicker;
                let clock = if periodic { Clock::Always } else { Clock::Once };
                let channel = self.clock_channel(state, clock, site);
                let Value::Ref(channel) = channel else { return Ok(()) };
                let timer = Object::Timer { channel, periodic, callback: false };
                vec![Value::Ref(state.add(timer, Some(site)))]
            }
            Intrinsic::AfterFunc => {
                let clock = if matches!(arg(0), Value::Int(time) if time >= NEVER) {
                    // It is called when somebody resets the timer, whoever that is.
                    self.escape(state, arg(1));
                    Clock::None
                } else {
                    let start = Call {
                        callee: arg(1),
                        args: Vec::new(),
                        spread: false,
                        want: 0,
                        deferred: false,
                    };
                    self.start(state, start, site)?;
                    Clock::Always
                };
                let channel = self.clock_channel(state, clock, site);
                let Value::Ref(channel) = channel else { return Ok(()) };
                let timer = Object::Timer { channel, periodic: true, callback: true };
                vec![Value::Ref(state.add(timer, Some(site)))]
            }
            Intrinsic::Sleep | Intrinsic::Yield => {
                let sleeps = self.program.external(id).intrinsic == Intrinsic::Sleep && self.closed;
                let operation = if sleeps { Operation::Sleep } else { Operation::Yield };
                self.wait(process, operation, want);
                return Ok(());
            }
            Intrinsic::Goexit => {
                goexit(process);
                return Ok(());
            }
            Intrinsic::NewCond => {
                let cond = Object::Cond { locker: arg(0), waiters: Vec::new() };
                vec![Value::Ref(state.add(cond, Some(site)))]
            }
            Intrinsic::OnceFunc => {
                let once = state.add(Object::Once(OnceState::Fresh), Some(site));
                let once = Object::OnceFunc { once, callee: arg(0) };
                vec![Value::Ref(state.add(once, Some(site)))]
            }
            Intrinsic::GroupWithContext => {
                let context = self.derived_context(state, arg(0), Clock::None, site);
                let wait = Object::WaitGroup { count: 0, shrunk: None, exact: true };
                let wait = state.add(wait, Some(site));
                let group = Object::Group { wait, context: context.object(), error: Value::Nil };
                vec![Value::Ref(state.add(group, Some(site))), context]
            }
            Intrinsic::NewSemaphore => match arg(0) {
                Value::Int(free) => {
                    vec![Value::Ref(state.add(Object::Semaphore { free }, Some(site)))]
                }
                _ => {
                    let id = state.add_external(Object::Semaphore { free: 1 });
                    vec![Value::Ref(id)]
                }
            },
            // Signals come at any time, and nobody closes the channel that they come on.
            Intrinsic::Notify => {
                if let Value::Ref(id) = arg(0)
                    && let Object::Channel(channel) = state.heap.get_mut(id)
                {
                    channel.clock = Clock::Always;
                }
                Vec::new()
            }
            Intrinsic::AtomicLoad => return self.atomic(process, AtomicOp::Load, &call),
            Intrinsic::AtomicStore => return self.atomic(process, AtomicOp::Store, &call),
            Intrinsic::AtomicAdd => return self.atomic(process, AtomicOp::Add, &call),
            Intrinsic::AtomicSwap => return self.atomic(process, AtomicOp::Swap, &call),
            Intrinsic::AtomicCompareAndSwap => {
                return self.atomic(process, AtomicOp::CompareAndSwap, &call);
            }
        };
        self.deliver(state, process, results, want);
        Ok(())
    }

    fn atomic(&self, process: &mut Process, op: AtomicOp, call: &Call) -> Result<(), Stop> {
        let arg = |at| call.args.get(at).copied().unwrap_or(Value::Nil);
        let operation = Operation::Atomic { op, target: arg(0), args: [arg(1), arg(2)] };
        self.wait(process, operation, call.want);
        Ok(())
    }

    /// What is given away may be called at any time: functions, and the methods that a library calls of
    /// what it takes as one of its interfaces, where they have to do with other goroutines.
    fn escape_callable(&mut self, state: &mut State, values: &[Value]) {
        for &value in values {
            let callable = value.object().is_some_and(|id| match state.heap.get(id) {
                Object::Closure { .. }
                | Object::Method { .. }
                | Object::LibMethod { .. }
                | Object::Cancel(_) => true,
                Object::Struct { .. } => {
                    let mut names = self.program.all().called_back.iter();
                    names.any(|&name| match self.member(state, value, name) {
                        Ok(Member::Method(func, _)) => self.program.func(func).traits.synchronises,
                        _ => false,
                    })
                }
                _ => false,
            });
            if callable {
                self.escape(state, value);
            }
        }
    }

    /// Printing calls `String` or `Error` of what it prints.
    fn call_string(
        &mut self,
        state: &mut State,
        process: &mut Process,
        call: &Call,
    ) -> Option<Result<(), Stop>> {
        for (at, &value) in call.args.iter().enumerate() {
            let is_struct = value
                .object()
                .is_some_and(|id| matches!(state.heap.get(id), Object::Struct { .. }));
            if !is_struct || !self.prints_text(&call.args, at) {
                continue;
            }
            for name in Intrinsic::CallsString.runs() {
                let Some(name) = self.program.name_id(name) else { continue };
                if let Ok(Member::Method(func, receiver)) = self.member(state, value, name)
                    && let method = self.program.func(func)
                    && method.traits.synchronises
                    && method.params.is_empty()
                {
                    self.deliver(state, process, Vec::new(), call.want);
                    let call = Call {
                        callee: value,
                        args: Vec::new(),
                        spread: false,
                        want: 0,
                        deferred: false,
                    };
                    return Some(self.enter(state, process, func, Some(receiver), &[], call));
                }
            }
        }
        None
    }

    /// Whether an argument of a printing function is printed as its text, as far as a format among the arguments
    /// tells: `%p`, `%T` and the verbs for numbers call no method (<https://pkg.go.dev/fmt#hdr-Printing>).
    fn prints_text(&self, args: &[Value], at: usize) -> bool {
        let format = args.iter().enumerate().find_map(|(place, value)| match *value {
            Value::Str(text) => {
                Some((place, self.program.text(text))).filter(|it| it.1.contains('%'))
            }
            _ => None,
        });
        let Some((place, format)) = format.filter(|&(place, _)| place < at) else { return true };
        // Widths that are arguments and numbered arguments are not counted.
        if format.contains(['*', '[']) {
            return true;
        }
        let verbs = format.replace("%%", "");
        let mut verbs = verbs.split('%').skip(1).map(|rest| {
            rest.trim_start_matches(|c: char| matches!(c, '+' | '-' | '#' | ' ' | '.' | '0'..='9'))
                .chars()
                .next()
        });
        let verb = verbs.nth(at - place - 1).flatten();
        verb.is_none_or(|verb| matches!(verb, 'v' | 's' | 'q' | 'x' | 'X' | 'w'))
    }

    /// Reading calls `Read` of the reader, copying and printing to a writer its `Write`: the first such method of what is
    /// given.
    fn call_through<'v>(
        &mut self,
        state: &mut State,
        process: &mut Process,
        call: &Call,
        given: impl IntoIterator<Item = &'v Value>,
        names: &[&str],
    ) -> Option<Result<(), Stop>> {
        for &value in given {
            for name in names {
                let Some(name) = self.program.name_id(name) else { continue };
                if value.object().is_none() {
                    continue;
                }
                if let Ok(Member::Method(func, receiver)) = self.member(state, value, name)
                    && self.program.func(func).traits.synchronises
                {
                    self.deliver(state, process, Vec::new(), call.want);
                    let buffer = state.unknown(TypeId::UNKNOWN);
                    let call = Call {
                        callee: value,
                        args: vec![buffer],
                        spread: false,
                        want: 0,
                        deferred: false,
                    };
                    return Some(self.enter(state, process, func, Some(receiver), &[], call));
                }
            }
        }
        None
    }

    fn clock_channel(
        &mut self,
        state: &mut State,
        clock: Clock,
        site: crate::explore::Site,
    ) -> Value {
        let channel = Channel::new(1, clock);
        Value::Ref(state.add(Object::Channel(channel), Some(site)))
    }

    fn new_context(
        &mut self,
        state: &mut State,
        parent: Option<ObjectId>,
        clock: Clock,
        site: crate::explore::Site,
    ) -> Value {
        let done = Channel { of_context: true, ..Channel::new(0, clock) };
        let done = state.add(Object::Channel(done), Some(site));
        Value::Ref(state.add(Object::Context { parent, done }, Some(site)))
    }

    /// A context derived from `parent`: it ends when that ends.
    fn derived_context(
        &mut self,
        state: &mut State,
        parent: Value,
        clock: Clock,
        site: crate::explore::Site,
    ) -> Value {
        let Value::Ref(id) = parent else {
            // Derived from a context of which nothing is known.
            return self.new_context(state, None, Clock::Always, site);
        };
        let &Object::Context { done, .. } = state.heap.get(id) else {
            return self.new_context(state, None, Clock::Always, site);
        };
        let external = state.heap.is_external(id) || state.heap.is_external(done);
        let (mut clock, mut closed) = (clock, false);
        if let Object::Channel(parent) = state.heap.get(done) {
            closed = parent.closed;
            if parent.clock == Clock::Always {
                clock = Clock::Always;
            }
        }
        if external {
            clock = Clock::Always;
        }
        let context = self.new_context(state, Some(id), clock, site);
        if closed
            && let Value::Ref(context) = context
            && let &Object::Context { done, .. } = state.heap.get(context)
            && let Object::Channel(channel) = state.heap.get_mut(done)
        {
            channel.closed = true;
        }
        context
    }
}
