//! Snapshots of the log's files.

use warpath_folder::{Change, Field, Millis, Part, Schema, Type};

use crate::memory::{Memory, input};

#[test]
fn the_log_of_each_change() {
    let memory = Memory::default();
    let mut folder = memory.create();
    let part = Part {
        modified: Millis(1500),
        text_bytes: 100,
        hash: 0x0123_4567_89ab_cdef,
        minima: Some(r#"{"id":1,"name":"a"}"#.into()),
        maxima: Some(r#"{"id":2,"name":"é\""}"#.into()),
        nulls: Some(r#"{"id":0}"#.into()),
        ..memory.part("part-1 ä.parquet", &[1, 2])
    };
    folder.append(vec![part], vec![input("logs/\"a\".ndjson", 100)], Millis(2000)).unwrap();
    let tags = Type::List(Box::new(Type::Struct(vec![Field::new("x", Type::Binary)])));
    let change = Change {
        operation: "WRITE".into(),
        added: vec![memory.part("part-2.parquet", &[3])],
        grown: vec![(input("logs/\"a\".ndjson", 100), input("logs/\"a\".ndjson", 150))],
        schema: Some(Schema { fields: vec![Field::new("tags", tags), Field::new("ok", Type::Boolean)] }),
        ..Change::default()
    };
    folder.commit(change, Millis(3000)).unwrap();
    let removed = vec!["part-1 ä.parquet".into(), "part-2.parquet".into()];
    folder.replace(removed, vec![memory.part("part-3.parquet", &[1, 2, 3])], true, Millis(4000)).unwrap();
    folder.replace(vec!["part-3.parquet".into()], Vec::new(), false, Millis(5000)).unwrap();
    let files: Vec<String> = (0..=folder.version())
        .map(|version| String::from_utf8(memory.get(&format!("_delta_log/{version:020}.json"))).unwrap())
        .collect();
    insta::assert_snapshot!(files.join("\n"));
}
