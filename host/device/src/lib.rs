//! The stages of a partition, written once for all devices over an [`Accelerator`].
//!
//! The CUDA device is one accelerator; the emulator of the tests is another. The sequence of launches, the
//! sizes of all buffers and the check of suspected lines are in this module only.
//!
//! | module | contents |
//! |---|---|
//! | `stages`, `together` | the tables of stages; several devices as one backend |
//! | `pipeline`, `partition` | workers over any accelerator; one partition on a queue |
//! | `index`, `query`, `tree`, `results`, `columns` | the index, programs, trees, matches and columns of a partition |
//! | `resident`, `lines` | partitions that stay on a device; their text |
//! | `memory`, `upload`, `carrier`, `held` | memory that is used again; copies through pinned memory, also of texts that are read on the way; arrays that outlive their partition |
//! | `bitmap`, `bitmap_resident` | bitmaps, and bitmaps that stay on a device |
//! | `leaves` | tables of leaves, and questions about them |
//! | `fsst`, `fsst_match` | compressed strings, and patterns over them |
//! | `twig`, `twig_lines`, `twig_xml`, `twig_worker`, `dictionary` | twigs over programs, lines and XML; their worker; their names and values |
//! | `cuda` | CUDA devices as accelerators (feature `cuda`) |

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod bitmap;
mod bitmap_resident;
mod carrier;
mod columns;
#[cfg(feature = "cuda")]
pub mod cuda;
mod dictionary;
mod fsst;
mod fsst_match;
mod held;
mod index;
mod leaves;
mod lines;
mod memory;
mod partition;
pub mod pipeline;
mod query;
mod resident;
mod results;
pub mod stages;
pub mod together;
mod tree;
mod twig;
mod twig_lines;
mod twig_worker;
mod twig_xml;
mod upload;

use std::sync::Arc;

use warpath_shared::kernel::Kernel;

pub use bitmap::{BitmapStage, DeviceBitmaps};
pub use bitmap_resident::Resident;
pub use fsst::{CodesFault, DeviceCodes, FsstStage};
pub use fsst_match::FsstMatchStage;
pub use leaves::DeviceLeaves;
pub use memory::{Downloads, ScanScratch, Slot};
pub use pipeline::Pipeline;
pub use together::Together;
pub use tree::{HostTrees, TreeCut};
pub use twig::{TwigStage, TwigTasks};
pub use twig_lines::{LinesMatched, TwigLinesStage};
pub use twig_xml::{TwigXmlStage, XmlMatched};

pub use warpath_core::plain::Plain;

use self::stages::{DeviceStage, Of};
use warpath_answer::backend::Setup;
use warpath_answer::buffer::Buffer;
use warpath_answer::on_device::{ArrowDevice, SyncEvent};
use warpath_core::error::Error;
use warpath_shared::view::{View, ViewMut};

/// One queue on a device: memory, copies and typed launches, all in one order.
///
/// Later work of a queue sees the effects of its earlier work. Work of different queues has no order and may
/// run at the same time. All calls may be asynchronous. Only [`download`](Self::download),
/// [`download_all`](Self::download_all) and [`wait`](Self::wait) wait, and they wait for this queue alone. An
/// array is used only by the queue that made it. Other queues of the device may copy to an array of bytes,
/// and from it ([`bytes_of`](Self::bytes_of)), when the queue that made it has been waited for. After a copy
/// to it, the queue that made it uses or drops the array only when the other queue has been waited for.
pub trait Accelerator: Send + Sync + Sized + 'static {
    /// An array in device memory.
    type Buffer<T: Plain>: Send + Sync;

    /// Elements of an array, and the host memory that they are copied to.
    type Download<'a>;

    /// Makes another queue on the same device.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn queue(&self) -> Result<Self, Error>;

    /// Returns host memory from which copies to the device are fast. It serves any queue and any device of
    /// the same kind.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short.
    fn host_buffer(&self, len: usize) -> Result<Buffer, Error>;

    /// Returns host memory for a text that stays in it. It is not pinned, because pinned memory takes longer
    /// to make than to fill, and is taken from all other programs.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn kept_memory(&self, len: usize) -> Result<Buffer, Error>;

    /// The setup of the device, as far as it is done.
    fn setup(&self) -> Setup {
        Setup::default()
    }

    /// A short description of the device.
    fn name(&self) -> String;

    /// Bytes of the device's memory, used or free. Does not wait until the device is ready.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn memory(&self) -> Result<u64, Error> {
        self.free_memory()
    }

    /// Bytes of the device's memory that are free.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn free_memory(&self) -> Result<u64, Error>;

    /// Makes an array of at least one element. Its contents are not defined.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short.
    fn alloc<T: Plain>(&self, len: usize) -> Result<Self::Buffer<T>, Error>;

    /// Sets elements `from..to` to all zero bytes.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] for a range outside the buffer.
    fn zero<T: Plain>(&self, buffer: &mut Self::Buffer<T>, from: usize, to: usize) -> Result<(), Error>;

    /// Copies elements to the device, from element `at` on. When the call returns, the elements have been
    /// read.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero).
    fn upload<T: Plain>(&self, buffer: &mut Self::Buffer<T>, at: usize, from: &[T]) -> Result<(), Error>;

    /// Copies elements to the device, from element `at` on. The copy may happen at any time until the caller
    /// waits for the queue.
    ///
    /// # Safety
    /// The elements must stay alive and unchanged until [`wait`](Self::wait), or a download of at least one
    /// element, has returned.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero).
    unsafe fn upload_later<T: Plain>(
        &self,
        buffer: &mut Self::Buffer<T>,
        at: usize,
        from: &[T],
    ) -> Result<(), Error>;

    /// Waits until all work of this queue is done.
    ///
    /// # Errors
    /// [`Error::Device`] if something has failed. Nothing runs on the queue after that.
    fn wait(&self) -> Result<(), Error>;

    /// Prepares the download of elements, from element `at` on, for [`download_all`](Self::download_all).
    /// Copies nothing yet.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero).
    fn to_download<'a, T: Plain>(
        &self,
        buffer: &'a Self::Buffer<T>,
        at: usize,
        to: &'a mut [T],
    ) -> Result<Self::Download<'a>, Error>;

    /// Copies elements of any number of arrays from the device, after all earlier work. A wait costs as much
    /// as a copy of many bytes, so this call waits only once. If the elements are too many for one copy, it
    /// waits once for each part.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero). Errors of earlier launches are returned here too.
    fn download_all(&self, downloads: Vec<Self::Download<'_>>) -> Result<(), Error>;

    /// Copies elements of one array, from element `at` on, as [`download_all`](Self::download_all) does.
    ///
    /// # Errors
    /// As for [`download_all`](Self::download_all).
    fn download<T: Plain>(&self, buffer: &Self::Buffer<T>, at: usize, to: &mut [T]) -> Result<(), Error> {
        self.download_all(vec![self.to_download(buffer, at, to)?])
    }

    /// Returns the first `len` elements as a kernel's argument.
    ///
    /// # Panics
    /// If the buffer has fewer.
    fn view<'a, T: Plain>(&self, buffer: &'a Self::Buffer<T>, len: usize) -> View<'a, T>;

    /// Returns the first `len` elements as a kernel's argument that the kernel may write.
    ///
    /// # Panics
    /// If the buffer has fewer.
    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut Self::Buffer<T>, len: usize) -> ViewMut<'a, T>;

    /// Makes the kernel of a name ready to launch, so that the first launch does not wait for its module.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn prepare(&self, kernel: &'static str) -> Result<(), Error> {
        let _ = kernel;
        Ok(())
    }

    /// Turns an array into the array of its bytes, in the same memory.
    fn bytes_of<T: Plain>(&self, buffer: Self::Buffer<T>) -> Self::Buffer<u8>;

    /// Copies the first `len` bytes of an array to another one, from byte `at` on.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero).
    fn copy(
        &self,
        to: &mut Self::Buffer<u8>,
        at: usize,
        from: &Self::Buffer<u8>,
        len: usize,
    ) -> Result<(), Error>;

    /// Returns the address of an array, for code outside Warpath. From this call on, a drop of the array
    /// waits for all work of the device.
    fn address(&self, buffer: &Self::Buffer<u8>) -> u64;

    /// The device, as Arrow's C device data interface names it.
    fn arrow_device(&self) -> ArrowDevice;

    /// Returns an event that the device reaches when all earlier work of this queue is done. `None` if the
    /// device has no events.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn sync_event(&self) -> Result<Option<SyncEvent>, Error>;

    /// Launches a kernel, after checking that its sizes agree.
    ///
    /// # Safety
    /// Every view in the arguments comes from [`view`](Self::view) or [`view_mut`](Self::view_mut) of this
    /// device. All that the kernel reads has been written. No other thread makes the device touch the same
    /// memory meanwhile.
    ///
    /// # Errors
    /// [`Error::Internal`] for sizes that do not agree, [`Error::Device`] if the launch fails.
    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error>;
}

/// A device, from which the device form of an operator makes queues.
pub(crate) struct Queues<A: Accelerator>(pub Arc<A>);

/// Launches a kernel of stage `S`. All stages launch through this function.
fn launch<A: Accelerator, S: DeviceStage, K: Of<S>>(device: &A, args: &K::Args<'_>) -> Result<(), Error> {
    // SAFETY: the stages make their arguments only from views of their own device's buffers, which they
    // borrow exclusively. They launch in an order in which all that a kernel reads was copied, zeroed or
    // written before.
    unsafe { device.launch::<K>(args) }
}
