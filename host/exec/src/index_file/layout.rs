//! The contents of an index: the facts of its part, and the sections of a partition. docs/part-file.md has
//! both.

use warpath_answer::answer::LineFault;
use warpath_core::fields::Fields;
use warpath_core::stamp::{Stamp, hash};
use warpath_cpu::host_index::HostIndex;
use warpath_part::file::Reader;
use warpath_part::group::Group;
use warpath_shared::check::{Fault, FaultKind};
use warpath_shared::units::{
    Level, LineIx, MAX_DEPTH, MAX_PARTITION_BYTES, PartOffset, WORD_BYTES, words_for,
};
use warpath_store::bitmap::BitmapIndex;

use crate::input::EXTERNAL;

/// The version of the facts and sections that is written and read.
pub(super) const VERSION: u32 = 1;
/// Bytes of a line start.
const START_BYTES: u64 = 4;
/// Bytes of a fault.
const FAULT_BYTES: usize = 16;
/// Sections before the first level.
pub(super) const BEFORE_LEVELS: usize = 2;
/// The name of the only section of the last group, if the index has columns.
pub(super) const BINS: &str = "bins";

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

/// The facts of an index, about itself and its input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IndexFacts {
    /// The state of the input.
    pub stamp: Stamp,
    /// The offset at which the text begins: after a byte order mark, if there is one.
    pub begin: u64,
    pub levels: Level,
    pub lines: u64,
    pub faulty: u64,
    /// Columns of the section `bins`.
    pub columns: u64,
}

/// The reason why the facts of a part are not those of an index.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum NoFacts {
    /// The part is no index.
    NotAnIndex,
    /// The index has another version.
    Version(u32),
    /// A fact is missing, or has no such value.
    Invalid(&'static str),
}

impl IndexFacts {
    pub fn encode(&self) -> Vec<(String, String)> {
        let Self { stamp, begin, levels, lines, faulty, columns } = self;
        let Stamp { size, seconds, nanoseconds, samples } = stamp;
        let facts = [
            (EXTERNAL.0, EXTERNAL.1.to_owned()),
            ("index", VERSION.to_string()),
            ("stamp", format!("{size} {seconds} {nanoseconds:09} {samples:016x}")),
            ("begin", begin.to_string()),
            ("levels", levels.to_string()),
            ("lines", lines.to_string()),
            ("malformed", faulty.to_string()),
            ("columns", columns.to_string()),
        ];
        facts.map(|(key, value)| (key.to_owned(), value)).to_vec()
    }

    pub fn decode(facts: &[(String, String)]) -> Result<Self, NoFacts> {
        let find = |key| facts.iter().find(|(found, _)| found == key).map_or("", |(_, value)| value);
        if find(EXTERNAL.0) != EXTERNAL.1 {
            return Err(NoFacts::NotAnIndex);
        }
        match find("index").parse() {
            Ok(VERSION) => {}
            Ok(version) => return Err(NoFacts::Version(version)),
            Err(_) => return Err(NoFacts::Invalid("index")),
        }
        let number = |key| find(key).parse().map_err(|_| NoFacts::Invalid(key));
        Ok(Self {
            stamp: stamp(find("stamp")).ok_or(NoFacts::Invalid("stamp"))?,
            begin: Some(number("begin")?)
                .filter(|begin| matches!(begin, 0 | 3))
                .ok_or(NoFacts::Invalid("begin"))?,
            levels: Level::try_from(number("levels")?)
                .ok()
                .filter(|levels| *levels <= MAX_DEPTH as Level)
                .ok_or(NoFacts::Invalid("levels"))?,
            lines: number("lines")?,
            faulty: number("malformed")?,
            columns: number("columns")?,
        })
    }
}

fn stamp(text: &str) -> Option<Stamp> {
    let mut words = text.split(' ');
    let stamp = Stamp {
        size: words.next()?.parse().ok()?,
        seconds: words.next()?.parse().ok()?,
        nanoseconds: words.next()?.parse().ok()?,
        samples: u64::from_str_radix(words.next()?, 16).ok()?,
    };
    words.next().is_none().then_some(stamp)
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
}

impl PartitionEntry {
    /// The end of its text in the input.
    pub fn end(&self) -> u64 {
        self.offset + u64::from(self.len)
    }
}

/// The names of the sections of a partition.
fn names(levels: Level) -> Vec<String> {
    let levels = (0..levels).map(|level| format!("level-{level}"));
    ["lines".to_owned(), "faults".to_owned()].into_iter().chain(levels).collect()
}

/// The partitions of an index. They follow one another in the text. Nothing is read.
pub(super) fn partitions(reader: &Reader, facts: &IndexFacts) -> Result<Vec<PartitionEntry>, String> {
    let names = names(facts.levels);
    let (mut offset, mut lines, mut faulty) = (facts.begin, 0_u64, 0_u64);
    let mut all = Vec::new();
    let Some(groups) = reader.groups().checked_sub(usize::from(facts.columns > 0)) else {
        return Err("it has no section `bins`".into());
    };
    for number in 0..groups {
        let invalid = |what: &str| format!("partition {number}: {what}");
        let entry = partition(reader, number, offset, &names).ok_or_else(|| invalid("invalid lengths"))?;
        offset = offset.checked_add(u64::from(entry.len)).ok_or_else(|| invalid("invalid lengths"))?;
        lines += u64::from(entry.lines);
        faulty += u64::from(entry.faults);
        all.push(entry);
    }
    if (lines, faulty) != (facts.lines, facts.faulty) {
        return Err("its facts and its sections disagree".into());
    }
    Ok(all)
}

/// A partition, from the lengths of its sections.
fn partition(reader: &Reader, number: usize, offset: u64, names: &[String]) -> Option<PartitionEntry> {
    let size = reader.size(number).filter(|size| size.rows == 0)?;
    let len = usize::try_from(size.text_len).ok().filter(|len| (1..=MAX_PARTITION_BYTES).contains(len))?;
    let words = words_for(len) as u64;
    let (mut starts, mut faults, mut count) = (0, 0, 0);
    for (at, (name, bytes)) in reader.sections(number).enumerate() {
        let fits = match at {
            0 => {
                starts = bytes / START_BYTES;
                bytes % START_BYTES == 0
            }
            1 => {
                faults = bytes / FAULT_BYTES as u64;
                bytes % FAULT_BYTES as u64 == 0
            }
            _ => bytes <= 8 * (words + words.div_ceil(64)),
        };
        if !fits || names.get(at).is_none_or(|expected| expected != name) {
            return None;
        }
        count += 1;
    }
    let lines = LineIx::try_from(starts.checked_sub(1)?).ok()?;
    let faults = LineIx::try_from(faults).ok().filter(|faults| *faults <= lines)?;
    let entry = PartitionEntry { offset, len: len as PartOffset, lines, faults, text: size.text_hash };
    (count == names.len()).then_some(entry)
}

/// The section `bins`, which is a group of its own.
pub(super) fn encode_bins(bins: &BitmapIndex) -> Group {
    let sections = vec![(BINS.to_owned(), bins.bytes().to_vec())];
    Group { nodes: 1, sections, text_hash: hash(b""), ..Group::default() }
}

/// A partition as a group without rows.
pub(super) fn encode(text: &[u8], index: &HostIndex, levels: Level) -> Result<Group, String> {
    let HostIndex { line_starts, levels: bits, faults } = index;
    let starts = line_starts.iter().flat_map(|start| start.to_le_bytes()).collect();
    let mut encoded = Vec::with_capacity(FAULT_BYTES * faults.len());
    for LineFault { line, fault: Fault { kind, at } } in faults {
        let kind = FAULTS.iter().position(|known| known == kind);
        let kind = kind.ok_or_else(|| format!("no number for the fault of line {line}"))? as u32;
        encoded.extend_from_slice(&line.to_le_bytes());
        encoded.extend_from_slice(&kind.to_le_bytes());
        encoded.extend_from_slice(&(*at as u64).to_le_bytes());
    }
    let words = words_for(text.len());
    let levels_of = (0..levels as usize).map(|level| encode_level(&bits[level * words..][..words]));
    let sections = [starts, encoded].into_iter().chain(levels_of);
    let sections = names(levels).into_iter().zip(sections).collect();
    let (text_len, text_hash) = (text.len() as u64, hash(text));
    Ok(Group { nodes: 1, sections, text_len, text_hash, ..Group::default() })
}

/// The number of lines, and of malformed ones, of a group that was encoded.
pub(super) fn counts(group: &Group) -> (u64, u64) {
    let len = |at: usize| group.sections.get(at).map_or(0, |(_, bytes)| bytes.len() as u64);
    ((len(0) / START_BYTES).saturating_sub(1), len(1) / FAULT_BYTES as u64)
}

/// A bitmap: first one bit for each word, set if the word is not zero; then the words that are not zero.
fn encode_level(words: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for group in words.chunks(64) {
        let some = group.iter().enumerate().fold(0u64, |some, (i, word)| some | u64::from(*word != 0) << i);
        bytes.extend_from_slice(&some.to_le_bytes());
    }
    for word in words.iter().filter(|word| **word != 0) {
        bytes.extend_from_slice(&word.to_le_bytes());
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
                let mut bytes = encode_level(&bits);
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
    fn facts_come_back() {
        let stamp = Stamp { size: 5, seconds: -6, nanoseconds: 7, samples: 8 };
        let facts = IndexFacts { stamp, begin: 3, levels: 4, lines: 9, faulty: 1, columns: 2 };
        let encoded = facts.encode();
        assert_eq!(IndexFacts::decode(&encoded), Ok(facts));
        for (at, (key, _)) in encoded.iter().enumerate() {
            for value in ["", "x", "-1", "99999999999999999999", "4294967295"] {
                let mut changed = encoded.clone();
                changed[at].1 = value.into();
                match (key.as_str(), IndexFacts::decode(&changed)) {
                    ("text", decoded) => assert_eq!(decoded, Err(NoFacts::NotAnIndex)),
                    ("index", Err(NoFacts::Version(found))) => assert_eq!(found, u32::MAX),
                    ("lines" | "malformed" | "columns", Ok(decoded)) => assert_ne!(decoded, facts),
                    (_, decoded) => assert!(matches!(decoded, Err(NoFacts::Invalid(_))), "{key} {value}"),
                }
            }
        }
    }
}
