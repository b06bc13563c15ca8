//! Builds the application from the settings: policy, warden, ledger, tools, models and sessions.

use crate::print;
use crate::progress::Progress;
use crate::settings::{ConfigPresence, Settings};
use anyhow::{Context, Result};
use picoclaw_agent::executor::ToolExecutor;
use picoclaw_agent::mcp::client::McpServers;
use picoclaw_agent::mcp::pins::Pins;
use picoclaw_agent::providers::Models;
use picoclaw_agent::run::Runner;
use picoclaw_agent::sessions::Sessions;
use picoclaw_agent::subagent;
use picoclaw_agent::tools::Registry;
use picoclaw_policy::config::{Config, IsolationConfig, McpConfig};
use picoclaw_policy::{AgentId, CleanPath, Origin, Policy, Subject, Zones};
use picoclaw_sandbox::always::AlwaysRules;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::{Created, Instance};
use picoclaw_sandbox::isolate::{Fence, StartError, select_backend};
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::ledger_anchor;
use picoclaw_sandbox::warden::Warden;
use picoclaw_sandbox::{Redactor, printable, printable_path};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// Directories that every user of the machine can write in.
const SHARED_DIRS: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/run/user"];

/// The configuration of a new instance.
const DEFAULT_CONFIG: &str = r#"{
  // `picoclaw config show` lists every key with its value and where that comes from.
  "version": 3,
  "agents": {
    "defaults": {
      "restrict_to_workspace": true
    }
  },
{tools}  // What a child process can see; `picoclaw doctor` tries it out on this host.
  "isolation": {
    "enabled": {isolation}
  }
}
"#;

/// The guard of a new instance whose commands the kernel holds: the parsed command decides, and a
/// person is asked about what is refused.
const HELD_TOOLS: &str = r#"  // The kernel holds what a command's text does not show; what the guard refuses is asked about.
  "tools": {
    "exec": {
      "guard": "smart",
      "on_block": "ask"
    }
  },
"#;

/// The tools of a new instance where nothing holds commands.
const REFUSED_TOOLS: &str = r#"  // Nothing on this host can hold commands, so there are none until this is true.
  "tools": {
    "exec": {
      "enabled": false
    }
  },
"#;

/// What is done before isolation is enabled.
const TRIAL: &str = "trying whether this host can hold commands";

/// Tools that have write effects.
const WRITING_TOOLS: &[&str] =
    &["append_file", "cron", "delegate", "edit_file", "exec", "spawn", "subagent", "write_file"];

/// The name of the embedded provider, which uses no model.
pub(crate) const DIRECT_PROVIDER: &str = "direct";

/// Which tools are offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolSet {
    /// All that the configuration enables.
    Everything,
    /// Of those, the ones without write effects.
    ReadOnly,
}

/// What every tool call needs.
pub(crate) struct Core {
    /// The reference monitor: judges, records and issues permits.
    pub(crate) warden: Arc<Warden>,
    /// The tools.
    pub(crate) registry: Arc<Registry>,
    /// The instance.
    pub(crate) instance: Instance,
}

/// What a turn of an agent needs.
pub(crate) struct AgentServices {
    /// The tools, behind the warden.
    pub(crate) executor: ToolExecutor,
    /// The models.
    pub(crate) models: Models,
    /// The stored sessions.
    pub(crate) sessions: Sessions,
    /// The turn loop.
    pub(crate) runner: Runner,
    /// The instance.
    pub(crate) instance: Instance,
}

/// Whether the instance does not exist yet.
pub(crate) fn is_new_instance(settings: &Settings) -> bool {
    settings.presence == ConfigPresence::Missing && !Instance::exists(&settings.home)
}

/// Creates a new instance, as `onboard` does, with a note on stderr.
pub(crate) fn create_instance(settings: &Settings) -> Result<()> {
    write_default_config(&prepare_instance(settings)?, settings)?;
    print::note(&format!("picoclaw: made a new instance in `{}`", printable_path(&settings.home)));
    Ok(())
}

/// Creates missing directories of the instance, and warns if other users can enter it.
pub(crate) fn open_instance(settings: &Settings) -> Result<Instance> {
    let instance = prepare_instance(settings)?;
    if instance.is_open_to_others() {
        tracing::warn!(target: "instance", path = %settings.home.display(), "Other users can enter the instance; `chmod 700` it");
    }
    Ok(instance)
}

/// Creates the instance's directories.
pub(crate) fn prepare_instance(settings: &Settings) -> Result<Instance> {
    let pinned = [settings.config_path.clone(), settings.secrets_path.clone()];
    Ok(Instance::prepare(&settings.home, &settings.config, &pinned)?)
}

/// Writes the default configuration, if the configuration file is the instance's own.
pub(crate) fn write_default_config(instance: &Instance, settings: &Settings) -> Result<Created> {
    if settings.config_path != instance.home().join("config.json") {
        return Ok(Created::Existing);
    }
    let _progress = Progress::of(TRIAL);
    // A new configuration enables isolation if this host supports it.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let isolation = IsolationConfig { enabled: true, ..settings.config.isolation.clone() };
    let (enabled, tools) = match select_backend(&isolation, &path) {
        Ok(backend) if backend.is_cage() => ("true", HELD_TOOLS),
        // What failed once is not written down for good.
        Err(why @ StartError::Trial { .. }) => return Err(why.into()),
        Ok(_) | Err(_) if Fence::is_available() => ("false", ""),
        Ok(_) | Err(_) => ("false", REFUSED_TOOLS),
    };
    let text = DEFAULT_CONFIG.replace("{isolation}", enabled).replace("{tools}", tools);
    let created =
        instance.create_file("config.json", &text).context("could not write the default configuration")?;
    if tools == REFUSED_TOOLS && created == Created::New {
        print::note(
            "picoclaw: this host has nothing that confines commands, so `exec` is off; `tools.exec.enabled: true` runs them unconfined",
        );
    }
    Ok(created)
}

/// Whether a cage can be had on this host.
pub(crate) fn can_isolate(isolation: &IsolationConfig) -> bool {
    let _progress = Progress::of(TRIAL);
    let path = std::env::var_os("PATH").unwrap_or_default();
    let wanted = IsolationConfig { enabled: true, ..isolation.clone() };
    select_backend(&wanted, &path).is_ok_and(|backend| backend.is_cage())
}

/// Opens the ledger and every workspace, and builds the warden.
pub(crate) fn core(settings: &Settings) -> Result<Core> {
    core_with_tools(settings, ToolSet::Everything)
}

/// The same with a set of tools.
pub(crate) fn core_with_tools(settings: &Settings, tools: ToolSet) -> Result<Core> {
    let instance = open_instance(settings)?;
    let exec_env = ExecEnv::new(&settings.config, &instance, std::env::vars_os())?;
    build_core(settings, instance, exec_env, tools)
}

fn build_core(settings: &Settings, instance: Instance, exec_env: ExecEnv, tools: ToolSet) -> Result<Core> {
    let zones = instance.zones();
    let files = Files::open(zones.clone(), &instance.locks()).context("could not open the workspaces")?;
    let ledger = open_ledger(&instance, &settings.config)?;
    let warden = Warden::new(compile_policy(&settings.config, zones, tools)?, files, exec_env, ledger)
        .with_always(AlwaysRules::open(instance.home())?);
    let registry = Arc::new(registry(&settings.config));
    Ok(Core { warden: Arc::new(warden), registry, instance: instance.clone() })
}

/// Opens the ledger of the instance for writing.
pub(crate) fn open_ledger(instance: &Instance, config: &Config) -> Result<Ledger> {
    let opened = Ledger::open_with_head(&instance.ledger(), &instance.join("state"));
    let ledger = opened.map_err(|why| anyhow::anyhow!("{why}\nhint: {}", why.hint()))?;
    let ledger = ledger.redacting(Redactor::new(&config.secrets));
    Ok(match &config.ledger_anchor {
        None => ledger,
        Some(anchor) => {
            let host = std::env::vars_os().collect();
            ledger.anchoring(ledger_anchor::sink(anchor, host, config.secrets.clone()))
        }
    })
}

/// The tools, with the limits of the configuration.
pub(crate) fn registry(config: &Config) -> Registry {
    Registry::new(&config.tools, Redactor::new(&config.secrets))
}

/// The subject of a command of the operator.
pub(crate) fn subject(settings: &Settings, agent: Option<&str>, origin: Origin) -> Result<Subject> {
    let agent = match agent {
        None => settings.config.default_agent.clone(),
        Some(name) => AgentId::parse(name)
            .filter(|id| settings.config.agents.iter().any(|known| known.id == *id))
            .with_context(|| unknown_agent(name, &settings.config))?,
    };
    Ok(Subject::root(origin, agent, "cli:default").on_behalf_of("terminal"))
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

/// Builds the services of an agent.
pub(crate) fn services(settings: &Settings) -> Result<AgentServices> {
    let core = core(settings)?;
    let executor = ToolExecutor::new(core.warden, core.registry);
    let models = Models::with_warden(&settings.config, Arc::clone(executor.warden()));
    let config = Arc::new(settings.config.clone());
    let runner = Runner::open(executor.clone(), config, models.clone(), &core.instance)?;
    subagent::install(&runner);
    let sessions = runner.sessions().clone();
    Ok(AgentServices { executor, models, sessions, runner, instance: core.instance })
}

/// A single-threaded runtime; blocking work runs on tokio's blocking pool.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("could not start the runtime")
}

/// Whether the configuration has an enabled server that `is_meant` selects.
pub(crate) fn has_mcp_servers(settings: &Settings, is_meant: impl Fn(&str) -> bool) -> bool {
    let mcp = &settings.config.mcp;
    mcp.enabled && mcp.servers.iter().any(|server| server.enabled && is_meant(&server.name))
}

/// Runs `work` with the tools of the selected MCP servers, which are started for it and ended with
/// it.
pub(crate) fn with_mcp_servers<T>(
    settings: &Settings,
    core: Core,
    subject: &Subject,
    is_meant: impl Fn(&str) -> bool,
    work: impl AsyncFnOnce(ToolExecutor) -> T,
) -> Result<T> {
    let mut meant: McpConfig = settings.config.mcp.clone();
    meant.servers.retain(|server| is_meant(&server.name));
    // A tool that the user names need not be discovered.
    meant.servers.iter_mut().for_each(|server| server.deferred = false);
    let servers = McpServers::new(&meant, &core.warden, Pins::open(core.instance.home())?, subject);
    let executor = ToolExecutor::new(core.warden, core.registry);
    Ok(runtime()?.block_on(async {
        let joined = servers.connect_all().await;
        for notice in &joined.notices {
            print::note(&format!("picoclaw: {}", printable(notice)));
        }
        executor.replace_registry(servers.extend_registry(&executor.registry(), joined.tools));
        let done = work(executor).await;
        servers.close().await;
        done
    }))
}
