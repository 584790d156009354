//! Operations on inputs: query, count, select columns, filter, index.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use warpath_answer::answer::{Limit, Want};
use warpath_answer::columns::Schema;
#[cfg(feature = "arrow")]
use warpath_answer::nested::NestedSchema;
use warpath_core::cancel::CancelToken;
#[cfg(feature = "store")]
use warpath_core::error::PlanError;
use warpath_core::error::{Error, InputError};
#[cfg(feature = "store")]
use warpath_core::rows::RowSet;
use warpath_cpu::twig::standing::{Documents, Snapshot, Standing};
use warpath_lang::predicate::Predicate;
use warpath_lang::program::{Program, Query};
#[cfg(feature = "store")]
use warpath_plan::Unused;
use warpath_shared::units::Level;

#[cfg(feature = "arrow")]
use crate::device_batches::DeviceBatches;
#[cfg(feature = "store")]
use crate::document::Format;
use crate::engine::Engine;
#[cfg(feature = "store")]
use crate::index_file::IndexFile;
use crate::input::{InputBytes, Inputs, Selection, Source};
use crate::planning;
use crate::planning::Explained;
#[cfg(feature = "arrow")]
use crate::record_batches::RecordBatches;
use crate::request::Request;
use crate::resident;
use crate::resident::Loaded;
#[cfg(feature = "arrow")]
use crate::stream::Nested;
use crate::stream::{
    Answers, Columns, Digest, ExplainedTwigs, Filtering, Hits, Indexes, Matched, Sampler, Schemas,
    explain_twigs,
};
use crate::trace::Operation;

impl Engine {
    /// An input that is one file: newline-delimited JSON, or a document
    /// ([`EngineBuilder::format`](crate::engine::EngineBuilder::format)). It may be plain or compressed
    /// ([`Source`]).
    ///
    /// # Errors
    /// [`Error::Input`] if the path does not exist or is a directory. The file is not opened here, but when
    /// it is queried.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Input<'static>, Error> {
        let path = path.as_ref();
        let failed = |source| InputError::Io { name: path.display().to_string(), source };
        if path.metadata().map_err(failed)?.is_dir() {
            return Err(InputError::Directory(path.to_owned()).into());
        }
        Ok(self.input(vec![Source::File(path.to_owned())]))
    }

    /// An input that is read from any reader. Messages name the input `name`.
    #[must_use]
    pub fn reader(&self, name: impl Into<String>, reader: impl Read + Send + 'static) -> Input<'static> {
        self.input(vec![Source::Reader(name.into(), Box::new(reader))])
    }

    /// An input of bytes in memory, which are not copied. They may be compressed, as a file may be
    /// ([`Source`]). Messages name the input `<bytes>`; [`Input::named`] sets another name.
    ///
    /// Bytes of at most one partition are evaluated in the thread that asks for results, and no thread is
    /// started. Longer bytes are evaluated by several threads. Threads evaluate owned bytes ahead of the
    /// caller, as those of a file. They evaluate borrowed bytes while the caller waits for results, some
    /// partitions at a time.
    ///
    /// These bytes are copied nevertheless: JSON documents of several lines
    /// ([`Format::Json`]), and borrowed bytes that are compressed, or that are
    /// one document of more than a partition. [`Source::Bytes`] is for bytes among other inputs.
    ///
    /// ```
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let engine = Engine::builder().build()?;
    /// let message = b"{\"user\":{\"lang\":\"nl\"}}";
    /// let mut hits = engine.bytes(message).query(&Query::compile("$.user.lang")?)?;
    /// assert_eq!(hits.next().unwrap()?.text(), "\"nl\"");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn bytes<'a>(&self, bytes: impl Into<InputBytes<'a>>) -> Input<'a> {
        let name = "<bytes>".to_owned();
        self.request(match bytes.into().into_shared() {
            Ok(shared) => Inputs::Sources(vec![Source::Bytes(name, shared)]),
            Err(borrowed) => Inputs::Borrowed(name, borrowed),
        })
    }

    /// An input that consists of several sources, one after the other. Each is opened when the sources before
    /// it have been read.
    #[must_use]
    pub fn input(&self, sources: Vec<Source>) -> Input<'static> {
        self.request(Inputs::Sources(sources))
    }

    fn request<'a>(&self, inputs: Inputs<'a>) -> Input<'a> {
        Input(Request {
            engine: self.clone(),
            inputs,
            operation: None,
            index: None,
            unused: Vec::new(),
            selected: None,
            predicate: None,
            digest: None,
            sampler: None,
            #[cfg(feature = "arrow")]
            nested: None,
        })
    }
}

/// Inputs that an engine is about to read. The lifetime is that of borrowed bytes
/// ([`Engine::bytes`]); it is `'static` for all other inputs.
///
/// ```
/// use warpath::{Engine, Predicate, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let input = Engine::builder().build()?.bytes("{\"id\":1}\n{\"id\":20}\n").named("ids");
/// let large = input.matching(&Predicate::parse("$.id > 9")?);
/// assert_eq!(large.count(&Query::compile("$.id")?)?, 1);
/// # Ok(())
/// # }
/// ```
pub struct Input<'a>(pub(crate) Request<'a>);

impl<'a> Input<'a> {
    /// Sets the name of bytes in memory, for messages. Other inputs keep their names.
    ///
    /// ```
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let input = Engine::builder().build()?.bytes("{]").named("message 7");
    /// let said = input.count(&Query::compile("$.a")?).unwrap_err().to_string();
    /// assert!(said.starts_with("message 7:1:2: "), "{said}");
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> Self {
        match &mut self.0.inputs {
            Inputs::Borrowed(old, _) => *old = name.into(),
            Inputs::Sources(sources) => {
                if let [Source::Bytes(old, _)] = &mut sources[..] {
                    *old = name.into();
                }
            }
        }
        self
    }

    /// Lets a token cancel the operation: its results end with [`Error::Cancelled`]. [`CancelToken`] has an
    /// example. Several tokens may be set, each of which cancels it.
    #[must_use]
    pub fn cancel(mut self, token: &CancelToken) -> Self {
        self.0.engine.limits_mut().add_token(token);
        self
    }

    /// Sets the time at which the operation ends with [`Error::DeadlineExceeded`], unless it has ended
    /// before. The earliest of several deadlines counts.
    ///
    /// It is checked before each partition, and while results and input are waited for. A partition that is
    /// being evaluated is finished first, and so is a read that waits for the operating system.
    ///
    /// ```
    /// use std::time::Instant;
    ///
    /// use warpath::{Engine, Error, Query};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let input = Engine::builder().build()?.bytes("{\"a\":1}\n").deadline(Instant::now());
    /// assert!(matches!(input.count(&Query::compile("$.a")?), Err(Error::DeadlineExceeded)));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn deadline(mut self, deadline: Instant) -> Self {
        self.0.engine.limits_mut().add_deadline(deadline);
        self
    }

    /// Sets the longest time of the operation, from its start to the end of its results: a
    /// [`deadline`](Self::deadline) that is counted from the start.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let input = Engine::builder().build()?.bytes("{\"a\":1}").timeout(Duration::from_secs(60));
    /// assert_eq!(input.count(&Query::compile("$.a")?)?, 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.engine.limits_mut().add_timeout(timeout);
        self
    }

    /// Sets the memory budget of the operation, in bytes. The least of several budgets counts.
    ///
    /// Partitions, and the number of workers, become so small that the texts in memory, their indexes and
    /// usual results fit the budget together. A record for which a partition has no room then ends the
    /// results with [`Error::Memory`], and so does a resident index that becomes too large. Aggregates use
    /// temporary files beyond the budget. Memory of the caller's is not counted: bytes in memory, and
    /// results that the caller keeps.
    ///
    /// ```
    /// use warpath::{Engine, Error, Query};
    ///
    /// # fn main() -> Result<(), Error> {
    /// let engine = Engine::builder().memory(60_000).build()?;
    /// let (short, long) = ("{\"a\":1}\n".repeat(100_000), format!("{{\"a\":\"{}\"}}", "x".repeat(50_000)));
    /// let count = |text: String| {
    ///     engine.reader("text", std::io::Cursor::new(text)).count(&Query::compile("$.a")?)
    /// };
    /// assert_eq!(count(short)?, 100_000);
    /// assert!(matches!(count(long), Err(Error::Memory { limit: 10_000, .. })));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn memory(mut self, bytes: usize) -> Self {
        self.0.engine.limits_mut().add_memory(bytes);
        self
    }

    /// Names the operation that the results are for.
    pub(crate) fn doing(mut self, operation: Operation) -> Self {
        self.0.operation = Some(operation);
        self
    }

    /// The memory that an aggregate may use.
    pub(crate) fn memory_of(&self, wanted: usize) -> usize {
        self.0.engine.limits().memory().map_or(wanted, |memory| memory.min(wanted))
    }

    /// The matches of a query, in record order; within a record, in the order of RFC 9535's nodelist.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a query that cannot be run. Errors of the input come from the iterator.
    pub fn query(self, query: &Query) -> Result<Hits<'a>, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        // The caller takes matches one by one, and may stop at any of them.
        let limit = Limit::Matches(u64::MAX);
        Ok(Hits::start(self.0, Operation::Query, program, Want::default().matches(true).limit(limit)))
    }

    /// The number of matches of a query.
    ///
    /// # Errors
    /// The errors of the query and of the input.
    pub fn count(self, query: &Query) -> Result<u64, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        let mut count = 0;
        for batch in self.doing(Operation::Count).answers(program, Want::default().partial(true)) {
            count += batch?.count(0);
        }
        Ok(count)
    }

    /// The results of a program, one batch for each partition. One pass evaluates all paths of the program.
    #[must_use]
    pub fn answers(self, program: Program, want: Want) -> Answers<'a> {
        let operation = self.0.operation.unwrap_or(Operation::Answers);
        Answers::start(self.0, operation, program, want)
    }

    /// The records as typed columns, in order. A batch holds one partition or a part of one, with one row for
    /// each record.
    ///
    /// [`EngineBuilder::on_error`](crate::engine::EngineBuilder::on_error) decides about malformed records.
    /// [`Columns::stats`] counts the skipped ones. For their positions, call [`answers`](Self::answers) with
    /// [`Want::columns`].
    #[must_use]
    pub fn columns(self, schema: &Schema) -> Columns<'a> {
        let want = Want::default().columns(schema.width()).partial(true);
        Columns::start(self.0, Operation::Columns, schema.program().clone(), want)
    }

    /// The records as Arrow's record batches, without copying. All batches have the schema
    /// [`Schema::to_arrow`].
    ///
    /// ```
    /// use arrow_array::cast::AsArray;
    /// use arrow_array::types::Int64Type;
    /// use warpath::columns::{ColumnType, Schema};
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let columns = [
    ///     (Query::compile("$.user.lang")?, ColumnType::Utf8),
    ///     (Query::compile("$.user.followers_count")?, ColumnType::Int64),
    /// ];
    /// let schema = Schema::new(&columns)?.with_names(&["lang", "followers"])?;
    /// let engine = Engine::builder().build()?;
    /// # let tweets = "{\"user\":{\"lang\":\"nl\",\"followers_count\":7}}\n{\"user\":{\"followers_count\":35}}\n";
    /// # let input = engine.reader("tweets", std::io::Cursor::new(tweets));
    /// # let mut sum = 0;
    /// # #[cfg(any())]
    /// let input = engine.open("tweets.ndjson")?;
    /// for batch in input.record_batches(&schema) {
    ///     let batch = batch?;
    ///     let followers = batch["followers"].as_primitive::<Int64Type>();
    ///     println!("{followers:?}");
    /// #   sum += followers.values().iter().sum::<i64>();
    /// }
    /// # assert_eq!(sum, 42);
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn record_batches(self, schema: &Schema) -> RecordBatches<'a> {
        let want = Want::new().columns(schema.width()).records(true).sparse(true);
        RecordBatches::typed(self.answers(schema.program().clone(), want), schema)
    }

    /// The records as typed columns whose values stay in the memory of the device that evaluates the input.
    /// There is a batch for each partition, in order.
    /// [`DeviceBatch::export`](warpath_answer::on_device::DeviceBatch::export) gives a batch to another
    /// library.
    ///
    /// A device makes the columns of the types `bool`, `int64`, `float64`, `string` and `json`. The host
    /// makes the columns of other types, of defaults and of elements, and copies them to the device.
    ///
    /// The first result is [`Error::Usage`] if the CPU evaluates the input, or if a column is a list or a
    /// struct ([`ColumnType::is_nested`](warpath_answer::columns::ColumnType::is_nested)).
    /// [`DeviceError::OutOfMemory`](warpath_core::error::DeviceError::OutOfMemory) comes when the batches
    /// that the caller keeps fill the memory of the device.
    ///
    /// ```no_run
    /// use warpath::columns::{ColumnType, DeviceBatch, Schema};
    /// use warpath::{DeviceChoice, Engine, Query};
    ///
    /// # fn main() -> Result<(), warpath::Error> {
    /// let schema = Schema::new(&[(Query::compile("$.id")?, ColumnType::Int64)])?;
    /// let engine = Engine::builder().device(DeviceChoice::Cuda(0)).build()?;
    /// let batches = engine.open("tweets.ndjson")?.device_columns(&schema).collect::<Result<Vec<_>, _>>()?;
    /// let ids = DeviceBatch::join(&batches)?.values(0)?;
    /// println!("{} integers at {:#x}", ids.len(), ids.address());
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn device_columns(self, schema: &Schema) -> DeviceBatches<'a> {
        let mut columns = schema.program().columns().iter();
        let answers = match columns.find(|column| column.values.is_nested()) {
            None => {
                let want = Want::new().columns(schema.width()).on_device(true);
                self.answers(schema.program().clone(), want)
            }
            Some(column) => Answers::failed(Error::Usage(format!(
                "column `{}` is a {}, which cannot stay on a device; expected no column of a type `list<>` or \
                 `struct<>`: select it to the host",
                column.name, column.values
            ))),
        };
        DeviceBatches::new(answers, schema)
    }

    /// The records as nested columns, as from [`nested`](Self::nested), in record batches of one schema.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_schema::{DataType, Field, Schema};
    /// use warpath::Engine;
    /// use warpath::columns::NestedSchema;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let fields = vec![Field::new("id", DataType::Int64, true)];
    /// let schema = Arc::new(NestedSchema::new(Arc::new(Schema::new(fields)))?);
    /// let input = Engine::builder().build()?.reader("text", "{\"id\":1}\n{\"id\":2.5}\n".as_bytes());
    /// let mut batches = input.nested_record_batches(schema);
    /// assert_eq!(batches.next().unwrap()?.num_rows(), 2);
    /// assert_eq!(batches.counted()[1].0, "$.id");
    /// assert_eq!(batches.losses().columns[1].mismatch.first, Some(("text".into(), 2)));
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn nested_record_batches(self, schema: Arc<NestedSchema>) -> RecordBatches<'a> {
        let want = Want::new().records(true).sparse(true);
        let answers = match root() {
            Ok(root) => self.decoding(schema.clone()).answers(root, want),
            Err(error) => Answers::failed(error),
        };
        RecordBatches::nested(answers, schema)
    }

    /// The records as nested columns: each record is read once, and each member of the schema becomes a
    /// column. There is a batch for each partition, or several where rows take much memory.
    ///
    /// ```
    /// use std::sync::Arc;
    ///
    /// use arrow_array::cast::AsArray;
    /// use arrow_schema::{DataType, Field, Schema};
    /// use warpath::Engine;
    /// use warpath::columns::NestedSchema;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let user = DataType::Struct(vec![Field::new("name", DataType::Utf8, true)].into());
    /// let fields = vec![Field::new("id", DataType::Int64, true), Field::new("user", user, true)];
    /// let schema = NestedSchema::new(Arc::new(Schema::new(fields)))?;
    /// let tweets = "{\"id\":1,\"user\":{\"name\":\"ada\"}}\n{\"id\":2.5}\n";
    /// for batch in Engine::builder().build()?.reader("tweets", tweets.as_bytes()).nested(Arc::new(schema)) {
    ///     let batch = batch?;
    ///     assert_eq!(batch.rows["user"].as_struct().column(0).as_string::<i32>().value(0), "ada");
    ///     assert_eq!(batch.losses.lost(), 1);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn nested(self, schema: Arc<NestedSchema>) -> Nested<'a> {
        let want = Want::default().records(true).sparse(true);
        match root() {
            Ok(root) => Nested::start(self.decoding(schema).0, Operation::Nested, root, want),
            Err(error) => Nested::failed(error),
        }
    }

    /// Decodes the records of [`answers`](Self::answers) to nested columns too, where [`Want::records`] is
    /// set. [`Batch::take_nested`](crate::stream::Batch::take_nested) returns the columns.
    // Hidden: the layers above need it.
    #[doc(hidden)]
    #[cfg(feature = "arrow")]
    #[must_use]
    pub fn decoding(mut self, schema: Arc<NestedSchema>) -> Self {
        self.0.nested = Some(schema);
        self
    }

    /// Matches documents against subscriptions, and yields the matching subscriptions in the order of the
    /// documents. A document is a line, or a whole input, as `documents` says; lines are yielded one
    /// partition at a time. [`EngineBuilder::format`](crate::engine::EngineBuilder::format) has no effect
    /// here.
    ///
    /// [`EngineBuilder::on_error`](crate::engine::EngineBuilder::on_error) decides about malformed documents.
    /// [`Standing`] has an example.
    #[must_use]
    pub fn filter(self, standing: &Standing, documents: Documents) -> Filtering<'a> {
        Filtering::start(self.0, Matched::Standing(standing.clone()), documents)
    }

    /// Matches lines against the subscriptions of one point in time, as [`filter`](Self::filter) does. Of
    /// parts of a store, only those members of records are read that the subscriptions and the predicate of
    /// [`matching`](Self::matching) test, and only those records for which the predicate may be true. The
    /// results are the same, and [`Filtered::text`](crate::stream::Filtered::text) has what was read.
    ///
    /// ```
    /// use warpath::store::{AddOptions, Store};
    /// use warpath::twig::{Standing, Subscriptions};
    /// use warpath::{Engine, Source};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let store = folder.path().join("logs.wp");
    /// let lines = "{\"level\":\"error\",\"text\":\"no\"}\n{\"level\":\"debug\",\"text\":\"yes\"}\n";
    /// let source = Source::Bytes("lines".into(), lines.as_bytes().to_vec().into());
    /// Store::add(&store, vec![source], AddOptions::default(), &mut |_| {})?;
    /// let mut subscriptions = Subscriptions::default();
    /// subscriptions.add("errors", "$.level == 'error'")?;
    /// let subscriptions = Standing::new(subscriptions).current();
    /// let input = Engine::builder().build()?.input(Store::open(&store)?.sources());
    /// for filtered in input.filter_partial(&subscriptions) {
    ///     let filtered = filtered?;
    ///     assert_eq!(filtered.pairs(), [(0, 0)]);
    ///     assert_eq!(filtered.text(), b"{\"level\":\"error\"}\n{\"level\":\"debug\"}\n");
    /// }
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn filter_partial(self, subscriptions: &Arc<Snapshot>) -> Filtering<'a> {
        Filtering::start(self.0, Matched::Fixed(subscriptions.clone()), Documents::Ndjson)
    }

    /// The plan of [`filter`](Self::filter) with these documents, or, with `partial`, of
    /// [`filter_partial`](Self::filter_partial), for `explain`.
    ///
    /// # Errors
    /// The errors that the results would yield first.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn explain_filter(
        self,
        standing: &Standing,
        documents: Documents,
        partial: bool,
    ) -> Result<ExplainedTwigs, Error> {
        let matched = match partial {
            true => Matched::Fixed(standing.current()),
            false => Matched::Standing(standing.clone()),
        };
        explain_twigs(self.0, &matched, documents)
    }

    /// Reads and indexes all inputs, and keeps text and index in memory, where the backend reads them best,
    /// for many programs. The index has `levels` levels; [`Program::levels`] is the number that a program
    /// reads. A program that reads more ends with
    /// [`IndexError::TooFewLevels`](warpath_core::error::IndexError::TooFewLevels).
    ///
    /// On a device, that includes the text. Plain files are then read to the device alone, because the host
    /// needs twice as long to keep a copy. A partition's text is copied back when a result first needs it on
    /// the host, for example to show matches, and stays there. [`Loaded`] has an example.
    ///
    /// # Errors
    /// The errors of the inputs, except malformed records;
    /// [`DeviceError::IndexTooLarge`](warpath_core::error::DeviceError::IndexTooLarge) if the index does not
    /// fit a device's memory.
    pub fn index(self, levels: Level) -> Result<Loaded, Error> {
        resident::index(self.0, levels)
    }

    /// Reads this input with its index file. The index is first compared with the input: its size, its time,
    /// and samples of its bytes. Of an input that has grown, the index serves for the lines that it has; the
    /// others are read as text.
    ///
    /// The CPU reads the bitmaps from the file and does not compute them. A device computes bitmaps faster
    /// than it could copy them; on a device the file is only checked. If the index cannot serve the request,
    /// the text is read, and [`Plan::unused`](warpath_plan::Plan::unused) says why: for other inputs than one
    /// file of lines, for programs that read more levels than the file has, and beside lines that are
    /// selected.
    ///
    /// If the index has columns, lines for which they show that the condition of
    /// [`matching`](Self::matching) is not true are not read. The condition may test paths, of which columns
    /// of the same path decide something, and columns by their names. Results are those without the index,
    /// with one exception: if the condition tests a column, malformed lines are not noticed.
    ///
    /// ```
    /// use warpath::bitmap::ColumnSpec;
    /// use warpath::{Engine, IndexFile, IndexSpec, Predicate, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tweets.ndjson");
    /// # std::fs::write(&path, "{\"n\":5,\"id\":1}\n{\"n\":6,\"id\":2}\n{\"n\":7,\"id\":3}\n")?;
    /// let engine = Engine::builder().build()?;
    /// # #[cfg(any())]
    /// let path = Path::new("tweets.ndjson");
    /// let spec = IndexSpec::new(4).with_columns(vec![ColumnSpec::new("n", "$.n")]);
    /// let index = IndexFile::build_as(&engine, &path, &spec)?;
    /// for condition in ["n >= 6 && $.id < 3", "$.n >= 6 && $.id < 3"] {
    ///     let input = engine.open(&path)?.with_index(&index)?;
    ///     let mut hits = input.matching(&Predicate::parse(condition)?).query(&Query::compile("$.id")?)?;
    ///     assert_eq!(hits.by_ref().next().unwrap()?.text(), "2");
    ///     assert_eq!(hits.stats().lines, 2);
    /// }
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Index`] if the index belongs to another input, or to an earlier state of this one.
    #[cfg(feature = "store")]
    pub fn with_index(mut self, index: &IndexFile) -> Result<Self, Error> {
        let is_lines = self.0.engine.format() == Format::Ndjson;
        match self.0.inputs.sources() {
            [Source::File(path) | Source::Part(path, _)] if is_lines => {
                self.0.index = Some(Arc::new(index.check(path)?));
            }
            _ => {
                let why = match self.0.engine.format() {
                    Format::Json => "the input is one JSON document",
                    _ => self.0.inputs.access().has_no_index().unwrap_or("a part of the file is read"),
                };
                self.0.unused.push(Unused::new(index.name(), why, true));
            }
        }
        Ok(self)
    }

    /// Restricts the input to some of its lines. The input has to be the plain file that the index was made
    /// of. The index says where lines begin, so that little else is read.
    ///
    /// `lines` is a set of the lines of the index. Blank and malformed lines are counted.
    ///
    /// Line numbers, offsets, paths and errors refer to the whole input, on every backend. The pieces of
    /// a [`Batch`](crate::stream::Batch) are the only exception: they count selected lines only.
    /// [`Batch::line`](crate::stream::Batch::line) and [`Batch::offset_of`](crate::stream::Batch::offset_of)
    /// convert to positions in the input. A malformed line that is not selected is not noticed.
    ///
    /// ```
    /// use warpath::bitmap::RowSet;
    /// use warpath::{Engine, IndexFile, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = tempfile::tempdir()?;
    /// # let path = folder.path().join("tweets.ndjson");
    /// # std::fs::write(&path, "{\"id\":5}\n{\"id\":6}\n{\"id\":7}\n")?;
    /// let engine = Engine::builder().build()?;
    /// # #[cfg(any())]
    /// let path = Path::new("tweets.ndjson");
    /// let index = IndexFile::build(&engine, &path, 1)?;
    /// // The second line, and the third.
    /// let lines = RowSet::from_words(vec![0b110], 3);
    /// let mut hits = engine.open(&path)?.only(&index, lines)?.query(&Query::compile("$.id")?)?;
    /// let hit = hits.next().unwrap()?;
    /// assert_eq!((hit.text().as_ref(), hit.line(), hit.offsets()), ("6", 2, (15, 16)));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// * [`Error::Index`] if the index belongs to another input, or to an earlier state of this one.
    /// * [`Error::Plan`] if this is not one file, is a document, or has grown since it was indexed.
    /// * [`Error::Usage`] if `lines` is a set of another number of lines.
    #[cfg(feature = "store")]
    pub fn only(self, index: &IndexFile, lines: RowSet) -> Result<Self, Error> {
        self.0.engine.wants_lines("an index requires NDJSON input")?;
        let [Source::File(path) | Source::Part(path, _)] = self.0.inputs.sources() else {
            return Err(PlanError::new("an index requires one plain file", "this input is another").into());
        };
        let (found, wanted) = (lines.rows(), index.info().lines);
        if found != wanted {
            return Err(Error::Usage(format!("the selection is of {found} lines; the index has {wanted}")));
        }
        let checked = index.check(path)?;
        checked.check_whole("a selection of lines requires an index of the whole file")?;
        let selection = Selection::new(checked.lines(None)?, lines, false, self.0.inputs.sources())?;
        Ok(self.selecting(selection))
    }

    /// Restricts the input to a selection of its lines.
    pub(crate) fn selecting(mut self, selection: Selection) -> Self {
        self.0.selected = Some(Arc::new(selection));
        self
    }

    /// Restricts the input to the records for which a predicate is true, in place of an earlier predicate.
    /// Each backend evaluates it where it evaluates the query, on lines and on documents,
    /// of which each is one record. The other records are read and checked, and have no results.
    ///
    /// ```
    /// use warpath::{Engine, Predicate, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let predicate = Predicate::parse("$.user.followers >= 1000 && $.user.lang in ('en', 'nl')")?;
    /// let tweets = "{\"user\":{\"followers\":7,\"lang\":\"nl\"},\"id\":1}\n\
    ///               {\"user\":{\"followers\":3500,\"lang\":\"nl\"},\"id\":2}\n";
    /// let input = Engine::builder().build()?.reader("tweets", tweets.as_bytes()).matching(&predicate);
    /// let mut hits = input.query(&Query::compile("$.id")?)?;
    /// assert_eq!(hits.next().unwrap()?.text(), "2");
    /// assert!(hits.next().is_none());
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The first result is [`Error::Expression`] if the predicate has a column, because records have none,
    /// and [`Error::Unsupported`] if it is too large.
    #[must_use]
    pub fn matching(mut self, predicate: &Predicate) -> Self {
        self.0.predicate = Some(Arc::new(predicate.clone()));
        self
    }

    /// Lets workers digest the results of [`answers`](Self::answers), in place of handing them on. The caller
    /// wants the results that [`Digest::want`] names.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn digesting(mut self, digest: Arc<dyn Digest>) -> Self {
        self.0.digest = Some(digest);
        self
    }

    /// Lets workers copy records, as many as a sampler allows. They come with the batches
    /// ([`Batch::take_sample`](crate::stream::Batch::take_sample)).
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn sampling(mut self, sampler: Arc<Sampler>) -> Self {
        self.0.sampler = Some(sampler);
        self
    }

    /// The plan of the results of a program, for `explain`. Nothing is read but indexes, and lines that
    /// decide which lines are read.
    ///
    /// # Errors
    /// The errors that [`answers`](Self::answers) would yield first.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    pub fn explain(self, program: Program, want: Want) -> Result<Explained, Error> {
        planning::explain(self.0, program, want)
    }

    /// The schema of the records: every path, with the kinds of its values. With a limit, only the first
    /// records are read; with a predicate ([`matching`](Self::matching)), only those for which it is true
    /// are in the schema, and count. A schema is made on the CPU, on every backend.
    ///
    /// Every record is held to the grammar of JSON, apart from the bytes within strings; with
    /// [`EngineBuilder::strict`](crate::engine::EngineBuilder::strict) to all of RFC 8259.
    ///
    /// ```
    /// use warpath::Engine;
    /// use warpath::schema::JsonType;
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let text = "{\"id\":7,\"tags\":[\"a\"]}\n{\"id\":\"x\"}\n";
    /// let mut parts = Engine::builder().build()?.reader("text", text.as_bytes()).schema(None);
    /// for part in &mut parts {
    ///     part?;
    /// }
    /// let schema = parts.finish();
    /// let [id, tags] = schema.tree.root().members()[..] else { panic!("two members") };
    /// assert_eq!(id.kinds(), [JsonType::Int64, JsonType::String]);
    /// let first = id.first(JsonType::String).unwrap();
    /// assert_eq!((schema.locate(first.position), first.example.text()), ("text:2".into(), "\"x\"".into()));
    /// assert_eq!(tags.missing(), 1);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn schema(self, limit: Option<u64>) -> Schemas<'a> {
        Schemas::start(self.0, limit)
    }

    /// The structural indexes, one for each partition.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn indexes(self, levels: Level) -> Indexes<'a> {
        Indexes::start(self.0, levels)
    }
}

/// The program that selects the records.
#[cfg(feature = "arrow")]
fn root() -> Result<Program, Error> {
    Query::compile("$").and_then(|root| Program::new(&[root]))
}
