//! What a run is asked for, apart from the paths: plain settings that every door to the analysis
//! fills in and hands on.
//!
//! It knows neither which rules exist (names of rules are checked in `rules`) nor where a setting
//! came from.

use crate::diagnostic::Confidence;

/// The settings of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Ids of rules, groups, or `ALL`: these run instead of the default ones. Empty: the default.
    pub select: Vec<String>,
    /// Ids of rules, groups, or `ALL`: these do not run. Of two selectors that speak of one rule
    /// the narrower one decides; between equals `ignore` does.
    pub ignore: Vec<String>,
    /// The least confidence that is shown. `None`: medium, but all findings of a rule that
    /// `select` names.
    pub min_confidence: Option<Confidence>,
}
