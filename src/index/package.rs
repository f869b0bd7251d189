//! The declarations of one package, before anything is asked about their types.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use rustc_hash::FxHashMap;

use crate::project::{Importer, PackageId, SourceFile};
use crate::source::{FileId, SourceText, Span};
use crate::syntax::{
    DeclId, DeclKind, Declared, ExprId, ExprKind, File, Ident, Import, LazyFile, OutlineKind,
    Symbol,
};

use super::{
    BodyInfo, Constant, DeclRef, FuncId, ObjectId, PackageSource, QualifiedName, Tree, Type, reads,
};

/// A package in one view: what its files declare together.
#[derive(Debug)]
pub struct Package {
    /// Its number.
    pub id: PackageId,
    /// Its import path.
    pub path: Symbol,
    /// The name of its package clauses.
    pub name: Symbol,
    /// Its files, in the order given. Only those of packages that are checked have their
    /// declarations, and of those only what is not generated: see [`Package::declarations`] and
    /// [`Package::tree`].
    files: Vec<(FileId, Arc<File>)>,
    /// How its imports are looked up.
    pub(super) importer: Importer,
    /// The package with its in-package tests, which an import of the package under test denotes.
    pub(super) under_test: Option<PackageId>,
    /// Whether it is one of the run, of which the literals in variables are functions too.
    of_run: bool,
    /// What is declared at package level, functions included and methods not, in order.
    pub objects: Vec<Object>,
    /// The functions and methods of each file, in order, and behind them the outermost function
    /// literals of its variables.
    pub funcs: Vec<Func>,
    /// The specifications of variables, constants and types, in order.
    pub specs: Vec<Spec>,
    scope: FxHashMap<Symbol, u32>,
    methods: FxHashMap<Symbol, Vec<u32>>,
    scopes: Vec<FileScope>,
    /// The places of files in `scopes` and `files`.
    places: FxHashMap<FileId, u32>,
    /// What stands behind the types that functions declare.
    local_types: RwLock<FxHashMap<DeclRef, Type>>,
    constraints: RwLock<FxHashMap<(DeclRef, u32), Type>>,
    imported: RwLock<FxHashMap<Symbol, Option<PackageId>>>,
    /// See [`Index::reach_in_module`](super::Index::reach_in_module).
    pub(super) reach: OnceLock<Box<[PackageId]>>,
    /// Whether it is done with, so that bodies are no longer kept in it.
    is_forgotten: AtomicBool,
}

/// What is known of a body while its package is looked into; made by whoever asks first.
pub(super) type BodySlot = Mutex<Option<Arc<BodyInfo>>>;

/// Something with a body, by its place in the package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum BodyOf {
    Func(FuncId),
    Spec(PackageId, u32),
}

/// The file block: what the imports of one file declare.
#[derive(Debug)]
pub(super) struct FileScope {
    id: FileId,
    tree: Tree,
    /// The paths of all imports.
    imports: Vec<Symbol>,
    /// Imports with a name of their own.
    renamed: Vec<(Symbol, Symbol)>,
    /// Imports that take the name of the package.
    unnamed: Vec<Symbol>,
    /// For each name that a path suggests, the path.
    plausible: Vec<(Symbol, Symbol)>,
    dotted: Vec<Symbol>,
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
    /// Of a variable, constant or type the place of the specification in [`Package::specs`].
    pub spec: Option<u32>,
    /// Its place among the names of the specification.
    pub place: u32,
    /// Its name there.
    pub span: Span,
    pub(super) ty: OnceLock<Type>,
    pub(super) underlying: OnceLock<Type>,
    pub(super) constant: OnceLock<Option<Constant>>,
}

/// A specification of `var`, `const` or `type` at package level: `var _ I = (*T)(nil)` is one
/// although it declares no object.
#[derive(Debug)]
pub struct Spec {
    /// The file.
    pub file: FileId,
    /// The specification.
    pub decl: DeclId,
    pub(super) body: BodySlot,
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

/// A declared function or method, or an outermost function literal of a package variable, which
/// nothing names.
#[derive(Debug)]
pub struct Func {
    /// Its number.
    pub id: FuncId,
    /// The file that declares it.
    pub file: FileId,
    /// Its declaration, a [`DeclKind::Func`].
    pub decl: DeclId,
    /// Its name; may be `_` or `init`. Of a literal the name of the variable.
    pub name: Symbol,
    /// Whether it is a function literal of a package variable.
    pub is_literal: bool,
    /// Its receiver.
    pub receiver: Option<Receiver>,
    /// Package, type of the receiver and name.
    pub qualified: QualifiedName,
    pub(super) ty: OnceLock<Type>,
    pub(super) body: BodySlot,
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
    pub(super) fn new(id: PackageId, source: PackageSource) -> Package {
        let PackageSource { path, name, files, importer, under_test, of_run } = source;
        let mut package = Package {
            id,
            path,
            name,
            files: Vec::new(),
            importer,
            under_test,
            of_run,
            objects: Vec::new(),
            funcs: Vec::new(),
            specs: Vec::new(),
            scope: FxHashMap::default(),
            methods: FxHashMap::default(),
            scopes: Vec::new(),
            places: FxHashMap::default(),
            local_types: RwLock::default(),
            constraints: RwLock::default(),
            imported: RwLock::default(),
            reach: OnceLock::new(),
            is_forgotten: AtomicBool::new(false),
        };
        for (file, tree) in files {
            match &tree {
                Tree::Whole(whole) => package.declare_file(file.id, whole),
                Tree::Lazy(lazy) => package.declare_lazily(file.id, lazy),
            }
            package.places.insert(file.id, package.files.len() as u32);
            package.files.push((file.id, Arc::clone(tree.head())));
            package.scopes.push(FileScope::new(&file, tree));
        }
        package.join_methods();
        package
    }

    /// Whether bodies are no longer kept in it.
    pub(super) fn is_forgotten(&self) -> bool {
        self.is_forgotten.load(Ordering::Acquire)
    }

    /// Lets go of all bodies.
    pub(super) fn forget(&self) {
        self.is_forgotten.store(true, Ordering::Release);
        let of_funcs = self.funcs.iter().map(|func| &func.body);
        for slot in of_funcs.chain(self.specs.iter().map(|spec| &spec.body)) {
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
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

    /// The tree that holds a declaration of one of its files: of the whole file or, where the
    /// package is only imported or the file generated, of the declaration alone.
    pub fn tree(&self, file: FileId, decl: DeclId) -> &Arc<File> {
        let tree = self.tree_of_spec(file, decl);
        match &tree.decl(decl).kind {
            DeclKind::Func(_) => self.look_into(file, decl),
            _ => reads::file(file),
        }
        tree
    }

    /// As [`Package::tree`], for whoever looks at no more than a specification.
    pub(super) fn tree_of_spec(&self, file: FileId, decl: DeclId) -> &Arc<File> {
        match &self.scope_of(file).tree {
            Tree::Whole(file) => file,
            Tree::Lazy(file) => file.tree(decl),
        }
    }

    /// Whether the text of a declaration of one of its files may hold a name: a question to ask before
    /// [`Package::tree`], since nothing is parsed for it.
    pub fn may_name(&self, file: FileId, decl: DeclId, name: Symbol) -> bool {
        let (text, span) = self.text_around(file, decl);
        text.holds(span, name.as_str())
    }

    /// The text of a declaration of one of its files, perhaps with others of its group; nothing is parsed
    /// for it.
    pub fn text_around(&self, file: FileId, decl: DeclId) -> (&SourceText, Span) {
        self.look_into(file, decl);
        self.placed(file, decl)
    }

    /// Notes that a declared function is looked at.
    pub(super) fn look_into(&self, file: FileId, decl: DeclId) {
        reads::body(file, self.span_of(file, decl).start);
    }

    /// Where a declaration stands in its file, in a lazy one all of its group. Shows nothing of what is
    /// in it.
    pub fn span_of(&self, file: FileId, decl: DeclId) -> Span {
        self.placed(file, decl).1
    }

    fn placed(&self, file: FileId, decl: DeclId) -> (&SourceText, Span) {
        match &self.scope_of(file).tree {
            Tree::Whole(file) => (&file.source, file.decl(decl).span),
            Tree::Lazy(file) => file.text_around(decl),
        }
    }

    /// As [`Package::tree`] where bodies of functions are not asked for. It may be another tree, with
    /// other nodes.
    pub(super) fn tree_without_body(&self, file: FileId, decl: DeclId) -> &Arc<File> {
        match &self.scope_of(file).tree {
            Tree::Whole(file) => file,
            Tree::Lazy(file) => file.tree_without_body(decl),
        }
    }

    /// All that its files declare, each with the tree that holds it: without bodies in dependencies.
    pub fn declarations(&self) -> impl Iterator<Item = (&File, DeclId)> {
        self.scopes.iter().flat_map(move |scope| {
            let ids: Vec<DeclId> = match &scope.tree {
                Tree::Whole(file) => file.top_level.clone(),
                Tree::Lazy(file) => file.declared().map(|declared| declared.id).collect(),
            };
            let tree = move |decl| match self.of_run {
                true => self.tree(scope.id, decl),
                false => self.tree_without_body(scope.id, decl),
            };
            ids.into_iter().map(move |decl| (&**tree(decl), decl))
        })
    }

    /// The file block of one of its files.
    pub(super) fn scope_of(&self, id: FileId) -> &FileScope {
        let place = self.places.get(&id);
        let scope = place.map(|&place| &self.scopes[place as usize]);
        scope.expect("declarations name files of their own package")
    }

    /// Its files, in the order of the snapshot: see [`Package::file`].
    pub fn files(&self) -> &[(FileId, Arc<File>)] {
        self.files.iter().for_each(|&(id, _)| reads::file(id));
        &self.files
    }

    /// Whether a file is one of its own.
    pub fn holds(&self, id: FileId) -> bool {
        self.places.contains_key(&id)
    }

    /// The paths that its files import, those of one file after those of another.
    pub(super) fn imports(&self) -> impl Iterator<Item = Symbol> {
        self.scopes.iter().flat_map(|scope| scope.imports.iter().copied())
    }

    /// One of its files, as far as it is in [`Package::files`].
    pub fn file(&self, id: FileId) -> Option<&Arc<File>> {
        reads::file(id);
        self.places.get(&id).map(|&place| &self.files[place as usize].1)
    }

    /// What stands behind a type that a function declares, once that function was walked over.
    pub(super) fn local_type(&self, decl: DeclRef) -> Type {
        read(&self.local_types).get(&decl).cloned().unwrap_or_default()
    }

    pub(super) fn set_local_type(&self, decl: DeclRef, underlying: Type) {
        write(&self.local_types).entry(decl).or_insert(underlying);
    }

    pub(super) fn constraint(&self, decl: DeclRef, index: u32) -> Option<Type> {
        read(&self.constraints).get(&(decl, index)).cloned()
    }

    pub(super) fn keep_constraint(&self, decl: DeclRef, index: u32, constraint: Type) {
        write(&self.constraints).entry((decl, index)).or_insert(constraint);
    }

    /// The package that an import path denotes, if it was asked for before.
    pub(super) fn imported(&self, path: Symbol) -> Option<Option<PackageId>> {
        read(&self.imported).get(&path).copied()
    }

    pub(super) fn keep_import(&self, path: Symbol, package: Option<PackageId>) {
        write(&self.imported).insert(path, package);
    }

    fn declare_file(&mut self, file_id: FileId, file: &File) {
        for &decl in &file.top_level {
            let (kind, names) = match &file.decl(decl).kind {
                DeclKind::Func(func) => {
                    let receiver = func.receiver.as_ref().map(|param| receiver(file, param.ty));
                    self.declare_func(file_id, decl, func.name, receiver);
                    continue;
                }
                DeclKind::Var(spec) => (ObjectKind::Var, &spec.names[..]),
                DeclKind::Const(spec) => (ObjectKind::Const, &spec.names[..]),
                DeclKind::Type(spec) => (ObjectKind::Type, std::slice::from_ref(&spec.name)),
            };
            self.declare_spec(kind, file_id, decl, names);
        }
        for (decl, func) in file.initial_literals() {
            self.add_func(file_id, decl, func.name.name, None, true);
        }
    }

    fn declare_lazily(&mut self, file: FileId, tree: &LazyFile) {
        for Declared { id: decl, kind, names, receiver, .. } in tree.declared() {
            let kind = match kind {
                OutlineKind::Func => {
                    let receiver =
                        receiver.map(|(name, pointer)| Receiver { name, ty: None, pointer });
                    self.declare_func(file, *decl, names[0], receiver);
                    continue;
                }
                OutlineKind::Var => ObjectKind::Var,
                OutlineKind::Const => ObjectKind::Const,
                OutlineKind::Type => ObjectKind::Type,
                OutlineKind::Package | OutlineKind::Import => continue,
            };
            self.declare_spec(kind, file, *decl, names);
        }
        if !self.of_run {
            return;
        }
        for group in tree.with_literals() {
            for (decl, func) in group.initial_literals() {
                self.add_func(file, decl, func.name.name, None, true);
            }
        }
    }

    fn declare_spec(&mut self, kind: ObjectKind, file: FileId, decl: DeclId, names: &[Ident]) {
        let spec = Some(self.specs.len() as u32);
        self.specs.push(Spec { file, decl, body: BodySlot::default() });
        for (place, name) in names.iter().enumerate() {
            self.declare(kind, file, (decl, spec, place as u32), *name);
        }
    }

    fn declare_func(
        &mut self,
        file: FileId,
        decl: DeclId,
        name: Ident,
        receiver: Option<Receiver>,
    ) {
        let id = self.add_func(file, decl, name.name, receiver, false);
        // `init` cannot be referred to, and there may be many.
        if receiver.is_none() && name.name.as_str() != "init" {
            self.declare(ObjectKind::Func(id), file, (decl, None, 0), name);
        }
    }

    fn add_func(
        &mut self,
        file: FileId,
        decl: DeclId,
        name: Symbol,
        receiver: Option<Receiver>,
        is_literal: bool,
    ) -> FuncId {
        let id = FuncId { package: self.id, index: self.funcs.len() as u32 };
        self.funcs.push(Func {
            id,
            file,
            decl,
            name,
            is_literal,
            receiver,
            qualified: QualifiedName {
                path: self.path,
                receiver: receiver.map(|receiver| receiver.name),
                name,
            },
            ty: OnceLock::new(),
            body: BodySlot::default(),
        });
        id
    }

    fn declare(
        &mut self,
        kind: ObjectKind,
        file: FileId,
        (decl, spec, place): (DeclId, Option<u32>, u32),
        name: Ident,
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
            spec,
            place,
            span: name.span,
            ty: OnceLock::new(),
            underlying: OnceLock::new(),
            constant: OnceLock::new(),
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

impl FileScope {
    /// Imports that do not stand where they must are none: nobody who reads no more than the start of a file
    /// knows of them.
    fn new(file: &SourceFile, tree: Tree) -> FileScope {
        let imports = tree.head().imports.iter();
        let imports: Vec<Import> =
            imports.filter(|import| file.imports.contains(&import.path)).cloned().collect();
        let mut scope = FileScope {
            id: file.id,
            tree,
            imports: imports.iter().map(|import| import.path).collect(),
            renamed: Vec::new(),
            unnamed: Vec::new(),
            plausible: Vec::new(),
            dotted: Vec::new(),
        };
        for import in imports {
            match import.name.map(|name| name.name.as_str()) {
                Some("_") => {}
                Some(".") => scope.dotted.push(import.path),
                Some(name) => scope.renamed.push((Symbol::new(name), import.path)),
                None if matches!(import.path.as_str(), "unsafe" | "C") => {
                    scope.renamed.push((import.path, import.path));
                }
                None => {
                    scope.unnamed.push(import.path);
                    for name in suggested_names(import.path.as_str()) {
                        scope.plausible.push((Symbol::new(name), import.path));
                    }
                }
            }
        }
        scope
    }

    /// The path of the import that is given this name.
    pub(super) fn renamed(&self, name: Symbol) -> Option<Symbol> {
        self.renamed.iter().find(|(other, _)| *other == name).map(|(_, path)| *path)
    }

    /// The paths of imports whose packages may have this name.
    pub(super) fn plausible(&self, name: Symbol) -> impl Iterator<Item = Symbol> {
        self.plausible.iter().filter(move |(other, _)| *other == name).map(|(_, path)| *path)
    }

    /// The paths of imports that take the name of their package.
    pub(super) fn unnamed(&self) -> impl Iterator<Item = Symbol> {
        self.unnamed.iter().copied()
    }

    /// The paths of dot imports.
    pub(super) fn dotted(&self) -> impl Iterator<Item = Symbol> {
        self.dotted.iter().copied()
    }
}

/// The names that a package with this import path may have by convention: its last element,
/// without a version and without what says that it is about Go.
fn suggested_names(path: &str) -> Vec<&str> {
    let mut elements = path.rsplit('/');
    let mut last = elements.next().unwrap_or(path);
    let mut names = vec![last];
    let is_version = |element: &str| {
        element
            .strip_prefix('v')
            .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
    };
    if is_version(last) {
        last = elements.next().unwrap_or(last);
        names.push(last);
    }
    if let Some((stem, version)) = last.rsplit_once('.')
        && is_version(version)
    {
        last = stem;
        names.push(last);
    }
    for affix in ["go-", "go."] {
        names.extend(last.strip_prefix(affix));
    }
    for affix in ["-go", ".go"] {
        names.extend(last.strip_suffix(affix));
    }
    names
}

fn read<T>(lock: &RwLock<T>) -> RwLockReadGuard<'_, T> {
    lock.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn write<T>(lock: &RwLock<T>) -> RwLockWriteGuard<'_, T> {
    lock.write().unwrap_or_else(|poisoned| poisoned.into_inner())
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
