//! Results that a device makes, held to what the CPU finds and this program cuts out of the text.

use anyhow::{Context, Result, ensure};
use warpath::answer::Want;
use warpath::backend::Backend;
use warpath::device::{Accelerator, Pipeline};
use warpath::{Cpu, Program};

use crate::data::{BOUNDARY_LINES, FILES, paths_of};
use crate::random::{self, Rng};
use crate::suite::compile;

/// What is expected of one path: the text of its matches, and of those before the first faulty line.
struct Expected {
    all: Vec<u8>,
    before_fault: Option<Vec<u8>>,
}

fn expected(text: &[u8], program: &Program) -> Result<Vec<Expected>> {
    let answer = Cpu.answer(text, program, Want { matches: true, records: false })?;
    let one = |path: usize| {
        let mut expected = Expected { all: Vec::new(), before_fault: None };
        for piece in &answer.pieces {
            let (base, faulty) = (piece.base as usize, piece.faults.first().map(|fault| fault.line));
            for found in &piece.matches[path] {
                if faulty.is_some_and(|line| found.line > line) && expected.before_fault.is_none() {
                    expected.before_fault = Some(expected.all.clone());
                }
                expected.all.extend_from_slice(&text[base + found.start as usize..base + found.end as usize]);
                expected.all.push(b'\n');
            }
            if faulty.is_some() && expected.before_fault.is_none() {
                expected.before_fault = Some(expected.all.clone());
            }
        }
        expected
    };
    Ok((0..program.paths()).map(one).collect())
}

/// Holds the text of all matches, and of those before the first fault, to the CPU's.
///
/// # Errors
/// Where they differ.
pub fn check_text<A: Accelerator>(device: &Pipeline<A>, text: &[u8], paths: &[&str]) -> Result<()> {
    let queries = compile(paths)?;
    if queries.is_empty() {
        return Ok(());
    }
    let program = Program::new(&queries)?;
    let parts = device.text(text, &program)?;
    for (path, want) in expected(text, &program)?.iter().enumerate() {
        let name = queries[path].text();
        let (mut all, mut before) = (Vec::new(), None);
        for part in &parts {
            ensure!(part.paths() == queries.len(), "{} paths", part.paths());
            if let (None, Some(cut)) = (&before, part.before_fault(path)) {
                before = Some([&all, cut].concat());
            }
            all.extend_from_slice(part.of_path(path));
        }
        let shown = text[..text.len().min(300)].escape_ascii();
        let differs = all.iter().zip(&want.all).position(|(a, b)| a != b);
        ensure!(
            all == want.all,
            "{name}: {} bytes, not {}; the first that differs is {differs:?}, of {shown}",
            all.len(),
            want.all.len()
        );
        ensure!(before == want.before_fault, "{name}: text before the first fault, of {shown}");
    }
    Ok(())
}

/// The text of matches of every length and place, few and many, before and after faults.
///
/// # Errors
/// Where a device and the CPU differ.
pub fn text<A: Accelerator>(device: &Pipeline<A>) -> Result<()> {
    for (name, text) in FILES {
        for path in paths_of(name) {
            check_text(device, text, &[path]).with_context(|| name.to_owned())?;
        }
        let singular = ["$", "$.a", "$.id", "$.user.lang", "$.name", "$[1]", "$.nothing"];
        check_text(device, text, &singular).with_context(|| name.to_owned())?;
        check_text(device, text, &["$[*]", "$.a", "$[*][*]"]).with_context(|| name.to_owned())?;
    }
    // No line, no record, no match, nothing but faults.
    for text in ["", "\n", " \n\t\n\n", "{}\n[]\n", "{\n]\n\"\n", "{", "{\n{}\n", "7", "7\n"] {
        check_text(device, text.as_bytes(), &["$", "$.a"])?;
        check_text(device, text.as_bytes(), &["$[*]", "$"])?;
    }
    // Matches of all lengths around those of chunks, from all places of a vector.
    let mut every = String::new();
    for len in 0..70 {
        for pad in 0..17 {
            every +=
                &format!("{}{{\"a\":\"{}\"}}\n", " ".repeat(pad), "0123456789".repeat(8).split_at(len).0);
        }
    }
    check_text(device, every.as_bytes(), &["$.a"])?;
    check_text(device, every.as_bytes(), &["$[*]", "$"])?;
    // Thousands of one byte, in one line and in a line each, around the sizes of a block's tile.
    check_text(device, format!("[{}]", vec!["7"; 9000].join(",")).as_bytes(), &["$[*]", "$[1]"])?;
    for lines in [31, 32, 33, 255, 256, 257, 2047, 2048, 2049, 4095, 4097] {
        check_text(device, "7\n".repeat(lines).as_bytes(), &["$"])
            .with_context(|| format!("{lines} lines"))?;
        let sparse: String = (0..lines).map(|i| if i % 37 == 1 { "[1,2]\n" } else { "[0]\n" }).collect();
        let paths = ["$[1]", "$[0]", "$[2]", "$", "$[-1]", "$[-2]"];
        check_text(device, sparse.as_bytes(), &paths).with_context(|| format!("{lines} lines"))?;
        check_text(device, sparse.as_bytes(), &["$[1:]", "$[*]"])
            .with_context(|| format!("{lines} lines"))?;
    }
    // One that is larger than many tiles, between small ones.
    let huge = format!("[1,\"{}\",2]\n", "long ".repeat(30_000));
    check_text(device, [&huge[..], "[3,4]\n[5]\n", &huge].concat().as_bytes(), &["$[1]", "$[0]"])?;
    check_text(device, [&huge[..], "[3,4]\n[5]\n", &huge].concat().as_bytes(), &["$[*]", "$"])?;
    // The fault at every place among the lines.
    let lines: Vec<&str> = BOUNDARY_LINES.iter().copied().filter(|line| !line.is_empty()).collect();
    for turn in 0..lines.len() {
        let turned: Vec<&str> = lines.iter().copied().cycle().skip(turn).take(lines.len()).collect();
        let text = turned.join("\n");
        check_text(device, text.as_bytes(), &["$", "$.a", "$.b"]).with_context(|| format!("turn {turn}"))?;
        check_text(device, text.as_bytes(), &["$[*]", "$.a"]).with_context(|| format!("turn {turn}"))?;
    }
    for seed in 0..30 {
        let rng = &mut Rng::new(seed);
        let mut text = random::json(rng, 3000);
        random::mutate(rng, &mut text, seed as usize % 3);
        check_text(device, &text, &["$[*]", "$.a", "$[*][*]"]).with_context(|| format!("seed {seed}"))?;
    }
    Ok(())
}
