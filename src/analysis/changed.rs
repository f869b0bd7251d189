//! Which lines of a file a change touches, and the findings that have to do with them.

use std::collections::BTreeMap;

use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::Report;
use crate::diagnostic::Finding;

/// The lines of a file that a change touches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChangedLines {
    /// All of them: the file is new.
    All,
    /// From the first to the last of each pair, from 1, ascending.
    Ranges(Vec<(u32, u32)>),
}

/// A patch that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatchError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong: lower case, no full stop.
    pub message: &'static str,
}

impl ChangedLines {
    /// The lines of `new` that are not in `old`, and the two between which lines are gone. How
    /// lines end makes no difference.
    pub fn between(old: &[u8], new: &[u8]) -> ChangedLines {
        let ops = capture_diff_slices(Algorithm::Myers, &lines(old), &lines(new));
        let mut ranges = Vec::new();
        for op in ops {
            let new = op.new_range();
            let (start, end) = (new.start as u32, new.end as u32);
            match op {
                DiffOp::Equal { .. } => {}
                DiffOp::Delete { .. } => ranges.push((start.max(1), start + 1)),
                DiffOp::Insert { .. } | DiffOp::Replace { .. } => ranges.push((start + 1, end)),
            }
        }
        ChangedLines::Ranges(ranges)
    }

    /// The lines that a unified diff touches, by the path of the file after the change as the diff
    /// writes it, without the `b/` that git puts before it.
    pub fn of_patch(patch: &str) -> Result<BTreeMap<String, ChangedLines>, PatchError> {
        let mut files: BTreeMap<String, Vec<(u32, u32)>> = BTreeMap::new();
        let mut path: Option<String> = None;
        // How many lines of the hunk are to come on either side, and the next line of the new one.
        let (mut old_left, mut new_left, mut at) = (0, 0, 0);
        for (line, text) in (1..).zip(patch.lines()) {
            if old_left > 0 || new_left > 0 {
                let touched = path.as_ref().and_then(|path| files.get_mut(path));
                let ranges = touched.ok_or(PatchError { line, message: NO_FILE })?;
                match text.as_bytes().first() {
                    Some(b'+') => {
                        ranges.push((at, at));
                        (new_left, at) = (u32::saturating_sub(new_left, 1), at + 1);
                    }
                    Some(b'-') => {
                        ranges.push((at.saturating_sub(1).max(1), at));
                        old_left = u32::saturating_sub(old_left, 1);
                    }
                    Some(b' ') | None => {
                        old_left = old_left.saturating_sub(1);
                        (new_left, at) = (new_left.saturating_sub(1), at + 1);
                    }
                    Some(b'\\') => {}
                    Some(_) => {
                        return Err(PatchError { line, message: "expected a line of a hunk" });
                    }
                }
            } else if let Some(name) = text.strip_prefix("+++ ") {
                let name = name.split('\t').next().unwrap_or_default();
                path = (name != "/dev/null").then(|| unquoted(name));
                if let Some(path) = &path {
                    files.entry(path.clone()).or_default();
                }
            } else if let Some(hunk) = text.strip_prefix("@@ -") {
                (old_left, new_left, at) = counts(hunk)
                    .ok_or(PatchError { line, message: "expected `@@ -A,B +C,D @@`" })?;
                if path.is_none() && new_left > 0 {
                    return Err(PatchError { line, message: NO_FILE });
                }
                if path.is_none() {
                    old_left = 0;
                }
            }
        }
        Ok(files.into_iter().map(|(path, lines)| (path, ChangedLines::Ranges(lines))).collect())
    }

    fn touches(&self, from: u32, to: u32) -> bool {
        match self {
            ChangedLines::All => true,
            ChangedLines::Ranges(ranges) => {
                ranges.iter().any(|&(first, last)| first <= to && from <= last)
            }
        }
    }
}

const NO_FILE: &str = "expected `+++ FILE` before the first hunk of a file";

/// The lines of a text, without what ends them.
fn lines(text: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = text
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();
    if lines.last().is_some_and(|last| last.is_empty()) {
        lines.pop();
    }
    lines
}

/// The numbers of old and new lines and the first new line of a hunk, from behind `@@ -`.
fn counts(hunk: &str) -> Option<(u32, u32, u32)> {
    let (old, rest) = hunk.split_once(" +")?;
    let (new, _) = rest.split_once(" @@")?;
    let pair = |text: &str| match text.split_once(',') {
        Some((start, count)) => Some((start.parse().ok()?, count.parse().ok()?)),
        None => Some((text.parse().ok()?, 1)),
    };
    let ((_, old_count), (start, new_count)): ((u32, u32), (u32, u32)) = (pair(old)?, pair(new)?);
    // A hunk without new lines stands behind the line it names.
    Some((old_count, new_count, if new_count == 0 { start + 1 } else { start }))
}

/// The path that a diff writes, which git quotes as C does if it holds anything unusual.
fn unquoted(name: &str) -> String {
    let path = match name.strip_prefix('"').and_then(|name| name.strip_suffix('"')) {
        None => name.to_owned(),
        Some(quoted) => {
            let mut bytes = Vec::new();
            let mut rest = quoted.bytes().peekable();
            while let Some(byte) = rest.next() {
                if byte != b'\\' {
                    bytes.push(byte);
                    continue;
                }
                match rest.next() {
                    Some(b'n') => bytes.push(b'\n'),
                    Some(b't') => bytes.push(b'\t'),
                    Some(b'r') => bytes.push(b'\r'),
                    Some(first @ b'0'..=b'7') => {
                        let mut value = u32::from(first - b'0');
                        for _ in 0..2 {
                            if let Some(digit) = rest.next_if(|digit| matches!(digit, b'0'..=b'7'))
                            {
                                value = value * 8 + u32::from(digit - b'0');
                            }
                        }
                        bytes.push(value as u8);
                    }
                    Some(other) => bytes.push(other),
                    None => {}
                }
            }
            String::from_utf8_lossy(&bytes).into_owned()
        }
    };
    match path.strip_prefix("b/") {
        Some(inside) => inside.to_owned(),
        None => path,
    }
}

impl Report {
    /// Leaves out the findings of which no place is on a line that `changed` gives for its file (a
    /// path as shown to people), and counts them.
    pub fn keep_changed(&mut self, changed: &dyn Fn(&str) -> ChangedLines) {
        let of_file: BTreeMap<_, _> =
            self.files.iter().map(|(&id, file)| (id, changed(&file.path))).collect();
        let texts = std::mem::take(&mut self.files);
        let is_new = |finding: &Finding| {
            let labels = finding.labels.iter().map(|label| label.location);
            [finding.primary, finding.defect].into_iter().chain(labels).any(|at| {
                let (Some(lines), Some(file)) = (of_file.get(&at.file), texts.get(&at.file)) else {
                    return false;
                };
                lines.touches(file.text.line(at.span.start), file.text.line(at.span.end))
            })
        };
        let before = self.findings.len();
        self.retain(|finding, _| is_new(finding));
        self.files = texts;
        self.counts.unchanged += before - self.findings.len();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_between(old: &str, new: &str, expected: &[(u32, u32)]) {
        let changed = ChangedLines::between(old.as_bytes(), new.as_bytes());
        assert_eq!(changed, ChangedLines::Ranges(expected.to_vec()));
    }

    #[test]
    fn lines_are_new_or_stand_beside_one_that_is_gone() {
        check_between("a\nb\nc\n", "a\nb\nc\n", &[]);
        check_between("a\r\nb\r\n", "a\nb\n", &[]);
        check_between("a\nb\nc\n", "a\nx\ny\nc\n", &[(2, 3)]);
        check_between("a\nc\n", "a\nb\nc\n", &[(2, 2)]);
        check_between("a\nb\nc\n", "a\nc\n", &[(1, 2)]);
        check_between("", "a\nb\n", &[(1, 2)]);
    }

    #[track_caller]
    fn check_patch(patch: &str, expected: &[(&str, &[(u32, u32)])]) {
        let expected = expected
            .iter()
            .map(|&(path, lines)| (path.to_owned(), ChangedLines::Ranges(lines.to_vec())))
            .collect();
        assert_eq!(ChangedLines::of_patch(patch), Ok(expected));
    }

    #[test]
    fn a_patch_names_files_and_lines() {
        check_patch(
            "diff --git a/x.go b/x.go\nindex 1..2 100644\n--- a/x.go\n+++ b/x.go\n\
             @@ -1,3 +1,4 @@ func f() {\n a\n-b\n+c\n+d\n e\n@@ -9 +10 @@\n-x\n+y\n\\ No newline at end of file\n",
            &[("x.go", &[(1, 2), (2, 2), (3, 3), (9, 10), (10, 10)])],
        );
        check_patch(
            "--- /dev/null\n+++ b/a b.go\t2026\n@@ -0,0 +1,2 @@\n+a\n+b\n--- a/gone.go\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n",
            &[("a b.go", &[(1, 1), (2, 2)])],
        );
        check_patch(
            "--- x\n+++ \"b/\\303\\244\\\"\\t.go\"\n@@ -3,1 +2,0 @@\n-+++ no.go\n",
            &[("ä\"\t.go", &[(2, 3)])],
        );
    }

    #[test]
    fn what_is_no_patch_is_refused_with_its_line() {
        let error = |text| ChangedLines::of_patch(text).expect_err("an error").line;
        assert_eq!(error("@@ -1 +1 @@\n-a\n+b\n"), 1);
        assert_eq!(error("+++ b/x.go\n@@ -1 1 @@\n"), 2);
        assert_eq!(error("+++ b/x.go\n@@ -1,2 +1,2 @@\n+a\nb\n"), 4);
    }
}
