//! Results as an asynchronous stream (feature `async`).

use std::pin::Pin;
use std::task::{Context, Poll};

use warpath_core::error::Error;

use super::Ordered;
use super::operator::Operator;

/// Results as a [`Stream`](futures_core::Stream), for any runtime. See [`Ordered::into_stream`].
///
/// Workers evaluate in their own threads, and wake the task when a result is there. They wait when they are
/// far ahead of it. Without workers, each poll evaluates some partitions. A drop cancels the work, and waits
/// until the workers have finished their partitions.
///
/// ```
/// # #[cfg(feature = "async")]
/// # fn main() -> Result<(), warpath::Error> {
/// use futures::StreamExt;
/// use warpath::{Engine, Query};
///
/// let engine = Engine::builder().build()?;
/// let mut hits = engine.bytes("{\"id\":1}\n").query(&Query::compile("$.id")?)?.into_stream();
/// assert_eq!(pollster::block_on(hits.next()).unwrap()?.text(), "1");
/// assert_eq!(hits.results().stats().matches, 1);
/// # Ok(())
/// # }
/// # #[cfg(not(feature = "async"))]
/// # fn main() {}
/// ```
pub struct AsyncResults<'a, O: Operator<'a>>(Ordered<'a, O>);

// No field is ever pinned.
impl<'a, O: Operator<'a>> Unpin for AsyncResults<'a, O> {}

impl<'a, O: Operator<'a>> Ordered<'a, O> {
    /// The results as a [`Stream`](futures_core::Stream), which does not wait where it is polled.
    ///
    /// Bytes in memory that need no threads ([`Engine::bytes`](crate::engine::Engine::bytes)) are evaluated
    /// where the stream is polled, a partition at a time, or several if they are borrowed. A deadline is
    /// noticed with the next result, or by a worker that waits for its input.
    ///
    /// ```
    /// # #[cfg(feature = "async")]
    /// # fn main() -> Result<(), warpath::Error> {
    /// use futures::TryStreamExt;
    /// use warpath::{Engine, Query};
    ///
    /// let engine = Engine::builder().build()?;
    /// let tweets = std::io::Cursor::new("{\"id\":1}\n{\"id\":2}\n");
    /// let hits = engine.reader("tweets", tweets).query(&Query::compile("$.id")?)?.into_stream();
    /// let hits: Vec<_> = pollster::block_on(hits.try_collect())?;
    /// assert_eq!(hits[1].text(), "2");
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "async"))]
    /// # fn main() {}
    /// ```
    #[must_use]
    pub fn into_stream(self) -> AsyncResults<'a, O> {
        AsyncResults(self)
    }
}

impl<'a, O: Operator<'a>> AsyncResults<'a, O> {
    /// The results, for their statistics and their plan.
    #[must_use]
    pub fn results(&self) -> &Ordered<'a, O> {
        &self.0
    }
}

impl<'a, O: Operator<'a>> futures_core::Stream for AsyncResults<'a, O> {
    type Item = Result<<O::Items as Iterator>::Item, Error>;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().0.poll(context)
    }
}

#[cfg(feature = "arrow")]
mod batches {
    use arrow_array::RecordBatch;
    use arrow_schema::{ArrowError, SchemaRef};
    use warpath_answer::columns::Tally;

    use super::{Context, Pin, Poll};
    use crate::record_batches::RecordBatches;
    use crate::stream::Answers;

    /// Record batches as a [`Stream`](futures_core::Stream). See [`RecordBatches::into_stream`].
    ///
    /// ```
    /// # #[cfg(feature = "async")]
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use futures::TryStreamExt;
    /// use warpath::columns::{ColumnType, Schema};
    /// use warpath::{Engine, Query};
    ///
    /// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
    /// let input = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":2}\n");
    /// let batches: Vec<_> =
    ///     pollster::block_on(input.record_batches(&schema).into_stream().try_collect())?;
    /// assert_eq!(batches[0].num_rows(), 2);
    /// # Ok(())
    /// # }
    /// # #[cfg(not(feature = "async"))]
    /// # fn main() {}
    /// ```
    pub struct AsyncBatches<'a>(RecordBatches<'a>);

    // No field is ever pinned.
    impl Unpin for AsyncBatches<'_> {}

    impl<'a> RecordBatches<'a> {
        /// The batches as a [`Stream`](futures_core::Stream), as with
        /// [`Ordered::into_stream`](crate::stream::Ordered::into_stream).
        #[must_use]
        pub fn into_stream(self) -> AsyncBatches<'a> {
            AsyncBatches(self)
        }
    }

    impl<'a> AsyncBatches<'a> {
        /// The schema of all batches.
        #[must_use]
        pub fn schema(&self) -> SchemaRef {
            arrow_array::RecordBatchReader::schema(&self.0)
        }

        /// The underlying iterator, for its statistics and its plan.
        #[must_use]
        pub fn answers(&self) -> &Answers<'a> {
            self.0.answers()
        }

        /// The values that columns did not take, as [`RecordBatches::losses`] has them.
        #[must_use]
        pub fn losses(&self) -> &Tally {
            self.0.losses()
        }
    }

    impl futures_core::Stream for AsyncBatches<'_> {
        type Item = Result<RecordBatch, ArrowError>;

        fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
            self.get_mut().0.poll(context)
        }
    }
}

#[cfg(feature = "arrow")]
pub use batches::AsyncBatches;
