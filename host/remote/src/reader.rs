//! Objects as readers.
//!
//! The first request of an object asks for its first part, and its response has the size and the entity tag.
//! Then parts are fetched in order, several at a time, by tasks of a runtime that all readers share. A reader
//! that has asked for its last part begins the next objects of its list. At most
//! [`StoreSettings::parts`](crate::StoreSettings::parts) parts of a list are fetched or wait at the same
//! time, plus the first part of each other object that is read meanwhile: every reader may have one.

use std::collections::{HashMap, VecDeque};
use std::io::{self, Read};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use bytes::{Buf, Bytes};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Semaphore;
use tokio::task::AbortHandle;

use crate::fault::Fault;
use crate::fetch::{Fetch, Message, room, room_of};
use crate::settings::StoreSettings;

/// The threads of the runtime. They decrypt and copy; all else is waiting.
const THREADS: usize = 2;

/// The runtime of all stores. It lives as long as the process.
///
/// # Errors
/// The errors of the system, which may have no thread or descriptor left.
pub fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<io::Result<Runtime>> = OnceLock::new();
    let made = RUNTIME.get_or_init(|| {
        Builder::new_multi_thread().worker_threads(THREADS).thread_name("remote").enable_all().build()
    });
    made.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))
}

/// An object of a store.
#[derive(Clone, Debug)]
pub struct Object {
    /// The name for messages: its URL.
    pub name: String,
    /// The store.
    pub store: Arc<dyn ObjectStore>,
    /// The name in the store.
    pub location: Path,
}

/// An object as a reader. Nothing is fetched before the first read.
///
/// A read waits in the thread of the caller. It must not be a thread of an asynchronous runtime, whose other
/// tasks would wait as well.
pub struct ObjectReader {
    list: Arc<List>,
    /// The object's number in the list.
    number: usize,
    object: Progress,
    parts: VecDeque<Transfer>,
    chunk: Bytes,
    failed: Option<(io::ErrorKind, String)>,
}

/// The state of an object: how much of it is known.
enum Progress {
    /// Nothing: no part has been asked for.
    New,
    /// Its first part has been asked for.
    Asked,
    /// Its description, and the offset of the next part that nobody has asked for.
    Known(Box<ObjectMeta>, u64),
}

/// The objects that are read one after the other.
struct List {
    objects: Vec<Object>,
    settings: StoreSettings,
    /// The parts that are fetched or wait for their reader.
    parts: Arc<AtomicUsize>,
    ahead: Mutex<Ahead>,
}

/// The objects whose first parts have been asked for.
#[derive(Default)]
struct Ahead {
    /// The number after the last of them.
    next: usize,
    /// The first parts of objects that are not read yet.
    opened: HashMap<usize, Transfer>,
}

/// The transfer of one part.
struct Transfer {
    messages: Receiver<Message>,
    room: Arc<Semaphore>,
    task: AbortHandle,
    /// Counts this transfer.
    parts: Arc<AtomicUsize>,
    /// The bytes that are still to come; `None` before the first response of an object.
    left: Option<u64>,
}

impl Drop for Transfer {
    fn drop(&mut self) {
        self.task.abort();
        self.parts.fetch_sub(1, Ordering::Relaxed);
    }
}

impl List {
    /// Starts to fetch a part of an object.
    fn part(&self, number: usize, known: Option<&ObjectMeta>, at: u64, end: u64) -> io::Result<Transfer> {
        let (sender, messages) = mpsc::channel();
        let space = Arc::new(Semaphore::new(room(&self.settings) as usize));
        let fetch = Fetch {
            object: self.objects[number].clone(),
            settings: self.settings.clone(),
            known: known.cloned(),
            at,
            end,
            is_alone: false,
            is_whole: false,
            sender,
            room: space.clone(),
        };
        let runtime = runtime()?;
        self.parts.fetch_add(1, Ordering::Relaxed);
        let task = runtime.spawn(fetch.run()).abort_handle();
        let left = known.map(|_| end - at);
        Ok(Transfer { messages, room: space, task, parts: self.parts.clone(), left })
    }

    fn has_room(&self) -> bool {
        self.parts.load(Ordering::Relaxed) < self.settings.parts
    }

    /// The first part of an object, which may have been asked for before.
    fn first(&self, number: usize) -> io::Result<Transfer> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        ahead.next = ahead.next.max(number + 1);
        match ahead.opened.remove(&number) {
            Some(part) => Ok(part),
            None => self.part(number, None, 0, self.settings.part_bytes),
        }
    }

    /// Asks for the first parts of the next objects.
    fn open_ahead(&self) -> io::Result<()> {
        let mut ahead = self.ahead.lock().unwrap_or_else(PoisonError::into_inner);
        while ahead.next < self.objects.len() && self.has_room() {
            let number = ahead.next;
            let part = self.part(number, None, 0, self.settings.part_bytes)?;
            ahead.opened.insert(number, part);
            ahead.next += 1;
        }
        Ok(())
    }
}

impl ObjectReader {
    /// A reader of one object.
    #[must_use]
    pub fn new(object: Object, settings: &StoreSettings) -> Self {
        let list = List::of(vec![object], settings);
        Self::of(list, 0)
    }

    /// Readers of objects that are read one after the other.
    #[must_use]
    pub fn of_list(objects: Vec<Object>, settings: &StoreSettings) -> Vec<Self> {
        let list = List::of(objects, settings);
        (0..list.objects.len()).map(|number| Self::of(list.clone(), number)).collect()
    }

    fn of(list: Arc<List>, number: usize) -> Self {
        Self {
            list,
            number,
            object: Progress::New,
            parts: VecDeque::new(),
            chunk: Bytes::new(),
            failed: None,
        }
    }

    /// The name of the object.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.list.objects[self.number].name
    }

    /// Asks for the next parts, as far as there is room, and then for the next objects.
    fn ask(&mut self) -> io::Result<()> {
        match &mut self.object {
            Progress::New => {
                self.parts.push_back(self.list.first(self.number)?);
                self.object = Progress::Asked;
                Ok(())
            }
            Progress::Asked => Ok(()),
            Progress::Known(known, next) => {
                while *next < known.size && (self.parts.is_empty() || self.list.has_room()) {
                    let end = known.size.min(*next + self.list.settings.part_bytes);
                    self.parts.push_back(self.list.part(self.number, Some(known), *next, end)?);
                    *next = end;
                }
                if *next >= known.size { self.list.open_ahead() } else { Ok(()) }
            }
        }
    }

    /// The next bytes of the object. `None` at its end.
    fn next(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            self.ask()?;
            let Some(part) = self.parts.front_mut() else { return Ok(None) };
            if part.left == Some(0) {
                self.parts.pop_front();
                continue;
            }
            match part.messages.recv() {
                Ok(Message::Begins(known, end)) => {
                    part.left = Some(end);
                    self.object = Progress::Known(Box::new(known), end);
                }
                Ok(Message::Bytes(bytes)) => {
                    part.left = part.left.map(|left| left - bytes.len() as u64);
                    part.room.add_permits(room_of(&bytes, &self.list.settings) as usize);
                    return Ok(Some(bytes));
                }
                Ok(Message::Fails(fault)) => return Err(fault.into_io()),
                // A task that ends sends all bytes, or a fault.
                Err(mpsc::RecvError) => return Err(Fault::Lost.into_io()),
            }
        }
    }
}

impl List {
    fn of(objects: Vec<Object>, settings: &StoreSettings) -> Arc<Self> {
        let settings = settings.clone();
        Arc::new(Self { objects, settings, parts: Arc::default(), ahead: Mutex::default() })
    }
}

impl Read for ObjectReader {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if room.is_empty() {
            return Ok(0);
        }
        if let Some((kind, text)) = &self.failed {
            return Err(io::Error::new(*kind, text.clone()));
        }
        if self.chunk.is_empty() {
            match self.next() {
                Ok(Some(chunk)) => self.chunk = chunk,
                Ok(None) => return Ok(0),
                Err(error) => {
                    self.failed = Some((error.kind(), error.to_string()));
                    self.parts.clear();
                    return Err(error);
                }
            }
        }
        let count = room.len().min(self.chunk.len());
        self.chunk.copy_to_slice(&mut room[..count]);
        Ok(count)
    }
}
