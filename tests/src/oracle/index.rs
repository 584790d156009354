//! The structural index, by splitting a text into lines and walking each with a stack.

use warpath_answer::answer::LineFault;
use warpath_answer::backend::StructuralIndex;
use warpath_cpu::strict;
use warpath_shared::check::{Fault, FaultKind};
use warpath_shared::units::MAX_DEPTH;

/// Returns the index of a text. For a faulty line it reports only the first fault. The bits of such a line
/// are those of a reader that continues after the fault.
pub fn index(text: &[u8], levels: u32) -> StructuralIndex {
    let words = text.len().div_ceil(64);
    let mut out = StructuralIndex {
        line_starts: vec![0],
        string: vec![0; words],
        levels: vec![vec![0; words]; levels as usize],
        faults: Vec::new(),
    };
    let mut start = 0;
    while start < text.len() {
        let end = text[start..].iter().position(|b| *b == b'\n').map_or(text.len(), |at| start + at + 1);
        let line = out.line_starts.len() as u32 - 1;
        if let Some(fault) = walk(&text[start..end], start, &mut out) {
            out.faults.push(LineFault { line, fault });
        }
        out.line_starts.push(end as u32);
        start = end;
    }
    out
}

fn walk(line: &[u8], start: usize, out: &mut StructuralIndex) -> Option<Fault> {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let mut fault = None;
    let mut note = |kind, at| {
        fault.get_or_insert(Fault { kind, at });
    };
    // The offset and bracket of each open container. With none open, `debt` counts the surplus closing
    // brackets.
    let mut open: Vec<(usize, u8)> = Vec::new();
    let mut debt = 0usize;
    let mut string_at = None;
    let mut roots = 0;
    let mut backslashes = 0;
    // The last structural byte, and the offset after it.
    let (mut structural, mut token) = (b' ', 0);
    for (i, byte) in line.iter().enumerate() {
        let escaped = backslashes % 2 == 1;
        backslashes = if *byte == b'\\' { backslashes + 1 } else { 0 };
        let (word, bit) = ((start + i) / 64, 1u64 << ((start + i) % 64));
        let is_behind = string_at.is_none() && open.is_empty() && roots > 0;
        if is_behind && !b"{}[]:, \t\r".contains(byte) {
            note(FaultKind::BehindRecord, i);
        }
        if string_at.is_none() && *byte < 0x20 && !b"\t\r".contains(byte) {
            note(FaultKind::NoValue, i);
        }
        if *byte == b'"' && !escaped {
            string_at = if string_at.is_none() { Some(i) } else { None };
        }
        if string_at.is_some() {
            out.string[word] |= bit;
            continue;
        }
        let mut mark = |level: usize| {
            if let Some(bits) = out.levels.get_mut(level) {
                bits[word] |= bit;
            }
        };
        match byte {
            b'{' | b'[' if debt > 0 => debt -= 1,
            b'{' | b'[' => {
                mark(open.len());
                if open.is_empty() && roots > 0 {
                    note(FaultKind::SecondRoot, i);
                }
                if open.len() == MAX_DEPTH {
                    note(FaultKind::TooDeep, i);
                }
                open.push((i, *byte));
            }
            b'}' | b']' => match open.pop() {
                Some((_, bracket)) => {
                    mark(open.len());
                    if (bracket == b'{') != (*byte == b'}') {
                        note(FaultKind::MismatchedBracket, i);
                    }
                    roots += open.is_empty() as usize;
                }
                None => {
                    debt += 1;
                    note(FaultKind::UnopenedContainer, i);
                }
            },
            b':' | b',' if open.is_empty() => note(FaultKind::StraySeparator, i),
            b':' | b',' => {
                mark(open.len() - 1);
                let before: Vec<(usize, u8)> = (token..i)
                    .map(|at| (at, line[at]))
                    .filter(|(_, byte)| !b" \t\r".contains(byte))
                    .collect();
                if *byte == b':' && before.last().is_none_or(|(_, last)| *last != b'"') {
                    let is_name =
                        b"{,".contains(&structural) && open.last().is_some_and(|open| open.1 == b'{');
                    match before.first() {
                        Some((at, b'"')) if is_name => {
                            let mut escaped = false;
                            let closes = |end: &usize| {
                                let is_quote = line[*end] == b'"' && !escaped;
                                escaped = line[*end] == b'\\' && !escaped;
                                is_quote
                            };
                            let end = (at + 1..i).find(closes).unwrap_or(i);
                            let next = before.iter().find(|(at, _)| *at > end).map_or(i, |(at, _)| *at);
                            note(FaultKind::NoColon, next);
                        }
                        Some((at, _)) if is_name => note(FaultKind::NoName, *at),
                        None if is_name => note(FaultKind::NoName, i),
                        None if !b"]}".contains(&structural) => note(FaultKind::NoValue, i),
                        _ => note(FaultKind::NoSeparator, i),
                    }
                }
            }
            _ => {}
        }
        if b"{}[]:,".contains(byte) {
            (structural, token) = (*byte, i + 1);
        }
    }
    if backslashes % 2 == 1 {
        note(FaultKind::EscapeAtEnd, line.len() - 1);
    }
    if let Some(at) = string_at {
        note(FaultKind::UnclosedString, at);
    }
    if let Some((at, _)) = open.last() {
        note(FaultKind::UnclosedContainer, *at);
    }
    match line.iter().find(|byte| !b" \t\r".contains(byte)) {
        None | Some(b'{' | b'[') => fault,
        Some(_) => scalar(line),
    }
}

/// The first fault of a record that is no container. Outside strings it is the one of strict mode, which is
/// found by another reader.
fn scalar(line: &[u8]) -> Option<Fault> {
    // In strict mode other bytes than ASCII may be faults of their own, and so are some contents of strings.
    let mut plain: Vec<u8> = line.iter().map(|byte| if byte.is_ascii() { *byte } else { b'?' }).collect();
    let open = plain.iter().position(|byte| !b" \t\r".contains(byte))?;
    let (mut at, mut escaped) = (open + 1, false);
    if plain[open] == b'"' {
        while at < plain.len() && (escaped || plain[at] != b'"') {
            escaped = plain[at] == b'\\' && !escaped;
            at += 1;
        }
        if at == plain.len() {
            let unclosed = Fault { kind: FaultKind::UnclosedString, at: open };
            return Some(if escaped { Fault { kind: FaultKind::EscapeAtEnd, at: at - 1 } } else { unclosed });
        }
        plain[open + 1..at].fill(b'a');
    }
    strict::fault(&plain)
}
