//! A configuration file and what was asked for more nearly, to what a run needs to know. Every door
//! to the analysis comes through here, so that all find the same rules switched on.

use crate::catalog::{Catalog, Problem, UserTables};
use crate::config::Config;
use crate::project::{self, ConfigFile, LoadOptions};
use crate::rules::selection::Selection;

/// What a run needs to know besides its paths.
#[derive(Debug)]
pub struct Settings {
    /// The rules that run.
    pub selection: Selection,
    /// What libraries do, with the team's own tables.
    pub catalog: Catalog,
}

impl Settings {
    /// The settings of the configuration file that holds for `options`, if `with_file`, where
    /// `nearer` makes none itself; or all that is wrong with either, each on a line. The rules
    /// `unless_named` run only if they are selected by their own ids.
    pub fn find(
        options: &LoadOptions,
        with_file: bool,
        nearer: Config,
        unless_named: &[&str],
    ) -> Result<Settings, Vec<String>> {
        let file = with_file
            .then(|| project::find_config(options))
            .flatten()
            .transpose()
            .map_err(|note| vec![format!("{}: {}", note.path, note.message)])?;
        let (config, catalog) = match &file {
            None => (Config::default(), Catalog::load(None).0),
            Some(file) => understand(file)?,
        };
        let mut config = config.overridden_by(nearer);
        let unnamed = unless_named.iter().map(|&rule| rule.to_owned());
        config.ignore.extend(unnamed.filter(|rule| !config.select.contains(rule)));
        let (selection, unknown) = Selection::new(&config);
        if unknown.is_empty() {
            return Ok(Settings { selection, catalog });
        }
        Err(unknown
            .iter()
            .map(|name| {
                let meant = name.meant.map(|meant| format!("; did you mean `{meant}`?"));
                let meant = meant.unwrap_or_default();
                format!("there is no rule or group `{}`{meant}", name.name)
            })
            .collect())
    }
}

fn understand(file: &ConfigFile) -> Result<(Config, Catalog), Vec<String>> {
    let config = Config::parse(&file.text).map_err(|error| {
        let (line, column) = error.line_column;
        vec![format!("{}:{line}:{column}: {}", file.path, error.message)]
    })?;
    let tables = UserTables { path: &file.path, text: &file.text };
    let (catalog, problems) = Catalog::load(Some(tables));
    if problems.is_empty() {
        return Ok((config, catalog));
    }
    let told = |Problem { path, line, column, message }: &Problem| {
        format!("{path}:{line}:{column}: {message}")
    };
    Err(problems.iter().map(told).collect())
}
