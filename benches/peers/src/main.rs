//! JSON libraries over newline-delimited JSON, each used as its documentation recommends, for comparison with
//! Warpath.
//!
//! ```text
//! peers LIBRARY QUERY one|all FILE
//! peers --version LIBRARY
//! ```
//!
//! The file is mapped, lines are found by `memchr`, and each line goes to the library's own entry point
//! ([`library`]). With `all`, `rayon` deals stretches of whole lines to every core, and their output is
//! written in order. With `one`, the same loop runs in one thread. Each value is printed on a line of its
//! own, as JSON; the output of a whole stretch is written at once. The allocator is mimalloc, which
//! simd-json's documentation recommends.

mod library;
mod query;
mod record;

use std::fs::File;
use std::io::Write;

use anyhow::{Context, Result, bail};
use library::Library;
use memmap2::Mmap;
use peers::{lines, stretches};
use query::Query;
use rayon::prelude::*;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    if let [flag, library] = args.as_slice()
        && flag == "--version"
    {
        println!("{}", version(library)?);
        return Ok(());
    }
    let [library, query, threads, file] = args.as_slice() else {
        bail!("usage: peers {} {} one|all FILE", Library::NAMES.join("|"), Query::NAMES.join("|"));
    };
    let library: Library = library.parse()?;
    let query: Query = query.parse()?;
    let all = match threads.as_str() {
        "one" => false,
        "all" => true,
        other => bail!("{other:?} is none of one, all"),
    };
    let file = File::open(file).with_context(|| file.clone())?;
    // SAFETY: the bench's data files are written once and never changed while a program reads them.
    let text = unsafe { Mmap::map(&file) }?;
    let stretches = stretches(&text);
    let mut out = std::io::stdout().lock();
    if !all {
        for stretch in stretches {
            out.write_all(&answer(library, query, stretch)?)?;
        }
        return Ok(());
    }
    // Every core gets several stretches at a time, and memory stays bounded.
    for group in stretches.chunks(16 * rayon::current_num_threads()) {
        let answers: Vec<Vec<u8>> =
            group.par_iter().map(|stretch| answer(library, query, stretch)).collect::<Result<_>>()?;
        for answer in answers {
            out.write_all(&answer)?;
        }
    }
    Ok(())
}

/// The version that a library was built with, as the lock file has it.
fn version(library: &str) -> Result<&'static str> {
    let package = match library {
        "rsonpath" => "rsonpath-lib",
        _ => library.rsplit_once('-').context("a library and a way to use it")?.0,
    };
    let lock = include_str!("../Cargo.lock");
    let (_, entry) =
        lock.split_once(&format!("name = \"{package}\"\nversion = \"")).context("no such library")?;
    Ok(entry.split('"').next().unwrap_or_default())
}

/// Returns the output of a library for the lines of a stretch.
fn answer(library: Library, query: Query, stretch: &[u8]) -> Result<Vec<u8>> {
    let mut reader = library.reader(query)?;
    let mut out = Vec::new();
    lines(stretch).try_for_each(|line| reader.line(line, &mut out))?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_library_has_a_version() {
        for name in Library::NAMES {
            assert!(version(name).unwrap().starts_with(|char: char| char.is_ascii_digit()), "{name}");
        }
        assert!(version("nothing-at-all").is_err());
    }

    #[test]
    fn every_library_gives_the_same_values() {
        let tweets = br#"{"lang":"en","user":{"name":"x","lang":"nl"},"entities":{"hashtags":[{"text":"a"},{"text":"b"}]}}
{"lang":"fr","user":{"lang":"en"},"entities":{"hashtags":[]}}
"#;
        let walmart = br#"{"name":"n","bestMarketplacePrice":{"price":1.5}}
{"name":"m"}
"#;
        let bestbuy = br#"{"categoryPath":[{"id":"0"},{"id":"1"},{"id":"2"},{"id":"3"}]}
{"categoryPath":[{"id":"0"},{"id":"1"}]}
"#;
        let cases: [(Query, &[u8], &str); 6] = [
            (Query::Lang, tweets, "\"nl\"\n\"en\"\n"),
            (Query::Langs, tweets, "{\"a\":\"nl\",\"b\":\"en\"}\n{\"a\":\"en\",\"b\":\"fr\"}\n"),
            (Query::Hashtags, tweets, "\"a\"\n\"b\"\n"),
            (Query::Filter, tweets, "\"nl\"\n"),
            (Query::Walmart, walmart, "{\"a\":1.5,\"b\":\"n\"}\n{\"a\":null,\"b\":\"m\"}\n"),
            (Query::BestBuy, bestbuy, "\"1\"\n\"2\"\n\"1\"\n"),
        ];
        for (query, text, want) in cases {
            for name in Library::NAMES {
                let library: Library = name.parse().unwrap();
                let got = answer(library, query, text).unwrap();
                assert_eq!(String::from_utf8(got).unwrap(), want, "{name} {query:?}");
            }
        }
    }
}
