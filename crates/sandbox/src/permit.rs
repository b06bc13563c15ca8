//! Keys: one permit for one effect, and the record of how it went.
//!
//! Invariant: a permit moves and never copies; spent or dropped, it leaves exactly one closing record.

use crate::ledger::{Entry, Ledger};
use picoclaw_policy::{Grant, Intent};
use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

mod sealed {
    pub trait Sealed {}
}
pub(crate) use sealed::Sealed;

/// A kind of effect: what the desk judges, and what a permit for it carries.
pub trait Kind: Sealed {
    /// The effect as facts.
    fn intent(&self) -> Intent;

    /// What the kernel will hold of it, layer by layer; nothing for effects of this process itself.
    fn enforced(&self) -> Vec<String> {
        Vec::new()
    }
}

/// A key for one effect, inside the bounds of its grant.
#[must_use = "a permit that is dropped is recorded as abandoned"]
#[derive(Debug)]
pub struct Permit<K: Kind> {
    kind: K,
    grant: Grant,
    settling: Settling,
}

impl<K: Kind> Permit<K> {
    /// Only the warden calls this, after the *decided* record has been written.
    pub(crate) fn mint(kind: K, grant: Grant, ledger: Arc<Ledger>, decided: Entry) -> Self {
        Self { kind, grant, settling: Settling::new(ledger, decided) }
    }

    /// The bounds of the yes.
    pub fn grant(&self) -> &Grant {
        &self.grant
    }

    /// Takes the key apart: the thing it opens, and the duty to say how it went.
    pub(crate) fn spend(self) -> (K, Settling) {
        (self.kind, self.settling)
    }
}

/// The duty to record how an effect went. Dropped unsettled, it records *abandoned*.
#[derive(Debug)]
pub(crate) struct Settling {
    ledger: Arc<Ledger>,
    decided: Option<Entry>,
    began: Instant,
}

impl Settling {
    pub(crate) fn new(ledger: Arc<Ledger>, decided: Entry) -> Self {
        Self { ledger, decided: Some(decided), began: Instant::now() }
    }

    /// Records the outcome, good or bad, and hands it on.
    pub(crate) fn settle<T, E: Display>(self, outcome: Result<T, E>) -> Result<T, E> {
        match &outcome {
            Ok(_) => self.settle_as("ok"),
            Err(why) => self.settle_as(&why.to_string()),
        }
        outcome
    }

    /// Records an outcome that is neither plainly good nor plainly bad.
    pub(crate) fn settle_as(mut self, outcome: &str) {
        if let Some(decided) = self.decided.take() {
            self.close(decided.finished(outcome, self.began.elapsed()));
        }
    }

    fn close(&self, closing: Entry) {
        if let Err(why) = self.ledger.append(&[closing]) {
            // The effect has happened and was announced in the ledger; only its outcome is missing there.
            tracing::error!(target: "ledger", error = %why, "Outcome not recorded");
        }
    }
}

impl Drop for Settling {
    fn drop(&mut self) {
        if let Some(decided) = self.decided.take() {
            self.close(decided.abandoned());
        }
    }
}
