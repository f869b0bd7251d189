//! JSON as bytes. Standard output may be a terminal, and what leads there drops what would steer one:
//! characters without a shape, which can stand only in strings, are written as escapes.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::Serialize;

use super::visible::is_hidden;

/// Writes a value on one line.
pub fn write(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", escaped(&serde_json::to_string(value)?))
}

/// Writes a value on many lines.
pub fn write_pretty(value: &impl Serialize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", escaped(&serde_json::to_string_pretty(value)?))
}

fn escaped(json: &str) -> String {
    let mut escaped = String::with_capacity(json.len());
    for c in json.chars() {
        if c == '\n' || !is_hidden(c) {
            escaped.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(escaped, "\\u{unit:04x}");
        }
    }
    escaped
}
