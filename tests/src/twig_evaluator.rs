//! Evaluators of twigs that are compared with each other.

use warpath_cpu::twig::{Events, Name, TwigIx, TwigMatcher, TwigSet};
use warpath_lang::twig::{Twig, Value};

/// An evaluator that is compared with the matcher of subscriptions. Twigs are numbered as they are added.
pub trait Evaluator: Default {
    /// A reader of documents, one after the other.
    type Run<'a>: Events
    where
        Self: 'a;

    /// Adds a twig.
    fn add(&mut self, twig: &Twig);
    /// A reader that has read nothing.
    fn run(&self) -> Self::Run<'_>;
    /// Starts a document.
    fn reset(run: &mut Self::Run<'_>);
    /// The numbers of the twigs that match the document, in order.
    fn matches(run: &mut Self::Run<'_>) -> Vec<usize>;
}

/// The twigs of Warpath, with groups that are selected by their keys.
#[derive(Default)]
pub struct ByKeys(TwigSet);

impl Evaluator for ByKeys {
    type Run<'a> = TwigMatcher<'a>;

    fn add(&mut self, twig: &Twig) {
        self.0.add(twig).expect("the set has room");
    }

    fn run(&self) -> TwigMatcher<'_> {
        self.0.matcher().by_keys(true)
    }

    fn reset(run: &mut TwigMatcher<'_>) {
        run.reset();
    }

    fn matches(run: &mut TwigMatcher<'_>) -> Vec<usize> {
        let mut numbers: Vec<usize> = run.matches().map(TwigIx::number).collect();
        numbers.sort_unstable();
        numbers
    }
}

/// Passes events on to two receivers.
pub struct Both<'a, A, B>(pub &'a mut A, pub &'a mut B);

impl<A: Events, B: Events> Events for Both<'_, A, B> {
    fn open(&mut self, name: Name<'_>) -> bool {
        // Both get all events.
        self.0.open(name) | self.1.open(name)
    }

    fn close(&mut self, value: Value<'_>) {
        self.0.close(value);
        self.1.close(value);
    }
}
