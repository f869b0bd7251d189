//! Who sends through a function that others call, and has the end of the receiver in his own hands.

use crate::rules::evidence::groups::{Act, Op, is_started};
use crate::rules::evidence::leaver::Left;
use crate::rules::scene::Scene;
use crate::syntax::{ExprId, Node};

impl Left<'_, '_> {
    /// Whether only functions call the one that sends which end the receiver themselves, so that they know until when
    /// there is one: they close what tells it to leave, or call who does.
    pub(super) fn is_ended_by_callers(&self, send: &Op) -> bool {
        let sender = &self.groups.scenes[send.scene];
        let func = sender.cx.func;
        let named = sender.cx.package.named_outside_tests(func);
        if sender.name.name.is_exported() || send.literal.is_some() || named.is_empty() {
            return false;
        }
        let scenes = self.groups.scenes.iter();
        let calls: Vec<(&Scene<'_>, ExprId)> =
            scenes.flat_map(|caller| caller.calls(func).map(move |call| (caller, call))).collect();
        calls.len() == named.len()
            && calls.iter().all(|(caller, call)| self.ends_beside(caller, *call))
    }

    /// Whether who makes a call ends each receiver, and not before a goroutine is done that makes it.
    fn ends_beside(&self, caller: &Scene<'_>, call: ExprId) -> bool {
        let func = caller.cx.func;
        let literal = caller.literal_around(Node::Expr(call));
        let is_apart = caller.go_of(call).is_some()
            || literal.is_some_and(|literal| is_started(caller, literal));
        let waits = || {
            caller.nodes.iter().any(|&node| match node {
                Node::Expr(expr) => {
                    caller.method_call(expr).is_some_and(|(_, name)| name.name.as_str() == "Wait")
                }
                _ => false,
            })
        };
        self.receives.iter().all(|(receive, arm)| {
            let Some(told) = self.groups.of_expr(receive.scene, arm.channel) else { return false };
            let mut ends = told.ops.iter().filter(|op| matches!(op.act, Act::Close | Act::Send));
            ends.any(|end| {
                let ender = &self.groups.scenes[end.scene];
                let here = ender.cx.func == func;
                (here || caller.calls(ender.cx.func).next().is_some())
                    && (!is_apart || here && end.literal == literal || waits())
            })
        })
    }
}
