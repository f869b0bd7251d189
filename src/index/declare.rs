//! Types and values of what packages declare, each computed when it is first asked for and kept.

use std::sync::{Arc, OnceLock, PoisonError};

use crate::project::PackageId;
use crate::source::Location;
use crate::syntax::{Body, ConstSpec, DeclId, DeclKind, ExprId, File, FuncDecl, TypeSpec};

use super::check::Checker;
use super::package::{BodyOf, BodySlot, Object, ObjectKind, Package};
use super::query::{self, Outcome, Question};
use super::subst::Substitution;
use super::{
    BodyInfo, Constant, DeclRef, Def, FuncId, Index, LocalKind, Named, ObjectId, Signature, Type,
    TypeDecl, TypeParam, universe,
};

impl Index<'_> {
    /// The type of a declaration of package level; for a type, the type itself, without arguments
    /// if it is generic.
    pub fn object_type(&self, id: ObjectId) -> Type {
        let object = self.object(id);
        match object.kind {
            ObjectKind::Func(func) => self.func_type(func),
            _ => kept(&object.ty, Question::Object(id), || self.compute_type(object)),
        }
    }

    /// The value of a constant of package level.
    pub fn object_constant(&self, id: ObjectId) -> Option<Constant> {
        let object = self.object(id);
        if object.kind != ObjectKind::Const {
            return None;
        }
        kept(&object.constant, Question::Value(id), || {
            let spec = self.const_spec(object)?;
            self.checker(self.decl_of(object.id)).declared_constant(spec, object.place as usize).1
        })
    }

    /// The signature of a declared function or method, without its receiver.
    pub fn func_type(&self, id: FuncId) -> Type {
        kept(&self.func(id).ty, Question::Func(id), || {
            let func = self.func(id);
            let package = self.package(id.package);
            let tree = package.tree_without_body(func.file, func.decl);
            let mut checker = Checker::new(self, package, func.file, tree);
            let (_, signature) = self.open_func(&mut checker, id, of_func(tree, func.decl));
            Type::Func(signature)
        })
    }

    /// The names and types of a function's signature and body, of a dependency's too.
    pub fn body(&self, id: FuncId) -> Arc<BodyInfo> {
        self.look_into(id);
        let package = self.package(id.package);
        let slot = &package.funcs[id.index as usize].body;
        self.kept_body(package, slot, BodyOf::Func(id), || {
            let mut checker = self.checker(self.func_ref(id)).record();
            let decl = self.func_decl(id);
            let (receiver, signature) = self.open_func(&mut checker, id, decl);
            if let (Some(param), Some(ty)) = (&decl.receiver, receiver) {
                let name = param.name.unwrap_or_else(|| checker.nameless(param));
                checker.declare_variable(name, LocalKind::Receiver, ty);
            }
            checker.declare_params(&decl.signature, &signature);
            if let Body::Parsed(block) = self.file_of(id).body(decl) {
                checker.body_block(block);
            }
            checker.finish()
        })
    }

    /// The names and types of the specification that declares `id`, with its initial values; of a
    /// function those of its body.
    pub fn init_body(&self, id: ObjectId) -> Arc<BodyInfo> {
        let object = self.object(id);
        match (object.kind, object.spec) {
            (ObjectKind::Func(func), _) => self.body(func),
            (_, Some(spec)) => self.spec_body(id.package, spec),
            (_, None) => unreachable!("what is no function has a specification"),
        }
    }

    /// The names and types of one of a package's specifications, a place in its `specs`.
    pub fn spec_body(&self, package: PackageId, place: u32) -> Arc<BodyInfo> {
        let of_package = self.package(package);
        let spec = &of_package.specs[place as usize];
        self.kept_body(of_package, &spec.body, BodyOf::Spec(package, place), || {
            let owner = DeclRef { package, file: spec.file, decl: spec.decl };
            let mut checker = self.checker(owner).record();
            match &self.tree(owner).decl(spec.decl).kind {
                DeclKind::Var(spec) => {
                    checker.var_types(spec);
                }
                DeclKind::Const(spec) => {
                    for place in 0..spec.names.len() {
                        checker.declared_constant(spec, place);
                    }
                }
                DeclKind::Type(declared) => {
                    self.open_type(&mut checker, owner, declared);
                    checker.ty(declared.ty);
                }
                DeclKind::Func(_) => {}
            }
            checker.finish()
        })
    }

    /// A body that is known, or made now. As long as its package is not done with, others that ask for it
    /// wait for whoever makes it.
    fn kept_body(
        &self,
        package: &Package,
        slot: &BodySlot,
        body: BodyOf,
        make: impl FnOnce() -> BodyInfo,
    ) -> Arc<BodyInfo> {
        if package.is_forgotten() {
            let again = || self.again.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(known) = again().get(body) {
                return known;
            }
            let made = Arc::new(make());
            return again().insert(body, made);
        }
        let mut slot = slot.lock().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(slot.get_or_insert_with(|| Arc::new(make())))
    }

    /// Lets go of what is known of the bodies of a package of the run: it is worked out again for
    /// whoever asks again.
    pub fn forget(&self, package: PackageId) {
        if let Some(package) = self.packages.get(package.0 as usize).and_then(OnceLock::get) {
            package.forget();
        }
    }

    /// What stands behind a defined type, with its type arguments put in; of a type parameter its
    /// constraint interface; any other type is its own underlying type. Never [`Type::Named`].
    pub fn underlying(&self, ty: &Type) -> Type {
        match ty {
            Type::Named(named) => self.underlying_named(named),
            Type::Param(param) => match self.constraint(param) {
                Type::Named(named) => self.underlying_named(&named),
                other => other,
            },
            other => other.clone(),
        }
    }

    /// Whether a type is that of channels that carry nothing (`chan struct{}` and the like), so that
    /// they can only tell that something happened, or is over.
    pub fn is_signal(&self, ty: &Type) -> bool {
        let Type::Chan(_, element) = self.underlying(ty) else { return false };
        matches!(self.underlying(&element), Type::Struct(fields) if fields.fields.is_empty())
    }

    /// The function or method of the module that an expression of a body names, called or not.
    pub fn func_named(&self, body: &BodyInfo, expr: ExprId) -> Option<FuncId> {
        match body.resolve(expr) {
            Def::Method(method, _) => Some(*method),
            Def::Global(object) => match self.object(*object).kind {
                ObjectKind::Func(func) => Some(func),
                _ => None,
            },
            _ => None,
        }
    }

    /// The constraint of a type parameter, an interface.
    pub fn constraint(&self, param: &TypeParam) -> Type {
        let owner = param.owner;
        let package = self.package(owner.package);
        if let Some(kept) = package.constraint(owner, param.index) {
            return kept;
        }
        let question = Question::Constraint(owner.file, owner.decl, param.index);
        let Some((constraint, outcome)) = query::ask(question, || {
            let mut checker = self.checker(owner);
            let file = self.tree(owner);
            let params = match &file.decl(owner.decl).kind {
                DeclKind::Func(decl) => &decl.type_params,
                DeclKind::Type(spec) => &spec.type_params,
                _ => return Type::Unknown,
            };
            checker.declare_type_params(owner, params.iter().map(|param| param.name));
            match params.get(param.index as usize) {
                Some(param) => checker.constraint(param.constraint),
                None => Type::Unknown,
            }
        }) else {
            return Type::Unknown;
        };
        match outcome {
            Outcome::Sound => package.keep_constraint(owner, param.index, constraint.clone()),
            Outcome::Cyclic => package.keep_constraint(owner, param.index, Type::Unknown),
            Outcome::Cut => {}
        }
        constraint
    }

    /// The declaration of a function.
    pub fn func_decl(&self, id: FuncId) -> &FuncDecl {
        of_func(self.file_of(id), self.func(id).decl)
    }

    /// Where the name of a declared function stands.
    pub fn name_of(&self, id: FuncId) -> Location {
        let func = self.func(id);
        let tree = self.package(id.package).tree_without_body(func.file, func.decl);
        Location { file: func.file, span: of_func(tree, func.decl).name.span }
    }

    /// The specification of an object.
    pub(super) fn decl_of(&self, id: ObjectId) -> DeclRef {
        let object = self.object(id);
        DeclRef { package: id.package, file: object.file, decl: object.decl }
    }

    /// The specification of an object of kind [`ObjectKind::Type`].
    pub(super) fn type_spec(&self, id: ObjectId) -> &TypeSpec {
        let object = self.object(id);
        match &self.tree(self.decl_of(id)).decl(object.decl).kind {
            DeclKind::Type(spec) => spec,
            _ => unreachable!("the kind of an object is that of its specification"),
        }
    }

    /// Where a defined type is declared, if its package is available.
    pub(super) fn decl_ref(&self, named: &Named) -> Option<DeclRef> {
        match named.decl {
            TypeDecl::Global(id) => Some(self.decl_of(id)),
            TypeDecl::Local(here) => Some(here),
            TypeDecl::Universe | TypeDecl::External => None,
        }
    }

    fn underlying_named(&self, named: &Named) -> Type {
        match named.decl {
            TypeDecl::Universe if named.name.as_str() == "error" => universe::error_interface(),
            TypeDecl::Universe => universe::any(),
            TypeDecl::External => Type::Unknown,
            TypeDecl::Local(here) => self.package(here.package).local_type(here),
            TypeDecl::Global(id) if named.args.is_empty() => self.underlying_declared(id),
            TypeDecl::Global(id) => {
                if let Some(expanded) = named.expanded.get() {
                    return expanded.clone();
                }
                let generic = self.underlying_declared(id);
                let substitution = Substitution::new(self.decl_of(id), &named.args);
                let (expanded, sound) = query::uncut(|| substitution.apply(&generic));
                if sound && !generic.is_unknown() {
                    // Another thread may have been first, with the same answer.
                    let _ = named.expanded.set(expanded.clone());
                }
                expanded
            }
        }
    }

    /// What stands behind a declared type, in terms of its own parameters.
    fn underlying_declared(&self, id: ObjectId) -> Type {
        kept(&self.object(id).underlying, Question::Underlying(id), || {
            let spec = self.type_spec(id);
            let mut checker = self.checker(self.decl_of(id));
            self.open_type(&mut checker, self.decl_of(id), spec);
            let ty = checker.ty(spec.ty);
            self.underlying(&ty)
        })
    }

    fn compute_type(&self, object: &Object) -> Type {
        let id = object.id;
        let mut checker = self.checker(self.decl_of(id));
        match &self.tree(self.decl_of(id)).decl(object.decl).kind {
            DeclKind::Var(spec) => {
                let mut types = checker.var_types(spec);
                types.swap_remove(object.place as usize)
            }
            DeclKind::Const(spec) => checker.declared_constant(spec, object.place as usize).0,
            DeclKind::Type(spec) if spec.alias => {
                self.open_type(&mut checker, self.decl_of(id), spec);
                checker.ty(spec.ty)
            }
            DeclKind::Type(_) => Type::Named(Arc::new(Named {
                path: self.package(id.package).path,
                name: object.name,
                decl: TypeDecl::Global(id),
                args: Box::new([]),
                expanded: OnceLock::new(),
            })),
            DeclKind::Func(_) => Type::Unknown,
        }
    }

    fn const_spec(&self, object: &Object) -> Option<&ConstSpec> {
        match &self.tree(self.decl_of(object.id)).decl(object.decl).kind {
            DeclKind::Const(spec) => Some(spec),
            _ => None,
        }
    }

    /// Declares the type parameters of a type.
    fn open_type(&self, checker: &mut Checker<'_>, owner: DeclRef, spec: &TypeSpec) {
        checker.declare_type_params(owner, spec.type_params.iter().map(|param| param.name));
        checker.note_constraints(spec.type_params.iter().map(|param| param.constraint));
    }

    /// Declares the type parameters of a function or of its receiver, and gives the types of the
    /// receiver and of the signature.
    fn open_func(
        &self,
        checker: &mut Checker<'_>,
        id: FuncId,
        decl: &FuncDecl,
    ) -> (Option<Type>, Arc<Signature>) {
        let func = self.func(id);
        let here = self.func_ref(id);
        let receiver = decl.receiver.as_ref().map(|param| {
            let owner = func.receiver.and_then(|receiver| receiver.ty);
            checker.receiver(param, owner.map(|owner| self.decl_of(owner)))
        });
        checker.declare_type_params(here, decl.type_params.iter().map(|param| param.name));
        checker.note_constraints(decl.type_params.iter().map(|param| param.constraint));
        let mut signature = checker.signature(&decl.signature);
        let params = decl.type_params.iter().enumerate().map(|(place, param)| {
            Arc::new(TypeParam { owner: here, index: place as u32, name: param.name.name })
        });
        signature.type_params = params.collect();
        (receiver, Arc::new(signature))
    }

    fn func_ref(&self, id: FuncId) -> DeclRef {
        let func = self.func(id);
        DeclRef { package: id.package, file: func.file, decl: func.decl }
    }

    fn checker(&self, owner: DeclRef) -> Checker<'_> {
        Checker::new(self, self.package(owner.package), owner.file, self.tree(owner))
    }

    fn tree(&self, owner: DeclRef) -> &File {
        self.package(owner.package).tree_of_spec(owner.file, owner.decl)
    }
}

/// The function that is declared as `decl`.
fn of_func(tree: &File, decl: DeclId) -> &FuncDecl {
    match &tree.decl(decl).kind {
        DeclKind::Func(func) => func,
        _ => unreachable!("functions are made from declarations of functions"),
    }
}

/// The kept answer, or a new one, kept if it is sound.
fn kept<T: Clone + Default>(
    slot: &OnceLock<T>,
    question: Question,
    answer: impl FnOnce() -> T,
) -> T {
    if let Some(kept) = slot.get() {
        return kept.clone();
    }
    let Some((answer, outcome)) = query::ask(question, answer) else { return T::default() };
    match outcome {
        // Another thread may have been first, with the same answer.
        Outcome::Sound => slot.get_or_init(|| answer).clone(),
        Outcome::Cyclic => slot.get_or_init(T::default).clone(),
        Outcome::Cut => answer,
    }
}
