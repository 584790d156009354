//! Properties of every input: any JSON, any bytes, any path, any partition size, any way of reading.
//!
//! `PROPTEST_CASES=25600` runs a hundred times the default number of cases.

use std::io::{Cursor, Read};
use std::sync::{Arc, OnceLock};

use flate2::Compression;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestCaseResult;
use warpath::{Engine, Error, Foreign, InputError, OnError, Program, Query, Stats, Want};
use warpath_answer::backend::Backend;
use warpath_cpu::Cpu;
use warpath_device::Pipeline;
use warpath_tests::emulated::Emulated;
use warpath_tests::{oracle, suite};

use crate::common::gzip;

// --- texts and paths ---------------------------------------------------------------------------------------

fn space() -> impl Strategy<Value = String> {
    prop_oneof![8 => Just(String::new()), 1 => "[ \t\r]{1,3}"]
}

/// A string between its quotes: plain, structural and escaped characters, surrogates paired and alone.
fn string() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        4 => "[ -!#-\\[\\]-~]{1,4}",
        2 => select(vec!["{", "}", "[", "]", ":", ",", r#"\""#, r"\\", r"\\\\", r"\/", r"\b", r"\n", r"\t"])
            .prop_map(str::to_owned),
        1 => any::<char>().prop_filter("no control character, quote or backslash", |c| {
            !c.is_ascii_control() && !['"', '\\'].contains(c)
        }).prop_map(String::from),
        1 => any::<char>().prop_map(|c| {
            let mut units = [0; 2];
            c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}")).collect()
        }),
        1 => any::<u16>().prop_map(|unit| format!("\\u{unit:04X}")),
    ];
    vec(part, 0..6).prop_map(|parts| format!("\"{}\"", parts.concat()))
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => select(vec!["a", "b", "c", "aa", "", r"\u0061", r"\\", r#"a\""#, "é"])
            .prop_map(|name| format!("\"{name}\"")),
        1 => string(),
    ]
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(vec!["0", "-0", "1", "1.0", "10e-1", "0.1E1", "2", "-1", "100"]).prop_map(str::to_owned),
        1 => "-?(0|[1-9][0-9]{0,20})(\\.[0-9]{1,8})?([eE][+-]?[0-9]{1,4})?",
    ]
}

/// A JSON text on one line.
fn json() -> impl Strategy<Value = String> {
    let scalar =
        prop_oneof![select(vec!["null", "true", "false"]).prop_map(str::to_owned), number(), string()];
    let value = scalar.prop_recursive(6, 40, 5, |inner| {
        let element = (space(), inner.clone(), space()).prop_map(|(a, value, b)| format!("{a}{value}{b}"));
        let member = (space(), name(), space(), space(), inner, space())
            .prop_map(|(a, name, b, c, value, d)| format!("{a}{name}{b}:{c}{value}{d}"));
        prop_oneof![
            vec(element, 0..5).prop_map(|list| format!("[{}]", list.join(","))),
            vec(member, 0..5).prop_map(|list| format!("{{{}}}", list.join(","))),
        ]
    });
    (space(), value, space()).prop_map(|(a, value, b)| format!("{a}{value}{b}"))
}

/// Lines of JSON, blank ones among them; the last may lack its newline.
fn lines(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let end = prop_oneof![5 => Just("\n"), 1 => Just("\r\n"), 1 => Just("\n\n"), 1 => Just("\n \t\n")];
    (vec((json(), end), 0..most), any::<bool>()).prop_map(|(lines, ended)| {
        let mut text: String = lines.iter().flat_map(|(line, end)| [line.as_str(), end]).collect();
        if !ended {
            text.truncate(text.trim_end().len());
        }
        text.into_bytes()
    })
}

/// Lines of JSON with bytes put in, taken out or changed.
fn damaged(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![4 => select(b"\"\\{}[]:,\n\r \0".to_vec()), 1 => any::<u8>()];
    (lines(most), vec((any::<Index>(), byte, 0..3), 1..5))
        .prop_map(|(mut text, changes)| {
            for (at, byte, what) in changes {
                let at = at.index(text.len() + 1);
                match what {
                    0 if at < text.len() => text[at] = byte,
                    1 if at < text.len() => drop(text.remove(at)),
                    _ => text.insert(at, byte),
                }
            }
            text
        })
        .prop_filter("the text is of another format", |text| Foreign::of(text).is_none())
}

/// Any bytes, many of them structural, some in runs.
fn bytes(most: usize) -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![6 => select(b"\"\"\\\\{}[]:,\n\n 1x\r".to_vec()), 1 => any::<u8>()];
    let run = prop_oneof![9 => Just(1usize), 1 => 1usize..80];
    vec((byte, run), 0..most)
        .prop_map(move |runs| {
            runs.into_iter().flat_map(|(byte, run)| std::iter::repeat_n(byte, run)).take(4 * most).collect()
        })
        .prop_filter("the text is of another format", |text: &Vec<u8>| Foreign::of(text).is_none())
}

fn text(most: usize) -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![2 => lines(most), 2 => damaged(most), 1 => bytes(20 * most)]
}

/// A path that is supported.
fn path() -> impl Strategy<Value = String> {
    let quoted = || {
        prop_oneof![
            select(vec!["'a'", "\"a\"", "'b'", "'c'", "'aa'", "''", r"'\\'", r#"'a"'"#, r"'\u00e9'"])
                .prop_map(str::to_owned),
            "'[ -&(-\\[\\]-~]{0,5}'",
        ]
    };
    let bound = || prop_oneof![Just(String::new()), (-6i32..6).prop_map(|bound| bound.to_string())];
    let step = prop_oneof![
        2 => Just(String::new()),
        1 => Just(":".to_owned()),
        3 => (-4i32..5).prop_map(|step| format!(":{step}")),
    ];
    let slice = (bound(), bound(), step).prop_map(|(start, end, step)| format!("{start}:{end}{step}"));
    let literal = prop_oneof![
        2 => number(),
        1 => select(vec!["null", "true", "false", "'x'", "''", r#"'a"'"#, r"'\\'"]).prop_map(str::to_owned),
        1 => quoted(),
    ];
    let step_of_test = prop_oneof![
        quoted().prop_map(|name| format!("[{name}]")),
        (-3i32..3).prop_map(|index| format!("[{index}]")),
        Just(".a".to_owned()),
    ];
    let filter = (vec(step_of_test, 0..3), literal, 0..3).prop_map(|(steps, literal, form)| {
        let from = format!("@{}", steps.concat());
        match form {
            0 => format!("?{from} == {literal}"),
            1 => format!("?{literal}=={from}"),
            _ => format!("?( {from} == {literal} )"),
        }
    });
    let selector = prop_oneof![
        4 => quoted(),
        2 => (-6i32..6).prop_map(|index| index.to_string()),
        2 => Just("*".to_owned()),
        2 => slice,
        2 => filter,
    ];
    let segment = prop_oneof![
        2 => select(vec![".a", ".b", ".*", ".é"]).prop_map(str::to_owned),
        4 => vec(selector, 1..3).prop_map(|selectors| format!("[{}]", selectors.join(","))),
    ];
    vec(segment, 0..5).prop_map(|segments| format!("${}", segments.concat()))
}

// --- ways to evaluate --------------------------------------------------------------------------------------

fn config(cases: u32) -> ProptestConfig {
    let default = ProptestConfig::default();
    // Failures are repeated from the input that is printed, and enter the suite as cases of their own.
    ProptestConfig { cases: (cases * default.cases / 256).max(1), failure_persistence: None, ..default }
}

fn emulated() -> Arc<dyn Backend> {
    static DEVICE: OnceLock<Arc<Pipeline<Emulated>>> = OnceLock::new();
    DEVICE.get_or_init(|| Arc::new(Emulated::default().pipeline())).clone()
}

fn fails(error: impl std::fmt::Debug) -> TestCaseError {
    TestCaseError::fail(format!("{error:?}"))
}

#[derive(Debug)]
struct Asked {
    /// The line, the offsets and the bytes of each match.
    found: Vec<(u64, (u64, u64), Vec<u8>)>,
    error: Option<Error>,
    stats: Stats,
}

fn ask(engine: &Engine, reader: impl Read + Send + 'static, query: &Query) -> Result<Asked, TestCaseError> {
    let mut hits = engine.reader("text", reader).query(query).map_err(fails)?;
    let (mut found, mut error) = (Vec::new(), None);
    for hit in &mut hits {
        prop_assert!(error.is_none(), "something follows the error");
        match hit {
            Ok(hit) => {
                prop_assert_eq!(hit.source(), "text");
                prop_assert_eq!(hit.text(), String::from_utf8_lossy(hit.bytes()));
                found.push((hit.line(), hit.offsets(), hit.bytes().to_vec()));
            }
            Err(failed) => error = Some(failed),
        }
    }
    Ok(Asked { found, error, stats: hits.stats() })
}

fn plain(engine: &Engine, text: &[u8], query: &Query) -> Result<Asked, TestCaseError> {
    ask(engine, Cursor::new(text.to_vec()), query)
}

fn engine(backend: Arc<dyn Backend>, size: Option<usize>, on_error: OnError) -> Engine {
    let builder = Engine::builder().backend(backend).on_error(on_error);
    let builder = match size {
        Some(size) => builder.partition_size(size),
        None => builder,
    };
    builder.build().unwrap()
}

fn cpu() -> Engine {
    engine(Arc::new(Cpu), None, OnError::Skip)
}

// --- backends ----------------------------------------------------------------------------------------------

proptest! {
    #![proptest_config(config(5000))]

    #[test]
    fn the_cpu_is_the_oracle(text in text(8), paths in vec(path(), 1..4), levels in 0u32..12) {
        let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
        suite::check_index(&Cpu, &text, levels).map_err(fails)?;
        suite::check_queries(&Cpu, &text, &paths).map_err(fails)?;
    }

    /// Generated JSON has no fault, and the oracle can read it. So the property above is not empty.
    #[test]
    fn json_has_no_fault(text in lines(6), path in path()) {
        prop_assert_eq!(oracle::index::index(&text, 0).faults, []);
        prop_assert_eq!(Cpu.index(&text, 0).map_err(fails)?.faults, []);
        prop_assert!(oracle::query::query(&text, &[], &path).not_json.is_empty());
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn the_emulated_device_is_the_cpu(text in text(5), paths in vec(path(), 1..4), levels in 0u32..10) {
        let device = emulated();
        prop_assert_eq!(device.index(&text, levels).map_err(fails)?, Cpu.index(&text, levels).map_err(fails)?);
        let queries: Vec<Query> = paths.iter().map(|path| Query::compile(path)).collect::<Result<_, _>>().map_err(fails)?;
        let program = Program::new(&queries).map_err(fails)?;
        let want = Want::default().matches(true).records(true);
        let on_device = device.answer(&text, &program, want).map_err(fails)?;
        // A text this small is one piece for both.
        let on_cpu = Cpu.answer(&text, &program, want).map_err(fails)?;
        prop_assert_eq!(on_device, on_cpu);
    }
}

// --- numbers -----------------------------------------------------------------------------------------------

/// `digits` × 10^`exponent`, spelt with the point `shift` digits from their end, and with zeros that do not
/// change the value.
fn spelt(digits: u64, exponent: i32, shift: i32, zeros: usize) -> String {
    let mut text = digits.to_string();
    if shift <= 0 {
        // A zero in front is not followed by another.
        text.push_str(&"0".repeat(if digits == 0 { 0 } else { -shift as usize }));
    } else {
        let shift = shift as usize;
        if text.len() <= shift {
            text.insert_str(0, &"0".repeat(shift + 1 - text.len()));
        }
        text.insert(text.len() - shift, '.');
        text.push_str(&"0".repeat(zeros));
    }
    match (exponent + shift, zeros) {
        (0, 0 | 1) => text,
        (exponent, 0) => format!("{text}e{exponent}"),
        (exponent, 1) => format!("{text}E{exponent:+}"),
        (exponent, zeros) => format!("{text}e{exponent:+0zeros$}"),
    }
}

proptest! {
    #![proptest_config(config(1000))]

    /// Numbers are equal if their values are, however they are spelt, and however near others are.
    #[test]
    fn numbers_are_equal_by_value(
        negative in any::<bool>(),
        digits in prop_oneof![0u64..120, any::<u64>()],
        exponent in -25i32..25,
        spellings in vec((-6i32..30, 0usize..5), 2),
        change in prop_oneof![Just(1), Just(10), Just(1_000_000)],
    ) {
        let digits = digits.min(u64::MAX - change);
        let sign = if negative { "-" } else { "" };
        let write = |digits: u64, (shift, zeros): (i32, usize)| format!("{sign}{}", spelt(digits, exponent, shift, zeros));
        let (literal, same) = (write(digits, spellings[0]), write(digits, spellings[1]));
        let (near, opposite) = (write(digits + change, spellings[1]), same.strip_prefix('-').map_or(format!("-{same}"), str::to_owned));
        let text = format!("[{same},{near},{opposite},\"{same}\",{same}x]\n");
        let query = Query::compile(&format!("$[?@ == {literal}]")).map_err(fails)?;
        let found: Vec<Vec<u8>> =
            plain(&cpu(), text.as_bytes(), &query)?.found.into_iter().map(|(.., bytes)| bytes).collect();
        let mut want = vec![same.clone().into_bytes()];
        if digits == 0 {
            // Zero has no sign.
            want.push(opposite.into_bytes());
        }
        prop_assert_eq!(found, want, "{} of {}", query.text(), text);
    }
}

// --- partitions and readers --------------------------------------------------------------------------------

fn partitions_agree(backend: &Arc<dyn Backend>, text: &[u8], path: &str, sizes: &[Index]) -> TestCaseResult {
    let query = Query::compile(path).map_err(fails)?;
    let whole = plain(&engine(backend.clone(), None, OnError::Skip), text, &query)?;
    for size in sizes {
        let size = 1 + size.index(text.len() + 2);
        let cut = plain(&engine(backend.clone(), Some(size), OnError::Skip), text, &query)?;
        prop_assert_eq!(&cut.found, &whole.found, "partitions of {}", size);
        prop_assert!(cut.error.is_none(), "{:?}", cut.error);
        let same = |stats: Stats| (stats.bytes, stats.lines, stats.matches, stats.skipped);
        prop_assert_eq!(same(cut.stats), same(whole.stats), "partitions of {}", size);
    }
    prop_assert_eq!(whole.stats.bytes, text.len() as u64);
    prop_assert_eq!(whole.stats.matches, whole.found.len() as u64);
    Ok(())
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn partitions_change_nothing(text in text(8), path in path(), sizes in vec(any::<Index>(), 1..6)) {
        let cpu: Arc<dyn Backend> = Arc::new(Cpu);
        partitions_agree(&cpu, &text, &path, &sizes)?;
    }

    #[test]
    fn a_hit_is_where_it_says(text in text(8), path in path(), size in 1usize..200) {
        let query = Query::compile(&path).map_err(fails)?;
        let asked = plain(&engine(Arc::new(Cpu), Some(size), OnError::Skip), &text, &query)?;
        for (line, (start, end), bytes) in &asked.found {
            prop_assert_eq!(&text[*start as usize..*end as usize], bytes.as_slice());
            let before = text[..*start as usize].iter().filter(|byte| **byte == b'\n').count() as u64;
            prop_assert_eq!(*line, before + 1);
        }
        prop_assert!(asked.found.is_sorted_by_key(|(line, ..)| *line));
    }

    #[test]
    fn skipping_leaves_out_the_faulty_and_failing_stops_there(
        text in prop_oneof![damaged(10), bytes(100)],
        path in path(),
        size in 1usize..300,
    ) {
        let query = Query::compile(&path).map_err(fails)?;
        let faults = oracle::index::index(&text, 0).faults;
        let skipped = plain(&engine(Arc::new(Cpu), Some(size), OnError::Skip), &text, &query)?;
        prop_assert!(skipped.error.is_none(), "{:?}", skipped.error);
        prop_assert_eq!(skipped.stats.skipped, faults.len() as u64);
        prop_assert!(skipped.found.iter().all(|(line, ..)| faults.iter().all(|f| f.line as u64 + 1 != *line)));

        let failed = plain(&engine(Arc::new(Cpu), Some(size), OnError::Fail), &text, &query)?;
        match (faults.first(), failed.error) {
            (None, None) => prop_assert_eq!(&failed.found, &skipped.found),
            (Some(first), Some(Error::Input(InputError::Record(record)))) => {
                let line = first.line as u64 + 1;
                prop_assert_eq!((record.line, record.byte), (line, first.fault.at as u64 + 1));
                prop_assert_eq!((record.kind, record.name.as_str()), (first.fault.kind, "text"));
                let before: Vec<_> =
                    skipped.found.iter().filter(|(at, ..)| *at < line).cloned().collect();
                prop_assert_eq!(&failed.found, &before);
                prop_assert_eq!(failed.stats.matches, before.len() as u64);
                prop_assert_eq!(failed.stats.lines, first.line as u64);
            }
            (first, error) => prop_assert!(false, "{:?}, not {:?}", error, first),
        }
    }
}

proptest! {
    #![proptest_config(config(40))]

    #[test]
    fn partitions_change_nothing_on_the_emulated_device(
        text in text(5),
        path in path(),
        sizes in vec(any::<Index>(), 1..3),
    ) {
        // Not one line a partition: each is a dozen launches.
        let device = emulated();
        let text = &text[..text.len().min(400)];
        partitions_agree(&device, text, &path, &sizes)?;
        let query = Query::compile(&path).map_err(fails)?;
        let on_device = plain(&engine(device, None, OnError::Skip), text, &query)?;
        prop_assert_eq!(on_device.found, plain(&cpu(), text, &query)?.found);
    }
}

/// Gives one byte a call, and is interrupted now and then.
struct Drop1(Cursor<Vec<u8>>, u32);

impl Read for Drop1 {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.1 += 1;
        if self.1.is_multiple_of(5) {
            return Err(std::io::ErrorKind::Interrupted.into());
        }
        let len = buffer.len().min(1);
        self.0.read(&mut buffer[..len])
    }
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_byte_at_a_time_is_enough(text in text(8), path in path(), size in 1usize..300) {
        let query = Query::compile(&path).map_err(fails)?;
        let engine = engine(Arc::new(Cpu), Some(size), OnError::Skip);
        let slowly = ask(&engine, Drop1(Cursor::new(text.clone()), 0), &query)?;
        prop_assert!(slowly.error.is_none(), "{:?}", slowly.error);
        prop_assert_eq!(slowly.found, plain(&engine, &text, &query)?.found);
    }

    #[test]
    fn compression_changes_nothing(
        text in lines(10),
        path in path(),
        size in 1usize..300,
        level in 0u32..10,
        cut in any::<Index>(),
    ) {
        let query = Query::compile(&path).map_err(fails)?;
        let engine = engine(Arc::new(Cpu), Some(size), OnError::Fail);
        let want = plain(&engine, &text, &query)?.found;
        // In one part, and in two, cut anywhere.
        let (left, right) = text.split_at(cut.index(text.len() + 1));
        let gz = |text: &[u8]| gzip(text, Compression::new(level));
        let zst = |text: &[u8]| zstd::encode_all(text, level as i32).unwrap();
        for packed in [
            gz(&text),
            [gz(left), gz(right)].concat(),
            zst(&text),
            [zst(left), zst(right)].concat(),
        ] {
            let asked = plain(&engine, &packed, &query)?;
            prop_assert!(asked.error.is_none(), "{:?}", asked.error);
            prop_assert_eq!(&asked.found, &want);
            prop_assert_eq!(asked.stats.bytes, text.len() as u64);
            let slowly = ask(&engine, Drop1(Cursor::new(packed), 0), &query)?;
            prop_assert_eq!(&slowly.found, &want);
        }
    }

    #[test]
    fn a_truncated_file_gives_what_came_before(
        text in lines(20),
        path in path(),
        size in 1usize..300,
        level in 0u32..10,
        keep in any::<Index>(),
    ) {
        let query = Query::compile(&path).map_err(fails)?;
        let engine = engine(Arc::new(Cpu), Some(size), OnError::Fail);
        let want = plain(&engine, &text, &query)?.found;
        for (format, magic, packed) in [
            ("gzip", 2, gzip(&text, Compression::new(level))),
            ("zstd", 4, zstd::encode_all(text.as_slice(), level as i32).unwrap()),
        ] {
            // The cut file keeps the bytes that identify the format, and is not whole.
            let keep = magic + keep.index(packed.len() - magic);
            let asked = plain(&engine, &packed[..keep], &query)?;
            match asked.error {
                Some(Error::Input(InputError::Compressed { name, format: found, .. })) => {
                    prop_assert_eq!((name.as_str(), found), ("text", format));
                }
                other => prop_assert!(false, "{}: {:?}", format, other),
            }
            prop_assert!(want.starts_with(&asked.found), "{}: {:?}", format, asked.found);
        }
    }
}

/// The results before the cut are known if the text is stored without compression: all lines except those of
/// the last block.
#[test]
fn a_truncated_file_gives_nearly_all_that_it_holds() {
    let text: Vec<u8> = (0..200_000).flat_map(|i| format!("{i}\n").into_bytes()).collect();
    let packed = gzip(&text, Compression::none());
    let keep = packed.len() / 4 * 3;
    let query = Query::compile("$").unwrap();
    for size in [1 << 10, 1 << 16, 1 << 24] {
        let asked =
            plain(&engine(Arc::new(Cpu), Some(size), OnError::Fail), &packed[..keep], &query).unwrap();
        assert!(
            matches!(asked.error, Some(Error::Input(InputError::Compressed { .. }))),
            "{:?}",
            asked.error
        );
        let given: usize = asked.found.iter().map(|(.., bytes)| bytes.len() + 1).sum();
        assert!(given <= keep && given + (1 << 17) > keep, "{given} bytes of {keep}");
        assert!(asked.found.iter().enumerate().all(|(i, (.., bytes))| *bytes == i.to_string().into_bytes()));
    }
}

/// A reader that fails: all whole lines before, then the error.
#[test]
fn a_failing_reader_loses_nothing_before() {
    struct Failing(Cursor<Vec<u8>>);
    impl Read for Failing {
        fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(std::io::Error::other("gone")),
                count => Ok(count),
            }
        }
    }
    let query = Query::compile("$").unwrap();
    for size in 1..20 {
        let engine = engine(Arc::new(Cpu), Some(size), OnError::Fail);
        let asked = ask(&engine, Failing(Cursor::new(b"1\n22\n333\n44".to_vec())), &query).unwrap();
        let found: Vec<&[u8]> = asked.found.iter().map(|(.., bytes)| bytes.as_slice()).collect();
        assert_eq!(found, [b"1".as_slice(), b"22", b"333"], "partitions of {size}");
        assert!(matches!(asked.error, Some(Error::Input(InputError::Io { .. }))), "{:?}", asked.error);
    }
}
