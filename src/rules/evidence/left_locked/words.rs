//! What names, comments and conditions say of locks.

use crate::rules::scene::Scene;
use crate::source::Span;

/// Whether the comment above the function says that it has to do with locks.
pub(super) fn comment_speaks_of_locks(scene: &Scene<'_>) -> bool {
    /// How far above a function its comment is looked for.
    const ABOVE: u32 = 600;
    let start = scene.file.decl(scene.cx.declared().decl).span.start;
    scene.file.comments.iter().any(|comment| {
        let near = comment.end <= start && comment.end + ABOVE >= start;
        near && {
            let text = scene.file.source.text(*comment);
            let between = scene.file.source.text(Span::new(comment.end, start));
            let adjoins = between.lines().all(|line| {
                let line = line.trim();
                line.is_empty() || line.starts_with("//")
            }) && !between.contains("\n\n");
            adjoins && is_prose(&text) && is_of_locks(&text)
        }
    })
}

/// Whether a comment within the function speaks of locks, and of more than in which order they are taken, unless that
/// counts as well.
pub(super) fn speaks_of_keeping(scene: &Scene<'_>, of_order_too: bool) -> bool {
    let source = &scene.file.source;
    let span = scene.file.decl(scene.cx.declared().decl).span;
    let mut all: Vec<(Span, String)> = Vec::new();
    for &comment in scene.file.comments.iter().filter(|&&comment| span.contains(comment)) {
        let text = source.text(comment);
        // What tests of linters expect is no prose.
        if !is_prose(&text) || text.starts_with("// want ") {
            continue;
        }
        let goes_on = |last: &Span| {
            let between = source.text(Span::new(last.end, comment.start));
            between.trim().is_empty() && between.matches('\n').count() == 1
        };
        match all.last_mut().filter(|(last, _)| goes_on(last)) {
            Some((last, known)) => {
                last.end = comment.end;
                known.push('\n');
                known.push_str(&text);
            }
            None => all.push((comment, text.into_owned())),
        }
    }
    all.iter()
        .any(|(_, text)| text.lines().any(is_of_locks) && (of_order_too || !is_of_order(text)))
}

/// Whether a comment tells in which order locks are taken, and nothing of how long they are held.
fn is_of_order(text: &str) -> bool {
    const HELD: [&str; 15] = [
        "unlock", "releas", "held", "hold", "keep", "kept", "until", "leav", "left", "still",
        "remain", "stay", "give", "hand", "free",
    ];
    let text = text.to_ascii_lowercase();
    text.contains("order")
        && text.contains("acquir")
        && !HELD.iter().any(|word| text.contains(word))
}

/// Whether a name, a comment or a condition speaks of locks: what blocks, waits for each other, or tells the
/// time, does not.
pub(super) fn is_of_locks(text: &str) -> bool {
    let others = ["deadlock", "Deadlock", "block", "Block", "clock", "Clock"];
    let text = others.iter().fold(text.to_owned(), |text, other| text.replace(other, " "));
    let text = text.to_ascii_lowercase();
    ["lock", "mutex", "held"].iter().any(|word| text.contains(word))
}

/// Whether a comment is no directive, such as the one that names this rule: those of Go stand without a blank.
pub(super) fn is_prose(comment: &str) -> bool {
    !comment.starts_with("//") || comment.starts_with("// ")
}
