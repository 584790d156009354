//! Columns of a store that is added to many times.

use std::fs;

use warpath_lang::predicate::Predicate;

use super::*;
use crate::engine::Engine;

fn add(path: &Path, text: &str) -> Added {
    let source = Source::Reader("lines".into(), Box::new(std::io::Cursor::new(text.to_owned())));
    Store::add(path, vec![source], AddOptions::default(), &mut |_| {}).unwrap()
}

fn text(path: &Path) -> String {
    let mut back = Vec::new();
    let mut append = |text: &[u8]| {
        back.extend_from_slice(text);
        true
    };
    Store::open(path).unwrap().text(0..u64::MAX, &mut append).unwrap();
    String::from_utf8(back).unwrap()
}

fn columns(path: &Path) -> Vec<String> {
    let columns = Store::open(path).unwrap().columns().unwrap();
    let named = columns.iter().map(|column| format!("{} {}", column.path, column.kind));
    named.filter(|column| !column.starts_with('_')).collect()
}

#[test]
fn small_additions_make_small_parts() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let members: Vec<_> = (0..800).map(|key| format!("\"k{key}\":[{key}]")).collect();
    let mut lines = format!("{{{}}}\n", members.join(","));
    let wide = add(&path, &lines);
    for line in
        ["{\"k7\":[8],\"id\":1}\n", "{\"K7\":[],\"k7\":[]}\n", "{\"k7\":\"x\",\"id\":2.5}\n", "{\"K7\":1}\n"]
    {
        lines += line;
        let small = add(&path, line);
        assert!(small.file_bytes < wide.file_bytes / 8, "{small:?} {wide:?}");
    }
    assert_eq!(text(&path), lines);
    let columns = columns(&path);
    let new = ["id int64", "K7~2[].:present bool", "k7:string string", "id:double float64", "K7:int int64"];
    assert_eq!(columns[800..], new);
    Store::compact(&path).unwrap();
    assert_eq!(text(&path), lines);
}

#[test]
fn parts_that_do_not_know_each_other_have_no_conflict_with_the_next_one() {
    let folder = tempfile::tempdir().unwrap();
    let [path, other] = ["store", "other"].map(|name| folder.path().join(name));
    add(&path, "{\"a\":1}\n");
    fs::create_dir_all(other.join("_delta_log")).unwrap();
    for from in [&path, &path.join("_delta_log")] {
        let to = other.join(from.strip_prefix(&path).unwrap());
        for entry in fs::read_dir(from).unwrap().map(Result::unwrap).filter(|entry| entry.path().is_file()) {
            fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
    // Two programs add at the same time: each part was made without the other one.
    add(&path, "{\"b\":[1]}\n");
    let mut folder = Folder::open(LocalStorage::new(&other)).unwrap();
    add(&other, "{\"c\":true}\n");
    folder.refresh().unwrap();
    let part = folder.snapshot().parts().next_back().unwrap().clone();
    fs::copy(other.join(&part.name), path.join(&part.name)).unwrap();
    let mut folder = Folder::open(LocalStorage::new(&path)).unwrap();
    let schema = folder.snapshot().schema().clone();
    let c = warpath_folder::Field::new("c", warpath_folder::Type::Boolean);
    let schema = warpath_folder::Schema { fields: [schema.fields, vec![c]].concat() };
    let change = warpath_folder::Change {
        operation: "WRITE".to_owned(),
        added: vec![part],
        schema: Some(schema),
        ..warpath_folder::Change::default()
    };
    folder.commit(change, warpath_folder::Millis(0)).unwrap();
    // The last part has no `b`.
    add(&path, "{\"b\":\"x\",\"c\":1}\n");
    let want = ["a int64", "b[] int64", "c bool", "b:string string", "c:int int64"];
    assert_eq!(columns(&path), want);
}

#[test]
fn a_column_whose_part_is_gone_keeps_its_type() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    add(&path, "{\"a\":1}\n");
    add(&path, "{\"b\":[{\"x\":1}],\"c\":2}\n");
    let engine = Engine::builder().build().unwrap();
    let dropped = Store::drop_matching(&path, &engine, &Predicate::parse("$.c == 2").unwrap()).unwrap();
    assert_eq!((dropped.parts_before, dropped.parts_after), (1, 0));
    add(&path, "{\"b\":\"x\",\"c\":true}\n");
    add(&path, "{\"b\":[],\"c\":1}\n");
    assert_eq!(columns(&path), ["a int64", "b:string string", "c:bool bool", "c int64", "b[].:present bool"]);
    assert_eq!(text(&path), "{\"a\":1}\n{\"b\":\"x\",\"c\":true}\n{\"b\":[],\"c\":1}\n");
}
