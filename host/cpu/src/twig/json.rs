//! JSON as events. A member's value is a node of the member's name; an element of an array is a node without
//! a name.
//!
//! ```text
//! {"a": [1, {"b": 2}], "c": null}
//! a opens · an item opens, ends with 1 · an item opens · b opens, ends with 2 · the item ends · a ends
//! c opens, ends with null
//! ```
//!
//! The root's value is the document. A repeated name gives one node for each occurrence. Receivers give only
//! the first of them the name ([`members`](super::members)).

use warpath_lang::twig::value::Value;
use warpath_lang::twig::value::decode;
pub use warpath_shared::check::Fault;
use warpath_shared::tree::TreeFault;
use warpath_shared::tree::tape::TapeNode;
use warpath_shared::units::MAX_PARTITION_BYTES;

use super::{Events, Name};
use crate::placed::checked;
use crate::tape::{TapeMemory, nodes_of};

/// Sends the events of a JSON text, which is a record or a document.
///
/// # Errors
/// The errors of [`Tree::of_json`](crate::tree::Tree::of_json). No event was sent in this case.
pub fn read(text: &[u8], events: &mut impl Events) -> Result<(), TreeFault> {
    let nodes = nodes_of(text, &checked(text)?);
    if !nodes.is_empty() {
        Record { text, nodes: &nodes, open: &mut Vec::new(), name: &mut Vec::new() }.tell(0, events);
    }
    Ok(())
}

/// A reader of JSON lines, each of which is a document. It keeps its memory from one text to the next.
#[derive(Default)]
pub struct LineReader {
    tape: TapeMemory,
    /// The open nodes: the end on the tape, the value's node, and true if the receiver needs the value.
    open: Vec<(u32, u32, bool)>,
    name: Vec<u8>,
}

impl std::fmt::Debug for LineReader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LineReader").finish_non_exhaustive()
    }
}

impl LineReader {
    /// Sends the events of all lines of a text that have a record. The last line may lack its newline.
    ///
    /// `ended` is called after each of these lines with its number, counted from 0. For a faulty line it
    /// receives the fault; no event of this line was sent.
    ///
    /// # Panics
    /// If the text is longer than [`MAX_PARTITION_BYTES`].
    pub fn read<E: Events>(
        &mut self,
        text: &[u8],
        events: &mut E,
        mut ended: impl FnMut(&mut E, usize, Result<(), Fault>),
    ) {
        assert!(text.len() <= MAX_PARTITION_BYTES, "a text of {} bytes", text.len());
        self.tape.build_here(text);
        let (nodes, mut faults) = (self.tape.nodes(), self.tape.faults().iter().peekable());
        for (line, root) in self.tape.records() {
            while let Some(faulty) = faults.next_if(|faulty| faulty.line < *line) {
                ended(events, faulty.line as usize, Err(faulty.fault));
            }
            let record = Record { text, nodes, open: &mut self.open, name: &mut self.name };
            record.tell(*root, events);
            ended(events, *line as usize, Ok(()));
        }
        faults.for_each(|faulty| ended(events, faulty.line as usize, Err(faulty.fault)));
    }
}

/// A record on a tape.
struct Record<'a> {
    text: &'a [u8],
    nodes: &'a [TapeNode],
    open: &'a mut Vec<(u32, u32, bool)>,
    name: &'a mut Vec<u8>,
}

impl Record<'_> {
    fn tell(self, root: u32, events: &mut impl Events) {
        let Self { text, nodes, open, name } = self;
        let end = nodes[root as usize].next;
        let close = |events: &mut _, value: u32, wants: bool| {
            let value = if wants { value_on_tape(text, nodes[value as usize]) } else { Value::None };
            Events::close(events, value);
        };
        let mut at = root + 1;
        while at < end {
            while let Some((_, value, wants)) = open.pop_if(|(end, ..)| *end <= at) {
                close(events, value, wants);
            }
            let node = nodes[at as usize];
            let (value, wants) = if node.is_name() {
                let spelt = &text[node.start() as usize + 1..node.end as usize - 1];
                let wants = if spelt.contains(&b'\\') {
                    decode(spelt, name);
                    events.open(Name::Member(name))
                } else {
                    events.open(Name::Member(spelt))
                };
                (at + 1, wants)
            } else {
                (at, events.open(Name::Item))
            };
            open.push((node.next, value, wants));
            at = value + 1;
        }
        while let Some((_, value, wants)) = open.pop() {
            close(events, value, wants);
        }
    }
}

fn value_on_tape(text: &[u8], node: TapeNode) -> Value<'_> {
    let spelt = &text[node.start() as usize..node.end as usize];
    match spelt.first() {
        Some(b'"') => Value::String(&spelt[1..spelt.len() - 1]),
        Some(b't') => Value::Bool(true),
        Some(b'f') => Value::Bool(false),
        Some(b'n') => Value::Null,
        Some(b'-' | b'0'..=b'9') => Value::Number(spelt),
        _ => Value::None,
    }
}
