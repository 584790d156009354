//! Copies of much to a device, through page-locked memory that is kept.
//!
//! What is copied stands in memory that is not page-locked, a mapped file say, or is yet to be made of something else. From such memory the driver
//! copies at a fraction of the bus's rate, through buffers of its own that one thread fills. Here several threads fill pieces, and whichever is full goes to
//! the device while they fill others:
//!
//! ```text
//! thread 1   | fill 0 | fill 2    | fill 5 | ...
//! thread 2   | fill 1  | fill 3 | fill 4   | ...
//! caller              | 0 | 1 |  | 3 | 2 | ...       each copied whole, in whichever order they are full
//! ```

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::thread;

use super::Accelerator;
use crate::buffer::Buffer;
use warpath_core::error::Error;
use warpath_core::plain::{Plain, elements_mut};
use warpath_core::pool::cores;

/// Bytes of a piece. The caller waits for each copy: of 4 MiB one takes 0.1 ms at 40 GB/s, and to begin and to end it about a tenth of that.
const PIECE_BYTES: usize = 4 << 20;
/// Pieces that are there at most. A core copies about 6 to 10 GB/s, so that seven that fill and one that goes to the device keep a bus of 40 to 50 GB/s busy.
const MOST_PIECES: usize = 8;
/// More than elements of any type are aligned to.
const ALIGNMENT: usize = 64;

/// Page-locked memory for copies to a device, and how many threads fill it. The memory is made by the first copies that need it, and stays.
pub(super) struct Uploads {
    buffers: Vec<Buffer>,
    threads: usize,
}

impl Default for Uploads {
    /// With a thread a core.
    fn default() -> Self {
        Self { buffers: Vec::new(), threads: cores() }
    }
}

impl Uploads {
    /// So many threads fill pieces: at least one.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.max(1);
    }

    /// Copies `len` elements to the device, from element `at` on. `fill` writes elements of a range, counted from the first that is copied, to a piece
    /// of as many, in several threads.
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
        // One more than there are threads: while it is copied, all of them fill.
        for _ in self.buffers.len()..pieces.min(self.threads + 1).min(MOST_PIECES) {
            self.buffers.push(device.host_buffer(PIECE_BYTES + ALIGNMENT)?);
        }
        let threads = self.threads.min(self.buffers.len()).min(pieces);
        let (send_free, free) = mpsc::channel();
        for buffer in &mut self.buffers {
            // The other end is in this function.
            let _ = send_free.send(&mut elements_mut::<T>(buffer)[..step]);
        }
        let (free, next) = (Mutex::new(free), AtomicUsize::new(0));
        let take = || free.lock().unwrap_or_else(PoisonError::into_inner).recv();
        let (send_full, full) = mpsc::channel();
        let work = |full: mpsc::Sender<_>| {
            loop {
                let piece = next.fetch_add(1, Ordering::Relaxed);
                if piece >= pieces {
                    return;
                }
                // Who gives pieces back, or wants them full, is gone where a copy has failed.
                let Ok(room) = take() else { return };
                fill(range(piece), &mut room[..range(piece).len()]);
                if full.send((piece, room)).is_err() {
                    return;
                }
            }
        };
        thread::scope(|scope| {
            // A single piece is filled sooner than a thread is started.
            let mut started = 0;
            while started < threads && pieces > 1 {
                let (full, work) = (send_full.clone(), &work);
                let thread = thread::Builder::new().name("warpath upload".into());
                if thread.spawn_scoped(scope, move || work(full)).is_err() {
                    break;
                }
                started += 1;
            }
            drop(send_full);
            if started == 0 {
                let Ok(room) = take() else { return Ok(()) };
                return (0..pieces).try_for_each(|piece| {
                    let room = &mut room[..range(piece).len()];
                    fill(range(piece), room);
                    device.upload(to, at + range(piece).start, room)
                });
            }
            // What is dropped where a copy fails tells the threads to end.
            let (send_free, full) = (send_free, full);
            for _ in 0..pieces {
                let died = |_| Error::Internal("a thread that fills pieces ended before it had".into());
                let (piece, room) = full.recv().map_err(died)?;
                device.upload(to, at + range(piece).start, &room[..range(piece).len()])?;
                // Nobody takes it where all pieces are full.
                let _ = send_free.send(room);
            }
            Ok(())
        })
    }

    /// Copies slices to the device, one behind the other, from element `at` on.
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
