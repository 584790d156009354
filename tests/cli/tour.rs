//! The page `docs/tour.md` shows what a terminal of 80 columns shows.
//!
//! Each block of the page that begins with `$ ` is a command and its screen. To add a command, write a block
//! with the command alone, and run this test with `WARPATH_UPDATE_PAGES=1`. It writes the screens into the
//! page.

#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use crate::{Folder, PROGRAM, data};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/tour.md");
const COLUMNS: u16 = 80;

/// The files of the test data that the commands read.
const FILES: [&str; 3] = ["people.ndjson", "tweets.ndjson", "subscriptions.txt"];

/// The beginning of a block, and its end.
const BEGIN: &str = "```console\n$ ";
const END: &str = "\n```\n";

/// Runs the commands of a page, in their order, and returns the page with their screens.
fn page_with_screens(page: &str) -> String {
    let contents: Vec<(&str, Vec<u8>)> =
        FILES.iter().map(|name| (*name, std::fs::read(data(name)).unwrap())).collect();
    let files: Vec<(&str, &[u8])> = contents.iter().map(|(name, bytes)| (*name, &bytes[..])).collect();
    let folder = Folder::new(&files);
    let mut rest = page;
    let mut made = String::new();
    while let Some(at) = rest.find(BEGIN) {
        let (before, block) = rest.split_at(at + BEGIN.len());
        let (block, after) = block.split_once(END).expect("the end of a block");
        let command = block.lines().next().unwrap();
        made += &format!("{before}{command}\n{}", screen(&folder, command));
        made.truncate(made.trim_end_matches('\n').len());
        made += END;
        rest = after;
    }
    made + rest
}

/// The screen after a command, without its colours.
fn screen(folder: &Folder, command: &str) -> String {
    let mut shell = Command::new("sh");
    let programs = Path::new(PROGRAM).parent().unwrap().display();
    let path = std::env::var("PATH").unwrap_or_default();
    shell.args(["-c", command]).env("PATH", format!("{programs}:{path}")).env("WARPATH_DEVICE", "cpu");
    folder.shown(COLUMNS, shell).screen
}

#[test]
fn the_tour_shows_what_a_terminal_shows() {
    let page = std::fs::read_to_string(PAGE).unwrap();
    let made = page_with_screens(&page);
    assert!(page.matches(BEGIN).count() >= 10, "the tour has ten commands");
    if std::env::var_os("WARPATH_UPDATE_PAGES").is_some() {
        std::fs::write(PAGE, &made).unwrap();
        return;
    }
    for (number, (made, page)) in made.lines().zip(page.lines()).enumerate() {
        assert_eq!(page, made, "docs/tour.md:{}: run this test with WARPATH_UPDATE_PAGES=1", number + 1);
    }
    assert_eq!(made, page);
}
