//! The port that puts a question to a person.
//!
//! Invariant: an answer is bound to the content that was shown; silence is a no.

use picoclaw_policy::Question;

/// What a person said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Answer {
    /// Yes, this one time.
    Once,
    /// Yes, and for the same content again in this session.
    Session,
    /// No.
    No,
}

/// Somebody who can be asked, or nobody.
pub trait Approver {
    /// Asks, if somebody is there: `None` means that nobody could be asked at all.
    fn ask(&self, question: &Question) -> Option<Answer>;
}

/// The approver of a porch without a person.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Approver for Nobody {
    fn ask(&self, _question: &Question) -> Option<Answer> {
        None
    }
}
