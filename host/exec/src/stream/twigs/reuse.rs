//! Results of lines that are equal to earlier ones.
//!
//! A partial line has little more than what subscriptions test. Where they test names alone, it has no
//! values, so the lines of most data have few different texts. Each is evaluated once. If fewer than half of
//! the lines are known, a text is evaluated as it is, and so are the next ones.

use foldhash::{HashMap, HashMapExt as _};
use warpath_answer::answer::LineFault;
use warpath_core::error::Error;
use warpath_cpu::twig::standing::DocumentMatches;
use warpath_shared::check::Fault;

/// The most bytes of known lines and of their results that are kept for the next text.
const MOST_BYTES: usize = 1 << 20;
/// The lines after which a text is given up, if fewer than half of them are known.
const TRIAL: usize = 512;
/// The texts that are evaluated as they are after one that was given up.
const PAUSE: usize = 15;

/// Known lines and their results, for the subscriptions of one run.
#[derive(Debug)]
pub(super) struct Reuse {
    /// The numbers of the lines' results.
    known: HashMap<Box<[u8]>, u32>,
    results: Vec<LineResult>,
    /// The subscriptions of all results.
    numbers: Vec<u32>,
    /// Bytes of the known lines.
    bytes: usize,
    /// The texts that are still evaluated as they are.
    pause: usize,
    /// The lines of a text that are not known, and the number of the result of each line.
    fresh: Vec<u8>,
    lines: Vec<u32>,
}

/// The result for a line.
#[derive(Clone, Copy, Debug)]
struct LineResult {
    /// The begin and the end of its subscriptions among all.
    numbers: (u32, u32),
    fault: Option<Fault>,
}

impl Default for Reuse {
    fn default() -> Self {
        Self {
            known: HashMap::new(),
            results: Vec::new(),
            numbers: Vec::new(),
            bytes: 0,
            pause: 0,
            fresh: Vec::new(),
            lines: Vec::new(),
        }
    }
}

impl Reuse {
    /// The matches of the lines of a text. `evaluate` evaluates lines, each by its bytes alone.
    pub fn lines(
        &mut self,
        text: &[u8],
        mut evaluate: impl FnMut(&[u8]) -> Result<DocumentMatches, Error>,
    ) -> Result<DocumentMatches, Error> {
        if self.pause > 0 {
            self.pause -= 1;
            return evaluate(text);
        }
        if !self.find(text) {
            self.forget();
            self.pause = PAUSE;
            return evaluate(text);
        }
        let found = match self.fresh.is_empty() {
            true => Ok(DocumentMatches::default()),
            false => evaluate(&self.fresh),
        };
        match found {
            Ok(found) => self.learn(&found),
            Err(error) => {
                // Some known lines have no result.
                self.forget();
                return Err(error);
            }
        }
        let found = self.found();
        if self.bytes + size_of::<u32>() * self.numbers.len() > MOST_BYTES {
            self.forget();
        }
        Ok(found)
    }

    /// Finds the number of each line's result, and the lines that are not known. Returns false if too few
    /// are known.
    fn find(&mut self, text: &[u8]) -> bool {
        let Self { known, results, bytes, fresh, lines, .. } = self;
        fresh.clear();
        lines.clear();
        let mut next = results.len();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            if lines.len() == TRIAL && 2 * (next - results.len()) > TRIAL {
                return false;
            }
            if let Some(number) = known.get(line) {
                lines.push(*number);
                continue;
            }
            if *bytes + line.len() <= MOST_BYTES {
                *bytes += line.len();
                known.insert(line.into(), next as u32);
            }
            lines.push(next as u32);
            fresh.extend_from_slice(line);
            next += 1;
        }
        true
    }

    /// Adds the results of the lines that were not known.
    fn learn(&mut self, found: &DocumentMatches) {
        let (mut pairs, mut faults) = (found.pairs.iter().peekable(), found.faults.iter().peekable());
        for line in 0..found.lines {
            let begin = self.numbers.len() as u32;
            while let Some((_, number)) = pairs.next_if(|(other, _)| *other == line) {
                self.numbers.push(*number);
            }
            let fault = faults.next_if(|fault| fault.line == line).map(|fault| fault.fault);
            self.results.push(LineResult { numbers: (begin, self.numbers.len() as u32), fault });
        }
    }

    /// The results of all lines.
    fn found(&self) -> DocumentMatches {
        let mut found = DocumentMatches { lines: self.lines.len() as u32, ..DocumentMatches::default() };
        for (line, number) in (0..).zip(&self.lines) {
            let Some(LineResult { numbers, fault }) = self.results.get(*number as usize) else { continue };
            let numbers = self.numbers.get(numbers.0 as usize..numbers.1 as usize).unwrap_or_default();
            found.pairs.extend(numbers.iter().map(|number| (line, *number)));
            found.faults.extend(fault.map(|fault| LineFault { line, fault }));
        }
        found
    }

    /// Forgets all known lines.
    fn forget(&mut self) {
        self.known.clear();
        self.results.clear();
        self.numbers.clear();
        self.bytes = 0;
    }
}

#[cfg(test)]
mod tests {
    use warpath_shared::check::FaultKind;

    use super::*;

    /// Lines of digits match the subscriptions with these numbers; a line that begins with `x` is faulty.
    fn evaluate(text: &[u8]) -> DocumentMatches {
        let mut found = DocumentMatches::default();
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            match line.first() {
                Some(b'x') => {
                    let fault = Fault { kind: FaultKind::NoValue, at: line.len() };
                    found.faults.push(LineFault { line: found.lines, fault });
                }
                _ => {
                    let digits = line.iter().filter(|byte| byte.is_ascii_digit());
                    found.pairs.extend(digits.map(|digit| (found.lines, u32::from(digit - b'0'))));
                }
            }
            found.lines += 1;
        }
        found
    }

    /// Evaluates a text, and compares the results. Returns the number of lines that were evaluated.
    fn evaluated(reuse: &mut Reuse, text: &str) -> usize {
        let mut lines = 0;
        let found = reuse.lines(text.as_bytes(), |text| {
            lines += text.split_inclusive(|byte| *byte == b'\n').count();
            Ok(evaluate(text))
        });
        assert_eq!(found.unwrap(), evaluate(text.as_bytes()), "{text}");
        lines
    }

    #[test]
    fn equal_lines_are_evaluated_once() {
        let mut reuse = Reuse::default();
        for (text, lines) in [
            ("", 0),
            ("1\n12\n1\n\n1\nx\nx\n", 4),
            ("12\n\nx\n12\n", 0),
            // A line without its newline is another one.
            ("12\n12", 1),
            ("3\n12", 1),
        ] {
            assert_eq!(evaluated(&mut reuse, text), lines, "{text}");
        }
    }

    #[test]
    fn texts_whose_lines_differ_are_evaluated_as_they_are() {
        let mut reuse = Reuse::default();
        let other = |from: usize| (from..from + 2 * TRIAL).map(|at| format!("{at}\n")).collect::<String>();
        let equal = "12\n".repeat(2 * TRIAL);
        assert_eq!(evaluated(&mut reuse, &equal), 1);
        assert_eq!(evaluated(&mut reuse, &other(0)), 2 * TRIAL);
        for _ in 0..PAUSE {
            assert_eq!(evaluated(&mut reuse, &equal), 2 * TRIAL);
        }
        assert_eq!(evaluated(&mut reuse, &equal), 1);
        // Few lines are not given up.
        let few: String = other(0).lines().take(TRIAL).map(|line| format!("{line}\n")).collect();
        assert_eq!(evaluated(&mut reuse, &few), TRIAL - 1, "12 is known");
    }

    #[test]
    fn memory_is_bounded() {
        let mut reuse = Reuse::default();
        let long = "7".repeat(MOST_BYTES / 3);
        for round in 0..9 {
            let text = format!("{round}{long}\n{round}{long}\n1\n1\n");
            evaluated(&mut reuse, &text);
            assert!(reuse.bytes <= MOST_BYTES && reuse.numbers.len() <= MOST_BYTES / 4);
        }
        let text = format!("{}\n", "7".repeat(MOST_BYTES + 1));
        assert_eq!(evaluated(&mut reuse, &text.repeat(2)), 2, "a line that is too long is not kept");
    }

    #[test]
    fn nothing_is_known_after_an_error() {
        let mut reuse = Reuse::default();
        evaluated(&mut reuse, "1\n");
        reuse.lines(b"2\n3\n", |_| Err(Error::Cancelled)).unwrap_err();
        assert_eq!(evaluated(&mut reuse, "1\n2\n3\n2\n"), 3);
    }
}
