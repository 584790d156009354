//! The endings of names of outputs: the formats and compressions that they stand for.

/// A format that the ending of a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    Ndjson,
    Json,
    Csv,
    Tsv,
    ArrowFile,
    ArrowStream,
    Parquet,
    Sql,
    /// Another format of text.
    OtherText,
    /// Another format, which is no text.
    OtherBinary,
}

use Ending::{ArrowFile, ArrowStream, Csv, Json, Ndjson, OtherBinary, OtherText, Parquet, Sql, Tsv};

const FORMATS: [(&str, Ending); 30] = [
    ("ndjson", Ndjson),
    ("jsonl", Ndjson),
    ("json", Json),
    ("csv", Csv),
    ("tsv", Tsv),
    ("tab", Tsv),
    ("arrow", ArrowFile),
    ("feather", ArrowFile),
    ("ipc", ArrowFile),
    ("arrows", ArrowStream),
    ("parquet", Parquet),
    ("pq", Parquet),
    ("sql", Sql),
    ("warpath", OtherBinary),
    ("xlsx", OtherBinary),
    ("xls", OtherBinary),
    ("ods", OtherBinary),
    ("avro", OtherBinary),
    ("orc", OtherBinary),
    ("sqlite", OtherBinary),
    ("duckdb", OtherBinary),
    ("bson", OtherBinary),
    ("cbor", OtherBinary),
    ("msgpack", OtherBinary),
    ("tar", OtherBinary),
    ("pdf", OtherBinary),
    ("xml", OtherText),
    ("html", OtherText),
    ("yaml", OtherText),
    ("yml", OtherText),
];

/// Compressions, and the programs that compress a pipe.
const COMPRESSIONS: [(&str, &str); 9] = [
    ("gz", "gzip"),
    ("zst", "zstd"),
    ("bz2", "bzip2"),
    ("xz", "xz"),
    ("lz4", "lz4"),
    ("br", "brotli"),
    ("z", "compress"),
    ("zip", "zip"),
    ("7z", "7z a -si"),
];

impl Ending {
    /// The format that an ending in lower case means; `None` for an ending without a meaning.
    pub fn of(ending: &str) -> Option<Self> {
        FORMATS.iter().find(|(name, _)| *name == ending).map(|(_, format)| *format)
    }
}

/// The program that compresses a pipe to files of this ending, if they are compressed.
pub fn compressor(ending: &str) -> Option<&'static str> {
    COMPRESSIONS.iter().find(|(name, _)| *name == ending).map(|(_, program)| *program)
}
