//! `filter-order`: in a chain of handlers, a filter that puts its response writer into the request's
//! context stands outside a filter that leaves the inner side behind.

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::chain::{self, Chain, Kind, Link};
use crate::rules::filter::{FilterFacts, HandsOff, Stash};
use crate::rules::{Check, FunctionCx, Rule};
use crate::source::Location;

pub const RULE: Rule =
    Rule { page: include_str!("../../rules/filter-order.md"), check: Check::Function(check) };

fn check(cx: &FunctionCx<'_>, findings: &mut Vec<Finding>) {
    for (chain, facts) in chain::with_facts(cx).iter() {
        findings.extend(check_chain(cx, chain, facts));
    }
}

fn check_chain(cx: &FunctionCx<'_>, chain: &Chain, facts: &[FilterFacts]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (outer, known) in facts.iter().enumerate() {
        let Some(stash) = known.stashes else { continue };
        let inner = (0..outer).rev().find_map(|inner| {
            let hands_off = facts[inner].hands_off?;
            let stand = chain.links[inner].stands_with(cx, &chain.links[outer]);
            stand.then_some((&chain.links[inner], hands_off))
        });
        if let Some((inner, hands_off)) = inner {
            let outer = &chain.links[outer];
            findings.push(finding(cx, chain.kind, outer, stash, inner, hands_off));
        }
    }
    findings
}

fn finding(
    cx: &FunctionCx<'_>,
    kind: Kind,
    outer: &Link,
    stash: Stash,
    inner: &Link,
    hands_off: HandsOff,
) -> Finding {
    let (outer_name, inner_name) = (&outer.name, &inner.name);
    let message = format!(
        "`{outer_name}` stands outside `{inner_name}`, which leaves its handler behind after a \
         timeout: that handler still finds the response writer of `{outer_name}` in the context, \
         and writes to it while the response is finished"
    );
    let mut finding = cx.package.finding(outer.statement, "outside the handoff", message);
    let mut label = |location: Location, role: Role, message: String| {
        finding.labels.push(Label { location, role, message });
    };
    if let Some(at) = stash.at {
        label(at, Role::Made, "the writer is put into the context here".to_owned());
    }
    label(inner.at, Role::Context, "the filter that hands off stands here".to_owned());
    if let Some(at) = hands_off.at {
        label(at, Role::Started, "it runs its handler in a goroutine, and may leave it".to_owned());
    }
    if let Some(at) = stash.used {
        label(at, Role::Context, "the handler comes here, whether left or not".to_owned());
    }
    finding.why = format!(
        "the writer that `{inner_name}` gives to its handler knows of the timeout; the one in the \
         context is the real one, which the server is writing from"
    );
    finding.help = match kind {
        Kind::Applied => format!(
            "apply `{outer_name}` before `{inner_name}`, so that it stands inside and keeps the \
             writer that knows of the timeout"
        ),
        Kind::Registered => format!(
            "register `{outer_name}` after `{inner_name}`, so that it stands inside and keeps the \
             writer that knows of the timeout"
        ),
    };
    finding
}
