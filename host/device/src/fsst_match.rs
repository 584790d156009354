//! Matching of compressed strings on a device, by an automaton over their codes:
//! [`warpath_shared::fsst::automaton`].

use warpath_core::error::Error;
use warpath_shared::fsst::automaton::{NO_FAULT, Verdict, fault_of};
use warpath_shared::kernel::{FsstMatch, FsstMatchArgs};
use warpath_shared::view::{View, ViewMut};
use warpath_store::fsst::automaton::CodeAutomaton;

use super::fsst::DeviceCodes;
use super::{Accelerator, Slot, launch, stages};

/// The most strings of a launch: less than 2³¹, and whole words of the result.
const MOST_STRINGS: usize = (1 << 31) - 64;

/// Matches strings on a device, in arrays that are kept between queries. The result stays on the device until
/// the next query.
pub struct FsstMatchStage<A: Accelerator> {
    device: A,
    rows: Slot<A, u8>,
    matches: Slot<A, u64>,
    /// The fault word of each launch.
    faults: Slot<A, u64>,
    most_strings: usize,
    /// The number of strings of the last query.
    strings: usize,
}

impl<A: Accelerator> FsstMatchStage<A> {
    /// Makes a stage on a queue.
    pub fn new(device: A) -> Self {
        Self {
            device,
            rows: Slot::default(),
            matches: Slot::default(),
            faults: Slot::default(),
            most_strings: MOST_STRINGS,
            strings: 0,
        }
    }

    /// Sets the most strings of a launch, rounded up to a multiple of 64. The default is a little less than
    /// 2³¹, the limit of a launch.
    #[must_use]
    pub fn with_strings_a_launch(mut self, strings: usize) -> Self {
        self.most_strings = strings.clamp(1, MOST_STRINGS).next_multiple_of(64);
        self
    }

    /// The queue.
    pub fn device(&self) -> &A {
        &self.device
    }

    /// Matches strings. The result stays on the device. Does not wait. A null is matched as the empty string
    /// that is stored for it.
    /// [`StringColumn::without_nulls`](warpath_store::fsst::StringColumn::without_nulls) removes nulls from
    /// the downloaded result.
    ///
    /// # Errors
    /// [`Error::Device`], also if memory is short. [`Error::Internal`] if the offsets of the strings were not
    /// loaded.
    pub fn matches(&mut self, automaton: &CodeAutomaton, codes: &DeviceCodes<A>) -> Result<(), Error> {
        let device = &self.device;
        let (words, codes_len) = codes.words(device)?;
        let offsets = codes.string_offsets(device)?;
        let Some(strings) = offsets.len().checked_sub(1) else {
            return Err(Error::Internal("strings are matched before their offsets are loaded".into()));
        };
        self.strings = strings;
        let rows = automaton.rows();
        device.upload(self.rows.room(device, rows.len())?, 0, rows)?;
        let match_words = strings.div_ceil(64);
        let launches = strings.div_ceil(self.most_strings);
        let faults = self.faults.room(device, launches)?;
        if launches == 0 {
            return Ok(());
        }
        device.upload(faults, 0, &vec![NO_FAULT; launches])?;
        let faults = device.view_mut(faults, launches);
        let matches = device.view_mut(self.matches.room(device, match_words)?, match_words);
        let automaton = automaton.on(device.view(self.rows.get()?, rows.len()));
        for at in 0..launches {
            let first = at * self.most_strings;
            let count = self.most_strings.min(strings - first);
            let words_here = count.div_ceil(64);
            // SAFETY: the ranges lie within these views: the offsets of `count` strings, and words and a
            // fault word that only this launch uses.
            let (offsets, matches, fault) = unsafe {
                (
                    View::from_raw(offsets.at(first, count + 1), count + 1),
                    ViewMut::from_raw(matches.at(first / 64, words_here), words_here),
                    ViewMut::from_raw(faults.at(at, 1), 1),
                )
            };
            launch::<A, stages::Like, FsstMatch>(
                device,
                &FsstMatchArgs { automaton, codes: words, offsets, matches, fault, codes_len },
            )?;
        }
        Ok(())
    }

    /// Waits, and returns the first string whose codes are faulty, with its verdict, as far as codes were
    /// read. [`CodeAutomaton::matches_one`] finds the faulty code.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn fault(&self) -> Result<Option<(u64, Verdict)>, Error> {
        let mut faults = vec![0; self.strings.div_ceil(self.most_strings)];
        if faults.is_empty() {
            return Ok(None);
        }
        self.device.download(self.faults.get()?, 0, &mut faults)?;
        // Launches are in the order of the strings, so the first one with a fault has the first faulty
        // string.
        let first = faults.into_iter().enumerate().find_map(|(at, word)| Some((at, fault_of(word)?)));
        Ok(first.map(|(at, (string, verdict))| ((at * self.most_strings) as u64 + string, verdict)))
    }

    /// The result on the device, for kernels of the same queue. Bit *i* of word *w* is for string 64 *w* +
    /// *i*; bits after the last string are 0.
    ///
    /// # Errors
    /// [`Error::Internal`] if there was no query yet, or only one of no strings.
    pub fn answer(&self) -> Result<View<'_, u64>, Error> {
        Ok(self.device.view(self.matches.get()?, self.strings.div_ceil(64)))
    }

    /// Copies the result back: bit *i* of word *w* is for string 64 *w* + *i*. A faulty string does not
    /// match.
    ///
    /// # Errors
    /// [`Error::Device`].
    pub fn download(&self) -> Result<Vec<u64>, Error> {
        let mut words = vec![0; self.strings.div_ceil(64)];
        if !words.is_empty() {
            self.device.download(self.matches.get()?, 0, &mut words)?;
        }
        Ok(words)
    }
}
