//! Which findings are new: those that have to do with lines that a change touches.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use super::args::CheckArgs;
use super::git::{Git, Staged};
use crate::analysis::{ChangedLines, Report};
use crate::project::{LoadOptions, clean};

/// What the findings are to have to do with.
pub enum Change {
    /// Everything since `HEAD` has left the line of a revision.
    Since {
        /// The repository.
        git: Git,
        /// The commit where it left.
        base: String,
    },
    /// What the index changes in the last commit.
    Staged {
        /// The contents of the Go files of the packages that it touches, before it.
        before: BTreeMap<PathBuf, Option<Vec<u8>>>,
    },
    /// What a patch changes.
    Patch {
        /// The touched lines by path, as the patch writes it.
        files: BTreeMap<String, ChangedLines>,
    },
}

/// The change that the arguments ask for. What is staged is put into `options`.
pub fn asked(args: &CheckArgs, options: &mut LoadOptions) -> Result<Option<Change>, String> {
    if let Some(revision) = &args.since {
        return Change::since(options, revision)
            .map_err(|error| format!("--since: {error}"))
            .map(Some);
    }
    if args.staged {
        return Change::staged(options).map_err(|error| format!("--staged: {error}")).map(Some);
    }
    let Some(path) = &args.diff_file else { return Ok(None) };
    let name = path.display().to_string();
    let patch = match name.as_str() {
        "-" => io::read_to_string(io::stdin()),
        _ => fs::read(path).map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    };
    let patch = patch.map_err(|error| format!("--diff-file: `{name}` cannot be read: {error}"))?;
    Change::patch(&name, &patch).map_err(|error| format!("--diff-file: {error}")).map(Some)
}

impl Change {
    /// The change since `revision`.
    fn since(options: &LoadOptions, revision: &str) -> Result<Change, String> {
        let git = Git::open(&options.cwd)?;
        let base = git.merge_base(revision)?;
        Ok(Change::Since { git, base })
    }

    /// The change that the index holds. The packages that it touches are analysed as they are in the
    /// index, whatever is on disk: `options` get their files as overlays, and as paths if they
    /// name none.
    fn staged(options: &mut LoadOptions) -> Result<Change, String> {
        let git = Git::open(&options.cwd)?;
        let head = if git.has_head() { git.tree("HEAD")? } else { BTreeMap::new() };
        let mut staged = git.index()?;
        staged.retain(|file| file.path.ends_with(".go"));
        let is_touched = |file: &Staged| head.get(&file.path) != Some(&file.object);
        let touched: BTreeSet<String> =
            staged.iter().filter(|file| is_touched(file)).map(|file| dir(&file.path)).collect();
        staged.retain(|file| touched.contains(&dir(&file.path)));
        let objects: Vec<String> = staged.iter().map(|file| file.object.clone()).collect();
        let olds: Vec<String> =
            staged.iter().filter_map(|file| head.get(&file.path).cloned()).collect();
        let (news, mut olds) = (git.contents(&objects)?, git.contents(&olds)?.into_iter());
        let mut before = BTreeMap::new();
        for (file, new) in staged.iter().zip(news) {
            let path = git.root().join(&file.path);
            let old = head.get(&file.path).and_then(|_| olds.next().flatten());
            options.overlays.insert(path.clone(), new.unwrap_or_default());
            before.insert(path, old);
        }
        if options.paths.is_empty() {
            options.paths = before.keys().cloned().collect();
        }
        Ok(Change::Staged { before })
    }

    /// Whether there is nothing in it that could be found.
    pub fn is_empty(&self) -> bool {
        matches!(self, Change::Staged { before } if before.is_empty())
    }

    /// The change that the text of a patch tells.
    fn patch(name: &str, text: &str) -> Result<Change, String> {
        let files = ChangedLines::of_patch(text)
            .map_err(|error| format!("{name}:{}: {}", error.line, error.message))?;
        Ok(Change::Patch { files })
    }

    /// Leaves the findings in `report` that have to do with the change.
    pub fn keep(&self, options: &LoadOptions, report: &mut Report) -> Result<(), String> {
        let absolute = |shown: &str| options.cwd.join(shown);
        match self {
            Change::Patch { files } => report.keep_changed(&|path| {
                let path = path.replace('\\', "/");
                let of_path = |name: &str| {
                    let tail = path.strip_suffix(name).or_else(|| name.strip_suffix(&*path));
                    tail.is_some_and(|rest| rest.is_empty() || rest.ends_with('/'))
                };
                let touched = files.iter().find(|(name, _)| of_path(name));
                touched.map_or(ChangedLines::Ranges(Vec::new()), |(_, lines)| lines.clone())
            }),
            Change::Staged { before } => {
                let of_file = |path: &Path| match before.get(path) {
                    Some(Some(old)) => {
                        let new = options.overlays.get(path).map(Vec::as_slice);
                        ChangedLines::between(old, new.unwrap_or_default())
                    }
                    Some(None) => ChangedLines::All,
                    None => ChangedLines::Ranges(Vec::new()),
                };
                report.keep_changed(&|shown| of_file(&clean(&absolute(shown))));
            }
            Change::Since { git, base } => {
                let files: Vec<(String, Vec<u8>)> = report
                    .files
                    .values()
                    .map(|file| (file.path.clone(), file.text.bytes().to_vec()))
                    .collect();
                let objects: Vec<String> = files
                    .iter()
                    .map(|(shown, _)| {
                        let path = clean(&absolute(shown));
                        let inside = path.strip_prefix(git.root()).unwrap_or(&path);
                        format!("{base}:{}", inside.to_string_lossy().replace('\\', "/"))
                    })
                    .collect();
                let olds = git.contents(&objects)?;
                let changed: BTreeMap<&str, ChangedLines> = files
                    .iter()
                    .zip(olds)
                    .map(|((shown, new), old)| {
                        let lines =
                            old.map_or(ChangedLines::All, |old| ChangedLines::between(&old, new));
                        (shown.as_str(), lines)
                    })
                    .collect();
                report.keep_changed(&|shown| {
                    changed.get(shown).cloned().unwrap_or(ChangedLines::Ranges(Vec::new()))
                });
            }
        }
        Ok(())
    }
}

/// The directory of a path with `/`.
fn dir(path: &str) -> String {
    path.rsplit_once('/').map_or_else(String::new, |(dir, _)| dir.to_owned())
}
