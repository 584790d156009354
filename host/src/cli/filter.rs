//! `warpath filter`.

use std::fs;
use std::io::Write as _;
use std::process::ExitCode;

use rayon::prelude::*;
use warpath::twig::json::Fault;
use warpath::twig::{Matcher, Subscriptions, json, xml};
use warpath::{DeviceChoice, Engine, Error, IndexedPartition, InputError, Source};

use super::args::{DocumentsArg, FilterArgs, IdsFormatArg, OnErrorArg};
use super::failure::Failure;
use super::files;
use super::out::Out;
use super::run::excerpt;
use super::ui::Ui;

/// Bytes of lines that a thread takes at a time.
const CHUNK_BYTES: usize = 256 << 10;
/// Documents that are read whole together, for each thread.
const TOGETHER: usize = 4;

/// Prints which subscriptions documents match.
pub fn run(args: &FilterArgs, ui: &Ui) -> Result<ExitCode, Failure> {
    let (subscriptions, is_whole) = subscriptions(args, ui)?;
    let sources = files::sources(&args.files.files, args.output.as_deref(), ui)?;
    let mut filter = Filter {
        args,
        subscriptions: &subscriptions,
        out: Out::new(args.output.as_deref()),
        counts: vec![0; subscriptions.len()],
        skipped: 0,
        first_skipped: None,
        any: false,
    };
    let mut failure = filter.all(sources).err();
    if args.count {
        for (id, count) in subscriptions.ids().zip(&filter.counts) {
            // A vector takes everything.
            let _ = writeln!(filter.out.buffer, "{id}\t{count}");
        }
    }
    if let Err(error) = filter.out.finish() {
        failure = failure.or(Some(error));
    }
    if let Some(first) = &filter.first_skipped {
        let documents = if filter.skipped == 1 { "document" } else { "documents" };
        ui.warning(format_args!("{} malformed {documents} skipped; first: {first}", filter.skipped));
    }
    match failure {
        Some(failure) => Err(failure),
        None if !is_whole => Ok(ExitCode::from(3)),
        None => Ok(ExitCode::from(u8::from(args.exit_status && !filter.any))),
    }
}

/// The subscriptions of a file, and whether all of its lines are.
fn subscriptions(args: &FilterArgs, ui: &Ui) -> Result<(Subscriptions, bool), Failure> {
    let name = args.subscriptions.display();
    let failed = |source| Error::from(InputError::Io { name: name.to_string(), source });
    let text = fs::read(&args.subscriptions).map_err(failed)?;
    let text = String::from_utf8(text).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count() + 1;
        Failure::usage(format!("{name}:{line}: the subscriptions are not UTF-8"))
    })?;
    let mut subscriptions = Subscriptions::default();
    let errors = subscriptions.add_file(&text);
    for error in &errors {
        ui.error(format_args!("{name}:{}:{}: {error}", error.line, error.column));
    }
    if subscriptions.is_empty() {
        ui.warning(format_args!("{name}: there is no subscription"));
    }
    Ok((subscriptions, errors.is_empty()))
}

struct Filter<'a> {
    args: &'a FilterArgs,
    subscriptions: &'a Subscriptions,
    out: Out,
    counts: Vec<u64>,
    skipped: u64,
    first_skipped: Option<InputError>,
    any: bool,
}

/// What some documents gave.
#[derive(Default)]
struct Found {
    lines: Vec<u8>,
    counts: Vec<u64>,
    /// The malformed ones, or the first of them, behind which there is nothing.
    faults: Vec<(InputError, Option<String>)>,
    any: bool,
}

impl Found {
    /// Notes what a document matches, which is on a line of an input, or is all of it.
    fn note(&mut self, filter: &Asked<'_>, matcher: &Matcher<'_>, name: &str, line: Option<u64>) {
        let mut found = matcher.found().peekable();
        if found.peek().is_none() {
            return;
        }
        self.any = true;
        if filter.args.count {
            self.counts.resize(filter.ids.len(), 0);
            found.for_each(|at| self.counts[at] += 1);
            return;
        }
        let ids = found.map(|at| filter.ids[at]);
        // A vector takes everything.
        let _ = match (filter.args.format, line) {
            (IdsFormatArg::Ids, Some(line)) => write!(self.lines, "{name}:{line}\t"),
            (IdsFormatArg::Ids, None) => write!(self.lines, "{name}\t"),
            (IdsFormatArg::Ndjson, Some(line)) => {
                write!(self.lines, "{{\"file\":{},\"line\":{line},\"ids\":[", quoted(name))
            }
            (IdsFormatArg::Ndjson, None) => write!(self.lines, "{{\"file\":{},\"ids\":[", quoted(name)),
        };
        for (at, id) in ids.enumerate() {
            let _ = match filter.args.format {
                IdsFormatArg::Ids => write!(self.lines, "{}{id}", if at > 0 { " " } else { "" }),
                IdsFormatArg::Ndjson => write!(self.lines, "{}{}", if at > 0 { "," } else { "" }, quoted(id)),
            };
        }
        self.lines.extend_from_slice(if filter.args.format == IdsFormatArg::Ids { b"\n" } else { b"]}\n" });
    }
}

/// What threads share.
struct Asked<'a> {
    args: &'a FilterArgs,
    subscriptions: &'a Subscriptions,
    ids: Vec<&'a str>,
}

impl Filter<'_> {
    fn all(&mut self, sources: Vec<Source>) -> Result<(), Failure> {
        let asked = Asked {
            args: self.args,
            subscriptions: self.subscriptions,
            ids: self.subscriptions.ids().collect(),
        };
        let mut sources = sources.into_iter().peekable();
        while let Some(first) = sources.peek() {
            let kind = kind(self.args.input, first);
            let mut same = Vec::new();
            let most = if kind == DocumentsArg::Ndjson {
                usize::MAX
            } else {
                TOGETHER * rayon::current_num_threads()
            };
            while let Some(source) =
                sources.next_if(|source| same.len() < most && self::kind(self.args.input, source) == kind)
            {
                same.push(source);
            }
            if kind == DocumentsArg::Ndjson {
                self.lines(&asked, same)?;
            } else {
                let found: Vec<Result<Found, Error>> =
                    same.into_par_iter().map(|source| asked.document(source, kind)).collect();
                found.into_iter().try_for_each(|found| self.take(found?))?;
            }
        }
        Ok(())
    }

    /// Inputs whose lines are documents.
    fn lines(&mut self, asked: &Asked<'_>, sources: Vec<Source>) -> Result<(), Failure> {
        let engine = Engine::builder().device(DeviceChoice::Cpu).build()?;
        for partition in engine.input(sources).indexes(0) {
            let partition = partition?;
            let chunks = chunks(&partition.index.line_starts);
            let found: Vec<Found> = chunks
                .into_par_iter()
                .map_init(
                    || (json::Lines::default(), asked.subscriptions.matcher()),
                    |(lines, matcher), chunk| asked.lines(lines, matcher, &partition, chunk),
                )
                .collect();
            found.into_iter().try_for_each(|found| self.take(found))?;
            self.out.pause()?;
        }
        Ok(())
    }

    /// Takes what documents gave, in their order.
    fn take(&mut self, found: Found) -> Result<(), Failure> {
        self.any |= found.any;
        self.out.lines(&found.lines)?;
        for (all, count) in self.counts.iter_mut().zip(found.counts) {
            *all += count;
        }
        for (error, shown) in found.faults {
            if self.args.on_error == OnErrorArg::Fail {
                return Err(Failure::Library(Box::new(error.into()), shown));
            }
            self.skipped += 1;
            self.first_skipped.get_or_insert(error);
        }
        Ok(())
    }
}

/// What an input is.
fn kind(asked: Option<DocumentsArg>, source: &Source) -> DocumentsArg {
    let name = source.name().to_ascii_lowercase();
    let is_xml = [".xml", ".xml.gz", ".xml.zst"].iter().any(|end| name.ends_with(end));
    asked.unwrap_or(if is_xml { DocumentsArg::Xml } else { DocumentsArg::Ndjson })
}

/// Ranges of lines that have so many bytes together, or one more.
fn chunks(line_starts: &[u32]) -> Vec<std::ops::Range<usize>> {
    let (mut chunks, mut first) = (Vec::new(), 0);
    let lines = line_starts.len().saturating_sub(1);
    while first < lines {
        let end = line_starts[first] as usize + CHUNK_BYTES;
        let behind = line_starts[first + 1..=lines].partition_point(|start| (*start as usize) < end);
        let last = (first + 1 + behind).min(lines);
        chunks.push(first..last);
        first = last;
    }
    chunks
}

impl Asked<'_> {
    fn lines(
        &self,
        lines: &mut json::Lines,
        matcher: &mut Matcher<'_>,
        partition: &IndexedPartition,
        chunk: std::ops::Range<usize>,
    ) -> Found {
        let starts = &partition.index.line_starts;
        let text = &partition.text()[starts[chunk.start] as usize..starts[chunk.end] as usize];
        let first = partition.first_line + chunk.start as u64 + 1;
        let mut found = Found::default();
        let stops = self.args.on_error == OnErrorArg::Fail;
        lines.read(text, matcher, |matcher, line, ended| {
            let number = first + line as u64;
            match ended {
                _ if stops && !found.faults.is_empty() => {}
                Ok(()) => found.note(self, matcher, partition.source(), Some(number)),
                Err(fault) => {
                    let at = (chunk.start + line, chunk.start + line + 1);
                    let line = &partition.text()[starts[at.0] as usize..starts[at.1] as usize];
                    found.faults.push(faulty(partition.source(), number, line, fault));
                }
            }
            matcher.reset();
        });
        found
    }

    /// An input that is one document.
    fn document(&self, source: Source, kind: DocumentsArg) -> Result<Found, Error> {
        let name = source.name();
        let bytes = source.read_whole()?;
        let (mut found, mut matcher) = (Found::default(), self.subscriptions.matcher());
        let fault = if kind == DocumentsArg::Json {
            let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
            let told = json::read(text, &mut matcher);
            told.err().map(|fault| {
                let before = &text[..fault.at.min(text.len())];
                let line = before.iter().filter(|byte| **byte == b'\n').count() as u64 + 1;
                let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
                let fault = warpath::tree::TreeFault { at: fault.at - start, ..fault };
                (InputError::of_tree(&name, line, fault), None)
            })
        } else {
            match str::from_utf8(&bytes) {
                Ok(text) => {
                    let told = xml::read(text, &mut matcher);
                    told.err().map(|error| (InputError::of_xml(&name, text, error), None))
                }
                Err(error) => {
                    let (good, _) = bytes.split_at(error.valid_up_to());
                    let error = xml::XmlError { at: good.len() as u64, message: "is not UTF-8".to_owned() };
                    let good = String::from_utf8_lossy(good);
                    Some((InputError::of_xml(&name, &good, error), None))
                }
            }
        };
        match fault {
            Some(fault) => found.faults.push(fault),
            None => found.note(self, &matcher, &name, None),
        }
        Ok(found)
    }
}

fn faulty(name: &str, number: u64, line: &[u8], fault: Fault) -> (InputError, Option<String>) {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    let error = InputError::of_fault(name, number, fault);
    (error, Some(excerpt(line, fault.at)))
}

/// A text as a JSON string.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for char in text.chars() {
        match char {
            '"' | '\\' => quoted.extend(['\\', char]),
            control if control < ' ' => quoted.push_str(&format!("\\u{:04x}", u32::from(control))),
            other => quoted.push(other),
        }
    }
    quoted + "\""
}
