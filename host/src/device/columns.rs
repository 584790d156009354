//! Typed columns on a device: rows, then bits and values, or lengths, offsets and bytes; each array copied back at once.

use std::ops::Range;

use warpath_shared::column::Kind;
use warpath_shared::kernel::{
    ColumnBytesArgs, ColumnFinish, ColumnGather, ColumnRead, ColumnReadArgs, CountScan, GATHER_TILE, Indexed,
    ListOffsets, ListOffsetsArgs, Match, PathMatches, RecordRows, RecordRowsArgs, Rows,
};
use warpath_shared::view::View;

use super::index::scan;
use super::results::{Bounds, ResultsStage};
use super::{Accelerator, ScanScratch, Slot, launch};
use crate::columns::{Column, Items, OffsetWidth, Offsets, Values, float};
use crate::error::{DeviceError, Error};
use crate::program;

/// What columns are made in, kept from partition to partition.
pub(super) struct ColumnStage<A: Accelerator> {
    rows: Slot<A, Match>,
    narrow: Slot<A, i32>,
    wide: Slot<A, i64>,
    validity: Slot<A, u32>,
    truth: Slot<A, u32>,
    values: Slot<A, u64>,
    unfinished: Slot<A, Match>,
    unfinished_count: Slot<A, u32>,
    offsets: Slot<A, u64>,
    length_scan: ScanScratch<A, u64>,
    bytes: Slot<A, u8>,
    byte_bounds: Slot<A, u64>,
}

impl<A: Accelerator> Default for ColumnStage<A> {
    fn default() -> Self {
        Self {
            rows: Slot::default(),
            narrow: Slot::default(),
            wide: Slot::default(),
            validity: Slot::default(),
            truth: Slot::default(),
            values: Slot::default(),
            unfinished: Slot::default(),
            unfinished_count: Slot::default(),
            offsets: Slot::default(),
            length_scan: ScanScratch::default(),
            bytes: Slot::default(),
            byte_bounds: Slot::default(),
        }
    }
}

/// A partition on the device and on the host, and what was found in it.
pub(super) struct Source<'a, A: Accelerator> {
    pub text: &'a [u8],
    pub indexed: Indexed<'a>,
    pub found: &'a ResultsStage<A>,
    pub bounds: &'a Bounds,
}

impl<A: Accelerator> ColumnStage<A> {
    /// Makes the column of a path, over records that have been listed with what was found.
    pub fn column(
        &mut self,
        device: &A,
        source: &Source<'_, A>,
        (path, asked): (usize, &program::Column),
        records: usize,
        width: OffsetWidth,
    ) -> Result<Column, Error> {
        let kind = asked.values.kind();
        let Source { text, indexed, found, bounds } = *source;
        let (first, end) = (bounds.end(path)?, bounds.end(path + 1)?);
        // Where nothing was found there may be no matches yet, on the device.
        let matches = match bounds.total()? {
            0 => View::from_slice(&[]),
            total => device.view(found.matches.get()?, total),
        };
        let path = PathMatches { matches, first: first as u64, end: end as u64 };
        let listed = device.view(found.records.get()?, records);
        if asked.singular {
            let rows = device.view_mut(self.rows.room(device, records)?, records);
            launch::<A, RecordRows>(device, &RecordRowsArgs { found: path, records: listed, rows })?;
            let Self { rows, .. } = self;
            let rows = std::mem::take(rows);
            let made = (device.view(rows.get()?, records), 0..records);
            let items = self.items(device, indexed, text, made, (kind, width));
            self.rows = rows;
            return Ok(Column { lists: None, items: items? });
        }
        width.check((end - first) as u64)?;
        let large = width == OffsetWidth::Large;
        let len = |yes: bool| if yes { records + 1 } else { 0 };
        let args = ListOffsetsArgs {
            found: path,
            records: listed,
            narrow: device.view_mut(self.narrow.room(device, len(!large))?, len(!large)),
            wide: device.view_mut(self.wide.room(device, len(large))?, len(large)),
        };
        launch::<A, ListOffsets>(device, &args)?;
        let offsets = if large {
            let mut offsets = vec![0; records + 1];
            device.download(self.wide.get()?, 0, &mut offsets)?;
            Offsets::Large(offsets)
        } else {
            Offsets::Small(self.narrow(device, records + 1)?)
        };
        let items = self.items(device, indexed, text, (matches, first..end), (kind, width))?;
        Ok(Column { lists: Some(offsets), items })
    }

    fn narrow(&self, device: &A, len: usize) -> Result<Vec<i32>, Error> {
        let mut offsets = vec![0; len];
        device.download(self.narrow.get()?, 0, &mut offsets)?;
        Ok(offsets)
    }

    /// Makes the items of some rows.
    fn items(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        text: &[u8],
        (rows, range): (View<'_, Match>, Range<usize>),
        (kind, width): (Kind, OffsetWidth),
    ) -> Result<Items, Error> {
        let len = range.len();
        if len == 0 {
            let values = match kind {
                Kind::Boolean => Values::Boolean(Vec::new()),
                Kind::Int64 => Values::Int64(Vec::new()),
                Kind::Float64 => Values::Float64(Vec::new()),
                Kind::Utf8 | Kind::Json | Kind::Raw => {
                    Values::Utf8(Offsets::new(vec![0], width)?, Vec::new())
                }
            };
            return Ok(Items { len, validity: Vec::new(), values });
        }
        let rows = some_rows(indexed, rows, range, kind)?;
        self.read(device, rows, kind)?;
        let words = len.div_ceil(32);
        let mut validity = vec![0; words];
        let values = match kind {
            Kind::Boolean => {
                let mut truth = vec![0; words];
                device.download(self.truth.get()?, 0, &mut truth)?;
                Values::Boolean(truth)
            }
            Kind::Int64 => {
                Values::Int64(self.values(device, len)?.into_iter().map(|bits| bits as i64).collect())
            }
            Kind::Float64 => {
                let mut values: Vec<f64> =
                    self.values(device, len)?.into_iter().map(f64::from_bits).collect();
                self.finish_floats(device, text, &mut values)?;
                Values::Float64(values)
            }
            Kind::Utf8 | Kind::Json | Kind::Raw => {
                let total = self.bytes(device, rows, (View::from_slice(&[]), 0), Some(width))?;
                let mut bytes = vec![0; total];
                device.download(self.bytes.get()?, 0, &mut bytes)?;
                let offsets = match width {
                    OffsetWidth::Large => {
                        let mut offsets = vec![0; len + 1];
                        device.download(self.offsets.get()?, 0, &mut offsets)?;
                        Offsets::Large(offsets.into_iter().map(|offset| offset as i64).collect())
                    }
                    OffsetWidth::Small => Offsets::Small(self.narrow(device, len + 1)?),
                };
                Values::Utf8(offsets, bytes)
            }
        };
        device.download(self.validity.get()?, 0, &mut validity)?;
        Ok(Items { len, validity, values })
    }

    /// Reads or measures rows, of which there is one at least.
    fn read(&mut self, device: &A, rows: Rows<'_>, kind: Kind) -> Result<(), Error> {
        let (len, of) = (rows.len as usize, |yes: bool, len: usize| if yes { len } else { 0 });
        let (words, truths) = (len.div_ceil(32), of(kind == Kind::Boolean, len.div_ceil(32)));
        let (values, floats) = (of(kind != Kind::Boolean, len), of(kind == Kind::Float64, len));
        device.zero(self.unfinished_count.room(device, 1)?, 0, 1)?;
        let args = ColumnReadArgs {
            rows,
            validity: device.view_mut(self.validity.room(device, words)?, words),
            truth: device.view_mut(self.truth.room(device, truths)?, truths),
            values: device.view_mut(self.values.room(device, values)?, values),
            unfinished: device.view_mut(self.unfinished.room(device, floats)?, floats),
            unfinished_count: device.view_mut(self.unfinished_count.get_mut()?, 1),
        };
        launch::<A, ColumnRead>(device, &args)
    }

    /// Makes the bytes of rows that have been measured, and says how many there are. Narrows their offsets if these are to be
    /// small, and looks up where the bytes of some rows begin.
    fn bytes(
        &mut self,
        device: &A,
        rows: Rows<'_>,
        (bounds, bound_count): (View<'_, u64>, usize),
        width: Option<OffsetWidth>,
    ) -> Result<usize, Error> {
        let len = rows.len as usize;
        let Self { values, offsets, length_scan, .. } = self;
        scan::<A, _, _, CountScan>(device, values.get()?, len, offsets, length_scan)?;
        let mut total = [0];
        device.download(self.offsets.get()?, len, &mut total)?;
        let wanted = total[0];
        width.map_or(Ok(()), |width| width.check(wanted))?;
        let total = usize::try_from(wanted).map_err(|_| DeviceError::OutOfMemory { wanted, free: 0 })?;
        let room = total.next_multiple_of(GATHER_TILE).max(GATHER_TILE);
        let narrow = if width == Some(OffsetWidth::Small) { len + 1 } else { 0 };
        let args = ColumnBytesArgs {
            rows,
            offsets: device.view(self.offsets.get()?, len + 1),
            bytes: device.view_mut(self.bytes.room(device, room)?, room),
            narrow: device.view_mut(self.narrow.room(device, narrow)?, narrow),
            bounds,
            byte_bounds: device.view_mut(self.byte_bounds.room(device, bound_count)?, bound_count),
        };
        launch::<A, ColumnGather>(device, &args)?;
        launch::<A, ColumnFinish>(device, &args)?;
        Ok(total)
    }

    /// Makes the text of all matches, of which there is one at least, with strings as they say, in
    /// [`text`](Self::text); and gives the bounds among its bytes.
    pub fn make_raw_text(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        (matches, total): (&A::Buffer<Match>, usize),
        (bounds, count): (&A::Buffer<u64>, usize),
    ) -> Result<Vec<u64>, Error> {
        let rows = some_rows(indexed, device.view(matches, total), 0..total, Kind::Raw)?;
        self.read(device, rows, Kind::Raw)?;
        self.bytes(device, rows, (device.view(bounds, count), count), None)?;
        let mut bounds = vec![0; count];
        device.download(self.byte_bounds.get()?, 0, &mut bounds)?;
        Ok(bounds)
    }

    /// What [`make_raw_text`](Self::make_raw_text) made.
    pub fn text(&self) -> Result<&A::Buffer<u8>, Error> {
        self.bytes.get()
    }

    /// Rounds the numbers that the device left.
    fn finish_floats(&self, device: &A, text: &[u8], values: &mut [f64]) -> Result<(), Error> {
        let mut count = [0];
        device.download(self.unfinished_count.get()?, 0, &mut count)?;
        if count[0] == 0 {
            return Ok(());
        }
        let mut unfinished = vec![Match::default(); count[0] as usize];
        device.download(self.unfinished.get()?, 0, &mut unfinished)?;
        for row in unfinished {
            let number = &text[row.start as usize..row.end as usize];
            let unread = || Error::Internal(format!("`{}` is no number", number.escape_ascii()));
            values[row.line as usize] = float::finish(number).ok_or_else(unread)?;
        }
        Ok(())
    }

    fn values(&self, device: &A, len: usize) -> Result<Vec<u64>, Error> {
        let mut values = vec![0; len];
        device.download(self.values.get()?, 0, &mut values)?;
        Ok(values)
    }
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
