//! `straggler baseline`: what a team puts up with for now.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::{BaselineArgs, BaselineCommand};
use super::{FAILURE, FINDINGS, one};
use super::{fail, load_options, run as run_analysis, tell, write_file};
use crate::analysis::{Baseline, BaselineEntry, Report, Settings};
use crate::config::Config;
use crate::diagnostic::Note;
use crate::output;
use crate::project::{self, ConfigFile, LoadOptions, clean, display};

/// A baseline, and where it is.
pub struct Read {
    /// What it holds.
    pub baseline: Baseline,
    path: PathBuf,
}

/// The baseline at `path`.
pub fn read(options: &LoadOptions, path: &Path) -> Result<Read, Vec<String>> {
    project::read_baseline(options, path).map_err(told).and_then(understood)
}

/// The nearest baseline at or above the working directory, if there is one.
pub fn nearest(options: &LoadOptions) -> Result<Option<Read>, Vec<String>> {
    project::find_baseline(options).map(|file| file.map_err(told).and_then(understood)).transpose()
}

fn told(note: Note) -> Vec<String> {
    vec![format!("{}: {}", note.path, note.message)]
}

fn understood(file: ConfigFile) -> Result<Read, Vec<String>> {
    let name = Path::new(&file.path).file_name().map(PathBuf::from).unwrap_or_default();
    match Baseline::parse(&file.text) {
        Ok(baseline) => Ok(Read { baseline, path: file.dir.join(name) }),
        Err(error) => Err(vec![format!("{}:{}: {}", file.path, error.line, error.message)]),
    }
}

/// Runs a subcommand.
pub fn run(command: &BaselineCommand) -> ExitCode {
    let answer = match command {
        BaselineCommand::Create(args) => create(args),
        BaselineCommand::Update { add, args } => update(args, *add),
        BaselineCommand::Check(args) => check(args),
    };
    match answer {
        Ok(code) => ExitCode::from(code),
        Err(messages) => fail(&messages),
    }
}

fn create(args: &BaselineArgs) -> Result<u8, Vec<String>> {
    let (options, report) = analysed(args)?;
    let path = match &args.file {
        Some(file) => clean(&options.cwd.join(file)),
        None => options.cwd.join(project::BASELINE),
    };
    let shown = display(&path, &options.cwd);
    if path.exists() {
        return Err(one(format!("`{shown}` exists; `straggler baseline update` renews it")));
    }
    let found = found(&options, &path, &report);
    write(&path, &shown, &found)?;
    say(&format!("{shown}: {}", entries(found.len())));
    Ok(code(&report, 0))
}

fn update(args: &BaselineArgs, add: bool) -> Result<u8, Vec<String>> {
    let (options, report) = analysed(args)?;
    let Read { baseline, path } = named(args, &options)?;
    let found = found(&options, &path, &report);
    let stale = stale(&options, &path, &report, &baseline, &found);
    let new = found.without(&baseline);
    let mut updated = baseline.without(&stale);
    if add {
        updated = updated.with(&found);
    }
    let shown = display(&path, &options.cwd);
    write(&path, &shown, &updated)?;
    let (verb, new) = if add { ("added", new.len()) } else { ("new and not added", new.len()) };
    say(&format!("{shown}: {}; {} dropped; {new} {verb}", entries(updated.len()), stale.len()));
    Ok(code(&report, 0))
}

fn check(args: &BaselineArgs) -> Result<u8, Vec<String>> {
    let (options, report) = analysed(args)?;
    let Read { baseline, path } = named(args, &options)?;
    let found = found(&options, &path, &report);
    let stale = stale(&options, &path, &report, &baseline, &found);
    let shown = display(&path, &options.cwd);
    for BaselineEntry { path, rule, message } in stale.entries() {
        say(&format!("{shown}: found no more: {path}: {rule}: {message}"));
    }
    say(&format!("{shown}: {}; {} stale", entries(baseline.len()), stale.len()));
    Ok(code(&report, if stale.is_empty() { 0 } else { FINDINGS }))
}

/// What is found, with the notes told.
fn analysed(args: &BaselineArgs) -> Result<(LoadOptions, Report), Vec<String>> {
    let options = load_options(&args.input).map_err(one)?;
    let settings = Settings::find(&options, args.input.config.asked(Config::default()))?;
    let report = run_analysis(&options, &settings, &args.input, None)?;
    tell(|out| output::write_notes(&report.notes, out));
    Ok((options, report))
}

fn code(report: &Report, otherwise: u8) -> u8 {
    if report.failed() { FAILURE } else { otherwise }
}

fn named(args: &BaselineArgs, options: &LoadOptions) -> Result<Read, Vec<String>> {
    match &args.file {
        Some(file) => read(options, file),
        None => nearest(options)?.ok_or_else(|| {
            one(format!(
                "there is no {} here or above; `straggler baseline create` writes one",
                project::BASELINE
            ))
        }),
    }
}

/// What is found, with paths from the directory of the baseline.
fn found(options: &LoadOptions, baseline: &Path, report: &Report) -> Baseline {
    let dir = baseline.parent().unwrap_or(&options.cwd);
    Baseline::of(report, &|path| display(&clean(&options.cwd.join(path)), dir))
}

/// The entries that are found no more in files that were analysed, or that are gone.
fn stale(
    options: &LoadOptions,
    path: &Path,
    report: &Report,
    baseline: &Baseline,
    found: &Baseline,
) -> Baseline {
    let dir = path.parent().unwrap_or(&options.cwd);
    baseline.stale(found, &|entry| {
        let file = clean(&dir.join(entry));
        report.reported.contains(&display(&file, &options.cwd)) || !file.exists()
    })
}

fn write(path: &Path, shown: &str, baseline: &Baseline) -> Result<(), Vec<String>> {
    write_file(path, baseline.to_text().as_bytes(), None)
        .map_err(|error| one(format!("`{shown}` cannot be written: {error}")))
}

fn entries(count: usize) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

fn say(line: &str) {
    tell(|out| writeln!(out, "{}", output::in_line(line)));
}
