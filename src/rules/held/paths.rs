//! Paths on which a function lets go of a thing that it alone has.
//!
//! A path is given up as soon as the thing may have been ended, may be known to somebody else, or
//! may never have been there: the call failed, a condition that was decided before the call is
//! decided otherwise, or a condition speaks of the error in a way that is not understood.

use rustc_hash::FxHashSet;

use super::holders::{self, may_end_parts};
use super::{Held, may_have_ended};
use crate::catalog::{End, Pure};
use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Path, PathEnd, Start, Step, StepId, Walk};
use crate::index::{Callee, Def, FuncId, LocalId, QualifiedName};
use crate::rules::scene::compared_with_nil;
use crate::rules::{FunctionCx, conditions, turns};
use crate::source::Span;
use crate::summary::{
    Act, At, BodyFlow, BodyId, Definition, Effect, Function, Mode, Place, Read, Root, Source,
    covering,
};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// A place where a thing is lost.
pub struct Lost {
    /// The `return`, the closing brace, or what gets the next thing.
    pub span: Span,
    /// How it is lost there.
    pub way: Way,
    /// The last that is done of the turn of a loop that leaves it behind.
    pub last: Option<Span>,
}

/// How a thing is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// The function returns.
    Return,
    /// The function ends at its closing brace.
    End,
    /// The call is made again, and nobody has the first thing any more.
    Again,
    /// The only variable that holds it gets something else.
    Replaced,
}

/// What a path was decided by.
#[derive(Clone, Copy)]
pub enum Test {
    /// A condition has this value.
    Is(ExprId, bool),
    /// The two are equal: the tag of a `switch`, and a value of the clause that is taken.
    Equal(ExprId, ExprId),
}

/// The places where a thing is lost, the first in the text first. `harmless` says of an act on a
/// part of the result that it tells nobody of the thing; `absent` of what a path was decided by that
/// there is no thing then.
pub fn lost(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    held: &Held<'_>,
    harmless: &dyn Fn(&Effect) -> bool,
    absent: &dyn Fn(Test) -> bool,
) -> Vec<Lost> {
    let Some(settled) = settled(cx, read, held, harmless, false) else { return Vec::new() };
    let found = search(read, held, settled, absent);
    match found.is_empty() {
        true => lost_by_goroutine(read, held, harmless, absent).unwrap_or_default(),
        false => found,
    }
}

/// The places where a thing is lost by a goroutine that is started with a literal, and has the thing for
/// itself from then on; `None` if there is none. Nothing else that the function does with the thing ends
/// it or makes it known.
fn lost_by_goroutine(
    read: &Read<'_>,
    held: &Held<'_>,
    harmless: &dyn Fn(&Effect) -> bool,
    absent: &dyn Fn(Test) -> bool,
) -> Option<Vec<Lost>> {
    let function = &read.function;
    let cfg = &function.body(held.at.body).cfg;
    let (whole, thing) = (held.whole(), held.thing());
    let is_about = |effect: &&Effect| effect.place.is_within(&whole) && !harmless(effect);
    let settles = |effect: &Effect| {
        effect.act.escapes() || may_have_ended(held.fact, effect.act) && is_end_of(effect, &thing)
    };
    let own = read.effects(held.at.body).effects.iter();
    let mut given = own.filter(is_about).filter(|effect| settles(effect)).map(|effect| effect.at);
    let go = given.next()?;
    let started = match cfg.step(go.step) {
        Step::Go(stmt) => BodyFlow::statement_call(function.file, stmt)?,
        _ => return None,
    };
    let Callee::Literal(literal) = *function.info.callee(started) else { return None };
    let body = function.bodies().find(|&body| function.body(body).literal == Some(literal))?;
    let is_given = |&arg: &ExprId| {
        let places = function.places(go, arg);
        places.may_be(&whole) || places.may_be(&thing)
    };
    // Each goroutine gets a thing of its own, and a variable that is set again may hold another.
    let again = cfg.reaches_without(go.step, go.step, &|step| step == held.at.step);
    let is_known_elsewhere = function.bodies().any(|other| {
        other != held.at.body
            && !function.enclosing(other).any(|around| around == body)
            && read.effects(other).effects.iter().any(|effect| is_about(&effect))
    });
    if given.any(|at| at != go)
        || again
        || !cfg.dominates(held.at.step, go.step)
        || is_known_elsewhere
        || !ended_by_function(function, held).all(|step| step == go.step)
        || is_set_again(function, held)
        || function.args(started).iter().any(is_given)
    {
        return None;
    }
    let inner = Held { at: At { body, step: go.step }, ..held.clone() };
    let about = read.effects(body).effects.iter().filter(is_about);
    let mut settled: FxHashSet<StepId> = ended_by_function(function, &inner).collect();
    settled.extend(about.filter(|effect| settles(effect)).map(|effect| effect.at.step));
    let mut walk = Walking {
        function,
        held: &inner,
        again: None,
        settled,
        replaced: FxHashSet::default(),
        readers: Vec::new(),
        absent,
    };
    let paths = conditions::search(function, body, Start::Entry, (), &mut walk);
    let mut found: Vec<Lost> = paths.iter().map(|path| lost_at(function, &inner, path)).collect();
    found.sort_by_key(|lost| lost.span.start);
    Some(found)
}

/// As [`lost`], also of a thing that becomes a part of what this function makes for itself alone.
pub fn let_go(cx: &FunctionCx<'_>, read: &Read<'_>, held: &Held<'_>) -> Vec<Lost> {
    let Some(settled) = settled(cx, read, held, &|_| false, true) else { return Vec::new() };
    search(read, held, settled, &|_| false)
}

fn search(
    read: &Read<'_>,
    held: &Held<'_>,
    (settled, aliases): (FxHashSet<StepId>, Vec<Place>),
    absent: &dyn Fn(Test) -> bool,
) -> Vec<Lost> {
    let function = &read.function;
    let replaced = replaced(function, held);
    let readers = readers(function, held, &aliases);
    let again = Some(held.at.step);
    let mut walk = Walking { function, held, again, settled, replaced, readers, absent };
    let mut paths =
        conditions::search(function, held.at.body, Start::After(held.at.step), (), &mut walk);
    if !paths.is_empty() {
        let states = held.states(function);
        paths.retain(|path| !turns::asks_any(function, path, &states));
    }
    let mut found: Vec<Lost> = paths.iter().map(|path| lost_at(function, held, path)).collect();
    found.sort_by_key(|lost| lost.span.start);
    found
}

/// Whether a variable that a thing is stored in gets something else too, wherever that is.
fn is_set_again(function: &Function<'_>, held: &Held<'_>) -> bool {
    let is_it = |definition: &Definition| {
        matches!(definition.source, Source::Result(call, result)
            if (call, result) == (held.call, held.result))
    };
    (0..function.info.locals().len() as u32).map(LocalId).any(|local| {
        let values = || {
            let all = function.definitions_of(local);
            all.filter(|it| matches!(it.source, Source::Result(..) | Source::Expr(_)))
        };
        values().any(is_it) && values().count() > 1
    })
}

/// The steps that give something else to the variable that a thing was stored in, if no other
/// variable holds it.
fn replaced(function: &Function<'_>, held: &Held<'_>) -> FxHashSet<StepId> {
    let whole = held.whole();
    let is_it = |definition: &Definition| match definition.source {
        Source::Result(call, result) => (call, result) == (held.call, held.result),
        Source::Expr(value) => {
            definition.at.is_none_or(|at| function.places(at, value).may_be(&whole))
        }
        _ => false,
    };
    let is_value = |definition: &&Definition| {
        matches!(definition.source, Source::Result(..) | Source::Expr(_))
    };
    let locals = || (0..function.info.locals().len() as u32).map(LocalId);
    let is_set_again =
        |&local: &LocalId| function.definitions_of(local).filter(is_value).count() > 1;
    let holds = |&local: &LocalId| function.definitions_of(local).any(is_it);
    let Some(holder) = locals().filter(is_set_again).find(holds) else {
        return FxHashSet::default();
    };
    if locals().any(|local| local != holder && holds(&local)) {
        return FxHashSet::default();
    }
    let others = function.definitions_of(holder).filter(is_value).filter(|other| !is_it(other));
    let here = others.filter_map(|definition| definition.at);
    here.filter(|at| at.body == held.at.body).map(|at| at.step).collect()
}

/// What a thing goes by.
struct Name {
    place: Place,
    kind: Kind,
    /// Of a part, the methods that alone do anything with it, if that is known.
    enders: Option<Vec<Symbol>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// What the call gives.
    Given,
    /// What wraps it.
    Wrapper,
    /// A part of something that the function makes for itself.
    Part,
}

impl Name {
    /// Whether what is done to a place is done to the thing, or to what it is a part of.
    fn concerns(&self, place: &Place) -> bool {
        place.is_within(&self.place) || self.kind == Kind::Part && self.place.is_within(place)
    }
}

/// The steps of the body that may end the thing or make it known to others, and what wraps it; `None`
/// if something that is set up before the call may do so at any time. With `parts` a thing that is
/// put into what the function makes for itself is not known to others yet.
fn settled(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    held: &Held<'_>,
    harmless: &dyn Fn(&Effect) -> bool,
    parts: bool,
) -> Option<(FxHashSet<StepId>, Vec<Place>)> {
    let function = &read.function;
    let cfg = &function.body(held.at.body).cfg;
    let thing = held.thing();
    let mut names: Vec<Name> = Vec::new();
    let given = Name { place: held.whole(), kind: Kind::Given, enders: None };
    let mut open = vec![(given, None)];
    let mut settled: FxHashSet<StepId> = ended_by_function(function, held).collect();
    settled.extend(ended_below(cx, function, held));
    while let Some((name, since)) = open.pop() {
        if names.iter().any(|known| known.place == name.place) {
            continue;
        }
        for body in function.bodies() {
            for effect in &read.effects(body).effects {
                if !name.concerns(&effect.place) || harmless(effect) {
                    continue;
                }
                if let Act::Passed = effect.act
                    && let Some(place) = wrapper(cx, function, effect.at)
                {
                    open.push((Name { place, kind: Kind::Wrapper, enders: None }, None));
                    continue;
                }
                if parts
                    && body == held.at.body
                    && (effect.act, effect.mode) == (Act::Stored, Mode::Now)
                    && let Some(parts) = holders::parts(function, effect, &name.place)
                {
                    let part = |part: holders::Part| {
                        let enders = holders::own_enders(cx, function, &part.place);
                        (Name { place: part.place, kind: Kind::Part, enders }, part.since)
                    };
                    open.extend(parts.into_iter().map(part));
                    continue;
                }
                let is_above = !effect.place.is_within(&name.place);
                let leaves = |enders: &Vec<Symbol>| holders::leaves_part(effect, enders);
                if is_above && name.enders.as_ref().is_some_and(leaves) {
                    continue;
                }
                if is_above
                    && effect.mode.is_later()
                    && holders::leave_alone(read, held.at.body, &name.place)
                {
                    continue;
                }
                let settles = match name.kind {
                    _ if is_above => may_end_parts(function, effect),
                    Kind::Given => {
                        may_have_ended(held.fact, effect.act) && is_end_of(effect, &thing)
                    }
                    Kind::Wrapper | Kind::Part => may_have_ended(held.fact, effect.act),
                };
                if !settles && !effect.act.escapes() {
                    continue;
                }
                if body == held.at.body {
                    let before = since.filter(|_| effect.mode == Mode::Now);
                    let before = before.or((effect.mode != Mode::Now).then_some(held.at.step));
                    if before.is_some_and(|before| cfg.reaches(effect.at.step, before)) {
                        return None;
                    }
                    settled.insert(effect.at.step);
                    // Who is given the whole once for each element of something has it even so.
                    if name.kind == Kind::Part {
                        settled.extend(loops_of(cfg, effect.at.step));
                    }
                } else if function.enclosing(held.at.body).any(|around| around == body) {
                    return None;
                }
            }
        }
        names.push(name);
    }
    Some((settled, names.into_iter().map(|name| name.place).collect()))
}

/// The heads of the `range` loops around a step.
fn loops_of(cfg: &Cfg, step: StepId) -> impl Iterator<Item = StepId> {
    let is_around = move |head: &StepId| {
        matches!(cfg.step(*head), Step::Next(_))
            && cfg.dominates(*head, step)
            && cfg.reaches(step, *head)
    };
    cfg.steps().filter(is_around)
}

/// The calls that read to the end of what wraps the thing. One that fails has met an error of the
/// thing itself, which ends it.
fn readers(function: &Function<'_>, held: &Held<'_>, aliases: &[Place]) -> Vec<ExprId> {
    let cfg = &function.body(held.at.body).cfg;
    let reads = |step: StepId| {
        let Step::Call(call) = cfg.step(step) else { return None };
        let args = function.args(call);
        let [only] = args[..] else { return None };
        let at = At { body: held.at.body, step };
        let given = function.places(at, only);
        let wraps = aliases.iter().any(|alias| given.may_be(alias));
        (wraps && is_end(function, held, call)).then_some(call)
    };
    cfg.steps().filter_map(reads).collect()
}

/// Whether what is called is a function that ends the thing when it is given it.
fn is_end(function: &Function<'_>, held: &Held<'_>, call: ExprId) -> bool {
    let Some(name) = function.info.callee(call).qualified(function.index) else { return false };
    held.fact.ends.iter().any(|end| match end {
        End::Function(known) => name.is(known),
        _ => false,
    })
}

/// The calls of functions that end the thing when they are given it, and of methods of what holds
/// it that do.
fn ended_by_function<'h>(
    function: &'h Function<'_>,
    held: &'h Held<'_>,
) -> impl Iterator<Item = StepId> + 'h {
    let (whole, thing) = (held.whole(), held.thing());
    let cfg = &function.body(held.at.body).cfg;
    let file = function.file;
    cfg.steps().filter(move |&step| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return false };
        let at = At { body: held.at.body, step };
        is_end(function, held, call)
            && match file.expr(file.unparen(callee)).kind {
                ExprKind::Selector { base, .. } => {
                    function.places(at, base).may_be(&whole)
                        || args.iter().any(|&arg| function.places(at, arg).may_be(&thing))
                }
                _ => args.iter().any(|&arg| function.places(at, arg).may_be(&thing)),
            }
    })
}

/// The calls of functions of the run that give the thing to a function which ends it, as a helper does that reads a
/// body to its end: on every way but those on which there is none.
fn ended_below<'h>(
    cx: &'h FunctionCx<'_>,
    function: &'h Function<'_>,
    held: &'h Held<'_>,
) -> impl Iterator<Item = StepId> + 'h {
    let (whole, thing) = (held.whole(), held.thing());
    let by_function = held.fact.ends.iter().any(|end| matches!(end, End::Function(_)));
    let cfg = &function.body(held.at.body).cfg;
    cfg.steps().filter(move |_| by_function).filter(move |&step| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let Callee::Func(func) = *function.info.callee(call) else { return false };
        let at = At { body: held.at.body, step };
        (0..).zip(function.args(call)).any(|(index, &arg)| {
            let (given, param) = (function.places(at, arg), Place::root(Root::Param(index)));
            match &held.fact.place.field {
                _ if given.may_be(&thing) => is_ended_in(cx, held, func, &param),
                Some(field) if given.may_be(&whole) => {
                    is_ended_in(cx, held, func, &param.field(Symbol::new(field)))
                }
                _ => false,
            }
        })
    })
}

/// Whether a function gives what it is given to one that ends it, whenever there is something.
fn is_ended_in(cx: &FunctionCx<'_>, held: &Held<'_>, func: FuncId, place: &Place) -> bool {
    let Some(read) = cx.summaries().read(func) else { return false };
    let function = &read.function;
    let cfg = &function.body(BodyId::OWN).cfg;
    let ends = |step: StepId| {
        let Step::Call(call) = cfg.step(step) else { return false };
        let at = At { body: BodyId::OWN, step };
        is_end(function, held, call)
            && function.args(call).iter().any(|&arg| function.places(at, arg).may_be(place))
    };
    let ended: FxHashSet<StepId> = cfg.steps().filter(|&step| ends(step)).collect();
    !ended.is_empty() && !cfg.finds(Start::Entry, (), &mut Without { function, ended })
}

/// Looks for a way out past none of some steps, on which nothing was found nil.
struct Without<'w, 'a> {
    function: &'w Function<'a>,
    ended: FxHashSet<StepId>,
}

impl Walk for Without<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if self.ended.contains(&step) { Passing::Drop } else { Passing::On(()) }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let Some((condition, holds)) = edge.kind.condition() else { return Some(()) };
        let asked = compared_with_nil(self.function.file, &self.function.info, condition);
        let found_nil = asked.is_some_and(|(_, is_set)| is_set != holds);
        (!found_nil).then_some(())
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

/// Whether an act is done to the thing itself, or for a channel to a part of it.
fn is_end_of(effect: &Effect, thing: &Place) -> bool {
    match effect.act {
        Act::Received(_) | Act::Drained => effect.place.is_within(thing),
        _ => effect.place == *thing,
    }
}

/// What a call returns that only wraps what it is given, as `bufio.NewReader` does: whoever has
/// that has the thing, and nobody else.
fn wrapper(cx: &FunctionCx<'_>, function: &Function<'_>, at: At) -> Option<Place> {
    let Step::Call(call) = function.step(at) else { return None };
    let callee = function.info.callee(call);
    let name = callee.qualified(function.index)?;
    let pure = covering::<Pure>(cx.catalog(), cx.versions(), function.index, callee);
    let holds = pure.is_some_and(|pure| pure.holds) || makes_client(function, name, call);
    (holds && name.receiver.is_none()).then(|| Place::root(Root::Call(call, 0)))
}

/// Whether a function makes a generated client of a connection: `func NewGreeterClient(cc grpc.ClientConnInterface)
/// GreeterClient` and nothing else has that name and is given only a connection
/// (google.golang.org/grpc/cmd/protoc-gen-go-grpc).
fn makes_client(function: &Function<'_>, name: QualifiedName, call: ExprId) -> bool {
    let &[given] = function.args(call) else { return false };
    let made = name.name.as_str().strip_prefix("New").and_then(|name| name.strip_suffix("Client"));
    made.is_some_and(|of| !of.is_empty())
        && function
            .info
            .type_of(given)
            .strip_pointer()
            .is_named("google.golang.org/grpc", "ClientConn")
}

fn lost_at(function: &Function<'_>, held: &Held<'_>, path: &Path) -> Lost {
    let file = function.file;
    match path.end {
        PathEnd::Exit(_, Exit::Return(stmt)) => {
            Lost { span: file.stmt(stmt).span, way: Way::Return, last: None }
        }
        PathEnd::Exit(..) => {
            let end = file.stmt(function.body(held.at.body).block).span.end;
            Lost { span: Span::new(end.saturating_sub(1), end), way: Way::End, last: None }
        }
        PathEnd::Step(step) if step != held.at.step => {
            let span = function.body(held.at.body).cfg.step(step).span(file);
            Lost { span, way: Way::Replaced, last: None }
        }
        PathEnd::Step(_) => Lost {
            span: held.span(function),
            way: Way::Again,
            last: last_of_turn(function, held, path),
        },
    }
}

/// The last step of a path that only the turn with the thing comes to: what follows is the loop's
/// own, and the block of the next thing.
fn last_of_turn(function: &Function<'_>, held: &Held<'_>, path: &Path) -> Option<Span> {
    let cfg = &function.body(held.at.body).cfg;
    let own = |step: &StepId| *step != held.at.step && cfg.dominates(held.at.step, *step);
    let blocks = path.edges.iter().rev().skip(1).map(|edge| edge.to);
    let mut steps = blocks.filter_map(|block| cfg.steps_of(block).rfind(own));
    steps.next().map(|step| cfg.step(step).span(function.file))
}

/// What an expression is of what a call gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// The thing, or the result that holds it.
    Thing,
    /// Another result: an error, or whether there is one.
    Other,
}

struct Walking<'w, 'a> {
    function: &'w Function<'a>,
    held: &'w Held<'w>,
    /// The step that makes another thing, in the body that is walked.
    again: Option<StepId>,
    settled: FxHashSet<StepId>,
    replaced: FxHashSet<StepId>,
    readers: Vec<ExprId>,
    absent: &'w dyn Fn(Test) -> bool,
}

impl Walk for Walking<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if self.again == Some(step) || self.replaced.contains(&step) {
            return Passing::Found;
        }
        if self.settled.contains(&step) {
            return Passing::Drop;
        }
        Passing::On(())
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let goes_on = match edge.kind {
            EdgeKind::True(condition) => self.may_be(condition, true),
            EdgeKind::False(condition) => self.may_be(condition, false),
            EdgeKind::Case(stmt, clause) => {
                !self.switches_on_result(stmt) && !self.is_absent_in(stmt, clause)
            }
            EdgeKind::NoCase(stmt) => !self.switches_on_result(stmt),
            _ => true,
        };
        goes_on.then_some(())
    }

    fn exit(&mut self, (): &(), exit: Exit) -> bool {
        matches!(exit, Exit::Return(_) | Exit::End)
    }
}

impl Walking<'_, '_> {
    /// Whether the thing may be there, unended, where a condition has this value.
    fn may_be(&self, condition: ExprId, value: bool) -> bool {
        let file = self.function.file;
        let condition = file.unparen(condition);
        if (self.absent)(Test::Is(condition, value)) {
            return false;
        }
        match file.expr(condition).kind {
            ExprKind::Binary { op: op @ (BinaryOp::Eq | BinaryOp::Ne), left, right, .. } => {
                let equal = (op == BinaryOp::Eq) == value;
                for (one, other) in [(left, right), (right, left)] {
                    if matches!(self.function.info.resolve(file.unparen(other)), Def::Nil) {
                        if !equal && self.is_failed_read(condition, one) {
                            return false;
                        }
                        return match self.part_in(condition, one) {
                            Some(Part::Thing) => !equal,
                            Some(Part::Other) => equal,
                            None => true,
                        };
                    }
                }
                !self.speaks_of_error(condition)
            }
            // `ok` of a call that gives a thing and whether there is one.
            ExprKind::Ident(_) => value || self.part_in(condition, condition).is_none(),
            ExprKind::Call { callee, .. } => {
                let of_thing = match file.expr(file.unparen(callee)).kind {
                    ExprKind::Selector { base, .. } => {
                        self.part_in(condition, base) == Some(Part::Thing)
                    }
                    _ => false,
                };
                // `rows.Next()` that finds no more has ended them; `errors.Is(err, ...)` that
                // holds says that there was an error.
                (value || !of_thing) && (!value || !self.speaks_of_error(condition))
            }
            _ => !self.speaks_of_error(condition),
        }
    }

    /// What an expression may be of what the call gives.
    fn part_in(&self, condition: ExprId, expr: ExprId) -> Option<Part> {
        let cfg = &self.function.body(self.held.at.body).cfg;
        let step = cfg.step_of_expr(condition)?;
        let places = self.function.places(At { body: self.held.at.body, step }, expr);
        let (whole, thing) = (self.held.whole(), self.held.thing());
        places.list.iter().find_map(|place| match place.root {
            _ if *place == whole || *place == thing => Some(Part::Thing),
            Root::Call(call, _) if call == self.held.call && *place != whole => {
                (!place.is_within(&whole)).then_some(Part::Other)
            }
            _ => None,
        })
    }

    /// Whether an expression is the error of a call that reads what wraps the thing, and nothing else, or of one
    /// that never fails.
    fn is_failed_read(&self, condition: ExprId, error: ExprId) -> bool {
        let cfg = &self.function.body(self.held.at.body).cfg;
        let Some(step) = cfg.step_of_expr(condition) else { return false };
        let places = self.function.places(At { body: self.held.at.body, step }, error);
        places.only().is_some_and(|place| match place.root {
            Root::Call(call, 1) => {
                place.path.is_empty() && (self.readers.contains(&call) || self.never_fails(call))
            }
            _ => false,
        })
    }

    /// Whether a call parses what a URL has written: that was parsed before.
    fn never_fails(&self, call: ExprId) -> bool {
        let (file, info) = (self.function.file, &self.function.info);
        let is_url = |value: &ExprId| match file.expr(file.unparen(*value)).kind {
            ExprKind::Call { callee, .. } => match file.expr(file.unparen(callee)).kind {
                ExprKind::Selector { base, name } => {
                    name.name.as_str() == "String"
                        && info.type_of(base).strip_pointer().is_named("net/url", "URL")
                }
                _ => false,
            },
            _ => false,
        };
        let callee = info.callee(call).qualified(self.function.index);
        callee.is_some_and(|name| {
            name.path.as_str() == "net/url"
                && name.name.as_str() == "Parse"
                && self.function.args(call).first().is_some_and(is_url)
        })
    }

    /// Whether a condition names a result of the call other than the thing.
    fn speaks_of_error(&self, condition: ExprId) -> bool {
        let file = self.function.file;
        file.descendants(Node::Expr(condition)).any(|node| match node {
            Node::Expr(expr) => {
                matches!(file.expr(expr).kind, ExprKind::Ident(_))
                    && self.part_in(condition, expr) == Some(Part::Other)
            }
            _ => false,
        })
    }

    /// Whether each value of a clause of a `switch` says that there is no thing.
    fn is_absent_in(&self, stmt: StmtId, clause: u32) -> bool {
        let StmtKind::Switch { tag: Some(tag), ref cases, .. } = self.function.file.stmt(stmt).kind
        else {
            return false;
        };
        let values = cases.get(clause as usize).and_then(|clause| clause.values.as_deref());
        values.is_some_and(|values| {
            values.iter().all(|&value| (self.absent)(Test::Equal(tag, value)))
        })
    }

    fn switches_on_result(&self, stmt: StmtId) -> bool {
        match self.function.file.stmt(stmt).kind {
            StmtKind::Switch { tag: Some(tag), .. } => self.speaks_of_error(tag),
            StmtKind::TypeSwitch { subject, .. } => self.speaks_of_error(subject),
            _ => false,
        }
    }
}
