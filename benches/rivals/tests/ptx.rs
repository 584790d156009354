//! Checks that the committed PTX of rivals is the build of the sources, and that the product has none of it.

use std::collections::HashSet;

use anyhow::Result;
use warpath_device::cuda::MODULES;
use warpath_rivals::check::ptx::KERNEL_CRATE;
use warpath_rivals_gpu::RIVALS;
use warpath_shared::kernel::KERNELS;
use warpath_tests::committed_ptx::{
    entries_are_kernels, made_by_the_pinned_compiler, made_from_these_sources, nothing_else,
};

#[test]
fn the_committed_ptx_was_made_from_these_sources() -> Result<()> {
    made_from_these_sources(KERNEL_CRATE, "tests/rivals.sh build")
}

#[test]
fn the_folder_holds_the_modules_of_the_committed_architectures_and_nothing_else() -> Result<()> {
    nothing_else(KERNEL_CRATE)
}

#[test]
fn the_product_has_no_kernel_of_a_rival() {
    let product: HashSet<&str> = KERNELS.iter().flat_map(|(kernel, module)| [*kernel, *module]).collect();
    for (kernel, module) in RIVALS {
        assert!(!product.contains(kernel) && !product.contains(module), "{kernel}, {module}");
        for embedded in MODULES {
            assert!(!embedded.ptx.contains(&format!(".entry {kernel}(")), "{kernel} in {}", embedded.name);
        }
    }
}

#[test]
fn every_entry_has_a_kernel_and_every_kernel_an_entry() -> Result<()> {
    entries_are_kernels(KERNEL_CRATE)
}

#[test]
fn the_compiler_is_the_pinned_one() -> Result<()> {
    made_by_the_pinned_compiler(KERNEL_CRATE)
}
