//! Partial lines: the members of records that a plan names.

use super::super::project::{MemberValue, Plan, Short};
use super::{Content, Result, Writer, damaged, lost, piece, sections};
use crate::group::NodeIx;

impl Plan {
    /// Writes the record of a row.
    #[inline]
    pub(super) fn record(&self, row: u32, writer: &mut Writer<'_, '_>) -> Result<()> {
        if self.any {
            return self.object(0, row, writer);
        }
        writer.out.extend_from_slice(b"{}");
        Ok(())
    }

    /// Writes the value at a position, as [`Writer::position`] does.
    #[inline]
    fn position(&self, lead: NodeIx, at: u32, writer: &mut Writer<'_, '_>) -> Result<()> {
        let mut index = lead;
        loop {
            let node = &writer.group.nodes[index as usize];
            if let Some(occurrence) = node.occurrences.rank(at) {
                return self.value(index, occurrence, writer);
            }
            index = node.sibling;
            if index == 0 {
                writer.out.extend_from_slice(b"null");
                return Ok(());
            }
        }
    }

    #[inline]
    fn value(&self, index: NodeIx, occurrence: u32, writer: &mut Writer<'_, '_>) -> Result<()> {
        match self.short.get(index as usize) {
            Some(Short::Whole) => return writer.value(index, occurrence),
            Some(Short::Text(text)) => {
                writer.out.extend_from_slice(text);
                return Ok(());
            }
            _ => {}
        }
        match &writer.group.nodes[index as usize].content {
            Content::Object { .. } => self.object(index, occurrence, writer),
            Content::List { .. } => self.list(index, occurrence as usize, writer),
            Content::Mixed(first) => self.position(*first, occurrence, writer),
            _ => Err(damaged(sections::SHAPES, format!("node {index} has no shapes"))),
        }
    }

    /// Writes the members of an object.
    fn object(&self, index: NodeIx, occurrence: u32, writer: &mut Writer<'_, '_>) -> Result<()> {
        let node = &writer.group.nodes[index as usize];
        let Content::Object { ids, shapes } = &node.content else {
            return Err(damaged(sections::SHAPES, format!("node {index} has no shapes")));
        };
        let members = ids.get(occurrence as usize).and_then(|id| {
            let (begin, end) = *self.shapes.get(shapes.clone())?.get(id as usize)?;
            self.members.get(begin as usize..end as usize)
        });
        let members = members.ok_or_else(|| damaged(sections::SHAPE_IDS, "an object has no shape"))?;
        if members.is_empty() {
            writer.out.extend_from_slice(b"{}");
            return Ok(());
        }
        for member in members {
            let (begin, len) = member.literal;
            piece::append(self.literals.get(begin as usize..).unwrap_or_default(), len as usize, writer.out);
            match member.value {
                MemberValue::Node(lead) => self.position(lead, occurrence, writer)?,
                MemberValue::Null => writer.out.extend_from_slice(b"null"),
                MemberValue::Present => writer.out.push(b'0'),
                MemberValue::Repeat(before) => {
                    let texts = node.odd.as_ref().map_or(&[][..], |odd| &odd.texts);
                    let first = texts.partition_point(|(other, _)| *other < occurrence);
                    let text = texts.get(first.saturating_add(before as usize));
                    let text = text.filter(|(other, _)| *other == occurrence);
                    let (_, text) = text.ok_or_else(|| damaged(sections::EXCEPTIONS, "too few values"))?;
                    writer.out.extend_from_slice(text);
                }
            }
            writer.check_length()?;
        }
        writer.out.push(b'}');
        Ok(())
    }

    /// Writes the elements of a list.
    fn list(&self, index: NodeIx, at: usize, writer: &mut Writer<'_, '_>) -> Result<()> {
        let Content::List { starts, element, .. } = &writer.group.nodes[index as usize].content else {
            return Ok(());
        };
        let (Some(&begin), Some(&end)) = (starts.get(at), starts.get(at.saturating_add(1))) else {
            return Err(lost(index));
        };
        writer.out.push(b'[');
        for slot in begin..end {
            if slot > begin {
                writer.out.push(b',');
            }
            self.position(*element, slot, writer)?;
            writer.check_length()?;
        }
        writer.out.push(b']');
        Ok(())
    }
}
