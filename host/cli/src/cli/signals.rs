//! Signals that end the program. Its temporary files are removed first.
//!
//! The handler of `signal-hook` only wakes a thread, which does the work. The program then ends by the signal
//! itself. A shell therefore sees the cause (`$?` is 129, 130 or 143), and a loop around the program ends
//! with Ctrl-C.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use libc::c_int;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGXFSZ};
use signal_hook::flag;
use signal_hook::iterator::Signals;
use signal_hook::low_level;
use warpath::FollowEnd;

/// Ends inputs. Returns false if it cannot.
type End = Box<dyn FnOnce() -> bool + Send>;

/// Ends the followed inputs, which the first SIGINT or SIGTERM does in place of ending the program.
static FOLLOWED: Mutex<Option<End>> = Mutex::new(None);

/// Lets the first SIGINT or SIGTERM end a followed input. The run then ends as at the end of any input, with
/// all results written. The next signal ends the program.
pub fn end_input_first(end: FollowEnd) {
    end_first_by(move || {
        end.end();
        true
    });
}

/// Lets the first SIGINT or SIGTERM end inputs by a function. If the function returns false, the signal ends
/// the program.
pub fn end_first_by(end: impl FnOnce() -> bool + Send + 'static) {
    *FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(end));
}

/// Removes temporary files before SIGHUP, SIGINT or SIGTERM ends the program. A signal that is ignored at the
/// start, as under `nohup`, stays ignored.
///
/// # Errors
/// If the system has no thread or no descriptor left. Signals then end the program without this cleanup.
pub fn clean_up_after() -> io::Result<()> {
    // With a handler, a write beyond the limit of a file's size (`ulimit -f`) is an error, as on a full disk.
    flag::register(SIGXFSZ, Arc::default())?;
    let mut signals =
        Signals::new([SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| !is_ignored(*signal)))?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        for signal in signals.forever() {
            let followed = FOLLOWED.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(end) = followed.filter(|_| signal != SIGHUP)
                && end()
            {
                continue;
            }
            // While this value lives, no other thread begins or renames an output.
            let _unfinished = warpath::remove_unfinished();
            end_by(signal);
        }
    })?;
    Ok(())
}

/// Returns true if the program was started with this signal ignored.
fn is_ignored(signal: c_int) -> bool {
    let mut action = std::mem::MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: with a null pointer for the new action, the call only writes the present action. `action` has
    // the size and alignment of a `sigaction`.
    let asked = unsafe { libc::sigaction(signal, std::ptr::null(), action.as_mut_ptr()) };
    // SAFETY: `action` is initialised even if the call did not write it. It was zeroed, and a `sigaction` of
    // zeros is valid: its fields are integers, and a function pointer that may be null.
    let action = unsafe { action.assume_init() };
    asked == 0 && action.sa_sigaction == libc::SIG_IGN
}

/// Ends the program as the signal does by default.
fn end_by(signal: c_int) -> ! {
    // Process 1 of a container is not ended by signals for which it has no handler.
    if std::process::id() != 1 {
        let _ = low_level::emulate_default_handler(signal);
    }
    low_level::exit(128 + signal)
}
