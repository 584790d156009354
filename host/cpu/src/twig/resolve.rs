//! Events as rows: the rows that each node of a document passes, and whether it has others below it.

use warpath_lang::twig::value::Value;

use super::members::Members;
use super::rows::{ANY_ATTRIBUTE, ANY_ELEMENT, RowIx};
use super::set::{OTHER, Tag, TagIx, TwigSet};
use super::values::Scratch;
use super::{Events, Name};

/// Receives the events of a document as rows.
pub trait RowSink {
    /// Begins a node that has others below it.
    fn enter(&mut self);
    /// Reports the rows that a node with nothing below it passed.
    fn leaf(&mut self, rows: &[RowIx]);
    /// Ends the node that was entered last, and reports the rows that it passed.
    fn exit(&mut self, rows: &[RowIx]);
}

/// Looks up names and values.
#[derive(Clone, Debug)]
pub struct Resolver<'a, R> {
    set: &'a TwigSet,
    pub memory: ResolverMemory,
    /// The receiver of the rows.
    pub rows: R,
}

/// The memory of a resolver, which belongs to no set.
#[derive(Clone, Debug, Default)]
pub struct ResolverMemory {
    /// The tags of the open nodes, and whether each was entered.
    open: Vec<(TagIx, bool)>,
    members: Members,
    passed: Vec<RowIx>,
    scratch: Scratch,
}

impl<'a, R: RowSink> Resolver<'a, R> {
    pub fn new(set: &'a TwigSet, rows: R, memory: ResolverMemory) -> Self {
        Self { set, memory, rows }
    }

    /// Drops the current document.
    pub fn reset(&mut self) {
        self.memory.open.clear();
        self.memory.members.end(1);
    }
}

impl<R: RowSink> Resolver<'_, R> {
    /// Begins a node with this tag. Returns whether the node's value is needed.
    #[inline]
    pub fn open_tag(&mut self, tag: TagIx) -> bool {
        let open = &mut self.memory.open;
        if let Some((_, is_entered @ false)) = open.last_mut() {
            *is_entered = true;
            self.rows.enter();
        }
        open.push((tag, false));
        let Tag { is_attribute, values, .. } = &self.set.tags[tag as usize];
        values.is_some() || self.set.any[usize::from(*is_attribute)].is_some()
    }
}

impl<R: RowSink> Events for Resolver<'_, R> {
    #[inline]
    fn open(&mut self, name: Name<'_>) -> bool {
        let mut tag = self.set.tag(name);
        let ResolverMemory { open, members, .. } = &mut self.memory;
        if matches!(name, Name::Member(_)) && tag != OTHER && !members.is_first(tag, open.len() as u32 + 1) {
            tag = OTHER;
        }
        self.open_tag(tag)
    }

    #[inline]
    fn close(&mut self, value: Value<'_>) {
        let Self { set, memory: ResolverMemory { open, members, passed, scratch }, rows } = self;
        let Some((tag, is_entered)) = open.pop() else { return };
        if is_entered {
            members.end(open.len() as u32 + 2);
        }
        let Tag { is_attribute, row, values } = &set.tags[tag as usize];
        passed.clear();
        passed.push(if *is_attribute { ANY_ATTRIBUTE } else { ANY_ELEMENT });
        passed.extend(row);
        for values in values.iter().chain(&set.any[usize::from(*is_attribute)]) {
            values.passed(value, scratch, |row| passed.push(row));
        }
        if is_entered {
            rows.exit(passed);
        } else {
            rows.leaf(passed);
        }
    }
}
