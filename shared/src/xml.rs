//! The structural index of XML: where documents stop being text, and where they are text again.
//!
//! What a byte means depends on all bytes before it, so a text cannot be cut and read in parts, unless a part says what it does to *each* state in which it may begin: a [`XmlMap`]. Maps of words
//! are combined by a scan, as line states are in JSON, and then each word knows its state.
//!
//! ```text
//! text      <a b="x>y">1 &lt; 2<!-- > --></a>
//! state     .TTTTT""""T........cccccccccc.TTT          before each byte: text, tag, quotes, comment
//! event     ■    ■   ■■        ■        ■■  ■          bytes that change it
//! ```
//!
//! A delimiter of several bytes is one event, at its `<` or `>`: what kind of `<` it is is told by the two bytes behind it, and what a `>` may end by the two before it. So there are no states between.
//! Each document begins in text, whatever was before it; documents share a text, and what one of them says changes nothing of another.
//!
//! | module | question it answers |
//! |---|---|
//! | [`word`] | which bytes of a word change the state, and which are faulty? |
//! | [`node`] | what stands between two events, and is it as XML has it? |
//! | [`program`] | what is a document's program of operations? |
//!
//! *What is not vouched for is not answered.* A document of which anything is out of the ordinary is *unfit*, and the host reads it: so malformed ones are told by the reader that knows why, and what is rare needs no rule here.

pub mod node;
pub mod program;
pub mod word;

use crate::index::Monoid;

/// Texts are shorter than this: an [`XmlEvent`] has 28 bits for a place.
pub const MAX_XML_BYTES: usize = 1 << AT_BITS;
/// What one thread reads byte by byte is no longer, or the document is unfit: a tag without its attributes' values, a value that is tested, white space outside the root.
pub const MAX_RUN_BYTES: u32 = 1 << 14;
/// A document with more events is unfit: one thread goes through all of them.
pub const MAX_EVENTS: usize = 1 << 16;

const AT_BITS: u32 = 28;

/// What a byte is read in.
pub mod state {
    /// Between tags. A document begins and ends so.
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
    /// How many there are.
    pub const COUNT: u32 = 10;
}

/// What a byte is that may change the state.
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
    /// How many there are.
    pub const COUNT: u32 = 11;
}

/// What an event begins or ends.
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
    /// It ends.
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
    /// They end.
    pub const QUOTE_END: u32 = 12;
    /// A document type ends.
    pub const TYPE_END: u32 = 13;
}

/// What a symbol makes of a state.
#[inline(always)]
#[must_use]
pub const fn step(state: u32, symbol: u32) -> u32 {
    XmlMap::of(symbol).get(state)
}

/// What event it is when a symbol changes a state.
#[inline(always)]
#[must_use]
pub const fn event_of(before: u32, symbol: u32) -> u32 {
    // By the state: in text the symbol says it, and where quotes begin or a tag ends.
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

/// For each symbol what it makes of each state, four bits a state. As many as four bits can say, so that there is no other.
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

/// The rule that [`STEPS`] has as a table.
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

/// What some text makes of each state. A [`Monoid`]: the identity is no text, and `combine` is one text behind the other, which is associative since maps are.
///
/// Four bits a state, of [`state::COUNT`]; the others are zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct XmlMap(pub u64);

impl Default for XmlMap {
    fn default() -> Self {
        Self(0x98_7654_3210)
    }
}

impl XmlMap {
    /// That of a text that begins with a document: whatever was before is forgotten.
    pub const BEGIN: Self = Self(0);

    /// That of a symbol.
    #[inline(always)]
    #[must_use]
    pub const fn of(symbol: u32) -> Self {
        Self(STEPS[(symbol & 15) as usize])
    }

    /// The state behind the text, by that before it.
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

/// A byte that changes the state: where it is, and which of [`event`](mod@event) it is.
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

    /// Where it is.
    #[inline(always)]
    #[must_use]
    pub const fn at(self) -> u32 {
        self.0 & (MAX_XML_BYTES as u32 - 1)
    }

    /// Which it is.
    #[inline(always)]
    #[must_use]
    pub const fn kind(self) -> u32 {
        self.0 >> AT_BITS
    }
}

/// White space of XML.
#[inline(always)]
#[must_use]
pub const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// What a name may have in it here: all that is not ASCII, too.
#[inline(always)]
#[must_use]
pub const fn is_name(byte: u8) -> bool {
    byte >= 0x80 || byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':' | b'-' | b'.')
}

/// What a name may begin with here.
#[inline(always)]
#[must_use]
pub const fn begins_name(byte: u8) -> bool {
    is_name(byte) && !byte.is_ascii_digit() && byte != b'-' && byte != b'.'
}

#[cfg(test)]
mod tests;
