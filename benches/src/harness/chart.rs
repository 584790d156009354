//! Plots, as SVG, and pages with them.
//!
//! There are two kinds of plots: [`dots`] compares tools in one case, and [`lines`] follows tools along an
//! axis. They are drawn here and not by a plotting crate. Half of the features that make them readable would
//! have to be drawn by hand on top of a crate's plot. These are names beside the last point, numbers beside
//! each row, and ticks only at measured values.
//!
//! Each colour has a second one for dark pages. The elements carry the light colour as an attribute, and a
//! style sheet in the plot replaces it where the reader prefers dark pages. The ground is opaque, so that a
//! viewer without style sheets also shows a readable plot. The hues are those of Okabe and Ito, which people
//! with any colour vision can distinguish. Each line also has a mark of its own.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

/// Colours for data, Warpath's first.
const PALETTE: [&str; 8] =
    ["#0072B2", "#D55E00", "#00875F", "#B5578C", "#B07800", "#2E8FC9", "#7A5195", "#4D4D4D"];

/// The ground.
const GROUND: &str = "#FBFBF9";
/// Titles and names.
const INK: &str = "#1F2328";
/// Everything said beside.
const FAINT: &str = "#59636E";
/// Lines of the grid.
const GRID: &str = "#DFE3E8";
/// Marks of tools that are shown for comparison.
const PEER: &str = "#76808B";
/// The ground below Warpath's rows.
const BAND: &str = "#E8F1F8";

/// Every colour, and the one that replaces it on a dark page.
const DARK: [(&str, &str); 14] = [
    (PALETTE[0], "#58B0F0"),
    (PALETTE[1], "#FF8A3D"),
    (PALETTE[2], "#2FC795"),
    (PALETTE[3], "#E59AC6"),
    (PALETTE[4], "#EDB443"),
    (PALETTE[5], "#9ADBFF"),
    (PALETTE[6], "#BE9BEA"),
    (PALETTE[7], "#C9CDD2"),
    (GROUND, "#151B23"),
    (INK, "#E6EDF3"),
    (FAINT, "#9DA7B3"),
    (GRID, "#3A424C"),
    (PEER, "#8B949E"),
    (BAND, "#16304A"),
];

/// The meaning of marks and whiskers, for plots of medians.
pub const MEDIANS: &str =
    "A mark is the median of all runs; the line through it goes from the least to the most.";
/// The meaning of marks and whiskers, for plots of means.
pub const MEANS: &str =
    "A mark is the mean of all runs; the line through it goes from the least to the most.";

/// The order of rows that are not in the order of peers.
pub const SORTED: &str = " Rows are in the order of their values.";

/// The text at the top of a plot, and above it.
#[derive(Clone, Debug, Default)]
pub struct Heading {
    /// The quantity in the plot.
    pub title: String,
    /// The data, the machine, and the day.
    pub notes: Vec<String>,
    /// The sentence of result, for the page.
    pub result: String,
}

/// A drawing, and its text on a page.
#[derive(Clone, Debug)]
pub struct Plot {
    /// The document, in SVG.
    pub svg: String,
    /// The content of the drawing in words, for readers who do not see it.
    pub alternative: String,
    /// The sentence of result.
    pub result: String,
}

impl Plot {
    fn new(svg: Svg, heading: &Heading, content: &str) -> Self {
        Self {
            svg: svg.finish(heading),
            alternative: format!("{}. {content}.", heading.title),
            result: heading.result.clone(),
        }
    }

    /// The paragraphs of a page that show the plot in a file.
    pub fn paragraphs(&self, file: &str) -> String {
        let [result, alternative] = [&self.result, &self.alternative].map(|text| in_markdown(text));
        format!("\n{result}\n\n![{alternative}]({file})\n")
    }
}

/// Text whose characters have no meaning of their own in Markdown.
fn in_markdown(text: &str) -> String {
    let mut all = String::new();
    for char in text.chars() {
        if "*[]<`\\".contains(char) {
            all.push('\\');
        }
        all.push(char);
    }
    all
}

impl Heading {
    fn height(&self) -> f64 {
        44.0 + 16.0 * self.notes.len() as f64
    }
}

/// A value with its spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spot {
    /// The median.
    pub value: f64,
    /// The least.
    pub low: f64,
    /// The most.
    pub high: f64,
}

/// A number in three digits or so.
pub fn number(value: f64) -> String {
    match value.abs() {
        0.0 => "0".into(),
        size if size >= 100.0 => thousands(value.round() as i64),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 0.1 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A time, with a digit more than other numbers where it is a device's.
pub fn milliseconds(value: f64) -> String {
    if value < 0.1 { format!("{value:.4}") } else { number(value) }
}

/// A whole number with a thin space between thousands.
pub fn thousands(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

/// A figure: its title, and the names and contents of its plots.
pub type Figure = (&'static str, Vec<(String, Plot)>);

/// Writes the plots of figures to a folder, and adds them to a page. Returns the names of the files. Figures
/// without plots are left out.
///
/// # Errors
/// Errors of the file system.
pub fn write_figures(figures: Vec<Figure>, folder: &Path, page: &mut String) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for (title, plots) in figures.into_iter().filter(|(_, plots)| !plots.is_empty()) {
        let _ = write!(page, "\n## {title}\n");
        for (file, plot) in plots {
            *page += &plot.paragraphs(&file);
            fs::write(folder.join(&file), plot.svg).with_context(|| file.clone())?;
            files.push(file);
        }
    }
    Ok(files)
}

/// A table in Markdown: the names of its columns, the first of them to the left, and its rows.
pub fn table(columns: &[String], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rule = format!("|---|{}\n", "---:|".repeat(columns.len() - 1));
    // The first column may be without a name.
    let head = line(columns).replacen("|  |", "| |", 1);
    rows.into_iter().fold(head + &rule, |table, row| table + &line(&row))
}

/// A machine and a day in words, of a date and a time.
pub fn place_and_time(machine: &str, date: &str) -> String {
    format!("{machine}. {}.", date.split('T').next().unwrap_or_default())
}

/// A row.
#[derive(Clone, Debug)]
pub struct Row {
    /// The tool.
    pub name: String,
    /// The position of its dot; `None` if it was not measured.
    pub spot: Option<Spot>,
    /// The text at its right.
    pub note: String,
    /// True for Warpath, the subject of the chart.
    pub ours: bool,
}

/// Draws rows in the order given, over an axis in `unit`: a dot at the median, a line from the least to the
/// most.
pub fn dots(heading: &Heading, unit: &str, rows: &[Row]) -> Plot {
    // The plot is between names and notes. A character of a name, bold or not, is no wider on average.
    const PLOT: f64 = 430.0;
    const NOTES: f64 = 240.0;
    const CHARACTER: f64 = 7.0;
    const ROW: f64 = 22.0;
    let longest = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let left = (longest as f64 * CHARACTER + 32.0).max(190.0);
    let width = left + PLOT + NOTES;
    let top = heading.height() + 8.0;
    let bottom = top + ROW * rows.len() as f64;
    let mut svg = Svg::new(width, bottom + 48.0, heading);
    let spots = rows.iter().filter_map(|row| row.spot);
    let scale = Scale::over(spots.flat_map(|spot| [spot.low, spot.high]), left, left + PLOT);
    for (at, _) in rows.iter().enumerate().filter(|(_, row)| row.ours) {
        svg.band(12.0, top + ROW * at as f64, width - 24.0, ROW, BAND);
    }
    for value in scale.ticks() {
        let x = scale.place(value);
        svg.line((x, top), (x, bottom), GRID, 1.0);
        svg.text(x, bottom + 16.0, &tick(value), Text { anchor: "middle", ..SMALL });
    }
    let faint = Text { colour: FAINT, anchor: "middle", ..PLAIN };
    svg.text(left + PLOT / 2.0, bottom + 36.0, &scale.title(unit), faint);
    for (at, Row { name, spot, note, ours }) in rows.iter().enumerate() {
        let y = top + ROW * (at as f64 + 0.5);
        let colour = if *ours { PALETTE[0] } else { PEER };
        let ink = if spot.is_some() { INK } else { FAINT };
        svg.text(left - 12.0, y + 4.0, name, Text { bold: *ours, colour: ink, anchor: "end", ..PLAIN });
        let style = if *ours { Text { colour: INK, ..SMALL } } else { SMALL };
        let Some(spot) = spot else {
            svg.text(left + 4.0, y + 4.0, note, style);
            continue;
        };
        svg.line((scale.place(spot.low), y), (scale.place(spot.high), y), colour, 2.0);
        svg.mark((scale.place(spot.value), y), Mark::Disc, 5.0, colour);
        svg.text(left + PLOT + 14.0, y + 4.0, note, style);
    }
    let count = if rows.len() == 1 { "1 row".to_owned() } else { format!("{} rows", rows.len()) };
    Plot::new(svg, heading, &format!("{count}; values: {unit}"))
}

/// A line.
#[derive(Clone, Debug)]
pub struct Series {
    /// The tool.
    pub name: String,
    /// Its points, as (position on the axis, value).
    pub points: Vec<(f64, Spot)>,
    /// Drawn stronger than the rest.
    pub ours: bool,
    /// Drawn in dashes, so that a line of nearly the same values is seen below it.
    pub dashed: bool,
}

/// The axis at the bottom.
#[derive(Clone, Debug)]
pub struct Axis {
    /// The title, with its unit.
    pub title: String,
    /// Positions and their names.
    pub ticks: Vec<(f64, String)>,
    /// True if equal ratios have equal distances.
    pub log: bool,
}

/// The ratio of two positions, on a logarithmic axis, from which no line connects them: nothing is known of
/// the values between.
const FAR: f64 = 1000.0;
/// Names are at least so far from each other.
const APART: f64 = 15.0;

/// Draws a line for each tool over an axis, with values in `unit`. Its name is beside its last point.
pub fn lines(heading: &Heading, axis: &Axis, unit: &str, series: &[Series]) -> Plot {
    const WIDTH: f64 = 900.0;
    const PLOT: f64 = 320.0;
    const LEFT: f64 = 64.0;
    const NAMES: f64 = 250.0;
    // The approximate width of a letter in the name of a position.
    const LETTER: f64 = 6.5;
    let top = heading.height() + 14.0;
    let bottom = top + PLOT;
    let mut svg = Svg::new(WIDTH, bottom + 62.0, heading);
    let (left, right) = (LEFT + 16.0, WIDTH - NAMES);
    let spots = series.iter().flat_map(|series| &series.points).map(|(_, spot)| spot);
    let y = Scale::over(spots.flat_map(|spot| [spot.low, spot.high]), bottom, top);
    let low = axis.ticks.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let high = axis.ticks.iter().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
    let (low, high, log) = if low == high { (low - 1.0, high + 1.0, false) } else { (low, high, axis.log) };
    let x = Scale { low, high, log, from: left, to: right - 16.0 };
    for value in y.ticks() {
        let at = y.place(value);
        svg.line((LEFT, at), (right, at), GRID, 1.0);
        svg.text(LEFT - 8.0, at + 4.0, &tick(value), Text { anchor: "end", ..SMALL });
    }
    let faint = Text { colour: FAINT, anchor: "middle", ..PLAIN };
    // A name that would touch the one before it is set lower.
    let (mut end, mut lower) = (f64::NEG_INFINITY, false);
    for (value, name) in &axis.ticks {
        let at = x.place(*value);
        let half = name.len() as f64 * LETTER / 2.0;
        lower = at - half < end && !lower;
        end = at + half + LETTER;
        svg.line((at, bottom), (at, bottom + 5.0), FAINT, 1.0);
        let row = if lower { bottom + 31.0 } else { bottom + 18.0 };
        svg.text(at, row, name, Text { size: 11.0, ..faint });
    }
    svg.line((LEFT, bottom), (right, bottom), FAINT, 1.0);
    svg.text((LEFT + right) / 2.0, bottom + 48.0, &axis.title, faint);
    svg.text(18.0, (top + bottom) / 2.0, &y.title(unit), Text { upward: true, ..faint });

    // The strong lines last, on top of the others.
    let mut order: Vec<usize> = (0..series.len()).collect();
    order.sort_by_key(|at| series[*at].ours);
    for at in order {
        let Series { points, ours, dashed, .. } = &series[at];
        let (colour, mark) = look(at);
        let place = |(value, spot): &(f64, Spot)| (x.place(*value), y.place(spot.value));
        for near in points.chunk_by(|(a, _), (b, _)| !axis.log || b / a < FAR) {
            let places: Vec<(f64, f64)> = near.iter().map(place).collect();
            if places.len() > 1 {
                svg.path(&places, colour, if *ours { 2.5 } else { 1.5 }, *dashed);
            }
        }
        for point in points {
            let (at, (_, spot)) = (place(point), point);
            svg.line((at.0, y.place(spot.low)), (at.0, y.place(spot.high)), colour, 1.0);
            svg.mark(at, mark, 4.0, colour);
        }
    }
    let ends =
        series.iter().map(|series| series.points.last().map_or(bottom, |(_, spot)| y.place(spot.value)));
    for (at, place) in spread_out(&ends.collect::<Vec<_>>(), top, bottom).into_iter().enumerate() {
        let Series { name, points, ours, .. } = &series[at];
        let Some((value, spot)) = points.last() else { continue };
        let (colour, mark) = look(at);
        let end = (x.place(*value) + 7.0, y.place(spot.value));
        svg.line(end, (right + 14.0, place), GRID, 1.0);
        svg.mark((right + 20.0, place), mark, 4.0, colour);
        svg.text(right + 30.0, place + 4.0, name, Text { bold: *ours, ..PLAIN });
    }
    let count = if series.len() == 1 { "1 line".to_owned() } else { format!("{} lines", series.len()) };
    let over = axis.title.trim_end_matches(", logarithmic");
    Plot::new(svg, heading, &format!("{count}, by {over}; values: {unit}"))
}

/// The colour and the mark of a line.
fn look(at: usize) -> (&'static str, Mark) {
    (PALETTE[at % PALETTE.len()], Mark::ALL[(at + at / PALETTE.len()) % Mark::ALL.len()])
}

/// Returns positions as near as possible to the wanted ones, in the same order, but apart.
fn spread_out(wanted: &[f64], top: f64, bottom: f64) -> Vec<f64> {
    let mut order: Vec<usize> = (0..wanted.len()).collect();
    order.sort_by(|a, b| wanted[*a].total_cmp(&wanted[*b]));
    let mut places = wanted.to_vec();
    let mut least = top;
    for at in &order {
        places[*at] = places[*at].max(least);
        least = places[*at] + APART;
    }
    let mut most = bottom.max(top + APART * wanted.len().saturating_sub(1) as f64);
    for at in order.iter().rev() {
        places[*at] = places[*at].min(most);
        most = places[*at] - APART;
    }
    places
}

/// An axis: values from `low` to `high`, along a range of units of a drawing.
#[derive(Clone, Copy, Debug)]
struct Scale {
    low: f64,
    high: f64,
    log: bool,
    from: f64,
    to: f64,
}

/// Values that spread further than this are shown on a logarithmic axis.
const WIDE: f64 = 12.0;

impl Scale {
    /// An axis with a position for all (positive) values: from 0, or logarithmic if they spread widely.
    fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let high = values.clone().fold(f64::MIN_POSITIVE, f64::max);
        let low = values.fold(high, f64::min).max(high * 1e-9);
        let log = high / low > WIDE;
        let (low, high) = if log { (low / 1.15, high * 1.15) } else { (0.0, high * 1.06) };
        Self { low, high, log, from, to }
    }

    /// The title of the axis, of values in a unit.
    fn title(&self, unit: &str) -> String {
        if self.log { format!("{unit}, logarithmic") } else { unit.to_owned() }
    }

    fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Round values to be named beside the axis.
    fn ticks(&self) -> Vec<f64> {
        if self.log {
            let decades = (self.high / self.low).log10();
            let steps: &[f64] = if decades > 3.0 { &[1.0] } else { &[1.0, 2.0, 5.0] };
            let (first, last) = (self.low.log10().floor() as i32, self.high.log10().ceil() as i32);
            let all =
                (first..=last).flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)));
            return all.filter(|tick| (self.low..=self.high).contains(tick)).collect();
        }
        let rough = (self.high - self.low) / 5.0;
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 2.5, 5.0, 10.0]
            .into_iter()
            .map(|step| step * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let count = ((self.high - self.low) / step).floor() as usize;
        (0..=count).map(|at| self.low + at as f64 * step).collect()
    }
}

/// A tick's name.
fn tick(value: f64) -> String {
    if value >= 1000.0 {
        return thousands(value.round() as i64);
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A drawing that grows.
struct Svg {
    width: f64,
    height: f64,
    body: String,
}

/// The style of a text.
#[derive(Clone, Copy)]
struct Text {
    size: f64,
    bold: bool,
    colour: &'static str,
    /// `start`, `middle` or `end`: which of its points is given.
    anchor: &'static str,
    /// Turned to be read from below.
    upward: bool,
}

const PLAIN: Text = Text { size: 12.0, bold: false, colour: INK, anchor: "start", upward: false };
const SMALL: Text = Text { size: 11.0, colour: FAINT, ..PLAIN };

/// The mark of a point. Marks are distinguishable without their colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    Disc,
    Square,
    Diamond,
    Triangle,
}

impl Mark {
    const ALL: [Mark; 4] = [Mark::Disc, Mark::Square, Mark::Diamond, Mark::Triangle];
}

impl Svg {
    /// A drawing with its heading.
    fn new(width: f64, height: f64, heading: &Heading) -> Self {
        let mut svg = Self { width, height, body: String::new() };
        svg.text(20.0, 30.0, &heading.title, Text { size: 16.0, bold: true, ..PLAIN });
        for (at, note) in heading.notes.iter().enumerate() {
            svg.text(20.0, 50.0 + 16.0 * at as f64, note, Text { colour: FAINT, ..PLAIN });
        }
        svg
    }

    fn text(&mut self, x: f64, y: f64, text: &str, how: Text) {
        let Text { size, bold, colour, anchor, upward } = how;
        let weight = if bold { " font-weight=\"600\"" } else { "" };
        let turn = if upward { format!(" transform=\"rotate(-90 {x:.1} {y:.1})\"") } else { String::new() };
        let text = escaped(text);
        self.put(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{size}\" fill=\"{colour}\" text-anchor=\"{anchor}\"{weight}{turn}>{text}</text>"
        ));
    }

    fn line(&mut self, from: (f64, f64), to: (f64, f64), colour: &str, width: f64) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.put(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{colour}\" stroke-width=\"{width}\"/>"
        ));
    }

    /// Draws lines from point to point, in dashes if `dashed` is true.
    fn path(&mut self, points: &[(f64, f64)], colour: &str, width: f64, dashed: bool) {
        let points: Vec<String> = points.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        let dashes = if dashed { " stroke-dasharray=\"6 6\"" } else { "" };
        self.put(format_args!(
            "<polyline points=\"{points}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dashes}/>"
        ));
    }

    fn band(&mut self, x: f64, y: f64, width: f64, height: f64, colour: &str) {
        self.put(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{colour}\"/>"
        ));
    }

    fn mark(&mut self, (x, y): (f64, f64), mark: Mark, size: f64, colour: &str) {
        let style = format!("fill=\"{colour}\" stroke=\"{GROUND}\" stroke-width=\"1\"");
        let polygon = |corners: &[(f64, f64)]| {
            let corner = |(dx, dy): &(f64, f64)| format!("{:.1},{:.1}", x + dx * size, y + dy * size);
            format!(
                "<polygon points=\"{}\" {style}/>",
                corners.iter().map(corner).collect::<Vec<_>>().join(" ")
            )
        };
        let element = match mark {
            Mark::Disc => format!("<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{size:.1}\" {style}/>"),
            Mark::Square => polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
            Mark::Diamond => polygon(&[(0.0, -1.3), (1.3, 0.0), (0.0, 1.3), (-1.3, 0.0)]),
            Mark::Triangle => polygon(&[(0.0, -1.2), (1.1, 0.9), (-1.1, 0.9)]),
        };
        self.put(format_args!("{element}"));
    }

    fn put(&mut self, element: std::fmt::Arguments) {
        // A string takes everything.
        let _ = writeln!(self.body, "{element}");
    }

    /// The document. Its title and its description are for readers who do not see it.
    fn finish(self, heading: &Heading) -> String {
        let Self { width, height, body } = self;
        let [title, result] = [&heading.title, &heading.result].map(|text| escaped(text));
        let style = dark_rules();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\" \
             font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\" role=\"img\">\n\
             <title>{title}</title>\n\
             <desc>{result}</desc>\n\
             <style>\n{style}</style>\n\
             <rect width=\"{width:.0}\" height=\"{height:.0}\" rx=\"6\" fill=\"{GROUND}\"/>\n{body}</svg>\n"
        )
    }
}

/// The style sheet that replaces all colours on a dark page.
fn dark_rules() -> String {
    let rule =
        |(light, dark)| format!("[fill=\"{light}\"]{{fill:{dark}}}[stroke=\"{light}\"]{{stroke:{dark}}}\n");
    let rules: String = DARK.into_iter().map(rule).collect();
    format!("@media (prefers-color-scheme:dark){{\n{rules}}}\n")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::super::result;
    use super::*;

    /// Checks that a page shows all plots among the files beside it, each with words and after a sentence of
    /// result.
    fn check_page(folder: &Path, files: &[String]) {
        let page = fs::read_to_string(folder.join("README.md")).unwrap();
        let paragraphs: Vec<&str> = page.split("\n\n").collect();
        for file in files.iter().filter(|file| file.ends_with(".svg")) {
            let end = format!("]({file})");
            let at = paragraphs.iter().position(|text| text.trim_end().ends_with(&end)).expect(file);
            let alternative = paragraphs[at].trim_end().strip_suffix(&end).unwrap();
            assert!(alternative.split_whitespace().count() >= 4, "{alternative}");
            assert!(!alternative.contains(file.trim_end_matches(".svg")), "{alternative}");
            result::tests::check_sentences(&paragraphs[at - 1].replace('\\', ""));
        }
    }

    /// Checks a page and its plots: each of them has a text, and its colours for dark pages.
    pub(crate) fn check_plots(folder: &Path, files: &[String], text: &str) {
        check_page(folder, files);
        for file in files.iter().filter(|file| file.ends_with(".svg")) {
            let plot = fs::read_to_string(folder.join(file)).unwrap();
            let plot = roxmltree::Document::parse(&plot).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(plot.descendants().any(|node| node.text() == Some(text)), "{file}");
            check_themes(&plot);
        }
    }

    /// Checks that the files in a folder of `docs/bench` are those that the results beside them give. The
    /// same command that the pages name makes them again.
    pub(crate) fn check_published(folder: &str, write: impl FnOnce(&Path, &Path) -> Vec<String>) {
        let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bench").join(folder);
        let made = tempfile::tempdir().unwrap();
        let files = write(&kept, made.path());
        assert!(files.iter().filter(|file| file.ends_with(".svg")).count() > 10, "{files:?}");
        check_page(made.path(), &files);
        for file in files {
            let [kept, made] = [&kept, made.path()].map(|folder| fs::read_to_string(folder.join(&file)));
            assert!(kept.unwrap() == made.unwrap(), "docs/bench/{folder}/{file} is not of these results");
        }
    }

    /// Checks that a drawing replaces each of its colours where the reader prefers dark pages.
    fn check_themes(plot: &roxmltree::Document) {
        let style = plot.descendants().find(|node| node.has_tag_name("style")).unwrap().text().unwrap();
        let (media, rules) = style.trim().split_once('{').unwrap();
        assert_eq!(media, "@media (prefers-color-scheme:dark)");
        let mut replaced = 0;
        for node in plot.descendants() {
            for property in ["fill", "stroke"] {
                let Some(light) = node.attribute(property).filter(|value| *value != "none") else { continue };
                let selector = format!("[{property}=\"{light}\"]{{{property}:#");
                let dark = rules.split_once(&selector).unwrap_or_else(|| panic!("{selector}: {rules}")).1;
                assert_ne!(&light[1..], &dark[..6]);
                replaced += 1;
            }
        }
        assert!(replaced > 10, "{replaced} colours");
    }

    #[test]
    fn every_published_plot_has_both_themes() {
        let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/bench")];
        let mut plots = 0;
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else if path.extension().is_some_and(|extension| extension == "svg") {
                    let text = fs::read_to_string(&path).unwrap();
                    check_themes(&roxmltree::Document::parse(&text).unwrap());
                    plots += 1;
                }
            }
        }
        assert!(plots > 60, "{plots} plots");
    }

    /// The ratio of contrast between two colours, as the Web Content Accessibility Guidelines define it.
    fn contrast(one: &str, other: &str) -> f64 {
        let luminance = |colour: &str| {
            let part = |at: usize| {
                let value = f64::from(u8::from_str_radix(&colour[at..at + 2], 16).unwrap()) / 255.0;
                if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
            };
            0.2126 * part(1) + 0.7152 * part(3) + 0.0722 * part(5)
        };
        let (one, other) = (luminance(one), luminance(other));
        (one.max(other) + 0.05) / (one.min(other) + 0.05)
    }

    #[test]
    fn contrasts_are_those_of_the_guidelines() {
        assert!((contrast("#000000", "#FFFFFF") - 21.0).abs() < 1e-9);
        assert!((contrast("#777777", "#FFFFFF") - 4.48).abs() < 0.01);
    }

    /// Text needs a contrast of 4.5, and marks and lines one of 3. Lines of the grid are fainter.
    #[test]
    fn everything_is_readable_on_light_and_dark_pages() {
        let dark = |light: &str| DARK.into_iter().find(|(from, _)| *from == light).unwrap().1;
        let same = |light: &'static str| light;
        let themes: [&dyn Fn(&'static str) -> &'static str; 2] = [&same, &dark];
        for theme in themes {
            for ground in [GROUND, BAND] {
                let against = |colour| contrast(theme(colour), theme(ground));
                assert!(against(INK) >= 7.0 && against(FAINT) >= 4.5, "{ground}");
                assert!((1.1..2.0).contains(&against(GRID)), "{ground}: {}", against(GRID));
                for colour in PALETTE.into_iter().chain([PEER]) {
                    assert!(against(colour) >= 3.0, "{colour} on {ground}: {}", against(colour));
                }
            }
        }
        let distinct: std::collections::HashSet<_> = DARK.iter().map(|(light, _)| light).collect();
        assert_eq!(distinct.len(), DARK.len());
    }

    #[test]
    fn texts_have_no_meaning_in_markdown() {
        let plot = Plot {
            svg: String::new(),
            alternative: "* and [x]".into(),
            result: "Warpath reads 2 * 3.".into(),
        };
        assert_eq!(plot.paragraphs("a.svg"), "\nWarpath reads 2 \\* 3.\n\n![\\* and \\[x\\]](a.svg)\n");
    }

    #[test]
    fn numbers_are_short() {
        let shown = [0.0, 0.01234, 0.1234, 1.0, 12.34, 123.4, 1234.0, 1_234_567.0].map(number);
        assert_eq!(
            shown,
            ["0", "0.012", "0.12", "1.00", "12.3", "123", "1\u{2009}234", "1\u{2009}234\u{2009}567"]
        );
    }

    #[test]
    fn each_row_has_its_name_and_its_note() {
        let row = |name: &str, value: Option<f64>, ours| Row {
            name: name.into(),
            spot: value.map(|value| Spot { value, low: value * 0.9, high: value * 1.1 }),
            note: format!("{name}: <note>"),
            ours,
        };
        let rows = [row("cat", Some(7.0), false), row("us", Some(3.0), true), row("them", None, false)];
        let heading = Heading { title: "A & B".into(), notes: vec!["x".into()], result: "Us: 3 < 7.".into() };
        let plot = dots(&heading, "GB/s", &rows);
        assert_eq!(plot.alternative, "A & B. 3 rows; values: GB/s.");
        let text = plot.svg;
        let document = roxmltree::Document::parse(&text).unwrap();
        let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        check_themes(&document);
        assert!(document.descendants().any(|node| node.text() == Some("Us: 3 < 7.")));
        assert_eq!(count("circle") + count("polygon"), 2);
        for row in &rows {
            for text in [&row.name, &row.note] {
                assert!(document.descendants().any(|node| node.text() == Some(text)), "{text}");
            }
        }
    }

    #[test]
    fn names_stand_apart() {
        let places = spread_out(&[100.0, 101.0, 300.0, 99.0], 0.0, 300.0);
        let mut sorted = places.clone();
        sorted.sort_by(f64::total_cmp);
        assert!(sorted.windows(2).all(|pair| pair[1] - pair[0] >= APART), "{places:?}");
        assert!(places[3] < places[0] && places[0] < places[1] && places[1] < places[2]);
        assert!(sorted[0] >= 0.0 && sorted[3] <= 300.0);
    }

    #[test]
    fn no_line_connects_points_that_are_far_from_each_other() {
        let spot = Spot { value: 1.0, low: 1.0, high: 1.0 };
        let drawn = |log| {
            let points = [1e5, 1e8, 8e8, 1.6e9].map(|x| (x, spot)).to_vec();
            let series = [Series { name: "tool".into(), points, ours: true, dashed: false }];
            let axis =
                Axis { title: "size".into(), ticks: vec![(1e5, "a".into()), (1.6e9, "b".into())], log };
            lines(&Heading { title: "T".into(), ..Heading::default() }, &axis, "GB/s", &series).svg
        };
        let points = |text: &str| {
            let document = roxmltree::Document::parse(text).unwrap();
            let lines = document.descendants().filter(|node| node.has_tag_name("polyline"));
            lines.map(|line| line.attribute("points").unwrap().split_whitespace().count()).collect::<Vec<_>>()
        };
        assert_eq!(points(&drawn(true)), [3]);
        assert_eq!(points(&drawn(false)), [4]);
    }

    #[test]
    fn each_line_has_its_points_and_its_name() {
        let spot = |value: f64| Spot { value, low: value * 0.9, high: value * 1.1 };
        let series: Vec<Series> = (0..10)
            .map(|at| Series {
                name: format!("tool <{at}>"),
                points: (0..4).map(|x| (10_f64.powi(x), spot(1.0 + f64::from(at)))).collect(),
                ours: at == 0,
                dashed: false,
            })
            .collect();
        let axis = Axis {
            title: "size".into(),
            ticks: (0..4).map(|x| (10_f64.powi(x), format!("{x}"))).collect(),
            log: true,
        };
        let plot = lines(&Heading { title: "T".into(), ..Heading::default() }, &axis, "GB/s", &series);
        assert_eq!(plot.alternative, "T. 10 lines, by size; values: GB/s.");
        let text = plot.svg;
        let document = roxmltree::Document::parse(&text).unwrap();
        let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        check_themes(&document);
        assert_eq!(count("polyline"), 10);
        assert_eq!(count("circle") + count("polygon"), 10 * 5);
        assert!(
            (0..10).all(|at| document.descendants().any(|node| node.text() == Some(&format!("tool <{at}>"))))
        );
        let looks: std::collections::HashSet<_> = (0..10).map(|at| format!("{:?}", look(at))).collect();
        assert_eq!(looks.len(), 10);
    }

    #[test]
    fn wide_values_get_a_logarithmic_axis() {
        let narrow = Scale::over([2.0, 10.0].into_iter(), 0.0, 100.0);
        assert!(!narrow.log);
        assert_eq!(narrow.ticks(), [0.0, 2.5, 5.0, 7.5, 10.0]);
        assert_eq!(narrow.place(0.0), 0.0);
        let wide = Scale::over([0.1, 10.0].into_iter(), 0.0, 100.0);
        assert!(wide.log);
        assert_eq!(
            wide.ticks().iter().map(|value| tick(*value)).collect::<Vec<_>>(),
            ["0.1", "0.2", "0.5", "1", "2", "5", "10"]
        );
        assert!((wide.place(1.0) - 50.0).abs() < 1e-9);
    }

    #[test]
    fn every_value_has_a_place_on_the_axis() {
        for values in [[1.0, 1.0], [0.5, 400.0], [3.0, 30.0], [1e-3, 1e6]] {
            let scale = Scale::over(values.into_iter(), 10.0, 20.0);
            for value in values {
                assert!((10.0..=20.0).contains(&scale.place(value)), "{values:?}");
            }
            let ticks = scale.ticks();
            assert!((2..=14).contains(&ticks.len()), "{values:?}: {ticks:?}");
        }
    }

    #[test]
    fn every_element_is_well_formed() {
        let mut svg = Svg::new(100.0, 50.0, &Heading { title: "T".into(), ..Heading::default() });
        svg.text(1.0, 2.0, "a < b & \"c\"", Text { bold: true, upward: true, ..PLAIN });
        svg.line((0.0, 0.0), (1.0, 1.0), INK, 1.0);
        svg.path(&[(0.0, 0.0), (1.0, 1.0)], INK, 2.0, false);
        svg.band(0.0, 0.0, 5.0, 5.0, GROUND);
        Mark::ALL.iter().for_each(|mark| svg.mark((5.0, 5.0), *mark, 4.0, INK));
        let text =
            svg.finish(&Heading { title: "<title>".into(), result: "<result>".into(), ..Heading::default() });
        let document = roxmltree::Document::parse(&text).unwrap();
        let texts = document.descendants().filter(roxmltree::Node::is_text).filter_map(|node| node.text());
        let texts: Vec<&str> =
            texts.filter(|text| !text.trim().is_empty() && !text.starts_with("\n@")).collect();
        assert_eq!(texts, ["<title>", "<result>", "T", "a < b & \"c\""]);
        assert_eq!(document.root_element().children().filter(roxmltree::Node::is_element).count(), 13);
    }
}
