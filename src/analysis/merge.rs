//! One defect, one finding; and the order in which findings are told.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::{find, supersedes};
use crate::source::{FileId, Location};

/// The findings by path and place. Of those with one defect the most specific rule's is kept, or
/// else the surest one, or of two places the one that rests on the fewest conditions; places that only the
/// others speak of are added to its labels, but for what was decided there. Where the rule's page says so,
/// findings at two places stay apart. `display` is the path of a file as shown to people.
pub fn merge(display: &dyn Fn(FileId) -> String, findings: Vec<Finding>) -> Vec<Finding> {
    let findings = sorted(display, findings);
    let mut by_defect: BTreeMap<Location, Vec<Finding>> = BTreeMap::new();
    for finding in findings {
        let of_defect = by_defect.entry(finding.defect).or_default();
        let merged = match of_defect.iter().position(|kept| !are_apart(kept, &finding)) {
            Some(at) => match of_defect.swap_remove(at) {
                kept if replaces(&finding, &kept) => absorb(finding, kept),
                kept => absorb(kept, finding),
            },
            None => finding,
        };
        of_defect.push(merged);
    }
    sorted(display, by_defect.into_values().flatten().collect())
}

/// Whether two findings with one defect are two mistakes: those of a rule whose page says so, at two places that have
/// nothing of their stories before them in common.
fn are_apart(one: &Finding, other: &Finding) -> bool {
    one.rule == other.rule
        && find(one.rule).is_some_and(|rule| rule.page.apart)
        && !overlap(one.primary, other.primary)
        && before(one).is_none_or(|place| before(other) != Some(place))
}

/// The last place above the primary one, in its file, that a finding tells of.
fn before(finding: &Finding) -> Option<Location> {
    let Location { file, span } = finding.primary;
    let places = finding.labels.iter().map(|label| label.location);
    places
        .filter(|place| place.file == file && place.span.start < span.start)
        .max_by_key(|place| place.span.start)
}

fn overlap(one: Location, other: Location) -> bool {
    one.file == other.file && one.span.start < other.span.end && other.span.start < one.span.end
}

/// Sorted by what people see; equal ones once.
pub fn sorted(display: &dyn Fn(FileId) -> String, mut findings: Vec<Finding>) -> Vec<Finding> {
    findings.sort_by_cached_key(|finding| {
        (display(finding.primary.file), finding.primary.span, finding.rule, finding.message.clone())
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
    let surer = new.confidence.cmp(&old.confidence).then(new.severity.cmp(&old.severity));
    // Of two places the one for which less has to come together tells the simpler story.
    let simpler = || {
        let conditions = |finding: &Finding| {
            finding.labels.iter().filter(|label| label.role == Role::Condition).count()
        };
        match overlap(new.primary, old.primary) {
            true => Ordering::Equal,
            false => conditions(old).cmp(&conditions(new)),
        }
    };
    surer.then_with(simpler) == Ordering::Greater
}

fn absorb(mut kept: Finding, lost: Finding) -> Finding {
    let place = Label { location: lost.primary, role: Role::Context, message: lost.primary_label };
    // What was decided on another way is no part of this story.
    let told = lost.labels.into_iter().filter(|label| label.role != Role::Condition);
    for label in told.chain([place]) {
        let known = |location: Location| {
            location == kept.primary || kept.labels.iter().any(|each| each.location == location)
        };
        if !known(label.location) && !label.message.is_empty() {
            kept.labels.push(label);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::{Confidence, Severity};
    use crate::source::Span;

    fn at(file: u32, offset: u32) -> Location {
        Location { file: FileId(file), span: Span::new(offset, offset + 1) }
    }

    fn finding(rule: &'static str, primary: Location, defect: Location) -> Finding {
        Finding {
            rule,
            severity: Severity::Error,
            confidence: Confidence::Medium,
            message: format!("of {rule}"),
            primary,
            primary_label: format!("label of {rule}"),
            labels: Vec::new(),
            why: String::new(),
            help: String::new(),
            fixes: Vec::new(),
            defect,
        }
    }

    /// Prints what is left of `findings`, in order, with the labels; files are named `z.go`,
    /// `y.go`, ... by number, so that their order is not that of their numbers.
    fn check(findings: Vec<Finding>, expected: &[&str]) {
        let display = |id: FileId| format!("{}.go", (b'z' - id.0 as u8) as char);
        let told: Vec<String> = merge(&display, findings)
            .iter()
            .map(|finding| {
                let mut told = format!(
                    "{}:{} {}",
                    display(finding.primary.file),
                    finding.primary.span.start,
                    finding.rule
                );
                for label in &finding.labels {
                    told += &format!(", {} {}", label.location.span.start, label.message);
                }
                told
            })
            .collect();
        assert_eq!(told, expected);
    }

    #[test]
    fn findings_come_by_path_and_place_and_equal_ones_once() {
        check(
            vec![
                finding("a", at(0, 9), at(0, 9)),
                finding("a", at(0, 2), at(0, 2)),
                finding("a", at(1, 5), at(1, 5)),
                finding("a", at(0, 9), at(0, 9)),
            ],
            &["y.go:5 a", "z.go:2 a", "z.go:9 a"],
        );
    }

    #[test]
    fn one_defect_is_one_finding_by_the_surest_rule() {
        let mut sure = finding("b", at(0, 7), at(0, 1));
        sure.confidence = Confidence::High;
        check(
            vec![finding("a", at(0, 5), at(0, 1)), sure, finding("c", at(0, 7), at(0, 1))],
            &["z.go:7 b, 5 label of a"],
        );
    }

    #[test]
    fn two_mistakes_with_one_defect_stay_apart() {
        let two = |rule| vec![finding(rule, at(0, 5), at(0, 1)), finding(rule, at(0, 7), at(0, 1))];
        check(two("double-lock"), &["z.go:5 double-lock", "z.go:7 double-lock"]);
        check(two("nil-channel"), &["z.go:5 nil-channel, 7 label of nil-channel"]);
    }
}
