//! The audit log: append-only, hash-chained records, one JSON object a line.
//!
//! # Files
//! `<home>/ledger/` (0700) holds numbered segments `00000001.jsonl`, `00000002.jsonl`, … (0600) and
//! `HEAD` (0600). A segment that has reached 16 MiB is left alone and the next one continues the
//! chain; none is ever deleted. To put records away, move the whole directory.
//!
//! # A record
//! `{seq, time, phase, origin, agent, session, depth, lineage, principal, tool, intent, verdict,
//! code, rule, layer, enforced, outcome, duration_us, prev, hash}` in this order, without white
//! space, `null` where a field does not apply; records of the first version have neither `lineage`
//! nor `principal`. `seq` counts from 1 without gaps. `time` is RFC 3339 in UTC with microseconds.
//! `prev` is the `hash` of the record before, sixty-four zeros for the first. Characters that a
//! terminal would act on are written as `\uXXXX`, so that `cat` is harmless.
//!
//! # How to verify without this program
//! Take each line as bytes, without its line feed. It ends in `,"hash":"` + 64 lower-case
//! hexadecimal digits + `"}`: 75 bytes. Replace those 75 bytes by `}`. The SHA-256 of the result is
//! the `hash`. Then: each `prev` is the `hash` of the line before (across segments too), each `seq`
//! is one more than the one before, the first line of `HEAD` is the `hash` of the last record.
//!
//! # `HEAD`
//! 320 bytes, replaced by a single write: the hash of the last record on a line of its own, then
//! one JSON object `{seq, segment, length, synced, boot, kept, check}` padded with spaces. `length`
//! is the size of the segment after that record; `synced` is the last record known to be on the
//! disk; `boot` is the kernel's boot id; `kept` is there, and true, when the head is also kept in
//! `<home>/state/ledger-head`, in the same format, after its records are synced; `check` is the
//! first 16 digits of the SHA-256 of everything in `HEAD` before `,"check"`.
//!
//! # What is promised
//! - A record is *in the ledger* when the write has returned under the lock: it survives `kill -9`.
//!   It is on the disk within 100 ms, and when the [`Ledger`] is dropped or [`Ledger::sync`]
//!   returns.
//! - If it cannot be written, [`Ledger::append`] fails and nothing of it stays; the call it belongs
//!   to is refused.
//! - An incomplete last line was left by a killed writer: *torn*. The next writer removes it.
//!   Records that a power cut took (the machine was restarted since, and they had not been synced)
//!   are torn too.
//! - Anything else that does not fit is *tampered*. A writer does not continue a tail that does not
//!   fit.
//! - A ledger that lacks the record in `state/ledger-head` was emptied, rolled back or replaced. A
//!   writer refuses it until the operator accepts it.
//! - A user who may write in the instance may also rewrite everything, consistently. Only a hash
//!   kept elsewhere (`--anchor`, `ledger.anchor`) finds that.

mod accept;
mod chain;
mod chain_reader;
mod encode;
mod entry;
mod error;
mod files;
mod head;
mod outside_head;
mod reader;
mod record;
mod repair;
mod sync;
mod time;
mod verify;
mod writer;

pub use accept::{Accepted, accept};
pub use chain::{ChainHead, Hash};
pub use entry::{Entry, Phase};
pub use error::LedgerError;
pub use reader::{Reader, Records, Stored};
pub use record::Record;
pub use sync::AnchorSink;
pub use time::Timestamp;
pub use verify::{Anchor, Fault, Integrity, OutsideState, Report, verify, verify_with_head};

use crate::redact::Redactor;
use std::path::Path;
use sync::BackgroundSync;
use writer::Writer;

/// An open ledger. Shared by reference between threads; any number of processes may have the same
/// one open.
///
/// The first append starts a thread that syncs within 100 ms and sleeps otherwise. Dropping the
/// ledger syncs the rest; a program that exits through `std::process::exit` calls [`Ledger::sync`]
/// first.
#[derive(Debug)]
pub struct Ledger {
    redactor: Redactor,
    sync: BackgroundSync,
}

impl Ledger {
    /// Opens the ledger in `dir`; creates it if there is none.
    pub fn open(dir: &Path) -> Result<Self, LedgerError> {
        Ok(Self { redactor: Redactor::default(), sync: BackgroundSync::new(Writer::open(dir)?) })
    }

    /// Opens the ledger in `dir` whose head is also kept in the directory `state`; refuses one that
    /// was emptied, rolled back or replaced since.
    pub fn open_with_head(dir: &Path, state: &Path) -> Result<Self, LedgerError> {
        let writer = Writer::open_with_head(dir, state)?;
        Ok(Self { redactor: Redactor::default(), sync: BackgroundSync::new(writer) })
    }

    /// Gives each head that is on the disk to `anchor`.
    #[must_use]
    pub fn anchoring(self, anchor: AnchorSink) -> Self {
        self.sync.anchor_to(anchor);
        self
    }

    /// Removes these secrets from every text that is written.
    #[must_use]
    pub fn redacting(mut self, redactor: Redactor) -> Self {
        self.redactor = redactor;
        self
    }

    /// Begins a new segment after this many bytes, in place of 16 MiB.
    #[must_use]
    pub fn rotating_at(self, bytes: u64) -> Self {
        self.sync.writer().rotate_at(bytes.max(1));
        self
    }

    /// Appends `entries`, all of them or none: one lock, one write. When it returns `Ok`, every
    /// entry survives the end of this process.
    pub fn append(&self, entries: &[Entry]) -> Result<(), LedgerError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.sync.check()?;
        let (end, segment) = self.sync.writer().append(entries, &self.redactor)?;
        self.sync.wrote(end, segment)
    }

    /// Syncs everything that was appended to the disk.
    pub fn sync(&self) -> Result<(), LedgerError> {
        self.sync.sync()
    }
}
