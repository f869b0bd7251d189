//! What git knows of a repository: old versions of files, and the index.
//!
//! The repository may be a stranger's, so nothing in it may run a program. Only those commands of
//! git are used that read objects and the index; none of them compares with the files on disk, so
//! no filter, text conversion, external diff, hook or file system monitor has a part in it.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;

/// A repository, and the program that reads it.
pub struct Git {
    program: PathBuf,
    /// The top of the work tree.
    root: PathBuf,
}

/// A file in the index.
pub struct Staged {
    /// Its path from the top of the work tree, with `/`.
    pub path: String,
    /// The name of its content.
    pub object: String,
}

impl Git {
    /// The repository that holds `dir`. The error says why there is none, or why git does not read
    /// it.
    pub fn open(dir: &Path) -> Result<Git, String> {
        let inside = dir.ancestors().find(|dir| dir.join(".git").exists());
        let Some(root) = inside else {
            return Err("the working directory is in no git repository".to_owned());
        };
        let program = find_program(root)
            .ok_or("there is no `git` on PATH (one inside the repository is never run)")?;
        let git = Git { program, root: root.to_path_buf() };
        git.ask(&["rev-parse", "--git-dir"])?;
        Ok(git)
    }

    /// The top of the work tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit from which `HEAD` has left the line of `revision`.
    pub fn merge_base(&self, revision: &str) -> Result<String, String> {
        let commit = format!("{revision}^{{commit}}");
        let verified = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
        if revision.is_empty() || self.ask(&verified).is_err() {
            return Err(format!("git knows no revision `{revision}`"));
        }
        match self.ask(&["merge-base", "--end-of-options", &commit, "HEAD"]) {
            Ok(base) => Ok(String::from_utf8_lossy(&base).trim().to_owned()),
            Err(error) => Err(format!(
                "`{revision}` and `HEAD` have no common commit here; is the clone shallow? {error}"
            )),
        }
    }

    /// Whether there is a commit yet.
    pub fn has_head(&self) -> bool {
        self.ask(&["rev-parse", "--verify", "--quiet", "HEAD^{commit}"]).is_ok()
    }

    /// The files of the index.
    pub fn index(&self) -> Result<Vec<Staged>, String> {
        let listed = self.ask(&["ls-files", "--stage", "-z"])?;
        // <mode> <object> <stage>\t<path>\0
        let entries = listed.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
        Ok(entries
            .filter_map(|entry| {
                let entry = std::str::from_utf8(entry).ok()?;
                let (about, path) = entry.split_once('\t')?;
                let mut about = about.split(' ');
                let is_file = about.next()?.starts_with("100");
                let object = about.next()?.to_owned();
                is_file.then(|| Staged { path: path.to_owned(), object })
            })
            .collect())
    }

    /// The names of the contents of all files of a commit, by path from the top.
    pub fn tree(&self, commit: &str) -> Result<BTreeMap<String, String>, String> {
        let listed =
            self.ask(&["ls-tree", "-r", "-z", "--full-tree", "--end-of-options", commit])?;
        // <mode> blob <object>\t<path>\0
        let entries = listed.split(|&byte| byte == 0).filter(|entry| !entry.is_empty());
        Ok(entries
            .filter_map(|entry| {
                let (about, path) = std::str::from_utf8(entry).ok()?.split_once('\t')?;
                Some((path.to_owned(), about.rsplit(' ').next()?.to_owned()))
            })
            .collect())
    }

    /// The contents of `objects`, in their order; `None` for what the repository does not have.
    pub fn contents(&self, objects: &[String]) -> Result<Vec<Option<Vec<u8>>>, String> {
        let mut child = self
            .command(&["cat-file", "--batch"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| format!("git cannot be run: {error}"))?;
        let mut input = child.stdin.take().expect("its input is a pipe");
        let mut output = BufReader::new(child.stdout.take().expect("its output is a pipe"));
        let mut contents = Vec::with_capacity(objects.len());
        let read = thread::scope(|scope| {
            // It answers while it is asked: both at once, or the pipes fill up.
            scope.spawn(move || {
                for object in objects {
                    if writeln!(input, "{object}").is_err() {
                        return;
                    }
                }
            });
            for _ in objects {
                contents.push(read_object(&mut output)?);
            }
            Ok(())
        });
        let ended = child.wait();
        match (read, ended) {
            (Ok(()), Ok(_)) => Ok(contents),
            (Err(error), _) | (_, Err(error)) => {
                Err(format!("git cannot read its objects: {error}"))
            }
        }
    }

    fn ask(&self, arguments: &[&str]) -> Result<Vec<u8>, String> {
        let output = self
            .command(arguments)
            .stdin(Stdio::null())
            .output()
            .map_err(|error| format!("git cannot be run: {error}"))?;
        match output.status.success() {
            true => Ok(output.stdout),
            false => {
                let said = String::from_utf8_lossy(&output.stderr);
                let said = said.lines().collect::<Vec<_>>().join("; ");
                Err(format!("git {}: {said}", arguments[0]))
            }
        }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.program);
        for (name, _) in env::vars_os() {
            let asks = name.to_str().is_some_and(|name| name.starts_with("GIT_"));
            if asks && !is_place(&name) {
                command.env_remove(name);
            }
        }
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_LAZY_FETCH", "1")
            .env("LC_ALL", "C")
            .args(["--no-pager", "--no-replace-objects"])
            .args(["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"])
            .arg("-C")
            .arg(&self.root)
            .args(arguments);
        command
    }
}

/// The variables by which git tells its hooks which repository and which index they run for.
fn is_place(name: &OsStr) -> bool {
    ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY"]
        .iter()
        .any(|place| name == OsStr::new(place))
}

/// One answer of `git cat-file --batch`: `<object> <type> <size>`, a line feed, the bytes, a line
/// feed; or `<object> missing`.
fn read_object(output: &mut impl BufRead) -> std::io::Result<Option<Vec<u8>>> {
    let mut header = String::new();
    output.read_line(&mut header)?;
    let mut words = header.split_whitespace().skip(1);
    match (words.next(), words.next().and_then(|size| size.parse::<u64>().ok())) {
        (Some("missing"), _) => Ok(None),
        (Some(kind), Some(size)) => {
            let mut bytes = Vec::new();
            output.by_ref().take(size).read_to_end(&mut bytes)?;
            output.read_line(&mut String::new())?;
            Ok((kind == "blob").then_some(bytes))
        }
        _ => Err(std::io::Error::other(format!("unexpected answer `{}`", header.trim_end()))),
    }
}

/// The first `git` on PATH that does not stand in the repository.
fn find_program(repository: &Path) -> Option<PathBuf> {
    let name = format!("git{}", env::consts::EXE_SUFFIX);
    let repository = repository.canonicalize().ok()?;
    env::split_paths(&env::var_os("PATH")?)
        .filter(|dir| dir.is_absolute())
        .map(|dir| dir.join(&name))
        .filter_map(|file| file.canonicalize().ok())
        .find(|file| file.is_file() && !file.starts_with(&repository))
}
