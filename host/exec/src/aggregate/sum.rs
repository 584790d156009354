//! Sums of doubles without rounding, so that they do not depend on the order of the terms.

/// The bits of a limb.
const LIMB: u32 = 32;

/// The limbs of a sum. The least bit of a double is 2⁻¹⁰⁷⁴, and the greatest 2¹⁰²³: 2098 bits, in 66 limbs.
/// The others hold what 2⁶⁴ terms add to them.
const LIMBS: usize = 70;

/// The exponent of the least bit.
const LEAST: i32 = -1074;

/// The most terms between two carries: a term adds less than 2³² to a limb, which has 63 bits.
const MOST_TERMS: u32 = 1 << 30;

/// An exact sum of finite doubles: an integer multiple of 2⁻¹⁰⁷⁴, in limbs of 32 bits.
#[derive(Clone, Debug)]
pub struct ExactSum {
    limbs: [i64; LIMBS],
    /// Terms since the last carry.
    terms: u32,
}

impl Default for ExactSum {
    fn default() -> Self {
        Self { limbs: [0; LIMBS], terms: 0 }
    }
}

impl ExactSum {
    /// Adds a finite number.
    pub fn add(&mut self, term: f64) {
        let bits = term.to_bits();
        let (exponent, fraction) = ((bits >> 52) as usize & 0x7ff, bits & ((1 << 52) - 1));
        let (digits, place) = if exponent == 0 { (fraction, 0) } else { (fraction | 1 << 52, exponent - 1) };
        let digits = u128::from(digits) << (place as u32 % LIMB);
        for (i, limb) in self.limbs[place / LIMB as usize..][..3].iter_mut().enumerate() {
            let part = i64::from((digits >> (LIMB * i as u32)) as u32);
            *limb += if term.is_sign_negative() { -part } else { part };
        }
        self.terms += 1;
        if self.terms >= MOST_TERMS {
            self.carry();
        }
    }

    /// Adds another sum.
    pub fn join(&mut self, mut other: Self) {
        self.carry();
        other.carry();
        for (limb, other) in self.limbs.iter_mut().zip(other.limbs) {
            *limb += other;
        }
        self.carry();
    }

    /// Brings all limbs but the last into 0 to 2³² - 1. The last one has the sign.
    fn carry(&mut self) {
        let mut carry = 0;
        let (last, limbs) = match self.limbs.split_last_mut() {
            Some(parts) => parts,
            None => return,
        };
        for limb in limbs {
            let sum = *limb + carry;
            (*limb, carry) = (sum & 0xffff_ffff, sum >> LIMB);
        }
        *last += carry;
        self.terms = 1;
    }

    /// The sum, rounded to the nearest double; infinite if it is beyond all doubles.
    #[must_use]
    pub fn value(&self) -> f64 {
        let mut sum = self.clone();
        sum.carry();
        let is_negative = sum.limbs[LIMBS - 1] < 0;
        if is_negative {
            sum.limbs.iter_mut().for_each(|limb| *limb = -*limb);
            sum.carry();
        }
        let Some(top) = sum.limbs.iter().rposition(|limb| *limb != 0) else { return 0.0 };
        // The limbs below the upper three matter only if the others are exactly between two doubles.
        let limb = |down: usize| top.checked_sub(down).map_or(0, |at| sum.limbs[at] as u128);
        let rest = sum.limbs[..top.saturating_sub(2)].iter().any(|limb| *limb != 0);
        let upper = limb(0) << (2 * LIMB) | limb(1) << LIMB | limb(2) | u128::from(rest);
        let value = scaled(upper as f64, LEAST + LIMB as i32 * (top as i32 - 2));
        if is_negative { -value } else { value }
    }
}

/// A number times a power of two.
fn scaled(mut number: f64, mut power: i32) -> f64 {
    const STEP: i32 = 512;
    while power.abs() > STEP {
        number *= 2f64.powi(STEP * power.signum());
        power -= STEP * power.signum();
    }
    number * 2f64.powi(power)
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    fn sum(terms: &[f64]) -> f64 {
        let mut sum = ExactSum::default();
        terms.iter().for_each(|term| sum.add(*term));
        sum.value()
    }

    #[test]
    fn a_term_is_its_own_sum() {
        let mut rng = Rng::new(1);
        for _ in 0..10_000 {
            let term = f64::from_bits(rng.next_u64());
            if term.is_finite() {
                assert_eq!(sum(&[term]), term);
                assert_eq!(sum(&[term, 1.0, -term]), 1.0, "{term:e}");
            }
        }
        for term in [0.0, f64::MAX, f64::MIN, 5e-324, -5e-324, f64::MIN_POSITIVE] {
            assert_eq!(sum(&[term]), term);
        }
    }

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(sum(&[0.1; 10]), 1.0);
        assert_eq!(sum(&[1e100, 1.0, -1e100]), 1.0);
        assert_eq!(sum(&[9007199254740992.0, 1.0]), 9007199254740992.0);
        assert_eq!(sum(&[9007199254740992.0, 1.0, 1e-300]), 9007199254740994.0);
        assert_eq!(sum(&[-9007199254740992.0, -1.0, -1e-300]), -9007199254740994.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[f64::MAX, f64::MAX, f64::MIN]), f64::MAX);
    }

    #[test]
    fn sums_of_integers_are_those_of_integers() {
        let mut rng = Rng::new(2);
        for _ in 0..100 {
            let terms: Vec<i64> = (0..1000).map(|_| (rng.next_u64() as i64) >> 12).collect();
            let (mut left, mut right) = (ExactSum::default(), ExactSum::default());
            terms[..300].iter().for_each(|term| left.add(*term as f64));
            terms[300..].iter().for_each(|term| right.add(*term as f64));
            left.join(right);
            assert_eq!(left.value(), terms.iter().map(|term| i128::from(*term)).sum::<i128>() as f64);
        }
    }
}
