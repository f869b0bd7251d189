//! The channels that functions give to their callers.

use super::{Builder, Name};
use crate::index::{Callee, Type};
use crate::syntax::{ExprId, Node, StmtId};

impl Builder<'_, '_> {
    /// Whether others may call the function, and so have what it is given or gives, of this type.
    pub(super) fn may_be_called_with(&self, ty: &Type) -> bool {
        let declared = self.scenes[self.scene].cx.declared();
        self.outside.as_ref().is_none_or(|outside| outside.may_call(declared, ty))
    }

    /// Whether others may call the function with a channel of this type.
    pub(super) fn may_be_given(&self, ty: &Type) -> bool {
        let declared = self.scenes[self.scene].cx.declared();
        self.outside.as_ref().is_none_or(|outside| outside.may_give(declared, ty))
    }

    pub(super) fn read_return(&mut self, stmt: StmtId, values: &[ExprId]) {
        let scene = &self.scenes[self.scene];
        let own = scene.literal_around(Node::Stmt(stmt)).is_none();
        // What a function returns that calls another is what that one returns.
        if let &[value] = values
            && let Type::Tuple(types) = scene.info.type_of(value)
        {
            let callee = match scene.info.callee(value) {
                Callee::Func(func) if self.is_own(*func) => Some(*func),
                _ => None,
            };
            for (ty, index) in types.iter().zip(0..) {
                if self.depth(ty).is_none() {
                    continue;
                }
                let target = own.then(|| self.result(index, ty));
                let given = callee.map(|func| self.number(Name::Result(func, index)));
                match (target, given) {
                    (Some(target), Some(given)) => self.join(target, given),
                    (Some(number), None) | (None, Some(number)) => self.set_open(number),
                    (None, None) => {}
                }
            }
            return;
        }
        for (&value, index) in values.iter().zip(0..) {
            if self.carries(value) {
                let target = own.then(|| self.result(index, scene.info.type_of(value)));
                self.assign(target, value);
            }
        }
    }

    /// What the function gives as one of its results.
    fn result(&mut self, index: u32, ty: &Type) -> u32 {
        let number = self.number(Name::Result(self.scenes[self.scene].cx.func, index));
        if self.may_be_called_with(ty) {
            self.set_open(number);
        }
        number
    }
}
