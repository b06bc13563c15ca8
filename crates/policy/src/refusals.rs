//! The refusals of the desk: documented sentences, and hints that can be pasted into a configuration.
//!
//! Invariant: a sentence that the documentation promises stands here, once, to the letter.

use crate::intent::{Access, Target};
use crate::refusal::{Code, Layer, Refusal};
use crate::shell::guard::OUTSIDE as COMMAND_OUTSIDE;
use crate::subject::AgentId;

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
        layer: Layer::Desk,
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
        layer: Layer::Desk,
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
        layer: Layer::Desk,
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
        layer: Layer::Desk,
        hint: format!("commands start in the workspace; `{}` is not in it", cwd.asked),
    }
}

/// A subject that the configuration does not know.
pub(crate) fn no_agent(agent: &AgentId) -> Refusal {
    Refusal {
        code: Code::OutsideWorkspace,
        sentence: OUTSIDE.to_owned(),
        rule: "agents".to_owned(),
        layer: Layer::Desk,
        hint: format!("the configuration names no agent `{agent}`"),
    }
}
