//! The judgement on one intent.

use crate::refusal::Refusal;

/// The judgement on one [`Intent`](crate::Intent).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Proceed.
    Allow(Grant),
    /// A person must approve first.
    Ask(Question),
    /// Refused. The text goes to the model and into the ledger.
    Deny(Refusal),
}

/// A permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The rule that allowed it, as spelled in the ledger.
    pub rule: String,
}

/// What a person is asked to approve.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// The exact command or path.
    pub text: String,
    /// The refusal if the answer is no.
    pub refusal: Refusal,
}
