//! The index of one partition on a device: its text, the kernels that read it, and the buffers that they write.

use warpath_shared::check::{diagnose, trim};
use warpath_shared::index::Monoid;
use warpath_shared::index::level::{KindReads, KindWrites};
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{
    FaultyLines, Indexed, Kernel, KindCheck, KindCheckArgs, KindScan, LineScan, LineSummaries,
    LineSummariesArgs, LookBack, ScanArgs, StructureWrite, StructureWriteArgs, line_words, scan_tiles,
};
use warpath_shared::units::{
    Level, LineIx, MAX_PARTITION_BYTES, PartOffset, WORD_BYTES, padded_for, tiles_for, words_for,
};

use super::{Accelerator, Plain, ScanScratch, Slot, launch};
use crate::answer::LineFault;
use crate::backend::StructuralIndex;
use crate::error::Error;

/// A text on the device and its index, in buffers that are kept from partition to partition.
pub(super) struct IndexStage<A: Accelerator> {
    text: Slot<A, u8>,
    /// How long the text is.
    loaded: usize,
    summaries: Slot<A, LineSummary>,
    carries: Slot<A, LineSummary>,
    line_scan: ScanScratch<A, LineSummary>,
    string: Slot<A, u64>,
    levels: Slot<A, u64>,
    line_starts: Slot<A, PartOffset>,
    kind_writes: Slot<A, KindWrites>,
    kind_reads: Slot<A, KindReads>,
    kinds: Slot<A, KindWrites>,
    kind_scan: ScanScratch<A, KindWrites>,
    faulty: Slot<A, u32>,
    any_faulty: Slot<A, u32>,
}

impl<A: Accelerator> Default for IndexStage<A> {
    fn default() -> Self {
        Self {
            text: Slot::default(),
            loaded: 0,
            summaries: Slot::default(),
            carries: Slot::default(),
            line_scan: ScanScratch::default(),
            string: Slot::default(),
            levels: Slot::default(),
            line_starts: Slot::default(),
            kind_writes: Slot::default(),
            kind_reads: Slot::default(),
            kinds: Slot::default(),
            kind_scan: ScanScratch::default(),
            faulty: Slot::default(),
            any_faulty: Slot::default(),
        }
    }
}

/// A text on the device, indexed. Counts and sizes; the arrays are in [`IndexStage`].
#[derive(Clone, Copy)]
pub(super) struct Shape {
    /// Bytes of the text's buffer.
    padded: usize,
    levels: Level,
    pub lines: usize,
}

impl Shape {
    /// Words of one bitmap on the device.
    fn words(self) -> usize {
        self.padded / WORD_BYTES
    }
}

impl<A: Accelerator> IndexStage<A> {
    /// The text, terminated by a newline if its last line lacks one, and zeros up to a whole tile.
    ///
    /// # Safety
    /// The text stays where it is, and as it is, until the device has been waited for.
    pub unsafe fn load(&mut self, device: &A, text: &[u8]) -> Result<(), Error> {
        if text.len() > MAX_PARTITION_BYTES {
            return Err(Error::Internal(format!("a partition of {} bytes", text.len())));
        }
        let padded = padded_for(text.len());
        let buffer = self.text.room(device, padded)?;
        // SAFETY: the caller's promise is the same.
        unsafe { device.upload_later(buffer, 0, text) }?;
        let mut end = text.len();
        if text.last() != Some(&b'\n') {
            device.upload(buffer, end, b"\n")?;
            end += 1;
        }
        device.zero(buffer, end, padded)?;
        self.loaded = text.len();
        Ok(())
    }

    /// Builds the whole index of the text on the device.
    pub fn build(&mut self, device: &A, levels: Level) -> Result<Shape, Error> {
        let (len, padded) = (self.loaded, padded_for(self.loaded));
        let tiles = tiles_for(len + 1);

        self.summaries.room(device, tiles)?;
        launch::<A, LineSummaries>(
            device,
            &LineSummariesArgs {
                text: device.view(self.text.get()?, padded),
                summaries: device.view_mut(self.summaries.get_mut()?, tiles),
            },
        )?;
        scan::<A, _, _, LineScan>(
            device,
            self.summaries.get()?,
            tiles,
            &mut self.carries,
            &mut self.line_scan,
        )?;
        let mut total = [LineSummary::default()];
        device.download(self.carries.get()?, tiles, &mut total)?;
        let lines = total[0].newlines() as usize;

        let words = padded / WORD_BYTES;
        let fault_words = line_words(lines).max(1);
        device.zero(self.faulty.room(device, fault_words)?, 0, fault_words)?;
        device.zero(self.any_faulty.room(device, 1)?, 0, 1)?;
        self.string.room(device, words)?;
        self.levels.room(device, words * levels as usize)?;
        self.line_starts.room(device, lines + 1)?;
        self.kind_writes.room(device, tiles)?;
        self.kind_reads.room(device, tiles)?;
        launch::<A, StructureWrite>(
            device,
            &StructureWriteArgs {
                text: device.view(self.text.get()?, padded),
                carries: device.view(self.carries.get()?, tiles + 1),
                string: device.view_mut(self.string.get_mut()?, words),
                levels: device.view_mut(self.levels.get_mut()?, words * levels as usize),
                line_starts: device.view_mut(self.line_starts.get_mut()?, lines + 1),
                kind_writes: device.view_mut(self.kind_writes.get_mut()?, tiles),
                kind_reads: device.view_mut(self.kind_reads.get_mut()?, tiles),
                faulty: FaultyLines {
                    bits: device.view_mut(self.faulty.get_mut()?, fault_words),
                    any: device.view_mut(self.any_faulty.get_mut()?, 1),
                },
                len: len as PartOffset,
                level_count: levels,
            },
        )?;
        scan::<A, _, _, KindScan>(
            device,
            self.kind_writes.get()?,
            tiles,
            &mut self.kinds,
            &mut self.kind_scan,
        )?;
        launch::<A, KindCheck>(
            device,
            &KindCheckArgs {
                kinds: device.view(self.kinds.get()?, tiles + 1),
                reads: device.view(self.kind_reads.get()?, tiles),
                carries: device.view(self.carries.get()?, tiles + 1),
                faulty: FaultyLines {
                    bits: device.view_mut(self.faulty.get_mut()?, fault_words),
                    any: device.view_mut(self.any_faulty.get_mut()?, 1),
                },
                lines: lines as LineIx,
                reserved: 0,
            },
        )?;
        Ok(Shape { padded, levels, lines })
    }

    fn line_starts(&self, device: &A, shape: Shape) -> Result<Vec<PartOffset>, Error> {
        let mut starts = vec![0; shape.lines + 1];
        device.download(self.line_starts.get()?, 0, &mut starts)?;
        Ok(starts)
    }

    /// Judges the lines that the kernels suspect, and clears those found good on the device.
    pub fn judge(&mut self, device: &A, text: &[u8], shape: Shape) -> Result<Vec<LineFault>, Error> {
        let mut any = [0];
        device.download(self.any_faulty.get()?, 0, &mut any)?;
        if any[0] == 0 {
            return Ok(Vec::new());
        }
        let starts = self.line_starts(device, shape)?;
        let mut bits = vec![0; line_words(shape.lines)];
        device.download(self.faulty.get()?, 0, &mut bits)?;
        let mut faults = Vec::new();
        for (w, word) in bits.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                let line = 32 * w + bit as usize;
                match diagnose(&text[starts[line] as usize..starts[line + 1] as usize]) {
                    Some(fault) => faults.push(LineFault { line: line as LineIx, fault }),
                    None => *word &= !(1 << bit),
                }
                left &= left - 1;
            }
        }
        device.upload(self.faulty.get_mut()?, 0, &bits)?;
        Ok(faults)
    }

    /// Which lines are records without a fault.
    pub fn records(
        &self,
        device: &A,
        text: &[u8],
        shape: Shape,
        faults: &[LineFault],
    ) -> Result<Vec<LineIx>, Error> {
        let starts = self.line_starts(device, shape)?;
        let mut faults = faults.iter().map(|fault| fault.line).peekable();
        let is_record = |line: &usize| {
            let faulty = faults.next_if_eq(&(*line as LineIx)).is_some();
            !faulty && trim(starts[*line], starts[*line + 1], |at| text[at as usize]).is_some()
        };
        Ok((0..shape.lines).filter(is_record).map(|line| line as LineIx).collect())
    }

    /// The partition as the query kernels read it.
    pub fn indexed(&self, device: &A, shape: Shape) -> Result<Indexed<'_>, Error> {
        Ok(Indexed {
            text: device.view(self.text.get()?, shape.padded),
            levels: device.view(self.levels.get()?, shape.words() * shape.levels as usize),
            line_starts: device.view(self.line_starts.get()?, shape.lines + 1),
            faulty: device.view(self.faulty.get()?, line_words(shape.lines)),
        })
    }

    /// Copies the whole index back.
    pub fn download(&mut self, device: &A, text: &[u8], shape: Shape) -> Result<StructuralIndex, Error> {
        let faults = self.judge(device, text, shape)?;
        let words = words_for(text.len());
        let mut string = vec![0; words];
        device.download(self.string.get()?, 0, &mut string)?;
        let mut levels = Vec::with_capacity(shape.levels as usize);
        for level in 0..shape.levels as usize {
            let mut bits = vec![0; words];
            device.download(self.levels.get()?, level * shape.words(), &mut bits)?;
            levels.push(bits);
        }
        Ok(StructuralIndex { line_starts: self.line_starts(device, shape)?, string, levels, faults })
    }
}

/// Scans `input` with kernel `K` into `output`.
pub(super) fn scan<A: Accelerator, I: Plain, T: Plain + Monoid, K>(
    device: &A,
    input: &A::Buffer<I>,
    len: usize,
    output: &mut Slot<A, T>,
    scratch: &mut ScanScratch<A, T>,
) -> Result<(), Error>
where
    K: for<'x> Kernel<Args<'x> = ScanArgs<'x, I, T>>,
{
    let tiles = scan_tiles(len);
    let status = scratch.status.room(device, tiles + 1)?;
    device.zero(status, 0, tiles + 1)?;
    let args = ScanArgs {
        input: device.view(input, len),
        output: device.view_mut(output.room(device, len + 1)?, len + 1),
        look_back: LookBack {
            status: device.view_mut(status, tiles + 1),
            aggregate: device.view_mut(scratch.aggregate.room(device, tiles)?, tiles),
            inclusive: device.view_mut(scratch.inclusive.room(device, tiles)?, tiles),
        },
    };
    launch::<A, K>(device, &args)
}
