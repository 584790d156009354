//! An index's description of itself.

use super::BitmapIndex;
use crate::bitmap::column::{Column, Kind};
use crate::bitmap::layout;
use crate::bitmap::layout::{BinPlace, BitmapPlace, ColumnPlace};

/// A bitmap index's description of itself.
///
/// ```
/// use warpath::Engine;
/// use warpath::bitmap::{BitmapIndex, ColumnSpec, build};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let log = folder.path().join("log.ndjson");
/// std::fs::write(&log, "{\"status\":200}\n{\"status\":503}\n")?;
/// let status = ColumnSpec::new("status", "$.status");
/// let (built, _) = build(&Engine::builder().build()?, &log, &[status])?;
/// let info = BitmapIndex::from_built(built)?.info();
/// assert_eq!((info.rows, info.columns.len()), (2, 1));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct BitmapInfo {
    /// Size of the index in bytes.
    pub bytes: u64,
    /// Size of its header and table in bytes.
    pub table_bytes: u64,
    /// Number of rows.
    pub rows: u64,
    /// Bytes of the bitmap of records; `None` where every row is a record.
    pub record_bytes: Option<u64>,
    /// The columns.
    pub columns: Vec<ColumnInfo>,
}

/// A bitmap index's description of a column.
///
/// ```
/// use warpath::Engine;
/// use warpath::bitmap::{BitmapIndex, ColumnSpec, Kind, build};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let folder = tempfile::tempdir()?;
/// let log = folder.path().join("log.ndjson");
/// std::fs::write(&log, "{\"status\":200}\n{\"status\":503}\n")?;
/// let status = ColumnSpec::new("status", "$.status");
/// let (built, _) = build(&Engine::builder().build()?, &log, &[status])?;
/// let info = BitmapIndex::from_built(built)?.info();
/// let status = &info.columns[0];
/// assert_eq!((status.name.as_str(), status.kind, status.bins), ("status", Kind::Int, 2));
/// // Two bitmaps of two rows, in whole bytes.
/// assert_eq!(status.plain_bytes, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnInfo {
    /// The column's name.
    pub name: String,
    /// The source of its values.
    pub source: String,
    /// The kind of its values.
    pub kind: Kind,
    /// The rule that cut it.
    pub binning: String,
    /// Number of bins.
    pub bins: u64,
    /// Size of the uncompressed bitmaps in bytes: one bit for each row and bin.
    pub plain_bytes: u64,
    /// Bytes of all atoms.
    pub atom_bytes: u64,
    /// Bytes of the tile starts.
    pub tile_bytes: u64,
    /// Bytes of the stored values.
    pub value_bytes: u64,
}

impl ColumnInfo {
    /// Returns the compression ratio of the bitmaps: uncompressed to compressed size; 1 where there are no
    /// bitmaps.
    #[must_use]
    pub fn ratio(&self) -> f64 {
        if self.atom_bytes == 0 { 1.0 } else { self.plain_bytes as f64 / self.atom_bytes as f64 }
    }
}

impl BitmapIndex {
    /// Returns the index's description of itself.
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
            bytes: contents.bytes as u64,
            table_bytes: (layout::HEADER_BYTES + contents.table_bytes) as u64,
            rows: contents.rows,
            record_bytes: contents.records.as_ref().map(bitmap),
            columns: contents.columns.iter().zip(&contents.places).map(column).collect(),
        }
    }
}
