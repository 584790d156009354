//! How many threads hold a record while a program runs over it.

use warpath_shared::kernel::{
    Indexed, QueryCount, QueryCount8, QueryCount16, QueryCount32, QueryCountArgs, QueryFill, QueryFill8,
    QueryFill16, QueryFill32, QueryFillArgs, QuerySlots, QuerySlots8, QuerySlots16, QuerySlots32,
    QuerySlotsArgs,
};

use super::{Accelerator, launch};
use crate::error::Error;

/// The shapes in which the query kernels run. They find the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shape {
    /// A thread a line.
    Thread,
    /// A group of 8 lanes a line.
    Lanes8,
    /// A group of 16 lanes a line.
    Lanes16,
    /// A warp a line.
    Warp,
}

impl Shape {
    /// The shape for records of a mean length, in bytes.
    ///
    /// The longer a record, the fewer there are in flight and the more of it is looked at in vain by a thread at a time; the
    /// shorter, the more lanes of a group have nothing to do. A group has 128 bytes a lane in one window: from eight windows a
    /// record on, it has work for all lanes.
    #[must_use]
    pub const fn for_mean_length(bytes: usize) -> Self {
        match bytes {
            0..8192 => Self::Thread,
            8192..16384 => Self::Lanes8,
            16384..32768 => Self::Lanes16,
            _ => Self::Warp,
        }
    }

    pub(super) fn of(indexed: &Indexed<'_>) -> Self {
        Self::for_mean_length(indexed.text.len() / indexed.lines())
    }

    pub(super) fn slots<A: Accelerator>(self, device: &A, args: &QuerySlotsArgs<'_>) -> Result<(), Error> {
        match self {
            Self::Thread => launch::<A, QuerySlots>(device, args),
            Self::Lanes8 => launch::<A, QuerySlots8>(device, args),
            Self::Lanes16 => launch::<A, QuerySlots16>(device, args),
            Self::Warp => launch::<A, QuerySlots32>(device, args),
        }
    }

    pub(super) fn count<A: Accelerator>(self, device: &A, args: &QueryCountArgs<'_>) -> Result<(), Error> {
        match self {
            Self::Thread => launch::<A, QueryCount>(device, args),
            Self::Lanes8 => launch::<A, QueryCount8>(device, args),
            Self::Lanes16 => launch::<A, QueryCount16>(device, args),
            Self::Warp => launch::<A, QueryCount32>(device, args),
        }
    }

    pub(super) fn fill<A: Accelerator>(self, device: &A, args: &QueryFillArgs<'_>) -> Result<(), Error> {
        match self {
            Self::Thread => launch::<A, QueryFill>(device, args),
            Self::Lanes8 => launch::<A, QueryFill8>(device, args),
            Self::Lanes16 => launch::<A, QueryFill16>(device, args),
            Self::Warp => launch::<A, QueryFill32>(device, args),
        }
    }
}
