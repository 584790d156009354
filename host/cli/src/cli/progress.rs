//! Progress on standard error.

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{HumanBytes, ProgressBar, ProgressDrawTarget, ProgressStyle};
use warpath::Source;
use warpath::packed::PackedFile;

use super::args::When;

/// The time before a bar is shown. A shorter run shows no bar.
const QUIET_START: Duration = Duration::from_millis(500);
/// The time between two lines, if standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(1);

/// The progress of a run.
pub struct Progress {
    /// The number of bytes in all inputs. `None` if it is unknown or an input is compressed.
    total: Option<u64>,
    shown: Shown,
    started: Instant,
}

enum Shown {
    Nothing,
    /// A bar. `None` until [`QUIET_START`] has passed.
    Bar(Option<ProgressBar>),
    /// Lines at an interval. Holds the time of the last line.
    Lines(Instant),
}

impl Progress {
    /// Starts the display. `answers_on_terminal` is true if a bar would be mixed with printed results.
    pub fn new(when: When, sources: &[Source], answers_on_terminal: bool) -> Self {
        let terminal = io::stderr().is_terminal();
        let shown = match when {
            When::Never => Shown::Nothing,
            When::Auto if !terminal || answers_on_terminal => Shown::Nothing,
            _ if terminal => Shown::Bar(None),
            _ => Shown::Lines(Instant::now()),
        };
        let total = sources.iter().map(plain_size).sum();
        Self { total, shown, started: Instant::now() }
    }

    /// Records that `bytes` bytes have been read so far, and updates the display.
    pub fn update(&mut self, bytes: u64) {
        // More bytes than expected: an input is compressed, though its name does not say so.
        self.total = self.total.filter(|total| bytes <= *total);
        let (total, started) = (self.total, self.started);
        match &mut self.shown {
            Shown::Nothing => {}
            Shown::Bar(bar) => {
                if bar.is_some() || started.elapsed() >= QUIET_START {
                    let bar = bar.get_or_insert_with(|| new_bar(total));
                    bar.set_position(bytes);
                    bar.set_message(pace(bytes, total, started.elapsed()));
                    if total.is_none() && bar.length().is_some() {
                        bar.unset_length();
                        bar.set_style(style(None));
                    }
                }
            }
            Shown::Lines(last) => {
                if last.elapsed() >= LINE_INTERVAL {
                    *last = Instant::now();
                    line(bytes, total, started);
                }
            }
        }
    }

    /// Removes the bar, so that messages can be printed. Prints the last line, if progress is shown in lines.
    pub fn finish(&mut self, bytes: u64) {
        match &mut self.shown {
            Shown::Bar(Some(bar)) => bar.finish_and_clear(),
            Shown::Lines(_) => line(bytes, self.total, self.started),
            _ => {}
        }
        self.shown = Shown::Nothing;
    }
}

/// The number of bytes of text in an input. `None` if the size is unknown, or the name has the extension of a
/// compressed file.
fn plain_size(source: &Source) -> Option<u64> {
    let name = source.name();
    let extension = Path::new(&name).extension().unwrap_or_default();
    match source {
        Source::File(path) if extension == "wpk" => {
            PackedFile::open(path).ok().map(|file| file.info().text_bytes)
        }
        _ if ["gz", "zst", "zstd"].iter().any(|known| extension == *known) => None,
        _ => source.size(),
    }
}

fn new_bar(total: Option<u64>) -> ProgressBar {
    let bar = ProgressBar::with_draw_target(total, ProgressDrawTarget::stderr());
    bar.set_style(style(total));
    bar
}

fn style(total: Option<u64>) -> ProgressStyle {
    let template = match total {
        Some(_) => "{bar:40} {bytes}/{total_bytes}  {msg}",
        None => "{spinner} {bytes}  {msg}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
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

fn line(bytes: u64, total: Option<u64>, started: Instant) {
    let of = total.map(|total| format!(" of {}", HumanBytes(total))).unwrap_or_default();
    let pace = pace(bytes, total, started.elapsed());
    let _ = writeln!(io::stderr().lock(), "progress: {}{of}, {pace}", HumanBytes(bytes));
}
