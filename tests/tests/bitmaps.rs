//! Bitmaps: set algebra on compressed bitmaps, and programs, on the CPU and in the emulator. The oracle has
//! one `bool` per row.

use proptest::prelude::*;
use warpath::bitmap::RowSet;
use warpath_core::wah::{WahBuf, tile_starts};
use warpath_device::{BitmapStage, DeviceBitmaps};
use warpath_shared::bitmap::{Instr, OpCode, ProgramFault, TILE_CHUNKS, TileStart, check};
use warpath_shared::wah::ops::Op;
use warpath_shared::wah::{ALL, Atom, CHUNK_ROWS, MAX_FILL, Wah, WahFault, chunks_for, last_chunk};
use warpath_tests::bitmaps::{self, Case, chunks, compressed, rows};
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;

fn stage() -> BitmapStage<Emulated> {
    BitmapStage::new(Emulated::default())
}

/// W3, W4: the words as they are stored.
#[test]
fn atoms_have_the_layout_of_the_paper() {
    assert_eq!(CHUNK_ROWS, 63);
    assert_eq!(ALL, 0x7fff_ffff_ffff_ffff);
    assert_eq!(Atom::literal(0x5).0, 5);
    assert_eq!(Atom::fill(false, 2).0, 0x8000_0000_0000_0002);
    assert_eq!(Atom::fill(true, 3).0, 0xc000_0000_0000_0003);
    assert_eq!(Atom::fill(true, MAX_FILL).0, u64::MAX);
    assert_eq!((Atom::fill(true, 7).chunks(), Atom::fill(true, 7).chunk()), (7, ALL));
    // Figure 1(a): 189 rows, a chunk of both and two of zeros.
    let mut example = vec![false; 189];
    example[0] = true;
    example[4] = true;
    assert_eq!(compressed(&example).words(), [0x11, 0x8000_0000_0000_0002]);
}

#[test]
fn what_is_not_canonical_is_refused() {
    let fill = |value, chunks| Atom::fill(value, chunks).0;
    for (atoms, rows, fault) in [
        (vec![0], 63, WahFault::Homogeneous(0)),
        (vec![1, ALL], 126, WahFault::Homogeneous(1)),
        (vec![fill(false, 0), 1], 63, WahFault::EmptyFill(0)),
        (vec![fill(true, 1), fill(true, 2)], 189, WahFault::SplitFill(1)),
        (vec![fill(false, 2)], 189, WahFault::Chunks { found: 2, wanted: 3 }),
        (vec![fill(false, 4)], 189, WahFault::Chunks { found: 4, wanted: 3 }),
        (
            vec![fill(false, MAX_FILL), fill(true, MAX_FILL)],
            5,
            WahFault::Chunks { found: MAX_FILL, wanted: 1 },
        ),
        (vec![], 1, WahFault::Chunks { found: 0, wanted: 1 }),
        (vec![1], 0, WahFault::Chunks { found: 1, wanted: 0 }),
        (vec![0b1000], 3, WahFault::BeyondRows),
        (vec![fill(true, 1)], 62, WahFault::BeyondRows),
    ] {
        assert_eq!(Wah::new(&atoms, rows), Err(fault), "{atoms:x?}");
        assert!(!fault.to_string().is_empty());
    }
    assert!(Wah::new(&[0b111], 3).is_ok());
    assert!(Wah::new(&[fill(true, 1), fill(false, 1), fill(true, 1)], 189).is_ok());
    assert!(Wah::new(&[], 0).is_ok());
}

fn a_set() -> impl Strategy<Value = (u64, usize)> {
    (any::<u64>(), 1_usize..2000)
}

proptest! {
    #[test]
    fn compression_is_canonical_and_loses_nothing((seed, count) in a_set()) {
        let rows = rows(&mut Rng::new(seed), count);
        let wah = compressed(&rows);
        prop_assert_eq!(Wah::new(wah.words(), count as u64), Ok(wah.as_wah()));
        prop_assert_eq!(wah.chunks(), chunks(&rows));
        prop_assert_eq!(&WahBuf::from_chunks(chunks(&rows), count as u64), &wah);
        let want: Vec<u64> = (0..count as u64).filter(|row| rows[*row as usize]).collect();
        prop_assert_eq!(&wah.as_wah().ones().collect::<Vec<_>>(), &want);
        prop_assert_eq!(&RowSet::from_chunks(&wah.chunks(), count as u64).ones().collect::<Vec<_>>(), &want);
        prop_assert_eq!(&WahBuf::from_ones(want.iter().copied(), count as u64), &wah);
        prop_assert_eq!(wah.as_wah().count(), want.len() as u64);
        for row in [0, 1, 62, 63, 64, count as u64 / 2, count as u64 - 1, count as u64, count as u64 + 70] {
            let before = want.iter().filter(|one| **one < row).count();
            prop_assert_eq!(wah.as_wah().rank(row), before as u64);
            prop_assert_eq!(wah.as_wah().get(row), want.contains(&row));
            prop_assert_eq!(wah.as_wah().select(row), want.get(row as usize).copied());
        }
    }

    /// W5, W6: compressed operands, a canonical result, and the laws of sets.
    #[test]
    fn set_algebra_holds((seed, count) in a_set()) {
        let rng = &mut Rng::new(seed);
        let sets: Vec<_> = (0..3).map(|_| rows(rng, count)).collect();
        let [a, b, c] = [0, 1, 2].map(|i| compressed(&sets[i]));
        let none = WahBuf::none(count as u64);
        let all = compressed(&vec![true; count]);
        let of = |op, a: &WahBuf, b: &WahBuf| {
            let result = WahBuf::of(op, a.as_wah(), b.as_wah());
            assert!(Wah::new(result.words(), count as u64).is_ok());
            result
        };
        let not = |a: &WahBuf| {
            let result = WahBuf::not(a.as_wah());
            assert!(Wah::new(result.words(), count as u64).is_ok());
            result
        };
        for op in [Op::And, Op::Or, Op::Xor, Op::AndNot] {
            let by_row = |(a, b): (&bool, &bool)| op.of(u64::from(*a), u64::from(*b)) & 1 == 1;
            let rows: Vec<bool> = sets[0].iter().zip(&sets[1]).map(by_row).collect();
            prop_assert_eq!(of(op, &a, &b), compressed(&rows), "{:?}", op);
        }
        prop_assert_eq!(not(&not(&a)), a.clone());
        prop_assert_eq!(not(&none), all.clone());
        for op in [Op::And, Op::Or, Op::Xor] {
            prop_assert_eq!(of(op, &a, &b), of(op, &b, &a));
            prop_assert_eq!(of(op, &of(op, &a, &b), &c), of(op, &a, &of(op, &b, &c)));
        }
        prop_assert_eq!(of(Op::And, &a, &of(Op::Or, &b, &c)), of(Op::Or, &of(Op::And, &a, &b), &of(Op::And, &a, &c)));
        prop_assert_eq!(not(&of(Op::Or, &a, &b)), of(Op::And, &not(&a), &not(&b)));
        prop_assert_eq!(of(Op::AndNot, &a, &b), of(Op::And, &a, &not(&b)));
        prop_assert_eq!(of(Op::Xor, &a, &a), none.clone());
        prop_assert_eq!(of(Op::Or, &a, &none), a.clone());
        prop_assert_eq!(of(Op::And, &a, &all), a.clone());
        prop_assert_eq!(of(Op::Or, &a, &of(Op::And, &a, &b)), a.clone());
    }

    #[test]
    fn tiles_begin_where_their_first_chunk_is(seed in any::<u64>(), count in 1_usize..60_000) {
        let wah = compressed(&rows(&mut Rng::new(seed), count));
        let starts = tile_starts(wah.as_wah());
        let tiles = chunks_for(count as u64).div_ceil(u64::from(TILE_CHUNKS));
        prop_assert_eq!(starts.len() as u64, tiles + 1);
        let before = |at: TileStart| {
            let atoms = wah.words()[..at.atom as usize].iter();
            atoms.map(|atom| Atom(*atom).chunks()).sum::<u64>() + u64::from(at.skip)
        };
        for (tile, at) in (0..tiles).zip(&starts) {
            prop_assert_eq!(before(*at), tile * u64::from(TILE_CHUNKS));
            prop_assert!(u64::from(at.skip) < Atom(wah.words()[at.atom as usize]).chunks());
        }
        prop_assert_eq!(starts[tiles as usize], TileStart { atom: wah.words().len() as u32, skip: 0 });
    }

    #[test]
    fn programs_on_the_cpu_are_what_the_oracle_says(seed in any::<u64>()) {
        let rng = &mut Rng::new(seed);
        let (columns, count) = (1 + rng.below(12), bitmaps::row_count(rng, 30_000));
        let case = Case::random(rng, columns, count);
        let program = bitmaps::program(rng, columns);
        check(&program, columns).unwrap();
        case.check_cpu(&program).unwrap();
    }
}

#[test]
fn last_chunks() {
    assert_eq!([1, 2, 62, 63, 64].map(last_chunk), [1, 3, ALL >> 1, ALL, 1]);
}

#[test]
fn programs_that_are_none_are_refused() {
    let op = Instr::new;
    for (program, fault) in [
        (vec![op(OpCode::Any, 1, 2)], ProgramFault::NoColumn(0)),
        (vec![op(OpCode::Any, u32::MAX, u32::MAX)], ProgramFault::NoColumn(0)),
        (vec![Instr { op: 9, first: 0, count: 0 }], ProgramFault::NoInstruction(0)),
        (vec![op(OpCode::And, 0, 0)], ProgramFault::Stack(0)),
        (vec![op(OpCode::Push, 0, 0)], ProgramFault::Stack(1)),
        (vec![op(OpCode::Push, 0, 0); 9], ProgramFault::Stack(8)),
        (vec![op(OpCode::Store, 2, 0)], ProgramFault::NoOutput(0)),
        (vec![op(OpCode::SkipNone, 0, 0)], ProgramFault::Target(0)),
        (vec![op(OpCode::SkipAll, 2, 0)], ProgramFault::Target(0)),
        (
            vec![op(OpCode::SkipNone, 2, 0), op(OpCode::Push, 0, 0), op(OpCode::And, 0, 0)],
            ProgramFault::Target(0),
        ),
    ] {
        assert_eq!(check(&program, 2), Err(fault), "{program:?}");
    }
}

/// The kernels in the emulator, against the oracle.
#[test]
fn emulated_kernels_are_what_the_oracle_says() {
    bitmaps::suite(&mut stage(), 1, 12, 20_000).unwrap();
}

/// Every kind of atom, begun and ended at every chunk of a tile.
#[test]
fn fills_slide_over_a_tile() {
    let chunks = 2 * TILE_CHUNKS as usize + 3;
    let count = chunks * CHUNK_ROWS as usize - 5;
    let columns = (0..40)
        .map(|at| {
            let mut rng = Rng::new(at);
            let mut rows: Vec<bool> = (0..count).map(|_| rng.below(2) == 0).collect();
            for (value, len) in [(true, 1), (false, 2), (true, 33), (false, 130)] {
                let from = (at as usize * 7 + len * 11) % (count / 63) * 63;
                let to = (from + len * 63).min(count);
                rows[from..to].fill(value);
            }
            rows
        })
        .collect();
    let case = Case::of(columns);
    let mut stage = stage();
    for column in 0..40 {
        let program = [Instr::new(OpCode::Any, column, 1), Instr::new(OpCode::Store, 0, 0)];
        let bitmaps = DeviceBitmaps::new(stage.device(), &case.bitmaps()).unwrap();
        let got = stage.range(&bitmaps, &program, true).unwrap();
        assert_eq!(got.chunks[0], bitmaps::chunks(&case.columns[column as usize]), "{column}");
    }
}
