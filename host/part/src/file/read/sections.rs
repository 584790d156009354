//! Several sections of a group.

use std::borrow::Cow;
use std::ops::Range;

use super::super::directory::{DIRECTORY, Section};
use super::super::error::Error;
use super::super::source::fetch;
use super::{Reader, of_section, too_long, unpack, verified};

impl Reader {
    /// The sections of a group that have one of these names, with their names. From a source of another
    /// computer, those that are near each other are read at once.
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn named_sections(&self, group: usize, names: &[&str]) -> Result<Vec<(String, Vec<u8>)>, Error> {
        let sections = &self.entry(group)?.sections;
        let wanted = names.iter().filter_map(|name| sections.iter().find(|section| section.name == *name));
        if !self.source.is_far() {
            let read = |section: &Section| {
                Ok(self.section(group, &section.name)?.map(|bytes| (section.name.clone(), bytes)))
            };
            return wanted.filter_map(|section| read(section).transpose()).collect();
        }
        let wanted: Vec<&Section> = wanted.collect();
        let range = |section: &&Section| section.stored.offset..section.stored.offset + section.stored.len;
        let ranges: Vec<Range<u64>> = wanted.iter().map(range).collect();
        let bytes = fetch(&*self.source, &ranges)?;
        let unpacked = |(section, bytes): (&Section, &bytes::Bytes)| {
            Ok((section.name.clone(), unpack(group, section, bytes)?))
        };
        wanted.into_iter().zip(&bytes).map(unpacked).collect()
    }

    /// The first `count` sections of a group, in their order, read at once into `bytes`. Fewer if the group
    /// has fewer. Sections that are not compressed are not copied.
    ///
    /// # Errors
    /// See [`Reader::column`].
    pub fn first_sections<'b>(
        &self,
        group: usize,
        count: usize,
        bytes: &'b mut Vec<u8>,
    ) -> Result<Vec<Cow<'b, [u8]>>, Error> {
        let sections = &self.entry(group)?.sections;
        let sections = sections.get(..count).unwrap_or(sections);
        let Some(first) = sections.first() else { return Ok(Vec::new()) };
        let mut len = 0_usize;
        for section in sections {
            // All sections lie in the file, so that no sum overflows, and memory is no more than the file.
            if section.stored.offset != first.stored.offset + len as u64 {
                return Err(Error::invalid(DIRECTORY, "sections of a group do not follow one another"));
            }
            let stored = usize::try_from(section.stored.len).map_err(|_| too_long(section))?;
            len = len.checked_add(stored).ok_or_else(|| too_long(section))?;
        }
        if bytes.len() < len {
            bytes.resize(len, 0);
        }
        let bytes = &mut bytes[..len];
        self.source.read_at(first.stored.offset, bytes)?;
        let mut rest: &[u8] = bytes;
        let mut all = Vec::with_capacity(sections.len());
        for section in sections {
            let (own, after) = rest.split_at(section.stored.len as usize);
            rest = after;
            all.push(if section.is_compressed {
                Cow::Owned(unpack(group, section, own)?)
            } else {
                verified(|| of_section(group, section), section.stored, own)?;
                Cow::Borrowed(own)
            });
        }
        Ok(all)
    }
}
