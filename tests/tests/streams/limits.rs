//! Limits: the results begin like those without one.

use warpath::Limit;

use super::*;

/// With a limit the results begin like those without one. They end at the limit or later, whatever the rest
/// of the input is.
#[test]
fn a_limit_leaves_out_only_what_is_behind_it() -> Result<()> {
    let folder = Folder::new(&[file("people.ndjson").to_vec(), file("bad.ndjson").to_vec(), lines(300)]);
    for paths in [&["$"][..], &["$.*", "$.tags[*]"], &["$[?@ == 1]"]] {
        let queries = paths.iter().map(|path| Query::compile(path)).collect::<Result<Vec<_>, _>>()?;
        let program = Program::new(&queries)?;
        for (i, backend) in backends().iter().enumerate() {
            for size in if i == 0 { &[1, 200, 3000, 1 << 20][..] } else { &[3000] } {
                let workers = if *size == 200 { 0 } else { 3 };
                let engine = engine(backend, *size, workers, OnError::Skip);
                // Path by path and for records, each with its offset; and the faults.
                let run = |limit: Option<Limit>, enough: usize| -> Result<_> {
                    let mut want = Want::new().matches(true).records(true);
                    want.limit = limit;
                    let mut found = vec![Vec::new(); paths.len() + 1];
                    let mut faults = Vec::new();
                    for batch in engine.input(folder.sources()).answers(program.clone(), want) {
                        let batch = batch?;
                        for (first, piece) in batch.pieces() {
                            for (list, found) in piece.matches.iter().zip(&mut found) {
                                let text = |found| {
                                    (batch.source().to_owned(), batch.match_text(piece, found).to_vec())
                                };
                                found.extend(list.iter().map(text));
                            }
                            let line = |line: &u32| {
                                (
                                    batch.source().to_owned(),
                                    (first + u64::from(*line)).to_string().into_bytes(),
                                )
                            };
                            found[paths.len()].extend(piece.records.iter().map(line));
                        }
                        faults.extend(batch.skipped());
                        let reached = match limit {
                            Some(Limit::Matches(_)) => {
                                found[..paths.len()].iter().all(|list| list.len() >= enough)
                            }
                            _ => found[paths.len()].len() >= enough,
                        };
                        if reached {
                            break;
                        }
                    }
                    Ok((found, faults))
                };
                let whole = run(None, usize::MAX)?;
                ensure!(!whole.1.is_empty());
                for limit in [0, 1, 2, 7, 30, 100, 1_000_000] {
                    for kind in [Limit::Matches, Limit::Records] {
                        let (found, faults) = run(Some(kind(limit)), limit as usize)?;
                        let wanted = match kind(limit) {
                            Limit::Matches(_) => 0..paths.len(),
                            Limit::Records(_) => paths.len()..paths.len() + 1,
                        };
                        for (list, whole) in found.iter().zip(&whole.0) {
                            ensure!(whole.starts_with(list), "{}: {paths:?} {size} {limit}", backend.name());
                        }
                        for (list, whole) in found[wanted.clone()].iter().zip(&whole.0[wanted]) {
                            ensure!(list.len() >= whole.len().min(limit as usize));
                        }
                        ensure!(whole.1.starts_with(&faults));
                    }
                }
            }
        }
    }
    Ok(())
}

/// The CPU reads nothing after the record that reaches the limit.
#[test]
fn the_cpu_stops_where_there_is_enough() -> Result<()> {
    let text = [
        lines(1000),
        b"[
"
        .to_vec(),
        lines(9000),
    ]
    .concat();
    // The first streams, where lines are long; the second does not.
    for (path, pad) in [("$.a", 0), ("$.a", 600), ("$[?@ == 3]", 0), ("$.*", 600)] {
        let text =
            String::from_utf8(text.clone())?.replace('}', &format!(",\"b\":\"{}\"}}", "x".repeat(pad)));
        let program = Program::new(&[Query::compile(path)?])?;
        for limit in [1, 2, 500] {
            let ask = |limit| {
                let want = Want::new().matches(true).records(true).limit(limit);
                Ok::<_, Error>(Cpu.answer(text.as_bytes(), &program, want)?.pieces.remove(0))
            };
            let piece = ask(Limit::Records(limit))?;
            assert_eq!((piece.lines as u64, piece.records.len() as u64), (limit, limit));
            let piece = ask(Limit::Matches(limit))?;
            let last = piece.matches[0].get(limit as usize - 1);
            assert_eq!(last.map_or(10_001, |last| last.line + 1), piece.lines, "{path} {limit}");
            assert_eq!(piece.faults.len(), (piece.lines > 1000) as usize);
        }
    }
    Ok(())
}

/// Lines without end.
struct Endless;

impl Read for Endless {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        const LINE: &[u8] = b"{\"a\":1}\n";
        let len = room.len() / LINE.len() * LINE.len();
        room[..len].chunks_mut(LINE.len()).for_each(|line| line.copy_from_slice(LINE));
        Ok(len)
    }
}

#[test]
fn the_schema_of_some_records_needs_no_end() -> Result<()> {
    for (workers, size) in [(0, 1 << 10), (1, 1 << 20), (3, 200)] {
        let engine = engine(&(Arc::new(Cpu) as _), size, workers, OnError::Fail);
        for limit in [0, 1, 5000] {
            let source = Source::Reader("endless".into(), Box::new(Endless));
            let mut parts = engine.input(vec![source]).schema(Some(limit));
            let records = parts.by_ref().map(|part| Ok(part?.records)).sum::<Result<u64>>()?;
            ensure!(records == limit && parts.finish().tree.records() == limit, "{records} of {limit}");
        }
    }
    Ok(())
}
