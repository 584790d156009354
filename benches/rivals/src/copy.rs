//! A copy at the full memory bandwidth of a card: the ceiling of other kernels.

use warpath::Error;
use warpath_device::{Accelerator, Slot};
use warpath_shared::kernel::{Copy16, Copy16Args};
use warpath_shared::units::TILE_BYTES;

use crate::launch;

/// Bytes on a device, and a copy of them there.
pub struct CopyStage<A: Accelerator> {
    device: A,
    from: Slot<A, u8>,
    to: Slot<A, u8>,
    len: usize,
}

impl<A: Accelerator> CopyStage<A> {
    /// Copies bytes to a device, and makes room for their copy.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short.
    pub fn new(device: A, bytes: &[u8]) -> Result<Self, Error> {
        let (mut from, mut to) = (Slot::default(), Slot::default());
        let padded = bytes.len().next_multiple_of(TILE_BYTES).max(TILE_BYTES);
        let room = from.room(&device, padded)?;
        device.upload(room, 0, bytes)?;
        device.zero(room, bytes.len(), padded)?;
        to.room(&device, padded)?;
        Ok(Self { device, from, to, len: bytes.len() })
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Copies the bytes, in whole tiles, by the kernel [`Copy16`]. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn run(&mut self) -> Result<(), Error> {
        let Self { device, from, to, len } = self;
        let padded = len.next_multiple_of(TILE_BYTES).max(TILE_BYTES);
        let args =
            Copy16Args { from: device.view(from.get()?, padded), to: device.view_mut(to.get_mut()?, padded) };
        launch::<A, Copy16>(device, &args)
    }

    /// Copies back the copy.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn download(&self) -> Result<Vec<u8>, Error> {
        let mut copied = vec![0; self.len];
        self.device.download(self.to.get()?, 0, &mut copied)?;
        Ok(copied)
    }
}
