//! Literals of basic types.

use crate::syntax::LitKind;
use crate::syntax::literal::{rune, string};

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

fn integer(text: &str) -> Option<i128> {
    let digits = text.replace('_', "");
    let parse = |digits: &str, radix| i128::from_str_radix(digits, radix).ok();
    match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => parse(&digits[2..], 16),
        Some("0b") => parse(&digits[2..], 2),
        Some("0o") => parse(&digits[2..], 8),
        _ if digits.len() > 1 && digits.starts_with('0') => parse(&digits[1..], 8),
        _ => parse(&digits, 10),
    }
}

/// Decimal floating-point numbers; hexadecimal ones are rare and not computed.
fn float(text: &str) -> Option<f64> {
    text.replace('_', "").parse().ok().filter(|value: &f64| value.is_finite())
}
