//! Packed text: it decodes to the text, on the host and on a device, and codes of another text are reported.
//! `backends` has the comparisons of its results with the oracles.

use std::sync::Arc;

use warpath::{DeviceChoice, Engine, Error, OnError, Program, Query, RowForm, Source, TextForm, Want};
use warpath_answer::backend::Backend as _;
use warpath_store::packed::PackedText;
use warpath_tests::emulated::Emulated;
use warpath_tests::packed::Packing;
use warpath_tests::random::{Rng, odd_lines};

#[test]
fn packed_text_comes_back() -> Result<(), Error> {
    let mut rng = Rng::new(1);
    let mut texts = vec![Vec::new(), vec![b'\n'], vec![255; 5000], b"{\"a\":1}\n".repeat(200_000)];
    for lines in [1, 2, 30, 400, 400, 400] {
        texts.push(odd_lines(&mut rng, lines));
    }
    for text in texts {
        let packed = PackedText::pack(&text)?;
        assert_eq!((packed.len(), packed.is_empty()), (text.len(), text.is_empty()));
        assert_eq!(packed.ends_with_newline(), text.ends_with(b"\n"));
        assert!(packed.bytes()? == text);
        let copied = packed.codes().to_vec();
        assert!(packed.with_codes(&copied)?.bytes()? == text);
        assert!(matches!(packed.with_codes(&[copied, vec![0]].concat()), Err(Error::Usage(_))));
    }
    Ok(())
}

/// Codes that are not those of the text are an error on the host and on a device, unless they decode to
/// another text of the same length.
#[test]
fn other_codes_are_reported() -> Result<(), Error> {
    let text: Vec<u8> = (0..900).flat_map(|line| format!("{{\"id\":{line}}}\n").into_bytes()).collect();
    let packed = PackedText::pack(&text)?;
    let pipeline = Emulated::default().pipeline();
    let mut worker = pipeline.worker(0)?;
    let program = Program::new(&[Query::compile("$.id")?])?;
    let mut count = |packed: &PackedText<'_>| {
        let answer = worker.answer_packed(packed, &program, Want::default(), false)?;
        Ok::<_, Error>(answer.pieces[0].counts.clone())
    };
    assert_eq!(count(&packed)?, [900]);
    let mut reported = 0;
    for at in (0..packed.codes().len()).step_by(37) {
        let mut codes = packed.codes().to_vec();
        codes[at] = 254;
        let other = packed.with_codes(&codes)?;
        match count(&other) {
            Ok(_) => assert!(other.bytes().is_ok(), "code {at}"),
            Err(Error::Usage(said)) => {
                reported += 1;
                assert!(said.contains("code"), "{said}");
            }
            Err(error) => panic!("code {at}: {error}"),
        }
    }
    assert!(reported > 10, "{reported} of {} codes", packed.codes().len());
    Ok(())
}

/// All results for a text, independent of its pieces: the count, the text of matches, rows, and faults.
type Results = (u64, Vec<u8>, Vec<u8>, Vec<String>);

fn results(engine: &Engine, text: &[u8], query: &str, want: Want) -> Result<Results, Error> {
    let program = Program::new(&[Query::compile(query)?])?;
    let (mut count, mut found_text, mut rows, mut faults) = (0, Vec::new(), Vec::new(), Vec::new());
    let input = engine.input(vec![Source::Bytes("text".into(), text.to_vec().into())]);
    for batch in input.answers(program, want) {
        let batch = batch?;
        count += batch.count(0);
        for (_, piece) in batch.pieces() {
            piece.texts.iter().for_each(|texts| found_text.extend_from_slice(texts));
            rows.extend_from_slice(&piece.rows);
            for found in piece.matches.iter().flatten() {
                found_text.extend_from_slice(batch.match_text(piece, found));
            }
        }
        faults.extend(batch.skipped().map(|fault| fault.to_string()));
    }
    Ok((count, found_text, rows, faults))
}

/// A device decodes packed text, and its results are the CPU's for the plain text. This covers good and bad
/// lines, with texts and offsets, and lines that the host has to read.
#[test]
fn devices_decode_packed_text() -> Result<(), Error> {
    let mut rng = Rng::new(4);
    let device = Emulated::default();
    let packing = Arc::new(Packing(Arc::new(device.pipeline())));
    let builder = |strict| Engine::builder().on_error(OnError::Skip).strict(strict).partition_size(20_000);
    for round in 0..12 {
        let count = 1 + rng.below(120);
        let mut lines = odd_lines(&mut rng, count);
        if round % 4 == 1 {
            lines.splice(..0, *b"\xef\xbb\xbf");
        }
        if round % 2 == 0 {
            // A text without faults is evaluated to the end.
            let line = |line: usize| {
                let lang = "é".repeat(line % 40);
                format!("{{\"id\":{line},\"user\":{{\"lang\":\"{lang}\"}},\"x\":1e5}}\n").into_bytes()
            };
            lines = (0..rng.below(400)).flat_map(line).collect();
        }
        for query in ["$.user.lang", "$.id", "$..lang", "$[?@.id > 3].user"] {
            for (strict, want) in [
                (false, Want::default()),
                (true, Want::default().text(TextForm::Json)),
                (false, Want::default().matches(true)),
                (false, Want::default().rows(RowForm::Ndjson)),
            ] {
                let cpu = builder(strict).device(DeviceChoice::Cpu).build()?;
                let on_device = builder(strict).backend(packing.clone()).build()?;
                let (expected, found) =
                    (results(&cpu, &lines, query, want)?, results(&on_device, &lines, query, want)?);
                assert_eq!(found, expected, "round {round}: {query}, strict {strict}, {want:?}");
            }
        }
    }
    let launches = device.take_work().0.get("fsst_decode").copied().unwrap_or_default();
    assert!(launches > 40, "{launches}");
    Ok(())
}
