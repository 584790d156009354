//! Subscriptions that streams of documents are matched against, and the workers that match them.

use std::sync::{Arc, Mutex, PoisonError, RwLock};

use warpath_answer::answer::LineFault;
use warpath_answer::backend::Backend;
use warpath_answer::stage::{Stage, StageRow};
use warpath_core::error::{Error, InputError};

use super::event::EventMatches;
use super::json::{self, Fault};
pub use super::snapshot::Snapshot;
use super::xml::{self, XmlError};
use super::{Events, Matcher, Subscriptions};

/// Bytes of lines that the CPU reads at a time, so that their events stay in its caches.
const LINES_BYTES: usize = 256 << 10;

/// The format of an input, and its division into documents.
///
/// ```
/// use warpath::Engine;
/// use warpath::twig::{Documents, Standing, Subscriptions};
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let mut subscriptions = Subscriptions::default();
/// subscriptions.add("dutch", "//user[lang = 'nl']")?;
/// let standing = Standing::new(subscriptions);
/// let document = "<tweet>\n<user><lang>nl</lang></user>\n</tweet>\n";
/// let mut found = 0;
/// for batch in Engine::builder().build()?.bytes(document).filter(&standing, Documents::Xml) {
///     found += batch?.documents().count();
/// }
/// assert_eq!(found, 1);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Documents {
    /// Each line is a JSON document.
    #[default]
    Ndjson,
    /// The input is one JSON document.
    Json,
    /// The input is one XML document.
    Xml,
}

/// Subscriptions that may change while streams are matched against them. Each partition of a stream is
/// matched against the subscriptions that are current when its turn comes.
///
/// A clone is cheap and shares the same subscriptions.
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
    /// Held while the subscriptions are changed, which may take long. Readers do not wait for it.
    changing: Mutex<()>,
}

impl Standing {
    /// Makes shared subscriptions from the given ones.
    #[must_use]
    pub fn new(subscriptions: Subscriptions) -> Self {
        let current = RwLock::new(Arc::new(Snapshot::new(subscriptions)));
        Self(Arc::new(Shared { current, changing: Mutex::default() }))
    }

    /// A snapshot of the current subscriptions.
    #[must_use]
    pub fn current(&self) -> Arc<Snapshot> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Finds the subscriptions that one JSON event in memory matches, in the caller's thread. Any number of
    /// threads may call it. The event is one JSON text, on one line or on several; a blank one matches
    /// nothing.
    ///
    /// Each thread keeps the memory of its last calls, so the calls after the first allocate nothing. The
    /// memory of an event of 1 MiB and more is freed.
    ///
    /// ```
    /// use warpath::twig::{Standing, Subscriptions};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let mut subscriptions = Subscriptions::default();
    /// subscriptions.add("dutch", "$[?@.lang == 'nl']")?;
    /// subscriptions.add("frisian", "$[?@.lang == 'fy']")?;
    /// let standing = Standing::new(subscriptions);
    /// let found = standing.matches(br#"{"user": {"lang": "nl"}}"#)?;
    /// assert_eq!(found.ids().collect::<Vec<_>>(), ["dutch"]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Input`] if the event is malformed, or longer than 2 GiB. It is at `<record>:line:byte`.
    pub fn matches(&self, event: &[u8]) -> Result<EventMatches, Error> {
        EventMatches::of(self.current(), event)
    }

    /// Changes the subscriptions and returns the result of `change`. Unchanged subscriptions are not compiled
    /// again. Until the change is done, readers see the subscriptions from before it.
    pub fn change<T>(&self, change: impl FnOnce(&mut Subscriptions) -> T) -> T {
        let _changing = self.0.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let mut subscriptions = self.current().subscriptions.clone();
        let told = change(&mut subscriptions);
        let changed = Arc::new(Snapshot::new(subscriptions));
        *self.0.current.write().unwrap_or_else(PoisonError::into_inner) = changed;
        told
    }
}

/// The matches of some documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentMatches {
    /// The number of lines, blank and faulty ones included. It is 1 for an input that is one document.
    pub lines: u32,
    /// Pairs of a line and a subscription that its record matches. Both are numbered from 0; pairs are in
    /// ascending order.
    pub pairs: Vec<(u32, u32)>,
    /// Faulty lines, in order. They match nothing.
    pub faults: Vec<LineFault>,
    /// `true` if the input should be one JSON document and is only white space.
    pub is_blank: bool,
}

impl DocumentMatches {
    /// The result for an input that is one document and matches these subscriptions.
    pub fn of_document(numbers: impl Iterator<Item = u32>) -> Self {
        Self { lines: 1, pairs: numbers.map(|number| (0, number)).collect(), ..Self::default() }
    }

    /// The result for an input that is only white space.
    pub fn of_blank() -> Self {
        Self { lines: 1, is_blank: true, ..Self::default() }
    }
}

/// The reason why an input is not a valid document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentFault {
    /// The input is not valid JSON, by the checks made of lines.
    Json(Fault),
    /// The input is not XML, or XML that is not supported.
    Xml(XmlError),
}

/// A worker of a backend that matches subscriptions against documents. One thread uses a worker; several
/// workers run side by side.
pub trait TwigWorker {
    /// Matches the records of a text of whole lines. The last line may lack its newline.
    ///
    /// # Errors
    /// [`Error::Device`] if a device fails. A malformed record is not an error here, but part of the result.
    fn lines(&mut self, subscriptions: &Arc<Snapshot>, text: &[u8]) -> Result<DocumentMatches, Error>;

    /// Matches texts that are one document each. Returns for each text its matches, or the fault in it. JSON
    /// texts have no newlines.
    ///
    /// # Errors
    /// As for [`lines`](Self::lines).
    fn documents(
        &mut self,
        subscriptions: &Arc<Snapshot>,
        texts: &[&[u8]],
        documents: Documents,
    ) -> Result<Vec<Result<DocumentMatches, DocumentFault>>, Error>;
}

/// A device that matches documents against subscriptions.
pub trait TwigForm: Send + Sync {
    /// Makes a worker, in the thread that will use it. Workers are numbered from 0 and work at the same time.
    ///
    /// # Errors
    /// [`Error::Device`] where a device fails.
    fn worker(&self, number: usize) -> Result<Box<dyn TwigWorker + '_>, Error>;

    /// The stages of a worker for documents of a kind, in order, for `explain`.
    fn stages(&self, documents: Documents) -> Vec<Stage>;
}

/// Makes a worker, in the thread that will use it: of the backend's device if the device matches documents,
/// otherwise of the CPU.
///
/// # Errors
/// As for [`TwigForm::worker`].
pub fn worker(backend: &dyn Backend, number: usize) -> Result<Box<dyn TwigWorker + '_>, Error> {
    match backend.forms().get::<dyn TwigForm>() {
        Some(form) => form.worker(number),
        None => Ok(Box::new(CpuTwigs::default())),
    }
}

static READ_RECORDS: StageRow =
    StageRow::cpu("tree", "tokens, links and faults of each record (every worker)");
static READ_JSON: StageRow =
    StageRow::cpu("tree", "tokens, links and faults of each document (every worker)");
static READ_XML: StageRow =
    StageRow::cpu("tree", "elements, attributes and text of each document (every worker)");
static TWIGS: StageRow = StageRow::cpu(
    "twigs",
    "all subscriptions at once, by a bit for each node, on what their names and values touch",
);

/// The stages that match documents against subscriptions, in order.
fn of_documents(documents: Documents) -> [&'static StageRow; 2] {
    let read = match documents {
        Documents::Ndjson => &READ_RECORDS,
        Documents::Json => &READ_JSON,
        Documents::Xml => &READ_XML,
    };
    [read, &TWIGS]
}

/// The stages of such a worker for documents of a kind, in order, for `explain`.
#[must_use]
pub fn stages(backend: &dyn Backend, documents: Documents) -> Vec<Stage> {
    match backend.forms().get::<dyn TwigForm>() {
        Some(form) => form.stages(documents),
        None => of_documents(documents).map(|row| row.stage(0)).into(),
    }
}

/// The worker of the CPU.
#[derive(Debug, Default)]
pub struct CpuTwigs(json::LineReader);

impl CpuTwigs {
    /// Reads a text that is one document and reports its events. Returns `false` if a JSON text is only white
    /// space, which is no document.
    pub fn read(
        &mut self,
        text: &[u8],
        documents: Documents,
        events: &mut impl Events,
    ) -> Result<bool, DocumentFault> {
        if documents == Documents::Xml {
            let text = str::from_utf8(text)
                .map_err(|error| DocumentFault::Xml(xml::not_utf8(text, error.valid_up_to() as u64)))?;
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

    /// Matches some lines, of which the first has number `found.lines`. Does not change `found.lines`.
    pub fn add_lines(&mut self, matcher: &mut Matcher<'_>, text: &[u8], found: &mut DocumentMatches) {
        let first = found.lines;
        let DocumentMatches { pairs, faults, .. } = found;
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
    fn lines(&mut self, subscriptions: &Arc<Snapshot>, text: &[u8]) -> Result<DocumentMatches, Error> {
        let (mut matcher, mut found, mut rest) = (subscriptions.matcher(), DocumentMatches::default(), text);
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
    ) -> Result<Vec<Result<DocumentMatches, DocumentFault>>, Error> {
        let mut matcher = subscriptions.matcher();
        let ask = |text: &&[u8]| {
            matcher.reset();
            let read = self.read(text, documents, &mut matcher);
            read.map(|is_there| {
                if is_there {
                    DocumentMatches::of_document(matcher.found().map(|number| number as u32))
                } else {
                    DocumentMatches::of_blank()
                }
            })
        };
        Ok(texts.iter().map(ask).collect())
    }
}

/// The error for a faulty line of the named input. `line` is relative to `first_line`; both count from 0.
pub fn fault_of(name: &str, first_line: u64, line: u32, fault: Fault) -> InputError {
    InputError::of_fault(name, first_line + u64::from(line) + 1, fault)
}
