//! The table of a bitmap index: the descriptions of its columns and bins.

use std::cmp::Ordering;

use warpath_core::fields::Fields;

use super::{BinPlace, BinSizes, BitmapPlace, ColumnPlace, Encoding, put32, put64};
use crate::bitmap::column::{Bin, Column, Holds, Kind, Scalar};

/// The fields of a column's table entry other than its description.
pub(super) struct ColumnEntry {
    pub sizes: Vec<BinSizes>,
    /// The checksums of the atoms and the tiles of each bin.
    pub checksums: Vec<(u64, u64)>,
    /// The checksum of the section of checksums of the values.
    pub checksum: u64,
}

/// Kinds by their numbers in the file, which never change.
const KINDS: [Kind; 5] = [Kind::Int, Kind::Float, Kind::Text, Kind::Time, Kind::Bool];

/// Contents of bins without values, by their numbers in the file, which never change. The next number is that
/// of bins with values.
const OTHERS: [Holds; 4] = [Holds::Missing, Holds::Null, Holds::Other, Holds::NaN];

/// Encodes the table of these columns.
pub(super) fn encode_table(columns: &[Column], places: &[ColumnPlace]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for (column, place) in columns.iter().zip(places) {
        let Column { name, source, kind, binning, bins } = column;
        let kind = KINDS.iter().position(|known| known == kind).unwrap_or(KINDS.len());
        put32(&mut bytes, &[kind as u32, bins.len() as u32]);
        put32(&mut bytes, &[name, source, binning].map(|text| text.len() as u32));
        put32(&mut bytes, &[0]);
        put64(&mut bytes, &[place.checksums.checksum]);
        for text in [name, source, binning] {
            bytes.extend_from_slice(text.as_bytes());
        }
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        for (Bin { holds, rows }, BinPlace { bitmap, encoding, text, .. }) in bins.iter().zip(&place.bins) {
            let BitmapPlace { atoms, tiles } = bitmap;
            let number = OTHERS.iter().position(|known| known == holds).unwrap_or(OTHERS.len());
            let count = atoms.place.len() as u64 / 8;
            put64(&mut bytes, &[number as u64, *rows, count, atoms.checksum, tiles.checksum]);
            if let Holds::Values { least, greatest } = holds {
                put_bounds(&mut bytes, least, greatest);
            }
            if *encoding == Encoding::Text {
                put64(&mut bytes, &[text.len() as u64]);
            }
        }
    }
    bytes
}

/// Returns the size in bytes of the table of these columns.
pub(in crate::bitmap) fn table_bytes<'a>(columns: impl Iterator<Item = &'a Column>) -> u64 {
    let of = |Column { name, source, binning, bins, .. }: &Column| {
        let texts = (name.len() + source.len() + binning.len()).next_multiple_of(8);
        let bounds = |bin: &Bin| match &bin.holds {
            Holds::Values { least: Scalar::Text(least), greatest: Scalar::Text(greatest) } => {
                16 + (least.len() + greatest.len()).next_multiple_of(8)
                    + if least == greatest { 0 } else { 8 }
            }
            Holds::Values { .. } => 16,
            _ => 0,
        };
        32 + texts + bins.iter().map(|bin| 40 + bounds(bin)).sum::<usize>()
    };
    columns.map(|column| of(column) as u64).sum()
}

fn put_bounds(to: &mut Vec<u8>, least: &Scalar, greatest: &Scalar) {
    if let (Scalar::Text(least), Scalar::Text(greatest)) = (least, greatest) {
        put64(to, &[least.len() as u64, greatest.len() as u64]);
        to.extend_from_slice(least.as_bytes());
        to.extend_from_slice(greatest.as_bytes());
        to.resize(to.len().next_multiple_of(8), 0);
        return;
    }
    put64(
        to,
        &[least, greatest].map(|bound| match bound {
            Scalar::Int(value) | Scalar::Time(value) => *value as u64,
            Scalar::Float(value) => value.to_bits(),
            Scalar::Bool(value) => u64::from(*value),
            Scalar::Text(_) => 0,
        }),
    );
}

fn decode_bounds(from: &mut Fields<'_>, start: usize, kind: Kind) -> Option<(Scalar, Scalar)> {
    let (least, greatest) = (from.u64()?, from.u64()?);
    let scalar = |word: u64| {
        Some(match kind {
            Kind::Int => Scalar::Int(word as i64),
            Kind::Time => Scalar::Time(word as i64),
            Kind::Float => Scalar::Float(f64::from_bits(word)),
            Kind::Bool if word < 2 => Scalar::Bool(word == 1),
            _ => return None,
        })
    };
    if kind != Kind::Text {
        return Some((scalar(least)?, scalar(greatest)?));
    }
    let bounds = (from.text(least)?, from.text(greatest)?);
    from.padding(start)?;
    Some((Scalar::Text(bounds.0.into()), Scalar::Text(bounds.1.into())))
}

/// Decodes the next column of a table that has `start` bytes in all. The index has `rows` rows.
pub(super) fn decode_column(from: &mut Fields<'_>, start: usize, rows: u64) -> Option<(Column, ColumnEntry)> {
    let kind = *KINDS.get(from.u32()? as usize)?;
    let bins = from.u32()?;
    let (name, source, binning) = (from.u32()?, from.u32()?, from.u32()?);
    let (spare, checksum) = (from.u32()?, from.u64()?);
    let mut string = |len: u32| Some(from.text(len.into())?.to_owned());
    let (name, source, binning) = (string(name)?, string(source)?, string(binning)?);
    from.padding(start)?;
    let mut column = Column { name, source, kind, binning, bins: Vec::new() };
    let mut entry = ColumnEntry { sizes: Vec::new(), checksums: Vec::new(), checksum };
    for _ in 0..bins {
        let number = usize::try_from(from.u64()?).ok()?;
        let (of_bin, atoms) = (from.u64()?, from.u64()?);
        entry.checksums.push((from.u64()?, from.u64()?));
        let holds = if number == OTHERS.len() {
            let (least, greatest) = decode_bounds(from, start, kind)?;
            Holds::Values { least, greatest }
        } else {
            OTHERS.get(number)?.clone()
        };
        let encoding = Encoding::of(&holds);
        let text = if encoding == Encoding::Text { from.u64()? } else { 0 };
        // At most the rows of the index, so that no size computed from the number overflows.
        let of_bin = Some(of_bin).filter(|of_bin| *of_bin <= rows)?;
        entry.sizes.push(BinSizes { atoms, encoding, rows: of_bin, text });
        column.bins.push(Bin { holds, rows: of_bin });
    }
    (spare == 0 && fault(&column, rows).is_none()).then_some((column, entry))
}

/// Returns the fault of a column in an index of `rows` rows, if it has one.
pub(in crate::bitmap) fn fault(column: &Column, rows: u64) -> Option<&'static str> {
    let Column { kind, bins, .. } = column;
    let mut sum = 0_u64;
    let mut before: Option<&Scalar> = None;
    let mut others = OTHERS.map(|holds| (holds, 0));
    for Bin { holds, rows: of_bin } in bins {
        if *of_bin == 0 {
            return Some("a bin has no rows");
        }
        sum = sum.saturating_add(*of_bin);
        if let Some((_, count)) = others.iter_mut().find(|(other, _)| other == holds) {
            *count += 1;
            if *count > 1 {
                return Some("two bins have the same kind");
            }
            if *holds == Holds::NaN && *kind != Kind::Float {
                return Some("a column that is not of floats has a bin of NaN");
            }
            continue;
        }
        let Holds::Values { least, greatest } = holds else { return Some("a bin has an unknown kind") };
        if others.iter().any(|(_, count)| *count > 0) {
            return Some("bins of values do not come first");
        }
        if least.kind() != *kind || greatest.kind() != *kind {
            return Some("a bin has bounds of another kind");
        }
        let order = least.partial_cmp(greatest);
        if !matches!(order, Some(Ordering::Less | Ordering::Equal)) {
            return Some("the bounds of a bin are not in order");
        }
        if before.is_some_and(|before| before.partial_cmp(least) != Some(Ordering::Less)) {
            return Some("bins are not in order");
        }
        before = Some(greatest);
    }
    (sum != rows).then_some("its bins do not have as many rows as the index")
}
