//! Text that a thread has decoded, whose beginning may refer to an unknown window.
//!
//! A unit of such text is a byte, or a marker: the offset of that byte in the window (pugz, Kerbiriou and
//! Chikhi 2019). Once no marker is left in a whole window, the rest is decoded to bytes.

use crate::block::{Inflater, ROOM, Stopped, WINDOW};
use crate::member::Trailer;

/// The bit of a marker. The other bits are an offset in the window.
const MARKER: u16 = 1 << 15;
/// Units by which the room for text grows.
const GROWTH: usize = 512 << 10;

/// Memory for text that is used again. Its length is that of the memory.
#[derive(Default)]
pub struct Memory {
    pub units: Vec<u16>,
    pub bytes: Vec<u8>,
}

/// A text, decoded up to here.
pub struct DecodedText {
    /// A window of markers, and the units after it; empty if the window was known.
    units: Vec<u16>,
    units_end: usize,
    /// Bytes that are known: a window, and the text after it.
    bytes: Vec<u8>,
    bytes_from: usize,
    bytes_end: usize,
    /// True while bytes are written, and not units.
    is_known: bool,
    /// The first of `bytes` that a match may refer to.
    begin: usize,
    /// True if the current member began in this text.
    has_begun: bool,
    /// The length of the text at each end of a member, and its trailer.
    pub members: Vec<(usize, Trailer)>,
}

impl DecodedText {
    /// Text after an unknown window.
    pub fn unknown(memory: Memory) -> Self {
        let Memory { mut units, bytes } = memory;
        grow(&mut units, WINDOW);
        (MARKER..=u16::MAX).zip(&mut units[..WINDOW]).for_each(|(marker, unit)| *unit = marker);
        Self { is_known: false, ..Self::of(units, WINDOW, bytes, 0) }
    }

    /// Text after a window, which is the whole text of the member if it is shorter than [`WINDOW`].
    pub fn known(memory: Memory, window: &[u8]) -> Self {
        let Memory { units, mut bytes } = memory;
        grow(&mut bytes, window.len());
        bytes[..window.len()].copy_from_slice(window);
        Self::of(units, 0, bytes, window.len())
    }

    fn of(units: Vec<u16>, units_end: usize, bytes: Vec<u8>, bytes_from: usize) -> Self {
        Self {
            units,
            units_end,
            bytes,
            bytes_from,
            bytes_end: bytes_from,
            is_known: true,
            begin: 0,
            has_begun: false,
            members: Vec::new(),
        }
    }

    /// Discards the text. It then is one after an unknown window, as it was before.
    pub fn restart(&mut self) {
        (self.units_end, self.bytes_from, self.bytes_end) = (WINDOW, 0, 0);
        (self.is_known, self.begin, self.has_begun) = (false, 0, false);
        self.members.clear();
    }

    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.units_end.saturating_sub(WINDOW) + self.bytes_end - self.bytes_from
    }

    /// Begins a member, before which nothing can be referred to.
    pub fn begin_member(&mut self) {
        if !self.is_known {
            (self.is_known, self.bytes_from, self.bytes_end) = (true, 0, 0);
        }
        (self.begin, self.has_begun) = (self.bytes_end, true);
    }

    /// Decodes as far as there is room.
    pub fn run(&mut self, inflater: &mut Inflater, input: &[u8], bit: &mut usize) -> Stopped {
        if self.is_known {
            inflater.run(input, bit, &mut self.bytes, &mut self.bytes_end, self.begin)
        } else {
            inflater.run(input, bit, &mut self.units, &mut self.units_end, 0)
        }
    }

    /// Makes room for more text.
    pub fn grow(&mut self) {
        if self.is_known {
            grow(&mut self.bytes, self.bytes_end);
        } else {
            grow(&mut self.units, self.units_end);
        }
    }

    /// Decodes to bytes from here on, if the window before is known.
    pub fn settle(&mut self) {
        if self.is_known || self.units_end < 2 * WINDOW {
            return;
        }
        let window = &self.units[self.units_end - WINDOW..self.units_end];
        if window.iter().rev().any(|unit| unit & MARKER != 0) {
            return;
        }
        grow(&mut self.bytes, WINDOW);
        self.bytes.iter_mut().zip(window).for_each(|(byte, unit)| *byte = *unit as u8);
        (self.is_known, self.begin, self.bytes_from, self.bytes_end) = (true, 0, WINDOW, WINDOW);
    }

    /// The units that were decoded before the window was known.
    fn unsettled(&self) -> &[u16] {
        self.units.get(WINDOW..self.units_end).unwrap_or_default()
    }

    /// The window after the text: as much of the member as there is, and at most [`WINDOW`] bytes.
    pub fn window(&self, before: &[u8]) -> Vec<u8> {
        if self.has_begun {
            return self.bytes[self.begin.max(self.bytes_end.saturating_sub(WINDOW))..self.bytes_end]
                .to_vec();
        }
        let bytes = &self.bytes[self.bytes_from..self.bytes_end];
        let bytes = &bytes[bytes.len().saturating_sub(WINDOW)..];
        let units = self.unsettled();
        let units = &units[units.len().saturating_sub(WINDOW - bytes.len())..];
        let rest = WINDOW - bytes.len() - units.len();
        let mut window = before[before.len().saturating_sub(rest)..].to_vec();
        window.extend(units.iter().map(|unit| resolve(*unit, before).unwrap_or_default()));
        window.extend_from_slice(bytes);
        window
    }

    /// The bytes of the text, with the markers replaced. A marker of an offset before the window ends the
    /// text; the second value is then true.
    pub fn into_bytes(self, before: &[u8]) -> (DecodedBytes, Memory) {
        let mut resolved = Vec::new();
        let mut is_cut = false;
        let units = self.unsettled();
        if !units.is_empty() {
            let mut table = vec![0; 1 << 16];
            (0..=u8::MAX).zip(&mut table).for_each(|(byte, entry)| *entry = byte);
            let begin = usize::from(MARKER) + WINDOW - before.len();
            table[begin..].copy_from_slice(before);
            // A match begins with its farthest byte, so the first such marker is the beginning of a match.
            let is_before = |unit: &u16| unit & MARKER != 0 && usize::from(*unit) < begin;
            let first = if before.len() < WINDOW { units.iter().position(is_before) } else { None };
            is_cut = first.is_some();
            let units = &units[..first.unwrap_or(units.len())];
            resolved.extend(units.iter().map(|unit| table[usize::from(*unit)]));
        }
        let memory = Memory { units: self.units, bytes: Vec::new() };
        let known = if is_cut { 0..0 } else { self.bytes_from..self.bytes_end };
        (DecodedBytes { resolved, bytes: self.bytes, known, members: self.members, is_cut }, memory)
    }

    /// The memory of text that is not needed.
    pub fn into_memory(self) -> Memory {
        Memory { units: self.units, bytes: self.bytes }
    }
}

/// The byte of a unit; `None` for an offset before the window.
fn resolve(unit: u16, window: &[u8]) -> Option<u8> {
    if unit & MARKER == 0 {
        return Some(unit as u8);
    }
    let offset = usize::from(unit & !MARKER);
    window.get((offset + window.len()).checked_sub(WINDOW)?).copied()
}

/// Makes room for at least [`GROWTH`] units from `end` on.
fn grow<T: Copy + Default>(memory: &mut Vec<T>, end: usize) {
    if memory.len() < end + 2 * ROOM {
        memory.resize(end + (end / 2).max(GROWTH), T::default());
    }
}

/// Text that is decoded.
pub struct DecodedBytes {
    resolved: Vec<u8>,
    bytes: Vec<u8>,
    known: std::ops::Range<usize>,
    /// The ends of members, as in [`DecodedText`].
    pub members: Vec<(usize, Trailer)>,
    /// True if a match refers to bytes before its member.
    pub is_cut: bool,
}

impl DecodedBytes {
    /// Bytes of the text.
    pub fn len(&self) -> usize {
        self.resolved.len() + self.known.len()
    }

    /// A part of the text, from `from` on and before `to`: not all of it if it is in both parts.
    pub fn slice(&self, from: usize, to: usize) -> &[u8] {
        let split = self.resolved.len();
        if from < split {
            &self.resolved[from..to.min(split)]
        } else {
            &self.bytes[self.known.start + from - split..self.known.start + to - split]
        }
    }

    /// The memory, for other text.
    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }
}
