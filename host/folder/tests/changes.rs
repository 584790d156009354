//! Changes of folders, and writers that meet.

use std::sync::Arc;
use std::thread;

use warpath_folder::{
    Change, Field, Folder, FolderError, Input, Known, LocalStorage, Millis, Part, Schema, Storage, Type,
};

use crate::memory::{Memory, input, schema};

const NOW: Millis = Millis(2000);

fn names(folder: &Folder) -> Vec<String> {
    folder.snapshot().parts().map(|part| format!("{} {}", part.position, part.name)).collect()
}

/// Parts that are changed at once get the positions of those before them.
#[test]
fn each_part_is_replaced_at_its_place() {
    let memory = Memory::default();
    let mut folder = memory.create();
    for number in 0..5 {
        let part = memory.part(&format!("part-{number}.parquet"), &[number * 10, number * 10 + 1]);
        folder.append(vec![part], Vec::new(), NOW).unwrap();
    }
    let replaced = |number: u64, parts| (format!("part-{number}.parquet"), parts);
    let change = Change {
        replaced: vec![
            replaced(3, vec![memory.part("part-a.parquet", &[31])]),
            replaced(0, vec![memory.part("part-b.parquet", &[0]), memory.part("part-c.parquet", &[1])]),
            replaced(1, Vec::new()),
        ],
        ..Change::default()
    };
    let twice = Change { removed: vec!["part-0.parquet".into()], ..change.clone() };
    assert!(matches!(folder.commit(twice, NOW), Err(FolderError::Invalid { .. })));
    folder.commit(change.clone(), NOW).unwrap();
    assert_eq!(memory.rows(), [0, 1, 20, 21, 31, 40, 41]);
    assert!(matches!(folder.commit(change, NOW), Err(FolderError::Conflict { .. })));
}

#[test]
fn rows_keep_their_order() {
    let memory = Memory::default();
    let mut folder = memory.create();
    for number in 0..5 {
        let part = memory.part(&format!("part-{number}.parquet"), &[number * 10, number * 10 + 1]);
        assert_eq!(folder.append(vec![part], Vec::new(), NOW).unwrap(), number + 1);
    }
    let old = folder.snapshot();
    let part = |number: u64| format!("part-{number}.parquet");

    let merged = memory.part("part-m.parquet", &[10, 11, 20, 21]);
    assert_eq!(folder.replace(vec![part(2), part(1)], vec![merged], true, NOW).unwrap(), 6);
    assert_eq!(memory.rows(), [0, 1, 10, 11, 20, 21, 30, 31, 40, 41]);
    // Two in place of one, twice.
    let split = vec![memory.part("part-x.parquet", &[10]), memory.part("part-y.parquet", &[20, 21])];
    folder.replace(vec!["part-m.parquet".into()], split, false, NOW).unwrap();
    let split = vec![memory.part("part-z.parquet", &[20]), memory.part("part-w.parquet", &[21])];
    folder.replace(vec!["part-y.parquet".into()], split, false, NOW).unwrap();
    folder.replace(vec![part(0), part(4)], Vec::new(), false, NOW).unwrap();
    folder
        .append(
            vec![memory.part("part-5.parquet", &[50]), memory.part("part-6.parquet", &[60])],
            Vec::new(),
            NOW,
        )
        .unwrap();
    assert_eq!(memory.rows(), [10, 20, 21, 30, 31, 50, 60]);
    let expected = [
        "1.0 part-x.parquet",
        "1.1.0 part-z.parquet",
        "1.1.1 part-w.parquet",
        "3 part-3.parquet",
        "4 part-5.parquet",
        "5 part-6.parquet",
    ];
    assert_eq!(names(&folder), expected);
    assert_eq!(*memory.open().unwrap().snapshot(), *folder.snapshot());

    // A snapshot stays at its version.
    assert_eq!((old.version(), old.rows(), folder.snapshot().rows()), (5, 10, 7));
    // Nothing to do.
    assert_eq!(folder.append(Vec::new(), Vec::new(), NOW).unwrap(), 10);
}

#[test]
fn facts_come_back() {
    let memory = Memory::default();
    let mut folder = memory.create();
    let part = Part {
        modified: Millis(-5),
        text_bytes: i64::MAX as u64,
        hash: u64::MAX,
        minima: Some(r#"{"id":-1.50,"name":"a\"\\\n","x":{"y":null}}"#.into()),
        maxima: Some(r#"{"id":12345678901234567890}"#.into()),
        nulls: Some("{}".into()),
        ..memory.part("part-ä b%2e?#:.parquet", &[1, 2, 3])
    };
    folder.append(vec![part.clone()], vec![input("s3://b/ä.ndjson", 7)], NOW).unwrap();
    let snapshot = memory.open().unwrap().snapshot();
    assert_eq!(
        snapshot.part(&part.name),
        Some(&Part { position: snapshot.part(&part.name).unwrap().position.clone(), ..part })
    );
    assert_eq!(snapshot.input("s3://b/ä.ndjson"), Some(&input("s3://b/ä.ndjson", 7)));
    assert_eq!((snapshot.at(), snapshot.schema()), (NOW, &schema()));
}

#[test]
fn known_inputs_are_reported() {
    let memory = Memory::default();
    let mut folder = memory.create();
    folder.append(vec![memory.part("part-1.parquet", &[1])], vec![input("a", 10)], NOW).unwrap();
    let changed = Input { stamp: "other".into(), ..input("a", 10) };
    let cases = [
        (input("b", 1), Known::New),
        (input("a", 10), Known::Same),
        (input("a", 11), Known::Grown),
        (input("a", 9), Known::Changed),
        (changed, Known::Changed),
    ];
    for (input, known) in cases {
        assert_eq!(folder.snapshot().known(&input), known);
        let part = memory.part("part-2.parquet", &[2]);
        match folder.append(vec![part], vec![input], NOW) {
            Ok(2) => assert_eq!(known, Known::New),
            Err(FolderError::KnownInput { name, state }) => assert_eq!((&*name, state), ("a", known)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(memory.rows(), [1, 2]);
    // Of two writers that add the lines by which an input has grown, one succeeds.
    let mut other = memory.open().unwrap();
    let grown = |name| Change {
        added: vec![memory.part(name, &[3])],
        grown: vec![(input("a", 10), input("a", 12))],
        ..Change::default()
    };
    folder.commit(grown("part-3.parquet"), NOW).unwrap();
    let conflict = other.commit(grown("part-4.parquet"), NOW).unwrap_err();
    assert!(matches!(conflict, FolderError::Conflict { version: 3, .. }), "{conflict}");
    assert_eq!(other.snapshot().known(&input("a", 12)), Known::Same);
    assert_eq!(memory.rows(), [1, 2, 3]);
}

#[test]
fn writers_that_meet_lose_nothing() {
    let memory = Memory::default();
    let mut one = memory.create();
    let part = |name: &str, rows: &[u64]| vec![memory.part(name, rows)];
    one.append(part("part-1.parquet", &[1]), Vec::new(), NOW).unwrap();
    one.append(part("part-2.parquet", &[2]), Vec::new(), NOW).unwrap();
    let mut two = memory.open().unwrap();
    let removed = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();

    // Both append: in order of their versions.
    one.append(part("part-3.parquet", &[3]), vec![input("a", 1)], NOW).unwrap();
    assert_eq!(two.append(part("part-4.parquet", &[4]), vec![input("b", 1)], NOW).unwrap(), 4);
    // Both add one input.
    let known = one.append(part("part-5.parquet", &[4]), vec![input("b", 1)], NOW).unwrap_err();
    assert!(matches!(known, FolderError::KnownInput { state: Known::Same, .. }), "{known}");
    // Both replace one part.
    one.replace(removed(&["part-1.parquet", "part-2.parquet"]), part("part-6.parquet", &[1, 2]), true, NOW)
        .unwrap();
    let conflict = two.replace(
        removed(&["part-2.parquet", "part-3.parquet"]),
        part("part-7.parquet", &[2, 3]),
        true,
        NOW,
    );
    assert_eq!(
        conflict.unwrap_err().to_string(),
        "another program removed part `part-2.parquet` meanwhile (version 5 of the store); run the command again"
    );
    // One replaces while the other appends.
    one.append(part("part-8.parquet", &[8]), Vec::new(), NOW).unwrap();
    two.replace(removed(&["part-3.parquet", "part-4.parquet"]), part("part-9.parquet", &[3, 4]), true, NOW)
        .unwrap();
    assert_eq!(memory.rows(), [1, 2, 3, 4, 8]);
    // One part twice.
    let twice = one.append(part("part-8.parquet", &[8]), Vec::new(), NOW).unwrap_err();
    assert!(twice.to_string().starts_with("part `part-8.parquet` is there already"), "{twice}");
    let absent = one.replace(removed(&["part-0.parquet"]), Vec::new(), false, NOW).unwrap_err();
    assert!(absent.to_string().starts_with("part `part-0.parquet` is not there"), "{absent}");
    assert!(matches!(Folder::create(memory.clone(), schema(), NOW), Err(FolderError::Exists)));
}

#[test]
fn a_first_version_has_a_change() {
    let memory = Memory::default();
    let change = |name: &str| Change {
        operation: "WRITE".to_owned(),
        added: vec![memory.part(name, &[1, 2])],
        inputs: vec![input("a", 1)],
        schema: Some(schema()),
        ..Change::default()
    };
    // Nothing is there after a change that is not possible.
    let missing = Part { name: "part-9.parquet".into(), bytes: 1, ..Part::default() };
    let impossible = [
        Change { added: vec![missing], ..change("part-1.parquet") },
        Change { removed: vec!["part-0.parquet".into()], ..change("part-1.parquet") },
        Change { grown: vec![(input("b", 1), input("b", 2))], ..change("part-1.parquet") },
    ];
    for change in impossible {
        assert!(Folder::create_with(memory.clone(), change, NOW).is_err());
        assert!(matches!(Folder::open(memory.clone()), Err(FolderError::NoLog)));
    }
    let folder = Folder::create_with(memory.clone(), change("part-1.parquet"), NOW).unwrap();
    let opened = memory.open().unwrap();
    assert_eq!(folder.snapshot(), opened.snapshot());
    assert_eq!((opened.version(), opened.snapshot().rows(), memory.rows()), (0, 2, vec![1, 2]));
    assert_eq!(opened.snapshot().schema(), &schema());
    assert_eq!(opened.snapshot().inputs().count(), 1);
    let again = Folder::create_with(memory.clone(), change("part-2.parquet"), NOW);
    assert!(matches!(again, Err(FolderError::Exists)));
}

#[test]
fn schemas_grow() {
    let memory = Memory::default();
    let mut one = memory.create();
    let mut two = memory.open().unwrap();
    let with = |name: &str, kind: Type| Change {
        schema: Some(Schema { fields: vec![Field::new(name, kind)] }),
        ..Change::default()
    };
    let structure = |names: &[&str]| {
        Type::List(Box::new(Type::Struct(names.iter().map(|name| Field::new(*name, Type::Long)).collect())))
    };
    assert_eq!(one.commit(with("a", structure(&["x"])), NOW).unwrap(), 1);
    assert_eq!(two.commit(with("a", structure(&["y"])), NOW).unwrap(), 2);
    // A field that is there creates no version.
    assert_eq!(two.commit(with("id", Type::Long), NOW).unwrap(), 2);
    let snapshot = memory.open().unwrap().snapshot();
    let mut expected = schema();
    expected.fields.push(Field::new("a", structure(&["x", "y"])));
    assert_eq!(*snapshot.schema(), expected);

    let fault = |change| match two.snapshot().schema().merge(&Change::schema(change).unwrap()) {
        Err(FolderError::Schema { path, what }) => format!("{path}: {what}"),
        other => panic!("{other:?}"),
    };
    assert_eq!(
        fault(with("id", Type::Double)),
        r#"id: the type is "long" and must not become "double"; add a field"#
    );
    assert!(
        fault(with("a", Type::List(Box::new(Type::Long)))).starts_with(r#"a: the type is {"type":"struct""#)
    );
    assert!(fault(with("ID", Type::Long)).starts_with("ID: another field has this name"));
    assert!(fault(with("", Type::Long)).ends_with("a name was expected"));
    let deep = |levels| (1..levels).fold(Type::Long, |kind, _| Type::Struct(vec![Field::new("f", kind)]));
    assert!(fault(with("d", deep(43))).contains("too deep: readers of Delta take 42 levels"));
    two.commit(with("d", deep(42)), NOW).unwrap();
    assert_eq!(memory.open().unwrap().version(), 3);
}

trait SchemaOf {
    fn schema(self) -> Option<Schema>;
}

impl SchemaOf for Change {
    fn schema(self) -> Option<Schema> {
        self.schema
    }
}

#[test]
fn facts_that_are_not_valid_are_refused() {
    let memory = Memory::default();
    let mut folder = memory.create();
    let good = memory.part("part-1.parquet", &[1]);
    let named = |name: &str| Part { name: name.into(), ..good.clone() };
    let long = "x".repeat(256);
    for part in [
        named(""),
        named("../part-1.parquet"),
        named("/part-1.parquet"),
        named(".part"),
        named("_part"),
        named("a/b"),
        named("a\\b"),
        named("a\nb"),
        named(&long),
        Part { bytes: u64::MAX, ..good.clone() },
        Part { rows: 1 << 63, ..good.clone() },
        Part { minima: Some("1".into()), ..good.clone() },
        Part { maxima: Some("{".into()), ..good.clone() },
        Part { nulls: Some("{}}".into()), ..good.clone() },
    ] {
        let error = folder.append(vec![part.clone()], Vec::new(), NOW).unwrap_err();
        assert!(matches!(error, FolderError::Invalid { .. }), "{part:?}: {error}");
    }
    for inputs in [vec![input("", 1)], vec![input("a", u64::MAX)], vec![input("a", 1), input("a", 2)]] {
        let error = folder.append(vec![good.clone()], inputs, NOW).unwrap_err();
        assert!(matches!(error, FolderError::Invalid { .. }), "{error}");
    }
    assert!(matches!(
        folder.append(vec![good.clone(), good.clone()], Vec::new(), NOW),
        Err(FolderError::Invalid { .. })
    ));
    for (part, found) in [(named("part-2.parquet"), "no file"), (Part { bytes: 9, ..good }, "8 bytes")] {
        let error = folder.append(vec![part], Vec::new(), NOW).unwrap_err();
        assert!(error.to_string().contains(found), "{error}");
    }
    assert_eq!(memory.open().unwrap().version(), 0);
}

#[test]
fn unneeded_files_are_removed() {
    let path = tempfile::tempdir().unwrap();
    let storage = LocalStorage::new(path.path().join("logs.wp"));
    let mut folder = Folder::create(storage.clone(), schema(), Millis(0)).unwrap();
    let part = |name: &str| {
        storage.create(name, b"part").unwrap();
        Part { name: name.into(), bytes: 4, rows: 1, ..Part::default() }
    };
    folder
        .append(
            vec![part("part-1.parquet"), part("part-2.parquet"), part("other.parquet")],
            Vec::new(),
            Millis(1),
        )
        .unwrap();
    folder
        .replace(vec!["part-1.parquet".into(), "other.parquet".into()], Vec::new(), false, Millis(1000))
        .unwrap();
    part("part-stray.parquet");
    for name in [
        "_delta_log/.warpath-0123456789aB.tmp",
        ".warpath-CdEfGhIjKlMn.tmp",
        ".warpath-own.tmp",
        "notes.txt",
        "_delta_log/00000000000000000000.crc",
    ] {
        std::fs::write(storage.path(name), "x").unwrap();
    }
    part("part-of-others.parquet");
    let is_part = |name: &str| name == "part-stray.parquet";
    let mut unneeded = |before| {
        folder
            .unneeded(Millis(before), &is_part)
            .unwrap()
            .into_iter()
            .map(|object| object.name)
            .collect::<Vec<_>>()
    };
    assert_eq!(unneeded(1000), [""; 0]);
    assert_eq!(unneeded(1001), ["other.parquet", "part-1.parquet"]);
    let all = [
        ".warpath-CdEfGhIjKlMn.tmp",
        "_delta_log/.warpath-0123456789aB.tmp",
        "other.parquet",
        "part-1.parquet",
        "part-stray.parquet",
    ];
    assert_eq!(unneeded(i64::MAX), all);
    assert_eq!(folder.vacuum(Millis(i64::MAX), &is_part).unwrap().len(), 5);
    assert_eq!(folder.vacuum(Millis(i64::MAX), &is_part).unwrap(), []);
    let mut left: Vec<_> = storage.list("").unwrap().into_iter().map(|object| object.name).collect();
    left.sort();
    assert_eq!(left, [".warpath-own.tmp", "notes.txt", "part-2.parquet", "part-of-others.parquet"]);
    assert_eq!(Folder::open(storage).unwrap().snapshot().rows(), 1);
}

#[test]
fn a_local_file_is_created_once() {
    let path = tempfile::tempdir().unwrap();
    let storage = LocalStorage::new(path.path().join("a/b"));
    assert_eq!(storage.list("_delta_log").unwrap(), []);
    storage.create("_delta_log/x", b"first").unwrap();
    let again = storage.create("_delta_log/x", b"second").unwrap_err();
    assert_eq!(again.kind(), std::io::ErrorKind::AlreadyExists);
    assert_eq!(storage.read("_delta_log/x").unwrap(), b"first");
    // The temporary file is gone.
    assert_eq!(storage.list("_delta_log").unwrap().len(), 1);
    assert_eq!(storage.settle("_delta_log/x").unwrap(), 5);
    storage.delete("_delta_log/x").unwrap();
    storage.delete("_delta_log/x").unwrap();
    assert_eq!(storage.read("_delta_log/x").unwrap_err().kind(), std::io::ErrorKind::NotFound);
}

#[test]
fn threads_append_at_once() {
    let memory = Memory::default();
    memory.create();
    thread::scope(|scope| {
        for writer in 0..4_u64 {
            let memory = memory.clone();
            scope.spawn(move || {
                let mut folder = memory.open().unwrap();
                for number in 0..50 {
                    let part =
                        memory.part(&format!("part-{writer}-{number}.parquet"), &[writer * 50 + number]);
                    folder.append(vec![part], vec![input(&format!("{writer} {number}"), 1)], NOW).unwrap();
                }
            });
        }
    });
    let folder = memory.open().unwrap();
    assert_eq!((folder.version(), folder.snapshot().inputs().count()), (200, 200));
    let mut rows = memory.rows();
    // Each writer's rows have the order in which it appended them.
    for writer in 0..4 {
        assert!(rows.iter().filter(|row| *row / 50 == writer).is_sorted());
    }
    rows.sort_unstable();
    assert!(rows.into_iter().eq(0..200));
    let _: Arc<_> = folder.snapshot();
}
