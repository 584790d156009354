//! Compiles a kernel crate to PTX with rustc's own NVPTX backend. Refuses PTX that a driver would refuse or
//! that would give wrong results on a card.
//!
//! The interface is that of rust-cuda's `cuda_builder`. The implementation differs: no libNVVM, no CUDA
//! toolkit, no linker. rustc compiles the crate and `core` with `-Zbuild-std`, and the assembly of the
//! crate's library is the PTX. This works because everything that a kernel calls can be compiled into the
//! kernel's own crate (`-Zcross-crate-inline-threshold=always`). [`Report::violations`] lists what could not
//! be.
//!
//! ```no_run
//! use cuda_builder::{Arch, CudaBuilder};
//!
//! let ptx = CudaBuilder::new("gpu").arch(Arch::Sm90).copy_to("warpath.sm_90.ptx").build()?;
//! println!("{}", ptx.display());
//! # Ok::<(), cuda_builder::CudaBuilderError>(())
//! ```
//!
//! The program `ptx` of this crate (`cargo run -p warpath-cuda-builder -- build`) makes the files that the
//! repository contains: one file per module ([`Ptx::split`]) for each of [`Arch::COMMITTED`]. Each file
//! starts with a [`Header`] that names the compiler and a hash of the sources. So a test detects stale PTX
//! without compiling anything:
//!
//! ```no_run
//! # use std::path::Path;
//! let root = Path::new(".");
//! let text = std::fs::read_to_string("host/device/ptx/index.sm_75.ptx")?;
//! let header = cuda_builder::parse_header(&text).expect("the PTX has no header");
//! assert_eq!(header.sources, cuda_builder::source_hash(root, "gpu")?);
//! # Ok::<(), std::io::Error>(())
//! ```

mod arch;
mod bounds;
mod builder;
mod command;
mod error;
mod header;
mod ptx;
mod sources;
mod split;

pub use arch::{Arch, UnknownArch};
pub use builder::{CudaBuilder, Ptx};
pub use command::{KernelCrate, run};
pub use error::CudaBuilderError;
pub use header::{Header, parse_header};
pub use ptx::{Function, Report, Violation};
pub use sources::source_hash;
pub use split::SplitError;
