//! Composing: from settings to a house that calls can walk through.
//!
//! Invariant: a house stands complete, with its ledger open, before the first call.

use crate::print;
use crate::settings::{Loaded, Presence};
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
const SHARED: &[&str] = &["/tmp", "/var/tmp", "/dev/shm", "/run/user"];

/// The first configuration of a new instance.
const FIRST_CONFIG: &str = r#"{
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
const CHANGING: &[&str] =
    &["append_file", "cron", "delegate", "edit_file", "exec", "spawn", "subagent", "write_file"];

/// The name of the embedded provider, which asks no model.
pub(crate) const DIRECT: &str = "direct";

/// Which tools a house has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offer {
    /// All that the configuration leaves on.
    Everything,
    /// Of those, the ones that change nothing.
    ReadOnly,
}

/// Everything that a call walks through.
pub(crate) struct House {
    /// What judges, records and hands out keys.
    pub(crate) warden: Arc<Warden>,
    /// The tools.
    pub(crate) registry: Arc<Registry>,
    /// The instance they are in.
    pub(crate) instance: Instance,
}

/// Everybody.
pub(crate) struct Company {
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
pub(crate) fn is_new(loaded: &Loaded) -> bool {
    loaded.presence == Presence::Missing && !Instance::exists(&loaded.home)
}

/// Makes a new instance, as `onboard` would, and says so in one line.
pub(crate) fn make(loaded: &Loaded) -> Result<()> {
    furnish(&prepare(loaded)?, loaded)?;
    print::note(&format!("picoclaw: made a new instance in `{}`", loaded.home.display()));
    Ok(())
}

/// Makes what is missing of the instance's directories, and warns when others can enter.
pub(crate) fn instance(loaded: &Loaded) -> Result<Instance> {
    let instance = prepare(loaded)?;
    if instance.is_open_to_others() {
        tracing::warn!(target: "instance", path = %loaded.home.display(), "Other users can enter the instance; `chmod 700` it");
    }
    Ok(instance)
}

/// Makes the instance's directories.
pub(crate) fn prepare(loaded: &Loaded) -> Result<Instance> {
    let pinned = [loaded.config_path.clone(), loaded.secrets_path.clone()];
    Ok(Instance::prepare_seen(&loaded.home, &loaded.config, &pinned, &loaded.survey)?)
}

/// Writes the first configuration, where the configuration is the instance's own.
pub(crate) fn furnish(instance: &Instance, loaded: &Loaded) -> Result<Planted> {
    if loaded.config_path != instance.home().join("config.json") {
        return Ok(Planted::Kept);
    }
    // A new configuration has its children caged, where this host can.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let isolation = IsolationConfig { enabled: true, ..loaded.config.isolation.clone() };
    let enabled = matches!(pick(&isolation, &path), Ok(Rung::Native | Rung::Bwrap(_)));
    let text = FIRST_CONFIG.replace("{isolation}", if enabled { "true" } else { "false" });
    instance.plant("config.json", &text).context("could not write the first configuration")
}

/// Opens the ledger and every workspace, and puts the warden before them.
pub(crate) fn house(loaded: &Loaded) -> Result<House> {
    house_for(loaded, Offer::Everything)
}

/// The same, with only some of the tools.
pub(crate) fn house_for(loaded: &Loaded, offer: Offer) -> Result<House> {
    let instance = instance(loaded)?;
    let workshop = Workshop::new(&loaded.config, &instance, std::env::vars_os())?;
    furnished(loaded, instance, workshop, offer)
}

/// The house for a program that lives for one call: what one that stays finds out by trying may be remembered.
pub(crate) fn house_for_one_call(loaded: &Loaded) -> Result<House> {
    let instance = instance(loaded)?;
    let workshop = Workshop::for_one_call(&loaded.config, &instance, std::env::vars_os())?;
    furnished(loaded, instance, workshop, Offer::Everything)
}

fn furnished(loaded: &Loaded, instance: Instance, workshop: Workshop, offer: Offer) -> Result<House> {
    let zones = instance.zones();
    let files = Files::open(zones.clone(), &instance.locks()).context("could not open the workspaces")?;
    let ledger = Ledger::open(&instance.ledger())?.redacting(Redactor::new(&loaded.config.secrets));
    let warden = Warden::new(policy(&loaded.config, zones, offer)?, files, workshop, ledger);
    let registry = Arc::new(registry(&loaded.config));
    Ok(House { warden: Arc::new(warden), registry, instance: instance.clone() })
}

/// The tools, with the bounds of the configuration.
pub(crate) fn registry(config: &Config) -> Registry {
    Registry::new(&config.tools, Redactor::new(&config.secrets))
}

/// On whose behalf a command of the operator's runs.
pub(crate) fn subject(loaded: &Loaded, agent: Option<&str>, origin: Origin) -> Result<Subject> {
    let agent = match agent {
        None => loaded.config.default_agent.clone(),
        Some(name) => AgentId::parse(name)
            .filter(|id| loaded.config.agents.iter().any(|known| known.id == *id))
            .with_context(|| unknown_agent(name, &loaded.config))?,
    };
    Ok(Subject::root(origin, agent, "cli:default"))
}

fn unknown_agent(name: &str, config: &Config) -> String {
    let known: Vec<_> = config.agents.iter().map(|agent| agent.id.as_str()).collect();
    format!("there is no agent `{name}`\nhint: the configuration names {}", known.join(", "))
}

fn policy(config: &Config, zones: BTreeMap<AgentId, Zones>, offer: Offer) -> Result<Policy> {
    let temp = std::env::temp_dir();
    let shared = SHARED.iter().map(Path::new).chain([temp.as_path()]).filter_map(CleanPath::absolute);
    let mut policy = Policy::compile(config, zones, shared.collect())?;
    if offer == Offer::ReadOnly {
        policy.disabled.extend(CHANGING.iter().map(|tool| ((*tool).to_owned(), "--read-only".to_owned())));
    }
    Ok(policy)
}

/// Composes everybody.
pub(crate) fn company(loaded: &Loaded) -> Result<Company> {
    around(loaded, house(loaded)?)
}

fn around(loaded: &Loaded, house: House) -> Result<Company> {
    let hall = Hall::new(house.warden, house.registry);
    let models = Models::with_guests(&loaded.config, Arc::clone(hall.warden()));
    let config = Arc::new(loaded.config.clone());
    let runner = Runner::open(hall.clone(), config, Arc::new(models.clone()), &house.instance)?;
    let sessions = runner.sessions().clone();
    Ok(Company { hall, models, sessions, runner, instance: house.instance })
}

/// The same, for a program that lives for one turn.
pub(crate) fn company_for_one_turn(loaded: &Loaded) -> Result<Company> {
    around(loaded, house_for_one_call(loaded)?)
}

/// What turns wait in: one thread that waits, and others that work when a room is asked for something.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    builder.enable_all().build().context("could not start the runtime")
}

/// Whether the configuration has a server that `is_meant`.
pub(crate) fn has_servers(loaded: &Loaded, is_meant: impl Fn(&str) -> bool) -> bool {
    let mcp = &loaded.config.mcp;
    mcp.enabled && mcp.servers.iter().any(|server| server.enabled && is_meant(&server.name))
}

/// Does `work` in a hall that has the tools of the servers that are meant.
pub(crate) fn with_servers<T>(
    loaded: &Loaded,
    house: House,
    subject: &Subject,
    is_meant: impl Fn(&str) -> bool,
    work: impl AsyncFnOnce(Hall) -> T,
) -> Result<T> {
    let mut meant: McpConfig = loaded.config.mcp.clone();
    meant.servers.retain(|server| is_meant(&server.name));
    // A person who names a tool has found it.
    meant.servers.iter_mut().for_each(|server| server.deferred = false);
    let fleet = Fleet::new(&meant, &house.warden, Pins::open(house.instance.home())?, subject);
    let hall = Hall::new(house.warden, house.registry);
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
