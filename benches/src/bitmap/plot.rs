//! Plots and tables of the results of `bench bitmap`: figures 7 to 10 of Nelson et al. (2019), with
//! additional measurements.
//!
//! A speed-up is of the mean time. The baseline is the pairwise reduction on a processor, on the most threads
//! that were measured unless a figure says otherwise. Figures about devices show other methods if nothing was
//! measured on a device.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::Path;
use std::{fs, iter};

use anyhow::{Context, Result};

use super::method::{Executor, Family, name};
use super::record::{Data, Results, Times};
use crate::harness::chart::{
    self, Axis, Figure, Heading, MEANS, Plot, Row, SORTED, Series, Spot, milliseconds, number,
};
use crate::harness::result::{self, Against, Line, Measure};

/// Makes the page of a folder, `README.md`, and its plots. What was written.
///
/// # Errors
/// Those of the file system.
pub fn write(results: &Results, folder: &Path) -> Result<Vec<String>> {
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut page = format!(
        "# Range queries over bitmap indexes\n\n\
         Made by `bench bitmap-plots` of result files of `bench bitmap`; `benches/README.md` says how these come about. Not to be edited.\n\n\
         Methods named *alone* unite columns that are decompressed before the timed run. The sentences above the plots count them as peers.\n\n\
         {}\n\n\
         | data | rows | attributes | columns | without a row | compressed to |\n|---|---:|---:|---:|---:|---:|\n",
        place_and_time(results)
    );
    for Data { name, rows, attributes, columns, empty, ratio, .. } in &results.data {
        let (rows, ratio) = (number(*rows as f64), number(100.0 * ratio));
        let _ = writeln!(page, "| {name} | {rows} | {attributes} | {columns} | {empty} | {ratio} % |");
    }
    let mut files = chart::write_figures(figures(results), folder, &mut page)?;
    page += "\n## All figures\n\n\
             Milliseconds: the mean, and in parentheses the least, of all runs but the first. Every result was compared with that of the rows before.\n";
    for data in &results.data {
        page += &table(results, data);
    }
    fs::write(folder.join("README.md"), page).context("README.md")?;
    files.push("README.md".into());
    Ok(files)
}

/// The plots, each with its file's name, by figure.
fn figures(results: &Results) -> Vec<Figure> {
    let of_each = |stem: &str, plot: &dyn Fn(&Of<'_>) -> Option<Plot>| -> Vec<(String, Plot)> {
        let plots = results
            .data
            .iter()
            .filter_map(|data| Some((format!("{stem}-{}.svg", data.name), plot(&Of::new(results, data)?)?)));
        plots.collect()
    };
    let of_all = |stem: &str, plot: Option<Plot>| -> Vec<(String, Plot)> {
        plot.map(|plot| (format!("{stem}.svg"), plot)).into_iter().collect()
    };
    vec![
        ("Speed-up, by threads of the baseline", of_each("figure-7", &|of| threads(of))),
        ("All methods", of_each("figure-8a", &|of| Some(methods(of)))),
        ("Beside row-oriented access", of_all("figure-8b", beside_rows(results))),
        ("Time, by columns", of_each("figure-9", &|of| columns(of))),
        ("Speed-up, by how far the data compresses", of_all("figure-10", ratios(results))),
    ]
}

fn place_and_time(results: &Results) -> String {
    chart::place_and_time(&results.machine, &results.date)
}

/// The measurements of a data set.
struct Of<'a> {
    results: &'a Results,
    data: &'a Data,
    /// Over the most columns.
    times: Vec<&'a Times>,
    /// The baseline over these, on the fewest threads first. At least one.
    baseline: Vec<(usize, &'a Times)>,
}

impl<'a> Of<'a> {
    /// Returns `None` if there is no baseline.
    fn new(results: &'a Results, data: &'a Data) -> Option<Self> {
        let all = || results.times.iter().filter(|times| times.data == data.name);
        let most = all().map(|times| times.columns).max()?;
        let times: Vec<&Times> = all().filter(|times| times.columns == most).collect();
        let mut baseline: Vec<_> =
            times.iter().filter_map(|times| Some((baseline(times)?, *times))).collect();
        baseline.sort_by_key(|(threads, _)| *threads);
        (!baseline.is_empty()).then_some(Self { results, data, times, baseline })
    }

    fn best_baseline(&self) -> (usize, &'a Times) {
        self.baseline[self.baseline.len() - 1]
    }

    /// The times to compare with the baseline: of methods on a device that has the columns. Without any,
    /// those of all other methods, each on the most threads. Beside devices there is the fastest method of
    /// the CPU.
    fn compared(&self) -> Vec<&'a Times> {
        let others = self.times.iter().copied().filter(|times| times.method != name::PAIRWISE);
        if self.times.iter().all(|times| times.place != Executor::Resident) {
            return others.filter(|times| is_widest(times, &self.times)).collect();
        }
        let resident = others.filter(|times| times.place == Executor::Resident);
        resident.chain(self.fastest_on_cpu()).collect()
    }

    /// The fastest method of the CPU, apart from the baseline, on the most threads.
    fn fastest_on_cpu(&self) -> Option<&'a Times> {
        let on_cpu = self.times.iter().copied().filter(|times| {
            matches!(times.place, Executor::Threads(_))
                && times.method != name::PAIRWISE
                && is_widest(times, &self.times)
        });
        on_cpu.min_by(|a, b| a.mean().total_cmp(&b.mean()))
    }

    fn heading(&self, title: String, what: String, marks: &str, result: String) -> Heading {
        let Data { name, rows, columns, ratio, .. } = self.data;
        let data = format!(
            "{name}: {} rows × {columns} columns, compressed to {} %; {what}",
            number(*rows as f64),
            number(100.0 * ratio)
        );
        Heading { title, notes: vec![data, marks.to_owned(), place_and_time(self.results)], result }
    }
}

/// On how many threads times are those of the baseline; none where they are of something else.
fn baseline(times: &Times) -> Option<usize> {
    match times.place {
        Executor::Threads(threads) if times.method == name::PAIRWISE => Some(threads),
        _ => None,
    }
}

/// Returns true if the same method was not measured on more threads.
fn is_widest(times: &Times, all: &[&Times]) -> bool {
    let Executor::Threads(threads) = times.place else { return true };
    !all.iter().any(|other| {
        other.method == times.method && matches!(other.place, Executor::Threads(more) if more > threads)
    })
}

/// The speed-up over `base`, with the least and the most of its runs.
fn speedup(base: &Times, of: &Times) -> Spot {
    let counted = if of.runs_ms.len() > 1 { &of.runs_ms[1..] } else { &of.runs_ms };
    let slowest = counted.iter().copied().fold(0.0, f64::max);
    Spot { value: base.mean() / of.mean(), low: base.mean() / slowest, high: base.mean() / of.least() }
}

/// The position of a method among others: Warpath's, so that its lines look the same on every plot, then
/// libraries, then the paper's.
fn rank(times: &Times) -> usize {
    match times.family {
        Family::Ours => usize::from(times.method != name::WARPATH),
        Family::Peer => 2,
        Family::Seed => 3,
    }
}

fn in_order(mut times: Vec<&Times>) -> Vec<&Times> {
    times.sort_by_key(|times| rank(times));
    times
}

/// The speed-up over the pairwise reduction.
const SPEEDUP: Measure = Measure { verb: "reaches", unit: "times the pairwise speed", least_is_best: false };

/// The sentences of a plot of lines: Warpath's own line, beside those of others.
fn of_series(measure: Measure, series: &[Series], at: &dyn Fn(f64) -> String) -> String {
    let line = |series: &Series| Line {
        name: series.name.clone(),
        points: series.points.iter().map(|(x, spot)| (*x, spot.value)).collect(),
    };
    let peers = series.iter().filter(|series| !series.ours).map(line).collect();
    match series.iter().find(|series| series.ours) {
        Some(ours) => {
            let ours = Line { name: "Warpath".into(), ..line(ours) };
            result::along(measure, &ours, &Against::Peers(peers), at)
        }
        None => "Warpath was not measured.".into(),
    }
}

/// Figure 7: speed-ups over the baseline on each number of threads.
fn threads(of: &Of<'_>) -> Option<Plot> {
    if of.baseline.len() < 2 {
        return None;
    }
    let line = |times: &&Times| Series {
        name: times.label(),
        points: of.baseline.iter().map(|(threads, base)| (*threads as f64, speedup(base, times))).collect(),
        ours: times.family == Family::Ours,
        dashed: false,
    };
    let series: Vec<Series> = in_order(of.compared()).iter().map(line).collect();
    let axis = Axis {
        title: "threads of the pairwise reduction, logarithmic".into(),
        ticks: of.baseline.iter().map(|(threads, _)| (*threads as f64, threads.to_string())).collect(),
        log: true,
    };
    let columns = of.best_baseline().1.columns;
    let title = format!("{}: speed-up over the pairwise reduction, by its threads", of.data.name);
    let on = |threads: f64| format!("on {threads} thread{}", if threads == 1.0 { "" } else { "s" });
    let result = of_series(SPEEDUP, &series, &on);
    let heading = of.heading(title, format!("union of {columns}"), MEANS, result);
    (!series.is_empty()).then(|| chart::lines(&heading, &axis, "times as fast", &series))
}

/// Figure 8A: everything, beside the baseline on the most threads.
fn methods(of: &Of<'_>) -> Plot {
    let (threads, base) = of.best_baseline();
    let shown = of.times.iter().filter(|times| baseline(times).is_none_or(|of| of == threads));
    let mut rows: Vec<Row> = shown
        .map(|times| {
            let spot = speedup(base, times);
            let note = format!("{}×, {} ms", number(spot.value), milliseconds(times.mean()));
            Row { name: times.label(), spot: Some(spot), note, ours: times.family == Family::Ours }
        })
        .collect();
    let value = |row: &Row| row.spot.map_or(0.0, |spot| spot.value);
    rows.sort_by(|a, b| value(b).total_cmp(&value(a)));
    let title = format!("{}: union of {} columns", of.data.name, base.columns);
    let ours = of.times.iter().filter(|times| times.method == name::WARPATH);
    let ours = ours
        .min_by(|a, b| a.mean().total_cmp(&b.mean()))
        .map(|times| (if times.place == Executor::Resident { "on the device" } else { "" }, times.mean()));
    let peers: Vec<(String, f64)> = of
        .times
        .iter()
        .filter(|times| times.family != Family::Ours)
        .map(|times| (times.label(), times.mean()))
        .collect();
    let result = result::of_case(result::TIME, ours.as_slice(), &peers);
    let what = format!("{} MB are united", number(base.bytes as f64 / 1e6));
    let heading = of.heading(title, what, &format!("{MEANS}{SORTED}"), result);
    chart::dots(&heading, &format!("times as fast as the pairwise reduction on {threads} threads"), &rows)
}

/// Figure 8B: methods on a device, beside the row-oriented one.
fn beside_rows(results: &Results) -> Option<Plot> {
    let mut rows = Vec::new();
    let (mut sets, mut ours, mut peers) = (Vec::new(), Vec::new(), Vec::<Line>::new());
    for data in &results.data {
        let Some(of) = Of::new(results, data) else { continue };
        let resident = |method: &str| {
            of.times.iter().copied().find(|times| times.place == Executor::Resident && times.method == method)
        };
        let Some(base) = resident(name::ROA) else { continue };
        let papers = [name::COA, name::HYBRID, name::IDEAL].into_iter().filter_map(resident);
        let x = sets.len() as f64;
        sets.push(data.name.as_str());
        for times in resident(name::WARPATH).into_iter().chain(of.fastest_on_cpu()).chain(papers) {
            let spot = speedup(base, times);
            let label = times.label();
            match peers.iter_mut().find(|line| line.name == label) {
                _ if times.method == name::WARPATH => ours.push((x, spot.value)),
                _ if times.family == Family::Ours => {}
                Some(line) => line.points.push((x, spot.value)),
                None => peers.push(Line { name: label, points: vec![(x, spot.value)] }),
            }
            let note = format!("{:+.1} %, {} ms", 100.0 * (spot.value - 1.0), milliseconds(times.mean()));
            let name = format!("{}: {}", data.name, times.label());
            rows.push(Row { name, spot: Some(spot), note, ours: times.family == Family::Ours });
        }
    }
    const OVER_ROWS: Measure = Measure { verb: "is", unit: "times as fast as roa", least_is_best: false };
    let result = if ours.is_empty() {
        "Warpath was not measured.".into()
    } else {
        let ours = Line { name: "Warpath".into(), points: ours };
        let at = |x: f64| format!("for {}", sets[x as usize]);
        result::along(OVER_ROWS, &ours, &Against::Peers(peers), &at)
    };
    let heading = Heading {
        result,
        title: "Methods on a device, beside row-oriented access".into(),
        notes: vec![
            "the columns are on the device; % faster than roa".into(),
            MEANS.to_owned(),
            place_and_time(results),
        ],
    };
    (!rows.is_empty()).then(|| chart::dots(&heading, "times as fast as roa", &rows))
}

/// Figure 9: times by number of columns.
fn columns(of: &Of<'_>) -> Option<Plot> {
    let mut shown: Vec<&Times> = vec![of.best_baseline().1];
    let others = of.times.iter().copied().filter(|times| {
        is_widest(times, &of.times)
            && times.place != Executor::Copied
            && ![name::PAIRWISE, name::ITERATIVE, name::COA, name::ROA, name::HYBRID]
                .contains(&times.method.as_str())
    });
    shown.extend(others);
    let all = |times: &Times| -> Vec<(f64, Spot)> {
        let same = |other: &&Times| {
            (&other.data, &other.method, other.place) == (&times.data, &times.method, times.place)
        };
        let spot = |times: &Times| {
            let counted = if times.runs_ms.len() > 1 { &times.runs_ms[1..] } else { &times.runs_ms };
            let high = counted.iter().copied().fold(0.0, f64::max);
            (times.columns as f64, Spot { value: times.mean(), low: times.least(), high })
        };
        let mut points: Vec<_> = of.results.times.iter().filter(same).map(spot).collect();
        points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        points
    };
    let line = |times: &&Times| Series {
        name: times.label(),
        points: all(times),
        ours: times.family == Family::Ours,
        dashed: false,
    };
    let series: Vec<Series> = in_order(shown).iter().map(line).collect();
    let places: BTreeSet<usize> =
        series.iter().flat_map(|series| &series.points).map(|(columns, _)| *columns as usize).collect();
    if places.len() < 2 {
        return None;
    }
    let axis = Axis {
        title: "columns, logarithmic".into(),
        ticks: places.iter().map(|columns| (*columns as f64, columns.to_string())).collect(),
        log: true,
    };
    let title = format!("{}: time of a union, by its columns", of.data.name);
    let result = of_series(result::TIME, &series, &|columns| format!("for {columns} columns"));
    Some(chart::lines(&of.heading(title, "mean times".into(), MEANS, result), &axis, "milliseconds", &series))
}

/// Figure 10: the mean of the speed-ups over the baseline on each number of threads, by the compression ratio
/// of a set.
fn ratios(results: &Results) -> Option<Plot> {
    let mut sets: Vec<Of<'_>> = results.data.iter().filter_map(|data| Of::new(results, data)).collect();
    sets.sort_by(|a, b| a.data.ratio.total_cmp(&b.data.ratio));
    if sets.len() < 2 {
        return None;
    }
    let mut series: Vec<Series> = Vec::new();
    for of in &sets {
        for times in in_order(of.compared()) {
            let spots: Vec<Spot> = of.baseline.iter().map(|(_, base)| speedup(base, times)).collect();
            let mean = |part: fn(&Spot) -> f64| spots.iter().map(part).sum::<f64>() / spots.len() as f64;
            let spot = Spot {
                value: mean(|spot| spot.value),
                low: mean(|spot| spot.low),
                high: mean(|spot| spot.high),
            };
            let (name, point) = (times.label(), (of.data.ratio, spot));
            match series.iter_mut().find(|series| series.name == name) {
                Some(series) => series.points.push(point),
                None => {
                    series.push(Series {
                        name,
                        points: vec![point],
                        ours: times.family == Family::Ours,
                        dashed: false,
                    });
                }
            }
        }
    }
    let tick = |of: &Of<'_>| (of.data.ratio, format!("{} {} %", of.data.name, number(100.0 * of.data.ratio)));
    let axis = Axis {
        title: "compressed to, of all bits, logarithmic".into(),
        ticks: sets.iter().map(tick).collect(),
        log: true,
    };
    let threads: Vec<String> = sets[0].baseline.iter().map(|(threads, _)| threads.to_string()).collect();
    let at = |ratio: f64| {
        let of = sets.iter().find(|of| of.data.ratio == ratio);
        format!("for {}", of.map_or("", |of| &of.data.name))
    };
    let heading = Heading {
        result: of_series(SPEEDUP, &series, &at),
        title: "Speed-up over the pairwise reduction, by how far the data compresses".into(),
        notes: vec![
            format!("union of the most columns; mean of the speed-ups over {} threads", threads.join(", ")),
            MEANS.to_owned(),
            place_and_time(results),
        ],
    };
    (!series.is_empty()).then(|| chart::lines(&heading, &axis, "times as fast", &series))
}

/// All methods over a data set, by columns.
fn table(results: &Results, data: &Data) -> String {
    let all: Vec<&Times> = results.times.iter().filter(|times| times.data == data.name).collect();
    let columns: BTreeSet<usize> = all.iter().map(|times| times.columns).collect();
    if columns.is_empty() {
        return String::new();
    }
    // Over the most columns everything was measured.
    let mut labels: Vec<String> = Vec::new();
    let from_the_most =
        columns.iter().rev().flat_map(|count| all.iter().copied().filter(|times| times.columns == *count));
    for times in in_order(from_the_most.collect()) {
        if !labels.contains(&times.label()) {
            labels.push(times.label());
        }
    }
    let head: Vec<String> =
        iter::once("method".into()).chain(columns.iter().map(|count| format!("{count} columns"))).collect();
    let rows = labels.iter().map(|label| {
        let cell = |count: &usize| {
            let times = all.iter().find(|times| times.columns == *count && times.label() == *label);
            times
                .map(|times| format!("{} ({})", milliseconds(times.mean()), milliseconds(times.least())))
                .unwrap_or_default()
        };
        iter::once(label.clone()).chain(columns.iter().map(cell)).collect()
    });
    format!("\n### {}\n\n{}", data.name, chart::table(&head, rows))
}

#[cfg(test)]
mod tests {
    use super::super::record::tests::times;
    use super::*;

    fn sample(device: bool) -> Results {
        let mut results = Results {
            machine: "A <machine>".into(),
            date: "2026-11-22T01:02:03Z".into(),
            ..Results::default()
        };
        for (name, ratio) in [("kdd", 0.009), ("linkage", 0.63), ("zipf", 0.87)] {
            let (rows, attributes, columns) = (1_000_000, 10, 100);
            results.data.push(Data {
                name: name.into(),
                rows,
                attributes,
                columns,
                empty: 2,
                ratio,
                seed: 1,
            });
            for columns in [4, 64] {
                let ms = columns as f64 * ratio;
                for threads in [1, 2, 16] {
                    let place = Executor::Threads(threads);
                    results.times.push(times(name, columns, name::PAIRWISE, place, ms / threads as f64));
                }
                for threads in [1, 16] {
                    let place = Executor::Threads(threads);
                    results.times.push(times(name, columns, "croaring", place, ms / 2.0 / threads as f64));
                }
                if !device {
                    continue;
                }
                for (at, method) in [name::ROA, name::COA, name::HYBRID, name::IDEAL].into_iter().enumerate()
                {
                    let ms = ms / (100.0 + at as f64);
                    results.times.push(times(name, columns, method, Executor::Resident, ms));
                    results.times.push(times(name, columns, method, Executor::Copied, 10.0 * ms));
                }
                let ours = times(name, columns, name::WARPATH, Executor::Resident, 0.001);
                results.times.push(Times { family: Family::Ours, ..ours });
            }
        }
        results
    }

    #[test]
    fn all_figures_are_drawn_and_on_the_page() {
        for device in [true, false] {
            let (folder, results) = (tempfile::tempdir().unwrap(), sample(device));
            let files = write(&results, folder.path()).unwrap();
            let mut wanted = Vec::new();
            for stem in ["figure-7", "figure-8a", "figure-8b", "figure-9"] {
                if stem == "figure-8b" {
                    wanted.extend(device.then(|| "figure-8b.svg".to_owned()));
                } else {
                    wanted.extend(["kdd", "linkage", "zipf"].map(|data| format!("{stem}-{data}.svg")));
                }
            }
            wanted.extend(["figure-10.svg".into(), "README.md".into()]);
            assert_eq!(files, wanted);
            let page = fs::read_to_string(folder.path().join("README.md")).unwrap();
            chart::tests::check_plots(folder.path(), &files, "A <machine>. 2026-11-22.");
            assert!(page.contains("| kdd | 1\u{2009}000\u{2009}000 | 10 | 100 | 2 | 0.90 % |"), "{page}");
            assert!(page.contains("| croaring, 16 threads | 0.0788 (0.0788) | 1.26 (1.26) |"), "{page}");
        }
    }

    #[test]
    fn speed_ups_are_of_the_baseline_and_of_devices_where_there_are_some() {
        let results = sample(true);
        let of = Of::new(&results, &results.data[2]).unwrap();
        let compared: Vec<&str> = of.compared().iter().map(|times| times.method.as_str()).collect();
        assert_eq!(compared, [name::ROA, name::COA, name::HYBRID, name::IDEAL, name::WARPATH, "croaring"]);
        assert_eq!(of.best_baseline().0, 16);
        assert!((speedup(of.baseline[0].1, of.compared()[0]).value - 100.0).abs() < 1e-9);
        let results = sample(false);
        let of = Of::new(&results, &results.data[2]).unwrap();
        let compared: Vec<String> = of.compared().iter().map(|times| times.label()).collect();
        assert_eq!(compared, ["croaring, 16 threads"]);
    }

    #[test]
    fn sentences_are_of_warpath_and_the_best_other_method() {
        let of = |results: &Results| -> Vec<String> {
            let plots = figures(results).into_iter().flat_map(|(_, plots)| plots);
            plots.filter(|(file, _)| !file.contains("linkage")).map(|(_, plot)| plot.result).collect()
        };
        let said = of(&sample(true));
        // The reductions of the sample take milliseconds by columns, and Warpath 0.001 ms.
        assert_eq!(
            said[0],
            "Warpath reaches 576 times the pairwise speed on 1 thread and 36.0 on 16 threads; the best peer, \
             ideal hybrid, 103 and 6.44. Warpath leads at all 3 points, by a factor of 5.59."
        );
        assert_eq!(
            said[2],
            "Warpath takes 0.0010 ms on the device; the best peer, ideal hybrid, 0.0056. \
             Warpath leads by a factor of 5.59."
        );
        let mut results = sample(true);
        for times in results.times.iter_mut().filter(|times| times.family == Family::Ours) {
            times.runs_ms = vec![1.0, 1.0];
        }
        assert!(of(&results)[2].ends_with("The peer leads by a factor of 179."), "{:?}", of(&results)[2]);
        assert_eq!(of(&sample(false))[0], "Warpath was not measured.");
    }

    #[test]
    fn the_published_page_is_that_of_the_results() {
        chart::tests::check_published("bitmap", |kept, made| {
            write(&Results::load(&[kept.join("bitmap.json")]).unwrap(), made).unwrap()
        });
    }

    #[test]
    fn nothing_measured_is_an_empty_page() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(write(&Results::default(), folder.path()).unwrap(), ["README.md"]);
    }
}
