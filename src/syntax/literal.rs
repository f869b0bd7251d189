//! The values of integer, rune and string literals (<https://go.dev/ref/spec#Integer_literals>,
//! <https://go.dev/ref/spec#Rune_literals>, <https://go.dev/ref/spec#String_literals>).

/// The value of an integer literal; `None` of one that is malformed or has more than 127 bits.
pub fn integer(text: &str) -> Option<i128> {
    let digits = text.replace('_', "");
    let parse = |digits: &str, radix| i128::from_str_radix(digits, radix).ok();
    match digits.get(..2).map(str::to_ascii_lowercase).as_deref() {
        Some("0x") => parse(&digits[2..], 16),
        Some("0b") => parse(&digits[2..], 2),
        Some("0o") => parse(&digits[2..], 8),
        _ if digits.len() > 1 && digits.starts_with('0') => parse(&digits[1..], 8),
        _ => parse(&digits, 10),
    }
}

/// The value of a rune literal.
pub fn rune(text: &str) -> Option<u32> {
    let inner = text.strip_prefix('\'')?.strip_suffix('\'')?;
    match unescape(inner)?[..] {
        [Unit::Char(character)] => Some(u32::from(character)),
        [Unit::Byte(byte)] => Some(byte.into()),
        _ => None,
    }
}

/// The value of a string literal; `None` also for one that is not UTF-8.
pub fn string(text: &str) -> Option<String> {
    if let Some(raw) = text.strip_prefix('`') {
        return Some(raw.strip_suffix('`')?.replace('\r', ""));
    }
    let inner = text.strip_prefix('"')?.strip_suffix('"')?;
    if !inner.contains('\\') {
        return Some(inner.to_owned());
    }
    let mut bytes = Vec::with_capacity(inner.len());
    for unit in unescape(inner)? {
        match unit {
            Unit::Char(character) => {
                bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            }
            Unit::Byte(byte) => bytes.push(byte),
        }
    }
    String::from_utf8(bytes).ok()
}

/// A character, or a byte written as `\x` or `\123`.
enum Unit {
    Char(char),
    Byte(u8),
}

fn unescape(text: &str) -> Option<Vec<Unit>> {
    let mut units = Vec::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            units.push(Unit::Char(character));
            continue;
        }
        let unit = match rest.next()? {
            'a' => Unit::Char('\u{7}'),
            'b' => Unit::Char('\u{8}'),
            'f' => Unit::Char('\u{c}'),
            'n' => Unit::Char('\n'),
            'r' => Unit::Char('\r'),
            't' => Unit::Char('\t'),
            'v' => Unit::Char('\u{b}'),
            'x' => Unit::Byte(u8::try_from(digits(&mut rest, 2, 16, 0)?).ok()?),
            'u' => Unit::Char(char::from_u32(digits(&mut rest, 4, 16, 0)?)?),
            'U' => Unit::Char(char::from_u32(digits(&mut rest, 8, 16, 0)?)?),
            octal @ '0'..='7' => {
                let first = octal.to_digit(8)?;
                Unit::Byte(u8::try_from(digits(&mut rest, 2, 8, first)?).ok()?)
            }
            other @ ('\\' | '\'' | '"') => Unit::Char(other),
            _ => return None,
        };
        units.push(unit);
    }
    Some(units)
}

fn digits(rest: &mut std::str::Chars<'_>, count: u32, radix: u32, first: u32) -> Option<u32> {
    (0..count).try_fold(first, |value, _| {
        value.checked_mul(radix)?.checked_add(rest.next()?.to_digit(radix)?)
    })
}
