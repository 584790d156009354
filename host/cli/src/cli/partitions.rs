//! `select -o 'out/{day($.at)}.parquet'`: rows in files that values of their records name.
//!
//! The values are columns after those of the file. Rows wait in memory, and beyond that in one temporary
//! file, in the order of the run. At the end the files are written one after the other, so at most two are
//! open at a time.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Seek as _, SeekFrom, Write as _};
use std::sync::Arc;

use arrow_array::{Array, RecordBatch, StringArray, UInt32Array};
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{Schema, SchemaRef};
use arrow_select::take::take_record_batch;
use warpath::Error;
use warpath::aggregate::Grouping;
use warpath_terminal::messages::Ui;

use super::failure::Failure;
use super::groups::NotTimes;
use super::out::Out;
use super::split::{Files, failed};
use super::table::{TableFormat, TableWriter};

/// The destination of typed columns: one output, or files that values of the rows name.
pub enum Destination {
    One(TableWriter),
    Files(Box<Partitions>),
}

impl Destination {
    /// Returns true if the output can be read only when its end is written.
    pub fn is_whole(&self) -> bool {
        match self {
            Self::One(writer) => writer.is_whole(),
            Self::Files(_) => true,
        }
    }

    /// The number of columns at the end of a batch that only name files.
    pub fn columns_of_names(&self) -> usize {
        match self {
            Self::One(_) => 0,
            Self::Files(files) => files.grouping.len(),
        }
    }

    /// Adds rows, and writes when there are enough of them.
    pub fn add(&mut self, batch: RecordBatch, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::One(writer) => writer.add(batch, out),
            Self::Files(files) => files.add(&batch),
        }
    }

    /// Writes the last rows, with metadata, and the end of the format.
    pub fn finish(&mut self, key: &str, value: String, out: &mut Out) -> Result<(), Failure> {
        match self {
            Self::One(writer) => {
                writer.add_metadata(key, value);
                writer.finish(out)
            }
            Self::Files(files) => files.finish(key, &value),
        }
    }

    /// Reports what was written, if there are several files.
    pub fn report(&self, ui: &Ui) {
        if let Self::Files(files) = self {
            files.not_times.report(&files.time_path, ui);
            files.files.report(files.rows, "row", ui);
        }
    }
}

/// The most bytes of rows that wait in memory.
const BUFFER_BYTES: usize = 64 << 20;

/// The most values that are remembered.
const MOST_KNOWN: usize = 100_000;

/// Rows of a table that wait for their files.
pub struct Partitions {
    format: TableFormat,
    /// The schema of the files.
    schema: SchemaRef,
    grouping: Grouping,
    files: Files,
    /// The files by the texts of their values, as they are written in the records.
    known: HashMap<Vec<Option<Box<str>>>, Known>,
    /// The rows of each file.
    waiting: Vec<Waiting>,
    /// The bytes of the rows in memory, and the most of them.
    bytes: usize,
    most_bytes: usize,
    spilled: Option<File>,
    time_path: String,
    not_times: NotTimes,
    rows: u64,
}

/// The file of a row, found by its values.
#[derive(Clone, Copy)]
struct Known {
    /// The number of the file.
    file: u32,
    /// The value that should be an instant and is not.
    not_time: Option<usize>,
}

/// The rows of a file that is not written yet.
#[derive(Default)]
struct Waiting {
    /// The offsets of streams of Arrow IPC in the temporary file.
    spilled: Vec<u64>,
    batches: Vec<RecordBatch>,
}

fn internal(error: impl std::fmt::Display) -> Failure {
    Error::Internal(format!("rows of files could not be written: {error}")).into()
}

fn temporary(source: io::Error) -> Failure {
    Failure::Output { name: "a temporary file".into(), source }
}

impl Partitions {
    /// Writes files of a format. `memory` is the most bytes of rows that wait in memory. The last columns of
    /// a schema have the values of the groups.
    pub fn new(format: TableFormat, all: &Schema, grouping: Grouping, files: Files, memory: usize) -> Self {
        let time_path = files.time_path();
        let columns = all.fields().len() - grouping.len();
        Self {
            format,
            schema: Arc::new(Schema::new(all.fields()[..columns].to_vec())),
            grouping,
            files,
            known: HashMap::new(),
            waiting: Vec::new(),
            bytes: 0,
            most_bytes: memory.min(BUFFER_BYTES),
            spilled: None,
            time_path,
            not_times: NotTimes::default(),
            rows: 0,
        }
    }

    fn add(&mut self, batch: &RecordBatch) -> Result<(), Failure> {
        let numbers = self.numbers(batch)?;
        self.rows += numbers.len() as u64;
        let columns: Vec<usize> = (0..self.schema.fields().len()).collect();
        let batch = batch.project(&columns).map_err(internal)?;
        let batch = batch.with_schema(self.schema.clone()).map_err(internal)?;
        // Rows of one file are neighbours then, in their order.
        let mut order: Vec<u32> = (0..numbers.len() as u32).collect();
        order.sort_by_key(|row| numbers[*row as usize]);
        let batch = take_record_batch(&batch, &UInt32Array::from(order.clone())).map_err(internal)?;
        self.bytes += batch.get_array_memory_size();
        let mut begin = 0;
        for rows in order.chunk_by(|a, b| numbers[*a as usize] == numbers[*b as usize]) {
            let number = numbers[rows[0] as usize] as usize;
            if self.waiting.len() <= number {
                self.waiting.resize_with(number + 1, Waiting::default);
            }
            self.waiting[number].batches.push(batch.slice(begin, rows.len()));
            begin += rows.len();
        }
        if self.bytes > self.most_bytes { self.spill() } else { Ok(()) }
    }

    /// The number of the file of each row.
    fn numbers(&mut self, batch: &RecordBatch) -> Result<Vec<u32>, Failure> {
        let columns = &batch.columns()[self.schema.fields().len()..];
        let columns: Option<Vec<&StringArray>> =
            columns.iter().map(|column| column.as_any().downcast_ref()).collect();
        let columns = columns.ok_or_else(|| internal("a value of a name is no text"))?;
        let mut numbers = Vec::with_capacity(batch.num_rows());
        let mut key = Vec::new();
        for row in 0..batch.num_rows() {
            let value = |column: &&StringArray| column.is_valid(row).then(|| column.value(row).into());
            let values: Vec<Option<Box<str>>> = columns.iter().map(value).collect();
            let known = match self.known.get(&values) {
                Some(known) => *known,
                None => {
                    key.clear();
                    let not_time = self.grouping.append_key(values.iter().map(Option::as_deref), &mut key);
                    let known = Known { file: self.files.number(&key)? as u32, not_time };
                    // Times of records are all different.
                    if self.known.len() == MOST_KNOWN {
                        self.known.clear();
                    }
                    self.known.insert(values.clone(), known);
                    known
                }
            };
            if let Some(value) = known.not_time {
                self.not_times.add_value(values[value].as_deref().unwrap_or_default());
            }
            numbers.push(known.file);
        }
        Ok(numbers)
    }

    /// Moves the rows in memory to the temporary file.
    fn spill(&mut self) -> Result<(), Failure> {
        let file = match &mut self.spilled {
            Some(file) => file,
            none => none.insert(tempfile::tempfile().map_err(temporary)?),
        };
        let mut out = io::BufWriter::new(&*file);
        let mut end = out.seek(SeekFrom::End(0)).map_err(temporary)?;
        for waiting in self.waiting.iter_mut().filter(|waiting| !waiting.batches.is_empty()) {
            let mut stream = Vec::new();
            let mut writer = StreamWriter::try_new(&mut stream, &self.schema).map_err(internal)?;
            for batch in waiting.batches.drain(..) {
                writer.write(&batch).map_err(internal)?;
            }
            writer.finish().map_err(internal)?;
            drop(writer);
            out.write_all(&stream).map_err(temporary)?;
            waiting.spilled.push(end);
            end += stream.len() as u64;
        }
        self.bytes = 0;
        out.flush().map_err(temporary)
    }

    /// Writes all files with metadata, and gives them their names.
    fn finish(&mut self, key: &str, value: &str) -> Result<(), Failure> {
        for (number, waiting) in std::mem::take(&mut self.waiting).into_iter().enumerate() {
            let unfinished = self.files.temporary(number);
            let file = File::options().write(true).truncate(true).open(unfinished.path());
            let file = file.map_err(|source| failed(unfinished.target(), source))?;
            let mut out = Out::to_file(file, unfinished.target());
            let mut writer = TableWriter::new(self.format, self.schema.clone())?;
            for offset in waiting.spilled {
                let Some(file) = &mut self.spilled else {
                    return Err(internal("there is no temporary file"));
                };
                file.seek(SeekFrom::Start(offset)).map_err(temporary)?;
                for batch in StreamReader::try_new(BufReader::new(&*file), None).map_err(internal)? {
                    writer.add(batch.map_err(internal)?, &mut out)?;
                }
            }
            for batch in waiting.batches {
                writer.add(batch, &mut out)?;
            }
            writer.add_metadata(key, value.to_owned());
            writer.finish(&mut out)?;
            out.finish()?;
        }
        self.files.rename()
    }
}
