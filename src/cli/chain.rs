//! `straggler chain`: the chains of filters that a program builds.

use std::process::ExitCode;

use crate::analysis::{self, Settings};
use crate::diagnostic::Note;
use crate::{output, project};

use super::args::{InputArgs, TableFormat};
use super::{FAILURE, fail, load_options, one, print, tell};

/// Prints the chains.
pub fn run(input: &InputArgs, format: TableFormat) -> ExitCode {
    let found = load_options(input).map_err(one).and_then(|options| {
        let settings = Settings::find(&options, input.config.asked(Default::default()))?;
        analysis::on_threads(input.jobs.map(usize::from), || {
            let snapshot = project::load(&options);
            analysis::chains(&snapshot, &settings.catalog)
        })
        .map_err(one)
    });
    let chains = match found {
        Ok(chains) => chains,
        Err(messages) => return fail(&messages),
    };
    tell(|out| output::write_notes(&chains.notes, out));
    let failed = chains.notes.iter().any(|note: &Note| note.kind.is_failure());
    print(
        |out| match format {
            TableFormat::Table => output::write_chains(&chains, out),
            TableFormat::Json => output::write_chains_json(&chains, out),
        },
        if failed { FAILURE } else { 0 },
    )
}
