//! A channel in a field that nobody ever makes.
//!
//! Evidence: the package makes values of the type, the field is its own, no function of it puts a
//! channel into the field, and no text of it looks as if it did; and both sides are there: the field is
//! received from, and it is closed or sent on. A field with one side only may be a hook that is switched
//! off. What only tests make is nil for everybody else.

use crate::diagnostic::{Finding, Label, Role};
use crate::rules::evidence::groups::{Act, Group, Groups};
use crate::rules::evidence::{confidence, first_line};
use crate::rules::scene::Scene;

/// Reports the receives from channels that are never made.
pub(super) fn check(groups: &Groups<'_>, findings: &mut Vec<Finding>) {
    for group in groups.all() {
        findings.extend(unmade(groups, group));
    }
}

fn unmade(groups: &Groups<'_>, group: &Group) -> Option<Finding> {
    let declared = group.only_field?;
    let is_made = |act| matches!(act, Act::Make(_) | Act::Notify);
    if group.open || group.ops.iter().any(|op| is_made(op.act)) {
        return None;
    }
    let receive = group.ops.iter().find(|op| matches!(op.act, Act::Receive | Act::Range))?;
    let other = group.ops.iter().find(|op| matches!(op.act, Act::Close | Act::Send))?;
    let scene = &groups.scenes[receive.scene];
    let (base, field) = scene.selector(receive.channel)?;
    let owner = scene.info.type_of(base).strip_pointer().named()?.name;
    if may_be_set(scene, field.name.as_str()) || !is_made_here(scene, owner.as_str()) {
        return None;
    }
    let name = scene.text(receive.channel);
    let message =
        format!("`{name}` is nil: nobody makes it, and nothing ever comes on a nil channel");
    let span = first_line(scene, receive.span(scene));
    let mut finding = scene.cx.finding(span, "never ready", message);
    finding.confidence = confidence(scene);
    finding.labels.push(Label {
        location: declared,
        role: Role::Made,
        message: "declared here, and never set".to_owned(),
    });
    let by = &groups.scenes[other.scene];
    let message = match other.act {
        Act::Close => "closing it panics",
        _ => "this send waits for ever",
    };
    finding.labels.push(Label {
        location: by.cx.location(first_line(by, other.span(by))),
        role: Role::Context,
        message: message.to_owned(),
    });
    finding.why = "a field that holds a channel is nil until somebody makes one".to_owned();
    finding.help = format!("make `{}` where its owner is made", field.name);
    Some(finding)
}

/// Whether some text of the package looks as if it set a field of this name, or asked whether it is
/// nil: `x.name =`, `x.name != nil`, `name:`, `&x.name`.
fn may_be_set(scene: &Scene<'_>, name: &str) -> bool {
    let package = scene.cx.index().package(scene.cx.package.package);
    let finder = memchr::memmem::Finder::new(name);
    package.files().iter().any(|(_, file)| {
        let text = file.source.bytes();
        finder.find_iter(text).any(|at| is_set(&text[..at], &text[at + name.len()..]))
    })
}

/// Whether some text of the package makes a value of the type with this name: `T{`, `new(T)`.
fn is_made_here(scene: &Scene<'_>, name: &str) -> bool {
    let package = scene.cx.index().package(scene.cx.package.package);
    let makes = [format!("{name}{{"), format!("new({name})")];
    let finders = makes.each_ref().map(memchr::memmem::Finder::new);
    package
        .files()
        .iter()
        .any(|(_, file)| finders.iter().any(|finder| finder.find(file.source.bytes()).is_some()))
}

/// Whether a name between two texts is that of a field that is set, or asked for.
fn is_set(before: &[u8], after: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii();
    let selected = match before.last() {
        Some(b'.') => true,
        Some(byte) if is_word(byte) => return false,
        _ => false,
    };
    if after.first().is_some_and(is_word) {
        return false;
    }
    let rest = after.trim_ascii_start();
    let taken = || {
        let base =
            before.iter().rev().skip_while(|&byte| is_word(byte) || matches!(byte, b'.' | b' '));
        base.copied().next() == Some(b'&')
    };
    match (selected, rest.first()) {
        (true, Some(b'=' | b'!' | b',')) => true,
        (true, _) => taken(),
        (false, next) => next == Some(&b':'),
    }
}
