//! What runs on a device, whichever device it is: the stages of a partition over an [`Accelerator`].
//!
//! The CUDA device is one accelerator; the emulator of the tests is another. The sequence of launches,
//! the sizes of all buffers and the judging of suspected lines are written here, once.

pub mod bitmap;
mod columns;
mod dictionary;
mod fsst;
mod fsst_match;
mod index;
mod kept;
mod lines;
mod memory;
pub mod pipeline;
mod query;
mod results;
mod tree;
mod twig;
mod twig_lines;
mod twig_worker;
mod twig_xml;
mod upload;

use std::time::{Duration, Instant};

use warpath_shared::kernel::Kernel;

pub use bitmap::{BitmapStage, Decompression, DeviceBitmaps, Method};
pub use fsst::{CodesFault, Decoding, DeviceCodes, FsstStage, Step};
pub use fsst_match::FsstMatchStage;
pub use memory::{Downloads, ScanScratch, Slot};
pub use pipeline::Pipeline;
pub use tree::{TreeCut, Trees};
pub use twig::{TwigSeedStage, TwigStage, TwigTasks};
pub use twig_lines::{LinesMatched, TwigLinesStage};
pub use twig_xml::{TwigXmlStage, XmlMatched};

pub use warpath_core::plain::Plain;

use crate::buffer::Buffer;
use warpath_core::error::Error;
use warpath_shared::view::{View, ViewMut};

/// One queue on a device: memory, copies and typed launches, all in one order.
///
/// Work that was asked for later sees the effects of work asked for earlier, of the same queue; what another queue does
/// may happen at any time, and at the same time. All may be asynchronous; [`download`](Self::download),
/// [`download_all`](Self::download_all) and [`wait`](Self::wait) wait for this queue alone. An array is used by the queue that
/// made it.
pub trait Accelerator: Send + Sync + Sized + 'static {
    /// An array in device memory.
    type Buffer<T: Plain>: Send;

    /// Elements of an array, and where on the host they are to go.
    type Download<'a>;

    /// Makes another queue on the same device.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn queue(&self) -> Result<Self, Error>;

    /// Host memory that copies to the device are fast from, whichever queue, and whichever device of the kind.
    ///
    /// # Errors
    /// [`Error::Device`], where memory is short too.
    fn host_buffer(&self, len: usize) -> Result<Buffer, Error>;

    /// How long each part of opening the device took, of those that are done.
    fn setup(&self) -> Vec<(&'static str, Duration)> {
        Vec::new()
    }

    /// What went otherwise than it should, and was made good.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// When the device was ready, if it had to be opened and is.
    fn ready(&self) -> Option<Instant> {
        None
    }

    /// The device in a few words.
    fn name(&self) -> String;

    /// Bytes of memory that the device has, in use or not. Does not wait until the device is ready.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn memory(&self) -> Result<u64, Error> {
        self.free_memory()
    }

    /// Bytes of memory that the device has free.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn free_memory(&self) -> Result<u64, Error>;

    /// Makes an array of at least one element. Its contents are not defined.
    ///
    /// # Errors
    /// [`Error::Device`], where memory is short too.
    fn alloc<T: Plain>(&self, len: usize) -> Result<Self::Buffer<T>, Error>;

    /// Sets elements `from..to` to all zero bytes.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] for a range outside the buffer.
    fn zero<T: Plain>(&self, buffer: &mut Self::Buffer<T>, from: usize, to: usize) -> Result<(), Error>;

    /// Copies elements to the device, from element `at` on. They have been read when it returns.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero).
    fn upload<T: Plain>(&self, buffer: &mut Self::Buffer<T>, at: usize, from: &[T]) -> Result<(), Error>;

    /// Copies elements to the device, from element `at` on, at some time before the queue has been waited for.
    ///
    /// # Safety
    /// The elements stay where they are, and as they are, until [`wait`](Self::wait), or a download of one element at least, has
    /// returned.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero).
    unsafe fn upload_later<T: Plain>(
        &self,
        buffer: &mut Self::Buffer<T>,
        at: usize,
        from: &[T],
    ) -> Result<(), Error>;

    /// Waits until all that was asked of this queue is done.
    ///
    /// # Errors
    /// [`Error::Device`] where something has failed. Nothing runs on the queue after that.
    fn wait(&self) -> Result<(), Error>;

    /// Names elements, from element `at` on, for [`download_all`](Self::download_all). Nothing is copied yet.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero).
    fn to_download<'a, T: Plain>(
        &self,
        buffer: &'a Self::Buffer<T>,
        at: usize,
        to: &'a mut [T],
    ) -> Result<Self::Download<'a>, Error>;

    /// Copies elements of any number of arrays from the device, when all earlier work is done. A wait costs as much as a copy of
    /// many bytes, so this waits once, or once for each part where they are too many for one copy.
    ///
    /// # Errors
    /// As for [`zero`](Self::zero); errors of earlier launches come out here too.
    fn download_all(&self, downloads: Vec<Self::Download<'_>>) -> Result<(), Error>;

    /// Copies elements of one array, from element `at` on, as [`download_all`](Self::download_all) does.
    ///
    /// # Errors
    /// As for [`download_all`](Self::download_all).
    fn download<T: Plain>(&self, buffer: &Self::Buffer<T>, at: usize, to: &mut [T]) -> Result<(), Error> {
        self.download_all(vec![self.to_download(buffer, at, to)?])
    }

    /// The first `len` elements, as a kernel's argument.
    ///
    /// # Panics
    /// If the buffer has fewer.
    fn view<'a, T: Plain>(&self, buffer: &'a Self::Buffer<T>, len: usize) -> View<'a, T>;

    /// The first `len` elements, as a kernel's argument that it may write.
    ///
    /// # Panics
    /// If the buffer has fewer.
    fn view_mut<'a, T: Plain>(&self, buffer: &'a mut Self::Buffer<T>, len: usize) -> ViewMut<'a, T>;

    /// Makes a kernel ready to be launched, where the first launch would have to wait for that.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn prepare<K: Kernel>(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Launches a kernel, after checking that its sizes agree.
    ///
    /// # Safety
    /// Every view of the arguments is one of this device's own, of [`view`](Self::view) or [`view_mut`](Self::view_mut);
    /// what the kernel reads has been written; and no other thread asks the device to touch it meanwhile.
    ///
    /// # Errors
    /// [`Error::Internal`] for sizes that do not agree, [`Error::Device`] where the launch fails.
    unsafe fn launch<K: Kernel>(&self, args: &K::Args<'_>) -> Result<(), Error>;
}

/// Launches a kernel of this module's: the one place where that is done.
fn launch<A: Accelerator, K: Kernel>(device: &A, args: &K::Args<'_>) -> Result<(), Error> {
    // SAFETY: the stages make their arguments of views of their own device's buffers only, in an order in which each kernel
    // reads what was copied, zeroed or written by a kernel before it; and they borrow those buffers alone.
    unsafe { device.launch::<K>(args) }
}
