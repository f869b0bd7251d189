//! Unlocking by the wrong method: `defer mu.Lock()` for `defer mu.Unlock()`, and `Unlock` for `RUnlock`.
//!
//! Evidence: a function locks and defers to lock again, and unlocks nothing of that name; or it takes a lock only to read
//! and gives it back only as who writes does, or the other way round; that is a lock of `sync`: what others make of
//! these names is not known.

use super::Operation;
use crate::diagnostic::{Finding, Label, Role};
use crate::rules::evidence::confidence_of_own;
use crate::rules::scene::Scene;
use crate::syntax::Node;

/// What is told of the operations of a function, with the texts of the locks that it is told of.
pub(super) fn check(scene: &Scene<'_>, operations: &[Operation]) -> Vec<(String, Finding)> {
    let mut found: Vec<(String, Finding)> = Vec::new();
    for wrong in operations {
        if found.iter().any(|(text, _)| *text == wrong.text) {
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
