//! Segments as a table of leaves for a device ([`warpath_shared::leaf::table`]), and conditions as programs
//! over it.

use std::sync::{Arc, Mutex, PoisonError};

use foldhash::HashMap;
use warpath_core::comparison::{Comparison, Condition, Test};
use warpath_core::error::{DeviceError, Error};
use warpath_core::leaves::{Image, LeafDevice, Program, TableRows};
use warpath_core::pool;
use warpath_core::rows::RowSet;
use warpath_part::group::Layout;
use warpath_shared::leaf::table::{Column, Instr, MOST_PUSHED, OpCode, RECORDS, SET_WORDS};
use warpath_shared::leaf::{BLOCK_ROWS, Block, LANES};

use crate::aggregate::ColumnKind;
use crate::dictionary::Dictionary;
use crate::packed::Packed;
use crate::rows::{Question, passes_null, ranges_of};
use crate::segment::{Leaf, Rows, Segment};

/// The class of the values of a column. A member has a column for each class of its values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Booleans: 0 and 1.
    Booleans,
    /// Integers in their order.
    Integers,
    /// Doubles in their order.
    Doubles,
    /// Codes of strings, the same for all segments.
    Codes,
    /// `null`, without values.
    Nulls,
    /// Objects and arrays, without values.
    Containers,
    /// Values that are in the lines alone.
    InLines,
}

/// A column of a table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// The number of the column.
    pub number: u32,
    /// The least value that a block may have; greater than `greatest` if there are no values.
    pub least: u64,
    /// The greatest value that a block may have.
    pub greatest: u64,
    /// The strings of [`Class::Codes`].
    pub dictionary: Option<Arc<Dictionary>>,
    /// True if all records have a value.
    pub is_full: bool,
}

/// The rows of a segment of which a condition is true.
#[derive(Clone, Debug)]
pub struct SegmentRows {
    /// Their number.
    pub count: u64,
    /// The rows, if they were wanted.
    pub rows: Option<RowSet>,
}

/// A description of a table: which columns it has.
#[derive(Debug, Default)]
pub struct Table {
    columns: HashMap<(Vec<Vec<u8>>, Class), TableColumn>,
    /// The first block of each segment, and the number of all blocks.
    first: Vec<usize>,
    /// The rows of each segment.
    rows: Vec<u32>,
    /// True if the leaves of all segments have all of their records.
    is_whole: bool,
    /// For each member that was asked for: whether the leaves of all segments say all about it.
    known: Mutex<HashMap<Vec<Vec<u8>>, bool>>,
}

/// The blocks and the set of a column in one segment.
struct Made {
    path: Vec<Vec<u8>>,
    class: Class,
    segment: usize,
    packed: Option<Packed>,
    here: Here,
    dictionary: Option<Arc<Dictionary>>,
}

enum Here {
    All,
    Some(RowSet),
}

/// The columns of a segment, with codes that are the same for all segments.
fn made(number: usize, segment: &Segment) -> Vec<Made> {
    let mut all = Vec::new();
    for member in segment.members() {
        let mut push = |class, rows: &Rows, packed, dictionary| {
            let here = match rows {
                Rows::None => return,
                Rows::All => Here::All,
                Rows::Some(rows) => Here::Some(rows.clone()),
            };
            all.push(Made { path: member.path.clone(), class, segment: number, packed, here, dictionary });
        };
        for kind in &member.kinds {
            match &kind.leaf {
                Leaf::Booleans(is_true) => {
                    let values: Vec<u64> =
                        (0..u64::from(segment.rows())).map(|row| is_true.get(row).into()).collect();
                    push(Class::Booleans, &kind.rows, Some(Packed::of(&values)), None);
                }
                Leaf::Integers(packed) => push(Class::Integers, &kind.rows, Some(packed.clone()), None),
                Leaf::Doubles { packed, .. } => push(Class::Doubles, &kind.rows, Some(packed.clone()), None),
                Leaf::Codes { numbers, codes, dictionary } => {
                    let mut values = Vec::with_capacity(numbers.rows() as usize);
                    numbers.each_block(|block| {
                        let code = |number: &u64| codes.get(*number as usize).copied().unwrap_or_default();
                        values.extend(block.iter().map(|number| u64::from(code(number))));
                    });
                    push(Class::Codes, &kind.rows, Some(Packed::of(&values)), Some(dictionary.clone()));
                }
                Leaf::Whole(Layout::Struct | Layout::List) => push(Class::Containers, &kind.rows, None, None),
                Leaf::Whole(_) => push(Class::InLines, &kind.rows, None, None),
            }
        }
        push(Class::Nulls, &member.nulls, None, None);
    }
    all
}

/// Adds a set of the rows of a segment to the words of a set of a table. A column may have several such sets:
/// those of objects and those of arrays.
fn add_set(rows: &RowSet, to: &mut [u32]) {
    for (word, halves) in rows.words().iter().zip(to.chunks_exact_mut(2)) {
        halves[0] |= *word as u32;
        halves[1] |= (*word >> 32) as u32;
    }
}

impl Table {
    /// The table of segments, and its image. `None` if they have no rows, or two dictionaries for one member,
    /// or more blocks than a table may have.
    #[must_use]
    pub fn of(segments: &[&Segment]) -> Option<(Self, Image)> {
        let blocks_of = |segment: &&Segment| (segment.rows() as usize).div_ceil(BLOCK_ROWS);
        let mut first = vec![0];
        first.extend(segments.iter().map(blocks_of).scan(0, |end, blocks| {
            *end += blocks;
            Some(*end)
        }));
        let count = *first.last()?;
        if count == 0 {
            return None;
        }
        let rows = segments.iter().map(|segment| segment.rows()).collect();
        let is_whole = segments.iter().all(|segment| segment.is_whole());
        let mut table = Self { columns: HashMap::default(), first, rows, is_whole, known: Mutex::default() };
        let mut image = Image { count, sets: vec![0; count * SET_WORDS], ..Image::default() };
        for (number, segment) in segments.iter().enumerate() {
            add_set(segment.records(), &mut image.sets[table.first[number] * SET_WORDS..]);
        }
        let numbered = segments.iter().enumerate().collect();
        let mut all: Vec<Made> =
            pool::map(numbered, |(number, segment)| made(number, segment)).into_iter().flatten().collect();
        // The blocks of a column are neighbours.
        all.sort_by(|a, b| (&a.path, a.class as u8, a.segment).cmp(&(&b.path, b.class as u8, b.segment)));
        for of_column in all.chunk_by(|a, b| a.path == b.path && a.class == b.class) {
            table.add(of_column, segments, &mut image)?;
        }
        Some((table, image))
    }

    /// Adds a column.
    fn add(&mut self, all: &[Made], segments: &[&Segment], image: &mut Image) -> Option<()> {
        let (one, count) = (all.first()?, image.count);
        let dictionary = one.dictionary.clone();
        let is_same = |made: &Made| match (&made.dictionary, &dictionary) {
            (Some(made), Some(one)) => Arc::ptr_eq(made, one),
            (None, None) => true,
            _ => false,
        };
        if !all.iter().all(is_same) {
            return None;
        }
        let number = u32::try_from(image.columns.len()).ok()?;
        let place = image.blocks.len();
        image.blocks.resize(place + count, Block::default());
        let (mut least, mut greatest) = (u64::MAX, 0);
        for made in all {
            let Some(packed) = &made.packed else { continue };
            let begin = u32::try_from(image.words.len() / LANES).ok()?;
            image.words.extend_from_slice(packed.words());
            let to = &mut image.blocks[place + self.first[made.segment]..];
            for (to, block) in to.iter_mut().zip(packed.blocks()) {
                *to = Block { begin: block.begin.checked_add(begin)?, ..*block };
                least = least.min(block.base);
                greatest = greatest.max(block.base.saturating_add(block.mask()));
            }
        }
        let is_all = |made: &Made| matches!(made.here, Here::All);
        let here = if all.len() == segments.len() && all.iter().all(is_all) {
            RECORDS
        } else {
            let set = image.sets.len();
            image.sets.resize(set + count * SET_WORDS, 0);
            for made in all {
                let to = &mut image.sets[set + self.first[made.segment] * SET_WORDS..];
                let records = segments[made.segment].records();
                add_set(if let Here::Some(rows) = &made.here { rows } else { records }, to);
            }
            u32::try_from(set / (count * SET_WORDS)).ok()?
        };
        image.columns.push(Column { blocks: u32::try_from(place).ok()?, here });
        let column = TableColumn { number, least, greatest, dictionary, is_full: here == RECORDS };
        self.columns.insert((one.path.clone(), one.class), column);
        Some(())
    }

    /// The column of a class of the values of a member.
    #[must_use]
    pub fn column(&self, path: &[Vec<u8>], class: Class) -> Option<&TableColumn> {
        // A borrowed pair is no key of the map.
        self.columns.get(&(path.to_vec(), class))
    }

    /// True if the leaves of all segments have all of their records.
    #[must_use]
    pub fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// True if the leaves of all segments say all about a member. The segments are those of the table.
    #[must_use]
    pub fn knows(&self, path: &[Vec<u8>], segments: &[&Segment]) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        match known.get(path) {
            Some(known) => *known,
            None => {
                let is_known = segments.iter().all(|segment| segment.member(path).is_some());
                known.insert(path.to_vec(), is_known);
                is_known
            }
        }
    }

    /// The kind of the values of a member, as [`kind_of`](crate::aggregate::kind_of) finds it. `None` if they
    /// have several kinds, or are not all in leaves.
    #[must_use]
    pub fn kind(&self, path: &[Vec<u8>], segments: &[&Segment]) -> Option<ColumnKind> {
        let column = |class| self.column(path, class);
        if !self.knows(path, segments)
            || [Class::Containers, Class::InLines].into_iter().any(|of| column(of).is_some())
        {
            return None;
        }
        let kinds = [
            column(Class::Booleans).map(|_| ColumnKind::Booleans),
            column(Class::Integers).map(|_| ColumnKind::Integers),
            column(Class::Doubles).map(|_| ColumnKind::Doubles),
            column(Class::Codes).and_then(|column| column.dictionary.clone()).map(ColumnKind::Codes),
        ];
        let mut kinds = kinds.into_iter().flatten();
        let kind = kinds.next().unwrap_or(ColumnKind::Nothing);
        kinds.next().is_none().then_some(kind)
    }

    /// The number of rows of all segments.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.iter().map(|rows| u64::from(*rows)).sum()
    }

    /// The number of blocks of each column.
    #[must_use]
    pub fn blocks(&self) -> usize {
        self.first.last().copied().unwrap_or_default()
    }

    /// The rows of each segment: their number, and the rows themselves if they were wanted.
    #[must_use]
    pub fn of_segments(&self, found: &TableRows) -> Vec<SegmentRows> {
        let segments = self.first.windows(2).zip(&self.rows);
        let of = segments.map(|(range, rows)| {
            let count = found.counts[range[0]..range[1]].iter().map(|count| u64::from(*count)).sum();
            let words = found.words.get(range[0] * SET_WORDS..range[1] * SET_WORDS);
            let set = words.map(|words| {
                let pair = |pair: &[u32]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
                let mut words: Vec<u64> = words.chunks_exact(2).map(pair).collect();
                words.truncate((*rows as usize).div_ceil(64));
                RowSet::from_words(words, (*rows).into())
            });
            SegmentRows { count, rows: set }
        });
        of.collect()
    }
}

impl Question {
    /// The question as a program over the table of segments. `None` if leaves do not decide it, or if the
    /// program would be too deep.
    #[must_use]
    pub fn program(&self, table: &Table, segments: &[&Segment]) -> Option<Program> {
        let mut writer = Writer { question: self, table, segments, program: Program::default(), depth: 0 };
        writer.condition(self.condition())?;
        Some(writer.program)
    }
}

/// Writes the program of a question.
struct Writer<'a> {
    question: &'a Question,
    table: &'a Table,
    segments: &'a [&'a Segment],
    program: Program,
    /// The sets that are pushed now.
    depth: usize,
}

impl Writer<'_> {
    fn op(&mut self, op: OpCode) {
        self.program.instrs.push(Instr::new(op));
    }

    fn push(&mut self) -> Option<()> {
        self.depth += 1;
        self.op(OpCode::Push);
        (self.depth <= MOST_PUSHED).then_some(())
    }

    fn pop(&mut self, op: OpCode) {
        self.depth -= 1;
        self.op(op);
    }

    fn condition(&mut self, condition: &Condition) -> Option<()> {
        match condition {
            Condition::Is(comparison) => self.comparison(comparison),
            Condition::All(all) => {
                self.records();
                self.each(all, OpCode::And)
            }
            Condition::Any(any) => self.each(any, OpCode::Or),
        }
    }

    /// The records: those that are not in the empty set.
    fn records(&mut self) {
        self.op(OpCode::Not);
    }

    fn each(&mut self, all: &[Condition], op: OpCode) -> Option<()> {
        for condition in all {
            self.push()?;
            self.condition(condition)?;
            self.pop(op);
        }
        Some(())
    }

    fn comparison(&mut self, comparison: &Comparison) -> Option<()> {
        if !self.table.knows(&comparison.path, self.segments) {
            return None;
        }
        self.test(&comparison.test, &comparison.path)
    }

    /// Adds the rows that pass a test to the accumulator, which is empty.
    fn test(&mut self, test: &Test, path: &[Vec<u8>]) -> Option<()> {
        if let Test::Not(test) = test {
            self.test(test, path)?;
            self.op(OpCode::Not);
            return Some(());
        }
        let table = self.table;
        let column = |class| table.column(path, class);
        let is_exists = matches!(test, Test::Exists);
        for class in [Class::Booleans, Class::Integers, Class::Doubles, Class::Codes] {
            let Some(column) = column(class) else { continue };
            if is_exists {
                self.of_column(OpCode::Here, column.number, 0, 0);
                continue;
            }
            if let Some(dictionary) = &column.dictionary {
                self.codes(&self.question.codes(test, dictionary), column.number);
            }
            for (least, greatest) in ranges_of(test, class)? {
                self.of_column(OpCode::Within, column.number, least, greatest);
            }
        }
        if let Some(column) = column(Class::Nulls)
            && passes_null(test)
        {
            self.of_column(OpCode::Here, column.number, 0, 0);
        }
        for (class, is_known) in [(Class::Containers, true), (Class::InLines, is_exists)] {
            // Objects and arrays are equal to no constant, and have no order.
            let Some(column) = column(class) else { continue };
            if is_exists {
                self.of_column(OpCode::Here, column.number, 0, 0);
            }
            if !is_known {
                return None;
            }
        }
        Some(())
    }

    fn of_column(&mut self, op: OpCode, column: u32, first: u64, last: u64) {
        self.program.instrs.push(Instr { op: op as u32, column, first, last });
    }

    /// Adds the rows whose codes are in a set.
    fn codes(&mut self, codes: &RowSet, column: u32) {
        let Some(last) = codes.last() else { return };
        let first = codes.ones().next().unwrap_or(last);
        if codes.count() == last - first + 1 {
            self.of_column(OpCode::Within, column, first, last);
            return;
        }
        let words = codes.words().iter().flat_map(|word| [*word as u32, (*word >> 32) as u32]);
        let begin = self.program.codes.len() as u64;
        self.program.codes.extend(words);
        self.of_column(OpCode::Codes, column, begin, codes.rows());
    }
}

/// A table on a device. It is removed from there when it is dropped.
pub struct DeviceTable {
    device: Arc<dyn LeafDevice>,
    number: u64,
    table: Table,
    bytes: u64,
}

impl std::fmt::Debug for DeviceTable {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeviceTable")
            .field("number", &self.number)
            .field("bytes", &self.bytes)
            .finish_non_exhaustive()
    }
}

impl DeviceTable {
    /// Copies the table of segments to a device. `None` if they have none ([`Table::of`]).
    ///
    /// # Errors
    /// The errors of [`LeafDevice::load`], and [`DeviceError::IndexTooLarge`].
    pub fn load(device: &Arc<dyn LeafDevice>, segments: &[&Segment]) -> Result<Option<Self>, Error> {
        let Some((table, image)) = Table::of(segments) else { return Ok(None) };
        let (needed, free) = (image.bytes(), device.free_memory()?);
        if needed > free {
            return Err(DeviceError::IndexTooLarge { needed, free }.into());
        }
        let (number, bytes) = (device.load(&image)?, image.bytes());
        Ok(Some(Self { device: device.clone(), number, table, bytes }))
    }

    /// The device.
    #[must_use]
    pub fn device(&self) -> &Arc<dyn LeafDevice> {
        &self.device
    }

    /// The number of the table on the device.
    #[must_use]
    pub fn number(&self) -> u64 {
        self.number
    }

    /// The description of the table.
    #[must_use]
    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Bytes of the device's memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The rows of each segment of which a condition is true: their number, and the rows themselves if
    /// `has_rows` is set. `None` if the table cannot decide the condition.
    ///
    /// # Errors
    /// The errors of [`LeafDevice::rows`].
    pub fn rows(
        &self,
        question: Option<&Question>,
        segments: &[&Segment],
        has_rows: bool,
    ) -> Result<Option<Vec<SegmentRows>>, Error> {
        let program = match question {
            None => Program::all(),
            Some(question) => match question.program(&self.table, segments) {
                None => return Ok(None),
                Some(program) => program,
            },
        };
        let found = self.device.rows(self.number, &program, has_rows)?;
        Ok(Some(self.table.of_segments(&found)))
    }
}

impl Drop for DeviceTable {
    fn drop(&mut self) {
        self.device.remove(self.number);
    }
}
