//! Altered files of every format: a reader reports each change, and says what is wrong with the file.

use std::fs::{self, File};
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::rc::Rc;

use warpath::bitmap::ColumnSpec;
use warpath::{Engine, Error, IndexError, IndexFile, IndexSpec, OnError, Predicate, Query};

use crate::index_files;

/// Reads a file, and compares the result with the original.
type Read = Box<dyn Fn(&Path) -> Result<(), Error>>;

/// True if a reader reports each change of a byte of a file.
type Reports = fn(&[u8], usize) -> bool;

/// The readers of a format, each with the bytes whose changes it always reports. A reader may not read the
/// other bytes. The first reader opens the file by its path and reads all of it.
type Readers = Vec<(Reports, Read)>;

const ALL: Reports = |_, _| true;
const SOME: Reports = |_, _| false;
/// All but the first `PAR1`, and zeros that align what follows.
const SECTIONS: Reports = |bytes, at| {
    let aligned = at.next_multiple_of(64).min(bytes.len());
    at >= 4 && (at % 64 == 0 || bytes[at..aligned].iter().any(|byte| *byte != 0))
};

/// An index with columns. A query reads the parts of the columns that its condition needs.
fn index_with_columns() -> (Vec<u8>, Readers) {
    let text =
        b"{\"n\":7,\"s\":\"x\"}\n{\"n\":9}\n\n{\"n\":1\n{\"n\":900,\"s\":\"yy\"}\n{\"n\":8,\"s\":\"\"}\n";
    let case = Rc::new(index_files::Case::new(text));
    let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
    let columns = [("n", "quantiles:2"), ("s", "quantiles:1")];
    let column = |(name, bins): (&str, &str)| {
        ColumnSpec::new(name, format!("$.{name}")).with_bins(bins.parse().unwrap())
    };
    let spec = IndexSpec::new(1).with_columns(columns.map(column).into());
    IndexFile::build_as(&engine, case.input(), &spec).unwrap();
    let bytes = fs::read(IndexFile::path_of(case.input())).unwrap();
    assert!(bytes.len() < 5000, "{}", bytes.len());
    let verify = {
        let case = case.clone();
        move |path: &Path| IndexFile::open(path)?.verify(case.input()).map(drop)
    };
    let query = move |path: &Path| {
        let predicate = Predicate::parse("n between 7 and 8 and s < 'y'")?;
        let input = engine.open(case.input())?.with_index(&IndexFile::open(path)?)?.matching(&predicate);
        assert_eq!(input.count(&Query::compile("$.n")?)?, 2);
        Ok(())
    };
    (bytes, vec![(ALL, Box::new(verify) as Read), (SOME, Box::new(query))])
}

fn index_file() -> (Vec<u8>, Readers) {
    let text = b"{\"a\":{\"b\":[1,{\"c\":\"x\"}]}}\n{\"a\":1\n\n{\"a\":{\"b\":2}}\n[{\"a\":7}]\n";
    let case = Rc::new(index_files::Case::new(text));
    let index = case.build(&index_files::cpu(), 20, 3).unwrap();
    let bytes = fs::read(&case.index).unwrap();
    assert!(index.info().partitions == 3 && bytes.len() < 4000, "{}", bytes.len());
    let query = |paths: &[&str]| -> Read {
        let (case, program) = (case.clone(), index_files::program(paths));
        let want = index_files::try_index(&case, &case.index, &program).unwrap();
        Box::new(move |path| {
            assert!(index_files::try_index(&case, path, &program)? == want, "other results");
            Ok(())
        })
    };
    let verify = {
        let case = case.clone();
        move |path: &Path| IndexFile::open(path)?.verify(case.input()).map(drop)
    };
    // The first query reads all levels, the second two of three.
    let (three_levels, two_levels) = (query(&["$.a.b[0]", "$.a"]), query(&["$.a.b"]));
    (bytes, vec![(ALL, Box::new(verify)), (SECTIONS, three_levels), (SOME, two_levels)])
}

/// Returns true if an error says that a file is damaged, has another version or is of another kind.
fn is_refusal(error: &Error) -> bool {
    matches!(
        error,
        Error::Index(IndexError::NotAnIndex { .. } | IndexError::Version { .. } | IndexError::Damaged { .. })
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
        assert_eq!(name, path.to_str().unwrap(), "{message}");
        said.replace(&length, " LENGTH bytes")
    };
    let mut messages: Vec<String> = readers.iter().map(message).collect();
    messages.dedup();
    messages.join(", or: ")
}

/// Checks all changes of a file. The messages are compared with a snapshot of this name. The byte at
/// `version` is the version of the format.
fn check(name: &str, (bytes, readers): (Vec<u8>, Readers), version: usize) {
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
                    Ok(()) if reports(&bytes, at) => panic!("byte {at} xor {change} is not read"),
                    Ok(()) => *unread += 1,
                    Err(error) => assert!(is_refusal(&error), "byte {at} xor {change}: {error}"),
                }
            }
        }
        file.write_all_at(&[*byte], at as u64).unwrap();
    }
    for ((reports, read), unread) in readers.iter().zip(unread) {
        read(&path).unwrap();
        assert!(unread > 0 || reports(&bytes, 0), "a reader of a part reads all bytes");
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
    for other in [&b""[..], b"{\"a\":1}\n", &[0; 500]] {
        write(other);
        messages.push(format!("another kind: {}", refused(&readers, &path)));
    }
    let mut altered = bytes.clone();
    for other in [bytes[version] - 1, bytes[version] + 1, 7] {
        altered[version] = other;
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
fn index_files_with_columns() {
    let index = index_with_columns();
    let version = index.0.windows(16).position(|bytes| bytes == b"part 1 directory").unwrap() + 5;
    check("altered_index_with_columns", index, version);
}

#[test]
fn index_files() {
    let index = index_file();
    let version = index.0.windows(16).position(|bytes| bytes == b"part 1 directory").unwrap() + 5;
    check("altered_index_file", index, version);
}
