//! A method that ends its value gives up at the error of something else, before it has ended what
//! keeps a goroutine: a part of the value, or the goroutine that the constructor started.
//!
//! What fails has to do with the world, a write or a removal for example, and not with the state of
//! the value: who closes twice is told so by an error, and that is in order.

use rustc_hash::FxHashSet;

use super::Parts;
use crate::diagnostic::{Finding, Label, Role};
use crate::flow::{Edge, EdgeKind, Exit, Passing, Path, PathEnd, Start, StepId, Walk};
use crate::index::{Callee, Func, ObjectId, Type};
use crate::rules::scene::{compared_with_nil, serves_tests};
use crate::rules::{PackageCx, conditions, held};
use crate::source::Location;
use crate::summary::{Act, At, BodyId, Effect, Function, Mode, Read, Root};
use crate::syntax::{ExprId, ExprKind, StmtKind, Symbol};

/// How many calls lie between a method and what fails.
const MAX_DEPTH: u32 = 3;

/// The ways out of methods that leave something running.
pub(super) fn check(cx: &PackageCx<'_>, parts: &Parts, findings: &mut Vec<Finding>) {
    let package = cx.index.package(cx.package);
    let is_end = |func: &&Func| func.receiver.is_some() && names_end(func.name);
    for method in package.funcs.iter().filter(is_end) {
        if cx.counts_in(method) && !serves_tests(cx.index, method.id) {
            findings.extend(check_method(cx, parts, method));
        }
    }
}

/// Whether a method has a name that Go programs give to what ends a value, for others or for the
/// package itself.
pub(super) fn names_end(method: Symbol) -> bool {
    held::names_end(method) || matches!(method.as_str(), "close" | "shutdown" | "stop")
}

/// What a method ends, and how.
struct Ending {
    path: Vec<Symbol>,
    act: Act,
}

impl Ending {
    fn of(effect: &Effect) -> Option<Ending> {
        let ends = match effect.act {
            Act::Closed | Act::SentTo(_) => true,
            Act::Method(name) => effect.place.path.len() == 1 && names_end(name),
            _ => false,
        };
        let is_own = effect.place.root == Root::Receiver && !effect.place.path.is_empty();
        (ends && is_own).then(|| Ending { path: effect.place.path.to_vec(), act: effect.act })
    }

    fn is_done_by(&self, effect: &Effect) -> bool {
        effect.place.root == Root::Receiver
            && effect.place.path[..] == self.path[..]
            && match (self.act, effect.act) {
                (Act::Method(one), Act::Method(other)) => one == other,
                (Act::Method(_), _) | (_, Act::Method(_)) => false,
                (_, other) => matches!(other, Act::Closed | Act::SentTo(_)),
            }
    }
}

fn check_method(cx: &PackageCx<'_>, parts: &Parts, method: &Func) -> Option<Finding> {
    let owner = method.receiver.as_ref()?.ty?;
    let read = cx.summaries.read(method.id)?;
    let effects = || read.function.bodies().flat_map(|body| &read.effects(body).effects);
    let mut told: Vec<Ending> = Vec::new();
    for effect in &read.effects(BodyId::OWN).effects {
        let Some(ending) = Ending::of(effect).filter(|_| effect.mode == Mode::Now) else {
            continue;
        };
        if told.iter().any(|known| known.is_done_by(effect)) {
            continue;
        }
        // A literal may do it whenever somebody calls it.
        let by_others =
            effects().any(|other| other.at.body != BodyId::OWN && ending.is_done_by(other));
        if !by_others && let Some(finding) = skipped(cx, parts, method, owner, &read, &ending) {
            return Some(finding);
        }
        told.push(ending);
    }
    None
}

fn skipped(
    cx: &PackageCx<'_>,
    parts: &Parts,
    method: &Func,
    owner: ObjectId,
    read: &Read<'_>,
    ending: &Ending,
) -> Option<Finding> {
    let function = &read.function;
    // Who is given the value as a whole may end it.
    let settles = |effect: &&Effect| {
        ending.is_done_by(effect)
            || effect.act.escapes()
                && effect.place.root == Root::Receiver
                && ending.path.starts_with(&effect.place.path)
    };
    let settled = read.effects(BodyId::OWN).effects.iter().filter(settles);
    let settled: FxHashSet<StepId> = settled.map(|effect| effect.at.step).collect();
    let mut walk = GivesUp { cx, read, settled: &settled };
    let paths = conditions::search(function, BodyId::OWN, Start::Entry, None, &mut walk);
    let path = paths.first()?;
    let kept = kept(cx, parts, method, owner, ending)?;
    finding(cx, method, function, path, &kept)
}

/// A walk past what is ended to a return of another error. The state is the call that has just failed.
struct GivesUp<'w, 'a, 'r> {
    cx: &'w PackageCx<'a>,
    read: &'w Read<'r>,
    settled: &'w FxHashSet<StepId>,
}

impl Walk for GivesUp<'_, '_, '_> {
    type State = Option<ExprId>;

    fn step(&mut self, failed: &Option<ExprId>, step: StepId) -> Passing<Option<ExprId>> {
        if self.settled.contains(&step) { Passing::Drop } else { Passing::On(*failed) }
    }

    fn edge(&mut self, failed: &Option<ExprId>, edge: &Edge) -> Option<Option<ExprId>> {
        Some(match edge.kind {
            EdgeKind::Jump => *failed,
            kind => self.failed(kind),
        })
    }

    fn exit(&mut self, failed: &Option<ExprId>, exit: Exit) -> bool {
        let (Some(failed), Exit::Return(stmt)) = (failed, exit) else { return false };
        let function = &self.read.function;
        let StmtKind::Return(values) = &function.file.stmt(stmt).kind else { return false };
        let Some(&last) = values.last() else { return true };
        let at = function.body(BodyId::OWN).cfg.step_of_stmt(stmt);
        let Some(step) = at else { return false };
        let given = |value: ExprId| {
            let places = function.places(At { body: BodyId::OWN, step }, value);
            places
                .list
                .iter()
                .any(|place| matches!(place.root, Root::Call(call, _) if call == *failed))
        };
        given(last)
            || match function.file.expr(function.file.unparen(last)).kind {
                ExprKind::Call { ref args, .. } => args.iter().any(|&arg| given(arg)),
                _ => false,
            }
    }
}

impl GivesUp<'_, '_, '_> {
    /// The call that an edge says has failed.
    fn failed(&self, kind: EdgeKind) -> Option<ExprId> {
        let function = &self.read.function;
        let (asked, holds) = conditions::asked(function.file, kind)?;
        let (error, is_set) = compared_with_nil(function.file, &function.info, asked)?;
        if is_set != holds {
            return None;
        }
        let places = function.places_in(BodyId::OWN, error);
        match places.only()?.root {
            Root::Call(call, _) => {
                fails_outside(self.cx, function, call, MAX_DEPTH).then_some(call)
            }
            _ => None,
        }
    }
}

/// Whether a call gives an error of the world outside: of the standard library, and not for being
/// ended twice, or of a function of the run that makes such a call.
fn fails_outside(cx: &PackageCx<'_>, function: &Function<'_>, call: ExprId, depth: u32) -> bool {
    let gives_error = match function.info.type_of(call) {
        Type::Tuple(results) => results.last().is_some_and(Type::is_error),
        result => result.is_error(),
    };
    if !gives_error {
        return false;
    }
    let callee = function.info.callee(call);
    if let Some(name) = callee.qualified(function.index)
        && is_of_world(name.path.as_str())
    {
        return !names_end(name.name);
    }
    let Callee::Func(callee) = callee else { return false };
    let Some(below) = depth.checked_sub(1) else { return false };
    cx.summaries.read(*callee).is_some_and(|read| {
        read.function.calls().any(|(_, inner)| fails_outside(cx, &read.function, inner, below))
    })
}

/// Whether the functions of a package of the standard library speak with the world outside.
fn is_of_world(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or(path);
    matches!(first, "bufio" | "io" | "net" | "os" | "syscall")
}

/// What goes on when the method gives up.
struct Kept {
    /// What goes on, and what has to be done to it, in words.
    what: String,
    end: String,
    /// Where it is made, or waits.
    location: Location,
    message: String,
}

fn kept(
    cx: &PackageCx<'_>,
    parts: &Parts,
    method: &Func,
    owner: ObjectId,
    ending: &Ending,
) -> Option<Kept> {
    let text = ending.path.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(".");
    match ending.act {
        Act::Method(end) => {
            let field = (owner, ending.path[0]);
            let made = parts.made.get(&field)?;
            let is_end = |name: &Symbol| made.ends.iter().any(|end| **end == *name.as_str());
            let called = parts.called.get(&field)?;
            let only_here = called.iter().all(|(name, func)| !is_end(name) || *func == method.id);
            let is_other = parts.lost_sight.contains(&field) || parts.fresh.contains(&field);
            (is_end(&end) && only_here && !is_other).then(|| Kept {
                what: format!("`{text}`"),
                end: format!("`{text}.{end}()`"),
                location: made.location,
                message: format!("the {} is made here, and keeps a goroutine", made.what),
            })
        }
        _ => {
            let package = cx.index.package(cx.package);
            let makes = |func: &&Func| !serves_tests(cx.index, func.id) && gives(cx, func, owner);
            package.funcs.iter().filter(makes).find_map(|func| {
                let resources = cx.summaries.resources(func.id);
                let own = resources
                    .into_iter()
                    .find(|own| own.stop == ending.path && own.ends == [method.name])?;
                Some(Kept {
                    what: format!("the goroutine that waits on `{text}`"),
                    end: format!("end it over `{text}`"),
                    location: own.started,
                    message: format!("the goroutine is started here, and waits on `{text}`"),
                })
            })
        }
    }
}

/// Whether a function gives values of a type.
fn gives(cx: &PackageCx<'_>, func: &Func, owner: ObjectId) -> bool {
    let Type::Func(signature) = cx.index.func_type(func.id) else { return false };
    signature.results.iter().any(|result| result.declared() == Some(owner))
}

fn finding(
    cx: &PackageCx<'_>,
    method: &Func,
    function: &Function<'_>,
    path: &Path<Option<ExprId>>,
    kept: &Kept,
) -> Option<Finding> {
    let PathEnd::Exit(_, Exit::Return(stmt)) = path.end else { return None };
    let failed = path.state?;
    let location = |span| Location { file: function.file_id, span };
    let (name, cause) = (method.name, function.callee_text(failed));
    let (what, end) = (&kept.what, &kept.end);
    let mut finding = cx.finding(
        location(function.file.stmt(stmt).span),
        "gives up here",
        format!("`{name}` leaves {what} running when `{cause}` fails: it returns first"),
    );
    finding.labels.push(Label {
        location: location(function.file.expr(failed).span),
        role: Role::Context,
        message: "when this fails".to_owned(),
    });
    finding.labels.push(Label {
        location: kept.location,
        role: Role::Started,
        message: kept.message.clone(),
    });
    finding.why =
        format!("nobody but `{name}` ends it, and whoever has called it has done his part");
    finding.help = format!("{end} first, or on this way out too, and join the errors");
    finding.defect = location(function.file.stmt(stmt).span);
    Some(finding)
}
