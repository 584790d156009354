//! Values found in one record in memory, at the cost of the CPU's evaluation alone.
//!
//! An engine reads inputs, starts threads and keeps results in order, which takes 200 to 400 µs for an input
//! of one short record. Functions of this module evaluate one record in the caller's thread. The results are
//! those of an engine.
//!
//! ```
//! use warpath::{Find, Query};
//!
//! # fn main() -> Result<(), warpath::Error> {
//! let query = Query::compile("$.user.lang")?;
//! let message = br#"{"id": 7, "user": {"lang": "nl"}}"#;
//! for found in query.find(message)? {
//!     assert_eq!((found.text().as_ref(), found.range()), ("\"nl\"", 27..31));
//! }
//! # Ok(())
//! # }
//! ```
//!
//! # Records
//! A record is one JSON text in UTF-8, on one line or on several. A byte order mark before it is skipped. A
//! blank record has no match. An error names a fault as `<record>:line:byte: kind`. The checks are those that
//! an engine always makes ([`warpath_shared::check`]).
//!
//! # Threads and memory
//! Threads may share queries, programs and predicates. Each thread keeps the memory of its last calls.
//! Therefore the calls after the first allocate nothing, except for errors, and for patterns of `match` and
//! `search` that come from the record. The memory of a record of 1 MiB and more is freed.
//!
//! # Cost
//! Times of one call in nanoseconds, the medians of 30 rounds, on a core of an AMD EPYC with AVX-512,
//! 2026-11-24. All records were in the L1 cache.
//!
//! | record | nothing found | one name, two or three deep | `$..id` |
//! |---|---|---|---|
//! | blank | 80 | | |
//! | 200 bytes | 165 | 190 | 285 |
//! | an event of 1,003 bytes | 260 | 400 | 1,090 |
//! | a tweet of 4,529 bytes | 590 | 680 | 3,130 |
//!
//! A floor of 80 ns does not depend on the record: half of it is the evaluation of one word, the rest is the
//! memory, the search for newlines and the results. Then the whole record is checked, also after the value. A
//! record on several lines is copied, which adds 340 ns to 200 bytes and 550 ns to a tweet.
//!
//! Other ways lost, for these three records:
//!
//! * The CPU's worker (`Cpu::answer`) makes the plan for each text, and new memory for the results: 710, 940
//!   and 1,220 ns for one name, with 16 to 19 allocations.
//! * An outline always of 64 words: 640 and 910 ns for the event and the tweet.
//! * Streaming takes 370 ns for the 200 bytes, and an index takes 1,270 ns for the tweet.

mod matches;

use std::slice;
use std::sync::Arc;

use warpath_core::error::Error;
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};

pub use matches::{Match, Matches};

use crate::lease::Lease;
use crate::record::RecordMemory;

/// Evaluation over one record in memory: of a query, of the queries of a program in one pass, or of a
/// predicate. [The module](self) describes records and the memory of a call.
///
/// The first call prepares the evaluation. The other calls, and those of later clones, use it again.
///
/// ```
/// use warpath::{Find, Predicate, Program, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let record = br#"{"id": 7, "tags": ["a", "b"]}"#;
/// let query = Query::compile("$.tags[*]")?;
/// assert_eq!(query.find(record)?.count(), 2);
///
/// let program = Program::new(&[Query::compile("$.id")?, query])?;
/// let row = program.find(record)?;
/// assert_eq!(row.first(0).unwrap().bytes(), b"7");
/// assert_eq!(row.of(1).filter_map(|tag| tag.string()).collect::<Vec<_>>(), ["a", "b"]);
///
/// let predicate = Predicate::parse("$.id >= 5 and $.lang != 'nl'")?;
/// assert!(predicate.matches(record)?);
/// # Ok(())
/// # }
/// ```
pub trait Find: prepare::Prepare {
    /// Finds the values that are selected in a record: the matches of the first query, then those of the
    /// second, and so on. Matches of one query are in the order of RFC 9535.
    ///
    /// Queries of a program with a predicate have matches only in records for which the predicate is true. A
    /// predicate selects the record itself if it is true.
    ///
    /// ```
    /// use warpath::{Find, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let query = Query::compile("$.items[?@.price > 10].name")?;
    /// let record = br#"{"items": [{"name": "a", "price": 5}, {"name": "b", "price": 15}]}"#;
    /// let names: Vec<_> = query.find(record)?.filter_map(|found| found.string()).collect();
    /// assert_eq!(names, ["b"]);
    ///
    /// let error = query.find(br#"{"items": [}"#).unwrap_err();
    /// assert_eq!(error.to_string(), "<record>:1:12: closing bracket does not match the opening one");
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Input`] if the record is malformed, or longer than 2 GiB. For a predicate also the errors of
    /// [`Program::matching`].
    fn find<'r>(&self, record: &'r [u8]) -> Result<Matches<'r>, Error> {
        let prepared = self.prepared()?;
        let mut memory = Lease::<RecordMemory>::take();
        prepared.evaluate(record, &mut memory)?;
        Ok(Matches::new(record, memory, prepared.queries()))
    }

    /// Returns whether anything is selected in a record. For a predicate, this is whether it is true: a
    /// record does not match if the predicate is false or unknown ([`Predicate`]).
    ///
    /// ```
    /// use warpath::{Find, Predicate};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let predicate = Predicate::parse("$.status >= 500")?;
    /// assert!(predicate.matches(br#"{"status": 503}"#)?);
    /// assert!(!predicate.matches(br#"{"status": "unknown"}"#)?);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`find`](Self::find).
    fn matches(&self, record: &[u8]) -> Result<bool, Error> {
        Ok(self.find(record)?.next().is_some())
    }
}

impl Find for Query {}

impl Find for Program {}

impl Find for Predicate {}

/// The preparation, which only types of this library have.
mod prepare {
    use super::*;
    use crate::record::Prepared;

    pub trait Prepare {
        /// The choices that do not depend on a record.
        fn prepared(&self) -> Result<&Prepared, Error>;
    }

    impl Prepare for Query {
        #[inline]
        fn prepared(&self) -> Result<&Prepared, Error> {
            self.cache().get(|| Program::new(slice::from_ref(self)).map(Prepared::new))
        }
    }

    impl Prepare for Program {
        #[inline]
        fn prepared(&self) -> Result<&Prepared, Error> {
            self.cache().get(|| Ok(Prepared::new(self.clone())))
        }
    }

    impl Prepare for Predicate {
        #[inline]
        fn prepared(&self) -> Result<&Prepared, Error> {
            self.cache().get(|| {
                let program = Program::new(&[Query::compile("$")?])?;
                Ok(Prepared::new(program.matching(&Arc::new(self.clone()), false)?))
            })
        }
    }
}
