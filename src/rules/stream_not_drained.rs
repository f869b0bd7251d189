//! `stream-not-drained`: what copies from a stream ends when what it writes to fails, and nobody
//! takes what still comes in; the stream shares its connection with others, which then wait too.
//!
//! Evidence: the catalog says of the stream's type that unread data holds up the connection; all uses
//! of the stream are seen, and none but the copy reads it or gives it up; the same connection made
//! another stream that somebody uses. Or both outputs of a process are pipes, and one of them is read to its end
//! before the other (`output`).

mod output;

use crate::catalog::{Base, End, Multiplexed, Name, Place, Transfer};
use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::StepId;
use crate::index::{Def, LocalId, LocalKind, ObjectKind, Type};
use crate::rules::scene::{Scene, holds_any, outside_tests, serves_tests};
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Location;
use crate::summary::{facts, named};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol};

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/stream-not-drained.md"), check: Check::Function(check) };

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !holds_any(cx, &["Copy", "StderrPipe"]) || serves_tests(cx.index(), cx.func) {
        return;
    }
    let Some(scene) = Scene::new(*cx) else { return };
    findings.extend(output::check(&scene));
    for &node in scene.nodes.iter() {
        let Node::Expr(call) = node else { continue };
        if let Some(copy) = Copy::of(&scene, call)
            && copy.may_fail(&scene)
            && let Some(key) = key(&scene, copy.from)
        {
            findings.extend(left_unread(&scene, &copy, &key));
        }
    }
}

/// A call that reads from one side and writes to the other.
struct Copy<'a> {
    call: ExprId,
    from: ExprId,
    to: ExprId,
    fact: &'a Transfer,
}

impl<'a> Copy<'a> {
    fn of(scene: &Scene<'a>, call: ExprId) -> Option<Copy<'a>> {
        let ExprKind::Call { args, .. } = &scene.file.expr(call).kind else { return None };
        let known = facts(scene.cx.catalog(), scene.cx.index(), scene.info.callee(call));
        let fact = known.in_force::<Transfer>(scene.cx.versions())?;
        let arg = |place: &Place| match place.base {
            Base::Param(index) => args.get(index as usize).map(|&arg| scene.file.unparen(arg)),
            _ => None,
        };
        Some(Copy { call, from: arg(&fact.from)?, to: arg(&fact.to)?, fact })
    }

    /// Whether what it writes to is not known to take all.
    fn may_fail(&self, scene: &Scene<'_>) -> bool {
        let is = |name: &Name| {
            let ty = scene.info.type_of(self.to).strip_pointer();
            ty.is_named(&name.package, &name.name) || is_variable(scene, self.to, name)
        };
        !self.fact.never_fails.iter().any(is)
    }
}

/// Whether an expression is a package's variable of this name.
fn is_variable(scene: &Scene<'_>, expr: ExprId, name: &Name) -> bool {
    match scene.info.resolve(expr) {
        Def::External(found) => found.is(name),
        Def::Global(object) => {
            let index = scene.cx.index();
            let found = index.object(*object);
            found.kind == ObjectKind::Var
                && found.name.as_str() == &*name.name
                && index.package(object.package).path.as_str() == &*name.package
        }
        _ => false,
    }
}

/// What holds a stream: a variable of one function, or a field of the package.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Key {
    Local(LocalId),
    Field(Location, Symbol),
}

fn key(scene: &Scene<'_>, expr: ExprId) -> Option<Key> {
    match scene.info.resolve(scene.file.unparen(expr)) {
        Def::Local(local) if scene.info.local(*local).kind == LocalKind::Var => {
            Some(Key::Local(*local))
        }
        Def::Field(selection) => selection.location.map(|at| Key::Field(at, selection.name)),
        _ => None,
    }
}

/// A stream, and all that its package does with it.
struct Stream<'a> {
    fact: &'a Multiplexed,
    /// The function that makes it, and the call.
    maker: Scene<'a>,
    made: ExprId,
}

impl<'a> Stream<'a> {
    /// The stream that `key` always is in `scenes`.
    fn of(scenes: &[Scene<'a>], key: &Key) -> Option<Stream<'a>> {
        let mut made = None;
        for scene in scenes {
            for expr in uses(scene, key) {
                let Some(assigned) = assigned(scene, expr) else { continue };
                let (call, place) = assigned?;
                let fact = multiplexed(scene, result(scene.info.type_of(call), place)?)?;
                if made.replace((fact, scene.cx, call)).is_some() {
                    return None;
                }
            }
        }
        let (fact, cx, made) = made?;
        Some(Stream { fact, maker: Scene::new(cx)?, made })
    }

    /// What makes it, as the code writes it: the connection; `None` if the same function closes that
    /// in the end, which gives up all streams.
    fn connection(&self, copy: &Copy<'_>) -> Option<String> {
        let maker = &self.maker;
        let connection = maker.method_call(self.made).map(|(base, _)| maker.text(base))?;
        let closes = maker.nodes.iter().filter_map(|&node| {
            let Node::Expr(call) = node else { return None };
            let (base, name) = maker.method_call(call)?;
            (name.name.as_str() == "Close" && maker.text(base) == connection).then_some(call)
        });
        let closes: Vec<ExprId> = closes.collect();
        if closes.is_empty() {
            return Some(connection);
        }
        // One that is passed on some ways only comes too late for those who wait before.
        let cfg = maker.graph(None)?;
        let runs = |call: &ExprId| {
            let here =
                maker.literal_around(Node::Expr(*call)).is_none() && !maker.is_deferred(*call);
            here.then(|| cfg.step_of_expr(*call)).flatten()
        };
        let closes: Vec<StepId> = closes.iter().map(runs).collect::<Option<_>>()?;
        let copies = match maker.literal_below(None, Node::Expr(copy.call)) {
            Some(literal) => Node::Expr(literal),
            None => Node::Expr(copy.call),
        };
        let copied = maker.step_of(&cfg, copies)?;
        let leaves = !cfg.escapes(copied, &|step| closes.contains(&step)).is_empty();
        leaves.then_some(connection)
    }

    /// Whether a use of it neither reads it nor gives it up: `Some(true)` for a copy that may end
    /// early.
    fn is_aside(&self, scene: &Scene<'_>, expr: ExprId) -> Option<bool> {
        let around = match scene.parent(Node::Expr(expr))? {
            Node::Expr(around) => around,
            Node::Stmt(_) => return assigned(scene, expr).map(|_| false),
            Node::Decl(_) => return None,
        };
        match scene.file.expr(around).kind {
            ExprKind::Binary { .. } => Some(false),
            ExprKind::Selector { name, .. } => {
                let Some(Node::Expr(call)) = scene.parent(Node::Expr(around)) else { return None };
                let (base, _) = scene.method_call(call)?;
                let is = |end: &End| matches!(end, End::Method(method) if **method == *name.name.as_str());
                let aside = self.fact.aside.iter().any(is);
                (scene.file.unparen(base) == expr && aside).then_some(false)
            }
            ExprKind::Call { .. } => {
                if let Some(copy) = Copy::of(scene, around) {
                    let reads = copy.from == expr;
                    return (!reads || copy.may_fail(scene)).then_some(reads);
                }
                let called = scene.info.callee(around).qualified(scene.cx.index())?;
                let is = |end: &End| match end {
                    End::Function(name) => called.is(name),
                    _ => false,
                };
                self.fact.aside.iter().any(is).then_some(false)
            }
            _ => None,
        }
    }

    /// Another stream that the same function makes of the same connection, and that is used for more
    /// than to be left aside: where it is made, and its name.
    fn sibling(&self, key: &Key, connection: &str) -> Option<(Location, String)> {
        let maker = &self.maker;
        let (_, method) = maker.method_call(self.made)?;
        let is_other = |call: ExprId| {
            maker.method_call(call).is_some_and(|(base, name)| {
                call != self.made && name.name == method.name && maker.text(base) == connection
            })
        };
        maker.nodes.iter().find_map(|&node| {
            let Node::Stmt(stmt) = node else { return None };
            let (StmtKind::Define { left, right } | StmtKind::Assign { left, op: None, right }) =
                &maker.file.stmt(stmt).kind
            else {
                return None;
            };
            let (&target, [value]) = (left.first()?, &right[..]) else { return None };
            let call = maker.file.unparen(*value);
            let other = self::key(maker, target).filter(|other| is_other(call) && other != key)?;
            let scenes = scenes_of(maker, &other);
            let is_read = |scene: &Scene<'_>| {
                uses(scene, &other).any(|usage| self.is_aside(scene, usage) != Some(false))
            };
            let location = maker.cx.location(maker.span(Node::Expr(call)));
            scenes.iter().any(is_read).then(|| (location, maker.text(target)))
        })
    }
}

fn left_unread(scene: &Scene<'_>, copy: &Copy<'_>, key: &Key) -> Option<Finding> {
    let scenes = scenes_of(scene, key);
    let stream = Stream::of(&scenes, key)?;
    let mut copies = 0;
    for scene in &scenes {
        for usage in uses(scene, key) {
            copies += u32::from(stream.is_aside(scene, usage)?);
        }
    }
    if copies != 1 {
        return None;
    }
    let connection = stream.connection(copy)?;
    let (other, name) = stream.sibling(key, &connection)?;
    let (from, to) = (scene.text(copy.from), scene.text(copy.to));
    let message = format!(
        "what comes in on `{from}` is left when `{to}` fails, and holds up all streams of its \
         connection"
    );
    let span = scene.span(Node::Expr(copy.call));
    let mut finding = scene.cx.finding(span, "the rest stays unread", message);
    finding.confidence = Confidence::Medium;
    finding.labels.push(Label {
        location: stream.maker.cx.location(stream.maker.span(Node::Expr(stream.made))),
        role: Role::Made,
        message: format!("a stream of `{connection}`"),
    });
    finding.labels.push(Label {
        location: other,
        role: Role::Context,
        message: format!("so is `{name}`: who reads that waits for what stands behind the rest"),
    });
    finding.why = "one reader takes what comes in for all streams of the connection, and waits \
                   until each piece is taken"
        .to_owned();
    finding.help = format!(
        "read the rest, `defer io.Copy(io.Discard, {from})`, or give the stream up by a reset"
    );
    finding.defect = scene.cx.location(span);
    Some(finding)
}

/// The functions that may use a stream: those of tests left out.
fn scenes_of<'a>(scene: &Scene<'a>, key: &Key) -> Vec<Scene<'a>> {
    match key {
        Key::Local(_) => Scene::new(scene.cx).into_iter().collect(),
        Key::Field(_, name) => {
            outside_tests(&scene.cx.package, &[name.as_str()]).filter_map(Scene::new).collect()
        }
    }
}

/// Where a function names a stream.
fn uses(scene: &Scene<'_>, wanted: &Key) -> impl Iterator<Item = ExprId> {
    scene.nodes.iter().filter_map(move |&node| {
        let Node::Expr(expr) = node else { return None };
        let named = match scene.file.expr(expr).kind {
            ExprKind::Ident(_) => matches!(wanted, Key::Local(_)) || !is_selected(scene, expr),
            ExprKind::Selector { .. } => true,
            _ => false,
        };
        (named && key(scene, expr) == Some(*wanted)).then_some(expr)
    })
}

/// Whether an identifier is the name in a selector.
fn is_selected(scene: &Scene<'_>, expr: ExprId) -> bool {
    matches!(scene.parent(Node::Expr(expr)), Some(Node::Expr(around))
        if matches!(scene.file.expr(around).kind, ExprKind::Selector { base, .. }
            if scene.file.unparen(base) != expr))
}

/// What a use is assigned, if it is the target of an assignment: the call, and which of its results;
/// `Some(None)` for anything but a call.
fn assigned(scene: &Scene<'_>, expr: ExprId) -> Option<Option<(ExprId, usize)>> {
    let Node::Stmt(stmt) = scene.parent(Node::Expr(expr))? else { return None };
    let (StmtKind::Define { left, right } | StmtKind::Assign { left, op: None, right }) =
        &scene.file.stmt(stmt).kind
    else {
        return None;
    };
    let place = left.iter().position(|&left| scene.file.unparen(left) == expr)?;
    let value = |at: usize| right.get(at).map(|&value| scene.file.unparen(value));
    let (value, place) = if right.len() == 1 { (value(0)?, place) } else { (value(place)?, 0) };
    let is_call = matches!(scene.file.expr(value).kind, ExprKind::Call { .. });
    Some(is_call.then_some((value, place)))
}

/// One of the results of a call with this type.
fn result(ty: &Type, place: usize) -> Option<&Type> {
    match ty {
        Type::Tuple(types) => types.get(place),
        ty => (place == 0).then_some(ty),
    }
}

/// What the catalog says of a type of streams.
fn multiplexed<'a>(scene: &Scene<'a>, ty: &Type) -> Option<&'a Multiplexed> {
    let name = ty.strip_pointer().named()?.qualified();
    named(scene.cx.catalog(), name).in_force::<Multiplexed>(scene.cx.versions())
}
