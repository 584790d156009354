//! Standard streams as the program was given them.
//!
//! Before `main`, Rust's runtime opens `/dev/null` in place of standard streams that are closed; and its streams take what cannot be
//! written, because a descriptor is not open for writing, for written. Answers would get lost and the exit code would be 0. So this
//! module looks at the descriptors before the runtime does, in a function that the loader calls.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether standard input can be read, and whether standard output can be written.
static IS_READABLE: AtomicBool = AtomicBool::new(true);
static IS_WRITABLE: AtomicBool = AtomicBool::new(true);

/// # Errors
/// If the program was started with a standard output that is closed or read-only.
pub fn stdout() -> io::Result<()> {
    usable(&IS_WRITABLE, "it is closed, or open for reading only")
}

/// # Errors
/// If the program was started with a standard input that is closed or write-only.
pub fn stdin() -> io::Result<()> {
    usable(&IS_READABLE, "it is closed, or open for writing only")
}

/// # Errors
/// If the path names a standard stream, and that is not usable.
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

/// The loader calls the functions of this section before `main`.
#[cfg(unix)]
#[used]
#[cfg_attr(target_vendor = "apple", unsafe(link_section = "__DATA,__mod_init_func"))]
#[cfg_attr(not(target_vendor = "apple"), unsafe(link_section = ".init_array"))]
static BEFORE_MAIN: extern "C" fn() = look;

/// Calls nothing of Rust's runtime, which is not there yet.
#[cfg(unix)]
extern "C" fn look() {
    let can = |descriptor: libc::c_int, not: libc::c_int| {
        // SAFETY: F_GETFL takes no argument, changes nothing, and answers -1 for a number that is no open descriptor.
        let flags = unsafe { libc::fcntl(descriptor, libc::F_GETFL) };
        flags != -1 && flags & libc::O_ACCMODE != not
    };
    IS_READABLE.store(can(libc::STDIN_FILENO, libc::O_WRONLY), Ordering::Relaxed);
    IS_WRITABLE.store(can(libc::STDOUT_FILENO, libc::O_RDONLY), Ordering::Relaxed);
}
