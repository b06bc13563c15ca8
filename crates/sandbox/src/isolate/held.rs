//! A lock on a file, for as long as this is there.
//!
//! Invariant: it ends when this is dropped, whoever has inherited the descriptor: a process that was forked meanwhile has it until
//! it executes something, and would hold the lock for as long.

use rustix::fs::{FlockOperation, flock};
use rustix::io::Result;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

#[derive(Debug)]
pub(super) struct Held(OwnedFd);

impl Held {
    /// Locks the file, in the way that is asked for.
    pub(super) fn take(file: OwnedFd, how: FlockOperation) -> Result<Self> {
        flock(&file, how)?;
        Ok(Self(file))
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // Closing it does the same where nobody else has it.
        let _ = flock(&self.0, FlockOperation::Unlock);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_lock_ends_although_somebody_inherited_it() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let open = || OwnedFd::from(File::open(place.path()).unwrap());
        let one = Held::take(open(), FlockOperation::NonBlockingLockExclusive).unwrap();
        let inherited = one.as_fd().try_clone_to_owned().unwrap();
        let other = || Held::take(open(), FlockOperation::NonBlockingLockExclusive);
        assert!(other().is_err(), "while it is held");
        drop(one);
        assert!(other().is_ok(), "and not after");
        drop(inherited);
    }
}
