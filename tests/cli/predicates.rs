//! `--where` over plain text, with and without the columns of an index.

use insta::assert_snapshot;

use super::Folder;

const PEOPLE: &str = "\
{\"id\":1,\"lang\":\"nl\",\"followers\":5}
{\"id\":2,\"lang\":\"en\",\"followers\":2000,\"tags\":[\"a\"]}
{\"id\":3,\"lang\":null,\"followers\":\"many\"}

{\"id\":4,\"followers\":1500,\"tags\":[]}
{\"id\":5,\"lang\":\"nl\",\"followers\":1500.0,\"tags\":[\"a\",\"b\"]}
";

fn folder() -> Folder {
    let folder = Folder::new(&[("people.ndjson", PEOPLE.as_bytes())]);
    let column = ["--column=followers=$.followers", "--type=followers=float", "--bins=distinct"];
    folder.run(&[&["store", "index", "people.ndjson"], &column[..]].concat()).ok();
    folder
}

#[test]
fn mistakes_and_programs_are_shown() {
    let folder = folder();
    let branches = format!("--where=${}", "[*]".repeat(33));
    let mut said = String::new();
    for args in [
        &["query", "$.id", "people.ndjson", "--where=$.lang = nl"][..],
        &["query", "$.id", "people.ndjson", "--no-index", "--where=followers > 5 and $.id = 1"],
        &["query", "$.id", "people.ndjson", "--where=@.id == 1"],
        &["query", "$.id", "people.ndjson", "--where=nothing > 5 and $.id = 1"],
        &["query", "$.id", "people.ndjson", "--where=user.lang-x = 'en'"],
        &["query", "$.id", "people.ndjson", &branches],
        &["explain", "$.id", &branches],
        &["explain", "$.id", "--where=followers > 5"],
        &["query", "$.id", "people.ndjson", "--where=$.id is other"],
        &["select", "id=$.id", "--where=!$.id == 1", "--", "people.ndjson"],
        &["explain", "$.id", "$.tags[*]", "--device=cpu", "--where=$.lang in ('nl', 'en') && !$.tags"],
        &["explain", "--input=json", "$[*].id", "--device=cpu", "--where=count($[*]) > 1"],
    ] {
        let ran = folder.run(args);
        let program = ran.text().split("\nruns on").next().unwrap_or_default();
        said.push_str(&format!("$ warpath {}\n{program}{}\n", args.join(" "), ran.stderr));
    }
    assert_snapshot!("predicates", said);
}

/// No terminal obeys the text of a predicate.
#[test]
fn predicates_are_printed_without_control_characters() {
    let folder = folder();
    let only = "--where=$['\u{9b}2J'] != '\u{202e}'";
    for args in [
        &["explain", "$['\u{9b}'].id", "--device=cpu", only][..],
        &["query", "$.id", "--stats", only, "people.ndjson"],
    ] {
        let ran = folder.run(args);
        assert_eq!(ran.code, 0, "{ran}");
        let shown = format!("{}{}", ran.text(), ran.stderr);
        assert!(shown.contains(r"$['\x9b2J'] != '\u{202e}'"), "{shown}");
        assert!(!shown.contains(['\u{9b}', '\u{202e}']), "{shown}");
    }
}
