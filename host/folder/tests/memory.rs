//! A folder in memory, and storages that fail.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use warpath_folder::{Field, Folder, FolderError, Input, Millis, Object, Part, Schema, Storage, Type};

/// A folder in memory. Clones share their files.
#[derive(Clone, Default)]
pub struct Memory(pub Arc<Mutex<BTreeMap<String, Vec<u8>>>>);

impl Memory {
    /// Writes a part whose rows are these numbers.
    pub fn part(&self, name: &str, rows: &[u64]) -> Part {
        let bytes: Vec<u8> = rows.iter().flat_map(|row| row.to_le_bytes()).collect();
        let part = Part {
            name: name.to_owned(),
            bytes: bytes.len() as u64,
            rows: rows.len() as u64,
            ..Part::default()
        };
        self.put(name, bytes);
        part
    }

    pub fn put(&self, name: &str, bytes: impl Into<Vec<u8>>) {
        self.0.lock().unwrap().insert(name.to_owned(), bytes.into());
    }

    pub fn get(&self, name: &str) -> Vec<u8> {
        self.0.lock().unwrap()[name].clone()
    }

    /// The rows of all parts of the last version, in their order.
    pub fn rows(&self) -> Vec<u64> {
        let folder = self.open().unwrap();
        let snapshot = folder.snapshot();
        snapshot.parts().flat_map(|part| numbers(&self.get(&part.name))).collect()
    }

    pub fn open(&self) -> Result<Folder, FolderError> {
        Folder::open(self.clone())
    }

    pub fn create(&self) -> Folder {
        Folder::create(self.clone(), schema(), Millis(1000)).unwrap()
    }

    /// A copy that shares nothing.
    pub fn copy(&self) -> Self {
        Self(Arc::new(Mutex::new(self.0.lock().unwrap().clone())))
    }
}

/// The numbers in the bytes of a part.
pub fn numbers(bytes: &[u8]) -> Vec<u64> {
    bytes.chunks_exact(8).map(|number| u64::from_le_bytes(number.try_into().unwrap())).collect()
}

pub fn schema() -> Schema {
    Schema { fields: vec![Field::new("id", Type::Long), Field::new("name", Type::String)] }
}

pub fn input(name: &str, size: u64) -> Input {
    Input { name: name.to_owned(), size, stamp: format!("stamp {size}") }
}

impl Storage for Memory {
    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let files = self.0.lock().unwrap();
        let inside = files.iter().filter_map(|(name, bytes)| Some((name.strip_prefix(&prefix)?, bytes)));
        let inside = inside.filter(|(name, _)| !name.contains('/'));
        Ok(inside
            .map(|(name, bytes)| Object { name: name.into(), size: bytes.len() as u64, modified: Millis(0) })
            .collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.0.lock().unwrap().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut files = self.0.lock().unwrap();
        if files.contains_key(name) {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        files.insert(name.to_owned(), bytes.to_vec());
        Ok(())
    }

    fn settle(&self, name: &str) -> io::Result<u64> {
        Ok(self.read(name)?.len() as u64)
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.0.lock().unwrap().remove(name);
        Ok(())
    }
}

/// A way in which an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fails {
    /// Nothing happens, for example because there is no space, and neither does any operation after it.
    Before,
    /// The operation happens, and its result is lost, as in a crash.
    After,
    /// Nothing happens, and later operations succeed.
    Once,
    /// The operation happens, its reply is lost, and the storage tries it again.
    Again,
}

/// A storage of which one operation fails.
#[derive(Clone)]
pub struct Failing {
    pub inner: Memory,
    pub left: Arc<AtomicUsize>,
    pub fails: Fails,
}

impl Failing {
    pub fn new(inner: &Memory, operation: usize, fails: Fails) -> Self {
        // The count reaches 1 at the operation that fails, and 0 at those after it.
        Self { inner: inner.clone(), left: Arc::new(AtomicUsize::new(operation + 1)), fails }
    }

    fn run<T>(&self, operation: impl Fn() -> io::Result<T>) -> io::Result<T> {
        let count = |left: usize| Some(left.saturating_sub(1));
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, count).unwrap();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        match (left, self.fails) {
            (2.., _) | (0, Fails::Once | Fails::Again) => operation(),
            (0, _) | (1, Fails::Before | Fails::Once) => Err(full()),
            (1, Fails::After) => operation().and(Err(full())),
            (1, Fails::Again) => {
                let _ = operation();
                operation()
            }
        }
    }
}

impl Storage for Failing {
    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        self.run(|| self.inner.list(folder))
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.run(|| self.inner.read(name))
    }

    fn read_many(&self, names: Vec<String>) -> Vec<io::Result<Vec<u8>>> {
        names.iter().map(|name| self.read(name)).collect()
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.run(|| Storage::create(&self.inner, name, bytes))
    }

    fn settle(&self, name: &str) -> io::Result<u64> {
        self.run(|| self.inner.settle(name))
    }

    fn delete(&self, name: &str) -> io::Result<()> {
        self.run(|| self.inner.delete(name))
    }
}
