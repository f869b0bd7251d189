//! What packages show to those that import them, as keys: of each package its surface with those of what it
//! imports ([`Sources::surfaces`]), and of each function its text.
//!
//! [`Sources::surfaces`]: super::sources::Sources::surfaces

use std::path::Path;
use std::sync::OnceLock;

use rustc_hash::FxHashMap;

use crate::cache::{Hasher, Key};
use crate::project::{PackageId, Snapshot};
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
    /// The keys of the files of the run, and the files by the keys of their paths.
    files: Vec<Key>,
    paths: FxHashMap<Key, FileId>,
    bodies: Vec<OnceLock<Option<Bodies>>>,
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
    /// Those of the packages of `snapshot`: what each rests on, its name, and the keys of all files.
    pub fn new(
        snapshot: &Snapshot,
        packages: Vec<Option<Key>>,
        names: Vec<Key>,
        files: Vec<Key>,
    ) -> Surfaces {
        Surfaces {
            packages,
            numbers: names.iter().copied().zip((0..).map(PackageId)).collect(),
            names,
            bodies: files.iter().map(|_| OnceLock::new()).collect(),
            files,
            paths: snapshot.files.iter().map(|file| (key_of_path(&file.path), file.id)).collect(),
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

    /// What stands in a file of the run.
    pub fn text(&self, file: FileId) -> Option<Key> {
        self.files.get(file.0 as usize).copied()
    }

    /// The functions of a file of the run; `None` if it is not all Go.
    pub fn bodies(&self, snapshot: &Snapshot, FileId(file): FileId) -> Option<&Bodies> {
        let text = &snapshot.files[file as usize].text;
        self.bodies[file as usize].get_or_init(|| Bodies::of(text.bytes())).as_ref()
    }

    /// The file at a path, by [`key_of_path`].
    pub fn file(&self, path: Key) -> Option<FileId> {
        self.paths.get(&path).copied()
    }
}

/// What stands for a path.
pub fn key_of_path(path: &Path) -> Key {
    Hasher::new("path").path(path).finish()
}
