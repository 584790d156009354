//! `warpath select`.

use crate::{data, pipe};

/// A limit that is not reached changes nothing.
#[test]
fn a_limit_changes_no_row() {
    let columns = ["a=$.a", "all=$[*]"];
    for file in ["edge.ndjson", "bad.ndjson", "maps.ndjson"] {
        for (size, format) in [("64", "ndjson"), ("1MiB", "ndjson"), ("64", "csv"), ("1MiB", "csv")] {
            for on_error in ["skip", "fail"] {
                let file = data(file);
                let run = |limit: &[&str]| {
                    let mut args =
                        vec!["select", "--format", format, "--partition-size", size, "--on-error", on_error];
                    args.extend(limit);
                    args.extend(columns);
                    args.extend(["--", &file]);
                    let ran = pipe(&args, b"");
                    (ran.code, ran.stdout)
                };
                assert_eq!(run(&[]), run(&["--limit", "1000000"]), "{file} {size} {format} {on_error}");
            }
        }
    }
}

#[test]
fn output_does_not_depend_on_partitions() {
    let file = data("tweets.ndjson");
    for format in ["ndjson", "csv"] {
        let ran = |size| {
            pipe(
                &[
                    "select",
                    "--format",
                    format,
                    "--partition-size",
                    size,
                    "lang=$.user.lang",
                    "urls=$.entities.urls[*].url",
                    "text=$.text",
                    "--",
                    &file,
                ],
                b"",
            )
        };
        let whole = ran("1GiB");
        assert!(whole.ok().lines().count() > 10);
        for size in ["1", "5KiB"] {
            assert!(ran(size) == whole, "{format} {size}");
        }
    }
}
