//! Parts that are written, read, cut, changed and forged.

#[path = "file/records.rs"]
mod records;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use parquet::arrow::arrow_reader::{
    ArrowReaderOptions, ParquetRecordBatchReaderBuilder, RowSelection, RowSelector,
};
use parquet::file::metadata::{
    ColumnChunkMetaData, FileMetaData, KeyValue, PageIndexPolicy, ParquetMetaData, ParquetMetaDataReader,
    ParquetMetaDataWriter, RowGroupMetaData,
};
use parquet::file::page_index::column_index::ColumnIndexMetaData;
use parquet::file::properties::ReaderProperties;
use parquet::file::reader::FileReader;
use parquet::file::serialized_reader::{ReadOptionsBuilder, SerializedFileReader};
use records::{add, group, grow_anywhere, no_values, record, tree};
use warpath_part::file::{
    Bound, Encoding, Error, Filters, Options, RESIDENT, RESIDENT_LINES, ReadAt, Reader, Writer, is_part,
};
use warpath_part::group::{Column, Group, Layout, Strings, Tree, Values};
use warpath_random::{Rng, cases};
use xxhash_rust::xxh3::xxh3_64;

/// Small pages, so that a column has several. Short columns have Bloom filters, too.
fn options() -> Options {
    let filters = Filters { values: 2, chunk: 0, group: 0 };
    Options { page_rows: 16, sample: 64, filters, workers: 2, ..Options::default() }
}

fn facts() -> Vec<(String, String)> {
    vec![("name".into(), "ä \u{18}warpath".into()), ("warpath".into(), "part 2 ".into())]
}

fn write(tree: &Tree, groups: &[Group]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, options()).unwrap();
    for group in groups {
        writer.write(tree, group).unwrap();
    }
    let summary = writer.finish(tree, &facts()).unwrap();
    assert_eq!(summary.bytes, out.len() as u64);
    assert_eq!(summary.groups, groups.len());
    assert_eq!(summary.rows, groups.iter().map(|group| u64::from(group.rows)).sum::<u64>());
    out
}

fn open(bytes: &[u8]) -> Reader {
    Reader::open(Bytes::copy_from_slice(bytes)).unwrap()
}

/// A section of each kind: empty, not compressible, compressible.
fn sections(rng: &mut Rng) -> Vec<(String, Vec<u8>)> {
    let noise = (0..rng.below(100)).map(|_| rng.next_u64() as u8).collect();
    vec![("shapes".into(), Vec::new()), ("styles".into(), noise), ("ends".into(), vec![7; 1000])]
}

fn strings(all: &[&str]) -> Values {
    let mut strings = Strings::default();
    for text in all {
        strings.bytes.extend_from_slice(text.as_bytes());
        strings.ends.push(strings.bytes.len() as u32);
    }
    Values::Bytes(strings)
}

/// Two groups by hand. The second one adds `tags`, and `c` to the struct in the list `items`.
fn by_hand() -> (Tree, Vec<Group>) {
    let mut tree = tree();
    let id = add(&mut tree, 0, "id", Layout::Int);
    let items = add(&mut tree, 0, "items", Layout::List);
    let element = add(&mut tree, items, "element", Layout::Struct);
    let a = add(&mut tree, element, "a", Layout::String);
    let first = Group {
        rows: 4,
        nodes: tree.nodes.len() as u32,
        columns: vec![
            Column {
                node: id,
                values: Values::Int(vec![1, 2, 4]),
                definitions: vec![1, 1, 0, 1],
                repetitions: Vec::new(),
            },
            // [{a: "x"}, {}], [], null, [null, {a: ""}]
            Column {
                node: a,
                values: strings(&["x", ""]),
                definitions: vec![4, 3, 1, 0, 2, 4],
                repetitions: vec![0, 1, 0, 0, 0, 1],
            },
        ],
        sections: vec![("shapes".into(), b"one two one two one two one two".to_vec())],
        text_len: 99,
        text_hash: 77,
    };
    let c = add(&mut tree, element, "c", Layout::Double);
    let tags = add(&mut tree, 0, "tags", Layout::List);
    let tag = add(&mut tree, tags, "element", Layout::Boolean);
    let second = Group {
        rows: 1,
        nodes: tree.nodes.len() as u32,
        columns: vec![
            Column { node: id, values: Values::Int(vec![-5]), definitions: vec![1], repetitions: Vec::new() },
            Column { node: a, values: strings(&["yy"]), definitions: vec![3, 4], repetitions: vec![0, 1] },
            Column {
                node: c,
                values: Values::Double(vec![0.5, 2.5]),
                definitions: vec![4, 4],
                repetitions: vec![0, 1],
            },
            Column {
                node: tag,
                values: Values::Boolean(vec![true, false]),
                definitions: vec![3, 2, 3],
                repetitions: vec![0, 1, 1],
            },
        ],
        ..Group::default()
    };
    (tree, vec![first, second])
}

#[test]
fn groups_by_hand_come_back() {
    let (tree, groups) = by_hand();
    let bytes = write(&tree, &groups);
    assert!(is_part(&bytes).unwrap());
    let reader = open(&bytes);
    reader.verify().unwrap();
    assert_eq!(*reader.tree(), tree);
    assert_eq!(reader.facts(), facts());
    assert_eq!(reader.groups(), 2);
    for (index, group) in groups.iter().enumerate() {
        assert_eq!(reader.group(index).unwrap(), *group);
        for column in &group.columns {
            assert_eq!(reader.column(index, column.node).unwrap(), *column);
        }
    }
    let late = Column {
        node: 5,
        values: Values::Double(Vec::new()),
        definitions: vec![3, 3, 1, 0, 2, 3],
        repetitions: vec![0, 1, 0, 0, 0, 1],
    };
    let tags = Column {
        node: 7,
        values: Values::Boolean(Vec::new()),
        definitions: vec![0; 4],
        repetitions: vec![0; 4],
    };
    assert_eq!(reader.columns(0, &[7, 5]).unwrap(), [tags, late]);
    assert_eq!(reader.section(0, "shapes").unwrap().as_deref(), Some(&groups[0].sections[0].1[..]));
    assert_eq!(reader.section(1, "shapes").unwrap(), None);
    let size = reader.size(0).unwrap();
    assert_eq!((size.rows, size.text_len, size.text_hash), (4, 99, 77));
    assert!(matches!(reader.column(2, 1), Err(Error::Missing(_))));
    assert!(matches!(reader.column(0, 2), Err(Error::Missing(_))));
    assert!(matches!(reader.column(0, 99), Err(Error::Missing(_))));
}

#[test]
fn summaries_have_sizes_and_bounds() {
    let (tree, groups) = by_hand();
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, options()).unwrap();
    groups.iter().for_each(|group| writer.write(&tree, group).unwrap());
    let summary = writer.finish(&tree, &[]).unwrap();
    assert_eq!(summary.text_bytes, 99);
    let nodes: Vec<_> = summary.leaves.iter().map(|leaf| leaf.node).collect();
    assert_eq!(nodes, [1, 4, 5, 7], "in the order of the schema");
    let bounds = |index: usize| {
        let bounds = summary.leaves[index].bounds.clone().unwrap();
        assert!(bounds.is_exact);
        (bounds.least, bounds.greatest)
    };
    assert_eq!(bounds(0), (Bound::Int(-5), Bound::Int(4)));
    assert_eq!(bounds(1), (Bound::Bytes(b"".into()), Bound::Bytes(b"yy".into())));
    assert_eq!(bounds(2), (Bound::Double(0.5), Bound::Double(2.5)));
    assert_eq!(bounds(3), (Bound::Boolean(false), Bound::Boolean(true)));
    assert_eq!(summary.leaves[0].nulls, 1);
    let reader = open(&out);
    assert_eq!(reader.leaf(1, 1).unwrap().bounds.unwrap().greatest, Bound::Int(-5));
    assert_eq!(reader.leaf(0, 5).unwrap().bounds, None);
}

/// Reads all rows, and some rows by the page indexes, as DataFusion does.
fn read_by_arrow(bytes: &[u8], groups: &[Group], rng: &mut Rng) {
    let rows = groups.iter().map(|group| group.rows as usize).sum();
    let skipped = rng.below(rows + 1);
    let taken = rng.below(rows - skipped + 1);
    let selection = RowSelection::from(vec![RowSelector::skip(skipped), RowSelector::select(taken)]);
    for (selection, expected) in [(None, rows), (Some(selection), taken)] {
        let options = ArrowReaderOptions::new().with_page_index_policy(PageIndexPolicy::Optional);
        let bytes = Bytes::copy_from_slice(bytes);
        let builder = ParquetRecordBatchReaderBuilder::try_new_with_options(bytes, options).unwrap();
        let builder = match selection {
            Some(selection) => builder.with_row_selection(selection),
            None => builder,
        };
        let read: usize = builder.build().unwrap().map(|batch| batch.unwrap().num_rows()).sum();
        assert_eq!(read, expected);
    }
}

#[test]
fn random_groups_come_back() {
    for seed in 0..cases(60) as u64 {
        let mut rng = Rng::new(seed);
        let mut tree = tree();
        let mut groups = Vec::new();
        let mut all = Vec::new();
        for _ in 0..1 + rng.below(4) {
            if tree.nodes.len() == 1 || rng.below(2) == 0 {
                grow_anywhere(&mut tree, &mut rng);
            }
            let rows = rng.pick(&[0, 1, 7, 120]);
            let nulls = rng.pick(&[0, 1, 3, 8]);
            let made: Vec<_> = (0..rows).map(|_| record(&tree, &mut rng, nulls)).collect();
            let nodes = tree.nodes.len() as u32;
            let mut made_group = group(&tree, nodes, &made);
            made_group.sections = sections(&mut rng);
            made_group.text_len = rng.next_u64();
            made_group.text_hash = rng.next_u64();
            groups.push(made_group);
            all.push(made);
        }
        // Nodes that no group has.
        if rng.below(3) == 0 {
            grow_anywhere(&mut tree, &mut rng);
        }
        let bytes = write(&tree, &groups);
        let reader = open(&bytes);
        reader.verify().unwrap();
        read_by_arrow(&bytes, &groups, &mut rng);
        let nodes = tree.nodes.len() as u32;
        let leaves: Vec<_> = tree.leaves(nodes).collect();
        for (index, records) in all.iter().enumerate() {
            assert_eq!(reader.group(index).unwrap(), groups[index], "seed {seed}, group {index}");
            // Late leaves have the levels that the records have with the whole tree.
            let whole = group(&tree, nodes, records);
            assert_eq!(reader.columns(index, &leaves).unwrap(), whole.columns, "seed {seed}, group {index}");
            let start = rng.below(records.len() + 1);
            let end = start + rng.below(records.len() - start + 2);
            let some = group(&tree, nodes, &records[start..end.min(records.len())]);
            let read = reader.rows(index, &leaves, start as u32..end as u32).unwrap();
            assert_eq!(read, some.columns, "seed {seed}, group {index}, rows {start} to {end}");
        }
    }
}

#[test]
fn a_tree_without_leaves_has_rows() {
    let tree = tree();
    let empty = Group { rows: 3, nodes: 1, ..Group::default() };
    let reader = open(&write(&tree, std::slice::from_ref(&empty)));
    assert_eq!(reader.group(0).unwrap(), empty);
    let reader = open(&write(&tree, &[]));
    assert_eq!(reader.groups(), 0);
    reader.verify().unwrap();
}

/// One column of a type at the root. Its first page has only nulls.
fn one_leaf(layout: Layout, values: Values, values_len: u32) -> (Tree, Group) {
    let mut tree = tree();
    let node = add(&mut tree, 0, "leaf", layout);
    let mut definitions = vec![0; 9000];
    definitions.resize(9000 + values_len as usize, 1);
    let rows = definitions.len() as u32;
    let column = Column { node, values, definitions, repetitions: Vec::new() };
    (tree, Group { rows, nodes: 2, columns: vec![column], ..Group::default() })
}

fn chosen(layout: Layout, values: Values, rows: u32) -> Encoding {
    let (tree, group) = one_leaf(layout, values, rows);
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, Options::default()).unwrap();
    writer.write(&tree, &group).unwrap();
    let summary = writer.finish(&tree, &[]).unwrap();
    let reader = open(&out);
    assert_eq!(reader.group(0).unwrap(), group);
    assert_eq!(reader.encoding(1), Some(summary.leaves[0].encoding));
    summary.leaves[0].encoding
}

#[test]
fn encodings_are_chosen_by_trial() {
    let mut rng = Rng::new(1);
    let rows = 20_000_u32;
    let ascending = (0..i64::from(rows)).map(|row| 1_700_000_000_000 + row * 1000 + row % 7).collect();
    assert_eq!(chosen(Layout::Int, Values::Int(ascending), rows), Encoding::Delta);
    let wide: Vec<i64> = (0..50).map(|_| rng.next_u64() as i64).collect();
    let few = (0..rows).map(|_| rng.pick(&wide)).collect();
    assert_eq!(chosen(Layout::Int, Values::Int(few), rows), Encoding::Dictionary);
    let doubles = (0..rows).map(|_| rng.below(1 << 30) as f64 / 1024.0).collect();
    assert_eq!(chosen(Layout::Double, Values::Double(doubles), rows), Encoding::ByteStreamSplit);
    let texts: Vec<String> =
        (0..rows).map(|row| format!("at://did:plc:abcdef/app.bsky.feed/{row:08}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    assert_eq!(chosen(Layout::String, strings(&texts), rows), Encoding::DeltaPrefix);
}

#[test]
fn groups_that_break_a_rule_are_refused() {
    let (tree, groups) = by_hand();
    let refused = |tree: &Tree, group: &Group| {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, options()).unwrap();
        assert!(matches!(writer.write(tree, group), Err(Error::Unwritable { .. })), "{group:?}");
    };
    let changed = |change: &dyn Fn(&mut Group)| {
        let mut group = groups[0].clone();
        change(&mut group);
        refused(&tree, &group);
    };
    changed(&|group| group.rows = 5);
    changed(&|group| group.nodes = 9);
    changed(&|group| group.nodes = 0);
    changed(&|group| group.nodes = 8);
    changed(&|group| group.columns.truncate(1));
    changed(&|group| group.columns[0].values = Values::Int(vec![1]));
    changed(&|group| group.columns[0].values = no_values(Layout::String));
    changed(&|group| group.columns[0].definitions[0] = 2);
    changed(&|group| group.columns[0].repetitions = vec![0; 4]);
    changed(&|group| group.columns[1].repetitions[0] = 1);
    changed(&|group| group.columns[1].repetitions[1] = 2);
    changed(&|group| group.columns[1].repetitions.truncate(5));
    let broken = Strings { bytes: b"abc".into(), ends: vec![2, 1] };
    changed(&|group| group.columns[1].values = Values::Bytes(broken.clone()));
    let half = Strings { bytes: "ä".into(), ends: vec![1, 2] };
    changed(&|group| group.columns[1].values = Values::Bytes(half.clone()));
    let mut twice = tree.clone();
    add(&mut twice, 0, "ID", Layout::Int);
    refused(&twice, &groups[0]);
    let mut childless = tree.clone();
    add(&mut childless, 0, "none", Layout::Struct);
    let writer = Writer::new(Vec::new(), options()).unwrap();
    assert!(matches!(writer.finish(&childless, &[]), Err(Error::Unwritable { .. })));
    let mut deep = records::tree();
    (0..200).fold(0, |parent, _| add(&mut deep, parent, "deep", Layout::Struct));
    refused(&deep, &groups[0]);
    // A tree that does not begin with the one before.
    let mut writer = Writer::new(Vec::new(), options()).unwrap();
    writer.write(&tree, &groups[0]).unwrap();
    assert!(matches!(writer.write(&records::tree(), &groups[0]), Err(Error::Unwritable { .. })));
}

/// Everything that a reader gives of a part.
type Contents = (Tree, Vec<(String, String)>, Vec<Group>, Vec<Vec<Column>>, Vec<Vec<Column>>);

fn contents(source: Arc<dyn ReadAt>) -> Result<Contents, Error> {
    let reader = Reader::open_shared(source)?.with_workers(2);
    let tree = reader.tree().clone();
    let leaves: Vec<_> = tree.leaves(tree.nodes.len() as u32).collect();
    let groups = (0..reader.groups()).map(|group| reader.group(group)).collect::<Result<_, _>>()?;
    let columns = (0..reader.groups()).map(|group| reader.columns(group, &leaves));
    let columns = columns.collect::<Result<_, _>>()?;
    let rows = (0..reader.groups()).map(|group| reader.rows(group, &leaves, 2..19));
    let rows = rows.collect::<Result<_, _>>()?;
    Ok((tree, reader.facts().to_vec(), groups, columns, rows))
}

/// A part with pages of each type, late leaves, and sections.
fn sample() -> Vec<u8> {
    let mut rng = Rng::new(11);
    let mut tree = tree();
    let mut groups = Vec::new();
    for rows in [60, 0, 20] {
        grow_anywhere(&mut tree, &mut rng);
        let records: Vec<_> = (0..rows).map(|_| record(&tree, &mut rng, 1)).collect();
        let mut made = group(&tree, tree.nodes.len() as u32, &records);
        made.sections = sections(&mut rng);
        groups.push(made);
    }
    write(&tree, &groups)
}

#[test]
fn changed_bytes_are_found() {
    let bytes = sample();
    let right = contents(Arc::new(bytes.clone())).unwrap();
    let mut rng = Rng::new(5);
    let footer = bytes.len() - 8;
    let footer = footer - u32::from_le_bytes(*bytes[footer..].first_chunk().unwrap()) as usize - 8;
    let anywhere = (0..cases(2000)).map(|_| rng.below(bytes.len()));
    let mut errors = 0;
    // All bytes of the end: the footer, and before it the directory.
    let places: Vec<usize> = anywhere.chain(footer.saturating_sub(3000)..bytes.len()).collect();
    for place in &places {
        let mut changed = bytes.clone();
        changed[*place] ^= 1 << rng.below(8);
        match contents(Arc::new(changed.clone())) {
            Ok(same) => assert_eq!(same, right, "byte {place}"),
            Err(_) => errors += 1,
        }
        // Not one byte is outside of the checks of the whole file.
        let verified = Reader::open(changed).and_then(|reader| reader.verify());
        assert!(verified.is_err(), "byte {place} is not checked");
    }
    assert!(errors > places.len() / 2, "{errors} of {}", places.len());
}

#[test]
fn cut_files_are_errors() {
    let (tree, groups) = by_hand();
    let bytes = write(&tree, &groups);
    for len in 0..bytes.len() {
        assert!(Reader::open(bytes[..len].to_vec()).is_err(), "{len} bytes");
        assert!(!is_part(&bytes[..len].to_vec()).unwrap(), "{len} bytes");
    }
}

/// A part as its ranges, to forge it: what is changed gets the right checksums.
struct Forger {
    body: Vec<u8>,
    directory: Vec<u8>,
    footer: Vec<u8>,
    /// The offset of the digits of the directory's hash in the footer.
    digits: usize,
}

impl Forger {
    fn of(bytes: &[u8]) -> Self {
        let tail = bytes.len() - 8;
        let footer = tail - u32::from_le_bytes(*bytes[tail..].first_chunk().unwrap()) as usize;
        let pattern = b"part 1 directory ";
        let value = bytes[footer..].windows(pattern.len()).rposition(|window| window == pattern).unwrap();
        let start = value + pattern.len();
        let offset = std::str::from_utf8(&bytes[footer + start..][..16]).unwrap();
        let offset = usize::from_str_radix(offset, 16).unwrap();
        Self {
            body: bytes[..offset].to_vec(),
            directory: bytes[offset..footer].to_vec(),
            footer: bytes[footer..].to_vec(),
            digits: start + 34,
        }
    }

    fn set(&mut self, at: usize, number: u64) {
        self.footer[at..at + 16].copy_from_slice(format!("{number:016x}").as_bytes());
    }

    /// The file, with the directory's length and both hashes made right.
    fn bytes(mut self) -> Vec<u8> {
        self.set(self.digits - 17, self.directory.len() as u64);
        self.set(self.digits, xxh3_64(&self.directory));
        let own = self.digits + 16 + " footer ".len();
        self.footer[own..own + 16].fill(b'0');
        let hash = xxh3_64(&self.footer);
        self.set(own, hash);
        [self.body, self.directory, self.footer].concat()
    }
}

#[test]
fn forged_directories_are_errors_or_harmless() {
    let (tree, groups) = by_hand();
    let right = write(&tree, &groups);
    assert_eq!(Forger::of(&right).bytes(), right);
    let len = Forger::of(&right).directory.len();
    for at in 0..len {
        for number in [0, 1, 1 << 20, 1 << 31, 1 << 60, u64::MAX] {
            let mut forged = Forger::of(&right);
            let number = number.to_le_bytes();
            let room = &mut forged.directory[at..(at + 8).min(len)];
            room.copy_from_slice(&number[..room.len()]);
            // No panic, and no allocation of 2^60.
            let _ = contents(Arc::new(forged.bytes()));
        }
        let mut forged = Forger::of(&right);
        forged.directory.truncate(at);
        assert!(contents(Arc::new(forged.bytes())).is_err(), "{at} bytes");
    }
}

#[test]
fn forged_footers_are_errors_or_harmless() {
    let (tree, groups) = by_hand();
    let right = write(&tree, &groups);
    let mut rng = Rng::new(3);
    let len = Forger::of(&right).footer.len();
    for _ in 0..cases(3000) {
        let mut forged = Forger::of(&right);
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(len - 8);
            // Varints with many digits, types of fields, ends of structures.
            forged.footer[at] =
                rng.pick(&[0, 0xff, 0x7f, 0x19, 0xfc, 0x1c, 0x15, rng.clone().next_u64() as u8]);
        }
        let _ = contents(Arc::new(forged.bytes()));
    }
}

#[test]
fn forged_chunks_are_errors_or_harmless() {
    let right = sample();
    let reader = open(&right);
    let mut rng = Rng::new(9);
    let row_groups = reader.metadata().unwrap().row_groups().iter();
    let ranges: Vec<(u64, u64)> =
        row_groups.flat_map(RowGroupMetaData::columns).map(ColumnChunkMetaData::byte_range).collect();
    for _ in 0..cases(3000) {
        let (offset, len) = rng.pick(&ranges);
        let (start, len) = (offset as usize, len as usize);
        let mut forged = Forger::of(&right);
        let before = xxh3_64(&forged.body[start..start + len]).to_le_bytes();
        // Half of the changes hit the header of the first page.
        let at = start + if rng.below(2) == 0 { rng.below(len) } else { rng.below(len.min(24)) };
        forged.body[at] = rng.pick(&[0, 0xff, 0x7f, 0x15, rng.clone().next_u64() as u8]);
        let after = xxh3_64(&forged.body[start..start + len]).to_le_bytes();
        let place = forged.directory.windows(8).position(|window| window == before).unwrap();
        forged.directory[place..place + 8].copy_from_slice(&after);
        let _ = contents(Arc::new(forged.bytes()));
    }
}

#[test]
fn forged_page_tables_are_errors_or_harmless() {
    let right = sample();
    // The tables lie between the last chunk and the first page index.
    let metadata = open(&right).metadata().unwrap().clone();
    let chunks = || metadata.row_groups().iter().flat_map(RowGroupMetaData::columns);
    let start = chunks().map(ColumnChunkMetaData::byte_range).map(|(start, len)| start + len).max().unwrap();
    let end = chunks().filter_map(ColumnChunkMetaData::column_index_offset).min().unwrap();
    let (start, end) = (start as usize, end as usize);
    let directory = Forger::of(&right).directory;
    let ranges: Vec<(usize, usize)> = directory
        .windows(16)
        .filter_map(|range| {
            let [offset, len] =
                [&range[..8], &range[8..]].map(|word| u64::from_le_bytes(word.try_into().unwrap()) as usize);
            (offset >= start && len > 0 && offset.checked_add(len)? <= end).then_some((offset, len))
        })
        .collect();
    assert_eq!(ranges.len(), 2, "groups with rows");
    let mut rng = Rng::new(21);
    for _ in 0..cases(1000) {
        let (offset, len) = rng.pick(&ranges);
        let mut forged = Forger::of(&right);
        let before = xxh3_64(&forged.body[offset..offset + len]).to_le_bytes();
        let at = offset + rng.below(len);
        let number = rng.pick(&[0, 1, 1 << 31, 1 << 60, u64::MAX]).to_le_bytes();
        let room = &mut forged.body[at..(at + 8).min(offset + len)];
        room.copy_from_slice(&number[..room.len()]);
        let after = xxh3_64(&forged.body[offset..offset + len]).to_le_bytes();
        let place = forged.directory.windows(8).position(|window| window == before).unwrap();
        forged.directory[place..place + 8].copy_from_slice(&after);
        let _ = contents(Arc::new(forged.bytes()));
    }
}

#[test]
fn other_files_are_told_apart() {
    let foreign = |bytes: Vec<u8>| {
        assert!(!is_part(&bytes).unwrap());
        Reader::open(bytes).err().unwrap()
    };
    assert!(matches!(foreign(Vec::new()), Error::NotParquet));
    assert!(matches!(foreign(b"{\"a\": 1}\n{\"a\": 2}\n".to_vec()), Error::NotParquet));
    let (tree, groups) = by_hand();
    let right = write(&tree, &groups);
    // Written again by another program: once without the key, once with a copy of it.
    let metadata = open(&right).metadata().unwrap().clone();
    let again = |keys: Option<Vec<KeyValue>>| {
        let file = metadata.file_metadata();
        let schema = file.schema_descr_ptr();
        let file = FileMetaData::new(2, file.num_rows(), Some("another".into()), keys, schema, None);
        let mut bytes = b"PAR1".to_vec();
        let metadata = ParquetMetaData::new(file, Vec::new());
        ParquetMetaDataWriter::new(&mut bytes, &metadata).finish().unwrap();
        bytes
    };
    assert!(matches!(foreign(again(None)), Error::Foreign));
    let keys = metadata.file_metadata().key_value_metadata().cloned();
    assert!(keys.is_some());
    assert!(matches!(foreign(again(keys)), Error::Foreign));
    // A later version.
    let at = right.windows(7).rposition(|window| window == b"part 1 ").unwrap();
    let mut later = right.clone();
    later[at + 5] = b'7';
    assert!(is_part(&later).unwrap());
    let error = Reader::open(later).err().unwrap();
    assert!(matches!(error, Error::Version { found: 7 }));
    assert!(error.to_string().contains("version 7"), "{error}");
}

/// The library for Parquet finds the page index of each column, and its own check of the footer holds.
#[test]
fn page_indexes_lead_to_the_pages() {
    let bytes = Bytes::from(sample());
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = reader.parse_and_finish(&bytes).unwrap();
    let (offsets, columns) = (metadata.offset_index().unwrap(), metadata.column_index().unwrap());
    assert_eq!(offsets.len(), 2, "the group without rows has none");
    let mut pages = 0;
    for (group, (offsets, columns)) in metadata.row_groups().iter().zip(offsets.iter().zip(columns)) {
        for (chunk, (offset, column)) in group.columns().iter().zip(offsets.iter().zip(columns)) {
            let (start, len) = chunk.byte_range();
            let mut end = chunk.data_page_offset();
            for page in offset.page_locations() {
                assert_eq!(page.offset, end);
                end += i64::from(page.compressed_page_size);
            }
            assert_eq!(end.unsigned_abs(), start + len);
            // The library writes no index if a page below lists has no values.
            if chunk.column_descr().max_rep_level() == 0 || !matches!(column, ColumnIndexMetaData::NONE) {
                assert_eq!(column.num_pages() as usize, offset.page_locations().len());
            }
            pages += offset.page_locations().len();
        }
    }
    assert!(pages > metadata.row_groups().iter().map(RowGroupMetaData::num_columns).sum());
}

/// The bounds of each page are those of its values.
#[test]
fn page_indexes_have_the_bounds_of_pages() {
    let mut rng = Rng::new(17);
    let mut tree = tree();
    let id = add(&mut tree, 0, "id", Layout::Int);
    let text = add(&mut tree, 0, "text", Layout::String);
    let records: Vec<_> = (0..300).map(|row| record(&tree, &mut rng, if row < 32 { 8 } else { 2 })).collect();
    let bytes = Bytes::from(write(&tree, &[group(&tree, 3, &records)]));
    let options = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Required);
    let metadata = options.parse_and_finish(&bytes).unwrap();
    let (offsets, columns) = (&metadata.offset_index().unwrap()[0], &metadata.column_index().unwrap()[0]);
    let reader = open(&bytes);
    let mut null_pages = 0;
    for (page, location) in offsets[0].page_locations().iter().enumerate() {
        let next = offsets[0].page_locations().get(page + 1).map_or(300, |next| next.first_row_index);
        let rows = location.first_row_index as u32..next as u32;
        let read = reader.rows(0, &[id, text], rows).unwrap();
        let (Values::Int(ids), Values::Bytes(texts)) = (&read[0].values, &read[1].values) else { panic!() };
        let ColumnIndexMetaData::INT64(index) = &columns[0] else { panic!() };
        assert_eq!((index.min_value(page), index.max_value(page)), (ids.iter().min(), ids.iter().max()));
        assert_eq!(columns[0].null_count(page), Some((read[0].definitions.len() - ids.len()) as i64));
        let starts = [0].iter().chain(&texts.ends);
        let texts = starts.zip(&texts.ends).map(|(start, end)| &texts.bytes[*start as usize..*end as usize]);
        let ColumnIndexMetaData::BYTE_ARRAY(index) = &columns[1] else { panic!() };
        assert_eq!((index.min_value(page), index.max_value(page)), (texts.clone().min(), texts.max()));
        null_pages += usize::from(columns[0].is_null_page(page));
    }
    assert_eq!(null_pages, 2);
    assert!(reader.rows(0, &[id], 400..500).unwrap()[0].definitions.is_empty());
}

/// The library says of this page that it has nulls only, because it has as many nulls as rows.
#[test]
fn page_indexes_hide_no_values() {
    let mut tree = tree();
    let list = add(&mut tree, 0, "list", Layout::List);
    let leaf = add(&mut tree, list, "element", Layout::Int);
    let (definitions, repetitions) = (vec![2, 3, 2], vec![0, 1, 0]);
    let column = Column { node: leaf, values: Values::Int(vec![1]), definitions, repetitions };
    let group = Group { rows: 2, nodes: 3, columns: vec![column], ..Group::default() };
    let bytes = Bytes::from(write(&tree, &[group]));
    let reader = ParquetMetaDataReader::new().with_page_index_policy(PageIndexPolicy::Optional);
    let metadata = reader.parse_and_finish(&bytes).unwrap();
    let index = metadata.column_index().map_or(&ColumnIndexMetaData::NONE, |index| &index[0][0]);
    assert!(matches!(index, ColumnIndexMetaData::NONE) || !index.is_null_page(0));
}

/// A source that counts its reads.
struct Counted(Bytes, AtomicUsize);

impl ReadAt for Counted {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> std::io::Result<()> {
        self.1.fetch_add(1, Ordering::Relaxed);
        ReadAt::read_at(&self.0, offset, buffer)
    }
}

#[test]
fn reads_are_few() {
    let source = Arc::new(Counted(sample().into(), AtomicUsize::new(0)));
    let reads = || source.1.swap(0, Ordering::Relaxed);
    let reader = Reader::open_shared(source.clone()).unwrap();
    assert_eq!(reads(), 1, "footer and directory");
    let leaves: Vec<_> = reader.tree().leaves(reader.tree().nodes.len() as u32).collect();
    reader.group(0).unwrap();
    assert_eq!(reads(), 1);
    reader.columns(0, &leaves).unwrap();
    assert_eq!(reads(), 1);
    reader.rows(0, &leaves, 3..5).unwrap();
    assert_eq!(reads(), 2, "the table of pages, and the pages");
    reader.rows(0, &leaves, 20..21).unwrap();
    assert_eq!(reads(), 1);
    assert!(is_part(&*source).unwrap());
    assert_eq!(reads(), 1);
}

#[test]
fn groups_of_sections_alone_come_back_in_one_read() {
    let tree = tree();
    let sections = vec![
        ("lines".to_owned(), vec![1; 5000]),
        ("faults".to_owned(), Vec::new()),
        ("level-0".to_owned(), (0..=255).collect::<Vec<u8>>()),
    ];
    let group = Group { nodes: 1, sections, text_len: 9, text_hash: 8, ..Group::default() };
    for section_level in [None, Some(3)] {
        let mut out = Vec::new();
        let mut writer = Writer::new(&mut out, Options { section_level, ..options() }).unwrap();
        (0..3).for_each(|_| writer.write(&tree, &group).unwrap());
        writer.finish(&tree, &facts()).unwrap();
        assert_eq!(out.len() > 3 * 5000, section_level.is_none());
        let reader = open(&out);
        reader.verify().unwrap();
        assert_eq!((reader.groups(), reader.group(2).unwrap() == group), (3, true));
        let mut scratch = vec![7; 10];
        for count in [0, 1, 3, 9] {
            let first = reader.first_sections(1, count, &mut scratch).unwrap();
            let expected = group.sections.iter().take(count).map(|(_, bytes)| bytes.as_slice());
            assert!(first.iter().map(|bytes| &**bytes).eq(expected), "{count}");
        }
        assert!(matches!(reader.first_sections(3, 1, &mut scratch), Err(Error::Missing(_))));
        // The second group begins after the sections of the first.
        let stored = if out.len() > 3 * 5000 { 5256 } else { 0 };
        let at = 4 + stored;
        out[at] ^= 1;
        let reader = open(&out);
        let group = usize::from(stored > 0);
        let error = reader.first_sections(group, 2, &mut scratch).unwrap_err().to_string();
        assert!(error.contains(&format!("section `lines` of group {group}")), "{error}");
    }
}

/// Identifiers in no order, which repeat little: strings, and integers that are often missing.
fn identifiers(rng: &mut Rng, rows: u32) -> (Tree, Group) {
    let mut tree = tree();
    let text = add(&mut tree, 0, "text", Layout::String);
    let number = add(&mut tree, 0, "number", Layout::Int);
    let ordered = add(&mut tree, 0, "ordered", Layout::Int);
    let texts: Vec<String> = (0..rows).map(|_| format!("{:016x}", rng.next_u64())).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let present: Vec<i16> = (0..rows).map(|_| rng.below(2) as i16).collect();
    let numbers = present.iter().filter(|level| **level == 1).map(|_| rng.next_u64() as i64).collect();
    let column = |node, values, definitions| Column { node, values, definitions, ..Column::default() };
    let columns = vec![
        column(text, strings(&texts), vec![1; rows as usize]),
        column(number, Values::Int(numbers), present),
        column(ordered, Values::Int((0..i64::from(rows)).collect()), vec![1; rows as usize]),
    ];
    (tree.clone(), Group { rows, nodes: tree.nodes.len() as u32, columns, ..Group::default() })
}

#[test]
fn filters_have_all_values_and_few_others() {
    let mut rng = Rng::new(20);
    let (tree, group) = identifiers(&mut rng, 5000);
    let file = write(&tree, &[group.clone(), group.clone()]);
    let reader = open(&file);
    reader.verify().unwrap();
    assert!(reader.group(1).unwrap() == group);
    let Values::Int(numbers) = &group.columns[1].values else { panic!() };
    let Values::Bytes(texts) = &group.columns[0].values else { panic!() };
    let others: Vec<u64> = (0..2000).map(|_| rng.next_u64()).collect();
    let hex = |number: u64| format!("{number:016x}");
    // What other programs find by the footer.
    let read = ReaderProperties::builder().set_read_bloom_filter(true).build();
    let read = ReadOptionsBuilder::new().with_reader_properties(read).build();
    let parquet = SerializedFileReader::new_with_options(Bytes::from(file), read).unwrap();
    for number in 0..2 {
        let [text, integer] = [1, 2].map(|leaf| reader.filter(number, leaf).unwrap().unwrap());
        assert!(texts.each().all(|value| text.may_have(value)));
        assert!(numbers.iter().all(|value| integer.may_have_integer(*value)));
        let wrong = others.iter().filter(|other| text.may_have(hex(**other).as_bytes())).count()
            + others.iter().filter(|other| integer.may_have_integer(**other as i64)).count();
        // 8 to 16 bits for each value: fewer than 4 in 100.
        assert!(wrong < 160, "{wrong} of 4000");
        let group = parquet.get_row_group(number).unwrap();
        let theirs = [0, 1].map(|column| group.get_column_bloom_filter(column).unwrap());
        assert!(texts.each().all(|value| theirs[0].check(value)));
        assert!(numbers.iter().all(|value| theirs[1].check(value)));
        for other in &others {
            let other = hex(*other);
            assert_eq!(theirs[0].check(other.as_bytes()), text.may_have(other.as_bytes()));
        }
        // Bounds serve values that ascend.
        assert!(reader.filter(number, 3).unwrap().is_none() && group.get_column_bloom_filter(2).is_none());
    }
}

#[test]
fn filters_without_a_value_are_found() {
    let (tree, group) = identifiers(&mut Rng::new(21), 500);
    let other = identifiers(&mut Rng::new(22), 500).1;
    let file = write(&tree, std::slice::from_ref(&group));
    let section = open(&file).section(0, "bloom-1").unwrap().unwrap();
    let theirs = open(&write(&tree, &[other])).section(0, "bloom-1").unwrap().unwrap();
    assert_eq!(section.len(), theirs.len());
    // The filter of other values, and filters of no bits, under right checksums.
    let none = |len: usize| [&section[..section.len() - len], &vec![0; len][..]].concat();
    for (forged, what) in
        [(theirs, "excludes a value"), (none(512), "excludes a value"), (vec![0; 9], "no Bloom")]
    {
        let mut out = Vec::new();
        let quiet = Filters { values: usize::MAX, ..Filters::default() };
        let mut writer =
            Writer::new(&mut out, Options { section_level: None, filters: quiet, ..options() }).unwrap();
        writer.write(&tree, &group).unwrap();
        writer.add_section("bloom-1", &forged).unwrap();
        writer.finish(&tree, &facts()).unwrap();
        let error = open(&out).verify().unwrap_err().to_string();
        assert!(error.contains(what), "{error}");
    }
}

/// Sections that repeat what the others say are no part of a group. They stay as they are, and are verified.
#[test]
fn resident_sections_are_beside_groups() {
    let (tree, group) = one_leaf(Layout::Int, Values::Int(vec![7; 3]), 3);
    let (form, lines) = (vec![1; 5000], b"lines".repeat(9));
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, options()).unwrap();
    assert!(writer.add_section_as_is(RESIDENT, &form).is_err());
    writer.write(&tree, &group).unwrap();
    writer.add_section_as_is(RESIDENT, &form).unwrap();
    writer.add_section_as_is(RESIDENT_LINES, &lines).unwrap();
    writer.add_section("other", &form).unwrap();
    writer.finish(&tree, &facts()).unwrap();
    let reader = open(&out);
    reader.verify().unwrap();
    let names: Vec<_> = reader.group(0).unwrap().sections.into_iter().map(|(name, _)| name).collect();
    assert_eq!(names, ["other"]);
    assert_eq!(reader.section(0, RESIDENT).unwrap(), Some(form.clone()));
    assert_eq!(reader.section(0, RESIDENT_LINES).unwrap(), Some(lines));
    assert_eq!(reader.section_start(0, RESIDENT, 12).unwrap().as_deref(), Some(&form[..12]));
    assert_eq!(reader.section_start(0, RESIDENT, 9999).unwrap().as_deref(), Some(&form[..]));
    assert_eq!(reader.section_start(0, "none", 12).unwrap(), None);
    assert!(matches!(reader.section_start(1, RESIDENT, 12), Err(Error::Missing(_))));
    let range = reader.section_range(0, RESIDENT_LINES).unwrap();
    for at in range {
        let mut bytes = out.clone();
        bytes[at as usize] ^= 1;
        let error = open(&bytes).verify().unwrap_err().to_string();
        assert!(error.contains("section `resident-lines` of group 0"), "{error}");
    }
}
