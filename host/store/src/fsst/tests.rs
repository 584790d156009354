//! Codes against slow ways to write and read them, and against another implementation's.

use warpath_core::simd::Isa;
use warpath_random::Rng;

use super::*;

/// A byte of an alphabet: two bytes, four with 0 and 255 among them, letters, or all.
fn byte(rng: &mut Rng, alphabet: usize) -> u8 {
    match alphabet {
        0 => rng.pick(b"ab"),
        1 => rng.pick(&[0, 255, b'a', 1]),
        2 => rng.pick(b"etaoin shrdlu.:/"),
        _ => rng.next_u64() as u8,
    }
}

fn bytes(rng: &mut Rng, alphabet: usize, len: usize) -> Vec<u8> {
    (0..len).map(|_| byte(rng, alphabet)).collect()
}

fn table(symbols: &[Vec<u8>]) -> Table {
    let words: Vec<u64> = symbols.iter().map(|symbol| word_at(symbol, 0)).collect();
    let lens: Vec<u8> = symbols.iter().map(|symbol| symbol.len() as u8).collect();
    Table::new(&words, &lens).unwrap()
}

/// Tables of few and of many symbols, equal ones among them.
fn tables(rng: &mut Rng, alphabet: usize) -> Vec<Table> {
    let mut symbols = |count: usize, prefix: &[u8]| -> Vec<Vec<u8>> {
        let one = |_| {
            let len = 1 + rng.below(8);
            let mut symbol = [prefix, &bytes(rng, alphabet, 8)].concat();
            symbol.truncate(len);
            symbol
        };
        (0..count).map(one).collect()
    };
    let mut all: Vec<Table> = [0, 1, 2, 9, 60, 255].map(|count| table(&symbols(count, b""))).into();
    // More symbols with the same first bytes than fit into a bucket, with equal and different third bytes.
    all.push(table(&symbols(255, b"ab")));
    all.push(table(&symbols(255, b"\0\0\0")));
    all.push(table(&symbols(100, b"a")));
    all
}

/// Returns the codes of a string, found by trying each symbol. Of equal symbols, the first one is used.
fn slowly(table: &Table, mut string: &[u8]) -> Vec<u8> {
    let words: Vec<[u8; 8]> = table.symbols().iter().map(|word| word.to_le_bytes()).collect();
    let symbols: Vec<&[u8]> =
        words.iter().zip(table.lens()).map(|(word, len)| &word[..usize::from(*len)]).collect();
    let mut codes = Vec::new();
    while let Some(first) = string.first() {
        let fits = |code: &u8| {
            let symbol = symbols[usize::from(*code)];
            !symbol.is_empty() && string.starts_with(symbol)
        };
        match (0..ESCAPE).rev().filter(fits).max_by_key(|code| symbols[usize::from(*code)].len()) {
            Some(code) => {
                codes.push(code);
                string = &string[symbols[usize::from(code)].len()..];
            }
            None => {
                codes.extend([ESCAPE, *first]);
                string = &string[1..];
            }
        }
    }
    codes
}

fn decoded(table: &Table, codes: &[u8]) -> Vec<u8> {
    let mut room = vec![0; 8 * codes.len()];
    let len = Decoder::new(table).decode(codes, &mut room).unwrap();
    room.truncate(len);
    room
}

/// Returns the text that another implementation decodes.
fn decoded_by_other(table: &Table, codes: &[u8]) -> Vec<u8> {
    let mut symbols = [fsst::Symbol::ZERO; 255];
    let mut lens = [0; 255];
    for code in 0..255 {
        symbols[code] = fsst::Symbol::from_slice(&table.symbols()[code].to_le_bytes());
        lens[code] = table.lens()[code];
    }
    fsst::Decompressor::new(&symbols, &lens).decompress(codes)
}

/// A table that another implementation has trained.
fn table_by_other(text: &[u8]) -> Table {
    let other = fsst::Compressor::train(&vec![text]);
    let words: Vec<u64> = other.symbol_table().iter().map(|symbol| symbol.to_u64()).collect();
    Table::new(&words, other.symbol_lengths()).unwrap()
}

fn check_text(table: &Table, text: &[u8]) {
    let want: Vec<u8> = text.chunks(SEGMENT_BYTES).flat_map(|segment| slowly(table, segment)).collect();
    let compressor = Compressor::new(table);
    for isa in Isa::all() {
        let mut codes = b"before".to_vec();
        compressor.compress_with(isa, text, &mut codes);
        assert!(codes == [b"before", &want[..]].concat(), "{isa:?}, {} bytes", text.len());
    }
    let mut codes = Vec::new();
    compressor.compress_parallel(text, &mut codes);
    assert!(codes == want);
    assert!(decoded(table, &want) == text);
    assert!(decoded_by_other(table, &want) == text);
    check_splits(table, &want);
}

fn check_strings(table: &Table, values: &[u8], offsets: &[i32]) {
    let compressor = Compressor::new(table);
    let (mut want, mut want_ends) = (b"before".to_vec(), vec![7]);
    for bounds in offsets.windows(2) {
        want.extend(slowly(table, &values[bounds[0] as usize..bounds[1] as usize]));
        want_ends.push(want.len() as u64);
    }
    for isa in Isa::all() {
        let (mut codes, mut ends) = (b"before".to_vec(), vec![7]);
        compressor.compress_strings_with(isa, values, offsets, &mut codes, &mut ends);
        assert!(codes == want && ends == want_ends, "{isa:?}, {} strings", offsets.len());
    }
}

fn check_splits(table: &Table, codes: &[u8]) {
    let (mut want, mut at, mut offset) = (Vec::new(), 0, 0);
    let end = loop {
        while want.len() * SPLIT_CODES < codes.len().min(at + 1) {
            want.push(Split::new(offset, at > want.len() * SPLIT_CODES));
        }
        if at >= codes.len() {
            break Ok((want, offset));
        }
        match table.step(codes, at) {
            Ok((_, len, taken)) => (at, offset) = (at + taken, offset + u64::from(len)),
            Err(fault) => break Err(fault),
        }
    };
    assert_eq!(splits(table, codes), end);
}

/// Decodes into outputs of all sizes that matter, and compares with the reference decoder.
fn check_decoding(table: &Table, codes: &[u8]) {
    for isa in Isa::all() {
        check_decoding_with(&Decoder::new(table).with(isa), table, codes);
    }
}

fn check_decoding_with(decoder: &Decoder, table: &Table, codes: &[u8]) {
    let whole = table.decode(codes, &mut vec![0; 8 * codes.len()]).unwrap_or(8 * codes.len());
    let rooms = (0..whole.min(90)).chain(whole.saturating_sub(90)..whole + 90).chain([8 * codes.len() + 200]);
    for len in rooms {
        let (mut want, mut got) = (vec![0xaa; len], vec![0xaa; len]);
        let end = table.decode(codes, &mut want);
        assert_eq!(decoder.decode(codes, &mut got), end, "room of {len}");
        if end.is_ok() {
            assert!(got == want, "room of {len}");
        } else {
            // The text before the fault is there.
            let before = want.iter().rposition(|byte| *byte != 0xaa).map_or(0, |last| last + 1);
            assert!(got[..before] == want[..before], "room of {len}");
        }
    }
}

#[test]
fn texts_become_the_codes_of_the_longest_symbols() {
    let mut rng = Rng::new(1);
    for alphabet in 0..4 {
        for table in tables(&mut rng, alphabet) {
            for len in [0, 1, 2, 7, 8, 9, 500, SEGMENT_BYTES - 1, SEGMENT_BYTES + 3, 3 * SEGMENT_BYTES] {
                let text = bytes(&mut rng, alphabet, len);
                check_text(&table, &text);
            }
        }
    }
}

#[test]
fn long_texts_are_cut_alike_whatever_the_threads() {
    let mut rng = Rng::new(2);
    let text = bytes(&mut rng, 2, (2 << 20) + 12_345);
    let table = train(&Sample::of_text(&text));
    check_text(&table, &text);
}

#[test]
fn strings_are_compressed_each_on_its_own() {
    let mut rng = Rng::new(3);
    for alphabet in 0..4 {
        for table in tables(&mut rng, alphabet) {
            for (count, longest) in [(0, 1), (1, 1), (7, 4), (300, 1), (300, 12), (100, 90), (3, 20_000)] {
                let mut offsets = vec![rng.below(5) as i32];
                for _ in 0..count {
                    offsets.push(offsets[offsets.len() - 1] + rng.below(longest + 1) as i32);
                }
                // Bytes follow the last string, and a wrong decoder could take them for a part of it.
                let values = bytes(&mut rng, alphabet, offsets[count] as usize + 9);
                check_strings(&table, &values, &offsets);
            }
        }
    }
    // Many empty strings, and many strings in several batches.
    let table = table(&[b"ab".to_vec(), b"a".to_vec(), b"abc".to_vec()]);
    check_strings(&table, b"abcab", &[[0; 600_000].as_slice(), &[3; 300_000], &[5; 9]].concat());
    let values = b"abcabcabab".repeat(60_000);
    let offsets: Vec<i32> = (0..=values.len() as i32).step_by(5).collect();
    check_strings(&table, &values, &offsets);
    let (mut codes, mut ends) = (Vec::new(), Vec::new());
    Compressor::new(&table).compress_strings(b"", &[] as &[i64], &mut codes, &mut ends);
    assert!(codes.is_empty() && ends.is_empty());
}

#[test]
fn bytes_behind_a_string_are_not_looked_at() {
    let table =
        table(&[b"a\0".to_vec(), b"a\0\0".to_vec(), b"ab".to_vec(), b"abc".to_vec(), b"abcdefgh".to_vec()]);
    for string in [&b"a"[..], b"ab", b"abc", b"abcdefg", b"a\0", b"xa"] {
        for behind in [&b""[..], b"b", b"bcdefgh", b"\0", b"\0\0\0\0\0\0\0\0\0", b"h"] {
            let values = [string, behind].concat();
            check_strings(&table, &values, &[0, string.len() as i32]);
            check_strings(&table, &values, &[0, string.len() as i32, values.len() as i32]);
        }
    }
}

#[test]
#[should_panic = "offsets ascend"]
fn offsets_that_fall_are_refused() {
    let table = table(&[]);
    Compressor::new(&table).compress_strings(b"abcdef", &[0_u64, 4, 2, 6], &mut Vec::new(), &mut Vec::new());
}

#[test]
fn tables_of_others_are_as_good() {
    let text =
        "http://www.example.com/a?b=1&c=2 ".repeat(90) + &"the quick brown fox \u{e9}\u{1f602}".repeat(50);
    let table = table_by_other(text.as_bytes());
    check_text(&table, text.as_bytes());
    check_text(&train(&Sample::of_text(text.as_bytes())), text.as_bytes());
}

#[test]
fn garbage_is_decoded_as_the_rule_says() {
    let mut rng = Rng::new(4);
    for alphabet in 0..4 {
        for table in tables(&mut rng, alphabet) {
            let known = table.len().max(1);
            for round in 0..12 {
                let len = rng.below([160, 160, 700][round % 3]);
                // All codes, those of the table, and those with many escapes or few.
                let mut code = |kind: usize| match kind {
                    0 => rng.next_u64() as u8,
                    1 => rng.below(known) as u8,
                    2 if rng.below(2) == 0 => ESCAPE,
                    3 if rng.below(12) == 0 => ESCAPE,
                    _ => rng.below(known) as u8,
                };
                let codes: Vec<u8> = (0..len).map(|_| code(round % 4)).collect();
                check_decoding(&table, &codes);
                check_splits(&table, &codes);
            }
        }
    }
}

#[test]
fn splits_are_where_the_steps_are() {
    let mut rng = Rng::new(5);
    let table = table(&[b"a".to_vec(), b"12345678".to_vec(), b"xyz".to_vec()]);
    for len in [0, 1, SPLIT_CODES - 1, SPLIT_CODES, SPLIT_CODES + 1, 3 * SPLIT_CODES, 5 * SPLIT_CODES + 77] {
        for escapes in [1000, 10, 2, 1] {
            let mut codes: Vec<u8> =
                (0..len).map(|_| if rng.below(escapes) == 0 { ESCAPE } else { rng.below(3) as u8 }).collect();
            check_splits(&table, &codes);
            codes.push(0);
            check_splits(&table, &codes);
            if len > 0 {
                codes[len - 1] = 77;
                check_splits(&table, &codes);
            }
        }
    }
}

/// Returns the bytes of text per code.
fn ratio(table: &Table, text: &[u8]) -> f64 {
    let mut codes = Vec::new();
    Compressor::new(table).compress(text, &mut codes);
    assert!(decoded(table, &codes) == text);
    text.len() as f64 / codes.len() as f64
}

#[test]
fn tables_suit_what_they_were_trained_on() {
    assert!(train(&Sample::default()).is_empty());
    assert!(train(&Sample::of_text(b"")).is_empty());
    assert_eq!(train(&Sample::of_text(b"a")).len(), 1);
    assert!(ratio(&train(&Sample::of_text(&[b'x'; 100_000])), &[b'x'; 100_000]) > 7.9);
    // 0 and 255 are ordinary bytes.
    let text = [0, 0, 255, 255, 0, 7, 0, 0].repeat(9000);
    assert!(ratio(&train(&Sample::of_text(&text)), &text) > 7.9);
    // What cannot be compressed is not made much longer: one byte of 256 has no symbol.
    let random = bytes(&mut Rng::new(6), 3, 200_000);
    assert!(ratio(&train(&Sample::of_text(&random)), &random) > 0.95);
    let words = ["http://", "www.", "example", ".com/", "page=", "&id=", "12", "345", "6"];
    let mut rng = Rng::new(7);
    let text: String = (0..40_000).map(|_| rng.pick(&words)).collect();
    let table = train(&Sample::of_text(text.as_bytes()));
    let (ours, others) =
        (ratio(&table, text.as_bytes()), ratio(&table_by_other(text.as_bytes()), text.as_bytes()));
    assert!(ours > others, "{ours} {others}");
    // The same sample gives the same table.
    assert!(train(&Sample::of_text(text.as_bytes())) == table);
}

#[test]
fn symbols_are_not_of_two_strings() {
    // Strings of two bytes: no longer symbol is ever used.
    let values: Vec<u8> = b"abcdefgh".repeat(40_000);
    let offsets: Vec<u64> = (0..=values.len() as u64).step_by(2).collect();
    for offsets in [&offsets[..], &offsets[..1000]] {
        let sample = Sample::of_strings(&values, offsets);
        assert!(sample.bytes().len() <= SAMPLE_BYTES && sample.bytes().len() >= 1998);
        let table = train(&sample);
        assert!(table.lens().iter().all(|len| *len <= 2));
        let (mut codes, mut ends) = (Vec::new(), Vec::new());
        Compressor::new(&table).compress_strings(&values, offsets, &mut codes, &mut ends);
        assert_eq!(codes.len(), offsets.len() - 1);
    }
    assert!(train(&Sample::of_strings(b"", &[] as &[i32])).is_empty());
    assert!(train(&Sample::of_strings(b"", &[0_i32; 9])).is_empty());
    // The sample has parts of few long strings.
    let long = b"0123456789".repeat(100_000);
    let sample = Sample::of_strings(&long, &[0_i64, 300_000, 1_000_000]);
    assert!(sample.bytes().len() > SAMPLE_BYTES / 2 && sample.bytes().len() <= SAMPLE_BYTES);
    assert!(ratio(&train(&sample), &long) > 7.0);
}
