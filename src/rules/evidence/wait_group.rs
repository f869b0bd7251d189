//! Calls of the methods of a `sync.WaitGroup`.

use crate::rules::scene::Scene;
use crate::syntax::ExprId;

/// The group, or the pointer to one, that a call of this method is for, as it is written.
pub(super) fn of_call(scene: &Scene<'_>, call: ExprId, method: &str) -> Option<ExprId> {
    let (base, name) = scene.method_call(call)?;
    let is_group = || scene.info.type_of(base).strip_pointer().is_named("sync", "WaitGroup");
    (name.name.as_str() == method && is_group()).then_some(base)
}
