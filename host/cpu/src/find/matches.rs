//! The matches in one record.

use std::borrow::Cow;
use std::iter::FusedIterator;
use std::ops::Range;

use warpath_answer::answer::path::Paths;
use warpath_core::json::{self, Malformed};
use warpath_shared::kernel;

use crate::lease::Lease;
use crate::record::RecordMemory;

/// The matches in one record. Iterates over them: the matches of the first query, then those of the second,
/// and so on.
///
/// Holds memory that its thread uses again after it is dropped. [`Match`] values do not hold it.
///
/// ```
/// use warpath::{Find, Match, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let query = Query::compile("$..id")?;
/// let record = br#"{"id": 7, "user": {"id": 12}}"#;
/// let found: Vec<Match<'_>> = query.find(record)?.collect();
/// assert_eq!((found[1].bytes(), found[1].path()), (&b"12"[..], "$['user']['id']".to_owned()));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Matches<'r> {
    record: &'r [u8],
    memory: Lease<RecordMemory>,
    /// The number of queries.
    queries: usize,
    /// The query and the number of the next match.
    query: usize,
    next: usize,
}

impl<'r> Matches<'r> {
    pub(super) fn new(record: &'r [u8], memory: Lease<RecordMemory>, queries: usize) -> Self {
        Self { record, memory, queries, query: 0, next: 0 }
    }

    /// Returns the first match of a query, by the number of the query from 0. Iteration does not change the
    /// result. `None` if the query has no match.
    ///
    /// ```
    /// use warpath::{Find, Program, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let program = Program::new(&[Query::compile("$.lang")?, Query::compile("$.id")?])?;
    /// let row = program.find(br#"{"id": 7}"#)?;
    /// assert!(row.first(0).is_none());
    /// assert_eq!(row.first(1).unwrap().bytes(), b"7");
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    #[must_use]
    pub fn first(&self, query: usize) -> Option<Match<'r>> {
        self.of(query).next()
    }

    /// Iterates over the matches of one query, by the number of the query from 0. Iteration over all matches
    /// does not change the result.
    ///
    /// ```
    /// use warpath::{Find, Program, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let program = Program::new(&[Query::compile("$.id")?, Query::compile("$.tags[*]")?])?;
    /// let row = program.find(br#"{"id": 7, "tags": ["a", "b"]}"#)?;
    /// assert_eq!(row.of(1).filter_map(|tag| tag.string()).collect::<Vec<_>>(), ["a", "b"]);
    /// # Ok(())
    /// # }
    /// ```
    #[inline]
    pub fn of(&self, query: usize) -> impl Iterator<Item = Match<'r>> + '_ {
        self.list(query).iter().map(move |found| self.found(query, found))
    }

    #[inline]
    fn list(&self, query: usize) -> &[kernel::Match] {
        let list = self.memory.matches().get(query).filter(|_| query < self.queries);
        list.map_or(&[], Vec::as_slice)
    }

    #[inline]
    fn found(&self, query: usize, found: &kernel::Match) -> Match<'r> {
        let base = self.memory.base();
        Match {
            record: self.record,
            start: base + found.start as usize,
            end: base + found.end as usize,
            query: query as u32,
        }
    }
}

impl<'r> Iterator for Matches<'r> {
    type Item = Match<'r>;

    #[inline]
    fn next(&mut self) -> Option<Match<'r>> {
        while self.query < self.queries {
            if let Some(found) = self.list(self.query).get(self.next) {
                let found = self.found(self.query, found);
                self.next += 1;
                return Some(found);
            }
            (self.query, self.next) = (self.query + 1, 0);
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let all: usize = (self.query..self.queries).map(|query| self.list(query).len()).sum();
        let left = all - self.next;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Matches<'_> {}

impl FusedIterator for Matches<'_> {}

/// A value that a query selects in a record. Borrows from the record alone.
///
/// ```
/// use warpath::{Find, Program, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let program = Program::new(&[Query::compile("$.id")?, Query::compile("$.user.name")?])?;
/// let record = br#"{"id": 7, "user": {"name": "Ada \u0026 co"}}"#;
/// let name = program.find(record)?.last().unwrap();
/// assert_eq!((name.query(), name.range(), name.path()), (1, 27..42, "$['user']['name']".to_owned()));
/// assert_eq!((name.text().as_ref(), name.bytes()), (r#""Ada \u0026 co""#, &br#""Ada \u0026 co""#[..]));
/// assert_eq!(name.string().as_deref(), Some("Ada & co"));
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Match<'r> {
    record: &'r [u8],
    start: usize,
    end: usize,
    query: u32,
}

impl<'r> Match<'r> {
    /// The value's bytes in the record: its JSON text.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> &'r [u8] {
        self.record.get(self.range()).unwrap_or_default()
    }

    /// The value's JSON text as in the record. Bytes that are not UTF-8 become U+FFFD.
    #[must_use]
    pub fn text(&self) -> Cow<'r, str> {
        String::from_utf8_lossy(self.bytes())
    }

    /// The string that the value is, without quotes and with escapes resolved. `None` for a value that is not
    /// a string. Allocates only if the string has an escape or is not UTF-8.
    ///
    /// ```
    /// use warpath::{Find, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let query = Query::compile("$.*")?;
    /// let strings = query.find(br#"["a\tb", 7]"#)?.map(|found| found.string().map(String::from));
    /// assert_eq!(strings.collect::<Vec<_>>(), [Some("a\tb".to_owned()), None]);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn string(&self) -> Option<Cow<'r, str>> {
        let inside = json::inside(self.bytes())?;
        if memchr::memchr(b'\\', inside).is_none() {
            return Some(String::from_utf8_lossy(inside));
        }
        let mut decoded = Vec::new();
        json::decode(inside, Malformed::Keep, &mut decoded);
        Some(match String::from_utf8_lossy(&decoded) {
            Cow::Owned(text) => Cow::Owned(text),
            Cow::Borrowed(text) => Cow::Owned(text.to_owned()),
        })
    }

    /// The range of the value's bytes in the record.
    #[inline]
    #[must_use]
    pub fn range(&self) -> Range<usize> {
        self.start..self.end
    }

    /// The number of the query that selects the value, from 0.
    #[inline]
    #[must_use]
    pub fn query(&self) -> usize {
        self.query as usize
    }

    /// The normalised path of the value (RFC 9535, section 2.7). Walks the record up to the value.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::new();
        if memchr::memchr(b'\n', self.record).is_none() {
            Paths::new(self.record).append(self.start, &mut path);
        } else {
            // A path is found on one line. No string of a record without a fault has a newline.
            let line: Vec<u8> =
                self.record.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }).collect();
            Paths::new(&line).append(self.start, &mut path);
        }
        path
    }
}
