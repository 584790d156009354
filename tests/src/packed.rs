//! Packed files from untrusted sources. A file of any bytes is refused, or every way of reading it gives the
//! same text.

use std::io::Cursor;

use warpath::packed::{PackedFile, unpack};
use warpath::{Error, InputError, Source};
use xxhash_rust::xxh3::xxh3_64;

/// The lengths in bytes of the file header and of a group header (docs/packed-file.md).
const HEADER: usize = 24;
const GROUP: usize = 64;

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..].first_chunk().map_or(0, |word| u64::from_le_bytes(*word))
}

fn put(bytes: &mut [u8], at: usize, number: u64) {
    bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
}

/// The length in bytes of a group after its header. `None` if it is more than `there`.
fn body_len(header: &[u8], there: usize) -> Option<usize> {
    let (codes, symbols) = (u64_at(header, 16), u64_at(header, 32));
    if codes > there as u64 || symbols > there as u64 {
        return None;
    }
    let (codes, symbols) = (codes as usize, symbols as usize);
    let splits = codes.div_ceil(2048);
    let parts = [8 * symbols, symbols, 8 * splits, 4 * splits, codes];
    let len = parts.iter().map(|len| len.next_multiple_of(8)).sum();
    (len <= there).then_some(len)
}

/// Makes a file of the groups after the header in `bytes`. Its markers, checksums and table are right, so
/// that a reader reaches the checks after those.
#[must_use]
pub fn repaired(bytes: &[u8]) -> Vec<u8> {
    let mut file = b"\x89WPK\r\n\x1a\n\x01\0\0\0\0\0\0\0".to_vec();
    file.extend_from_slice(&xxh3_64(&file).to_le_bytes());
    let mut table = b"WPKTABLE".to_vec();
    let (mut text, mut lines, mut groups) = (0_u64, 0_u64, 0);
    let mut rest = bytes.get(HEADER..).unwrap_or_default();
    while rest.len() >= GROUP && !rest.starts_with(b"WPKTABLE") {
        let Some(len) = body_len(rest, rest.len() - GROUP) else { break };
        let (group, behind) = rest.split_at(GROUP + len);
        let mut group = group.to_vec();
        group[..8].copy_from_slice(b"WPKGROUP");
        let body = xxh3_64(&group[GROUP..]);
        put(&mut group, 40, body);
        let seal = xxh3_64(&group[..GROUP - 8]);
        put(&mut group, GROUP - 8, seal);
        for number in [file.len() as u64, text, lines] {
            table.extend_from_slice(&number.to_le_bytes());
        }
        text = text.wrapping_add(u64_at(&group, 8));
        lines = lines.wrapping_add(u64_at(&group, 24));
        groups += 1;
        file.append(&mut group);
        rest = behind;
    }
    let mut trailer = b"WPKEND\r\n".to_vec();
    for number in [file.len() as u64, groups, text, lines, xxh3_64(&table)] {
        trailer.extend_from_slice(&number.to_le_bytes());
    }
    trailer.extend_from_slice(&xxh3_64(&trailer).to_le_bytes());
    file.append(&mut table);
    file.append(&mut trailer);
    file
}

/// Checks a whole packed file and returns its text.
///
/// # Errors
/// The errors of [`PackedFile::from_bytes`] and [`PackedFile::check`].
///
/// # Panics
/// If a file passes the check but another way of reading it gives another text. Also if an error is not of
/// the kinds that a packed file has.
pub fn read_all(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let file = PackedFile::from_bytes(bytes.to_vec(), "test").map_err(Error::from).map_err(of_packed)?;
    let checked = file.check();
    // A file that fails the check is read, too. The result is an error, or some text of the requested length.
    let (len, all) = (file.info().text_bytes, file.text(0..u64::MAX).map_err(of_packed));
    let piped = from_pipe(bytes).map_err(of_packed);
    let ranges =
        [(0, 1), (0, 5000), (1, 3), (len / 3, 100), (len / 2, 9000), (len.saturating_sub(10), 20), (len, 1)];
    for (from, more) in ranges {
        let part = file.text(from..from + more).map_err(of_packed);
        if let (Ok(()), Ok(all)) = (&checked, &all) {
            let want = &all[from.min(len) as usize..(from + more).min(len) as usize];
            assert!(part.is_ok_and(|part| part == want), "{more} bytes from {from}");
        } else if let Ok(part) = part {
            assert_eq!(part.len() as u64, len.saturating_sub(from).min(more), "{more} bytes from {from}");
        }
    }
    let lines = file.info().lines;
    let starts = all.as_ref().map(|all| line_starts(all)).unwrap_or_default();
    for (first, more) in [(0, 1), (0, lines / 2), (lines / 2, 3), (lines, 2), (lines + 1, 1)] {
        let part = file.lines(first..first + more).map_err(of_packed);
        if let (Ok(()), Ok(all)) = (&checked, &all) {
            let start = |line: u64| starts.get(line as usize).copied().unwrap_or(all.len());
            let want = &all[start(first)..start(first + more)];
            assert!(part.is_ok_and(|part| part == want), "{more} lines from {first}");
        }
    }
    checked.map_err(of_packed)?;
    let all = all?;
    assert!(piped.is_ok_and(|piped| piped == all), "through a pipe");
    Ok(all)
}

fn line_starts(text: &[u8]) -> Vec<usize> {
    let newlines = text.iter().enumerate().filter(|(_, byte)| **byte == b'\n');
    std::iter::once(0).chain(newlines.map(|(at, _)| at + 1)).collect()
}

/// Unpacks a file that comes through a pipe.
///
/// # Errors
/// The errors of [`unpack`].
pub fn from_pipe(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut all = Vec::new();
    let input = Source::Reader("pipe".into(), Box::new(Cursor::new(bytes.to_vec())));
    unpack(input, |text| {
        all.extend_from_slice(text);
        Ok(())
    })?;
    Ok(all)
}

/// Returns the error, and panics if it is not one that a packed file may cause.
fn of_packed(error: Error) -> Error {
    let Error::Input(
        InputError::NotPacked { .. } | InputError::PackedVersion { .. } | InputError::Packed { .. },
    ) = error
    else {
        panic!("{error:?}")
    };
    error
}

/// Reads any bytes as a packed file: as they are, and with right checksums.
///
/// # Panics
/// In the cases of [`read_all`], which are faults of the reader.
pub fn fuzz_one(bytes: &[u8]) {
    for bytes in [bytes.to_vec(), repaired(bytes)] {
        // An error is right for malformed bytes, so the result is ignored.
        let _ = read_all(&bytes);
    }
}
