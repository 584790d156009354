//! Inputs that are in memory: as segments of leaves and compressed lines, or as text with its structural
//! index.

#[cfg(feature = "store")]
mod decoded;
mod kept;
#[cfg(feature = "store")]
mod leaves;
#[cfg(feature = "store")]
mod read;

use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use warpath_core::stamp::FileState;
#[cfg(feature = "store")]
use warpath_resident::{DeviceTable, Segment};
use warpath_shared::units::Level;
#[cfg(feature = "store")]
use warpath_store::schema::SchemaTree;

use super::sequence::Sequence;
#[cfg(feature = "store")]
use decoded::LoadedText;
use kept::KeptLines;
pub(crate) use kept::{KeptInput, Partition, PartitionText};
#[cfg(feature = "store")]
pub(crate) use leaves::{Contents, Identity, Placed};
#[cfg(feature = "store")]
pub(crate) use read::{lines, slice_end};

/// One input in memory. Cheap to clone. [`Source::Loaded`](crate::input::Source::Loaded) reads it.
///
/// ```
/// use warpath::{Engine, LoadedInput, Query, Source};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let engine = Engine::builder().build()?;
/// let loaded = engine.bytes("{\"a\":1}\n{\"a\":2}\n").named("log").index(1)?;
/// let log: LoadedInput = loaded.inputs()[0].clone();
/// assert_eq!((log.name(), log.lines()), ("log", 2));
/// assert_eq!(engine.input(vec![Source::Loaded(log)]).count(&Query::compile("$.a")?)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct LoadedInput(Form);

#[derive(Clone, Debug)]
enum Form {
    #[cfg(feature = "store")]
    Leaves(Arc<Contents>),
    Kept(Arc<KeptInput>),
}

impl LoadedInput {
    /// The name: that of the source from which it was loaded.
    #[must_use]
    pub fn name(&self) -> &str {
        match &self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(contents) => &contents.name,
            Form::Kept(kept) => &kept.name,
        }
    }

    /// The number of lines, blank and malformed ones too.
    #[must_use]
    pub fn lines(&self) -> u64 {
        match &self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(contents) => contents.lines(),
            Form::Kept(kept) => kept.lines(),
        }
    }

    /// Bytes of text.
    #[must_use]
    pub fn text_bytes(&self) -> u64 {
        match &self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(contents) => contents.text_bytes(),
            Form::Kept(kept) => kept.text_bytes(),
        }
    }

    /// The number of levels of the structural index of the text; `None` if there are leaves in place of it.
    #[must_use]
    pub fn levels(&self) -> Option<Level> {
        self.kept().map(|kept| kept.levels)
    }

    /// Bytes of host memory, without strings that inputs share.
    pub(crate) fn memory(&self) -> u64 {
        match &self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(contents) => contents.memory(),
            Form::Kept(kept) => kept.memory(),
        }
    }

    /// The name of the device that has the leaves or the index, and the bytes that they take there.
    pub(crate) fn on_device(&self) -> Option<(String, u64)> {
        match &self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(contents) => {
                contents.table.as_ref().map(|table| (table.device().name(), table.bytes()))
            }
            Form::Kept(kept) => kept.on_device(),
        }
    }

    /// All lines, read from start to end. Also true if the first of them is not the first one of a text: a
    /// byte order mark before it is a part of it.
    pub(crate) fn into_text(self) -> (Box<dyn Read + Send>, bool) {
        match self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(contents) => {
                let begins_within = contents.begins_within;
                (Box::new(LoadedText::new(contents)), begins_within)
            }
            // A byte order mark before the text was left out when it was indexed.
            Form::Kept(kept) => (Box::new(KeptLines::new(kept)), true),
        }
    }

    /// All lines, read from start to end.
    pub(crate) fn into_sequence(self) -> Sequence {
        let name = self.name().into();
        let (text, begins_within) = self.into_text();
        Sequence::of_text(name, text).with_mark(!begins_within)
    }

    /// The file from which the input was loaded; `None` for other sources.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        self.file_state().map(|(path, _)| path)
    }

    /// True if the file from which the input was loaded is as it was then. False for other sources.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.file_state().is_some_and(|(path, then)| {
            path.metadata().is_ok_and(|metadata| FileState::of(&metadata) == *then)
        })
    }

    fn file_state(&self) -> Option<(&Path, &FileState)> {
        match &self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(contents) => {
                contents.identity.as_ref().map(|identity| (&*identity.path, &identity.state))
            }
            Form::Kept(_) => None,
        }
    }

    pub(crate) fn of_index(kept: KeptInput) -> Self {
        Self(Form::Kept(Arc::new(kept)))
    }

    /// The text with its structural index.
    pub(crate) fn kept(&self) -> Option<&Arc<KeptInput>> {
        match &self.0 {
            #[cfg(feature = "store")]
            Form::Leaves(_) => None,
            Form::Kept(kept) => Some(kept),
        }
    }
}

#[cfg(feature = "store")]
impl LoadedInput {
    /// The leaves of all segments on a device, if they are on one.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    #[must_use]
    pub fn table(&self) -> Option<&DeviceTable> {
        self.contents()?.table.as_ref()
    }

    /// The segments of leaves.
    // Hidden: its types are those of the layers.
    #[doc(hidden)]
    pub fn segments(&self) -> impl Iterator<Item = &Segment> {
        self.contents().into_iter().flat_map(|it| &it.segments).map(|placed| &placed.segment)
    }

    /// The schema of all lines, with the text 0 in all positions, if it is known without them.
    // Hidden: the program alone needs it.
    #[doc(hidden)]
    #[must_use]
    pub fn known_schema(&self) -> Option<&SchemaTree> {
        self.contents()?.schema.as_deref()
    }

    pub(crate) fn of(contents: Arc<Contents>) -> Self {
        Self(Form::Leaves(contents))
    }

    /// The segments of leaves, if there are leaves.
    pub(crate) fn contents(&self) -> Option<&Arc<Contents>> {
        match &self.0 {
            Form::Leaves(contents) => Some(contents),
            Form::Kept(_) => None,
        }
    }
}
