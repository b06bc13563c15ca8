//! An append-only file of lines with one writer at a time.
//!
//! A line that was appended is complete, or is not there. A writer that was killed may leave a last
//! line without its line feed; the next writer ends that line first, and a write that fails
//! half-way is truncated again.

use super::dir::StateDir;
use super::error::StateError;
use crate::bounded_lines::{Line, LineReader};
use crate::file_lock::FileLock;
use crate::os_file::{FileExt, OFlags, fstat, fsync, truncate};
use std::fs::File;
use std::io::{BufReader, Seek, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A file of lines.
#[derive(Debug)]
pub struct LineFile {
    file: Arc<File>,
    path: PathBuf,
    length: u64,
    /// Held by a writer.
    _lock: Option<FileLock>,
}

/// Syncs a file of lines from another thread.
#[derive(Debug, Clone)]
pub struct SyncHandle(Arc<File>, PathBuf);

impl SyncHandle {
    /// Syncs everything that was appended to the disk.
    pub fn sync(&self) -> Result<(), StateError> {
        self.0.sync_data().map_err(StateError::of("sync", &self.1))
    }
}

impl LineFile {
    /// For reading, without the lock.
    pub(super) fn unlocked(file: File, path: PathBuf) -> Self {
        Self { file: Arc::new(file), path, length: 0, _lock: None }
    }

    /// For the only writer; creates the file if need be and waits at most `wait` for another
    /// writer.
    pub(super) fn lock(dir: &StateDir, name: &str, wait: Duration) -> Result<Self, StateError> {
        let (path, began, mut is_new) = (dir.path.join(name), Instant::now(), false);
        let open = || {
            let flags = OFlags::RDWR | OFlags::APPEND;
            if let Some(file) = dir.file(name, flags)? {
                return Ok(file);
            }
            is_new = true;
            dir.created(name, flags)
        };
        let lock = |file| FileLock::exclusive_within(file, wait.saturating_sub(began.elapsed()));
        let Some(lock) = dir.lock_named(name, open, lock)? else {
            return Err(StateError::Busy { path, waited: wait });
        };
        if is_new {
            fsync(&*dir.dir).map_err(StateError::of("sync the directory of", &path))?;
        }
        let locked = fstat(lock.file()).map_err(StateError::of("look at", &path))?;
        let length = u64::try_from(locked.st_size).unwrap_or_default();
        let file = lock.file().try_clone().map_err(StateError::of("open", &path))?;
        Ok(Self { file: Arc::new(file), path, length, _lock: Some(lock) })
    }

    /// Its length in bytes, for [`LineFile::truncate`].
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Appends lines in one write; adds the last line feed if it is missing. The lines survive the
    /// end of this process; [`LineFile::sync`] makes them survive a power cut.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), StateError> {
        let mut bytes = Vec::with_capacity(lines.len() + 2);
        if self.is_torn()? {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lines);
        if !lines.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        if let Err(error) = (&*self.file).write_all(&bytes) {
            // If even this fails, the next writer ends the torn line.
            let _ = truncate(&self.file, self.length);
            return Err(StateError::of("write", &self.path)(error));
        }
        self.length += bytes.len() as u64;
        Ok(())
    }

    /// Syncs everything that was appended to the disk.
    pub fn sync(&self) -> Result<(), StateError> {
        self.sync_handle().sync()
    }

    /// A handle to sync from another thread.
    pub fn sync_handle(&self) -> SyncHandle {
        SyncHandle(Arc::clone(&self.file), self.path.clone())
    }

    /// Removes everything behind `length`.
    pub fn truncate(&mut self, length: u64) -> Result<(), StateError> {
        if length >= self.length {
            return Ok(());
        }
        truncate(&self.file, length).map_err(StateError::of("cut", &self.path))?;
        self.length = length;
        self.sync()
    }

    /// Calls `each` for every line in order; the last one may have no line feed. Lines of more than
    /// `max` bytes are not held in memory.
    pub fn each_line(&self, max: usize, mut each: impl FnMut(Line)) -> Result<(), StateError> {
        let failed = || StateError::of("read", &self.path);
        let mut file = &*self.file;
        file.rewind().map_err(failed())?;
        let mut lines = LineReader::new(BufReader::with_capacity(64 << 10, file), max);
        while let Some(line) = lines.next_line().map_err(failed())? {
            each(line);
        }
        if let Some(line) = lines.finish() {
            each(line);
        }
        Ok(())
    }

    /// Whether the last line has no line feed.
    fn is_torn(&self) -> Result<bool, StateError> {
        let Some(last) = self.length.checked_sub(1) else { return Ok(false) };
        let mut byte = [0];
        let count = self.file.read_at(&mut byte, last).map_err(StateError::of("read", &self.path))?;
        Ok(count == 1 && byte != *b"\n")
    }
}
