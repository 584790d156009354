//! Progress on standard error.
//!
//! A terminal shows one bar at most, on one row. Whatever is printed there meanwhile goes through [`aside`],
//! which removes the bar first.

use std::io;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use terminal_size::{Width, terminal_size_of};

use crate::options::When;
use crate::streams::{Stream, Streams};

/// The time before a bar is shown with `--progress auto`. A shorter run shows no bar.
const QUIET_START: Duration = Duration::from_millis(500);
/// The time between two lines, if standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// The most and the fewest columns of the bar itself. Narrower terminals show numbers alone.
const BAR_COLUMNS: usize = 40;
const LEAST_BAR_COLUMNS: usize = 8;

/// The columns of a terminal that does not say how many it has.
const UNKNOWN_COLUMNS: usize = 80;

/// The bar that the terminal shows.
static BAR: Mutex<Option<ProgressBar>> = Mutex::new(None);

/// Does `work`, which prints on the terminal, with the bar removed. The bar returns afterwards.
pub fn aside<R>(work: impl FnOnce() -> R) -> R {
    let bar = BAR.lock().unwrap_or_else(PoisonError::into_inner).clone();
    match bar {
        Some(bar) => bar.suspend(work),
        None => work(),
    }
}

/// The progress of a run.
pub struct Progress {
    /// The number of bytes in all inputs. `None` if it is unknown or an input is compressed.
    total: Option<u64>,
    shown: Shown,
    started: Instant,
    streams: Streams,
}

enum Shown {
    Nothing,
    /// A bar that is shown when this time has passed.
    Later(Duration),
    Bar(ProgressBar),
    /// Lines at an interval. Holds the time of the last line.
    Lines(Instant),
}

impl Progress {
    /// Starts the display. `answers_on_terminal` is true if a bar would be mixed with printed results. A
    /// client of a server gets lines, and no bar.
    ///
    /// `total` is the number of bytes in all inputs; `None` if it is unknown or an input is compressed.
    pub fn new(when: When, total: Option<u64>, answers_on_terminal: bool) -> Self {
        let streams = Streams::current();
        let terminal = streams.client().is_none() && streams.is_terminal(Stream::Error);
        let shown = match when {
            When::Never => Shown::Nothing,
            When::Auto if !terminal || answers_on_terminal => Shown::Nothing,
            When::Auto => Shown::Later(QUIET_START),
            When::Always if terminal => Shown::Later(Duration::ZERO),
            When::Always => Shown::Lines(Instant::now()),
        };
        let mut progress = Self { total, shown, started: Instant::now(), streams };
        progress.update(0);
        progress
    }

    /// Sets the number of bytes in all inputs, which was unknown before.
    pub fn expect(&mut self, total: Option<u64>) {
        self.total = total;
    }

    /// Records that `bytes` bytes have been read so far, and updates the display.
    pub fn update(&mut self, bytes: u64) {
        // More bytes than expected: an input is compressed, though its name does not say so.
        self.total = self.total.filter(|total| bytes <= *total);
        let (total, started) = (self.total, self.started);
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Later(quiet) => {
                if started.elapsed() >= *quiet {
                    let bar = new_bar();
                    draw(&bar, bytes, total, started.elapsed());
                    *BAR.lock().unwrap_or_else(PoisonError::into_inner) = Some(bar.clone());
                    self.shown = Shown::Bar(bar);
                }
            }
            Shown::Bar(bar) => draw(bar, bytes, total, started.elapsed()),
            Shown::Lines(last) => {
                if last.elapsed() >= LINE_INTERVAL {
                    *last = Instant::now();
                    line(&self.streams, bytes, total, started);
                }
            }
        }
    }

    /// Removes the bar. Prints the last line, if progress is shown in lines. Callers call this before they
    /// print the end of the results.
    pub fn finish(&mut self, bytes: u64) {
        match &mut self.shown {
            Shown::Bar(bar) => {
                *BAR.lock().unwrap_or_else(PoisonError::into_inner) = None;
                bar.finish_and_clear();
            }
            Shown::Lines(_) => line(&self.streams, bytes, self.total, self.started),
            Shown::Nothing | Shown::Later(_) => {}
        }
        self.shown = Shown::Nothing;
    }
}

fn new_bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // `wide_msg` cuts what does not fit, should the terminal become narrower meanwhile.
    let style = ProgressStyle::with_template("{wide_msg}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}

fn draw(bar: &ProgressBar, bytes: u64, total: Option<u64>, elapsed: Duration) {
    let columns =
        terminal_size_of(io::stderr()).map_or(UNKNOWN_COLUMNS, |(Width(columns), _)| columns.into());
    bar.set_message(row(columns, bytes, total, elapsed));
}

/// The row of the bar, which has fewer characters than the terminal has columns.
fn row(columns: usize, bytes: u64, total: Option<u64>, elapsed: Duration) -> String {
    let room = columns.saturating_sub(1);
    let read = HumanBytes(bytes);
    let pace = pace(bytes, total, elapsed);
    let Some(total) = total else { return fitting([format!("{read}  {pace}"), read.to_string()], room) };
    let done = bytes as f64 / total.max(1) as f64;
    let numbers = format!("{read}/{}  {pace}", HumanBytes(total));
    let bar = room.saturating_sub(numbers.len() + 1).min(BAR_COLUMNS);
    if bar >= LEAST_BAR_COLUMNS {
        let full = (done * bar as f64) as usize;
        return format!("{}{} {numbers}", "█".repeat(full), "░".repeat(bar - full));
    }
    let percent = format!("{:.0} %", 100.0 * done);
    fitting([numbers, format!("{percent}  {pace}"), percent], room)
}

/// The first text that fits; else the last one, cut.
fn fitting<const N: usize>(texts: [String; N], room: usize) -> String {
    let mut shortest = String::new();
    for text in texts {
        if text.len() <= room {
            return text;
        }
        shortest = text;
    }
    shortest.chars().take(room).collect()
}

/// The bytes per second since the start, and the estimated time that is left.
fn pace(bytes: u64, total: Option<u64>, elapsed: Duration) -> String {
    let rate = bytes as f64 / elapsed.as_secs_f64().max(1e-9);
    let mut pace = format!("{}/s", HumanBytes(rate as u64));
    if let Some(left) = total.and_then(|total| total.checked_sub(bytes))
        && rate > 0.0
    {
        pace += &format!(", {:.0} s left", left as f64 / rate);
    }
    pace
}

fn line(streams: &Streams, bytes: u64, total: Option<u64>, started: Instant) {
    let of = total.map(|total| format!(" of {}", HumanBytes(total))).unwrap_or_default();
    let pace = pace(bytes, total, started.elapsed());
    streams.message(format!("progress: {}{of}, {pace}\n", HumanBytes(bytes)).as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_fits_in_the_terminal() {
        for columns in 0..250 {
            for total in [None, Some(0), Some(420_000_000), Some(u64::MAX)] {
                for bytes in [0, 1, 1023, 210_000_000, 420_000_000] {
                    let row = row(columns, bytes.min(total.unwrap_or(bytes)), total, Duration::from_secs(3));
                    assert!(row.chars().count() < columns.max(1), "{columns} {row}");
                    assert!(row.is_empty() == (columns < 2), "{columns} {row}");
                }
            }
        }
    }

    #[test]
    fn rows_of_some_terminals() {
        let at = |columns| row(columns, 210_000_000, Some(420_000_000), Duration::from_millis(500));
        let numbers = "200.27 MiB/400.54 MiB  400.54 MiB/s, 0 s left";
        assert_eq!(at(200), format!("{}{} {numbers}", "█".repeat(20), "░".repeat(20)));
        assert_eq!(at(80), format!("{}{} {numbers}", "█".repeat(16), "░".repeat(17)));
        assert_eq!(at(50), numbers);
        assert_eq!(at(40), "50 %  400.54 MiB/s, 0 s left");
        assert_eq!(at(10), "50 %");
    }
}
