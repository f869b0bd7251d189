//! Values as bytes and back: plain, with lengths before texts. What is read was sealed when it was
//! written; all the same nothing read here can make a process fail or reserve memory without end.

/// Writes values.
#[derive(Clone, Debug, Default)]
pub struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    /// What was written.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// A number below 256.
    pub fn byte(&mut self, byte: u8) {
        self.bytes.push(byte);
    }

    /// A number; small ones are short.
    pub fn number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// A text.
    pub fn text(&mut self, text: &str) {
        self.data(text.as_bytes());
    }

    /// Bytes.
    pub fn data(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    /// A list, each of its members written by `write`.
    pub fn list<T>(
        &mut self,
        list: impl ExactSizeIterator<Item = T>,
        mut write: impl FnMut(&mut Writer, T),
    ) {
        self.number(list.len() as u64);
        list.for_each(|member| write(self, member));
    }
}

/// Reads what a [`Writer`] has written, in the same order. `None` means that it has not.
#[derive(Debug)]
pub struct Reader<'b> {
    bytes: &'b [u8],
}

impl<'b> Reader<'b> {
    /// A reader of `bytes`.
    pub fn new(bytes: &'b [u8]) -> Reader<'b> {
        Reader { bytes }
    }

    /// Whether all was read.
    pub fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }

    /// See [`Writer::byte`].
    pub fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.bytes.split_first()?;
        self.bytes = rest;
        Some(byte)
    }

    /// See [`Writer::number`].
    pub fn number(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(number);
            }
        }
        None
    }

    /// See [`Writer::text`].
    pub fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.data()?).ok()
    }

    /// See [`Writer::data`].
    pub fn data(&mut self) -> Option<&'b [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (data, rest) = self.bytes.split_at_checked(length)?;
        self.bytes = rest;
        Some(data)
    }

    /// See [`Writer::list`].
    pub fn list<T>(
        &mut self,
        mut read: impl FnMut(&mut Reader<'b>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let length = self.number()?;
        (0..length).map(|_| read(self)).collect()
    }
}
