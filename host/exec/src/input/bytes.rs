//! Bytes in memory, owned or borrowed.

use std::fmt;
use std::sync::Arc;

/// Bytes in memory that an engine reads ([`Engine::bytes`](crate::engine::Engine::bytes)).
///
/// Slices and texts are borrowed. Vectors, strings and shared slices are owned, and so is every other owner
/// of bytes ([`shared`](Self::shared)). A clone shares the bytes.
///
/// ```
/// use std::sync::Arc;
///
/// use warpath::{Engine, InputBytes, Query};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let (engine, query) = (Engine::builder().build()?, Query::compile("$.id")?);
/// let text = "{\"id\":1}\n{\"id\":2}\n";
/// assert_eq!(engine.bytes(text).count(&query)?, 2);
/// assert_eq!(engine.bytes(text.as_bytes()).count(&query)?, 2);
/// assert_eq!(engine.bytes(text.to_owned()).count(&query)?, 2);
/// let shared: Arc<[u8]> = text.as_bytes().into();
/// assert_eq!(engine.bytes(shared).count(&query)?, 2);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct InputBytes<'a>(Storage<'a>);

#[derive(Clone)]
enum Storage<'a> {
    Borrowed(&'a [u8]),
    Shared(Arc<dyn AsRef<[u8]> + Send + Sync>),
}

impl<'a> InputBytes<'a> {
    /// Borrowed bytes.
    ///
    /// ```
    /// let bytes = warpath_exec::input::InputBytes::borrowed(b"{}\n");
    /// assert_eq!(bytes.len(), 3);
    /// ```
    #[must_use]
    pub fn borrowed(bytes: &'a [u8]) -> Self {
        Self(Storage::Borrowed(bytes))
    }

    /// The bytes of any owner, such as `bytes::Bytes` or a memory map. They are not copied, and must not
    /// change while they are an input.
    ///
    /// ```
    /// use std::borrow::Cow;
    ///
    /// struct Message(Cow<'static, str>);
    ///
    /// impl AsRef<[u8]> for Message {
    ///     fn as_ref(&self) -> &[u8] {
    ///         self.0.as_bytes()
    ///     }
    /// }
    ///
    /// let bytes = warpath_exec::input::InputBytes::shared(Message("{\"id\":1}".into()));
    /// assert_eq!(bytes.len(), 8);
    /// ```
    #[must_use]
    pub fn shared(owner: impl AsRef<[u8]> + Send + Sync + 'static) -> Self {
        Self(Storage::Shared(Arc::new(owner)))
    }

    /// The bytes without their lifetime, if they are owned, or else the borrowed slice.
    pub(crate) fn into_shared(self) -> Result<InputBytes<'static>, &'a [u8]> {
        match self.0 {
            Storage::Borrowed(bytes) => Err(bytes),
            Storage::Shared(owner) => Ok(InputBytes(Storage::Shared(owner))),
        }
    }

    /// The number of bytes.
    ///
    /// ```
    /// assert_eq!(warpath_exec::input::InputBytes::from("{}\n").len(), 3);
    /// ```
    #[must_use]
    pub fn len(&self) -> usize {
        self.as_ref().len()
    }

    /// True if there are no bytes.
    ///
    /// ```
    /// assert!(warpath_exec::input::InputBytes::from("").is_empty());
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

impl AsRef<[u8]> for InputBytes<'_> {
    fn as_ref(&self) -> &[u8] {
        match &self.0 {
            Storage::Borrowed(bytes) => bytes,
            Storage::Shared(owner) => (**owner).as_ref(),
        }
    }
}

impl fmt::Debug for InputBytes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "InputBytes({} bytes)", self.len())
    }
}

impl<'a> From<&'a [u8]> for InputBytes<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::borrowed(bytes)
    }
}

impl<'a, const N: usize> From<&'a [u8; N]> for InputBytes<'a> {
    fn from(bytes: &'a [u8; N]) -> Self {
        Self::borrowed(bytes)
    }
}

impl<'a> From<&'a Vec<u8>> for InputBytes<'a> {
    fn from(bytes: &'a Vec<u8>) -> Self {
        Self::borrowed(bytes)
    }
}

impl<'a> From<&'a str> for InputBytes<'a> {
    fn from(text: &'a str) -> Self {
        Self::borrowed(text.as_bytes())
    }
}

impl<'a> From<&'a String> for InputBytes<'a> {
    fn from(text: &'a String) -> Self {
        Self::borrowed(text.as_bytes())
    }
}

impl From<Vec<u8>> for InputBytes<'_> {
    fn from(bytes: Vec<u8>) -> Self {
        Self::shared(bytes)
    }
}

impl From<String> for InputBytes<'_> {
    fn from(text: String) -> Self {
        Self::shared(text)
    }
}

impl From<Box<[u8]>> for InputBytes<'_> {
    fn from(bytes: Box<[u8]>) -> Self {
        Self::shared(bytes)
    }
}

impl From<Arc<[u8]>> for InputBytes<'_> {
    fn from(bytes: Arc<[u8]>) -> Self {
        Self::shared(bytes)
    }
}
