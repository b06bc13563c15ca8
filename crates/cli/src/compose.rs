//! Composing: from settings to a house that calls can walk through.
//!
//! Invariant: a house stands complete, with its ledger open, before the first call.

mod company;
mod guests;

use crate::print;
use crate::settings::{Loaded, Presence};
use anyhow::{Context, Result};
use picoclaw_agent::tools::Registry;
use picoclaw_policy::config::{Config, IsolationConfig};
use picoclaw_policy::{AgentId, CleanPath, Origin, Policy, Subject, Zones};
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::exec::ExecEnv;
use picoclaw_sandbox::files::Files;
use picoclaw_sandbox::instance::{Created, Instance};
use picoclaw_sandbox::isolate::{Backend, select_backend};
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::warden::Warden;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

pub(crate) use company::{Company, DIRECT, company, runtime};
pub(crate) use guests::{has_servers, with_servers};

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
    Ok(Instance::prepare(&loaded.home, &loaded.config, &pinned)?)
}

/// Writes the first configuration, where the configuration is the instance's own.
pub(crate) fn furnish(instance: &Instance, loaded: &Loaded) -> Result<Created> {
    if loaded.config_path != instance.home().join("config.json") {
        return Ok(Created::Existing);
    }
    // A new configuration has its children caged, where this host can.
    let path = std::env::var_os("PATH").unwrap_or_default();
    let isolation = IsolationConfig { enabled: true, ..loaded.config.isolation.clone() };
    let enabled = matches!(select_backend(&isolation, &path), Ok(Backend::Native | Backend::Bwrap(_)));
    let text = FIRST_CONFIG.replace("{isolation}", if enabled { "true" } else { "false" });
    instance.create_file("config.json", &text).context("could not write the first configuration")
}

/// Opens the ledger and every workspace, and puts the warden before them.
pub(crate) fn house(loaded: &Loaded) -> Result<House> {
    house_for(loaded, Offer::Everything)
}

/// The same, with only some of the tools.
pub(crate) fn house_for(loaded: &Loaded, offer: Offer) -> Result<House> {
    let instance = instance(loaded)?;
    let exec_env = ExecEnv::new(&loaded.config, &instance, std::env::vars_os())?;
    furnished(loaded, instance, exec_env, offer)
}

fn furnished(loaded: &Loaded, instance: Instance, exec_env: ExecEnv, offer: Offer) -> Result<House> {
    let zones = instance.zones();
    let files = Files::open(zones.clone(), &instance.locks()).context("could not open the workspaces")?;
    let ledger = Ledger::open(&instance.ledger())?.redacting(Redactor::new(&loaded.config.secrets));
    let warden = Warden::new(policy(&loaded.config, zones, offer)?, files, exec_env, ledger);
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
