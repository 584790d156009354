//! Typed columns on a device: rows, then bits and values, or lengths, offsets and bytes.
//!
//! ```text
//! column 0   rows | read | scan | gather, finish |
//! column 1                                       rows | read |
//! column 2                                                   offsets | read | scan | gather, finish |
//! host                                                                              one wait for all | rest
//! ```
//!
//! Only the device knows the number of bytes of a column. The host copies back as many as the previous
//! partition lets it expect. If that was too few, there is a second wait.

mod resident;

use std::ops::Range;
use std::sync::Arc;

use warpath_answer::columns::{Column, Items, OffsetWidth, Offsets, Values};
use warpath_core::error::{DeviceError, Error};
use warpath_core::float;
use warpath_lang::program;
use warpath_shared::column::Kind;
use warpath_shared::kernel::{
    COLUMN_COUNTS, ColumnBytesArgs, ColumnFinish, ColumnGather, ColumnRead, ColumnReadArgs, CountScan,
    Escaped, GATHER_TILE, Indexed, ListOffsets, ListOffsetsArgs, Match, PathMatches, RecordRows,
    RecordRowsArgs, Rows, ScanArgs, scan_tiles,
};
use warpath_shared::view::View;

use super::held::Held;
use super::lines::Lines;
use super::results::{Bounds, ResultsStage};
use super::{Accelerator, Downloads, ScanScratch, Slot, launch, stages};

/// The most bytes of scratch for an item of a column: a row, a value, two offsets, and an unfinished number.
const SCRATCH_PER_ITEM: usize = 44;
/// The most bytes of scratch, for each byte of text, of columns that are made together. Index and query need
/// their part of a partition's memory on the device. The columns of many short records would take more than
/// all of that memory.
const SCRATCH_PER_BYTE: usize = 1;

/// The buffers for the columns of a partition, kept from partition to partition.
pub(super) struct ColumnsStage<A: Accelerator> {
    /// The buffers of each of the columns that are made together.
    together: Vec<ColumnStage<A>>,
    /// The sizes of each column in the last partition.
    last: Vec<Option<Unknown>>,
    /// The queue of columns that stay on the device, from the first of them on.
    held: Option<Arc<Held<A>>>,
}

impl<A: Accelerator> Default for ColumnsStage<A> {
    fn default() -> Self {
        Self { together: Vec::new(), last: Vec::new(), held: None }
    }
}

/// The sizes of a column that only the device knows, until the host has read them.
#[derive(Clone, Copy, Default)]
struct Unknown {
    bytes: usize,
    /// Numbers that the host has to round.
    unfinished: usize,
}

impl Unknown {
    /// The sizes that the device reported: the last of the offsets, and a count. Both may be absent.
    fn reported(offsets: &[u64], unfinished: &[u64], width: OffsetWidth) -> Result<Self, Error> {
        let wanted = offsets.last().copied().unwrap_or(0);
        width.check(wanted)?;
        let bytes = usize::try_from(wanted).map_err(|_| DeviceError::OutOfMemory { wanted, free: 0 })?;
        Ok(Self { bytes, unfinished: unfinished.first().map_or(0, |count| *count as usize) })
    }

    /// The sizes to expect of a partition if the previous one had these: somewhat more.
    fn expect(self) -> Self {
        let more = |count: usize| count + count / 8;
        Self { bytes: more(self.bytes), unfinished: more(self.unfinished) }
    }
}

/// The buffers for one column.
struct ColumnStage<A: Accelerator> {
    rows: Slot<A, Match>,
    narrow: Slot<A, i32>,
    wide: Slot<A, i64>,
    items: ItemStage<A>,
}

impl<A: Accelerator> Default for ColumnStage<A> {
    fn default() -> Self {
        Self {
            rows: Slot::default(),
            narrow: Slot::default(),
            wide: Slot::default(),
            items: ItemStage::default(),
        }
    }
}

/// The buffers for items: those of a column, or the text of matches.
pub(super) struct ItemStage<A: Accelerator> {
    /// True if the bytes stay on the device. No part of them is then copied back before it is written.
    stays: bool,
    validity: Slot<A, u32>,
    truth: Slot<A, u32>,
    values: Slot<A, u64>,
    unfinished: Slot<A, Match>,
    counts: Slot<A, u64>,
    offsets: Slot<A, u64>,
    narrow: Slot<A, i32>,
    length_scan: ScanScratch<A, u64>,
    bytes: Slot<A, u8>,
    byte_bounds: Slot<A, u64>,
}

impl<A: Accelerator> Default for ItemStage<A> {
    fn default() -> Self {
        Self {
            stays: false,
            validity: Slot::default(),
            truth: Slot::default(),
            values: Slot::default(),
            unfinished: Slot::default(),
            counts: Slot::default(),
            offsets: Slot::default(),
            narrow: Slot::default(),
            length_scan: ScanScratch::default(),
            bytes: Slot::default(),
            byte_bounds: Slot::default(),
        }
    }
}

/// A partition on the device and on the host, and the matches in it.
pub(super) struct MatchedPartition<'a, A: Accelerator> {
    pub text: Lines<'a>,
    pub indexed: Indexed<'a>,
    pub found: &'a ResultsStage<A>,
    pub bounds: &'a Bounds,
}

impl<'a, A: Accelerator> MatchedPartition<'a, A> {
    /// The matches of all paths.
    fn matches(&self, device: &A) -> Result<View<'a, Match>, Error> {
        // If there are no matches, the device may have no array of matches yet.
        Ok(match self.bounds.total()? {
            0 => View::from_slice(&[]),
            total => device.view(self.found.matches.get()?, total),
        })
    }

    /// The shapes of columns over the listed records and the matches.
    fn shapes(
        &self,
        asked: &[(usize, Kind, &program::Column)],
        records: usize,
        width: OffsetWidth,
    ) -> Result<Vec<Shape>, Error> {
        let shape = |(path, kind, asked): &(usize, Kind, &program::Column)| {
            let matches = self.matches_of(*path)?;
            if !asked.singular {
                width.check(matches.len() as u64)?;
            }
            let items = if asked.singular { 0..records } else { matches };
            Ok(Shape { path: *path, singular: asked.singular, kind: *kind, width, items })
        };
        asked.iter().map(shape).collect()
    }

    /// The range of a path's matches.
    fn matches_of(&self, path: usize) -> Result<Range<usize>, Error> {
        Ok(self.bounds.end(path)?..self.bounds.end(path + 1)?)
    }
}

/// The properties of a column that are known before it is made.
struct Shape {
    path: usize,
    singular: bool,
    kind: Kind,
    width: OffsetWidth,
    /// The range of the items among its rows. A singular path has rows of its own, one for each record. Any
    /// other path's rows are its matches.
    items: Range<usize>,
}

impl Shape {
    fn are_bytes(&self) -> bool {
        matches!(self.kind, Kind::Utf8 | Kind::Json | Kind::Raw)
    }

    /// The rows of its items, at least one, in the form that kernels read.
    fn rows<'a, A: Accelerator>(
        &self,
        device: &A,
        matched: &MatchedPartition<'a, A>,
        own: &'a Slot<A, Match>,
    ) -> Result<Rows<'a>, Error> {
        let rows = match self.singular {
            true => device.view(own.get()?, self.items.len()),
            false => matched.matches(device)?,
        };
        some_rows(matched.indexed, rows, self.items.clone(), self.kind)
    }
}

/// The arrays of a column on the host. Arrays that the column does not need are empty.
#[derive(Default)]
struct Arrays {
    list_narrow: Vec<i32>,
    list_wide: Vec<i64>,
    validity: Vec<u32>,
    truth: Vec<u32>,
    values: Vec<u64>,
    unfinished_count: Vec<u64>,
    unfinished: Vec<Match>,
    /// The start of each item and the end of the last; or only that end.
    offsets: Vec<u64>,
    narrow: Vec<i32>,
    bytes: Vec<u8>,
}

impl Arrays {
    /// Makes room for a column of some records, and for the expected sizes.
    fn new(shape: &Shape, records: usize, expected: Unknown) -> Self {
        let of = |yes: bool, len: usize| if yes { len } else { 0 };
        let (len, large) = (shape.items.len(), shape.width == OffsetWidth::Large);
        let mut arrays = Self::default();
        if !shape.singular {
            arrays.list_narrow = vec![0; of(!large, records + 1)];
            arrays.list_wide = vec![0; of(large, records + 1)];
        }
        if len == 0 {
            return arrays;
        }
        arrays.validity = vec![0; len.div_ceil(32)];
        if shape.are_bytes() {
            arrays.offsets = vec![0; if large { len + 1 } else { 1 }];
            arrays.narrow = vec![0; of(!large, len + 1)];
            arrays.bytes = vec![0; expected.bytes];
        } else if shape.kind == Kind::Boolean {
            arrays.truth = vec![0; len.div_ceil(32)];
        } else {
            arrays.values = vec![0; len];
            arrays.unfinished_count = vec![0; of(shape.kind == Kind::Float64, 1)];
            arrays.unfinished = vec![Match::default(); of(shape.kind == Kind::Float64, expected.unfinished)];
        }
        arrays
    }

    /// The sizes that the device reported.
    fn unknown(&self, width: OffsetWidth) -> Result<Unknown, Error> {
        Unknown::reported(&self.offsets, &self.unfinished_count, width)
    }

    /// The column that the arrays make.
    fn column(self, shape: &Shape, text: Lines<'_>) -> Result<Column, Error> {
        let (len, large) = (shape.items.len(), shape.width == OffsetWidth::Large);
        let lists = match (shape.singular, large) {
            (true, _) => None,
            (_, true) => Some(Offsets::Large(self.list_wide)),
            (_, false) => Some(Offsets::Small(self.list_narrow)),
        };
        let mut validity = self.validity;
        // The standard library converts these vectors in place. Where the bits do not change, it needs no
        // loop.
        let values = match shape.kind {
            Kind::Boolean => Values::Boolean(self.truth),
            Kind::Int64 => Values::Int64(self.values.into_iter().map(|bits| bits as i64).collect()),
            Kind::Float64 => {
                let mut values: Vec<f64> = self.values.into_iter().map(f64::from_bits).collect();
                if !self.unfinished.is_empty() {
                    finish_floats(text.bytes()?, &self.unfinished, &mut values, &mut validity)?;
                }
                Values::Float64(values)
            }
            Kind::Utf8 | Kind::Json | Kind::Raw => {
                let offsets = match large {
                    _ if len == 0 => Offsets::new(vec![0], shape.width)?,
                    true => Offsets::Large(self.offsets.into_iter().map(|offset| offset as i64).collect()),
                    false => Offsets::Small(self.narrow),
                };
                Values::Utf8(offsets, self.bytes)
            }
        };
        Ok(Column::new(lists, Items::new(len, validity, values)))
    }
}

impl<A: Accelerator> ColumnsStage<A> {
    /// Makes columns over the listed records and the found matches, each of a path with this number and rule.
    pub fn columns(
        &mut self,
        device: &A,
        matched: &MatchedPartition<'_, A>,
        asked: &[(usize, Kind, &program::Column)],
        records: usize,
        width: OffsetWidth,
    ) -> Result<Vec<Column>, Error> {
        let mut columns = Vec::with_capacity(asked.len());
        self.last.resize(asked.len(), None);
        let shapes = matched.shapes(asked, records, width)?;
        while columns.len() < asked.len() {
            let from = columns.len();
            let some = self.how_many(&shapes, from, matched.text.len());
            self.some(device, matched, &shapes[from..from + some], from, records, &mut columns)?;
        }
        Ok(columns)
    }

    /// The number of columns to make together, from column `from` on: at least one.
    fn how_many(&self, shapes: &[Shape], from: usize, text: usize) -> usize {
        let mut scratch = 0;
        let fits = |(shape, last): &(&Shape, &Option<Unknown>)| {
            // Bytes whose number is not known may be as many as the text has.
            let bytes = if shape.are_bytes() { last.map_or(text, |last| last.expect().bytes) } else { 0 };
            scratch += shape.items.len() * SCRATCH_PER_ITEM + bytes;
            scratch <= text * SCRATCH_PER_BYTE
        };
        shapes[from..].iter().zip(&self.last[from..]).take_while(fits).count().max(1)
    }

    /// Makes some columns together, from column `first` on.
    fn some(
        &mut self,
        device: &A,
        matched: &MatchedPartition<'_, A>,
        shapes: &[Shape],
        first: usize,
        records: usize,
        columns: &mut Vec<Column>,
    ) -> Result<(), Error> {
        let Self { together, last, .. } = self;
        let last = &mut last[first..first + shapes.len()];
        together.resize_with(together.len().max(shapes.len()), ColumnStage::default);
        let mut made = Vec::with_capacity(shapes.len());
        for (i, (stage, shape)) in together.iter_mut().zip(shapes).enumerate() {
            stage.items.stays = false;
            let mut expected = last[i].unwrap_or_default().expect();
            let room = stage.make(device, matched, shape, records, expected.bytes)?;
            expected.bytes = expected.bytes.min(room);
            expected.unfinished = expected.unfinished.min(shape.items.len());
            made.push((room, Arrays::new(shape, records, expected)));
        }
        let mut downloads = Downloads::new(device);
        for (stage, (_, arrays)) in together.iter().zip(&mut made) {
            stage.add_to(&mut downloads, arrays)?;
        }
        downloads.run()?;

        let mut had = Vec::with_capacity(shapes.len());
        for (stage, (shape, (room, arrays))) in together.iter_mut().zip(shapes.iter().zip(&mut made)) {
            let unknown = arrays.unknown(shape.width)?;
            let mut have = Unknown { bytes: arrays.bytes.len(), unfinished: arrays.unfinished.len() };
            if unknown.bytes > *room {
                let rows = shape.rows(device, matched, &stage.rows)?;
                stage.items.gather(device, rows, NO_BOUNDS, None, unknown.bytes)?;
                // A string that reached beyond the room was not written. It may begin in the part that was
                // copied.
                have.bytes = 0;
            }
            arrays.bytes.resize(unknown.bytes, 0);
            arrays.unfinished.resize(unknown.unfinished, Match::default());
            had.push((unknown, have));
        }
        let mut downloads = Downloads::new(device);
        for (stage, ((_, arrays), (_, have))) in together.iter().zip(made.iter_mut().zip(&had)) {
            let (bytes, unfinished) =
                (have.bytes.min(arrays.bytes.len()), have.unfinished.min(arrays.unfinished.len()));
            downloads.add(&stage.items.bytes, bytes, &mut arrays.bytes[bytes..])?;
            downloads.add(&stage.items.unfinished, unfinished, &mut arrays.unfinished[unfinished..])?;
        }
        downloads.run()?;
        for (last, (unknown, _)) in last.iter_mut().zip(had) {
            *last = Some(unknown);
        }
        for (shape, (_, arrays)) in shapes.iter().zip(made) {
            columns.push(arrays.column(shape, matched.text)?);
        }
        Ok(())
    }
}

impl<A: Accelerator> ColumnStage<A> {
    /// Makes a path's column, of which `bytes` bytes are expected. Returns the number of bytes for which
    /// there was room.
    fn make(
        &mut self,
        device: &A,
        matched: &MatchedPartition<'_, A>,
        shape: &Shape,
        records: usize,
        bytes: usize,
    ) -> Result<usize, Error> {
        let matches = matched.matches_of(shape.path)?;
        let (first, end) = (matches.start as u64, matches.end as u64);
        let found = PathMatches { matches: matched.matches(device)?, first, end };
        let listed = device.view(matched.found.records.get()?, records);
        if shape.singular {
            let rows = device.view_mut(self.rows.room(device, records)?, records);
            let counts = device.view_mut(self.items.counts.room(device, COLUMN_COUNTS)?, COLUMN_COUNTS);
            let args = RecordRowsArgs { found, records: listed, rows, counts };
            launch::<A, stages::Columns, RecordRows>(device, &args)?;
        } else {
            let large = shape.width == OffsetWidth::Large;
            let len = |yes: bool| if yes { records + 1 } else { 0 };
            let args = ListOffsetsArgs {
                found,
                records: listed,
                narrow: device.view_mut(self.narrow.room(device, len(!large))?, len(!large)),
                wide: device.view_mut(self.wide.room(device, len(large))?, len(large)),
                counts: device.view_mut(self.items.counts.room(device, COLUMN_COUNTS)?, COLUMN_COUNTS),
            };
            launch::<A, stages::Columns, ListOffsets>(device, &args)?;
        }
        if shape.items.is_empty() {
            return Ok(0);
        }
        let rows = shape.rows(device, matched, &self.rows)?;
        self.items.read(device, rows, shape.kind)?;
        if !shape.are_bytes() {
            return Ok(0);
        }
        self.items.scan_lengths(device, rows)?;
        self.items.gather(device, rows, NO_BOUNDS, Some(shape.width), bytes)
    }

    /// Adds the arrays to the downloads: as many elements of each as the host has room for.
    fn add_to<'a>(&'a self, downloads: &mut Downloads<'a, A>, to: &'a mut Arrays) -> Result<(), Error> {
        let Self { rows: _, narrow, wide, items } = self;
        downloads.add(narrow, 0, &mut to.list_narrow)?;
        downloads.add(wide, 0, &mut to.list_wide)?;
        downloads.add(&items.validity, 0, &mut to.validity)?;
        downloads.add(&items.truth, 0, &mut to.truth)?;
        downloads.add(&items.values, 0, &mut to.values)?;
        downloads.add(&items.counts, 0, &mut to.unfinished_count)?;
        downloads.add(&items.unfinished, 0, &mut to.unfinished)?;
        // With narrow offsets, only the last of the wide offsets is copied: the total.
        downloads.add(&items.offsets, to.narrow.len().saturating_sub(1), &mut to.offsets)?;
        downloads.add(&items.narrow, 0, &mut to.narrow)?;
        downloads.add(&items.bytes, 0, &mut to.bytes)
    }
}

/// For a column, no byte offsets of selected rows are needed.
const NO_BOUNDS: (View<'static, u64>, usize) = (View::from_slice(&[]), 0);

impl<A: Accelerator> ItemStage<A> {
    /// Reads or measures rows, of which there is at least one. The counts are zero.
    fn read(&mut self, device: &A, rows: Rows<'_>, kind: Kind) -> Result<(), Error> {
        let (len, of) = (rows.len as usize, |yes: bool, len: usize| if yes { len } else { 0 });
        let (words, truths) = (len.div_ceil(32), of(kind == Kind::Boolean, len.div_ceil(32)));
        let values = of(kind != Kind::Boolean, len);
        let left = of(kind == Kind::Float64 || rows.are_bytes(), len);
        let scans = if rows.are_bytes() { scan_tiles(len) + 1 } else { 0 };
        let args = ColumnReadArgs {
            rows,
            validity: device.view_mut(self.validity.room(device, words)?, words),
            truth: device.view_mut(self.truth.room(device, truths)?, truths),
            values: device.view_mut(self.values.room(device, values)?, values),
            unfinished: device.view_mut(self.unfinished.room_zeroed(device, left)?, left),
            counts: device.view_mut(self.counts.get_mut()?, COLUMN_COUNTS),
            status: device.view_mut(self.length_scan.status.room(device, scans)?, scans),
        };
        launch::<A, stages::Values, ColumnRead>(device, &args)
    }

    /// Computes the byte offsets of rows that [`read`](Self::read) has measured.
    fn scan_lengths(&mut self, device: &A, rows: Rows<'_>) -> Result<(), Error> {
        let Self { values, offsets, length_scan, .. } = self;
        let len = rows.len as usize;
        let args = ScanArgs {
            input: device.view(values.get()?, len),
            output: device.view_mut(offsets.room(device, len + 1)?, len + 1),
            // `ColumnRead` has set the statuses to zero.
            look_back: length_scan.started(device, scan_tiles(len))?,
        };
        launch::<A, stages::Values, CountScan>(device, &args)
    }

    /// Writes the bytes of rows that fit in the room. Returns the room, which is `expected` bytes or more.
    /// Narrows the offsets if `width` is small, and looks up the byte offsets of the rows in `bounds`.
    fn gather(
        &mut self,
        device: &A,
        rows: Rows<'_>,
        (bounds, bound_count): (View<'_, u64>, usize),
        width: Option<OffsetWidth>,
        expected: usize,
    ) -> Result<usize, Error> {
        let len = rows.len as usize;
        let expected = expected.max(1).next_multiple_of(GATHER_TILE);
        if self.stays {
            self.bytes.room(device, expected)?;
        } else {
            self.bytes.room_zeroed(device, expected)?;
        }
        let room = self.bytes.capacity() / GATHER_TILE * GATHER_TILE;
        let narrow = if width == Some(OffsetWidth::Small) { len + 1 } else { 0 };
        let args = ColumnBytesArgs {
            rows,
            offsets: device.view(self.offsets.get()?, len + 1),
            bytes: device.view_mut(self.bytes.get_mut()?, room),
            narrow: device.view_mut(self.narrow.room(device, narrow)?, narrow),
            escaped: Escaped {
                rows: device.view(self.unfinished.get()?, len),
                counts: device.view_mut(self.counts.get_mut()?, COLUMN_COUNTS),
            },
            bounds,
            byte_bounds: device.view_mut(self.byte_bounds.room(device, bound_count)?, bound_count),
        };
        launch::<A, stages::Values, ColumnGather>(device, &args)?;
        launch::<A, stages::Values, ColumnFinish>(device, &args)?;
        Ok(room)
    }

    /// Makes the text of all matches, of which there is at least one, in [`text`](Self::text), with strings
    /// unescaped. Returns the bounds as byte offsets in the text.
    pub fn make_raw_text(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        (matches, total): (&A::Buffer<Match>, usize),
        (bounds, count): (&A::Buffer<u64>, usize),
    ) -> Result<Vec<u64>, Error> {
        let rows = some_rows(indexed, device.view(matches, total), 0..total, Kind::Raw)?;
        device.zero(self.counts.room(device, COLUMN_COUNTS)?, 0, COLUMN_COUNTS)?;
        self.read(device, rows, Kind::Raw)?;
        self.scan_lengths(device, rows)?;
        let mut expected = self.bytes.capacity() / GATHER_TILE * GATHER_TILE;
        loop {
            let room = self.gather(device, rows, (device.view(bounds, count), count), None, expected)?;
            let mut bounds = vec![0; count];
            device.download(self.byte_bounds.get()?, 0, &mut bounds)?;
            // The end of the last path is the end of all bytes.
            let wanted = bounds.iter().copied().max().unwrap_or(0);
            expected = usize::try_from(wanted).map_err(|_| DeviceError::OutOfMemory { wanted, free: 0 })?;
            if expected <= room {
                return Ok(bounds);
            }
        }
    }

    /// The text that [`make_raw_text`](Self::make_raw_text) made.
    pub fn text(&self) -> &Slot<A, u8> {
        &self.bytes
    }
}

/// Rounds the numbers that the device left unfinished. Numbers beyond the range become null.
fn finish_floats(
    text: &[u8],
    unfinished: &[Match],
    values: &mut [f64],
    validity: &mut [u32],
) -> Result<(), Error> {
    for row in unfinished {
        let number = &text[row.start as usize..row.end as usize];
        let unread = || Error::Internal(format!("`{}` is not a number", number.escape_ascii()));
        let item = row.line as usize;
        values[item] = float::finish(number).ok_or_else(unread)?;
        if values[item].is_infinite() {
            values[item] = 0.0;
            validity[item / 32] &= !(1 << (item % 32));
        }
    }
    Ok(())
}

fn some_rows<'a>(
    indexed: Indexed<'a>,
    rows: View<'a, Match>,
    range: Range<usize>,
    kind: Kind,
) -> Result<Rows<'a>, Error> {
    let (first, wanted) = (range.start as u64, range.len() as u64);
    let len =
        u32::try_from(wanted).map_err(|_| DeviceError::OutOfMemory { wanted, free: u32::MAX.into() })?;
    Ok(Rows { text: indexed.text, rows, first, kind: kind as u32, len })
}
