//! The ladder: FSST decoded on a device by the methods of others, with a thread for each string. Each step
//! adds one technique to the step before.
//!
//! The steps are those of an article by P. Bourdon; stretches are those of GSST
//! (`gpu/src/kernel/rival/fsst_ladder.rs`). No step checks the codes.

use warpath::Error;
use warpath_device::{Accelerator, ScanScratch, Slot};
use warpath_rivals_gpu::args::{
    FsstBuffered, FsstBytes, FsstLadderArgs, FsstLengths, FsstLengthsArgs, FsstShared, FsstWords,
};
use warpath_shared::fsst::TABLE_WORDS;
use warpath_shared::kernel::{CountScan, ScanArgs};
use warpath_store::fsst::{Codes, SPLIT_CODES};

use crate::launch;

/// Codes of a stretch, about.
const STRETCH_CODES: usize = 64;

/// A step of the ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Byte by byte ([`FsstBytes`]).
    Bytes,
    /// Codes by 8 bytes ([`FsstWords`]).
    Words,
    /// The table in shared memory ([`FsstShared`]).
    Shared,
    /// Output in registers, stored 16 bytes at a time; the table as in [`Words`](Self::Words)
    /// ([`FsstBuffered`]).
    Buffered,
    /// The method of [`Buffered`](Self::Buffered) over stretches of about 64 codes in place of strings. The
    /// host finds the stretches, and the lengths of strings are not measured.
    Stretches,
}

impl Step {
    /// All steps.
    pub const ALL: [Self; 5] = [Self::Bytes, Self::Words, Self::Shared, Self::Buffered, Self::Stretches];
}

/// Decodes strings by a step of the ladder, in buffers that are kept between calls.
pub struct LadderStage<A: Accelerator> {
    device: A,
    step: Step,
    codes: Slot<A, u8>,
    table: Slot<A, u64>,
    /// The start of each part in the codes and in the output, and the ends. A part is a string or a stretch.
    begins: Slot<A, u64>,
    offsets: Slot<A, u64>,
    lengths: Slot<A, u64>,
    scratch: ScanScratch<A, u64>,
    out: Slot<A, u8>,
    /// The numbers of starts, of bytes of codes with what follows them, and of decoded bytes.
    starts: usize,
    padded: usize,
    len: usize,
}

impl<A: Accelerator> LadderStage<A> {
    /// Makes a stage on a queue.
    pub fn new(device: A) -> Self {
        Self {
            device,
            step: Step::Bytes,
            codes: Slot::default(),
            table: Slot::default(),
            begins: Slot::default(),
            offsets: Slot::default(),
            lengths: Slot::default(),
            scratch: ScanScratch::default(),
            out: Slot::default(),
            starts: 0,
            padded: 0,
            len: 0,
        }
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Copies strings to the device, in the form that a step needs.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short. [`Error::Internal`] for stretches of invalid codes.
    pub fn load(&mut self, codes: &Codes<'_>, step: Step) -> Result<(), Error> {
        let device = &self.device;
        self.step = step;
        self.len =
            usize::try_from(codes.len).map_err(|_| Error::Internal("a length beyond memory".into()))?;
        self.padded = codes.codes.len().next_multiple_of(SPLIT_CODES).max(SPLIT_CODES);
        let room = self.codes.room(device, self.padded)?;
        device.upload(room, 0, codes.codes)?;
        // Kernels load these bytes together with the last code.
        device.zero(room, codes.codes.len(), self.padded)?;
        device.upload(self.table.room(device, TABLE_WORDS)?, 0, &codes.table.to_words())?;
        if step == Step::Stretches {
            let (begins, offsets) = stretches(codes)?;
            self.starts = begins.len();
            device.upload(self.begins.room(device, begins.len())?, 0, &begins)?;
            return device.upload(self.offsets.room(device, offsets.len())?, 0, &offsets);
        }
        self.starts = codes.offsets.len();
        device.upload(self.begins.room(device, codes.offsets.len())?, 0, codes.offsets)
    }

    /// Decodes the strings. The results stay on the device. Does not wait.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short. [`Error::Internal`] if nothing was loaded.
    pub fn decode(&mut self) -> Result<(), Error> {
        let Self { device, codes, table, begins, offsets, lengths, scratch, out, .. } = self;
        let (device, starts) = (&*device, self.starts);
        let room = out.room(device, self.len.next_multiple_of(16).max(16))?;
        let parts = starts.saturating_sub(1);
        if parts == 0 {
            return device.zero(offsets.room(device, starts)?, 0, starts);
        }
        let codes = device.view(codes.get()?, self.padded);
        let table = device.view(table.get()?, TABLE_WORDS);
        let code_offsets = device.view(begins.get()?, starts);
        if self.step != Step::Stretches {
            let lengths = lengths.room(device, parts)?;
            let args =
                FsstLengthsArgs { codes, table, code_offsets, lengths: device.view_mut(lengths, parts) };
            launch::<A, FsstLengths>(device, &args)?;
            let args = ScanArgs {
                input: device.view(lengths, parts),
                output: device.view_mut(offsets.room(device, starts)?, starts),
                look_back: scratch.start(device, parts)?,
            };
            launch::<A, CountScan>(device, &args)?;
        }
        let offsets = device.view(offsets.get()?, starts);
        let out = device.view_mut(room, self.len);
        let args = FsstLadderArgs { codes, table, code_offsets, offsets, out };
        match self.step {
            Step::Bytes => launch::<A, FsstBytes>(device, &args),
            Step::Words => launch::<A, FsstWords>(device, &args),
            Step::Shared => launch::<A, FsstShared>(device, &args),
            Step::Buffered | Step::Stretches => launch::<A, FsstBuffered>(device, &args),
        }
    }

    /// Copies back the decoded bytes of all strings; and the offset of each part in them, with the end.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn download(&self) -> Result<(Vec<u8>, Vec<u64>), Error> {
        let (mut bytes, mut offsets) = (vec![0; self.len], vec![0; self.starts]);
        self.device.download(self.out.get()?, 0, &mut bytes)?;
        self.device.download(self.offsets.get()?, 0, &mut offsets)?;
        Ok((bytes, offsets))
    }
}

/// The code offsets and output offsets of stretches of about equal length. No stretch begins right after an
/// escape.
fn stretches(codes: &Codes<'_>) -> Result<(Vec<u64>, Vec<u64>), Error> {
    let (mut begins, mut outputs) = (Vec::new(), Vec::new());
    let (mut at, mut end, mut next) = (0, 0, 0);
    while at < codes.codes.len() {
        if at >= next {
            begins.push(at as u64);
            outputs.push(end);
            next = at + STRETCH_CODES;
        }
        let step = codes.table.step(codes.codes, at);
        let (_, len, taken) =
            step.map_err(|fault| Error::Internal(format!("stretches of codes: {fault}")))?;
        (at, end) = (at + taken, end + u64::from(len));
    }
    begins.push(at as u64);
    outputs.push(end);
    Ok((begins, outputs))
}
