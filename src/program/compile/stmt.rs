//! Statements to code.

use crate::program::code::{Constant, Op, Operator, Pc, SelectCase, SelectTable, Slot};
use crate::program::compile::{Compiler, Entity, MAX_DEPTH, Target, constant};
use crate::program::library::{Intrinsic, intrinsic};
use crate::program::types::{Type, TypeId};
use crate::source::Span;
use crate::syntax::{
    BinaryOp, BranchKind, Case, CommClause, DeclId, DeclKind, ExprId, ExprKind, Ident, StmtId,
    StmtKind, Symbol, UnaryOp,
};

impl Compiler<'_> {
    pub(super) fn stmt(&mut self, stmt: StmtId) {
        if self.depth > MAX_DEPTH {
            self.frame().abandoned = true;
            return;
        }
        self.depth += 1;
        self.stmt_inner(stmt);
        self.depth -= 1;
    }

    fn stmt_inner(&mut self, stmt: StmtId) {
        let tree = self.tree();
        let node = tree.stmt(stmt);
        let span = node.span;
        match &node.kind {
            StmtKind::Missing => self.frame().abandoned = true,
            StmtKind::Empty => {}
            StmtKind::Expr(expr) => self.multi(*expr, 0),
            StmtKind::Send { channel, value } => {
                self.expr(*channel);
                self.expr(*value);
                self.emit(Op::Send, span);
            }
            StmtKind::IncDec { operand, .. } if self.counts_turns(*operand, span) => {}
            StmtKind::IncDec { operand, increment } => {
                self.expr(*operand);
                self.emit(Op::Const(Constant::Int(1)), span);
                let op = if *increment { Operator::Add } else { Operator::Sub };
                self.emit(Op::Binary(op), span);
                self.assign(*operand);
            }
            StmtKind::Assign { left, op: Some(op), right } => {
                let (Some(&left), Some(&right)) = (left.first(), right.first()) else { return };
                self.expr(left);
                self.expr(right);
                match constant::operator(*op) {
                    Some(op) => self.emit(Op::Binary(op), span),
                    None => self.emit(Op::Hole { args: 2, want: 1 }, span),
                };
                self.assign(left);
            }
            StmtKind::Assign { left, op: None, right } => {
                self.values(right, left.len(), None, span);
                for &place in left.iter().rev() {
                    self.assign(place);
                }
            }
            StmtKind::Define { left, right } => self.define(left, right, span),
            StmtKind::Go(call) => self.later(*call, true, span),
            StmtKind::Defer(call) => self.later(*call, false, span),
            StmtKind::Return(values) => self.return_stmt(values, span),
            StmtKind::Branch { kind, label } => self.branch(*kind, *label, span),
            StmtKind::Block(stmts) => self.scoped(|compiler| {
                for &stmt in stmts {
                    compiler.stmt(stmt);
                }
            }),
            StmtKind::If { .. } => self.if_stmt(stmt),
            StmtKind::Switch { init, tag, cases } => {
                self.scoped(|compiler| compiler.switch(*init, *tag, cases, span));
            }
            StmtKind::TypeSwitch { init, binding, subject, cases } => {
                self.scoped(|compiler| {
                    compiler.type_switch(*init, *binding, *subject, cases, span);
                });
            }
            StmtKind::Select(clauses) => self.select(clauses, span),
            StmtKind::For { init, cond, post, body } => {
                self.scoped(|compiler| compiler.for_stmt(*init, *cond, *post, *body, span));
            }
            StmtKind::Range { key, value, define, subject, body } => {
                self.scoped(|compiler| {
                    compiler.range([*key, *value], *define, *subject, *body, span);
                });
            }
            StmtKind::Labeled { label, stmt } => {
                let here = self.here();
                let frame = self.frame();
                frame.labels.insert(label.name, here);
                frame.pending_label = Some(label.name);
                let waiting: Vec<usize> = frame
                    .gotos
                    .iter()
                    .filter(|(name, _)| *name == label.name)
                    .map(|&(_, at)| at)
                    .collect();
                frame.gotos.retain(|(name, _)| *name != label.name);
                self.patch_here(&waiting);
                self.stmt(*stmt);
                self.frame().pending_label = None;
            }
            StmtKind::Decl(decls) => {
                for &decl in decls {
                    self.local_decl(decl);
                }
            }
        }
    }

    fn block(&mut self, block: StmtId) {
        self.stmt(block);
    }

    /// Leaves `count` values of the right side of an assignment on the stack.
    fn values(&mut self, right: &[ExprId], count: usize, ty: Option<TypeId>, span: Span) {
        if right.len() == count {
            for &value in right {
                match ty {
                    Some(ty) => self.expr_as(value, ty),
                    None => self.expr(value),
                }
            }
            return;
        }
        match *right {
            [call] => self.multi(call, count.min(u8::MAX as usize) as u8),
            _ => {
                for _ in 0..count {
                    self.emit(Op::Unknown(TypeId::UNKNOWN), span);
                }
                self.frame().abandoned = true;
            }
        }
    }

    fn define(&mut self, left: &[ExprId], right: &[ExprId], span: Span) {
        let tree = self.tree();
        self.values(right, left.len(), None, span);
        for (at, &name) in left.iter().enumerate().rev() {
            let value = right.get(at).filter(|_| right.len() == left.len());
            match tree.expr(name).kind {
                ExprKind::Ident(symbol) => {
                    let ty = value.and_then(|&value| self.written_type(value));
                    let ty = ty.unwrap_or(TypeId::UNKNOWN);
                    self.define_name(symbol, ty, tree.expr(name).span);
                }
                _ => self.assign(name),
            }
        }
    }

    /// Declares `name` with the value on the stack, or assigns to it if this scope has it already.
    fn define_name(&mut self, name: Symbol, ty: TypeId, span: Span) {
        if name.is_blank() {
            self.emit(Op::Pop, span);
            return;
        }
        if let Some(slot) = self.declared_here(name) {
            self.emit(Op::Store(slot), span);
            return;
        }
        let slot = self.declare(name, ty);
        self.emit(Op::Declare(slot), span);
    }

    fn local_decl(&mut self, decl: DeclId) {
        let tree = self.tree();
        let span = tree.decl(decl).span;
        match &tree.decl(decl).kind {
            DeclKind::Var(spec) => {
                let ty = spec.ty.map(|ty| self.type_expr(ty));
                let known = ty.unwrap_or(TypeId::UNKNOWN);
                if spec.values.is_empty() {
                    for name in &spec.names {
                        self.emit(Op::Zero(known), name.span);
                        let slot = self.declare(name.name, known);
                        self.emit(Op::Declare(slot), name.span);
                    }
                    return;
                }
                self.values(&spec.values, spec.names.len(), ty, span);
                for name in spec.names.iter().rev() {
                    let slot = self.declare(name.name, known);
                    self.emit(Op::Declare(slot), name.span);
                }
            }
            DeclKind::Const(spec) => {
                for (at, name) in spec.names.iter().enumerate() {
                    let value = self
                        .spec_constant(decl, at as u32, 0)
                        .unwrap_or_else(|| Constant::Atom(self.text_id(name.name.as_str())));
                    self.bind(name.name, Entity::Const(value));
                }
            }
            DeclKind::Type(spec) => self.local_type(spec),
            DeclKind::Func(_) => {}
        }
    }

    fn return_stmt(&mut self, values: &[ExprId], span: Span) {
        let results = self.frame().func.results.clone();
        let count = match *values {
            [] => 0,
            [only] if results.len() > 1 => {
                let count = results.len().min(u8::MAX as usize) as u8;
                self.multi(only, count);
                count
            }
            _ => {
                for (at, &value) in values.iter().take(u8::MAX as usize).enumerate() {
                    self.expr_as(value, results.get(at).copied().unwrap_or(TypeId::UNKNOWN));
                }
                if self.fails(values, &results) {
                    self.emit(Op::AddressOfValue, span);
                }
                values.len().min(u8::MAX as usize) as u8
            }
        };
        self.leave_ranges(0, span);
        self.emit(Op::Return(count), span);
    }

    /// Whether a `return` gives nothing but an error that a function of another package makes for it, by itself
    /// or of a new one: that is not nil.
    fn fails(&mut self, values: &[ExprId], results: &[TypeId]) -> bool {
        let tree = self.tree();
        let [rest @ .., error] = values else { return false };
        let is_nil = |&value: &ExprId| match tree.expr(tree.unparen(value)).kind {
            ExprKind::Ident(name) => name.as_str() == "nil",
            _ => false,
        };
        let gives_nil = rest.iter().any(is_nil);
        results.last() == Some(&TypeId::ERROR)
            && self.function_of_import(*error).is_some()
            && (gives_nil || tree.args(*error).iter().any(|&arg| self.makes_error(arg)))
    }

    /// Whether an expression is a call that makes a new error.
    fn makes_error(&mut self, call: ExprId) -> bool {
        let called = self.function_of_import(call);
        called.is_some_and(|(path, name)| {
            intrinsic(path.as_str(), name.as_str()) == Intrinsic::NewError
        })
    }

    /// The path and name of the function of another package that an expression calls.
    fn function_of_import(&mut self, call: ExprId) -> Option<(Symbol, Symbol)> {
        let tree = self.tree();
        let ExprKind::Call { callee, .. } = tree.expr(tree.unparen(call)).kind else { return None };
        let ExprKind::Selector { base, name } = tree.expr(tree.unparen(callee)).kind else {
            return None;
        };
        Some((self.import_of(base)?, name.name))
    }

    /// Tells the range loops from `targets[from]` inwards that they are left.
    fn leave_ranges(&mut self, from: usize, span: Span) {
        let slots: Vec<Slot> =
            self.frame().targets[from..].iter().rev().filter_map(|target| target.range).collect();
        for slot in slots {
            self.emit(Op::RangeEnd(slot), span);
        }
    }

    fn branch(&mut self, kind: BranchKind, label: Option<Ident>, span: Span) {
        if kind == BranchKind::Goto {
            let Some(label) = label else { return };
            let target = self.frame().labels.get(&label.name).copied();
            let at = self.emit(Op::Jump(target.unwrap_or(0)), span);
            if target.is_none() {
                self.frame().gotos.push((label.name, at));
            }
            return;
        }
        if kind == BranchKind::Fallthrough {
            // The clause ends without a jump: see `clauses`.
            return;
        }
        let wanted = self.frame().targets.iter().rposition(|target| match label {
            Some(label) => target.label == Some(label.name),
            None => kind == BranchKind::Break || target.is_loop,
        });
        let Some(wanted) = wanted else {
            self.frame().abandoned = true;
            return;
        };
        self.leave_ranges(wanted + 1, span);
        let at = self.emit(Op::Jump(0), span);
        let target = &mut self.frame().targets[wanted];
        if kind == BranchKind::Break {
            target.breaks.push(at);
        } else {
            target.continues.push(at);
        }
    }

    /// An `if` and the ladder of `else if` that follows it.
    fn if_stmt(&mut self, stmt: StmtId) {
        let tree = self.tree();
        self.scoped(|compiler| {
            let mut ends = Vec::new();
            let mut next = Some(stmt);
            while let Some(stmt) = next {
                let StmtKind::If { init, cond, then, otherwise } = tree.stmt(stmt).kind else {
                    compiler.stmt(stmt);
                    break;
                };
                if let Some(init) = init {
                    compiler.stmt(init);
                }
                let no = compiler.condition(cond, false, Slot::NONE);
                compiler.block(then);
                if otherwise.is_some() {
                    ends.push(compiler.emit(Op::Jump(0), tree.stmt(stmt).span));
                }
                compiler.patch_here(&no);
                next = otherwise;
            }
            compiler.patch_here(&ends);
        });
    }

    fn open_target(&mut self, is_loop: bool, range: Option<Slot>) {
        let frame = self.frame();
        let label = frame.pending_label.take();
        frame.targets.push(Target {
            label,
            is_loop,
            range,
            breaks: Vec::new(),
            continues: Vec::new(),
        });
    }

    fn close_target(&mut self) -> Target {
        self.frame().targets.pop().expect("every target is opened before")
    }

    fn switch(&mut self, init: Option<StmtId>, tag: Option<ExprId>, cases: &[Case], span: Span) {
        let tree = self.tree();
        self.open_target(false, None);
        if let Some(init) = init {
            self.stmt(init);
        }
        let subject = tag.map(|tag| {
            self.expr(tag);
            let slot = self.temporary();
            self.emit(Op::Declare(slot), tree.expr(tag).span);
            slot
        });
        let mut entries = Vec::with_capacity(cases.len());
        for case in cases {
            let mut jumps = Vec::new();
            for &value in case.values.as_deref().unwrap_or_default() {
                let span = tree.expr(value).span;
                match subject {
                    Some(subject) => {
                        self.emit(Op::Load(subject), span);
                        self.expr(value);
                        self.emit(Op::Binary(Operator::Eq), span);
                        let counter = Slot::NONE;
                        jumps.push(self.emit(Op::Branch { when: true, target: 0, counter }, span));
                    }
                    None => jumps.extend(self.condition(value, true, Slot::NONE)),
                }
            }
            entries.push(jumps);
        }
        if let Some(subject) = subject.filter(|_| self.names_all(cases)) {
            self.emit(Op::Load(subject), span);
            self.emit(Op::Exhausted, span);
        }
        self.clauses(cases, entries, span, |_, _| {});
    }

    /// Whether the cases of a switch are all the constants that the package declares of one type, and there is no
    /// default.
    fn names_all(&mut self, cases: &[Case]) -> bool {
        let tree = self.tree();
        let mut named = Vec::new();
        for case in cases {
            let Some(values) = case.values.as_deref() else { return false };
            for &value in values {
                let ExprKind::Ident(name) = tree.expr(value).kind else { return false };
                if self.lookup(name).is_some() {
                    return false;
                }
                named.push(name);
            }
        }
        let Some(ty) = named.first().and_then(|&name| self.package.type_of_constant(name)) else {
            return false;
        };
        let of_type = &self.package.of_types[&ty];
        named.len() > 1
            && named.iter().all(|name| of_type.contains(name))
            && of_type.iter().all(|name| named.contains(name) || name.as_str() == "_")
    }

    fn type_switch(
        &mut self,
        init: Option<StmtId>,
        binding: Option<Ident>,
        subject: ExprId,
        cases: &[Case],
        span: Span,
    ) {
        let tree = self.tree();
        self.open_target(false, None);
        if let Some(init) = init {
            self.stmt(init);
        }
        self.expr(subject);
        let slot = self.temporary();
        self.emit(Op::Declare(slot), tree.expr(subject).span);
        let mut entries = Vec::with_capacity(cases.len());
        for case in cases {
            let mut jumps = Vec::new();
            for &value in case.values.as_deref().unwrap_or_default() {
                let span = tree.expr(value).span;
                self.emit(Op::Load(slot), span);
                let test = match tree.expr(value).kind {
                    ExprKind::Ident(name) if name.as_str() == "nil" => Op::IsNil,
                    _ => Op::IsType(self.type_expr(value)),
                };
                self.emit(test, span);
                let counter = Slot::NONE;
                jumps.push(self.emit(Op::Branch { when: true, target: 0, counter }, span));
            }
            entries.push(jumps);
        }
        self.clauses(cases, entries, span, |compiler, case| {
            let Some(binding) = binding else { return };
            compiler.emit(Op::Load(slot), binding.span);
            let mut ty = TypeId::UNKNOWN;
            if let Some([only]) = case.values.as_deref() {
                ty = compiler.type_expr(*only);
                compiler.emit(Op::Convert(ty), binding.span);
            }
            let slot = compiler.declare(binding.name, ty);
            compiler.emit(Op::Declare(slot), binding.span);
        });
    }

    /// The bodies of a switch, whose tests jump from `entries`.
    fn clauses(
        &mut self,
        cases: &[Case],
        entries: Vec<Vec<usize>>,
        span: Span,
        before: impl Fn(&mut Self, &Case),
    ) {
        let tree = self.tree();
        let otherwise = self.emit(Op::Jump(0), span);
        let mut ends = Vec::new();
        let mut has_default = false;
        let mut falls = None;
        for (case, jumps) in cases.iter().zip(entries) {
            self.patch_here(&jumps);
            if case.values.is_none() {
                has_default = true;
                self.patch_here(&[otherwise]);
            }
            self.scoped(|compiler| {
                before(compiler, case);
                // What falls through comes in behind the declaration of this clause.
                if let Some(from) = falls.take() {
                    compiler.patch_here(&[from]);
                }
                for &stmt in &case.body {
                    compiler.stmt(stmt);
                }
            });
            let fallthrough = case.body.last().is_some_and(|&last| {
                matches!(
                    tree.stmt(last).kind,
                    StmtKind::Branch { kind: BranchKind::Fallthrough, .. }
                )
            });
            let end = self.emit(Op::Jump(0), case.span);
            if fallthrough {
                falls = Some(end);
            } else {
                ends.push(end);
            }
        }
        ends.extend(falls);
        if !has_default {
            ends.push(otherwise);
        }
        self.patch_here(&ends);
        let target = self.close_target();
        self.patch_here(&target.breaks);
    }

    fn select(&mut self, clauses: &[CommClause], span: Span) {
        let tree = self.tree();
        self.open_target(false, None);
        let mut cases = Vec::new();
        let waits = clauses.iter().all(|clause| clause.comm.is_some());
        for clause in clauses {
            let Some(comm) = clause.comm else { continue };
            let span = tree.stmt(comm).span;
            let send = match &tree.stmt(comm).kind {
                StmtKind::Send { channel, value } => {
                    self.expr(*channel);
                    self.expr(*value);
                    true
                }
                _ => {
                    match self.received(comm) {
                        // No time has passed when it is looked at.
                        Some(channel) if !waits && self.starts_timer(channel) => {
                            self.emit(Op::Const(Constant::Nil), span);
                        }
                        Some(channel) => self.expr(channel),
                        None => {
                            self.frame().abandoned = true;
                            self.emit(Op::Unknown(TypeId::UNKNOWN), span);
                        }
                    }
                    false
                }
            };
            cases.push(SelectCase { send, target: 0, span });
        }
        let func = &mut self.frame().func;
        let table = func.selects.len();
        func.selects.push(SelectTable { cases, default: None });
        self.emit(Op::Select(table as u32), span);
        let mut ends = Vec::new();
        let mut case = 0;
        for clause in clauses {
            let here = self.here();
            let selects = &mut self.frame().func.selects[table];
            let receives = match clause.comm {
                None => {
                    selects.default = Some(here);
                    false
                }
                Some(_) => {
                    selects.cases[case].target = here;
                    case += 1;
                    !selects.cases[case - 1].send
                }
            };
            self.scoped(|compiler| {
                if receives && let Some(comm) = clause.comm {
                    compiler.bind_received(comm);
                }
                for &stmt in &clause.body {
                    compiler.stmt(stmt);
                }
            });
            ends.push(self.emit(Op::Jump(0), clause.span));
        }
        self.patch_here(&ends);
        let target = self.close_target();
        self.patch_here(&target.breaks);
    }

    /// Whether a channel is that of a timer which is started here for a time that is written down: `time.After(d)`.
    fn starts_timer(&mut self, channel: ExprId) -> bool {
        let tree = self.tree();
        let Some((path, name)) = self.function_of_import(channel) else { return false };
        let is_after = path.as_str() == "time" && name.as_str() == "After";
        is_after
            && match tree.args(tree.unparen(channel)) {
                &[time] => self.is_long(time),
                _ => false,
            }
    }

    /// Whether a duration is written down, and more than none: `5 * time.Second`.
    fn is_long(&mut self, time: ExprId) -> bool {
        let tree = self.tree();
        let time = tree.unparen(time);
        match tree.expr(time).kind {
            ExprKind::Binary { op: BinaryOp::Mul, left, right, .. } => {
                self.is_long(left) && self.is_long(right)
            }
            ExprKind::Selector { base, .. } => {
                self.import_of(base).is_some_and(|path| path.as_str() == "time")
            }
            _ => matches!(self.constant(time, 0, 0), Some(Constant::Int(time)) if time > 0),
        }
    }

    /// The channel that a communication receives from.
    fn received(&mut self, comm: StmtId) -> Option<ExprId> {
        let tree = self.tree();
        let receive = match &tree.stmt(comm).kind {
            StmtKind::Expr(expr) => *expr,
            StmtKind::Assign { right, .. } | StmtKind::Define { right, .. } => *right.first()?,
            _ => return None,
        };
        match tree.expr(tree.unparen(receive)).kind {
            ExprKind::Unary { op: UnaryOp::Recv, operand } => Some(operand),
            _ => None,
        }
    }

    /// Takes `v ok` from the stack as the communication says.
    fn bind_received(&mut self, comm: StmtId) {
        let tree = self.tree();
        let span = tree.stmt(comm).span;
        let (left, define): (&[ExprId], bool) = match &tree.stmt(comm).kind {
            StmtKind::Assign { left, .. } => (left, false),
            StmtKind::Define { left, .. } => (left, true),
            _ => (&[], false),
        };
        for at in [1, 0] {
            match left.get(at) {
                None => {
                    self.emit(Op::Pop, span);
                }
                Some(&place) if define => match tree.expr(place).kind {
                    ExprKind::Ident(name) if !name.is_blank() => {
                        let slot = self.declare(name, TypeId::UNKNOWN);
                        self.emit(Op::Declare(slot), tree.expr(place).span);
                    }
                    _ => {
                        self.emit(Op::Pop, span);
                    }
                },
                Some(&place) => self.assign(place),
            }
        }
    }

    fn for_stmt(
        &mut self,
        init: Option<StmtId>,
        cond: Option<ExprId>,
        post: Option<StmtId>,
        body: StmtId,
        span: Span,
    ) {
        self.open_target(true, None);
        let first = self.frame().func.vars.len();
        if let Some(init) = init {
            self.stmt(init);
        }
        let declared = first..self.frame().func.vars.len();
        let counter = cond.map(|_| {
            self.emit(Op::Const(Constant::Int(0)), span);
            let slot = self.temporary();
            self.emit(Op::Declare(slot), span);
            slot
        });
        let top = self.here();
        let mut exits = Vec::new();
        if let (Some(cond), Some(counter)) = (cond, counter) {
            exits = self.condition(cond, false, counter);
            self.emit(Op::CountIteration(counter), span);
        }
        self.frame().endless += u32::from(cond.is_none());
        self.block(body);
        let continues = std::mem::take(&mut self.innermost().continues);
        self.patch_here(&continues);
        if self.package.environment.loop_variables_per_iteration() {
            for slot in declared {
                self.emit(Op::Fresh(Slot(slot as u16)), span);
            }
        }
        if let Some(post) = post {
            self.stmt(post);
        }
        self.frame().endless -= u32::from(cond.is_none());
        self.emit(Op::Jump(top), span);
        self.patch_here(&exits);
        let target = self.close_target();
        self.patch_here(&target.breaks);
    }

    fn innermost(&mut self) -> &mut Target {
        self.frame().targets.last_mut().expect("a loop has opened its target")
    }

    /// How often a `range` over an array literal that leaves elements out goes round.
    fn turns(&mut self, subject: ExprId) -> Option<i64> {
        let tree = self.tree();
        let ExprKind::CompositeLit { ty: Some(ty), ref elements, .. } =
            tree.expr(tree.unparen(subject)).kind
        else {
            return None;
        };
        let ty = self.type_expr(ty);
        match *self.out.types.underlying(ty) {
            Type::Array(Some(len), _) if elements.is_empty() => Some(i64::from(len)),
            _ => None,
        }
    }

    fn range(
        &mut self,
        left: [Option<ExprId>; 2],
        define: bool,
        subject: ExprId,
        body: StmtId,
        span: Span,
    ) {
        let tree = self.tree();
        let subject_span = tree.expr(subject).span;
        match self.turns(subject) {
            Some(turns) if left[1].is_none() => {
                self.emit(Op::Const(Constant::Int(turns)), subject_span);
            }
            _ => self.expr(subject),
        }
        let slot = self.temporary();
        // The position, beside the subject.
        self.temporary();
        self.emit(Op::RangeStart(slot), subject_span);
        self.open_target(true, Some(slot));
        let per_iteration = self.package.environment.loop_variables_per_iteration();
        let mut places = [None, None];
        if define {
            for (at, place) in left.iter().enumerate() {
                let Some(place) = *place else { continue };
                let ExprKind::Ident(name) = tree.expr(place).kind else { continue };
                if name.is_blank() {
                    continue;
                }
                let slot = self.declare(name, TypeId::UNKNOWN);
                if !per_iteration {
                    self.emit(Op::Const(Constant::Nil), span);
                    self.emit(Op::Declare(slot), span);
                }
                places[at] = Some(slot);
            }
        }
        let top: Pc = self.here();
        let head = Span::new(span.start, subject_span.end);
        let exit = self.emit(Op::RangeNext { slot, exit: 0 }, head);
        for at in [1, 0] {
            match (places[at], left[at]) {
                (Some(slot), _) => {
                    let op = if per_iteration { Op::Declare(slot) } else { Op::Store(slot) };
                    self.emit(op, span);
                }
                (None, Some(place)) if !define => self.assign(place),
                _ => {
                    self.emit(Op::Pop, span);
                }
            }
        }
        self.block(body);
        let continues = std::mem::take(&mut self.innermost().continues);
        self.patch_here(&continues);
        self.emit(Op::Jump(top), span);
        let target = self.close_target();
        self.patch_here(&target.breaks);
        self.patch_here(&[exit]);
        self.emit(Op::RangeEnd(slot), span);
    }
}
