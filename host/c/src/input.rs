//! Inputs: files, or bytes in memory, with settings.

use std::ffi::{CStr, OsStr, c_char};
use std::path::Path;
use std::sync::Arc;
use std::{ptr, slice};

use warpath::{
    Engine, Error, FolderFiles, Format, Input, InputBytes, InputError, OnError, Predicate, Query, Source,
};
use warpath_core::time::Format as TimeFormat;

use crate::error::{Failure, border, text};

/// Settings of an input. A field that is zero has its default; `struct_size` is required:
/// `WarpathOptions options = {.struct_size = sizeof options};`
///
/// Later versions have more fields, at the end. A program may be older or newer than the library. Fields that
/// the program does not have are defaults. A field that the library does not have must be zero, and is a
/// failure otherwise.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct WarpathOptions {
    /// The size of this struct in the program: `sizeof(WarpathOptions)`.
    pub struct_size: usize,
    /// `auto`, `cpu`, `cuda:0`, `cuda:0,1` or `cuda:all`; NULL for `auto`.
    pub device: *const c_char,
    /// The format of instants in columns and conditions, of `strftime` or `ms`; NULL for RFC 3339.
    pub time_format: *const c_char,
    /// The threads that read and evaluate; 0 for a number that suits the device.
    pub workers: usize,
    /// The bytes that a thread takes at once; 0 for a number that suits the device.
    pub partition_size: usize,
    /// True if each file is one JSON document, and not records on lines.
    pub json_document: bool,
    /// True if malformed records are skipped, and are no failure.
    pub skip_malformed: bool,
    /// True if records are checked by all of RFC 8259, and for UTF-8.
    pub strict: bool,
}

// A size does not show whether a field is in the padding of an earlier version: later fields begin here.
const _: () = assert!(size_of::<WarpathOptions>() == 6 * size_of::<usize>());

impl Default for WarpathOptions {
    fn default() -> Self {
        Self {
            struct_size: size_of::<Self>(),
            device: ptr::null(),
            time_format: ptr::null(),
            workers: 0,
            partition_size: 0,
            json_document: false,
            skip_malformed: false,
            strict: false,
        }
    }
}

/// The greatest size of options, of any version. A greater one is memory without a value.
const MOST_BYTES: usize = 4096;

impl WarpathOptions {
    /// Reads the options of a program, which may be older or newer than this library.
    ///
    /// # Safety
    /// `options` is null, or points to a size and as many bytes as it says, itself included. They are options
    /// of some version.
    unsafe fn read(options: *const Self) -> Result<Self, Failure> {
        let mut read = Self::default();
        if options.is_null() {
            return Ok(read);
        }
        // SAFETY: not null, and the caller of this function upholds that the size is there. The other fields
        // may be absent.
        let size = unsafe { (&raw const (*options).struct_size).read() };
        let (known, least) = (size_of::<Self>(), size_of::<usize>());
        // The size is a multiple of the alignment, in every version: no field is cut.
        if size < least || size > MOST_BYTES || !size.is_multiple_of(align_of::<Self>()) {
            return Err(Failure::usage(format!(
                "`struct_size` of the options is {size}; expected sizeof(WarpathOptions), which is {known} in this \
                 version"
            )));
        }
        let bytes = options.cast::<u8>();
        // SAFETY: the caller of this function upholds that `size` bytes are there.
        let later = (known..size).find(|at| unsafe { bytes.add(*at).read() } != 0);
        if let Some(at) = later {
            return Err(Failure::usage(format!(
                "byte {at} of the options is not zero: it is of a setting of a later version, which this library, \
                 version {}, does not have",
                env!("CARGO_PKG_VERSION")
            )));
        }
        // SAFETY: both sides have the bytes that are copied, and `read` is another object. Fields that are
        // copied are whole, and have values that the program gave them in C, whose `bool` is 0 or 1.
        unsafe { bytes.copy_to_nonoverlapping((&raw mut read).cast::<u8>(), size.min(known)) };
        Ok(read)
    }
}

/// An input: files, or bytes in memory. It may be read any number of times.
pub struct WarpathInput {
    engine: Engine,
    origin: Origin,
    time_format: Option<Arc<TimeFormat>>,
    predicate: Option<Predicate>,
}

/// The bytes that are read.
enum Origin {
    Files(Vec<std::path::PathBuf>),
    Bytes(&'static [u8]),
}

impl WarpathInput {
    /// # Safety
    /// `options` is as for [`WarpathOptions::read`], and its texts are null or end with a zero byte.
    unsafe fn new(origin: Origin, options: *const WarpathOptions) -> Result<Self, Failure> {
        // SAFETY: the contract is that of this function.
        let options = unsafe { WarpathOptions::read(options)? };
        let mut builder = Engine::builder()
            .format(if options.json_document { Format::Json } else { Format::Ndjson })
            .on_error(if options.skip_malformed { OnError::Skip } else { OnError::Fail })
            .strict(options.strict);
        if !options.device.is_null() {
            // SAFETY: the caller of this function upholds that the text ends with a zero byte.
            builder = builder.device(unsafe { text(options.device, "device")? }.parse()?);
        }
        if options.workers > 0 {
            builder = builder.workers(options.workers);
        }
        if options.partition_size > 0 {
            builder = builder.partition_size(options.partition_size);
        }
        let mut time_format = None;
        if !options.time_format.is_null() {
            // SAFETY: the caller of this function upholds that the text ends with a zero byte.
            let format = unsafe { text(options.time_format, "format of instants")? };
            let wrong = |why| Failure::usage(format!("the format of instants `{format}`: {why}"));
            time_format = Some(Arc::new(TimeFormat::new(format).map_err(wrong)?));
        }
        Ok(Self { engine: builder.build()?, origin, time_format, predicate: None })
    }

    /// The input, to be read once.
    pub fn input(&self) -> Input<'static> {
        let input = match &self.origin {
            Origin::Files(files) => self.engine.input(files.iter().cloned().map(Source::File).collect()),
            Origin::Bytes(bytes) => self.engine.bytes(InputBytes::shared(*bytes)).named("<memory>"),
        };
        match &self.predicate {
            Some(predicate) => input.matching(predicate),
            None => input,
        }
    }

    /// A query with the format of instants.
    pub fn query(&self, path: &str) -> Result<Query, Error> {
        match &self.time_format {
            Some(format) => Query::compile_with(path, format),
            None => Query::compile(path),
        }
    }

    /// The format of instants, if there is one.
    pub fn time_format(&self) -> Option<&Arc<TimeFormat>> {
        self.time_format.as_ref()
    }
}

/// The path that bytes of C name.
#[cfg(unix)]
fn path(name: &CStr) -> Result<&Path, Failure> {
    use std::os::unix::ffi::OsStrExt;
    Ok(Path::new(OsStr::from_bytes(name.to_bytes())))
}

/// The path that bytes of C name.
#[cfg(not(unix))]
fn path(name: &CStr) -> Result<&Path, Failure> {
    let name = name.to_str().map_err(|_| Failure::usage("the name of a file is not UTF-8"))?;
    Ok(Path::new(OsStr::new(name)))
}

/// Opens files of newline-delimited JSON: `count` names of files, folders or patterns. Files may be
/// compressed by gzip, zstd, bzip2, xz or lz4; their first bytes show it. Returns NULL
/// if it fails.
///
/// # Safety
/// `names` points to `count` strings that end with a zero byte. `options` is NULL, or points to options of
/// `struct_size` bytes, whose strings end with a zero byte. All of them are copied. The result is freed by
/// `warpath_input_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_open(
    names: *const *const c_char,
    count: usize,
    options: *const WarpathOptions,
) -> *mut WarpathInput {
    border(ptr::null_mut(), || {
        if names.is_null() {
            return Err(Failure::usage("the names are NULL"));
        }
        // SAFETY: not null, and the caller upholds that `count` strings follow.
        let names = unsafe { slice::from_raw_parts(names, count) };
        let mut files = Vec::new();
        for name in names {
            if name.is_null() {
                return Err(Failure::usage("a name is NULL"));
            }
            // SAFETY: not null, and the caller upholds that the string ends with a zero byte.
            let name = path(unsafe { CStr::from_ptr(*name) })?;
            for source in Source::named(name, FolderFiles::Json).map_err(Error::from)? {
                if let Source::File(path) = source {
                    // An absent file is a failure now, and not when it is read.
                    let failed = |source| InputError::Io { name: path.display().to_string(), source };
                    path.metadata().map_err(failed).map_err(Error::from)?;
                    files.push(path);
                }
            }
        }
        // SAFETY: the caller upholds the contract of the options.
        let input = unsafe { WarpathInput::new(Origin::Files(files), options)? };
        Ok(Box::into_raw(Box::new(input)))
    })
}

/// Opens `size` bytes of newline-delimited JSON in memory, which are not copied. Messages name the input
/// `<memory>`. Returns NULL if it fails.
///
/// # Safety
/// `data` points to `size` bytes, and may be NULL if `size` is 0. The bytes are neither changed nor freed
/// before the input, and all matches and streams that were made of it, are freed or released. `options` is as
/// for `warpath_open`. The result is freed by `warpath_input_free`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_open_bytes(
    data: *const u8,
    size: usize,
    options: *const WarpathOptions,
) -> *mut WarpathInput {
    border(ptr::null_mut(), || {
        let bytes: &'static [u8] = match (data.is_null(), size) {
            (_, 0) => &[],
            (true, _) => return Err(Failure::usage("the data is NULL")),
            // SAFETY: not null, and the caller upholds that the bytes are there, unchanged, for as long as
            // anything that was made of the input.
            (false, _) => unsafe { slice::from_raw_parts(data, size) },
        };
        // SAFETY: the caller upholds the contract of the options.
        let input = unsafe { WarpathInput::new(Origin::Bytes(bytes), options)? };
        Ok(Box::into_raw(Box::new(input)))
    })
}

/// Restricts an input to the records for which a condition is true, beside earlier conditions:
/// `$.user.followers >= 1000 && $.user.lang in ('en', 'nl')`. Matches and streams that were made before are
/// not affected. Returns 0, or -1 if it fails.
///
/// # Safety
/// `input` is a result of `warpath_open` or `warpath_open_bytes` that is not freed. `expression` ends with a
/// zero byte. No other thread uses the input.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_where(input: *mut WarpathInput, expression: *const c_char) -> i32 {
    border(-1, || {
        // SAFETY: the caller upholds that the pointer is null or a live input, which no other thread uses.
        let input = unsafe { input.as_mut() }.ok_or_else(|| Failure::usage("the input is NULL"))?;
        // SAFETY: the caller upholds that the text ends with a zero byte.
        let expression = unsafe { text(expression, "condition")? };
        let mut predicate = Predicate::parse(expression)?;
        if let Some(earlier) = &input.predicate {
            predicate = earlier.and(&predicate)?;
        }
        if let Some(format) = &input.time_format {
            predicate = predicate.with_time_format(format);
        }
        input.predicate = Some(predicate);
        Ok(0)
    })
}

/// Frees an input. Matches and streams that were made of it are still good.
///
/// # Safety
/// `input` is NULL, or a result of `warpath_open` or `warpath_open_bytes` that is not freed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn warpath_input_free(input: *mut WarpathInput) {
    border((), || {
        if !input.is_null() {
            // SAFETY: the caller upholds that a box made this pointer, and that it is freed once.
            drop(unsafe { Box::from_raw(input) });
        }
        Ok(())
    });
}
