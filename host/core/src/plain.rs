//! Values whose bytes may be copied to and from files and devices; and views of bytes as values, and of
//! values as bytes.

/// A type whose bytes may be copied to and from a device: `Copy`, `#[repr(C)]` or primitive.
///
/// # Safety
/// The type has no padding, and every bit pattern is a valid value. Its bytes can therefore be sent to a
/// device, and bytes that a device wrote can be read.
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
    i128,
    f64,
    warpath_shared::bitmap::Instr,
    warpath_shared::bitmap::TileStart,
    warpath_shared::index::level::KindWrites,
    warpath_shared::ir::Instr,
    warpath_shared::ir::Test,
    warpath_shared::leaf::Block,
    warpath_shared::leaf::table::Aggregate,
    warpath_shared::leaf::table::Column,
    warpath_shared::leaf::table::Instr,
    warpath_shared::leaf::table::Key,
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
    warpath_shared::twig::dictionary::DictionaryEntry,
    warpath_shared::twig::dictionary::TagPlace,
    warpath_shared::twig::dictionary::TestList,
    warpath_shared::twig::dictionary::ValueTest,
);

/// A view of bytes, such as pinned memory, as elements: as many as are whole. `None` where the first byte is
/// not aligned for an element.
#[inline]
#[must_use]
pub fn elements<T: Plain>(bytes: &[u8]) -> Option<&[T]> {
    // SAFETY: every bit pattern is a value of a `Plain` type, so all bytes are elements.
    let (before, elements, _) = unsafe { bytes.align_to::<T>() };
    before.is_empty().then_some(elements)
}

/// A view of memory as elements, to write: from the first byte that is aligned for one, as many as are whole.
#[inline]
#[must_use]
pub fn elements_mut<T: Plain>(bytes: &mut [u8]) -> &mut [T] {
    // SAFETY: every bit pattern is a value of a `Plain` type, and such a type has no padding: bytes stay
    // initialised when elements are written.
    let (_, elements, _) = unsafe { bytes.align_to_mut::<T>() };
    elements
}

/// The bytes of elements.
#[inline]
#[must_use]
pub fn bytes<T: Plain>(elements: &[T]) -> &[u8] {
    // SAFETY: a `Plain` type has no padding, so all its bytes are initialised; and bytes need no alignment.
    let (_, bytes, _) = unsafe { elements.align_to::<u8>() };
    bytes
}

/// The bytes of elements, to write.
#[inline]
#[must_use]
pub fn bytes_mut<T: Plain>(elements: &mut [T]) -> &mut [u8] {
    // SAFETY: as in `bytes`; and every bit pattern is a value of a `Plain` type, so any byte may be written.
    let (_, bytes, _) = unsafe { elements.align_to_mut::<u8>() };
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn views_begin_where_elements_may() {
        let mut words = [0x0807_0605_0403_0201_u64, 0x100f_0e0d_0c0b_0a09];
        assert_eq!(bytes(&words), (1..=16).collect::<Vec<u8>>());
        assert_eq!(elements::<u64>(bytes(&words)), Some(&words[..]));
        assert_eq!(elements::<u64>(&bytes(&words)[..15]), Some(&words[..1]));
        assert_eq!(elements::<u64>(&bytes(&words)[1..]), None);
        assert_eq!(elements_mut::<u64>(&mut bytes_mut(&mut words)[1..]), [0x100f_0e0d_0c0b_0a09]);
        elements_mut::<u32>(bytes_mut(&mut words))[1] = 0;
        bytes_mut(&mut words)[15] = 0;
        assert_eq!(words, [0x0403_0201, 0x000f_0e0d_0c0b_0a09]);
        assert!(bytes::<u64>(&[]).is_empty());
    }
}
