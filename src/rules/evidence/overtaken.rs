//! A `Wait` in one goroutine that may come before an `Add` in another, where one of them has started the other.
//!
//! "Calls with a positive delta that occur when the counter is zero must happen before a Wait"
//! (<https://pkg.go.dev/sync#WaitGroup.Add>). Evidence, in one function and what it calls:
//!
//! * It starts the goroutine that waits for the group, and adds to it afterwards; it has added nothing before, and
//!   takes no lock for the `Add`. The goroutine, a method that nobody else runs, comes to its `Wait` as soon as it
//!   has received an error, without waiting for anything else.
//! * It starts a goroutine that adds to the group whatever is decided, and waits for the group afterwards without
//!   having received anything.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{FuncId, LocalId, Type};
use crate::rules::evidence::counts_itself::{hears, starts_of};
use crate::rules::evidence::traffic::received_from;
use crate::rules::evidence::{confidence, first_line, wait_group};
use crate::rules::scene::{Scene, counts_where, holds_any, may_start_goroutines, outside_tests};
use crate::rules::{FunctionCx, PackageCx};
use crate::source::Location;
use crate::summary::{Act, BodyId, Effect, Function, Mode, Place, Root};
use crate::syntax::{ExprId, ExprKind, Node, Symbol};

/// Reports the waits that an `Add` of another goroutine may come after.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if counts_where(package, &[".Wait()"]) && outside_tests(package, &[".Add("]).next().is_some() {
        for scene in outside_tests(package, &[".Wait()"]).filter_map(Scene::new) {
            let calls = scene.nodes.iter().filter_map(|&node| match node {
                Node::Expr(call) => Wait::of(&scene, call),
                _ => None,
            });
            findings.extend(calls.filter_map(|wait| wait.overtaken()));
        }
    }
    let funcs = package.index.package(package.package).funcs.iter();
    for func in funcs.filter(|func| package.counts_in(func)) {
        let cx = FunctionCx { package: *package, func: func.id };
        // What adds where it is started is told of by another form.
        if may_start_goroutines(&cx) && !holds_any(&cx, &[".Add("]) {
            findings.extend(added_elsewhere(cx));
        }
    }
}

/// A method's wait for a group of its receiver.
struct Wait<'s, 'a> {
    scene: &'s Scene<'a>,
    call: ExprId,
    /// The call in the method's own body that comes to it: itself, or that of a deferred literal.
    outer: ExprId,
    deferred: bool,
    field: Symbol,
}

impl<'s, 'a> Wait<'s, 'a> {
    fn of(scene: &'s Scene<'a>, call: ExprId) -> Option<Wait<'s, 'a>> {
        let base = wait_group::of_call(scene, call, "Wait")?;
        if !scene.is_of_receiver(base) {
            return None;
        }
        let (_, field) = scene.selector(scene.file.unparen(base))?;
        let outer = match scene.literal_around(Node::Expr(call)) {
            None => call,
            Some(literal) => match scene.parent(Node::Expr(literal)) {
                Some(Node::Expr(around)) if scene.is_deferred(around) => around,
                _ => return None,
            },
        };
        let own = scene.literal_around(Node::Expr(outer)).is_none();
        let deferred = scene.is_deferred(outer);
        own.then_some(Wait { scene, call, outer, deferred, field: field.name })
    }

    /// The finding, if whoever starts the method adds to the group afterwards.
    fn overtaken(&self) -> Option<Finding> {
        let starts = starts_of(self.scene)?;
        let failed = self.comes_with_an_error()?;
        let uses = self.scene.cx.package.uses();
        let starters = starts.iter().map(|(starter, _)| starter.cx.func);
        let callers = starters.clone().flat_map(|starter| {
            uses.calls.get(&starter).into_iter().flatten().map(|&(func, _)| func)
        });
        starters.chain(callers).find_map(|func| self.added_late(func, failed))
    }

    /// Where the method receives the error with which it comes to its wait, if it waits for nothing else before.
    fn comes_with_an_error(&self) -> Option<StepId> {
        let scene = self.scene;
        let (cfg, read) = (scene.graph(None)?, scene.cx.summaries().read(scene.cx.func)?);
        let waits = read.waits(BodyId::OWN);
        let mut walk = Failing {
            scene,
            cfg: &cfg,
            wait: cfg.step_of_expr(self.outer)?,
            deferred: self.deferred,
            waits: &|step| waits.iter().any(|(at, _)| at.step == step),
        };
        let paths = cfg.search(Start::Entry, Known::default(), &mut walk);
        let path = paths.first()?;
        path.state.failed
    }

    fn added_late(&self, func: FuncId, failed: StepId) -> Option<Finding> {
        let starter = Scene::new(FunctionCx { func, ..self.scene.cx })?;
        let read = starter.cx.summaries().read(func)?;
        let cfg = &read.function.body(BodyId::OWN).cfg;
        let effects = &read.effects(BodyId::OWN).effects;
        let is_group = |effect: &&Effect| effect.place.path.last() == Some(&self.field);
        let starts = effects.iter().filter(is_group);
        let mut starts = starts.filter(|it| is_call(it, "Wait") && it.mode == Mode::Spawned);
        starts.find_map(|start| {
            let adds = || effects.iter().filter(|it| it.place == start.place && is_call(it, "Add"));
            let is_before =
                |add: &Effect| add.at == start.at || cfg.reaches(add.at.step, start.at.step);
            if adds().any(is_before) {
                return None;
            }
            let is_told = |step: StepId| hears(&starter, cfg, step);
            let late = adds().find(|add| {
                add.mode == Mode::Now
                    && add.sure
                    && !read.effects_at(add.at).any(is_lock)
                    && cfg.reaches_without(start.at.step, add.at.step, &is_told)
            })?;
            Some(self.tell(&starter, cfg, start, late, failed))
        })
    }

    fn tell(
        &self,
        starter: &Scene<'_>,
        cfg: &Cfg,
        start: &Effect,
        add: &Effect,
        failed: StepId,
    ) -> Finding {
        let scene = self.scene;
        let name = scene.method_call(self.call).map(|(base, _)| scene.text(base));
        let name = name.unwrap_or_default();
        let message = format!(
            "this `Wait` may come before `{}` counts up `{name}`: it does not wait for what is started then",
            starter.name.name
        );
        let span = first_line(scene, scene.span(Node::Expr(self.call)));
        let mut finding = scene.cx.finding(span, "may come first", message);
        finding.confidence = confidence(scene);
        let mut label = |location: Location, role: Role, message: &str| {
            finding.labels.push(Label { location, role, message: message.to_owned() });
        };
        label(at_step(starter, cfg, start.at.step), Role::Started, "the goroutine is started here");
        if let Some(own) = scene.graph(None) {
            label(at_step(scene, &own, failed), Role::Context, "an error makes it leave");
        }
        if self.outer != self.call {
            let run = first_line(scene, scene.span(Node::Expr(self.outer)));
            label(scene.cx.location(run), Role::Context, "then this runs");
        }
        label(at_step(starter, cfg, add.at.step), Role::Context, "counted up only here");
        finding.why =
            "what a `go` statement starts may have come to its end before the next statement runs"
                .to_owned();
        finding.help = "count up before the goroutine starts, or hold a lock for each `Add` that the `Wait` takes, \
                        too, and ask there whether all has ended"
            .to_owned();
        finding
    }
}

/// A goroutine that adds to a group in what it calls, and that its starter does not wait for.
fn added_elsewhere(cx: FunctionCx<'_>) -> Option<Finding> {
    let read = cx.summaries().read(cx.func)?;
    let cfg = &read.function.body(BodyId::OWN).cfg;
    let effects = &read.effects(BodyId::OWN).effects;
    let is_start = |effect: &&Effect| {
        is_call(effect, "Add")
            // Whoever waits for the group is taken to wait for the goroutine.
            && matches!(effect.mode, Mode::Spawned | Mode::Joined)
            && effect.sure
            && matches!(cfg.step(effect.at.step), Step::Go(_))
    };
    let waits = || effects.iter().filter(|it| is_call(it, "Wait") && it.mode < Mode::Joined);
    waits().next()?;
    let scene = Scene::new(cx)?;
    effects.iter().filter(is_start).find_map(|add| {
        let group = kept(&read.function, add);
        let of_group = |effect: &&Effect| kept(&read.function, effect) == group;
        let others = |step: StepId| waits().any(|it| it.at.step == step && !of_group(&it));
        let is_told = |step: StepId| hears(&scene, cfg, step) || others(step);
        let wait = waits().filter(of_group).find(|wait| {
            let comes = match wait.mode {
                Mode::Deferred => !cfg.escapes(add.at.step, &is_told).is_empty(),
                _ => cfg.reaches_without(add.at.step, wait.at.step, &is_told),
            };
            wait.sure && comes
        })?;
        let counts = |it: &&Effect| is_call(it, "Add") && it.mode < Mode::Joined;
        let is_counted = effects.iter().filter(counts).any(|it| of_group(&it));
        (is_group(&scene, &group) && !is_counted).then(|| tell_elsewhere(&scene, cfg, add, wait))
    })
}

/// The thing that an effect is done to, by what the literal of a struct gives its field.
fn kept(function: &Function<'_>, effect: &Effect) -> Place {
    let place = &effect.place;
    let (Root::Made(made), Some((first, rest))) = (place.root, place.path.split_first()) else {
        return place.clone();
    };
    let literal = match function.file.expr(made).kind {
        ExprKind::Unary { operand, .. } => function.file.unparen(operand),
        _ => made,
    };
    let value = function.file.field_of(literal, &|name| name == first.as_str());
    let kept = value.map(|value| function.places_in(BodyId::OWN, value));
    match kept.as_ref().and_then(|kept| kept.only()) {
        Some(kept) => rest.iter().fold(kept.clone(), |place, &field| place.field(field)),
        None => place.clone(),
    }
}

/// Whether a thing is a group that the function has made, or reaches from what it was given.
fn is_group(scene: &Scene<'_>, place: &Place) -> bool {
    type_of(scene, place).is_some_and(|ty| ty.strip_pointer().is_named("sync", "WaitGroup"))
}

/// The type of a thing that the function has made, or reaches from what it was given.
fn type_of(scene: &Scene<'_>, place: &Place) -> Option<Type> {
    let of_local = |local: LocalId| scene.info.local(local).ty.clone();
    let root = match place.root {
        Root::Local(local) => of_local(local),
        Root::Receiver => of_local(scene.receiver()?),
        Root::Param(index) => of_local(scene.info.param(None, index)?),
        Root::Made(expr) | Root::Call(expr, 0) => scene.info.type_of(expr).clone(),
        _ => return None,
    };
    place.path.iter().try_fold(root, |ty, name| {
        let Type::Struct(of) = scene.cx.index().underlying(ty.strip_pointer()) else { return None };
        of.fields.iter().find(|field| field.name == *name).map(|field| field.ty.clone())
    })
}

fn tell_elsewhere(scene: &Scene<'_>, cfg: &Cfg, add: &Effect, wait: &Effect) -> Finding {
    let name = add.place.path.last().map_or_else(|| "the group".to_owned(), |it| format!("`{it}`"));
    let message = format!(
        "this goroutine counts up {name} only once it runs: a `Wait` that comes before does not wait for it"
    );
    let span = first_line(scene, cfg.step(add.at.step).span(scene.file));
    let mut finding = scene.cx.finding(span, "may come too late", message);
    finding.labels.push(Label {
        location: at_step(scene, cfg, wait.at.step),
        role: Role::Context,
        message: "this may wait first, and find nobody to wait for".to_owned(),
    });
    finding.why =
        "a goroutine that was started need not have run when the next statement does".to_owned();
    finding.help = "count up before the `go` statement".to_owned();
    finding
}

/// Whether an effect is the call of a method of this name.
fn is_call(effect: &Effect, name: &str) -> bool {
    matches!(effect.act, Act::Method(method) if method.as_str() == name)
}

fn is_lock(effect: &Effect) -> bool {
    is_call(effect, "Lock") || is_call(effect, "RLock")
}

/// The first line of a step.
fn at_step(scene: &Scene<'_>, cfg: &Cfg, step: StepId) -> Location {
    scene.cx.location(first_line(scene, cfg.step(step).span(scene.file)))
}

/// What is known on a path of a method that waits.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
struct Known {
    /// Where an error was received.
    failed: Option<StepId>,
    /// Whether the wait is deferred.
    waits: bool,
}

/// Looks for a path to the wait that passes nothing which waits, but for the receive of an error.
struct Failing<'w, 's, 'a> {
    scene: &'s Scene<'a>,
    cfg: &'w Cfg,
    wait: StepId,
    deferred: bool,
    waits: &'w dyn Fn(StepId) -> bool,
}

impl Walk for Failing<'_, '_, '_> {
    type State = Known;

    fn step(&mut self, known: &Known, step: StepId) -> Passing<Known> {
        if step == self.wait {
            return match self.deferred {
                true => Passing::On(Known { waits: true, ..*known }),
                false if known.failed.is_some() => Passing::Found,
                false => Passing::Drop,
            };
        }
        if let Some(from) = received_from(self.scene, self.cfg, step) {
            let ty = self.scene.cx.index().underlying(self.scene.info.type_of(from));
            return match ty {
                Type::Chan(_, element) if element.is_error() => {
                    Passing::On(Known { failed: Some(step), ..*known })
                }
                Type::Chan(..) | Type::Unknown => Passing::Drop,
                _ => Passing::On(*known),
            };
        }
        match self.cfg.step(step) {
            Step::Comm(_) | Step::Send(_) => Passing::Drop,
            Step::Call(_) if (self.waits)(step) => Passing::Drop,
            _ => Passing::On(*known),
        }
    }

    fn exit(&mut self, known: &Known, exit: Exit) -> bool {
        known.failed.is_some() && known.waits && matches!(exit, Exit::Return(_) | Exit::End)
    }
}
