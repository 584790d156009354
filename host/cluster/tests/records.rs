//! The files that queries read.

use std::fmt::Write as _;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use warpath_random::Rng;

/// The number of files of a set.
pub const FILES: u64 = 16;

/// Records of events: nested members, nulls, members of several types, integers beyond 64 bits.
pub fn records(file: u64, count: u64) -> String {
    let mut random = Rng::new(file + 1);
    let mut text = String::new();
    for n in 0..count {
        let id = file * count + n;
        let user = random.below(500);
        let lang = ["en", "de", "ja", "pt", "fr"][random.below(5)];
        let kind = ["commit", "identity", "account"][random.below(3)];
        let ms = random.below(100_000);
        write!(text, "{{\"id\":{id},\"kind\":\"{kind}\",\"ms\":{ms},\"ratio\":{}", ms as f64 / 8.0).unwrap();
        write!(text, ",\"user\":{{\"id\":{user},\"lang\":\"{lang}\",\"tags\":[").unwrap();
        let tags: Vec<String> = (0..random.below(4)).map(|tag| format!("\"t{tag}\"")).collect();
        write!(text, "{}]}}", tags.join(",")).unwrap();
        match random.below(4) {
            0 => text.push_str(",\"note\":null"),
            1 => write!(text, ",\"note\":\"n{}\"", random.below(50)).unwrap(),
            _ => {}
        }
        match random.below(3) {
            0 => write!(text, ",\"odd\":{}", random.below(9)).unwrap(),
            1 => write!(text, ",\"odd\":\"x{}\"", random.below(9)).unwrap(),
            _ => text.push_str(",\"odd\":[1,{\"a\":true}]"),
        }
        write!(text, ",\"big\":{}{:019}", 1 + random.below(9), random.below(1 << 60)).unwrap();
        write!(text, ",\"ok\":{}", random.below(2) == 0).unwrap();
        let (day, second) = (1 + random.below(28), random.below(60));
        writeln!(text, ",\"at\":\"2026-02-{day:02}T03:04:{second:02}Z\"}}").unwrap();
    }
    text
}

/// Writes the files of a set: `events/`, compressed ones in `packed/`, folders of years in `years/`, and the
/// users in `users.ndjson`.
pub fn write_all(folder: &Path, count: u64) {
    for name in ["events", "packed", "years/year=2025", "years/year=2026"] {
        fs::create_dir_all(folder.join(name)).unwrap();
    }
    for file in 0..FILES {
        // Files of many sizes.
        let text = records(file, count * (1 + file % 4) / 2);
        fs::write(folder.join(format!("events/{file:02}.ndjson")), &text).unwrap();
        if file < 4 {
            let path = folder.join(format!("packed/{file}.ndjson.gz"));
            let mut encoder =
                flate2::write::GzEncoder::new(fs::File::create(path).unwrap(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap();
            let year = 2025 + file % 2;
            fs::write(folder.join(format!("years/year={year}/{file}.ndjson")), &text).unwrap();
        }
    }
    let users: String =
        (0..400).map(|id| format!("{{\"id\":{id},\"name\":\"u{id}\",\"team\":{}}}\n", id % 7)).collect();
    fs::write(folder.join("users.ndjson"), users).unwrap();
}
