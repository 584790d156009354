//! The combination of many compressed bitmaps, one tile of chunks at a time, independently of the other
//! tiles.
//!
//! A bitmap's atoms ([`crate::wah`]) come with a table of where each tile of [`TILE_CHUNKS`] chunks begins in
//! them ([`TileStart`]). The table is written once, with the index. So a warp or thread that computes a tile
//! of the result reads only the atoms of that tile in each bitmap of the query. No scan is needed:
//!
//! ```text
//! atoms     │ literal │ 0×300                       │ literal │ 1×90 │ …
//! chunks    0         1                           301       302    392
//! tiles     │ tile 0: 128 chunks   │ tile 1              │ tile 2            │ …
//! starts    atom 0, skip 0         atom 1, skip 127      atom 1, skip 255   (the fill spans three tiles)
//! ```
//!
//! A query is a program ([`Instr`]) over an accumulator of one tile and a stack of tiles.

/// Chunks of a tile: four for each lane of a warp.
pub const TILE_CHUNKS: u32 = 128;
/// The number of tiles that a program may have pushed at once. This is enough for an expression with fewer
/// than 2⁸ nested operands, if the larger operand is evaluated first.
pub const MAX_STACK: usize = 8;
/// The number of results that a program may store.
pub const MAX_OUTPUTS: usize = 2;

/// The number of tiles for `chunks` chunks.
#[inline]
pub const fn tiles_for(chunks: u64) -> u64 {
    chunks.div_ceil(TILE_CHUNKS as u64)
}

/// The position in a bitmap's atoms at which a tile begins. The entry after the last tile's has the number of
/// atoms, with nothing to skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TileStart {
    /// The atom with the tile's first chunk, counted from the bitmap's first atom.
    pub atom: u32,
    /// The number of chunks of that atom before the tile. Only a fill has any.
    pub skip: u32,
}

/// The effect of an [`Instr`] on the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OpCode {
    /// Adds the rows of `count` columns, from column `first` on.
    Any = 0,
    /// Pushes the accumulator, and clears it.
    Push = 1,
    /// Pops a tile: the accumulator becomes *popped* and *accumulator*.
    And = 2,
    /// Pops a tile: the accumulator becomes *popped* or *accumulator*.
    Or = 3,
    /// Pops a tile: the accumulator becomes *popped* and not *accumulator*.
    AndNot = 4,
    /// Negates the accumulator.
    Not = 5,
    /// Stores the accumulator as result `first`, and counts its rows.
    Store = 6,
    /// Jumps to instruction `first` if the accumulator has no row.
    SkipNone = 7,
    /// Jumps to instruction `first` if the accumulator has all rows.
    SkipAll = 8,
}

/// One instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Instr {
    /// An [`OpCode`].
    pub op: u32,
    /// See [`OpCode`].
    pub first: u32,
    /// See [`OpCode`].
    pub count: u32,
}

impl Instr {
    /// An instruction.
    #[must_use]
    pub const fn new(op: OpCode, first: u32, count: u32) -> Self {
        Self { op: op as u32, first, count }
    }

    /// Returns the operation, or `None` for a number that is no [`OpCode`].
    #[inline]
    #[must_use]
    pub const fn op(self) -> Option<OpCode> {
        const ALL: [OpCode; 9] = [
            OpCode::Any,
            OpCode::Push,
            OpCode::And,
            OpCode::Or,
            OpCode::AndNot,
            OpCode::Not,
            OpCode::Store,
            OpCode::SkipNone,
            OpCode::SkipAll,
        ];
        if (self.op as usize) < ALL.len() { Some(ALL[self.op as usize]) } else { None }
    }
}

/// The reason why instructions are not a valid program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramFault {
    /// The instruction at this index has an unknown operation.
    NoInstruction(usize),
    /// The instruction at this index names columns that do not exist.
    NoColumn(usize),
    /// The instruction at this index stores a result beyond [`MAX_OUTPUTS`].
    NoOutput(usize),
    /// The instruction at this index needs more than [`MAX_STACK`] pushed tiles, or more tiles than were
    /// pushed.
    Stack(usize),
    /// The instruction at this index jumps back, beyond the end, or to an instruction with another stack
    /// depth.
    Target(usize),
}

impl core::fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoInstruction(at) => write!(f, "instruction {at} has an unknown operation"),
            Self::NoColumn(at) => write!(f, "instruction {at} names a column that does not exist"),
            Self::NoOutput(at) => write!(f, "instruction {at} stores more than {MAX_OUTPUTS} results"),
            Self::Stack(at) => {
                write!(f, "instruction {at} needs more tiles than were pushed, or more than {MAX_STACK}")
            }
            Self::Target(at) => write!(f, "instruction {at} has an invalid jump target"),
        }
    }
}

impl core::error::Error for ProgramFault {}

/// Checks that instructions are a valid program over `columns` columns. A valid program runs to its end,
/// within its stack.
///
/// # Errors
/// [`ProgramFault`].
pub fn check(program: &[Instr], columns: usize) -> Result<(), ProgramFault> {
    let depth_before = |at: usize| {
        program[..at].iter().fold(0_i64, |depth, instr| match instr.op() {
            Some(OpCode::Push) => depth + 1,
            Some(OpCode::And | OpCode::Or | OpCode::AndNot) => depth - 1,
            _ => depth,
        })
    };
    let mut depth = 0_usize;
    for (at, instr) in program.iter().enumerate() {
        match instr.op().ok_or(ProgramFault::NoInstruction(at))? {
            OpCode::Any => {
                let end = instr.first as usize + instr.count as usize;
                if end > columns {
                    return Err(ProgramFault::NoColumn(at));
                }
            }
            OpCode::Push if depth == MAX_STACK => return Err(ProgramFault::Stack(at)),
            OpCode::Push => depth += 1,
            OpCode::And | OpCode::Or | OpCode::AndNot => {
                depth = depth.checked_sub(1).ok_or(ProgramFault::Stack(at))?;
            }
            OpCode::Not => {}
            OpCode::Store if instr.first as usize >= MAX_OUTPUTS => return Err(ProgramFault::NoOutput(at)),
            OpCode::Store => {}
            OpCode::SkipNone | OpCode::SkipAll => {
                let to = instr.first as usize;
                if to <= at || to > program.len() || depth_before(to) != depth as i64 {
                    return Err(ProgramFault::Target(at));
                }
            }
        }
    }
    if depth == 0 { Ok(()) } else { Err(ProgramFault::Stack(program.len())) }
}

/// Returns the valid rows of a chunk: all rows, but only the `last` ones in the last chunk, and none after
/// it.
#[inline]
#[must_use]
pub const fn rows_of(chunk: u64, chunks: u64, last: u64) -> u64 {
    if chunk + 1 < chunks {
        crate::wah::ALL
    } else if chunk + 1 == chunks {
        last
    } else {
        0
    }
}
