//! The rules of group `stuck` by evidence on paths: what the text of one package shows without
//! running it.
//!
//! The explorer proves that a state is stuck, within bounds; here a claim needs no schedule to be
//! searched for, since the text itself shows one: this path leaves, that goroutine still has its
//! send to do, and nobody else knows the channel. Each form stands in a module of its own and says
//! which evidence it asks for. What is not understood (a channel that is handed on, a literal that
//! runs at a time unknown, conditions that may go together) is no evidence, and nothing is said.

mod abandoned;
mod accepted;
mod announced;
mod awaited_first;
mod between_sends;
mod both_ends;
mod called_back;
mod caught;
mod claimed;
mod cleared;
mod closed;
mod consumer;
mod counted_late;
mod counts_itself;
mod dead_arm;
mod departed;
mod drained;
mod exhausted;
mod forsaken;
mod gathered;
mod getter;
mod given_up;
mod groups;
mod half_set;
mod held_on;
mod inverted;
mod kept_place;
mod last_word;
mod leaver;
mod left_counted;
mod left_locked;
mod locks;
mod miscounted;
mod never_done;
mod never_released;
mod nilled;
mod one_ended;
mod other_arm;
mod outlived;
mod outside;
mod overtaken;
mod own_context;
mod own_end;
mod own_receiver;
mod parent;
mod prefetched;
mod promised;
mod reading;
mod recipient;
mod refilled;
mod relocked;
mod runners;
mod runs;
mod said;
mod sibling;
mod silent_timer;
mod skipped;
mod stopped_timer;
mod stream;
mod ticker;
mod token;
mod traffic;
mod unanswered;
mod unbegun;
mod unclosed;
mod undelivered;
mod under_lock;
mod unended;
mod ungiven;
mod unheard;
mod unmade;
mod unreplied;
mod unrun;
mod unsent;
mod unserved;
mod unshared;
mod unsignalled;
mod unstarted;
mod wait_group;

use crate::diagnostic::{Confidence, Finding, Label, Role};
use crate::index::{Callee, Func, Type};
use crate::rules::evidence::groups::{Groups, Op};
use crate::rules::evidence::one_ended::End;
use crate::rules::evidence::own_end::Awaited;
use crate::rules::evidence::traffic::{each_channel, each_returned};
use crate::rules::recurrence::{is_again, is_once};
use crate::rules::scene::{Scene, counts_where, holds_any, is_beside_tests};
use crate::rules::{EVERYWHERE, FunctionCx, PackageCx};
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, Node, UnaryOp};

pub(super) use caught::is_caught;
pub(super) use claimed::is_claimed;
pub(super) use groups::{Channels, tells_of_channels};
pub(super) use locks::Locks;
pub(super) use reading::read_in;
pub(super) use said::is_said_too_late;

/// A form of evidence: what it finds in a package.
pub type Evidence = fn(&PackageCx<'_>, &mut Vec<Finding>);

/// Sends that nobody receives.
pub fn send_without_receiver(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    // A goroutine's send may stand in another function than the channel that it is started for.
    let sends_elsewhere = !package.counts_everywhere() && counts_where(package, &["<-"]);
    let everywhere = PackageCx { counted: &EVERYWHERE, ..*package };
    let makers = if sends_elsewhere { &everywhere } else { package };
    each_function(makers, &["make(chan"], |scene| {
        abandoned::check(scene, findings);
        each_returned(scene, |channel, made, returned| {
            findings.extend(promised::check(channel, made, returned));
            findings.extend(between_sends::check(channel, made, returned));
        });
        each_channel(scene, |channel, made| {
            findings.extend(one_ended::check(channel, made, End::Send, findings));
        });
    });
    let groups = Groups::told_of(package);
    leaver::check(&groups, findings);
    called_back::check(&groups, findings);
    departed::check(&groups, findings);
    given_up::check(&groups, findings);
    sibling::check(&groups, findings);
    recipient::check(&groups, findings);
    consumer::check(&groups, findings);
    unheard::check(&groups, findings);
    awaited_first::check(&groups, findings);
    kept_place::check(&groups, findings);
    each_function(package, &["make(chan"], |scene| unshared::check(scene, findings));
    each_function(package, &[".Done():"], |scene| token::check(scene, findings));
}

/// Writes in the goroutine that has to take what was read.
pub fn send_and_receive_in_one_goroutine(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let groups = Groups::told_of(package);
    both_ends::check(&groups, findings);
    own_receiver::check(&groups, findings);
    other_arm::check(&groups, findings);
    refilled::check(&groups, findings);
}

/// Uses of channels that are nil: never made, or set to nil.
pub fn nil_channel(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let groups = Groups::told_of(package);
    cleared::check(&groups, findings);
    unmade::check(&groups, findings);
    each_function(package, &[" = nil"], |scene| nilled::check(scene, findings));
    silent_timer::check(package, findings);
    each_function(package, &["go "], |scene| ungiven::check(scene, findings));
    each_function(package, &["chan "], |scene| unrun::check(scene, findings));
}

/// Closes of channels that others may still send on, or that nobody has made.
pub fn close_misuse(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    let groups = Groups::told_of(package);
    closed::check(&groups, findings);
    half_set::check(&groups, findings);
}

/// Waits under a lock that the other side needs.
pub fn lock_held_while_blocked(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    under_lock::check(package, findings);
}

/// Ranges over channels that nobody closes.
pub fn range_never_closed(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    each_function(package, &["make(chan"], |scene| {
        unserved::ranges(scene, findings);
        each_channel(scene, |channel, made| {
            findings.extend(unclosed::check(channel, made));
            findings.extend(one_ended::check(channel, made, End::Range, findings));
        });
    });
    ticker::ranges(package, findings);
    let groups = Groups::told_of(package);
    skipped::check(&groups, true, findings);
    outlived::check(&groups, true, findings);
    unsent::check(&groups, true, findings);
}

/// Waits for several things, of which none ever comes.
pub fn select_never_ready(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    unended::check(&Groups::told_of(package), findings);
}

/// Receives from channels that nobody sends on or closes.
pub fn receive_without_sender(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    each_function(package, &["make(chan"], |scene| {
        unserved::receives(scene, findings);
        undelivered::check(scene, findings);
    });
    each_function(package, &["select {"], |scene| dead_arm::check(scene, findings));
    each_function(package, &[".Stop()"], |scene| drained::check(scene, findings));
    each_function(package, &[" = nil"], |scene| exhausted::check(scene, findings));
    ticker::receives(package, findings);
    stopped_timer::check(package, findings);
    let groups = Groups::told_of(package);
    skipped::check(&groups, false, findings);
    outlived::check(&groups, false, findings);
    unsent::check(&groups, false, findings);
    unstarted::check(&groups, findings);
    unanswered::check(&groups, findings);
    unreplied::check(&groups, findings);
    own_end::check(package, Awaited::Close, findings);
    unbegun::check(package, findings);
    accepted::check(&groups, findings);
}

/// Locks that are taken again by who holds them.
pub fn double_lock(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    relocked::check(package, findings);
}

/// Locks that are taken in opposite order.
pub fn lock_order(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    inverted::check(package, findings);
}

/// Locks that are not given back on a path.
pub fn unlock_missing(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    each_function(package, &["Lock(", "lock()"], |scene| left_locked::check(scene, findings));
    held_on::check(package, findings);
    never_released::check(package, findings);
}

/// Condition variables that nobody signals.
pub fn cond_wait_lost(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    unsignalled::check(package, findings);
    forsaken::check(package, findings);
}

/// Groups that are counted up and not down.
pub fn waitgroup_unbalanced(package: &PackageCx<'_>, findings: &mut Vec<Finding>) {
    each_function(package, &["WaitGroup"], |scene| miscounted::check(scene, findings));
    own_end::check(package, Awaited::Counter, findings);
    counts_itself::check(package, findings);
    overtaken::check(package, findings);
    never_done::check(package, findings);
    left_counted::check(package, findings);
    counted_late::check(package, findings);
}

/// Whether the address of an expression is taken.
fn is_addressed(scene: &Scene<'_>, expr: ExprId) -> bool {
    matches!(scene.parent(Node::Expr(expr)), Some(Node::Expr(around))
        if matches!(scene.file.expr(around).kind, ExprKind::Unary { op: UnaryOp::Addr, .. }))
}

/// Opens the functions of the package in which findings count and whose text holds one of `words`.
fn each_function(package: &PackageCx<'_>, words: &[&str], mut visit: impl FnMut(&Scene<'_>)) {
    let funcs = package.index.package(package.package).funcs.iter();
    for func in funcs.filter(|func| package.counts_in(func)) {
        let cx = FunctionCx { package: *package, func: func.id };
        if holds_any(&cx, words)
            && let Some(scene) = Scene::new(cx)
        {
            visit(&scene);
        }
    }
}

/// The confidence of a form that looks at more than one function: a program's own goroutines mostly
/// end with the process, unless it is seen to come there again and again.
fn confidence(scene: &Scene<'_>) -> Confidence {
    let package = scene.cx.index().package(scene.cx.package.package).name;
    let of_tests = || is_beside_tests(&scene.cx) && !stands_beside_copied_test(&scene.cx);
    let ends = || {
        let here = Node::Decl(scene.cx.declared().decl);
        package.as_str() == "main" && !is_again(&scene.cx.package, scene.cx.func, here)
    };
    match ends() || of_tests() {
        true => Confidence::Low,
        false => Confidence::Medium,
    }
}

/// The confidence of a form that shows all that it claims in one function.
fn confidence_of_own(scene: &Scene<'_>) -> Confidence {
    if is_beside_tests(&scene.cx) { Confidence::Low } else { Confidence::High }
}

/// Whether a function stands in the file of no test, beside a function that is called like a test and takes what
/// one does: that runs as any code does.
fn stands_beside_copied_test(cx: &FunctionCx<'_>) -> bool {
    let index = cx.index();
    let own = index.func(cx.func).file;
    let is_test = |func: &Func| {
        let Type::Func(signature) = index.func_type(func.id) else { return false };
        func.file == own
            && func.receiver.is_none()
            && func.name.as_str().starts_with("Test")
            && matches!(&signature.params[..], [only] if only.strip_pointer().is_named("testing", "T"))
    };
    !index.is_in_test_file(cx.func) && index.package(cx.func.package).funcs.iter().any(is_test)
}

/// The confidence that a goroutine which stays at a place matters: what runs once leaves one, which
/// ends with the process.
fn confidence_at(scene: &Scene<'_>, node: Node) -> Confidence {
    // However often it comes there, it is one goroutine that stays.
    let started = match scene.literal_around(node) {
        Some(literal) => scene.go_around(literal).map_or(node, Node::Stmt),
        None => Node::Decl(scene.cx.declared().decl),
    };
    match is_once(&scene.cx.package, scene.cx.func, started) {
        true => Confidence::Low,
        false => confidence(scene),
    }
}

/// The same of what each who comes to a place leaves behind. A literal of a program may be kept by a
/// server.
fn confidence_of_made(scene: &Scene<'_>, node: Node) -> Confidence {
    match scene.literal_around(node) {
        _ if is_once(&scene.cx.package, scene.cx.func, node) => Confidence::Low,
        Some(_) if !is_beside_tests(&scene.cx) => Confidence::Medium,
        _ => confidence(scene),
    }
}

/// How many calls there are at most between `main` and a function that ends with it.
const MAX_CALLS: u32 = 4;

/// Whether the process is over when the function is: it is `main`, or only functions that are so
/// call it.
fn ends_process(cx: &FunctionCx<'_>) -> bool {
    let package = cx.index().package(cx.package.package);
    package.name.as_str() == "main" && ends_with_main(cx, MAX_CALLS)
}

fn ends_with_main(cx: &FunctionCx<'_>, depth: u32) -> bool {
    let declared = cx.declared();
    let name = declared.name.as_str();
    if declared.receiver.is_none() && name == "main" {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return false };
    let mut called = false;
    let uses = cx.package.uses();
    let named = uses.named.get(&cx.func).map_or(&[][..], Vec::as_slice);
    for of_caller in named.chunk_by(|(one, _), (other, _)| one == other) {
        let caller = FunctionCx { func: of_caller[0].0, ..*cx };
        if caller.func == cx.func {
            continue;
        }
        let Some(scene) = Scene::new(caller) else { return false };
        for &(_, expr) in of_caller {
            let node = Node::Expr(expr);
            let direct = match scene.parent(node) {
                Some(Node::Expr(call)) => {
                    matches!(scene.info.callee(call), Callee::Func(func) if *func == cx.func)
                        && scene.literal_around(node).is_none()
                        && scene.loops_around(node).is_empty()
                        && scene.go_of(call).is_none()
                }
                _ => false,
            };
            if !direct || !ends_with_main(&caller, depth) {
                return false;
            }
            called = true;
        }
    }
    called
}

/// How much room a channel of this capacity has, in words.
fn room(capacity: u8) -> String {
    match capacity {
        0 => "unbuffered".to_owned(),
        capacity => format!("room for {capacity}"),
    }
}

/// A label at the first line of an operation.
fn label(groups: &Groups<'_>, op: &Op, role: Role, message: impl Into<String>) -> Label {
    let scene = &groups.scenes[op.scene];
    let location = scene.cx.location(first_line(scene, op.span(scene)));
    Label { location, role, message: message.into() }
}

/// The first line of a span: a goroutine's literal may be long.
pub fn first_line(scene: &Scene<'_>, span: Span) -> Span {
    let text = scene.file.source.text(span);
    let end = text.find('\n').map_or(span.end, |at| span.start + at as u32);
    Span::new(span.start, end)
}
