//! A goroutine that counts itself in a `WaitGroup` only once it runs.
//!
//! Evidence: all calls of `Add` on a group stand in what a `go` statement starts, under no condition, in no loop
//! and behind no lock, and each body also calls `Done`; somebody waits for the group. Nothing keeps the `Wait`
//! from coming before the `Add`, and then it waits for nobody: "calls with a positive delta that occur when the
//! counter is zero must happen before a Wait" (<https://pkg.go.dev/sync#WaitGroup.Add>). Whoever starts the
//! goroutine and then receives something, or receives something before it waits, may have been told that it runs; and who
//! asks first for a field that the goroutine sets when it has counted itself has been.

use rustc_hash::FxHashSet;

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Cfg, Step, StepId};
use crate::index::{Def, LocalId, LocalKind, Type};
use crate::rules::evidence::locks::{Object, object};
use crate::rules::evidence::traffic::received_from;
use crate::rules::evidence::{confidence, first_line, wait_group};
use crate::rules::scene::{Scene, counts_where, outside_tests};
use crate::rules::{FunctionCx, PackageCx};
use crate::syntax::{ExprId, Node, StmtId, StmtKind, Symbol};

/// Reports the calls of `Add` that a `Wait` may come before.
pub(super) fn check(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let is_told = counts_where(package, &[".Add("]);
    if !is_told || outside_tests(package, &[".Wait("]).next().is_none() {
        return;
    }
    let opened = outside_tests(package, &[".Add(", ".Wait("]).filter_map(Scene::new);
    let scenes: Vec<Scene<'_>> = opened.collect();
    let calls: Vec<Call> =
        scenes.iter().enumerate().flat_map(|(at, scene)| calls(at, scene)).collect();
    let mut seen: Vec<Group> = Vec::new();
    for call in &calls {
        if call.name == Name::Add && !seen.contains(&call.group) {
            seen.push(call.group);
            let own: Vec<&Call> = calls.iter().filter(|it| it.group == call.group).collect();
            findings.extend(check_group(&scenes, &own));
        }
    }
}

/// A group: a field, or a variable of the function in one of the scenes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Group {
    Object(Object),
    Local(usize, LocalId),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Name {
    Add,
    Done,
    Wait,
}

/// A call of a method of a group.
struct Call {
    scene: usize,
    call: ExprId,
    /// The literal that it stands in.
    literal: Option<ExprId>,
    name: Name,
    group: Group,
}

fn calls(at: usize, scene: &Scene<'_>) -> Vec<Call> {
    let found = scene.nodes.iter().filter_map(|&node| {
        let Node::Expr(call) = node else { return None };
        let names = [("Add", Name::Add), ("Done", Name::Done), ("Wait", Name::Wait)];
        let (base, name) = names
            .into_iter()
            .find_map(|(method, name)| Some((wait_group::of_call(scene, call, method)?, name)))?;
        let group = match scene.local(base) {
            Some(local) => Group::Local(at, local),
            None => Group::Object(object(scene, base)?),
        };
        Some(Call { scene: at, call, literal: scene.literal_around(node), name, group })
    });
    found.collect()
}

fn check_group(scenes: &[Scene<'_>], own: &[&Call]) -> Option<Finding> {
    let with = |name: Name| own.iter().copied().filter(move |call| call.name == name);
    let same_body =
        |one: &Call, other: &Call| (one.scene, one.literal) == (other.scene, other.literal);
    let add = with(Name::Add).next()?;
    let is_known = match add.group {
        Group::Object(_) => true,
        Group::Local(scene, local) => is_used_by_name(&scenes[scene], local),
    };
    let counts_itself = |add: &Call| {
        let scene = &scenes[add.scene];
        comes_at_once(scene, add)
            && with(Name::Done).any(|done| same_body(add, done))
            && is_started_alone(scenes, add)
    };
    if !is_known || !with(Name::Add).all(counts_itself) {
        return None;
    }
    let waits = |wait: &&Call| {
        !with(Name::Add).any(|add| same_body(add, wait) || asks_first(scenes, add, wait))
            && !hears_first(&scenes[wait.scene], wait)
    };
    let wait = with(Name::Wait).find(waits)?;
    Some(tell(scenes, add, wait))
}

/// Whether a body comes to an `Add` whatever is decided, and takes no lock before: who waits may take it, too.
fn comes_at_once(scene: &Scene<'_>, add: &Call) -> bool {
    let own = scene.body_of(add.literal);
    let plain = scene.around(Node::Expr(add.call)).take_while(|&around| around != Node::Stmt(own));
    let locks = scene.nodes.iter().any(|&node| {
        let Node::Expr(call) = node else { return false };
        scene.span(node).start < scene.span(Node::Expr(add.call)).start
            && scene.literal_around(node) == add.literal
            && scene
                .method_call(call)
                .is_some_and(|(_, name)| matches!(name.name.as_str(), "Lock" | "RLock"))
    });
    !locks
        && plain.into_iter().all(|around| match around {
            Node::Stmt(stmt) => matches!(scene.file.stmt(stmt).kind, StmtKind::Expr(_)),
            _ => true,
        })
}

/// Whether a variable is declared by the function, and used for nothing but its methods.
fn is_used_by_name(scene: &Scene<'_>, local: LocalId) -> bool {
    let is_own = scene.info.local(local).kind == LocalKind::Var;
    is_own
        && scene.uses(local).all(|used| match scene.parent(Node::Expr(used)) {
            Some(Node::Expr(around)) => matches!(scene.info.resolve(around), Def::Method(..)),
            _ => false,
        })
}

/// Whether what an `Add` stands in is started by `go` statements alone, by bodies that hear nothing after it.
fn is_started_alone(scenes: &[Scene<'_>], add: &Call) -> bool {
    let scene = &scenes[add.scene];
    let hears_after = |scene: &Scene<'_>, start: StmtId| {
        let literal = scene.literal_around(Node::Stmt(start));
        scene.graph(literal).is_none_or(|cfg| {
            cfg.step_of_stmt(start)
                .is_none_or(|at| cfg.reaches_any(at, &|step| hears(scene, &cfg, step)))
        })
    };
    match add.literal {
        Some(literal) => scene.go_around(literal).is_some_and(|start| match add.group {
            // Who waits in the same body is looked at for itself.
            Group::Local(..) => true,
            Group::Object(_) => !hears_after(scene, start),
        }),
        None => starts_of(scene).is_some_and(|starts| {
            starts.iter().all(|(starter, start)| !hears_after(starter, *start))
        }),
    }
}

/// The `go` statements that start a function, if nothing else outside of tests names it.
pub(super) fn starts_of<'a>(scene: &Scene<'a>) -> Option<Vec<(Scene<'a>, StmtId)>> {
    let func = scene.cx.func;
    let mut starts = Vec::new();
    for (user, expr) in scene.cx.package.named_outside_tests(func) {
        let user = Scene::new(FunctionCx { func: user, ..scene.cx })?;
        let around = user.around(Node::Expr(expr)).find_map(|around| match around {
            Node::Stmt(stmt) => Some(stmt),
            _ => None,
        })?;
        let (start, _) = user.starts(func).find(|(start, _)| *start == around)?;
        starts.push((user, start));
    }
    (!starts.is_empty()).then_some(starts)
}

/// Whether a step waits for somebody else, who may say with it that he runs.
pub(super) fn hears(scene: &Scene<'_>, cfg: &Cfg, step: StepId) -> bool {
    let is_channel = |from: ExprId| {
        let ty = scene.cx.index().underlying(scene.info.type_of(from));
        matches!(ty, Type::Chan(..) | Type::Unknown)
    };
    matches!(cfg.step(step), Step::Comm(_))
        || received_from(scene, cfg, step).is_some_and(is_channel)
}

/// Whether a body receives something on some way to a `Wait`.
fn hears_first(scene: &Scene<'_>, wait: &Call) -> bool {
    let graph = scene.graph(wait.literal);
    graph.is_none_or(|cfg| {
        let Some(at) = cfg.step_of_expr(wait.call) else { return true };
        cfg.steps().any(|step| hears(scene, &cfg, step) && cfg.reaches(step, at))
    })
}

/// Whether a body returns above a `Wait` by a field that is set behind the `Add`.
fn asks_first(scenes: &[Scene<'_>], add: &Call, wait: &Call) -> bool {
    let (scene, waiter) = (&scenes[add.scene], &scenes[wait.scene]);
    let added = scene.span(Node::Expr(add.call)).end;
    let field = |scene: &Scene<'_>, expr: ExprId| scene.selector(expr).map(|(_, name)| name.name);
    let set: FxHashSet<Symbol> = scene
        .nodes
        .iter()
        .filter(|&&node| scene.span(node).start >= added)
        .flat_map(|&node| match node {
            Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
                StmtKind::Assign { left, .. } => left.to_vec(),
                _ => Vec::new(),
            },
            Node::Expr(call) => match scene.method_call(call) {
                Some((base, name)) if name.name.as_str() == "Store" => vec![base],
                _ => Vec::new(),
            },
            Node::Decl(_) => Vec::new(),
        })
        .filter_map(|target| field(scene, target))
        .collect();
    let asks = |cond: ExprId| {
        waiter.file.descendants(Node::Expr(cond)).any(|node| match node {
            Node::Expr(expr) => field(waiter, expr).is_some_and(|name| set.contains(&name)),
            _ => false,
        })
    };
    let returns = |block: StmtId| {
        let last = waiter.file.block(block).last();
        last.is_some_and(|&last| matches!(waiter.file.stmt(last).kind, StmtKind::Return(_)))
    };
    let end = waiter.span(Node::Expr(wait.call)).start;
    waiter.nodes.iter().any(|&node| {
        let Node::Stmt(stmt) = node else { return false };
        let StmtKind::If { cond, then, .. } = waiter.file.stmt(stmt).kind else { return false };
        waiter.span(node).end <= end
            && waiter.literal_around(node) == wait.literal
            && asks(cond)
            && returns(then)
    })
}

fn tell(scenes: &[Scene<'_>], add: &Call, wait: &Call) -> Finding {
    let (scene, waiter) = (&scenes[add.scene], &scenes[wait.scene]);
    let name = scene.method_call(add.call).map(|(base, _)| scene.text(base)).unwrap_or_default();
    let message = format!(
        "`{name}` is counted up only once the goroutine runs: a `Wait` that comes before does not wait for it"
    );
    let span = first_line(scene, scene.span(Node::Expr(add.call)));
    let mut finding = scene.cx.finding(span, "comes too late", message);
    finding.confidence = confidence(scene);
    if let Some(start) = add.literal.and_then(|literal| scene.go_around(literal)) {
        finding.labels.push(Label {
            location: scene.cx.location(first_line(scene, scene.span(Node::Stmt(start)))),
            role: Role::Started,
            message: "the goroutine is started here".to_owned(),
        });
    }
    finding.labels.push(Label {
        location: waiter.cx.location(first_line(waiter, waiter.span(Node::Expr(wait.call)))),
        role: Role::Context,
        message: "this may come first, and find nobody to wait for".to_owned(),
    });
    finding.why =
        "a goroutine that was started need not have run when the next statement does".to_owned();
    finding.help = format!("`{name}.Add(1)` before the `go` statement");
    finding
}
