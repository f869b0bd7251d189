//! The control flow of one function body, and questions about its paths.
//!
//! A rule that claims "this return leaves without Stop" claims that a *path* exists. Syntax alone
//! cannot say so: `defer`, `goto`, labelled `continue`, short-circuit conditions and calls that
//! never return decide which statements follow which. This room turns a body into a graph
//! ([`Cfg`]) whose blocks hold [`Step`]s in the order in which Go evaluates them, and answers:
//!
//! * is there a path from a step to an exit that passes none of some other steps, which exit is
//!   it, and which conditions were decided on the way ([`Cfg::escapes`], [`Cfg::search`]);
//! * does one step always come before another ([`Cfg::dominates`]);
//! * what holds at a step, for a fact of the caller's choice ([`Cfg::solve`]), with the deferred
//!   calls that are registered at an exit as an instance ([`Cfg::deferred_at`]).
//!
//! It must never know what a name means: whether a call comes back is told from outside
//! ([`CallEnd`]), and nested function literals are graphs of their own, since nobody here knows
//! when they run. A run-time panic of an ordinary step (a nil dereference, a callee that panics)
//! has no edge: a rule that cares asks whether a *deferred* call covers the exit.

mod build;
mod dataflow;
mod layout;
pub mod meter;
mod operands;
mod paths;
mod print;
mod reach;

use rustc_hash::FxHashMap;

use crate::source::{Location, Span};
use crate::syntax::{DeclId, ExprId, ExprKind, File, StmtId, StmtKind, UnaryOp};

pub use dataflow::{Deferred, Forward, Solution};
pub use paths::{Passing, Path, PathEnd, Start, Walk};

/// A block: an index into the blocks of one [`Cfg`], which stand in reverse postorder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BlockId(pub u32);

/// A step: an index into the steps of one [`Cfg`]; those of a block are consecutive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StepId(pub u32);

/// Something that happens, one after the other. Reading a variable, a field or a constant is no
/// step of its own: it is part of the step that uses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A call (or conversion) whose function value and arguments have been evaluated.
    Call(ExprId),
    /// `<-c` outside of a communication clause.
    Recv(ExprId),
    /// A function literal becomes a value, and what it captures is captured.
    FuncLit(ExprId),
    /// A value that control depends on: a condition without `&&`, `||`, `!` and parentheses, the
    /// tag or subject of a `switch`, the value of a case, what is ranged over.
    Eval(ExprId),
    /// A send statement outside of a communication clause.
    Send(StmtId),
    /// The stores of an assignment, a short variable declaration, `x++` or `x--`.
    Assign(StmtId),
    /// The stores of a `var` inside the body; without values, those of the zero value.
    Declare(DeclId),
    /// A `go` statement; the function value and the arguments have been evaluated.
    Go(StmtId),
    /// A `defer` statement: the call is registered, and will run at whatever exit follows.
    Defer(StmtId),
    /// A `return` statement; its values have been evaluated.
    Return(StmtId),
    /// A `select` is entered; the channels and the values to send have been evaluated. It waits
    /// here unless it has a default clause.
    Select(StmtId),
    /// The communication of the clause that a `select` chose, with its stores: the
    /// [`CommClause::comm`](crate::syntax::CommClause::comm) of it.
    Comm(StmtId),
    /// A `range` asks for its next value: it may receive, or run an iterator function.
    Next(StmtId),
    /// The key and value of a `range` are stored.
    Bind(StmtId),
    /// Text that could not be understood: anything may happen here.
    Missing(Span),
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Edge {
    /// Where it leads.
    pub to: BlockId,
    /// When it is taken.
    pub kind: EdgeKind,
}

/// When an edge is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EdgeKind {
    /// Always.
    Jump,
    /// The condition holds. It is none of `&&`, `||`, `!` and no parentheses.
    True(ExprId),
    /// The condition does not hold.
    False(ExprId),
    /// The `switch` (with a tag, or on a type) chose the clause with this index, which may be its
    /// default.
    Case(StmtId, u32),
    /// The `switch` (with a tag, or on a type) has no default and chose no clause.
    NoCase(StmtId),
    /// The `select` chose the clause with this index, which may be its default.
    Arm(StmtId, u32),
    /// The `range` has one more value.
    More(StmtId),
    /// The `range` is exhausted.
    Done(StmtId),
}

impl EdgeKind {
    /// The condition that the edge decides, and whether it holds.
    pub fn condition(self) -> Option<(ExprId, bool)> {
        match self {
            EdgeKind::True(condition) => Some((condition, true)),
            EdgeKind::False(condition) => Some((condition, false)),
            _ => None,
        }
    }
}

/// How a path leaves the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Exit {
    /// By a `return` statement.
    Return(StmtId),
    /// At the closing brace.
    End,
    /// By a call of `panic`.
    Panic(ExprId),
    /// By a call that does not come back, and ends the goroutine or the process.
    Never(ExprId),
    /// Perhaps, since something here could not be understood.
    Unknown,
}

/// What happens after a call, as far as the caller's control flow goes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CallEnd {
    /// It comes back, or nothing is known.
    #[default]
    Returns,
    /// It is `panic`, or always panics.
    Panics,
    /// It never comes back: `os.Exit`, `log.Fatal`, `runtime.Goexit`, an endless loop.
    Never,
}

/// What a graph takes from what is known of names and types.
#[derive(Clone, Copy)]
pub struct Ends<'a> {
    /// Whether a call comes back.
    pub calls: &'a dyn Fn(ExprId) -> CallEnd,
    /// Whether a `range` over this never comes to its end by itself, since nobody closes it.
    pub endless: &'a dyn Fn(ExprId) -> bool,
}

/// The graph of one function body. Every block is reachable from the first, which is the entry.
#[derive(Clone, Debug)]
pub struct Cfg {
    blocks: Vec<Block>,
    steps: Vec<Step>,
    edges: Vec<Edge>,
    by_expr: FxHashMap<ExprId, StepId>,
    by_stmt: FxHashMap<StmtId, StepId>,
    incomplete: bool,
    reachable: reach::Reachable,
    /// The name of the declared function that it is a part of, as far as that was told.
    function: Option<Location>,
}

#[derive(Clone, Copy, Debug)]
struct Block {
    first_step: u32,
    last_step: u32,
    first_edge: u32,
    last_edge: u32,
    exit: Option<Exit>,
}

impl Cfg {
    /// The graph of `body`, the block of a declared function or of a function literal. `ends`
    /// is asked of each call and `range` of the body (not of nested literals).
    pub fn new(file: &File, body: StmtId, ends: Ends<'_>) -> Cfg {
        layout::layout(build::build(file, body, ends))
    }

    /// The same graph, a part of the declared function with this name.
    pub fn of(self, function: Location) -> Cfg {
        Cfg { function: Some(function), ..self }
    }

    /// Where the body begins.
    pub const ENTRY: BlockId = BlockId(0);

    /// All blocks, in reverse postorder: a block stands before its successors but for the edges
    /// that close a loop.
    pub fn blocks(&self) -> impl DoubleEndedIterator<Item = BlockId> + use<> {
        (0..self.blocks.len() as u32).map(BlockId)
    }

    /// All steps, block by block.
    pub fn steps(&self) -> impl Iterator<Item = StepId> + use<> {
        (0..self.steps.len() as u32).map(StepId)
    }

    /// The steps of a block, in order of evaluation.
    pub fn steps_of(&self, block: BlockId) -> impl DoubleEndedIterator<Item = StepId> + use<> {
        let block = &self.blocks[block.0 as usize];
        (block.first_step..block.last_step).map(StepId)
    }

    /// What `step` is.
    pub fn step(&self, step: StepId) -> Step {
        self.steps[step.0 as usize]
    }

    /// The block of a step.
    pub fn block_of(&self, step: StepId) -> BlockId {
        // Blocks without steps share their first step with the block after them.
        BlockId(self.blocks.partition_point(|block| block.last_step <= step.0) as u32)
    }

    /// The step of a call (also one of a `go` or `defer` statement), receive, function literal or
    /// value that control depends on; `None` if it is never reached or no step.
    pub fn step_of_expr(&self, expr: ExprId) -> Option<StepId> {
        self.by_expr.get(&expr).copied()
    }

    /// The step of a statement that is one; for a `range`, [`Step::Next`]. `None` if it is never
    /// reached.
    pub fn step_of_stmt(&self, stmt: StmtId) -> Option<StepId> {
        self.by_stmt.get(&stmt).copied()
    }

    /// The edges that leave a block.
    pub fn edges_of(&self, block: BlockId) -> &[Edge] {
        let block = &self.blocks[block.0 as usize];
        &self.edges[block.first_edge as usize..block.last_edge as usize]
    }

    /// All edges, in order of the blocks that they leave.
    pub fn edges(&self) -> impl Iterator<Item = &Edge> {
        self.blocks().flat_map(|block| self.edges_of(block))
    }

    /// The only edge that leads to a block, and where it comes from.
    pub fn only_edge_to(&self, block: BlockId) -> Option<(BlockId, Edge)> {
        let mut all = self.blocks().flat_map(|from| {
            let edges = self.edges_of(from).iter();
            edges.filter(|edge| edge.to == block).map(move |&edge| (from, edge))
        });
        let only = all.next().filter(|_| block != Cfg::ENTRY)?;
        all.next().is_none().then_some(only)
    }

    /// How the function is left at the end of this block, if it is. Only for [`Exit::Unknown`]
    /// are there edges too.
    pub fn exit_of(&self, block: BlockId) -> Option<Exit> {
        self.blocks[block.0 as usize].exit
    }

    /// All exits that can be reached, in order of blocks.
    pub fn exits(&self) -> impl Iterator<Item = (BlockId, Exit)> {
        self.blocks().filter_map(|block| Some((block, self.exit_of(block)?)))
    }

    /// Whether the body holds something that could not be understood.
    pub fn incomplete(&self) -> bool {
        self.incomplete
    }

    /// Whether the caller can ever go on after this function: there is a return, the closing brace
    /// is reached, or something is unknown. A panic counts only if `recovers`.
    pub fn returns(&self, recovers: bool) -> bool {
        self.exits().any(|(_, exit)| match exit {
            Exit::Return(_) | Exit::End | Exit::Unknown => true,
            Exit::Panic(_) => recovers,
            Exit::Never(_) => false,
        })
    }
}

impl Step {
    /// Its bytes: those of the expression or statement.
    pub fn span(self, file: &File) -> Span {
        match self {
            Step::Call(expr) | Step::Recv(expr) | Step::FuncLit(expr) | Step::Eval(expr) => {
                file.expr(expr).span
            }
            Step::Send(stmt)
            | Step::Assign(stmt)
            | Step::Go(stmt)
            | Step::Defer(stmt)
            | Step::Return(stmt)
            | Step::Select(stmt)
            | Step::Comm(stmt)
            | Step::Next(stmt)
            | Step::Bind(stmt) => file.stmt(stmt).span,
            Step::Declare(decl) => file.decl(decl).span,
            Step::Missing(span) => span,
        }
    }

    /// The call that happens here (`Call`), is started (`Go`) or is registered (`Defer`).
    pub fn call(self, file: &File) -> Option<ExprId> {
        match self {
            Step::Call(call) => Some(call),
            Step::Go(stmt) | Step::Defer(stmt) => match file.stmt(stmt).kind {
                StmtKind::Go(call) | StmtKind::Defer(call) => Some(file.unparen(call)),
                _ => None,
            },
            _ => None,
        }
    }

    /// The channel that is sent on here, also in a communication clause.
    pub fn sent_on(self, file: &File) -> Option<ExprId> {
        let (Step::Send(stmt) | Step::Comm(stmt)) = self else { return None };
        match file.stmt(stmt).kind {
            StmtKind::Send { channel, .. } => Some(channel),
            _ => None,
        }
    }

    /// The channel that is received from here, also in a communication clause. What a `range` asks
    /// for may be a channel too, but only types can tell.
    pub fn received_from(self, file: &File) -> Option<ExprId> {
        match self {
            Step::Recv(expr) => received_channel(file, expr),
            Step::Comm(stmt) => {
                let value = match &file.stmt(stmt).kind {
                    StmtKind::Expr(value) => *value,
                    StmtKind::Assign { right, .. } | StmtKind::Define { right, .. } => {
                        *right.first()?
                    }
                    _ => return None,
                };
                received_channel(file, value)
            }
            _ => None,
        }
    }
}

/// `c` of `<-c`, parentheses around it allowed.
fn received_channel(file: &File, expr: ExprId) -> Option<ExprId> {
    match file.expr(file.unparen(expr)).kind {
        ExprKind::Unary { op: UnaryOp::Recv, operand } => Some(operand),
        _ => None,
    }
}
