//! Onto the disk, behind the caller's back but not out of its sight.
//!
//! Invariant: what was appended is synced within 100 ms, and after a failed sync nothing more is appended.

use super::error::LedgerError;
use super::writer::Writer;
use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How long records gather before they are synced: half of what is promised, the rest is for the disk.
const GATHER: Duration = Duration::from_millis(50);

/// A writer with its sync thread.
#[derive(Debug)]
pub(super) struct Syncing {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    writer: Mutex<Writer>,
    /// One sync at a time: a second caller must not return while the first is still at it.
    gate: Mutex<()>,
    pace: Mutex<Pace>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Pace {
    /// The last record that was written, and the file it is in, until it is synced.
    ///
    /// Kept here and not looked up in the writer: a busy writer's lock may be long in coming.
    written: Option<(u64, Arc<File>)>,
    /// Whether the thread was told of it.
    announced: bool,
    closing: bool,
    thread: Option<JoinHandle<()>>,
    failure: Option<String>,
}

/// A panic elsewhere does not make the ledger's own state wrong: it is checked against the files each time.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Pace {
    /// Keeps what there is to sync; whether there was something before.
    fn note(&mut self, seq: u64, segment: Arc<File>) -> bool {
        match &mut self.written {
            // Threads may come here in another order than they wrote in.
            Some(written) if written.0 >= seq => true,
            Some(written) => {
                *written = (seq, segment);
                true
            }
            None => {
                self.written = Some((seq, segment));
                false
            }
        }
    }
}

impl Syncing {
    pub(super) fn new(writer: Writer) -> Self {
        let shared = Shared {
            writer: Mutex::new(writer),
            gate: Mutex::new(()),
            pace: Mutex::new(Pace::default()),
            wake: Condvar::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        held(&self.shared.writer)
    }

    /// Fails once a sync has failed: what the disk lost cannot be told from what it kept.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        let failure = held(&self.shared.pace).failure.clone();
        match failure {
            None => Ok(()),
            Some(what) => Err(LedgerError::Unsynced { path: self.writer().path().to_owned(), what }),
        }
    }

    /// Says that there is something to sync, which the caller will see to.
    pub(super) fn note(&self, seq: u64, segment: Arc<File>) {
        let mut pace = held(&self.shared.pace);
        pace.note(seq, segment);
        pace.announced = false;
    }

    /// Says that there is something to sync; starts the thread at the first time.
    pub(super) fn wrote(&self, seq: u64, segment: Arc<File>) -> Result<(), LedgerError> {
        let mut pace = held(&self.shared.pace);
        let before = pace.note(seq, segment) && pace.announced;
        pace.announced = true;
        if pace.thread.is_some() {
            if !before {
                self.shared.wake.notify_one();
            }
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        match Builder::new()
            .name("ledger-sync".to_owned())
            .stack_size(64 << 10)
            .spawn(move || shared.keep_syncing())
        {
            Ok(thread) => {
                pace.thread = Some(thread);
                Ok(())
            }
            // No thread to be had: the promise is kept on the spot, more slowly.
            Err(_) => {
                drop(pace);
                self.sync()
            }
        }
    }

    pub(super) fn sync(&self) -> Result<(), LedgerError> {
        self.shared.sync()
    }
}

impl Drop for Syncing {
    fn drop(&mut self) {
        let thread = {
            let mut pace = held(&self.shared.pace);
            pace.closing = true;
            pace.thread.take()
        };
        self.shared.wake.notify_all();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        // Nobody is left to hear of a failure; `verify` will call a lost tail torn.
        let _ = self.shared.sync();
    }
}

impl Shared {
    fn keep_syncing(&self) {
        let mut pace = held(&self.pace);
        loop {
            while pace.written.is_none() && !pace.closing {
                pace = self.wake.wait(pace).unwrap_or_else(PoisonError::into_inner);
            }
            let gathered = self.wake.wait_timeout_while(pace, GATHER, |pace| !pace.closing);
            pace = gathered.unwrap_or_else(PoisonError::into_inner).0;
            if pace.closing {
                return;
            }
            drop(pace);
            // A failure is kept, and the next append tells it.
            let _ = self.sync();
            pace = held(&self.pace);
        }
    }

    fn sync(&self) -> Result<(), LedgerError> {
        let _alone = held(&self.gate);
        let Some((seq, segment)) = held(&self.pace).written.take() else { return Ok(()) };
        if let Err(error) = segment.sync_data() {
            held(&self.pace).failure = Some(error.to_string());
            let path = held(&self.writer).path().to_owned();
            return Err(LedgerError::Unsynced { path, what: error.to_string() });
        }
        held(&self.writer).note_synced(seq)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::OwnedFd;

    #[test]
    fn after_a_failed_sync_nothing_more_is_appended() {
        let home = tempfile::tempdir().unwrap();
        let syncing = Syncing::new(Writer::open(home.path()).unwrap());
        // A pipe cannot be synced: the kernel's answer stands for a disk that fails.
        let (_read, write) = std::io::pipe().unwrap();
        held(&syncing.shared.pace).written = Some((1, Arc::new(File::from(OwnedFd::from(write)))));
        assert!(syncing.check().is_ok(), "the control: nothing failed yet");
        assert!(syncing.sync().unwrap_err().to_string().contains("ledger"));
        assert!(matches!(syncing.check(), Err(LedgerError::Unsynced { .. })));
    }
}
