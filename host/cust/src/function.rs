//! Kernels, and the sizes of their launches.

use std::marker::PhantomData;

use crate::module::Module;
use crate::sys;

/// A kernel of a module.
#[derive(Debug)]
pub struct Function<'a> {
    function: sys::CUfunction,
    /// The driver's function is valid while its module is loaded.
    module: PhantomData<&'a Module>,
}

impl<'a> Function<'a> {
    /// Wraps a kernel of the module.
    pub(crate) fn new(function: sys::CUfunction, _module: &'a Module) -> Self {
        Self { function, module: PhantomData }
    }

    /// Returns the driver's handle, which is valid until the module is dropped.
    #[must_use]
    pub fn to_raw(&self) -> sys::CUfunction {
        self.function
    }
}

/// Defines sizes in three dimensions.
macro_rules! sizes {
    ($($(#[$doc:meta])* $name:ident;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub struct $name {
                /// The first dimension.
                pub x: u32,
                /// The second dimension.
                pub y: u32,
                /// The third dimension.
                pub z: u32,
            }

            impl From<u32> for $name {
                fn from(x: u32) -> Self {
                    Self { x, y: 1, z: 1 }
                }
            }
        )*
    };
}

sizes! {
    /// The blocks of a grid.
    GridSize;
    /// The threads of a block.
    BlockSize;
}
