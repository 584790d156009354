//! Inputs that may be read several times, and the engines that read them.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::pybacked::PyBackedBytes;
use warpath::{
    Answers, DeviceChoice, Engine, Error, FolderFiles, Format, Input, InputBytes, OnError, Predicate,
    Program, Query, Records, Source, TableFormat, TextColumn,
};
use warpath_answer::answer::Want;
use warpath_core::time::Format as TimeFormat;

/// The size of a partition of nested columns, if none is given. Arrays of many columns are allocated for each
/// partition, so the rows of small partitions cost more.
const NESTED_PARTITION_BYTES: usize = 8 << 20;

/// The most engines that are kept.
const MOST_ENGINES: usize = 8;

/// The settings of an engine.
#[derive(Clone, PartialEq, Eq)]
pub struct EngineSettings {
    pub device: DeviceChoice,
    pub format: Format,
    pub on_error: OnError,
    pub strict: bool,
    pub workers: Option<usize>,
    pub partition_size: Option<usize>,
}

/// The engines of this process, the last used one at the end. An engine keeps the device that it has opened.
static ENGINES: Mutex<Vec<(EngineSettings, Engine)>> = Mutex::new(Vec::new());

impl EngineSettings {
    /// The engine with these settings, which is opened at most once.
    pub fn engine(&self) -> Result<Engine, Error> {
        let mut engines = ENGINES.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(at) = engines.iter().position(|(settings, _)| settings == self) {
            let last = engines.remove(at);
            engines.push(last);
        } else {
            let mut builder = Engine::builder()
                .device(self.device.clone())
                .format(self.format)
                .on_error(self.on_error)
                .strict(self.strict);
            if let Some(workers) = self.workers {
                builder = builder.workers(workers);
            }
            if let Some(bytes) = self.partition_size {
                builder = builder.partition_size(bytes);
            }
            let engine = builder.build()?;
            if engines.len() == MOST_ENGINES {
                engines.remove(0);
            }
            engines.push((self.clone(), engine));
        }
        let engine = engines.last().map(|(_, engine)| engine.clone());
        engine.ok_or_else(|| Error::Internal("an engine that was kept is gone".into()))
    }
}

/// The bytes that are read.
#[derive(Clone)]
pub enum Origin {
    Files(Vec<PathBuf>),
    /// Bytes in memory, with a name for messages.
    Bytes(String, PythonBytes),
}

/// Bytes that belong to Python.
#[derive(Clone)]
pub struct PythonBytes(pub Arc<PyBackedBytes>);

impl AsRef<[u8]> for PythonBytes {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// An input that may be read several times, with the settings of its reads.
#[derive(Clone)]
pub struct Reading {
    pub origin: Origin,
    /// The column of the files, which are tables, whose values are the records.
    pub column: Option<TextColumn>,
    pub settings: EngineSettings,
    pub time_format: Option<Arc<TimeFormat>>,
    pub predicate: Option<Predicate>,
    /// The records within the records of the input; the predicate is then theirs.
    pub records: Option<Records>,
}

impl Reading {
    /// The files that names stand for: files, folders and patterns. `table` is their format, if they are
    /// tables.
    pub fn files(names: &[PathBuf], table: Option<TableFormat>) -> Result<Origin, Error> {
        let in_folders = match table {
            None => FolderFiles::Json,
            Some(TableFormat::Parquet) => FolderFiles::Parquet,
            Some(_) => FolderFiles::Arrow,
        };
        let mut files = Vec::new();
        for name in names {
            for source in Source::named(name, in_folders)? {
                if let Source::File(path) = source {
                    // An absent file is an error now, and not when it is read.
                    let failed = |source| warpath_core::error::InputError::Io {
                        name: path.display().to_string(),
                        source,
                    };
                    path.metadata().map_err(failed)?;
                    files.push(path);
                }
            }
        }
        Ok(Origin::Files(files))
    }

    /// The input, to be read once.
    pub fn input(&self) -> Result<Input<'static>, Error> {
        self.input_with(&self.settings)
    }

    /// The input, to be read once as nested columns. A record of these is read by the grammar of JSON.
    pub fn input_for_nested(&self) -> Result<Input<'static>, Error> {
        let mut settings = EngineSettings { strict: true, ..self.settings.clone() };
        settings.partition_size.get_or_insert(NESTED_PARTITION_BYTES);
        self.input_with(&settings)
    }

    fn input_with(&self, settings: &EngineSettings) -> Result<Input<'static>, Error> {
        let engine = settings.engine()?;
        let files = |files: &[PathBuf]| {
            let file = |path: &PathBuf| match &self.column {
                None => Source::File(path.clone()),
                Some(column) => Source::Column(Box::new(Source::File(path.clone())), column.clone()),
            };
            files.iter().map(file).collect()
        };
        if let Some(records) = &self.records {
            let sources: Vec<Source> = match &self.origin {
                Origin::Files(names) => files(names),
                Origin::Bytes(name, bytes) => {
                    vec![Source::Bytes(name.clone(), InputBytes::shared(bytes.clone()))]
                }
            };
            let lines = EngineSettings { format: Format::Ndjson, ..settings.clone() }.engine()?;
            return Ok(lines.input(sources.into_iter().map(|source| records.of(&engine, source)).collect()));
        }
        let input = match &self.origin {
            Origin::Files(names) => engine.input(files(names)),
            Origin::Bytes(name, bytes) => engine.bytes(InputBytes::shared(bytes.clone())).named(name.clone()),
        };
        Ok(match &self.predicate {
            Some(predicate) => input.matching(predicate),
            None => input,
        })
    }

    /// The results of one query.
    pub fn answers(&self, query: &Query, want: Want) -> Result<Answers<'static>, Error> {
        Ok(self.input()?.answers(Program::new(std::slice::from_ref(query))?, want))
    }

    /// The input with another condition on records, beside an earlier one.
    pub fn and(&self, expression: &str) -> Result<Self, Error> {
        let mut predicate = Predicate::parse(expression)?;
        if let Some(earlier) = &self.predicate {
            predicate = earlier.and(&predicate)?;
        }
        if let Some(format) = &self.time_format {
            predicate = predicate.with_time_format(format);
        }
        Ok(Self { predicate: Some(predicate), ..self.clone() })
    }

    /// A query with the format of instants.
    pub fn query(&self, path: &str) -> Result<Query, Error> {
        match &self.time_format {
            Some(format) => Query::compile_with(path, format),
            None => Query::compile(path),
        }
    }

    /// A description for people.
    pub fn describe(&self) -> String {
        let origin = match &self.origin {
            Origin::Bytes(name, bytes) => format!("{name}, {} bytes", bytes.as_ref().len()),
            Origin::Files(files) => match &files[..] {
                [one] => one.display().to_string(),
                [first, rest @ ..] => format!("{} and {} more", first.display(), rest.len()),
                [] => "no file".to_owned(),
            },
        };
        let origin = match &self.column {
            Some(TextColumn { name: Some(name), .. }) => format!("{origin}, column {name}"),
            Some(_) => format!("{origin}, the rows of a table"),
            None => origin,
        };
        match &self.predicate {
            Some(predicate) => format!("{origin}, where {}", predicate.text()),
            None => origin,
        }
    }
}
