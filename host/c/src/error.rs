//! The last error of each thread, and the border that no panic crosses.

use std::cell::RefCell;
use std::ffi::{CStr, CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use warpath::{Error, InputError};

/// The kind of an error, by whose fault it is.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WarpathErrorKind {
    /// No function has failed in this thread.
    None = 0,
    /// An argument is not valid.
    Usage = 1,
    /// A path or a condition is not valid.
    Query = 2,
    /// An input cannot be read.
    Input = 3,
    /// A record of an input is malformed.
    Record = 4,
    /// A device is missing, or failed.
    Device = 5,
    /// A fault of Warpath itself.
    Internal = 6,
}

/// An error of a call, as a thread remembers it.
pub struct Failure {
    kind: WarpathErrorKind,
    message: String,
}

impl Failure {
    /// An argument that is not valid.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { kind: WarpathErrorKind::Usage, message: message.into() }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        let kind = match &error {
            Error::Query(_) | Error::Unsupported(_) | Error::Expression(_) => WarpathErrorKind::Query,
            Error::Usage(_) | Error::Plan(_) => WarpathErrorKind::Usage,
            Error::Input(InputError::Record(_) | InputError::Tree(_)) => WarpathErrorKind::Record,
            Error::Device(_) => WarpathErrorKind::Device,
            Error::Internal(_) => WarpathErrorKind::Internal,
            _ => WarpathErrorKind::Input,
        };
        Self { kind, message: error.chain() }
    }
}

thread_local! {
    static LAST: RefCell<(WarpathErrorKind, CString)> =
        RefCell::new((WarpathErrorKind::None, CString::default()));
}

/// Runs the body of a function of the interface. Returns `failed` and remembers the error, if the body fails
/// or panics.
pub fn border<T>(failed: T, body: impl FnOnce() -> Result<T, Failure>) -> T {
    // The handle of a call that panicked can still be freed.
    let done = catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|panic| {
        let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
        Err(Failure { kind: WarpathErrorKind::Internal, message: format!("internal error: {text}") })
    });
    done.unwrap_or_else(|Failure { kind, message }| {
        let message: Vec<u8> = message.into_bytes().into_iter().filter(|byte| *byte != 0).collect();
        LAST.set((kind, CString::new(message).unwrap_or_default()));
        failed
    })
}

/// Returns the message of the last failure in this thread, or an empty text. The text is valid until the next
/// failure in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn warpath_error_message() -> *const c_char {
    LAST.with_borrow(|(_, message)| message.as_ptr())
}

/// Returns the kind of the last failure in this thread.
#[unsafe(no_mangle)]
pub extern "C" fn warpath_error_kind() -> WarpathErrorKind {
    LAST.with_borrow(|(kind, _)| *kind)
}

/// The name of an input for C. A zero byte, which no file has in its name, becomes U+FFFD.
pub fn c_name(name: &str) -> CString {
    CString::new(name.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Reads a text of C. `what` names it in messages.
///
/// # Safety
/// `text` is null, or points to a string that ends with a zero byte and is not changed while `'a` lasts.
pub unsafe fn text<'a>(text: *const c_char, what: &str) -> Result<&'a str, Failure> {
    if text.is_null() {
        return Err(Failure::usage(format!("the {what} is NULL")));
    }
    // SAFETY: not null, and the caller of this function upholds the rest.
    let bytes = unsafe { CStr::from_ptr(text) };
    bytes.to_str().map_err(|_| Failure::usage(format!("the {what} is not UTF-8")))
}
