//! A channel that a function makes, sends on from a goroutine and gives to its callers, one of which
//! leaves before all is received.
//!
//! Evidence: each call makes a channel of its own, which the goroutines of the function send on with
//! nothing beside, and nobody has it but the caller. So it does not matter who else calls the function:
//! a path of this caller, in whatever package of the run, leaves the goroutine of its own call behind. A call
//! through an interface of the module counts if the run has no other type that may stand behind it.

use rustc_hash::FxHashSet;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Exit, Path, PathEnd, Start};
use crate::index::{Callee, Def, Func, FuncId, LocalId, LocalKind, Selection, Type};
use crate::rules::conditions::{condition, locals_in};
use crate::rules::evidence::abandoned::{Abandoned, Given, Leaving, stores_of};
use crate::rules::evidence::runs::How;
use crate::rules::evidence::traffic::{Channel, Deed, Made, Volume};
use crate::rules::evidence::{confidence_of_made, ends_process, first_line, room};
use crate::rules::scene::{Scene, is_for_tests, serves_tests};
use crate::rules::{FunctionCx, PackageCx, recurrence};
use crate::source::{Location, Span};
use crate::summary::{At, BodyId, Read, Source};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol};

/// What is told of a channel that a function gives its callers, where one of them leaves it.
pub(super) fn check(
    channel: &Channel<'_, '_>,
    made: Made,
    returned: &[(StmtId, u32)],
) -> Option<Finding> {
    let promise = Promise::of(channel, made, returned)?;
    let cx = &promise.scene.cx;
    let calls = recurrence::calls(&cx.package, cx.declared());
    calls.into_iter().find_map(|(func, call)| promise.left_by(func, call))
}

/// A channel that callers get.
struct Promise<'s, 'a> {
    scene: &'s Scene<'a>,
    made: Made,
    /// As which result.
    place: u32,
    /// The result that says whether there is one.
    fails: Option<u32>,
    /// Whether there may be none.
    may_fail: bool,
    /// The other results by which its goroutine may tell that it is done.
    tells: Vec<u32>,
    /// Where its goroutine is started.
    started: Span,
    volume: Volume,
}

impl<'s, 'a> Promise<'s, 'a> {
    fn of(channel: &Channel<'s, 'a>, made: Made, returned: &[(StmtId, u32)]) -> Option<Self> {
        let (scene, read) = (channel.scene, &channel.read);
        let Type::Func(signature) = scene.cx.index().func_type(scene.cx.func) else { return None };
        let cfg = &read.function.body(BodyId::OWN).cfg;
        let &(_, place) = returned.first()?;
        if returned.iter().any(|&(_, other)| other != place) {
            return None;
        }
        let mut sender = None;
        for (&at, deeds) in channel.deeds.iter().filter(|(at, _)| at.body == BodyId::OWN) {
            for deed in deeds {
                let inner = channel.inner(deed);
                let (Deed::Literal(How::Go, _) | Deed::Function(How::Go, _)) = deed else {
                    return None;
                };
                if inner.receives || inner.sends > 0 && sender.is_some() {
                    return None;
                }
                if inner.sends > 0 {
                    sender = Some((at.step, deed, inner));
                }
            }
        }
        let (start, deed, volume) = sender?;
        if let Deed::Literal(_, body) = deed
            && asks_the_caller(read, *body)
        {
            return None;
        }
        // Each way to the caller starts it, or a loop with any number of turns does.
        let again = cfg.reaches(start, start);
        let is_missed = |&(stmt, _): &(_, u32)| {
            let step = cfg.step_of_stmt(stmt);
            step.is_some_and(|to| cfg.starts_without(Start::Entry, to, &|step| step == start))
        };
        if !again && returned.iter().any(is_missed) {
            return None;
        }
        let gives = |stmt| returned.iter().any(|&(other, _)| other == stmt);
        let may_fail = cfg.exits().any(|(_, exit)| match exit {
            Exit::Return(stmt) => !gives(stmt),
            Exit::End => true,
            _ => false,
        });
        let error = signature.results.iter().position(Type::is_error);
        let fails = match (may_fail, error) {
            (true, None) => return None,
            (_, error) => error.map(|place| place as u32),
        };
        let started = cfg.step(start).span(scene.file);
        let values = returned.iter().filter_map(|&(stmt, _)| match &scene.file.stmt(stmt).kind {
            StmtKind::Return(values) => Some(values),
            _ => None,
        });
        let mut tells = Vec::new();
        for (&value, other) in values.flat_map(|values| values.iter().zip(0..)) {
            let of_sender = |local| {
                scene.uses(local).any(|usage| started.contains(scene.span(Node::Expr(usage))))
            };
            if other != place && scene.local(value).is_none_or(of_sender) {
                tells.push(other);
            }
        }
        Some(Promise { scene, made, place, fails, may_fail, tells, started, volume })
    }

    /// What is found where a function calls this one.
    fn left_by(&self, func: FuncId, call: ExprId) -> Option<Finding> {
        let package = PackageCx { package: func.package, ..self.scene.cx.package };
        let caller = Scene::new(FunctionCx { package, func })?;
        let called = match caller.info.callee(call) {
            Callee::Func(to) => *to == self.scene.cx.func,
            Callee::InterfaceMethod(selection) => self.is_all_behind(selection),
            _ => false,
        };
        if !called || caller.go_of(call).is_some() || caller.is_deferred(call) {
            return None;
        }
        let read = caller.cx.summaries().read(func)?;
        let at = read.function.at_call(call)?;
        let (local, failed) = self.kept(&caller, &read, call)?;
        if at.body == BodyId::OWN && ends_process(&caller.cx) {
            return None;
        }
        let channel = Channel::given(&caller, &read, call, local)?;
        let (tell, fields) = (self.told_by(&caller, call), self.fields());
        let given = Given { volume: self.volume, failed, tell, fields };
        let abandoned = Abandoned::at(&channel, at, self.made.capacity, Some(given))?;
        let path = abandoned.way_out(&stores_of(&caller))?;
        Some(self.tell(&caller, call, local, &path))
    }

    /// Whether a method of an interface of the module is always this one, as far as the run tells: no other type
    /// of it may stand behind the interface, those of tests left out. What a test puts there stands for what users do.
    fn is_all_behind(&self, selection: &Selection) -> bool {
        let cx = &self.scene.cx;
        let (index, own) = (cx.index(), cx.func.package);
        if serves_tests(index, cx.func) {
            return false;
        }
        let Some(home) = selection.owner.named().map(|named| named.path) else { return false };
        let of_module = home == index.package(own).path || index.is_of_module(own, home);
        let is_other = |func: &Func| {
            let owner = func.receiver.filter(|_| func.name == selection.name).and_then(|of| of.ty);
            owner.is_some_and(|owner| {
                let value = index.object_type(owner).pointer();
                index.implements(&value, &selection.owner) != Some(false)
                    && !recurrence::is_same(index, func.id, cx.declared())
                    && !serves_tests(index, func.id)
            })
        };
        of_module
            && cx.package.packages_with(selection.name).all(|package| {
                is_for_tests(index.path_in_module(package))
                    || !index.package(package).funcs.iter().any(is_other)
            })
    }

    /// The fields that its goroutine names, by which it may tell that it is done.
    fn fields(&self) -> FxHashSet<Symbol> {
        let scene = self.scene;
        let index = scene.cx.index();
        let own = scene.nodes.iter().filter(|&&node| self.started.contains(scene.span(node)));
        let mut fields = FxHashSet::default();
        for &node in own {
            let Node::Expr(expr) = node else { continue };
            fields.extend(scene.selector(expr).map(|(_, field)| field.name));
            if let Callee::Func(func) = *scene.info.callee(expr)
                && func.package == scene.cx.func.package
            {
                let file = index.file_of(func);
                let called = file.descendants(Node::Decl(index.func(func).decl));
                fields.extend(called.filter_map(|node| match node {
                    Node::Expr(expr) => match file.expr(expr).kind {
                        ExprKind::Selector { name, .. } => Some(name.name),
                        _ => None,
                    },
                    _ => None,
                }));
            }
        }
        fields
    }

    /// The variables of a caller in which it keeps what else the goroutine may tell it by.
    fn told_by(&self, caller: &Scene<'_>, call: ExprId) -> Vec<LocalId> {
        let kept = caller.parent(Node::Expr(call)).and_then(|around| caller.assignment(around));
        let Some((targets, _)) = kept else { return Vec::new() };
        let tells = self.tells.iter();
        tells.filter_map(|&place| targets.get(place as usize).copied().flatten()).collect()
    }

    /// The variable in which a caller keeps the channel, and the one that says whether there is one;
    /// `None` if it is kept in something else.
    #[allow(clippy::type_complexity, reason = "two variables, each of which may be missing")]
    fn kept(
        &self,
        caller: &Scene<'_>,
        read: &Read<'_>,
        call: ExprId,
    ) -> Option<(Option<LocalId>, Option<(LocalId, At)>)> {
        let function = &read.function;
        let around = caller.parent(Node::Expr(call))?;
        let Some((targets, values)) = caller.assignment(around) else {
            return (!self.may_fail).then_some((None, None));
        };
        let [_] = values else { return None };
        let is_blank = |place: u32| match around {
            Node::Stmt(stmt) => match &caller.file.stmt(stmt).kind {
                StmtKind::Assign { left, .. } | StmtKind::Define { left, .. } => left
                    .get(place as usize)
                    .is_some_and(|&it| matches!(caller.info.resolve(it), Def::Blank)),
                _ => false,
            },
            _ => false,
        };
        let local = targets.get(self.place as usize).copied().flatten();
        match local {
            Some(local) => {
                let is_var = caller.info.local(local).kind == LocalKind::Var;
                let set = function.definitions_of(local).filter(|it| it.source != Source::Zero);
                if !is_var || set.count() != 1 {
                    return None;
                }
            }
            None if !is_blank(self.place) => return None,
            None => {}
        }
        let failed = self.fails.and_then(|place| {
            let error = targets.get(place as usize).copied().flatten()?;
            let set = function.definitions_of(error).find_map(|it| match it.source {
                Source::Result(of, at) if of == call && at == place => it.at,
                _ => None,
            })?;
            Some((error, set))
        });
        (failed.is_some() || !self.may_fail).then_some((local, failed))
    }

    fn tell(
        &self,
        caller: &Scene<'_>,
        call: ExprId,
        local: Option<LocalId>,
        path: &Path<Leaving>,
    ) -> Finding {
        let scene = self.scene;
        let cx = &scene.cx;
        let name = scene.info.local(self.made.local).name;
        let started = cx.location(first_line(scene, self.started));
        let declared = cx.location(scene.span(Node::Decl(cx.declared().decl)));
        let own = |at: &Location| at.file == declared.file && declared.span.contains(at.span);
        let primary = self.volume.sent_at.filter(own).unwrap_or(started);
        let room = room(self.made.capacity);
        let (function, user) = (scene.name.name, caller.name.name);
        let what = match local {
            Some(local) => format!("`{}`", caller.info.local(local).name),
            None => format!("what `{function}` gives"),
        };
        let message = format!(
            "nobody is left to receive from `{name}` ({room}) when `{user}`, which was given it, leaves"
        );
        let mut finding = cx.package.finding(primary, "stays here", message);
        finding.confidence = confidence_of_made(caller, Node::Expr(call));
        let make = cx.location(scene.span(Node::Expr(self.made.make)));
        finding.defect = make;
        let label = |location, role, message: String| Label { location, role, message };
        finding.labels.push(label(make, Role::Made, format!("`{name}` is made here, {room}")));
        finding.labels.push(label(started, Role::Started, "the goroutine starts here".to_owned()));
        let of_caller = |span: Span| caller.cx.location(first_line(caller, span));
        finding.labels.push(label(
            of_caller(caller.span(Node::Expr(call))),
            Role::Context,
            format!("`{user}` alone has {what} from here on"),
        ));
        let left = match path.end {
            PathEnd::Exit(_, Exit::Return(stmt)) => Some(caller.span(Node::Stmt(stmt))),
            _ => path
                .decisions()
                .filter_map(condition)
                .next_back()
                .map(|it| caller.span(Node::Expr(it))),
        };
        if let Some(left) = left {
            let told = format!("`{user}` leaves here without receiving all of it");
            finding.labels.push(label(of_caller(left), Role::Left, told));
        }
        finding.labels.retain(|label| label.location != primary);
        finding.why = format!(
            "each call of `{function}` makes a channel that its caller alone can receive from"
        );
        finding.help = match (self.volume.sends, self.made.capacity) {
            (1, 0) => format!("give `{name}` room for the value: `make(..., 1)`"),
            _ => {
                "send in a `select` with what tells that the caller has left, or receive all of it"
                    .to_owned()
            }
        };
        finding
    }
}

/// Whether a goroutine asks for what the function around it was given, so that it may send after one
/// call and not after another.
fn asks_the_caller(read: &Read<'_>, body: BodyId) -> bool {
    let function = &read.function;
    let cfg = &function.body(body).cfg;
    let conditions = cfg.edges();
    conditions.filter_map(|edge| condition(edge.kind)).any(|asked| {
        locals_in(function, Node::Expr(asked)).into_iter().any(|local| {
            let local = function.info.local(local);
            let plain = matches!(function.index.underlying(&local.ty), Type::Basic(_));
            plain && matches!(local.kind, LocalKind::Param(_))
        })
    })
}
