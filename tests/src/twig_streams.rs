//! Compares the results of an engine for streams of documents with the results for each document by itself.

use std::sync::Arc;

use anyhow::ensure;
use warpath::twig::{Documents, Standing, Subscriptions};
use warpath::{Engine, Error, OnError, Source};
use warpath_answer::backend::Backend;
use warpath_cpu::twig::{json, xml};

use crate::random::Rng;
use crate::twigs::{Doc, Node};

/// The results of an engine: each document with its line and the ids that match it, and the reported faults.
#[derive(Debug, Default, PartialEq, Eq)]
struct Told {
    documents: Vec<(String, Option<u64>, Vec<String>)>,
    faults: Vec<String>,
}

/// Some inputs, and the results expected for them.
struct Case {
    inputs: Vec<(String, Vec<u8>)>,
    documents: Documents,
    want: Told,
}

/// Compares a backend with the results for each document by itself. Each round has random subscriptions, some
/// of them with the same query. They filter lines and whole documents of random JSON and XML, in partitions
/// of several sizes. Some documents are blank, malformed or very deep.
///
/// # Errors
/// The first difference, or an error of the backend.
pub fn streams(backend: &Arc<dyn Backend>, seed: u64, rounds: usize) -> anyhow::Result<()> {
    let mut rng = Rng::new(seed);
    for _ in 0..rounds {
        for documents in [Documents::Ndjson, Documents::Json, Documents::Xml] {
            let subscriptions = subscriptions(&mut rng, documents != Documents::Xml)?;
            let case = if documents == Documents::Ndjson {
                lines(&mut rng, &subscriptions)?
            } else {
                wholes(&mut rng, &subscriptions, documents)?
            };
            let standing = Standing::new(subscriptions);
            for size in [1 + rng.below(200), 3000, 1 << 20] {
                let builder = Engine::builder().backend(backend.clone()).partition_size(size);
                let builder = builder.workers(1 + rng.below(3));
                let engine = builder.clone().on_error(OnError::Skip).build()?;
                let told = tell(&engine, &standing, &case)?;
                ensure!(told == case.want, "of {documents:?} is told {told:?}\nand not {:?}", case.want);
                let told = tell(&builder.build()?, &standing, &case)?;
                let first = case.want.faults.first();
                ensure!(
                    told.faults.first() == first && told.faults.len() < 2,
                    "another error: {:?}",
                    told.faults
                );
                ensure!(case.want.documents.starts_with(&told.documents), "something else before the error");
                ensure!(first.is_some() || told == case.want, "without an error, less");
            }
        }
    }
    Ok(())
}

fn subscriptions(rng: &mut Rng, is_json: bool) -> anyhow::Result<Subscriptions> {
    let mut subscriptions = Subscriptions::default();
    let mut queries: Vec<String> = Vec::new();
    for number in 0..60 {
        let size = [1, 2, 3, 5, 8][rng.below(5)];
        let query = match queries.get(number / 2) {
            Some(query) if number % 5 == 0 => query.clone(),
            _ => Node::random(rng, size, is_json).to_xpath(rng),
        };
        subscriptions.add(&format!("s{number}"), &query)?;
        queries.push(query);
    }
    // Removed subscriptions no longer match, and the others keep their order.
    for number in [7, 31, 59] {
        ensure!(subscriptions.remove(&format!("s{number}")));
    }
    Ok(subscriptions)
}

/// Returns the ids that match a document, or its fault.
fn ids(subscriptions: &Subscriptions, text: &str, documents: Documents) -> Result<Vec<String>, String> {
    let mut matcher = subscriptions.matcher();
    match documents {
        Documents::Xml => xml::read(text, &mut matcher).map_err(|error| error.to_string())?,
        Documents::Ndjson => {
            json::read(text.as_bytes(), &mut matcher).map_err(|fault| fault.kind.to_string())?;
        }
        Documents::Json => {
            let (line, mut read) = (text.replace('\n', " "), Ok(()));
            json::LineReader::default().read(line.as_bytes(), &mut matcher, |_, _, ended| read = ended);
            read.map_err(|fault| fault.kind.to_string())?;
        }
    }
    Ok(matcher.matches().map(str::to_owned).collect())
}

/// Makes two inputs with one document per line.
fn lines(rng: &mut Rng, subscriptions: &Subscriptions) -> anyhow::Result<Case> {
    let deep = format!("{}3{}", "{\"a\":[".repeat(20), "]}".repeat(20));
    let (mut inputs, mut want) = (Vec::new(), Told::default());
    for name in ["one", "two"] {
        let mut text = String::new();
        for line in 1..=40 {
            let document = match rng.below(8) {
                0 => " \t".to_owned(),
                1 => deep.clone(),
                2 if rng.below(3) == 0 => "{\"a\":[}".to_owned(),
                _ => Doc::json(rng).to_json(),
            };
            if !document.trim().is_empty() {
                match ids(subscriptions, &document, Documents::Ndjson) {
                    Ok(ids) if ids.is_empty() => {}
                    Ok(ids) => want.documents.push((name.to_owned(), Some(line), ids)),
                    Err(_) => want
                        .faults
                        .push(format!("{name}:{line}:7: closing bracket does not match the opening one")),
                }
            }
            text.push_str(&document);
            text.push('\n');
        }
        if rng.below(2) == 0 {
            text.pop();
        }
        inputs.push((name.to_owned(), text.into_bytes()));
    }
    Ok(Case { inputs, documents: Documents::Ndjson, want })
}

/// Makes inputs of one document each.
fn wholes(rng: &mut Rng, subscriptions: &Subscriptions, documents: Documents) -> anyhow::Result<Case> {
    let is_xml = documents == Documents::Xml;
    let (mut inputs, mut want) = (Vec::new(), Told::default());
    for number in 0..12 {
        let name = format!("input {number}");
        let text = match (rng.below(8), is_xml) {
            (0, true) => format!("{}{}", "<a>".repeat(40), "</a>".repeat(40)),
            (0, false) => format!("{}3{}", "{\"a\":[".repeat(20), "]}".repeat(20)),
            (1, true) => "<a>\n<b></a>".to_owned(),
            (1, false) => "{\n\"a\":]".to_owned(),
            (2, true) => String::new(),
            (_, true) => Doc::xml(rng).to_xml(rng),
            (_, false) => Doc::json(rng).to_json(),
        };
        match ids(subscriptions, &text, documents) {
            Ok(ids) if ids.is_empty() => {}
            Ok(ids) => want.documents.push((name.clone(), None, ids)),
            Err(error) => {
                let place = match (text.is_empty(), is_xml) {
                    (true, _) => "1:1",
                    (_, true) => "2:4",
                    (_, false) => "2:5",
                };
                want.faults.push(format!("{name}:{place}: {error}"));
            }
        }
        inputs.push((name, text.into_bytes()));
    }
    Ok(Case { inputs, documents, want })
}

fn tell(engine: &Engine, standing: &Standing, case: &Case) -> anyhow::Result<Told> {
    let source = |(name, text): &(String, Vec<u8>)| {
        Source::Reader(name.clone(), Box::new(std::io::Cursor::new(text.clone())))
    };
    let mut told = Told::default();
    for filtered in engine.input(case.inputs.iter().map(source).collect()).filter(standing, case.documents) {
        let filtered = match filtered {
            Ok(filtered) => filtered,
            Err(Error::Input(error)) => {
                told.faults.push(error.to_string());
                break;
            }
            Err(error) => return Err(error.into()),
        };
        told.faults.extend(filtered.skipped().map(ToString::to_string));
        for document in filtered.documents() {
            let ids = document.ids().map(str::to_owned).collect();
            told.documents.push((filtered.source().to_owned(), document.line(), ids));
        }
    }
    Ok(told)
}
