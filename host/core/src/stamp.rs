//! The identification of an input: its size, the time of its last change, and samples of its bytes.

use std::fs::{File, Metadata};
use std::io;
use std::time::{Duration, SystemTime};

use xxhash_rust::xxh3::xxh3_64;

use crate::file::read_exact_at;

/// Blocks that are sampled.
const BLOCKS: u64 = 64;
/// Bytes of a block.
const BLOCK_BYTES: u64 = 4 << 10;

/// The hash of all checksums: XXH3 of 64 bits, without a seed. It detects accidents, not attacks.
pub fn hash(bytes: &[u8]) -> u64 {
    xxh3_64(bytes)
}

/// The state of an input at one time. An index stores it for the file that it was made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The size in bytes.
    pub size: u64,
    /// The time of the last write: seconds since 1970, rounded down.
    pub seconds: i64,
    /// The nanoseconds after those seconds.
    pub nanoseconds: u32,
    /// The hash of the samples.
    pub samples: u64,
}

/// The state of a file as the system shows it: without a look at its bytes. Another file that takes the name
/// has another state, also if it has the size and the time of the first one, and so has a file whose time was
/// set back after a write. (Systems other than Unix show no more than size and time.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileState {
    size: u64,
    modified: Option<SystemTime>,
    /// The device, the number there, and the time of the last change of anything about the file.
    #[cfg(unix)]
    node: (u64, u64, i64, i64),
}

impl FileState {
    /// The state of a file.
    #[must_use]
    pub fn of(metadata: &Metadata) -> Self {
        #[cfg(unix)]
        use std::os::unix::fs::MetadataExt as _;
        Self {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            node: (metadata.dev(), metadata.ino(), metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

/// The offset and length of each sample of a file. Samples are blocks at equal distances, the first at the
/// start and the last at the end. A file that is not longer than all blocks together is read whole.
fn samples(size: u64) -> impl Iterator<Item = (u64, u64)> {
    let whole = size <= BLOCKS * BLOCK_BYTES;
    let last = size.saturating_sub(BLOCK_BYTES);
    (0..if whole { 1 } else { BLOCKS }).map(move |block| {
        if whole {
            (0, size)
        } else {
            // No overflow for files of less than 2⁵⁸ bytes, which is more than file systems hold.
            (last.saturating_mul(block) / (BLOCKS - 1), BLOCK_BYTES)
        }
    })
}

impl Stamp {
    /// The stamp of a file in its present state.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn of(file: &File) -> io::Result<Self> {
        let size = file.metadata()?.len();
        Self::of_first(file, size)
    }

    /// The stamp of the first bytes of a file: `size` of them, which it has. The time is that of the file.
    ///
    /// # Errors
    /// The errors of the operating system.
    pub fn of_first(file: &File, size: u64) -> io::Result<Self> {
        let (seconds, nanoseconds) = since_1970(file.metadata()?.modified()?);
        let mut bytes = Vec::new();
        for (at, len) in samples(size) {
            let from = bytes.len();
            bytes.resize(from + len as usize, 0);
            read_exact_at(file, &mut bytes[from..], at)?;
        }
        Ok(Self { size, seconds, nanoseconds, samples: hash(&bytes) })
    }

    /// Bytes of the input.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The time of the last write to the input.
    #[must_use]
    pub fn modified(&self) -> SystemTime {
        let seconds = Duration::from_secs(self.seconds.unsigned_abs());
        let whole = if self.seconds < 0 {
            SystemTime::UNIX_EPOCH.checked_sub(seconds)
        } else {
            SystemTime::UNIX_EPOCH.checked_add(seconds)
        };
        let nanoseconds = Duration::from_nanos(self.nanoseconds.into());
        whole.and_then(|whole| whole.checked_add(nanoseconds)).unwrap_or(SystemTime::UNIX_EPOCH)
    }

    /// The difference to an earlier stamp, if there is one.
    #[must_use]
    pub fn differs_from(&self, before: &Self) -> Option<String> {
        if self.size != before.size {
            return Some(format!("it has {} bytes in place of {}", self.size, before.size));
        }
        if (self.seconds, self.nanoseconds) != (before.seconds, before.nanoseconds) {
            return Some("it was written to after it was indexed".into());
        }
        (self.samples != before.samples).then(|| "its contents have changed".into())
    }
}

/// Seconds, rounded down, and nanoseconds.
fn since_1970(time: SystemTime) -> (i64, u32) {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => (after.as_secs() as i64, after.subsec_nanos()),
        Err(before) => {
            let before = before.duration();
            let seconds = -(before.as_secs() as i64);
            match before.subsec_nanos() {
                0 => (seconds, 0),
                nanoseconds => (seconds - 1, 1_000_000_000 - nanoseconds),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_reach_from_the_start_to_the_end() {
        for size in [0, 1, 4096, 64 * 4096, 64 * 4096 + 1, 1 << 30, (1 << 40) + 12345] {
            let all: Vec<_> = samples(size).collect();
            assert_eq!(all[0].0, 0);
            assert!(all.last().is_some_and(|(at, len)| at + len == size), "{size}: {all:?}");
            assert!(all.is_sorted() && all.iter().all(|(at, len)| at + len <= size));
        }
    }

    #[test]
    fn times_come_back() {
        let nanoseconds = [0, 1, 999_999_999, 1_000_000_000, 1_234_567_890_123_456_789];
        for nanoseconds in nanoseconds.map(Duration::from_nanos) {
            for time in [SystemTime::UNIX_EPOCH + nanoseconds, SystemTime::UNIX_EPOCH - nanoseconds] {
                let (seconds, nanoseconds) = since_1970(time);
                let stamp = Stamp { size: 0, seconds, nanoseconds, samples: 0 };
                assert_eq!(stamp.modified(), time);
            }
        }
    }
}
