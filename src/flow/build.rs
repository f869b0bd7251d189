//! From a body to a draft of its graph.
//!
//! Generated Go nests thousands deep, so nothing here recurses: what is still to be done stands on
//! a stack of [`Task`]s, the next one on top.

use std::ops::Range;

use rustc_hash::FxHashMap;

use crate::flow::operands::operands;
use crate::flow::{BlockId, CallEnd, Cfg, Edge, EdgeKind, Ends, Exit, Step};
use crate::source::Span;
use crate::syntax::{
    BinaryOp, BranchKind, Case, CommClause, DeclKind, ExprId, ExprKind, File, Ident, StmtId,
    StmtKind, Symbol, UnaryOp,
};

/// A graph that may have blocks that nothing leads to, and chains of blocks that could be one.
pub(super) struct Draft {
    /// The blocks; the first is the entry.
    pub blocks: Vec<DraftBlock>,
    /// Each `go` and `defer` statement by its call.
    pub statement_calls: Vec<(ExprId, StmtId)>,
    /// See [`Cfg::incomplete`].
    pub incomplete: bool,
}

/// A block under construction.
#[derive(Default)]
pub(super) struct DraftBlock {
    pub steps: Vec<Step>,
    pub edges: Vec<Edge>,
    pub exit: Option<Exit>,
}

/// The draft of `body`.
pub(super) fn build(file: &File, body: StmtId, ends: Ends<'_>) -> Draft {
    let mut builder = Builder {
        file,
        ends,
        draft: Draft {
            blocks: vec![DraftBlock::default()],
            statement_calls: Vec::new(),
            incomplete: false,
        },
        current: Cfg::ENTRY,
        tasks: vec![Task::Stmt(body, None)],
        targets: Vec::new(),
        labels: FxHashMap::default(),
    };
    while let Some(task) = builder.tasks.pop() {
        builder.run(task);
    }
    builder.leave(Exit::End);
    builder.close_undefined_labels();
    builder.draft
}

struct Builder<'a> {
    file: &'a File,
    ends: Ends<'a>,
    draft: Draft,
    /// Where steps go. After a statement that does not complete, a block that nothing leads to.
    current: BlockId,
    tasks: Vec<Task>,
    /// What `break`, `continue` and `fallthrough` can mean here, innermost last.
    targets: Vec<Target>,
    /// The block of each label, and whether the label has been met.
    labels: FxHashMap<Symbol, (BlockId, bool)>,
}

struct Target {
    label: Option<Symbol>,
    break_to: BlockId,
    continue_to: Option<BlockId>,
    /// The next clause of a `switch`.
    fallthrough_to: Option<BlockId>,
}

enum Task {
    /// A statement, with the label right before it.
    Stmt(StmtId, Option<Symbol>),
    /// The steps of an expression that is used for its value.
    Expr(ExprId),
    /// An expression that decides between two blocks.
    Cond(ExprId, BlockId, BlockId),
    /// The end of `Cond`: the operands of the condition have been evaluated.
    Branch(ExprId, BlockId, BlockId),
    /// A step.
    Step(Step),
    /// The end of a call expression.
    Call(ExprId),
    /// An edge from here, after which nothing is here.
    Jump(BlockId),
    /// Steps go into this block from now on.
    Enter(BlockId),
    /// One of several edges from here.
    Edge(BlockId, EdgeKind),
    /// Nothing is here any more: what follows is reached through edges alone.
    Dead,
    /// The function is left.
    Leave(Exit),
    PushTarget(Target),
    PopTarget,
    /// A clause of the innermost `switch` begins; the next one is here.
    Fallthrough(Option<BlockId>),
}

impl Builder<'_> {
    fn run(&mut self, task: Task) {
        match task {
            Task::Stmt(stmt, label) => self.stmt(stmt, label),
            Task::Expr(expr) => self.expr(expr),
            Task::Cond(expr, yes, no) => self.cond(expr, yes, no),
            Task::Branch(expr, yes, no) => {
                self.step(Step::Eval(expr));
                self.edge(yes, EdgeKind::True(expr));
                self.edge(no, EdgeKind::False(expr));
                self.current = self.block();
            }
            Task::Step(step) => self.step(step),
            Task::Call(expr) => {
                self.step(Step::Call(expr));
                match (self.ends.calls)(expr) {
                    CallEnd::Returns => {}
                    CallEnd::Panics => self.leave(Exit::Panic(expr)),
                    CallEnd::Never => self.leave(Exit::Never(expr)),
                }
            }
            Task::Jump(to) => self.jump(to),
            Task::Enter(block) => self.current = block,
            Task::Edge(to, kind) => self.edge(to, kind),
            Task::Dead => self.current = self.block(),
            Task::Leave(exit) => self.leave(exit),
            Task::PushTarget(target) => self.targets.push(target),
            Task::PopTarget => {
                self.targets.pop();
            }
            Task::Fallthrough(next) => {
                if let Some(target) = self.targets.last_mut() {
                    target.fallthrough_to = next;
                }
            }
        }
    }

    fn stmt(&mut self, stmt: StmtId, label: Option<Symbol>) {
        let file = self.file;
        match &file.stmt(stmt).kind {
            StmtKind::Missing => self.missing(file.stmt(stmt).span),
            StmtKind::Empty => {}
            StmtKind::Expr(expr) => self.expr(*expr),
            StmtKind::Send { channel, value } => {
                self.later([
                    Task::Expr(*channel),
                    Task::Expr(*value),
                    Task::Step(Step::Send(stmt)),
                ]);
            }
            StmtKind::IncDec { operand, .. } => {
                self.later([Task::Expr(*operand), Task::Step(Step::Assign(stmt))]);
            }
            StmtKind::Assign { left, right, .. } | StmtKind::Define { left, right } => {
                self.tasks.push(Task::Step(Step::Assign(stmt)));
                self.exprs_later(right);
                self.exprs_later(left);
            }
            StmtKind::Go(call) => self.statement_call(stmt, *call, Step::Go(stmt)),
            StmtKind::Defer(call) => self.statement_call(stmt, *call, Step::Defer(stmt)),
            StmtKind::Return(values) => {
                self.later([Task::Step(Step::Return(stmt)), Task::Leave(Exit::Return(stmt))]);
                self.exprs_later(values);
            }
            StmtKind::Branch { kind, label } => self.branch(stmt, *kind, *label),
            StmtKind::Block(stmts) => self.stmts_later(stmts),
            StmtKind::If { init, cond, then, otherwise } => {
                let (yes, join) = (self.block(), self.block());
                let no = otherwise.map_or(join, |_| self.block());
                if let Some(otherwise) = otherwise {
                    self.later([
                        Task::Enter(no),
                        Task::Stmt(*otherwise, None),
                        Task::Jump(join),
                        Task::Enter(join),
                    ]);
                } else {
                    self.tasks.push(Task::Enter(join));
                }
                self.later([
                    Task::Cond(*cond, yes, no),
                    Task::Enter(yes),
                    Task::Stmt(*then, None),
                    Task::Jump(join),
                ]);
                self.init_later(*init);
            }
            StmtKind::Switch { init, tag: Some(tag), cases } => {
                self.dispatch(stmt, label, *tag, cases, true);
                self.init_later(*init);
            }
            StmtKind::Switch { init, tag: None, cases } => {
                self.ladder(label, cases);
                self.init_later(*init);
            }
            StmtKind::TypeSwitch { init, subject, cases, .. } => {
                self.dispatch(stmt, label, *subject, cases, false);
                self.init_later(*init);
            }
            StmtKind::Select(clauses) => self.select(stmt, label, clauses),
            StmtKind::For { init, cond, post, body } => {
                let [head, inside, next, join] = [(); 4].map(|()| self.block());
                self.later(
                    [
                        Task::Enter(inside),
                        Task::Stmt(*body, None),
                        Task::Jump(next),
                        Task::PopTarget,
                        Task::Enter(next),
                    ]
                    .into_iter()
                    .chain(post.map(|post| Task::Stmt(post, None)))
                    .chain([Task::Jump(head), Task::Enter(join)]),
                );
                self.later([
                    Task::Jump(head),
                    Task::Enter(head),
                    Task::PushTarget(Target {
                        label,
                        break_to: join,
                        continue_to: Some(next),
                        fallthrough_to: None,
                    }),
                    cond.map_or(Task::Jump(inside), |cond| Task::Cond(cond, inside, join)),
                ]);
                self.init_later(*init);
            }
            StmtKind::Range { key, value, define, subject, body } => {
                let [head, inside, join] = [(); 3].map(|()| self.block());
                self.later([
                    Task::Stmt(*body, None),
                    Task::Jump(head),
                    Task::PopTarget,
                    Task::Enter(join),
                ]);
                if key.is_some() {
                    self.tasks.push(Task::Step(Step::Bind(stmt)));
                }
                if !define {
                    self.later(key.iter().chain(value).map(|&left| Task::Expr(left)));
                }
                self.later([
                    Task::PushTarget(Target {
                        label,
                        break_to: join,
                        continue_to: Some(head),
                        fallthrough_to: None,
                    }),
                    Task::Enter(inside),
                ]);
                if !(self.ends.endless)(*subject) {
                    self.tasks.push(Task::Edge(join, EdgeKind::Done(stmt)));
                }
                self.later([
                    Task::Step(Step::Eval(*subject)),
                    Task::Jump(head),
                    Task::Enter(head),
                    Task::Step(Step::Next(stmt)),
                    Task::Edge(inside, EdgeKind::More(stmt)),
                ]);
                self.tasks.push(Task::Expr(*subject));
            }
            StmtKind::Labeled { label, stmt } => {
                let block = self.label(label.name);
                self.labels.insert(label.name, (block, true));
                self.jump(block);
                self.current = block;
                self.tasks.push(Task::Stmt(*stmt, Some(label.name)));
            }
            StmtKind::Decl(decls) => {
                for &decl in decls.iter().rev() {
                    if let DeclKind::Var(spec) = &file.decl(decl).kind {
                        self.tasks.push(Task::Step(Step::Declare(decl)));
                        self.exprs_later(&spec.values);
                    }
                }
            }
        }
    }

    /// `go` and `defer`: the function value and the arguments are evaluated now.
    fn statement_call(&mut self, stmt: StmtId, call: ExprId, step: Step) {
        let call = self.file.unparen(call);
        self.draft.statement_calls.push((call, stmt));
        self.tasks.push(Task::Step(step));
        match &self.file.expr(call).kind {
            ExprKind::Call { callee, args, .. } => {
                self.exprs_later(args);
                self.tasks.push(Task::Expr(*callee));
            }
            _ => self.tasks.push(Task::Expr(call)),
        }
    }

    fn branch(&mut self, stmt: StmtId, kind: BranchKind, label: Option<Ident>) {
        let label = label.map(|label| label.name);
        let matching = |target: &&Target| label.is_none() || target.label == label;
        let targets = self.targets.iter().rev();
        let to = match kind {
            BranchKind::Break => targets.filter(matching).map(|target| target.break_to).next(),
            BranchKind::Continue => targets.filter(matching).find_map(|target| target.continue_to),
            BranchKind::Fallthrough => targets.take(1).find_map(|target| target.fallthrough_to),
            BranchKind::Goto => label.map(|label| self.label(label)),
        };
        match to {
            Some(to) => self.jump(to),
            None => self.missing(self.file.stmt(stmt).span),
        }
    }

    /// A `switch` that compares one value with the clauses. All values of cases are evaluated
    /// before the choice: one too many, and in the right order.
    fn dispatch(
        &mut self,
        stmt: StmtId,
        label: Option<Symbol>,
        subject: ExprId,
        cases: &[Case],
        by_value: bool,
    ) {
        let (bodies, join) = self.clauses(cases.len());
        self.cases_later(label, cases, bodies.clone(), join);
        self.tasks.push(Task::Dead);
        if !cases.iter().any(|case| case.values.is_none()) {
            self.tasks.push(Task::Edge(join, EdgeKind::NoCase(stmt)));
        }
        self.later(
            bodies
                .zip(0..)
                .map(|(body, index)| Task::Edge(BlockId(body), EdgeKind::Case(stmt, index))),
        );
        if by_value {
            let file = self.file;
            let values = cases.iter().filter_map(|case| case.values.as_deref()).flatten();
            self.later(
                values
                    .filter(|&&value| !is_literal(file, value))
                    .flat_map(|&value| [Task::Expr(value), Task::Step(Step::Eval(value))]),
            );
        }
        self.later([Task::Expr(subject), Task::Step(Step::Eval(subject))]);
    }

    /// A `switch` without a tag: the cases are conditions, decided one after the other.
    fn ladder(&mut self, label: Option<Symbol>, cases: &[Case]) {
        let (bodies, join) = self.clauses(cases.len());
        self.cases_later(label, cases, bodies.clone(), join);
        let mut conditions = Vec::new();
        let mut otherwise = join;
        for (case, body) in cases.iter().zip(bodies.clone()) {
            let Some(values) = &case.values else {
                otherwise = BlockId(body);
                continue;
            };
            for &value in values {
                let next = self.block();
                conditions.push(Task::Cond(value, BlockId(body), next));
                conditions.push(Task::Enter(next));
            }
        }
        conditions.push(Task::Jump(otherwise));
        self.later(conditions);
    }

    /// The clauses of a `switch`, entered through edges.
    fn cases_later(
        &mut self,
        label: Option<Symbol>,
        cases: &[Case],
        bodies: Range<u32>,
        join: BlockId,
    ) {
        self.later([Task::PopTarget, Task::Enter(join)]);
        for (case, body) in cases.iter().zip(bodies.clone()).rev() {
            self.tasks.push(Task::Jump(join));
            self.stmts_later(&case.body);
            let next = Some(BlockId(body + 1)).filter(|next| bodies.contains(&next.0));
            self.later([Task::Enter(BlockId(body)), Task::Fallthrough(next)]);
        }
        self.tasks.push(Task::PushTarget(Target {
            label,
            break_to: join,
            continue_to: None,
            fallthrough_to: None,
        }));
    }

    fn select(&mut self, stmt: StmtId, label: Option<Symbol>, clauses: &[CommClause]) {
        let (bodies, join) = self.clauses(clauses.len());
        self.later([Task::PopTarget, Task::Enter(join)]);
        for (clause, body) in clauses.iter().zip(bodies.clone()).rev() {
            self.tasks.push(Task::Jump(join));
            self.stmts_later(&clause.body);
            if let Some(comm) = clause.comm {
                self.tasks.push(Task::Step(Step::Comm(comm)));
                if let StmtKind::Assign { left, .. } = &self.file.stmt(comm).kind {
                    self.exprs_later(left);
                }
            }
            self.tasks.push(Task::Enter(BlockId(body)));
        }
        self.later([
            Task::Dead,
            Task::PushTarget(Target {
                label,
                break_to: join,
                continue_to: None,
                fallthrough_to: None,
            }),
        ]);
        self.later(
            bodies
                .zip(0..)
                .map(|(body, index)| Task::Edge(BlockId(body), EdgeKind::Arm(stmt, index))),
        );
        self.tasks.push(Task::Step(Step::Select(stmt)));
        for comm in clauses.iter().rev().filter_map(|clause| clause.comm) {
            self.comm_operands_later(comm);
        }
    }

    /// What a `select` evaluates of a clause before it chooses.
    fn comm_operands_later(&mut self, comm: StmtId) {
        let file = self.file;
        match &file.stmt(comm).kind {
            StmtKind::Send { channel, value } => {
                self.later([Task::Expr(*channel), Task::Expr(*value)]);
            }
            StmtKind::Expr(value) => self.received_later(*value),
            StmtKind::Assign { right, .. } | StmtKind::Define { right, .. } => {
                for &value in right.iter().rev() {
                    self.received_later(value);
                }
            }
            _ => self.tasks.push(Task::Stmt(comm, None)),
        }
    }

    fn received_later(&mut self, value: ExprId) {
        self.tasks.push(Task::Expr(super::received_channel(self.file, value).unwrap_or(value)));
    }

    fn cond(&mut self, expr: ExprId, yes: BlockId, no: BlockId) {
        let expr = self.file.unparen(expr);
        match self.file.expr(expr).kind {
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                self.tasks.push(Task::Cond(operand, no, yes));
            }
            ExprKind::Binary { op: BinaryOp::LogicalAnd, left, right, .. } => {
                let middle = self.block();
                self.later([
                    Task::Cond(left, middle, no),
                    Task::Enter(middle),
                    Task::Cond(right, yes, no),
                ]);
            }
            ExprKind::Binary { op: BinaryOp::LogicalOr, left, right, .. } => {
                let middle = self.block();
                self.later([
                    Task::Cond(left, yes, middle),
                    Task::Enter(middle),
                    Task::Cond(right, yes, no),
                ]);
            }
            _ => self.later([Task::Expr(expr), Task::Branch(expr, yes, no)]),
        }
    }

    fn expr(&mut self, expr: ExprId) {
        let file = self.file;
        match &file.expr(expr).kind {
            ExprKind::Missing => self.missing(file.expr(expr).span),
            ExprKind::FuncLit(_) => self.step(Step::FuncLit(expr)),
            ExprKind::Call { callee, args, .. } => {
                self.tasks.push(Task::Call(expr));
                self.exprs_later(args);
                self.tasks.push(Task::Expr(*callee));
            }
            ExprKind::Unary { op: UnaryOp::Recv, operand } => {
                let never = is_fresh(file, *operand).then_some(Task::Dead);
                let recv = [Task::Expr(*operand), Task::Step(Step::Recv(expr))];
                self.later(recv.into_iter().chain(never));
            }
            ExprKind::Binary { op, left, right, .. }
                if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr)
                    && may_have_steps(file, *right) =>
            {
                let (more, join) = (self.block(), self.block());
                let (yes, no) =
                    if *op == BinaryOp::LogicalAnd { (more, join) } else { (join, more) };
                self.later([
                    Task::Cond(*left, yes, no),
                    Task::Enter(more),
                    Task::Expr(*right),
                    Task::Jump(join),
                    Task::Enter(join),
                ]);
            }
            _ => {
                let mut parts = Vec::new();
                operands(file, expr, &mut |part| parts.push(part));
                self.exprs_later(&parts);
            }
        }
    }

    /// Anything may happen here: the function may be left, or go on.
    fn missing(&mut self, span: Span) {
        self.draft.incomplete = true;
        self.step(Step::Missing(span));
        self.draft.blocks[self.current.0 as usize].exit = Some(Exit::Unknown);
        let next = self.block();
        self.edge(next, EdgeKind::Jump);
        self.current = next;
    }

    /// The block of a label, which may stand further on.
    fn label(&mut self, name: Symbol) -> BlockId {
        if let Some(&(block, _)) = self.labels.get(&name) {
            return block;
        }
        let block = self.block();
        self.labels.insert(name, (block, false));
        block
    }

    /// A `goto` to a label that does not exist leads anywhere.
    fn close_undefined_labels(&mut self) {
        for &(block, defined) in self.labels.values() {
            if !defined {
                self.draft.blocks[block.0 as usize].exit = Some(Exit::Unknown);
                self.draft.incomplete = true;
            }
        }
    }

    /// As many blocks with consecutive numbers as a statement has clauses, and the block after it.
    fn clauses(&mut self, count: usize) -> (Range<u32>, BlockId) {
        let first = self.draft.blocks.len() as u32;
        self.draft.blocks.extend((0..count).map(|_| DraftBlock::default()));
        (first..self.draft.blocks.len() as u32, self.block())
    }

    fn block(&mut self) -> BlockId {
        self.draft.blocks.push(DraftBlock::default());
        BlockId(self.draft.blocks.len() as u32 - 1)
    }

    fn step(&mut self, step: Step) {
        self.draft.blocks[self.current.0 as usize].steps.push(step);
    }

    fn edge(&mut self, to: BlockId, kind: EdgeKind) {
        self.draft.blocks[self.current.0 as usize].edges.push(Edge { to, kind });
    }

    fn jump(&mut self, to: BlockId) {
        self.edge(to, EdgeKind::Jump);
        self.current = self.block();
    }

    fn leave(&mut self, exit: Exit) {
        self.draft.blocks[self.current.0 as usize].exit = Some(exit);
        self.current = self.block();
    }

    /// Puts tasks on the stack so that they run in the order given.
    fn later(&mut self, tasks: impl IntoIterator<Item = Task>) {
        let first = self.tasks.len();
        self.tasks.extend(tasks);
        self.tasks[first..].reverse();
    }

    fn exprs_later(&mut self, exprs: &[ExprId]) {
        self.tasks.extend(exprs.iter().rev().map(|&expr| Task::Expr(expr)));
    }

    fn stmts_later(&mut self, stmts: &[StmtId]) {
        self.tasks.extend(stmts.iter().rev().map(|&stmt| Task::Stmt(stmt, None)));
    }

    fn init_later(&mut self, init: Option<StmtId>) {
        self.tasks.extend(init.map(|init| Task::Stmt(init, None)));
    }
}

/// Whether `expr` is a literal of a basic type.
fn is_literal(file: &File, expr: ExprId) -> bool {
    matches!(file.expr(expr).kind, ExprKind::BasicLit(_))
}

/// Whether a channel is made where it is received from: nobody else has it, as `<-make(chan struct{})` that is to wait
/// for ever.
fn is_fresh(file: &File, channel: ExprId) -> bool {
    let ExprKind::Call { callee, .. } = file.expr(file.unparen(channel)).kind else { return false };
    matches!(file.expr(file.unparen(callee)).kind, ExprKind::Ident(name) if name.as_str() == "make")
}

/// Whether evaluating `expr` may be a step. Looks at a few nodes only, and then says yes, so that
/// asking at every level of a nest stays linear.
fn may_have_steps(file: &File, expr: ExprId) -> bool {
    const NODES: usize = 64;
    let mut open = vec![expr];
    for _ in 0..NODES {
        let Some(expr) = open.pop() else { return false };
        match file.expr(expr).kind {
            ExprKind::Missing
            | ExprKind::FuncLit(_)
            | ExprKind::Call { .. }
            | ExprKind::Unary { op: UnaryOp::Recv, .. } => return true,
            _ => operands(file, expr, &mut |operand| open.push(operand)),
        }
    }
    true
}
