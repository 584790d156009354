//! `explain FILE…`: the plan over every combination of input, indexes and operation.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::{Folder, Ran};

/// An input in all forms, its indexes, and each form's options.
fn folder() -> (Folder, [(&'static str, &'static [&'static str]); 6]) {
    let line = |number: usize| format!("{{\"status\":{},\"id\":{number},\"ok\":true}}\n", 200 + number % 300);
    let text: String = (0..3000).map(line).collect();
    let document = format!("[{}]", text.trim_end().replace('\n', ","));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let files =
        [("log", text.as_bytes()), ("log.gz", &gzip.finish().unwrap()), ("log.json", document.as_bytes())];
    let folder = Folder::new(&files);
    folder.run(&["pack", "log", "-o", "log.packed"]).ok();
    folder.run(&["select", "line:json=$", "-o", "log.parquet", "log"]).ok();
    for (file, name) in [("log", "plain"), ("log.packed", "packed")] {
        let bitmap = ["bitmap", "build", file, "--column", "code=$.status", "-o", &format!("{name}.wpb")];
        folder.run(&bitmap).ok();
        folder.run(&["index", "build", file, "-o", &format!("{name}.wpi"), "--levels=2"]).ok();
    }
    let inputs: [(&str, &[&str]); 6] = [
        ("plain", &["log"]),
        ("gzip", &["log.gz"]),
        ("packed", &["log.packed"]),
        ("followed", &["log", "--follow"]),
        ("document", &["log.json", "--input=json"]),
        ("parquet", &["log.parquet", "--input=parquet", "--column=line"]),
    ];
    (folder, inputs)
}

/// The steps of the plan: what is read and checked, and the indexes that are not used.
fn steps(ran: &Ran) -> String {
    let (_, plan) = ran.text().split_once("\nruns on cpu").unwrap_or_else(|| panic!("{ran}"));
    let is_step = |line: &&str| {
        ["prune", "check", "read", "validate"]
            .iter()
            .any(|step| line.starts_with(&format!("  cpu     {step}")))
            || !line.starts_with("  cpu")
    };
    let lines = plan.lines().skip(1).filter(is_step).filter(|line| !line.is_empty());
    lines.fold(String::new(), |mut all, line| {
        let _ = writeln!(all, "{}", line.trim_end());
        all
    })
}

#[test]
fn plans_of_all_inputs_indexes_and_operations() {
    let (folder, inputs) = folder();
    let condition = "--where=$.status >= 490";
    let operations: [(&str, &[&str]); 5] = [
        ("query", &["$.id"]),
        ("select", &["id=$.id"]),
        ("where", &["$.id", condition]),
        ("strict", &["$.id", condition, "--strict"]),
        ("limit", &["$.id", condition, "--limit=10"]),
    ];
    for (input, files) in inputs {
        let of = if input == "packed" { "packed" } else { "plain" };
        let (levels, bitmap) = (format!("--index={of}.wpi"), format!("--bitmap={of}.wpb"));
        let mut all = String::new();
        for (index, named) in [
            ("no index", vec![]),
            ("structural", vec![&*levels]),
            ("bitmap", vec![&*bitmap]),
            ("both", vec![&*levels, &*bitmap]),
        ] {
            for (operation, args) in operations {
                // A bitmap index serves conditions.
                let named: Vec<&str> =
                    named.iter().copied().filter(|it| args.len() > 1 || !it.contains("bitmap")).collect();
                // A structural index of this file is not one of a compressed file.
                let is_other = input == "gzip" && named.iter().any(|it| it.contains("--index"));
                let ran = folder.run(&[&["explain", "--device=cpu"], args, files, &named].concat());
                let steps =
                    if is_other { format!("{}\n", ran.stderr.lines().next().unwrap()) } else { steps(&ran) };
                let _ = write!(all, "{index}, {operation}\n{steps}\n");
            }
        }
        assert_snapshot!(format!("plans_{input}"), all);
    }
}

/// Indexes beside the input are in the plan unasked, and serve commands.
#[test]
fn indexes_beside_the_input_are_explained() {
    let (folder, _) = folder();
    for (from, to) in [("plain.wpb", "log.wpb"), ("plain.wpi", "log.wpi")] {
        std::fs::rename(folder.path(from), folder.path(to)).unwrap();
    }
    let explain = |args: &[&str]| steps(&folder.run(&[&["explain", "--device=cpu", "log"], args].concat()));
    let mut all = String::new();
    for args in [
        &["$.id"][..],
        &["$.id.x.y"],
        &["$.id", "--where=$.status == 499"],
        &["$.id", "--where=code == 499 && $.ok"],
        &["$.id", "--where=$.ok == true"],
        &["$.id", "--where=$.status == 499", "--no-index"],
    ] {
        let _ = write!(all, "{}\n{}\n", args.join(" "), explain(args));
    }
    assert_snapshot!(all);
    let count = |args: &[&str]| folder.run(&[&["query", "-c", "$.id", "log", "--stats"], args].concat());
    let served = count(&["--where=$.status == 499"]);
    assert_eq!(served.text(), "10\n");
    assert!(
        served.stderr.contains("\nindex       log.wpb: 10 of 3000 lines, in 10 of 47 blocks\n"),
        "{served}"
    );
    assert!(count(&[]).stderr.contains("\nindex       log.wpi: line starts and 1 of 2 levels read\n"));
    let without = count(&["--where=$.status == 499", "--no-index"]);
    assert!(without.text() == "10\n" && !without.stderr.contains("log.wp"), "{without}");
    // Notes about paths without a match are about the file, and not about the lines that are selected.
    for path in ["$.ok.x", "$.statuss", "$.id"] {
        for condition in ["--where=$.status == 499", "--where=$.status == 1", "--where=$.ok == true"] {
            let note =
                |more: &[&str]| folder.run(&[&["query", "-c", path, condition, "log"], more].concat()).stderr;
            let (with, without) = (note(&[]), note(&["--no-index"]));
            assert_eq!(with.is_empty(), without.is_empty(), "{path} {condition}: {with}{without}");
        }
    }
    // A line more, and both indexes are of another file.
    folder.write("log", &[folder.read("log"), b"{\"status\":499,\"id\":-1}\n".to_vec()].concat());
    let stale = folder.run(&["query", "-c", "$.id", "log", "--where=$.status == 499"]);
    assert_eq!(stale.text(), "11\n");
    let notes: Vec<&str> = stale.stderr.lines().map(|line| line.split(": it has").next().unwrap()).collect();
    assert_eq!(
        notes,
        [
            "note: log.wpb is not used: it was made of another state of the input",
            "note: log.wpi is not used: it was made of another state of the input"
        ]
    );
    assert_eq!(folder.run(&["query", "-q", "-c", "$.id", "log", "--where=$.status == 499"]).stderr, "");
}
