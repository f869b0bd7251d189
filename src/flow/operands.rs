//! Which expressions belong to which step.

use crate::flow::{Step, received_channel};
use crate::syntax::{DeclKind, ExprId, ExprKind, File, StmtKind, UnaryOp};

impl Step {
    /// Calls `visit` on the expressions whose values this step uses and on their operands, from
    /// left to right; what is a step of its own (a call, a receive, a function literal) is visited,
    /// but not what is in it. The channels and values of communication clauses belong to the
    /// [`Step::Select`].
    pub fn for_each_operand(self, file: &File, visit: &mut dyn FnMut(ExprId)) {
        let mut open = Vec::new();
        self.roots(file, &mut |root| open.push(root));
        open.reverse();
        while let Some(expr) = open.pop() {
            visit(expr);
            let is_step = match file.expr(expr).kind {
                ExprKind::Call { .. } | ExprKind::FuncLit(_) => true,
                ExprKind::Unary { op, .. } => op == UnaryOp::Recv,
                _ => false,
            };
            if !is_step {
                let first = open.len();
                operands(file, expr, &mut |operand| open.push(operand));
                open[first..].reverse();
            }
        }
    }

    fn roots(self, file: &File, visit: &mut dyn FnMut(ExprId)) {
        match self {
            Step::Call(expr) | Step::Recv(expr) => operands(file, expr, visit),
            Step::Go(_) | Step::Defer(_) => {
                self.call(file).into_iter().for_each(|call| operands(file, call, visit));
            }
            Step::Eval(expr) => visit(expr),
            Step::Declare(decl) => {
                if let DeclKind::Var(spec) = &file.decl(decl).kind {
                    spec.values.iter().copied().for_each(visit);
                }
            }
            Step::Send(stmt)
            | Step::Assign(stmt)
            | Step::Return(stmt)
            | Step::Select(stmt)
            | Step::Comm(stmt)
            | Step::Bind(stmt) => match &file.stmt(stmt).kind {
                StmtKind::Send { channel, value } if matches!(self, Step::Send(_)) => {
                    visit(*channel);
                    visit(*value);
                }
                StmtKind::IncDec { operand, .. } => visit(*operand),
                StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right } => {
                    left.iter().copied().for_each(&mut *visit);
                    if matches!(self, Step::Assign(_)) {
                        right.iter().copied().for_each(visit);
                    }
                }
                StmtKind::Return(values) => values.iter().copied().for_each(visit),
                StmtKind::Range { key, value, .. } => {
                    key.iter().chain(value).copied().for_each(visit);
                }
                StmtKind::Select(clauses) => {
                    for comm in clauses.iter().filter_map(|clause| clause.comm) {
                        match &file.stmt(comm).kind {
                            StmtKind::Send { channel, value } => {
                                visit(*channel);
                                visit(*value);
                            }
                            StmtKind::Expr(value) => visit_received(file, *value, visit),
                            StmtKind::Assign { right, .. } | StmtKind::Define { right, .. } => {
                                right.iter().for_each(|&value| visit_received(file, value, visit));
                            }
                            _ => {}
                        }
                    }
                }
                _ => {}
            },
            Step::FuncLit(_) | Step::Next(_) | Step::Missing(_) => {}
        }
    }
}

fn visit_received(file: &File, value: ExprId, visit: &mut dyn FnMut(ExprId)) {
    visit(received_channel(file, value).unwrap_or(value));
}

/// Calls `visit` on the operands of `expr` that are evaluated with it, from left to right. Types
/// are not evaluated, and the bodies of function literals are other functions'.
pub(super) fn operands(file: &File, expr: ExprId, visit: &mut dyn FnMut(ExprId)) {
    match &file.expr(expr).kind {
        ExprKind::CompositeLit { elements, .. } => {
            for element in elements {
                element.key.into_iter().for_each(&mut *visit);
                visit(element.value);
            }
        }
        ExprKind::Paren(inner)
        | ExprKind::Star(inner)
        | ExprKind::Selector { base: inner, .. }
        | ExprKind::TypeAssert { base: inner, .. }
        | ExprKind::Unary { operand: inner, .. } => visit(*inner),
        ExprKind::Index { base, indices } => {
            visit(*base);
            indices.iter().copied().for_each(visit);
        }
        ExprKind::Slice { base, bounds } => {
            visit(*base);
            bounds.iter().flatten().copied().for_each(visit);
        }
        ExprKind::Binary { left, right, .. } => {
            visit(*left);
            visit(*right);
        }
        ExprKind::Call { callee, args, .. } => {
            visit(*callee);
            args.iter().copied().for_each(visit);
        }
        ExprKind::Missing
        | ExprKind::Ident(_)
        | ExprKind::BasicLit(_)
        | ExprKind::FuncLit(_)
        | ExprKind::ArrayType { .. }
        | ExprKind::MapType { .. }
        | ExprKind::ChanType { .. }
        | ExprKind::FuncType(_)
        | ExprKind::StructType(_)
        | ExprKind::InterfaceType(_) => {}
    }
}
