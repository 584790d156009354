//! Numbers for sequences, in order of first occurrence.

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
    /// Returns the number of a sequence; a new sequence gets the next number.
    pub fn number(&mut self, thing: &[T]) -> u32 {
        if let Some(number) = self.numbers.get(thing) {
            return *number;
        }
        let (number, thing) = (self.things.len() as u32, Rc::from(thing));
        self.numbers.insert(Rc::clone(&thing), number);
        self.things.push(thing);
        number
    }

    /// Assigns the next number to a sequence that [`Self::number`] will not find.
    pub fn push(&mut self, thing: &[T]) {
        self.things.push(Rc::from(thing));
    }

    /// Returns the numbered sequences, in order.
    pub fn things(&self) -> &[Rc<[T]>] {
        &self.things
    }
}
