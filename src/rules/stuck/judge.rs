//! Which rule a stuck state is a case of, and which of the stuck goroutines is at its centre.

use crate::explore::{Action, Goroutine, Kind, Misuse, Resource, ResourceKind, Stuck, WaitsFor};

/// What a stuck state is.
pub(super) struct Verdict {
    /// The id of the rule.
    pub rule: &'static str,
    /// The goroutine that the others wait for, or that is closest to the fault.
    pub centre: usize,
    /// What is wrong with it.
    pub fault: Fault,
}

/// What is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// Nobody receives.
    Send,
    /// Nobody sends or closes.
    Receive,
    /// Nobody cancels a context.
    Context,
    /// Nobody closes.
    Range,
    /// No case becomes ready.
    Select,
    /// A select goes round for ever, and its way out is never ready.
    Spin,
    /// The channel is nil.
    Nil,
    /// The goroutine holds the lock itself.
    OwnLock,
    /// Two goroutines hold what the other wants.
    Order,
    /// Whoever held the lock has gone.
    LeftLocked,
    /// A lock is held by a goroutine that is blocked, and another one wants it.
    HeldLock,
    /// The counter never gets to zero.
    Counter,
    /// The counter gets below zero.
    Negative,
    /// No signal comes.
    Condition,
    /// A Once waits for itself.
    Once,
    /// A channel is closed twice, closed while nil, or sent on after its end.
    Misuse(Misuse),
}

/// The rule for each fault.
fn rule(fault: Fault) -> &'static str {
    match fault {
        Fault::Send => "send-without-receiver",
        Fault::Receive | Fault::Context => "receive-without-sender",
        Fault::Range => "range-never-closed",
        Fault::Select | Fault::Spin => "select-never-ready",
        Fault::Nil => "nil-channel",
        Fault::OwnLock => "double-lock",
        Fault::Order => "lock-order",
        Fault::LeftLocked => "unlock-missing",
        Fault::HeldLock => "lock-held-while-blocked",
        Fault::Counter | Fault::Negative => "waitgroup-unbalanced",
        Fault::Condition => "cond-wait-lost",
        Fault::Once => "once-self",
        Fault::Misuse(_) => "close-misuse",
    }
}

/// The verdict on a stuck state; none if its counts are not exact, or nothing is claimed of it.
pub(super) fn judge(stuck: &Stuck) -> Option<Verdict> {
    if stuck.doubts.inexact {
        return None;
    }
    let fault = match stuck.kind {
        // How often other code sends, and so how often it is counted down, is its own affair.
        Kind::Misuse(Misuse::NegativeCounter) if is_fed(stuck) => return None,
        Kind::Misuse(Misuse::NegativeCounter) => Some(Fault::Negative),
        // Unlocking what is not locked stops the process: it is no case of these rules.
        Kind::Misuse(Misuse::UnlockOfUnlocked) => return None,
        Kind::Misuse(misuse) => Some(Fault::Misuse(misuse)),
        Kind::Livelock => Some(Fault::Spin),
        Kind::Terminal | Kind::Component => None,
    };
    if let Some(fault) = fault {
        return Some(Verdict { rule: rule(fault), centre: 0, fault });
    }
    let all = &stuck.goroutines;
    let ranked = all.iter().enumerate().filter_map(|(at, goroutine)| {
        let (fault, rank) = fault_of(all, goroutine)?;
        Some((rank, at, fault))
    });
    let (_, centre, fault) = ranked.min_by_key(|&(rank, at, _)| (rank, at))?;
    Some(Verdict { rule: rule(fault), centre, fault })
}

/// Whether a goroutine is stuck that waits for a lock which it holds itself.
pub(super) fn is_own_lock(stuck: &Stuck) -> bool {
    judge(stuck).is_some_and(|verdict| verdict.fault == Fault::OwnLock)
}

/// Whether that lock was taken by a function that still runs, and not by one that has returned with it.
pub(super) fn is_held_by_running(stuck: &Stuck) -> bool {
    let Some(verdict) = judge(stuck) else { return false };
    let goroutine = &stuck.goroutines[verdict.centre];
    let Some(ResourceKind::Lock { held }) = goroutine.resources.first().map(|lock| &lock.kind)
    else {
        return false;
    };
    let runs = |func| func == goroutine.at.func || goroutine.calls.iter().any(|it| it.func == func);
    held.iter().any(|held| held.goroutine == goroutine.number && runs(held.at.func))
}

/// Whether the goroutine that stops the process has communicated with unknown code before.
fn is_fed(stuck: &Stuck) -> bool {
    let Some(acting) = stuck.goroutines.first() else { return false };
    stuck.witness.iter().any(|step| {
        step.goroutine == acting.number && matches!(step.action, Action::External { .. })
    })
}

/// What is wrong with one of several stuck goroutines, and how far from the centre of the matter
/// that is: who waits for a lock or a counter waits for somebody else who is stuck.
fn fault_of(all: &[Goroutine], goroutine: &Goroutine) -> Option<(Fault, u32)> {
    let lock = matches!(goroutine.waits_for, WaitsFor::Lock | WaitsFor::RLock);
    if goroutine.external && !lock {
        return None;
    }
    if lock {
        return lock_fault(all, goroutine);
    }
    // A goroutine that holds what another one waits for stops both.
    let wanted = goroutine.holds.iter().any(|&(lock, _)| {
        all.iter().any(|other| {
            other.number != goroutine.number
                && matches!(other.waits_for, WaitsFor::Lock | WaitsFor::RLock)
                && other.resources.iter().any(|resource| resource.object == lock)
        })
    });
    if wanted {
        return Some((Fault::HeldLock, 3));
    }
    Some(match goroutine.waits_for {
        WaitsFor::NilChannel => (Fault::Nil, 4),
        WaitsFor::Send => (Fault::Send, 5),
        WaitsFor::Select => (Fault::Select, 6),
        WaitsFor::Receive if of_context(goroutine) => (Fault::Context, 8),
        WaitsFor::Receive => (Fault::Receive, 7),
        WaitsFor::Range => (Fault::Range, 8),
        WaitsFor::Condition => (Fault::Condition, 9),
        WaitsFor::Once => (Fault::Once, 2),
        WaitsFor::Counter => (Fault::Counter, 11),
        _ => return None,
    })
}

fn of_context(goroutine: &Goroutine) -> bool {
    goroutine.resources.iter().any(|resource| resource.of_context)
}

fn lock_fault(all: &[Goroutine], goroutine: &Goroutine) -> Option<(Fault, u32)> {
    let lock = goroutine.resources.first()?;
    let holders = holders(lock);
    if holders.contains(&goroutine.number) {
        return Some(if is_left(lock, goroutine) {
            (Fault::LeftLocked, 0)
        } else {
            (Fault::OwnLock, 0)
        });
    }
    let mut stuck = all.iter().filter(|other| holders.contains(&other.number)).peekable();
    if stuck.peek().is_none() {
        // A reader that was let in before a waiting writer holds nothing that anybody wants.
        return (!holders.is_empty()).then_some((Fault::LeftLocked, 2));
    }
    let crossed = stuck.any(|other| {
        matches!(other.waits_for, WaitsFor::Lock | WaitsFor::RLock)
            && other
                .resources
                .first()
                .is_some_and(|wanted| self::holders(wanted).contains(&goroutine.number))
    });
    // Otherwise it is a victim of the one that holds the lock.
    Some(if crossed { (Fault::Order, 1) } else { (Fault::HeldLock, 20) })
}

/// Whether the lock that a goroutine holds itself was taken by a function that has returned: by
/// the very instruction that waits now, in an earlier call or turn, or by a function that gives
/// locks back and is not running.
fn is_left(lock: &Resource, goroutine: &Goroutine) -> bool {
    let ResourceKind::Lock { held } = &lock.kind else { return false };
    let Some(own) = held.iter().find(|held| held.goroutine == goroutine.number) else {
        return false;
    };
    let running = goroutine.at.func == own.at.func
        || goroutine.calls.iter().any(|call| call.func == own.at.func);
    own.at == goroutine.at || !running && own.unlocks
}

fn holders(resource: &Resource) -> Vec<u32> {
    match &resource.kind {
        ResourceKind::Lock { held } => held.iter().map(|lock| lock.goroutine).collect(),
        _ => Vec::new(),
    }
}
