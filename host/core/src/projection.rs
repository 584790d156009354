//! The members of records that a program can reach.

use std::fmt::{self, Display, Formatter};

use crate::json;

/// A step of a path.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// The member of an object with this key, whose escapes are resolved.
    Name(Vec<u8>),
    /// Some elements of an array.
    Element,
    /// All members of an object, or all elements of an array.
    Wildcard,
    /// The member with this key of each object at any depth, the value itself included.
    Descendant(Vec<u8>),
}

/// The values of a record that some paths can reach, as a tree of steps. All others may be left out of the
/// record, and the paths select the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// The whole value.
    All,
    /// Some of what is inside the value.
    Inside(Inside),
}

/// The values inside a value that some paths can reach. A step may reach a value that another step reaches,
/// too. Then the value needs what is reached of it by each step. Each key is there once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Inside {
    /// True if it matters that the value is there, whatever it is.
    pub present: bool,
    /// Members of an object, with what is reached of each.
    pub names: Vec<(Vec<u8>, Projection)>,
    /// The part that is reached of the elements of an array.
    pub elements: Option<Box<Projection>>,
    /// The part that is reached of all members of an object, and of all elements of an array.
    pub each: Option<Box<Projection>>,
    /// Members of objects at any depth, with what is reached of each.
    pub deep: Vec<(Vec<u8>, Projection)>,
}

impl Inside {
    /// Returns true if nothing inside the value is reached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        let Self { present: _, names, elements, each, deep } = self;
        names.is_empty() && elements.is_none() && each.is_none() && deep.is_empty()
    }
}

impl Projection {
    /// No member.
    pub const NONE: Self = Self::Inside(Inside {
        present: false,
        names: Vec::new(),
        elements: None,
        each: None,
        deep: Vec::new(),
    });

    /// The part of a projection that is below a step, added if it is not there yet. `None` if all of the
    /// value is reached.
    pub fn below(&mut self, step: &Step) -> Option<&mut Self> {
        let Self::Inside(inside) = self else { return None };
        let by_key = |members: &'_ mut Vec<(Vec<u8>, Self)>, key: &[u8]| {
            members.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
                members.push((key.to_vec(), Self::NONE));
                members.len() - 1
            })
        };
        let none = || Box::new(Self::NONE);
        Some(match step {
            Step::Name(key) => {
                let at = by_key(&mut inside.names, key);
                &mut inside.names[at].1
            }
            Step::Descendant(key) => {
                let at = by_key(&mut inside.deep, key);
                &mut inside.deep[at].1
            }
            Step::Element => inside.elements.get_or_insert_with(none),
            Step::Wildcard => inside.each.get_or_insert_with(none),
        })
    }

    /// Adds the values that a path selects, all of each.
    pub fn reach<'s>(&mut self, path: impl IntoIterator<Item = &'s Step>) {
        let mut at = self;
        for step in path {
            match at.below(step) {
                Some(below) => at = below,
                None => return,
            }
        }
        *at = Self::All;
    }

    /// Adds the values that another projection reaches.
    pub fn merge(&mut self, other: &Self) {
        let Self::Inside(other) = other else {
            *self = Self::All;
            return;
        };
        if let Self::Inside(inside) = self {
            inside.present |= other.present;
        }
        let names = other.names.iter().map(|(key, below)| (Step::Name(key.clone()), below));
        let deep = other.deep.iter().map(|(key, below)| (Step::Descendant(key.clone()), below));
        let elements = other.elements.iter().map(|below| (Step::Element, &**below));
        let each = other.each.iter().map(|below| (Step::Wildcard, &**below));
        for (step, below) in names.chain(deep).chain(elements).chain(each) {
            if let Some(own) = self.below(&step) {
                own.merge(below);
            }
        }
    }

    /// Adds the presence of a value.
    pub fn touch(&mut self) {
        if let Self::Inside(inside) = self {
            inside.present = true;
        }
    }

    /// Returns true if the presence of the value matters, whatever it is.
    #[must_use]
    pub fn is_end(&self) -> bool {
        match self {
            Self::All => true,
            Self::Inside(inside) => inside.present,
        }
    }

    /// The number of steps of all paths, of which common ones count once.
    #[must_use]
    pub fn size(&self) -> usize {
        let Self::Inside(inside) = self else { return 0 };
        let members = inside.names.iter().chain(&inside.deep).map(|(_, below)| below);
        let others = [&inside.elements, &inside.each].into_iter().flatten().map(|below| &**below);
        members.chain(others).map(|below| 1 + below.size()).sum()
    }

    /// Returns true if the whole record is reached.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }

    /// Appends the paths of a projection to `paths`. `path` leads to it.
    fn write(&self, path: &str, paths: &mut Vec<String>) {
        let Self::Inside(inside) = self else { return paths.push(path.to_owned()) };
        if inside.present {
            paths.push(format!("presence of {path}"));
        }
        for (dots, brackets, members) in [(".", "", &inside.names), ("..", "..", &inside.deep)] {
            for (key, below) in members {
                let key = String::from_utf8_lossy(key);
                let is_plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let step = match is_plain && !key.is_empty() {
                    true => format!("{dots}{key}"),
                    false => format!("{brackets}[{}]", json::encode(&key)),
                };
                below.write(&(path.to_owned() + &step), paths);
            }
        }
        for (step, below) in [("[:]", &inside.elements), (".*", &inside.each)] {
            below.iter().for_each(|below| below.write(&(path.to_owned() + step), paths));
        }
    }
}

impl Display for Projection {
    /// The paths, as in `$.id, $.user["a b"], $.tags[:], presence of $..url`; `nothing` without a path.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let mut paths = Vec::new();
        self.write("$", &mut paths);
        if paths.is_empty() { out.write_str("nothing") } else { out.write_str(&paths.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn projections_print_as_paths() {
        let name = |key: &str| Step::Name(key.into());
        let deep = |key: &str| Step::Descendant(key.into());
        let mut projection = Projection::NONE;
        assert_eq!(projection.to_string(), "nothing");
        for path in [
            &[name("a"), name("b c")][..],
            &[name("a"), Step::Wildcard, name("d")],
            &[name("a"), Step::Element],
            &[deep("id_str")],
            &[deep("e f"), Step::Wildcard],
            &[name("a"), name("b c"), name("no more")],
        ] {
            projection.reach(path);
        }
        assert_eq!(projection.to_string(), "$.a[\"b c\"], $.a[:], $.a.*.d, $..id_str, $..[\"e f\"].*");
        projection.reach(&[]);
        assert!(projection.is_all());
        assert_eq!(projection.to_string(), "$");
    }

    #[test]
    fn projections_are_merged() {
        let (a, b, deep) = (Step::Name("a".into()), Step::Name("b".into()), Step::Descendant("c".into()));
        let (mut one, mut other) = (Projection::NONE, Projection::NONE);
        one.reach(&[a.clone(), b.clone()]);
        other.below(&a).unwrap().touch();
        other.reach(&[deep, Step::Wildcard]);
        other.reach(&[b, Step::Element]);
        one.merge(&other);
        assert_eq!(one.to_string(), "presence of $.a, $.a.b, $.b[:], $..c.*");
        // A value of which all is reached needs no more.
        one.reach(&[a]);
        one.merge(&other);
        assert_eq!(one.to_string(), "$.a, $.b[:], $..c.*");
        one.merge(&Projection::All);
        one.merge(&other);
        assert!(one.is_all() && one.is_end() && !other.is_end());
    }
}
