//! Which context a function has at hand, and whether a call there happens under it at all: on the
//! goroutine and within the life of whoever gave the context.

use crate::index::{BodyInfo, Def, LocalKind, Type};
use crate::rules::FunctionCx;
use crate::rules::context_not_propagated::deferred::{runs_deferred, runs_started};
use crate::rules::endable::{holds_context, is_context, is_seen_to_end, may_end, may_end_in_value};
use crate::rules::handoff::takes_over_before;
use crate::rules::literals::{Runs, runs};
use crate::rules::recurrence;
use crate::source::Span;
use crate::summary::{At, Function, Read};
use crate::syntax::{ExprId, ExprKind, File, Node, StmtKind, Symbol};

/// A context that somebody gave to the function.
pub struct Own {
    /// How the code can write it: `ctx`, `r.Context()`, `c.ctx`.
    pub text: String,
    /// The variable that holds it, or holds what holds it.
    pub name: Symbol,
    /// Where that is declared.
    pub declared: Span,
    /// Where it comes from, for messages.
    pub from: From,
    /// Which parameter it is, if it is one.
    param: Option<u32>,
    /// Whether a function literal has it, and not the declared function.
    of_literal: bool,
    /// Whether it is not known when the step at which it is at hand runs.
    pub is_later: bool,
    /// Whether it is a field that the package only asks whether it is done, and gives to no call.
    pub is_signal: bool,
}

/// Where a context comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum From {
    /// A parameter that is one.
    Param,
    /// A parameter that holds one.
    Holder,
    /// A field of the receiver.
    Field,
}

impl Own {
    /// Its text for messages.
    pub fn shown(&self) -> String {
        match self.is_named() {
            true => format!("`{}`", self.text),
            false => self.text.clone(),
        }
    }

    /// Its text for messages, and whose it is: of the function of this name, or of a literal in that.
    pub fn shown_of(&self, function: Symbol) -> String {
        match self.of_literal {
            true => format!("{} of a function literal in `{function}`", self.shown()),
            false => format!("{} of `{function}`", self.shown()),
        }
    }

    /// Whether somebody in sight ends it before the process does, and not only may do so.
    pub fn is_seen_to_end(&self, cx: &FunctionCx<'_>) -> bool {
        match (self.from, self.param) {
            (From::Param, Some(index)) if !self.of_literal => is_seen_to_end(cx, index),
            _ => true,
        }
    }

    /// Whether those who give it are in sight, and none of them is seen to end it before the process does.
    pub fn is_seen_to_stay(&self, cx: &FunctionCx<'_>) -> bool {
        !self.is_seen_to_end(cx) && !recurrence::calls(&cx.package, cx.declared()).is_empty()
    }

    /// Whether the receiver of a call, or a literal that the call is given, uses it.
    pub fn is_within_call(&self, function: &Function<'_>, call: ExprId) -> bool {
        let file = function.file;
        let receiver = file.method_call(call).map(|(base, _)| base);
        let literals = function
            .args(call)
            .iter()
            .copied()
            .filter(|&arg| matches!(file.expr(file.unparen(arg)).kind, ExprKind::FuncLit(_)));
        receiver.into_iter().chain(literals).any(|part| mentions(function, part, self))
    }

    /// Whether the code can write it as it stands.
    pub fn is_named(&self) -> bool {
        !self.name.is_blank()
    }
}

/// What is at hand at a step.
pub enum Reach {
    /// This context, the innermost one.
    Own(Own),
    /// None, and the step is part of what a caller of the function waits for.
    Caller,
    /// None: the step happens in a goroutine or at a time that the function does not wait for.
    Away,
}

/// The context that is at hand at a step.
pub fn at_hand(cx: &FunctionCx<'_>, read: &Read<'_>, at: At) -> Reach {
    let function = &read.function;
    let mut body = at.body;
    // The outermost literal on the way of which it is not known when it runs: only a context that
    // it uses itself is at hand in it.
    let mut apart: Option<(ExprId, Runs)> = None;
    loop {
        let literal = function.body(body).literal;
        if literal.is_some_and(|literal| dials_for_transport(function, literal)) {
            return Reach::Away;
        }
        let uses =
            |own: &Own| apart.as_ref().is_none_or(|(apart, _)| mentions(function, *apart, own));
        if let Some(own) = of_signature(cx, function, literal) {
            let ends = match (own.param, literal) {
                (Some(index), None) => may_end(cx, index) && !runs_deferred(cx),
                (Some(index), Some(literal)) => may_end_in_value(cx, function, literal, index),
                _ => true,
            };
            let is_later = apart.is_some();
            // A server ends the context of a request when its handler returns, which waits for no such goroutine,
            // and not before it returns where it has taken over the connection.
            if own.from == From::Holder
                && (matches!(apart, Some((_, Runs::Started)))
                    || runs_started(cx)
                    || takes_over_before(cx, function, at))
            {
                return Reach::Away;
            }
            return match ends && uses(&own) {
                true => Reach::Own(Own { is_later, ..own }),
                false => Reach::Away,
            };
        }
        let (Some(made), Some(literal)) = (function.body(body).made, literal) else { break };
        match runs(cx, read, made, literal) {
            Runs::Under => {}
            when @ (Runs::Started | Runs::Apart) => apart = Some((literal, when)),
            Runs::Deferred => return Reach::Away,
        }
        body = made.body;
    }
    match of_receiver(cx, function) {
        Some(own) if apart.as_ref().is_none_or(|(apart, _)| mentions(function, *apart, &own)) => {
            Reach::Own(own)
        }
        None if apart.is_none() => Reach::Caller,
        _ => Reach::Away,
    }
}

/// Whether a function literal is given to a transport or dialer to dial by. Those call it in a
/// goroutine of their own, on a context that need not be that of the request.
fn dials_for_transport(function: &Function<'_>, literal: ExprId) -> bool {
    let file = function.file;
    let is_hook = |target: ExprId| match file.expr(file.unparen(target)).kind {
        ExprKind::Ident(name) => speaks_of_dialing(name),
        ExprKind::Selector { name, .. } => speaks_of_dialing(name.name),
        _ => false,
    };
    let given = |value: ExprId| file.unparen(value) == literal;
    let gives_connection = || match function.info.type_of(literal) {
        Type::Func(signature) => signature.results.len() == 2 && signature.params.len() >= 2,
        _ => false,
    };
    file.descendants(Node::Decl(function.index.func(function.id).decl)).any(|node| match node {
        Node::Expr(expr) => match &file.expr(expr).kind {
            ExprKind::CompositeLit { elements, .. } => elements
                .iter()
                .any(|element| given(element.value) && element.key.is_some_and(is_hook)),
            // An option with the name of such a field.
            &ExprKind::Call { callee, ref args, .. } => {
                args.iter().any(|&arg| given(arg)) && is_hook(callee) && gives_connection()
            }
            _ => false,
        },
        Node::Stmt(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right } => {
                left.iter().zip(right).any(|(&left, &right)| given(right) && is_hook(left))
            }
            _ => false,
        },
        Node::Decl(_) => false,
    })
}

fn speaks_of_dialing(name: Symbol) -> bool {
    let name = name.as_str();
    name.contains("Dial") || name.starts_with("dial")
}

/// Whether an expression or a part of it uses the context: of what holds one, other parts may be used
/// when it has long ended.
fn mentions(function: &Function<'_>, expr: ExprId, own: &Own) -> bool {
    let is_own = |expr: ExprId| {
        matches!(function.info.resolve(expr), Def::Local(local)
            if function.info.local(*local).span == own.declared)
    };
    function.file.descendants(Node::Expr(expr)).any(|node| match node {
        Node::Expr(expr) => match own.from {
            From::Field => {
                matches!(function.info.resolve(expr), Def::Field(_))
                    && function.text(expr) == own.text
            }
            From::Param => is_own(expr),
            From::Holder => asked_for_context(function, expr).is_some_and(is_own),
        },
        _ => false,
    })
}

/// The variable in `x.Context()` or `x.y.Context()`.
fn asked_for_context(function: &Function<'_>, call: ExprId) -> Option<ExprId> {
    let file = function.file;
    let (mut base, _) =
        file.method_call(call).filter(|(_, name)| name.name.as_str() == "Context")?;
    while let ExprKind::Selector { base: inner, .. } = file.expr(file.unparen(base)).kind {
        base = inner;
    }
    Some(file.unparen(base))
}

/// A parameter of the declared function (`None`) or of a literal that is a context or holds one.
fn of_signature(
    cx: &FunctionCx<'_>,
    function: &Function<'_>,
    literal: Option<ExprId>,
) -> Option<Own> {
    let of_literal = literal.is_some();
    let params = || {
        let locals = function.info.locals().iter();
        locals.filter(move |local| {
            local.owner == literal && matches!(local.kind, LocalKind::Param(_))
        })
    };
    if let Some(local) = params().find(|local| is_context(cx, &local.ty)) {
        let text = match local.name.is_blank() {
            true => "the unnamed context".to_owned(),
            false => local.name.to_string(),
        };
        let LocalKind::Param(index) = local.kind else { return None };
        let (name, declared) = (local.name, local.span);
        let (from, param) = (From::Param, Some(index));
        return Some(Own {
            text,
            name,
            declared,
            from,
            param,
            of_literal,
            is_later: false,
            is_signal: false,
        });
    }
    let holder = params().find(|local| !local.name.is_blank() && holds_context(cx, &local.ty))?;
    let text = format!("{}.Context()", holder.name);
    let (name, declared) = (holder.name, holder.span);
    let LocalKind::Param(index) = holder.kind else { return None };
    let (from, param) = (From::Holder, Some(index));
    Some(Own { text, name, declared, from, param, of_literal, is_later: false, is_signal: false })
}

/// A context that the receiver keeps for its own life: its package asks whether it is done.
fn of_receiver(cx: &FunctionCx<'_>, function: &Function<'_>) -> Option<Own> {
    let receiver = function.info.locals().iter().find(|local| local.kind == LocalKind::Receiver)?;
    let named = receiver.ty.named().filter(|_| !receiver.name.is_blank())?;
    let Type::Struct(fields) = function.index.underlying(receiver.ty.strip_pointer()) else {
        return None;
    };
    // Of several, the one that is meant is not known.
    let mut contexts = fields.fields.iter().filter(|field| is_context(cx, &field.ty));
    let (field, None) = (contexts.next().filter(|field| !field.embedded)?, contexts.next()) else {
        return None;
    };
    let is_it = |file: &File, info: &BodyInfo, expr: ExprId| {
        matches!(info.resolve(file.unparen(expr)), Def::Field(selection)
            if selection.location == Some(field.location))
    };
    let is_asked = methods_hold(cx, named.name, |file, info, expr| match file.expr(expr).kind {
        ExprKind::Selector { base, name } => {
            name.name.as_str() == "Done" && is_it(file, info, base)
        }
        _ => false,
    });
    let is_given = || {
        methods_hold(cx, named.name, |file, info, expr| {
            file.args(expr).iter().any(|&arg| is_it(file, info, arg))
        })
    };
    is_asked.then(|| Own {
        text: format!("{}.{}", receiver.name, field.name),
        name: receiver.name,
        declared: receiver.span,
        from: From::Field,
        param: None,
        of_literal: false,
        is_later: false,
        is_signal: !is_given(),
    })
}

/// Whether the methods of a type of the package hold an expression that is wanted.
fn methods_hold(
    cx: &FunctionCx<'_>,
    name: Symbol,
    wanted: impl Fn(&File, &BodyInfo, ExprId) -> bool,
) -> bool {
    cx.index().package(cx.package.package).methods(name).any(|method| {
        let file = cx.index().file_of(method.id);
        let info = cx.index().body(method.id);
        let mut nodes = file.descendants(Node::Decl(method.decl));
        nodes.any(|node| matches!(node, Node::Expr(expr) if wanted(file, &info, expr)))
    })
}
