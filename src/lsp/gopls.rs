//! What an editor is told by gopls already, which has the analysers of `go vet`: it is not told twice,
//! unless the settings of the editor select the rule by its name.

use crate::analysis::Report;
use crate::diagnostic::Finding;
use crate::rules::cancel_not_called;

/// Rules that gopls has too, by the analyser `sigchanyzer`.
pub const RULES: &[&str] = &["signal-notify-unbuffered"];

/// Leaves out the findings that gopls has too, though it does not have all of their rule.
pub fn leave_out(report: &mut Report, is_named: impl Fn(&str) -> bool) {
    if is_named(cancel_not_called::ID) {
        return;
    }
    let files = std::mem::take(&mut report.files);
    report.retain(|finding, _| {
        let text =
            |finding: &Finding| files.get(&finding.defect.file).map(|file| file.text.clone());
        let is_lost = finding.rule == cancel_not_called::ID
            && cancel_not_called::SAID_BY_VET.contains(&finding.primary_label.as_str());
        // The analyser `lostcancel` knows the functions of package context.
        let is_context = || {
            let text = text(finding);
            text.is_some_and(|text| text.slice(finding.defect.span).starts_with(b"context.With"))
        };
        !(is_lost && is_context())
    });
    report.files = files;
}
