//! Bytes in memory have the results of the same bytes from a reader, and are not copied.

use std::io::Cursor;
use std::sync::Arc;

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use warpath::{Engine, Error, InputBytes, OnError, Predicate, Program, Query};
use warpath_answer::answer::{RowForm, TextForm, Want};
use warpath_answer::backend::Backend;
use warpath_answer::columns::{ColumnType, Schema};
use warpath_cpu::twig::standing::{Documents, Standing};
use warpath_cpu::twig::subscriptions::Subscriptions;
use warpath_exec::aggregate::DEFAULT_MEMORY;
use warpath_exec::aggregate::count::values;
use warpath_exec::document::Format;
use warpath_exec::engine::EngineBuilder;
use warpath_exec::input::Source;
use warpath_exec::operators::Input;
use warpath_store::schema::rows;
use warpath_tests::data::{FILES, paths_of};
use warpath_tests::random::{Rng, json};

use crate::common::{backends, found, gzip};

/// The same bytes as inputs of every kind; the first one is a reader.
fn inputs<'a>(engine: &Engine, text: &'a [u8]) -> Vec<(&'static str, Input<'a>)> {
    let shared: Arc<[u8]> = text.into();
    let source = Source::Bytes("<bytes>".into(), InputBytes::shared(shared.clone()));
    vec![
        ("reader", engine.reader("<bytes>", Cursor::new(text.to_vec()))),
        ("borrowed", engine.bytes(text)),
        ("owned", engine.bytes(text.to_vec())),
        ("shared", engine.bytes(shared)),
        ("source", engine.input(vec![source])),
    ]
}

/// Checks that an operation has the same results over inputs of every kind.
fn agree<T: PartialEq + std::fmt::Debug>(
    engine: &Engine,
    text: &[u8],
    what: &str,
    run: impl Fn(Input<'_>) -> T,
) -> Result<()> {
    let mut wanted = None;
    for (kind, input) in inputs(engine, text) {
        let got = run(input);
        let wanted =
            wanted.get_or_insert_with(|| (kind, run(engine.reader("<bytes>", Cursor::new(text.to_vec())))));
        ensure!(got == wanted.1, "{what}, {kind}: {got:?}, not {:?}: {}", wanted.1, text.escape_ascii());
    }
    Ok(())
}

fn said<T>(result: Result<T, Error>) -> Result<T, String> {
    result.map_err(|error| error.chain())
}

/// The results of every operation over inputs of every kind.
fn all_operations(engine: &Engine, text: &[u8], path: &str) -> Result<()> {
    let Ok(query) = Query::compile(path) else { return Ok(()) };
    agree(engine, text, path, |input| found(input.query(&query).unwrap()))?;
    agree(engine, text, path, |input| said(input.count(&query)))?;
    let only = Predicate::parse("$.a >= 1 || $.user")?;
    agree(engine, text, path, |input| found(input.matching(&only).query(&query).unwrap()))?;
    let program = Program::new(&[query.clone(), Query::compile("$.*")?])?;
    let want = Want::new().text(TextForm::Json).rows(RowForm::Ndjson).records(true);
    agree(engine, text, path, |input| {
        let (mut rows, mut records, mut skipped, mut error) = (Vec::new(), Vec::new(), Vec::new(), None);
        for batch in input.answers(program.clone(), want) {
            match batch {
                Ok(batch) => {
                    for (line, piece) in batch.pieces() {
                        rows.extend_from_slice(&piece.rows);
                        records.extend(piece.records.iter().map(|record| line + u64::from(*record)));
                    }
                    skipped.extend(batch.skipped().map(|record| record.to_string()));
                }
                Err(failed) => error = Some(failed.chain()),
            }
        }
        (rows, records, skipped, error)
    })?;
    let schema = Schema::new(&[(Query::compile("$.a")?, ColumnType::Json)])?;
    agree(engine, text, "columns", |input| {
        input.columns(&schema).map(|batch| said(batch).map(|batch| batch.rows)).fold(
            (0, None),
            |(rows, error), batch| match batch {
                Ok(more) => (rows + more, error),
                Err(said) => (rows, Some(said)),
            },
        )
    })?;
    agree(engine, text, "count_by", |input| {
        let counter = said(input.count_by(&[Query::compile("$.a").unwrap()], DEFAULT_MEMORY))?;
        said(counter.by_count(None))?
            .map(|counted| said(counted).map(|(key, count)| (values(&key), count)))
            .collect::<Result<Vec<_>, String>>()
    })?;
    agree(engine, text, "statistics", |input| {
        let statistics = said(input.statistics(&[Query::compile("$.a").unwrap()], DEFAULT_MEMORY))?;
        said(statistics.finish(&[])).map(|all| format!("{all:?}"))
    })?;
    agree(engine, text, "schema", |input| {
        let mut parts = input.schema(None);
        let errors: Vec<_> = parts.by_ref().filter_map(Result::err).map(|error| error.chain()).collect();
        // After an error, the trees of workers have different parts of the input.
        let schema = errors.is_empty().then(|| parts.finish());
        (errors, schema.map(|schema| rows(&schema.tree, &|position| schema.locate(position))))
    })?;
    Ok(())
}

fn subscriptions() -> Result<Standing> {
    let mut all = Subscriptions::default();
    for (id, twig) in [("a", "/a"), ("lang", "/lang")] {
        all.add(id, twig).map_err(|error| anyhow::anyhow!("{id}: {error:?}"))?;
    }
    Ok(Standing::new(all))
}

fn builder(backend: &Arc<dyn Backend>, size: usize, on_error: OnError) -> EngineBuilder {
    Engine::builder().backend(backend.clone()).partition_size(size).on_error(on_error)
}

#[test]
fn all_operations_give_the_results_of_a_reader() -> Result<()> {
    let rng = &mut Rng::new(22);
    for (i, backend) in backends().iter().enumerate() {
        for size in if i == 0 { &[1, 40, 700, 1 << 20][..] } else { &[3000] } {
            for on_error in [OnError::Fail, OnError::Skip] {
                let engine = builder(backend, *size, on_error).workers(3).build()?;
                for (name, text) in FILES.iter().filter(|(_, text)| i == 0 || text.len() < 3000) {
                    let paths = paths_of(name);
                    let path = if paths.is_empty() { "$.*" } else { paths[rng.below(paths.len())] };
                    all_operations(&engine, text, path)?;
                }
                for _ in 0..if i == 0 { 12 } else { 1 } {
                    let text = json(rng, 1500);
                    all_operations(&engine, &text, "$..a")?;
                    let marked = [b"\xef\xbb\xbf", &text[..]].concat();
                    all_operations(&engine, &marked, "$.a")?;
                }
                for text in
                    [&b""[..], b"\n", b"\xef\xbb\xbf", b"{\"a\":1}", b"{\"a\":01}\n{\"a\":1", b"\xff\xfe1\0"]
                {
                    all_operations(&engine, text, "$.a")?;
                }
            }
        }
    }
    Ok(())
}

#[test]
fn documents_and_subscriptions_give_the_results_of_a_reader() -> Result<()> {
    let rng = &mut Rng::new(23);
    let standing = subscriptions()?;
    for (i, backend) in backends().iter().enumerate() {
        for size in if i == 0 { &[1, 40, 1 << 20][..] } else { &[3000] } {
            for strict in [false, true] {
                let lines = builder(backend, *size, OnError::Skip).build()?;
                let documents =
                    builder(backend, *size, OnError::Fail).strict(strict).format(Format::Json).build()?;
                for _ in 0..if i == 0 { 30 } else { 2 } {
                    let text = String::from_utf8(json(rng, 100))?;
                    let spread = format!("[\n{}\n]\n", text.trim_end().replace('\n', ",\n"));
                    for text in [&text, &spread, &String::new(), &"{\"a\":1}".to_owned()] {
                        let query = Query::compile("$[*].a")?;
                        agree(&documents, text.as_bytes(), "document", |input| {
                            found(input.query(&query).unwrap())
                        })?;
                        agree(&documents, text.as_bytes(), "document schema", |input| {
                            input
                                .schema(None)
                                .map(|part| said(part).map(|part| part.records))
                                .collect::<Vec<_>>()
                        })?;
                        for kind in [Documents::Ndjson, Documents::Json, Documents::Xml] {
                            agree(&lines, text.as_bytes(), "filter", |input| {
                                let mut all = Vec::new();
                                for filtered in input.filter(&standing, kind) {
                                    let Ok(filtered) = filtered else { continue };
                                    let first = filtered.first_line();
                                    all.extend(
                                        filtered
                                            .pairs()
                                            .iter()
                                            .map(|(line, id)| (first + u64::from(*line), *id)),
                                    );
                                }
                                all
                            })?;
                        }
                    }
                }
            }
        }
    }
    Ok(())
}

#[test]
fn compressed_bytes_are_recognised() -> Result<()> {
    let text = "{\"a\":1}\n".repeat(3000);
    let compressed = gzip(text.as_bytes(), Compression::fast());
    let engine = Engine::builder().partition_size(1000).build()?;
    for (kind, input) in inputs(&engine, &compressed) {
        ensure!(input.count(&Query::compile("$.a")?)? == 3000, "{kind}");
    }
    for (kind, input) in inputs(&engine, b"PAR1....PAR1") {
        let error = input.count(&Query::compile("$.a")?).unwrap_err().to_string();
        ensure!(error == "<bytes>: is a Parquet file, not JSON in UTF-8", "{kind}: {error}");
    }
    Ok(())
}

/// Hits and batches point into the caller's memory.
#[test]
fn lines_are_not_copied() -> Result<()> {
    let text = "{\"a\":1}\n{\"a\":2}\n".repeat(500).into_bytes();
    let within = |bytes: &[u8], memory: &[u8]| memory.as_ptr_range().contains(&bytes.as_ptr());
    for size in [100, 1 << 20] {
        let engine = Engine::builder().partition_size(size).build()?;
        let query = Query::compile("$.a")?;
        for hit in engine.bytes(&text).query(&query)? {
            ensure!(within(hit?.bytes(), &text));
        }
        let shared: Arc<[u8]> = text.clone().into();
        for hit in engine.bytes(shared.clone()).query(&query)? {
            ensure!(within(hit?.bytes(), &shared));
        }
        // A hit keeps owned bytes after its input.
        let hit = engine.bytes(text.clone()).query(&query)?.nth(999).context("a hit")??;
        ensure!((hit.bytes(), hit.line()) == (&b"2"[..], 1000));
    }
    // A document on one line, too.
    let engine = Engine::builder().format(Format::Json).build()?;
    let document = b"[{\"a\":1}]";
    let hit = engine.bytes(document).query(&Query::compile("$[0].a")?)?.next().context("a hit")??;
    ensure!(within(hit.bytes(), document));
    Ok(())
}

/// One partition is evaluated in the caller's thread; without threads, borrowed bytes may be forgotten.
#[test]
fn small_inputs_start_no_thread() -> Result<()> {
    let engine = Engine::builder().workers(4).partition_size(1000).build()?;
    let query = Query::compile("$.a")?;
    let small = "{\"a\":1}\n".repeat(10);
    for input in [engine.bytes(&small), engine.bytes(small.clone())] {
        let mut hits = input.query(&query)?;
        ensure!(hits.by_ref().count() == 10 && hits.stats().workers == 1 && hits.stats().bytes == 80);
    }
    let large = "{\"a\":1}\n".repeat(10_000);
    let mut hits = engine.bytes(&large).query(&query)?;
    ensure!(hits.by_ref().count() == 10_000 && hits.stats().workers == 4, "{:?}", hits.stats());
    std::mem::forget(engine.bytes(&large).query(&query)?);
    Ok(())
}

/// An owner that returns other bytes at each call has wrong results, and no worse ones.
#[test]
fn an_owner_may_change_its_bytes() -> Result<()> {
    use std::sync::atomic::{AtomicUsize, Ordering};

    struct Changing(AtomicUsize);
    impl AsRef<[u8]> for Changing {
        fn as_ref(&self) -> &[u8] {
            let texts = [&b"{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n"[..], b"", b"{\"a\":", b"[[[[[[[[[[[[[[[["];
            texts[self.0.fetch_add(1, Ordering::Relaxed) % texts.len()]
        }
    }
    for size in [4, 1 << 20] {
        let engine = Engine::builder().partition_size(size).build()?;
        for _ in 0..20 {
            let input = engine.bytes(InputBytes::shared(Changing(AtomicUsize::new(0))));
            for hit in input.query(&Query::compile("$.a")?)?.flatten() {
                ensure!(hit.bytes().len() < 40);
            }
        }
    }
    Ok(())
}
