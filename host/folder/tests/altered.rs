//! Logs of which a byte was altered.

use warpath_folder::{Change, Field, FolderError, Millis, Schema, Type};
use warpath_random::{Rng, cases};

use crate::memory::{Memory, input};

/// A folder with a version of each kind.
fn folder() -> Memory {
    let memory = Memory::default();
    let mut folder = memory.create();
    let part = |name: &str, rows: &[u64]| vec![memory.part(name, rows)];
    folder.append(part("part-1.parquet", &[1, 2]), vec![input("a", 10), input("b", 20)], Millis(1)).unwrap();
    folder.append(part("part-ä.parquet", &[3]), Vec::new(), Millis(2)).unwrap();
    let schema = Some(Schema { fields: vec![Field::new("new", Type::Boolean)] });
    folder.commit(Change { schema, ..Change::default() }, Millis(3)).unwrap();
    let removed = vec!["part-1.parquet".into(), "part-ä.parquet".into()];
    folder.replace(removed, part("part-2.parquet", &[1, 2, 3]), true, Millis(4)).unwrap();
    memory
}

fn file(version: usize) -> String {
    format!("_delta_log/{version:020}.json")
}

#[test]
fn each_altered_byte_is_found() {
    let memory = folder();
    assert_eq!(memory.rows(), [1, 2, 3]);
    let mut random = Rng::new(7);
    for case in 0..cases(20_000) {
        let altered = memory.copy();
        let file = file(random.below(5));
        let mut bytes = altered.get(&file);
        let at = random.below(bytes.len());
        match random.below(6) {
            0 => drop(bytes.remove(at)),
            1 => bytes.insert(at, random.next_u64() as u8),
            2 => bytes.truncate(at),
            3 => bytes[at] ^= 1 << random.below(8),
            4 => bytes.push(random.pick(b"\n {}\"")),
            _ => {
                let new = random.pick(b"0123456789abcdef\n,:{}[]\" ");
                bytes[at] = if bytes[at] == new { new ^ 1 } else { new };
            }
        }
        // A byte may be inserted beside an equal one, but then the file is another all the same.
        assert_ne!(bytes, altered.get(&file));
        let lines = 1 + bytes.iter().filter(|byte| **byte == b'\n').count();
        altered.put(&file, bytes);
        match altered.open().err() {
            Some(
                FolderError::Malformed { file: place, line, .. }
                | FolderError::Unsupported { file: place, line, .. },
            ) => {
                assert_eq!(place, file, "case {case}");
                assert!((1..=lines + 1).contains(&line), "case {case}: line {line} of {lines}");
            }
            other => panic!("case {case}: {other:?}"),
        }
    }
}

#[test]
fn the_line_of_an_altered_byte_is_named() {
    let memory = folder();
    for version in 0..5 {
        let bytes = memory.get(&file(version));
        for at in (0..bytes.len()).filter(|at| bytes[*at] != b'\n') {
            let altered = memory.copy();
            let mut changed = bytes.clone();
            changed[at] = if changed[at] == b'x' { b'y' } else { b'x' };
            altered.put(&file(version), changed);
            let expected = 1 + bytes[..at].iter().filter(|byte| **byte == b'\n').count();
            match altered.open().err() {
                Some(FolderError::Malformed { line, .. }) => assert_eq!(line, expected),
                // Without the mark of the first line, the version may be by another program.
                Some(FolderError::Unsupported { line: 1, .. }) if expected == 1 => {}
                other => panic!("{other:?}"),
            }
        }
    }
}

#[test]
fn files_that_change_places_are_found() {
    for (one, other) in [(0, 1), (1, 2), (2, 3), (3, 4), (1, 4)] {
        let memory = folder();
        let bytes = [memory.get(&file(one)), memory.get(&file(other))];
        memory.put(&file(one), &bytes[1][..]);
        assert!(matches!(memory.open(), Err(FolderError::Malformed { line: 1, .. })));
        memory.put(&file(other), &bytes[0][..]);
        assert!(matches!(memory.open(), Err(FolderError::Malformed { line: 1, .. })));
    }
    // A version of another folder, with its own number.
    let (memory, other) = (folder(), Memory::default());
    let mut writer = other.create();
    writer.append(vec![other.part("part-1.parquet", &[1])], Vec::new(), Millis(9)).unwrap();
    writer.append(vec![other.part("part-ä.parquet", &[3])], Vec::new(), Millis(9)).unwrap();
    memory.put(&file(2), other.get(&file(2)));
    let error = memory.open().err().unwrap();
    assert!(error.to_string().contains("does not follow"), "{error}");
}
