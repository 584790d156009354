//! Typed columns in Arrow's layout: validity bits, values, offsets and bytes; and text in which strings are
//! decoded.
//!
//! The rules are those of [`warpath_shared::column`].
//!
//! *Threads*: one thread a row. A warp reads long strings and JSON, and decodes strings with escapes
//! ([`crate::coop::strings`]). Bytes are copied by output ([`crate::coop::gather`]).

use cuda_std::atomic::mid::atomic_fetch_add_u64_relaxed_device;
use cuda_std::kernel;
use cuda_std::shared::shared_array;
use cuda_std::thread::{grid_dim_x, index_1d, thread_idx_x};
use cuda_std::warp::{warp_shuffle_idx, warp_vote_ballot};
use warpath_shared::column::{self, Float, Kind};
use warpath_shared::index::class::is_whitespace;
use warpath_shared::kernel::{
    COMPACT_ROWS, ColumnBytesArgs, ColumnReadArgs, Indexed, ListOffsetsArgs, Match, PathMatches,
    RecordCompactArgs, RecordRowsArgs, Rows,
};
use warpath_shared::units::{LineIx, PartOffset};
use warpath_shared::view::ViewMut;

use crate::coop::gather::Gather;
use crate::coop::strings::{self, Value, reader};
use crate::coop::warp::ALL;
use crate::coop::{LANES, WARPS, compact};

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

/// Sets the counts of a column to zero, in the first threads of the grid.
#[inline(always)]
fn start_counts(counts: ViewMut<'_, u64>, this: usize) {
    if this < counts.len() {
        // SAFETY: `this` is the thread's number in the grid, so each count has one writer.
        unsafe { counts.set(this, 0) };
    }
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
    start_counts(args.counts, this);
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
    start_counts(args.counts, this);
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

/// Returns the value of a row as a warp reads it.
#[inline(always)]
fn whole<'a>(rows: &Rows<'a>, start: PartOffset, end: PartOffset) -> Value<'a> {
    let (in_string, lenient) = (!rows.are(Kind::Json), rows.are(Kind::Raw));
    Value { text: rows.text, start, end, in_string, lenient }
}

/// Reads the value of every row, or measures it. Lists numbers and strings that are not finished here, and
/// counts rows without a value.
///
/// *Threads*: one thread a row, one warp a word of bits. The warp measures long strings, and JSON that is not
/// short and plain, one after the other ([`crate::coop::strings`]).
/// *Overflow*: each row has room for a value, a length and an element among the unfinished.
/// *Cost*: the bytes of each value, 12 bytes of its row, and 8 written; 12 more for a row that is listed.
///
/// # Safety
/// Launched as [`ColumnRead`](warpath_shared::kernel::ColumnRead) says, with sizes that its check accepts.
#[kernel]
pub unsafe fn column_read(args: ColumnReadArgs<'_>) {
    let (this, rows) = (index_1d() as usize, args.rows);
    let here = this < rows.len as usize;
    if this < args.status.len() {
        // SAFETY: `this` is the thread's number in the grid, so each status has one writer.
        unsafe { args.status.set(this, 0) };
    }
    let mut row = Match::default();
    if here {
        row = rows.rows.get(rows.first as usize + this);
    }
    let (start, end, byte) = (row.start, row.end, reader(rows.text));
    let mut value = None;
    // The range of a value in the text, and whether the warp reads it together, or does not finish it.
    let (mut range, mut together, mut unfinished) = ((start, end), false, false);
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
                    unfinished = true;
                    Some(0)
                }
            };
        } else {
            let (start, end, is_string) = source(&rows, row);
            let raw = rows.are(Kind::Raw);
            range = (start, end);
            if is_string || rows.are(Kind::Json) && !column::is_null(start, end, byte) {
                let it = whole(&rows, start, end);
                value = Some((end - start) as u64 + raw as u64);
                if !strings::is_plain(it) {
                    together = !is_string || end - start > strings::LONGEST_ALONE;
                    if !together {
                        let len = strings::measure_alone(it);
                        value = len.map(|len| len as u64 + raw as u64);
                        // Only escapes make a string shorter.
                        unfinished = len.is_some_and(|len| len != end - start);
                    }
                }
            } else if raw {
                value = Some((end - start) as u64 + 1);
            }
        }
    }
    let lane = this as u32 % LANES;
    // SAFETY: blocks are whole warps, no thread has returned, and the branches above have joined, so all
    // lanes are here.
    let mut long = unsafe { warp_vote_ballot(ALL, together) };
    while long != 0 {
        let from = long.trailing_zeros();
        // SAFETY: all lanes have the same ballot, so they are here together, with the same lane to read from.
        let len = unsafe {
            let (start, _) = warp_shuffle_idx(ALL, range.0, from, LANES);
            let (end, _) = warp_shuffle_idx(ALL, range.1, from, LANES);
            strings::measure(whole(&rows, start, end), lane)
        };
        if lane == from {
            value = len.map(|len| len as u64 + rows.are(Kind::Raw) as u64);
            unfinished = len.is_some_and(|len| len != range.1 - range.0);
        }
        long &= long - 1;
    }
    // SAFETY: as for the first vote: all lanes leave the loop together.
    let listed = unsafe { warp_vote_ballot(ALL, unfinished) };
    if listed != 0 {
        let mut first = 0;
        if lane == 0 {
            // SAFETY: the counter is touched only atomically. One lane counts the rows of its warp.
            first = unsafe {
                atomic_fetch_add_u64_relaxed_device(args.counts.at(0, 1), listed.count_ones() as u64)
            };
        }
        // SAFETY: all lanes have the same ballot, and the branch on the lane has joined.
        let (first, _) = unsafe { warp_shuffle_idx(ALL, first, 0, LANES) };
        if unfinished {
            let before = (listed & ((1 << lane) - 1)).count_ones();
            let row = Match { line: this as u32, start: range.0, end: range.1 };
            // SAFETY: the counter gives each row an element of its own.
            unsafe { args.unfinished.set(first as usize + before as usize, row) };
        }
    }
    // SAFETY: blocks are whole warps, no thread has returned, and the branches above have joined, so all
    // lanes are here.
    let valid = unsafe { warp_vote_ballot(ALL, value.is_some()) };
    // SAFETY: no branch comes after the vote above, so all lanes are here.
    let truth = unsafe { warp_vote_ballot(ALL, value == Some(1)) };
    if here {
        // SAFETY: one writer an element: a row is this thread's own, and a word belongs to its warp's first
        // lane. The counter is touched only atomically.
        unsafe {
            if lane == 0 {
                // The last warp may have lanes without a row.
                let nulls = (rows.len - this as u32).min(LANES) - valid.count_ones();
                if nulls > 0 {
                    atomic_fetch_add_u64_relaxed_device(args.counts.at(1, 1), nulls as u64);
                }
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
/// *Threads*: one thread a row, and one warp a string with escapes, in turns ([`crate::coop::strings`]).
/// *Overflow*: a decoded string has the length that the same rule has measured. Strings that end beyond the
/// room are left.
/// *Cost*: 12 bytes a row, and the bytes of strings with escapes once more.
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
    if this < args.narrow.len() {
        // SAFETY: `this` is the thread's number in the grid, so each offset has one writer.
        unsafe { args.narrow.set(this, args.offsets.get(this) as i32) };
    }
    if this == rows.len as usize {
        // SAFETY: one thread has this number. No thread reads the last count.
        unsafe { args.escaped.counts.set(2, args.offsets.get(this)) };
    }
    // SAFETY: no thread of this launch writes the first count.
    let count = unsafe { args.escaped.counts.at(0, 1).read() } as usize;
    let lane = thread_idx_x() % LANES;
    let mut at = (index_1d() / LANES) as usize;
    while at < count {
        let row = args.escaped.rows.get(at);
        let (from, to) = (args.offsets.get(row.line as usize), args.offsets.get(row.line as usize + 1));
        if to <= args.bytes.len() as u64 {
            let value = whole(&rows, row.start, row.end);
            // SAFETY: blocks are whole warps, all lanes of a warp have the same row, and the branches above
            // have joined, so all lanes are here. Offsets are ascending, and each row is listed once, so the
            // bytes of a row belong to its warp alone.
            unsafe { strings::decode(value, lane, args.bytes, from as usize) };
        }
        at += grid_dim_x() as usize * WARPS;
    }
}
