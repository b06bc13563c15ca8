//! A tool request as it arrived, and the reply to it.
//!
//! Invariant: a call is untrusted text with a trusted subject; a reply says whether it was done.

use picoclaw_policy::{Refusal, Subject};
use serde_json::Value;

/// A tool request as it arrived: name and JSON, untrusted, on behalf of a subject.
#[derive(Debug, Clone)]
pub struct Call {
    /// The tool that is asked for.
    pub tool: String,
    /// Its arguments, as they came.
    pub arguments: Value,
    /// On whose behalf.
    pub subject: Subject,
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done; the text for the model.
    Done(String),
    /// Tried and failed; the sentence, and perhaps a hint on a line of its own.
    Failed(String),
    /// A command that ran and ended badly: how, and everything that it said.
    Ended {
        /// `Command exited with code 1`.
        how: String,
        /// The text for the model.
        text: String,
    },
    /// Refused before anything happened.
    Refused(Refusal),
    /// A person must be asked, and nobody can be.
    Unasked(Refusal),
}

impl Reply {
    /// The text that model, terminal and session see.
    pub fn text(&self) -> String {
        match self {
            Self::Done(text) | Self::Failed(text) | Self::Ended { text, .. } => text.clone(),
            Self::Refused(refusal) | Self::Unasked(refusal) => refusal.to_string(),
        }
    }

    /// The same reply with its text gone over. Refusals are made of settings and paths; they are gone over as well.
    #[must_use]
    pub fn map_text(self, over: impl Fn(String) -> String) -> Self {
        let refused = |no: Refusal| Refusal { sentence: over(no.sentence), hint: over(no.hint), ..no };
        match self {
            Self::Done(text) => Self::Done(over(text)),
            Self::Failed(text) => Self::Failed(over(text)),
            Self::Ended { how, text } => Self::Ended { how, text: over(text) },
            Self::Refused(no) => Self::Refused(refused(no)),
            Self::Unasked(no) => Self::Unasked(refused(no)),
        }
    }

    /// One line about it: what a log shows.
    pub fn sentence(&self) -> String {
        match self {
            Self::Ended { how, .. } => how.clone(),
            other => other.text().lines().next().unwrap_or_default().to_owned(),
        }
    }
}
