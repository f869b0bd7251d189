//! Parts that keep a goroutine not from their constructor on, but from a call of a method such as `Start`.

use super::{Made, Reader, skipped};
use crate::index::{Callee, FuncId};
use crate::rules::{PackageCx, bound};
use crate::source::Location;
use crate::summary::Resource;
use crate::syntax::{ExprId, ExprKind, Node};

/// What a value holds that has to be ended once the method is called which a selector names.
pub(super) fn by(reader: &Reader<'_, '_>, selector: ExprId) -> Option<Made> {
    let Some(Node::Expr(call)) = reader.around(Node::Expr(selector)) else { return None };
    let Callee::Func(method) = *reader.info.callee(call) else { return None };
    let started = started(reader.cx, method)?;
    let func = reader.cx.index.func(method);
    Some(Made {
        location: Location { file: reader.func.file, span: reader.file.expr(call).span },
        what: func.receiver?.name.as_str().to_owned(),
        ends: started.ends.iter().map(|end| end.as_str().into()).collect(),
        by: Some(func.name),
    })
}

/// What a method starts that nobody but another method of the value ends, over a channel of the value's own.
pub fn started(cx: &PackageCx<'_>, method: FuncId) -> Option<Resource> {
    let name = cx.index.func(method).name;
    // One that ends its value waits for it in a goroutine.
    if skipped::names_end(name) {
        return None;
    }
    let started = cx.summaries.started_by(method)?;
    let [stop] = started.stop[..] else { return None };
    // A method that may end what it has started itself is no starter.
    let is_own = !started.ends.contains(&name)
        && started.ends.iter().any(|&end| skipped::names_end(end))
        && bound::makes_each_channel(cx, method.package, stop);
    is_own.then_some(started)
}

/// Whether a value is made where it stands, and known to nobody else.
pub(super) fn is_fresh(reader: &Reader<'_, '_>, value: ExprId, result: u32) -> bool {
    let made = bound::made_by(reader.file, value);
    match reader.file.expr(made).kind {
        ExprKind::CompositeLit { .. } => true,
        ExprKind::Call { .. } if made == value => match *reader.info.callee(value) {
            Callee::Func(func) => reader.cx.summaries.makes(func, result),
            _ => false,
        },
        _ => false,
    }
}
