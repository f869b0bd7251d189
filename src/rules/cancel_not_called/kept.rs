//! Cancel functions that are kept in a field which nobody calls.

use crate::diagnostic::{Confidence, Finding};
use crate::index::Selection;
use crate::rules::FunctionCx;
use crate::rules::cancel_not_called::Made;
use crate::rules::recurrence::{self, Runs};
use crate::rules::unended::is_never_ended;
use crate::summary::{Function, Read};

/// Whether a cancel function that is stored in a field is lost there: the field is the package's own, nothing is
/// ever done with it but to store such functions, and what is left behind is left again and again. A context
/// that is derived from none leaves nothing, unless a goroutine waits for it.
pub(super) fn is_lost(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    made: &Made,
    field: &Selection,
) -> bool {
    let function = &read.function;
    let is_derived = || {
        let parent = function.args(made.call).first();
        parent.is_some_and(|&parent| !cx.summaries().context(function, made.at, parent).is_fresh())
    };
    let starts = || function.bodies().any(|body| !read.effects(body).spawns.is_empty());
    !made.deadline
        && !field.name.is_exported()
        && (starts() || is_derived())
        && is_never_ended(&cx.package, field)
        && !matches!(recurrence::runs(&cx.package, cx.func), Runs::Once)
}

pub(super) fn tell(cx: &FunctionCx<'_>, function: &Function<'_>, made: &Made) -> Finding {
    let name = function.text(made.cancel);
    let message = format!("`{name}` is kept here, and nobody ever calls it");
    let span = function.file.expr(made.cancel).span;
    let mut finding = cx.finding(span, "never called", message);
    finding.confidence = Confidence::Medium;
    finding.why =
        "what waits for the context stays until the one that it is derived from ends".to_owned();
    finding.help = format!("call `{name}()` where the value is closed or stopped");
    finding
}
