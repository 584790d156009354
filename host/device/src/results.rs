//! The results of a query, on the device and on the way back to the host.

use warpath_answer::answer::TextForm;
use warpath_core::error::{DeviceError, Error};
use warpath_core::plain::Plain;
use warpath_shared::kernel::{
    GATHER_TILE, Indexed, Match, RecordCompact, RecordCompactArgs, TextGather, TextGatherArgs, TextScan,
    bounds_for, compact_tiles,
};
use warpath_shared::units::LineIx;

use super::columns::ItemStage;
use super::index::scan;
use super::query::Find;
use super::{Accelerator, Downloads, ScanScratch, Slot, launch, stages};

/// The matches of a partition on the device, path by path, and the text and lists made of them there.
pub(super) struct ResultsStage<A: Accelerator> {
    /// The matches, path by path, in line order.
    pub matches: Slot<A, Match>,
    /// The bounds of each path's matches, in the form of [`Bounds`].
    pub bounds: Slot<A, u64>,
    offsets: Slot<A, u64>,
    text_scan: ScanScratch<A, u64>,
    text: Slot<A, u8>,
    text_bounds: Slot<A, u64>,
    /// The lines that are records without a fault.
    pub records: Slot<A, LineIx>,
    record_count: Slot<A, u64>,
    record_scan: ScanScratch<A, u64>,
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
            records: Slot::default(),
            record_count: Slot::default(),
            record_scan: ScanScratch::default(),
        }
    }
}

/// The bounds of each path's results, and the end of the results before the first faulty line. [`bounds_for`]
/// has a drawing of the layout.
#[derive(Clone, Debug)]
pub(super) struct Bounds {
    values: Vec<u64>,
    cut: bool,
    /// The number of records without a fault, if they were listed.
    pub records: usize,
}

impl Bounds {
    fn paths(&self) -> usize {
        self.values.len() / 2
    }

    /// The number of results.
    pub fn total(&self) -> Result<usize, Error> {
        self.end(self.paths())
    }

    /// The start of path `bound`'s results, which is the end of the results of the path before it.
    pub fn end(&self, bound: usize) -> Result<usize, Error> {
        let wanted = self.values[bound];
        usize::try_from(wanted).map_err(|_| DeviceError::OutOfMemory { wanted, free: 0 }.into())
    }

    /// The number of results of each path.
    pub fn counts(&self) -> Vec<u64> {
        self.values[..=self.paths()].windows(2).map(|bounds| bounds[1] - bounds[0]).collect()
    }

    /// The number of results of each path before the first faulty line, if there is one.
    pub fn counts_before_cut(&self) -> Option<Vec<u64>> {
        let cuts = self.values[self.paths() + 1..].iter().zip(&self.values);
        self.cut.then(|| cuts.map(|(cut, begin)| cut - begin).collect())
    }
}

/// The text of matches, made on the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MatchTexts {
    /// The text of the matches of each path. Each match is followed by a newline. Matches are in record
    /// order, and within a record in RFC 9535's order.
    pub texts: Vec<Vec<u8>>,
    /// For each path, the number of bytes of text of matches before the first faulty line, if there is one.
    pub before_fault: Option<Vec<usize>>,
}

impl<A: Accelerator> ResultsStage<A> {
    /// Reads the bounds that a kernel has written, and the number of listed records.
    pub fn bounds(&self, device: &A, paths: usize, find: Find) -> Result<Bounds, Error> {
        let (mut values, mut records) = (vec![0; bounds_for(paths)], vec![0; usize::from(find.records)]);
        let mut downloads = Downloads::new(device);
        downloads.add(&self.bounds, 0, &mut values)?;
        downloads.add(&self.record_count, 0, &mut records)?;
        downloads.run()?;
        // The number is less than the bytes of a text on this host, so it fits.
        let records = records.first().map_or(0, |count| *count as usize);
        Ok(Bounds { values, cut: find.cut.is_some(), records })
    }

    /// Copies the matches of some paths back. The lists of the other paths are empty.
    pub fn matches_of(
        &self,
        device: &A,
        bounds: &Bounds,
        is_wanted: impl Fn(usize) -> bool,
    ) -> Result<Vec<Vec<Match>>, Error> {
        paths_of(device, bounds, &self.matches, is_wanted)
    }

    /// Makes the text of the matches on the device, and copies it back, path by path.
    pub fn texts(
        &mut self,
        device: &A,
        indexed: Indexed<'_>,
        bounds: &Bounds,
        form: TextForm,
        raw: &mut ItemStage<A>,
    ) -> Result<MatchTexts, Error> {
        let (paths, total) = (bounds.paths(), bounds.total()?);
        if total == 0 {
            let before_fault = bounds.cut.then(|| vec![0; paths]);
            return Ok(MatchTexts { texts: vec![Vec::new(); paths], before_fault });
        }
        let (bounds, text) = match form {
            TextForm::Json => (self.make_text(device, indexed, bounds)?, &self.text),
            TextForm::Raw => {
                let len = bounds_for(paths);
                let (matches, ends) = ((self.matches.get()?, total), (self.bounds.get()?, len));
                let values = raw.make_raw_text(device, indexed, matches, ends)?;
                (Bounds { values, ..*bounds }, raw.text())
            }
        };
        let texts = paths_of(device, &bounds, text, |_| true)?;
        // The numbers are less than the bytes of a text on this host, so they fit.
        let before_fault =
            bounds.counts_before_cut().map(|cuts| cuts.into_iter().map(|cut| cut as usize).collect());
        Ok(MatchTexts { texts, before_fault })
    }

    /// Makes the JSON text of the matches, of which there is at least one. Returns the bounds as byte offsets
    /// in the text.
    fn make_text(&mut self, device: &A, indexed: Indexed<'_>, bounds: &Bounds) -> Result<Bounds, Error> {
        let (len, total) = (bounds_for(bounds.paths()), bounds.total()?);
        let Self { matches, offsets, text_scan, text, text_bounds, .. } = self;
        scan::<A, stages::Text, _, _, TextScan>(device, matches.get()?, total, offsets, text_scan)?;
        // Only the device knows the length of the text. If the guess was too short, the loop runs again with
        // enough room.
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
            launch::<A, stages::Text, TextGather>(device, &args)?;
            let mut values = vec![0; len];
            device.download(text_bounds.get()?, 0, &mut values)?;
            let bounds = Bounds { values, ..*bounds };
            if bounds.total()? <= room {
                return Ok(bounds);
            }
            room = bounds.total()?.next_multiple_of(GATHER_TILE);
        }
    }

    /// Lists the lines that are records without a fault, on the device. [`bounds`](Self::bounds) returns
    /// their number.
    pub fn list_records(&mut self, device: &A, indexed: Indexed<'_>) -> Result<(), Error> {
        let lines = indexed.lines();
        let args = RecordCompactArgs {
            indexed,
            records: device.view_mut(self.records.room(device, lines)?, lines),
            count: device.view_mut(self.record_count.room(device, 1)?, 1),
            look_back: self.record_scan.start_tiles(device, compact_tiles(lines))?,
        };
        launch::<A, stages::ListRecords, RecordCompact>(device, &args)
    }

    /// Replaces the list of records by the marked ones.
    pub fn list_marked(&mut self, device: &A, records: &[LineIx]) -> Result<(), Error> {
        device.upload(self.records.room(device, records.len())?, 0, records)
    }

    /// Copies back the first `count` lines that [`list_records`](Self::list_records) listed.
    pub fn records(&self, device: &A, count: usize) -> Result<Vec<LineIx>, Error> {
        let mut records = vec![0; count];
        device.download(self.records.get()?, 0, &mut records)?;
        Ok(records)
    }
}

/// Copies the results of some paths back, path by path. The lists of the other paths are empty.
fn paths_of<A: Accelerator, T: Plain>(
    device: &A,
    bounds: &Bounds,
    from: &Slot<A, T>,
    is_wanted: impl Fn(usize) -> bool,
) -> Result<Vec<Vec<T>>, Error> {
    let ranges: Vec<_> = (0..bounds.paths())
        .map(|path| if is_wanted(path) { Ok(bounds.end(path)?..bounds.end(path + 1)?) } else { Ok(0..0) })
        .collect::<Result<_, Error>>()?;
    let mut lists: Vec<_> = ranges.iter().map(|range| vec![T::default(); range.len()]).collect();
    let mut downloads = Downloads::new(device);
    for (range, list) in ranges.iter().zip(&mut lists) {
        downloads.add(from, range.start, list)?;
    }
    downloads.run()?;
    Ok(lists)
}
