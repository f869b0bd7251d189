//! A fresh context where all calls of the same kind in the package are given the one at hand.
//!
//! What the callee does with its context need not be in sight: a constructor keeps it for what comes
//! later. Whoever wrote so many of these calls has decided what belongs there.

use crate::diagnostic::{Finding, Label, Role};
use crate::flow::Step;
use crate::index::{Callee, Signature, Type};
use crate::rules::FunctionCx;
use crate::rules::context_not_propagated::own::{self, From, Own, Reach};
use crate::rules::context_not_propagated::{callee_text, is_root, purpose, push_own, use_own};
use crate::rules::scene::serves_tests;
use crate::source::Location;
use crate::summary::{Act, At, BodyId, ContextRoot, Deed, Function, Read, Root};
use crate::syntax::{ExprId, Symbol};

/// How many calls show what belongs there.
const ENOUGH: usize = 8;

/// The calls of a function that are given a fresh context, and are alone with that.
pub fn check(cx: &FunctionCx<'_>, read: &Read<'_>) -> Vec<Finding> {
    let function = &read.function;
    let mut findings = Vec::new();
    for step in function.body(BodyId::OWN).cfg.steps() {
        let at = At { body: BodyId::OWN, step };
        let Step::Call(call) = function.step(at) else { continue };
        findings.extend(check_call(cx, read, at, call));
    }
    findings
}

fn check_call(cx: &FunctionCx<'_>, read: &Read<'_>, at: At, call: ExprId) -> Option<Finding> {
    let function = &read.function;
    let kind = kind(cx, function, call)?;
    let Given::Fresh(made) = given(cx, function, at, call)? else { return None };
    let span = function.file.expr(made).span;
    if !is_root(cx, function, made)
        || purpose::ends_something(function, call)
        || purpose::is_explained(function, &[span, function.file.expr(call).span])
    {
        return None;
    }
    let Reach::Own(own) = own::at_hand(cx, read, at) else { return None };
    let alike = alike(cx, &kind);
    if own.from != From::Param || alike.fresh > 1 || alike.own < ENOUGH {
        return None;
    }
    Some(finding(cx, function, call, made, &own, &alike))
}

/// Functions of the package that take the same, a context first, and are named alike.
struct Kind {
    params: Box<[Type]>,
    /// The first word of the name.
    word: Symbol,
}

fn kind(cx: &FunctionCx<'_>, function: &Function<'_>, call: ExprId) -> Option<Kind> {
    let Callee::Func(func) = *function.info.callee(call) else { return None };
    let declared = cx.index().func(func);
    if func.package != cx.func.package || declared.receiver.is_some() {
        return None;
    }
    let Type::Func(signature) = cx.index().func_type(func) else { return None };
    // What it makes carries the context on; what it only tells somebody waits for nobody.
    let makes = signature
        .results
        .first()
        .and_then(Type::named)
        .is_some_and(|made| made.path == cx.index().package(cx.func.package).path);
    // What is only looked up in a context does not end with it.
    let looks_up = |deed: &Deed| matches!(deed.act, Act::Method(name) if name.as_str() == "Value");
    let summary = cx.summaries().of(func)?;
    let mut deeds = summary.deeds.iter().filter(|deed| deed.place.root == Root::Param(0));
    let only_looks_up = deeds.clone().next().is_some() && deeds.all(looks_up);
    (takes_context(&signature) && makes && !only_looks_up)
        .then(|| Kind { params: signature.params.clone(), word: first_word(declared.name) })
}

fn takes_context(signature: &Signature) -> bool {
    signature.params.first().is_some_and(Type::is_context)
}

/// `New` of `NewStatusCmd`.
fn first_word(name: Symbol) -> Symbol {
    let text = name.as_str();
    let end =
        text.char_indices().skip(1).find(|(_, c)| c.is_uppercase()).map_or(text.len(), |it| it.0);
    Symbol::new(&text[..end])
}

/// What a call is given as its context.
enum Given {
    Fresh(ExprId),
    /// The parameter of the function, or one derived from it.
    Own,
}

fn given(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, call: ExprId) -> Option<Given> {
    let args = function.args(call);
    let origin = cx.summaries().context(function, at, *args.first()?);
    match &origin.roots[..] {
        [ContextRoot::Fresh(made)] if origin.derivations.is_empty() => Some(Given::Fresh(*made)),
        [ContextRoot::Place(_)] => Some(Given::Own),
        _ => None,
    }
}

/// What the functions of the package that have a context give to functions of a kind.
#[derive(Default)]
struct Alike {
    own: usize,
    fresh: usize,
    /// The first that gives its own.
    first: Option<(Location, Symbol)>,
}

fn alike(cx: &FunctionCx<'_>, kind: &Kind) -> Alike {
    let mut alike = Alike::default();
    for func in &cx.index().package(cx.func.package).funcs {
        let Type::Func(signature) = cx.index().func_type(func.id) else { continue };
        if !takes_context(&signature) || serves_tests(cx.index(), func.id) {
            continue;
        }
        let other = FunctionCx { func: func.id, ..*cx };
        let Some(read) = cx.summaries().read(func.id) else { continue };
        let function = &read.function;
        for step in function.body(BodyId::OWN).cfg.steps() {
            let at = At { body: BodyId::OWN, step };
            let Step::Call(call) = function.step(at) else { continue };
            if !self::kind(&other, function, call).is_some_and(|other| is_same(&other, kind)) {
                continue;
            }
            match given(&other, function, at, call) {
                Some(Given::Own) => {
                    alike.own += 1;
                    let span = function.file.expr(call).span;
                    let location = Location { file: function.file_id, span };
                    alike.first.get_or_insert((location, func.name));
                }
                Some(Given::Fresh(_)) => alike.fresh += 1,
                None => {}
            }
        }
    }
    alike
}

fn is_same(one: &Kind, other: &Kind) -> bool {
    one.word == other.word
        && one.params.len() == other.params.len()
        && one.params.iter().zip(&other.params).all(|(a, b)| a.identical(b) == Some(true))
}

fn finding(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    call: ExprId,
    made: ExprId,
    own: &Own,
    alike: &Alike,
) -> Finding {
    let (callee, text) = (callee_text(function, call), function.text(made));
    let span = function.file.expr(made).span;
    let message = format!(
        "`{callee}` is given `{text}` and not {}, unlike the {} other calls of its kind in this \
         package",
        own.shown(),
        alike.own,
    );
    let mut finding = cx.finding(span, "cut off from the context here", message);
    finding.confidence = crate::diagnostic::Confidence::Medium;
    push_own(cx, &mut finding, own);
    if let Some((location, name)) = alike.first {
        let message = format!("`{name}` gives its own");
        finding.labels.push(Label { location, role: Role::Context, message });
    }
    finding.why = format!(
        "`{text}` is never done, and holds no values: what is made with it cannot be ended or \
         traced by whoever called `{}`",
        cx.declared().name
    );
    finding.help = format!("pass `{}`", own.text);
    finding.fixes.extend(use_own(cx, function, own, span));
    finding
}
