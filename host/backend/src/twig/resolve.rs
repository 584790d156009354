//! Events as rows: which rows each node of a document passes, and whether it has others below it.

use super::rows::{ANY_ATTRIBUTE, ANY_ELEMENT, RowIx};
use super::set::{Tag, TagIx, TwigSet};
use super::values::Scratch;
use super::{Events, Name};
use warpath_lang::twig::value::Value;

/// Who is told of a document by rows.
pub trait Rows {
    /// A node begins that has others below it.
    fn enter(&mut self);
    /// A node with nothing below it has passed some rows.
    fn leaf(&mut self, rows: &[RowIx]);
    /// The last node that was entered ends, and has passed some rows.
    fn exit(&mut self, rows: &[RowIx]);
}

/// Looks up names and values.
#[derive(Clone, Debug)]
pub struct Resolver<'a, R> {
    set: &'a TwigSet,
    /// The nodes that are open: what they are called, and whether they were entered.
    open: Vec<(TagIx, bool)>,
    passed: Vec<RowIx>,
    scratch: Scratch,
    /// Who is told.
    pub rows: R,
}

impl<'a, R: Rows> Resolver<'a, R> {
    pub fn new(set: &'a TwigSet, rows: R) -> Self {
        Self { set, open: Vec::new(), passed: Vec::new(), scratch: Scratch::default(), rows }
    }

    /// Forgets the document.
    pub fn reset(&mut self) {
        self.open.clear();
    }
}

impl<R: Rows> Resolver<'_, R> {
    /// A node begins that is called so. Whether its value will be looked at.
    #[inline]
    pub fn open_tag(&mut self, tag: TagIx) -> bool {
        if let Some((_, is_entered @ false)) = self.open.last_mut() {
            *is_entered = true;
            self.rows.enter();
        }
        self.open.push((tag, false));
        let Tag { is_attribute, values, .. } = &self.set.tags[tag as usize];
        values.is_some() || self.set.any[usize::from(*is_attribute)].is_some()
    }
}

impl<R: Rows> Events for Resolver<'_, R> {
    #[inline]
    fn open(&mut self, name: Name<'_>) -> bool {
        self.open_tag(self.set.tag(name))
    }

    #[inline]
    fn close(&mut self, value: Value<'_>) {
        let Some((tag, is_entered)) = self.open.pop() else { return };
        let Self { set, passed, scratch, .. } = self;
        let Tag { is_attribute, row, values } = &set.tags[tag as usize];
        passed.clear();
        passed.push(if *is_attribute { ANY_ATTRIBUTE } else { ANY_ELEMENT });
        passed.extend(row);
        for values in values.iter().chain(&set.any[usize::from(*is_attribute)]) {
            values.passed(value, scratch, |row| passed.push(row));
        }
        if is_entered {
            self.rows.exit(&self.passed);
        } else {
            self.rows.leaf(&self.passed);
        }
    }
}
