//! The brackets of a record, in order, and what follows from them alone.
//!
//! Lines of one program have few shapes, because their members come in the same order. The depths, the kinds
//! and the ends of containers are found once for a shape, and looked up for each record that has it
//! ([`super::short`]).

/// The most brackets of a record, which have one bit each.
pub(super) const MOST: usize = 64;

/// The most containers that may be open at a time. The scan gives up deeper records.
const DEEPEST: usize = 58;

/// The number of shapes that are kept, as a power of two.
const KEPT_BITS: u32 = 5;

/// Some brackets, the first lowest.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Brackets {
    pub opens: u64,
    pub braces: u64,
    pub count: u32,
}

/// The brackets of a record, in order, and what follows from them.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    pub brackets: Brackets,
    /// Set if the brackets are those of one container, balanced and matching in kind.
    pub regular: bool,
    /// One bit for each bracket: 1 if an object is the innermost container after it.
    pub objects: u64,
    /// For each number of brackets, the depth after this number.
    pub depth: [u8; MOST + 1],
    /// For each number of brackets, the number of the bracket that opens the innermost container.
    pub inside: [u8; MOST + 1],
    /// For each bracket that opens, the number of the bracket that closes its container.
    pub close: [u8; MOST],
}

impl Shape {
    const NONE: Self = Self {
        brackets: Brackets { opens: 0, braces: 0, count: 0 },
        regular: false,
        objects: 0,
        depth: [0; MOST + 1],
        inside: [0; MOST + 1],
        close: [0; MOST],
    };

    fn new(brackets: Brackets) -> Self {
        let mut shape = Self { brackets, regular: true, ..Self::NONE };
        let (mut open, mut depth) = ([0; DEEPEST + 1], 0);
        for at in 0..(brackets.count as usize).min(MOST) {
            if brackets.opens >> at & 1 == 1 {
                open[depth] = at;
                depth += 1;
            } else if depth == 0 {
                shape.regular = false;
            } else {
                depth -= 1;
                shape.close[open[depth]] = at as u8;
                // A bracket and its closing bracket are of the same kind.
                shape.regular &= (brackets.braces >> at ^ brackets.braces >> open[depth]) & 1 == 0;
                // The root's closing bracket is the last one.
                shape.regular &= depth > 0 || at + 1 == brackets.count as usize;
            }
            shape.depth[at + 1] = depth as u8;
            if depth > DEEPEST || !shape.regular {
                return Self { regular: false, ..shape };
            }
            if let Some(innermost) = depth.checked_sub(1).map(|top| open[top]) {
                shape.inside[at + 1] = innermost as u8;
                shape.objects |= (brackets.braces >> innermost & 1) << at;
            }
        }
        shape.regular &= depth == 0 && brackets.count > 0;
        shape
    }
}

/// The shapes of the last records. The brackets determine the index, so a look-up has no branch that depends
/// on the order of records.
///
/// A list of eight shapes, searched from the last one used, lost: 40 % of the records of an event stream do
/// not have the shape of the record before.
pub(super) struct Shapes(Box<[Shape; 1 << KEPT_BITS]>);

impl Default for Shapes {
    fn default() -> Self {
        Self(Box::new([Shape::NONE; 1 << KEPT_BITS]))
    }
}

impl Shapes {
    /// The shape of some brackets.
    #[inline(always)]
    pub(super) fn of(&mut self, brackets: Brackets) -> &Shape {
        let Brackets { opens, braces, count } = brackets;
        let mixed = (opens ^ braces.rotate_left(32)).wrapping_add(count as u64);
        let index = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - KEPT_BITS);
        let shape = &mut self.0[index as usize];
        if shape.brackets != brackets {
            Self::replace(shape, brackets);
        }
        shape
    }

    #[cold]
    fn replace(shape: &mut Shape, brackets: Brackets) {
        *shape = Shape::new(brackets);
    }
}
