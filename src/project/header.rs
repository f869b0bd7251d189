//! The header of a Go file: build constraint lines, package clause and imports, read from its bytes
//! without parsing the rest.
//!
//! It reads as `go/build` does: constraints count only before the package clause, `// +build` only
//! when a blank line follows. It never fails: what is not there is absent.

/// What stands before a file's first declaration.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Header {
    /// The expression of the `//go:build` line.
    pub go_build: Option<String>,
    /// What follows `+build` on each line of the older form that counts.
    pub plus_build: Vec<String>,
    /// The name in the package clause.
    pub package: Option<String>,
    /// The path in `package p // import "path"`.
    pub import_comment: Option<String>,
    /// The imported paths, in order.
    pub imports: Vec<String>,
}

/// Reads the header of a file.
pub(super) fn scan(bytes: &[u8]) -> Header {
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let mut scanner = Scanner { bytes, at: 0 };
    let mut header = Header::default();
    scanner.constraints(&mut header);
    if !scanner.keyword(b"package") {
        return header;
    }
    scanner.skip_blanks();
    header.package = scanner.identifier();
    if header.package.is_none() {
        return header;
    }
    header.import_comment = scanner.import_comment();
    scanner.skip_blanks_and_semicolons();
    while scanner.keyword(b"import") {
        scanner.import_declaration(&mut header.imports);
        scanner.skip_blanks_and_semicolons();
    }
    header
}

struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Scanner<'_> {
    fn rest(&self) -> &[u8] {
        &self.bytes[self.at..]
    }

    /// Skips to the package clause and collects the constraints on the way.
    fn constraints(&mut self, header: &mut Header) {
        // Lines of the older form that a blank line has not confirmed yet.
        let mut pending = Vec::new();
        loop {
            let start = self.at;
            self.skip_space();
            let line_ends = memchr::memchr_iter(b'\n', &self.bytes[start..self.at]).count();
            if line_ends > 1 {
                header.plus_build.append(&mut pending);
            }
            if self.rest().starts_with(b"//") {
                let comment = self.line_comment();
                if let Some(expression) = after_word(&comment, "//go:build") {
                    header.go_build.get_or_insert(expression);
                } else if let Some(line) = comment.strip_prefix("//")
                    && let Some(terms) = after_word(line.trim_start(), "+build")
                {
                    pending.push(terms);
                }
            } else if !self.block_comment() {
                return;
            }
        }
    }

    fn skip_space(&mut self) {
        let space = |byte: &&u8| matches!(byte, b' ' | b'\t' | b'\r' | b'\n');
        self.at += self.rest().iter().take_while(space).count();
    }

    /// Skips white space and comments.
    fn skip_blanks(&mut self) {
        loop {
            self.skip_space();
            if self.rest().starts_with(b"//") {
                self.line_comment();
            } else if !self.block_comment() {
                return;
            }
        }
    }

    fn skip_blanks_and_semicolons(&mut self) {
        self.skip_blanks();
        while self.rest().first() == Some(&b';') {
            self.at += 1;
            self.skip_blanks();
        }
    }

    /// Skips a `//` comment up to its line end and gives its text.
    fn line_comment(&mut self) -> String {
        let rest = self.rest();
        let comment = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let text = String::from_utf8_lossy(comment).trim_end().to_owned();
        self.at += comment.len();
        text
    }

    /// Skips a `/* */` comment, if there is one; one that is not closed ends the file.
    fn block_comment(&mut self) -> bool {
        if !self.rest().starts_with(b"/*") {
            return false;
        }
        let end = memchr::memmem::find(&self.rest()[2..], b"*/");
        self.at = end.map_or(self.bytes.len(), |end| self.at + 2 + end + 2);
        true
    }

    fn keyword(&mut self, keyword: &[u8]) -> bool {
        let Some(rest) = self.rest().strip_prefix(keyword) else { return false };
        if rest.first().is_some_and(|&byte| is_identifier_byte(byte)) {
            return false;
        }
        self.at += keyword.len();
        true
    }

    fn identifier(&mut self) -> Option<String> {
        let rest = self.rest();
        let length = rest.iter().take_while(|&&byte| is_identifier_byte(byte)).count();
        if length == 0 || rest[0].is_ascii_digit() {
            return None;
        }
        let name = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length;
        Some(name)
    }

    /// The path of an import comment on the line of the package clause. Moves nothing: comments are
    /// skipped afterwards anyway.
    fn import_comment(&self) -> Option<String> {
        let rest = self.rest();
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let line = std::str::from_utf8(line).ok()?.trim().trim_start_matches(';').trim_start();
        let comment = line.strip_prefix("//").or_else(|| line.strip_prefix("/*"))?;
        let quoted = after_word(comment.trim_start(), "import")?;
        let mut scanner = Scanner { bytes: quoted.as_bytes(), at: 0 };
        scanner.string()
    }

    /// Reads what follows the keyword `import`.
    fn import_declaration(&mut self, imports: &mut Vec<String>) {
        self.skip_blanks();
        if self.rest().first() != Some(&b'(') {
            imports.extend(self.import_spec());
            return;
        }
        self.at += 1;
        loop {
            self.skip_blanks_and_semicolons();
            match self.import_spec() {
                Some(path) => imports.push(path),
                None => break,
            }
        }
        if self.rest().first() == Some(&b')') {
            self.at += 1;
        }
    }

    fn import_spec(&mut self) -> Option<String> {
        if self.rest().first() == Some(&b'.') {
            self.at += 1;
        } else {
            self.identifier();
        }
        self.skip_blanks();
        self.string()
    }

    /// Reads a string literal. Import paths hold no escapes.
    fn string(&mut self) -> Option<String> {
        let (&quote, rest) = self.rest().split_first()?;
        if !matches!(quote, b'"' | b'`') {
            return None;
        }
        let length = memchr::memchr2(quote, b'\n', rest)?;
        if rest[length] != quote {
            return None;
        }
        let text = String::from_utf8_lossy(&rest[..length]).into_owned();
        self.at += length + 2;
        Some(text)
    }
}

fn is_identifier_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

/// What follows `word` in `text`, if white space or nothing does.
fn after_word(text: &str, word: &str) -> Option<String> {
    let rest = text.strip_prefix(word)?;
    (rest.is_empty() || rest.starts_with([' ', '\t'])).then(|| rest.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(source: &str, expected: &str) {
        let header = scan(source.as_bytes());
        let mut printed = Vec::new();
        printed.extend(header.go_build.map(|text| format!("go:build {text}")));
        printed.extend(header.plus_build.iter().map(|text| format!("+build {text}")));
        printed.extend(header.package.map(|name| format!("package {name}")));
        printed.extend(header.import_comment.map(|path| format!("known as {path}")));
        printed.extend(header.imports.iter().map(|path| format!("import {path}")));
        assert_eq!(printed.join("; "), expected, "{source}");
    }

    #[test]
    fn package_and_imports() {
        check(
            "\u{feff}/* a */ // b\r\npackage /* c */ été; import \"fmt\"\r\nimport (\n\t. `os`; _ \"a.b/c\" // d\n\n\tx \"y\"\n)\nvar x = 1\nimport \"late\"",
            "package été; import fmt; import os; import a.b/c; import y",
        );
        check("package p // import \"k8s.io/x\"\n", "package p; known as k8s.io/x");
        check("package p /* import \"k8s.io/x\" */\n", "package p; known as k8s.io/x");
    }

    #[test]
    fn broken_headers_give_what_is_there() {
        check("", "");
        check("packag p", "");
        check("packagep", "");
        check("package", "");
        check("/* open", "");
        check("package p\nimport (\n\"a\"\n\"b", "package p; import a");
    }

    #[test]
    fn go_build_counts_before_the_package_clause() {
        check(
            "// Copyright\n\n//go:build linux && !cgo\n\npackage p",
            "go:build linux && !cgo; package p",
        );
        check("//go:build a\n//go:build b\npackage p", "go:build a; package p");
        check("/*\n//go:build linux\n*/\npackage p", "package p");
        check("package p\n//go:build linux\n", "package p");
        check("//go:builder\npackage p", "package p");
    }

    #[test]
    fn plus_build_needs_a_blank_line_after_it() {
        check(
            "// +build linux,386 darwin\n//+build !cgo\n\npackage p",
            "+build linux,386 darwin; +build !cgo; package p",
        );
        check("// +build linux\npackage p", "package p");
        check("// +build linux\n// more\r\n\r\npackage p", "+build linux; package p");
    }
}
