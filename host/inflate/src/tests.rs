//! Comparisons with another decoder.

use std::io::{self, Read, Write};
use std::sync::Arc;

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compress, Compression, FlushCompress, GzBuilder};
use warpath_random::Rng;

use crate::member::TRAILER_BYTES;
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
/// It refuses zeros after the last member, so these are left out. A trailer may end with eight zeros.
fn expected(packed: &[u8]) -> Outcome {
    let other = |packed: &[u8]| outcome(flate2::bufread::MultiGzDecoder::new(packed), 1);
    let all = other(packed);
    let bare = packed.iter().rposition(|byte| *byte != 0).map_or(0, |at| at + 1);
    let ends = (bare.max(1)..packed.len()).take(TRAILER_BYTES + 1);
    let padded =
        ends.map(|end| other(&packed[..end])).find(|(text, error)| error.is_none() && *text == all.0);
    if all.1.is_some() { padded.unwrap_or(all) } else { all }
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

/// Data that is compressed, stored once more: a search finds headers that are none of the outer member.
#[test]
fn headers_in_stored_text_mislead_no_search() {
    for seed in 0..30 {
        let mut random = Rng::new(2000 + seed);
        let mut inner = Vec::new();
        while inner.len() < 40_000 {
            match random.below(4) {
                0 => inner.extend(b"\x1f\x8b\x08\0".repeat(1 + random.below(2000))),
                1 => inner.extend(b"\0\0\0\xff\xff".repeat(1 + random.below(2000))),
                _ => {
                    let text = text(&mut random, 30_000);
                    inner.extend_from_slice(&member(&mut random, &text));
                }
            }
        }
        let mut outer = GzEncoder::new(Vec::new(), Compression::new(random.below(2) as u32));
        outer.write_all(&inner).unwrap();
        let packed = outer.finish().unwrap();
        assert!(expected(&packed) == (inner, None), "seed {seed}");
        check(&mut random, &packed, &format!("seed {seed}"));
    }
}

/// A member with these flags, and a checksum of the header if the flags say so.
fn with_header(flags: u8, text: &[u8]) -> Vec<u8> {
    let mut packed = vec![0x1f, 0x8b, 8, flags, 1, 2, 3, 4, 0, 255];
    if flags & 4 != 0 {
        packed.extend_from_slice(b"\x05\0extra");
    }
    for (flag, field) in [(8, &b"name\0"[..]), (16, b"comment\0")] {
        if flags & flag != 0 {
            packed.extend_from_slice(field);
        }
    }
    if flags & 2 != 0 {
        packed.extend_from_slice(&(crc32fast::hash(&packed) as u16).to_le_bytes());
    }
    let mut compress = DeflateEncoder::new(packed, Compression::default());
    compress.write_all(text).unwrap();
    let mut packed = compress.finish().unwrap();
    packed.extend_from_slice(&crc32fast::hash(text).to_le_bytes());
    packed.extend_from_slice(&(text.len() as u32).to_le_bytes());
    packed
}

#[test]
fn headers_are_read_as_by_another_decoder() {
    let mut random = Rng::new(3000);
    for flags in 0..=u8::MAX {
        let packed = [with_header(flags, b"first\n"), with_header(flags ^ 31, b"")].concat();
        check(&mut random, &packed, &format!("flags {flags}"));
    }
    for length in [65_534, 65_535, 65_536, 1 << 18] {
        let long = GzBuilder::new().filename(vec![b'n'; length]).comment(vec![b'c'; 60_000]);
        let mut encoder = long.extra(vec![1; 65_535]).write(Vec::new(), Compression::default());
        encoder.write_all(b"text\n").unwrap();
        let packed = encoder.finish().unwrap();
        // The other decoder refuses longer names. gzip and zlib accept them.
        if length <= 65_535 {
            check(&mut random, &packed, &format!("a name of {length} bytes"));
        }
        read_by_all(&packed, &[5000, 1 << 20], &(b"text\n".to_vec(), None));
    }
}

/// Compares the text, and the error after it, of readers in one thread and in several.
fn read_by_all(packed: &[u8], parts: &[usize], expected: &(Vec<u8>, Option<(io::ErrorKind, String)>)) {
    assert!(outcome(GzipReader::new(packed), 1000) == *expected);
    for bytes in parts {
        for threads in 1..4 {
            let raw = io::Cursor::new(packed.to_vec());
            let found = ParallelGzip::with_parts(raw, threads, Some(*bytes)).unwrap();
            assert!(outcome(found, 1000) == *expected, "{bytes} bytes, {threads} threads");
        }
    }
}

/// Tapes and disks fill their last block with zeros, which gzip passes over.
#[test]
fn zeros_after_the_last_member_are_padding() {
    let mut random = Rng::new(7000);
    let texts = [text(&mut random, 3000), text(&mut random, 300)];
    let packed: Vec<u8> = texts.iter().flat_map(|text| member(&mut random, text)).collect();
    for zeros in [1, 2, 9, 10, 11, 511, 40_000] {
        let padded = [packed.clone(), vec![0; zeros]].concat();
        let parts = [7, 100, 5000, 1 << 20];
        read_by_all(&padded, &parts, &(texts.concat(), None));
        // Whatever follows the zeros is an error, as after a member.
        let error = Some((io::ErrorKind::InvalidInput, "invalid gzip header".to_owned()));
        for more in [&b"x"[..], &packed] {
            read_by_all(&[&padded, more].concat(), &parts, &(texts.concat(), error.clone()));
        }
    }
}

/// A file that is cut at each of its bytes, or has any other byte there.
#[test]
fn each_byte_may_be_altered_or_missing() {
    let mut random = Rng::new(4000);
    let (fixed, dynamic) = (text(&mut random, 40), text(&mut random, 400));
    let packed = [with_header(31, &fixed), member(&mut random, &dynamic), with_header(0, b"")].concat();
    for at in 0..packed.len() {
        check(&mut random, &packed[..at], &format!("cut at {at}"));
        let mut altered = packed.clone();
        altered[at] = altered[at].wrapping_add(1 + random.below(255) as u8);
        check(&mut random, &altered, &format!("altered at {at}"));
    }
}

/// A reader that fails after some bytes.
struct Failing(io::Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        match self.0.read(room)? {
            0 if !room.is_empty() => Err(io::Error::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

/// The text before an error of the reader comes first, whole members too.
#[test]
fn errors_of_the_reader_come_after_the_text() {
    for seed in 0..100 {
        let mut random = Rng::new(5000 + seed);
        let texts = [text(&mut random, 20_000), text(&mut random, 20_000)];
        let mut packed = texts.iter().flat_map(|text| member(&mut random, text)).collect::<Vec<_>>();
        if random.below(4) > 0 {
            packed.truncate(random.below(packed.len()));
        }
        let (before, _) = outcome(GzipReader::new(&packed[..]), 1000);
        let failing = || Failing(io::Cursor::new(packed.clone()));
        let error = Some((io::ErrorKind::Other, "the disk is gone".to_owned()));
        assert!(outcome(GzipReader::new(failing()), 1000) == (before.clone(), error.clone()), "seed {seed}");
        for bytes in [1 + random.below(100), 100 + random.below(3000), 1 << 16] {
            let threads = 1 + random.below(4);
            let found = ParallelGzip::with_parts(failing(), threads, Some(bytes)).unwrap();
            assert!(outcome(found, 1000) == (before.clone(), error.clone()), "seed {seed}, {bytes} bytes");
        }
    }
}

/// A panic in the reader is an error, and no wait without end.
#[test]
fn a_panic_of_the_reader_is_an_error() {
    struct Panics;
    impl Read for Panics {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            panic!("as the test wants it");
        }
    }
    for threads in 1..4 {
        let (text, error) = outcome(ParallelGzip::new(Panics, threads).unwrap(), 100);
        let expected = (io::ErrorKind::Other, "a thread that decompresses has failed".to_owned());
        assert_eq!((text.len(), error), (0, Some(expected)));
    }
}

/// A drop ends all threads, whatever they do at this time.
#[test]
fn a_reader_may_be_dropped_at_any_time() {
    let mut random = Rng::new(6000);
    let text = text(&mut random, 3_000_000);
    let packed = member(&mut random, &text);
    for turn in 0..100 {
        let shared: Arc<[u8]> = packed.clone().into();
        let bytes = 300 + random.below(30_000);
        let raw = io::Cursor::new(Arc::clone(&shared));
        let mut reader = ParallelGzip::with_parts(raw, 1 + turn % 4, Some(bytes)).unwrap();
        let mut some = vec![0; random.below(text.len().max(1))];
        if turn % 5 > 0 {
            reader.read_exact(&mut some).unwrap();
            assert!(text.starts_with(&some));
        }
        drop(reader);
        assert_eq!(Arc::strong_count(&shared), 1, "a thread still has the input");
    }
}
