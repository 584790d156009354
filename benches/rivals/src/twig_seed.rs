//! Twigs on a device by the method of the paper, a rival of [`warpath_cpu::twig`] for structure alone:
//! twigs and documents in the form of its kernel ([`warpath_rivals_gpu::seed`]), and a [stage](SeedStage)
//! that launches it.
//!
//! Source: Absalyamov, Moussalli, Tsotras and Najjar, "High-Performance Holistic XML Twig Filtering Using
//! GPUs", EDBT 2013.

mod stage;

use std::collections::HashMap;

use warpath_cpu::twig::members::Members;
use warpath_cpu::twig::{Events, Name};
use warpath_lang::twig::{Axis, NameTest, Twig, Value};
use warpath_rivals_gpu::seed::{BLOCK, CHILDREN, LEVELS, Personality, TAGS};

pub use stage::SeedStage;

/// Twigs as query nodes, one for each thread, in blocks.
#[derive(Clone, Debug, Default)]
pub struct SeedQueries {
    /// The nodes.
    pub personalities: Vec<Personality>,
    /// The position of each twig's root among the nodes.
    pub roots: Vec<usize>,
    tags: HashMap<String, u8>,
}

/// The reason why a twig cannot be evaluated by this kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SeedError {
    /// The twig tests attributes or values.
    #[error("it tests attributes or values")]
    Kind,
    /// A node has more children than there are slots.
    #[error("a node has more than {CHILDREN} children")]
    Children,
    /// The twig has more nodes than a block has threads.
    #[error("it has {BLOCK} nodes or more")]
    Nodes,
    /// The twigs have more names than there are tags.
    #[error("there are more than {TAGS} names")]
    Tags,
}

impl SeedQueries {
    /// Adds a twig after the last one of the last block, or in a new block if there is no room.
    ///
    /// # Errors
    /// [`SeedError`].
    pub fn add(&mut self, twig: &Twig) -> Result<(), SeedError> {
        let nodes = twig.nodes();
        if nodes.len() >= BLOCK {
            return Err(SeedError::Nodes);
        }
        let mut children = vec![0_u32; nodes.len() + 1];
        let mut flags = vec![0_u32; nodes.len() + 1];
        let mut slots = Vec::new();
        for node in nodes {
            let of = node.parent.map_or(0, |parent| parent + 1);
            slots.push(children[of]);
            children[of] += 1;
            flags[of] |= match node.axis {
                Axis::Child => Personality::HAS_CHILDREN,
                Axis::Descendant => Personality::HAS_DESCENDANTS,
            };
            if !node.values.is_empty() {
                return Err(SeedError::Kind);
            }
        }
        if children.iter().any(|children| *children as usize > CHILDREN) {
            return Err(SeedError::Children);
        }
        let mut tags = Vec::new();
        for (node, flags) in nodes.iter().zip(&mut flags[1..]) {
            *flags |= if node.axis == Axis::Descendant { Personality::DESCENDANT } else { 0 };
            tags.push(match &node.name {
                NameTest::Name(name) => {
                    let next = self.tags.len();
                    match self.tags.get(name) {
                        Some(tag) => *tag,
                        None if next == TAGS => return Err(SeedError::Tags),
                        None => *self.tags.entry(name.clone()).or_insert(next as u8),
                    }
                }
                NameTest::Any => {
                    *flags |= Personality::ANY;
                    0
                }
                NameTest::Attribute(_) | NameTest::AnyAttribute => return Err(SeedError::Kind),
            });
        }
        let used = self.personalities.len() % BLOCK;
        if used > 0 && used + nodes.len() + 1 > BLOCK {
            self.fill();
        }
        let root = self.personalities.len();
        self.roots.push(root);
        let thread = (root % BLOCK) as u32;
        let of_root = flags[0] | Personality::ROOT;
        self.personalities.push(Personality::new(of_root, thread, children[0], 0, 0));
        for (at, node) in nodes.iter().enumerate() {
            let leaf = if children[at + 1] == 0 { Personality::LEAF } else { 0 };
            let prefix = thread + node.parent.map_or(0, |parent| parent as u32 + 1);
            let flags = flags[at + 1] | leaf;
            let tag = u32::from(tags[at]);
            self.personalities.push(Personality::new(flags, prefix, children[at + 1], slots[at], tag));
        }
        Ok(())
    }

    /// Fills the last block with nodes whose matches nobody reads.
    pub fn fill(&mut self) {
        while !self.personalities.len().is_multiple_of(BLOCK) {
            let thread = (self.personalities.len() % BLOCK) as u32;
            self.personalities.push(Personality::new(Personality::ROOT, thread, 0, 0, 0));
        }
    }

    /// Makes an encoder of documents.
    #[must_use]
    pub fn encoder(&self) -> SeedEncoder<'_> {
        SeedEncoder {
            queries: self,
            events: Vec::new(),
            documents: vec![0],
            open: Vec::new(),
            members: Members::default(),
            deepest: 0,
        }
    }
}

/// Documents as events of one byte each.
#[derive(Clone, Debug)]
pub struct SeedEncoder<'a> {
    queries: &'a SeedQueries,
    /// The events of all documents.
    pub events: Vec<u8>,
    /// The offset at which each document's events begin, and the end of the last.
    pub documents: Vec<u32>,
    /// The tags of the open nodes; `None` for attributes.
    open: Vec<Option<u8>>,
    members: Members,
    deepest: usize,
}

impl SeedEncoder<'_> {
    /// Ends the current document after its last event. Returns `false` if the document is too deep for the
    /// kernel's stacks; it then has no events.
    ///
    /// # Panics
    /// If there are 2³² events or more.
    pub fn finish(&mut self) -> bool {
        self.open.clear();
        self.members.end(1);
        let is_fit = std::mem::take(&mut self.deepest) < LEVELS;
        if !is_fit {
            self.events.truncate(self.documents[self.documents.len() - 1] as usize);
        }
        self.documents.push(u32::try_from(self.events.len()).expect("less than 2³² events"));
        is_fit
    }
}

impl Events for SeedEncoder<'_> {
    fn open(&mut self, name: Name<'_>) -> bool {
        let tag = |name: &[u8]| {
            let known = str::from_utf8(name).ok().and_then(|name| self.queries.tags.get(name));
            known.copied().unwrap_or(TAGS as u8)
        };
        let tag = match name {
            Name::Element(name) => Some(tag(name)),
            Name::Member(name) => {
                let (tag, level) = (tag(name), self.open.len() as u32 + 1);
                let is_first = tag == TAGS as u8 || self.members.is_first(tag.into(), level);
                Some(if is_first { tag } else { TAGS as u8 })
            }
            Name::Attribute(_) => None,
            Name::Item => Some(TAGS as u8),
        };
        self.events.extend(tag);
        self.open.push(tag);
        self.deepest = self.deepest.max(self.open.len());
        false
    }

    fn close(&mut self, _value: Value<'_>) {
        self.events.extend(self.open.pop().flatten().map(|tag| tag | 0x80));
        self.members.end(self.open.len() as u32 + 2);
    }
}
