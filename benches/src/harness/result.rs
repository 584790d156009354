//! Sentences of result, for the text above a plot: Warpath's figure, that of the best peer, and the factor
//! between them. They are made of the plotted values, so they also say where Warpath loses.

use std::fmt::Write as _;

use super::chart::number;

/// The words for the values of a plot.
#[derive(Clone, Copy, Debug)]
pub struct Measure {
    /// The verb before a value.
    pub verb: &'static str,
    /// The unit after a value.
    pub unit: &'static str,
    /// True if the least value is the best.
    pub least_is_best: bool,
}

/// Rates of input.
pub const RATE: Measure = Measure { verb: "reads", unit: "GB/s", least_is_best: false };
/// Times.
pub const TIME: Measure = Measure { verb: "takes", unit: "ms", least_is_best: true };
/// Peaks of memory.
pub const MEMORY: Measure = Measure { verb: "needs", unit: "MB", least_is_best: true };

/// A tool, and its values by position on an axis.
#[derive(Clone, Debug)]
pub struct Line {
    /// The tool.
    pub name: String,
    /// Positions and values.
    pub points: Vec<(f64, f64)>,
}

/// The lines that are compared with Warpath's.
#[derive(Clone, Debug)]
pub enum Against {
    /// Peers. At each position the best one counts.
    Peers(Vec<Line>),
    /// One line of known origin, with the short names of both sides if they are to be compared.
    One(Line, Option<[&'static str; 2]>),
}

impl Measure {
    /// A factor above 1 if `ours` is better than `theirs`.
    fn factor(&self, ours: f64, theirs: f64) -> f64 {
        if self.least_is_best { theirs / ours } else { ours / theirs }
    }

    fn best<'a, T>(&self, of: impl Iterator<Item = (T, f64)> + 'a) -> Option<(T, f64)> {
        let sign = if self.least_is_best { 1.0 } else { -1.0 };
        of.min_by(|(_, a), (_, b)| (sign * a).total_cmp(&(sign * b)))
    }
}

/// A value with at least two digits that count.
fn figure(value: f64) -> String {
    if value >= 0.1 || value <= 0.0 {
        return number(value);
    }
    let digits = (1.0 - value.log10().floor()) as usize;
    format!("{value:.digits$}")
}

/// The name of a tool within a sentence.
fn in_prose(name: &str) -> String {
    let (name, rest) = name.split_once(", ").unwrap_or((name, ""));
    let mut text = name.to_owned();
    for part in rest.split(", ").filter(|part| !part.is_empty()) {
        let _ = match part {
            // A name on a device is a name of the method alone.
            "device" => Ok(()),
            "with copies" => write!(text, " {part}"),
            _ if ["thread", "threads", "cores"].iter().any(|end| part.ends_with(end)) => {
                write!(text, " on {part}")
            }
            _ => write!(text, " ({part})"),
        };
    }
    text
}

/// Positions with a factor above or below 1, or of about 1.
#[derive(Default)]
struct Side {
    count: usize,
    least: String,
    most: String,
}

impl Side {
    /// The side that has these factors, in any order.
    fn of(mut factors: Vec<f64>) -> Self {
        factors.sort_by(f64::total_cmp);
        let text = |factor: Option<&f64>| factor.copied().map(number).unwrap_or_default();
        Self { count: factors.len(), least: text(factors.first()), most: text(factors.last()) }
    }
}

/// Two values whose ratio rounds to 1.00 are level.
const LEVEL: f64 = 1.005;

/// Says who leads at how many positions, and by how much.
fn standing(ours: &str, theirs: &str, factors: &[f64]) -> String {
    let ahead = Side::of(factors.iter().copied().filter(|factor| *factor >= LEVEL).collect());
    let inverse = factors.iter().map(|factor| 1.0 / factor);
    let after = Side::of(inverse.filter(|factor| *factor >= LEVEL).collect());
    let all = factors.len();
    let sides = [(ours, &ahead), (theirs, &after)];
    for (name, Side { count, least, most }) in sides {
        if *count < all {
            continue;
        }
        let range = if least == most { most.clone() } else { format!("{least} to {most}") };
        return match all {
            1 => format!("{name} leads by a factor of {most}."),
            _ => format!("{name} leads at all {all} points, by a factor of {range}."),
        };
    }
    let mut parts = Vec::new();
    for (name, Side { count, most, .. }) in sides.into_iter().filter(|(_, side)| side.count > 0) {
        parts.push(match parts.is_empty() {
            true => format!("{name} leads at {count} of {all} points, by a factor of up to {most}"),
            false => format!("{} leads at {count}, by up to {most}", lower(name)),
        });
    }
    let level = all - ahead.count - after.count;
    match (level, parts.is_empty()) {
        (0, _) => {}
        (_, true) => parts.push(format!("{ours} and {} are level", lower(theirs))),
        (_, false) => parts.push(format!("they are level at {level}")),
    }
    format!("{}.", parts.join("; "))
}

/// A name that does not begin a sentence.
fn lower(name: &str) -> String {
    name.strip_prefix("The ").map_or(name.to_owned(), |rest| format!("the {rest}"))
}

/// The sentences of one case. Each value of Warpath has the words for its processor, or none.
pub fn of_case(measure: Measure, ours: &[(&str, f64)], peers: &[(String, f64)]) -> String {
    let Measure { verb, unit, .. } = measure;
    let best = measure.best(peers.iter().map(|(name, value)| (in_prose(name), *value)));
    if ours.is_empty() {
        return match best {
            Some((name, value)) => {
                format!("Warpath was not measured. The best peer, {name}, {verb} {} {unit}.", figure(value))
            }
            None => "Nothing was measured.".into(),
        };
    }
    let values: Vec<String> = ours
        .iter()
        .map(|(executor, value)| format!("{} {unit} {executor}", figure(*value)).trim_end().to_owned())
        .collect();
    let mut text = format!("Warpath {verb} {}", values.join(" and "));
    let Some((name, theirs)) = best else { return text + "." };
    let _ = write!(text, "; the best peer, {name}, {}. ", figure(theirs));
    let factors: Vec<f64> = ours.iter().map(|(_, value)| measure.factor(*value, theirs)).collect();
    if let [factor] = factors[..] {
        return text + &standing("Warpath", "The peer", &[factor]);
    }
    let clauses = ours.iter().zip(factors).map(|((executor, _), factor)| {
        let clause = standing("Warpath", "the peer", &[factor]);
        format!("{executor} {}", clause.trim_end_matches('.'))
    });
    let clauses = clauses.collect::<Vec<_>>().join("; ");
    let (first, rest) = clauses.split_at(1);
    text + &first.to_uppercase() + rest + "."
}

/// The sentences of lines along an axis, whose positions `at` names.
pub fn along(measure: Measure, ours: &Line, against: &Against, at: &dyn Fn(f64) -> String) -> String {
    let Measure { verb, unit, .. } = measure;
    let rivals = match against {
        Against::Peers(peers) => peers.as_slice(),
        Against::One(line, _) => std::slice::from_ref(line),
    };
    let best = |x: f64| {
        let value = |line: &Line| line.points.iter().find(|(of, _)| *of == x).map(|(_, value)| *value);
        measure.best(rivals.iter().filter_map(|line| Some((line.name.as_str(), value(line)?))))
    };
    let mut points = ours.points.clone();
    points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let compared: Vec<_> = points.iter().filter_map(|(x, value)| Some((*x, *value, best(*x)?))).collect();
    let name = &ours.name;
    let [(first, value, from), .., (last, end, to)] = compared[..] else {
        return alone(measure, ours, at);
    };
    let mut text =
        format!("{name} {verb} {} {unit} {} and {} {}", figure(value), at(first), figure(end), at(last));
    let names = match against {
        Against::One(line, names) => {
            let _ = write!(text, "; {}, {} and {}.", line.name, figure(from.1), figure(to.1));
            *names
        }
        Against::Peers(_) if from.0 == to.0 => {
            let peer = in_prose(from.0);
            let _ = write!(text, "; the best peer, {peer}, {} and {}.", figure(from.1), figure(to.1));
            Some(["Warpath", "The best peer"])
        }
        Against::Peers(_) => {
            let both = [from, to].map(|(name, value)| {
                format!("{} ({})", figure(value), in_prose(name.trim_start_matches("the ")))
            });
            let _ = write!(text, "; best peers: {}.", both.join(" and "));
            Some(["Warpath", "The best peer"])
        }
    };
    if let Some([ours, theirs]) = names {
        let factors: Vec<f64> =
            compared.iter().map(|(_, value, (_, peer))| measure.factor(*value, *peer)).collect();
        let _ = write!(text, " {}", standing(ours, theirs, &factors));
    }
    text
}

/// The range of a line without a peer.
pub fn alone(measure: Measure, line: &Line, at: &dyn Fn(f64) -> String) -> String {
    let Measure { verb, unit, .. } = measure;
    let (name, points) = (&line.name, || line.points.iter().copied());
    let least = points().min_by(|(_, a), (_, b)| a.total_cmp(b));
    let most = points().max_by(|(_, a), (_, b)| a.total_cmp(b));
    match least.zip(most) {
        None => "Nothing was measured.".into(),
        Some(((x, value), (other, _))) if x == other => {
            format!("{name} {verb} {} {unit} {}.", figure(value), at(x))
        }
        Some(((low, least), (high, most))) => format!(
            "{name} {verb} between {} {unit} ({}) and {} {unit} ({}).",
            figure(least),
            at(low),
            figure(most),
            at(high)
        ),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Checks that text is one or two sentences of at most 25 words.
    pub(crate) fn check_sentences(text: &str) {
        let sentences: Vec<&str> = text.split_inclusive(". ").collect();
        assert!((1..=2).contains(&sentences.len()) && text.ends_with('.'), "{text}");
        for sentence in sentences {
            // A thin space is within a number.
            let sentence = sentence.replace('\u{2009}', "");
            let words = sentence.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
            assert!(words.count() <= 25, "{sentence}");
        }
    }

    fn peers(of: &[(&str, f64)]) -> Vec<(String, f64)> {
        of.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
    }

    fn line(name: &str, values: &[f64]) -> Line {
        Line { name: name.into(), points: (1..).map(f64::from).zip(values.iter().copied()).collect() }
    }

    fn at(x: f64) -> String {
        format!("at {x} MB")
    }

    #[test]
    fn a_win_a_loss_and_a_draw_are_reported() {
        let others = peers(&[("jq", 0.0812), ("sonic-rs get, all cores", 4.0)]);
        assert_eq!(
            of_case(RATE, &[("", 5.0)], &others),
            "Warpath reads 5.00 GB/s; the best peer, sonic-rs get on all cores, 4.00. Warpath leads by a factor of 1.25."
        );
        assert_eq!(
            of_case(RATE, &[("", 3.2)], &others),
            "Warpath reads 3.20 GB/s; the best peer, sonic-rs get on all cores, 4.00. The peer leads by a factor of 1.25."
        );
        assert_eq!(
            of_case(RATE, &[("", 4.001)], &others),
            "Warpath reads 4.00 GB/s; the best peer, sonic-rs get on all cores, 4.00. Warpath and the peer are level."
        );
    }

    #[test]
    fn the_least_may_be_the_best() {
        let others = peers(&[("DuckDB", 400.0), ("jq", 6.0)]);
        assert_eq!(
            of_case(MEMORY, &[("", 9.0)], &others),
            "Warpath needs 9.00 MB; the best peer, jq, 6.00. The peer leads by a factor of 1.50."
        );
        assert_eq!(
            of_case(MEMORY, &[("", 4.0)], &others),
            "Warpath needs 4.00 MB; the best peer, jq, 6.00. Warpath leads by a factor of 1.50."
        );
    }

    #[test]
    fn each_device_is_compared() {
        assert_eq!(
            of_case(RATE, &[("on the GPU", 2.0), ("on the CPU", 24.0)], &peers(&[("qj", 16.0)])),
            "Warpath reads 2.00 GB/s on the GPU and 24.0 GB/s on the CPU; the best peer, qj, 16.0. \
             On the GPU the peer leads by a factor of 8.00; on the CPU Warpath leads by a factor of 1.50."
        );
    }

    #[test]
    fn cases_without_peers_or_without_warpath() {
        assert_eq!(of_case(RATE, &[("", 3.0)], &[]), "Warpath reads 3.00 GB/s.");
        assert_eq!(
            of_case(RATE, &[], &peers(&[("jaq", 0.2), ("jq", 0.1)])),
            "Warpath was not measured. The best peer, jaq, reads 0.20 GB/s."
        );
        assert_eq!(of_case(RATE, &[], &[]), "Nothing was measured.");
    }

    #[test]
    fn the_best_peer_differs_along_an_axis() {
        let ours = line("Warpath", &[0.00123, 4.0, 6.0]);
        let peers =
            |last| Against::Peers(vec![line("a", &[0.001, 1.0, last]), line("b", &[0.0005, 2.0, 1.0])]);
        assert_eq!(
            along(RATE, &ours, &peers(0.5), &at),
            "Warpath reads 0.0012 GB/s at 1 MB and 6.00 at 3 MB; best peers: 0.0010 (a) and 1.00 (b). \
             Warpath leads at all 3 points, by a factor of 1.23 to 6.00."
        );
        assert_eq!(
            along(RATE, &ours, &peers(12.0), &at),
            "Warpath reads 0.0012 GB/s at 1 MB and 6.00 at 3 MB; the best peer, a, 0.0010 and 12.0. \
             Warpath leads at 2 of 3 points, by a factor of up to 2.00; the best peer leads at 1, by up to 2.00."
        );
    }

    #[test]
    fn a_loss_along_an_axis_is_reported() {
        let rival = line("on the CPU", &[1.0, 2.0]);
        let against = Against::One(rival, Some(["The GPU", "The CPU"]));
        assert_eq!(
            along(RATE, &line("Warpath on the GPU", &[0.5, 0.5]), &against, &at),
            "Warpath on the GPU reads 0.50 GB/s at 1 MB and 0.50 at 2 MB; on the CPU, 1.00 and 2.00. \
             The CPU leads at all 2 points, by a factor of 2.00 to 4.00."
        );
        let slower = Against::Peers(vec![line("c", &[1.0, 4.0])]);
        assert!(
            along(TIME, &line("Warpath", &[2.0, 2.0]), &slower, &at).ends_with(
                "Warpath leads at 1 of 2 points, by a factor of up to 2.00; the best peer leads at 1, by up to 2.00."
            )
        );
    }

    #[test]
    fn points_without_a_peer_are_not_compared() {
        let ours = line("Warpath", &[1.0, 2.0, 3.0, 4.0]);
        let against = Against::Peers(vec![Line { name: "a".into(), points: vec![(2.0, 1.0), (3.0, 1.0)] }]);
        assert_eq!(
            along(RATE, &ours, &against, &at),
            "Warpath reads 2.00 GB/s at 2 MB and 3.00 at 3 MB; the best peer, a, 1.00 and 1.00. \
             Warpath leads at all 2 points, by a factor of 2.00 to 3.00."
        );
    }

    #[test]
    fn a_line_without_a_peer_has_its_range() {
        let ours = line("Warpath", &[4.0, 1.0, 6.0, 5.0]);
        assert_eq!(
            along(RATE, &ours, &Against::Peers(Vec::new()), &at),
            "Warpath reads between 1.00 GB/s (at 2 MB) and 6.00 GB/s (at 3 MB)."
        );
        assert_eq!(alone(TIME, &line("The index", &[0.5]), &at), "The index takes 0.50 ms at 1 MB.");
        assert_eq!(alone(TIME, &line("The index", &[]), &at), "Nothing was measured.");
    }

    #[test]
    fn names_of_tools_are_without_commas() {
        let names = ["rsonpath", "DuckDB, count", "roaring, 1 thread", "coa, device, with copies"];
        assert_eq!(
            names.map(in_prose),
            ["rsonpath", "DuckDB (count)", "roaring on 1 thread", "coa with copies"]
        );
    }
}
