//! Values of constant expressions, as far as they can be computed exactly.

use std::sync::Arc;

/// The value of a constant. What does not fit is not a constant here: the caller knows nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Constant {
    /// `true` or `false`.
    Bool(bool),
    /// An integer or a rune.
    Int(i128),
    /// A floating-point number; only good for a conversion to an integer, since Go computes
    /// constants exactly.
    Float(f64),
    /// A string.
    String(Arc<str>),
}

impl Constant {
    /// The value as an integer; also that of a float without fraction.
    pub fn as_int(&self) -> Option<i128> {
        /// Up to here `f64` holds every integer.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match *self {
            Constant::Int(value) => Some(value),
            Constant::Float(value) if value.fract() == 0.0 && value.abs() <= EXACT => {
                Some(value as i128)
            }
            _ => None,
        }
    }

    /// The value as a boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Constant::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// Whether it is the zero value of its type (specification, The zero value).
    pub fn is_zero(&self) -> bool {
        match self {
            Constant::Bool(value) => !value,
            Constant::Int(value) => *value == 0,
            Constant::Float(value) => *value == 0.0,
            Constant::String(value) => value.is_empty(),
        }
    }

    /// The value as a string.
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Constant::String(value) => Some(value),
            _ => None,
        }
    }
}
