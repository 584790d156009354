//! Parts of files, which have each line of a file once, wherever they divide it.

use std::fs;

use warpath::{Engine, Error, InputError, OnError, Query, Source};
use warpath_random::Rng;

use super::{ask, backends, engine};
use crate::common::gzip;

#[test]
fn parts_have_each_line_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.ndjson");
    let mut random = Rng::new(7);
    for case in 0..60 {
        let mut text = String::from(if case % 5 == 0 { "\u{feff}" } else { "" });
        for n in 0..random.below(20) {
            text.push_str(&match random.below(4) {
                0 => "\n".into(),
                1 => format!("{{\"a\":{n}}}\r\n"),
                _ => format!("{{\"a\":\"{}\"}}\n", "x".repeat(random.below(40))),
            });
        }
        if case % 3 == 0 {
            text.push_str("{\"a\":\"last\"}");
        }
        fs::write(&path, &text).unwrap();
        for (size, workers) in [(1, 1), (16, 2), (16, 0), (1 << 20, 1)] {
            let engine = engine(&backends()[0], size, workers, OnError::Fail);
            let texts = |sources| {
                ask(&engine, sources, "$.a").0.into_iter().map(|it| (it.2, it.3)).collect::<Vec<_>>()
            };
            let whole = texts(vec![Source::File(path.clone())]);
            let len = text.len() as u64;
            let mut cuts: Vec<u64> =
                (0..random.below(6)).map(|_| random.below(text.len() + 1) as u64).collect();
            // The last part may end after the file.
            cuts.extend([0, len + random.below(3) as u64]);
            cuts.sort_unstable();
            let parts = cuts.windows(2).map(|cut| Source::Part(path.clone(), cut[0]..cut[1]));
            assert_eq!(texts(parts.collect()), whole, "case {case}, {cuts:?} of {text:?}");
        }
    }
}

#[test]
fn a_part_of_a_compressed_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("lines.ndjson.gz");
    fs::write(&path, gzip(b"{\"a\":1}\n", flate2::Compression::fast())).unwrap();
    let engine = Engine::builder().build().unwrap();
    let input = engine.input(vec![Source::Part(path, 0..8)]);
    let error = input.count(&Query::compile("$.a").unwrap()).unwrap_err();
    assert!(matches!(error, Error::Input(InputError::Io { .. })), "{error:?}");
    assert!(error.chain().contains("read the whole file"), "{}", error.chain());
}
