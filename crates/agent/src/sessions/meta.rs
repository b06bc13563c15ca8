//! What a session knows beside its messages.
//!
//! Invariant: it is read whole or not at all; without it the messages still are the session.

use serde::{Deserialize, Serialize};

/// `<name>.meta.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Meta {
    /// The session's name as it was given.
    #[serde(default)]
    pub key: String,
    /// What was said in the messages that are not sent any more.
    #[serde(default)]
    pub summary: String,
    /// How many messages at the beginning are not sent any more.
    #[serde(default)]
    pub skip: u64,
    /// When the session began.
    #[serde(default)]
    pub created_at: String,
}
