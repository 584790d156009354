//! Times the decoding of string columns by FSST on a device: Warpath's kernels, the ladder of others, and a copy kernel.

use anyhow::{Result, ensure};
use clap::Parser;
use warpath::cuda::Cuda;
use warpath::device::{Accelerator as _, Codes, Decoding, DeviceCodes, FsstStage, Step};
use warpath::fsst::{Compressor, SPLIT_CODES, Sample, Split, splits, train};
use warpath_benches::generate::columns::{self, Strings};
use warpath_benches::harness::machine;
use warpath_tests::fsst::Case;

#[derive(Parser)]
struct Cli {
    #[arg(long, default_value_t = 0)]
    cuda: usize,
    #[arg(long, default_value_t = 10_000_000)]
    strings: u64,
    #[arg(long, default_value_t = 7)]
    runs: usize,
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    println!("{} {}", machine::describe(), machine::now());
    let Strings { values, offsets } = columns::urls(cli.strings, 1);
    let table = train(&Sample::of_strings(&values, &offsets));
    let (mut codes, mut ends) = (Vec::new(), vec![0]);
    Compressor::new(&table).compress_strings(&values, &offsets, &mut codes, &mut ends);
    let (mut splits, len) = splits(&table, &codes)?;
    splits.push(Split::new(len, false));
    let begins = (0..codes.len().div_ceil(SPLIT_CODES)).map(|split| (split * SPLIT_CODES) as u64);
    let first_strings = begins.map(|begin| ends.partition_point(|end| *end < begin) as u64).collect();
    let case = Case { table, codes, code_offsets: ends, text: values, offsets, splits, first_strings };
    println!(
        "{} strings, {} bytes, {} codes, ratio {:.3}",
        cli.strings,
        case.text.len(),
        case.codes.len(),
        case.text.len() as f64 / case.codes.len() as f64
    );
    let mut stage = FsstStage::new(Cuda::new(cli.cuda)?);
    let mut on_device = DeviceCodes::default();
    let bytes = case.text.len() as f64;
    let mut time = |name: &str, codes: &Codes<'_>, way: Decoding| -> Result<()> {
        on_device.load(stage.device(), codes)?;
        if way == Decoding::Ladder(Step::Stretches) {
            let (begins, outputs) = case.stretches(64);
            on_device.set_stretches(stage.device(), &begins, &outputs)?;
        }
        let mut times = Vec::new();
        let mut kernels = Vec::new();
        for _ in 0..cli.runs {
            stage.device().wait()?;
            stage.device().start_timeline();
            stage.decode(&on_device, way)?;
            let (each, total) = stage.device().take_timeline()?;
            times.push(f64::from(total));
            kernels = each;
        }
        ensure!(stage.fault()?.is_none(), "{name}: {:?}", stage.fault()?);
        let (text, offsets) = stage.download()?;
        ensure!(text == case.text, "{name}: other bytes");
        if !codes.offsets.is_empty() && way != Decoding::Ladder(Step::Stretches) {
            ensure!(offsets == case.offsets, "{name}: other offsets");
        }
        times.remove(0);
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2];
        print!(
            "{name:24} {median:8.3} ms, least {:8.3}: {:7.1} GB/s of output",
            times[0],
            bytes / median / 1e6
        );
        for kernel in kernels {
            print!("  {kernel:?}");
        }
        println!();
        Ok(())
    };
    let text = Codes { offsets: &[], first_strings: &[], ..case.codes() };
    time("splits, text", &text, Decoding::Splits)?;
    time("splits, strings", &case.codes(), Decoding::Splits)?;
    time("measured", &case.codes(), Decoding::Measured)?;
    for step in [Step::Bytes, Step::Words, Step::Shared, Step::Buffered, Step::Stretches] {
        time(&format!("ladder {step:?}"), &case.codes(), Decoding::Ladder(step))?;
    }
    Ok(())
}
