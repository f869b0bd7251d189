//! Documents say what is so: paths that they name exist, and what is generated is up to date.

use std::fs;
use std::process::Output;

use straggler::rules::registry;

use crate::cli::{module, seen, straggler};
use crate::harness::{assert_generated, root};

#[test]
fn documents_name_paths_that_exist() {
    for document in [
        "README.md",
        "docs/ARCHITECTURE.md",
        "docs/BUILD-SYSTEMS.md",
        "docs/CONTRIBUTING.md",
        "docs/TUTORIAL.md",
    ] {
        let text = fs::read_to_string(root().join(document)).expect("a document");
        for path in text.split('`').skip(1).step_by(2).filter(|code| is_path(code)) {
            let exists = root().join(path.trim_end_matches('/')).exists();
            assert!(exists, "{document} names `{path}`, which does not exist");
        }
    }
}

/// Whether code in a document is a path below the root: it starts with one of its directories,
/// and holds nothing to be filled in.
fn is_path(code: &str) -> bool {
    let below = [
        "src/",
        "rules/",
        "tests/",
        "fixtures/",
        "fuzz/",
        "docs/",
        ".ci/",
        "editors/",
        "contrib/",
        "packaging/",
    ];
    below.iter().any(|dir| code.starts_with(dir)) && !code.contains(['<', '*', '{', ' ', '\n'])
}

#[test]
fn the_tables_of_rules_are_up_to_date() {
    let mut index = String::from(
        "# The rules\n\nGenerated from the pages: run `UPDATE=1 cargo test` after a change.\n\n",
    );
    index.push_str(&table(""));
    assert_generated("rules/README.md", &index);
}

#[test]
fn the_readme_shows_what_its_first_command_prints() {
    let readme = fs::read_to_string(root().join("README.md")).expect("text");
    let command = readme
        .lines()
        .find_map(|line| line.strip_prefix("cargo run --release -- "))
        .expect("README.md has a first command");
    let output = straggler(root()).args(command.split(' ')).output().expect("straggler runs");
    assert_eq!(output.status.code(), Some(1), "{}", seen(&output));
    let shown = String::from_utf8(output.stdout).expect("UTF-8");
    let path = command.rsplit(' ').next().expect("a path");
    assert!(shown.contains(&format!("{path}/")), "a finding names its path:\n{shown}");
    let lines: Vec<&str> = shown.trim_end().lines().map(str::trim_end).collect();
    let screen = format!("```text\n$ straggler {command}\n{}\n```\n", lines.join("\n"));
    let readme = replace(&readme, "screen", &screen);
    assert_generated("README.md", &replace(&readme, "rules", &table("rules/")));
}

/// `text` with what stands between `<!-- name -->` and `<!-- /name -->` replaced.
fn replace(text: &str, name: &str, by: &str) -> String {
    let (start, end) = (format!("<!-- {name} -->\n"), format!("<!-- /{name} -->"));
    let (before, rest) = text.split_once(&start).expect("the start of a generated part");
    let (_, after) = rest.split_once(&end).expect("the end of a generated part");
    format!("{before}{start}{by}{end}{after}")
}

/// A Markdown table of all rules, whose pages are below `path`.
fn table(path: &str) -> String {
    let mut table = String::from("| Rule | Group | Reports |\n|---|---|---|\n");
    for entry in registry() {
        let page = &entry.page;
        let off = if page.default { "" } else { " *(off by default)*" };
        let summary = page.summary.split_whitespace().collect::<Vec<_>>().join(" ");
        table += &format!(
            "| [`{id}`]({path}{id}.md) | {group} | {summary}{off} |\n",
            id = page.id,
            group = page.group,
            summary = summary.replace('|', "\\|"),
        );
    }
    table
}

#[test]
fn packages_are_of_one_version() {
    let version = env!("CARGO_PKG_VERSION");
    let read = |path: &str| fs::read_to_string(root().join(path)).expect("a file");
    let hook = read("pyproject.toml");
    assert!(hook.contains(&format!("version = \"{version}\"")), "{hook}");
    assert!(hook.contains(&format!("\"straggler=={version}\"")), "{hook}");
    assert!(read("README.md").contains(&format!("rev: v{version}\n")));
}

/// Files of fences that begin with `//- PATH` are written, and commands of `console` fences are run.
#[test]
fn the_tutorial_is_what_happens() {
    let tutorial = fs::read_to_string(root().join("docs/TUTORIAL.md")).expect("text");
    let module = module(&[]);
    let mut replayed = String::new();
    let mut fence: Option<(&str, String)> = None;
    for line in tutorial.lines() {
        match (&mut fence, line.strip_prefix("```")) {
            (None, Some(kind)) => {
                fence = Some((kind, String::new()));
                replayed += &format!("{line}\n");
            }
            (None, None) => replayed += &format!("{line}\n"),
            (Some((kind, text)), Some(_)) => {
                if let Some((path, source)) =
                    text.strip_prefix("//- ").and_then(|rest| rest.split_once('\n'))
                {
                    fs::write(module.path().join(path), source).expect("a file");
                }
                if *kind != "console" {
                    replayed += text;
                }
                replayed += &format!("{line}\n");
                fence = None;
            }
            (Some(("console", _)), None) => {
                if let Some(command) = line.strip_prefix("$ straggler") {
                    let output = straggler(module.path()).args(words(command)).output();
                    replayed += &format!("{line}\n{}", told(&output.expect("straggler runs")));
                }
            }
            (Some((_, text)), None) => *text += &format!("{line}\n"),
        }
    }
    assert_generated("docs/TUTORIAL.md", &replayed);
}

/// The words of a command; those with spaces are quoted.
fn words(command: &str) -> Vec<String> {
    let parts = command.split('"').enumerate();
    parts
        .flat_map(|(number, part)| match number % 2 {
            0 => part.split_whitespace().map(str::to_owned).collect(),
            _ => vec![part.to_owned()],
        })
        .collect()
}

/// What a terminal shows of a run, without its time.
fn told(output: &Output) -> String {
    let seen = seen(output);
    let (_, shown) = seen.split_once('\n').expect("the exit code has a line");
    let line = |line: &str| {
        let line = line.strip_prefix("! ").unwrap_or(line).trim_end();
        format!("{}\n", line.strip_suffix("; T").map_or(line.to_owned(), |it| format!("{it}; …")))
    };
    shown.lines().map(line).collect()
}
