//! Every command over every form of the same lines prints the same bytes, and has the same exit code.

use warpath_random::Rng;

use crate::{Folder, gzip};

/// Conditions on records: those that columns decide, those that they bound, and others.
const CONDITIONS: [&str; 8] = [
    "$.n > 900",
    "$.lang == 'nl' && $.n < 50",
    "$.lang is null",
    "!($.n <= 900)",
    "$.id == 7.5 || $.n between 5 and 9",
    "$.lang in ('en', 'x') and $.n != 3",
    "$.a.c == 1.1",
    "match($.text, '.*y{50}')",
];

/// Commands whose results depend on lines alone, and not on the names of inputs.
const COMMANDS: [&[&str]; 31] = [
    &["query", "$"],
    &["query", "$.id"],
    &["query", "$..t"],
    &["query", "$.a.b[*].n"],
    &["query", "$.a.b[?@.n > 5].t"],
    &["query", "$['id','lang']"],
    &["query", "$.a"],
    &["query", "$[0]"],
    &["query", "$.a.b[-1]"],
    &["query", "$.id", "-n", "17"],
    &["query", "--count", "$"],
    &["query", "--count", "$.id"],
    &["query", "--count", "$..t"],
    &["query", "--count", "$..*"],
    &["query", "--count", "$.a.b[?@.n > 5]"],
    &["select", "id=$.id", "lang=$.lang", "n=$.n"],
    &["select", "--format=csv", "id=$.id", "c=$.a.c"],
    &["select", "--format=ndjson", "all=$.*"],
    &["count-by", "$.lang"],
    &["count-by", "$.lang", "$.a.c"],
    &["distinct", "$.a.c"],
    &["stats", "$.n"],
    &["head", "-n", "5"],
    &["sample", "5", "--seed=3"],
    &["schema", "--format=json-schema"],
    &["validate"],
    &["filter", "--count", "-s", "subs"],
    &["filter", "--count", "-s", "names"],
    &["filter", "--count", "-s", "values"],
    &["query", "--strict", "$.text"],
    &["query", "$.a.b[0:2]"],
];

/// A line: a record, a blank or a malformed one, with repeated names, odd numbers and escapes.
fn line(rng: &mut Rng, at: usize) -> String {
    match rng.below(30) {
        0 => String::new(),
        1 => format!("{{\"id\":{at},\"a\":"),
        2 => format!("[1,2,{{\"id\":{at}}}]"),
        3 => format!("{{\"id\":{at},\"id\":0, \"lang\" : null}}"),
        4 => format!("{{\"id\":{at}.50,\"lang\":5,\"a\":{{\"b\":[]}}}}\r"),
        _ => {
            let tag = |rng: &mut Rng| format!("{{\"t\":\"x{}\",\"n\":{}}}", rng.below(5), rng.below(9));
            let tags: Vec<String> = (0..rng.below(4)).map(|_| tag(rng)).collect();
            let c = rng.pick(&["1.10", "-0", "1E5", "true", "null"]);
            let (lang, n) = (rng.pick(&["nl", "en", "de"]), rng.below(1000));
            let (tags, rest) = (tags.join(","), "y".repeat(rng.below(60)));
            format!(
                "{{\"id\":{at},\"lang\":\"{lang}\",\"n\":{n},\"a\":{{\"b\":[{tags}],\"c\":{c}}},\
                 \"text\":\"caf\\u00e9 {rest}\"}}"
            )
        }
    }
}

/// The lines in each form, and the names of the forms.
fn forms(folder: &Folder, text: &[u8]) -> Vec<String> {
    let middle = text.len() / 2 + text[text.len() / 2..].iter().position(|byte| *byte == b'\n').unwrap() + 1;
    let (first, second) = text.split_at(middle);
    folder.write("text", text);
    folder.write("gzip", &gzip(text));
    folder.write("first", first);
    folder.write("second", second);
    let run = |args: &[&str]| folder.run(args).ok().to_owned();
    run(&["store", "add", "-q", "one", "text"]);
    run(&["store", "add", "-q", "groups", "text", "--group-size=20K"]);
    run(&["store", "add", "-q", "resident", "text", "--group-size=20K", "--resident"]);
    for file in ["first", "second"] {
        run(&["store", "add", "-q", "compacted", file]);
    }
    run(&["store", "compact", "compacted"]);
    let index = |file| {
        let columns = ["--column=id=$.id", "--column=lang=$.lang", "--column=n=$.n"];
        run(&[&["store", "index", file, "--bins=quantiles:5"], &columns[..]].concat());
    };
    folder.write("indexed", text);
    index("indexed");
    // A file that grows: in a store, and with an index.
    folder.write("grown", first);
    index("grown");
    run(&["store", "add", "-q", "appended", "grown"]);
    folder.write("grown", text);
    run(&["store", "add", "-q", "appended", "grown"]);
    let parts = std::fs::read_dir(folder.path("groups")).unwrap();
    let names = parts.map(|file| file.unwrap().file_name().into_string().unwrap());
    let part = names.filter(|name| name.ends_with(".parquet")).map(|name| format!("groups/{name}"));
    let named =
        ["gzip", "one", "groups", "resident", "compacted", "appended", "indexed", "grown"].map(str::to_owned);
    named.into_iter().chain(part).collect()
}

#[test]
fn every_form_has_the_results_of_the_text() {
    let mut rng = Rng::new(41);
    let lines: Vec<String> = (0..1500).map(|at| line(&mut rng, at)).collect();
    let text = format!("{}\n", lines.join("\n"));
    let folder = Folder::new(&[
        ("subs", b"dutch\t$[?@.lang == 'nl']\nt\t//t\nbig\t$.n > 500\n"),
        ("names", b"c\t$.a.c\nt\t$.a.b.*.t\nall\t$.*.*\ntext\t/text\nnone\t//none\n"),
        (
            "values",
            b"c\t$.a.c == 1.1\nnull\t$.lang == null\nlang\t$.lang == 'nl' && $.a.b\nn\t/a/b/*[n > 5]/t\n",
        ),
    ]);
    let forms = forms(&folder, text.as_bytes());
    let compare = |args: &[&str]| {
        let of = |form: &str| folder.run(&[args, &[form]].concat());
        let expected = of("text");
        assert!(expected.code != 2, "{args:?}: {expected}");
        for form in &forms {
            let found = of(form);
            assert!(
                (found.code, &found.stdout) == (expected.code, &expected.stdout),
                "{args:?} {form}: {found}\n--- expected\n{expected}"
            );
        }
    };
    for (number, command) in COMMANDS.iter().enumerate() {
        if command[0] == "validate" {
            compare(command);
            continue;
        }
        let skipping = [command, &["--on-error=skip"][..]].concat();
        compare(&skipping);
        // Each command has another condition that stops at a malformed record.
        compare(&[command, &["--where", CONDITIONS[number % CONDITIONS.len()]][..]].concat());
        for condition in CONDITIONS.iter().cycle().skip(number).take(if number < 2 { 8 } else { 1 }) {
            compare(&[&skipping[..], &["--where", condition]].concat());
        }
    }
}
