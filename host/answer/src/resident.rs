//! Partitions that are indexed once and kept for many queries.

use warpath_core::error::Error;
use warpath_lang::program::Program;
use warpath_shared::units::{Level, LineIx};

use crate::answer::{Answer, Want};
use crate::buffer::Buffer;

/// Writes the bytes from an offset of a text on.
pub type ReadPiece<'a> = dyn FnMut(usize, &mut [u8]) -> Result<(), Error> + 'a;

/// A text that is read piece by piece, from its start to its end.
pub struct Pieces<'a> {
    /// Bytes of the text.
    pub len: usize,
    /// The offset of the text in its file. Some processors copy faster if it agrees with the address in
    /// memory modulo the length of a cache line.
    pub offset: u64,
    /// Reads a piece.
    pub read: &'a mut ReadPiece<'a>,
}

/// The text of a kept partition, which may have to be copied from a device before the host reads it.
pub trait HostText {
    /// The text, if it is in host memory.
    fn held(&self) -> Option<&[u8]>;

    /// The text. If it is on a device only, it is copied first, and then stays in host memory.
    ///
    /// # Errors
    /// [`Error::Device`]; [`Error::OutOfMemory`].
    fn bytes(&self) -> Result<&[u8], Error>;
}

impl HostText for &[u8] {
    fn held(&self) -> Option<&[u8]> {
        Some(self)
    }

    fn bytes(&self) -> Result<&[u8], Error> {
        Ok(self)
    }
}

/// A partition that is indexed and kept.
pub trait Kept: Send + Sync {
    /// Evaluates a program that reads no more levels than are kept. `text` is the text that was indexed.
    ///
    /// # Errors
    /// The errors of [`Worker::answer`](crate::backend::Worker::answer) and of [`HostText::bytes`].
    fn answer(&self, text: &dyn HostText, program: &Program, want: Want) -> Result<Answer, Error>;

    /// Copies the text to host memory of its length.
    ///
    /// # Errors
    /// [`Error::Device`]. [`Error::Internal`] if the text is not kept with the index.
    fn copy_text(&self, to: &mut [u8]) -> Result<(), Error>;

    /// The number of lines of the partition.
    fn lines(&self) -> LineIx;

    /// The number of bytes that the partition takes where it is kept, without the text in host memory.
    fn memory(&self) -> u64;
}

/// An amount of memory that is needed, and the amount that is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    /// Bytes needed.
    pub needed: u64,
    /// Bytes free.
    pub free: u64,
}

/// A device that keeps partitions.
pub trait KeepForm: Send + Sync {
    /// The best size of kept partitions, in bytes, and the number of them that are evaluated at the same
    /// time.
    fn partitions(&self) -> (usize, usize);

    /// The best number of partitions that are read and kept at the same time.
    fn loaders(&self) -> usize;

    /// Allocates host memory for a text that is kept.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    fn text_memory(&self, len: usize) -> Result<Buffer, Error>;

    /// Estimates the memory of the device that an index takes while it is made and queried, and the memory
    /// that is free. `bytes` is the length of the text, which is cut into partitions of `partition_size`.
    ///
    /// # Errors
    /// [`Error::Device`] if the device does not report how much memory it has.
    fn room(&self, bytes: u64, partition_size: usize, levels: Level) -> Result<Room, Error>;

    /// Indexes a text and keeps it, with the data that queries read. Several threads may call this at once.
    /// Partitions of neighbouring numbers may be evaluated at the same time.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails, or has too little memory; errors of reading the text.
    fn keep(&self, number: usize, text: Pieces<'_>, levels: Level) -> Result<Box<dyn Kept>, Error>;
}
