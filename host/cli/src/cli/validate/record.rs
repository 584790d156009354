//! Records as the library of JSON Schema reads them: nodes over the text, without a copy of a value.

use std::borrow::Cow;
use std::collections::HashSet;
use std::ops::Range;
use std::slice;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, JsonNumber, Node, NodeIdentity, Object};
use serde_json::Value;
use warpath_core::json::{Cursor, Malformed, decode};

use super::deep::check_stack;
use super::numbers;

/// The nodes of one JSON text, in the order of the text. Its buffers serve one text after the other.
///
/// Of members with the same name in an object, the last one counts, as in most parsers.
#[derive(Default)]
pub struct Tree {
    nodes: Vec<Slot>,
    /// The members of all objects, those of one object side by side: a digest of each name, and the node of
    /// the name. The value is the next node.
    digests: Vec<u64>,
    names: Vec<u32>,
    /// The members of the objects that are open.
    open: Vec<(u64, u32)>,
}

/// A value, or the name of a member.
struct Slot {
    kind: Kind,
    /// True if a string has escapes.
    has_escapes: bool,
    /// The bytes of the text, quotes and brackets among them.
    begin: u32,
    end: u32,
    /// The node after the last one within this value.
    next: u32,
    /// The elements of an array; the members of an object, and the first of them.
    count: u32,
    first: u32,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Null,
    False,
    True,
    Number,
    String,
    Array,
    Object,
}

impl Tree {
    /// Reads a text. Returns its value, or `None` if the text is not JSON.
    pub fn read<'a>(&'a mut self, text: &'a str) -> Option<Item<'a>> {
        self.nodes.clear();
        self.digests.clear();
        self.names.clear();
        self.open.clear();
        // Offsets have 32 bits.
        u32::try_from(text.len()).ok()?;
        let mut cursor = Cursor::new(text.as_bytes());
        cursor.space();
        self.value(text, &mut cursor)?;
        Some(Item::Value { text, tree: self, at: 0 })
    }

    fn value(&mut self, text: &str, cursor: &mut Cursor<'_>) -> Option<()> {
        match cursor.peek()? {
            b'"' => self.string(cursor).map(drop),
            b'{' => self.object(text, cursor),
            b'[' => self.array(text, cursor),
            first => {
                let kind = match first {
                    b'n' => Kind::Null,
                    b'f' => Kind::False,
                    b't' => Kind::True,
                    b'-' | b'0'..=b'9' => Kind::Number,
                    _ => return None,
                };
                let at = self.begin(kind, cursor);
                cursor.scalar();
                self.end(at, cursor);
                Some(())
            }
        }
    }

    fn begin(&mut self, kind: Kind, cursor: &Cursor<'_>) -> usize {
        let (begin, end, next, count, first) = (cursor.offset() as u32, 0, 0, 0, 0);
        self.nodes.push(Slot { kind, has_escapes: false, begin, end, next, count, first });
        self.nodes.len() - 1
    }

    fn end(&mut self, at: usize, cursor: &Cursor<'_>) {
        let next = self.nodes.len() as u32;
        let node = &mut self.nodes[at];
        (node.end, node.next) = (cursor.offset() as u32, next);
    }

    fn string<'a>(&mut self, cursor: &mut Cursor<'a>) -> Option<&'a [u8]> {
        let at = self.begin(Kind::String, cursor);
        let string = cursor.string().ok()?;
        self.nodes[at].has_escapes = string.has_escapes;
        self.end(at, cursor);
        Some(string.inside)
    }

    fn array(&mut self, text: &str, cursor: &mut Cursor<'_>) -> Option<()> {
        let at = self.begin(Kind::Array, cursor);
        let mut count = 0;
        cursor.advance(1);
        cursor.space();
        while !cursor.take(b']') {
            self.value(text, cursor)?;
            count += 1;
            separator(cursor, b']')?;
        }
        self.nodes[at].count = count;
        self.end(at, cursor);
        Some(())
    }

    fn object(&mut self, text: &str, cursor: &mut Cursor<'_>) -> Option<()> {
        let (at, opened) = (self.begin(Kind::Object, cursor), self.open.len());
        cursor.advance(1);
        cursor.space();
        while !cursor.take(b'}') {
            cursor.peek().filter(|byte| *byte == b'"')?;
            let name = self.nodes.len();
            let inside = self.string(cursor)?;
            let digest = match self.nodes[name].has_escapes {
                true => digest(unescaped(inside).as_bytes()),
                false => digest(inside),
            };
            self.open.push((digest, name as u32));
            cursor.space();
            cursor.take(b':').then_some(())?;
            cursor.space();
            self.value(text, cursor)?;
            separator(cursor, b'}')?;
        }
        let first = self.digests.len();
        self.digests.extend(self.open[opened..].iter().map(|(digest, _)| digest));
        self.names.extend(self.open[opened..].iter().map(|(_, name)| name));
        self.open.truncate(opened);
        self.drop_repeated(text, first);
        let node = &mut self.nodes[at];
        (node.first, node.count) = (first as u32, (self.digests.len() - first) as u32);
        self.end(at, cursor);
        Some(())
    }

    /// Removes the members of the last object that have the name of a later member.
    fn drop_repeated(&mut self, text: &str, first: usize) {
        if !has_repeated(&self.digests[first..]) {
            return;
        }
        // Equal digests are rare, and equal names rarer.
        let names: Vec<Cow<'_, str>> =
            self.names[first..].iter().map(|name| string_of(text, &self.nodes[*name as usize])).collect();
        let mut seen = HashSet::new();
        let mut kept: Vec<usize> = (0..names.len()).rev().filter(|at| seen.insert(&names[*at])).collect();
        kept.reverse();
        for (to, from) in kept.iter().enumerate() {
            self.digests[first + to] = self.digests[first + from];
            self.names[first + to] = self.names[first + from];
        }
        self.digests.truncate(first + kept.len());
        self.names.truncate(first + kept.len());
    }

    fn members(&self, node: &Slot) -> Range<usize> {
        node.first as usize..(node.first + node.count) as usize
    }
}

/// Advances to the next item of a container, or to the bracket that closes it.
fn separator(cursor: &mut Cursor<'_>, close: u8) -> Option<()> {
    cursor.space();
    if cursor.take(b',') {
        cursor.space();
        return Some(());
    }
    (cursor.peek()? == close).then_some(())
}

/// True if two digests are equal.
fn has_repeated(digests: &[u64]) -> bool {
    /// The most digests that are compared in pairs, which needs no memory.
    const PAIRS: usize = 64;
    if digests.len() <= PAIRS {
        return (1..digests.len()).any(|at| digests[..at].contains(&digests[at]));
    }
    let mut sorted = digests.to_vec();
    sorted.sort_unstable();
    sorted.windows(2).any(|pair| pair[0] == pair[1])
}

/// A digest of a name: equal for equal names, and seldom for others.
fn digest(name: &[u8]) -> u64 {
    let len = (name.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let bytes = match (name.first_chunk::<8>(), name.last_chunk::<8>()) {
        (Some(first), Some(last)) => u64::from_le_bytes(*first) ^ u64::from_le_bytes(*last).rotate_left(29),
        _ => name.iter().fold(0, |word, byte| word << 8 | u64::from(*byte)),
    };
    bytes ^ len
}

fn unescaped(inside: &[u8]) -> String {
    let mut out = Vec::new();
    decode(inside, Malformed::Keep, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// The string that a node is, without its quotes and escapes.
fn string_of<'a>(text: &'a str, node: &Slot) -> Cow<'a, str> {
    let inside = &text[node.begin as usize + 1..node.end as usize - 1];
    if node.has_escapes { Cow::Owned(unescaped(inside.as_bytes())) } else { Cow::Borrowed(inside) }
}

/// The representation of JSON by [`Item`]s.
pub struct Records;

/// A value of a text, or the name of a member as a value.
#[derive(Clone, Copy)]
pub enum Item<'a> {
    Value { text: &'a str, tree: &'a Tree, at: u32 },
    Name(&'a str),
}

impl<'a> Item<'a> {
    /// The value, and the offset of its first byte, as the text has it.
    pub fn spelt(&self) -> (&'a str, usize) {
        match self {
            Self::Value { text, .. } => {
                let Some((_, node)) = self.node() else { return ("", 0) };
                (&text[node.begin as usize..node.end as usize], node.begin as usize)
            }
            Self::Name(name) => (name, 0),
        }
    }

    fn node(&self) -> Option<(&'a Tree, &'a Slot)> {
        match self {
            Self::Value { tree, at, .. } => Some((tree, &tree.nodes[*at as usize])),
            Self::Name(_) => None,
        }
    }

    fn kind(&self) -> Kind {
        self.node().map_or(Kind::String, |(_, node)| node.kind)
    }

    /// The container that this value is, if it is one of this kind.
    fn container(&self, kind: Kind) -> Option<Container<'a>> {
        check_stack();
        match *self {
            Self::Value { text, tree, at } if self.kind() == kind => Some(Container { text, tree, at }),
            _ => None,
        }
    }

    /// The member of a name, and the offset of the name.
    pub fn member(&self, name: &str) -> Option<(Item<'a>, usize)> {
        let object = self.as_object()?;
        let at = object.find(digest(name.as_bytes()), name)?;
        let begin = object.tree.nodes[at as usize].begin as usize;
        Some((object.item(at + 1), begin))
    }
}

/// An object or an array.
#[derive(Clone, Copy)]
pub struct Container<'a> {
    text: &'a str,
    tree: &'a Tree,
    at: u32,
}

impl<'a> Container<'a> {
    fn node(&self) -> &'a Slot {
        &self.tree.nodes[self.at as usize]
    }

    /// The number of members or elements.
    pub fn count(&self) -> usize {
        self.node().count as usize
    }

    fn item(&self, at: u32) -> Item<'a> {
        Item::Value { text: self.text, tree: self.tree, at }
    }

    fn name(&self, at: u32) -> Cow<'a, str> {
        string_of(self.text, &self.tree.nodes[at as usize])
    }

    /// The node of a name among the members of an object.
    fn find(&self, digest: u64, name: &str) -> Option<u32> {
        let members = self.tree.members(self.node());
        let names = &self.tree.names[members.clone()];
        let mut all = self.tree.digests[members].iter().zip(names);
        all.find(|(other, at)| **other == digest && self.name(**at) == name).map(|(_, at)| *at)
    }
}

/// The name of a property in a schema.
pub struct Key {
    name: Box<str>,
    digest: u64,
}

impl Json for Records {
    type Node<'a> = Item<'a>;
    type PreparedKey = Key;
    type StringBuffer = ();

    // A lookup compares digests of all names, which is cheaper than a name of a walk over all members.
    const KEYS_PER_LOOKUP: usize = 4;
    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> Key {
        Key { name: key.into(), digest: digest(key.as_bytes()) }
    }

    fn with_string_node<T>((): &mut (), string: &str, f: impl FnOnce(Item<'_>) -> T) -> T {
        f(Item::Name(string))
    }
}

impl<'a> Node<'a, Records> for Item<'a> {
    type Object = Container<'a>;
    type Array = Container<'a>;
    type Number = Number<'a>;

    fn as_object(&self) -> Option<Container<'a>> {
        self.container(Kind::Object)
    }

    fn as_array(&self) -> Option<Container<'a>> {
        self.container(Kind::Array)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        match *self {
            Self::Name(name) => Some(Cow::Borrowed(name)),
            Self::Value { text, .. } => {
                let (_, node) = self.node().filter(|(_, node)| node.kind == Kind::String)?;
                Some(string_of(text, node))
            }
        }
    }

    fn as_number(&self) -> Option<Number<'a>> {
        self.is_number().then(|| Number(self.spelt().0))
    }

    fn as_boolean(&self) -> Option<bool> {
        match self.kind() {
            Kind::True => Some(true),
            Kind::False => Some(false),
            _ => None,
        }
    }

    fn is_null(&self) -> bool {
        self.kind() == Kind::Null
    }

    fn is_number(&self) -> bool {
        self.kind() == Kind::Number
    }

    fn json_type(&self) -> JsonType {
        match self.kind() {
            Kind::Null => JsonType::Null,
            Kind::False | Kind::True => JsonType::Boolean,
            Kind::Number => JsonType::Number,
            Kind::String => JsonType::String,
            Kind::Array => JsonType::Array,
            Kind::Object => JsonType::Object,
        }
    }

    fn equals_value(&self, expected: &Value) -> bool {
        match expected {
            Value::Null => self.is_null(),
            Value::Bool(expected) => self.as_boolean() == Some(*expected),
            Value::Number(expected) => {
                self.as_number().is_some_and(|number| numbers::are_equal(number.0, &expected.to_string()))
            }
            Value::String(expected) => self.as_string().is_some_and(|string| string == expected.as_str()),
            Value::Array(expected) => self.as_array().is_some_and(|array| {
                array.count() == expected.len()
                    && array
                        .elements()
                        .zip(expected)
                        .all(|(element, expected)| element.equals_value(expected))
            }),
            Value::Object(expected) => self.as_object().is_some_and(|object| {
                object.count() == expected.len()
                    && expected.iter().all(|(name, expected)| {
                        self.member(name).is_some_and(|(value, _)| value.equals_value(expected))
                    })
            }),
        }
    }

    /// A name as a string, and `null` for every value. Only the messages of the library have such values, and
    /// reports show the text of the record in their place.
    fn to_value(&self) -> Cow<'a, Value> {
        Cow::Owned(match self {
            Self::Name(name) => Value::String((*name).to_owned()),
            Self::Value { .. } => Value::Null,
        })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        check_stack();
        Some(match self {
            Self::Value { tree, at, .. } => {
                NodeIdentity::tagged(std::ptr::from_ref::<Tree>(tree) as usize, *at)
            }
            Self::Name(name) => NodeIdentity::new(name.as_ptr() as usize),
        })
    }
}

impl<'a> Object<'a, Records> for Container<'a> {
    type Node = Item<'a>;
    type MemberName = Cow<'a, str>;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        self.count()
    }

    fn get(&self, key: &Key) -> Option<Item<'a>> {
        Some(self.item(self.find(key.digest, &key.name)? + 1))
    }

    fn members(&self) -> Members<'a> {
        let names = self.tree.names[self.tree.members(self.node())].iter();
        Members { object: *self, names }
    }
}

impl<'a> Array<'a, Records> for Container<'a> {
    type Node = Item<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        self.count()
    }

    fn elements(&self) -> Elements<'a> {
        Elements { array: *self, at: self.at + 1 }
    }

    fn is_unique(&self) -> bool {
        let mut seen = HashSet::new();
        self.elements().all(|element| {
            let mut key = Vec::new();
            append_key(element, &mut key);
            seen.insert(key)
        })
    }
}

/// Appends bytes that are the same for equal values, and no others. Values are equal as JSON Schema compares
/// them: numbers by their values, and objects without an order.
fn append_key(item: Item<'_>, out: &mut Vec<u8>) {
    let sized = |bytes: &[u8], out: &mut Vec<u8>| {
        out.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        out.extend_from_slice(bytes);
    };
    out.push(item.kind() as u8);
    match item.kind() {
        Kind::Null | Kind::False | Kind::True => {}
        Kind::Number => sized(&numbers::canonical(item.spelt().0), out),
        Kind::String => sized(item.as_string().unwrap_or_default().as_bytes(), out),
        Kind::Array => {
            let Some(array) = item.as_array() else { return };
            out.extend_from_slice(&(array.count() as u64).to_le_bytes());
            array.elements().for_each(|element| append_key(element, out));
        }
        Kind::Object => {
            let Some(object) = item.as_object() else { return };
            let mut members: Vec<_> = object.members().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            out.extend_from_slice(&(members.len() as u64).to_le_bytes());
            for (name, value) in members {
                sized(name.as_bytes(), out);
                append_key(value, out);
            }
        }
    }
}

/// The members of an object, in the order of the text.
pub struct Members<'a> {
    object: Container<'a>,
    names: slice::Iter<'a, u32>,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Cow<'a, str>, Item<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let at = *self.names.next()?;
        Some((self.object.name(at), self.object.item(at + 1)))
    }
}

/// The elements of an array.
pub struct Elements<'a> {
    array: Container<'a>,
    at: u32,
}

impl<'a> Iterator for Elements<'a> {
    type Item = Item<'a>;

    fn next(&mut self) -> Option<Item<'a>> {
        let at = self.at;
        if at >= self.array.node().next {
            return None;
        }
        self.at = self.array.tree.nodes[at as usize].next;
        Some(self.array.item(at))
    }
}

/// A number as the text has it. Its value is exact, whatever its size and its digits.
#[derive(Clone, Copy)]
pub struct Number<'a>(pub &'a str);

impl JsonNumber for Number<'_> {
    fn as_u64(&self) -> Option<u64> {
        numbers::unsigned(self.0)
    }

    fn as_i64(&self) -> Option<i64> {
        numbers::signed(self.0)
    }

    /// The nearest double, if it is written with the same value.
    fn as_f64(&self) -> Option<f64> {
        numbers::double(self.0)
    }

    fn as_str(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.0)
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(numbers::nearest(self.0))
    }

    fn is_integer(&self) -> bool {
        numbers::is_integer(self.0)
    }

    fn is_written_as_integer(&self) -> bool {
        !numbers::has_fraction(self.0)
    }
}

#[cfg(test)]
mod tests;
