//! Ends of work before its time: cancellation by another thread, and deadlines.

use std::cell::RefCell;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Instant;

use crate::error::Error;

/// Cancels work from any thread. Clones cancel the same work.
///
/// Results that are waited for end at once with [`Error::Cancelled`]. Workers finish the partition that they
/// evaluate, and take no other. A read that waits for its input cannot be interrupted: its thread stays until
/// the read returns, and owns nothing but the input.
///
/// ```
/// use warpath::{CancelToken, Engine, Error, Query};
///
/// # fn main() -> Result<(), Error> {
/// let token = CancelToken::new();
/// let input = Engine::builder().build()?.bytes("{\"a\":1}\n{\"a\":2}\n").cancel(&token);
/// let mut hits = input.query(&Query::compile("$.a")?)?;
/// assert_eq!(hits.next().unwrap()?.text(), "1");
/// // Usually another thread does this.
/// token.cancel();
/// assert!(matches!(hits.next(), Some(Err(Error::Cancelled))));
/// assert!(hits.next().is_none());
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct CancelToken(Arc<Inner>);

#[derive(Default)]
struct Inner {
    is_cancelled: AtomicBool,
    /// The work that is woken.
    waiting: Mutex<Vec<Weak<dyn Wakes>>>,
}

/// Work that waits, and looks at its token when it is woken.
pub(crate) trait Wakes: Send + Sync {
    fn wake(&self);
}

impl CancelToken {
    /// A token that is not cancelled.
    ///
    /// ```
    /// let token = warpath_core::cancel::CancelToken::new();
    /// assert!(!token.is_cancelled());
    /// ```
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Cancels the work of this token, now and later. A second call has no effect.
    ///
    /// ```
    /// let token = warpath_core::cancel::CancelToken::new();
    /// token.cancel();
    /// token.cancel();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancel(&self) {
        // Release: what this thread did before is visible to a thread that sees the flag.
        self.0.is_cancelled.store(true, Ordering::Release);
        let waiting = std::mem::take(&mut *self.waiting());
        // Not under the lock, because a waker may run any code.
        waiting.iter().filter_map(Weak::upgrade).for_each(|work| work.wake());
    }

    /// True once [`cancel`](Self::cancel) was called.
    ///
    /// ```
    /// let token = warpath_core::cancel::CancelToken::new();
    /// token.clone().cancel();
    /// assert!(token.is_cancelled());
    /// ```
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.is_cancelled.load(Ordering::Acquire)
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Vec<Weak<dyn Wakes>>> {
        self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes some work at the cancellation. Work that began after it looks at the token first.
    pub(crate) fn wakes(&self, work: Weak<dyn Wakes>) {
        let mut waiting = self.waiting();
        // The list of a token that lives long does not grow with the work that has ended.
        if waiting.len() == waiting.capacity() {
            waiting.retain(|work| work.strong_count() > 0);
        }
        waiting.push(work);
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("CancelToken").field(&self.is_cancelled()).finish()
    }
}

/// The reasons for which some work ends before its time.
#[derive(Clone, Debug, Default)]
pub struct Interrupt {
    /// The token of this work alone.
    own: CancelToken,
    tokens: Vec<CancelToken>,
    deadline: Option<Instant>,
}

impl Interrupt {
    /// The same reasons for other work, with a token of its own.
    #[must_use]
    pub fn for_other_work(&self) -> Self {
        Self { own: CancelToken::new(), ..self.clone() }
    }

    /// The token of this work alone.
    #[must_use]
    pub fn token(&self) -> &CancelToken {
        &self.own
    }

    /// Adds a token.
    pub fn add_token(&mut self, token: &CancelToken) {
        self.tokens.push(token.clone());
    }

    /// Adds a deadline. The earliest of several counts.
    pub fn add_deadline(&mut self, deadline: Instant) {
        self.deadline = Some(self.deadline.map_or(deadline, |before| before.min(deadline)));
    }

    /// The deadline, if there is one.
    #[must_use]
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// True if a token is cancelled. This is cheaper than [`reason`](Self::reason), which reads a clock if
    /// there is a deadline.
    #[inline]
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.own.is_cancelled() || self.tokens.iter().any(CancelToken::is_cancelled)
    }

    /// The error with which the work ends now; `None` if it goes on.
    #[must_use]
    pub fn reason(&self) -> Option<Error> {
        if self.is_cancelled() {
            return Some(Error::Cancelled);
        }
        self.deadline.filter(|deadline| *deadline <= Instant::now()).map(|_| Error::DeadlineExceeded)
    }

    /// Ends with the reason, if there is one.
    ///
    /// # Errors
    /// [`Error::Cancelled`] or [`Error::DeadlineExceeded`].
    pub fn check(&self) -> Result<(), Error> {
        self.reason().map_or(Ok(()), Err)
    }

    /// Wakes some work when a token is cancelled.
    pub(crate) fn wakes(&self, work: &Weak<dyn Wakes>) {
        self.own.wakes(work.clone());
        self.tokens.iter().for_each(|token| token.wakes(work.clone()));
    }
}

/// The end of some work, as its threads see it: no more results are wanted, or the work is interrupted.
#[derive(Debug, Default)]
pub struct Stop {
    flag: AtomicBool,
    interrupt: Interrupt,
}

impl Stop {
    /// The end of work that an interrupt ends, too.
    #[must_use]
    pub fn new(interrupt: Interrupt) -> Self {
        Self { flag: AtomicBool::new(false), interrupt }
    }

    /// Ends the work.
    pub fn set(&self) {
        self.flag.store(true, Ordering::Relaxed);
    }

    /// True if the work ends.
    #[must_use]
    pub fn is_set(&self) -> bool {
        self.flag.load(Ordering::Relaxed) || self.interrupt.reason().is_some()
    }

    /// The reasons for which the work ends before its time.
    #[must_use]
    pub fn interrupt(&self) -> &Interrupt {
        &self.interrupt
    }
}

thread_local! {
    /// The end of the work that this thread does.
    static CURRENT: RefCell<Option<Arc<Stop>>> = const { RefCell::new(None) };
}

/// Work of this thread, until the value is dropped.
pub struct Working(Option<Arc<Stop>>);

impl Working {
    /// Lets [`is_stopped`] say when the work ends.
    #[must_use]
    pub fn until(stop: &Arc<Stop>) -> Self {
        Self(CURRENT.replace(Some(stop.clone())))
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// True if the work that this thread does is to end. Evaluation that may take long on one record calls it
/// now and then, and then returns what it has: results after the end are not looked at.
#[must_use]
pub fn is_stopped() -> bool {
    CURRENT.with_borrow(|current| current.as_ref().is_some_and(|stop| stop.is_set()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::time::Duration;

    use super::*;

    #[derive(Default)]
    struct Woken(AtomicUsize);

    impl Wakes for Woken {
        fn wake(&self) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_token_wakes_work_that_is_there() {
        let (token, here) = (CancelToken::new(), Arc::new(Woken::default()));
        let weak: Weak<dyn Wakes> = Arc::downgrade(&here) as _;
        for _ in 0..1000 {
            let gone: Arc<dyn Wakes> = Arc::new(Woken::default());
            token.wakes(Arc::downgrade(&gone));
        }
        assert!(token.waiting().len() < 10, "work that has ended is forgotten");
        token.wakes(weak);
        assert!(!token.is_cancelled());
        token.clone().cancel();
        token.cancel();
        assert!(token.is_cancelled());
        assert_eq!(here.0.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn the_earliest_deadline_counts_and_a_token_comes_first() {
        let now = Instant::now();
        let (mut interrupt, token) = (Interrupt::default(), CancelToken::new());
        assert!(interrupt.check().is_ok());
        interrupt.add_deadline(now + Duration::from_secs(1 << 20));
        interrupt.add_token(&token);
        assert!(interrupt.check().is_ok());
        interrupt.add_deadline(now);
        interrupt.add_deadline(now + Duration::from_secs(1 << 20));
        assert_eq!(interrupt.deadline(), Some(now));
        assert!(matches!(interrupt.check(), Err(Error::DeadlineExceeded)));
        let stop = Stop::new(interrupt.clone());
        assert!(stop.is_set());
        token.cancel();
        assert!(matches!(interrupt.check(), Err(Error::Cancelled)));
    }
}
