//! Calls: of functions, methods, types and predeclared functions.

use crate::program::code::{Builtin, Constant, Op, Slot};
use crate::program::compile::Compiler;
use crate::program::package::Item;
use crate::program::types::{Type, TypeId};
use crate::source::Span;
use crate::syntax::{ExprId, ExprKind, Symbol, UnaryOp};

/// What stands before the arguments of a call.
enum Callee {
    /// A predeclared function.
    Predeclared(&'static str),
    /// A type: the call is a conversion.
    Type(TypeId),
    /// A name of another package.
    External(Symbol, Symbol),
    /// A method or a function-valued field.
    Member(ExprId, Symbol),
    /// Anything else.
    Value(ExprId),
}

impl Compiler<'_> {
    fn callee(&mut self, expr: ExprId) -> Callee {
        let tree = self.tree();
        let expr = tree.unparen(expr);
        match tree.expr(expr).kind {
            ExprKind::Ident(name)
                if self.lookup(name).is_none() && !self.package.items.contains_key(&name) =>
            {
                if let Some(predeclared) = predeclared(name.as_str()) {
                    return Callee::Predeclared(predeclared);
                }
            }
            ExprKind::Selector { base, name } => {
                if let Some(path) = self.import_of(base) {
                    if self.is_external_type(path, name.name) {
                        return Callee::Type(self.type_expr(expr));
                    }
                    return Callee::External(path, name.name);
                }
                if self.as_type(base).is_some() {
                    return Callee::Value(expr);
                }
                return Callee::Member(base, name.name);
            }
            ExprKind::FuncLit(_) => return Callee::Value(expr),
            ExprKind::Index { base, .. } => {
                // `pkg.F[T](x)`, `x.M[T](x)` and `F[T](x)`, or an element that is a function.
                if let ExprKind::Selector { base: inner, name } = tree.expr(base).kind
                    && let Some(path) = self.import_of(inner)
                {
                    return Callee::External(path, name.name);
                }
                if let ExprKind::Ident(name) = tree.expr(base).kind
                    && self.lookup(name).is_none()
                    && matches!(self.package.items.get(&name), Some(Item::Func(_)))
                {
                    return Callee::Value(base);
                }
                if let Some(ty) = self.as_type(expr) {
                    return Callee::Type(ty);
                }
                return Callee::Value(expr);
            }
            _ => {}
        }
        match self.as_type(expr) {
            Some(ty) => Callee::Type(ty),
            None => Callee::Value(expr),
        }
    }

    /// The type of a value, where the expression names it: a composite literal, its address, `new` and
    /// `make`.
    pub(super) fn written_type(&mut self, value: ExprId) -> Option<TypeId> {
        let tree = self.tree();
        let pointer = |compiler: &mut Self, ty: ExprId| {
            let to = compiler.as_type(ty)?;
            Some(compiler.out.types.intern(Type::Pointer(to)))
        };
        match &tree.expr(tree.unparen(value)).kind {
            ExprKind::CompositeLit { ty: Some(ty), .. } => self.as_type(*ty),
            ExprKind::Unary { op: UnaryOp::Addr, operand } => {
                match tree.expr(tree.unparen(*operand)).kind {
                    ExprKind::CompositeLit { ty: Some(ty), .. } => pointer(self, ty),
                    _ => None,
                }
            }
            ExprKind::Call { callee, args, .. } => match (self.callee(*callee), args.first()) {
                (Callee::Predeclared("make"), Some(&ty)) => self.as_type(ty),
                (Callee::Predeclared("new"), Some(&ty)) => pointer(self, ty),
                _ => None,
            },
            _ => None,
        }
    }

    /// A call with `want` results.
    pub(super) fn call(
        &mut self,
        callee: ExprId,
        args: &[ExprId],
        spread: bool,
        want: u8,
        span: Span,
    ) {
        match self.callee(callee) {
            Callee::Predeclared(name) => {
                let have = self.predeclared(name, args, spread, span);
                for _ in want..have {
                    self.emit(Op::Pop, span);
                }
                for _ in have..want {
                    self.emit(Op::Unknown(TypeId::UNKNOWN), span);
                }
            }
            Callee::Type(ty) => {
                match args.first() {
                    Some(&value) => self.expr_as(value, ty),
                    None => {
                        self.emit(Op::Unknown(ty), span);
                    }
                }
                self.emit(Op::Convert(ty), span);
                if want == 0 {
                    self.emit(Op::Pop, span);
                }
                for _ in 1..want {
                    self.emit(Op::Unknown(TypeId::UNKNOWN), span);
                }
            }
            Callee::External(path, name)
                if let [before @ .., func] = args
                    && walks(path, name) =>
            {
                self.walk(before, *func, want, span);
            }
            Callee::External(path, name) => {
                let args = self.arguments(args);
                let callee = self.external_id(path, name);
                self.emit(Op::CallExternal { callee, args, spread, want }, span);
            }
            Callee::Member(base, name) => {
                self.receiver(base, name);
                let args = self.arguments(args);
                let name = self.name_id(name);
                self.emit(Op::CallMethod { name, args, spread, want }, span);
            }
            Callee::Value(value) => {
                self.expr(value);
                let args = self.arguments(args);
                self.emit(Op::Call { args, spread, want }, span);
            }
        }
    }

    /// What the method `name` is called on: `(&x).m()` may be written `x.m()`
    /// (<https://go.dev/ref/spec#Calls>).
    fn receiver(&mut self, base: ExprId, name: Symbol) {
        let tree = self.tree();
        let is_place = match tree.expr(tree.unparen(base)).kind {
            ExprKind::Ident(_) => true,
            ExprKind::Selector { base, .. } => self.import_of(base).is_none(),
            _ => false,
        };
        match is_place && self.needs_place.contains(&name) {
            true => self.address(base, tree.expr(base).span),
            false => self.expr(base),
        }
    }

    /// A call that calls its last argument any number of times, until that gives an error.
    fn walk(&mut self, before: &[ExprId], func: ExprId, want: u8, span: Span) {
        /// A path, what is there, and an error.
        const GIVEN: u8 = 3;
        for &arg in before {
            self.expr(arg);
            self.emit(Op::Pop, span);
        }
        self.expr(func);
        let called = self.temporary();
        self.emit(Op::Store(called), span);
        self.emit(Op::Unknown(TypeId::INT), span);
        let turns = self.temporary();
        // The position, beside the number of turns.
        self.temporary();
        self.emit(Op::RangeStart(turns), span);
        let top = self.here();
        let exit = self.emit(Op::RangeNext { slot: turns, exit: 0 }, span);
        self.emit(Op::Pop, span);
        self.emit(Op::Pop, span);
        self.emit(Op::Load(called), span);
        for _ in 0..GIVEN {
            self.emit(Op::Unknown(TypeId::UNKNOWN), span);
        }
        self.emit(Op::Call { args: GIVEN, spread: false, want: 1 }, span);
        self.emit(Op::IsNil, span);
        self.emit(Op::Branch { when: true, target: top, counter: Slot::NONE }, span);
        self.patch_here(&[exit]);
        self.emit(Op::RangeEnd(turns), span);
        for _ in 0..want {
            self.emit(Op::Unknown(TypeId::ERROR), span);
        }
    }

    /// `go` or `defer` of the call `expr`.
    pub(super) fn later(&mut self, expr: ExprId, go: bool, span: Span) {
        let tree = self.tree();
        let expr = tree.unparen(expr);
        let finish = |args, spread| {
            if go { Op::Go { args, spread } } else { Op::Defer { args, spread } }
        };
        let ExprKind::Call { callee, args, spread } = &tree.expr(expr).kind else {
            // Not a call: it does not compile; nothing is known of it.
            self.expr(expr);
            self.emit(Op::Hole { args: 1, want: 0 }, span);
            return;
        };
        match self.callee(*callee) {
            Callee::Predeclared(name) => {
                let builtin = match name {
                    "close" => Builtin::Close,
                    "panic" => Builtin::Panic,
                    "recover" => Builtin::Recover,
                    _ => Builtin::Other,
                };
                self.emit(Op::Builtin(builtin), span);
            }
            Callee::Type(_) => {
                self.emit(Op::Builtin(Builtin::Other), span);
            }
            Callee::External(path, name) => {
                let external = self.external_id(path, name);
                self.emit(Op::External(external), span);
            }
            Callee::Member(..) | Callee::Value(_) => self.expr(*callee),
        }
        let args = self.arguments(args);
        self.emit(finish(args, *spread), span);
    }

    /// Leaves the arguments on the stack and returns how many they are. A single call with
    /// several results gives them all.
    fn arguments(&mut self, args: &[ExprId]) -> u8 {
        if let [only] = *args {
            let count = self.result_count(only);
            self.multi(only, count);
            return count;
        }
        for &arg in args.iter().take(u8::MAX as usize) {
            self.expr(arg);
        }
        if args.len() > u8::MAX as usize {
            self.frame().abandoned = true;
        }
        args.len().min(u8::MAX as usize) as u8
    }

    /// How many values `expr` has as the only argument or result, as far as that is known.
    pub(super) fn result_count(&mut self, expr: ExprId) -> u8 {
        let tree = self.tree();
        let expr = tree.unparen(expr);
        let ExprKind::Call { callee, .. } = &tree.expr(expr).kind else { return 1 };
        match self.callee(*callee) {
            Callee::Value(value) => match &tree.expr(value).kind {
                ExprKind::FuncLit(literal) => self.literal_count(&literal.signature),
                ExprKind::Ident(name) => {
                    if self.lookup(*name).is_some() {
                        return 1;
                    }
                    match self.package.items.get(name) {
                        Some(&Item::Func(func)) => {
                            self.out.funcs[func.0 as usize].results.len().min(255) as u8
                        }
                        _ => 1,
                    }
                }
                _ => 1,
            },
            Callee::Member(_, name) => {
                self.results_by_name.get(&name).copied().flatten().unwrap_or(1)
            }
            Callee::External(path, name) => match (path.as_str(), name.as_str()) {
                ("context", "WithCancel" | "WithTimeout" | "WithDeadline" | "WithCancelCause") => 2,
                _ => 1,
            },
            Callee::Predeclared(_) | Callee::Type(_) => 1,
        }
    }

    /// A call of a predeclared function; returns how many values it leaves.
    fn predeclared(&mut self, name: &str, args: &[ExprId], spread: bool, span: Span) -> u8 {
        let count = args.len().min(u8::MAX as usize) as u8;
        match (name, args) {
            ("make", [ty, rest @ ..]) => {
                match rest.first() {
                    Some(&len) => self.expr(len),
                    None => {
                        self.emit(Op::Const(Constant::Int(0)), span);
                    }
                }
                let ty = self.type_expr(*ty);
                self.emit(Op::Make(ty), span);
                1
            }
            ("new", [what]) => {
                match self.as_type(*what) {
                    Some(ty) => {
                        self.emit(Op::Zero(ty), span);
                    }
                    None => self.expr(*what),
                }
                self.emit(Op::AddressOfValue, span);
                1
            }
            ("len" | "cap", [value]) => {
                self.expr(*value);
                self.emit(if name == "len" { Op::Len } else { Op::Cap }, span);
                1
            }
            ("append", [slice, ..]) => {
                self.expr(*slice);
                for &value in args[1..].iter().take(u8::MAX as usize) {
                    self.expr(value);
                }
                self.emit(Op::Append { args: count - 1, spread }, span);
                1
            }
            ("copy", [to, from]) => {
                self.expr(*to);
                self.expr(*from);
                self.emit(Op::Copy, span);
                1
            }
            ("delete", [map, key]) => {
                self.expr(*map);
                self.expr(*key);
                self.emit(Op::Delete, span);
                0
            }
            ("clear", [map]) => {
                self.expr(*map);
                self.emit(Op::Clear, span);
                0
            }
            ("close", [channel]) => {
                self.expr(*channel);
                self.emit(Op::Close, span);
                0
            }
            ("panic", [value]) => {
                self.expr(*value);
                self.emit(Op::Panic, span);
                0
            }
            ("recover", []) => {
                self.emit(Op::Recover, span);
                1
            }
            ("min" | "max", [_, ..]) => {
                for &arg in args.iter().take(u8::MAX as usize) {
                    self.expr(arg);
                }
                self.emit(Op::Extremum { args: count, max: name == "max" }, span);
                1
            }
            ("print" | "println", _) => {
                for &arg in args {
                    self.expr(arg);
                    self.emit(Op::Pop, span);
                }
                0
            }
            _ => {
                for &arg in args.iter().take(u8::MAX as usize) {
                    self.expr(arg);
                }
                self.emit(Op::Hole { args: count, want: 1 }, span);
                1
            }
        }
    }
}

/// The predeclared function of this name.
fn predeclared(name: &str) -> Option<&'static str> {
    const NAMES: &[&str] = &[
        "append", "cap", "clear", "close", "complex", "copy", "delete", "imag", "len", "make",
        "max", "min", "new", "panic", "print", "println", "real", "recover",
    ];
    NAMES.iter().find(|&&known| known == name).copied()
}

/// Whether a function of the standard library calls its last argument for each of any number of files
/// (<https://pkg.go.dev/io/fs#WalkDir>, <https://pkg.go.dev/path/filepath#Walk>).
fn walks(path: Symbol, name: Symbol) -> bool {
    matches!(
        (path.as_str(), name.as_str()),
        ("path/filepath", "Walk" | "WalkDir") | ("io/fs", "WalkDir")
    )
}
