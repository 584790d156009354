//! Altered files of every format: a reader reports each change, and says what is wrong with the file.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

use warpath::bitmap::BitmapIndex;
use warpath::packed::PackedFile;
use warpath::{ColumnError, Error, IndexError, IndexFile, InputError};
use warpath_store::fsst::StringColumn;
use warpath_tests::packed::{from_pipe, read_all};
use warpath_tests::random::Rng;

use crate::{bitmap_file, fsst_column, index_files, packed};

/// Reads a file, and compares the result with the original.
type Read = Box<dyn Fn(&Path) -> Result<(), Error>>;

/// The readers of a format, each with the bytes whose changes it always reports. A reader may not read the
/// other bytes. The first reader opens the file by its path and reads all of it.
type Readers = Vec<(Range<usize>, Read)>;

fn bitmap_index() -> (Vec<u8>, Readers) {
    let built = bitmap_file::small();
    let bytes = BitmapIndex::from_built(built.clone()).unwrap().bytes().to_vec();
    let compare = move |path: &Path| {
        let compared = bitmap_file::compare(&BitmapIndex::open(path)?, &built);
        compared.map_err(|error| error.downcast().expect("the content is that of the original"))
    };
    let verify = |path: &Path| BitmapIndex::open(path)?.verify();
    let readers: Readers = vec![(0..bytes.len(), Box::new(verify)), (0..0, Box::new(compare))];
    (bytes, readers)
}

fn index_file() -> (Vec<u8>, Readers) {
    let text = b"{\"a\":{\"b\":[1,{\"c\":\"x\"}]}}\n{\"a\":1\n\n{\"a\":{\"b\":2}}\n[{\"a\":7}]\n";
    let case = Rc::new(index_files::Case::new(text));
    let index = case.build(&index_files::cpu(), 20, 3).unwrap();
    let bytes = fs::read(&case.index).unwrap();
    assert!(index.info().partitions == 3 && bytes.len() < 1500, "{}", bytes.len());
    let query = |paths: &[&str]| -> Read {
        let (case, program) = (case.clone(), index_files::program(paths));
        let want = index_files::try_index(&case, &case.index, &program).unwrap();
        Box::new(move |path| {
            assert!(index_files::try_index(&case, path, &program)? == want, "other results");
            Ok(())
        })
    };
    let all = || 0..bytes.len();
    let verify = |path: &Path| IndexFile::open(path)?.verify();
    // The first query reads all levels, the second two of three.
    let (three_levels, two_levels) = (query(&["$.a.b[0]", "$.a"]), query(&["$.a.b"]));
    let readers: Readers = vec![(all(), Box::new(verify)), (all(), three_levels), (0..0, two_levels)];
    (bytes, readers)
}

fn packed_file() -> (Vec<u8>, Readers) {
    let text = packed::text(&mut Rng::new(3), 12);
    let bytes = packed::packed(&text, 300);
    let of_text = |read: fn(&[u8]) -> Result<Vec<u8>, Error>| -> Read {
        let text = text.clone();
        Box::new(move |path| {
            assert!(read(&fs::read(path).unwrap())? == text, "another text");
            Ok(())
        })
    };
    let (all, check) = (0..bytes.len(), |path: &Path| PackedFile::open(path)?.check());
    // From the table of groups on, a reader of a pipe reports every change.
    let table = bytes.windows(8).rposition(|word| word == b"WPKTABLE").unwrap();
    let piped = (table..bytes.len(), of_text(from_pipe));
    (bytes, vec![(all.clone(), Box::new(check)), (all, of_text(read_all)), piped])
}

fn string_column() -> (Vec<u8>, Readers) {
    let bytes = fsst_column::files::small(20, true).0.to_bytes().unwrap();
    let all = 0..bytes.len();
    let check = |path: &Path| StringColumn::open(path)?.check();
    let of_bytes = |path: &Path| StringColumn::from_bytes("x", fs::read(path).unwrap()).map(drop);
    (bytes, vec![(all.clone(), Box::new(check)), (all, Box::new(of_bytes))])
}

/// Returns true if an error says that a file is damaged, has another version or is of another kind.
fn is_refusal(error: &Error) -> bool {
    use {ColumnError as Column, IndexError as Index, InputError as Input};
    matches!(
        error,
        Error::Index(Index::NotAnIndex { .. } | Index::Version { .. } | Index::Damaged { .. })
            | Error::Input(Input::NotPacked { .. } | Input::PackedVersion { .. } | Input::Packed { .. })
            | Error::Column(Column::NotAColumn { .. } | Column::Version { .. } | Column::Damaged { .. })
    )
}

/// Reads a file with all readers and returns their messages, without the name of the file and its length.
fn refused(readers: &Readers, path: &Path) -> String {
    let length = format!(" {} bytes", path.metadata().unwrap().len());
    let message = |(_, read): &(_, Read)| {
        let error = read(path).unwrap_err();
        let message = error.to_string();
        let (name, said) = message.split_once(": ").expect("the name of the file");
        assert!(is_refusal(&error), "{message}");
        assert!(name == path.to_str().unwrap() || ["test", "pipe", "x"].contains(&name), "{message}");
        said.replace(&length, " LENGTH bytes")
    };
    let mut messages: Vec<String> = readers.iter().map(message).collect();
    messages.dedup();
    messages.join(", or: ")
}

/// Checks all changes of a file. The messages are compared with a snapshot of this name.
fn check(name: &str, (bytes, readers): (Vec<u8>, Readers), seal: fn(&mut [u8])) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("altered");
    let write = |bytes: &[u8]| fs::write(&path, bytes).unwrap();
    write(&bytes);
    let file = File::options().write(true).open(&path).unwrap();
    let mut unread = vec![0; readers.len()];
    for (at, byte) in bytes.iter().enumerate() {
        for change in [1, 2, 0x10, 0x80, 0xff, (*byte).max(1)] {
            // Nobody has the file open.
            file.write_all_at(&[byte ^ change], at as u64).unwrap();
            for ((reports, read), unread) in readers.iter().zip(&mut unread) {
                match read(&path) {
                    Ok(()) if reports.contains(&at) => panic!("byte {at} xor {change} is not read"),
                    Ok(()) => *unread += 1,
                    Err(error) => assert!(is_refusal(&error), "byte {at} xor {change}: {error}"),
                }
            }
        }
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    for ((reports, read), unread) in readers.iter().zip(unread) {
        read(&path).unwrap();
        assert!(unread > 0 || !reports.is_empty(), "a reader of a part reads all bytes");
    }

    let mut cuts: Vec<(Range<usize>, String)> = Vec::new();
    for len in (0..bytes.len()).rev() {
        file.set_len(len as u64).unwrap();
        let said = refused(&readers, &path);
        match cuts.last_mut() {
            Some((lens, last)) if *last == said => lens.start = len,
            _ => cuts.push((len..len + 1, said)),
        }
    }
    let cut = |(lens, said): &(Range<usize>, _)| format!("cut at {} and more: {said}", lens.start);
    let mut messages: Vec<String> = cuts.iter().rev().map(cut).collect();
    for more in [&[0][..], &[0; 64], &[0; 5000], b"more", &bytes] {
        write(&[&bytes, more].concat());
        messages.push(format!("longer: {}", refused(&readers, &path)));
    }
    let others = [bitmap_index(), index_file(), packed_file(), string_column()].map(|(bytes, _)| bytes);
    let others = others.iter().filter(|other| other[..8] != bytes[..8]).map(Vec::as_slice);
    for other in [&b""[..], b"{\"a\":1}\n", &[0; 500]].into_iter().chain(others) {
        write(other);
        messages.push(format!("another kind: {}", refused(&readers, &path)));
    }
    let mut altered = bytes.clone();
    for version in [bytes[8] - 1, bytes[8] + 1, 7] {
        altered[8] = version;
        seal(&mut altered);
        write(&altered);
        messages.push(refused(&readers, &path));
    }
    messages.dedup();
    insta::assert_snapshot!(name, messages.join("\n"));
    for unreadable in [folder.path(), &folder.path().join("missing")] {
        let error = readers[0].1(unreadable).unwrap_err();
        assert!(!is_refusal(&error), "{error}");
    }
}

#[test]
fn bitmap_indexes() {
    check("altered_bitmap_index", bitmap_index(), |_| {});
}

#[test]
fn index_files() {
    check("altered_index_file", index_file(), |_| {});
}

/// The checksum of a packed file's first bytes is tested before their version.
#[test]
fn packed_files() {
    let seal = |bytes: &mut [u8]| {
        let seal = xxhash_rust::xxh3::xxh3_64(&bytes[..16]).to_le_bytes();
        bytes[16..24].copy_from_slice(&seal);
    };
    check("altered_packed_file", packed_file(), seal);
}

#[test]
fn string_columns() {
    check("altered_string_column", string_column(), |_| {});
}
