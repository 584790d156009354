//! Columns of compressed strings, valid and invalid: in memory, in files, in Arrow and on a device.

use std::fs;
use std::sync::Arc;

use anyhow::{Result, ensure};
use arrow_array::{
    Array, ArrayRef, BinaryArray, BinaryViewArray, Int64Array, LargeBinaryArray, LargeStringArray,
    StringArray, StringViewArray,
};
use arrow_schema::DataType;
use warpath::bitmap::ask::BitmapEngine;
use warpath::bitmap::build::build_column;
use warpath::bitmap::plan::Plan;
use warpath::bitmap::rows::RowSet;
use warpath::bitmap::value::ColumnValues;
use warpath::bitmap::wah::WahBuf;
use warpath::bitmap::{BitmapIndex, Built};
use warpath::device::{DeviceCodes, FsstMatchStage, FsstStage};
use warpath::fsst::{CodeAutomaton, CodeFault, Pattern, StringColumn, StringKind, Strings, Table, splits};
use warpath::{ColumnError, Error};
use warpath_shared::fsst::Split;
use warpath_shared::fsst::automaton::Verdict;
use warpath_tests::emulated::Emulated;
use warpath_tests::fsst_column::{ask, fuzz_one, layout, repaired, url};
use warpath_tests::fsst_match::table;
use warpath_tests::random::Rng;

fn string(rng: &mut Rng, longest: usize) -> Vec<u8> {
    match rng.below(6) {
        0 => Vec::new(),
        1 => (0..rng.below(longest)).map(|_| b"\xff\0\xffab"[rng.below(5)]).collect(),
        2 => url(rng).into_bytes(),
        3 => "äöü€🙂 ".repeat(rng.below(1 + longest / 16)).into_bytes(),
        _ => b"http://www.example.com/".repeat(rng.below(1 + longest / 20)),
    }
}

fn strings(rng: &mut Rng, count: usize, longest: usize, nulls: bool) -> Vec<Option<Vec<u8>>> {
    (0..count).map(|_| if nulls && rng.below(4) == 0 { None } else { Some(string(rng, longest)) }).collect()
}

fn compress(kind: StringKind, strings: &Strings) -> Result<StringColumn, Error> {
    StringColumn::compress(kind, &strings.values, &strings.offsets, strings.validity.as_deref())
}

fn column(strings: &[&str]) -> StringColumn {
    let strings: Vec<_> = strings.iter().map(|string| Some(string.as_bytes().to_vec())).collect();
    compress(StringKind::Utf8, &layout(&strings, false)).unwrap()
}

#[test]
fn what_goes_in_comes_out() -> Result<()> {
    let mut rng = Rng::new(1);
    for (round, count) in [0, 1, 2, 63, 64, 65, 200, 1_000, 5_000].into_iter().cycle().take(36).enumerate() {
        let longest = [1, 60, 3_000][round % 3];
        let strings =
            strings(&mut rng, if longest > 1_000 { count / 20 } else { count }, longest, round % 2 == 0);
        let column = compress(StringKind::Binary, &layout(&strings, true))?;
        ask(&column);
        ensure!(column.decode()? == layout(&strings, false) && column.len() == strings.len() as u64);
        let bytes = strings.iter().flatten().map(Vec::len).sum::<usize>();
        ensure!(
            (column.bytes(), column.nulls())
                == (bytes as u64, strings.iter().filter(|s| s.is_none()).count() as u64)
        );
        let some: Vec<bool> = strings.iter().map(|_| rng.below(3) == 0).collect();
        let mut words = vec![0; count.div_ceil(64)];
        some.iter().enumerate().for_each(|(row, some)| words[row / 64] |= u64::from(*some) << (row % 64));
        let picked: Vec<_> =
            strings.iter().zip(some).filter(|(_, some)| *some).map(|(s, _)| s.clone()).collect();
        ensure!(column.decode_rows(&RowSet::from_words(words, column.len()))? == layout(&picked, false));
    }
    Ok(())
}

#[test]
fn strings_may_begin_anywhere_and_have_offsets_of_any_width() -> Result<()> {
    let values = b"xxhttp://a/http://byyy";
    let want = compress(
        StringKind::Binary,
        &layout(&[Some(b"http://a/".to_vec()), Some(b"http://b".to_vec())], false),
    )?;
    for column in [
        StringColumn::compress(StringKind::Binary, values, &[2_i32, 11, 19], None)?,
        StringColumn::compress(StringKind::Binary, values, &[2_i64, 11, 19], Some(&[u64::MAX]))?,
        StringColumn::compress(StringKind::Binary, values, &[2_u64, 11, 19], Some(&[3, 9]))?,
    ] {
        ensure!(column.decode()? == want.decode()? && column.nulls() == 0);
    }
    Ok(())
}

#[test]
fn columns_of_nothing_are_columns() -> Result<()> {
    let none = StringColumn::compress(StringKind::Utf8, b"", &[0_i32; 0], None)?;
    ensure!(none.is_empty() && none.decode()?.offsets == [0]);
    for strings in [
        vec![],
        vec![None; 100],
        vec![Some(vec![]); 100],
        vec![None, Some(vec![]), Some(b"x".to_vec()), Some(vec![]), None],
        vec![Some(vec![]), None, Some(vec![])],
    ] {
        let column = compress(StringKind::Utf8, &layout(&strings, false))?;
        ask(&column);
        column.check()?;
        ensure!(column.decode()? == layout(&strings, false));
        ensure!(column.matches(&Pattern::like("%", None)?)?.count() == column.len() - column.nulls());
        let file = StringColumn::from_bytes("x", column.to_bytes()?)?;
        ask(&file);
        ensure!(file.decode()? == layout(&strings, false) && file.kind() == StringKind::Utf8);
    }
    Ok(())
}

/// Splits that are made with the codes equal those that are found in the codes. This holds for long strings,
/// too, whose parts are compressed separately. The number of threads changes nothing.
#[test]
fn splits_are_right_and_the_same_for_any_number_of_threads() -> Result<()> {
    let mut rng = Rng::new(3);
    let mut all = strings(&mut rng, 3_000, 100, true);
    let long: Vec<u8> = (0..60_000).flat_map(|_| url(&mut rng).into_bytes()).take(2_600_000).collect();
    all.insert(1_700, Some(long.clone()));
    all.push(Some((0..40_000).map(|_| rng.next_u64() as u8 | 0xc0).collect()));
    all.push(Some(vec![0xff; 20_000]));
    all.push(Some(long));
    let all = layout(&all, true);
    let column = compress(StringKind::Binary, &all)?;
    let codes = column.codes();
    let (mut found, len) = splits(codes.table, codes.codes)?;
    found.push(Split::new(len, false));
    ensure!(found == codes.splits && found.iter().any(|split| split.behind_escape()));
    ask(&column);
    for threads in [1, 3, 8] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
        let other = pool.install(|| compress(StringKind::Binary, &all))?;
        ensure!(other.to_bytes()? == column.to_bytes()?, "{threads} threads");
    }
    let same = StringColumn::from_codes(
        StringKind::Binary,
        codes.table,
        codes.codes.to_vec(),
        codes.offsets.to_vec(),
        column.validity().map(<[u64]>::to_vec),
    )?;
    ensure!(same.to_bytes()? == column.to_bytes()?);
    Ok(())
}

/// One string of many codes of eight bytes each: a part is read without the rest.
fn one_long_string(codes: usize) -> Result<()> {
    let table = table(&[b"01234567".to_vec(), b"abcdefgh".to_vec()]);
    let mut all = vec![0; codes];
    all[codes - 3] = 1;
    let offsets = vec![0, 0, codes as u64, codes as u64];
    let column = StringColumn::from_codes(StringKind::Utf8, &table, all, offsets, None)?;
    let len = 8 * codes as u64;
    ensure!((column.len(), column.bytes(), column.string_len(1)?) == (3, len, len));
    ensure!(column.get_range(1, 3..12)?.as_deref() == Some(&b"345670123"[..]));
    ensure!(column.get_range(1, len - 26..len - 14)?.as_deref() == Some(&b"67abcdefgh01"[..]));
    ensure!(
        column.get_range(1, len / 2..len / 2 + 100_000)?.as_ref().is_some_and(|part| part.len() == 100_000)
    );
    ensure!(column.get_range(1, len..len)?.as_deref() == Some(&b""[..]));
    ensure!(matches!(column.get_range(1, len - 1..len + 1), Err(Error::Usage(_))));
    ensure!(column.get(0)?.as_deref() == Some(b"") && column.get(2)?.as_deref() == Some(b""));
    Ok(())
}

#[test]
fn parts_of_a_long_string_are_had_without_the_rest() -> Result<()> {
    one_long_string(8 << 20)
}

/// 5 GiB, of 640 MiB of codes.
#[test]
#[ignore = "takes a gigabyte of memory, and seconds"]
fn parts_of_a_string_of_gigabytes_are_had_without_the_rest() -> Result<()> {
    one_long_string(640 << 20)
}

#[test]
fn what_are_no_strings_is_refused() -> Result<()> {
    let usage = |found: Result<StringColumn, Error>| matches!(found, Err(Error::Usage(_)));
    let kind = StringKind::Binary;
    ensure!(usage(StringColumn::compress(kind, b"abc", &[0_i32, 2, 1], None)));
    ensure!(usage(StringColumn::compress(kind, b"abc", &[0_i32, 4], None)));
    ensure!(usage(StringColumn::compress(kind, b"abc", &[-1_i32, 2], None)));
    ensure!(usage(StringColumn::compress(kind, b"abc", &[0_u64, u64::MAX], None)));
    ensure!(usage(StringColumn::compress(kind, b"", &[0; 66], Some(&[1]))));
    let text =
        |values: &[u8], offsets: &[i32]| StringColumn::compress(StringKind::Utf8, values, offsets, None);
    let is_not_text = |found: Result<StringColumn, Error>, string| matches!(found, Err(Error::Column(ColumnError::NotUtf8 { row, .. })) if row == string);
    ensure!(is_not_text(text(b"a\xff", &[0, 1, 2]), 1));
    // Both together would be.
    ensure!(is_not_text(text("aé".as_bytes(), &[0, 2, 3]), 0));
    ensure!(text("aé".as_bytes(), &[0, 1, 3, 3])?.len() == 3);
    let column = column(&["a", "b"]);
    ensure!(matches!(column.decode_rows(&RowSet::all(3)), Err(Error::Usage(_))));
    ensure!(matches!(column.get(2), Err(Error::Usage(_))));
    Ok(())
}

#[test]
fn codes_of_others_are_looked_at() -> Result<()> {
    let table = table(&[b"ab".to_vec(), b"c".to_vec()]);
    let of = |codes: &[u8], offsets: &[u64], validity| {
        StringColumn::from_codes(StringKind::Binary, &table, codes.to_vec(), offsets.to_vec(), validity)
    };
    let fault = |found: Result<StringColumn, Error>| match found {
        Err(Error::Column(ColumnError::Codes { row, fault, .. })) => (row, fault),
        other => panic!("{other:?}"),
    };
    ensure!(of(&[0, 1, 255, 255], &[0, 1, 4], None)?.decode()?.values == b"abc\xff");
    ensure!(fault(of(&[0, 1, 2, 0], &[0, 1, 4], None)) == (1, CodeFault::Unknown(1)));
    ensure!(fault(of(&[0, 255], &[0, 1, 2], None)) == (1, CodeFault::Escape(0)));
    // The escape takes the next string's first code.
    ensure!(fault(of(&[0, 0, 255, 1], &[0, 1, 3, 4], None)) == (1, CodeFault::Escape(1)));
    ensure!(fault(of(&[255, 255, 255, 1], &[0, 3, 4], None)) == (0, CodeFault::Escape(2)));
    let damaged = |found| matches!(found, Err(Error::Column(ColumnError::Damaged { .. })));
    ensure!(damaged(of(&[0, 1], &[0, 1], None)) && damaged(of(&[0, 1], &[0, 3], None)));
    ensure!(damaged(of(&[0, 1], &[1, 2], None)) && damaged(of(&[0, 1], &[], None)));
    ensure!(damaged(of(&[0, 1], &[0, 2, 1, 2], None)) && damaged(of(&[0, 1], &[0, 1, 2], Some(vec![1]))));
    ensure!(damaged(of(&[0], &[0, 1], Some(vec![3]))) && damaged(of(&[0], &[0, 1], Some(vec![]))));
    Ok(())
}

/// A small file with nulls and more than one split, and its strings.
fn small(rows: usize, nulls: bool) -> (StringColumn, Strings) {
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

#[test]
fn what_is_no_file_of_this_version_is_refused() -> Result<()> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("altered.wps");
    let said = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        let error = StringColumn::open(&path).unwrap_err().to_string();
        assert_eq!(
            StringColumn::from_bytes(&path.display().to_string(), bytes.to_vec()).unwrap_err().to_string(),
            error
        );
        error.split_once("altered.wps: ").unwrap().1.to_owned()
    };
    let mut bytes = small(20, true).0.to_bytes()?;
    ensure!(said(b"") == "is not a column of strings of Warpath" && said(b"{}\n") == said(b""));
    ensure!(said(&bytes[..127]) == "the column is damaged: it ends in its header");
    ensure!(
        said(&bytes[..bytes.len() - 1])
            == "the column is damaged: its length is not the length in its header"
    );
    bytes[8] = 2;
    ensure!(said(&bytes) == "is a column of version 2; this Warpath reads version 1");
    Ok(())
}

#[test]
fn every_byte_that_is_altered_is_found_and_every_length() -> Result<()> {
    let bytes = small(60, true).0.to_bytes()?;
    let refused = |bytes: Vec<u8>| match StringColumn::from_bytes("x", bytes) {
        Ok(_) => false,
        Err(Error::Column(error)) => !matches!(error, ColumnError::Io { .. } | ColumnError::Memory { .. }),
        Err(_) => false,
    };
    for at in 0..bytes.len() {
        for change in [1, 2, 0x10, 0x80, 0xff] {
            let mut altered = bytes.clone();
            altered[at] ^= change;
            ensure!(refused(altered), "byte {at} ^ {change}");
        }
        ensure!(refused(bytes[..at].to_vec()), "{at} bytes");
    }
    for more in [1, 64, 5_000] {
        ensure!(refused([&bytes[..], &vec![0; more]].concat()), "{more} more");
    }
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
    ensure!(matches!(
        unknown,
        Error::Column(ColumnError::Codes { row: 0, fault: CodeFault::Unknown(0), .. })
    ));
    // Whatever is before these two, the second is an escape.
    let escape = fault(&|bytes| bytes[begin + second - 2..begin + second].copy_from_slice(&[4, 255]));
    ensure!(matches!(
        escape,
        Error::Column(ColumnError::Codes { row: 0, fault: CodeFault::Escape(at), .. }) if at == second - 1
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
    ensure!(column.to_arrow(&DataType::Utf8).is_err() && column.to_arrow(&DataType::Binary).is_ok());
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

#[test]
fn arrow_arrays_come_back() -> Result<()> {
    let texts = vec![Some("http://a/1"), None, Some(""), Some("ünï"), Some("http://a/2"), None, Some("x")];
    let bytes: Vec<Option<&[u8]>> = texts.iter().map(|text| text.map(str::as_bytes)).collect();
    let arrays: Vec<(ArrayRef, DataType)> = vec![
        (Arc::new(StringArray::from(texts.clone())), DataType::Utf8),
        (Arc::new(LargeStringArray::from(texts.clone())), DataType::LargeUtf8),
        (Arc::new(StringViewArray::from(texts.clone())), DataType::LargeUtf8),
        (Arc::new(BinaryArray::from(bytes.clone())), DataType::Binary),
        (Arc::new(LargeBinaryArray::from(bytes.clone())), DataType::LargeBinary),
        (Arc::new(BinaryViewArray::from(bytes)), DataType::Binary),
    ];
    for (array, data_type) in arrays {
        for from in 0..=texts.len() {
            for len in 0..=texts.len() - from {
                let slice = array.slice(from, len);
                let column = StringColumn::from_arrow(&*slice)?;
                ensure!(column.nulls() == slice.null_count() as u64);
                let back = column.to_arrow(&data_type)?;
                ensure!(back.to_data().validate_full().is_ok() && back.data_type() == &data_type);
                let text = column.to_arrow(&DataType::Utf8)?;
                let text = text.as_any().downcast_ref::<StringArray>().unwrap();
                ensure!(text.iter().eq(texts[from..from + len].iter().copied()));
                if slice.data_type() == &data_type {
                    ensure!(*back == *slice);
                }
                let is_text =
                    matches!(slice.data_type(), DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View);
                ensure!((column.kind() == StringKind::Utf8) == is_text);
            }
        }
    }
    ensure!(matches!(StringColumn::from_arrow(&Int64Array::from(vec![1])), Err(Error::Usage(_))));
    ensure!(matches!(column(&["a"]).to_arrow(&DataType::Int64), Err(Error::Usage(_))));
    // Not text: for the second alone.
    let column = StringColumn::compress(StringKind::Binary, "aé".as_bytes(), &[0, 2, 3], None)?;
    let error = column.to_arrow(&DataType::LargeUtf8).unwrap_err();
    ensure!(matches!(error, Error::Column(ColumnError::NotUtf8 { row: 0, .. })), "{error}");
    ensure!(column.to_arrow(&DataType::LargeBinary)?.len() == 2);
    Ok(())
}

#[test]
fn more_bytes_than_32_bits_reach_are_told_before_they_are_decoded() -> Result<()> {
    let table = table(&[vec![b'x'; 8]]);
    let codes = vec![0; 1 << 28];
    let column = StringColumn::from_codes(StringKind::Utf8, &table, codes, vec![0, 1 << 27, 1 << 28], None)?;
    let error = column.to_arrow(&DataType::Utf8).unwrap_err();
    ensure!(
        matches!(error, Error::Column(ColumnError::TooLong { bytes, .. }) if bytes == 1 << 31),
        "{error}"
    );
    Ok(())
}

#[test]
fn a_device_decodes_and_asks_as_the_cpu_does() -> Result<()> {
    let device = Emulated::default();
    let mut rng = Rng::new(9);
    for count in [0, 1, 64, 700, 2_000] {
        let strings = layout(&strings(&mut rng, count, 40, true), true);
        let column = compress(StringKind::Binary, &strings)?;
        let mut codes = DeviceCodes::default();
        codes.load(&device, &column.codes())?;
        let mut decode = FsstStage::new(device.clone());
        decode.decode(&codes)?;
        ensure!(decode.fault()?.is_none());
        let Strings { values, offsets, .. } = column.decode()?;
        ensure!(decode.download()? == (values, offsets), "{count}");
        let mut stages = [
            FsstMatchStage::new(device.clone()),
            FsstMatchStage::new(device.clone()).with_strings_a_launch(500),
        ];
        for pattern in ["%", "", "%example%", "http%", "%e_a%", "nothing"] {
            let pattern = Pattern::like(pattern, None)?;
            let automaton = CodeAutomaton::new(&pattern, column.table())?;
            for stage in &mut stages {
                stage.matches(&automaton, &codes)?;
                ensure!(stage.fault()?.is_none());
                ensure!(
                    column.without_nulls(stage.download()?) == column.matches(&pattern)?,
                    "{count} {pattern:?}"
                );
            }
        }
    }
    Ok(())
}

#[test]
fn a_device_tells_the_first_fault_of_all_launches() -> Result<()> {
    let table = table(&[b"a".to_vec()]);
    let offsets: Vec<u64> = (0..=1_000).map(|at| 2 * at).collect();
    for (string, second, verdict) in [(3, 255, Verdict::Escape), (777, 9, Verdict::Unknown)] {
        let mut codes = vec![0_u8; 2_000];
        codes[2 * string + 1] = second;
        codes[1_999] = 77;
        let codes = warpath::fsst::Codes {
            table: &table,
            codes: &codes,
            splits: &[Split::new(0, false), Split::new(2_000, false)],
            first_strings: &[0],
            offsets: &offsets,
            len: 2_000,
        };
        let automaton = CodeAutomaton::new(&Pattern::Contains(b"b".to_vec()), &table)?;
        let device = Emulated::default();
        let mut on_device = DeviceCodes::default();
        on_device.load(&device, &codes)?;
        let mut stage = FsstMatchStage::new(device).with_strings_a_launch(300);
        stage.matches(&automaton, &on_device)?;
        ensure!(stage.fault()? == Some((string as u64, verdict)));
        ensure!(stage.download()?.iter().all(|word| *word == 0));
    }
    Ok(())
}

#[test]
fn sets_of_rows_are_chunks_and_words_and_compressed() {
    let mut rng = Rng::new(2);
    for rows in [0_u64, 1, 62, 63, 64, 65, 126, 127, 128, 189, 4_032, 4_033, 10_000] {
        for density in [1, 3, 40] {
            let ones: Vec<u64> = (0..rows).filter(|_| rng.below(density) == 0).collect();
            let wah = WahBuf::from_ones(ones.iter().copied(), rows);
            let set = RowSet::from_chunks(&wah.chunks(), rows);
            assert!(set.ones().eq(ones.iter().copied()) && set.count() == ones.len() as u64);
            assert!(ones.iter().all(|row| set.get(*row)) && !set.get(rows) && !set.get(u64::MAX));
            assert_eq!((set.to_chunks(), set.to_wah()), (wah.chunks(), wah.clone()));
            assert_eq!(RowSet::from_wah(wah.as_wah()), set);
            assert_eq!(RowSet::from_words(set.words().to_vec(), rows), set);
            let (mut some, mut none, mut all) =
                (RowSet::all(rows), set.clone(), RowSet::from_words(vec![], rows));
            some &= &set;
            none -= &set;
            all |= &set;
            assert_eq!((&some, none.count(), &all, RowSet::all(rows).count()), (&set, 0, &set, rows));
        }
    }
}

/// `n >= 40 AND url LIKE …`, one by a bitmap index and the other by codes, together by either's form.
#[test]
fn answers_combine_with_those_of_bitmap_indexes() -> Result<()> {
    let mut rng = Rng::new(4);
    let numbers: Vec<i64> = (0..3_000).map(|_| rng.below(100) as i64).collect();
    let urls: Vec<Option<Vec<u8>>> =
        (0..3_000).map(|_| (rng.below(9) > 0).then(|| url(&mut rng).into_bytes())).collect();
    let columns = vec![build_column("n", "n", ColumnValues::ints(numbers.clone()), &"quantiles:9".parse()?)?];
    let index = BitmapIndex::from_built(Built { rows: 3_000, columns, ..Built::default() })?;
    let matching =
        BitmapEngine::cpu().answer(&index, &Plan::of(&index, &"n >= 40".parse()?, false)?, true)?;
    let pattern = Pattern::like("https://%.example.com/%id=%", None)?;
    let found = compress(StringKind::Utf8, &layout(&urls, false))?.matches(&pattern)?;
    let want = (0..3_000)
        .filter(|row| numbers[*row] >= 40 && urls[*row].as_ref().is_some_and(|url| pattern.matches(url)));
    let want: Vec<u64> = want.map(|row| row as u64).collect();
    ensure!(want.len() > 20);
    let mut both = matching.rows.clone();
    both &= &found;
    ensure!(both.ones().eq(want.iter().copied()));
    let op = warpath_shared::wah::ops::Op::And;
    let both = WahBuf::of(op, matching.rows.to_wah().as_wah(), found.to_wah().as_wah());
    ensure!(both.as_wah().ones().eq(want));
    Ok(())
}

#[test]
fn tables_without_symbols_are_tables() -> Result<()> {
    let none = Table::new(&[], &[])?;
    let column = StringColumn::compress_with(StringKind::Utf8, &none, b"abc", &[0, 1, 3], None)?;
    ask(&column);
    ensure!(column.codes().codes == [255, b'a', 255, b'b', 255, b'c']);
    ask(&StringColumn::from_bytes("x", column.to_bytes()?)?);
    Ok(())
}
