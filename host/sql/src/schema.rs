//! The schema of a table: that of all records of its files, kept beside each file.
//!
//! The schema of `events.ndjson` is kept in `.events.ndjson.schema`: a line with the size, the time and a
//! hash of samples of the file, and then the rows of `warpath schema --format ndjson`. When one of the three
//! differs, all records are read again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result, exec_datafusion_err};
use object_store::{ObjectMeta, ObjectStore};
use serde_json::{Value, json};
use warpath::columns::json_text;
use warpath::schema::{ArrowOptions, Position, SchemaTree, rows};
use warpath::{Error, InputBytes, Source};
use warpath_core::stamp::Stamp;
use warpath_core::temporary::{OutputMode, Temporary};
use warpath_exec::saved_schema;

use crate::options::SchemaFrom;
use crate::paths;
use crate::reader::{Reader, external, local_path};

/// The version of the kept form.
const VERSION: u64 = 1;

/// The schema of all files of a table.
pub async fn of_files(
    reader: &Arc<Reader>,
    from: SchemaFrom,
    store: &Arc<dyn ObjectStore>,
    objects: &[ObjectMeta],
) -> Result<SchemaRef> {
    if from == SchemaFrom::Line {
        return Ok(Arc::new(Schema::new(vec![paths::line()])));
    }
    let mut all = SchemaTree::default();
    let objects = objects.iter().filter(|object| !is_kept(object));
    for (at, object) in objects.enumerate() {
        let source = of_object(reader, store, object)?;
        let mut tree = blocking(reader, move |reader| of_file(&reader, from, source)).await?;
        let text = at as u64;
        tree.relocate(|position| Position { text, ..position });
        all.merge(&tree);
    }
    all.settle();
    of_tree(&all)
}

/// True for a file that keeps the schema of another one. It is no part of a table, whose folder it may be in.
pub fn is_kept(object: &ObjectMeta) -> bool {
    object.location.filename().is_some_and(|name| name.starts_with('.') && name.ends_with(".schema"))
}

/// The number of a file's records, if a schema of the file as it is now is kept.
pub async fn kept_records(
    reader: &Arc<Reader>,
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
) -> Result<Option<u64>> {
    let Input::Local(path) = of_object(reader, store, object)? else { return Ok(None) };
    blocking(reader, move |_| Ok(kept(&path).map(|tree| tree.records()))).await
}

async fn blocking<T: Send + 'static>(
    reader: &Arc<Reader>,
    work: impl FnOnce(Arc<Reader>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let reader = reader.clone();
    let done = tokio::task::spawn_blocking(move || work(reader)).await;
    done.map_err(|error| DataFusionError::External(Box::new(error)))?
}

/// A file that a schema is made of.
enum Input {
    Local(PathBuf),
    Remote(Source),
}

/// An object as an input. A local one has the same path in its store and in the file system.
fn of_object(reader: &Reader, store: &Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<Input> {
    if store.to_string().starts_with("LocalFileSystem") {
        return Ok(Input::Local(local_path(&object.location)?));
    }
    Ok(Input::Remote(reader.object(store, &object.location)))
}

fn of_file(reader: &Reader, from: SchemaFrom, input: Input) -> Result<SchemaTree> {
    let limit = match from {
        SchemaFrom::Sample(records) => Some(records),
        _ => None,
    };
    let (source, path) = match input {
        Input::Local(path) => {
            if let (None, Some(tree)) = (limit, kept(&path)) {
                return Ok(tree);
            }
            (Source::File(path.clone()), Some(path))
        }
        Input::Remote(source) => (source, None),
    };
    let before = path.as_deref().map(stamp).transpose()?;
    let mut parts = reader.engine().input(vec![source]).schema(limit);
    let (mut records, mut read) = (0, 0);
    while limit.is_none_or(|limit| records < limit)
        && let Some(part) = parts.next()
    {
        records += part.map_err(external)?.records;
        reader.report.read(parts.bytes_read(), &mut read);
    }
    let tree = parts.finish().tree;
    if let (Some(path), Some(stamp), None) = (path, before, limit)
        && reader.options.keeps_schemas
        && let Err(error) = keep(&path, stamp, &tree)
    {
        let file = beside(&path);
        reader.report.note(format!("the schema cannot be kept in {}: {error}", file.display()));
    }
    Ok(tree)
}

fn stamp(path: &Path) -> Result<Stamp> {
    let stamp = File::open(path).and_then(|file| Stamp::of(&file));
    stamp.map_err(|error| exec_datafusion_err!("{}: {error}", path.display()))
}

/// The file in which the schema of a file is kept.
fn beside(path: &Path) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.schema"))
}

fn header(stamp: Stamp) -> Value {
    let Stamp { size, seconds, nanoseconds, samples } = stamp;
    json!({
        "warpath_schema": VERSION, "size": size, "seconds": seconds, "nanoseconds": nanoseconds,
        "samples": samples,
    })
}

fn keep(path: &Path, stamp: Stamp, tree: &SchemaTree) -> std::io::Result<()> {
    use std::io::Write;
    let target = beside(path);
    let (temporary, mut file) = Temporary::beside(&target, OutputMode::default().and_file(path))?;
    let mut text = format!("{}\n", header(stamp));
    for row in rows(tree, &|position| format!("{}", position.line)) {
        text.push_str(&warpath_store::schema::ndjson(&row));
        text.push('\n');
    }
    file.write_all(text.as_bytes())?;
    temporary.rename()
}

/// The kept schema of a file; `None` if there is none, or the file has changed since.
fn kept(path: &Path) -> Option<SchemaTree> {
    let text = fs::read_to_string(beside(path)).ok()?;
    let (first, rows) = text.split_once('\n')?;
    let now = Stamp::of(&File::open(path).ok()?).ok()?;
    if serde_json::from_str::<Value>(first).ok()? != header(now) {
        return None;
    }
    let source = Source::Bytes(beside(path).display().to_string(), InputBytes::from(rows.to_owned()));
    SchemaTree::of_rows(&saved_schema::rows(source).ok()?).ok()
}

/// The Arrow schema of a tree.
fn of_tree(tree: &SchemaTree) -> Result<SchemaRef> {
    if tree.is_empty() {
        return Err(external(Error::Usage(
            "there is no record, so no column has a type; the schema `line` reads such files".into(),
        )));
    }
    let options = ArrowOptions::default().all_nullable(true).maps_as_json(true);
    let schema = tree.to_arrow(options);
    let are_objects = warpath_store::schema::arrow::data_type(tree.root(), options)
        .is_some_and(|data_type| matches!(data_type, DataType::Struct(_)));
    let fields: Vec<Field> = schema.fields().iter().map(|field| readable(field)).collect();
    let fields = match are_objects && !tree.root().is_nullable() {
        true => fields,
        false => fields.into_iter().map(paths::whole_record).collect(),
    };
    Ok(Arc::new(Schema::new(fields)))
}

/// A field of a type that columns are read as: those without a value, and decimals of more than 38 digits,
/// are JSON text.
fn readable(field: &Field) -> Field {
    let inner = |field: &FieldRef| FieldRef::from(readable(field));
    let data_type = match field.data_type() {
        DataType::Null | DataType::Decimal256(..) => {
            return json_text(Field::new(field.name(), DataType::Utf8, true));
        }
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(inner).collect()),
        DataType::List(element) => DataType::List(inner(element)),
        other => other.clone(),
    };
    field.clone().with_data_type(data_type)
}
