//! A filter goes on using an object after the inner side has returned that this can reach by the
//! request's context, and something inside is left behind that may change the object at that very
//! time: a clone of the request has the same context.
//!
//! What is left behind is the handler of a filter inside; or, where the functions that change the
//! object hold a lock for it, and so expect to meet each other, what a handler gives to a function
//! that runs it in a goroutine and may leave that. That the inner side does change it is told by
//! what the filters inside call.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Callee, Def, FuncId};
use crate::rules::FunctionCx;
use crate::rules::chain::{self, Chain};
use crate::rules::filter::{FilterFacts, Given, StateUse, StateWrite};
use crate::rules::scene::holds_any;
use crate::source::Location;
use crate::summary::{Act, At, Function, Mode, Place, Root};
use crate::syntax::{ExprId, ExprKind, Node, Symbol};

pub fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    chain::each_filter(cx, |chain, facts, outer| {
        findings.extend(check_filter(cx, chain, facts, outer));
    });
}

fn check_filter(
    cx: &FunctionCx<'_>,
    chain: &Chain,
    facts: &[FilterFacts],
    outer: usize,
) -> Option<Finding> {
    let all = &facts[outer].state_after;
    if all.is_empty() {
        return None;
    }
    let by_filter = (0..outer).rev().find_map(|inner| {
        let hands_off = facts[inner].hands_off?;
        let leaves = hands_off.request != Given::Unknown
            && chain.links[inner].stands_with(cx, &chain.links[outer]);
        leaves.then_some((inner, hands_off))
    });
    let find = |inside: usize, counts: &dyn Fn(&StateWrite) -> bool| {
        all.iter().find_map(|used| {
            used.writes.iter().filter(|write| counts(write)).find_map(|write| {
                let by = caller_of(cx, chain, inside, write.func)?;
                let more = others(all, used, write);
                Some(Race { used, write, by, more })
            })
        })
    };
    if let Some((inner, hands_off)) = by_filter {
        let race = find(inner, &|_| true)?;
        let link = &chain.links[inner];
        let left = Left { name: link.name.clone(), at: link.at, go: hands_off.at, is_filter: true };
        return Some(finding(cx, chain, outer, &left, &race));
    }
    let race = find(outer, &|write| write.used.locked)?;
    let left = left_by_handlers(cx)?;
    Some(finding(cx, chain, outer, &left, &race))
}

/// Two sides that use one field.
struct Race<'r> {
    used: &'r StateUse,
    write: &'r StateWrite,
    /// The filter or handler that writes.
    by: String,
    /// Where else the filter uses what is written there.
    more: Vec<Location>,
}

/// How many further places a finding shows.
const SHOWN: usize = 4;

/// The other places where a filter uses what a function writes.
fn others(all: &[StateUse], first: &StateUse, write: &StateWrite) -> Vec<Location> {
    let mut found: Vec<Location> = Vec::new();
    for other in all {
        let of_write = other.writes.iter().any(|known| known.func == write.func);
        let place = other.used.owner;
        let shown = place == first.used.owner || place == first.used.location;
        if of_write && !shown && !found.contains(&place) && found.len() < SHOWN {
            found.push(place);
        }
    }
    found
}

/// What leaves something behind inside.
struct Left {
    /// The filter, or the function that is called.
    name: String,
    /// Where it is applied, or called.
    at: Location,
    /// The goroutine, if it is known.
    go: Option<Location>,
    /// Whether it is a filter of the chain.
    is_filter: bool,
}

/// The filter inside of `inner`, or the innermost handler, that calls a function.
fn caller_of(cx: &FunctionCx<'_>, chain: &Chain, inner: usize, func: FuncId) -> Option<String> {
    let link = chain.links[..inner].iter().find(|link| link.calls(cx).contains(&func));
    if let Some(link) = link {
        return Some(link.name.clone());
    }
    let (name, calls) = chain.innermost_calls(cx)?;
    calls.contains(&func).then(|| name.to_owned())
}

/// A call in a function of the run that has a request, which gives a literal with a context to a
/// function that runs it in a goroutine and may leave that behind.
fn left_by_handlers(cx: &FunctionCx<'_>) -> Option<Left> {
    for package in cx.package.packages_with(Symbol::new("Request")) {
        for func in &cx.index().package(package).funcs {
            let cx = FunctionCx { func: func.id, ..*cx };
            if cx.index().is_in_test_file(func.id) || !holds_any(&cx, &["http.Request"]) {
                continue;
            }
            let Some(read) = cx.summaries().read(func.id) else { continue };
            let function = &read.function;
            for body in function.bodies() {
                let cfg = &function.body(body).cfg;
                for step in cfg.steps() {
                    let Some(call) = cfg.step(step).call(function.file) else { continue };
                    if leaves_literal(&cx, function, At { body, step }, call) {
                        return Some(Left {
                            name: function.callee_text(call),
                            at: Location {
                                file: function.file_id,
                                span: function.file.expr(call).span,
                            },
                            go: None,
                            is_filter: false,
                        });
                    }
                }
            }
        }
    }
    None
}

/// Whether a call gives a literal that uses a context from around it to a function that runs it in
/// a goroutine and may leave that behind.
fn leaves_literal(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, call: ExprId) -> bool {
    let Callee::Func(func) = function.info.callee(call) else { return false };
    let ExprKind::Call { args, .. } = &function.file.expr(call).kind else { return false };
    let Some(summary) = cx.summaries().of(*func) else { return false };
    args.iter().enumerate().any(|(index, &arg)| {
        let param = Place::root(Root::Param(index as u32));
        let left = summary.deeds.iter().any(|deed| {
            deed.place == param && deed.act == Act::Called && deed.mode == Mode::Spawned
        });
        left && function.places(at, arg).list.iter().any(|place| match place.root {
            Root::Made(literal) => uses_context(function, literal),
            _ => false,
        })
    })
}

fn uses_context(function: &Function<'_>, literal: ExprId) -> bool {
    let own = function.body_of_literal(literal);
    own.is_some()
        && function.file.descendants(Node::Expr(literal)).any(|node| match node {
            Node::Expr(expr) => match function.info.resolve(expr) {
                Def::Local(local) => {
                    function.info.local(*local).ty.is_context() && function.owner(*local) != own
                }
                _ => false,
            },
            _ => false,
        })
}

fn finding(
    cx: &FunctionCx<'_>,
    chain: &Chain,
    outer: usize,
    left: &Left,
    race: &Race<'_>,
) -> Finding {
    let Race { used: StateUse { used, step, name, .. }, write, by, more } = race;
    let outer = &chain.links[outer];
    let code = &used.code;
    let message = match left.is_filter {
        true => format!(
            "`{}` uses `{code}` after the inner side has returned, and stands outside `{}`, which \
             leaves a handler behind: `{by}` in there may change it at that very time, and nothing \
             orders the two",
            outer.name, left.name
        ),
        false => format!(
            "`{}` uses `{code}` after the inner side has returned, without the lock that is held \
             where it is changed: what a handler has left behind with the same context may change \
             it at that very time",
            outer.name
        ),
    };
    let mut finding = cx.package.finding(used.owner, &format!("uses `{code}`"), message);
    let mut label = |location: Location, role: Role, message: String| {
        finding.labels.push(Label { location, role, message });
    };
    label(outer.at, Role::Context, format!("`{}` stands outside", outer.name));
    match left.is_filter {
        true => label(left.at, Role::Context, format!("`{}` stands inside", left.name)),
        false => label(
            left.at,
            Role::Started,
            format!("`{}` runs this in a goroutine, and may leave it", left.name),
        ),
    }
    if let Some(go) = left.go {
        let told = "it runs its handler in a goroutine with the same context, and may leave it";
        label(go, Role::Started, told.to_owned());
    }
    let told = match write.used.locked {
        true => format!("`{by}` changes it here, with a lock that the other side does not hold"),
        false => format!("`{by}` changes it here, without a lock"),
    };
    label(write.used.location, Role::Context, told);
    if *step != used.owner {
        label(*step, Role::Left, "this runs after the inner side has returned".to_owned());
    }
    if used.location != used.owner {
        label(used.location, Role::Context, "it is used here".to_owned());
    }
    for more in more {
        label(*more, Role::Context, "so it is here".to_owned());
    }
    finding.why = format!(
        "the `{name}` is in the context of the request, and who was left behind has that context \
         still; Go's maps stop the whole process when a read meets a write"
    );
    finding.help =
        "hold one lock on both sides for as long as the fields are used, and give on only \
                    copies of maps and slices"
            .to_owned();
    finding
}
