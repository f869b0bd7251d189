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
