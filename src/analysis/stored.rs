//! Answers as bytes and back. Files are named by their paths, since their numbers are those of one
//! run; rules by their ids.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::check::{Answers, Found};
use super::facts::FileFacts;
use super::suppress::{Directive, Directives, Form, known_name};
use crate::cache::{Reader, Writer};
use crate::diagnostic::{
    Confidence, Edit, Finding, Fix, Label, Note, NoteKind, Role, Safety, Severity,
};
use crate::project::Snapshot;
use crate::rules::bad_suppression::Fault;
use crate::rules::find;
use crate::source::{FileId, Location, Span};
use crate::syntax::Symbol;

/// What is kept of a package.
pub struct Stored {
    /// What its checks answered.
    pub answers: Answers,
    /// The facts of its files, by their place in it.
    pub files: Vec<FileFacts>,
}

/// The bytes of what is kept; `None` for what has no bytes: a path that is no text.
pub fn write(snapshot: &Snapshot, answers: &Answers, files: &[&FileFacts]) -> Option<Vec<u8>> {
    let mut out = Out::new(snapshot, answers.found.iter().map(|found| &found.finding))?;
    let writer = &mut out.writer;
    writer.list(answers.asked.iter(), |writer, name| writer.text(name));
    writer.list(files.iter(), |writer, facts| facts_to(writer, facts));
    writer.number(answers.found.len() as u64);
    answers.found.iter().for_each(|found| out.found(found));
    Some(out.writer.into_bytes())
}

/// The names by which code was looked for, of the bytes of what is kept.
pub fn names(bytes: &[u8]) -> Option<Vec<&str>> {
    let mut reader = Reader::new(bytes);
    reader.list(|reader| reader.text())?;
    reader.list(|reader| reader.text())
}

/// What was written; `None` if it cannot be understood, or speaks of a file that is not there.
pub fn read(snapshot: &Snapshot, bytes: &[u8]) -> Option<Stored> {
    let mut reader = Reader::new(bytes);
    let files = files_from(snapshot, &mut reader)?;
    let asked = reader.list(|reader| Some(Symbol::new(reader.text()?).as_str()))?;
    let facts = reader.list(facts_from)?;
    let mut input = In { reader, files };
    let count = input.reader.number()?;
    let found = (0..count).map(|_| input.found()).collect::<Option<Vec<Found>>>()?;
    let asked = asked.into_iter().collect();
    let answers = Answers { found, asked, ..Answers::default() };
    input.reader.is_at_end().then_some(Stored { answers, files: facts })
}

/// The bytes of findings; `None` for what has no bytes.
pub fn write_findings(snapshot: &Snapshot, findings: &[Finding]) -> Option<Vec<u8>> {
    let mut out = Out::new(snapshot, findings.iter())?;
    out.writer.number(findings.len() as u64);
    findings.iter().for_each(|finding| out.finding(finding));
    Some(out.writer.into_bytes())
}

/// The findings that were written; as [`read`].
pub fn read_findings(snapshot: &Snapshot, bytes: &[u8]) -> Option<Vec<Finding>> {
    let mut reader = Reader::new(bytes);
    let files = files_from(snapshot, &mut reader)?;
    let mut input = In { reader, files };
    let findings = input.list(In::finding)?;
    input.reader.is_at_end().then_some(findings)
}

fn files_from(snapshot: &Snapshot, reader: &mut Reader<'_>) -> Option<Vec<FileId>> {
    reader.list(|reader| Some(snapshot.file_at(Path::new(reader.text()?))?.id))
}

pub(super) fn locations(finding: &Finding) -> impl Iterator<Item = Location> {
    let labels = finding.labels.iter().map(|label| label.location);
    let edits = finding.fixes.iter().flat_map(|fix| &fix.edits).map(|edit| edit.location);
    [finding.primary, finding.defect].into_iter().chain(labels).chain(edits)
}

struct Out {
    writer: Writer,
    numbers: BTreeMap<FileId, u64>,
}

impl Out {
    /// Begins with the files that `findings` speak of; `None` if the path of one is no text.
    fn new<'f>(snapshot: &Snapshot, findings: impl Iterator<Item = &'f Finding>) -> Option<Out> {
        let ids: BTreeSet<FileId> =
            findings.flat_map(locations).map(|location| location.file).collect();
        let mut paths: Vec<(PathBuf, FileId)> =
            ids.into_iter().map(|id| (snapshot.file(id).path.clone(), id)).collect();
        // Numbers of files of dependencies depend on the order of work.
        paths.sort();
        if paths.iter().any(|(path, _)| path.to_str().is_none()) {
            return None;
        }
        let numbers = paths.iter().zip(0..).map(|((_, id), number)| (*id, number)).collect();
        let mut writer = Writer::default();
        writer
            .list(paths.iter(), |writer, (path, _)| writer.text(path.to_str().unwrap_or_default()));
        Some(Out { writer, numbers })
    }

    fn found(&mut self, found: &Found) {
        let Found { everywhere, finding, declaration } = found;
        self.writer.byte(u8::from(*everywhere));
        self.writer.text(declaration);
        self.finding(finding);
    }

    fn finding(&mut self, finding: &Finding) {
        let Finding {
            rule,
            severity,
            confidence,
            message,
            primary,
            primary_label,
            labels,
            why,
            help,
            fixes,
            defect,
        } = finding;
        self.writer.text(rule);
        self.writer.byte(place(&SEVERITIES, severity));
        self.writer.byte(place(&CONFIDENCES, confidence));
        self.writer.text(message);
        self.location(*primary);
        self.writer.text(primary_label);
        self.writer.number(labels.len() as u64);
        for Label { location, role, message } in labels {
            self.location(*location);
            self.writer.byte(place(&ROLES, role));
            self.writer.text(message);
        }
        self.writer.text(why);
        self.writer.text(help);
        self.writer.number(fixes.len() as u64);
        for Fix { message, safety, edits } in fixes {
            self.writer.text(message);
            self.writer.byte(place(&SAFETIES, safety));
            self.writer.number(edits.len() as u64);
            for Edit { location, replacement } in edits {
                self.location(*location);
                self.writer.text(replacement);
            }
        }
        self.location(*defect);
    }

    fn location(&mut self, location: Location) {
        self.writer.number(self.numbers[&location.file]);
        span_to(&mut self.writer, location.span);
    }
}

struct In<'b> {
    reader: Reader<'b>,
    files: Vec<FileId>,
}

impl In<'_> {
    fn found(&mut self) -> Option<Found> {
        let everywhere = self.reader.byte()? != 0;
        let declaration = self.text()?;
        Some(Found { everywhere, declaration, finding: self.finding()? })
    }

    fn finding(&mut self) -> Option<Finding> {
        Some(Finding {
            rule: find(self.reader.text()?)?.page.id,
            severity: of_place(&SEVERITIES, self.reader.byte()?)?,
            confidence: of_place(&CONFIDENCES, self.reader.byte()?)?,
            message: self.text()?,
            primary: self.location()?,
            primary_label: self.text()?,
            labels: self.list(In::label)?,
            why: self.text()?,
            help: self.text()?,
            fixes: self.list(In::fix)?,
            defect: self.location()?,
        })
    }

    fn label(&mut self) -> Option<Label> {
        Some(Label {
            location: self.location()?,
            role: of_place(&ROLES, self.reader.byte()?)?,
            message: self.text()?,
        })
    }

    fn fix(&mut self) -> Option<Fix> {
        Some(Fix {
            message: self.text()?,
            safety: of_place(&SAFETIES, self.reader.byte()?)?,
            edits: self.list(|input| {
                Some(Edit { location: input.location()?, replacement: input.text()? })
            })?,
        })
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.reader.number()?;
        (0..count).map(|_| read(self)).collect()
    }

    fn text(&mut self) -> Option<String> {
        self.reader.text().map(str::to_owned)
    }

    fn location(&mut self) -> Option<Location> {
        let file = *self.files.get(usize::try_from(self.reader.number()?).ok()?)?;
        Some(Location { file, span: span_from(&mut self.reader)? })
    }
}

fn facts_to(writer: &mut Writer, facts: &FileFacts) {
    let FileFacts { generated, note, directives } = facts;
    writer.byte(u8::from(*generated));
    writer.list(note.iter(), |writer, note| {
        let Note { path, line_column, kind, message } = note;
        writer.text(path);
        writer.list(line_column.iter(), |writer, &(line, column)| {
            writer.number(line.into());
            writer.number(column.into());
        });
        writer.byte(place(&NOTES, kind));
        writer.text(message);
    });
    let Directives { understood, faults } = directives;
    writer.list(understood.iter(), |writer, directive| {
        let Directive { comment, form, names, lines: (first, last) } = directive;
        span_to(writer, *comment);
        writer.byte(place(&FORMS, form));
        writer.list(names.iter(), |writer, name| writer.text(name));
        writer.number((*first).into());
        writer.number((*last).into());
    });
    writer.list(faults.iter(), |writer, (span, fault)| {
        span_to(writer, *span);
        let (number, name) = match fault {
            Fault::Space => (0, ""),
            Fault::UnknownDirective(word) => (1, word.as_str()),
            Fault::NoRule => (2, ""),
            Fault::UnknownRule(name) => (3, name.as_str()),
            Fault::NoReason => (4, ""),
            Fault::Unused(names) => (5, names.as_str()),
        };
        writer.byte(number);
        writer.text(name);
    });
}

fn facts_from(reader: &mut Reader<'_>) -> Option<FileFacts> {
    Some(FileFacts {
        generated: reader.byte()? != 0,
        note: reader.list(note_from)?.pop(),
        directives: Directives {
            understood: reader.list(directive_from)?,
            faults: reader.list(fault_from)?,
        },
    })
}

fn note_from(reader: &mut Reader<'_>) -> Option<Note> {
    Some(Note {
        path: reader.text()?.to_owned(),
        line_column: reader.list(|reader| Some((small(reader)?, small(reader)?)))?.pop(),
        kind: of_place(&NOTES, reader.byte()?)?,
        message: reader.text()?.to_owned(),
    })
}

fn directive_from(reader: &mut Reader<'_>) -> Option<Directive> {
    Some(Directive {
        comment: span_from(reader)?,
        form: of_place(&FORMS, reader.byte()?)?,
        names: reader.list(|reader| known_name(reader.text()?))?,
        lines: (small(reader)?, small(reader)?),
    })
}

fn fault_from(reader: &mut Reader<'_>) -> Option<(Span, Fault)> {
    let span = span_from(reader)?;
    let number = reader.byte()?;
    let name = reader.text()?.to_owned();
    let fault = match number {
        0 => Fault::Space,
        1 => Fault::UnknownDirective(name),
        2 => Fault::NoRule,
        3 => Fault::UnknownRule(name),
        4 => Fault::NoReason,
        5 => Fault::Unused(name),
        _ => return None,
    };
    Some((span, fault))
}

pub(super) fn span_to(writer: &mut Writer, span: Span) {
    writer.number(span.start.into());
    writer.number(u64::from(span.end) - u64::from(span.start));
}

pub(super) fn span_from(reader: &mut Reader<'_>) -> Option<Span> {
    let start = small(reader)?;
    Some(Span::new(start, start.checked_add(small(reader)?)?))
}

pub(super) fn small(reader: &mut Reader<'_>) -> Option<u32> {
    u32::try_from(reader.number()?).ok()
}

/// The values of small types, by the numbers that stand for them.
const SEVERITIES: [Severity; 3] = [Severity::Note, Severity::Warning, Severity::Error];
const CONFIDENCES: [Confidence; 3] = [Confidence::Low, Confidence::Medium, Confidence::High];
const ROLES: [Role; 6] =
    [Role::Made, Role::Started, Role::Stuck, Role::Left, Role::Condition, Role::Context];
const SAFETIES: [Safety; 2] = [Safety::Safe, Safety::Unsafe];
const FORMS: [Form; 3] = [Form::Straggler, Form::Staticcheck, Form::Golangci];
const NOTES: [NoteKind; 10] = [
    NoteKind::ParseError,
    NoteKind::TooLarge,
    NoteKind::NotRegular,
    NoteKind::NeverBuilt,
    NoteKind::Unreadable,
    NoteKind::Missing,
    NoteKind::BadModuleFile,
    NoteKind::DependencyBound,
    NoteKind::StepBound,
    NoteKind::InternalError,
];

pub(super) fn place<T: PartialEq>(all: &[T], value: &T) -> u8 {
    let place = all.iter().position(|each| each == value);
    place.expect("the lists are of all values") as u8
}

pub(super) fn of_place<T: Copy>(all: &[T], place: u8) -> Option<T> {
    all.get(usize::from(place)).copied()
}
