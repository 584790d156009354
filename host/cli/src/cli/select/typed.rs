//! Typed columns in a binary format.

use arrow_array::{BooleanArray, RecordBatch};
use arrow_schema::SchemaRef;
use arrow_select::filter::filter_record_batch;
use warpath::columns::{ColumnBatch, Reason, Refusal, Schema, Tally};
use warpath::{Batch, Error, Want};
use warpath_answer::answer::Piece;
use warpath_shared::units::LineIx;
use warpath_terminal::messages::Ui;

use super::super::args::OnMismatchArg;
use super::super::failure::Failure;
use super::super::out::Out;
use super::super::partitions::Destination;
use super::super::rejects::Reject;
use super::super::run::{Flow, Needs, Refused, Sink, excerpt};
use super::super::sort::{LeftOut, Origins, Sortable};
use super::super::statistics::Statistics;
use super::losses::{self, Described};
use super::named;
use super::rows::{Cut, Rest};

/// The key of the metadata that says what the columns did not take.
pub const METADATA_KEY: &str = "warpath.columns";

/// A sink that writes typed columns, up to a limit.
pub struct Table {
    schema: Schema,
    arrow: SchemaRef,
    writer: Destination,
    limit: Rest,
    on_mismatch: OnMismatchArg,
    tally: Tally,
    /// True if the first column has the names of files.
    is_named: bool,
    /// The files and lines of the rows, if they are sorted.
    origins: Option<Origins>,
    /// The values that were not taken before rows were sorted.
    refused_before: Tally,
}

impl Table {
    /// Writes columns. `is_named` is true if the writer's first column has the names of files.
    pub fn new(
        schema: Schema,
        writer: Destination,
        limit: Rest,
        on_mismatch: OnMismatchArg,
        is_named: bool,
    ) -> Self {
        Self {
            arrow: schema.to_arrow(),
            schema,
            writer,
            limit,
            on_mismatch,
            tally: Tally::default(),
            is_named,
            origins: None,
            refused_before: Tally::default(),
        }
    }

    /// The values at which a run ends, or whose records are left out.
    fn refusals(&self, columns: &ColumnBatch) -> Vec<(usize, Refusal)> {
        match self.on_mismatch {
            OnMismatchArg::Fail | OnMismatchArg::Skip => columns.refused(),
            OnMismatchArg::Null | OnMismatchArg::String => Vec::new(),
        }
    }

    /// The record of a refused value, for the reports about records that are left out.
    fn reject(
        &self,
        batch: &Batch,
        (first, piece): (u64, &Piece),
        (column, refusal): &(usize, Refusal),
    ) -> Reject {
        let found = batch.record_at(piece, first, refusal.line, refusal.start);
        Reject {
            line: found.line,
            byte: found.byte,
            reason: self.reason(*column, refusal.reason),
            column: Some(self.schema.program().columns()[*column].name.clone()),
            record: found.record.to_vec(),
        }
    }

    /// Takes the rows of a piece. Returns where the results end, if they do.
    fn piece(
        &mut self,
        batch: &Batch,
        (first, piece): (u64, &Piece),
        mut columns: ColumnBatch,
        out: &mut Out,
        refused: &mut Refused,
    ) -> Result<Option<Cut>, Failure> {
        let mut refusals = self.refusals(&columns);
        let left_out: Vec<u32> = match self.on_mismatch {
            OnMismatchArg::Skip => columns.rows_refused(&piece.records),
            _ => Vec::new(),
        };
        let places = self.origins.as_ref().map(|origins| origins.take(columns.rows));
        let skipped = self.limit.skip(columns.rows, &left_out);
        let mut cut = self.limit.count(piece, columns.rows, &left_out);
        if let Some(Cut { rows, .. }) = cut {
            columns.truncate(rows);
            refusals.retain(|(_, refusal)| (refusal.row as usize) < rows);
        }
        if let (OnMismatchArg::Fail, Some((column, refusal))) = (self.on_mismatch, refusals.first()) {
            columns.truncate(refusal.row as usize);
            cut = Some(Cut { rows: columns.rows, line: refusal.line });
            refused.failure = Some(self.failure_at(batch, (first, piece), *column, *refusal));
        }
        let place = |line: LineIx| match &places {
            // Each sorted row is a line.
            Some(places) => places
                .get(line as usize)
                .map_or_else(Default::default, |(name, line)| (name.to_string(), *line)),
            None => (batch.source().to_owned(), batch.line_at(piece, first, line, 0)),
        };
        self.tally.add(&columns, &piece.records, place);
        let rows = columns.rows;
        if rows > 0 {
            let mut made =
                columns.into_arrow(&self.arrow).map_err(|error| Error::Internal(error.to_string()))?;
            if self.is_named {
                let name = |row: usize| match &places {
                    Some(places) => places.get(row).map_or("", |(name, _)| &**name),
                    None => batch.source(),
                };
                made = named::columns(&made, (0..rows).map(name))?;
            }
            let left_out = &left_out[..left_out.partition_point(|row| (*row as usize) < rows)];
            let made = without(made, skipped.min(rows), left_out)?;
            if made.num_rows() > 0 {
                self.writer.add(made, out)?;
            }
        }
        if self.on_mismatch == OnMismatchArg::Skip {
            refused
                .records
                .extend(refusals.iter().map(|refusal| self.reject(batch, (first, piece), refusal)));
        }
        Ok(cut)
    }

    /// The names and the types of the columns.
    fn described(&self) -> Vec<Described> {
        let columns = self.schema.program().columns();
        let shown = columns.len() - self.writer.columns_of_names();
        columns[..shown].iter().map(|column| (column.name.clone(), column.values.to_string())).collect()
    }

    fn reason(&self, column: usize, reason: Reason) -> String {
        let values = &self.schema.program().columns()[column].values;
        match reason {
            Reason::Mismatch => format!("the value is not of the type {values}"),
            Reason::Overflow => format!("the number is beyond the type {values}"),
        }
    }

    fn failure_at(
        &self,
        batch: &Batch,
        (first, piece): (u64, &Piece),
        column: usize,
        refusal: Refusal,
    ) -> Failure {
        let found = batch.record_at(piece, first, refusal.line, refusal.start);
        let name = &self.schema.program().columns()[column].name;
        Failure::Data {
            message: format!(
                "{}:{}:{}: {}, which column `{}` has",
                batch.source(),
                found.line,
                found.byte,
                self.reason(column, refusal.reason),
                name
            ),
            place: Some((batch.source().to_owned(), found.line, found.byte)),
            excerpt: Some(excerpt(found.record, found.byte as usize - 1)),
            help: "`--on-mismatch null`, `skip` or `string` goes on".to_owned(),
        }
    }
}

/// The rows of a batch without the first ones, and without those that are left out.
fn without(batch: RecordBatch, skipped: usize, left_out: &[u32]) -> Result<RecordBatch, Failure> {
    if left_out.is_empty() {
        return Ok(batch.slice(skipped, batch.num_rows() - skipped));
    }
    let mut kept = vec![true; batch.num_rows()];
    kept[..skipped].fill(false);
    left_out.iter().for_each(|row| kept[*row as usize] = false);
    Ok(filter_record_batch(&batch, &BooleanArray::from(kept))
        .map_err(|error| Error::Internal(error.to_string()))?)
}

impl Sink for Table {
    fn needs(&self) -> Needs {
        // Reports have the lines of records.
        let want = self.limit.of(Want::default().columns(self.schema.width()).records(true));
        // Refused values are reported with their records.
        let is_partial = matches!(self.on_mismatch, OnMismatchArg::Null | OnMismatchArg::String);
        let want = want.partial(is_partial).sparse(true);
        Needs {
            is_done: self.limit.is_reached(),
            skips_records: self.on_mismatch == OnMismatchArg::Skip,
            is_whole: self.writer.is_whole(),
            ..Needs::new(want)
        }
    }

    fn batch(&mut self, batch: &mut Batch, out: &mut Out, refused: &mut Refused) -> Result<Flow, Failure> {
        let mut flow = Flow::Continue;
        let made = batch.take_columns();
        for (at, (piece, columns)) in batch.pieces().zip(made).enumerate() {
            if let Some(cut) = self.piece(batch, piece, columns, out, refused)? {
                flow = Flow::Stop { piece: at, line: cut.line };
                break;
            }
        }
        Ok(flow)
    }

    fn end(&mut self, out: &mut Out) -> Result<(), Failure> {
        let columns = self.described();
        self.tally.columns.resize_with(columns.len(), Default::default);
        // The records of these values have no sorted rows.
        for (tally, before) in
            self.tally.columns.iter_mut().zip(std::mem::take(&mut self.refused_before.columns))
        {
            (tally.mismatch, tally.overflow) = (before.mismatch, before.overflow);
        }
        self.writer.finish(METADATA_KEY, losses::metadata(&self.tally, &columns), out)
    }

    fn report(&self, ui: &Ui) {
        losses::warn(&self.tally, &self.described(), Some(self.on_mismatch), ui);
        self.writer.report(ui);
    }

    fn statistics(&self, statistics: Statistics) -> Statistics {
        losses::statistics(&self.tally, &self.described(), statistics)
    }
}

impl Sortable for Table {
    fn examines(&self) -> Want {
        let is_examined = matches!(self.on_mismatch, OnMismatchArg::Fail | OnMismatchArg::Skip);
        match is_examined {
            true => Want::new().columns(self.schema.width()).records(true),
            false => Want::new(),
        }
    }

    /// Finds the values that columns do not take, while their records are at hand.
    fn examine(&mut self, batch: &mut Batch, refused: &mut Refused) -> Result<(LeftOut, Flow), Failure> {
        let (mut left_out, mut flow) = (LeftOut::default(), Flow::Continue);
        if self.examines().columns.is_none() {
            return Ok((left_out, flow));
        }
        let made = batch.take_columns();
        for (at, ((first, piece), columns)) in batch.pieces().zip(made).enumerate() {
            let refusals = self.refusals(&columns);
            if let (OnMismatchArg::Fail, Some((column, refusal))) = (self.on_mismatch, refusals.first()) {
                left_out.end = Some((at, refusal.row as usize));
                refused.failure = Some(self.failure_at(batch, (first, piece), *column, *refusal));
                flow = Flow::Stop { piece: at, line: refusal.line };
                break;
            }
            let place = |line| (batch.source().to_owned(), batch.line_at(piece, first, line, 0));
            self.refused_before.add(&columns, &piece.records, place);
            left_out
                .rows
                .extend(columns.rows_refused(&piece.records).into_iter().map(|row| (at, row as usize)));
            refused
                .records
                .extend(refusals.iter().map(|refusal| self.reject(batch, (first, piece), refusal)));
        }
        Ok((left_out, flow))
    }

    fn set_origins(&mut self, origins: Origins) {
        self.origins = Some(origins);
    }
}
