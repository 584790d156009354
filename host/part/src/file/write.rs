//! Groups to a file.

mod footer;

use std::io::{self, Read as _, Write};

use parquet::file::metadata::ColumnChunkMetaData;
use parquet::schema::types::ColumnDescPtr;
use warpath_core::pool;
use warpath_core::stamp::hash;

use super::bloom::{self, BloomFilter};
use super::directory::{Checked, Directory, GroupEntry, MAGIC, MAX_SECTION, Place, Section, set_footer_hash};
use super::encode::{Chunk, Encoding, Leaf};
use super::error::Error;
use super::index;
use super::levels::{self, Kept};
use super::schema::{self, Schema};
use super::table::PageTable;
use super::{Options, Summary};
use crate::group::{Column, Group, Layout, Node, NodeIx, Tree, Values};

/// Writes groups to a part.
///
/// Each group is written when it is given. Memory keeps the metadata of its chunks, and the levels of its
/// structs, of which a later leaf makes a column without values. The footer is written at the end, for
/// the tree as it is then.
pub struct Writer<W> {
    out: W,
    part: Part,
}

/// The state of a part while it is written. It is compiled once for all outputs.
struct Part {
    position: u64,
    options: Options,
    tree: Tree,
    schema: Schema,
    /// The encoding of each leaf that had values.
    encodings: Vec<Option<Encoding>>,
    groups: Vec<Written>,
    /// True while a group is written. It stays true after a failure, because the output has a half then.
    is_broken: bool,
}

/// A group whose bytes are in the file.
struct Written {
    entry: GroupEntry,
    offset: u64,
    chunks: Vec<Stored>,
    /// The levels of each struct but the root, ascending by node.
    kept: Vec<(NodeIx, Kept)>,
}

/// A column chunk whose bytes are in the file.
struct Stored {
    leaf: NodeIx,
    offset: u64,
    hash: u64,
    metadata: ColumnChunkMetaData,
    table: PageTable,
    /// Bounds, and offsets, of the pages.
    indexes: [Index; 2],
}

/// A page index: its bytes until it is written, then where it is.
#[derive(Default)]
struct Index {
    bytes: Vec<u8>,
    offset: u64,
    len: i32,
}

/// A piece of a group that one thread makes.
enum Job<'a> {
    Column(&'a Column),
    Levels(NodeIx, &'a Column),
    Section(&'a str, &'a [u8]),
}

enum Made {
    Column(NodeIx, Box<Chunk>),
    Levels(NodeIx, Kept),
    Section(String, Option<Vec<u8>>),
}

impl<W: Write> Writer<W> {
    /// Begins a part.
    ///
    /// # Errors
    /// [`Error::Io`] if the output fails.
    pub fn new(mut out: W, options: Options) -> Result<Self, Error> {
        out.write_all(MAGIC)?;
        let root = Node { parent: 0, name: String::new(), layout: Layout::Struct };
        let schema = Schema::of(&Tree { nodes: vec![root] })?;
        let part = Part {
            position: MAGIC.len() as u64,
            options,
            tree: Tree::default(),
            schema,
            encodings: Vec::new(),
            groups: Vec::new(),
            is_broken: false,
        };
        Ok(Self { out, part })
    }

    /// The number of bytes that are written.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.part.position
    }

    /// Writes a group. Its nodes are the first ones of `tree`, which begins with the nodes of earlier groups.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if the tree or the group breaks a rule of [`crate::group`], [`Error::Io`] if the
    /// output fails.
    pub fn write(&mut self, tree: &Tree, group: &Group) -> Result<(), Error> {
        self.part.write(&mut self.out, tree, group)
    }

    /// Adds a section to the group that was written last.
    ///
    /// # Errors
    /// [`Error::Unwritable`] if there is no group, or the section is too long; [`Error::Io`] if the output
    /// fails.
    pub fn add_section(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        let compressed = self.part.compressed(bytes)?;
        self.part.add_section(&mut self.out, name, compressed, bytes)
    }

    /// Adds a section to the group that was written last, and does not compress it.
    ///
    /// # Errors
    /// Those of [`add_section`](Self::add_section).
    pub fn add_section_as_is(&mut self, name: &str, bytes: &[u8]) -> Result<(), Error> {
        self.part.add_section(&mut self.out, name, None, bytes)
    }

    /// Writes the directory and the footer, for a tree that begins with the nodes of all groups. The facts
    /// are strings that [`super::Reader::facts`] gives back.
    ///
    /// # Errors
    /// See [`Writer::write`].
    pub fn finish(mut self, tree: &Tree, facts: &[(String, String)]) -> Result<Summary, Error> {
        let summary = self.part.finish(&mut self.out, tree, facts)?;
        self.out.flush()?;
        Ok(summary)
    }
}

impl Part {
    fn write(&mut self, out: &mut dyn Write, tree: &Tree, group: &Group) -> Result<(), Error> {
        self.take_tree(tree)?;
        self.check(group)?;
        let made = self.encode(group)?;
        self.begin()?;
        let offset = self.position;
        let mut written =
            Written { entry: GroupEntry::default(), offset, chunks: Vec::new(), kept: Vec::new() };
        let mut columns = Vec::new();
        let mut sections = Vec::new();
        for made in made {
            match made {
                Made::Column(leaf, chunk) => columns.push((self.schema.column(leaf), leaf, chunk)),
                Made::Levels(node, kept) => written.kept.push((node, kept)),
                Made::Section(name, compressed) => sections.push((name, compressed)),
            }
        }
        columns.sort_unstable_by_key(|(column, ..)| *column);
        written.kept.sort_unstable_by_key(|(node, _)| *node);
        let column = |leaf| &group.columns[self.index(group, leaf)];
        let with_chunks = columns.iter().map(|(_, leaf, chunk)| (column(*leaf), &**chunk));
        let filtered = bloom::chosen(&self.tree, with_chunks, self.options.filters);
        for (_, leaf, chunk) in columns {
            if levels::count(&group.columns[self.index(group, leaf)].values) > 0 {
                self.encodings[leaf as usize] = Some(chunk.encoding);
            }
            written.chunks.push(self.put_chunk(out, leaf, *chunk)?);
        }
        self.align(out)?;
        let entry = &mut written.entry;
        for ((name, compressed), (_, bytes)) in sections.into_iter().zip(&group.sections) {
            entry.sections.push(self.put_section(out, name, compressed, bytes)?);
        }
        for column in filtered {
            let bytes = BloomFilter::of(&column.values).encode()?;
            entry.sections.push(self.put_section(out, bloom::section(column.node), None, &bytes)?);
        }
        (entry.rows, entry.nodes) = (group.rows, group.nodes);
        (entry.text_len, entry.text_hash) = (group.text_len, group.text_hash);
        self.groups.push(written);
        self.is_broken = false;
        Ok(())
    }

    fn add_section(
        &mut self,
        out: &mut dyn Write,
        name: &str,
        compressed: Option<Vec<u8>>,
        bytes: &[u8],
    ) -> Result<(), Error> {
        let Some(group) = self.groups.len().checked_sub(1) else {
            return Err(Error::unwritable("a section", "there is no group that it belongs to"));
        };
        check_section(group, bytes)?;
        self.begin()?;
        let section = self.put_section(out, name.to_owned(), compressed, bytes)?;
        self.groups[group].entry.sections.push(section);
        self.is_broken = false;
        Ok(())
    }

    fn finish(
        &mut self,
        out: &mut dyn Write,
        tree: &Tree,
        facts: &[(String, String)],
    ) -> Result<Summary, Error> {
        self.take_tree(tree)?;
        self.check_children(self.tree.nodes.len() as u32)?;
        self.begin()?;
        self.put_absent(out)?;
        let encodings = self.schema.leaves.iter();
        let encodings = encodings.map(|leaf| self.encodings[*leaf as usize].unwrap_or(Encoding::Plain));
        let encodings: Vec<Encoding> = encodings.collect();
        let indexes = self.indexes();
        let indexes = self.put(out, &indexes)?;
        let row_groups = self.row_groups()?;
        let leaves = self.leaf_summaries(&row_groups, &encodings);
        let directory = Directory {
            tree: std::mem::take(&mut self.tree),
            encodings,
            indexes,
            groups: self.groups.iter_mut().map(|group| std::mem::take(&mut group.entry)).collect(),
            facts: facts.to_vec(),
        };
        let place = Place { directory: self.put(out, &directory.encode())?, footer: 0 };
        let mut footer = footer::footer(&self.metadata(row_groups, Some(place)))?;
        let (_, digits) = Place::find(&footer)?;
        set_footer_hash(&mut footer, digits);
        self.put(out, &footer)?;
        Ok(Summary {
            rows: directory.groups.iter().map(|group| u64::from(group.rows)).sum(),
            text_bytes: directory.groups.iter().fold(0, |sum: u64, group| sum.saturating_add(group.text_len)),
            groups: directory.groups.len(),
            bytes: self.position,
            leaves,
        })
    }

    fn begin(&mut self) -> Result<(), Error> {
        if self.is_broken {
            return Err(Error::unwritable(
                "the part",
                "an earlier group failed half way; begin the part anew",
            ));
        }
        self.is_broken = true;
        Ok(())
    }

    /// Writes zeros up to the offset at which a section may begin.
    fn align(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let aligned = self.position.next_multiple_of(self.options.section_align.max(1));
        io::copy(&mut io::repeat(0).take(aligned - self.position), out)?;
        self.position = aligned;
        Ok(())
    }

    fn put(&mut self, out: &mut dyn Write, bytes: &[u8]) -> Result<Checked, Error> {
        out.write_all(bytes)?;
        let checked = Checked { offset: self.position, len: bytes.len() as u64, hash: hash(bytes) };
        self.position += checked.len;
        Ok(checked)
    }

    fn put_section(
        &mut self,
        out: &mut dyn Write,
        name: String,
        compressed: Option<Vec<u8>>,
        bytes: &[u8],
    ) -> Result<Section, Error> {
        let stored = self.put(out, compressed.as_deref().unwrap_or(bytes))?;
        let (is_compressed, full_len) = (compressed.is_some(), bytes.len() as u64);
        Ok(Section { name, is_compressed, stored, full_len })
    }

    /// The bytes of a section after compression, if they are fewer.
    fn compressed(&self, bytes: &[u8]) -> Result<Option<Vec<u8>>, Error> {
        let compress = |level| zstd::bulk::compress(bytes, level);
        let compressed = self.options.section_level.map(compress).transpose()?;
        Ok(compressed.filter(|compressed| compressed.len() < bytes.len()))
    }

    fn put_chunk(&mut self, out: &mut dyn Write, leaf: NodeIx, chunk: Chunk) -> Result<Stored, Error> {
        let Chunk { bytes, close, .. } = chunk;
        let table = PageTable::of(&bytes, &close);
        let table =
            table.ok_or_else(|| Error::unwritable("a column", "its page index is not of its pages"))?;
        let Checked { offset, hash, .. } = self.put(out, &bytes)?;
        let columns = close.column_index.as_ref();
        let columns = columns.and_then(|columns| index::of_columns(columns, self.tree.levels(leaf).0));
        let offsets = close.offset_index.as_ref().map(|offsets| index::of_offsets(offsets, offset));
        let indexes =
            [columns, offsets].map(|bytes| Index { bytes: bytes.unwrap_or_default(), ..Index::default() });
        Ok(Stored { leaf, offset, hash, metadata: close.metadata, table, indexes })
    }

    /// Takes the tree as it is now. Nodes of the tree before must be there unchanged.
    fn take_tree(&mut self, tree: &Tree) -> Result<(), Error> {
        if self.tree == *tree {
            return Ok(());
        }
        if !tree.nodes.starts_with(&self.tree.nodes) {
            return Err(Error::unwritable("the tree", "it does not begin with the nodes of the tree before"));
        }
        schema::check(tree).map_err(|why| Error::unwritable("the tree", why))?;
        self.schema = Schema::of(tree)?;
        self.encodings.resize(tree.nodes.len(), None);
        self.tree = tree.clone();
        Ok(())
    }

    fn check_children(&self, nodes: u32) -> Result<(), Error> {
        schema::check_children(&self.tree, nodes).map_err(|why| Error::unwritable("the tree", why))
    }

    fn check(&self, group: &Group) -> Result<(), Error> {
        let invalid = |why: &str| Err(Error::unwritable(format!("group {}", self.groups.len()), why));
        if group.nodes == 0 || group.nodes as usize > self.tree.nodes.len() {
            return invalid("its number of nodes is not one of the tree's prefixes");
        }
        // Parquet numbers its row groups with 16 bits. A group without rows is none of them.
        let row_groups = || self.groups.iter().filter(|written| written.entry.rows > 0).count();
        if group.rows > 0 && self.groups.len() >= i16::MAX as usize && row_groups() >= i16::MAX as usize {
            return invalid("a part has at most 32,767 groups with rows");
        }
        self.check_children(group.nodes)?;
        group.sections.iter().try_for_each(|(_, bytes)| check_section(self.groups.len(), bytes))?;
        if !self.tree.leaves(group.nodes).eq(group.columns.iter().map(|column| column.node)) {
            return invalid("its columns are not the leaves among its nodes");
        }
        for column in &group.columns {
            levels::check(&self.tree, column, group.rows).map_err(|why| {
                let name = &self.tree.nodes[column.node as usize].name;
                Error::unwritable(format!("column `{name}` (node {})", column.node), format!("it has {why}"))
            })?;
        }
        Ok(())
    }

    /// The index of a leaf among the columns of a group.
    fn index(&self, group: &Group, leaf: NodeIx) -> usize {
        group.columns.partition_point(|column| column.node < leaf)
    }

    fn encode(&self, group: &Group) -> Result<Vec<Made>, Error> {
        let mut jobs: Vec<(usize, Job<'_>)> = Vec::new();
        if group.rows > 0 {
            jobs.extend(group.columns.iter().map(|column| (weight(column), Job::Column(column))));
            let structs = self.representatives(group).into_iter();
            jobs.extend(structs.map(|(node, column)| (column.definitions.len(), Job::Levels(node, column))));
        }
        // What takes longest is first, so that no thread is left with it at the end. Sections keep their
        // order.
        jobs.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let sections = group.sections.iter().map(|(name, bytes)| (0, Job::Section(name, bytes)));
        jobs.extend(sections);
        let made = pool::map_in(self.options.workers.max(1), jobs, |(_, job)| self.make(job));
        made.into_iter().collect()
    }

    fn make(&self, job: Job<'_>) -> Result<Made, Error> {
        Ok(match job {
            Job::Column(column) => Made::Column(column.node, Box::new(self.encode_column(column)?)),
            Job::Levels(node, column) => Made::Levels(node, Kept::of(column, self.tree.levels(node))?),
            Job::Section(name, bytes) => Made::Section(name.into(), self.compressed(bytes)?),
        })
    }

    fn encode_column(&self, column: &Column) -> Result<Chunk, Error> {
        let leaf = Leaf {
            descriptor: self.descriptor(column.node)?,
            layout: self.tree.nodes[column.node as usize].layout,
            options: &self.options,
        };
        // Without values there is nothing to choose from, and a dictionary would be an empty page.
        let encoding = match levels::count(&column.values) {
            0 => Some(Encoding::Plain),
            _ => self.encodings[column.node as usize],
        };
        leaf.encode(column, encoding)
    }

    fn descriptor(&self, leaf: NodeIx) -> Result<&ColumnDescPtr, Error> {
        let column = self.schema.column(leaf);
        let column = column.and_then(|column| self.schema.descriptor.columns().get(column));
        column.ok_or_else(|| Error::Missing(format!("leaf {leaf}")))
    }

    /// A column below each struct but the root: the one with the fewest entries, as its levels take least
    /// time.
    fn representatives<'a>(&self, group: &'a Group) -> Vec<(NodeIx, &'a Column)> {
        let mut best: Vec<Option<&Column>> = vec![None; group.nodes as usize];
        for column in &group.columns {
            let mut node = self.tree.nodes[column.node as usize].parent;
            while node != 0 {
                let best = &mut best[node as usize];
                if best.is_none_or(|best| column.definitions.len() < best.definitions.len()) {
                    *best = Some(column);
                }
                node = self.tree.nodes[node as usize].parent;
            }
        }
        let is_struct = |node: NodeIx| self.tree.nodes[node as usize].layout == Layout::Struct;
        let all = best.into_iter().enumerate().filter_map(|(node, best)| Some((node as NodeIx, best?)));
        all.filter(|(node, _)| is_struct(*node)).collect()
    }

    /// Writes columns without values for the leaves that groups do not have, and the pages of all chunks.
    fn put_absent(&mut self, out: &mut dyn Write) -> Result<(), Error> {
        let mut groups = std::mem::take(&mut self.groups);
        for group in groups.iter_mut().filter(|group| group.entry.rows > 0) {
            let size = (group.entry.rows, group.entry.nodes);
            let late = self.schema.leaves.iter().filter(|leaf| **leaf >= group.entry.nodes);
            let late: Vec<NodeIx> = late.copied().collect();
            let made = pool::map_in(self.options.workers.max(1), late, |leaf| {
                let column = levels::absent(&self.tree, leaf, size, &group.kept)?;
                Ok::<_, Error>((leaf, self.encode_column(&column)?))
            });
            for made in made {
                let (leaf, chunk) = made?;
                group.chunks.push(self.put_chunk(out, leaf, chunk)?);
            }
            group.chunks.sort_unstable_by_key(|chunk| self.schema.column(chunk.leaf));
            group.entry.chunks = group.chunks.iter().map(|chunk| chunk.hash).collect();
            group.kept = Vec::new();
        }
        for group in groups.iter_mut().filter(|group| group.entry.rows > 0) {
            let mut tables = Vec::new();
            group.chunks.iter().for_each(|chunk| chunk.table.encode(&mut tables));
            group.entry.pages = self.put(out, &tables)?;
        }
        self.groups = groups;
        Ok(())
    }
}

/// Refuses a section that is too long.
fn check_section(group: usize, bytes: &[u8]) -> Result<(), Error> {
    match bytes.len() as u64 > MAX_SECTION {
        true => Err(Error::unwritable(format!("group {group}"), "a section has 4 GiB or more")),
        false => Ok(()),
    }
}

/// The work that a column is, in bytes.
fn weight(column: &Column) -> usize {
    let values = match &column.values {
        Values::Boolean(values) => values.len(),
        Values::Int(values) => values.len() * 8,
        Values::Double(values) => values.len() * 8,
        Values::Bytes(values) => values.bytes.len() + values.ends.len() * 8,
    };
    values + column.definitions.len() * 2
}
