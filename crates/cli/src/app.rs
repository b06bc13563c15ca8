//! Composing: from settings to a house that calls can walk through.
//!
//! Invariant: a house stands complete, with its ledger open, before the first call.

use crate::print;
use crate::settings::{ConfigPresence, Settings};
use anyhow::{Context, Result};
use picoclaw_agent::hall::Hall;
use picoclaw_agent::mcp::client::Fleet;
use picoclaw_agent::mcp::pins::Pins;
use picoclaw_agent::providers::Models;
use picoclaw_agent::run::Runner;
use picoclaw_agent::sessions::Sessions;
use picoclaw_agent::tools::Registry;
use picoclaw_policy::config::{Config, IsolationConfig, McpConfig};
use picoclaw_policy::{AgentId, CleanPath, Origin, Policy, Subject, Zones};
use picoclaw_sandbox::exec::Workshop;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::{Instance, Planted};
use picoclaw_sandbox::isolate::{Rung, pick};
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use picoclaw_sandbox::{Redactor, printable};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Directories in which anybody on this machine can put something.
const SHARED_DIRS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/run/user"];

/// The first configuration of a new instance.
const DEFAULT_CONFIG: &str = r#"{
  // `picoclaw config show` lists every key with its value and where that comes from.
  "version": 3,
  "agents": {
    "defaults": {
      "restrict_to_workspace": true
    }
  },
  // What a child process can see; `picoclaw doctor` tries it out on this host.
  "isolation": {
    "enabled": {isolation}
  }
}
"#;

/// Tools that change something.
const WRITING_TOOLS: &[&str] =
    &["append_file", "cron", "delegate", "edit_file", "exec", "spawn", "subagent", "write_file"];

/// The name of the embedded provider, which asks no model.
pub(crate) const DIRECT_PROVIDER: &str = "direct";

/// Which tools a house has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolSet {
    /// All that the configuration leaves on.
    Everything,
    /// Of those, the ones that change nothing.
    ReadOnly,
}

/// Everything that a call walks through.
pub(crate) struct Core {
    /// What judges, records and hands out keys.
    pub(crate) warden: Arc<Warden>,
    /// The tools.
    pub(crate) registry: Arc<Registry>,
    /// The instance they are in.
    pub(crate) instance: Instance,
}

/// Everybody.
pub(crate) struct AgentServices {
    /// The tools, behind the desk.
    pub(crate) hall: Hall,
    /// The models.
    pub(crate) models: Models,
    /// What was said.
    pub(crate) sessions: Sessions,
    /// The loop.
    pub(crate) runner: Runner,
    /// The instance they are in.
    pub(crate) instance: Instance,
}

/// Whether nobody has made the instance yet.
pub(crate) fn is_new_instance(settings: &Settings) -> bool {
    settings.presence == ConfigPresence::Missing && !Instance::exists(&settings.home)
}

/// Makes a new instance, as `onboard` would, and says so in one line.
pub(crate) fn create_instance(settings: &Settings) -> Result<()> {
    write_default_config(&prepare_instance(settings)?, settings)?;
    print::note(&format!("picoclaw: made a new instance in `{}`", settings.home.display()));
    Ok(())
}

/// Makes what is missing of the instance's directories, and warns when others can enter.
pub(crate) fn open_instance(settings: &Settings) -> Result<Instance> {
    let instance = prepare_instance(settings)?;
    if instance.is_open_to_others() {
        tracing::warn!(target: "instance", path = %settings.home.display(), "Other users can enter the instance; `chmod 700` it");
    }
    Ok(instance)
}

/// Makes the instance's directories.
pub(crate) fn prepare_instance(settings: &Settings) -> Result<Instance> {
    let pinned = [settings.config_path.clone(), settings.secrets_path.clone()];
    Ok(Instance::prepare_seen(&settings.home, &settings.config, &pinned, &settings.survey)?)
}

/// Writes the first configuration, where the configuration is the instance's own.
pub(crate) fn write_default_config(instance: &Instance, settings: &Settings) -> Result<Planted> {
    if settings.config_path != instance.home().join("config.json") {
        return Ok(Planted::Kept);
    }
    // A new configuration has its children caged, where this host can.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let isolation = IsolationConfig { enabled: true, ..settings.config.isolation.clone() };
    let enabled = matches!(pick(&isolation, &path), Ok(Rung::Native | Rung::Bwrap(_)));
    let text = DEFAULT_CONFIG.replace("{isolation}", if enabled { "true" } else { "false" });
    instance.plant("config.json", &text).context("could not write the first configuration")
}

/// Opens the ledger and every workspace, and puts the warden before them.
pub(crate) fn core(settings: &Settings) -> Result<Core> {
    core_with_tools(settings, ToolSet::Everything)
}

/// The same, with only some of the tools.
pub(crate) fn core_with_tools(settings: &Settings, tools: ToolSet) -> Result<Core> {
    let instance = open_instance(settings)?;
    let workshop = Workshop::new(&settings.config, &instance, std::env::vars_os())?;
    build_core(settings, instance, workshop, tools)
}

/// The house for a program that lives for one call: what one that stays finds out by trying may be remembered.
pub(crate) fn core_for_one_call(settings: &Settings) -> Result<Core> {
    let instance = open_instance(settings)?;
    let workshop = Workshop::for_one_call(&settings.config, &instance, std::env::vars_os())?;
    build_core(settings, instance, workshop, ToolSet::Everything)
}

fn build_core(settings: &Settings, instance: Instance, workshop: Workshop, tools: ToolSet) -> Result<Core> {
    let zones = instance.zones();
    let files = Files::open(zones.clone(), &instance.locks()).context("could not open the workspaces")?;
    let ledger = Ledger::open(&instance.ledger())?.redacting(Redactor::new(&settings.config.secrets));
    let warden = Warden::new(compile_policy(&settings.config, zones, tools)?, files, workshop, ledger);
    let registry = Arc::new(registry(&settings.config));
    Ok(Core { warden: Arc::new(warden), registry, instance: instance.clone() })
}

/// The tools, with the bounds of the configuration.
pub(crate) fn registry(config: &Config) -> Registry {
    Registry::new(&config.tools, Redactor::new(&config.secrets))
}

/// On whose behalf a command of the operator's runs.
pub(crate) fn subject(settings: &Settings, agent: Option<&str>, origin: Origin) -> Result<Subject> {
    let agent = match agent {
        None => settings.config.default_agent.clone(),
        Some(name) => AgentId::parse(name)
            .filter(|id| settings.config.agents.iter().any(|known| known.id == *id))
            .with_context(|| unknown_agent(name, &settings.config))?,
    };
    Ok(Subject::root(origin, agent, "cli:default"))
}

fn unknown_agent(name: &str, config: &Config) -> String {
    let known: Vec<_> = config.agents.iter().map(|agent| agent.id.as_str()).collect();
    format!("there is no agent `{name}`\nhint: the configuration names {}", known.join(", "))
}

fn compile_policy(config: &Config, zones: BTreeMap<AgentId, Zones>, tools: ToolSet) -> Result<Policy> {
    let temp = std::env::temp_dir();
    let shared = SHARED_DIRS.iter().map(Path::new).chain([temp.as_path()]).filter_map(CleanPath::absolute);
    let mut policy = Policy::compile(config, zones, shared.collect())?;
    if tools == ToolSet::ReadOnly {
        policy
            .disabled
            .extend(WRITING_TOOLS.iter().map(|tool| ((*tool).to_owned(), "--read-only".to_owned())));
    }
    Ok(policy)
}

/// Composes everybody.
pub(crate) fn services(settings: &Settings) -> Result<AgentServices> {
    build_services(settings, core(settings)?)
}

fn build_services(settings: &Settings, core: Core) -> Result<AgentServices> {
    let hall = Hall::new(core.warden, core.registry);
    let models = Models::with_guests(&settings.config, Arc::clone(hall.warden()));
    let config = Arc::new(settings.config.clone());
    let runner = Runner::open(hall.clone(), config, Arc::new(models.clone()), &core.instance)?;
    let sessions = runner.sessions().clone();
    Ok(AgentServices { hall, models, sessions, runner, instance: core.instance })
}

/// The same, for a program that lives for one turn.
pub(crate) fn services_for_one_turn(settings: &Settings) -> Result<AgentServices> {
    build_services(settings, core_for_one_call(settings)?)
}

/// What turns wait in: one thread that waits, and others that work when a room is asked for something.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("could not start the runtime")
}

/// Whether the configuration has a server that `is_meant`.
pub(crate) fn has_mcp_servers(settings: &Settings, is_meant: impl Fn(&str) -> bool) -> bool {
    let mcp = &settings.config.mcp;
    mcp.enabled && mcp.servers.iter().any(|server| server.enabled && is_meant(&server.name))
}

/// Does `work` in a hall that has the tools of the servers that are meant.
pub(crate) fn with_mcp_servers<T>(
    settings: &Settings,
    core: Core,
    subject: &Subject,
    is_meant: impl Fn(&str) -> bool,
    work: impl AsyncFnOnce(Hall) -> T,
) -> Result<T> {
    let mut meant: McpConfig = settings.config.mcp.clone();
    meant.servers.retain(|server| is_meant(&server.name));
    // A person who names a tool has found it.
    meant.servers.iter_mut().for_each(|server| server.deferred = false);
    let fleet = Fleet::new(&meant, &core.warden, Pins::open(core.instance.home())?, subject);
    let hall = Hall::new(core.warden, core.registry);
    Ok(runtime()?.block_on(async {
        let joined = fleet.join().await;
        for notice in &joined.notices {
            print::note(&format!("picoclaw: {}", printable(notice)));
        }
        hall.refit(fleet.fit(&hall.registry(), joined.tools));
        let done = work(hall).await;
        fleet.close().await;
        done
    }))
}
