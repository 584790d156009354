//! Changes of folders, as the operating system reports them (feature `notify`).

#[cfg(feature = "notify")]
pub(super) use by_system::Watch;
#[cfg(not(feature = "notify"))]
pub(super) use nothing::Watch;

#[cfg(feature = "notify")]
mod by_system {
    use std::path::{Path, PathBuf};
    use std::thread;

    use notify::{Event, RecommendedWatcher, RecursiveMode, Watcher};

    /// Reports changes as long as it lives.
    pub struct Watch(
        #[expect(dead_code, reason = "the watcher ends when it is dropped, and is not used before")]
        RecommendedWatcher,
    );

    impl Watch {
        /// Watches the files of folders, and those of `trees` with all folders in them. `changed` gets the
        /// paths of each change; no paths mean that any file may have changed. Returns `None` if the system
        /// reports no changes.
        pub fn new(
            folders: &[&Path],
            trees: &[&Path],
            changed: impl Fn(&[PathBuf]) + Send + 'static,
        ) -> Option<Self> {
            let handler = move |event: notify::Result<Event>| match event {
                Ok(event) if event.kind.is_access() => {}
                Ok(event) => changed(&event.paths),
                Err(_) => changed(&[]),
            };
            // Without a thread, the watcher of `notify` panics as it is used, and again as it is dropped.
            thread::Builder::new().spawn(|| ()).ok()?.join().ok()?;
            let mut watcher = notify::recommended_watcher(handler).ok()?;
            for folder in folders {
                watcher.watch(folder, RecursiveMode::NonRecursive).ok()?;
            }
            for tree in trees {
                watcher.watch(tree, RecursiveMode::Recursive).ok()?;
            }
            Some(Self(watcher))
        }
    }
}

#[cfg(not(feature = "notify"))]
mod nothing {
    use std::path::{Path, PathBuf};

    /// The watch of a build that gets no reports. It has no values.
    pub enum Watch {}

    impl Watch {
        /// Returns `None`: followed files are read at intervals.
        pub fn new(
            _folders: &[&Path],
            _trees: &[&Path],
            _changed: impl Fn(&[PathBuf]) + Send + 'static,
        ) -> Option<Self> {
            None
        }
    }
}
