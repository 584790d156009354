//! One record, by the rule for records and by other parsers.

use super::*;

/// Checks each text of the suite as one record, by the rule for records. The texts may have newlines, and
/// strict mode is for one record per line.
#[test]
#[cfg_attr(
    not(json_test_suite),
    ignore = "no ../shared/conformance/JSONTestSuite beside the project, nor WARPATH_CONFORMANCE"
)]
fn json_test_suite() -> Result<()> {
    let folder = env!("WARPATH_JSON_TEST_SUITE");
    let (mut accepted, mut refused, mut either) = (0, 0, Vec::new());
    for entry in fs::read_dir(folder).with_context(|| folder.to_owned())? {
        let entry = entry?;
        let name = entry.file_name().into_string().unwrap_or_default();
        let text = fs::read(entry.path())?;
        let fault = strict::fault(&text);
        // What has no newline in it is a line, which the faster rule reads, too.
        if !text.contains(&b'\n') && !is_blank(&text) {
            let faults: Vec<_> = strict::faults(&text).iter().map(|fault| fault.fault).collect();
            ensure!(faults == Vec::from_iter(fault), "{name}: {faults:?} as a line, {fault:?} as a record");
        }
        match name.split('_').next() {
            Some("y") => {
                ensure!(fault.is_none(), "{name}: {fault:?}");
                accepted += 1;
            }
            Some("n") => {
                ensure!(fault.is_some(), "{name} is taken for JSON");
                refused += 1;
            }
            Some("i") => either.push((name, text, fault)),
            _ => anyhow::bail!("{name} is of no known sort"),
        }
    }
    assert_eq!((accepted, refused, either.len()), (95, 188, 35));
    // Numbers beyond any double, surrogates without their partners and 500 levels are accepted. Bytes that
    // are not UTF-8, and a byte order mark, are refused.
    for (name, text, fault) in &either {
        let good =
            str::from_utf8(text).is_ok_and(|text| !text.starts_with('\u{feff}') && !text.contains('\0'));
        ensure!(fault.is_none() == good, "{name}: {fault:?}");
    }
    assert_eq!(either.iter().filter(|(.., fault)| fault.is_none()).count(), 21);
    Ok(())
}

/// A text of which `serde_json` and strict mode differ.
struct Difference {
    record: String,
    /// The verdicts: of strict mode, of `serde_json` to a value, and of `serde_json` with the value ignored.
    accepted: [bool; 3],
}

/// All ways in which they are known to differ.
fn differences() -> Vec<Difference> {
    let nested = |depth: usize| "[".repeat(depth) + &"]".repeat(depth);
    let case = |record: &str, accepted| Difference { record: record.to_owned(), accepted };
    vec![
        // It has a limit of 128 levels where it makes a value, and none where it ignores one.
        case(&nested(127), [true, true, true]),
        case(&nested(128), [true, false, true]),
        case(&nested(MAX_DEPTH), [true, false, true]),
        case(&nested(MAX_DEPTH + 1), [false, false, true]),
        // Its strings are Unicode.
        case(r#""\ud800""#, [true, false, true]),
        case(r#""\udc00\ud800""#, [true, false, true]),
        // Its numbers are doubles.
        case("1e999", [true, false, true]),
        case("-1e999", [true, false, true]),
    ]
}

fn serde_accepts(record: &[u8]) -> [bool; 2] {
    [serde_json::from_slice::<Value>(record).is_ok(), serde_json::from_slice::<IgnoredAny>(record).is_ok()]
}

#[test]
fn serde_json_differs_in_known_ways() {
    for Difference { record, accepted } in differences() {
        let [value, ignored] = serde_accepts(record.as_bytes());
        let got = [strict::fault(record.as_bytes()).is_none(), value, ignored];
        assert_eq!(got, accepted, "{record:.60}");
    }
    // What it ignores may be anything but UTF-8.
    assert_eq!(serde_accepts(b"\"\xff\""), [false, true]);
    assert!(strict::fault(b"\"\xff\"").is_some());
}

/// Compares the verdict on a record, and the offset of its fault, with `serde_json`'s. Returns whether it is
/// accepted.
fn check_record(record: &[u8]) -> Result<bool> {
    let fault = strict::fault(record);
    let accepts = |record: &[u8]| serde_json::from_slice::<IgnoredAny>(record);
    let wanted = str::from_utf8(record).is_ok() && accepts(record).is_ok();
    ensure!(fault.is_none() == wanted, "{fault:?}");
    let Some(fault) = fault else { return Ok(true) };
    match fault.kind {
        FaultKind::NotUtf8 => {
            let error = str::from_utf8(record).err().context("is UTF-8")?;
            ensure!(error.valid_up_to() == fault.at, "{fault:?}");
        }
        // What is not closed is shown where it opens.
        FaultKind::UnclosedString | FaultKind::UnclosedContainer | FaultKind::EscapeAtEnd => {
            ensure!(fault.at < record.len(), "{fault:?}");
            let eof = accepts(record).err().is_some_and(|error| error.classify() == Category::Eof);
            ensure!(eof, "{fault:?}: {:?}", accepts(record));
        }
        // All before could go on as JSON, and with this byte it cannot.
        kind => {
            let at_end = |error: serde_json::Error| error.classify() == Category::Eof;
            let mut before = record[..fault.at].to_vec();
            let mut with = record[..record.len().min(fault.at + 1)].to_vec();
            let ends = before == with;
            match kind {
                // A number that is not there yet is none to it.
                FaultKind::NoDigit => before.push(b'0'),
                // It looks at four bytes at once.
                FaultKind::BadHexDigit => with.extend_from_slice(b"0000"),
                _ => {}
            }
            ensure!(accepts(&before).map_or_else(at_end, |_| true), "{fault:?} comes late");
            let right = |error| at_end(error) == (ends && kind != FaultKind::NoDigit);
            ensure!(accepts(&with).is_err_and(right), "{fault:?} comes early");
        }
    }
    Ok(false)
}

#[test]
fn serde_json_agrees_on_mutated_json() -> Result<()> {
    const INSERTED: [&[u8]; 24] = [
        b"\"",
        b"\\",
        b"{",
        b"}",
        b"[",
        b"]",
        b":",
        b",",
        b"0",
        b"-",
        b".",
        b"e",
        b"\t",
        b"\x00",
        b"\x1f",
        b"\x7f",
        b"\xc3",
        b"\x80",
        b"\xed\xa0\x80",
        b"\\u00e",
        b"\\ud800",
        b"true",
        b" ",
        b"null",
    ];
    let names = ["tweets.ndjson", "products.ndjson", "edge.ndjson", "people.ndjson", "crlf.ndjson"];
    // Deeper than anything is ever nested by mistake: the limit is not theirs.
    let shallow = |line: &&[u8]| line.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() < MAX_DEPTH;
    let originals: Vec<&[u8]> =
        names.into_iter().flat_map(|name| lines(data::file(name))).filter(shallow).collect();
    let rng = &mut Rng::new(8259);
    let (mut accepted, mut refused) = (0, 0);
    for round in 0..400_000 {
        let original = originals[rng.below(originals.len())];
        // A part of a line, or a short generated line, serves as well as a whole tweet and takes less time.
        let mut record = match round % 3 {
            0 => random::json(rng, 60).split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec(),
            1 if original.len() < 2_000 => original.to_vec(),
            _ => {
                let from = rng.below(original.len() + 1);
                let len = rng.below(80).min(original.len() - from);
                original[from..from + len].to_vec()
            }
        };
        for _ in 0..rng.below(4) {
            let at = rng.below(record.len() + 1);
            match rng.below(3) {
                0 => drop(record.splice(at..at, INSERTED[rng.below(INSERTED.len())].iter().copied())),
                1 if at < record.len() => drop(record.remove(at)),
                _ => drop(record.splice(at.., None::<u8>)),
            }
        }
        let good = check_record(&record).with_context(|| record.escape_ascii().to_string())?;
        *if good { &mut accepted } else { &mut refused } += 1;
        if diagnose(&record).is_some() {
            ensure!(!good, "refused by default, accepted strictly: {}", record.escape_ascii());
        }
        if !record.contains(&b'\n') && !is_blank(&record) {
            let faults: Vec<_> = strict::faults(&record).iter().map(|fault| fault.fault).collect();
            ensure!(
                faults == Vec::from_iter(strict::fault(&record)),
                "{faults:?} as a line: {}",
                record.escape_ascii()
            );
        }
    }
    ensure!(accepted > 50_000 && refused > 100_000, "{accepted} accepted, {refused} refused");
    Ok(())
}

/// Whole texts line by line, as the faster rule reads them: with every ending, and cut anywhere.
#[test]
fn the_lines_of_a_text_are_judged_one_by_one() {
    let rng = &mut Rng::new(3);
    let mut found = 0;
    for round in 0..300 {
        let mut text = random::json(rng, 3_000);
        if round % 3 > 0 {
            random::mutate(rng, &mut text, 1 + round % 7);
        }
        if round % 4 == 0 {
            text.truncate(rng.below(text.len() + 1));
        }
        let want: Vec<_> = lines(&text)
            .zip(0..)
            .filter(|(line, _)| !is_blank(line))
            .filter_map(|(line, number)| Some((number, strict::fault(line)?)))
            .collect();
        let got: Vec<_> = strict::faults(&text).iter().map(|fault| (fault.line, fault.fault)).collect();
        assert_eq!(got, want, "{}", text.escape_ascii());
        found += got.len();
    }
    assert!(found > 300, "{found}");
}

/// In the test data, only the records that are meant to be malformed are refused.
#[test]
fn the_test_data_is_json() {
    for (name, text) in data::FILES {
        let faults = strict::faults(text);
        assert!(faults.is_empty() || name == "bad.ndjson", "{name}: {faults:?}");
    }
}
