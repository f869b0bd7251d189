//! A channel of an object that nobody ever sends on or closes.
//!
//! Evidence: all operations on the channel are seen, it is made, and none of them sends on it or closes it; something
//! receives from it with nothing beside, in another function than the one that makes it. A variable of package level,
//! or one that is called so, may be meant to keep whoever receives from it for ever.

use std::sync::Arc;

use crate::diagnostic::{Finding, Role};
use crate::index::Def;
use crate::project::PackageId;
use crate::rules::evidence::groups::{Act, Group, Groups, Op};
use crate::rules::evidence::{confidence_at, first_line, label};
use crate::rules::scene::Scene;
use crate::source::FileId;
use crate::syntax::{ExprId, File};

/// Reports the receives, or the ranges, that nothing ever comes to.
pub(super) fn check(groups: &Groups<'_>, ranges: bool, findings: &mut Vec<Finding>) {
    let act = if ranges { Act::Range } else { Act::Receive };
    for group in groups.all() {
        findings.extend(unsent(groups, group, act));
    }
}

fn unsent(groups: &Groups<'_>, group: &Group, act: Act) -> Option<Finding> {
    let gives = |op: &Op| matches!(op.act, Act::Send | Act::Close | Act::Notify);
    if group.open || !group.recipients.is_empty() || group.ops.iter().any(gives) {
        return None;
    }
    let make = group.ops.iter().find(|op| matches!(op.act, Act::Make(_)))?;
    // Whoever is given a literal may never run it.
    let is_run =
        |op: &Op| op.literal.is_none() || groups.is_started(&groups.scenes[op.scene], op.literal);
    let waits =
        |op: &&Op| op.act == act && op.select.is_none() && op.scene != make.scene && is_run(op);
    let wait = group.ops.iter().find(waits)?;
    let is_kept = |op: &Op| stays_on_purpose(&groups.scenes[op.scene], op.channel);
    let scene = &groups.scenes[wait.scene];
    if group.ops.iter().any(is_kept) || is_named_by_tests(scene, wait.channel) {
        return None;
    }
    let name = scene.text(wait.channel);
    let message = match act {
        Act::Range => {
            format!("nobody sends on `{name}` or closes it, so this range never ends")
        }
        _ => format!("nobody sends on `{name}` or closes it, so this waits for ever"),
    };
    let mut finding = scene.cx.finding(first_line(scene, wait.span(scene)), "stays here", message);
    finding.confidence = confidence_at(scene, wait.node);
    finding.labels.push(label(groups, make, Role::Made, "made here"));
    finding.why =
        "all that is done to it stands in this package, and none of it ends the wait".to_owned();
    finding.help = format!("close `{name}` where what it stands for has come about");
    Some(finding)
}

/// Whether a test names the field that has the channel: that may be there for it.
fn is_named_by_tests(scene: &Scene<'_>, channel: ExprId) -> bool {
    let Some((_, field)) = scene.selector(channel) else { return false };
    let (index, package) = (scene.cx.index(), &scene.cx.package);
    let path = index.package(package.package).path;
    let used = format!(".{}", field.name);
    let finder = memchr::memmem::Finder::new(&used);
    let names = |&(id, ref file): &(FileId, Arc<File>)| {
        index.is_test_file(id) && finder.find(file.source.bytes()).is_some()
    };
    let of_tests = |&other: &PackageId| index.package(other).path == path;
    let mut packages = package.packages_with(field.name).filter(of_tests);
    packages.any(|other| index.package(other).files().iter().any(names))
}

/// Whether a channel may be there to keep those who receive from it: it belongs to the package, or its name says so.
fn stays_on_purpose(scene: &Scene<'_>, channel: ExprId) -> bool {
    let text = scene.text(channel).to_ascii_lowercase();
    let words = ["forever", "never", "block", "hang", "sleep", "infinit"];
    let is_global = matches!(scene.info.resolve(scene.file.unparen(channel)), Def::Global(_));
    is_global || words.iter().any(|word| text.contains(word))
}
