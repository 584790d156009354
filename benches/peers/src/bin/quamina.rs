//! Matches events against many patterns by [`quamina`], as its documentation recommends. Warpath's standing
//! queries are compared with it.
//!
//! ```text
//! quamina PATTERNS EVENTS one|all|THREADS [RUNS [EACH]]
//! quamina --version
//! ```
//!
//! PATTERNS has a line for each pattern: an id, a tab and the pattern. EVENTS is NDJSON. Each run prints a
//! line of JSON: the number of events, the number of pairs of an event and a pattern that match, and the
//! time. The file is mapped, so the time includes reading it from the page cache. Adding patterns is timed by
//! itself, together with the first match, which freezes the automata.
//!
//! Matching needs no lock, but it counts in statistics that all threads of one matcher share. So each thread
//! has a clone, made before the time begins. A thread that is ready takes the next stretch of lines.
//!
//! All patterns are in one matcher, unless EACH gives the number of patterns a matcher. Each event is then
//! matched by every matcher. Version 0.7.0 needs that from some thousand patterns on. If several patterns
//! test a field for the same value, it gives each a state of its own after that value and follows all these
//! states. It panics if they are more than 255.

use std::fs::{self, File};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use anyhow::{Context, Error, Result, bail};
use memmap2::Mmap;
use peers::{lines, stretches};
use quamina::{Quamina, QuaminaBuilder};
use serde_json::json;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The number of a pattern: smaller than the id that its line has.
type Id = u32;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let (patterns, events, threads, runs, each) = match args.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        ["--version"] => {
            println!("{}", version()?);
            return Ok(());
        }
        [patterns, events, threads] => (patterns, events, threads, 1, usize::MAX),
        [patterns, events, threads, runs] => (patterns, events, threads, runs.parse()?, usize::MAX),
        [patterns, events, threads, runs, each] => (patterns, events, threads, runs.parse()?, each.parse()?),
        _ => bail!("usage: quamina PATTERNS EVENTS one|all|THREADS [RUNS [EACH]]"),
    };
    let threads = match threads {
        "one" => 1,
        "all" => thread::available_parallelism()?.get(),
        number => number.parse().context("threads are one, all, or a number")?,
    };
    let file = File::open(events).with_context(|| events.to_owned())?;
    // SAFETY: the bench's data files are written once and never changed while a program reads them.
    let text = unsafe { Mmap::map(&file) }?;
    let first = lines(&text).next().context("there is no event")?;

    let patterns = fs::read_to_string(patterns).with_context(|| patterns.to_owned())?;
    let start = Instant::now();
    let one = Matcher::new(&patterns, each)?;
    one.matches(first)?;
    let adding = start.elapsed().as_secs_f64();
    // A clone is frozen at its first match, too.
    let matchers = vec![one; threads];
    matchers.iter().try_for_each(|matcher| matcher.matches(first).map(drop))?;

    for _ in 0..runs {
        let start = Instant::now();
        let found = found(&matchers, &text)?;
        let seconds = start.elapsed().as_secs_f64();
        println!(
            "{}",
            json!({
                "patterns": matchers[0].0.iter().map(Quamina::pattern_count).sum::<usize>(),
                "matchers": matchers[0].0.len(),
                "seconds_to_add": adding,
                "threads": matchers.len(),
                "events": found.events,
                "matches": found.matches,
                "seconds": seconds,
                "events_per_second": found.events as f64 / seconds,
            })
        );
    }
    Ok(())
}

/// The version that this was built with, as the lock file has it.
fn version() -> Result<&'static str> {
    let lock = include_str!("../../Cargo.lock");
    let (_, entry) = lock.split_once("name = \"quamina\"\nversion = \"").context("no quamina")?;
    Ok(entry.split('"').next().unwrap_or_default())
}

/// All patterns of a file.
#[derive(Clone)]
struct Matcher(Vec<Quamina<Id>>);

impl Matcher {
    /// With at most `each` patterns in one.
    fn new(patterns: &str, each: usize) -> Result<Self> {
        let mut matchers = Vec::new();
        for (at, line) in patterns.lines().enumerate() {
            if at.is_multiple_of(each) {
                // The default is made against strangers' patterns, and small for 100,000.
                matchers.push(QuaminaBuilder::new().with_arena_byte_budget(usize::MAX).build()?);
            }
            let (_, pattern) =
                line.split_once('\t').with_context(|| format!("line {}: a tab is missing", at + 1))?;
            let matcher: &mut Quamina<Id> = matchers.last_mut().expect("the first line began one");
            matcher.add_pattern(at as Id, pattern).with_context(|| format!("line {}", at + 1))?;
        }
        Ok(Self(matchers))
    }

    /// Returns the number of patterns that an event matches.
    fn matches(&self, event: &[u8]) -> Result<usize> {
        self.0.iter().try_fold(0, |sum, matcher| Ok(sum + matcher.matches_for_event(event)?.len()))
    }
}

/// The numbers of events and of matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally {
    events: usize,
    /// Pairs of an event and a pattern that it matches.
    matches: usize,
}

impl std::iter::Sum for Tally {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            events: sum.events + one.events,
            matches: sum.matches + one.matches,
        })
    }
}

/// Matches all events, with a thread for each matcher.
fn found(matchers: &[Matcher], text: &[u8]) -> Result<Tally> {
    let stretches = stretches(text);
    let next = AtomicUsize::new(0);
    let work = |matcher: &Matcher| {
        let mut found = Tally::default();
        while let Some(stretch) = stretches.get(next.fetch_add(1, Ordering::Relaxed)) {
            for event in lines(stretch) {
                found.matches += matcher.matches(event)?;
                found.events += 1;
            }
        }
        Ok::<_, Error>(found)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = matchers.iter().map(|matcher| scope.spawn(move || work(matcher))).collect();
        threads.into_iter().map(|thread| thread.join().expect("matching does not panic")).sum()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_has_a_version() {
        assert!(version().unwrap().starts_with(|char: char| char.is_ascii_digit()));
    }

    #[test]
    fn pairs_are_counted() {
        let patterns = "a\t{\"event\":{\"level\":[\"error\"],\"user\":{\"id\":[7]}}}\nb\t{\"event\":{\"tags\":[\"x\"]}}\n\
                        c\t{\"event\":{\"user\":{\"on\":[true]}}}\n";
        let events = br#"{"id":"1","event":{"level":"error","user":{"id":7,"on":false},"tags":["y","x"]}}
{"id":"2","event":{"level":"error","user":{"id":70,"on":true},"tags":[]}}

{"id":"3","event":{"level":"info","user":{"id":7}}}
"#;
        for each in [1, 2, usize::MAX] {
            let one = Matcher::new(patterns, each).unwrap();
            assert_eq!(one.0.len(), 3_usize.div_ceil(each));
            assert_eq!(found(std::slice::from_ref(&one), events).unwrap(), Tally { events: 3, matches: 3 });
            let many = events.repeat(20_000);
            let all = found(&[one.clone(), one], &many).unwrap();
            assert_eq!(all, Tally { events: 60_000, matches: 60_000 });
        }
        assert!(Matcher::new("no tab", 1).is_err() && Matcher::new("a\t{", 1).is_err());
    }
}
