//! Packed files: they give back the packed text byte for byte, from any offset, and queries work as on other
//! files. Damage is reported.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use warpath::packed::{PackOptions, PackedFile, pack, pack_to};
use warpath::{
    DeviceChoice, Engine, Error, IndexFile, InputError, OnError, Program, Query, RowForm, Source, TextForm,
    Want,
};
use warpath_answer::backend::Backend as _;
use warpath_store::packed::PackedText;
use warpath_tests::emulated::Emulated;
use warpath_tests::packed::{from_pipe, fuzz_one, read_all, repaired};
use warpath_tests::random::Rng;

/// Random lines: JSON, blank, long, or bytes that are not text. The last line may lack its newline.
pub fn text(rng: &mut Rng, lines: usize) -> Vec<u8> {
    let mut text = Vec::new();
    for line in 0..lines {
        match rng.below(12) {
            0 => {}
            1 => text.extend((0..rng.below(30)).map(|_| [b' ', b'\t', b'\r'][rng.below(3)])),
            2 => text.extend((0..rng.below(200)).map(|_| rng.below(256) as u8).filter(|byte| *byte != b'\n')),
            3 => text.extend(std::iter::repeat_n(255, rng.below(3000))),
            4 => text.extend(format!(r#"{{"long":"{}"}}"#, "ab".repeat(rng.below(4000))).bytes()),
            _ => text.extend(
                format!(
                    r#"{{"id":{line},"user":{{"lang":"{}"}},"n":[{},null]}}"#,
                    ["en", "nl", "ja"][rng.below(3)],
                    rng.below(1000)
                )
                .bytes(),
            ),
        }
        if line + 1 < lines || rng.below(2) == 0 {
            text.push(b'\n');
        }
    }
    text
}

pub fn packed(text: &[u8], group: usize) -> Vec<u8> {
    let mut out = Vec::new();
    let input = Source::Reader("test".into(), Box::new(std::io::Cursor::new(text.to_vec())));
    let stats = pack_to(input, &mut out, "packed", PackOptions::default().group_bytes(group)).unwrap();
    assert_eq!((stats.text_bytes, stats.file_bytes), (text.len() as u64, out.len() as u64));
    out
}

#[test]
fn what_was_packed_comes_back_from_any_place() {
    let mut rng = Rng::new(1);
    for round in 0..40 {
        let lines = [0, 1, 2, 30, 400][rng.below(5)];
        let text = text(&mut rng, lines);
        let group = [1, 7, 100, 5000, 100_000][rng.below(5)];
        let bytes = packed(&text, group);
        assert_eq!(from_pipe(&bytes).unwrap(), text, "round {round}");
        let file = PackedFile::from_bytes(bytes, "test").unwrap();
        file.check().unwrap();
        assert_eq!(file.info().text_bytes, text.len() as u64);
        assert_eq!(file.info().lines, text.iter().filter(|byte| **byte == b'\n').count() as u64);
        assert_eq!(file.text(0..u64::MAX).unwrap(), text, "round {round}");
        let starts: Vec<usize> = std::iter::once(0)
            .chain(text.iter().enumerate().filter(|(_, byte)| **byte == b'\n').map(|(at, _)| at + 1))
            .collect();
        for _ in 0..60 {
            let (from, len) = (rng.below(text.len() + 2), rng.below(9000));
            let want = &text[from.min(text.len())..(from + len).min(text.len())];
            assert_eq!(
                file.text(from as u64..(from + len) as u64).unwrap(),
                want,
                "round {round}: {len} from {from}"
            );
            let (line, more) = (rng.below(starts.len() + 2), rng.below(20));
            let start = |line: usize| starts.get(line).copied().unwrap_or(text.len());
            let want = &text[start(line)..start(line + more)];
            let have = file.lines(line as u64..(line + more) as u64).unwrap();
            assert_eq!(have, want, "round {round}: {more} lines from {line} of {}", starts.len());
        }
    }
}

/// A sink for packed bytes that cuts the input off at the first of them. By then the input is open, and not
/// yet read to its end.
struct Cutting<'a> {
    input: &'a Path,
    left: u64,
    is_cut: bool,
}

impl std::io::Write for Cutting<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        if !std::mem::replace(&mut self.is_cut, true) {
            std::fs::OpenOptions::new().write(true).open(self.input)?.set_len(self.left)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[test]
fn an_input_that_becomes_shorter_is_not_packed() {
    let mut rng = Rng::new(7);
    let lines: Vec<String> = (0..50_000).map(|_| format!("{{\"n\":{}}}\n", rng.next_u64())).collect();
    // Members and frames that each could be the last one.
    let parts: Vec<Vec<u8>> = lines.chunks(1000).map(|part| part.concat().into_bytes()).collect();
    let gzip = |part: &Vec<u8>| {
        let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        gzip.write_all(part).unwrap();
        gzip.finish().unwrap()
    };
    let gzip: Vec<Vec<u8>> = parts.iter().map(gzip).collect();
    let zstd: Vec<Vec<u8>> = parts.iter().map(|part| zstd::encode_all(&part[..], 1).unwrap()).collect();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("input");
    for (parts, name) in [(parts, "plain"), (gzip, "gzip"), (zstd, "zstd")] {
        let whole = parts.concat();
        let most_parts = parts[..parts.len() - 3].concat().len();
        for left in [most_parts, whole.len(), whole.len() - 1, 0] {
            std::fs::write(&path, &whole).unwrap();
            let mut out = Cutting { input: &path, left: left as u64, is_cut: false };
            let input = Source::File(path.clone());
            let said = match pack_to(input, &mut out, "packed", PackOptions::default().group_bytes(1 << 16)) {
                Ok(stats) => format!("{} bytes", stats.text_bytes),
                Err(error) => error.chain(),
            };
            let want = if left == whole.len() {
                format!("{} bytes", lines.concat().len())
            } else {
                format!(
                    "{}: cannot be read or written: the file became shorter while it was read",
                    path.display()
                )
            };
            assert_eq!(said, want, "{name}: {left} of {} bytes", whole.len());
        }
    }
}

fn on_cpu(partition: usize) -> Engine {
    Engine::builder().device(DeviceChoice::Cpu).partition_size(partition).build().unwrap()
}

/// The matches in a file, and the error.
fn answers(engine: &Engine, path: &Path, query: &str) -> (Vec<String>, Option<String>) {
    let mut all = Vec::new();
    for hit in engine.open(path).unwrap().query(&Query::compile(query).unwrap()).unwrap() {
        match hit {
            Ok(hit) => all.push(format!("{} {:?} {}", hit.line(), hit.offsets(), hit.text())),
            Err(error) => {
                let said = error.to_string();
                return (all, said.split_once(':').map(|(_, said)| said.to_owned()));
            }
        }
    }
    (all, None)
}

#[test]
fn packed_files_are_asked_as_others() {
    let mut rng = Rng::new(2);
    let folder = tempfile::tempdir().unwrap();
    for round in 0..30 {
        let lines: Vec<u8> = (0..rng.below(300))
            .flat_map(|line| {
                let blank = if line % 17 == 3 { "\n" } else { "" };
                let mark = if line == 0 && round % 5 == 0 { "\u{feff}" } else { "" };
                format!(r#"{mark}{{"id":{line},"user":{{"lang":"{}"}}}}{blank}"#, "x".repeat(line % 50))
                    .into_bytes()
                    .into_iter()
                    .chain([b'\n'])
            })
            .collect();
        let (plain, packed) = (folder.path().join("same.ndjson"), folder.path().join("other"));
        std::fs::write(&plain, &lines).unwrap();
        let group = [1, 100, 3000, 1 << 20][rng.below(4)];
        pack(Source::File(plain.clone()), &packed, PackOptions::default().group_bytes(group)).unwrap();
        for partition in [64, 1000, 1 << 20] {
            let engine = on_cpu(partition);
            let (want, have) =
                (answers(&engine, &plain, "$.user.lang"), answers(&engine, &packed, "$.user.lang"));
            assert_eq!(have, want, "round {round}, groups of {group}, partitions of {partition}");
        }
    }
}

/// A line that is longer than a group is a group of its own.
#[test]
fn long_lines_have_groups_of_their_own() {
    let line = |len: usize| [vec![b'x'; len - 1], vec![b'\n']].concat();
    for (lens, groups) in [
        (&[1002, 10, 10, 10][..], &[1002, 30][..]),
        (&[10, 1002, 10], &[10, 1002, 10]),
        (&[999, 1, 1, 5000, 2001, 300, 300, 399, 1], &[1000, 1, 5000, 2001, 1000]),
        (&[4000], &[4000]),
    ] {
        let text: Vec<u8> = lens.iter().flat_map(|len| line(*len)).collect();
        for cut in [0, 1] {
            let file = PackedFile::from_bytes(packed(&text[..text.len() - cut], 1000), "test").unwrap();
            let mut found: Vec<_> = (0..groups.len()).map(|at| file.group_text(at).unwrap().len()).collect();
            *found.last_mut().unwrap() += cut;
            assert_eq!((found, file.info().groups), (groups.to_vec(), groups.len() as u64), "{lens:?}");
        }
    }
}

/// The check reports groups that are not whole lines.
#[test]
fn lines_do_not_go_on_from_one_group_to_the_next() {
    let (a, b) = (packed(b"{\"a\":", 100), packed(b"1}\n", 100));
    let groups = |file: &[u8]| {
        let table = file.windows(8).rposition(|word| word == b"WPKTABLE").unwrap();
        file[24..table].to_vec()
    };
    let both = repaired(&[&a[..24], &groups(&a), &groups(&b)].concat());
    let said = read_all(&both).unwrap_err().to_string();
    assert_eq!(said, "test: packed data is damaged: a line crosses the end of a group");
}

/// A compressed file may contain a packed file.
#[test]
fn packed_lines_are_read_from_compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let text = b"{\"a\":1}\n{\"a\":2}\n".repeat(300);
    let (plain, zst) = (folder.path().join("plain"), folder.path().join("zst"));
    std::fs::write(&plain, &text).unwrap();
    let compressed = zstd::encode_all(&packed(&text, 1000)[..], 1).unwrap();
    std::fs::write(&zst, &compressed).unwrap();
    let engine = on_cpu(1 << 16);
    assert_eq!(answers(&engine, &zst, "$.a"), answers(&engine, &plain, "$.a"));
    let said = pack(Source::from(zst), &folder.path().join("out"), PackOptions::default()).unwrap_err();
    assert!(said.chain().ends_with(": is packed already"), "{said}");
    // Cut, it is an error of what is compressed.
    std::fs::write(&plain, &compressed[..compressed.len() - 9]).unwrap();
    assert!(answers(&engine, &plain, "$.a").1.unwrap().contains("damaged"));
}

/// An existing output that is not a regular file is written to, and a link is followed.
#[cfg(unix)]
#[test]
fn outputs_that_are_no_files_stay_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    let text = b"{\"a\":1}\n".repeat(50);
    let source = || Source::Reader("test".into(), Box::new(std::io::Cursor::new(text.clone())));
    std::fs::write(path("old"), b"old").unwrap();
    std::os::unix::fs::symlink("old", path("link")).unwrap();
    pack(source(), &path("link"), PackOptions::default()).unwrap();
    assert!(path("link").is_symlink());
    assert_eq!(std::fs::read(path("old")).unwrap(), packed(&text, 16 << 20));
    assert!(std::process::Command::new("mkfifo").arg(path("pipe")).status().unwrap().success());
    let reader = std::thread::spawn({
        let pipe = path("pipe");
        move || std::fs::read(pipe).unwrap()
    });
    pack(source(), &path("pipe"), PackOptions::default()).unwrap();
    assert_eq!(reader.join().unwrap(), packed(&text, 16 << 20));
    assert!(!path("pipe").is_file());
    let said = pack(source(), folder.path(), PackOptions::default()).unwrap_err();
    assert!(said.chain().ends_with("(os error 21)"), "{said}");
    // An index cannot be read back from a pipe.
    std::fs::write(path("plain"), &text).unwrap();
    let engine = on_cpu(1 << 16);
    let said = IndexFile::build(&engine, path("plain"), path("pipe"), 2);
    assert!(said.unwrap_err().chain().contains("is not a regular file"));
}

/// Files that were altered on purpose, with right checksums. The checks after the checksums report some
/// changes. A file that passes them gives the same text in every way of reading.
#[test]
fn what_is_altered_on_purpose_is_refused_or_read() {
    let mut rng = Rng::new(4);
    let texts = [text(&mut rng, 60), text(&mut rng, 700), b"{\"a\":1}\n".repeat(20_000)];
    let files = [packed(&texts[0], 2000), packed(&texts[1], 1 << 20), packed(&texts[2], 1 << 20)];
    for (file, text) in files.iter().zip(&texts) {
        assert!(repaired(file) == *file);
        assert_eq!(read_all(file).unwrap(), *text);
    }
    let mut said: Vec<String> = Vec::new();
    let mut read = 0;
    for round in 0..3000 {
        let mut altered = files[round % 3].clone();
        for _ in 0..=rng.below(3) {
            // Headers, tables and splits are few of all bytes.
            let number = |at: usize| u64::from_le_bytes(*altered[at..].first_chunk().unwrap()) as usize;
            let (codes, symbols) = (number(40).min(1 << 16), number(56).min(255));
            let splits = 88 + 8 * symbols + symbols.next_multiple_of(8);
            let at = match rng.below(5) {
                // A split's lowest bytes: it still goes on from the one before.
                4 if splits + 8 < altered.len() => {
                    let last = (altered.len() - splits) / 8 - 1;
                    splits + 8 * rng.below(codes.div_ceil(2048).min(last).max(1)) + rng.below(2)
                }
                0 => 24 + rng.below(64),
                1 => 88 + rng.below(altered.len().min(3000) - 88),
                2 => altered.len() - 1 - rng.below(200.min(altered.len())),
                _ => rng.below(altered.len()),
            };
            match rng.below(4) {
                0 => altered[at] ^= 1 << rng.below(8),
                1 => altered[at] = 255,
                2 => altered[at] = altered[at].wrapping_add(1),
                _ => altered.truncate(at),
            }
            if altered.len() < 100 {
                break;
            }
        }
        fuzz_one(&altered);
        match read_all(&repaired(&altered)) {
            Ok(_) => read += 1,
            Err(error) => said.push(error.to_string()),
        }
    }
    assert!(read > 300, "{read}");
    for part in [
        "a group has a table of ",
        "a group's table: ",
        "a group's codes: ",
        " codes cannot decode to ",
        "a group's splits are not consecutive",
        "a group's splits do not match its codes",
        "the lines of a group's splits do not match its text",
        "the number of a group's lines does not match its header",
        "a group's text does not have the length in its header",
        " bytes cannot have ",
    ] {
        assert!(said.iter().any(|said| said.contains(part)), "never `{part}`");
    }
}

#[test]
fn any_bytes_are_no_packed_file() {
    let mut rng = Rng::new(5);
    for _ in 0..500 {
        let len = rng.below(600);
        fuzz_one(&(0..len).map(|_| rng.below(256) as u8).collect::<Vec<_>>());
        fuzz_one(&vec![0; len]);
    }
}

/// An index file and a bitmap index of a packed file say what those of its text say.
#[test]
fn indexes_of_packed_files_are_those_of_their_text() {
    let folder = tempfile::tempdir().unwrap();
    let mut rng = Rng::new(6);
    let path = |name: &str| folder.path().join(name);
    let engine = Engine::builder().device(DeviceChoice::Cpu).partition_size(100_000).build().unwrap();
    for (round, mark) in [(0, ""), (1, "\u{feff}"), (2, "")] {
        let mut text = mark.to_owned();
        for line in 0..[500, 500, 8][round] {
            // Of long lines only the pages that are looked at are read.
            let long = if round == 2 { 100_000 + rng.below(100_000) } else { rng.below(500) };
            text +=
                &format!(r#"{{"before":[{}1],"id":{line},"user":{{"lang":"en"}}}}"#, "1,".repeat(long / 2));
            text += "\n";
        }
        if round == 2 {
            text += r#"{"id":"last"}"#;
        }
        std::fs::write(path("plain"), &text).unwrap();
        pack(Source::File(path("plain")), &path("packed"), PackOptions::default().group_bytes(300_000))
            .unwrap();
        let query = Query::compile("$.id").unwrap();
        let ask = |name: &str, verify: bool| {
            let index = IndexFile::build(&engine, path(name), path("index"), 2).unwrap();
            index.verify().unwrap();
            assert_eq!(index.info().text_bytes, text.len() as u64);
            let input = engine.open(path(name)).unwrap().with_index(&index, verify).unwrap();
            let hits: Vec<_> = input.query(&query).unwrap().map(|hit| hit.unwrap().offsets()).collect();
            let input = engine.open(path(name)).unwrap().with_index(&index, verify).unwrap();
            (hits, input.count(&query).unwrap())
        };
        let plain = ask("plain", false);
        assert_eq!(plain.1, text.lines().count() as u64);
        assert_eq!(ask("packed", false), plain, "round {round}");
        assert_eq!(ask("packed", true), plain, "round {round}");
    }
}

#[test]
fn what_is_no_packed_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    let mut file = std::fs::File::create(&path).unwrap();
    file.write_all(b"\x89WPK and then something else, which goes on for a while").unwrap();
    let error = Engine::builder().build().unwrap().open(&path).unwrap().query(&Query::compile("$").unwrap());
    let error = match error {
        Ok(mut hits) => hits.next().unwrap().err().unwrap(),
        Err(error) => error,
    };
    assert!(matches!(error, Error::Input(InputError::NotPacked { .. })), "{error}");
    let error =
        pack(Source::File(path.clone()), &folder.path().join("out"), PackOptions::default()).unwrap_err();
    assert!(error.chain().contains("packed already"), "{error}");
    assert!(!folder.path().join("out").exists());
}

/// All results for a file, independent of its pieces: the count, the text of matches, rows, and faults by
/// lines and bytes.
fn everything(engine: &Engine, path: &Path, query: &str, want: Want) -> (u64, Vec<u8>, Vec<u8>, Vec<String>) {
    let program = Program::new(&[Query::compile(query).unwrap()]).unwrap();
    let (mut count, mut text, mut rows, mut faults) = (0, Vec::new(), Vec::new(), Vec::new());
    for batch in engine.open(path).unwrap().answers(program, want) {
        let batch = batch.unwrap();
        count += batch.count(0);
        for (_, piece) in batch.pieces() {
            piece.texts.iter().for_each(|texts| text.extend_from_slice(texts));
            rows.extend_from_slice(&piece.rows);
            for found in piece.matches.iter().flatten() {
                text.extend_from_slice(batch.match_text(piece, found));
            }
        }
        faults.extend(batch.skipped().map(|fault| fault.to_string().split_once(':').unwrap().1.to_owned()));
    }
    (count, text, rows, faults)
}

/// A device decodes groups, and its results are the CPU's for the plain file. This covers good and bad lines,
/// with texts and offsets, and lines that the host has to read.
#[test]
fn devices_decode_what_is_packed() {
    let mut rng = Rng::new(4);
    let folder = tempfile::tempdir().unwrap();
    let device = Emulated::default();
    let pipeline = Arc::new(device.pipeline());
    let engine = |strict| {
        Engine::builder().backend(pipeline.clone()).on_error(OnError::Skip).strict(strict).build().unwrap()
    };
    let cpu = |strict| {
        Engine::builder().device(DeviceChoice::Cpu).on_error(OnError::Skip).strict(strict).build().unwrap()
    };
    for round in 0..12 {
        let count = 1 + rng.below(120);
        let mut lines = text(&mut rng, count);
        if round % 4 == 1 {
            lines.splice(..0, *b"\xef\xbb\xbf");
        }
        if round % 2 == 0 {
            // A text without faults is evaluated to the end.
            lines = (0..rng.below(400))
                .flat_map(|line| {
                    format!(
                        "{{\"id\":{line},\"user\":{{\"lang\":\"{}\"}},\"x\":1e5}}\n",
                        "é".repeat(line % 40)
                    )
                    .into_bytes()
                })
                .collect();
        }
        let (plain, packed) = (folder.path().join("same.ndjson"), folder.path().join("other"));
        std::fs::write(&plain, &lines).unwrap();
        let group = [1000, 20_000, 1 << 20][rng.below(3)];
        pack(Source::File(plain.clone()), &packed, PackOptions::default().group_bytes(group)).unwrap();
        for query in ["$.user.lang", "$.id", "$..lang", "$[?@.id > 3].user"] {
            for (strict, wanted) in [
                (false, Want::default()),
                (true, Want::default().text(TextForm::Json)),
                (false, Want::default().matches(true)),
                (false, Want::default().rows(RowForm::Ndjson)),
            ] {
                let want = everything(&cpu(strict), &plain, query, wanted);
                let have = everything(&engine(strict), &packed, query, wanted);
                assert_eq!(
                    have, want,
                    "round {round}, groups of {group}: {query}, strict {strict}, {wanted:?}"
                );
            }
        }
    }
    let launches = device.take_work().0.get("fsst_decode").copied().unwrap_or_default();
    assert!(launches > 40, "{launches}");
}

/// The device finds faulty codes, and the host reports them.
#[test]
fn devices_find_damaged_codes() {
    let text: Vec<u8> = (0..900).flat_map(|line| format!("{{\"id\":{line}}}\n").into_bytes()).collect();
    let bytes = packed(&text, 1 << 20);
    let pipeline = Emulated::default().pipeline();
    let mut worker = pipeline.worker(0).unwrap();
    let program = Program::new(&[Query::compile("$.id").unwrap()]).unwrap();
    let mut ask = |bytes: &[u8]| {
        let packed = PackedText::new(bytes, "test")?;
        worker
            .answer_packed(&packed, &program, Want::default(), false)
            .map(|answer| answer.pieces[0].counts.clone())
    };
    // The group comes after the header of 24 bytes; its codes are its last part.
    let group = &bytes[24..];
    assert_eq!(ask(group).unwrap(), [900]);
    let codes = PackedText::new(group, "test").unwrap().group().codes().len();
    let len = 64 + group[64..].windows(8).position(|window| window == b"WPKTABLE").unwrap();
    let first = len - codes.next_multiple_of(8);
    let mut told = 0;
    for at in (0..codes).step_by(37) {
        let mut altered = group.to_vec();
        altered[first + at] = 254;
        match ask(&altered) {
            Ok(_) => {}
            Err(Error::Input(InputError::Packed { what, .. })) => {
                told += 1;
                assert!(what.contains("code"), "{what}");
            }
            Err(error) => panic!("code {at}: {error}"),
        }
    }
    assert!(told > 10, "{told} of {codes} codes");
}
