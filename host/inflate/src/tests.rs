//! Comparisons with another decoder.

use std::io::{self, Read, Write};

use flate2::{Compress, Compression, FlushCompress, GzBuilder};
use warpath_random::Rng;

use crate::{GzipReader, ParallelGzip};

/// The text before the end or the error, and the error.
type Outcome = (Vec<u8>, Option<(io::ErrorKind, String)>);

/// Reads to the end, at most `most` bytes at once.
fn outcome(mut reader: impl Read, most: usize) -> Outcome {
    let (mut text, mut room) = (Vec::new(), vec![0; most]);
    loop {
        match reader.read(&mut room) {
            Ok(0) => return (text, None),
            Ok(count) => text.extend_from_slice(&room[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (text, Some((error.kind(), error.to_string()))),
        }
    }
}

/// The outcome of the other decoder, which reads byte by byte: a call that fails loses what it has decoded.
fn expected(packed: &[u8]) -> Outcome {
    outcome(flate2::bufread::MultiGzDecoder::new(packed), 1)
}

/// A reader that returns few bytes at once, and is interrupted before each of them.
struct Trickle<'a>(&'a [u8], usize, bool);

impl Read for Trickle<'_> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.2 = !self.2;
        if self.2 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = room.len().min(self.1);
        self.0.read(&mut room[..most])
    }
}

fn check(random: &mut Rng, packed: &[u8], what: &str) {
    let (text, error) = expected(packed);
    let first = outcome(GzipReader::new(packed), 1 << 20);
    assert_eq!(first.1, error, "{what}: {} and {} bytes", first.0.len(), text.len());
    // The call that finds the fault may have decoded the byte before it.
    let lost = usize::from(error.is_some_and(|(_, message)| message == "corrupt deflate stream"));
    let is_same = first.0.starts_with(&text) && first.0.len() <= text.len() + lost;
    assert!(is_same, "{what}: {} and {} bytes", first.0.len(), text.len());
    let same = |found: Outcome, by: &str| {
        assert_eq!(found.1, first.1, "{what}, {by}: {} and {} bytes", found.0.len(), first.0.len());
        assert!(found.0 == first.0, "{what}, {by}: {} and {} bytes", found.0.len(), first.0.len());
    };
    let (few, most) = (1 + random.below(40), 1 + random.below(5000));
    same(outcome(GzipReader::new(Trickle(packed, few, false)), most), "by few bytes");
    for bytes in [1 + random.below(16), 17 + random.below(200), 300 + random.below(3000), 1 << 16] {
        let threads = 1 + random.below(3);
        let found = ParallelGzip::with_parts(io::Cursor::new(packed.to_vec()), threads, Some(bytes)).unwrap();
        same(outcome(found, most), &format!("{threads} threads, parts of {bytes} bytes"));
    }
}

/// A text of one of several kinds.
fn text(random: &mut Rng, most: usize) -> Vec<u8> {
    let len = random.below(most + 1);
    let (kind, alphabet) = (random.below(5), random.below(256) as u8);
    let mut text = Vec::with_capacity(len + 100);
    while text.len() < len {
        match kind {
            0 => text.push(random.below(256) as u8),
            1 => text.push(alphabet.wrapping_add(random.below(4) as u8)),
            2 => text.extend_from_slice(&b"abcabcabd"[..1 + random.below(9)]),
            3 => text.extend(std::iter::repeat_n(random.below(256) as u8, 1 + random.below(3000))),
            _ => writeln!(text, "{{\"id\":{},\"user\":\"{:x}\"}}", random.below(100), random.below(1 << 30))
                .unwrap(),
        }
    }
    text.truncate(len);
    text
}

/// A member whose blocks are of several kinds.
fn member(random: &mut Rng, text: &[u8]) -> Vec<u8> {
    let mut builder = GzBuilder::new();
    if random.below(3) == 0 {
        builder = builder.filename("name").comment("comment").extra(vec![7; random.below(300)]);
    }
    let level = Compression::new(random.below(10) as u32);
    // An empty member has the header, and its trailer takes the last 8 bytes.
    let mut packed = builder.write(Vec::new(), Compression::default()).finish().unwrap();
    packed.truncate(packed.len() - 10);
    let mut compress = Compress::new(level, false);
    let mut rest = text;
    loop {
        let count = if random.below(3) == 0 { rest.len() } else { random.below(rest.len() + 1) };
        let flush = match random.below(5) {
            _ if count == rest.len() => FlushCompress::Finish,
            0 => FlushCompress::Sync,
            1 => FlushCompress::Full,
            2 => FlushCompress::Partial,
            _ => FlushCompress::None,
        };
        let before = compress.total_in();
        packed.reserve(2 * count + 1000);
        compress.compress_vec(&rest[..count], &mut packed, flush).unwrap();
        rest = &rest[(compress.total_in() - before) as usize..];
        if flush == FlushCompress::Finish {
            break;
        }
    }
    packed.extend_from_slice(&crc32fast::hash(text).to_le_bytes());
    packed.extend_from_slice(&(text.len() as u32).to_le_bytes());
    packed
}

#[test]
fn whole_files_are_read_as_by_another_decoder() {
    for seed in 0..60 {
        let mut random = Rng::new(seed);
        let mut packed = Vec::new();
        let mut all = Vec::new();
        for _ in 0..1 + random.below(4) {
            let most = if random.below(3) == 0 { 200_000 } else { 3000 };
            let text = text(&mut random, most);
            packed.extend_from_slice(&member(&mut random, &text));
            all.extend_from_slice(&text);
        }
        assert!(expected(&packed) == (all, None), "seed {seed}");
        check(&mut random, &packed, &format!("seed {seed}"));
    }
}

#[test]
fn damaged_files_are_read_as_by_another_decoder() {
    for seed in 0..300 {
        let mut random = Rng::new(1000 + seed);
        let mut packed = Vec::new();
        for _ in 0..1 + random.below(3) {
            let most = if random.below(8) == 0 { 100_000 } else { 2000 };
            let text = text(&mut random, most);
            packed.extend_from_slice(&member(&mut random, &text));
        }
        match random.below(4) {
            0 => packed.truncate(random.below(packed.len() + 1)),
            1 => packed.extend(std::iter::repeat_n(0, 1 + random.below(20))),
            2 => packed.extend_from_slice(&b"no member at all"[..1 + random.below(16)]),
            _ => {
                for _ in 0..1 + random.below(3) {
                    let at = random.below(packed.len());
                    packed[at] ^= 1 << random.below(8);
                }
            }
        }
        check(&mut random, &packed, &format!("seed {seed}"));
    }
}
