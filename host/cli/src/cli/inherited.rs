//! The standard streams as they were at the start of the program.
//!
//! Rust's runtime opens `/dev/null` in place of closed standard streams before `main`. If a descriptor is not
//! open for writing, its streams ignore the error of the write. Results would then be lost, and the exit code
//! would be
//! 0. Therefore this module examines the descriptors before the runtime does, in a function that the loader
//!   calls.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// True if standard input can be read; and true if standard output can be written.
static IS_READABLE: AtomicBool = AtomicBool::new(true);
static IS_WRITABLE: AtomicBool = AtomicBool::new(true);

/// Checks that standard output can be written.
///
/// # Errors
/// If the program was started with a standard output that is closed or read-only.
pub fn stdout() -> io::Result<()> {
    usable(&IS_WRITABLE, "it is closed, or open for reading only")
}

/// Checks that standard input can be read.
///
/// # Errors
/// If the program was started with a standard input that is closed or write-only.
pub fn stdin() -> io::Result<()> {
    usable(&IS_READABLE, "it is closed, or open for writing only")
}

/// Checks the standard stream that a path names. Other paths are accepted.
///
/// # Errors
/// If the path names a standard stream that cannot be used.
pub fn named(path: &Path) -> io::Result<()> {
    match path.to_str() {
        Some("/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0") => stdin(),
        Some("/dev/stdout" | "/dev/fd/1" | "/proc/self/fd/1") => stdout(),
        _ => Ok(()),
    }
}

fn usable(stream: &AtomicBool, otherwise: &'static str) -> io::Result<()> {
    if stream.load(Ordering::Relaxed) { Ok(()) } else { Err(io::Error::other(otherwise)) }
}

/// Registers [`look`] with the loader, which calls the functions of this section before `main`.
#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look;

/// Records the modes of the standard streams. It calls nothing of Rust's runtime, which is not initialised
/// yet.
#[cfg(unix)]
extern "C" fn look() {
    let can = |descriptor: libc::c_int, not: libc::c_int| {
        // SAFETY: F_GETFL takes no argument and changes nothing. For a number that is not an open descriptor
        // it returns -1.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
        flags != -1 && flags & libc::O_ACCMODE != not
    };
    IS_READABLE.store(can(libc::STDIN_FILENO, libc::O_WRONLY), Ordering::Relaxed);
    IS_WRITABLE.store(can(libc::STDOUT_FILENO, libc::O_RDONLY), Ordering::Relaxed);
}
