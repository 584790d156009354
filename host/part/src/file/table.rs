//! The pages of each chunk of a group, with a hash each: for readers of few rows.

use parquet::column::writer::ColumnCloseResult;
use warpath_core::fields::Fields;
use warpath_core::stamp::hash;

/// A page of a chunk. Pages lie one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PageEntry {
    /// The number of its first row in the group; 0 for a dictionary.
    pub first_row: u32,
    /// Bytes, with the header.
    pub len: u32,
    /// The hash of its bytes.
    pub hash: u64,
}

/// The pages of a chunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PageTable {
    /// The page of the dictionary, which comes first.
    pub dictionary: Option<PageEntry>,
    /// The pages of rows.
    pub pages: Vec<PageEntry>,
}

impl PageTable {
    /// The pages of a chunk that was encoded. `None` if its own index is not of its bytes.
    pub fn of(bytes: &[u8], close: &ColumnCloseResult) -> Option<Self> {
        let entry = |first_row: i64, start: usize, end: usize| {
            let page = bytes.get(start..end)?;
            let (first_row, len) = (u32::try_from(first_row).ok()?, u32::try_from(page.len()).ok()?);
            Some(PageEntry { first_row, len, hash: hash(page) })
        };
        let mut start = usize::try_from(close.metadata.data_page_offset()).ok()?;
        let dictionary = match start {
            0 => None,
            start => Some(entry(0, 0, start)?),
        };
        let mut pages = Vec::new();
        for page in close.offset_index.as_ref()?.page_locations() {
            let end = start.checked_add(usize::try_from(page.compressed_page_size).ok()?)?;
            pages.push(entry(page.first_row_index, start, end)?);
            start = end;
        }
        (start == bytes.len()).then_some(Self { dictionary, pages })
    }

    /// Appends the table to those of other columns.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&u32::from(self.dictionary.is_some()).to_le_bytes());
        out.extend_from_slice(&(self.pages.len() as u64).to_le_bytes());
        for page in self.dictionary.iter().chain(&self.pages) {
            out.extend_from_slice(&page.first_row.to_le_bytes());
            out.extend_from_slice(&page.len.to_le_bytes());
            out.extend_from_slice(&page.hash.to_le_bytes());
        }
    }

    /// Reads the tables of all columns. Each must be of a chunk with the length in `lens`.
    pub fn decode(bytes: &[u8], lens: impl Iterator<Item = u64>, rows: u32) -> Option<Vec<Self>> {
        let mut fields = Fields(bytes);
        let mut all = Vec::new();
        for len in lens {
            let table = Self::decode_one(&mut fields)?;
            let pages = table.dictionary.iter().chain(&table.pages);
            let sum: u64 = pages.map(|page| u64::from(page.len)).sum();
            let starts = table.pages.iter().map(|page| page.first_row);
            let is_ascending = starts.clone().zip(starts.skip(1)).all(|(left, right)| left < right);
            let (first, last) = (table.pages.first()?, table.pages.last()?);
            if sum != len || !is_ascending || first.first_row != 0 || last.first_row >= rows {
                return None;
            }
            all.push(table);
        }
        fields.is_empty().then_some(all)
    }

    fn decode_one(fields: &mut Fields<'_>) -> Option<Self> {
        let has_dictionary = fields.u32()? == 1;
        let count = fields.u64()?;
        let mut page =
            || Some(PageEntry { first_row: fields.u32()?, len: fields.u32()?, hash: fields.u64()? });
        let dictionary = if has_dictionary { Some(page()?) } else { None };
        // A forged count ends at the last byte.
        let mut pages = Vec::new();
        for _ in 0..count {
            pages.push(page()?);
        }
        Some(Self { dictionary, pages })
    }
}
