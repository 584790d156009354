//! Cells as read, for one part of the rows, before the kind of their column is known.

use warpath_core::json;
use warpath_core::pool;
use warpath_lang::jsonpath::State;
use warpath_shared::column;
use warpath_shared::units::PartOffset;

use super::super::column::Kind;
use super::{Cell, ColumnValues, Data, Number, float, instant, number};

/// The content of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Tag {
    Missing,
    Null,
    Other,
    Int,
    Float,
    Time,
    Text,
    False,
    True,
}

const TAGS: usize = 9;

/// Cells of some rows, in order.
pub struct Raw {
    kind: Option<Kind>,
    tags: Vec<Tag>,
    counts: [usize; TAGS],
    /// The bits of the cells that are integers, doubles and instants.
    words: Vec<u64>,
    /// The end in `bytes` of each cell that is a text.
    ends: Vec<usize>,
    bytes: Vec<u8>,
}

impl Raw {
    /// Creates a part without rows. If the kind of the column is known, values of other kinds are not kept.
    pub fn new(kind: Option<Kind>) -> Self {
        Self {
            kind,
            tags: Vec::new(),
            counts: [0; TAGS],
            words: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Returns the number of rows so far.
    pub fn rows(&self) -> usize {
        self.tags.len()
    }

    fn tag(&mut self, tag: Tag) {
        self.tags.push(tag);
        self.counts[tag as usize] += 1;
    }

    fn word(&mut self, tag: Tag, word: u64) {
        self.tag(tag);
        self.words.push(word);
    }

    /// Appends rows without a value until there are `rows` rows.
    pub fn missing_up_to(&mut self, rows: usize) {
        let more = rows.saturating_sub(self.rows());
        self.counts[Tag::Missing as usize] += more;
        self.tags.resize(self.rows() + more, Tag::Missing);
    }

    /// Appends a row.
    pub fn push(&mut self, cell: Cell<'_>) {
        let wants = |kind| self.kind.is_none_or(|wanted| wanted == kind);
        match cell {
            Cell::Missing => self.tag(Tag::Missing),
            Cell::Null => self.tag(Tag::Null),
            Cell::Int(value) if wants(Kind::Int) => self.word(Tag::Int, value as u64),
            Cell::Int(value) if wants(Kind::Float) => self.word(Tag::Float, (value as f64).to_bits()),
            Cell::Float(value) if wants(Kind::Float) => self.word(Tag::Float, value.to_bits()),
            Cell::Float(value) if wants(Kind::Int) => match integer(value) {
                Some(value) => self.word(Tag::Int, value as u64),
                None => self.tag(Tag::Other),
            },
            Cell::Time(value) if wants(Kind::Time) => self.word(Tag::Time, value as u64),
            Cell::Bool(value) if wants(Kind::Bool) => self.tag(if value { Tag::True } else { Tag::False }),
            Cell::Text(text) if wants(Kind::Text) => {
                self.bytes.extend_from_slice(text.as_bytes());
                self.end_text();
            }
            Cell::Text(text) if wants(Kind::Time) => match instant(text) {
                Some(value) => self.word(Tag::Time, value as u64),
                None => self.tag(Tag::Other),
            },
            Cell::Other | Cell::Int(_) | Cell::Float(_) | Cell::Time(_) | Cell::Bool(_) | Cell::Text(_) => {
                self.tag(Tag::Other);
            }
        }
    }

    fn end_text(&mut self) {
        self.tag(Tag::Text);
        self.ends.push(self.bytes.len());
    }

    /// Appends a row with a JSON value.
    pub fn push_json(&mut self, value: &[u8]) {
        match value.first() {
            Some(b'"') => self.push_string(value),
            Some(b'-' | b'0'..=b'9') => self.push(match number(value) {
                Some(Number::Int(value)) => Cell::Int(value),
                // The nearest double may be an integer although the number is not.
                Some(Number::Float(_)) if self.kind == Some(Kind::Int) => Cell::Other,
                Some(Number::Float(value)) => Cell::Float(value),
                None => Cell::Other,
            }),
            _ => {
                let (end, byte) = (value.len() as PartOffset, |at: PartOffset| value[at as usize]);
                self.push(match column::boolean(0, end, byte) {
                    Some(value) => Cell::Bool(value),
                    None if column::is_null(0, end, byte) => Cell::Null,
                    None => Cell::Other,
                });
            }
        }
    }

    fn push_string(&mut self, value: &[u8]) {
        if !matches!(self.kind, None | Some(Kind::Text | Kind::Time)) {
            return self.tag(Tag::Other);
        }
        let before = self.bytes.len();
        if !json::say(column::Kind::Utf8, value, &mut self.bytes) {
            return self.tag(Tag::Other);
        }
        if self.kind != Some(Kind::Time) {
            return self.end_text();
        }
        let value = std::str::from_utf8(&self.bytes[before..]).ok().and_then(instant);
        self.bytes.truncate(before);
        self.push(value.map_or(Cell::Other, Cell::Time));
    }

    /// Writes the rows as values of a kind.
    fn values(self, kind: Kind, out: Room<'_>) {
        let Room { states, values, at } = out;
        let (mut words, mut ends, mut begin) = (self.words.into_iter(), self.ends.into_iter(), 0);
        let rows = self.tags.into_iter().zip(states).enumerate();
        // Each tag consumes its word or end, even if the value is of another kind.
        match values {
            Slots::Whole(values) => {
                for (row, (tag, state)) in rows {
                    let word = if has_word(tag) { words.next().unwrap_or(0) } else { 0 };
                    let wanted = if kind == Kind::Int { Tag::Int } else { Tag::Time };
                    *state = state_of(tag, tag == wanted);
                    values[row] = if tag == wanted { word as i64 } else { 0 };
                }
            }
            Slots::Float(values) => {
                for (row, (tag, state)) in rows {
                    let word = if has_word(tag) { words.next().unwrap_or(0) } else { 0 };
                    (*state, values[row]) = match tag {
                        Tag::Int => float(word as i64 as f64),
                        Tag::Float => float(f64::from_bits(word)),
                        tag => (state_of(tag, false), 0.0),
                    };
                }
            }
            Slots::Bool(values) => {
                for (row, (tag, state)) in rows {
                    *state = state_of(tag, matches!(tag, Tag::False | Tag::True));
                    values[row] = tag == Tag::True;
                }
            }
            Slots::Text(offsets, bytes) => {
                bytes.copy_from_slice(&self.bytes);
                for (row, (tag, state)) in rows {
                    if tag == Tag::Text {
                        begin = ends.next().unwrap_or(begin);
                    }
                    *state = state_of(tag, tag == Tag::Text);
                    offsets[row] = at + begin as u64;
                }
            }
        }
    }
}

fn has_word(tag: Tag) -> bool {
    matches!(tag, Tag::Int | Tag::Float | Tag::Time)
}

fn state_of(tag: Tag, of_the_kind: bool) -> State {
    match tag {
        Tag::Missing => State::Missing,
        Tag::Null => State::Null,
        _ if of_the_kind => State::Value,
        _ => State::Other,
    }
}

/// Returns the integer that a double is, if it is one within the range.
fn integer(value: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    (value.fract() == 0.0 && (-END..END).contains(&value)).then_some(value as i64)
}

/// The destination of a part's values.
struct Room<'a> {
    states: &'a mut [State],
    values: Slots<'a>,
    /// The offset of the part's texts among all texts.
    at: u64,
}

enum Slots<'a> {
    Whole(&'a mut [i64]),
    Float(&'a mut [f64]),
    Bool(&'a mut [bool]),
    /// The end of each row's text, and the texts.
    Text(&'a mut [u64], &'a mut [u8]),
}

/// Returns the kind of a column with these cells; see the [module](super).
fn kind_of(parts: &[Raw]) -> Option<Kind> {
    let count = |tag: Tag| parts.iter().map(|part| part.counts[tag as usize]).sum::<usize>();
    let numbers = if count(Tag::Float) > 0 { Kind::Float } else { Kind::Int };
    let counts = [
        (Kind::Bool, count(Tag::False) + count(Tag::True)),
        (Kind::Time, count(Tag::Time)),
        (Kind::Text, count(Tag::Text)),
        (numbers, count(Tag::Int) + count(Tag::Float)),
    ];
    // On a tie, the last kind wins.
    counts.into_iter().max_by_key(|(_, count)| *count).filter(|(_, count)| *count > 0).map(|(kind, _)| kind)
}

/// Joins the rows of all parts, in order. The kind is `asked`, or else that of the cells, or `without` where
/// no cell has a value.
pub fn finish(parts: Vec<Raw>, asked: Option<Kind>, without: Kind) -> ColumnValues {
    let kind = asked.or_else(|| kind_of(&parts)).unwrap_or(without);
    let rows = parts.iter().map(Raw::rows).sum();
    let mut states = vec![State::Missing; rows];
    let mut data = match kind {
        Kind::Int => Data::Int(vec![0; rows]),
        Kind::Time => Data::Time(vec![0; rows]),
        Kind::Float => Data::Float(vec![0.0; rows]),
        Kind::Bool => Data::Bool(vec![false; rows]),
        Kind::Text => {
            let bytes = parts.iter().map(|part| part.bytes.len()).sum();
            Data::Text { offsets: vec![0; rows + 1], bytes: vec![0; bytes] }
        }
    };
    let mut states_left = &mut states[..];
    let mut left = match &mut data {
        Data::Int(values) | Data::Time(values) => Slots::Whole(values),
        Data::Float(values) => Slots::Float(values),
        Data::Bool(values) => Slots::Bool(values),
        Data::Text { offsets, bytes } => Slots::Text(&mut offsets[1..], bytes),
    };
    let mut at = 0;
    let mut work = Vec::with_capacity(parts.len());
    for part in parts {
        let (states, behind) = std::mem::take(&mut states_left).split_at_mut(part.rows());
        states_left = behind;
        let (values, behind) = left.split(part.rows(), part.bytes.len());
        left = behind;
        let bytes = part.bytes.len() as u64;
        work.push((part, Room { states, values, at }));
        at += bytes;
    }
    pool::map(work, |(part, room)| part.values(kind, room));
    ColumnValues { states, data }
}

impl<'a> Slots<'a> {
    /// Splits off the slots of the first `rows` rows, which have `bytes` bytes of text.
    fn split(self, rows: usize, bytes: usize) -> (Self, Self) {
        match self {
            Self::Whole(values) => {
                let (these, behind) = values.split_at_mut(rows);
                (Self::Whole(these), Self::Whole(behind))
            }
            Self::Float(values) => {
                let (these, behind) = values.split_at_mut(rows);
                (Self::Float(these), Self::Float(behind))
            }
            Self::Bool(values) => {
                let (these, behind) = values.split_at_mut(rows);
                (Self::Bool(these), Self::Bool(behind))
            }
            Self::Text(offsets, texts) => {
                let (offsets, offsets_behind) = offsets.split_at_mut(rows);
                let (texts, texts_behind) = texts.split_at_mut(bytes);
                (Self::Text(offsets, texts), Self::Text(offsets_behind, texts_behind))
            }
        }
    }
}
