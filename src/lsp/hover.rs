//! What is told of the place that somebody points at: of a directive the pages of its rules, of a
//! `go` statement how the goroutine ends, of a `make` of a channel who uses it. Only what is known
//! is said.
//!
//! The same in a line each is what the lenses of a file show.

use std::path::Path;

use crate::flow::{CallEnd, Exit, Step};
use crate::index::{Builtin, Callee, Func, FuncId, Index, Type};
use crate::project::Snapshot;
use crate::rules::{self, page::Page};
use crate::source::{FileId, Location, SourceText, Span};
use crate::summary::{
    Act, At, BodyId, Cancel, Guard, Mode, Place, Read, Root, Spawn, Summaries, Wait, What,
    place_name,
};
use crate::syntax::{ExprId, ExprKind, Node, StmtKind};

/// What is told of a place, and the text that it is about.
#[derive(Debug)]
pub struct Told {
    /// The text.
    pub span: Span,
    /// What is told, in Markdown.
    pub markdown: String,
    /// The same in a line without any marks.
    pub line: String,
}

/// Which places somebody wants to be told of.
#[derive(Clone, Copy, Debug)]
pub enum About {
    /// That at a byte.
    Place(u32),
    /// All of the file.
    All,
}

/// The page of the rule that a directive at `offset` names there, or of the first that it names.
pub fn of_directive(text: &SourceText, offset: u32) -> Option<Told> {
    let line = text.line_span(text.line(offset))?;
    let bytes = text.slice(line);
    let directives = [&b"//straggler:"[..], b"//lint:", b"//nolint:"];
    let at = directives.iter().find_map(|word| memchr::memmem::find(bytes, word))?;
    let comment = Span::new(line.start + at as u32, line.end);
    if !comment.contains_offset(offset) {
        return None;
    }
    let is_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
    let mut named = Vec::new();
    let mut start = 0;
    for word in text.slice(comment).split(|byte| !is_name(byte)) {
        let span = Span::new(comment.start + start, comment.start + start + word.len() as u32);
        start += word.len() as u32 + 1;
        let entry = std::str::from_utf8(word).ok().and_then(rules::find);
        named.extend(entry.map(|entry| (span, &entry.page)));
    }
    let pointed_at = named.iter().find(|(span, _)| span.contains_offset(offset));
    let (span, page) = pointed_at.or(named.first())?;
    let line = page.summary.trim().to_owned();
    Some(Told { span: *span, markdown: of_page(page), line })
}

/// A page, in Markdown.
pub fn of_page(page: &Page) -> String {
    let mut text = format!("**{}**: {}\n", page.id, page.summary.trim());
    for section in &page.sections {
        text += &format!("\n### {}\n\n{}\n", section.title, section.text.trim());
    }
    text
}

/// How the goroutines end that are started in a file, and who uses the channels that are made there.
pub fn of_code(
    snapshot: &Snapshot,
    index: &Index<'_>,
    summaries: &Summaries<'_>,
    path: &Path,
    about: About,
) -> Vec<Told> {
    let Some(file) = snapshot.files.iter().find(|file| file.path == path) else {
        return Vec::new();
    };
    let file = file.id;
    let wanted = |span: Span| match about {
        About::Place(offset) => touches(span, offset),
        About::All => true,
    };
    // Of the views of a package the first is the one without tests.
    let package = snapshot.packages.iter().find(|package| package.files.contains(&file));
    let Some(package) = package else { return Vec::new() };
    let holds = |func: &&Func| {
        let span = index.file_of(func.id).decl(func.decl).span;
        func.file == file && wanted(span)
    };
    let knowledge = Knowledge { snapshot, index, summaries, file };
    let mut all = Vec::new();
    for func in index.package(package.id).funcs.iter().filter(holds) {
        let Some(read) = summaries.read(func.id) else { continue };
        let source = &read.function.file;
        let nodes = source.descendants(Node::Decl(func.decl));
        all.extend(nodes.filter_map(|node| match node {
            Node::Stmt(stmt) => {
                let StmtKind::Go(call) = source.stmt(stmt).kind else { return None };
                let start = source.stmt(stmt).span.start;
                let span = Span::new(start, start + 2);
                let told = || of_goroutine(&knowledge, func.id, &read, source.unparen(call));
                let lines = wanted(span).then(told).flatten()?;
                Some(tell(span, "How this goroutine ends", &lines))
            }
            Node::Expr(expr) => {
                let ExprKind::Call { callee, .. } = source.expr(expr).kind else { return None };
                let span = source.expr(callee).span;
                let lines = wanted(span).then(|| of_channel(&read, expr)).flatten()?;
                Some(tell(span, "Who uses this channel", &lines))
            }
            Node::Decl(_) => None,
        }));
    }
    all.sort_by_key(|told| told.span.start);
    all.dedup_by_key(|told| told.span);
    all
}

fn touches(span: Span, offset: u32) -> bool {
    span.start <= offset && offset <= span.end
}

/// What is known, and the file that somebody looks at.
struct Knowledge<'k, 'i, 's> {
    snapshot: &'k Snapshot,
    index: &'k Index<'i>,
    summaries: &'k Summaries<'s>,
    file: FileId,
}

impl Knowledge<'_, '_, '_> {
    /// A place as it is written: a line, with the file if that is another one.
    fn place(&self, location: Location) -> String {
        let file = self.snapshot.file(location.file);
        let line = file.text.line(location.span.start);
        match location.file == self.file {
            true => format!("line {line}"),
            false => format!("{}:{line}", file.display),
        }
    }
}

fn of_goroutine(
    known: &Knowledge<'_, '_, '_>,
    func: FuncId,
    read: &Read<'_>,
    call: ExprId,
) -> Option<Vec<String>> {
    let (index, summaries) = (known.index, known.summaries);
    let function = &read.function;
    let at = function.at_call(call)?;
    let mut lines = Vec::new();
    match function.info.callee(call) {
        Callee::Literal(literal) => {
            let body = function.body_of_literal(*literal)?;
            lines.push(exits(read, body));
            let name = |place: &Place| place_name(index, func, place);
            let waits = read.waits(body).iter();
            lines.extend(waits.map(|(_, wait)| of_wait(known, wait, &name)));
        }
        Callee::Func(callee) => {
            let called = index.func(*callee).name;
            match summaries.of(*callee) {
                None => lines.push(format!("what `{called}` does is not known here")),
                Some(summary) => {
                    lines.push(match summary.ending {
                        CallEnd::Returns => format!("when `{called}` returns"),
                        CallEnd::Panics => format!("never well: `{called}` always panics"),
                        CallEnd::Never => format!("**never**: `{called}` does not return"),
                    });
                    let name = |place: &Place| place_name(index, *callee, place);
                    let waits = summary.waits.iter();
                    lines.extend(waits.map(|wait| of_wait(known, wait, &name)));
                }
            }
        }
        _ => lines.push("what it runs is not known here".to_owned()),
    }
    let spawn = read.effects(at.body).spawns.iter().find(|spawn| spawn.at == at);
    lines.extend(spawn.map(|spawn| of_joining(index, func, spawn)));
    Some(lines)
}

/// The ways out of a body.
fn exits(read: &Read<'_>, body: BodyId) -> String {
    let function = &read.function;
    let line = |span: Span| function.file.source.line(span.start);
    let cfg = &function.body(body).cfg;
    let mut ways: Vec<String> = cfg
        .exits()
        .map(|(_, exit)| match exit {
            Exit::Return(stmt) => {
                format!("it returns (line {})", line(function.file.stmt(stmt).span))
            }
            Exit::End => "it runs to its end".to_owned(),
            Exit::Panic(call) => {
                format!("it panics (line {})", line(function.file.expr(call).span))
            }
            Exit::Never(call) => {
                let text = line(function.file.expr(call).span);
                format!("a call ends it, or never comes back (line {text})")
            }
            Exit::Unknown => "something in it is not understood, and may end it".to_owned(),
        })
        .collect();
    ways.dedup();
    match ways.is_empty() {
        true => "**nothing found that ends it**: no path leads out of it".to_owned(),
        false => ways.join("; or "),
    }
}

fn of_wait(known: &Knowledge<'_, '_, '_>, wait: &Wait, name: &dyn Fn(&Place) -> String) -> String {
    let what = match wait.what {
        What::Receive => "to receive",
        What::Send => "to send",
        What::Select => "to send or receive",
        What::Forever => "for ever",
        What::Library(_) => "in a library's call",
    };
    let who = match &wait.cancel {
        Cancel::Nobody => "nobody but its partner ends that".to_owned(),
        Cancel::Unknown => "who can end that is not known".to_owned(),
        Cancel::By(places) => {
            let names: Vec<String> =
                places.iter().map(|place| format!("`{}`", name(place))).collect();
            format!("until {} ends it", names.join(" or "))
        }
    };
    let timed = if wait.timed { ", for some time at most" } else { "" };
    let through: Vec<String> = wait.hops.iter().map(|hop| format!("`{}`", hop.callee)).collect();
    let through = match through.is_empty() {
        true => String::new(),
        false => format!(" through {}", through.join(", ")),
    };
    let place = known.place(wait.location);
    format!("{place}: it may wait {what}{through}{timed}; {who}")
}

/// Whether the function that starts a goroutine waits for it.
fn of_joining(index: &Index<'_>, func: FuncId, spawn: &Spawn) -> String {
    let starter = index.func(func).name;
    let signals: Vec<String> = spawn
        .signals
        .iter()
        .map(|signal| format!("`{}`", place_name(index, func, signal)))
        .collect();
    let by = signals.join(" and ");
    match (signals.is_empty(), spawn.outlives.is_empty()) {
        (true, _) => format!("it is not known to tell `{starter}` when it is done"),
        (false, true) => format!("`{starter}` waits for it on every path, by {by}"),
        (false, false) => {
            format!("it tells by {by} when it is done; `{starter}` may be left without waiting")
        }
    }
}

/// Who uses the channel that a call of `make` makes, as far as its function shows.
fn of_channel(read: &Read<'_>, make: ExprId) -> Option<Vec<String>> {
    let function = &read.function;
    let is_make = matches!(function.info.callee(make), Callee::Builtin(Builtin::Make));
    if !is_make || !matches!(function.index.underlying(function.info.type_of(make)), Type::Chan(..))
    {
        return None;
    }
    let channel = Place::root(Root::Made(make));
    let (mut sent, mut received, mut closed, mut lost) = (vec![], vec![], vec![], vec![]);
    for body in function.bodies() {
        let effects = read.effects(body).effects.iter();
        for effect in effects.filter(|effect| effect.place == channel) {
            // What a literal does is told where it does it.
            if is_of_literal(read, effect.at) {
                continue;
            }
            let uses = match effect.act {
                Act::SentTo(_) => &mut sent,
                Act::Received(_) | Act::Drained => &mut received,
                Act::Closed => &mut closed,
                Act::Captured => continue,
                _ => &mut lost,
            };
            let line = line_of(read, effect.at);
            let beside = match effect.act {
                Act::SentTo(Guard::Arms) | Act::Received(Guard::Arms) => ", beside other arms",
                Act::SentTo(Guard::Default) | Act::Received(Guard::Default) => ", without waiting",
                _ => "",
            };
            let apart = match effect.mode {
                Mode::Spawned | Mode::Joined => ", in a goroutine",
                _ if body != BodyId::OWN => ", in a function literal",
                _ => "",
            };
            let told = format!("line {line}{beside}{apart}");
            if !uses.contains(&told) {
                uses.push(told);
            }
        }
    }
    let nowhere = |uses: &[String]| match uses.is_empty() {
        true => "nowhere that is known".to_owned(),
        false => uses.join("; "),
    };
    let mut lines = vec![
        format!("sent to: {}", nowhere(&sent)),
        format!("received from: {}", nowhere(&received)),
        format!("closed: {}", nowhere(&closed)),
    ];
    if !lost.is_empty() {
        lines.push(format!("handed on, so that there may be more: {}", lost.join("; ")));
    }
    Some(lines)
}

/// Whether a step runs, starts or makes a literal whose own steps are known.
fn is_of_literal(read: &Read<'_>, at: At) -> bool {
    let function = &read.function;
    let step = function.step(at);
    if let Step::FuncLit(literal) = step {
        return function.body_of_literal(literal).is_some();
    }
    let called = step.call(function.file).map(|call| function.info.callee(call));
    matches!(called, Some(Callee::Literal(literal)) if function.body_of_literal(*literal).is_some())
}

fn line_of(read: &Read<'_>, at: At) -> u32 {
    let function = &read.function;
    function.file.source.line(function.step(at).span(function.file).start)
}

fn tell(span: Span, title: &str, lines: &[String]) -> Told {
    let items: String = lines.iter().map(|line| format!("- {line}\n")).collect();
    let line = format!("{title}: {}", lines.join("; ")).replace(['*', '`'], "");
    Told { span, markdown: format!("**{title}**\n\n{items}"), line }
}
