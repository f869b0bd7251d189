//! One defect, one finding; and the order in which findings are told.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::diagnostic::{Finding, Label, Role};
use crate::project::Snapshot;
use crate::rules::supersedes;
use crate::source::Location;

/// The findings by path and place. Of those with one defect the most specific rule's is kept, or
/// else the surest one; places that only the others speak of are added to its labels.
pub fn merge(snapshot: &Snapshot, findings: Vec<Finding>) -> Vec<Finding> {
    let findings = sorted(snapshot, findings);
    let mut by_defect: BTreeMap<Location, Finding> = BTreeMap::new();
    for finding in findings {
        let merged = match by_defect.remove(&finding.defect) {
            Some(kept) if replaces(&finding, &kept) => absorb(finding, kept),
            Some(kept) => absorb(kept, finding),
            None => finding,
        };
        by_defect.insert(merged.defect, merged);
    }
    sorted(snapshot, by_defect.into_values().collect())
}

/// Sorted by what people see; equal ones once.
fn sorted(snapshot: &Snapshot, mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_cached_key(|finding| {
        (
            snapshot.file(finding.primary.file).display.clone(),
            finding.primary.span,
            finding.rule,
            finding.message.clone(),
        )
    });
    findings.dedup_by(|a, b| a.primary == b.primary && a.rule == b.rule && a.message == b.message);
    findings
}

/// Whether `new` tells more of the defect than `old`, which comes first in order.
fn replaces(new: &Finding, old: &Finding) -> bool {
    if supersedes(new.rule, old.rule) {
        return true;
    }
    if supersedes(old.rule, new.rule) {
        return false;
    }
    new.confidence.cmp(&old.confidence).then(new.severity.cmp(&old.severity)) == Ordering::Greater
}

fn absorb(mut kept: Finding, lost: Finding) -> Finding {
    let place = Label { location: lost.primary, role: Role::Context, message: lost.primary_label };
    for label in lost.labels.into_iter().chain([place]) {
        let known = |location: Location| {
            location == kept.primary || kept.labels.iter().any(|each| each.location == location)
        };
        if !known(label.location) && !label.message.is_empty() {
            kept.labels.push(label);
        }
    }
    kept
}
