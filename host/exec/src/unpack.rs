//! The text of packed files, and of packed data that comes through a pipe.

use std::fs::File;
use std::io::{self, BufReader, Read};

use warpath_core::error::{Error, InputError};
use warpath_core::pool::cores;
use warpath_core::pool::stream::{Limits, each};
use warpath_store::packed::file::PackedFile;
use warpath_store::packed::stream::Unpacker;

use crate::input::Source;

/// Writes the text of packed data, group by group. A file is decoded on all cores.
///
/// ```
/// use std::io::{Cursor, Write};
///
/// use warpath::Source;
/// use warpath::packed::{PackOptions, pack_to, unpack};
///
/// # fn main() -> Result<(), warpath::Error> {
/// let text = "{\"a\":1}\n{\"a\":2}\n";
/// let source = Source::Reader("log".into(), Box::new(text.as_bytes()));
/// let (mut packed, mut unpacked) = (Vec::new(), Vec::new());
/// pack_to(source, &mut packed, "log.wpk", PackOptions::default())?;
/// let source = Source::Reader("log.wpk".into(), Box::new(Cursor::new(packed)));
/// unpack(source, |part| unpacked.write_all(part))?;
/// assert_eq!(unpacked, text.as_bytes());
/// # Ok(())
/// # }
/// ```
///
/// # Errors
/// * [`InputError::NotPacked`] and [`InputError::PackedVersion`] if the data is not packed, or in an unknown
///   version.
/// * [`InputError::Packed`] if the data is damaged. The text before the damage was already written, except if
///   the damage is in the table of a file.
/// * [`InputError::Io`] if the data cannot be read, or if `write` fails.
pub fn unpack(input: Source, mut write: impl FnMut(&[u8]) -> io::Result<()>) -> Result<(), Error> {
    let name = input.name();
    let failed = |source: io::Error| match source.downcast::<InputError>() {
        Ok(error) => Error::from(error),
        Err(source) => InputError::Io { name: name.clone(), source }.into(),
    };
    let raw: Box<dyn Read> = match input {
        Source::File(path) if path.is_dir() => return Err(InputError::Directory(path).into()),
        Source::File(path) if path.is_file() => {
            let packed = PackedFile::open(&path)?;
            let groups = packed.info().groups as usize;
            // As many texts as cores are in memory, and the one that is written.
            let limits = Limits { threads: cores().min(groups), jobs: cores(), slow_start: None };
            let text = |(): &mut (), number| packed.group_text(number);
            return each(limits, 0..groups, text, |text| write(&text?).map_err(failed));
        }
        Source::File(path) | Source::Followed(path, ..) => Box::new(File::open(path).map_err(failed)?),
        Source::Stdin => Box::new(io::stdin()),
        Source::Column(..) | Source::FollowedAll(_) | Source::Part(..) => {
            return Err(InputError::NotPacked { name }.into());
        }
        Source::Reader(_, reader) => reader,
        Source::Bytes(_, bytes) => Box::new(io::Cursor::new(bytes)),
    };
    let mut unpacker = Unpacker::new(BufReader::new(raw), name.clone());
    while unpacker.next_group().map_err(failed)? {
        write(unpacker.text()).map_err(failed)?;
    }
    Ok(())
}
