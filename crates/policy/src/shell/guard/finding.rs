//! Findings of the guard: the rule, the words that triggered it, and the remedy.

use crate::credentials::holds_credentials;
use crate::intent::Access;
use crate::path::CleanPath;
use crate::refusal::NO_PROPOSAL;
use serde::Serialize;

/// The kind of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A dangerous command.
    Danger,
    /// A text that the parser refuses.
    NotUnderstood,
    /// A path outside the workspace.
    PathOutside,
}

/// The smallest change that would allow the command.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(tag = "setting", content = "value", rename_all = "snake_case")]
pub enum Remedy {
    /// An entry of `tools.exec.custom_allow_patterns`, for this simple command in this directory.
    AllowPattern(String),
    /// An entry of `tools.allow_read_paths`.
    ReadPath(String),
    /// An entry of `tools.allow_write_paths`.
    WritePath(String),
    /// Removing this entry of `tools.exec.custom_deny_patterns`.
    DropDeny(String),
    /// `tools.exec.guard: "smart"`: only the text of a documented pattern matched.
    Smart,
    /// `tools.exec.on_block: "ask"`: a pattern would allow more than this command.
    Ask,
    /// `isolation.enabled: true`: a cage confines what the text does not show.
    Cage,
    /// Rewriting the command more plainly.
    Rewrite(String),
    /// None: no setting allows this.
    None,
}

impl Remedy {
    /// The pattern to add or to remove.
    pub(super) fn pattern(&self) -> Option<&str> {
        match self {
            Self::AllowPattern(pattern)
            | Self::ReadPath(pattern)
            | Self::WritePath(pattern)
            | Self::DropDeny(pattern) => Some(pattern),
            _ => None,
        }
    }
}

/// One reason against a command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// Its kind.
    pub kind: Kind,
    /// The rule, as spelled in the ledger.
    pub rule: String,
    /// The reason for the rule.
    pub why: String,
    /// The words that triggered it.
    pub words: String,
    /// The smallest change that would allow it.
    pub remedy: Remedy,
}

impl Finding {
    pub(super) fn new(
        kind: Kind,
        rule: impl Into<String>,
        why: impl Into<String>,
        words: impl Into<String>,
        remedy: Remedy,
    ) -> Self {
        Self { kind, rule: rule.into(), why: why.into(), words: words.into(), remedy }
    }

    /// A pattern of the operator that matches these words.
    pub(super) fn custom(pattern: &str, words: &str) -> Self {
        let (rule, remedy) =
            (format!("custom_deny_patterns:{pattern}"), Remedy::DropDeny(pattern.to_owned()));
        Self::new(Kind::Danger, rule, "a pattern of the configuration matches", words, remedy)
    }

    /// The path rule that would allow exactly this path: as requested, and as resolved.
    pub(super) fn path_remedy(asked: &CleanPath, landed: &CleanPath, access: Access) -> Remedy {
        if [asked, landed].iter().any(|path| holds_credentials(path.as_path())) {
            return Remedy::Rewrite(NO_PROPOSAL.to_owned());
        }
        let [asked, landed] = [asked, landed].map(|path| regex::escape(&path.to_string()));
        let pattern = if asked == landed { format!("^{asked}$") } else { format!("^(?:{asked}|{landed})$") };
        match access {
            Access::Write => Remedy::WritePath(pattern),
            Access::Read | Access::List => Remedy::ReadPath(pattern),
        }
    }
}
