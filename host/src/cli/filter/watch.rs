//! Subscriptions that change while they are asked.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, SystemTime};

use warpath::twig::{Standing, SubscriptionError, Subscriptions};

use super::super::ui::Ui;
use super::{tell, text_of};

/// How often a file is looked at.
const INTERVAL: Duration = Duration::from_millis(100);

/// Reads a file of subscriptions again whenever it changes, until it is dropped.
pub struct Watch {
    /// Dropped first, which ends the thread.
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watch {
    /// `known` is from before it was read.
    pub fn start(path: &Path, mut known: Option<Stamp>, standing: &Standing, ui: &Ui) -> Self {
        let (stop, stopped) = channel();
        let (path, standing, ui) = (path.to_owned(), standing.clone(), ui.clone());
        let thread = thread::spawn(move || {
            // What is being written is read when it looks the same twice.
            let mut before = known;
            while stopped.recv_timeout(INTERVAL) == Err(RecvTimeoutError::Timeout) {
                let now = Stamp::of(&path);
                if now.is_some() && now != known && now == before {
                    known = now;
                    read_again(&path, &standing, &ui);
                }
                before = now;
            }
        });
        Self { stop: Some(stop), thread: Some(thread) }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop = None;
        // A panic has been told already.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// What changes when a file is written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Stamp(SystemTime, u64);

impl Stamp {
    /// That of a file, if it is there.
    pub fn of(path: &Path) -> Option<Self> {
        let metadata = path.metadata().ok()?;
        Some(Self(metadata.modified().ok()?, metadata.len()))
    }
}

fn read_again(path: &Path, standing: &Standing, ui: &Ui) {
    let text = match text_of(path) {
        Ok(text) => text,
        Err(failure) => return failure.report(ui),
    };
    let (errors, (added, removed)) = standing.change(|subscriptions| change(subscriptions, &text));
    tell(path, &errors, ui);
    let count = standing.current().len();
    ui.note(format_args!("{}: {added} added, {removed} removed, {count} in all", path.display()));
}

/// Makes subscriptions those of a text, and says what is wrong with lines of it, and how many were added and removed. What stays is not compiled anew.
fn change(subscriptions: &mut Subscriptions, text: &str) -> (Vec<SubscriptionError>, (usize, usize)) {
    let mut wanted = Subscriptions::default();
    let errors = wanted.add_file(text);
    let all = |of: &Subscriptions| -> Vec<(String, String)> {
        of.ids()
            .enumerate()
            .map(|(at, id)| (id.to_owned(), of.query(at).unwrap_or_default().to_owned()))
            .collect()
    };
    let (before, wanted) = (all(subscriptions), all(&wanted));
    let by_id: HashMap<&str, &str> = wanted.iter().map(|(id, query)| (id.as_str(), query.as_str())).collect();
    let (mut added, mut removed, mut kept) = (0, 0, HashSet::new());
    for (id, query) in &before {
        if by_id.get(id.as_str()) == Some(&query.as_str()) {
            kept.insert(id.as_str());
        } else {
            removed += usize::from(subscriptions.remove(id));
        }
    }
    for (id, query) in wanted.iter().filter(|(id, _)| !kept.contains(id.as_str())) {
        // It could be added a moment ago.
        added += usize::from(subscriptions.add(id, query).is_ok());
    }
    (errors, (added, removed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_not_added_again() {
        let mut subscriptions = Subscriptions::default();
        subscriptions.add_file("a\t/a\nb\t/b\nc\t/c\n");
        let (errors, counts) = change(&mut subscriptions, "c\t/c\nb\t/x\nd\t/d\ne\t/[\n");
        assert_eq!((errors.len(), counts), (1, (2, 2)));
        let all: Vec<_> = subscriptions.ids().zip((0..).map_while(|at| subscriptions.query(at))).collect();
        assert_eq!(all, [("c", "/c"), ("b", "/x"), ("d", "/d")]);
    }
}
