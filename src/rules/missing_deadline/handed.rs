//! A request to a peer on the context that the function was given, where what made the client bounded
//! its own requests to that peer: whoever wrote it did not rely on callers to set a deadline.

use crate::diagnostic::{Finding, Label, Role};
use crate::index::{Callee, FuncId};
use crate::rules::FunctionCx;
use crate::rules::peer::{WithContext, calls_with_context, waits_for_one_answer};
use crate::rules::scene::serves_tests;
use crate::source::Location;
use crate::summary::{BodyId, ContextRoot, Function, Place, Places, Read, Root};
use crate::syntax::{ExprId, Node};

/// The first request of that kind.
pub(super) fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Option<Finding> {
    let function = &read.function;
    calls_with_context(cx, read).iter().find_map(|call| {
        let param = given(call).filter(|_| call.at.body == BodyId::OWN)?;
        let maker = maker(function, call)?;
        if !waits_for_one_answer(cx, function, call.call) {
            return None;
        }
        let bounded = bounds_its_own(cx, read, maker, param)?;
        let bounded_by_caller = || callers_bound(cx, param);
        (!bounded_by_caller()).then(|| finding(cx, function, call, maker, bounded))
    })
}

/// The parameter that a call gets as its context, as it is.
fn given(call: &WithContext) -> Option<u32> {
    match &call.origin.roots[..] {
        [ContextRoot::Place(place)] if place.path.is_empty() && !call.origin.deadline => {
            match place.root {
                Root::Param(index) => Some(index),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The call whose result the method is called on.
fn maker(function: &Function<'_>, call: &WithContext) -> Option<ExprId> {
    let (base, _) = function.file.method_call(call.call)?;
    let places = function.places(call.at, base);
    let Place { root: Root::Call(made, 0), path } = Places::only(&places)? else { return None };
    path.is_empty().then_some(*made)
}

/// Where the function that makes the client puts a deadline on the context that it is given too, and asks
/// the peer with that alone.
fn bounds_its_own(
    cx: &FunctionCx<'_>,
    read: &Read<'_>,
    maker: ExprId,
    param: u32,
) -> Option<Location> {
    let function = &read.function;
    let Callee::Func(func) = *function.info.callee(maker) else { return None };
    if func.package != cx.func.package {
        return None;
    }
    let args = function.args(maker);
    let at = function.at_call(maker)?;
    let own = Place::root(Root::Param(param));
    let is_same = |&arg: &ExprId| {
        function.info.type_of(arg).is_context()
            && cx.summaries().context(function, at, arg).only().as_ref() == Some(&own)
    };
    let index = args.iter().position(is_same)? as u32;
    let inner = FunctionCx { func, ..*cx };
    let read = cx.summaries().read(func)?;
    let given = Place::root(Root::Param(index));
    let mut bounded = None;
    for call in calls_with_context(&inner, &read) {
        if call.origin.only().as_ref() != Some(&given)
            || !waits_for_one_answer(&inner, &read.function, call.call)
        {
            continue;
        }
        if !call.origin.deadline {
            return None;
        }
        let span = read.function.file.expr(call.call).span;
        bounded.get_or_insert(Location { file: read.function.file_id, span });
    }
    bounded
}

/// Whether somebody in the package calls the function with a context that has a deadline.
fn callers_bound(cx: &FunctionCx<'_>, param: u32) -> bool {
    let index = cx.index();
    let name = cx.declared().name.as_str().as_bytes();
    index.package(cx.func.package).funcs.iter().any(|caller| {
        let file = index.file_of(caller.id);
        let text = file.source.slice(file.decl(caller.decl).span);
        if memchr::memmem::find(text, name).is_none() || serves_tests(index, caller.id) {
            return false;
        }
        let Some(read) = cx.summaries().read(caller.id) else { return false };
        bounds(cx, &read.function, caller.decl, cx.func, param)
    })
}

fn bounds(
    cx: &FunctionCx<'_>,
    caller: &Function<'_>,
    decl: crate::syntax::DeclId,
    func: FuncId,
    param: u32,
) -> bool {
    caller.file.descendants(Node::Decl(decl)).any(|node| {
        let Node::Expr(call) = node else { return false };
        let args = caller.file.args(call);
        if !matches!(caller.info.callee(call), Callee::Func(callee) if *callee == func) {
            return false;
        }
        let (Some(at), Some(&arg)) = (caller.at_call(call), args.get(param as usize)) else {
            return false;
        };
        cx.summaries().context(caller, at, arg).deadline
    })
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: &WithContext,
    maker: ExprId,
    bounded: Location,
) -> Finding {
    let callee = function.callee_text(call.call);
    let context = function.text(call.context);
    let maker = function.callee_text(maker);
    let message = format!(
        "`{callee}` waits as long as its peer likes: `{context}` gets no deadline here, and \
         `{maker}` asks the same peer with one"
    );
    let span = function.file.expr(call.call).span;
    let mut finding = cx.finding(span, "waits here for an answer that may never come", message);
    finding.confidence = crate::diagnostic::Confidence::Medium;
    finding.labels.push(Label {
        location: bounded,
        role: Role::Context,
        message: format!("`{maker}` puts a bound on this, whatever it is given"),
    });
    finding.why =
        "no caller that is seen puts a deadline on the context: a peer that hangs does not \
                   answer, and whoever waits for this function stays"
            .to_owned();
    finding.help = format!("`context.WithTimeout` on `{context}` for all that is asked here");
    finding
}
