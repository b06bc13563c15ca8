//! Permits: the authority for one effect, and the record of its outcome.
//!
//! A permit moves and is never copied. Spent or dropped, it leaves exactly one closing record.

use crate::act::Facts;
use crate::ledger::{Entry, Ledger};
use picoclaw_policy::Intent;
use std::fmt::Display;
use std::sync::Arc;
use std::time::Instant;

mod sealed {
    pub trait Sealed {}
}
pub(crate) use sealed::Sealed;

/// An effect: what the policy judges, and what a permit for it carries.
pub trait Effect: Sealed {
    /// The effect as facts.
    fn intent(&self) -> Intent;

    /// What the kernel will enforce on it, layer by layer; nothing for effects of this process
    /// itself.
    fn enforced(&self) -> Vec<String> {
        Vec::new()
    }

    /// What a person is shown of it beside the arguments.
    fn facts(&self) -> Facts {
        Facts::default()
    }
}

/// What a person decided. It is bound to the act that was shown; no answer counts as a no.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Approval {
    /// Yes, this one time.
    Once,
    /// Yes, and for the same act again in this session.
    Session,
    /// Yes, and for the same act again in every session, until the rule is revoked.
    Always,
    /// No.
    No,
}

/// A person's answer to a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// What was decided.
    pub approval: Approval,
    /// Who decided, for the ledger.
    pub by: String,
    /// Why not, for the model.
    pub reason: Option<String>,
}

impl Answer {
    /// An answer without a reason.
    pub fn new(approval: Approval, by: impl Into<String>) -> Self {
        Self { approval, by: by.into(), reason: None }
    }
}

/// The authority for one effect.
#[must_use = "a permit that is dropped is recorded as abandoned"]
#[derive(Debug)]
pub struct Permit<E: Effect> {
    effect: E,
    outcome: OutcomeGuard,
}

impl<E: Effect> Permit<E> {
    /// Only the warden calls this, after the *decided* record has been written.
    pub(crate) fn mint(effect: E, ledger: Arc<Ledger>, decided: Entry) -> Self {
        Self { effect, outcome: OutcomeGuard::new(ledger, decided) }
    }

    /// The effect, and the guard that records its outcome.
    pub(crate) fn spend(self) -> (E, OutcomeGuard) {
        (self.effect, self.outcome)
    }
}

/// Writes the closing record of an effect. Dropped unsettled, it records *abandoned*.
#[derive(Debug)]
pub(crate) struct OutcomeGuard {
    ledger: Arc<Ledger>,
    decided: Option<Box<Entry>>,
    began: Instant,
}

impl OutcomeGuard {
    pub(crate) fn new(ledger: Arc<Ledger>, decided: Entry) -> Self {
        Self { ledger, decided: Some(Box::new(decided)), began: Instant::now() }
    }

    /// The ledger and the record of the decision, for records of what the same effect causes.
    pub(crate) fn record(&self) -> Option<(&Arc<Ledger>, &Entry)> {
        Some((&self.ledger, self.decided.as_deref()?))
    }

    /// Records the result, success or error, and passes it on.
    pub(crate) fn settle<T, E: Display>(self, result: Result<T, E>) -> Result<T, E> {
        match &result {
            Ok(_) => self.settle_as("ok"),
            Err(why) => self.settle_as(&why.to_string()),
        }
        result
    }

    /// Records an outcome in the ledger's words.
    pub(crate) fn settle_as(mut self, outcome: &str) {
        if let Some(decided) = self.decided.take() {
            self.close(decided.finished(outcome, self.began.elapsed()));
        }
    }

    fn close(&self, closing: Entry) {
        if let Err(why) = self.ledger.append(&[closing]) {
            // The effect has happened, and its *decided* record exists; only its outcome is
            // missing.
            tracing::error!(target: "ledger", error = %why, "Outcome not recorded");
        }
    }
}

impl Drop for OutcomeGuard {
    fn drop(&mut self) {
        if let Some(decided) = self.decided.take() {
            self.close(decided.abandoned());
        }
    }
}
