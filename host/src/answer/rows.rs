//! Records as rows: a JSON object each, with a member for each path.

use super::Piece;
use crate::program::Program;

/// The rows of a piece's records, each followed by a newline, from its records and matches; and how many bytes of them are of
/// records before the first fault. `text` is the piece's.
pub(super) fn of_records(text: &[u8], piece: &Piece, program: &Program) -> (Vec<u8>, usize) {
    let columns = program.columns();
    let fault = piece.faults.first().map_or(piece.lines, |fault| fault.line);
    let (mut rows, mut before) = (Vec::new(), None);
    // For each path, its first match that has not been written.
    let mut next = vec![0; columns.len()];
    for line in &piece.records {
        if *line >= fault && before.is_none() {
            before = Some(rows.len());
        }
        for (i, column) in columns.iter().enumerate() {
            rows.push(if i == 0 { b'{' } else { b',' });
            rows.extend_from_slice(column.key.as_bytes());
            let rest = piece.matches.get(i).and_then(|list| list.get(next[i]..)).unwrap_or_default();
            let count = rest.iter().take_while(|found| found.line == *line).count();
            next[i] += count;
            let values = rest[..count].iter().map(|found| &text[found.start as usize..found.end as usize]);
            if column.singular {
                rows.extend_from_slice(values.take(1).next().unwrap_or(b"null"));
                continue;
            }
            rows.push(b'[');
            for (i, value) in values.enumerate() {
                if i > 0 {
                    rows.push(b',');
                }
                rows.extend_from_slice(value);
            }
            rows.push(b']');
        }
        rows.extend_from_slice(b"}\n");
    }
    let before = before.unwrap_or(rows.len());
    (rows, before)
}
