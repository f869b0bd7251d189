//! Unlocking by the wrong method: `defer mu.Lock()` for `defer mu.Unlock()`, and `Unlock` for `RUnlock`.
//!
//! Evidence: a function locks and defers to lock again, and unlocks nothing of that name; or it takes a lock only to read
//! and gives it back only as who writes does, or the other way round; that is a lock of `sync`: what others make of
//! these names is not known. Or a way leads from where it is taken in the one mode to where it is given back in the
//! other, past nothing else that is done to it, and nothing that the way rests on is set by the function.

use rustc_hash::FxHashMap;

use super::{Body, EDGES, Held, Operation, leading_to, root_variable};
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{EdgeKind, Path, PathEnd, Start};
use crate::rules::conditions::condition;
use crate::rules::evidence::confidence_of_own;
use crate::rules::scene::Scene;
use crate::summary::{BodyId, Read};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// What is told of the operations of a function, with the texts of the locks that it is told of.
pub(super) fn check(scene: &Scene<'_>, operations: &[Operation]) -> Vec<(String, Finding)> {
    let mut found: Vec<(String, Finding)> = Vec::new();
    for wrong in operations {
        if wrong.key.is_some() || found.iter().any(|(text, _)| *text == wrong.text) {
            continue;
        }
        let same = || operations.iter().filter(|it| it.text == wrong.text);
        if same().any(|it| it.through.is_some()) {
            continue;
        }
        let is_known = || same().all(|it| is_of_sync(scene, it));
        let has = |name: &str| same().any(|it| it.name == name);
        let before = |name: &str| {
            same().find(|it| {
                it.name == name && !it.deferred && it.at.body == wrong.at.body && it.at < wrong.at
            })
        };
        let finding = match wrong.name {
            "Lock" | "RLock" if wrong.deferred && !has("Unlock") && !has("RUnlock") => {
                before(wrong.name).map(|first| again(scene, first, wrong))
            }
            "Unlock" if !has("Lock") && !has("RUnlock") && is_known() => {
                before("RLock").map(|first| other_mode(scene, first, wrong))
            }
            "RUnlock" if !has("RLock") && !has("Unlock") && is_known() => {
                before("Lock").map(|first| other_mode(scene, first, wrong))
            }
            _ => None,
        };
        found.extend(finding.map(|finding| (wrong.text.clone(), finding)));
    }
    found
}

/// The unlocks that come on some way after the lock was taken in the other mode, for locks of which nothing else is
/// told.
pub(super) fn on_a_way<'a>(
    scene: &Scene<'a>,
    read: &Read<'a>,
    operations: &[Operation],
    found: &mut Vec<(String, Finding)>,
) {
    let mut bodies: FxHashMap<BodyId, Body> = FxHashMap::default();
    let mut edges = EDGES;
    for wrong in operations {
        let taken = match wrong.name {
            "Unlock" => "RLock",
            "RUnlock" => "Lock",
            _ => continue,
        };
        let same = || operations.iter().filter(|it| it.text == wrong.text);
        let is_known = || same().all(|it| it.through.is_none() && is_of_sync(scene, it));
        let mut locks = same().filter(|it| {
            it.name == taken && !it.deferred && it.at.body == wrong.at.body && it.at < wrong.at
        });
        if wrong.deferred || found.iter().any(|(text, _)| *text == wrong.text) || !is_known() {
            continue;
        }
        let body = bodies
            .entry(wrong.at.body)
            .or_insert_with(|| Body::of(read, operations, wrong.at.body));
        let first =
            locks.find(|lock| leads_to(scene, read, operations, lock, wrong, body, &mut edges));
        found.extend(first.map(|first| (wrong.text.clone(), other_mode(scene, first, wrong))));
    }
}

/// Whether a way leads from a lock to an unlock past nothing else that is done to it.
fn leads_to<'a>(
    scene: &Scene<'a>,
    read: &Read<'a>,
    operations: &[Operation],
    lock: &Operation,
    wrong: &Operation,
    body: &Body,
    edges: &mut usize,
) -> bool {
    let Some(variable) = root_variable(scene, lock.base) else { return false };
    let cfg = &read.function.body(lock.at.body).cfg;
    let others = operations
        .iter()
        .filter(|it| it.text == lock.text && it.at.body == lock.at.body)
        .filter(|it| it.at != lock.at && it.at != wrong.at);
    let mut walk = Held {
        scene,
        read,
        lock,
        key: None,
        unlocks: others.map(|it| it.at.step).collect(),
        others: Default::default(),
        variable,
        conditions: &body.conditions,
        leads: leading_to(cfg, lock.at.step),
        wanted: Some(wrong.at.step),
        settles: FxHashMap::default(),
        asks_lock: FxHashMap::default(),
        edges,
    };
    let paths = cfg.search(Start::Entry, (false, Vec::new()), &mut walk);
    let to_wrong = |path: &&Path<_>| path.end == PathEnd::Step(wrong.at.step);
    paths.iter().find(to_wrong).is_some_and(|path| is_open(scene, path))
}

/// Whether what a way rests on tells nothing of how the lock was taken: no two of its decisions ask for the same
/// thing, errors left out, and the function sets none of what they ask for.
fn is_open<S>(scene: &Scene<'_>, path: &Path<S>) -> bool {
    let switches =
        path.decisions().filter(|kind| matches!(kind, EdgeKind::Case(..) | EdgeKind::NoCase(_)));
    let mut asked: Vec<(ExprId, String)> = Vec::new();
    for condition in path.decisions().filter_map(condition) {
        for name in names_in(scene, condition) {
            if asked.iter().any(|(other, known)| *other != condition && *known == name) {
                return false;
            }
            asked.push((condition, name));
        }
    }
    let is_set = scene.nodes.iter().any(|&node| match node {
        Node::Stmt(stmt) => match &scene.file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } => left.iter().any(|&left| {
                let target = scene.text(left);
                asked.iter().any(|(_, name)| *name == target)
            }),
            _ => false,
        },
        _ => false,
    });
    switches.count() <= 1 && !is_set
}

/// The variables, fields and functions that a condition names, errors left out.
fn names_in(scene: &Scene<'_>, condition: ExprId) -> Vec<String> {
    let is_base = |expr: ExprId| {
        matches!(scene.parent(Node::Expr(expr)), Some(Node::Expr(around))
            if matches!(scene.file.expr(around).kind, ExprKind::Selector { .. }))
    };
    let names = scene.file.descendants(Node::Expr(condition)).filter_map(|node| {
        let Node::Expr(expr) = node else { return None };
        let is_name = match scene.file.expr(expr).kind {
            ExprKind::Ident(_) => !is_base(expr) && !scene.is_nil(expr),
            ExprKind::Selector { .. } => !is_base(expr),
            _ => false,
        };
        (is_name && !scene.info.type_of(expr).is_error()).then(|| scene.text(expr))
    });
    names.collect()
}

fn is_of_sync(scene: &Scene<'_>, operation: &Operation) -> bool {
    let called = scene.info.callee(operation.call).qualified(scene.cx.index());
    called.is_some_and(|name| name.path.as_str() == "sync")
}

fn again(scene: &Scene<'_>, first: &Operation, wrong: &Operation) -> Finding {
    let (name, method) = (&wrong.text, wrong.name);
    let release = if method == "Lock" { "Unlock" } else { "RUnlock" };
    let mut finding = tell(
        scene,
        first,
        wrong,
        format!(
            "`{name}` is locked here and, when the function is left, once more; nobody unlocks it"
        ),
        "locks again",
    );
    finding.why = match method {
        "Lock" => {
            format!("the function itself waits for `{name}`, which it holds, before it can return")
        }
        _ => format!("whoever locks `{name}` to write waits for ever, and all who read after that"),
    };
    finding.help = format!("`defer {name}.{release}()`");
    finding
}

fn other_mode(scene: &Scene<'_>, first: &Operation, wrong: &Operation) -> Finding {
    let (name, method) = (&wrong.text, wrong.name);
    let release = if method == "Unlock" { "RUnlock" } else { "Unlock" };
    let taken = first.name;
    let mut finding = tell(
        scene,
        first,
        wrong,
        format!("`{name}` is taken by `{taken}` and given back by `{method}`"),
        "of the other kind",
    );
    finding.why = "the runtime ends the process, which finds the lock not taken in this way; where it does not, the \
                   one that was taken stays"
        .to_owned();
    finding.help = format!("`{name}.{release}()`");
    finding
}

fn tell(
    scene: &Scene<'_>,
    first: &Operation,
    wrong: &Operation,
    message: String,
    label: &str,
) -> Finding {
    let cx = &scene.cx;
    let mut finding = cx.finding(scene.span(Node::Expr(wrong.call)), label, message);
    finding.confidence = confidence_of_own(scene);
    finding.labels.push(Label {
        location: cx.location(scene.span(Node::Expr(first.call))),
        role: Role::Made,
        message: "locked here".to_owned(),
    });
    finding
}
