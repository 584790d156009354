//! Columns of a store that is added to many times.

mod filters;
mod follow;
mod resident;
mod stored;

use std::fs::{self, File};
use std::io::Read;
use std::path::PathBuf;

use warpath_answer::answer::{Limit, TextForm, Want};
use warpath_cpu::twig::standing::{Documents, Standing};
use warpath_cpu::twig::subscriptions::Subscriptions;
use warpath_folder::LocalStorage;
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};

use super::*;
use crate::engine::{Engine, OnError};
use crate::input::{FolderFiles, LOG};

fn add(path: &Path, text: &str) -> Added {
    let source = Source::Reader("lines".into(), Box::new(std::io::Cursor::new(text.to_owned())));
    Store::add(path, vec![source], AddOptions::default(), &mut |_| {}).unwrap()
}

fn text(path: &Path) -> String {
    String::from_utf8(bytes(path)).unwrap()
}

fn bytes(path: &Path) -> Vec<u8> {
    let mut back = Vec::new();
    let mut append = |text: &[u8]| {
        back.extend_from_slice(text);
        true
    };
    Store::open(path).unwrap().text(0..u64::MAX, &mut append).unwrap();
    back
}

/// The files of the parts of a store.
fn paths_of(store: &Path) -> Vec<PathBuf> {
    let parts = Store::open(store).unwrap().parts().unwrap();
    parts.iter().map(|part| store.join(&part.name)).collect()
}

fn condition() -> Predicate {
    Predicate::parse("$.id == 2 || $.id == 4").unwrap()
}

fn columns(path: &Path) -> Vec<String> {
    let columns = Store::open(path).unwrap().columns().unwrap();
    let named = columns.iter().map(|column| format!("{} {}", column.path, column.kind));
    named.filter(|column| !column.starts_with('_')).collect()
}

#[test]
fn lines_that_are_no_records_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("logs.wp");
    assert_eq!(add(&path, "{\"id\":1}\n\n[1]\n\"\\ud800\"\n").malformed, 0);
    assert_eq!(add(&path, "{\"id\":2}\nnope\n{\"id\":\n{\"id\":3}{\"id\":4}\n").malformed, 3);
    // Several groups and parts.
    let text = format!("x\n{{\"id\":5}}\n{}\n", "y".repeat(100));
    let sources = vec![
        Source::Bytes("one".into(), text.clone().into_bytes().into()),
        Source::Bytes("two".into(), text.into_bytes().into()),
    ];
    let added = Store::add(&path, sources, AddOptions::default().group_bytes(8), &mut |_| {}).unwrap();
    assert_eq!((added.lines, added.malformed), (6, 4));
    assert!(Store::open(&path).unwrap().text(0..u64::MAX, &mut |_| true).is_ok());
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
fn small_parts_at_the_end_become_one() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let large = format!("{{\"large\":\"{}\"}}\n", "x".repeat(4 << 20));
    add(&path, "{\"before\":1}\n");
    add(&path, &large);
    let mut all = format!("{{\"before\":1}}\n{large}");
    for n in 1..=31 {
        let line = format!("{{\"n\":{n}}}\n");
        add(&path, &line);
        all.push_str(&line);
        assert_eq!(Store::compact_last(&path).unwrap(), Rewritten::default(), "{n}");
    }
    add(&path, "{\"n\":32}\n");
    all.push_str("{\"n\":32}\n");
    let merged = Store::compact_last(&path).unwrap();
    assert_eq!((merged.parts_before, merged.parts_after), (32, 1));
    let lines: Vec<u64> =
        Store::open(&path).unwrap().parts().unwrap().iter().map(|part| part.lines).collect();
    assert_eq!(lines, [1, 1, 32]);
    assert_eq!(text(&path), all);
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
    folder.commit(change, Millis(0)).unwrap();
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

/// Adds a file, and returns the lines that were added.
fn add_file(store: &Path, file: &Path) -> Result<Added, Error> {
    Store::add(store, vec![Source::File(file.to_owned())], AddOptions::default(), &mut |_| {})
}

#[test]
fn a_last_line_without_newline_does_not_stop_the_file_from_growing() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
    let all = "{\"a\":1}\n{\"a\":2}\r\n\n{\"a\":3}\n  \r\n{\"a\":40}\n{\"a\":5}";
    let mut lines = 0;
    for end in 1..=all.len() {
        fs::write(&file, &all[..end]).unwrap();
        lines += add_file(&store, &file).unwrap().lines;
        // A newline alone waits for the lines that follow.
        let text = text(&store);
        let whole = &all[..end];
        assert!(text == whole || whole.ends_with('\n') && text == whole[..end - 1], "{text:?} of {whole:?}");
        Store::open(&store).unwrap().verify().unwrap();
        if end % 7 == 0 {
            Store::compact(&store).unwrap();
        }
    }
    assert_eq!(text(&store), all);
    assert!(lines > 7);
    let file_again = add_file(&store, &file).unwrap();
    assert_eq!((file_again.lines, file_again.known.len()), (0, 1));
}

#[test]
fn a_cut_line_is_replaced_wherever_it_is() {
    let folder = tempfile::tempdir().unwrap();
    let [store, one, two] = ["store", "one", "two"].map(|name| folder.path().join(name));
    for file in [&one, &two] {
        fs::write(file, "{\"id\":1}\n{\"id").unwrap();
    }
    let sources = || [&one, &two].map(|file| Source::File(file.clone())).into();
    Store::add(&store, sources(), AddOptions::default(), &mut |_| {}).unwrap();
    add(&store, "{\"id\n{\"late\":1}\n");
    fs::write(&one, "{\"id\":1}\n{\"id\":12}\n").unwrap();
    let added = add_file(&store, &one).unwrap();
    assert_eq!((added.lines, added.parts), (1, 1));
    // The last line of a part makes room, not the line with the same bytes.
    assert_eq!(text(&store), "{\"id\":1}\n{\"id\n{\"id\":1}\n{\"id\n{\"late\":1}\n{\"id\":12}\n");
    fs::write(&one, "{\"id\":1}\n{\"id\":12}\n{\"id").unwrap();
    add_file(&store, &one).unwrap();
    fs::write(&one, "{\"id\":1}\n{\"id\":12}\n{\"id\":13}").unwrap();
    fs::write(&two, "{\"id\":1}\n{\"id\":22}").unwrap();
    Store::add(&store, sources(), AddOptions::default(), &mut |_| {}).unwrap();
    let want = "{\"id\":1}\n{\"id\":1}\n{\"id\n{\"late\":1}\n{\"id\":12}\n{\"id\":13}\n{\"id\":22}";
    assert_eq!(text(&store), want);
    Store::open(&store).unwrap().verify().unwrap();
    // A line that was dropped does not come back, and no other line goes in its place.
    let file = folder.path().join("gone");
    fs::write(&file, "{\"x\":1}\n{\"x\":2}").unwrap();
    add_file(&store, &file).unwrap();
    let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
    Store::drop_matching(&store, &engine, &Predicate::parse("$.x == 2").unwrap()).unwrap();
    add(&store, "{\"x\":2}\n");
    fs::write(&file, "{\"x\":1}\n{\"x\":2},\n").unwrap();
    assert!(refusal(add_file(&store, &file)).contains("not complete"));
    assert!(text(&store).ends_with("\n{\"x\":1}\n{\"x\":2}\n"), "{}", text(&store));
}

#[test]
fn a_mark_within_a_text_is_a_fault_whatever_the_predicate() {
    let folder = tempfile::tempdir().unwrap();
    for (number, line) in ["{\"a\":2}", "1", "nope"].into_iter().enumerate() {
        let text = format!("{{\"a\":1}}\n\u{feff}{line}\n{{\"a\":3}}\n");
        let store = folder.path().join(number.to_string());
        add(&store, &text);
        for predicate in ["$.a == 1", "$.a == 2", "$.a == 3", "$.a == 9", "$.b", "$.a"] {
            for on_error in [OnError::Skip, OnError::Fail] {
                let engine = Engine::builder().on_error(on_error).build().unwrap();
                let predicate = Predicate::parse(predicate).unwrap();
                let of = |sources: Vec<Source>| {
                    let program = Program::new(&[Query::compile("$.a").unwrap()]).unwrap();
                    let input = engine.input(sources).matching(&predicate);
                    let mut faults = Vec::new();
                    for batch in input.answers(program, Want::new().matches(true).partial(true)) {
                        match batch {
                            Ok(batch) => {
                                faults.extend(batch.skipped().map(|fault| (fault.line, fault.byte)));
                                faults.extend(batch.matches(0).map(|found| (0, u64::from(found[0]))));
                            }
                            Err(Error::Input(InputError::Record(fault))) => {
                                faults.push((fault.line, fault.byte));
                            }
                            Err(error) => panic!("{error}"),
                        }
                    }
                    faults
                };
                let text = Source::Reader("text".into(), Box::new(std::io::Cursor::new(text.clone())));
                let wanted = of(vec![text]);
                assert_eq!(of(Store::open(&store).unwrap().sources()), wanted, "{line} {predicate:?}");
            }
        }
    }
}

#[test]
fn patterns_read_neither_logs_nor_parts_that_are_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (store, engine) = (folder.path().join("store"), Engine::builder().build().unwrap());
    add(&store, "{\"a\":1}\n");
    add(&store, "{\"a\":2}\n");
    fs::write(folder.path().join("x.json"), "{\"a\":3}\n").unwrap();
    Store::compact(&store).unwrap();
    for (name, want) in [
        ("**", vec!["1", "2", "3"]),
        ("**/*.json", vec!["3"]),
        ("store/*.parquet", vec!["1", "2"]),
        ("store/./*.parquet", vec!["1", "2"]),
    ] {
        let sources = Source::named(&folder.path().join(name), FolderFiles::Json).unwrap();
        let mut values = found(&engine, sources, "$.a").unwrap();
        values.sort();
        assert_eq!(values, want, "{name}");
    }
    // A store whose log has lost its first version is no table of another program.
    fs::write(store.join("_delta_log/00000000000000000000.json"), "").unwrap();
    assert!(Source::named(folder.path(), FolderFiles::Json).is_err());
}

fn refusal<T>(result: Result<T, Error>) -> String {
    match result.err().expect("an error") {
        error @ Error::Store(StoreError::Refused { .. }) => error.to_string(),
        error => panic!("{error:?}"),
    }
}

/// The results of a path over inputs, and of an engine.
fn found(engine: &Engine, sources: Vec<Source>, path: &str) -> Result<Vec<String>, Error> {
    let hits = engine.input(sources).query(&Query::compile(path).unwrap())?;
    hits.map(|hit| Ok(hit?.text().into_owned())).collect()
}

#[test]
fn a_store_without_lines_is_an_input_without_lines() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let engine = Engine::builder().build().unwrap();
    add(&store, "{\"a\":1}\n");
    Store::drop_matching(&store, &engine, &Predicate::parse("$.a == 1").unwrap()).unwrap();
    assert_eq!(Store::open(&store).unwrap().parts().unwrap(), []);
    for name in ["store", "*", "store/*.parquet", "."] {
        let sources = Source::named(&folder.path().join(name), FolderFiles::Json).unwrap();
        assert_eq!(sources.len(), 1, "{name}");
        assert_eq!(found(&engine, sources, "$.a").unwrap(), [""; 0], "{name}");
    }
    assert_eq!(found(&engine, Store::open(&store).unwrap().sources(), "$.a").unwrap(), [""; 0]);
    fs::write(folder.path().join("a.ndjson"), "{\"a\":2}\n").unwrap();
    let sources = Source::named(folder.path(), FolderFiles::Json).unwrap();
    assert_eq!(found(&engine, sources, "$.a").unwrap(), ["2"]);
}

#[test]
fn a_table_of_another_program_is_named_and_does_not_stop_its_neighbours() {
    let folder = tempfile::tempdir().unwrap();
    let [table, store] = ["table", "store"].map(|name| folder.path().join(name));
    let log = table.join("_delta_log");
    fs::create_dir_all(&log).unwrap();
    fs::write(log.join("00000000000000000000.json"), "{\"protocol\":{\"minReaderVersion\":1}}\n").unwrap();
    fs::write(table.join("own.ndjson"), "{\"a\":1}\n").unwrap();
    fs::write(table.join("part.parquet"), "PAR1").unwrap();
    add(&store, "{\"a\":2}\n");
    let engine = Engine::builder().build().unwrap();
    let said = Source::named(&table, FolderFiles::Json).err().unwrap().to_string();
    assert!(said.contains("table of another program") && said.contains("warpath sql"), "{said}");
    assert!(Source::named(folder.path(), FolderFiles::Parquet).is_err());
    for (name, want) in [(".", vec!["2", "1"]), ("table/*.ndjson", vec!["1"]), ("*", vec!["2"])] {
        let sources = Source::named(&folder.path().join(name), FolderFiles::Json).unwrap();
        assert_eq!(found(&engine, sources, "$.a").unwrap(), want, "{name}");
    }
    assert!(refusal(Store::open(&table)).contains("table of another program"));
    let file = folder.path().join("lines.txt");
    fs::write(&file, "{\"a\":3}\n").unwrap();
    assert!(refusal(add_file(&table, &file)).contains("table of another program"));
    assert_eq!(add_file(&store, &file).unwrap().lines, 1);
    // Its log may begin later, after a checkpoint.
    fs::rename(log.join("00000000000000000000.json"), log.join("00000000000000000007.json")).unwrap();
    assert!(refusal(Store::open(&table)).contains("table of another program"));
    // A log of Warpath that is damaged is no table of another program.
    let log = store.join("_delta_log").join("00000000000000000000.json");
    let text = fs::read_to_string(&log).unwrap();
    fs::write(&log, text.replacen("commitInfo", "commitinfo", 1)).unwrap();
    assert!(!refusal(Store::open(&store)).contains("table of another program"));
    assert!(Source::named(folder.path(), FolderFiles::Json).is_err());
}

#[test]
fn records_whose_length_is_limited_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    add(&store, "{\"a\":1,\"b\":\"0123456789\"}\n");
    let program = Program::new(&[Query::compile("$.a").unwrap()]).unwrap();
    let want = Want::new().text(TextForm::Json).partial(true);
    for (limit, is_whole) in [(1000, true), (15, true), (0, false)] {
        let builder = Engine::builder();
        let builder = if limit > 0 { builder.max_record(limit) } else { builder };
        let engine = builder.build().unwrap();
        let input = || engine.input(Store::open(&store).unwrap().sources());
        let mut answers = input().answers(program.clone(), want);
        let is_long =
            answers.any(|batch| matches!(batch, Err(Error::Input(InputError::RecordTooLong { .. }))));
        assert_eq!(is_long, limit == 15, "{limit}");
        let reading = &input().explain(program.clone(), want).unwrap().plan.reading;
        assert_eq!(matches!(reading, warpath_plan::Reading::Lines), is_whole, "{limit}: {reading:?}");
        // Those of subscriptions, too.
        let mut subscriptions = Subscriptions::default();
        subscriptions.add("a", "$.a").unwrap();
        let standing = Standing::new(subscriptions);
        let mut filtering = input().filter_partial(&standing.current());
        assert_eq!(filtering.plan().part_columns().is_none(), is_whole, "{limit}");
        let is_error = |error| matches!(error, Err(Error::Input(InputError::RecordTooLong { .. })));
        assert_eq!(filtering.any(is_error), limit == 15, "{limit}");
        let explained = input().explain_filter(&standing, Documents::Ndjson, false).unwrap();
        assert!(explained.has_parts && explained.plan.part_columns().is_none() && !explained.reuses);
    }
}

#[test]
fn limited_results_are_those_of_the_text() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let lines: Vec<String> = (0..300)
        .map(|id| match id % 11 {
            3 => format!("not json {id}\n"),
            7 => "\n".to_owned(),
            _ => format!("{{\"id\":{id},\"pad\":\"{}\"}}\n", "x".repeat(id % 40)),
        })
        .collect();
    let text = lines.concat();
    let source = Source::Reader("lines".into(), Box::new(std::io::Cursor::new(text.clone())));
    Store::add(&store, vec![source], AddOptions::default().group_bytes(3000), &mut |_| {}).unwrap();
    for size in [64, 700, 5000, 1 << 20] {
        let engine = Engine::builder().on_error(OnError::Skip).partition_size(size).build().unwrap();
        let of = |sources: Vec<Source>, path: &str, count: usize| {
            let program = Program::new(&[Query::compile(path).unwrap()]).unwrap();
            let limit = Limit::Matches(count as u64);
            let want = Want::new().matches(true).partial(true).limit(limit);
            let (mut found, mut faults) = (Vec::new(), Vec::new());
            for batch in engine.input(sources).answers(program, want) {
                let batch = batch.unwrap();
                let values = batch.matches(0).map(|value| String::from_utf8(value.to_vec()).unwrap());
                found.extend(values);
                faults.extend(batch.skipped().map(|fault| (fault.line, fault.byte)));
                // Each batch has up to this number of matches, and no fault after the last of them.
                if found.len() >= count {
                    found.truncate(count);
                    break;
                }
            }
            (found, faults)
        };
        for path in ["$", "$.id"] {
            for count in [1, 5, 17, 100, 250, 1000] {
                let text = Source::Reader("text".into(), Box::new(std::io::Cursor::new(text.clone())));
                let (wanted, faults) = of(vec![text], path, count);
                let (found, skipped) = of(Store::open(&store).unwrap().sources(), path, count);
                assert_eq!(found, wanted, "{path} {count} of {size}");
                assert!(count < 1000 || skipped == faults, "{path} {count} of {size}");
            }
        }
    }
}

#[test]
fn lines_are_added_again_if_another_program_brings_other_types() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
    fs::write(&file, "{\"a\":1,\"b\":1}\n").unwrap();
    // Another program adds lines while these are read.
    let mut times = 0;
    let mut others: Vec<&str> = vec!["{\"b\":\"x\"}\n", "{\"a\":\"x\"}\n"];
    let source = Source::File(file.clone());
    let added = Store::add(&store, vec![source], AddOptions::default(), &mut |_| {
        times += 1;
        others.pop().into_iter().for_each(|other| drop(add(&store, other)));
    });
    assert_eq!((added.unwrap().lines, times), (1, 3));
    assert_eq!(text(&store), "{\"a\":\"x\"}\n{\"b\":\"x\"}\n{\"a\":1,\"b\":1}\n");
    assert_eq!(columns(&store), ["a string", "b string", "a:int int64", "b:int int64"]);
    assert_eq!(fs::read_dir(&store).unwrap().count(), 4, "no part is left over");
    // Both add the same lines.
    fs::write(&file, "{\"a\":1,\"b\":1}\n{\"c\":1}\n").unwrap();
    let mut is_first = true;
    let source = Source::File(file.clone());
    let added = Store::add(&store, vec![source], AddOptions::default(), &mut |_| {
        if std::mem::take(&mut is_first) {
            add_file(&store, &file).unwrap();
        }
    });
    assert_eq!(added.unwrap().known.len(), 1);
    assert!(text(&store).ends_with("1}\n{\"c\":1}\n"));
    // A reader has no second time.
    let mut is_first = true;
    let source = Source::Reader("pipe".into(), Box::new(&b"{\"d\":1}\n"[..]));
    let failed = Store::add(&store, vec![source], AddOptions::default(), &mut |_| {
        if std::mem::take(&mut is_first) {
            add(&store, "{\"d\":\"x\"}\n");
        }
    });
    let said = refusal(failed);
    assert!(
        said.contains("pipe cannot be read once more") && said.contains("added `d` with values"),
        "{said}"
    );
    assert!(text(&store).ends_with("{\"c\":1}\n{\"d\":\"x\"}\n"));
}

#[test]
fn files_that_have_changed_are_named_before_lines_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let [store, one, two, new] = ["store", "one", "two", "new"].map(|name| folder.path().join(name));
    for file in [&one, &two] {
        fs::write(file, "{\"a\":1}\n").unwrap();
        add_file(&store, file).unwrap();
    }
    // Only the time is another one.
    let later = UNIX_EPOCH + std::time::Duration::from_secs(77);
    File::options().write(true).open(&one).unwrap().set_modified(later).unwrap();
    let added = add_file(&store, &one).unwrap();
    assert_eq!((added.known.len(), &added.touched), (1, &added.known));
    fs::write(&one, "{\"a\":2}\n").unwrap();
    fs::write(&two, "").unwrap();
    fs::write(&new, "{\"a\":3}\n").unwrap();
    let sources = [&new, &one, &two].map(|file| Source::File(file.clone())).into();
    let mut is_read = false;
    let added = Store::add(&store, sources, AddOptions::default(), &mut |_| is_read = true);
    let said = refusal(added);
    assert!([&one, &two].iter().all(|file| said.contains(&file.display().to_string())), "{said}");
    assert!(!said.contains("new") && !is_read, "{said}");
    assert_eq!(text(&store), "{\"a\":1}\n{\"a\":1}\n");
}

#[test]
fn a_store_whose_parts_changed_is_not_added_twice() {
    let folder = tempfile::tempdir().unwrap();
    let [from, to] = ["from", "to"].map(|name| folder.path().join(name));
    let add_store = || {
        let sources = Source::named(&from, FolderFiles::Json).unwrap();
        Store::add(&to, sources, AddOptions::default(), &mut |_| {})
    };
    add(&from, "{\"a\":1}\n");
    assert_eq!(add_store().unwrap().lines, 1);
    add(&from, "{\"a\":2}\n");
    let added = add_store().unwrap();
    assert_eq!((added.lines, added.known.len()), (1, 1));
    Store::compact(&from).unwrap();
    let said = refusal(add_store());
    assert!(said.contains("from: is a store, and has other parts"), "{said}");
    assert_eq!(text(&to), "{\"a\":1}\n{\"a\":2}\n");
}

#[cfg(unix)]
#[test]
fn files_of_a_store_have_no_wider_permissions_than_inputs() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [store, secret, open] = ["store", "secret", "open"].map(|name| folder.path().join(name));
    for (file, mode) in [(&secret, 0o600), (&open, 0o644)] {
        fs::write(file, format!("{{\"mode\":{mode}}}\n")).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(mode)).unwrap();
        add_file(&store, file).unwrap();
    }
    Store::compact(&store).unwrap();
    let files = [&store, &store.join("_delta_log")].map(|folder| fs::read_dir(folder).unwrap());
    let modes = files.into_iter().flatten().map(|entry| entry.unwrap().metadata().unwrap());
    let modes: Vec<_> = modes.filter(fs::Metadata::is_file).map(|file| file.permissions().mode()).collect();
    // Two parts and the merged one, and three versions.
    assert_eq!(modes.len(), 6);
    assert!(modes.iter().filter(|mode| **mode & 0o077 == 0).count() >= 5, "{modes:?}");
}

#[test]
fn byte_order_marks_are_no_part_of_lines() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let lines = ["\u{feff}{\"a\":1}\n", "\u{feff}{\"a\":2}", "{\"a\":3}\n\u{feff}\n"];
    lines.iter().for_each(|line| drop(add(&store, line)));
    let all = "\u{feff}{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n\u{feff}\n";
    assert_eq!(text(&store), all);
    let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
    let of_text = vec![Source::Bytes("text".into(), all.into())];
    let of_store = Store::open(&store).unwrap().sources();
    assert_eq!(found(&engine, of_store, "$.a").unwrap(), ["1", "2", "3"]);
    assert_eq!(found(&engine, of_text, "$.a").unwrap(), ["1", "2", "3"]);
    let mut some = Vec::new();
    let mut append = |text: &[u8]| {
        some.extend_from_slice(text);
        true
    };
    Store::open(&store).unwrap().text(1..3, &mut append).unwrap();
    assert_eq!(String::from_utf8(some).unwrap(), "\u{feff}{\"a\":2}\n{\"a\":3}\n");
}

#[test]
fn files_that_no_version_needs_are_removed_after_their_time() {
    use std::time::Duration;
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let lines = ["{\"a\":1}\n", "{\"a\":2}\n"];
    lines.iter().for_each(|line| drop(add(&store, line)));
    let before = Store::open(&store).unwrap();
    Store::compact(&store).unwrap();
    // What an addition has left that did not end, and files of somebody else.
    let left = store.join("part-0000000000001-0123456789abcdef.parquet");
    fs::copy(store.join(&before.parts().unwrap()[0].name), &left).unwrap();
    let bytes = left.metadata().unwrap().len();
    let names = [
        "notes.txt",
        "part-0000000000002-0123456789abcdef.parquet",
        "part-00000000003-0123456789abcdef.parquet",
        "part-0000000000004-0123456789ABCDEF.parquet",
        "part-2026.parquet",
        ".warpath-own.tmp",
    ];
    for (at, name) in names.into_iter().enumerate() {
        // A part under another name, and other files under the name of a part.
        match at {
            0 | 1 | 5 => fs::write(store.join(name), "own").unwrap(),
            _ => drop(fs::copy(&left, store.join(name)).unwrap()),
        }
    }
    let later = UNIX_EPOCH + Duration::from_secs(77);
    for name in names {
        File::options().write(true).open(store.join(name)).unwrap().set_modified(later).unwrap();
    }
    for keep in [Duration::from_secs(3600), Duration::MAX] {
        assert_eq!(Store::vacuum(&store, keep).unwrap(), Vacuumed::default());
    }
    assert_eq!(before.lines().unwrap(), 2);
    File::options().write(true).open(left).unwrap().set_modified(later).unwrap();
    let removed = Store::vacuum(&store, Duration::from_secs(3600)).unwrap();
    assert_eq!((removed.files, removed.bytes), (1, bytes));
    // In the millisecond in which they were removed they are not older than now.
    let mut files = 0;
    while files < 2 {
        files += Store::vacuum(&store, Duration::ZERO).unwrap().files;
    }
    assert_eq!(files, 2);
    assert!(before.lines().is_err());
    assert_eq!(text(&store), lines.concat());
    names.into_iter().for_each(|name| assert!(store.join(name).exists(), "{name}"));
}

#[test]
fn a_part_that_the_store_does_not_have_any_more_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    add(&store, "{\"a\":1}\n");
    add(&store, "{\"a\":2}\n");
    let engine = Engine::builder().build().unwrap();
    let paths = || paths_of(&store);
    let gone = paths();
    let named = |path: &Path| Source::named(path, FolderFiles::Json);
    for part in &gone {
        assert!(named(part).is_ok() && Store::open(part).is_ok());
    }
    Store::compact(&store).unwrap();
    let kept = paths();
    // A part of an addition that has not ended, and one of nobody.
    let stray = store.join("part-0000000000001-0123456789abcdef.parquet");
    fs::copy(&kept[0], &stray).unwrap();
    let mut refused = vec![stray];
    #[cfg(unix)]
    {
        let link = folder.path().join("link");
        std::os::unix::fs::symlink(&gone[0], &link).unwrap();
        refused.push(link);
    }
    for part in gone.iter().chain(&refused) {
        let said = named(part).err().unwrap().to_string();
        assert!(said.contains("is not in the last version of the store"), "{said}");
        assert_eq!(refusal(Store::open(part)), said);
    }
    assert_eq!(found(&engine, named(&kept[0]).unwrap(), "$.a").unwrap(), ["1", "2"]);
    // Elsewhere, each part is a store.
    let alone = folder.path().join("alone.parquet");
    fs::copy(&gone[0], &alone).unwrap();
    assert_eq!(found(&engine, named(&alone).unwrap(), "$.a").unwrap(), ["1"]);
    // A store of the same name is another store.
    fs::remove_dir_all(&store).unwrap();
    add(&store, "{\"a\":3}\n");
    assert!(named(&paths()[0]).is_ok());
    // Without a log that can be read, the part is all that is left.
    fs::write(store.join(LOG).join("00000000000000000001.json"), "damaged").unwrap();
    let left = fs::read_dir(&store).unwrap().map(|entry| entry.unwrap().path()).find(|path| path.is_file());
    assert_eq!(found(&engine, named(&left.unwrap()).unwrap(), "$.a").unwrap(), ["3"]);
}

/// The values of `$.a`, and the number of lines that are malformed.
fn values_and_faults(sources: Vec<Source>) -> (Vec<String>, u64) {
    let engine = Engine::builder().on_error(OnError::Skip).partition_size(1000).build().unwrap();
    let mut hits = engine.input(sources).query(&Query::compile("$.a").unwrap()).unwrap();
    let values = hits.by_ref().map(|hit| hit.unwrap().text().into_owned()).collect();
    (values, hits.stats().skipped)
}

#[test]
fn integers_are_doubles_where_decimals_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    // Of one group, in any order; then in a later addition.
    let lines = "{\"a\":1,\"b\":1.5}\n{\"a\":2.5,\"b\":2}\n{\"a\":-0,\"b\":3.0}\n";
    add(&path, lines);
    add(&path, "{\"a\":4}\n");
    assert_eq!(columns(&path), ["a float64", "b float64"]);
    assert_eq!(text(&path), format!("{lines}{{\"a\":4}}\n"));
}

#[test]
fn growth_is_text_whatever_it_begins_with() {
    let begins = [
        &b"\xef\xbb\xbf{\"a\":1}\n"[..],
        b"\xef\xbb\xbf",
        b"\xef\xbb\xbf\xef\xbb\xbf{\"a\":2}\n{\"a\":3}\n",
        b"\x1f\x8b\x08\0\0\0\0\0\0\x03 {\"a\":4}\n{\"a\":5}\n",
        b"\x28\xb5\x2f\xfd {\"a\":6}\n{\"a\":7}\n",
        b"BZh9\n{\"a\":8}\n",
        b"PAR1\n{\"a\":9}\n",
        b"ORC\n",
        b"\xff\xfe{\0}\0\n\0\n{\"a\":10}\n",
        b"\x50\x2a\x4d\x18",
        b"{\"a\":11}\n",
    ];
    for first in 0..begins.len() {
        let folder = tempfile::tempdir().unwrap();
        let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
        let mut all = b"{\"a\":0}\n".to_vec();
        fs::write(&file, &all).unwrap();
        add_file(&store, &file).unwrap();
        for number in 0..begins.len() {
            let growth = begins[(first + number) % begins.len()];
            all.extend_from_slice(growth);
            fs::write(&file, &all).unwrap();
            add_file(&store, &file).unwrap_or_else(|error| panic!("{growth:?}: {error}"));
            assert_eq!(bytes(&store), all, "{growth:?}");
        }
        let wanted = values_and_faults(vec![Source::File(file.clone())]);
        let stored = || Store::open(&store).unwrap().sources();
        Store::open(&store).unwrap().verify().unwrap();
        assert_eq!(values_and_faults(stored()), wanted);
        // Its parts go into another store, and become one part, with the same text.
        let other = folder.path().join("other");
        Store::add(&other, stored(), AddOptions::default(), &mut |_| {}).unwrap();
        for store in [&store, &other] {
            assert_eq!(bytes(store), all);
            Store::compact(store).unwrap();
            assert_eq!(bytes(store), all);
            assert_eq!(values_and_faults(Store::open(store).unwrap().sources()), wanted);
        }
    }
}

#[test]
fn lines_that_are_left_of_a_part_are_text_whatever_they_begin_with() {
    let marks = [
        &b"\xef\xbb\xbf{\"a\":2}\n"[..],
        b"\x1f\x8b\x08\n",
        b"\x28\xb5\x2f\xfd\n",
        b"PAR1\n",
        b"{\"a\":2}\n",
    ];
    for (number, mark) in marks.into_iter().enumerate() {
        for begin in [&b""[..], b"\xef\xbb\xbf"] {
            let folder = tempfile::tempdir().unwrap();
            let store = folder.path().join(number.to_string());
            add(&store, "{\"a\":0}\n");
            let text = [begin, b"{\"a\":1}\n", mark, b"{\"a\":3}\n"].concat();
            let source = Source::Reader("lines".into(), Box::new(std::io::Cursor::new(text)));
            Store::add(&store, vec![source], AddOptions::default(), &mut |_| {}).unwrap();
            let engine = Engine::builder().on_error(OnError::Skip).build().unwrap();
            for (predicate, want) in [
                ("$.a == 3", [&b"{\"a\":0}\n{\"a\":1}\n"[..], mark].concat()),
                ("$.a == 1", [&b"{\"a\":0}\n"[..], mark].concat()),
            ] {
                Store::drop_matching(&store, &engine, &Predicate::parse(predicate).unwrap()).unwrap();
                assert_eq!(bytes(&store), want, "{predicate}");
                let text = Source::Bytes("text".into(), want.clone().into());
                let wanted = values_and_faults(vec![text]);
                assert_eq!(values_and_faults(Store::open(&store).unwrap().sources()), wanted, "{predicate}");
            }
        }
    }
}

#[test]
fn nothing_is_left_of_a_first_addition_that_fails() {
    let folder = tempfile::tempdir().unwrap();
    let [broken, file] = ["broken.gz", "file"].map(|name| folder.path().join(name));
    fs::write(&broken, b"\x1f\x8b\x08broken").unwrap();
    fs::write(&file, "{\"a\":1}\n").unwrap();
    let path = folder.path().join("stores/of/lines");
    let is_empty = || fs::read_dir(folder.path()).unwrap().count() == 2;
    // Groups of a line, so that there is a part before the error.
    let options = AddOptions::default().group_bytes(1);
    let failing = || {
        let more = std::io::Cursor::new(b"{\"a\":2}\n".repeat(100)).chain(Failing);
        vec![Source::File(file.clone()), Source::Reader("lines".into(), Box::new(more))]
    };
    for sources in [vec![Source::File(file.clone()), Source::File(broken)], failing()] {
        assert!(Store::add(&path, sources, options, &mut |_| {}).is_err());
        assert!(is_empty());
    }
    // A file that changes while it is read is refused after the parts are complete.
    let changes = Store::add(&path, vec![Source::File(file.clone())], options, &mut |_| {
        fs::write(&file, "{\"a\":2}\n").unwrap();
    });
    assert!(refusal(changes).contains("changed while it was read") && is_empty());
    // A folder that was there stays, and so does a file that another program puts there meanwhile.
    fs::create_dir_all(&path).unwrap();
    assert!(Store::add(&path, failing(), options, &mut |_| {}).is_err());
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    let own = path.join("own");
    let failed = Store::add(&path, failing(), options, &mut |_| fs::write(&own, "").unwrap());
    assert!(failed.is_err() && own.is_file() && !path.join(LOG).exists());
    fs::remove_file(own).unwrap();
    // Parts without a log may be all that is left of a store. A temporary file is nothing.
    add(&folder.path().join("from"), "{\"a\":3}\n");
    let part = paths_of(&folder.path().join("from")).remove(0);
    let copy = path.join(part.file_name().unwrap());
    fs::copy(&part, &copy).unwrap();
    fs::write(path.join(".warpath-0123456789ab.tmp"), "PAR1").unwrap();
    assert!(refusal(add_file(&path, &file)).contains("has parts and no log"));
    fs::remove_file(copy).unwrap();
    assert_eq!(add_file(&path, &file).unwrap().lines, 1);
    assert_eq!(text(&path), "{\"a\":2}\n");
    // Inputs without lines make a store.
    let empty = folder.path().join("empty");
    assert_eq!(add(&empty, "").lines, 0);
    assert_eq!(Store::open(&empty).unwrap().lines().unwrap(), 0);
}

/// A reader that fails.
struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
        Err(std::io::Error::other("the reader fails"))
    }
}
