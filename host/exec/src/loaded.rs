//! Inputs that stay in memory, as segments of leaves and compressed lines (crate `warpath-resident`).

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warpath_core::error::{Error, InputError};
use warpath_core::leaves::{LeafDevice, LeafForm};
use warpath_core::pool;
use warpath_core::stamp::{FileState, Stamp};
use warpath_part::file::{Error as PartError, Reader};
use warpath_part::text::Shredder;
use warpath_plan::Evaluated;
use warpath_resident::{DeviceTable, Dictionaries, Segment, Stored};

use crate::engine::Engine;
use crate::input::LoadedInput;
use crate::input::{
    Buffers, Contents, Identity, OpenedSource, Placed, Source, Text, begins_within, text_of_group,
};
use crate::resident::{Loaded, LoadedInputs};
use crate::store::{resident, schema_of};
use crate::stream::{EachValue, Ordered};
use crate::trace::Operation;

/// Bytes of text of a segment that is made of text. A longer line makes its segment longer.
const SEGMENT_BYTES: usize = 32 << 20;

/// The identity of a file; `None` for other sources.
fn identity(source: &Source) -> Option<Identity> {
    let Source::File(path) = source else { return None };
    let file = std::fs::File::open(path).ok()?;
    let metadata = file.metadata().ok().filter(std::fs::Metadata::is_file)?;
    Some(Identity { path: path.clone(), state: FileState::of(&metadata), stamp: Stamp::of(&file).ok()? })
}

impl Engine {
    /// Loads inputs into memory. All workers take part. On an engine with a device, their leaves are copied
    /// there, too, and conditions and groups of members are evaluated there.
    ///
    /// # Errors
    /// The errors of the inputs, and those of the device. [`Error::Memory`] if they need more memory than the
    /// engine may use ([`EngineBuilder::memory`](crate::engine::EngineBuilder::memory)).
    pub fn load(&self, sources: Vec<Source>) -> Result<Loaded, Error> {
        Loaded(Arc::default()).renewed(self, sources)
    }
}

impl Loaded {
    /// Loads inputs again: another version of what is loaded. Files that have not changed since are not read
    /// again; those of the old version stay as long as somebody uses them. Questions that began with the old
    /// version end with it.
    ///
    /// # Errors
    /// The errors of [`Engine::load`].
    pub fn renewed(&self, engine: &Engine, sources: Vec<Source>) -> Result<Self, Error> {
        self.renewed_or(engine, sources, |_, error| Err(error))
    }

    /// Loads inputs again, as [`renewed`](Self::renewed) does, and leaves out those that cannot be loaded.
    /// `skip` gets each of them.
    // Hidden: the server alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn renewed_as_far(
        &self,
        engine: &Engine,
        sources: Vec<Source>,
        skip: &mut dyn FnMut(&str, Error),
    ) -> Self {
        let renewed = self.renewed_or(engine, sources, |name, error| {
            skip(name, error);
            Ok(())
        });
        renewed.unwrap_or_else(|_| self.clone())
    }

    fn renewed_or(
        &self,
        engine: &Engine,
        sources: Vec<Source>,
        mut skip: impl FnMut(&str, Error) -> Result<(), Error>,
    ) -> Result<Self, Error> {
        if self.0.inputs.iter().any(|input| input.levels().is_some()) {
            return Err(Error::Usage("text with its index is not renewed: it is indexed again".into()));
        }
        let dictionaries = self.0.dictionaries.clone();
        let device = match &self.0.device {
            Some(device) => Some(device.clone()),
            None => match leaf_device(engine, sources.iter().map(Source::plain_bytes).sum()) {
                Ok(device) => device,
                Err(error) => {
                    skip("columns on the device", error)?;
                    None
                }
            },
        };
        let room =
            Room { used: AtomicU64::new(0), limit: engine.limits().memory().map(|bytes| bytes as u64) };
        let mut inputs = Vec::with_capacity(sources.len());
        for source in sources {
            let identity = identity(&source);
            let of_path = identity.as_ref().and_then(|identity| self.of_path(&identity.path));
            if let Some(known) =
                of_path.filter(|known| known.contents().is_some_and(|it| it.identity == identity))
            {
                room.take(known.memory())?;
                inputs.push(known.clone());
                continue;
            }
            let (name, used) = (source.name(), room.used.load(Ordering::Relaxed));
            let old = of_path.and_then(|old| grown(old.contents()?, identity.as_ref()?, &source));
            let contents = match old {
                Some((old, rest)) => load_rest(engine, old, rest, &dictionaries, &room),
                None => load(engine, source, &dictionaries, &room),
            };
            match contents.and_then(|contents| on_device(contents, device.as_ref())) {
                Ok(contents) => inputs.push(LoadedInput::of(Arc::new(Contents { identity, ..contents }))),
                Err(error) => {
                    room.used.store(used, Ordering::Relaxed);
                    skip(&name, error)?;
                }
            }
        }
        let mut by_path = HashMap::with_capacity(inputs.len());
        for (number, input) in inputs.iter().enumerate() {
            if let Some(identity) = input.contents().and_then(|contents| contents.identity.as_ref()) {
                by_path.entry(identity.path.clone()).or_insert(number);
            }
        }
        Ok(Self(Arc::new(LoadedInputs { inputs, by_path, device, dictionaries })))
    }

    /// The loaded input of a file.
    fn of_path(&self, path: &Path) -> Option<&LoadedInput> {
        self.0.inputs.get(*self.0.by_path.get(path)?)
    }

    /// The same sources, with the loaded input in place of each file that has not changed since it was
    /// loaded.
    #[must_use]
    pub fn in_place_of(&self, sources: Vec<Source>) -> Vec<Source> {
        let loaded = |source: Source| {
            let Source::File(path) = &source else { return source };
            match self.of_path(path).filter(|input| input.is_current()) {
                Some(input) => Source::Loaded(input.clone()),
                None => source,
            }
        };
        sources.into_iter().map(loaded).collect()
    }
}

/// The device on which an engine keeps leaves; `None` if it uses none.
fn leaf_device(engine: &Engine, plain_bytes: u64) -> Result<Option<Arc<dyn LeafDevice>>, Error> {
    let chosen = engine.choose_to_keep(plain_bytes)?;
    let room = chosen.backend().forms().get::<dyn LeafForm>().map(LeafForm::room).transpose()?;
    Ok(room.map(Arc::from))
}

/// Copies the leaves of an input to a device.
fn on_device(contents: Contents, device: Option<&Arc<dyn LeafDevice>>) -> Result<Contents, Error> {
    let Some(device) = device else { return Ok(contents) };
    let segments: Vec<&Segment> = contents.segments.iter().map(|placed| &placed.segment).collect();
    let table = DeviceTable::load(device, &segments)?;
    Ok(Contents { table, ..contents })
}

/// A plain file that has only become longer since it was loaded, and the source of its new lines.
fn grown<'a>(old: &'a Contents, now: &Identity, source: &Source) -> Option<(&'a Contents, Source)> {
    let stamp = old.identity.as_ref()?.stamp;
    if *old.name != *source.name() || stamp.size >= now.stamp.size {
        return None;
    }
    let first = Stamp::of_first(&std::fs::File::open(&now.path).ok()?, stamp.size).ok()?;
    let is_same = first.samples == stamp.samples && source.has_parts() && old.ends_with_newline();
    is_same.then(|| (old, Source::Part(now.path.clone(), stamp.size..now.stamp.size)))
}

/// The memory that loaded inputs take.
struct Room {
    used: AtomicU64,
    limit: Option<u64>,
}

impl Room {
    fn take(&self, bytes: u64) -> Result<(), Error> {
        let wanted = self.used.fetch_add(bytes, Ordering::Relaxed) + bytes;
        match self.limit {
            Some(limit) if wanted > limit => Err(Error::Memory { what: "loaded inputs", wanted, limit }),
            _ => Ok(()),
        }
    }
}

/// Loads an input.
fn load(
    engine: &Engine,
    source: Source,
    dictionaries: &Arc<Dictionaries>,
    room: &Room,
) -> Result<Contents, Error> {
    let name: Arc<str> = source.name().into();
    match source {
        Source::Loaded(ref input) if let Some(contents) = input.contents() => {
            room.take(contents.memory())?;
            let (segments, begins_within) = (contents.segments.clone(), contents.begins_within);
            let schema = contents.schema.clone();
            Ok(Contents { name, identity: None, segments, table: None, begins_within, schema })
        }
        source if source.is_stored() => match source.open(pool::cores())? {
            OpenedSource::Stored(part) => load_part(part.reader(), name, dictionaries, room),
            _ => Err(Error::Internal("a part of a store became another file".into())),
        },
        source => load_text(engine, source, name, dictionaries, room, 0),
    }
}

/// Loads the new lines of a file after those of an old version.
fn load_rest(
    engine: &Engine,
    old: &Contents,
    rest: Source,
    dictionaries: &Arc<Dictionaries>,
    room: &Room,
) -> Result<Contents, Error> {
    room.take(old.segments.iter().map(|placed| placed.segment.bytes()).sum())?;
    let new = load_text(engine, rest, old.name.clone(), dictionaries, room, old.lines())?;
    let segments = old.segments.iter().cloned().chain(new.segments).collect();
    Ok(Contents { segments, begins_within: old.begins_within, ..new })
}

/// Loads a part of a store: a segment for each of its groups.
fn load_part(
    reader: &Reader,
    name: Arc<str>,
    dictionaries: &Dictionaries,
    room: &Room,
) -> Result<Contents, Error> {
    let failed = |reason: String| Error::from(InputError::Part { name: name.to_string(), reason });
    let of_part = |error: PartError| failed(error.to_string());
    let read = |number: usize| {
        let form = resident::read(reader, number).map_err(of_part)?;
        room.take(form.as_ref().map_or(0, Stored::bytes))?;
        Ok::<_, Error>(form)
    };
    let forms = pool::map((0..reader.groups()).collect(), read);
    let mut forms = forms.into_iter().collect::<Result<Vec<_>, _>>()?;
    forms.iter_mut().flatten().for_each(|form| form.choose(dictionaries));
    let make = |(number, form): (usize, Option<Stored>)| {
        let taken = form.as_ref().map_or(0, Stored::bytes);
        let segment = match form {
            Some(form) => resident::segment(reader, number, form, dictionaries).map_err(of_part)?,
            None => {
                let group = reader.group(number).map_err(of_part)?;
                let text = text_of_group(reader, number, &group).map_err(failed)?;
                let segment = Segment::of(reader.tree(), &group, &text, dictionaries);
                segment.map_err(|error| failed(error.to_string()))?
            }
        };
        room.take(segment.bytes().saturating_sub(taken))?;
        Ok::<_, Error>(segment)
    };
    let made = pool::map(forms.into_iter().enumerate().collect(), make);
    let (mut segments, mut offset, mut first) = (Vec::with_capacity(made.len()), 0, 0);
    for made in made {
        let segment = made?;
        let rows = segment.rows();
        let bytes = segment.lines().text_len(0..rows) as u64;
        segments.push(Arc::new(Placed::new(segment, offset, first)));
        (offset, first) = (offset + bytes, first + u64::from(rows));
    }
    let schema = schema_of(reader).map_err(failed)?.map(Arc::new);
    let begins_within = begins_within(reader);
    Ok(Contents { name, identity: None, segments, table: None, begins_within, schema })
}

/// Loads text, whose first line has the number `first` in its input.
fn load_text(
    engine: &Engine,
    source: Source,
    name: Arc<str>,
    dictionaries: &Arc<Dictionaries>,
    room: &Room,
    mut first: u64,
) -> Result<Contents, Error> {
    let mut input = engine.input(vec![source]).0;
    let facts = input.facts();
    let mut chosen = input.engine.choose_to_keep(facts.bytes.plain())?;
    chosen.partition_size = input.engine.wanted_partition_size().unwrap_or(SEGMENT_BYTES);
    let plan = input.planned_on(&chosen, Evaluated::Resident, facts)?;
    chosen.begin(Operation::Index, || name.to_string());
    let shared = dictionaries.clone();
    let buffers = Buffers::new(chosen.backend().clone());
    let make = move |_: usize, text: &mut Text<'_>| {
        let mut shredder = Shredder::new();
        let inexact = |error: String| Error::Internal(error);
        let group = shredder.shred(text.bytes()).map_err(|error| inexact(error.to_string()))?;
        let segment = Segment::of(shredder.tree(), &group, text.bytes(), &shared);
        let segment = segment.map_err(|error| inexact(error.to_string()))?;
        Ok::<_, Error>((segment, text.offset()))
    };
    let lines = |(segment, _): &(Segment, u64)| u64::from(segment.rows());
    let mut segments = Vec::new();
    for made in Ordered::<EachValue<_>>::of_each(input.inputs, &chosen, plan, buffers, lines, make) {
        let (_, (segment, offset)) = made?;
        room.take(segment.bytes())?;
        let rows = u64::from(segment.rows());
        segments.push(Arc::new(Placed::new(segment, offset, first)));
        first += rows;
    }
    Ok(Contents { name, identity: None, segments, table: None, begins_within: true, schema: None })
}
