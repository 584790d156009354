//! The layout of a packed file: numbers, little-endian, at multiples of 8 bytes. docs/packed-file.md
//! describes it.
//!
//! ```text
//! header     │ magic │ version │ checksum │
//! group      │ header: text, codes, lines, symbols, checksums │ symbols │ lengths │ splits │ lines │ codes │
//!            (repeated for each group)
//! table      │ marker │ place, text, line of each group │
//! trailer    │ offset of the table, totals, checksums │
//! ```

use warpath_core::error::InputError;
use warpath_core::stamp::hash;

/// The version of the format that this crate writes, and the only one that it reads.
pub const VERSION: u32 = 1;

pub(super) const MAGIC: &[u8; 8] = b"\x89WPK\r\n\x1a\n";
/// The markers before a group, before the table of groups, and at the end.
pub(super) const GROUP: &[u8; 8] = b"WPKGROUP";
pub(super) const TABLE: &[u8; 8] = b"WPKTABLE";
const END: &[u8; 8] = b"WPKEND\r\n";

pub(super) const HEADER_BYTES: usize = 24;
pub(super) const GROUP_BYTES: usize = 64;
pub(super) const ENTRY_BYTES: usize = 24;
pub(super) const TRAILER_BYTES: usize = 56;

/// The reason why bytes are not a packed file.
pub(super) type Damage = String;

/// Returns true if a file with these first bytes is packed.
pub fn is_packed(head: &[u8]) -> bool {
    head.starts_with(&MAGIC[..4])
}

/// Reads a number. The offset must be within the bytes.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

pub(super) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..].first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Appends a checksum of all bytes so far.
fn seal(bytes: &mut Vec<u8>) {
    let sum = hash(bytes);
    bytes.extend_from_slice(&sum.to_le_bytes());
}

/// Returns true if the last 8 bytes are the checksum of those before them.
fn is_sealed(bytes: &[u8]) -> bool {
    let (content, _) = bytes.split_at(bytes.len() - 8);
    hash(content) == u64_at(bytes, content.len())
}

/// Encodes the first bytes of a file.
pub fn header() -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&u64::from(VERSION).to_le_bytes());
    seal(&mut bytes);
    bytes
}

/// Checks the first bytes of a file: [`HEADER_BYTES`], or fewer if the file is shorter. `name` is used in
/// messages.
pub(super) fn check_header(bytes: &[u8], name: &str) -> Result<(), InputError> {
    let name = name.to_owned();
    let seen = bytes.len().min(MAGIC.len());
    if seen == 0 || bytes[..seen] != MAGIC[..seen] {
        return Err(InputError::NotPacked { name });
    }
    let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
        return Err(InputError::Packed { name, what: "it ends early".into() });
    };
    if !is_sealed(header) {
        return Err(InputError::Packed { name, what: "header checksum mismatch".into() });
    }
    match u64_at(header, 8) {
        found if found == u64::from(VERSION) => Ok(()),
        found => Err(InputError::PackedVersion { name, found, known: VERSION }),
    }
}

/// The header of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct GroupHeader {
    /// Text size in bytes.
    pub text: u64,
    /// Number of codes.
    pub codes: u64,
    /// Number of newlines in the text.
    pub lines: u64,
    /// Number of symbols in the table.
    pub symbols: u64,
    /// The checksum of all bytes after the header.
    pub checksum: u64,
}

impl GroupHeader {
    /// Encodes the header.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = GROUP.to_vec();
        for number in [self.text, self.codes, self.lines, self.symbols, self.checksum, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        seal(&mut bytes);
        bytes
    }

    pub fn parse(bytes: &[u8; GROUP_BYTES]) -> Result<Self, Damage> {
        if !bytes.starts_with(GROUP) {
            return Err("expected the start of a group".into());
        }
        if !is_sealed(bytes) {
            return Err("checksum mismatch in the header of a group".into());
        }
        let number = |at: usize| u64_at(bytes, 8 + 8 * at);
        Ok(Self {
            text: number(0),
            codes: number(1),
            lines: number(2),
            symbols: number(3),
            checksum: number(4),
        })
    }
}

/// The position of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupEntry {
    /// The group's first byte in the file.
    pub place: u64,
    /// Its first byte in the text.
    pub text: u64,
    /// Its first line in the text, counted from 0.
    pub line: u64,
}

/// Encodes the table of groups.
pub fn table(entries: &[GroupEntry]) -> Vec<u8> {
    let mut bytes = TABLE.to_vec();
    for GroupEntry { place, text, line } in entries {
        for number in [place, text, line] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
    }
    bytes
}

pub(super) fn entries(table: &[u8]) -> impl Iterator<Item = GroupEntry> + '_ {
    let entry = |bytes: &[u8]| GroupEntry {
        place: u64_at(bytes, 0),
        text: u64_at(bytes, 8),
        line: u64_at(bytes, 16),
    };
    table[TABLE.len()..].chunks_exact(ENTRY_BYTES).map(entry)
}

/// The last bytes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// The offset of the table of groups.
    pub table: u64,
    /// The number of groups.
    pub groups: u64,
    /// Bytes of text.
    pub text: u64,
    /// Newlines of the text.
    pub lines: u64,
    /// The table's checksum.
    pub checksum: u64,
}

impl Trailer {
    /// Encodes the trailer.
    pub fn to_bytes(self) -> Vec<u8> {
        let mut bytes = END.to_vec();
        for number in [self.table, self.groups, self.text, self.lines, self.checksum] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        seal(&mut bytes);
        bytes
    }

    /// Reads and checks the bytes of a trailer.
    pub fn parse(bytes: &[u8; TRAILER_BYTES]) -> Result<Self, Damage> {
        if !bytes.starts_with(END) {
            return Err("it ends early: its table of groups is missing".into());
        }
        if !is_sealed(bytes) {
            return Err("trailer checksum mismatch".into());
        }
        let number = |at: usize| u64_at(bytes, 8 + 8 * at);
        Ok(Self {
            table: number(0),
            groups: number(1),
            text: number(2),
            lines: number(3),
            checksum: number(4),
        })
    }
}
