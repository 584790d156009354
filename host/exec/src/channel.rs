//! Results in a bounded channel.

use std::iter::FusedIterator;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::JoinHandle;

use warpath_core::cancel::CancelToken;
use warpath_core::error::Error;

/// The receiving end of a bounded channel of results, which a thread takes from their iterator.
///
/// The thread waits while the channel is full, and so do the workers. A drop cancels the work, and waits
/// until the workers have finished their partitions. [`Input::query`](crate::operators::Input::query) and the
/// other operations return iterators that may also be moved to any thread as they are.
///
/// ```
/// use std::sync::mpsc::TryRecvError;
///
/// use warpath::{Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let tweets = "{\"id\":1}\n{\"id\":2}\n".to_owned();
/// let channel = engine.bytes(tweets).query(&Query::compile("$.id")?)?.into_channel(16)?;
/// let mut ids = Vec::new();
/// loop {
///     // `recv_timeout` and `recv` are there, too, and a channel is an iterator.
///     match channel.receiver().try_recv() {
///         Ok(hit) => ids.push(hit?.text().into_owned()),
///         Err(TryRecvError::Empty) => std::thread::yield_now(),
///         Err(TryRecvError::Disconnected) => break,
///     }
/// }
/// assert_eq!(ids, ["1", "2"]);
/// # Ok(())
/// # }
/// ```
pub struct Channel<T> {
    // Dropped first, so that the thread does not wait for room.
    receiver: Receiver<T>,
    _thread: Thread,
}

/// The thread that takes results from their iterator.
struct Thread {
    token: CancelToken,
    handle: Option<JoinHandle<()>>,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.token.cancel();
        if let Some(handle) = self.handle.take() {
            // A panic of the thread has ended the channel.
            let _ = handle.join();
        }
    }
}

impl<T: Send + 'static> Channel<T> {
    /// Takes results in a thread, and holds at most `capacity` of them. The token cancels the work of the
    /// results.
    pub(crate) fn new(
        results: impl Iterator<Item = T> + Send + 'static,
        capacity: usize,
        token: CancelToken,
    ) -> Result<Self, Error> {
        let (sender, receiver) = sync_channel(capacity);
        let handle = std::thread::Builder::new()
            .name("warpath results".into())
            .spawn(move || {
                for result in results {
                    // Without a receiver the caller needs no more.
                    if sender.send(result).is_err() {
                        break;
                    }
                }
            })
            .map_err(Error::Thread)?;
        Ok(Self { receiver, _thread: Thread { token, handle: Some(handle) } })
    }
}

impl<T> Channel<T> {
    /// The receiver, for a caller that must not wait, or not for long.
    #[must_use]
    pub fn receiver(&self) -> &Receiver<T> {
        &self.receiver
    }
}

impl<T> Iterator for Channel<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv().ok()
    }
}

impl<T> FusedIterator for Channel<T> {}
