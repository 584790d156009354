//! Parts of stores and their logs, from untrusted sources. Lines come back byte for byte. A file of any
//! bytes is refused, or gives some text.

use warpath_core::projection::{Projection, Step};
use warpath_folder::{Folder, LocalStorage};
use warpath_part::file::{Filters, Options, Reader, Writer};
use warpath_part::group::{Group, Tree};
use warpath_part::partial::partial;
use warpath_part::text::{Shredder, restore};
use warpath_store::schema::{SchemaTree, WalkOptions, Walker, rows};

use crate::random::Rng;

/// Takes bytes as a part, as lines, as lines whose sections, columns or schema are altered under right
/// checksums, or as the log of a folder. The first byte says which, and the next eight say what is altered.
///
/// # Panics
/// If anything does not hold that has to.
pub fn fuzz_one(bytes: &[u8]) {
    let Some((seed, rest)) = bytes.split_first_chunk::<9>() else { return };
    let mut rng = Rng::new(u64::from_le_bytes(std::array::from_fn(|at| seed[at + 1])));
    match seed[0] % 5 {
        0 => read(rest),
        1 => {
            let part = part_of(rest);
            assert_eq!(text_of(&part).expect("a part of right lines"), rest);
            read(&altered(&part, &mut rng));
        }
        2 => forged(rest, &mut rng),
        3 => forged_schema(rest, &mut rng),
        _ => log(rest),
    }
}

/// A part of two groups, with these lines.
fn part_of(lines: &[u8]) -> Vec<u8> {
    let (mut out, mut shredder) = (Vec::new(), Shredder::new());
    let mut writer = Writer::new(&mut out, options()).expect("memory");
    let half =
        memchr::memchr(b'\n', &lines[lines.len() / 2..]).map_or(lines.len(), |at| lines.len() / 2 + at + 1);
    for lines in [&lines[..half], &lines[half..]] {
        let group = shredder.shred(lines).expect("exact");
        writer.write(shredder.tree(), &group).expect("a right group");
    }
    writer.finish(shredder.tree(), &[]).expect("memory");
    out
}

fn options() -> Options {
    let filters = Filters { values: 2, chunk: 0, group: 0 };
    Options { page_rows: 8, sample: 64, filters, workers: 1, ..Options::default() }
}

/// The lines of a part; `None` if it is refused.
fn text_of(part: &[u8]) -> Option<Vec<u8>> {
    let reader = Reader::open(bytes::Bytes::copy_from_slice(part)).ok()?;
    let mut text = Vec::new();
    for number in 0..reader.groups() {
        let group = reader.group(number).ok()?;
        restore(reader.tree(), &group, 0..group.rows, &mut text).ok()?;
    }
    Some(text)
}

/// Reads a part in every way.
fn read(part: &[u8]) {
    let _ = text_of(part);
    let Ok(reader) = Reader::open(bytes::Bytes::copy_from_slice(part)) else { return };
    let _ = reader.verify();
    for group in 0..reader.groups() {
        for members in projections() {
            let _ = partial(&reader, group, &members, &mut Vec::new());
        }
    }
}

fn projections() -> Vec<Projection> {
    let one = |path: &[Step]| {
        let mut members = Projection::NONE;
        members.reach(path);
        members
    };
    let name = |key: &str| Step::Name(key.into());
    let deep = |key: &str| Step::Descendant(key.into());
    let paths = [
        vec![name("a"), name("b")],
        vec![name("b"), Step::Wildcard, name("a")],
        vec![name("b"), Step::Element],
        vec![deep("a")],
    ];
    std::iter::once(Projection::NONE).chain(paths.iter().map(|path| one(path))).collect()
}

/// A part with one altered bit, or without its end.
fn altered(part: &[u8], rng: &mut Rng) -> Vec<u8> {
    let (mut part, at) = (part.to_vec(), rng.below(part.len()));
    match rng.below(4) {
        0 => part.truncate(at),
        _ => part[at] ^= 1 << rng.below(8),
    }
    part
}

/// Alters sections or columns of a group, and writes them with right checksums.
fn forged(lines: &[u8], rng: &mut Rng) {
    let mut shredder = Shredder::new();
    let mut group = shredder.shred(lines).expect("exact");
    for _ in 0..=rng.below(3) {
        forge(&mut group, rng);
    }
    // In memory: what the reader of files would refuse reaches the restorer, too.
    let _ = restore(shredder.tree(), &group, 0..group.rows, &mut Vec::new());
    if let Some(part) = written(shredder.tree(), &group) {
        read(&part);
    }
}

/// Alters the bytes of the schema of lines. They are refused, or are a schema that can be merged and shown.
fn forged_schema(lines: &[u8], rng: &mut Rng) {
    let mut tree = SchemaTree::default();
    let options = WalkOptions { text: 0, most_records: u64::MAX, skips: true, without: &[] };
    Walker::default().walk(&mut tree, lines, options);
    let Some(mut bytes) = tree.to_bytes() else { return };
    for _ in 0..=rng.below(3) {
        alter(&mut bytes, rng);
    }
    let Some(mut forged) = SchemaTree::of_bytes(&bytes) else { return };
    forged.merge(&tree);
    forged.fold_maps();
    assert!(!rows(&forged, &|_| String::new()).is_empty());
}

fn forge(group: &mut Group, rng: &mut Rng) {
    let columns = group.columns.len();
    match rng.below(6) {
        0 if columns > 0 => {
            let column = &mut group.columns[rng.below(columns)];
            let levels = if rng.below(2) == 0 { &mut column.definitions } else { &mut column.repetitions };
            if !levels.is_empty() {
                let at = rng.below(levels.len());
                levels[at] = rng.below(4) as i16;
            }
        }
        1 => group.rows = group.rows.wrapping_add(rng.below(3) as u32).wrapping_sub(1),
        _ if group.sections.is_empty() => {}
        _ => {
            let at = rng.below(group.sections.len());
            alter(&mut group.sections[at].1, rng);
        }
    }
}

fn alter(section: &mut Vec<u8>, rng: &mut Rng) {
    let (at, byte) = (rng.below(section.len() + 1), rng.next_u64() as u8);
    match rng.below(4) {
        0 => section.insert(at, byte),
        1 => section.truncate(at),
        2 if at < section.len() => drop(section.remove(at)),
        _ if at < section.len() => section[at] = byte,
        _ => section.push(byte),
    }
}

fn written(tree: &Tree, group: &Group) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let mut writer = Writer::new(&mut out, options()).ok()?;
    writer.write(tree, group).ok()?;
    writer.finish(tree, &[]).ok()?;
    Some(out)
}

/// Opens a folder whose first version is these bytes.
fn log(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::create_dir(folder.path().join("_delta_log")).expect("a folder");
    std::fs::write(folder.path().join(format!("_delta_log/{:020}.json", 0)), bytes).expect("a file");
    if let Ok(opened) = Folder::open(LocalStorage::new(folder.path())) {
        let _ = opened.snapshot().parts().count();
    }
}
