//! What one run leaves for the next.

use crate::index::Declarations;

use super::trees::Known;

/// What was read of files: the next run takes it where the text is still the same. It grows with
/// the files of a run and what they import, not with the number of runs.
#[derive(Debug, Default)]
pub struct Memory {
    pub(super) trees: Known,
    pub(super) declarations: Declarations,
}
