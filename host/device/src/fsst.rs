//! Strings decoded on a device from the codes of FSST: [`warpath_shared::fsst`].

use warpath_answer::buffer::Buffer;
use warpath_core::error::Error;
use warpath_core::plain::elements_mut;
use warpath_shared::fsst::{SPLIT_CODES, TABLE_WORDS};
use warpath_shared::kernel::{
    FSST_ESCAPE, FSST_UNKNOWN, FsstDecode, FsstDecodeArgs, FsstDecodeStrings, block_splits,
};
use warpath_shared::view::{View, ViewMut};
use warpath_store::fsst::Codes;
use warpath_store::packed::PackedText;

use super::upload::Uploads;
use super::{Accelerator, Slot, launch, stages};

/// The fault in codes that a device has decoded. The decoded bytes are then not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodesFault {
    /// A code is not in the table.
    Unknown,
    /// An escape is the last code of a string.
    Escape,
    /// The lengths of strings do not fit the codes, or the splits do not.
    Splits,
}

/// Compressed strings in device memory, in arrays that are kept from load to load.
pub struct DeviceCodes<A: Accelerator> {
    codes: Slot<A, u8>,
    table: Slot<A, u64>,
    splits: Slot<A, u64>,
    first_strings: Slot<A, u64>,
    offsets: Slot<A, u64>,
    /// The numbers of codes, splits and offsets, and the number of decoded bytes.
    count: usize,
    split_count: usize,
    offset_count: usize,
    len: u64,
    uploads: Uploads,
}

impl<A: Accelerator> Default for DeviceCodes<A> {
    fn default() -> Self {
        Self {
            codes: Slot::default(),
            table: Slot::default(),
            splits: Slot::default(),
            first_strings: Slot::default(),
            offsets: Slot::default(),
            count: 0,
            split_count: 0,
            offset_count: 0,
            len: 0,
            uploads: Uploads::default(),
        }
    }
}

impl<A: Accelerator> DeviceCodes<A> {
    /// Copies strings to a device and replaces the earlier ones.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short. [`Error::Internal`] if there is not a split for each
    /// [`SPLIT_CODES`] codes and one more. Also if offsets do not begin with 0, or do not end with the
    /// number of codes.
    pub fn load(&mut self, device: &A, codes: &Codes<'_>) -> Result<(), Error> {
        let tiles = codes.codes.len().div_ceil(SPLIT_CODES);
        let are_firsts = codes.first_strings.len() == if codes.offsets.is_empty() { 0 } else { tiles };
        let is_split = codes.splits.len() == tiles + 1 && are_firsts;
        let ends = (codes.offsets.first(), codes.offsets.last());
        let are_ends = ends == (None, None) || ends == (Some(&0), Some(&(codes.codes.len() as u64)));
        if !is_split || !are_ends {
            return Err(Error::Internal("splits or offsets that are not those of codes".into()));
        }
        self.count = codes.codes.len();
        self.split_count = codes.splits.len();
        self.offset_count = codes.offsets.len();
        self.len = codes.len;
        let padded = (tiles * SPLIT_CODES).max(SPLIT_CODES);
        let room = self.codes.room(device, padded)?;
        self.uploads.upload_all(device, room, 0, &[codes.codes])?;
        // Kernels load these bytes together with the last code.
        device.zero(room, codes.codes.len(), padded)?;
        device.upload(self.table.room(device, TABLE_WORDS)?, 0, &codes.table.to_words())?;
        let splits: Vec<u64> = codes.splits.iter().map(|split| split.0).collect();
        let room = self.splits.room(device, splits.len())?;
        self.uploads.upload_all(device, room, 0, &[&splits])?;
        let room = self.first_strings.room(device, codes.first_strings.len())?;
        self.uploads.upload_all(device, room, 0, &[codes.first_strings])?;
        let room = self.offsets.room(device, codes.offsets.len())?;
        self.uploads.upload_all(device, room, 0, &[codes.offsets])
    }

    /// The codes, eight in a word, and their number. The bytes after the last code are arbitrary.
    pub(super) fn words<'a>(&'a self, device: &A) -> Result<(View<'a, u64>, u64), Error> {
        let words = self.count.div_ceil(8);
        let codes = device.view(self.codes.get()?, 8 * words);
        // SAFETY: arrays on a device are aligned to at least 16 bytes. `load` gave this one room for whole
        // splits, so for whole words.
        Ok((unsafe { View::from_raw(codes.at(0, 8 * words).cast(), words) }, self.count as u64))
    }

    /// The offset of each string in the codes, and the end; empty if the bounds of strings are not needed.
    pub(super) fn string_offsets<'a>(&'a self, device: &A) -> Result<View<'a, u64>, Error> {
        Ok(device.view(self.offsets.get()?, self.offset_count))
    }
}

/// Packed lines on a device, on their way into a text there.
pub(super) struct PackedStage<A: Accelerator> {
    codes: Slot<A, u8>,
    /// The table, followed by the splits.
    words: Slot<A, u64>,
    /// A copy of the words in pinned host memory.
    staging: Option<Buffer>,
    status: Slot<A, u32>,
}

impl<A: Accelerator> Default for PackedStage<A> {
    fn default() -> Self {
        Self { codes: Slot::default(), words: Slot::default(), staging: None, status: Slot::default() }
    }
}

impl<A: Accelerator> PackedStage<A> {
    /// Copies the codes of a text of at least one byte to the device, and decodes them into `out`. `out` is
    /// as long as the text.
    ///
    /// # Safety
    /// The codes stay alive and unchanged until the device has been waited for.
    pub unsafe fn decode(
        &mut self,
        device: &A,
        text: &PackedText<'_>,
        out: ViewMut<'_, u8>,
    ) -> Result<(), Error> {
        let (codes, count) = (text.codes(), text.words());
        let padded = codes.len().next_multiple_of(SPLIT_CODES);
        // A copy from memory that is not pinned would wait for all work in the queue.
        if self.staging.as_ref().is_none_or(|staging| staging.len() < 8 * (count + 1)) {
            self.staging = None;
            self.staging = Some(device.host_buffer(8 * (count + count / 4 + 1))?);
        }
        let words = elements_mut(self.staging.as_deref_mut().unwrap_or_default());
        text.write_words(&mut words[..count]);
        // SAFETY: this stage owns the memory, and writes to it again only after the device has been waited
        // for.
        unsafe { device.upload_later(self.words.room(device, count)?, 0, &words[..count]) }?;
        let status = self.status.room(device, 1)?;
        device.zero(status, 0, 1)?;
        let room = self.codes.room(device, padded)?;
        // SAFETY: the caller guarantees that the codes stay alive and unchanged.
        unsafe { device.upload_later(room, 0, codes) }?;
        device.zero(room, codes.len(), padded)?;
        // SAFETY: the view has no elements.
        let no_offsets = unsafe { ViewMut::from_raw(std::ptr::NonNull::<u64>::dangling().as_ptr(), 0) };
        launch::<A, stages::Unpack, FsstDecode>(
            device,
            &FsstDecodeArgs {
                codes: device.view(self.codes.get()?, padded),
                table: device.view(self.words.get()?, TABLE_WORDS),
                splits: device.view(self.words.get()?, count).skip(TABLE_WORDS),
                out,
                code_offsets: View::from_slice(&[]),
                offsets: no_offsets,
                first_strings: View::from_slice(&[]),
                status: device.view_mut(self.status.get_mut()?, 1),
                len: codes.len() as u64,
                block_splits: block_splits(padded / SPLIT_CODES),
            },
        )
    }

    /// The word in which the device reports a fault in the codes: 0 if there is none.
    pub fn status(&self) -> &Slot<A, u32> {
        &self.status
    }
}

/// Decodes strings, in buffers that are kept between calls.
pub struct FsstStage<A: Accelerator> {
    device: A,
    out: Slot<A, u8>,
    offsets: Slot<A, u64>,
    status: Slot<A, u32>,
    block_splits: Option<u64>,
    /// The number of bytes and of offsets that the last call wrote.
    len: u64,
    offset_count: usize,
}

impl<A: Accelerator> FsstStage<A> {
    /// Makes a stage on a queue.
    pub fn new(device: A) -> Self {
        Self {
            device,
            out: Slot::default(),
            offsets: Slot::default(),
            status: Slot::default(),
            block_splits: None,
            len: 0,
            offset_count: 0,
        }
    }

    /// Sets the number of splits that a block decodes, in place of the best number ([`block_splits`]). The
    /// results are the same.
    ///
    /// # Panics
    /// If the number is zero.
    pub fn set_block_splits(&mut self, splits: u64) {
        assert!(splits > 0, "a block without splits");
        self.block_splits = Some(splits);
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Decodes strings. The results stay on the device. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short.
    pub fn decode(&mut self, codes: &DeviceCodes<A>) -> Result<(), Error> {
        let device = &self.device;
        (self.len, self.offset_count) = (codes.len, codes.offset_count);
        let status = self.status.room(device, 1)?;
        device.zero(status, 0, 1)?;
        let len = usize::try_from(codes.len).map_err(|_| Error::Internal("a length beyond memory".into()))?;
        let out = self.out.room(device, len.next_multiple_of(16).max(16))?;
        let offsets = self.offsets.room(device, codes.offset_count)?;
        if codes.count == 0 {
            return device.zero(offsets, 0, codes.offset_count);
        }
        let tiles = codes.count.div_ceil(SPLIT_CODES);
        let has_strings = codes.offset_count > 0;
        let args = FsstDecodeArgs {
            codes: device.view(codes.codes.get()?, tiles * SPLIT_CODES),
            table: device.view(codes.table.get()?, TABLE_WORDS),
            splits: device.view(codes.splits.get()?, codes.split_count),
            out: device.view_mut(out, len),
            code_offsets: device.view(codes.offsets.get()?, codes.offset_count),
            offsets: device.view_mut(offsets, codes.offset_count),
            first_strings: device.view(codes.first_strings.get()?, if has_strings { tiles } else { 0 }),
            status: device.view_mut(status, 1),
            len: codes.count as u64,
            block_splits: self.block_splits.unwrap_or_else(|| block_splits(tiles)),
        };
        if has_strings {
            launch::<A, stages::Strings, FsstDecodeStrings>(device, &args)
        } else {
            launch::<A, stages::Strings, FsstDecode>(device, &args)
        }
    }

    /// Waits, and returns the fault in the codes, if there is one.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn fault(&self) -> Result<Option<CodesFault>, Error> {
        let mut status = [0];
        self.device.download(self.status.get()?, 0, &mut status)?;
        Ok(match status[0] {
            0 => None,
            bits if bits & FSST_UNKNOWN != 0 => Some(CodesFault::Unknown),
            bits if bits & FSST_ESCAPE != 0 => Some(CodesFault::Escape),
            _ => Some(CodesFault::Splits),
        })
    }

    /// Copies back the decoded bytes of all strings, and the offset of each string with the end. There are no
    /// offsets if the bounds of strings are not needed.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn download(&self) -> Result<(Vec<u8>, Vec<u64>), Error> {
        let (mut bytes, mut offsets) = (vec![0; self.len as usize], vec![0; self.offset_count]);
        if !bytes.is_empty() {
            self.device.download(self.out.get()?, 0, &mut bytes)?;
        }
        if !offsets.is_empty() {
            self.device.download(self.offsets.get()?, 0, &mut offsets)?;
        }
        Ok((bytes, offsets))
    }
}
