//! Where the cache of a run is, and `straggler cache`.

use std::env;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::args::{CacheArgs, CacheCommand, CachePlace};
use super::{fail, print};
use crate::analysis::{Keeping, Settings};
use crate::cache::{Cache, DEFAULT_MAX_BYTES, Stats, default_dir, of_executable};
use crate::lsp;
use crate::project::LoadOptions;

/// The cache that `args` ask for. Where nobody says, and the environment knows of no user, there is
/// none.
pub fn open(args: &CacheArgs) -> Option<Cache> {
    let dir = place(args.cache_dir.as_deref()).filter(|_| !args.no_cache)?;
    Some(Cache::new(dir, DEFAULT_MAX_BYTES))
}

/// What a run keeps in `cache`; nothing if it cannot be said which program this is.
pub fn keeping<'c>(
    cache: &'c Cache,
    args: &CacheArgs,
    options: &LoadOptions,
    settings: &Settings,
) -> Option<Keeping<'c>> {
    let program = of_executable(&env::current_exe().ok()?, cache).ok()?;
    Some(Keeping {
        cache,
        base: settings.base(options, program),
        verify: args.cache_verify,
        complete: false,
    })
}

/// What an editor's runs are kept in, which is what those of the command line are.
pub fn of_editor() -> Option<lsp::Kept> {
    let cache = Cache::new(place(None)?, DEFAULT_MAX_BYTES);
    let program = of_executable(&env::current_exe().ok()?, &cache).ok()?;
    Some(lsp::Kept { cache, program })
}

/// `straggler cache`.
pub fn run(command: &CacheCommand) -> ExitCode {
    let (CacheCommand::Dir(at) | CacheCommand::Stats(at) | CacheCommand::Clean(at)) = command;
    let CachePlace { cache_dir } = at;
    let Some(dir) = place(cache_dir.as_deref()) else {
        return fail(&["there is no cache: the environment knows of no user".to_owned()]);
    };
    let cache = Cache::new(dir, DEFAULT_MAX_BYTES);
    match command {
        CacheCommand::Dir(_) => print(|out| writeln!(out, "{}", cache.dir().display()), 0),
        CacheCommand::Stats(_) => print(|out| writeln!(out, "{}", told(cache.stats())), 0),
        CacheCommand::Clean(_) => match cache.clean() {
            Ok(deleted) => print(|out| writeln!(out, "deleted: {}", told(deleted)), 0),
            Err(error) => {
                fail(&[format!("`{}` cannot be cleaned: {error}", cache.dir().display())])
            }
        },
    }
}

fn place(named: Option<&Path>) -> Option<PathBuf> {
    match named {
        Some(dir) => Some(env::current_dir().ok()?.join(dir)),
        None => default_dir(|name| env::var_os(name)),
    }
}

fn told(Stats { entries, bytes }: Stats) -> String {
    let noun = if entries == 1 { "entry" } else { "entries" };
    format!("{entries} {noun}, {:.1} MB", bytes as f64 / 1e6)
}
