//! The directives by which people say that a finding shall not be told, and what becomes of them.
//!
//! ```go
//! go produce(ch) //straggler:ignore send-without-receiver the process ends with it
//! ```
//!
//! | form | of |
//! |---|---|
//! | `//straggler:ignore RULE[,RULE] REASON`, `//straggler:file-ignore RULE[,RULE] REASON` | straggler |
//! | `//lint:ignore RULE[,RULE] REASON`, `//lint:file-ignore RULE[,RULE] REASON` | [staticcheck](https://staticcheck.dev/docs/configuration/#ignoring-problems) |
//! | `//nolint`, `//nolint:straggler[,...]` | [golangci-lint](https://golangci-lint.run/docs/linters/false-positives/#nolint-directive) |
//!
//! A directive after code speaks of its line; one on a line of its own speaks of the line below
//! it. When that is the first line of a declaration at file level, it speaks of all of it. It holds
//! wherever it stands on the path of a finding: at the `go` statement as well as at the send.

use super::Selections;
use crate::diagnostic::Finding;
use crate::rules::bad_suppression::Fault;
use crate::rules::cancel_not_called;
use crate::rules::{GROUPS, registry};
use crate::source::{FileId, Location, SourceText, Span};
use crate::syntax::File;

/// What the comments of one file say to suppress.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// Those that are understood, in order.
    pub understood: Vec<Directive>,
    /// What is wrong with the others.
    pub faults: Vec<(Span, Fault)>,
}

/// A directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Where it stands.
    pub comment: Span,
    /// Who made it up.
    pub form: Form,
    /// Ids of rules and groups; empty for all rules.
    pub names: Vec<&'static str>,
    /// First and last line of what it speaks of, from 1.
    pub lines: (u32, u32),
}

/// Whose form a directive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// straggler's own.
    Straggler,
    /// staticcheck's.
    Staticcheck,
    /// golangci-lint's.
    Golangci,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Reach {
    /// A line, or the declaration that starts there.
    Place,
    File,
}

/// The directives of a run, and which of them were of use.
pub struct Suppressions<'d> {
    directives: Vec<(FileId, &'d Directive, bool)>,
    faults: Vec<(FileId, &'d (Span, Fault))>,
}

impl Directives {
    /// Those of a file.
    pub fn of(file: &File) -> Directives {
        let mut read = Directives::default();
        for &comment in &file.comments {
            read.comment(file, comment);
        }
        read
    }

    /// Whether a text can hold any at all; if not, it holds none.
    pub fn may_be_in(text: &SourceText) -> bool {
        ["straggler:", "lint:", "nolint"]
            .iter()
            .any(|word| memchr::memmem::find(text.bytes(), word.as_bytes()).is_some())
    }

    fn comment(&mut self, file: &File, comment: Span) {
        let Some(text) = line_comment(file, comment) else { return };
        let Some((form, reach, rest)) = directive(text) else {
            if let Some(fault) = misspelt(text) {
                self.faults.push((comment, fault));
            }
            return;
        };
        let names = match form {
            Form::Golangci => golangci_names(rest),
            Form::Staticcheck => staticcheck_names(rest),
            Form::Straggler => match reasoned_names(rest) {
                Ok(names) => Some(names),
                Err(fault) => {
                    self.faults.push((comment, fault));
                    None
                }
            },
        };
        let lines = match reach {
            Reach::File => Some((1, file.source.line_count())),
            Reach::Place => lines(file, comment, form),
        };
        if let Some(names) = names {
            // Where there is no line to speak of, no finding can be: the directive is unused.
            let lines = lines.unwrap_or((1, 0));
            self.understood.push(Directive { comment, form, names, lines });
        }
    }
}

impl<'d> Suppressions<'d> {
    /// Those of `files`.
    pub fn new(files: impl Iterator<Item = (FileId, &'d Directives)>) -> Suppressions<'d> {
        let mut all = Suppressions { directives: Vec::new(), faults: Vec::new() };
        for (id, directives) in files {
            let understood = directives.understood.iter();
            all.directives.extend(understood.map(|directive| (id, directive, false)));
            all.faults.extend(directives.faults.iter().map(|fault| (id, fault)));
        }
        all
    }

    /// The first directive that speaks of one of `finding`'s places; all that do are marked as
    /// used.
    pub fn covers(
        &mut self,
        finding: &Finding,
        text: &dyn Fn(FileId) -> SourceText,
    ) -> Option<Location> {
        if self.directives.is_empty() {
            return None;
        }
        let places: Vec<Location> = places(finding).collect();
        let mut covered = None;
        for (file, directive, used) in &mut self.directives {
            let here = |place: &Location| {
                let (first, last) = directive.lines;
                place.file == *file
                    && (first..=last).contains(&text(place.file).line(place.span.start))
            };
            if speaks_of(&directive.names, finding.rule) && places.iter().any(here) {
                *used = true;
                covered.get_or_insert(Location { file: *file, span: directive.comment });
            }
        }
        covered
    }

    /// What is wrong with the directives of straggler's own form in the files that are `reported`.
    /// One that suppresses nothing is told only if all of its rules have run, and only where
    /// `complete` says that all was there that they could have found.
    pub fn complaints(
        &self,
        selections: &Selections,
        reported: &dyn Fn(FileId) -> bool,
        complete: &dyn Fn(FileId) -> bool,
    ) -> Vec<(Location, Fault)> {
        let faults = self.faults.iter().filter(|(file, _)| reported(*file));
        let ran = |file: FileId, name: &'static str| {
            let selection = selections.of(file);
            registry()
                .iter()
                .filter(|entry| speaks_of(&[name], entry.page.id))
                .all(|entry| selection.least_confidence(entry.page.id).is_some())
        };
        let unused = self.directives.iter().filter(|(file, directive, used)| {
            directive.form == Form::Straggler
                && !used
                && reported(*file)
                && complete(*file)
                && directive.names.iter().all(|name| ran(*file, name))
        });
        let at = |file: FileId, span: Span| Location { file, span };
        faults
            .map(|&(file, (span, fault))| (at(file, *span), fault.clone()))
            .chain(unused.map(|&(file, directive, _)| {
                (at(file, directive.comment), Fault::Unused(directive.names.join("`, `")))
            }))
            .collect()
    }
}

/// The places at which a directive can speak of a finding.
pub fn places(finding: &Finding) -> impl Iterator<Item = Location> {
    let labels = finding.labels.iter().map(|label| label.location);
    [finding.primary].into_iter().chain(labels)
}

/// A directive of straggler's own form that speaks of the line of `offset`: where it is to be
/// inserted, and its line.
pub fn above(source: &SourceText, offset: u32, rules: &str, reason: &str) -> (u32, String) {
    let line = source.line_span(source.line(offset)).unwrap_or_default();
    let bytes = source.slice(line);
    let indent = bytes.len() - bytes.trim_ascii_start().len();
    let indent = String::from_utf8_lossy(&bytes[..indent]);
    let returns = source.bytes().get(line.end as usize) == Some(&b'\r');
    let ending = if returns { "\r\n" } else { "\n" };
    (line.start, format!("{indent}//straggler:ignore {rules} {reason}{ending}"))
}

/// Whether a directive may give `text` as its reason.
pub fn is_reason(text: &str) -> bool {
    let text = text.trim();
    !text.is_empty() && !text.starts_with("//") && !text.contains(char::is_control)
}

/// What is to be deleted with a comment: the space before it, or its whole line; and the empty
/// comment line above it if no comment follows, as gofmt would.
pub fn removal(source: &SourceText, comment: Span) -> Span {
    let number = source.line(comment.start);
    let Some(line) = source.line_span(number) else { return comment };
    let before = source.slice(Span::new(line.start, comment.start));
    let code = before.trim_ascii_end().len() as u32;
    match code {
        0 => {
            let below = source.line_span(number + 1);
            let is_last =
                below.is_none_or(|span| !source.slice(span).trim_ascii().starts_with(b"//"));
            let above = number.checked_sub(1).and_then(|number| source.line_span(number));
            let start = match above {
                Some(above) if is_last && source.slice(above).trim_ascii() == b"//" => above.start,
                _ => line.start,
            };
            Span::new(start, source.bytes().len().min(line.end as usize + 1) as u32)
        }
        code => Span::new(line.start + code, comment.end),
    }
}

/// Whether `names` speak of `rule`: by its id or its group, or of all rules.
fn speaks_of(names: &[&'static str], rule: &str) -> bool {
    let group = || crate::rules::find(rule).map_or("", |entry| entry.page.group);
    names.is_empty() || names.iter().any(|&name| name == rule || name == group())
}

/// The text of a `//` comment, without the slashes.
fn line_comment(file: &File, comment: Span) -> Option<&str> {
    std::str::from_utf8(file.source.slice(comment).strip_prefix(b"//")?).ok()
}

fn directive(text: &str) -> Option<(Form, Reach, &str)> {
    const DIRECTIVES: [(&str, Form, Reach); 4] = [
        ("straggler:ignore", Form::Straggler, Reach::Place),
        ("straggler:file-ignore", Form::Straggler, Reach::File),
        ("lint:ignore", Form::Staticcheck, Reach::Place),
        ("lint:file-ignore", Form::Staticcheck, Reach::File),
    ];
    if let Some(rest) = text.trim_start().strip_prefix("nolint") {
        let ends = rest.is_empty() || rest.starts_with([' ', '\t', ':']);
        return ends.then_some((Form::Golangci, Reach::Place, rest));
    }
    DIRECTIVES.iter().find_map(|&(word, form, reach)| {
        let rest = text.strip_prefix(word)?;
        (rest.is_empty() || rest.starts_with([' ', '\t'])).then_some((form, reach, rest))
    })
}

/// What is meant for straggler, and is no directive.
fn misspelt(text: &str) -> Option<Fault> {
    let trimmed = text.trim_start();
    let word = trimmed.split_whitespace().next().filter(|word| word.starts_with("straggler:"))?;
    match directive(trimmed) {
        Some(_) => Some(Fault::Space),
        None => Some(Fault::UnknownDirective(word.to_owned())),
    }
}

/// The rules of `RULE[,RULE] REASON`; a comment after them is no reason.
fn reasoned_names(rest: &str) -> Result<Vec<&'static str>, Fault> {
    let rest = rest.trim();
    let (names, reason) = rest.split_once([' ', '\t']).unwrap_or((rest, ""));
    if names.is_empty() || names.starts_with("//") {
        return Err(Fault::NoRule);
    }
    let known = |name: &str| known_name(name).ok_or_else(|| Fault::UnknownRule(name.to_owned()));
    let names = names.split(',').map(known).collect::<Result<Vec<_>, Fault>>()?;
    match reason.trim_start() {
        reason if reason.is_empty() || reason.starts_with("//") => Err(Fault::NoReason),
        _ => Ok(names),
    }
}

/// The list may hold checks of staticcheck too; without a reason staticcheck refuses all of it.
fn staticcheck_names(rest: &str) -> Option<Vec<&'static str>> {
    let (names, reason) = rest.trim().split_once([' ', '\t'])?;
    let known: Vec<&'static str> = names.split(',').filter_map(known_name).collect();
    (!known.is_empty() && !reason.trim().is_empty()).then_some(known)
}

/// `nolint` alone is for all linters; a list may name straggler, or its rules, or `go vet`, which says of a
/// cancel function that is lost what straggler says.
fn golangci_names(rest: &str) -> Option<Vec<&'static str>> {
    let Some(list) = rest.strip_prefix(':') else { return Some(Vec::new()) };
    let list = list.split("//").next().unwrap_or_default();
    let all = |name: &str| name == "all" || name == "straggler";
    let names: Vec<&str> = list.split(',').map(str::trim).collect();
    if names.iter().any(|name| all(name)) {
        return Some(Vec::new());
    }
    let known: Vec<&'static str> = names
        .into_iter()
        .filter_map(|name| match name {
            "govet" | "lostcancel" => Some(cancel_not_called::ID),
            name => known_name(name),
        })
        .collect();
    (!known.is_empty()).then_some(known)
}

/// The id of a rule or a group by its text.
pub fn known_name(name: &str) -> Option<&'static str> {
    let rules = registry().iter().map(|entry| entry.page.id);
    rules.chain(GROUPS.iter().map(|group| group.id)).find(|&known| known == name)
}

/// The lines that a directive in the comment at `comment` speaks of.
fn lines(file: &File, comment: Span, form: Form) -> Option<(u32, u32)> {
    let source = &file.source;
    let own = source.line(comment.start);
    let before = source.line_span(own).map(|line| Span::new(line.start, comment.start))?;
    let line = match source.slice(before).trim_ascii().is_empty() {
        false => own,
        true => line_below(source, own)?,
    };
    let starts_here = |span: Span| source.line(span.start) == line;
    if form == Form::Golangci && file.package.is_some_and(|name| starts_here(name.span)) {
        return Some((1, source.line_count()));
    }
    let declaration =
        file.top_level.iter().map(|&id| file.decl(id).span).find(|&span| starts_here(span));
    Some((line, declaration.map_or(line, |span| source.line(span.end))))
}

/// The line below `line` and the comments that follow it.
fn line_below(source: &SourceText, line: u32) -> Option<u32> {
    (line + 1..=source.line_count()).find(|&below| {
        let text = source.line_span(below).map_or(&b""[..], |span| source.slice(span));
        !text.trim_ascii_start().starts_with(b"//")
    })
}
