//! Plots and tables of the results of `bench twig`: figures 7 to 11 of Absalyamov et al. (EDBT 2013), and
//! twigs of JSON events.
//!
//! The paper's kernel is shown with its faster launch: for each document, in streams, or once for all
//! documents. A speed-up is a ratio of medians over YFilter, on one thread or on all threads. As in the
//! paper, each thread has documents of its own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::iter;
use std::path::Path;
use std::slice::from_ref;

use anyhow::{Context, Result};

use super::record::{Case, EVENTS, Record, SIZES};
use crate::harness::chart::{
    self, Axis, Figure, Heading, Plot, Series, Spot, milliseconds, number, thousands,
};
use crate::harness::result::{self, Against, Line, Measure};

/// Writes the page of a folder, `README.md`, and its plots. Returns the names of the files.
///
/// # Errors
/// Errors of the file system.
pub fn write(records: &[Record], folder: &Path) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut page = "# Standing queries\n\n\
         Made by `bench twig-plots` of result files of `bench twig`; `benches/README.md` says how these come about. Not to be edited.\n\n\
         XML documents are parsed before they are timed: what is timed begins with each way's own events in memory, and ends with the ids that match \
         on the host. JSON events are timed from their text. The paper's kernel, on the same device, is shown as it was launched faster: for each \
         document, in streams, as in the paper, or once for all documents. A document is read by one thread: with one document, more threads gain nothing.\n"
        .to_owned();
    let mut files = chart::write_figures(figures(records), folder, &mut page)?;
    page += &ratios(records);
    if !records.is_empty() {
        page += "\n## All figures\n\n\
                 Medians. Of XML, milliseconds and in parentheses MB/s; of JSON events, thousands of events a second and in parentheses MB/s. In each case all ways \
                 found the same in what all of them read.\n";
    }
    for chart in CHARTS {
        page += &tables(records, chart);
    }
    fs::write(folder.join("README.md"), page).context("README.md")?;
    files.push("README.md".into());
    Ok(files)
}

/// The charts, in the order of the page.
const CHARTS: [&str; 7] = ["queries", SIZES, "batch", "speedup", LENGTHS, EVENTS, BAR];
/// The chart whose twigs differ in their numbers of nodes.
const LENGTHS: &str = "lengths";
/// The chart of the table of ratios.
const BAR: &str = "bar";

/// The plots by figure, each with the name of its file.
fn figures(records: &[Record]) -> Vec<Figure> {
    let of_each = |chart: &str, plot: fn(&Group<'_>) -> Option<(String, Plot)>| {
        groups(records, chart).iter().filter_map(plot).collect()
    };
    vec![
        ("Throughput on one document, by twigs", of_each("queries", |of| throughput(of, 7))),
        ("Speed-up on one document, by its size", by_size(&groups(records, SIZES)).into_iter().collect()),
        ("Throughput on many documents, by twigs", of_each("batch", |of| throughput(of, 9))),
        ("Speed-up on many documents, by twigs", of_each("speedup", |of| speedups(of, 10))),
        ("Speed-up on many documents, by nodes of a twig", of_each(LENGTHS, |of| speedups(of, 11))),
        ("JSON events a second, by subscriptions", of_each(EVENTS, events)),
    ]
}

/// A way to evaluate twigs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Gpu,
    Paper,
    Cpu(Threads),
    YFilter(Threads),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Threads {
    One,
    All,
}
use Threads::{All, One};

/// The beginnings of the names that `bench twig` gives to the ways.
const GPU: &str = "gpu";
const PAPER: &str = "paper's";
const CPU: &str = "cpu";
const YFILTER: &str = "yfilter";
/// The order of the ways in tables.
const ORDER: [&str; 4] = [GPU, CPU, YFILTER, PAPER];

fn on(threads: usize) -> String {
    if threads == 1 { "1 thread".into() } else { format!("{threads} threads") }
}

/// The printed name of a way, with its threads if it runs on a processor.
fn name(what: &str, threads: usize) -> String {
    let threads = on(threads);
    match what {
        GPU => "Warpath, GPU".into(),
        CPU => format!("Warpath, CPU, {threads}"),
        YFILTER => format!("YFilter, {threads}"),
        _ => match what.strip_prefix(PAPER) {
            Some(how) => format!("the paper's kernel{how}"),
            None => what.into(),
        },
    }
}

/// The records of a case.
struct Point<'a> {
    case: Case<'a>,
    records: Vec<&'a Record>,
}

impl<'a> Point<'a> {
    fn of(&self, way: Way) -> Option<&'a Record> {
        let all = |what: &'static str| {
            self.records.iter().copied().filter(move |record| record.what.starts_with(what))
        };
        let of = |what: &'static str, threads: Threads| match threads {
            One => all(what).find(|record| record.threads == 1),
            All => all(what).max_by_key(|record| record.threads),
        };
        match way {
            Way::Gpu => all(GPU).next(),
            Way::Paper => all(PAPER).min_by(|a, b| a.seconds.total_cmp(&b.seconds)),
            Way::Cpu(threads) => of(CPU, threads),
            Way::YFilter(threads) => of(YFILTER, threads),
        }
    }

    /// The speed of one way, as a multiple of another way's.
    fn ratio(&self, way: Way, base: Way) -> Option<f64> {
        Some(self.of(base)?.seconds / self.of(way)?.seconds)
    }

    /// The printed name of a way.
    fn name(&self, way: Way) -> String {
        match self.of(way) {
            Some(record) if way != Way::Paper => name(&record.what, record.threads),
            _ => "the paper's kernel".into(),
        }
    }
}

/// Cases that differ in one property, in the order of this property. There is at least one case.
struct Group<'a> {
    /// The properties that the cases have in common. The property in which they differ is 0.
    case: Case<'a>,
    points: Vec<Point<'a>>,
}

/// The position of a case on the axis of its chart, its label there, and the case without this property.
fn on_axis<'a>(case: &Case<'a>) -> (f64, String, Case<'a>) {
    let case = case.clone();
    match case.chart {
        SIZES => (case.bytes as f64, size(case.bytes), Case { bytes: 0, ..case }),
        LENGTHS => (case.nodes.0 as f64, case.nodes.0.to_string(), Case { nodes: (0, 0), ..case }),
        BAR => (f64::from(case.percent), format!("{} %", case.percent), Case { percent: 0, ..case }),
        _ => (case.queries as f64, count(case.queries), Case { queries: 0, ..case }),
    }
}

/// The nominal size of a document. Documents end with whole records, a little after it.
fn size(bytes: usize) -> String {
    if bytes < 1_000_000 { format!("{} kB", bytes / 1000) } else { format!("{} MB", bytes / 1_000_000) }
}

fn count(of: usize) -> String {
    thousands(of as i64)
}

fn groups<'a>(records: &'a [Record], chart: &str) -> Vec<Group<'a>> {
    let mut cases: BTreeMap<Case<'a>, Vec<&'a Record>> = BTreeMap::new();
    for record in records.iter().filter(|record| record.chart == chart) {
        cases.entry(record.case()).or_default().push(record);
    }
    let mut groups: BTreeMap<Case<'a>, Vec<Point<'a>>> = BTreeMap::new();
    for (case, records) in cases {
        groups.entry(on_axis(&case).2).or_default().push(Point { case, records });
    }
    groups.into_iter().map(|(case, points)| Group { case, points }).collect()
}

impl<'a> Group<'a> {
    fn last(&self) -> &Point<'a> {
        &self.points[self.points.len() - 1]
    }

    /// The head of a table with a column for each case.
    fn head(&self, first: &str, name: impl Fn(&str) -> String) -> Vec<String> {
        let names = self.points.iter().map(|point| name(&on_axis(&point.case).1));
        iter::once(first.to_owned()).chain(names).collect()
    }

    /// The properties that the cases have in common, in words.
    fn what(&self) -> String {
        self.what_of(&self.case)
    }

    /// The properties of a case in words. Used for a case that several groups have in common.
    fn what_of(&self, case: &Case<'_>) -> String {
        let Case { chart, kind, documents, nodes: (nodes, splits), percent, queries, .. } = *case;
        let record = self.last().records[0];
        let mut parts = Vec::new();
        if let Some(kind) = kind {
            parts.push(format!(
                "{kind} subscriptions; events of {} bytes",
                record.bytes / record.documents.max(1)
            ));
        }
        if queries > 0 {
            parts.push(format!("{} twigs", count(queries)));
        }
        if nodes > 0 {
            parts.push(format!(
                "{nodes} nodes and {splits} split{} a twig",
                if splits == 1 { "" } else { "s" }
            ));
        }
        if percent > 0 {
            parts.push(format!("* and // at {percent} %"));
        }
        match documents {
            0 => {}
            1 if chart == SIZES => parts.push("1 document".into()),
            1 => parts.push(format!(
                "1 document of {}, {} XML events",
                size(record.bytes),
                count(record.events)
            )),
            _ => parts.push(format!("{documents} documents of {}", size(record.bytes / documents))),
        }
        parts.join("; ")
    }

    /// A line through the values that `value` returns for the cases.
    fn line(&self, name: String, ours: bool, value: impl Fn(&Point<'a>) -> Option<f64>) -> Option<Series> {
        let spot = |point: &Point<'a>| {
            let value = value(point)?;
            Some((on_axis(&point.case).0, Spot { value, low: value, high: value }))
        };
        let points: Vec<_> = self.points.iter().filter_map(spot).collect();
        (!points.is_empty()).then_some(Series { name, points, ours, dashed: false })
    }

    /// A line for each of the given ways.
    fn ways(&self, ways: &[Way], value: impl Fn(&Record) -> f64) -> Vec<Series> {
        let line = |way: &Way| {
            let ours = matches!(way, Way::Gpu | Way::Cpu(_));
            self.line(self.last().name(*way), ours, |point| Some(value(point.of(*way)?)))
        };
        ways.iter().filter_map(line).collect()
    }
}

/// The words for a position on an axis, in a sentence. The last position comes after another one, and does
/// not repeat its noun.
fn at<'a>(groups: &'a [Group<'_>], before: &'a str, noun: &'a str) -> impl Fn(f64) -> String + 'a {
    move |x| {
        let all: Vec<_> =
            groups.iter().flat_map(|group| &group.points).map(|point| on_axis(&point.case)).collect();
        let name = all.iter().find(|(value, _, _)| *value == x).map_or("", |(_, name, _)| name);
        let is_last = all.iter().all(|(value, _, _)| *value <= x);
        format!("{before}{name}{}", if is_last { "" } else { noun })
    }
}

/// A line of a plot, in a sentence.
fn line(series: &Series, name: &str) -> Line {
    let points = series.points.iter().map(|(x, spot)| (*x, spot.value)).collect();
    Line { name: name.into(), points }
}

/// The sentences of a plot of lines: Warpath's line on the GPU, or its first one, beside peers.
fn of_series(measure: Measure, series: &[Series], at: &dyn Fn(f64) -> String) -> String {
    let peers: Vec<Line> =
        series.iter().filter(|series| !series.ours).map(|series| line(series, &series.name)).collect();
    let mut ours = series.iter().filter(|series| series.ours);
    let Some(first) = ours.next() else { return "Warpath was not measured.".into() };
    let is_gpu = first.name.contains("GPU");
    let of = line(first, if is_gpu { "Warpath on the GPU" } else { "Warpath" });
    let against = match ours.next() {
        Some(cpu) if peers.is_empty() && is_gpu => {
            Against::One(line(cpu, "on the CPU"), Some(["The GPU", "The CPU"]))
        }
        _ => Against::Peers(peers),
    };
    result::along(measure, &of, &against, at)
}

/// The unit of speed-ups over YFilter on one thread, in a sentence.
const ONE_THREAD: &str = "times single-threaded YFilter's speed";

/// The sentences of a plot of speed-ups: Warpath's line on the GPU, or its first one, beside that of the
/// paper's kernel over the same baseline.
fn of_speedups(
    unit: &'static str,
    suffix: &str,
    series: &[Series],
    paper: Option<&Series>,
    at: &dyn Fn(f64) -> String,
) -> String {
    let Some(ours) = series.iter().find(|series| series.ours) else {
        return "Warpath was not measured.".into();
    };
    let name = if ours.name.contains("GPU") { "Warpath on the GPU" } else { "Warpath" };
    let name = format!("{name}{suffix}");
    let measure = Measure { verb: "reaches", unit, least_is_best: false };
    let against = match paper {
        Some(paper) => {
            Against::One(line(paper, "the paper's kernel"), Some(["Warpath", "The paper's kernel"]))
        }
        None => Against::Peers(Vec::new()),
    };
    result::along(measure, &line(ours, &name), &against, at)
}

/// Draws lines over the property in which cases differ. Returns `None` if there are no lines, or only one
/// position on the axis.
fn draw(
    groups: &[Group<'_>],
    title: String,
    axis: &str,
    unit: &str,
    series: &[Series],
    result: String,
) -> Option<Plot> {
    let first = groups.first()?;
    let points = || groups.iter().flat_map(|group| &group.points);
    let mut ticks: Vec<(f64, String)> = Vec::new();
    for (value, name, _) in points().map(|point| on_axis(&point.case)) {
        if !ticks.iter().any(|(known, _)| *known == value) {
            ticks.push((value, name));
        }
    }
    if ticks.len() < 2 || series.is_empty() {
        return None;
    }
    let log = first.case.chart != LENGTHS;
    let axis = Axis { title: if log { format!("{axis}, logarithmic") } else { axis.into() }, ticks, log };
    // Several groups differ in one more property.
    let what = if groups.len() == 1 {
        first.what()
    } else {
        first.what_of(&Case { percent: 0, ..first.case.clone() })
    };
    let marks = "A mark is the median of all runs.".to_owned();
    let notes = vec![what, marks, place_and_time(points().flat_map(|point| &point.records).copied())];
    Some(chart::lines(&Heading { title, notes, result }, &axis, unit, series))
}

/// The machines and dates of the records, each pair once.
fn place_and_time<'a>(records: impl Iterator<Item = &'a Record>) -> String {
    let mut said: Vec<String> = Vec::new();
    for Record { machine, date, .. } in records {
        let text = chart::place_and_time(machine, date);
        if !said.contains(&text) {
            said.push(text);
        }
    }
    said.join(" ")
}

/// Figures 7 and 9.
fn throughput(of: &Group<'_>, figure: u32) -> Option<(String, Plot)> {
    let mut ways = vec![Way::Gpu, Way::Cpu(All), Way::Paper, Way::YFilter(One)];
    if of.case.documents == 1 {
        // The line of one thread shows that all threads gain nothing on one document.
        ways.push(Way::Cpu(One));
    }
    let series = of.ways(&ways, Record::megabytes);
    let nodes = of.case.nodes.0;
    let what = if of.case.documents == 1 {
        "one document".into()
    } else {
        format!("{} documents", of.case.documents)
    };
    let title = format!("Twigs of {nodes} nodes, {what}: throughput");
    let measure = Measure { unit: "MB/s", ..result::RATE };
    let result = of_series(measure, &series, &at(from_ref(of), "with ", " twigs"));
    let plot = draw(from_ref(of), title, "twigs", "MB/s", &series, result)?;
    Some((format!("figure-{figure}-{nodes}-nodes.svg"), plot))
}

/// Figure 8: a line for each percentage of `*` and `//`.
fn by_size(groups: &[Group<'_>]) -> Option<(String, Plot)> {
    let mut series = Vec::new();
    for (way, name) in [
        (Way::Gpu, "Warpath, GPU"),
        (Way::Cpu(One), "Warpath, CPU, 1 thread"),
        (Way::Paper, "the paper's kernel"),
    ] {
        for of in groups {
            let name = format!("{name}, {} %", of.case.percent);
            series.extend(of.line(name, way != Way::Paper, |point| point.ratio(way, Way::YFilter(One))));
        }
    }
    let percents: Vec<String> = groups.iter().map(|of| of.case.percent.to_string()).collect();
    let title = format!("One document: speed-up over YFilter, * and // at {} %", percents.join(", "));
    const UNIT: &str = "times as fast as YFilter on one thread";
    // The lines of the first percentage are compared: a line of each percentage has its own baseline.
    let percent = format!(", {} %", groups.first()?.case.percent);
    let suffix = format!(" ({})", percent.trim_start_matches(", "));
    let paper = series.iter().find(|series| !series.ours && series.name.ends_with(&percent));
    let result = of_speedups(ONE_THREAD, &suffix, &series, paper, &at(groups, "at ", ""));
    let plot = draw(groups, title, "the document", UNIT, &series, result)?;
    Some(("figure-8.svg".into(), plot))
}

/// Figures 10 and 11: the speed-up over YFilter on one thread and on all threads.
fn speedups(of: &Group<'_>, figure: u32) -> Option<(String, Plot)> {
    let mut series = Vec::new();
    for (way, base) in
        [(Way::Gpu, One), (Way::Gpu, All), (Way::Cpu(All), All), (Way::Paper, One), (Way::Paper, All)]
    {
        let (last, base) = (of.last(), Way::YFilter(base));
        let name = match way {
            Way::Gpu => "GPU",
            Way::Paper => "paper's kernel",
            _ => "CPU",
        };
        let Some(yfilter) = last.of(base) else { continue };
        let name = format!("{name} over {}", on(yfilter.threads));
        series.extend(of.line(name, way != Way::Paper, |point| point.ratio(way, base)));
    }
    let documents = of.case.documents;
    let title = format!("{documents} documents: speed-up over YFilter, on one thread and on all");
    let axis = if of.case.chart == LENGTHS { "nodes of a twig" } else { "twigs" };
    let (unit, paper) = match series.first()?.name.split_once(" over ") {
        Some((_, base)) if base == on(1) => (ONE_THREAD, base),
        other => ("times multi-threaded YFilter's speed", other.map_or("", |(_, base)| base)),
    };
    let paper = format!("paper's kernel over {paper}");
    let paper = series.iter().find(|series| series.name == paper);
    let after = if of.case.chart == LENGTHS { " nodes" } else { " twigs" };
    let result = of_speedups(unit, "", &series, paper, &at(from_ref(of), "with ", after));
    let plot = draw(from_ref(of), title, axis, "times as fast as YFilter", &series, result)?;
    Some((format!("figure-{figure}-{documents}-documents.svg"), plot))
}

/// JSON events a second.
fn events(of: &Group<'_>) -> Option<(String, Plot)> {
    let kind = of.case.kind.unwrap_or_default();
    let series = of.ways(&[Way::Gpu, Way::Cpu(All), Way::Cpu(One)], Record::documents_a_second);
    let title = format!("JSON events a second, by {kind} subscriptions");
    const UNIT: &str = "million events a second";
    let measure = Measure { unit: UNIT, ..result::RATE };
    let result = of_series(measure, &series, &at(from_ref(of), "with ", " subscriptions"));
    let plot = draw(from_ref(of), title, "subscriptions", UNIT, &series, result)?;
    Some((format!("events-{kind}.svg"), plot))
}

/// The table of ratios between the speeds of two ways.
fn ratios(records: &[Record]) -> String {
    const RATIOS: [(Way, Way); 6] = [
        (Way::Gpu, Way::YFilter(All)),
        (Way::Gpu, Way::Paper),
        (Way::Gpu, Way::Cpu(All)),
        (Way::Cpu(All), Way::YFilter(All)),
        (Way::Cpu(One), Way::YFilter(One)),
        (Way::Paper, Way::YFilter(All)),
    ];
    let mut page = String::new();
    for of in groups(records, BAR) {
        let all = of.points.iter().flat_map(|point| &point.records).copied();
        let _ = write!(page, "\n## Ratios: {}\n\n{}\n\n", of.what(), place_and_time(all));
        let rows = RATIOS.iter().filter_map(|(way, base)| {
            let ratios: Vec<_> = of.points.iter().map(|point| point.ratio(*way, *base)).collect();
            let name = format!("{}, over {}", of.last().name(*way), of.last().name(*base));
            ratios.iter().any(Option::is_some).then(|| {
                let cells = ratios.into_iter().map(|ratio| ratio.map(number).unwrap_or_default());
                iter::once(name).chain(cells).collect()
            })
        });
        page += &chart::table(&of.head("times as fast", |at| format!("`*` and `//` at {at}")), rows);
    }
    page
}

/// The tables of all results of a chart.
fn tables(records: &[Record], chart: &str) -> String {
    let mut page = String::new();
    for of in groups(records, chart) {
        let unit = match chart {
            SIZES => "",
            LENGTHS => " nodes",
            BAR => " `*` and `//`",
            EVENTS => " subscriptions",
            _ => " twigs",
        };
        let mut ways: Vec<(&str, usize)> = Vec::new();
        for record in of.points.iter().flat_map(|point| &point.records) {
            if !ways.contains(&(&record.what, record.threads)) {
                ways.push((&record.what, record.threads));
            }
        }
        ways.sort_by_key(|(what, threads)| (ORDER.iter().position(|name| what.starts_with(name)), *threads));
        let row = |name: String, of_point: &dyn Fn(&Point<'_>) -> Option<String>| -> Vec<String> {
            let cells = of.points.iter().map(|point| of_point(point).unwrap_or_default());
            iter::once(name).chain(cells).collect()
        };
        let mut rows: Vec<Vec<String>> = Vec::new();
        for (what, threads) in ways {
            let is = |record: &&&Record| (&*record.what, record.threads) == (what, threads);
            rows.push(row(name(what, threads), &|point| {
                point.records.iter().find(is).map(|record| cell(record))
            }));
        }
        rows.push(row("matches".into(), &|point| {
            // A slow way reads fewer events, so the record with the most documents counts.
            let most = point.records.iter().max_by_key(|record| record.documents);
            most.map(|record| count(record.matches))
        }));
        let head = of.head("", |at| format!("{at}{unit}"));
        let _ = write!(page, "\n### {chart}: {}\n\n{}", of.what(), chart::table(&head, rows));
    }
    page
}

fn cell(record: &Record) -> String {
    let first = if record.chart == EVENTS {
        number(1e3 * record.documents_a_second())
    } else {
        milliseconds(1e3 * record.seconds)
    };
    format!("{first} ({})", number(record.megabytes()))
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::record;
    use super::*;

    /// Records of all charts, with those of a device if `device` is true.
    fn sample(device: bool) -> Vec<Record> {
        let mut all = Vec::new();
        let mut add = |of: &Record, scale: f64| {
            let ways = [
                ("cpu", 1, 8.0),
                ("cpu", 16, 1.0),
                ("yfilter", 1, 64.0),
                ("yfilter", 16, 8.0),
                ("gpu", 1, 0.05),
                ("paper's, streams", 1, 2.0),
                ("paper's, one launch", 1, 4.0),
            ];
            for (what, threads, milliseconds) in &ways[..if device { 7 } else { 4 }] {
                let seconds = milliseconds * scale / 1e3;
                if of.chart != EVENTS || ["cpu", "gpu"].contains(what) {
                    all.push(Record { what: (*what).into(), threads: *threads, seconds, ..of.clone() });
                }
            }
        };
        for nodes in [5, 10, 15] {
            for queries in [32, 2048] {
                let of = Record { queries, nodes, ..record("queries", "", 1) };
                add(&of, queries as f64);
                add(
                    &Record { chart: "batch".into(), documents: 500, bytes: 12_626_085, ..of },
                    queries as f64,
                );
            }
            for documents in [500, 1000] {
                let of = Record { nodes, documents, ..record(LENGTHS, "", 1) };
                add(&of, 1.0);
            }
        }
        for percent in [10, 30, 50] {
            for bytes in [32_428, 1_000_179] {
                add(&Record { percent, bytes, ..record(SIZES, "", 1) }, bytes as f64);
            }
            add(&Record { percent, documents: 1000, ..record(BAR, "", 1) }, 1.0);
        }
        for queries in [32, 2048] {
            for documents in [1000, 500] {
                add(&Record { queries, documents, ..record("speedup", "", 1) }, 1.0);
            }
        }
        for (kind, queries) in [("exact", 1000), ("exact", 100_000), ("mixed", 1000)] {
            let of =
                Record { queries, nodes: 0, percent: 0, kind: Some(kind.into()), ..record(EVENTS, "", 1) };
            add(&Record { documents: 443_150, bytes: 400_000_518, ..of }, queries as f64);
        }
        all
    }

    #[test]
    fn all_figures_are_drawn_and_on_the_page() {
        for device in [true, false] {
            let folder = tempfile::tempdir().unwrap();
            let files = write(&sample(device), folder.path()).unwrap();
            let mut wanted = Vec::new();
            wanted.extend([5, 10, 15].map(|nodes| format!("figure-7-{nodes}-nodes.svg")));
            wanted.push("figure-8.svg".into());
            wanted.extend([5, 10, 15].map(|nodes| format!("figure-9-{nodes}-nodes.svg")));
            for figure in [10, 11] {
                wanted.extend([500, 1000].map(|count| format!("figure-{figure}-{count}-documents.svg")));
            }
            wanted.extend(["events-exact.svg".into(), "README.md".into()]);
            assert_eq!(files, wanted);
            let page = fs::read_to_string(folder.path().join("README.md")).unwrap();
            chart::tests::check_plots(folder.path(), &files, "A <machine>. 2026-11-22.");
            assert!(
                page.contains("| YFilter, 16 threads | 8.00 (125) | 8.00 (125) | 8.00 (125) |"),
                "{page}"
            );
            assert_eq!(page.contains("| Warpath, GPU, over YFilter, 16 threads | 160 | 160 | 160 |"), device);
            assert_eq!(
                page.contains("| Warpath, GPU, over the paper's kernel | 40.0 | 40.0 | 40.0 |"),
                device
            );
            assert!(
                page.contains("| Warpath, CPU, 16 threads, over YFilter, 16 threads | 8.00 | 8.00 | 8.00 |")
            );
            assert!(page.contains("### events: mixed subscriptions"));
        }
    }

    #[test]
    fn the_papers_kernel_is_the_faster_of_its_launches() {
        let records = sample(true);
        let point = &groups(&records, BAR)[0].points[0];
        assert_eq!(point.of(Way::Paper).unwrap().what, "paper's, streams");
        assert_eq!(point.ratio(Way::Paper, Way::YFilter(All)), Some(4.0));
        assert_eq!(point.ratio(Way::Paper, Way::YFilter(One)), Some(32.0));
    }

    #[test]
    fn what_differs_is_on_the_axis_and_the_rest_is_said() {
        let records = sample(true);
        let said = |chart: &str| groups(&records, chart)[0].what();
        assert_eq!(
            said("queries"),
            "5 nodes and 3 splits a twig; * and // at 10 %; 1 document of 1 MB, 57\u{2009}000 XML events"
        );
        assert_eq!(said(SIZES), "256 twigs; 10 nodes and 3 splits a twig; * and // at 10 %; 1 document");
        assert_eq!(said(LENGTHS), "256 twigs; * and // at 10 %; 500 documents of 2 kB");
        assert_eq!(said(EVENTS), "exact subscriptions; events of 902 bytes");
        let sizes: Vec<String> =
            groups(&records, SIZES)[0].points.iter().map(|point| on_axis(&point.case).1).collect();
        assert_eq!(sizes, ["32 kB", "1 MB"]);
    }

    #[test]
    fn sentences_are_of_warpath_and_of_the_fastest_other_way() {
        let of = |records: &[Record], wanted: &str| -> String {
            let mut plots = figures(records).into_iter().flat_map(|(_, plots)| plots);
            plots.find(|(file, _)| file == wanted).unwrap().1.result
        };
        let records = sample(true);
        assert_eq!(
            of(&records, "figure-9-5-nodes.svg"),
            "Warpath on the GPU reads 7\u{2009}891 MB/s with 32 twigs and 123 with 2\u{2009}048; \
             the best peer, the paper's kernel, 197 and 3.08. \
             Warpath leads at all 2 points, by a factor of 40.0."
        );
        assert_eq!(
            of(&records, "figure-8.svg"),
            "Warpath on the GPU (10 %) reaches 1\u{2009}280 times single-threaded YFilter's speed at 32 kB and \
             1\u{2009}280 at 1 MB; the paper's kernel, 32.0 and 32.0. \
             Warpath leads at all 2 points, by a factor of 40.0."
        );
        assert!(of(&records, "events-exact.svg").contains("; on the CPU, 0.44 and 0.0044. The GPU leads"));
        let slower: Vec<Record> = records
            .iter()
            .map(|record| Record {
                seconds: record.seconds * if record.what == GPU { 80.0 } else { 1.0 },
                ..record.clone()
            })
            .collect();
        assert!(
            of(&slower, "figure-10-500-documents.svg")
                .ends_with("The paper's kernel leads at all 2 points, by a factor of 2.00."),
        );
        assert!(
            of(&sample(false), "events-exact.svg").starts_with("Warpath reads between 0.0044 million events")
        );
    }

    #[test]
    fn the_published_page_is_that_of_the_results() {
        chart::tests::check_published("twig", |kept, made| {
            write(&crate::twig::record::load(&[kept.join("h200.jsonl")]).unwrap(), made).unwrap()
        });
    }

    #[test]
    fn nothing_measured_is_an_empty_page() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(&[], folder.path()).unwrap(), ["README.md"]);
    }
}
