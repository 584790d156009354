//! Numbers of 64 bits, packed in blocks. [`warpath_shared::leaf`] draws the layout.

use warpath_core::rows::RowSet;
use warpath_shared::leaf::{BLOCK_ROWS, Block, LANES};

/// The numbers of the words of a set of rows that one block fills.
const SET_WORDS: usize = BLOCK_ROWS / 64;

/// Packed numbers, one for each row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Packed {
    rows: u32,
    blocks: Vec<Block>,
    words: Vec<u32>,
}

impl Packed {
    /// Packs numbers.
    ///
    /// # Panics
    /// If there are 2^32 numbers or more.
    #[must_use]
    pub fn of(values: &[u64]) -> Self {
        let rows = u32::try_from(values.len()).unwrap_or_else(|_| panic!("a segment has 2^32 rows or more"));
        let mut packed =
            Self { rows, blocks: Vec::with_capacity(values.len().div_ceil(BLOCK_ROWS)), words: Vec::new() };
        for values in values.chunks(BLOCK_ROWS) {
            packed.push(values);
        }
        packed.words.shrink_to_fit();
        packed
    }

    /// Packed numbers of blocks and words that come from elsewhere. `None` if [`of`](Self::of) makes no such
    /// blocks and words for this number of rows, or if a number has more than 64 bits.
    #[must_use]
    pub fn from_parts(rows: u32, blocks: Vec<Block>, words: Vec<u32>) -> Option<Self> {
        if blocks.len() != (rows as usize).div_ceil(BLOCK_ROWS) {
            return None;
        }
        let mut begin = 0_u32;
        for block in &blocks {
            if block.width > u64::BITS || block.begin != begin {
                return None;
            }
            begin = begin.checked_add(block.words())?;
        }
        if words.len() != (begin as usize).checked_mul(LANES)? {
            return None;
        }
        let packed = Self { rows, blocks, words };
        let fits = |block: &Block| {
            let words = packed.words_of(block);
            let mut differences =
                (0..BLOCK_ROWS as u32).map(|row| block.difference(row, |at| words[at as usize]));
            // Few blocks have a mask that exceeds 64 bits.
            block.base.checked_add(block.mask()).is_some()
                || differences.all(|difference| block.base.checked_add(difference).is_some())
        };
        packed.blocks.iter().all(fits).then_some(packed)
    }

    /// Packs the next block.
    fn push(&mut self, values: &[u64]) {
        let (mut base, mut greatest) = (u64::MAX, 0);
        for value in values {
            base = base.min(*value);
            greatest = greatest.max(*value);
        }
        let width = 64 - (greatest - base).leading_zeros();
        let begin = self.words.len();
        let block = Block { base, begin: (begin / LANES) as u32, width };
        self.words.resize(begin + LANES * width as usize, 0);
        self.blocks.push(block);
        if width == 0 {
            return;
        }
        let words = &mut self.words[begin..];
        for (row, values) in values.chunks(LANES).enumerate() {
            let first = row as u32 * width;
            let (at, shift, end) = ((first / 32) as usize * LANES, first % 32, first % 32 + width);
            for (lane, value) in values.iter().enumerate() {
                let bits = value - base;
                words[at + lane] |= (bits << shift) as u32;
                if end > 32 {
                    words[at + LANES + lane] |= (bits >> (32 - shift)) as u32;
                }
                if end > 64 {
                    words[at + 2 * LANES + lane] |= (bits >> (64 - shift)) as u32;
                }
            }
        }
    }

    /// The number of rows.
    #[must_use]
    pub fn rows(&self) -> u32 {
        self.rows
    }

    /// The blocks.
    #[must_use]
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// The words of all blocks.
    #[must_use]
    pub fn words(&self) -> &[u32] {
        &self.words
    }

    /// Bytes of memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        (self.words.len() * size_of::<u32>() + self.blocks.len() * size_of::<Block>()) as u64
    }

    fn words_of(&self, block: &Block) -> &[u32] {
        let begin = block.begin as usize * LANES;
        &self.words[begin..begin + LANES * block.words() as usize]
    }

    /// The number of a row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn get(&self, row: u32) -> u64 {
        assert!(row < self.rows, "row {row} of {}", self.rows);
        let block = &self.blocks[row as usize / BLOCK_ROWS];
        let words = self.words_of(block);
        block.base + block.difference(row % BLOCK_ROWS as u32, |at| words[at as usize])
    }

    /// Calls `each` with the numbers of each block, in order. The last block may have fewer than
    /// [`BLOCK_ROWS`].
    pub fn each_block(&self, mut each: impl FnMut(&[u64])) {
        let mut values = [0; BLOCK_ROWS];
        let mut left = self.rows as usize;
        for block in &self.blocks {
            let rows = left.min(BLOCK_ROWS);
            left -= rows;
            self.unpack(block, &mut values);
            each(&values[..rows]);
        }
    }

    /// Reads the numbers of a block. The last block may have fewer than [`BLOCK_ROWS`] rows; the numbers
    /// after these are arbitrary.
    ///
    /// # Panics
    /// If there is no such block.
    pub fn block(&self, number: usize, values: &mut [u64; BLOCK_ROWS]) {
        self.unpack(&self.blocks[number], values);
    }

    fn unpack(&self, block: &Block, values: &mut [u64; BLOCK_ROWS]) {
        let &Block { base, width, .. } = block;
        if width == 0 {
            values.fill(base);
            return;
        }
        let (words, mask) = (self.words_of(block), block.mask());
        for (row, values) in values.chunks_exact_mut(LANES).enumerate() {
            let first = row as u32 * width;
            let (at, shift, end) = ((first / 32) as usize * LANES, first % 32, first % 32 + width);
            let lanes = |at: usize| &words[at..at + LANES];
            if end <= 32 {
                for (value, word) in values.iter_mut().zip(lanes(at)) {
                    *value = base + (u64::from(*word >> shift) & mask);
                }
            } else if end <= 64 {
                for ((value, low), high) in values.iter_mut().zip(lanes(at)).zip(lanes(at + LANES)) {
                    *value = base + ((u64::from(*low) | u64::from(*high) << 32) >> shift & mask);
                }
            } else {
                for (lane, value) in values.iter_mut().enumerate() {
                    *value = base + block.bits(first, |at| words[at as usize * LANES + lane]);
                }
            }
        }
    }

    /// The rows whose numbers are in a range, `greatest` included.
    #[must_use]
    pub fn within(&self, least: u64, greatest: u64) -> RowSet {
        let mut set = Vec::with_capacity(self.blocks.len() * SET_WORDS);
        for block in &self.blocks {
            match block.within(least, greatest) {
                None => set.resize(set.len() + SET_WORDS, 0),
                Some((0, span)) if span == block.mask() => set.resize(set.len() + SET_WORDS, u64::MAX),
                Some((first, span)) => self.compare(block, first, span, &mut set),
            }
        }
        RowSet::from_words(set, self.rows.into())
    }

    /// Appends the bits of the rows of a block whose differences are in a range. Nothing is decoded but the
    /// differences.
    fn compare(&self, block: &Block, first: u64, span: u64, set: &mut Vec<u64>) {
        let (words, width, mask) = (self.words_of(block), block.width, block.mask());
        let mut low_half = None;
        for row in 0..(BLOCK_ROWS / LANES) as u32 {
            let bit = row * width;
            let (at, shift, end) = ((bit / 32) as usize * LANES, bit % 32, bit % 32 + width);
            let lanes = |at: usize| &words[at..at + LANES];
            let mut passes = [0_u8; LANES];
            if end <= 32 {
                let (mask, first, span) = (mask as u32, first as u32, span as u32);
                for (passes, word) in passes.iter_mut().zip(lanes(at)) {
                    *passes = u8::from((*word >> shift & mask).wrapping_sub(first) <= span);
                }
            } else if end <= 64 {
                for ((passes, low), high) in passes.iter_mut().zip(lanes(at)).zip(lanes(at + LANES)) {
                    let value = (u64::from(*low) | u64::from(*high) << 32) >> shift & mask;
                    *passes = u8::from(value.wrapping_sub(first) <= span);
                }
            } else {
                for (lane, passes) in passes.iter_mut().enumerate() {
                    let value = block.bits(bit, |at| words[at as usize * LANES + lane]);
                    *passes = u8::from(value.wrapping_sub(first) <= span);
                }
            }
            let bits = u64::from(bits_of(&passes));
            match low_half.take() {
                None => low_half = Some(bits),
                Some(low) => set.push(low | bits << 32),
            }
        }
    }
}

/// Gathers the low bits of bytes, the first byte's in bit 0.
///
/// ```text
/// word       byte 7 … byte 1 byte 0, each 0 or 1
/// * 0x0102…  bit 56 + i of the product has byte i: byte i is shifted by 56 - 7 i, and no sum carries
/// ```
fn bits_of(passes: &[u8; LANES]) -> u32 {
    let mut bits = 0;
    for (at, eight) in passes.chunks_exact(8).enumerate() {
        let mut word = [0; 8];
        word.copy_from_slice(eight);
        let word = u64::from_le_bytes(word);
        bits |= ((word.wrapping_mul(0x0102_0408_1020_4080) >> 56) as u32) << (8 * at);
    }
    bits
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    /// Numbers of all widths, in lists of all lengths around a block, beside the list itself.
    #[test]
    fn numbers_and_ranges() {
        let mut rng = Rng::new(7);
        for width in 0..=64 {
            for rows in [0, 1, 31, 33, 1023, 1024, 1025, 3000] {
                let base = if width == 64 { 0 } else { rng.next_u64() >> width.max(1) };
                let mut value = || {
                    let bits = if width == 0 { 0 } else { rng.next_u64() >> (64 - width) };
                    base.wrapping_add(bits).max(base)
                };
                let values: Vec<u64> = (0..rows).map(|_| value()).collect();
                let packed = Packed::of(&values);
                let mut all = Vec::new();
                packed.each_block(|block| all.extend_from_slice(block));
                assert_eq!(all, values, "width {width}, {rows} rows");
                assert!((0..rows as u32).all(|row| packed.get(row) == values[row as usize]));
                let Packed { rows, blocks, words } = packed.clone();
                assert_eq!(Packed::from_parts(rows, blocks, words).as_ref(), Some(&packed));
                let mut bounds = vec![0, base, u64::MAX];
                bounds.extend(values.iter().take(4));
                for least in &bounds {
                    for greatest in &bounds {
                        let want: RowSet =
                            values.iter().map(|value| least <= value && value <= greatest).collect();
                        assert_eq!(packed.within(*least, *greatest), want, "{least}..={greatest}, {width}");
                    }
                }
            }
        }
    }

    /// Blocks and words that no numbers have.
    #[test]
    fn other_blocks_and_words_are_refused() {
        let packed = Packed::of(&(0..1500).map(|value| value * 3).collect::<Vec<_>>());
        let refused = |change: &dyn Fn(&mut Packed)| {
            let mut other = packed.clone();
            change(&mut other);
            let Packed { rows, blocks, words } = other;
            assert_eq!(Packed::from_parts(rows, blocks, words), None);
        };
        refused(&|packed| packed.rows = 1024);
        refused(&|packed| packed.rows = 2049);
        refused(&|packed| packed.blocks[1].begin += 1);
        refused(&|packed| packed.blocks[0].width = 65);
        refused(&|packed| packed.blocks[1].width -= 1);
        refused(&|packed| packed.words.extend([0; LANES]));
        refused(&|packed| packed.words.truncate(LANES));
        refused(&|packed| packed.blocks[0].base = u64::MAX - 3000);
        let greatest = Packed::of(&[1, u64::MAX]);
        let Packed { rows, blocks, words } = greatest.clone();
        assert_eq!(Packed::from_parts(rows, blocks, words), Some(greatest));
    }
}
