//! Syncs what was appended on a background thread, within 100 ms.
//!
//! After a failed sync nothing more is appended: the ledger cannot know which records the disk
//! lost.

use super::chain::ChainHead;
use super::error::LedgerError;
use super::head::Head;
use super::writer::Writer;
use std::fmt;
use std::fs::File;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Duration;

/// How long records gather before they are synced: half of what is promised, the rest is for the
/// disk.
const SYNC_INTERVAL: Duration = Duration::from_millis(50);

/// A writer with its sync thread, which the first append starts.
pub(super) struct BackgroundSync {
    shared: Arc<Shared>,
}

impl fmt::Debug for BackgroundSync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BackgroundSync").finish_non_exhaustive()
    }
}

struct Shared {
    writer: Mutex<Writer>,
    /// One sync at a time: a second caller must not return while the first is still syncing.
    gate: Mutex<()>,
    state: Mutex<SyncState>,
    wake: Condvar,
    /// Gets each head that is on the disk.
    anchor: OnceLock<AnchorSink>,
}

/// Takes a head to where the ledger cannot be rewritten.
pub type AnchorSink = Box<dyn Fn(ChainHead) + Send + Sync>;

#[derive(Debug, Default)]
struct SyncState {
    /// The end of what is not synced, and its file. Kept here because the lock on the writer may be
    /// held for long.
    unsynced: Option<(Head, Arc<File>)>,
    closing: bool,
    thread: Option<JoinHandle<()>>,
    failure: Option<String>,
}

/// Locks although another thread panicked: the state of the ledger is checked against its files
/// each time.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl BackgroundSync {
    pub(super) fn new(writer: Writer) -> Self {
        let shared = Shared {
            writer: Mutex::new(writer),
            gate: Mutex::new(()),
            state: Mutex::new(SyncState::default()),
            wake: Condvar::new(),
            anchor: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Gives each head that is on the disk to `anchor`.
    pub(super) fn anchor_to(&self, anchor: AnchorSink) {
        let _ = self.shared.anchor.set(anchor);
    }

    pub(super) fn writer(&self) -> MutexGuard<'_, Writer> {
        lock(&self.shared.writer)
    }

    /// Fails once a sync has failed.
    pub(super) fn check(&self) -> Result<(), LedgerError> {
        let failure = lock(&self.shared.state).failure.clone();
        match failure {
            None => Ok(()),
            Some(what) => Err(LedgerError::Unsynced { path: self.writer().path().to_owned(), what }),
        }
    }

    /// Notes that everything up to `end` in `segment` is to be synced.
    pub(super) fn wrote(&self, end: Head, segment: Arc<File>) -> Result<(), LedgerError> {
        let mut state = lock(&self.shared.state);
        // Threads may come here in another order than they wrote in.
        if state.unsynced.as_ref().is_none_or(|(last, _)| last.last.seq < end.last.seq) {
            state.unsynced = Some((end, segment));
        }
        if state.thread.is_some() {
            self.shared.wake.notify_one();
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let thread = Builder::new().name("ledger-sync".to_owned()).stack_size(64 << 10);
        match thread.spawn(move || shared.sync_until_closed()) {
            Ok(thread) => {
                state.thread = Some(thread);
                Ok(())
            }
            // Without a thread the append itself syncs.
            Err(_) => {
                drop(state);
                self.sync()
            }
        }
    }

    pub(super) fn sync(&self) -> Result<(), LedgerError> {
        self.shared.sync()
    }
}

impl Drop for BackgroundSync {
    fn drop(&mut self) {
        let thread = {
            let mut state = lock(&self.shared.state);
            state.closing = true;
            state.thread.take()
        };
        self.shared.wake.notify_all();
        if let Some(thread) = thread {
            let _ = thread.join();
        }
        // A failure cannot be reported any more; `verify` will call a lost tail torn.
        let _ = self.shared.sync();
    }
}

impl Shared {
    fn sync_until_closed(&self) {
        let mut state = lock(&self.state);
        let mut warned = false;
        loop {
            let idle = self.wake.wait_while(state, |state| state.unsynced.is_none() && !state.closing);
            state = idle.unwrap_or_else(PoisonError::into_inner);
            let gathered = self.wake.wait_timeout_while(state, SYNC_INTERVAL, |state| !state.closing);
            state = gathered.unwrap_or_else(PoisonError::into_inner).0;
            if state.closing {
                return;
            }
            drop(state);
            if let Err(error) = self.sync().inspect(|()| warned = false)
                && !std::mem::replace(&mut warned, true)
            {
                tracing::warn!(target: "ledger", "{error}");
            }
            state = lock(&self.state);
        }
    }

    fn sync(&self) -> Result<(), LedgerError> {
        let _gate = lock(&self.gate);
        let Some((end, segment)) = lock(&self.state).unsynced.take() else { return Ok(()) };
        if let Err(error) = segment.sync_data() {
            lock(&self.state).failure = Some(error.to_string());
            let path = lock(&self.writer).path().to_owned();
            return Err(LedgerError::Unsynced { path, what: error.to_string() });
        }
        if let Err(error) = lock(&self.writer).note_synced(&end) {
            // The records are on the disk. Their head is written with the next sync.
            lock(&self.state).unsynced.get_or_insert((end, segment));
            return Err(error);
        }
        if let Some(anchor) = self.anchor.get() {
            anchor(end.last);
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test arranges its files by path")]
mod tests {
    use super::*;
    use crate::ledger::entry::Entry;
    use crate::redact::Redactor;
    use picoclaw_policy::{AgentId, Grant, Origin, Subject, Verdict};
    use std::os::fd::OwnedFd;

    #[test]
    fn a_head_that_could_not_be_kept_outside_is_kept_by_a_later_sync() {
        let place = tempfile::tempdir().unwrap();
        let (dir, state) = (place.path().join("ledger"), place.path().join("state"));
        let aside = place.path().join("aside");
        std::fs::create_dir(&state).unwrap();
        let syncing = BackgroundSync::new(Writer::open_with_head(&dir, &state).unwrap());
        let subject = Subject::root(Origin::Cli, AgentId::main(), "test");
        let allowed = Verdict::Allow(Grant { rule: "test".to_owned() });
        let entry = Entry::decided(&subject, "exec", "echo", &allowed);
        let (end, segment) = syncing.writer().append(&[entry], &Redactor::default()).unwrap();
        lock(&syncing.shared.state).unsynced = Some((end, segment));
        let head = state.join("ledger-head");
        std::fs::rename(&head, &aside).unwrap();
        std::fs::create_dir(&head).unwrap();
        assert!(syncing.sync().is_err());
        assert!(syncing.sync().is_err(), "it is not forgotten");
        std::fs::remove_dir(&head).unwrap();
        std::fs::rename(&aside, &head).unwrap();
        let before = std::fs::read(&head).unwrap();
        syncing.sync().unwrap();
        assert_ne!(std::fs::read(&head).unwrap(), before);
    }

    #[test]
    fn after_a_failed_sync_nothing_more_is_appended() {
        let home = tempfile::tempdir().unwrap();
        let syncing = BackgroundSync::new(Writer::open(home.path()).unwrap());
        // A pipe cannot be synced: the kernel's answer stands for a disk that fails.
        let (_read, write) = std::io::pipe().unwrap();
        lock(&syncing.shared.state).unsynced =
            Some((Head::first(""), Arc::new(File::from(OwnedFd::from(write)))));
        assert!(syncing.check().is_ok(), "the control: nothing failed yet");
        assert!(syncing.sync().unwrap_err().to_string().contains("ledger"));
        assert!(matches!(syncing.check(), Err(LedgerError::Unsynced { .. })));
    }
}
