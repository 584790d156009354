//! Inputs: files, standard input and bytes, plain or compressed, as partitions of whole lines.
//!
//! | module | contents |
//! |---|---|
//! | `source` | what can be read, and in which of two ways |
//! | `decoded` | decompressed bytes; compression and foreign formats recognised by content |
//! | `frames`, `zstd`, `lz4` | frames decoded by one thread or by several; frames of zstd and of LZ4 |
//! | `plain` | parts of a plain file, read at any offset |
//! | `sequence` | all other inputs, read from start to end |
//! | `feed` | inputs whose bytes come slowly |
//! | `column` | columns of text in tables, as lines |
//! | `follow`, `follow_all` | a file that is followed as it grows; several files and folders |
//! | `watch` | changes of folders, as the system reports them |
//! | `part`, `stored` | the text of a part of a store; folders that are stores |
//! | `ranged` | a part of a store that is no file of this machine |
//! | `folders` | the files of folders |
//! | `names` | the files that names, folders, patterns and lists stand for |
//! | `selected` | selected lines of a plain file |
//! | `selection` | the lines that a text consists of |
//! | `text` | the text of a partition |
//! | `groups` | an input as groups of whole lines, for what is made of all of them |
//! | `bytes`, `held` | bytes in memory; their lines, which are not copied |
//! | `given` | inputs by the threads that evaluate them |
//! | `buffers` | the memory that bytes are read into |

mod buffers;
mod bytes;
mod column;
mod decoded;
mod feed;
mod folders;
mod follow;
mod follow_all;
#[cfg(any(feature = "lz4", feature = "zstd"))]
mod frames;
mod given;
#[cfg(feature = "store")]
mod groups;
mod held;
mod loaded;
#[cfg(feature = "lz4")]
mod lz4;
mod names;
#[cfg(feature = "store")]
mod part;
mod plain;
#[cfg(feature = "store")]
mod ranged;
mod recognise;
mod selected;
mod selection;
mod sequence;
mod source;
mod stored;
mod text;
mod values;
mod watch;
#[cfg(feature = "zstd")]
mod zstd;

pub(crate) use buffers::Buffers;
pub use bytes::InputBytes;
pub use column::{TableFormat, TextColumn};
pub(crate) use decoded::has_compressed_name;
pub(crate) use feed::MAX_LATENCY;
pub use folders::FolderFiles;
#[cfg(feature = "store")]
pub(crate) use follow::{FilePosition, Tail};
pub use follow::{FollowEnd, FollowFrom};
pub use follow_all::FollowedFiles;
#[cfg(feature = "store")]
pub(crate) use follow_all::{Chunk, follow_tails, plain_tail};
pub(crate) use follow_all::{FollowedLines, FollowedText};
pub(crate) use given::{Given, Held, Inputs};
#[cfg(feature = "store")]
pub(crate) use groups::LineGroups;
pub(crate) use held::{HeldLines, whole};
pub use loaded::LoadedInput;
#[cfg(feature = "store")]
pub(crate) use loaded::{Contents, Identity, Placed, lines, slice_end};
pub(crate) use loaded::{KeptInput, Partition, PartitionText};
#[cfg(feature = "store")]
pub(crate) use part::{
    EXTERNAL, PartText, Slice, StoredPart, WITHIN, begins_within, has_no_lines, text_of, text_of_group,
};
pub(crate) use plain::{Cut, PartLines, PlainFile, Stretch};
#[cfg(feature = "store")]
pub use ranged::StoredFile;
#[cfg(feature = "store")]
pub(crate) use selected::BLOCK_LINES;
pub(crate) use selected::{FileLines, Selection};
pub(crate) use sequence::Sequence;
pub(crate) use source::OpenedSource;
pub use source::{FindsRecords, RecordLines, RecordsTally, Source};
#[cfg(all(feature = "store", test))]
pub(crate) use stored::LOG;
#[cfg(feature = "store")]
pub(crate) use stored::{check_part, is_store, why_foreign};
pub(crate) use text::{BYTE_ORDER_MARK, Extract, Text};
#[cfg(feature = "store")]
pub(crate) use text::{Counts, KnownLeaves, KnownSchema};
pub use values::ValueLayout;
