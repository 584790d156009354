//! Checks that the committed PTX is the build of the sources, and that it has the interface that the host
//! expects.

use std::collections::HashSet;

use anyhow::Result;
use cuda_builder::KernelCrate;
use warpath_device::cuda::MODULES;
use warpath_shared::kernel::{BENCH_KERNELS, KERNELS};
use warpath_tests::committed_ptx::{
    committed, entries_are_kernels, made_by_the_pinned_compiler, made_from_these_sources, nothing_else,
};

const PRODUCT: KernelCrate =
    KernelCrate { path: "gpu", folders: &[("host/device/ptx", KERNELS), ("benches/ptx", BENCH_KERNELS)] };

#[test]
fn the_committed_ptx_was_made_from_these_sources() -> Result<()> {
    made_from_these_sources(PRODUCT, "tests/ptx.sh build")
}

#[test]
fn the_folders_hold_the_modules_of_the_committed_architectures_and_nothing_else() -> Result<()> {
    nothing_else(PRODUCT)
}

#[test]
fn the_product_has_no_kernel_of_benches() {
    let product: HashSet<&str> = KERNELS.iter().flat_map(|(kernel, module)| [*kernel, *module]).collect();
    for (kernel, module) in BENCH_KERNELS {
        assert!(!product.contains(kernel) && !product.contains(module), "{kernel}, {module}");
        for embedded in MODULES {
            assert!(!embedded.ptx.contains(&format!(".entry {kernel}(")), "{kernel} in {}", embedded.name);
        }
    }
}

#[test]
fn every_entry_has_a_kernel_and_every_kernel_an_entry() -> Result<()> {
    entries_are_kernels(PRODUCT)
}

#[test]
fn the_compiler_is_the_pinned_one() -> Result<()> {
    made_by_the_pinned_compiler(PRODUCT)
}

/// Checks the number of collectives in each kernel against its source: a warp scan of 64-bit parts takes ten
/// shuffles a part, and so on.
///
/// A compiler may copy a collective into both arms of a branch. It then waits for lanes that wait in the
/// other arm, and the card hangs. The emulator cannot show this, because it runs the output of another code
/// generator for the same source. A change to a kernel needs a change to its row, after a look at the PTX.
#[test]
fn no_collective_is_duplicated() {
    // Kernel, shuffles, barriers, votes.
    const COLLECTIVES: [(&str, usize, usize, usize); 29] = [
        ("line_states", 10, 0, 6),
        ("line_scan", 68, 3, 2),
        ("structure_write", 33, 0, 16),
        ("line_index", 44, 3, 2),
        ("kind_check", 34, 3, 2),
        ("odd_check", 0, 0, 0),
        ("count_scan", 34, 3, 2),
        ("slot_compact", 12, 3, 6),
        ("query_bounds", 0, 0, 0),
        ("text_scan", 34, 3, 2),
        ("text_gather", 0, 1, 1),
        ("record_compact", 12, 3, 6),
        ("record_rows", 0, 0, 0),
        ("list_offsets", 0, 0, 0),
        ("column_read", 14, 0, 10),
        ("column_gather", 0, 1, 1),
        ("column_finish", 0, 0, 5),
        ("tape_words", 23, 0, 0),
        ("tape_scan", 68, 3, 2),
        ("tape_lines", 0, 0, 0),
        ("tape_minima", 5, 0, 0),
        ("tape_pieces", 0, 0, 0),
        ("tape_nodes", 10, 0, 7),
        ("strict_check", 1, 0, 0),
        ("query_slots", 0, 0, 4),
        ("query_count", 0, 0, 9),
        ("query_fill", 0, 0, 9),
        ("query_slots_loose", 0, 2, 1),
        ("query_count_loose", 0, 2, 1),
    ];
    let ptx: String = committed(PRODUCT).unwrap().into_iter().map(|(_, text, _)| text).collect();
    for (kernel, shuffles, barriers, votes) in COLLECTIVES {
        let start = ptx.find(&format!(".visible .entry {kernel}(")).expect("the entry");
        let body = &ptx[start..];
        let body = &body[..body.find("\n}").expect("its end")];
        let count = |what: &str| body.lines().filter(|line| line.contains(what)).count();
        let found = (count("shfl.sync"), count("bar.sync"), count("vote.sync"));
        assert_eq!(found, (shuffles, barriers, votes), "{kernel}");
    }
}
