//! Reads of files at an offset, from any thread.

use std::fs::File;
use std::io;

/// Fills a buffer with the bytes of a file from `at` on.
pub fn read_exact_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<()> {
    fill_at(file, buffer, at).1
}

/// Fills a buffer with the bytes of a file from `at` on. Returns also the number of bytes that were there.
pub fn fill_at(file: &File, buffer: &mut [u8], at: u64) -> (usize, io::Result<()>) {
    fill_by(|room, at| read_at(file, room, at), buffer, at)
}

/// Fills a buffer through any function that reads at an offset. Returns also the number of bytes that were
/// there.
pub fn fill_by(
    read: impl Fn(&mut [u8], u64) -> io::Result<usize>,
    buffer: &mut [u8],
    at: u64,
) -> (usize, io::Result<()>) {
    let mut filled = 0;
    while filled < buffer.len() {
        match read(&mut buffer[filled..], at + filled as u64) {
            Ok(0) => return (filled, Err(io::ErrorKind::UnexpectedEof.into())),
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return (filled, Err(error)),
        }
    }
    (filled, Ok(()))
}

/// Reads some bytes of a file from `at` on; 0 at the end.
#[cfg(unix)]
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::unix::fs::FileExt::read_at(file, buffer, at)
}

/// Reads some bytes of a file from `at` on; 0 at the end.
#[cfg(windows)]
pub fn read_at(file: &File, buffer: &mut [u8], at: u64) -> io::Result<usize> {
    std::os::windows::fs::FileExt::seek_read(file, buffer, at)
}
