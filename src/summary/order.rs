//! The order of the packages of a run: each after those that it imports.
//!
//! Imports form no ring in a program that builds. In text that does not build they may; of two
//! packages in a ring the one that is met first then counts as the importing one, and the way back
//! is not followed.

use crate::index::Index;
use crate::project::PackageId;

/// The order in which packages are read.
pub(super) struct Order {
    /// All packages of the run.
    pub packages: Vec<PackageId>,
    /// For each package its place among them.
    places: Vec<u32>,
}

impl Order {
    /// Orders the first `count` packages of the index.
    pub fn new(index: &Index<'_>, count: usize) -> Order {
        let mut order = Order { packages: Vec::new(), places: vec![u32::MAX; count] };
        let mut met = vec![false; count];
        for first in 0..count {
            let mut open: Vec<(PackageId, Vec<PackageId>)> = Vec::new();
            let mut next = Some(PackageId(first as u32));
            loop {
                if let Some(package) = next.take()
                    && let Some(met) = met.get_mut(package.0 as usize)
                    && !std::mem::replace(met, true)
                {
                    open.push((package, index.imports_in_run(package).to_vec()));
                }
                let Some((package, imports)) = open.last_mut() else { break };
                next = imports.pop();
                if next.is_none() {
                    order.places[package.0 as usize] = order.packages.len() as u32;
                    order.packages.push(*package);
                    open.pop();
                }
            }
        }
        order
    }

    /// Whether a function of `caller` may call one of `callee`, as far as what is called is read
    /// first.
    pub fn allows(&self, caller: PackageId, callee: PackageId) -> bool {
        let place = |package: PackageId| self.places.get(package.0 as usize);
        match (place(caller), place(callee)) {
            (Some(caller_at), Some(callee_at)) => callee == caller || callee_at < caller_at,
            _ => false,
        }
    }
}
