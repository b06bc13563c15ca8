//! The metadata of a session.

use serde::{Deserialize, Serialize};

/// `<name>.meta.json`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Meta {
    /// The session's name.
    #[serde(default)]
    pub key: String,
    /// The summary of the messages that are not sent any more.
    #[serde(default)]
    pub summary: String,
    /// How many lines at the beginning are not sent any more.
    #[serde(default)]
    pub skip: u64,
    /// When the session was created.
    #[serde(default)]
    pub created_at: String,
}
