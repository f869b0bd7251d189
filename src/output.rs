//! A report, a page or the table of rules as bytes: one file for each format.
//!
//! Everything here writes to what it is given and knows neither the terminal nor the command line.
//! What is meant for people is written with ANSI styles; who calls strips them where they are not
//! wanted. Text that comes from the outside (names, excerpts, messages that quote them) passes
//! `visible` on its way, whatever the target, so that it can never steer a terminal or forge a line.

mod annotations;
mod chains;
mod concise;
mod gitlab;
mod grouped;
mod human;
mod json;
mod json_text;
mod notes;
mod pages;
mod rdjson;
mod sarif;
mod site;
mod timings;
mod visible;
mod xml;

pub use annotations::{write_azure, write_github, write_teamcity};
pub use chains::{write as write_chains, write_json as write_chains_json};
pub use concise::write as write_concise;
pub use gitlab::write as write_gitlab;
pub use grouped::{write as write_grouped, write_statistics};
pub use human::write as write_human;
pub use json::{write as write_json, write_lines as write_json_lines};
pub use notes::{write as write_notes, write_summary};
pub use pages::{write_page, write_rules, write_rules_json};
pub use rdjson::write as write_rdjson;
pub use sarif::write as write_sarif;
pub use site::site;
pub use timings::{write as write_timings, write_json as write_timings_json};
pub use visible::in_line;
pub use xml::{write_checkstyle, write_junit};

use crate::diagnostic::{Confidence, Severity};

/// The word for a severity, in every format.
pub fn severity_name(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Note => "note",
    }
}

/// The word for a confidence, in every format.
pub fn confidence_name(confidence: Confidence) -> &'static str {
    match confidence {
        Confidence::High => "high",
        Confidence::Medium => "medium",
        Confidence::Low => "low",
    }
}
