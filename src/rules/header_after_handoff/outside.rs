//! A filter reads the header map of its request after the inner side has returned, and somewhere
//! inside a filter leaves its handler behind with the same map.
//!
//! Whether that is wrong is decided by the chain, not by the function that reads: where the filter
//! inside gives its handler a clone of the request, the same lines are fine.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::rules::FunctionCx;
use crate::rules::chain::{self, Chain, Link};
use crate::rules::filter::{FilterFacts, Given, HandsOff, HeaderRead, Told};
use crate::source::Location;

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
    let told: Vec<&Told> =
        facts[outer].reads_after.iter().filter_map(|HeaderRead { told }| told.as_ref()).collect();
    let (first, more) = told.split_first()?;
    let shares = |inner: &usize| {
        facts[*inner]
            .hands_off
            .is_some_and(|hands_off| matches!(hands_off.request, Given::Same | Given::Derived))
            && chain.links[*inner].stands_with(cx, &chain.links[outer])
    };
    let inner = (0..outer).rev().find(shares)?;
    // Between the two the request may become another one.
    if facts[inner + 1..outer].iter().any(|facts| facts.request == Given::Own) {
        return None;
    }
    let hands_off = facts[inner].hands_off?;
    let of_link =
        |(facts, link): (&FilterFacts, &Link)| Some((link.name.clone(), facts.changes_request?));
    let changes = facts[..inner].iter().zip(&chain.links).find_map(of_link).or_else(|| {
        let (name, facts) = chain.innermost(cx)?;
        Some((name.to_owned(), facts.changes_request?))
    });
    let story = Story { chain, outer, inner, hands_off, changes };
    Some(finding(cx, first, more, &story))
}

/// What the filters have to do with each other.
struct Story<'s> {
    chain: &'s Chain,
    outer: usize,
    inner: usize,
    hands_off: HandsOff,
    /// What inside changes the map, and where.
    changes: Option<(String, Location)>,
}

fn finding(cx: &FunctionCx<'_>, first: &Told, more: &[&Told], story: &Story<'_>) -> Finding {
    let (outer, inner) = (&story.chain.links[story.outer], &story.chain.links[story.inner]);
    let message = format!(
        "`{}` reads the headers of its request after the inner side has returned, and stands \
         outside `{}`, which leaves a handler behind with the same header map: a concurrent map \
         read and map write ends the process",
        outer.name, inner.name
    );
    let mut finding = cx.package.finding(first.read, "reads the header map", message);
    let mut label = |location: Location, role: Role, message: String| {
        finding.labels.push(Label { location, role, message });
    };
    label(inner.at, Role::Context, format!("`{}` stands inside", inner.name));
    if let Some(go) = story.hands_off.at {
        let told = "it runs its handler in a goroutine with the same request, and may leave it";
        label(go, Role::Started, told.to_owned());
    }
    if let Some((name, at)) = &story.changes {
        label(*at, Role::Context, format!("`{name}`, in that goroutine, changes the headers"));
    }
    label(outer.at, Role::Context, format!("`{}` stands outside", outer.name));
    if first.step != first.read {
        let told = match first.deferred {
            true => "after the inner side has returned, this is called",
            false => "this runs after the inner side has returned",
        };
        label(first.step, Role::Left, told.to_owned());
    }
    if let Some(touched) = first.touched {
        label(touched, Role::Context, "the map is read here".to_owned());
    }
    for told in more {
        label(told.read, Role::Context, "so it is here".to_owned());
    }
    finding.why =
        "the inner side has returned, but the handler in its goroutine has not: it still \
                   deletes, sets and reads headers, and Go's maps stop the whole process when a \
                   read meets a write"
            .to_owned();
    finding.help = format!(
        "read what is needed before the inner side runs, and keep it; or let `{}` give its handler \
         `r.Clone(r.Context())`, made before its `go`",
        inner.name
    );
    if story.changes.is_none() {
        finding.confidence = Confidence::Low;
    }
    finding
}
