//! The shape of a `straggler.toml`, from which it is read and its JSON Schema is made.

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema, schema_for};
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::Spanned;

use super::{Config, ConfigError, ConfigText, Globs, Layer, meant};
use crate::diagnostic::{Confidence, Severity};
use crate::source::SourceText;

/// The JSON Schema of a `straggler.toml`. `selectors` are the names that say which rules.
pub fn schema(selectors: &[&str]) -> Schema {
    let mut schema = schema_for!(Table);
    let names = schema.pointer_mut("/$defs/Selector").and_then(|selector| selector.as_object_mut());
    names.expect("the tables speak of selectors").insert("enum".to_owned(), selectors.into());
    schema
}

pub(super) fn parse(text: &str) -> Result<ConfigText, ConfigError> {
    let source = SourceText::new(text.as_bytes().to_vec());
    let place = |offset: usize| {
        let position = source.position(offset as u32);
        (position.line, position.column)
    };
    let mut table: Table = toml::from_str(text).map_err(|error| {
        let message = error.message().lines().collect::<Vec<_>>().join("; ");
        ConfigError {
            line_column: place(error.span().map_or(0, |span| span.start)),
            message: meant::told(&message),
        }
    })?;
    let line = |offset: usize| place(offset).0;
    let Table { extend, overrides, .. } = &mut table;
    let (extend, overrides) = (extend.take(), std::mem::take(overrides));
    let mut layers = vec![table.layer(None, &line)];
    for each in overrides {
        let places: Vec<usize> = each.paths.iter().map(|path| path.span().start).collect();
        let written = each.paths.iter().map(|path| path.get_ref().clone()).collect();
        let globs = Globs::new(written).map_err(|(number, message)| ConfigError {
            line_column: place(places.get(number).copied().unwrap_or_default()),
            message,
        })?;
        layers.push(each.layer(Some(globs), &line));
    }
    let extend = extend.map(|name| {
        let at = place(name.span().start);
        (name.into_inner(), at)
    });
    Ok(ConfigText { extend, layers })
}

/// Declares a table that holds settings for files, and keys of its own.
macro_rules! settings_table {
    ($(#[$about:meta])* struct $name:ident { $($own:tt)* }) => {
        #[derive(Deserialize, JsonSchema)]
        $(#[$about])*
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct $name {
            $($own)*
            /// These rules run instead of the default ones.
            #[schemars(with = "Option<Vec<Selector>>")]
            select: Option<Spanned<Vec<Selector>>>,
            /// These rules do not run. Of two selectors that speak of one rule the narrower one
            /// decides; between equals this one does.
            #[schemars(with = "Option<Vec<Selector>>")]
            ignore: Option<Spanned<Vec<Selector>>>,
            /// The least confidence that is shown. By default medium, and low for rules that
            /// `select` names.
            #[schemars(with = "Option<ConfidenceName>")]
            min_confidence: Option<Spanned<ConfidenceName>>,
            /// The least severity that is shown. By default note.
            #[schemars(with = "Option<SeverityName>")]
            min_severity: Option<Spanned<SeverityName>>,
            /// The severity of findings, by id of a rule or group, in place of what the rule says.
            #[schemars(with = "Option<BTreeMap<String, SeverityName>>")]
            severity: Option<Spanned<BTreeMap<String, SeverityName>>>,
        }

        impl $name {
            fn layer(self, globs: Option<Globs>, line: &dyn Fn(usize) -> u32) -> Layer {
                let mut lines = BTreeMap::new();
                let config = Config {
                    select: taken("select", self.select, &mut lines, line).map(names),
                    ignore: taken("ignore", self.ignore, &mut lines, line).map(names),
                    min_confidence: taken("min-confidence", self.min_confidence, &mut lines, line)
                        .map(Confidence::from),
                    min_severity: taken("min-severity", self.min_severity, &mut lines, line)
                        .map(Severity::from),
                    severity: taken("severity", self.severity, &mut lines, line)
                        .into_iter()
                        .flatten()
                        .map(|(name, severity)| (name, severity.into()))
                        .collect(),
                };
                Layer { config, lines, globs }
            }
        }
    };
}

settings_table! {
    /// Settings of straggler, a static analyser for Go that finds goroutines left behind. The file
    /// that is nearest to a Go file, upwards to the root of the repository, holds for it.
    #[schemars(title = "straggler.toml")]
    struct Table {
        /// A file whose settings hold where this one makes none: relative to this one, and in the
        /// same repository.
        #[schemars(with = "Option<String>")]
        extend: Option<Spanned<String>>,
        /// Settings for some of the files: of those that speak of a file the last one wins, setting
        /// by setting.
        #[serde(default, rename = "override")]
        overrides: Vec<Override>,
        /// What libraries do, in the form of straggler's own catalog. The tables of the
        /// configuration of the working directory hold for the whole run.
        #[serde(default, rename = "catalog")]
        #[schemars(schema_with = "tables")]
        _catalog: Option<IgnoredAny>,
    }
}

settings_table! {
    /// Settings for some of the files.
    struct Override {
        /// Globs of files, or of directories with all below them, relative to this file. One
        /// without a `/` matches at any depth.
        #[schemars(with = "Vec<String>")]
        paths: Vec<Spanned<String>>,
    }
}

/// The id of a rule or a group, or DEFAULT or ALL.
#[derive(Deserialize, JsonSchema)]
struct Selector(String);

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ConfidenceName {
    Low,
    Medium,
    High,
}

impl From<ConfidenceName> for Confidence {
    fn from(name: ConfidenceName) -> Confidence {
        match name {
            ConfidenceName::Low => Confidence::Low,
            ConfidenceName::Medium => Confidence::Medium,
            ConfidenceName::High => Confidence::High,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum SeverityName {
    Note,
    Warning,
    Error,
}

impl From<SeverityName> for Severity {
    fn from(name: SeverityName) -> Severity {
        match name {
            SeverityName::Note => Severity::Note,
            SeverityName::Warning => Severity::Warning,
            SeverityName::Error => Severity::Error,
        }
    }
}

/// The value of a setting, whose line is written down.
fn taken<T>(
    key: &'static str,
    value: Option<Spanned<T>>,
    lines: &mut BTreeMap<&'static str, u32>,
    line: &dyn Fn(usize) -> u32,
) -> Option<T> {
    let value = value?;
    lines.insert(key, line(value.span().start));
    Some(value.into_inner())
}

fn names(selectors: Vec<Selector>) -> Vec<String> {
    selectors.into_iter().map(|Selector(name)| name).collect()
}

fn tables(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": "object" })
}
