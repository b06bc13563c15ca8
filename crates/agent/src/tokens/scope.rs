//! What a token may do. No scope includes another.

use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

/// One thing that a token may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Run turns.
    Chat,
    /// Read events, records, sessions, jobs and questions.
    Watch,
    /// Answer questions.
    Approve,
    /// Reload the configuration.
    Admin,
}

/// Every scope.
pub const ALL_SCOPES: [Scope; 4] = [Scope::Chat, Scope::Watch, Scope::Approve, Scope::Admin];

/// A set of scopes.
pub type Scopes = BTreeSet<Scope>;

/// A text that names no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a scope; there are `chat`, `watch`, `approve` and `admin`")]
pub struct UnknownScope(String);

impl Scope {
    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Watch => "watch",
            Self::Approve => "approve",
            Self::Admin => "admin",
        }
    }
}

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        let found = ALL_SCOPES.into_iter().find(|scope| scope.as_str() == text);
        found.ok_or_else(|| UnknownScope(text.to_owned()))
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
