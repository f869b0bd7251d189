//! One walk over a body, an initial value or a type: scopes, names and types together, as they
//! depend on each other in Go.

mod builtin;
mod call;
mod expr;
mod literal;
mod operator;
mod select;
mod stmt;
mod types;

use std::sync::Arc;

use rustc_hash::FxHashMap;

pub(super) use types::external_type;

use crate::source::{FileId, Span};
use crate::syntax::{DeclId, ExprId, File, Ident, Symbol};

use super::body::BodyInfo;
use super::external::external_name;
use super::package::{FileScope, ObjectKind, Package};
use super::universe::{self, Predeclared};
use super::{
    Basic, Builtin, Callee, Constant, DeclRef, Def, Index, Local, LocalId, LocalKind, ObjectId,
    QualifiedName, Type, TypeParam,
};

/// Walks declarations of one file. Knows the block structure around the place where it is.
pub(super) struct Checker<'a> {
    index: &'a Index<'a>,
    package: &'a Package,
    scope: &'a FileScope,
    file_id: FileId,
    file: &'a File,
    /// Whether the answers are kept; if not, bodies of function literals are not entered.
    recording: bool,
    out: BodyInfo,
    /// The innermost declaration of each name.
    visible: FxHashMap<Symbol, LocalId>,
    /// Undoes declarations: the name and what it denoted before.
    shadowed: Vec<(Symbol, Option<LocalId>)>,
    /// Where the innermost scope starts in `shadowed`.
    scope_start: usize,
    /// The function literal around the current place.
    owner: Option<ExprId>,
    /// The value of `iota` in a constant declaration.
    iota: Option<u32>,
    constants: FxHashMap<LocalId, Constant>,
    /// Expressions whose operand is being computed; shared by all levels.
    spine: Vec<ExprId>,
}

/// What an expression is in its place.
#[derive(Clone, Debug, Default)]
struct Operand {
    mode: Mode,
    /// Type of the value, or the type denoted; of what is external, its type if it is a function
    /// that the catalog knows.
    ty: Type,
    constant: Option<Constant>,
}

#[derive(Clone, Debug, Default)]
enum Mode {
    #[default]
    Value,
    Type,
    /// A generic alias that waits for its type arguments.
    GenericAlias(DeclRef),
    /// A generic function with the first of its type arguments.
    Partial(Box<[Type]>),
    Builtin(Builtin),
    Package(Symbol),
    /// A declaration of a package that is not available: it may be a type or a value.
    External(QualifiedName),
}

/// What an identifier denotes where it stands.
enum Name {
    Local(LocalId),
    Object(ObjectId),
    Package(Symbol),
    Predeclared(&'static Predeclared),
    External(QualifiedName),
    Unknown,
}

/// The innermost scope before another was opened.
struct ScopeMark(usize);

impl Operand {
    fn value(ty: Type) -> Operand {
        Operand { mode: Mode::Value, ty, constant: None }
    }

    fn constant(ty: Type, constant: Option<Constant>) -> Operand {
        Operand { mode: Mode::Value, ty, constant }
    }

    fn ty(ty: Type) -> Operand {
        Operand { mode: Mode::Type, ty, constant: None }
    }

    fn is_value(&self) -> bool {
        matches!(self.mode, Mode::Value)
    }
}

impl<'a> Checker<'a> {
    /// A walk over a declaration in `tree` that starts in the package block, seen from `file`.
    pub(super) fn new(
        index: &'a Index<'a>,
        package: &'a Package,
        file: FileId,
        tree: &'a File,
    ) -> Checker<'a> {
        let scope = package.scope_of(file);
        Checker {
            index,
            package,
            scope,
            file_id: file,
            file: tree,
            recording: false,
            out: BodyInfo::default(),
            visible: FxHashMap::default(),
            shadowed: Vec::new(),
            scope_start: 0,
            owner: None,
            iota: None,
            constants: FxHashMap::default(),
            spine: Vec::new(),
        }
    }

    /// Keeps what is learnt from now on.
    pub(super) fn record(mut self) -> Checker<'a> {
        self.recording = true;
        self
    }

    /// What was learnt.
    pub(super) fn finish(mut self) -> BodyInfo {
        self.out.shrink();
        self.out
    }

    fn open(&mut self) -> ScopeMark {
        ScopeMark(std::mem::replace(&mut self.scope_start, self.shadowed.len()))
    }

    fn close(&mut self, mark: ScopeMark) {
        for (name, before) in self.shadowed.drain(self.scope_start..).rev() {
            match before {
                Some(local) => self.visible.insert(name, local),
                None => self.visible.remove(&name),
            };
        }
        self.scope_start = mark.0;
    }

    /// Declares a name in the innermost scope. The blank identifier and missing names get a number,
    /// so that parameters keep theirs, but cannot be found.
    fn declare(&mut self, name: Ident, kind: LocalKind, ty: Type) -> LocalId {
        let local = Local {
            name: name.name,
            span: name.span,
            ty,
            kind,
            owner: self.owner,
            captured: false,
        };
        let id = self.out.add_local(local);
        if !name.name.is_blank() {
            let before = self.visible.insert(name.name, id);
            self.shadowed.push((name.name, before));
        }
        id
    }

    /// What the innermost scope itself declares under `name`.
    fn declared_here(&self, name: Symbol) -> Option<LocalId> {
        let here = &self.shadowed[self.scope_start..];
        here.iter().any(|(other, _)| *other == name).then(|| self.visible[&name])
    }

    fn find(&mut self, name: Symbol) -> Name {
        if let Some(&local) = self.visible.get(&name) {
            self.capture(local);
            return Name::Local(local);
        }
        if let Some(object) = self.package.lookup(name) {
            return Name::Object(object.id);
        }
        self.find_in_file(name)
    }

    /// Notes that a function literal uses a variable of the function around it.
    fn capture(&mut self, local: LocalId) {
        let owner = self.owner;
        let local = self.out.local_mut(local);
        if local.owner != owner && local.kind.is_variable() {
            local.captured = true;
        }
    }

    /// The file block: names of imports, what dot imports bring; then the universe.
    fn find_in_file(&self, name: Symbol) -> Name {
        if let Some(path) = self.scope.renamed(name) {
            return Name::Package(path);
        }
        let mut missing = None;
        let mut several = false;
        for path in self.scope.plausible(name) {
            match self.index.import(self.package.id, path) {
                Some(id) if self.index.package(id).name == name => return Name::Package(path),
                Some(_) => {}
                None => several |= missing.replace(path).is_some(),
            }
        }
        let dotted = self.find_dotted(name);
        if let Some(dotted) = dotted {
            return dotted;
        }
        if let Some(predeclared) = universe::lookup(name) {
            return Name::Predeclared(predeclared);
        }
        for path in self.scope.unnamed() {
            if let Some(id) = self.index.import(self.package.id, path)
                && self.index.package(id).name == name
            {
                return Name::Package(path);
            }
        }
        match missing {
            Some(path) if !several => Name::Package(path),
            _ => Name::Unknown,
        }
    }

    fn find_dotted(&self, name: Symbol) -> Option<Name> {
        if !name.is_exported() {
            return None;
        }
        let mut missing = None;
        let mut several = false;
        for path in self.scope.dotted() {
            match self.index.import(self.package.id, path) {
                Some(id) => {
                    if let Some(object) = self.index.package(id).lookup(name) {
                        return Some(Name::Object(object.id));
                    }
                }
                None => several |= missing.replace(path).is_some(),
            }
        }
        match missing {
            Some(path) if !several => Some(Name::External(external_name(path, name))),
            Some(_) => Some(Name::Unknown),
            None => None,
        }
    }

    /// An identifier as an operand.
    fn ident(&mut self, expr: ExprId, name: Symbol) -> Operand {
        if name.is_blank() {
            self.set_def(expr, Def::Blank);
            return Operand::default();
        }
        match self.find(name) {
            Name::Local(id) => {
                self.set_def(expr, Def::Local(id));
                self.local_operand(id)
            }
            Name::Object(id) => {
                self.set_def(expr, Def::Global(id));
                self.object_operand(id)
            }
            Name::Package(path) => {
                self.set_def(expr, Def::Package(path));
                Operand { mode: Mode::Package(path), ..Operand::default() }
            }
            Name::Predeclared(predeclared) => self.predeclared_operand(expr, name, predeclared),
            Name::External(name) => {
                self.set_def(expr, Def::External(name));
                self.external_operand(name)
            }
            Name::Unknown => Operand::default(),
        }
    }

    fn local_operand(&self, id: LocalId) -> Operand {
        let local = self.out.local(id);
        match local.kind {
            LocalKind::Type | LocalKind::TypeParam => Operand::ty(local.ty.clone()),
            LocalKind::Const => {
                Operand::constant(local.ty.clone(), self.constants.get(&id).cloned())
            }
            _ => Operand::value(local.ty.clone()),
        }
    }

    fn object_operand(&self, id: ObjectId) -> Operand {
        let object = self.index.object(id);
        let ty = self.index.object_type(id);
        match object.kind {
            ObjectKind::Var | ObjectKind::Func(_) => Operand::value(ty),
            ObjectKind::Const => Operand::constant(ty, self.index.object_constant(id)),
            ObjectKind::Type => {
                let spec = self.index.type_spec(id);
                if spec.alias && !spec.type_params.is_empty() {
                    let mode = Mode::GenericAlias(self.index.decl_of(id));
                    return Operand { mode, ty, constant: None };
                }
                Operand::ty(ty)
            }
        }
    }

    fn predeclared_operand(
        &mut self,
        expr: ExprId,
        name: Symbol,
        predeclared: &Predeclared,
    ) -> Operand {
        match predeclared {
            Predeclared::Type(ty) => {
                self.set_def(expr, Def::PredeclaredType(ty.clone()));
                Operand::ty(ty.clone())
            }
            Predeclared::Builtin(builtin) => {
                self.set_def(expr, Def::Builtin(*builtin));
                Operand { mode: Mode::Builtin(*builtin), ..Operand::default() }
            }
            Predeclared::True | Predeclared::False => {
                self.set_def(expr, Def::PredeclaredConst(name));
                let value = matches!(predeclared, Predeclared::True);
                Operand::constant(Type::Basic(Basic::UntypedBool), Some(Constant::Bool(value)))
            }
            Predeclared::Iota => {
                self.set_def(expr, Def::PredeclaredConst(name));
                let value = self.iota.map(|iota| Constant::Int(iota.into()));
                Operand::constant(Type::Basic(Basic::UntypedInt), value)
            }
            Predeclared::Nil => {
                self.set_def(expr, Def::Nil);
                Operand::value(Type::Basic(Basic::UntypedNil))
            }
        }
    }

    fn external_operand(&self, name: QualifiedName) -> Operand {
        let ty = self.index.external_func(self.package.id, name);
        Operand { mode: Mode::External(name), ty, ..Operand::default() }
    }

    fn here(&self, decl: DeclId) -> DeclRef {
        DeclRef { package: self.package.id, file: self.file_id, decl }
    }

    fn set_def(&mut self, expr: ExprId, def: Def) {
        if self.recording {
            self.out.set_name(expr, def);
        }
    }

    fn set_type(&mut self, expr: ExprId, ty: &Type) {
        if self.recording && !ty.is_unknown() {
            self.out.set_type(expr, ty.clone());
        }
    }

    fn set_callee(&mut self, call: ExprId, callee: Callee) {
        if self.recording {
            self.out.set_call(call, callee);
        }
    }

    fn keep(&mut self, expr: ExprId, operand: &Operand) {
        if !self.recording {
            return;
        }
        self.set_type(expr, &operand.ty);
        if let Some(constant) = &operand.constant {
            self.out.set_constant(expr, constant.clone());
        }
    }
}

/// Declares what stands around a declaration.
impl Checker<'_> {
    /// Declares the parameters of a generic declaration. Their constraints are asked for later.
    pub(super) fn declare_type_params(
        &mut self,
        owner: DeclRef,
        names: impl Iterator<Item = Ident>,
    ) {
        for (place, name) in names.enumerate() {
            let param =
                Type::Param(Arc::new(TypeParam { owner, index: place as u32, name: name.name }));
            self.declare(name, LocalKind::TypeParam, param);
        }
    }

    /// Marks the clause of a type switch as declaring `local`.
    fn set_clause(&mut self, clause: Span, local: LocalId) {
        if self.recording {
            self.out.set_clause(clause, local);
        }
    }
}
