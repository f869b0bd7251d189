//! A pack: entries with the files that they rest on, in one file that is carried from one machine to
//! another. Equal contents have equal bytes. A pack that was cut, damaged, or made by another program
//! is refused with the reason: nobody takes it for an empty one.

use std::collections::BTreeMap;
use std::fmt;

use super::code::{Reader, Writer};
use super::key::Key;

/// How a pack starts; the byte that follows is the version of the form.
const MAGIC: &[u8; 7] = b"strgfct";
const FORM: u8 = 1;
const SEAL: usize = 32;

/// What is carried.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pack {
    /// Files by their paths, with `/` between elements, as seen from one directory.
    pub files: BTreeMap<String, Vec<u8>>,
    /// Entries of a [`Cache`](super::Cache).
    pub entries: BTreeMap<Key, Vec<u8>>,
}

/// Why bytes are refused: lower case, no full stop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PackError {
    /// They are no pack.
    Foreign,
    /// They are a pack of another form than the one that is read here.
    Form(u8),
    /// They are not what was written.
    Damaged,
    /// Another program has written them.
    Program {
        /// The version that it says it has.
        version: String,
    },
}

impl fmt::Display for PackError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PackError::Foreign => f.write_str("is no facts file"),
            PackError::Form(form) => {
                let age = if *form < FORM { "an older" } else { "a newer" };
                write!(
                    f,
                    "was written by {age} straggler (form {form}; form {FORM} is read here); "
                )?;
                f.write_str("write it again")
            }
            PackError::Damaged => f.write_str("is cut short or damaged; write it again"),
            PackError::Program { version } => {
                let version = version.escape_default();
                write!(f, "was written by another build of straggler ({version}); write it again")
            }
        }
    }
}

impl Pack {
    /// The bytes of a file. `program` is the key of who writes it, and `version` what people call that.
    pub fn seal(&self, program: Key, version: &str) -> Vec<u8> {
        let mut writer = Writer::default();
        writer.data(program.bytes());
        writer.text(version);
        writer.list(self.files.iter(), |writer, (path, bytes)| {
            writer.text(path);
            writer.data(bytes);
        });
        writer.list(self.entries.iter(), |writer, (key, bytes)| {
            writer.data(key.bytes());
            writer.data(bytes);
        });
        let mut bytes = [&MAGIC[..], &[FORM], &writer.into_bytes()].concat();
        let seal = Key::of(&bytes);
        bytes.extend(seal.bytes());
        bytes
    }

    /// What is in the bytes of a file that `program` has written.
    pub fn open(bytes: &[u8], program: Key) -> Result<Pack, PackError> {
        let start = &bytes[..bytes.len().min(MAGIC.len())];
        if start.is_empty() || !MAGIC.starts_with(start) {
            return Err(if start.is_empty() { PackError::Damaged } else { PackError::Foreign });
        }
        let rest = bytes.get(MAGIC.len()..).unwrap_or_default();
        let (&form, rest) = rest.split_first().ok_or(PackError::Damaged)?;
        if form != FORM {
            return Err(PackError::Form(form));
        }
        let end = bytes.len().checked_sub(SEAL).ok_or(PackError::Damaged)?;
        let payload = rest.len().checked_sub(SEAL).ok_or(PackError::Damaged)?;
        if Key::of(&bytes[..end]).bytes() != &bytes[end..] {
            return Err(PackError::Damaged);
        }
        let mut reader = Reader::new(&rest[..payload]);
        let (writer, version) = head(&mut reader).ok_or(PackError::Damaged)?;
        if writer != program {
            return Err(PackError::Program { version: version.to_owned() });
        }
        body(&mut reader).filter(|_| reader.is_at_end()).ok_or(PackError::Damaged)
    }
}

fn head<'b>(reader: &mut Reader<'b>) -> Option<(Key, &'b str)> {
    Some((Key::read(reader.data()?)?, reader.text()?))
}

fn body(reader: &mut Reader<'_>) -> Option<Pack> {
    let files = reader.list(|reader| Some((reader.text()?.to_owned(), reader.data()?.to_vec())))?;
    let entries =
        reader.list(|reader| Some((Key::read(reader.data()?)?, reader.data()?.to_vec())))?;
    Some(Pack { files: files.into_iter().collect(), entries: entries.into_iter().collect() })
}
