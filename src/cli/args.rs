//! What can be asked for on the command line. `--help` is made of the comments here.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::{Args, ColorChoice, Parser, Subcommand, ValueEnum};

use crate::analysis::{self, Asked, ConfigFiles, Report};
use crate::config::Config;
use crate::diagnostic::{Confidence, Severity};
use crate::output;

/// Finds goroutines left behind in Go source.
#[derive(Parser)]
#[command(name = "straggler", version, args_conflicts_with_subcommands = true)]
#[command(max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Option<Command>,
    #[command(flatten)]
    pub check: CheckArgs,
    /// When to use colour
    #[arg(long, global = true, value_name = "WHEN", default_value = "auto")]
    pub color: ColorChoice,
}

#[derive(Subcommand)]
pub enum Command {
    /// Analyse files, directories and packages: what happens without a command, too
    Check(CheckArgs),
    /// Show the chains of HTTP filters that a program builds, outermost first, with what each does
    Chain {
        #[command(flatten)]
        input: InputArgs,
        /// How to print them
        #[arg(long, value_enum, default_value = "table")]
        format: TableFormat,
    },
    /// Show what is known of a package's functions and types, and where from
    Catalog {
        /// The package's import path; without it, the packages of which something is known
        #[arg(long = "for", value_name = "PKG")]
        package: Option<String>,
        #[command(flatten)]
        input: InputArgs,
    },
    /// See or delete what runs keep for later ones
    Cache {
        #[command(subcommand)]
        command: CacheCommand,
    },
    /// Work out what is to be known of packages, and write it to a file for runs elsewhere
    Facts(FactsArgs),
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
    /// See, check or begin the configuration
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Print a script that completes the arguments of straggler in a shell
    Completions {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
    /// Write the pages of the rules as a website
    Docs {
        /// The directory
        #[arg(long, value_name = "DIR")]
        out: PathBuf,
    },
    /// Print the manual page, or write that of each command into a directory
    Man {
        /// The directory
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
    },
    /// List all rules
    Rules {
        /// How to print them
        #[arg(long, value_enum, default_value = "table")]
        format: TableFormat,
    },
}

#[derive(Args)]
pub struct CheckArgs {
    #[command(flatten)]
    pub input: InputArgs,
    /// Read packages from nowhere but these files, which `straggler facts` has written; `@LIST` is a
    /// file that names one on each line. Paths say of which of their packages to report
    #[arg(long, value_name = "FILE", num_args = 1..)]
    #[arg(conflicts_with_all = ["fix", "add_ignore", "diff", "watch", "change", "stdin_filename"])]
    #[arg(conflicts_with_all = ["cache_dir", "cache_verify"])]
    pub facts: Vec<PathBuf>,
    /// How to print the findings
    #[arg(long, value_enum, default_value = "human")]
    pub format: Format,
    /// Write the findings to a file, too; may be given several times
    #[arg(long, value_name = "FORMAT:PATH", value_parser = parse_target)]
    pub output: Vec<Target>,
    /// Run these rules instead of the default ones: ids, groups, DEFAULT, ALL
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub select: Vec<String>,
    /// Do not run these rules: ids, groups, ALL
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    pub ignore: Vec<String>,
    /// Show findings from this confidence on [default: medium; low for rules named in --select]
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub min_confidence: Option<MinConfidence>,
    /// Show findings from this severity on [default: note]
    #[arg(long, value_enum, value_name = "SEVERITY")]
    pub min_severity: Option<SeverityName>,
    /// The least severity of a finding that makes the exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value = "note")]
    pub fail_on: SeverityName,
    /// Exit with 0 even when there are findings
    #[arg(long, conflicts_with = "fail_on")]
    pub exit_zero: bool,
    /// Exit with 3 when anything was skipped or has a syntax error
    #[arg(long)]
    pub strict: bool,
    /// Write suppressed and baselined findings to SARIF too, marked as such (code scanning of GitHub
    /// shows them as open)
    #[arg(long)]
    pub show_suppressed: bool,
    /// Print how many findings there are of each rule, most first: `--format statistics`
    #[arg(long, conflicts_with = "format")]
    pub statistics: bool,
    /// Say on standard error where the time went, and how much was explored
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "table")]
    pub timings: Option<TableFormat>,
    /// Start over whenever a file changes, until interrupted
    #[arg(long, conflicts_with_all = ["diff_file", "stdin_filename"])]
    pub watch: bool,
    /// What to call the Go file that is read from standard input when the path is `-`; the files
    /// beside it are read for what they declare
    #[arg(long, value_name = "FILE")]
    pub stdin_filename: Option<PathBuf>,
    /// Make the safe fixes of the findings in the files, and report what is left
    #[arg(long, conflicts_with = "staged")]
    pub fix: bool,
    /// Write `//straggler:ignore RULE REASON` above each finding, and report what is left
    #[arg(long, value_name = "REASON", value_parser = parse_reason)]
    #[arg(conflicts_with_all = ["staged", "fix", "diff"])]
    pub add_ignore: Option<String>,
    /// With --fix or --diff: the fixes that may change what the program does, too
    #[arg(long)]
    pub unsafe_fixes: bool,
    /// Print what --fix would change as a patch, and change nothing; exit with 1 if it would
    #[arg(long, conflicts_with_all = ["fix", "output", "format"])]
    pub diff: bool,
    /// Report only what has to do with lines that were changed since HEAD left the line of REV
    #[arg(long, value_name = "REV", group = "change")]
    pub since: Option<String>,
    /// Analyse what is staged, and report only what has to do with staged changes
    #[arg(long, group = "change")]
    pub staged: bool,
    /// Report only what has to do with lines that a patch changes; `-` is standard input
    #[arg(long, value_name = "FILE", group = "change")]
    pub diff_file: Option<PathBuf>,
    /// Leave out the findings of this baseline [default: the nearest straggler-baseline.txt]
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Leave out nothing for a baseline
    #[arg(long, conflicts_with = "baseline")]
    pub no_baseline: bool,
}

#[derive(Args)]
pub struct FactsArgs {
    /// The directory of a package, or Go files
    #[arg(required = true)]
    pub paths: Vec<PathBuf>,
    /// The file that the facts are written to
    #[arg(long, value_name = "FILE")]
    pub out: PathBuf,
    /// The facts of all packages that these import, directly or not; `@LIST` is a file that names one
    /// on each line
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub facts: Vec<PathBuf>,
    /// Other files that say what imports denote and which settings hold, beside go.mod, go.work,
    /// vendor/modules.txt and straggler.toml above the package
    #[arg(long, value_name = "FILE", num_args = 1..)]
    pub with: Vec<PathBuf>,
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The Go installation whose standard library is read [default: found as `go` would]
    #[arg(long, value_name = "DIR")]
    pub goroot: Option<PathBuf>,
    /// Number of threads [default: as many as there are processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

impl CheckArgs {
    /// How the findings are printed.
    pub fn format(&self) -> Format {
        if self.statistics { Format::Statistics } else { self.format }
    }

    /// The settings that the arguments make.
    pub fn config(&self) -> Config {
        let set = |names: &Vec<String>| (!names.is_empty()).then(|| names.clone());
        Config {
            select: set(&self.select),
            ignore: set(&self.ignore),
            min_confidence: self.min_confidence.map(|least| match least {
                MinConfidence::Low => Confidence::Low,
                MinConfidence::Medium => Confidence::Medium,
                MinConfidence::High => Confidence::High,
            }),
            min_severity: self.min_severity.map(SeverityName::severity),
            ..Config::default()
        }
    }
}

impl ConfigArgs {
    /// What is asked for: `config` with what `--config` and `--isolated` say.
    pub fn asked(&self, config: Config) -> Asked {
        let (assignments, named): (Vec<&String>, Vec<&String>) =
            self.config.iter().partition(|text| text.contains('='));
        let files = match (named.last(), self.isolated) {
            (Some(path), _) => ConfigFiles::Named(path.into()),
            (None, true) => ConfigFiles::Nothing,
            (None, false) => ConfigFiles::Nearest,
        };
        let assignments = assignments.into_iter().cloned().collect();
        Asked { files, assignments, config, ..Asked::default() }
    }
}

/// What is analysed, and with what.
#[derive(Args)]
pub struct InputArgs {
    /// Files, directories, `dir/...`, or import paths of the module; `-` is standard input
    /// [default: .]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub config: ConfigArgs,
    #[command(flatten)]
    pub cache: CacheArgs,
    /// The Go installation whose standard library is read [default: found as `go` would]
    #[arg(long, value_name = "DIR")]
    pub goroot: Option<PathBuf>,
    /// Number of threads [default: as many as there are processors]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub jobs: Option<u16>,
}

/// Whether answers are kept for other runs, and where.
#[derive(Args)]
pub struct CacheArgs {
    /// Neither read nor write the cache
    #[arg(long)]
    pub no_cache: bool,
    /// Where the cache is [default: `straggler` in the user's cache directory]
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    pub cache_dir: Option<PathBuf>,
    /// Work everything out all the same, and fail where the cache holds another answer
    #[arg(long, conflicts_with = "no_cache")]
    pub cache_verify: bool,
}

#[derive(Subcommand)]
pub enum CacheCommand {
    /// Print where the cache is
    Dir(CachePlace),
    /// Print how much it holds
    Stats(CachePlace),
    /// Delete all that it holds
    Clean(CachePlace),
}

/// Where the cache is.
#[derive(Args)]
pub struct CachePlace {
    /// Where the cache is [default: `straggler` in the user's cache directory]
    #[arg(long, value_name = "DIR")]
    pub cache_dir: Option<PathBuf>,
}

#[derive(Subcommand)]
pub enum BaselineCommand {
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

#[derive(Subcommand)]
pub enum ConfigCommand {
    /// Write a straggler.toml that says what there is to set
    Init,
    /// Print the settings that hold for a file, each with the place that it comes from
    Show {
        /// The file, which need not exist [default: one in the working directory]
        #[arg(long = "for", value_name = "FILE")]
        path: Option<PathBuf>,
        #[command(flatten)]
        input: ConfigArgs,
    },
    /// Print the JSON Schema of straggler.toml
    Schema,
    /// Exit with 2 if a configuration file is refused
    Verify {
        /// The files [default: the one that holds for the working directory]
        files: Vec<PathBuf>,
    },
}

/// Which configuration holds.
#[derive(Args)]
pub struct ConfigArgs {
    /// A setting as straggler.toml writes it (`min-confidence = "high"`), or a file to read instead
    /// of those that are found; may be given several times
    #[arg(long, value_name = "KEY = VALUE|FILE")]
    pub config: Vec<String>,
    /// Read no configuration file and no baseline that is not named
    #[arg(long, visible_alias = "no-config")]
    pub isolated: bool,
}

#[derive(Args)]
pub struct BaselineArgs {
    /// The baseline [default: the nearest straggler-baseline.txt]
    #[arg(long, value_name = "FILE")]
    pub file: Option<PathBuf>,
    #[command(flatten)]
    pub input: InputArgs,
}

/// A shell that can be told how to complete arguments.
#[allow(clippy::enum_variant_names, reason = "one of them is called so")]
#[derive(Clone, Copy, ValueEnum)]
pub enum Shell {
    Bash,
    Elvish,
    Fish,
    Nushell,
    #[value(name = "powershell")]
    PowerShell,
    Zsh,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Format {
    /// The source with the story of the finding on it
    Human,
    /// One line for each finding, below the name of its file
    Grouped,
    /// How many findings there are of each rule
    Statistics,
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
    pub fn write(self, report: &Report, out: &mut dyn Write) -> io::Result<()> {
        match self {
            Format::Human => output::write_human(report, out),
            Format::Grouped => output::write_grouped(report, out),
            Format::Statistics => output::write_statistics(report, out),
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

    /// Whether it is for people, who are told a summary too.
    pub fn is_for_people(self) -> bool {
        matches!(self, Format::Human | Format::Grouped | Format::Statistics)
    }

    /// Whether the notes are part of it; else they are told on standard error.
    pub fn holds_notes(self) -> bool {
        matches!(self, Format::Json | Format::Sarif)
    }
}

/// A file that the findings are written to.
#[derive(Clone)]
pub struct Target {
    pub format: Format,
    pub path: PathBuf,
}

fn parse_target(text: &str) -> Result<Target, String> {
    let (format, path) = text.split_once(':').ok_or("expected `FORMAT:PATH`")?;
    let format = Format::from_str(format, false)?;
    match path {
        "" => Err("the path is missing".to_owned()),
        path => Ok(Target { format, path: path.into() }),
    }
}

fn parse_reason(text: &str) -> Result<String, String> {
    match analysis::is_reason(text) {
        true => Ok(text.trim().to_owned()),
        false => Err("expected a reason on one line".to_owned()),
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum SeverityName {
    Error,
    Warning,
    Note,
}

impl SeverityName {
    pub fn severity(self) -> Severity {
        match self {
            SeverityName::Error => Severity::Error,
            SeverityName::Warning => Severity::Warning,
            SeverityName::Note => Severity::Note,
        }
    }
}

#[derive(Clone, Copy, ValueEnum)]
pub enum MinConfidence {
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum TableFormat {
    Table,
    Json,
}
