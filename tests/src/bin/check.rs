//! Compares a backend with the oracles on a machine without Rust. It runs all comparisons of `cargo test`,
//! and published queries over generated files, whole and in partitions.
//!
//! ```text
//! check [--device cpu|cuda|cuda:N|cuda:all] [--no-suite] [--conformance FOLDER] [SHAPE=FILE...]
//! check --device cuda --bitmaps ROUNDS
//! check --device cuda --strings ROUNDS
//! check --device cuda|cuda:all --leaves ROUNDS
//! check --device cuda --twigs ROUNDS
//! check --device cuda --xml ROUNDS
//! ```
//!
//! SHAPE is twitter, walmart or bestbuy. The folder of `--conformance` has `cts.json`, the JSONPath
//! compliance test suite, and `JSONTestSuite`.
//!
//! Prints one line per step and exits with 1 at the first difference.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use warpath::{DeviceChoice, Engine, Program, Query, Source, Want};
use warpath_answer::backend::Backend;
use warpath_core::leaves::LeafForm;
use warpath_device::cuda::Cuda;
use warpath_device::{BitmapStage, DeviceCodes, FsstStage, Pipeline, Together};
use warpath_tests::fsst;
use warpath_tests::oracle;
use warpath_tests::packed::Packing;
use warpath_tests::random::Rng;
use warpath_tests::resident::Resident;
use warpath_tests::results;
use warpath_tests::strict;
use warpath_tests::suite::{self, Effort};
use warpath_tests::trees;
use warpath_tests::{bitmaps, conformance, fsst_match, leaves, twig_streams, twigs, xml};

/// GpJSON's six queries, two that write the meaning of its filters in RFC 9535, and some of the rest of the
/// grammar.
const FIELD_QUERIES: [(&str, &[&str]); 11] = [
    ("twitter", &["$.user.lang"]),
    ("twitter", &["$.user.lang", "$.lang"]),
    ("twitter", &["$.user.lang[?(@ == 'nl')]", "$.user.lang[?(@ == 'en')]"]),
    ("twitter", &["$.user[?@ == 'nl']", "$[?@.lang == 'en'].lang"]),
    ("twitter", &["$.entities.urls[*].url", "$.entities.user_mentions[-1].indices[::-1]"]),
    ("twitter", &["$..id_str"]),
    ("twitter", &["$.entities.hashtags[?@.indices[0] > 10].text"]),
    ("twitter", &["$..urls[?search(@.url, 'co/[a-e]')].url", "$[?count(@..indices) > 3].user_mentions"]),
    ("walmart", &["$.bestMarketplacePrice.price", "$.name"]),
    ("bestbuy", &["$..[?length(@.id) > 12].name", "$.categoryPath[?@ == $.categoryPath[0]]"]),
    ("bestbuy", &["$.categoryPath[1:3].id"]),
];

/// Partition sizes: three, and one larger than the files.
const PARTITIONS: [usize; 4] = [1 << 20, 7 << 20, 64 << 20, 1 << 30];

fn main() -> Result<()> {
    let mut device = DeviceChoice::Cpu;
    let (mut twig_rounds, mut xml_rounds, mut leaf_rounds): (Option<usize>, Option<usize>, Option<usize>) =
        (None, None, None);
    let (mut run_suite, mut conformance, mut bitmaps, mut strings, mut files) =
        (true, None, None, None, Vec::new());
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--no-suite" => run_suite = false,
            "--bitmaps" => {
                bitmaps = Some(args.next().context("--bitmaps ROUNDS")?.parse()?);
            }
            "--strings" => {
                strings = Some(args.next().context("--strings ROUNDS")?.parse()?);
            }
            "--leaves" => {
                leaf_rounds = Some(args.next().context("--leaves ROUNDS")?.parse()?);
            }
            "--twigs" => {
                twig_rounds = Some(args.next().context("--twigs ROUNDS")?.parse()?);
            }
            "--xml" => {
                xml_rounds = Some(args.next().context("--xml ROUNDS")?.parse()?);
            }
            "--conformance" => {
                conformance = Some(PathBuf::from(args.next().context("--conformance FOLDER")?));
            }
            "--device" => {
                device = match args.next().as_deref() {
                    Some("cpu") => DeviceChoice::Cpu,
                    Some("cuda") => DeviceChoice::Cuda(0),
                    Some("cuda:all") => DeviceChoice::CudaAll,
                    Some(cuda) if cuda.starts_with("cuda:") => DeviceChoice::Cuda(cuda[5..].parse()?),
                    other => bail!("--device cpu, cuda, cuda:N or cuda:all, not {other:?}"),
                }
            }
            file => {
                let (shape, path) =
                    file.split_once('=').with_context(|| format!("SHAPE=FILE, not `{file}`"))?;
                files.push((shape.to_owned(), path.to_owned()));
            }
        }
    }
    if let (Some(rounds), DeviceChoice::Cuda(number)) = (bitmaps, &device) {
        return bitmaps::suite(&mut BitmapStage::new(Cuda::new(*number)?), 1, rounds, 20_000);
    }
    if let (Some(rounds), DeviceChoice::Cuda(number)) = (strings, &device) {
        let cuda = Cuda::new(*number)?;
        fsst_match::suite(&cuda, 1, rounds, 2000)?;
        fsst::suite(&mut FsstStage::new(cuda), 1, rounds)?;
        return suite::random(&Packing(Arc::new(Pipeline::new(Cuda::new(*number)?)?)), rounds, 400, 20_000);
    }
    if let (Some(rounds), DeviceChoice::Cuda(number)) = (leaf_rounds, &device) {
        return leaves::suite(&Cuda::new(*number)?, 1, rounds, 3000);
    }
    if let (Some(rounds), DeviceChoice::CudaAll) = (leaf_rounds, &device) {
        return leaves_of_all(rounds);
    }
    if let (Some(rounds), DeviceChoice::Cuda(number)) = (twig_rounds, &device) {
        let cuda = Cuda::new(*number)?;
        twigs::suite(&cuda, 1, rounds, (60, 20))?;
        let pipeline: Arc<dyn Backend> = Arc::new(Pipeline::new(cuda)?);
        return twig_streams::streams(&pipeline, 1, rounds);
    }
    if let (Some(rounds), DeviceChoice::Cuda(number)) = (xml_rounds, &device) {
        println!("{:?}", xml::suite(&Cuda::new(*number)?, 1, rounds, (60, 2000))?);
        return Ok(());
    }
    if run_suite {
        let numbers = match &device {
            DeviceChoice::Cuda(number) => vec![*number],
            DeviceChoice::CudaAll => warpath::cuda::devices()?.iter().map(|device| device.number).collect(),
            _ => Vec::new(),
        };
        for number in &numbers {
            let pipeline = Arc::new(Pipeline::new(Cuda::new(*number)?)?);
            whole_suite(&*pipeline)?;
            rfc_9535(&*pipeline, conformance.as_deref())?;
            step("trees", || trees::all(&pipeline, 4000, 30 << 20))?;
            step("strict checks", || strict::all(&pipeline, 4000, 10 << 20))?;
            step("bitmaps", || {
                let mut stage = BitmapStage::new(Cuda::new(*number)?);
                bitmaps::suite(&mut stage, 1, 300, 20_000)?;
                bitmaps::suite(&mut stage, 2, 6, 2_000_000)
            })?;
            let cuda = Cuda::new(*number)?;
            step("compressed strings", || {
                let mut stage = FsstStage::new(Cuda::new(*number)?);
                fsst::suite(&mut stage, 1, 300)?;
                let mut rng = Rng::new(5);
                let table = fsst::table(&mut rng, 250, 8);
                let case = fsst::Case::random(&mut rng, table, 3_000_000, 40, 20);
                fsst::check(&mut stage, &mut DeviceCodes::default(), &case, "three million")
            })?;
            step("patterns of compressed strings", || {
                fsst_match::suite(&cuda, 1, 200, 5000)?;
                fsst_match::suite(&cuda, 2, 4, 1_000_000)
            })?;
            step("leaves", || {
                leaves::suite(&cuda, 1, 30, 3000)?;
                leaves::suite(&cuda, 2, 3, 200_000)
            })?;
            step("twigs", || {
                twigs::suite(&cuda, 1, 40, (60, 40))?;
                twigs::suite(&cuda, 2, 4, (300, 1000))?;
                twigs::suite(&cuda, 3, 4, (3000, 10))
            })?;
            step("subscriptions of streams", || {
                let pipeline: Arc<dyn Backend> = pipeline.clone();
                twig_streams::streams(&pipeline, 2, 100)
            })?;
            step("twigs of XML", || {
                let tally = xml::suite(&cuda, 1, 40, (60, 3000))?;
                println!("    {tally:?}");
                Ok(())
            })?;
            step("bitmaps of bins, by a maker", || {
                bitmaps::index::check_makers(&cuda, &mut Rng::new(3), 5_000_000)
            })?;
            step("questions over bitmaps that stay", || {
                let rng = &mut Rng::new(4);
                bitmaps::index::check_questions(&cuda, rng, (100, 20_000), 30_000)?;
                bitmaps::index::check_questions(&cuda, rng, (40, 20_000), 1 << 30)?;
                bitmaps::index::check_questions(&cuda, rng, (6, 3_000_000), 1 << 30)?;
                bitmaps::index::check_questions(&cuda, rng, (4, 3_000_000), 4 << 20)
            })?;
            if let Some(folder) = &conformance {
                step("JSONTestSuite", || {
                    let folder = folder.join("JSONTestSuite/test_parsing");
                    let (accepted, refused, either) = strict::json_test_suite(&pipeline, &folder)?;
                    println!("    {accepted} accepted, {refused} refused, {either} of either sort");
                    Ok(())
                })?;
            }
            step("text of matches", || results::text(&*pipeline))?;
            step("columns", || results::columns(&*pipeline))?;
            let backend: Arc<dyn Backend> = pipeline.clone();
            step("columns through streams", || results::streamed_columns(&backend, &[100, 1 << 20]))?;
            step("columns that stay", || results::streamed_on_device(&backend, &[100, 1 << 20]))?;
            packed(pipeline.clone())?;
            kept(pipeline)?;
        }
        if numbers.is_empty() {
            whole_suite(&warpath_cpu::Cpu)?;
            rfc_9535(&warpath_cpu::Cpu, conformance.as_deref())?;
            packed(Arc::new(warpath_cpu::Cpu))?;
            kept(Arc::new(warpath_cpu::Cpu))?;
        }
    }
    for (shape, path) in &files {
        field_queries(&device, shape, path)?;
    }
    println!("all equal");
    Ok(())
}

fn step(name: &str, work: impl FnOnce() -> Result<()>) -> Result<()> {
    let start = Instant::now();
    work().with_context(|| name.to_owned())?;
    println!("ok  {name:<60} {:8.2} s", start.elapsed().as_secs_f64());
    Ok(())
}

/// Checks tables of leaves that are spread over all devices.
fn leaves_of_all(rounds: usize) -> Result<()> {
    let of_each = warpath::cuda::devices()?.into_iter().map(|device| {
        let pipeline = Pipeline::new(Cuda::new(device.number)?)?;
        Ok(Arc::new(pipeline) as Arc<dyn Backend>)
    });
    let together = Together::new(of_each.collect::<Result<_>>()?)?;
    println!("leaves on {}", together.name());
    let room = || {
        let form = together.forms().get::<dyn LeafForm>().context("devices that hold leaves")?;
        Ok(Arc::from(form.room()?))
    };
    leaves::suite_in(&room, 1, rounds, 3000)?;
    leaves::suite_in(&room, 2, 3, 200_000).map(drop)
}

fn whole_suite(backend: &dyn Backend) -> Result<()> {
    let effort = Effort { random: (6000, 400), slide_step: 1, large: 200 << 20 };
    println!("{}", backend.name());
    step("files of tests/data", || suite::files(backend))?;
    step("sizes around words and tiles", || suite::sizes(backend))?;
    step("lines slid across words", || suite::slide_across_words(backend, 1))?;
    step("lines slid across tiles", || suite::slide_across_tiles(backend, effort.slide_step))?;
    step("random texts and paths", || suite::random(backend, effort.random.0, effort.random.1, 1))?;
    step("random texts of several tiles", || suite::random(backend, 120, 60_000, 9_000_000))?;
    step("200 MiB in one partition", || suite::many_tiles(backend, effort.large))
}

/// Checks the whole grammar: by the compliance test suite if its folder is given, and by random queries.
fn rfc_9535(backend: &dyn Backend, folder: Option<&Path>) -> Result<()> {
    if let Some(folder) = folder {
        step("JSONPath compliance test suite", || {
            let tests = conformance::tests(folder.join("cts.json"))?;
            println!("    {} right", conformance::compliance(backend, &tests)?);
            Ok(())
        })?;
    }
    step("random queries of the whole grammar", || {
        println!("    {:?}", conformance::random_pairs(backend, 0..3000)?);
        Ok(())
    })?;
    step("the same of what is no JSON", || conformance::as_the_cpu(backend, 0..1500))
}

/// Checks queries over packed text.
fn packed(backend: Arc<dyn Backend>) -> Result<()> {
    let packing = Packing(backend);
    println!("{}", packing.name());
    step("files of tests/data", || suite::files(&packing))?;
    step("sizes around words and tiles", || suite::sizes(&packing))?;
    step("random texts and paths", || suite::random(&packing, 1000, 400, 20_000))?;
    step("64 MiB in one partition", || suite::many_tiles(&packing, 64 << 20))
}

/// Checks queries over partitions that a backend keeps between queries.
fn kept(backend: Arc<dyn Backend>) -> Result<()> {
    let resident = Resident::new(backend);
    println!("{}", resident.name());
    step("files of tests/data", || suite::files(&resident))?;
    step("sizes around words and tiles", || suite::sizes(&resident))?;
    step("random texts and paths", || suite::random(&resident, 2000, 400, 20_000))?;
    step("64 MiB in one partition", || suite::many_tiles(&resident, 64 << 20))
}

/// A backend that is given packed text, for the CPU or one device.
fn packing(device: &DeviceChoice) -> Result<Option<Arc<Packing>>> {
    let backend: Arc<dyn Backend> = match device {
        DeviceChoice::Cpu => Arc::new(warpath_cpu::Cpu),
        DeviceChoice::Cuda(number) => Arc::new(Pipeline::new(Cuda::new(*number)?)?),
        _ => return Ok(None),
    };
    Ok(Some(Arc::new(Packing(backend))))
}

/// Evaluates the published queries over a file, plain in partitions of every size and packed, and compares
/// the results with the oracle's.
fn field_queries(device: &DeviceChoice, shape: &str, path: &str) -> Result<()> {
    let text = std::fs::read(path).with_context(|| path.to_owned())?;
    for (_, paths) in FIELD_QUERIES.iter().filter(|(of, _)| *of == shape) {
        let want: Vec<_> = std::thread::scope(|scope| {
            let ask = |path: &'static str| {
                let text = &text;
                scope.spawn(move || oracle::query::query(text, &[], path))
            };
            let asked: Vec<_> = paths.iter().map(|path| ask(path)).collect();
            asked.into_iter().map(|handle| handle.join().expect("an oracle")).collect()
        });
        let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path)).collect::<Result<_, _>>()?;
        let plain = PARTITIONS.map(|size| (size, None));
        let packing = packing(device)?.map(|packing| [(700_000, packing.clone()), (16 << 20, packing)]);
        let packing = packing.into_iter().flatten().map(|(size, packing)| (size, Some(packing)));
        for (size, packing) in plain.into_iter().chain(packing) {
            let builder = Engine::builder().partition_size(size);
            let name = if packing.is_some() { ", packed" } else { "" };
            let name = format!("{shape} {} in {} KiB{name}", paths.join(" "), size >> 10);
            let engine = match packing {
                Some(packing) => builder.backend(packing).build()?,
                None => builder.device(device.clone()).build()?,
            };
            step(&name, || {
                let want_matches = Want::default().matches(true);
                let input = engine.input(vec![Source::File(path.into())]);
                let mut got: Vec<Vec<(u64, u64, u64)>> = vec![Vec::new(); paths.len()];
                for batch in input.answers(Program::new(&queries)?, want_matches) {
                    let batch = batch?;
                    for (line, piece) in batch.pieces() {
                        let base = batch.offset() + piece.base as u64;
                        for (list, got) in piece.matches.iter().zip(&mut got) {
                            let place = |m: &warpath_shared::kernel::Match| {
                                (line + m.line as u64, base + m.start as u64, base + m.end as u64)
                            };
                            got.extend(list.iter().map(place));
                        }
                    }
                }
                for ((path, got), want) in paths.iter().zip(&got).zip(&want) {
                    ensure!(want.not_json.is_empty(), "line {} is not JSON", want.not_json[0] + 1);
                    let want = &want.found;
                    ensure!(got.len() == want.len(), "{path}: {} matches, not {}", got.len(), want.len());
                    let same = |(a, b): (&(u64, u64, u64), &(u32, u32, u32))| {
                        *a == (b.0 as u64, b.1 as u64, b.2 as u64)
                    };
                    ensure!(got.iter().zip(want).all(same), "{path}: matches differ");
                    println!("    {path}: {} matches", got.len());
                }
                Ok(())
            })?;
        }
    }
    Ok(())
}
