//! The effects of each body of a function, from its steps and from the summaries of what it calls.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::catalog::{Access, Base, Catalog, Copying, Depth, Pure, Versions};
use crate::flow::{BlockId, EdgeKind, Step};
use crate::index::{Builtin, Callee, Def, FuncId, Type};
use crate::summary::Summary;
use crate::summary::arguments::Arguments;
use crate::summary::effect::{Act, Deed, Effect, Guard, Mode};
use crate::summary::function::{At, BodyId, Function};
use crate::summary::place::{Place, Places, Root};
use crate::summary::spawns::Spawn;
use crate::syntax::{ExprId, ExprKind, StmtId, StmtKind, Symbol};

/// What is known beside the function itself.
pub(super) struct Surroundings<'s> {
    /// What libraries do.
    pub catalog: &'s Catalog,
    /// The versions for which the catalog is asked.
    pub versions: &'s dyn Versions,
    /// The summaries of other functions; of one that calls back into this one, as far as it is
    /// known yet.
    pub known: &'s dyn Fn(FuncId) -> Option<Arc<Summary>>,
}

/// The effects of one body.
#[derive(Clone, Debug, Default)]
pub struct BodyEffects {
    /// In order of steps.
    pub effects: Vec<Effect>,
    /// The same as whoever runs the body sees it, sorted.
    pub deeds: Vec<Deed>,
    /// The `go` statements, in order of steps.
    pub spawns: Vec<Spawn>,
    /// What a literal uses of the function around it.
    captures: Vec<Place>,
}

/// The effects of all bodies of a function, by their numbers.
pub(super) fn extract(function: &Function<'_>, around: &Surroundings<'_>) -> Vec<BodyEffects> {
    let mut extractor = Extractor {
        function,
        around,
        done: function.bodies().map(|_| BodyEffects::default()).collect(),
        guards: FxHashMap::default(),
        found: Vec::new(),
        escaping: FxHashSet::default(),
    };
    // A literal stands after the body that makes it, so its effects are there when it is needed.
    for body in function.bodies().rev() {
        extractor.body(body);
    }
    extractor.done
}

struct Extractor<'e, 'a> {
    function: &'e Function<'a>,
    around: &'e Surroundings<'e>,
    done: Vec<BodyEffects>,
    /// For each communication of a `select`, what stands beside it.
    guards: FxHashMap<StmtId, Guard>,
    found: Vec<Effect>,
    /// Literals that have been handed on at the present step, so that a ring of literals ends.
    escaping: FxHashSet<ExprId>,
}

/// Drops what a step does more than once, but for the first time.
fn keep_first(effects: &mut Vec<Effect>) {
    let mut is_first: Vec<bool> = Vec::with_capacity(effects.len());
    let mut seen = FxHashSet::default();
    for of_step in effects.chunk_by(|one, other| one.at == other.at) {
        match of_step {
            [_] => is_first.push(true),
            _ => {
                for it in of_step {
                    is_first.push(seen.insert((&it.place, it.act, it.mode)));
                }
                seen.clear();
            }
        }
    }
    let mut is_first = is_first.into_iter();
    effects.retain(|_| is_first.next() == Some(true));
}

/// Whether nothing of it is done unless the caller does something with the result.
fn is_by_result(deed: &Deed) -> bool {
    deed.mode == Mode::ByResult || matches!(deed.act, Act::Returned(_))
}

impl Extractor<'_, '_> {
    fn body(&mut self, body: BodyId) {
        for step in self.function.body(body).cfg.steps() {
            self.escaping.clear();
            self.step(At { body, step });
        }
        let mut effects = std::mem::take(&mut self.found);
        let spawns = super::spawns::find(self.function, body, &mut effects);
        keep_first(&mut effects);
        let told = self.without_wrapped(&effects);
        let deeds = super::always::deeds(self.function, body, told.as_deref().unwrap_or(&effects));
        let captures = self.captures(body);
        self.done[body.0 as usize] = BodyEffects { effects, deeds, spawns, captures };
    }

    /// The effects as callers see them: what is given to something that only wraps it, like
    /// `json.NewDecoder`, is nobody else's afterwards where the body keeps the wrapper to itself. `None`
    /// where there is nothing like that.
    fn without_wrapped(&self, effects: &[Effect]) -> Option<Vec<Effect>> {
        let is_kept = |wrapper: ExprId| {
            effects.iter().all(|effect| {
                effect.place.root != Root::Call(wrapper, 0)
                    || !effect.act.escapes() && effect.act != Act::Method(Symbol::new("Close"))
            })
        };
        let is_wrapped = |effect: &Effect| {
            effect.act == Act::Passed
                && matches!(self.function.step(effect.at), Step::Call(call)
                    if self.wraps(call) && is_kept(call))
        };
        effects
            .iter()
            .any(is_wrapped)
            .then(|| effects.iter().filter(|effect| !is_wrapped(effect)).cloned().collect())
    }

    fn wraps(&self, call: ExprId) -> bool {
        let Surroundings { catalog, versions, .. } = *self.around;
        let (index, callee) = (self.function.index, self.function.info.callee(call));
        let is_method = || callee.qualified(index).is_none_or(|name| name.receiver.is_some());
        super::calls::covering::<Pure>(catalog, versions, index, callee)
            .is_some_and(|pure| pure.holds && !is_method())
    }

    fn step(&mut self, at: At) {
        let function = self.function;
        let file = function.file;
        let step = function.step(at);
        let called = step.call(file).and_then(|call| match file.expr(call).kind {
            ExprKind::Call { callee, .. } => Some(file.unparen(callee)),
            _ => None,
        });
        step.for_each_operand(file, &mut |expr| {
            if let ExprKind::CompositeLit { elements, .. } = &file.expr(expr).kind {
                for element in elements {
                    self.value(at, element.value, Act::Stored);
                }
            }
            self.field(at, expr);
            if Some(expr) != called && !self.is_idle(step, expr) {
                self.method_value(at, expr);
            }
        });
        match step {
            Step::Call(call) => self.call(at, call, Mode::Now),
            Step::Go(stmt) | Step::Defer(stmt) => {
                let mode = if matches!(step, Step::Go(_)) { Mode::Spawned } else { Mode::Deferred };
                if let Some(call) = super::BodyFlow::statement_call(file, stmt) {
                    self.call(at, call, mode);
                }
            }
            Step::Recv(_) => self.channel(at, step.received_from(file), Act::Received(Guard::Bare)),
            Step::Send(stmt) => {
                if let StmtKind::Send { channel, value } = file.stmt(stmt).kind {
                    self.channel(at, Some(channel), Act::SentTo(Guard::Bare));
                    self.value(at, value, Act::Sent);
                }
            }
            Step::Select(stmt) => self.select(stmt),
            Step::Comm(stmt) => {
                let guard = self.guards.get(&stmt).copied().unwrap_or(Guard::Bare);
                self.channel(at, step.sent_on(file), Act::SentTo(guard));
                self.channel(at, step.received_from(file), Act::Received(guard));
                if let StmtKind::Send { value, .. } = file.stmt(stmt).kind {
                    self.value(at, value, Act::Sent);
                }
            }
            Step::Next(stmt) => self.range(at, stmt),
            Step::Assign(stmt) => {
                if let StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right } =
                    &file.stmt(stmt).kind
                {
                    self.assign(at, left, right);
                }
            }
            Step::Return(stmt) => {
                if let StmtKind::Return(values) = &file.stmt(stmt).kind {
                    self.returned(at, values);
                }
            }
            Step::FuncLit(_)
            | Step::Eval(_)
            | Step::Declare(_)
            | Step::Bind(_)
            | Step::Missing(_) => {}
        }
    }

    /// `x.m` without a call: whoever gets the value can call the method.
    fn method_value(&mut self, at: At, expr: ExprId) {
        let ExprKind::Selector { base, .. } = self.function.file.expr(expr).kind else { return };
        let is_bound = match self.function.info.resolve(expr) {
            Def::Method(_, selection) | Def::InterfaceMethod(selection) => !selection.expression,
            // Whether it is a field is told by its type, or by the catalog.
            Def::External(name) => {
                name.receiver.is_some()
                    && matches!(self.function.info.type_of(expr), Type::Func(_) | Type::Unknown)
                    && super::calls::named(self.around.catalog, *name)
                        .of::<Access>()
                        .next()
                        .is_none()
            }
            _ => false,
        };
        if is_bound {
            let mut places = self.function.object_places(at, base);
            places.unknown = true;
            self.emit_with(at, &places, Act::Captured, Mode::Later, false);
        }
    }

    /// Whether a method value is an argument of a `go` or `defer` statement that only its result could call:
    /// `defer capture(&err, f.Close)` for `defer capture(&err, f.Close)()`.
    fn is_idle(&self, step: Step, expr: ExprId) -> bool {
        let (Step::Go(stmt) | Step::Defer(stmt)) = step else { return false };
        let file = self.function.file;
        let Some(call) = super::BodyFlow::statement_call(file, stmt) else { return false };
        let ExprKind::Call { callee, ref args, .. } = file.expr(call).kind else { return false };
        let Callee::Func(func) = *self.function.info.callee(call) else { return false };
        let given = args.iter().position(|&arg| file.unparen(arg) == expr);
        let is_single = !matches!(self.function.info.type_of(file.unparen(callee)),
            Type::Func(signature) if signature.variadic);
        let Some(given) = given.filter(|_| is_single) else { return false };
        (self.around.known)(func).is_some_and(|summary| {
            let mut deeds =
                summary.deeds.iter().filter(|deed| deed.place.root == Root::Param(given as u32));
            deeds.all(is_by_result)
        })
    }

    /// A field that several sides may share is used.
    fn field(&mut self, at: At, expr: ExprId) {
        let ExprKind::Selector { base, .. } = self.function.file.expr(expr).kind else { return };
        let name = match self.function.info.resolve(expr) {
            Def::Field(selection) => selection.qualified(),
            Def::External(name) => Some(*name),
            _ => None,
        };
        let Some(name) = name else { return };
        let facts = super::calls::named(self.around.catalog, name);
        for access in facts.all_in_force::<Access>(self.around.versions) {
            let places = self.function.object_places(at, base);
            self.emit_all(at, &places, Act::Touched(access.part, access.effect));
        }
    }

    /// What the catalog says that a call reads and writes of what it is given.
    fn touches(&mut self, at: At, callee: &Callee, arguments: &Arguments, mode: Mode) {
        let facts = super::calls::facts(self.around.catalog, self.function.index, callee);
        for access in facts.all_in_force::<Access>(self.around.versions) {
            let places = match access.of.base {
                Base::Receiver => arguments.receiver.as_ref().map(Cow::Borrowed),
                Base::Param(index) => arguments.param(index),
                Base::Result(_) => None,
            };
            if let Some(places) = places {
                let act = Act::Touched(access.part, access.effect);
                self.emit_with(at, &places, act, mode, true);
            }
        }
    }

    /// What `place` shares its parts with: a shallow copy of a request has the header map of the
    /// original.
    fn original(&self, place: &Place) -> Option<Places> {
        let Root::Call(call, 0) = place.root else { return None };
        let facts = super::calls::facts(
            self.around.catalog,
            self.function.index,
            self.function.info.callee(call),
        );
        let copy = facts.in_force::<Copying>(self.around.versions)?;
        let of = super::context::operand(self.function, call, copy.of.base)?;
        if copy.depth != Depth::Shallow || !place.path.is_empty() {
            return None;
        }
        Some(self.function.object_places(self.function.at_call(call)?, of))
    }

    fn select(&mut self, stmt: StmtId) {
        let StmtKind::Select(clauses) = &self.function.file.stmt(stmt).kind else { return };
        let guard = match clauses.len() {
            _ if clauses.iter().any(|clause| clause.comm.is_none()) => Guard::Default,
            1 => Guard::Bare,
            _ => Guard::Arms,
        };
        let comms = clauses.iter().filter_map(|clause| clause.comm);
        self.guards.extend(comms.map(|comm| (comm, guard)));
    }

    fn range(&mut self, at: At, stmt: StmtId) {
        let StmtKind::Range { subject, .. } = self.function.file.stmt(stmt).kind else { return };
        let ty = self.function.index.underlying(self.function.info.type_of(subject));
        if !matches!(ty, Type::Chan(..) | Type::Func(_) | Type::Unknown) {
            return;
        }
        if matches!(ty, Type::Chan(..)) {
            self.channel(at, Some(subject), Act::Received(Guard::Bare));
        }
        if self.runs_to_its_end(at) {
            self.channel(at, Some(subject), Act::Drained);
        }
    }

    /// Whether the loop of a [`Step::Next`] is left only when there is no more.
    fn runs_to_its_end(&self, at: At) -> bool {
        let cfg = &self.function.body(at.body).cfg;
        let head = cfg.block_of(at.step);
        let target = |wanted: fn(&EdgeKind) -> bool| {
            cfg.edges_of(head).iter().find(|edge| wanted(&edge.kind)).map(|edge| edge.to)
        };
        let after = target(|kind| matches!(kind, EdgeKind::Done(_)));
        let Some(first) = target(|kind| matches!(kind, EdgeKind::More(_))) else { return false };
        let mut seen = FxHashSet::from_iter([head]);
        let mut open: Vec<BlockId> = vec![first];
        while let Some(block) = open.pop() {
            if !seen.insert(block) {
                continue;
            }
            if Some(block) == after || cfg.exit_of(block).is_some() {
                return false;
            }
            open.extend(cfg.edges_of(block).iter().map(|edge| edge.to));
        }
        true
    }

    fn assign(&mut self, at: At, left: &[ExprId], right: &[ExprId]) {
        for (place, &target) in left.iter().enumerate() {
            let own = self.function.variable(target).map(|local| self.function.owner(local));
            let blank = matches!(self.function.info.resolve(target), Def::Blank);
            if own == Some(Some(at.body)) || blank {
                continue;
            }
            if left.len() == right.len() {
                self.value(at, right[place], Act::Stored);
            } else if let [call] = right[..]
                && matches!(self.function.file.expr(call).kind, ExprKind::Call { .. })
            {
                self.emit(at, Place::root(Root::Call(call, place as u32)), Act::Stored, true);
            }
        }
    }

    fn returned(&mut self, at: At, values: &[ExprId]) {
        if let [call] = values[..]
            && let Type::Tuple(results) = self.function.info.type_of(call)
        {
            for result in 0..results.len() as u32 {
                let place = Place::root(Root::Call(self.function.file.unparen(call), result));
                self.emit(at, place, Act::Returned(result), true);
            }
            return;
        }
        for (result, &value) in values.iter().enumerate() {
            self.value(at, value, Act::Returned(result as u32));
        }
        if values.is_empty() {
            for result in 0..self.function.info.locals().len() as u32 {
                let local = crate::index::LocalId(result);
                let known = self.function.info.local(local);
                if let crate::index::LocalKind::Result(result) = known.kind
                    && self.function.owner(local) == Some(at.body)
                {
                    let places = self.function.places_of_local(at, local);
                    self.emit_all(at, &places, Act::Returned(result));
                }
            }
        }
    }

    /// An act on the value of an expression.
    fn value(&mut self, at: At, expr: ExprId, act: Act) {
        if self.function.is_plain(expr) {
            return;
        }
        let places = self.function.places(at, expr);
        self.emit_all(at, &places, act);
    }

    /// An act on a channel. What is done to `x.C()` is also done to the part `C()` of `x`, since
    /// that is what a caller knows.
    fn channel(&mut self, at: At, channel: Option<ExprId>, act: Act) {
        let Some(channel) = channel else { return };
        let places = self.function.places(at, channel);
        for place in &places.list {
            if let Root::Call(call, 0) = place.root
                && let Some(owner) = self.function.accessor(at, call)
            {
                self.emit_all(at, &owner, act);
            }
        }
        self.emit_all(at, &places, act);
    }

    fn call(&mut self, at: At, call: ExprId, mode: Mode) {
        let function = self.function;
        let ExprKind::Call { callee, ref args, .. } = function.file.expr(call).kind else { return };
        let arguments = Arguments::of(function, at, callee, args);
        let callee_expr = function.file.unparen(callee);
        if let ExprKind::Selector { name, .. } = function.file.expr(callee_expr).kind {
            let embedded = arguments.receiver.as_ref().filter(|_| arguments.is_promoted());
            for places in arguments.object.iter().chain(embedded) {
                self.emit_with(at, places, Act::Method(name.name), mode, true);
            }
        }
        self.touches(at, function.info.callee(call), &arguments, mode);
        match function.info.callee(call) {
            Callee::Conversion(_) => {}
            Callee::Builtin(builtin) => self.builtin(at, *builtin, &arguments, mode),
            Callee::Literal(literal) => {
                self.run_literal(at, *literal, Some(&arguments), mode, true);
            }
            Callee::Value(value) => {
                let places = function.places(at, *value);
                self.emit_with(at, &places, Act::Called, mode, true);
                let sure = places.only().is_some();
                let mut all_known = !places.unknown && !places.list.is_empty();
                for place in &places.list {
                    match self.literal_at(place) {
                        Some(literal) => {
                            self.run_literal(at, literal, Some(&arguments), mode, sure);
                        }
                        None => all_known = false,
                    }
                }
                if !all_known {
                    self.pass_on(at, &arguments, mode);
                }
            }
            known => {
                let summary = match known {
                    Callee::Func(func) => (self.around.known)(*func),
                    _ => None,
                };
                match summary {
                    // Nobody gets what a `go` or `defer` statement calls for.
                    Some(summary) if !matches!(function.step(at), Step::Call(_)) => {
                        let done = summary.deeds.iter().filter(|deed| !is_by_result(deed));
                        self.apply(at, done, &arguments, mode);
                    }
                    Some(summary) => self.apply(at, &summary.deeds, &arguments, mode),
                    None => self.unknown_call(at, known, &arguments, mode),
                }
            }
        }
    }

    fn builtin(&mut self, at: At, builtin: Builtin, arguments: &Arguments, mode: Mode) {
        match (builtin, &arguments.params[..]) {
            (Builtin::Close, [channel]) => {
                self.emit_with(at, channel, Act::Closed, mode, true);
            }
            (Builtin::Append, [_, added @ ..]) => {
                for places in added {
                    self.emit_with(at, places, Act::Stored, mode, true);
                }
            }
            (Builtin::Panic, [value]) => {
                self.emit_with(at, value, Act::Passed, mode, true);
            }
            _ => {}
        }
    }

    /// What the summary of a called function says about its parameters is done to the arguments.
    fn apply<'d>(
        &mut self,
        at: At,
        deeds: impl IntoIterator<Item = &'d Deed>,
        arguments: &Arguments,
        mode: Mode,
    ) {
        for deed in deeds {
            let places = match deed.place.root {
                Root::Receiver => arguments.receiver.as_ref().map(Cow::Borrowed),
                Root::Param(index) => arguments.param(index),
                root @ Root::Global(_) => Some(Cow::Owned(Places::from(Place::root(root)))),
                _ => None,
            };
            let Some(places) = places else { continue };
            let mode = match mode.around(deed.mode) {
                // The result is in hands of which nothing is known.
                Mode::ByResult => Mode::Later,
                mode => mode,
            };
            self.emit_parts(
                at,
                &places,
                &deed.place.path,
                deed.act.for_caller(),
                mode,
                deed.always,
            );
            if deed.act == Act::Called {
                let sure = deed.always && places.only().is_some();
                for literal in self.literals(&places, &deed.place.path) {
                    self.run_literal(at, literal, None, mode, sure);
                }
            }
        }
    }

    /// A call of which only the catalog may know something.
    fn unknown_call(&mut self, at: At, callee: &Callee, arguments: &Arguments, mode: Mode) {
        use crate::catalog::Called;
        let facts = super::calls::facts(self.around.catalog, self.function.index, callee);
        for (index, called) in super::calls::callbacks(facts, self.around.versions) {
            let (run, sure) = match called {
                Called::Before | Called::Once => (Mode::Now, false),
                Called::Goroutine => (Mode::Spawned, true),
                Called::Later | Called::Request | Called::Cleanup => (Mode::Later, false),
            };
            let Some(places) = arguments.params.get(index as usize) else { continue };
            for literal in self.literals(places, &[]) {
                self.run_literal(at, literal, None, mode.around(run), sure);
            }
        }
        let (catalog, versions) = (self.around.catalog, self.around.versions);
        if !super::calls::keeps_nothing(catalog, versions, self.function.index, callee) {
            self.pass_on(at, arguments, mode);
        }
    }

    fn pass_on(&mut self, at: At, arguments: &Arguments, mode: Mode) {
        for places in &arguments.params {
            self.emit_with(at, places, Act::Passed, mode, true);
        }
    }

    fn emit_all(&mut self, at: At, places: &Places, act: Act) {
        self.emit_with(at, places, act, Mode::Now, true);
    }

    fn emit(&mut self, at: At, place: Place, act: Act, sure: bool) {
        let places = Places::from(place);
        self.emit_with(at, &places, act, Mode::Now, sure);
    }

    fn emit_with(&mut self, at: At, places: &Places, act: Act, mode: Mode, sure: bool) {
        self.emit_parts(at, places, &[], act, mode, sure);
    }

    /// An act on the part `path` of what stands at `places`.
    fn emit_parts(
        &mut self,
        at: At,
        places: &Places,
        path: &[Symbol],
        act: Act,
        mode: Mode,
        sure: bool,
    ) {
        let part_of = |place: &Place| {
            let mut place = place.clone();
            place.path.extend(path);
            place
        };
        let is_only = places.only().is_some();
        let mut given = places.list.iter().map(|place| (part_of(place), sure && is_only));
        // What a place leads to comes before the next one that is given.
        let mut open: Vec<(Place, bool)> = Vec::new();
        // A request that a loop derives from itself is its own original.
        let mut copied: Vec<Place> = Vec::new();
        while let Some((mut place, sure)) = open.pop().or_else(|| given.next()) {
            if place.path.is_too_long() {
                // Something is done to a part of a thing that has no name here.
                place.path = place.path.shortened();
                self.found.push(Effect { at, place, act: Act::Passed, mode, sure: false });
                continue;
            }
            self.found.push(Effect { at, place: place.clone(), act, mode, sure });
            if act.escapes()
                && let Some(literal) = self.literal_at(&place)
            {
                let mode = match act {
                    Act::Returned(_) => Mode::ByResult,
                    _ => Mode::Later,
                };
                self.run_literal(at, literal, None, mode, false);
            }
            open.extend(self.collections(at, &place).map(|place| (place, false)));
            if matches!(act, Act::Touched(..) | Act::Captured | Act::Passed)
                && !copied.contains(&place)
                && let Some(original) = self.original(&place)
            {
                let is_only = original.only().is_some();
                open.extend(original.list.into_iter().rev().map(|place| (place, sure && is_only)));
                copied.push(place);
            }
        }
    }

    /// What a function was given of which a place is an element: what is done to it is done to one of those
    /// that the caller gave.
    fn collections(&self, at: At, place: &Place) -> impl Iterator<Item = Place> {
        let path = place.path;
        let subject = match place.root {
            Root::Element(stmt) => match self.function.file.stmt(stmt).kind {
                StmtKind::Range { subject, .. } => Some(subject),
                _ => None,
            },
            _ => None,
        };
        let places = subject.map(|subject| self.function.places(at, subject)).unwrap_or_default();
        let given = |place: &Place| matches!(place.root, Root::Param(_)) && place.path.is_empty();
        places.list.into_iter().filter(given).map(move |mut place| {
            place.path.extend(&path);
            place
        })
    }

    fn literals(&self, places: &Places, path: &[Symbol]) -> Vec<ExprId> {
        let whole = if path.is_empty() { &places.list[..] } else { &[] };
        whole.iter().filter_map(|place| self.literal_at(place)).collect()
    }

    fn literal_at(&self, place: &Place) -> Option<ExprId> {
        match place.root {
            Root::Made(literal) if place.path.is_empty() => {
                self.function.body_of_literal(literal).map(|_| literal)
            }
            _ => None,
        }
    }

    /// A literal runs, with arguments if they are known: what it does is done here.
    fn run_literal(
        &mut self,
        at: At,
        literal: ExprId,
        arguments: Option<&Arguments>,
        mode: Mode,
        sure: bool,
    ) {
        let Some(body) = self.function.body_of_literal(literal) else { return };
        if !self.escaping.insert(literal) && mode.is_later() {
            return;
        }
        let done = &self.done[body.0 as usize];
        let (deeds, captures) = (done.deeds.clone(), done.captures.clone());
        for deed in deeds {
            let mode = mode.around(deed.mode);
            let (act, sure) = (deed.act.for_caller(), sure && deed.always);
            match deed.place.root {
                Root::LiteralParam(of, index) if of == literal => {
                    if let Some(given) = arguments.and_then(|arguments| arguments.param(index)) {
                        self.emit_parts(at, &given, &deed.place.path, act, mode, sure);
                    }
                }
                _ => self.emit_with(at, &Places::from(deed.place), act, mode, sure),
            }
        }
        if mode >= Mode::Spawned {
            let places = Places { list: captures, unknown: true };
            self.emit_with(at, &places, Act::Captured, mode, false);
        }
    }

    /// What a literal uses of the bodies around it.
    fn captures(&self, body: BodyId) -> Vec<Place> {
        let function = self.function;
        if function.body(body).literal.is_none() {
            return Vec::new();
        }
        let cfg = &function.body(body).cfg;
        let mut captures = Vec::new();
        for step in cfg.steps() {
            cfg.step(step).for_each_operand(function.file, &mut |expr| {
                let Some(local) = function.variable(expr) else { return };
                if function.owner(local).is_none_or(|owner| owner >= body)
                    || self.function.is_plain(expr)
                {
                    return;
                }
                for place in function.places(At { body, step }, expr).list {
                    if !captures.contains(&place) {
                        captures.push(place);
                    }
                }
            });
        }
        // What an inner literal uses, this one uses too.
        for inner in function.bodies().filter(|&inner| inner > body) {
            let made = function.body(inner).made;
            if made.is_some_and(|made| made.body == body) {
                for place in &self.done[inner.0 as usize].captures {
                    if !captures.contains(place) {
                        captures.push(place.clone());
                    }
                }
            }
        }
        captures
    }
}
