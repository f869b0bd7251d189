//! Statements and the scopes that they open (Go specification, "Blocks" and "Declarations and
//! scope").

use std::sync::{Arc, OnceLock};

use crate::syntax::{
    Case, CommClause, ConstSpec, DeclId, DeclKind, ExprId, ExprKind, Ident, StmtId, StmtKind,
    TypeSpec, UnaryOp, ValueSpec,
};

use super::{Checker, Mode, Operand};
use crate::index::{Basic, Def, LocalKind, Named, Type, TypeDecl, query};

impl Checker<'_> {
    /// The statements of a block whose scope is already open.
    pub(in crate::index) fn body_block(&mut self, block: StmtId) {
        let file = self.file;
        for &stmt in file.block(block) {
            self.stmt(stmt);
        }
    }

    fn block(&mut self, block: StmtId) {
        let mark = self.open();
        self.body_block(block);
        self.close(mark);
    }

    fn stmt(&mut self, mut stmt: StmtId) {
        let Some(_level) = query::level() else { return };
        let file = self.file;
        while let StmtKind::Labeled { stmt: inner, .. } = file.stmt(stmt).kind {
            stmt = inner;
        }
        match &file.stmt(stmt).kind {
            StmtKind::Missing
            | StmtKind::Empty
            | StmtKind::Branch { .. }
            | StmtKind::Labeled { .. } => {}
            StmtKind::Expr(expr) | StmtKind::Go(expr) | StmtKind::Defer(expr) => {
                self.expr(*expr);
            }
            StmtKind::Send { channel, value } => {
                self.expr(*channel);
                self.expr(*value);
            }
            StmtKind::IncDec { operand, .. } => {
                self.expr(*operand);
            }
            StmtKind::Assign { left, right, .. } => {
                for &expr in left.iter().chain(right) {
                    self.expr(expr);
                }
            }
            StmtKind::Define { left, right } => self.define(left, right, LocalKind::Var),
            StmtKind::Return(values) => {
                for &value in values {
                    self.expr(value);
                }
            }
            StmtKind::Block(_) => self.block(stmt),
            StmtKind::If { .. } => self.if_stmt(stmt),
            StmtKind::Switch { init, tag, cases } => {
                let mark = self.open();
                self.maybe(*init);
                if let Some(tag) = tag {
                    self.expr(*tag);
                }
                for case in cases {
                    self.case(case);
                }
                self.close(mark);
            }
            StmtKind::TypeSwitch { init, binding, subject, cases } => {
                let mark = self.open();
                self.maybe(*init);
                let subject = self.value(*subject);
                for case in cases {
                    self.type_case(case, *binding, &subject);
                }
                self.close(mark);
            }
            StmtKind::Select(clauses) => {
                for clause in clauses {
                    self.comm_clause(clause);
                }
            }
            StmtKind::For { init, cond, post, body } => {
                let mark = self.open();
                match init.map(|init| &file.stmt(init).kind) {
                    Some(StmtKind::Define { left, right }) => {
                        self.define(left, right, LocalKind::LoopVar);
                    }
                    _ => self.maybe(*init),
                }
                if let Some(cond) = cond {
                    self.expr(*cond);
                }
                self.maybe(*post);
                self.block(*body);
                self.close(mark);
            }
            StmtKind::Range { key, value, define, subject, body } => {
                let subject = self.value(*subject);
                let types = self.range_types(&subject);
                let mark = self.open();
                let targets = [*key, *value].into_iter().zip(types);
                for (target, ty) in targets.filter_map(|(target, ty)| target.zip(Some(ty))) {
                    if *define {
                        self.define_one(target, &ty, LocalKind::LoopVar);
                    } else {
                        self.expr(target);
                    }
                }
                self.block(*body);
                self.close(mark);
            }
            StmtKind::Decl(decls) => {
                for &decl in decls {
                    self.local_decl(decl);
                }
            }
        }
    }

    fn maybe(&mut self, stmt: Option<StmtId>) {
        if let Some(stmt) = stmt {
            self.stmt(stmt);
        }
    }

    /// Each `else if` lies within the scope of the `if` before it.
    fn if_stmt(&mut self, stmt: StmtId) {
        let file = self.file;
        let mut marks = Vec::new();
        let mut next = Some(stmt);
        while let Some(stmt) = next {
            next = match &file.stmt(stmt).kind {
                StmtKind::If { init, cond, then, otherwise } => {
                    marks.push(self.open());
                    self.maybe(*init);
                    self.expr(*cond);
                    self.block(*then);
                    *otherwise
                }
                _ => {
                    self.block(stmt);
                    None
                }
            };
        }
        for mark in marks.into_iter().rev() {
            self.close(mark);
        }
    }

    fn case(&mut self, case: &Case) {
        for &value in case.values.iter().flatten() {
            self.expr(value);
        }
        let mark = self.open();
        for &stmt in &case.body {
            self.stmt(stmt);
        }
        self.close(mark);
    }

    fn type_case(&mut self, case: &Case, binding: Option<Ident>, subject: &Type) {
        let mut ty = subject.clone();
        let values = case.values.as_deref().unwrap_or_default();
        for &value in values {
            let operand = self.expr(value);
            let nil = matches!(operand.ty, Type::Basic(Basic::UntypedNil));
            let case_type = super::types::as_type(operand);
            self.set_type(value, &case_type);
            if values.len() == 1 && !nil {
                ty = case_type;
            }
        }
        let mark = self.open();
        if let Some(name) = binding {
            let local = self.declare(name, LocalKind::TypeSwitch, ty);
            self.set_clause(case.span, local);
        }
        for &stmt in &case.body {
            self.stmt(stmt);
        }
        self.close(mark);
    }

    fn comm_clause(&mut self, clause: &CommClause) {
        let mark = self.open();
        self.maybe(clause.comm);
        for &stmt in &clause.body {
            self.stmt(stmt);
        }
        self.close(mark);
    }

    fn define(&mut self, left: &[ExprId], right: &[ExprId], kind: LocalKind) {
        let types = self.assigned_types(left.len(), right);
        for (&target, ty) in left.iter().zip(&types) {
            self.define_one(target, ty, kind);
        }
    }

    /// A left side of `:=`: an assignment to what the same scope declares already, else a
    /// declaration.
    fn define_one(&mut self, target: ExprId, ty: &Type, kind: LocalKind) {
        let expr = self.file.expr(target);
        let ExprKind::Ident(name) = expr.kind else {
            self.expr(target);
            return;
        };
        if name.is_blank() {
            self.set_def(target, Def::Blank);
            return;
        }
        if self.declared_here(name).is_some() {
            self.expr(target);
            return;
        }
        let local = self.declare_var(Ident { name, span: expr.span }, kind, ty);
        self.set_def(target, Def::Local(local));
        let ty = self.out.local(local).ty.clone();
        self.set_type(target, &ty);
    }

    /// The types that `count` left sides are given by `right`: one for each, the results of one
    /// call, or a value and whether there was one.
    fn assigned_types(&mut self, count: usize, right: &[ExprId]) -> Vec<Type> {
        let operands: Vec<Operand> = right.iter().map(|&value| self.expr(value)).collect();
        let value_type = |operand: &Operand| match operand.mode {
            Mode::Value => operand.ty.clone(),
            _ => Type::Unknown,
        };
        let mut types: Vec<Type> = operands.iter().map(value_type).collect();
        if let ([value], [single]) = (right, &types[..])
            && count != 1
        {
            types = match single {
                Type::Tuple(types) => types.to_vec(),
                ty if count == 2 && self.has_ok(*value) => {
                    vec![ty.clone(), Type::Basic(Basic::Bool)]
                }
                _ => Vec::new(),
            };
        }
        types.resize(count, Type::Unknown);
        types
    }

    /// Whether an expression has a second, optional result.
    fn has_ok(&self, expr: ExprId) -> bool {
        matches!(
            self.file.expr(self.file.unparen(expr)).kind,
            ExprKind::Index { .. }
                | ExprKind::TypeAssert { .. }
                | ExprKind::Unary { op: UnaryOp::Recv, .. }
        )
    }

    /// The types of the iteration values (Go specification, "For range").
    fn range_types(&self, subject: &Type) -> [Type; 2] {
        let int = || Type::Basic(Basic::Int);
        match self.index.core(subject) {
            Type::Basic(basic) if basic.is_integer() => [subject.default(), Type::Unknown],
            // A constant such as `1e3` is an integer here.
            Type::Basic(Basic::UntypedFloat) => [int(), Type::Unknown],
            Type::Basic(basic) if basic.is_string() => [int(), Type::Basic(Basic::Int32)],
            Type::Slice(element) => [int(), Type::clone(&element)],
            Type::Array(array) => [int(), array.element.clone()],
            Type::Pointer(base) => match self.index.core(&base) {
                Type::Array(array) => [int(), array.element.clone()],
                _ => Default::default(),
            },
            Type::Map(map) => [map.key.clone(), map.value.clone()],
            Type::Chan(_, element) => [Type::clone(&element), Type::Unknown],
            Type::Func(signature) => match signature.params.first().map(|ty| self.index.core(ty)) {
                Some(Type::Func(body)) => {
                    let param = |at| body.params.get(at).cloned().unwrap_or_default();
                    [param(0), param(1)]
                }
                _ => Default::default(),
            },
            _ => Default::default(),
        }
    }

    fn local_decl(&mut self, decl: DeclId) {
        let file = self.file;
        match &file.decl(decl).kind {
            DeclKind::Var(spec) => {
                let types = self.var_types(spec);
                for (name, ty) in spec.names.iter().zip(&types) {
                    self.declare_var(*name, LocalKind::Var, ty);
                }
            }
            DeclKind::Const(spec) => self.local_const(spec, file.decl(decl).span.start),
            DeclKind::Type(spec) => self.local_type(decl, spec),
            DeclKind::Func(_) => {}
        }
    }

    /// The types of the variables of a specification, by place.
    pub(in crate::index) fn var_types(&mut self, spec: &ValueSpec) -> Vec<Type> {
        let stated = spec.ty.map(|ty| self.ty(ty));
        let assigned = self.assigned_types(spec.names.len(), &spec.values);
        match stated {
            Some(ty) => vec![ty; spec.names.len()],
            None => assigned.iter().map(Type::default).collect(),
        }
    }

    fn local_const(&mut self, spec: &ConstSpec, start: u32) {
        let repeated =
            spec.values.first().is_some_and(|&value| self.file.expr(value).span.start < start);
        // A repeated expression was read where it stands.
        let recording = self.recording;
        self.recording = recording && !repeated;
        let values: Vec<Operand> =
            (0..spec.names.len()).map(|place| self.const_value(spec, place)).collect();
        self.recording = recording;
        for (name, value) in spec.names.iter().zip(values) {
            let local = self.declare(*name, LocalKind::Const, value.ty);
            if let Some(constant) = value.constant {
                self.constants.insert(local, constant);
            }
        }
    }

    /// Type and value of the constant at a place of a specification.
    pub(super) fn const_value(&mut self, spec: &ConstSpec, place: usize) -> Operand {
        let outer = self.iota.replace(spec.iota);
        let value = spec.values.get(place).map(|&value| self.expr(value)).unwrap_or_default();
        self.iota = outer;
        let Some(stated) = spec.ty.map(|ty| self.ty(ty)) else {
            return if value.is_value() { value } else { Operand::default() };
        };
        let basic = self.basic(&stated);
        let constant = value.constant.and_then(|value| value.convert(basic?));
        Operand::constant(stated, constant)
    }

    fn local_type(&mut self, decl: DeclId, spec: &TypeSpec) {
        if spec.alias {
            let ty = self.ty(spec.ty);
            self.declare(spec.name, LocalKind::Type, ty);
            return;
        }
        let here = self.here(decl);
        let named = Type::Named(Arc::new(Named {
            path: self.package.path,
            name: spec.name.name,
            decl: TypeDecl::Local(here),
            args: Box::new([]),
            expanded: OnceLock::new(),
        }));
        self.declare(spec.name, LocalKind::Type, named);
        let ty = self.ty(spec.ty);
        let underlying = self.index.underlying(&ty);
        self.package.set_local_type(here, underlying);
    }
}

/// Answers about declarations of package level.
impl Checker<'_> {
    /// Declares a variable of the function itself.
    pub(in crate::index) fn declare_variable(&mut self, name: Ident, kind: LocalKind, ty: Type) {
        self.declare(name, kind, ty);
    }

    /// Type and value of the constant at a place of a specification of package level.
    pub(in crate::index) fn declared_constant(
        &mut self,
        spec: &ConstSpec,
        place: usize,
    ) -> (Type, Option<crate::index::Constant>) {
        let operand = self.const_value(spec, place);
        (operand.ty, operand.constant)
    }
}
