//! The order in which functions are read: strongly connected components of the static call graph,
//! callees first (Tarjan, without recursion).
//!
//! What a component is must not depend on who asks first or on what another thread finds
//! meanwhile. So a search holds the lock of its package as long as it runs, and the summaries of a
//! component are there all at once or not at all. Components lie within one package; a callee of
//! another package has a search of its own, which comes first. A function is only followed into
//! packages that come before its own in the [order](super::order), so two threads never wait for
//! each other.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::{Arc, MutexGuard};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::catalog::{Ends, NoReturn, Versions};
use crate::flow::{self, CallEnd, Exit, Step};
use crate::index::{BodyInfo, Builtin, Callee, FuncId, LocalKind};
use crate::summary::effect::{Act, Deed, Mode};
use crate::summary::effects::{self, Surroundings};
use crate::summary::function::{BodyId, Function};
use crate::summary::place::{Place, Root};
use crate::summary::{Known, Read, Summaries, Summary, bound, calls, results, waits};
use crate::syntax::{Body, DeclKind, ExprId, ExprKind, File, Node, StmtId, Symbol};

/// How many functions a component has at most of which each is read with what it learns from the
/// others.
const MAX_COMPONENT: usize = 64;
/// How often the functions of one component are read on average before that is given up.
const MAX_ROUNDS: usize = 12;

/// Reads `root` and all that it calls, directly or not, as far as that has not been done.
pub(super) fn read_below(summaries: &Summaries<'_>, root: FuncId) {
    let mut searches = Vec::new();
    searches.extend(Search::new(summaries, root));
    while let Some(search) = searches.last_mut() {
        match search.run() {
            Some(elsewhere) => searches.extend(Search::new(summaries, elsewhere)),
            None => drop(searches.pop()),
        }
    }
}

/// A search within one package.
struct Search<'s, 'a> {
    summaries: &'s Summaries<'a>,
    /// For each function met its number, and whether its component is still open.
    numbers: FxHashMap<FuncId, (u32, bool)>,
    frames: Vec<Frame>,
    stack: Vec<Member>,
    _alone: MutexGuard<'s, ()>,
}

struct Frame {
    func: FuncId,
    /// The lowest number of an open component that can be reached.
    low: u32,
    /// Those that are still to be followed.
    callees: Vec<FuncId>,
}

/// A function of a component that is still open.
struct Member {
    func: FuncId,
    /// The functions of its package that it calls.
    callees: Vec<FuncId>,
}

impl<'s, 'a> Search<'s, 'a> {
    /// `None` if there is nothing to read.
    fn new(summaries: &'s Summaries<'a>, root: FuncId) -> Option<Search<'s, 'a>> {
        let alone = summaries.alone_in(root.package)?;
        if summaries.known(root).is_some() {
            return None;
        }
        let mut search = Search {
            summaries,
            numbers: FxHashMap::default(),
            frames: Vec::new(),
            stack: Vec::new(),
            _alone: alone,
        };
        search.enter(root);
        Some(search)
    }

    /// Goes on to the end, or to a function of another package that has to be read first.
    fn run(&mut self) -> Option<FuncId> {
        while let Some(frame) = self.frames.last_mut() {
            let Some(&callee) = frame.callees.last() else {
                self.leave();
                continue;
            };
            let func = frame.func;
            match self.numbers.get(&callee) {
                Some(&(number, true)) => self.lower(func, number),
                Some(_) => {}
                None if self.summaries.known(callee).is_some() => {}
                None if callee.package != func.package => return Some(callee),
                None => {
                    frame.callees.pop();
                    self.enter(callee);
                    continue;
                }
            }
            let frame = self.frames.last_mut().expect("a function is followed within its frame");
            frame.callees.pop();
        }
        None
    }

    fn enter(&mut self, func: FuncId) {
        let number = self.numbers.len() as u32;
        self.numbers.insert(func, (number, true));
        let callees = callees(self.summaries, func);
        let own = callees.iter().copied().filter(|callee| callee.package == func.package);
        self.stack.push(Member { func, callees: own.collect() });
        self.frames.push(Frame { func, low: number, callees });
    }

    fn lower(&mut self, func: FuncId, number: u32) {
        let frame = self.frames.last_mut().expect("a function is followed within its frame");
        debug_assert_eq!(frame.func, func);
        frame.low = frame.low.min(number);
    }

    fn leave(&mut self) {
        let frame = self.frames.pop().expect("only an open frame is left");
        let (number, _) = self.numbers[&frame.func];
        if frame.low == number {
            let first = self.stack.iter().rposition(|member| member.func == frame.func);
            let mut component = self.stack.split_off(first.expect("an open function is stacked"));
            for member in &component {
                self.numbers.insert(member.func, (self.numbers[&member.func].0, false));
            }
            component.sort_unstable_by_key(|member| member.func);
            read_component(self.summaries, &component);
        }
        if let Some(caller) = self.frames.last_mut() {
            caller.low = caller.low.min(frame.low);
        }
    }
}

/// The functions of the run that a function calls or its literals call, in the reverse of their
/// first calls.
fn callees(summaries: &Summaries<'_>, func: FuncId) -> Vec<FuncId> {
    let index = summaries.index;
    let Some(body) = parsed_body(summaries, func) else { return Vec::new() };
    let file = index.file_of(func);
    let info = index.body(func);
    let mut callees = Vec::new();
    for node in file.descendants(Node::Stmt(body)) {
        let Node::Expr(expr) = node else { continue };
        if !matches!(file.expr(expr).kind, ExprKind::Call { .. }) {
            continue;
        }
        if let Callee::Func(callee) = info.callee(expr)
            && summaries.order.allows(func.package, callee.package)
        {
            callees.push(*callee);
        }
    }
    let mut seen = FxHashSet::default();
    callees.retain(|&callee| seen.insert(callee));
    callees.reverse();
    callees
}

fn parsed_body(summaries: &Summaries<'_>, func: FuncId) -> Option<StmtId> {
    let file = summaries.index.file_of(func);
    let DeclKind::Func(decl) = &file.decl(summaries.index.func(func).decl).kind else {
        return None;
    };
    match file.body(decl) {
        Body::Parsed(body) => Some(body),
        _ => None,
    }
}

fn read_component<'a>(summaries: &Summaries<'a>, component: &[Member]) {
    let recursive = |member: &Member| member.callees.contains(&member.func);
    let found = match component {
        [member] if !recursive(member) => None,
        _ if component.len() > MAX_COMPONENT => None,
        _ => settle(summaries, component),
    };
    let cut = found.is_none().then(|| component[0].func);
    let found = found.unwrap_or_else(|| {
        // Of what a function learns from those that call it back, nothing is known.
        let known = |callee: FuncId| {
            let within = component.binary_search_by_key(&callee, |member| member.func).is_ok();
            if within { None } else { summaries.known_to(component[0].func, callee)?.summary }
        };
        component.iter().map(|member| read_here(summaries, member.func, None, &known)).collect()
    });
    let known = component.iter().zip(found).map(|(member, read)| (member.func, read));
    summaries.remember(known, cut.filter(|_| component.len() > 1 || recursive(&component[0])));
}

/// Reads the functions of a component until none of them changes; `None` if that takes too long.
fn settle<'a>(
    summaries: &Summaries<'a>,
    component: &[Member],
) -> Option<Vec<Option<Arc<Read<'a>>>>> {
    let place = |func: FuncId| component.binary_search_by_key(&func, |member| member.func);
    let mut callers: Vec<Vec<usize>> = vec![Vec::new(); component.len()];
    for (caller, member) in component.iter().enumerate() {
        for callee in member.callees.iter().filter_map(|&callee| place(callee).ok()) {
            callers[callee].push(caller);
        }
    }
    let mut drafts: Vec<Option<Arc<Read<'a>>>> = vec![None; component.len()];
    // In turns, so that one function that calls itself does not keep the others waiting.
    let mut open: VecDeque<usize> = (0..component.len()).collect();
    let mut is_open = vec![true; component.len()];
    let nothing = Arc::new(Summary::default());
    for _ in 0..component.len() * MAX_ROUNDS {
        let Some(next) = open.pop_front() else { return Some(drafts) };
        is_open[next] = false;
        let known = |callee: FuncId| match place(callee) {
            // One that has not been read yet does nothing yet.
            Ok(callee) => {
                Some(drafts[callee].as_ref().map_or(&nothing, |read| &read.summary).clone())
            }
            Err(_) => summaries.known_to(component[next].func, callee)?.summary,
        };
        let draft = read_here(summaries, component[next].func, drafts[next].clone(), &known);
        let summary = |read: &Option<Arc<Read<'_>>>| read.as_ref().map(|read| read.summary.clone());
        if summary(&draft) != summary(&drafts[next]) {
            let callers = callers[next].iter().copied();
            open.extend(callers.filter(|&caller| !std::mem::replace(&mut is_open[caller], true)));
        }
        drafts[next] = draft;
    }
    open.is_empty().then_some(drafts)
}

/// Reads a function again whose summary is known.
pub(super) fn read_again<'a>(
    summaries: &Summaries<'a>,
    func: FuncId,
    of_func: &Known,
) -> Option<Arc<Read<'a>>> {
    let known = |callee: FuncId| {
        let of_callee = summaries.known_to(func, callee)?;
        if of_func.cut.is_some() && of_func.cut == of_callee.cut {
            return None;
        }
        of_callee.summary
    };
    read_here(summaries, func, None, &known)
}

/// Reads a function of the run.
fn read_here<'a>(
    summaries: &Summaries<'a>,
    func: FuncId,
    before: Option<Arc<Read<'a>>>,
    known: &dyn Fn(FuncId) -> Option<Arc<Summary>>,
) -> Option<Arc<Read<'a>>> {
    let package = summaries.package(func.package)?;
    summaries.noted(package, func, || read(summaries, package.versions, func, before, known))
}

/// Reads a function with what is `known` of others; `before` is what was read with less.
pub(super) fn read<'a>(
    summaries: &Summaries<'a>,
    versions: &(dyn Versions + Sync),
    func: FuncId,
    before: Option<Arc<Read<'a>>>,
    known: &dyn Fn(FuncId) -> Option<Arc<Summary>>,
) -> Option<Arc<Read<'a>>> {
    parsed_body(summaries, func)?;
    let info = summaries.index.body(func);
    let end = |call: ExprId| match info.callee(call) {
        Callee::Builtin(Builtin::Panic) => CallEnd::Panics,
        callee => named_end(summaries, versions, callee)
            .or_else(|| match callee {
                Callee::Func(callee) => known(*callee).map(|summary| summary.ending),
                Callee::InterfaceMethod(selection) => ends_by_name(selection.name),
                Callee::External(function) => ends_by_name(function.name),
                Callee::Unknown { name } => name.and_then(ends_by_name),
                _ => None,
            })
            .unwrap_or(CallEnd::Returns),
    };
    // The graphs depend on nothing but which calls come back.
    let unchanged = |read: &Read<'_>| read.ends.iter().all(|&(call, was)| end(call) == was);
    let (function, ends) = match before.filter(|read| unchanged(read)) {
        Some(read) => (Arc::clone(&read.function), Arc::clone(&read.ends)),
        None => {
            let asked = RefCell::new(Vec::new());
            let calls = |call| {
                let end = end(call);
                asked.borrow_mut().push((call, end));
                end
            };
            let file = summaries.index.file_of(func);
            let endless = |subject| ticks(file, &info, subject);
            let ends = flow::Ends { calls: &calls, endless: &endless };
            let function = Function::open(summaries.index, func, ends)?;
            (Arc::new(function), asked.into_inner().into())
        }
    };
    let around = Surroundings { catalog: summaries.catalog, versions, known };
    let bodies = effects::extract(&function, &around);
    let waits = waits::extract(&function, &around);
    let deeds = bodies[BodyId::OWN.0 as usize].deeds.iter().filter(|deed| {
        matches!(deed.place.root, Root::Receiver | Root::Param(_) | Root::Global(_))
    });
    let mut deeds = bound::told(deeds.cloned().collect());
    if function.bodies().any(|body| function.body(body).cfg.incomplete()) {
        deeds.extend(unknown_deeds(&function));
    }
    let summary = Summary {
        ending: ending(&function),
        deeds,
        waits: waits::summarise(&waits[BodyId::OWN.0 as usize]),
        results: results::origins(&function, &around),
        contexts: results::contexts(&function, &around),
    };
    Some(Arc::new(Read { function, summary: Arc::new(summary), bodies, waits, ends }))
}

/// Whether a channel is that of a timer or ticker, which nobody can close.
pub fn ticks(file: &File, info: &BodyInfo, channel: ExprId) -> bool {
    let channel = file.unparen(channel);
    match file.expr(channel).kind {
        ExprKind::Selector { base, name } if name.name.as_str() == "C" => {
            let ty = info.type_of(base).strip_pointer();
            ty.is_named("time", "Ticker") || ty.is_named("time", "Timer")
        }
        _ => false,
    }
}

/// In a body that is not understood as a whole anything may be done with what it is given.
fn unknown_deeds(function: &Function<'_>) -> impl Iterator<Item = Deed> {
    let declared = function.info.locals().iter().filter(|local| local.owner.is_none());
    declared.filter_map(|local| {
        let root = match local.kind {
            LocalKind::Receiver => Root::Receiver,
            LocalKind::Param(index) => Root::Param(index),
            _ => return None,
        };
        Some(Deed { place: Place::root(root), act: Act::Passed, mode: Mode::Now, always: false })
    })
}

/// What loggers and tests call what does not return, where more than the name is not known.
fn ends_by_name(called: Symbol) -> Option<CallEnd> {
    matches!(called.as_str(), "Fatal" | "Fatalf" | "Fatalln" | "Fatalw" | "FailNow")
        .then_some(CallEnd::Never)
}

fn named_end(
    summaries: &Summaries<'_>,
    versions: &dyn Versions,
    callee: &Callee,
) -> Option<CallEnd> {
    let facts = calls::facts(summaries.catalog, summaries.index, callee);
    let noreturn = facts.in_force::<NoReturn>(versions)?;
    if !noreturn.through.is_empty() {
        return None;
    }
    Some(match noreturn.ends {
        Ends::Panic => CallEnd::Panics,
        Ends::Process | Ends::Goroutine => CallEnd::Never,
    })
}

/// A function comes back if it returns, or if it panics and something deferred may recover.
fn ending(function: &Function<'_>) -> CallEnd {
    let cfg = &function.body(BodyId::OWN).cfg;
    let defers = cfg.steps().any(|step| matches!(cfg.step(step), Step::Defer(_)));
    if cfg.returns(defers) {
        return CallEnd::Returns;
    }
    match cfg.exits().all(|(_, exit)| matches!(exit, Exit::Panic(_)))
        && cfg.exits().next().is_some()
    {
        true => CallEnd::Panics,
        false => CallEnd::Never,
    }
}
