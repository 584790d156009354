//! The text of a packed file that comes through a pipe, group by group.

use std::io::{self, Read};

use warpath_core::error::InputError;
use warpath_core::stamp::hash;

use super::group::{PackedGroup, body_bytes};
use super::layout::{
    self, GROUP, GROUP_BYTES, GroupEntry, GroupHeader, HEADER_BYTES, TABLE, TRAILER_BYTES, Trailer,
};

/// Bytes per read of a group, which may be shorter than its header states.
const STEP: usize = 1 << 20;

/// The text of a packed file, read from its start to its end. The table of groups must match the groups that
/// were read, and no bytes may follow it.
pub struct Unpacker<R> {
    from: R,
    name: String,
    /// The text of the current group, and how much of it the reader has returned.
    text: Vec<u8>,
    used: usize,
    state: State,
    /// The groups so far, and the position of the next one.
    entries: Vec<GroupEntry>,
    next: GroupEntry,
}

enum State {
    Start,
    Groups,
    End,
}

impl<R: Read> Unpacker<R> {
    /// Creates a reader of the text of the packed file in `from`.
    pub fn new(from: R, name: String) -> Self {
        let next = GroupEntry { place: HEADER_BYTES as u64, text: 0, line: 0 };
        Self { from, name, text: Vec::new(), used: 0, state: State::Start, entries: Vec::new(), next }
    }

    fn damaged(&self, what: impl Into<String>) -> io::Error {
        InputError::Packed { name: self.name.clone(), what: what.into() }.into()
    }

    fn fill(&mut self, room: &mut [u8]) -> io::Result<()> {
        match self.from.read_exact(room) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Err(self.damaged("it ends early")),
            result => result,
        }
    }

    /// Returns the text of the group that [`next_group`](Self::next_group) read last.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Reads the next group. Returns false if there is none.
    pub fn next_group(&mut self) -> io::Result<bool> {
        if let State::Start = self.state {
            let mut header = Vec::with_capacity(HEADER_BYTES);
            self.from.by_ref().take(HEADER_BYTES as u64).read_to_end(&mut header)?;
            layout::check_header(&header, &self.name)?;
            self.state = State::Groups;
        }
        let mut bytes = vec![0; GROUP_BYTES];
        let (marker, rest) = bytes.split_at_mut(GROUP.len());
        self.fill(marker)?;
        if marker == TABLE {
            self.check_end()?;
            self.state = State::End;
            return Ok(false);
        }
        self.fill(rest)?;
        let header = bytes.first_chunk().ok_or("it ends early".to_owned()).and_then(GroupHeader::parse);
        let header = header.map_err(|what| self.damaged(what))?;
        let len = body_bytes(&header).map_err(|what| self.damaged(what))?;
        let add = |a: u64, b: u64| {
            a.checked_add(b).ok_or_else(|| self.damaged("the sizes of its groups overflow 64 bits"))
        };
        let next = GroupEntry {
            place: add(self.next.place, (GROUP_BYTES + len) as u64)?,
            text: add(self.next.text, header.text)?,
            line: add(self.next.line, header.lines)?,
        };
        self.entries.push(std::mem::replace(&mut self.next, next));
        while bytes.len() < GROUP_BYTES + len {
            // A group that is shorter than its header states takes no more memory than about twice its bytes.
            let (at, step) = (bytes.len(), STEP.max(bytes.len()).min(GROUP_BYTES + len - bytes.len()));
            bytes.resize(at + step, 0);
            self.fill(&mut bytes[at..])?;
        }
        let text = PackedGroup::parse(&bytes).and_then(|group| group.verify().and_then(|()| group.text()));
        (self.text, self.used) = (text.map_err(|what| self.damaged(what))?, 0);
        Ok(true)
    }
}

impl<R: Read> Unpacker<R> {
    /// Checks the bytes after the marker of the table of groups, to the end.
    fn check_end(&mut self) -> io::Result<()> {
        let table = layout::table(&std::mem::take(&mut self.entries));
        let mut room = vec![0; STEP.min(table.len())];
        for part in table[TABLE.len()..].chunks(STEP) {
            self.fill(&mut room[..part.len()])?;
            if room[..part.len()] != *part {
                return Err(self.damaged("checksum mismatch in its table of groups"));
            }
        }
        let mut trailer = [0; TRAILER_BYTES];
        self.fill(&mut trailer)?;
        let trailer = Trailer::parse(&trailer).map_err(|what| self.damaged(what))?;
        let groups = (table.len() - TABLE.len()) / layout::ENTRY_BYTES;
        let GroupEntry { place, text, line } = self.next;
        let is = Trailer { table: place, groups: groups as u64, text, lines: line, checksum: hash(&table) };
        if trailer != is {
            return Err(self.damaged("its groups do not match its trailer"));
        }
        // Without this check, the first of two concatenated files would pass for the whole input.
        match self.from.by_ref().take(1).read_to_end(&mut Vec::new())? {
            0 => Ok(()),
            _ => Err(self.damaged("there are bytes after its end")),
        }
    }
}

impl<R: Read> Read for Unpacker<R> {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        while self.used == self.text.len() {
            if room.is_empty() || matches!(self.state, State::End) {
                return Ok(0);
            }
            self.next_group()?;
        }
        let len = room.len().min(self.text.len() - self.used);
        room[..len].copy_from_slice(&self.text[self.used..self.used + len]);
        self.used += len;
        Ok(len)
    }
}
