//! Sorting of more data than memory holds: sorted runs in temporary files, which are merged.
//!
//! An item is a key and a payload. Items are sorted by the bytes of their keys; items with the same key keep
//! the order in which they were pushed. At most `FAN` runs of one level exist: the next one causes a merge
//! to a run of the next level. The number of open files therefore grows with the logarithm of the data.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};

use warpath_core::error::{Error, InputError};
use warpath_core::temporary;

/// The most runs that are merged at once.
const FAN: usize = 32;

/// The size of the buffer of a run that is read or written, in bytes.
const BUFFER: usize = 64 << 10;

/// The memory of an item that is kept, beside its bytes.
const ITEM_BYTES: usize = size_of::<Item>();

/// An error of a temporary file.
pub(crate) fn failed(source: io::Error) -> Error {
    InputError::Io { name: format!("a temporary file in {}", std::env::temp_dir().display()), source }.into()
}

/// An item in the memory of a sorter.
#[derive(Clone, Copy)]
struct Item {
    /// The first bytes of the key, as a number in their order.
    prefix: u64,
    /// The offset of its bytes in [`ByteArena`]: the key, then the payload.
    begin: u64,
    key: u32,
    payload: u32,
}

/// Collects items, and gives them back sorted.
pub struct Sorter {
    memory: usize,
    bytes: ByteArena,
    items: Vec<Item>,
    runs: Runs,
}

/// The size of a chunk, in bytes.
const CHUNK: usize = 1 << 20;

/// The bytes of items, in chunks. One growing vector would take up to twice the memory while it grows.
#[derive(Default)]
struct ByteArena {
    chunks: Vec<Vec<u8>>,
    /// The number of the chunk that is being filled.
    filled: usize,
    /// The bytes of all items.
    len: usize,
}

impl ByteArena {
    /// Adds the bytes of an item. Returns their offset: the number of the chunk, and 32 bits for the offset
    /// in it. Offsets grow.
    fn push(&mut self, key: &[u8], payload: &[u8]) -> u64 {
        let len = key.len() + payload.len();
        let has_room = |chunk: &Vec<u8>| chunk.is_empty() || chunk.capacity() - chunk.len() >= len;
        if self.chunks.get(self.filled).is_some_and(|chunk| !has_room(chunk)) {
            self.filled += 1;
        }
        if self.filled == self.chunks.len() {
            self.chunks.push(Vec::new());
        }
        let chunk = &mut self.chunks[self.filled];
        if chunk.is_empty() {
            chunk.reserve_exact(CHUNK.max(len));
        }
        let begin = (self.filled as u64) << 32 | chunk.len() as u64;
        chunk.extend_from_slice(key);
        chunk.extend_from_slice(payload);
        self.len += len;
        begin
    }

    fn get(&self, begin: u64, len: usize) -> &[u8] {
        &self.chunks[(begin >> 32) as usize][begin as u32 as usize..][..len]
    }

    /// Removes all bytes, and keeps the memory of chunks of the common size.
    fn clear(&mut self) {
        self.chunks.retain(|chunk| chunk.capacity() <= CHUNK);
        self.chunks.iter_mut().for_each(Vec::clear);
        (self.filled, self.len) = (0, 0);
    }
}

fn prefix(key: &[u8]) -> u64 {
    let mut first = [0; 8];
    let len = key.len().min(8);
    first[..len].copy_from_slice(&key[..len]);
    u64::from_be_bytes(first)
}

impl Sorter {
    /// A sorter that keeps about `memory` bytes in memory.
    #[must_use]
    pub fn new(memory: usize) -> Self {
        Self { memory, bytes: ByteArena::default(), items: Vec::new(), runs: Runs::default() }
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`InputError::Io`] for a temporary file that cannot be written; [`Error::Usage`] for an item of 4 GiB
    /// or more.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), Error> {
        let len = |bytes: &[u8]| {
            u32::try_from(bytes.len()).map_err(|_| Error::Usage("a value of 4 GiB cannot be sorted".into()))
        };
        let (key_len, payload_len) = (len(key)?, len(payload)?);
        let needed = self.bytes.len + key.len() + payload.len() + (self.items.len() + 1) * ITEM_BYTES;
        if needed > self.memory && !self.items.is_empty() {
            self.spill()?;
            return self.push(key, payload);
        }
        let begin = self.bytes.push(key, payload);
        self.items.push(Item { prefix: prefix(key), begin, key: key_len, payload: payload_len });
        Ok(())
    }

    /// True if items have been written to temporary files.
    #[must_use]
    pub fn has_spilled(&self) -> bool {
        !self.runs.0.is_empty()
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        let key = |item: &Item| bytes.get(item.begin, item.key as usize);
        // Offsets are in the order in which items were pushed.
        self.items.sort_unstable_by(|a, b| {
            a.prefix.cmp(&b.prefix).then_with(|| key(a).cmp(key(b))).then(a.begin.cmp(&b.begin))
        });
    }

    fn spill(&mut self) -> Result<(), Error> {
        self.sort();
        let mut run = RunWriter::new()?;
        for item in &self.items {
            let (key, payload) = parts(&self.bytes, item);
            run.push(key, payload)?;
        }
        self.items.clear();
        self.bytes.clear();
        self.runs.add(run.finish()?)
    }

    /// Adds items that are sorted by their keys, in one run.
    pub(crate) fn push_sorted<'a>(
        &mut self,
        items: impl Iterator<Item = (&'a [u8], impl AsRef<[u8]>)>,
    ) -> Result<(), Error> {
        let mut run = RunWriter::new()?;
        for (key, payload) in items {
            run.push(key, payload.as_ref())?;
        }
        self.add_run(run)
    }

    /// Adds a run of items that are sorted by their keys.
    pub(super) fn add_run(&mut self, run: RunWriter) -> Result<(), Error> {
        self.runs.add(run.finish()?)
    }

    /// The items in order.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn finish(mut self) -> Result<Sorted, Error> {
        self.sort();
        if self.runs.0.is_empty() {
            return Ok(Sorted(SortedItems::Memory { bytes: self.bytes, items: self.items, next: 0 }));
        }
        if !self.items.is_empty() {
            self.spill()?;
        }
        let runs = std::mem::take(&mut self.runs.0);
        Ok(Sorted(SortedItems::Merge(Merge::new(runs.into_iter().map(|(_, file)| file))?)))
    }
}

fn parts<'a>(bytes: &'a ByteArena, item: &Item) -> (&'a [u8], &'a [u8]) {
    bytes.get(item.begin, item.key as usize + item.payload as usize).split_at(item.key as usize)
}

/// Sorted items, in order.
pub struct Sorted(SortedItems);

enum SortedItems {
    Memory { bytes: ByteArena, items: Vec<Item>, next: usize },
    Merge(Merge),
}

impl Sorted {
    /// Writes the next item over `key` and `payload`. Returns false at the end.
    ///
    /// # Errors
    /// The errors of temporary files.
    pub fn next(&mut self, key: &mut Vec<u8>, payload: &mut Vec<u8>) -> Result<bool, Error> {
        match &mut self.0 {
            SortedItems::Memory { bytes, items, next } => {
                let Some(item) = items.get(*next) else { return Ok(false) };
                *next += 1;
                let (from, rest) = parts(bytes, item);
                key.clear();
                key.extend_from_slice(from);
                payload.clear();
                payload.extend_from_slice(rest);
                Ok(true)
            }
            SortedItems::Merge(merge) => merge.next(key, payload),
        }
    }
}

/// Runs with their levels, in the order in which their items were pushed. Levels do not grow.
#[derive(Default)]
struct Runs(Vec<(u32, File)>);

impl Runs {
    fn add(&mut self, file: File) -> Result<(), Error> {
        self.0.push((0, file));
        while let Some((level, _)) = self.0.last()
            && let level = *level
            && let first = self.0.partition_point(|(other, _)| *other > level)
            && self.0.len() - first >= FAN
        {
            let mut merge = Merge::new(self.0.drain(first..).map(|(_, file)| file))?;
            let (mut run, mut key, mut payload) = (RunWriter::new()?, Vec::new(), Vec::new());
            while merge.next(&mut key, &mut payload)? {
                run.push(&key, &payload)?;
            }
            self.0.push((level + 1, run.finish()?));
        }
        Ok(())
    }
}

/// A writer of a run.
pub(super) struct RunWriter(BufWriter<File>);

impl RunWriter {
    pub fn new() -> Result<Self, Error> {
        Ok(Self(BufWriter::with_capacity(BUFFER, temporary::scratch().map_err(failed)?)))
    }

    /// Adds an item, whose key is not less than the ones before.
    pub fn push(&mut self, key: &[u8], payload: &[u8]) -> Result<(), Error> {
        let lens = [(key.len() as u32).to_le_bytes(), (payload.len() as u32).to_le_bytes()];
        let mut write = |bytes: &[u8]| self.0.write_all(bytes).map_err(failed);
        write(lens.as_flattened())?;
        write(key)?;
        write(payload)
    }

    fn finish(self) -> Result<File, Error> {
        let mut file = self.0.into_inner().map_err(|error| failed(error.into_error()))?;
        file.rewind().map_err(failed)?;
        Ok(file)
    }
}

/// The first item of a run that has not been merged.
struct Front {
    key: Vec<u8>,
    payload: Vec<u8>,
    /// The number of the run: items of earlier runs were pushed earlier.
    run: usize,
}

impl PartialEq for Front {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Front {}

impl PartialOrd for Front {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Front {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key.cmp(&other.key).then(self.run.cmp(&other.run))
    }
}

/// Several runs, merged.
struct Merge {
    runs: Vec<BufReader<File>>,
    fronts: BinaryHeap<Reverse<Front>>,
}

impl Merge {
    fn new(runs: impl Iterator<Item = File>) -> Result<Self, Error> {
        let runs = runs.map(|file| BufReader::with_capacity(BUFFER, file)).collect();
        let mut merge = Self { runs, fronts: BinaryHeap::new() };
        for run in 0..merge.runs.len() {
            merge.advance(Front { key: Vec::new(), payload: Vec::new(), run })?;
        }
        Ok(merge)
    }

    /// Reads the next item of a run in place of `front`.
    fn advance(&mut self, mut front: Front) -> Result<(), Error> {
        let run = &mut self.runs[front.run];
        let is_end = loop {
            match run.fill_buf() {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                rest => break rest.map_err(failed)?.is_empty(),
            }
        };
        if is_end {
            return Ok(());
        }
        let mut lens = [0; 8];
        run.read_exact(&mut lens).map_err(failed)?;
        let len = |at: usize| {
            let mut bytes = [0; 4];
            bytes.copy_from_slice(&lens[at..at + 4]);
            u32::from_le_bytes(bytes) as usize
        };
        front.key.resize(len(0), 0);
        front.payload.resize(len(4), 0);
        run.read_exact(&mut front.key).map_err(failed)?;
        run.read_exact(&mut front.payload).map_err(failed)?;
        self.fronts.push(Reverse(front));
        Ok(())
    }

    fn next(&mut self, key: &mut Vec<u8>, payload: &mut Vec<u8>) -> Result<bool, Error> {
        let Some(Reverse(mut front)) = self.fronts.pop() else { return Ok(false) };
        std::mem::swap(key, &mut front.key);
        std::mem::swap(payload, &mut front.payload);
        self.advance(front)?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use warpath_random::Rng;

    use super::*;

    #[test]
    fn runs_in_files_give_the_order_of_memory() {
        let mut random = Rng::new(7);
        let items: Vec<(Vec<u8>, Vec<u8>)> = (0..20_000u32)
            .map(|i| {
                let key = (0..random.below(12)).map(|_| random.below(3) as u8).collect();
                (key, i.to_le_bytes().to_vec())
            })
            .collect();
        let mut want = items.clone();
        want.sort_by(|a, b| a.0.cmp(&b.0));
        for memory in [1, 300, 5_000, 1 << 30] {
            let mut sorter = Sorter::new(memory);
            for (key, payload) in &items {
                sorter.push(key, payload).unwrap();
            }
            assert_eq!(sorter.has_spilled(), memory < 1 << 30);
            assert!(sorter.runs.0.len() < 4 * FAN, "{memory}: {} runs", sorter.runs.0.len());
            let (mut sorted, mut key, mut payload) = (sorter.finish().unwrap(), Vec::new(), Vec::new());
            let mut got = Vec::new();
            while sorted.next(&mut key, &mut payload).unwrap() {
                got.push((key.clone(), payload.clone()));
            }
            assert_eq!(got, want, "{memory}");
        }
    }
    #[test]
    fn chunks_give_the_bytes_back() {
        let mut random = Rng::new(9);
        let mut bytes = ByteArena::default();
        for _ in 0..3 {
            let mut all = Vec::new();
            for i in 0..40u8 {
                let len = [0, 1, 1000, 400_000, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK][random.below(8)];
                let begin = bytes.push(&vec![i; len], &[i, 1]);
                assert!(all.last().is_none_or(|(_, last, _)| *last < begin));
                all.push((i, begin, len));
            }
            for (i, begin, len) in &all {
                let found = bytes.get(*begin, len + 2);
                assert!(found[..*len].iter().all(|byte| byte == i) && found[*len..] == [*i, 1]);
            }
            assert_eq!(bytes.len, all.iter().map(|(_, _, len)| len + 2).sum::<usize>());
            bytes.clear();
            assert!(bytes.chunks.iter().all(|chunk| chunk.capacity() <= CHUNK));
        }
    }

    #[test]
    fn a_run_that_was_cut_is_an_error() {
        let run = || {
            let mut run = RunWriter::new().unwrap();
            run.push(b"key", b"payload").unwrap();
            run.push(b"last", b"").unwrap();
            run.finish().unwrap()
        };
        let ends = [0, 18, 30];
        let len = run().metadata().unwrap().len();
        assert_eq!(ends[2], len);
        for end in 0..=len {
            let file = run();
            file.set_len(end).unwrap();
            let (mut key, mut payload) = (Vec::new(), Vec::new());
            let read = Merge::new([file].into_iter()).and_then(|mut merge| {
                while merge.next(&mut key, &mut payload)? {}
                Ok(())
            });
            assert_eq!(read.is_ok(), ends.contains(&end), "{end}");
        }
    }
}
