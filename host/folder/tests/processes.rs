//! Processes that write one folder at once, and are killed.

use std::collections::BTreeSet;
use std::env;
use std::io::{BufRead, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use warpath_folder::{Folder, FolderError, LocalStorage, Millis, Part, Storage as _};
use warpath_random::{Rng, cases};

use crate::memory::{numbers, schema};

/// The folder, the first row and the number of rows of a child process.
const FOLDER: &str = "WARPATH_TEST_FOLDER";
const FROM: &str = "WARPATH_TEST_FROM";
const ROWS: &str = "WARPATH_TEST_ROWS";

/// A child process: appends rows one by one, prints each that is acknowledged, and merges parts meanwhile.
#[test]
fn child() {
    let Ok(path) = env::var(FOLDER) else { return };
    let number = |name| env::var(name).unwrap().parse::<u64>().unwrap();
    let (from, rows) = (number(FROM), number(ROWS));
    let storage = LocalStorage::new(path);
    let mut folder = Folder::open(storage.clone()).unwrap();
    let mut random = Rng::new(from);
    for row in from..from + rows {
        let part = write(&storage, &format!("part-{row}-a.parquet"), &[row]);
        folder.append(vec![part], Vec::new(), Millis(1)).unwrap();
        let mut out = std::io::stdout().lock();
        writeln!(out, "row {row}").unwrap();
        out.flush().unwrap();
        let snapshot = folder.snapshot();
        let parts: Vec<_> = snapshot.parts().take(2 + random.below(3)).collect();
        if random.below(3) == 0 && parts.len() > 1 {
            let names: Vec<_> = parts.iter().map(|part| part.name.clone()).collect();
            let all: Vec<u64> = names.iter().flat_map(|name| numbers(&storage.read(name).unwrap())).collect();
            let merged = write(&storage, &format!("part-{row}-m.parquet"), &all);
            match folder.replace(names, vec![merged], true, Millis(1)) {
                Ok(_) | Err(FolderError::Conflict { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn write(storage: &LocalStorage, name: &str, rows: &[u64]) -> Part {
    let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
    let (temporary, mut file) = storage.begin(name).unwrap();
    file.write_all(&bytes).unwrap();
    storage.finish(name, temporary, &file).unwrap();
    Part { name: name.into(), bytes: bytes.len() as u64, rows: rows.len() as u64, ..Part::default() }
}

fn start(folder: &Path, from: u64, rows: u64) -> Child {
    let mut command = Command::new(env::current_exe().unwrap());
    command.args(["processes::child", "--exact", "--nocapture", "--test-threads=1"]);
    command.env(FOLDER, folder).env(FROM, from.to_string()).env(ROWS, rows.to_string());
    command.stdout(Stdio::piped()).spawn().unwrap()
}

/// The rows that are acknowledged in the output of a child, of which `most` are waited for.
fn acknowledged(out: &mut impl BufRead, most: usize) -> BTreeSet<u64> {
    let lines = out.lines().map(Result::unwrap);
    // The line before may have the test's name at its begin.
    let rows = lines.filter_map(|line| line.rsplit_once("row ").map(|(_, row)| row.parse().unwrap()));
    rows.take(most).collect()
}

/// The rows of a folder, each of which must be there once.
fn rows(storage: &LocalStorage) -> BTreeSet<u64> {
    let folder = Folder::open(storage.clone()).unwrap();
    let mut all = BTreeSet::new();
    for part in folder.snapshot().parts() {
        for row in numbers(&storage.read(&part.name).unwrap()) {
            assert!(all.insert(row), "row {row} is there twice");
        }
    }
    all
}

#[test]
fn killed_writers_lose_nothing() {
    let path = tempfile::tempdir().unwrap();
    let storage = LocalStorage::new(path.path());
    Folder::create(storage.clone(), schema(), Millis(0)).unwrap();
    let mut random = Rng::new(5);
    let mut expected = BTreeSet::new();
    for round in 0..cases(20) as u64 {
        let mut children = [0, 1].map(|child| start(path.path(), round * 2000 + child * 1000, 1000));
        for child in &mut children {
            let mut out = BufReader::new(child.stdout.take().unwrap());
            expected.extend(acknowledged(&mut out, 1 + random.below(6)));
            child.kill().unwrap();
            expected.extend(acknowledged(&mut out, usize::MAX));
            child.wait().unwrap();
        }
        let rows = rows(&storage);
        let lost: Vec<_> = expected.difference(&rows).collect();
        assert!(lost.is_empty(), "round {round}: {lost:?} are lost");
        // Rows that were not acknowledged in time may be there.
        assert!(rows.len() <= expected.len() + 2, "round {round}");
        expected = rows;
    }
    Folder::open(storage.clone()).unwrap().vacuum(Millis(i64::MAX), &|_| true).unwrap();
    assert_eq!(rows(&storage), expected);
    let parts = Folder::open(storage.clone()).unwrap().snapshot().parts().count();
    assert_eq!(storage.list("").unwrap().len(), parts);
}

#[test]
fn processes_append_at_once() {
    let path = tempfile::tempdir().unwrap();
    let storage = LocalStorage::new(path.path());
    Folder::create(storage.clone(), schema(), Millis(0)).unwrap();
    let mut children = [0, 1, 2].map(|child| start(path.path(), child * 20, 20));
    for child in &mut children {
        let mut out = BufReader::new(child.stdout.take().unwrap());
        assert_eq!(acknowledged(&mut out, usize::MAX).len(), 20);
        assert!(child.wait().unwrap().success());
    }
    assert!(rows(&storage).into_iter().eq(0..60));
}
