//! The look of results: indentation, colours, tables, and what separates them.

use crate::Folder;

const RECORDS: &[u8] = b"{\"id\":1,\"lang\":\"nl\",\"tags\":[\"x\",{\"y\" : 2}]}\n\
    {\"id\":20,\"lang\":\"a\\tb\\\\\\n\\r\",\"tags\":[]}\n\
    {\"lang\":null}\n";

#[cfg(unix)]
#[test]
fn a_terminal_shows_colours_and_tables_that_fit() {
    let folder = Folder::new(&[("a", RECORDS)]);
    let query = folder.on_terminal(80, &["query", "$.tags", "a"]);
    assert_eq!(query.screen, "[\"x\",{\"y\" : 2}]\n[]");
    assert!(query.bytes.windows(5).any(|bytes| bytes == b"\x1b[32m"));
    let without = folder.on_terminal(80, &["query", "--color=never", "$.tags", "a"]);
    assert!(!without.bytes.contains(&b'\x1b'));
    // A file is no terminal.
    folder.on_terminal(80, &["query", "$.tags", "a", "-o", "out"]);
    assert_eq!(folder.read("out"), b"[\"x\",{\"y\" : 2}]\n[]\n");
    let table = ["select", "--format=table", "id=$.id", "lang=$.lang", "tags=$.tags", "--", "a"];
    assert_eq!(
        folder.on_terminal(80, &table).screen.lines().nth(1),
        Some(" 1  nl         [\"x\",{\"y\" : 2}]")
    );
    assert_eq!(
        folder.on_terminal(24, &table).screen,
        "id  lang       tags\n 1  nl         [\"x\",{\"…\n20  a\\tb\\\\n\\r  []"
    );
}
