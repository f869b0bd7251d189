//! What the catalog knows of a call.

use crate::catalog::{Base, Callback, Called, Catalog, Facts, Kind, Pure, Versions};
use crate::index::{Callee, Index, QualifiedName};

/// The facts about what is called; none for what has no name.
pub fn facts<'c>(catalog: &'c Catalog, index: &Index<'_>, callee: &Callee) -> &'c Facts {
    match callee.qualified(index) {
        Some(name) => named(catalog, name),
        None => catalog.facts("", None, ""),
    }
}

/// The facts about a function, method, field or type.
pub fn named(catalog: &Catalog, name: QualifiedName) -> &Facts {
    let receiver = name.receiver.map(|receiver| receiver.as_str());
    catalog.facts(name.path.as_str(), receiver, name.name.as_str())
}

/// The fact of one kind about what is called, or about its whole package; see
/// [`Catalog::covering`].
pub fn covering<'c, K: Kind>(
    catalog: &'c Catalog,
    versions: &dyn Versions,
    index: &Index<'_>,
    callee: &Callee,
) -> Option<&'c K> {
    let name = callee.qualified(index)?;
    let receiver = name.receiver.map(|receiver| receiver.as_str());
    catalog.covering(name.path.as_str(), receiver, name.name.as_str(), versions)
}

/// The parameters that are called, and when.
pub(super) fn callbacks(facts: &Facts, versions: &dyn Versions) -> Vec<(u32, Called)> {
    let params = |fact: &Callback| {
        let called = fact.called;
        fact.params
            .iter()
            .filter_map(move |place| match (place.base, &place.field) {
                (Base::Param(index), None) => Some((index, called)),
                _ => None,
            })
            .collect::<Vec<_>>()
    };
    facts.all_in_force::<Callback>(versions).flat_map(params).collect()
}

/// Whether the call neither keeps nor hands on what it is given.
pub(super) fn keeps_nothing(
    catalog: &Catalog,
    versions: &dyn Versions,
    index: &Index<'_>,
    callee: &Callee,
) -> bool {
    if let Callee::InterfaceMethod(_) = callee {
        // What is known of a package is known of its bodies; an interface's method has any body.
        let own = facts(catalog, index, callee).in_force::<Pure>(versions);
        return own.is_some_and(|pure| !pure.holds);
    }
    covering::<Pure>(catalog, versions, index, callee).is_some_and(|pure| !pure.holds)
}
