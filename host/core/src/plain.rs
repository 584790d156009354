//! Values whose bytes may be copied to and from files and devices.

/// A type whose bytes may be copied to and from a device: `Copy`, `#[repr(C)]` or primitive.
///
/// # Safety
/// The type has no padding, and every bit pattern is a value of it, so that its bytes can be sent and what a device
/// wrote can be read.
pub unsafe trait Plain: Copy + Default + Send + Sync + 'static {}

macro_rules! plain {
    ($($t:ty),* $(,)?) => {
        // SAFETY: numbers, and `#[repr(C)]` structs of integers.
        $(unsafe impl Plain for $t {})*
    };
}
plain!(
    u8,
    u16,
    u32,
    u64,
    i32,
    i64,
    f64,
    warpath_shared::bitmap::Instr,
    warpath_shared::bitmap::TileStart,
    warpath_shared::index::level::KindWrites,
    warpath_shared::ir::Instr,
    warpath_shared::ir::Test,
    warpath_shared::kernel::TileKinds,
    warpath_shared::index::line::LineSummary,
    warpath_shared::kernel::Match,
    warpath_shared::kernel::Span,
    warpath_shared::tree::brackets::Closed,
    warpath_shared::tree::brackets::Top,
    warpath_shared::tree::outline::StretchSum,
    warpath_shared::tree::outline::TapeWord,
    warpath_shared::tree::tape::TapeNode,
    warpath_shared::xml::XmlEvent,
    warpath_shared::xml::XmlMap,
    warpath_shared::xml::node::XmlNode,
    warpath_shared::xml::program::XmlOpen,
    warpath_shared::twig::FarBit,
    warpath_shared::twig::GroupPlace,
    warpath_shared::twig::Matched,
    warpath_shared::twig::Op,
    warpath_shared::twig::Task,
    warpath_shared::twig::dictionary::Entry,
    warpath_shared::twig::dictionary::TagPlace,
    warpath_shared::twig::dictionary::TestList,
    warpath_shared::twig::dictionary::ValueTest,
    warpath_shared::twig::seed::Personality,
);

/// Bytes, such as those of page-locked memory, as elements: as many as are whole, if they begin where such elements may.
#[must_use]
pub fn elements<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: every bit pattern is a value of such a type.
    let (before, elements, _) = unsafe { bytes.align_to::<T>() };
    before.is_empty().then_some(elements)
}

/// The bytes of elements.
#[must_use]
pub fn bytes<T: Plain>(elements: &[T]) -> &[u8] {
    // SAFETY: such a type has no padding, and bytes may begin anywhere.
    let (_, bytes, _) = unsafe { elements.align_to::<u8>() };
    bytes
}
