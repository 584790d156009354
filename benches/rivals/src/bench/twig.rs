//! Standing queries by YFilter on the CPU, and by the paper's kernel on a device.

use anyhow::{Result, ensure};
use warpath_benches::twig::command::{Asked, END, Processor};
use warpath_cpu::twig::xml;
use warpath_device::Accelerator as _;
use warpath_device::cuda::Cuda;
use warpath_lang::twig::Value;

use crate::twig_seed::{SeedQueries, SeedStage};
use crate::yfilter::YFilter;

/// The number of queues over which the paper's kernel is spread. The paper uses streams in this way.
const STREAMS: usize = 16;

/// Measures the rivals of a processor.
///
/// # Errors
/// An error of the device, or a wrong result.
pub fn rivals(asked: &Asked<'_>, on: Processor) -> Result<()> {
    match (on, asked.cuda) {
        (Processor::Cpu, _) => yfilter(asked),
        (Processor::Cuda, Some(cuda)) => paper(asked, cuda),
        (Processor::Cuda, None) => Ok(()),
    }
}

fn yfilter(asked: &Asked<'_>) -> Result<()> {
    let mut yfilter = YFilter::default();
    for (number, twig) in asked.twigs.iter().enumerate() {
        ensure!(yfilter.add(twig) == number, "twigs are numbered as they are added");
    }
    let tags: Vec<_> = asked.names.iter().map(|name| yfilter.tag(*name)).collect();
    asked.on_cpu(
        "yfilter",
        || yfilter.runner(),
        |runner, events| {
            runner.reset();
            for event in events {
                if *event == END {
                    runner.close_value(Value::None);
                } else {
                    runner.open_tag(tags[*event as usize]);
                }
            }
            runner.matches().map(|twig| twig as u32).collect::<Vec<_>>()
        },
    )
}

fn paper(asked: &Asked<'_>, cuda: &Cuda) -> Result<()> {
    let mut queries = SeedQueries::default();
    for twig in asked.twigs {
        queries.add(twig)?;
    }
    queries.fill();
    let mut events = queries.encoder();
    for text in asked.texts {
        xml::read(text, &mut events)?;
        ensure!(events.finish(), "a document is too deep");
    }
    let mut locked = cuda.host_buffer(events.events.len())?;
    locked.copy_from_slice(&events.events);
    for (what, queues, one) in [("paper's, streams", STREAMS, false), ("paper's, one launch", 1, true)] {
        let mut stage = SeedStage::new(cuda, &queries, queues)?;
        asked.measure(what, 1, || {
            let matches = stage.run(&locked, &events.documents, one)?;
            let mut pairs = Vec::new();
            for (document, matches) in matches.chunks(queries.personalities.len()).enumerate() {
                let roots = queries.roots.iter().enumerate();
                let found = roots.filter(|(_, root)| matches[**root] != 0);
                pairs.extend(found.map(|(twig, _)| (document as u32, twig as u32)));
            }
            Ok(pairs)
        })?;
    }
    Ok(())
}
