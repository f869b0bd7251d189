//! `straggler facts`, and runs on what it wrote: what is known of packages goes from one machine to
//! another in files, so that a build system can work out each package by itself, and again only when
//! something has changed that it rests on.
//!
//! A facts file holds the Go files of its packages, the files that say what these import, and what
//! was found out: entries of the cache. Whoever is given the facts of all packages that are imported,
//! directly or not, needs no other file of theirs.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use super::args::{CheckArgs, FactsArgs};
use super::{analysed, baseline, fail, one, options_for, tell, warn, write_file};
use crate::analysis::{Asked, ConfigFiles, Keeping, Report, Settings, Timings};
use crate::cache::{Cache, Key, Pack, PackError, of_executable};
use crate::config::Config;
use crate::output;
use crate::project::{self, Files, LoadOptions, clean};

/// Writes the facts of packages.
pub fn run(args: &FactsArgs) -> ExitCode {
    match write(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(messages) => fail(&messages),
    }
}

fn write(args: &FactsArgs) -> Result<(), Vec<String>> {
    let options = options_for(&args.paths, args.goroot.as_deref()).map_err(one)?;
    let mut given = Given::read(&options, &args.facts)?;
    let own = project::carry(&options, &args.with).map_err(one)?;
    given.add_all(&own)?;
    let program = given.program;
    let entries = given.find_out(&options, &own, args)?;
    let bytes = Pack { files: own, entries }.seal(program, env!("CARGO_PKG_VERSION"));
    write_file(&args.out, &bytes, None)
        .map_err(|error| one(format!("`{}` cannot be written: {error}", args.out.display())))
}

/// The report of all packages of which facts are given, as far as `args` ask for them.
pub fn report(args: &CheckArgs, timings: Option<Arc<Timings>>) -> Result<Report, Vec<String>> {
    let input = &args.input;
    let options = options_for(&input.paths, input.goroot.as_deref()).map_err(one)?;
    let mut given = Given::read(&options, &args.facts)?;
    let known = match (&args.baseline, args.no_baseline || input.config.isolated) {
        (Some(path), _) => Some(baseline::read(&options, path)?),
        (None, true) => None,
        (None, false) => baseline::nearest(&options)?,
    };
    let mut asked = input.config.asked(args.config());
    given.add_named(&options, &mut asked)?;
    let wanted = given.wanted(&options)?;
    let (mut report, _) = given.run(&options, Vec::new(), asked, input.jobs, timings)?;
    if let Some(wanted) = wanted {
        let is_wanted = |path: &str| wanted.iter().any(|dir| Path::new(path).starts_with(dir));
        let left_out = report.unwanted(is_wanted);
        report.retain(|finding, _| !left_out.contains(&finding.primary.file));
    }
    if let Some(baseline) = &known {
        report.subtract(&baseline.baseline);
    }
    Ok(report)
}

/// Writes how much of a report was not known from the facts.
pub fn write_worked_out(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    match report.worked_out {
        0 => writeln!(out, "all of it is known from the facts"),
        1 => writeln!(out, "1 package was worked out here, the others are known from the facts"),
        count => {
            writeln!(
                out,
                "{count} packages were worked out here, the others are known from the facts"
            )
        }
    }
}

/// What is given to a run instead of a disk.
struct Given {
    files: Files,
    /// The facts file that each of them is from.
    from: BTreeMap<String, PathBuf>,
    entries: BTreeMap<Key, Vec<u8>>,
    program: Key,
}

impl Given {
    /// What facts files hold.
    fn read(options: &LoadOptions, listed: &[PathBuf]) -> Result<Given, Vec<String>> {
        let program = program().map_err(one)?;
        let (files, from, entries) = Default::default();
        let mut given = Given { files, from, entries, program };
        let mut wrong = Vec::new();
        for path in facts_files(options, listed)? {
            let read = given.read_one(&options.cwd, &path);
            wrong.extend(read.err());
        }
        if wrong.is_empty() { Ok(given) } else { Err(wrong) }
    }

    fn read_one(&mut self, cwd: &Path, path: &Path) -> Result<(), String> {
        let shown = path.display();
        let bytes = fs::read(cwd.join(path))
            .map_err(|error| format!("`{shown}` cannot be read: {error}"))?;
        let pack =
            Pack::open(&bytes, self.program).map_err(|error| format!("`{shown}` {error}"))?;
        for (name, bytes) in pack.files {
            if !project::is_carried(&name) {
                return Err(format!("`{shown}` {}", PackError::Damaged));
            }
            match self.files.entry(name) {
                Entry::Vacant(entry) => {
                    self.from.insert(entry.key().clone(), path.to_owned());
                    entry.insert(bytes);
                }
                Entry::Occupied(entry) if *entry.get() == bytes => {}
                Entry::Occupied(entry) => {
                    let name = entry.key();
                    let other = self.from[name].display();
                    return Err(format!(
                        "`{shown}` holds another `{name}` than `{other}`: one of them is out of \
                         date; write it again"
                    ));
                }
            }
        }
        self.entries.extend(pack.entries);
        Ok(())
    }

    /// Adds files of the disk.
    fn add_all(&mut self, files: &Files) -> Result<(), Vec<String>> {
        for (name, bytes) in files {
            let known = self.files.insert(name.clone(), bytes.clone());
            if known.is_some_and(|known| known != *bytes) {
                let facts = self.from[name].display();
                return Err(one(format!(
                    "`{facts}` holds another `{name}` than the working directory: it is out of \
                     date; write it again"
                )));
            }
        }
        Ok(())
    }

    /// Adds the configuration file that the command line names.
    fn add_named(&mut self, options: &LoadOptions, asked: &mut Asked) -> Result<(), Vec<String>> {
        let ConfigFiles::Named(path) = &mut asked.files else { return Ok(()) };
        let file = project::read_config(options, path)
            .map_err(|note| one(format!("{}: {}", note.path, note.message)))?;
        if let Ok(below) = file.file.strip_prefix(&options.cwd) {
            let name = project::display(below, Path::new(""));
            self.files.insert(name, file.text.into_bytes());
        }
        Ok(())
    }

    /// The paths of which to report, as they are shown; `None` for all.
    fn wanted(&self, options: &LoadOptions) -> Result<Option<Vec<PathBuf>>, Vec<String>> {
        if options.paths.is_empty() {
            return Ok(None);
        }
        let below = |path: &PathBuf| {
            let absolute = clean(&options.cwd.join(path));
            let below = absolute.strip_prefix(&options.cwd).map(Path::to_owned).ok();
            let has =
                |below: &PathBuf| self.files.keys().any(|name| Path::new(name).starts_with(below));
            below.filter(has).ok_or_else(|| format!("`{}` is in none of the facts", path.display()))
        };
        let found: Result<Vec<PathBuf>, String> = options.paths.iter().map(below).collect();
        found.map(Some).map_err(one)
    }

    /// What is found out of the packages that `args` name, whose files are `own`. Of dependencies that is
    /// nothing: they are read when somebody asks.
    fn find_out(
        self,
        options: &LoadOptions,
        own: &Files,
        args: &FactsArgs,
    ) -> Result<BTreeMap<Key, Vec<u8>>, Vec<String>> {
        let mut paths = options.paths.clone();
        paths.retain(|path| !project::is_walked_past(options, path));
        if paths.is_empty() {
            return Ok(BTreeMap::new());
        }
        let asked = args.config.asked(Config::default());
        let (report, cache) = self.run(options, paths, asked, args.jobs, None)?;
        if report.failed() {
            tell(|out| output::write_notes(&report.notes, out));
            return Err(one(format!("`{}` is not written", args.out.display())));
        }
        if let Some(missing) = missing(own, &report) {
            warn(&missing);
        }
        Ok(cache.into_new())
    }

    /// The report of `paths`, or of everything, and what was kept beside what was given.
    fn run(
        self,
        options: &LoadOptions,
        paths: Vec<PathBuf>,
        asked: Asked,
        jobs: Option<u16>,
        timings: Option<Arc<Timings>>,
    ) -> Result<(Report, Cache), Vec<String>> {
        let complete = !paths.is_empty();
        let options = options.of_carried(self.files, paths);
        let settings = Settings::find(&options, asked)?;
        let cache = Cache::carrying(self.entries);
        let base = settings.base(&options, self.program);
        let keeping = Keeping { cache: &cache, base, verify: false, complete };
        let report = analysed(&options, &settings, jobs, timings, || Some(keeping))?;
        Ok((report, cache))
    }
}

/// The key of this program.
fn program() -> Result<Key, String> {
    let refused = |error| format!("straggler cannot read itself: {error}");
    let path = env::current_exe().map_err(refused)?;
    of_executable(&path, &Cache::carrying(BTreeMap::new())).map_err(refused)
}

/// The facts files that are listed, those in lists included.
fn facts_files(options: &LoadOptions, listed: &[PathBuf]) -> Result<Vec<PathBuf>, Vec<String>> {
    let mut all = Vec::new();
    for path in listed {
        let Some(list) = path.to_str().and_then(|path| path.strip_prefix('@')) else {
            all.push(path.clone());
            continue;
        };
        let text = fs::read_to_string(options.cwd.join(list))
            .map_err(|error| one(format!("`{list}` cannot be read: {error}")))?;
        all.extend(text.lines().filter(|line| !line.is_empty()).map(PathBuf::from));
    }
    Ok(all)
}

/// What packages import of the modules of `own` without facts being given for it.
fn missing(own: &Files, report: &Report) -> Option<String> {
    let modules = project::module_paths(own);
    let is_own = |path: &&String| {
        modules.iter().any(|module| {
            let rest = path.strip_prefix(module.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    };
    let missing: Vec<&String> = report.missing_dependencies.iter().filter(is_own).collect();
    let (first, more) = missing.split_first()?;
    let others = match more.len() {
        0 => String::new(),
        count => format!(" and {count} more"),
    };
    Some(format!(
        "no facts are given of `{first}`{others}, which is imported: less is known without"
    ))
}
