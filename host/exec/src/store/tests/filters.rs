//! A measurement of subscriptions over stores.

use std::time::Instant;

use warpath_cpu::twig::standing::Standing;
use warpath_cpu::twig::subscriptions::Subscriptions;

use super::*;

/// Measures the files of lines that `WARPATH_MEASURE` names, with the subscriptions of
/// `WARPATH_SUBSCRIPTIONS`: queries with `;` between them, and `;;` between sets. Lines are read whole, then
/// partial, by one worker.
#[test]
#[ignore = "measures; run it in release with WARPATH_MEASURE and WARPATH_SUBSCRIPTIONS set"]
fn measure() {
    let variable = |name| std::env::var(name).unwrap_or_default();
    for file in variable("WARPATH_MEASURE").split_whitespace() {
        let folder = tempfile::tempdir().unwrap();
        let store = folder.path().join("store");
        let bytes = add_file(&store, Path::new(file)).unwrap().text_bytes;
        println!("{file}: {bytes} bytes");
        let engine = Engine::builder().workers(1).build().unwrap();
        for set in variable("WARPATH_SUBSCRIPTIONS").split(";;").filter(|set| !set.is_empty()) {
            let mut subscriptions = Subscriptions::default();
            for (number, query) in set.split(';').enumerate() {
                subscriptions.add(&number.to_string(), query).unwrap();
            }
            let standing = Standing::new(subscriptions);
            for partial in [false, true] {
                let (mut best, mut matches, mut read) = (f64::MAX, 0, 0);
                for _ in 0..5 {
                    let begin = Instant::now();
                    let input = engine.input(Store::open(&store).unwrap().sources());
                    let mut run = match partial {
                        true => input.filter_partial(&standing.current()),
                        false => input.filter(&standing, Documents::Ndjson),
                    };
                    run.by_ref().for_each(|filtered| drop(filtered.unwrap()));
                    best = best.min(begin.elapsed().as_secs_f64());
                    (matches, read) = (run.stats().matches, run.stats().bytes);
                }
                println!("  {set}: partial {partial}, {:.1} ms, {matches} matches, {read} bytes", best * 1e3);
            }
        }
    }
}
