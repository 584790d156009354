//! The words of an automaton (`shared/src/query/automaton.rs`).

use warpath_shared::query::automaton::ROWS;

use super::determinise::Automaton;
use super::limits::{TABLE_BYTES, TooLarge};
use super::numbers::Numbers;

// A row has at least two words, so the numbers of states are less than 65536.
const _: () = assert!(TABLE_BYTES / size_of::<u16>() / 2 <= 1 << 16);

/// Encodes an automaton in words. Classes of bytes that lead to the same states are merged.
pub(super) fn table(automaton: &Automaton) -> Result<Vec<u16>, TooLarge> {
    let Automaton { class_of, classes, next, accepts } = automaton;
    let mut columns = Numbers::default();
    let column = |class| next.iter().copied().skip(class).step_by(*classes).collect::<Vec<_>>();
    let merged: Vec<u32> = (0..*classes).map(|class| columns.number(&column(class))).collect();

    let classes = columns.things().len();
    let words = ROWS + accepts.len() * (classes + 1);
    if words * size_of::<u16>() > TABLE_BYTES {
        return Err(TooLarge::Table(words * size_of::<u16>()));
    }
    let class = |byte: usize| merged[class_of[byte] as usize] as u16;
    let mut table = Vec::with_capacity(words);
    table.push(classes as u16);
    table.extend((0..128).map(|pair| class(2 * pair) | class(2 * pair + 1) << 8));
    for (state, accepts) in accepts.iter().enumerate() {
        table.extend(columns.things().iter().map(|next| next[state] as u16));
        table.push(u16::from(*accepts));
    }
    Ok(table)
}
