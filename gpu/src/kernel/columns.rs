//! Typed columns in Arrow's layout: validity bits, values, offsets and bytes; and text in which strings are
//! decoded.
//!
//! The rules are those of [`warpath_shared::column`].
//!
//! *Threads*: one thread a row; only bytes are copied by output ([`crate::coop::gather`]). One thread reads a
//! string, or JSON text, from end to end, because escapes and UTF-8 must be checked. It checks 16 bytes at
//! once where they are plain ASCII, and byte by byte where they are not. A column of very few and very long
//! values is therefore slow to read, and as fast as others to copy.

use cuda_std::atomic::mid::atomic_fetch_add_u32_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::index_1d;
use cuda_std::warp::warp_vote_ballot;
use cuda_std::wide::{U32x4, load_readonly_8, load_readonly_16};
use warpath_shared::column::{self, Float, Kind};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::kernel::{
    COMPACT_ROWS, ColumnBytesArgs, ColumnReadArgs, Indexed, ListOffsetsArgs, Match, PathMatches,
    RecordCompactArgs, RecordRowsArgs, Rows,
};
use warpath_shared::units::{LineIx, PartOffset};
use warpath_shared::view::View;

use crate::coop::gather::Gather;
use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS, compact};

#[inline(always)]
fn reader(text: View<'_, u8>) -> impl Fn(PartOffset) -> u8 + Copy {
    // SAFETY: the offset is checked, and no kernel here writes to a text.
    move |at| unsafe { load_readonly_8(text.at(at as usize, 1)) }
}

/// Returns whether 16 bytes of the text, from a multiple of 16 on, are plain. They are read as one vector.
#[inline(always)]
fn plain(text: View<'_, u8>, in_string: bool) -> impl Fn(PartOffset) -> bool + Copy {
    move |at| {
        // SAFETY: the offset is checked, texts are 16-byte aligned, and no kernel here writes to one.
        let U32x4([a, b, c, d]) = unsafe { load_readonly_16(text.at(at as usize, 16).cast()) };
        let is_plain = |word| column::is_plain(word, in_string);
        is_plain(a) && is_plain(b) && is_plain(c) && is_plain(d)
    }
}

/// Returns whether a line is a record: it is not blank and has no fault.
#[inline(always)]
fn is_record(indexed: &Indexed<'_>, line: usize) -> bool {
    let byte = reader(indexed.text);
    let (mut at, end) = (indexed.line_starts.get(line), indexed.line_starts.get(line + 1));
    while at < end && is_whitespace(byte(at)) {
        at += 1;
    }
    at < end && indexed.faulty.get(line / 32) >> (line % 32) & 1 == 0
}

/// Lists the lines that are records, in one pass.
///
/// *Threads*: see [`crate::coop::compact`]; four lines a thread.
/// *Overflow*: there is room for all lines.
/// *Cost*: four bytes read a line and four written a record, and the sector in which each line begins.
///
/// # Safety
/// Launched as [`RecordCompact`](warpath_shared::kernel::RecordCompact) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn record_compact(args: RecordCompactArgs<'_>) {
    let shared = compact::Scratch {
        tile: shared_array![u32; 1],
        counts: shared_array![u32; WARPS],
        before: shared_array![u64; 1],
    };
    // SAFETY: no branch comes before this call, so every thread of the block is here. The shared memory is
    // this compaction's own.
    let first = unsafe { compact::first_element(&args.look_back, &shared) };
    let lines = args.records.len();
    let line = |row: usize| first + row * LANES as usize;
    let keep = core::array::from_fn(|row| line(row) < lines && is_record(&args.indexed, line(row)));
    // SAFETY: the branches above have joined, so every thread of the block is here, once, after
    // `first_element`.
    let places: [u64; COMPACT_ROWS] = unsafe { compact::places(keep, &args.look_back, &shared) };
    let mut row = 0;
    while row < COMPACT_ROWS {
        // SAFETY: one writer an element: the compaction gives each offset to one thread, and one thread has
        // the last line.
        unsafe {
            if keep[row] {
                args.records.set(places[row] as usize, line(row) as LineIx);
            }
            if line(row) + 1 == lines {
                args.count.set(0, places[row] + keep[row] as u64);
            }
        }
        row += 1;
    }
}

/// The first of a path's matches that is not on a line before `line`.
#[inline(always)]
fn first_match(found: &PathMatches<'_>, line: LineIx) -> u64 {
    let (mut low, mut high) = (found.first, found.end);
    while low < high {
        let middle = low + (high - low) / 2;
        if found.matches.get(middle as usize).line < line { low = middle + 1 } else { high = middle }
    }
    low
}

/// Makes the rows of a path that has at most one match a record, by bisection of its matches.
///
/// *Threads*: one thread a record.
/// *Cost*: 4 bytes read and 12 written a record, and the matches that the bisection visits. Neighbouring
/// threads visit mostly the same matches.
///
/// # Safety
/// Launched as [`RecordRows`](warpath_shared::kernel::RecordRows) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn record_rows(args: RecordRowsArgs<'_>) {
    let this = index_1d() as usize;
    if this >= args.records.len() {
        return;
    }
    let line = args.records.get(this);
    let at = first_match(&args.found, line);
    let mut row = Match { line, start: 0, end: 0 };
    if at < args.found.end {
        let found = args.found.matches.get(at as usize);
        if found.line == line {
            row = found;
        }
    }
    // SAFETY: one thread has each record, so each row has one writer.
    unsafe { args.rows.set(this, row) };
}

/// Finds the offset of each record's first match, by bisection. *Cost*: see [`record_rows`].
///
/// # Safety
/// Launched as [`ListOffsets`](warpath_shared::kernel::ListOffsets) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn list_offsets(args: ListOffsetsArgs<'_>) {
    let (this, records) = (index_1d() as usize, args.records.len());
    if this > records {
        return;
    }
    let at = if this == records { args.found.end } else { first_match(&args.found, args.records.get(this)) };
    let offset = at - args.found.first;
    // SAFETY: `this` is the thread's number in the grid, so each offset has one writer.
    unsafe {
        if args.narrow.is_empty() {
            args.wide.set(this, offset as i64);
        } else {
            args.narrow.set(this, offset as i32);
        }
    }
}

/// The range of a row's bytes in the text, and whether they are the contents of a string that is to be
/// decoded. The range then excludes the quotes.
#[inline(always)]
fn source(rows: &Rows<'_>, row: Match) -> (PartOffset, PartOffset, bool) {
    let byte = reader(rows.text);
    let says = !rows.are(Kind::Json) && row.start < row.end && column::is_quoted(row.start, row.end, byte);
    if says { (row.start + 1, row.end - 1, true) } else { (row.start, row.end, false) }
}

/// Reads the value of every row, or measures it.
///
/// *Threads*: one thread a row, one warp a word of bits.
/// *Overflow*: each row has room for a value, a length and an element among the unfinished.
/// *Cost*: the bytes of each value, 12 bytes of its row, and 8 written.
///
/// # Safety
/// Launched as [`ColumnRead`](warpath_shared::kernel::ColumnRead) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn column_read(args: ColumnReadArgs<'_>) {
    let (this, rows) = (index_1d() as usize, args.rows);
    let here = this < rows.len as usize;
    let mut row = Match::default();
    if here {
        row = rows.rows.get(rows.first as usize + this);
    }
    let (start, end, byte) = (row.start, row.end, reader(rows.text));
    let mut value = None;
    if start < end {
        if rows.are(Kind::Boolean) {
            value = column::boolean(start, end, byte).map(u64::from);
        } else if rows.are(Kind::Int64) {
            value = column::int64(start, end, byte).map(|value| value as u64);
        } else if rows.are(Kind::Float64) {
            value = match column::float64(start, end, byte) {
                Float::None => None,
                Float::Exact(value) => Some(value.to_bits()),
                Float::Unfinished => {
                    // SAFETY: the counter is touched only atomically, and each row is counted once.
                    unsafe {
                        let count = args.unfinished_count.at(0, 1);
                        let place = atomic_fetch_add_u32_relaxed_device(count, 1);
                        args.unfinished.set(place as usize, Match { line: this as u32, start, end });
                    }
                    Some(0)
                }
            };
        } else {
            let (start, end, is_string) = source(&rows, row);
            let raw = rows.are(Kind::Raw);
            if is_string {
                value = column::said_len(start, end, byte, plain(rows.text, true), raw)
                    .map(|len| len as u64 + raw as u64);
            } else if raw {
                value = Some((end - start) as u64 + 1);
            } else if rows.are(Kind::Json) && !column::is_null(start, end, byte) {
                value = column::is_utf8(start, end, byte, plain(rows.text, false))
                    .then_some((end - start) as u64);
            }
        }
    }
    // SAFETY: blocks are whole warps, no thread has returned, and the branches above have joined, so all
    // lanes are here.
    let valid = unsafe { warp_vote_ballot(ALL, value.is_some()) };
    // SAFETY: no branch comes after the vote above, so all lanes are here.
    let truth = unsafe { warp_vote_ballot(ALL, value == Some(1)) };
    if here {
        // SAFETY: one writer an element: a row is this thread's own, and a word belongs to its warp's first
        // lane.
        unsafe {
            if this % LANES as usize == 0 {
                args.validity.set(this / LANES as usize, valid);
                if rows.are(Kind::Boolean) {
                    args.truth.set(this / LANES as usize, truth);
                }
            }
            if !rows.are(Kind::Boolean) {
                args.values.set(this, value.unwrap_or(0));
            }
        }
    }
}

/// Copies the bytes of every row.
///
/// *Threads*: see [`crate::coop::gather`]. A string with escapes is shorter than its text: [`column_finish`]
/// writes over the bytes that are copied for it.
/// *Overflow*: the offsets were scanned from lengths, none of which is longer than its row's text. Bytes
/// beyond the room are not copied.
/// *Cost*: the bytes read once and written once; 20 bytes a row.
///
/// # Safety
/// Launched as [`ColumnGather`](warpath_shared::kernel::ColumnGather) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn column_gather(args: ColumnBytesArgs<'_>) {
    let ends = shared_array![u64; 2];
    let ColumnBytesArgs { rows, offsets, bytes: out, .. } = args;
    let start = |index: usize| {
        let row = rows.rows.get(rows.first as usize + index);
        if rows.are(Kind::Raw) {
            source(&rows, row).0
        } else {
            // In a column of strings only strings have bytes.
            row.start + rows.are(Kind::Utf8) as u32
        }
    };
    let last = if rows.are(Kind::Raw) { Some(b'\n') } else { None };
    let gather = Gather { text: rows.text, offsets, out, start, last };
    // SAFETY: no branch comes before this call, so every thread of the block is here. Nothing else uses the
    // shared memory.
    unsafe { gather.tile(ends) };
}

/// Decodes strings with escapes, narrows offsets, and looks up bounds.
///
/// *Threads*: one thread a row.
/// *Overflow*: a decoded string has the length that the same rule has measured. Strings that end beyond the
/// room are left.
/// *Cost*: 24 bytes a row, and the bytes of strings with escapes once more.
///
/// # Safety
/// Launched as [`ColumnFinish`](warpath_shared::kernel::ColumnFinish) says, with sizes that its check
/// accepts.
#[kernel]
pub unsafe fn column_finish(args: ColumnBytesArgs<'_>) {
    let (this, rows) = (index_1d() as usize, args.rows);
    if this < args.bounds.len() {
        // SAFETY: `this` is the thread's number in the grid, so each bound has one writer.
        unsafe { args.byte_bounds.set(this, args.offsets.get(args.bounds.get(this) as usize)) };
    }
    if this > rows.len as usize {
        return;
    }
    let offset = args.offsets.get(this);
    if !args.narrow.is_empty() {
        // SAFETY: `this` is the thread's number in the grid, so each offset has one writer.
        unsafe { args.narrow.set(this, offset as i32) };
    }
    if this == rows.len as usize {
        return;
    }
    let raw = rows.are(Kind::Raw);
    let (mut at, end, is_string) = source(&rows, rows.rows.get(rows.first as usize + this));
    let after = args.offsets.get(this + 1);
    let len = (after - offset) as u32;
    // Nulls have no bytes.
    if !is_string || len == 0 || len - raw as u32 == end - at || after > args.bytes.len() as u64 {
        return;
    }
    let byte = reader(rows.text);
    let mut to = offset as usize;
    while at < end {
        let Some(said) = column::say(at, end, byte, raw) else { return };
        let mut i = 0;
        while i < said.len {
            // SAFETY: offsets are ascending, so the bytes of a row belong to its thread alone.
            unsafe { args.bytes.set(to, (said.bytes >> (8 * i)) as u8) };
            to += 1;
            i += 1;
        }
        at = said.next;
    }
}
