//! `straggler config`: what is set, where it comes from, and whether it can be read.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::args::{ConfigArgs, ConfigCommand};
use super::{fail, one, print, tell, write_file};
use crate::analysis::{Asked, ConfigFiles, Held, Settings};
use crate::config::{self, Config};
use crate::output;
use crate::project::{self, LoadOptions, clean};
use crate::rules::selection::selectors;

/// Runs a subcommand.
pub fn run(command: &ConfigCommand) -> ExitCode {
    let answer = match command {
        ConfigCommand::Init => init(),
        ConfigCommand::Show { path, input } => show(path.as_deref(), input),
        ConfigCommand::Schema => Ok(schema()),
        ConfigCommand::Verify { files } => verify(files),
    };
    match answer {
        Ok(text) => print(|out| out.write_all(text.as_bytes()), 0),
        Err(messages) => fail(&messages),
    }
}

/// What `init` writes.
const BEGINNING: &str = "\
# Settings of straggler: https://toml.io in the form that `straggler config schema` prints. The file that is
# nearest to a Go file holds for it; `straggler config show --for FILE` tells what that makes.

# Another file of this repository, whose settings hold where this one makes none.
# extend = \"../straggler.toml\"

# Run these rules instead of the default ones, and do not run those: ids, groups, DEFAULT, ALL.
# select = [\"DEFAULT\"]
# ignore = []

# Show findings from this confidence (low, medium, high) and this severity (note, warning, error) on.
# min-confidence = \"medium\"
# min-severity = \"note\"

# [severity]
# missing-deadline = \"note\"

# Other settings for some of the files.
# [[override]]
# paths = [\"*_test.go\", \"internal/legacy\"]
# min-confidence = \"high\"
";

fn init() -> Result<String, Vec<String>> {
    let options = here()?;
    let path = options.cwd.join(project::CONFIG);
    if path.exists() {
        return Err(one(format!("`{}` exists", project::CONFIG)));
    }
    write_file(&path, BEGINNING.as_bytes(), None)
        .map_err(|error| one(format!("`{}` cannot be written: {error}", project::CONFIG)))?;
    tell(|out| writeln!(out, "{}: every setting is there to be uncommented", project::CONFIG));
    Ok(String::new())
}

fn show(path: Option<&Path>, input: &ConfigArgs) -> Result<String, Vec<String>> {
    let options = here()?;
    let settings = Settings::find(&options, input.asked(Config::default()))?;
    let path = clean(&options.cwd.join(path.unwrap_or(Path::new("x.go"))));
    let layers = settings.of_path(&options, &path)?;
    let mut shown = String::new();
    let mut line = |key: &'static str, value: &dyn Fn(&Config) -> Option<String>, default: &str| {
        let set = |held: &Arc<Held>| Some((value(&held.layer.config)?, place(held, key)));
        let default = || (default.to_owned(), "default".to_owned());
        let (value, place) = layers.iter().rev().find_map(set).unwrap_or_else(default);
        let _ = writeln!(shown, "{:<40} # {place}", format!("{key} = {value}"));
    };
    let quoted = |word: &str| format!("\"{word}\"");
    let list = |names: &Vec<String>| {
        format!("[{}]", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", "))
    };
    line("select", &|config| config.select.as_ref().map(list), "[\"DEFAULT\"]");
    line("ignore", &|config| config.ignore.as_ref().map(list), "[]");
    let confidence = |config: &Config| config.min_confidence.map(output::confidence_name);
    line("min-confidence", &|config| confidence(config).map(quoted), "\"medium\"");
    let severity = |config: &Config| config.min_severity.map(output::severity_name);
    line("min-severity", &|config| severity(config).map(quoted), "\"note\"");
    let mut rules: Vec<&String> =
        layers.iter().flat_map(|held| held.layer.config.severity.keys()).collect();
    rules.sort_unstable();
    rules.dedup();
    for rule in rules {
        let set = |held: &&Arc<Held>| held.layer.config.severity.contains_key(rule);
        let held = layers.iter().rev().find(set).expect("a layer sets it");
        let value = quoted(output::severity_name(held.layer.config.severity[rule]));
        let setting = format!("severity.{rule} = {value}");
        let _ = writeln!(shown, "{setting:<40} # {}", place(held, "severity"));
    }
    Ok(shown)
}

/// Where a layer makes the setting `key`.
fn place(held: &Held, key: &str) -> String {
    let mut place = output::in_line(&held.origin).into_owned();
    if let Some(line) = held.layer.lines.get(key) {
        let _ = write!(place, ":{line}");
    }
    if let Some(paths) = held.layer.paths() {
        let _ = write!(place, ", for {}", output::in_line(&paths.join(", ")));
    }
    place
}

/// The JSON Schema, as it stands in the repository.
pub fn schema() -> String {
    let schema = config::schema(&selectors());
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    format!("{text}\n")
}

fn verify(files: &[PathBuf]) -> Result<String, Vec<String>> {
    let options = here()?;
    let named = |path: &PathBuf| ConfigFiles::Named(path.clone());
    let asked: Vec<ConfigFiles> = match files {
        [] => vec![ConfigFiles::Nearest],
        files => files.iter().map(named).collect(),
    };
    let wrong: Vec<String> = asked
        .into_iter()
        .filter_map(|files| Settings::find(&options, Asked { files, ..Asked::default() }).err())
        .flatten()
        .collect();
    if wrong.is_empty() { Ok(String::new()) } else { Err(wrong) }
}

fn here() -> Result<LoadOptions, Vec<String>> {
    let cwd = std::env::current_dir()
        .map_err(|error| one(format!("the working directory cannot be read: {error}")))?;
    Ok(LoadOptions::new(cwd, Vec::new()))
}
