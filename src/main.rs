#![forbid(unsafe_code)]

use std::process::ExitCode;

// A run makes and drops millions of small things on all threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    straggler::cli::main()
}
