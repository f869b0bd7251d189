//! Literals of basic types.

use crate::syntax::LitKind;
use crate::syntax::literal::{integer, rune, string};

use super::Operand;
use crate::index::{Basic, Constant, Type};

/// The operand that a literal with this text is.
pub(super) fn basic(kind: LitKind, text: &str) -> Operand {
    let (basic, constant) = match kind {
        LitKind::Int => (Basic::UntypedInt, integer(text).map(Constant::Int)),
        LitKind::Float => (Basic::UntypedFloat, float(text).map(Constant::Float)),
        LitKind::Imaginary => (Basic::UntypedComplex, None),
        LitKind::Rune => (Basic::UntypedRune, rune(text).map(|value| Constant::Int(value.into()))),
        LitKind::String => {
            (Basic::UntypedString, string(text).map(|text| Constant::String(text.into())))
        }
    };
    Operand::constant(Type::Basic(basic), constant)
}

/// Decimal floating-point numbers; hexadecimal ones are rare and not computed.
fn float(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok().filter(|value: &f64| value.is_finite())
}
