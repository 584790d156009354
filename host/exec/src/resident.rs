//! Inputs that stay in memory for many questions.

#[cfg(feature = "store")]
use std::collections::HashMap;
#[cfg(feature = "store")]
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use warpath_answer::resident::{KeepForm, Kept, Pieces};
use warpath_core::error::{DeviceError, Error};
#[cfg(feature = "store")]
use warpath_core::leaves::LeafDevice;
use warpath_cpu::keep;
use warpath_cpu::strict::Checked;
use warpath_plan::Evaluated;
#[cfg(feature = "store")]
use warpath_resident::Dictionaries;
use warpath_shared::units::Level;

use crate::engine::Engine;
use crate::input::{Buffers, KeptInput, LoadedInput, Partition, Source, Text};
use crate::operators::Input;
use crate::request::Request;
use crate::stream::{EachValue, Ordered};
use crate::trace::Operation;

/// Levels of an index by default. A path reads one level for each of its segments, including those in its
/// filters. Deep bitmaps are mostly zeros, which are not stored.
///
/// ```
/// use warpath::{DEFAULT_LEVELS, Engine, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let index = engine.bytes("{\"a\":{\"b\":1}}\n").index(DEFAULT_LEVELS)?;
/// assert_eq!(index.input(&engine).count(&Query::compile("$.a.b")?)?, 1);
/// # Ok(())
/// # }
/// ```
pub const DEFAULT_LEVELS: Level = 8;

/// Inputs in memory, in the state in which they were loaded. Cheap to clone; any number of threads may
/// evaluate questions at once. Later changes of files have no effect.
///
/// There are two forms. `Engine::load`, of the feature `store`, makes *leaves*: members of records are packed
/// numbers and codes, on which conditions, counts, groups and statistics of members are evaluated. Whatever
/// else is wanted is evaluated on the lines, which are compressed in memory. [`Input::index`] keeps the
/// *text* with its structural index where the backend reads it best, so that programs find any path fast.
///
/// Results, line numbers and offsets are those over the inputs themselves.
///
/// ```
/// use warpath::{Engine, Loaded, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let loaded: Loaded = engine.bytes("{\"id\":7,\"user\":{\"lang\":\"nl\"}}\n").index(2)?;
/// for path in ["$.user.lang", "$.id"] {
///     assert_eq!(loaded.input(&engine).count(&Query::compile(path)?)?, 1);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Loaded(pub(crate) Arc<LoadedInputs>);

#[derive(Default)]
pub(crate) struct LoadedInputs {
    pub inputs: Vec<LoadedInput>,
    /// The numbers of the inputs that are files.
    #[cfg(feature = "store")]
    pub by_path: HashMap<PathBuf, usize>,
    /// The device that has the leaves, too.
    #[cfg(feature = "store")]
    pub device: Option<Arc<dyn LeafDevice>>,
    #[cfg(feature = "store")]
    pub dictionaries: Arc<Dictionaries>,
}

impl std::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Loaded").field("inputs", &self.0.inputs).finish_non_exhaustive()
    }
}

impl Loaded {
    /// The inputs, each with its name.
    #[must_use]
    pub fn inputs(&self) -> &[LoadedInput] {
        &self.0.inputs
    }

    /// All inputs, one after the other. An engine that is as strict as the one that indexed the text, and has
    /// no limit for the length of a record, evaluates programs over the index. Other engines read the text.
    #[must_use]
    pub fn input(&self, engine: &Engine) -> Input<'static> {
        engine.input(self.0.inputs.iter().cloned().map(Source::Loaded).collect())
    }

    /// The number of lines of all inputs, blank and malformed ones too.
    #[must_use]
    pub fn lines(&self) -> u64 {
        self.0.inputs.iter().map(LoadedInput::lines).sum()
    }

    /// Bytes of text of all inputs.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        self.0.inputs.iter().map(LoadedInput::text_bytes).sum()
    }

    /// The name of the device that has the leaves, or the text with its index, and the bytes that they take
    /// there.
    #[must_use]
    pub fn device(&self) -> Option<(String, u64)> {
        let mut of_inputs = self.0.inputs.iter().filter_map(LoadedInput::on_device);
        let Some((name, first)) = of_inputs.next() else { return self.device_without_inputs() };
        Some((name, first + of_inputs.map(|(_, bytes)| bytes).sum::<u64>()))
    }

    #[cfg(feature = "store")]
    fn device_without_inputs(&self) -> Option<(String, u64)> {
        Some((self.0.device.as_ref()?.name(), 0))
    }

    #[cfg(not(feature = "store"))]
    fn device_without_inputs(&self) -> Option<(String, u64)> {
        None
    }

    /// Bytes of host memory of all inputs.
    #[must_use]
    pub fn memory(&self) -> u64 {
        #[cfg(feature = "store")]
        let shared = self.0.dictionaries.bytes();
        #[cfg(not(feature = "store"))]
        let shared = 0;
        shared + self.0.inputs.iter().map(LoadedInput::memory).sum::<u64>()
    }
}

/// Replaces an error of one partition's memory by one that gives the memory needed for the whole index.
fn too_large(error: Error, kept: u64) -> Error {
    match error {
        Error::Device(DeviceError::OutOfMemory { wanted, free }) => DeviceError::IndexTooLarge {
            needed: kept.saturating_add(wanted),
            free: kept.saturating_add(free),
        }
        .into(),
        other => other,
    }
}

/// Indexes the inputs of a request, and keeps text and index.
pub(crate) fn index(mut input: Request<'_>, levels: Level) -> Result<Loaded, Error> {
    let facts = input.facts();
    // The length of an input that is not a plain file is unknown before it is read.
    let plain = facts.bytes.plain();
    let mut chosen = input.engine.choose_to_keep(plain)?;
    let plan = input.planned_on(&chosen, Evaluated::Resident, facts)?;
    let Request { engine, inputs, .. } = input;
    let mut made_inputs: Vec<(Arc<str>, Vec<Partition>)> =
        inputs.each_name().into_iter().map(|name| (name.into(), Vec::new())).collect();
    chosen.begin(Operation::Index, || inputs.names());
    let loading = engine.to_load(&chosen);
    let backend = chosen.backend();
    if let Some(form) = backend.forms().get::<dyn KeepForm>()
        && let room = form.room(plain, chosen.partition_size, levels)?
        && plain > 0
        && room.needed > room.free
    {
        return Err(DeviceError::IndexTooLarge { needed: room.needed, free: room.free }.into());
    }
    let (backend, is_strict, kept_bytes) = (backend.clone(), chosen.strict, AtomicU64::new(0));
    // Strict checks are made on the host, which then keeps the text that it has read.
    let unread = !is_strict && backend.forms().get::<dyn KeepForm>().is_some();
    let store = backend.clone();
    let count = move |kept: Result<Box<dyn Kept>, Error>| {
        let kept = kept.map_err(|error| too_large(error, kept_bytes.load(Ordering::Relaxed)))?;
        kept_bytes.fetch_add(kept.memory(), Ordering::Relaxed);
        Ok::<_, Error>(kept)
    };
    let make = move |number: usize, text: &mut Text<'_>| {
        let keep = |text: &[u8]| count(keep(&*backend, number, text, levels));
        if let Some(file) = text.file()
            && let Some(form) = backend.forms().get::<dyn KeepForm>()
        {
            let (len, offset) = (text.len(), text.offset());
            let read = &mut |at: usize, piece: &mut [u8]| file.read_exact(piece, offset + at as u64);
            let pieces = Pieces { len, offset: file.base() + offset, read };
            let kept = count(form.keep(number, pieces, levels))?;
            return Ok(vec![Partition::on_device(len, offset, kept)]);
        }
        let text = text.take_kept()?;
        let checked = if is_strict { Checked::of(text.bytes()) } else { Checked::default() };
        let Some(begin) = checked.first_fault() else {
            let kept = keep(text.bytes())?;
            return Ok(vec![Partition::on_host(text, kept, None)]);
        };
        // The lines before the first faulty one are a partition of their own, so that their result is
        // separate.
        let blanked = checked.blanked(text.bytes());
        let (good, rest) = text.split_at(begin);
        let mut made = Vec::new();
        if begin > 0 {
            let kept = keep(good.bytes())?;
            made.push(Partition::on_host(good, kept, None));
        }
        let kept = keep(&blanked)?;
        made.push(Partition::on_host(rest, kept, Some((checked, blanked))));
        Ok(made)
    };
    let lines = |made: &Vec<Partition>| made.iter().map(|partition| partition.kept.lines() as u64).sum();
    // Workers read into the memory in which texts stay.
    let buffers = Buffers::to_keep(store.clone(), unread);
    let (mut wanted, limit) = (0, engine.limits().memory().map_or(u64::MAX, |memory| memory as u64));
    for made in Ordered::<EachValue<_>>::of_each(inputs, &loading, plan, buffers, lines, make) {
        let (origin, made) = made?;
        wanted += made.iter().map(Partition::memory).sum::<u64>();
        if wanted > limit {
            return Err(Error::Memory { what: "a resident index", wanted, limit });
        }
        let Some((_, partitions)) = made_inputs.get_mut(origin.input - 1) else {
            return Err(Error::Internal(format!("{} is not among the inputs", origin.name)));
        };
        partitions.extend(made);
    }
    let of_input = |(name, partitions)| {
        let (backend, strict) = (store.clone(), chosen.strict);
        LoadedInput::of_index(KeptInput { name, backend, levels, strict, partitions })
    };
    let inputs = made_inputs.into_iter().map(of_input).collect();
    Ok(Loaded(Arc::new(LoadedInputs { inputs, ..LoadedInputs::default() })))
}
