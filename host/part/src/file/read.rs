//! Groups from a file.

mod rows;
mod sections;

use std::io::Read;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use parquet::file::metadata::{
    ColumnChunkMetaData, ParquetMetaData, ParquetMetaDataOptions, ParquetMetaDataReader,
};
use parquet::file::statistics::Statistics;
use warpath_core::pool;
use warpath_core::stamp::hash;

use super::bloom::{self, BloomFilter};
use super::bounds::Bounds;
use super::directory::{
    Checked, DIRECTORY, Directory, FOOTER, GroupEntry, MAGIC, MAX_SECTION, Place, Section, TAIL, footer_hash,
};
use super::encode::Encoding;
use super::error::Error;
use super::levels::{self, MAX_ENTRIES};
use super::schema::{self, Schema};
use super::source::{ReadAt, fetch};
use super::table::PageTable;
use super::thrift::skip_struct;
use super::{LeafSummary, RESIDENT, RESIDENT_LINES, decode, repeats};
use crate::group::{Column, Group, NodeIx, Tree};

/// The bytes at the end of a file that are read first. Most footers and directories lie in them.
const FIRST_READ: u64 = 256 << 10;
/// The bytes at the end of a file in which the key must be: names of the order of 65,536 columns.
const KEY_READ: u64 = 256 << 10;

/// Reads a part. Every range is compared with its checksum before it is decoded.
pub struct Reader {
    source: Arc<dyn ReadAt>,
    directory: Directory,
    schema: Schema,
    /// The footer, without the bytes after Thrift's.
    footer: Bytes,
    /// The contents of the footer, after they are decoded.
    chunks: OnceLock<Chunks>,
    /// The pages of each group, after they are read.
    tables: Vec<OnceLock<Arc<[PageTable]>>>,
    /// Threads that decode columns.
    workers: usize,
    /// The hash and the range of the directory, and the length of the footer.
    place: Place,
}

/// The contents of a footer.
struct Chunks {
    metadata: Arc<ParquetMetaData>,
    /// The row group of Parquet for each group. A group without rows has none.
    row_groups: Vec<Option<usize>>,
}

/// The size of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupSize {
    /// Number of rows.
    pub rows: u32,
    /// The number of nodes that the group has columns for; see [`Group::nodes`].
    pub nodes: u32,
    /// See [`Group::text_len`].
    pub text_len: u64,
    /// See [`Group::text_len`].
    pub text_hash: u64,
}

/// A column chunk of a group.
struct Located<'a> {
    chunk: &'a ColumnChunkMetaData,
    hash: u64,
    range: Range<u64>,
}

/// True if the source is a part: a Parquet file with the key of Warpath, written by Warpath.
///
/// One read of the end of the file. The part may still be damaged, or of a later version.
///
/// # Errors
/// The errors of the source.
pub fn is_part(source: &dyn ReadAt) -> Result<bool, Error> {
    let len = source.len();
    let read = len.min(KEY_READ);
    if read < TAIL as u64 {
        return Ok(false);
    }
    let tail = source.bytes_at(len - read, read as usize)?;
    Ok(tail.ends_with(MAGIC) && !matches!(Place::find(&tail), Err(Error::Foreign)))
}

/// The end of a file.
struct Tail {
    bytes: Bytes,
    /// The offset of the first byte.
    offset: u64,
}

impl Tail {
    /// A range that lies in the tail, or is read.
    fn get(&self, source: &dyn ReadAt, offset: u64, len: u64) -> Result<Bytes, Error> {
        let len = usize::try_from(len).map_err(|_| Error::NotParquet)?;
        let start = offset.checked_sub(self.offset).and_then(|start| usize::try_from(start).ok());
        match start {
            Some(start) if start.checked_add(len).is_some_and(|end| end <= self.bytes.len()) => {
                Ok(self.bytes.slice(start..start + len))
            }
            _ => Ok(source.bytes_at(offset, len)?),
        }
    }
}

fn verified(what: impl FnOnce() -> String, range: Checked, bytes: &[u8]) -> Result<(), Error> {
    if hash(bytes) == range.hash {
        return Ok(());
    }
    Err(Error::Checksum { what: what(), offset: range.offset, len: range.len })
}

impl Reader {
    /// Opens a part: one or two reads from its end, or three if the footer is large.
    ///
    /// # Errors
    /// [`Error::NotParquet`], [`Error::Foreign`] and [`Error::Version`] if the file is something else,
    /// [`Error::Checksum`] and [`Error::Invalid`] if it is damaged, and the errors of the source.
    pub fn open(source: impl ReadAt + 'static) -> Result<Self, Error> {
        Self::open_shared(Arc::new(source))
    }

    /// Opens a part in a source that others use too; see [`Reader::open`].
    ///
    /// # Errors
    /// See [`Reader::open`].
    pub fn open_shared(source: Arc<dyn ReadAt>) -> Result<Self, Error> {
        let len = source.len();
        let read = len.min(FIRST_READ);
        if read < (MAGIC.len() + TAIL) as u64 {
            return Err(Error::NotParquet);
        }
        let tail = Tail { bytes: source.bytes_at(len - read, read as usize)?, offset: len - read };
        let metadata_len = tail.bytes[..tail.bytes.len() - MAGIC.len()].last_chunk();
        let metadata_len = metadata_len.map_or(0, |len| u32::from_le_bytes(*len));
        let footer_len = u64::from(metadata_len) + TAIL as u64;
        let footer_start = len.checked_sub(footer_len).filter(|start| *start >= MAGIC.len() as u64);
        let (true, Some(footer_start)) = (tail.bytes.ends_with(MAGIC), footer_start) else {
            return Err(Error::NotParquet);
        };
        let footer = tail.get(&*source, footer_start, footer_len)?;
        let (place, digits) = Place::find(&footer)?;
        if footer_hash(&footer, digits) != place.footer {
            return Err(Error::Checksum { what: FOOTER.into(), offset: footer_start, len: footer_len });
        }
        let Checked { offset, len, .. } = place.directory;
        if offset.checked_add(len) != Some(footer_start) {
            return Err(Error::invalid(FOOTER, "the directory does not end where the footer begins"));
        }
        let bytes = tail.get(&*source, offset, len)?;
        verified(|| DIRECTORY.into(), place.directory, &bytes)?;
        let directory = Directory::decode(&bytes);
        let directory = directory.ok_or_else(|| Error::invalid(DIRECTORY, "its fields do not fill it"))?;
        let schema = check_directory(&directory, offset)?;
        let tables = directory.groups.iter().map(|_| OnceLock::new()).collect();
        let footer = footer.slice(..footer.len() - TAIL);
        Ok(Self { source, directory, schema, footer, chunks: OnceLock::new(), tables, workers: 1, place })
    }

    /// The chunks of all columns, as the footer has them. It is decoded when they are first needed: of a part
    /// with many columns that takes longer than most numbers of values.
    fn footer(&self) -> Result<&Chunks, Error> {
        if let Some(chunks) = self.chunks.get() {
            return Ok(chunks);
        }
        let options = ParquetMetaDataOptions::new().with_schema(self.schema.descriptor.clone());
        let fields = &*self.footer;
        skip_struct(&mut &*fields, &mut |_, _, _| {})
            .ok_or_else(|| Error::invalid(FOOTER, "it is no structure of Thrift"))?;
        let decode = || ParquetMetaDataReader::decode_metadata_with_options(fields, Some(&options));
        let metadata = decode::guarded(decode)?;
        let row_groups = check_metadata(&self.directory, &metadata)?;
        Ok(self.chunks.get_or_init(|| Chunks { metadata: Arc::new(metadata), row_groups }))
    }

    /// Decodes the columns of a group with several threads. At first it is one, because callers may read
    /// several groups at once.
    #[must_use]
    pub fn with_workers(mut self, workers: usize) -> Self {
        self.workers = workers.max(1);
        self
    }

    /// The tree of all groups.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.directory.tree
    }

    /// The strings that the writer was given at the end.
    #[must_use]
    pub fn facts(&self) -> &[(String, String)] {
        &self.directory.facts
    }

    /// The number of groups.
    #[must_use]
    pub fn groups(&self) -> usize {
        self.directory.groups.len()
    }

    /// The size of a group.
    #[must_use]
    pub fn size(&self, group: usize) -> Option<GroupSize> {
        let entry = self.directory.groups.get(group)?;
        let &GroupEntry { rows, nodes, text_len, text_hash, .. } = entry;
        Some(GroupSize { rows, nodes, text_len, text_hash })
    }

    /// The names and lengths of the sections of a group.
    pub fn sections(&self, group: usize) -> impl Iterator<Item = (&str, u64)> {
        let sections = self.directory.groups.get(group).map_or(&[][..], |entry| entry.sections.as_slice());
        sections.iter().map(|section| (section.name.as_str(), section.full_len))
    }

    /// The metadata of Parquet, without page indexes: for readers that know Parquet. Its row groups are the
    /// groups that have rows.
    ///
    /// # Errors
    /// [`Error::Invalid`] for a footer that is not that of the groups.
    pub fn metadata(&self) -> Result<&Arc<ParquetMetaData>, Error> {
        Ok(&self.footer()?.metadata)
    }

    /// The hash of the footer, which identifies the contents of the part.
    #[must_use]
    pub fn footer_hash(&self) -> u64 {
        self.place.footer
    }

    /// The encoding, the sizes and the bounds of a leaf in one group. A group without rows has none, and
    /// neither has one whose columns cannot be read.
    #[must_use]
    pub fn leaf(&self, group: usize, leaf: NodeIx) -> Option<LeafSummary> {
        let column = self.schema.column(leaf)?;
        let Chunks { metadata, row_groups } = self.footer().ok()?;
        let chunk = metadata.row_group((*row_groups.get(group)?)?).columns().get(column)?;
        Some(LeafSummary {
            node: leaf,
            encoding: self.directory.encodings[column],
            compressed: chunk.compressed_size().unsigned_abs(),
            uncompressed: chunk.uncompressed_size().unsigned_abs(),
            nulls: chunk.statistics().and_then(Statistics::null_count_opt).unwrap_or(0),
            bounds: Bounds::of(chunk),
        })
    }

    /// The encoding that was chosen for a leaf.
    #[must_use]
    pub fn encoding(&self, leaf: NodeIx) -> Option<Encoding> {
        self.directory.encodings.get(self.schema.column(leaf)?).copied()
    }

    /// The column of a leaf in one group. A leaf that a later group added has no values there.
    ///
    /// # Errors
    /// [`Error::Missing`] if the part has no such group or leaf, [`Error::Checksum`] and [`Error::Invalid`]
    /// if the file is damaged, and the errors of the source.
    pub fn column(&self, group: usize, leaf: NodeIx) -> Result<Column, Error> {
        let mut columns = self.columns(group, &[leaf])?;
        columns.pop().ok_or_else(|| Error::Missing(format!("leaf {leaf}")))
    }

    /// The columns of leaves in one group, in their order. Near ones are read at once.
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn columns(&self, group: usize, leaves: &[NodeIx]) -> Result<Vec<Column>, Error> {
        let chunks = self.chunks(group, leaves)?;
        let ranges: Vec<Range<u64>> = chunks.iter().map(|located| located.range.clone()).collect();
        let bytes = fetch(&*self.source, &ranges)?;
        self.decode_all(group, leaves, chunks, bytes)
    }

    /// A section of a group; `None` if the group has none of this name.
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn section(&self, group: usize, name: &str) -> Result<Option<Vec<u8>>, Error> {
        let sections = &self.entry(group)?.sections;
        let Some(section) = sections.iter().find(|section| section.name == name) else { return Ok(None) };
        let len = usize::try_from(section.stored.len).map_err(|_| too_long(section))?;
        let bytes = self.source.bytes_at(section.stored.offset, len)?;
        if section.is_compressed {
            return unpack(group, section, &bytes).map(Some);
        }
        verified(|| of_section(group, section), section.stored, &bytes)?;
        // Without a copy, if nobody else has the bytes.
        Ok(Some(bytes.into()))
    }

    /// The first bytes of a section that is not compressed, at most `len`; `None` if the group has none of
    /// this name. They are not compared with a checksum, which is that of the whole section.
    ///
    /// # Errors
    /// [`Error::Missing`] if the part has no such group, and the errors of the source.
    pub fn section_start(&self, group: usize, name: &str, len: usize) -> Result<Option<Bytes>, Error> {
        self.entry(group)?;
        let Some(range) = self.section_range(group, name) else { return Ok(None) };
        let len = usize::try_from(range.end - range.start).map_or(len, |all| all.min(len));
        Ok(Some(self.source.bytes_at(range.start, len)?))
    }

    /// The Bloom filter of a leaf in a group, if it has one.
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn filter(&self, group: usize, leaf: NodeIx) -> Result<Option<BloomFilter>, Error> {
        let name = bloom::section(leaf);
        let Some(bytes) = self.section(group, &name)? else { return Ok(None) };
        let filter = BloomFilter::decode(&bytes);
        let invalid =
            || Error::invalid(format!("section `{name}` of group {group}"), "it is no Bloom filter");
        filter.map(Some).ok_or_else(invalid)
    }

    /// The range of the file that is a section of a group; `None` if the group has none of this name, or it
    /// is compressed. Its bytes are not compared with their checksum.
    #[must_use]
    pub fn section_range(&self, group: usize, name: &str) -> Option<Range<u64>> {
        let mut sections = self.directory.groups.get(group)?.sections.iter();
        let Section { is_compressed, stored, .. } = sections.find(|section| section.name == name)?;
        (!is_compressed).then(|| stored.offset..stored.offset + stored.len)
    }

    /// A group, equal to the one that was written. It also has the sections that were added, but not those
    /// that repeat what the others say: Bloom filters, [`RESIDENT`] and [`RESIDENT_LINES`].
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn group(&self, group: usize) -> Result<Group, Error> {
        let entry = self.entry(group)?;
        let leaves: Vec<NodeIx> = self.directory.tree.leaves(entry.nodes).collect();
        let chunks = self.chunks(group, &leaves)?;
        let mut ranges: Vec<Range<u64>> = chunks.iter().map(|located| located.range.clone()).collect();
        let kept: Vec<&Section> = entry.sections.iter().filter(|section| !repeats(&section.name)).collect();
        let stored = kept.iter().map(|section| section.stored);
        ranges.extend(stored.map(|stored| stored.offset..stored.offset + stored.len));
        let mut bytes = fetch(&*self.source, &ranges)?;
        let stored = bytes.split_off(chunks.len());
        let columns = self.decode_all(group, &leaves, chunks, bytes)?;
        let mut sections = Vec::with_capacity(kept.len());
        for (section, bytes) in kept.into_iter().zip(stored) {
            sections.push((section.name.clone(), unpack(group, section, &bytes)?));
        }
        let &GroupEntry { rows, nodes, text_len, text_hash, .. } = entry;
        Ok(Group { rows, columns, nodes, sections, text_len, text_hash })
    }

    /// Compares every byte of the file with its checksum, and decodes all groups.
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn verify(&self) -> Result<(), Error> {
        if *self.source.bytes_at(0, MAGIC.len())? != *MAGIC {
            return Err(Error::NotParquet);
        }
        let indexes = self.directory.indexes;
        let len = usize::try_from(indexes.len).map_err(|_| Error::Missing("page indexes".into()))?;
        verified(|| "page indexes".into(), indexes, &self.source.bytes_at(indexes.offset, len)?)?;
        let Chunks { row_groups, .. } = self.footer()?;
        let mut end = MAGIC.len() as u64;
        for (group, row_group) in row_groups.iter().enumerate() {
            if row_group.is_some() {
                self.tables(group)?;
            }
            self.columns(group, &self.schema.leaves)?;
            self.group(group)?;
            self.verify_filters(group)?;
            for name in [RESIDENT, RESIDENT_LINES] {
                self.section(group, name)?;
            }
            end = self.verify_padding(group, end)?;
        }
        Ok(())
    }

    /// Compares the filters of a group with its values.
    fn verify_filters(&self, group: usize) -> Result<(), Error> {
        let sections = &self.entry(group)?.sections;
        for leaf in sections.iter().filter_map(|section| bloom::leaf(&section.name)) {
            let (column, filter) = (self.column(group, leaf)?, self.filter(group, leaf)?);
            if !filter.is_some_and(|filter| filter.has_all(&column.values)) {
                let what = format!("section `{}` of group {group}", bloom::section(leaf));
                return Err(Error::invalid(what, "it excludes a value that the column has"));
            }
        }
        Ok(())
    }

    /// Compares the bytes that align the first section of a group with zeros. Takes the end of the group
    /// before, and returns that of this one.
    fn verify_padding(&self, group: usize, end: u64) -> Result<u64, Error> {
        let GroupEntry { nodes, sections, .. } = self.entry(group)?;
        // The chunks of other leaves follow all groups.
        let leaves: Vec<NodeIx> = self.schema.leaves.iter().copied().filter(|leaf| leaf < nodes).collect();
        let chunks = self.chunks(group, &leaves)?;
        let end = chunks.iter().map(|located| located.range.end).fold(end, u64::max);
        let (Some(first), Some(last)) = (sections.first(), sections.last()) else { return Ok(end) };
        let len = usize::try_from(first.stored.offset.saturating_sub(end)).map_err(|_| too_long(first))?;
        if self.source.bytes_at(end, len)?.iter().any(|byte| *byte != 0) {
            return Err(Error::invalid(format!("padding of group {group}"), "it has other bytes than zeros"));
        }
        Ok(last.stored.offset.saturating_add(last.stored.len))
    }

    fn entry(&self, group: usize) -> Result<&GroupEntry, Error> {
        self.directory.groups.get(group).ok_or_else(|| Error::Missing(format!("group {group}")))
    }

    /// The chunk of each leaf; none if the group has no rows.
    fn chunks(&self, group: usize, leaves: &[NodeIx]) -> Result<Vec<Located<'_>>, Error> {
        let (entry, Chunks { metadata, row_groups }) = (self.entry(group)?, self.footer()?);
        let mut all = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let missing = || Error::Missing(format!("leaf {leaf}"));
            let column = self.schema.column(*leaf).ok_or_else(missing)?;
            let Some(row_group) = row_groups[group] else { continue };
            let chunk = metadata.row_group(row_group).column(column);
            let (offset, len) = chunk.byte_range();
            all.push(Located { chunk, hash: entry.chunks[column], range: offset..offset + len });
        }
        Ok(all)
    }

    fn empty(&self, leaf: NodeIx) -> Column {
        let layout = self.directory.tree.nodes[leaf as usize].layout;
        Column { node: leaf, values: levels::no_values(layout), ..Column::default() }
    }

    /// Decodes the chunks of leaves. A group without rows has no chunks.
    fn decode_all(
        &self,
        group: usize,
        leaves: &[NodeIx],
        chunks: Vec<Located<'_>>,
        bytes: Vec<Bytes>,
    ) -> Result<Vec<Column>, Error> {
        if chunks.is_empty() {
            return Ok(leaves.iter().map(|leaf| self.empty(*leaf)).collect());
        }
        let items = leaves.iter().zip(chunks.into_iter().zip(bytes)).collect();
        let decode = |(leaf, (located, bytes)): (&NodeIx, (Located<'_>, Bytes))| {
            self.decode(group, *leaf, &located, bytes)
        };
        pool::map_in(self.workers, items, decode).into_iter().collect()
    }

    fn decode(
        &self,
        group: usize,
        leaf: NodeIx,
        &Located { chunk, hash, ref range }: &Located<'_>,
        bytes: Bytes,
    ) -> Result<Column, Error> {
        let what = || format!("column {} of group {group}", chunk.column_path());
        let offset = range.start;
        verified(what, Checked { offset, len: bytes.len() as u64, hash }, &bytes)?;
        let rows = self.entry(group)?.rows;
        let layout = self.directory.tree.nodes[leaf as usize].layout;
        let column = decode::column(chunk, (leaf, layout), bytes, None);
        let column = column.map_err(|error| Error::invalid(what(), error.to_string()))?;
        let checked = levels::check(&self.directory.tree, &column, rows);
        checked.map_err(|why| Error::invalid(what(), format!("it has {why}")))?;
        Ok(column)
    }
}

/// The name of a section in errors.
fn of_section(group: usize, section: &Section) -> String {
    format!("section `{}` of group {group}", section.name)
}

fn too_long(section: &Section) -> Error {
    Error::invalid(format!("section `{}`", section.name), "it is longer than the memory of this machine")
}

/// Checks a section, and decompresses it.
fn unpack(group: usize, section: &Section, bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let what = || of_section(group, section);
    verified(what, section.stored, bytes)?;
    if !section.is_compressed {
        return Ok(bytes.to_vec());
    }
    // Memory grows with what is there, because the length may be forged.
    let mut unpacked = Vec::new();
    let decoder = zstd::stream::read::Decoder::new(bytes)?;
    let read = decoder.take(section.full_len.saturating_add(1)).read_to_end(&mut unpacked);
    read.map_err(|error| Error::invalid(what(), error.to_string()))?;
    if unpacked.len() as u64 != section.full_len {
        return Err(Error::invalid(what(), "its length is not the one that the directory says"));
    }
    Ok(unpacked)
}

/// Checks what the directory says, against itself and against its own offset. Returns the schema.
fn check_directory(directory: &Directory, end: u64) -> Result<Schema, Error> {
    let invalid = |why: String| Error::invalid(DIRECTORY, why);
    let count = directory.tree.nodes.len();
    schema::check(&directory.tree).map_err(|why| invalid(format!("tree: {why}")))?;
    schema::check_children(&directory.tree, count as u32).map_err(|why| invalid(format!("tree: {why}")))?;
    let schema = Schema::of(&directory.tree)?;
    if directory.encodings.len() != schema.leaves.len() {
        return Err(invalid("its number of encodings is not the number of leaves".into()));
    }
    let is_within = |range: &Checked| {
        range.offset >= MAGIC.len() as u64
            && range.offset.checked_add(range.len).is_some_and(|range_end| range_end <= end)
    };
    if !is_within(&directory.indexes) {
        return Err(invalid("the page indexes are outside of the file".into()));
    }
    for (index, group) in directory.groups.iter().enumerate() {
        let expected = if group.rows == 0 { 0 } else { schema.leaves.len() };
        if group.nodes == 0 || group.nodes as usize > count || group.chunks.len() != expected {
            return Err(invalid(format!("group {index} has other columns than the tree")));
        }
        if !is_within(&group.pages) && group.rows > 0 {
            return Err(invalid(format!("the pages of group {index} are outside of the file")));
        }
        for section in &group.sections {
            let is_raw = !section.is_compressed;
            let is_long = section.full_len > MAX_SECTION || is_raw && section.stored.len != section.full_len;
            if !is_within(&section.stored) || is_long {
                return Err(invalid(format!(
                    "section `{}` of group {index} has no such bytes",
                    section.name
                )));
            }
        }
    }
    Ok(schema)
}

/// Checks that the metadata of Parquet is of the groups that the directory names. Returns the row group of
/// each group.
fn check_metadata(directory: &Directory, metadata: &ParquetMetaData) -> Result<Vec<Option<usize>>, Error> {
    let invalid = |why: String| Err(Error::invalid(FOOTER, why));
    let mut row_groups = metadata.row_groups().iter().enumerate();
    let mut all = Vec::with_capacity(directory.groups.len());
    for (index, entry) in directory.groups.iter().enumerate() {
        if entry.rows == 0 {
            all.push(None);
            continue;
        }
        let Some((number, row_group)) = row_groups.next() else {
            return invalid(format!("it has no row group for group {index}"));
        };
        let (rows, columns) = (row_group.num_rows(), row_group.num_columns());
        if rows != i64::from(entry.rows) || columns != entry.chunks.len() {
            return invalid(format!("row group {number} has {rows} rows and {columns} columns"));
        }
        for chunk in row_group.columns() {
            let start = chunk.dictionary_page_offset().unwrap_or_else(|| chunk.data_page_offset());
            let end = start.checked_add(chunk.compressed_size());
            let is_within = start >= MAGIC.len() as i64
                && chunk.compressed_size() >= 0
                && end.is_some_and(|end| end.unsigned_abs() <= directory.indexes.offset)
                && (0..=MAX_ENTRIES as i64).contains(&chunk.num_values());
            if !is_within {
                return invalid(format!(
                    "column {} of row group {number} has no such bytes",
                    chunk.column_path()
                ));
            }
        }
        all.push(Some(number));
    }
    match row_groups.next() {
        Some((number, _)) => invalid(format!("no group has row group {number}")),
        None => Ok(all),
    }
}
