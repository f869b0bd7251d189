//! A channel of one function that is only ever sent on, or only ever ranged over.
//!
//! Evidence: the channel is made here without a buffer, and all that is done to it is seen, also by
//! the functions that it is given to. A goroutine that is started here sends on it with nothing
//! beside, and nobody receives from it; or it ranges over it, and nobody sends on it. Nobody closes it
//! either. No path has to be looked for: whatever this function does next, the other end is nobody's.

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::evidence::runs::How;
use crate::rules::evidence::traffic::{Channel, Deed, Made, Volume};
use crate::rules::evidence::{confidence_of_made, first_line};
use crate::source::Location;
use crate::summary::At;
use crate::syntax::Node;

/// The end of a channel that somebody uses.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    Send,
    Range,
}

/// A goroutine that waits: where it is started, and where it waits.
struct Waiter {
    at: At,
    waits: Location,
}

/// A channel of which this end alone is used, unless another form has told of it.
pub(super) fn check(
    channel: &Channel<'_, '_>,
    made: Made,
    end: End,
    told: &[Finding],
) -> Option<Finding> {
    let scene = channel.scene;
    let make = scene.cx.location(scene.span(Node::Expr(made.make)));
    if made.capacity > 0 || told.iter().any(|finding| finding.defect == make) {
        return None;
    }
    let deeds = || channel.deeds.iter().flat_map(|(&at, deeds)| deeds.iter().map(move |d| (at, d)));
    let ends = deeds().any(|(_, deed)| {
        let inner = channel.inner(deed);
        let comes = match end {
            End::Send => inner.receives || matches!(deed, Deed::Receive),
            End::Range => inner.offers || matches!(deed, Deed::Send | Deed::GuardedSend),
        };
        comes || inner.closes || matches!(deed, Deed::Close)
    });
    if ends {
        return None;
    }
    let mut waiters: Vec<Waiter> = deeds()
        .filter(|(at, _)| at.body == channel.owner)
        .filter_map(|(at, deed)| Some(Waiter { at, waits: waits(channel, deed, end)? }))
        .collect();
    waiters.sort_by_key(|waiter| waiter.at);
    Some(tell(channel, made, waiters.first()?, end))
}

/// Where a goroutine that a deed starts waits for the other end.
fn waits(channel: &Channel<'_, '_>, deed: &Deed, end: End) -> Option<Location> {
    let (Deed::Literal(How::Go, _) | Deed::Function(How::Go, _)) = deed else { return None };
    let Volume { sent_at, ranges, .. } = channel.inner(deed);
    match end {
        End::Send => sent_at,
        End::Range => ranges,
    }
}

fn tell(channel: &Channel<'_, '_>, made: Made, waiter: &Waiter, end: End) -> Finding {
    let scene = channel.scene;
    let cx = &scene.cx;
    let name = scene.info.local(made.local).name;
    let started = cx.location(first_line(scene, channel.step(waiter.at).span(scene.file)));
    // What waits in a function that others start, too, is told of where it is started.
    let declared = cx.location(scene.span(Node::Decl(cx.declared().decl)));
    let own = waiter.waits.file == declared.file && declared.span.contains(waiter.waits.span);
    let primary = if own { waiter.waits } else { started };
    let message = match end {
        End::Send => format!(
            "nobody receives from `{name}` (unbuffered), so the goroutine that sends on it never ends"
        ),
        End::Range => format!(
            "nobody sends on `{name}` or closes it, so the goroutine that ranges over it never ends"
        ),
    };
    let mut finding = cx.package.finding(primary, "stays here", message);
    finding.confidence = confidence_of_made(scene, Node::Expr(made.make));
    let make = cx.location(scene.span(Node::Expr(made.make)));
    finding.defect = make;
    let label = |location: Location, role: Role, message: &str| Label {
        location,
        role,
        message: message.to_owned(),
    };
    finding.labels.push(label(make, Role::Made, "made here"));
    finding.labels.push(label(started, Role::Started, "the goroutine starts here"));
    let told = match end {
        End::Send => "it sends here",
        End::Range => "it waits here for what comes next",
    };
    finding.labels.push(label(waiter.waits, Role::Stuck, told));
    finding.labels.retain(|label| label.location != primary);
    let what = match end {
        End::Send => "receives from it",
        End::Range => "sends on it or closes it",
    };
    finding.why = format!(
        "`{name}` is known to this function and to those that it is given to, and none of them {what}"
    );
    finding.help = match end {
        End::Send => format!("receive from `{name}` all that is sent on it, or do without it"),
        End::Range => format!("close `{name}` where nothing more is sent on it"),
    };
    finding
}
