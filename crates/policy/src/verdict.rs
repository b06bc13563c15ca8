//! The judgement on one intent.
//!
//! Invariant: closed on purpose; whoever reads a verdict answers all three.

use crate::refusal::Refusal;
use crate::zone::Zone;

/// The judgement on one [`Intent`](crate::Intent).
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "a verdict nobody reads protects nobody"]
pub enum Verdict {
    /// Proceed, within these bounds and no others.
    Allow(Grant),
    /// A person must say yes first.
    Ask(Question),
    /// No, and why: told to the model, written in the ledger.
    Deny(Refusal),
}

/// The bounds of a yes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grant {
    /// The region that the effect stays in.
    pub zone: Zone,
    /// The rule that allowed it, as the ledger names it.
    pub rule: String,
}

/// What a person is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// What would happen, in full: the exact command or path.
    pub text: String,
    /// Why it is asked: the refusal that a no will be.
    pub refusal: Refusal,
    /// The bounds of a yes.
    pub grant: Grant,
}
