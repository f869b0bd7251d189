//! A range over a channel that nobody closes.
//!
//! Evidence: the channel is made here and known to nobody else, and nobody closes it; the maker, a
//! goroutine that it starts, or a function that one of the two calls and gives the channel to ranges
//! over it and has no other way out; and all who send on it come to an end.

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::flow::{Step, StepId};
use crate::rules::evidence::first_line;
use crate::rules::evidence::runs::How;
use crate::rules::evidence::traffic::{Channel, Deed, Made, goes_on};
use crate::rules::scene::is_beside_tests;
use crate::source::{Location, Span};
use crate::summary::At;

/// A range that waits: where it is reached, and where it stands if that is in another function.
struct Ranged {
    at: Span,
    inside: Option<Location>,
}

/// The range over a channel that nobody ends.
pub(super) fn check(channel: &Channel<'_, '_>, made: Made) -> Option<Finding> {
    let deeds = || channel.deeds.iter().flat_map(|(&at, deeds)| deeds.iter().map(move |d| (at, d)));
    let closes = |deed: &Deed| matches!(deed, Deed::Close) || channel.inner(deed).closes;
    if deeds().any(|(_, deed)| closes(deed)) {
        return None;
    }
    let sends = deeds().filter(|(_, deed)| matches!(deed, Deed::Send | Deed::GuardedSend));
    let mut sends: Vec<At> = sends.map(|(at, _)| at).collect();
    sends.sort_unstable();
    // What other functions send may have no end.
    let sent_elsewhere = |deed: &Deed| match deed {
        Deed::Function(_, volume) => volume.sends > 0,
        _ => false,
    };
    if deeds().any(|(_, deed)| sent_elsewhere(deed)) || !sends.iter().all(|&at| ends(channel, at)) {
        return None;
    }
    let sent = *sends.first()?;
    let mut ranges: Vec<Ranged> =
        deeds().filter_map(|(at, deed)| ranged(channel, at, deed)).collect();
    ranges.sort_by_key(|range| range.at.start);
    let range = ranges.into_iter().next()?;
    let scene = channel.scene;
    let name = scene.info.local(made.local).name;
    let message = match range.inside {
        None => format!("nobody closes `{name}`, so this range never ends"),
        Some(_) => format!("nobody closes `{name}`, and this call ranges over it: it never ends"),
    };
    let mut finding = scene.cx.finding(first_line(scene, range.at), "stays here", message);
    finding.confidence = match is_beside_tests(&scene.cx) {
        true => Confidence::Low,
        false => Confidence::Medium,
    };
    let step = |at: At| scene.cx.location(first_line(scene, channel.step(at).span(scene.file)));
    let label =
        |location, role, message: &str| Label { location, role, message: message.to_owned() };
    finding.labels.push(label(step(made.at), Role::Made, "made here"));
    finding.labels.push(label(step(sent), Role::Context, "who sends here ends without a close"));
    if let Some(inside) = range.inside {
        finding.labels.push(label(inside, Role::Stuck, "the range waits here for what comes next"));
    }
    finding.why = "a range over a channel ends only when it is closed".to_owned();
    finding.help = format!("close `{name}` where the last value has been sent");
    finding.defect = scene.cx.location(scene.file.expr(made.make).span);
    Some(finding)
}

/// Whether who sends at a step comes to an end after that.
fn ends(channel: &Channel<'_, '_>, at: At) -> bool {
    !goes_on(&channel.read.function.body(at.body).cfg, at.step, None)
}

/// The range that a deed comes to, if nothing but a close ends it.
fn ranged(channel: &Channel<'_, '_>, at: At, deed: &Deed) -> Option<Ranged> {
    let span = |step: StepId| channel.step(At { step, ..at }).span(channel.scene.file);
    let cfg = &channel.read.function.body(at.body).cfg;
    match deed {
        Deed::Receive => {
            let Step::Next(range) = cfg.step(at.step) else { return None };
            let goes_on = goes_on(cfg, at.step, Some(range));
            let at = channel.scene.file.stmt(range).span;
            goes_on.then_some(Ranged { at, inside: None })
        }
        Deed::Function(How::Call | How::Go, volume) => {
            let inside = volume.ranges?;
            Some(Ranged { at: span(at.step), inside: Some(inside) })
        }
        _ => None,
    }
}
