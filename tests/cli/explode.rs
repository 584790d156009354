//! `select --explode`: a row for each element of an array.

use arrow_array::Array;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::columns::stream;
use crate::{Folder, pipe};

const ORDERS: &[u8] = br#"{"id":1,"items":[{"price":5,"tags":["x","y"]},{"price":"7"},8]}
{"id":2,"items":[]}
{"id":3}

{"id":4,"items":[{"price":null,"tags":[]},{"tags":["z"]}]}
{"id":5,"items":"none"}
{"id":6,"items":[[]]}
"#;

const ROWS: &str = r#"{"id":1,"price":5,"tags":["x","y"],"item":{"price":5,"tags":["x","y"]}}
{"id":1,"price":"7","tags":[],"item":{"price":"7"}}
{"id":1,"price":null,"tags":[],"item":8}
{"id":4,"price":null,"tags":[],"item":{"price":null,"tags":[]}}
{"id":4,"price":null,"tags":["z"],"item":{"tags":["z"]}}
{"id":6,"price":null,"tags":[],"item":[]}
"#;

const COLUMNS: [&str; 4] = ["id=$.id", "price=$.items[*].price", "tags=@.tags[*]", "item=@"];

#[test]
fn each_element_is_a_row() {
    for path in ["$.items", "$.items[*]", "$['items'][*]"] {
        for size in ["1", "70", "1MiB"] {
            let args = [&["select", "--explode", path, "--partition-size", size], &COLUMNS[..]].concat();
            assert_eq!(pipe(&args, ORDERS).ok(), ROWS);
            for limit in 0..7 {
                let most = limit.to_string();
                let args = [&args[..], &["--limit", &most]].concat();
                let want: String = ROWS.split_inclusive('\n').take(limit).collect();
                assert_eq!(pipe(&args, ORDERS).ok(), want, "{limit}");
            }
        }
    }
    let csv =
        pipe(&["select", "--format", "csv", "--explode", "$.items", "id=$.id", "p=@.price ?? 0"], ORDERS);
    assert_eq!(csv.ok(), "id,p\n1,5\n1,7\n1,0\n4,0\n4,0\n6,0\n");
}

#[test]
fn elements_may_be_selected() {
    let ran =
        pipe(&["select", "--explode", "$.items[?@.price]", "p=@.price", "all=$.items[*].price"], ORDERS);
    assert_eq!(
        ran.ok(),
        "{\"p\":5,\"all\":[5,\"7\",null]}\n{\"p\":\"7\",\"all\":[5,\"7\",null]}\n{\"p\":null,\"all\":[null]}\n"
            .replace("\"7\",null", "\"7\"")
    );
    assert_eq!(
        pipe(&["select", "--explode", "$[-1:]", "last=@"], b"[1,2]\n[]\n[3]\n").ok(),
        "{\"last\":2}\n{\"last\":3}\n"
    );
    assert_eq!(pipe(&["select", "--explode", "$[::-1]", "a=@"], b"[1,2]\n").ok(), "{\"a\":2}\n{\"a\":1}\n");
    // Elements of elements, with the values of their own.
    let nested =
        pipe(&["select", "--explode", "$[*][*]", "a=@[0]", "id=$[0][0]"], b"[[[1],[2,3]],[[4]],[]]\n");
    assert_eq!(nested.ok(), "{\"a\":1,\"id\":[1]}\n{\"a\":2,\"id\":[1]}\n{\"a\":4,\"id\":[1]}\n");
    // The elements of arrays, whether the path to the arrays selects one or many.
    let orders = b"{\"id\":1,\"o\":[{\"items\":[1,2]},{\"items\":[3]},{\"items\":[]},{}]}\n";
    for path in ["$.o[*].items", "$.o[*].items[*]", "$.o[?@.items].items"] {
        let ran = pipe(&["select", "--explode", path, "id=$.id", "item=@"], orders);
        let rows: String = (1..4).map(|item| format!("{{\"id\":1,\"item\":{item}}}\n")).collect();
        assert_eq!(ran.ok(), rows, "{path}");
    }
    assert_eq!(pipe(&["select", "--explode", "$.o[0].items", "i=@"], orders).ok(), "{\"i\":1}\n{\"i\":2}\n");
    for path in ["$..items", "$.items[0,0]"] {
        let args = ["select", "--explode", path, "a=@"];
        pipe(&args, b"").failed(2, "", &format!("error: `{path}` may select a value twice"));
    }
    pipe(&["select", "--explode", "$[", "a=@"], b"").failed(3, "", "error: ");
}

#[test]
fn elements_have_types() {
    for size in ["1", "1MiB"] {
        let columns = ["id:int64=$.id", "price:int64=@.price", "tags:string=@.tags[*]"];
        let args = ["select", "--explode", "$.items", "--format", "arrow", "--partition-size", size];
        let ran = pipe(&[&args, &columns[..]].concat(), ORDERS);
        let warning = "warning: column `price:int64`: 1 value not taken, null instead: 1 of another type (first: <stdin>:1)";
        assert!(ran.code == 0 && ran.stderr.starts_with(warning), "{ran}");
        let batch = stream(&ran.stdout);
        let integers = |name: &str| batch[name].as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
        assert_eq!(integers("id"), [1, 1, 1, 4, 4, 6].map(Some));
        assert_eq!(integers("price"), [Some(5), None, None, None, None, None]);
        let lists: Vec<usize> =
            batch["tags"].as_list::<i32>().iter().map(|list| list.unwrap().len()).collect();
        assert_eq!(lists, [2, 0, 0, 0, 1, 0]);
        let skipping = pipe(&[&args[..], &["--on-mismatch", "skip", "-q"], &columns].concat(), ORDERS);
        assert_eq!(stream(&skipping.stdout)["id"].as_primitive::<Int64Type>().values(), &[4, 4, 6]);
    }
}

/// A record that is left out has none of its rows, and is one reject, however many values are refused.
#[test]
fn a_record_is_left_out_with_all_its_rows() {
    let records = b"{\"b\":[{\"v\":1},{\"v\":2}]}\n{\"b\":[{\"v\":3},{\"v\":\"q\"},{},{\"v\":\"r\"}]}\n\
                    {\"b\":[{\"v\":4}]}\n{\"b\":[{\"v\":\"s\"},{\"v\":5}]}\n{\"b\":[{\"v\":6}]}\n";
    let folder = Folder::new(&[("in", records)]);
    for size in ["1", "50", "1MiB"] {
        let run = |more: &[&str]| {
            let args = ["select", "--format", "arrow", "--explode", "$.b", "v:int64=@.v", "in", "-q"];
            let skip = ["--on-mismatch", "skip", "--rejects", "bad", "--partition-size", size];
            let ran = folder.run(&[&args[..], &skip, more].concat());
            let batch = stream(&ran.stdout);
            let values: Vec<i64> = batch["v"].as_primitive::<Int64Type>().values().to_vec();
            assert_eq!(batch["v"].null_count(), 0);
            let rejects = String::from_utf8(folder.read("bad")).unwrap();
            let rejects = rejects.lines().map(|line| {
                let reject: serde_json::Value = serde_json::from_str(line).unwrap();
                (reject["line"].as_u64().unwrap(), reject["byte"].as_u64().unwrap())
            });
            (ran.code, values, rejects.collect::<Vec<_>>())
        };
        assert_eq!(run(&[]), (0, vec![1, 2, 4, 6], vec![(2, 20), (4, 12)]), "{size}");
        let sorted = run(&["--sort", "v:desc"]);
        assert_eq!(sorted, (0, vec![6, 4, 2, 1], vec![(2, 20), (4, 12)]), "{size}");
        assert_eq!(run(&["--max-errors", "2"]).0, 0, "{size}");
        assert_eq!(run(&["--max-errors", "1"]).0, 4, "{size}");
        assert_eq!(run(&["--limit", "3"]), (0, vec![1, 2, 4], vec![(2, 20)]), "{size}");
        assert_eq!(run(&["--limit", "2"]), (0, vec![1, 2], vec![]), "{size}");
    }
}

/// A malformed record gives no row, and rows before it are kept.
#[test]
fn faults_are_where_they_are() {
    let orders = b"{\"a\":[1,2]}\n{\"a\":[3}\n{\"a\":[4]}\n";
    for size in ["1", "1MiB"] {
        for (format, rows) in [("ndjson", "{\"a\":1}\n{\"a\":2}\n"), ("csv", "a\n1\n2\n")] {
            let args = ["select", "--explode", "$.a", "a=@", "--format", format, "--partition-size", size];
            pipe(&args, orders).failed(4, rows, "error: <stdin>:2:8: ");
        }
        let args = ["select", "--explode", "$.a", "a=@", "--on-error", "skip", "--partition-size", size];
        pipe(&args, orders).failed(
            0,
            "{\"a\":1}\n{\"a\":2}\n{\"a\":4}\n",
            "warning: 1 malformed record skipped",
        );
        let args = ["select", "--explode", "$.a", "a:int64=@", "--format", "arrow", "--partition-size", size];
        let ran = pipe(&args, orders);
        assert!(ran.code == 4 && stream(&ran.stdout).num_rows() == 2, "{ran}");
    }
    // Only the records that a condition admits are exploded.
    let args = ["select", "--explode", "$.a", "a=@", "--where", "$.a[0] > 1", "--on-error", "skip", "-q"];
    assert_eq!(pipe(&args, orders).ok(), "{\"a\":4}\n");
}
