//! Which rules run, and from which confidence on their findings are shown.

use crate::config::{Config, nearest};
use crate::diagnostic::{Confidence, Finding, Severity};
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
    min_severity: Severity,
    /// The rules whose severity is another than their findings say.
    severity: Vec<(&'static str, Severity)>,
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
        let selectors = config.select.iter().chain(&config.ignore).flatten();
        let unknown = selectors
            .chain(config.severity.keys())
            .filter(|name| !names(pages).any(|known| known == name.as_str()))
            .map(|name| UnknownSelector { name: name.clone(), meant: nearest(name, names(pages)) })
            .collect();
        let shown = pages.iter().filter_map(|page| Some((page.id, least(page, config)?))).collect();
        let severity = pages.iter().filter_map(|page| Some((page.id, severity(page, config)?)));
        let selection = Selection {
            shown,
            min_severity: config.min_severity.unwrap_or(Severity::Note),
            severity: severity.collect(),
        };
        (selection, unknown)
    }

    /// The severity of a finding.
    pub fn severity(&self, finding: &Finding) -> Severity {
        let set = self.severity.iter().find(|(id, _)| *id == finding.rule);
        set.map_or(finding.severity, |&(_, severity)| severity)
    }

    /// Whether a finding is sure and severe enough to be shown.
    pub fn shows(&self, finding: &Finding) -> bool {
        let least = self.least_confidence(finding.rule);
        least.is_some_and(|least| finding.confidence >= least)
            && self.severity(finding) >= self.min_severity
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
    let select = config.select.as_deref().unwrap_or_default();
    let selected = match narrowest(page, select) {
        None if select.is_empty() && page.default => Some(Reach::Default),
        selected => selected,
    }?;
    let ignore = config.ignore.as_deref().unwrap_or_default();
    if narrowest(page, ignore).is_some_and(|ignored| ignored >= selected) {
        return None;
    }
    let named =
        matches!(selected, Reach::Rule) || select.iter().any(|selector| selector == ALL_RULES);
    let usual = if named { Confidence::Low } else { Confidence::Medium };
    Some(config.min_confidence.unwrap_or(usual))
}

fn severity(page: &Page, config: &Config) -> Option<Severity> {
    let set = config.severity.iter();
    set.filter_map(|(selector, &severity)| Some((reach(page, selector)?, severity)))
        .max_by_key(|&(reach, _)| reach)
        .map(|(_, set)| set)
}

fn narrowest(page: &Page, selectors: &[String]) -> Option<Reach> {
    selectors.iter().filter_map(|selector| reach(page, selector)).max()
}

fn reach(page: &Page, selector: &str) -> Option<Reach> {
    match selector {
        ALL_RULES => Some(Reach::All),
        DEFAULT_RULES => page.default.then_some(Reach::Default),
        name if name == page.id => Some(Reach::Rule),
        name if name == page.group => Some(Reach::Group),
        _ => None,
    }
}

/// All that can be written where rules are selected: words, groups, rules.
pub fn selectors() -> Vec<&'static str> {
    let pages: Vec<&Page> = registry().iter().map(|entry| &entry.page).collect();
    names(&pages).collect()
}

fn names(pages: &[&Page]) -> impl Iterator<Item = &'static str> {
    let ids: Vec<&'static str> = pages.iter().map(|page| page.id).collect();
    [ALL_RULES, DEFAULT_RULES].into_iter().chain(GROUPS.iter().map(|group| group.id)).chain(ids)
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
            apart: false,
            go: None,
            modules: Vec::new(),
            summary: "",
            sections: Vec::new(),
        }
    }

    /// Prints the rules that run, each with the least confidence shown.
    fn check(select: &[&str], ignore: &[&str], min: Option<Confidence>, expected: &str) {
        let strings = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        let config = Config {
            select: Some(strings(select)),
            ignore: Some(strings(ignore)),
            min_confidence: min,
            ..Config::default()
        };
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
    fn the_narrowest_severity_holds() {
        let severity = [
            ("ALL", Severity::Note),
            ("stuck", Severity::Warning),
            ("nil-channel", Severity::Error),
        ];
        let config = Config {
            severity: severity.map(|(name, set)| (name.to_owned(), set)).into(),
            ..Config::default()
        };
        let of = |id, group| super::severity(&page(id, group, true), &config);
        assert_eq!(of("nil-channel", "stuck"), Some(Severity::Error));
        assert_eq!(of("lock-order", "stuck"), Some(Severity::Warning));
        assert_eq!(of("x", "watch"), Some(Severity::Note));
    }

    #[test]
    fn a_name_that_does_not_exist_is_given_back_with_what_was_meant() {
        check(&["nil-chanel"], &["q"], None, "nil-chanel? nil-channel, q? x");
        check(&["something-else"], &[], None, "something-else? -");
    }
}
