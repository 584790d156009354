//! Checks bitmaps, on the CPU and on a device, against an oracle that has one `bool` per row.

pub mod index;

use anyhow::{Result, ensure};
use warpath_core::wah::{Bitmap, OnesBuilder, WahBuf, tile_starts};
use warpath_cpu::bitmap::run::{Outputs, run};
use warpath_device::{Accelerator, BitmapStage, DeviceBitmaps};
use warpath_shared::bitmap::{Instr, MAX_STACK, OpCode, TileStart, check};
use warpath_shared::wah::CHUNK_ROWS;
use warpath_store::bitmap::StoredValues;
use warpath_store::bitmap::column::{Bin, Holds, Scalar};

use crate::random::Rng;

/// The values that docs/bitmap-file.md says are stored for each bin. Each row is the number of its bin and
/// its value, if it has one.
pub fn stored(bins: &[Bin], rows: &[(usize, Option<Scalar>)]) -> Vec<StoredValues> {
    // Doubles are ordered by their bits. The order of those below 0 is reversed, and -0 is one of them.
    let float = |value: f64| {
        let size = i128::from(value.abs().to_bits());
        if value < 0.0 { -size - 1 } else { size }
    };
    let number = |value: &Scalar| match value {
        Scalar::Int(value) | Scalar::Time(value) => i128::from(*value),
        Scalar::Float(value) => float(*value),
        Scalar::Bool(value) => i128::from(*value),
        _ => 0,
    };
    let of_bin = |(number_of_bin, bin): (usize, &Bin)| {
        let Holds::Values { least, greatest } = &bin.holds else { return StoredValues::Same };
        let values =
            rows.iter().filter(|(of, _)| *of == number_of_bin).map(|(_, value)| value.as_ref().unwrap());
        if least == greatest {
            return StoredValues::Same;
        }
        if let Scalar::Text(_) = least {
            let (mut offsets, mut bytes) = (vec![0], Vec::new());
            for value in values {
                if let Scalar::Text(text) = value {
                    bytes.extend_from_slice(text.as_bytes());
                }
                offsets.push(bytes.len() as u64);
            }
            return StoredValues::Text { offsets, bytes };
        }
        let far = values.map(|value| number(value) - number(least));
        match number(greatest) - number(least) {
            ..256 => StoredValues::U8(far.map(|far| far.try_into().unwrap()).collect()),
            256..65_536 => StoredValues::U16(far.map(|far| far.try_into().unwrap()).collect()),
            65_536..0x1_0000_0000 => StoredValues::U32(far.map(|far| far.try_into().unwrap()).collect()),
            _ => StoredValues::U64(far.map(|far| far.try_into().unwrap()).collect()),
        }
    };
    bins.iter().enumerate().map(of_bin).collect()
}

/// Random rows of one column: runs of all lengths, and a random density.
pub fn rows(rng: &mut Rng, count: usize) -> Vec<bool> {
    let mut rows = Vec::with_capacity(count);
    let (runs, density) = (rng.below(3), rng.below(101));
    while rows.len() < count {
        let longest = [1, 20, 200, 9000, 30_000][rng.below(5)];
        let len = if runs > 0 && rng.below(runs + 1) > 0 { rng.below(longest) + 1 } else { 1 };
        let value = rng.below(100) < density;
        let len = len.min(count - rows.len());
        rows.resize(rows.len() + len, value);
    }
    rows
}

/// Compresses rows to a bitmap, bit by bit.
pub fn compressed(rows: &[bool]) -> WahBuf {
    let mut ones = OnesBuilder::default();
    for (row, _) in rows.iter().enumerate().filter(|(_, one)| **one) {
        ones.push(row as u64);
    }
    ones.finish(rows.len() as u64)
}

/// Packs rows into chunks, bit by bit.
pub fn chunks(rows: &[bool]) -> Vec<u64> {
    let chunk = |rows: &[bool]| rows.iter().rev().fold(0, |chunk, one| chunk << 1 | u64::from(*one));
    rows.chunks(CHUNK_ROWS as usize).map(chunk).collect()
}

/// A number of rows that is at a boundary, or near one, or random.
pub fn row_count(rng: &mut Rng, most: usize) -> usize {
    let near = [1, 62, 63, 64, 125, 126, 127, 63 * 127, 63 * 128, 63 * 128 + 1, 63 * 129, 63 * 256, 63 * 300]
        [rng.below(13)];
    let count = if rng.below(2) == 0 { near + rng.below(3) } else { 1 + rng.below(most) };
    count.clamp(1, most)
}

/// A random program over `columns` columns that stores one or two results.
pub fn program(rng: &mut Rng, columns: usize) -> Vec<Instr> {
    fn operand(rng: &mut Rng, columns: usize, depth: usize, most: usize, to: &mut Vec<Instr>) {
        let any = |rng: &mut Rng| {
            let first = rng.below(columns);
            Instr::new(OpCode::Any, first as u32, rng.below(columns - first + 1) as u32)
        };
        match rng.below(if depth < most { 6 } else { 2 }) {
            0 | 1 => to.push(any(rng)),
            2 => {
                operand(rng, columns, depth, most, to);
                to.push(Instr::new(OpCode::Not, 0, 0));
            }
            3 => {
                // Add more columns to the operand.
                operand(rng, columns, depth, most, to);
                to.push(any(rng));
            }
            _ => {
                operand(rng, columns, depth, most, to);
                let skip = [None, Some(OpCode::SkipNone), Some(OpCode::SkipAll)][rng.below(3)];
                let at = to.len();
                if let Some(skip) = skip {
                    to.push(Instr::new(skip, 0, 0));
                }
                to.push(Instr::new(OpCode::Push, 0, 0));
                operand(rng, columns, depth + 1, most, to);
                let op = match skip {
                    // These operations leave an operand without rows empty.
                    Some(OpCode::SkipNone) => [OpCode::And, OpCode::AndNot][rng.below(2)],
                    Some(_) => OpCode::Or,
                    None => [OpCode::And, OpCode::Or, OpCode::AndNot][rng.below(3)],
                };
                to.push(Instr::new(op, 0, 0));
                if skip.is_some() {
                    to[at].first = to.len() as u32;
                }
            }
        }
    }
    let (mut program, most) = (Vec::new(), 1 + rng.below(MAX_STACK));
    operand(rng, columns, 0, most, &mut program);
    program.push(Instr::new(OpCode::Store, 0, 0));
    if rng.below(2) == 0 {
        operand(rng, columns, 0, most, &mut program);
        program.push(Instr::new(OpCode::Store, 1, 0));
    }
    program
}

/// Evaluates a program row by row and returns its results.
pub fn wanted(program: &[Instr], columns: &[Vec<bool>]) -> Vec<Vec<bool>> {
    let rows = columns[0].len();
    let mut results = vec![vec![false; rows]; 2];
    let mut stored = 0;
    for row in 0..rows {
        let (mut one, mut stack) = (false, Vec::new());
        for instr in program {
            let (first, count) = (instr.first as usize, instr.count as usize);
            match instr.op().unwrap() {
                OpCode::Any => one |= columns[first..first + count].iter().any(|column| column[row]),
                OpCode::Push => stack.push(std::mem::take(&mut one)),
                OpCode::And => one &= stack.pop().unwrap(),
                OpCode::Or => one |= stack.pop().unwrap(),
                OpCode::AndNot => one = stack.pop().unwrap() & !one,
                OpCode::Not => one = !one,
                OpCode::Store => {
                    results[first][row] = one;
                    stored = stored.max(first + 1);
                }
                // The skips only save time.
                OpCode::SkipNone | OpCode::SkipAll => {}
            }
        }
    }
    results.truncate(stored);
    results
}

fn outputs(results: &[Vec<bool>]) -> Outputs {
    Outputs {
        chunks: results.iter().map(|rows| chunks(rows)).collect(),
        counts: results.iter().map(|rows| rows.iter().filter(|one| **one).count() as u64).collect(),
    }
}

/// Columns, their bitmaps and the tile starts of the bitmaps.
pub struct Case {
    /// The rows of each column.
    pub columns: Vec<Vec<bool>>,
    bitmaps: Vec<WahBuf>,
    tiles: Vec<Vec<TileStart>>,
}

impl Case {
    /// Random columns.
    pub fn random(rng: &mut Rng, columns: usize, count: usize) -> Self {
        Self::of((0..columns).map(|_| rows(rng, count)).collect())
    }

    /// A random number of random columns, of at most `most` rows.
    pub fn of_any_size(rng: &mut Rng, most: usize) -> Self {
        let columns = [1, 2, 3, 5, 8, 33, 40, 64][rng.below(8)];
        let count = row_count(rng, most);
        Self::random(rng, columns, count)
    }

    /// Makes a case of the given columns.
    pub fn of(columns: Vec<Vec<bool>>) -> Self {
        let bitmaps: Vec<WahBuf> = columns.iter().map(|rows| compressed(rows)).collect();
        let tiles = bitmaps.iter().map(|bitmap| tile_starts(bitmap.as_wah())).collect();
        Self { columns, bitmaps, tiles }
    }

    /// The bitmaps of the columns.
    pub fn bitmaps(&self) -> Vec<Bitmap<'_>> {
        let bitmaps = self.bitmaps.iter().zip(&self.tiles);
        bitmaps.map(|(bitmap, tiles)| Bitmap { wah: bitmap.as_wah(), tiles }).collect()
    }

    /// Checks the CPU against the oracle.
    ///
    /// # Errors
    /// A difference between their results.
    pub fn check_cpu(&self, program: &[Instr]) -> Result<()> {
        let want = outputs(&wanted(program, &self.columns));
        let count = self.columns[0].len() as u64;
        for threads in [1, 3] {
            let got = run(&self.bitmaps(), program, count, threads, true)?;
            ensure!(got == want, "{program:?} over {count} rows");
            let counted = run(&self.bitmaps(), program, count, threads, false)?;
            ensure!(counted.counts == want.counts && counted.chunks.iter().all(Vec::is_empty));
        }
        Ok(())
    }

    /// Checks a device's programs against the oracle.
    ///
    /// # Errors
    /// A difference between their results, or an error of the device.
    pub fn check_program<A: Accelerator>(&self, stage: &mut BitmapStage<A>, program: &[Instr]) -> Result<()> {
        check(program, self.columns.len())?;
        let want = outputs(&wanted(program, &self.columns));
        let bitmaps = DeviceBitmaps::new(stage.device(), &self.bitmaps())?;
        let got = stage.range(&bitmaps, program, true)?;
        ensure!(got == want, "{program:?} over {} rows", self.columns[0].len());
        let kept = stage.compress(want.counts.len(), self.columns[0].len() as u64)?;
        let expected: Vec<WahBuf> =
            wanted(program, &self.columns).iter().map(|rows| compressed(rows)).collect();
        ensure!(kept == expected, "compressed");
        let counted = stage.range(&bitmaps, program, false)?;
        ensure!(counted.counts == want.counts && counted.chunks.iter().all(Vec::is_empty), "counted");
        Ok(())
    }
}

/// Checks a device's binning against the oracle.
///
/// # Errors
/// A difference between their results, or an error of the device.
pub fn check_bins<A: Accelerator>(
    stage: &mut BitmapStage<A>,
    rng: &mut Rng,
    count: usize,
    bins: u32,
) -> Result<()> {
    let mut of = vec![0; count];
    let mut last = 0;
    for bin in &mut of {
        if rng.below(4) > 0 {
            last = rng.below(bins as usize) as u32;
        }
        *bin = last;
    }
    let got = stage.bitmaps_of(&of, bins)?;
    for (bin, got) in (0..).zip(got) {
        let rows: Vec<bool> = of.iter().map(|of| *of == bin).collect();
        ensure!(got == compressed(&rows), "bin {bin} of {bins} over {count} rows");
    }
    Ok(())
}

/// Checks all bitmap operations of a device over random columns.
///
/// # Errors
/// A difference from the oracle, or an error of the device.
pub fn suite<A: Accelerator>(
    stage: &mut BitmapStage<A>,
    seed: u64,
    rounds: usize,
    most: usize,
) -> Result<()> {
    let rng = &mut Rng::new(seed);
    for round in 0..rounds {
        let case = Case::of_any_size(rng, most);
        let program = program(rng, case.columns.len());
        case.check_cpu(&program)?;
        case.check_program(stage, &program)?;
        if round % 3 == 0 {
            let bins = 1 + rng.below(40) as u32;
            check_bins(stage, rng, case.columns[0].len(), bins)?;
        }
    }
    Ok(())
}
