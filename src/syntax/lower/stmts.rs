//! Statements.

use crate::source::Span;
use crate::syntax::lower::kinds::Kind;
use crate::syntax::lower::{Children, Item, Lowering, Value};
use crate::syntax::{BinaryOp, BranchKind, Case, CommClause, StmtId, StmtKind};

impl Lowering<'_> {
    /// The statement that an item stands for; missing for what is none.
    pub(super) fn stmt(&mut self, item: Item) -> StmtId {
        let kind = match item.value {
            Value::Stmt(id) => return id,
            Value::Decls(decls) => StmtKind::Decl(decls),
            _ => StmtKind::Missing,
        };
        self.alloc_stmt(kind, item.span)
    }

    fn next_stmt(&mut self, children: &mut Children, within: Span) -> StmtId {
        match children.next() {
            Some(item) => self.stmt(item),
            None => self.alloc_stmt(StmtKind::Missing, Span::new(within.end, within.end)),
        }
    }

    fn stmts(&mut self, children: Children) -> Box<[StmtId]> {
        // Neither the terminators of a list nor empty statements say anything.
        let is_stmt = |item: &Item| !matches!(item.kind, Kind::Semicolon | Kind::EmptyStatement);
        children.0.filter(is_stmt).map(|item| self.stmt(item)).collect()
    }

    pub(super) fn statement(&mut self, kind: Kind, span: Span, mut children: Children) -> StmtKind {
        match kind {
            Kind::Block => StmtKind::Block(self.stmts(children)),
            Kind::EmptyStatement => StmtKind::Empty,
            Kind::ExpressionStatement => StmtKind::Expr(self.next_expr(&mut children, span)),
            Kind::SendStatement => {
                let channel = self.next_expr(&mut children, span);
                children.next_if(|kind| kind == Kind::Arrow);
                StmtKind::Send { channel, value: self.next_expr(&mut children, span) }
            }
            Kind::IncStatement | Kind::DecStatement => StmtKind::IncDec {
                operand: self.next_expr(&mut children, span),
                increment: kind == Kind::IncStatement,
            },
            Kind::AssignmentStatement | Kind::ShortVarDeclaration | Kind::ReceiveStatement => {
                self.assignment(span, children)
            }
            Kind::LabeledStatement => self.labeled(span, children),
            Kind::FallthroughStatement => branch(BranchKind::Fallthrough),
            Kind::BreakStatement => self.branch(BranchKind::Break, children),
            Kind::ContinueStatement => self.branch(BranchKind::Continue, children),
            Kind::GotoStatement => self.branch(BranchKind::Goto, children),
            Kind::ReturnStatement => StmtKind::Return(self.rest(children)),
            Kind::GoStatement => StmtKind::Go(self.next_expr(&mut children, span)),
            Kind::DeferStatement => StmtKind::Defer(self.next_expr(&mut children, span)),
            Kind::IfStatement => {
                let init = self.init(&mut children);
                StmtKind::If {
                    init,
                    cond: self.next_expr(&mut children, span),
                    then: self.next_stmt(&mut children, span),
                    otherwise: children.next().map(|item| self.stmt(item)),
                }
            }
            Kind::ForStatement => self.for_statement(span, children),
            Kind::SwitchStatement => {
                let init = self.init(&mut children);
                let tag = children.next_if(|kind| !is_clause(kind)).map(|item| self.expr(item));
                StmtKind::Switch { init, tag, cases: cases(children) }
            }
            Kind::TypeSwitchStatement => self.type_switch(span, children),
            Kind::SelectStatement => {
                let clause = |item: Item| match item.value {
                    Value::Comm(clause) => Some(*clause),
                    Value::Case(case) => {
                        Some(CommClause { comm: None, body: case.body, span: case.span })
                    }
                    _ => None,
                };
                StmtKind::Select(children.0.filter_map(clause).collect())
            }
            _ => StmtKind::Missing,
        }
    }

    /// The statement before the `;` of a header, and the `;`.
    fn init(&mut self, children: &mut Children) -> Option<StmtId> {
        let init = children.has(Kind::Semicolon).then(|| children.next()).flatten()?;
        if init.kind == Kind::Semicolon {
            return None;
        }
        children.next_if(|kind| kind == Kind::Semicolon);
        Some(self.stmt(init))
    }

    fn assignment(&mut self, span: Span, mut children: Children) -> StmtKind {
        let left = self.exprs_until(&mut children, Kind::is_assignment);
        let Some(token) = children.next() else {
            // A communication that does not keep what it receives.
            return match *left {
                [received] => StmtKind::Expr(received),
                _ => StmtKind::Missing,
            };
        };
        let right = match children.peek() {
            Some(_) => self.rest(children),
            None => Box::new([self.next_expr(&mut children, span)]),
        };
        match token.kind {
            Kind::Define => StmtKind::Define { left, right },
            kind => StmtKind::Assign { left, op: assign_op(kind), right },
        }
    }

    fn labeled(&mut self, span: Span, mut children: Children) -> StmtKind {
        let Some(label) = children.next_if(Kind::is_name) else { return StmtKind::Missing };
        let label = self.ident(&label);
        children.next_if(|kind| kind == Kind::Colon);
        let stmt = match children.next() {
            Some(item) => self.stmt(item),
            None => self.alloc_stmt(StmtKind::Empty, Span::new(span.end, span.end)),
        };
        StmtKind::Labeled { label, stmt }
    }

    fn branch(&mut self, kind: BranchKind, mut children: Children) -> StmtKind {
        let label = children.next_if(Kind::is_name).map(|item| self.ident(&item));
        StmtKind::Branch { kind, label }
    }

    fn for_statement(&mut self, span: Span, mut children: Children) -> StmtKind {
        if children.has(Kind::Range) {
            return self.range_statement(span, children);
        }
        let is_clause = children.has(Kind::Semicolon);
        let init = if is_clause { self.init(&mut children) } else { None };
        let is_part = |kind| !matches!(kind, Kind::Semicolon | Kind::Block);
        let cond = children.next_if(is_part).map(|item| self.expr(item));
        children.next_if(|kind| kind == Kind::Semicolon);
        let post = match children.0.as_slice() {
            [_, _] => children.next().map(|item| self.stmt(item)),
            _ => None,
        };
        StmtKind::For { init, cond, post, body: self.next_stmt(&mut children, span) }
    }

    fn range_statement(&mut self, span: Span, mut children: Children) -> StmtKind {
        let is_end = |kind| matches!(kind, Kind::Assign | Kind::Define | Kind::Range);
        let left = self.exprs_until(&mut children, is_end);
        let define = children.has(Kind::Define);
        while children.next().is_some_and(|item| item.kind != Kind::Range) {}
        let subject = self.next_expr(&mut children, span);
        let body = self.next_stmt(&mut children, span);
        let (key, value) = match *left {
            [] => (None, None),
            [key] => (Some(key), None),
            [key, value] => (Some(key), Some(value)),
            _ => return StmtKind::Missing,
        };
        StmtKind::Range { key, value, define, subject, body }
    }

    fn type_switch(&mut self, span: Span, mut children: Children) -> StmtKind {
        let init = self.init(&mut children);
        let mut binding = None;
        if children.has(Kind::Define) {
            binding = children.next_if(Kind::is_name).map(|item| self.ident(&item));
            while children.next().is_some_and(|item| item.kind != Kind::Define) {}
        }
        let subject = self.next_expr(&mut children, span);
        StmtKind::TypeSwitch { init, binding, subject, cases: cases(children) }
    }

    pub(super) fn case(&mut self, span: Span, mut children: Children) -> Value {
        let values = Some(self.exprs_until(&mut children, |kind| kind == Kind::Colon));
        children.next();
        Value::Case(Box::new(Case { values, body: self.stmts(children), span }))
    }

    pub(super) fn default_case(&mut self, span: Span, mut children: Children) -> Value {
        children.next_if(|kind| kind == Kind::Colon);
        Value::Case(Box::new(Case { values: None, body: self.stmts(children), span }))
    }

    pub(super) fn communication_case(&mut self, span: Span, mut children: Children) -> Value {
        let comm = Some(self.next_stmt(&mut children, span));
        children.next_if(|kind| kind == Kind::Colon);
        Value::Comm(Box::new(CommClause { comm, body: self.stmts(children), span }))
    }
}

fn is_clause(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::ExpressionCase | Kind::DefaultCase | Kind::TypeCase | Kind::CommunicationCase
    )
}

fn cases(children: Children) -> Box<[Case]> {
    let case = |item: Item| match item.value {
        Value::Case(case) => Some(*case),
        _ => None,
    };
    children.0.filter_map(case).collect()
}

fn branch(kind: BranchKind) -> StmtKind {
    StmtKind::Branch { kind, label: None }
}

fn assign_op(token: Kind) -> Option<BinaryOp> {
    Some(match token {
        Kind::MulAssign => BinaryOp::Mul,
        Kind::DivAssign => BinaryOp::Div,
        Kind::RemAssign => BinaryOp::Rem,
        Kind::ShlAssign => BinaryOp::Shl,
        Kind::ShrAssign => BinaryOp::Shr,
        Kind::AndAssign => BinaryOp::And,
        Kind::AndNotAssign => BinaryOp::AndNot,
        Kind::AddAssign => BinaryOp::Add,
        Kind::SubAssign => BinaryOp::Sub,
        Kind::OrAssign => BinaryOp::Or,
        Kind::XorAssign => BinaryOp::Xor,
        _ => return None,
    })
}
