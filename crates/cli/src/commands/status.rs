//! `picoclaw status`: the effective settings, and every exception to the defaults. Changes nothing.

use crate::app::DIRECT_PROVIDER;
use crate::arguments::Listing;
use crate::commands::approvals::rule_line;
use crate::commands::version::VERSION;
use crate::exit::Exit;
use crate::print;
use crate::settings::{ConfigPresence, EnvModel, Settings};
use anyhow::Result;
use picoclaw_agent::run::{InstructionHistory, PromptSources};
use picoclaw_policy::config::{Config, FenceMode};
use picoclaw_sandbox::always::{AlwaysRule, AlwaysRules};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::isolate::{Fence, select_backend};
use picoclaw_sandbox::ledger::Reader;
use picoclaw_sandbox::presence::GatewayLock;
use picoclaw_sandbox::printable;
use serde_json::{Value, json};
use std::path::PathBuf;

/// Shows the status.
pub(crate) fn run(listing: &Listing, settings: &Settings) -> Result<Exit> {
    let status = status_json(&StatusInput::of(settings))?;
    if listing.json {
        print::line(&serde_json::to_string_pretty(&status)?)?;
    } else {
        print::line(&print::wrapped(&status_text(&status), 11))?;
    }
    Ok(Exit::Done)
}

/// The settings that the status shows.
#[derive(Clone)]
pub(crate) struct StatusInput {
    config: Config,
    home: PathBuf,
    config_path: PathBuf,
    presence: ConfigPresence,
    warnings: Vec<String>,
    env_models: Vec<EnvModel>,
}

impl StatusInput {
    pub(crate) fn of(settings: &Settings) -> Self {
        Self {
            config: settings.config.clone(),
            home: settings.home.clone(),
            config_path: settings.config_path.clone(),
            presence: settings.presence,
            warnings: settings.unnamed_isolation().into_iter().chain(settings.warnings()).collect(),
            env_models: settings.env_models.clone(),
        }
    }
}

/// The status as JSON.
pub(crate) fn status_json(settings: &StatusInput) -> Result<Value> {
    let config = &settings.config;
    let agents: Vec<_> = config
        .agents
        .iter()
        .map(|agent| {
            let workspace = config.workspace_of(&agent.id, &settings.home);
            json!({
                "id": agent.id.as_str(),
                "workspace": workspace.display().to_string(),
                "exists": workspace.is_dir(),
                "disabled_tools": agent.disabled_tools,
            })
        })
        .collect();
    let head = match Reader::open(&settings.home.join("ledger"))? {
        Some(reader) => reader.head()?,
        None => None,
    };
    Ok(json!({
        "version": VERSION,
        "home": settings.home.display().to_string(),
        "instance": if Instance::exists(&settings.home) { "made" } else { "not made yet" },
        "config": settings.config_path.display().to_string(),
        "config_file": if settings.presence == ConfigPresence::Present { "present" } else { "missing, defaults apply" },
        "model": model_text(config),
        "model_variable": env_variable(settings),
        "agents": agents,
        "posture": {
            "workspace": if config.restrict_to_workspace { "restricted" } else { "unrestricted" },
            "guard": if config.tools.exec.enable_deny_patterns { "on" } else { "off" },
            "isolation": isolation_text(config),
        },
        "gateway": gateway_json(settings),
        "exceptions": settings.warnings,
        "always": always_json(settings)?,
        "instructions": instructions_json(settings)?,
        "ledger_head": head.map(|tip| json!({"seq": tip.seq, "hash": tip.hash.to_string()})),
    }))
}

/// The model of the default agent: its own, else the default model, else the first.
fn model_text(config: &Config) -> String {
    let own = config.agents.iter().find(|agent| agent.id == config.default_agent);
    let named = own.and_then(|agent| agent.model.clone()).or_else(|| config.turns.model.clone());
    let first = || config.models.first().map(|model| model.name.clone());
    named.or_else(first).unwrap_or_else(|| DIRECT_PROVIDER.to_owned())
}

/// The environment variable that the model is there for, if the configuration has none.
fn env_variable(settings: &StatusInput) -> Option<&str> {
    let model = model_text(&settings.config);
    settings.env_models.iter().find(|known| known.entry.name == model).map(|known| known.variable.as_str())
}

/// What really confines commands on this host, found by probing.
fn isolation_text(config: &Config) -> String {
    if !config.isolation.enabled {
        let fence = match config.tools.exec.fence {
            FenceMode::Full | FenceMode::Writes if !Fence::is_available() => {
                return format!("off, and no fence: {}", Fence::WHY_NOT);
            }
            FenceMode::Full if config.restrict_to_workspace => {
                "off; a fence holds what commands read and write"
            }
            FenceMode::Writes if config.restrict_to_workspace => "off; writes of commands are fenced",
            FenceMode::Full | FenceMode::Writes | FenceMode::Off => "off",
        };
        return fence.to_owned();
    }
    match select_backend(&config.isolation, &std::env::var_os("PATH").unwrap_or_default()) {
        Ok(backend) => format!("on, held by {}: {}", backend.name(), backend.enforced(&config.isolation)),
        Err(why) => format!("on, but not available: {why}"),
    }
}

/// The instruction files of each agent: whether they are trusted, and who bounds a turn that reads
/// them.
fn instructions_json(settings: &StatusInput) -> Result<Value> {
    if !Instance::exists(&settings.home) {
        return Ok(json!([]));
    }
    let instance = Instance::prepare(&settings.home, &settings.config, &[])?;
    let sources = PromptSources::open(&instance)?;
    let history = InstructionHistory::open(&settings.home, &settings.config)?;
    let mut rows = Vec::new();
    for agent in &settings.config.agents {
        for file in sources.files(&agent.id) {
            let bounds = history.bounds(&agent.id, std::slice::from_ref(&file));
            rows.push(json!({
                "agent": agent.id.as_str(),
                "path": file.path.display().to_string(),
                "trusted": history.is_trusted(&file),
                "bounded_by": bounds.iter().map(|agent| agent.as_str()).collect::<Vec<_>>(),
            }));
        }
    }
    Ok(Value::Array(rows))
}

/// One line for each instruction file.
fn instruction_lines(status: &Value) -> Vec<String> {
    let line = |row: &Value| {
        let bounds: Vec<_> =
            row["bounded_by"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let state = match (row["trusted"] == true, bounds.as_slice()) {
            (true, _) => "trusted".to_owned(),
            (false, []) => "not trusted; written by its agent alone".to_owned(),
            (false, bounds) => format!("not trusted; its turns are bounded by {}", bounds.join(", ")),
        };
        format!("instructions: {} ({state})", printable(row["path"].as_str().unwrap_or("-")))
    };
    status["instructions"].as_array().into_iter().flatten().map(line).collect()
}

/// The acts that are always allowed.
fn always_json(settings: &StatusInput) -> Result<Value> {
    // The status of an instance that does not exist creates nothing.
    if !Instance::exists(&settings.home) {
        return Ok(json!([]));
    }
    let rules = AlwaysRules::open(&settings.home)?.list()?;
    Ok(serde_json::to_value(rules)?)
}

/// Whether the gateway runs, and where. Its token is not shown.
fn gateway_json(settings: &StatusInput) -> Value {
    if !GatewayLock::is_running(&settings.home) {
        return json!({"running": false});
    }
    match GatewayLock::read_pid_file(&settings.home) {
        Some(known) => json!({
            "running": true,
            "pid": known.pid,
            "version": known.printable_version(),
            "host": printable(&known.host),
            "port": known.port,
        }),
        None => json!({"running": true}),
    }
}

fn status_text(status: &Value) -> String {
    let text = |pointer: &str| status.pointer(pointer).and_then(Value::as_str).unwrap_or("-").to_owned();
    let mut lines = vec![
        format!("picoclaw {}", text("/version")),
        format!("instance:  {} ({})", text("/home"), text("/instance")),
        format!("config:    {} ({})", text("/config"), text("/config_file")),
        match text("/model") {
            name if name == DIRECT_PROVIDER => {
                format!("model:     {name} (none is configured: lines are commands)")
            }
            name => match status["model_variable"].as_str() {
                Some(variable) => format!("model:     {name} (by `{variable}` in the environment)"),
                None => format!("model:     {name}"),
            },
        },
    ];
    for agent in status["agents"].as_array().into_iter().flatten() {
        let (id, workspace) =
            (agent["id"].as_str().unwrap_or("-"), agent["workspace"].as_str().unwrap_or("-"));
        let exists = if agent["exists"] == true { "" } else { " (not made yet)" };
        lines.push(format!("agent:     {id}, workspace {workspace}{exists}"));
    }
    for layer in ["workspace", "guard", "isolation"] {
        lines.push(format!("{:<10} {}", format!("{layer}:"), text(&format!("/posture/{layer}"))));
    }
    lines.push(match &status["gateway"] {
        gateway if gateway["running"] != true => "gateway:   not running".to_owned(),
        gateway => {
            let at = |name: &str| gateway[name].as_str().unwrap_or("-").to_owned();
            format!("gateway:   running (PID: {}) on {}:{}", gateway["pid"], at("host"), gateway["port"])
        }
    });
    match status["ledger_head"].as_object() {
        Some(head) => lines.push(format!(
            "ledger:    {} records, head {}",
            head["seq"],
            head["hash"].as_str().unwrap_or("-")
        )),
        None => lines.push("ledger:    no records yet".to_owned()),
    }
    lines.extend(instruction_lines(status));
    let always: Vec<AlwaysRule> = serde_json::from_value(status["always"].clone()).unwrap_or_default();
    if !always.is_empty() {
        lines.push("always allowed, by an answer of a person (`picoclaw approvals revoke ID`):".to_owned());
        lines.extend(always.iter().map(|rule| format!("  - {}", rule_line(rule))));
    }
    let exceptions: Vec<_> =
        status["exceptions"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if exceptions.is_empty() {
        lines.push("exceptions: none; every protection is at its default".to_owned());
    } else {
        lines.push("exceptions to the defaults:".to_owned());
        lines.extend(exceptions.iter().map(|line| format!("  - {line}")));
    }
    lines.join("\n")
}
