//! One version of a folder.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use crate::action::{Action, Entry, Table, file_of};
use crate::error::FolderError;
use crate::part::{Input, Known, Millis, Part, Position};
use crate::schema::Schema;

/// One version of a folder: its parts, its known inputs and its schema.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    version: u64,
    hash: u64,
    at: Millis,
    pub(crate) table: Table,
    parts: BTreeMap<Position, Part>,
    positions: HashMap<String, Position>,
    inputs: BTreeMap<String, Input>,
    removed: Removed,
}

/// The parts of earlier versions that a version does not have, and when they were removed. A writer of many
/// versions has many of them, and copies its version for the next one. Therefore versions share them, in a
/// few maps, of which the last one is short and changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Removed(Vec<Arc<HashMap<String, Millis>>>);

/// The most parts of the map that changes.
const MOST: usize = 256;

impl Removed {
    fn get(&self, name: &str) -> Option<Millis> {
        self.0.iter().find_map(|some| some.get(name)).copied()
    }

    fn insert(&mut self, name: String, at: Millis) {
        self.remove(&name);
        if let Some(last) = self.0.last_mut().filter(|last| last.len() < MOST) {
            Arc::make_mut(last).insert(name, at);
            return;
        }
        // A map is more than twice as long as the next one, so that there are few.
        while let [.., before, last] = &mut self.0[..]
            && before.len() <= 2 * last.len()
        {
            Arc::make_mut(before).extend(last.iter().map(|(name, at)| (name.clone(), *at)));
            self.0.pop();
        }
        self.0.push(Arc::new(HashMap::from([(name, at)])));
    }

    fn remove(&mut self, name: &str) {
        if let Some(some) = self.0.iter_mut().find(|some| some.contains_key(name)) {
            Arc::make_mut(some).remove(name);
        }
    }
}

impl Snapshot {
    /// The number of the version, from 0 on.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.version
    }

    /// The time at which the version was created, by the clock of its writer.
    #[must_use]
    pub fn at(&self) -> Millis {
        self.at
    }

    /// The schema of all parts. A part may lack fields, which are then null.
    #[must_use]
    pub fn schema(&self) -> &Schema {
        &self.table.schema
    }

    /// The parts, in the order of their rows.
    pub fn parts(&self) -> impl DoubleEndedIterator<Item = &Part> {
        self.parts.values()
    }

    /// The part of a name.
    #[must_use]
    pub fn part(&self, name: &str) -> Option<&Part> {
        self.parts.get(self.positions.get(name)?)
    }

    /// The number of rows of all parts.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.parts().fold(0, |sum, part| sum.saturating_add(part.rows))
    }

    /// The known inputs, in the order of their names.
    pub fn inputs(&self) -> impl Iterator<Item = &Input> {
        self.inputs.values()
    }

    /// The known state of the input of a name.
    #[must_use]
    pub fn input(&self, name: &str) -> Option<&Input> {
        self.inputs.get(name)
    }

    /// The relation of an input to its known state. Inputs that are [`Known::Same`] are to be passed over.
    #[must_use]
    pub fn known(&self, input: &Input) -> Known {
        input.known(self.input(&input.name))
    }

    /// The checksum of the version.
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The time at which a part was removed, if it was.
    pub(crate) fn removed(&self, name: &str) -> Option<Millis> {
        self.removed.get(name)
    }

    /// The position for a part after all others.
    pub(crate) fn end(&self) -> Option<Position> {
        Position::next(self.parts.last_key_value().map(|(position, _)| position))
    }

    /// The snapshot of the first version.
    ///
    /// # Errors
    /// If the version is malformed.
    pub(crate) fn first(entry: Entry) -> Result<Self, FolderError> {
        if entry.version != 0 || !matches!(&entry.actions[..], [Action::Protocol, Action::Table(_), ..]) {
            let what = "the first version must begin with `protocol` and `metaData`";
            return Err(malformed(&entry, 0, what));
        }
        let mut first = Self::default();
        first.take(entry)?;
        Ok(first)
    }

    /// Becomes the next version.
    ///
    /// # Errors
    /// If the version does not follow this one. The snapshot is then as before.
    pub(crate) fn apply(&mut self, entry: Entry) -> Result<(), FolderError> {
        if Some(entry.version) != self.version.checked_add(1) || entry.before != self.hash {
            return Err(malformed(&entry, 0, "this version does not follow the version before it"));
        }
        self.take(entry)
    }

    fn take(&mut self, entry: Entry) -> Result<(), FolderError> {
        self.check(&entry)?;
        (self.version, self.hash, self.at) = (entry.version, entry.hash, entry.at);
        for action in &entry.actions {
            if let Action::Remove { name, at } = action {
                if let Some(position) = self.positions.remove(name) {
                    self.parts.remove(&position);
                }
                self.removed.insert(name.clone(), *at);
            }
        }
        for action in entry.actions {
            match action {
                Action::Add(part) => {
                    self.removed.remove(&part.name);
                    self.positions.insert(part.name.clone(), part.position.clone());
                    self.parts.insert(part.position.clone(), part);
                }
                Action::Table(table) => self.table = table,
                Action::Input(input) => drop(self.inputs.insert(input.name.clone(), input)),
                Action::Protocol | Action::Remove { .. } => {}
            }
        }
        Ok(())
    }

    /// Checks that a version goes with this snapshot.
    fn check(&self, entry: &Entry) -> Result<(), FolderError> {
        let (mut removed, mut added, mut positions) = (HashSet::new(), HashSet::new(), HashSet::new());
        for (index, action) in entry.actions.iter().enumerate() {
            if let Action::Remove { name, .. } = action
                && !(self.positions.contains_key(name) && removed.insert(name.as_str()))
            {
                return Err(malformed(entry, index, &format!("part `{name}` is removed, but not there")));
            }
        }
        for (index, action) in entry.actions.iter().enumerate() {
            let Action::Add(part) = action else { continue };
            let name = part.name.as_str();
            if self.positions.contains_key(name) || !added.insert(name) {
                return Err(malformed(entry, index, &format!("part `{name}` is added, but there already")));
            }
            let other = self.parts.get(&part.position).filter(|other| !removed.contains(other.name.as_str()));
            if other.is_some() || !positions.insert(&part.position) {
                let what = format!("part `{name}` has the position of another part, {}", part.position);
                return Err(malformed(entry, index, &what));
            }
        }
        Ok(())
    }
}

/// The error for an action of a version. The first action is on the second line.
fn malformed(entry: &Entry, action: usize, what: &str) -> FolderError {
    FolderError::Malformed { file: file_of(entry.version), line: action + 2, what: what.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_share_removed_parts() {
        let name = |number: i64| format!("part-{number}");
        let mut removed = Removed::default();
        (0..1000).for_each(|number| removed.insert(name(number), Millis(number)));
        let old = removed.clone();
        removed.insert(name(999), Millis(0));
        removed.insert(name(1000), Millis(1000));
        let shared = old.0.iter().zip(&removed.0).filter(|(one, other)| Arc::ptr_eq(one, other));
        assert_eq!((old.0.len(), shared.count()), (2, 1));
        removed.remove(&name(7));
        assert!((0..1000).all(|number| old.get(&name(number)) == Some(Millis(number))));
        assert_eq!(
            [7, 8, 999, 1000, 1001].map(|number| removed.get(&name(number))),
            [None, Some(Millis(8)), Some(Millis(0)), Some(Millis(1000)), None]
        );
        (1001..30_000).for_each(|number| removed.insert(name(number), Millis(number)));
        assert!(removed.0.len() < 9, "{}", removed.0.len());
        assert!((1000..30_000).all(|number| removed.get(&name(number)) == Some(Millis(number))));
    }
}
