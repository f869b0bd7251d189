//! Bytes as a row of choices: any bytes are some choices, and when they end, each is the first.

pub struct Choices<'d> {
    bytes: &'d [u8],
}

impl<'d> Choices<'d> {
    pub fn new(bytes: &'d [u8]) -> Choices<'d> {
        Choices { bytes }
    }

    pub fn is_over(&self) -> bool {
        self.bytes.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.bytes.split_first() else { return 0 };
        self.bytes = rest;
        first
    }

    /// A number below `limit`, which is not 0.
    pub fn below(&mut self, limit: usize) -> usize {
        let mut number = usize::from(self.byte());
        if limit > 256 {
            number = number << 8 | usize::from(self.byte());
        }
        number % limit
    }

    /// True in one of so many cases, and never when the bytes are over.
    pub fn one_in(&mut self, cases: usize) -> bool {
        self.below(cases) == cases - 1
    }

    pub fn one_of<'a, T: ?Sized>(&mut self, all: &[&'a T]) -> &'a T {
        all[self.below(all.len())]
    }

    /// The bytes up to the next `separator`, or all that are left.
    pub fn up_to(&mut self, separator: &[u8]) -> &'d [u8] {
        let at = self.bytes.windows(separator.len()).position(|found| found == separator);
        let end = at.unwrap_or(self.bytes.len());
        let (before, after) = self.bytes.split_at(end);
        self.bytes = after.get(separator.len()..).unwrap_or_default();
        before
    }

    pub fn rest(&mut self) -> &'d [u8] {
        std::mem::take(&mut self.bytes)
    }
}
