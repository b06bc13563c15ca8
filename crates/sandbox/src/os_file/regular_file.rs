//! Reads small files whose paths others may have chosen.

use super::{CWD, FileType, Mode, OFlags, Stat, fstat, openat, stat_path};
use std::fs::File;
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The content of a regular file of at most `limit` bytes. A FIFO does not block, and no device is
/// opened.
pub(crate) fn read_regular_file(path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let check = |stat: Stat| match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile if i128::from(stat.st_size) > i128::from(limit) => Err(ErrorKind::FileTooLarge),
        FileType::RegularFile => Ok(()),
        _ => Err(ErrorKind::InvalidInput),
    };
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    check(stat_path(path)?)?;
    let file = openat(CWD, path, flags, Mode::empty())?;
    check(fstat(&file)?)?;
    let mut content = Vec::new();
    File::from(file).take(limit.saturating_add(1)).read_to_end(&mut content)?;
    // It may have grown meanwhile.
    if content.len() as u64 > limit { Err(ErrorKind::FileTooLarge.into()) } else { Ok(content) }
}
