//! Lines that the kernels call loose, compared with the rule of `warpath_shared::index::loose`, byte by byte.

use warpath_core::plain::Plain;
use warpath_device::Accelerator;
use warpath_shared::index::line::LineSummary;
use warpath_shared::kernel::{
    ANY_LOOSE, FaultyLines, LineIndex, LineIndexArgs, LineStates, LineStatesArgs, LookBack, STATUS_WORDS,
    StructureWrite, StructureWriteArgs, TileKinds, TileLines, line_words, scan_tiles, tile_fault_words,
};
use warpath_shared::units::{TILE_BYTES, WORD_BYTES, padded_for, tiles_for};
use warpath_shared::view::ViewMut;
use warpath_tests::emulated::{Emulated, HostBuffer};
use warpath_tests::random::Rng;

/// Room for lines in a tile.
const ROOM: usize = TILE_BYTES / 8;

fn filled<T: Plain>(device: &Emulated, len: usize) -> HostBuffer<T> {
    let mut buffer = device.alloc::<T>(len).unwrap();
    device.zero(&mut buffer, 0, len).unwrap();
    buffer
}

fn all<'a, T: Plain>(device: &Emulated, buffer: &'a mut HostBuffer<T>, len: usize) -> ViewMut<'a, T> {
    device.view_mut(buffer, len)
}

/// The kernels' verdict on each line of a text, all of which end in a newline.
fn by_kernels(text: &[u8], lines: usize) -> Vec<bool> {
    let device = &Emulated::default();
    let (padded, tiles) = (padded_for(text.len()), tiles_for(text.len() + 1));
    let words = padded / WORD_BYTES;
    let marks = tiles * tile_fault_words(ROOM as u32);
    let mut bytes = filled::<u8>(device, padded);
    device.upload(&mut bytes, 0, text).unwrap();
    let (mut states, mut kinds) = (filled::<LineSummary>(device, tiles), filled::<TileKinds>(device, tiles));
    let (mut string, mut levels) = (filled::<u64>(device, words), filled::<u64>(device, 0));
    let mut escapes = filled::<u32>(device, words / 32);
    let (mut counts, mut ends) = (filled::<u32>(device, tiles), filled::<u32>(device, tiles * ROOM));
    let (mut faults, mut tile_loose) = (filled::<u32>(device, marks), filled::<u32>(device, marks));
    let (mut first_lines, mut starts) = (filled::<u32>(device, tiles), filled::<u32>(device, lines + 1));
    let (mut faulty, mut loose) =
        (filled::<u32>(device, line_words(lines)), filled::<u32>(device, line_words(lines)));
    let mut status = filled::<u32>(device, STATUS_WORDS);
    let scans = scan_tiles(tiles);
    let (mut scan_status, mut aggregate, mut inclusive) =
        (filled::<u32>(device, scans + 1), filled::<u64>(device, scans), filled::<u64>(device, scans));
    // SAFETY: the views are of buffers of this emulated device, which live as long as the launches.
    unsafe {
        let args = LineStatesArgs {
            text: device.view(&bytes, padded),
            states: all(device, &mut states, tiles),
            status: all(device, &mut status, STATUS_WORDS),
        };
        device.launch::<LineStates>(&args).unwrap();
        let args = StructureWriteArgs {
            text: device.view(&bytes, padded),
            states: device.view(&states, tiles),
            string: all(device, &mut string, words),
            levels: all(device, &mut levels, 0),
            escapes: all(device, &mut escapes, words / 32),
            lines: TileLines {
                counts: all(device, &mut counts, tiles),
                ends: all(device, &mut ends, tiles * ROOM),
                faulty: all(device, &mut faults, marks),
                loose: all(device, &mut tile_loose, marks),
                room: ROOM as u32,
                reserved: 0,
            },
            kinds: all(device, &mut kinds, tiles),
            len: text.len() as u32,
            level_count: 0,
        };
        device.launch::<StructureWrite>(&args).unwrap();
        let args = LineIndexArgs {
            counts: device.view(&counts, tiles),
            ends: device.view(&ends, tiles * ROOM),
            faults: device.view(&faults, marks),
            tile_loose: device.view(&tile_loose, marks),
            first_lines: all(device, &mut first_lines, tiles),
            line_starts: all(device, &mut starts, lines + 1),
            look_back: LookBack {
                status: all(device, &mut scan_status, scans + 1),
                aggregate: all(device, &mut aggregate, scans),
                inclusive: all(device, &mut inclusive, scans),
            },
            faulty: FaultyLines {
                bits: all(device, &mut faulty, line_words(lines)),
                status: all(device, &mut status, STATUS_WORDS),
            },
            loose: all(device, &mut loose, line_words(lines)),
            room: ROOM as u32,
            reserved: 0,
        };
        device.launch::<LineIndex>(&args).unwrap();
    }
    let (mut bits, mut words) = (vec![0; line_words(lines)], [0; STATUS_WORDS]);
    device.download(&loose, 0, &mut bits).unwrap();
    device.download(&status, 0, &mut words).unwrap();
    let found: Vec<bool> = (0..lines).map(|line| bits[line / 32] >> (line % 32) & 1 == 1).collect();
    assert_eq!(words[ANY_LOOSE] != 0, found.contains(&true));
    found
}

/// The rule, for a line without its newline. All strings of the line are closed, and it does not begin with
/// one.
fn by_rule(line: &[u8]) -> bool {
    let mut at = 0;
    while at < line.len() {
        if line[at] != b'"' {
            at += 1;
            continue;
        }
        let precedes = |back: usize| at >= back && b",:{[".contains(&line[at - back]);
        if !precedes(1) && !precedes(2) {
            return true;
        }
        let (mut end, mut escaped) = (at + 1, false);
        while line[end] != b'"' {
            escaped |= line[end] == b'\\';
            end += 1 + (line[end] == b'\\') as usize;
        }
        match line.get(end + 1) {
            Some(b':') if escaped => return true,
            Some(b',' | b':' | b'}' | b']') | None => at = end + 1,
            Some(_) => return true,
        }
    }
    false
}

fn check(text: &[u8]) {
    let lines: Vec<&[u8]> = text.strip_suffix(b"\n").unwrap().split(|byte| *byte == b'\n').collect();
    let found = by_kernels(text, lines.len());
    for (i, line) in lines.iter().enumerate() {
        assert_eq!(found[i], by_rule(line), "line {i}: {}", line.escape_ascii());
    }
}

#[test]
fn crafted_lines_at_every_place_of_a_stretch() {
    let lines: [(&[u8], bool); 18] = [
        (br#"{"a":1,"b":[2,"x"]}"#, false),
        (br#"{"a": 1, "b": [2, "x"], "c": {"d": "e"}}"#, false),
        (br#"{"a" :1}"#, true),
        (br#"{"a":1,  "b":2}"#, true),
        (br#"{ "a":1}"#, false),
        (br#"{  "a":1}"#, true),
        (br#"{"a":"x" }"#, true),
        (br#"{"\u0061":1}"#, true),
        (br#"{"a\"":1}"#, true),
        (br#"{"a":"\u0061"}"#, false),
        (br#"{"a":"\"","b":"\\"}"#, false),
        (br#"{"a":"\\","b\\":1}"#, true),
        (br#"["a","b"]"#, false),
        (br#"["a", "b" , "c"]"#, true),
        (br#"{"a""b":1}"#, true),
        (b"{\"a\":1}\r", false),
        (b"[\"a\"\r]", true),
        (br#"{"":{"":""}}"#, false),
    ];
    for (line, loose) in lines {
        assert_eq!(by_rule(line), loose, "{}", line.escape_ascii());
    }
    for shift in 0..72 {
        // Blank lines before, so that words, stretches and tiles end at every byte of some line.
        let mut text = vec![b' '; shift];
        text.push(b'\n');
        while text.len() < 2 * TILE_BYTES + 300 {
            for (line, _) in lines {
                text.extend_from_slice(line);
                text.push(b'\n');
            }
        }
        check(&text);
    }
}

#[test]
fn random_lines_over_tiles() {
    let rng = &mut Rng::new(11);
    for _ in 0..6 {
        let mut text = Vec::new();
        while text.len() < 3 * TILE_BYTES {
            // Members of an object, most of them plain, with values that are long enough to reach over words.
            text.push(b'{');
            for member in 0..rng.below(8) {
                let mut odd =
                    |of: usize, what: &'static [u8]| if rng.below(of) == 0 { what } else { &b""[..] };
                let parts: [&[u8]; 12] = [
                    if member > 0 { b"," } else { b"" },
                    odd(3, b" "),
                    odd(60, b" "),
                    b"\"name",
                    odd(70, b"\\n"),
                    odd(2, b"_and_more"),
                    b"\"",
                    odd(70, b" "),
                    b":",
                    odd(2, b" "),
                    odd(3, b"\"a string of some length, and \\\"more\\\" of it\""),
                    b"",
                ];
                let value = parts[10].is_empty();
                parts.iter().for_each(|part| text.extend_from_slice(part));
                if value {
                    text.extend_from_slice(b"17");
                }
            }
            text.extend_from_slice(b"}\n");
        }
        check(&text);
    }
}
