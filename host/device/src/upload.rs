//! Large copies to a device, through pinned memory that is kept.
//!
//! The source is in memory that is not pinned, for example a mapped file, or has yet to be computed. From
//! such memory the driver copies at a fraction of the bus's rate, through its own buffers, which one thread
//! fills. Here several threads fill pieces, and each full piece goes to the device while the threads fill
//! others:
//!
//! ```text
//! thread 1   | fill 0 | fill 2    | fill 5 | ...
//! thread 2   | fill 1  | fill 3 | fill 4   | ...
//! caller              | 0 | 1 |     | 2 | 3 | ...     each copied whole, in order
//! ```

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use warpath_answer::buffer::Buffer;
use warpath_core::error::Error;
use warpath_core::plain::{Plain, elements_mut};
use warpath_core::pool::cores;
use warpath_core::pool::stream::{Limits, each};

use super::Accelerator;

/// Bytes of a piece. The caller waits for each copy. A copy of 4 MiB takes 0.1 ms at 40 GB/s, and its start
/// and end take about a tenth of that.
pub(super) const PIECE_BYTES: usize = 4 << 20;
/// The most pieces. A core copies about 6 to 10 GB/s. So seven pieces that are filled and one that goes to
/// the device keep a bus of 40 to 50 GB/s busy.
const MOST_PIECES: usize = 8;
/// An alignment that is larger than that of any element type, and the length of a cache line.
pub(super) const ALIGNMENT: usize = 64;

/// Pinned memory for copies to a device, and the number of threads that fill it. The first copies allocate
/// the memory, and it is kept.
pub(super) struct Uploads {
    buffers: Vec<Buffer>,
    threads: usize,
}

impl Default for Uploads {
    /// Uses one thread for each core.
    fn default() -> Self {
        Self { buffers: Vec::new(), threads: cores() }
    }
}

impl Uploads {
    /// Sets the number of threads that fill pieces, at least one.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Copies `len` elements to the device, from element `at` on. Several threads call `fill`, each with a
    /// range of elements and a piece of the same length to write. The ranges count from the first copied
    /// element.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] for a range outside the array.
    pub fn upload<A: Accelerator, T: Plain>(
        &mut self,
        device: &A,
        to: &mut A::Buffer<T>,
        at: usize,
        len: usize,
        fill: impl Fn(Range<usize>, &mut [T]) + Sync,
    ) -> Result<(), Error> {
        if len == 0 {
            return Ok(());
        }
        let step = PIECE_BYTES / size_of::<T>();
        let pieces = len.div_ceil(step);
        let range = |piece: usize| piece * step..len.min((piece + 1) * step);
        // One piece more than threads: all threads fill while it is copied.
        for _ in self.buffers.len()..pieces.min(self.threads + 1).min(MOST_PIECES) {
            self.buffers.push(device.host_buffer(PIECE_BYTES + ALIGNMENT)?);
        }
        let rooms = self.buffers.iter_mut().map(|buffer| Mutex::new(&mut elements_mut::<T>(buffer)[..step]));
        let rooms: Vec<_> = rooms.collect();
        // A piece is filled when the piece that had its memory before has been copied, so nobody waits here.
        let room = |piece: usize| rooms[piece % rooms.len()].lock().unwrap_or_else(PoisonError::into_inner);
        let fill_piece = |(): &mut (), piece: usize| {
            fill(range(piece), &mut room(piece)[..range(piece).len()]);
            piece
        };
        let mut copy =
            |piece: usize| device.upload(to, at + range(piece).start, &room(piece)[..range(piece).len()]);
        // To fill a single piece is faster than to start a thread.
        if pieces == 1 {
            return copy(fill_piece(&mut (), 0));
        }
        let threads = self.threads.min(rooms.len()).min(pieces);
        // The caller copies one piece.
        let limits = Limits { threads, jobs: rooms.len() - 1, slow_start: None };
        each(limits, 0..pieces, fill_piece, copy)
    }

    /// Copies slices to the device, one after the other, from element `at` on.
    ///
    /// # Errors
    /// As for [`upload`](Self::upload).
    pub fn upload_all<A: Accelerator, T: Plain>(
        &mut self,
        device: &A,
        to: &mut A::Buffer<T>,
        at: usize,
        slices: &[&[T]],
    ) -> Result<(), Error> {
        let mut ends = Vec::with_capacity(slices.len());
        let mut len = 0;
        for slice in slices {
            len += slice.len();
            ends.push(len);
        }
        self.upload(device, to, at, len, |range, room| {
            let mut filled = 0;
            let mut number = ends.partition_point(|end| *end <= range.start);
            while filled < room.len() {
                let (slice, end) = (slices[number], ends[number]);
                let from = slice.len() - (end - (range.start + filled));
                let part = &slice[from..slice.len().min(from + room.len() - filled)];
                room[filled..filled + part.len()].copy_from_slice(part);
                filled += part.len();
                number += 1;
            }
        })
    }
}
