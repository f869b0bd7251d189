//! `writer-outlives-handler`: a goroutine uses the response writer, the body of the request, or a
//! context of a pool after the handler that was given it has returned.

mod sent;

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::handoff::{
    Exchange, Held, go_keyword, held, is_left_behind, others_may_wait, returned_at,
    takes_over_before,
};
use crate::rules::scene::may_start_goroutines;
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Span;
use crate::summary::{Function, Read, Spawn};

pub const RULE: Rule = Rule {
    page: include_str!("../../rules/writer-outlives-handler.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    of_goroutines(cx, findings);
    sent::check(cx, findings);
}

fn of_goroutines(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !may_start_goroutines(cx) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for spawn in &read.effects(body).spawns {
            let held = held(cx, &read, spawn);
            if held.is_empty()
                || takes_over_before(cx, &read.function, spawn.at)
                || !is_left_behind(&read, spawn)
                || others_may_wait(&read, spawn)
            {
                continue;
            }
            findings.extend(held.iter().map(|held| finding(cx, &read, spawn, held)));
        }
    }
}

fn finding(cx: &FunctionCx<'_>, read: &Read<'_>, spawn: &Spawn, held: &Held) -> Finding {
    let function: &Function<'_> = &read.function;
    let parameter = function.info.local(held.parameter);
    let name = parameter.name;
    let (what, why, help) = words(held.what, name.as_str());
    let message = format!("the goroutine uses {what} after the handler may have returned: {why}");
    let mut finding = cx.finding(held.used.span, &format!("uses `{name}`"), message);
    let mut label = |span: Span, role: Role, message: String| {
        finding.labels.push(Label { location: cx.location(span), role, message });
    };
    label(parameter.span, Role::Made, format!("`{name}` is valid until the handler returns"));
    let go = go_keyword(function, spawn);
    label(go, Role::Started, "the goroutine is started here".to_owned());
    if let Some((span, told)) = returned_at(function, spawn) {
        label(span, Role::Left, told);
    }
    finding.help = help;
    finding.defect = held.used;
    finding
}

/// What is used, why that is wrong, and what to do.
fn words(what: Exchange, name: &str) -> (String, String, String) {
    match what {
        Exchange::Writer => (
            format!("the response writer `{name}`"),
            "the server has finished the response by then, and may be writing another one on the \
             same connection"
                .to_owned(),
            "wait for the goroutine on every way out of the handler, or let it work on data of its \
             own and write the response here"
                .to_owned(),
        ),
        Exchange::Body => (
            format!("the body of `{name}`"),
            "the server closes it when the handler returns, and reads the next request from the \
             same connection"
                .to_owned(),
            "read the body before `go`, and give the goroutine what was read".to_owned(),
        ),
        Exchange::Pooled => (
            format!("`{name}`"),
            "it goes back to a pool when the handler returns, so the goroutine then sees, and \
             changes, the request of somebody else"
                .to_owned(),
            format!(
                "take out of `{name}` before `go` what the goroutine needs, or make a copy there \
                 that may be kept (gin: `{name}.Copy()`), and use only that in the goroutine"
            ),
        ),
    }
}
