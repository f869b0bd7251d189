//! What shells and `man` are told of the command line; both come from its definition.

use std::io::{self, Write};
use std::path::Path;

use clap::CommandFactory;
use clap_complete::{Generator, shells};
use clap_complete_nushell::Nushell;

use super::args::{Cli, Shell};

/// Writes the script that completes arguments in `shell`.
pub fn write_completions(shell: Shell, out: &mut dyn Write) -> io::Result<()> {
    let generator: &dyn Completes = match shell {
        Shell::Bash => &shells::Bash,
        Shell::Elvish => &shells::Elvish,
        Shell::Fish => &shells::Fish,
        Shell::Nushell => &Nushell,
        Shell::PowerShell => &shells::PowerShell,
        Shell::Zsh => &shells::Zsh,
    };
    generator.complete(out)
}

/// A [`Generator`], which itself is no trait for objects.
trait Completes {
    fn complete(&self, out: &mut dyn Write) -> io::Result<()>;
}

impl<G: Generator> Completes for G {
    fn complete(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut command = Cli::command();
        command.set_bin_name("straggler");
        command.build();
        self.try_generate(&command, out)
    }
}

/// Writes the manual page of straggler as a whole.
pub fn write_page(out: &mut dyn Write) -> io::Result<()> {
    clap_mangen::Man::new(Cli::command()).render(out)
}

/// Writes the manual pages of straggler and of each command into `dir`, which is made if it is
/// missing.
pub fn write_pages(dir: &Path) -> io::Result<()> {
    std::fs::create_dir_all(dir)?;
    clap_mangen::generate_to(Cli::command(), dir)
}
