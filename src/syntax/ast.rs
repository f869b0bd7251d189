//! The tree of one file.

use std::ops::{Index, IndexMut};
use std::sync::OnceLock;

use crate::source::{SourceText, Span};
use crate::syntax::Symbol;

/// An expression or type of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExprId(pub u32);

/// A statement of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StmtId(pub u32);

/// A specification of a declaration (of a file or of a body).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeclId(pub u32);

/// A name and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub name: Symbol,
    /// Its bytes.
    pub span: Span,
}

/// One parsed file.
#[derive(Clone, Debug)]
pub struct File {
    /// The bytes it was parsed from.
    pub source: SourceText,
    /// The name of the package clause; `None` if the file has none.
    pub package: Option<Ident>,
    /// The imports, in order.
    pub imports: Vec<Import>,
    /// All specifications: first come, first numbered, those inside bodies included.
    pub(super) decls: Arena<Decl>,
    /// Those of `decls` that stand at file level, in order of source.
    pub top_level: Vec<DeclId>,
    /// The outermost function literals of the initial values of package variables, in order: each
    /// a [`DeclKind::Func`] of its own with the variable's name, since nobody else runs what a
    /// command's or handler's table holds.
    pub literals: Vec<DeclId>,
    /// All comments, in order.
    pub comments: Vec<Span>,
    /// What could not be parsed, in order. Each has a missing node in its place, or text that
    /// belongs to no node.
    pub errors: Vec<SyntaxError>,
    /// Whether the file says that it is generated: a line `// Code generated ... DO NOT EDIT.`
    /// before the package clause (<https://go.dev/s/generatedcode>).
    pub generated: bool,
    /// Whether its functions are there for tests, once somebody has found out.
    pub serves_tests: OnceLock<bool>,
    pub(super) exprs: Arena<Expr>,
    pub(super) stmts: Arena<Stmt>,
}

/// Nodes of one kind, numbered in the order in which they came, from some number on.
#[derive(Clone, Debug)]
pub(super) struct Arena<T> {
    first: u32,
    nodes: Vec<T>,
}

impl<T> Arena<T> {
    pub(super) fn new(first: u32, expected: usize) -> Arena<T> {
        Arena { first, nodes: Vec::with_capacity(expected) }
    }

    /// Adds a node and gives its number.
    pub(super) fn push(&mut self, node: T) -> u32 {
        self.nodes.push(node);
        self.first + self.nodes.len() as u32 - 1
    }

    pub(super) fn pop(&mut self) -> Option<T> {
        self.nodes.pop()
    }

    pub(super) fn swap(&mut self, one: u32, other: u32) {
        self.nodes.swap((one - self.first) as usize, (other - self.first) as usize);
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Gives back what was reserved for more: trees are kept for the whole run.
    pub(super) fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
    }

    fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        (self.first..).zip(&self.nodes)
    }
}

impl<T> Index<u32> for Arena<T> {
    type Output = T;

    fn index(&self, number: u32) -> &T {
        &self.nodes[(number - self.first) as usize]
    }
}

impl<T> IndexMut<u32> for Arena<T> {
    fn index_mut(&mut self, number: u32) -> &mut T {
        &mut self.nodes[(number - self.first) as usize]
    }
}

/// A place that does not parse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SyntaxError {
    /// The text that has no place in Go's grammar, or an empty span where something is missing.
    pub span: Span,
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

/// `import name "path"`.
#[derive(Clone, Debug)]
pub struct Import {
    /// The explicit name: may be `.` or `_`.
    pub name: Option<Ident>,
    /// The path, unquoted.
    pub path: Symbol,
    /// The whole specification.
    pub span: Span,
}

/// A specification: `a, b = 1, 2` of a `var (...)` is one of these.
#[derive(Clone, Debug)]
pub struct Decl {
    /// What is declared.
    pub kind: DeclKind,
    /// The specification, or the whole declaration when it stands alone.
    pub span: Span,
}

/// What a specification declares.
#[derive(Clone, Debug)]
pub enum DeclKind {
    /// `func`, also a method.
    Func(FuncDecl),
    /// One specification of `var`.
    Var(ValueSpec),
    /// One specification of `const`.
    Const(ConstSpec),
    /// One specification of `type`.
    Type(TypeSpec),
}

/// `func (r R) Name[T any](params) results { body }`.
#[derive(Clone, Debug)]
pub struct FuncDecl {
    /// The name.
    pub name: Ident,
    /// The receiver of a method.
    pub receiver: Option<Param>,
    /// The type parameters.
    pub type_params: Box<[TypeParam]>,
    /// Parameters and results.
    pub signature: Signature,
    pub(super) body: BodyState,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum BodyState {
    External,
    Elided(Span),
    Parsed(StmtId),
}

/// The body of a declared function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// Declared without one: implemented outside Go.
    External,
    /// It exists, but was not parsed, or could not be: nothing is known of it but its place.
    Elided(Span),
    /// A [`StmtKind::Block`].
    Parsed(StmtId),
}

/// Parameters and results of a function, a function type or an interface method.
#[derive(Clone, Debug)]
pub struct Signature {
    /// The parameters; one for each name, or one without a name for each type.
    pub params: Box<[Param]>,
    /// The results, likewise.
    pub results: Box<[Param]>,
    /// From `(` of the parameters to the end of the results.
    pub span: Span,
}

/// One parameter, result or receiver.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// Its name: `None` where only the type stands; may be `_`.
    pub name: Option<Ident>,
    /// Its type; shared by the names of `a, b T`. For a receiver of a generic type this is
    /// `T[K, V]`, an [`ExprKind::Index`], whose indices declare the names.
    pub ty: ExprId,
    /// Whether it is declared as `...T`.
    pub variadic: bool,
}

/// One type parameter.
#[derive(Clone, Copy, Debug)]
pub struct TypeParam {
    /// Its name.
    pub name: Ident,
    /// Its constraint.
    pub constraint: ExprId,
}

/// `var names T = values`.
#[derive(Clone, Debug)]
pub struct ValueSpec {
    /// The names.
    pub names: Box<[Ident]>,
    /// The type, if stated.
    pub ty: Option<ExprId>,
    /// The values; fewer than names for a call with several results.
    pub values: Box<[ExprId]>,
}

/// `const names T = values`, with the implicit repetition of the specification's "Constant
/// declarations" already done.
#[derive(Clone, Debug)]
pub struct ConstSpec {
    /// The names.
    pub names: Box<[Ident]>,
    /// The type: also that of the repeated specification.
    pub ty: Option<ExprId>,
    /// The values: also those of the repeated specification.
    pub values: Box<[ExprId]>,
    /// The value of `iota` in `values`.
    pub iota: u32,
}

/// `type Name[params] T` and `type Name = T`.
#[derive(Clone, Debug)]
pub struct TypeSpec {
    /// The name.
    pub name: Ident,
    /// The type parameters.
    pub type_params: Box<[TypeParam]>,
    /// Whether it is an alias declaration.
    pub alias: bool,
    /// The type.
    pub ty: ExprId,
}

/// An expression or type.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its bytes.
    pub span: Span,
}

/// The kinds of expressions and types. Types are expressions, as in `go/ast`.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// Nothing could be read here.
    Missing,
    /// `x`; also predeclared names and `_`.
    Ident(Symbol),
    /// A literal of a basic type; its text is that of the span.
    BasicLit(LitKind),
    /// `T{...}`, or `{...}` inside another literal, where the type is left out.
    CompositeLit {
        /// The type, if stated; `[...]T` is an [`ExprKind::ArrayType`] with [`ArrayLen::Infer`].
        ty: Option<ExprId>,
        /// The elements.
        elements: Box<[Element]>,
    },
    /// `func(...) ... { ... }`.
    FuncLit(Box<FuncLit>),
    /// `(x)`.
    Paren(ExprId),
    /// `x.name`: a field, method, qualified identifier or method expression. Chains of selectors,
    /// calls and indices nest to the left without bound, as those of operators do: walk them in a
    /// loop. All other nesting is at most `MAX_DEPTH` deep, so recursion over it is safe.
    Selector {
        /// `x`.
        base: ExprId,
        /// `name`.
        name: Ident,
    },
    /// `x[i]` and instantiations `f[T, U]`, `G[T]`.
    Index {
        /// `x`.
        base: ExprId,
        /// One index, or the type arguments.
        indices: Box<[ExprId]>,
    },
    /// `x[low:high:max]`.
    Slice {
        /// `x`.
        base: ExprId,
        /// `low`, `high` and `max`.
        bounds: [Option<ExprId>; 3],
    },
    /// `x.(T)`. The `x.(type)` of a type switch is not an expression here.
    TypeAssert {
        /// `x`.
        base: ExprId,
        /// `T`.
        ty: ExprId,
    },
    /// `f(args)`, also a conversion `T(x)`: which of them is for `index` to say.
    Call {
        /// `f` or `T`.
        callee: ExprId,
        /// The arguments; the first may be a type for `make` and `new`.
        args: Box<[ExprId]>,
        /// Whether the last argument is followed by `...`.
        spread: bool,
    },
    /// `*x`: an indirection or a pointer type.
    Star(ExprId),
    /// A prefix operator.
    Unary {
        /// The operator.
        op: UnaryOp,
        /// Its operand.
        operand: ExprId,
    },
    /// An infix operator. Long chains nest to the left: walk them in a loop.
    Binary {
        /// The operator.
        op: BinaryOp,
        /// Where the operator stands.
        op_span: Span,
        /// The left operand.
        left: ExprId,
        /// The right operand.
        right: ExprId,
    },
    /// `[n]T`, `[]T`, `[...]T`.
    ArrayType {
        /// The length.
        len: ArrayLen,
        /// `T`.
        element: ExprId,
    },
    /// `map[K]V`.
    MapType {
        /// `K`.
        key: ExprId,
        /// `V`.
        value: ExprId,
    },
    /// `chan T`, `<-chan T`, `chan<- T`.
    ChanType {
        /// What can be done with it.
        dir: ChanDir,
        /// `T`.
        element: ExprId,
    },
    /// `func(...) ...` as a type.
    FuncType(Box<Signature>),
    /// `struct { ... }`.
    StructType(Box<[Field]>),
    /// `interface { ... }`.
    InterfaceType(Box<[InterfaceElem]>),
}

/// Kinds of basic literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LitKind {
    /// `1`, `0x1F`, `1_000`.
    Int,
    /// `1.5`, `1e3`.
    Float,
    /// `2i`.
    Imaginary,
    /// `'x'`.
    Rune,
    /// `"x"` or a raw string.
    String,
}

/// An element of a composite literal.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// The field name (as [`ExprKind::Ident`]), index or map key, if stated.
    pub key: Option<ExprId>,
    /// The value.
    pub value: ExprId,
}

/// A function literal.
#[derive(Clone, Debug)]
pub struct FuncLit {
    /// Parameters and results.
    pub signature: Signature,
    /// Its body, a [`StmtKind::Block`].
    pub body: StmtId,
}

/// The length of an array type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArrayLen {
    /// `[]T`: a slice.
    Slice,
    /// `[...]T`: as many as the literal has.
    Infer,
    /// `[n]T`.
    Expr(ExprId),
}

/// Directions of channel types.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ChanDir {
    /// `chan T`.
    Both,
    /// `chan<- T`.
    Send,
    /// `<-chan T`.
    Recv,
}

/// One field of a struct type.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name; `None` for an embedded field, whose name is that of its type.
    pub name: Option<Ident>,
    /// Its type.
    pub ty: ExprId,
    /// Its tag, quotes included.
    pub tag: Option<Span>,
}

/// One element of an interface type.
#[derive(Clone, Debug)]
pub enum InterfaceElem {
    /// A method.
    Method {
        /// Its name.
        name: Ident,
        /// Parameters and results.
        signature: Signature,
    },
    /// An embedded interface or a union: `A | ~B` is one expression of [`BinaryOp::Or`] and
    /// [`UnaryOp::Tilde`].
    Embedded(ExprId),
}

/// Prefix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `+x`
    Plus,
    /// `-x`
    Neg,
    /// `!x`
    Not,
    /// `^x`
    BitNot,
    /// `&x`
    Addr,
    /// `<-x`
    Recv,
    /// `~T`
    Tilde,
}

/// Infix operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BinaryOp {
    /// `||`
    LogicalOr,
    /// `&&`
    LogicalAnd,
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `<`
    Lt,
    /// `<=`
    Le,
    /// `>`
    Gt,
    /// `>=`
    Ge,
    /// `+`
    Add,
    /// `-`
    Sub,
    /// `|`
    Or,
    /// `^`
    Xor,
    /// `*`
    Mul,
    /// `/`
    Div,
    /// `%`
    Rem,
    /// `<<`
    Shl,
    /// `>>`
    Shr,
    /// `&`
    And,
    /// `&^`
    AndNot,
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it is.
    pub kind: StmtKind,
    /// Its bytes.
    pub span: Span,
}

/// The kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Something that could not be parsed stands here: anything may happen.
    Missing,
    /// Nothing: only after a label, since lists are kept without them.
    Empty,
    /// An expression: a call or receive.
    Expr(ExprId),
    /// `channel <- value`.
    Send {
        /// The channel.
        channel: ExprId,
        /// The value.
        value: ExprId,
    },
    /// `x++` and `x--`.
    IncDec {
        /// `x`.
        operand: ExprId,
        /// Whether it is `++`.
        increment: bool,
    },
    /// `left = right` and `left op= right`.
    Assign {
        /// The left side.
        left: Box<[ExprId]>,
        /// The operator of `op=`.
        op: Option<BinaryOp>,
        /// The right side.
        right: Box<[ExprId]>,
    },
    /// `left := right`. The left sides are [`ExprKind::Ident`] in valid Go.
    Define {
        /// The left side.
        left: Box<[ExprId]>,
        /// The right side.
        right: Box<[ExprId]>,
    },
    /// `go f(x)`.
    Go(ExprId),
    /// `defer f(x)`.
    Defer(ExprId),
    /// `return values`.
    Return(Box<[ExprId]>),
    /// `break`, `continue`, `goto`, `fallthrough`.
    Branch {
        /// Which.
        kind: BranchKind,
        /// The label, if stated.
        label: Option<Ident>,
    },
    /// `{ ... }`.
    Block(Box<[StmtId]>),
    /// `if init; cond { ... } else ...`.
    If {
        /// The simple statement before the condition.
        init: Option<StmtId>,
        /// The condition.
        cond: ExprId,
        /// The block.
        then: StmtId,
        /// A block or another `if`. Long ladders nest: walk them in a loop.
        otherwise: Option<StmtId>,
    },
    /// `switch init; tag { ... }`.
    Switch {
        /// The simple statement before the tag.
        init: Option<StmtId>,
        /// The tag.
        tag: Option<ExprId>,
        /// The clauses.
        cases: Box<[Case]>,
    },
    /// `switch init; binding := subject.(type) { ... }`.
    TypeSwitch {
        /// The simple statement before the guard.
        init: Option<StmtId>,
        /// The name that each clause declares.
        binding: Option<Ident>,
        /// What the type is asked of.
        subject: ExprId,
        /// The clauses; their values are types, or `nil`.
        cases: Box<[Case]>,
    },
    /// `select { ... }`.
    Select(Box<[CommClause]>),
    /// `for init; cond; post { ... }`, and `for cond`, `for`.
    For {
        /// The init statement.
        init: Option<StmtId>,
        /// The condition.
        cond: Option<ExprId>,
        /// The post statement.
        post: Option<StmtId>,
        /// The body, a block.
        body: StmtId,
    },
    /// `for key, value := range subject { ... }`.
    Range {
        /// The first left side.
        key: Option<ExprId>,
        /// The second left side.
        value: Option<ExprId>,
        /// Whether they are declared here (`:=`).
        define: bool,
        /// What is ranged over.
        subject: ExprId,
        /// The body, a block.
        body: StmtId,
    },
    /// `label: stmt`.
    Labeled {
        /// The label.
        label: Ident,
        /// The statement; [`StmtKind::Empty`] before a closing brace.
        stmt: StmtId,
    },
    /// A declaration inside a body; one for each specification.
    Decl(Box<[DeclId]>),
}

/// The branch statements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchKind {
    /// `break`
    Break,
    /// `continue`
    Continue,
    /// `goto`
    Goto,
    /// `fallthrough`
    Fallthrough,
}

/// A clause of a `switch`.
#[derive(Clone, Debug)]
pub struct Case {
    /// The values or types; `None` for `default`.
    pub values: Option<Box<[ExprId]>>,
    /// The statements.
    pub body: Box<[StmtId]>,
    /// The whole clause.
    pub span: Span,
}

/// A clause of a `select`.
#[derive(Clone, Debug)]
pub struct CommClause {
    /// The communication; `None` for `default`. It is a [`StmtKind::Send`], or a
    /// [`StmtKind::Expr`], [`StmtKind::Assign`] or [`StmtKind::Define`] with a receive
    /// ([`UnaryOp::Recv`], possibly in parentheses) on its right.
    pub comm: Option<StmtId>,
    /// The statements.
    pub body: Box<[StmtId]>,
    /// The whole clause.
    pub span: Span,
}

impl File {
    /// The expression or type `id`.
    pub fn expr(&self, id: ExprId) -> &Expr {
        &self.exprs[id.0]
    }

    /// The statement `id`.
    pub fn stmt(&self, id: StmtId) -> &Stmt {
        &self.stmts[id.0]
    }

    /// The specification `id`.
    pub fn decl(&self, id: DeclId) -> &Decl {
        &self.decls[id.0]
    }

    /// All specifications, those inside bodies included, by number.
    pub fn decls(&self) -> impl Iterator<Item = (DeclId, &Decl)> {
        self.decls.iter().map(|(number, decl)| (DeclId(number), decl))
    }

    /// The body of a declared function of this file.
    pub fn body(&self, func: &FuncDecl) -> Body {
        match func.body {
            BodyState::External => Body::External,
            BodyState::Elided(span) => Body::Elided(span),
            BodyState::Parsed(block) => Body::Parsed(block),
        }
    }

    /// The statements of a block; none for anything else.
    pub fn block(&self, id: StmtId) -> &[StmtId] {
        match &self.stmt(id).kind {
            StmtKind::Block(stmts) => stmts,
            _ => &[],
        }
    }

    /// `id` without the parentheses around it.
    pub fn unparen(&self, mut id: ExprId) -> ExprId {
        while let ExprKind::Paren(inner) = self.expr(id).kind {
            id = inner;
        }
        id
    }

    /// The arguments of a call; none for anything else.
    pub fn args(&self, call: ExprId) -> &[ExprId] {
        match &self.expr(call).kind {
            ExprKind::Call { args, .. } => args,
            _ => &[],
        }
    }

    /// `x` and `name` of a call `x.name(...)`.
    pub fn method_call(&self, id: ExprId) -> Option<(ExprId, Ident)> {
        let ExprKind::Call { callee, .. } = self.expr(self.unparen(id)).kind else { return None };
        match self.expr(self.unparen(callee)).kind {
            ExprKind::Selector { base, name } => Some((base, name)),
            _ => None,
        }
    }

    /// The value that a composite literal gives such a field by its name.
    pub fn field_of(&self, literal: ExprId, is_field: &dyn Fn(&str) -> bool) -> Option<ExprId> {
        let ExprKind::CompositeLit { elements, .. } = &self.expr(literal).kind else { return None };
        let element = elements.iter().find(|element| {
            let key = element.key.map(|key| &self.expr(key).kind);
            matches!(key, Some(ExprKind::Ident(name)) if is_field(name.as_str()))
        });
        element.map(|element| element.value)
    }

    /// Number of expressions: in a file that was parsed whole, ids run from 0 to one less.
    pub fn expr_count(&self) -> usize {
        self.exprs.len()
    }

    /// Number of statements: in a file that was parsed whole, ids run from 0 to one less.
    pub fn stmt_count(&self) -> usize {
        self.stmts.len()
    }

    /// The declared functions and methods of the file, in order of source.
    pub fn funcs(&self) -> impl Iterator<Item = (DeclId, &FuncDecl)> {
        self.functions(&self.top_level)
    }

    /// The outermost function literals of package variables: see [`File::literals`].
    pub fn initial_literals(&self) -> impl Iterator<Item = (DeclId, &FuncDecl)> {
        self.functions(&self.literals)
    }

    fn functions<'f>(
        &'f self,
        among: &'f [DeclId],
    ) -> impl Iterator<Item = (DeclId, &'f FuncDecl)> {
        among.iter().filter_map(|&id| match &self.decl(id).kind {
            DeclKind::Func(func) => Some((id, func)),
            _ => None,
        })
    }
}
