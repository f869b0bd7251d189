//! What a run is asked for, apart from the paths: plain settings that every door to the analysis
//! fills in and hands on, and `straggler.toml`, in which a team writes them down.
//!
//! ```toml
//! extend = "../straggler.toml"
//! ignore = ["stop-bound-too-early"]
//!
//! [[override]]
//! paths = ["*_test.go"]
//! min-confidence = "high"
//! ```
//!
//! It is data: nothing in it names a program, a variable of the environment or another machine. This
//! room knows neither which rules exist (names of rules are checked in `rules`) nor where a file is.
//! Tables under `catalog` are for `catalog` to read.

mod glob;
mod meant;
mod table;

use std::collections::BTreeMap;

use crate::diagnostic::{Confidence, Severity};

use glob::Globs;

pub use meant::nearest;
pub use table::schema;

/// The settings of a run, or those of them that one place makes. `None` and what is not in a map:
/// it makes no such setting.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Ids of rules, groups, `DEFAULT` or `ALL`: these run instead of the default ones.
    pub select: Option<Vec<String>>,
    /// Ids of rules, groups, or `ALL`: these do not run. Of two selectors that speak of one rule
    /// the narrower one decides; between equals `ignore` does.
    pub ignore: Option<Vec<String>>,
    /// The least confidence that is shown. By default medium, but all findings of a rule that
    /// `select` names.
    pub min_confidence: Option<Confidence>,
    /// The least severity that is shown.
    pub min_severity: Option<Severity>,
    /// The severity of findings, by id of a rule or group, in place of what the rule says.
    pub severity: BTreeMap<String, Severity>,
}

impl Config {
    /// These settings, but for those that `nearer` (a command line, say) makes itself.
    pub fn overridden_by(mut self, nearer: &Config) -> Config {
        self.severity.extend(nearer.severity.clone());
        Config {
            select: nearer.select.clone().or(self.select),
            ignore: nearer.ignore.clone().or(self.ignore),
            min_confidence: nearer.min_confidence.or(self.min_confidence),
            min_severity: nearer.min_severity.or(self.min_severity),
            severity: self.severity,
        }
    }
}

/// What the text of a `straggler.toml` says.
#[derive(Clone, Debug)]
pub struct ConfigText {
    /// The file whose settings hold where this one makes none, and the place where it is named.
    pub extend: Option<(String, (u32, u32))>,
    /// Its settings: those for all files, then the overrides in their order.
    pub layers: Vec<Layer>,
}

/// Settings that stand together and hold for the same files.
#[derive(Clone, Debug)]
pub struct Layer {
    /// The settings.
    pub config: Config,
    /// The line of each setting, by its key.
    pub lines: BTreeMap<&'static str, u32>,
    globs: Option<Globs>,
}

impl Layer {
    /// Whether they hold for the file at `path`: relative to the directory of the `straggler.toml`,
    /// with `/`.
    pub fn holds_for(&self, path: &str) -> bool {
        self.globs.as_ref().is_none_or(|globs| globs.matches(path))
    }

    /// The `paths` of an override as they are written.
    pub fn paths(&self) -> Option<&[String]> {
        self.globs.as_ref().map(|globs| globs.written.as_slice())
    }
}

/// Why a `straggler.toml` is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError {
    /// Line and column in bytes, from 1.
    pub line_column: (u32, u32),
    /// What is wrong: lower case, no full stop.
    pub message: String,
}

impl ConfigText {
    /// Reads the text of a `straggler.toml`. An unknown key is an error.
    pub fn parse(text: &str) -> Result<ConfigText, ConfigError> {
        table::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearer_setting_wins() {
        let text = ConfigText::parse(
            "select = ['stuck']\nmin-confidence = 'high'\nseverity = { a = 'note', b = 'note' }\n\
             [[catalog.blocking]]\nfunc = 'a.B'\n",
        );
        let file = text.expect("a configuration").layers.remove(0).config;
        let nearer = Config {
            select: Some(vec!["x".to_owned()]),
            severity: BTreeMap::from([("b".to_owned(), Severity::Error)]),
            ..Config::default()
        };
        let both = file.overridden_by(&nearer);
        assert_eq!((both.select, both.ignore), (Some(vec!["x".to_owned()]), None));
        assert_eq!(both.min_confidence, Some(Confidence::High));
        assert_eq!(both.severity["a"], Severity::Note);
        assert_eq!(both.severity["b"], Severity::Error);
    }

    /// Which of `paths` an override for `glob` speaks of.
    #[track_caller]
    fn check_glob(glob: &str, paths: &[&str], expected: &[&str]) {
        let text = format!("[[override]]\npaths = ['{glob}']\n");
        let layer = ConfigText::parse(&text).expect("a configuration").layers.remove(1);
        let matched: Vec<&str> =
            paths.iter().copied().filter(|path| layer.holds_for(path)).collect();
        assert_eq!(matched, expected, "{glob}");
    }

    #[test]
    fn a_glob_speaks_of_files_and_of_all_below_a_directory() {
        let paths = ["a.go", "a_test.go", "x/a_test.go", "x/y/b.go", "z/x/c.go"];
        check_glob("*_test.go", &paths, &["a_test.go", "x/a_test.go"]);
        check_glob("x", &paths, &["x/a_test.go", "x/y/b.go", "z/x/c.go"]);
        check_glob("x/", &paths, &["x/a_test.go", "x/y/b.go", "z/x/c.go"]);
        check_glob("./x/y", &paths, &["x/y/b.go"]);
        check_glob("x/*.go", &paths, &["x/a_test.go"]);
        check_glob("**/{b,c}.go", &paths, &["x/y/b.go", "z/x/c.go"]);
        check_glob("**", &paths, &paths);
    }

    #[track_caller]
    fn check_error(text: &str, line_column: (u32, u32), message: &str) {
        let error = ConfigText::parse(text).expect_err("an error");
        assert_eq!((error.line_column, error.message.as_str()), (line_column, message));
    }

    #[test]
    fn what_is_not_known_is_refused_with_its_place() {
        check_error(
            "ignore = []\nselct = []\n",
            (2, 1),
            "unknown field `selct`; did you mean `select`?",
        );
        check_error(
            "min-confidence = 'hig'\n",
            (1, 18),
            "unknown variant `hig`; did you mean `high`?",
        );
        check_error(
            "min-confidence = 'all'\n",
            (1, 18),
            "unknown variant `all`, expected one of `low`, `medium`, `high`",
        );
        check_error(
            "[[override]]\npath = ['x']\n",
            (2, 1),
            "unknown field `path`; did you mean `paths`?",
        );
        check_error("[[override]]\nignore = []\n", (1, 1), "missing field `paths`");
        check_error(
            "[[override]]\npaths = [\n  'a[',\n]\n",
            (3, 3),
            "unclosed character class; missing ']'",
        );
        check_error("ignore = [\n", (1, 11), "unclosed array, expected `]`");
    }
}
