//! Times the decoding of string columns by FSST on a device: Warpath's kernels, the ladder of others, and a copy kernel.

use anyhow::{Result, ensure};
use clap::Parser;
use warpath::cuda::Cuda;
use warpath::device::{Accelerator as _, Codes, Decoding, DeviceCodes, FsstStage, Step};
use warpath_benches::harness::machine;
use warpath_shared::fsst::Table;
use warpath_tests::fsst::Case;

#[derive(Parser)]
struct Cli {
    #[arg(long, default_value_t = 0)]
    cuda: usize,
    #[arg(long, default_value_t = 10_000_000)]
    strings: usize,
    #[arg(long, default_value_t = 7)]
    runs: usize,
}

fn urls(count: usize) -> Vec<Vec<u8>> {
    let mut s = 1_u64;
    let mut r = move |n: u64| {
        s = s.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (s >> 33) % n
    };
    let words: Vec<String> =
        (0..3000).map(|_| (0..3 + r(7)).map(|_| (b'a' + r(26) as u8) as char).collect()).collect();
    (0..count)
        .map(|_| {
            let mut z = |n: u64| {
                let a = r(n);
                let b = r(n);
                a.min(b).min(r(n)) as usize
            };
            let mut u = format!(
                "http://{}.{}/{}/{}",
                words[z(400)],
                ["example.ru", "example.com", "example.net"][z(3)],
                words[z(900)],
                words[z(3000)]
            );
            if z(3) == 0 {
                u += &format!("?page={}&id={}&lr={}", z(40), z(100_000_000), z(300));
            }
            if z(4) == 0 {
                u += &format!("/{}-{}.html#{}", words[z(3000)], words[z(3000)], z(90000));
            }
            u.into_bytes()
        })
        .collect()
}

fn main() -> Result<()> {
    let cli = Cli::parse();
    println!("{} {}", machine::describe(), machine::now());
    let urls = urls(cli.strings);
    let sample: Vec<&[u8]> = urls.iter().map(|u| &u[..]).collect();
    let compressor = fsst::Compressor::train(&sample);
    let table = Table::new(
        &compressor.symbol_table().iter().map(|s| s.to_u64()).collect::<Vec<_>>(),
        compressor.symbol_lengths(),
    )?;
    let strings: Vec<Vec<u8>> = urls.iter().map(|u| compressor.compress(u)).collect();
    let case = Case::new(table, &strings);
    println!(
        "{} strings, {} bytes, {} codes, ratio {:.3}",
        strings.len(),
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
