//! What was meant by a name that does not exist.

/// The one of `names` with the fewest edits from `name`, if they are few.
pub fn nearest<'n>(name: &str, names: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    let limit = (name.chars().count() / 3).max(1);
    names
        .map(|candidate| (distance(name, candidate), candidate))
        .min()
        .filter(|(edits, _)| *edits <= limit)
        .map(|(_, candidate)| candidate)
}

/// What serde says of an unknown name among known ones, with the one that was meant in place of the
/// list where one is near.
pub(super) fn told(message: &str) -> String {
    let names: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    let (start, Some((unknown, known))) = (message.split(", expected").next(), names.split_first())
    else {
        return message.to_owned();
    };
    let meant = message.starts_with("unknown ").then(|| nearest(unknown, known.iter().copied()));
    match (start, meant.flatten()) {
        (Some(start), Some(meant)) => format!("{start}; did you mean `{meant}`?"),
        _ => message.to_owned(),
    }
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
