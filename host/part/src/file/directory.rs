//! The directory of a part, and the footer's key that says where it is.

use memchr::memmem;
use warpath_core::fields::{Fields, Out};
use warpath_core::stamp::hash;

use super::encode::Encoding;
use super::error::Error;
use crate::group::{Layout, Node, Tree};

/// The key in the footer's metadata. Other Parquet files do not have it.
pub const KEY: &str = "warpath";
/// The program that the footer names as its writer, without the version.
pub(super) const WRITER: &str = "warpath version ";
/// The name of the directory in errors.
pub(super) const DIRECTORY: &str = "directory of the part";
/// The name of the footer in errors.
pub(super) const FOOTER: &str = "footer of the part";

/// The format version that is written.
const VERSION: u64 = 1;
/// The start of each value of [`KEY`]; digits of the version follow.
const PREFIX: &str = "part ";
/// The most bytes of a section after decompression.
pub(super) const MAX_SECTION: u64 = u32::MAX as u64;
/// Digits of a number of 64 bits.
const DIGITS: usize = 16;
/// The end of a footer: the length of its metadata, and `PAR1`.
pub(super) const TAIL: usize = 8;
/// The bytes at the start and at the end of a Parquet file.
pub(super) const MAGIC: &[u8; 4] = b"PAR1";

/// A range of the file with the hash of its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Checked {
    pub offset: u64,
    pub len: u64,
    pub hash: u64,
}

/// A section: bytes of a group that only Warpath reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Section {
    pub name: String,
    pub is_compressed: bool,
    pub stored: Checked,
    /// The length after decompression.
    pub full_len: u64,
}

/// A group in the directory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GroupEntry {
    pub rows: u32,
    pub nodes: u32,
    pub text_len: u64,
    pub text_hash: u64,
    pub sections: Vec<Section>,
    /// The hash of each column chunk, by column of the schema. None if the group has no rows.
    pub chunks: Vec<u64>,
    /// The pages of all chunks.
    pub pages: Checked,
}

/// The directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Directory {
    pub tree: Tree,
    /// By column of the schema.
    pub encodings: Vec<Encoding>,
    pub groups: Vec<GroupEntry>,
    /// The page indexes of all columns.
    pub indexes: Checked,
    pub facts: Vec<(String, String)>,
}

fn put_range(out: &mut Out, range: &Checked) {
    out.u64(range.offset);
    out.u64(range.len);
    out.u64(range.hash);
}

fn text(fields: &mut Fields<'_>) -> Option<String> {
    std::str::from_utf8(fields.sized()?).ok().map(str::to_owned)
}

fn checked(fields: &mut Fields<'_>) -> Option<Checked> {
    Some(Checked { offset: fields.u64()?, len: fields.u64()?, hash: fields.u64()? })
}

/// Reads `count` items. A forged count ends at the last byte, because each item reads at least one.
fn several<T>(
    fields: &mut Fields<'_>,
    count: u64,
    read: impl Fn(&mut Fields<'_>) -> Option<T>,
) -> Option<Vec<T>> {
    let mut all = Vec::new();
    for _ in 0..count {
        all.push(read(fields)?);
    }
    Some(all)
}

impl Directory {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Out::default();
        out.u64(self.tree.nodes.len() as u64);
        for node in &self.tree.nodes {
            out.u32(node.parent);
            out.u32(u32::from(node.layout.number()));
            out.sized(node.name.as_bytes());
        }
        out.u64(self.encodings.len() as u64);
        for encoding in &self.encodings {
            out.u32(encoding.number());
        }
        out.u64(self.groups.len() as u64);
        for group in &self.groups {
            out.u32(group.rows);
            out.u32(group.nodes);
            out.u64(group.text_len);
            out.u64(group.text_hash);
            out.u64(group.sections.len() as u64);
            for section in &group.sections {
                out.sized(section.name.as_bytes());
                out.u32(section.is_compressed.into());
                put_range(&mut out, &section.stored);
                out.u64(section.full_len);
            }
            out.u64(group.chunks.len() as u64);
            for hash in &group.chunks {
                out.u64(*hash);
            }
            put_range(&mut out, &group.pages);
        }
        put_range(&mut out, &self.indexes);
        out.u64(self.facts.len() as u64);
        for (key, value) in &self.facts {
            out.sized(key.as_bytes());
            out.sized(value.as_bytes());
        }
        out.0
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let mut fields = Fields(bytes);
        let fields = &mut fields;
        let count = fields.u64()?;
        let nodes = several(fields, count, |fields| {
            let (parent, layout) = (fields.u32()?, fields.u32()?);
            Some(Node { parent, layout: Layout::of_number(layout)?, name: text(fields)? })
        })?;
        let count = fields.u64()?;
        let encodings = several(fields, count, |fields| Encoding::of_number(fields.u32()?))?;
        let count = fields.u64()?;
        let groups = several(fields, count, group)?;
        let indexes = checked(fields)?;
        let count = fields.u64()?;
        let facts = several(fields, count, |fields| Some((text(fields)?, text(fields)?)))?;
        fields.is_empty().then_some(Self { tree: Tree { nodes }, encodings, groups, indexes, facts })
    }
}

fn group(fields: &mut Fields<'_>) -> Option<GroupEntry> {
    let (rows, nodes) = (fields.u32()?, fields.u32()?);
    let (text_len, text_hash) = (fields.u64()?, fields.u64()?);
    let count = fields.u64()?;
    let sections = several(fields, count, |fields| {
        let name = text(fields)?;
        let is_compressed = match fields.u32()? {
            0 => false,
            1 => true,
            _ => return None,
        };
        Some(Section { name, is_compressed, stored: checked(fields)?, full_len: fields.u64()? })
    })?;
    let count = fields.u64()?;
    let chunks = several(fields, count, |fields: &mut Fields<'_>| fields.u64())?;
    Some(GroupEntry { rows, nodes, text_len, text_hash, sections, chunks, pages: checked(fields)? })
}

/// The value of [`KEY`]. The footer's hash is of the footer with zeros in place of its digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub directory: Checked,
    pub footer: u64,
}

impl Place {
    pub fn value(&self) -> String {
        let Checked { offset, len, hash } = self.directory;
        let footer = self.footer;
        format!("{PREFIX}{VERSION} directory {offset:016x} {len:016x} {hash:016x} footer {footer:016x}")
    }

    fn parse(value: &str) -> Option<Self> {
        let mut words = value.split(' ').skip(2);
        let mut number = |name: Option<&str>| {
            if let Some(name) = name {
                words.next().filter(|word| *word == name)?;
            }
            u64::from_str_radix(words.next()?, 16).ok()
        };
        let (offset, len) = (number(Some("directory"))?, number(None)?);
        let directory = Checked { offset, len, hash: number(None)? };
        let place = Self { directory, footer: number(Some("footer"))? };
        // Another spelling of the same numbers is not what was written.
        (place.value() == value).then_some(place)
    }

    /// Finds the key in a footer, or in its end, without decoding it. Returns also where the digits of the
    /// footer's hash begin.
    ///
    /// The writer puts the key last, so only the name of the writer and the order of the columns follow it.
    pub fn find(footer: &[u8]) -> Result<(Self, usize), Error> {
        // Thrift's compact form: a length, the text, and the header of the next field.
        let mut pattern = vec![KEY.len() as u8];
        pattern.extend_from_slice(KEY.as_bytes());
        pattern.push(0x18);
        let key = memmem::rfind(footer, &pattern).ok_or(Error::Foreign)?;
        let value = key + pattern.len();
        // A program that writes a table again may copy keys that it does not know. It then names itself.
        if memmem::find(&footer[value..], WRITER.as_bytes()).is_none() {
            return Err(Error::Foreign);
        }
        let unreadable =
            || Error::invalid(FOOTER, "the value of its key `warpath` is not as Warpath writes it");
        let len = *footer.get(value).ok_or_else(unreadable)?;
        let start = value + 1;
        let value = footer.get(start..start + usize::from(len)).ok_or_else(unreadable)?;
        let value = std::str::from_utf8(value).map_err(|_| unreadable())?;
        let version = value.strip_prefix(PREFIX).and_then(|rest| rest.split(' ').next()?.parse().ok());
        match version {
            Some(VERSION) => {}
            Some(found) => return Err(Error::Version { found }),
            None => return Err(unreadable()),
        }
        let place = Self::parse(value).ok_or_else(unreadable)?;
        Ok((place, start + usize::from(len) - DIGITS))
    }
}

/// The hash of a footer whose digits at `digits` count as zeros.
pub(super) fn footer_hash(footer: &[u8], digits: usize) -> u64 {
    let mut blank = footer.to_vec();
    if let Some(digits) = blank.get_mut(digits..digits + DIGITS) {
        digits.fill(b'0');
    }
    hash(&blank)
}

/// Writes the digits of a footer's hash.
pub(super) fn set_footer_hash(footer: &mut [u8], digits: usize) {
    let hash = format!("{:016x}", footer_hash(footer, digits));
    if let Some(digits) = footer.get_mut(digits..digits + DIGITS) {
        digits.copy_from_slice(hash.as_bytes());
    }
}
