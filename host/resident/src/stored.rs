//! Segments as bytes, so that a store can keep them beside its columns: the sections `resident` and
//! `resident-lines` of a part. `docs/part-file.md` has the fields.
//!
//! A segment is in its bytes as it is in memory: packed words, sets of rows, codes of FSST. So it is read
//! without decoding a column or a line. Codes of strings alone are other ones in memory, because segments
//! share dictionaries: the bytes have the strings of the segment, and these get their codes when it is read.
//!
//! ```text
//! section resident                                        section resident-lines
//! front │ rows │ members, each with its kinds │ lines     codes of all lines
//! │                                            └ symbols, lengths
//! └ version, hash of the layout
//! ```
//!
//! Whatever the bytes are, a segment that was read has all that the rest of this crate relies on.

use std::ops::Range;
use std::sync::Arc;

use warpath_core::fields::{Fields, Out};
use warpath_core::rows::RowSet;
use warpath_core::stamp::hash;
use warpath_part::group::{Column, Layout, NodeIx, Values};
use warpath_shared::leaf::{BLOCK_ROWS, Block, LANES, of_double};
use warpath_store::fsst::Table;

use crate::compressed::Compressed;
use crate::dictionary::{Dictionaries, Dictionary};
use crate::packed::Packed;
use crate::segment::{Kind, Leaf, Member, Rows, Segment, of_strings};

/// The version of the bytes. It becomes another one if the same fields mean something else, such as when
/// other members are exact.
const VERSION: u32 = 1;
/// The fields in their order. Bytes with another hash of this text are not read.
const LAYOUT: &str = "version u32, hash of this text u64; rows u32, loose u32, records set; members u64: names \
    u32, each sized; exact u32, nulls rows, kinds u32: node u32, rows rows, leaf u32: 0 set, 1 packed, 2 \
    negative zero u32 and packed, 3 packed and strings, 4 + layout; symbols u32, lengths u8, symbols u64; \
    codes of lines packed, bytes of lines packed. set: words u64. rows: 0 none, 1 all, 2 set u32. packed: \
    base u64 and width u32 of blocks of 1024 rows, words u32 in 32 lanes. strings: count u32, ends u32, bytes";
/// Bytes of version and hash.
pub const FRONT: usize = 12;

const BOOLEANS: u32 = 0;
const INTEGERS: u32 = 1;
const DOUBLES: u32 = 2;
const CODES: u32 = 3;
/// The first number of leaves that have a layout alone; that of the layout is added.
const WHOLE: u32 = 4;

/// The reason why bytes are no segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{why}, before byte {at}")]
pub struct Fault {
    /// The rule that is broken.
    pub why: &'static str,
    /// The number of bytes of the section up to there.
    pub at: usize,
}

/// True if bytes begin as those of a segment that this version reads.
#[must_use]
pub fn is_known(bytes: &[u8]) -> bool {
    bytes.starts_with(&front())
}

fn front() -> [u8; FRONT] {
    let mut front = [0; FRONT];
    front[..4].copy_from_slice(&VERSION.to_le_bytes());
    front[4..].copy_from_slice(&hash(LAYOUT.as_bytes()).to_le_bytes());
    front
}

/// The bytes of a segment: all but the codes of its lines, which are [`Compressed::codes`].
#[must_use]
pub fn bytes_of(segment: &Segment) -> Vec<u8> {
    let mut out = Out(front().to_vec());
    put_leaves(segment, &mut out);
    let (table, ends) = (segment.lines.table(), segment.lines.ends());
    let symbols = table.len();
    out.u32(symbols as u32);
    out.0.extend_from_slice(&table.lens()[..symbols]);
    table.symbols()[..symbols].iter().for_each(|symbol| out.u64(*symbol));
    put_packed(&lengths(ends.iter().map(|(code, _)| *code)), &mut out);
    put_packed(&lengths(ends.iter().map(|(_, text)| *text)), &mut out);
    out.0
}

/// The lengths that have some ends.
fn lengths(ends: impl Iterator<Item = u32>) -> Packed {
    let mut before = 0;
    let length = |end| u64::from(end - std::mem::replace(&mut before, end));
    Packed::of(&ends.map(length).collect::<Vec<_>>())
}

fn put_leaves(segment: &Segment, out: &mut Out) {
    let Segment { rows, records, has_loose, members, .. } = segment;
    out.u32(*rows);
    out.u32((*has_loose).into());
    put_set(records, out);
    out.u64(members.len() as u64);
    for member in members {
        out.u32(member.path.len() as u32);
        member.path.iter().for_each(|name| out.sized(name));
        out.u32(member.is_exact.into());
        put_rows(&member.nulls, out);
        out.u32(member.kinds.len() as u32);
        for (Kind { rows, leaf }, node) in member.kinds.iter().zip(&member.nodes) {
            out.u32(*node);
            put_rows(rows, out);
            put_leaf(leaf, out);
        }
    }
}

fn put_set(set: &RowSet, out: &mut Out) {
    set.words().iter().for_each(|word| out.u64(*word));
}

fn put_rows(rows: &Rows, out: &mut Out) {
    match rows {
        Rows::None => out.u32(0),
        Rows::All => out.u32(1),
        Rows::Some(set) => {
            out.u32(2);
            put_set(set, out);
        }
    }
}

fn put_leaf(leaf: &Leaf, out: &mut Out) {
    match leaf {
        Leaf::Booleans(set) => {
            out.u32(BOOLEANS);
            put_set(set, out);
        }
        Leaf::Integers(packed) => {
            out.u32(INTEGERS);
            put_packed(packed, out);
        }
        Leaf::Doubles { packed, had_negative_zero } => {
            out.u32(DOUBLES);
            out.u32((*had_negative_zero).into());
            put_packed(packed, out);
        }
        Leaf::Codes { numbers, codes, dictionary } => {
            out.u32(CODES);
            put_packed(numbers, out);
            out.u32(codes.len() as u32);
            let strings = dictionary.read();
            let mut end = 0_u32;
            for code in codes {
                // Less than 4 GiB, as the text of the group.
                end = end.saturating_add(strings.get(*code).len() as u32);
                out.u32(end);
            }
            codes.iter().for_each(|code| out.0.extend_from_slice(strings.get(*code)));
        }
        Leaf::Whole(layout) => out.u32(WHOLE + u32::from(layout.number())),
    }
}

fn put_packed(packed: &Packed, out: &mut Out) {
    for block in packed.blocks() {
        out.u64(block.base);
        out.u32(block.width);
    }
    packed.words().iter().for_each(|word| out.u32(*word));
}

/// A segment that was read. Its strings have no codes yet: see [`choose`](Self::choose), then
/// [`into_segment`](Self::into_segment).
#[derive(Debug)]
pub struct Stored {
    segment: Segment,
    strings: Vec<StringLeaf>,
    bytes: Vec<u8>,
}

/// A leaf of strings.
#[derive(Debug)]
struct StringLeaf {
    member: usize,
    kind: usize,
    /// `None` for strings that hardly repeat. These are not in the bytes.
    coded: Option<CodedStrings>,
    /// The choice for the strings of this member, after it is made.
    dictionary: Option<Arc<Dictionary>>,
}

#[derive(Debug)]
struct CodedStrings {
    /// For each row the number of its string.
    numbers: Packed,
    /// The end of each string.
    ends: Vec<u32>,
    /// The strings, among all bytes.
    range: Range<usize>,
}

impl Stored {
    /// Reads the bytes of a segment ([`bytes_of`]), and the codes of its lines. The segment has `rows` rows
    /// with `text_len` bytes of text. `None` for bytes of another version or layout.
    ///
    /// # Errors
    /// [`Fault`] for bytes that no segment has.
    pub fn read(bytes: Vec<u8>, codes: Vec<u8>, rows: u32, text_len: u64) -> Result<Option<Self>, Fault> {
        if !is_known(&bytes) {
            return Ok(None);
        }
        let mut reader = Reader { left: Fields(&bytes[FRONT..]), len: bytes.len(), rows };
        let (segment, strings) = reader.segment(codes, text_len)?;
        Ok(Some(Self { segment, strings, bytes }))
    }

    /// Bytes of memory of the segment without its strings' codes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.segment.bytes()
    }

    /// Chooses the dictionaries of strings. As the first segment of a member decides whether there is one
    /// ([`Dictionaries::of`]), segments choose one after the other.
    pub fn choose(&mut self, dictionaries: &Dictionaries) {
        for StringLeaf { member, coded, dictionary, .. } in &mut self.strings {
            *dictionary = dictionaries.of(&self.segment.members[*member].path, coded.is_some());
        }
    }

    /// The nodes whose strings are not in the bytes, and get codes: those of other segments do.
    #[must_use]
    pub fn missing(&self) -> Vec<NodeIx> {
        let missing = self.strings.iter().filter(|of| of.coded.is_none() && of.dictionary.is_some());
        missing.map(|of| self.segment.members[of.member].nodes[of.kind]).collect()
    }

    /// Makes the segment, equal to the one of the group. `columns` are those of the [missing](Self::missing)
    /// nodes. The dictionaries are those of the choice.
    ///
    /// # Errors
    /// [`Fault`] if a column has other rows.
    pub fn into_segment(self, columns: &[Column], dictionaries: &Dictionaries) -> Result<Segment, Fault> {
        let Self { mut segment, strings, bytes } = self;
        for StringLeaf { member, kind, coded, dictionary } in strings {
            let Member { path, kinds, nodes, .. } = &segment.members[member];
            let leaf = match (coded, dictionary) {
                (_, None) => continue,
                (Some(CodedStrings { numbers, ends, range }), Some(dictionary)) => {
                    let (begins, all) = ([0].into_iter().chain(ends.iter().copied()), &bytes[range]);
                    let strings = begins.zip(&ends).map(|(begin, end)| &all[begin as usize..*end as usize]);
                    match dictionary.add_all(strings) {
                        Some(codes) => Leaf::Codes { numbers, codes, dictionary },
                        None => continue,
                    }
                }
                (None, Some(_)) => {
                    let rows = segment.set(&kinds[kind].rows);
                    let column = columns.iter().find(|column| column.node == nodes[kind]);
                    match column.map(|column| &column.values) {
                        Some(Values::Bytes(strings)) if strings.ends.len() as u64 == rows.count() => {
                            of_strings(strings, &rows, path, dictionaries)
                        }
                        _ => {
                            let why = "the column of a leaf of strings has no string for each of its rows";
                            return Err(Fault { why, at: bytes.len() });
                        }
                    }
                }
            };
            segment.members[member].kinds[kind].leaf = leaf;
        }
        Ok(segment)
    }
}

/// True if two segments are equal but for the codes and the symbols that they use: `text` is the text of
/// both, and their leaves are the same.
#[must_use]
pub fn are_equal(one: &Segment, other: &Segment, text: &[u8]) -> bool {
    let leaves = |segment: &Segment| {
        let mut out = Out::default();
        put_leaves(segment, &mut out);
        out.0
    };
    let has_text = |segment: &Segment| {
        let mut decoded = Vec::new();
        segment.lines.decode(0..segment.lines.rows(), &mut decoded).is_ok() && decoded == text
    };
    let ends = |segment: &Segment| segment.lines.ends().iter().map(|(_, end)| *end).collect::<Vec<_>>();
    ends(one) == ends(other) && has_text(one) && has_text(other) && leaves(one) == leaves(other)
}

/// The fields that are left of the bytes of a segment.
struct Reader<'a> {
    left: Fields<'a>,
    /// The length of all bytes.
    len: usize,
    rows: u32,
}

type Result<T, E = Fault> = std::result::Result<T, E>;

impl<'a> Reader<'a> {
    fn fault<T>(&self, why: &'static str) -> Result<T> {
        Err(Fault { why, at: self.at() })
    }

    /// The number of bytes that were read.
    fn at(&self) -> usize {
        self.len - self.left.0.len()
    }

    fn some<T>(&self, value: Option<T>) -> Result<T> {
        value.map_or_else(|| self.fault("the bytes end within a field"), Ok)
    }

    fn u32(&mut self) -> Result<u32> {
        let value = self.left.u32();
        self.some(value)
    }

    fn bool(&mut self) -> Result<bool> {
        match self.u32()? {
            0 => Ok(false),
            1 => Ok(true),
            _ => self.fault("a truth value is neither 0 nor 1"),
        }
    }

    /// The next `count` items of `size` bytes each.
    fn items(&mut self, count: usize, size: usize) -> Result<&'a [u8]> {
        let bytes = count.checked_mul(size).and_then(|len| self.left.bytes(len as u64));
        self.some(bytes)
    }

    fn numbers(&mut self, count: usize) -> Result<Vec<u32>> {
        let (numbers, _) = self.items(count, 4)?.as_chunks();
        Ok(numbers.iter().map(|number| u32::from_le_bytes(*number)).collect())
    }

    fn segment(&mut self, codes: Vec<u8>, text_len: u64) -> Result<(Segment, Vec<StringLeaf>)> {
        if self.u32()? != self.rows {
            return self.fault("it has another number of rows than its group");
        }
        // Each line has a byte, so memory for lines is not much more than the bytes that there are.
        if codes.len() < self.rows as usize {
            return self.fault("it has fewer codes than lines");
        }
        let (has_loose, records) = (self.bool()?, self.set()?);
        let count = self.left.u64();
        let count = self.some(count)?;
        let (mut members, mut strings) = (Vec::<Member>::new(), Vec::new());
        // A forged count ends at the last byte, because each member has some.
        for number in 0..count {
            let member = self.member(number as usize, &mut strings)?;
            if members.last().is_some_and(|last| last.path >= member.path) {
                return self.fault("the paths of members are not in their order");
            }
            members.push(member);
        }
        let lines = self.lines(codes)?;
        if u64::from(lines.ends().last().map_or(0, |(_, end)| *end)) != text_len {
            return self.fault("its lines have another length than the text of its group");
        }
        match self.left.is_empty() {
            true => Ok((Segment { rows: self.rows, records, has_loose, lines, members }, strings)),
            false => self.fault("bytes follow its last field"),
        }
    }

    fn set(&mut self) -> Result<RowSet> {
        let (words, _) = self.items((self.rows as usize).div_ceil(64), 8)?.as_chunks();
        let words: Vec<u64> = words.iter().map(|word| u64::from_le_bytes(*word)).collect();
        let last = words.last().copied();
        let set = RowSet::from_words(words, self.rows.into());
        match set.words().last().copied() == last {
            true => Ok(set),
            false => self.fault("a set has rows after the last one"),
        }
    }

    fn rows(&mut self) -> Result<Rows> {
        match self.u32()? {
            0 => Ok(Rows::None),
            1 => Ok(Rows::All),
            2 => Ok(Rows::Some(self.set()?)),
            _ => self.fault("rows have an unknown form"),
        }
    }

    fn member(&mut self, number: usize, strings: &mut Vec<StringLeaf>) -> Result<Member> {
        let mut path = Vec::new();
        for _ in 0..self.u32()? {
            let name = self.left.sized();
            path.push(self.some(name)?.to_vec());
        }
        if path.is_empty() {
            return self.fault("a member has no name");
        }
        let (is_exact, nulls) = (self.bool()?, self.rows()?);
        let (mut kinds, mut nodes) = (Vec::new(), Vec::new());
        for kind in 0..self.u32()? {
            let (node, rows) = (self.u32()?, self.rows()?);
            let (leaf, coded) = self.leaf()?;
            if matches!(leaf, Leaf::Whole(Layout::String)) {
                strings.push(StringLeaf { member: number, kind: kind as usize, coded, dictionary: None });
            }
            kinds.push(Kind { rows, leaf });
            nodes.push(node);
        }
        Ok(Member { path, kinds, nulls, nodes, is_exact })
    }

    /// A leaf. Strings that have codes come beside it.
    fn leaf(&mut self) -> Result<(Leaf, Option<CodedStrings>)> {
        let leaf = match self.u32()? {
            BOOLEANS => Leaf::Booleans(self.set()?),
            INTEGERS => Leaf::Integers(self.packed()?),
            DOUBLES => Leaf::Doubles { had_negative_zero: self.bool()?, packed: self.doubles()? },
            CODES => return Ok((Leaf::Whole(Layout::String), Some(self.coded()?))),
            other => {
                let layout = other.checked_sub(WHOLE).and_then(Layout::of_number);
                Leaf::Whole(layout.map_or_else(|| self.fault("a leaf has an unknown form"), Ok)?)
            }
        };
        Ok((leaf, None))
    }

    fn packed(&mut self) -> Result<Packed> {
        let (bytes, _) = self.items((self.rows as usize).div_ceil(BLOCK_ROWS), 12)?.as_chunks::<12>();
        let (mut blocks, mut begin) = (Vec::with_capacity(bytes.len()), 0_u32);
        for bytes in bytes {
            let mut fields = Fields(bytes);
            let (Some(base), Some(width)) = (fields.u64(), fields.u32()) else { break };
            blocks.push(Block { base, begin, width });
            // A width that is too great is refused below.
            begin = begin.saturating_add(width);
        }
        let words = self.numbers((begin as usize).saturating_mul(LANES))?;
        let packed = Packed::from_parts(self.rows, blocks, words);
        packed.map_or_else(|| self.fault("packed numbers have other blocks than words"), Ok)
    }

    fn doubles(&mut self) -> Result<Packed> {
        let (packed, least, greatest) = (self.packed()?, of_double(f64::MIN), of_double(f64::MAX));
        let others = [packed.within(0, least - 1), packed.within(greatest + 1, u64::MAX)];
        match others.iter().all(|rows| rows.count() == 0) {
            true => Ok(packed),
            false => self.fault("a double is not finite"),
        }
    }

    fn coded(&mut self) -> Result<CodedStrings> {
        let numbers = self.packed()?;
        let count = self.u32()?;
        let ends = self.numbers(count as usize)?;
        let begin = self.at();
        let bytes = self.items(ends.last().map_or(0, |end| *end as usize), 1)?;
        let strings = CodedStrings { numbers, ends, range: begin..self.at() };
        let CodedStrings { numbers, ends, .. } = &strings;
        let Ok(text) = std::str::from_utf8(bytes) else { return self.fault("strings are not UTF-8") };
        if !ends.is_sorted() || !ends.iter().all(|end| text.is_char_boundary(*end as usize)) {
            return self.fault("strings have no such ends");
        }
        match numbers.within(count.into(), u64::MAX).count() {
            0 => Ok(strings),
            _ => self.fault("a row has a number that no string has"),
        }
    }

    fn lines(&mut self, codes: Vec<u8>) -> Result<Compressed> {
        let count = self.u32()? as usize;
        let lens = self.items(count, 1)?;
        let (symbols, _) = self.items(count, 8)?.as_chunks();
        let symbols: Vec<u64> = symbols.iter().map(|symbol| u64::from_le_bytes(*symbol)).collect();
        let Ok(table) = Table::new(&symbols, lens) else { return self.fault("a symbol has no such length") };
        let [codes_of, bytes_of] = [self.packed()?, self.packed()?];
        let (mut ends, mut sums) = (Vec::with_capacity(self.rows as usize), [0_u64; 2]);
        codes_of.each_block(|codes| ends.extend(codes.iter().map(|len| (sum(&mut sums[0], *len), 0))));
        let mut all = ends.iter_mut();
        bytes_of.each_block(|bytes| {
            all.by_ref().zip(bytes).for_each(|(end, len)| end.1 = sum(&mut sums[1], *len));
        });
        let fits = sums.iter().all(|sum| *sum <= u32::MAX.into());
        let lines = fits.then(|| Compressed::from_parts(&table, codes, ends)).flatten();
        lines.map_or_else(|| self.fault("lines have no such ends"), Ok)
    }
}

/// Adds a length to a sum, and returns it, or its lowest bits if it has more than 32.
fn sum(sum: &mut u64, len: u64) -> u32 {
    *sum = sum.saturating_add(len);
    *sum as u32
}

#[cfg(test)]
mod tests;
