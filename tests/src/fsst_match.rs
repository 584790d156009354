//! Checks the kernel that matches compressed strings against the CPU, and against the decoded strings.

use anyhow::{Context, Result, ensure};
use warpath_device::Accelerator;
use warpath_shared::fsst::automaton::{NO_FAULT, Verdict, fault_of};
use warpath_shared::fsst::{CodeFault, ESCAPE, Table};
use warpath_shared::kernel::{FsstMatch, FsstMatchArgs};
use warpath_store::fsst::{CodeAutomaton, MatchError, Pattern};

use crate::random::Rng;

/// Strings as codes, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Column {
    /// All codes.
    pub codes: Vec<u8>,
    /// The offset of each string, and the end of the last.
    pub offsets: Vec<u64>,
}

/// Makes a table of symbols.
///
/// # Panics
/// If a symbol does not have 1 to 8 bytes, or there are too many symbols.
pub fn table(symbols: &[Vec<u8>]) -> Table {
    let word = |symbol: &Vec<u8>| symbol.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte));
    let words: Vec<u64> = symbols.iter().map(word).collect();
    let lens: Vec<u8> = symbols.iter().map(|symbol| symbol.len() as u8).collect();
    Table::new(&words, &lens).expect("symbols of 1 to 8 bytes")
}

/// Launches the kernel, and returns the words of the matches and the fault word.
///
/// # Errors
/// An error of the device.
pub fn launch<A: Accelerator>(
    device: &A,
    automaton: &CodeAutomaton,
    codes: &[u8],
    offsets: &[u64],
) -> Result<(Vec<u64>, u64)> {
    // The bytes after the last code are arbitrary.
    let mut padded = codes.to_vec();
    padded.resize(codes.len().next_multiple_of(8), 0xa5);
    let words: Vec<u64> = padded.as_chunks().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect();
    let match_words = (offsets.len() - 1).div_ceil(64);

    let mut rows = device.alloc(automaton.rows().len())?;
    let mut code_words = device.alloc(words.len())?;
    let mut starts = device.alloc(offsets.len())?;
    let (mut matches, mut fault) = (device.alloc(match_words)?, device.alloc(1)?);
    device.upload(&mut rows, 0, automaton.rows())?;
    if !words.is_empty() {
        device.upload(&mut code_words, 0, &words)?;
    }
    device.upload(&mut starts, 0, offsets)?;
    device.upload(&mut fault, 0, &[NO_FAULT])?;
    let args = FsstMatchArgs {
        automaton: automaton.on(device.view(&rows, automaton.rows().len())),
        codes: device.view(&code_words, words.len()),
        offsets: device.view(&starts, offsets.len()),
        matches: device.view_mut(&mut matches, match_words),
        fault: device.view_mut(&mut fault, 1),
        codes_len: codes.len() as u64,
    };
    // SAFETY: all views are of this device's buffers, which are live, and every element that the kernel reads
    // has been uploaded above.
    unsafe { device.launch::<FsstMatch>(&args) }?;
    let (mut answer, mut fault_word) = (vec![0; match_words], [0]);
    device.download(&matches, 0, &mut answer)?;
    device.download(&fault, 0, &mut fault_word)?;
    Ok((answer, fault_word[0]))
}

/// Compares the results of a launch with the decoded strings and with the CPU.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn check<A: Accelerator>(device: &A, table: &Table, pattern: &Pattern, column: &Column) -> Result<()> {
    let automaton = CodeAutomaton::new(pattern, table)?;
    let (words, fault) = launch(device, &automaton, &column.codes, &column.offsets)?;
    let (mut want, mut first_fault) = (vec![0_u64; words.len()], None);
    for (string, pair) in column.offsets.windows(2).enumerate() {
        let codes = &column.codes[pair[0] as usize..pair[1] as usize];
        let is = automaton.matches_one(codes);
        let mut room = vec![0; 8 * codes.len()];
        match (table.decode(codes, &mut room), is) {
            (Ok(len), is) => ensure!(is == Ok(pattern.matches(&room[..len])), "{pattern:?}: string {string}"),
            (Err(fault), Err(found)) => ensure!(fault == found, "{pattern:?}: string {string}"),
            // The match was decided before the fault.
            (Err(_), Ok(_)) => {}
        }
        match is {
            Ok(is) => want[string / 64] |= u64::from(is) << (string % 64),
            Err(fault) => first_fault = first_fault.or(Some((string, fault))),
        }
    }
    ensure!(words == want, "{pattern:?} of {} strings: other answers", column.offsets.len() - 1);
    let kind = |fault| match fault {
        CodeFault::Escape(_) => Verdict::Escape,
        _ => Verdict::Unknown,
    };
    let told = first_fault.map(|(string, fault)| (string as u64, kind(fault)));
    ensure!(fault_of(fault) == told, "{pattern:?}: fault {:?}, not {told:?}", fault_of(fault));
    let cpu = automaton.matches(&column.codes, &column.offsets);
    match first_fault {
        None => ensure!(cpu == Ok(want), "{pattern:?}: the CPU's results differ"),
        Some((string, fault)) => {
            ensure!(cpu == Err(MatchError::Codes { string, fault }), "{pattern:?}: {cpu:?}");
        }
    }
    Ok(())
}

/// Checks random columns of up to `most` strings with random patterns.
///
/// # Errors
/// The first difference, or an error of the device.
pub fn suite<A: Accelerator>(device: &A, seed: u64, rounds: usize, most: usize) -> Result<()> {
    let rng = &mut Rng::new(seed);
    let bytes = |rng: &mut Rng, most: usize| -> Vec<u8> {
        (0..rng.below(most + 1)).map(|_| b"aaabb\xff\0\xc3\xa9"[rng.below(9)]).collect()
    };
    for round in 0..rounds {
        let symbols = [0, 1, 5, 60, 254, 255][rng.below(6)];
        let symbol = |rng: &mut Rng| {
            let mut symbol = bytes(rng, 7);
            symbol.push(b"ab\xff"[rng.below(3)]);
            symbol
        };
        let table = table(&(0..symbols).map(|_| symbol(rng)).collect::<Vec<_>>());
        let strings = match round % 4 {
            0 => [1, 31, 32, 33, 63, 64, 65, 511, 512, 513][rng.below(10)].min(most),
            _ => 1 + rng.below(most),
        };
        let (longest, is_faulty) = ([3, 20, 200][rng.below(3)], round % 3 == 0);
        let mut column = Column { codes: bytes(rng, 20), offsets: Vec::new() };
        column.offsets.push(column.codes.len() as u64);
        for _ in 0..strings {
            for _ in 0..rng.below(longest) {
                let code = rng.below(symbols + 1);
                if code == symbols {
                    column.codes.extend([ESCAPE, b"ab\xff\0"[rng.below(4)]]);
                } else {
                    column.codes.push(code as u8);
                }
            }
            if is_faulty && rng.below(40) == 0 {
                column.codes.push(if symbols < 255 && rng.below(2) == 0 { 254 } else { ESCAPE });
            }
            column.offsets.push(column.codes.len() as u64);
        }
        column.codes.extend(bytes(rng, 20));
        let piece = bytes(rng, 5);
        let like =
            ["", "%", "_", "a%", "%b", "%aab%", "a_b%", "%a_b%a", "__%é%", "%b__", "%_a_%"][rng.below(11)];
        let pattern = match rng.below(6) {
            0 => Pattern::Equals(piece),
            1 => Pattern::StartsWith(piece),
            2 => Pattern::EndsWith(piece),
            3 => Pattern::Contains(piece),
            _ => Pattern::like(like, None)?,
        };
        check(device, &table, &pattern, &column).with_context(|| format!("round {round} of seed {seed}"))?;
    }
    Ok(())
}
