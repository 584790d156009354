//! Columns that stay on a device, compared with those on the host.

use std::sync::Arc;

use anyhow::{Context, Result, bail, ensure};
use warpath::Want;
use warpath::columns::{ColumnBatch, DeviceBatch, Schema};
use warpath::{Engine, OnError, Source};
use warpath_answer::answer::Answer;
use warpath_answer::backend::Backend;
use warpath_answer::on_device::DeviceColumns;

use super::{every_type, rows};
use crate::data::FILES;

/// Compares columns that stay on the device with those on the host: all rows, and those before the first
/// fault.
pub(super) fn check_on_device(
    backend: &dyn Backend,
    text: &[u8],
    schema: &Schema,
    on_host: &Answer,
) -> Result<()> {
    let want = Want::default().columns(schema.width()).on_device(true);
    let answer = backend.answer(text, schema.program(), want)?;
    ensure!(answer.pieces.len() == on_host.pieces.len(), "{} pieces", answer.pieces.len());
    for (piece, on_host) in answer.pieces.iter().zip(&on_host.pieces) {
        ensure!(piece.columns == ColumnBatch::default(), "columns on the host, too");
        ensure!(piece.columns_before_fault == on_host.columns_before_fault, "rows before the fault");
        let mut made = piece.on_device.clone().context("no columns on the device")?;
        let has_nulls = on_host.columns.columns.iter().any(|column| column.items.nulls() > 0);
        ensure!(piece.records.len() == if has_nulls { made.rows() } else { 0 }, "{}", piece.records.len());
        ensure!(made.to_host()? == on_host.columns, "columns differ");
        let joined = DeviceColumns::join(&[&made, &made])?;
        let rows = piece.columns_before_fault.unwrap_or(made.rows() / 2);
        let mut fewer = on_host.columns.clone();
        fewer.truncate(rows);
        made.truncate(rows);
        ensure!(made.to_host()? == fewer, "the first {rows} rows differ");
        check_joined(&joined.to_host()?, &[&on_host.columns, &on_host.columns]).context("joined twice")?;
        let joined = DeviceColumns::join(&[&made, &piece.on_device.clone().context("columns")?, &made])?;
        check_joined(&joined.to_host()?, &[&fewer, &on_host.columns, &fewer])
            .context("joined after a cut")?;
    }
    Ok(())
}

/// Compares joined columns with their parts.
fn check_joined(joined: &ColumnBatch, parts: &[&ColumnBatch]) -> Result<()> {
    ensure!(joined.rows == parts.iter().map(|part| part.rows).sum::<usize>(), "{} rows", joined.rows);
    for (at, column) in joined.columns.iter().enumerate() {
        let mut wanted = Vec::new();
        for part in parts {
            wanted.extend(rows(&part.columns[at], part.rows)?);
        }
        ensure!(rows(column, joined.rows)? == wanted, "column {at}");
    }
    Ok(())
}

/// Checks that columns that stay on the device are those on the host, through streams as in
/// [`super::streamed_columns`]: their batches, one by one and joined, the values that were lost, and the
/// error.
///
/// # Errors
/// A difference, or an error of the backend.
pub fn streamed_on_device(backend: &Arc<dyn Backend>, sizes: &[usize]) -> Result<()> {
    let schema = Schema::new(&every_type(&["$", "$.a", "$.*"])?)?;
    for on_error in [OnError::Fail, OnError::Skip] {
        for size in sizes {
            let engine = Engine::builder().backend(backend.clone()).partition_size(*size).on_error(on_error);
            let engine = engine.build()?;
            // Bytes are cut at the same lines each time. A reader is also cut where it was quiet for a while.
            let input = || {
                let sources = FILES.map(|(name, text)| Source::Bytes(name.into(), text.into()));
                engine.input(sources.into())
            };
            let (mut on_host, mut kept) = (input().record_batches(&schema), input().device_columns(&schema));
            let mut batches = Vec::new();
            for (at, made) in (&mut kept).enumerate() {
                let context = || format!("batch {at} of {size} bytes, {on_error:?}");
                let wanted = on_host.next().with_context(context)?;
                match (made, wanted) {
                    (Ok(made), Ok(wanted)) => {
                        let found = made.to_host()?;
                        if found != wanted {
                            let differs = (0..found.num_columns().min(wanted.num_columns()))
                                .find(|at| found.column(*at) != wanted.column(*at));
                            let column = differs.unwrap_or(0);
                            bail!(
                                "{}: column {column} of {} rows, not {}:\n{:?}\nand not\n{:?}\nagain: {}",
                                context(),
                                found.num_rows(),
                                wanted.num_rows(),
                                found.column(column),
                                wanted.column(column),
                                made.to_host()? == wanted
                            );
                        }
                        batches.push(made);
                    }
                    (Err(error), Err(wanted)) => {
                        ensure!(wanted.to_string().ends_with(&error.to_string()), "{error}, not {wanted}");
                    }
                    (made, wanted) => bail!("{}: {made:?}, not {wanted:?}", context()),
                }
            }
            ensure!(on_host.next().is_none(), "{size} bytes: too few batches");
            ensure!(kept.losses() == on_host.losses(), "{size} bytes, {on_error:?}: losses");
            let joined = DeviceBatch::join(&batches)?.to_host()?;
            let rows: usize = batches.iter().map(DeviceBatch::num_rows).sum();
            ensure!(joined.num_rows() == rows, "{} rows joined, not {rows}", joined.num_rows());
            let mut from = 0;
            for batch in &batches {
                ensure!(
                    joined.slice(from, batch.num_rows()) == batch.to_host()?,
                    "rows from {from} on, joined"
                );
                from += batch.num_rows();
            }
        }
    }
    Ok(())
}
