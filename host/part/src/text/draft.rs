//! One attempt to make a group: values of lines, appended to the nodes of the tree.

use foldhash::HashMap;
use warpath_core::number::float64;

use super::known::{Known, Next, PositionIx, StateIx, Stop};
use super::levels::{Filled, Odd};
use super::names::Kind;
use super::scan;
use super::sections::{ArrayStyle, Frame, LineKind, MOST_STEPS};
use super::style::Style;
use crate::group::{Layout, NodeIx, Strings, Values};

/// Shapes of one object node in a group, from which on the object is used as a map.
const MOST_SHAPES: usize = 1024;
/// The same for the record itself.
const MOST_ROOT_SHAPES: usize = 1 << 17;
/// Ways to begin and end lines. Lines with further ones are kept whole.
const MOST_FRAMES: usize = 1 << 12;
/// The same of arrays.
const MOST_ARRAYS: usize = 1 << 12;
/// Integers up to this one are doubles, too.
const MOST_EXACT: u64 = 1 << 53;
/// The byte order mark. RFC 8259 lets readers ignore it at the start of a text.
const MARK: &[u8] = b"\xef\xbb\xbf";

/// A table of equal things, numbered in the order in which they first occurred.
#[derive(Debug)]
pub(super) struct Table<T> {
    pub(super) all: Vec<T>,
    numbers: HashMap<T, u32>,
}

impl<T: Clone + Eq + std::hash::Hash> Table<T> {
    fn new() -> Self {
        Self { all: Vec::new(), numbers: HashMap::default() }
    }

    /// The number of a thing; `None` if the table is full.
    fn number(&mut self, thing: T, limit: usize) -> Option<u32> {
        if let Some(number) = self.numbers.get(&thing) {
            return Some(*number);
        }
        let number = self.all.len() as u32;
        (self.all.len() < limit).then(|| {
            self.all.push(thing.clone());
            self.numbers.insert(thing, number);
            number
        })
    }
}

/// A group that is made.
#[derive(Debug)]
pub(super) struct Draft {
    /// The occurrences of each node.
    pub(super) filled: Vec<Filled>,
    /// The nodes that have got an occurrence from the current row, in order.
    log: Vec<NodeIx>,
    /// The number of the attempt.
    attempt: u32,
    /// The style of the current row.
    style: Style,
    /// The styles of the last row without bytes above 0x7f, and of the last row with such bytes.
    last: [Style; 2],
    /// Inferences that gave another style, and those that gave the same.
    inferences: [u32; 2],
    /// Strings of the current row that are not as their style prints them.
    deviations: usize,
    /// True if the current row has escapes or bytes above 0x7f, which styles spell in several ways.
    telling: bool,
    /// Steps of all shapes.
    steps: usize,
    /// The row that is read.
    pub(super) rows: u32,
    /// The style of each row.
    pub(super) styles: Vec<u32>,
    /// The frame of each row.
    pub(super) ends: Vec<u32>,
    pub(super) frames: Table<Frame<Vec<u8>>>,
    pub(super) arrays: Table<ArrayStyle<Vec<u8>>>,
}

/// The node of whole lines.
const RAW: NodeIx = 1;

impl Draft {
    pub(super) fn new(attempt: u32) -> Self {
        let mut arrays = Table::new();
        let usual = |bytes: &[u8]| bytes.to_vec();
        let style =
            ArrayStyle { open: usual(b"["), comma: usual(b","), close: usual(b"]"), empty: usual(b"[]") };
        arrays.number(style, MOST_ARRAYS);
        Self {
            filled: Vec::new(),
            log: Vec::new(),
            attempt,
            style: Style::default(),
            last: [Style::default(); 2],
            inferences: [0; 2],
            deviations: 0,
            telling: false,
            steps: 0,
            rows: 0,
            styles: Vec::new(),
            ends: Vec::new(),
            frames: Table::new(),
            arrays,
        }
    }

    /// Makes room for the nodes of the tree.
    pub(super) fn fit(&mut self, known: &Known) {
        for node in &known.tree.nodes[self.filled.len()..] {
            let values = match node.layout {
                Layout::Boolean => Values::Boolean(Vec::new()),
                Layout::Double => Values::Double(Vec::new()),
                Layout::String | Layout::Json | Layout::Bytes => Values::Bytes(Strings::default()),
                Layout::Struct | Layout::List | Layout::Int => Values::Int(Vec::new()),
            };
            self.filled.push(Filled { values, ..Filled::default() });
        }
    }

    /// The number of a frame.
    #[inline]
    fn frame(&mut self, kind: LineKind, before: &[u8], after: &[u8], limit: usize) -> Option<u32> {
        let last = self.ends.last().copied().unwrap_or_default();
        let same =
            |frame: &&Frame<Vec<u8>>| frame.kind == kind && frame.before == before && frame.after == after;
        if self.frames.all.get(last as usize).filter(same).is_some() {
            return Some(last);
        }
        self.frames.number(Frame { kind, before: before.to_vec(), after: after.to_vec() }, limit)
    }

    /// Returns false for most rows if inferences have seldom given another style.
    fn is_inference_worth_it(&self) -> bool {
        let [other, same] = self.inferences;
        same < 16 + 4 * other || self.rows.is_multiple_of(32)
    }

    /// Drops the occurrences of the current row after the first `mark`.
    fn undo(&mut self, mark: usize) {
        for node in self.log.drain(mark..).rev() {
            let filled = &mut self.filled[node as usize];
            filled.truncate(filled.at.len() - 1);
        }
    }
}

/// Reads the rows of one attempt.
pub(super) struct Reader<'a> {
    pub(super) known: &'a mut Known,
    pub(super) draft: &'a mut Draft,
}

impl Reader<'_> {
    /// Adds the line that begins at `begin` and ends where the text ends, a line feed included. `keep` is
    /// true for a line that must be kept whole.
    pub(super) fn line(&mut self, text: &[u8], begin: usize, keep: bool) {
        self.draft.log.clear();
        let end = text.len() - usize::from(text.ends_with(b"\n"));
        let mark = if begin == 0 && text.starts_with(MARK) { MARK.len() } else { 0 };
        let first = scan::space(&text[..end], begin + mark);
        let row = self.draft.rows as usize;
        let frame = if keep {
            None
        } else if first == end {
            self.draft.frame(LineKind::Blank, &text[begin..], &[], MOST_FRAMES)
        } else {
            let after = self.record(&text[..end], first);
            after.and_then(|after| {
                self.draft.frame(LineKind::Record, &text[begin..first], &text[after..], MOST_FRAMES)
            })
        };
        let frame = frame.unwrap_or_else(|| {
            self.draft.undo(0);
            self.draft.filled[0].truncate(row);
            let raw = &mut self.draft.filled[RAW as usize];
            raw.at.push(row as u32);
            push(&mut raw.values, &text[begin..end]);
            // Two more frames do no harm.
            self.draft.frame(LineKind::Raw, &[], &text[end..], usize::MAX).unwrap_or_default()
        });
        let root = &mut self.draft.filled[0].ids;
        root.resize(row + 1, root.last().copied().unwrap_or_default());
        self.draft.ends.push(frame);
        self.draft.styles.push(u32::from(self.draft.style.0));
        self.draft.rows += 1;
    }

    /// Reads the record that begins at an offset. Returns the offset after it; `None` for a line that is not
    /// one object.
    fn record(&mut self, line: &[u8], begin: usize) -> Option<usize> {
        if line.get(begin) != Some(&b'{') {
            return None;
        }
        let ascii = usize::from(!line[begin..].is_ascii());
        self.draft.style = self.draft.last[ascii];
        (self.draft.deviations, self.draft.telling) = (0, false);
        let mut after = self.members(line, begin, 0, 0, self.draft.rows, 0).ok()?;
        if self.draft.deviations > 0 && self.draft.is_inference_worth_it() {
            let style = self.draft.style.infer(&line[begin..]);
            let same = style == self.draft.style;
            self.draft.inferences[usize::from(same)] += 1;
            if !same {
                self.draft.style = style;
                self.draft.last[ascii] = style;
                self.draft.undo(0);
                self.draft.filled[0].truncate(self.draft.rows as usize);
                after = self.members(line, begin, 0, 0, self.draft.rows, 0).ok()?;
            }
        }
        let before = self.draft.styles.last().map_or(self.draft.style, |style| Style(*style as u8));
        if !self.draft.telling && before.is_alike_without_escapes(self.draft.style) {
            // Equal numbers take no space.
            self.draft.style = before;
        }
        (scan::space(line, after) == line.len()).then_some(after)
    }

    /// Reads a value at a position, in an occurrence of the object or an element of the list around.
    fn value(
        &mut self,
        line: &[u8],
        at: usize,
        p: PositionIx,
        above: u32,
        depth: usize,
    ) -> Result<usize, Stop> {
        let first = *line.get(at).ok_or(Stop::Malformed)?;
        if first == b'n' {
            return scan::literal(line, at, b"null").ok_or(Stop::Malformed);
        }
        if self.known.positions[p as usize].hints.json {
            return self.json(line, at, p, above, depth);
        }
        let mark = self.draft.log.len();
        let end = match first {
            b'"' => self.string(line, at, p, above),
            b'{' => {
                let node = self.enter(p, Kind::Object, above);
                node.and_then(|node| {
                    let occurrence = self.draft.filled[node as usize].at.len() as u32 - 1;
                    self.members(line, at, p, node, occurrence, depth + 1)
                })
            }
            b'[' => self.list(line, at, p, above, depth + 1),
            b't' | b'f' => self.boolean(line, at, p, above),
            _ => self.number(line, at, p, above),
        };
        match end {
            Err(Stop::NoRoom) => {
                self.draft.undo(mark);
                self.json(line, at, p, above, depth)
            }
            end => end,
        }
    }

    /// Adds an occurrence of a kind at a position. Returns its node.
    #[inline]
    fn enter(&mut self, p: PositionIx, kind: Kind, mut above: u32) -> Result<NodeIx, Stop> {
        let mut node = self.known.positions[p as usize].nodes[kind as usize];
        if node == 0 {
            node = self.known.new_node(p, kind)?;
            self.draft.fit(self.known);
        }
        let mixed = self.known.positions[p as usize].mixed;
        if mixed != 0 {
            let element = &mut self.draft.filled[mixed as usize];
            let occurrence = element.at.len() as u32;
            element.at.push(above);
            self.draft.log.push(mixed);
            above = occurrence;
        }
        self.draft.filled[node as usize].at.push(above);
        self.draft.log.push(node);
        Ok(node)
    }

    fn string(&mut self, line: &[u8], at: usize, p: PositionIx, above: u32) -> Result<usize, Stop> {
        let scanned = scan::string(line, at + 1).ok_or(Stop::Malformed)?;
        let node = self.enter(p, Kind::String, above)?;
        let filled = &mut self.draft.filled[node as usize];
        let inside = &line[at + 1..scanned.end];
        let Values::Bytes(strings) = &mut filled.values else { return Err(Stop::NoRoom) };
        let style = self.draft.style;
        self.draft.telling |= scanned.escapes | scanned.high;
        let kept = if scanned.escapes {
            style.unescape(inside, scanned, &mut strings.bytes).ok_or(Stop::Malformed)?
        } else {
            strings.bytes.extend_from_slice(inside);
            style.keeps(inside, scanned)
        };
        strings.ends.push(strings.bytes.len() as u32);
        if !kept {
            self.draft.deviations += 1;
            let occurrence = filled.at.len() as u32 - 1;
            let (begin, end) = (at as u32, scanned.end as u32 + 1);
            filled.odd.push(Odd { occurrence, begin, end, style });
        }
        Ok(scanned.end + 1)
    }

    fn boolean(&mut self, line: &[u8], at: usize, p: PositionIx, above: u32) -> Result<usize, Stop> {
        let value = line[at] == b't';
        let literal: &[u8] = if value { b"true" } else { b"false" };
        let end = scan::literal(line, at, literal).ok_or(Stop::Malformed)?;
        let node = self.enter(p, Kind::Bool, above)?;
        if let Values::Boolean(values) = &mut self.draft.filled[node as usize].values {
            values.push(value);
        }
        Ok(end)
    }

    fn number(&mut self, line: &[u8], at: usize, p: PositionIx, above: u32) -> Result<usize, Stop> {
        let number = scan::number(line, at).ok_or(Stop::Malformed)?;
        let text = &line[at..number.end];
        let whole = match number.short {
            Some(value) => Some(value),
            None if number.whole => std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()),
            None => None,
        };
        let position = &mut self.known.positions[p as usize];
        let [ints, doubles] = [Kind::Int, Kind::Double].map(|kind| position.nodes[kind as usize]);
        let planned = position.planned[Kind::Int as usize] != 0;
        let among_doubles = position.hints.double || doubles != 0 && ints == 0 && !planned;
        match whole {
            Some(value) if !(among_doubles && value.unsigned_abs() <= MOST_EXACT) => {
                let node = self.enter(p, Kind::Int, above)?;
                let filled = &mut self.draft.filled[node as usize];
                if let Values::Int(values) = &mut filled.values {
                    values.push(value);
                }
                if text == b"-0" {
                    let occurrence = filled.at.len() as u32 - 1;
                    let (begin, end) = (at as u32, number.end as u32);
                    filled.odd.push(Odd { occurrence, begin, end, style: self.draft.style });
                }
                Ok(number.end)
            }
            _ => {
                if ints >= self.known.base && ints != 0 && !planned && !position.hints.double {
                    position.hints.double = true;
                    self.known.learnt = true;
                }
                // A number beyond the range stays text.
                let value = float64(text).map_err(|_| Stop::NoRoom)?;
                let node = self.enter(p, Kind::Double, above)?;
                let filled = &mut self.draft.filled[node as usize];
                if let Values::Double(values) = &mut filled.values {
                    values.push(value);
                }
                filled.texts.push((at as u32, number.end as u32));
                Ok(number.end)
            }
        }
    }

    /// Reads a value as the text of a value that is not split.
    fn json(
        &mut self,
        line: &[u8],
        at: usize,
        p: PositionIx,
        above: u32,
        depth: usize,
    ) -> Result<usize, Stop> {
        let end = scan::value(line, at, depth + 1).ok_or(Stop::Malformed)?;
        let node = self.enter(p, Kind::Json, above)?;
        push(&mut self.draft.filled[node as usize].values, &line[at..end]);
        Ok(end)
    }

    /// Reads an object: its members from the literal at `at`, which begins with the bracket.
    fn members(
        &mut self,
        line: &[u8],
        mut at: usize,
        p: PositionIx,
        node: NodeIx,
        occurrence: u32,
        depth: usize,
    ) -> Result<usize, Stop> {
        let mut state = self.known.first_state(p);
        loop {
            let mut next = self.known.states[state as usize].last;
            if next == 0 || !self.known.is_at(next, line, at) {
                next = self.known.step(p, state, line, at)?;
            }
            let step = &self.known.states[next as usize];
            at += step.len();
            match step.next {
                Next::Member(member) => at = self.value(line, at, member, occurrence, depth)?,
                Next::Close => {
                    let shape = self.shape(p, next)?;
                    self.draft.filled[node as usize].ids.push(shape);
                    return Ok(at);
                }
                Next::Repeat => {
                    let end = scan::value(line, at, depth + 1).ok_or(Stop::Malformed)?;
                    let style = self.draft.style;
                    let odd = Odd { occurrence, begin: at as u32, end: end as u32, style };
                    self.draft.filled[node as usize].odd.push(odd);
                    at = end;
                }
            }
            state = next;
        }
    }

    /// The number of the shape that ends with a state.
    #[inline]
    fn shape(&mut self, p: PositionIx, last: StateIx) -> Result<u32, Stop> {
        let (attempt, shape) = self.known.states[last as usize].shape;
        if attempt == self.draft.attempt {
            return Ok(shape);
        }
        let limit = if p == 0 { MOST_ROOT_SHAPES } else { MOST_SHAPES };
        let shape = self.known.positions[p as usize].shapes.len();
        let state = &mut self.known.states[last as usize];
        self.draft.steps += state.steps as usize;
        if shape >= limit || self.draft.steps > MOST_STEPS / 2 {
            self.known.too_many(p);
            return Err(Stop::NoRoom);
        }
        state.shape = (self.draft.attempt, shape as u32);
        self.known.positions[p as usize].shapes.push(last);
        Ok(shape as u32)
    }

    fn list(
        &mut self,
        line: &[u8],
        at: usize,
        p: PositionIx,
        above: u32,
        depth: usize,
    ) -> Result<usize, Stop> {
        let node = self.enter(p, Kind::List, above)?;
        self.draft.filled[node as usize].lengths.push(0);
        let mut next = scan::space(line, at + 1);
        let empty = line.get(next) == Some(&b']');
        if empty {
            let style = self.array(p, &[&line[at..=next]])?;
            self.draft.filled[node as usize].ids.push(style);
            return Ok(next + 1);
        }
        let element = self.known.element(p)?;
        let open = &line[at..next];
        let mut comma: Option<&[u8]> = None;
        loop {
            let filled = &mut self.draft.filled[node as usize];
            let slot = filled.elements;
            filled.elements += 1;
            *filled.lengths.last_mut().ok_or(Stop::NoRoom)? += 1;
            let end = self.value(line, next, element, slot, depth)?;
            let mark = scan::space(line, end);
            match line.get(mark).ok_or(Stop::Malformed)? {
                b',' => {
                    next = scan::space(line, mark + 1);
                    let between = &line[end..next];
                    if *comma.get_or_insert(between) != between {
                        return Err(Stop::NoRoom);
                    }
                }
                b']' => {
                    let close = &line[end..=mark];
                    let style = match comma {
                        Some(comma) => self.array(p, &[open, comma, close])?,
                        None => self.array(p, &[open, close])?,
                    };
                    self.draft.filled[node as usize].ids.push(style);
                    return Ok(mark + 1);
                }
                _ => return Err(Stop::Malformed),
            }
        }
    }

    /// The number of the style of an array at a position, by its literals: one of an empty array, two of an
    /// array with one element. What the array does not say is as in the array before it.
    #[inline]
    fn array(&mut self, p: PositionIx, literals: &[&[u8]]) -> Result<u32, Stop> {
        let number = self.known.positions[p as usize].array;
        let style = &self.draft.arrays.all[number as usize];
        let same = match literals {
            [empty] => style.empty == *empty,
            [open, close] => style.open == *open && style.close == *close,
            [open, comma, close] => style.open == *open && style.comma == *comma && style.close == *close,
            _ => false,
        };
        if same {
            return Ok(number);
        }
        let mut style = style.clone();
        match literals {
            [empty] => style.empty = empty.to_vec(),
            [open, close] => (style.open, style.close) = (open.to_vec(), close.to_vec()),
            [open, comma, close] => {
                style = ArrayStyle {
                    open: open.to_vec(),
                    comma: comma.to_vec(),
                    close: close.to_vec(),
                    empty: style.empty,
                };
            }
            _ => {}
        }
        let number = self.draft.arrays.number(style, MOST_ARRAYS).ok_or(Stop::NoRoom)?;
        self.known.positions[p as usize].array = number;
        Ok(number)
    }
}

/// Appends a string of bytes.
fn push(values: &mut Values, bytes: &[u8]) {
    if let Values::Bytes(strings) = values {
        strings.bytes.extend_from_slice(bytes);
        strings.ends.push(strings.bytes.len() as u32);
    }
}
