//! The paths that an override speaks of.

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Patterns, as they are written and as they match. One without a `/` matches at any depth, and each
/// matches a directory with all below it.
#[derive(Clone, Debug)]
pub(super) struct Globs {
    pub written: Vec<String>,
    set: GlobSet,
}

impl Globs {
    /// The patterns `written`, or the number of one that is none and what is wrong with it.
    pub fn new(written: Vec<String>) -> Result<Globs, (usize, String)> {
        let mut set = GlobSetBuilder::new();
        for (number, pattern) in written.iter().enumerate() {
            let refused = |error: globset::Error| (number, error.kind().to_string());
            let inner = pattern.strip_prefix("./").unwrap_or(pattern).trim_end_matches('/');
            let anywhere = if inner.contains('/') { "" } else { "**/" };
            for pattern in [format!("{anywhere}{inner}"), format!("{anywhere}{inner}/**")] {
                let glob = GlobBuilder::new(&pattern).literal_separator(true).build();
                set.add(glob.map_err(refused)?);
            }
        }
        let set = set.build().map_err(|error| (0, error.kind().to_string()))?;
        Ok(Globs { written, set })
    }

    pub fn matches(&self, path: &str) -> bool {
        self.set.is_match(path)
    }
}
