//! Tables in Markdown and plots in SVG, from the result files.

mod show;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::chart::{self, Axis, Heading, MEDIANS, Plot, Row, SORTED, Series, Spot, number, thousands};
use super::plan::Suite;
use super::record::{self, Checked, Measured, Outcome, Record, median, spread};
use super::result::{self, Against, Line, Measure};
use show::{SHOWS, Show};

/// The text before the tables.
const HOW_TO_READ: &str = "\
    Made by `bench plot`, as [the plots](README.md) are. Not to be edited.\n\n\
    Times are wall clock of the whole process, from before it is started until it has ended, unless a table says otherwise: \
    the median, and in parentheses the least and the most. Rates are of input, in 10⁹ bytes a second. *Processor* is time on \
    all cores in user space and in the kernel, *peak* the most resident memory, which counts a mapped file. *Checked* says what \
    of the results was compared with the reference before anything was timed.";

/// Makes the pages and plots of a folder from its `cpu.jsonl` and `gpu.jsonl`. `README.md` shows the plots,
/// and `cpu.md` and `gpu.md` have all figures in tables. Returns the names of the written files.
///
/// # Errors
///
/// A malformed result file, or an error of the file system.
pub fn write(folder: &Path) -> Result<Vec<String>> {
    let mut page = String::from(
        "# Measurements\n\n\
         Made by `bench plot` from the result files beside this page, which hold every run; `benches/README.md` says how they \
         are made. Not to be edited.\n",
    );
    let mut files = Vec::new();
    for suite in [Suite::Cpu, Suite::Gpu] {
        let records = record::load(&folder.join(format!("{}.jsonl", suite.name())))?;
        if records.is_empty() {
            let _ = write!(page, "\nNothing has been measured with `bench {}` yet.\n", suite.name());
            continue;
        }
        let heading = match suite {
            Suite::Cpu => "CPU, beside its peers",
            Suite::Gpu => "GPU",
        };
        let tables_file = format!("{}.md", suite.name());
        let _ = write!(
            page,
            "\n## {heading}\n\nAll figures, and the commands: [{tables_file}]({tables_file}).\n"
        );
        let mut all_tables = format!("# {heading}: all figures\n\n{HOW_TO_READ}\n");
        for show in &SHOWS {
            let own: Vec<&Record> = records.iter().filter(|record| record.chart == show.id).collect();
            if own.is_empty() {
                continue;
            }
            let beside: Vec<&Record> =
                records.iter().filter(|record| is_cpu_beside(record, show.id)).collect();
            let records = own;
            let _ = write!(page, "\n### {}\n\n{}\n", show.title, place_and_time(&records));
            for (name, plot) in plots(suite, show, &records, &beside) {
                page += &plot.paragraphs(&name);
                fs::write(folder.join(&name), plot.svg).with_context(|| name.clone())?;
                files.push(name);
            }
            let _ = write!(all_tables, "\n## {}\n\n{}\n", show.title, place_and_time(&records));
            all_tables += &tables(&records);
        }
        fs::write(folder.join(&tables_file), all_tables).with_context(|| tables_file.clone())?;
        files.push(tables_file);
    }
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(folder.join("README.md"), page).context("README.md")?;
    files.push("README.md".into());
    Ok(files)
}

/// The machines and days of records.
fn place_and_time(records: &[&Record]) -> String {
    let machines: BTreeSet<&str> = records.iter().map(|record| record.machine.as_str()).collect();
    let days: BTreeSet<&str> = records.iter().map(|record| day(record)).collect();
    let join = |all: BTreeSet<&str>| all.into_iter().collect::<Vec<_>>().join("; ");
    format!("{}. {}.", join(machines), join(days))
}

fn day(record: &Record) -> &str {
    record.date.split('T').next().unwrap_or_default()
}

/// The cases of a chart, in the order in which they were measured.
fn cases<'a>(records: &[&'a Record]) -> Vec<(&'a str, Vec<&'a Record>)> {
    let mut cases: Vec<(&str, Vec<&Record>)> = Vec::new();
    for record in records {
        match cases.iter_mut().find(|(case, _)| *case == record.case) {
            Some((_, records)) => records.push(record),
            None => cases.push((&record.case, vec![record])),
        }
    }
    cases
}

/// The plots of a chart, each with a file name.
/// `beside` has the CPU's records for the cases of a chart of kernels.
fn plots(suite: Suite, show: &Show, records: &[&Record], beside: &[&Record]) -> Vec<(String, Plot)> {
    let stem = format!("{}-{}", suite.name(), show.id);
    let Some(axis) = show.axis else {
        let cases = cases(records);
        let name = |case: &str, what: &str| format!("{stem}-{}{what}.svg", case.replace(' ', "-"));
        let mut plots: Vec<(String, Plot)> = cases
            .iter()
            .map(|(case, records)| (name(case, ""), speeds(&with_cpu(records, beside))))
            .collect();
        if let Some((case, records)) = cases.first()
            && show.id == "queries"
        {
            plots.insert(1, (name(case, "-memory"), peaks(records)));
        }
        return plots;
    };
    vec![(format!("{stem}.svg"), along(show, axis, &with_cpu(records, beside)))]
}

/// True for the record of the CPU, in the chart of whole processes, whose cases are those of a chart of
/// kernels.
fn is_cpu_beside(record: &Record, components: &str) -> bool {
    let chart = match components {
        "components" => "queries",
        _ => components.strip_prefix("components-").unwrap_or_default(),
    };
    record.chart == chart && record.tool == "warpath cpu"
}

/// Records, and the CPU's of the same cases. The CPU's are of whole processes, from file to output.
fn with_cpu<'a>(records: &[&'a Record], beside: &[&'a Record]) -> Vec<&'a Record> {
    let is_shown = |cpu: &&&Record| records.iter().any(|record| record.case == cpu.case);
    records.iter().chain(beside.iter().filter(is_shown)).copied().collect()
}

fn notes(records: &[&Record], what: &str) -> Vec<String> {
    let first = records[0];
    let bytes = number(first.bytes as f64 / 1e6);
    vec![
        what.replace("{bytes}", &bytes).replace("{shape}", &in_words(&first.shape)),
        format!("{MEDIANS}{SORTED}"),
        place_and_time(records),
    ]
}

/// The records of a shape, in words.
fn in_words(shape: &str) -> String {
    match shape {
        "twitter" => "tweets".into(),
        "walmart" => "products of Walmart".into(),
        "bestbuy" => "products of Best Buy".into(),
        "maps" => "directions".into(),
        "events" => "events of services".into(),
        "bluesky" => "events of a social network".into(),
        "log:84" | "log:242" => "lines of a log".into(),
        _ => match shape.strip_prefix("sized:").and_then(|length| length.parse().ok()) {
            Some(length) => format!("records of {} bytes", thousands(length)),
            None => shape.into(),
        },
    }
}

/// The name of a tool in a plot.
fn tool_name(record: &Record) -> String {
    match record.tool.as_str() {
        "cat" => "cat, to /dev/null".into(),
        name => name.into(),
    }
}

/// The name of a tool in a plot of kernels, where the CPU's records are of whole processes.
fn name_among_kernels(record: &Record) -> String {
    if is_component(record) { tool_name(record) } else { CPU_NAMES[1].into() }
}

/// The names of the CPU's line, in plots of processes and of kernels.
const CPU_NAMES: [&str; 2] = ["warpath cpu", "CPU, whole process"];

fn is_ours(record: &Record) -> bool {
    record.tool.starts_with("warpath")
}

/// Returns true if the times are those of parts of a program.
fn is_component(record: &Record) -> bool {
    record.chart.starts_with("components")
}

/// Rows from the best to the worst, those without a value last.
fn rows(
    records: &[&Record],
    best_is_low: bool,
    row: impl Fn(&Record, &Measured) -> Option<(Spot, String)>,
) -> Vec<Row> {
    let mut rows: Vec<Row> = records
        .iter()
        .map(|record| {
            let seen = record.measured().and_then(|measured| row(record, measured));
            let (spot, note) = match seen {
                Some((spot, note)) => (Some(spot), note),
                None => {
                    (None, why(record).map_or("nothing measured".into(), |why| format!("not run: {why}")))
                }
            };
            let name = if is_component(records[0]) { name_among_kernels(record) } else { tool_name(record) };
            Row { name, spot, note, ours: is_ours(record) }
        })
        .collect();
    let sign = if best_is_low { 1.0 } else { -1.0 };
    rows.sort_by(|a, b| {
        let key = |row: &Row| row.spot.map_or(f64::INFINITY, |spot| sign * spot.value);
        key(a).total_cmp(&key(b))
    });
    rows
}

fn why(record: &Record) -> Option<&str> {
    match &record.outcome {
        Outcome::NotRun { why } => Some(why),
        Outcome::Measured(_) => None,
    }
}

/// The tools of one case by speed, or components by time.
fn speeds(records: &[&Record]) -> Plot {
    let components = is_component(records[0]);
    // What does not depend on the text would only stretch the axis; the table has it.
    let shown: Vec<&Record> =
        records.iter().copied().filter(|record| !components || record.tool != "context and module").collect();
    let rows = rows(&shown, components, |record, measured| {
        let (wall, (least, most)) = (median(&measured.wall_ms)?, spread(&measured.wall_ms)?);
        if components {
            let note = format!("{} ms, {} GB/s", number(wall), number(record.rate(wall)));
            return Some((Spot { value: wall, low: least, high: most }, note));
        }
        let spot = Spot { value: record.rate(wall), low: record.rate(most), high: record.rate(least) };
        Some((
            spot,
            format!("{} GB/s, {} ms, {} runs", number(spot.value), number(wall), measured.wall_ms.len()),
        ))
    });
    let what = format!("{}, over {{bytes}} MB of {{shape}}", records[0].query);
    let title = match (components, records[0].case.as_str()) {
        (true, case) => format!("Kernels and copies: {case}"),
        (false, case) => format!("{}: whole process, from file to output", capital(case)),
    };
    let unit = if components { "milliseconds" } else { "10⁹ bytes of input a second" };
    let result = if components {
        of_kernels(&shown)
    } else {
        of_tools(&shown, result::RATE, |record, measured| Some(record.rate(median(&measured.wall_ms)?)))
    };
    chart::dots(&Heading { title, notes: notes(records, &what), result }, unit, &rows)
}

/// The processors that Warpath runs on: the beginnings of its names, and their names in a sentence.
const EXECUTORS: [(&str, &str); 2] = [("warpath cuda", "on the GPU"), ("warpath cpu", "on the CPU")];

/// Warpath's ways on each processor, of which a sentence compares the first that was measured.
const WAYS: [&str; 2] = ["", ", count"];

/// Returns true for what is compared with Warpath. `cat` evaluates no query: it shows a limit.
fn is_peer(name: &str) -> bool {
    !name.starts_with("warpath") && name != "cat" && !name.starts_with("cat, ")
}

/// The sentences of a case of whole programs.
fn of_tools(
    records: &[&Record],
    measure: Measure,
    value: impl Fn(&Record, &Measured) -> Option<f64>,
) -> String {
    let value = |record: &Record| record.measured().and_then(|measured| value(record, measured));
    let of = |tool: &str| records.iter().find(|record| record.tool == tool).and_then(|record| value(record));
    let mut ours: Vec<(&str, f64)> = EXECUTORS
        .into_iter()
        .filter_map(|(tool, name)| Some((name, WAYS.iter().find_map(|way| of(&format!("{tool}{way}")))?)))
        .collect();
    if let [(name, _)] = &mut ours[..] {
        *name = "";
    }
    let peers: Vec<(String, f64)> = records
        .iter()
        .filter(|record| is_peer(&record.tool))
        .filter_map(|record| Some((record.tool.clone(), value(record)?)))
        .collect();
    result::of_case(measure, &ours, &peers)
}

/// The sentences of a case of kernels.
fn of_kernels(records: &[&Record]) -> String {
    let time = |record: &Record| median(&record.measured()?.wall_ms);
    let of = |is: &dyn Fn(&str) -> bool| {
        records.iter().find(|record| is_component(record) && is(&record.tool)).and_then(|record| time(record))
    };
    let index = of(&|tool| tool.starts_with("index, ") && tool.contains("first start to last end"));
    let copy = of(&|tool| tool == "copy kernel");
    let kernels = records.iter().filter(|record| {
        is_component(record) && !record.tool.starts_with("index, ") && record.tool != "copy kernel"
    });
    let longest = kernels
        .filter_map(|record| Some((record.tool.as_str(), time(record)?)))
        .max_by(|(_, a), (_, b)| a.total_cmp(b));
    let mut sentences = Vec::new();
    if let Some(index) = index {
        let copy = copy.map(|copy| format!(", {} times as long as a copy of the text", number(index / copy)));
        sentences.push(format!("The index takes {} ms{}.", number(index), copy.unwrap_or_default()));
    }
    if let Some((name, time)) = longest {
        sentences.push(format!("The longest single kernel, {name}, takes {} ms.", number(time)));
    }
    if sentences.is_empty() { "Nothing was measured.".into() } else { sentences.join(" ") }
}

/// The sentences of a chart along an axis.
fn of_series(show: &Show, is_component: bool, series: &[Series], ticks: &[(f64, String)]) -> String {
    let at = |x: f64| {
        let name = ticks.iter().find(|(tick, _)| *tick == x).map_or("", |(_, name)| name);
        (show.at)(name)
    };
    let line = |series: &Series, name: &str| Line {
        name: name.to_owned(),
        points: series.points.iter().map(|(x, spot)| (*x, spot.value)).collect(),
    };
    let named = |name: &str| series.iter().find(|series| series.name == name);
    if is_component {
        const REACH: Measure = Measure { verb: "reach", ..result::RATE };
        let index = series.iter().find(|series| series.name.starts_with("index: "));
        let query = series.iter().filter(|series| series.name.starts_with("query: "));
        let last = |series: &Series| series.points.last().map_or(f64::INFINITY, |(_, spot)| spot.value);
        let slowest = query.min_by(|a, b| last(a).total_cmp(&last(b)));
        let mut sentences = Vec::new();
        if let Some(index) = index {
            let copy = named("copy kernel").map(|copy| line(copy, "the copy kernel"));
            let against = copy.map_or(Against::Peers(Vec::new()), |copy| Against::One(copy, None));
            sentences.push(result::along(REACH, &line(index, "The kernels of the index"), &against, &at));
        }
        if let Some(query) = slowest {
            let name = format!("The kernel for {}", query.name.replace("query: ", ""));
            let measure = Measure { verb: "reaches", ..result::RATE };
            sentences.push(result::alone(measure, &line(query, &name), &at));
        }
        return if sentences.is_empty() { "Nothing was measured.".into() } else { sentences.join(" ") };
    }
    let of = |tool: &str| WAYS.iter().find_map(|way| named(&format!("{tool}{way}")));
    let peers: Vec<Line> = series
        .iter()
        .filter(|series| is_peer(&series.name))
        .map(|series| line(series, &series.name))
        .collect();
    match EXECUTORS.map(|(tool, _)| of(tool)) {
        [Some(cuda), Some(cpu)] if peers.is_empty() => {
            let against = Against::One(line(cpu, "on the CPU"), Some(["The GPU", "The CPU"]));
            result::along(result::RATE, &line(cuda, "Warpath on the GPU"), &against, &at)
        }
        [Some(ours), _] | [None, Some(ours)] => {
            result::along(result::RATE, &line(ours, "Warpath"), &Against::Peers(peers), &at)
        }
        [None, None] => "Warpath was not measured.".into(),
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map(|first| first.to_uppercase().chain(chars).collect()).unwrap_or_default()
}

/// The tools of one case by peak memory.
fn peaks(records: &[&Record]) -> Plot {
    let rows = rows(records, true, |_, measured| {
        let megabytes = measured.peak_bytes as f64 / 1e6;
        Some((
            Spot { value: megabytes, low: megabytes, high: megabytes },
            format!("{} MB", number(megabytes)),
        ))
    });
    let what = format!(
        "{}, over {{bytes}} MB of {{shape}}; a file that is mapped counts as far as it was touched",
        records[0].query
    );
    let title = format!("{}: peak resident memory", capital(&records[0].case));
    let result = of_tools(records, result::MEMORY, |_, measured| Some(measured.peak_bytes as f64 / 1e6));
    chart::dots(&Heading { title, notes: notes(records, &what), result }, "10⁶ bytes", &rows)
}

/// The tools of a chart along its axis.
fn along(show: &Show, axis: &str, records: &[&Record]) -> Plot {
    let mut ticks: Vec<(f64, String)> = Vec::new();
    let mut series: Vec<Series> = Vec::new();
    let mut add = |name: String, ours: bool, x: f64, spot: Spot| match series
        .iter_mut()
        .find(|series| series.name == name)
    {
        Some(series) => series.points.push((x, spot)),
        None => {
            let dashed = name.ends_with(", count");
            series.push(Series { name, points: vec![(x, spot)], ours, dashed });
        }
    };
    for record in records {
        let Some(x) = record.x else { continue };
        if !ticks.iter().any(|(tick, _)| *tick == x) {
            ticks.push((x, record.case.clone()));
        }
        let Some(measured) = record.measured() else { continue };
        if is_component(record) && !is_summary(&record.tool) {
            continue;
        }
        let ours = is_ours(record);
        let spot = |wall: &[f64]| {
            let (least, most) = spread(wall)?;
            Some(Spot { value: record.rate(median(wall)?), low: record.rate(most), high: record.rate(least) })
        };
        if let Some(spot) = spot(&measured.wall_ms) {
            let name = if is_component(records[0]) && !is_component(record) {
                name_among_kernels(record)
            } else {
                series_name(record)
            };
            add(name, ours, x, spot);
        }
        // A device's context takes longer than the work; both are shown.
        if record.tool == "warpath cuda"
            && let Some(after) = after_setup(measured)
            && let Some(spot) = spot(&after)
        {
            add("warpath cuda, after set-up".into(), true, x, spot);
        }
    }
    let first = records[0];
    let what = match (show.id.contains("sizes"), is_component(first)) {
        (true, true) => format!("{}, resident on the device", in_words(&first.shape)),
        (true, false) => format!("{}; whole process, from file to output", in_words(&first.shape)),
        (false, false) => format!(
            "{} MB of {}; whole process, from file to output",
            number(first.bytes as f64 / 1e6),
            shape_of_all(records)
        ),
        (false, true) => format!(
            "{} MB of {}, resident on the device",
            number(first.bytes as f64 / 1e6),
            shape_of_all(records)
        ),
    };
    let is_beside = is_component(first) && series.iter().any(|series| series.name == CPU_NAMES[1]);
    let what = if is_beside {
        format!("{what}; the CPU's line is of a whole process, from file to output")
    } else {
        what
    };
    // Warpath's lines come first, and the CPU's before all, so that they have the same looks on every chart.
    series
        .sort_by_key(|series| (!CPU_NAMES.contains(&series.name.as_str()), !series.ours, rank(&series.name)));
    let heading = Heading {
        title: show.title.into(),
        notes: vec![what, MEDIANS.to_owned(), place_and_time(records)],
        result: of_series(show, is_component(first), &series, &ticks),
    };
    let axis = if show.log { format!("{axis}, logarithmic") } else { axis.to_owned() };
    chart::lines(
        &heading,
        &Axis { title: axis, ticks, log: show.log },
        "10⁹ bytes of input a second",
        &series,
    )
}

/// The shape of all records, or what their shapes have in common.
fn shape_of_all(records: &[&Record]) -> String {
    let shapes: BTreeSet<&str> = records.iter().map(|record| record.shape.as_str()).collect();
    match shapes.len() {
        1 => in_words(&records[0].shape),
        _ if shapes.iter().all(|shape| shape.starts_with("sized:")) => "records of one length".into(),
        _ => "records of several shapes".into(),
    }
}

/// A tool's name on a chart along an axis: without what changes along it.
fn series_name(record: &Record) -> String {
    let name = record.tool.as_str();
    if !is_component(record) {
        return tool_name(record);
    }
    match name.split_once(" levels: ").filter(|_| name.starts_with("index, ")) {
        Some((_, what)) => format!("index: {what}"),
        // The query changes along the axis of selectivity; its kernel is what is followed.
        None => match name.rsplit_once(": ").map_or(name, |(_, kernel)| kernel) {
            "query_slots" => "query: one match at most".into(),
            "query_count" => "query: numbers of matches".into(),
            "query_bounds" => "query: bounds of matches".into(),
            "query_fill" => "query: the matches".into(),
            other => other.into(),
        },
    }
}

/// Returns true if a chart along an axis shows this component.
fn is_summary(component: &str) -> bool {
    component.contains("first start to last end") || component.contains("query") || component == "copy kernel"
}

/// Times without what `--stats` calls setup.
fn after_setup(measured: &Measured) -> Option<Vec<f64>> {
    let (setup, total) = (measured.stats_ms.get("setup")?, measured.stats_ms.get("total")?);
    Some(setup.iter().zip(total).map(|(setup, total)| total - setup).collect())
}

/// The tools that users know, in the order of tables and legends: Warpath, and then its peers.
const KNOWN: [&str; 10] =
    ["warpath", "jq", "jaq", "DuckDB", "Polars", "ripgrep", "ClickHouse", "pandas", "simdjson", "simd-json"];

/// The position of a tool among others: those of [`KNOWN`], then other peers, then the limit.
fn rank(name: &str) -> usize {
    let known = KNOWN.iter().position(|known| name.starts_with(known));
    known.unwrap_or(KNOWN.len() + usize::from(name.starts_with("cat")))
}

/// The tables of a chart: one for each case where cases are compared one by one, else one of all.
fn tables(records: &[&Record]) -> String {
    let mut page = String::new();
    for (case, mut records) in cases(records) {
        let first = records[0];
        if !is_component(first) {
            records.sort_by_key(|record| rank(&record.tool));
        }
        let _ = write!(
            page,
            "\n**{case}**: `{}`, {} bytes of {}\n\n",
            first.query,
            first.bytes,
            in_words(&first.shape)
        );
        if is_component(first) {
            page += "| component | ms | GB/s of input |\n|---|---:|---:|\n";
        } else {
            page += "| tool | version | wall, ms | runs | GB/s | processor, ms | peak, MB | checked |\n|---|---|---:|---:|---:|---:|---:|---|\n";
        }
        for record in &records {
            page += &row(record);
        }
        let mut commands: Vec<&str> = records.iter().map(|record| record.command.as_str()).collect();
        commands.dedup();
        let _ = write!(
            page,
            "\n<details><summary>commands</summary>\n\n```text\n{}\n```\n\n</details>\n",
            commands.join("\n")
        );
    }
    page
}

fn row(record: &Record) -> String {
    let tool = cell(&record.tool);
    let measured = match &record.outcome {
        Outcome::NotRun { why } if is_component(record) => {
            return format!("| {tool} | not run: {} | |\n", cell(why));
        }
        Outcome::NotRun { why } => {
            return format!("| {tool} | {} | not run: {} | | | | | |\n", cell(&record.version), cell(why));
        }
        Outcome::Measured(measured) => measured,
    };
    let Some((wall, (least, most))) = median(&measured.wall_ms).zip(spread(&measured.wall_ms)) else {
        return format!("| {tool} | {} | nothing measured | | | | | |\n", cell(&record.version));
    };
    let rate = number(record.rate(wall));
    if is_component(record) {
        return format!("| {tool} | {} | {rate} |\n", number(wall));
    }
    let processor =
        [&measured.user_ms, &measured.system_ms].map(|times| number(median(times).unwrap_or_default()));
    let checked = match measured.checked {
        Checked::Values => "values",
        Checked::Count => "count",
        Checked::Nothing => "",
        Checked::ByProgram => "by the program",
    };
    format!(
        "| {tool} | {} | {} ({}–{}) | {} | {rate} | {} + {} | {} | {checked} |\n",
        cell(&record.version),
        number(wall),
        number(least),
        number(most),
        measured.wall_ms.len(),
        processor[0],
        processor[1],
        number(measured.peak_bytes as f64 / 1e6),
    )
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    text.replace('|', r"\|").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests;
