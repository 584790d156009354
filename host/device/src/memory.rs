//! Device memory that is kept from partition to partition.

use warpath_core::error::Error;
use warpath_core::plain::Plain;
use warpath_shared::kernel::{LookBack, scan_tiles};

use super::Accelerator;

/// One named array that grows as partitions need it. It is not freed before the pipeline ends.
pub struct Slot<A: Accelerator, T: Plain> {
    buffer: Option<(A::Buffer<T>, usize)>,
}

impl<A: Accelerator, T: Plain> Default for Slot<A, T> {
    fn default() -> Self {
        Self { buffer: None }
    }
}

impl<A: Accelerator, T: Plain> Slot<A, T> {
    /// Returns the array, with room for at least `len` elements. If it has to grow, its contents are lost.
    ///
    /// # Errors
    /// [`Error::Device`] if memory is short.
    pub fn room(&mut self, device: &A, len: usize) -> Result<&mut A::Buffer<T>, Error> {
        if self.buffer.as_ref().is_none_or(|(_, capacity)| *capacity < len) {
            // The old array is freed first, because a partition's text does not fit twice. An array that had
            // to grow once gets extra room.
            let len = if self.buffer.take().is_some() { len + len / 4 } else { len.max(1) };
            self.buffer = Some((device.alloc(len)?, len));
        }
        self.get_mut()
    }

    /// Does the same as [`room`](Self::room), but an array that has to grow is all zero bytes. This is for
    /// arrays that are copied back in part before the host knows how much a kernel has written.
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

    /// The number of elements for which there is room.
    pub fn capacity(&self) -> usize {
        self.buffer.as_ref().map_or(0, |(_, capacity)| *capacity)
    }

    /// Bytes of device memory that the array takes.
    pub fn bytes(&self) -> usize {
        self.capacity() * size_of::<T>()
    }

    /// Returns the array, as [`room`](Self::room) left it.
    ///
    /// # Errors
    /// [`Error::Internal`] if [`room`](Self::room) was never called.
    pub fn get(&self) -> Result<&A::Buffer<T>, Error> {
        let missing = || Error::Internal("a device buffer is used before it is made".into());
        self.buffer.as_ref().map(|(buffer, _)| buffer).ok_or_else(missing)
    }

    /// Replaces the array by one of `len` elements.
    pub fn put(&mut self, buffer: A::Buffer<T>, len: usize) {
        self.buffer = Some((buffer, len));
    }

    /// Takes the array away. The next use makes another one.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn take(&mut self) -> Result<A::Buffer<T>, Error> {
        let missing = || Error::Internal("a device buffer is taken before it is made".into());
        self.buffer.take().map(|(buffer, _)| buffer).ok_or_else(missing)
    }

    /// Returns the array, as [`room`](Self::room) left it, to write.
    ///
    /// # Errors
    /// As for [`get`](Self::get).
    pub fn get_mut(&mut self) -> Result<&mut A::Buffer<T>, Error> {
        let missing = || Error::Internal("a device buffer is used before it is made".into());
        self.buffer.as_mut().map(|(buffer, _)| buffer).ok_or_else(missing)
    }
}

/// Elements of several arrays that are copied back with one wait.
pub struct Downloads<'a, A: Accelerator> {
    device: &'a A,
    all: Vec<A::Download<'a>>,
}

impl<'a, A: Accelerator> Downloads<'a, A> {
    /// Makes an empty list of downloads.
    pub fn new(device: &'a A) -> Self {
        Self { device, all: Vec::new() }
    }

    /// Adds elements, from element `at` on. Does nothing if `to` is empty.
    ///
    /// # Errors
    /// [`Error::Internal`] if the elements are not all in the array, or if the array was not made.
    pub fn add<T: Plain>(&mut self, from: &'a Slot<A, T>, at: usize, to: &'a mut [T]) -> Result<(), Error> {
        if !to.is_empty() {
            self.all.push(self.device.to_download(from.get()?, at, to)?);
        }
        Ok(())
    }

    /// Copies the elements. Does not wait if there are none.
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
    /// Prepares the scratch for the scan of `len` elements, as its kernel needs it.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn start(&mut self, device: &A, len: usize) -> Result<LookBack<'_, T>, Error> {
        self.start_tiles(device, scan_tiles(len))
    }

    /// Prepares the scratch for a kernel whose blocks look back over `tiles` tiles.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn start_tiles(&mut self, device: &A, tiles: usize) -> Result<LookBack<'_, T>, Error> {
        let status = self.status.room(device, tiles + 1)?;
        device.zero(status, 0, tiles + 1)?;
        self.started(device, tiles)
    }

    /// Does the same as [`start_tiles`](Self::start_tiles), where an earlier kernel has set the statuses to
    /// zero.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn started(&mut self, device: &A, tiles: usize) -> Result<LookBack<'_, T>, Error> {
        Ok(LookBack {
            status: device.view_mut(self.status.get_mut()?, tiles + 1),
            aggregate: device.view_mut(self.aggregate.room(device, tiles)?, tiles),
            inclusive: device.view_mut(self.inclusive.room(device, tiles)?, tiles),
        })
    }
}
