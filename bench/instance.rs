//! An instance to measure in, composed as the binary composes its own.
//!
//! Invariant: everything lies in the directory that was given.

use super::Stop;
use picoclaw_agent::call::{Call, Reply};
use picoclaw_agent::tools::{Registry, ToolContext, unwatched};
use picoclaw_policy::config::{Config, FenceMode};
use picoclaw_policy::shell::guard::Guard;
use picoclaw_policy::{AgentId, AgentRules, CleanPath, Origin, PathRules, Policy, Reach, Subject, Zones};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The file that is read and written, below the workspace: one directory down, as most files are.
pub(crate) const FILE: &str = "notes/today.md";

/// How much is in it.
pub(crate) const SIZE: usize = 4096;

/// Everything that a call walks through.
pub(crate) struct BenchInstance {
    pub(crate) warden: Warden,
    pub(crate) registry: Registry,
    pub(crate) subject: Subject,
    pub(crate) zones: Zones,
    pub(crate) home: PathBuf,
    /// The workspace, with every link followed.
    pub(crate) workspace: PathBuf,
    pub(crate) locks: PathBuf,
}

impl BenchInstance {
    /// Makes an instance at `home`, with [`FILE`] in its workspace.
    pub(crate) fn create(home: &Path) -> Result<Self, Stop> {
        Self::with_fence(home, FenceMode::Full)
    }

    /// The same, with another fence around its commands.
    pub(crate) fn with_fence(home: &Path, fence: FenceMode) -> Result<Self, Stop> {
        let mut config = Config::default();
        config.tools.exec.fence = fence;
        config.tools.exec.custom_deny_patterns = custom(&["internal\\.example\\.com", "--no-verify\\b"]);
        config.tools.exec.custom_allow_patterns = custom(&["^git push origin main$"]);
        let instance = Instance::prepare(home, &config, &[home.join("config.json")])?;
        let zones = instance.zones();
        let own = zones.get(&AgentId::main()).ok_or("the instance has no agent")?.clone();
        let files = Files::open(zones.clone(), &instance.locks())?;
        let ledger = Ledger::open(&instance.ledger())?;
        let host = [("PATH", "/usr/local/bin:/usr/bin:/bin"), ("HOME", "/home/somebody")];
        let host = host.map(|(name, value)| (OsString::from(name), OsString::from(value)));
        let exec_env = ExecEnv::new(&config, &instance, host)?;
        let policy = Policy {
            agents: zones
                .into_iter()
                .map(|(id, zones)| (id, AgentRules { zones, disabled: BTreeSet::new() }))
                .collect(),
            read_rules: PathRules::compile(&["^/usr/share/doc/.*", "^/etc/os-release$"])?,
            write_rules: PathRules::default(),
            reads: Reach::Workspace,
            writes: Reach::Workspace,
            shared: ["/tmp", "/dev/shm"]
                .iter()
                .filter_map(|dir| CleanPath::absolute(Path::new(dir)))
                .collect(),
            disabled: BTreeMap::new(),
            guard: Guard::compile(&config.tools.exec)?,
            ask: Vec::new(),
            on_block: config.tools.exec.on_block,
            hosts: Default::default(),
            spawning: Default::default(),
            protect: Default::default(),
        };
        let real = own.workspace.last().ok_or("the agent has no workspace")?.as_path().to_owned();
        let instance = Self {
            warden: Warden::new(policy, files, exec_env, ledger),
            registry: Registry::new(&config.tools, Redactor::default()),
            subject: Subject::root(Origin::Tool, AgentId::main(), "cli:default"),
            zones: own,
            home: home.to_owned(),
            workspace: real,
            locks: instance.locks(),
        };
        instance.call("write_file", json!({"path": FILE, "content": content()}))?;
        Ok(instance)
    }

    /// One call, from its arguments to its reply.
    pub(crate) fn call(&self, tool: &str, arguments: serde_json::Value) -> Result<String, Stop> {
        self.walk(&Call { tool: tool.to_owned(), arguments, subject: self.subject.clone() })
    }

    /// One call that is already there.
    pub(crate) fn walk(&self, call: &Call) -> Result<String, Stop> {
        let halt = CancelToken::new();
        let context = ToolContext::new(&self.warden, &call.subject, &halt, &unwatched);
        match self.registry.run_unattended(call, &context) {
            Reply::Done(text) => Ok(text),
            other => Err(other.text().into()),
        }
    }
}

/// A page of plain text.
pub(crate) fn content() -> String {
    "buy milk, call home, water the plants\n".chars().cycle().take(SIZE).collect()
}

/// Patterns as an operator would add them.
pub(crate) fn custom(patterns: &[&str]) -> Vec<String> {
    patterns.iter().map(ToString::to_string).collect()
}

/// What kind of file system a directory is on.
pub(crate) fn file_system(path: &Path) -> String {
    match rustix::fs::statfs(path).map(|found| found.f_type) {
        Ok(0x0102_1994) => "tmpfs".to_owned(),
        Ok(0xEF53) => "ext4".to_owned(),
        Ok(0x5846_5342) => "xfs".to_owned(),
        Ok(0x9123_683E) => "btrfs".to_owned(),
        Ok(0x794C_7630) => "overlayfs".to_owned(),
        Ok(other) => format!("a file system of type {other:#x}"),
        Err(why) => format!("an unknown file system ({why})"),
    }
}

/// How busy this machine is: figures taken on a busy one are to be read with care.
pub(crate) fn load() -> String {
    let text = super::peers::text(Path::new("/proc/loadavg")).unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}
