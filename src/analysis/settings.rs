//! Configuration files and what was asked for more nearly, to what a run needs to know. Every door
//! to the analysis comes through here, so that all find the same rules switched on.
//!
//! The nearest `straggler.toml` holds for a file; it may extend others, and override its settings for
//! some files. So the layers of a file are, from the farthest to the nearest: what is extended, the
//! file itself, and what was asked for on the command line or in an editor.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::cache::{Hasher, Key};
use crate::catalog::{Catalog, Problem, UserTables};
use crate::config::{Config, ConfigText, Layer};
use crate::diagnostic::Note;
use crate::project::{self, ConfigFile, LoadOptions, Snapshot};
use crate::rules::selection::{Selection, UnknownSelector};
use crate::source::FileId;

/// What is asked for more nearly than in a file.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Which files hold.
    pub files: ConfigFiles,
    /// Texts of the form of a `straggler.toml`; later ones are nearer.
    pub assignments: Vec<String>,
    /// Settings that are nearer than all of these.
    pub config: Config,
    /// These rules run only if they are selected by their own ids.
    pub unless_named: &'static [&'static str],
}

/// Which configuration files hold.
#[derive(Clone, Debug, Default)]
pub enum ConfigFiles {
    /// The nearest to each file.
    #[default]
    Nearest,
    /// None.
    Nothing,
    /// This one, for all files.
    Named(PathBuf),
}

/// What a run needs to know besides its paths.
#[derive(Debug)]
pub struct Settings {
    /// What libraries do, with the team's own tables.
    pub catalog: Catalog,
    /// The key of the team's own tables.
    tables: Key,
    asked: Asked,
    known: Mutex<Known>,
}

/// The layers that were asked for so far, farthest first.
#[derive(Debug, Default)]
struct Known {
    of_dir: BTreeMap<PathBuf, Layers>,
    /// By the file that is nearest to a directory.
    of_nearest: BTreeMap<Option<PathBuf>, Layers>,
}

/// Settings, and where they come from.
#[derive(Debug)]
pub struct Held {
    /// The file as shown to people, or the option.
    pub origin: String,
    /// The settings.
    pub layer: Layer,
    /// The directory from which their paths are meant.
    dir: PathBuf,
}

type Layers = Arc<[Arc<Held>]>;

/// The settings of each file of a run.
#[derive(Clone, Debug)]
pub struct Selections {
    distinct: Vec<Selection>,
    /// By number of the file; that of the working directory for files of dependencies.
    of_file: Vec<usize>,
}

/// So many files may extend each other.
const MAX_EXTENDED: usize = 10;

impl Settings {
    /// The settings of a run with `options`; or all that is wrong with those of the working
    /// directory, each on a line.
    pub fn find(options: &LoadOptions, asked: Asked) -> Result<Settings, Vec<String>> {
        let files = files(options, nearest(options, &asked, &options.cwd).as_deref(), &asked)?;
        let tables = files.iter().map(|file| UserTables { path: &file.path, text: &file.text });
        let (catalog, problems) = Catalog::load(tables);
        if !problems.is_empty() {
            let told = |Problem { path, line, column, message }: &Problem| {
                format!("{path}:{line}:{column}: {message}")
            };
            return Err(problems.iter().map(told).collect());
        }
        // A key that says `catalog` without the word has a backslash in it.
        let has_tables =
            |file: &&ConfigFile| file.text.contains("catalog") || file.text.contains('\\');
        let tables = files
            .iter()
            .filter(has_tables)
            .fold(Hasher::new("tables"), |hasher, file| hasher.text(&file.path).text(&file.text));
        let tables = tables.finish();
        let settings = Settings { catalog, tables, asked, known: Mutex::default() };
        settings.of_dir(options, &options.cwd)?;
        Ok(settings)
    }

    /// What all answers of a run depend on that its files do not show, if `program` is the key of
    /// what answers.
    pub fn base(&self, options: &LoadOptions, program: Key) -> Key {
        Hasher::new("run").key(program).path(&options.cwd).key(self.tables).finish()
    }

    /// The settings of the files of `snapshot`; or all that is wrong with them, each on a line.
    pub fn selections(
        &self,
        options: &LoadOptions,
        snapshot: &Snapshot,
    ) -> Result<Selections, Vec<String>> {
        let mut distinct: Vec<Config> =
            vec![self.config(self.of_dir(options, &options.cwd)?.iter())];
        let mut of_file = Vec::with_capacity(snapshot.files.len());
        for file in &snapshot.files {
            let config = self.config(self.of_path(options, &file.path)?.iter());
            let number = distinct.iter().position(|known| *known == config);
            of_file.push(number.unwrap_or(distinct.len()));
            if number.is_none() {
                distinct.push(config);
            }
        }
        let distinct = distinct.iter().map(|config| Selection::new(config).0).collect();
        Ok(Selections { distinct, of_file })
    }

    /// What holds for the file at `path`, which is absolute and need not exist: farthest first.
    pub fn of_path(
        &self,
        options: &LoadOptions,
        path: &Path,
    ) -> Result<Vec<Arc<Held>>, Vec<String>> {
        let layers = self.of_dir(options, path.parent().unwrap_or(path))?;
        let holds = |held: &&Arc<Held>| {
            let relative = project::display(path, &held.dir);
            held.layer.holds_for(&relative)
        };
        Ok(layers.iter().filter(holds).cloned().collect())
    }

    /// All layers for files of `dir`.
    fn of_dir(&self, options: &LoadOptions, dir: &Path) -> Result<Layers, Vec<String>> {
        let known = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(layers) = known().of_dir.get(dir) {
            return Ok(Arc::clone(layers));
        }
        let nearest = nearest(options, &self.asked, dir);
        let read = known().of_nearest.get(&nearest).cloned();
        let layers = match read {
            Some(layers) => layers,
            None => self.read(options, nearest.as_deref())?,
        };
        let mut known = known();
        known.of_nearest.entry(nearest).or_insert_with(|| Arc::clone(&layers));
        Ok(Arc::clone(known.of_dir.entry(dir.to_path_buf()).or_insert(layers)))
    }

    /// All layers for the files that `nearest` is nearest to.
    fn read(&self, options: &LoadOptions, nearest: Option<&Path>) -> Result<Layers, Vec<String>> {
        let mut layers = Vec::new();
        for file in files(options, nearest, &self.asked)? {
            let text = ConfigText::parse(&file.text).map_err(|error| {
                let (line, column) = error.line_column;
                vec![format!("{}:{line}:{column}: {}", file.path, error.message)]
            })?;
            let held = |layer| Held { origin: file.path.clone(), layer, dir: file.dir.clone() };
            layers.extend(text.layers.into_iter().map(held));
        }
        for text in &self.asked.assignments {
            let refused = |message| vec![format!("--config: `{text}`: {message}")];
            let read = ConfigText::parse(text).map_err(|error| refused(error.message))?;
            if read.extend.is_some() {
                return Err(refused("a file can be extended only by a file".to_owned()));
            }
            let (origin, dir) = ("--config".to_owned(), options.cwd.clone());
            for mut layer in read.layers {
                layer.lines.clear();
                layers.push(Held { origin: origin.clone(), layer, dir: dir.clone() });
            }
        }
        let mut unknown: Vec<String> = layers.iter().flat_map(unknown_in).collect();
        unknown.extend(Selection::new(&self.asked.config).1.iter().map(told));
        if !unknown.is_empty() {
            return Err(unknown);
        }
        Ok(layers.into_iter().map(Arc::new).collect())
    }

    fn config<'h>(&self, layers: impl Iterator<Item = &'h Arc<Held>>) -> Config {
        let mut config = Config::default();
        for held in layers {
            config = config.overridden_by(&held.layer.config);
        }
        let mut config = config.overridden_by(&self.asked.config);
        let selected = config.select.clone().unwrap_or_default();
        let unnamed = self.asked.unless_named.iter().map(|&rule| rule.to_owned());
        let unnamed: Vec<String> = unnamed.filter(|rule| !selected.contains(rule)).collect();
        if !unnamed.is_empty() {
            config.ignore.get_or_insert_default().extend(unnamed);
        }
        config
    }
}

impl Selections {
    /// The settings of a file.
    pub fn of(&self, file: FileId) -> &Selection {
        &self.distinct[self.of_file.get(file.0 as usize).copied().unwrap_or_default()]
    }

    /// The different settings of some files.
    pub fn among(&self, files: impl Iterator<Item = FileId>) -> Vec<&Selection> {
        let mut numbers: Vec<usize> =
            files.filter_map(|file| self.of_file.get(file.0 as usize).copied()).collect();
        numbers.sort_unstable();
        numbers.dedup();
        match numbers.is_empty() {
            true => vec![&self.distinct[0]],
            false => numbers.into_iter().map(|number| &self.distinct[number]).collect(),
        }
    }
}

/// One for all files.
impl From<Selection> for Selections {
    fn from(selection: Selection) -> Selections {
        Selections { distinct: vec![selection], of_file: Vec::new() }
    }
}

/// The file that is nearest to the files of `dir`, of those that hold.
fn nearest(options: &LoadOptions, asked: &Asked, dir: &Path) -> Option<PathBuf> {
    match &asked.files {
        ConfigFiles::Nothing => None,
        ConfigFiles::Nearest => project::find_config(options, dir),
        ConfigFiles::Named(path) => Some(path.clone()),
    }
}

/// The files that hold where `nearest` does, each after the one that it extends.
fn files(
    options: &LoadOptions,
    nearest: Option<&Path>,
    asked: &Asked,
) -> Result<Vec<ConfigFile>, Vec<String>> {
    let read = match &asked.files {
        ConfigFiles::Named(_) => project::read_config,
        ConfigFiles::Nothing | ConfigFiles::Nearest => project::read_found_config,
    };
    let nearest = nearest.map(|path| read(options, path)).transpose();
    let nearest = nearest.map_err(|note: Note| vec![format!("{}: {}", note.path, note.message)])?;
    let mut files: Vec<ConfigFile> = nearest.into_iter().collect();
    // What is wrong with the text is told where its settings are read.
    while let Some(last) = files.last()
        && let Ok(text) = ConfigText::parse(&last.text)
        && let Some((name, (line, column))) = text.extend
    {
        let refused = |message| vec![format!("{}:{line}:{column}: extend: {message}", last.path)];
        let extended = project::read_extended(options, last, &name)
            .map_err(|note| refused(format!("`{}` {}", note.path, note.message)))?;
        if files.iter().any(|file| file.file == extended.file) {
            return Err(refused(format!("`{}` extends itself in the end", extended.path)));
        }
        if files.len() == MAX_EXTENDED {
            return Err(refused(format!("more than {MAX_EXTENDED} files extend each other")));
        }
        files.push(extended);
    }
    files.reverse();
    Ok(files)
}

/// What is wrong with the names of rules in a layer.
fn unknown_in(held: &Held) -> Vec<String> {
    let Held { origin, layer, .. } = held;
    let of = |key: &str, config: Config| {
        let at = layer.lines.get(key);
        let place = at.map_or_else(|| origin.clone(), |line| format!("{origin}:{line}"));
        let unknown = Selection::new(&config).1;
        unknown.iter().map(|name| format!("{place}: {}", told(name))).collect::<Vec<_>>()
    };
    let Config { select, ignore, severity, .. } = layer.config.clone();
    [
        of("select", Config { select, ..Config::default() }),
        of("ignore", Config { ignore, ..Config::default() }),
        of("severity", Config { severity, ..Config::default() }),
    ]
    .concat()
}

fn told(unknown: &UnknownSelector) -> String {
    let meant = unknown.meant.map(|meant| format!("; did you mean `{meant}`?"));
    format!("there is no rule or group `{}`{}", unknown.name, meant.unwrap_or_default())
}
