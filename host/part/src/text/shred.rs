//! Groups from lines.

use std::borrow::Cow;
use std::collections::HashSet;

use memchr::memchr;
use xxhash_rust::xxh3::xxh3_64;

use super::count;
use super::draft::{Draft, Reader};
use super::error::{Error, Result};
use super::known::{Known, permute};
use super::levels::{self, Odd};
use super::names::{self, Role};
use super::number::Rule;
use super::occurrences::{self, OCCURRENCES};
use super::reserved::{self, Reserved};
use super::restore::Restorer;
use super::sections::{self, LiteralAndSlot, NodeExceptions};
use super::style::Style;
use crate::group::{Group, Layout, NodeIx, Tree, Values};

/// Bytes of text from which the layout is learnt before a whole group is read.
const SAMPLE: usize = 1 << 20;
/// Attempts to learn the layout of a group.
const MOST_ATTEMPTS: usize = 5;

/// Makes groups from lines. It owns the tree of the columns, which grows with the groups.
///
/// ```
/// use warpath_part::text::{Restorer, Shredder};
///
/// let text = b"{\"id\": 1, \"name\": \"\\u00e9\"}\n{\"id\": 2.50}\nno JSON\n";
/// let mut shredder = Shredder::new();
/// let group = shredder.shred(text).unwrap();
/// let mut lines = Vec::new();
/// Restorer::new(shredder.tree(), &group).unwrap().rows(0..3, &mut lines).unwrap();
/// assert_eq!(lines, text);
/// ```
#[derive(Debug)]
pub struct Shredder {
    known: Known,
    attempts: u32,
    /// True before the first group of a part.
    begins_part: bool,
}

impl Default for Shredder {
    fn default() -> Self {
        Self::new()
    }
}

impl Shredder {
    /// A shredder with an empty tree.
    #[must_use]
    pub fn new() -> Self {
        Self::resume(Reserved::new())
    }

    /// A shredder with an empty tree, whose columns have the names and types that are reserved.
    #[must_use]
    pub fn resume(reserved: Reserved) -> Self {
        Self { known: reserved.known, attempts: 0, begins_part: true }
    }

    /// Notes that the next group is the first one of another part, whose tree begins with this one.
    pub fn begin_part(&mut self) {
        self.begins_part = true;
    }

    /// The tree of all groups so far.
    #[must_use]
    pub fn tree(&self) -> &Tree {
        &self.known.tree
    }

    /// The roles and true keys of the nodes so far.
    #[must_use]
    pub fn roles(&self) -> &[Role] {
        &self.known.roles
    }

    /// Makes a group of whole lines. The last line may lack its line feed. Each line becomes a row.
    ///
    /// A line whose row would not give it back becomes a row with the whole line, so that the group gives
    /// back every byte of the text.
    ///
    /// # Errors
    /// [`Error::TooLong`]. [`Error::Inexact`] would be a fault of the program.
    pub fn shred(&mut self, text: &[u8]) -> Result<Group> {
        /// Offsets in a group have 32 bits.
        const LIMIT: usize = 1 << 31;

        if text.len() > LIMIT {
            return Err(Error::TooLong { len: text.len() as u64, limit: LIMIT as u64 });
        }
        self.known.base = if self.attempts == 0 { 0 } else { self.known.tree.nodes.len() as NodeIx };
        let ends = ends(text);
        let sample = ends.partition_point(|end| *end <= SAMPLE).max(1).min(ends.len());
        if sample < ends.len() {
            self.learn(text, &ends[..sample]);
        }
        let mut kept = HashSet::new();
        let mut draft = self.learn_whole(text, &ends, &kept);
        loop {
            let group = self.finish(draft, text);
            let wrong = self.wrong(&group, text, &ends, &kept)?;
            if wrong.is_empty() {
                self.begins_part = false;
                return Ok(group);
            }
            kept.extend(wrong);
            self.known.roll_back();
            draft = self.attempt(text, &ends, &kept);
        }
    }

    /// Reads lines until their layout has no more surprises, and drops the columns.
    fn learn(&mut self, text: &[u8], ends: &[usize]) {
        self.learn_whole(text, ends, &HashSet::new());
        self.known.roll_back();
    }

    fn learn_whole(&mut self, text: &[u8], ends: &[usize], kept: &HashSet<u32>) -> Draft {
        for _ in 0..MOST_ATTEMPTS {
            let draft = self.attempt(text, ends, kept);
            if !self.known.learnt {
                self.known.compare_kinds(|node| draft.filled[node as usize].at.len());
            }
            if !self.known.learnt {
                return draft;
            }
            self.known.roll_back();
        }
        self.attempt(text, ends, kept)
    }

    /// Reads lines. Lines in `kept` are kept whole.
    fn attempt(&mut self, text: &[u8], ends: &[usize], kept: &HashSet<u32>) -> Draft {
        self.known.begin();
        self.attempts += 1;
        let mut draft = Draft::new(self.attempts);
        draft.fit(&self.known);
        let all_utf8 = simdutf8::basic::from_utf8(text).is_ok();
        let mut begin = 0;
        for (row, end) in ends.iter().enumerate() {
            let utf8 = all_utf8 || simdutf8::basic::from_utf8(&text[begin..*end]).is_ok();
            let keep = !utf8 || !kept.is_empty() && kept.contains(&(row as u32));
            Reader { known: &mut self.known, draft: &mut draft }.line(&text[..*end], begin, keep);
            begin = *end;
        }
        draft
    }

    /// The rows of a group that are not the lines of the text.
    fn wrong(&self, group: &Group, text: &[u8], ends: &[usize], kept: &HashSet<u32>) -> Result<Vec<u32>> {
        let restorer = Restorer::new(&self.known.tree, group);
        let (mut line, mut begin, mut wrong) = (Vec::new(), 0, Vec::new());
        for (row, end) in ends.iter().enumerate() {
            line.clear();
            let row = row as u32;
            let restored = restorer.as_ref().is_ok_and(|restorer| restorer.row(row, &mut line).is_ok());
            if !restored || line != text[begin..*end] {
                wrong.push(row);
            }
            begin = *end;
        }
        // Whole lines are the last resort.
        match wrong.iter().find(|row| kept.contains(row)) {
            Some(row) => Err(Error::Inexact { row: *row }),
            None => Ok(wrong),
        }
    }

    /// The group of an attempt.
    fn finish(&mut self, mut draft: Draft, text: &[u8]) -> Group {
        self.known.complete();
        draft.fit(&self.known);
        permute(&mut draft.filled, &self.known.arrange());
        for (index, role) in self.known.roles.iter().enumerate() {
            if *role == Role::Present {
                let parent = self.known.tree.nodes[index].parent;
                let count = draft.filled[parent as usize].at.len();
                draft.filled[index].at = (0..count as u32).collect();
                draft.filled[index].values = Values::Boolean(vec![true; count]);
            }
        }
        let rules = rules(&self.known.tree, &mut draft, text);
        let exceptions = exceptions(&self.known.tree, &draft, text);
        let (shapes, objects) = self.shapes();
        let shape_ids = objects.iter().map(|node| (*node, &draft.filled[*node as usize].ids[..]));
        let lists = draft.filled.iter().enumerate();
        let lists = lists.filter(|(node, _)| self.known.tree.nodes[*node].layout == Layout::List);
        let lists: Vec<_> = lists.map(|(node, filled)| (node as NodeIx, &filled.ids[..])).collect();
        let mut sections = vec![
            (names::SECTION, names::write(&self.known.tree, &self.known.roles)),
            (sections::SHAPES, shapes),
            (sections::SHAPE_IDS, sections::write_shape_ids(shape_ids)),
            (sections::ARRAYS, sections::write_arrays(&draft.arrays.all, lists.into_iter())),
            (sections::ENDS, sections::write_ends(&draft.frames.all, &draft.ends)),
            (sections::STYLES, sections::write_ids(&draft.styles)),
            (sections::NUMBERS, sections::write_numbers(&rules)),
            (sections::EXCEPTIONS, sections::write_exceptions(&exceptions)),
            (OCCURRENCES, occurrences::write(&self.known.tree, &draft.filled, draft.rows)),
            (count::COUNTS, count::write(&self.known, &draft)),
        ];
        if self.begins_part && !self.known.plan.is_empty() {
            sections.push((Reserved::SECTION, reserved::write(&self.known.plan)));
        }
        Group {
            rows: draft.rows,
            columns: levels::columns(&self.known.tree, &mut draft.filled, draft.rows),
            nodes: self.known.tree.nodes.len() as NodeIx,
            sections: sections.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect(),
            text_len: text.len() as u64,
            text_hash: xxh3_64(text),
        }
    }

    /// The section of the shapes of a group, and the object nodes that it has.
    fn shapes(&self) -> (Vec<u8>, Vec<NodeIx>) {
        let mut literals: Vec<&[u8]> = Vec::new();
        let mut numbers = foldhash::HashMap::<&[u8], u32>::default();
        let mut nodes = Vec::new();
        for (node, position) in self.known.objects() {
            let shape = |last: &u32| -> Vec<LiteralAndSlot> {
                let steps = self.known.shape(*last).into_iter();
                let numbered = steps.map(|(state, slot)| {
                    let literal = self.known.literal(state);
                    let number = *numbers.entry(literal).or_insert_with(|| {
                        literals.push(literal);
                        literals.len() as u32 - 1
                    });
                    (number, slot)
                });
                numbered.collect()
            };
            nodes.push((node, position.shapes.iter().map(shape).collect::<Vec<_>>()));
        }
        nodes.sort_unstable_by_key(|(node, _)| *node);
        let section = sections::write_shapes(literals.into_iter(), &nodes);
        (section, nodes.into_iter().map(|(node, _)| node).collect())
    }
}

/// Chooses how doubles print, and notes those that print otherwise.
fn rules(tree: &Tree, draft: &mut Draft, text: &[u8]) -> Vec<(NodeIx, Rule)> {
    let mut rules = Vec::new();
    let mut out = Vec::new();
    for (node, filled) in draft.filled.iter_mut().enumerate() {
        let Values::Double(values) = &filled.values else { continue };
        if tree.nodes[node].layout != Layout::Double || values.is_empty() {
            continue;
        }
        let text_of = |range: &(u32, u32)| &text[range.0 as usize..range.1 as usize];
        let doubles = || values.iter().copied().zip(&filled.texts);
        let rule = Rule::choose(doubles().map(|(value, range)| (value, text_of(range))));
        rules.push((node as NodeIx, rule));
        for (at, (value, range)) in doubles().enumerate() {
            out.clear();
            rule.print(value, &mut out);
            if out != text_of(range) {
                let (occurrence, (begin, end)) = (at as u32, *range);
                filled.odd.push(Odd { occurrence, begin, end, style: Style::default() });
            }
        }
    }
    rules
}

/// The exceptions of each node: characters that are spelled another way, if this is shorter than the text.
fn exceptions<'a>(tree: &Tree, draft: &Draft, text: &'a [u8]) -> Vec<NodeExceptions<'a>> {
    let mut all = Vec::new();
    for (node, filled) in draft.filled.iter().enumerate().filter(|(_, filled)| !filled.odd.is_empty()) {
        let toggles = |odd: &Odd, text: &[u8]| {
            let Values::Bytes(strings) = &filled.values else { return None };
            if tree.nodes[node].layout != Layout::String {
                return None;
            }
            let at = odd.occurrence as usize;
            let begin = at.checked_sub(1).map_or(0, |before| strings.ends[before]);
            let value = str::from_utf8(&strings.bytes[begin as usize..strings.ends[at] as usize]).ok()?;
            let toggles = odd.style.toggles(value, &text[1..text.len() - 1])?;
            (toggles.len() + 1 < text.len()).then(|| [&[sections::TOGGLES], &toggles[..]].concat())
        };
        let texts = filled.odd.iter().map(|odd| {
            let text = &text[odd.begin as usize..odd.end as usize];
            (odd.occurrence, toggles(odd, text).map_or(Cow::Borrowed(text), Cow::Owned))
        });
        all.push((node as NodeIx, texts.collect()));
    }
    all
}

/// The end of each line, its line feed included.
fn ends(text: &[u8]) -> Vec<usize> {
    let (mut ends, mut begin) = (Vec::new(), 0);
    while begin < text.len() {
        let len = memchr(b'\n', &text[begin..]).map_or(text.len() - begin, |at| at + 1);
        begin += len;
        ends.push(begin);
    }
    ends
}
