//! What packages show to those that import them, as keys: of each package its surface with those of what it
//! imports ([`Sources::surfaces`]), and of each function its text.
//!
//! [`Sources::surfaces`]: super::sources::Sources::surfaces

use std::sync::{Arc, OnceLock};

use rustc_hash::FxHashMap;

use crate::cache::{Hasher, Key};
use crate::project::{PackageId, Snapshot, SourceFile};
use crate::source::{FileId, Span};
use crate::syntax::functions;

/// The keys of what packages rest on that look at no more than the [surface] of what they import.
///
/// [surface]: crate::syntax::surface()
pub struct Surfaces {
    /// By package; `None` as in [`Sources`](super::sources::Sources).
    pub packages: Vec<Option<Key>>,
    /// What the packages are called.
    names: Vec<Key>,
    numbers: FxHashMap<Key, PackageId>,
    files: Vec<Shown>,
    /// The files by the keys of their paths.
    paths: FxHashMap<Key, FileId>,
}

/// A file of the run.
struct Shown {
    source: Arc<SourceFile>,
    path: Key,
    text: Key,
    bodies: OnceLock<Option<Bodies>>,
}

/// The functions that a file declares, in order of source: where each starts, and its text with the comments
/// around it.
pub struct Bodies(Vec<(u32, Key)>);

impl Bodies {
    fn of(text: &[u8]) -> Option<Bodies> {
        let functions = functions(text)?;
        let comments = Hasher::new("function").data(&functions.comments);
        let of_function = |&(start, span): &(u32, Span)| {
            let text = &text[span.start as usize..span.end as usize];
            (start, comments.clone().data(text).finish())
        };
        Some(Bodies(functions.texts.iter().map(of_function).collect()))
    }

    /// The place and the text of the function that starts at `start`.
    pub fn starting_at(&self, start: u32) -> Option<(u32, Key)> {
        let place = self.0.binary_search_by_key(&start, |&(start, _)| start).ok()?;
        Some((place as u32, self.0[place].1))
    }

    /// Where the function at a place starts.
    pub fn start(&self, place: u32) -> Option<u32> {
        Some(self.0.get(place as usize)?.0)
    }

    /// The text of the function at a place.
    pub fn text(&self, place: u32) -> Option<Key> {
        Some(self.0.get(place as usize)?.1)
    }
}

impl Surfaces {
    /// Those of the packages of `snapshot`: what each rests on, its name, and the keys of all texts.
    pub fn new(
        snapshot: &Snapshot,
        packages: Vec<Option<Key>>,
        names: Vec<Key>,
        texts: &[Key],
    ) -> Surfaces {
        let shown = |(source, &text): (&Arc<SourceFile>, &Key)| Shown {
            source: Arc::clone(source),
            path: Hasher::new("path").path(&source.path).finish(),
            text,
            bodies: OnceLock::new(),
        };
        let files: Vec<Shown> = snapshot.files.iter().zip(texts).map(shown).collect();
        Surfaces {
            packages,
            numbers: names.iter().copied().zip((0..).map(PackageId)).collect(),
            names,
            paths: files.iter().map(|file| (file.path, file.source.id)).collect(),
            files,
        }
    }

    /// Whether a package is one of the run.
    pub fn holds(&self, package: PackageId) -> bool {
        (package.0 as usize) < self.names.len()
    }

    /// What a package of the run is called in each run, whatever stands in it.
    pub fn name(&self, package: PackageId) -> Key {
        self.names[package.0 as usize]
    }

    /// The package that is called so.
    pub fn named(&self, name: Key) -> Option<PackageId> {
        self.numbers.get(&name).copied()
    }

    /// The key of the path of a file of the run, and what stands there.
    pub fn placed(&self, file: FileId) -> Option<(Key, Key)> {
        self.files.get(file.0 as usize).map(|file| (file.path, file.text))
    }

    /// What stands in a file of the run.
    pub fn text(&self, FileId(file): FileId) -> Key {
        self.files[file as usize].text
    }

    /// The functions of a file of the run; `None` if it is not all Go.
    pub fn bodies(&self, FileId(file): FileId) -> Option<&Bodies> {
        let Shown { source, bodies, .. } = &self.files[file as usize];
        bodies.get_or_init(|| Bodies::of(source.text.bytes())).as_ref()
    }

    /// The file at a path, by its key.
    pub fn file(&self, path: Key) -> Option<FileId> {
        self.paths.get(&path).copied()
    }
}
