//! URIs of files to paths and back.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// The absolute path that a `file:` URI names. `None` for other schemes, for files of other
/// machines, and for what is no path.
pub fn to_path(uri: &str) -> Option<PathBuf> {
    let (scheme, rest) = uri.split_once(':')?;
    if !scheme.eq_ignore_ascii_case("file") {
        return None;
    }
    let (host, path) = match rest.strip_prefix("//") {
        Some(rest) => rest.split_at(rest.find('/')?),
        None => ("", rest),
    };
    if !host.is_empty() && !host.eq_ignore_ascii_case("localhost") {
        return None;
    }
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let bytes = decode(path)?;
    let path = PathBuf::from(os_string(bytes)?);
    path.is_absolute().then_some(path)
}

/// The `file:` URI of an absolute path.
pub fn of_path(path: &Path) -> String {
    let mut uri = "file://".to_owned();
    let bytes = path.as_os_str().as_encoded_bytes();
    if !bytes.starts_with(b"/") {
        uri.push('/');
    }
    for &byte in bytes {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte as char);
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => write!(uri, "%{byte:02X}").expect("a string takes all"),
        }
    }
    uri
}

/// Undoes percent-encoding. `None` for NUL and for what is not encoded as it should be.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let byte = match byte {
            b'%' => {
                let high = char::from(rest.next()?).to_digit(16)?;
                let low = char::from(rest.next()?).to_digit(16)?;
                (high * 16 + low) as u8
            }
            byte => byte,
        };
        if byte == 0 {
            return None;
        }
        bytes.push(byte);
    }
    Some(bytes)
}

#[cfg(unix)]
fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    Some(std::os::unix::ffi::OsStringExt::from_vec(bytes))
}

/// Where paths start with a drive, the URI has a slash before it.
#[cfg(not(unix))]
fn os_string(bytes: Vec<u8>) -> Option<OsString> {
    let path = String::from_utf8(bytes).ok()?;
    let path = path.strip_prefix('/').unwrap_or(&path);
    Some(path.replace('/', std::path::MAIN_SEPARATOR_STR).into())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn check(uri: &str, path: Option<&str>) {
        assert_eq!(to_path(uri), path.map(PathBuf::from), "{uri}");
    }

    #[test]
    fn files_of_this_machine() {
        check("file:///home/me/a%20b/%C3%A9.go", Some("/home/me/a b/é.go"));
        check("FILE://localhost/a.go", Some("/a.go"));
        check("file:/a.go", Some("/a.go"));
        check("file:///c%3A/a.go", Some("/c:/a.go"));
    }

    #[test]
    fn everything_else_is_no_file() {
        for uri in [
            "",
            ":",
            "file:",
            "file://",
            "file:a.go",
            "file://host/a.go",
            "untitled:Untitled-1",
            "git:/a.go",
            "http://localhost/a.go",
            "file:///a%00.go",
            "file:///a%2",
            "file:///a%zz",
        ] {
            check(uri, None);
        }
    }

    #[test]
    fn there_and_back() {
        for path in ["/a.go", "/a b/#?%/é\n.go"] {
            assert_eq!(to_path(&of_path(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(of_path(Path::new("/a b.go")), "file:///a%20b.go");
    }
}
