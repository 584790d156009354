//! The inputs that stay in memory: packed columns and compressed lines of the newest version that is loaded.
//!
//! A question reads a file from memory if it has not changed since it was loaded, and from the disk
//! otherwise. Either way the results are the same. Files that have changed, and new parts of stores, are
//! loaded in a thread of their own while questions go on.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, RwLock};

use warpath::{DeviceChoice, Engine, Error, Loaded, Source};
use warpath_core::stamp::FileState;

/// The state of a file.
type State = Option<FileState>;

/// The bytes of new inputs from which on free memory is returned to the system.
#[cfg(unix)]
const MUCH: u64 = 16 << 20;

/// The inputs in memory.
pub struct Resident {
    /// Loads inputs; `None` if nothing is loaded.
    engine: Option<Engine>,
    version: RwLock<Loaded>,
    /// Files that are not loaded in the state that they have: those of other layouts than lines, those that
    /// cannot be read, and those that have no room.
    left_out: Mutex<HashMap<PathBuf, State>>,
    is_loading: AtomicBool,
    /// The number of versions so far.
    versions: AtomicU64,
}

/// The loading of inputs, which ends when this value is dropped.
struct Loading<'a>(&'a AtomicBool);

impl Drop for Loading<'_> {
    fn drop(&mut self) {
        self.0.store(false, Ordering::Release);
    }
}

/// A file that is not loaded, and the reason.
pub struct LeftOut {
    pub name: String,
    pub why: String,
}

impl Resident {
    /// Memory for inputs, of at most `most` bytes; 0 loads nothing. A device that is named has the leaves,
    /// too.
    ///
    /// # Errors
    /// Those of the engine.
    pub fn new(most: usize, device: &DeviceChoice) -> Result<Self, Error> {
        let device = if *device == DeviceChoice::Auto { DeviceChoice::Cpu } else { device.clone() };
        let engine = Engine::builder().device(device).memory(most.max(1));
        Ok(Self {
            engine: (most > 0).then(|| engine.build()).transpose()?,
            version: RwLock::default(),
            left_out: Mutex::default(),
            is_loading: AtomicBool::new(false),
            versions: AtomicU64::new(0),
        })
    }

    /// The newest version.
    pub fn current(&self) -> Loaded {
        self.version.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of versions that were loaded so far.
    pub fn versions(&self) -> u64 {
        self.versions.load(Ordering::Acquire)
    }

    /// Loads inputs. Returns the files that could have been loaded and are not. An input that cannot be read
    /// does not end the loading: the questions that read it report why.
    pub fn load(&self, sources: Vec<Source>) -> Vec<LeftOut> {
        let Some(engine) = &self.engine else { return Vec::new() };
        let mut left_out = Vec::new();
        let mut leave_out = |path: &PathBuf| {
            let mut all = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
            all.insert(path.clone(), state_of(path));
        };
        let mut lines = Vec::with_capacity(sources.len());
        for source in sources {
            let Source::File(path) = &source else { continue };
            let path = path.clone();
            match source.recognised() {
                Ok(source @ Source::File(_)) if !is_xml(&path) => lines.push(source),
                _ => leave_out(&path),
            }
        }
        // The name of a file is its path.
        let paths: HashMap<String, PathBuf> = lines.iter().filter_map(named).collect();
        let mut skip = |name: &str, error: Error| {
            paths.get(name).into_iter().for_each(&mut leave_out);
            left_out.push(LeftOut { name: name.to_owned(), why: error.chain() });
        };
        let before = self.current();
        let renewed = before.renewed_as_far(engine, lines, &mut skip);
        #[cfg(unix)]
        let is_much = renewed.memory() > before.memory() + MUCH;
        *self.version.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        #[cfg(unix)]
        if is_much {
            // Loading took more than what stays.
            warpath_terminal::memory::return_free();
        }
        self.versions.fetch_add(1, Ordering::Release);
        left_out
    }

    /// The same sources, with those in memory in place of the files that have not changed. If others could be
    /// loaded, `all` inputs are loaded again, in a thread of their own.
    pub fn in_place_of(
        self: &Arc<Self>,
        sources: Vec<Source>,
        all: impl FnOnce() -> Vec<Source> + Send + 'static,
    ) -> Vec<Source> {
        if self.engine.is_none() {
            return sources;
        }
        let sources = self.current().in_place_of(sources);
        let left_out = self.left_out.lock().unwrap_or_else(PoisonError::into_inner);
        let is_new = |source: &Source| match source {
            Source::File(path) => left_out.get(path) != Some(&state_of(path)),
            _ => false,
        };
        let has_new = sources.iter().any(is_new);
        drop(left_out);
        if has_new && !self.is_loading.swap(true, Ordering::AcqRel) {
            let this = self.clone();
            let load = move || {
                // Also after a panic: otherwise no change would ever be loaded again.
                let _loading = Loading(&this.is_loading);
                this.load(all());
            };
            // Without a thread, files are read from the disk.
            if std::thread::Builder::new().name("load".to_owned()).spawn(load).is_err() {
                self.is_loading.store(false, Ordering::Release);
            }
        }
        sources
    }
}

fn named(source: &Source) -> Option<(String, PathBuf)> {
    match source {
        Source::File(path) => Some((source.name(), path.clone())),
        _ => None,
    }
}

fn state_of(path: &Path) -> State {
    path.metadata().ok().map(|metadata| FileState::of(&metadata))
}

/// True for the name of a file of XML, which has no lines of JSON.
fn is_xml(path: &Path) -> bool {
    path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("xml"))
}
