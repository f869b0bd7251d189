//! The text of go.mod and go.work files. Lenient: a line that is wrong is told of, and the others
//! count.
//!
//! The grammar is <https://go.dev/ref/mod#go-mod-file-grammar>; it is line by line but for blocks.

use crate::catalog::{GoVersion, Version};

/// What a go.mod or go.work file says.
#[derive(Clone, Debug, Default)]
pub(super) struct ModFile {
    /// The module path.
    pub module: Option<String>,
    /// The language version.
    pub go: Option<GoVersion>,
    /// Required modules and their minimal versions. A version that is no semantic version (a branch
    /// name, before `go mod tidy`) is not known.
    pub require: Vec<(String, Option<Version>)>,
    pub replace: Vec<Replace>,
    /// Versions that do not count.
    pub exclude: Vec<(String, Version)>,
    /// Directories that patterns walk past.
    pub ignore: Vec<String>,
    /// Directories of a workspace's modules.
    pub uses: Vec<String>,
}

/// A `replace` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replace {
    /// The module that is replaced.
    pub path: String,
    /// The only version that is, if it is not all.
    pub version: Option<Version>,
    /// What stands in for it.
    pub with: Replacement,
}

/// What stands in for a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Replacement {
    /// A directory, relative to that of the file.
    Dir(String),
    /// Another module, or another version.
    Module(String, Option<Version>),
}

/// What is wrong with a line (from 1).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    pub line: u32,
    pub message: String,
}

/// Which of the two kinds of files a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Mod,
    Work,
}

/// Reads a file.
pub(super) fn parse(text: &str, kind: Kind) -> (ModFile, Vec<BadLine>) {
    let mut file = ModFile::default();
    let mut bad = Vec::new();
    let mut block: Option<(String, u32)> = None;
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    for (line, text) in (1..).zip(text.lines()) {
        let result = tokens(text).and_then(|tokens| {
            let words: Vec<&str> = tokens.iter().map(|token| token.text.as_str()).collect();
            let is_paren = |at: usize, paren: &str| {
                tokens.get(at).is_some_and(|token| !token.quoted && token.text == paren)
            };
            match (&block, words.as_slice()) {
                (_, []) => Ok(()),
                (Some(_), [_]) if is_paren(0, ")") => {
                    block = None;
                    Ok(())
                }
                // An unknown block was told of where it opens.
                (Some((verb, _)), _) if known(kind, verb).is_err() => Ok(()),
                (Some((verb, _)), arguments) => directive(&mut file, kind, verb, arguments),
                (None, [verb, _, _]) if is_paren(1, "(") && is_paren(2, ")") => {
                    known(kind, verb).map(|_| ())
                }
                (None, [verb, _]) if is_paren(1, "(") => {
                    block = Some(((*verb).to_owned(), line));
                    known(kind, verb).map(|_| ())
                }
                (None, [verb, arguments @ ..]) => directive(&mut file, kind, verb, arguments),
            }
        });
        bad.extend(result.err().map(|message| BadLine { line, message }));
    }
    if let Some((verb, line)) = block {
        bad.push(BadLine { line, message: format!("the block `{verb} (` is never closed") });
    }
    (file, bad)
}

struct Token {
    text: String,
    quoted: bool,
}

/// The words of a line, without its comment.
fn tokens(line: &str) -> Result<Vec<Token>, String> {
    let mut tokens = Vec::new();
    let mut rest = line.trim();
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            break;
        }
        if rest.starts_with("/*") {
            return Err("comments are `//`, not `/* */`".to_owned());
        }
        let (text, quoted, length) = match first {
            '"' | '`' => {
                let (text, length) = string(rest, first)?;
                (text, true, length)
            }
            '(' | ')' | '[' | ']' | ',' => (first.to_string(), false, 1),
            _ => {
                let length = word_length(rest);
                (rest[..length].to_owned(), false, length)
            }
        };
        tokens.push(Token { text, quoted });
        rest = rest[length..].trim_start();
    }
    Ok(tokens)
}

/// The bytes up to a blank, a bracket, a comma or a comment.
fn word_length(text: &str) -> usize {
    let ends = |(at, c): (usize, char)| {
        c.is_whitespace() || "()[],\"`".contains(c) || text[at..].starts_with("//")
    };
    text.char_indices().skip(1).find(|&place| ends(place)).map_or(text.len(), |(at, _)| at)
}

/// The string literal at the start of `text`, and how many bytes it takes.
fn string(text: &str, quote: char) -> Result<(String, usize), String> {
    let mut value = String::new();
    let mut chars = text.char_indices().skip(1);
    while let Some((at, c)) = chars.next() {
        match c {
            _ if c == quote => return Ok((value, at + 1)),
            '\\' if quote == '"' => value.extend(chars.next().map(|(_, escaped)| escaped)),
            _ => value.push(c),
        }
    }
    Err("the string is never closed".to_owned())
}

const MOD_VERBS: &[&str] = &[
    "module",
    "go",
    "toolchain",
    "godebug",
    "require",
    "exclude",
    "replace",
    "retract",
    "tool",
    "ignore",
];
const WORK_VERBS: &[&str] = &["go", "toolchain", "godebug", "use", "replace"];

fn known(kind: Kind, verb: &str) -> Result<(), String> {
    let verbs = if kind == Kind::Mod { MOD_VERBS } else { WORK_VERBS };
    if verbs.contains(&verb) {
        return Ok(());
    }
    Err(format!("unknown directive `{verb}`"))
}

/// Takes in one directive, whether of a line or a block.
fn directive(file: &mut ModFile, kind: Kind, verb: &str, words: &[&str]) -> Result<(), String> {
    known(kind, verb)?;
    let usage = |form: &str| Err(format!("a `{verb}` line has the form `{verb} {form}`"));
    match (verb, words) {
        ("module", [path]) => file.module = Some((*path).to_owned()),
        ("module", [path, ..]) => {
            file.module = Some((*path).to_owned());
            return usage("example.com/path");
        }
        ("module", _) => return usage("example.com/path"),
        ("go", [version]) => match GoVersion::parse(version) {
            Some(version) => file.go = Some(version),
            None => return Err(format!("`{version}` is not a Go version such as 1.23")),
        },
        ("go", _) => return usage("1.23"),
        ("require", [path, version]) => {
            file.require.push(((*path).to_owned(), Version::parse(version)));
        }
        ("require", _) => return usage("example.com/path v1.2.3"),
        ("exclude", [path, version]) => match Version::parse(version) {
            Some(version) => file.exclude.push(((*path).to_owned(), version)),
            None => return Err(format!("`{version}` is not a version such as v1.2.3")),
        },
        ("exclude", _) => return usage("example.com/path v1.2.3"),
        ("replace", words) => match replace(words) {
            Some(replace) => file.replace.push(replace),
            None => return usage("example.com/path [v1.2.3] => ../dir or example.com/path v1.2.3"),
        },
        ("ignore", [dir]) => file.ignore.push((*dir).to_owned()),
        ("ignore", _) => return usage("./dir"),
        ("use", [dir]) => file.uses.push((*dir).to_owned()),
        ("use", _) => return usage("./dir"),
        // What `toolchain`, `godebug`, `tool` and `retract` say changes nothing for an analysis.
        _ => {}
    }
    Ok(())
}

fn replace(words: &[&str]) -> Option<Replace> {
    let arrow = words.iter().position(|&word| word == "=>")?;
    let (path, version) = match words[..arrow] {
        [path] => (path, None),
        [path, version] => (path, Some(Version::parse(version)?)),
        _ => return None,
    };
    let with = match words[arrow + 1..] {
        [dir] if is_dir(dir) => Replacement::Dir(dir.to_owned()),
        [path, version] => Replacement::Module(path.to_owned(), Version::parse(version)),
        _ => return None,
    };
    Some(Replace { path: path.to_owned(), version, with })
}

/// Whether a replacement is a directory: it starts with `./`, `../` or is absolute
/// (`modfile.IsDirectoryPath`).
fn is_dir(path: &str) -> bool {
    let starts = ["./", "../", ".\\", "..\\", "/"];
    matches!(path, "." | "..")
        || starts.iter().any(|start| path.starts_with(start))
        || path.as_bytes().get(1) == Some(&b':')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(kind: Kind, text: &str, expected: &[&str]) {
        let (file, bad) = parse(text, kind);
        let version = |version: &Option<Version>| match version {
            Some(version) => format!(" {version}"),
            None => String::new(),
        };
        let mut printed = Vec::new();
        printed.extend(file.module.map(|path| format!("module {path}")));
        printed.extend(file.go.map(|version| format!("go {version}")));
        printed
            .extend(file.require.iter().map(|(path, v)| format!("require {path}{}", version(v))));
        printed.extend(file.replace.iter().map(|replace| {
            let with = match &replace.with {
                Replacement::Dir(dir) => format!("dir {dir}"),
                Replacement::Module(path, v) => format!("{path}{}", version(v)),
            };
            format!("replace {}{} => {with}", replace.path, version(&replace.version))
        }));
        printed
            .extend(file.exclude.iter().map(|(path, version)| format!("exclude {path} {version}")));
        printed.extend(file.ignore.iter().map(|dir| format!("ignore {dir}")));
        printed.extend(file.uses.iter().map(|dir| format!("use {dir}")));
        printed.extend(bad.iter().map(|bad| format!("{}: {}", bad.line, bad.message)));
        assert_eq!(printed, expected);
    }

    #[test]
    fn go_mod() {
        check(
            Kind::Mod,
            "// Deprecated: use w\nmodule \"example.com/m\" // the module\r\n\ngo 1.21rc1\ntoolchain go1.22.0\n\
             require a.b/c v1.2.3\nrequire (\n\ta.b/d v0.0.0-20191016115326-20453efc2458 // indirect\n\n\ta.b/e master\n)\n\
             exclude ( )\nexclude a.b/c v1.2.2\nretract [v1.0.0, v1.0.5] // oops\ntool a.b/c/cmd\nignore (\n\t./node_modules\n)\n\
             replace (\n\ta.b/c => ../c\n\ta.b/d v1.0.0 => x.y/d v1.0.1\n)\ngodebug default=go1.21",
            &[
                "module example.com/m",
                "go 1.21rc1",
                "require a.b/c v1.2.3",
                "require a.b/d v0.0.0-20191016115326-20453efc2458",
                "require a.b/e",
                "replace a.b/c => dir ../c",
                "replace a.b/d v1.0.0 => x.y/d v1.0.1",
                "exclude a.b/c v1.2.2",
                "ignore ./node_modules",
            ],
        );
    }

    #[test]
    fn a_wrong_line_is_told_of_and_the_others_count() {
        check(
            Kind::Mod,
            "module m extra\ngo one\n/* x */\nrequire a.b/c\nrequire a.b/d v1.0.0\nfrobnicate x\nreplace a => b\nmodule \"open\nrequire (\na.b/e v1.0.0",
            &[
                "module m",
                "require a.b/d v1.0.0",
                "require a.b/e v1.0.0",
                "1: a `module` line has the form `module example.com/path`",
                "2: `one` is not a Go version such as 1.23",
                "3: comments are `//`, not `/* */`",
                "4: a `require` line has the form `require example.com/path v1.2.3`",
                "6: unknown directive `frobnicate`",
                "7: a `replace` line has the form `replace example.com/path [v1.2.3] => ../dir or example.com/path v1.2.3`",
                "8: the string is never closed",
                "9: the block `require (` is never closed",
            ],
        );
    }

    #[test]
    fn go_work() {
        check(
            Kind::Work,
            "go 1.22\nuse .\nuse (\n\t./a // one\n\t`./b c`\n)\nreplace x.y/z => ./z\nmodule m\n",
            &[
                "go 1.22",
                "replace x.y/z => dir ./z",
                "use .",
                "use ./a",
                "use ./b c",
                "8: unknown directive `module`",
            ],
        );
    }
}
