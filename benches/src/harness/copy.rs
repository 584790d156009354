//! A copy at the full memory bandwidth of a card: the ceiling of other kernels.

use warpath::Error;
use warpath_device::cuda::{Cuda, KernelModule, Settings};
use warpath_device::{Accelerator, Slot};
use warpath_shared::kernel::{Copy16, Copy16Args, Kernel as _};
use warpath_shared::units::TILE_BYTES;

/// The module of the copy kernel. The product does not contain it.
pub const COPY: KernelModule = KernelModule {
    name: "copy",
    kernels: &[Copy16::NAME],
    ptx: include_str!("../../ptx/copy.sm_75.ptx"),
    loading: "module copy",
};

/// The default settings of a device, with the copy kernel.
#[must_use]
pub fn settings() -> Settings {
    Settings { more_modules: &[COPY], ..Settings::default() }
}

/// Opens the CUDA device of this number, with the copy kernel.
///
/// # Errors
/// Fails as [`Cuda::new`] does.
pub fn cuda(number: usize) -> Result<Cuda, Error> {
    Cuda::with_settings(number, settings())
}

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
        // SAFETY: the views are of this device's buffers. The text was copied to its buffer before.
        unsafe { device.launch::<Copy16>(&args) }
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
