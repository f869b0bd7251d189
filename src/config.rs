//! What a run is asked for, apart from the paths: plain settings that every door to the analysis
//! fills in and hands on, and `straggler.toml`, in which a team writes them down.
//!
//! ```toml
//! ignore = ["stop-bound-too-early"]
//! min-confidence = "high"
//! ```
//!
//! It knows neither which rules exist (names of rules are checked in `rules`) nor where a file is.
//! Tables under `catalog` are for `catalog` to read.

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::diagnostic::Confidence;
use crate::source::SourceText;

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

/// Why a `straggler.toml` is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Line and column in bytes, from 1.
    pub line_column: (u32, u32),
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

impl Config {
    /// Reads the text of a `straggler.toml`. An unknown key is an error.
    pub fn parse(text: &str) -> Result<Config, ConfigError> {
        let table: Table = toml::from_str(text).map_err(|error| {
            let start = error.span().map_or(0, |span| span.start);
            let position = SourceText::new(text.as_bytes().to_vec()).position(start as u32);
            let message = error.message().lines().collect::<Vec<_>>().join("; ");
            ConfigError { line_column: (position.line, position.column), message }
        })?;
        Ok(Config {
            select: table.select,
            ignore: table.ignore,
            min_confidence: table.min_confidence.map(|least| match least {
                Least::Low => Confidence::Low,
                Least::Medium => Confidence::Medium,
                Least::High => Confidence::High,
            }),
        })
    }

    /// These settings, but for those that `nearer` (a command line, say) makes itself.
    pub fn overridden_by(self, nearer: Config) -> Config {
        let either = |near: Vec<String>, far| if near.is_empty() { far } else { near };
        Config {
            select: either(nearer.select, self.select),
            ignore: either(nearer.ignore, self.ignore),
            min_confidence: nearer.min_confidence.or(self.min_confidence),
        }
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Table {
    #[serde(default)]
    select: Vec<String>,
    #[serde(default)]
    ignore: Vec<String>,
    min_confidence: Option<Least>,
    #[serde(rename = "catalog")]
    _catalog: Option<IgnoredAny>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Least {
    Low,
    Medium,
    High,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_setting_wins() {
        let file = Config::parse(
            "select = ['stuck']\nmin-confidence = 'high'\n[[catalog.blocking]]\nfunc = 'a.B'\n",
        )
        .expect("a configuration");
        let flags = Config { select: vec!["x".to_owned()], ..Config::default() };
        let both = file.overridden_by(flags);
        assert_eq!((both.select, both.ignore), (vec!["x".to_owned()], vec![]));
        assert_eq!(both.min_confidence, Some(Confidence::High));
    }

    #[track_caller]
    fn check_error(text: &str, line_column: (u32, u32), message: &str) {
        let error = Config::parse(text).expect_err("an error");
        assert_eq!((error.line_column, error.message.as_str()), (line_column, message));
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        check_error(
            "ignore = []\nselct = []\n",
            (2, 1),
            "unknown field `selct`, expected one of `select`, `ignore`, `min-confidence`, `catalog`",
        );
        check_error(
            "min-confidence = 'all'\n",
            (1, 18),
            "unknown variant `all`, expected one of `low`, `medium`, `high`",
        );
        check_error("ignore = [\n", (1, 11), "unclosed array, expected `]`");
    }
}
