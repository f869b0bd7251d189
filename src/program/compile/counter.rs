//! Variables that only count the turns of loops that have no condition.
//!
//! With each turn such a variable has another value, so that no two states are the same and the exploration
//! never comes to an end. Where nothing but calls is given it, its value says nothing: it counts as unknown.

use rustc_hash::FxHashSet;

use crate::program::code::Op;
use crate::program::compile::{Compiler, Entity};
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, Node, StmtKind, Symbol};

impl Compiler<'_> {
    /// Assigns an unknown to what is counted up or down, if it is a variable that only counts turns; whether it is.
    pub(super) fn counts_turns(&mut self, operand: ExprId, span: Span) -> bool {
        let tree = self.tree();
        let ExprKind::Ident(name) = tree.expr(tree.unparen(operand)).kind else { return false };
        if self.frame().endless == 0 || !self.only_counted().contains(&name) {
            return false;
        }
        let Some(Entity::Var(slot)) = self.lookup(name) else { return false };
        let ty = self.frame().func.vars[slot.0 as usize].ty;
        self.emit(Op::Unknown(ty), span);
        self.assign(operand);
        true
    }

    /// The names of the current declaration that are only defined, counted, and given to calls.
    fn only_counted(&mut self) -> &FxHashSet<Symbol> {
        let counted = match self.counters.take() {
            Some(counted) => counted,
            None => self.find_counted(),
        };
        self.counters.insert(counted)
    }

    fn find_counted(&self) -> FxHashSet<Symbol> {
        let tree = self.tree();
        let Some(decl) = self.decl else { return FxHashSet::default() };
        let root = Node::Decl(decl);
        let parents = tree.parents(root);
        let (mut counted, mut asked) = (FxHashSet::default(), FxHashSet::default());
        for node in tree.descendants(root) {
            let Node::Expr(expr) = node else { continue };
            let ExprKind::Ident(name) = tree.expr(expr).kind else { continue };
            match parents.of(node) {
                Some(Node::Stmt(stmt)) => match &tree.stmt(stmt).kind {
                    StmtKind::IncDec { .. } => {
                        counted.insert(name);
                    }
                    StmtKind::Define { left, .. } | StmtKind::Assign { left, op: None, .. }
                        if left.contains(&expr) => {}
                    _ => {
                        asked.insert(name);
                    }
                },
                Some(Node::Expr(around)) => match tree.expr(around).kind {
                    ExprKind::Call { callee, .. } if callee != expr => {}
                    _ => {
                        asked.insert(name);
                    }
                },
                _ => {
                    asked.insert(name);
                }
            }
        }
        counted.retain(|name| !asked.contains(name));
        counted
    }
}
