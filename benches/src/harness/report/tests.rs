use super::super::plan;
use super::super::record::tests::record;
use super::*;

fn sample() -> Vec<Record> {
    let mut records = vec![
        record("queries", "one field", None, "cat", &[10.0, 11.0, 12.0]),
        record("queries", "one field", None, "warpath cpu", &[20.0, 22.0, 21.0]),
        record("queries", "one field", None, "jq", &[900.0, 1000.0]),
        record("queries", "one field", None, "jaq|x", &[]),
        record("queries", "two fields", None, "jq", &[]),
    ];
    for (x, case) in [(1e5, "100 KB"), (1e8, "100 MB")] {
        records.push(record("sizes", case, Some(x), "warpath cuda", &[20.0, 22.0]));
        records.push(record("sizes", case, Some(x), "qj 0.1.4", &[30.0, 32.0]));
        records.push(record(
            "components-sizes",
            case,
            Some(x),
            "index, 3 levels: first start to last end",
            &[1.5],
        ));
        records.push(record("components-sizes", case, Some(x), "line_scan", &[0.1]));
    }
    records
}

/// The CPU has one colour in all plots, kernels are named in words, and a line that another one covers is
/// dashed.
#[test]
fn lines_have_the_same_looks_on_every_chart() {
    let folder = tempfile::tempdir().unwrap();
    let mut records = Vec::new();
    for (x, case) in [(1e7, "10 MB"), (1e8, "100 MB")] {
        for (chart, tool) in [
            ("sizes", "cat"),
            ("sizes", "warpath cuda"),
            ("sizes", "warpath cuda, count"),
            ("sizes", "warpath cpu"),
            ("components-sizes", "copy kernel"),
            ("components-sizes", "$.a: query_slots"),
        ] {
            records.push(record(chart, case, Some(x), tool, &[1.0]));
        }
    }
    record::save(&folder.path().join("gpu.jsonl"), &records).unwrap();
    write(folder.path()).unwrap();
    let read = |file: &str| fs::read_to_string(folder.path().join(file)).unwrap();
    let names = |text: &str| -> Vec<String> {
        let document = roxmltree::Document::parse(text).unwrap();
        let texts = document.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text());
        let texts = texts.filter(|text| !text.trim().is_empty());
        texts.skip_while(|text| !CPU_NAMES.contains(text)).map(str::to_owned).collect()
    };
    let sizes = read("gpu-sizes.svg");
    let expected = ["warpath cpu", "warpath cuda", "warpath cuda, count", "cat, to /dev/null"];
    assert_eq!(names(&sizes), expected);
    assert_eq!(sizes.matches("stroke-dasharray").count(), 1, "{sizes}");
    let kernels = read("gpu-components-sizes.svg");
    assert_eq!(names(&kernels), ["CPU, whole process", "copy kernel", "query: one match at most"]);
    assert!(kernels.contains("s line is of a whole process, from file to output"), "{kernels}");
}

#[test]
fn everything_that_was_measured_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    record::save(&folder.path().join("cpu.jsonl"), &sample()).unwrap();
    let files = write(folder.path()).unwrap();
    assert_eq!(
        files,
        [
            "cpu-queries-one-field.svg",
            "cpu-queries-one-field-memory.svg",
            "cpu-queries-two-fields.svg",
            "cpu-sizes.svg",
            "cpu-components-sizes.svg",
            "cpu.md",
            "README.md"
        ]
    );
    chart::tests::check_plots(folder.path(), &files, "A <machine> & more. 2026-11-21.");
    let plots = fs::read_to_string(folder.path().join("README.md")).unwrap();
    // `cat` is faster than Warpath, and no peer.
    for sentences in [
        "\n\nWarpath reads 4.76 GB/s; the best peer, jq, 0.11. Warpath leads by a factor of 45.2.\n\n",
        "\n\nWarpath needs 52.4 MB; the best peer, jq, 52.4. Warpath and the peer are level.\n\n",
        "\n\nNothing was measured.\n\n![Two fields: whole process, from file to output. 1 row; ",
        "\n\nWarpath reads 4.76 GB/s at 100 KB and 4.76 at 100 MB; the best peer, qj 0.1.4, 3.23 and 3.23. \
         Warpath leads at all 2 points, by a factor of 1.48.\n\n",
        "\n\nThe kernels of the index reach between 66.7 GB/s (at 100 KB) and 66.7 GB/s (at 100 MB).\n\n",
    ] {
        assert!(plots.contains(sentences), "{sentences}: {plots}");
    }
    for file in files.iter().filter(|file| *file != "README.md") {
        assert!(plots.contains(&format!("]({file})")), "{file}: {plots}");
    }
    let page = fs::read_to_string(folder.path().join("cpu.md")).unwrap();
    assert!(
        page.contains("| warpath cpu | 1.0 | 21.0 (20.0–22.0) | 3 | 4.76 | 21.0 + 1.00 | 52.4 | values |\n"),
        "{page}"
    );
    assert!(
        page.contains(r"| jaq\|x | 1.0 | not run: not installed: run benches/peers.sh | | | | | |"),
        "{page}"
    );
    // Every row of a table has as many cells as its head.
    let mut cells = 0;
    for line in page.lines().map(|line| line.replace(r"\|", "")) {
        if line.starts_with("|---") {
            cells = line.matches('|').count();
        } else if line.starts_with('|') && cells > 0 {
            assert_eq!(line.matches('|').count(), cells, "{line}");
        } else {
            cells = 0;
        }
    }
}

/// The sentences above the plots of these records.
fn sentences(suite: Suite, records: &[Record]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    record::save(&folder.path().join(format!("{}.jsonl", suite.name())), records).unwrap();
    write(folder.path()).unwrap();
    let page = fs::read_to_string(folder.path().join("README.md")).unwrap();
    let paragraphs: Vec<&str> = page.split("\n\n").collect();
    let pairs = paragraphs.windows(2).filter(|pair| pair[1].starts_with("!["));
    pairs.map(|pair| pair[0].to_owned()).collect()
}

#[test]
fn who_is_faster_is_said_even_if_it_is_not_warpath() {
    let one = |tool: &str, times: &[f64]| record("queries", "filter", None, tool, times);
    let lost = [one("warpath cpu", &[20.0]), one("sonic-rs get, all cores", &[16.0]), one("jq", &[900.0])];
    assert_eq!(
        sentences(Suite::Cpu, &lost)[0],
        "Warpath reads 5.00 GB/s; the best peer, sonic-rs get on all cores, 6.25. The peer leads by a factor of 1.25."
    );
    let both = [one("warpath cuda", &[50.0]), one("warpath cpu", &[5.0]), one("qj 0.1.4", &[10.0])];
    assert_eq!(
        sentences(Suite::Gpu, &both)[0],
        "Warpath reads 2.00 GB/s on the GPU and 20.0 GB/s on the CPU; the best peer, qj 0.1.4, 10.0. \
         On the GPU the peer leads by a factor of 5.00; on the CPU Warpath leads by a factor of 2.00."
    );
}

#[test]
fn lines_without_peers_have_their_range() {
    let at = |x: f64, tool: &str, time: f64| record("levels", &format!("{x}"), Some(x), tool, &[time]);
    let cpu = [at(1.0, "cat", 1.0), at(1.0, "warpath cpu, count", 20.0), at(2.0, "cat", 1.0)];
    let cpu = [&cpu[..], &[at(2.0, "warpath cpu, count", 50.0)]].concat();
    assert_eq!(
        sentences(Suite::Cpu, &cpu),
        ["Warpath reads between 2.00 GB/s (at 2 levels) and 5.00 GB/s (at 1 level)."]
    );
    let cuda = [at(1.0, "warpath cuda, count", 100.0), at(2.0, "warpath cuda, count", 25.0)];
    assert_eq!(
        sentences(Suite::Gpu, &[&cpu[..], &cuda[..]].concat()),
        ["Warpath on the GPU reads 1.00 GB/s at 1 level and 4.00 at 2 levels; on the CPU, 5.00 and 2.00. \
          The GPU leads at 1 of 2 points, by a factor of up to 2.00; the CPU leads at 1, by up to 5.00."]
    );
}

#[test]
fn kernels_are_compared_with_a_copy() {
    let of = |tool: &str, time: f64| record("components", "one field", None, tool, &[time]);
    let records = [
        of("context and module", 200.0),
        of("copy kernel", 0.4),
        of("structure_write", 0.7),
        of("index, 2 levels: first start to last end", 0.8),
        record("queries", "one field", None, "warpath cpu", &[20.0]),
    ];
    assert_eq!(
        sentences(Suite::Gpu, &records)[2],
        "The index takes 0.80 ms, 2.00 times as long as a copy of the text. \
         The longest single kernel, structure_write, takes 0.70 ms."
    );
}

#[test]
fn peers_that_users_know_come_first() {
    let tools =
        ["cat", "rsonpath", "qj 0.1.4", "Polars", "simd-json value", "jq", "warpath cpu", "DuckDB, count"];
    let records = tools.map(|tool| record("queries", "one field", None, tool, &[10.0]));
    let page = tables(&records.iter().collect::<Vec<_>>());
    let rows = page.lines().filter(|line| line.starts_with("| ") && !line.starts_with("| tool"));
    let names: Vec<&str> =
        rows.map(|row| row.split(" | ").next().unwrap().trim_start_matches("| ")).collect();
    assert_eq!(
        names,
        ["warpath cpu", "jq", "DuckDB, count", "Polars", "simd-json value", "rsonpath", "qj 0.1.4", "cat"]
    );
}

#[test]
fn the_published_pages_are_those_of_the_results() {
    chart::tests::check_published("", |kept, made| {
        for results in ["cpu.jsonl", "gpu.jsonl"] {
            fs::copy(kept.join(results), made.join(results)).unwrap();
        }
        write(made).unwrap()
    });
}

#[test]
fn what_was_not_measured_is_said() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(write(&folder.path().join("new")).unwrap(), ["README.md"]);
    let page = fs::read_to_string(folder.path().join("new/README.md")).unwrap();
    assert_eq!(page.matches("Nothing has been measured").count(), 2);
}

#[test]
fn times_after_set_up_are_a_line_of_their_own() {
    let mut one = record("sizes", "100 MB", Some(1e8), "warpath cuda", &[20.0]);
    if let Outcome::Measured(measured) = &mut one.outcome {
        measured.stats_ms = [("setup".to_owned(), vec![8.0]), ("total".to_owned(), vec![18.0])].into();
        assert_eq!(after_setup(measured), Some(vec![10.0]));
    }
    let plot = along(&SHOWS[1], "size", &[&one]).svg;
    assert!(plot.contains(">warpath cuda, after set-up<"), "{plot}");
}

#[test]
fn every_chart_that_is_measured_is_shown() {
    for suite in [Suite::Cpu, Suite::Gpu] {
        for chart in plan::charts(suite, plan::Extent::Large) {
            let show =
                SHOWS.iter().find(|show| show.id == chart.id).unwrap_or_else(|| panic!("{}", chart.id));
            assert!(chart.cases.iter().all(|case| case.x.is_some() == show.axis.is_some()), "{}", chart.id);
        }
    }
}
