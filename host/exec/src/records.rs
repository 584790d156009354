//! Records within records: the matches of a path as the records of an input.
//!
//! `$.Records[*]` makes a record of each element of an array, wherever the array is: on one line, on many
//! lines, or in a document. The input is evaluated as usual, and the matches are the lines of the input that
//! is read in its place.

use std::any::Any;
use std::io::{self, Read};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use warpath_answer::answer::Want;
use warpath_core::error::{Error, InputError};
use warpath_core::json;
use warpath_lang::jsonpath::Segment;
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};
use warpath_shared::kernel::Match;

use crate::engine::Engine;
use crate::input::{FindsRecords, RecordLines, RecordsTally, Source};
use crate::stream::{Digest, PieceResults};

/// The most texts of matches that wait for the reader.
const AHEAD: usize = 8;

/// The matches of a path as the records of inputs, perhaps with values of the records around them.
///
/// A record has the number of its match, counted from 1, in place of a line number.
///
/// ```
/// use warpath::{Engine, Query, Records, Source};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let log = "{\"host\":\"a\",\"events\":[{\"id\":1},{\"id\":2}]}\n{\"host\":\"b\",\"events\":[{\"id\":3}]}\n";
/// let engine = Engine::builder().build()?;
/// let records = Records::new(Query::compile("$.events[*]")?).with("host", Query::compile("$.host")?)?;
/// let input = engine.input(vec![records.of(&engine, Source::Bytes("log".into(), log.into()))]);
/// let found = input.query(&Query::compile("$.host")?)?.collect::<Result<Vec<_>, _>>()?;
/// assert_eq!(found.iter().map(|hit| hit.text()).collect::<Vec<_>>(), ["\"a\"", "\"a\"", "\"b\""]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Records {
    path: Query,
    with: Vec<With>,
    /// The name as JSON text of the member that has the match, with its colon; `None` if the match is the
    /// record, or its members are those of the record.
    member: Option<String>,
    predicate: Option<Predicate>,
    tally: Arc<Mutex<RecordsTally>>,
}

/// A value of a record around a match.
#[derive(Clone)]
struct With {
    /// The name as JSON text, with its colon.
    key: String,
    path: Query,
    /// The path that finds the part of the record which has both the match and the value; `None` if this is
    /// the whole record.
    around: Option<Query>,
}

impl Records {
    /// Makes a record of each match of a path.
    #[must_use]
    pub fn new(path: Query) -> Self {
        Self { path, with: Vec::new(), member: None, predicate: None, tally: Arc::default() }
    }

    /// Makes records for rows of the elements of arrays. Columns may have values of the element, and of the
    /// record around it. Also returns the text of each column's path in such a record: the element is the
    /// member `@`, and every other value has its own path as its name.
    ///
    /// ```
    /// use warpath::{Query, Records};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let elements = Query::compile("$.items")?.elements()?;
    /// let columns = [Query::compile("$.items[*].price")?, Query::compile("$.id")?];
    /// let (records, paths) = Records::of_elements(&elements, &columns)?;
    /// assert_eq!(records.path().text(), "$['items'][*]");
    /// assert_eq!(paths, [r#"$["@"]['price']"#, r#"$["$.id"]"#]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Usage`] for a column that can have several values around an element.
    pub fn of_elements(elements: &Query, columns: &[Query]) -> Result<(Self, Vec<String>), Error> {
        let named = |name: &str, rest: &str| format!("$[{}]{rest}", json::encode(name));
        let mut records = Self { member: Some(json::encode("@") + ":"), ..Self::new(elements.clone()) };
        let mut paths = Vec::new();
        let mut given: Vec<&str> = Vec::new();
        for column in columns {
            let below = column.ast().segments.split_at_checked(elements.ast().segments.len());
            match below.filter(|(first, _)| text(first) == text(&elements.ast().segments)) {
                Some((_, rest)) => paths.push(named("@", &text(rest)[1..])),
                None => {
                    paths.push(named(column.text(), ""));
                    if !given.contains(&column.text()) {
                        given.push(column.text());
                        records = records.with(column.text(), column.clone())?;
                    }
                }
            }
        }
        Ok((records, paths))
    }

    /// Restricts the records around the matches to those for which a predicate is true.
    #[must_use]
    pub fn matching(self, predicate: &Predicate) -> Self {
        Self { predicate: Some(predicate.clone()), ..self }
    }

    /// Adds a member to each record: the value of another path in the record around it. The value is the one
    /// in the same element of each array that both paths go through. A record without such a value has no
    /// such member. A record that is no object becomes the member `value`.
    ///
    /// # Errors
    /// [`Error::Usage`] if there can be several such values.
    pub fn with(mut self, name: &str, path: Query) -> Result<Self, Error> {
        let (of_records, of_value) = (&self.path.ast().segments, &path.ast().segments);
        // Segments are compared as printed: their spans differ.
        let same = |(a, b): &(&Segment, &Segment)| a.to_string() == b.to_string();
        let common = of_records.iter().zip(of_value).take_while(same).count();
        let (around, rest) = of_value.split_at(common);
        if !rest.iter().all(Segment::is_singular) {
            return Err(Error::Usage(format!(
                "`{}` can match several values around a record; expected a path that goes through no other \
                 arrays than `{}`",
                path.text(),
                self.path.text()
            )));
        }
        let is_whole = around.iter().all(Segment::is_singular);
        let around = if is_whole { None } else { Some(Query::compile(&text(around))?) };
        self.with.push(With { key: json::encode(name) + ":", path, around });
        Ok(self)
    }

    /// The records of an input, as lines. An engine evaluates it when it is read.
    #[must_use]
    pub fn of(&self, engine: &Engine, source: Source) -> Source {
        let found = Found { records: self.clone(), engine: engine.clone() };
        Source::Records(Box::new(source), RecordLines(Arc::new(found)))
    }

    /// The path of the records.
    #[must_use]
    pub fn path(&self) -> &Query {
        &self.path
    }

    /// The numbers of records that were found and skipped so far, in all inputs.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn tally(&self) -> RecordsTally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The text of a path.
fn text(segments: &[Segment]) -> String {
    segments.iter().fold("$".to_owned(), |text, segment| text + &segment.to_string())
}

/// Records of inputs, and the engine that finds them.
struct Found {
    records: Records,
    engine: Engine,
}

impl FindsRecords for Found {
    fn path(&self) -> &str {
        self.records.path.text()
    }

    fn read(self: Arc<Self>, source: Source) -> Box<dyn Read + Send> {
        let (sender, receiver) = sync_channel(AHEAD);
        let name = source.name();
        let evaluate = move || {
            let ended = self.send(source, |lines| sender.send(Ok(lines)).is_ok());
            if let Err(error) = ended {
                let error = match error {
                    Error::Input(error) => error,
                    error => InputError::unreadable(&name, error),
                };
                // A reader that is gone needs no error.
                let _ = sender.send(Err(error));
            }
        };
        Box::new(Lines { evaluate: Some(Box::new(evaluate)), receiver, lines: Vec::new(), given: 0 })
    }

    fn tally(&self) -> RecordsTally {
        self.records.tally()
    }

    fn apart(&self) -> Arc<dyn FindsRecords> {
        let records = Records { tally: Arc::default(), ..self.records.clone() };
        Arc::new(Self { records, engine: self.engine.clone() })
    }
}

impl Found {
    /// Passes the lines of the records to a function, until it returns false.
    fn send(&self, source: Source, mut send: impl FnMut(Vec<u8>) -> bool) -> Result<(), Error> {
        let Records { path, with, member, predicate, tally } = &self.records;
        let arounds = with.iter().filter_map(|with| with.around.as_ref());
        let paths: Vec<Query> =
            std::iter::once(path).chain(with.iter().map(|with| &with.path)).chain(arounds).cloned().collect();
        let lines = Arc::new(FindRecords { with: with.clone(), member: member.clone() });
        let want = lines.want();
        let mut input = self.engine.input(vec![source]).digesting(lines);
        if let Some(predicate) = predicate {
            input = input.matching(predicate);
        }
        for batch in input.answers(Program::new(&paths)?, want) {
            let mut batch = batch?;
            let lines = batch.take_digest::<Vec<u8>>().unwrap_or_default();
            {
                let mut tally = tally.lock().unwrap_or_else(PoisonError::into_inner);
                if predicate.is_none() {
                    tally.lines += batch.pieces().map(|(_, piece)| piece.lines as u64).sum::<u64>();
                }
                tally.found += batch.count(0);
                for error in batch.skipped() {
                    tally.skipped += 1;
                    tally.first.get_or_insert(error);
                }
            }
            if !lines.is_empty() && !send(lines) {
                break;
            }
        }
        Ok(())
    }
}

/// Lines that another thread makes, which starts with the first read.
struct Lines {
    evaluate: Option<Box<dyn FnOnce() + Send>>,
    receiver: Receiver<Result<Vec<u8>, InputError>>,
    lines: Vec<u8>,
    given: usize,
}

impl Read for Lines {
    fn read(&mut self, room: &mut [u8]) -> io::Result<usize> {
        if let Some(evaluate) = self.evaluate.take() {
            thread::Builder::new().name("warpath-records".into()).spawn(evaluate)?;
        }
        while self.given == self.lines.len() {
            match self.receiver.recv() {
                Err(_) => return Ok(0),
                Ok(Err(error)) => return Err(error.into()),
                Ok(Ok(lines)) => (self.lines, self.given) = (lines, 0),
            }
        }
        let count = room.len().min(self.lines.len() - self.given);
        room[..count].copy_from_slice(&self.lines[self.given..][..count]);
        self.given += count;
        Ok(count)
    }
}

/// Makes lines of the matches of a partition.
struct FindRecords {
    with: Vec<With>,
    member: Option<String>,
}

impl Digest for FindRecords {
    fn want(&self) -> Want {
        Want::default().matches(true).partial(true)
    }

    /// Makes the lines, as bytes.
    fn digest(&self, found: &[PieceResults<'_>]) -> Box<dyn Any + Send + Sync> {
        let mut lines = Vec::new();
        for piece in found {
            let Some((records, others)) = piece.matches.split_first() else { continue };
            let (values, arounds) = others.split_at(self.with.len());
            // Lists in the order of the text. Paths such as `$['b','a']` find values in another one.
            let sorted = |list: &&[Match]| {
                let mut list = list.to_vec();
                list.sort_unstable_by_key(|found| (found.line, found.start));
                list
            };
            let values: Vec<Vec<Match>> = values.iter().map(sorted).collect();
            let mut arounds = arounds.iter().map(sorted);
            let with: Vec<Option<Vec<Match>>> =
                self.with.iter().map(|with| with.around.as_ref().and_then(|_| arounds.next())).collect();
            for record in *records {
                let begin = lines.len();
                if let Some(member) = &self.member {
                    lines.push(b'{');
                    lines.extend_from_slice(member.as_bytes());
                    lines.extend_from_slice(piece.bytes(record));
                }
                for ((with, values), arounds) in self.with.iter().zip(&values).zip(&with) {
                    let Some(value) = value_of(record, values, arounds.as_deref()) else { continue };
                    lines.push(if lines.len() == begin { b'{' } else { b',' });
                    lines.extend_from_slice(with.key.as_bytes());
                    lines.extend_from_slice(piece.bytes(value));
                }
                match &self.member {
                    Some(_) => lines.push(b'}'),
                    None => append(piece.bytes(record), lines.len() > begin, &mut lines),
                }
                lines.push(b'\n');
            }
        }
        Box::new(lines)
    }
}

/// The value that belongs to a record: in the same line, and in the same part of it.
fn value_of<'a>(record: &Match, values: &'a [Match], arounds: Option<&[Match]>) -> Option<&'a Match> {
    let (mut begin, mut end) = (0, u32::MAX);
    if let Some(arounds) = arounds {
        let after =
            arounds.partition_point(|around| (around.line, around.start) <= (record.line, record.start));
        let around = arounds[..after].last().filter(|around| around.line == record.line)?;
        (begin, end) = (around.start, around.end);
    }
    let first = values.partition_point(|value| (value.line, value.start) < (record.line, begin));
    values.get(first).filter(|value| value.line == record.line && value.end <= end)
}

/// Appends a record. With members before it, those of the record follow them in one object.
fn append(record: &[u8], has_members: bool, lines: &mut Vec<u8>) {
    if !has_members {
        lines.extend_from_slice(record);
        return;
    }
    let inside = record.strip_prefix(b"{").and_then(|inside| inside.strip_suffix(b"}"));
    match inside.map(<[u8]>::trim_ascii) {
        Some(b"") => lines.push(b'}'),
        Some(members) => {
            lines.push(b',');
            lines.extend_from_slice(members);
            lines.push(b'}');
        }
        None => {
            lines.extend_from_slice(b",\"value\":");
            lines.extend_from_slice(record);
            lines.push(b'}');
        }
    }
}
