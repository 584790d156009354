//! Device memory that is kept from partition to partition.

use warpath_shared::kernel::{LookBack, scan_tiles};

use super::Accelerator;
use warpath_core::error::Error;
use warpath_core::plain::Plain;

/// One named array that grows as partitions need it and is never given back before the pipeline ends.
pub struct Slot<A: Accelerator, T: Plain> {
    buffer: Option<(A::Buffer<T>, usize)>,
}

impl<A: Accelerator, T: Plain> Default for Slot<A, T> {
    fn default() -> Self {
        Self { buffer: None }
    }
}

impl<A: Accelerator, T: Plain> Slot<A, T> {
    /// The array, with room for `len` elements at least. What it held is lost where it has to grow.
    ///
    /// # Errors
    /// [`Error::Device`] where memory is short.
    pub fn room(&mut self, device: &A, len: usize) -> Result<&mut A::Buffer<T>, Error> {
        if self.buffer.as_ref().is_none_or(|(_, capacity)| *capacity < len) {
            // The old array goes first: a partition's text does not fit twice. What had to grow once may have to again.
            let len = if self.buffer.take().is_some() { len + len / 4 } else { len.max(1) };
            self.buffer = Some((device.alloc(len)?, len));
        }
        self.get_mut()
    }

    /// As [`room`](Self::room), for what is copied back in part before it is known how much a kernel has written: all zero bytes
    /// where it has to grow.
    ///
    /// # Errors
    /// As for [`room`](Self::room).
    pub fn room_zeroed(&mut self, device: &A, len: usize) -> Result<&mut A::Buffer<T>, Error> {
        let before = self.capacity();
        self.room(device, len)?;
        let now = self.capacity();
        if now > before {
            device.zero(self.get_mut()?, 0, now)?;
        }
        self.get_mut()
    }

    /// How many elements there is room for.
    pub fn capacity(&self) -> usize {
        self.buffer.as_ref().map_or(0, |(_, capacity)| *capacity)
    }

    /// Bytes of device memory that it takes.
    pub fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }

    /// The array, as [`room`](Self::room) left it.
    ///
    /// # Errors
    /// [`Error::Internal`] if there has been no call of it.
    pub fn get(&self) -> Result<&A::Buffer<T>, Error> {
        let missing = || Error::Internal("a device buffer is used before it is made".into());
        self.buffer.as_ref().map(|(buffer, _)| buffer).ok_or_else(missing)
    }

    /// The array, as [`room`](Self::room) left it, to write.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn get_mut(&mut self) -> Result<&mut A::Buffer<T>, Error> {
        let missing = || Error::Internal("a device buffer is used before it is made".into());
        self.buffer.as_mut().map(|(buffer, _)| buffer).ok_or_else(missing)
    }
}

/// Elements of several arrays that are to be copied back with one wait.
pub struct Downloads<'a, A: Accelerator> {
    device: &'a A,
    all: Vec<A::Download<'a>>,
}

impl<'a, A: Accelerator> Downloads<'a, A> {
    /// None yet.
    pub fn new(device: &'a A) -> Self {
        Self { device, all: Vec::new() }
    }

    /// Adds elements, from element `at` on: none, if there is no room for any.
    ///
    /// # Errors
    /// [`Error::Internal`] if they are not all in the array, or there is none and there ought to be.
    pub fn add<T: Plain>(&mut self, from: &'a Slot<A, T>, at: usize, to: &'a mut [T]) -> Result<(), Error> {
        if !to.is_empty() {
            self.all.push(self.device.to_download(from.get()?, at, to)?);
        }
        Ok(())
    }

    /// Copies them. Waits for nothing if there are none.
    ///
    /// # Errors
    /// As for [`Accelerator::download_all`].
    pub fn run(self) -> Result<(), Error> {
        if self.all.is_empty() { Ok(()) } else { self.device.download_all(self.all) }
    }
}

/// The scratch of one device-wide scan.
pub struct ScanScratch<A: Accelerator, T: Plain> {
    /// Statuses and the ticket.
    pub status: Slot<A, u32>,
    /// Tile sums.
    pub aggregate: Slot<A, T>,
    /// Running sums.
    pub inclusive: Slot<A, T>,
}

impl<A: Accelerator, T: Plain> Default for ScanScratch<A, T> {
    fn default() -> Self {
        Self { status: Slot::default(), aggregate: Slot::default(), inclusive: Slot::default() }
    }
}

impl<A: Accelerator, T: Plain> ScanScratch<A, T> {
    /// Scratch for the scan of `len` elements, as its kernel wants it.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn start(&mut self, device: &A, len: usize) -> Result<LookBack<'_, T>, Error> {
        self.start_tiles(device, scan_tiles(len))
    }

    /// Scratch for a kernel whose blocks look back over so many tiles.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn start_tiles(&mut self, device: &A, tiles: usize) -> Result<LookBack<'_, T>, Error> {
        let status = self.status.room(device, tiles + 1)?;
        device.zero(status, 0, tiles + 1)?;
        Ok(LookBack {
            status: device.view_mut(status, tiles + 1),
            aggregate: device.view_mut(self.aggregate.room(device, tiles)?, tiles),
            inclusive: device.view_mut(self.inclusive.room(device, tiles)?, tiles),
        })
    }
}
