//! The structural index of a piece of text, built word by word.

use warpath_answer::answer::LineFault;
use warpath_core::cancel::is_stopped;
use warpath_core::simd::{Isa, Simd, Work};
use warpath_shared::check::{diagnose, ends_hold, follows_quote, is_space_below};
use warpath_shared::index::level::{KindState, walk};
use warpath_shared::index::line::{LineState, index_word};
use warpath_shared::query::document::{Document, Text};
use warpath_shared::units::{Level, LineIx, PartOffset, WORD_BYTES, words_for};

/// A structural index, reused from piece to piece.
#[derive(Default)]
pub(crate) struct Structure {
    /// The string bitmap; empty if it was not requested.
    pub string: Vec<u64>,
    /// The leveled bitmaps, one after another, each of `words` words.
    pub levels: Vec<u64>,
    /// The number of words of one bitmap.
    pub words: usize,
    /// The start of each line, followed by the length of the text.
    pub line_starts: Vec<PartOffset>,
    /// The lines that are faulty or suspected, in order, each once.
    pub suspects: Vec<LineIx>,
}

impl Structure {
    /// The faults of the suspected lines, diagnosed.
    pub fn faults(&self, text: &[u8]) -> Vec<LineFault> {
        let judge = |line: &LineIx| {
            let start = self.line_starts[*line as usize];
            let end = self.line_starts[*line as usize + 1];
            let fault = diagnose(&text[start as usize..end as usize])?;
            Some(LineFault { line: *line, fault })
        };
        self.suspects.iter().filter_map(judge).collect()
    }
}

/// Builds a [`Structure`] in one pass.
pub(crate) struct Builder<'a> {
    /// The text, which consists of whole lines. The last line may lack its newline.
    pub text: &'a [u8],
    /// The number of leveled bitmaps to write.
    pub levels: Level,
    /// Set if the string bitmap is to be written.
    pub string: bool,
    /// The index to write to.
    pub structure: &'a mut Structure,
}

impl Builder<'_> {
    /// Builds with the best instruction set of this processor.
    pub fn build(self) {
        Isa::best().run(self);
    }
}

impl Work for Builder<'_> {
    type Output = ();

    #[inline(always)]
    fn run<S: Simd>(self, simd: S) {
        let Self { text, levels, string, structure } = self;
        let words = words_for(text.len());
        structure.words = words;
        structure.levels.clear();
        structure.levels.resize(words * levels as usize, 0);
        structure.string.clear();
        structure.string.resize(if string { words } else { 0 }, 0);
        structure.line_starts.clear();
        structure.line_starts.push(0);
        structure.suspects.clear();

        let mut state = LineState::default();
        let mut kinds = KindState::default();
        let (mut line_start, mut quote_before) = (0, 0);

        // The end of the text ends its line.
        let (chunks, rest) = text.as_chunks::<WORD_BYTES>();
        let terminate = text.last().is_some_and(|byte| *byte != b'\n');
        let mut last = [b' '; WORD_BYTES];
        last[..rest.len()].copy_from_slice(rest);
        if terminate {
            last[rest.len()] = b'\n';
        }
        let total = chunks.len() + (!rest.is_empty() || terminate) as usize;
        for w in 0..total {
            let word = chunks.get(w).unwrap_or(&last);
            let c = simd.classify(word);
            let indexed = index_word(&c, &mut state, |bits| simd.prefix_xor(bits));
            if let Some(word) = structure.string.get_mut(w) {
                *word = indexed.string;
            }
            let lines_before = structure.line_starts.len() as u32 - 1;
            let masks = (indexed.open, indexed.close, indexed.separator);
            let level_words = &mut structure.levels;
            let faults = walk(masks, c.brace, c.newline, &mut state.depth, &mut kinds, |level, bits| {
                if level < levels
                    && let Some(word) = level_words.get_mut(level as usize * words + w)
                {
                    *word |= bits;
                }
            });
            let (mut newlines, mut faults) = (c.newline, faults | indexed.faults);
            let mut control = c.control & !indexed.string;
            while control != 0 {
                if !is_space_below(word[control.trailing_zeros() as usize]) {
                    faults |= control & control.wrapping_neg();
                }
                control &= control - 1;
            }
            // Usually, the quote of a name is just before its colon.
            let mut bare = simd.equal(word, b':') & !indexed.string & !(c.quote << 1 | quote_before);
            quote_before = c.quote >> 63;
            while bare != 0 {
                let at = (w * WORD_BYTES) as PartOffset + bare.trailing_zeros();
                if !follows_quote(at, |at| text[at as usize]) {
                    faults |= bare & bare.wrapping_neg();
                }
                bare &= bare - 1;
            }
            while newlines != 0 {
                let at = w * WORD_BYTES + newlines.trailing_zeros() as usize;
                if !ends_hold(line_start, at as PartOffset, |at| text[at as usize]) {
                    faults |= newlines & newlines.wrapping_neg();
                }
                line_start = (at + 1).min(text.len()) as PartOffset;
                structure.line_starts.push(line_start);
                newlines &= newlines - 1;
            }
            while faults != 0 {
                let before = (faults & faults.wrapping_neg()) - 1;
                let line = lines_before + (c.newline & before).count_ones();
                if structure.suspects.last() != Some(&line) {
                    structure.suspects.push(line);
                }
                faults &= faults - 1;
            }
        }
    }
}

/// A text with its leveled bitmaps.
pub(super) struct LeveledText<'a> {
    text: &'a [u8],
    levels: &'a [u64],
    words: usize,
}

impl<'a> LeveledText<'a> {
    /// Joins a text and its leveled bitmaps, which follow one another.
    pub(super) fn new(text: &'a [u8], levels: &'a [u64]) -> Self {
        Self { text, levels, words: words_for(text.len()) }
    }
}

impl Text for LeveledText<'_> {
    #[inline(always)]
    fn byte(&self, at: PartOffset) -> u8 {
        self.text[at as usize]
    }

    fn is_stopped(&self) -> bool {
        is_stopped()
    }
}

impl Document for LeveledText<'_> {
    #[inline(always)]
    fn level_word(&self, level: Level, word: u32) -> u64 {
        self.levels[level as usize * self.words + word as usize]
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    /// Every instruction set builds the same index.
    #[test]
    fn instruction_sets_agree() {
        let text = include_bytes!("../../../tests/data/edge.ndjson");
        let build = |isa: Isa| {
            let mut structure = Structure::default();
            isa.run(Builder { text, levels: 5, string: true, structure: &mut structure });
            (structure.string, structure.levels, structure.line_starts, structure.suspects)
        };
        let want = build(Isa::Portable);
        for isa in Isa::all() {
            assert!(build(isa) == want, "{}", isa.name());
        }
    }
}
