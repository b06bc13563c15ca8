//! A file of lines, held by one writer.
//!
//! A writer that was killed may leave a last line without its end. The next writer ends that line first, so that nothing
//! is ever glued to it; whoever reads the lines decides what the torn one is worth. A write that fails half-way, because the
//! disk is full, is cut off again.
//!
//! Invariant: every line that was appended is whole, or is not there.

use super::error::ShelfError;
use super::keep::Shelf;
use rustix::fs::{AtFlags, FlockOperation, OFlags, fdatasync, flock, fstat, fsync, ftruncate, statat};
use rustix::io::{Errno, pread, write};
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// The longest pause between two tries for the lock.
const PAUSE: Duration = Duration::from_millis(20);

/// Bytes that are read at once.
const PIECE: usize = 64 << 10;

/// A file of lines. Held, it is locked against other writers until it is dropped.
#[derive(Debug)]
pub struct Book {
    file: Arc<OwnedFd>,
    path: PathBuf,
    length: u64,
}

/// One line as it was read.
#[derive(Debug, PartialEq, Eq)]
pub enum Line<'l> {
    /// Its bytes, without the line feed.
    Whole(&'l [u8]),
    /// Longer than the reader takes.
    TooLong,
}

/// How sure a write is when it returns.
#[derive(Debug, Clone)]
pub struct Durability(Arc<OwnedFd>, PathBuf);

impl Durability {
    /// Brings everything that was appended onto the disk.
    pub fn sync(&self) -> Result<(), ShelfError> {
        fdatasync(&*self.0).map_err(ShelfError::of("sync", &self.1))
    }
}

impl Book {
    pub(super) fn reading(file: OwnedFd, path: PathBuf) -> Self {
        Self { file: Arc::new(file), path, length: 0 }
    }

    pub(super) fn hold(shelf: &Shelf, name: &str, patience: Duration) -> Result<Self, ShelfError> {
        let path = shelf.path.join(name);
        let began = Instant::now();
        let mut pause = PAUSE / 32;
        loop {
            let how = OFlags::RDWR | OFlags::APPEND;
            let (file, is_new) = match shelf.file(name, how)? {
                Some(file) => (file, false),
                None => {
                    let made = shelf.file(name, how | OFlags::CREATE)?;
                    (made.ok_or_else(|| ShelfError::of("make", &path)(Errno::NOENT))?, true)
                }
            };
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {
                    let held = fstat(&file).map_err(ShelfError::of("look at", &path))?;
                    let named = statat(&*shelf.dir, name, AtFlags::SYMLINK_NOFOLLOW);
                    // Whoever held it before may have removed it: then the name is somebody else's by now.
                    if named.is_ok_and(|named| (named.st_dev, named.st_ino) == (held.st_dev, held.st_ino)) {
                        if is_new {
                            fsync(&*shelf.dir).map_err(ShelfError::of("sync the directory of", &path))?;
                        }
                        let length = u64::try_from(held.st_size).unwrap_or_default();
                        return Ok(Self { file: Arc::new(file), path, length });
                    }
                }
                Err(Errno::WOULDBLOCK | Errno::INTR) => {}
                Err(errno) => return Err(ShelfError::of("lock", &path)(errno)),
            }
            if began.elapsed() >= patience {
                return Err(ShelfError::Busy { path, waited: patience });
            }
            // `flock` knows no deadline, so a bounded wait has to ask again.
            std::thread::sleep(pause);
            pause = (pause * 2).min(PAUSE);
        }
    }

    /// Its length in bytes: where [`Book::cut`] brings it back to.
    pub fn length(&self) -> u64 {
        self.length
    }

    /// Adds lines, each of which ends here with a line feed, in one write. They survive the end of this process;
    /// [`Book::sync`] makes them survive the machine's.
    pub fn append(&mut self, lines: &[u8]) -> Result<(), ShelfError> {
        let mut bytes = Vec::with_capacity(lines.len() + 2);
        if self.is_torn()? {
            bytes.push(b'\n');
        }
        bytes.extend_from_slice(lines);
        if !lines.ends_with(b"\n") {
            bytes.push(b'\n');
        }
        match self.write(&bytes) {
            Ok(()) => {
                self.length += bytes.len() as u64;
                Ok(())
            }
            Err(errno) => {
                // If even this fails, the torn line is ended by the next writer.
                let _ = ftruncate(&*self.file, self.length);
                Err(ShelfError::of("write", &self.path)(errno))
            }
        }
    }

    /// Brings everything that was appended onto the disk.
    pub fn sync(&self) -> Result<(), ShelfError> {
        self.durability().sync()
    }

    /// The same for whoever syncs on another thread.
    pub fn durability(&self) -> Durability {
        Durability(Arc::clone(&self.file), self.path.clone())
    }

    /// Takes everything behind `length` away again.
    pub fn cut(&mut self, length: u64) -> Result<(), ShelfError> {
        if length >= self.length {
            return Ok(());
        }
        ftruncate(&*self.file, length).map_err(ShelfError::of("cut", &self.path))?;
        self.length = length;
        self.sync()
    }

    /// Goes over every line in order; lines longer than `longest` bytes are named, and not held in memory.
    pub fn each_line(&self, longest: usize, mut seen: impl FnMut(Line<'_>)) -> Result<(), ShelfError> {
        let mut piece = vec![0; PIECE];
        let (mut line, mut is_too_long, mut at) = (Vec::new(), false, 0);
        loop {
            let count = match pread(&*self.file, &mut piece, at) {
                Ok(0) => break,
                Ok(count) => count,
                Err(Errno::INTR) => continue,
                Err(errno) => return Err(ShelfError::of("read", &self.path)(errno)),
            };
            at += count as u64;
            let mut rest = &piece[..count];
            while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
                take(&mut line, &mut is_too_long, &rest[..end], longest);
                seen(if is_too_long { Line::TooLong } else { Line::Whole(&line) });
                line.clear();
                is_too_long = false;
                rest = &rest[end + 1..];
            }
            take(&mut line, &mut is_too_long, rest, longest);
        }
        if is_too_long {
            seen(Line::TooLong);
        } else if !line.is_empty() {
            seen(Line::Whole(&line));
        }
        Ok(())
    }

    /// Whether the last line has no end.
    fn is_torn(&self) -> Result<bool, ShelfError> {
        let Some(last) = self.length.checked_sub(1) else { return Ok(false) };
        let mut byte = [0];
        let count = pread(&*self.file, &mut byte, last).map_err(ShelfError::of("read", &self.path))?;
        Ok(count == 1 && byte != *b"\n")
    }

    fn write(&self, mut bytes: &[u8]) -> Result<(), Errno> {
        while !bytes.is_empty() {
            match write(&*self.file, bytes) {
                Ok(0) => return Err(Errno::IO),
                Ok(written) => bytes = &bytes[written..],
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno),
            }
        }
        Ok(())
    }
}

fn take(line: &mut Vec<u8>, is_too_long: &mut bool, more: &[u8], longest: usize) {
    if *is_too_long || line.len() + more.len() > longest {
        *is_too_long = true;
        line.clear();
    } else {
        line.extend_from_slice(more);
    }
}
