//! The sources of errors.

use std::error::Error as _;
use std::fs;
use std::io::{self, Read};

use anyhow::{Context, Result, ensure};
use flate2::Compression;
use warpath::{Engine, Error, IndexFile, Query};
use warpath_answer::columns::ColumnType;
use warpath_core::error::{DeviceError, InputError};
use warpath_exec::input::{Source, TableFormat, TextColumn};

use crate::common::gzip;

/// The messages of an error and of its sources.
fn chain(error: &dyn std::error::Error) -> Vec<String> {
    std::iter::successors(Some(error), |&error| error.source()).map(ToString::to_string).collect()
}

/// Checks that no message repeats that of a source, that all formats agree, and that the innermost error is
/// the expected one.
fn check(error: Error, depth: usize) -> Result<Error> {
    let all = chain(&error);
    ensure!(all.len() == depth, "{all:?}");
    for (number, message) in all.iter().enumerate() {
        ensure!(!message.is_empty());
        ensure!(all[number + 1..].iter().all(|inner| !message.contains(inner.as_str())), "{all:?}");
    }
    ensure!(error.chain() == all.join(": "));
    let said = error.chain();
    let through = anyhow::Error::from(error);
    ensure!(format!("{through:#}") == said, "{through:#}, not {said}");
    through.downcast().context("the same error")
}

struct Failing;

impl Read for Failing {
    fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
        Err(io::Error::new(io::ErrorKind::ConnectionReset, "the peer is gone"))
    }
}

#[test]
fn errors_of_the_system_are_sources() -> Result<()> {
    let (engine, query) = (Engine::builder().build()?, Query::compile("$.a")?);
    let error = check(engine.reader("socket", Failing).count(&query).unwrap_err(), 2)?;
    ensure!(error.to_string() == "socket: cannot be read or written");
    let source = error.source().context("a source")?.downcast_ref::<io::Error>().context("an I/O error")?;
    ensure!(source.kind() == io::ErrorKind::ConnectionReset);
    check(engine.open("/none/none.ndjson").err().context("an error")?, 2)?;
    check(IndexFile::open("/none/.none.warpath").err().context("an error")?, 2)?;
    check(Error::Thread(io::Error::from(io::ErrorKind::WouldBlock)), 2)?;
    Ok(())
}

#[test]
fn errors_of_decoders_are_sources() -> Result<()> {
    let (engine, query) = (Engine::builder().build()?, Query::compile("$.a")?);
    let mut bytes = gzip("{\"a\":1}\n".repeat(1000).as_bytes(), Compression::fast());
    bytes.truncate(bytes.len() - 9);
    let error = check(engine.bytes(&bytes).count(&query).unwrap_err(), 2)?;
    ensure!(error.to_string() == "<bytes>: gzip data is damaged or ends early");
    ensure!(error.source().is_some_and(<dyn std::error::Error>::is::<io::Error>));
    Ok(())
}

#[test]
fn errors_of_tables_are_sources() -> Result<()> {
    let engine = Engine::builder().build()?;
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("table.parquet");
    fs::write(&path, b"PAR1 this is no table PAR1")?;
    let column = TextColumn::new(TableFormat::Parquet, "json");
    let input = engine.input(vec![Source::Column(Box::new(path.clone().into()), column)]);
    let error = check(input.count(&Query::compile("$.a")?).unwrap_err(), 2)?;
    ensure!(error.to_string() == format!("{}: cannot be read as a table", path.display()));
    let source = error.source().context("a source")?;
    ensure!(source.is::<parquet::errors::ParquetError>(), "{source:?}");
    Ok(())
}

#[test]
fn errors_of_a_driver_are_sources() -> Result<()> {
    let inner = io::Error::other("CUDA_ERROR_LAUNCH_FAILED");
    let error = check(DeviceError::of_call("cuLaunchKernel", inner).into(), 2)?;
    let Error::Device(DeviceError::Cuda { source, .. }) = &error else { panic!("{error:?}") };
    ensure!(source.is::<io::Error>());
    // A copy of the error has the same source.
    let copy: Error = DeviceError::clone(match &error {
        Error::Device(error) => error,
        other => panic!("{other:?}"),
    })
    .into();
    check(copy, 2)?;
    Ok(())
}

#[test]
fn errors_without_a_source_have_none() -> Result<()> {
    let (engine, query) = (Engine::builder().build()?, Query::compile("$.a")?);
    check(Query::compile("$[").unwrap_err(), 1)?;
    check(warpath_lang::predicate::Predicate::parse("$.a >").unwrap_err(), 1)?;
    check(engine.bytes("{]").count(&query).unwrap_err(), 1)?;
    check(Engine::builder().workers(0).build().err().context("an error")?, 1)?;
    check(InputError::Directory("folder".into()).into(), 1)?;
    check(Error::Cancelled, 1)?;
    check(Error::DeadlineExceeded, 1)?;
    check(Error::Memory { what: "a record", wanted: 2, limit: 1 }, 1)?;
    ensure!("no type".parse::<ColumnType>().is_err());
    Ok(())
}
