//! Arguments to an exit code. Conditions on flags end here; what lies below gets plain settings.
//!
//! Findings go to standard output, byte for byte the same for the same input; notes, the summary
//! with its time, and the progress bar go to standard error. Exit codes, whatever the format:
//! 0 nothing found; 1 findings; 2 bad usage, something asked for could not be read, or an internal
//! error, also when there are findings; 3 with `--strict`, when something was skipped or not
//! understood, also when there are findings.

mod args;
mod baseline;
mod cache;
mod catalog;
mod chain;
mod config;
mod diff;
mod facts;
mod fix;
mod git;
mod manual;
mod papers;
mod progress;
mod stdin;
mod watch;

use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{ColorChoice, Parser};

use crate::analysis::{self, Keeping, Progress, Report, Settings, Timings};
use crate::project::{self, LoadOptions};
use crate::{lsp, output, rules};
use args::{CheckArgs, Cli, Command, InputArgs, TableFormat, Target};
use diff::Change;
use papers::Papers;

const FAILURE: u8 = 2;
const FINDINGS: u8 = 1;
const SKIPPED: u8 = 3;

/// Runs the command that the arguments of the process ask for.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(answer) => return finish(answer.print(), answer.exit_code() as u8),
    };
    match cli.color {
        ColorChoice::Auto => {}
        ColorChoice::Always => anstream::ColorChoice::Always.write_global(),
        ColorChoice::Never => anstream::ColorChoice::Never.write_global(),
    }
    match cli.command {
        Some(Command::Cache { command }) => cache::run(&command),
        Some(Command::Catalog { package, input }) => catalog::run(package.as_deref(), &input),
        Some(Command::Chain { input, format }) => chain::run(&input, format),
        Some(Command::Explain { rule }) => explain(&rule),
        Some(Command::Completions { shell }) => {
            print(|out| manual::write_completions(shell, out), 0)
        }
        Some(Command::Man { out: None }) => print(manual::write_page, 0),
        Some(Command::Man { out: Some(dir) }) => match manual::write_pages(&dir) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&[format!("`{}` cannot be written: {error}", dir.display())]),
        },
        Some(Command::Docs { out }) => match write_site(&out) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => fail(&[format!("`{}` cannot be written: {error}", out.display())]),
        },
        Some(Command::Rules { format: TableFormat::Table }) => print(output::write_rules, 0),
        Some(Command::Rules { format: TableFormat::Json }) => print(output::write_rules_json, 0),
        Some(Command::Lsp { .. }) => lsp(),
        Some(Command::Baseline { command }) => baseline::run(&command),
        Some(Command::Config { command }) => config::run(&command),
        Some(Command::Facts(args)) => facts::run(&args),
        Some(Command::Check(args)) => check(&args),
        None => check(&cli.check),
    }
}

fn lsp() -> ExitCode {
    let options_in =
        |dir: &Path| LoadOptions::from_env(dir, Vec::new(), None, |name| std::env::var_os(name));
    let input = BufReader::new(io::stdin());
    let output = BufWriter::new(io::stdout());
    let mut papers = Papers::default();
    let outside = lsp::Outside {
        options_in: Arc::new(options_in),
        kept: Box::new(cache::of_editor),
        write: Box::new(move |name, text| papers.write(name, text).ok()),
    };
    let goodbye = lsp::serve(input, output, outside);
    if goodbye { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write_site(dir: &Path) -> io::Result<()> {
    fs::create_dir_all(dir)?;
    for (name, page) in output::site() {
        write_file(&dir.join(name), page.as_bytes(), None)?;
    }
    Ok(())
}

fn explain(rule: &str) -> ExitCode {
    if let Some(entry) = rules::find(rule) {
        return print(|out| output::write_page(&entry.page, out), 0);
    }
    let meant = crate::config::nearest(rule, rules::registry().iter().map(|entry| entry.page.id));
    fail(&[format!("there is no rule `{rule}`{}", did_you_mean(meant))])
}

fn check(args: &CheckArgs) -> ExitCode {
    match args.watch {
        true => watch::run(&args.input.paths, || check_once(args)),
        false => check_once(args),
    }
}

fn check_once(args: &CheckArgs) -> ExitCode {
    let start = Instant::now();
    let timings = args.timings.map(|_| Arc::new(Timings::default()));
    let report = match report(args, timings.clone()) {
        Ok(report) if !args.show_suppressed => Report { suppressed: Vec::new(), ..report },
        Ok(report) => report,
        Err(messages) => return fail(&messages),
    };
    if args.diff {
        return print_diff(args, &report);
    }
    let code = exit_code(args, &report);
    for target in &args.output {
        let written = write_report(target, &report);
        if let Err(error) = written {
            let path = target.path.display();
            return fail(&[format!("--output: `{path}` cannot be written: {error}")]);
        }
    }
    let format = args.format();
    let code = print(|out| format.write(&report, out), code);
    tell(|out| {
        if !format.holds_notes() {
            output::write_notes(&report.notes, out)?;
        }
        if format.is_for_people() {
            output::write_summary(&report, start.elapsed(), out)?;
            if !args.facts.is_empty() {
                facts::write_worked_out(&report, out)?;
            }
        }
        match (args.timings, timings) {
            (Some(TableFormat::Table), Some(timings)) => {
                output::write_timings(&timings.taken(), out)
            }
            (Some(TableFormat::Json), Some(timings)) => {
                output::write_timings_json(&timings.taken(), out)
            }
            _ => Ok(()),
        }
    });
    code
}

fn report(args: &CheckArgs, timings: Option<Arc<Timings>>) -> Result<Report, Vec<String>> {
    if !args.facts.is_empty() {
        return facts::report(args, timings);
    }
    let mut options = load_options(&args.input).map_err(one)?;
    stdin::read(args, &mut options).map_err(one)?;
    let settings = Settings::find(&options, args.input.config.asked(args.config()))?;
    let known = match (&args.baseline, args.no_baseline || args.input.config.isolated) {
        (Some(path), _) => Some(baseline::read(&options, path)?),
        (None, true) => None,
        (None, false) => baseline::nearest(&options)?,
    };
    let change = diff::asked(args, &mut options).map_err(one)?;
    if change.as_ref().is_some_and(Change::is_empty) {
        return Ok(Report::default());
    }
    let analyse = || {
        let mut report = run(&options, &settings, &args.input, timings.clone())?;
        if let Some(baseline) = &known {
            report.subtract(&baseline.baseline);
        }
        if let Some(change) = &change {
            change.keep(&options, &mut report).map_err(one)?;
        }
        Ok(report)
    };
    let report = analyse()?;
    match (&args.add_ignore, args.fix) {
        (Some(reason), _) => fix::ignore(&options, reason, &report, &analyse),
        (None, true) => fix::apply(args, &options, report, &analyse),
        (None, false) => Ok(report),
    }
}

fn one(message: String) -> Vec<String> {
    vec![message]
}

fn print_diff(args: &CheckArgs, report: &Report) -> ExitCode {
    tell(|out| output::write_notes(&report.notes, out));
    let mut changes = false;
    let code = print(
        |out| {
            changes = fix::diff(args, report, out)?;
            Ok(())
        },
        0,
    );
    match (report.failed(), changes) {
        (true, _) => ExitCode::from(FAILURE),
        (false, true) if code == ExitCode::SUCCESS && !args.exit_zero => ExitCode::from(FINDINGS),
        _ => code,
    }
}

fn exit_code(args: &CheckArgs, report: &Report) -> u8 {
    let severity = args.fail_on.severity();
    let found = report.findings.iter().any(|finding| finding.severity >= severity);
    match report {
        report if report.failed() => FAILURE,
        report if args.strict && report.skipped() => SKIPPED,
        _ if found && !args.exit_zero => FINDINGS,
        _ => 0,
    }
}

fn write_report(target: &Target, report: &Report) -> io::Result<()> {
    let mut bytes = Vec::new();
    let mut plain = anstream::StripStream::new(&mut bytes);
    target.format.write(report, &mut plain)?;
    write_file(&target.path, &bytes, None)
}

/// Writes beside the file first, so that nobody ever reads half of one.
fn write_file(path: &Path, bytes: &[u8], permissions: Option<Permissions>) -> io::Result<()> {
    let mut beside = path.to_path_buf().into_os_string();
    beside.push(format!(".{}.tmp", std::process::id()));
    fs::write(&beside, bytes)
        .and_then(|()| match permissions {
            Some(permissions) => fs::set_permissions(&beside, permissions),
            None => Ok(()),
        })
        .and_then(|()| fs::rename(&beside, path))
        .inspect_err(|_| {
            // The first error is the one to tell.
            let _ = fs::remove_file(&beside);
        })
}

fn load_options(args: &InputArgs) -> Result<LoadOptions, String> {
    options_for(&args.paths, args.goroot.as_deref())
}

fn options_for(paths: &[PathBuf], goroot: Option<&Path>) -> Result<LoadOptions, String> {
    let cwd = std::env::current_dir()
        .map_err(|error| format!("the working directory cannot be read: {error}"))?;
    if let Some(root) = goroot
        && !cwd.join(root).join("src").is_dir()
    {
        return Err(format!("--goroot: `{}` holds no `src`", root.display()));
    }
    let (paths, goroot) = (paths.to_vec(), goroot.map(Path::to_path_buf));
    Ok(LoadOptions::from_env(cwd, paths, goroot, |name| std::env::var_os(name)))
}

fn run(
    options: &LoadOptions,
    settings: &Settings,
    input: &InputArgs,
    timings: Option<Arc<Timings>>,
) -> Result<Report, Vec<String>> {
    let cache = cache::open(&input.cache);
    let analysed = analysed(options, settings, input.jobs, timings, || {
        cache.as_ref().and_then(|cache| cache::keeping(cache, &input.cache, options, settings))
    });
    if let Some(trouble) = cache.and_then(|cache| cache.finish()) {
        warn(&trouble);
    }
    analysed
}

fn analysed<'k>(
    options: &LoadOptions,
    settings: &Settings,
    jobs: Option<u16>,
    timings: Option<Arc<Timings>>,
    keeping: impl FnOnce() -> Option<Keeping<'k>> + Send,
) -> Result<Report, Vec<String>> {
    let progress = Progress { timings, ..Progress::default() };
    let analysed = progress::shown(&progress, || {
        analysis::on_threads(jobs.map(usize::from), || {
            let timings = progress.timings.as_deref();
            let snapshot = Timings::phase(timings, "load", || project::load(options));
            let selections = settings.selections(options, &snapshot)?;
            let catalog = &settings.catalog;
            Ok(match keeping() {
                Some(keeping) => {
                    analysis::analyze_keeping(&snapshot, catalog, &selections, &progress, &keeping)
                }
                None => analysis::analyze(&snapshot, catalog, &selections, &progress),
            })
        })
    });
    analysed.map_err(one).flatten()
}

fn did_you_mean(name: Option<&str>) -> impl fmt::Display {
    name.map_or_else(String::new, |name| format!("; did you mean `{name}`?"))
}

/// Writes to standard output; the exit code is `code` if that succeeds.
fn print(write: impl FnOnce(&mut dyn Write) -> io::Result<()>, code: u8) -> ExitCode {
    let mut out = BufWriter::new(anstream::stdout().lock());
    let written = write(&mut out).and_then(|()| out.flush());
    finish(written, code)
}

/// The exit code after all output. A reader that has closed the pipe has seen enough.
fn finish(written: io::Result<()>, code: u8) -> ExitCode {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            fail(&[format!("cannot write the output: {error}")])
        }
        _ => ExitCode::from(code),
    }
}

fn fail(messages: &[String]) -> ExitCode {
    tell(|out| {
        let style = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Red.into())).bold();
        for message in messages {
            writeln!(out, "{style}error{style:#}: {}", output::in_line(message))?;
        }
        Ok(())
    });
    ExitCode::from(FAILURE)
}

fn warn(message: &str) {
    tell(|out| {
        let style = anstyle::Style::new().fg_color(Some(anstyle::AnsiColor::Yellow.into())).bold();
        writeln!(out, "{style}warning{style:#}: {}", output::in_line(message))
    });
}

/// Writes to standard error. There is nobody left to tell if that fails.
fn tell(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut err = BufWriter::new(anstream::stderr().lock());
    let _ = write(&mut err).and_then(|()| err.flush());
}
