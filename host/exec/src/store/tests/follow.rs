//! Stores to which lines are added as they come. Each step waits for an event of the one before it.

use std::io::{Cursor, Write};
use std::time::Duration;

use super::*;
use crate::input::FollowEnd;

/// No line waits.
fn at_once() -> AddOptions {
    AddOptions::default().max_latency(Duration::ZERO)
}

/// Lines wait for more than a group of 16 bytes.
fn in_groups() -> AddOptions {
    AddOptions::default().max_latency(Duration::MAX).group_bytes(16)
}

fn append(file: &Path, text: &str) {
    let mut file = fs::OpenOptions::new().append(true).create(true).open(file).unwrap();
    file.write_all(text.as_bytes()).unwrap();
}

/// Follows files. Calls `step` with the number of each event, from 0 on, and the event. The inputs end when
/// it returns false.
fn follow(
    store: &Path,
    files: &[&Path],
    options: AddOptions,
    mut step: impl FnMut(usize, &Followed) -> bool,
) -> Result<Added, Error> {
    let (end, mut events) = (FollowEnd::default(), 0);
    let sources = files.iter().map(|file| Source::File((*file).to_owned())).collect();
    let mut report = |event: &Followed| {
        if !step(events, event) {
            end.end();
        }
        events += 1;
    };
    Store::follow(store, sources, options, &end, &mut report)
}

/// Adds the lines that are there now.
fn catch_up(store: &Path, files: &[&Path]) -> Result<u64, Error> {
    let end = FollowEnd::default();
    end.end();
    let sources = files.iter().map(|file| Source::File((*file).to_owned())).collect();
    Ok(Store::follow(store, sources, AddOptions::default(), &end, &mut |_| {})?.lines)
}

fn stored(version: u64, lines: u64) -> Followed {
    Followed::Stored { version, lines }
}

#[test]
fn whole_lines_are_added_as_they_come() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
    append(&file, "{\"a\":1}\n{\"a\":2}\n{\"a\"");
    let more = [":3}\n{\"a\":4}\n", "\n\nno record\r\n", "{\"a\":5}\n{\"a\":"];
    let lines = [2, 4, 7, 8];
    let added = follow(&store, &[&file], at_once(), |number, event| {
        assert_eq!(*event, stored(number as u64 + 1, lines[number]));
        // What is reported is there.
        assert!(text(&store).ends_with('\n'));
        more.get(number).inspect(|more| append(&file, more)).is_some()
    });
    let added = added.unwrap();
    let whole = fs::read_to_string(&file).unwrap();
    let whole = whole.strip_suffix("{\"a\":").unwrap();
    assert_eq!(text(&store), whole);
    assert_eq!((added.parts, added.lines, added.text_bytes), (4, 8, whole.len() as u64));
    assert_eq!(
        added.file_bytes,
        Store::open(&store).unwrap().parts().unwrap().iter().map(|part| part.file_bytes).sum::<u64>()
    );
    // Started again, it goes on where the store ends.
    assert_eq!(catch_up(&store, &[&file]).unwrap(), 0);
    assert_eq!(Store::open(&store).unwrap().version(), Some(4));
    append(&file, "6}\n");
    assert_eq!(catch_up(&store, &[&file]).unwrap(), 1);
    assert_eq!(text(&store), fs::read_to_string(&file).unwrap());
    assert_eq!(add_file(&store, &file).unwrap().known.len(), 1);
    Store::open(&store).unwrap().verify().unwrap();
}

#[test]
fn lines_wait_for_a_row_group_or_the_end() {
    let folder = tempfile::tempdir().unwrap();
    let [store, one, two] = ["store", "one", "two"].map(|name| folder.path().join(name));
    append(&one, "{\"a\":\"sixteen\"}\n");
    append(&two, "");
    let added = follow(&store, &[&one, &two], in_groups(), |number, event| match number {
        0 => {
            assert_eq!(*event, stored(1, 1));
            append(&one, "{\"a\":1}\n");
            append(&two, "{\"b\":1}\n");
            true
        }
        1 => {
            assert_eq!(*event, stored(2, 3));
            append(&two, "{\"b\":2}\n{\"b\"");
            append(&one, "1\n");
            false
        }
        _ => {
            assert_eq!((number, event), (2, &stored(3, 5)));
            false
        }
    });
    assert_eq!((added.unwrap().lines, Store::open(&store).unwrap().inputs().len()), (5, 2));
    let mut lines: Vec<_> = text(&store).lines().map(str::to_owned).collect();
    lines.sort();
    assert_eq!(lines, ["1", "{\"a\":\"sixteen\"}", "{\"a\":1}", "{\"b\":1}", "{\"b\":2}"]);
    assert_eq!(catch_up(&store, &[&two, &one, &two]).unwrap(), 0);
    append(&two, ":3}\n");
    assert_eq!(catch_up(&store, &[&two, &one, &two]).unwrap(), 1);
}

#[test]
fn another_file_takes_the_name() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file, old] = ["store", "file", "old"].map(|name| folder.path().join(name));
    append(&file, "{\"a\":1}\n");
    let mut events = Vec::new();
    let ended = follow(&store, &[&file], at_once(), |number, event| {
        events.push(event.clone());
        match number {
            0 => {
                fs::rename(&file, &old).unwrap();
                append(&old, "{\"a\":2}\n");
            }
            1 => {
                append(&old, "{\"a\":\"open\"}");
                fs::write(&file, "").unwrap();
            }
            // The store knows the new file before it has lines.
            3 => append(&file, "{\"b\":1}\n"),
            _ => {}
        }
        number < 4
    });
    ended.unwrap();
    let replaced = Followed::Replaced(file.display().to_string());
    assert_eq!(events, [stored(1, 1), stored(2, 2), replaced, stored(3, 3), stored(4, 4)]);
    append(&file, "{\"b\":2}\n");
    assert_eq!(catch_up(&store, &[&file]).unwrap(), 1);
    assert_eq!(text(&store), "{\"a\":1}\n{\"a\":2}\n{\"a\":\"open\"}\n{\"b\":1}\n{\"b\":2}\n");
}

/// Sets the time of the last change of a file to some seconds ago.
fn set_age(file: &Path, seconds: u64) {
    let time = SystemTime::now() - Duration::from_secs(seconds);
    File::options().append(true).open(file).unwrap().set_modified(time).unwrap();
}

#[test]
fn a_file_may_be_renamed_while_nobody_follows_it() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file, old, other] = ["store", "log", "log.1", "log.2"].map(|name| folder.path().join(name));
    append(&other, "{\"a\":0}\n");
    set_age(&other, 60);
    append(&file, "{\"a\":1}\n{\"a\"");
    add_file(&store, &file).unwrap();
    append(&file, ":2}\n{\"a\":3}\n{\"a\":\"open\"}");
    fs::rename(&file, &old).unwrap();
    fs::write(&file, "{\"b\":1}\n").unwrap();
    let mut events = Vec::new();
    let end = FollowEnd::default();
    end.end();
    let mut report = |event: &Followed| events.push(event.clone());
    let sources = vec![Source::File(file.clone())];
    Store::follow(&store, sources, AddOptions::default(), &end, &mut report).unwrap();
    assert!(events.contains(&Followed::Replaced(file.display().to_string())), "{events:?}");
    let lines = "{\"a\":1}\n{\"a\":2}\n{\"a\":3}\n{\"a\":\"open\"}\n{\"b\":1}\n";
    assert_eq!(text(&store), lines);
    assert_eq!(catch_up(&store, &[&file]).unwrap(), 0);
    // It has another name, and so has the one after it: nobody knows which lines are missing.
    fs::rename(&old, &other).unwrap();
    set_age(&other, 60);
    fs::rename(&file, &old).unwrap();
    append(&old, "{\"b\":2}\n");
    set_age(&old, 30);
    let newest = folder.path().join("log.new");
    append(&newest, "{\"c\":1}\n");
    append(&file, "{\"d\":1}\n");
    assert!(refusal(catch_up(&store, &[&file])).contains("has changed since"));
    fs::remove_file(newest).unwrap();
    assert_eq!(catch_up(&store, &[&file]).unwrap(), 2);
    assert_eq!(text(&store), format!("{lines}{{\"b\":2}}\n{{\"d\":1}}\n"));
}

#[test]
fn a_file_becomes_shorter() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
    append(&file, "{\"a\":1}\n{\"a\":2}\n");
    let mut events = Vec::new();
    let ended = follow(&store, &[&file], at_once(), |number, event| {
        events.push(event.clone());
        match number {
            0 => File::create(&file).map(drop).unwrap(),
            2 => append(&file, "\u{feff}{\"b\":1}\n"),
            _ => {}
        }
        number < 3
    });
    ended.unwrap();
    let shortened = Followed::Shortened(file.display().to_string());
    assert_eq!(events, [stored(1, 2), shortened, stored(2, 2), stored(3, 3)]);
    append(&file, "{\"b\":2}\n");
    assert_eq!(catch_up(&store, &[&file]).unwrap(), 1);
    assert_eq!(catch_up(&store, &[&file]).unwrap(), 0);
    let engine = Engine::builder().build().unwrap();
    let sources = || Store::open(&store).unwrap().sources();
    assert_eq!(found(&engine, sources(), "$.*").unwrap(), ["1", "2", "1", "2"]);
}

#[test]
fn a_file_that_the_store_has_goes_on_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    for (number, (before, line, after)) in [
        ("{\"a\":1}\n", "", "{\"a\":2}\n"),
        ("{\"a\":1}", "\n", "{\"a\":2}\n"),
        ("{\"a\":1}\n{\"a\"", ":2}\n", "{\"a\":3}\n"),
        ("{\"a\"", ":1}\n", "{\"a\":2}\n"),
        ("", "{\"a\":1}\n", "{\"a\":2}\n"),
        ("\u{feff}{\"a\"", ":1}\n", "{\"a\":2}\n"),
    ]
    .into_iter()
    .enumerate()
    {
        // The end of the open line comes before, while, and after the file is followed.
        for round in 0..3 {
            let [store, file] =
                ["store", "file"].map(|name| folder.path().join(format!("{name}-{number}-{round}")));
            fs::write(&file, before).unwrap();
            add_file(&store, &file).unwrap();
            if round == 0 {
                assert_eq!(catch_up(&store, &[&file]).unwrap(), 0);
                assert_eq!(text(&store), before);
            }
            append(&file, line);
            if round == 1 {
                catch_up(&store, &[&file]).unwrap();
            }
            append(&file, after);
            catch_up(&store, &[&file]).unwrap();
            assert_eq!(text(&store), fs::read_to_string(&file).unwrap(), "{before:?} {round}");
            assert_eq!(catch_up(&store, &[&file]).unwrap(), 0);
        }
    }
}

#[test]
fn other_contents_are_an_error_and_leave_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let [store, one, two] = ["store", "one", "two"].map(|name| folder.path().join(name));
    append(&one, "{\"a\":1}\n");
    append(&two, "{\"a\":2}\n");
    let gzip = folder.path().join("three.gz");
    fs::write(&gzip, b"\x1f\x8b\x08\0\0\0\0\0\0\xff").unwrap();
    let missing = folder.path().join("missing");
    for bad in [&gzip, &missing, &folder.path().to_owned()] {
        assert!(catch_up(&store, &[&one, bad]).is_err(), "{bad:?}");
        assert!(!store.exists());
    }
    assert_eq!(catch_up(&store, &[&one, &two]).unwrap(), 2);
    fs::write(&one, "{\"a\":3}\n{\"a\":4}\n").unwrap();
    fs::write(&two, "{}\n").unwrap();
    let message = catch_up(&store, &[&one, &two]).unwrap_err().to_string();
    assert!(message.contains(&format!("{}, {}", one.display(), two.display())), "{message}");
    assert!(message.contains("has changed since"), "{message}");
    // A file of the store itself.
    let version = store.join("_delta_log/00000000000000000000.json");
    assert!(refusal(catch_up(&store, &[&version]).map(|_| Added::default())).contains("is in the store"));
    let stored = Source::Part(one.clone(), 0..1);
    let end = FollowEnd::default();
    let refused = Store::follow(&store, vec![stored], at_once(), &end, &mut |_| {});
    assert!(matches!(refused, Err(Error::Usage(_))));
    assert_eq!(text(&store), "{\"a\":1}\n{\"a\":2}\n");
}

#[test]
fn a_file_that_is_overwritten_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
    append(&file, "{\"a\":1}\n");
    let ended = follow(&store, &[&file], at_once(), |_, _| {
        let mut file = fs::OpenOptions::new().write(true).open(&file).unwrap();
        file.write_all(b"{\"b\":1}\n{\"b\":2}\n").unwrap();
        true
    });
    assert!(refusal(ended).contains("overwritten"));
    assert_eq!(text(&store), "{\"a\":1}\n");
}

#[test]
fn streams_are_read_to_their_ends() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
    append(&file, "{\"a\":1}\n{\"a\"");
    let reader = |text: &'static str| Source::Reader("stream".into(), Box::new(Cursor::new(text)));
    for (text_of, lines) in [("", 0), ("{\"b\":1}\n{\"b\":2}\n", 2), ("\u{feff}{\"b\":1}\n{\"b\"", 2)] {
        let before = if store.exists() { text(&store).len() } else { 0 };
        let end = FollowEnd::default();
        let added = Store::follow(&store, vec![reader(text_of)], at_once(), &end, &mut |_| {}).unwrap();
        let new = text_of.trim_start_matches('\u{feff}');
        assert_eq!((added.lines, &text(&store)[before..]), (lines, new), "{text_of:?}");
    }
    // Together with a file, until the file ends.
    let (end, mut events) = (FollowEnd::default(), 0);
    let mut report = |event: &Followed| {
        events += 1;
        if let Followed::Stored { lines: 3, .. } = event {
            end.end();
        }
    };
    let sources = vec![reader("{\"b\":1}\n{\"b\":2}\n"), Source::File(file.clone())];
    let added = Store::follow(&store, sources, at_once(), &end, &mut report).unwrap();
    assert_eq!((added.lines, catch_up(&store, &[&file]).unwrap()), (3, 0));
}

/// A reader that fails after some lines.
struct Broken(Cursor<&'static str>);

impl Read for Broken {
    fn read(&mut self, room: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(room)? {
            0 => Err(std::io::Error::other("gone")),
            count => Ok(count),
        }
    }
}

#[test]
fn lines_before_a_fault_are_added() {
    let folder = tempfile::tempdir().unwrap();
    let store = folder.path().join("store");
    let source = Source::Reader("stream".into(), Box::new(Broken(Cursor::new("{\"a\":1}\n{\"a\"\n{"))));
    let end = FollowEnd::default();
    let ended = Store::follow(&store, vec![source], AddOptions::default(), &end, &mut |_| {});
    let Err(Error::Input(InputError::Io { name, source })) = ended else { panic!("{ended:?}") };
    assert_eq!((name.as_str(), source.to_string().as_str()), ("stream", "gone"));
    assert_eq!(text(&store), "{\"a\":1}\n{\"a\"\n");
}

#[test]
fn other_programs_add_lines_meanwhile() {
    let folder = tempfile::tempdir().unwrap();
    let [store, file] = ["store", "file"].map(|name| folder.path().join(name));
    append(&file, "{\"a\":1}\n");
    let mut events = Vec::new();
    let ended = follow(&store, &[&file], at_once(), |number, event| {
        events.push(event.clone());
        match number {
            // New columns, and other types of the same names.
            0 => {
                add(&store, "{\"b\":\"x\"}\n");
                append(&file, "{\"b\":1}\n");
            }
            // Lines of the same file.
            1 => {
                append(&file, "{\"a\":3}\n");
                assert_eq!(add_file(&store, &file).unwrap().lines, 1);
                append(&file, "{\"a\":4}\n");
            }
            _ => {}
        }
        number < 3
    });
    assert_eq!(ended.unwrap().lines, 3);
    assert_eq!(events, [stored(1, 1), stored(3, 2), Followed::Overtaken, stored(5, 3)]);
    assert_eq!(text(&store), "{\"a\":1}\n{\"b\":\"x\"}\n{\"b\":1}\n{\"a\":3}\n{\"a\":4}\n");
}

#[cfg(unix)]
#[test]
fn a_link_may_have_another_target() {
    let folder = tempfile::tempdir().unwrap();
    let [store, link, one, two] = ["store", "link", "one", "two"].map(|name| folder.path().join(name));
    let turn = |target: &Path| {
        let new = folder.path().join("new");
        std::os::unix::fs::symlink(target, &new).unwrap();
        fs::rename(new, &link).unwrap();
    };
    append(&one, "{\"a\":1}\n");
    append(&two, "{\"b\":1}\n");
    // The store has a line of the new target.
    add_file(&store, &two).unwrap();
    append(&two, "{\"b\":2}\n");
    turn(&one);
    let ended = follow(&store, &[&link], at_once(), |number, event| match number {
        0 => {
            append(&one, "{\"a\":2}\n{\"a\":\"open\"}");
            true
        }
        1 => {
            turn(&two);
            true
        }
        2 => matches!(event, Followed::Replaced(_)),
        3 => true,
        _ => {
            assert_eq!((number, event), (4, &stored(4, 4)));
            false
        }
    });
    ended.unwrap();
    let lines = "{\"b\":1}\n{\"a\":1}\n{\"a\":2}\n{\"a\":\"open\"}\n{\"b\":2}\n";
    assert_eq!(text(&store), lines);
    assert_eq!(catch_up(&store, &[&link, &two]).unwrap(), 0);
    // The store knows both files.
    let added = add_file(&store, &one).unwrap();
    assert_eq!((added.lines, added.known.len()), (0, 1));
}

#[cfg(unix)]
#[test]
fn nobody_reads_more_than_the_files() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let [store, file, private] = ["store", "file", "private"].map(|name| folder.path().join(name));
    append(&file, "{\"a\":1}\n");
    append(&private, "{\"a\":2}\n");
    fs::set_permissions(&private, fs::Permissions::from_mode(0o600)).unwrap();
    let ended = follow(&store, &[&file], at_once(), |number, _| {
        if number == 0 {
            fs::rename(&private, &file).unwrap();
        }
        number < 2
    });
    ended.unwrap();
    let last = paths_of(&store).pop().unwrap();
    let version = store.join("_delta_log/00000000000000000002.json");
    for path in [last, version] {
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o77, 0, "{path:?}");
    }
}
