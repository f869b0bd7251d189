//! Go's scope and type rules: what the names of a program denote and what types its expressions
//! have. The only room that knows them.
//!
//! Everything is computed when it is asked for and kept; an [`Index`] can be asked from many
//! threads at once, and its answers do not depend on who asks first. What is not known is
//! [`Type::Unknown`], [`Def::Unknown`] or a name under a package that is not available; nothing
//! here guesses, because a finding must never rest on a guess. It knows nothing of control flow
//! and of no library: what the catalog says about results of missing packages comes in as data.

mod body;
mod check;
mod constant;
mod declare;
mod def;
mod external;
mod form;
mod identical;
mod lately;
mod lookup;
mod package;
mod query;
pub mod reads;
mod store;
mod subst;
mod types;
mod universe;

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, OnceLock};

use rustc_hash::{FxHashSet, FxHasher};

use crate::catalog::Catalog;
use crate::project::{Importer, PackageId, Snapshot, SourceFile, Tests};
use crate::source::{FileId, SourceText, Span};
use crate::syntax::{File, LazyFile, Symbol};

pub use body::BodyInfo;
pub use constant::Constant;
pub use def::{Builtin, Callee, Def, Local, LocalId, LocalKind, QualifiedName, Selection};
pub use lately::Lately;
pub use package::{Func, Object, ObjectKind, Package, Receiver, Spec};
pub use store::Declarations;
pub use types::{
    Array, Basic, Constraint, DeclRef, Field, Interface, InterfaceMethod, Map, Named, Signature,
    Struct, Type, TypeDecl, TypeParam,
};

/// A declared function or method.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FuncId {
    /// Its package.
    pub package: PackageId,
    /// Its place in [`Package::funcs`].
    pub index: u32,
}

/// A variable, constant, type or function of package level.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectId {
    /// Its package.
    pub package: PackageId,
    /// Its place in [`Package::objects`].
    pub index: u32,
}

/// The packages of a run and whatever they import, as far as somebody asks.
///
/// Packages of the run have the numbers of the snapshot. Dependencies get the numbers after those
/// in the order in which they are met: results are never sorted by them.
pub struct Index<'s> {
    snapshot: &'s Snapshot,
    catalog: &'s Catalog,
    /// Where the trees of the files are from.
    trees: &'s dyn Trees,
    packages: Vec<OnceLock<Package>>,
    /// The hashes of all words in the texts of each package of the run.
    words: Vec<OnceLock<FxHashSet<u64>>>,
    /// Those of each file, which may belong to several of them.
    words_of_files: Vec<OnceLock<Box<[u64]>>>,
    /// See [`imports_in_run`](Index::imports_in_run).
    in_run: Vec<OnceLock<Box<[PackageId]>>>,
    dependencies: store::Dependencies,
    declarations: Option<&'s Declarations>,
    /// What was asked for again of packages that are [done with](Index::forget).
    again: Mutex<Lately<package::BodyOf, Arc<BodyInfo>>>,
}

/// So many bodies of packages that are done with are kept, and as many of those before them.
const AGAIN: usize = 1024;

/// Whether a byte can be one of a name.
pub const fn is_of_word(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || *byte == b'_' || *byte >= 0x80
}

/// What [`is_of_word`] says of each byte.
static OF_WORDS: [bool; 256] = {
    let mut all = [false; 256];
    let mut byte = 0;
    while byte < all.len() {
        all[byte] = is_of_word(&(byte as u8));
        byte += 1;
    }
    all
};

fn hashed(word: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    word.hash(&mut hasher);
    hasher.finish()
}

/// The trees of the files of a run. Asked while others wait for the answer: whoever gives it takes
/// no work of other threads.
pub trait Trees: Sync {
    /// The tree of a file of the run.
    fn tree(&self, file: FileId) -> Tree;
}

/// A file, parsed or to be parsed.
#[derive(Clone, Debug)]
pub enum Tree {
    /// All of it.
    Whole(Arc<File>),
    /// Each declaration when it is asked for.
    Lazy(Arc<LazyFile>),
}

impl Tree {
    /// The file, if it is a lazy one without its declarations.
    fn head(&self) -> &Arc<File> {
        match self {
            Tree::Whole(file) => file,
            Tree::Lazy(file) => file.head(),
        }
    }
}

/// All trees, by [`FileId`].
impl Trees for Vec<Arc<File>> {
    fn tree(&self, file: FileId) -> Tree {
        Tree::Whole(Arc::clone(&self[file.0 as usize]))
    }
}

/// What a package is made of.
struct PackageSource {
    path: Symbol,
    name: Symbol,
    files: Vec<(Arc<SourceFile>, Tree)>,
    importer: Importer,
    under_test: Option<PackageId>,
    of_run: bool,
}

impl<'s> Index<'s> {
    /// An index of the packages of a snapshot. A package is looked into when it is first asked for.
    ///
    /// Threads that ask it need 16 MiB of stack: its bounds are made for that.
    pub fn new(snapshot: &'s Snapshot, trees: &'s dyn Trees, catalog: &'s Catalog) -> Index<'s> {
        let count = snapshot.packages.len();
        Index {
            snapshot,
            catalog,
            trees,
            packages: std::iter::repeat_with(OnceLock::new).take(count).collect(),
            words: std::iter::repeat_with(OnceLock::new).take(count).collect(),
            words_of_files: snapshot.files.iter().map(|_| OnceLock::new()).collect(),
            in_run: std::iter::repeat_with(OnceLock::new).take(count).collect(),
            dependencies: store::Dependencies::default(),
            declarations: None,
            again: Mutex::new(Lately::new(AGAIN)),
        }
    }

    /// The index with what an earlier one read of dependencies.
    pub fn with_declarations(self, declarations: &'s Declarations) -> Index<'s> {
        Index { declarations: Some(declarations), ..self }
    }

    /// What is known of the functions and types of packages.
    pub fn catalog(&self) -> &'s Catalog {
        self.catalog
    }

    /// The declarations of a package.
    pub fn package(&self, id: PackageId) -> &Package {
        match self.packages.get(id.0 as usize) {
            Some(package) => package.get_or_init(|| self.of_run(id)),
            None => self.dependencies.get(id.0 - self.packages.len() as u32),
        }
    }

    /// Whether a file of a package of the run holds a name, wherever and as whatever it stands
    /// there. Reads no more than the text.
    pub fn mentions(&self, package: PackageId, name: Symbol) -> bool {
        let words = self.words[package.0 as usize].get_or_init(|| {
            let files = self.snapshot.package(package).files.iter();
            files.flat_map(|&file| self.words_of(file)).copied().collect()
        });
        words.contains(&hashed(name.as_str().as_bytes()))
    }

    fn words_of(&self, FileId(file): FileId) -> &[u64] {
        self.words_of_files[file as usize].get_or_init(|| {
            let text = self.snapshot.files[file as usize].text.bytes();
            let words = text.split(|&byte| !OF_WORDS[byte as usize]);
            let words: FxHashSet<u64> = words.filter(|word| !word.is_empty()).map(hashed).collect();
            words.into_iter().collect()
        })
    }

    fn of_run(&self, id: PackageId) -> Package {
        let package = self.snapshot.package(id);
        let of_file =
            |&id: &FileId| (Arc::clone(&self.snapshot.files[id.0 as usize]), self.trees.tree(id));
        let source = PackageSource {
            path: package.import_path,
            name: package.name,
            files: package.files.iter().map(of_file).collect(),
            importer: package.importer,
            under_test: package.under_test,
            of_run: true,
        };
        Package::new(id, source)
    }

    /// A declared function or method.
    pub fn func(&self, id: FuncId) -> &Func {
        &self.package(id.package).funcs[id.index as usize]
    }

    /// A declaration of package level.
    pub fn object(&self, id: ObjectId) -> &Object {
        &self.package(id.package).objects[id.index as usize]
    }

    /// Whether a package of the run is there with its tests, beside itself without them.
    pub fn is_with_tests(&self, package: PackageId) -> bool {
        self.snapshot.package(package).view.tests != Tests::None
    }

    /// Whether a function is declared in a file whose name ends in `_test.go`.
    pub fn is_in_test_file(&self, id: FuncId) -> bool {
        self.is_test_file(self.func(id).file)
    }

    /// Whether a file is that of a test.
    pub fn is_test_file(&self, file: FileId) -> bool {
        self.snapshot.file(file).test
    }

    /// Whether the text of a function may hold a name: see [`Package::may_name`].
    pub fn may_name(&self, id: FuncId, name: Symbol) -> bool {
        let func = self.func(id);
        self.package(id.package).may_name(func.file, func.decl, name)
    }

    /// Notes that a function is looked at: see [`reads`].
    pub fn look_into(&self, id: FuncId) {
        let func = self.func(id);
        self.package(id.package).look_into(func.file, func.decl);
    }

    /// The text of a function: see [`Package::text_around`].
    pub fn text_of(&self, id: FuncId) -> (&SourceText, Span) {
        let func = self.func(id);
        self.package(id.package).text_around(func.file, func.decl)
    }

    /// The tree that declares a function: see [`Package::tree`].
    pub fn file_of(&self, id: FuncId) -> &Arc<File> {
        let func = self.func(id);
        self.package(id.package).tree(func.file, func.decl)
    }
}
