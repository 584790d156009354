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
    /// True if it is gone once it has a file of the log, before it says so.
    is_cut: Arc<AtomicBool>,
}

impl Memory {
    fn location(&self) -> StoreLocation {
        StoreLocation::of_storage(Arc::new(self.clone()))
    }

    fn parts(&self) -> Vec<String> {
        self.files.lock().unwrap().keys().filter(|name| !name.contains('/')).cloned().collect()
    }

    fn add(&self, text: &str) -> Result<Added, Error> {
        let source = Source::Reader("lines".into(), Box::new(io::Cursor::new(text.to_owned())));
        Store::add(self.location(), vec![source], AddOptions::default(), &mut |_| {})
    }

    fn text(&self) -> String {
        let (mut back, store) = (Vec::new(), Store::open(self.location()).unwrap());
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
        if self.is_cut.load(Ordering::Relaxed) && !self.files.lock().unwrap().is_empty() {
            return Err(io::ErrorKind::TimedOut.into());
        }
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
        match self.is_cut.load(Ordering::Relaxed) && name.ends_with(".json") {
            true => Err(io::ErrorKind::TimedOut.into()),
            false => Ok(()),
        }
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
    assert!(Store::open(memory.location()).err().unwrap().to_string().contains("mem://logs.wp: is no store"));
    for text in
        ["{\"id\":1,\"k\":\"a\"}\n{\"id\": 2}\n", "{\"id\":3,\"n\":{\"x\":1e0}}\nno json\n", "{\"id\":4}\n"]
    {
        assert_eq!(memory.add(text).unwrap(), add(&path, text));
    }
    assert_eq!(memory.text(), text(&path));
    let (stored, disk) = (Store::open(memory.location()).unwrap(), Store::open(&path).unwrap());
    assert_eq!(stored.columns().unwrap(), disk.columns().unwrap());
    assert_eq!((stored.lines().unwrap(), stored.version()), (5, disk.version()));
    let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
    let count = |sources| engine.input(sources).count(&Query::compile("$..x").unwrap()).unwrap();
    assert_eq!(count(stored.sources()), count(disk.sources()));
    let itself = Store::add(memory.location(), stored.sources(), AddOptions::default(), &mut |_| {});
    assert!(itself.unwrap_err().to_string().contains("is in the store that it would be added to"));
    // A store in a storage is an input of one on a disk.
    let other = folder.path().join("other");
    Store::add(&other, stored.sources(), AddOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(text(&other), memory.text());
    let dropped = Store::drop_matching(memory.location(), &engine, &condition()).unwrap();
    assert_eq!((dropped.parts_before, dropped.parts_after, dropped.lines_removed), (2, 1, 2));
    assert_eq!(memory.text(), "{\"id\":1,\"k\":\"a\"}\n{\"id\":3,\"n\":{\"x\":1e0}}\nno json\n");
    let merged = Store::compact(memory.location()).unwrap();
    assert_eq!((merged.parts_before, merged.parts_after), (2, 1));
    let before = (memory.text(), memory.parts().len());
    assert_eq!(before.1, 5);
    // The clock of this test may not have gone on since the change.
    assert_eq!(Store::vacuum(memory.location(), Duration::from_secs(3600)).unwrap().files, 0);
    assert_eq!((memory.text(), memory.parts().len()), before);
}

#[test]
fn a_part_that_is_not_taken_leaves_the_store_as_it_was() {
    let memory = Memory::default();
    memory.add("{\"id\":1}\n").unwrap();
    let before = (memory.parts(), Store::open(memory.location()).unwrap().version());
    memory.is_full.store(true, Ordering::Relaxed);
    let error = memory.add("{\"id\":2}\n").unwrap_err();
    assert!(error.to_string().contains("mem://logs.wp/part-"), "{error}");
    assert!(Store::compact(memory.location()).is_ok_and(|total| total.parts_before == 0));
    assert_eq!((memory.parts(), Store::open(memory.location()).unwrap().version()), before);
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
    assert_eq!(Store::open(memory.location()).unwrap().version(), Some(15));
}

#[test]
fn one_part_is_read_and_not_changed() {
    let memory = Memory::default();
    memory.add("{\"id\":1}\n{\"id\":2}\n").unwrap();
    let name = memory.parts().remove(0);
    let size = memory.files.lock().unwrap()[&name].len() as u64;
    let part = || StoreLocation::of_object(Arc::new(memory.clone()), name.clone(), size);
    assert!(part().is_stored_part().unwrap());
    assert_eq!(Store::open(part()).unwrap().lines().unwrap(), 2);
    let error = Store::compact(part()).unwrap_err().to_string();
    assert!(error.contains("is one object, and no store that can be changed"), "{error}");
    // Another file is no part, and a part that is shorter than was said is an error.
    memory.create("other", &[b' '; 400]).unwrap();
    let other = StoreLocation::of_object(Arc::new(memory.clone()), "other".into(), 400);
    assert!(!other.is_stored_part().unwrap());
    memory.files.lock().unwrap().get_mut(&name).unwrap().truncate(100);
    assert!(Store::open(part()).is_err());
}

#[test]
fn a_mark_that_is_a_part_of_a_line_stays_in_a_storage() {
    let (memory, folder) = (Memory::default(), tempfile::tempdir().unwrap());
    let file = folder.path().join("file");
    let mut all = String::new();
    for line in ["{\"a\":0}\n", "\u{feff}{\"a\":1}\n", "{\"a\":2}\n", "{\"a\":3}\n"] {
        all += line;
        fs::write(&file, &all).unwrap();
        let source = Source::File(file.clone());
        Store::add(memory.location(), vec![source], AddOptions::default(), &mut |_| {}).unwrap();
    }
    assert_eq!(memory.text(), all);
    let merged = Store::compact(memory.location()).unwrap();
    assert_eq!((merged.parts_before, merged.parts_after, memory.text()), (4, 1, all.clone()));
}

#[test]
fn a_mark_that_is_a_part_of_a_line_is_added_from_a_storage() {
    let (memory, folder) = (Memory::default(), tempfile::tempdir().unwrap());
    let [file, other] = ["file", "other"].map(|name| folder.path().join(name));
    let mut all = String::new();
    for line in ["{\"a\":0}\n", "\u{feff}{\"a\":1}\n"] {
        all += line;
        fs::write(&file, &all).unwrap();
        let source = Source::File(file.clone());
        Store::add(memory.location(), vec![source], AddOptions::default(), &mut |_| {}).unwrap();
    }
    let sources = Store::open(memory.location()).unwrap().sources();
    Store::add(&other, sources, AddOptions::default(), &mut |_| {}).unwrap();
    assert_eq!(text(&other), all);
}

#[test]
fn a_first_addition_leaves_nothing_or_what_its_version_names() {
    let memory = Memory::default();
    let failing = Read::chain(&b"{\"id\":1}\n"[..], Failing);
    let source = Source::Reader("lines".into(), Box::new(failing));
    let options = AddOptions::default().group_bytes(1);
    Store::add(memory.location(), vec![source], options, &mut |_| {}).unwrap_err();
    assert!(memory.files.lock().unwrap().is_empty());
    memory.is_cut.store(true, Ordering::Relaxed);
    memory.add("{\"id\":1}\n").unwrap_err();
    memory.is_cut.store(false, Ordering::Relaxed);
    assert_eq!(memory.text(), "{\"id\":1}\n");
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::ErrorKind::Other.into())
    }
}
