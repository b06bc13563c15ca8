//! Refusals: a stable code, the documented sentence, and the setting that would allow the effect.
//!
//! Model, ledger and terminal get the same text: the sentence, then the hint on a line of its own.

use crate::credentials::holds_credentials;
use crate::intent::{Access, Target};
use crate::shell::guard::OUTSIDE as COMMAND_OUTSIDE;
use crate::subject::AgentId;
use serde_json::{Value, json};
use std::fmt;

/// Why an effect is refused. Programs match on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The path lies outside the workspace and no rule names it.
    OutsideWorkspace,
    /// A symbolic link leads out of the workspace, or out of what a rule allows.
    SymlinkEscape,
    /// The path is Protected: no setting opens it to an agent.
    Protected,
    /// A program outside executes or obeys the file, and no person has approved the write.
    ProtectedFile,
    /// A FIFO, socket, device or procfs entry: reading it could block or act.
    NotAFile,
    /// The agent's configuration switches this tool off.
    ToolDisabled,
    /// No tool has this name.
    UnknownTool,
    /// The arguments do not match the tool's schema.
    InvalidArguments,
    /// The guard found the command dangerous.
    DangerousCommand,
    /// The command names a path outside the workspace.
    CommandPathOutside,
    /// The parser does not support the command.
    CommandNotUnderstood,
    /// The URL is not a web address, contains credentials, or names a refused port.
    UrlNotAllowed,
    /// The host has a private address that no rule allows.
    HostNotAllowed,
    /// The host does not resolve.
    HostUnknown,
    /// The ledger cannot be written, so nothing is permitted.
    LedgerUnavailable,
    /// The approval was denied or timed out.
    NotApproved,
    /// A hook denied it.
    DeniedByHook,
    /// The configuration does not allow this agent to start the other.
    AgentNotAllowed,
    /// The subagent nesting limit is reached.
    TooDeep,
}

impl Code {
    /// The spelling in the ledger and in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutsideWorkspace => "outside_workspace",
            Self::SymlinkEscape => "symlink_escape",
            Self::Protected => "protected",
            Self::ProtectedFile => "protected_file",
            Self::NotAFile => "not_a_file",
            Self::ToolDisabled => "tool_disabled",
            Self::UnknownTool => "unknown_tool",
            Self::InvalidArguments => "invalid_arguments",
            Self::DangerousCommand => "dangerous_command",
            Self::CommandPathOutside => "command_path_outside",
            Self::CommandNotUnderstood => "command_not_understood",
            Self::UrlNotAllowed => "url_not_allowed",
            Self::HostNotAllowed => "host_not_allowed",
            Self::HostUnknown => "host_unknown",
            Self::LedgerUnavailable => "ledger_unavailable",
            Self::NotApproved => "not_approved",
            Self::DeniedByHook => "denied_by_hook",
            Self::AgentNotAllowed => "agent_not_allowed",
            Self::TooDeep => "too_deep",
        }
    }
}

/// The layer that refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// The tool registry: unknown tool or invalid arguments.
    Registry,
    /// The policy.
    Policy,
    /// The command guard.
    Guard,
    /// The path resolver.
    Root,
    /// The approver.
    Approver,
    /// A hook.
    Hook,
    /// The ledger.
    Ledger,
}

impl Layer {
    /// The spelling in the ledger and in JSON output.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registry => "registry",
            Self::Policy => "policy",
            Self::Guard => "guard",
            Self::Root => "root",
            Self::Approver => "approver",
            Self::Hook => "hook",
            Self::Ledger => "ledger",
        }
    }
}

/// A refusal and its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The code.
    pub code: Code,
    /// The documented sentence, verbatim.
    pub sentence: String,
    /// The rule that refused, as spelled in the ledger.
    pub rule: String,
    /// The layer that refused.
    pub layer: Layer,
    /// The narrowest setting that would allow it, or why none would.
    pub hint: String,
}

impl Refusal {
    /// A call whose arguments cannot be used.
    pub fn invalid_arguments(sentence: impl Into<String>) -> Self {
        Self {
            code: Code::InvalidArguments,
            sentence: sentence.into(),
            rule: "tools".to_owned(),
            layer: Layer::Registry,
            hint: String::new(),
        }
    }

    /// Its members for clients that have the sentence from the text.
    pub fn to_json(&self) -> Value {
        json!({"code": self.code.as_str(), "rule": self.rule, "layer": self.layer.as_str(), "hint": self.hint})
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)?;
        if !self.hint.is_empty() {
            write!(f, "\nhint: {}", self.hint)?;
        }
        Ok(())
    }
}

impl std::error::Error for Refusal {}

pub(crate) fn setting(access: Access) -> &'static str {
    match access {
        Access::Read | Access::List => "tools.allow_read_paths",
        Access::Write => "tools.allow_write_paths",
    }
}

/// The hint for a place of credentials.
pub(crate) const NO_PROPOSAL: &str = "credentials are kept there; no setting is proposed for it";

const OUTSIDE: &str = "access denied: path is outside the workspace";
const SYMLINK: &str = "access denied: symlink resolves outside workspace";

pub(crate) fn outside(access: Access, target: &Target) -> Refusal {
    let pattern = regex::escape(&target.asked.to_string());
    let hint = if holds_credentials(target.asked.as_path())
        || target.resolved.as_deref().is_some_and(holds_credentials)
    {
        NO_PROPOSAL.to_owned()
    } else {
        format!(
            "`{}`: [{}] in the configuration would allow exactly this path",
            setting(access),
            json_string(&format!("^{pattern}$"))
        )
    };
    Refusal {
        code: Code::OutsideWorkspace,
        sentence: OUTSIDE.to_owned(),
        rule: "workspace".to_owned(),
        layer: Layer::Policy,
        hint,
    }
}

pub(crate) fn symlink(target: &Target, rule: &str) -> Refusal {
    Refusal {
        code: Code::SymlinkEscape,
        sentence: SYMLINK.to_owned(),
        rule: rule.to_owned(),
        layer: Layer::Root,
        hint: format!(
            "a link on the way to `{}` leads out; name the place it leads to, and allow that",
            target.asked
        ),
    }
}

pub(crate) fn protected(target: &Target) -> Refusal {
    Refusal {
        code: Code::Protected,
        sentence: OUTSIDE.to_owned(),
        rule: "protected".to_owned(),
        layer: Layer::Policy,
        hint: format!("`{}` is protected; no setting opens it to an agent", target.asked),
    }
}

pub(crate) fn protected_file(target: &Target) -> Refusal {
    Refusal {
        code: Code::ProtectedFile,
        sentence: "access denied: programs outside the workspace execute or obey this file".to_owned(),
        rule: "isolation.protect".to_owned(),
        layer: Layer::Policy,
        hint: format!(
            "a person can approve the write in `picoclaw agent` or through the gateway; `isolation.protect` lists such files, and a list without this one allows `{}`",
            target.asked
        ),
    }
}

pub(crate) fn not_a_file(target: &Target) -> Refusal {
    Refusal {
        code: Code::NotAFile,
        sentence: "access denied: not a regular file".to_owned(),
        rule: "regular files and directories".to_owned(),
        layer: Layer::Root,
        hint: format!(
            "`{}` is a pipe, socket, device or procfs entry, and could block or act when opened",
            target.asked
        ),
    }
}

pub(crate) fn tool_disabled(tool: &str, setting: &str) -> Refusal {
    Refusal {
        code: Code::ToolDisabled,
        sentence: format!("tool {tool:?} is disabled"),
        rule: setting.to_owned(),
        layer: Layer::Policy,
        hint: format!("`{setting}` switches it off"),
    }
}

/// The rule of a question that `tools.ask` causes.
pub const ASK_RULE: &str = "tools.ask";

pub(crate) fn needs_approval(tool: &str) -> Refusal {
    Refusal {
        code: Code::NotApproved,
        sentence: format!("tool {tool:?} needs approval"),
        rule: ASK_RULE.to_owned(),
        layer: Layer::Approver,
        hint: format!("`{ASK_RULE}` names it: a person must approve each call"),
    }
}

/// `text` as a JSON string, ready to be pasted into a configuration.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// The working directory lies outside the workspace.
pub(crate) fn cwd_outside(cwd: &Target) -> Refusal {
    Refusal {
        code: Code::CommandPathOutside,
        sentence: COMMAND_OUTSIDE.to_owned(),
        rule: "working directory".to_owned(),
        layer: Layer::Policy,
        hint: format!("commands start in the workspace; `{}` is not in it", cwd.asked),
    }
}

/// The subject's agent is not configured.
pub(crate) fn no_agent(agent: &AgentId) -> Refusal {
    Refusal {
        code: Code::OutsideWorkspace,
        sentence: OUTSIDE.to_owned(),
        rule: "agents".to_owned(),
        layer: Layer::Policy,
        hint: format!("the configuration names no agent `{agent}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_begins_with_its_sentence_and_hints_on_a_line_of_its_own() {
        let no = Refusal {
            code: Code::OutsideWorkspace,
            sentence: "access denied: path is outside the workspace".to_owned(),
            rule: "workspace".to_owned(),
            layer: Layer::Policy,
            hint: "add a rule".to_owned(),
        };
        assert_eq!(no.to_string(), "access denied: path is outside the workspace\nhint: add a rule");
    }
}
