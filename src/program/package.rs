//! The declarations of one package, as the compiler meets them: which name is a function, a type,
//! a constant or a variable, and what a file's imports are called.
//!
//! The only part of `program` that asks others about names.

use rustc_hash::FxHashMap;

use crate::program::code::{Constant, FuncId, GlobalId};
use crate::program::types::NamedId;
use crate::source::FileId;
use crate::syntax::{self, DeclId, DeclKind, ExprKind, Symbol};

/// One file of the package.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its number in the run.
    pub id: FileId,
    /// Its tree.
    pub file: &'a syntax::File,
}

/// What is known outside the package's own sources.
pub trait Environment {
    /// The name that the package `path` declares in its package clause.
    fn package_name(&self, path: Symbol) -> Symbol {
        Symbol::new(conventional_name(path.as_str()))
    }

    /// Whether `path.name` is a type.
    fn is_type(&self, _path: Symbol, _name: Symbol) -> bool {
        false
    }

    /// Whether each iteration of a loop has its own variables (Go 1.22 and later).
    fn loop_variables_per_iteration(&self) -> bool {
        true
    }
}

/// The environment in which nothing is known.
pub struct NothingKnown;

impl Environment for NothingKnown {}

/// What a name of the package stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Item {
    Func(FuncId),
    Type(NamedId),
    Global(GlobalId),
    /// A constant: its file, its specification and its place in it.
    Const(u32, DeclId, u32),
}

/// The names of the package, and of each file's imports.
pub(super) struct Package<'a> {
    pub files: &'a [Source<'a>],
    pub environment: &'a dyn Environment,
    pub items: FxHashMap<Symbol, Item>,
    imports: Vec<FxHashMap<Symbol, Symbol>>,
    pub constants: FxHashMap<Symbol, Option<Constant>>,
    /// The constants that are declared of a type of the package.
    pub of_types: FxHashMap<Symbol, Vec<Symbol>>,
}

impl<'a> Package<'a> {
    pub fn new(files: &'a [Source<'a>], environment: &'a dyn Environment) -> Package<'a> {
        let imports = files.iter().map(|source| imports(source.file, environment)).collect();
        Package {
            files,
            environment,
            items: FxHashMap::default(),
            imports,
            constants: FxHashMap::default(),
            of_types: FxHashMap::default(),
        }
    }

    /// The path of the import that `name` stands for in a file.
    pub fn import(&self, file: u32, name: Symbol) -> Option<Symbol> {
        self.imports[file as usize].get(&name).copied()
    }

    /// Enters the constants; functions, types and variables are entered as they get their numbers.
    pub fn enter_constants(&mut self) {
        for (number, source) in self.files.iter().enumerate() {
            for &decl in &source.file.top_level {
                let DeclKind::Const(spec) = &source.file.decl(decl).kind else { continue };
                for (at, name) in spec.names.iter().enumerate() {
                    self.items.insert(name.name, Item::Const(number as u32, decl, at as u32));
                }
                if let Some(ty) = declared_type(source.file, spec) {
                    let names = spec.names.iter().map(|name| name.name);
                    self.of_types.entry(ty).or_default().extend(names);
                }
            }
        }
    }

    /// The type of the package that a constant is declared of.
    pub fn type_of_constant(&self, name: Symbol) -> Option<Symbol> {
        let &Item::Const(file, decl, _) = self.items.get(&name)? else { return None };
        let tree = self.files[file as usize].file;
        let DeclKind::Const(spec) = &tree.decl(decl).kind else { return None };
        let ty = declared_type(tree, spec)?;
        matches!(self.items.get(&ty), Some(Item::Type(_))).then_some(ty)
    }
}

/// The name of the type that constants are declared of.
fn declared_type(file: &syntax::File, spec: &syntax::ConstSpec) -> Option<Symbol> {
    match file.expr(spec.ty?).kind {
        ExprKind::Ident(name) => Some(name),
        _ => None,
    }
}

fn imports(file: &syntax::File, environment: &dyn Environment) -> FxHashMap<Symbol, Symbol> {
    let mut imports = FxHashMap::default();
    for import in &file.imports {
        let name = match import.name {
            Some(name) => name.name,
            None => environment.package_name(import.path),
        };
        imports.insert(name, import.path);
        // Whether `x/v2` is the second version of `x` or a package of that name is not in the path.
        let last = import.path.as_str().rsplit('/').next().unwrap_or_default();
        if import.name.is_none() && is_version(last) {
            imports.entry(Symbol::new(last)).or_insert(import.path);
        }
    }
    imports
}

/// The name that a package of this path has by convention: the last element, without a version
/// and without what Go names do not hold.
fn conventional_name(path: &str) -> &str {
    let mut elements = path.rsplit('/');
    let mut last = elements.next().unwrap_or(path);
    if is_version(last) {
        last = elements.next().unwrap_or(last);
    }
    let last = last.strip_prefix("go-").unwrap_or(last);
    last.split('.').next().unwrap_or(last)
}

fn is_version(element: &str) -> bool {
    element
        .strip_prefix('v')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}
