//! `header-after-handoff`: a function gives its response writer to a goroutine, stops waiting for
//! it, and writes the response itself; or a filter that stands outside of one that does such a thing
//! with the request reads the request's header map after that has returned.

mod outside;

use crate::catalog::Part;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Path, PathEnd, StepId};
use crate::rules::handoff::{
    Exchange, Held, deadlines, go_keyword, held, is_left_behind, others_may_wait, way_out,
};
use crate::rules::scene::{holds_any, may_start_goroutines};
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Span;
use crate::summary::{Act, At, Mode, Read, Spawn};

pub const RULE: Rule = Rule {
    page: include_str!("../../rules/header-after-handoff.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    of_goroutines(cx, findings);
    outside::check(cx, findings);
}

fn of_goroutines(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !may_start_goroutines(cx) || !holds_any(cx, &["select"]) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for spawn in &read.effects(body).spawns {
            let held = held(cx, &read, spawn);
            if held.is_empty() || !is_left_behind(&read, spawn) || others_may_wait(&read, spawn) {
                continue;
            }
            let shared = held.iter().filter(|held| held.what != Exchange::Body);
            findings.extend(shared.filter_map(|held| check_held(cx, &read, spawn, held)));
        }
    }
}

/// The finding about one writer, if this side writes the response too.
fn check_held(cx: &FunctionCx<'_>, read: &Read<'_>, spawn: &Spawn, held: &Held) -> Option<Finding> {
    let writes = |step: StepId| answers(read, At { body: spawn.at.body, step }, held);
    let paths = read.gives_up(spawn, &writes, &|_| false);
    let path = paths.iter().find(|path| matches!(path.end, PathEnd::Step(_)))?;
    let PathEnd::Step(step) = path.end else { return None };
    Some(finding(cx, read, spawn, held, path, At { body: spawn.at.body, step }))
}

/// Whether a step writes the response, itself or by what it calls.
fn answers(read: &Read<'_>, at: At, held: &Held) -> bool {
    read.effects_at(at).any(|effect| {
        effect.place == held.place
            && effect.mode < Mode::Spawned
            && matches!(
                effect.act,
                Act::Touched(Part::Response | Part::ResponseHeader, _) | Act::Passed
            )
    })
}

fn finding(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    spawn: &Spawn,
    held: &Held,
    path: &Path<bool>,
    answer: At,
) -> Finding {
    let function = &read.function;
    let parameter = function.info.local(held.parameter);
    let name = parameter.name;
    let message = format!(
        "the goroutine goes on with `{name}` when this function has stopped waiting for it and \
         answers through the same `{name}`: both use one header map, and a concurrent map read and \
         map write ends the process"
    );
    let mut finding = cx.finding(held.used.span, &format!("still uses `{name}`"), message);
    let mut label = |span: Span, role: Role, message: String| {
        finding.labels.push(Label { location: cx.location(span), role, message });
    };
    label(parameter.span, Role::Made, format!("both sides answer through `{name}`"));
    let go = go_keyword(function, spawn);
    label(go, Role::Started, format!("the goroutine is started with `{name}`"));
    if let Some((span, told)) = way_out(function, spawn.at, path) {
        label(span, Role::Left, told);
    }
    let span = function.step(answer).span(function.file);
    label(span, Role::Context, format!("this side uses `{name}`, which the goroutine still has"));
    finding.why =
        "the goroutine is not stopped by the answer: its own status, headers and body are \
                   written into the same response, or into the next one"
            .to_owned();
    finding.help = format!(
        "give the goroutine a writer of its own that collects the response, and copy it to the \
         real one only in the arm that hears of the goroutine: that is what `http.TimeoutHandler` \
         does; or bound the work by a context, and wait for it{}",
        deadlines(cx)
    );
    finding.defect = held.used;
    finding
}
