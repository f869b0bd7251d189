//! What a finding or a summary rests on in other packages, beside their surfaces, as bytes that another run
//! can compare with what it finds.

use std::collections::BTreeMap;

use super::stored::small;
use super::surfaces::Surfaces;
use crate::cache::{Key, Reader, Writer};
use crate::index::FuncId;
use crate::index::reads::Reads;
use crate::project::{Package, PackageId};
use crate::source::FileId;

/// What was looked at in other packages.
pub struct Rests {
    /// The keys of paths, and of what stands there.
    files: Vec<(Key, Key)>,
    /// The same of files of which some functions were looked at.
    parts: Vec<(Key, Key, Vec<Part>)>,
    /// The names of packages, functions there by number, and what they do.
    called: Vec<(Key, u32, Key)>,
}

/// A function of a file by its place in it, and its text.
type Part = (u32, Key);

impl Rests {
    /// What `reads` notes that a package has looked at; `does` tells what a function does. `None` if it does
    /// not for one of them.
    pub fn of(
        reads: Reads,
        own: &Package,
        surfaces: &Surfaces,
        does: impl Fn(FuncId) -> Option<Key>,
    ) -> Option<Rests> {
        let Reads { mut files, bodies, called, .. } = reads;
        let is_other = |file: FileId| !own.files.contains(&file) && surfaces.placed(file).is_some();
        let mut parts: BTreeMap<FileId, Vec<Part>> = BTreeMap::new();
        for (file, start) in bodies.into_iter().filter(|&(file, _)| is_other(file)) {
            match surfaces.bodies(file).and_then(|bodies| bodies.starting_at(start)) {
                Some(part) => parts.entry(file).or_default().push(part),
                // Such as a function literal of a variable.
                None => {
                    files.insert(file);
                }
            }
        }
        parts.retain(|file, _| !files.contains(file));
        let files = files.into_iter().filter(|&file| is_other(file));
        let parts = parts.into_iter().filter_map(|(file, mut parts)| {
            parts.sort_unstable();
            let (path, text) = surfaces.placed(file)?;
            Some((path, text, parts))
        });
        let is_other = |other: PackageId| other != own.id && surfaces.holds(other);
        let called = called.into_iter().filter(|func| is_other(func.package));
        let called = called
            .map(|func| Some((surfaces.name(func.package), func.index, does(func)?)))
            .collect::<Option<Vec<_>>>()?;
        let files = files.filter_map(|file| surfaces.placed(file)).collect();
        let mut rests = Rests { files, parts: parts.collect(), called };
        rests.files.sort_unstable();
        rests.parts.sort_unstable();
        rests.called.sort_unstable();
        Some(rests)
    }

    /// Whether all of it is as it was. `does` tells what a function does that may be looked at.
    pub fn hold(&self, surfaces: &Surfaces, does: impl Fn(FuncId) -> Option<Key>) -> bool {
        let is_same = |&(path, text): &(Key, Key)| {
            surfaces.file(path).is_some_and(|file| surfaces.text(file) == text)
        };
        let are_the_same = |(path, text, parts): &(Key, Key, Vec<Part>)| {
            let Some(file) = surfaces.file(*path) else { return false };
            surfaces.text(file) == *text
                || surfaces.bodies(file).is_some_and(|bodies| {
                    parts.iter().all(|&(place, text)| bodies.text(place) == Some(text))
                })
        };
        let does_the_same = |&(name, index, did): &(Key, u32, Key)| {
            let func = surfaces.named(name).map(|package| FuncId { package, index });
            func.and_then(&does) == Some(did)
        };
        self.files.iter().all(is_same)
            && self.parts.iter().all(are_the_same)
            && self.called.iter().all(does_the_same)
    }

    /// The same in this run, where it holds.
    pub fn reads(&self, surfaces: &Surfaces) -> Reads {
        let files = self.files.iter().filter_map(|&(path, _)| surfaces.file(path));
        let starts = self.parts.iter().flat_map(|(path, _, parts)| {
            let file = surfaces.file(*path);
            let bodies = file.and_then(|file| surfaces.bodies(file));
            let starts = parts.iter().filter_map(move |&(place, _)| bodies?.start(place));
            file.into_iter().flat_map(move |file| starts.clone().map(move |start| (file, start)))
        });
        let called = self
            .called
            .iter()
            .filter_map(|&(name, index, _)| Some(FuncId { package: surfaces.named(name)?, index }));
        Reads {
            files: files.collect(),
            bodies: starts.collect(),
            called: called.collect(),
            ..Reads::default()
        }
    }

    /// Its bytes.
    pub fn write(&self, writer: &mut Writer) {
        writer.list(self.files.iter(), |writer, (path, text)| {
            writer.data(path.bytes());
            writer.data(text.bytes());
        });
        writer.list(self.parts.iter(), |writer, (path, text, parts)| {
            writer.data(path.bytes());
            writer.data(text.bytes());
            writer.list(parts.iter(), |writer, (place, text)| {
                writer.number((*place).into());
                writer.data(text.bytes());
            });
        });
        writer.list(self.called.iter(), |writer, (name, index, does)| {
            writer.data(name.bytes());
            writer.number((*index).into());
            writer.data(does.bytes());
        });
    }

    /// What was written.
    pub fn read(reader: &mut Reader<'_>) -> Option<Rests> {
        let key = |reader: &mut Reader<'_>| Key::read(reader.data()?);
        Some(Rests {
            files: reader.list(|reader| Some((key(reader)?, key(reader)?)))?,
            parts: reader.list(|reader| {
                let (path, text) = (key(reader)?, key(reader)?);
                let parts = reader.list(|reader| Some((small(reader)?, key(reader)?)))?;
                Some((path, text, parts))
            })?,
            called: reader.list(|reader| Some((key(reader)?, small(reader)?, key(reader)?)))?,
        })
    }
}
