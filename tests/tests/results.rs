//! Results that kernels write, in the emulator.

use std::sync::Arc;

use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_tests::results;

use crate::common::emulated;

#[test]
fn text() -> anyhow::Result<()> {
    results::text(&Cpu)?;
    results::text(&emulated())
}

/// The test [`text`], with texts evaluated in many parts.
#[test]
fn text_in_parts() -> anyhow::Result<()> {
    let device = emulated().most_cells(7);
    let lines = "{\"a\":[1,22]}\n{\"a\":\"three\"}\n{\"b\":4}\n\n{]\n{\"a\":null}\n";
    for repeat in 0..4 {
        let text = lines.repeat(repeat);
        results::check_text(&device, text.as_bytes(), &["$.a", "$"])?;
        results::check_text(&device, text.as_bytes(), &["$.a[*]", "$.b", "$.a"])?;
    }
    Ok(())
}

#[test]
fn columns() -> anyhow::Result<()> {
    results::columns(&Cpu)?;
    results::columns(&emulated())
}

/// The test [`columns`], with texts evaluated in many parts.
#[test]
fn columns_in_parts() -> anyhow::Result<()> {
    let device = emulated().most_cells(70);
    let lines = "{\"a\":[1,22]}\n{\"a\":\"three\"}\n{\"b\":4}\n\n{]\n{\"a\":null}\n";
    for repeat in 0..5 {
        results::check_columns(&device, lines.repeat(repeat).as_bytes(), &["$.a", "$.a[*]"])?;
    }
    Ok(())
}

#[test]
fn streamed_columns() -> anyhow::Result<()> {
    let cpu: Arc<dyn Backend> = Arc::new(Cpu);
    results::streamed_columns(&cpu, &[1, 300, 1 << 20])?;
    let device: Arc<dyn Backend> = Arc::new(emulated().most_cells(700));
    results::streamed_columns(&device, &[2000, 1 << 20])?;
    results::streamed_on_device(&device, &[2000, 1 << 20])
}
