//! The kernels of rivals in the emulator, against the oracles.

use cuda_std::emulator::{self, Fault, Launch};
use warpath_device::DeviceBitmaps;
use warpath_rivals::check;
use warpath_rivals::unions::{Decompression, Reduction, UnionStage};
use warpath_rivals_gpu::{RIVALS, args as kernels, for_each_rival, kernel};
use warpath_shared::kernel::Kernel;
use warpath_tests::bitmaps::{Case, chunks};
use warpath_tests::emulated::Emulated;
use warpath_tests::random::Rng;

/// Runs a kernel of rivals.
unsafe fn rivals(name: &'static str, args: *const (), launch: &Launch) -> Option<Result<(), Fault>> {
    macro_rules! run_it {
        ($($module:ident: $(($kernel:ident, $function:ident)),+;)*) => {
            $($(if name == kernels::$kernel::NAME {
                // SAFETY: by the caller's contract the arguments have this type.
                let args = unsafe { args.cast::<<kernels::$kernel as Kernel>::Args<'_>>().read() };
                // SAFETY: by the caller's contract the sizes agree, and the launch has the kernel's own
                // shape.
                let body = || unsafe { kernel::$function(args) };
                return Some(emulator::launch(launch, name, &body));
            })+)*
        };
    }
    for_each_rival!(run_it);
    None
}

fn emulated() -> Emulated {
    Emulated::with_kernels(rivals)
}

#[test]
fn every_kernel_runs() {
    let device = emulated();
    check::bitmaps(&device, 3, 2, 5000).unwrap();
    check::strings(&device, 4, 2).unwrap();
    check::twigs(&device, 4, 4, (10, 3)).unwrap();
    let ran = device.take_launches();
    for (kernel, _) in RIVALS {
        assert!(ran.contains(kernel), "{kernel}");
    }
}

/// W8, W9: decompression and reductions.
#[test]
fn unions_are_what_the_oracle_says() {
    check::bitmaps(&emulated(), 1, 4, 20_000).unwrap();
}

/// W14, by the paper's table 2.
#[test]
fn reductions_are_chosen_by_columns() {
    assert_eq!(Reduction::for_columns(2), Reduction::Coa);
    assert_eq!([3, 64, 1024].map(Reduction::for_columns), [Reduction::IdealHybrid; 3]);
    assert_eq!([1025, 2048].map(Reduction::for_columns), [Reduction::Roa; 2]);
    assert_eq!(Reduction::for_columns(2049), Reduction::Hybrid { width: 32, height: 32 });
}

/// W11, W12: more columns than a block has threads, and more than two rounds of tiles.
#[test]
fn many_columns() {
    let rng = &mut Rng::new(9);
    let case = Case::random(rng, 130, 100);
    let mut stage = UnionStage::new(emulated());
    check::unions(&case, &mut stage, (3, 2)).unwrap();
    let wide = Case::random(rng, 2049, 64);
    let bitmaps = DeviceBitmaps::new(stage.device(), &wide.bitmaps()).unwrap();
    stage.decompress(&bitmaps, Decompression::Tiles).unwrap();
    for (method, why) in [
        (Reduction::Roa, "more than the 2048 that one block spans"),
        (Reduction::Hybrid { width: 64, height: 64 }, "a tile has 1 to 1024 threads, not 64 × 64"),
    ] {
        let refused = stage.unite(2049, 2, method).unwrap_err();
        assert!(matches!(&refused, warpath::Error::Usage(said) if said.contains(why)), "{refused}");
    }
    stage.unite(2049, 2, Reduction::for_columns(2049)).unwrap();
    let mut union = vec![false; 64];
    for column in &wide.columns {
        union.iter_mut().zip(column).for_each(|(union, one)| *union |= one);
    }
    assert_eq!(stage.words(2).unwrap(), chunks(&union));
}

/// Every step of the ladder, around every boundary.
#[test]
fn the_ladder_gives_what_the_codes_stand_for() {
    check::strings(&emulated(), 1, 16).unwrap();
}

/// The paper's kernel of twigs, compared with the oracle on 40,000 pairs. The pairs are spread over two
/// tests, for two cores.
#[test]
fn kernels_match_as_the_oracle_says() {
    check::twigs(&emulated(), 1, 8, (200, 25)).unwrap();
}

#[test]
fn many_twigs_match_as_the_oracle_says() {
    check::twigs(&emulated(), 3, 4, (1500, 5)).unwrap();
}

#[test]
fn kernels_match_as_the_oracle_says_again() {
    check::twigs(&emulated(), 2, 8, (200, 25)).unwrap();
}
