//! Formats that are recognised by their first bytes or their first lines, and that are not lines of JSON.

use std::fmt;

/// A format that Warpath recognises, but does not read as JSON.
///
/// ```
/// use warpath::Foreign;
///
/// assert_eq!(Foreign::of(b"PAR1\x15\x04\x15\x0c"), Some(Foreign::Parquet));
/// assert_eq!(Foreign::of(b"{\"a\":1}\n"), None);
/// assert_eq!(Foreign::Parquet.to_string(), "a Parquet file");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Foreign {
    /// Text in UTF-16, little-endian, with or without a byte order mark.
    Utf16Le,
    /// Text in UTF-16, big-endian, with or without a byte order mark.
    Utf16Be,
    /// Text in UTF-32, little-endian, with or without a byte order mark.
    Utf32Le,
    /// Text in UTF-32, big-endian, with or without a byte order mark.
    Utf32Be,
    /// Apache Parquet.
    Parquet,
    /// Apache Parquet with an encrypted footer.
    EncryptedParquet,
    /// Arrow's IPC file format, or Feather.
    ArrowFile,
    /// Arrow's IPC stream format.
    ArrowStream,
    /// Apache ORC.
    Orc,
    /// Apache Avro's container file.
    Avro,
    /// A database of SQLite.
    Sqlite,
    /// A zip archive.
    Zip,
    /// A 7z archive.
    SevenZip,
    /// A tar archive.
    Tar,
    /// LZ4's legacy frame format.
    LegacyLz4,
    /// Snappy's framing format.
    Snappy,
    /// The output of `compress`.
    Compress,
    /// Compressed data within compressed data.
    CompressedTwice,
    /// One JSON document on several lines, where lines of JSON are expected.
    Document,
    /// JSON text sequences (RFC 7464): a record separator before each value.
    TextSequence,
    /// XML.
    Xml,
    /// HTML.
    Html,
    /// YAML.
    Yaml,
    /// Rows whose fields are separated by commas or semicolons.
    Csv,
    /// Rows whose fields are separated by tabs.
    Tsv,
    /// Lines of `key=value`.
    Logfmt,
}

/// The first bytes of the formats that have a fixed beginning. A longer beginning is before its own prefix.
const BEGINNINGS: [(&[u8], Foreign); 19] = [
    (b"\xff\xfe\0\0", Foreign::Utf32Le),
    (b"\0\0\xfe\xff", Foreign::Utf32Be),
    (b"\xff\xfe", Foreign::Utf16Le),
    (b"\xfe\xff", Foreign::Utf16Be),
    (b"PAR1", Foreign::Parquet),
    (b"PARE", Foreign::EncryptedParquet),
    (b"ARROW1", Foreign::ArrowFile),
    (b"\xff\xff\xff\xff", Foreign::ArrowStream),
    (b"ORC", Foreign::Orc),
    (b"Obj\x01", Foreign::Avro),
    (b"SQLite format 3\0", Foreign::Sqlite),
    (b"PK\x03\x04", Foreign::Zip),
    (b"PK\x05\x06", Foreign::Zip),
    (b"PK\x07\x08", Foreign::Zip),
    (b"7z\xbc\xaf\x27\x1c", Foreign::SevenZip),
    (b"\x02\x21\x4c\x18", Foreign::LegacyLz4),
    (b"\xff\x06\0\0sNaPpY", Foreign::Snappy),
    (b"\x1f\x9d", Foreign::Compress),
    (b"\x1f\xa0", Foreign::Compress),
];

/// The position of tar's own beginning, in the header of the first member.
const TAR: std::ops::Range<usize> = 257..262;

impl Foreign {
    /// The number of bytes that are enough to recognise any of these formats.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    pub const HEAD_BYTES: usize = 512;

    /// The format of data that begins with these bytes; `None` if it may be JSON.
    ///
    /// Text in UTF-16 or UTF-32 without a byte order mark is recognised by the zeros of its first two ASCII
    /// characters.
    ///
    /// ```
    /// use warpath_core::foreign::Foreign;
    ///
    /// assert_eq!(Foreign::of(b"PAR1\x15\x04"), Some(Foreign::Parquet));
    /// assert_eq!(Foreign::of(b"{\0\"\0i\0d\0"), Some(Foreign::Utf16Le));
    /// assert_eq!(Foreign::of(b"{\"id\":1}"), None);
    /// ```
    #[must_use]
    pub fn of(head: &[u8]) -> Option<Self> {
        let begun = BEGINNINGS.iter().find(|(beginning, _)| head.starts_with(beginning));
        let unmarked = || match head {
            [0, 0, 0, 1..=0x7f, ..] => Some(Self::Utf32Be),
            [1..=0x7f, 0, 0, 0, ..] => Some(Self::Utf32Le),
            [0, 1..=0x7f, 0, 1..=0x7f, ..] => Some(Self::Utf16Be),
            [1..=0x7f, 0, 1..=0x7f, 0, ..] => Some(Self::Utf16Le),
            _ => None,
        };
        let archive = || (head.get(TAR) == Some(b"ustar")).then_some(Self::Tar);
        begun.map(|(_, format)| *format).or_else(archive).or_else(unmarked)
    }

    /// The format of text whose first line is malformed, if that format is evident; and the number of that
    /// line, counted from 0. It is the first line that is not blank.
    ///
    /// ```
    /// use warpath_core::foreign::Foreign;
    ///
    /// assert_eq!(Foreign::of_lines(b"\n<?xml version='1.0'?>\n"), Some((1, Foreign::Xml)));
    /// assert_eq!(Foreign::of_lines(b"id,name\n1,a\n"), Some((0, Foreign::Csv)));
    /// assert_eq!(Foreign::of_lines(b"worker started\n"), None);
    /// ```
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn of_lines(text: &[u8]) -> Option<(u64, Self)> {
        let start = text.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let mut lines = text[start..].split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let (first, second) = (lines.next()?, lines.next().unwrap_or_default());
        let begins = |tag: &[u8]| first.get(..tag.len()).is_some_and(|head| head.eq_ignore_ascii_case(tag));
        let fields = |separator| {
            let count = separators(first, separator);
            count > 0 && separators(second, separator) == count
        };
        let format = match first[0] {
            // A record does not end so.
            b'{' | b'[' => {
                let goes_on = matches!(first.last(), Some(b'{' | b'[' | b',' | b':'));
                goes_on.then_some(Self::Document)?
            }
            b'<' if begins(b"<!doctype html") || begins(b"<html") => Self::Html,
            b'<' => Self::Xml,
            b'\x1e' => Self::TextSequence,
            _ if is_yaml(first, second) => Self::Yaml,
            _ if is_logfmt(first) => Self::Logfmt,
            _ if fields(b'\t') => Self::Tsv,
            _ if fields(b',') || fields(b';') => Self::Csv,
            _ => return None,
        };
        Some((memchr::memchr_iter(b'\n', &text[..start]).count() as u64, format))
    }

    /// True if more bytes are needed to recognise the format of data that begins with these bytes. Tar
    /// archives are recognised only where many bytes are there.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[must_use]
    pub fn may_begin_with(head: &[u8]) -> bool {
        let begins = |beginning: &[u8]| head.len() < beginning.len() && beginning.starts_with(head);
        BEGINNINGS.iter().any(|(beginning, _)| begins(beginning))
            || head.len() < 2
            || head.len() < 4 && head[..2].contains(&0)
    }
}

/// The number of separators of a row, outside quotes. 0 if white space follows one, as in prose.
fn separators(row: &[u8], separator: u8) -> usize {
    let (mut count, mut quoted) = (0, false);
    for (at, byte) in row.iter().enumerate() {
        quoted ^= *byte == b'"';
        if *byte == separator && !quoted {
            if row.get(at + 1) == Some(&b' ') {
                return 0;
            }
            count += 1;
        }
    }
    count
}

/// The length of the name at the start of some bytes.
fn name_len(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(byte)).count()
}

/// True if two lines begin a YAML document. One line such as `panic: stopped` is not enough.
fn is_yaml(first: &[u8], second: &[u8]) -> bool {
    let is_member = |line: &[u8]| {
        let len = name_len(line);
        len > 0 && line[len..].starts_with(b":") && matches!(line.get(len + 1), None | Some(b' '))
    };
    let is_nested = first.ends_with(b":") && (second.starts_with(b" ") || second.starts_with(b"- "));
    first == b"---"
        || first.starts_with(b"--- ")
        || first.starts_with(b"%YAML")
        || is_member(first) && (is_member(second) || is_nested)
        || first.starts_with(b"- ") && is_member(&first[2..])
}

/// True if a line is two or more pairs of logfmt.
fn is_logfmt(line: &[u8]) -> bool {
    let is_pair = |word: &[u8]| {
        let len = name_len(word);
        len > 0 && word[len..].starts_with(b"=")
    };
    let mut words = line.split(|byte| *byte == b' ');
    words.next().is_some_and(is_pair) && words.any(is_pair)
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Utf16Le => "text in UTF-16 (little-endian)",
            Self::Utf16Be => "text in UTF-16 (big-endian)",
            Self::Utf32Le => "text in UTF-32 (little-endian)",
            Self::Utf32Be => "text in UTF-32 (big-endian)",
            Self::Parquet => "a Parquet file",
            Self::EncryptedParquet => "an encrypted Parquet file",
            Self::ArrowFile => "an Arrow file",
            Self::ArrowStream => "an Arrow stream",
            Self::Orc => "an ORC file",
            Self::Avro => "an Avro file",
            Self::Sqlite => "a database of SQLite",
            Self::Zip => "a zip archive",
            Self::SevenZip => "a 7z archive",
            Self::Tar => "a tar archive",
            Self::LegacyLz4 => "compressed by LZ4's legacy format",
            Self::Snappy => "compressed by Snappy",
            Self::Compress => "compressed by `compress`",
            Self::CompressedTwice => "compressed twice",
            Self::Document => "one JSON document on several lines",
            Self::TextSequence => "JSON text sequences (RFC 7464)",
            Self::Xml => "XML",
            Self::Html => "HTML",
            Self::Yaml => "YAML",
            Self::Csv => "CSV",
            Self::Tsv => "tab-separated values",
            Self::Logfmt => "logfmt",
        })
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::table::texts;

    use super::*;

    #[test]
    fn beginnings_are_recognised_once_they_are_whole() {
        for (beginning, format) in BEGINNINGS {
            assert_eq!(Foreign::of(&[beginning, b"xyz"].concat()), Some(format), "{format}");
            for len in 0..beginning.len() {
                assert!(Foreign::may_begin_with(&beginning[..len]), "{len} bytes of {format}");
                assert_ne!(Foreign::of(&beginning[..len]), Some(format), "{len} bytes of {format}");
            }
        }
        let mut archive = vec![b'x'; TAR.end];
        assert_eq!(Foreign::of(&archive), None);
        archive[TAR].copy_from_slice(b"ustar");
        assert_eq!(Foreign::of(&archive), Some(Foreign::Tar));
    }

    #[test]
    fn text_is_recognised_by_its_first_lines() {
        use Foreign::*;
        for [text, want] in texts(include_str!("foreign.txt"), "lines") {
            let found = Foreign::of_lines(text.as_bytes()).map(|(_, format)| format!("{format:?}"));
            assert_eq!(found.unwrap_or_default(), want, "{text}");
        }
        assert_eq!(Foreign::of_lines(b" \n\n <a/>"), Some((2, Xml)));
    }

    #[test]
    fn text_without_a_mark_is_recognised_by_its_zeros() {
        for text in ["{\"a\":1}", "[1]", "1\n", "\n\n", " \"☺\""] {
            let utf16: Vec<u16> = text.encode_utf16().collect();
            let le: Vec<u8> = utf16.iter().flat_map(|unit| unit.to_le_bytes()).collect();
            let be: Vec<u8> = utf16.iter().flat_map(|unit| unit.to_be_bytes()).collect();
            assert_eq!(
                (Foreign::of(&le), Foreign::of(&be)),
                (Some(Foreign::Utf16Le), Some(Foreign::Utf16Be))
            );
            let le: Vec<u8> = text.chars().flat_map(|char| u32::from(char).to_le_bytes()).collect();
            let be: Vec<u8> = text.chars().flat_map(|char| u32::from(char).to_be_bytes()).collect();
            assert_eq!(
                (Foreign::of(&le), Foreign::of(&be)),
                (Some(Foreign::Utf32Le), Some(Foreign::Utf32Be))
            );
            assert_eq!(Foreign::of(text.as_bytes()), None, "{text}");
            assert!(!Foreign::may_begin_with(text.as_bytes()), "{text}");
        }
    }
}
