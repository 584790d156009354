//! How many compressed bitmaps are combined at a time: a tile of chunks after the other, each of its own.
//!
//! Beside the atoms of a bitmap ([`crate::wah`]) stands where each tile of [`TILE_CHUNKS`] chunks begins in them ([`TileStart`]), written once
//! with the index. So whoever owns a tile of the result reads the atoms of that tile alone, of as many bitmaps as are asked for, and no
//! scan says what stands where:
//!
//! ```text
//! atoms     │ literal │ 0×300                       │ literal │ 1×90 │ …
//! chunks    0         1                           301       302    392
//! tiles     │ tile 0: 128 chunks   │ tile 1              │ tile 2            │ …
//! starts    atom 0, skip 0         atom 1, skip 127      atom 1, skip 255    (the fill of 300 goes through three tiles)
//! ```
//!
//! What is asked is a program ([`Instr`]) over an accumulator of one tile and a stack of such.

/// Chunks of a tile: four for each lane of a warp.
pub const TILE_CHUNKS: u32 = 128;
/// How many tiles a program may have pushed at once. An expression with less than 2⁸ operands within one another needs no more, if the larger
/// operand goes first.
pub const MAX_STACK: usize = 8;
/// How many results a program may store.
pub const MAX_OUTPUTS: usize = 2;

/// Tiles of so many chunks.
#[inline]
pub const fn tiles_for(chunks: u64) -> u64 {
    chunks.div_ceil(TILE_CHUNKS as u64)
}

/// Where a tile begins in the atoms of a bitmap. Behind the last tile's stands the number of atoms, with nothing to skip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct TileStart {
    /// The atom that has its first chunk, from the bitmap's first on.
    pub atom: u32,
    /// How many chunks of that atom are before it: none but of a fill.
    pub skip: u32,
}

/// What an [`Instr`] does with the accumulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OpCode {
    /// Adds the rows of `count` columns, from `first` on.
    Any = 0,
    /// Pushes it, and goes on with no rows.
    Push = 1,
    /// What was pushed last, and it.
    And = 2,
    /// What was pushed last, or it.
    Or = 3,
    /// What was pushed last, and not it.
    AndNot = 4,
    /// All rows that it does not have.
    Not = 5,
    /// Stores it as result `first`, and counts it.
    Store = 6,
    /// Goes on at instruction `first` if it has no row.
    SkipNone = 7,
    /// Goes on at instruction `first` if it has all rows.
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

    /// What it does; `None` for what is no instruction.
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

/// Why instructions are no program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ProgramFault {
    /// An instruction, by its number, is none.
    NoInstruction(usize),
    /// One names columns that are not there.
    NoColumn(usize),
    /// One stores a result beyond [`MAX_OUTPUTS`].
    NoOutput(usize),
    /// One needs more than [`MAX_STACK`] pushed, or what has not been pushed.
    Stack(usize),
    /// One goes back, or beyond the end, or to where another number is pushed.
    Target(usize),
}

impl core::fmt::Display for ProgramFault {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match self {
            Self::NoInstruction(at) => write!(f, "instruction {at} is none"),
            Self::NoColumn(at) => write!(f, "instruction {at} names columns that are not there"),
            Self::NoOutput(at) => write!(f, "instruction {at} stores more than {MAX_OUTPUTS} results"),
            Self::Stack(at) => write!(f, "instruction {at} needs more or less on the stack"),
            Self::Target(at) => write!(f, "instruction {at} goes to where nothing can go on"),
        }
    }
}

impl core::error::Error for ProgramFault {}

/// Checks that instructions are a program over so many columns: then each runs to its end, within its stack.
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

/// What rows there are in each chunk of a tile: all, but in the last chunk, and none behind it.
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
