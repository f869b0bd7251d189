//! A condition variable whose only signaller is a goroutine that has left.
//!
//! Evidence: it is a field that is not exported, and of which the package does nothing but to make it, use its
//! lock, wait and signal. All that signal it run in one goroutine, which each object has one of, in turn. There is a
//! way out of that goroutine, from its beginning or from a call that may have signalled and has not, on which nobody
//! is woken. And who waits in a loop may be there by then: what the loop asks for is set to the value
//! that keeps it waiting by somebody else, or has it from the beginning. Nobody wakes him any more.
//!
//! An error of the goroutine is such a way, or a field that those who wait look at, too: they mean to be told of
//! it. On another way out (a channel that is closed, a context) nobody may wait any more: that is doubtful.

mod ways;

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{Builtin, Callee, Constant, FuncId, LocalKind, Selection, Type};
use crate::rules::PackageCx;
use crate::rules::evidence::forsaken::ways::{Reason, Signaller, Way};
use crate::rules::evidence::left_locked::root_variable;
use crate::rules::evidence::never_done::may_select;
use crate::rules::evidence::unsignalled::{each_awaited, is_harmless, is_made};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::recurrence::all_calls;
use crate::rules::scene::{Scene, compared_with_nil, counts_where, outside_tests};
use crate::rules::unended::is_in_variables;
use crate::source::Location;
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, StmtId, StmtKind, Symbol, UnaryOp};

/// Reports the waits whose signaller has left.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    if !counts_where(package, &[".Wait()"])
        || outside_tests(package, &[".Signal()", ".Broadcast()"]).next().is_none()
    {
        return;
    }
    each_awaited(package, |_, _, (field, location)| {
        findings.extend(left_by_all(package, field, location));
    });
}

/// A place in one of some functions.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Place {
    scene: usize,
    node: ExprId,
}

/// What a package does with a condition variable.
struct Condition<'a> {
    scenes: Vec<Scene<'a>>,
    waits: Vec<Place>,
    signals: Vec<Place>,
}

impl<'a> Condition<'a> {
    /// All of it; `None` where something else is done.
    fn of(package: &PackageCx<'a>, field: &Selection, location: Location) -> Option<Condition<'a>> {
        let of_package = package.index.package(package.package);
        if !of_package.holds(location.file) || is_in_variables(of_package, field.name) {
            return None;
        }
        let words = [field.name.as_str()];
        let scenes: Vec<Scene<'a>> =
            outside_tests(package, &words).filter_map(Scene::new).collect();
        let (mut waits, mut signals) = (Vec::new(), Vec::new());
        for (number, scene) in scenes.iter().enumerate() {
            for &node in scene.nodes.iter() {
                let Node::Expr(expr) = node else { continue };
                if let ExprKind::CompositeLit { elements, .. } = &scene.file.expr(expr).kind {
                    let is_other = elements.iter().any(|element| {
                        let key = element.key.map(|key| &scene.file.expr(key).kind);
                        matches!(key, Some(ExprKind::Ident(key)) if *key == field.name)
                            && !is_made(scene, element.value)
                            && !scene
                                .file
                                .source
                                .text(scene.span(Node::Expr(element.value)))
                                .starts_with("&sync.Cond{")
                    });
                    if is_other && scene_has(scene, expr, location) {
                        return None;
                    }
                }
                if !may_select(scene, expr, field) {
                    continue;
                }
                let Some((call, name)) = called(scene, expr) else {
                    if is_harmless(scene, expr) {
                        continue;
                    }
                    return None;
                };
                let place = Place { scene: number, node: call };
                match name.as_str() {
                    "Wait" => waits.push(place),
                    "Signal" | "Broadcast" => signals.push(place),
                    _ => return None,
                }
            }
        }
        (!waits.is_empty() && !signals.is_empty()).then_some(Condition { scenes, waits, signals })
    }
}

/// Whether a literal is of a struct that declares a field.
fn scene_has(scene: &Scene<'_>, literal: ExprId, location: Location) -> bool {
    let ty = scene.info.type_of(literal).strip_pointer();
    match scene.cx.index().underlying(ty) {
        Type::Struct(of) => of.fields.iter().any(|field| field.location == location),
        _ => true,
    }
}

/// The call of a method of what an expression is, and its name.
fn called(scene: &Scene<'_>, base: ExprId) -> Option<(ExprId, Symbol)> {
    let Node::Expr(selector) = scene.parent(Node::Expr(base))? else { return None };
    let Node::Expr(call) = scene.parent(Node::Expr(selector))? else { return None };
    let (of, name) = scene.method_call(call)?;
    (scene.file.unparen(of) == base && scene.args(call).is_empty()).then_some((call, name.name))
}

/// The wait for a condition variable that nobody ends any more when its signaller has left.
fn left_by_all(package: &PackageCx<'_>, field: &Selection, location: Location) -> Option<Finding> {
    let condition = Condition::of(package, field, location)?;
    let goroutine = Goroutine::of(package, &condition)?;
    let signaller = Signaller::new(*package, &condition, &goroutine.members);
    let mut ways = signaller.ways_out(goroutine.body)?;
    ways.sort_by_key(|way| matches!(way.reason, Reason::Other));
    condition.waits.iter().find_map(|&wait| {
        let scene = &condition.scenes[wait.scene];
        let home = scene.literal_around(Node::Expr(wait.node));
        if goroutine.members.contains(&(scene.cx.func, home)) {
            return None;
        }
        let asked = Asked::of(scene, wait.node)?;
        let waits_on = asked.may_hold(package, &goroutine.members);
        let way = waits_on.then(|| ways.first())??;
        let is_looked_at = ways.iter().find(|way| match way.reason {
            Reason::Condition(func, cond) => asked.is_decided_by(package, func, cond),
            _ => false,
        });
        let by_error = || ways.iter().find(|way| matches!(way.reason, Reason::Error));
        let told = is_looked_at.or_else(by_error);
        let mut finding = tell(scene, wait.node, &goroutine, told.unwrap_or(way));
        if told.is_none() || !goroutine.is_made_with {
            finding.confidence = Confidence::Low;
        }
        Some(finding)
    })
}

/// A body: a declared function, or a literal in it.
type Home = (FuncId, Option<ExprId>);

/// The goroutine that signals.
struct Goroutine {
    body: Home,
    /// The bodies that it runs, as far as they may signal.
    members: Vec<Home>,
    /// Whether who makes an object starts it.
    is_made_with: bool,
}

/// How many bodies lie at most between the goroutine and its signals.
const MAX_MEMBERS: usize = 12;

impl Goroutine {
    fn of(package: &PackageCx<'_>, condition: &Condition<'_>) -> Option<Goroutine> {
        let mut members: Vec<Home> = Vec::new();
        let mut starts: Vec<(FuncId, StmtId, ExprId, Home)> = Vec::new();
        for signal in &condition.signals {
            let scene = &condition.scenes[signal.scene];
            let home = scene.literal_around(Node::Expr(signal.node));
            if !scene.runs_in_turn(home, signal.node) {
                return None;
            }
            if !members.contains(&(scene.cx.func, home)) {
                members.push((scene.cx.func, home));
            }
        }
        let mut next = 0;
        while let Some(&(func, literal)) = members.get(next) {
            next += 1;
            if next > MAX_MEMBERS {
                return None;
            }
            if let Some(literal) = literal {
                let scene = Scene::of(package, func)?;
                let go = scene.go_around(literal)?;
                let Some(Node::Expr(call)) = scene.parent(Node::Expr(literal)) else { return None };
                starts.push((func, go, call, (func, Some(literal))));
                continue;
            }
            let declared = package.index.func(func);
            if declared.receiver.is_some() && declared.name.is_exported() {
                return None;
            }
            for (caller, call) in all_calls(package, declared)? {
                if caller.package != package.package {
                    // Built for another system, the package is there twice.
                    let other = package.index.func(caller);
                    let mut own = package.index.package(package.package).funcs.iter();
                    if own.any(|own| own.file == other.file && own.decl == other.decl) {
                        continue;
                    }
                    return None;
                }
                let scene = Scene::of(package, caller)?;
                if let Some(go) = scene.go_of(call) {
                    starts.push((caller, go, call, (func, None)));
                    continue;
                }
                let home = (caller, scene.literal_around(Node::Expr(call)));
                if !scene.runs_in_turn(home.1, call) {
                    return None;
                }
                if !members.contains(&home) {
                    members.push(home);
                }
            }
        }
        let &(.., body) = starts.first()?;
        let mut is_made_with = true;
        for (number, &(func, go, call, of)) in starts.iter().enumerate() {
            let scene = Scene::of(package, func)?;
            let is_twice = starts[..number].iter().any(|&(other, ..)| other == func);
            if of != body || is_twice || !scene.loops_around(Node::Stmt(go)).is_empty() {
                return None;
            }
            is_made_with &= is_of_made(&scene, condition, call);
        }
        Some(Goroutine { body, members, is_made_with })
    }
}

/// Whether what a goroutine is started for is made by the function that starts it.
fn is_of_made(scene: &Scene<'_>, condition: &Condition<'_>, call: ExprId) -> bool {
    let base = match scene.method_call(call) {
        Some((base, _)) => Some(base),
        None => {
            let args = scene.args(call);
            let signal = condition
                .signals
                .iter()
                .find(|signal| condition.scenes[signal.scene].cx.func == scene.cx.func);
            let own = signal.and_then(|signal| scene.method_call(signal.node).map(|it| it.0));
            own.or_else(|| args.first().copied())
        }
    };
    let root = base.and_then(|base| root_variable(scene, base)).flatten();
    root.is_some_and(|local| {
        let is_var = matches!(scene.info.local(local).kind, LocalKind::Var);
        is_var && scene.literal_around(Node::Expr(call)).is_none() && {
            let made = scene.nodes.iter().filter_map(|&node| {
                let (targets, values) = scene.assignment(node)?;
                let place = targets.iter().position(|&target| target == Some(local))?;
                Some((values.len() == targets.len()).then(|| values[place]))
            });
            let made: Vec<Option<ExprId>> = made.collect();
            matches!(made[..], [Some(made)] if makes(scene, made, MAX_MAKERS))
        }
    })
}

/// How many functions that hand on what another makes are followed.
const MAX_MAKERS: u32 = 2;

/// Whether an expression makes an object: a literal of a struct, or the call of a function that returns one.
fn makes(scene: &Scene<'_>, made: ExprId, depth: u32) -> bool {
    let made = scene.file.unparen(made);
    match &scene.file.expr(made).kind {
        ExprKind::CompositeLit { .. } => true,
        ExprKind::Unary { op: UnaryOp::Addr, operand } => makes(scene, *operand, depth),
        ExprKind::Call { .. } => {
            let Callee::Func(func) = *scene.info.callee(made) else {
                return matches!(scene.info.callee(made), Callee::Builtin(Builtin::New));
            };
            let declared = scene.cx.index().func(func);
            let Some(depth) = depth.checked_sub(1) else { return false };
            let is_of_own = func.package == scene.cx.func.package && declared.receiver.is_none();
            let Some(maker) = is_of_own.then(|| Scene::of(&scene.cx.package, func)).flatten()
            else {
                return false;
            };
            let ty = scene.info.type_of(made).strip_pointer();
            let mut all = maker.nodes.iter();
            all.any(|&node| match node {
                Node::Expr(expr) => {
                    let is_same = maker.info.type_of(expr).strip_pointer().identical(ty);
                    is_same == Some(true)
                        && !matches!(maker.file.expr(expr).kind, ExprKind::Ident(_))
                        && makes(&maker, expr, depth)
                }
                _ => false,
            })
        }
        _ => false,
    }
}

/// What a loop asks for before it waits.
struct Asked {
    /// The fields of its condition, and what each must be for the loop to wait as far as that is known.
    fields: Vec<(Location, Symbol, Held)>,
    /// All fields that are looked at in the loop.
    looked_at: Vec<Location>,
}

/// For which values of a field a loop waits.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Held {
    /// True, or not nil, or not zero.
    Set,
    /// False, nil, zero.
    Zero,
    /// That is not known.
    Unknown,
}

impl Asked {
    fn of(scene: &Scene<'_>, wait: ExprId) -> Option<Asked> {
        let around = scene.loops_around(Node::Expr(wait));
        let &inner = around.first()?;
        let StmtKind::For { cond: Some(cond), .. } = scene.file.stmt(inner).kind else {
            return None;
        };
        let mut parts = vec![cond];
        let mut fields = Vec::new();
        while let Some(part) = parts.pop() {
            let part = scene.file.unparen(part);
            match scene.file.expr(part).kind {
                ExprKind::Binary {
                    op: BinaryOp::LogicalAnd | BinaryOp::LogicalOr,
                    left,
                    right,
                    ..
                } => {
                    parts.extend([left, right]);
                }
                _ => fields.extend(asked_of(scene, part)?),
            }
        }
        let looked_at = scene.file.descendants(Node::Stmt(inner)).filter_map(|node| match node {
            Node::Expr(expr) => scene.field(expr),
            _ => None,
        });
        Some(Asked { fields, looked_at: looked_at.collect() })
    }

    /// Whether somebody but the goroutine makes a loop wait, or it does so from the beginning.
    fn may_hold(&self, package: &PackageCx<'_>, members: &[Home]) -> bool {
        !self.fields.is_empty()
            && self.fields.iter().all(|&(location, name, held)| {
                let words = [name.as_str()];
                let of_package = package.index.package(package.package);
                let mut is_set_by_others = is_in_variables(of_package, name);
                let mut is_given = false;
                for scene in outside_tests(package, &words).filter_map(Scene::new) {
                    for &node in scene.nodes.iter() {
                        let Node::Expr(expr) = node else { continue };
                        is_given |= scene.is_key(expr, name) && scene_has(&scene, expr, location);
                        let home = (scene.cx.func, scene.literal_around(node));
                        if scene.field(expr) == Some(location)
                            && matches!(scene.file.expr(expr).kind, ExprKind::Selector { .. })
                            && !members.contains(&home)
                        {
                            is_set_by_others |= keeps_waiting(&scene, expr, held);
                        }
                    }
                }
                is_set_by_others || held == Held::Zero && !is_given
            })
    }

    /// Whether a condition looks at a field that the loop looks at, itself or in the function that it calls.
    fn is_decided_by(&self, package: &PackageCx<'_>, func: FuncId, cond: ExprId) -> bool {
        let Some(scene) = Scene::of(package, func) else { return false };
        let names = |scene: &Scene<'_>, node: Node| match node {
            Node::Expr(expr) => {
                scene.field(expr).is_some_and(|field| self.looked_at.contains(&field))
            }
            _ => false,
        };
        scene.file.descendants(Node::Expr(cond)).any(|node| {
            names(&scene, node)
                || match node {
                    Node::Expr(call) => match *scene.info.callee(call) {
                        Callee::Func(callee) if callee.package == func.package => {
                            Scene::of(package, callee).is_some_and(|callee| {
                                callee.nodes.iter().any(|&node| {
                                    let is_returned = callee.around(node).any(|around| {
                                        matches!(around, Node::Stmt(stmt) if matches!(
                                            callee.file.stmt(stmt).kind, StmtKind::Return(_)))
                                    });
                                    is_returned && names(&callee, node)
                                })
                            })
                        }
                        _ => false,
                    },
                    _ => false,
                }
        })
    }
}

/// What a part of a condition asks for; `None` if it asks for no field.
fn asked_of(scene: &Scene<'_>, part: ExprId) -> Option<Vec<(Location, Symbol, Held)>> {
    let of = |expr: ExprId, held: Held| {
        let expr = scene.file.unparen(expr);
        let (_, name) = scene.selector(expr)?;
        Some(vec![(scene.field(expr)?, name.name, held)])
    };
    if let Some((compared, is_set)) = compared_with_nil(scene.file, &scene.info, part) {
        return of(compared, if is_set { Held::Set } else { Held::Zero });
    }
    match scene.file.expr(part).kind {
        ExprKind::Selector { .. } => of(part, Held::Set),
        ExprKind::Unary { op: UnaryOp::Not, operand } => of(operand, Held::Zero),
        ExprKind::Binary { left, right, .. } => {
            let all = [left, right].into_iter().flat_map(|side| {
                scene.file.descendants(Node::Expr(side)).filter_map(|node| match node {
                    Node::Expr(expr)
                        if matches!(scene.file.expr(expr).kind, ExprKind::Selector { .. }) =>
                    {
                        of(expr, Held::Unknown)
                    }
                    _ => None,
                })
            });
            let all: Vec<_> = all.flatten().take(1).collect();
            (!all.is_empty()).then_some(all)
        }
        _ => None,
    }
}

/// Whether a field is set to what may keep a loop waiting.
fn keeps_waiting(scene: &Scene<'_>, field: ExprId, held: Held) -> bool {
    let Some(Node::Stmt(stmt)) = scene.parent(Node::Expr(field)) else { return false };
    let value = match &scene.file.stmt(stmt).kind {
        StmtKind::Assign { left, op, right } => {
            let Some(place) = left.iter().position(|&target| scene.file.unparen(target) == field)
            else {
                return false;
            };
            match (op, right.get(place)) {
                (None, Some(&value)) if left.len() == right.len() => value,
                _ => return held == Held::Unknown,
            }
        }
        StmtKind::IncDec { .. } => return held == Held::Unknown,
        _ => return false,
    };
    let is_zero = scene.is_nil(value)
        || match scene.info.constant(value) {
            Some(Constant::Bool(value)) => !value,
            Some(Constant::Int(value)) => *value == 0,
            _ => false,
        };
    match held {
        Held::Set => !is_zero,
        Held::Zero => is_zero,
        Held::Unknown => true,
    }
}

fn tell(scene: &Scene<'_>, wait: ExprId, goroutine: &Goroutine, way: &Way) -> Finding {
    let name = scene.method_call(wait).map(|(base, _)| scene.text(base)).unwrap_or_default();
    let message = format!(
        "nobody signals `{name}` any more when the only goroutine that does has left: who waits \
         here stays"
    );
    let span = first_line(scene, scene.span(Node::Expr(wait)));
    let mut finding = scene.cx.finding(span, "stays here", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: way.location,
        role: Role::Context,
        message: "the goroutine leaves here, and has woken nobody".to_owned(),
    });
    let index = scene.cx.index();
    let who = match goroutine.body {
        (func, None) => format!("`{}`", index.func(func).name),
        (func, Some(_)) => format!("a goroutine of `{}`", index.func(func).name),
    };
    finding.why = format!(
        "all calls of `Signal` and `Broadcast` of `{name}` are made by {who}, of which each object \
         has one, and it may leave without"
    );
    finding.help = format!(
        "set on the way out what the loop asks for, with the lock held, and call \
         `{name}.Broadcast()` there"
    );
    finding
}
