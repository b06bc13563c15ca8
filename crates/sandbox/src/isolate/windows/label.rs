//! Labels a directory with the low integrity level.

use std::fs::OpenOptions;
use std::io;
use std::os::windows::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::os::windows::io::AsHandle as _;
use std::path::Path;

const READ_CONTROL: u32 = 0x0002_0000;
const WRITE_OWNER: u32 = 0x0008_0000;
const FILE_READ_ATTRIBUTES: u32 = 0x80;
/// Opens a directory, and a reparse point itself instead of what it leads to.
const FILE_FLAG_BACKUP_SEMANTICS: u32 = 0x0200_0000;
const FILE_FLAG_OPEN_REPARSE_POINT: u32 = 0x0020_0000;
const FILE_ATTRIBUTE_DIRECTORY: u32 = 0x10;
const FILE_ATTRIBUTE_REPARSE_POINT: u32 = 0x400;

/// Labels the directory at `path`. A child may have put a junction there, which is refused.
pub(in crate::isolate) fn label_low(path: &Path) -> io::Result<()> {
    let directory = OpenOptions::new()
        .access_mode(READ_CONTROL | WRITE_OWNER | FILE_READ_ATTRIBUTES)
        .custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)?;
    let attributes = directory.metadata()?.file_attributes();
    if attributes & (FILE_ATTRIBUTE_DIRECTORY | FILE_ATTRIBUTE_REPARSE_POINT) != FILE_ATTRIBUTE_DIRECTORY {
        return Err(io::Error::new(io::ErrorKind::NotADirectory, "it is no directory, or a junction"));
    }
    picoclaw_sys::windows::label_low(directory.as_handle())
}
