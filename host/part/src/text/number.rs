//! The ways in which writers print doubles.

use std::io::Write;

/// The way in which the doubles of one column are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The fewest digits that give the double. `point` is true if whole numbers end with `.0`.
    Shortest { exponent: Exponent, point: bool },
    /// This number of decimals.
    Fixed(u8),
}

/// The form of very large and very small numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Exponent {
    /// JavaScript and Go: from 1e+21, and below 1e-6.
    Script,
    /// Rust: from 1e16, and below 1e-5.
    Rust,
    /// Python: from 1e+16, and below 1e-04; two digits of the exponent at least.
    Python,
    /// Java: from 1.0E7, and below 1.0E-3.
    Java,
}

const EXPONENTS: [Exponent; 4] = [Exponent::Script, Exponent::Rust, Exponent::Python, Exponent::Java];

/// The code of [`Rule::Fixed`] with no decimals.
const FIXED: u8 = 16;
/// The greatest number of decimals of [`Rule::Fixed`].
const MOST_DECIMALS: u8 = 20;
/// Doubles by which a rule is chosen.
const SAMPLE: usize = 256;

impl Rule {
    /// The number by which a section names the rule.
    pub(super) fn code(self) -> u8 {
        match self {
            Self::Shortest { exponent, point } => 2 * exponent as u8 + u8::from(point),
            Self::Fixed(decimals) => FIXED + decimals,
        }
    }

    /// The rule of a code.
    pub(super) fn of_code(code: u8) -> Option<Self> {
        if let Some(exponent) = EXPONENTS.get(usize::from(code / 2)) {
            return Some(Self::Shortest { exponent: *exponent, point: code % 2 == 1 });
        }
        let decimals = code.checked_sub(FIXED)?;
        (decimals <= MOST_DECIMALS).then_some(Self::Fixed(decimals))
    }

    /// Appends a double.
    pub(super) fn print(self, value: f64, out: &mut Vec<u8>) {
        match self {
            // A write to a vector cannot fail.
            Self::Fixed(decimals) if let Some(number) = scaled(value, decimals) => {
                fixed(number, value.is_sign_negative(), decimals, out);
            }
            Self::Fixed(decimals) => {
                let _ = write!(out, "{value:.*}", usize::from(decimals));
            }
            Self::Shortest { exponent, point } => shortest(value, exponent, point, out),
        }
    }

    /// The rule that prints most of the doubles as their texts, among the first few of them.
    pub(super) fn choose<'a>(doubles: impl Iterator<Item = (f64, &'a [u8])>) -> Self {
        let sample: Vec<_> = doubles.take(SAMPLE).collect();
        let decimals = |text: &[u8]| {
            let point = memchr::memchr(b'.', text).unwrap_or(text.len().saturating_sub(1));
            text.len() - point - 1
        };
        let most = sample.iter().map(|(_, text)| decimals(text)).max().unwrap_or_default();
        let fixed = (0..=most.min(usize::from(MOST_DECIMALS)) as u8).rev().map(Self::Fixed);
        let rules = (0..2 * EXPONENTS.len() as u8).filter_map(Self::of_code).chain(fixed);
        let (mut best, mut most_printed) = (Self::Shortest { exponent: Exponent::Script, point: false }, 0);
        let mut out = Vec::new();
        for rule in rules {
            let prints = |(value, text): &&(f64, &[u8])| {
                out.clear();
                rule.print(*value, &mut out);
                out == *text
            };
            let printed = sample.iter().filter(prints).count();
            if printed > most_printed {
                (best, most_printed) = (rule, printed);
            }
            if printed == sample.len() {
                break;
            }
        }
        best
    }
}

const POWERS: [f64; 16] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];

/// A double in units of the last decimal, if this is certain.
fn scaled(value: f64, decimals: u8) -> Option<u64> {
    /// Products up to this one have an error that is small beside a quarter.
    const CERTAIN: f64 = (1_u64 << 48) as f64;

    let product = value.abs() * POWERS.get(usize::from(decimals))?;
    let number = product.round();
    (number < CERTAIN && (product - number).abs() < 0.25).then_some(number as u64)
}

/// Appends a number of units of the last decimal.
fn fixed(number: u64, negative: bool, decimals: u8, out: &mut Vec<u8>) {
    let (mut digits, mut at, mut rest, mut left) = ([0_u8; 40], 40, number, usize::from(decimals) + 1);
    while rest > 0 || left > 0 {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        left = left.saturating_sub(1);
        if 40 - at == usize::from(decimals) {
            at -= 1;
            digits[at] = b'.';
        }
    }
    out.extend(negative.then_some(b'-'));
    out.extend_from_slice(&digits[at..]);
}

/// The fewest decimals that give a double, with the double in units of the last one. `None` for a double
/// with more than three decimals, or with a form that depends on the writer.
fn few_decimals(value: f64) -> Option<(u64, u8)> {
    /// The least number that some writer prints with an exponent.
    const LARGE: f64 = 1e7;

    let value = value.abs();
    if value.is_nan() || value >= LARGE {
        return None;
    }
    // A double has at most one decimal number of up to 15 digits, and quotients are rounded as decimals are.
    let units = POWERS.iter().take(4).map(|power| ((value * power).round(), power));
    let (decimals, (number, _)) = (0..).zip(units).find(|(_, (number, power))| number / *power == value)?;
    Some((number as u64, decimals))
}

/// Appends the fewest digits that give a double.
fn shortest(value: f64, exponent: Exponent, point: bool, out: &mut Vec<u8>) {
    let Some((number, decimals)) = few_decimals(value) else {
        return shortest_of_many(value, exponent, point, out);
    };
    fixed(number, value.is_sign_negative(), decimals, out);
    if decimals == 0 && point {
        out.extend_from_slice(b".0");
    }
}

/// Appends the fewest digits that give a double, which may be many.
fn shortest_of_many(value: f64, exponent: Exponent, point: bool, out: &mut Vec<u8>) {
    let mut buffer = [0_u8; 32];
    let mut room = &mut buffer[..];
    if write!(room, "{value:e}").is_err() {
        return;
    }
    let len = 32 - room.len();
    let Some((mantissa, power)) = buffer.get(..len).and_then(|text| split(text)) else {
        // Not finite: no group that the shredder made has such a double.
        out.extend_from_slice(b"null");
        return;
    };
    let digits = mantissa.iter().filter(|byte| byte.is_ascii_digit()).count() as i32;
    if mantissa.first() == Some(&b'-') {
        out.push(b'-');
    }
    let all = || mantissa.iter().copied().filter(u8::is_ascii_digit);
    let (least, greatest) = match exponent {
        Exponent::Script => (-6, 20),
        Exponent::Rust => (-5, 15),
        Exponent::Python => (-4, 15),
        Exponent::Java => (-3, 6),
    };
    if value != 0.0 && !(least..=greatest).contains(&power) {
        out.extend(all().take(1));
        if digits > 1 || exponent == Exponent::Java {
            out.push(b'.');
            out.extend(all().skip(1));
            out.extend((digits == 1).then_some(b'0'));
        }
        // A write to a vector cannot fail.
        let _ = match exponent {
            Exponent::Script => write!(out, "e{power:+}"),
            Exponent::Rust => write!(out, "e{power}"),
            Exponent::Python => write!(out, "e{power:+03}"),
            Exponent::Java => write!(out, "E{power}"),
        };
    } else if power < 0 {
        out.extend_from_slice(b"0.");
        out.extend(std::iter::repeat_n(b'0', (-power - 1) as usize));
        out.extend(all());
    } else {
        let whole = power as usize + 1;
        out.extend(all().chain(std::iter::repeat(b'0')).take(whole));
        if digits > power + 1 {
            out.push(b'.');
            out.extend(all().skip(whole));
        } else if point {
            out.extend_from_slice(b".0");
        }
    }
}

/// The mantissa and the exponent of a number in Rust's scientific form.
fn split(text: &[u8]) -> Option<(&[u8], i32)> {
    let at = memchr::memchr(b'e', text)?;
    let power = std::str::from_utf8(text.get(at + 1..)?).ok()?.parse().ok()?;
    Some((text.get(..at)?, power))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(code: u8, value: f64) -> String {
        let mut out = Vec::new();
        Rule::of_code(code).unwrap().print(value, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn rules_print_as_the_writers_do() {
        for (value, script, rust, python, java) in [
            (0.0, "0", "0.0", "0.0", "0.0"),
            (-0.0, "-0", "-0.0", "-0.0", "-0.0"),
            (1.5, "1.5", "1.5", "1.5", "1.5"),
            (-120.0, "-120", "-120.0", "-120.0", "-120.0"),
            (0.001, "0.001", "0.001", "0.001", "0.001"),
            (1.25e-4, "0.000125", "0.000125", "0.000125", "1.25E-4"),
            (1e-5, "0.00001", "0.00001", "1e-05", "1.0E-5"),
            (1e-7, "1e-7", "1e-7", "1e-07", "1.0E-7"),
            (1e7, "10000000", "10000000.0", "10000000.0", "1.0E7"),
            (1e16, "10000000000000000", "1e16", "1e+16", "1.0E16"),
            (1.5e300, "1.5e+300", "1.5e300", "1.5e+300", "1.5E300"),
        ] {
            assert_eq!([0, 3, 5, 7].map(|code| printed(code, value)), [script, rust, python, java]);
        }
        assert_eq!(printed(FIXED + 2, 1.1), "1.10");
        assert_eq!(printed(FIXED, -3.0), "-3");
        for decimals in 0..=MOST_DECIMALS {
            for value in
                [0.0, -0.0, 1.0, 0.125, -12.345, 1e-9, 0.5, 2.5, 123_456.789, 1e15, 1e300, -0.04, 99.99]
            {
                let want = format!("{value:.*}", usize::from(decimals));
                assert_eq!(printed(FIXED + decimals, value), want, "{value} {decimals}");
            }
        }
        assert_eq!(Rule::of_code(8), None);
        assert_eq!(Rule::of_code(255), None);
    }

    #[test]
    fn few_decimals_are_printed_as_many() {
        let mut some = 0;
        for number in (0..20_000_u32).chain((0..500).map(|at| at * 7_654_321)) {
            for power in [1e0, 1e1, 1e2, 1e3, 1e4, 3.0] {
                let value = f64::from(number) / power * if number % 3 == 0 { -1.0 } else { 1.0 };
                some += usize::from(few_decimals(value).is_some());
                for code in 0..8 {
                    let Some(Rule::Shortest { exponent, point }) = Rule::of_code(code) else {
                        panic!("{code}")
                    };
                    let (mut one, mut other) = (Vec::new(), Vec::new());
                    shortest(value, exponent, point, &mut one);
                    shortest_of_many(value, exponent, point, &mut other);
                    assert_eq!(one.escape_ascii().to_string(), other.escape_ascii().to_string());
                }
            }
        }
        assert!(some > 50_000, "{some}");
    }

    #[test]
    fn the_rule_of_most_texts_is_chosen() {
        for (texts, rule) in [
            (&["1", "2.5", "1e+30"][..], 0),
            (&["1.0", "2.5", "1e16"], 3),
            (&["1.0", "2.5", "1e-07"], 5),
            (&["1.10", "2.25", "7", "3.40"], FIXED + 2),
            (&["0.000", "12.500"], FIXED + 3),
        ] {
            let doubles = texts.iter().map(|text| (text.parse().unwrap(), text.as_bytes()));
            assert_eq!(Rule::choose(doubles).code(), rule, "{texts:?}");
        }
    }
}
