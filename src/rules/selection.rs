//! Which rules run, and from which confidence on their findings are shown.

use crate::config::Config;
use crate::diagnostic::Confidence;
use crate::rules::page::Page;
use crate::rules::{GROUPS, registry};

/// The selector of all rules, those that are off by default included.
pub const ALL_RULES: &str = "ALL";

/// The selector of the rules that run without being asked for.
pub const DEFAULT_RULES: &str = "DEFAULT";

/// The rules of a run: one entry for each that runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    shown: Vec<(&'static str, Confidence)>,
}

/// A name that is neither a rule, a group nor a word of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownSelector {
    /// What was written.
    pub name: String,
    /// The name that is nearest to it, if one is near.
    pub meant: Option<&'static str>,
}

impl Selection {
    /// What `config` asks for. Names that do not exist are given back; the rest holds.
    pub fn new(config: &Config) -> (Selection, Vec<UnknownSelector>) {
        let pages: Vec<&Page> = registry().iter().map(|entry| &entry.page).collect();
        Selection::of(&pages, config)
    }

    fn of(pages: &[&Page], config: &Config) -> (Selection, Vec<UnknownSelector>) {
        let unknown = config
            .select
            .iter()
            .chain(&config.ignore)
            .filter(|name| !names(pages).any(|known| known == name.as_str()))
            .map(|name| UnknownSelector { name: name.clone(), meant: nearest(name, names(pages)) })
            .collect();
        let shown = pages.iter().filter_map(|page| Some((page.id, least(page, config)?))).collect();
        (Selection { shown }, unknown)
    }

    /// The least confidence from which findings of `rule` are shown; `None` if it does not run.
    pub fn least_confidence(&self, rule: &str) -> Option<Confidence> {
        self.shown.iter().find(|(id, _)| *id == rule).map(|&(_, least)| least)
    }
}

/// How narrowly a selector speaks of a rule.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Reach {
    Default,
    All,
    Group,
    Rule,
}

fn least(page: &Page, config: &Config) -> Option<Confidence> {
    let selected = match narrowest(page, &config.select) {
        None if config.select.is_empty() && page.default => Some(Reach::Default),
        selected => selected,
    }?;
    if narrowest(page, &config.ignore).is_some_and(|ignored| ignored >= selected) {
        return None;
    }
    let named = matches!(selected, Reach::Rule)
        || config.select.iter().any(|selector| selector == ALL_RULES);
    let usual = if named { Confidence::Low } else { Confidence::Medium };
    Some(config.min_confidence.unwrap_or(usual))
}

fn narrowest(page: &Page, selectors: &[String]) -> Option<Reach> {
    let reach = |selector: &String| match selector.as_str() {
        ALL_RULES => Some(Reach::All),
        DEFAULT_RULES => page.default.then_some(Reach::Default),
        name if name == page.id => Some(Reach::Rule),
        name if name == page.group => Some(Reach::Group),
        _ => None,
    };
    selectors.iter().filter_map(reach).max()
}

fn names(pages: &[&Page]) -> impl Iterator<Item = &'static str> {
    let ids: Vec<&'static str> = pages.iter().map(|page| page.id).collect();
    [ALL_RULES, DEFAULT_RULES].into_iter().chain(GROUPS.iter().map(|group| group.id)).chain(ids)
}

/// The one of `names` with the fewest edits from `name`, if they are few.
pub fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let limit = (name.chars().count() / 3).max(1);
    names
        .map(|candidate| (distance(name, candidate), candidate))
        .min()
        .filter(|(edits, _)| *edits <= limit)
        .map(|(_, candidate)| candidate)
}

/// Levenshtein's distance, without regard to case.
fn distance(a: &str, b: &str) -> usize {
    let lower = |text: &str| text.chars().flat_map(char::to_lowercase).collect::<Vec<char>>();
    let (a, b) = (lower(a), lower(b));
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Severity;

    fn page(id: &'static str, group: &'static str, default: bool) -> Page {
        Page {
            id,
            group,
            severity: Severity::Error,
            confidence: Confidence::High,
            default,
            since: "0.1.0",
            supersedes: Vec::new(),
            go: None,
            modules: Vec::new(),
            summary: "",
            sections: Vec::new(),
        }
    }

    /// Prints the rules that run, each with the least confidence shown.
    fn check(select: &[&str], ignore: &[&str], min: Option<Confidence>, expected: &str) {
        let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let config =
            Config { select: strings(select), ignore: strings(ignore), min_confidence: min };
        let pages = [
            page("nil-channel", "stuck", true),
            page("lock-order", "stuck", false),
            page("x", "watch", true),
        ];
        let (selection, unknown) = Selection::of(&pages.iter().collect::<Vec<_>>(), &config);
        let mut lines: Vec<String> =
            selection.shown.iter().map(|(id, least)| format!("{id} {least:?}")).collect();
        lines.extend(unknown.iter().map(|u| format!("{}? {}", u.name, u.meant.unwrap_or("-"))));
        assert_eq!(lines.join(", "), expected);
    }

    #[test]
    fn the_default_shows_medium_and_a_named_rule_shows_all() {
        check(&[], &[], None, "nil-channel Medium, x Medium");
        check(&["lock-order"], &[], None, "lock-order Low");
        check(&["stuck"], &[], None, "nil-channel Medium, lock-order Medium");
        check(&["ALL"], &[], None, "nil-channel Low, lock-order Low, x Low");
        check(&["ALL"], &[], Some(Confidence::High), "nil-channel High, lock-order High, x High");
        check(
            &["DEFAULT", "lock-order"],
            &[],
            None,
            "nil-channel Medium, lock-order Low, x Medium",
        );
    }

    #[test]
    fn the_narrower_selector_decides_and_between_equals_ignore_does() {
        check(&[], &["stuck"], None, "x Medium");
        check(&["ALL"], &["stuck"], None, "x Low");
        check(&["nil-channel"], &["stuck"], None, "nil-channel Low");
        check(&["nil-channel", "x"], &["x"], None, "nil-channel Low");
    }

    #[test]
    fn a_name_that_does_not_exist_is_given_back_with_what_was_meant() {
        check(&["nil-chanel"], &["q"], None, "nil-chanel? nil-channel, q? x");
        check(&["something-else"], &[], None, "something-else? -");
    }
}
