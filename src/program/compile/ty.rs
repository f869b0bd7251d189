//! Type expressions to types.

use crate::program::code::NameId;
use crate::program::compile::{Compiler, Entity};
use crate::program::library::{self, LibType};
use crate::program::package::Item;
use crate::program::types::{FieldType, NamedId, Type, TypeId};
use crate::source::Span;
use crate::syntax::{ArrayLen, ExprId, ExprKind, InterfaceElem, Signature, Symbol, TypeSpec};

impl Compiler<'_> {
    /// Defines a type of the package. Type parameters are unknown inside.
    pub(super) fn define_type(&mut self, id: NamedId, parameters: Vec<Symbol>, ty: ExprId) {
        let definition = self.with_unknown(parameters, |compiler| compiler.type_expr(ty));
        self.out.types.define(id, definition);
    }

    /// Declares a type inside a body.
    pub(super) fn local_type(&mut self, spec: &TypeSpec) {
        let id = self.out.types.declare(spec.name.name, spec.alias);
        let ty = self.named_type(id);
        self.bind(spec.name.name, Entity::Type(ty));
        let parameters = spec.type_params.iter().map(|param| param.name.name).collect();
        self.define_type(id, parameters, spec.ty);
    }

    /// Runs `inside` with some names bound to the unknown type.
    fn with_unknown<T>(&mut self, names: Vec<Symbol>, inside: impl FnOnce(&mut Self) -> T) -> T {
        if names.is_empty() {
            return inside(self);
        }
        if self.frames.is_empty() {
            let func = self.new_func(Span::default(), Symbol::new(""));
            self.open(func);
            for name in names {
                self.bind(name, Entity::Type(TypeId::UNKNOWN));
            }
            let result = inside(self);
            // A frame only for its names: nothing was compiled in it.
            self.frames.pop();
            self.out.funcs.pop();
            return result;
        }
        let mut result = None;
        self.scoped(|compiler| {
            for name in names {
                compiler.bind(name, Entity::Type(TypeId::UNKNOWN));
            }
            result = Some(inside(compiler));
        });
        result.expect("the scope was run")
    }

    /// The type that `expr` names; unknown if it is none.
    pub(super) fn type_expr(&mut self, expr: ExprId) -> TypeId {
        self.as_type(expr).unwrap_or(TypeId::UNKNOWN)
    }

    /// The type that `expr` names, if it names one.
    pub(super) fn as_type(&mut self, expr: ExprId) -> Option<TypeId> {
        if self.depth > super::MAX_DEPTH {
            return None;
        }
        self.depth += 1;
        let ty = self.as_type_inner(expr);
        self.depth -= 1;
        ty
    }

    fn as_type_inner(&mut self, expr: ExprId) -> Option<TypeId> {
        let tree = self.tree();
        let ty = match &tree.expr(expr).kind {
            ExprKind::Ident(name) => return self.type_name(*name),
            ExprKind::Paren(inner) => return self.as_type(*inner),
            ExprKind::Index { base, .. } => return self.as_type(*base),
            ExprKind::Star(inner) => Type::Pointer(self.as_type(*inner)?),
            ExprKind::Selector { base, name } => {
                let ExprKind::Ident(package) = tree.expr(*base).kind else { return None };
                if self.lookup(package).is_some() {
                    return None;
                }
                let path = self.package.import(self.file, package)?;
                return self.external_type(path, name.name);
            }
            ExprKind::ArrayType { len: ArrayLen::Slice, element } => {
                Type::Slice(self.type_expr(*element))
            }
            ExprKind::ArrayType { len: ArrayLen::Infer, element } => {
                Type::Array(None, self.type_expr(*element))
            }
            ExprKind::ArrayType { len: ArrayLen::Expr(len), element } => {
                let len = self.integer(*len).and_then(|len| u32::try_from(len).ok());
                Type::Array(len, self.type_expr(*element))
            }
            ExprKind::MapType { key, value } => {
                Type::Map(self.type_expr(*key), self.type_expr(*value))
            }
            ExprKind::ChanType { dir, element } => Type::Chan(*dir, self.type_expr(*element)),
            ExprKind::FuncType(signature) => Type::Func(self.result_types(signature)),
            ExprKind::InterfaceType(elements) => self.interface(elements),
            ExprKind::StructType(fields) => {
                let mut types = Vec::with_capacity(fields.len());
                for field in fields {
                    let ty = self.type_expr(field.ty);
                    let name = match field.name {
                        Some(name) => Some(name.name),
                        None => self.embedded_name(field.ty),
                    };
                    let Some(name) = name else { continue };
                    let name = self.name_id(name);
                    types.push(FieldType { name, ty, embedded: field.name.is_none() });
                }
                Type::Struct(types.into_boxed_slice())
            }
            _ => return None,
        };
        Some(self.out.types.intern(ty))
    }

    fn type_name(&mut self, name: Symbol) -> Option<TypeId> {
        match self.lookup(name) {
            Some(Entity::Type(ty)) => return Some(ty),
            Some(_) => return None,
            None => {}
        }
        match self.package.items.get(&name) {
            Some(&Item::Type(id)) => return Some(self.named_type(id)),
            Some(_) => return None,
            None => {}
        }
        Some(match name.as_str() {
            "bool" => TypeId::BOOL,
            "int" | "int8" | "int16" | "int32" | "int64" | "uint" | "uint8" | "uint16"
            | "uint32" | "uint64" | "uintptr" | "byte" | "rune" => TypeId::INT,
            "string" => TypeId::STRING,
            "error" => TypeId::ERROR,
            "any" => TypeId::ANY,
            "float32" | "float64" | "complex64" | "complex128" => TypeId::FLOAT,
            "comparable" => TypeId::ANY,
            _ => return None,
        })
    }

    /// The type `path.name`, if it is known to be one. In a place where only a type can stand it
    /// is one.
    fn external_type(&mut self, path: Symbol, name: Symbol) -> Option<TypeId> {
        if let Some(lib) = library::lib_type(path.as_str(), name.as_str()) {
            return Some(self.out.types.intern(Type::Lib(lib)));
        }
        if !name.is_exported() {
            return None;
        }
        Some(self.out.types.intern(Type::External(path, name)))
    }

    /// Whether the selector `path.name`, standing where a function may stand, is a type.
    pub(super) fn is_external_type(&self, path: Symbol, name: Symbol) -> bool {
        library::lib_type(path.as_str(), name.as_str()).is_some()
            || self.package.environment.is_type(path, name)
    }

    fn result_types(&mut self, signature: &Signature) -> Box<[TypeId]> {
        signature.results.iter().map(|result| self.type_expr(result.ty)).collect()
    }

    fn interface(&mut self, elements: &[InterfaceElem]) -> Type {
        let mut methods: Vec<NameId> = Vec::new();
        for element in elements {
            match element {
                InterfaceElem::Method { name, .. } => methods.push(self.name_id(name.name)),
                InterfaceElem::Embedded(ty) => {
                    let ty = self.type_expr(*ty);
                    match self.out.types.underlying(ty) {
                        Type::Interface(more) => methods.extend(more.iter().copied()),
                        Type::Error => {
                            let name = self.name_id(Symbol::new("Error"));
                            methods.push(name);
                        }
                        Type::Lib(LibType::Locker) => {
                            for name in ["Lock", "Unlock"] {
                                let name = self.name_id(Symbol::new(name));
                                methods.push(name);
                            }
                        }
                        // Not all of its methods are known: a type that has those may lack others.
                        _ => return Type::Unknown,
                    }
                }
            }
        }
        methods.sort_unstable();
        methods.dedup();
        Type::Interface(methods.into_boxed_slice())
    }

    /// The name of an embedded field: that of its type.
    fn embedded_name(&self, ty: ExprId) -> Option<Symbol> {
        let tree = self.tree();
        let mut ty = ty;
        loop {
            ty = match &tree.expr(ty).kind {
                ExprKind::Ident(name) => return Some(*name),
                ExprKind::Selector { name, .. } => return Some(name.name),
                ExprKind::Star(inner) | ExprKind::Paren(inner) => *inner,
                ExprKind::Index { base, .. } => *base,
                _ => return None,
            };
        }
    }

    /// The name of a receiver's type, and whether it is a pointer.
    pub(super) fn receiver_base(&self, ty: ExprId) -> Option<(Symbol, bool)> {
        let tree = self.tree();
        let mut ty = ty;
        let mut pointer = false;
        loop {
            ty = match &tree.expr(ty).kind {
                ExprKind::Ident(name) => return Some((*name, pointer)),
                ExprKind::Star(inner) => {
                    pointer = true;
                    *inner
                }
                ExprKind::Paren(inner) => *inner,
                ExprKind::Index { base, .. } => *base,
                _ => return None,
            };
        }
    }

    /// Binds the type parameters that a generic receiver declares.
    pub(super) fn bind_receiver_parameters(&mut self, ty: ExprId) {
        let tree = self.tree();
        let mut ty = ty;
        while let ExprKind::Star(inner) | ExprKind::Paren(inner) = tree.expr(ty).kind {
            ty = inner;
        }
        let ExprKind::Index { indices, .. } = &tree.expr(ty).kind else { return };
        for &index in indices {
            if let ExprKind::Ident(name) = tree.expr(index).kind {
                self.bind(name, Entity::Type(TypeId::UNKNOWN));
            }
        }
    }
}
