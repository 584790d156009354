//! What an index says of itself.

use std::time::SystemTime;

use super::BitmapIndex;
use crate::bitmap::column::{Column, Kind};
use crate::bitmap::layout;
use crate::bitmap::layout::{BinPlace, BitmapPlace, ColumnPlace};

/// What a bitmap index says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BitmapInfo {
    /// The version of its format.
    pub version: u32,
    /// Bytes of it.
    pub bytes: u64,
    /// Bytes of header and table among them.
    pub table_bytes: u64,
    /// Bytes of the file that it was made of, and when that was last written to; `None` where it was made of no file.
    pub input: Option<(u64, SystemTime)>,
    /// Rows.
    pub rows: u64,
    /// Bytes of the bitmap of records; `None` where every row is one.
    pub record_bytes: Option<u64>,
    /// Bytes of the places of lines; `None` where rows are no lines of a plain file.
    pub line_bytes: Option<u64>,
    /// The columns.
    pub columns: Vec<ColumnInfo>,
}

/// What a bitmap index says of a column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its name.
    pub name: String,
    /// Where its values are from.
    pub source: String,
    /// What they are.
    pub kind: Kind,
    /// How they were cut.
    pub binning: String,
    /// How many bins there are.
    pub bins: u64,
    /// Bytes of a bit for each row and bin: the bitmaps, if they were not compressed.
    pub plain_bytes: u64,
    /// Bytes of all atoms.
    pub atom_bytes: u64,
    /// Bytes of the places of tiles.
    pub tile_bytes: u64,
    /// Bytes of the stored values.
    pub value_bytes: u64,
}

impl ColumnInfo {
    /// How many times shorter compressed bitmaps are than plain ones; 1 where there is none.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.atom_bytes == 0 { 1.0 } else { self.plain_bytes as f64 / self.atom_bytes as f64 }
    }
}

impl BitmapIndex {
    /// What it says of itself.
    #[must_use]
    pub fn info(&self) -> BitmapInfo {
        let contents = &self.0.contents;
        let column = |(column, place): (&Column, &ColumnPlace)| {
            let total = |bytes: fn(&BinPlace) -> usize| place.bins.iter().map(|bin| bytes(bin) as u64).sum();
            ColumnInfo {
                name: column.name.clone(),
                source: column.source.clone(),
                kind: column.kind,
                binning: column.binning.clone(),
                bins: column.bins.len() as u64,
                plain_bytes: contents.rows.div_ceil(8) * column.bins.len() as u64,
                atom_bytes: total(|bin| bin.bitmap.atoms.place.len()),
                tile_bytes: total(|bin| bin.bitmap.tiles.place.len()),
                value_bytes: total(|bin| bin.values.len() + bin.text.len()),
            }
        };
        let bitmap = |place: &BitmapPlace| (place.atoms.place.len() + place.tiles.place.len()) as u64;
        BitmapInfo {
            version: layout::VERSION,
            bytes: contents.file_bytes as u64,
            table_bytes: (layout::HEADER_BYTES + contents.table_bytes) as u64,
            input: contents.stamp.map(|stamp| (stamp.size(), stamp.modified())),
            rows: contents.rows,
            record_bytes: contents.records.as_ref().map(bitmap),
            line_bytes: contents.lines.as_ref().map(|lines| lines.place.len() as u64),
            columns: contents.columns.iter().zip(&contents.places).map(column).collect(),
        }
    }
}
