//! The index of one partition on a device: its text, the kernels that read it, and the buffers that they write.

use warpath_shared::check::{diagnose, trim};
use warpath_shared::index::Monoid;
use warpath_shared::index::level::KindWrites;
use warpath_shared::kernel::{
    FaultyLines, Indexed, Kernel, KindCheck, KindCheckArgs, KindStretch, LINK_WORDS, LineLinks,
    STRETCH_BYTES, ScanArgs, StructureWrite, StructureWriteArgs, line_words,
};
use warpath_shared::units::{
    Level, LineIx, MAX_PARTITION_BYTES, PartOffset, WORD_BYTES, padded_for, tiles_for, words_for,
};

use super::{Accelerator, Plain, ScanScratch, Slot, launch};
use crate::answer::LineFault;
use crate::backend::StructuralIndex;
use crate::error::Error;

/// Bytes of text a line for which there is room at first. Where lines are shorter, the first text with such lines is
/// indexed twice.
const BYTES_OF_A_LINE: usize = 128;

/// A text on the device and its index, in buffers that are kept from partition to partition.
pub(super) struct IndexStage<A: Accelerator> {
    text: Slot<A, u8>,
    /// How long the text is.
    loaded: usize,
    links: Slot<A, u64>,
    /// Lines that there is room for.
    most_lines: usize,
    string: Slot<A, u64>,
    levels: Slot<A, u64>,
    line_starts: Slot<A, PartOffset>,
    stretches: Slot<A, KindStretch>,
    kind_scan: ScanScratch<A, KindWrites>,
    faulty: Slot<A, u32>,
    status: Slot<A, u32>,
}

impl<A: Accelerator> Default for IndexStage<A> {
    fn default() -> Self {
        Self {
            text: Slot::default(),
            loaded: 0,
            links: Slot::default(),
            most_lines: 0,
            string: Slot::default(),
            levels: Slot::default(),
            line_starts: Slot::default(),
            stretches: Slot::default(),
            kind_scan: ScanScratch::default(),
            faulty: Slot::default(),
            status: Slot::default(),
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
    /// The kernels found or suspect a faulty line.
    any_faulty: bool,
}

impl Shape {
    /// Words of one bitmap on the device.
    fn words(self) -> usize {
        self.padded / WORD_BYTES
    }
}

impl<A: Accelerator> IndexStage<A> {
    /// The text, terminated by a newline if its last line lacks one, and zeros up to a whole tile.
    pub fn load(&mut self, device: &A, text: &[u8]) -> Result<(), Error> {
        if text.len() > MAX_PARTITION_BYTES {
            return Err(Error::Internal(format!("a partition of {} bytes", text.len())));
        }
        let padded = padded_for(text.len());
        let buffer = self.text.room(device, padded)?;
        device.upload(buffer, 0, text)?;
        let mut end = text.len();
        if text.last() != Some(&b'\n') {
            device.upload(buffer, end, b"\n")?;
            end += 1;
        }
        device.zero(buffer, end, padded)?;
        self.loaded = text.len();
        Ok(())
    }

    /// Builds the whole index of the text on the device. Waits for it, to know how many lines there are.
    pub fn build(&mut self, device: &A, levels: Level) -> Result<Shape, Error> {
        let padded = padded_for(self.loaded);
        self.most_lines = self.most_lines.max(padded / BYTES_OF_A_LINE);
        loop {
            let [any_faulty, lines] = self.build_for(device, levels, self.most_lines)?;
            let lines = lines as usize;
            if lines <= self.most_lines {
                return Ok(Shape { padded, levels, lines, any_faulty: any_faulty != 0 });
            }
            self.most_lines = lines + lines / 4;
        }
    }

    /// As [`build`](Self::build), if there are no more than `most_lines` lines. Returns [`FaultyLines::status`].
    fn build_for(&mut self, device: &A, levels: Level, most_lines: usize) -> Result<[u32; 2], Error> {
        let (len, padded) = (self.loaded, padded_for(self.loaded));
        let tiles = tiles_for(len + 1);
        let words = padded / WORD_BYTES;
        let links = LINK_WORDS * tiles + 1;
        device.zero(self.links.room(device, links)?, 0, links)?;
        let fault_words = line_words(most_lines);
        device.zero(self.faulty.room(device, fault_words)?, 0, fault_words)?;
        let mut status = [0; 2];
        device.zero(self.status.room(device, status.len())?, 0, status.len())?;
        self.string.room(device, words)?;
        self.levels.room(device, words * levels as usize)?;
        self.line_starts.room(device, most_lines + 1)?;
        let stretches = padded / STRETCH_BYTES;
        self.stretches.room(device, stretches)?;
        launch::<A, StructureWrite>(
            device,
            &StructureWriteArgs {
                text: device.view(self.text.get()?, padded),
                links: LineLinks { words: device.view_mut(self.links.get_mut()?, links) },
                string: device.view_mut(self.string.get_mut()?, words),
                levels: device.view_mut(self.levels.get_mut()?, words * levels as usize),
                line_starts: device.view_mut(self.line_starts.get_mut()?, most_lines + 1),
                stretches: device.view_mut(self.stretches.get_mut()?, stretches),
                faulty: FaultyLines {
                    bits: device.view_mut(self.faulty.get_mut()?, fault_words),
                    status: device.view_mut(self.status.get_mut()?, status.len()),
                },
                len: len as PartOffset,
                level_count: levels,
            },
        )?;
        let look_back = self.kind_scan.start(device, stretches)?;
        launch::<A, KindCheck>(
            device,
            &KindCheckArgs {
                stretches: device.view(self.stretches.get()?, stretches),
                look_back,
                faulty: FaultyLines {
                    bits: device.view_mut(self.faulty.get_mut()?, fault_words),
                    status: device.view_mut(self.status.get_mut()?, status.len()),
                },
            },
        )?;
        device.download(self.status.get()?, 0, &mut status)?;
        Ok(status)
    }

    fn line_starts(&self, device: &A, shape: Shape) -> Result<Vec<PartOffset>, Error> {
        let mut starts = vec![0; shape.lines + 1];
        device.download(self.line_starts.get()?, 0, &mut starts)?;
        Ok(starts)
    }

    /// Judges the lines that the kernels suspect, and clears those found good on the device.
    pub fn judge(&mut self, device: &A, text: &[u8], shape: Shape) -> Result<Vec<LineFault>, Error> {
        if !shape.any_faulty {
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
    let args = ScanArgs {
        input: device.view(input, len),
        output: device.view_mut(output.room(device, len + 1)?, len + 1),
        look_back: scratch.start(device, len)?,
    };
    launch::<A, K>(device, &args)
}
