//! `request-shared-after-handoff`: a filter runs the inner handler in a goroutine, can leave
//! without it, and gave it the very request that the filters outside still hold.
//!
//! What the two requests share is told by [`sharing`](crate::rules::sharing); whether the function
//! waits for its goroutine is the summary's. A request that all callers make themselves, as clients do, has no
//! filters outside.

use crate::diagnostic::{Confidence, Edit, Finding, Fix, Label, Role, Safety};
use crate::flow::{Exit, Path, PathEnd};
use crate::index::{Def, FuncId, LocalId, LocalKind};
use crate::rules::handoff::{go_keyword, variable, waits_for_something, way_out};
use crate::rules::scene::{Scene, may_start_goroutines};
use crate::rules::sharing::{Handoff, Sharing, served};
use crate::rules::{Check, FunctionCx, Rule, recurrence};
use crate::source::Span;
use crate::summary::{Function, Read, Source, Spawn};
use crate::syntax::{ExprId, ExprKind, Node};

pub const RULE: Rule = Rule {
    page: include_str!("../../rules/request-shared-after-handoff.md"),
    check: Check::Function(check),
};

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if !may_start_goroutines(cx) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    for body in read.function.bodies() {
        for spawn in &read.effects(body).spawns {
            findings.extend(check_spawn(cx, &read, spawn));
        }
    }
}

fn check_spawn(cx: &FunctionCx<'_>, read: &Read<'_>, spawn: &Spawn) -> Option<Finding> {
    let function = &read.function;
    let leaves = spawn
        .outlives
        .iter()
        .find(|path| matches!(path.end, PathEnd::Exit(_, Exit::Return(_) | Exit::End)))?;
    if spawn.signals.is_empty() && waits_for_something(read, spawn.at) {
        return None;
    }
    let handoff = served(cx, function, spawn)?;
    if is_made_by_callers(cx, function, handoff.parameter) {
        return None;
    }
    Some(finding(cx, function, spawn, leaves, &handoff))
}

/// Whether some of the run call the function, and each of those gives it a request that it has made.
fn is_made_by_callers(cx: &FunctionCx<'_>, function: &Function<'_>, parameter: LocalId) -> bool {
    let declared = function.info.local(parameter);
    let (None, LocalKind::Param(place)) = (declared.owner, declared.kind) else { return false };
    let makes = |scene: &Scene<'_>, value: ExprId| {
        let name = scene.info.callee(scene.file.unparen(value)).qualified(scene.cx.index());
        name.is_some_and(|name| {
            name.path.as_str() == "net/http" && name.name.as_str().starts_with("NewRequest")
        })
    };
    let is_made = |(caller, call): (FuncId, ExprId)| {
        let scene = Scene::of(&cx.package, caller)?;
        let read = cx.summaries().read(caller)?;
        let given = scene.local(*scene.args(call).get(place as usize)?)?;
        let mut definitions = read.function.definitions_of(given);
        let all = definitions.all(|definition| match definition.source {
            Source::Expr(value) | Source::Result(value, 0) => makes(&scene, value),
            _ => false,
        });
        all.then_some(())
    };
    let calls = recurrence::calls(&cx.package, cx.declared());
    !calls.is_empty() && calls.into_iter().all(|call| is_made(call).is_some())
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    spawn: &Spawn,
    leaves: &Path,
    handoff: &Handoff,
) -> Finding {
    let file = function.file;
    let request = function.text(handoff.request);
    let parameter = function.info.local(handoff.parameter);
    let message = format!(
        "the handler goes on with `{request}` in a goroutine after this function has returned: \
         the filters outside still read the header map of the same request, and a concurrent map \
         read and map write ends the process"
    );
    let call = file.expr(handoff.call).span;
    let mut finding = cx.finding(call, &format!("still uses `{request}`"), message);
    if handoff.sharing == Sharing::Shallow {
        finding.confidence = Confidence::Low;
    }
    let mut label = |span: Span, role: Role, message: String| {
        finding.labels.push(Label { location: cx.location(span), role, message });
    };
    let given = format!("`{}` belongs to the caller, who goes on using it", parameter.name);
    label(parameter.span, Role::Made, given);
    let go = go_keyword(function, spawn);
    label(go, Role::Started, format!("a goroutine is started with the same `{request}`"));
    if let Some((span, told)) = way_out(function, spawn.at, leaves) {
        label(span, Role::Left, told);
    }
    finding.why = "handlers change request headers (authentication deletes its own, proxies add \
                   theirs), and Go's maps stop the whole process when a read meets a write; no \
                   recover helps"
        .to_owned();
    finding.help = format!(
        "make the goroutine a request of its own before `go`: `{request}.Clone({request}.Context())`; \
         `WithContext` is not enough, its copy shares the header map"
    );
    finding.defect = cx.location(go);
    finding.fixes.extend(clone_fix(cx, function, spawn, handoff));
    finding
}

/// A clone before the `go` statement, which the goroutine uses in place of the request.
fn clone_fix(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    spawn: &Spawn,
    handoff: &Handoff,
) -> Option<Fix> {
    let file = function.file;
    let variable = variable(function, handoff.request)?;
    let name = function.info.local(variable).name;
    let copy = format!("{name}Copy");
    if function.info.locals().iter().any(|local| local.name.as_str() == copy) {
        return None;
    }
    let go = function.step(spawn.at).span(file);
    let line = file.source.line_span(file.source.line(go.start))?;
    let indent = file.source.text(Span::new(line.start, go.start)).into_owned();
    if !indent.chars().all(char::is_whitespace) {
        return None;
    }
    let mut edits = vec![Edit {
        location: cx.location(Span::new(go.start, go.start)),
        replacement: format!("{copy} := {name}.Clone({name}.Context())\n{indent}"),
    }];
    for node in file.descendants(Node::Expr(spawn.call)) {
        let Node::Expr(expr) = node else { continue };
        if matches!(function.info.resolve(expr), Def::Local(local) if *local == variable)
            && matches!(file.expr(expr).kind, ExprKind::Ident(_))
        {
            let location = cx.location(file.expr(expr).span);
            edits.push(Edit { location, replacement: copy.clone() });
        }
    }
    let message = format!("give the goroutine a clone of `{name}`");
    Some(Fix { message, safety: Safety::Unsafe, edits })
}
