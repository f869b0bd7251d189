//! What the answers of a package rest on, as one key: its files and those of all that it imports,
//! directly or not, with where each import was looked for.
//!
//! Packages of the run, directories of dependencies that may change, and versions of modules, which
//! do not, are the nodes of one graph; an edge leads from an import to each place that decides what
//! it denotes. The key of a node is the hash of its own text and the keys that its edges lead to;
//! the nodes of a ring share one hash of all of them. Two things lie outside of the graph: the types
//! of the standard library that the catalog names, which are looked up from every package, so that
//! their keys are part of all; and what is looked for by name in the whole run
//! ([`words`](super::words)).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rayon::prelude::*;
use rustc_hash::{FxHashMap, FxHashSet};

use super::Run;
use super::surfaces::Surfaces;
use crate::cache::{Cache, Hasher, Key, Reader, Writer};
use crate::project::{Importer, Origin, Package, PackageId, Snapshot, SourceFile, Tests};
use crate::source::FileId;
use crate::syntax::{Symbol, surface};

/// The keys of the packages of a run.
pub struct Sources {
    /// By package; `None` where imports form a ring, so that what is known depends on where one
    /// starts.
    pub packages: Vec<Option<Key>>,
    /// Those of the files of the run.
    pub files: Vec<Key>,
    /// The packages of the run, then what they import.
    nodes: Vec<Node>,
    importers: FxHashMap<Importer, Key>,
    /// Where what the catalog names is looked for.
    everywhere: BTreeMap<Importer, Vec<u32>>,
}

impl Sources {
    /// Those of a run. What directories that never change import is remembered in `cache`; `base`
    /// is a part of all keys.
    pub fn of(run: &Run<'_>, base: Key, cache: &Cache) -> Sources {
        let files: Vec<Key> =
            run.snapshot.files.par_iter().map(|file| Key::of(file.text.bytes())).collect();
        let mut graph = Graph::new(run, base, cache, files);
        let count = run.snapshot.packages.len();
        for package in &run.snapshot.packages {
            graph.node(Origin::Run(package.id));
        }
        let named: Vec<Symbol> =
            run.catalog.signature_packages().into_iter().map(Symbol::new).collect();
        let importers: BTreeSet<Importer> =
            run.snapshot.packages.iter().map(|package| package.importer).collect();
        let everywhere =
            importers.iter().flat_map(|&from| named.iter().map(move |&path| (from, path)));
        graph.resolve(everywhere.collect());
        graph.grow();
        graph.remembered.store();
        let of_importer = |from: Importer| {
            let targets = named.iter().flat_map(|&path| graph.resolved[&(from, path)].iter());
            (from, targets.copied().collect())
        };
        let everywhere: BTreeMap<Importer, Vec<u32>> =
            importers.into_iter().map(of_importer).collect();
        let Graph { files, importers, nodes, .. } = graph;
        let mut sources = Sources { packages: Vec::new(), files, nodes, importers, everywhere };
        let (keys, ringed) = keys(&sources.nodes, count as u32);
        let everywhere = sources.everywhere(&keys);
        let packages = (0..count).map(|number| {
            let importer = run.snapshot.packages[number].importer;
            let whole =
                || Hasher::new("sources").key(keys[number]).key(everywhere[&importer]).finish();
            (!ringed[number]).then(whole)
        });
        sources.packages = packages.collect();
        sources
    }

    /// The same with surfaces in place of what is imported.
    pub fn surfaces(&self, snapshot: &Snapshot) -> Surfaces {
        let packages = &snapshot.packages;
        let of_file = |(file, &key): (&Arc<SourceFile>, &Key)| {
            surface(file.text.bytes()).map_or(key, |surface| Key::of(&surface))
        };
        let files: Vec<Key> = snapshot.files.par_iter().zip(&self.files).map(of_file).collect();
        let named: Vec<Hasher> = packages
            .iter()
            .map(|package| named(snapshot, package, self.importers[&package.importer]))
            .collect();
        let of_package = |(package, hasher): (&Package, &Hasher)| {
            with_files(hasher.clone(), snapshot, package, &files).finish()
        };
        let shown = packages.iter().zip(&named).map(of_package);
        let mut nodes = self.nodes.clone();
        nodes.iter_mut().zip(shown).for_each(|(node, own)| node.own = own);
        let (keys, ringed) = keys(&nodes, packages.len() as u32);
        let everywhere = self.everywhere(&keys);
        let of_package = |(number, package): (usize, &Package)| {
            let Node { own, edges } = &self.nodes[number];
            let imported = edges.iter().map(|&node| keys[node as usize]);
            let hasher = Hasher::new("surfaces").key(*own).keys(imported);
            (!ringed[number]).then(|| hasher.key(everywhere[&package.importer]).finish())
        };
        let sources = packages.iter().enumerate().map(of_package).collect();
        let names = named.into_iter().map(Hasher::finish).collect();
        Surfaces::new(snapshot, sources, names, &self.files)
    }

    /// For each importer the key of what the catalog names, by the keys of the nodes.
    fn everywhere(&self, keys: &[Key]) -> BTreeMap<Importer, Key> {
        let of_importer = |(&from, targets): (&Importer, &Vec<u32>)| {
            let targets = targets.iter().map(|&node| keys[node as usize]);
            (from, Hasher::new("named by the catalog").keys(targets).finish())
        };
        self.everywhere.iter().map(of_importer).collect()
    }
}

/// Begins the key of a package with all but its files.
fn named(snapshot: &Snapshot, package: &Package, importer: Key) -> Hasher {
    let tests = match package.view.tests {
        Tests::None => 0,
        Tests::InPackage => 1,
        Tests::External => 2,
    };
    let hasher = Hasher::new("package")
        .key(importer)
        .text(package.import_path.as_str())
        .text(package.name.as_str())
        .path(&package.dir)
        .text(&package.view.build.to_string())
        .number(tests);
    match package.module.map(|id| snapshot.module(id)) {
        Some(module) => {
            hasher.text(&module.path).path(&module.dir).text(&format!("{:?}", module.go))
        }
        None => hasher,
    }
}

/// With the files of a package, by what is known of all files.
fn with_files(hasher: Hasher, snapshot: &Snapshot, package: &Package, files: &[Key]) -> Hasher {
    package.files.iter().fold(hasher, |hasher, &FileId(file)| {
        hasher.path(&snapshot.files[file as usize].path).key(files[file as usize])
    })
}

#[derive(Clone)]
struct Node {
    own: Key,
    edges: Vec<u32>,
}

struct Graph<'r, 'a> {
    run: &'r Run<'a>,
    base: Key,
    files: Vec<Key>,
    importers: FxHashMap<Importer, Key>,
    numbers: FxHashMap<Origin, u32>,
    origins: Vec<Origin>,
    /// Those of the first of `origins`.
    nodes: Vec<Node>,
    /// Where each import is looked for.
    resolved: FxHashMap<(Importer, Symbol), Vec<u32>>,
    remembered: Remembered<'r>,
}

/// What the files of a node say.
struct Text {
    own: Key,
    imports: Vec<Symbol>,
}

impl<'r, 'a> Graph<'r, 'a> {
    fn new(run: &'r Run<'a>, base: Key, cache: &'r Cache, files: Vec<Key>) -> Graph<'r, 'a> {
        let importer = |importer: Importer| {
            let hasher = Hasher::new("importer").key(base);
            hasher.text(&run.snapshot.importer_text(importer)).finish()
        };
        let mut importers = FxHashMap::default();
        for package in &run.snapshot.packages {
            importers.entry(package.importer).or_insert_with(|| importer(package.importer));
        }
        let remembered = Remembered::load(cache, &importers);
        Graph {
            run,
            base,
            files,
            importers,
            numbers: FxHashMap::default(),
            origins: Vec::new(),
            nodes: Vec::new(),
            resolved: FxHashMap::default(),
            remembered,
        }
    }

    fn node(&mut self, origin: Origin) -> u32 {
        if let Some(&known) = self.numbers.get(&origin) {
            return known;
        }
        let number = self.origins.len() as u32;
        self.numbers.insert(origin.clone(), number);
        self.origins.push(origin);
        number
    }

    /// Gives each origin its node, and so on for what these import.
    fn grow(&mut self) {
        while self.nodes.len() < self.origins.len() {
            let new = &self.origins[self.nodes.len()..];
            let texts: Vec<Text> = new.par_iter().map(|origin| self.text(origin)).collect();
            let first = self.nodes.len();
            let mut wanted: FxHashSet<(Importer, Symbol)> = FxHashSet::default();
            for (origin, text) in self.origins[first..].iter().zip(&texts) {
                let from = self.importer(origin);
                wanted.extend(text.imports.iter().map(|&path| (from, path)));
            }
            for (place, text) in (first..).zip(&texts) {
                if let Origin::Fixed(from, dir) = &self.origins[place]
                    && *from != Importer::STANDARD
                {
                    self.remembered.learn(dir, &text.imports);
                }
            }
            self.resolve(wanted.into_iter().collect());
            for (place, text) in (first..).zip(texts) {
                let from = self.importer(&self.origins[place]);
                let mut edges: Vec<u32> = Vec::new();
                for &path in &text.imports {
                    edges.extend(&self.resolved[&(from, path)]);
                }
                if let Origin::Run(package) = self.origins[place] {
                    // Packages of the run have the first numbers, in their order.
                    edges.extend(self.run.index.imports_in_run(package).iter().map(|id| id.0));
                }
                self.nodes.push(Node { own: text.own, edges });
            }
        }
    }

    fn resolve(&mut self, wanted: Vec<(Importer, Symbol)>) {
        let new: Vec<(Importer, Symbol)> =
            wanted.into_iter().filter(|question| !self.resolved.contains_key(question)).collect();
        let snapshot = self.run.snapshot;
        let origins: Vec<Vec<Origin>> =
            new.par_iter().map(|&(from, path)| snapshot.origins(from, path)).collect();
        for (question, origins) in new.into_iter().zip(origins) {
            let nodes = origins.into_iter().map(|origin| self.node(origin)).collect();
            self.resolved.insert(question, nodes);
        }
    }

    fn importer(&self, origin: &Origin) -> Importer {
        match origin {
            Origin::Run(package) => self.run.snapshot.package(*package).importer,
            Origin::Fixed(importer, _) | Origin::Changing(importer, _) => *importer,
        }
    }

    fn text(&self, origin: &Origin) -> Text {
        match origin {
            Origin::Run(package) => self.package(*package),
            Origin::Fixed(importer, dir) => Text {
                own: Hasher::new("fixed").key(self.base).path(dir).finish(),
                imports: match *importer == Importer::STANDARD {
                    // All of it is fixed, and imports nothing else.
                    true => Vec::new(),
                    false => self.remembered.imports(dir).unwrap_or_else(|| {
                        let sources = self.run.snapshot.sources_of(dir);
                        sources.imports.iter().map(|path| Symbol::new(path)).collect()
                    }),
                },
            },
            Origin::Changing(_, dir) => {
                let sources = self.run.snapshot.sources_of(dir);
                let hasher = Hasher::new("changing").key(self.base).path(dir);
                let hasher = sources
                    .files
                    .iter()
                    .fold(hasher, |hasher, (path, bytes)| hasher.path(path).key(Key::of(bytes)));
                let imports = sources.imports.iter().map(|path| Symbol::new(path)).collect();
                Text { own: hasher.finish(), imports }
            }
        }
    }

    fn package(&self, id: PackageId) -> Text {
        let snapshot = self.run.snapshot;
        let package = snapshot.package(id);
        let hasher = named(snapshot, package, self.importers[&package.importer]);
        let hasher = with_files(hasher, snapshot, package, &self.files);
        let mut met: FxHashSet<Symbol> = FxHashSet::default();
        let mut imports = Vec::new();
        for &FileId(file) in &package.files {
            let source = &snapshot.files[file as usize];
            imports.extend(source.imports.iter().copied().filter(|&path| met.insert(path)));
        }
        Text { own: hasher.finish(), imports }
    }
}

/// The key of each node, and whether a ring can be reached from it that holds one of the packages of
/// the run, which are the first `packages` nodes. Other directories may look like rings, since
/// their programs for other builds are taken for a part of them.
///
/// Tarjan's algorithm, which finds a component after those that its edges lead to.
fn keys(nodes: &[Node], packages: u32) -> (Vec<Key>, Vec<bool>) {
    const UNMET: u32 = u32::MAX;
    let mut keys = vec![Key::default(); nodes.len()];
    let mut ringed = vec![false; nodes.len()];
    let mut done = vec![false; nodes.len()];
    let mut met = vec![UNMET; nodes.len()];
    let mut low = vec![UNMET; nodes.len()];
    let mut time = 0;
    let mut component: Vec<u32> = Vec::new();
    let mut open: Vec<(u32, usize)> = Vec::new();
    for root in 0..nodes.len() as u32 {
        if met[root as usize] == UNMET {
            open.push((root, 0));
        }
        while let Some((node, edge)) = open.pop() {
            let at = node as usize;
            if edge == 0 {
                (met[at], low[at]) = (time, time);
                time += 1;
                component.push(node);
            }
            if let Some(&target) = nodes[at].edges.get(edge) {
                open.push((node, edge + 1));
                match met[target as usize] {
                    UNMET => open.push((target, 0)),
                    seen if !done[target as usize] => low[at] = low[at].min(seen),
                    _ => {}
                }
                continue;
            }
            if let Some(&(above, _)) = open.last() {
                low[above as usize] = low[above as usize].min(low[at]);
            }
            if low[at] == met[at] {
                let start = component.iter().rposition(|&member| member == node);
                let members =
                    component.split_off(start.expect("a node is on the stack until done"));
                close(nodes, &members, packages, &mut keys, &mut ringed);
                members.iter().for_each(|&member| done[member as usize] = true);
            }
        }
    }
    (keys, ringed)
}

/// Gives the members of a component their keys; those that it leads to have theirs.
fn close(nodes: &[Node], members: &[u32], packages: u32, keys: &mut [Key], ringed: &mut [bool]) {
    let inside: FxHashSet<u32> = members.iter().copied().collect();
    let is_ring = members.iter().any(|&member| member < packages)
        && (members.len() > 1 || nodes[members[0] as usize].edges.contains(&members[0]));
    let mut parts: Vec<Key> = members
        .iter()
        .map(|&member| {
            let node = &nodes[member as usize];
            let outside = node.edges.iter().filter(|target| !inside.contains(target));
            let outside: Vec<Key> = outside.map(|&target| keys[target as usize]).collect();
            Hasher::new("node").key(node.own).keys(outside.into_iter()).finish()
        })
        .collect();
    let own = parts.clone();
    parts.sort_unstable();
    let whole = Hasher::new("component").keys(parts.into_iter()).finish();
    let is_ringed = is_ring
        || members.iter().any(|&member| {
            nodes[member as usize].edges.iter().any(|&target| ringed[target as usize])
        });
    for (&member, own) in members.iter().zip(own) {
        keys[member as usize] = Hasher::new("member").key(own).key(whole).finish();
        ringed[member as usize] = is_ringed;
    }
}

/// What directories that never change import, so that they need not be read to know it.
struct Remembered<'c> {
    cache: &'c Cache,
    key: Key,
    known: BTreeMap<PathBuf, Vec<Symbol>>,
    is_new: bool,
}

impl<'c> Remembered<'c> {
    fn load(cache: &'c Cache, importers: &FxHashMap<Importer, Key>) -> Remembered<'c> {
        let mut all: Vec<Key> = importers.values().copied().collect();
        all.sort_unstable();
        all.dedup();
        let key = Hasher::new("imports").keys(all.into_iter()).finish();
        let known = cache.load(key).and_then(|bytes| {
            let mut reader = Reader::new(&bytes);
            let known = reader.list(|reader| {
                let dir = PathBuf::from(reader.text()?);
                Some((dir, reader.list(|reader| Some(Symbol::new(reader.text()?)))?))
            })?;
            Some(known.into_iter().collect())
        });
        Remembered { cache, key, known: known.unwrap_or_default(), is_new: false }
    }

    fn imports(&self, dir: &Path) -> Option<Vec<Symbol>> {
        self.known.get(dir).cloned()
    }

    fn learn(&mut self, dir: &Path, imports: &[Symbol]) {
        // A path that is no text is read again each time.
        if dir.to_str().is_some() && !self.known.contains_key(dir) {
            self.known.insert(dir.to_owned(), imports.to_vec());
            self.is_new = true;
        }
    }

    fn store(&self) {
        if !self.is_new {
            return;
        }
        let mut writer = Writer::default();
        writer.list(self.known.iter(), |writer, (dir, imports)| {
            writer.text(dir.to_str().unwrap_or_default());
            writer.list(imports.iter(), |writer, path| writer.text(path.as_str()));
        });
        self.cache.remember(self.key, &writer.into_bytes());
    }
}
