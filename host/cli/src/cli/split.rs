//! `query -o 'out/{$.host}.ndjson'`: matches in files that values of their records name.

use std::collections::{HashMap, HashSet};
use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use warpath::aggregate::Grouping;
use warpath::time::{Every, Zone};
use warpath::{Batch, Source, Want};
use warpath_core::json::{self, Malformed};
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_core::time;
use warpath_exec::aggregate::count::values;
use warpath_exec::aggregate::split::{GroupedText, SplitRecords};
use warpath_exec::stream::Digest;
use warpath_terminal::escape::escaped;
use warpath_terminal::messages::Ui;

use super::args::{OutputArgs, WhereArgs};
use super::failure::Failure;
use super::groups::NotTimes;
use super::out::Out;
use super::paths;
use super::run::{Flow, Needs, Refused, Sink};

/// The bytes of records that wait to be written. Files are open one at a time, while they are written.
const BUFFER_BYTES: usize = 64 << 20;

/// The most files.
const MOST_FILES: usize = 100_000;

/// The most bytes of a value in a name. A longer one is cut, and a hash of it follows.
const MOST_NAME: usize = 180;

/// The options that write files that values name, for messages.
pub const MANY: &str = "`-o` with `{PATH}` in its name";

/// The units of time in a template.
const PERIODS: [&str; 4] = ["hour", "day", "month", "year"];

/// The name of an output with values in it: `out/{$.host}/{day($.at)}.ndjson`.
pub struct Template {
    /// The text before each value.
    before: Vec<String>,
    /// The text after the last value.
    after: String,
    /// The paths of the values, and the period of an instant.
    values: Vec<(String, Option<&'static str>)>,
}

impl Template {
    /// The template that the name of an output is; `None` for another name.
    pub fn of(output: &OutputArgs) -> Option<Self> {
        let (mut template, mut rest) =
            (Self { before: Vec::new(), after: String::new(), values: Vec::new() }, output.path()?.to_str()?);
        let mut text = String::new();
        while let Some(open) = rest.find('{') {
            let value = rest[open + 1..].find('}').map(|len| &rest[open + 1..open + 1 + len]);
            let of = |value: &str| {
                let period = |name: &&str| value.strip_prefix(*name).and_then(|rest| rest.strip_prefix('('));
                match PERIODS.into_iter().find(|name| period(name).is_some()) {
                    Some(name) => Some((period(&name)?.strip_suffix(')')?.to_owned(), Some(name))),
                    None => value.starts_with(['$', '.']).then(|| (value.to_owned(), None)),
                }
            };
            match value.and_then(|value| Some((value, of(value)?))) {
                Some((value, of)) => {
                    text.push_str(&rest[..open]);
                    template.before.push(std::mem::take(&mut text));
                    template.values.push(of);
                    rest = &rest[open + value.len() + 2..];
                }
                None => {
                    text.push_str(&rest[..=open]);
                    rest = &rest[open + 1..];
                }
            }
        }
        template.after = text + rest;
        (!template.values.is_empty()).then_some(template)
    }

    /// The groups of records whose files have one name.
    pub fn grouping(&self, only: &WhereArgs, zone: Zone) -> Result<Grouping, Failure> {
        let mut grouping = Grouping::default();
        for (path, period) in &self.values {
            let query = only.query(&paths::full(path))?;
            grouping = match period {
                None => grouping.with_value(query),
                Some(period) => {
                    let every: Every = period.parse().map_err(Failure::usage)?;
                    grouping.with_time(query, every.in_zone(zone), only.time_format.clone())
                }
            };
        }
        Ok(grouping)
    }

    /// The path of the first time; empty without one.
    pub fn time_path(&self) -> String {
        let time = self.values.iter().find(|(_, period)| period.is_some());
        time.map(|(path, _)| paths::full(path).into_owned()).unwrap_or_default()
    }

    /// The columns of the values, as a name shows them, and their paths.
    pub fn columns(&self) -> impl Iterator<Item = (String, &str)> {
        self.values.iter().map(|(path, period)| match period {
            Some(period) => (format!("{{{period}({path})}}"), &**path),
            None => (format!("{{{path}}}"), &**path),
        })
    }

    /// The file of a group. Times are of a zone.
    fn file(&self, key: &[u8], zone: Zone) -> PathBuf {
        let mut name = String::new();
        for ((before, (_, period)), value) in self.before.iter().zip(&self.values).zip(values(key)) {
            name.push_str(before);
            name.push_str(&part(value.as_deref(), period.map(|period| (period, zone))));
        }
        PathBuf::from(name + &self.after)
    }
}

/// A value as a part of a name. Different values are different parts. Characters that names cannot have, or
/// that mean something to a shell or to a file system, are percent-encoded.
fn part(value: Option<&str>, period: Option<(&str, Zone)>) -> String {
    let Some(json) = value else { return "missing".to_owned() };
    if json == "null" {
        return json.to_owned();
    }
    let text = match json::inside(json.as_bytes()) {
        None => json.to_owned(),
        Some(inside) => {
            let mut decoded = Vec::new();
            json::decode(inside, Malformed::Order, &mut decoded);
            String::from_utf8_lossy(&decoded).into_owned()
        }
    };
    if let Some((period, zone)) = period {
        let text = time::read(&text).and_then(|instant| zone.show(instant)).unwrap_or(text);
        // `2026-03-02T10:00:00Z` up to the period.
        let len = match period {
            "year" => 4,
            "month" => 7,
            "day" => 10,
            _ => 13,
        };
        return text.get(..len).unwrap_or(&text).to_owned();
    }
    let is_reserved = text == "missing" || text == "null";
    let mut name = String::new();
    for (at, c) in text.chars().enumerate() {
        let is_plain = c.is_alphanumeric() || matches!(c, '-' | '_' | '.' | '@' | '+' | '=' | ',' | '~');
        if is_plain && !(at == 0 && (c == '.' || is_reserved)) {
            name.push(c);
        } else {
            let mut bytes = [0; 4];
            c.encode_utf8(&mut bytes).bytes().for_each(|byte| name.push_str(&format!("%{byte:02X}")));
        }
    }
    if name.is_empty() {
        return "%".to_owned();
    }
    if name.len() > MOST_NAME {
        let end = (0..=MOST_NAME).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name.truncate(end);
        name.push_str(&format!("%{:016x}", warpath_core::stamp::hash(text.as_bytes())));
    }
    name
}

/// A sink that writes records into files.
pub struct Split {
    digest: Arc<SplitRecords>,
    time_path: String,
    not_times: NotTimes,
    files: Files,
    /// The records of each file that are not written yet.
    waiting: Vec<Vec<u8>>,
    buffered: usize,
    pub records: u64,
}

impl Split {
    /// Splits the records of inputs by a template.
    pub fn new(
        template: Template,
        only: &WhereArgs,
        zone: Zone,
        sources: &[Source],
    ) -> Result<Self, Failure> {
        let grouping = template.grouping(only, zone)?;
        Ok(Self {
            time_path: template.time_path(),
            digest: Arc::new(SplitRecords::new(grouping)?),
            not_times: NotTimes::default(),
            files: Files::new(template, zone, sources),
            waiting: Vec::new(),
            buffered: 0,
            records: 0,
        })
    }

    /// Writes the records that wait.
    fn flush(&mut self) -> Result<(), Failure> {
        for (number, records) in
            self.waiting.iter_mut().enumerate().filter(|(_, records)| !records.is_empty())
        {
            let file = self.files.temporary(number);
            let written = OpenOptions::new().append(true).open(file.path());
            let written = written.and_then(|mut open| open.write_all(records));
            written.map_err(|source| failed(file.target(), source))?;
            *records = Vec::new();
        }
        self.buffered = 0;
        Ok(())
    }
}

/// The files that a template names. They have temporary names until all are complete, and none is open.
pub struct Files {
    template: Template,
    zone: Zone,
    /// The files so far, by the keys of their groups.
    by_key: HashMap<Vec<u8>, usize>,
    by_name: HashMap<PathBuf, usize>,
    unfinished: Vec<Temporary>,
    mode: OutputMode,
    /// The inputs that are files. No output may replace one.
    inputs: HashSet<PathBuf>,
    /// True once all files have their names.
    is_complete: bool,
}

impl Files {
    /// The files for the records of inputs. Times in names are of a zone.
    pub fn new(template: Template, zone: Zone, sources: &[Source]) -> Self {
        Self {
            template,
            zone,
            by_key: HashMap::new(),
            by_name: HashMap::new(),
            unfinished: Vec::new(),
            mode: Source::output_mode(sources),
            inputs: sources.iter().filter_map(|source| fs::canonicalize(source.name()).ok()).collect(),
            is_complete: false,
        }
    }

    /// The path of the first time of the names; empty without one.
    pub fn time_path(&self) -> String {
        self.template.time_path()
    }

    /// A file under its temporary name.
    pub fn temporary(&self, number: usize) -> &Temporary {
        &self.unfinished[number]
    }

    /// The number of the file of a group.
    pub fn number(&mut self, key: &[u8]) -> Result<usize, Failure> {
        if let Some(number) = self.by_key.get(key) {
            return Ok(*number);
        }
        let path = self.template.file(key, self.zone);
        let number = match self.by_name.get(&path) {
            Some(number) => *number,
            None => {
                if self.unfinished.len() == MOST_FILES {
                    return Err(Failure::usage(format!(
                        "the output has more than {MOST_FILES} files, the last of them `{}`",
                        escaped(&path.display().to_string())
                    ))
                    .with_help("split by fewer values, or write one file and sort it by the value"));
                }
                if fs::canonicalize(&path).is_ok_and(|path| self.inputs.contains(&path)) {
                    let path = escaped(&path.display().to_string()).into_owned();
                    return Err(Failure::usage(format!("{path}: is both an input and an output"))
                        .with_help("write to another folder: `-o 'out/{PATH}.ndjson'`"));
                }
                let made = path
                    .parent()
                    .map_or(Ok(()), fs::create_dir_all)
                    .and_then(|()| Temporary::beside(&path, self.mode));
                let (file, _) = made.map_err(|source| failed(&path, source))?;
                self.unfinished.push(file);
                self.by_name.insert(path, self.unfinished.len() - 1);
                self.unfinished.len() - 1
            }
        };
        self.by_key.insert(key.to_owned(), number);
        Ok(number)
    }

    /// Gives all files their names.
    pub fn rename(&mut self) -> Result<(), Failure> {
        for file in std::mem::take(&mut self.unfinished).into_iter().rev() {
            let path = file.target().to_owned();
            file.rename().map_err(|source| failed(&path, source))?;
        }
        self.is_complete = true;
        Ok(())
    }

    /// Reports the numbers of records, or of rows, and of files.
    pub fn report(&self, records: u64, what: &str, ui: &Ui) {
        if self.is_complete {
            let counted =
                |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
            ui.note(format_args!(
                "{} in {}",
                counted(records, what),
                counted(self.by_name.len() as u64, "file")
            ));
        }
    }
}

pub fn failed(path: &Path, source: io::Error) -> Failure {
    Failure::Output { name: format!("`{}`", path.display()), source }
}

impl Sink for Split {
    fn needs(&self) -> Needs {
        let want: Want = self.digest.want();
        Needs { digest: Some(self.digest.clone()), ..Needs::about_all(want) }
    }

    fn batch(&mut self, batch: &mut Batch, _: &mut Out, _: &mut Refused) -> Result<Flow, Failure> {
        let Some(text) = batch.take_digest::<GroupedText>() else { return Ok(Flow::Continue) };
        for (key, records) in text.groups {
            let number = self.files.number(&key)?;
            self.buffered += records.len();
            if self.waiting.len() <= number {
                self.waiting.resize_with(number + 1, Vec::new);
            }
            self.waiting[number].extend_from_slice(&records);
        }
        self.records += text.records;
        self.not_times.add(batch, &text.no_times);
        if self.buffered > BUFFER_BYTES {
            self.flush()?;
        }
        Ok(Flow::Continue)
    }

    fn end(&mut self, _: &mut Out) -> Result<(), Failure> {
        self.flush()?;
        self.files.rename()
    }

    fn report(&self, ui: &Ui) {
        self.not_times.report(&self.time_path, ui);
        self.files.report(self.records, "record", ui);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(name: &str) -> Option<Template> {
        Template::of(&OutputArgs { output: Some(name.into()) })
    }

    #[test]
    fn values_become_parts_of_names() {
        for (json, want) in [
            ("\"web-01\"", "web-01"),
            ("\"a/b\"", "a%2Fb"),
            ("\"../x\"", "%2E.%2Fx"),
            ("\".\"", "%2E"),
            ("\"\"", "%"),
            ("\"%\"", "%25"),
            ("\"a b\\n\"", "a%20b%0A"),
            ("\"é\"", "é"),
            ("\"missing\"", "%6Dissing"),
            ("\"null\"", "%6Eull"),
            ("null", "null"),
            ("7", "7"),
            ("-1.5", "-1.5"),
            ("{\"a\":1}", "%7B%22a%22%3A1%7D"),
        ] {
            assert_eq!(part(Some(json), None), want, "{json}");
        }
        assert_eq!(part(None, None), "missing");
        assert_eq!(part(Some("\"2026-03-02T10:00:00Z\""), Some(("day", Zone::default()))), "2026-03-02");
        let berlin = "Europe/Berlin".parse().unwrap();
        assert_eq!(part(Some("\"2026-03-02T23:00:00Z\""), Some(("day", berlin))), "2026-03-03");
        let long = part(Some(&format!("\"{}\"", "x".repeat(1000))), None);
        assert!(long.len() < 210 && long != part(Some(&format!("\"{}\"", "x".repeat(999))), None));
    }

    #[test]
    fn only_values_make_a_template() {
        for name in ["out.ndjson", "a{b}.ndjson", "{", "}{", "out/{a,b}/{"] {
            assert!(template(name).is_none(), "{name}");
        }
        let template = template("out/{$.host}/{x}/{day($.at)}.ndjson").unwrap();
        let values = [("$.host".to_owned(), None), ("$.at".to_owned(), Some("day"))];
        assert_eq!(template.values, values);
        assert_eq!(
            (&template.before[..], &*template.after),
            (&["out/".to_owned(), "/{x}/".to_owned()][..], ".ndjson")
        );
    }
}
