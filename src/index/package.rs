//! The declarations of one package, before anything is asked about their types.

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::source::{FileId, Span};
use crate::syntax::{DeclId, DeclKind, ExprId, ExprKind, File, FuncDecl, Symbol};

use super::{FuncId, ObjectId, PackageId, QualifiedName, Type};

/// A package in one view: what its files declare together.
#[derive(Debug)]
pub struct Package {
    /// Its number.
    pub id: PackageId,
    /// Its import path.
    pub path: Symbol,
    /// The name of its package clauses.
    pub name: Symbol,
    /// Its files, in the order given.
    pub files: Vec<(FileId, Arc<File>)>,
    /// What is declared at package level, functions included and methods not, in order.
    pub objects: Vec<Object>,
    /// The declared functions and methods, in order.
    pub funcs: Vec<Func>,
    scope: FxHashMap<Symbol, u32>,
    methods: FxHashMap<Symbol, Vec<u32>>,
}

/// A variable, constant, type or function of package level.
#[derive(Debug)]
pub struct Object {
    /// Its number.
    pub id: ObjectId,
    /// Its name; never `_`.
    pub name: Symbol,
    /// What it is.
    pub kind: ObjectKind,
    /// The file that declares it.
    pub file: FileId,
    /// Its specification.
    pub decl: DeclId,
    /// Its place among the names of the specification.
    pub place: u32,
    /// Its name there.
    pub span: Span,
    pub(super) ty: OnceLock<Type>,
}

/// What an [`Object`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ObjectKind {
    /// A variable.
    Var,
    /// A constant.
    Const,
    /// A defined type or an alias.
    Type,
    /// A function.
    Func(FuncId),
}

/// A declared function or method.
#[derive(Debug)]
pub struct Func {
    /// Its number.
    pub id: FuncId,
    /// The file that declares it.
    pub file: FileId,
    /// Its declaration, a [`DeclKind::Func`].
    pub decl: DeclId,
    /// Its name; may be `_` or `init`.
    pub name: Symbol,
    /// Its receiver.
    pub receiver: Option<Receiver>,
    /// Package, type of the receiver and name.
    pub qualified: QualifiedName,
    pub(super) ty: OnceLock<Type>,
}

/// The receiver of a declared method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receiver {
    /// Name of the type.
    pub name: Symbol,
    /// The type; `None` when the package does not declare it.
    pub ty: Option<ObjectId>,
    /// Whether the method belongs to the pointer.
    pub pointer: bool,
}

impl Package {
    /// Reads the declarations of the files.
    pub(super) fn new(
        id: PackageId,
        path: Symbol,
        name: Symbol,
        files: Vec<(FileId, Arc<File>)>,
    ) -> Package {
        let mut package = Package {
            id,
            path,
            name,
            files: Vec::new(),
            objects: Vec::new(),
            funcs: Vec::new(),
            scope: FxHashMap::default(),
            methods: FxHashMap::default(),
        };
        for (file_id, file) in &files {
            package.declare_file(*file_id, file);
        }
        package.files = files;
        package.join_methods();
        package
    }

    /// What `name` is declared as at package level.
    pub fn lookup(&self, name: Symbol) -> Option<&Object> {
        self.scope.get(&name).map(|&index| &self.objects[index as usize])
    }

    /// The methods declared with receiver `type_name` or a pointer to it, in order of source.
    pub fn methods(&self, type_name: Symbol) -> impl Iterator<Item = &Func> {
        let methods = self.methods.get(&type_name).map_or(&[][..], Vec::as_slice);
        methods.iter().map(|&index| &self.funcs[index as usize])
    }

    /// The tree of one of its files.
    pub fn file(&self, id: FileId) -> Option<&Arc<File>> {
        self.files.iter().find(|(file, _)| *file == id).map(|(_, file)| file)
    }

    fn declare_file(&mut self, file_id: FileId, file: &File) {
        for &decl in &file.top_level {
            let names = match &file.decl(decl).kind {
                DeclKind::Func(func) => {
                    self.declare_func(file_id, file, decl, func);
                    continue;
                }
                DeclKind::Var(spec) => (ObjectKind::Var, &spec.names[..]),
                DeclKind::Const(spec) => (ObjectKind::Const, &spec.names[..]),
                DeclKind::Type(spec) => (ObjectKind::Type, std::slice::from_ref(&spec.name)),
            };
            for (place, name) in names.1.iter().enumerate() {
                self.declare(names.0, file_id, decl, place as u32, *name);
            }
        }
    }

    fn declare_func(&mut self, file_id: FileId, file: &File, decl: DeclId, func: &FuncDecl) {
        let id = FuncId { package: self.id, index: self.funcs.len() as u32 };
        let receiver = func.receiver.as_ref().map(|param| receiver(file, param.ty));
        self.funcs.push(Func {
            id,
            file: file_id,
            decl,
            name: func.name.name,
            receiver,
            qualified: QualifiedName {
                path: self.path,
                receiver: receiver.map(|receiver| receiver.name),
                name: func.name.name,
            },
            ty: OnceLock::new(),
        });
        // `init` cannot be referred to, and there may be many.
        if receiver.is_none() && func.name.name.as_str() != "init" {
            self.declare(ObjectKind::Func(id), file_id, decl, 0, func.name);
        }
    }

    fn declare(
        &mut self,
        kind: ObjectKind,
        file: FileId,
        decl: DeclId,
        place: u32,
        name: crate::syntax::Ident,
    ) {
        if name.name.is_blank() {
            return;
        }
        let index = self.objects.len() as u32;
        self.objects.push(Object {
            id: ObjectId { package: self.id, index },
            name: name.name,
            kind,
            file,
            decl,
            place,
            span: name.span,
            ty: OnceLock::new(),
        });
        // Of two declarations, which is no valid Go, the first counts.
        self.scope.entry(name.name).or_insert(index);
    }

    fn join_methods(&mut self) {
        for func in &mut self.funcs {
            let Some(receiver) = &mut func.receiver else { continue };
            self.methods.entry(receiver.name).or_default().push(func.id.index);
            let object = self.scope.get(&receiver.name).map(|&at| &self.objects[at as usize]);
            receiver.ty =
                object.filter(|object| object.kind == ObjectKind::Type).map(|object| object.id);
        }
    }
}

/// Name and indirection of a receiver type `T`, `*T`, `T[P]` or `*T[P]`.
fn receiver(file: &File, ty: ExprId) -> Receiver {
    let mut pointer = false;
    let mut at = ty;
    loop {
        match &file.expr(at).kind {
            ExprKind::Paren(inner) => at = *inner,
            ExprKind::Star(inner) => {
                pointer = true;
                at = *inner;
            }
            ExprKind::Index { base, .. } => at = *base,
            ExprKind::Ident(name) => return Receiver { name: *name, ty: None, pointer },
            _ => return Receiver { name: Symbol::new(""), ty: None, pointer },
        }
    }
}
