//! Groups of records: by values, by buckets of time, by input.

use std::io::{self, Cursor, Read};

use warpath::aggregate::Grouping;
use warpath::schema::{JsonType, SchemaNode, SchemaTree};
use warpath::time::{Every, Format, Zone};
use warpath::{Batch, DeviceChoice, Engine, Error, InputError, OnError, Query, Source};
use warpath_core::key;
use warpath_exec::aggregate::count::append_values;
use warpath_exec::aggregate::grouping::NoTimes;
use warpath_store::schema::step_text;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::{Location, Ui};

use super::args::{GroupArgs, WhereArgs};
use super::failure::Failure;
use super::paths;
use super::rows::Cell;
use super::served;

/// The groups that the options name.
pub struct Groups {
    /// The paths by which workers group.
    pub grouping: Grouping,
    /// The names of the columns of the groups.
    pub names: Vec<String>,
    by_file: bool,
    every: Option<Every>,
    /// The key of the input that the last batch was of.
    prefix: Vec<u8>,
    not_times: NotTimes,
}

/// Values that should be instants and are not.
#[derive(Default)]
pub struct NotTimes {
    count: u64,
    /// The location and the text of the first one.
    first: Option<(Option<Location>, String)>,
}

impl Groups {
    /// The groups by `paths`, after those of `args`. Reads the first records of the inputs if it has to find
    /// the time of records.
    pub fn new(
        paths: &[String],
        args: &GroupArgs,
        only: &WhereArgs,
        sources: &mut [Source],
        ui: &Ui,
    ) -> Result<Self, Failure> {
        let mut names = Vec::new();
        if args.by_file {
            names.push("file".to_owned());
        }
        let mut grouping = Grouping::default();
        if let Some(every) = args.every {
            let path = match &args.time {
                Some(path) => paths::full(path).into_owned(),
                None => found_time(sources, only.time_format.as_ref(), ui)?,
            };
            let time = only.query(&path)?;
            let format = only.time_format.clone();
            grouping = grouping.with_time(time, every.in_zone(args.time_zone), format);
            names.push("time".to_owned());
        }
        for path in paths {
            grouping = grouping.with_value(only.query(path)?);
            names.push(path.clone());
        }
        Ok(Self {
            grouping,
            names,
            by_file: args.by_file,
            every: args.every.map(|every| every.in_zone(args.time_zone)),
            prefix: Vec::new(),
            not_times: NotTimes::default(),
        })
    }

    /// The number of groups whose rows are in the order of their values: inputs and buckets of time.
    pub fn leading(&self) -> usize {
        usize::from(self.by_file) + usize::from(self.every.is_some())
    }

    /// The buckets of time, if they alone are the groups.
    pub fn only_every(&self) -> Option<Every> {
        self.every.filter(|_| self.names.len() == 1)
    }

    /// True if records are grouped by something else than the values of one path.
    pub fn has_groups(&self) -> bool {
        !self.names.is_empty()
    }

    /// The start of the keys of the groups of a batch.
    pub fn prefix(&mut self, batch: &Batch) -> &[u8] {
        self.prefix.clear();
        if self.by_file {
            let mut name = Vec::new();
            key::write_string(batch.source().as_bytes(), &mut name);
            key::encode(&name, &mut self.prefix);
        }
        &self.prefix
    }

    /// Counts values of a batch that are not instants.
    pub fn count_no_times(&mut self, batch: &Batch, found: &NoTimes) {
        self.not_times.add(batch, found);
    }

    /// Warns of values that are not instants.
    pub fn report(&self, ui: &Ui) {
        self.not_times.report(self.grouping.paths().first().map(Query::text).unwrap_or_default(), ui);
    }
}

impl NotTimes {
    /// Counts values of a batch that are not instants.
    pub fn add(&mut self, batch: &Batch, found: &NoTimes) {
        self.count += found.count;
        if let (None, Some((piece, line, text))) = (&self.first, &found.first)
            && let Some((first_line, of)) = batch.pieces().nth(*piece as usize)
        {
            let line = batch.line_at(of, first_line, *line, 0);
            let place = Location { file: batch.source().to_owned(), line: Some(line), byte: None };
            self.first = Some((Some(place), String::from_utf8_lossy(text).into_owned()));
        }
    }

    /// Counts a value that is not an instant.
    pub fn add_value(&mut self, text: &str) {
        self.count += 1;
        self.first.get_or_insert_with(|| (None, text.to_owned()));
    }

    /// Warns of values of a path that are not instants.
    pub fn report(&self, path: &str, ui: &Ui) {
        let Self { count, first: Some((place, text)) } = self else { return };
        let values = match count {
            1 => "1 value is not an instant and counts".to_owned(),
            count => format!("{count} values are not instants and count"),
        };
        ui.warning_at(place.clone(), format!("`{}`: {values} as missing: {}", escaped(path), escaped(text)));
        ui.help("`--time-format` names the format of instants, such as '%d/%b/%Y:%H:%M:%S %z', or `ms`");
    }
}

/// The values of a key as cells of a row, in buffers that are used again.
#[derive(Default)]
pub struct Cells {
    text: Vec<u8>,
    /// The end of each value, and false for a missing value.
    ends: Vec<(usize, bool)>,
    /// The number of the cell that is an instant, and its time zone.
    time: Option<(usize, Zone)>,
}

impl Cells {
    /// Cells of groups: those of instants are in the time zone of the groups.
    pub fn of_groups(groups: &Groups) -> Self {
        let time = groups.every.map(|every| (usize::from(groups.by_file), every.zone()));
        Self { time: time.filter(|(_, zone)| *zone != Zone::default()), ..Self::default() }
    }

    /// The values of a key.
    pub fn of(&mut self, key: &[u8]) -> impl Iterator<Item = Cell<'_>> {
        self.text.clear();
        self.ends.clear();
        append_values(key, &mut self.text, &mut self.ends);
        if let Some((number, zone)) = self.time {
            self.show_in(number, zone);
        }
        let (text, mut begin) = (&self.text, 0);
        self.ends.iter().map(move |(end, is_there)| {
            let value = &text[begin..*end];
            begin = *end;
            is_there.then_some(value)
        })
    }

    /// Shows an instant in a time zone.
    fn show_in(&mut self, number: usize, zone: Zone) {
        let begin = if number == 0 { 0 } else { self.ends[number - 1].0 };
        let Some((end, true)) = self.ends.get(number).copied() else { return };
        let utc = std::str::from_utf8(&self.text[begin..end]).unwrap_or_default().trim_matches('"');
        let Some(shown) = instant(utc).and_then(|instant| zone.show(instant)) else { return };
        self.text.splice(begin..end, format!("\"{shown}\"").into_bytes());
        let longer = shown.len() + 2;
        for (at, _) in &mut self.ends[number..] {
            *at = *at + longer - (end - begin);
        }
    }
}

/// The instant of a bucket's text.
pub fn instant(text: &str) -> Option<warpath::time::Instant> {
    warpath_core::time::quick(text)
}

/// The most records in which the time is looked for.
const SAMPLE_RECORDS: u64 = 1000;

/// The most bytes of a pipe that are read ahead.
const AHEAD_BYTES: usize = 64 << 10;

/// The names that times have, the surest first.
const NAMES: [&str; 16] = [
    "@timestamp",
    "timestamp",
    "time",
    "ts",
    "datetime",
    "date_time",
    "eventTime",
    "event_time",
    "time_us",
    "time_ms",
    "created_at",
    "createdAt",
    "requestReceivedTimestamp",
    "date",
    "at",
    "t",
];

/// Finds the path of the time of records: the one whose strings are all instants, or numbers of a name that
/// times have.
fn found_time(sources: &mut [Source], format: Option<&Format>, ui: &Ui) -> Result<String, Failure> {
    let needed = |why: String| {
        Failure::usage(format!("`--every` needs the time of a record: {why}"))
            .with_help("name its path: `--time '$.timestamp'`")
    };
    let Some(first) = sources.first_mut() else { return Err(needed("there is no input".to_owned())) };
    let name = first.name();
    let Some(sample) = sample(first)? else {
        return Err(needed(format!("{} cannot be read twice", escaped(&name))));
    };
    let engine =
        served::limited(Engine::builder().device(DeviceChoice::Cpu).on_error(OnError::Skip)).build()?;
    let mut parts = engine.input(vec![sample]).schema(Some(SAMPLE_RECORDS)).keeping_names(true);
    // The end of what was read ahead may be within a value. The run itself reports all errors.
    while let Some(Ok(_)) = parts.next() {}
    let schema = parts.finish();
    let candidates = candidates(&schema.tree, format.is_some());
    match &candidates[..] {
        [] => Err(needed(format!("no path of {}'s first records has instants", escaped(&name)))),
        [path, others @ ..] => {
            let others: Vec<String> =
                others.iter().take(3).map(|path| format!("`{}`", escaped(path))).collect();
            let also =
                if others.is_empty() { String::new() } else { format!(", and not {}", others.join(", ")) };
            ui.note(format_args!(
                "the time of a record is `{}`{also} (`--time PATH` names it)",
                escaped(path)
            ));
            Ok(path.clone())
        }
    }
}

/// The start of an input, which the input still has afterwards. `None` for an input that cannot be read
/// twice.
fn sample(source: &mut Source) -> Result<Option<Source>, Failure> {
    let name = source.name();
    Ok(match source {
        Source::File(path) | Source::Followed(path, ..) => Some(Source::File(path.clone())),
        Source::Part(path, text) => Some(Source::Part(path.clone(), text.clone())),
        Source::Loaded(input) => Some(Source::Loaded(input.clone())),
        Source::Values(inner, layout) => sample(inner)?.map(|inner| Source::Values(Box::new(inner), *layout)),
        Source::Records(inner, lines) => {
            sample(inner)?.map(|inner| Source::Records(Box::new(inner), lines.apart()))
        }
        Source::Column(inner, column) => match &**inner {
            Source::File(path) => Some(Source::Column(Box::new(Source::File(path.clone())), column.clone())),
            _ => None,
        },
        Source::Stdin | Source::Reader(..) => {
            let reader: Box<dyn Read + Send> = match std::mem::replace(source, Source::Stdin) {
                Source::Reader(_, reader) => reader,
                _ => Box::new(io::stdin()),
            };
            let (ahead, reader) = read_ahead(&name, reader)?;
            let all = Box::new(Cursor::new(ahead.clone()).chain(reader));
            *source = Source::Reader(name.clone(), all);
            Some(Source::Bytes(name, ahead.into()))
        }
        _ => None,
    })
}

/// Reads the start of an input: a line, and what comes with it.
fn read_ahead(
    name: &str,
    mut input: Box<dyn Read + Send>,
) -> Result<(Vec<u8>, Box<dyn Read + Send>), Failure> {
    let (mut ahead, mut buffer) = (Vec::new(), vec![0; AHEAD_BYTES]);
    while ahead.len() < AHEAD_BYTES && !ahead.contains(&b'\n') {
        match input.read(&mut buffer) {
            Ok(0) => break,
            Ok(len) => ahead.extend_from_slice(&buffer[..len]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(source) => {
                return Err(Error::from(InputError::Io { name: name.to_owned(), source }).into());
            }
        }
    }
    Ok((ahead, input))
}

/// The paths that may be the time of a record, the likeliest first.
fn candidates(tree: &SchemaTree, any_string: bool) -> Vec<String> {
    let mut search = Search { records: tree.records(), any_string, found: Vec::new() };
    search.members(tree.root(), "$", 0);
    search.found.sort_by_key(|(rank, _)| *rank);
    search.found.into_iter().map(|(_, path)| path).collect()
}

/// True if some records lack the time, the number of its name, and how deep it is.
type Rank = (bool, usize, usize);

/// A search for times.
struct Search {
    records: u64,
    /// True if any string may be an instant, because there is a format.
    any_string: bool,
    found: Vec<(Rank, String)>,
}

impl Search {
    fn members(&mut self, node: SchemaNode<'_>, path: &str, depth: usize) {
        for member in node.members() {
            let name = member.name().unwrap_or_default();
            let path = format!("{path}{}", step_text(member.step()));
            let kinds = member.kinds();
            let has = |kind: JsonType| kinds.contains(&kind);
            let of = |allowed: &[JsonType]| {
                kinds.iter().all(|kind| allowed.contains(kind) || *kind == JsonType::Null)
            };
            let number = NAMES.iter().position(|known| known.eq_ignore_ascii_case(&name));
            let is_time = has(JsonType::Time) && of(&[JsonType::Time])
                || has(JsonType::Date) && of(&[JsonType::Date, JsonType::Time])
                || number.is_some() && has(JsonType::Int64) && of(&[JsonType::Int64, JsonType::Float64])
                || number.is_some() && self.any_string && has(JsonType::String);
            if is_time {
                let is_rare = 100 * member.total() < 99 * self.records;
                self.found.push(((is_rare, number.unwrap_or(NAMES.len()), depth), path.clone()));
            }
            self.members(member, &path, depth + 1);
        }
    }
}
