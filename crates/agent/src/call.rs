//! A tool call and its reply.

use picoclaw_policy::{Refusal, Subject};
use serde_json::Value;

/// A tool call as it arrived: untrusted name and JSON, on behalf of a trusted subject.
#[derive(Debug, Clone)]
pub struct Call {
    /// The name of the tool.
    pub tool: String,
    /// Its arguments, unchecked.
    pub arguments: Value,
    /// On whose behalf.
    pub subject: Subject,
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Done; the text for the model.
    Done(String),
    /// Tried and failed; the sentence, and perhaps a hint on a line of its own.
    Failed(String),
    /// A command that ran and failed: how it ended, and its output.
    Ended {
        /// `Command exited with code 1`.
        how: String,
        /// The text for the model.
        text: String,
    },
    /// Refused before it took effect.
    Refused(Refusal),
    /// It needs approval, and no person can be asked.
    NeedsApproval(Refusal),
}

impl Reply {
    /// The text that model, terminal and session see.
    pub fn text(&self) -> String {
        match self {
            Self::Done(text) | Self::Failed(text) | Self::Ended { text, .. } => text.clone(),
            Self::Refused(refusal) | Self::NeedsApproval(refusal) => refusal.to_string(),
        }
    }

    /// The reply with every text replaced by `map` of it, also in refusals: they quote settings and
    /// paths.
    #[must_use]
    pub fn map_text(self, map: impl Fn(String) -> String) -> Self {
        let refused = |no: Refusal| Refusal { sentence: map(no.sentence), hint: map(no.hint), ..no };
        match self {
            Self::Done(text) => Self::Done(map(text)),
            Self::Failed(text) => Self::Failed(map(text)),
            Self::Ended { how, text } => Self::Ended { how, text: map(text) },
            Self::Refused(no) => Self::Refused(refused(no)),
            Self::NeedsApproval(no) => Self::NeedsApproval(refused(no)),
        }
    }

    /// A summary of one line, for logs.
    pub fn sentence(&self) -> String {
        match self {
            Self::Ended { how, .. } => how.clone(),
            other => other.text().lines().next().unwrap_or_default().to_owned(),
        }
    }
}
