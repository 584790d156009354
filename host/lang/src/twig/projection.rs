//! The members of JSON records that twigs name.

use warpath_core::projection::{Projection, Step};

use super::{Axis, NameTest, Twig, TwigNode};

/// Steps of a path that are followed at most. Parts of a store have no more columns below each other.
const MOST_STEPS: usize = 64;

impl Twig {
    /// Adds the values of a JSON record that decide if the twig matches: those that it compares, and the
    /// presence of others. A twig with attributes matches no JSON record, so it adds nothing.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub fn reach(&self, all: &mut Projection) {
        let is_attribute =
            |node: &TwigNode| matches!(node.name, NameTest::Attribute(_) | NameTest::AnyAttribute);
        if self.nodes.iter().any(is_attribute) {
            return;
        }
        let mut has_below = vec![false; self.nodes.len()];
        self.nodes.iter().filter_map(|node| node.parent).for_each(|parent| has_below[parent] = true);
        for (node, has_below) in self.nodes.iter().zip(has_below) {
            // A node with others below it is there if they are.
            if !has_below || !node.values.is_empty() {
                self.reach_node(node, all);
            }
        }
    }

    /// Adds the value of a node, if the node compares it, or else its presence.
    fn reach_node(&self, node: &TwigNode, all: &mut Projection) {
        let mut path = vec![node];
        while let Some(parent) = path.last().and_then(|node| node.parent) {
            path.push(&self.nodes[parent]);
        }
        let is_cut = path.len() > MOST_STEPS;
        let mut at = Some(all);
        for node in path.into_iter().rev().take(MOST_STEPS) {
            let Some(value) = at else { return };
            at = match step(node) {
                Some(step) => value.below(&step),
                // Descendants without a name can be anywhere.
                None => {
                    *value = Projection::All;
                    return;
                }
            };
        }
        let Some(at) = at else { return };
        match is_cut || !node.values.is_empty() {
            true => *at = Projection::All,
            false => at.touch(),
        }
    }
}

/// The step from a parent to a node; `None` for any descendant.
fn step(node: &TwigNode) -> Option<Step> {
    match (node.axis, &node.name) {
        (Axis::Child, NameTest::Name(name)) => Some(Step::Name(name.as_bytes().to_vec())),
        (Axis::Child, _) => Some(Step::Wildcard),
        (Axis::Descendant, NameTest::Name(name)) => Some(Step::Descendant(name.as_bytes().to_vec())),
        (Axis::Descendant, _) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twigs_reach_what_they_test() {
        for (twigs, want) in [
            (&["$"][..], "nothing"),
            (&["$.a.b"], "presence of $.a.b"),
            (&["/a[b][c = 'x']/d"], "presence of $.a.b, $.a.c, presence of $.a.d"),
            (&["$[?@.lang == 'nl']", "$.a"], "presence of $.a, $.*.lang"),
            (&["$.level == 'error' && $.user"], "$.level, presence of $.user"),
            (&["//b", "/a//b/c", "//d[. > 1]"], "presence of $.a..b.c, presence of $..b, $..d"),
            (&["/a/*", "/a[. = 1]"], "$.a"),
            (&["/a[. = 1]/b"], "$.a"),
            (&["/a", "/a/b"], "presence of $.a, presence of $.a.b"),
            (&["/a//*", "/b/*/c"], "$.a, presence of $.b.*.c"),
            (&["//*[c]"], "$"),
            // Records have no attributes.
            (&["/a[@b]", "/c[@*]", "/d"], "presence of $.d"),
        ] {
            let mut all = Projection::NONE;
            for twig in twigs {
                Twig::parse(twig).unwrap().reach(&mut all);
            }
            assert_eq!(all.to_string(), want, "{twigs:?}");
        }
    }

    #[test]
    fn long_twigs_are_followed_so_far() {
        let mut all = Projection::NONE;
        Twig::parse(&"/a".repeat(100)).unwrap().reach(&mut all);
        assert_eq!(all.to_string(), format!("${}", ".a".repeat(MOST_STEPS)));
    }
}
