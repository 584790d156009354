//! Cells as read, for one part of the rows, before the kind of their column is known.

use warpath_core::json;
use warpath_core::pool;
use warpath_lang::jsonpath::State;
use warpath_shared::column;
use warpath_shared::units::PartOffset;

use super::super::column::Kind;
use super::texts::{Recent, TextRoom, Texts};
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
    /// The number of the text of each cell that is one.
    numbers: Vec<u64>,
    /// The end in `bytes` of each text.
    ends: Vec<usize>,
    bytes: Vec<u8>,
    /// Strings that later cells may have again.
    recent: Option<Box<Recent>>,
}

impl Raw {
    /// Creates a part without rows. If the kind of the column is known, values of other kinds are not kept.
    pub fn new(kind: Option<Kind>) -> Self {
        Self {
            kind,
            tags: Vec::new(),
            counts: [0; TAGS],
            words: Vec::new(),
            numbers: Vec::new(),
            ends: Vec::new(),
            bytes: Vec::new(),
            recent: None,
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

    /// Releases the memory that only more rows would use.
    #[must_use]
    pub fn closed(mut self) -> Self {
        self.recent = None;
        self.numbers.shrink_to_fit();
        self.bytes.shrink_to_fit();
        self
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
                let number = self.end_text();
                self.text(number);
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

    fn text(&mut self, number: u64) {
        self.tag(Tag::Text);
        self.numbers.push(number);
    }

    /// Ends a new text. Returns its number.
    fn end_text(&mut self) -> u64 {
        self.ends.push(self.bytes.len());
        self.ends.len() as u64 - 1
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
        let is_time = self.kind == Some(Kind::Time);
        if !is_time && let Some(number) = self.recent.as_ref().and_then(|recent| recent.find(value)) {
            return self.text(number);
        }
        let before = self.bytes.len();
        if !json::say(column::Kind::Utf8, value, &mut self.bytes) {
            return self.tag(Tag::Other);
        }
        if is_time {
            let value = std::str::from_utf8(&self.bytes[before..]).ok().and_then(instant);
            self.bytes.truncate(before);
            return self.push(value.map_or(Cell::Other, Cell::Time));
        }
        let number = self.end_text();
        self.recent.get_or_insert_default().add(value, number);
        self.text(number);
    }

    /// Writes the rows as values of a kind.
    fn values(self, kind: Kind, out: Room<'_>) {
        let Room { states, values, first, bytes } = out;
        let (mut words, mut numbers) = (self.words.into_iter(), self.numbers.into_iter());
        let rows = self.tags.into_iter().zip(states).enumerate();
        // Each tag consumes its word or number, even if the value is of another kind.
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
            Slots::Text(texts) => {
                texts.bytes.copy_from_slice(&self.bytes);
                for (place, end) in texts.ends.iter_mut().zip(self.ends) {
                    *place = bytes + end as u64;
                }
                for (row, (tag, state)) in rows {
                    *state = state_of(tag, tag == Tag::Text);
                    if tag == Tag::Text {
                        texts.numbers[row] = numbers.next().map_or(0, |number| first + number);
                    }
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
    /// The number of the part's first text.
    first: u64,
    /// The offset of the part's texts among all texts.
    bytes: u64,
}

enum Slots<'a> {
    Whole(&'a mut [i64]),
    Float(&'a mut [f64]),
    Bool(&'a mut [bool]),
    Text(TextRoom<'a>),
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
            let texts = parts.iter().map(|part| part.ends.len()).sum();
            Data::Text(Texts::new(rows, texts, parts.iter().map(|part| part.bytes.len()).sum()))
        }
    };
    let mut states_left = &mut states[..];
    let mut left = match &mut data {
        Data::Int(values) | Data::Time(values) => Slots::Whole(values),
        Data::Float(values) => Slots::Float(values),
        Data::Bool(values) => Slots::Bool(values),
        Data::Text(texts) => Slots::Text(texts.room()),
    };
    // Text 0 is that of rows without one.
    let (mut first, mut bytes) = (1, 0);
    let mut work = Vec::with_capacity(parts.len());
    for part in parts {
        let (states, behind) = std::mem::take(&mut states_left).split_at_mut(part.rows());
        states_left = behind;
        let (values, behind) = left.split(&part);
        left = behind;
        let (texts, len) = (part.ends.len() as u64, part.bytes.len() as u64);
        work.push((part, Room { states, values, first, bytes }));
        (first, bytes) = (first + texts, bytes + len);
    }
    pool::map(work, |(part, room)| part.values(kind, room));
    ColumnValues { states, data }
}

impl<'a> Slots<'a> {
    /// Splits off the slots of the first part.
    fn split(self, part: &Raw) -> (Self, Self) {
        let rows = part.rows();
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
            Self::Text(texts) => {
                let (these, behind) = texts.split(rows, part.ends.len(), part.bytes.len());
                (Self::Text(these), Self::Text(behind))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::super::Cell;
    use super::*;

    /// The rows of strings that are given as JSON, each decoded by itself.
    fn decoded(strings: &[String]) -> Vec<Option<Vec<u8>>> {
        let text = |string: &String| {
            let mut text = Vec::new();
            json::say(column::Kind::Utf8, string.as_bytes(), &mut text).then_some(text)
        };
        strings.iter().map(text).collect()
    }

    /// The rows of a column of several parts.
    fn pushed(strings: &[String], part: usize) -> Vec<Option<Vec<u8>>> {
        let parts = strings.chunks(part).map(|strings| {
            let mut raw = Raw::new(Some(Kind::Text));
            strings.iter().for_each(|string| raw.push_json(string.as_bytes()));
            raw.closed()
        });
        let values = finish(parts.collect(), Some(Kind::Text), Kind::Text);
        let Data::Text(texts) = &values.data else { panic!("a column of another kind") };
        let row = |(row, state): (usize, &State)| (*state == State::Value).then(|| texts.get(row).to_vec());
        values.states.iter().enumerate().map(row).collect()
    }

    #[test]
    fn strings_that_were_seen_lately_have_their_own_text() {
        let strings = [
            r#""a\\b""#,
            r#""a\b""#,
            r#""a\\b""#,
            r#""""#,
            r#""a\u0062""#,
            r#""ab""#,
            r#""\x""#,
            r#""\x""#,
            r#""ab""#,
            "\"\u{e9}\"",
            r#""\u00e9""#,
            r#""\ud800""#,
            r#""\ufffd""#,
            r#"" a""#,
            r#""a ""#,
            r#""""#,
        ];
        let strings = strings.map(str::to_owned);
        for part in 1..=strings.len() {
            assert_eq!(pushed(&strings, part), decoded(&strings), "parts of {part}");
        }
    }

    /// Strings of which some come often: with equal lengths, equal ends, and beyond the memory for keys.
    #[test]
    fn any_strings_have_their_texts() {
        let mut rng = Rng::new(7);
        let mut strings = Vec::new();
        for _ in 0..20_000 {
            let many = [4, 5_000][rng.below(2)];
            let number = rng.below(many);
            strings.push(match rng.below(4) {
                0 => format!("\"{number}\""),
                1 => format!("\"equal ends {number} equal ends\""),
                2 => format!("\"\\n{number}\\u00e9\""),
                _ => format!("\"{}{number}\"", "long ".repeat(rng.below(40))),
            });
        }
        strings.insert(9, format!("\"{}\"", "x".repeat(100_000)));
        strings.insert(11, strings[9].clone());
        assert_eq!(pushed(&strings, 7_000), decoded(&strings));
    }

    /// A few texts take no more memory than their numbers.
    #[test]
    fn equal_strings_are_kept_once() {
        let mut raw = Raw::new(None);
        for row in 0..10_000 {
            raw.push_json(if row % 3 == 0 { br#""create""# } else { br#""d\u00e9lete""# });
        }
        raw.push(Cell::Text("create"));
        assert_eq!((raw.rows(), raw.ends.len(), raw.bytes.len()), (10_001, 3, 6 + 7 + 6));
    }
}
