//! Compares a device's strict checks with those of the host ([`warpath_cpu::strict::faults`]).
//! `tests/tests/strict.rs` compares the host's with other parsers.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use anyhow::{Context, Result, ensure};
use warpath_cpu::strict;
use warpath_device::{Accelerator, Pipeline};
use warpath_random::table::rows;
use warpath_shared::check::trim;
use warpath_shared::units::{MAX_DEPTH, STRETCH_BYTES, TILE_BYTES, WORD_BYTES};

use crate::data::{BOUNDARY_LINES, FILES};
use crate::random::{self, Rng};
use crate::trees::brackets;

/// Compares the faults of a text with the host's, and returns their number.
///
/// # Errors
/// A difference, or an error of the device.
pub fn check<A: Accelerator>(pipeline: &Pipeline<A>, text: &[u8]) -> Result<usize> {
    let want = strict::faults(text);
    let got = pipeline.strict_faults(text)?;
    if got == want {
        return Ok(want.len());
    }
    let other = got.iter().zip(&want).position(|(got, want)| got != want);
    let at = other.unwrap_or(got.len().min(want.len()));
    let (got, want) = (got.get(at), want.get(at));
    let line = got.into_iter().chain(want).map(|fault| fault.line as usize).min().unwrap_or_default();
    let line = text.split(|byte| *byte == b'\n').nth(line).unwrap_or_default();
    let shown = line[..line.len().min(400)].escape_ascii();
    anyhow::bail!("fault {at} of {} bytes is {got:?}, not {want:?}: {shown}", text.len())
}

/// The values of `json.txt`.
static VALUES: LazyLock<Vec<Vec<u8>>> =
    LazyLock::new(|| rows::<1>(include_str!("../data/json.txt"), "values").concat());

/// A text of each value after `shift` bytes: on a line of its own, in an array, in an object, and cut off by
/// a newline.
fn values(shift: usize) -> Vec<u8> {
    let mut text = " ".repeat(shift).into_bytes();
    for value in VALUES.iter() {
        for (before, behind) in [(&b""[..], &b"\n"[..]), (b"[", b",1]\n"), (b"{\"a\":", b"}\r\n")] {
            text.extend_from_slice(&[before, &value[..], behind].concat());
        }
        for cut in 1..value.len() {
            text.extend_from_slice(&[&value[..cut], b"\n"].concat());
        }
    }
    for line in BOUNDARY_LINES {
        text.extend_from_slice(line.as_bytes());
        text.push(b'\n');
    }
    text
}

/// Checks the files of `tests/data`.
///
/// # Errors
/// A difference, or an error of the device.
pub fn files<A: Accelerator>(pipeline: &Pipeline<A>) -> Result<()> {
    for (name, text) in FILES {
        check(pipeline, text).with_context(|| name.to_owned())?;
    }
    Ok(())
}

/// Moves all forms of values across the offsets of a word, in steps.
///
/// # Errors
/// A difference, or an error of the device.
pub fn slide<A: Accelerator>(pipeline: &Pipeline<A>, step: usize) -> Result<()> {
    for shift in (0..WORD_BYTES).step_by(step) {
        let found = check(pipeline, &values(shift)).with_context(|| format!("shift {shift}"))?;
        ensure!(found > 3 * 65, "{found} faults");
    }
    Ok(())
}

/// Moves every `step`th value across the boundaries of a word, a stretch and a tile. White space, a string or
/// a good line comes before the value.
///
/// # Errors
/// A difference, or an error of the device.
pub fn boundaries<A: Accelerator>(pipeline: &Pipeline<A>, step: usize) -> Result<()> {
    for boundary in [WORD_BYTES, STRETCH_BYTES, TILE_BYTES] {
        let mut texts = vec![Vec::new(); 3];
        for (i, value) in VALUES.iter().enumerate().step_by(step) {
            for back in 0..=value.len() {
                for (way, text) in texts.iter_mut().enumerate() {
                    // One text holds all values, each at the next boundary.
                    let at = (text.len() + 8 + value.len()).next_multiple_of(boundary) - back;
                    let fill = |len: usize| [" ", "x", "1"][(i + len) % 3].repeat(len).into_bytes();
                    let room = at - text.len();
                    match way {
                        0 => text.resize(at, b' '),
                        1 => {
                            text.extend_from_slice(b"[\"");
                            text.extend(fill(room - 4));
                            text.extend_from_slice(b"\",");
                        }
                        _ => {
                            text.extend_from_slice(b"\"");
                            text.extend(fill(room - 3));
                            text.extend_from_slice(b"\"\n");
                        }
                    }
                    text.extend_from_slice(value);
                    text.extend_from_slice(if way == 1 { b"]\n" } else { b"\n" });
                }
            }
        }
        for text in &texts {
            check(pipeline, text).with_context(|| format!("{boundary}"))?;
        }
    }
    Ok(())
}

/// Checks each byte in each context, with the context at the offsets of a word, in steps.
///
/// # Errors
/// A difference, or an error of the device.
pub fn bytes<A: Accelerator>(pipeline: &Pipeline<A>, step: usize) -> Result<()> {
    let places: [(&[u8], &[u8]); 14] = [
        (b"", b""),
        (b"\"", b"\""),
        (b"\"\\", b"\""),
        (b"\"\\", b"0041\""),
        (b"\"\\u0", b"41\""),
        (b"\"\\u004", b"\""),
        (b"\"\xe2", b"\x80\""),
        (b"\"\xf0\x90", b"\x80\""),
        (b"\"\xf4", b"\x80\x80\""),
        (b"[1", b"2]"),
        (b"[tr", b"e]"),
        (b"[\"a\"", b",1]"),
        (b"{\"a\"", b"1}"),
        (b"[1.5", b"]"),
    ];
    for shift in (0..WORD_BYTES).step_by(step) {
        let mut text = vec![b' '; shift];
        for (before, behind) in places {
            for byte in 0..=255 {
                text.extend_from_slice(&[before, &[byte], behind, b"\n"].concat());
            }
        }
        check(pipeline, &text).with_context(|| format!("shift {shift}"))?;
    }
    Ok(())
}

/// Checks random JSON, the same with bytes changed, and random bytes.
///
/// # Errors
/// A difference, or an error of the device.
pub fn random<A: Accelerator>(pipeline: &Pipeline<A>, rounds: usize, bytes: usize, seed: u64) -> Result<()> {
    for round in 0..rounds {
        let rng = &mut Rng::new(seed + round as u64);
        let mut text = match round % 8 {
            7 => random::bytes(rng, bytes),
            3 => random::long_record(rng, bytes, round % 16 == 3).into_bytes(),
            _ => random::json(rng, bytes),
        };
        match round % 4 {
            0 => {}
            1 => random::mutate(rng, &mut text, 1 + bytes / 300),
            _ => {
                // Put values in place of other values, and of any other bytes.
                for _ in 0..=bytes / 200 {
                    let at = rng.below(text.len() + 1);
                    let to = text.len().min(at + rng.below(4));
                    text.splice(at..to, VALUES[rng.below(VALUES.len())].iter().copied());
                }
            }
        }
        check(pipeline, &text).with_context(|| format!("seed {}", seed + round as u64))?;
    }
    Ok(())
}

/// Checks texts whose words depend on words far away: long runs of digits and of backslashes, good and bad,
/// and lines of several tiles.
///
/// # Errors
/// A difference, or an error of the device.
pub fn long<A: Accelerator>(pipeline: &Pipeline<A>, bytes: usize) -> Result<()> {
    let mut text = Vec::new();
    for len in (1..300).chain([5_000]) {
        for head in ["", "-", "0", "1.", "1e", "1E-", "0.", "1.5e+"] {
            for tail in ["", ".5", "e5", "e5.5", "."] {
                text.extend_from_slice(format!("[{head}{}{tail}]\n", "7".repeat(len)).as_bytes());
            }
        }
        for tail in ["", "\\", "\\n", "\\u00e9", "\\u00e", "\\x", "\\\""] {
            text.extend_from_slice(format!("\"{}{tail}\"\n", "\\\\".repeat(len / 2)).as_bytes());
        }
    }
    check(pipeline, &text).context("runs")?;
    let rng = &mut Rng::new(8259);
    let mut text = brackets(rng, bytes / 3);
    for deep in [MAX_DEPTH, MAX_DEPTH + 1] {
        text.extend_from_slice(format!("\n{}{}", "[".repeat(deep), "]".repeat(deep)).as_bytes());
    }
    for fault in ["", "\\x", "\u{1}", "\",tru,\"", "\",1.,\""] {
        text.extend_from_slice(b"\n[");
        let end = text.len() + bytes;
        while text.len() < end {
            text.extend_from_slice(
                "{\"b\":\"some \\u00e9 text, é{[ and \\\"more\\\"\",\"c\":[1,2.5e3,null]},".as_bytes(),
            );
        }
        text.extend_from_slice(format!("\"{}{fault}\",1]", "x".repeat(rng.below(100))).as_bytes());
    }
    let found = check(pipeline, &text).context("long lines")?;
    ensure!(found == 5, "{found} faults, not 5");
    Ok(())
}

/// Checks texts without records, and texts that end early.
///
/// # Errors
/// A difference, or an error of the device.
pub fn small<A: Accelerator>(pipeline: &Pipeline<A>) -> Result<()> {
    let ends: [&[u8]; 16] = [
        b"",
        b"\n",
        b" ",
        b"\n\r\n",
        b"\t",
        b"\x00",
        b"1",
        b"1.",
        b"\"a",
        b"\"\\",
        b"\"\\u00",
        b"\xc3",
        b"\"\xe2\x82",
        b"tru",
        b"nul\n",
        b"-",
    ];
    for text in ends {
        for pad in (0..2 * WORD_BYTES).chain(TILE_BYTES - 4..TILE_BYTES) {
            // A text that fills its tiles has one more tile after it, for the newline.
            let text = [" ".repeat(pad).as_bytes(), text].concat();
            check(pipeline, &text).with_context(|| text.escape_ascii().to_string())?;
        }
    }
    Ok(())
}

/// Checks the texts of JSONTestSuite in a folder, each as one line. Newlines become spaces, which changes the
/// verdict only inside strings. Returns the numbers of texts that must be accepted, that must be refused, and
/// that may be either.
///
/// # Errors
/// A text whose verdict is wrong or is not the host's, a folder or file that cannot be read, or an error of
/// the device.
pub fn json_test_suite<A: Accelerator>(
    pipeline: &Pipeline<A>,
    folder: &Path,
) -> Result<(usize, usize, usize)> {
    let (mut accepted, mut refused, mut either) = (0, 0, 0);
    let mut together = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let entry = entry?;
        let name = entry.file_name().into_string().unwrap_or_default();
        let record = fs::read(entry.path())?;
        let in_string = strict::fault(&record).is_some();
        let mut line = record.clone();
        line.iter_mut().filter(|byte| **byte == b'\n').for_each(|byte| *byte = b' ');
        check(pipeline, &line).with_context(|| name.clone())?;
        let blank = trim(0, line.len() as u32, |at| line[at as usize]).is_none();
        let found = pipeline.strict_faults(&line)?;
        match name.split('_').next() {
            Some("y") => {
                ensure!(found.is_empty() && !blank, "{name}: {found:?}");
                accepted += 1;
            }
            Some("n") => {
                // A text without a record is no fault of a line. A newline in a string is a fault of two
                // lines.
                let good = found.is_empty() && !blank;
                let by_lines = || pipeline.strict_faults(&record).map(|found| !found.is_empty());
                ensure!(!good || record.contains(&b'\n') && by_lines()?, "{name} is taken for JSON");
                refused += 1;
            }
            _ => {
                ensure!(found.is_empty() != in_string, "{name}: {found:?}");
                either += 1;
            }
        }
        together.extend_from_slice(&line);
        together.push(b'\n');
    }
    check(pipeline, &together).context("all together")?;
    Ok((accepted, refused, either))
}

/// Runs all checks above except [`json_test_suite`], at the sizes for a real device.
///
/// # Errors
/// A difference, or an error of the device.
pub fn all<A: Accelerator>(pipeline: &Pipeline<A>, rounds: usize, bytes_of_long: usize) -> Result<()> {
    files(pipeline).context("files")?;
    small(pipeline).context("ends")?;
    slide(pipeline, 1).context("words")?;
    boundaries(pipeline, 1).context("boundaries")?;
    bytes(pipeline, 1).context("bytes")?;
    random(pipeline, rounds, 400, 1).context("random")?;
    random(pipeline, rounds / 40, 100_000, 100_000).context("random, of several tiles")?;
    long(pipeline, bytes_of_long).context("long")
}
