//! Reads files that the operator's configuration names.
//!
//! Invariant: the path comes from the configuration, never from a tool call.

use crate::os_file::{CWD, Errno, FileType, Mode, OFlags, fstat, openat};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// Reads a whole regular file of at most `max_bytes`.
pub fn read_operator_file(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    // NONBLOCK: opening a FIFO would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = openat(CWD, path, flags, Mode::empty()).map_err(open_error)?;
    if FileType::from_raw_mode(fstat(&file)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let mut bytes = Vec::new();
    File::from(file).take(max_bytes + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {max_bytes} bytes")));
    }
    Ok(bytes)
}

fn open_error(why: Errno) -> io::Error {
    if why == Errno::NOENT { io::Error::new(io::ErrorKind::NotFound, "there is no file") } else { why.into() }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test writes files by path")]
mod tests {
    use super::*;

    #[test]
    fn only_a_plain_file_within_bounds_is_read() {
        let dir = tempfile::tempdir().unwrap();
        let plain = dir.path().join("plain");
        std::fs::write(&plain, "12345").unwrap();
        assert_eq!(read_operator_file(&plain, 5).unwrap(), b"12345", "the bound itself fits");
        assert!(read_operator_file(&plain, 4).is_err(), "one byte too many");
        assert!(read_operator_file(dir.path(), 5).is_err(), "a directory is no file");
        let none = read_operator_file(&dir.path().join("none"), 5).unwrap_err();
        assert_eq!((none.kind(), none.to_string().as_str()), (io::ErrorKind::NotFound, "there is no file"));
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(read_operator_file(&fifo, 5).is_err(), "a FIFO is not waited for");
    }
}
