//! What a body sends last, where it decides by what it has sent whether another send follows.
//!
//! Two sides may leave on the same value: who has sent an error sends no more, and who receives one does not wait
//! for more.

use crate::flow::{Cfg, Edge, EdgeKind, Exit, Passing, Start, Step, StepId, Walk};
use crate::index::{LocalId, Type};
use crate::rules::conditions::{condition, locals_in, subject_of};
use crate::rules::evidence::traffic::Channel;
use crate::rules::scene::compared_with_nil;
use crate::summary::{BodyId, Function};
use crate::syntax::{ExprId, ExprKind, Node, StmtId, StmtKind, Symbol, UnaryOp};

/// How the last value is told from those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::rules::evidence) struct Last {
    /// By this field of it; `None` for the value as a whole, or any part of it.
    pub field: Option<Symbol>,
    /// Whether that is nil in the last one, if it is compared with nil.
    pub is_nil: Option<bool>,
}

/// See [`Volume::last`](super::Volume::last). `sends` is where the body sends.
pub(super) fn last(channel: &Channel<'_, '_>, body: BodyId, sends: &[StepId]) -> Option<Last> {
    let function = &channel.read.function;
    let cfg = &function.body(body).cfg;
    let mut found: Option<Last> = None;
    for &send in sends {
        let parts = match cfg.step(send) {
            Step::Send(stmt) => parts(function, stmt)?,
            _ => return None,
        };
        let mut walk = Onwards { function, sends, parts: &parts, decided: Vec::new() };
        if cfg.finds(Start::After(send), (), &mut walk) {
            return None;
        }
        for (edge, field) in walk.decided {
            let here = Last { field, is_nil: is_nil_last(function, cfg, sends, edge) };
            found = Some(match found {
                Some(other) if other != here => Last { field: None, is_nil: None },
                _ => here,
            });
        }
    }
    found
}

/// The variables that make up what a statement sends, each with the field that it becomes.
fn parts(function: &Function<'_>, send: StmtId) -> Option<Vec<(LocalId, Option<Symbol>)>> {
    let file = function.file;
    let StmtKind::Send { value, .. } = file.stmt(send).kind else { return None };
    let mut literal = file.unparen(value);
    if let ExprKind::Unary { op: UnaryOp::Addr, operand } = file.expr(literal).kind {
        literal = file.unparen(operand);
    }
    // What a call gives is not what it is given.
    let calls = |expr: ExprId| {
        file.descendants(Node::Expr(expr)).any(|node| match node {
            Node::Expr(part) => matches!(file.expr(part).kind, ExprKind::Call { .. }),
            _ => false,
        })
    };
    let named = |expr: ExprId| match calls(expr) {
        true => Vec::new(),
        false => locals_in(function, Node::Expr(expr)),
    };
    let ExprKind::CompositeLit { ref elements, .. } = file.expr(literal).kind else {
        return Some(named(value).into_iter().map(|local| (local, None)).collect());
    };
    let ty = function.index.underlying(function.info.type_of(literal));
    let mut parts = Vec::new();
    for (place, element) in elements.iter().enumerate() {
        let field = match (element.key, &ty) {
            (Some(key), _) => match file.expr(key).kind {
                ExprKind::Ident(name) => Some(name),
                _ => None,
            },
            (None, Type::Struct(declared)) => declared.fields.get(place).map(|field| field.name),
            _ => None,
        };
        parts.extend(named(element.value).into_iter().map(|local| (local, field)));
    }
    Some(parts)
}

/// Whether nothing is sent any more where a comparison with nil says that it is nil.
fn is_nil_last(
    function: &Function<'_>,
    cfg: &Cfg,
    sends: &[StepId],
    edge: EdgeKind,
) -> Option<bool> {
    let asked = condition(edge)?;
    let (_, is_set) = compared_with_nil(function.file, &function.info, asked)?;
    let edges = cfg.edges();
    let ends = edges.filter(|edge| condition(edge.kind) == Some(asked)).find(|edge| {
        let mut walk = Onwards { function, sends, parts: &[], decided: Vec::new() };
        !cfg.finds(Start::Block(edge.to), (), &mut walk)
    })?;
    Some(is_set != matches!(ends.kind, EdgeKind::True(_)))
}

/// Looks for the next send, past no decision on what was sent.
struct Onwards<'w, 'a> {
    function: &'w Function<'a>,
    sends: &'w [StepId],
    parts: &'w [(LocalId, Option<Symbol>)],
    decided: Vec<(EdgeKind, Option<Symbol>)>,
}

impl Walk for Onwards<'_, '_> {
    type State = ();

    fn step(&mut self, (): &(), step: StepId) -> Passing<()> {
        if self.sends.contains(&step) { Passing::Found } else { Passing::On(()) }
    }

    fn edge(&mut self, (): &(), edge: &Edge) -> Option<()> {
        let Some(asked) = subject_of(self.function.file, edge.kind) else { return Some(()) };
        let named = locals_in(self.function, Node::Expr(asked));
        match self.parts.iter().find(|(local, _)| named.contains(local)) {
            Some(&(_, field)) => {
                self.decided.push((edge.kind, field));
                None
            }
            None => Some(()),
        }
    }

    fn passes_missing(&self) -> bool {
        true
    }

    fn exit(&mut self, (): &(), _: Exit) -> bool {
        false
    }
}
