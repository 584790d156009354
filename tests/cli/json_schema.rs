//! `validate --schema` with the schemas that `warpath schema` writes.

use std::fs;

use super::{Folder, data};

/// Writes the schema of some records, and validates others against it. Returns the exit code, and what is
/// printed about the others.
fn validated(made_of: &[u8], others: &[u8]) -> (i32, String) {
    let folder = Folder::new(&[("of", made_of), ("others", others)]);
    folder.run(&["schema", "of", "-o", "schema.json", "--on-error", "skip", "-q"]);
    let ran = folder.run(&["validate", "--all", "--schema", "schema.json", "others"]);
    (ran.code, ran.text().to_owned() + &ran.stderr)
}

#[test]
fn records_are_valid_against_their_own_schema() {
    for name in ["people", "tweets", "products", "maps", "edge", "crlf", "blank", "empty"] {
        let text = fs::read(data(&format!("{name}.ndjson"))).unwrap();
        assert_eq!(validated(&text, &text), (0, String::new()), "{name}");
    }
}

#[test]
fn malformed_records_are_not_validated() {
    let folder = Folder::new(&[("false.json", b"false"), ("true.json", b"true")]);
    let bad = data("bad.ndjson");
    let without = folder.run(&["validate", "--all", &bad]);
    let with = folder.run(&["validate", "--all", &bad, "--schema", "true.json"]);
    assert_eq!((with.code, with.text(), &with.stderr), (4, without.text(), &without.stderr));
    let with = folder.run(&["validate", "--all", &bad, "--schema", "false.json"]);
    assert_eq!((with.code, &*with.stderr), (4, "error: 71 of 147 records malformed, 76 invalid\n"));
    let found = |text: &str| with.text().lines().filter(|line| line.contains(text)).count();
    assert_eq!((with.text().lines().count(), found("expected no value")), (147, 76));
}

#[test]
fn types_and_formats_of_a_schema_are_those_of_its_records() {
    let map: String = (0..80).map(|at| format!("{{\"m\":{{\"k{at}\":{at}}}}}\n")).collect();
    for text in [
        "{\"a\":1}\n{\"a\":\"x\"}\n{\"a\":null}\n{\"a\":[1,{}]}\n{\"a\":{\"b\":1.5}}\n{}\n",
        "1\n12345678901234567890123\n-9223372036854775808\n18446744073709551616\n",
        "1.10\n1e400\n-1e-400\n0.10000000000000000001\n1.0\n",
        "\"2026-01-31\"\n\"2024-02-29\"\n\"0001-01-01\"\n",
        "\"2026-01-31T23:59:59Z\"\n\"1999-12-31t00:00:00.123456789z\"\n\"2000-01-01T00:00:00-23:59\"\n",
        "\"2026-01-31T23:59:60Z\"\n\"2026-01-31T23:59:59Z\"\n",
        "\"2026-01-31\"\n\"2026-01-31T23:59:59Z\"\n",
        "{\"$ref\":\"x\",\"$schema\":1,\"$id\":\"a b\",\"properties\":{\"type\":5}}\n",
        "{\"\":1,\"a/b~c\":2,\"é\\n\":\"\\ud83d\\ude00\"}\n",
        "{\"a\":1,\"a\":2}\n",
        "{}\n[]\n\"\"\n",
        &map,
    ] {
        assert_eq!(validated(text.as_bytes(), text.as_bytes()), (0, String::new()), "{text}");
    }
}

#[test]
fn drift_is_found() {
    for (of, others, wanted) in [
        ("1\n", "1.5\n", "others:1:1: $: expected the type integer, found 1.5 (#/type)\n"),
        ("{\"a\":1}\n", "{}\n", "others:1:1: $: expected the member 'a', found {} (#/required)\n"),
        (
            "{\"a\":[\"2026-01-31\"]}\n",
            "{\"a\":[\"2026-01-31\",\"2026-02-30\"]}\n",
            "others:1:20: $['a'][1]: expected the format date, found \"2026-02-30\" (#/properties/a/items/format)\n",
        ),
        (
            "{\"a\":\"2026-01-31T00:00:00Z\"}\n",
            "{\"a\":\"2026-01-31 00:00:00\"}\n",
            "others:1:6: $['a']: expected the format date-time, found \"2026-01-31 00:00:00\" \
             (#/properties/a/format)\n",
        ),
    ] {
        let (code, printed) = validated(of.as_bytes(), others.as_bytes());
        assert_eq!((code, printed), (4, format!("{wanted}error: 1 of 1 record invalid\n")));
    }
}

#[test]
fn examples_of_records_that_are_not_strict_are_json() {
    let (code, printed) = validated(b"{\"a\":\"x\ty\",\"b\":\"\\q\"}\n", b"{\"a\":\"x\",\"b\":\"y\"}\n");
    assert_eq!((code, printed), (0, String::new()));
}
