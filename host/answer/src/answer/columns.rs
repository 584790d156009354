//! Rows as typed columns, made from the matches one column at a time.

use warpath_core::error::Error;
use warpath_core::number::Reason;
use warpath_lang::program::Program;
use warpath_shared::kernel::Match;
use warpath_shared::units::PartOffset;

use super::Piece;
use super::rows::or_default;
use crate::columns::build::{BLOCK, Builder, Leaf};
use crate::columns::tally::Within;
use crate::columns::{Column, ColumnBatch, Items, Lost, OffsetWidth, Offsets, Refusal};

/// Makes the columns of a piece's rows, from its records and matches. `text` is the text of the piece.
pub(super) fn of_rows(
    text: &[u8],
    piece: &Piece,
    program: &Program,
    width: OffsetWidth,
) -> Result<ColumnBatch, Error> {
    let columns = 0..program.columns().len();
    let columns = columns.map(|path| column(text, piece, program, path, width)).collect::<Result<_, _>>()?;
    Ok(ColumnBatch { rows: piece.records.len(), columns })
}

/// Makes the column of one path.
pub fn column(
    text: &[u8],
    piece: &Piece,
    program: &Program,
    path: usize,
    width: OffsetWidth,
) -> Result<Column, Error> {
    let asked = &program.columns()[path];
    let mut items = Builder::of_column(asked, width)?;
    let mut cells = piece.cells(path);
    // The singular cells without a match.
    let mut missing = 0;
    let lists = if asked.singular && asked.default.is_none() {
        let mut rows = piece.records.iter();
        let mut block = [const { 0..0 }; BLOCK];
        loop {
            let mut len = 0;
            for (value, row) in block.iter_mut().zip(rows.by_ref()) {
                let found = cells.of_record(*row).first();
                *value = found.map_or(0..0, |found| found.start..found.end);
                missing += usize::from(found.is_none());
                len += 1;
            }
            if len == 0 {
                break;
            }
            items.push_block(text, &block[..len]);
        }
        None
    } else if asked.singular {
        for row in &piece.records {
            let value = cells.of_record(*row).first().map(|found| value_of(text, found));
            items.push(or_default(value, asked));
        }
        None
    } else {
        let mut lists = Vec::with_capacity(piece.records.len() + 1);
        for row in &piece.records {
            lists.push(items.len as i64);
            cells.of_record(*row).iter().for_each(|found| items.push(Some(value_of(text, found))));
        }
        lists.push(items.len as i64);
        Some(Offsets::new(lists, width)?)
    };
    let (items, within) = items.finish(&asked.values)?;
    let mut column = Column { lists, items, lost: Lost::default() };
    if column.items.nulls() > missing || !within.is_empty() {
        column.lost = lost(text, piece, program, path, &column.items, &within);
    }
    Ok(column)
}

fn value_of<'a>(text: &'a [u8], found: &Match) -> &'a [u8] {
    &text[found.start as usize..found.end as usize]
}

/// Finds the items of a column that have a value, but are null, and the reason of each. `within` are refused
/// values within items.
pub fn lost(
    text: &[u8],
    piece: &Piece,
    program: &Program,
    path: usize,
    items: &Items,
    within: &[Within],
) -> Lost {
    let mut within = within.iter().peekable();
    let asked = &program.columns()[path];
    // A leaf refuses a value again, with the reason. Lists and structs have one reason.
    let mut leaf = Leaf::new(&asked.values, asked.time_format.as_ref(), OffsetWidth::Small).ok();
    let mut reason = |value: &[u8]| match leaf.as_mut().map(|leaf| leaf.push(0, value)) {
        Some(Err(reason)) => reason,
        _ => Reason::Mismatch,
    };
    let (mut lost, mut cells, mut item) = (Lost::default(), piece.cells(path), 0);
    for (row, record) in piece.records.iter().enumerate() {
        let found = cells.of_record(*record);
        for found in found {
            if !items.is_valid(item) {
                match value_of(text, found) {
                    b"null" => lost.nulls.push(item as u32),
                    value => lost.refused.push(Refusal {
                        item: item as u32,
                        row: row as u32,
                        line: found.line,
                        start: found.start,
                        reason: reason(value),
                    }),
                }
            }
            while let Some(refused) = within.next_if(|refused| refused.item == item) {
                lost.refused.push(Refusal {
                    item: item as u32,
                    row: row as u32,
                    line: found.line,
                    start: found.start + refused.at as PartOffset,
                    reason: refused.reason,
                });
            }
            item += 1;
        }
        item += usize::from(asked.singular && found.is_empty());
    }
    lost
}
