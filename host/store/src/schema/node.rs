//! A node of the tree, and what values add to it.

use warpath_core::decimal::Decimal;
use xxhash_rust::xxh3::xxh3_64;

use super::distinct::Distinct;
use super::json_type::{JsonType, StringForm};

/// The number of a node in its tree.
pub(super) type NodeId = u32;

/// The root. It is nobody's child, so this number also says that there is no child.
pub(super) const ROOT: NodeId = 0;

/// The node for values below the deepest level that is kept. It is its own child.
pub(super) const SINK: NodeId = 1;

/// Words of a name that are compared in line.
const NAME_WORDS: usize = 4;

/// A length that no name has.
const NO_LEN: u32 = u32::MAX;

/// The most bytes of a least or greatest string, and of an example.
pub const MOST_TEXT: usize = 96;

/// A position in the inputs.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{JsonType, Position};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"x\"}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let first = schema.tree.root().members()[0].first(JsonType::String).unwrap();
/// assert_eq!(first.position, Position { text: 0, line: 1, offset: 15 });
/// // The name of the input, and the line counted from 1.
/// assert_eq!(schema.locate(first.position), "<bytes>:2");
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The text that the value is in. Numbers grow in the order of the inputs.
    pub text: u64,
    /// The line in the text, from 0 on.
    pub line: u64,
    /// The offset of the value's first byte in the text.
    pub offset: u64,
}

/// The first value of a kind.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::{First, JsonType};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":\"x\"}\n").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let first: &First = schema.tree.root().members()[0].first(JsonType::String).unwrap();
/// assert_eq!((first.position.line, first.example.text()), (1, "\"x\"".into()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct First {
    /// The position of the value.
    pub position: Position,
    /// The JSON text of the value; empty for a container. It is cut if it is longer than [`MOST_TEXT`].
    pub example: Excerpt,
}

/// A text of at most [`MOST_TEXT`] bytes, and whether it was cut.
///
/// ```
/// use warpath::Engine;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let record = format!("{{\"id\":\"{}\"}}", "é".repeat(100));
/// let mut parts = Engine::builder().build()?.bytes(record.into_bytes()).schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let example = schema.tree.root().members()[0].example().unwrap();
/// // 96 bytes are kept. The last one is half of a character, which the text leaves out.
/// assert!(example.cut && example.text().ends_with("é"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub struct Excerpt {
    /// The first bytes.
    pub bytes: Box<[u8]>,
    /// True if bytes follow that are not kept.
    pub cut: bool,
}

impl Excerpt {
    pub(super) fn of(text: &[u8]) -> Self {
        let (bytes, cut) = cut(text);
        Self { bytes: bytes.into(), cut }
    }

    /// The text, with U+FFFD for what is not UTF-8, and without a character that was cut.
    #[must_use]
    pub fn text(&self) -> String {
        let bytes = match std::str::from_utf8(&self.bytes) {
            Err(error) if self.cut && error.error_len().is_none() => &self.bytes[..error.valid_up_to()],
            _ => &self.bytes[..],
        };
        lossy(bytes)
    }
}

/// A text with U+FFFD for what is not UTF-8: one for a surrogate without its partner, whose three bytes are
/// in the scheme of UTF-8.
pub(super) fn lossy(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    let mut rest = bytes;
    for at in 0..bytes.len() {
        if let [0xed, 0xa0..=0xbf, 0x80..=0xbf, after @ ..] = &bytes[at..]
            && bytes.len() - at <= rest.len()
        {
            text += &String::from_utf8_lossy(&rest[..rest.len() - (bytes.len() - at)]);
            text.push(char::REPLACEMENT_CHARACTER);
            rest = after;
        }
    }
    text + &String::from_utf8_lossy(rest)
}

/// The bytes of a text that are kept, and whether others follow.
fn cut(text: &[u8]) -> (&[u8], bool) {
    (&text[..text.len().min(MOST_TEXT)], text.len() > MOST_TEXT)
}

/// A number other than an integer of 64 bits: its whole text, and the nearest double.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Number {
    pub value: f64,
    pub text: Excerpt,
}

impl Number {
    pub fn of(text: &[u8], value: f64) -> Self {
        Self { value, text: Excerpt { bytes: text.into(), cut: false } }
    }

    /// Compares numbers by their exact values.
    fn is_less(&self, (text, value): (&[u8], f64)) -> bool {
        is_less((&self.text.bytes, self.value), (text, value))
    }
}

/// Compares two numbers by their exact values. Each is given by its text and by the nearest double. Doubles
/// decide where they differ, because rounding keeps the order. Equal numbers are in the order of their texts,
/// so that a range does not depend on the order of its values.
pub(super) fn is_less(a: (&[u8], f64), b: (&[u8], f64)) -> bool {
    if a.1 != b.1 {
        return a.1 < b.1;
    }
    let key = |text: &[u8]| {
        let mut key = Vec::new();
        warpath_core::key::encode(text, &mut key);
        key
    };
    a.0 != b.0 && (key(a.0), a.0) < (key(b.0), b.0)
}

/// The relation of a node to its parent.
///
/// ```
/// use warpath::Engine;
/// use warpath::schema::Step;
///
/// # fn main() -> Result<(), warpath::Error> {
/// let mut parts = Engine::builder().build()?.bytes("{\"tags\":[\"a\"]}").schema(None);
/// parts.by_ref().try_for_each(|part| part.map(drop))?;
/// let schema = parts.finish();
/// let tags = schema.tree.root().members()[0];
/// assert_eq!(tags.step(), &Step::Name((*b"tags").into()));
/// assert_eq!(tags.elements().unwrap().step(), &Step::Elements);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The records.
    Root,
    /// The value of the member with this name. The name is decoded. A surrogate without its partner has the
    /// three bytes that UTF-8 would have for it.
    Name(Box<[u8]>),
    /// Every element of an array.
    Elements,
    /// Every value of an object that is a map.
    Values,
}

/// A least and a greatest value with its text.
pub(super) type Range<T> = Option<(T, T)>;

/// A node. The first fields are used for every value; [`Rare`] has the others.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub(super) struct Node {
    /// The first bytes of the name, filled with zeros.
    name: [u64; NAME_WORDS],
    /// The length of the name as it is between quotes; [`NO_LEN`] if the name has escapes there, and for
    /// nodes without a name.
    name_len: u32,
    /// The sibling that followed this member when it was last looked up.
    pub follow: NodeId,
    /// The member that came first when it was last looked up.
    pub first_member: NodeId,
    pub parent: NodeId,
    /// The object that this member was last seen in.
    pub seen_in: u64,
    /// Members of an object that had the member before.
    pub repeated: u64,
    pub counts: [u64; JsonType::OF_VALUES],
    pub trues: u64,
    pub integers: (i64, i64),
    /// The first eight bytes of the least and the greatest string.
    pub prefixes: (u64, u64),
    pub distinct: Distinct,
    /// The least and the greatest number of elements.
    pub lengths: (u64, u64),
    /// The node of elements, or [`ROOT`] if there is none.
    pub elements: NodeId,
    /// The node of values, or [`ROOT`] if the objects are no maps.
    pub values: NodeId,
    pub depth: u32,
    /// The form of the strings.
    pub form: StringForm,
    pub rare: Rare,
}

/// The parts of a node that few values change.
#[derive(Clone, Debug)]
pub(super) struct Rare {
    pub step: Step,
    pub members: Vec<NodeId>,
    pub firsts: Vec<(JsonType, First)>,
    pub strings: Range<Excerpt>,
    pub floats: Range<Number>,
    pub bigs: Range<Number>,
    /// The most digits of an integer beyond 64 bits.
    pub big_digits: usize,
}

impl Node {
    pub fn new(step: Step, parent: NodeId, depth: u32) -> Self {
        let (mut name, mut name_len) = ([0; NAME_WORDS], NO_LEN);
        if let Step::Name(bytes) = &step
            && !bytes.iter().any(|byte| matches!(byte, b'\\' | b'"'))
        {
            name_len = bytes.len() as u32;
            for (word, bytes) in name.iter_mut().zip(bytes.chunks(8)) {
                let mut padded = [0; 8];
                padded[..bytes.len()].copy_from_slice(bytes);
                *word = u64::from_le_bytes(padded);
            }
        }
        Self {
            name,
            name_len,
            follow: ROOT,
            first_member: ROOT,
            parent,
            seen_in: 0,
            repeated: 0,
            counts: [0; JsonType::OF_VALUES],
            trues: 0,
            integers: (i64::MAX, i64::MIN),
            prefixes: (u64::MAX, 0),
            distinct: Distinct::None,
            lengths: (u64::MAX, 0),
            elements: ROOT,
            values: ROOT,
            depth,
            form: StringForm::None,
            rare: Rare {
                step,
                members: Vec::new(),
                firsts: Vec::new(),
                strings: None,
                floats: None,
                bigs: None,
                big_digits: 0,
            },
        }
    }

    /// True if the node has this name, which begins at an offset of a text and has no escapes.
    #[inline(always)]
    pub fn is_named(&self, text: &[u8], begin: usize, len: usize) -> bool {
        if self.name_len as usize != len {
            return false;
        }
        match text.get(begin..begin + 8 * NAME_WORDS) {
            Some(there) if len <= 8 * NAME_WORDS => {
                let (words, _) = there.as_chunks::<8>();
                let mut left = len;
                for (mine, word) in self.name.iter().zip(words) {
                    let word = u64::from_le_bytes(*word);
                    if left <= 8 {
                        // An empty name has nothing to compare.
                        return left == 0 || (word ^ mine) << (64 - 8 * left) == 0;
                    }
                    if word != *mine {
                        return false;
                    }
                    left -= 8;
                }
                true
            }
            _ => matches!(&self.rare.step, Step::Name(name) if **name == text[begin..begin + len]),
        }
    }

    pub fn total(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// Counts a value, and notes it if it is the first of its kind.
    #[inline(always)]
    pub fn count(&mut self, kind: JsonType, position: Position, example: impl FnOnce() -> Excerpt) {
        let count = &mut self.counts[kind as usize];
        *count += 1;
        if *count == 1 {
            self.rare.firsts.push((kind, First { position, example: example() }));
        }
    }

    #[inline(always)]
    pub fn add_integer(&mut self, value: i64) {
        let (least, greatest) = &mut self.integers;
        (*least, *greatest) = (value.min(*least), value.max(*greatest));
        self.distinct.insert(hash_of(value as u64));
    }

    #[inline(always)]
    pub fn add_length(&mut self, length: u64) {
        let (least, greatest) = &mut self.lengths;
        (*least, *greatest) = (length.min(*least), length.max(*greatest));
    }

    /// Adds a decoded string.
    #[inline(always)]
    pub fn add_string(&mut self, value: &[u8], prefix: u64) {
        if prefix <= self.prefixes.0 || prefix >= self.prefixes.1 {
            self.widen_strings(value, prefix);
        }
        if self.form != StringForm::Any {
            self.form = self.form.join(StringForm::of(value));
        }
        self.distinct.insert(xxh3_64(value));
    }

    #[cold]
    fn widen_strings(&mut self, value: &[u8], prefix: u64) {
        let Some((least, greatest)) = &mut self.rare.strings else {
            let text = Excerpt::of(value);
            (self.rare.strings, self.prefixes) = (Some((text.clone(), text)), (prefix, prefix));
            return;
        };
        let new = cut(value);
        if new < (&least.bytes, least.cut) {
            (*least, self.prefixes.0) = (Excerpt::of(value), prefix);
        }
        if new > (&greatest.bytes, greatest.cut) {
            (*greatest, self.prefixes.1) = (Excerpt::of(value), prefix);
        }
    }

    pub fn add_float(&mut self, text: &[u8], value: f64) {
        self.distinct.insert(hash_of_number(text, value));
        widen_numbers(&mut self.rare.floats, text, value);
    }

    pub fn add_big(&mut self, text: &[u8], value: f64) {
        self.distinct.insert(hash_of_number(text, value));
        widen_numbers(&mut self.rare.bigs, text, value);
        let digits = text.len() - usize::from(text.first() == Some(&b'-'));
        self.rare.big_digits = self.rare.big_digits.max(digits);
    }

    /// Adds the values of another node of the same position.
    pub fn merge(&mut self, other: &Self) {
        for (count, more) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
        }
        self.trues += other.trues;
        self.repeated += other.repeated;
        self.integers = (self.integers.0.min(other.integers.0), self.integers.1.max(other.integers.1));
        self.prefixes = (self.prefixes.0.min(other.prefixes.0), self.prefixes.1.max(other.prefixes.1));
        self.lengths = (self.lengths.0.min(other.lengths.0), self.lengths.1.max(other.lengths.1));
        self.form = self.form.join(other.form);
        self.distinct.merge(&other.distinct);
        for (kind, first) in &other.rare.firsts {
            match self.rare.firsts.iter_mut().find(|(mine, _)| mine == kind) {
                Some((_, mine)) if mine.position <= first.position => {}
                Some((_, mine)) => *mine = first.clone(),
                None => self.rare.firsts.push((*kind, first.clone())),
            }
        }
        merge_range(&mut self.rare.strings, &other.rare.strings, |a, b| a < b);
        for (range, other) in
            [(&mut self.rare.floats, &other.rare.floats), (&mut self.rare.bigs, &other.rare.bigs)]
        {
            merge_range(range, other, |a, b| a.is_less((&b.text.bytes, b.value)));
        }
        self.rare.big_digits = self.rare.big_digits.max(other.rare.big_digits);
    }

    /// The position of the first value.
    pub fn position(&self) -> Option<Position> {
        self.rare.firsts.iter().map(|(_, first)| first.position).min()
    }
}

/// Widens a range by another.
fn merge_range<T: Clone>(range: &mut Range<T>, other: &Range<T>, less: impl Fn(&T, &T) -> bool) {
    let Some((from, to)) = other else { return };
    let Some((least, greatest)) = range else {
        range.clone_from(other);
        return;
    };
    if less(from, least) {
        least.clone_from(from);
    }
    if less(greatest, to) {
        greatest.clone_from(to);
    }
}

/// Widens a range by a number.
fn widen_numbers(range: &mut Range<Number>, text: &[u8], value: f64) {
    let Some((least, greatest)) = range else {
        *range = Some((Number::of(text, value), Number::of(text, value)));
        return;
    };
    if is_less((text, value), (&least.text.bytes, least.value)) {
        *least = Number::of(text, value);
    }
    if greatest.is_less((text, value)) {
        *greatest = Number::of(text, value);
    }
}

/// A hash of a number that is no integer of 64 bits as it is spelt. Equal numbers have one hash in each
/// spelling, also those that [`hash_of`] takes.
fn hash_of_number(text: &[u8], value: f64) -> u64 {
    /// Decimals of so few digits are equal if and only if their nearest doubles are.
    const EXACT_DIGITS: usize = 15;
    const WHOLE: f64 = (1u64 << 53) as f64;
    let of_double = |value: f64| hash_of(value.to_bits() ^ 0x5bd1_e995_a5a5_a5a5);
    // There are fewer doubles than such decimals beyond the normal ones, and near zero.
    if value.is_normal() && text.len() <= EXACT_DIGITS && value.abs() < WHOLE {
        let whole = value as i64;
        return if whole as f64 == value { hash_of(whole as u64) } else { of_double(value) };
    }
    let Some(decimal) = Decimal::read(text) else { return xxh3_64(text) };
    if let Some(whole) = decimal.integer() {
        return hash_of(whole as u64);
    }
    if value.is_normal() && decimal.digits.len() <= EXACT_DIGITS && value.abs() < WHOLE {
        return of_double(value);
    }
    let Decimal { negative, digits, exponent } = decimal;
    xxh3_64(&digits) ^ hash_of(exponent as u64 ^ u64::from(negative) << 63)
}

/// A hash of an integer of 64 bits.
#[inline(always)]
pub(super) fn hash_of(value: u64) -> u64 {
    let fold = |a: u64, b: u64| {
        let product = u128::from(a) * u128::from(b);
        product as u64 ^ (product >> 64) as u64
    };
    let once = fold(value ^ 0x2d35_8dcc_aa6c_78a5, 0x8bb8_4b93_962e_acc9);
    fold(once ^ 0x4b33_a62e_d433_d4a3, 0x4d5a_2da5_1de1_aa47)
}

/// The first eight bytes of a string, in the order of strings.
#[inline(always)]
pub(super) fn prefix_of(value: &[u8]) -> u64 {
    match value.first_chunk::<8>() {
        Some(bytes) => u64::from_be_bytes(*bytes),
        None => {
            let mut padded = [0; 8];
            padded[..value.len()].copy_from_slice(value);
            u64::from_be_bytes(padded)
        }
    }
}
