//! The names and values that twigs test, on a device.

use warpath_core::error::Error;
use warpath_cpu::twig::names::Names;
use warpath_shared::twig::dictionary::{Dictionary, DictionaryEntry, TagPlace, TestList, ValueTest};

use super::{Accelerator, Slot};

/// The arrays of [`Names`] on a device.
pub(super) struct DictionaryStage<A: Accelerator> {
    entries: Slot<A, DictionaryEntry>,
    bytes: Slot<A, u8>,
    tags: Slot<A, TagPlace>,
    lists: Slot<A, TestList>,
    tests: Slot<A, ValueTest>,
    rows: Slot<A, u8>,
    /// The lengths of the arrays above.
    lens: [usize; 6],
    tests_any: u64,
}

impl<A: Accelerator> DictionaryStage<A> {
    pub fn new(device: &A, names: &Names) -> Result<Self, Error> {
        let Names { entries, bytes, tags, lists, tests, rows, tests_any } = names;
        let mut stage = Self {
            entries: Slot::default(),
            bytes: Slot::default(),
            tags: Slot::default(),
            lists: Slot::default(),
            tests: Slot::default(),
            rows: Slot::default(),
            lens: [entries.len(), bytes.len(), tags.len(), lists.len(), tests.len(), rows.len()],
            tests_any: *tests_any,
        };
        device.upload(stage.entries.room(device, entries.len())?, 0, entries)?;
        device.upload(stage.bytes.room(device, bytes.len())?, 0, bytes)?;
        device.upload(stage.tags.room(device, tags.len())?, 0, tags)?;
        device.upload(stage.lists.room(device, lists.len())?, 0, lists)?;
        device.upload(stage.tests.room(device, tests.len())?, 0, tests)?;
        device.upload(stage.rows.room(device, rows.len())?, 0, rows)?;
        Ok(stage)
    }

    /// The dictionary as kernels read it.
    pub fn view<'a>(&'a self, device: &'a A) -> Result<Dictionary<'a>, Error> {
        let [entries, bytes, tags, lists, tests, rows] = self.lens;
        Ok(Dictionary {
            entries: device.view(self.entries.get()?, entries),
            bytes: device.view(self.bytes.get()?, bytes),
            tags: device.view(self.tags.get()?, tags),
            lists: device.view(self.lists.get()?, lists),
            tests: device.view(self.tests.get()?, tests),
            rows: device.view(self.rows.get()?, rows),
            tests_any: self.tests_any,
        })
    }
}
