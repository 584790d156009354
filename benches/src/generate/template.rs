//! The state of a template while it writes records, and the functions that templates call. `build.rs`
//! compiles the templates, and its documentation defines their language.

use super::random::{Random, mix};
use super::text::{Moment, Put};

/// The key that separates random orders from a shape's other random numbers. Part of the data's definition.
const ORDER_KEY: u64 = 1 << 32;

/// The most variables of `start`.
const MOST_GLOBALS: usize = 32;

/// A value of a template.
#[derive(Clone, Copy, Debug)]
pub(super) enum Value {
    Nothing,
    Number(u64),
    Text(&'static str),
    /// A captured text: its begin and end in [`Run::kept`].
    Captured(usize, usize),
    /// A list of the template.
    Table(&'static [Value]),
    /// A list that a part has made: its position in [`Run::lists`].
    Made(usize),
    /// A part that can be called, and its name.
    Part(fn(&mut Run, Value) -> Value, &'static str),
}

use Value::{Captured, Made, Nothing, Number, Part, Table, Text};

impl Value {
    #[inline(always)]
    pub(super) fn number(self) -> u64 {
        if let Number(number) = self { number } else { self.parsed() }
    }

    /// The number of a text.
    #[cold]
    fn parsed(self) -> u64 {
        self.text().parse::<i64>().expect("the text is a number").cast_unsigned()
    }

    /// The text, or the name of a part.
    pub(super) fn text(self) -> &'static str {
        match self {
            Text(text) | Part(_, text) => text,
            other => panic!("{other:?} is not a text"),
        }
    }

    #[inline]
    pub(super) fn table(self) -> &'static [Value] {
        match self {
            Table(values) => values,
            other => panic!("{other:?} is not a table"),
        }
    }

    /// Returns true for what a condition takes as true.
    #[inline]
    pub(super) fn holds(self) -> bool {
        match self {
            Number(number) => number != 0,
            Text(text) => !text.is_empty(),
            other => !matches!(other, Nothing),
        }
    }
}

#[inline]
fn truth(holds: bool) -> Value {
    Number(holds.into())
}

#[inline]
fn group(value: Value) -> Value {
    value
}

#[inline]
fn equal(one: Value, other: Value) -> Value {
    truth(match (one, other) {
        (Text(one), Text(other)) => one == other,
        (one, other) => one.number() == other.number(),
    })
}

#[inline]
fn differ(one: Value, other: Value) -> Value {
    truth(!equal(one, other).holds())
}

macro_rules! operators {
    ($($name:ident $function:expr;)+) => {
        $(
            #[inline]
            fn $name(one: Value, other: Value) -> Value {
                let function: fn(u64, u64) -> u64 = $function;
                Number(function(one.number(), other.number()))
            }
        )+
    };
}

operators! {
    at_most |a, b| (a <= b).into();
    at_least |a, b| (a >= b).into();
    less |a, b| (a < b).into();
    greater |a, b| (a > b).into();
    bits_or |a, b| a | b;
    bits_and |a, b| a & b;
    shift_left |a, b| a.wrapping_shl(b as u32);
    shift_right |a, b| a.wrapping_shr(b as u32);
    sum u64::wrapping_add;
    difference u64::wrapping_sub;
    product u64::wrapping_mul;
    quotient |a, b| a / b;
    remainder |a, b| a % b;
}

/// The characters and the bytes that JSON text represents.
fn unescaped(json: Value) -> (u64, u64) {
    let json = match json {
        Number(number) => {
            let digits = number.checked_ilog10().unwrap_or(0) + 1;
            return (digits.into(), digits.into());
        }
        other => other.text(),
    };
    if !json.contains('\\') {
        return (json.chars().count() as u64, json.len() as u64);
    }
    let (mut chars, mut bytes, mut rest) = (0, 0, json.chars());
    while let Some(char) = rest.next() {
        let mut bytes_of_char = char.len_utf8() as u64;
        if char == '\\' && rest.next() == Some('u') {
            let unit =
                rest.by_ref().take(4).fold(0, |unit, digit| unit << 4 | digit.to_digit(16).unwrap_or(0));
            // A surrogate pair is one character of four bytes.
            let half = (0xd800..0xe000).contains(&unit);
            bytes_of_char = if half { 2 } else { char::from_u32(unit).map_or(0, char::len_utf8) as u64 };
            chars -= u64::from((0xdc00..0xe000).contains(&unit));
        }
        chars += 1;
        bytes += bytes_of_char;
    }
    (chars, bytes)
}

/// The code of a part without parameters.
type Code = fn(&mut Run) -> Value;

/// A compiled template.
#[derive(Debug)]
pub(super) struct Template {
    start: Code,
    record: Code,
    /// The names of variables that all parts know.
    globals: &'static [&'static str],
    tables: &'static [(&'static str, &'static [Value])],
    /// Parts without parameters.
    parts: &'static [(&'static str, Code)],
}

impl Template {
    /// A table of the template.
    pub(super) fn table(&self, name: &str) -> &'static [Value] {
        self.tables.iter().find(|(known, _)| *known == name).expect("the template has the table").1
    }
}

/// The state of a template from one record to the next.
#[derive(Clone, Debug)]
pub(super) struct Run {
    template: &'static Template,
    random: Random,
    orders: Random,
    globals: [Value; MOST_GLOBALS],
    /// The output, while a record is written.
    out: Vec<u8>,
    /// The first byte of the record in the output.
    begin: usize,
    /// Captured texts.
    kept: Vec<u8>,
    /// Room for lists; the first `made` of them are in use.
    lists: Vec<Vec<Value>>,
    made: usize,
    ascii: bool,
}

impl Run {
    /// The beginning of a block. Its number, and what is `given`, are the first variables of the template.
    pub(super) fn new(template: &'static Template, key: u64, seed: u64, block: u64, given: [u64; 3]) -> Self {
        let mut globals = [Nothing; MOST_GLOBALS];
        for (value, given) in globals.iter_mut().zip([block].into_iter().chain(given)) {
            *value = Number(given);
        }
        let mut run = Self {
            template,
            random: Random::new(key, seed, block),
            orders: Random::new(key | ORDER_KEY, seed, block),
            globals,
            out: Vec::new(),
            begin: 0,
            kept: Vec::new(),
            lists: Vec::new(),
            made: 0,
            ascii: false,
        };
        (template.start)(&mut run);
        run
    }

    /// The random numbers of the template.
    pub(super) fn random(&mut self) -> &mut Random {
        &mut self.random
    }

    /// Appends the next record to `out`.
    pub(super) fn record(&mut self, out: &mut Vec<u8>) {
        self.begin = out.len();
        self.kept.clear();
        self.made = 0;
        std::mem::swap(&mut self.out, out);
        (self.template.record)(self);
        std::mem::swap(&mut self.out, out);
    }

    /// The value of a part without parameters. What the part writes is lost.
    pub(super) fn value_of(&mut self, part: &str) -> Value {
        self.made = 0;
        let parts = self.template.parts.iter();
        let (_, part) = parts.clone().find(|(known, _)| *known == part).expect("the template has the part");
        let value = part(self);
        self.out.clear();
        value
    }

    /// The value of a variable of `start`.
    pub(super) fn variable(&self, name: &str) -> Value {
        let at = self.template.globals.iter().position(|known| *known == name);
        self.globals[at.expect("the template has the variable")]
    }
}

/// The functions that the code of tags calls.
impl Run {
    /// Appends a text that is all ASCII.
    #[inline]
    fn plain(&mut self, text: &'static str) {
        self.out.put(text);
    }

    #[inline]
    fn text(&mut self, text: &'static str) {
        if self.ascii {
            self.out.put_text(text, true);
        } else {
            self.out.put(text);
        }
    }

    #[inline(always)]
    fn write(&mut self, value: Value) {
        match value {
            Nothing => {}
            Number(number) => self.out.put_number(number),
            Text(text) | Part(_, text) => self.text(text),
            Captured(begin, end) => self.out.extend_from_slice(&self.kept[begin..end]),
            Table(_) | Made(_) => panic!("a list has no text"),
        }
    }

    fn written(&self) -> usize {
        self.out.len()
    }

    /// Takes the text from `begin` out of the output.
    fn captured(&mut self, begin: usize) -> Value {
        let start = self.kept.len();
        self.kept.extend_from_slice(&self.out[begin..]);
        self.out.truncate(begin);
        Captured(start, self.kept.len())
    }

    /// A list of the part's own.
    fn made(&mut self, values: &[Value]) -> Value {
        if self.made == self.lists.len() {
            self.lists.push(Vec::new());
        }
        let list = &mut self.lists[self.made];
        list.clear();
        list.extend_from_slice(values);
        self.made += 1;
        Made(self.made - 1)
    }

    /// The number of turns of a loop.
    #[inline]
    fn elements(&self, of: Value) -> usize {
        match of {
            Number(count) => count as usize,
            Made(at) => self.lists[at].len(),
            other => other.table().len(),
        }
    }

    /// The value of a loop's variable.
    #[inline]
    fn element(&self, of: Value, at: usize) -> Value {
        match of {
            Number(_) => Number(at as u64),
            Made(list) => self.lists[list][at],
            other => other.table()[at],
        }
    }

    #[inline]
    fn item(&self, list: Value, at: Value) -> Value {
        self.element(list, at.number() as usize)
    }

    #[inline]
    fn apply(&mut self, part: Value, argument: Value) -> Value {
        let Part(part, _) = part else { panic!("{part:?} is not a part") };
        part(self, argument)
    }
}

/// Functions with a value.
impl Run {
    fn bits(&mut self) -> Value {
        Number(self.random.bits())
    }

    fn below(&mut self, bound: Value) -> Value {
        Number(self.random.below(bound.number() as u32).into())
    }

    fn between(&mut self, low: Value, high: Value) -> Value {
        Number(self.random.between(low.number() as u32, high.number() as u32).into())
    }

    fn chance(&mut self, per_mille: Value) -> Value {
        truth(self.random.chance(per_mille.number() as u32))
    }

    fn count(&mut self, digits: Value) -> Value {
        Number(self.random.count(digits.number() as u32))
    }

    fn pick(&mut self, table: Value) -> Value {
        self.random.pick(table.table())
    }

    fn skewed(&mut self, table: Value) -> Value {
        self.random.skewed(table.table())
    }

    /// One of some rows, as often as the weights in a column say.
    pub(super) fn weighted(&mut self, rows: Value, column: Value) -> Value {
        let (rows, column) = (rows.table(), column.number() as usize);
        let weight = |row: &Value| row.table()[column].number() as u32;
        let mut rest = self.random.below(rows.iter().map(weight).sum());
        let mut rows = rows.iter();
        loop {
            let row = rows.next().expect("the drawn number is less than the sum of the weights");
            match rest.checked_sub(weight(row)) {
                Some(less) => rest = less,
                None => return *row,
            }
        }
    }

    /// The values of a table in a random order, which is drawn from a stream of its own.
    fn shuffled(&mut self, table: Value) -> Value {
        let list = self.made(table.table());
        for at in (1..table.table().len()).rev() {
            let other = self.orders.below(at as u32 + 1) as usize;
            self.lists[self.made - 1].swap(at, other);
        }
        list
    }

    fn reversed(&mut self, table: Value) -> Value {
        let list = self.made(table.table());
        self.lists[self.made - 1].reverse();
        list
    }

    fn len(&self, list: Value) -> Value {
        Number(self.elements(list) as u64)
    }

    fn push(&mut self, list: Value, value: Value) -> Value {
        let Made(list) = list else { panic!("{list:?} is not a list of the part's own") };
        self.lists[list].push(value);
        Nothing
    }

    fn contains(&self, list: Value, value: Value) -> Value {
        truth((0..self.elements(list)).any(|at| equal(self.element(list, at), value).holds()))
    }

    fn mix(&self, number: Value) -> Value {
        Number(mix(number.number()))
    }

    fn min(&self, one: Value, other: Value) -> Value {
        Number(one.number().min(other.number()))
    }

    /// The characters that a JSON text represents.
    fn chars(&self, json: Value) -> Value {
        Number(unescaped(json).0)
    }

    /// The bytes that a JSON text represents.
    fn bytes(&self, json: Value) -> Value {
        Number(unescaped(json).1)
    }

    /// The characters of a JSON text itself.
    fn length(&self, json: Value) -> Value {
        match json {
            Text(text) => Number(text.chars().count() as u64),
            number => self.chars(number),
        }
    }

    /// The bytes of a captured text.
    fn size(&self, captured: Value) -> Value {
        let Captured(begin, end) = captured else { panic!("{captured:?} is not captured") };
        Number((end - begin) as u64)
    }

    /// The first bytes of a captured text.
    fn prefix(&self, captured: Value, bytes: Value) -> Value {
        let Captured(begin, _) = captured else { panic!("{captured:?} is not captured") };
        Captured(begin, begin + bytes.number() as usize)
    }

    /// The bytes of the record so far.
    fn here(&self) -> Value {
        Number((self.out.len() - self.begin) as u64)
    }
}

macro_rules! writers {
    ($($name:ident ($self:ident $(, $argument:ident)+) $write:expr;)+) => {
        /// Functions that write, and have no value.
        impl Run {
            $(
                fn $name(&mut $self $(, $argument: Value)+) -> Value {
                    $(let $argument = $argument.number();)+
                    $write;
                    Nothing
                }
            )+
        }
    };
}

writers! {
    // From here on, characters beyond ASCII are written as `\uXXXX` unless the number is 0.
    escape(self, yes) self.ascii = yes != 0;
    digits(self, number, digits) self.out.put_digits(number, digits as usize);
    money(self, hundredths) self.out.put_money(hundredths);
    degrees(self, millionths) self.out.put_degrees(millionths.cast_signed());
    bool(self, holds) self.out.put(if holds != 0 { "true" } else { "false" });
    code(self, bits, length) self.out.put_code(bits, length as u32);
    hex(self, bits, digits) self.out.put_hex(bits, digits as u32);
    base32(self, bits, length) self.out.put_base32(bits, length as u32);
    sortable(self, bits) self.out.put_sortable(bits);
    char(self, ascii) self.out.push(ascii as u8);
    fill(self, bytes) self.out.resize(self.out.len() + bytes as usize, b'.');
    day(self, seconds) Moment::from_unix(seconds).put_date(&mut self.out);
    second(self, seconds) Moment::from_unix(seconds).put_second(&mut self.out);
    long_date(self, seconds) Moment::from_unix(seconds).put_long(&mut self.out);
    polyline(self, low, high) {
        let length = self.random.between(low as u32, high as u32);
        self.out.put_polyline(&mut self.random, length.into());
    };
}

impl Run {
    /// Words with spaces between them, of a number of bytes as far as the last word allows.
    fn words(&mut self, words: Value, low: Value, high: Value) -> Value {
        let end = self.out.len() + self.between(low, high).number() as usize;
        loop {
            let word = self.pick(words);
            self.write(word);
            if self.out.len() >= end {
                return Nothing;
            }
            self.out.push(b' ');
        }
    }
}

include!(concat!(env!("OUT_DIR"), "/templates.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_count_as_what_they_represent() {
        let of_tweets =
            ["specials", "emoji", "names", "locations", "sources"].map(|name| TWITTER.table(name));
        let of_posts = ["specials", "abouts", "names", "titles"].map(|name| BLUESKY.table(name));
        for json in of_tweets.into_iter().chain(of_posts).flatten() {
            let text: String = serde_json::from_str(&format!("\"{}\"", json.text())).unwrap();
            assert_eq!(unescaped(*json), (text.chars().count() as u64, text.len() as u64), "{json:?}");
        }
    }

    #[test]
    fn languages_have_shares_and_words_without_escapes() {
        let languages = || TWITTER.table("languages").iter().map(|row| row.table());
        assert_eq!(languages().map(|row| row[1].number()).sum::<u64>(), 1000);
        for word in languages().flat_map(|row| row[3].table()).chain(TWITTER.table("emoji")) {
            if let Text(word) = word {
                assert!(!word.contains(['\\', '"', '/']) && !word.chars().any(char::is_control), "{word}");
            }
        }
    }
}
