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

#[test]
fn elements_have_types() {
    for size in ["1", "1MiB"] {
        let columns = ["id:int64=$.id", "price:int64=@.price", "tags:string=@.tags[*]"];
        let args = ["select", "--explode", "$.items", "--format", "arrow", "--partition-size", size];
        let ran = pipe(&[&args, &columns[..]].concat(), ORDERS);
        let warning = "warning: column `price:int64`: 1 value not taken, null instead: 1 of another type (first: <stdin>:2)";
        assert!(ran.code == 0 && ran.stderr.starts_with(warning), "{ran}");
        let batch = stream(&ran.stdout);
        let integers = |name: &str| batch[name].as_primitive::<Int64Type>().iter().collect::<Vec<_>>();
        assert_eq!(integers("id"), [1, 1, 1, 4, 4, 6].map(Some));
        assert_eq!(integers("price"), [Some(5), None, None, None, None, None]);
        let lists: Vec<usize> =
            batch["tags"].as_list::<i32>().iter().map(|list| list.unwrap().len()).collect();
        assert_eq!(lists, [2, 0, 0, 0, 1, 0]);
        let skipping = pipe(&[&args[..], &["--on-mismatch", "skip", "-q"], &columns].concat(), ORDERS);
        assert_eq!(stream(&skipping.stdout)["id"].as_primitive::<Int64Type>().values(), &[1, 1, 4, 4, 6]);
    }
}

/// Rows that are left out are rejects, each with its number and its element.
#[test]
fn rows_are_left_out_one_by_one() {
    let records = b"{\"b\":[{\"v\":1},{\"v\":2}]}\n{\"b\":[{\"v\":3},{\"v\":\"q\"},{\"v\":\"r\"}]}\n\
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
                (reject["line"].as_u64().unwrap(), reject["record"].as_str().unwrap().to_owned())
            });
            (ran.code, values, rejects.collect::<Vec<_>>())
        };
        let reject = |line, v: &str| (line, format!("{{\"@\":{{\"v\":\"{v}\"}}}}"));
        let rejects = vec![reject(4, "q"), reject(5, "r"), reject(7, "s")];
        assert_eq!(run(&[]), (0, vec![1, 2, 3, 4, 5, 6], rejects.clone()), "{size}");
        assert_eq!(run(&["--sort", "v:desc"]), (0, vec![6, 5, 4, 3, 2, 1], rejects.clone()), "{size}");
        assert_eq!(run(&["--max-errors", "3"]).0, 0, "{size}");
        assert_eq!(run(&["--max-errors", "2"]).0, 4, "{size}");
        assert_eq!(run(&["--limit", "4"]), (0, vec![1, 2, 3, 4], rejects[..2].to_vec()), "{size}");
        assert_eq!(run(&["--limit", "3"]), (0, vec![1, 2, 3], vec![]), "{size}");
    }
}

/// Rows before a malformed record are kept.
#[test]
fn rows_before_a_fault_are_a_batch() {
    for size in ["1", "1MiB"] {
        let args = ["select", "--explode", "$.a", "a:int64=@", "--format", "arrow", "--partition-size", size];
        let ran = pipe(&args, b"{\"a\":[1,2]}\n{\"a\":[3}\n{\"a\":[4]}\n");
        assert!(ran.code == 4 && stream(&ran.stdout).num_rows() == 2, "{ran}");
    }
}
