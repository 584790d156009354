//! Exact sums of decimal numbers, which do not depend on the order of the terms.

use warpath_core::decimal;
use warpath_core::float;
use warpath_core::key;

/// The digits of a mantissa: as many as 64 bits hold.
const DIGITS: usize = 18;

/// The base of a limb, 10⁹, and its digits.
const BASE: i128 = 1_000_000_000;
const LIMB_DIGITS: usize = 9;

/// The most digits of a number that is added exactly.
const MOST_DIGITS: usize = 400;

/// The power of ten before the first digit below which a number is no different from 0 as a double.
const LEAST_POWER: i64 = -400;

/// The greatest double, as a mantissa and a power of ten: 1.7976931348623157 × 10³⁰⁸.
const GREATEST: (i64, i32) = (17_976_931_348_623_157, 292);

/// A number: *mantissa* × 10^*power*.
pub(super) type Scaled = (i64, i32);

/// Reads a JSON number of at most 18 digits, all zeros counted. `None` for longer numbers, and for text that
/// is not a number.
#[inline]
pub(super) fn short(text: &[u8]) -> Option<Scaled> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    let (mut mantissa, mut at) = (0_i64, 0);
    let digits = |at: &mut usize, mantissa: &mut i64| {
        let begin = *at;
        while let Some(digit) = rest.get(*at).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10)
        {
            *mantissa = mantissa.wrapping_mul(10).wrapping_add(i64::from(digit));
            *at += 1;
        }
        *at - begin
    };
    let whole = digits(&mut at, &mut mantissa);
    if whole == 0 || whole > 1 && rest[0] == b'0' {
        return None;
    }
    let mut fraction = 0;
    if rest.get(at) == Some(&b'.') {
        at += 1;
        fraction = digits(&mut at, &mut mantissa);
        if fraction == 0 {
            return None;
        }
    }
    if at < rest.len() || whole + fraction > DIGITS {
        return None;
    }
    Some((if negative { -mantissa } else { mantissa }, -(fraction as i32)))
}

/// An exact sum of decimal numbers: the sum of a mantissa for each power of ten.
///
/// A mantissa has 18 digits at most, so that 128 bits hold the sum of 2⁶³ of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExactSum {
    /// Powers of ten in ascending order, with the sum of their mantissas.
    terms: Vec<(i32, i128)>,
}

impl ExactSum {
    /// Adds *mantissa* × 10^*power*.
    #[inline]
    pub(super) fn add(&mut self, (mantissa, power): Scaled) {
        self.add_term(power, i128::from(mantissa));
    }

    #[inline]
    fn add_term(&mut self, power: i32, mantissa: i128) {
        match self.terms.last_mut() {
            Some((last, sum)) if *last == power => *sum += mantissa,
            _ => match self.terms.binary_search_by_key(&power, |(power, _)| *power) {
                Ok(at) => self.terms[at].1 += mantissa,
                Err(at) => self.terms.insert(at, (power, mantissa)),
            },
        }
    }

    /// Adds a JSON number of any length. Numbers beyond the doubles count as the greatest double; numbers of
    /// more than 400 digits, and numbers nearer to 0 than all doubles, count as their nearest double. The
    /// caller has checked that the text is a JSON number.
    pub(super) fn add_long(&mut self, text: &[u8]) {
        let mut digits = Vec::new();
        let Some((negative, power)) = decimal::canonical(text, &mut digits) else { return };
        let signed = |mantissa: i64| if negative { -mantissa } else { mantissa };
        if digits.is_empty() || power < LEAST_POWER {
            return;
        }
        let nearest = float::finish(text).unwrap_or_default();
        if nearest.is_infinite() {
            return self.add((signed(GREATEST.0), GREATEST.1));
        }
        if digits.len() > MOST_DIGITS {
            return self.add_long(format!("{nearest:e}").as_bytes());
        }
        let mut power = power as i32;
        for part in digits.chunks(DIGITS) {
            let mantissa = part.iter().fold(0, |mantissa, digit| 10 * mantissa + i64::from(digit - b'0'));
            power -= part.len() as i32;
            self.add((signed(mantissa), power));
        }
    }

    /// Adds another sum.
    pub(super) fn join(&mut self, other: &Self) {
        other.terms.iter().for_each(|(power, mantissa)| self.add_term(*power, *mantissa));
    }

    /// The bytes of memory beside the sum itself.
    pub(super) fn bytes(&self) -> usize {
        self.terms.capacity() * size_of::<(i32, i128)>()
    }

    /// Appends the sum for [`read`](Self::read).
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.extend((self.terms.len() as u32).to_le_bytes());
        for (power, mantissa) in &self.terms {
            out.extend(power.to_le_bytes());
            out.extend(mantissa.to_le_bytes());
        }
    }

    /// Reads a sum that [`write`](Self::write) wrote.
    pub(super) fn read(bytes: &mut &[u8]) -> Option<Self> {
        let count = u32::from_le_bytes(*take(bytes)?);
        let term = |_| Some((i32::from_le_bytes(*take(bytes)?), i128::from_le_bytes(*take(bytes)?)));
        Some(Self { terms: (0..count).map(term).collect::<Option<_>>()? })
    }

    /// The JSON text of the sum: all of its digits.
    pub(super) fn text(&self) -> Vec<u8> {
        let spelt = self.spelt();
        let (mut key, mut text) = (Vec::new(), Vec::new());
        key::encode(spelt.as_bytes(), &mut key);
        key::decode(&mut &key[..], &mut text);
        text
    }

    /// The sum, rounded to the nearest double; infinite if it is beyond all doubles.
    #[must_use]
    pub fn value(&self) -> f64 {
        match &self.terms[..] {
            [] => 0.0,
            [(0, sum)] => *sum as f64,
            _ => self.spelt().parse().unwrap_or_default(),
        }
    }

    /// The sum as an integer and a power of ten.
    fn spelt(&self) -> String {
        let Some((least, _)) = self.terms.first() else { return "0".to_owned() };
        // Limbs of nine digits, from the least one on.
        let mut limbs: Vec<i128> = Vec::new();
        for (power, mantissa) in &self.terms {
            let places = (power - least) as usize;
            let (first, scale) = (places / LIMB_DIGITS, 10_i128.pow((places % LIMB_DIGITS) as u32));
            let mut rest = *mantissa;
            for at in first.. {
                if rest == 0 {
                    break;
                }
                if limbs.len() <= at {
                    limbs.resize(at + 1, 0);
                }
                limbs[at] += rest % BASE * scale;
                rest /= BASE;
            }
        }
        let carry = |limbs: &mut Vec<i128>| {
            let mut carry = 0;
            for limb in limbs.iter_mut() {
                let sum = *limb + carry;
                (*limb, carry) = (sum.rem_euclid(BASE), sum.div_euclid(BASE));
            }
            carry
        };
        // The limbs hold the sum modulo their range, and the carry says in which range it is.
        limbs.extend([0; 3]);
        let negative = carry(&mut limbs) < 0;
        if negative {
            limbs.iter_mut().for_each(|limb| *limb = -*limb);
            carry(&mut limbs);
        }
        let digits: String = limbs.iter().rev().map(|limb| format!("{limb:09}")).collect();
        let digits = digits.trim_start_matches('0');
        let digits = if digits.is_empty() { "0" } else { digits };
        format!("{}{digits}e{least}", if negative { "-" } else { "" })
    }
}

/// Takes the first bytes out of others.
pub(super) fn take<'a, const N: usize>(bytes: &mut &'a [u8]) -> Option<&'a [u8; N]> {
    let (first, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(first)
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    fn sum(terms: &[&str]) -> ExactSum {
        let mut sum = ExactSum::default();
        for term in terms {
            match short(term.as_bytes()) {
                Some(term) => sum.add(term),
                None => sum.add_long(term.as_bytes()),
            }
        }
        sum
    }

    fn text(terms: &[&str]) -> String {
        String::from_utf8(sum(terms).text()).unwrap()
    }

    #[test]
    fn sums_have_all_digits() {
        for (terms, want) in [
            (&[][..], "0"),
            (&["0", "-0"], "0"),
            (&["0.1"; 10], "1"),
            (&["0.1", "0.2"], "0.3"),
            (&["1e20", "1", "-1e20"], "1"),
            (&["9223372036854775807", "9223372036854775807"], "18446744073709551614"),
            (&["-9223372036854775807", "-2"], "-9223372036854775809"),
            (&["123456789012345678901234567890.5", "0.25"], "123456789012345678901234567890.75"),
            (&["1e-5", "-1e-5"], "0"),
            (&["1e300", "1"], &format!("1{}1", "0".repeat(299))),
            (&["-1", "1e-30"], &format!("-0.{}", "9".repeat(30))),
            (&["1e999999999999", "-1e999999999999"], "0"),
            (&["1e-999999999999"], "0"),
            (&["x", "1e"], "0"),
        ] {
            assert_eq!(text(terms), want, "{terms:?}");
        }
        let digits = format!("0.{}", "3".repeat(1000));
        assert_eq!(text(&[&digits]), "0.3333333333333333");
    }

    #[test]
    fn sums_are_rounded_once() {
        for (terms, want) in [
            (&["0.1"; 10][..], 1.0),
            (&["1e100", "1.0", "-1e100"], 1.0),
            (&["9007199254740992", "1"], 9007199254740992.0),
            (&["9007199254740992", "1", "1e-300"], 9007199254740994.0),
            (&["-9007199254740992", "-1", "-1e-300"], -9007199254740994.0),
            (&["1e308", "1e308"], f64::INFINITY),
            (&["1.7976931348623157e308"], f64::MAX),
        ] {
            assert_eq!(sum(terms).value(), want, "{terms:?}");
        }
    }

    #[test]
    fn sums_do_not_depend_on_the_order() {
        let mut rng = Rng::new(2);
        for _ in 0..200 {
            let mut terms: Vec<String> = (0..100)
                .map(|_| {
                    let mantissa = (rng.next_u64() as i64) >> rng.below(64);
                    match rng.below(3) {
                        0 => mantissa.to_string(),
                        1 => format!("{mantissa}.{}", rng.below(1000)),
                        _ => format!("{mantissa}e{}", rng.below(40) as i32 - 20),
                    }
                })
                .collect();
            let all: Vec<&str> = terms.iter().map(String::as_str).collect();
            let (mut left, right) = (sum(&all[..30]), sum(&all[30..]));
            let (mut written, whole) = (Vec::new(), text(&all));
            left.join(&right);
            left.write(&mut written);
            assert_eq!(ExactSum::read(&mut &written[..]), Some(left.clone()));
            assert_eq!(String::from_utf8(left.text()).unwrap(), whole);
            terms.reverse();
            let all: Vec<&str> = terms.iter().map(String::as_str).collect();
            assert_eq!(text(&all), whole);
        }
    }

    #[test]
    fn sums_of_integers_are_those_of_integers() {
        let mut rng = Rng::new(3);
        for _ in 0..100 {
            let terms: Vec<i64> = (0..1000).map(|_| (rng.next_u64() as i64) >> rng.below(60)).collect();
            let texts: Vec<String> = terms.iter().map(i64::to_string).collect();
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let want: i128 = terms.iter().map(|term| i128::from(*term)).sum();
            assert_eq!(text(&texts), want.to_string());
            assert_eq!(sum(&texts).value(), want as f64);
        }
    }
}
