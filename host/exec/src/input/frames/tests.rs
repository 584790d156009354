//! Comparisons with the library's reader, and of several threads with one.

use std::io::{self, BufReader, Cursor, Read, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use warpath_random::Rng;
use zstd::stream::read::Decoder;
use zstd::stream::write::Encoder;

use super::batches::Sizes;
use super::*;
use crate::input::zstd::{Zstd, ZstdBody};

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

/// A reader that returns few bytes at once, is interrupted before each of them, and may fail at its end.
struct Trickle {
    bytes: Cursor<Vec<u8>>,
    most: usize,
    is_interrupted: bool,
    fails: bool,
}

impl Read for Trickle {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        self.is_interrupted = !self.is_interrupted;
        if self.is_interrupted {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = room.len().min(self.most);
        match self.bytes.read(&mut room[..most])? {
            0 if self.fails => Err(io::Error::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

/// Compares any data by all decoders: one thread and several, with batches and frames of any size.
fn check(random: &mut Rng, packed: &[u8], what: &str) {
    let most = 1 + random.below(5000);
    let first = outcome(sequential(packed), most);
    // A call of the library that fails loses the bytes that it has decoded, so it returns a byte at a time.
    // It decodes a whole frame at once if it is there, so it gets a byte at a time, too.
    let library = outcome(Decoder::with_buffer(BufReader::with_capacity(1, packed)).unwrap(), 1);
    assert_eq!(first.1, library.1, "{what}: {} and {} bytes", first.0.len(), library.0.len());
    // The library returns bytes of a stored block before it has the whole block. It then may find, at the end
    // of the block, that the size of the frame is wrong. Ours has returned nothing of that block.
    let more = library.0.len().wrapping_sub(first.0.len());
    assert!(library.0.starts_with(&first.0), "{what}: {} and {} bytes", first.0.len(), library.0.len());
    assert!(more == 0 || more <= 128 << 10 && first.1.is_some(), "{what}: {more} bytes more, {:?}", first.1);
    let trickle =
        |most, fails| Trickle { bytes: Cursor::new(packed.to_vec()), most, is_interrupted: false, fails };
    let few = 1 + random.below(300);
    let failed = outcome(super::sequential::<Zstd>(Box::new(trickle(few, true))).unwrap(), most);
    assert!(
        outcome(super::sequential::<Zstd>(Box::new(trickle(few, false))).unwrap(), most) == first,
        "{what}"
    );
    for _ in 0..3 {
        let any = |random: &mut Rng| 1 << random.below(18);
        let (batch, frame) = ([any(random), any(random)], [any(random), any(random)]);
        let sizes = Sizes { batch, frame, first: any(random) };
        let threads = 1 + random.below(3);
        let what = format!("{what}, {threads} threads, {sizes:?}");
        let raw = Box::new(Cursor::new(packed.to_vec()));
        let mut reader = ParallelFrames::<Zstd>::with_sizes(raw, threads, sizes);
        let found = outcome(&mut reader, most);
        assert_eq!(reader.read(&mut [0]).ok(), Some(0), "{what}: an error ends the text");
        assert_eq!(found.1, first.1, "{what}: {} and {} bytes", found.0.len(), first.0.len());
        assert!(found.0 == first.0, "{what}: {} and {} bytes", found.0.len(), first.0.len());
        let found =
            outcome(ParallelFrames::<Zstd>::with_sizes(Box::new(trickle(few, true)), threads, sizes), most);
        assert!(found == failed, "{what}, a reader that fails: {:?} and {:?}", found.1, failed.1);
    }
}

fn sequential(packed: &[u8]) -> Box<dyn Read + Send> {
    super::sequential::<Zstd>(Box::new(Cursor::new(packed.to_vec()))).unwrap()
}

/// A text of one of several kinds.
fn text(random: &mut Rng, most: usize) -> Vec<u8> {
    let len = random.below(most + 1);
    let kind = random.below(4);
    let mut text = Vec::with_capacity(len + 100);
    while text.len() < len {
        match kind {
            0 => text.push(random.below(256) as u8),
            1 => text.extend(std::iter::repeat_n(random.below(256) as u8, 1 + random.below(300_000))),
            2 => text.extend_from_slice(&b"abcabcabd"[..1 + random.below(9)]),
            _ => writeln!(text, "{{\"id\":{},\"user\":\"{:x}\"}}", random.below(100), random.below(1 << 30))
                .unwrap(),
        }
    }
    text.truncate(len);
    text
}

/// A frame, with or without a checksum and the size of its text, of one block or of several.
fn frame(random: &mut Rng, text: &[u8]) -> Vec<u8> {
    let mut encoder = Encoder::new(Vec::new(), random.below(7) as i32 - 2).unwrap();
    encoder.include_checksum(random.below(2) == 0).unwrap();
    if random.below(3) == 0 {
        encoder.window_log(10 + random.below(10) as u32).unwrap();
    }
    if random.below(2) == 0 {
        encoder.set_pledged_src_size(Some(text.len() as u64)).unwrap();
        encoder.include_contentsize(true).unwrap();
    }
    let mut rest = text;
    while !rest.is_empty() {
        let (now, later) =
            rest.split_at(if random.below(3) == 0 { rest.len() } else { random.below(rest.len() + 1) });
        encoder.write_all(now).unwrap();
        if random.below(3) == 0 {
            encoder.flush().unwrap();
        }
        rest = later;
    }
    encoder.finish().unwrap()
}

/// A frame that is skipped.
fn skipped(random: &mut Rng) -> Vec<u8> {
    let most = [1, 30, 200_000][random.below(3)];
    let bytes = vec![0x28; random.below(most)];
    let magic = 0x184d_2a50 + random.below(16) as u32;
    [&magic.to_le_bytes()[..], &(bytes.len() as u32).to_le_bytes(), &bytes].concat()
}

/// Some frames, and their text.
fn frames(random: &mut Rng) -> (Vec<u8>, Vec<u8>) {
    let (mut packed, mut all) = (Vec::new(), Vec::new());
    for _ in 0..1 + random.below(12) {
        match random.below(6) {
            0 => packed.extend(skipped(random)),
            _ => {
                let most = [0, 10, 3000, 300_000][random.below(4)];
                let text = text(random, most);
                packed.extend(frame(random, &text));
                all.extend(text);
            }
        }
    }
    (packed, all)
}

#[test]
fn frames_have_the_text_of_one_decoder() {
    let mut random = Rng::new(1);
    for case in 0..60 {
        let (packed, all) = frames(&mut random);
        let found = outcome(sequential(&packed), 1 << 20);
        assert!(found == (all, None), "case {case}: {:?}", found.1);
        check(&mut random, &packed, &format!("case {case}"));
    }
}

#[test]
fn damaged_frames_have_the_text_and_the_error_of_one_decoder() {
    let mut random = Rng::new(2);
    for case in 0..250 {
        let (mut packed, _) = frames(&mut random);
        match random.below(5) {
            0 => packed.truncate(random.below(packed.len() + 1)),
            1 => packed
                .extend_from_slice(&b"\x28\xb5\x2f\xfdgarbage"[random.below(4)..][..1 + random.below(7)]),
            2 => packed.extend_from_slice(&b"\x50\x2a\x4d\x18\x09\0\0\0garbage"[..1 + random.below(14)]),
            _ => {
                for _ in 0..1 + random.below(2) {
                    // Many faults are in headers.
                    let at = random.below(packed.len());
                    let at = if random.below(2) == 0 { at } else { at.min(random.below(40)) };
                    packed[at] ^= 1 << random.below(8);
                }
            }
        }
        check(&mut random, &packed, &format!("case {case}"));
    }
}

/// Every byte of a few small frames, damaged; and every length.
#[test]
fn every_byte_is_checked_or_is_of_no_account() {
    let mut random = Rng::new(3);
    let texts: [&[u8]; 3] = [b"{\"a\":1}\n{\"a\":2}\n", b"", b"{\"a\":1}\n{\"a\":1}\n{\"a\":1}\n"];
    let mut packed = Vec::new();
    for text in texts {
        let mut encoder = Encoder::new(Vec::new(), 3).unwrap();
        encoder.include_checksum(true).unwrap();
        encoder.write_all(text).unwrap();
        packed.extend(encoder.finish().unwrap());
        packed.extend(b"\x5f\x2a\x4d\x18\x02\0\0\0xy");
    }
    for at in 1..packed.len() {
        check(&mut random, &packed[..at], &format!("{at} bytes"));
        let mut damaged = packed.clone();
        damaged[at] ^= 1 << random.below(8);
        check(&mut random, &damaged, &format!("byte {at}"));
    }
}

/// A frame that needs a dictionary, one whose window is too large, and one that names a size that is not its
/// text's.
#[test]
fn frames_that_are_refused_are_refused_alike() {
    let mut random = Rng::new(4);
    let whole = frame(&mut random, b"{\"a\":1}\n");
    let block = b"\x09\0\0x";
    for (header, message) in [
        (&b"\x28\xb5\x2f\xfd\x21\x07\x01"[..], "Dictionary mismatch"),
        (b"\x28\xb5\x2f\xfd\x00\xa8", "Frame requires too much memory for decoding"),
        (b"\x28\xb5\x2f\xfd\x20\x02", "Data corruption detected"),
        (b"\x28\xb5\x2f\xfd\x28\x01", "Unsupported frame parameter"),
        (b"\x27\xb5\x2f\xfd\x0e\x01", "Unknown frame descriptor"),
    ] {
        let packed = [&whole[..], &whole, header, block, &whole, &whole].concat();
        check(&mut random, &packed, message);
        let (text, error) = outcome(sequential(&packed), 100);
        assert!(text.starts_with(b"{\"a\":1}\n{\"a\":1}\n"), "{message}");
        assert_eq!(error.map(|(_, message)| message).as_deref(), Some(message));
    }
}

/// A reader that counts the bytes that were read.
struct Counted(Cursor<Vec<u8>>, Arc<AtomicUsize>);

impl Read for Counted {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        let count = self.0.read(room)?;
        self.1.fetch_add(count, Ordering::Relaxed);
        Ok(count)
    }
}

/// Threads read ahead by no more than their batches, and the reader stops them when it is dropped.
#[test]
fn what_is_read_ahead_is_bounded() {
    let mut random = Rng::new(5);
    // Random bytes do not become shorter.
    let bytes: Vec<u8> = (0..100_000).map(|_| random.below(256) as u8).collect();
    let packed: Vec<u8> = (0..200).flat_map(|_| frame(&mut random, &bytes)).collect();
    let (len, read) = (packed.len(), Arc::new(AtomicUsize::new(0)));
    let sizes = Sizes { batch: [1, 1], frame: [1 << 20, 1 << 20], first: 1 << 20 };
    let raw = Box::new(Counted(Cursor::new(packed), read.clone()));
    let mut reader = ParallelFrames::<Zstd>::with_sizes(raw, 2, sizes);
    let mut some = vec![0; 1000];
    reader.read_exact(&mut some).unwrap();
    assert!(some == bytes[..1000]);
    drop(reader);
    let ahead = read.load(Ordering::Relaxed);
    assert!(ahead < len / 10, "{ahead} bytes of {len}");
}

/// The thread that reads decodes a long first frame as it comes, if its header does not say its size. A frame
/// that follows one of usual length is read to its end before.
#[test]
fn a_first_frame_of_unknown_size_is_decoded_as_it_comes() {
    let mut random = Rng::new(6);
    let frame = |random: &mut Rng, len: usize, says_size: bool| {
        // Random bytes do not become shorter.
        let text: Vec<u8> = (0..len).map(|_| random.below(256) as u8).collect();
        let mut encoder = Encoder::new(Vec::new(), 1).unwrap();
        encoder.set_pledged_src_size(says_size.then_some(len as u64)).unwrap();
        encoder.write_all(&text).unwrap();
        encoder.finish().unwrap()
    };
    let sizes = Sizes { batch: [1 << 20, 1 << 20], frame: [4 << 20, 4 << 20], first: 1 << 20 };
    let (short, long) = (3 << 20, 6 << 20);
    // The lengths of two frames; the frame whose first byte is read; true if its end has been read then.
    for (lens, says_size, at, is_whole) in [
        ([short, short], false, 0, false),
        ([short, short], true, 0, true),
        ([long, short], true, 0, false),
        ([short, short], false, 1, true),
        ([long, short], false, 1, false),
        ([long, long], false, 1, false),
    ] {
        let frames = lens.map(|len| frame(&mut random, len, says_size));
        let end: usize = frames[..=at].iter().map(Vec::len).sum();
        let read = Arc::new(AtomicUsize::new(0));
        let raw = Box::new(Counted(Cursor::new(frames.concat()), read.clone()));
        let mut reader = ParallelFrames::<Zstd>::with_sizes(raw, 2, sizes);
        let before = lens[..at].iter().sum::<usize>();
        reader.read_exact(&mut vec![0; before + 1]).unwrap();
        let read = read.load(Ordering::Relaxed);
        assert_eq!(read >= end, is_whole, "{lens:?}, {at}: {read} bytes of {end}");
    }
}

/// The pieces of a pipe are decoded when they are there: a reader is not asked for more than the frame needs.
#[test]
fn a_frame_that_is_there_is_decoded() {
    struct Waits(Cursor<Vec<u8>>);
    impl Read for Waits {
        fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
            match self.0.read(room)? {
                0 => panic!("the reader would wait"),
                count => Ok(count),
            }
        }
    }
    let mut encoder = Encoder::new(Vec::new(), 1).unwrap();
    encoder.write_all(b"{\"a\":1}\n").unwrap();
    encoder.flush().unwrap();
    let flushed = encoder.get_ref().clone();
    for packed in [flushed, zstd::encode_all(&b"{\"a\":1}\n"[..], 1).unwrap()] {
        let mut reader = super::sequential::<Zstd>(Box::new(Waits(Cursor::new(packed)))).unwrap();
        let mut text = [0; 8];
        reader.read_exact(&mut text).unwrap();
        assert_eq!(&text, b"{\"a\":1}\n");
    }
}

#[test]
fn headers_say_where_pieces_end() {
    let mut walk = Walk::<ZstdBody>::new();
    let bytes = b"\x28\xb5\x2f\xfd\x64\x05\x01";
    for (known, needs) in [(1, 2), (2, 3), (3, 4), (4, 5), (5, 7), (6, 7)] {
        assert_eq!(walk.step(&bytes[..known]), NextPiece::Needs(needs));
    }
    assert_eq!(walk.step(bytes), NextPiece::Piece { len: 7, is_last: false });
    assert_eq!(walk.text_bytes(), Some(0x0105 + 256));
    assert_eq!(walk.step(b"\x14\0"), NextPiece::Needs(3));
    // A compressed block of 2 bytes; one byte, repeated; the last block, of which each byte is stored.
    assert_eq!(walk.step(b"\x14\0\0"), NextPiece::Piece { len: 5, is_last: false });
    assert_eq!(walk.step(b"\x02\x08\0"), NextPiece::Piece { len: 4, is_last: false });
    assert_eq!(walk.step(b"\x09\0\0"), NextPiece::Piece { len: 4, is_last: false });
    assert_eq!(walk.step(b""), NextPiece::Piece { len: 4, is_last: true });
    assert_eq!(walk.step(b"\x50\x2a\x4d\x18\x05\0\0\0"), NextPiece::Piece { len: 8, is_last: false });
    assert_eq!(walk.step(b""), NextPiece::Piece { len: 5, is_last: true });
    assert_eq!(walk.step(b"\x50\x2a\x4d\x19"), NextPiece::Broken);
    assert_eq!(walk.step(b"\x28\xb5\x2f\xfd\0\0"), NextPiece::Piece { len: 6, is_last: false });
    assert_eq!(walk.text_bytes(), None);
    assert_eq!(walk.step(b"\x06\0\0"), NextPiece::Broken);
}
