//! The facade of the library: it has few names, an example for each of them, and room to grow.

use std::collections::{BTreeMap, BTreeSet};

use syn::{Fields, Item};

use crate::sources::{Name, Sources, attributes, is_shown};

/// The most names that the facade may have. A name more needs a reason, and a higher number here.
const MOST_NAMES: usize = 149;

/// The names whose example does not run, with the reason.
const NOT_RUN: &[(&str, &str)] = &[
    ("columns::ArrowDeviceArray", NO_DEVICE),
    ("columns::DeviceBatch", NO_DEVICE),
    ("columns::DeviceBatches", NO_DEVICE),
    ("columns::DeviceValues", NO_DEVICE),
    ("cuda::DeviceInfo", NO_DEVICE),
];

/// The reason of what only a device makes.
const NO_DEVICE: &str = "a machine without a driver has no device";

/// The enums, and structs of public fields, that will not grow.
const COMPLETE: &[(&str, &str)] = &[
    ("Limit", "an amount is of matches or of records"),
    ("RecordError", "a position and a fault, which the layers above make"),
    ("RowForm", "backends and the program match all forms"),
    ("TextForm", "backends and the program match all forms"),
    ("TreeError", "a position and a fault, which the layers above make"),
    ("bitmap::Edge", "a literal has quotes or none"),
    ("bitmap::Kind", "a kind more is another version of the index file, and needs an arm in each layer"),
    ("columns::ArrowDevice", "a type and a number, as in Arrow's interface"),
    ("columns::ColumnTally", "the ways in which a value is lost; whoever reports them reports all"),
    ("columns::OffsetWidth", "Arrow has two widths"),
    ("columns::Offsets", "Arrow has two widths"),
    ("columns::Reason", "whoever reports a lost value reports each reason"),
    ("columns::StructField", "a name and a type, which the caller makes"),
    ("schema::Change", "whoever reports changes reports each kind"),
    ("schema::Position", "a text, a line and an offset"),
    ("schema::SchemaRow", "a row of a saved schema, of which trees are made"),
    ("schema::Step", "the ways from a node to its child"),
    ("time::Instant", "a number"),
    ("time::Unit", "numbers of times have these units"),
    ("twig::Documents", "the engine has a way to read each"),
];

/// The structs that have public fields.
const OPEN: &[(&str, &str)] = &[
    ("IndexInfo", REPORT),
    ("Plan", REPORT),
    ("RecordError", REPORT),
    ("Stats", REPORT),
    ("TextColumn", "what it was made of; `new` makes it"),
    ("TreeError", REPORT),
    ("Want", "what its methods have set, for backends"),
    ("aggregate::Kinds", REPORT),
    ("aggregate::Summary", REPORT),
    ("bitmap::BitmapInfo", REPORT),
    ("bitmap::ColumnInfo", REPORT),
    ("bitmap::LeftOut", REPORT),
    ("bitmap::Matching", REPORT),
    ("columns::ArrowDevice", "a type and a number, as in Arrow's interface"),
    ("columns::Column", ARRAYS),
    ("columns::ColumnBatch", ARRAYS),
    ("columns::ColumnTally", REPORT),
    ("columns::Items", ARRAYS),
    ("columns::Lost", REPORT),
    ("columns::NestedBatch", ARRAYS),
    ("columns::Occurrences", REPORT),
    ("columns::Refusal", REPORT),
    ("columns::StructField", "a name and a type, which the caller makes"),
    ("columns::Tally", REPORT),
    ("cuda::DeviceInfo", REPORT),
    ("packed::PackOptions", "what its method has set"),
    ("packed::PackStats", REPORT),
    ("packed::PackedInfo", REPORT),
    ("plan::Pruned", REPORT),
    ("plan::Selected", REPORT),
    ("plan::Unused", REPORT),
    ("schema::ArrowOptions", "what its methods have set"),
    ("schema::Difference", REPORT),
    ("schema::Excerpt", REPORT),
    ("schema::First", REPORT),
    ("schema::InputSchema", REPORT),
    ("schema::Position", REPORT),
    ("schema::SchemaPart", REPORT),
    ("schema::SchemaRow", "a row of a saved schema, of which trees are made"),
    ("time::Instant", "a number of nanoseconds"),
    ("twig::FileChange", REPORT),
    ("twig::SubscriptionError", REPORT),
];

/// The reason of reports, which the library makes and callers read.
const REPORT: &str = "a report: its fields are the results";
/// The reason of columns, whose arrays callers take.
const ARRAYS: &str = "arrays that callers take out";

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
    let bad = names.iter().filter(|name| {
        let wanted =
            if listed(NOT_RUN).contains_key(name.path.as_str()) { Example::Compiled } else { Example::Run };
        example(&name.docs) != wanted
    });
    let bad: Vec<&str> = bad.map(|name| name.path.as_str()).collect();
    assert!(bad.is_empty(), "names without an example, or with one that is listed wrongly: {bad:#?}");
    assert_known(NOT_RUN, &names);
}

#[test]
fn enums_and_open_structs_can_grow() {
    let sources = Sources::read();
    let names = sources.names();
    let bad = differences(COMPLETE, &names, |name| {
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
    let bad = differences(OPEN, &names, |name| match sources.item(name.item) {
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

fn listed<'a>(list: &[(&'a str, &'a str)]) -> BTreeMap<&'a str, &'a str> {
    list.iter().copied().collect()
}

/// Checks that a list has only names of the facade.
fn assert_known(list: &[(&str, &str)], names: &[Name]) {
    let paths: BTreeSet<&str> = names.iter().map(|name| name.path.as_str()).collect();
    for (listed, reason) in list {
        assert!(paths.contains(listed), "no name `{listed}`: {reason}");
    }
}

/// The names that are in a list and should not be, or are not and should be.
fn differences<'n>(
    list: &[(&str, &str)],
    names: &'n [Name],
    belongs: impl Fn(&Name) -> bool,
) -> Vec<&'n str> {
    assert_known(list, names);
    let list = listed(list);
    let differs = |name: &&Name| belongs(name) != list.contains_key(name.path.as_str());
    names.iter().filter(differs).map(|name| name.path.as_str()).collect()
}
