//! `explain FILE…`: the plan over every combination of input, indexes and operation.

use std::fmt::Write as _;

use insta::assert_snapshot;

use crate::{Folder, Ran};

/// An input in all forms, its indexes, and each form's options.
fn folder() -> (Folder, [(&'static str, &'static [&'static str]); 5]) {
    let line = |number: usize| format!("{{\"status\":{},\"id\":{number},\"ok\":true}}\n", 200 + number % 300);
    let text: String = (0..3000).map(line).collect();
    let document = format!("[{}]", text.trim_end().replace('\n', ","));
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut gzip, text.as_bytes()).unwrap();
    let files =
        [("log", text.as_bytes()), ("log.gz", &gzip.finish().unwrap()), ("log.json", document.as_bytes())];
    let folder = Folder::new(&files);
    folder.run(&["select", "line:json=$", "-o", "log.parquet", "log"]).ok();
    folder.run(&["store", "index", "log", "--levels=2", "--column", "code=$.status"]).ok();
    let inputs: [(&str, &[&str]); 5] = [
        ("plain", &["log"]),
        ("gzip", &["log.gz"]),
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
        let mut all = String::new();
        for (index, option) in [("no index", &["--no-index"][..]), ("index", &[])] {
            for (operation, args) in operations {
                let ran = folder.run(&[&["explain", "--device=cpu"], args, files, option].concat());
                let _ = write!(all, "{index}, {operation}\n{}\n", steps(&ran));
            }
        }
        assert_snapshot!(format!("plans_{input}"), all);
    }
}

/// Indexes beside the input are in the plan unasked, and serve commands.
#[test]
fn indexes_beside_the_input_are_explained() {
    let (folder, _) = folder();
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
        served.stderr.contains("\nindex       .log.warpath: 10 of 3000 lines, in 10 of 47 blocks\n"),
        "{served}"
    );
    assert!(count(&[]).stderr.contains("\nindex       .log.warpath: line starts and 1 of 2 levels read\n"));
    let without = count(&["--where=$.status == 499", "--no-index"]);
    assert!(without.text() == "10\n" && !without.stderr.contains(".log.w"), "{without}");
    // Notes about paths without a match are about the file, and not about the lines that are selected.
    for path in ["$.ok.x", "$.statuss", "$.id"] {
        for condition in ["--where=$.status == 499", "--where=$.status == 1", "--where=$.ok == true"] {
            let note =
                |more: &[&str]| folder.run(&[&["query", "-c", path, condition, "log"], more].concat()).stderr;
            let (with, without) = (note(&[]), note(&["--no-index"]));
            assert_eq!(with.is_empty(), without.is_empty(), "{path} {condition}: {with}{without}");
        }
    }
    // A line more.
    folder.write("log", &[folder.read("log"), b"{\"status\":499,\"id\":-1}\n".to_vec()].concat());
    let grown = folder.run(&["query", "-c", "$.id", "log", "--where=$.status == 499"]);
    assert_eq!(grown.text(), "11\n");
    let note = "note: .log.warpath for the last 23 bytes is not used: the file has grown; `warpath store index FILE` \
                renews it\n";
    assert_eq!(grown.stderr, note);
    assert_eq!(folder.run(&["query", "-q", "-c", "$.id", "log", "--where=$.status == 499"]).stderr, "");
}
