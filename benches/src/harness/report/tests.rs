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
    let plot = along(&SHOWS[1], "size", &[&one]);
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
