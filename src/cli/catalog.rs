//! `straggler catalog`: what the catalog says, a team's own tables included.

use std::io::{self, Write};
use std::process::ExitCode;

use crate::analysis::Settings;
use crate::catalog::Catalog;
use crate::config;

use super::args::InputArgs;
use super::{did_you_mean, fail, load_options, one, print};

/// Prints what is known of a package, or of which packages something is.
pub fn run(package: Option<&str>, input: &InputArgs) -> ExitCode {
    let found = load_options(input)
        .map_err(one)
        .and_then(|options| Settings::find(&options, input.config.asked(Default::default())));
    let catalog = match found {
        Ok(settings) => settings.catalog,
        Err(messages) => return fail(&messages),
    };
    let packages = catalog.known_packages();
    let Some(package) = package else {
        return print(|out| packages.iter().try_for_each(|path| writeln!(out, "{path}")), 0);
    };
    if !packages.contains(&package) {
        let meant = config::nearest(package, packages.iter().copied());
        return fail(&[format!("nothing is known of package `{package}`{}", did_you_mean(meant))]);
    }
    print(|out| write(&catalog, package, out), 0)
}

/// The entries that speak of a package, as their tables write them, each below its place.
fn write(catalog: &Catalog, package: &str, out: &mut dyn Write) -> io::Result<()> {
    if let Some(same) = catalog.same_as(package) {
        writeln!(out, "# the same as {same}\n")?;
    }
    for (number, entry) in catalog.entries_of(package).into_iter().enumerate() {
        let (path, line) = &entry.origin;
        let apart = if number == 0 { "" } else { "\n" };
        writeln!(out, "{apart}# {path}:{line}\n{}", catalog.text(entry))?;
    }
    Ok(())
}
