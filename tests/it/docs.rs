//! Documents say what is so: paths that they name exist, and what is generated is up to date.

use std::fs;

use straggler::rules::registry;

use crate::harness::{assert_generated, root};

#[test]
fn documents_name_paths_that_exist() {
    for document in ["README.md", "docs/ARCHITECTURE.md", "docs/CONTRIBUTING.md"] {
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
    let below = ["src/", "rules/", "tests/", "fixtures/", "docs/", ".ci/"];
    below.iter().any(|dir| code.starts_with(dir)) && !code.contains(['<', '*', '{', ' ', '\n'])
}

#[test]
fn the_tables_of_rules_are_up_to_date() {
    let mut index = String::from(
        "# The rules\n\nGenerated from the pages: run `UPDATE=1 cargo test` after a change.\n\n",
    );
    index.push_str(&table(""));
    assert_generated("rules/README.md", &index);

    let readme = fs::read_to_string(root().join("README.md")).expect("text");
    let (start, end) = ("<!-- rules -->\n", "<!-- /rules -->");
    let (before, rest) = readme.split_once(start).expect("README.md has a place for the table");
    let (_, after) = rest.split_once(end).expect("README.md's table has an end");
    let table = table("rules/");
    assert_generated("README.md", &format!("{before}{start}{table}{end}{after}"));
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
