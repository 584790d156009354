//! Memory that cannot be had. The program then ends with a message and the status of bad input, because
//! inputs decide how much memory is needed. It leaves no temporary file.
//!
//! Rust aborts a process in which an allocation fails. The allocator here keeps the size of that allocation.
//! The handler of SIGABRT then runs in the thread that aborts, removes the files, and prints the message. An
//! allocation whose failure the caller handles aborts nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::fmt;
use std::io::{self, Write as _};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use signal_hook::consts::SIGABRT;
use signal_hook::low_level;
use warpath_core::temporary;

/// The exit code of bad input.
const BAD_INPUT: i32 = 4;

/// The bytes of the last allocation that failed.
static FAILED: AtomicUsize = AtomicUsize::new(0);

/// The advice in the message.
static HELP: OnceLock<&str> = OnceLock::new();

/// The system's allocator, which keeps the size of an allocation that fails. A program with
/// [`end_if_none_is_left`] has it as its `#[global_allocator]`.
#[derive(Clone, Copy, Debug)]
pub struct Noting;

#[inline(always)]
fn noted(memory: *mut u8, bytes: usize) -> *mut u8 {
    if memory.is_null() {
        FAILED.store(bytes, Ordering::Relaxed);
    }
    memory
}

// SAFETY: every call is one of the system's allocator with the same arguments, and returns what that returns.
unsafe impl GlobalAlloc for Noting {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of the function, which is the same.
        noted(unsafe { System.alloc(layout) }, layout.size())
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as for `alloc`.
        noted(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    #[inline]
    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        // SAFETY: as for `alloc`.
        noted(unsafe { System.realloc(memory, layout, bytes) }, bytes)
    }

    #[inline]
    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as for `alloc`.
        unsafe { System.dealloc(memory, layout) }
    }
}

/// Ends the program with a message if an allocation fails. `help` is the advice in the message.
///
/// # Errors
/// If the system refuses the handler.
pub fn end_if_none_is_left(help: &'static str) -> io::Result<()> {
    HELP.get_or_init(|| help);
    // SAFETY: `abort` raises SIGABRT in its own thread, so the handler interrupts no other code. The handler
    // allocates nothing, as far as paths are short, and waits for no lock.
    unsafe { low_level::register(SIGABRT, end) }.map(drop)
}

/// Lets the threads of the process share its heaps: one for each core at most. The C library of GNU would
/// make eight for each core, and each keeps memory that is free. Other C libraries have no such setting.
pub fn share_heaps() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    {
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // SAFETY: the function changes a setting of the allocator, which has a lock of its own.
        unsafe { libc::mallopt(libc::M_ARENA_MAX, cores.clamp(2, 1024) as libc::c_int) };
    }
}

/// Returns free memory to the system, as far as the C library can. It takes milliseconds.
pub fn return_free() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: the function changes only memory that is free, and has locks of its own.
    unsafe {
        libc::malloc_trim(0)
    };
}

/// The handler of SIGABRT. Returns if the cause is another one.
fn end() {
    let bytes = FAILED.load(Ordering::Relaxed);
    if bytes == 0 {
        return;
    }
    end_with(format_args!("there is no memory for {bytes} more bytes"), BAD_INPUT);
}

/// Ends the program at once with an error and the advice of [`end_if_none_is_left`]. It waits for no lock and
/// no thread, and allocates nothing. Temporary files are removed.
pub fn end_with(message: fmt::Arguments<'_>, code: i32) -> ! {
    temporary::remove_if_free();
    let mut text = [0; 512];
    let mut rest = &mut text[..];
    let _ = writeln!(rest, "error: {message}");
    if let Some(help) = HELP.get() {
        let _ = writeln!(rest, "  help: {help}");
    }
    let left = rest.len();
    let written = text.len() - left;
    // Another thread may hold the lock of `io::stderr`.
    // SAFETY: the first `written` bytes of `text` are initialised, and stay borrowed during the call.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), written) };
    low_level::exit(code);
}
