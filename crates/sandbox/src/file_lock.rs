//! RAII guard for flock(2).
//!
//! Invariant: dropping the guard unlocks, also while a forked child still holds a copy of the
//! descriptor.

use crate::os_file::{OwnedFd, Sharing, lock, try_lock, unlock};
use std::fs::{File, TryLockError};
use std::io;
use std::time::{Duration, Instant};

/// The longest pause between two attempts of a bounded wait.
const MAX_PAUSE: Duration = Duration::from_millis(8);

/// A locked file. The lock belongs to the open file description, so the kernel releases it when its
/// holder dies.
#[derive(Debug)]
#[must_use = "dropping the guard unlocks the file"]
pub struct FileLock(File);

impl FileLock {
    /// Takes an exclusive lock; `None` when another open file description holds one.
    pub fn try_exclusive(file: impl Into<OwnedFd>) -> io::Result<Option<Self>> {
        let file = File::from(file.into());
        Ok(is_taken(try_lock(&file, Sharing::Exclusive))?.then_some(Self(file)))
    }

    /// Takes a shared lock; `None` when another open file description holds an exclusive one.
    pub fn try_shared(file: impl Into<OwnedFd>) -> io::Result<Option<Self>> {
        let file = File::from(file.into());
        Ok(is_taken(try_lock(&file, Sharing::Shared))?.then_some(Self(file)))
    }

    /// Takes an exclusive lock, waiting for as long as it takes.
    pub fn exclusive(file: impl Into<OwnedFd>) -> io::Result<Self> {
        let file = File::from(file.into());
        uninterrupted(|| lock(&file, Sharing::Exclusive))?;
        Ok(Self(file))
    }

    /// Takes a shared lock, waiting for as long as it takes.
    pub fn shared(file: impl Into<OwnedFd>) -> io::Result<Self> {
        let file = File::from(file.into());
        uninterrupted(|| lock(&file, Sharing::Shared))?;
        Ok(Self(file))
    }

    /// Takes an exclusive lock within `wait`; `None` when the time is up.
    pub fn exclusive_within(file: impl Into<OwnedFd>, wait: Duration) -> io::Result<Option<Self>> {
        let file = File::from(file.into());
        let deadline = Instant::now().checked_add(wait);
        let mut pause = MAX_PAUSE / 256;
        // flock(2) has no timeout, so a bounded wait polls.
        while !is_taken(try_lock(&file, Sharing::Exclusive))? {
            if deadline.is_none_or(|deadline| Instant::now() >= deadline) {
                return Ok(None);
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(MAX_PAUSE);
        }
        Ok(Some(Self(file)))
    }

    /// The locked file.
    pub fn file(&self) -> &File {
        &self.0
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // Closing the descriptor would not unlock while a child that has not executed yet holds a
        // copy.
        let _ = unlock(&self.0);
    }
}

/// Whether an attempt succeeded. An interrupted one counts as not yet.
fn is_taken(attempt: Result<(), TryLockError>) -> io::Result<bool> {
    match attempt {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn uninterrupted(mut attempt: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match attempt() {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(file: &tempfile::NamedTempFile) -> File {
        File::open(file.path()).unwrap()
    }

    #[test]
    fn dropping_the_guard_unlocks_although_the_descriptor_was_inherited() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock = FileLock::exclusive(open(&file)).unwrap();
        let inherited = lock.file().try_clone().unwrap();
        assert!(FileLock::try_exclusive(open(&file)).unwrap().is_none(), "while it is held");
        drop(lock);
        assert!(FileLock::try_exclusive(open(&file)).unwrap().is_some(), "and not after");
        drop(inherited);
    }

    #[test]
    fn shared_locks_go_together_and_exclude_an_exclusive_one() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let first = FileLock::shared(open(&file)).unwrap();
        let second = FileLock::try_shared(open(&file)).unwrap().unwrap();
        assert!(FileLock::try_exclusive(open(&file)).unwrap().is_none());
        drop((first, second));
        let _exclusive = FileLock::try_exclusive(open(&file)).unwrap().unwrap();
        assert!(FileLock::try_shared(open(&file)).unwrap().is_none());
    }

    #[test]
    fn a_bounded_wait_ends_with_the_lock_or_with_the_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock = FileLock::exclusive(open(&file)).unwrap();
        let wait = Duration::from_millis(50);
        let began = Instant::now();
        assert!(FileLock::exclusive_within(open(&file), wait).unwrap().is_none());
        assert!(began.elapsed() >= wait);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(wait);
                drop(lock);
            });
            assert!(FileLock::exclusive_within(open(&file), Duration::from_secs(20)).unwrap().is_some());
        });
    }
}
