//! Maps values to positions, and chooses the ticks of an axis.

/// An axis: values from `low` to `high`, along a range of units of a drawing.
#[derive(Clone, Copy, Debug)]
pub struct Scale {
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
    pub fn over(values: impl Iterator<Item = f64> + Clone, from: f64, to: f64) -> Self {
        let high = values.clone().fold(f64::MIN_POSITIVE, f64::max);
        let low = values.fold(high, f64::min).max(high * 1e-9);
        if high / low > WIDE {
            Self::log(low / 1.15, high * 1.15, from, to)
        } else {
            Self::linear(0.0, high * 1.06, from, to)
        }
    }

    pub fn linear(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low, high, log: false, from, to }
    }

    pub fn log(low: f64, high: f64, from: f64, to: f64) -> Self {
        Self { low, high, log: true, from, to }
    }

    pub fn is_log(&self) -> bool {
        self.log
    }

    pub fn place(&self, value: f64) -> f64 {
        let share = if self.log {
            (value.max(self.low) / self.low).ln() / (self.high / self.low).ln()
        } else {
            (value - self.low) / (self.high - self.low)
        };
        self.from + share * (self.to - self.from)
    }

    /// Round values to be named beside the axis.
    pub fn ticks(&self) -> Vec<f64> {
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
pub fn tick(value: f64) -> String {
    if value >= 1000.0 {
        return super::thousands(value.round() as i64);
    }
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_values_get_a_logarithmic_axis() {
        let narrow = Scale::over([2.0, 10.0].into_iter(), 0.0, 100.0);
        assert!(!narrow.is_log());
        assert_eq!(narrow.ticks(), [0.0, 2.5, 5.0, 7.5, 10.0]);
        assert_eq!(narrow.place(0.0), 0.0);
        let wide = Scale::over([0.1, 10.0].into_iter(), 0.0, 100.0);
        assert!(wide.is_log());
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
}
