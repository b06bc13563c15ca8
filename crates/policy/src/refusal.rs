//! A no: a stable code, the documented sentence, and what would make it a yes.
//!
//! Invariant: one text for model, ledger and terminal; it begins with the sentence, the hint has its own line.

use crate::intent::{Access, Target};
use crate::shell::guard::OUTSIDE as COMMAND_OUTSIDE;
use crate::subject::AgentId;
use std::fmt;

/// Why something is refused; programs match on this.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The path lies outside the workspace and no rule names it.
    OutsideWorkspace,
    /// A symbolic link leads out of the workspace, or out of what a rule allows.
    SymlinkEscape,
    /// The path is Protected: no setting opens it to an agent.
    Protected,
    /// A FIFO, socket, device or procfs entry: reading it could block or act.
    NotAFile,
    /// The agent's configuration switches this tool off.
    ToolDisabled,
    /// There is no such tool.
    UnknownTool,
    /// The arguments do not fit the tool's schema.
    InvalidArguments,
    /// A command that the guard names dangerous.
    DangerousCommand,
    /// A command that names a path outside the workspace.
    CommandPathOutside,
    /// A command that the reader does not understand.
    CommandNotUnderstood,
    /// The address is none of the web, holds a password, or names a port of other services.
    UrlNotAllowed,
    /// The host is not on the public internet, and no rule names it.
    HostNotAllowed,
    /// The host has no address.
    HostUnknown,
    /// The ledger cannot be written, so nothing is permitted.
    LedgerUnavailable,
    /// A person was asked and did not say yes.
    NotApproved,
    /// A hook objected.
    DeniedByHook,
    /// The configuration does not let this agent start that one.
    AgentNotAllowed,
    /// Too many subagents lie between this one and a person.
    TooDeep,
}

impl Code {
    /// The spelling in the ledger and in answers to programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::OutsideWorkspace => "outside_workspace",
            Self::SymlinkEscape => "symlink_escape",
            Self::Protected => "protected",
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

/// Which part of the house said no.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Layer {
    /// The tools registry: the call itself was not well formed.
    Registry,
    /// The policy, on the path or the tool.
    Policy,
    /// The command guard.
    Guard,
    /// The path resolver: the kernel's own answer.
    Root,
    /// The cage around a child.
    Cage,
    /// The write fence around a child.
    Fence,
    /// A person.
    Approver,
    /// A hook.
    Hook,
    /// The ledger.
    Ledger,
}

impl Layer {
    /// The spelling in the ledger and in answers to programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Registry => "hall",
            Self::Policy => "desk",
            Self::Guard => "guard",
            Self::Root => "root",
            Self::Cage => "cage",
            Self::Fence => "fence",
            Self::Approver => "approver",
            Self::Hook => "hook",
            Self::Ledger => "ledger",
        }
    }
}

/// A no with its reasons.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// The stable code.
    pub code: Code,
    /// The documented sentence, to the letter.
    pub sentence: String,
    /// The rule that refused, as the ledger names it.
    pub rule: String,
    /// The layer that refused.
    pub layer: Layer,
    /// The smallest setting that would allow it, or why none would.
    pub hint: String,
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

const OUTSIDE: &str = "access denied: path is outside the workspace";
const SYMLINK: &str = "access denied: symlink resolves outside workspace";

pub(crate) fn outside(access: Access, target: &Target) -> Refusal {
    let pattern = regex::escape(&target.asked.to_string());
    Refusal {
        code: Code::OutsideWorkspace,
        sentence: OUTSIDE.to_owned(),
        rule: "workspace".to_owned(),
        layer: Layer::Policy,
        hint: format!(
            "`{}`: [{}] in the configuration would allow exactly this path",
            setting(access),
            json_string(&format!("^{pattern}$"))
        ),
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

/// `text` as a JSON string, so that a hint can be pasted into a configuration as it stands.
fn json_string(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A command that would start outside.
pub(crate) fn cwd_outside(cwd: &Target) -> Refusal {
    Refusal {
        code: Code::CommandPathOutside,
        sentence: COMMAND_OUTSIDE.to_owned(),
        rule: "working directory".to_owned(),
        layer: Layer::Policy,
        hint: format!("commands start in the workspace; `{}` is not in it", cwd.asked),
    }
}

/// A subject that the configuration does not know.
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
