//! The order in which functions are read: strongly connected components of the static call graph,
//! callees first (Tarjan, without recursion).

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::catalog::{Ends, NoReturn, Versions};
use crate::flow::{CallEnd, Exit, Step};
use crate::index::{Builtin, Callee, FuncId, LocalKind};
use crate::summary::effect::{Act, Deed, Mode};
use crate::summary::effects::{self, Surroundings};
use crate::summary::function::{BodyId, Function};
use crate::summary::place::{Place, Root};
use crate::summary::{Read, Summaries, Summary, calls, results, waits};
use crate::syntax::{Body, DeclKind, ExprId, ExprKind, Node, StmtId};

/// How often the functions of one component are read before what they may do counts as unknown.
const MAX_ROUNDS: usize = 12;

/// Reads `root` and all that it calls, directly or not, as far as that has not been done.
pub(super) fn read_below(summaries: &Summaries<'_>, root: FuncId) {
    let mut search =
        Search { summaries, numbers: FxHashMap::default(), frames: Vec::new(), stack: Vec::new() };
    search.enter(root);
    while let Some(frame) = search.frames.last_mut() {
        let Some(callee) = frame.callees.pop() else {
            search.leave();
            continue;
        };
        let func = frame.func;
        match search.numbers.get(&callee) {
            Some(&(number, true)) => search.lower(func, number),
            Some(_) => {}
            None if summaries.remembered(callee).is_some() => {}
            None => search.enter(callee),
        }
    }
}

struct Search<'s, 'a> {
    summaries: &'s Summaries<'a>,
    /// For each function met its number, and whether its component is still open.
    numbers: FxHashMap<FuncId, (u32, bool)>,
    frames: Vec<Frame>,
    stack: Vec<FuncId>,
}

struct Frame {
    func: FuncId,
    /// The lowest number of an open component that can be reached.
    low: u32,
    /// Those that are still to be followed.
    callees: Vec<FuncId>,
}

impl Search<'_, '_> {
    fn enter(&mut self, func: FuncId) {
        let number = self.numbers.len() as u32;
        self.numbers.insert(func, (number, true));
        self.stack.push(func);
        self.frames.push(Frame { func, low: number, callees: callees(self.summaries, func) });
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
            let first = self.stack.iter().rposition(|&func| func == frame.func);
            let mut component = self.stack.split_off(first.expect("an open function is stacked"));
            for func in &component {
                self.numbers.insert(*func, (self.numbers[func].0, false));
            }
            // Components lie within one package, since imports form no ring, and the order of
            // its functions is that of the source: whoever asks first changes nothing.
            component.sort_unstable();
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
            && summaries.versions(callee.package).is_some()
        {
            callees.push(*callee);
        }
    }
    callees.reverse();
    callees
}

fn parsed_body(summaries: &Summaries<'_>, func: FuncId) -> Option<StmtId> {
    summaries.versions(func.package)?;
    let file = summaries.index.file_of(func);
    let DeclKind::Func(decl) = &file.decl(summaries.index.func(func).decl).kind else {
        return None;
    };
    match file.body(decl) {
        Body::Parsed(body) => Some(body),
        _ => None,
    }
}

fn read_component<'a>(summaries: &Summaries<'a>, component: &[FuncId]) {
    let mut drafts: FxHashMap<FuncId, Option<Arc<Read<'a>>>> = FxHashMap::default();
    let calls_itself = |func: &FuncId| callees(summaries, *func).contains(func);
    let rounds = match component {
        [func] if !calls_itself(func) => 1,
        _ => MAX_ROUNDS,
    };
    for round in 0..rounds {
        let mut changed = false;
        for &func in component {
            let read = read(summaries, func, &drafts);
            let summary =
                |read: &Option<Arc<Read<'_>>>| read.as_ref().map(|read| Arc::clone(&read.summary));
            let before = drafts.get(&func).and_then(summary);
            changed |= before != summary(&read);
            drafts.insert(func, read);
        }
        if !changed {
            break;
        }
        if round + 1 == rounds && rounds > 1 {
            // It does not settle: what is given to these functions counts as passed on.
            component.iter().for_each(|&func| summaries.remember(func, None));
            return;
        }
    }
    for &func in component {
        summaries.remember(func, drafts.remove(&func).flatten());
    }
}

fn read<'a>(
    summaries: &Summaries<'a>,
    func: FuncId,
    drafts: &FxHashMap<FuncId, Option<Arc<Read<'a>>>>,
) -> Option<Arc<Read<'a>>> {
    let versions = summaries.versions(func.package)?;
    parsed_body(summaries, func)?;
    let empty = Arc::new(Summary::default());
    let is_open = |callee: FuncId| summaries.remembered(callee).is_none();
    let known = |callee: FuncId| match drafts.get(&callee) {
        Some(draft) => draft.as_ref().map(|read| Arc::clone(&read.summary)),
        // Of the functions that call each other, one that has not been read yet does nothing yet.
        None if is_open(callee) => summaries.versions(callee.package).map(|_| Arc::clone(&empty)),
        None => summaries.of(callee),
    };
    let info = summaries.index.body(func);
    let ends = |call: ExprId| match info.callee(call) {
        Callee::Builtin(Builtin::Panic) => CallEnd::Panics,
        callee => named_end(summaries, versions, callee)
            .or_else(|| match callee {
                Callee::Func(callee) => known(*callee).map(|summary| summary.ending),
                _ => None,
            })
            .unwrap_or(CallEnd::Returns),
    };
    let function = Function::open(summaries.index, func, &ends)?;
    let around = Surroundings { catalog: summaries.catalog, versions, known: &known };
    let bodies = effects::extract(&function, &around);
    let waits = waits::extract(&function, &around);
    let deeds = bodies[BodyId::OWN.0 as usize].deeds.iter().filter(|deed| {
        matches!(deed.place.root, Root::Receiver | Root::Param(_) | Root::Global(_))
    });
    let mut deeds: Vec<Deed> = deeds.cloned().collect();
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
    Some(Arc::new(Read { function, summary: Arc::new(summary), bodies, waits }))
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
