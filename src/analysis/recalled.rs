//! What functions do, as former runs have found out: for each package of the run an entry of the cache
//! with the summaries of the functions that somebody has asked about. So a change in one package
//! costs no reading of the functions of others.
//!
//! A summary is made of a function's text and of the summaries of what it calls. So an entry holds again
//! where the package and the surfaces of what it imports are the same, and the functions of other packages that
//! were called do what they did ([`Rests`]). Numbers are those of one run, so packages are
//! named by their keys, or by their import paths where they are dependencies, files by their paths, and
//! variables by their names. A place is kept with the function that it stands in, so that it moves with it.

use std::collections::BTreeMap;
use std::hash::Hash;
use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::guard;
use super::rests::Rests;
use super::stored::{of_place, place, small, span_from, span_to};
use super::surfaces::Surfaces;
use crate::cache::{Cache, Hasher, Key, Reader, Writer};
use crate::catalog::{Effect as Touch, Part, Wait as Library};
use crate::flow::CallEnd;
use crate::index::reads::Reads;
use crate::index::{FuncId, Index, ObjectId, QualifiedName};
use crate::project::{Package, PackageId, Snapshot};
use crate::source::{FileId, Location, Span};
use crate::summary::{
    Act, Cancel, ContextFact, Deed, Former, Guard, Hop, Known, KnownOf, Mode, Origin, Place, Root,
    Summaries, Summary, Wait, What,
};
use crate::syntax::Symbol;

/// The entries of a run.
pub struct Recalled<'a> {
    cache: &'a Cache,
    snapshot: &'a Snapshot,
    index: &'a Index<'a>,
    /// What packages show each other; nothing is known before that is.
    surfaces: OnceLock<Arc<Surfaces>>,
    /// The packages of which the surface does not tell what a parser makes of them.
    unsound: RwLock<FxHashSet<PackageId>>,
    entries: Vec<OnceLock<Option<Entry>>>,
    files: OnceLock<FxHashMap<&'a Path, FileId>>,
    /// By package.
    standing: Vec<OnceLock<Standing>>,
}

/// By file where functions start and end, in order.
type Standing = FxHashMap<FileId, Vec<(Span, FuncId)>>;

/// An entry of which no more has been understood than what all functions share.
struct Entry {
    rests: Rests,
    names: Vec<Symbol>,
    packages: Vec<Owner>,
    files: Vec<FileId>,
    bytes: Vec<u8>,
    functions: FxHashMap<u32, Range<usize>>,
}

/// A package that declares variables.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Owner {
    Run(PackageId),
    /// One that is imported by this path.
    Dependency(Symbol),
}

impl Former for Recalled<'_> {
    fn known(&self, func: FuncId, below: KnownOf<'_>) -> Option<Known> {
        let entry = self.entry(func.package, below)?;
        let bytes = entry.bytes.get(entry.functions.get(&func.index)?.clone())?;
        let mut input = In { recalled: self, func, entry, reader: Reader::new(bytes) };
        let known = input.known()?;
        input.reader.is_at_end().then_some(known)
    }

    fn rests_on(&self, package: PackageId) -> Reads {
        let entry = self.entries.get(package.0 as usize).and_then(OnceLock::get);
        let rests = entry.and_then(|entry| Some(&entry.as_ref()?.rests));
        let surfaces = self.surfaces.get();
        rests.zip(surfaces).map(|(rests, surfaces)| rests.reads(surfaces)).unwrap_or_default()
    }
}

impl<'a> Recalled<'a> {
    /// What `cache` holds for the packages of a run.
    pub fn new(cache: &'a Cache, snapshot: &'a Snapshot, index: &'a Index<'a>) -> Recalled<'a> {
        let entries = snapshot.packages.iter().map(|_| OnceLock::new()).collect();
        let standing = snapshot.packages.iter().map(|_| OnceLock::new()).collect();
        let (surfaces, files) = (OnceLock::new(), OnceLock::new());
        let unsound = RwLock::default();
        Recalled { cache, snapshot, index, surfaces, unsound, entries, files, standing }
    }

    /// Learns what packages show each other.
    pub fn rest_on(&self, surfaces: Arc<Surfaces>) {
        // They are the same each time.
        let _ = self.surfaces.set(surfaces);
    }

    /// Learns of a package that its surface does not tell what a parser makes of it, or of what it
    /// imports, before anybody asks for what is kept of those that import it.
    pub fn distrust(&self, package: PackageId) {
        self.unsound.write().unwrap_or_else(PoisonError::into_inner).insert(package);
    }

    /// Whether the surfaces of what a package imports tell what they declare.
    pub fn is_sound(&self, package: PackageId) -> bool {
        let unsound = self.unsound.read().unwrap_or_else(PoisonError::into_inner);
        self.index.imports_in_run(package).iter().all(|other| !unsound.contains(other))
    }

    /// What is known of a function, if it is there; `None` too where that fails.
    pub fn found(&self, summaries: &Summaries<'_>, func: FuncId) -> Option<Known> {
        guard::run(|| self.is_there(func).then(|| summaries.known_below(func)).flatten()).ok()?
    }

    fn is_there(&self, func: FuncId) -> bool {
        (func.index as usize) < self.index.package(func.package).funcs.len()
    }

    /// The hash of what a function does, wherever the functions stand that it leads to.
    pub fn does(&self, func: FuncId, known: KnownOf<'_>) -> Option<Key> {
        let surfaces = self.surfaces.get()?;
        let known = self.is_there(func).then(|| known(func))??;
        let mut out = Out::new(self, func.package);
        out.known(&known)?;
        let hasher = Hasher::new("what a function does").data(&out.writer.into_bytes());
        let hasher = hasher.number(out.names.list.len() as u64);
        let hasher = out.names.list.iter().fold(hasher, |hasher, name| hasher.text(name.as_str()));
        let hasher = out.packages.list.iter().fold(hasher, |hasher, owner| match owner {
            Owner::Run(package) => hasher.number(0).key(surfaces.name(*package)),
            Owner::Dependency(path) => hasher.number(1).text(path.as_str()),
        });
        let path = |file: &FileId| &self.snapshot.files[file.0 as usize].path;
        Some(out.files.list.iter().fold(hasher, |hasher, file| hasher.path(path(file))).finish())
    }

    /// Keeps what `summaries` has found out beside what was known.
    pub fn keep(&self, summaries: &Summaries<'_>) {
        let below = |func| self.found(summaries, func);
        self.packages().for_each(|package| {
            let found = summaries.known_of(package);
            let entry = self.entries[package.0 as usize].get().and_then(Option::as_ref);
            let known = entry.map(|entry| &entry.functions);
            let is_known = |func: FuncId| known.is_some_and(|them| them.contains_key(&func.index));
            if found.iter().all(|(func, _)| is_known(*func)) {
                return;
            }
            let before = known.into_iter().flat_map(FxHashMap::keys);
            let before = before.map(|&index| FuncId { package, index });
            let mut all: BTreeMap<FuncId, Known> =
                before.filter_map(|func| Some((func, self.known(func, &below)?))).collect();
            all.extend(found);
            let (reads, own) = (summaries.rests_on(package), self.snapshot.package(package));
            if let Some(surfaces) = self.surfaces.get()
                && let Some(key) = self.key(package)
                && let Some(rests) = Rests::of(reads, own, surfaces, |func| self.does(func, &below))
                && let Some(bytes) = self.write(package, &rests, &all)
            {
                self.cache.store(key, &bytes);
            }
        });
    }

    /// The packages of which something is kept that `summaries`, which recalls nothing, finds to be
    /// otherwise.
    pub fn wrong(&self, summaries: &Summaries<'_>) -> Vec<PackageId> {
        let below = |func| self.found(summaries, func);
        let is_right = |func: FuncId| {
            let found = below(func);
            found.is_some() && found == self.known(func, &below)
        };
        let is_wrong = |&package: &PackageId| {
            let entry = self.entry(package, &below);
            let mut kept = entry.into_iter().flat_map(|entry| entry.functions.keys());
            !kept.all(|&index| is_right(FuncId { package, index }))
        };
        self.packages().filter(is_wrong).collect()
    }

    fn packages(&self) -> impl ParallelIterator<Item = PackageId> {
        (0..self.entries.len() as u32).into_par_iter().map(PackageId)
    }

    fn key(&self, package: PackageId) -> Option<Key> {
        let surfaces = self.surfaces.get().filter(|_| self.is_sound(package))?;
        let source = surfaces.packages.get(package.0 as usize).copied()?;
        Some(Hasher::new("summaries").key(source?).finish())
    }

    /// What is kept for a package and holds now; `below` tells what functions do that it calls.
    fn entry(&self, package: PackageId, below: KnownOf<'_>) -> Option<&Entry> {
        let surfaces = self.surfaces.get()?;
        let entry = self.entries.get(package.0 as usize)?;
        let read = || {
            let entry = self.read(self.cache.load(self.key(package)?)?)?;
            let holds = entry.rests.hold(surfaces, |func| self.does(func, below));
            holds.then_some(entry)
        };
        entry.get_or_init(read).as_ref()
    }

    fn read(&self, bytes: Vec<u8>) -> Option<Entry> {
        let surfaces = self.surfaces.get()?;
        let mut reader = Reader::new(&bytes);
        let rests = Rests::read(&mut reader)?;
        let names = reader.list(|reader| Some(Symbol::new(reader.text()?)))?;
        let packages = reader.list(|reader| match reader.byte()? {
            0 => Some(Owner::Run(surfaces.named(Key::read(reader.data()?)?)?)),
            1 => Some(Owner::Dependency(Symbol::new(reader.text()?))),
            _ => None,
        })?;
        let files = reader.list(|reader| self.files().get(Path::new(reader.text()?)).copied())?;
        let listed = reader.list(|reader| Some((small(reader)?, small(reader)? as usize)))?;
        let functions = reader.data()?;
        let start = bytes.len() - functions.len();
        if !reader.is_at_end() {
            return None;
        }
        let mut at = start;
        let functions = listed.into_iter().map(|(index, length)| {
            let from = at;
            at = at.saturating_add(length);
            (index, from..at)
        });
        let functions = functions.collect();
        Some(Entry { rests, names, packages, files, functions, bytes })
    }

    fn files(&self) -> &FxHashMap<&'a Path, FileId> {
        let files = self.snapshot.files.iter();
        self.files.get_or_init(|| files.map(|file| (file.path.as_path(), file.id)).collect())
    }

    /// Where functions of a package stand in a file.
    fn standing(&self, package: PackageId, file: FileId) -> &[(Span, FuncId)] {
        let standing = self.standing[package.0 as usize].get_or_init(|| {
            let package = self.index.package(package);
            let mut standing = Standing::default();
            for func in package.funcs.iter().filter(|func| !func.is_literal) {
                standing
                    .entry(func.file)
                    .or_default()
                    .push((package.span_of(func.file, func.decl), func.id));
            }
            standing.values_mut().for_each(|funcs| funcs.sort_unstable());
            standing
        });
        standing.get(&file).map(Vec::as_slice).unwrap_or_default()
    }

    /// The bytes of what is known of functions of a package; `None` if it speaks of something that
    /// has no name.
    fn write(
        &self,
        package: PackageId,
        rests: &Rests,
        known: &BTreeMap<FuncId, Known>,
    ) -> Option<Vec<u8>> {
        let surfaces = self.surfaces.get()?;
        let mut out = Out::new(self, package);
        let mut listed: Vec<(u32, usize)> = Vec::new();
        let mut functions: Vec<u8> = Vec::new();
        for (func, known) in known {
            out.known(known)?;
            let bytes = std::mem::take(&mut out.writer).into_bytes();
            listed.push((func.index, bytes.len()));
            functions.extend(bytes);
        }
        let Out { names, packages, files, mut writer, .. } = out;
        rests.write(&mut writer);
        writer.list(names.list.iter(), |writer, name| writer.text(name.as_str()));
        writer.list(packages.list.iter(), |writer, owner| match owner {
            Owner::Run(package) => {
                writer.byte(0);
                writer.data(surfaces.name(*package).bytes());
            }
            Owner::Dependency(path) => {
                writer.byte(1);
                writer.text(path.as_str());
            }
        });
        let path = |file: &FileId| self.snapshot.files[file.0 as usize].path.to_str();
        let paths: Vec<&str> = files.list.iter().map(path).collect::<Option<_>>()?;
        writer.list(paths.iter(), |writer, path| writer.text(path));
        writer.list(listed.iter(), |writer, &(index, length)| {
            writer.number(index.into());
            writer.number(length as u64);
        });
        writer.data(&functions);
        Some(writer.into_bytes())
    }
}

/// Things by number, in the order in which they were first met.
struct Table<T> {
    numbers: FxHashMap<T, u64>,
    list: Vec<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Table<T> {
        Table { numbers: FxHashMap::default(), list: Vec::new() }
    }
}

impl<T: Copy + Eq + Hash> Table<T> {
    fn number(&mut self, thing: T) -> u64 {
        let next = self.list.len() as u64;
        let number = *self.numbers.entry(thing).or_insert(next);
        if number == next {
            self.list.push(thing);
        }
        number
    }
}

/// Writes one function after the other. `None` means that something has no name.
struct Out<'o, 'a> {
    recalled: &'o Recalled<'a>,
    package: PackageId,
    names: Table<Symbol>,
    packages: Table<Owner>,
    files: Table<FileId>,
    writer: Writer,
}

impl<'o, 'a> Out<'o, 'a> {
    fn new(recalled: &'o Recalled<'a>, package: PackageId) -> Out<'o, 'a> {
        Out {
            recalled,
            package,
            names: Table::default(),
            packages: Table::default(),
            files: Table::default(),
            writer: Writer::default(),
        }
    }
}

impl Out<'_, '_> {
    fn known(&mut self, Known { summary, gives, cut }: &Known) -> Option<()> {
        self.writer.byte(u8::from(summary.is_some()) | u8::from(*gives) << 1);
        self.writer.number(cut.map_or(0, |first| u64::from(first.index) + 1));
        match summary {
            Some(summary) => self.summary(summary),
            None => Some(()),
        }
    }

    fn summary(&mut self, summary: &Summary) -> Option<()> {
        let Summary { ending, deeds, waits, results, contexts } = summary;
        self.writer.byte(place(&ENDS, ending));
        self.list(deeds, Out::deed)?;
        self.list(waits, Out::wait)?;
        self.list(results, |out, origins| out.list(origins, Out::origin))?;
        self.list(contexts, Out::context)
    }

    fn deed(&mut self, Deed { place: of, act, mode, always }: &Deed) -> Option<()> {
        self.place(of)?;
        self.act(*act);
        self.writer.byte(place(&MODES, mode));
        self.writer.byte(u8::from(*always));
        Some(())
    }

    fn act(&mut self, act: Act) {
        let (number, of) = match act {
            Act::Called => (0, 0),
            Act::Method(name) => (1, self.names.number(name)),
            Act::Returned(result) => (2, result.into()),
            Act::Stored => (3, 0),
            Act::Sent => (4, 0),
            Act::Captured => (5, 0),
            Act::Passed => (6, 0),
            Act::Closed => (7, 0),
            Act::SentTo(guard) => (8, place(&GUARDS, &guard).into()),
            Act::Received(guard) => (9, place(&GUARDS, &guard).into()),
            Act::Drained => (10, 0),
            Act::Touched(part, touch) => {
                self.writer.byte(11);
                self.writer.byte(place(&PARTS, &part));
                (place(&TOUCHES, &touch), 0)
            }
        };
        self.writer.byte(number);
        self.writer.number(of);
    }

    fn wait(&mut self, wait: &Wait) -> Option<()> {
        let Wait { location, what, cancel, timed, hops } = wait;
        self.location(*location)?;
        match what {
            What::Library(library) => {
                self.writer.byte(WHATS.len() as u8);
                self.writer.byte(place(&LIBRARIES, library));
            }
            own => self.writer.byte(place(&WHATS, own)),
        }
        match cancel {
            Cancel::Nobody => self.writer.byte(0),
            Cancel::Unknown => self.writer.byte(1),
            Cancel::By(places) => {
                self.writer.byte(2);
                self.list(places, Out::place)?;
            }
        }
        self.writer.byte(u8::from(*timed));
        self.list(hops, |out, Hop { location, callee }| {
            out.writer.text(callee);
            out.location(*location)
        })
    }

    fn origin(&mut self, origin: &Origin) -> Option<()> {
        match origin {
            Origin::Place(place) => {
                self.writer.byte(ORIGINS.len() as u8);
                self.place(place)?;
            }
            Origin::Call(QualifiedName { path, receiver, name }, result) => {
                self.writer.byte(ORIGINS.len() as u8 + 1);
                let names = [Some(path), receiver.as_ref(), Some(name)];
                for name in names {
                    let number = name.map_or(0, |name| self.names.number(*name) + 1);
                    self.writer.number(number);
                }
                self.writer.number((*result).into());
            }
            plain => self.writer.byte(place(&ORIGINS, plain)),
        }
        Some(())
    }

    fn context(&mut self, fact: &ContextFact) -> Option<()> {
        let ContextFact { result, parent, deadline } = fact;
        self.writer.number((*result).into());
        self.list(parent.as_slice(), Out::place)?;
        self.writer.byte(u8::from(*deadline));
        Some(())
    }

    fn place(&mut self, Place { root, path }: &Place) -> Option<()> {
        match *root {
            Root::Receiver => self.writer.byte(0),
            Root::Global(object) => {
                let (owner, name) = self.named(object)?;
                self.writer.byte(1);
                let (owner, name) = (self.packages.number(owner), self.names.number(name));
                self.writer.number(owner);
                self.writer.number(name);
            }
            Root::Param(index) => {
                self.writer.byte(2);
                self.writer.number(index.into());
            }
            // Of what stands in the function itself no caller is told.
            _ => return None,
        }
        self.list(path, |out, name| {
            let name = out.names.number(*name);
            out.writer.number(name);
            Some(())
        })
    }

    /// A variable by its package and name, if that is what these denote.
    fn named(&self, object: ObjectId) -> Option<(Owner, Symbol)> {
        let Recalled { index, entries, .. } = self.recalled;
        let package = object.package;
        let owner = match (package.0 as usize) < entries.len() {
            true => Owner::Run(package),
            false => Owner::Dependency(index.package(package).path),
        };
        let name = index.object(object).name;
        (self.recalled.object(self.package, owner, name) == Some(object)).then_some((owner, name))
    }

    fn location(&mut self, Location { file, span }: Location) -> Option<()> {
        self.recalled.snapshot.files.get(file.0 as usize)?;
        let number = self.files.number(file);
        self.writer.number(number);
        let from = match self.around(file, span) {
            Some((start, func)) => {
                let owner = self.packages.number(Owner::Run(func.package));
                self.writer.number(owner + 1);
                self.writer.number(func.index.into());
                start
            }
            None => {
                self.writer.number(0);
                0
            }
        };
        span_to(&mut self.writer, Span::new(span.start - from, span.end - from));
        Some(())
    }

    /// The function that a place stands in, and where that starts.
    fn around(&self, file: FileId, span: Span) -> Option<(u32, FuncId)> {
        let Recalled { snapshot, .. } = self.recalled;
        let holds = |package: &&Package| package.files.contains(&file);
        let own = Some(snapshot.package(self.package)).filter(holds);
        let package = own.or_else(|| snapshot.packages.iter().find(holds))?;
        let standing = self.recalled.standing(package.id, file);
        let next = standing.partition_point(|(around, _)| around.start <= span.start);
        let &(around, func) = standing.get(next.checked_sub(1)?)?;
        (span.end <= around.end).then_some((around.start, func))
    }

    fn list<T>(
        &mut self,
        list: &[T],
        mut write: impl FnMut(&mut Self, &T) -> Option<()>,
    ) -> Option<()> {
        self.writer.number(list.len() as u64);
        list.iter().try_for_each(|member| write(self, member))
    }
}

impl Recalled<'_> {
    /// What `owner` declares as `name`, seen from a package.
    fn object(&self, from: PackageId, owner: Owner, name: Symbol) -> Option<ObjectId> {
        let package = match owner {
            Owner::Run(package) => package,
            Owner::Dependency(path) => self.index.import(from, path)?,
        };
        Some(self.index.package(package).lookup(name)?.id)
    }
}

/// Reads one function.
struct In<'i, 'a> {
    recalled: &'i Recalled<'a>,
    func: FuncId,
    entry: &'i Entry,
    reader: Reader<'i>,
}

impl In<'_, '_> {
    fn known(&mut self) -> Option<Known> {
        let flags = self.reader.byte()?;
        let cut = small(&mut self.reader)?.checked_sub(1);
        let summary = match flags & 1 {
            0 => None,
            _ => Some(Arc::new(self.summary()?)),
        };
        let package = self.func.package;
        let cut = cut.map(|index| FuncId { package, index });
        Some(Known { summary, gives: flags & 2 != 0, cut })
    }

    fn summary(&mut self) -> Option<Summary> {
        let ending = of_place(&ENDS, self.reader.byte()?)?;
        let mut deeds = self.list(In::deed)?;
        // The order of variables of package level is that of numbers of this run.
        let is_global = |deed: &Deed| matches!(deed.place.root, Root::Global(_));
        for globals in deeds.chunk_by_mut(|a, b| is_global(a) == is_global(b)) {
            if is_global(&globals[0]) {
                globals.sort_unstable_by(|a, b| {
                    (&a.place, a.act, a.mode).cmp(&(&b.place, b.act, b.mode))
                });
            }
        }
        Some(Summary {
            ending,
            deeds,
            waits: self.list(In::wait)?,
            results: self.list(|input| input.list(In::origin))?,
            contexts: self.list(In::context)?,
        })
    }

    fn deed(&mut self) -> Option<Deed> {
        Some(Deed {
            place: self.place()?,
            act: self.act()?,
            mode: of_place(&MODES, self.reader.byte()?)?,
            always: self.reader.byte()? != 0,
        })
    }

    fn act(&mut self) -> Option<Act> {
        let number = self.reader.byte()?;
        if number == 11 {
            let part = of_place(&PARTS, self.reader.byte()?)?;
            let touch = of_place(&TOUCHES, self.reader.byte()?)?;
            small(&mut self.reader)?;
            return Some(Act::Touched(part, touch));
        }
        let of = small(&mut self.reader)?;
        let guard = || of_place(&GUARDS, u8::try_from(of).ok()?);
        Some(match number {
            0 => Act::Called,
            1 => Act::Method(*self.entry.names.get(of as usize)?),
            2 => Act::Returned(of),
            3 => Act::Stored,
            4 => Act::Sent,
            5 => Act::Captured,
            6 => Act::Passed,
            7 => Act::Closed,
            8 => Act::SentTo(guard()?),
            9 => Act::Received(guard()?),
            10 => Act::Drained,
            _ => return None,
        })
    }

    fn wait(&mut self) -> Option<Wait> {
        let location = self.location()?;
        let what = self.reader.byte()?;
        let what = match of_place(&WHATS, what) {
            None if usize::from(what) == WHATS.len() => {
                What::Library(of_place(&LIBRARIES, self.reader.byte()?)?)
            }
            own => own?,
        };
        let cancel = match self.reader.byte()? {
            0 => Cancel::Nobody,
            1 => Cancel::Unknown,
            2 => Cancel::By(self.list(In::place)?),
            _ => return None,
        };
        let timed = self.reader.byte()? != 0;
        let hops = self.list(|input| {
            let callee = input.reader.text()?.into();
            Some(Hop { location: input.location()?, callee })
        })?;
        Some(Wait { location, what, cancel, timed, hops })
    }

    fn origin(&mut self) -> Option<Origin> {
        let number = usize::from(self.reader.byte()?);
        match number.checked_sub(ORIGINS.len()) {
            None => Some(ORIGINS[number].clone()),
            Some(0) => Some(Origin::Place(self.place()?)),
            Some(1) => {
                let (path, receiver, name) = (self.name()?, self.name()?, self.name()?);
                let name = QualifiedName { path: path?, receiver, name: name? };
                Some(Origin::Call(name, small(&mut self.reader)?))
            }
            Some(_) => None,
        }
    }

    /// A name that may be none.
    #[expect(clippy::option_option, reason = "the outer one says that nothing can be read")]
    fn name(&mut self) -> Option<Option<Symbol>> {
        match small(&mut self.reader)?.checked_sub(1) {
            None => Some(None),
            Some(number) => Some(Some(*self.entry.names.get(number as usize)?)),
        }
    }

    fn context(&mut self) -> Option<ContextFact> {
        Some(ContextFact {
            result: small(&mut self.reader)?,
            parent: self.list(In::place)?.pop(),
            deadline: self.reader.byte()? != 0,
        })
    }

    fn place(&mut self) -> Option<Place> {
        let root = match self.reader.byte()? {
            0 => Root::Receiver,
            1 => {
                let owner = *self.entry.packages.get(small(&mut self.reader)? as usize)?;
                let name = *self.entry.names.get(small(&mut self.reader)? as usize)?;
                Root::Global(self.recalled.object(self.func.package, owner, name)?)
            }
            2 => Root::Param(small(&mut self.reader)?),
            _ => return None,
        };
        let path =
            self.list(|input| Some(*input.entry.names.get(small(&mut input.reader)? as usize)?))?;
        Some(path.into_iter().fold(Place::root(root), Place::field))
    }

    fn location(&mut self) -> Option<Location> {
        let file = *self.entry.files.get(small(&mut self.reader)? as usize)?;
        let from = match small(&mut self.reader)?.checked_sub(1) {
            None => 0,
            Some(owner) => {
                let Owner::Run(package) = *self.entry.packages.get(owner as usize)? else {
                    return None;
                };
                let (package, index) =
                    (self.recalled.index.package(package), small(&mut self.reader)?);
                let func = package.funcs.get(index as usize).filter(|func| func.file == file)?;
                package.span_of(func.file, func.decl).start
            }
        };
        let span = span_from(&mut self.reader)?;
        let (start, end) = (from.checked_add(span.start)?, from.checked_add(span.end)?);
        Some(Location { file, span: Span::new(start, end) })
    }

    fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let count = self.reader.number()?;
        (0..count).map(|_| read(self)).collect()
    }
}

/// The values of small types, by the numbers that stand for them.
const ENDS: [CallEnd; 3] = [CallEnd::Returns, CallEnd::Panics, CallEnd::Never];
const MODES: [Mode; 6] =
    [Mode::Now, Mode::Deferred, Mode::Joined, Mode::Spawned, Mode::ByResult, Mode::Later];
const GUARDS: [Guard; 3] = [Guard::Bare, Guard::Arms, Guard::Default];
const PARTS: [Part; 6] = [
    Part::RequestHeader,
    Part::RequestBody,
    Part::RequestForm,
    Part::ResponseHeader,
    Part::Response,
    Part::Header,
];
const TOUCHES: [Touch; 3] = [Touch::Read, Touch::Write, Touch::Expose];
/// Those of the function itself.
const WHATS: [What; 4] = [What::Receive, What::Send, What::Select, What::Forever];
const LIBRARIES: [Library; 12] = [
    Library::Net,
    Library::Http,
    Library::Exec,
    Library::Sql,
    Library::Rpc,
    Library::Stream,
    Library::Sleep,
    Library::Goroutines,
    Library::Poll,
    Library::Io,
    Library::Lock,
    Library::Signal,
];
/// Those with nothing to say.
const ORIGINS: [Origin; 5] =
    [Origin::Made, Origin::Literal, Origin::EmptyLiteral, Origin::Plain, Origin::Unknown];
