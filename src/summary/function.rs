//! One declared function, opened up: the graph of its body and of each function literal in it,
//! and where the values of its variables come from.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::flow::{Cfg, Ends, Step, StepId};
use crate::index::{BodyInfo, Builtin, Callee, Def, FuncId, Index, LocalId, LocalKind, Type};
use crate::source::FileId;
use crate::summary::place::{Place, Places, Root};
use crate::summary::reaching::{self, Definition, Reaching, Source};
use crate::syntax::{
    Body, DeclKind, ExprId, ExprKind, File, Ident, Node, StmtId, StmtKind, Symbol,
};

/// A declared function with its literals. Places in it (see [`Place`](super::Place)) are named the
/// same in all of its bodies, so that what a literal does to a captured variable needs no
/// translation.
pub struct Function<'a> {
    /// Which function.
    pub id: FuncId,
    /// Types and packages.
    pub index: &'a Index<'a>,
    /// The file that declares it.
    pub file_id: FileId,
    /// The tree of that file.
    pub file: &'a Arc<File>,
    /// What its names mean.
    pub info: Arc<BodyInfo>,
    pub(super) bodies: Vec<BodyFlow>,
    by_literal: FxHashMap<ExprId, BodyId>,
    by_call: FxHashMap<ExprId, At>,
    pub(super) definitions: Vec<Definition>,
    /// For each local, its definitions.
    pub(super) by_local: Vec<Vec<u32>>,
    /// For each local, whether its address is taken, so that anybody may assign it.
    pub(super) addressed: Vec<bool>,
}

/// A body of a [`Function`]: 0 is the declared function's own, the others are literals, each after
/// the body that it stands in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BodyId(pub u32);

/// A step of a [`Function`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct At {
    /// The body.
    pub body: BodyId,
    /// The step in its graph.
    pub step: StepId,
}

/// One body.
pub struct BodyFlow {
    /// The literal; `None` for the declared function's own body.
    pub literal: Option<ExprId>,
    /// Where the literal becomes a value; `None` for the declared function's own body.
    pub made: Option<At>,
    /// The block.
    pub block: StmtId,
    /// The graph.
    pub cfg: Cfg,
    pub(super) reaching: Reaching,
}

impl BodyId {
    /// The declared function's own body.
    pub const OWN: BodyId = BodyId(0);
}

impl<'a> Function<'a> {
    /// Opens a function; `None` if its body is not there to be read. `ends` says what
    /// comes back.
    pub(super) fn open(index: &'a Index<'a>, id: FuncId, ends: Ends<'_>) -> Option<Function<'a>> {
        let (declared, file, info) = (index.func(id), index.file_of(id), index.body(id));
        let DeclKind::Func(func) = &file.decl(declared.decl).kind else { return None };
        let Body::Parsed(block) = file.body(func) else { return None };
        let mut function = Function {
            id,
            index,
            file_id: declared.file,
            file,
            bodies: Vec::new(),
            by_literal: FxHashMap::default(),
            by_call: FxHashMap::default(),
            definitions: Vec::new(),
            by_local: vec![Vec::new(); info.locals().len()],
            addressed: vec![false; info.locals().len()],
            info,
        };
        function.add_body(None, None, block, ends);
        let mut next = 0;
        while next < function.bodies.len() {
            function.add_literals(BodyId(next as u32), ends);
            next += 1;
        }
        function.find_calls();
        reaching::collect(&mut function);
        reaching::solve(&mut function);
        Some(function)
    }

    /// All bodies; a literal comes after the body that it stands in.
    pub fn bodies(&self) -> impl DoubleEndedIterator<Item = BodyId> + use<> {
        (0..self.bodies.len() as u32).map(BodyId)
    }

    /// One of the bodies.
    pub fn body(&self, id: BodyId) -> &BodyFlow {
        &self.bodies[id.0 as usize]
    }

    /// The body of a literal; `None` if the literal is never reached.
    pub fn body_of_literal(&self, literal: ExprId) -> Option<BodyId> {
        self.by_literal.get(&literal).copied()
    }

    /// The body of a literal, or the function's own for none; `None` if the literal is never reached.
    pub fn body_of(&self, literal: Option<ExprId>) -> Option<BodyId> {
        match literal {
            None => Some(BodyId::OWN),
            Some(literal) => self.body_of_literal(literal),
        }
    }

    /// The calls that happen in all bodies, in order of bodies and steps.
    pub fn calls(&self) -> impl Iterator<Item = (At, ExprId)> {
        let steps = |body: BodyId| self.body(body).cfg.steps().map(move |step| At { body, step });
        self.bodies().flat_map(steps).filter_map(|at| match self.step(at) {
            Step::Call(call) => Some((at, call)),
            _ => None,
        })
    }

    /// The `return` statements of the function itself, with what each gives.
    pub fn returns(&self) -> impl Iterator<Item = (At, &[ExprId])> {
        self.body(BodyId::OWN).cfg.steps().filter_map(|step| {
            let at = At { body: BodyId::OWN, step };
            let Step::Return(stmt) = self.step(at) else { return None };
            match &self.file.stmt(stmt).kind {
                StmtKind::Return(values) => Some((at, &values[..])),
                _ => None,
            }
        })
    }

    /// Where a call happens, is started or is registered; `None` if it is never reached.
    pub fn at_call(&self, call: ExprId) -> Option<At> {
        self.by_call.get(&self.file.unparen(call)).copied()
    }

    /// What happens at a step.
    pub fn step(&self, at: At) -> Step {
        self.body(at.body).cfg.step(at.step)
    }

    /// The body that a local belongs to.
    pub fn owner(&self, local: LocalId) -> Option<BodyId> {
        match self.info.local(local).owner {
            None => Some(BodyId::OWN),
            Some(literal) => self.body_of_literal(literal),
        }
    }

    /// `body` itself and the bodies around it, innermost first.
    pub fn enclosing(&self, body: BodyId) -> impl Iterator<Item = BodyId> {
        std::iter::successors(Some(body), |&body| Some(self.body(body).made?.body))
    }

    /// All assignments to a local variable, in whatever body they stand.
    pub fn definitions_of(&self, local: LocalId) -> impl Iterator<Item = &Definition> {
        let of_local = self.by_local.get(local.0 as usize).map_or(&[][..], Vec::as_slice);
        of_local.iter().map(|&definition| &self.definitions[definition as usize])
    }

    /// The assignment to a local variable, if there is only one.
    pub fn only_definition_of(&self, local: LocalId) -> Option<&Definition> {
        let mut definitions = self.definitions_of(local);
        definitions.next().filter(|_| definitions.next().is_none())
    }

    /// The call of `make` that gives a variable its only value, and where that is assigned, if it is in a body.
    pub fn only_make_of(&self, local: LocalId) -> Option<(Option<At>, ExprId)> {
        let only = self.only_definition_of(local)?;
        let Source::Expr(value) = only.source else { return None };
        let make = self.file.unparen(value);
        let is_make = matches!(self.info.callee(make), Callee::Builtin(Builtin::Make));
        is_make.then_some((only.at, make))
    }

    /// The expression that an assignment takes a value from: its value, one of its results, or an element
    /// of what is ranged over.
    pub fn taken_from(&self, definition: &Definition) -> Option<ExprId> {
        match definition.source {
            Source::Expr(expr) | Source::Result(expr, _) => Some(expr),
            Source::Element(range) => match self.file.stmt(range).kind {
                StmtKind::Range { subject, .. } => Some(subject),
                _ => None,
            },
            Source::Given | Source::Zero | Source::Computed => None,
        }
    }

    /// Whether the address of a local variable is taken, so that others may assign it.
    pub fn is_addressed(&self, local: LocalId) -> bool {
        self.addressed.get(local.0 as usize).is_none_or(|&addressed| addressed)
    }

    /// Whether a local variable is given one value, and nobody can change it through its address.
    pub fn has_one_value(&self, local: LocalId) -> bool {
        self.only_definition_of(local).is_some() && !self.is_addressed(local)
    }

    /// Whether a step assigns a local variable.
    pub fn defines(&self, at: At, local: LocalId) -> bool {
        self.definitions_of(local).any(|definition| definition.at == Some(at))
    }

    /// The text of an expression.
    pub fn text(&self, expr: ExprId) -> String {
        self.file.source.text(self.file.expr(expr).span).into_owned()
    }

    /// The text of what is called.
    pub fn callee_text(&self, call: ExprId) -> String {
        match self.file.expr(call).kind {
            ExprKind::Call { callee, .. } => self.text(callee),
            _ => self.text(call),
        }
    }

    /// The arguments of a call; none of another expression.
    pub fn args(&self, call: ExprId) -> &'a [ExprId] {
        self.file.args(call)
    }

    /// Whether one of these methods is called above, on whatever, since a connection has many names: but for one that
    /// takes a bound away, `SetDeadline(time.Time{})`.
    pub fn is_bounded_before(&self, call: ExprId, methods: &[Box<str>]) -> bool {
        let file = self.file;
        let end = file.expr(call).span.start;
        let mut nodes = file.descendants(Node::Decl(self.index.func(self.id).decl));
        !methods.is_empty()
            && nodes.any(|node| {
                let Node::Expr(expr) = node else { return false };
                let named =
                    |name: Ident| methods.iter().any(|method| **method == *name.name.as_str());
                let takes_away = |&arg: &ExprId| {
                    matches!(&file.expr(file.unparen(arg)).kind,
                    ExprKind::CompositeLit { elements, .. } if elements.is_empty())
                };
                file.expr(expr).span.end <= end
                    && file.method_call(expr).is_some_and(|(_, name)| named(name))
                    && !self.args(expr).iter().any(takes_away)
            })
    }

    /// The text of an expression without the breaks between its lines.
    pub fn line(&self, expr: ExprId) -> String {
        self.text(expr).lines().map(str::trim).collect()
    }

    /// Whether what a method is called on, a process, reads from the terminal, or from what stands for that by its
    /// name (`streams.In`): somebody sits there who ends it.
    pub fn reads_from_terminal(&self, call: ExprId) -> bool {
        let file = self.file;
        let Some((process, _)) = file.method_call(call) else { return false };
        let process = self.text(process);
        let is_terminal = |value: ExprId| match file.expr(file.unparen(value)).kind {
            ExprKind::Selector { name, .. } => matches!(name.name.as_str(), "Stdin" | "In"),
            _ => false,
        };
        file.descendants(Node::Decl(self.index.func(self.id).decl)).any(|node| {
            let Node::Stmt(stmt) = node else { return false };
            let StmtKind::Assign { left, op: None, right } = &file.stmt(stmt).kind else {
                return false;
            };
            left.iter().zip(right).any(|(&left, &right)| match file.expr(left).kind {
                ExprKind::Selector { base, name } => {
                    name.name.as_str() == "Stdin"
                        && self.text(base) == process
                        && is_terminal(right)
                }
                _ => false,
            })
        })
    }

    /// The context of a call `ctx.Done()`.
    pub fn done_of(&self, call: ExprId) -> Option<ExprId> {
        let (context, name) = self.file.method_call(call)?;
        let is_done = name.name.as_str() == "Done" && self.info.type_of(context).is_context();
        is_done.then_some(context)
    }

    /// The context whose end a step receives.
    pub fn end_received(&self, step: Step) -> Option<ExprId> {
        self.done_of(step.received_from(self.file)?)
    }

    /// What hears of a call of this cancel function, which a call gives beside the context that it derives: the
    /// part `Done()` of that context.
    pub(super) fn done_by(&self, cancel: &Place) -> Option<Place> {
        let Root::Call(call, 1..) = cancel.root else { return None };
        let Type::Tuple(results) = self.info.type_of(call) else { return None };
        if !cancel.path.is_empty() || !results.first()?.is_context() {
            return None;
        }
        let mut done = Place::root(Root::Call(call, 0));
        done.path.extend(&[Symbol::new("Done()")]);
        Some(done)
    }

    /// The receiver of a method call without arguments, with the call as a part of it.
    pub(super) fn accessor(&self, at: At, call: ExprId) -> Option<Places> {
        let ExprKind::Call { callee, ref args, .. } = self.file.expr(call).kind else {
            return None;
        };
        let callee = self.file.unparen(callee);
        let ExprKind::Selector { base, name } = self.file.expr(callee).kind else { return None };
        let is_method = match self.info.resolve(callee) {
            Def::Method(..) | Def::InterfaceMethod(_) => true,
            Def::External(name) => name.receiver.is_some(),
            _ => false,
        };
        if !args.is_empty() || !is_method {
            return None;
        }
        let mut places = self.places(at, base);
        for place in &mut places.list {
            place.path.extend(&[Symbol::new(&format!("{}()", name.name))]);
        }
        Some(places)
    }

    /// The local variable that an identifier stands for.
    pub fn variable(&self, expr: ExprId) -> Option<LocalId> {
        let expr = self.file.unparen(expr);
        if !matches!(self.file.expr(expr).kind, ExprKind::Ident(_)) {
            return None;
        }
        match self.info.resolve(expr) {
            Def::Local(local) if self.info.local(*local).kind.is_variable() => Some(*local),
            _ => None,
        }
    }

    /// Whether the value of an expression is a number, a string or the like, which has no identity.
    pub(super) fn is_plain(&self, expr: ExprId) -> bool {
        let ty = self.info.type_of(expr);
        ty.is_error() || matches!(self.index.underlying(ty), Type::Basic(_))
    }

    fn add_body(
        &mut self,
        literal: Option<ExprId>,
        made: Option<At>,
        block: StmtId,
        ends: Ends<'_>,
    ) {
        let id = BodyId(self.bodies.len() as u32);
        let cfg = Cfg::new(self.file, block, ends).of(self.index.name_of(self.id));
        if let Some(literal) = literal {
            self.by_literal.insert(literal, id);
        }
        self.bodies.push(BodyFlow { literal, made, block, cfg, reaching: Reaching::default() });
    }

    fn add_literals(&mut self, body: BodyId, ends: Ends<'_>) {
        let cfg = &self.body(body).cfg;
        let literals: Vec<(ExprId, StepId)> = cfg
            .steps()
            .filter_map(|step| match cfg.step(step) {
                Step::FuncLit(literal) => Some((literal, step)),
                _ => None,
            })
            .collect();
        for (literal, step) in literals {
            if let ExprKind::FuncLit(lit) = &self.file.expr(literal).kind {
                self.add_body(Some(literal), Some(At { body, step }), lit.body, ends);
            }
        }
    }

    fn find_calls(&mut self) {
        for body in self.bodies() {
            let cfg = &self.bodies[body.0 as usize].cfg;
            for step in cfg.steps() {
                if let Some(call) = cfg.step(step).call(self.file) {
                    self.by_call.insert(call, At { body, step });
                }
            }
        }
    }

    pub(super) fn define(&mut self, local: LocalId, at: Option<At>, source: Source) {
        let Some(of_local) = self.by_local.get_mut(local.0 as usize) else { return };
        of_local.push(self.definitions.len() as u32);
        self.definitions.push(Definition { local, at, source });
    }
}

impl BodyFlow {
    /// The call of a `go` or `defer` statement.
    pub fn statement_call(file: &File, stmt: StmtId) -> Option<ExprId> {
        match file.stmt(stmt).kind {
            StmtKind::Go(call) | StmtKind::Defer(call) => Some(file.unparen(call)),
            _ => None,
        }
    }
}

/// Whether a local has a value before its function's first step: it is a receiver or parameter, or
/// a named result, which is zero.
pub(super) fn is_given(kind: LocalKind) -> bool {
    matches!(kind, LocalKind::Receiver | LocalKind::Param(_) | LocalKind::Result(_))
}
