//! Numbers for sequences, in the order in which they come.

use std::collections::HashMap;
use std::hash::Hash;
use std::rc::Rc;

/// Sequences of `T`, each with a number.
pub(super) struct Numbers<T> {
    numbers: HashMap<Rc<[T]>, u32>,
    things: Vec<Rc<[T]>>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self { numbers: HashMap::new(), things: Vec::new() }
    }
}

impl<T: Copy + Eq + Hash> Numbers<T> {
    /// The number of a sequence: a new one, if it has none.
    pub fn number(&mut self, thing: &[T]) -> u32 {
        if let Some(number) = self.numbers.get(thing) {
            return *number;
        }
        let (number, thing) = (self.things.len() as u32, Rc::from(thing));
        self.numbers.insert(Rc::clone(&thing), number);
        self.things.push(thing);
        number
    }

    /// Takes the next number for a sequence that [`Self::number`] does not find.
    pub fn push(&mut self, thing: &[T]) {
        self.things.push(Rc::from(thing));
    }

    /// What has a number, in order.
    pub fn things(&self) -> &[Rc<[T]>] {
        &self.things
    }
}
