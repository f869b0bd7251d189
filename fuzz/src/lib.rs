//! The targets for libFuzzer. What each one asserts is part of the tests, which try again what was
//! found: `tests/it/fuzz`.

#[allow(dead_code, reason = "what the tests use")]
#[path = "../../tests/it/fuzz/mod.rs"]
mod targets;

use targets::choices::Choices;
use targets::soup;

/// Gives `bytes` to a target.
pub fn run(name: &str, bytes: &[u8]) {
    let target = targets::TARGETS.iter().find(|(known, _)| *known == name);
    target.expect("a target").1(bytes);
}

/// Go that is like `text`: some lines or words are elsewhere, gone, or there more than once.
pub fn mutated(text: &[u8], seed: u32) -> Vec<u8> {
    let mut state = u64::from(seed) << 1 | 1;
    let mut below = |limit: usize| {
        // xorshift64*
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        (state.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit.max(1)
    };
    let mut parts: Vec<&[u8]> = match below(3) {
        0 => words(text),
        _ => text.split_inclusive(|&byte| byte == b'\n').collect(),
    };
    let mut new = Vec::new();
    for _ in 0..=below(3) {
        let (at, to) = (below(parts.len() + 1), below(parts.len() + 1));
        let end = (at + 1 + below(4) * below(4)).min(parts.len());
        match below(7) {
            0 if at < end => drop(parts.drain(at..end)),
            1 | 2 if at < end => {
                let copied = parts[at..end].to_vec();
                parts.splice(to..to, copied);
            }
            3 if at < parts.len() && to < parts.len() => parts.swap(at, to),
            4 if at < parts.len() && to < parts.len() => parts[at] = parts[to],
            5 if at < end => {
                let again = parts[at..end].repeat(1 + below(30));
                parts.splice(at..at, again);
            }
            _ => {
                let bytes: Vec<u8> = (0..40).map(|_| below(256) as u8).collect();
                new.push((at, soup::statements(&mut Choices::new(&bytes))));
            }
        }
    }
    let mut mutated = parts.concat();
    for (at, statements) in new {
        let before = parts.iter().take(at).map(|part| part.len()).sum::<usize>();
        let at = before.min(mutated.len());
        mutated.splice(at..at, statements.into_bytes());
    }
    mutated
}

/// Names, spaces, and other bytes one by one.
fn words(text: &[u8]) -> Vec<&[u8]> {
    let kind = |byte: u8| match byte {
        b' ' | b'\t' | b'\n' => 1,
        byte if byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80 => 2,
        _ => 0,
    };
    text.chunk_by(|&a, &b| kind(a) == kind(b) && kind(a) != 0).collect()
}
