//! Operators: the type of the result, and its value if the operands are constants.

use crate::syntax::{BinaryOp, UnaryOp};

use super::{Checker, Operand};
use crate::index::{Basic, Constant, Type};

/// Shifts of constants by more than this are not computed.
const MAX_SHIFT: i128 = 120;

/// Strings that are longer than this are not put together: forty constants, each twice the one before it, are
/// more than any memory holds.
const MAX_TEXT: usize = 1 << 16;

impl Checker<'_> {
    pub(super) fn binary(&self, op: BinaryOp, left: Operand, right: Operand) -> Operand {
        if !left.is_value() || !right.is_value() {
            return Operand::default();
        }
        match op {
            BinaryOp::Eq
            | BinaryOp::Ne
            | BinaryOp::Lt
            | BinaryOp::Le
            | BinaryOp::Gt
            | BinaryOp::Ge => {
                let constant = compare(op, left.constant, right.constant);
                Operand::constant(Type::Basic(Basic::UntypedBool), constant)
            }
            BinaryOp::Shl | BinaryOp::Shr => {
                let value = shift(op, left.constant.as_ref(), right.constant.as_ref());
                let value = value.and_then(|value| value.fit(self.basic(&left.ty)));
                // An untyped constant that is shifted is an integer, whatever it looks like.
                let ty = match left.ty {
                    Type::Basic(Basic::UntypedFloat) => Type::Basic(Basic::UntypedInt),
                    ty => ty,
                };
                Operand::constant(ty, value)
            }
            _ => {
                let ty = self.common(&left.ty, &right.ty);
                let value = match (left.constant, right.constant) {
                    (Some(left), Some(right)) => self.fold(op, &ty, left, right),
                    _ => None,
                };
                Operand::constant(ty, value)
            }
        }
    }

    /// The type of an operation on operands of these types: both have the same in valid Go, after
    /// untyped constants were converted.
    pub(super) fn common(&self, left: &Type, right: &Type) -> Type {
        match (left, right) {
            (Type::Basic(a), Type::Basic(b)) if a.is_untyped() && b.is_untyped() => {
                Type::Basic(a.larger_untyped(*b))
            }
            (Type::Unknown, other) | (other, Type::Unknown) if other.is_untyped() => Type::Unknown,
            (Type::Unknown, other) => other.clone(),
            (other, ty) if other.is_untyped() => ty.clone(),
            (ty, _) => ty.clone(),
        }
    }

    fn fold(&self, op: BinaryOp, ty: &Type, left: Constant, right: Constant) -> Option<Constant> {
        let basic = self.basic(ty);
        let float = matches!(basic, Some(Basic::Float32 | Basic::Float64 | Basic::UntypedFloat));
        match (left, right) {
            (Constant::Bool(a), Constant::Bool(b)) => match op {
                BinaryOp::LogicalAnd => Some(Constant::Bool(a && b)),
                BinaryOp::LogicalOr => Some(Constant::Bool(a || b)),
                _ => None,
            },
            (Constant::String(a), Constant::String(b)) if op == BinaryOp::Add => {
                if a.len() + b.len() > MAX_TEXT {
                    return None;
                }
                let mut text = String::with_capacity(a.len() + b.len());
                text.push_str(&a);
                text.push_str(&b);
                Some(Constant::String(text.into()))
            }
            (Constant::Int(a), Constant::Int(b)) if !float => {
                Constant::Int(integer(op, a, b)?).fit(basic)
            }
            (a, b) => {
                let (a, b) = (a.as_float()?, b.as_float()?);
                let value = match op {
                    BinaryOp::Add => a + b,
                    BinaryOp::Sub => a - b,
                    BinaryOp::Mul => a * b,
                    BinaryOp::Div if b != 0.0 => a / b,
                    _ => return None,
                };
                Some(Constant::Float(value))
            }
        }
    }
}

fn integer(op: BinaryOp, a: i128, b: i128) -> Option<i128> {
    match op {
        BinaryOp::Add => a.checked_add(b),
        BinaryOp::Sub => a.checked_sub(b),
        BinaryOp::Mul => a.checked_mul(b),
        BinaryOp::Div => a.checked_div(b),
        BinaryOp::Rem => a.checked_rem(b),
        BinaryOp::And => Some(a & b),
        BinaryOp::Or => Some(a | b),
        BinaryOp::Xor => Some(a ^ b),
        BinaryOp::AndNot => Some(a & !b),
        _ => None,
    }
}

fn shift(op: BinaryOp, left: Option<&Constant>, right: Option<&Constant>) -> Option<Constant> {
    let (value, by) = (left?.as_int()?, right?.as_int()?);
    if !(0..=MAX_SHIFT).contains(&by) {
        return (op == BinaryOp::Shr && by > 0).then_some(Constant::Int(if value < 0 {
            -1
        } else {
            0
        }));
    }
    let shifted = match op {
        BinaryOp::Shr => value >> by,
        _ => value.checked_mul(1_i128.checked_shl(by as u32)?)?,
    };
    Some(Constant::Int(shifted))
}

fn compare(op: BinaryOp, left: Option<Constant>, right: Option<Constant>) -> Option<Constant> {
    let ordering = match (left?, right?) {
        (Constant::Int(a), Constant::Int(b)) => a.cmp(&b),
        (Constant::String(a), Constant::String(b)) => a.cmp(&b),
        (Constant::Bool(a), Constant::Bool(b)) => a.cmp(&b),
        _ => return None,
    };
    Some(Constant::Bool(match op {
        BinaryOp::Eq => ordering.is_eq(),
        BinaryOp::Ne => ordering.is_ne(),
        BinaryOp::Lt => ordering.is_lt(),
        BinaryOp::Le => ordering.is_le(),
        BinaryOp::Gt => ordering.is_gt(),
        _ => ordering.is_ge(),
    }))
}

impl Constant {
    /// A prefix operator on a constant of a type with this basic type behind it.
    pub(super) fn unary(self, op: UnaryOp, basic: Option<Basic>) -> Option<Constant> {
        match (op, self) {
            (UnaryOp::Plus, value) => Some(value),
            (UnaryOp::Neg, Constant::Int(value)) => Some(Constant::Int(value.checked_neg()?)),
            (UnaryOp::Neg, Constant::Float(value)) => Some(Constant::Float(-value)),
            (UnaryOp::Not, Constant::Bool(value)) => Some(Constant::Bool(!value)),
            (UnaryOp::BitNot, Constant::Int(value)) => match unsigned_bits(basic?) {
                Some(bits) => Some(Constant::Int(!value & ((1 << bits) - 1))),
                None => Some(Constant::Int(!value)),
            },
            _ => None,
        }
    }

    /// A conversion to a type with this basic type behind it.
    pub(super) fn convert(self, basic: Basic) -> Option<Constant> {
        match (self, basic) {
            (value, basic) if basic.is_integer() => Constant::Int(value.as_int()?).fit(Some(basic)),
            (Constant::Int(value), basic) if basic.is_string() => {
                let character = u32::try_from(value).ok().and_then(char::from_u32);
                let character = character.unwrap_or(char::REPLACEMENT_CHARACTER);
                Some(Constant::String(character.to_string().into()))
            }
            (value @ Constant::String(_), basic) if basic.is_string() => Some(value),
            (value @ Constant::Bool(_), Basic::Bool) => Some(value),
            (value, Basic::Float32 | Basic::Float64) => Some(Constant::Float(value.as_float()?)),
            _ => None,
        }
    }

    /// The value, if a type with this basic type behind it can hold it.
    pub(super) fn fit(self, basic: Option<Basic>) -> Option<Constant> {
        let Constant::Int(value) = self else { return Some(self) };
        let basic = basic?;
        let fits = match (unsigned_bits(basic), signed_bits(basic)) {
            (Some(bits), _) => (0..1_i128 << bits).contains(&value),
            (_, Some(bits)) => (-(1_i128 << (bits - 1))..1_i128 << (bits - 1)).contains(&value),
            _ => true,
        };
        fits.then_some(self)
    }

    fn as_float(&self) -> Option<f64> {
        match *self {
            Constant::Int(value) => Some(value as f64),
            Constant::Float(value) => Some(value),
            _ => None,
        }
    }
}

fn unsigned_bits(basic: Basic) -> Option<u32> {
    match basic {
        Basic::Uint8 => Some(8),
        Basic::Uint16 => Some(16),
        Basic::Uint32 => Some(32),
        Basic::Uint | Basic::Uint64 | Basic::Uintptr => Some(64),
        _ => None,
    }
}

fn signed_bits(basic: Basic) -> Option<u32> {
    match basic {
        Basic::Int8 => Some(8),
        Basic::Int16 => Some(16),
        Basic::Int32 => Some(32),
        Basic::Int | Basic::Int64 => Some(64),
        _ => None,
    }
}
