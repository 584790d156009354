//! XML as events. An element is a node. Each of its attributes is a node below it, before the element's
//! content.
//!
//! Names are those of the text, with their prefixes; namespaces are not resolved. A declaration of a
//! namespace (`xmlns`, `xmlns:…`) is no attribute (XPath 1.0, section 5.3), and so no node. The value of an
//! element is its own text, CDATA included, without the text of the elements in it. XML's own entities and
//! character references are known; other entities are errors. A document type is skipped. So no text ever
//! expands to more than its own length.

use std::borrow::Cow;

use quick_xml::escape::resolve_xml_entity;
use quick_xml::events::attributes::Attribute;
use quick_xml::events::{BytesRef, BytesStart, Event};
use quick_xml::{Reader, XmlVersion};
use warpath_lang::twig::value::Value;

use super::{Events, Name};

/// The reason why a text is not an XML document.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct XmlError {
    /// The offset in the text at which the error was found, from 0, or one after it.
    pub at: u64,
    /// The message.
    pub message: String,
}

/// Reports the events of an XML document.
///
/// # Errors
/// [`XmlError`]. The events before the error were reported.
pub fn read(text: &str, events: &mut impl Events) -> Result<(), XmlError> {
    let mut reader = Reader::from_str(text);
    let mut open = Open { text: Vec::new(), elements: Vec::new(), has_root: false };
    loop {
        let before = reader.buffer_position();
        let event = reader
            .read_event()
            .map_err(|error| XmlError { at: reader.error_position(), message: error.to_string() })?;
        let failed = |message: String| XmlError { at: before, message };
        match event {
            Event::Start(start) => open.begin(&start, events).map_err(failed)?,
            Event::Empty(start) => {
                open.begin(&start, events).map_err(failed)?;
                open.end(events);
            }
            Event::End(_) => open.end(events),
            Event::Text(text) => open.add(text.as_bytes()).map_err(failed)?,
            Event::CData(text) => open.add(text.as_bytes()).map_err(failed)?,
            Event::GeneralRef(reference) => open.refer(&reference).map_err(failed)?,
            Event::Comment(_) | Event::PI(_) | Event::Decl(_) | Event::DocType(_) => {}
            Event::Eof => break,
        }
    }
    let at = text.len() as u64;
    match open {
        Open { elements, .. } if !elements.is_empty() => {
            let count = elements.len();
            let what = if count == 1 { "an element is".to_owned() } else { format!("{count} elements are") };
            Err(XmlError { at, message: format!("{what} not closed at the end") })
        }
        Open { has_root: false, .. } => Err(XmlError { at, message: "there is no element".to_owned() }),
        _ => Ok(()),
    }
}

/// The error of a document that is not UTF-8 at an offset. It says how to convert a document whose
/// declaration gives its encoding.
pub(super) fn not_utf8(text: &[u8], at: u64) -> XmlError {
    let declared = || {
        let declaration = text.strip_prefix(b"<?xml")?;
        let declaration = str::from_utf8(&declaration[..memchr::memmem::find(declaration, b"?>")?]).ok()?;
        let (_, value) = declaration.split_once("encoding")?;
        let value = value.trim_ascii_start().strip_prefix('=')?.trim_ascii_start();
        let encoding = value.split(['"', '\'']).nth(1)?;
        let is_name = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        (!encoding.is_empty() && encoding.bytes().all(is_name)).then_some(encoding)
    };
    let message = match declared() {
        Some(encoding) if !["utf-8", "utf8"].iter().any(|own| encoding.eq_ignore_ascii_case(own)) => {
            format!("is {encoding}, and not UTF-8; convert it first: `iconv -f {encoding} -t UTF-8`")
        }
        _ => "is not UTF-8".to_owned(),
    };
    XmlError { at, message }
}

/// The open elements.
struct Open {
    /// The texts of the open elements, one after the other.
    text: Vec<u8>,
    /// The start of each element's text, and whether its value is needed.
    elements: Vec<(usize, bool)>,
    has_root: bool,
}

impl Open {
    fn begin(&mut self, start: &BytesStart<'_>, events: &mut impl Events) -> Result<(), String> {
        if self.elements.is_empty() && self.has_root {
            return Err("there is a second root element".to_owned());
        }
        self.has_root = true;
        let wants = events.open(Name::Element(start.name().as_ref().as_bytes()));
        self.elements.push((self.text.len(), wants));
        for attribute in start.attributes() {
            let attribute = attribute.map_err(|error| error.to_string())?;
            let name = attribute.key.as_ref().as_bytes();
            if is_namespace(name) {
                value_of(&attribute)?;
            } else if events.open(Name::Attribute(name)) {
                let value = value_of(&attribute)?;
                events.close(Value::Text(value.as_bytes()));
            } else {
                // Errors must not depend on which values are needed.
                if attribute.value.as_bytes().contains(&b'&') {
                    value_of(&attribute)?;
                }
                events.close(Value::None);
            }
        }
        Ok(())
    }

    fn end(&mut self, events: &mut impl Events) {
        let Some((from, wants)) = self.elements.pop() else { return };
        events.close(if wants { Value::Text(&self.text[from..]) } else { Value::None });
        self.text.truncate(from);
    }

    fn add(&mut self, text: &[u8]) -> Result<(), String> {
        match self.elements.last() {
            Some((_, true)) => self.text.extend_from_slice(text),
            Some((_, false)) => {}
            None if text.trim_ascii().is_empty() => {}
            None => return Err("there is text outside the root element".to_owned()),
        }
        Ok(())
    }

    fn refer(&mut self, reference: &BytesRef<'_>) -> Result<(), String> {
        let name: &str = reference;
        let unknown = || format!("the entity `&{name};` is not known");
        match reference.resolve_char_ref() {
            Ok(Some(char)) => self.add(char.encode_utf8(&mut [0; 4]).as_bytes()),
            Ok(None) => self.add(resolve_xml_entity(name).ok_or_else(unknown)?.as_bytes()),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Returns whether this is the name of a namespace's declaration.
fn is_namespace(name: &[u8]) -> bool {
    name.strip_prefix(b"xmlns").is_some_and(|rest| rest.is_empty() || rest[0] == b':')
}

/// The value of an attribute.
fn value_of(attribute: &Attribute<'_>) -> Result<String, String> {
    let value = attribute.normalized_value(XmlVersion::Implicit1_0);
    value.map(Cow::into_owned).map_err(|error| error.to_string())
}
