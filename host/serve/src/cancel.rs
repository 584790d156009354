//! The end of a question before its time.

use std::sync::{Arc, OnceLock};

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::watch;
use warpath::{CancelToken, FollowEnd};
use warpath_sql::cli::Failure as SqlFailure;

/// Ends a question before its time.
#[derive(Clone)]
pub struct Cancel {
    pub token: CancelToken,
    /// Ends the inputs that the question follows.
    pub end: FollowEnd,
    pub reason: Arc<OnceLock<String>>,
    /// Ends a statement of SQL.
    sql: UnboundedSender<SqlFailure>,
    /// Says that nobody reads the response.
    closed: Arc<watch::Sender<bool>>,
    /// True for a question that follows its inputs.
    pub is_tail: bool,
}

impl Cancel {
    pub fn new(is_tail: bool) -> (Self, UnboundedReceiver<SqlFailure>, watch::Receiver<bool>) {
        let (sql, ends) = unbounded_channel();
        let (closed, is_closed) = watch::channel(false);
        let (token, end, reason) = (CancelToken::new(), FollowEnd::default(), Arc::default());
        (Self { token, end, reason, sql, closed: Arc::new(closed), is_tail }, ends, is_closed)
    }

    /// Keeps the reason for which the question ends.
    pub fn because(&self, reason: &str) {
        let _ = self.reason.set(reason.to_owned());
    }

    /// The reason for which the question ended, if the server ended it.
    pub fn reason(&self) -> Option<&str> {
        self.reason.get().map(String::as_str)
    }

    /// True if nobody reads the response any more.
    pub fn is_closed(&self) -> bool {
        *self.closed.borrow()
    }

    /// Ends the question. The client reads why, if there is a reason.
    pub fn cancel(&self) {
        self.token.cancel();
        self.end.end();
        let reason = self.reason.get().map_or("the question was cancelled", String::as_str);
        // A question that is no statement, or has ended, receives nothing.
        let _ = self.sql.send(SqlFailure::usage(reason));
    }

    /// Ends the question, whose answer nobody reads.
    pub fn close(&self) {
        self.closed.send_replace(true);
        self.cancel();
    }
}

/// Ends a question when its response is dropped: all of it has been sent, or the client is gone.
pub struct Guard(pub Cancel);

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.close();
    }
}
