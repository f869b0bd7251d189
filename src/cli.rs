//! Arguments to an exit code. Conditions on flags end here; what lies below gets plain settings.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::{output, rules};

/// Finds goroutines left behind in Go source.
#[derive(Parser)]
#[command(name = "straggler", version, args_conflicts_with_subcommands = true)]
#[command(subcommand_negates_reqs = true, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    check: CheckArgs,
}

#[derive(Subcommand)]
enum Command {
    /// Analyse files, directories and packages (what is done without a command)
    Check(CheckArgs),
    /// Show the page of a rule
    Explain {
        /// The rule's id
        rule: String,
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
    /// Files, directories, `./...`, or import paths of the module [default: .]
    paths: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum RulesFormat {
    Table,
    Json,
}

/// Runs the command that `std::env::args_os` asks for.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let stdout = &mut anstream::stdout().lock();
    let written = match cli.command {
        Some(Command::Explain { rule }) => match rules::find(&rule) {
            Some(entry) => output::write_page(&entry.page, stdout),
            None => return fail(&format!("there is no rule `{rule}`")),
        },
        Some(Command::Rules { format: RulesFormat::Table }) => output::write_rules(stdout),
        Some(Command::Rules { format: RulesFormat::Json }) => output::write_rules_json(stdout),
        Some(Command::Check(args)) => return check(&args),
        None => return check(&cli.check),
    };
    finish(written.and_then(|()| stdout.flush()), ExitCode::SUCCESS)
}

fn check(args: &CheckArgs) -> ExitCode {
    fail(&format!("cannot read {} paths yet", args.paths.len()))
}

/// The exit code after all output. A reader that closed the pipe has seen enough.
fn finish(written: io::Result<()>, code: ExitCode) -> ExitCode {
    match written {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            fail(&format!("cannot write the output: {error}"))
        }
        _ => code,
    }
}

fn fail(message: &str) -> ExitCode {
    let _ = writeln!(anstream::stderr(), "error: {}", output::in_line(message));
    ExitCode::from(2)
}
