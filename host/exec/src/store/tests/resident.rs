//! Parts with a resident form: who has one, what is read of it, and what is said of others.

use std::os::unix::fs::FileExt;

use warpath_part::file::{Options, RESIDENT, RESIDENT_LINES, Reader, Writer};
use warpath_part::text::Shredder;
use warpath_resident::stored::bytes_of;

use super::*;
use crate::input::FollowEnd;
use crate::store::resident::form_of;

const LINES: &str = "{\"id\":1,\"s\":\"x\"}\n{\"id\":2,\"s\":\"y\"}\n{\"id\":3}\n";

fn source(text: &str) -> Source {
    Source::Bytes("lines".into(), text.to_owned().into_bytes().into())
}

fn add_resident(path: &Path, text: &str) {
    let options = AddOptions::default().resident(true);
    Store::add(path, vec![source(text)], options, &mut |_| {}).unwrap();
}

/// For each part, the number of its groups with a form.
fn forms(path: &Path) -> Vec<usize> {
    let parts = Store::open(path).unwrap().parts().unwrap();
    assert!(parts.iter().all(|part| (part.resident_bytes > 0) == (part.resident_groups > 0)));
    parts.iter().map(|part| part.resident_groups).collect()
}

#[test]
fn parts_that_are_written_again_keep_their_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let small = "{\"id\":4}\n";
    add(&path, LINES);
    add_resident(&path, LINES);
    assert_eq!(forms(&path), [0, 1]);
    let engine = Engine::builder().build().unwrap();
    Store::drop_matching(&path, &engine, &condition()).unwrap();
    assert_eq!(forms(&path), [0, 1]);
    // As much text with a form as without.
    Store::compact(&path).unwrap();
    assert_eq!(forms(&path), [0]);
    add_resident(&path, &LINES.repeat(3));
    add(&path, small);
    Store::compact(&path).unwrap();
    assert_eq!(forms(&path), [1]);
    add(&path, small);
    add(&path, &LINES.repeat(9));
    Store::compact(&path).unwrap();
    assert_eq!(forms(&path), [0]);
    add(&path, small);
    let options = CompactOptions::default().resident(true);
    assert_eq!(Store::compact_with(&path, options).unwrap().parts_after, 1);
    assert_eq!(forms(&path), [1]);
    // Parts that are not merged: one alone, and none that has the form.
    let alone = folder.path().join("alone.wp");
    add(&alone, &format!("\u{feff}{small}"));
    let before = text(&alone);
    assert_eq!(Store::compact_with(&alone, options).unwrap().parts_after, 1);
    assert_eq!((forms(&alone), text(&alone)), (vec![1], before));
    Store::open(&alone).unwrap().verify().unwrap();
    assert_eq!(Store::compact_with(&alone, options).unwrap().parts_after, 0);
    let store = Store::open(&path).unwrap();
    store.verify().unwrap();
    let text = text(&path);
    assert_eq!(text.lines().count() as u64, store.lines().unwrap());
}

#[test]
fn groups_and_followed_lines_have_a_form() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store");
    let options = AddOptions::default().resident(true).group_bytes(20);
    Store::add(&path, vec![source(LINES)], options, &mut |_| {}).unwrap();
    let end = FollowEnd::default();
    end.end();
    let lines = Source::Reader("lines".into(), Box::new(std::io::Cursor::new("{\"id\":4}\n")));
    Store::follow(&path, vec![lines], options, &end, &mut |_| {}).unwrap();
    assert_eq!(forms(&path), [2, 1]);
    add_resident(&path, "");
    assert_eq!(forms(&path), [2, 1]);
    Store::open(&path).unwrap().verify().unwrap();
}

/// Writes a part with one group, and these sections beside it.
fn part_with(path: &Path, sections: &[(&str, &[u8])]) {
    let mut shredder = Shredder::new();
    let group = shredder.shred(LINES.as_bytes()).unwrap();
    let mut writer = Writer::new(File::create(path).unwrap(), Options::default()).unwrap();
    writer.write(shredder.tree(), &group).unwrap();
    sections.iter().for_each(|(name, bytes)| writer.add_section_as_is(name, bytes).unwrap());
    writer.finish(shredder.tree(), &[]).unwrap();
}

/// The sections of the form of a text.
fn sections_of(text: &str) -> (Vec<u8>, Vec<u8>) {
    let mut shredder = Shredder::new();
    let group = shredder.shred(text.as_bytes()).unwrap();
    let form = form_of(shredder.tree(), &group, text.as_bytes()).unwrap();
    (bytes_of(&form), form.lines().codes().to_vec())
}

fn why<T>(result: Result<T, Error>) -> String {
    result.err().expect("a refusal").to_string()
}

/// The values of a member of a loaded part.
fn loaded(path: &Path) -> Result<Vec<String>, Error> {
    let engine = Engine::builder().build().unwrap();
    let loaded = engine.load(vec![Source::File(path.to_owned())])?;
    found(&engine, loaded.inputs().iter().cloned().map(Source::Loaded).collect(), "$.id")
}

#[test]
fn a_form_that_lies_is_found_by_verify() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let verified = || Store::open(&path).unwrap().verify();
    let with = |bytes: &[u8], codes: &[u8]| part_with(&path, &[(RESIDENT, bytes), (RESIDENT_LINES, codes)]);
    let (bytes, codes) = sections_of(LINES);
    with(&bytes, &codes);
    verified().unwrap();
    assert_eq!(loaded(&path).unwrap(), ["1", "2", "3"]);
    for lie in [LINES.replace('3', "4"), LINES.replace("\"x\"", "\"z\""), LINES.replace("\"id\"", "\"di\"")] {
        let (bytes, codes) = sections_of(&lie);
        with(&bytes, &codes);
        let refused = why(verified());
        assert!(refused.contains("section `resident` of group 0: it says something else"), "{refused}");
        assert!(refused.contains("part.parquet"), "{refused}");
        // What the form says is believed, as its checksum is right.
        loaded(&path).unwrap();
    }
    // A form of other lines, one without its lines, and one that no group has.
    let (longer, more) = sections_of(&(LINES.to_owned() + "{}\n"));
    for (sections, rule) in [
        (&[(RESIDENT, &longer[..]), (RESIDENT_LINES, &more)][..], "another number of rows than its group"),
        (&[(RESIDENT, &bytes[..])], "there is no section `resident-lines`"),
        (&[(RESIDENT, &bytes[..bytes.len() - 1]), (RESIDENT_LINES, &codes)], "the bytes end within a field"),
    ] {
        part_with(&path, sections);
        for refused in [why(verified()), why(loaded(&path))] {
            assert!(refused.contains(rule) && refused.contains("part.parquet"), "{refused}");
        }
    }
}

#[test]
fn a_form_of_another_version_is_ignored() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let (mut bytes, codes) = sections_of(&LINES.replace('3', "4"));
    bytes[0] += 1;
    part_with(&path, &[(RESIDENT, &bytes), (RESIDENT_LINES, &codes)]);
    let store = Store::open(&path).unwrap();
    store.verify().unwrap();
    let part = &store.parts().unwrap()[0];
    assert_eq!((part.resident_groups, part.resident_bytes), (0, (bytes.len() + codes.len()) as u64));
    assert_eq!(loaded(&path).unwrap(), ["1", "2", "3"]);
}

/// Every byte of the sections altered. Columns are not read at all, so their bytes change nothing.
#[test]
fn altered_forms_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("part.parquet");
    let (bytes, codes) = sections_of(LINES);
    part_with(&path, &[(RESIDENT, &bytes), (RESIDENT_LINES, &codes)]);
    let reader = Reader::open(File::open(&path).unwrap()).unwrap();
    let [of_bytes, of_codes] = [RESIDENT, RESIDENT_LINES].map(|name| reader.section_range(0, name).unwrap());
    let columns = 4..of_bytes.start;
    let file = File::options().read(true).write(true).open(&path).unwrap();
    for (range, name) in [(of_bytes, Some(RESIDENT)), (of_codes, Some(RESIDENT_LINES)), (columns, None)] {
        for at in range {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[!byte[0]], at).unwrap();
            match (loaded(&path), name) {
                (Err(error), Some(name)) => {
                    let error = error.to_string();
                    let named = format!("section `{name}` of group 0");
                    assert!(error.contains(&named) && error.contains("part.parquet"), "{error}");
                }
                (found, None) => assert_eq!(found.unwrap(), ["1", "2", "3"]),
                (Ok(_), Some(name)) => panic!("byte {at} of {name}"),
            }
            assert!(Store::open(&path).unwrap().verify().is_err(), "byte {at}");
            file.write_all_at(&byte, at).unwrap();
        }
    }
    Store::open(&path).unwrap().verify().unwrap();
}
