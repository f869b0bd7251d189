//! Chains of filters: in which order a request passes them.
//!
//! A chain is what is assigned to one variable again and again (`h = F(h)`, also below `if`s), what
//! one expression nests (`F(G(h))`), what a list is applied in (`Chain(h, f, g)`, a loop over a
//! slice), and what is registered with a router (`r.Use(f)`). A function that builds a chain on the
//! handler that it is given is a part of the chain of its caller. What a filter does is told by
//! [`filter`]; here is only which ones there are, and which stands outside of which.

mod ladder;
mod list;
mod registered;

use std::sync::Arc;

use crate::flow::Step;
use crate::index::{FuncId, LocalId, LocalKind};
use crate::rules::FunctionCx;
use crate::rules::filter::{self, FilterFacts};
use crate::rules::scene::holds_any;
use crate::source::{Location, Span};
use crate::summary::{At, BodyId, Function};
use crate::syntax::{ExprId, ExprKind, StmtKind};

/// Filters that a request passes one after the other.
pub struct Chain {
    /// How it is built.
    pub kind: Kind,
    /// The code of what the innermost filter is given, where there is one.
    pub handler: Option<String>,
    /// Its filters, innermost first.
    pub links: Vec<Link>,
    /// The variable that the innermost filter is given.
    start: Option<LocalId>,
    /// What the innermost filter is given, and where.
    innermost: Option<(At, ExprId)>,
    /// Whether the function returns it.
    returned: bool,
}

/// How a chain is built.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Each filter is given the handler inside it.
    Applied,
    /// The filters are registered with a router, which applies them.
    Registered,
}

/// A filter of a chain.
#[derive(Clone, Debug)]
pub struct Link {
    /// What it is called in the code.
    pub name: String,
    /// The code that is the filter, or makes it.
    pub at: Location,
    /// The assignment that applies it, where there is one of its own; else the same.
    pub statement: Location,
    /// Whether there are ways through the function on which it is left out.
    pub conditional: bool,
    /// The calls on the way to it, from the function that was asked about on: the last one is its
    /// own.
    way: Vec<(FuncId, At)>,
    value: ExprId,
}

/// Gives each filter of the chains that a function of no test builds (what a test puts together is
/// no server's chain): the chain, what its filters do, and the filter's place.
pub fn each_filter(cx: &FunctionCx<'_>, mut each: impl FnMut(&Chain, &[FilterFacts], usize)) {
    if cx.index().is_in_test_file(cx.func) {
        return;
    }
    for (chain, facts) in with_facts(cx).iter() {
        for place in 0..chain.links.len() {
            each(chain, facts, place);
        }
    }
}

/// The chains that a function builds, each with what its filters do, innermost first: worked out
/// once for all rules.
pub fn with_facts(cx: &FunctionCx<'_>) -> WithFacts {
    if !may_build(cx) {
        return WithFacts::default();
    }
    cx.package.memo.chains(cx.func, || {
        let with_facts = |chain: Chain| {
            let facts = chain.facts(cx);
            (chain, facts)
        };
        of_function(cx).into_iter().map(with_facts).collect()
    })
}

/// Chains, each with what its filters do.
pub type WithFacts = Arc<[(Chain, Vec<FilterFacts>)]>;

/// Whether the text of a function speaks of anything that chains are built of.
fn may_build(cx: &FunctionCx<'_>) -> bool {
    holds_any(cx, &["andler", "ServeHTTP", "Use(", "iddleware"])
}

/// The chains that a function builds, in order of the source.
pub fn of_function(cx: &FunctionCx<'_>) -> Vec<Chain> {
    if !may_build(cx) {
        return Vec::new();
    }
    let Some(read) = cx.summaries().read(cx.func) else { return Vec::new() };
    let mut chains: Vec<Chain> = Vec::new();
    for body in read.function.bodies() {
        chains.extend(ladder::chains(cx, &read.function, body, MAX_DEPTH));
    }
    chains.extend(registered::chains(cx, &read.function));
    chains.retain(|chain| chain.links.len() > 1);
    // What is told as the inner part of another chain is told there.
    let inner: Vec<bool> = chains
        .iter()
        .enumerate()
        .map(|(number, chain)| {
            chains.iter().enumerate().any(|(other, whole)| {
                let longer = whole.links.len() > chain.links.len();
                number != other && (longer || other < number) && whole.starts_with(chain)
            })
        })
        .collect();
    let mut inner = inner.into_iter();
    chains.retain(|_| inner.next() != Some(true));
    chains
}

/// How many functions are followed that build parts of chains.
const MAX_DEPTH: u32 = 4;

/// How many filters one chain has at most; those further out are left out.
const MAX_LINKS: usize = 256;

impl Chain {
    fn starts_with(&self, inner: &Chain) -> bool {
        let same = |(a, b): (&Link, &Link)| a.at == b.at;
        self.kind == inner.kind
            && self.links.len() >= inner.links.len()
            && self.links.iter().zip(&inner.links).all(same)
    }

    /// What the filters do, innermost first.
    pub fn facts(&self, cx: &FunctionCx<'_>) -> Vec<FilterFacts> {
        self.links.iter().map(|link| link.facts(cx)).collect()
    }

    /// The functions of the run that the handler calls that the innermost filter is given, a few
    /// calls deep, with its code.
    pub fn innermost_calls(&self, cx: &FunctionCx<'_>) -> Option<(&str, Vec<FuncId>)> {
        let (at, value) = self.innermost?;
        let read = cx.summaries().read(cx.func)?;
        Some((self.handler.as_deref()?, filter::calls(cx, &read.function, at, value)))
    }

    /// What the handler does that the innermost filter is given, with its code.
    pub fn innermost(&self, cx: &FunctionCx<'_>) -> Option<(&str, FilterFacts)> {
        let (at, value) = self.innermost?;
        let read = cx.summaries().read(cx.func)?;
        Some((self.handler.as_deref()?, filter::of_value(cx, &read.function, at, value)))
    }
}

impl Link {
    fn new(cx: &FunctionCx<'_>, function: &Function<'_>, at: At, value: ExprId) -> Link {
        let place = |span| Location { file: function.file_id, span };
        let own = function.file.expr(value).span;
        Link {
            name: name(function, value),
            at: place(own),
            statement: place(assignment(function, at, value).unwrap_or(own)),
            conditional: false,
            way: vec![(cx.func, at)],
            value,
        }
    }

    /// What the filter does.
    pub fn facts(&self, cx: &FunctionCx<'_>) -> FilterFacts {
        let Some(&(func, at)) = self.way.last() else { return FilterFacts::default() };
        let Some(read) = cx.summaries().read(func) else { return FilterFacts::default() };
        filter::of_value(&FunctionCx { func, ..*cx }, &read.function, at, self.value)
    }

    /// The functions of the run that its handler calls, a few calls deep.
    pub fn calls(&self, cx: &FunctionCx<'_>) -> Vec<FuncId> {
        let Some(&(func, at)) = self.way.last() else { return Vec::new() };
        let Some(read) = cx.summaries().read(func) else { return Vec::new() };
        filter::calls(&FunctionCx { func, ..*cx }, &read.function, at, self.value)
    }

    /// Whether one request can pass both: they do not stand on branches that exclude each other.
    pub fn stands_with(&self, cx: &FunctionCx<'_>, outer: &Link) -> bool {
        let parts = self.way.iter().zip(&outer.way).find(|(inner, outer)| inner != outer);
        let Some((&(func, from), &(of, to))) = parts else { return true };
        if func != of || from.body != to.body {
            return true;
        }
        let Some(read) = cx.summaries().read(func) else { return false };
        let cfg = &read.function.body(from.body).cfg;
        cfg.reaches(from.step, to.step) || cfg.reaches(to.step, from.step)
    }

    fn is_literal(&self) -> bool {
        self.name == LITERAL
    }

    /// As a part of the chain of a function that calls the builder of this one.
    fn called_from(mut self, func: FuncId, at: At, conditional: bool) -> Link {
        self.way.insert(0, (func, at));
        self.conditional |= conditional;
        self
    }
}

/// The assignment that a step is, if it assigns `value` alone.
fn assignment(function: &Function<'_>, at: At, value: ExprId) -> Option<Span> {
    let Step::Assign(stmt) = function.step(at) else { return None };
    let stmt = function.file.stmt(stmt);
    match &stmt.kind {
        StmtKind::Assign { right, .. } | StmtKind::Define { right, .. } => {
            (**right == [value]).then_some(stmt.span)
        }
        _ => None,
    }
}

/// What a filter is called that has no name.
const LITERAL: &str = "func";

/// What a filter is called in the code.
fn name(function: &Function<'_>, value: ExprId) -> String {
    let mut value = function.file.unparen(value);
    loop {
        match &function.file.expr(value).kind {
            ExprKind::Call { callee, .. } => value = function.file.unparen(*callee),
            ExprKind::Selector { name, .. } => return name.name.to_string(),
            ExprKind::FuncLit(_) => return LITERAL.to_owned(),
            _ => return function.text(value),
        }
    }
}

/// The chain that a function builds on the handler that it is given as a parameter, and returns:
/// the parameter, and the filters.
fn built_by(cx: &FunctionCx<'_>, func: FuncId, depth: u32) -> Option<(u32, Vec<Link>)> {
    let depth = depth.checked_sub(1)?;
    let cx = FunctionCx { func, ..*cx };
    if !holds_any(&cx, &["andler"]) {
        return None;
    }
    let read = cx.summaries().read(func)?;
    let function = &read.function;
    let chains = ladder::chains(&cx, function, BodyId::OWN, depth);
    let chain = chains.into_iter().find(|chain| chain.returned && chain.links.len() > 1)?;
    match function.info.local(chain.start?).kind {
        LocalKind::Param(index) => Some((index, chain.links)),
        _ => None,
    }
}
