//! Stores in a storage that is no disk.

use std::collections::BTreeMap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use warpath_folder::{Object, Storage};

use super::*;

/// A storage in memory.
#[derive(Clone, Default)]
struct Memory {
    files: Arc<Mutex<BTreeMap<String, Vec<u8>>>>,
    /// True if it takes no parts.
    is_full: Arc<AtomicBool>,
}

impl Memory {
    fn place(&self) -> StorePlace {
        StorePlace::of_storage(Arc::new(self.clone()))
    }

    fn parts(&self) -> Vec<String> {
        self.files.lock().unwrap().keys().filter(|name| !name.contains('/')).cloned().collect()
    }

    fn add(&self, text: &str) -> Result<Added, Error> {
        let source = Source::Reader("lines".into(), Box::new(io::Cursor::new(text.to_owned())));
        Store::add(self.place(), vec![source], AddOptions::default(), &mut |_| {})
    }

    fn text(&self) -> String {
        let (mut back, store) = (Vec::new(), Store::open(self.place()).unwrap());
        store.verify().unwrap();
        let mut append = |text: &[u8]| {
            back.extend_from_slice(text);
            true
        };
        store.text(0..u64::MAX, &mut append).unwrap();
        String::from_utf8(back).unwrap()
    }
}

impl Storage for Memory {
    fn list(&self, folder: &str) -> io::Result<Vec<Object>> {
        let prefix = if folder.is_empty() { String::new() } else { format!("{folder}/") };
        let files = self.files.lock().unwrap();
        let inside = files.iter().filter_map(|(name, bytes)| Some((name.strip_prefix(&prefix)?, bytes)));
        let inside = inside.filter(|(name, _)| !name.contains('/'));
        let object = |(name, bytes): (&str, &Vec<u8>)| Object {
            name: name.into(),
            size: bytes.len() as u64,
            modified: Millis(0),
        };
        Ok(inside.map(object).collect())
    }

    fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        self.files.lock().unwrap().get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn create(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        if self.is_full.load(Ordering::Relaxed) && name.ends_with(".parquet") {
            return Err(io::ErrorKind::StorageFull.into());
        }
        let mut files = self.files.lock().unwrap();
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
        self.files.lock().unwrap().remove(name);
        Ok(())
    }

    fn shown(&self, name: &str) -> String {
        if name.is_empty() { "mem://logs.wp".to_owned() } else { format!("mem://logs.wp/{name}") }
    }
}

#[test]
fn a_storage_has_every_operation_of_a_disk() {
    let (memory, folder) = (Memory::default(), tempfile::tempdir().unwrap());
    let path = folder.path().join("store");
    assert!(Store::open(memory.place()).err().unwrap().to_string().contains("mem://logs.wp: is no store"));
    for text in
        ["{\"id\":1,\"k\":\"a\"}\n{\"id\": 2}\n", "{\"id\":3,\"n\":{\"x\":1e0}}\nno json\n", "{\"id\":4}\n"]
    {
        assert_eq!(memory.add(text).unwrap(), add(&path, text));
    }
    assert_eq!(memory.text(), text(&path));
    let (stored, disk) = (Store::open(memory.place()).unwrap(), Store::open(&path).unwrap());
    assert_eq!(stored.columns().unwrap(), disk.columns().unwrap());
    assert_eq!((stored.lines().unwrap(), stored.version()), (5, disk.version()));
    let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
    let count = |sources| engine.input(sources).count(&Query::compile("$..x").unwrap()).unwrap();
    assert_eq!(count(stored.sources()), count(disk.sources()));
    let itself = Store::add(memory.place(), stored.sources(), AddOptions::default(), &mut |_| {});
    assert!(itself.unwrap_err().to_string().contains("is in the store that it would be added to"));
    // A store in a storage is an input of one on a disk.
    let other = folder.path().join("other");
    Store::add(&other, stored.sources(), AddOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(text(&other), memory.text());
    let predicate = Predicate::parse("$.id == 2 || $.id == 4").unwrap();
    let dropped = Store::drop_matching(memory.place(), &engine, &predicate).unwrap();
    assert_eq!((dropped.parts_before, dropped.parts_after, dropped.lines_removed), (2, 1, 2));
    assert_eq!(memory.text(), "{\"id\":1,\"k\":\"a\"}\n{\"id\":3,\"n\":{\"x\":1e0}}\nno json\n");
    let merged = Store::compact(memory.place()).unwrap();
    assert_eq!((merged.parts_before, merged.parts_after), (2, 1));
    let before = (memory.text(), memory.parts().len());
    assert_eq!(before.1, 5);
    // The clock of this test may not have gone on since the change.
    assert_eq!(Store::vacuum(memory.place(), Duration::from_secs(3600)).unwrap().files, 0);
    assert_eq!((memory.text(), memory.parts().len()), before);
}

#[test]
fn a_part_that_is_not_taken_leaves_the_store_as_it_was() {
    let memory = Memory::default();
    memory.add("{\"id\":1}\n").unwrap();
    let before = (memory.parts(), Store::open(memory.place()).unwrap().version());
    memory.is_full.store(true, Ordering::Relaxed);
    let error = memory.add("{\"id\":2}\n").unwrap_err();
    assert!(error.to_string().contains("mem://logs.wp/part-"), "{error}");
    assert!(Store::compact(memory.place()).is_ok_and(|total| total.parts_before == 0));
    assert_eq!((memory.parts(), Store::open(memory.place()).unwrap().version()), before);
    memory.is_full.store(false, Ordering::Relaxed);
    memory.add("{\"id\":2}\n").unwrap();
    assert_eq!(memory.text(), "{\"id\":1}\n{\"id\":2}\n");
}

#[test]
fn writers_of_a_storage_lose_nothing() {
    let memory = Memory::default();
    thread::scope(|scope| {
        for writer in 0..4 {
            let memory = memory.clone();
            scope.spawn(move || {
                for number in 0..4 {
                    memory.add(&format!("{{\"id\":{}}}\n", 10 * writer + number)).unwrap();
                }
            });
        }
    });
    let text = memory.text();
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    let mut wanted: Vec<String> = (0..4)
        .flat_map(|writer| (0..4).map(move |number| format!("{{\"id\":{}}}", 10 * writer + number)))
        .collect();
    wanted.sort_unstable();
    assert_eq!(lines, wanted);
    assert_eq!(Store::open(memory.place()).unwrap().version(), Some(16));
}

#[test]
fn one_part_is_read_and_not_changed() {
    let memory = Memory::default();
    memory.add("{\"id\":1}\n{\"id\":2}\n").unwrap();
    let name = memory.parts().remove(0);
    let size = memory.files.lock().unwrap()[&name].len() as u64;
    let part = || StorePlace::of_object(Arc::new(memory.clone()), name.clone(), size);
    assert!(part().is_stored_part().unwrap());
    assert_eq!(Store::open(part()).unwrap().lines().unwrap(), 2);
    let error = Store::compact(part()).unwrap_err().to_string();
    assert!(error.contains("is one object, and no store that can be changed"), "{error}");
    // Another file is no part, and a part that is shorter than was said is an error.
    memory.create("other", &[b' '; 400]).unwrap();
    let other = StorePlace::of_object(Arc::new(memory.clone()), "other".into(), 400);
    assert!(!other.is_stored_part().unwrap());
    memory.files.lock().unwrap().get_mut(&name).unwrap().truncate(100);
    assert!(Store::open(part()).is_err());
}
