//! The loops of measurements within one process: runs that warm up, runs that are counted, and turns.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use warpath_device::Accelerator as _;
use warpath_device::cuda::{Cuda, KernelTime};

use super::copy::CopyStage;

/// The times of some runs, in ascending order. The unit is that of the measurement.
#[derive(Clone, Debug, Default)]
pub struct Times(Vec<f64>);

impl Times {
    /// Sorts the times.
    ///
    /// # Panics
    /// If there are none.
    pub fn new(mut times: Vec<f64>) -> Self {
        assert!(!times.is_empty(), "a median needs a run");
        times.sort_by(f64::total_cmp);
        Self(times)
    }

    /// The middle one, or the later of the two in the middle.
    pub fn median(&self) -> f64 {
        self.0[self.0.len() / 2]
    }

    /// The least.
    pub fn least(&self) -> f64 {
        self.0[0]
    }

    /// The most.
    pub fn most(&self) -> f64 {
        self.0[self.0.len() - 1]
    }
}

/// The loop of a measurement.
#[derive(Clone, Copy, Debug)]
pub struct Loop {
    /// Runs that warm up, and are not counted.
    pub warm_up: usize,
    /// Counted runs; at least one.
    pub runs: usize,
    /// The seconds of all runs after which no further one starts, once two are counted.
    pub most_seconds: f64,
}

impl Loop {
    /// A loop that ends after its last run.
    pub fn new(warm_up: usize, runs: usize) -> Self {
        Self { warm_up, runs, most_seconds: f64::INFINITY }
    }

    /// The seconds of the counted runs, and the result of the last one.
    ///
    /// # Errors
    /// Those of `run`.
    pub fn time<T>(self, mut run: impl FnMut() -> Result<T>) -> Result<(Times, T)> {
        let (mut times, mut last) = (Vec::new(), None);
        while times.len() < self.warm_up + self.runs.max(1) {
            let start = Instant::now();
            last = Some(run()?);
            times.push(start.elapsed().as_secs_f64());
            if times.len() > self.warm_up + 1 && times.iter().sum::<f64>() > self.most_seconds {
                break;
            }
        }
        Ok((Times::new(times.split_off(self.warm_up)), last.context("no run")?))
    }

    /// The times of ways that take turns: in each round every way runs once. `time` runs a way, and returns
    /// its time.
    ///
    /// # Errors
    /// Those of `time`.
    pub fn turns<W>(self, ways: &mut [W], mut time: impl FnMut(&mut W) -> Result<f64>) -> Result<Vec<Times>> {
        let mut times = vec![Vec::new(); ways.len()];
        for round in 0..self.warm_up + self.runs.max(1) {
            for (way, times) in ways.iter_mut().zip(&mut times) {
                let time = time(way)?;
                if round >= self.warm_up {
                    times.push(time);
                }
            }
        }
        Ok(times.into_iter().map(Times::new).collect())
    }

    /// The times by events of the kernels that `run` launches on a device.
    ///
    /// # Errors
    /// Those of `run` and of the device.
    pub fn kernels<S, E: Into<anyhow::Error>>(
        self,
        stage: &mut S,
        device: impl Fn(&S) -> &Cuda,
        mut run: impl FnMut(&mut S) -> Result<(), E>,
    ) -> Result<Kernels> {
        let mut kernels = Kernels::default();
        for number in 0..self.warm_up + self.runs.max(1) {
            device(stage).wait()?;
            device(stage).start_timeline();
            run(stage).map_err(Into::into)?;
            let (times, total) = device(stage).take_timeline()?;
            if number >= self.warm_up {
                kernels.runs.push(times);
                kernels.totals.push(f64::from(total));
            }
        }
        Ok(kernels)
    }

    /// The milliseconds in which the copy kernel copies some bytes, checked.
    ///
    /// # Errors
    /// Those of the device, or if the copy differs.
    pub fn copy(self, cuda: &Cuda, bytes: &[u8]) -> Result<f64> {
        let mut stage = CopyStage::new(cuda.queue()?, bytes)?;
        let kernels = self.kernels(&mut stage, CopyStage::device, CopyStage::run)?;
        ensure!(stage.download()? == bytes, "the copy kernel does not copy");
        Ok(kernels.total())
    }
}

/// The kernels of some runs with their times in milliseconds. All runs launch the same kernels.
#[derive(Clone, Debug, Default)]
pub struct Kernels {
    runs: Vec<Vec<KernelTime>>,
    totals: Vec<f64>,
}

impl Kernels {
    /// The name of each kernel, in order, and its median time.
    pub fn each(&self) -> impl Iterator<Item = (&'static str, f64)> {
        let times = |at: usize| self.runs.iter().map(move |run| f64::from(run[at].milliseconds));
        let kernels = self.runs[0].iter().enumerate();
        kernels.map(move |(at, kernel)| (kernel.name, Times::new(times(at).collect()).median()))
    }

    /// The median sum of the times of the kernels with some names.
    pub fn sum(&self, counts: impl Fn(&str) -> bool) -> f64 {
        let sum = |run: &Vec<KernelTime>| {
            let counted = run.iter().filter(|kernel| counts(kernel.name));
            counted.map(|kernel| f64::from(kernel.milliseconds)).sum()
        };
        Times::new(self.runs.iter().map(sum).collect()).median()
    }

    /// The median time from the first kernel's start to the last one's end.
    pub fn total(&self) -> f64 {
        Times::new(self.totals.clone()).median()
    }

    /// The kernels of the last run and their times, on one line.
    pub fn last(&self) -> String {
        let last = self.runs.last().map_or(&[][..], Vec::as_slice);
        let each = last.iter().map(|kernel| format!("{} {:.3}", kernel.name, kernel.milliseconds));
        each.collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_that_warm_up_are_not_counted() {
        let mut count = 0;
        let mut run = || {
            count += 1;
            Ok(count)
        };
        let (times, last) = Loop::new(2, 3).time(&mut run).unwrap();
        assert_eq!((times.0.len(), last), (3, 5));
        assert!(times.least() <= times.median() && times.median() <= times.most());
        let (times, last) = Loop { most_seconds: 0.0, ..Loop::new(1, 9) }.time(run).unwrap();
        assert_eq!((times.0.len(), last), (2, 8));
    }

    #[test]
    fn ways_take_turns() {
        let (mut ways, mut order) = ([1.0, 2.0], Vec::new());
        let times = Loop::new(1, 2).turns(&mut ways, |way| {
            order.push(*way);
            *way *= 3.0;
            Ok(*way)
        });
        assert_eq!(times.unwrap().iter().map(Times::median).collect::<Vec<_>>(), [27.0, 54.0]);
        assert_eq!(order, [1.0, 2.0, 3.0, 6.0, 9.0, 18.0]);
    }
}
