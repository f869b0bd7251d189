//! Conditions that go together: a path that has found `err != nil` does not find `err == nil`
//! further on, unless `err` was assigned in between; one that has set `found = true` finds `found`.

mod key;

use std::cell::OnceCell;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::flow::{BlockId, Cfg, Edge, EdgeKind, Exit, Passing, Path, Start, Step, StepId, Walk};
use crate::index::{
    Basic, Builtin, Callee, Constant, Def, LocalId, LocalKind, Object, ObjectId, ObjectKind, Type,
    TypeDecl,
};
use crate::program::library::{Intrinsic, intrinsic};
use crate::rules::endable::asks_err;
use crate::rules::scene::compared_with_nil;
use crate::summary::{At, BodyId, Definition, Function, Source, ticks};
use crate::syntax::{BinaryOp, ExprId, ExprKind, File, Node, StmtId, StmtKind, Symbol, UnaryOp};

pub use key::{key, reads_only_names, variables};

use key::{Asked, Compared, Says};

/// What a path has decided: conditions by number, sorted, and whether they hold.
pub type Decided = Vec<(u16, bool)>;

/// The conditions of a body that are asked more than once, or that an assignment decides.
pub struct Conditions {
    /// For each condition its number, and whether it says the opposite.
    by_expr: FxHashMap<ExprId, (u16, bool)>,
    /// What a step makes unknown again.
    forgotten: FxHashMap<StepId, Vec<u16>>,
    /// What a step decides, by what it assigns.
    assigned: FxHashMap<StepId, Decided>,
    /// What a condition says of a variable that others compare with constants too, and the numbers of those.
    compared: FxHashMap<u16, (Says, Vec<u16>)>,
    /// The answers that all assignments of what is asked about give.
    fixed: FxHashMap<u16, bool>,
    /// The answers of conditions that ask whether a context has ended, where it was seen to end.
    ended: FxHashMap<ExprId, bool>,
    /// The switches that have a case for every constant of the type of their tag.
    exhaustive: FxHashSet<StmtId>,
    /// The arms of selects that are never ready.
    idle: FxHashSet<(StmtId, u32)>,
    /// What may be asked again from the beginning of a block on before it is made unknown.
    asked_below: FxHashMap<BlockId, Numbers>,
}

impl Conditions {
    /// What a path has decided when it has passed a step.
    pub fn after(&self, decided: &Decided, step: StepId) -> Decided {
        let mut decided = decided.clone();
        self.step(&mut decided, step);
        decided
    }

    /// What a path has decided when it has taken an edge; `None` where that contradicts what it had before.
    pub fn along(&self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        let mut next = decided.clone();
        self.edge(&mut next, edge).then_some(next)
    }

    /// What is decided at a step of the body, whichever way leads there.
    pub fn known_at(&self, cfg: &Cfg, step: StepId) -> Decided {
        let mut arrivals = Arrivals { conditions: self, to: step, known: None };
        cfg.finds(Start::Entry, Vec::new(), &mut arrivals);
        arrivals.known.unwrap_or_default()
    }

    /// What all paths that come to a step have decided once it is taken.
    pub fn known_after(&self, cfg: &Cfg, step: StepId) -> Decided {
        self.after(&self.known_at(cfg, step), step)
    }

    /// The conditions of a body.
    pub fn new(function: &Function<'_>, body: BodyId) -> Conditions {
        let cfg = &function.body(body).cfg;
        let mut asked: Vec<(ExprId, Asked)> = Vec::new();
        let mut exhaustive = FxHashSet::default();
        let mut idle = FxHashSet::default();
        let mut ended = FxHashMap::default();
        for edge in cfg.edges() {
            if let EdgeKind::True(condition) = edge.kind {
                asked.extend(Asked::of(function, condition).map(|asked| (condition, asked)));
                let answer = finds_ended(function, body, condition);
                ended.extend(answer.map(|answer| (condition, answer)));
            }
            if let EdgeKind::NoCase(stmt) = edge.kind
                && is_exhaustive(function, stmt)
            {
                exhaustive.insert(stmt);
            }
            if let EdgeKind::Arm(stmt, place) = edge.kind
                && is_idle(function, stmt, place)
            {
                idle.insert((stmt, place));
            }
        }
        let mut conditions = Conditions {
            by_expr: FxHashMap::default(),
            forgotten: FxHashMap::default(),
            assigned: FxHashMap::default(),
            compared: FxHashMap::default(),
            fixed: FxHashMap::default(),
            ended,
            exhaustive,
            idle,
            asked_below: FxHashMap::default(),
        };
        let mut times: FxHashMap<&str, u32> = FxHashMap::default();
        for (_, asked) in &asked {
            *times.entry(&asked.text).or_default() += 1;
        }
        let comparisons: Vec<Option<(Compared, Says)>> =
            asked.iter().map(|(_, asked)| asked.comparison(function)).collect();
        let mut by_variable: FxHashMap<&Compared, FxHashSet<&str>> = FxHashMap::default();
        for ((_, asked), comparison) in asked.iter().zip(&comparisons) {
            if let Some((variable, _)) = comparison {
                by_variable.entry(variable).or_default().insert(&asked.text);
            }
        }
        let mut numbers: FxHashMap<&str, u16> = FxHashMap::default();
        let mut subjects: FxHashMap<u16, Option<Subject>> = FxHashMap::default();
        let gaps = OnceCell::new();
        for ((condition, Asked { text, negated, .. }), comparison) in asked.iter().zip(&comparisons)
        {
            let next = numbers.len() as u16;
            let subject = subject(function, body, *condition);
            let is_compared =
                comparison.as_ref().is_some_and(|(variable, _)| by_variable[variable].len() > 1);
            if times[text.as_str()] < 2 && subject.is_none() && !is_compared || next == u16::MAX {
                continue;
            }
            let number = *numbers.entry(text).or_insert(next);
            conditions.by_expr.insert(*condition, (number, *negated));
            // Two variables of the same name are asked about in the same words.
            let known = *subjects.entry(number).or_insert(subject);
            subjects.insert(number, subject.filter(|_| known == subject));
            if names_field(function, *condition) {
                for &gap in gaps.get_or_init(|| gaps_of(function, body)) {
                    conditions.forgotten.entry(gap).or_default().push(number);
                }
            }
            for local in locals_in(function, Node::Expr(*condition)) {
                for definition in function.definitions_of(local) {
                    if let Some(at) = definition.at.filter(|at| at.body == body) {
                        conditions.forgotten.entry(at.step).or_default().push(number);
                    }
                }
            }
        }
        for ((_, asked), comparison) in asked.iter().zip(&comparisons) {
            let Some((variable, says)) = comparison else { continue };
            let Some(&number) = numbers.get(asked.text.as_str()) else { continue };
            let others = by_variable[variable].iter().filter_map(|text| numbers.get(text).copied());
            let others: Vec<u16> = others.filter(|&other| other != number).collect();
            if !others.is_empty() {
                conditions.compared.insert(number, (says.clone(), others));
            }
        }
        for (number, subject) in subjects {
            let Some(subject) = subject else { continue };
            let answers: Vec<(Option<At>, Option<bool>)> = function
                .definitions_of(subject.local())
                .map(|definition| (definition.at, subject.after(function, definition)))
                .collect();
            // A `return` gives a result another value, which what is deferred sees.
            let is_result =
                matches!(function.info.local(subject.local()).kind, LocalKind::Result(_));
            if let Some(&(_, Some(value))) = answers.first().filter(|_| !is_result)
                && answers.iter().all(|&(_, other)| other == Some(value))
            {
                conditions.fixed.insert(number, value);
                continue;
            }
            for (at, value) in answers {
                if let (Some(at), Some(value)) = (at, value) {
                    let decided = conditions.assigned.entry(at.step).or_default();
                    decided.push((number, value));
                    decided.sort_unstable();
                }
            }
        }
        conditions.asked_below = conditions.asked_below(cfg);
        conditions
    }

    /// Which conditions are live at the beginning of each block, as a compiler says of variables:
    /// asked from there on before a step makes them unknown.
    fn asked_below(&self, cfg: &Cfg) -> FxHashMap<BlockId, Numbers> {
        let mut live: FxHashMap<BlockId, Numbers> = FxHashMap::default();
        let mut changed = !self.by_expr.is_empty();
        while changed {
            changed = false;
            for block in cfg.blocks().rev() {
                let mut here = Numbers::default();
                for edge in cfg.edges_of(block) {
                    here.extend(live.get(&edge.to));
                    let asked = condition(edge.kind).and_then(|asked| self.by_expr.get(&asked));
                    if let Some(&(number, _)) = asked {
                        here.insert(number);
                        let others = self.compared.get(&number);
                        others.into_iter().flat_map(|(_, it)| it).for_each(|&it| here.insert(it));
                    }
                }
                for forgotten in cfg.steps_of(block).filter_map(|step| self.forgotten.get(&step)) {
                    here.remove(forgotten);
                }
                if live.get(&block).is_none_or(|before| *before != here) {
                    changed |= !here.0.is_empty();
                    live.insert(block, here);
                }
            }
        }
        live
    }

    /// What is still known after a step.
    pub fn step(&self, decided: &mut Decided, step: StepId) {
        if let Some(forgotten) = self.forgotten.get(&step) {
            decided.retain(|(number, _)| !forgotten.contains(number));
        }
        for &(number, value) in self.assigned.get(&step).into_iter().flatten() {
            if let Err(at) = decided.binary_search_by_key(&number, |(number, _)| *number) {
                decided.insert(at, (number, value));
            }
        }
    }

    /// Takes an edge; whether what was decided allows it. What nobody asks again is dropped, so that
    /// paths which differ in it go on as one.
    pub fn edge(&self, decided: &mut Decided, edge: &Edge) -> bool {
        let allowed = self.decide(decided, edge);
        if allowed && !decided.is_empty() {
            let below = self.asked_below.get(&edge.to);
            decided.retain(|&(number, _)| below.is_some_and(|below| below.contains(number)));
        }
        allowed
    }

    fn decide(&self, decided: &mut Decided, edge: &Edge) -> bool {
        if let EdgeKind::NoCase(stmt) = edge.kind {
            return !self.exhaustive.contains(&stmt);
        }
        if let EdgeKind::Arm(stmt, place) = edge.kind {
            return !self.idle.contains(&(stmt, place));
        }
        let Some((condition, holds)) = edge.kind.condition() else { return true };
        if let Some(&answer) = self.ended.get(&condition) {
            return answer == holds;
        }
        let Some(&(number, negated)) = self.by_expr.get(&condition) else { return true };
        let holds = holds != negated;
        if let Some(&value) = self.fixed.get(&number) {
            return value == holds;
        }
        match decided.binary_search_by_key(&number, |(number, _)| *number) {
            Ok(at) => decided[at].1 == holds,
            Err(_) if self.is_denied(decided, number, holds) => false,
            Err(at) => {
                decided.insert(at, (number, holds));
                true
            }
        }
    }
}

impl Conditions {
    /// Whether what was found when a variable was compared with another constant leaves no room for this answer.
    fn is_denied(&self, decided: &Decided, number: u16, holds: bool) -> bool {
        let Some((says, others)) = self.compared.get(&number) else { return false };
        decided.iter().filter(|(other, _)| others.contains(other)).any(|&(other, answer)| {
            self.compared
                .get(&other)
                .is_some_and(|(it, _)| !Says::agrees((says, holds), (it, answer)))
        })
    }
}

/// What `ctx.Err() != nil` and the like say where every way there has received from `ctx.Done()`.
fn finds_ended(function: &Function<'_>, body: BodyId, condition: ExprId) -> Option<bool> {
    let file = function.file;
    let (error, is_ended) = compared_with_nil(file, &function.info, condition)?;
    let error = file.unparen(error);
    if !asks_err(file, &function.info, error) {
        return None;
    }
    let (asked, _) = file.method_call(error)?;
    let Def::Local(context) = *function.info.resolve(file.unparen(asked)) else { return None };
    let cfg = &function.body(body).cfg;
    let at = cfg.step_of_expr(error)?;
    let is_end = |step: StepId| {
        let done = function.end_received(function.step(At { body, step }));
        done.and_then(|of| function.variable(of)) == Some(context)
    };
    let is_one = function.definitions_of(context).count() < 2;
    (is_one && cfg.steps().any(|step| is_end(step) && cfg.dominates(step, at))).then_some(is_ended)
}

/// Whether an arm waits for a timer that is started with the `select`, which has a default clause: no time has
/// passed when it looks.
fn is_idle(function: &Function<'_>, select: StmtId, place: u32) -> bool {
    let (file, info) = (function.file, &function.info);
    let StmtKind::Select(clauses) = &file.stmt(select).kind else { return false };
    let comm = clauses.get(place as usize).and_then(|clause| clause.comm);
    let Some(channel) = comm.and_then(|comm| Step::Comm(comm).received_from(file)) else {
        return false;
    };
    let channel = file.unparen(channel);
    let starts = info.callee(channel).qualified(function.index);
    let is_long = || match file.args(channel) {
        &[time] => matches!(info.constant(time), Some(Constant::Int(time)) if *time > 0),
        _ => false,
    };
    clauses.iter().any(|clause| clause.comm.is_none())
        && starts.is_some_and(|name| name.path.as_str() == "time" && name.name.as_str() == "After")
        && is_long()
}

/// Whether a `switch` names every constant that the package of its tag's type declares of that type: a value
/// of another kind is not meant to be.
fn is_exhaustive(function: &Function<'_>, stmt: StmtId) -> bool {
    let (file, info, index) = (function.file, &function.info, function.index);
    let StmtKind::Switch { tag: Some(tag), cases, .. } = &file.stmt(stmt).kind else {
        return false;
    };
    let Type::Named(of) = info.type_of(*tag) else { return false };
    let TypeDecl::Global(declared) = of.decl else { return false };
    let values = cases.iter().filter_map(|case| case.values.as_ref()).flatten();
    let named: FxHashSet<ObjectId> = values
        .filter_map(|&value| match *info.resolve(file.unparen(value)) {
            Def::Global(constant) => Some(constant),
            _ => None,
        })
        .collect();
    let is_value = |object: &&Object| {
        let is_of = |ty: Type| matches!(&ty, Type::Named(ty) if ty.decl == of.decl);
        object.kind == ObjectKind::Const && is_of(index.object_type(object.id))
    };
    let mut values = index.package(declared.package).objects.iter().filter(is_value).peekable();
    values.peek().is_some() && values.all(|value| named.contains(&value.id))
}

/// What a condition asks about one variable, and nothing else.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Subject {
    /// Whether it is nil.
    Nil(LocalId),
    /// Whether it is true.
    Truth(LocalId),
}

impl Subject {
    fn local(self) -> LocalId {
        match self {
            Subject::Nil(local) | Subject::Truth(local) => local,
        }
    }

    /// The answer right after an assignment, if that says it.
    fn after(self, function: &Function<'_>, definition: &Definition) -> Option<bool> {
        match (self, definition.source) {
            // What is compared with nil has it as its zero value.
            (Subject::Nil(_), Source::Zero) => Some(true),
            (Subject::Truth(local), Source::Zero) => {
                let ty = function.index.underlying(&function.info.local(local).ty);
                matches!(ty, Type::Basic(Basic::Bool)).then_some(false)
            }
            (Subject::Nil(_), Source::Expr(value)) => {
                let value = function.file.unparen(value);
                match function.file.expr(value).kind {
                    _ if matches!(function.info.resolve(value), Def::Nil) => Some(true),
                    ExprKind::Unary { op: UnaryOp::Addr, .. } | ExprKind::FuncLit(_) => Some(false),
                    ExprKind::Call { .. } => {
                        let callee = function.info.callee(value);
                        let makes = match callee {
                            Callee::Builtin(called) => {
                                matches!(called, Builtin::Make | Builtin::New)
                            }
                            _ => callee.qualified(function.index).is_some_and(|name| {
                                let (path, name) = (name.path.as_str(), name.name.as_str());
                                intrinsic(path, name) == Intrinsic::NewError
                            }),
                        };
                        makes.then_some(false)
                    }
                    _ => None,
                }
            }
            (Subject::Truth(_), Source::Expr(value)) => {
                match function.info.resolve(function.file.unparen(value)) {
                    Def::PredeclaredConst(name) => Some(name.as_str() == "true"),
                    _ => None,
                }
            }
            (Subject::Truth(_), Source::Computed) => {
                let channel = function.step(definition.at?).received_from(function.file)?;
                ticks(function.file, &function.info, channel).then_some(true)
            }
            _ => None,
        }
    }
}

/// The variable that a condition asks about, if only this body assigns it.
fn subject(function: &Function<'_>, body: BodyId, condition: ExprId) -> Option<Subject> {
    let file = function.file;
    let local = |expr: ExprId| match function.info.resolve(file.unparen(expr)) {
        Def::Local(local) => Some(*local),
        _ => None,
    };
    let is_nil = |expr: ExprId| matches!(function.info.resolve(file.unparen(expr)), Def::Nil);
    let condition = file.unparen(condition);
    let subject = match file.expr(condition).kind {
        ExprKind::Unary { op: UnaryOp::Not, operand } => Subject::Truth(local(operand)?),
        ExprKind::Binary { op: BinaryOp::Eq | BinaryOp::Ne, left, right, .. } => {
            match (is_nil(left), is_nil(right)) {
                (false, true) => Subject::Nil(local(left)?),
                (true, false) => Subject::Nil(local(right)?),
                _ => return None,
            }
        }
        ExprKind::Ident(_) => Subject::Truth(local(condition)?),
        _ => return None,
    };
    let own = function
        .definitions_of(subject.local())
        .all(|definition| definition.at.is_none_or(|at| at.body == body));
    (own && !function.is_addressed(subject.local())).then_some(subject)
}

/// [`Cfg::search`] through a body, along the paths on which conditions that go together are answered alike.
pub fn search<W: Walk>(
    function: &Function<'_>,
    body: BodyId,
    start: Start,
    state: W::State,
    walk: &mut W,
) -> Vec<Path<W::State>> {
    let cfg = &function.body(body).cfg;
    let conditions = Conditions::new(function, body);
    let known = match start {
        Start::After(step) => conditions.known_after(cfg, step),
        Start::Entry | Start::Block(_) => Decided::default(),
    };
    let mut walk = Agreeing { conditions: &conditions, walk };
    let paths = cfg.search(start, (state, known), &mut walk).into_iter();
    paths.map(|path| Path { edges: path.edges, end: path.end, state: path.state.0 }).collect()
}

/// Goes where another walk goes, along paths on which conditions that go together are answered alike.
struct Agreeing<'w, W> {
    conditions: &'w Conditions,
    walk: &'w mut W,
}

impl<W: Walk> Walk for Agreeing<'_, W> {
    type State = (W::State, Decided);

    fn step(&mut self, (state, decided): &Self::State, step: StepId) -> Passing<Self::State> {
        match self.walk.step(state, step) {
            Passing::On(state) => Passing::On((state, self.conditions.after(decided, step))),
            Passing::Found => Passing::Found,
            Passing::Drop => Passing::Drop,
        }
    }

    fn edge(&mut self, (state, decided): &Self::State, edge: &Edge) -> Option<Self::State> {
        Some((self.walk.edge(state, edge)?, self.conditions.along(decided, edge)?))
    }

    fn passes_missing(&self) -> bool {
        self.walk.passes_missing()
    }

    fn exit(&mut self, (state, _): &Self::State, exit: Exit) -> bool {
        self.walk.exit(state, exit)
    }
}

/// Looks for a way to a step past none of some others, on which conditions that go together are
/// answered alike.
pub struct Way<'w> {
    /// The conditions of the body.
    pub conditions: &'w Conditions,
    /// Whether a step is one that is looked for.
    pub to: &'w dyn Fn(StepId) -> bool,
    /// Whether a way that passes a step is of no interest.
    pub settled: &'w dyn Fn(StepId) -> bool,
}

impl Walk for Way<'_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        if (self.to)(step) {
            return Passing::Found;
        }
        if (self.settled)(step) {
            return Passing::Drop;
        }
        Passing::On(self.conditions.after(decided, step))
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        self.conditions.along(decided, edge)
    }

    fn exit(&mut self, _: &Decided, _: Exit) -> bool {
        false
    }
}

/// Looks for the ways out of a body as [`Way`] looks for a step.
pub struct WayOut<'w>(pub Way<'w>);

impl Walk for WayOut<'_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        self.0.step(decided, step)
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        self.0.edge(decided, edge)
    }

    fn exit(&mut self, _: &Decided, exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

/// Looks at all that paths have decided when they come to a step.
struct Arrivals<'w> {
    conditions: &'w Conditions,
    to: StepId,
    known: Option<Decided>,
}

impl Walk for Arrivals<'_> {
    type State = Decided;

    fn step(&mut self, decided: &Decided, step: StepId) -> Passing<Decided> {
        if step == self.to {
            match &mut self.known {
                Some(known) => known.retain(|decision| decided.contains(decision)),
                None => self.known = Some(decided.clone()),
            }
        }
        Passing::On(self.conditions.after(decided, step))
    }

    fn edge(&mut self, decided: &Decided, edge: &Edge) -> Option<Decided> {
        self.conditions.along(decided, edge)
    }

    fn exit(&mut self, _: &Decided, _: Exit) -> bool {
        false
    }
}

/// A set of numbers, as bits. The last word is never empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Numbers(Vec<u64>);

impl Numbers {
    fn contains(&self, number: u16) -> bool {
        let (word, bit) = place(number);
        self.0.get(word).is_some_and(|bits| bits & bit != 0)
    }

    fn insert(&mut self, number: u16) {
        let (word, bit) = place(number);
        if self.0.len() <= word {
            self.0.resize(word + 1, 0);
        }
        self.0[word] |= bit;
    }

    fn extend(&mut self, others: Option<&Numbers>) {
        let Some(others) = others else { return };
        if self.0.len() < others.0.len() {
            self.0.resize(others.0.len(), 0);
        }
        for (bits, more) in self.0.iter_mut().zip(&others.0) {
            *bits |= more;
        }
    }

    fn remove(&mut self, numbers: &[u16]) {
        for &number in numbers {
            let (word, bit) = place(number);
            if let Some(bits) = self.0.get_mut(word) {
                *bits &= !bit;
            }
        }
        while self.0.last() == Some(&0) {
            self.0.pop();
        }
    }
}

/// The word that holds the bit of a number, and the bit.
fn place(number: u16) -> (usize, u64) {
    (usize::from(number / 64), 1 << (number % 64))
}

/// The calls of a body that take a lock which the body has given back before: what others share may have changed
/// in between.
fn gaps_of(function: &Function<'_>, body: BodyId) -> Vec<StepId> {
    let cfg = &function.body(body).cfg;
    let mut operations: Vec<(StepId, String, Symbol)> = Vec::new();
    for step in cfg.steps() {
        let Step::Call(call) = cfg.step(step) else { continue };
        let Some((base, name)) = function.file.method_call(call) else { continue };
        let name = name.name;
        if matches!(name.as_str(), "Lock" | "RLock" | "Unlock" | "RUnlock") {
            operations.push((step, function.text(base), name));
        }
    }
    let gives = |name: Symbol| matches!(name.as_str(), "Unlock" | "RUnlock");
    let is_retaken = |(taken, base, name): &&(StepId, String, Symbol)| {
        !gives(*name)
            && operations.iter().any(|(given, other, name)| {
                gives(*name) && other == base && cfg.dominates(*given, *taken)
            })
    };
    operations.iter().filter(is_retaken).map(|&(step, ..)| step).collect()
}

/// Whether a condition asks about a field, itself or by a call.
fn names_field(function: &Function<'_>, condition: ExprId) -> bool {
    function.file.descendants(Node::Expr(condition)).any(|node| match node {
        Node::Expr(expr) => {
            matches!(function.info.resolve(expr), Def::Field(_))
                || matches!(function.info.callee(expr), Callee::Func(_))
        }
        _ => false,
    })
}

/// The variables that a node names.
pub fn locals_in(function: &Function<'_>, node: Node) -> Vec<LocalId> {
    let mut locals = Vec::new();
    for node in function.file.descendants(node) {
        if let Node::Expr(expr) = node
            && let ExprKind::Ident(_) = function.file.expr(expr).kind
            && let Def::Local(local) = function.info.resolve(expr)
            && !locals.contains(local)
        {
            locals.push(*local);
        }
    }
    locals
}

/// Whether a node names one of these variables.
pub fn names_any(function: &Function<'_>, node: Node, variables: &[LocalId]) -> bool {
    locals_in(function, node).iter().any(|local| variables.contains(local))
}

/// What an edge decides by: a condition, or what a `switch` looks at.
pub fn subject_of(file: &File, edge: EdgeKind) -> Option<ExprId> {
    match edge {
        EdgeKind::Case(switch, _) | EdgeKind::NoCase(switch) => match file.stmt(switch).kind {
            StmtKind::Switch { tag, .. } => tag,
            StmtKind::TypeSwitch { subject, .. } => Some(subject),
            _ => None,
        },
        kind => condition(kind),
    }
}

/// What an edge decides, without the `!` before it, and whether that holds.
pub fn asked(file: &File, edge: EdgeKind) -> Option<(ExprId, bool)> {
    let (condition, holds) = edge.condition()?;
    let condition = file.unparen(condition);
    match file.expr(condition).kind {
        ExprKind::Unary { op: UnaryOp::Not, operand } => Some((file.unparen(operand), !holds)),
        _ => Some((condition, holds)),
    }
}

/// What decides on the turns of a loop: what it ranges over, or its condition.
pub fn header(file: &File, turns: StmtId) -> Option<ExprId> {
    match file.stmt(turns).kind {
        StmtKind::Range { subject, .. } => Some(subject),
        StmtKind::For { cond, .. } => cond,
        _ => None,
    }
}

/// The condition that an edge decides.
pub fn condition(kind: EdgeKind) -> Option<ExprId> {
    match kind {
        EdgeKind::True(condition) | EdgeKind::False(condition) => Some(condition),
        _ => None,
    }
}
