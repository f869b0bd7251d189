//! Arguments to an exit code. Conditions on flags end here; what lies below gets plain settings.
//!
//! Findings go to standard output, byte for byte the same for the same input; notes, the summary
//! with its time, and the progress bar go to standard error. Exit codes, whatever the format:
//! 0 nothing found; 1 findings; 2 bad usage, something asked for could not be read, or an internal
//! error, also when there are findings; 3 with `--strict`, when something was skipped or not
//! understood, also when there are findings.

mod baseline;
mod diff;
mod fix;
mod git;
mod progress;

use std::fmt;
use std::fs::{self, Permissions};
use std::io::{self, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Instant;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use crate::analysis::{self, Report, Settings};
use crate::config::Config;
use crate::diagnostic::{Confidence, Severity};
use crate::project::{self, LoadOptions};
use crate::rules::selection::nearest;
use crate::{lsp, output, rules};
use diff::Change;

const FAILURE: u8 = 2;
const FINDINGS: u8 = 1;
const SKIPPED: u8 = 3;

/// Finds goroutines left behind in Go source.
#[derive(Parser)]
#[command(name = "straggler", version, args_conflicts_with_subcommands = true)]
#[command(max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    check: CheckArgs,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    color: ColorChoice,
}

#[derive(Subcommand)]
enum Command {
    /// Analyse files, directories and packages: what happens without a command, too
    Check(CheckArgs),
    /// Show the page of a rule
    Explain {
        /// The rule's id
        rule: String,
    },
    /// Serve an editor: the Language Server Protocol on standard input and output
    Lsp {
        /// The default, and the only way; taken since editors like to say so
        #[arg(long, hide = true)]
        stdio: bool,
    },
    /// Put up with today's findings, so that only new ones are reported
    Baseline {
        #[command(subcommand)]
        command: BaselineCommand,
    },
    /// List all rules
    Rules {
        /// How to print them
        #[arg(long, value_enum, default_value = "table")]
        format: RulesFormat,
    },
}

#[derive(Args)]
struct CheckArgs {
    #[command(flatten)]
    input: InputArgs,
    /// How to print the findings
    #[arg(long, value_enum, default_value = "human")]
    format: Format,
    /// Write the findings to a file, too; may be given several times
    #[arg(long, value_name = "FORMAT:PATH", value_parser = parse_target)]
    output: Vec<Target>,
    /// Run these rules instead of the default ones: ids, groups, DEFAULT, ALL
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    select: Vec<String>,
    /// Do not run these rules: ids, groups, ALL
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    ignore: Vec<String>,
    /// Show findings from this confidence on [default: medium; low for rules named in --select]
    #[arg(long, value_enum, value_name = "LEVEL")]
    min_confidence: Option<MinConfidence>,
    /// The least severity of a finding that makes the exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "note")]
    fail_on: FailOn,
    /// Exit with 0 even when there are findings
    #[arg(long, conflicts_with = "fail_on")]
    exit_zero: bool,
    /// Exit with 3 when anything was skipped or has a syntax error
    #[arg(long)]
    strict: bool,
    /// Make the safe fixes of the findings in the files, and report what is left
    #[arg(long, conflicts_with = "staged")]
    fix: bool,
    /// With --fix or --diff: the fixes that may change what the program does, too
    #[arg(long)]
    unsafe_fixes: bool,
    /// Print what --fix would change as a patch, and change nothing; exit with 1 if it would
    #[arg(long, conflicts_with_all = ["fix", "output", "format"])]
    diff: bool,
    /// Report only what has to do with lines that were changed since HEAD left the line of REV
    #[arg(long, value_name = "REV", group = "change")]
    since: Option<String>,
    /// Analyse what is staged, and report only what has to do with staged changes
    #[arg(long, group = "change")]
    staged: bool,
    /// Report only what has to do with lines that a patch changes; `-` is standard input
    #[arg(long, value_name = "FILE", group = "change")]
    diff_file: Option<PathBuf>,
    /// Leave out the findings of this baseline [default: the nearest straggler-baseline.txt]
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Leave out nothing for a baseline
    #[arg(long, conflicts_with = "baseline")]
    no_baseline: bool,
}

/// What is analysed, and with what.
#[derive(Args)]
struct InputArgs {
    /// Files, directories, `dir/...`, or import paths of the module [default: .]
    paths: Vec<PathBuf>,
    /// Read no configuration file and no baseline that is not named
    #[arg(long)]
    no_config: bool,
    /// Neither read nor write the cache
    #[arg(long)]
    no_cache: bool,
    /// The Go installation whose standard library is read [default: found as `go` would]
    #[arg(long, value_name = "DIR")]
    goroot: Option<PathBuf>,
    /// Number of threads [default: as many as there are processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    jobs: Option<u16>,
}

#[derive(Subcommand)]
enum BaselineCommand {
    /// Write a baseline of all that is found
    Create(BaselineArgs),
    /// Drop the entries that are found no more
    Update {
        /// Take in what is found and not in it yet, too
        #[arg(long)]
        add: bool,
        #[command(flatten)]
        args: BaselineArgs,
    },
    /// Exit with 1 if the baseline holds what is found no more
    Check(BaselineArgs),
}

#[derive(Args)]
struct BaselineArgs {
    /// The baseline [default: the nearest straggler-baseline.txt]
    #[arg(long, value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    input: InputArgs,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Format {
    /// The source with the story of the finding on it
    Human,
    /// One line for each finding
    Concise,
    /// One JSON document
    Json,
    /// One JSON document for each finding, on a line of its own
    Jsonl,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// GitLab's code quality report
    Gitlab,
    /// Checkstyle's XML
    Checkstyle,
    /// JUnit's XML
    Junit,
    /// reviewdog's JSON
    Rdjson,
    /// Issues of Azure Pipelines
    Azure,
    /// Inspections of TeamCity
    Teamcity,
}

impl Format {
    fn write(self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::Human => output::write_human(report, out),
            Format::Concise => output::write_concise(report, out),
            Format::Json => output::write_json(report, out),
            Format::Jsonl => output::write_json_lines(report, out),
            Format::Sarif => output::write_sarif(report, out),
            Format::Github => output::write_github(report, out),
            Format::Gitlab => output::write_gitlab(report, out),
            Format::Checkstyle => output::write_checkstyle(report, out),
            Format::Junit => output::write_junit(report, out),
            Format::Rdjson => output::write_rdjson(report, out),
            Format::Azure => output::write_azure(report, out),
            Format::Teamcity => output::write_teamcity(report, out),
        }
    }

    /// Whether the notes are part of it; else they are told on standard error.
    fn holds_notes(self) -> bool {
        matches!(self, Format::Json | Format::Sarif)
    }
}

/// A file that the findings are written to.
#[derive(Clone)]
struct Target {
    format: Format,
    path: PathBuf,
}

fn parse_target(text: &str) -> Result<Target, String> {
    let (format, path) = text.split_once(':').ok_or("expected `FORMAT:PATH`")?;
    let format = Format::from_str(format, false)?;
    match path {
        "" => Err("the path is missing".to_owned()),
        path => Ok(Target { format, path: path.into() }),
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Note,
}

impl FailOn {
    fn severity(self) -> Severity {
        match self {
            FailOn::Error => Severity::Error,
            FailOn::Warning => Severity::Warning,
            FailOn::Note => Severity::Note,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
enum MinConfidence {
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, ValueEnum)]
enum RulesFormat {
    Table,
    Json,
}

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
        Some(Command::Explain { rule }) => explain(&rule),
        Some(Command::Rules { format: RulesFormat::Table }) => print(output::write_rules, 0),
        Some(Command::Rules { format: RulesFormat::Json }) => print(output::write_rules_json, 0),
        Some(Command::Lsp { .. }) => lsp(),
        Some(Command::Baseline { command }) => baseline::run(&command),
        Some(Command::Check(args)) => check(&args),
        None => check(&cli.check),
    }
}

fn lsp() -> ExitCode {
    let options_in =
        |dir: &Path| LoadOptions::from_env(dir, Vec::new(), None, |name| std::env::var_os(name));
    let input = BufReader::new(io::stdin());
    let goodbye = lsp::serve(input, BufWriter::new(io::stdout()), Arc::new(options_in));
    if goodbye { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn explain(rule: &str) -> ExitCode {
    if let Some(entry) = rules::find(rule) {
        return print(|out| output::write_page(&entry.page, out), 0);
    }
    let meant = nearest(rule, rules::registry().iter().map(|entry| entry.page.id));
    fail(&[format!("there is no rule `{rule}`{}", did_you_mean(meant))])
}

fn check(args: &CheckArgs) -> ExitCode {
    let start = Instant::now();
    let report = match report(args) {
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
    let code = print(|out| args.format.write(&report, out), code);
    tell(|out| {
        if !args.format.holds_notes() {
            output::write_notes(&report, out)?;
        }
        if args.format == Format::Human {
            output::write_summary(&report, start.elapsed(), out)?;
        }
        Ok(())
    });
    code
}

fn report(args: &CheckArgs) -> Result<Report, Vec<String>> {
    let mut options = load_options(&args.input).map_err(one)?;
    let settings = Settings::find(&options, !args.input.no_config, flags(args))?;
    let known = match (&args.baseline, args.no_baseline || args.input.no_config) {
        (Some(path), _) => Some(baseline::read(&options, path)?),
        (None, true) => None,
        (None, false) => baseline::nearest(&options)?,
    };
    let change = diff::asked(args, &mut options).map_err(one)?;
    if change.as_ref().is_some_and(Change::is_empty) {
        return Ok(Report::default());
    }
    let analyse = || {
        let mut report = run(&options, &settings, args.input.jobs).map_err(one)?;
        if let Some(baseline) = &known {
            report.subtract(&baseline.baseline);
        }
        if let Some(change) = &change {
            change.keep(&options, &mut report).map_err(one)?;
        }
        Ok(report)
    };
    let report = analyse()?;
    match args.fix {
        true => fix::apply(args, &options, report, &analyse),
        false => Ok(report),
    }
}

fn one(message: String) -> Vec<String> {
    vec![message]
}

/// The settings that the arguments make.
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

fn print_diff(args: &CheckArgs, report: &Report) -> ExitCode {
    tell(|out| output::write_notes(report, out));
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
    let cwd = std::env::current_dir()
        .map_err(|error| format!("the working directory cannot be read: {error}"))?;
    if let Some(root) = &args.goroot
        && !cwd.join(root).join("src").is_dir()
    {
        return Err(format!("--goroot: `{}` holds no `src`", root.display()));
    }
    let (paths, goroot) = (args.paths.clone(), args.goroot.clone());
    Ok(LoadOptions::from_env(cwd, paths, goroot, |name| std::env::var_os(name)))
}

fn run(options: &LoadOptions, settings: &Settings, jobs: Option<u16>) -> Result<Report, String> {
    let Settings { selection, catalog } = settings;
    progress::shown(|progress| {
        analysis::on_threads(jobs.map(usize::from), || {
            let snapshot = project::load(options);
            analysis::analyze(&snapshot, catalog, selection, progress)
        })
    })
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

/// Writes to standard error. There is nobody left to tell if that fails.
fn tell(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) {
    let mut err = BufWriter::new(anstream::stderr().lock());
    let _ = write(&mut err).and_then(|()| err.flush());
}
