#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    straggler::cli::main()
}
