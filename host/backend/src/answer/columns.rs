//! Records as typed columns, made from the matches one column at a time.

use warpath_core::error::Error;
use warpath_core::float;
use warpath_core::json::say;
use warpath_lang::program;
use warpath_lang::program::Program;
use warpath_shared::column::{self, Float, Kind};
use warpath_shared::units::PartOffset;

use super::Piece;
use crate::columns::{Column, ColumnBatch, Items, OffsetWidth, Offsets, Values, kind_of};

/// Makes the columns of a piece's records, from its records and matches. `text` is the text of the piece.
pub(super) fn of_records(
    text: &[u8],
    piece: &Piece,
    program: &Program,
    width: OffsetWidth,
) -> Result<ColumnBatch, Error> {
    let paths = program.columns().iter().enumerate();
    let columns =
        paths.map(|(path, asked)| column(text, piece, path, asked, width)).collect::<Result<_, _>>()?;
    Ok(ColumnBatch { rows: piece.records.len(), columns })
}

fn column(
    text: &[u8],
    piece: &Piece,
    path: usize,
    asked: &program::Column,
    width: OffsetWidth,
) -> Result<Column, Error> {
    let mut items = Builder::new(kind_of(asked)?);
    let mut matches = piece.matches.get(path).map_or(&[][..], Vec::as_slice).iter().peekable();
    let mut lists = Vec::with_capacity(if asked.singular { 0 } else { piece.records.len() + 1 });
    for record in &piece.records {
        let mut next = || {
            let found = matches.next_if(|found| found.line == *record)?;
            Some(&text[found.start as usize..found.end as usize])
        };
        if asked.singular {
            items.push(next());
        } else {
            lists.push(items.len as i64);
            while let Some(value) = next() {
                items.push(Some(value));
            }
        }
    }
    let lists = if asked.singular {
        None
    } else {
        lists.push(items.len as i64);
        Some(Offsets::new(lists, width)?)
    };
    Ok(Column { lists, items: items.finish(width)? })
}

/// A growing sequence of bits.
#[derive(Default)]
struct Bits(Vec<u32>);

impl Bits {
    fn push(&mut self, at: usize, bit: bool) {
        if at.is_multiple_of(32) {
            self.0.push(0);
        }
        self.0[at / 32] |= u32::from(bit) << (at % 32);
    }
}

/// The items of a column under construction.
struct Builder {
    kind: Kind,
    len: usize,
    validity: Bits,
    truth: Bits,
    integers: Vec<i64>,
    floats: Vec<f64>,
    offsets: Vec<i64>,
    bytes: Vec<u8>,
}

impl Builder {
    fn new(kind: Kind) -> Self {
        Self {
            kind,
            len: 0,
            validity: Bits::default(),
            truth: Bits::default(),
            integers: Vec::new(),
            floats: Vec::new(),
            offsets: vec![0],
            bytes: Vec::new(),
        }
    }

    fn push(&mut self, value: Option<&[u8]>) {
        let value = value.filter(|value| !value.is_empty());
        let end = value.map_or(0, <[u8]>::len) as PartOffset;
        let byte = |at: PartOffset| value.unwrap_or_default()[at as usize];
        let valid = match self.kind {
            Kind::Boolean => {
                let value = value.and_then(|_| column::boolean(0, end, byte));
                self.truth.push(self.len, value == Some(true));
                value.is_some()
            }
            Kind::Int64 => {
                let value = value.and_then(|_| column::int64(0, end, byte));
                self.integers.push(value.unwrap_or(0));
                value.is_some()
            }
            Kind::Float64 => {
                let value = value.and_then(|text| match column::float64(0, end, byte) {
                    Float::None => None,
                    Float::Exact(value) => Some(value),
                    Float::Unfinished => float::finish(text),
                });
                self.floats.push(value.unwrap_or(0.0));
                value.is_some()
            }
            kind => {
                let valid = value.is_some_and(|value| say(kind, value, &mut self.bytes));
                self.offsets.push(self.bytes.len() as i64);
                valid
            }
        };
        self.validity.push(self.len, valid);
        self.len += 1;
    }

    fn finish(self, width: OffsetWidth) -> Result<Items, Error> {
        let values = match self.kind {
            Kind::Boolean => Values::Boolean(self.truth.0),
            Kind::Int64 => Values::Int64(self.integers),
            Kind::Float64 => Values::Float64(self.floats),
            Kind::Utf8 | Kind::Json | Kind::Raw => {
                Values::Utf8(Offsets::new(self.offsets, width)?, self.bytes)
            }
        };
        Ok(Items { len: self.len, validity: self.validity.0, values })
    }
}
