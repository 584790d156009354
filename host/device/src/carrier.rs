//! Texts that are read piece by piece on their way to a device.

use warpath_answer::buffer::Buffer;
use warpath_answer::resident::Pieces;
use warpath_core::error::Error;

use super::Accelerator;
use super::partition::Waits;
use super::upload::{ALIGNMENT, PIECE_BYTES};

/// A queue that copies texts to a device, and two pinned pieces. One is read while the other is copied:
///
/// ```text
/// caller   | read 0 | read 1 | read 0 | read 1 | ...
/// queue             | copy 0 | copy 1 | copy 0 | ...
/// ```
///
/// The caller reads into the pieces itself, so that as many texts are copied at the same time as there are
/// carriers. The pieces are used again and stay in the processors' caches, so a text passes the host's memory
/// once.
pub(super) struct Carrier<A: Accelerator> {
    pieces: [Buffer; 2],
    queue: A,
}

impl<A: Accelerator> Carrier<A> {
    /// # Errors
    /// [`Error::Device`], also if memory is short.
    pub fn new(queue: A) -> Result<Self, Error> {
        let piece = || queue.host_buffer(PIECE_BYTES + ALIGNMENT);
        Ok(Self { pieces: [piece()?, piece()?], queue })
    }

    /// Copies a text to the start of an array, which another queue of the device may have made, and waits for
    /// the copy. Returns true if the text ends with a newline.
    ///
    /// # Errors
    /// [`Error::Device`], and those of reading the text.
    pub fn carry(&mut self, to: &mut A::Buffer<u8>, text: Pieces<'_>) -> Result<bool, Error> {
        let Self { pieces, queue } = self;
        // If a call fails, a copy from the other piece may be under way.
        let _waits = Waits(queue);
        let Pieces { len, offset, read } = text;
        let mut ends_with_newline = false;
        for (number, at) in (0..len).step_by(PIECE_BYTES).enumerate() {
            let memory = &mut pieces[number % 2];
            let skip = offset.wrapping_sub(memory.as_ptr() as u64) as usize % ALIGNMENT;
            let piece = &mut memory[skip..skip + PIECE_BYTES.min(len - at)];
            read(at, piece)?;
            ends_with_newline = piece.ends_with(b"\n");
            // The piece before. It is filled next.
            queue.wait()?;
            // SAFETY: this piece is next written after the next wait, and `_waits` waits before the pieces
            // can be used otherwise.
            unsafe { queue.upload_later(to, at, piece) }?;
        }
        queue.wait()?;
        Ok(ends_with_newline)
    }
}
