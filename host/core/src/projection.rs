//! The members of records that a program can reach.

use std::fmt::{self, Display, Formatter};

use crate::json;

/// The values of a record that some paths can reach, as a tree of names. All other members may be left out of
/// the record, and the paths select the same values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Projection {
    /// The whole value.
    All,
    /// These members of an object, with what is reached of each. Keys have their escapes resolved, and each
    /// is there once. The elements of an array share the projection of the array. A value that is neither is
    /// kept.
    Members(Vec<(Vec<u8>, Projection)>),
}

impl Projection {
    /// No member.
    pub const NONE: Self = Self::Members(Vec::new());

    /// The part of a projection that is below a member, added if it is not there yet. `None` if all of the
    /// value is reached.
    fn member(&mut self, key: &[u8]) -> Option<&mut Self> {
        let Self::Members(members) = self else { return None };
        let at = members.iter().position(|(known, _)| known == key).unwrap_or_else(|| {
            members.push((key.to_vec(), Self::NONE));
            members.len() - 1
        });
        Some(&mut members[at].1)
    }

    /// Adds what is below some members of the record, all of it.
    pub fn reach<'k>(&mut self, keys: impl IntoIterator<Item = &'k [u8]>) {
        let mut at = self;
        for key in keys {
            match at.member(key) {
                Some(member) => at = member,
                None => return,
            }
        }
        *at = Self::All;
    }

    /// Returns true if the whole record is reached.
    #[must_use]
    pub fn is_all(&self) -> bool {
        *self == Self::All
    }
}

impl Display for Projection {
    /// The paths, as in `$.id, $.user["a b"]`; `nothing` without a path.
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        fn write(at: &Projection, path: &str, paths: &mut Vec<String>) {
            match at {
                Projection::All => paths.push(path.to_owned()),
                Projection::Members(members) => {
                    for (key, below) in members {
                        let key = String::from_utf8_lossy(key);
                        let is_plain = key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
                        let step = match is_plain && !key.is_empty() {
                            true => format!(".{key}"),
                            false => format!("[{}]", json::encode(&key)),
                        };
                        write(below, &(path.to_owned() + &step), paths);
                    }
                }
            }
        }
        let mut paths = Vec::new();
        write(self, "$", &mut paths);
        if paths.is_empty() { out.write_str("nothing") } else { out.write_str(&paths.join(", ")) }
    }
}
