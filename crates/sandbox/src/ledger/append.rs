//! The ledger as the rest of the house sees it.
//!
//! Invariant: when [`Ledger::append`] returns `Ok`, every entry survives the end of this process.

use super::entry::Entry;
use super::error::LedgerError;
use super::sync::Syncing;
use super::writer::Writer;
use crate::redact::Redactor;
use std::path::Path;

/// An open ledger. Shared by reference between threads; any number of processes may have the same one open.
///
/// The first append starts a thread that syncs within 100 ms and sleeps otherwise. Dropping the ledger syncs
/// what is left; a program that leaves through `std::process::exit` calls [`Ledger::sync`] first.
#[derive(Debug)]
pub struct Ledger {
    redactor: Redactor,
    syncing: Syncing,
}

impl Ledger {
    /// Opens the ledger in `dir`, and makes it if there is none.
    pub fn open(dir: &Path) -> Result<Self, LedgerError> {
        Ok(Self { redactor: Redactor::default(), syncing: Syncing::new(Writer::open(dir)?) })
    }

    /// Takes these secrets out of every text that is written.
    #[must_use]
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Begins a new segment after this many bytes, in place of 16 MiB.
    #[must_use]
    pub fn rotating_at(self, bytes: u64) -> Self {
        self.syncing.writer().rotate_at(bytes.max(1));
        self
    }

    /// Adds `entries`, all of them or none: one lock, one write.
    pub fn append(&self, entries: &[Entry]) -> Result<(), LedgerError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.syncing.check()?;
        let (seq, segment) = self.syncing.writer().append(entries, &self.redactor)?;
        self.syncing.wrote(seq, segment)
    }

    /// Adds `entries` for a caller that calls [`Ledger::sync`] or drops the ledger at once, and so needs no thread for it.
    pub(crate) fn append_and_sync_soon(&self, entries: &[Entry]) -> Result<(), LedgerError> {
        self.syncing.check()?;
        let (seq, segment) = self.syncing.writer().append(entries, &self.redactor)?;
        self.syncing.note(seq, segment);
        Ok(())
    }

    /// Brings everything that was appended onto the disk.
    pub fn sync(&self) -> Result<(), LedgerError> {
        self.syncing.sync()
    }
}
