//! Rows of `select` that are skipped, named after their files, or sorted with types that some values do not
//! have.

use std::fmt::Write as _;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;

use crate::columns::file;
use crate::{Folder, Ran};

#[test]
fn rows_are_skipped() {
    let mut lines = String::new();
    (0..50).for_each(|n| writeln!(lines, "{{\"n\":{n},\"t\":[{n},\"x\"]}}").unwrap());
    let folder = Folder::new(&[("l", lines.as_bytes())]);
    for skip in [0, 1, 7, 49, 50, 51] {
        for limit in [None, Some(0), Some(1), Some(9), Some(60)] {
            let end = limit.map_or(50, |limit| 50.min(skip + limit));
            let options = [format!("--skip={skip}"), limit.map_or(String::new(), |n| format!("-n{n}"))];
            let run = |args: &[&str]| {
                let options = options.iter().map(String::as_str).filter(|option| !option.is_empty());
                // Every partition has few records.
                let all = ["select", "--partition-size=64"].into_iter().chain(args.iter().copied());
                folder.run(&all.chain(options).collect::<Vec<_>>())
            };
            let want: String = (skip..end).map(|n| format!("{n}\n")).collect();
            let what = format!("{options:?}");
            assert_eq!(run(&["n=$.n", "l", "--format=csv"]).ok(), format!("n\n{want}"), "{what}");
            assert_eq!(run(&["n=$.n", "l", "--format=csv", "--sort=n"]).ok(), format!("n\n{want}"), "{what}");
            let exploded = run(&["n=$.n", "l", "--format=csv", "--explode=$.t"]);
            let rows = (0..100).map(|row| format!("{}\n", row / 2)).skip(skip).take(limit.unwrap_or(100));
            assert_eq!(exploded.ok(), format!("n\n{}", rows.collect::<String>()), "{what}");
            for args in [&["n:int64=$.n"][..], &["n:int64=$.n", "--sort=n"], &["--auto"]] {
                if args == ["--auto"] && limit == Some(0) {
                    // Without a record there are no columns.
                    continue;
                }
                assert_eq!(run(&[args, &["l", "-o", "o.arrow"]].concat()).ok(), "", "{what}");
                let column = file(&folder.read("o.arrow"))["n"].clone();
                let column: Vec<_> = column.as_primitive::<Int64Type>().values().to_vec();
                let want: Vec<_> = (skip as i64..end.max(skip) as i64).collect();
                assert_eq!(column, want, "{what} {args:?}");
            }
        }
    }
}

/// Left-out rows do not count.
#[test]
fn rows_are_skipped_among_those_that_are_left() {
    let folder = Folder::new(&[("l", b"{\"n\":\"x\"}\n{\"n\":1}\n{\"n\":\"y\"}\n{\"n\":2}\n{\"n\":3}\n")]);
    for sort in [&[][..], &["--sort", "n"]] {
        let args =
            ["select", "-q", "n:int64=$.n", "l", "--on-mismatch=skip", "--skip=1", "-n1", "-o", "o.arrow"];
        assert_eq!(folder.run(&[&args, sort].concat()).ok(), "");
        let column = file(&folder.read("o.arrow"))["n"].clone();
        assert_eq!(column.as_primitive::<Int64Type>().values().to_vec(), [2], "{sort:?}");
    }
}

#[test]
fn rows_in_columns_have_the_names_of_their_files() {
    let folder = Folder::new(&[
        ("a", b"{\"n\":3,\"s\":\"x\\n\"}\n\n{\"n\":1}\n"),
        ("b,c", b"{\"n\":2,\"s\":null}\n{\"n\":0,\"s\":\"a,b\"}\n"),
    ]);
    for args in [&["n=$.n"][..], &["n=$.n", "--sort=n:desc"], &["--auto"]] {
        let ran = folder.run(&[&["select", "-H"], args, &["a", "b,c", "-o", "o.arrow"]].concat());
        assert_eq!(ran.ok(), "");
        let made = file(&folder.read("o.arrow"));
        assert_eq!(made.schema().field(0).name(), "file");
        let names: Vec<_> = made["file"].as_string::<i32>().iter().flatten().collect();
        let want = if args.len() == 2 { ["a", "b,c", "a", "b,c"] } else { ["a", "a", "b,c", "b,c"] };
        assert_eq!(names, want);
    }
}

fn sorted(folder: &Folder, action: &str, rest: &[&str]) -> Ran {
    let action = format!("--on-mismatch={action}");
    let args = ["select", "n:int64=$.n", "s=$.s", "a", "b", "--sort=n", &action, "-o", "o.arrow"];
    folder.run(&[&args, rest].concat())
}

/// Messages about sorted rows name the lines of their records.
#[test]
fn values_of_sorted_rows_are_known_by_their_lines() {
    let a = b"{\"n\":3}\n\n{\"n\":\"x\"}\n{\"n\":2,\"s\":null}\n{\"n\":1}\n";
    let folder = Folder::new(&[("a", &a[..]), ("b", b"{\"n\":0}\n{\"n\":1.5}\n{}\n{\"n\":null}\n")]);
    let numbers = || {
        let made = file(&folder.read("o.arrow"));
        let numbers: Vec<_> = made["n"].as_primitive::<Int64Type>().iter().collect();
        numbers
    };
    let ran = sorted(&folder, "null", &["--stats"]);
    assert_eq!(ran.code, 0, "{ran}");
    for text in [
        "warning: column `n:int64`: 2 values not taken, null instead: 2 of another type (first: b:2)\n",
        "n:int64: 1 missing (first: b:3), 1 null (first: b:4), 2 mismatch (first: b:2), 0 overflow\n",
        "s:text: 7 missing (first: b:1), 1 null (first: a:4), 0 mismatch, 0 overflow\n",
    ] {
        assert!(ran.stderr.contains(text), "{ran}");
    }
    assert_eq!(numbers(), [Some(0), Some(1), None, Some(2), Some(3), None, None, None]);

    let ran = sorted(&folder, "skip", &["--rejects=r"]);
    assert_eq!(
        ran.stderr,
        "warning: column `n:int64`: 2 values not taken, their records skipped: 2 of another type (first: a:3)\n"
    );
    assert_eq!(ran.code, 0);
    assert_eq!(numbers(), [Some(0), Some(1), Some(2), Some(3), None, None]);
    let rejects = String::from_utf8(folder.read("r")).unwrap();
    assert_eq!(
        rejects,
        "{\"file\":\"a\",\"line\":3,\"byte\":6,\"column\":\"n\",\
         \"reason\":\"the value is not of the type int64\",\"record\":\"{\\\"n\\\":\\\"x\\\"}\"}\n\
         {\"file\":\"b\",\"line\":2,\"byte\":6,\"column\":\"n\",\
         \"reason\":\"the value is not of the type int64\",\"record\":\"{\\\"n\\\":1.5}\"}\n"
    );

    let ran = sorted(&folder, "fail", &["--partition-size=16", "--workers=2"]);
    assert!(
        ran.code == 4
            && ran.stderr.starts_with("error: a:3:6: the value is not of the type int64, which column `n`"),
        "{ran}"
    );
    assert_eq!(numbers(), [Some(3)]);
    // Every value is text.
    assert_eq!(sorted(&folder, "string", &[]).ok(), "");
}

/// Sorted rows are the rows, and warnings and rejects are those of a run without order.
#[test]
fn order_changes_nothing_else() {
    let mut lines = String::new();
    for i in 0..400 {
        let n = match i * 7919 % 11 {
            0 => "\"x\"".to_owned(),
            1 => "null".to_owned(),
            2 => "9223372036854775808".to_owned(),
            other => (i * other % 37).to_string(),
        };
        if i % 13 == 0 {
            lines += "{\"m\":1}\n";
        } else {
            writeln!(lines, "{{\"n\":{n},\"m\":{i}}}").unwrap();
        }
    }
    let folder = Folder::new(&[("l", lines.as_bytes())]);
    for action in ["null", "skip", "string"] {
        let action = format!("--on-mismatch={action}");
        let args =
            ["select", "n:int64=$.n", "m:int64=$.m", "l", &action, "--partition-size=100", "--format=arrow"];
        let rejects =
            |name: &'static str| if action.ends_with("skip") { vec!["--rejects", name] } else { vec![] };
        let plain = folder.run(&[&args[..], &rejects("r1"), &["-o", "p.arrow"]].concat());
        for memory in ["--memory=1M", "--memory=1G"] {
            let order = ["--sort=m", memory, "-o", "s.arrow"];
            let sorted = folder.run(&[&args[..], &rejects("r2"), &order].concat());
            let numbers = |name: &str| file(&folder.read(name))["m"].clone();
            let (mut all, some) = (numbers("p.arrow"), numbers("s.arrow"));
            if action.ends_with("string") {
                assert_eq!(all.len(), some.len());
            } else {
                let mut want: Vec<_> = all.as_primitive::<Int64Type>().values().to_vec();
                want.sort_unstable();
                all = some;
                assert_eq!(all.as_primitive::<Int64Type>().values().to_vec(), want);
            }
            if action.ends_with("skip") {
                assert_eq!(plain.stderr, sorted.stderr);
                assert_eq!(folder.read("r1"), folder.read("r2"));
            }
        }
    }
}
