//! The findings that a team has put up with for the time being, in a text file that merges well.
//!
//! A line is an entry: the fingerprint of a finding, its rule, its file relative to the baseline's
//! directory, and its message, with tabs between them. The fingerprint alone tells whether a
//! finding is known; the rest is for readers, and for telling whether an entry is stale.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use super::{Report, Suppressed};

/// The first line of the file.
const HEADER: &str = "# straggler baseline 1: findings that are put up with for now; \
                      `straggler baseline update` drops those that are gone";

const FINGERPRINT_DIGITS: usize = 32;

/// The entries of a baseline, by fingerprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline {
    entries: BTreeMap<String, Entry>,
}

/// What is said of a finding besides its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// The file, relative to the directory of the baseline.
    pub path: String,
    /// The rule's id.
    pub rule: String,
    /// The finding's message.
    pub message: String,
}

/// A line of a baseline that is none.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaselineError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong: lower case, no full stop.
    pub message: &'static str,
}

impl Baseline {
    /// Reads the text of a baseline. Empty lines and lines that begin with `#` say nothing.
    pub fn parse(text: &str) -> Result<Baseline, BaselineError> {
        let mut entries = BTreeMap::new();
        for (line, text) in (1..).zip(text.lines()) {
            if text.trim().is_empty() || text.starts_with('#') {
                continue;
            }
            if ["<<<<<<<", "=======", ">>>>>>>"].iter().any(|mark| text.starts_with(mark)) {
                return Err(BaselineError { line, message: "a merge conflict is not resolved" });
            }
            let mut columns = text.splitn(4, '\t');
            let [fingerprint, rule, path, message] =
                std::array::from_fn(|_| columns.next().unwrap_or_default());
            let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            if fingerprint.len() != FINGERPRINT_DIGITS || !fingerprint.bytes().all(is_digit) {
                let message = "expected the fingerprint of a finding: 32 hexadecimal digits";
                return Err(BaselineError { line, message });
            }
            if rule.is_empty() || path.is_empty() {
                return Err(BaselineError { line, message: "expected a rule and a path" });
            }
            let entry =
                Entry { path: path.to_owned(), rule: rule.to_owned(), message: message.to_owned() };
            entries.insert(fingerprint.to_owned(), entry);
        }
        Ok(Baseline { entries })
    }

    /// The findings of `report`, whose paths `relative` makes relative to the baseline's directory.
    pub fn of(report: &Report, relative: &dyn Fn(&str) -> String) -> Baseline {
        let entries = report.findings.iter().zip(&report.fingerprints).map(|(finding, print)| {
            let entry = Entry {
                path: in_column(&relative(&report.file(finding.primary.file).path)),
                rule: finding.rule.to_owned(),
                message: in_column(&finding.message),
            };
            (print.clone(), entry)
        });
        Baseline { entries: entries.collect() }
    }

    /// The text of the file, sorted by path and rule.
    pub fn to_text(&self) -> String {
        let mut lines: Vec<_> = self.entries.iter().collect();
        lines.sort_by_key(|&(fingerprint, entry)| (entry, fingerprint));
        let mut text = format!("{HEADER}\n");
        for (fingerprint, Entry { path, rule, message }) in lines {
            writeln!(text, "{fingerprint}\t{rule}\t{path}\t{message}").expect("memory suffices");
        }
        text
    }

    /// Whether a finding with this fingerprint is known.
    pub fn holds(&self, fingerprint: &str) -> bool {
        self.entries.contains_key(fingerprint)
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is no entry.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The entries that `found` does not have and for which `is_gone` says of the path that there
    /// is nothing any more that they could speak of.
    pub fn stale(&self, found: &Baseline, is_gone: &dyn Fn(&str) -> bool) -> Baseline {
        let stale = self
            .entries
            .iter()
            .filter(|(fingerprint, entry)| !found.holds(fingerprint) && is_gone(&entry.path));
        Baseline { entries: stale.map(|(key, entry)| (key.clone(), entry.clone())).collect() }
    }

    /// The entries without those of `others`.
    pub fn without(&self, others: &Baseline) -> Baseline {
        let left = self.entries.iter().filter(|(fingerprint, _)| !others.holds(fingerprint));
        Baseline { entries: left.map(|(key, entry)| (key.clone(), entry.clone())).collect() }
    }

    /// The entries of both; of an entry that both have, what `newer` says.
    pub fn with(&self, newer: &Baseline) -> Baseline {
        let mut entries = self.entries.clone();
        entries.extend(newer.entries.clone());
        Baseline { entries }
    }

    /// The entries, by path and rule.
    pub fn entries(&self) -> BTreeSet<&Entry> {
        self.entries.values().collect()
    }
}

impl Report {
    /// Leaves out the findings that `baseline` holds, and counts them.
    pub fn subtract(&mut self, baseline: &Baseline) {
        let held = self.retain(|_, fingerprint| !baseline.holds(fingerprint));
        self.counts.baselined += held.len();
        self.suppressed.extend(held.into_iter().map(|(finding, fingerprint)| Suppressed {
            finding,
            fingerprint,
            directive: None,
        }));
    }
}

/// `text` without what would end its column.
fn in_column(text: &str) -> String {
    text.chars()
        .map(|char| if char.is_control() { char::REPLACEMENT_CHARACTER } else { char })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "0123456789abcdef0123456789abcdef\tlock-order\tb/x.go\tfirst\n";
    const TWO: &str = "fedcba9876543210fedcba9876543210\tdouble-lock\ta/x.go\tsecond\twith a tab\n";

    fn parse(text: &str) -> Baseline {
        Baseline::parse(text).expect("a baseline")
    }

    #[test]
    fn what_is_written_is_read_again_and_sorted_by_path() {
        let both = parse(&format!("# about\n\n{ONE}{TWO}"));
        assert_eq!(both.to_text(), format!("{HEADER}\n{TWO}{ONE}"));
        assert_eq!(parse(&both.to_text()), both);
        assert!(both.holds("0123456789abcdef0123456789abcdef") && !both.holds("0"));
    }

    #[test]
    fn an_entry_is_stale_if_it_is_not_found_where_it_was_looked_for() {
        let (one, both) = (parse(ONE), parse(&format!("{ONE}{TWO}")));
        assert_eq!(both.stale(&one, &|_| true), parse(TWO));
        assert_eq!(both.stale(&one, &|path| path == "elsewhere.go"), Baseline::default());
        assert_eq!(both.without(&one).with(&one), both);
    }

    #[track_caller]
    fn check_error(text: &str, line: usize, message: &'static str) {
        assert_eq!(Baseline::parse(text), Err(BaselineError { line, message }));
    }

    #[test]
    fn what_is_no_entry_is_refused_with_its_line() {
        let digits = "expected the fingerprint of a finding: 32 hexadecimal digits";
        check_error(&format!("{ONE}lock-order b.go\n"), 2, digits);
        check_error("0123456789ABCDEF0123456789ABCDEF\ta\tb\tc\n", 1, digits);
        check_error(
            "0123456789abcdef0123456789abcdef\tlock-order\n",
            1,
            "expected a rule and a path",
        );
        check_error(&format!("{ONE}<<<<<<< HEAD\n{TWO}"), 2, "a merge conflict is not resolved");
    }
}
