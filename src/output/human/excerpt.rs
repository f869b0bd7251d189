//! The lines of source that one finding needs, made fit to be printed: hidden characters made
//! visible, bytes that are no text replaced, and what is far from any label on a long line left out.
//!
//! codespan speaks of offsets into one text per file. That text is made here from the lines
//! between the first and the last label, and offsets are translated both ways, so that the lines
//! and columns that are printed are those of the file itself.

use std::ops::Range;

use codespan_reporting::files::{Error, Files};

use crate::analysis::Report;
use crate::diagnostic::Finding;
use crate::output::{in_line, visible};
use crate::source::{FileId, Location, SourceText, Span};

/// Longer lines (in bytes) are cut around their labels.
const LONG_LINE: u32 = 240;

/// What stays on either side of a label on a long line, in bytes.
const MARGIN: u32 = 80;

/// The excerpts of all files that a finding speaks of, numbered from the primary one.
pub struct Excerpts<'a> {
    files: Vec<Excerpt<'a>>,
}

struct Excerpt<'a> {
    id: FileId,
    name: String,
    source: &'a SourceText,
    /// The lines one after the other, each ended by `\n`.
    text: String,
    lines: Vec<Line>,
    /// The number (from 1) of the first of `lines`.
    first_line: u32,
}

struct Line {
    /// The bytes of the line in the file, without its ending.
    original: Span,
    /// Where it stands in the excerpt's text, with its ending.
    range: Range<usize>,
    /// For each byte of the line, and for its end, the offset in the excerpt's text;
    /// `None` where text and line are the same.
    shifted: Option<Vec<usize>>,
}

impl<'a> Excerpts<'a> {
    /// The excerpts that `finding` needs.
    pub fn of(report: &'a Report, finding: &Finding) -> Excerpts<'a> {
        let mut files: Vec<(FileId, Vec<Span>)> = Vec::new();
        let labels = finding.labels.iter().map(|label| label.location);
        for location in [finding.primary].into_iter().chain(labels) {
            match files.iter_mut().find(|(id, _)| *id == location.file) {
                Some((_, spans)) => spans.push(location.span),
                None => files.push((location.file, vec![location.span])),
            }
        }
        let excerpt = |(id, spans): (FileId, Vec<Span>)| {
            let file = report.file(id);
            Excerpt::new(id, in_line(&file.path).into_owned(), &file.text, &spans)
        };
        Excerpts { files: files.into_iter().map(excerpt).collect() }
    }

    /// The number of the file of `location`, and its place in the excerpt's text.
    pub fn range(&self, location: Location) -> (usize, Range<usize>) {
        let index = self
            .files
            .iter()
            .position(|excerpt| excerpt.id == location.file)
            .expect("excerpts are made from all locations of the finding");
        let excerpt = &self.files[index];
        let start = excerpt.offset(location.span.start);
        (index, start..excerpt.offset(location.span.end).max(start))
    }

    fn file(&self, index: usize) -> Result<&Excerpt<'a>, Error> {
        self.files.get(index).ok_or(Error::FileMissing)
    }
}

impl<'a> Excerpt<'a> {
    fn new(id: FileId, name: String, source: &'a SourceText, spans: &[Span]) -> Excerpt<'a> {
        let line_of = |offset: u32| source.line(offset.min(source.bytes().len() as u32));
        let first_line = spans.iter().map(|span| line_of(span.start)).min().unwrap_or(1);
        let last_line = spans.iter().map(|span| line_of(span.end)).max().unwrap_or(1);
        let mut excerpt =
            Excerpt { id, name, source, text: String::new(), lines: Vec::new(), first_line };
        for number in first_line..=last_line {
            let span = source.line_span(number).expect("the line of an offset exists");
            excerpt.push_line(span, spans);
        }
        excerpt
    }

    fn push_line(&mut self, line: Span, labels: &[Span]) {
        let start = self.text.len();
        let bytes = self.source.slice(line);
        let plain = std::str::from_utf8(bytes)
            .ok()
            .filter(|_| line.end - line.start <= LONG_LINE)
            .filter(|text| !text.chars().any(|c| c != '\t' && visible::is_hidden(c)));
        let shifted = match plain {
            Some(text) => {
                self.text.push_str(text);
                None
            }
            None => Some(self.push_odd_line(line, labels)),
        };
        self.text.push('\n');
        self.lines.push(Line { original: line, range: start..self.text.len(), shifted });
    }

    fn push_odd_line(&mut self, line: Span, labels: &[Span]) -> Vec<usize> {
        let long = line.end - line.start > LONG_LINE;
        let near = |at: u32, offset: u32| at.abs_diff(offset) <= MARGIN;
        let kept = |at: u32| {
            !long || labels.iter().any(|label| near(at, label.start) || near(at, label.end))
        };
        let mut shifted = Vec::with_capacity((line.end - line.start) as usize + 1);
        let mut cutting = false;
        let mut at = line.start;
        for chunk in self.source.slice(line).utf8_chunks() {
            let replacement = (!chunk.invalid().is_empty())
                .then_some((char::REPLACEMENT_CHARACTER, chunk.invalid().len()));
            let valid = chunk.valid().chars().map(|c| (c, c.len_utf8()));
            for (c, length) in valid.chain(replacement) {
                if kept(at) {
                    shifted.extend(std::iter::repeat_n(self.text.len(), length));
                    visible::push_excerpt(&mut self.text, c);
                    cutting = false;
                } else {
                    if !cutting {
                        self.text.push('…');
                        cutting = true;
                    }
                    let ellipsis = self.text.len() - '…'.len_utf8();
                    shifted.extend(std::iter::repeat_n(ellipsis, length));
                }
                at += length as u32;
            }
        }
        shifted.push(self.text.len());
        shifted
    }

    /// Where the byte at `offset` of the file stands in the text.
    fn offset(&self, offset: u32) -> usize {
        let line = self.lines.partition_point(|line| line.original.start <= offset).max(1) - 1;
        let line = &self.lines[line];
        let within =
            (offset.clamp(line.original.start, line.original.end) - line.original.start) as usize;
        match &line.shifted {
            Some(shifted) => shifted[within],
            None => line.range.start + within,
        }
    }

    /// The offset in the file of the byte at `index` of the text.
    fn original(&self, line: &Line, index: usize) -> u32 {
        let within = match &line.shifted {
            Some(shifted) => shifted.partition_point(|&at| at < index),
            None => index - line.range.start,
        };
        line.original.start + (within as u32).min(line.original.end - line.original.start)
    }

    fn line_at(&self, line_index: usize) -> Result<&Line, Error> {
        let first = self.first_line as usize - 1;
        line_index
            .checked_sub(first)
            .and_then(|index| self.lines.get(index))
            .ok_or(Error::LineTooLarge { given: line_index, max: first + self.lines.len() - 1 })
    }
}

impl<'a> Files<'a> for Excerpts<'_> {
    type FileId = usize;
    type Name = &'a str;
    type Source = &'a str;

    fn name(&'a self, id: usize) -> Result<&'a str, Error> {
        Ok(&self.file(id)?.name)
    }

    fn source(&'a self, id: usize) -> Result<&'a str, Error> {
        Ok(&self.file(id)?.text)
    }

    fn line_index(&'a self, id: usize, byte_index: usize) -> Result<usize, Error> {
        let excerpt = self.file(id)?;
        let within = excerpt.lines.partition_point(|line| line.range.start <= byte_index);
        Ok(excerpt.first_line as usize - 1 + within.max(1) - 1)
    }

    fn column_number(
        &'a self,
        id: usize,
        line_index: usize,
        byte_index: usize,
    ) -> Result<usize, Error> {
        let excerpt = self.file(id)?;
        let offset = excerpt.original(excerpt.line_at(line_index)?, byte_index);
        Ok(excerpt.source.position(offset).column as usize)
    }

    fn line_range(&'a self, id: usize, line_index: usize) -> Result<Range<usize>, Error> {
        Ok(self.file(id)?.line_at(line_index)?.range.clone())
    }
}
