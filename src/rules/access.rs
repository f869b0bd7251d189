//! Which variables, fields and elements the steps of a body read and write, by the variables of the
//! functions around it.

use crate::flow::Step;
use crate::index::{Builtin, Callee, Def, LocalId, LocalKind, Type};
use crate::summary::{At, BodyId, Function};
use crate::syntax::{DeclKind, ExprId, ExprKind, StmtKind, Symbol, UnaryOp};

/// A read or write.
#[derive(Clone, Debug)]
pub struct Access {
    /// Where.
    pub at: At,
    /// The expression; `None` for a `return` without values.
    pub expr: Option<ExprId>,
    /// The variable that it starts from.
    pub variable: LocalId,
    /// The fields on the way.
    pub fields: Vec<Symbol>,
    /// What is done.
    pub what: What,
}

/// What is done to what a path of fields leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// It gets another value.
    Written,
    /// An element of the map or slice gets another value.
    ElementWritten,
    /// Its value is read; what it points to is not.
    Read,
    /// An element of the map or slice is read, or all of them are.
    ElementRead,
    /// It is given to the caller, or to another function, who may read it.
    Given,
}

impl What {
    /// Whether something changes.
    pub fn is_write(self) -> bool {
        matches!(self, What::Written | What::ElementWritten)
    }
}

/// What the steps of one body do to variables, itself.
pub fn of_body(function: &Function<'_>, body: BodyId) -> Vec<Access> {
    let mut found = Vec::new();
    for step in function.body(body).cfg.steps() {
        of_step(function, At { body, step }, &mut found);
    }
    found
}

/// What one step does to variables.
pub fn of_step(function: &Function<'_>, at: At, found: &mut Vec<Access>) {
    let file = function.file;
    let mut collector = Collector { function, at, found, seen: Vec::new() };
    match function.step(at) {
        Step::Assign(stmt) | Step::Comm(stmt) => match &file.stmt(stmt).kind {
            StmtKind::Assign { left, .. } => {
                left.iter().for_each(|&target| collector.written(target));
            }
            StmtKind::Define { left, .. } => {
                for &target in left {
                    if !declares(function, target) {
                        collector.written(target);
                    }
                    collector.seen.push(target);
                }
            }
            StmtKind::IncDec { operand, .. } => collector.written(*operand),
            _ => {}
        },
        Step::Return(stmt) => {
            if let StmtKind::Return(values) = &file.stmt(stmt).kind {
                collector.returned(values);
            }
        }
        Step::Declare(decl) if matches!(file.decl(decl).kind, DeclKind::Const(_)) => return,
        Step::Call(call) => collector.call(call),
        Step::Next(stmt) => {
            if let StmtKind::Range { subject, .. } = file.stmt(stmt).kind {
                collector.chain(subject, What::ElementRead);
            }
        }
        _ => {}
    }
    function.step(at).for_each_operand(file, &mut |expr| collector.operand(expr));
}

/// Whether a name on the left of `:=` is a new variable.
fn declares(function: &Function<'_>, target: ExprId) -> bool {
    match *function.info.resolve(target) {
        Def::Local(local) => function.info.local(local).span == function.file.expr(target).span,
        _ => true,
    }
}

struct Collector<'c, 'a> {
    function: &'c Function<'a>,
    at: At,
    found: &'c mut Vec<Access>,
    /// Expressions whose part in the step has been told.
    seen: Vec<ExprId>,
}

impl Collector<'_, '_> {
    fn written(&mut self, target: ExprId) {
        let target = self.function.file.unparen(target);
        match self.function.file.expr(target).kind {
            ExprKind::Index { base, .. } => {
                self.seen.push(target);
                self.chain(base, What::ElementWritten);
            }
            _ => self.chain(target, What::Written),
        }
    }

    fn returned(&mut self, values: &[ExprId]) {
        let function = self.function;
        for local in (0..function.info.locals().len() as u32).map(LocalId) {
            let is_result = matches!(function.info.local(local).kind, LocalKind::Result(_));
            if is_result && function.owner(local) == Some(self.at.body) {
                let what = if values.is_empty() { What::Given } else { What::Written };
                let (at, fields) = (self.at, Vec::new());
                self.found.push(Access { at, expr: None, variable: local, fields, what });
            }
        }
        values.iter().for_each(|&value| self.chain(value, What::Given));
    }

    fn call(&mut self, call: ExprId) {
        let ExprKind::Call { callee, args, .. } = &self.function.file.expr(call).kind else {
            return;
        };
        match self.function.info.callee(call) {
            Callee::Builtin(Builtin::Len | Builtin::Cap) => {
                args.iter().for_each(|&arg| self.chain(arg, What::Read));
            }
            Callee::Builtin(Builtin::Delete | Builtin::Clear) => {
                args.iter().take(1).for_each(|&arg| self.chain(arg, What::ElementWritten));
            }
            Callee::Builtin(Builtin::Close | Builtin::New | Builtin::Make) => {
                self.seen.extend(args);
            }
            _ => args.iter().for_each(|&arg| self.chain(arg, What::Given)),
        }
        // A method may be called on anything: only the value of the variable is read.
        if let ExprKind::Selector { base, .. } = self.function.file.expr(*callee).kind
            && matches!(
                self.function.info.resolve(*callee),
                Def::Method(..) | Def::InterfaceMethod(_) | Def::External(_)
            )
        {
            self.seen.push(*callee);
            self.receiver(base);
        }
    }

    /// A method is called on `base`: its variable is read if it holds a pointer, an interface, or a
    /// value that the method gets a copy of; a method with a pointer receiver gets the address.
    fn receiver(&mut self, base: ExprId) {
        let ty = self.function.index.underlying(self.function.info.type_of(base));
        match ty {
            Type::Pointer(_) | Type::Interface(_) => self.chain(base, What::Read),
            _ => self.skip(base),
        }
    }

    fn operand(&mut self, expr: ExprId) {
        match self.function.file.expr(expr).kind {
            ExprKind::Unary { op: UnaryOp::Addr, operand } => self.skip(operand),
            ExprKind::Index { base, .. } | ExprKind::Slice { base, .. }
                if !self.seen.contains(&expr) =>
            {
                self.seen.push(expr);
                self.chain(base, What::ElementRead);
            }
            ExprKind::Ident(_) | ExprKind::Selector { .. } | ExprKind::Star(_) => {
                self.chain(expr, What::Read);
            }
            _ => {}
        }
    }

    /// Nothing is said of an expression and of what it starts from.
    fn skip(&mut self, mut expr: ExprId) {
        loop {
            self.seen.push(expr);
            expr = match self.function.file.expr(expr).kind {
                ExprKind::Paren(inner)
                | ExprKind::Star(inner)
                | ExprKind::Selector { base: inner, .. }
                | ExprKind::Index { base: inner, .. } => inner,
                _ => return,
            };
        }
    }

    /// `x.f.g`, where `x` is a variable and `f` and `g` are fields.
    fn chain(&mut self, expr: ExprId, what: What) {
        if self.seen.contains(&expr) {
            return;
        }
        let function = self.function;
        let mut fields = Vec::new();
        let mut inner = expr;
        loop {
            match function.file.expr(inner).kind {
                ExprKind::Paren(base) | ExprKind::Star(base) => inner = base,
                ExprKind::Selector { base, .. } => {
                    let Def::Field(selection) = function.info.resolve(inner) else { return };
                    fields.push(selection.name);
                    fields.extend(selection.path.iter().rev());
                    inner = base;
                }
                ExprKind::Ident(_) => break,
                _ => return,
            }
        }
        let Def::Local(variable) = *function.info.resolve(inner) else { return };
        if !function.info.local(variable).kind.is_variable() {
            return;
        }
        self.skip(expr);
        fields.reverse();
        self.found.push(Access { at: self.at, expr: Some(expr), variable, fields, what });
    }
}
