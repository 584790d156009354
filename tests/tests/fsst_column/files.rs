//! Files of columns, and forged files.

use std::fs;

use arrow_schema::DataType;
use warpath_tests::fsst_column::{fuzz_one, repaired};

use super::*;

/// A small file with nulls and more than one split, and its strings.
pub fn small(rows: usize, nulls: bool) -> (StringColumn, Strings) {
    let mut rng = Rng::new(7);
    let table =
        table(&[b"http://".to_vec(), b"example".to_vec(), b".com/".to_vec(), b"e".to_vec(), b"a".to_vec()]);
    let row = |row: usize| (!nulls || row % 7 != 3).then(|| url(&mut rng).into_bytes());
    let strings = layout(&(0..rows).map(row).collect::<Vec<_>>(), false);
    let column = StringColumn::compress_with(
        StringKind::Utf8,
        &table,
        &strings.values,
        &strings.offsets,
        strings.validity.as_deref(),
    );
    (column.unwrap(), strings)
}

#[test]
fn files_come_back() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("urls.wps");
    for (rows, nulls) in [(0, false), (1, true), (500, true), (100_000, false)] {
        let (column, strings) = small(rows, nulls);
        column.write(&path)?;
        let file = StringColumn::open(&path)?;
        file.check()?;
        ensure!(
            file.decode()? == strings && file.kind() == StringKind::Utf8 && file.table() == column.table()
        );
        ensure!(fs::read(&path)? == column.to_bytes()? && file.to_bytes()? == column.to_bytes()?);
        ensure!(
            repaired(&column.to_bytes()?) == Some(column.to_bytes()?),
            "the checksums are those of the document"
        );
        // A new one in its place leaves the one that is open as it was.
        small(3, false).0.write(&path)?;
        ensure!(file.decode()? == strings);
    }
    let names: Vec<_> = fs::read_dir(folder.path())?.map(|entry| entry.unwrap().file_name()).collect();
    ensure!(names == ["urls.wps"], "{names:?}");
    let nowhere = column(&["a"]).write(folder.path().join("none/none.wps"));
    ensure!(matches!(nowhere, Err(Error::Column(ColumnError::Io { .. }))));
    ensure!(matches!(StringColumn::open(folder.path()), Err(Error::Column(ColumnError::Io { .. }))));
    ensure!(matches!(
        StringColumn::open(folder.path().join("x")),
        Err(Error::Column(ColumnError::Io { .. }))
    ));
    Ok(())
}

/// Numbers of a file, and where they are.
fn put(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// Whoever writes checksums that are right around what is not, gets an error, too.
#[test]
fn forged_files_are_refused_for_what_is_wrong() -> Result<()> {
    let bytes = small(200, true).0.to_bytes()?;
    let number = |at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    let (rows, codes, symbols) = (number(16) as usize, number(32) as usize, number(48) as usize);
    let table = 192;
    let validity = table + (9 * symbols).next_multiple_of(64);
    let splits = validity + (8 * rows.div_ceil(64)).next_multiple_of(64);
    let split_count = codes.div_ceil(2048) + 1;
    let offsets = splits + (8 * split_count).next_multiple_of(64);
    let begin = offsets + (4 * (rows + 1)).next_multiple_of(64);
    assert!(split_count > 2 && begin + codes == bytes.len());
    let forged = |forge: &dyn Fn(&mut Vec<u8>)| {
        let mut forged = bytes.clone();
        forge(&mut forged);
        fuzz_one(&forged);
        StringColumn::from_bytes("forged", repaired(&forged).unwrap())
    };
    let refused = |what: &str, forge: &dyn Fn(&mut Vec<u8>)| {
        let error = forged(forge).expect_err(what).to_string();
        assert!(error.contains(what), "{error}");
    };
    let length = |len: u8| move |bytes: &mut Vec<u8>| bytes[table + 8 * symbols] = len;
    refused("the length of symbol 0 is not 1 to 8", &length(0));
    refused("the length of symbol 0 is not 1 to 8", &length(9));
    refused("symbol 0 has nonzero bytes after its end", &length(3));
    refused("its offsets do not begin with 0", &|bytes| bytes[offsets] = 1);
    refused("string 4 ends before it begins", &|bytes| bytes[offsets + 4 * 5] = 0);
    refused("do not end with the codes", &|bytes| bytes[offsets + 4 * rows] ^= 1);
    refused("ends before it begins", &|bytes| bytes[offsets + 4 * 7 + 3] = 0xff);
    refused("is null, and has codes", &|bytes| {
        bytes[validity] ^= 1;
        put(bytes, 24, number(24) + 1);
    });
    refused("its header and the sections after it disagree", &|bytes| bytes[validity] ^= 8);
    refused("its header and the sections after it disagree", &|bytes| put(bytes, 40, number(40) + 1));
    refused("bits of validity are set after the last", &|bytes| {
        bytes[validity + 8 * (rows / 64) + 7] = 0x80;
    });
    refused("its splits do not ascend", &|bytes| put(bytes, splits + 8, u64::MAX >> 1));
    refused("its splits begin or end after an escape", &|bytes| bytes[splits] = 1);
    refused("its splits begin or end after an escape", &|bytes| bytes[splits + 8 * split_count - 1] = 0x80);
    refused("invalid header", &|bytes| bytes[12] |= 8);
    refused("invalid header", &|bytes| put(bytes, 48, 256));
    refused("invalid header", &|bytes| put(bytes, 24, 201));
    refused("invalid header", &|bytes| put(bytes, 80, 1));
    // 2³² strings, 2⁶⁰ of them, and as many codes: a file that is so short has none of these.
    for many in [1 << 32, 1 << 60] {
        refused("its header and its length disagree", &|bytes| put(bytes, 16, many));
        refused("it has more codes than its offsets can express", &|bytes| put(bytes, 32, many));
        refused("its header and its length disagree", &|bytes| {
            bytes[12] |= 4;
            put(bytes, 32, many);
        });
    }
    let header = |at: usize, number: u64| {
        let mut forged = bytes.clone();
        put(&mut forged, at, number);
        let checksum = xxhash_rust::xxh3::xxh3_64(&forged[..120]);
        put(&mut forged, 120, checksum);
        StringColumn::from_bytes("forged", forged).unwrap_err().to_string()
    };
    ensure!(header(16, u64::MAX).contains("its header and its length disagree"));
    ensure!(header(32, u64::from(u32::MAX) + 1).contains("more codes than its offsets can express"));

    // What only decoding finds.
    let fault = |forge: &dyn Fn(&mut Vec<u8>)| {
        let column = forged(forge).unwrap();
        ask(&column);
        let (decoded, checked) = (column.decode().unwrap_err(), column.check().unwrap_err());
        assert_eq!(decoded.to_string(), checked.to_string());
        decoded
    };
    let second = u32::from_le_bytes(bytes[offsets + 4..offsets + 8].try_into().unwrap()) as usize;
    let unknown = fault(&|bytes| bytes[begin] = 200);
    let said = |fault: CodeFault| fault.to_string();
    ensure!(matches!(
        unknown,
        Error::Column(ColumnError::Codes { row: 0, fault, .. }) if fault == said(CodeFault::Unknown(0))
    ));
    // Whatever is before these two, the second is an escape.
    let escape = fault(&|bytes| bytes[begin + second - 2..begin + second].copy_from_slice(&[4, 255]));
    ensure!(matches!(
        escape,
        Error::Column(ColumnError::Codes { row: 0, fault, .. })
            if fault == said(CodeFault::Escape(second - 1))
    ));
    let longer = fault(&|bytes| put(bytes, splits + 8, number(splits + 8) + 1));
    ensure!(
        matches!(longer, Error::Column(ColumnError::Length { found, said, .. }) if said == found + 1),
        "{longer}"
    );
    let longer = fault(&|bytes| {
        put(bytes, splits + 8 * (split_count - 1), number(40) + 1);
        put(bytes, 40, number(40) + 1);
    });
    ensure!(matches!(longer, Error::Column(ColumnError::Length { row: 199, .. })), "{longer}");
    let escape = fault(&|bytes| bytes[splits + 8 + 7] ^= 0x80);
    ensure!(escape.to_string().contains("is wrong about an escape before it"), "{escape}");
    // The file is marked as text but is not UTF-8. The first `s` of an `https` is an escaped byte.
    let at = bytes[begin..].windows(2).position(|pair| pair == [255, b's']).unwrap();
    let column = forged(&|bytes| bytes[begin + at + 1] = 0xc0)?;
    column.decode()?;
    ensure!(matches!(column.check(), Err(Error::Column(ColumnError::NotUtf8 { .. }))));
    let text = column.to_arrow(&DataType::Utf8).map(drop);
    ensure!(matches!(text, Err(Error::Column(ColumnError::NotUtf8 { .. }))), "{text:?}");
    ensure!(column.to_arrow(&DataType::Binary)?.len() as u64 == column.len());
    Ok(())
}

/// Runs the fuzz target's body on files with random changes: more than 10⁵ of them.
#[test]
fn altered_files_say_what_the_rule_says_or_nothing() -> Result<()> {
    let mut files = vec![small(12, true).0.to_bytes()?, small(250, true).0.to_bytes()?];
    let long = table(&[b"abcdefgh".to_vec()]);
    let codes: Vec<u8> = (0..7_000).map(|at| if at % 4 < 2 { 255 } else { 0 }).collect();
    files.push(
        StringColumn::from_codes(StringKind::Binary, &long, codes, vec![0, 0, 7_000], None)?.to_bytes()?,
    );
    let mut rng = Rng::new(5);
    let (mut cases, mut opened) = (0, 0);
    for (file, rounds) in files.iter().zip([46_000, 5_000, 3_000]) {
        ensure!(fuzz_one(file) == 2);
        let codes = u64::from_le_bytes(file[32..40].try_into()?) as usize;
        for _ in 0..rounds {
            let mut altered = file.clone();
            for _ in 0..1 + rng.below(3) {
                // The codes are most of it, and the least of what can be wrong.
                let len = if rng.below(3) == 0 {
                    altered.len()
                } else {
                    altered.len().saturating_sub(codes).max(1)
                };
                let at = rng.below(len.min(altered.len()));
                match rng.below(12) {
                    0 => altered.truncate(at.max(1)),
                    1 => altered.insert(at, rng.next_u64() as u8),
                    2 => altered[at] = [0, 1, 9, 0x80, 0xff][rng.below(5)],
                    3 => {
                        let to = altered.len().min(at + 8);
                        altered[at..to].fill([0, 0xff][rng.below(2)]);
                    }
                    _ => altered[at] ^= 1 << rng.below(8),
                }
            }
            opened += fuzz_one(&altered);
            cases += 2;
        }
    }
    // Enough files pass the first checks.
    ensure!(cases > 100_000 && opened > cases / 20, "{opened} of {cases}");
    Ok(())
}
