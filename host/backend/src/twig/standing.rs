//! Subscriptions that streams of documents are asked, and what asks them.

use std::ops::Deref;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use warpath_shared::twig::Matched;

use super::encode::Compiled;
use super::json::{self, Fault};
use super::names::Names;
use super::xml::{self, XmlError};
use super::{Events, Matcher, Subscriptions};
use crate::answer::LineFault;
use warpath_core::error::{Error, InputError};

/// Bytes of lines that the CPU reads at a time, so that what it makes of them stays in its caches.
const LINES_BYTES: usize = 256 << 10;

/// What the documents of an input are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Documents {
    /// Each line is one, of JSON.
    #[default]
    Ndjson,
    /// The input is one, of JSON.
    Json,
    /// The input is one, of XML.
    Xml,
}

/// Subscriptions that streams ask, which may be changed while they do: each partition of a stream is asked those that there are when its turn comes.
///
/// Cheap to clone; clones have the same subscriptions.
///
/// ```
/// use warpath::Engine;
/// use warpath::twig::{Documents, Standing, Subscriptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut subscriptions = Subscriptions::default();
/// subscriptions.add("dutch", "$[?@.lang == 'nl']")?;
/// let standing = Standing::new(subscriptions);
/// let text = "{\"user\":{\"lang\":\"nl\"}}\n{\"user\":{\"lang\":\"fy\"}}\n";
/// let engine = Engine::builder().build()?;
/// for batch in engine.reader("tweets", text.as_bytes()).filter(&standing, Documents::Ndjson) {
///     let batch = batch?;
///     let found: Vec<(Option<u64>, Vec<&str>)> =
///         batch.documents().map(|document| (document.line(), document.ids().collect())).collect();
///     assert_eq!(found, [(Some(1), vec!["dutch"])]);
/// }
/// standing.change(|subscriptions| subscriptions.add("frisian", "$[?@.lang == 'fy']"))?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, Default)]
pub struct Standing(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    current: RwLock<Arc<Snapshot>>,
    /// Held by who changes them, which may take long; who asks them does not wait.
    changing: Mutex<()>,
}

impl Standing {
    /// With these.
    #[must_use]
    pub fn new(subscriptions: Subscriptions) -> Self {
        let current = RwLock::new(Arc::new(Snapshot::new(subscriptions)));
        Self(Arc::new(Shared { current, changing: Mutex::default() }))
    }

    /// Those that there are.
    #[must_use]
    pub fn current(&self) -> Arc<Snapshot> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Changes them. What is not changed is not compiled anew. Until that is done, those of before are asked.
    pub fn change<T>(&self, change: impl FnOnce(&mut Subscriptions) -> T) -> T {
        let _changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut subscriptions = self.current().subscriptions.clone();
        let told = change(&mut subscriptions);
        let changed = Arc::new(Snapshot::new(subscriptions));
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = changed;
        told
    }
}

/// Subscriptions as they were at some time.
#[derive(Debug, Default)]
pub struct Snapshot {
    subscriptions: Subscriptions,
    /// As devices have them, once one wants them.
    arrays: OnceLock<(Compiled, Names)>,
}

impl Snapshot {
    fn new(subscriptions: Subscriptions) -> Self {
        Self { subscriptions, arrays: OnceLock::new() }
    }

    /// The subscriptions as devices have them.
    pub(crate) fn arrays(&self) -> &(Compiled, Names) {
        self.arrays.get_or_init(|| {
            let set = self.subscriptions.set();
            (Compiled::of(set), Names::of(set))
        })
    }

    /// What a device has found, by documents, and of each by subscriptions.
    pub(crate) fn pairs(&self, matched: &[Matched]) -> Vec<(u32, u32)> {
        let answers = self.set().answers(matched);
        let numbers = |(document, twig)| self.numbers_of(twig).iter().map(move |number| (document, *number));
        let mut pairs: Vec<(u32, u32)> = answers.into_iter().flat_map(numbers).collect();
        pairs.chunk_by_mut(|a, b| a.0 == b.0).for_each(<[_]>::sort_unstable);
        pairs
    }
}

impl Deref for Snapshot {
    type Target = Subscriptions;

    fn deref(&self) -> &Subscriptions {
        &self.subscriptions
    }
}

/// What some documents match.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many lines there are, blank and faulty ones too; of an input that is one document, 1.
    pub lines: u32,
    /// A line and a subscription that its record matches, by their numbers from 0 on, ascending.
    pub pairs: Vec<(u32, u32)>,
    /// Faulty lines, in order. They match nothing.
    pub faults: Vec<LineFault>,
    /// Whether an input that should be one document is none: white space where JSON should be.
    pub is_blank: bool,
}

impl Found {
    /// Of an input that is one document, which matches these subscriptions.
    pub fn of_document(numbers: impl Iterator<Item = u32>) -> Self {
        Self { lines: 1, pairs: numbers.map(|number| (0, number)).collect(), ..Self::default() }
    }

    /// Of an input that is none.
    pub(crate) fn of_blank() -> Self {
        Self { lines: 1, is_blank: true, ..Self::default() }
    }
}

/// Why an input is not the one document that it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentFault {
    /// It is not JSON, as lines are checked.
    Json(Fault),
    /// It is not XML, or none that is read.
    Xml(XmlError),
}

/// One of those of a backend that ask subscriptions of documents: used by one thread, beside others.
pub trait TwigWorker {
    /// Asks the records of a text, of whole lines, of which the last may lack its newline.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails. A malformed record is no error here, but part of the answer.
    fn lines(&mut self, subscriptions: &Arc<Snapshot>, text: &[u8]) -> Result<Found, Error>;

    /// Asks texts that are a document each, and says of each what it matches, or what is wrong with it. Those of JSON have no newlines.
    ///
    /// # Errors
    /// As for [`lines`](Self::lines).
    fn documents(
        &mut self,
        subscriptions: &Arc<Snapshot>,
        texts: &[&[u8]],
        documents: Documents,
    ) -> Result<Vec<Result<Found, DocumentFault>>, Error>;
}

/// The worker of the CPU.
#[derive(Debug, Default)]
pub struct CpuTwigs(json::Lines);

impl CpuTwigs {
    /// Tells of a text that is one document, and whether there is any: white space is no document of JSON.
    pub(crate) fn read(
        &mut self,
        text: &[u8],
        documents: Documents,
        events: &mut impl Events,
    ) -> Result<bool, DocumentFault> {
        if documents == Documents::Xml {
            let text = str::from_utf8(text).map_err(|error| {
                let (at, message) = (error.valid_up_to() as u64, "is not UTF-8".to_owned());
                DocumentFault::Xml(XmlError { at, message })
            })?;
            return xml::read(text, events).map(|()| true).map_err(DocumentFault::Xml);
        }
        let mut read = Ok(false);
        if !text.is_empty() {
            self.0.read(text, events, |_, _, ended| {
                read = ended.map(|()| true).map_err(DocumentFault::Json);
            });
        }
        read
    }

    /// Asks some lines, of which the first has this number.
    pub(crate) fn add_lines(&mut self, matcher: &mut Matcher<'_>, text: &[u8], found: &mut Found) {
        let first = found.lines;
        let Found { pairs, faults, .. } = found;
        self.0.read(text, matcher, |matcher, line, ended| {
            let line = first + line as u32;
            match ended {
                Ok(()) => pairs.extend(matcher.found().map(|number| (line, number as u32))),
                Err(fault) => faults.push(LineFault { line, fault }),
            }
            matcher.reset();
        });
    }
}

impl TwigWorker for CpuTwigs {
    fn lines(&mut self, subscriptions: &Arc<Snapshot>, text: &[u8]) -> Result<Found, Error> {
        let (mut matcher, mut found, mut rest) = (subscriptions.matcher(), Found::default(), text);
        while !rest.is_empty() {
            let near = LINES_BYTES.min(rest.len());
            let end = memchr::memchr(b'\n', &rest[near - 1..]).map_or(rest.len(), |newline| near + newline);
            let (lines, behind) = rest.split_at(end);
            self.add_lines(&mut matcher, lines, &mut found);
            let newlines = memchr::memchr_iter(b'\n', lines).count();
            found.lines += newlines as u32 + u32::from(lines.last() != Some(&b'\n'));
            rest = behind;
        }
        Ok(found)
    }

    fn documents(
        &mut self,
        subscriptions: &Arc<Snapshot>,
        texts: &[&[u8]],
        documents: Documents,
    ) -> Result<Vec<Result<Found, DocumentFault>>, Error> {
        let mut matcher = subscriptions.matcher();
        let ask = |text: &&[u8]| {
            matcher.reset();
            let read = self.read(text, documents, &mut matcher);
            read.map(|is_there| {
                if is_there {
                    Found::of_document(matcher.found().map(|number| number as u32))
                } else {
                    Found::of_blank()
                }
            })
        };
        Ok(texts.iter().map(ask).collect())
    }
}

/// The faults of lines as an input of this name has them, its first line having this number from 0 on.
pub fn fault_of(name: &str, first_line: u64, line: u32, fault: Fault) -> InputError {
    InputError::of_fault(name, first_line + u64::from(line) + 1, fault)
}
