//! The paper's kernel on the queues of a device.

use std::ops::Range;

use warpath::Error;
use warpath_device::{Accelerator, Slot};
use warpath_rivals_gpu::args::{TwigSeed, TwigSeedArgs};
use warpath_rivals_gpu::seed::BLOCK;
use warpath_shared::view::{View, ViewMut};

use super::SeedQueries;
use crate::launch;

/// The paper's kernel over documents. Documents go to the queues in turn, with a launch each,
/// like the paper's streams. Or all documents of a queue go to one launch.
pub struct SeedStage<A: Accelerator> {
    lanes: Vec<Lane<A>>,
    queries: usize,
}

struct Lane<A: Accelerator> {
    device: A,
    personalities: Slot<A, u32>,
    events: Slot<A, u8>,
    documents: Slot<A, u32>,
    matches: Slot<A, u8>,
    /// The offsets of this lane's documents of the last batch.
    offsets: Vec<u32>,
}

impl<A: Accelerator> SeedStage<A> {
    /// Makes a stage on several queues of a device. The queries' last block must be full.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn new(device: &A, queries: &SeedQueries, queues: usize) -> Result<Self, Error> {
        let nodes: Vec<u32> = queries.personalities.iter().map(|node| node.0).collect();
        let mut lanes = Vec::new();
        for _ in 0..queues.max(1) {
            let (device, mut personalities) = (device.queue()?, Slot::default());
            device.upload(personalities.room(&device, nodes.len())?, 0, &nodes)?;
            lanes.push(Lane {
                device,
                personalities,
                events: Slot::default(),
                documents: Slot::default(),
                matches: Slot::default(),
                offsets: Vec::new(),
            });
        }
        Ok(Self { lanes, queries: nodes.len() })
    }

    /// Evaluates documents, whose events begin at the offsets in `documents`. Returns a byte for each
    /// document and query node; it is 1 for the root of a twig that matches. With `one`, all documents of a
    /// queue are one launch.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn run(&mut self, events: &[u8], documents: &[u32], one: bool) -> Result<Vec<u8>, Error> {
        let (queries, lanes) = (self.queries, self.lanes.len());
        let count = documents.len().saturating_sub(1);
        if queries == 0 || count == 0 {
            return Ok(Vec::new());
        }
        for (number, lane) in self.lanes.iter_mut().enumerate() {
            let (begin, end) = (number * count / lanes, (number + 1) * count / lanes);
            let first = documents[begin];
            lane.offsets = documents[begin..=end].iter().map(|at| at - first).collect();
            let device = &lane.device;
            lane.events.room(device, (documents[end] - first) as usize)?;
            lane.documents.room(device, lane.offsets.len())?;
            lane.matches.room(device, (end - begin) * queries)?;
            // SAFETY: the source slices are kept or borrowed until this function returns, and the downloads
            // below wait for the copies.
            unsafe {
                device.upload_later(lane.documents.get_mut()?, 0, &lane.offsets)?;
                if one {
                    let all = &events[first as usize..documents[end] as usize];
                    device.upload_later(lane.events.get_mut()?, 0, all)?;
                }
            }
        }
        // Queues take turns, so that copies and kernels of several run at the same time.
        let most = count.div_ceil(lanes);
        for turn in 0..if one { 1 } else { most } {
            for (number, lane) in self.lanes.iter_mut().enumerate() {
                let begin = number * count / lanes;
                let here = lane.offsets.len() - 1;
                let range = if one { 0..here } else { turn..(turn + 1).min(here) };
                if range.is_empty() {
                    continue;
                }
                if !one {
                    let (from, to) = (documents[begin + turn] as usize, documents[begin + turn + 1] as usize);
                    let at = lane.offsets[turn] as usize;
                    // SAFETY: as above.
                    unsafe { lane.device.upload_later(lane.events.get_mut()?, at, &events[from..to])? };
                }
                lane.launch(range, queries)?;
            }
        }
        let mut matches = vec![0; count * queries];
        for (number, lane) in self.lanes.iter().enumerate() {
            let (begin, end) = (number * count / lanes, (number + 1) * count / lanes);
            if begin < end {
                let to = &mut matches[begin * queries..end * queries];
                lane.device.download(lane.matches.get()?, 0, to)?;
            }
        }
        Ok(matches)
    }
}

impl<A: Accelerator> Lane<A> {
    fn launch(&mut self, range: Range<usize>, queries: usize) -> Result<(), Error> {
        let Self { device, personalities, events, documents, matches, offsets } = self;
        let all = offsets.len() - 1;
        debug_assert!(queries.is_multiple_of(BLOCK));
        let documents = device.view(documents.get()?, all + 1);
        let matches = device.view_mut(matches.get_mut()?, all * queries);
        // SAFETY: the ranges lie within these views, and only this launch uses them.
        let (documents, matches) = unsafe {
            let (len, count) = (range.len() + 1, range.len() * queries);
            (
                View::from_raw(documents.at(range.start, len), len),
                ViewMut::from_raw(matches.at(range.start * queries, count), count),
            )
        };
        let args = TwigSeedArgs {
            personalities: device.view(personalities.get()?, queries),
            events: device.view(events.get()?, offsets[all] as usize),
            documents,
            matches,
        };
        launch::<A, TwigSeed>(device, &args)
    }
}
