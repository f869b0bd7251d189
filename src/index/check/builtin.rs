//! Calls of predeclared functions and those of package `unsafe`.

use std::sync::Arc;

use crate::syntax::{ExprId, ExprKind};

use super::types::as_type;
use super::{Checker, Operand};
use crate::index::universe;
use crate::index::{Basic, Builtin, Constant, Type};

impl Checker<'_> {
    pub(super) fn builtin(&mut self, builtin: Builtin, args: &[ExprId]) -> Operand {
        match builtin {
            Builtin::Make => {
                let Some((&ty, sizes)) = args.split_first() else { return Operand::default() };
                let ty = self.ty(ty);
                self.arguments(sizes);
                return Operand::value(ty);
            }
            Builtin::New => {
                let Some(&arg) = args.first() else { return Operand::default() };
                return self.new_call(arg);
            }
            Builtin::Len | Builtin::Cap => return self.len(builtin, args),
            _ => {}
        }
        let operands: Vec<Operand> = args.iter().map(|&arg| self.expr(arg)).collect();
        let first = operands.first().map(|operand| operand.ty.clone()).unwrap_or_default();
        let ty = match builtin {
            Builtin::Append => match &first {
                Type::Basic(Basic::UntypedNil) => Type::Unknown,
                // `append(f())` takes all results of `f`.
                Type::Tuple(types) => types.first().cloned().unwrap_or_default(),
                _ => first,
            },
            Builtin::Copy => Type::Basic(Basic::Int),
            Builtin::Min | Builtin::Max => return self.extreme(builtin, operands),
            Builtin::Recover => universe::any(),
            Builtin::Complex => match self.basic(&first) {
                Some(Basic::Float32) => Type::Basic(Basic::Complex64),
                Some(Basic::Float64) => Type::Basic(Basic::Complex128),
                _ => Type::Unknown,
            },
            Builtin::Real | Builtin::Imag => match self.basic(&first) {
                Some(Basic::Complex64) => Type::Basic(Basic::Float32),
                Some(Basic::Complex128) => Type::Basic(Basic::Float64),
                _ => Type::Unknown,
            },
            Builtin::UnsafeAdd => Type::Basic(Basic::UnsafePointer),
            Builtin::UnsafeAlignof | Builtin::UnsafeOffsetof | Builtin::UnsafeSizeof => {
                Type::Basic(Basic::Uintptr)
            }
            Builtin::UnsafeSlice => match self.index.core(&first) {
                Type::Pointer(base) => Type::Slice(base),
                _ => Type::Unknown,
            },
            Builtin::UnsafeSliceData => match self.index.core(&first) {
                Type::Slice(element) => Type::Pointer(element),
                _ => Type::Unknown,
            },
            Builtin::UnsafeString => Type::Basic(Basic::String),
            Builtin::UnsafeStringData => Type::Basic(Basic::Uint8).pointer(),
            Builtin::Clear
            | Builtin::Close
            | Builtin::Delete
            | Builtin::Panic
            | Builtin::Print
            | Builtin::Println => Type::Tuple(Arc::default()),
            Builtin::Make | Builtin::New | Builtin::Len | Builtin::Cap => Type::Unknown,
        };
        Operand::value(ty)
    }

    /// `new(T)`, and `new(x)` of Go 1.26.
    fn new_call(&mut self, arg: ExprId) -> Operand {
        let operand = self.expr(arg);
        let ty = if operand.is_value() { operand.ty.default() } else { as_type(operand) };
        match ty {
            Type::Unknown | Type::Basic(Basic::UntypedNil) => Operand::default(),
            ty => {
                self.set_type(arg, &ty);
                Operand::value(ty.pointer())
            }
        }
    }

    /// `len` and `cap`: constant for constant strings, and for arrays whose expression has no
    /// receives and calls.
    fn len(&mut self, builtin: Builtin, args: &[ExprId]) -> Operand {
        let Some(&arg) = args.first() else { return Operand::default() };
        let operand = self.expr(arg);
        let constant = match (&operand.constant, self.index.core(&operand.ty)) {
            (Some(Constant::String(text)), _) if builtin == Builtin::Len => {
                Some(Constant::Int(text.len() as i128))
            }
            (_, Type::Array(array)) if self.is_plain(arg) => {
                array.len.map(|len| Constant::Int(len.into()))
            }
            (_, Type::Pointer(base)) if self.is_plain(arg) => match self.index.core(&base) {
                Type::Array(array) => array.len.map(|len| Constant::Int(len.into())),
                _ => None,
            },
            _ => None,
        };
        Operand::constant(Type::Basic(Basic::Int), constant)
    }

    /// Whether an expression consists of names alone.
    fn is_plain(&self, mut expr: ExprId) -> bool {
        loop {
            match self.file.expr(expr).kind {
                ExprKind::Ident(_) => return true,
                ExprKind::Paren(base) | ExprKind::Star(base) | ExprKind::Selector { base, .. } => {
                    expr = base
                }
                _ => return false,
            }
        }
    }

    fn extreme(&mut self, builtin: Builtin, operands: Vec<Operand>) -> Operand {
        let mut rest = operands.into_iter();
        let Some(mut result) = rest.next() else { return Operand::default() };
        for next in rest {
            let constant = match (&result.constant, &next.constant) {
                (Some(a), Some(b)) => match (a.as_int(), b.as_int()) {
                    (Some(a), Some(b)) => {
                        let value = if builtin == Builtin::Min { a.min(b) } else { a.max(b) };
                        Some(Constant::Int(value))
                    }
                    _ => None,
                },
                _ => None,
            };
            result = Operand::constant(self.common(&result.ty, &next.ty), constant);
        }
        result
    }
}
