//! Fixes that the text around a finding shows, whichever way the finding came about.
//!
//! A rule knows best what is at fault and makes the fixes that rest on that. What is here rests on
//! nothing but statements: where `defer` belongs, how a function is left. Each fix is refused where
//! the text is not plain: a name that is used in other ways, a line with more on it than one
//! statement. None is safe to apply unseen, since what was meant is not in the text.

mod arm;
mod deferred;
mod text;

use crate::diagnostic::{Edit, Finding, Fix, Label, Safety};
use crate::source::{Location, Span};
use crate::syntax::File;

use text::Text;

/// A fix of `finding`, whose primary place is in `file`.
pub fn fix(file: &File, finding: &Finding) -> Option<Fix> {
    let at = finding.primary.span;
    let text = || Text::around(file, at);
    let here = finding.defect.file == finding.primary.file;
    let (message, edits) = match finding.rule {
        "cancel-not-called" if here => deferred::cancel(file, finding.defect.span)?,
        "watch-not-drained" if here => deferred::drain(file, finding.defect.span)?,
        "unlock-missing" => deferred::unlock(&text()?, at)?,
        "done-arm-does-not-leave" => arm::leave(&text()?, at)?,
        "wait-ignores-context" => {
            let text = text()?;
            arm::sleep(&text, at, &told(&text, finding)?)?
        }
        "goroutine-ignores-context" => {
            let text = text()?;
            arm::listen(&text, at, &told(&text, finding)?)?
        }
        _ => return None,
    };
    let edit = |(span, replacement): (Span, String)| Edit {
        location: Location { file: finding.primary.file, span },
        replacement,
    };
    let edits = edits.into_iter().map(edit).collect();
    Some(Fix { message, safety: Safety::Unsafe, edits })
}

/// The channel that a label of `finding` receives from, if it is there for all of the declared function.
fn told(text: &Text<'_>, finding: &Finding) -> Option<String> {
    let declared = text.file.stmt(text.declared).span;
    let here = |label: &&Label| {
        label.location.file == finding.primary.file && declared.contains(label.location.span)
    };
    let received = |label: &Label| {
        let received = text.file.source.text(label.location.span).into_owned();
        received.strip_prefix("<-").map(str::to_owned)
    };
    let channel = finding.labels.iter().filter(here).find_map(received)?;
    let variable = channel.split(['.', '(', '[']).next()?;
    (!channel.contains('\n') && text.stored(variable) == 0).then_some(channel)
}

/// What a fix does, and what it puts where.
type Made = (String, Vec<(Span, String)>);
