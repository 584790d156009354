//! Columns of compressed strings, valid and invalid: in memory, in Arrow and on a device.

mod arrow;

use anyhow::{Result, ensure};
use warpath::bitmap::{BitmapEngine, BitmapIndex, Built, Plan, RowSet};
use warpath::{ColumnError, Error};
use warpath_core::wah::WahBuf;
use warpath_device::{DeviceCodes, FsstMatchStage, FsstStage};
use warpath_exec::bitmap::build::build_column;
use warpath_shared::fsst::Split;
use warpath_shared::fsst::automaton::Verdict;
use warpath_store::bitmap::value::ColumnValues;
use warpath_store::fsst::{
    CodeAutomaton, CodeFault, Pattern, StringColumn, StringKind, Strings, Table, splits,
};
use warpath_tests::emulated::Emulated;
use warpath_tests::fsst_column::{ask, fuzz_one, layout, url};
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

/// True if two columns have the same table, codes, offsets, splits and nulls.
fn is_same(a: &StringColumn, b: &StringColumn) -> bool {
    let parts = |column: &StringColumn| {
        let codes = column.codes();
        (*codes.table, codes.codes.to_vec(), codes.offsets.to_vec(), codes.splits.to_vec())
    };
    parts(a) == parts(b) && (a.kind(), a.validity()) == (b.kind(), b.validity())
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
        ensure!(is_same(&other, &column), "{threads} threads");
    }
    let same = StringColumn::from_codes(
        StringKind::Binary,
        codes.table,
        codes.codes.to_vec(),
        codes.offsets.to_vec(),
        column.validity().map(<[u64]>::to_vec),
    )?;
    ensure!(is_same(&same, &column));
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
    ensure!(fault(of(&[0, 1, 2, 0], &[0, 1, 4], None)) == (1, CodeFault::Unknown(1).to_string()));
    ensure!(fault(of(&[0, 255], &[0, 1, 2], None)) == (1, CodeFault::Escape(0).to_string()));
    // The escape takes the next string's first code.
    ensure!(fault(of(&[0, 0, 255, 1], &[0, 1, 3, 4], None)) == (1, CodeFault::Escape(1).to_string()));
    ensure!(fault(of(&[255, 255, 255, 1], &[0, 3, 4], None)) == (0, CodeFault::Escape(2).to_string()));
    let damaged = |found| matches!(found, Err(Error::Column(ColumnError::Damaged { .. })));
    ensure!(damaged(of(&[0, 1], &[0, 1], None)) && damaged(of(&[0, 1], &[0, 3], None)));
    ensure!(damaged(of(&[0, 1], &[1, 2], None)) && damaged(of(&[0, 1], &[], None)));
    ensure!(damaged(of(&[0, 1], &[0, 2, 1, 2], None)) && damaged(of(&[0, 1], &[0, 1, 2], Some(vec![1]))));
    ensure!(damaged(of(&[0], &[0, 1], Some(vec![3]))) && damaged(of(&[0], &[0, 1], Some(vec![]))));
    Ok(())
}

/// Codes of text are not looked at for UTF-8 until the caller checks the column.
#[test]
fn codes_of_text_may_be_no_text() -> Result<()> {
    let table = table(&[b"ab".to_vec()]);
    let column = StringColumn::from_codes(StringKind::Utf8, &table, vec![0, 255, 0xc0], vec![0, 1, 3], None)?;
    ask(&column);
    ensure!(column.decode()?.values == b"ab\xc0");
    ensure!(matches!(column.check(), Err(Error::Column(ColumnError::NotUtf8 { row: 1, .. }))));
    Ok(())
}

/// Runs the fuzz target's body on bytes that begin as a column, with random changes.
#[test]
fn any_codes_are_refused_or_decoded_by_the_rule() {
    let mut rng = Rng::new(5);
    let mut columns = 0;
    for _ in 0..20_000 {
        let (symbols, rows) = (1 + rng.below(8), rng.below(30));
        let mut bytes =
            vec![symbols as u8, rows as u8, rng.below(8) as u8 | (2 * u8::from(rng.below(9) > 0))];
        for _ in 0..symbols {
            let len = 1 + rng.below(8);
            bytes.push(len as u8);
            bytes.extend((0..8).map(|at| if at < 8 - len { 0 } else { b"aex\xff"[rng.below(4)] }));
        }
        bytes.extend((0..rows).map(|_| rng.below(4) as u8));
        if bytes[2] & 1 != 0 {
            bytes.extend(std::iter::repeat_n(255, 8 * (rows + 1).div_ceil(64)));
        }
        let codes = 2 * rows + [0, 1, 40, 5000][rng.below(4)];
        bytes.extend((0..codes).map(|_| if rng.below(30) == 0 { 255 } else { rng.below(symbols) as u8 }));
        if rng.below(2) == 0 {
            let at = rng.below(bytes.len());
            bytes[at] ^= 1 << rng.below(8);
        }
        columns += usize::from(fuzz_one(&bytes));
    }
    assert!((2000..18_000).contains(&columns), "{columns}");
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
        let codes = warpath_store::fsst::Codes {
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
    Ok(())
}
