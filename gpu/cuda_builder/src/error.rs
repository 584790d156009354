//! What can go wrong in a build.

use std::{fmt, io, path::PathBuf, process::ExitStatus};

use crate::Violation;

/// Why there is no PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// There is no `Cargo.toml` in this folder.
    #[error("no kernel crate at {}: it has no Cargo.toml", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// A tool that the build needs could not be started.
    #[error("cannot run `{tool}`: {source}")]
    Tool {
        /// The program, as it was called.
        tool: String,
        /// Why it did not start.
        source: io::Error,
    },
    /// A tool that the build needs ran and failed; its own message is the reason.
    #[error("`{tool}` failed ({status}): {message}")]
    ToolFailed {
        /// The program and its arguments.
        tool: String,
        /// How it ended.
        status: ExitStatus,
        /// The end of what it wrote on standard error.
        message: String,
    },
    /// The toolchain lacks `core`'s source, which this path would hold.
    #[error("the toolchain has no source for `core` at {}: run `rustup component add rust-src` or tests/ptx.sh", .0.display())]
    NoRustSource(PathBuf),
    /// The compiler refused the crate; its messages went to standard error.
    #[error("compiling the kernels failed ({0})")]
    BuildFailed(ExitStatus),
    /// Cargo succeeded, but named no library, or there was no PTX beside the one that it named.
    #[error("cargo named no PTX for the kernel crate ({0})")]
    NoPtx(String),
    /// A kernel's launch bounds could not be put into the PTX. The text is what is wrong.
    #[error("launch bounds: {0}")]
    LaunchBounds(String),
    /// The sources could not be read for their hash.
    #[error("cannot read the kernels' sources: {0}")]
    Sources(#[source] io::Error),
    /// The PTX could not be read back, or written to the path given to `copy_to`.
    #[error("cannot copy the PTX to {}: {source}", path.display())]
    FailedToCopyPtxFile {
        /// The file read or written.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The compiler made PTX that breaks the rules; every breach is listed.
    #[error("the PTX for {arch} is refused: {}", List(violations))]
    Refused {
        /// The architecture it was compiled for.
        arch: crate::Arch,
        /// The file that breaks the rules, kept to be looked at.
        ptx: PathBuf,
        /// The breaches, in the order of their lines.
        violations: Vec<Violation>,
    },
}

/// One item a line.
struct List<'a>(&'a [Violation]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}
