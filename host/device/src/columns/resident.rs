//! Columns whose arrays stay on the device. The host reads the counts of each column and the offsets of
//! lists, and, of columns with nulls, the validity bits.

use std::sync::Arc;

use warpath_answer::answer::Answer;
use warpath_answer::columns::{Column, ColumnBatch, Items, OffsetWidth, Offsets, Values, truncate_bits};
use warpath_answer::on_device::{Array, Arrays, DeviceColumns, Holder, none_of, upload};
use warpath_core::error::Error;
use warpath_lang::program;
use warpath_shared::column::Kind;
use warpath_shared::kernel::{COLUMN_COUNTS, Match};

use super::{ColumnStage, ColumnsStage, MatchedPartition, NO_BOUNDS, Shape, Unknown, finish_floats};
use crate::held::Held;
use crate::{Accelerator, Downloads};

/// The parts of a column that are read before its arrays are taken.
#[derive(Default)]
struct ReadParts {
    list_narrow: Vec<i32>,
    list_wide: Vec<i64>,
    validity: Vec<u32>,
    /// The counts of the column, unless it has no items.
    counts: Vec<u64>,
}

impl ReadParts {
    /// Makes room for a column of some records.
    fn new(shape: &Shape, records: usize) -> Self {
        let of = |yes: bool, len: usize| if yes { len } else { 0 };
        let (len, large) = (shape.items.len(), shape.width == OffsetWidth::Large);
        Self {
            list_narrow: vec![0; of(!shape.singular && !large, records + 1)],
            list_wide: vec![0; of(!shape.singular && large, records + 1)],
            validity: Vec::new(),
            counts: vec![0; of(len > 0, COLUMN_COUNTS)],
        }
    }

    fn unknown(&self, shape: &Shape) -> Result<Unknown, Error> {
        // Strings that are not finished are the device's own concern.
        let unfinished = if shape.are_bytes() { &[] } else { self.counts.get(..1).unwrap_or_default() };
        let end = if shape.are_bytes() { self.counts.as_slice() } else { &[] };
        Unknown::reported(end, unfinished, shape.width)
    }

    /// The items that are null on the device.
    fn nulls(&self) -> u64 {
        self.counts.get(1).copied().unwrap_or(0)
    }
}

impl<A: Accelerator> ColumnsStage<A> {
    /// The queue that keeps the arrays of columns.
    pub fn holder(&mut self, device: &A) -> Result<Arc<dyn Holder>, Error> {
        Ok(self.held(device)?)
    }

    fn held(&mut self, device: &A) -> Result<Arc<Held<A>>, Error> {
        let held = match self.held.take() {
            Some(held) => held,
            None => Arc::new(Held::new(device)?),
        };
        Ok(self.held.insert(held).clone())
    }

    /// Copies the columns that the host made of a partition to the device. Without `records`, the records are
    /// kept only for nulls.
    pub fn keep_answer(&mut self, device: &A, answer: &mut Answer, records: bool) -> Result<(), Error> {
        let held: Arc<dyn Holder> = self.held(device)?;
        for piece in &mut answer.pieces {
            let ColumnBatch { rows, columns, .. } = std::mem::take(&mut piece.columns);
            let columns = columns.into_iter().map(|column| upload(&*held, column));
            let columns = columns.collect::<Result<_, Error>>()?;
            let columns = DeviceColumns::new(rows, columns, held.clone());
            if !records && !columns.has_nulls() {
                piece.records = Vec::new();
            }
            piece.on_device = Some(columns);
        }
        Ok(())
    }

    /// Does the same as [`columns`](Self::columns), but leaves the values on the device. The columns that are
    /// returned have no values. The queue has been waited for.
    pub fn kept(
        &mut self,
        device: &A,
        matched: &MatchedPartition<'_, A>,
        asked: &[(usize, Kind, &program::Column)],
        records: usize,
        width: OffsetWidth,
    ) -> Result<Vec<(Column, Arrays)>, Error> {
        let held = self.held(device)?;
        let mut columns = Vec::with_capacity(asked.len());
        self.last.resize(asked.len(), None);
        let shapes = matched.shapes(asked, records, width)?;
        while columns.len() < asked.len() {
            let from = columns.len();
            let some = self.how_many(&shapes, from, matched.text.len());
            self.keep_some(device, &held, matched, &shapes[from..from + some], from, records, &mut columns)?;
        }
        Ok(columns)
    }

    /// Makes some columns together, from column `first` on.
    #[expect(clippy::too_many_arguments, reason = "those of `some`, and the queue that keeps the arrays")]
    fn keep_some(
        &mut self,
        device: &A,
        held: &Held<A>,
        matched: &MatchedPartition<'_, A>,
        shapes: &[Shape],
        first: usize,
        records: usize,
        columns: &mut Vec<(Column, Arrays)>,
    ) -> Result<(), Error> {
        let Self { together, last, .. } = self;
        let last = &mut last[first..first + shapes.len()];
        together.resize_with(together.len().max(shapes.len()), ColumnStage::default);
        let mut made = Vec::with_capacity(shapes.len());
        for ((stage, shape), last) in together.iter_mut().zip(shapes).zip(&*last) {
            stage.items.stays = true;
            let room =
                stage.make(device, matched, shape, records, last.unwrap_or_default().expect().bytes)?;
            made.push((room, ReadParts::new(shape, records)));
        }
        let mut downloads = Downloads::new(device);
        for (stage, (_, read)) in together.iter().zip(&mut made) {
            downloads.add(&stage.narrow, 0, &mut read.list_narrow)?;
            downloads.add(&stage.wide, 0, &mut read.list_wide)?;
            downloads.add(&stage.items.counts, 0, &mut read.counts)?;
        }
        downloads.run()?;
        // Validity bits come to the host only where something is null, or may become null.
        let mut downloads = Downloads::new(device);
        for ((stage, shape), (_, read)) in together.iter().zip(shapes).zip(&mut made) {
            let len = shape.items.len();
            read.validity = vec![u32::MAX; len.div_ceil(32)];
            truncate_bits(&mut read.validity, len);
            if read.nulls() > 0 || read.unknown(shape)?.unfinished > 0 {
                downloads.add(&stage.items.validity, 0, &mut read.validity)?;
            }
        }
        downloads.run()?;

        let mut is_complete = true;
        for ((stage, shape), ((room, read), last)) in
            together.iter_mut().zip(shapes).zip(made.iter_mut().zip(&mut *last))
        {
            let unknown = read.unknown(shape)?;
            if unknown.bytes > *room {
                let rows = shape.rows(device, matched, &stage.rows)?;
                stage.items.gather(device, rows, NO_BOUNDS, None, unknown.bytes)?;
                is_complete = false;
            }
            if unknown.unfinished > 0 {
                stage.finish(device, matched, shape, unknown.unfinished, &mut read.validity)?;
                is_complete = false;
            }
            *last = Some(unknown);
        }
        if !is_complete {
            device.wait()?;
        }
        for ((stage, shape), (_, read)) in together.iter_mut().zip(shapes).zip(made) {
            columns.push(stage.take(held, shape, read)?);
        }
        Ok(())
    }
}

impl<A: Accelerator> ColumnStage<A> {
    /// Rounds the numbers that the device left unfinished, on the host, and copies all values of the column
    /// back to the device.
    fn finish(
        &mut self,
        device: &A,
        matched: &MatchedPartition<'_, A>,
        shape: &Shape,
        unfinished: usize,
        validity: &mut [u32],
    ) -> Result<(), Error> {
        let (mut rows, mut bits) = (vec![Match::default(); unfinished], vec![0u64; shape.items.len()]);
        let mut downloads = Downloads::new(device);
        downloads.add(&self.items.unfinished, 0, &mut rows)?;
        downloads.add(&self.items.values, 0, &mut bits)?;
        downloads.run()?;
        let mut values: Vec<f64> = bits.into_iter().map(f64::from_bits).collect();
        finish_floats(matched.text.bytes()?, &rows, &mut values, validity)?;
        let bits: Vec<u64> = values.into_iter().map(f64::to_bits).collect();
        device.upload(self.items.values.get_mut()?, 0, &bits)?;
        device.upload(self.items.validity.get_mut()?, 0, validity)
    }

    /// Takes the arrays of a column away, which is complete.
    fn take(&mut self, held: &Held<A>, shape: &Shape, read: ReadParts) -> Result<(Column, Arrays), Error> {
        let large = shape.width == OffsetWidth::Large;
        let lists = match (shape.singular, large) {
            (true, _) => None,
            (_, true) => Some(Offsets::Large(read.list_wide)),
            (_, false) => Some(Offsets::Small(read.list_narrow)),
        };
        let values = match shape.kind {
            Kind::Boolean => Values::Boolean(Vec::new()),
            Kind::Int64 => Values::Int64(Vec::new()),
            Kind::Float64 => Values::Float64(Vec::new()),
            Kind::Utf8 | Kind::Json | Kind::Raw => {
                // If there are no items, no kernel has written their one offset.
                let first = if shape.items.is_empty() { vec![0] } else { Vec::new() };
                Values::Utf8(Offsets::new(first, shape.width)?, Vec::new())
            }
        };
        let items = Items::new(shape.items.len(), read.validity, values);
        let mut column = Column::new(lists, items);
        if shape.items.is_empty() {
            let (column, arrays) = upload(held, column)?;
            return Ok((column, arrays));
        }
        column.items.values = none_of(&column.items.values);
        let lists: Option<Array> = match (shape.singular, large) {
            (true, _) => None,
            (_, true) => Some(held.take(self.wide.take()?)),
            (_, false) => Some(held.take(self.narrow.take()?)),
        };
        let validity = match column.items.nulls() {
            0 => None,
            _ => Some(held.take(self.items.validity.take()?)),
        };
        let values = match shape.kind {
            Kind::Boolean => held.take(self.items.truth.take()?),
            Kind::Int64 | Kind::Float64 => held.take(self.items.values.take()?),
            Kind::Utf8 | Kind::Json | Kind::Raw if large => held.take(self.items.offsets.take()?),
            Kind::Utf8 | Kind::Json | Kind::Raw => held.take(self.items.narrow.take()?),
        };
        let bytes =
            shape.are_bytes().then(|| self.items.bytes.take()).transpose()?.map(|text| held.take(text));
        Ok((column, Arrays { lists, validity, values, bytes }))
    }
}
