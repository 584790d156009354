//! Signals that end the program: its temporary files are removed first.
//!
//! The handler of `signal-hook` does nothing but wake a thread, which does the work. The program then ends by the signal itself, so
//! that a shell knows why (`$?` is 129, 130 or 143) and a loop around it ends with Ctrl-C.

use std::io;
use std::thread;

use libc::c_int;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use signal_hook::low_level;

/// Removes temporary files before SIGHUP, SIGINT or SIGTERM ends the program. A signal that is ignored already, as under `nohup`,
/// stays ignored.
///
/// # Errors
/// If the system has no thread or descriptor for it. Signals then end the program as they do otherwise.
pub fn clean_up_after() -> io::Result<()> {
    let mut signals =
        Signals::new([SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)))?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // Nobody makes or renames a file any more.
            let _unfinished = warpath::remove_unfinished();
            end_by(signal);
        }
    })?;
    Ok(())
}

/// Whether the program was started with this signal ignored.
fn is_ignored(signal: c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with no new action, the call only writes the present one, to memory that is large enough for it.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: a `sigaction` of zeros is valid (integers, and a function that is none), so it is initialised whether the call wrote it or not.
    let action = unsafe { action.assume_init() };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Ends the program as the signal does by default.
fn end_by(signal: c_int) -> ! {
    // The first process of a container is not ended by signals that it has no handler for.
    if std::process::id() != 1 {
        let _ = low_level::emulate_default_handler(signal);
    }
    low_level::exit(128 + signal)
}
