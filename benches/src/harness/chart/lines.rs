//! Tools along an axis: a line each, its name beside its last point, ticks where something was measured.

use super::scale::{Scale, tick};
use super::svg::{Mark, Svg, Text};
use super::{FAINT, GRID, Heading, INK, PALETTE, Spot, begin, heading_height};

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

const WIDTH: f64 = 900.0;
const PLOT: f64 = 320.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 250.0;
/// The approximate width of a letter in the name of a position.
const LETTER: f64 = 6.5;
/// The ratio of two positions, on a logarithmic axis, from which no line connects them: nothing is known of
/// the values between.
const FAR: f64 = 1000.0;
/// Names are at least so far from each other.
const APART: f64 = 15.0;

/// Draws lines over an axis, with values in `unit`.
pub fn draw(heading: &Heading, axis: &Axis, unit: &str, series: &[Series]) -> String {
    let top = heading_height(heading) + 14.0;
    let bottom = top + PLOT;
    let mut svg = Svg::new(WIDTH, bottom + 62.0);
    begin(&mut svg, heading);
    let (left, right) = (LEFT + 16.0, WIDTH - RIGHT);
    let spots = series.iter().flat_map(|series| &series.points).map(|(_, spot)| spot);
    let y = Scale::over(spots.flat_map(|spot| [spot.low, spot.high]), bottom, top);
    let low = axis.ticks.iter().map(|(x, _)| *x).fold(f64::INFINITY, f64::min);
    let high = axis.ticks.iter().map(|(x, _)| *x).fold(f64::NEG_INFINITY, f64::max);
    let x = if low == high {
        Scale::linear(low - 1.0, high + 1.0, left, right - 16.0)
    } else if axis.log {
        Scale::log(low, high, left, right - 16.0)
    } else {
        Scale::linear(low, high, left, right - 16.0)
    };

    for value in y.ticks() {
        let at = y.place(value);
        svg.line((LEFT, at), (right, at), GRID, 1.0);
        svg.text(
            LEFT - 8.0,
            at + 4.0,
            &tick(value),
            Text { size: 11.0, colour: FAINT, anchor: "end", ..Text::default() },
        );
    }
    let faint = Text { colour: FAINT, anchor: "middle", ..Text::default() };
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
    let unit = if y.is_log() { format!("{unit}, logarithmic") } else { unit.to_owned() };
    svg.text(18.0, (top + bottom) / 2.0, &unit, Text { upward: true, ..faint });

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
        svg.text(right + 30.0, place + 4.0, name, Text { bold: *ours, colour: INK, ..Text::default() });
    }
    svg.finish(&heading.title)
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

#[cfg(test)]
mod tests {
    use super::*;

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
            draw(&Heading { title: "T".into(), notes: Vec::new() }, &axis, "GB/s", &series)
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
        let text = draw(&Heading { title: "T".into(), notes: Vec::new() }, &axis, "GB/s", &series);
        let document = roxmltree::Document::parse(&text).unwrap();
        let count = |name: &str| document.descendants().filter(|node| node.has_tag_name(name)).count();
        assert_eq!(count("polyline"), 10);
        assert_eq!(count("circle") + count("polygon"), 10 * 5);
        assert!(
            (0..10).all(|at| document.descendants().any(|node| node.text() == Some(&format!("tool <{at}>"))))
        );
        let looks: std::collections::HashSet<_> = (0..10).map(|at| format!("{:?}", look(at))).collect();
        assert_eq!(looks.len(), 10);
    }
}
