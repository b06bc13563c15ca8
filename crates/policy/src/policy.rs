//! The compiled rules, and the judgement on files.
//!
//! Invariant: a policy is a value; it is replaced whole and never changed.

use crate::config::{Config, OnBlock};
use crate::intent::{
    Access, ExecIntent, FileKind, Intent, Link, LinkOwner, PathLocation, SessionIntent, Target,
};
use crate::network::{self, HostRules, NetworkFault};
use crate::path::CleanPath;
use crate::path_rules::{PathRules, RuleFault};
use crate::refusal::{self, Refusal};
use crate::shell::Dialect;
use crate::shell::guard::{Confinement, FileSystem, Guard, GuardContext, Judgement, Remedy};
use crate::spawning::Spawning;
use crate::subject::{AgentId, Subject};
use crate::verdict::{Grant, Question, Verdict};
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
    /// Tools that are switched off for everybody, each with the setting that does it.
    pub disabled: BTreeMap<String, String>,
    /// What judges commands.
    pub guard: Guard,
    /// What happens to a blocked command.
    pub on_block: OnBlock,
    /// Hosts that may be reached although they are not public.
    pub hosts: HostRules,
    /// Who may start whom, and how deep.
    pub spawning: Spawning,
}

/// Where a command would run: what the guard needs besides the rules.
#[derive(Clone, Copy)]
pub struct CommandContext<'a> {
    /// The working directory.
    pub cwd: &'a CleanPath,
    /// The home that the child will see.
    pub home: Option<&'a CleanPath>,
    /// The shell that will run it.
    pub shell: Dialect,
    /// What holds the child besides the guard.
    pub hold: Confinement,
    /// The file system as it is now.
    pub terrain: &'a dyn FileSystem,
}

/// Where to look a path up, as its text alone decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// Beneath the workspace's handle, at this relative path.
    Workspace(PathBuf),
    /// From the top of the host's tree.
    Host,
    /// Nowhere: the text is refused, and nothing is looked up for it.
    Closed(PathLocation),
}

/// Why a configuration is no policy.
#[derive(Debug, thiserror::Error)]
pub enum PolicyFault {
    /// A pattern.
    #[error(transparent)]
    Rule(#[from] RuleFault),
    /// An address or a network.
    #[error(transparent)]
    Network(#[from] NetworkFault),
}

impl Policy {
    /// The rules of `config` over these zones; in `shared` directories anybody can put something.
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
            guard: Guard::compile(&config.tools.exec)?,
            on_block: config.tools.exec.on_block,
            hosts: HostRules::compile(&config.tools.web.private_host_whitelist)?,
            spawning: Spawning::compile(config),
        })
    }
    /// Decides from the text of a path where it may be looked up at all.
    pub fn route(&self, access: Access, asked: &CleanPath, subject: &Subject) -> Route {
        let Some(agent) = self.agents.get(&subject.agent) else { return Route::Closed(PathLocation::Unseen) };
        if agent.zones.is_protected(asked, access) {
            return Route::Closed(PathLocation::Protected);
        }
        if self.reach(access) != Reach::Workspace {
            return Route::Host;
        }
        match agent.zones.in_workspace(asked) {
            Some(relative) => Route::Workspace(relative.to_owned()),
            None if self.rules(access).matching(asked.as_path()).is_some() => Route::Host,
            None => Route::Closed(PathLocation::Unseen),
        }
    }

    /// Judges one effect by what was found out about it.
    pub fn judge(&self, intent: &Intent, subject: &Subject) -> Verdict {
        let Some(agent) = self.agents.get(&subject.agent) else {
            return Verdict::Deny(refusal::no_agent(&subject.agent));
        };
        match intent {
            Intent::Read(target) => self.judge_file(Access::Read, target, &agent.zones),
            Intent::List(target) => self.judge_file(Access::List, target, &agent.zones),
            Intent::Write(target) => self.judge_file(Access::Write, target, &agent.zones),
            Intent::Exec(exec) => self.judge_exec(exec, &agent.zones),
            Intent::Session(attend) => self.judge_input(attend),
            Intent::Connect(connect) => network::judge(connect, &self.hosts),
            // Whether a server's tools are offered was asked before; what the server then does, its cage holds.
            Intent::McpCall(_) => {
                Verdict::Allow(Grant { zone: Zone::Workspace, rule: "tools.mcp".to_owned() })
            }
            Intent::Spawn(spawn) => self.spawning.judge(spawn, subject),
            // A job gets nothing by being scheduled: what it does is judged when it does it.
            Intent::Schedule(_) => {
                Verdict::Allow(Grant { zone: Zone::Workspace, rule: "tools.cron".to_owned() })
            }
        }
    }

    /// What the guard finds in `command`, on this ground; nothing for an agent that is not configured.
    pub fn inspect_command(
        &self,
        command: &str,
        ground: &CommandContext<'_>,
        subject: &Subject,
    ) -> Option<Judgement> {
        let agent = self.agents.get(&subject.agent)?;
        let scene = GuardContext {
            zones: &agent.zones,
            read_rules: &self.read_rules,
            write_rules: &self.write_rules,
            reach: self.writes,
            hold: ground.hold,
            cwd: ground.cwd,
            home: ground.home,
            dialect: ground.shell,
            terrain: ground.terrain,
        };
        Some(self.guard.judge(command, &scene))
    }

    /// Whether this subject may use a tool at all. What an agent above it may not use, it may not either.
    pub fn offers(&self, tool: &str, subject: &Subject) -> Result<(), Refusal> {
        let lacks = |agent: &&AgentId| {
            let own = self.agents.get(*agent);
            own.is_none_or(|agent| agent.disabled.iter().any(|name| names(name, tool)))
        };
        let above = subject.lineage.iter().find(lacks);
        // A subject whom nobody knows is refused where it is judged, in its own words.
        let own = [&subject.agent].into_iter().find(|agent| self.agents.contains_key(*agent) && lacks(agent));
        if let Some(agent) = own.or(above) {
            return Err(refusal::tool_disabled(tool, &format!("agents.agents[{agent}].tools.disabled")));
        }
        if let Some((_, setting)) = self.disabled.iter().find(|(name, _)| names(name, tool)) {
            return Err(refusal::tool_disabled(tool, setting));
        }
        Ok(())
    }

    fn judge_file(&self, access: Access, target: &Target, zones: &Zones) -> Verdict {
        match self.zone(access, target, zones) {
            Err(refusal) => Verdict::Deny(refusal),
            Ok(_) if target.kind == FileKind::Special => Verdict::Deny(refusal::not_a_file(target)),
            Ok((zone, rule)) => Verdict::Allow(Grant { zone, rule }),
        }
    }

    fn judge_exec(&self, exec: &ExecIntent, zones: &Zones) -> Verdict {
        if !self.may_work_in(&exec.cwd, zones) {
            return Verdict::Deny(refusal::cwd_outside(&exec.cwd));
        }
        let grant = Grant { zone: Zone::Workspace, rule: "guard".to_owned() };
        self.judged(&exec.judgement, &exec.command, grant)
    }

    fn judge_input(&self, attend: &SessionIntent) -> Verdict {
        let grant = Grant { zone: Zone::Workspace, rule: "own session".to_owned() };
        match &attend.judgement {
            Some(judgement) => self.judged(judgement, &attend.input, grant),
            None => Verdict::Allow(grant),
        }
    }

    /// A finding is a no, or a question where the operator wants to be asked and a setting could allow it at all.
    fn judged(&self, judgement: &Judgement, command: &str, grant: Grant) -> Verdict {
        match judgement.refusal() {
            None => Verdict::Allow(grant),
            Some(refusal) if self.on_block == OnBlock::Ask && is_negotiable(judgement) => {
                Verdict::Ask(Question { text: command.to_owned(), refusal, grant })
            }
            Some(refusal) => Verdict::Deny(refusal),
        }
    }

    /// Commands start in the workspace, or anywhere but Protected when writes reach anywhere.
    fn may_work_in(&self, cwd: &Target, zones: &Zones) -> bool {
        match &cwd.landing {
            PathLocation::Workspace => true,
            PathLocation::Unseen | PathLocation::Escaped | PathLocation::Protected => false,
            PathLocation::Host { resolved, .. } => CleanPath::absolute(resolved).is_some_and(|landed| {
                zones.in_workspace(&landed).is_some()
                    || (self.writes != Reach::Workspace && !zones.is_protected(&landed, Access::Write))
            }),
        }
    }

    fn zone(&self, access: Access, target: &Target, zones: &Zones) -> Result<(Zone, String), Refusal> {
        match &target.landing {
            PathLocation::Unseen => Err(refusal::outside(access, target)),
            PathLocation::Protected => Err(refusal::protected(target)),
            PathLocation::Escaped => Err(refusal::symlink(target, "workspace")),
            PathLocation::Workspace => Ok((Zone::Workspace, "workspace".to_owned())),
            PathLocation::Host { resolved, links } => self.host(access, target, resolved, links, zones),
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
        let Some(landed) = CleanPath::absolute(resolved) else { return Err(refusal::protected(target)) };
        if zones.is_protected(&landed, access) || zones.is_protected(&target.asked, access) {
            return Err(refusal::protected(target));
        }
        if zones.in_workspace(&landed).is_some() {
            return Ok((Zone::Workspace, "workspace".to_owned()));
        }
        if let Reach::Anywhere(setting) = self.reach(access) {
            return Ok((Zone::Outside(setting.to_owned()), setting.to_owned()));
        }
        let rules = self.rules(access);
        let Some(rule) = rules.matching(target.asked.as_path()) else {
            return Err(refusal::symlink(target, "workspace"));
        };
        let trusted = links.iter().all(|link| self.is_systems_own(link, zones));
        if trusted || rules.matching(resolved).is_some() {
            return Ok((Zone::Outside(rule.to_owned()), format!("{}:{rule}", refusal::setting(access))));
        }
        Err(refusal::symlink(target, rule))
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

/// Whether some setting would allow every single thing that was found; what none would, nobody is asked about.
fn is_negotiable(judgement: &Judgement) -> bool {
    judgement.finding.iter().chain(&judgement.others).all(|finding| finding.remedy != Remedy::None)
}
