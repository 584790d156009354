//! The errors of a build.

use std::{fmt, io, path::PathBuf, process::ExitStatus};

use crate::Violation;

/// The reason why a build gives no PTX.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CudaBuilderError {
    /// The folder of the kernel crate has no `Cargo.toml`. Holds the folder.
    #[error("no kernel crate at {}: it has no Cargo.toml", .0.display())]
    CratePathDoesntExist(PathBuf),
    /// A tool that the build needs could not be started.
    #[error("cannot run `{tool}`: {source}")]
    Tool {
        /// The program, as it was called.
        tool: String,
        /// The reason why it did not start.
        source: io::Error,
    },
    /// A tool that the build needs failed. Its own message is the reason.
    #[error("`{tool}` failed ({status}): {message}")]
    ToolFailed {
        /// The program and its arguments.
        tool: String,
        /// The exit status of the tool.
        status: ExitStatus,
        /// The text that the tool wrote on standard error.
        message: String,
    },
    /// The toolchain lacks the source of `core`, which would be at this path.
    #[error("the toolchain has no source for `core` at {}: run `rustup component add rust-src` or tests/ptx.sh", .0.display())]
    NoRustSource(PathBuf),
    /// The compiler refused the crate; its messages went to standard error.
    #[error("compiling the kernels failed ({0})")]
    BuildFailed(ExitStatus),
    /// Cargo succeeded but named no library, or the library that it named has no PTX beside it.
    #[error("cargo named no PTX for the kernel crate ({0})")]
    NoPtx(String),
    /// The launch bounds of a kernel could not be written to the PTX. The text says what is wrong.
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
        /// The error of the system.
        source: io::Error,
    },
    /// The compiler made PTX that breaks rules. Every violation is listed.
    #[error("the PTX for {arch} is refused: {}", List(violations))]
    Refused {
        /// The architecture of the PTX.
        arch: crate::Arch,
        /// The file that breaks the rules, kept for inspection.
        ptx: PathBuf,
        /// The violations, in the order of their lines.
        violations: Vec<Violation>,
    },
}

/// A list that is printed with one item per line.
struct List<'a>(&'a [Violation]);

impl fmt::Display for List<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|violation| write!(f, "\n  {violation}"))
    }
}
