//! The schema of a table: that of all records of its files, which is cached
//! ([`schema_cache`](crate::schema_cache)).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::{DataFusionError, Result};
use object_store::{ObjectMeta, ObjectStore};
use warpath::columns::json_text;
use warpath::schema::{ArrowOptions, Position, SchemaTree};
use warpath::{Error, InputError, Source};
use warpath_store::schema::MOST_MEMBERS;

use crate::engines::{Engines, external, local_path};
use crate::options::SchemaFrom;
use crate::paths;
use crate::schema_cache::{CachedSchema, is_kept};

/// The schema of all files of a table.
pub async fn of_files(
    engines: &Arc<Engines>,
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
        let input = of_object(engines, store, object)?;
        let mut tree = blocking(engines, move |engines| of_input(&engines, from, input)).await?;
        let text = at as u64;
        tree.relocate(|position| Position { text, ..position });
        all.merge(&tree);
    }
    all.settle();
    let schema = of_tree(&all)?;
    if all.root().values().is_some() {
        engines.report.note(format!(
            "the records have more than {MOST_MEMBERS} names, so they are one column `value` of JSON text; \
             `value->>'name'` reads a member"
        ));
    }
    Ok(schema)
}

/// The number of a file's records, if a schema of the file as it is now is kept.
pub async fn kept_records(
    engines: &Arc<Engines>,
    store: &Arc<dyn ObjectStore>,
    object: &ObjectMeta,
) -> Result<Option<u64>> {
    let input = of_object(engines, store, object)?;
    let read = move |_| Ok(input.kept().ok().flatten().and_then(|kept| kept.read()));
    Ok(blocking(engines, read).await?.map(|tree| tree.records()))
}

async fn blocking<T: Send + 'static>(
    engines: &Arc<Engines>,
    work: impl FnOnce(Arc<Engines>) -> Result<T> + Send + 'static,
) -> Result<T> {
    let engines = engines.clone();
    let done = tokio::task::spawn_blocking(move || work(engines)).await;
    done.map_err(|error| DataFusionError::External(Box::new(error)))?
}

/// An input that a schema is made of.
enum Input {
    Local(PathBuf),
    Remote(Source, Option<CachedSchema>),
}

impl Input {
    /// The location of its kept schema; `None` if there is none.
    fn kept(self) -> Result<Option<CachedSchema>> {
        match self {
            Self::Local(path) => of_local(&path).map(Some),
            Self::Remote(_, kept) => Ok(kept),
        }
    }
}

fn of_local(path: &Path) -> Result<CachedSchema> {
    let failed = |source| InputError::Io { name: path.display().to_string(), source };
    CachedSchema::of_file(path).map_err(|error| external(failed(error).into()))
}

/// An object as an input. A local one has the same path in its store and in the file system.
fn of_object(engines: &Engines, store: &Arc<dyn ObjectStore>, object: &ObjectMeta) -> Result<Input> {
    if store.to_string().starts_with("LocalFileSystem") {
        return Ok(Input::Local(local_path(&object.location)?));
    }
    let source = engines.object(store, &object.location);
    let kept = engines.options.cache.as_ref();
    let kept = kept.and_then(|folder| CachedSchema::of_object(folder, &source.name(), object));
    Ok(Input::Remote(source, kept))
}

fn of_input(engines: &Engines, from: SchemaFrom, input: Input) -> Result<SchemaTree> {
    let limit = match from {
        SchemaFrom::Sample(records) => Some(records),
        _ => None,
    };
    let is_local = matches!(input, Input::Local(_));
    let (source, kept) = match input {
        Input::Local(path) => {
            let kept = of_local(&path)?;
            (Source::File(path), Some(kept))
        }
        Input::Remote(source, kept) => (source, kept),
    };
    // The schema of a sample is not kept.
    let kept = kept.filter(|_| limit.is_none());
    if let Some(tree) = kept.as_ref().and_then(CachedSchema::read) {
        return Ok(tree);
    }
    let mut parts = engines.engine().input(vec![source]).schema(limit);
    let (mut records, mut read, mut skipped) = (0, 0, 0);
    while limit.is_none_or(|limit| records < limit)
        && let Some(part) = parts.next()
    {
        let part = part.map_err(external)?;
        records += part.records;
        skipped += part.skipped.len();
        engines.report.read(parts.bytes_read(), &mut read);
    }
    let tree = parts.finish().tree;
    // A run that does not skip malformed records has to find them.
    if let Some(kept) = kept.filter(|_| engines.options.keeps_schemas && skipped == 0)
        && let Err(error) = kept.write(&tree)
    {
        // Those of objects have one folder, and one note.
        let name = if is_local { Some(kept.file()) } else { kept.file().parent() };
        let name = name.unwrap_or(kept.file()).display();
        engines.report.note(format!("the schema cannot be kept in {name}: {error}"));
    }
    Ok(tree)
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
