//! The judgement on one intent.

use crate::refusal::Refusal;
use crate::zone::Zone;

/// The judgement on one [`Intent`](crate::Intent).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub enum Verdict {
    /// Proceed within these bounds.
    Allow(Grant),
    /// A person must approve first.
    Ask(Question),
    /// Refused. The text goes to the model and into the ledger.
    Deny(Refusal),
}

/// The bounds of a permission.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The zone that the effect stays in.
    pub zone: Zone,
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
    /// The bounds if the answer is yes.
    pub grant: Grant,
}
