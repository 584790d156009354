//! Rows as typed columns, made from the matches one column at a time.

use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::kernel::Match;
use warpath_shared::units::PartOffset;

use super::Piece;
use super::rows::or_default;
use crate::columns::build::{Builder, Within, reason};
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
pub(crate) fn column(
    text: &[u8],
    piece: &Piece,
    program: &Program,
    path: usize,
    width: OffsetWidth,
) -> Result<Column, Error> {
    let asked = &program.columns()[path];
    let mut items = Builder::new(asked)?;
    let mut cells = piece.cells(program, path);
    let mut lists = Vec::with_capacity(if asked.singular { 0 } else { piece.records.len() + 1 });
    // The singular cells without a match.
    let mut missing = 0;
    for row in piece.rows_of(program) {
        let found = cells.of_row(row);
        if asked.singular {
            let value = found.first().map(|found| value_of(text, found));
            missing += usize::from(value.is_none());
            items.push(or_default(value, asked));
        } else {
            lists.push(items.len() as i64);
            for found in found {
                items.push(Some(value_of(text, found)));
            }
        }
    }
    let lists = if asked.singular {
        None
    } else {
        lists.push(items.len() as i64);
        Some(Offsets::new(lists, width)?)
    };
    let (items, within) = items.finish(width)?;
    let mut column = Column { lists, items, lost: Lost::default() };
    let missing = if asked.default.is_some() { 0 } else { missing };
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
pub(crate) fn lost(
    text: &[u8],
    piece: &Piece,
    program: &Program,
    path: usize,
    items: &Items,
    within: &[Within],
) -> Lost {
    let mut within = within.iter().peekable();
    let asked = &program.columns()[path];
    let (mut lost, mut cells, mut item) = (Lost::default(), piece.cells(program, path), 0);
    for (row, here) in piece.rows_of(program).enumerate() {
        let found = cells.of_row(here);
        for found in found {
            if !items.is_valid(item) {
                match reason(value_of(text, found), asked) {
                    None => lost.nulls.push(item as u32),
                    Some(reason) => lost.refused.push(Refusal {
                        item: item as u32,
                        row: row as u32,
                        line: found.line,
                        start: found.start,
                        reason,
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
