//! What tells a finding again after the code around it has changed.
//!
//! A fingerprint holds no line, so that edits elsewhere leave it alone, and no file, so that a
//! declaration may move within its package: it is made of the rule, the package, the declaration,
//! the tokens at the primary place, and a number among findings that are alike in all of these.

use std::collections::HashMap;

use sha2::{Digest, Sha256};

use crate::diagnostic::Finding;
use crate::project::Snapshot;
use crate::source::FileId;
use crate::syntax::{DeclKind, File};

/// The fingerprints of `findings`, in their order: 32 hexadecimal digits each. `declaration` gives the
/// [declaration](declaration) that holds a finding in a file of the run.
pub fn fingerprints(
    snapshot: &Snapshot,
    findings: &[Finding],
    declaration: &dyn Fn(&Finding) -> String,
) -> Vec<String> {
    let mut packages: HashMap<FileId, &str> = HashMap::new();
    for package in &snapshot.packages {
        for &file in &package.report {
            packages.insert(file, package.import_path.as_str());
        }
    }
    let mut alike: HashMap<String, usize> = HashMap::new();
    findings
        .iter()
        .map(|finding| {
            let file = finding.primary.file;
            // A file of a dependency belongs to no package of the run.
            let (package, declaration) = match snapshot.files.get(file.0 as usize) {
                Some(_) => (packages.get(&file).copied(), declaration(finding)),
                None => (None, String::new()),
            };
            let text = snapshot.file(file).text.text(finding.primary.span).into_owned();
            let tokens = text.split_whitespace().collect::<Vec<_>>().join(" ");
            let package = package.unwrap_or_default();
            let key = [finding.rule, package, &declaration, &tokens].join("\0");
            let number = alike.entry(key.clone()).or_default();
            *number += 1;
            let digest = Sha256::digest(format!("{key}\0{number}"));
            digest.iter().take(16).map(|byte| format!("{byte:02x}")).collect()
        })
        .collect()
}

/// The name of the declaration at file level that holds the primary place, a method's with its
/// receiver.
pub fn declaration(tree: &File, finding: &Finding) -> String {
    let holds = |span: crate::source::Span| span.contains(finding.primary.span);
    let decl = tree.top_level.iter().map(|&id| tree.decl(id)).find(|decl| holds(decl.span));
    match decl.map(|decl| (&decl.kind, decl.span)) {
        Some((DeclKind::Func(func), span)) => {
            let header = crate::source::Span::new(span.start, func.name.span.end);
            let text = tree.source.text(header);
            text.split_whitespace().collect::<Vec<_>>().join(" ")
        }
        _ => String::new(),
    }
}
