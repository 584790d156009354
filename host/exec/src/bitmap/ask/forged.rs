//! Tests with bitmap indexes that were altered, with matching checksums. Reading them gives an error or
//! another index.

use warpath_core::error::Error;
use warpath_core::plain;
use warpath_core::stamp::hash;
use warpath_core::wah::{Bitmap, WahBuf, chunks};
use warpath_cpu::bitmap::plan::Plan;
use warpath_shared::wah::chunks_for;
use warpath_store::bitmap::column::{Bin, Column, Holds, Kind, Scalar};
use warpath_store::bitmap::file::Image;
use warpath_store::bitmap::layout::{BitmapPlace, Contents, Encoding, HEADER_BYTES, Section};
use warpath_store::bitmap::{BitmapIndex, Built, BuiltColumn, StoredValues, Values};

use super::BitmapEngine;

/// An index of three tiles, with every kind of section.
fn small() -> BitmapIndex {
    let rows = 63 * 128 * 2 + 70;
    let column = |name: &str, kind, of: &dyn Fn(u64) -> u64, bounds: Vec<[Scalar; 2]>, values| {
        let bins = 0..bounds.len() as u64;
        let ones = |bin: u64| (0..rows).filter(move |row| of(*row) == bin);
        let bitmaps: Vec<WahBuf> = bins.map(|bin| WahBuf::from_ones(ones(bin), rows)).collect();
        let bins = bounds.into_iter().zip(&bitmaps).map(|([least, greatest], bitmap)| Bin {
            holds: Holds::Values { least, greatest },
            rows: bitmap.as_wah().count(),
        });
        let (name, source, binning) = (name.to_owned(), "$.a".to_owned(), "edges:".to_owned());
        let column = Column { name, source, kind, binning, bins: bins.collect() };
        BuiltColumn { column, bitmaps, values }
    };
    // Texts: "" and "een" in one bin, "twee" in another.
    let (text, of_text) = (|row: u64| row / 1000 % 3, |row: u64| row / 1000 % 3 / 2);
    let mut texts = StoredValues::Text { offsets: vec![0], bytes: Vec::new() };
    (0..rows).filter(|row| of_text(*row) == 0).for_each(|row| {
        texts.push_text(["", "een"][text(row) as usize].as_bytes());
    });
    // Numbers: -100 to 199, and 500.
    let of_number = |row: u64| u64::from(row.is_multiple_of(7));
    let mut numbers = StoredValues::U16(Vec::new());
    (0..rows).filter(|row| of_number(*row) == 0).for_each(|row| numbers.push_distance(row % 300));
    let texts_of = |least: &str, greatest: &str| [least, greatest].map(|text| Scalar::Text(text.into()));
    let bounds = vec![texts_of("", "een"), texts_of("twee", "twee")];
    let columns = vec![
        column("texts", Kind::Text, &of_text, bounds, vec![texts, StoredValues::Same]),
        column(
            "numbers",
            Kind::Int,
            &of_number,
            vec![[-100, 199].map(Scalar::Int), [500, 500].map(Scalar::Int)],
            vec![numbers, StoredValues::Same],
        ),
    ];
    let records = Some(WahBuf::from_ones(1..rows, rows));
    BitmapIndex::from_built(Built { rows, records, columns }).unwrap()
}

/// Replaces the checksums by those of the altered bytes.
fn reseal(words: &mut [u64], contents: &Contents) {
    let mut contents = contents.clone();
    let image = Image::Owned(words.to_vec());
    let sum = |section: &mut Section| section.checksum = hash(&image.bytes()[section.place.clone()]);
    let bitmap = |place: &mut BitmapPlace| {
        sum(&mut place.atoms);
        sum(&mut place.tiles);
    };
    contents.places.iter_mut().flat_map(|place| &mut place.bins).for_each(|bin| bitmap(&mut bin.bitmap));
    contents.records.iter_mut().for_each(bitmap);
    for place in &mut contents.places {
        let mut sums = Vec::new();
        for bin in place.bins.iter().filter(|bin| bin.encoding != Encoding::Same) {
            assert_eq!(bin.encoding.checksums(1), bin.encoding.checksums(contents.rows));
            sums.push(hash(&image.bytes()[bin.values.clone()]));
            if bin.encoding == Encoding::Text {
                // The range of the texts, as far as their offsets allow.
                let offsets: &[u64] = image.numbers(&bin.values);
                let (first, last) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
                let text = &image.bytes()[bin.text.clone()];
                sums.push(hash(text.get(first..last).unwrap_or_default()));
            }
        }
        words[place.checksums.place.start / 8..][..sums.len()].copy_from_slice(&sums);
        place.checksums.checksum = hash(plain::bytes(&sums));
    }
    let head = contents.encode();
    write(words, 0, &head);
}

fn write(words: &mut [u64], at: usize, bytes: &[u8]) {
    for (at, byte) in (at..).zip(bytes) {
        let shift = 8 * (at % 8);
        words[at / 8] = words[at / 8] & !(0xff << shift) | u64::from(*byte) << shift;
    }
}

/// Reads every section, as an evaluation does. Terminates for any bytes.
fn read_all(image: Vec<u64>) -> Result<(), String> {
    let image = Image::Owned(image);
    let contents = Contents::decode(image.bytes())?;
    let index = BitmapIndex::new("altered".into(), image, contents);
    let all = || -> Result<(), Error> {
        for (column, described) in index.columns().iter().enumerate() {
            for bin in 0..described.bins.len() {
                let Bitmap { wah, tiles } = index.bitmap(column, bin)?;
                assert_eq!(chunks(wah).len() as u64, chunks_for(index.rows()));
                assert!(wah.ones().all(|row| row < index.rows()));
                assert!(tiles.iter().all(|start| start.atom as usize <= wah.words().len()));
            }
            for (bin, described) in described.bins.iter().enumerate() {
                let values = index.values(column, bin)?;
                if let Values::Text(texts) = values {
                    assert!((0..described.rows as usize).all(|row| texts.get(row).is_some()));
                }
                assert!(values.rows().is_none_or(|rows| rows as u64 == described.rows));
            }
        }
        // These expressions cut bins, so that stored values are read.
        for asked in ["numbers > 7 and texts < 'b'", "texts >= 'b' or numbers in (-3, 500)"] {
            if let Ok(plan) = Plan::of(&index, &asked.parse().unwrap(), false) {
                BitmapEngine::cpu().with_threads(1).answer(&index, &plan, true)?;
            }
        }
        index.records()?;
        let _ = index.info();
        index.verify()
    };
    all().map_err(|error| error.to_string())
}

/// Alters words and renews their checksums. The result has to be an error or another index, and no read may
/// be out of bounds.
#[test]
fn what_is_forged_is_no_worse_than_wrong() {
    let index = small();
    let words: Vec<u64> = index.bytes().as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    let contents = &Contents::decode(index.bytes()).unwrap();
    let mut same = words.clone();
    reseal(&mut same, contents);
    assert!(same == words);
    assert_eq!(read_all(same), Ok(()));
    let table_end = (HEADER_BYTES + contents.table_bytes) / 8;
    let others = |word: u64| {
        [
            0,
            !0,
            word ^ 1,
            word + 1,
            word.wrapping_sub(1),
            word ^ 1 << 63,
            word ^ 1 << 62,
            word ^ 1 << 32,
            1 << 61,
        ]
    };
    let mut refused = 0;
    // Only a sample of the sections that repeat the same numbers.
    for at in
        (table_end..words.len()).filter(|at| at % 301 == 0 || at % 5 == 0 && is_bitmap(contents, 8 * at))
    {
        for other in others(words[at]) {
            let mut altered = words.clone();
            altered[at] = other;
            reseal(&mut altered, contents);
            refused += usize::from(read_all(altered).is_err());
        }
    }
    assert!(refused > 500, "{refused}");
    // Every byte and every word of header and table.
    for at in 8..HEADER_BYTES + contents.table_bytes {
        let byte = (words[at / 8] >> (8 * (at % 8))) as u8;
        for other in [0, 0xff, byte ^ 1, byte ^ 0x80, byte.wrapping_add(1)] {
            let mut altered = words.clone();
            write(&mut altered, at, &[other]);
            reseal_head(&mut altered, contents.table_bytes);
            let _ = read_all(altered);
        }
    }
    for at in 1..table_end {
        for other in others(words[at]) {
            let mut altered = words.clone();
            altered[at] = other;
            reseal_head(&mut altered, contents.table_bytes);
            let _ = read_all(altered);
        }
    }
}

/// Replaces the checksums of header and table.
fn reseal_head(words: &mut [u64], table_bytes: usize) {
    let table = hash(&plain::bytes(words)[HEADER_BYTES..HEADER_BYTES + table_bytes]);
    words[8] = table;
    words[15] = hash(&plain::bytes(words)[..HEADER_BYTES - 8]);
}

/// True if a byte belongs to a bitmap.
fn is_bitmap(contents: &Contents, at: usize) -> bool {
    let bins = contents.places.iter().flat_map(|place| &place.bins).map(|bin| &bin.bitmap);
    let bins = bins.chain(&contents.records);
    bins.into_iter().any(|bin| bin.atoms.place.contains(&at) || bin.tiles.place.contains(&at))
}
