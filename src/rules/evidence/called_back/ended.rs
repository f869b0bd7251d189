//! Whether a wait is ended by others than who runs a callback.
//!
//! Who calls a callback back is not known: a goroutine that the package starts, or one that is not seen. What
//! closes a channel of the object is another one for sure if an exported function does, or if two
//! goroutines may, since only one of them can be in the callback.

use rustc_hash::FxHashSet;

use crate::rules::evidence::groups::{Act, Groups, Op, is_started};
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node};

/// Whether a channel that ends the wait of `scene` is closed in other functions alone, and by another
/// goroutine than the one that runs a callback.
pub(super) fn is_ended_by_others(groups: &Groups<'_>, scene: usize, channel: ExprId) -> bool {
    let Some(group) = groups.of_expr(scene, channel).filter(|group| !group.open) else {
        return false;
    };
    let mut closes = Vec::new();
    for op in &group.ops {
        match op.act {
            Act::Send | Act::Notify => return false,
            Act::Close if op.scene == scene || waits_before(&groups.scenes[op.scene], op) => {
                return false;
            }
            Act::Close => closes.push(op),
            _ => {}
        }
    }
    let mut begins = Begins { groups, waiter: scene, met: FxHashSet::default(), started: 0 };
    closes.iter().any(|close| begins.come_from(close.scene, close.literal))
}

/// Whether somebody who closes a channel waits for something else first: for who runs the callback, it may be.
fn waits_before(scene: &Scene<'_>, close: &Op) -> bool {
    let before = scene.nodes.iter().filter(|&&node| {
        scene.span(node).start < scene.span(close.node).start
            && scene.literal_around(node) == close.literal
    });
    before.into_iter().any(|&node| {
        let waits = match node {
            Node::Expr(expr) => {
                scene.method_call(expr).is_some_and(|(_, name)| name.name.as_str() == "Wait")
            }
            _ => false,
        };
        waits || scene.transfer(node).is_some_and(|(_, receives)| receives)
    })
}

/// Where the calls begin that lead to a function.
struct Begins<'g, 'a> {
    groups: &'g Groups<'a>,
    /// The scene of who waits: it, and who calls or starts it, closes nothing while it waits.
    waiter: usize,
    met: FxHashSet<(usize, Option<ExprId>)>,
    /// How many goroutines lead there.
    started: usize,
}

impl Begins<'_, '_> {
    /// Whether calls of a body begin with an exported function, or with two goroutines, all of those counted that
    /// were met before.
    fn come_from(&mut self, at: usize, literal: Option<ExprId>) -> bool {
        let scenes = &self.groups.scenes;
        let mut open = vec![(at, literal)];
        while let Some((at, literal)) = open.pop() {
            let scene = &scenes[at];
            if at == self.waiter
                || scene.calls(scenes[self.waiter].cx.func).next().is_some()
                || !self.met.insert((at, literal))
            {
                continue;
            }
            if let Some(literal) = literal {
                match is_started(scene, literal) {
                    true => self.started += 1,
                    false => open.push((at, scene.literal_around(Node::Expr(literal)))),
                }
            } else {
                if scene.name.name.is_exported() {
                    return true;
                }
                for (at, caller) in scenes.iter().enumerate() {
                    for call in caller.calls(scene.cx.func) {
                        match caller.go_of(call).is_some() {
                            true => self.started += usize::from(self.met.insert((at, Some(call)))),
                            false => open.push((at, caller.literal_around(Node::Expr(call)))),
                        }
                    }
                }
            }
            if self.started > 1 {
                return true;
            }
        }
        false
    }
}
