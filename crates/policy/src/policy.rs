//! The compiled rules, and the judgement on files.
//!
//! Invariant: a policy is a value; it is replaced whole and never changed.

use crate::intent::{Access, FileKind, Intent, Landing, Link, LinkOwner, Target};
use crate::path::CleanPath;
use crate::refusal::{Code, Layer, Refusal};
use crate::rules::PathRules;
use crate::subject::{AgentId, Subject};
use crate::verdict::{Grant, Verdict};
use crate::zone::{Zone, Zones};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How far a use of files reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The workspace, and what a rule names.
    Workspace,
    /// Every path that is not Protected; the setting that says so.
    Anywhere(&'static str),
}

/// One agent's part of the policy.
#[derive(Debug, Clone)]
pub struct AgentRules {
    /// The tree as this agent sees it.
    pub zones: Zones,
    /// Tools that are switched off for it.
    pub disabled: BTreeSet<String>,
}

/// The rules that every judgement follows.
#[derive(Debug, Clone)]
pub struct Policy {
    /// What each agent has of its own.
    pub agents: BTreeMap<AgentId, AgentRules>,
    /// Rules that open paths for reading.
    pub read_rules: PathRules,
    /// Rules that open paths for writing.
    pub write_rules: PathRules,
    /// How far reading and listing reach.
    pub reads: Reach,
    /// How far writing reaches.
    pub writes: Reach,
    /// Directories that anybody on this machine may write in.
    pub shared: Vec<CleanPath>,
    /// Tools that are switched off for everybody.
    pub disabled: BTreeSet<String>,
}

/// Where to look a path up, as its text alone decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Beneath the workspace's handle, at this relative path.
    Workspace(PathBuf),
    /// From the top of the host's tree.
    Host,
    /// Nowhere: the text is refused, and nothing is looked up for it.
    Closed(Landing),
}

impl Policy {
    /// Decides from the text of a path where it may be looked up at all.
    pub fn route(&self, access: Access, asked: &CleanPath, subject: &Subject) -> Route {
        let Some(agent) = self.agents.get(&subject.agent) else { return Route::Closed(Landing::Unseen) };
        if agent.zones.is_protected(asked, access) {
            return Route::Closed(Landing::Protected);
        }
        if self.reach(access) != Reach::Workspace {
            return Route::Host;
        }
        match agent.zones.in_workspace(asked) {
            Some(relative) => Route::Workspace(relative.to_owned()),
            None if self.rules(access).matching(asked.as_path()).is_some() => Route::Host,
            None => Route::Closed(Landing::Unseen),
        }
    }

    /// Judges one effect by what was found out about it.
    pub fn judge(&self, intent: &Intent, subject: &Subject) -> Verdict {
        let Some(agent) = self.agents.get(&subject.agent) else {
            return Verdict::Deny(outside(intent, "no such agent"));
        };
        match self.zone(intent, &agent.zones) {
            Err(refusal) => Verdict::Deny(refusal),
            Ok(_) if intent.target().kind == FileKind::Special => Verdict::Deny(not_a_file(intent.target())),
            Ok((zone, rule)) => Verdict::Allow(Grant { zone, rule }),
        }
    }

    /// Whether this subject may use a tool at all.
    pub fn offers(&self, tool: &str, subject: &Subject) -> Result<(), Refusal> {
        let own = self.agents.get(&subject.agent);
        let off = |set: &BTreeSet<String>| set.iter().any(|name| names(name, tool));
        if own.is_some_and(|agent| off(&agent.disabled)) {
            return Err(tool_disabled(tool, &format!("agents.agents[{}].tools.disabled", subject.agent)));
        }
        if off(&self.disabled) {
            return Err(tool_disabled(tool, &format!("tools.{tool}.enabled")));
        }
        Ok(())
    }

    fn zone(&self, intent: &Intent, zones: &Zones) -> Result<(Zone, String), Refusal> {
        let (access, target) = (intent.access(), intent.target());
        match &target.landing {
            Landing::Unseen => Err(outside(intent, "workspace")),
            Landing::Protected => Err(protected(target)),
            Landing::Escaped => Err(symlink(target, "workspace")),
            Landing::Workspace => Ok((Zone::Workspace, "workspace".to_owned())),
            Landing::Host { resolved, links } => self.host(access, target, resolved, links, zones),
        }
    }

    fn host(
        &self,
        access: Access,
        target: &Target,
        resolved: &Path,
        links: &[Link],
        zones: &Zones,
    ) -> Result<(Zone, String), Refusal> {
        let Some(landed) = CleanPath::absolute(resolved) else { return Err(protected(target)) };
        if zones.is_protected(&landed, access) || zones.is_protected(&target.asked, access) {
            return Err(protected(target));
        }
        if zones.in_workspace(&landed).is_some() {
            return Ok((Zone::Workspace, "workspace".to_owned()));
        }
        if let Reach::Anywhere(setting) = self.reach(access) {
            return Ok((Zone::Outside(setting.to_owned()), setting.to_owned()));
        }
        let rules = self.rules(access);
        let Some(rule) = rules.matching(target.asked.as_path()) else {
            return Err(symlink(target, "workspace"));
        };
        let trusted = links.iter().all(|link| self.is_systems_own(link, zones));
        if trusted || rules.matching(resolved).is_some() {
            return Ok((Zone::Outside(rule.to_owned()), format!("{}:{rule}", setting(access))));
        }
        Err(symlink(target, rule))
    }

    /// Whether a link lies where no agent can have put it.
    fn is_systems_own(&self, link: &Link, zones: &Zones) -> bool {
        let Some(at) = CleanPath::absolute(&link.at) else { return false };
        link.owner == LinkOwner::System
            && self.writes == Reach::Workspace
            && zones.in_workspace(&at).is_none()
            && self.shared.iter().all(|dir| at.below(dir).is_none())
            && self.write_rules.matching(at.as_path()).is_none()
    }

    fn reach(&self, access: Access) -> Reach {
        match access {
            Access::Read | Access::List => self.reads,
            Access::Write => self.writes,
        }
    }

    fn rules(&self, access: Access) -> &PathRules {
        match access {
            Access::Read | Access::List => &self.read_rules,
            Access::Write => &self.write_rules,
        }
    }
}

/// `mcp_files_*` names every tool that begins so; any other name stands for itself.
fn names(pattern: &str, tool: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == tool, |prefix| tool.starts_with(prefix))
}

fn setting(access: Access) -> &'static str {
    match access {
        Access::Read | Access::List => "tools.allow_read_paths",
        Access::Write => "tools.allow_write_paths",
    }
}

const OUTSIDE: &str = "access denied: path is outside the workspace";
const SYMLINK: &str = "access denied: symlink resolves outside workspace";

fn outside(intent: &Intent, rule: &str) -> Refusal {
    let pattern = regex::escape(&intent.target().asked.to_string());
    Refusal {
        code: Code::OutsideWorkspace,
        sentence: OUTSIDE.to_owned(),
        rule: rule.to_owned(),
        layer: Layer::Desk,
        hint: format!(
            "`{}`: [{}] in the configuration would allow exactly this path",
            setting(intent.access()),
            json_string(&format!("^{pattern}$"))
        ),
    }
}

fn symlink(target: &Target, rule: &str) -> Refusal {
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

fn protected(target: &Target) -> Refusal {
    Refusal {
        code: Code::Protected,
        sentence: OUTSIDE.to_owned(),
        rule: "protected".to_owned(),
        layer: Layer::Desk,
        hint: format!("`{}` is protected; no setting opens it to an agent", target.asked),
    }
}

fn not_a_file(target: &Target) -> Refusal {
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

fn tool_disabled(tool: &str, setting: &str) -> Refusal {
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
