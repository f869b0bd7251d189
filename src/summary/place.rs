//! Places: which thing an expression stands for, as far as assignments to local variables tell.
//!
//! Two expressions with the same place stand for the same object on every path on which both are
//! known; an expression may have several places. What is read out of maps, slices and channels has
//! a place of its own for each expression that reads it.

use std::cmp::Ordering;
use std::ops::Deref;

use crate::flow::StepId;
use crate::index::{Builtin, Callee, Def, LocalId, LocalKind, ObjectId, QualifiedName, Type};
use crate::summary::function::{At, BodyId, Function};
use crate::summary::reaching::Source;
use crate::syntax::{ExprId, ExprKind, StmtId, Symbol, UnaryOp};

/// A thing: a root and the fields on the way from there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Where it starts.
    pub root: Root,
    /// The fields selected, embedded ones spelled out.
    pub path: FieldPath,
}

/// The fields from a root to a part of it: at most [`MAX_PATH`] of them name a thing, and one more
/// is kept to tell what is too long to be named.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct FieldPath {
    /// Those from `len` on are empty names.
    names: [Symbol; MAX_PATH + 1],
    len: u8,
}

/// Where a [`Place`] starts. All are of one [`Function`], which the place does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Root {
    /// The receiver of the declared function.
    Receiver,
    /// A parameter of the declared function.
    Param(u32),
    /// A parameter of a function literal in it.
    LiteralParam(ExprId, u32),
    /// A variable of package level.
    Global(ObjectId),
    /// A result of a call.
    Call(ExprId, u32),
    /// What a composite literal, `make`, `new` or function literal makes.
    Made(ExprId),
    /// A local variable itself: a struct that is never copied, or something whose address is
    /// taken.
    Local(LocalId),
    /// What an expression reads out of a map, slice or channel; a variable of a package that is not
    /// available.
    Read(ExprId),
    /// What a `range` stores.
    Element(StmtId),
}

/// What an expression can stand for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    /// In order of discovery, each once. Constants and `nil` are no places.
    pub list: Vec<Place>,
    /// Whether it may stand for something that is not in the list.
    pub unknown: bool,
}

/// How many places an expression can have before it counts as unknown.
const MAX_PLACES: usize = 8;
/// How many assignments and operands are followed from an expression.
const MAX_STEPS: u32 = 256;
/// How many fields a place has at most. Functions that walk a tree of structs call themselves on
/// ever longer paths, so that the number of places grows with a power of this.
pub(super) const MAX_PATH: usize = 3;

impl Place {
    /// The thing at the root itself.
    pub fn root(root: Root) -> Place {
        Place { root, path: FieldPath::default() }
    }

    /// Whether it is the context of a request, which ends with that.
    pub fn is_context_of_request(&self) -> bool {
        self.path.last().is_some_and(|name| name.as_str() == "Context()")
    }

    /// A field of it.
    pub fn field(mut self, name: Symbol) -> Place {
        self.path.extend(&[name]);
        self
    }

    /// Whether `self` is `outer` or a part of it.
    pub fn is_within(&self, outer: &Place) -> bool {
        self.root == outer.root && self.path.starts_with(&outer.path)
    }
}

impl FieldPath {
    /// Adds fields; what does not fit in is left out.
    pub(super) fn extend(&mut self, fields: &[Symbol]) {
        for &field in fields {
            if let Some(free) = self.names.get_mut(usize::from(self.len)) {
                *free = field;
                self.len += 1;
            }
        }
    }

    /// Whether the path is too long to name a thing.
    pub(super) fn is_too_long(&self) -> bool {
        self.len() > MAX_PATH
    }

    /// The first fields, as many as name a thing.
    pub(super) fn shortened(&self) -> FieldPath {
        let mut short = FieldPath::default();
        short.extend(&self[..self.len().min(MAX_PATH)]);
        short
    }
}

impl Deref for FieldPath {
    type Target = [Symbol];

    fn deref(&self) -> &[Symbol] {
        &self.names[..usize::from(self.len)]
    }
}

impl From<Place> for Places {
    /// What can be one thing only.
    fn from(place: Place) -> Places {
        Places { list: vec![place], unknown: false }
    }
}

impl Places {
    /// The only thing that it can be.
    pub fn only(&self) -> Option<&Place> {
        match (&self.list[..], self.unknown) {
            ([place], false) => Some(place),
            _ => None,
        }
    }

    /// Whether `place` is among what it can be.
    pub fn may_be(&self, place: &Place) -> bool {
        self.list.contains(place)
    }

    /// Adds all that `other` can be.
    pub(super) fn merge(&mut self, other: &Places) {
        other.list.iter().for_each(|place| self.add(place.clone()));
        self.unknown |= other.unknown;
    }

    fn add(&mut self, place: Place) {
        if self.list.contains(&place) {
            return;
        }
        if self.list.len() == MAX_PLACES {
            self.unknown = true;
            return;
        }
        self.list.push(place);
    }
}

/// The order of places does not depend on numbers that change from run to run: roots by kind and
/// by where they stand in the source, fields by name.
impl Ord for Place {
    fn cmp(&self, other: &Place) -> Ordering {
        self.root.key().cmp(&other.root.key()).then_with(|| {
            if self.path == other.path {
                return Ordering::Equal;
            }
            self.path
                .iter()
                .map(|name| name.as_str())
                .cmp(other.path.iter().map(|name| name.as_str()))
        })
    }
}

impl PartialOrd for Place {
    fn partial_cmp(&self, other: &Place) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Root {
    fn key(self) -> (u8, u32, u32) {
        match self {
            Root::Receiver => (0, 0, 0),
            Root::Param(index) => (1, index, 0),
            Root::LiteralParam(literal, index) => (2, literal.0, index),
            Root::Local(local) => (3, local.0, 0),
            Root::Call(call, result) => (4, call.0, result),
            Root::Made(expr) => (5, expr.0, 0),
            Root::Read(expr) => (6, expr.0, 0),
            Root::Element(stmt) => (7, stmt.0, 0),
            Root::Global(object) => (8, object.index, object.package.0),
        }
    }
}

impl Function<'_> {
    /// What `expr` stands for when it is evaluated for the step `at`.
    pub fn places(&self, at: At, expr: ExprId) -> Places {
        let mut trace = Trace { function: self, seen: Vec::new(), steps: MAX_STEPS };
        let mut found = Places::default();
        trace.expr(at, expr, &[], &mut found);
        found
    }

    /// What `expr` stands for where it is the base of a selector or the operand of `&`: a struct
    /// variable is the thing itself there, where another use would copy it.
    pub fn object_places(&self, at: At, expr: ExprId) -> Places {
        let mut trace = Trace { function: self, seen: Vec::new(), steps: MAX_STEPS };
        let mut found = Places::default();
        trace.object(at, expr, &[], &mut found);
        found
    }

    /// What an expression stands for when it is evaluated for the first step of `body` that uses
    /// it.
    pub fn places_in(&self, body: BodyId, expr: ExprId) -> Places {
        let step = self.body(body).cfg.step_of_expr(expr).unwrap_or(StepId(0));
        self.places(At { body, step }, expr)
    }

    /// What a variable holds right before a step.
    pub fn places_of_local(&self, at: At, local: LocalId) -> Places {
        let mut trace = Trace { function: self, seen: Vec::new(), steps: MAX_STEPS };
        let mut found = Places::default();
        trace.local(at, local, &[], &mut found);
        found
    }
}

struct Trace<'f, 'a> {
    function: &'f Function<'a>,
    /// Definitions on the way, so that `x = y; y = x` in a loop ends.
    seen: Vec<(LocalId, Option<At>)>,
    steps: u32,
}

impl Trace<'_, '_> {
    /// Adds the places of `expr`, each with the fields `path` selected.
    fn expr(&mut self, at: At, expr: ExprId, path: &[Symbol], found: &mut Places) {
        let function = self.function;
        let file = function.file;
        let expr = file.unparen(expr);
        let Some(steps) = self.steps.checked_sub(1) else {
            found.unknown = true;
            return;
        };
        self.steps = steps;
        match &file.expr(expr).kind {
            ExprKind::Ident(_) => match function.info.resolve(expr) {
                Def::Local(local) => self.local(at, *local, path, found),
                Def::Global(object) => self.place(Root::Global(*object), path, found),
                Def::Nil | Def::PredeclaredConst(_) => {}
                _ => found.unknown = true,
            },
            ExprKind::Selector { base, .. } => match function.info.resolve(expr) {
                Def::Field(selection) => {
                    let mut full: Vec<Symbol> = selection.path.to_vec();
                    full.push(selection.name);
                    full.extend_from_slice(path);
                    self.object(at, *base, &full, found);
                }
                Def::Global(object) => self.place(Root::Global(*object), path, found),
                // A field of a type whose package is not available.
                Def::External(QualifiedName { receiver: Some(_), name, .. }) => {
                    let mut full: Vec<Symbol> = vec![*name];
                    full.extend_from_slice(path);
                    self.object(at, *base, &full, found);
                }
                Def::External(_) => self.place(Root::Read(expr), path, found),
                _ => found.unknown = true,
            },
            ExprKind::Unary { op: UnaryOp::Addr, operand } => {
                self.object(at, *operand, path, found)
            }
            ExprKind::Star(operand) | ExprKind::TypeAssert { base: operand, .. } => {
                self.expr(at, *operand, path, found);
            }
            ExprKind::Call { args, .. } => self.call(at, expr, args, path, found),
            ExprKind::CompositeLit { .. } | ExprKind::FuncLit(_) => {
                self.place(Root::Made(expr), path, found);
            }
            ExprKind::Index { .. } | ExprKind::Unary { op: UnaryOp::Recv, .. } => {
                self.place(Root::Read(expr), path, found);
            }
            ExprKind::BasicLit(_) | ExprKind::Binary { .. } | ExprKind::Unary { .. } => {}
            _ => found.unknown = true,
        }
    }

    /// As `expr`, for what stands before a selector or after `&`: a struct variable is the object
    /// itself, where another use of it would copy.
    fn object(&mut self, at: At, expr: ExprId, path: &[Symbol], found: &mut Places) {
        let inner = self.function.file.unparen(expr);
        match self.function.variable(inner) {
            Some(local) if self.is_own_object(local) => self.place(Root::Local(local), path, found),
            _ => self.expr(at, inner, path, found),
        }
    }

    /// Whether a variable holds a struct or array that is declared without a value.
    fn is_own_object(&self, local: LocalId) -> bool {
        let definitions = &self.function.by_local[local.0 as usize];
        let declared = |definition: &u32| {
            self.function.definitions[*definition as usize].source == Source::Zero
        };
        let ty = &self.function.info.local(local).ty;
        definitions.iter().all(declared)
            && matches!(
                self.function.index.underlying(ty),
                Type::Struct(_) | Type::Array(_) | Type::Unknown
            )
    }

    fn local(&mut self, at: At, local: LocalId, path: &[Symbol], found: &mut Places) {
        let function = self.function;
        let kind = function.info.local(local).kind;
        if !kind.is_variable() {
            return;
        }
        if self.is_own_object(local) && !matches!(kind, LocalKind::Result(_)) {
            self.place(Root::Local(local), path, found);
            return;
        }
        let (definitions, complete) = function.reaching(local, at);
        found.unknown |= !complete;
        for definition in definitions {
            let key = (local, definition.at);
            if self.seen.contains(&key) {
                continue;
            }
            self.seen.push(key);
            match definition.source {
                Source::Given => self.given(local, path, found),
                Source::Zero => {}
                Source::Computed => found.unknown = true,
                Source::Element(stmt) => self.place(Root::Element(stmt), path, found),
                Source::Result(call, result) => self.place(Root::Call(call, result), path, found),
                Source::Expr(value) => {
                    self.expr(definition.at.unwrap_or(at), value, path, found);
                }
            }
            self.seen.pop();
        }
    }

    fn given(&mut self, local: LocalId, path: &[Symbol], found: &mut Places) {
        let local = self.function.info.local(local);
        let root = match (local.kind, local.owner) {
            (LocalKind::Receiver, _) => Root::Receiver,
            (LocalKind::Param(index), None) => Root::Param(index),
            (LocalKind::Param(index), Some(literal)) => Root::LiteralParam(literal, index),
            _ => {
                found.unknown = true;
                return;
            }
        };
        self.place(root, path, found);
    }

    /// A conversion is what it converts, `new` and `make` make something, and any other call has
    /// its results.
    fn call(&mut self, at: At, call: ExprId, args: &[ExprId], path: &[Symbol], found: &mut Places) {
        match self.function.info.callee(call) {
            Callee::Conversion(_) => {
                if let [value] = args {
                    self.expr(at, *value, path, found);
                }
            }
            Callee::Builtin(Builtin::Make | Builtin::New) => {
                self.place(Root::Made(call), path, found);
            }
            Callee::Builtin(Builtin::Append) => found.unknown = true,
            Callee::Builtin(_) => {}
            _ => self.place(Root::Call(call, 0), path, found),
        }
    }

    fn place(&mut self, root: Root, path: &[Symbol], found: &mut Places) {
        if path.len() > MAX_PATH {
            found.unknown = true;
            return;
        }
        let mut place = Place::root(root);
        place.path.extend(path);
        found.add(place);
    }
}
