//! Role-named integers and the sizes that everything else is cut into.

/// A position in the whole input, in bytes. 64-bit at every interface.
pub type ByteOffset = u64;
/// A position within one partition, in bytes. 32 bits hold it because [`MAX_PARTITION_BYTES`] is checked.
pub type PartOffset = u32;
/// A line within one partition, counted from 0. Blank lines are counted.
pub type LineIx = u32;
/// The number of containers that are open at a point of a line. Negative where a line closes more than it
/// opened.
pub type Depth = i32;
/// The depth of a container, as the number of a leveled bitmap: the record's root container is level 0.
pub type Level = u32;
/// One path of a program, counted in the order in which the paths were given.
pub type PathIx = u32;

/// The number of bytes of text that one word of a bitmap covers.
pub const WORD_BYTES: usize = 64;
/// Threads of a block, in most kernels.
pub const BLOCK_THREADS: usize = 256;
/// Threads of a block that evaluates plain lines, one line a thread. The number is small because a block is
/// replaced only when its last thread has ended.
pub const QUERY_THREADS: usize = 64;
/// Threads of a block that evaluates a program over trees.
pub const TREE_QUERY_THREADS: usize = 64;
/// Bytes of text that one warp reads together: one word a lane.
pub const STRETCH_BYTES: usize = 32 * WORD_BYTES;
/// Bytes that one warp indexes from start to end, one stretch at a time.
pub const TILE_BYTES: usize = 32 << 10;
/// Elements that one block of a device-wide scan takes.
pub const SCAN_TILE: usize = BLOCK_THREADS;

/// The longest partition that 32-bit offsets allow: 2 GiB less one tile. With this limit a padded and
/// terminated partition, and a depth counted over it, stay below 2³¹.
pub const MAX_PARTITION_BYTES: usize = (1 << 31) - TILE_BYTES;
/// The greatest number of containers that may nest in a record. A deeper record is bad input
/// ([`crate::check::FaultKind::TooDeep`]).
pub const MAX_DEPTH: usize = 1024;

/// The number of bitmap words for `bytes` bytes of text.
#[inline]
pub const fn words_for(bytes: usize) -> usize {
    bytes.div_ceil(WORD_BYTES)
}

/// The number of tiles for `bytes` bytes of text.
#[inline]
pub const fn tiles_for(bytes: usize) -> usize {
    bytes.div_ceil(TILE_BYTES)
}

/// The size of a buffer for `bytes` bytes of text, the terminating newline and the padding up to a whole
/// tile.
#[inline]
pub const fn padded_for(bytes: usize) -> usize {
    tiles_for(bytes + 1) * TILE_BYTES
}
