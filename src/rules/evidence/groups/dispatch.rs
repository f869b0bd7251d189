//! Functions of the package that are used as values.

use super::{Builder, Name};
use crate::index::{FuncId, LocalId, LocalKind};
use crate::syntax::{ExprId, ExprKind, Node};

impl Builder<'_, '_> {
    /// A call of a variable which holds nothing but functions of the package gives its arguments to each of them;
    /// false if it is no such variable.
    pub(super) fn dispatch(&mut self, callee: ExprId, args: &[ExprId]) -> bool {
        let kept = self.scenes[self.scene].local(callee).and_then(|local| self.kept_in(local));
        let Some(funcs) = kept else { return false };
        for func in funcs {
            for (&arg, index) in args.iter().zip(0..) {
                if self.carries(arg) {
                    let target = self.param(func, index);
                    self.assign(target, arg);
                }
            }
        }
        true
    }

    /// The functions that a variable holds, if it is set to nothing else and only called.
    fn kept_in(&self, local: LocalId) -> Option<Vec<FuncId>> {
        let scene = &self.scenes[self.scene];
        if scene.info.local(local).kind != LocalKind::Var {
            return None;
        }
        let is_plain = |usage: ExprId| match scene.parent(Node::Expr(usage)) {
            Some(Node::Expr(call)) => match scene.file.expr(call).kind {
                ExprKind::Call { callee, .. } => scene.file.unparen(callee) == usage,
                _ => false,
            },
            Some(Node::Stmt(_)) => scene.is_target(usage),
            _ => false,
        };
        if !scene.uses(local).all(is_plain) {
            return None;
        }
        let mut funcs = Vec::new();
        for &node in scene.nodes.iter() {
            let Some((targets, values)) = scene.assignment(node) else { continue };
            for (place, _) in targets.iter().enumerate().filter(|(_, it)| **it == Some(local)) {
                // One without values is declared, and nil until it is set.
                if values.is_empty() {
                    continue;
                }
                let value = values.get(place).filter(|_| values.len() == targets.len())?;
                let func = scene.cx.index().func_named(&scene.info, *value)?;
                funcs.push(Some(func).filter(|&func| self.is_own(func))?);
            }
        }
        (!funcs.is_empty()).then_some(funcs)
    }

    /// A function that is used as a value may be called from anywhere.
    pub(super) fn read_function_value(&mut self, expr: ExprId) {
        let scene = &self.scenes[self.scene];
        let named = scene.cx.index().func_named(&scene.info, expr);
        let Some(func) = named.filter(|func| self.is_own(*func)) else { return };
        let called = match scene.parent(Node::Expr(expr)) {
            Some(Node::Expr(around)) => match scene.file.expr(around).kind {
                ExprKind::Call { callee, .. } => scene.file.unparen(callee) == expr,
                // The name within a selector.
                ExprKind::Selector { .. } => true,
                _ => false,
            },
            _ => false,
        };
        if called {
            return;
        }
        let kept = scene.assigned_to(expr).is_some_and(|local| self.kept_in(local).is_some());
        let body = scene.cx.index().body(func);
        for (number, local) in body.locals().iter().enumerate() {
            let given = match local.kind {
                LocalKind::Param(_) => !kept,
                kind => matches!(kind, LocalKind::Result(_)),
            };
            if local.owner.is_none() && given && self.depth(&local.ty).is_some() {
                let number = self.number(Name::Local(func, LocalId(number as u32)));
                self.set_open(number);
            }
        }
        /// How many results are looked at.
        const RESULTS: u32 = 4;
        for index in 0..RESULTS {
            if self.numbers.contains_key(&Name::Result(func, index)) {
                let number = self.number(Name::Result(func, index));
                self.set_open(number);
            }
        }
    }
}
