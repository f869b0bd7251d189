//! `bad-suppression`: a `//straggler:` directive that is not understood, gives no reason, or
//! suppresses nothing. `analysis` knows the directives; here is what is said of them.

use crate::config::nearest;
use crate::diagnostic::{Confidence, Edit, Finding, Fix, Safety, Severity};
use crate::rules::{Check, GROUPS, Rule, registry};
use crate::source::Location;

pub const RULE: Rule =
    Rule { page: include_str!("../../rules/bad-suppression.md"), check: Check::Directives };

/// The id of the rule.
pub const ID: &str = "bad-suppression";

/// What is wrong with a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It would be one without the space after `//`.
    Space,
    /// There is no such directive.
    UnknownDirective(String),
    /// It names no rule.
    NoRule,
    /// It names a rule that does not exist.
    UnknownRule(String),
    /// It does not say why.
    NoReason,
    /// It suppresses nothing of the rules that it names.
    Unused(String),
}

/// The finding for a directive. `removal` is the text that goes when it is deleted.
pub fn finding(at: Location, removal: Location, fault: &Fault) -> Finding {
    let (message, label) = match fault {
        Fault::Space => (
            "this is a comment: a directive has no space after `//`".to_owned(),
            "suppresses nothing",
        ),
        Fault::UnknownDirective(word) => {
            (format!("there is no directive `{word}`"), "suppresses nothing")
        }
        Fault::NoRule => ("the directive names no rule".to_owned(), "suppresses nothing"),
        Fault::UnknownRule(name) => {
            let names = registry().iter().map(|entry| entry.page.id);
            let meant = nearest(name, names.chain(GROUPS.iter().map(|group| group.id)));
            let meant = meant.map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
            (format!("there is no rule or group `{name}`{meant}"), "suppresses nothing")
        }
        Fault::NoReason => {
            ("the directive gives no reason, and counts only with one".to_owned(), "why?")
        }
        Fault::Unused(names) => {
            (format!("nothing of `{names}` is found here any more"), "suppresses nothing")
        }
    };
    let unused = Fix {
        message: "delete the directive".to_owned(),
        safety: Safety::Safe,
        edits: vec![Edit { location: removal, replacement: String::new() }],
    };
    Finding {
        rule: ID,
        severity: Severity::Warning,
        confidence: Confidence::High,
        message,
        primary: at,
        primary_label: label.to_owned(),
        labels: Vec::new(),
        why: String::new(),
        help: match fault {
            Fault::Unused(_) => "delete the directive".to_owned(),
            _ => "write `//straggler:ignore RULE[,RULE] REASON`".to_owned(),
        },
        fixes: match fault {
            Fault::Unused(_) => vec![unused],
            _ => Vec::new(),
        },
        defect: at,
    }
}
