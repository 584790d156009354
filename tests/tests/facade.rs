//! The facade of the library: it has few names, an example for each of them, and room to grow.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Fields, Item};
use warpath_random::table::texts;

use crate::sources::{Name, Sources, attributes, is_shown};

/// The most names that the facade may have. A name more needs a reason, and a higher number here.
const MOST_NAMES: usize = 162;

/// The names that are exceptions to the rules here, each with the reason. A section has the exceptions to one
/// rule.
const EXCEPTIONS: &str = include_str!("../data/facade.txt");

#[test]
fn names_are_few() {
    let names = Sources::read().names();
    let paths: BTreeSet<&str> = names.iter().map(|name| name.path.as_str()).collect();
    assert_eq!(paths.len(), names.len(), "a name twice");
    assert!(names.len() <= MOST_NAMES, "{} names; at most {MOST_NAMES} are allowed", names.len());
}

#[test]
fn each_name_has_an_example_that_runs() {
    let names = Sources::read().names();
    let missing = names.iter().filter(|name| example(&name.docs) < Example::Compiled);
    let missing: Vec<&str> = missing.map(|name| name.path.as_str()).collect();
    assert!(missing.is_empty(), "names without an example: {missing:#?}");
    let bad = differences("not run", &names, |name| example(&name.docs) != Example::Run);
    assert!(bad.is_empty(), "names whose example does not run, or listed wrongly: {bad:#?}");
}

#[test]
fn enums_and_open_structs_can_grow() {
    let sources = Sources::read();
    let names = sources.names();
    let bad = differences("complete", &names, |name| {
        let item = sources.item(name.item);
        let may_be_made = match item {
            Item::Enum(_) => true,
            Item::Struct(item) => {
                !matches!(item.fields, Fields::Unit)
                    && item.fields.iter().all(|field| is_shown(&field.vis, &field.attrs))
            }
            _ => false,
        };
        may_be_made && !attributes(item).iter().any(|attribute| attribute.path().is_ident("non_exhaustive"))
    });
    assert!(bad.is_empty(), "to be marked `#[non_exhaustive]`, or listed wrongly: {bad:#?}");
}

#[test]
fn structs_have_methods_in_place_of_fields() {
    let sources = Sources::read();
    let names = sources.names();
    let bad = differences("open", &names, |name| match sources.item(name.item) {
        Item::Struct(item) => item.fields.iter().any(|field| is_shown(&field.vis, &field.attrs)),
        _ => false,
    });
    assert!(bad.is_empty(), "structs with public fields, or listed wrongly: {bad:#?}");
}

/// The example of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Example {
    None,
    Compiled,
    Run,
}

/// The best example in lines of documentation.
fn example(docs: &[String]) -> Example {
    let (mut best, mut is_inside) = (Example::None, false);
    for line in docs {
        let Some(info) = line.trim().strip_prefix("```") else { continue };
        is_inside = !is_inside;
        if is_inside {
            best = best.max(match info {
                "" | "rust" => Example::Run,
                "no_run" | "rust,no_run" => Example::Compiled,
                _ => Example::None,
            });
        }
    }
    best
}

/// The names that are in a section of the exceptions and should not be, or are not and should be.
fn differences<'n>(section: &str, names: &'n [Name], belongs: impl Fn(&Name) -> bool) -> Vec<&'n str> {
    let listed: BTreeMap<String, String> =
        texts(EXCEPTIONS, section).into_iter().map(|[name, reason]| (name, reason)).collect();
    let paths: BTreeSet<&str> = names.iter().map(|name| name.path.as_str()).collect();
    for (name, reason) in &listed {
        assert!(paths.contains(name.as_str()), "no name `{name}`: {reason}");
    }
    let differs = |name: &&Name| belongs(name) != listed.contains_key(&name.path);
    names.iter().filter(differs).map(|name| name.path.as_str()).collect()
}
