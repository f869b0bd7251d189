//! The words by which equal conditions are known: `n > 3` and `!(n <= 3)`, `len(s) > 0` and `s != ""`.

use std::sync::Arc;

use crate::index::{Basic, Builtin, Callee, Constant, Def, FuncId, LocalId, Type};
use crate::rules::conditions::locals_in;
use crate::summary::{Function, Source};
use crate::syntax::{BinaryOp, ExprId, ExprKind, Node, UnaryOp};

/// How many variables may stand for a condition one after another.
const MAX_NAMES: u32 = 3;

/// What a comparison with a constant says of its subject.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Says {
    /// It is less than this.
    Below(i128),
    /// It is this number.
    Is(i128),
    /// It is this string.
    Reads(Arc<str>),
}

impl Says {
    /// Whether one subject can have both answers, each to its own comparison.
    pub fn agrees((one, holds): (&Says, bool), (other, other_holds): (&Says, bool)) -> bool {
        match (one, holds, other, other_holds) {
            (Says::Is(one), true, Says::Is(other), true) => one == other,
            (Says::Reads(one), true, Says::Reads(other), true) => one == other,
            (Says::Is(value), true, Says::Below(bound), below)
            | (Says::Below(bound), below, Says::Is(value), true) => (value < bound) == below,
            (Says::Below(upper), true, Says::Below(lower), false)
            | (Says::Below(lower), false, Says::Below(upper), true) => lower < upper,
            _ => true,
        }
    }

    fn worded(&self, subject: &str) -> String {
        match self {
            Says::Below(bound) => format!("{subject}<{bound}"),
            Says::Is(value) => format!("{subject}=={value}"),
            Says::Reads(text) => format!("{subject}=={text:?}"),
        }
    }
}

/// What a condition compares with a constant: its words and the variables that it names.
pub type Compared = (String, Vec<LocalId>);

/// A condition without the `!` before it and the variables that stand for it.
pub struct Asked {
    /// The text by which equal conditions are known.
    pub text: String,
    /// Whether the condition says the opposite of that.
    pub negated: bool,
    condition: ExprId,
    /// What it compares with a constant, and what the text says of that.
    compared: Option<(String, Says)>,
}

impl Asked {
    /// What a condition asks; `None` for one that may say something else each time it is asked.
    pub fn of(function: &Function<'_>, condition: ExprId) -> Option<Asked> {
        let (condition, opposite) = stripped(function, condition);
        let ((text, negated), compared) = words(function, condition)?;
        Some(Asked { text, negated: negated != opposite, condition, compared })
    }

    /// What is compared with a constant, and what the text says of that, if nothing but variables of the function has
    /// a part in it.
    pub fn comparison(&self, function: &Function<'_>) -> Option<(Compared, Says)> {
        let (subject, says) = self.compared.as_ref()?;
        reads_only_names(function, self.condition).then(|| {
            let names = locals_in(function, Node::Expr(self.condition));
            ((subject.clone(), names), says.clone())
        })
    }
}

/// The text by which equal conditions are known, and whether this one says the opposite; `None`
/// for one that may say something else each time it is asked.
pub fn key(function: &Function<'_>, condition: ExprId) -> Option<(String, bool)> {
    Asked::of(function, condition).map(|asked| (asked.text, asked.negated))
}

/// The variables that a condition asks about; of one that stands for a condition, those of that.
pub fn variables(function: &Function<'_>, condition: ExprId) -> Vec<LocalId> {
    locals_in(function, Node::Expr(stripped(function, condition).0))
}

/// What a condition asks without the `!` before it and the variables that stand for it, and whether it says the
/// opposite of that.
fn stripped(function: &Function<'_>, condition: ExprId) -> (ExprId, bool) {
    let file = function.file;
    let (mut at, mut opposite, mut names) = (file.unparen(condition), false, 0);
    loop {
        if let ExprKind::Unary { op: UnaryOp::Not, operand } = file.expr(at).kind {
            (at, opposite) = (file.unparen(operand), !opposite);
            continue;
        }
        match stands_for(function, at).filter(|_| names < MAX_NAMES) {
            Some(value) => (at, names) = (value, names + 1),
            None => return (at, opposite),
        }
    }
}

/// The text of a condition, whether it says the opposite, and what it compares with a constant.
#[allow(clippy::type_complexity, reason = "taken apart where it is asked for")]
fn words(
    function: &Function<'_>,
    condition: ExprId,
) -> Option<((String, bool), Option<(String, Says)>)> {
    let file = function.file;
    if !is_pure(function, condition) {
        return None;
    }
    let ExprKind::Binary { op, left, right, .. } = file.expr(condition).kind else {
        return Some(((text(function, condition), false), None));
    };
    if let Some((subject, says, negated)) = with_constant(function, op, left, right) {
        return Some(((says.worded(&subject), negated), Some((subject, says))));
    }
    let between = |one: ExprId, sign: &str, other: ExprId| {
        text(function, one) + sign + &text(function, other)
    };
    let words = match op {
        BinaryOp::Eq | BinaryOp::Ne => (between(left, "==", right), op == BinaryOp::Ne),
        BinaryOp::Lt | BinaryOp::Ge => (between(left, "<", right), op == BinaryOp::Ge),
        BinaryOp::Gt | BinaryOp::Le => (between(right, "<", left), op == BinaryOp::Le),
        _ => (text(function, condition), false),
    };
    Some((words, None))
}

/// The condition whose answer a variable has, as long as nothing in it can change.
fn stands_for(function: &Function<'_>, condition: ExprId) -> Option<ExprId> {
    let Def::Local(local) = *function.info.resolve(condition) else { return None };
    let Source::Expr(value) = function.only_definition_of(local)?.source else { return None };
    let value = function.file.unparen(value);
    let is_asked = matches!(
        function.file.expr(value).kind,
        ExprKind::Binary { .. } | ExprKind::Unary { op: UnaryOp::Not, .. } | ExprKind::Ident(_)
    );
    let names = locals_in(function, Node::Expr(value));
    let calls = |node: Node| {
        matches!(node, Node::Expr(part)
            if matches!(function.file.expr(part).kind, ExprKind::Call { .. }))
    };
    let reads_only_names = reads_only_names(function, value)
        && !function.file.descendants(Node::Expr(value)).any(calls);
    let is_it = is_asked && !function.is_addressed(local) && !names.is_empty();
    let is_fixed = names.iter().all(|&local| function.has_one_value(local));
    (is_it && reads_only_names && is_fixed).then_some(value)
}

/// Whether an expression reads nothing that somebody else may change but by a call: no field, element or variable of
/// the package, and nothing that a pointer leads to.
pub fn reads_only_names(function: &Function<'_>, expr: ExprId) -> bool {
    function.file.descendants(Node::Expr(expr)).all(|node| match node {
        Node::Expr(part) => match function.file.expr(part).kind {
            ExprKind::Selector { .. } | ExprKind::Index { .. } | ExprKind::Star(_) => false,
            ExprKind::Ident(_) => !matches!(function.info.resolve(part), Def::Global(_)),
            _ => true,
        },
        _ => false,
    })
}

/// What a comparison with a constant asks about, what it says of that, and whether it says the opposite: an integer
/// is below a bound or equal to a number, a string is empty or reads so, a bit of a number is set.
fn with_constant(
    function: &Function<'_>,
    op: BinaryOp,
    left: ExprId,
    right: ExprId,
) -> Option<(String, Says, bool)> {
    let file = function.file;
    let constant = |expr: ExprId| function.info.constant(expr);
    let (subject, bound, op) = match (constant(left), constant(right)) {
        (None, Some(bound)) => (file.unparen(left), bound, op),
        (Some(bound), None) => (file.unparen(right), bound, turned(op)),
        _ => return None,
    };
    let is_equality = matches!(op, BinaryOp::Eq | BinaryOp::Ne);
    let words = text(function, subject);
    if let Constant::String(bound) = bound {
        let says = match bound.is_empty() {
            true => (format!("len({words})"), Says::Below(1)),
            false => (words, Says::Reads(bound.clone())),
        };
        return is_equality.then(|| (says.0, says.1, op == BinaryOp::Ne));
    }
    let Type::Basic(basic) = function.index.underlying(function.info.type_of(subject)) else {
        return None;
    };
    let bound = bound.as_int().filter(|_| basic.is_integer())?;
    let zero = match is_never_negative(function, subject, basic) {
        true => Says::Below(1),
        false => Says::Is(0),
    };
    if is_equality
        && bound != 0
        && let ExprKind::Binary { op: BinaryOp::And, left, right, .. } = file.expr(subject).kind
        && [left, right]
            .into_iter()
            .any(|mask| constant(mask).and_then(Constant::as_int) == Some(bound))
        && bound.count_ones() == 1
    {
        return Some((words, zero, op == BinaryOp::Eq));
    }
    let (says, negated) = match op {
        BinaryOp::Eq | BinaryOp::Ne if bound == 0 => (zero, op == BinaryOp::Ne),
        BinaryOp::Eq | BinaryOp::Ne => (Says::Is(bound), op == BinaryOp::Ne),
        BinaryOp::Lt | BinaryOp::Ge => (Says::Below(bound), op == BinaryOp::Ge),
        BinaryOp::Le | BinaryOp::Gt => (Says::Below(bound.checked_add(1)?), op == BinaryOp::Gt),
        _ => return None,
    };
    Some((words, says, negated))
}

/// Whether an integer is never below zero: it has no sign, or says how long something is.
fn is_never_negative(function: &Function<'_>, subject: ExprId, basic: Basic) -> bool {
    let has_no_sign = matches!(
        basic,
        Basic::Uint | Basic::Uint8 | Basic::Uint16 | Basic::Uint32 | Basic::Uint64 | Basic::Uintptr
    );
    let callee = function.info.callee(subject);
    has_no_sign || matches!(callee, Callee::Builtin(Builtin::Len | Builtin::Cap))
}

/// The comparison with its sides exchanged.
fn turned(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Lt => BinaryOp::Gt,
        BinaryOp::Le => BinaryOp::Ge,
        BinaryOp::Gt => BinaryOp::Lt,
        BinaryOp::Ge => BinaryOp::Le,
        op => op,
    }
}

fn text(function: &Function<'_>, expr: ExprId) -> String {
    let text = function.text(function.file.unparen(expr));
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Whether a condition gives the same answer as long as what it names stays the same.
fn is_pure(function: &Function<'_>, condition: ExprId) -> bool {
    let file = function.file;
    file.descendants(Node::Expr(condition)).all(|node| match node {
        Node::Expr(expr) => match &file.expr(expr).kind {
            ExprKind::Call { .. } => match function.info.callee(expr) {
                Callee::Builtin(Builtin::Len | Builtin::Cap | Builtin::Min | Builtin::Max)
                | Callee::Conversion(_) => true,
                Callee::Func(func) if gives_what_it_reads(function, *func) => true,
                // Package strings has functions of values alone.
                callee => callee
                    .qualified(function.index)
                    .is_some_and(|name| name.path.as_str() == "strings" && name.receiver.is_none()),
            },
            ExprKind::Unary { op, .. } => *op != UnaryOp::Recv,
            ExprKind::FuncLit(_) | ExprKind::Missing => false,
            _ => true,
        },
        _ => false,
    })
}

/// Whether a function of the same package does no more than to return what it reads: `return o.limit > 0`. That is read
/// in its text, which is there even if nothing else asks for the body.
fn gives_what_it_reads(function: &Function<'_>, func: FuncId) -> bool {
    if func.package != function.id.package {
        return false;
    }
    let file = function.index.file_of(func);
    let text = file.source.slice(file.decl(function.index.func(func).decl).span);
    let Some(start) = memchr::memchr(b'{', text) else { return false };
    let body = text[start + 1..].strip_suffix(b"}").unwrap_or_default().trim_ascii();
    let does_more = |byte: &u8| matches!(byte, b'(' | b'{' | b';' | b'\n' | b'"' | b'`');
    body.strip_prefix(b"return ").is_some_and(|value| {
        !value.iter().any(does_more) && memchr::memmem::find(value, b"<-").is_none()
    })
}
