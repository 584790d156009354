//! What can be done with inputs: query, count, select columns, filter, index.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use warpath_backend::answer::{Limit, Want};
use warpath_backend::columns::Schema;
use warpath_backend::twig::standing::{Documents, Standing};
use warpath_core::error::{Error, InputError};
use warpath_lang::program::{Program, Query};
use warpath_shared::units::Level;
use warpath_store::bitmap::BitmapIndex;

use crate::engine::Engine;
use crate::index_file::IndexFile;
use crate::input::{Selection, Source};
#[cfg(feature = "arrow")]
use crate::record_batches::RecordBatches;
use crate::request::Request;
use crate::resident::ResidentIndex;
use crate::stream::{Answers, Columns, Filtering, Hits, Indexes};

impl Engine {
    /// A file of newline-delimited JSON, or a document ([`EngineBuilder::format`](crate::engine::EngineBuilder::format)), plain, gzip or zstd.
    ///
    /// # Errors
    /// [`Error::Input`] if it is not there or is a directory. It is opened when it is queried.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Input, Error> {
        let path = path.as_ref();
        let failed = |source| InputError::Io { name: path.display().to_string(), source };
        if path.metadata().map_err(failed)?.is_dir() {
            return Err(InputError::Directory(path.to_owned()).into());
        }
        Ok(self.input(vec![Source::File(path.to_owned())]))
    }

    /// Anything that can be read. `name` stands in messages.
    #[must_use]
    pub fn reader(&self, name: impl Into<String>, reader: impl Read + Send + 'static) -> Input {
        self.input(vec![Source::Reader(name.into(), Box::new(reader))])
    }

    /// Several inputs, one after the other. Each is opened when those before it have been read.
    #[must_use]
    pub fn input(&self, sources: Vec<Source>) -> Input {
        Input(Request { engine: self.clone(), sources, index: None, selected: None })
    }
}

/// Inputs that an engine is about to read.
pub struct Input(Request);

impl Input {
    /// The matches of a query, in record order, and within a record in the order of RFC 9535's nodelist.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a query that cannot be run; errors of the input come from the iterator.
    pub fn query(self, query: &Query) -> Result<Hits, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        // Who takes matches one by one may stop at any of them.
        let limit = Some(Limit::Matches(u64::MAX));
        Ok(Hits::new(self.answers(program, Want { matches: true, limit, ..Want::default() })))
    }

    /// How many matches a query has.
    ///
    /// # Errors
    /// Those of the query and of the input.
    pub fn count(self, query: &Query) -> Result<u64, Error> {
        let program = Program::new(std::slice::from_ref(query))?;
        let mut count = 0;
        for batch in self.answers(program, Want::default()) {
            count += batch?.count(0);
        }
        Ok(count)
    }

    /// The answers of a program, a partition at a time: the way to ask several paths in one pass.
    #[must_use]
    pub fn answers(self, program: Program, want: Want) -> Answers {
        Answers::start(self.0, program, want)
    }

    /// The records as typed columns, in order: batches of one partition each, or of a part of one, with a row for each record.
    ///
    /// Malformed records are [`EngineBuilder::on_error`](crate::engine::EngineBuilder::on_error)'s: those left out are counted in [`Columns::stats`]. Who wants to know
    /// where they stand asks [`answers`](Self::answers) with [`Want::columns`].
    #[must_use]
    pub fn columns(self, schema: &Schema) -> Columns {
        let want = Want { columns: Some(schema.width()), ..Want::default() };
        Columns::new(self.answers(schema.program().clone(), want))
    }

    /// The same as Arrow's record batches, all of the schema [`Schema::to_arrow`], without copying.
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
    pub fn record_batches(self, schema: &Schema) -> RecordBatches {
        RecordBatches::new(self.columns(schema), schema)
    }

    /// Which of some subscriptions documents match, in their order: of a partition of lines at a time, or of an input that is one document. `documents` says which inputs are, and [`EngineBuilder::format`](crate::engine::EngineBuilder::format) does not matter.
    ///
    /// Malformed documents are [`EngineBuilder::on_error`](crate::engine::EngineBuilder::on_error)'s. [`Standing`] has an example.
    #[must_use]
    pub fn filter(self, standing: &Standing, documents: Documents) -> Filtering {
        Filtering::start(self.0, standing, documents)
    }

    /// Reads and indexes everything, and keeps it where the backend reads it best, to be asked again and again: text and index,
    /// with so many levels. [`Program::levels`] says how many a program reads.
    ///
    /// # Errors
    /// Those of the inputs, but for malformed records; [`DeviceError::IndexTooLarge`](warpath_core::error::DeviceError::IndexTooLarge) where it does not fit a device's memory.
    pub fn index(self, levels: Level) -> Result<ResidentIndex, Error> {
        ResidentIndex::build(self.0, levels)
    }

    /// The same input, answered by its index file. The file is checked against the input: its size, its time and samples of its
    /// bytes, or all of them where `verify` is set.
    ///
    /// On the CPU bitmaps are read in place of being made. A device makes them faster than they could be copied to it: there the
    /// file is checked, and read no further. Either way a program may read no more levels than the file has.
    ///
    /// # Errors
    /// [`Error::Index`] where the index is of another input, or of this one as it was; [`Error::Usage`] where this is not one file, or a document.
    pub fn with_index(mut self, index: &IndexFile, verify: bool) -> Result<Self, Error> {
        self.0.engine.wants_lines("an index file is")?;
        self.0.index = Some(Arc::new(index.check(&self.0.sources, verify)?));
        self.wants_one_index()?;
        Ok(self)
    }

    /// Some lines of the same input, which has to be the plain file that a bitmap index was made of: only these are answered, and
    /// little else is read, since the index says where each 64th line begins. `chunks` says which: the first 63 lines in bits 0 to 62 of
    /// the first, and so on, blank and malformed lines counted, as bitmaps of the index have them.
    ///
    /// Whatever is told of the input, line numbers, offsets, paths and errors, is told of all of it, on every backend. Only the
    /// pieces of a [`Batch`](crate::stream::Batch) count the lines that they have: [`Batch::line`](crate::stream::Batch::line) and
    /// [`Batch::offset_of`](crate::stream::Batch::offset_of) say which these are. A malformed line that is not among the selected ones is not seen.
    ///
    /// ```
    /// use warpath::bitmap::{BitmapIndex, Built, Stamp};
    /// use warpath::{Engine, Query};
    ///
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let folder = std::env::temp_dir().join(format!("warpath-only-{}", std::process::id()));
    /// # std::fs::create_dir_all(&folder)?;
    /// # let path = folder.join("tweets.ndjson");
    /// # std::fs::write(&path, "{\"id\":5}\n{\"id\":6}\n{\"id\":7}\n")?;
    /// # let stamp = Some(Stamp::of(&std::fs::File::open(&path)?)?);
    /// # let index = BitmapIndex::from_built(Built { rows: 3, lines: vec![0, 27], stamp, ..Built::default() })?;
    /// let engine = Engine::builder().build()?;
    /// // The second line, and the third.
    /// let mut hits = engine.open(&path)?.only(&index, vec![0b110])?.query(&Query::compile("$.id")?)?;
    /// let hit = hits.next().unwrap()?;
    /// assert_eq!((hit.text().as_ref(), hit.line(), hit.offsets()), ("6", 2, (15, 16)));
    /// # drop((hit, hits));
    /// # std::fs::remove_dir_all(folder)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::Index`] where the index is of another input, or of this one as it was; [`Error::Usage`] where this is not one file, or a
    /// document, or has an [index file](Self::with_index); where rows of the index are no lines; and for a number of chunks that is not the
    /// index's.
    pub fn only(mut self, index: &BitmapIndex, chunks: impl Into<Arc<[u64]>>) -> Result<Self, Error> {
        self.0.engine.wants_lines("a bitmap index is")?;
        self.0.selected = Some(Arc::new(Selection::new(index, chunks.into(), &self.0.sources)?));
        self.wants_one_index()?;
        Ok(self)
    }

    fn wants_one_index(&self) -> Result<(), Error> {
        match (&self.0.index, &self.0.selected) {
            (Some(_), Some(_)) => Err(Error::Usage(
                "selected lines are read by a bitmap index, and by no index file beside it".into(),
            )),
            _ => Ok(()),
        }
    }

    /// The structural indexes, a partition at a time.
    #[must_use]
    pub fn indexes(self, levels: Level) -> Indexes {
        Indexes::new(self.0, levels)
    }
}
