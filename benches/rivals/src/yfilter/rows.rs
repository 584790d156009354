//! Rows of node numbers, stored one after the other, each of the same width. A row has the nodes that match
//! the branching steps of a path, from the leaf upwards. Rows are therefore mostly recorded in ascending
//! order.

use std::ops::ControlFlow;

/// Sorts rows, and removes duplicates.
pub(super) fn sort(rows: &mut Vec<u32>, width: usize) {
    if rows.chunks_exact(width).is_sorted_by(|a, b| a < b) {
        return;
    }
    if width == 1 {
        rows.sort_unstable();
        rows.dedup();
        return;
    }
    let mut sorted: Vec<&[u32]> = rows.chunks_exact(width).collect();
    sorted.sort_unstable();
    sorted.dedup();
    *rows = sorted.concat();
}

/// Calls `each` with the rows that all lists have, in ascending order, until `each` breaks. The lists are
/// sorted.
pub(super) fn common<'a>(
    lists: &mut [&'a [u32]],
    width: usize,
    mut each: impl FnMut(&'a [u32]) -> ControlFlow<()>,
) -> ControlFlow<()> {
    let Some(mut wanted) = lists.first().and_then(|list| list.get(..width)) else {
        return ControlFlow::Continue(());
    };
    // `agreed` is the number of successive lists, up to this one, that have the row `wanted`.
    let (mut at, mut agreed) = (0, 0);
    loop {
        let list = &mut lists[at];
        let skipped = list.chunks_exact(width).take_while(|row| *row < wanted).count();
        *list = &list[skipped * width..];
        let Some(row) = list.get(..width) else { return ControlFlow::Continue(()) };
        agreed = if row == wanted { agreed + 1 } else { 1 };
        wanted = row;
        if agreed == lists.len() {
            each(wanted)?;
            let list = &mut lists[at];
            *list = &list[width..];
            let Some(row) = list.get(..width) else { return ControlFlow::Continue(()) };
            (wanted, agreed) = (row, 1);
        }
        at = (at + 1) % lists.len();
    }
}
