//! Expressions to code.

use crate::program::code::{Constant, Op, Slot};
use crate::program::compile::{Compiler, Entity, MAX_DEPTH, constant};
use crate::program::library::library_constant;
use crate::program::package::Item;
use crate::program::types::{Type, TypeId};
use crate::source::Span;
use crate::syntax::{BinaryOp, Element, ExprId, ExprKind, FuncLit, Signature, Symbol, UnaryOp};

impl Compiler<'_> {
    /// Leaves the value of `expr` on the stack.
    pub(super) fn expr(&mut self, expr: ExprId) {
        if self.depth > MAX_DEPTH {
            self.give_up(expr);
            return;
        }
        self.depth += 1;
        self.expr_inner(expr);
        self.depth -= 1;
    }

    /// Leaves the value of `expr` on the stack, where a value of type `ty` is wanted: a composite
    /// literal whose type is left out takes it from there.
    pub(super) fn expr_as(&mut self, expr: ExprId, ty: TypeId) {
        let tree = self.tree();
        match &tree.expr(expr).kind {
            ExprKind::CompositeLit { ty: None, elements } => {
                let (ty, pointer) = match self.out.types.pointee(ty) {
                    Some(to) => (to, true),
                    None => (ty, false),
                };
                self.literal(ty, elements, tree.expr(expr).span);
                if pointer {
                    self.emit(Op::AddressOfValue, tree.expr(expr).span);
                }
            }
            _ => self.expr(expr),
        }
    }

    fn give_up(&mut self, expr: ExprId) {
        self.frame().abandoned = true;
        let span = self.tree().expr(expr).span;
        self.emit(Op::Unknown(TypeId::UNKNOWN), span);
    }

    fn expr_inner(&mut self, expr: ExprId) {
        let tree = self.tree();
        let node = tree.expr(expr);
        let span = node.span;
        match &node.kind {
            ExprKind::Missing => self.give_up(expr),
            ExprKind::Ident(name) => self.name(*name, span),
            ExprKind::BasicLit(kind) => {
                let value = self.basic_literal(*kind, &tree.source.text(span));
                self.emit(Op::Const(value), span);
            }
            ExprKind::CompositeLit { ty, elements } => {
                let ty = ty.map_or(TypeId::UNKNOWN, |ty| self.type_expr(ty));
                self.literal(ty, elements, span);
            }
            ExprKind::FuncLit(literal) => self.func_literal(literal, span),
            ExprKind::Paren(inner) => self.expr(*inner),
            ExprKind::Selector { base, name } => self.selector(*base, name.name, span),
            ExprKind::Index { .. } | ExprKind::TypeAssert { .. } | ExprKind::Call { .. } => {
                self.multi(expr, 1);
            }
            ExprKind::Slice { base, bounds } => {
                self.expr(*base);
                for bound in &bounds[..2] {
                    match bound {
                        Some(bound) => self.expr(*bound),
                        None => {
                            self.emit(Op::Const(Constant::Nil), span);
                        }
                    }
                }
                self.emit(Op::Slice, span);
            }
            ExprKind::Star(inner) => {
                self.expr(*inner);
                self.emit(Op::Deref, span);
            }
            ExprKind::Unary { op, operand } => self.unary(expr, *op, *operand),
            ExprKind::Binary { op, .. } => {
                if matches!(op, BinaryOp::LogicalAnd | BinaryOp::LogicalOr) {
                    self.logical(expr, span);
                } else {
                    self.binary(expr);
                }
            }
            // A type where a value is asked for: an argument of a generic or of reflection.
            ExprKind::ArrayType { .. }
            | ExprKind::MapType { .. }
            | ExprKind::ChanType { .. }
            | ExprKind::FuncType(_)
            | ExprKind::StructType(_)
            | ExprKind::InterfaceType(_) => {
                self.emit(Op::Unknown(TypeId::UNKNOWN), span);
            }
        }
    }

    /// Leaves `want` values of `expr` on the stack: results of a call, or the form with `ok`.
    pub(super) fn multi(&mut self, expr: ExprId, want: u8) {
        let tree = self.tree();
        let node = tree.expr(expr);
        let span = node.span;
        let comma_ok = want == 2;
        match &node.kind {
            ExprKind::Paren(inner) => return self.multi(*inner, want),
            ExprKind::Call { callee, args, spread } => {
                return self.call(*callee, args, *spread, want, span);
            }
            ExprKind::Index { base, indices } => {
                if self.is_instantiation(*base, indices) {
                    self.expr(*base);
                } else {
                    self.expr(*base);
                    self.expr(indices[0]);
                    self.emit(Op::Index { comma_ok }, span);
                    return self.pad(1 + comma_ok as u8, want, span);
                }
            }
            ExprKind::TypeAssert { base, ty } => {
                self.expr(*base);
                let ty = self.type_expr(*ty);
                self.emit(Op::Assert { ty, comma_ok }, span);
                return self.pad(1 + comma_ok as u8, want, span);
            }
            ExprKind::Unary { op: UnaryOp::Recv, operand } => {
                self.expr(*operand);
                self.emit(Op::Receive { comma_ok }, span);
                return self.pad(1 + comma_ok as u8, want, span);
            }
            _ => self.expr(expr),
        }
        self.pad(1, want, span);
    }

    /// Makes `want` values out of the `have` that are on the stack.
    fn pad(&mut self, have: u8, want: u8, span: Span) {
        for _ in want..have {
            self.emit(Op::Pop, span);
        }
        for _ in have..want {
            self.emit(Op::Unknown(TypeId::UNKNOWN), span);
        }
    }

    fn name(&mut self, name: Symbol, span: Span) {
        match self.lookup(name) {
            Some(Entity::Var(slot)) => {
                self.emit(Op::Load(slot), span);
                return;
            }
            Some(Entity::Const(value)) => {
                self.emit(Op::Const(value), span);
                return;
            }
            Some(Entity::Type(_)) => {
                self.emit(Op::Unknown(TypeId::UNKNOWN), span);
                return;
            }
            None => {}
        }
        let op = match self.package.items.get(&name) {
            Some(&Item::Func(func)) => Op::Func(func),
            Some(&Item::Global(global)) => Op::Global(global),
            Some(&Item::Const(..)) => match self.named_constant(name, 0) {
                Some(value) => Op::Const(value),
                None => Op::Unknown(TypeId::UNKNOWN),
            },
            Some(&Item::Type(_)) => Op::Unknown(TypeId::UNKNOWN),
            None => match name.as_str() {
                "nil" => Op::Const(Constant::Nil),
                "true" => Op::Const(Constant::Bool(true)),
                "false" => Op::Const(Constant::Bool(false)),
                _ => Op::Unknown(TypeId::UNKNOWN),
            },
        };
        self.emit(op, span);
    }

    /// The path of the package, if `expr` is the name of an import.
    pub(super) fn import_of(&mut self, expr: ExprId) -> Option<Symbol> {
        let ExprKind::Ident(name) = self.tree().expr(expr).kind else { return None };
        if self.lookup(name).is_some() || self.package.items.contains_key(&name) {
            return None;
        }
        self.package.import(self.file, name)
    }

    fn selector(&mut self, base: ExprId, name: Symbol, span: Span) {
        if let Some(path) = self.import_of(base) {
            if let Some(value) = library_constant(path.as_str(), name.as_str()) {
                self.emit(Op::Const(Constant::Int(value)), span);
                return;
            }
            let external = self.external_id(path, name);
            self.emit(Op::External(external), span);
            return;
        }
        if let Some(ty) = self.as_type(base) {
            let ty = self.out.types.pointee(ty).unwrap_or(ty);
            let name = self.name_id(name);
            let method = self
                .out
                .types
                .name_of(ty)
                .and_then(|named| self.out.methods.get(&(named, name)).copied());
            let op = method.map_or(Op::Unknown(TypeId::UNKNOWN), Op::MethodExpr);
            self.emit(op, span);
            return;
        }
        self.expr(base);
        let name = self.name_id(name);
        self.emit(Op::Member(name), span);
    }

    /// Whether `base[indices]` instantiates a generic function.
    fn is_instantiation(&mut self, base: ExprId, indices: &[ExprId]) -> bool {
        if indices.len() != 1 {
            return true;
        }
        match self.tree().expr(base).kind {
            ExprKind::Ident(name) => {
                self.lookup(name).is_none()
                    && matches!(self.package.items.get(&name), Some(Item::Func(_)))
            }
            ExprKind::Selector { base, .. } => {
                self.import_of(base).is_some() && self.as_type(indices[0]).is_some()
            }
            _ => false,
        }
    }

    fn unary(&mut self, expr: ExprId, op: UnaryOp, operand: ExprId) {
        let span = self.tree().expr(expr).span;
        match op {
            UnaryOp::Recv => {
                self.expr(operand);
                self.emit(Op::Receive { comma_ok: false }, span);
            }
            UnaryOp::Addr => self.address(operand, span),
            UnaryOp::Not => {
                self.expr(operand);
                self.emit(Op::Not, span);
            }
            UnaryOp::Neg => {
                self.expr(operand);
                self.emit(Op::Neg, span);
            }
            UnaryOp::Plus => self.expr(operand),
            UnaryOp::BitNot | UnaryOp::Tilde => {
                self.expr(operand);
                self.emit(Op::Pop, span);
                self.emit(Op::Unknown(TypeId::INT), span);
            }
        }
    }

    /// `&operand`
    pub(super) fn address(&mut self, operand: ExprId, span: Span) {
        let tree = self.tree();
        let operand = tree.unparen(operand);
        match &tree.expr(operand).kind {
            ExprKind::Ident(name) => match self.lookup(*name) {
                Some(Entity::Var(slot)) => {
                    self.frame().func.vars[slot.0 as usize].boxed = true;
                    self.emit(Op::AddressOf(slot), span);
                    return;
                }
                Some(_) => {}
                None => {
                    if let Some(&Item::Global(global)) = self.package.items.get(name) {
                        self.out.globals[global.0 as usize].boxed = true;
                        self.emit(Op::AddressOfGlobal(global), span);
                        return;
                    }
                }
            },
            ExprKind::Selector { base, name } if self.import_of(*base).is_none() => {
                self.expr(*base);
                let name = self.name_id(name.name);
                self.emit(Op::AddressOfField(name), span);
                return;
            }
            ExprKind::Index { base, indices } if indices.len() == 1 => {
                self.expr(*base);
                self.expr(indices[0]);
                self.emit(Op::AddressOfIndex, span);
                return;
            }
            ExprKind::Star(inner) => return self.expr(*inner),
            _ => {}
        }
        self.expr(operand);
        self.emit(Op::AddressOfValue, span);
    }

    /// An arithmetic operation or comparison. Chains nest to the left and may be long.
    fn binary(&mut self, expr: ExprId) {
        let tree = self.tree();
        let mut chain = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, left, right, .. } = tree.expr(first).kind {
            let Some(op) = constant::operator(op) else { break };
            chain.push((op, right, tree.expr(first).span));
            first = left;
        }
        self.expr(first);
        for (op, right, span) in chain.into_iter().rev() {
            self.expr(right);
            self.emit(Op::Binary(op), span);
        }
    }

    /// `&&` or `||` as a value.
    fn logical(&mut self, expr: ExprId, span: Span) {
        let no = self.condition(expr, false, Slot::NONE);
        self.emit(Op::Const(Constant::Bool(true)), span);
        let end = self.emit(Op::Jump(0), span);
        self.patch_here(&no);
        self.emit(Op::Const(Constant::Bool(false)), span);
        self.patch_here(&[end]);
    }

    /// Decides `expr`: returns the jumps that are taken when it is `when`; falls through
    /// otherwise. `counter` counts the iterations of the loop whose condition it is.
    pub(super) fn condition(&mut self, expr: ExprId, when: bool, counter: Slot) -> Vec<usize> {
        if self.depth > MAX_DEPTH {
            self.give_up(expr);
            let span = self.tree().expr(expr).span;
            return vec![self.emit(Op::Branch { when, target: 0, counter }, span)];
        }
        self.depth += 1;
        let jumps = self.condition_inner(expr, when, counter);
        self.depth -= 1;
        jumps
    }

    fn condition_inner(&mut self, expr: ExprId, when: bool, counter: Slot) -> Vec<usize> {
        let tree = self.tree();
        let node = tree.expr(expr);
        match node.kind {
            ExprKind::Paren(inner) => self.condition(inner, when, counter),
            ExprKind::Unary { op: UnaryOp::Not, operand } => {
                self.condition(operand, !when, counter)
            }
            ExprKind::Binary { op: op @ (BinaryOp::LogicalAnd | BinaryOp::LogicalOr), .. } => {
                // `a && b` is false, and `a || b` is true, as soon as one operand is.
                let early = op == BinaryOp::LogicalOr;
                let operands = self.operands(expr, op);
                let (&last, rest) = operands.split_last().expect("an operator has operands");
                let mut jumps: Vec<usize> = Vec::new();
                for &operand in rest {
                    jumps.extend(self.condition(operand, early, counter));
                }
                if early == when {
                    jumps.extend(self.condition(last, when, counter));
                    return jumps;
                }
                let decided = self.condition(last, when, counter);
                self.patch_here(&jumps);
                decided
            }
            _ => {
                self.expr(expr);
                vec![self.emit(Op::Branch { when, target: 0, counter }, node.span)]
            }
        }
    }

    /// The operands of a chain of one logical operator, in order.
    fn operands(&mut self, expr: ExprId, of: BinaryOp) -> Vec<ExprId> {
        let tree = self.tree();
        let mut operands = Vec::new();
        let mut first = expr;
        while let ExprKind::Binary { op, left, right, .. } = tree.expr(first).kind {
            if op != of {
                break;
            }
            operands.push(right);
            first = left;
        }
        operands.push(first);
        operands.reverse();
        operands
    }

    fn func_literal(&mut self, literal: &FuncLit, span: Span) {
        let around = self.frame();
        around.literals += 1;
        let name = format!("{}.func{}", around.func.name, around.literals);
        let parent = around.id;
        let id = self.new_func(span, Symbol::new(""));
        self.open(id);
        let func = &mut self.frame().func;
        func.name = name;
        func.parent = Some(parent);
        self.signature(&literal.signature);
        self.body(literal.body);
        self.close();
        self.emit(Op::Closure(id), span);
    }

    /// A closure with this signature, whose body `inside` compiles.
    pub(super) fn literal_count(&self, signature: &Signature) -> u8 {
        u8::try_from(signature.results.len()).unwrap_or(u8::MAX)
    }

    /// A composite literal of type `ty`.
    fn literal(&mut self, ty: TypeId, elements: &[Element], span: Span) {
        match self.out.types.underlying(ty).clone() {
            Type::Struct(fields) => {
                let mut names = Vec::with_capacity(elements.len());
                for (at, element) in elements.iter().enumerate() {
                    let name = match element.key {
                        Some(key) => self.field_key(key),
                        None => fields.get(at).map(|field| field.name),
                    };
                    let Some(name) = name else { continue };
                    let ty = fields.iter().find(|field| field.name == name).map(|field| field.ty);
                    self.expr_as(element.value, ty.unwrap_or(TypeId::UNKNOWN));
                    names.push(name);
                }
                self.make_struct(ty, names, span);
            }
            Type::Slice(element) | Type::Array(_, element) => {
                for item in elements {
                    self.expr_as(item.value, element);
                }
                let len = elements.len() as u32;
                self.emit(Op::MakeSlice { element, len }, span);
            }
            Type::Map(key, value) => {
                let mut len = 0;
                for item in elements {
                    let Some(stated) = item.key else { continue };
                    self.expr_as(stated, key);
                    self.expr_as(item.value, value);
                    len += 1;
                }
                self.emit(Op::MakeMap { value, len }, span);
            }
            _ => self.foreign_literal(ty, elements, span),
        }
    }

    /// A literal of a type whose definition is not known: a struct if its keys are names.
    fn foreign_literal(&mut self, ty: TypeId, elements: &[Element], span: Span) {
        let keys: Option<Vec<_>> =
            elements.iter().map(|element| self.field_key(element.key?)).collect();
        if let Some(names) = keys {
            for element in elements {
                self.expr_as(element.value, TypeId::UNKNOWN);
            }
            self.make_struct(ty, names, span);
            return;
        }
        let mut args = 0;
        for element in elements.iter().take(u8::MAX as usize) {
            self.expr_as(element.value, TypeId::UNKNOWN);
            args += 1;
        }
        self.emit(Op::Hole { args, want: 1 }, span);
    }

    fn field_key(&mut self, key: ExprId) -> Option<crate::program::code::NameId> {
        match self.tree().expr(key).kind {
            ExprKind::Ident(name) => Some(self.name_id(name)),
            _ => None,
        }
    }

    fn make_struct(&mut self, ty: TypeId, names: Vec<crate::program::code::NameId>, span: Span) {
        let func = &mut self.frame().func;
        let fields = func.lists.len() as u32;
        func.lists.push(names);
        self.emit(Op::MakeStruct { ty, fields }, span);
    }

    /// Assigns the value on top of the stack to `place`.
    pub(super) fn assign(&mut self, place: ExprId) {
        let tree = self.tree();
        let place = tree.unparen(place);
        let span = tree.expr(place).span;
        let op = match &tree.expr(place).kind {
            ExprKind::Ident(name) if name.is_blank() => Op::Pop,
            ExprKind::Ident(name) => match self.lookup(*name) {
                Some(Entity::Var(slot)) => Op::Store(slot),
                Some(_) => Op::Pop,
                None => match self.package.items.get(name) {
                    Some(&Item::Global(global)) => Op::StoreGlobal(global),
                    _ => Op::Hole { args: 1, want: 0 },
                },
            },
            ExprKind::Selector { base, name } => {
                if self.import_of(*base).is_some() {
                    Op::Hole { args: 1, want: 0 }
                } else {
                    self.expr(*base);
                    Op::StoreField(self.name_id(name.name))
                }
            }
            ExprKind::Index { base, indices } if indices.len() == 1 => {
                self.expr(*base);
                self.expr(indices[0]);
                Op::StoreIndex
            }
            ExprKind::Star(inner) => {
                self.expr(*inner);
                Op::StoreDeref
            }
            _ => Op::Hole { args: 1, want: 0 },
        };
        self.emit(op, span);
    }
}
