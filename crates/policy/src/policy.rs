//! The compiled policy and its judgement of files and commands. A policy is replaced as a whole,
//! never changed.

use crate::config::{Config, OnBlock};
use crate::intent::{
    Access, ExecIntent, FileKind, Intent, Link, LinkOwner, PathLocation, SessionIntent, Target,
};
use crate::network::{self, HostRules, NetworkFault};
use crate::path::CleanPath;
use crate::path_rules::{PathRules, RuleFault};
use crate::protect::ProtectRules;
use crate::refusal::{self, Refusal};
use crate::shell::Dialect;
use crate::shell::guard::{Confinement, FileSystem, Guard, GuardContext, Judgement, Remedy};
use crate::spawning::Spawning;
use crate::subject::{AgentId, Subject};
use crate::verdict::{Grant, Question, Verdict};
use crate::zone::Zones;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// How far file access reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// The workspace, and paths that a rule names.
    Workspace,
    /// Every path that is not Protected, by this setting.
    Anywhere(&'static str),
}

/// One agent's part of the policy.
#[derive(Debug, Clone)]
pub struct AgentRules {
    /// The file tree as this agent sees it.
    pub zones: Zones,
    /// Tools that are disabled for this agent.
    pub disabled: BTreeSet<String>,
}

/// The compiled rules of a configuration.
#[derive(Debug, Clone)]
pub struct Policy {
    /// Rules for each agent.
    pub agents: BTreeMap<AgentId, AgentRules>,
    /// Rules that allow reading outside the workspace.
    pub read_rules: PathRules,
    /// Rules that allow writing outside the workspace.
    pub write_rules: PathRules,
    /// Reach of reading and listing.
    pub reads: Reach,
    /// Reach of writing.
    pub writes: Reach,
    /// Directories that every user of the machine may write in.
    pub shared: Vec<CleanPath>,
    /// Tools that are disabled for every agent, each with the setting that disables it.
    pub disabled: BTreeMap<String, String>,
    /// Tools whose every call a person must approve.
    pub ask: Vec<String>,
    /// The command guard.
    pub guard: Guard,
    /// What happens to a blocked command.
    pub on_block: OnBlock,
    /// Private networks that may be reached.
    pub hosts: HostRules,
    /// Which agent may start which, and how deep.
    pub spawning: Spawning,
    /// Files of a workspace that are written only with a person's approval.
    pub protect: ProtectRules,
}

/// Where a command would run: the guard's input besides the rules.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// The working directory.
    pub cwd: &'a CleanPath,
    /// The child's `HOME`.
    pub home: Option<&'a CleanPath>,
    /// The command's own directories beside the workspace.
    pub own: &'a [CleanPath],
    /// Whether the shell reads the text from its standard input.
    pub script_is_input: bool,
    /// The shell's dialect.
    pub dialect: Dialect,
    /// What confines the child besides the guard.
    pub confinement: Confinement,
    /// Lookups in the file system.
    pub file_system: &'a dyn FileSystem,
}

/// Where a path may be looked up, decided from its text alone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Beneath the workspace's directory handle, at this relative path.
    Workspace(PathBuf),
    /// From the root of the host.
    Host,
    /// Nowhere: the text is refused without a lookup.
    Closed(PathLocation),
}

/// Why a configuration does not compile to a policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFault {
    /// An invalid pattern.
    #[error(transparent)]
    Rule(#[from] RuleFault),
    /// An invalid address or network.
    #[error(transparent)]
    Network(#[from] NetworkFault),
}

impl Policy {
    /// Compiles `config` over these zones. Every user of the machine may write in the `shared`
    /// directories.
    pub fn compile(
        config: &Config,
        zones: BTreeMap<AgentId, Zones>,
        shared: Vec<CleanPath>,
    ) -> Result<Self, PolicyFault> {
        const UNRESTRICTED: Reach = Reach::Anywhere("agents.defaults.restrict_to_workspace");
        let writes = if config.restrict_to_workspace { Reach::Workspace } else { UNRESTRICTED };
        let reads = match writes {
            Reach::Workspace if config.allow_read_outside_workspace => {
                Reach::Anywhere("agents.defaults.allow_read_outside_workspace")
            }
            other => other,
        };
        let agents = zones.into_iter().map(|(id, zones)| {
            let own = config.agents.iter().find(|agent| agent.id == id);
            let disabled =
                own.map(|agent| agent.disabled_tools.iter().cloned().collect()).unwrap_or_default();
            (id, AgentRules { zones, disabled })
        });
        let disabled =
            config.tools.disabled.iter().map(|tool| (tool.clone(), format!("tools.{tool}.enabled")));
        Ok(Self {
            agents: agents.collect(),
            read_rules: PathRules::compile(&config.tools.allow_read_paths)?,
            write_rules: PathRules::compile(&config.tools.allow_write_paths)?,
            reads,
            writes,
            shared,
            disabled: disabled.collect(),
            ask: config.tools.ask.clone(),
            guard: Guard::compile(&config.tools.exec)?,
            on_block: config.tools.exec.on_block,
            hosts: HostRules::compile(&config.tools.web.private_host_whitelist)?,
            spawning: Spawning::compile(config),
            protect: config.isolation.protect.clone(),
        })
    }
    /// Decides from the text of a path where it may be looked up.
    pub fn route(&self, access: Access, asked: &CleanPath, subject: &Subject) -> Route {
        let Some(agent) = self.agents.get(&subject.agent) else {
            return Route::Closed(PathLocation::NotLookedUp);
        };
        if agent.zones.is_protected(asked, access) {
            return Route::Closed(PathLocation::Protected);
        }
        if self.reach(access) != Reach::Workspace {
            return Route::Host;
        }
        match agent.zones.in_workspace(asked) {
            Some(relative) => Route::Workspace(relative.to_owned()),
            None if self.rules(access).matching(asked.as_path()).is_some() => Route::Host,
            None => Route::Closed(PathLocation::NotLookedUp),
        }
    }

    /// Judges one effect.
    pub fn judge(&self, intent: &Intent, subject: &Subject) -> Verdict {
        let Some(agent) = self.agents.get(&subject.agent) else {
            return Verdict::Deny(refusal::no_agent(&subject.agent));
        };
        match intent {
            Intent::Read(target) => self.judge_file(Access::Read, target, &agent.zones),
            Intent::List(target) => self.judge_file(Access::List, target, &agent.zones),
            Intent::Write(target) => self.judge_file(Access::Write, target, &agent.zones),
            Intent::Exec(exec) => self.judge_exec(exec, &agent.zones),
            Intent::Session(session) => self.judge_input(session),
            Intent::Connect(connect) => network::judge(connect, &self.hosts),
            // Tool availability was checked before. The server's own effects are confined by its
            // cage.
            Intent::McpCall(_) => Verdict::Allow(Grant { rule: "tools.mcp".to_owned() }),
            Intent::Spawn(spawn) => self.spawning.judge(spawn, subject),
            // Scheduling grants nothing: a job's calls are judged when it runs.
            Intent::Schedule(_) => Verdict::Allow(Grant { rule: "tools.cron".to_owned() }),
        }
    }

    /// The guard's findings on `command`. `None` for an agent that is not configured.
    pub fn inspect_command(
        &self,
        command: &str,
        context: &CommandContext<'_>,
        subject: &Subject,
    ) -> Option<Judgement> {
        let agent = self.agents.get(&subject.agent)?;
        let guard_context = GuardContext {
            zones: &agent.zones,
            read_rules: &self.read_rules,
            write_rules: &self.write_rules,
            reach: self.writes,
            confinement: context.confinement,
            cwd: context.cwd,
            home: context.home,
            own: context.own,
            script_is_input: context.script_is_input,
            dialect: context.dialect,
            file_system: context.file_system,
        };
        Some(self.guard.judge(command, &guard_context))
    }

    /// Checks whether `subject` may use a tool. A tool disabled for an agent is disabled for its
    /// subagents.
    pub fn check_tool(&self, tool: &str, subject: &Subject) -> Result<(), Refusal> {
        let disables = |agent: &&AgentId| {
            let own = self.agents.get(*agent);
            own.is_none_or(|agent| agent.disabled.iter().any(|name| matches_tool(name, tool)))
        };
        let above = subject.lineage.iter().find(disables);
        // An agent that is not configured is refused by `judge`, with its own sentence.
        let own =
            [&subject.agent].into_iter().find(|agent| self.agents.contains_key(*agent) && disables(agent));
        if let Some(agent) = own.or(above) {
            return Err(refusal::tool_disabled(tool, &format!("agents.agents[{agent}].tools.disabled")));
        }
        if let Some((_, setting)) = self.disabled.iter().find(|(name, _)| matches_tool(name, tool)) {
            return Err(refusal::tool_disabled(tool, setting));
        }
        Ok(())
    }

    /// Whether every call of a tool needs a person's approval.
    pub fn asks_about(&self, tool: &str) -> bool {
        self.ask.iter().any(|name| matches_tool(name, tool))
    }

    /// The verdict on a call of `tool`: an effect that is allowed and that `tools.ask` names
    /// becomes a question.
    pub fn judge_call(&self, tool: &str, intent: &Intent, subject: &Subject) -> Verdict {
        match self.judge(intent, subject) {
            // Looking at a session of its own is no new act.
            verdict if matches!(intent, Intent::Session(look) if look.input.is_empty()) => verdict,
            Verdict::Allow(_) if self.asks_about(tool) => {
                let refusal = refusal::needs_approval(tool);
                Verdict::Ask(Question { text: intent.to_string(), refusal })
            }
            verdict => verdict,
        }
    }

    fn judge_file(&self, access: Access, target: &Target, zones: &Zones) -> Verdict {
        match self.file_rule(access, target, zones) {
            Err(refusal) => Verdict::Deny(refusal),
            Ok(_) if target.kind == FileKind::Special => Verdict::Deny(refusal::not_a_file(target)),
            Ok(rule) => {
                if access == Access::Write && self.is_protected_file(target, zones) {
                    let (text, refusal) = (target.asked.to_string(), refusal::protected_file(target));
                    return Verdict::Ask(Question { text, refusal });
                }
                Verdict::Allow(Grant { rule })
            }
        }
    }

    /// Whether a file of the workspace is on the list of `isolation.protect`, by the name that was
    /// asked for or by the one that links lead to.
    fn is_protected_file(&self, target: &Target, zones: &Zones) -> bool {
        let resolved = match &target.location {
            PathLocation::Host { resolved, .. } => Some(resolved),
            _ => target.resolved.as_ref(),
        };
        let resolved = resolved.and_then(|path| CleanPath::absolute(path));
        let names = [Some(&target.asked), resolved.as_ref()];
        names
            .into_iter()
            .flatten()
            .filter_map(|path| zones.in_workspace(path))
            .any(|path| self.protect.covers(path))
    }

    fn judge_exec(&self, exec: &ExecIntent, zones: &Zones) -> Verdict {
        if !self.is_cwd_allowed(&exec.cwd, zones) {
            return Verdict::Deny(refusal::cwd_outside(&exec.cwd));
        }
        let grant = Grant { rule: "guard".to_owned() };
        self.verdict_on(&exec.judgement, &exec.command, grant)
    }

    fn judge_input(&self, session: &SessionIntent) -> Verdict {
        let grant = Grant { rule: "own session".to_owned() };
        match &session.judgement {
            Some(judgement) => self.verdict_on(judgement, &session.input, grant),
            None => Verdict::Allow(grant),
        }
    }

    /// Denies on a finding, or asks if `on_block` says so and some setting could allow the command.
    fn verdict_on(&self, judgement: &Judgement, command: &str, grant: Grant) -> Verdict {
        match judgement.refusal() {
            None => Verdict::Allow(grant),
            Some(refusal) if self.on_block == OnBlock::Ask && has_remedy(judgement) => {
                Verdict::Ask(Question { text: command.to_owned(), refusal })
            }
            Some(refusal) => Verdict::Deny(refusal),
        }
    }

    /// Whether a command may start in `cwd`: in the workspace, or outside Protected if writes are
    /// unrestricted.
    fn is_cwd_allowed(&self, cwd: &Target, zones: &Zones) -> bool {
        match &cwd.location {
            PathLocation::Workspace => true,
            PathLocation::NotLookedUp | PathLocation::Escaped | PathLocation::Protected => false,
            PathLocation::Host { resolved, .. } => {
                CleanPath::absolute(resolved).is_some_and(|resolved_path| {
                    zones.in_workspace(&resolved_path).is_some()
                        || (self.writes != Reach::Workspace
                            && !zones.is_protected(&resolved_path, Access::Write))
                })
            }
        }
    }

    fn file_rule(&self, access: Access, target: &Target, zones: &Zones) -> Result<String, Refusal> {
        match &target.location {
            PathLocation::NotLookedUp => Err(refusal::outside(access, target)),
            PathLocation::Protected => Err(refusal::protected(target)),
            PathLocation::Escaped => Err(refusal::symlink(target, "workspace")),
            PathLocation::Workspace => Ok("workspace".to_owned()),
            PathLocation::Host { resolved, links } => self.host_rule(access, target, resolved, links, zones),
        }
    }

    fn host_rule(
        &self,
        access: Access,
        target: &Target,
        resolved: &Path,
        links: &[Link],
        zones: &Zones,
    ) -> Result<String, Refusal> {
        let Some(resolved_path) = CleanPath::absolute(resolved) else {
            return Err(refusal::protected(target));
        };
        if zones.is_protected(&resolved_path, access) || zones.is_protected(&target.asked, access) {
            return Err(refusal::protected(target));
        }
        if zones.in_workspace(&resolved_path).is_some() {
            return Ok("workspace".to_owned());
        }
        if let Reach::Anywhere(setting) = self.reach(access) {
            return Ok(setting.to_owned());
        }
        let rules = self.rules(access);
        let Some(rule) = rules.matching(target.asked.as_path()) else {
            return Err(refusal::symlink(target, "workspace"));
        };
        let trusted = links.iter().all(|link| self.is_system_link(link, zones));
        if trusted || rules.matching(resolved).is_some() {
            return Ok(format!("{}:{rule}", refusal::setting(access)));
        }
        Err(refusal::symlink(target, rule))
    }

    /// Whether a link lies where no agent can write.
    fn is_system_link(&self, link: &Link, zones: &Zones) -> bool {
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

/// `mcp_files_*` matches every tool with that prefix; any other pattern matches one name.
fn matches_tool(pattern: &str, tool: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == tool, |prefix| tool.starts_with(prefix))
}

/// Whether some setting would allow each finding. A person is asked only then.
fn has_remedy(judgement: &Judgement) -> bool {
    judgement.finding.iter().chain(&judgement.others).all(|finding| finding.remedy != Remedy::None)
}
