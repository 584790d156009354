//! Some rows of a group: of each leaf, only the pages that have them are read.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use warpath_core::pool;

use super::super::directory::Checked;
use super::super::error::Error;
use super::super::source::fetch;
use super::super::table::{PageEntry, PageTable};
use super::super::{decode, levels};
use super::{Chunks, Located, Reader, verified};
use crate::group::{Column, NodeIx};

/// The pages of a chunk that have the wanted rows.
struct Wanted<'a> {
    located: Located<'a>,
    dictionary: Option<PageEntry>,
    pages: &'a [PageEntry],
    /// The offset of the first of the pages.
    offset: u64,
    /// The first row of these pages.
    first_row: u32,
}

impl Reader {
    /// The columns of leaves for some rows of a group, as if the group had only these rows. Only the pages of
    /// these rows are read and checked. The rows that the group does not have are left out.
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn rows(&self, group: usize, leaves: &[NodeIx], rows: Range<u32>) -> Result<Vec<Column>, Error> {
        let all = self.entry(group)?.rows;
        let rows = rows.start.min(all)..rows.end.min(all);
        if rows.is_empty() {
            self.chunks(group, leaves)?;
            return Ok(leaves.iter().map(|leaf| self.empty(*leaf)).collect());
        }
        let tables = self.tables(group)?;
        let chunks = self.chunks(group, leaves)?.into_iter().zip(leaves);
        let wanted = chunks.map(|(located, leaf)| wanted(located, self.table(&tables, *leaf), &rows));
        let wanted = wanted.collect::<Option<Vec<_>>>();
        let wanted = wanted.ok_or_else(|| Error::invalid(tables_of(group), "it does not have all rows"))?;
        let ranges: Vec<Range<u64>> = wanted.iter().flat_map(Wanted::ranges).collect();
        let bytes = fetch(&*self.source, &ranges)?;
        let items = wanted.iter().zip(leaves).zip(bytes.chunks_exact(2)).collect();
        let decode = |((wanted, leaf), bytes): ((&Wanted<'_>, &NodeIx), &[Bytes])| {
            self.decode_rows(group, *leaf, wanted, (&bytes[0], &bytes[1]), &rows)
        };
        pool::map_in(self.workers, items, decode).into_iter().collect()
    }

    fn table<'a>(&self, tables: &'a [PageTable], leaf: NodeIx) -> Option<&'a PageTable> {
        tables.get(self.schema.column(leaf)?)
    }

    /// The pages of all columns of a group that has rows. They are read once.
    pub(super) fn tables(&self, group: usize) -> Result<Arc<[PageTable]>, Error> {
        let missing = || Error::Missing(format!("group {group}"));
        let cell = self.tables.get(group).ok_or_else(missing)?;
        if let Some(tables) = cell.get() {
            return Ok(tables.clone());
        }
        let entry = self.entry(group)?;
        let Chunks { metadata, row_groups } = self.footer()?;
        let row_group = metadata.row_group(row_groups[group].ok_or_else(missing)?);
        let Checked { offset, len, .. } = entry.pages;
        let too_long = |_| Error::invalid(tables_of(group), "it is longer than the memory of this machine");
        let bytes = self.source.bytes_at(offset, usize::try_from(len).map_err(too_long)?)?;
        verified(|| tables_of(group), entry.pages, &bytes)?;
        let lens = row_group.columns().iter().map(|chunk| chunk.byte_range().1);
        let tables = PageTable::decode(&bytes, lens, entry.rows);
        let tables = tables
            .ok_or_else(|| Error::invalid(tables_of(group), "its pages are not those of the chunks"))?;
        Ok(cell.get_or_init(|| tables.into()).clone())
    }

    fn decode_rows(
        &self,
        group: usize,
        leaf: NodeIx,
        wanted: &Wanted<'_>,
        (dictionary, pages): (&Bytes, &Bytes),
        rows: &Range<u32>,
    ) -> Result<Column, Error> {
        let chunk = wanted.located.chunk;
        let what = || format!("column {} of group {group}", chunk.column_path());
        wanted.verify(what, dictionary, pages)?;
        let layout = self.directory.tree.nodes[leaf as usize].layout;
        let invalid = |error: parquet::errors::ParquetError| Error::invalid(what(), error.to_string());
        let (skipped, count) = (rows.start - wanted.first_row, rows.end - rows.start);
        let pages = [&dictionary[..], pages].concat().into();
        let column = decode::column(chunk, (leaf, layout), pages, Some(skipped..skipped + count));
        let column = column.map_err(invalid)?;
        let checked = levels::check(&self.directory.tree, &column, count);
        checked.map_err(|why| Error::invalid(what(), format!("it has {why}")))?;
        Ok(column)
    }
}

fn tables_of(group: usize) -> String {
    format!("pages of group {group}")
}

/// The pages of a chunk that have some of `rows`; `None` if there are none, which no writer makes.
fn wanted<'a>(located: Located<'a>, table: Option<&'a PageTable>, rows: &Range<u32>) -> Option<Wanted<'a>> {
    let PageTable { dictionary, pages } = table?;
    let first = pages.partition_point(|page| page.first_row <= rows.start).checked_sub(1)?;
    let last = pages.partition_point(|page| page.first_row < rows.end);
    let before = dictionary.iter().chain(&pages[..first]).map(|page| u64::from(page.len));
    let offset = located.range.start + before.sum::<u64>();
    let pages = pages.get(first..last)?;
    Some(Wanted { located, dictionary: *dictionary, pages, offset, first_row: pages.first()?.first_row })
}

impl Wanted<'_> {
    /// The ranges of the dictionary, which may be empty, and of the pages.
    fn ranges(&self) -> [Range<u64>; 2] {
        let start = self.located.range.start;
        let dictionary = self.dictionary.map_or(0, |page| u64::from(page.len));
        let pages: u64 = self.pages.iter().map(|page| u64::from(page.len)).sum();
        [start..start + dictionary, self.offset..self.offset + pages]
    }

    fn verify(&self, what: impl Fn() -> String, dictionary: &[u8], mut pages: &[u8]) -> Result<(), Error> {
        if let Some(PageEntry { len, hash, .. }) = self.dictionary {
            let range = Checked { offset: self.located.range.start, len: len.into(), hash };
            verified(&what, range, dictionary)?;
        }
        let mut offset = self.offset;
        for PageEntry { len, hash, .. } in self.pages {
            let (page, rest) = pages.split_at(pages.len().min(*len as usize));
            verified(&what, Checked { offset, len: (*len).into(), hash: *hash }, page)?;
            offset += u64::from(*len);
            pages = rest;
        }
        Ok(())
    }
}
