//! `timer-not-stopped`: a ticker or timer that goes on after whoever wanted it has gone.
//!
//! Before Go 1.23 the runtime kept a ticker until it was stopped, and a timer until it fired. Go
//! goes by the `go` line of go.mod; code without a go.mod that imports more than the standard
//! library can only be built in GOPATH mode, which has the old timers too.

mod anew;
mod late;
mod once;
mod piled;
mod remade;

use crate::catalog::{End, GoVersion, Resource, Version, Versions};
use crate::diagnostic::{Confidence, Edit, Finding, Fix, Label, Role, Safety};
use crate::rules::held::{self, Held, Way};
use crate::rules::{Check, FunctionCx, Rule, recurrence};
use crate::source::Span;
use crate::summary::{At, Function, Read};
use crate::syntax::{Node, StmtKind};

/// The rule.
pub const RULE: Rule =
    Rule { page: include_str!("../../rules/timer-not-stopped.md"), check: Check::Function(check) };

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    if held::runs_process_or_test(cx) {
        return;
    }
    let Some(read) = cx.summaries().read(cx.func) else { return };
    let function = &read.function;
    let never = anew::check(cx, function);
    let versions = Effective { known: cx.versions(), go: language(cx) };
    for held in held::all(cx, &read, &versions, &is_timer) {
        if never.iter().any(|(call, _)| *call == held.call) {
            continue;
        }
        if held.dropped || outlives_a_turn(function, &held) && once::is(function, &held) {
            continue;
        }
        if let Some(finding) = piled::check(cx, function, &held) {
            findings.push(finding);
            continue;
        }
        let is_named = held.name.is_some();
        findings.extend(match &*held.fact.what {
            "ticker" if is_named && !held.fact.ends.is_empty() => {
                not_stopped(cx, &read, &held, "ticks")
            }
            "timer" if is_named && calls_back(function, &held) => {
                stopped_elsewhere(&read, &held).and_then(|_| not_stopped(cx, &read, &held, "runs"))
            }
            "timer" if is_named && outlives_a_turn(function, &held) => {
                stopped_elsewhere(&read, &held).and_then(|_| not_stopped(cx, &read, &held, "stays"))
            }
            "timer" if is_named && held.thing() == held.whole() && !stops(&held) => {
                replaced(cx, &read, &held)
            }
            _ => remade::check(cx, function, &held),
        });
    }
    findings.extend(never.into_iter().map(|(_, finding)| finding));
}

fn is_timer(fact: &Resource) -> bool {
    matches!(&*fact.what, "ticker" | "timer")
}

/// The versions that the timers of a package go by.
struct Effective<'a> {
    known: &'a dyn Versions,
    go: Option<GoVersion>,
}

impl Versions for Effective<'_> {
    fn module(&self, path: &str) -> Option<&Version> {
        self.known.module(path)
    }

    fn go(&self) -> Option<GoVersion> {
        self.go
    }
}

/// The version of Go's language that a package is built with, as far as that is certain.
fn language(cx: &FunctionCx<'_>) -> Option<GoVersion> {
    let package = cx.index().package(cx.func.package);
    let is_library = |path: &str| !path.split('/').next().is_some_and(|host| host.contains('.'));
    let imports = |file: &crate::syntax::File| {
        file.imports.iter().any(|import| !is_library(import.path.as_str()))
    };
    cx.versions().go().or_else(|| {
        let needs_gopath = package.files().iter().any(|(_, file)| imports(file));
        needs_gopath.then(|| GoVersion::language(1, 16))
    })
}

/// Whether what fires is a function, which runs after the function has gone.
fn calls_back(function: &Function<'_>, held: &Held<'_>) -> bool {
    function.args(held.call).len() == 2
}

/// Whether a timer is made in a loop, so that those of many turns can be there at once.
fn outlives_a_turn(function: &Function<'_>, held: &Held<'_>) -> bool {
    let cfg = &function.body(held.at.body).cfg;
    cfg.reaches(held.at.step, held.at.step)
}

/// Whether it is a timer that can be stopped, and no bare channel.
fn stops(held: &Held<'_>) -> bool {
    held.fact.ends.iter().any(|end| matches!(end, End::Method(_)))
}

/// What to use in a loop: a channel alone cannot be stopped.
const INSTEAD_OF_AFTER: &str =
    "one `time.NewTimer` before the loop, `Reset` in each turn, and a deferred `Stop`";

/// A channel of `time.After` in a variable of a loop, which gets the next one before this one has
/// fired.
fn replaced(cx: &FunctionCx<'_>, read: &Read<'_>, held: &Held<'_>) -> Option<Finding> {
    let function = &read.function;
    let lost = held::lost(cx, read, held, &|_| false, &|_| false);
    lost.iter().find(|lost| lost.way == Way::Again)?;
    let (call, name) = (held.span(function), held.name.as_deref()?);
    let message =
        format!("the next turn gives `{name}` another timer, and this one stays until it fires");
    let mut finding = cx.finding(call, "replaced before it has fired", message);
    finding.confidence = finding.confidence.min(Confidence::Medium);
    finding.why = "with this module's `go` line the runtime keeps a timer until it fires or is \
                   stopped, and nobody has this one to stop it"
        .to_owned();
    finding.help = INSTEAD_OF_AFTER.to_owned();
    Some(finding)
}

/// Where the timer is stopped on other paths.
fn stopped_elsewhere(read: &Read<'_>, held: &Held<'_>) -> Option<At> {
    let thing = held.thing();
    let effects = &read.effects(held.at.body).effects;
    let stops = |effect: &&crate::summary::Effect| {
        effect.place == thing && held::ends(held.fact, effect.act)
    };
    effects.iter().find(stops).map(|effect| effect.at)
}

fn not_stopped(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    held: &Held<'_>,
    goes_on: &str,
) -> Option<Finding> {
    let function = &read.function;
    let mut lost = held::lost(cx, read, held, &|_| false, &|_| false);
    let harm = if goes_on == "runs" { late::harm(read, held, &lost) } else { None };
    if let Some(harm) = &harm {
        lost.swap(0, harm.lost);
    }
    let (first, others) = lost.split_first()?;
    let name = held.name.as_deref()?;
    let call = held.span(function);
    let after = match first.way {
        Way::Replaced => "when its variable gets something else",
        _ => "after this return",
    };
    let message = match (first.way, goes_on) {
        (Way::Again, _) => format!(
            "a turn of this loop can end without `{name}.Stop()`, and the next one makes another {}",
            held.fact.what
        ),
        (_, "ticks") => format!("`{name}` ticks on {after}: nobody has stopped it"),
        (_, "runs") => {
            format!("the function of `{name}` still runs {after}: nobody has stopped it")
        }
        _ => format!("`{name}` stays {after} until it fires: nobody has stopped it"),
    };
    let mut finding = cx.finding(first.span, "left without `Stop`", message);
    if first.span != call {
        finding.labels.push(Label {
            location: cx.location(call),
            role: Role::Made,
            message: format!("`{name}` is made here"),
        });
    }
    finding.labels.extend(others.iter().filter(|other| other.span != call).map(|other| Label {
        location: cx.location(other.span),
        role: Role::Left,
        message: "nor here".to_owned(),
    }));
    if let Some(last) = first.last.filter(|_| first.way == Way::Again) {
        finding.labels.push(Label {
            location: cx.location(last),
            role: Role::Left,
            message: "the turn ends with this".to_owned(),
        });
    }
    // What it does then is often harmless, and meant to be.
    match harm {
        Some(harm) => finding.labels.push(Label {
            location: cx.location(harm.deed),
            role: Role::Context,
            message: "this is what it does then, although all went well".to_owned(),
        }),
        None if goes_on == "runs" => finding.confidence = Confidence::Low,
        None => {}
    }
    finding.why = match goes_on {
        "runs" => "a timer of `time.AfterFunc` calls its function unless it is stopped before; \
                   nobody waits for that any more"
            .to_owned(),
        "ticks" => {
            "with this module's `go` line the runtime keeps a ticker, and serves it at each \
                    tick, until it is stopped"
                .to_owned()
        }
        _ => "with this module's `go` line the runtime keeps a timer until it fires or is stopped"
            .to_owned(),
    };
    let ends = |lost: &held::Lost| matches!(lost.way, Way::Return | Way::End);
    let is_little = || {
        let wait = remade::wait(function, held.call);
        wait.is_some_and(|wait| wait <= remade::BRIEF) || lost.iter().all(ends) && !adds_up(cx)
    };
    if goes_on == "ticks" && is_rare(cx, function, held) || goes_on == "stays" && is_little() {
        finding.confidence = Confidence::Low;
    }
    if stops(held) {
        let in_loop = lost.iter().any(|lost| lost.way == Way::Again);
        finding.help = format!("`defer {name}.Stop()` right after it is made");
        finding.fixes.extend(defer_stop(cx, function, held, in_loop));
    } else {
        finding.help = INSTEAD_OF_AFTER.to_owned();
    }
    finding.defect = cx.location(call);
    Some(finding)
}

/// Whether the timers add up that are left when a loop ends, one for each time: it does so again and again.
fn adds_up(cx: &FunctionCx<'_>) -> bool {
    matches!(recurrence::runs(&cx.package, cx.func), recurrence::Runs::Again(..))
}

/// Ticks that come at least so often, in nanoseconds, keep a processor busy even if they are those of one ticker.
const OFTEN: i128 = 1_000_000_000;

/// Whether so few tickers are left that nobody notices: one that is made once goes on until the process ends, or a
/// little less. In a program, whose calls are all at hand, only what is seen to run again and again leaves more.
fn is_rare(cx: &FunctionCx<'_>, function: &Function<'_>, held: &Held<'_>) -> bool {
    let (package, made) = (&cx.package, Node::Expr(held.call));
    recurrence::is_once(package, cx.func, made)
        || recurrence::is_of_program(package, cx.func.package)
            && remade::wait(function, held.call).is_none_or(|period| period >= OFTEN)
            && !recurrence::is_again(package, cx.func, made)
}

/// `defer t.Stop()` after the statement that makes a ticker, if nothing stops it yet.
fn defer_stop(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    held: &Held<'_>,
    in_loop: bool,
) -> Option<Fix> {
    let file = function.file;
    let name = held.name.as_deref()?;
    if in_loop || &*held.fact.what != "ticker" || outlives_a_turn(function, held) {
        return None;
    }
    let root = Node::Decl(cx.declared().decl);
    let Node::Stmt(stmt) = file.parents(root).of(Node::Expr(held.call))? else { return None };
    if !matches!(file.stmt(stmt).kind, StmtKind::Define { .. } | StmtKind::Assign { .. }) {
        return None;
    }
    let span = file.stmt(stmt).span;
    let start = file.source.line_span(file.source.line(span.start))?.start;
    let before = file.source.text(Span::new(start, span.start)).into_owned();
    if !before.chars().all(char::is_whitespace) {
        return None;
    }
    let edit = Edit {
        location: cx.location(Span::new(span.end, span.end)),
        replacement: format!("\n{before}defer {name}.Stop()"),
    };
    Some(Fix {
        message: "stop the ticker at every way out".to_owned(),
        safety: Safety::Safe,
        edits: vec![edit],
    })
}
