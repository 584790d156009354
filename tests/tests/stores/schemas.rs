//! Schemas of stores are those of the text: their parts have them as a section.

use warpath::plan::Reading;
use warpath::schema::{Position, rows};
use warpath_part::file::Reader;

use super::*;

/// All that a schema says, and what was counted on the way.
fn schema(engine: &Engine, sources: Vec<Source>, limit: Option<u64>) -> (Vec<String>, u64, Option<String>) {
    let mut parts = engine.input(sources).schema(limit);
    let (mut skipped, mut error) = (Vec::new(), None);
    for part in parts.by_ref() {
        match part {
            Ok(part) => skipped.extend(part.skipped.iter().map(ToString::to_string)),
            Err(failed) => error = Some(failed.to_string()),
        }
    }
    let lines = parts.stats().lines;
    let schema = parts.finish();
    let place = |position: Position| schema.locate(position);
    let mut all: Vec<String> = match error {
        // A schema that has ended early has whatever came first.
        Some(_) => Vec::new(),
        None => rows(&schema.tree, &place).iter().map(|row| format!("{row:?}")).collect(),
    };
    // The lines after the last wanted record are those of its partition.
    all.extend(skipped.drain(..).filter(|_| limit.is_none()));
    (all, lines, error)
}

/// True for each part that has the section.
fn sections(case: &Case, store: &str) -> Result<Vec<bool>> {
    let has = |path: PathBuf| -> Result<bool> {
        let reader = Reader::open(fs::File::open(path)?)?;
        Ok(reader.sections(reader.groups() - 1).any(|(name, _)| name == "schema"))
    };
    case.parts(store).into_iter().map(has).collect()
}

fn compare_schemas(case: &Case, store: &str) -> Result<()> {
    for (strict, on_error) in [(false, OnError::Fail), (true, OnError::Skip)] {
        let builder = Engine::builder().backend(cpu()).on_error(on_error).strict(strict);
        let engine = builder.partition_size(3000).workers(2).build()?;
        for limit in [None, Some(3)] {
            let wanted = schema(&engine, case.texts(store), limit);
            let (found, lines, error) = schema(&engine, case.sources(store), limit);
            ensure!((&found, &error) == (&wanted.0, &wanted.2), "{store}: {found:#?}, not {wanted:#?}");
            ensure!(error.is_some() || limit.is_some() || lines == wanted.1, "{lines} lines in {store}");
        }
        let predicate = Predicate::parse("$.a")?;
        let of = |sources| -> Result<Vec<String>> {
            let mut parts = engine.input(sources).matching(&predicate).schema(None);
            let failed = parts.by_ref().find_map(Result::err).map(|error| vec![error.to_string()]);
            let all = parts.finish();
            let rows = rows(&all.tree, &|position| all.locate(position));
            Ok(failed.unwrap_or_else(|| rows.iter().map(|row| format!("{row:?}")).collect()))
        };
        ensure!(of(case.sources(store))? == of(case.texts(store))?, "{store} with a predicate");
    }
    Ok(())
}

#[test]
fn schemas_are_those_of_the_text() -> Result<()> {
    for (name, text) in FILES.iter().filter(|(_, text)| !text.is_empty()) {
        let group = text.len() / 4;
        let case = Case::new(&halves(text), group).with_compacted(group);
        for store in STORES {
            compare_schemas(&case, store).context(*name)?;
        }
    }
    let mut rng = Rng::new(40);
    for _ in 0..cases(12) {
        let texts: Vec<Vec<u8>> = (0..3)
            .map(|_| match rng.below(3) {
                0 => mixed(&mut rng, 30),
                _ => objects(&mut rng, 60),
            })
            .collect();
        let texts: Vec<&[u8]> = texts.iter().map(Vec::as_slice).collect();
        let case = Case::new(&texts, 900).with_compacted(1500);
        for store in STORES {
            compare_schemas(&case, store)?;
        }
    }
    Ok(())
}

/// Values of one kind first, of another kind in a later group and part, a byte order mark, and blank lines.
#[test]
fn parts_have_the_schema_of_their_lines_if_none_is_malformed() -> Result<()> {
    let first = b"\xef\xbb\xbf{\"a\":1}\n\n{\"a\":\"x\"}\n{\"b\":[1.5]}\n";
    let texts: [&[u8]; 4] = [first, b"{\"a\":{}}\n {\"b\":[true]}\r\n", b"{\"a\":2}\n{\"a\":3", b"\n \n"];
    let case = Case::new(&texts, 12);
    assert_eq!(sections(&case, "parts")?, [true, true, false, true]);
    assert_eq!(sections(&case, "one")?, [false]);
    compare_schemas(&case, "parts")?;
    compare_schemas(&case, "one")?;
    let engine = Engine::builder().backend(cpu()).on_error(OnError::Skip).build()?;
    let (all, lines, _) = schema(&engine, case.sources("parts"), None);
    // A row for each of `$`, `$.a`, `$.b` and `$.b[*]`, and the malformed line.
    assert_eq!((lines, all.len()), (10, 5));
    let mut parts = engine.input(case.sources("parts")).schema(None);
    assert_eq!(parts.plan().reading, Reading::Schemas);
    parts.by_ref().try_for_each(|part| part.map(drop))?;
    Ok(())
}

/// Names that are data make too many paths.
#[test]
fn parts_with_many_paths_have_no_schema() -> Result<()> {
    let lines: Vec<String> = (0..2500).map(|name| format!("{{\"k{name}\":{{\"a\":1}}}}\n")).collect();
    let case = Case::new(&[lines[..2000].concat().as_bytes(), lines.concat().as_bytes()], 20_000);
    assert_eq!(sections(&case, "parts")?, [true, false]);
    compare_schemas(&case, "parts")
}
