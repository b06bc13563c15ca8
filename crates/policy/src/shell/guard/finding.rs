//! What the guard found, before anybody decides what to do about it.
//!
//! Invariant: a finding names its rule, the words that triggered it, and what would lift it.

use crate::intent::Access;
use crate::path::CleanPath;
use serde::Serialize;

/// What kind of no a finding is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A dangerous command.
    Danger,
    /// A text that the reader does not understand.
    NotUnderstood,
    /// A path outside the workspace.
    PathOutside,
}

/// The smallest change that would allow what was found.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "setting", content = "value", rename_all = "snake_case")]
pub enum Remedy {
    /// An entry of `tools.exec.custom_allow_patterns`.
    AllowPattern(String),
    /// `tools.exec.guard: "smart"`: only the text of a documented pattern matched.
    Smart,
    /// An entry of `tools.allow_read_paths`.
    ReadPath(String),
    /// An entry of `tools.allow_write_paths`.
    WritePath(String),
    /// This entry of `tools.exec.custom_deny_patterns` would have to go.
    DropDeny(String),
    /// `tools.exec.enable_deny_patterns: false`: no pattern covers it, since it belongs to no simple command.
    DenyRules,
    /// `isolation.enabled: true`: a cage holds what the text does not say.
    Cage,
    /// Write the command so that it says what it does.
    Rewrite(String),
    /// Nothing: no setting opens this to an agent.
    None,
}

/// One reason against a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// What kind of no it is.
    pub kind: Kind,
    /// The rule, as the ledger names it.
    pub rule: String,
    /// Why the rule is there.
    pub why: String,
    /// The words that triggered it.
    pub words: String,
    /// The smallest change that would allow it.
    pub remedy: Remedy,
}

impl Finding {
    /// The entry of a list of path rules that would allow exactly this path: as it is asked for, and where it leads.
    pub(super) fn path_remedy(asked: &CleanPath, landed: &CleanPath, access: Access) -> Remedy {
        let [asked, landed] = [asked, landed].map(|path| regex::escape(&path.to_string()));
        let pattern = if asked == landed { format!("^{asked}$") } else { format!("^(?:{asked}|{landed})$") };
        match access {
            Access::Write => Remedy::WritePath(pattern),
            Access::Read | Access::List => Remedy::ReadPath(pattern),
        }
    }
}
