//! Reads a whole regular file, within a size limit and without blocking.

use picoclaw_sandbox::os_file::{self, CWD, Errno, Mode, OFlags, openat};
use picoclaw_sandbox::printable_path;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Maximum size of a configuration or secrets file.
pub(super) const MAX_FILE_SIZE: u64 = 1 << 20;

/// A file's text and metadata.
#[derive(Debug)]
pub(super) struct TextFile {
    /// The text.
    pub(super) text: String,
    /// Owner and mode.
    pub(super) metadata: Metadata,
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FileError {
    /// An I/O error.
    #[error("could not read `{}`: {source}", printable_path(path))]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// Not a regular file.
    #[error("`{}` is {what}, not a file", printable_path(path))]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// What it is.
        what: &'static str,
    },
    /// Larger than the limit.
    #[error("`{}` is larger than {} bytes", printable_path(path), MAX_FILE_SIZE)]
    TooLarge {
        /// The file.
        path: PathBuf,
    },
    /// Not UTF-8.
    #[error("{}:{line}:{column}: not UTF-8 text", printable_path(path))]
    NotText {
        /// The file.
        path: PathBuf,
        /// Starts at one.
        line: usize,
        /// Starts at one; counts characters.
        column: usize,
    },
}

/// The first line of a small text file, which must exist.
pub(crate) fn first_line(path: &Path) -> Result<String, FileError> {
    let missing = || FileError::Io { path: path.to_owned(), source: io::ErrorKind::NotFound.into() };
    let file = read_text(path)?.ok_or_else(missing)?;
    Ok(file.text.lines().next().unwrap_or_default().to_owned())
}

/// Reads a text file; `None` if it does not exist.
pub(super) fn read_text(path: &Path) -> Result<Option<TextFile>, FileError> {
    let Some((bytes, metadata)) = read_bytes(path)? else { return Ok(None) };
    match String::from_utf8(bytes) {
        Ok(text) => Ok(Some(TextFile { text, metadata })),
        Err(fault) => Err(not_text(path, fault.as_bytes(), fault.utf8_error().valid_up_to())),
    }
}

/// Reads a file; `None` if it does not exist.
pub(super) fn read_bytes(path: &Path) -> Result<Option<(Vec<u8>, Metadata)>, FileError> {
    let failed = |source: io::Error| FileError::Io { path: path.to_owned(), source };
    // Without NONBLOCK, opening a FIFO would wait for a writer.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC | OFlags::NOCTTY;
    let mut file = match openat(CWD, path, flags, Mode::empty()) {
        Ok(handle) => File::from(handle),
        Err(Errno::NOENT) => return Ok(None),
        // A socket cannot be opened.
        Err(Errno::NXIO) => {
            return Err(FileError::NotAFile { path: path.to_owned(), what: "a socket or pipe" });
        }
        Err(errno) => return Err(failed(errno.into())),
    };
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a directory" } else { "a pipe, socket or device" };
        return Err(FileError::NotAFile { path: path.to_owned(), what });
    }
    let expected = usize::try_from(metadata.len().min(MAX_FILE_SIZE)).unwrap_or_default();
    // One byte more than expected, so that the end is found without another read.
    let mut bytes = vec![0; expected + 1];
    let got = loop {
        match os_file::read(&file, &mut bytes) {
            Err(Errno::INTR) => {}
            read => break read.map_err(|errno| failed(errno.into()))?,
        }
    };
    bytes.truncate(got);
    // The size may have changed, or be zero in a pseudo file system: the limit applies to what is
    // read. If the buffer was larger than the result and the expected size arrived, that was the
    // end.
    if got != expected || got == 0 {
        file.by_ref()
            .take((MAX_FILE_SIZE + 1).saturating_sub(got as u64))
            .read_to_end(&mut bytes)
            .map_err(failed)?;
    }
    if bytes.len() as u64 > MAX_FILE_SIZE {
        return Err(FileError::TooLarge { path: path.to_owned() });
    }
    Ok(Some((bytes, metadata)))
}

fn not_text(path: &Path, bytes: &[u8], good: usize) -> FileError {
    let before = String::from_utf8_lossy(&bytes[..good]);
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().unwrap_or("").chars().count() + 1;
    FileError::NotText { path: path.to_owned(), line, column }
}
