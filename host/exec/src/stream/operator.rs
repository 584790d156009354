//! The contract between an ordered stream and its operator: which task workers evaluate, and what becomes of
//! the results.

use warpath_core::error::Error;

use super::task::Task;
use super::workers::{Done, Texts, Workers};
use super::{Origin, Stats};
use crate::input::Text;

/// An operator over inputs. Workers evaluate its task; it takes the results in order.
pub trait Operator<'a> {
    /// The task of the workers.
    type Task: Task;
    /// The items that are yielded for one text.
    type Items: Iterator;

    /// Takes the result for the next text.
    fn take(&mut self, part: TextResult<'a, <Self::Task as Task>::Output>) -> Taken<Self::Items>;

    /// True if no more results are wanted. The run ends after the items that were taken.
    fn is_done(&self) -> bool {
        false
    }
}

/// The result for one text.
pub struct TextResult<'a, R> {
    pub text: Text<'a>,
    pub result: R,
    /// The input that the text belongs to.
    pub origin: Origin,
    /// The number of the text's first line in its input, counted from 0.
    pub first_line: u64,
}

/// The items of one text, with their effect on the run.
pub struct Taken<I> {
    pub items: I,
    /// The number of lines by which the line numbers of the input go on.
    pub lines: u64,
    /// The additions to the statistics: lines, matches and skipped records.
    pub counts: Stats,
    /// The error that follows the items, if the results end there.
    pub error: Option<Error>,
}

/// Starts workers one after the other, and decides which of their results are yielded.
pub(super) trait Conduct<K: Task>: Send {
    /// The next workers; `None` at the end.
    fn advance(&mut self) -> Option<Result<Workers<K>, Error>>;

    /// Takes the result of one job of the workers. An error means that nothing is taken from it.
    ///
    /// # Errors
    /// The error that ends the results.
    fn take(&mut self, done: &mut Done<'static, K::Output>) -> Result<JobOutcome<K>, Error>;

    /// Notes for the report of the run.
    fn notes(&self) -> &[String];
}

/// The outcome of a job of the workers.
pub(super) enum JobOutcome<K: Task> {
    /// The results are held, and more parts follow.
    Held,
    /// The results may be yielded.
    Given(Texts<'static, K::Output>),
    /// The document is good. These results may be yielded, and these workers continue with it; with `None`,
    /// the document is complete.
    Surveyed(Texts<'static, K::Output>, Option<Workers<K>>),
    /// The survey failed, and these workers replace the current ones.
    Instead(Workers<K>),
}
