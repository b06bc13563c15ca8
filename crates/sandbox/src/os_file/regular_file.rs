//! Reads small files whose paths others may have chosen.

use super::{CWD, Errno, FileType, Mode, OFlags, Stat, fstat, openat, stat_path};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The content of a regular file of at most `limit` bytes. A FIFO does not block, and no device is
/// opened.
pub fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let too_large = || io::Error::new(ErrorKind::FileTooLarge, format!("larger than {limit} bytes"));
    let check = |stat: Stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if i128::from(stat.st_size) > i128::from(limit) => Err(too_large()),
        FileType::RegularFile => Ok(()),
        _ => Err(io::Error::new(ErrorKind::InvalidInput, "not a regular file")),
    };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    check(stat_path(path).map_err(open_error)?)?;
    let file = openat(CWD, path, flags, Mode::empty()).map_err(open_error)?;
    check(fstat(&file)?)?;
    let mut content = Vec::new();
    File::from(file).take(limit.saturating_add(1)).read_to_end(&mut content)?;
    // It may have grown meanwhile.
    if content.len() as u64 > limit { Err(too_large()) } else { Ok(content) }
}

fn open_error(why: Errno) -> io::Error {
    if why == Errno::NOENT { io::Error::new(ErrorKind::NotFound, "there is no file") } else { why.into() }
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
        assert_eq!(read_regular_file(&plain, 5).unwrap(), b"12345", "the bound itself fits");
        assert!(read_regular_file(&plain, 4).is_err(), "one byte too many");
        assert!(read_regular_file(dir.path(), 5).is_err(), "a directory is no file");
        let none = read_regular_file(&dir.path().join("none"), 5).unwrap_err();
        assert_eq!((none.kind(), none.to_string().as_str()), (io::ErrorKind::NotFound, "there is no file"));
        let fifo = dir.path().join("fifo");
        rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert!(read_regular_file(&fifo, 5).is_err(), "a FIFO is not waited for");
    }
}
