//! The index of one partition on a device: its text, the kernels that read it, and the buffers that they
//! write.

use warpath_answer::answer::LineFault;
use warpath_answer::backend::StructuralIndex;
use warpath_core::error::Error;
use warpath_core::plain::Plain;
use warpath_shared::check::{Fault, diagnose};
use warpath_shared::index::Monoid;
use warpath_shared::index::level::KindWrites;
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{
    ANY_FAULTY, ANY_LOOSE, FaultyLines, Indexed, Kernel, KindCheck, KindCheckArgs, LINES, LineIndex,
    LineIndexArgs, LineScan, LineScanArgs, LineStates, LineStatesArgs, MOST_LINES_OF_A_TILE, OddCheck,
    OddCheckArgs, STATUS_WORDS, ScanArgs, StrictCheck, StrictCheckArgs, StructureWrite, StructureWriteArgs,
    TileKinds, TileLines, line_words, tile_fault_words,
};
use warpath_shared::units::{
    Level, LineIx, MAX_PARTITION_BYTES, PartOffset, TILE_BYTES, WORD_BYTES, padded_for, tiles_for, words_for,
};
use warpath_shared::view::View;
use warpath_store::packed::PackedText;

use super::fsst::PackedStage;
use super::lines::Lines;
use super::stages::{self, DeviceStage, Of};
use super::{Accelerator, Downloads, ScanScratch, Slot, launch};

/// Bytes of text for each line in the initial room. If lines are shorter, the first such text is indexed
/// twice.
const BYTES_OF_A_LINE: usize = 128;
/// The largest room of a tile that is kept, as a multiple of the mean number of a tile's lines. With it, a
/// similar text is indexed once.
const SKEW: usize = 8;

/// The length of the array of a text of `len` bytes.
fn padded(len: usize) -> Result<usize, Error> {
    if len > MAX_PARTITION_BYTES {
        return Err(Error::Internal(format!("a partition of {len} bytes")));
    }
    Ok(padded_for(len))
}

/// The room for lines.
#[derive(Clone, Copy, Default)]
struct LineRoom {
    all: usize,
    /// A multiple of 32.
    of_a_tile: usize,
}

impl LineRoom {
    /// Makes room for these numbers and a quarter more, so that a text of slightly shorter lines does not
    /// grow it again.
    fn grow(&mut self, lines: usize, of_a_tile: usize) {
        if lines > self.all {
            self.all = lines + lines / 4;
        }
        if of_a_tile > self.of_a_tile {
            self.of_a_tile = (of_a_tile + of_a_tile / 4).next_multiple_of(32);
        }
    }
}

/// A text on the device and its index, in buffers that are kept from partition to partition.
pub(super) struct IndexStage<A: Accelerator> {
    text: Slot<A, u8>,
    /// The length of the text.
    loaded: usize,
    packed: PackedStage<A>,
    /// `true` if the text was packed.
    was_packed: bool,
    states: Slot<A, LineSummary>,
    line_scan: ScanScratch<A, LineSummary>,
    counts: Slot<A, u32>,
    ends: Slot<A, PartOffset>,
    tile_faults: Slot<A, u32>,
    tile_loose: Slot<A, u32>,
    first_lines: Slot<A, LineIx>,
    count_scan: ScanScratch<A, u64>,
    kinds: Slot<A, TileKinds>,
    /// The room for lines, in all and in each tile.
    room: LineRoom,
    string: Slot<A, u64>,
    levels: Slot<A, u64>,
    escapes: Slot<A, u32>,
    line_starts: Slot<A, PartOffset>,
    kind_scan: ScanScratch<A, KindWrites>,
    faulty: Slot<A, u32>,
    loose: Slot<A, u32>,
    status: Slot<A, u32>,
}

impl<A: Accelerator> Default for IndexStage<A> {
    fn default() -> Self {
        Self {
            text: Slot::default(),
            loaded: 0,
            packed: PackedStage::default(),
            was_packed: false,
            states: Slot::default(),
            line_scan: ScanScratch::default(),
            counts: Slot::default(),
            ends: Slot::default(),
            tile_faults: Slot::default(),
            tile_loose: Slot::default(),
            first_lines: Slot::default(),
            count_scan: ScanScratch::default(),
            kinds: Slot::default(),
            room: LineRoom::default(),
            string: Slot::default(),
            levels: Slot::default(),
            escapes: Slot::default(),
            line_starts: Slot::default(),
            kind_scan: ScanScratch::default(),
            faulty: Slot::default(),
            loose: Slot::default(),
            status: Slot::default(),
        }
    }
}

/// The arrays of an indexed text that queries read. They can be taken from the stage that made them, and put
/// into any stage of the same queue.
pub(super) struct Arrays<A: Accelerator> {
    text: Slot<A, u8>,
    string: Slot<A, u64>,
    levels: Slot<A, u64>,
    escapes: Slot<A, u32>,
    line_starts: Slot<A, PartOffset>,
    faulty: Slot<A, u32>,
    loose: Slot<A, u32>,
}

impl<A: Accelerator> Default for Arrays<A> {
    fn default() -> Self {
        Self {
            text: Slot::default(),
            string: Slot::default(),
            levels: Slot::default(),
            escapes: Slot::default(),
            line_starts: Slot::default(),
            faulty: Slot::default(),
            loose: Slot::default(),
        }
    }
}

impl<A: Accelerator> Arrays<A> {
    /// Copies the first bytes of the text to the host.
    pub fn copy_text(&self, device: &A, to: &mut [u8]) -> Result<(), Error> {
        device.download(self.text.get()?, 0, to)
    }

    /// Bytes on the device.
    pub fn bytes(&self) -> u64 {
        let Self { text, string, levels, escapes, line_starts, faulty, loose } = self;
        let bitmaps = string.bytes() + levels.bytes() + escapes.bytes();
        (text.bytes() + bitmaps + line_starts.bytes() + faulty.bytes() + loose.bytes()) as u64
    }
}

/// The counts and sizes of an indexed text on the device. The arrays are in [`IndexStage`].
#[derive(Clone, Copy)]
pub(super) struct IndexShape {
    /// Bytes of the text's buffer.
    padded: usize,
    levels: Level,
    pub lines: usize,
    /// `true` if the kernels found or suspect a faulty line.
    pub any_faulty: bool,
    /// `true` if some line is loose.
    pub any_loose: bool,
}

/// The parts of a text's index from which tokens are made.
pub(super) struct TokenText<'a> {
    /// The text, padded to whole tiles.
    pub text: View<'a, u8>,
    pub string: View<'a, u64>,
    pub line_starts: View<'a, PartOffset>,
    /// The length of the text.
    pub len: PartOffset,
}

impl IndexShape {
    /// Words of one bitmap on the device.
    fn words(self) -> usize {
        self.padded / WORD_BYTES
    }
}

impl<A: Accelerator> IndexStage<A> {
    /// Copies a text to the device. Adds a newline if the last line lacks one, and zeros up to a whole tile.
    ///
    /// # Safety
    /// The text stays alive and unchanged until the device has been waited for.
    pub unsafe fn load(&mut self, device: &A, text: &[u8]) -> Result<(), Error> {
        let buffer = self.text.room(device, padded(text.len())?)?;
        // SAFETY: the caller guarantees that the text stays alive and unchanged.
        unsafe { device.upload_later(buffer, 0, text) }?;
        self.pad(device, text.len(), text.ends_with(b"\n"), false)
    }

    /// Makes an array for a text of at least one byte. It is the text's after [`put_text`](Self::put_text).
    pub fn make_text(device: &A, len: usize) -> Result<A::Buffer<u8>, Error> {
        device.alloc(padded(len)?)
    }

    /// Takes an array that [`make_text`](Self::make_text) made for a text of `len` bytes, and that contains
    /// the text. The result is as for [`load`](Self::load).
    pub fn put_text(
        &mut self,
        device: &A,
        array: A::Buffer<u8>,
        len: usize,
        ends_with_newline: bool,
    ) -> Result<(), Error> {
        self.text.put(array, padded(len)?);
        self.pad(device, len, ends_with_newline, false)
    }

    /// Copies the text back.
    pub fn text_back(&self, device: &A) -> Result<Vec<u8>, Error> {
        let mut text = vec![0; self.loaded];
        device.download(self.text.get()?, 0, &mut text)?;
        Ok(text)
    }

    /// Adds a newline to the text of `len` bytes on the device if its last line lacks one, and zeros up to a
    /// whole tile.
    fn pad(
        &mut self,
        device: &A,
        len: usize,
        ends_with_newline: bool,
        was_packed: bool,
    ) -> Result<(), Error> {
        let (buffer, mut end) = (self.text.get_mut()?, len);
        if !ends_with_newline {
            device.upload(buffer, end, b"\n")?;
            end += 1;
        }
        device.zero(buffer, end, padded_for(len))?;
        (self.loaded, self.was_packed) = (len, was_packed);
        Ok(())
    }

    /// Copies a packed text of at least one byte to the device, and decodes it there. The result is as for
    /// [`load`](Self::load).
    ///
    /// # Safety
    /// As for [`load`](Self::load).
    pub unsafe fn load_packed(&mut self, device: &A, text: &PackedText<'_>) -> Result<(), Error> {
        let len = text.len();
        let buffer = self.text.room(device, padded(len)?)?;
        let out = device.view_mut(buffer, len);
        // SAFETY: the caller guarantees that the codes stay alive and unchanged.
        unsafe { self.packed.decode(device, text, out) }?;
        self.pad(device, len, text.ends_with_newline(), true)
    }

    /// Exchanges the arrays that queries read for others of the same queue.
    pub fn exchange(&mut self, other: &mut Arrays<A>) {
        std::mem::swap(&mut self.text, &mut other.text);
        std::mem::swap(&mut self.string, &mut other.string);
        std::mem::swap(&mut self.levels, &mut other.levels);
        std::mem::swap(&mut self.escapes, &mut other.escapes);
        std::mem::swap(&mut self.line_starts, &mut other.line_starts);
        std::mem::swap(&mut self.faulty, &mut other.faulty);
        std::mem::swap(&mut self.loose, &mut other.loose);
    }

    /// Builds the whole index of the text on the device. Waits for it, to know the number of lines.
    pub fn build(&mut self, device: &A, levels: Level) -> Result<IndexShape, Error> {
        let padded = padded_for(self.loaded);
        self.room.all = self.room.all.max(padded / BYTES_OF_A_LINE);
        let usual = TILE_BYTES / BYTES_OF_A_LINE;
        self.room.of_a_tile = self.room.of_a_tile.max(usual);
        loop {
            let status = self.build_within(device, levels, self.room)?;
            let lines = status[LINES] as usize;
            let of_a_tile = status[MOST_LINES_OF_A_TILE] as usize;
            if lines <= self.room.all && of_a_tile <= self.room.of_a_tile {
                // One tile had very short lines, unlike the others. The next text is not likely to have such
                // a tile.
                let mean = lines / tiles_for(self.loaded + 1);
                if self.room.of_a_tile > usual.max(SKEW * mean) {
                    self.room.of_a_tile = usual;
                }
                let (any_faulty, any_loose) = (status[ANY_FAULTY] != 0, status[ANY_LOOSE] != 0);
                return Ok(IndexShape { padded, levels, lines, any_faulty, any_loose });
            }
            self.room.grow(lines, of_a_tile);
        }
    }

    /// Does the same as [`build`](Self::build), if there are no more lines than room. Returns the status in
    /// any case.
    fn build_within(
        &mut self,
        device: &A,
        levels: Level,
        room: LineRoom,
    ) -> Result<[u32; STATUS_WORDS], Error> {
        let (len, padded) = (self.loaded, padded_for(self.loaded));
        let tiles = tiles_for(len + 1);
        let words = padded / WORD_BYTES;
        let of_a_tile = room.of_a_tile as LineIx;
        let ends = tiles * room.of_a_tile;
        let tile_faults = tiles * tile_fault_words(of_a_tile);
        let fault_words = line_words(room.all);
        let mut status = [0; STATUS_WORDS];
        device.zero(self.status.room(device, STATUS_WORDS)?, 0, STATUS_WORDS)?;
        device.zero(self.faulty.room(device, fault_words)?, 0, fault_words)?;
        device.zero(self.loose.room(device, fault_words)?, 0, fault_words)?;

        self.states.room(device, tiles)?;
        launch::<A, stages::Lines, LineStates>(
            device,
            &LineStatesArgs {
                text: device.view(self.text.get()?, padded),
                states: device.view_mut(self.states.get_mut()?, tiles),
                status: device.view_mut(self.status.get_mut()?, STATUS_WORDS),
            },
        )?;
        let look_back = self.line_scan.start(device, tiles)?;
        launch::<A, stages::Lines, LineScan>(
            device,
            &LineScanArgs {
                states: device.view_mut(self.states.get_mut()?, tiles),
                look_back,
                status: device.view(self.status.get()?, STATUS_WORDS),
            },
        )?;

        self.string.room(device, words)?;
        self.levels.room(device, words * levels as usize)?;
        self.escapes.room(device, words / 32)?;
        self.counts.room(device, tiles)?;
        self.ends.room(device, ends)?;
        self.tile_faults.room(device, tile_faults)?;
        self.tile_loose.room(device, tile_faults)?;
        self.kinds.room(device, tiles)?;
        launch::<A, stages::Index, StructureWrite>(
            device,
            &StructureWriteArgs {
                text: device.view(self.text.get()?, padded),
                states: device.view(self.states.get()?, tiles),
                string: device.view_mut(self.string.get_mut()?, words),
                levels: device.view_mut(self.levels.get_mut()?, words * levels as usize),
                escapes: device.view_mut(self.escapes.get_mut()?, words / 32),
                lines: TileLines {
                    counts: device.view_mut(self.counts.get_mut()?, tiles),
                    ends: device.view_mut(self.ends.get_mut()?, ends),
                    faulty: device.view_mut(self.tile_faults.get_mut()?, tile_faults),
                    loose: device.view_mut(self.tile_loose.get_mut()?, tile_faults),
                    room: of_a_tile,
                    reserved: 0,
                },
                kinds: device.view_mut(self.kinds.get_mut()?, tiles),
                len: len as PartOffset,
                level_count: levels,
            },
        )?;

        self.first_lines.room(device, tiles)?;
        self.line_starts.room(device, room.all + 1)?;
        let look_back = self.count_scan.start(device, tiles)?;
        launch::<A, stages::Index, LineIndex>(
            device,
            &LineIndexArgs {
                counts: device.view(self.counts.get()?, tiles),
                ends: device.view(self.ends.get()?, ends),
                faults: device.view(self.tile_faults.get()?, tile_faults),
                tile_loose: device.view(self.tile_loose.get()?, tile_faults),
                first_lines: device.view_mut(self.first_lines.get_mut()?, tiles),
                line_starts: device.view_mut(self.line_starts.get_mut()?, room.all + 1),
                look_back,
                faulty: FaultyLines {
                    bits: device.view_mut(self.faulty.get_mut()?, fault_words),
                    status: device.view_mut(self.status.get_mut()?, STATUS_WORDS),
                },
                loose: device.view_mut(self.loose.get_mut()?, fault_words),
                room: of_a_tile,
                reserved: 0,
            },
        )?;
        let look_back = self.kind_scan.start(device, tiles)?;
        launch::<A, stages::Kinds, KindCheck>(
            device,
            &KindCheckArgs {
                kinds: device.view(self.kinds.get()?, tiles),
                first_lines: device.view(self.first_lines.get()?, tiles),
                look_back,
                faulty: FaultyLines {
                    bits: device.view_mut(self.faulty.get_mut()?, fault_words),
                    status: device.view_mut(self.status.get_mut()?, STATUS_WORDS),
                },
            },
        )?;
        launch::<A, stages::Kinds, OddCheck>(
            device,
            &OddCheckArgs {
                text: device.view(self.text.get()?, padded),
                string: device.view(self.string.get()?, words),
                counts: device.view(self.counts.get()?, tiles),
                ends: device.view(self.ends.get()?, ends),
                first_lines: device.view(self.first_lines.get()?, tiles),
                faulty: FaultyLines {
                    bits: device.view_mut(self.faulty.get_mut()?, fault_words),
                    status: device.view_mut(self.status.get_mut()?, STATUS_WORDS),
                },
                room: of_a_tile,
                len: len as PartOffset,
            },
        )?;
        let mut codes = [0];
        let mut downloads = Downloads::new(device);
        downloads.add(&self.status, 0, &mut status)?;
        if self.was_packed {
            downloads.add(self.packed.status(), 0, &mut codes)?;
        }
        downloads.run()?;
        if codes == [0] {
            Ok(status)
        } else {
            // The caller has the text, and finds the fault in it.
            Err(Error::Internal("a device reports damaged codes, and the host does not".into()))
        }
    }

    fn line_starts(&self, device: &A, shape: IndexShape) -> Result<Vec<PartOffset>, Error> {
        let mut starts = vec![0; shape.lines + 1];
        device.download(self.line_starts.get()?, 0, &mut starts)?;
        Ok(starts)
    }

    /// Judges the lines that the kernels suspect, and clears the valid ones on the device. `fault` returns
    /// the fault of a line.
    pub fn judge(
        &mut self,
        device: &A,
        text: Lines<'_>,
        shape: IndexShape,
        fault: fn(&[u8]) -> Option<Fault>,
    ) -> Result<Vec<LineFault>, Error> {
        if !shape.any_faulty {
            return Ok(Vec::new());
        }
        let (text, starts) = (text.bytes()?, self.line_starts(device, shape)?);
        let mut bits = vec![0; line_words(shape.lines)];
        device.download(self.faulty.get()?, 0, &mut bits)?;
        let mut faults = Vec::new();
        for (w, word) in bits.iter_mut().enumerate() {
            let mut left = *word;
            while left != 0 {
                let bit = left.trailing_zeros();
                let line = 32 * w + bit as usize;
                match fault(&text[starts[line] as usize..starts[line + 1] as usize]) {
                    Some(fault) => faults.push(LineFault { line: line as LineIx, fault }),
                    None => *word &= !(1 << bit),
                }
                left &= left - 1;
            }
        }
        device.upload(self.faulty.get_mut()?, 0, &bits)?;
        Ok(faults)
    }

    /// The partition in the form that the query kernels read.
    pub fn indexed(&self, device: &A, shape: IndexShape) -> Result<Indexed<'_>, Error> {
        Ok(Indexed {
            text: device.view(self.text.get()?, shape.padded),
            string: device.view(self.string.get()?, shape.words()),
            levels: device.view(self.levels.get()?, shape.words() * shape.levels as usize),
            escapes: device.view(self.escapes.get()?, shape.words() / 32),
            line_starts: device.view(self.line_starts.get()?, shape.lines + 1),
            faulty: device.view(self.faulty.get()?, line_words(shape.lines)),
            loose: device.view(self.loose.get()?, line_words(shape.lines)),
        })
    }

    /// The partition in the form that the kernels of trees read, and the arrays in which they report faulty
    /// lines.
    pub fn tokens(
        &mut self,
        device: &A,
        shape: IndexShape,
    ) -> Result<(TokenText<'_>, FaultyLines<'_>), Error> {
        let Self { text, string, line_starts, faulty, status, loaded, .. } = self;
        let text = TokenText {
            text: device.view(text.get()?, shape.padded),
            string: device.view(string.get()?, shape.words()),
            line_starts: device.view(line_starts.get()?, shape.lines + 1),
            len: *loaded as PartOffset,
        };
        let faulty = FaultyLines {
            bits: device.view_mut(faulty.get_mut()?, line_words(shape.lines)),
            status: device.view_mut(status.get_mut()?, STATUS_WORDS),
        };
        Ok((text, faulty))
    }

    /// Marks lines as suspected if a string or a scalar violates RFC 8259, or if they are not UTF-8. Does not
    /// wait: the stage that makes the trees next returns whether there are suspected lines.
    pub fn check_strictly(&mut self, device: &A, shape: IndexShape) -> Result<(), Error> {
        let (TokenText { text, string, line_starts, len }, faulty) = self.tokens(device, shape)?;
        launch::<A, stages::Validate, StrictCheck>(
            device,
            &StrictCheckArgs { text, string, line_starts, faulty, len, reserved: 0 },
        )
    }

    /// The status words that kernels write for the text as a whole.
    pub fn status(&self) -> &Slot<A, u32> {
        &self.status
    }

    /// Copies the whole index back.
    pub fn download(&mut self, device: &A, text: &[u8], shape: IndexShape) -> Result<StructuralIndex, Error> {
        let faults = self.judge(device, Lines::Plain(text), shape, diagnose)?;
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

/// Scans `input` with kernel `K` of stage `S` into `output`.
pub(super) fn scan<A: Accelerator, S: DeviceStage, I: Plain, T: Plain + Monoid, K>(
    device: &A,
    input: &A::Buffer<I>,
    len: usize,
    output: &mut Slot<A, T>,
    scratch: &mut ScanScratch<A, T>,
) -> Result<(), Error>
where
    K: Of<S> + for<'x> Kernel<Args<'x> = ScanArgs<'x, I, T>>,
{
    let args = ScanArgs {
        input: device.view(input, len),
        output: device.view_mut(output.room(device, len + 1)?, len + 1),
        look_back: scratch.start(device, len)?,
    };
    launch::<A, S, K>(device, &args)
}
