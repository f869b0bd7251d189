//! Constant expressions: exact for booleans, integers and strings, *not known* for the rest.

use crate::program::code::{Constant, Operator, TextId};
use crate::program::compile::{Compiler, Entity};
use crate::program::library::library_constant;
use crate::program::package::Item;
use crate::syntax::literal::{integer, rune};
use crate::syntax::{BinaryOp, DeclId, DeclKind, ExprId, ExprKind, LitKind, Symbol, UnaryOp};

/// Longest definition by other constants that is followed.
const MAX_CHAIN: u32 = 64;

/// Longest string that is put together, in bytes: forty constants, each twice the one before it, are more than
/// any memory holds.
const MAX_TEXT: usize = 1 << 16;

impl Compiler<'_> {
    /// The value of an integer constant expression.
    pub(super) fn integer(&mut self, expr: ExprId) -> Option<i64> {
        match self.constant(expr, 0, 0)? {
            Constant::Int(value) => Some(value),
            _ => None,
        }
    }

    /// The value of a package-level constant.
    pub(super) fn named_constant(&mut self, name: Symbol, chain: u32) -> Option<Constant> {
        if let Some(&known) = self.package.constants.get(&name) {
            return known;
        }
        let Some(&Item::Const(file, decl, at)) = self.package.items.get(&name) else { return None };
        // Stands for itself while it is computed: Go refuses circles.
        self.package.constants.insert(name, None);
        let here = std::mem::replace(&mut self.file, file);
        let value = self.spec_constant(decl, at, chain + 1);
        self.file = here;
        let value = value.or_else(|| Some(Constant::Atom(self.text_id(name.as_str()))));
        self.package.constants.insert(name, value);
        value
    }

    /// The value of a name of a constant specification.
    pub(super) fn spec_constant(&mut self, decl: DeclId, at: u32, chain: u32) -> Option<Constant> {
        let tree = self.tree();
        let DeclKind::Const(spec) = &tree.decl(decl).kind else { return None };
        let &value = spec.values.get(at as usize)?;
        self.constant(value, i64::from(spec.iota), chain)
    }

    /// The value of a literal.
    pub(super) fn basic_literal(&mut self, kind: LitKind, text: &str) -> Constant {
        match kind {
            LitKind::Int => match integer(text).and_then(|value| i64::try_from(value).ok()) {
                Some(value) => Constant::Int(value),
                None => Constant::Atom(self.text_id(text)),
            },
            LitKind::String => match without_quotes(text) {
                Some(inner) => Constant::Str(self.text_id(inner)),
                None => Constant::Atom(self.text_id(text)),
            },
            LitKind::Rune => match rune(text) {
                Some(value) => Constant::Int(value.into()),
                None => Constant::Atom(self.text_id(text)),
            },
            LitKind::Float | LitKind::Imaginary => Constant::Atom(self.text_id(text)),
        }
    }

    /// The value of a constant expression, if it is known.
    pub(super) fn constant(&mut self, expr: ExprId, iota: i64, chain: u32) -> Option<Constant> {
        if chain > MAX_CHAIN {
            return None;
        }
        let tree = self.tree();
        let node = tree.expr(expr);
        match &node.kind {
            ExprKind::Paren(inner) => self.constant(*inner, iota, chain + 1),
            ExprKind::BasicLit(kind) => {
                Some(self.basic_literal(*kind, &tree.source.text(node.span)))
            }
            ExprKind::Ident(name) => match self.lookup(*name) {
                Some(Entity::Const(value)) => Some(value),
                Some(_) => None,
                None if self.package.items.contains_key(name) => self.named_constant(*name, chain),
                None => match name.as_str() {
                    "true" => Some(Constant::Bool(true)),
                    "false" => Some(Constant::Bool(false)),
                    "iota" => Some(Constant::Int(iota)),
                    _ => None,
                },
            },
            ExprKind::Unary { op, operand } => {
                match (op, self.constant(*operand, iota, chain + 1)?) {
                    (UnaryOp::Plus, value) => Some(value),
                    (UnaryOp::Neg, Constant::Int(value)) => value.checked_neg().map(Constant::Int),
                    (UnaryOp::BitNot, Constant::Int(value)) => Some(Constant::Int(!value)),
                    (UnaryOp::Not, Constant::Bool(value)) => Some(Constant::Bool(!value)),
                    _ => None,
                }
            }
            ExprKind::Binary { op, left, right, .. } => {
                let left = self.constant(*left, iota, chain + 1)?;
                let right = self.constant(*right, iota, chain + 1)?;
                match (left, right) {
                    (Constant::Int(left), Constant::Int(right)) => {
                        integers(operator(*op)?, left, right)
                    }
                    (Constant::Str(left), Constant::Str(right)) => match op {
                        BinaryOp::Add => {
                            let text = |id: TextId| self.out.texts[id.0 as usize].as_ref();
                            let both: [&str; 2] = [text(left), text(right)];
                            let fits = both[0].len() + both[1].len() <= MAX_TEXT;
                            let text = fits.then(|| both.concat())?;
                            Some(Constant::Str(self.text_id(&text)))
                        }
                        BinaryOp::Eq => Some(Constant::Bool(left == right)),
                        BinaryOp::Ne => Some(Constant::Bool(left != right)),
                        _ => None,
                    },
                    _ => None,
                }
            }
            ExprKind::Selector { base, name } => {
                let path = self.import_of(*base)?;
                library_constant(path.as_str(), name.name.as_str()).map(Constant::Int)
            }
            // A conversion keeps the value, as far as this is an integer or a string.
            ExprKind::Call { callee, args, .. } if args.len() == 1 => {
                self.as_type(*callee)?;
                self.constant(args[0], iota, chain + 1)
            }
            _ => None,
        }
    }
}

/// What stands between the quotes of a string literal; `None` of one without an end.
fn without_quotes(text: &str) -> Option<&str> {
    text.strip_prefix(['"', '`'])?.strip_suffix(['"', '`'])
}

fn integers(op: Operator, left: i64, right: i64) -> Option<Constant> {
    let value = match op {
        Operator::Eq => return Some(Constant::Bool(left == right)),
        Operator::Ne => return Some(Constant::Bool(left != right)),
        Operator::Lt => return Some(Constant::Bool(left < right)),
        Operator::Le => return Some(Constant::Bool(left <= right)),
        Operator::Gt => return Some(Constant::Bool(left > right)),
        Operator::Ge => return Some(Constant::Bool(left >= right)),
        _ => arithmetic(op, left, right)?,
    };
    Some(Constant::Int(value))
}

/// `left op right` for integers, if it does not overflow or panic.
pub fn arithmetic(op: Operator, left: i64, right: i64) -> Option<i64> {
    match op {
        Operator::Add => left.checked_add(right),
        Operator::Sub => left.checked_sub(right),
        Operator::Mul => left.checked_mul(right),
        Operator::Div => left.checked_div(right),
        Operator::Rem => left.checked_rem(right),
        Operator::Shl => {
            let shifted = left.checked_shl(u32::try_from(right).ok()?)?;
            (shifted >> right == left).then_some(shifted)
        }
        Operator::Shr => Some(left >> right.clamp(0, 63)),
        Operator::And => Some(left & right),
        Operator::Or => Some(left | right),
        Operator::Xor => Some(left ^ right),
        Operator::AndNot => Some(left & !right),
        _ => None,
    }
}

/// The operator, unless it decides whether its right operand is computed.
pub(super) fn operator(op: BinaryOp) -> Option<Operator> {
    Some(match op {
        BinaryOp::LogicalOr | BinaryOp::LogicalAnd => return None,
        BinaryOp::Eq => Operator::Eq,
        BinaryOp::Ne => Operator::Ne,
        BinaryOp::Lt => Operator::Lt,
        BinaryOp::Le => Operator::Le,
        BinaryOp::Gt => Operator::Gt,
        BinaryOp::Ge => Operator::Ge,
        BinaryOp::Add => Operator::Add,
        BinaryOp::Sub => Operator::Sub,
        BinaryOp::Or => Operator::Or,
        BinaryOp::Xor => Operator::Xor,
        BinaryOp::Mul => Operator::Mul,
        BinaryOp::Div => Operator::Div,
        BinaryOp::Rem => Operator::Rem,
        BinaryOp::Shl => Operator::Shl,
        BinaryOp::Shr => Operator::Shr,
        BinaryOp::And => Operator::And,
        BinaryOp::AndNot => Operator::AndNot,
    })
}
