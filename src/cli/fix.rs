//! `--fix` and `--diff`: what the fixes of findings make of files.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use similar::TextDiff;

use super::args::CheckArgs;
use super::write_file;
use crate::analysis::{self, FixedFile, Report};
use crate::output;
use crate::project::LoadOptions;

/// A fix can make room for another; after so many rounds the rest is left.
const MAX_ROUNDS: usize = 8;

/// Makes the fixes of `report` in the files and analyses again, until there are none left. Gives
/// the last report.
pub fn apply(
    args: &CheckArgs,
    options: &LoadOptions,
    mut report: Report,
    again: &dyn Fn() -> Result<Report, Vec<String>>,
) -> Result<Report, Vec<String>> {
    let mut fixed = 0;
    for _ in 0..MAX_ROUNDS {
        let fixes = analysis::fixes(&report, args.unsafe_fixes);
        if fixes.files.is_empty() {
            break;
        }
        for file in &fixes.files {
            write(options, file)
                .map_err(|why| vec![format!("--fix: `{}` is left as it is: {why}", file.path)])?;
        }
        fixed += fixes.findings;
        report = again()?;
    }
    report.counts.fixed = fixed;
    Ok(report)
}

/// Writes a directive with `reason` above each finding of `report`, and analyses again. Gives that
/// report.
pub fn ignore(
    options: &LoadOptions,
    reason: &str,
    report: &Report,
    again: &dyn Fn() -> Result<Report, Vec<String>>,
) -> Result<Report, Vec<String>> {
    let ignores = analysis::ignores(report, reason);
    for file in &ignores.files {
        write(options, file).map_err(|why| {
            vec![format!("--add-ignore: `{}` is left as it is: {why}", file.path)]
        })?;
    }
    again()
}

/// Writes a file with its fixes in it, unless it has changed since it was read.
fn write(options: &LoadOptions, file: &FixedFile) -> Result<(), String> {
    let path = options.cwd.join(&file.path);
    let write = |path: &Path| -> io::Result<bool> {
        // The file itself is replaced, not a link to it.
        let path = path.canonicalize()?;
        if fs::read(&path)? != file.old.bytes() {
            return Ok(false);
        }
        let permissions = fs::metadata(&path)?.permissions();
        write_file(&path, &file.new, Some(permissions))?;
        Ok(true)
    };
    match write(&path) {
        Ok(true) => Ok(()),
        Ok(false) => Err("it has changed since it was read".to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// Writes what the fixes of `report` would change, as a patch. Says whether there is anything.
pub fn diff(args: &CheckArgs, report: &Report, out: &mut dyn Write) -> io::Result<bool> {
    let fixes = analysis::fixes(report, args.unsafe_fixes);
    for file in &fixes.files {
        let (old, new) = (file.old.bytes(), &file.new[..]);
        let (old, new) = (String::from_utf8_lossy(old), String::from_utf8_lossy(new));
        let path = output::in_line(&file.path).replace('\\', "/");
        let diff = TextDiff::from_lines(&*old, &*new);
        write!(out, "{}", diff.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")))?;
    }
    Ok(!fixes.files.is_empty())
}
