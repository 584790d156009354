//! `warpath pack` and `warpath unpack`.

use std::io::{self, IsTerminal};
use std::ops::Range;
use std::path::Path;
use std::process::ExitCode;
use std::slice;
use std::time::Instant;

use indicatif::BinaryBytes;
use warpath::Source;
use warpath::packed::{PackOptions, PackedFile, unpack};
use warpath_exec::pack::{pack_to_watched, pack_watched};
use warpath_terminal::messages::Ui;
use warpath_terminal::progress::Progress;

use super::args::{PackArgs, UnpackArgs};
use super::failure::Failure;
use super::files;
use super::formats;
use super::inherited;
use super::out::{self, Out};
use super::statistics::{self, Statistics};
use super::written::Written;

/// Packs a file.
pub fn pack_file(args: &PackArgs, ui: &Ui, started: Instant) -> Result<ExitCode, Failure> {
    let PackArgs { file, output, group_size, report } = args;
    let output = &output.output;
    let source = source(file)?;
    Written::to(output).refuse_inputs(slice::from_ref(&source))?;
    let mut options = PackOptions::default();
    if let Some(bytes) = group_size {
        options = options.group_bytes(*bytes);
    }
    let mut progress = Progress::new(report.progress.progress, source.text_bytes(), false);
    let mut packed_bytes = 0;
    let mut show = |bytes| {
        packed_bytes = bytes;
        progress.update(bytes);
    };
    let packed = if output == Path::new("-") {
        if io::stdout().is_terminal() {
            return Err(Failure::usage("a packed file is not written to a terminal")
                .with_help("name a file: -o FILE.wpk"));
        }
        inherited::stdout().map_err(out::stdout_failed)?;
        pack_to_watched(source, &mut io::stdout().lock(), STDOUT, options, &mut show).map_err(unread)
    } else {
        let failed = |source| Failure::Output { name: format!("`{}`", output.display()), source };
        inherited::named(output).map_err(failed)?;
        pack_watched(source, output, options, &mut show).map_err(Failure::from)
    };
    progress.finish(packed_bytes);
    let packed = packed?;
    if let Some(format) = report.stats.stats {
        let took = started.elapsed();
        let said = format!(
            "{} of text in {}{}; {} newlines, {} groups; {:.3} s",
            BinaryBytes(packed.text_bytes),
            BinaryBytes(packed.file_bytes),
            ratio(packed.text_bytes, packed.file_bytes),
            packed.lines,
            packed.groups,
            took.as_secs_f64(),
        );
        let statistics = Statistics::new([("packed", said)])
            .exactly("packed", "text_bytes", packed.text_bytes)
            .exactly("packed", "file_bytes", packed.file_bytes)
            .exactly("packed", "newlines", packed.lines)
            .exactly("packed", "groups", packed.groups)
            .seconds("packed", "total_seconds", took);
        statistics::show(ui, &statistics, format);
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the text of a packed file, or some lines of it, or checks the file.
pub fn unpack_file(args: &UnpackArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let UnpackArgs { file, output, lines, check } = args;
    formats::check_uncompressed(output)?;
    let source = source(file)?;
    Written::of(output).refuse_inputs(slice::from_ref(&source))?;
    let mut out = Out::new(output).made_from(Source::output_mode([&source]));
    if lines.is_none() && !check {
        unpack(source, |text| out.lines(text).map_err(|failure| io::Error::other(Failed(failure))))
            .map_err(told)?;
        out.finish()?;
        return Ok(ExitCode::SUCCESS);
    }
    if file == Path::new("-") {
        return Err(Failure::usage("`--lines` and `--check` need a file, not standard input"));
    }
    let packed = PackedFile::open(file)?;
    if *check {
        packed.check()?;
        let info = packed.info();
        let said = format!(
            "{} bytes of text in {}{}; {} newlines, {} groups: all checksums match\n",
            info.text_bytes,
            info.file_bytes,
            ratio(info.text_bytes, info.file_bytes),
            info.lines,
            info.groups,
        );
        out.buffer.extend_from_slice(said.as_bytes());
    }
    if let Some(Range { start, end }) = lines {
        // The number of bytes that are unpacked at once. They fit in memory on any system.
        const STEP: u64 = 8 << 20;
        let wanted = packed.lines_at(*start..*end)?;
        if wanted.start == packed.info().text_bytes && *start > 0 {
            ui.note(format_args!(
                "there is no line {}: the text has {} newlines",
                start + 1,
                packed.info().lines
            ));
        }
        let mut at = wanted.start;
        while at < wanted.end {
            let next = wanted.end.min(at + STEP);
            out.lines(&packed.text(at..next)?)?;
            at = next;
        }
    }
    out.finish()?;
    Ok(ExitCode::SUCCESS)
}

/// The ratio of text bytes to file bytes, in words. Empty for an empty text.
fn ratio(text: u64, file: u64) -> String {
    if text == 0 { String::new() } else { format!(", {:.2} to 1", text as f64 / file.max(1) as f64) }
}

/// The name of standard output in errors of writing.
const STDOUT: &str = "<stdout>";

/// The failure for an error of packing. A reader that closes its end of the pipe early is no error.
fn unread(error: warpath::Error) -> Failure {
    match error {
        warpath::Error::Output { source, .. } if source.kind() == io::ErrorKind::BrokenPipe => {
            Failure::BrokenPipe
        }
        error => error.into(),
    }
}

/// A failure to write, wrapped so that it passes through a reader's error type.
#[derive(Debug)]
struct Failed(Failure);

impl std::fmt::Display for Failed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the text cannot be written")
    }
}

impl std::error::Error for Failed {}

/// The failure for an error of unpacking. It unwraps a [`Failed`].
fn told(error: warpath::Error) -> Failure {
    if let warpath_core::error::Error::Input(warpath_core::error::InputError::Io { name, source }) = error {
        return match source.downcast::<Failed>() {
            Ok(Failed(failure)) => failure,
            Err(source) => {
                warpath_core::error::Error::from(warpath_core::error::InputError::Io { name, source }).into()
            }
        };
    }
    error.into()
}

fn source(file: &Path) -> Result<Source, Failure> {
    files::one(file)
}
