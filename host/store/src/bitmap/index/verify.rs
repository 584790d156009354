//! The check of a whole index.

use warpath_core::error::Error;
use warpath_core::wah::Bitmap;
use warpath_shared::wah::chunks_for;

use super::BitmapIndex;
use crate::bitmap::column::{Bin, Column, Holds};
use crate::bitmap::layout::{BinPlace, BitmapPlace, ColumnPlace, Contents, HEADER_BYTES};
use crate::bitmap::values::Values;

impl BitmapIndex {
    /// Reads the whole index and checks every byte. Also checks that each row is in one bin of each column,
    /// and that each value is within the bounds of its bin.
    ///
    /// # Errors
    /// [`Error::Index`] for the first fault found.
    pub fn verify(&self) -> Result<(), Error> {
        self.check_sections()?;
        self.check_gaps()?;
        self.0.columns().try_for_each(|column| self.check_column(column))
    }

    /// Checks everything that has a checksum.
    pub(super) fn check_sections(&self) -> Result<(), Error> {
        for column in self.0.columns() {
            for bin in 0..self.columns()[column].bins.len() {
                self.bitmap(column, bin)?;
                self.values(column, bin)?;
            }
        }
        self.records()?;
        Ok(())
    }

    /// Checks that there are only zeros between sections.
    fn check_gaps(&self) -> Result<(), Error> {
        let Contents { places, records, table_bytes, bytes: all, .. } = &self.0.contents;
        let bitmap = |place: &BitmapPlace| [place.atoms.place.clone(), place.tiles.place.clone()];
        let mut sections = vec![0..HEADER_BYTES + table_bytes, *all..*all];
        for ColumnPlace { bins, checksums } in places {
            for BinPlace { bitmap: place, values, text, .. } in bins {
                sections.extend(bitmap(place));
                sections.extend([values.clone(), text.clone()].into_iter().filter(|place| !place.is_empty()));
            }
            sections.push(checksums.place.clone());
        }
        sections.extend(records.iter().flat_map(bitmap));
        sections.sort_by_key(|place| (place.start, place.end));
        let bytes = self.0.image.bytes();
        let is_zero = |pair: &[std::ops::Range<usize>]| {
            bytes.get(pair[0].end..pair[1].start).is_some_and(|gap| gap.iter().all(|byte| *byte == 0))
        };
        let zeros = sections.windows(2).all(is_zero);
        if zeros { Ok(()) } else { Err(self.0.damaged("there are nonzero bytes between its sections")) }
    }

    /// Checks that each row is in one bin, and its value within the bin's bounds.
    fn check_column(&self, column: usize) -> Result<(), Error> {
        let Column { name, bins, .. } = &self.columns()[column];
        let said =
            |bin: usize, what: &str| self.0.damaged(format_args!("bin {bin} of column `{name}`: {what}"));
        let mut all = vec![0; chunks_for(self.rows()) as usize];
        for (number, bin) in bins.iter().enumerate() {
            let Bitmap { wah, .. } = self.bitmap(column, number)?;
            if wah.count() != bin.rows {
                return Err(said(number, "its bitmap does not have the number of rows in the table"));
            }
            let mut at = 0;
            for atom in wah.atoms() {
                let to = &mut all[at..at + atom.chunks() as usize];
                at += to.len();
                for chunk in to {
                    if *chunk & atom.chunk() != 0 {
                        return Err(said(number, "it has a row that is in another bin, too"));
                    }
                    *chunk |= atom.chunk();
                }
            }
            if !are_of(&self.values(column, number)?, bin) {
                return Err(said(number, "it has a value outside its bounds"));
            }
        }
        // Bins have no row in common. Together they have all rows, because the decoded table was checked for
        // the sum.
        Ok(())
    }
}

/// Returns true if all values are within the bounds of a bin. Where nothing is stored, nothing can be wrong.
fn are_of(values: &Values<'_>, bin: &Bin) -> bool {
    let Holds::Values { least, greatest } = &bin.holds else { return true };
    let most = greatest.distance(least).unwrap_or(0);
    match values {
        Values::Same => true,
        Values::U8(values) => values.iter().all(|value| u64::from(*value) <= most),
        Values::U16(values) => values.iter().all(|value| u64::from(*value) <= most),
        Values::U32(values) => values.iter().all(|value| u64::from(*value) <= most),
        Values::U64(values) => values.iter().all(|value| *value <= most),
        Values::Text(_) => (0..values.rows().unwrap_or(0)).all(|row| values.scalar(row, bin).is_some()),
    }
}
