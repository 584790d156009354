//! Workers that run ahead: their order, how far ahead they are, and how they end.
//!
//! No test here depends on time. The tests make threads wait for events ([`Watched`]), so they hold on a
//! machine of any speed. A fault either fails such a test or makes it wait without end.

use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;

use warpath::Limit;
use warpath_answer::answer::Answer;
use warpath_answer::backend::{StructuralIndex, Worker};

use super::*;
use crate::common::bare_backend;

/// The recorded work of a [`Watched`] backend's workers.
#[derive(Debug, Default)]
struct Recorded {
    /// The number of live workers, and of all workers so far.
    workers: usize,
    created: usize,
    /// The number of texts that workers have begun to evaluate, and their bytes.
    begun: usize,
    bytes: usize,
    /// The number of evaluated texts, and the offset of each in the input, for texts of [`numbered`].
    answered: usize,
    starts: Vec<usize>,
    /// The texts or bytes that the caller has received; a test sets it.
    given: usize,
    /// The number of times that the caller has requested more; a test sets it.
    calls: usize,
    /// Something was begun before its time.
    fault: Option<String>,
}

impl Recorded {
    /// Notes that more texts have been begun than there should be.
    fn limit_begun(&mut self, most: usize) {
        if self.begun > most {
            let fault = format!("{} texts are begun where {most} are the most: {self:?}", self.begun);
            self.fault.get_or_insert(fault);
        }
    }
}

/// An action of a worker between beginning a text and evaluating it.
type Before = Box<dyn Fn(&Watched, &[u8]) + Send + Sync>;

/// Answers as the CPU does. Threads can wait for what it has seen.
#[derive(Default)]
struct Watched {
    seen: Mutex<Recorded>,
    changed: Condvar,
    before: Option<Before>,
}

struct WatchedWorker<'a>(&'a Watched);

impl Watched {
    fn new(before: impl Fn(&Self, &[u8]) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { before: Some(Box::new(before)), ..Self::default() })
    }

    fn seen(&self) -> MutexGuard<'_, Recorded> {
        self.seen.lock().unwrap()
    }

    fn change(&self, change: impl FnOnce(&mut Recorded)) {
        change(&mut self.seen());
        self.changed.notify_all();
    }

    /// Waits until something holds, or there is a fault.
    fn wait(&self, until: impl Fn(&Recorded) -> bool) -> MutexGuard<'_, Recorded> {
        let waits = |seen: &mut Recorded| seen.fault.is_none() && !until(seen);
        self.changed.wait_while(self.seen(), waits).unwrap()
    }
}

impl Backend for Watched {
    bare_backend!("watched", partition_size: 1 << 20, workers: 4);
    fn worker(&self, _: usize) -> Result<Box<dyn Worker + '_>, Error> {
        self.change(|seen| {
            seen.workers += 1;
            seen.created += 1;
        });
        Ok(Box::new(WatchedWorker(self)))
    }
    fn index(&self, text: &[u8], levels: u32) -> Result<StructuralIndex, Error> {
        Cpu.index(text, levels)
    }
}

impl Worker for WatchedWorker<'_> {
    fn answer(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        self.0.change(|seen| {
            seen.begun += 1;
            seen.bytes += text.len();
        });
        if let Some(before) = &self.0.before {
            before(self.0, text);
        }
        let answer = Cpu.answer(text, program, want);
        self.0.change(|seen| {
            seen.answered += 1;
            seen.starts.extend(start_of(text));
        });
        answer
    }

    fn answer_strictly(&mut self, text: &[u8], program: &Program, want: Want) -> Result<Answer, Error> {
        warpath_cpu::strict::answer(text, program, want, |text| self.answer(text, program, want))
    }
}

impl Drop for WatchedWorker<'_> {
    fn drop(&mut self) {
        self.0.change(|seen| seen.workers -= 1);
    }
}

/// Bytes of a line of [`numbered`].
const LINE: usize = 16;

/// Lines of [`LINE`] bytes that say where they begin: see [`start_of`].
fn numbered(count: usize) -> Vec<u8> {
    (0..count).flat_map(|n| format!("{{\"a\":\"{n:07}\"}}\n").into_bytes()).collect()
}

/// The offset in [`numbered`] of a text that was cut out of it.
fn start_of(text: &[u8]) -> Option<usize> {
    let number = std::str::from_utf8(text.get(6..13)?).ok()?;
    Some(LINE * number.parse::<usize>().ok()?)
}

/// The results are in order, whichever worker is slow. Each text of an odd number is evaluated before its
/// predecessor. The first is evaluated only when the greatest possible number of texts after it are done.
#[test]
fn slow_workers_keep_the_order() -> Result<()> {
    const SIZE: usize = 10 * LINE;
    const WORKERS: usize = 8;
    // Two texts a worker are out at most, and the first is one of them.
    const BEHIND: usize = 2 * WORKERS - 1;
    let text = numbered(2000);
    let last = text.len() - SIZE;
    let watched = Watched::new(move |watched, text| {
        let number = start_of(text).unwrap() / SIZE;
        let waits_for = if number == 0 { BEHIND } else { number | 1 };
        if waits_for > number && waits_for * SIZE <= last {
            drop(watched.wait(|seen| seen.starts.iter().any(|start| start / SIZE == waits_for)));
        }
    });
    let backend: Arc<dyn Backend> = watched.clone();
    let folder = Folder::new(&[text]);
    // A caller who may stop soon would not let workers run ahead so far.
    let want = Want::default().matches(true);
    let program = Program::new(&[Query::compile("$.a")?])?;
    let mut got = Vec::new();
    for batch in engine(&backend, SIZE, WORKERS, OnError::Fail).input(folder.sources()).answers(program, want)
    {
        let batch = batch?;
        for (_, piece) in batch.pieces() {
            got.extend(piece.matches[0].iter().map(|found| batch.match_text(piece, found).to_vec()));
        }
    }
    assert_eq!(got, (0..2000).map(|n| format!("\"{n:07}\"").into_bytes()).collect::<Vec<_>>());
    let seen = watched.seen();
    let numbers: Vec<usize> = seen.starts.iter().map(|start| start / SIZE).collect();
    assert_eq!(numbers.len(), 200);
    let place = |number| numbers.iter().position(|answered| *answered == number);
    ensure!(place(0) > place(BEHIND) && (1..100).all(|pair| place(2 * pair) > place(2 * pair + 1)));
    Ok(())
}

/// Workers do not run far ahead of a caller that does not consume. A caller that stops early leaves no worker
/// running.
#[test]
fn workers_wait_for_the_caller_and_end_with_it() -> Result<()> {
    const WORKERS: usize = 3;
    let folder = Folder::new(&[lines(50_000)]);
    for taken in [0, 1, 5, 300] {
        // At most two texts per worker are out, beside those that the caller has requested.
        let watched = Watched::new(|watched, _| {
            watched.change(|seen| seen.limit_begun(seen.calls + 2 * WORKERS));
        });
        let backend: Arc<dyn Backend> = watched.clone();
        let engine = engine(&backend, 200, WORKERS, OnError::Fail);
        let mut answers =
            engine.input(folder.sources()).answers(Program::new(&[Query::compile("$.a")?])?, Want::default());
        for call in 0..=taken {
            // The workers begin that many, even if the caller requests no more.
            let seen = watched.wait(|seen| seen.begun == call + 2 * WORKERS && seen.answered == seen.begun);
            ensure!(seen.fault.is_none(), "{seen:?}");
            ensure!((1..=WORKERS).contains(&seen.workers) && seen.created == seen.workers, "{seen:?}");
            drop(seen);
            if call < taken {
                watched.change(|seen| seen.calls += 1);
                ensure!(answers.next().is_some_and(|batch| batch.is_ok()));
            }
        }
        drop(answers);
        // All workers have ended.
        let seen = watched.seen();
        ensure!(seen.fault.is_none() && seen.workers == 0, "{seen:?}");
        assert_eq!((seen.begun, seen.answered), (taken + 2 * WORKERS, taken + 2 * WORKERS));
    }
    Ok(())
}

/// The most texts of an input that may be begun when `used` have been used up, if the caller may stop soon.
/// At first it is the next text alone. From the sixth on, each used text allows one more ahead, up to two for
/// each of four workers.
fn begun_at_most(used: usize) -> usize {
    used + 1 + used.saturating_sub(4).min(7)
}

/// Workers run little ahead of a caller that may stop soon. They read ahead about as much as was used, and
/// nothing while it is used.
#[test]
fn what_may_be_left_soon_is_read_little_by_little() -> Result<()> {
    const SIZE: usize = 100 * LINE;
    /// The number of texts that are used one at a time. They and those ahead of them end before [`IN_TURN`].
    const ONE_AT_A_TIME: usize = 30;
    /// From here on a text waits for its turn.
    const IN_TURN: usize = 45 * SIZE;
    /// From here on a text waits for all workers.
    const TOGETHER: usize = 60 * SIZE;
    let text = numbered(20_000);
    let folder = Folder::new(std::slice::from_ref(&text));
    let program = Program::new(&[Query::compile("$.a")?])?;
    let want = Want::default().matches(true).limit(Limit::Matches(1_000_000));
    for reader in [false, true] {
        let watched = Watched::new(|watched, text| {
            let start = start_of(text).unwrap();
            watched.change(|seen| {
                // The caller has used up its text when it requests more.
                let used = seen.calls.saturating_sub(1);
                seen.limit_begun(begun_at_most(used));
            });
            // Once texts are used as fast as they come, all workers run. A worker that takes a text while
            // there is room starts another. Texts that wait for the caller's request leave room, so each of
            // the other workers is started.
            if start >= IN_TURN {
                drop(watched.wait(|seen| seen.given >= start));
            }
            if start >= TOGETHER {
                drop(watched.wait(|seen| seen.created == 4));
            }
        });
        let backend: Arc<dyn Backend> = watched.clone();
        let engine = engine(&backend, SIZE, 4, OnError::Fail);
        let input = match reader {
            true => engine.reader("text", Cursor::new(text.clone())),
            false => engine.input(folder.sources()),
        };
        let mut answers = input.answers(program.clone(), want);
        let (mut given, mut used) = (0, 0);
        loop {
            watched.change(|seen| seen.calls += 1);
            let Some(batch) = answers.next() else { break };
            let before = given;
            given += batch?.text().len();
            watched.change(|seen| seen.given = given);
            if used < ONE_AT_A_TIME {
                // The workers begin as much as they may, while the caller has its text.
                let seen = watched.wait(|seen| seen.begun == begun_at_most(used));
                ensure!(seen.fault.is_none(), "{seen:?}");
                // Lines may end after their part, and parts grow by that length.
                let most = 2 * before + SIZE / 16 + LINE * seen.begun;
                let read = answers.bytes_read() as usize;
                ensure!(
                    read == seen.bytes && read <= most.max(given),
                    "{read} bytes are read, {before} used"
                );
                used += 1;
            }
        }
        let seen = watched.seen();
        ensure!(seen.fault.is_none(), "{seen:?}");
        ensure!(given == text.len() && answers.bytes_read() as usize == given);
        assert_eq!(answers.stats().workers, 4);
    }
    // The first part has 100 bytes, and so at least five lines: no other is begun.
    for _ in 0..20 {
        let watched = Watched::new(|watched, _| watched.change(|seen| seen.limit_begun(1)));
        let backend: Arc<dyn Backend> = watched.clone();
        let engine = engine(&backend, SIZE, 4, OnError::Fail);
        let mut hits = engine.input(folder.sources()).query(&Query::compile("$.a")?)?;
        ensure!(hits.by_ref().take(5).all(|hit| hit.is_ok()));
        drop(hits);
        let seen = watched.seen();
        assert_eq!((seen.begun, seen.answered), (1, 1));
    }
    Ok(())
}

/// A reader that gives nothing, ever.
struct Silent;

impl Read for Silent {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        loop {
            thread::park();
        }
    }
}

/// Says that it was read.
struct Touched(Arc<AtomicUsize>);

impl Read for Touched {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(0)
    }
}

#[test]
fn what_lies_behind_an_input_that_is_left_is_not_opened() -> Result<()> {
    let touched = Arc::new(AtomicUsize::new(0));
    for backend in backends() {
        let engine = engine(&backend, 100, 3, OnError::Fail);
        let first = Source::Reader("endless".into(), Box::new(Cursor::new("1\n").chain(Silent)));
        let second = Source::Reader("behind".into(), Box::new(Touched(touched.clone())));
        let mut hits = engine.input(vec![first, second]).query(&Query::compile("$")?)?;
        ensure!(hits.next().context("a hit")??.text() == "1");
        drop(hits);
        // All threads but the one that reads for an input have ended.
        ensure!(touched.load(Ordering::SeqCst) == 0, "{} reads", touched.load(Ordering::SeqCst));
    }
    Ok(())
}

#[test]
fn an_input_that_never_ends_can_be_left() -> Result<()> {
    let watched = Arc::new(Watched::default());
    let backend: Arc<dyn Backend> = watched.clone();
    let engine = engine(&backend, 100, 3, OnError::Fail);
    let mut hits = engine.reader("silent", Cursor::new("1\n").chain(Silent)).query(&Query::compile("$")?)?;
    ensure!(hits.next().context("a hit")??.text() == "1");
    // This would wait without end for a worker that waits for the input.
    drop(hits);
    let seen = watched.seen();
    assert_eq!((seen.workers, seen.created), (0, 1));
    Ok(())
}

/// A file that becomes shorter while it is read. Its whole lines are evaluated, and then there is an error,
/// unless it was read before.
#[test]
fn a_file_may_shrink_while_it_is_read() -> Result<()> {
    for left in [0, 1, 5000, 100_000] {
        let folder = Folder::new(&[lines(20_000)]);
        let path = folder.paths[0].clone();
        let backend: Arc<dyn Backend> = Watched::new(move |_, _| shrink_to(&path, left));
        let input = engine(&backend, 1000, 4, OnError::Fail).input(folder.sources());
        let mut next = 0;
        let mut failed = None;
        for hit in input.query(&Query::compile("$.a")?)? {
            match hit {
                Ok(hit) => {
                    assert_eq!(hit.text(), next.to_string());
                    next += 1;
                }
                Err(error) => failed = Some(error),
            }
        }
        ensure!(matches!(failed, Some(Error::Input(InputError::Io { .. }))), "{left}: {failed:?}");
        ensure!(next < 20_000);
    }
    Ok(())
}

fn shrink_to(path: &Path, len: u64) {
    let file = File::options().write(true).open(path).unwrap();
    if file.metadata().unwrap().len() > len {
        file.set_len(len).unwrap();
    }
}
