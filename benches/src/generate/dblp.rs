//! XML documents like pieces of DBLP, a bibliography that published measurements of XML filters use.
//!
//! They follow a document type like DBLP's, defined by the tables of `dblp.tmpl`. Records of each kind have
//! fields of their own, 22 in all, and mark-up in titles holds more mark-up:
//!
//! ```text
//! <!ELEMENT dblp (article|inproceedings|proceedings|book|incollection|phdthesis|mastersthesis|www)*>
//! <!ELEMENT mastersthesis (author*,title,year,school,ee?,note?)>             and so the other records, with more fields
//! <!ATTLIST mastersthesis key CDATA #REQUIRED mdate CDATA #IMPLIED>
//! <!ENTITY % text "#PCDATA|sub|sup|i|tt|ref">
//! <!ELEMENT title (%text;)*>                                                 and so booktitle, sub, sup, i and tt
//! <!ELEMENT ref (#PCDATA)>                                                   and so the other fields
//! <!ATTLIST ref href CDATA #REQUIRED>
//! ```
//!
//! The fields of a record, their frequency and their order are like DBLP's: authors, a title, pages and a
//! year in most, notes and CD-ROMs in few. Mark-up is more frequent than there, in one title of eight, and
//! nests up to [`DEEPEST_MARKUP`] levels. Characters beyond ASCII are written as character references, where
//! DBLP uses entities. The documents have no document type, and no other entities than XML's own.
//!
//! The text is as long as in a bibliography: an element begins or ends every 20 bytes. The synthetic
//! documents of Absalyamov et al. (EDBT 2013) have an event for every 6.5. Attributes, two in most records,
//! are not counted in either.

use super::template::{DBLP, Run, Value};

/// Mark-up within mark-up, at most: an element is at most this deep below a title.
pub const DEEPEST_MARKUP: usize = 6;

/// The key that separates the random streams of documents from those of shapes and columns. Part of the
/// data's definition.
const KEY: u64 = 0x201;

/// The root element.
pub const ROOT: &str = "dblp";

/// The elements that the document type allows right below another; none below what is not known.
#[must_use]
pub fn children(element: &str) -> Vec<&'static str> {
    let first = |rows: &'static [Value]| rows.iter().map(|row| row.table()[0].text());
    let kinds = DBLP.table("kinds");
    let mut names: Vec<&str> = match element {
        ROOT => first(kinds).collect(),
        "title" | "booktitle" | "sub" | "sup" | "i" | "tt" => first(DBLP.table("marks")).collect(),
        _ => match kinds.iter().map(|kind| kind.table()).find(|kind| kind[0].text() == element) {
            Some(kind) => first(kind[4].table()).collect(),
            None => Vec::new(),
        },
    };
    names.dedup();
    names
}

/// The document with a number, for a seed: whole records, the fewest that bring it to `bytes` bytes.
///
/// It does not depend on the other documents. A longer one begins with the same records.
#[must_use]
pub fn document(seed: u64, number: u64, bytes: usize) -> String {
    const BEGIN: &[u8] = b"<?xml version=\"1.0\" encoding=\"US-ASCII\"?>\n<dblp>\n";
    const END: &[u8] = b"</dblp>\n";
    let mut run = Run::new(&DBLP, KEY, seed, number, [0; 3]);
    // Almost no record is longer than that.
    let mut out = Vec::with_capacity(bytes + (4 << 10));
    out.extend_from_slice(BEGIN);
    while out.len() + END.len() < bytes {
        run.record(&mut out);
    }
    out.extend_from_slice(END);
    String::from_utf8(out).expect("all pieces are text")
}
