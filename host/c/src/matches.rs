//! The matches of a query, one by one.

use std::ffi::{CString, c_char};
use std::ptr;

use warpath::{Answers, Batch, Program};
use warpath_answer::answer::{Limit, Want};

use crate::error::{Failure, border, c_name, text};
use crate::input::WarpathInput;

/// The matches of a query, in the order of the records.
pub struct WarpathMatches {
    answers: Answers<'static>,
    batch: Option<Batch<'static>>,
    /// The next match: its piece, and its number in the piece.
    piece: usize,
    next: usize,
    /// The name of the input of the batch.
    source: CString,
}

/// A match. Its texts are valid until the next call of `warpath_next` or `warpath_matches_free` for its
/// matches.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WarpathMatch {
    /// The JSON text of the value, as it is in the input: `size` bytes without a zero byte after them.
    pub text: *const c_char,
    /// The number of bytes of the text.
    pub size: usize,
    /// The name of the file, which ends with a zero byte.
    pub source: *const c_char,
    /// The line of the value in its file, counted from 1.
    pub line: u64,
    /// The offset of the value's first byte in the decompressed file.
    pub offset: u64,
}

/// Selects values by JSONPath (RFC 9535). Returns NULL if it fails.
///
/// # Safety
/// `input` is a result of `warpath_open` or `warpath_open_bytes` that is not freed. `path` ends with a zero
/// byte. The result is freed by `warpath_matches_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_query(
    input: *const WarpathInput,
    path: *const c_char,
) -> *mut WarpathMatches {
    border(ptr::null_mut(), || {
        // The caller takes matches one by one, and may stop at any of them.
        let want = Want::new().matches(true).limit(Limit::Matches(u64::MAX));
        // SAFETY: the contract is that of this function.
        let answers = unsafe { answers(input, path, want)? };
        let source = CString::default();
        Ok(Box::into_raw(Box::new(WarpathMatches { answers, batch: None, piece: 0, next: 0, source })))
    })
}

/// Starts to read the matches of a path.
///
/// # Safety
/// `input` is null or a live input. `path` is null or ends with a zero byte.
unsafe fn answers(
    input: *const WarpathInput,
    path: *const c_char,
    want: Want,
) -> Result<Answers<'static>, Failure> {
    // SAFETY: the caller of this function upholds that the pointer is null or a live input.
    let input = unsafe { input.as_ref() }.ok_or_else(|| Failure::usage("the input is NULL"))?;
    // SAFETY: the caller of this function upholds that the text is null or ends with a zero byte.
    let query = input.query(unsafe { text(path, "path")? })?;
    Ok(input.input().answers(Program::new(&[query])?, want))
}

/// Reads the next match. Returns 1 and fills `match`; or 0 at the end; or -1 if it fails, after which nothing
/// follows.
///
/// # Safety
/// `matches` is a result of `warpath_query` that is not freed, and no other thread uses it. `match` points to
/// writable memory for a match.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_next(matches: *mut WarpathMatches, r#match: *mut WarpathMatch) -> i32 {
    border(-1, || {
        // SAFETY: the caller upholds that the pointer is null or live matches, which no other thread uses.
        let matches = unsafe { matches.as_mut() }.ok_or_else(|| Failure::usage("the matches are NULL"))?;
        if r#match.is_null() {
            return Err(Failure::usage("the memory for a match is NULL"));
        }
        let Some(found) = matches.advance()? else { return Ok(0) };
        // SAFETY: not null, and the caller upholds that the memory is writable and of this type.
        unsafe { r#match.write(found) };
        Ok(1)
    })
}

impl WarpathMatches {
    fn advance(&mut self) -> Result<Option<WarpathMatch>, Failure> {
        loop {
            if let Some(batch) = &self.batch {
                for (first, piece) in batch.pieces().skip(self.piece) {
                    if let Some(found) = piece.matches.first().and_then(|list| list.get(self.next)) {
                        self.next += 1;
                        let text = batch.match_text(piece, found);
                        return Ok(Some(WarpathMatch {
                            text: text.as_ptr().cast(),
                            size: text.len(),
                            source: self.source.as_ptr(),
                            line: batch.line_at(piece, first, found.line, found.start),
                            offset: batch.offset_of(u64::from(piece.base) + u64::from(found.start)),
                        }));
                    }
                    (self.piece, self.next) = (self.piece + 1, 0);
                }
            }
            self.batch = None;
            (self.piece, self.next) = (0, 0);
            let Some(batch) = self.answers.next() else { return Ok(None) };
            let batch = batch?;
            if self.source.as_bytes() != batch.source().as_bytes() {
                self.source = c_name(batch.source());
            }
            self.batch = Some(batch);
        }
    }
}

/// Counts the values that a path selects. Faster than `warpath_query`. Returns 0 and sets `count`, or returns
/// -1 if it fails.
///
/// # Safety
/// `input` and `path` are as for `warpath_query`. `count` points to writable memory.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_count(
    input: *const WarpathInput,
    path: *const c_char,
    count: *mut u64,
) -> i32 {
    border(-1, || {
        if count.is_null() {
            return Err(Failure::usage("the memory for the count is NULL"));
        }
        let mut total = 0;
        // SAFETY: the contract is that of this function.
        for batch in unsafe { answers(input, path, Want::default())? } {
            total += batch?.count(0);
        }
        // SAFETY: not null, and the caller upholds that the memory is writable.
        unsafe { count.write(total) };
        Ok(0)
    })
}

/// Frees matches.
///
/// # Safety
/// `matches` is NULL, or a result of `warpath_query` that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_matches_free(matches: *mut WarpathMatches) {
    border((), || {
        if !matches.is_null() {
            // SAFETY: the caller upholds that a box made this pointer, and that it is freed once.
            drop(unsafe { Box::from_raw(matches) });
        }
        Ok(())
    });
}
