//! Lines of a loaded input as the texts of partitions.

use std::ops::Range;
use std::sync::Arc;

use warpath_core::error::{Error, InputError};
use warpath_core::rows::RowSet;

use super::leaves::{Contents, Placed};
use crate::input::buffers::Buffers;
use crate::input::bytes::InputBytes;
use crate::input::held::HeldLines;
use crate::input::part::numbered;
use crate::input::plain::Cut;
use crate::input::text::Text;

/// The end of the rows from `first` on whose lines have about `size` bytes; at least one row.
pub(crate) fn slice_end(placed: &Placed, first: u32, size: usize) -> u32 {
    placed.segment.lines().end_within(first, size)
}

/// The lines of some rows of a segment, as texts of about `size` bytes. A set of rows of the whole segment
/// comes in place of all of them.
pub(crate) fn lines(
    contents: &Contents,
    placed: &Placed,
    rows: Range<u32>,
    selected: Option<RowSet>,
    size: usize,
    buffers: &Arc<Buffers>,
) -> Cut<'static> {
    match read(contents, placed, rows, selected, size, buffers) {
        Ok(cut) => cut,
        Err(error) => Cut { error: Some(error), ..Cut::default() },
    }
}

fn read(
    contents: &Contents,
    placed: &Placed,
    rows: Range<u32>,
    selected: Option<RowSet>,
    size: usize,
    buffers: &Arc<Buffers>,
) -> Result<Cut<'static>, Error> {
    let Placed { segment, offset, first, .. } = placed;
    let compressed = segment.lines();
    let failed = |fault| InputError::Part {
        name: contents.name.to_string(),
        reason: format!("compressed lines in memory are damaged: {fault}"),
    };
    let before = compressed.text_len(0..rows.start) as u64;
    // A byte order mark is no part of the text only before the first line of a text.
    let is_begin = *first == 0 && rows.start == 0 && !contents.begins_within;
    let Some(selected) = selected else {
        let len = compressed.text_len(rows.clone());
        // Memory that is used again needs no pages of the system.
        if len <= size && len <= buffers.longest() && !is_begin {
            let mut buffer = buffers.take(len)?;
            compressed.decode_to(rows, &mut buffer[..len]).map_err(failed)?;
            let text = Text::lent(buffer, 0..len, offset + before);
            return Ok(Cut { texts: vec![text], ..Cut::default() });
        }
        let mut text = Vec::new();
        compressed.decode(rows, &mut text).map_err(failed)?;
        return Ok(cut(contents, text, offset + before, is_begin, size, buffers));
    };
    let mut text = Vec::new();
    compressed.decode_rows(&selected, &mut text).map_err(failed)?;
    let is_begin = is_begin && selected.get(0);
    let mut cut = cut(contents, text, *offset, is_begin, size, buffers);
    cut.texts = match cut.texts.is_empty() {
        // The rows that are left out count as lines.
        true => vec![Text::kept(Arc::new([]), *offset)],
        false => cut.texts,
    };
    cut.texts = numbered(cut.texts, &selected, *first);
    Ok(cut)
}

/// Cuts lines into texts of about `size` bytes.
fn cut(
    contents: &Contents,
    text: Vec<u8>,
    offset: u64,
    is_begin: bool,
    size: usize,
    buffers: &Buffers,
) -> Cut<'static> {
    let mut lines = HeldLines::within(contents.name.clone(), InputBytes::from(text), offset, is_begin);
    let mut cut = Cut::default();
    loop {
        match lines.next_within(size, buffers.longest()) {
            Ok(Some(text)) => cut.texts.push(text),
            Ok(None) => return cut,
            Err(error) => return Cut { error: Some(error), ..cut },
        }
    }
}
