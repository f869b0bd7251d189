//! Arguments and `straggler.toml` to what a run needs to know.

use crate::catalog::{Catalog, Problem, UserTables};
use crate::config::Config;
use crate::diagnostic::Confidence;
use crate::project::{self, ConfigFile, LoadOptions};
use crate::rules::selection::Selection;

use super::{CheckArgs, MinConfidence, did_you_mean};

/// What a run needs to know besides its paths.
pub struct Settings {
    /// The rules that run.
    pub selection: Selection,
    /// What libraries do, with the team's own tables.
    pub catalog: Catalog,
}

/// Puts the arguments over the configuration file; or tells all that is wrong with either.
pub fn settings(args: &CheckArgs, options: &LoadOptions) -> Result<Settings, Vec<String>> {
    let file = match args.no_config {
        true => None,
        false => project::find_config(options)
            .transpose()
            .map_err(|note| vec![format!("{}: {}", note.path, note.message)])?,
    };
    let (config, catalog) = match &file {
        None => (Config::default(), Catalog::load(None).0),
        Some(file) => understand(file)?,
    };
    let (selection, unknown) = Selection::new(&config.overridden_by(flags(args)));
    if unknown.is_empty() {
        return Ok(Settings { selection, catalog });
    }
    Err(unknown
        .iter()
        .map(|name| {
            format!("there is no rule or group `{}`{}", name.name, did_you_mean(name.meant))
        })
        .collect())
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

fn flags(args: &CheckArgs) -> Config {
    Config {
        select: args.select.clone(),
        ignore: args.ignore.clone(),
        min_confidence: args.min_confidence.map(|least| match least {
            MinConfidence::Low => Confidence::Low,
            MinConfidence::Medium => Confidence::Medium,
            MinConfidence::High => Confidence::High,
        }),
    }
}
