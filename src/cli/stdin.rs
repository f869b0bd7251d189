//! `straggler -`: a file that is not on the disk, or not as it is there.

use std::io::{self, Read};
use std::path::{Path, PathBuf};

use super::args::CheckArgs;
use crate::project::{LoadOptions, clean};

/// What standard input is called if nobody says.
const NAME: &str = "stdin.go";

/// Puts standard input into `options` if `-` is the path.
pub fn read(args: &CheckArgs, options: &mut LoadOptions) -> Result<(), String> {
    let is_asked = |path: &PathBuf| path == Path::new("-");
    if !args.input.paths.iter().any(is_asked) {
        return match args.stdin_filename {
            Some(_) => Err("--stdin-filename: the path must be `-`".to_owned()),
            None => Ok(()),
        };
    }
    if args.input.paths.len() > 1 {
        return Err("`-` must be the only path".to_owned());
    }
    if args.fix || args.add_ignore.is_some() || args.watch {
        return Err("standard input cannot be changed or watched: leave out `-`".to_owned());
    }
    let name = args.stdin_filename.clone().unwrap_or_else(|| NAME.into());
    let mut bytes = Vec::new();
    io::stdin()
        .take(options.max_file_bytes + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| format!("standard input cannot be read: {error}"))?;
    options.overlays.insert(clean(&options.cwd.join(&name)), bytes);
    options.paths = vec![name];
    Ok(())
}
