//! The printed form of a summary, for tests and for people who debug a rule.

use crate::flow::CallEnd;
use crate::index::{FuncId, Index, LocalKind};
use crate::summary::{Act, Cancel, Guard, Mode, Origin, Place, Root, Summary, Wait, What};

impl Summary {
    /// One line for each thing that callers can know of `func`, whose summary this is.
    ///
    /// ```text
    /// w: Stop(), always
    /// waits to receive until ctx ends
    /// result 0: plain
    /// ```
    pub fn print(&self, index: &Index<'_>, func: FuncId) -> String {
        let name = |place: &Place| place_name(index, func, place);
        let mut lines: Vec<String> = Vec::new();
        match self.ending {
            CallEnd::Returns => {}
            CallEnd::Panics => lines.push("always panics".into()),
            CallEnd::Never => lines.push("never returns".into()),
        }
        for deed in &self.deeds {
            let mode = match deed.mode {
                Mode::Now => "",
                Mode::Deferred => ", deferred",
                Mode::Joined => ", in a goroutine that is waited for",
                Mode::Spawned => ", in a goroutine",
                Mode::ByResult => ", by the function that it returns",
                Mode::Later => ", later",
            };
            let always = if deed.always { ", always" } else { "" };
            lines.push(format!("{}: {}{mode}{always}", name(&deed.place), act_name(deed.act)));
        }
        lines.extend(self.waits.iter().map(|wait| wait_line(wait, &name)));
        for (result, origins) in self.results.iter().enumerate() {
            let origins: Vec<String> =
                origins.iter().map(|origin| origin_name(origin, &name)).collect();
            lines.push(format!("result {result}: {}", origins.join(" or ")));
        }
        for context in &self.contexts {
            let parent = context.parent.as_ref().map_or("nothing".into(), &name);
            let deadline = if context.deadline { ", with a deadline" } else { "" };
            lines.push(format!("result {} is derived from {parent}{deadline}", context.result));
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// A place by the names of the function that it belongs to.
pub fn place_name(index: &Index<'_>, func: FuncId, place: &Place) -> String {
    let body = index.body(func);
    let named = |kind: LocalKind| {
        body.locals().iter().find(|local| local.kind == kind && local.owner.is_none())
    };
    let file = index.file_of(func);
    let text = |span| file.source.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
    let mut name = match place.root {
        Root::Receiver => {
            named(LocalKind::Receiver).map_or("receiver".into(), |local| local.name.to_string())
        }
        Root::Param(index) => named(LocalKind::Param(index))
            .map_or_else(|| format!("parameter {index}"), |local| local.name.to_string()),
        Root::LiteralParam(_, index) => format!("parameter {index} of a literal"),
        Root::Global(object) => index.object(object).name.to_string(),
        Root::Local(local) => body.local(local).name.to_string(),
        Root::Call(expr, 0) | Root::Made(expr) | Root::Read(expr) => text(file.expr(expr).span),
        Root::Call(expr, result) => format!("{} result {result}", text(file.expr(expr).span)),
        Root::Element(_) => "element".into(),
    };
    for field in place.path.iter() {
        name.push('.');
        name.push_str(field.as_str());
    }
    name
}

fn act_name(act: Act) -> String {
    let guarded = |what: &str, guard| match guard {
        Guard::Bare => what.to_string(),
        Guard::Arms => format!("{what} beside other arms"),
        Guard::Default => format!("{what} beside a default"),
    };
    match act {
        Act::Called => "called".into(),
        Act::Method(name) => format!("{name}()"),
        Act::Returned(result) => format!("returned as {result}"),
        Act::Stored => "stored".into(),
        Act::Sent => "sent".into(),
        Act::Captured => "captured".into(),
        Act::Passed => "passed on".into(),
        Act::Closed => "closed".into(),
        Act::SentTo(guard) => guarded("sent to", guard),
        Act::Received(guard) => guarded("received from", guard),
        Act::Drained => "drained".into(),
        Act::Touched(part, touch) => format!("{touch:?} of {part:?}"),
    }
}

fn wait_line(wait: &Wait, name: &dyn Fn(&Place) -> String) -> String {
    let what = match wait.what {
        What::Receive => "to receive".into(),
        What::Send => "to send".into(),
        What::Select => "in a select".into(),
        What::Forever => "for ever".into(),
        What::Library(what) => format!("for {what:?}").to_lowercase(),
    };
    let cancel = match &wait.cancel {
        Cancel::Nobody => String::new(),
        Cancel::Unknown => " until somebody unknown ends it".into(),
        Cancel::By(places) => {
            let places: Vec<String> = places.iter().map(name).collect();
            format!(" until {} ends", places.join(" or "))
        }
    };
    let timed = if wait.timed { ", for a time" } else { "" };
    let hops: Vec<&str> = wait.hops.iter().map(|hop| &*hop.callee).collect();
    let via = if hops.is_empty() { String::new() } else { format!(", via {}", hops.join(", ")) };
    format!("waits {what}{cancel}{timed}{via}")
}

fn origin_name(origin: &Origin, name: &dyn Fn(&Place) -> String) -> String {
    match origin {
        Origin::Place(place) => name(place),
        Origin::Call(callee, 0) => callee.to_string(),
        Origin::Call(callee, result) => format!("{callee} result {result}"),
        Origin::Made => "made here".into(),
        Origin::Literal => "a literal".into(),
        Origin::EmptyLiteral => "a literal that does nothing".into(),
        Origin::Plain => "plain".into(),
        Origin::Unknown => "unknown".into(),
    }
}
