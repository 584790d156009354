//! The structural index of XML: the positions at which a document stops being text, and at which it is text
//! again.
//!
//! The meaning of a byte depends on all bytes before it. A part of a text that is read alone therefore gives
//! a function of the state in which it begins: an [`XmlMap`]. A scan combines the maps of words, as it
//! combines line states in JSON. Then the state at each word is known.
//!
//! ```text
//! text      <a b="x>y">1 &lt; 2<!-- > --></a>
//! state     .TTTTT""""T........cccccccccc.TTT          before each byte: text, tag, quotes, comment
//! event     ■    ■   ■■        ■        ■■  ■          bytes that change it
//! ```
//!
//! A delimiter of several bytes is one event, at its `<` or `>`. The two bytes after a `<` give its kind, and
//! the two bytes before a `>` say which construct it may end. So no states between are needed. Each document
//! begins in text, whatever precedes it. Documents share a text, and none affects another.
//!
//! | module | contents |
//! |---|---|
//! | [`word`] | the bytes of a word that change the state, and those that are faulty |
//! | [`node`] | the text between two events, and the check of it by the rules of XML |
//! | [`program`] | the program of operations of a document |
//!
//! *A document gets a result only if all of it was checked.* Otherwise it is *unfit*, and the host reads it.
//! So the host's reader reports malformed documents, with the reason, and rare constructs need no rule here.

pub mod node;
pub mod program;
pub mod word;

use crate::index::Monoid;

/// The limit of the length of a text, which is less: an [`XmlEvent`] has 28 bits for an offset.
pub const MAX_XML_BYTES: usize = 1 << AT_BITS;
/// The greatest length of a run that one thread reads byte by byte. Runs are a tag without its attributes'
/// values, a value that is tested, and white space outside the root. A document with a longer run is unfit.
pub const MAX_RUN_BYTES: u32 = 1 << 14;
/// The greatest number of events of a document that is not unfit. One thread goes through all of them.
pub const MAX_EVENTS: usize = 1 << 16;

const AT_BITS: u32 = 28;

/// The states in which a byte is read.
pub mod state {
    /// Between tags. The state at the start and at the end of a document.
    pub const TEXT: u32 = 0;
    /// In a tag, outside quotes.
    pub const TAG: u32 = 1;
    /// In a value between `"`.
    pub const DOUBLE: u32 = 2;
    /// In a value between `'`.
    pub const SINGLE: u32 = 3;
    /// In a comment.
    pub const COMMENT: u32 = 4;
    /// In a section of characters.
    pub const CDATA: u32 = 5;
    /// In a processing instruction.
    pub const INSTRUCTION: u32 = 6;
    /// In a document type, outside quotes.
    pub const TYPE: u32 = 7;
    /// In a document type, between `"`.
    pub const TYPE_DOUBLE: u32 = 8;
    /// In a document type, between `'`.
    pub const TYPE_SINGLE: u32 = 9;
    /// The number of states.
    pub const COUNT: u32 = 10;
}

/// The classes of bytes that may change the state.
pub mod symbol {
    /// `<` of a tag.
    pub const TAG: u32 = 0;
    /// `<` of `<!-`
    pub const COMMENT: u32 = 1;
    /// `<` of `<![`
    pub const CDATA: u32 = 2;
    /// `<` of `<?`
    pub const INSTRUCTION: u32 = 3;
    /// `<` of `<!` and anything else.
    pub const TYPE: u32 = 4;
    /// `>`
    pub const GREATER: u32 = 5;
    /// `>` of `-->`
    pub const COMMENT_END: u32 = 6;
    /// `>` of `]]>`
    pub const CDATA_END: u32 = 7;
    /// `>` of `?>`
    pub const INSTRUCTION_END: u32 = 8;
    /// `"`
    pub const DOUBLE: u32 = 9;
    /// `'`
    pub const SINGLE: u32 = 10;
    /// The number of symbols.
    pub const COUNT: u32 = 11;
}

/// The kinds of events.
pub mod event {
    /// A tag begins: of an element's start or end.
    pub const TAG: u32 = 0;
    /// A comment begins.
    pub const COMMENT: u32 = 1;
    /// A section of characters begins.
    pub const CDATA: u32 = 2;
    /// A processing instruction begins.
    pub const INSTRUCTION: u32 = 3;
    /// A document type begins.
    pub const TYPE: u32 = 4;
    /// The value of an attribute begins.
    pub const VALUE: u32 = 5;
    /// The value of an attribute ends.
    pub const VALUE_END: u32 = 6;
    /// A tag ends.
    pub const TAG_END: u32 = 7;
    /// A comment ends.
    pub const COMMENT_END: u32 = 8;
    /// A section of characters ends.
    pub const CDATA_END: u32 = 9;
    /// A processing instruction ends.
    pub const INSTRUCTION_END: u32 = 10;
    /// Quotes begin in a document type.
    pub const QUOTE: u32 = 11;
    /// Quotes end in a document type.
    pub const QUOTE_END: u32 = 12;
    /// A document type ends.
    pub const TYPE_END: u32 = 13;
}

/// Returns the state after a symbol.
#[inline(always)]
#[must_use]
pub const fn step(state: u32, symbol: u32) -> u32 {
    XmlMap::of(symbol).get(state)
}

/// Returns the event of a symbol that changes the state `before`.
#[inline(always)]
#[must_use]
pub const fn event_of(before: u32, symbol: u32) -> u32 {
    // In text, the number of the symbol is the event. In other states, a table gives the event for a quote,
    // and another one the event for the end of a construct.
    const ENDS: u64 = 0xcc_da98_6670;
    const QUOTES: u64 = 0xcc_ba98_6650;
    if before == state::TEXT {
        symbol
    } else if symbol >= symbol::DOUBLE {
        (QUOTES >> (4 * before)) as u32 & 15
    } else {
        (ENDS >> (4 * before)) as u32 & 15
    }
}

/// For each symbol the map of all states, four bits a state. The table has an entry for every number of four
/// bits.
const STEPS: [u64; 16] = {
    let mut steps = [0; 16];
    let mut symbol = 0;
    while symbol < symbol::COUNT {
        let mut before = 0;
        while before < state::COUNT {
            steps[symbol as usize] |= (rule(before, symbol) as u64) << (4 * before);
            before += 1;
        }
        symbol += 1;
    }
    steps
};

/// The rule from which [`STEPS`] is made.
const fn rule(before: u32, symbol: u32) -> u32 {
    match (before, symbol) {
        (state::TEXT, symbol::TAG) => state::TAG,
        (state::TEXT, symbol::COMMENT) => state::COMMENT,
        (state::TEXT, symbol::CDATA) => state::CDATA,
        (state::TEXT, symbol::INSTRUCTION) => state::INSTRUCTION,
        (state::TEXT, symbol::TYPE) => state::TYPE,
        (state::TAG, symbol::DOUBLE) => state::DOUBLE,
        (state::TAG, symbol::SINGLE) => state::SINGLE,
        (state::DOUBLE, symbol::DOUBLE) | (state::SINGLE, symbol::SINGLE) => state::TAG,
        (state::TYPE, symbol::DOUBLE) => state::TYPE_DOUBLE,
        (state::TYPE, symbol::SINGLE) => state::TYPE_SINGLE,
        (state::TYPE_DOUBLE, symbol::DOUBLE) | (state::TYPE_SINGLE, symbol::SINGLE) => state::TYPE,
        (state::TAG | state::TYPE, symbol::GREATER..=symbol::INSTRUCTION_END)
        | (state::COMMENT, symbol::COMMENT_END)
        | (state::CDATA, symbol::CDATA_END)
        | (state::INSTRUCTION, symbol::INSTRUCTION_END) => state::TEXT,
        _ => before,
    }
}

/// The effect of some text on each state. A [`Monoid`]: the identity is no text. `combine` is one text
/// followed by the other, which is associative because the composition of maps is.
///
/// Four bits a state, for [`state::COUNT`] states. The other bits are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct XmlMap(pub u64);

impl Default for XmlMap {
    fn default() -> Self {
        Self(0x98_7654_3210)
    }
}

impl XmlMap {
    /// The map of a text that begins with a document. The state before it has no effect.
    pub const BEGIN: Self = Self(0);

    /// The map of a symbol.
    #[inline(always)]
    #[must_use]
    pub const fn of(symbol: u32) -> Self {
        Self(STEPS[(symbol & 15) as usize])
    }

    /// The state after the text, given the state before it.
    #[inline(always)]
    #[must_use]
    pub const fn get(self, state: u32) -> u32 {
        (self.0 >> (4 * state)) as u32 & 15
    }
}

impl Monoid for XmlMap {
    #[inline(always)]
    fn combine(self, right: Self) -> Self {
        let (mut map, mut state) = (0, 0);
        while state < state::COUNT {
            map |= (right.get(self.get(state)) as u64) << (4 * state);
            state += 1;
        }
        Self(map)
    }
}

/// A byte that changes the state: its offset, and its kind ([`event`](mod@event)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(transparent)]
pub struct XmlEvent(pub u32);

impl XmlEvent {
    /// An event.
    #[inline(always)]
    #[must_use]
    pub const fn new(at: u32, kind: u32) -> Self {
        Self(kind << AT_BITS | at)
    }

    /// The offset of the byte.
    #[inline(always)]
    #[must_use]
    pub const fn at(self) -> u32 {
        self.0 & (MAX_XML_BYTES as u32 - 1)
    }

    /// The kind of the event.
    #[inline(always)]
    #[must_use]
    pub const fn kind(self) -> u32 {
        self.0 >> AT_BITS
    }
}

/// Returns true for white space of XML.
#[inline(always)]
#[must_use]
pub const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// Returns true for a byte that a name may contain here. All bytes outside ASCII are included.
#[inline(always)]
#[must_use]
pub const fn is_name(byte: u8) -> bool {
    byte >= 0x80 || byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-' | b'.')
}

/// Returns true for a byte that a name may begin with here.
#[inline(always)]
#[must_use]
pub const fn begins_name(byte: u8) -> bool {
    is_name(byte) && !byte.is_ascii_digit() && byte != b'-' && byte != b'.'
}

#[cfg(test)]
mod tests;
