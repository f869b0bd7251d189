//! Findings mended: which of their fixes go together, and what the files say afterwards.

use std::collections::{BTreeMap, BTreeSet};

use super::{Report, suppress};
use crate::diagnostic::{Edit, Finding, Fix, Safety};
use crate::rules::bad_suppression;
use crate::source::{FileId, Location, SourceText, Span};
use crate::syntax;

/// A file with fixes in it.
#[derive(Clone, Debug)]
pub struct FixedFile {
    /// The path as shown to people.
    pub path: String,
    /// What was analysed.
    pub old: SourceText,
    /// What it says with the fixes.
    pub new: Vec<u8>,
}

/// What the fixes of a report make.
#[derive(Clone, Debug, Default)]
pub struct Fixes {
    /// The files that they change, by path.
    pub files: Vec<FixedFile>,
    /// How many findings they mend.
    pub findings: usize,
}

/// The fixes of `report`: of each finding the first one that is safe, or, with `unsafe_too`, the
/// first. A fix is taken whole or not at all: it is left for another run if one of its edits touches
/// an edit of another, if it changes a file that is not reported, or if a file would not parse
/// with it.
pub fn fixes(report: &Report, unsafe_too: bool) -> Fixes {
    let chosen: Vec<&Fix> =
        report.findings.iter().filter_map(|finding| chosen(finding, unsafe_too)).collect();
    let mut taken = Taken { report, edits: BTreeMap::new(), fixes: 0 };
    taken.take(&chosen);
    Fixes { files: fixed(report, &taken.edits), findings: taken.fixes }
}

/// The fixes that are taken so far.
struct Taken<'r> {
    report: &'r Report,
    edits: BTreeMap<FileId, Vec<Edit>>,
    fixes: usize,
}

impl Taken<'_> {
    /// Takes those of `fixes` that can be: all at once if the files parse with all of them, so that
    /// no file is parsed as often as it has fixes.
    fn take(&mut self, fixes: &[&Fix]) {
        let mut with = self.edits.clone();
        let (mut changed, mut count) = (BTreeSet::new(), 0);
        for fix in fixes {
            if !fix.edits.iter().all(|edit| is_free(self.report, &with, edit)) {
                continue;
            }
            count += 1;
            for edit in &fix.edits {
                changed.insert(edit.location.file);
                let edits = with.entry(edit.location.file).or_default();
                if !edits.contains(edit) {
                    edits.push(edit.clone());
                }
            }
        }
        let parses = changed.iter().all(|file| {
            let old = &self.report.file(*file).text;
            errors(&applied(old, &with[file].iter().collect::<Vec<_>>())) <= errors(old.bytes())
        });
        if parses {
            (self.edits, self.fixes) = (with, self.fixes + count);
        } else if fixes.len() > 1 {
            let (first, second) = fixes.split_at(fixes.len() / 2);
            self.take(first);
            self.take(second);
        }
    }
}

/// The files of `report` with a directive above the place of each finding, which gives `reason`, and
/// how many findings that suppresses. A line that begins inside of a string gets none.
pub fn ignores(report: &Report, reason: &str) -> Fixes {
    let mut rules: BTreeMap<FileId, BTreeMap<u32, BTreeSet<&str>>> = BTreeMap::new();
    for finding in report.findings.iter().filter(|finding| finding.rule != bad_suppression::ID) {
        let (file, at) = (finding.primary.file, finding.primary.span.start);
        let start = suppress::above(&report.file(file).text, at, "", "").0;
        let rules = rules.entry(file).or_default();
        rules.entry(start).or_default().insert(finding.rule);
    }
    let mut made: BTreeMap<FileId, Vec<Edit>> = BTreeMap::new();
    let mut lines: BTreeSet<(FileId, u32)> = BTreeSet::new();
    rules.retain(|&file, _| report.reported.contains(&report.file(file).path));
    for (&file, rules) in &rules {
        let text = &report.file(file).text;
        for start in outside_of_tokens(text, rules.keys().copied()) {
            let rules = rules[&start].iter().copied().collect::<Vec<_>>().join(",");
            let (_, replacement) = suppress::above(text, start, &rules, reason);
            let location = Location { file, span: Span::new(start, start) };
            made.entry(file).or_default().push(Edit { location, replacement });
            lines.insert((file, text.line(start)));
        }
    }
    let is_made = |finding: &&Finding| {
        let Location { file, span } = finding.primary;
        lines.contains(&(file, report.file(file).text.line(span.start)))
    };
    let findings = report.findings.iter().filter(is_made).count();
    Fixes { files: fixed(report, &made), findings }
}

/// Those of some starts of lines, in order, that are in no string and in no comment: where something
/// that can do no harm in either is a comment of its own.
fn outside_of_tokens(text: &SourceText, starts: impl Iterator<Item = u32>) -> Vec<u32> {
    const PROBE: &str = "//\n";
    let probe = |start| {
        let location = Location { file: FileId(0), span: Span::new(start, start) };
        Edit { location, replacement: PROBE.to_owned() }
    };
    let probes: Vec<Edit> = starts.map(probe).collect();
    let probed = syntax::parse(SourceText::new(applied(text, &probes.iter().collect::<Vec<_>>())));
    let comments: BTreeSet<u32> = probed.comments.iter().map(|comment| comment.start).collect();
    let starts = probes.iter().map(|probe| probe.location.span.start);
    let places = starts.zip((0..).step_by(PROBE.len()));
    places
        .filter(|(start, before)| comments.contains(&(start + before)))
        .map(|(at, _)| at)
        .collect()
}

fn fixed(report: &Report, edits: &BTreeMap<FileId, Vec<Edit>>) -> Vec<FixedFile> {
    let fixed = edits.iter().map(|(&id, edits)| {
        let file = report.file(id);
        let new = applied(&file.text, &edits.iter().collect::<Vec<_>>());
        FixedFile { path: file.path.clone(), old: file.text.clone(), new }
    });
    let mut files: Vec<FixedFile> = fixed.collect();
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn chosen(finding: &Finding, unsafe_too: bool) -> Option<&Fix> {
    let mut fixes = finding.fixes.iter().filter(|fix| !fix.edits.is_empty());
    fixes.find(|fix| unsafe_too || fix.safety == Safety::Safe)
}

/// Whether an edit is of a file that is reported, and touches none of those that are taken. One
/// that is the same as another (an import that both need) is that other.
fn is_free(report: &Report, taken: &BTreeMap<FileId, Vec<Edit>>, edit: &Edit) -> bool {
    let at = edit.location;
    report.reported.contains(&report.file(at.file).path)
        && taken.get(&at.file).into_iter().flatten().all(|other| {
            let other_span = other.location.span;
            other == edit || other_span.end < at.span.start || at.span.end < other_span.start
        })
}

/// The text with `edits`, which do not overlap, made in it.
fn applied(text: &SourceText, edits: &[&Edit]) -> Vec<u8> {
    let mut sorted = edits.to_vec();
    sorted.sort_by_key(|edit| edit.location.span.start);
    let old = text.bytes();
    let (mut new, mut done) = (Vec::with_capacity(old.len()), 0);
    for edit in sorted {
        let span = edit.location.span;
        new.extend_from_slice(&old[done..span.start as usize]);
        new.extend_from_slice(edit.replacement.as_bytes());
        done = span.end as usize;
    }
    new.extend_from_slice(&old[done..]);
    new
}

/// How many syntax errors a text has.
fn errors(text: &[u8]) -> usize {
    syntax::parse(SourceText::new(text.to_vec())).errors.len()
}
