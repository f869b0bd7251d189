//! What can be said of the code without running it: which variables are live, which branches need
//! not be decided, what a function does.

use rustc_hash::FxHashSet;

use crate::program::Program;
use crate::program::code::{
    Builtin, Flow, Func, FuncId, Join, NameId, Op, Pc, SelectTable, Slot, SlotSet, Traits,
};
use crate::program::library::{self, Intrinsic};
use crate::program::types::{Type, TypeId};

/// Fills in the facts of all functions, but for what few of them are asked for.
pub(super) fn complete(program: &mut Program) {
    traits(program);
    hand(program);
    settle(program);
    feed(program);
    program.called_back = called_back(program);
}

/// The names of methods that libraries call back, of those that have to do with other goroutines.
fn called_back(program: &Program) -> Vec<NameId> {
    let names = library::CALLED_BACK.iter().filter_map(|name| program.name_id(name));
    let synchronises = |name: &NameId| {
        let methods = program.methods_by_name.get(name).into_iter().flatten();
        methods.into_iter().any(|&method| program.func(method).traits.synchronises)
    };
    names.filter(synchronises).collect()
}

/// What follows from the instructions of a function.
pub(super) fn flow(program: &Program, func: &Func) -> Flow {
    let counts = counts(program, func);
    Flow { live: liveness(program, func), joins: joins(program, func, &counts), counts }
}

/// Per instruction the variables that are read after it begins.
fn liveness(program: &Program, func: &Func) -> Vec<SlotSet> {
    let empty = SlotSet::new(func.vars.len());
    let mut always = empty.clone();
    // Deferred calls may change results after any instruction that can panic.
    for &slot in &func.result_slots {
        always.insert(slot);
    }
    let mut live = vec![empty.clone(); func.code.len() + 1];
    let mut out = empty;
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..func.code.len()).rev() {
            let op = func.code[at];
            out.clone_from(&always);
            match op {
                Op::Return(_) => {}
                Op::Jump(target) => out.union(&live[target as usize]),
                Op::Select(table) => {
                    let table = &func.selects[table as usize];
                    for target in table.cases.iter().map(|case| case.target).chain(table.default) {
                        out.union(&live[target as usize]);
                    }
                }
                Op::Branch { target, .. } | Op::RangeNext { exit: target, .. } => {
                    out.union(&live[at + 1]);
                    out.union(&live[target as usize]);
                }
                _ => out.union(&live[at + 1]),
            }
            transfer(program, op, &mut out);
            if out != live[at] {
                live[at].clone_from(&out);
                changed = true;
            }
        }
    }
    live.truncate(func.code.len());
    live
}

/// From what is live after an instruction to what is live before it.
fn transfer(program: &Program, op: Op, live: &mut SlotSet) {
    match op {
        Op::Store(slot) | Op::Declare(slot) => {
            // An assignment to a variable that holds a struct writes into its place.
            if matches!(op, Op::Declare(_)) {
                live.remove(slot);
            }
        }
        Op::DeclareCell(slot) => live.remove(slot),
        Op::Load(slot)
        | Op::LoadCell(slot)
        | Op::StoreCell(slot)
        | Op::Box(slot)
        | Op::Fresh(slot)
        | Op::AddressOf(slot)
        | Op::CountIteration(slot) => live.insert(slot),
        Op::RangeStart(slot) => {
            live.remove(slot);
            live.remove(Slot(slot.0 + 1));
        }
        Op::RangeNext { slot, .. } | Op::RangeEnd(slot) => {
            live.insert(slot);
            live.insert(Slot(slot.0 + 1));
        }
        Op::Branch { counter, .. } if counter != Slot::NONE => live.insert(counter),
        Op::Closure(func) => {
            for &(outer, _) in &program.func(func).captures {
                live.insert(outer);
            }
        }
        _ => {}
    }
}

/// Fills in what each function does, itself and through those that it may call.
fn traits(program: &mut Program) {
    let mut calls: Vec<Vec<FuncId>> = Vec::with_capacity(program.funcs.len());
    let fields = Fields::of(program);
    let named: Vec<Named> = program.names.iter().map(|name| Named::of(name.as_str())).collect();
    for id in 0..program.funcs.len() {
        let own = own_traits(program, &program.funcs[id], &fields, &named);
        calls.push(callees(program, &program.funcs[id]));
        program.funcs[id].traits = own;
    }
    // A literal's root belongs to the function that it stands in: children come after parents.
    for id in (0..program.funcs.len()).rev() {
        if let Some(parent) = program.funcs[id].parent {
            let root = program.funcs[id].traits.root;
            program.funcs[parent.0 as usize].traits.root |= root;
        }
    }
    receive(program, &calls);
    lock_for_others(program, &calls);
    spread(program, &calls, |traits| &mut traits.synchronises);
    for (func, calls) in program.funcs.iter().zip(&mut calls) {
        calls.extend(unnamed_callees(program, func));
    }
    spread(program, &calls, |traits| &mut traits.waits);
    lend(program);
}

/// Makes roots of those that give a literal which may wait to a function of the package that calls what it is
/// given, and has to do with locks, channels or goroutines itself: only where both are seen is it known
/// what meets.
fn lend(program: &mut Program) {
    let func = |id: FuncId| &program.funcs[id.0 as usize];
    let calls_values = |id: FuncId| {
        let mut code = func(id).code.iter().enumerate();
        code.any(|(at, op)| matches!(op, Op::Call { .. }) && !calls_known(func(id), at))
    };
    let lends = |id: &FuncId| {
        let mut code = func(*id).code.iter();
        !func(*id).traits.root
            && code.any(|op| matches!(*op, Op::Closure(literal) if func(literal).traits.waits))
            && callees(program, func(*id))
                .into_iter()
                .any(|callee| func(callee).traits.root && calls_values(callee))
    };
    let lenders: Vec<FuncId> = (0..program.funcs.len() as u32).map(FuncId).filter(lends).collect();
    for lender in lenders {
        make_root(program, lender);
    }
}

/// Makes a root of a function, and of those that it stands in: a literal's root belongs to them.
fn make_root(program: &mut Program, func: FuncId) {
    let mut at = Some(func);
    while let Some(id) = at {
        let of = &mut program.funcs[id.0 as usize];
        of.traits.root = true;
        at = of.parent;
    }
}

/// Finds the functions that take a lock for their caller, or give it back, and makes roots of those that call
/// them.
fn lock_for_others(program: &mut Program, calls: &[Vec<FuncId>]) {
    /// So many instructions are enough for it.
    const SHORT: usize = 12;
    for id in 0..program.funcs.len() {
        let func = &program.funcs[id];
        let does = |is: fn(&str) -> bool| {
            func.code.iter().any(|op| match *op {
                Op::CallMethod { name, .. } | Op::Member(name) => is(program.name(name)),
                _ => false,
            })
        };
        let takes = does(|name| matches!(name, "Lock" | "RLock"));
        let gives = does(|name| matches!(name, "Unlock" | "RUnlock"));
        let decides = func.code.iter().any(|op| matches!(op, Op::Branch { .. }));
        let is_short = func.code.len() <= SHORT && func.receiver.is_some() && !decides;
        let traits = &mut program.funcs[id].traits;
        traits.locks = is_short && takes && !gives;
        traits.unlocks = is_short && gives && !takes;
    }
    for (id, calls) in calls.iter().enumerate() {
        if calls.iter().any(|callee| program.funcs[callee.0 as usize].traits.locks) {
            make_root(program, FuncId(id as u32));
        }
    }
}

/// Makes roots of those that are given a channel which a function has made for them: that one has returned
/// before anybody leaves.
fn receive(program: &mut Program, calls: &[Vec<FuncId>]) {
    let callers = callers(calls);
    let is_channel =
        |program: &Program, ty: TypeId| matches!(program.types.underlying(ty), Type::Chan(..));
    let gives = |program: &Program, id: u32| {
        program.funcs[id as usize].results.iter().any(|&ty| is_channel(program, ty))
    };
    let makes = |program: &Program, id: u32| {
        let mut code = program.funcs[id as usize].code.iter();
        code.any(|op| matches!(*op, Op::Make(ty) if is_channel(program, ty)))
    };
    let mut work: Vec<u32> = (0..program.funcs.len() as u32)
        .filter(|&id| makes(program, id) && gives(program, id))
        .collect();
    while let Some(id) = work.pop() {
        for &caller in &callers[id as usize] {
            let mut at = caller;
            while !std::mem::replace(&mut program.funcs[at as usize].traits.root, true) {
                if gives(program, at) {
                    work.push(at);
                }
                // A literal's root belongs to the function that it stands in.
                let Some(parent) = program.funcs[at as usize].parent else { break };
                at = parent.0;
            }
        }
    }
}

/// Who may call each function.
fn callers(calls: &[Vec<FuncId>]) -> Vec<Vec<u32>> {
    let mut callers: Vec<Vec<u32>> = vec![Vec::new(); calls.len()];
    for (caller, callees) in calls.iter().enumerate() {
        for callee in callees {
            callers[callee.0 as usize].push(caller as u32);
        }
    }
    callers
}

/// What holds for a function holds for those that may call it.
fn spread(program: &mut Program, calls: &[Vec<FuncId>], of: fn(&mut Traits) -> &mut bool) {
    let callers = callers(calls);
    let mut work: Vec<u32> = (0..program.funcs.len() as u32)
        .filter(|&id| *of(&mut program.funcs[id as usize].traits))
        .collect();
    while let Some(id) = work.pop() {
        for &caller in &callers[id as usize] {
            if !std::mem::replace(of(&mut program.funcs[caller as usize].traits), true) {
                work.push(caller);
            }
        }
    }
}

/// The functions that `func` may call, as far as names tell.
fn callees(program: &Program, func: &Func) -> Vec<FuncId> {
    let mut callees = Vec::new();
    let mut seen: FxHashSet<NameId> = FxHashSet::default();
    for op in &func.code {
        match *op {
            Op::Func(callee) | Op::Closure(callee) | Op::MethodExpr(callee) => callees.push(callee),
            Op::CallMethod { name, .. } | Op::Member(name) if seen.insert(name) => {
                let methods = program.methods_by_name.get(&name);
                callees.extend(methods.into_iter().flatten());
            }
            _ => {}
        }
    }
    callees
}

/// The functions that run because of what `func` does, though it does not name them: initialisers of
/// package variables, and what libraries call of their arguments.
fn unnamed_callees(program: &Program, func: &Func) -> Vec<FuncId> {
    let mut callees = Vec::new();
    let mut called: FxHashSet<&str> = FxHashSet::default();
    for op in &func.code {
        match *op {
            Op::Global(id) | Op::StoreGlobal(id) | Op::AddressOfGlobal(id) => {
                callees.extend(program.global(id).init.map(|(func, _)| func));
            }
            Op::CallExternal { callee, .. } | Op::External(callee) => {
                called.extend(program.external(callee).intrinsic.runs());
            }
            _ => {}
        }
    }
    let names = called.into_iter().filter_map(|name| program.name_id(name));
    callees.extend(names.filter_map(|name| program.methods_by_name.get(&name)).flatten());
    callees
}

/// The names of the fields of some kinds.
struct Fields {
    channels: FxHashSet<NameId>,
    /// Those that are functions, or may be.
    functions: FxHashSet<NameId>,
}

impl Fields {
    fn of(program: &Program) -> Fields {
        let structs = program.types.all().filter_map(|ty| match ty {
            Type::Struct(fields) => Some(fields),
            _ => None,
        });
        let fields: Vec<_> = structs.flatten().collect();
        let names = |is_it: &dyn Fn(&Type) -> bool| {
            let all = fields.iter().filter(|field| is_it(program.types.underlying(field.ty)));
            all.map(|field| field.name).collect()
        };
        Fields {
            channels: names(&|ty| matches!(ty, Type::Chan(..))),
            functions: names(&|ty| {
                matches!(ty, Type::Func(_) | Type::Unknown | Type::External(..) | Type::Lib(_))
            }),
        }
    }
}

/// Whether a `range` that begins at `at` receives, as far as what was pushed right before tells.
fn ranges_over_channel(
    program: &Program,
    func: &Func,
    at: usize,
    channels: &FxHashSet<NameId>,
) -> bool {
    let is_channel = |ty: TypeId| matches!(program.types.underlying(ty), Type::Chan(..));
    let makes = |func: FuncId| {
        let mut code = program.funcs[func.0 as usize].code.iter();
        code.any(|op| matches!(*op, Op::Make(ty) if is_channel(ty)))
    };
    if let Some(ty) = func.ranged_variable(at) {
        return is_channel(ty);
    }
    match at.checked_sub(1).map(|before| func.code[before]) {
        Some(Op::Global(id)) => {
            let global = program.global(id);
            is_channel(global.ty) || global.init.is_some_and(|(init, _)| makes(init))
        }
        Some(Op::Member(name)) => channels.contains(&name),
        _ => false,
    }
}

/// What the name of a member says of what it does.
#[derive(Clone, Copy)]
struct Named {
    synchronises: bool,
    waits: bool,
    locks: bool,
}

impl Named {
    fn of(name: &str) -> Named {
        Named {
            synchronises: library::may_synchronise(name),
            waits: library::may_wait(name),
            locks: matches!(name, "Lock" | "RLock"),
        }
    }
}

fn own_traits(program: &Program, func: &Func, fields: &Fields, named: &[Named]) -> Traits {
    let mut traits = Traits::default();
    let is_channel = |ty| matches!(program.types.underlying(ty), Type::Chan(..));
    for (at, op) in func.code.iter().enumerate() {
        match *op {
            Op::Go { .. } => {
                traits.root = true;
                traits.synchronises = true;
            }
            Op::Make(ty) if is_channel(ty) => {
                traits.root = true;
                traits.synchronises = true;
                traits.waits = true;
            }
            // A variable without a value: a channel that is nil, unless somebody makes one.
            Op::Zero(ty) => traits.root |= is_channel(ty),
            Op::Send
            | Op::Receive { .. }
            | Op::Select(_)
            | Op::Close
            | Op::Builtin(Builtin::Close) => {
                traits.synchronises = true;
                traits.waits = true;
            }
            Op::RangeStart(_) if ranges_over_channel(program, func, at, &fields.channels) => {
                traits.synchronises = true;
                traits.waits = true;
            }
            Op::Panic | Op::Builtin(_) | Op::Hole { .. } => traits.synchronises = true,
            Op::Recover => {
                traits.synchronises = true;
                traits.recovers = true;
            }
            Op::CallMethod { name, .. } | Op::Member(name) => {
                let named = named[name.0 as usize];
                // A field is called as a value is: it may be what ends a context.
                let calls_value =
                    matches!(op, Op::CallMethod { .. }) && fields.functions.contains(&name);
                traits.synchronises |= named.synchronises || calls_value;
                traits.waits |= named.waits;
                traits.root |= named.locks;
                traits.effects |= matches!(op, Op::CallMethod { .. });
            }
            Op::Call { .. } => {
                traits.effects = true;
                // A call of a value: whatever it is, it is not one of those known by name.
                traits.synchronises |= !calls_known(func, at);
            }
            Op::External(callee) => {
                traits.waits |= program.external(callee).intrinsic.gives_waits();
            }
            Op::CallExternal { callee, .. } => match program.external(callee).intrinsic {
                intrinsic if intrinsic.is_harmless() => {}
                Intrinsic::Unknown => traits.effects = true,
                intrinsic => {
                    traits.waits |= intrinsic.gives_waits();
                    traits.synchronises = true;
                    traits.effects = true;
                }
            },
            Op::StoreField(_) | Op::StoreIndex | Op::StoreDeref | Op::StoreGlobal(_) => {
                traits.effects = true;
            }
            Op::StoreCell(_) | Op::Delete | Op::Clear | Op::Copy | Op::Defer { .. } => {
                traits.effects = true;
            }
            _ => {}
        }
    }
    traits
}

/// Finds the literals that code which is not seen may run: what is done with each right where it
/// stands tells. One that is bound to a variable, called, deferred or started runs as its function
/// says.
fn hand(program: &mut Program) {
    let mut handed = Vec::new();
    for func in &program.funcs {
        for (at, op) in func.code.iter().enumerate() {
            if let Op::Closure(literal) = *op
                && is_handed(func, at)
            {
                handed.push(literal);
            }
        }
    }
    let mut known: FxHashSet<FuncId> = program.entries.iter().copied().collect();
    for literal in handed {
        program.funcs[literal.0 as usize].traits.handed = true;
        if known.insert(literal) {
            program.entries.push(literal);
        }
    }
}

/// Finds the variables that keep the value of their declaration, in the function that declares them
/// and in the literals that capture them.
fn settle(program: &mut Program) {
    let mut changed: Vec<Vec<bool>> = program.funcs.iter().map(changed_slots).collect();
    let passes = |program: &Program, id: usize| {
        let func = &program.funcs[id];
        let parent = func.parent.map(|parent| parent.0 as usize);
        parent.map(|parent| (parent, func.captures.clone()))
    };
    // Literals come after the functions that they stand in.
    for id in (0..program.funcs.len()).rev() {
        let Some((parent, captures)) = passes(program, id) else { continue };
        for (outer, inner) in captures {
            let changes = changed[id][inner.0 as usize];
            changed[parent][outer.0 as usize] |= changes;
        }
    }
    for id in 0..program.funcs.len() {
        if let Some((parent, captures)) = passes(program, id) {
            for (outer, inner) in captures {
                changed[id][inner.0 as usize] = changed[parent][outer.0 as usize];
            }
        }
        for (var, &changes) in program.funcs[id].vars.iter_mut().zip(&changed[id]) {
            var.settled = !changes;
        }
    }
}

/// The variables that a function itself may give a second value.
fn changed_slots(func: &Func) -> Vec<bool> {
    let mut changed = vec![false; func.vars.len()];
    for op in &func.code {
        match *op {
            Op::Store(slot) | Op::StoreCell(slot) | Op::AddressOf(slot) | Op::Fresh(slot) => {
                changed[slot.0 as usize] = true;
            }
            Op::RangeStart(slot) | Op::RangeNext { slot, .. } => {
                changed[slot.0 as usize] = true;
            }
            _ => {}
        }
    }
    changed
}

/// Finds the variables that literals, and those that stand in them, only send on.
fn feed(program: &mut Program) {
    // Literals come after the functions that they stand in.
    for id in (0..program.funcs.len()).rev() {
        let func = &program.funcs[id];
        if func.captures.is_empty() {
            continue;
        }
        let taken: Vec<Slot> = func.captures.iter().map(|&(_, inner)| inner).collect();
        for slot in taken {
            let fed = feeds(program, &program.funcs[id], slot);
            program.funcs[id].vars[slot.0 as usize].fed = fed;
        }
    }
}

/// Whether a function does nothing with what a variable holds that lives in a cell but send on it and
/// measure it.
fn feeds(program: &Program, func: &Func, slot: Slot) -> bool {
    let fed_by = |at: usize| match taken(func, at) {
        Some((by, above)) => match func.code[by] {
            Op::Send => above == 1,
            Op::Len | Op::Cap | Op::IsNil => true,
            Op::Select(table) => sends(&func.selects[table as usize], above),
            _ => false,
        },
        None => false,
    };
    func.code.iter().enumerate().all(|(at, op)| match *op {
        Op::LoadCell(loaded) => loaded != slot || fed_by(at),
        Op::StoreCell(other) | Op::AddressOf(other) | Op::Fresh(other) | Op::Load(other) => {
            other != slot
        }
        Op::Closure(inner) => {
            let inner = program.func(inner);
            let mut captures = inner.captures.iter();
            captures.all(|&(outer, own)| outer != slot || inner.vars[own.0 as usize].fed)
        }
        _ => true,
    })
}

/// Whether the value that lies below `above` others when a `select` begins is a channel that it
/// sends on.
fn sends(table: &SelectTable, above: usize) -> bool {
    let mut below = above;
    for case in table.cases.iter().rev() {
        match (case.send, below) {
            (true, 1) => return true,
            (true, 0) | (false, 0) => return false,
            (send, _) => below -= 1 + usize::from(send),
        }
    }
    false
}

/// Where the value is taken that the instruction at `at` pushes, and how many values lie above it
/// then; `None` where that depends on the way.
fn taken(func: &Func, at: usize) -> Option<(usize, usize)> {
    let mut above = 0;
    for (by, op) in func.code.iter().enumerate().skip(at + 1) {
        match op {
            Op::Jump(_) | Op::Branch { .. } => return None,
            op => match op.stack_effect() {
                Some((pops, pushes)) if pops <= above => above = above - pops + pushes,
                _ => return Some((by, above)),
            },
        }
    }
    None
}

/// Whether the value that the instruction at `at` pushes is given to somebody.
fn is_handed(func: &Func, at: usize) -> bool {
    let Some((by, above)) = taken(func, at) else { return false };
    match func.code[by] {
        // What is called lies below the arguments.
        Op::Call { args, .. } | Op::Go { args, .. } | Op::Defer { args, .. } => {
            above < args as usize
        }
        Op::CallMethod { .. } | Op::CallExternal { .. } | Op::Return(_) | Op::Convert(_) => true,
        Op::MakeSlice { .. } | Op::MakeMap { .. } | Op::MakeStruct { .. } => true,
        Op::Append { .. } | Op::StoreField(_) | Op::StoreGlobal(_) | Op::StoreIndex => true,
        _ => false,
    }
}

/// Whether the call at `at` calls a declared function or a literal on the spot: the value that it
/// calls was pushed by one of these instructions.
fn calls_known(func: &Func, at: usize) -> bool {
    let Op::Call { args, .. } = func.code[at] else { return false };
    let mut missing = args as usize + 1;
    let mut back = at;
    while back > 0 && missing > 0 {
        back -= 1;
        let op = func.code[back];
        let Some((pops, pushes)) = op.stack_effect() else { return false };
        if matches!(op, Op::Jump(_) | Op::Branch { .. } | Op::Return(_)) {
            return false;
        }
        if pushes >= missing {
            return pushes == 1 && pops == 0 && matches!(op, Op::Func(_) | Op::Closure(_));
        }
        missing = missing - pushes + pops;
    }
    false
}

/// The branches whose ways meet again without doing anything that matters.
fn joins(program: &Program, func: &Func, counts: &SlotSet) -> Vec<Join> {
    let mut joins = Vec::new();
    let turns = turns(func);
    for (at, op) in func.code.iter().enumerate() {
        if let Op::Branch { target, counter: Slot::NONE, .. } = *op
            && let Some(join) = join(program, func, at, target)
            // How much is counted has to agree with who goes by the same condition later. In a loop
            // that cannot be: each turn has conditions of its own.
            && (!join.assigned.iter().any(|&slot| counts.contains(slot)) || is_in_loop(func, at))
            && !turns.iter().any(|turns| turns.are_counted_by(&join))
        {
            joins.push(join);
        }
    }
    joins
}

/// A loop that sends or receives as often as variables say.
struct Turns {
    body: std::ops::Range<usize>,
    asked: Vec<Slot>,
}

impl Turns {
    /// Whether the ways of a branch in the loop differ in what the loop goes by.
    fn are_counted_by(&self, join: &Join) -> bool {
        self.body.contains(&(join.branch as usize))
            && join.assigned.iter().any(|slot| self.asked.contains(slot))
    }
}

/// The loops of a function that send or receive under a condition.
fn turns(func: &Func) -> Vec<Turns> {
    let waits = |op: &Op| matches!(op, Op::Send | Op::Receive { .. } | Op::Select(_));
    let loops = func.code.iter().enumerate().filter_map(|(at, op)| {
        let Op::Branch { target, counter, .. } = *op else { return None };
        let body = at + 1..target as usize;
        let waits = || func.code.get(body.clone()).is_some_and(|ops| ops.iter().any(waits));
        if counter == Slot::NONE || !waits() {
            return None;
        }
        let is_asked =
            |op: &&Op| matches!(op, Op::Load(_) | Op::Const(_) | Op::Binary(_) | Op::Len | Op::Not);
        let asked = func.code[..at].iter().rev().take_while(is_asked).filter_map(|op| match *op {
            Op::Load(slot) => Some(slot),
            _ => None,
        });
        Some(Turns { asked: asked.collect(), body })
    });
    loops.collect()
}

/// The variables that say how much a `WaitGroup` is counted up by, or for how many values a channel
/// has room.
fn counts(program: &Program, func: &Func) -> SlotSet {
    let mut counts = SlotSet::new(func.vars.len());
    for pair in func.code.windows(2) {
        let is_count = match pair[1] {
            Op::CallMethod { name, args: 1, .. } => program.name(name) == "Add",
            Op::Make(ty) => matches!(program.types.underlying(ty), Type::Chan(..)),
            _ => false,
        };
        if let Op::Load(slot) = pair[0]
            && is_count
        {
            counts.insert(slot);
        }
    }
    counts
}

/// Whether some later instruction goes back to one at `at` or before.
fn is_in_loop(func: &Func, at: usize) -> bool {
    func.code[at..].iter().any(|op| matches!(*op, Op::Jump(to) if to as usize <= at))
}

/// Longest region of code that is looked at for one branch.
const MAX_REGION: usize = 400;

fn join(program: &Program, func: &Func, branch: usize, target: Pc) -> Option<Join> {
    let first = branch + 1;
    let mut end = target as usize;
    if end <= branch {
        return None;
    }
    // Depth of the stack before each instruction of the region, where it is known.
    let mut depth: Vec<Option<usize>> = vec![Some(0)];
    let mut at = first;
    let mut assigned = Vec::new();
    while at < end {
        let op = *func.code.get(at)?;
        if end - first > MAX_REGION || !is_harmless(program, func, op) {
            return None;
        }
        let goes_to = match op {
            Op::Jump(to) | Op::Branch { target: to, .. } => Some(to as usize),
            _ => None,
        };
        if let Op::Store(slot) | Op::Declare(slot) = op {
            if !keeps_scalar(program, func, slot, at) {
                return None;
            }
            assigned.push(slot);
        }
        let (pops, pushes) = op.stack_effect()?;
        let before = depth.get(at - first).copied().flatten();
        let after = match before {
            Some(before) => Some(before.checked_sub(pops)? + pushes),
            // Not reached from the branch.
            None => None,
        };
        depth.resize(depth.len().max(at - first + 2), None);
        if let Some(to) = goes_to {
            if to <= at {
                return None;
            }
            end = end.max(to);
            depth.resize(depth.len().max(to - first + 1), None);
            meet(&mut depth[to - first], after)?;
        }
        if !matches!(op, Op::Jump(_)) {
            meet(&mut depth[at - first + 1], after)?;
        }
        // The target of the branch itself.
        let own = target as usize;
        depth.resize(depth.len().max(own - first + 1), None);
        meet(&mut depth[own - first], Some(0))?;
        at += 1;
    }
    if depth.get(end - first).copied().flatten().unwrap_or(0) != 0 {
        return None;
    }
    assigned.sort_unstable();
    assigned.dedup();
    Some(Join { branch: branch as Pc, at: end as Pc, assigned })
}

fn meet(known: &mut Option<usize>, more: Option<usize>) -> Option<()> {
    match (*known, more) {
        (_, None) => Some(()),
        (None, more) => {
            *known = more;
            Some(())
        }
        (Some(known), Some(more)) => (known == more).then_some(()),
    }
}

/// Whether running the instruction or not makes no difference but to the stack and to variables.
fn is_harmless(program: &Program, func: &Func, op: Op) -> bool {
    match op {
        Op::Const(_) | Op::Unknown(_) | Op::Pop | Op::Dup | Op::Load(_) | Op::LoadCell(_) => true,
        Op::Store(slot) | Op::Declare(slot) => !func.vars[slot.0 as usize].boxed,
        Op::Zero(ty) => program.types.is_scalar(ty),
        Op::Global(_) | Op::Func(_) | Op::External(_) | Op::Member(_) | Op::Index { .. } => true,
        Op::Deref | Op::Not | Op::Neg | Op::Binary(_) | Op::Len | Op::Cap | Op::Slice => true,
        Op::Convert(_) | Op::IsType(_) | Op::IsNil | Op::Jump(_) | Op::Extremum { .. } => true,
        Op::Branch { counter, .. } => counter == Slot::NONE,
        Op::Exhausted => true,
        Op::CallExternal { callee, .. } => program.external(callee).intrinsic.is_harmless(),
        _ => false,
    }
}

/// Whether what the instruction at `at` assigns to `slot` is a boolean, a number, a string or an
/// error made here: forgetting it loses no channel, lock or function.
fn keeps_scalar(program: &Program, func: &Func, slot: Slot, at: usize) -> bool {
    let ty = func.vars[slot.0 as usize].ty;
    if program.types.is_scalar(ty) || ty == TypeId::ERROR {
        return true;
    }
    matches!(
        func.code[at - 1],
        Op::Const(_)
            | Op::Not
            | Op::Neg
            | Op::Binary(_)
            | Op::Len
            | Op::Cap
            | Op::CallExternal { .. }
    )
}
