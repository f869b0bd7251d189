//! Decisions by which both sides of a channel know that nothing more is sent.

use crate::flow::EdgeKind;
use crate::rules::conditions::subject_of;
use crate::rules::evidence::abandoned::{Leave, received};
use crate::rules::scene::compared_with_nil;
use crate::syntax::{ExprId, ExprKind, Node, Symbol};

impl Leave<'_, '_, '_, '_> {
    /// Whether an edge is taken by what was received, and that may have been the last that is sent.
    pub(super) fn is_agreed(&self, edge: EdgeKind) -> bool {
        let file = self.of.channel.scene.file;
        let Some(asked) = subject_of(file, edge) else { return false };
        if !self.is_about_received(asked, None) {
            return false;
        }
        if !self.repeats {
            return true;
        }
        let Some(last) = self.last else { return false };
        if !self.is_about_received(asked, last.field) {
            return false;
        }
        let info = &self.of.channel.scene.info;
        let compared = edge.condition().zip(compared_with_nil(file, info, asked));
        match (last.is_nil, compared) {
            (Some(last), Some(((_, holds), (_, is_set)))) => last == (holds != is_set),
            _ => true,
        }
    }

    /// Whether an expression speaks of what was received, or receives itself; with a field, of that or of the whole.
    fn is_about_received(&self, asked: ExprId, field: Option<Symbol>) -> bool {
        let channel = self.of.channel;
        let (scene, file) = (channel.scene, channel.scene.file);
        file.descendants(Node::Expr(asked)).any(|node| {
            let Node::Expr(part) = node else { return false };
            let is_received = match file.expr(part).kind {
                ExprKind::Ident(_) => {
                    scene.local(part).is_some_and(|local| self.received.contains(&local))
                }
                _ => received(scene, part).is_some_and(|from| channel.is_named(from)),
            };
            is_received
                && field.is_none_or(|field| match scene.parent(Node::Expr(part)) {
                    Some(Node::Expr(outer)) => match file.expr(outer).kind {
                        ExprKind::Selector { name, .. } => name.name == field,
                        _ => true,
                    },
                    _ => true,
                })
        })
    }
}
