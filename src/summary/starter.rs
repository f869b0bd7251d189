//! Functions that start what they are given as a goroutine: a project's own `safe.Go(func() { ... })`.

use crate::index::FuncId;
use crate::project::PackageId;
use crate::summary::effect::{Act, Mode};
use crate::summary::place::Root;
use crate::summary::{Summaries, Summary};

/// How many functions of dependencies are read to say what one call does.
const MAX_READ: usize = 1;

impl Summaries<'_> {
    /// Whether every call of `func` from a package of the run calls its parameter of this number (the
    /// receiver is none) in a new goroutine, and nowhere else.
    pub fn starts(&self, from: PackageId, func: FuncId, param: u32) -> bool {
        let summary = match self.versions(func.package) {
            Some(_) => self.of(func),
            None => self
                .below(from, MAX_READ)
                .and_then(|below| below.read(func))
                .map(|read| read.summary.clone()),
        };
        summary.is_some_and(|summary| starts(&summary, param))
    }
}

fn starts(summary: &Summary, param: u32) -> bool {
    let mut deeds = summary.deeds.iter().filter(|deed| deed.place.root == Root::Param(param));
    let mut is_called = false;
    let only = deeds.all(|deed| {
        let is_start =
            deed.act == Act::Called && deed.mode == Mode::Spawned && deed.place.path.is_empty();
        is_called |= is_start && deed.always;
        is_start || deed.act == Act::Captured
    });
    is_called && only
}
