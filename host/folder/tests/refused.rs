//! Logs that are refused: by other programs, with gaps, with names that are not there.

use warpath_core::stamp::hash;
use warpath_folder::{Folder, FolderError, Millis};
use warpath_random::{Rng, cases};

use crate::memory::Memory;

const ADD: &str = r#"{"add":{"path":"PATH","partitionValues":{},"size":8,"modificationTime":0,"dataChange":true,"stats":"{\"numRecords\":1}","tags":{"warpath.position":"POSITION","warpath.text":"0","warpath.hash":"0000000000000000"}}}"#;

/// A folder of two versions. The second has these lines and Warpath's checksums.
fn with_lines(lines: &[&str]) -> Memory {
    let memory = Memory::default();
    memory.create();
    memory.part("part-1.parquet", &[1]);
    memory.part("part-2.parquet", &[1]);
    forge(&memory, 1, lines);
    memory
}

/// Writes a version of these lines, with Warpath's checksums.
fn forge(memory: &Memory, version: u64, lines: &[&str]) {
    let last = memory.get(&format!("_delta_log/{:020}.json", version - 1));
    let head = r#"{"commitInfo":{"warpath.hash":""#;
    let before = std::str::from_utf8(&last[head.len()..head.len() + 16]).unwrap();
    let hashes: Vec<_> = lines.iter().map(|line| format!("{:016x}", hash(line.as_bytes()))).collect();
    let rest = format!(
        concat!(
            r#"","warpath.version":"{}","warpath.before":"{}","warpath.lines":"{}","#,
            r#""warpath.stamps":[],"timestamp":0}}}}"#
        ),
        version,
        before,
        hashes.join(" ")
    );
    let text = format!("{head}{:016x}{rest}\n{}\n", hash(rest.as_bytes()), lines.join("\n"));
    memory.put(&format!("_delta_log/{version:020}.json"), text);
}

fn add(path: &str, position: &str) -> String {
    ADD.replace("PATH", path).replace("POSITION", position)
}

fn error(memory: &Memory) -> String {
    memory.open().err().expect("an error").to_string()
}

#[test]
fn lines_with_right_checksums_are_checked_too() {
    assert_eq!(with_lines(&[&add("part-1.parquet", "0"), &add("part%2D2.parquet", "0.1")]).rows(), [1, 1]);
    let remove = r#"{"remove":{"path":"part-1.parquet","deletionTimestamp":0}}"#;
    let one = add("part-1.parquet", "0");
    let zeros = "0.".repeat(64) + "0";
    let not_json = format!("{one},");
    for (lines, expected) in [
        (vec![add("/etc/passwd", "0")], "path `/etc/passwd` is not a name in the folder of the store"),
        (vec![add("../part-1.parquet", "0")], "path `../part-1.parquet` is not a name"),
        (vec![add("..", "0")], "begin with `.`"),
        (vec![add("..%2fpart-1.parquet", "0")], "begin with `.`"),
        (vec![add("a%2fb", "0")], "a name without a folder"),
        (vec![add("s3://bucket/part", "0")], "path `s3://bucket/part`"),
        (vec![add("a%", "0")], "hexadecimal digits"),
        (vec![add("a%+1", "0")], "hexadecimal digits"),
        (vec![add("a%ff", "0")], "not UTF-8"),
        (vec![add("part-1.parquet", "")], "`warpath.position` has another form"),
        (vec![add("part-1.parquet", "1.-1")], "`warpath.position` has another form"),
        (vec![add("part-1.parquet", &zeros)], "`warpath.position` has another form"),
        (vec![one.replace(":8,", ":-8,")], "`size` is missing or has another type"),
        (vec![one.replace(":8,", ":99999999999999999999,")], "`size` is missing or has another type"),
        (vec![one.replace("numRecords", "records")], "`numRecords` is missing"),
        (vec![one.clone(), one.clone()], "0001.json:3: part `part-1.parquet` is added, but there already"),
        (vec![one.clone(), add("part-2.parquet", "0")], "has the position of another part, 0"),
        (vec![remove.into()], "0001.json:2: part `part-1.parquet` is removed, but not there"),
        (vec![add("part-9.parquet", "0")], "part `part-9.parquet` has no file in place of 8 bytes"),
        (vec![one.replace(":8,", ":9,")], "part `part-1.parquet` has 8 bytes in place of 9 bytes"),
        (vec![not_json], "not JSON at byte"),
        (vec![r#"{"cdc":{}}"#.into()], "the action `cdc` is not supported"),
        (vec![r#"{"domainMetadata":{}}"#.into()], "the action `domainMetadata` is not supported"),
        (vec![r#"{"txn":{"appId":"spark","version":1}}"#.into()], "a `txn` of `spark` is not supported"),
        (
            vec![r#"{"txn":{"appId":"warpath:input:a","version":1}}"#.into()],
            "the stamp of an input is missing",
        ),
        (vec![r#"{"commitInfo":{}}"#.into()], "a second `commitInfo`"),
        (
            vec![one.replace("\"dataChange\"", "\"deletionVector\":{\"storageType\":\"u\"},\"dataChange\"")],
            "a deletion vector is not",
        ),
        (
            vec![one.replace("\"partitionValues\":{}", "\"partitionValues\":{\"a\":\"1\"}")],
            "partition values",
        ),
        (vec![r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":3}}"#.into()], "Delta's protocol 1, 3"),
    ] {
        let lines: Vec<_> = lines.iter().map(String::as_str).collect();
        let message = error(&with_lines(&lines));
        assert!(message.contains(expected), "{lines:?}: {message}");
    }
}

#[test]
fn parts_of_earlier_versions_count() {
    let remove = r#"{"remove":{"path":"part-1.parquet","deletionTimestamp":0}}"#;
    let again = |lines: &[&str]| {
        let memory = with_lines(&[&add("part-1.parquet", "0")]);
        forge(&memory, 2, lines);
        memory
    };
    assert!(error(&again(&[&add("part-2.parquet", "0")])).contains("has the position of another part, 0"));
    assert!(error(&again(&[&add("part-1.parquet", "1")])).contains("added, but there already"));
    assert!(error(&again(&[remove, remove])).contains("0002.json:3: part `part-1.parquet` is removed"));
    assert_eq!(again(&[remove, &add("part-2.parquet", "0")]).rows(), [1]);
    assert_eq!(again(&[&add("part-2.parquet", "1")]).rows(), [1, 1]);
    // A part may come back.
    let memory = again(&[remove]);
    forge(&memory, 3, &[&add("part-1.parquet", "0")]);
    assert_eq!(memory.rows(), [1]);
}

#[test]
fn random_lines_with_right_checksums_are_read_or_refused() {
    let mut random = Rng::new(11);
    let kinds = [
        add("part-1.parquet", "0.1"),
        add("part-2.parquet", "7").replace("part-2", "part%2D2"),
        r#"{"remove":{"path":"part-1.parquet","deletionTimestamp":-5,"dataChange":true}}"#.into(),
        r#"{"protocol":{"minReaderVersion":1,"minWriterVersion":2}}"#.into(),
        r#"{"metaData":{"id":"a","schemaString":"{\"type\":\"struct\",\"fields\":[]}","createdTime":0}}"#
            .into(),
    ];
    let words = [
        "\\u00e9",
        "%",
        "%e",
        "{",
        "}",
        "[",
        "\"",
        "\\",
        "-",
        "99999999999999999999",
        "null",
        ".",
        ":",
        "/",
        "é",
    ];
    let (mut read, mut refused) = (0, 0);
    for _ in 0..cases(5000) {
        let mut lines: Vec<String> =
            (0..1 + random.below(3)).map(|_| kinds[random.below(5)].clone()).collect();
        for _ in 0..random.below(3) {
            let line = random.below(lines.len());
            let line = &mut lines[line];
            let from = random.below(line.len());
            let to = (from + random.below(3)).min(line.len());
            if line.is_char_boundary(from) && line.is_char_boundary(to) {
                line.replace_range(from..to, words[random.below(words.len())]);
            }
        }
        match with_lines(&lines.iter().map(String::as_str).collect::<Vec<_>>()).open() {
            Ok(_) => read += 1,
            Err(_) => refused += 1,
        }
    }
    let least = cases(100);
    assert!(read >= least && refused >= least, "{read} {refused}");
}

#[test]
fn versions_by_other_programs_are_refused() {
    for (text, expected) in [
        (
            r#"{"commitInfo":{"timestamp":1,"operation":"WRITE"}}"#,
            "0001.json:1: a version without Warpath's checksums, by another program, is not supported; only Warpath",
        ),
        (
            r#"{"protocol":{"minReaderVersion":3,"minWriterVersion":7,"readerFeatures":["deletionVectors"],"writerFeatures":["deletionVectors"]}}"#,
            r#"0001.json:1: Delta's protocol 3, 7 ["deletionVectors"] is not supported"#,
        ),
        (
            "{\"commitInfo\":{}}\n{\"add\":{\"path\":\"a\",\"deletionVector\":{\"storageType\":\"u\"}}}",
            "0001.json:2: a deletion vector is not supported",
        ),
        (
            r#"{"metaData":{"id":"a","configuration":{"delta.columnMapping.mode":"name"}}}"#,
            "0001.json:1: a table with a configuration is not supported",
        ),
        (
            r#"{"metaData":{"id":"a","schemaString":"{\"type\":\"struct\",\"fields\":[{\"name\":\"a\",\"type\":\"timestamp\",\"nullable\":true}]}"}}"#,
            "field `a`: type `timestamp` is not supported",
        ),
        ("", "0001.json:1: a version without Warpath's checksums"),
    ] {
        let memory = Memory::default();
        memory.create();
        memory.put("_delta_log/00000000000000000001.json", text);
        let message = error(&memory);
        assert!(message.contains(expected), "{text}: {message}");
    }
}

#[test]
fn logs_with_gaps_are_refused() {
    let empty = Memory::default();
    assert!(matches!(empty.open(), Err(FolderError::NoLog)));
    empty.put("_delta_log/notes.txt", "x");
    empty.put("_delta_log/1.json", "x");
    assert!(matches!(empty.open(), Err(FolderError::NoLog)));

    let memory = Memory::default();
    let mut folder = memory.create();
    for number in 1..5 {
        let part = memory.part(&format!("part-{number}.parquet"), &[number]);
        folder.append(vec![part], Vec::new(), Millis(0)).unwrap();
    }
    let without = |version: u64| {
        let memory = memory.copy();
        memory.0.lock().unwrap().remove(&format!("_delta_log/{version:020}.json"));
        memory
    };
    for version in 0..4 {
        assert!(
            error(&without(version))
                .contains(&format!("{version:020}.json` is missing, but there are versions up to 4"))
        );
    }
    // The last version is not missed; the parts of the others are.
    assert_eq!(without(4).open().unwrap().version(), 3);
    let memory = without(0);
    memory.put("_delta_log/00000000000000000002.checkpoint.parquet", "PAR1");
    assert!(error(&memory).starts_with("the log begins with a checkpoint of another program"));
    memory.put("_delta_log/18446744073709551615.json", "{}");
    assert!(error(&memory).contains("checkpoint"));
    // A checkpoint beside a whole log is ignored.
    let memory = without(9);
    memory.put("_delta_log/00000000000000000002.checkpoint.parquet", "PAR1");
    assert_eq!(memory.rows(), [1, 2, 3, 4]);
    memory.put("_delta_log/18446744073709551615.json", "{}");
    assert!(error(&memory).contains("versions up to 18446744073709551615"));
}

#[test]
fn the_first_version_has_a_protocol_and_a_schema() {
    let memory = with_lines(&[]);
    let file = "_delta_log/00000000000000000000.json";
    let text = String::from_utf8(memory.get(file)).unwrap();
    let rest = r#"","warpath.version":"0","warpath.before":"0000000000000000","warpath.lines":"","warpath.stamps":[],"timestamp":0}}"#;
    memory.put(file, format!("{}{:016x}{rest}\n", &text[..31], hash(rest.as_bytes())));
    assert!(error(&memory).contains("the first version must begin with `protocol` and `metaData`"));
    assert!(matches!(Folder::open(memory), Err(FolderError::Malformed { line: 2, .. })));
}
