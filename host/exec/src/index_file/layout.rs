//! The layout of an index file: docs/index-file.md, in code. All numbers are little-endian.

use warpath_answer::answer::LineFault;
use warpath_core::fields::Fields;
use warpath_core::stamp::{Stamp, hash};
use warpath_cpu::host_index::HostIndex;
use warpath_shared::check::{Fault, FaultKind};
use warpath_shared::units::{
    Level, LineIx, MAX_DEPTH, MAX_PARTITION_BYTES, PartOffset, WORD_BYTES, words_for,
};

/// The version of the format that is written and read.
pub const VERSION: u32 = 2;

/// The first bytes of every index file: a byte that is no text, the name, and line ends that a transfer as
/// text would change.
const MAGIC: &[u8; 8] = b"\x89WPI\r\n\x1a\n";
/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 96;
/// Bytes of a partition's entry before the entries of its sections.
const ENTRY_BYTES: u64 = 40;
/// Bytes of a section's entry.
const SECTION_BYTES: u64 = 16;
/// Bytes of a fault.
const FAULT_BYTES: usize = 16;

/// Faults by their numbers in the file. The numbers never change.
const FAULTS: [FaultKind; 16] = [
    FaultKind::UnclosedString,
    FaultKind::EscapeAtEnd,
    FaultKind::UnclosedContainer,
    FaultKind::UnopenedContainer,
    FaultKind::MismatchedBracket,
    FaultKind::SecondRoot,
    FaultKind::StraySeparator,
    FaultKind::TooDeep,
    FaultKind::NoValue,
    FaultKind::BadLiteral,
    FaultKind::LeadingZero,
    FaultKind::NoDigit,
    FaultKind::NoName,
    FaultKind::NoColon,
    FaultKind::NoSeparator,
    FaultKind::BehindRecord,
];

/// The first bytes of the file.
#[derive(Clone, Copy, Debug)]
pub(super) struct IndexHeader {
    pub levels: Level,
    pub stamp: Stamp,
    pub partitions: u32,
    pub lines: u64,
    pub faulty: u64,
    pub table_place: u64,
    pub file_bytes: u64,
    pub table_checksum: u64,
}

/// A partition.
#[derive(Clone, Debug, Default)]
pub(super) struct PartitionEntry {
    /// The offset of its text in the input.
    pub offset: u64,
    /// The length of its text.
    pub len: PartOffset,
    pub lines: LineIx,
    pub faults: LineIx,
    /// The hash of its text.
    pub text: u64,
    /// The offset of its sections in the file.
    pub place: u64,
    /// Line starts, faults, and the levels.
    pub sections: Vec<Section>,
}

impl PartitionEntry {
    /// The end of its text in the input.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// A stretch of the file.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Section {
    pub len: u64,
    pub checksum: u64,
}

/// The name of a section, for messages.
pub(super) fn name(section: usize) -> String {
    match section {
        0 => "line starts".into(),
        1 => "faults".into(),
        level => format!("the bits of level {}", level - 2),
    }
}

/// True if the first bytes are those of an index, as far as they are there.
pub(super) fn is_index(head: &[u8]) -> bool {
    head.starts_with(MAGIC)
}

/// The version that a header names.
pub(super) fn version(head: &[u8; HEADER_BYTES]) -> u32 {
    Fields(&head[8..]).u32().unwrap_or(0)
}

impl IndexHeader {
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        let Self { levels, stamp, partitions, lines, faulty, table_place, file_bytes, table_checksum } = self;
        let mut bytes = Vec::with_capacity(HEADER_BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&levels.to_le_bytes());
        bytes.extend_from_slice(&stamp.size.to_le_bytes());
        bytes.extend_from_slice(&stamp.seconds.to_le_bytes());
        bytes.extend_from_slice(&stamp.nanoseconds.to_le_bytes());
        bytes.extend_from_slice(&partitions.to_le_bytes());
        for number in [stamp.samples, *lines, *faulty, *table_place, *file_bytes, *table_checksum] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        let checksum = hash(&bytes);
        bytes.extend_from_slice(&checksum.to_le_bytes());
        let mut header = [0; HEADER_BYTES];
        header[..bytes.len()].copy_from_slice(&bytes);
        header
    }

    pub fn decode(head: &[u8; HEADER_BYTES]) -> Result<Self, &'static str> {
        let (checked, checksum) = head.split_at(HEADER_BYTES - 8);
        if Fields(checksum).u64() != Some(hash(checked)) {
            return Err("header checksum mismatch");
        }
        let header = Self::fields(Fields(&checked[12..])).ok_or("it ends in its header")?;
        if header.levels > MAX_DEPTH as Level {
            return Err("it has more levels than there can be");
        }
        Ok(header)
    }

    fn fields(mut from: Fields<'_>) -> Option<Self> {
        let levels = from.u32()?;
        let (size, seconds) = (from.u64()?, from.u64()? as i64);
        let (nanoseconds, partitions) = (from.u32()?, from.u32()?);
        let stamp = Stamp { size, seconds, nanoseconds, samples: from.u64()? };
        let (lines, faulty, table_place) = (from.u64()?, from.u64()?, from.u64()?);
        let (file_bytes, table_checksum) = (from.u64()?, from.u64()?);
        Some(Self { levels, stamp, partitions, lines, faulty, table_place, file_bytes, table_checksum })
    }

    fn sections(&self) -> u64 {
        2 + u64::from(self.levels)
    }

    /// Bytes of the table; `None` on overflow.
    pub fn table_bytes(&self) -> Option<u64> {
        u64::from(self.partitions).checked_mul(ENTRY_BYTES + self.sections() * SECTION_BYTES)
    }

    /// The next entry of the table, and its reserved field.
    fn entry(&self, from: &mut Fields<'_>) -> Option<(PartitionEntry, u32)> {
        let offset = from.u64()?;
        let (len, lines, faults, reserved) = (from.u32()?, from.u32()?, from.u32()?, from.u32()?);
        let (text, place) = (from.u64()?, from.u64()?);
        let section = |_| Some(Section { len: from.u64()?, checksum: from.u64()? });
        let sections = (0..self.sections()).map(section).collect::<Option<_>>()?;
        Some((PartitionEntry { offset, len, lines, faults, text, place, sections }, reserved))
    }

    /// The table of partitions. They follow one another in the text and in the file, and fill the file. The
    /// caller has to check that they fill the text too, because the input may be packed.
    pub fn decode_table(&self, bytes: &[u8]) -> Result<Vec<PartitionEntry>, &'static str> {
        let mut from = Fields(bytes);
        let (mut place, mut lines, mut faulty) = (HEADER_BYTES as u64, 0u64, 0u64);
        let mut end = None;
        let mut table = Vec::new();
        for _ in 0..self.partitions {
            let (entry, reserved) = self.entry(&mut from).ok_or("it ends in its table")?;
            let PartitionEntry { offset, len, sections, .. } = &entry;
            let words = words_for(*len as usize) as u64;
            let most = |at: usize, len: u64| match at {
                0 => len == 4 * (u64::from(entry.lines) + 1),
                1 => len == FAULT_BYTES as u64 * u64::from(entry.faults),
                _ => len <= 8 * (words + words.div_ceil(64)),
            };
            let follows = end.is_none_or(|end| end == *offset) && entry.place == place && reserved == 0;
            let fits = (1..=MAX_PARTITION_BYTES).contains(&(*len as usize))
                && sections.iter().enumerate().all(|(at, section)| most(at, section.len));
            if !follows || !fits {
                return Err("invalid table");
            }
            end = Some(offset.checked_add(u64::from(*len)).ok_or("invalid table")?);
            place += sections.iter().map(|section| section.len).sum::<u64>();
            lines += u64::from(entry.lines);
            faulty += u64::from(entry.faults);
            table.push(entry);
        }
        let sums = (place, lines, faulty) == (self.table_place, self.lines, self.faulty);
        // A byte order mark is not part of the text.
        let begins = table.first().is_none_or(|first| matches!(first.offset, 0 | 3));
        if sums && begins { Ok(table) } else { Err("its table and its header disagree") }
    }
}

/// A partition in the form of the file: its sections, and its entry without its offset in the file.
pub(super) fn encode(
    text: &[u8],
    offset: u64,
    index: &HostIndex,
    levels: Level,
) -> Result<(Vec<u8>, PartitionEntry), String> {
    let HostIndex { line_starts, levels: bits, faults } = index;
    let mut bytes = Vec::new();
    let mut sections = Vec::with_capacity(2 + levels as usize);
    let mut from = 0;
    let mut end_section = |bytes: &Vec<u8>| {
        let section = &bytes[from..];
        sections.push(Section { len: section.len() as u64, checksum: hash(section) });
        from = bytes.len();
    };
    bytes.extend(line_starts.iter().flat_map(|start| start.to_le_bytes()));
    end_section(&bytes);
    for LineFault { line, fault: Fault { kind, at } } in faults {
        let kind = FAULTS.iter().position(|known| known == kind);
        let kind = kind.ok_or_else(|| format!("no number for the fault of line {line}"))? as u32;
        bytes.extend_from_slice(&line.to_le_bytes());
        bytes.extend_from_slice(&kind.to_le_bytes());
        bytes.extend_from_slice(&(*at as u64).to_le_bytes());
    }
    end_section(&bytes);
    let words = words_for(text.len());
    for level in 0..levels as usize {
        encode_level(&bits[level * words..][..words], &mut bytes);
        end_section(&bytes);
    }
    let entry = PartitionEntry {
        offset,
        len: text.len() as PartOffset,
        lines: (line_starts.len() - 1) as LineIx,
        faults: faults.len() as LineIx,
        text: hash(text),
        place: 0,
        sections,
    };
    Ok((bytes, entry))
}

/// Appends a bitmap: first one bit for each word, set if the word is not zero; then the words that are not
/// zero.
fn encode_level(words: &[u64], bytes: &mut Vec<u8>) {
    for group in words.chunks(64) {
        let some = group.iter().enumerate().fold(0u64, |some, (i, word)| some | u64::from(*word != 0) << i);
        bytes.extend_from_slice(&some.to_le_bytes());
    }
    for word in words.iter().filter(|word| **word != 0) {
        bytes.extend_from_slice(&word.to_le_bytes());
    }
}

/// The table in the form of the file.
pub(super) fn encode_table(table: &[PartitionEntry]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for PartitionEntry { offset, len, lines, faults, text, place, sections } in table {
        bytes.extend_from_slice(&offset.to_le_bytes());
        for number in [*len, *lines, *faults, 0] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for number in [text, place] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        for Section { len, checksum } in sections {
            bytes.extend_from_slice(&len.to_le_bytes());
            bytes.extend_from_slice(&checksum.to_le_bytes());
        }
    }
    bytes
}

pub(super) fn decode_line_starts(
    bytes: &[u8],
    entry: &PartitionEntry,
    to: &mut Vec<PartOffset>,
) -> Result<(), &'static str> {
    let (starts, _) = bytes.as_chunks();
    to.clear();
    to.extend(starts.iter().map(|start| PartOffset::from_le_bytes(*start)));
    let ends = to.first() == Some(&0) && to.last() == Some(&entry.len);
    let grows = to.windows(2).all(|pair| pair[0] < pair[1]);
    if ends && grows { Ok(()) } else { Err("invalid line starts") }
}

pub(super) fn decode_faults(
    bytes: &[u8],
    entry: &PartitionEntry,
    to: &mut Vec<LineFault>,
) -> Result<(), &'static str> {
    to.clear();
    let (faults, _) = bytes.as_chunks::<FAULT_BYTES>();
    for fault in faults {
        let mut from = Fields(fault);
        let (Some(line), Some(kind), Some(at)) = (from.u32(), from.u32(), from.u64()) else { break };
        let after = to.last().is_none_or(|last| last.line < line);
        match FAULTS.get(kind as usize) {
            Some(kind) if line < entry.lines && after && at <= u64::from(entry.len) => {
                to.push(LineFault { line, fault: Fault { kind: *kind, at: at as usize } });
            }
            _ => return Err("invalid faults"),
        }
    }
    Ok(())
}

/// Appends a bitmap to `to`.
pub(super) fn decode_level(
    bytes: &[u8],
    entry: &PartitionEntry,
    to: &mut Vec<u64>,
) -> Result<(), &'static str> {
    let words = words_for(entry.len as usize);
    let from = to.len();
    to.resize(from + words, 0);
    let (bytes, _) = bytes.as_chunks();
    let groups = words.div_ceil(64);
    let Some((some, mut stored)) = bytes.split_at_checked(groups) else { return Err("a bitmap ends early") };
    for (group, some) in to[from..].chunks_mut(64).zip(some) {
        let mut some = u64::from_le_bytes(*some);
        let Some((own, rest)) = stored.split_at_checked(some.count_ones() as usize) else {
            return Err("a bitmap ends early");
        };
        stored = rest;
        for word in own {
            let at = some.trailing_zeros() as usize;
            some &= some - 1;
            match group.get_mut(at) {
                Some(to) => *to = u64::from_le_bytes(*word),
                None => return Err("a bitmap has bits after the end of the text"),
            }
        }
    }
    let used = entry.len as usize % WORD_BYTES;
    let behind = if used == 0 { 0 } else { u64::MAX << used };
    match to.last() {
        _ if !stored.is_empty() => Err("a bitmap has words after its end"),
        Some(last) if last & behind != 0 => Err("a bitmap has bits after the end of the text"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    #[test]
    fn bitmaps_come_back() {
        let mut rng = Rng::new(7);
        for len in [1, 63, 64, 65, 4096, 4097, 100_000] {
            for sparse in 0..4 {
                let words = words_for(len);
                let mut bits: Vec<u64> = (0..words)
                    .map(|_| {
                        let word = rng.next_u64();
                        if (word >> 60) % 4 < sparse { word.rotate_left(20) } else { 0 }
                    })
                    .collect();
                if len % 64 != 0 {
                    bits[words - 1] &= (1 << (len % 64)) - 1;
                }
                let mut bytes = Vec::new();
                encode_level(&bits, &mut bytes);
                let entry = PartitionEntry { len: len as PartOffset, ..PartitionEntry::default() };
                let mut back = vec![5];
                assert_eq!(decode_level(&bytes, &entry, &mut back), Ok(()));
                assert_eq!(back[1..], bits);
                for cut in (0..bytes.len()).step_by(8).rev().take(20) {
                    assert!(decode_level(&bytes[..cut], &entry, &mut Vec::new()).is_err());
                }
                bytes.extend([1; 8]);
                assert!(decode_level(&bytes, &entry, &mut Vec::new()).is_err());
            }
        }
    }

    #[test]
    fn the_header_is_as_long_as_it_says() {
        let stamp = Stamp { size: 5, seconds: -6, nanoseconds: 7, samples: 8 };
        let header = IndexHeader {
            levels: 1,
            stamp,
            partitions: 2,
            lines: 3,
            faulty: 4,
            table_place: 9,
            file_bytes: 10,
            table_checksum: 11,
        };
        let bytes = header.encode();
        assert!(is_index(&bytes) && version(&bytes) == VERSION);
        assert_eq!(format!("{:?}", IndexHeader::decode(&bytes).unwrap()), format!("{header:?}"));
        assert_ne!(bytes[HEADER_BYTES - 8..], [0; 8]);
    }
}
