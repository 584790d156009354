//! What a query found, on the device and on its way back.

use std::ops::Range;

use warpath_shared::kernel::{GATHER_TILE, Indexed, Match, TextGather, TextGatherArgs, TextScan, bounds_for};

use super::index::scan;
use super::{Accelerator, ScanScratch, Slot, launch};
use crate::error::{DeviceError, Error};

/// The matches of a partition on the device, path by path, and what is made of them there.
pub(super) struct ResultsStage<A: Accelerator> {
    /// Path by path, in line order.
    pub matches: Slot<A, Match>,
    /// Where each path's begin and end, as [`Bounds`] has it.
    pub bounds: Slot<A, u64>,
    offsets: Slot<A, u64>,
    text_scan: ScanScratch<A, u64>,
    text: Slot<A, u8>,
    text_bounds: Slot<A, u64>,
}

impl<A: Accelerator> Default for ResultsStage<A> {
    fn default() -> Self {
        Self {
            matches: Slot::default(),
            bounds: Slot::default(),
            offsets: Slot::default(),
            text_scan: ScanScratch::default(),
            text: Slot::default(),
            text_bounds: Slot::default(),
        }
    }
}

/// Where each path's results begin and end, and where those of the lines before the first faulty one end, as
/// [`bounds_for`] draws them.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    values: Vec<u64>,
    cut: bool,
}

impl Bounds {
    fn paths(&self) -> usize {
        self.values.len() / 2
    }

    /// How many results there are.
    pub fn total(&self) -> Result<usize, Error> {
        self.end(self.paths())
    }

    fn end(&self, bound: usize) -> Result<usize, Error> {
        let wanted = self.values[bound];
        usize::try_from(wanted).map_err(|_| DeviceError::OutOfMemory { wanted, free: 0 }.into())
    }

    /// Path by path, how many results there are.
    pub fn counts(&self) -> Vec<u64> {
        self.values[..=self.paths()].windows(2).map(|bounds| bounds[1] - bounds[0]).collect()
    }

    /// Path by path, how many results there are before the first faulty line, if there is one.
    pub fn counts_before_cut(&self) -> Option<Vec<u64>> {
        let cuts = self.values[self.paths() + 1..].iter().zip(&self.values);
        self.cut.then(|| cuts.map(|(cut, begin)| cut - begin).collect())
    }
}

/// The text of a partition's matches, as the device made it: each match's JSON, and a newline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Text {
    /// Path by path, in record order and within a record in RFC 9535's order.
    bytes: Vec<u8>,
    /// Where each path's begin, and where the last one's end.
    begins: Vec<usize>,
    /// Where those before the first faulty line end, if there is one.
    cuts: Option<Vec<usize>>,
}

impl Text {
    /// How many paths there are.
    pub fn paths(&self) -> usize {
        self.begins.len() - 1
    }

    /// The text of a path's matches.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn of_path(&self, path: usize) -> &[u8] {
        &self.bytes[self.range(path)]
    }

    /// The text of a path's matches on the lines before the first faulty one, if there is one.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn before_fault(&self, path: usize) -> Option<&[u8]> {
        let cuts = self.cuts.as_ref()?;
        Some(&self.bytes[self.begins[path]..cuts[path]])
    }

    /// Where in [`into_bytes`](Self::into_bytes) the text of a path is.
    ///
    /// # Panics
    /// If there is no such path.
    pub fn range(&self, path: usize) -> Range<usize> {
        self.begins[path]..self.begins[path + 1]
    }

    /// The text of all paths, one after the other.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

impl<A: Accelerator> ResultsStage<A> {
    /// The bounds that a kernel has written.
    pub fn bounds(&self, device: &A, paths: usize, cut: bool) -> Result<Bounds, Error> {
        let mut values = vec![0; bounds_for(paths)];
        device.download(self.bounds.get()?, 0, &mut values)?;
        Ok(Bounds { values, cut })
    }

    /// Copies the matches back, path by path.
    pub fn matches(&self, device: &A, bounds: &Bounds) -> Result<Vec<Vec<Match>>, Error> {
        let mut lists = Vec::with_capacity(bounds.paths());
        for path in 0..bounds.paths() {
            let (from, to) = (bounds.end(path)?, bounds.end(path + 1)?);
            let mut list = vec![Match::default(); to - from];
            if to > from {
                device.download(self.matches.get()?, from, &mut list)?;
            }
            lists.push(list);
        }
        Ok(lists)
    }

    /// Makes the text of the matches on the device, and copies it back at once.
    pub fn text(&mut self, device: &A, indexed: Indexed<'_>, bounds: &Bounds) -> Result<Text, Error> {
        let (paths, total) = (bounds.paths(), bounds.total()?);
        if total == 0 {
            let cuts = bounds.cut.then(|| vec![0; paths]);
            return Ok(Text { bytes: Vec::new(), begins: vec![0; paths + 1], cuts });
        }
        let Self { matches, offsets, text_scan, text, text_bounds, .. } = self;
        scan::<A, _, _, TextScan>(device, matches.get()?, total, offsets, text_scan)?;
        let len = bounds_for(paths);
        // How long the text is, the device alone knows. A guess that was too short is made good.
        let mut room = (text.capacity() / GATHER_TILE * GATHER_TILE).max(GATHER_TILE);
        loop {
            let args = TextGatherArgs {
                text: indexed.text,
                matches: device.view(matches.get()?, total),
                offsets: device.view(offsets.get()?, total + 1),
                bounds: device.view(self.bounds.get()?, len),
                text_bounds: device.view_mut(text_bounds.room(device, len)?, len),
                out: device.view_mut(text.room(device, room)?, room),
            };
            launch::<A, TextGather>(device, &args)?;
            let mut values = vec![0; len];
            device.download(text_bounds.get()?, 0, &mut values)?;
            let text_bounds = Bounds { values, cut: bounds.cut };
            if text_bounds.total()? > room {
                room = text_bounds.total()?.next_multiple_of(GATHER_TILE);
                continue;
            }
            let mut bytes = vec![0; text_bounds.total()?];
            device.download(text.get()?, 0, &mut bytes)?;
            let ends =
                |range: Range<usize>| range.map(|bound| text_bounds.end(bound)).collect::<Result<_, _>>();
            let cuts = if bounds.cut { Some(ends(paths + 1..len)?) } else { None };
            return Ok(Text { bytes, begins: ends(0..paths + 1)?, cuts });
        }
    }
}
