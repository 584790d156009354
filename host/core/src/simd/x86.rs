//! AVX-512 and AVX2.

mod avx2;
mod avx512;
mod gfni;

pub(super) use avx2::run_avx2;
pub(super) use avx512::{Avx512, run_avx512};
pub(super) use gfni::run_avx512_gfni;
