//! How paths are cleaned, and shown to people.

use std::path::{Component, Path, PathBuf};

/// `path` without `.` and `..`, by its text alone, as Go's `filepath.Clean`.
pub fn clean(path: &Path) -> PathBuf {
    let mut cleaned = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                cleaned.pop();
            }
            part => cleaned.push(part),
        }
    }
    cleaned
}

/// The elements of a relative path with `/` between them.
pub(super) fn slashed(path: &Path) -> String {
    let elements = path.components().map(|part| part.as_os_str().to_string_lossy());
    elements.collect::<Vec<_>>().join("/")
}

/// An absolute path as shown to people: relative to `cwd` where that is shorter.
pub fn display(path: &Path, cwd: &Path) -> String {
    let shared = path.components().zip(cwd.components()).take_while(|(a, b)| a == b).count();
    let up = cwd.components().skip(shared).map(|_| Component::ParentDir);
    let relative: PathBuf = up.chain(path.components().skip(shared)).collect();
    let relative = slashed(&relative);
    let absolute = path.to_string_lossy();
    match relative.is_empty() {
        true => ".".to_owned(),
        false if relative.len() < absolute.len() => relative,
        false => absolute.replace(std::path::MAIN_SEPARATOR, "/"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, cwd: &str, expected: &str) {
        assert_eq!(display(&clean(Path::new(path)), Path::new(cwd)), expected);
    }

    #[test]
    fn the_shorter_form_is_shown() {
        check("/home/me/m/a/b.go", "/home/me/m", "a/b.go");
        check("/home/me/m/./a/../b.go", "/home/me/m", "b.go");
        check("/home/me/m", "/home/me/m", ".");
        check("/home/me/m/b.go", "/home/me/m/a", "../b.go");
        check("/usr/b.go", "/home/me/m", "/usr/b.go");
        check("/../b.go", "/home/me/m", "/b.go");
    }
}
