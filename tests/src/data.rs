//! Case files, and the lines that tests move across every boundary.

/// The files of `tests/data`, by name. They are compiled in, so that the check program needs no files beside
/// it.
pub const FILES: [(&str, &[u8]); 9] = [
    ("tweets.ndjson", include_bytes!("../data/tweets.ndjson")),
    ("products.ndjson", include_bytes!("../data/products.ndjson")),
    ("maps.ndjson", include_bytes!("../data/maps.ndjson")),
    ("people.ndjson", include_bytes!("../data/people.ndjson")),
    ("edge.ndjson", include_bytes!("../data/edge.ndjson")),
    ("crlf.ndjson", include_bytes!("../data/crlf.ndjson")),
    ("blank.ndjson", include_bytes!("../data/blank.ndjson")),
    ("empty.ndjson", include_bytes!("../data/empty.ndjson")),
    ("bad.ndjson", include_bytes!("../data/bad.ndjson")),
];

/// Returns one file of [`FILES`].
///
/// # Panics
/// If no file has the name.
pub fn file(name: &str) -> &'static [u8] {
    FILES.iter().find(|(have, _)| *have == name).map(|(_, text)| *text).expect("a file of tests/data")
}

/// The pairs of file and path of `tests/data/queries.txt`.
pub fn queries() -> Vec<(&'static str, &'static str)> {
    include_str!("../data/queries.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once('\t'))
        .collect()
}

/// The paths of [`queries`] for one file.
pub fn paths_of(name: &str) -> Vec<&'static str> {
    queries().into_iter().filter(|(file, _)| *file == name).map(|(_, path)| path).collect()
}

/// Lines whose interpretation depends on adjacent bytes. A boundary may fall at the end of each.
pub const BOUNDARY_LINES: [&str; 30] = [
    r#"{"a":1}"#,
    r#"{"a":"x\"y","b":[1,2,{"c":"d"}]}"#,
    r#"{"a":"\\","b":2}"#,
    r#"{"a":"\\\"","b":2}"#,
    r#"{"a\"b":{"c":[[],[[]],{}]}}"#,
    r#"{"k":"{[:,]}","b":["]","}"]}"#,
    r#"["\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\",1]"#,
    r#"["\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\\"",1]"#,
    r#"[[[[[[[[[[1]]]]]]]],[2,[3]]]"#,
    r#"{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":{"j":1}}}}}}}}}}"#,
    r#"  { "a" : [ 1 , 2 ] , "b" : { } }  "#,
    r#""only a string with a \" quote""#,
    "12345",
    "[]",
    "{}",
    "",
    "   \t ",
    r#"{"a":"é😀\ud83d\ude00","b":"\u0061"}"#,
    r#"{"a":"unclosed}"#,
    r#"{"a":"ends in an escape\"#,
    r#"{"a":[1,2}"#,
    r#"{"a":[1,2]]}"#,
    r#"{"a":{"b":[}]}}"#,
    r#"{"a":1}}"#,
    r#"[1,2"#,
    r#"{"a":1}{"b":2}"#,
    r#"{"a":1},{"b":2}"#,
    r#"1,2"#,
    r#"]["#,
    "{\"a\":\"carriage\r return\",\"b\":1}\r",
];
