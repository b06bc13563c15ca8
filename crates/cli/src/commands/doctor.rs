//! `picoclaw doctor`: tries in a real cage what a child can do on this host.
//!
//! The exit code is 1 if a guarantee does not hold, or if no cage is available.

use crate::arguments::DoctorArguments;
use crate::exit::Exit;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::{app, print};
use anyhow::Result;
use picoclaw_policy::config::{Config, Expose, ExposeMode};
use picoclaw_sandbox::exec::{DoctorMode, ExecEnv};
use picoclaw_sandbox::instance::Instance;
use picoclaw_sandbox::isolate::{
    Backend, CheckResult, DecoyListener, Decoys, DoctorCheck, Fence, MAPS_PATHS, ProbeResult, Unusable,
    Visibility, probe,
};
use picoclaw_sandbox::outbound::can_connect;
use serde_json::{Value, json};
use std::ffi::OsString;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::{Path, PathBuf};

/// A variable that must not reach a child.
const DECOY_VARIABLE: &str = "PICOCLAW_DOCTOR_DECOY";

/// What no probe can show, because it happens after a command has started or out of sight.
const NOT_HELD: [&str; 1] = [
    "UNIX sockets in exposed directories that are bound after a command has started, or in another network namespace",
];

/// Memory limit of the trial cage, in MiB: small enough to be reached.
const TRIAL_MEMORY_MB: u64 = 256;

/// Examines this host.
pub(crate) fn run(arguments: &DoctorArguments, settings: &Settings) -> Result<Exit> {
    let instance = app::open_instance(settings)?;
    let path = std::env::var_os("PATH").unwrap_or_default();
    let progress = Progress::of("trying in a cage what a child can do");
    let probed = probe(&path);
    let mut host: Vec<(OsString, OsString)> = std::env::vars_os().collect();
    host.push((DECOY_VARIABLE.into(), "decoy".into()));
    // Bound before the cage is made, as sockets of other processes are.
    let decoy = DecoySocket::bind(&instance, settings);
    let (findings, broken) = match ExecEnv::new(&with_isolation(&settings.config), &instance, host.clone()) {
        Ok(exec_env) => {
            let socket = decoy.as_ref().map(|decoy| decoy.path.as_path());
            let findings = examine(&exec_env, &instance, settings, (&host, socket), arguments);
            let broken = findings.iter().any(|finding| finding.result == CheckResult::Broken);
            (Ok((findings, exec_env)), broken)
        }
        Err(why) => (Err(why.to_string()), true),
    };
    drop(progress);
    let report = report(&probed, &findings, settings, &instance);
    match arguments.json {
        true => print::line(&serde_json::to_string_pretty(&report)?)?,
        false => print::line(&print::wrapped(&report_text(&report, Columns::here()), 4))?,
    }
    Ok(if broken { Exit::Refused } else { Exit::Done })
}

/// A socket of this process in the workspace that is examined; removed when dropped.
struct DecoySocket {
    path: PathBuf,
    _listener: DecoyListener,
}

impl DecoySocket {
    /// `None` where no socket can be made: its path may be too long.
    fn bind(instance: &Instance, settings: &Settings) -> Option<Self> {
        let own = instance.workspaces().iter().find(|own| own.agent == settings.config.default_agent)?;
        let path = own.real.as_path().join(format!(".picoclaw-doctor-{}", std::process::id()));
        Some(Self { _listener: DecoyListener::bind(&path)?, path })
    }
}

impl Drop for DecoySocket {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// In a child of the examination: takes memory of one kind.
pub(crate) fn hold(kind: &str, mebibytes: usize) -> Result<Exit> {
    print::line(picoclaw_sandbox::isolate::hold_memory(kind, mebibytes))?;
    Ok(Exit::Done)
}

/// In a child of the examination: tries to connect to its parent, by a path or by an address.
pub(crate) fn connect(socket: &Path) -> Result<Exit> {
    let address = socket.to_str().and_then(|text| text.parse::<SocketAddr>().ok());
    let connected = match address {
        Some(address) => can_connect(address),
        None => DecoyListener::can_connect(socket),
    };
    print::line(if connected { "yes" } else { "no" })?;
    Ok(Exit::Done)
}

/// The configuration with isolation on, and a memory limit that can be reached.
fn with_isolation(config: &Config) -> Config {
    let mut config = config.clone();
    config.isolation.enabled = true;
    if let Some(program) = std::env::current_exe().ok().filter(|_| MAPS_PATHS) {
        // It takes memory and connects in the cage.
        let (source, target) = (program.clone(), program);
        config.isolation.expose_paths.push(Expose { source, target, mode: ExposeMode::ReadOnly });
    }
    if config.isolation.limits.memory_mb > 0 {
        config.isolation.limits.memory_mb = config.isolation.limits.memory_mb.min(TRIAL_MEMORY_MB);
    }
    config
}

fn examine(
    exec_env: &ExecEnv,
    instance: &Instance,
    settings: &Settings,
    (host, socket): (&Vec<(OsString, OsString)>, Option<&Path>),
    arguments: &DoctorArguments,
) -> Vec<DoctorCheck> {
    let config = with_isolation(&settings.config);
    let program = std::env::current_exe().ok();
    let home = std::env::home_dir().unwrap_or_else(|| PathBuf::from("/root"));
    let secret = instance.ledger().join("HEAD");
    let secret = if secret.exists() { secret } else { settings.config_path.clone() };
    let landlock = matches!(exec_env.backend(), Some(Backend::Landlock));
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).ok();
    let decoys = Decoys {
        home: &home,
        secret: &secret,
        writable: &home,
        socket,
        sockets_held: !(landlock && config.isolation.unix_sockets),
        address: listener.as_ref().and_then(|listener| listener.local_addr().ok()),
        variable: DECOY_VARIABLE,
        network: config.isolation.network,
        processes: match exec_env.backend() {
            Some(Backend::Landlock) => Visibility::Visible,
            Some(Backend::NativeHostProc) => Visibility::Named,
            _ => Visibility::Hidden,
        },
        limits: config.isolation.limits,
        program: program.as_deref(),
    };
    let Some(own) = instance.workspaces().iter().find(|own| own.agent == settings.config.default_agent)
    else {
        return Vec::new();
    };
    let ask = |trial| exec_env.examine(&own.agent, own.named.as_path(), &decoys, trial, host);
    let findings = ask(DoctorMode::Confined);
    let Some(layer) = &arguments.fault else { return findings };
    // `--fault`: the findings without the layer.
    let bare =
        ask(DoctorMode::Control).into_iter().filter(|finding| layer == "all" || finding.layer == layer);
    let kept = findings.into_iter().filter(|finding| layer != "all" && finding.layer != layer);
    kept.chain(bare).collect()
}

fn report(
    probed: &ProbeResult,
    findings: &Result<(Vec<DoctorCheck>, ExecEnv), String>,
    settings: &Settings,
    instance: &Instance,
) -> Value {
    let tried = |missing: Option<&Unusable>| missing.map_or("yes".to_owned(), |why| format!("no: {why}"));
    let rows = findings
        .as_ref()
        .map(|(findings, _)| findings.iter().map(finding_json).collect::<Vec<_>>())
        .unwrap_or_default();
    let enforced = findings
        .as_ref()
        .ok()
        .and_then(|(_, exec_env)| exec_env.enforced(&settings.config.default_agent))
        .map(|enforced| {
            enforced
                .words()
                .into_iter()
                .map(|(name, word)| (name.to_owned(), Value::from(word)))
                .collect::<serde_json::Map<_, _>>()
        });
    let backend =
        findings.as_ref().ok().and_then(|(_, exec_env)| exec_env.backend()).map(|backend| backend.name());
    json!({
        "instance": instance.home().display().to_string(),
        "isolation_enabled": settings.config.isolation.enabled,
        "host": {
            "native": tried(probed.native.as_ref().err()),
            "bwrap": tried(probed.bwrap.as_ref().err()),
            "landlock_abi": probed.landlock,
            "remedy": probed.remedy,
        },
        "rung": backend,
        "enforced": enforced,
        "error": findings.as_ref().err(),
        "probes": rows,
        "not_held": NOT_HELD,
    })
}

fn finding_json(finding: &DoctorCheck) -> Value {
    let outcome = match finding.result {
        CheckResult::Kept => "kept",
        CheckResult::Broken => "broken",
        CheckResult::NotPromised => "not promised",
    };
    json!({"question": finding.question, "expected": finding.expected, "observed": finding.observed, "layer": finding.layer, "outcome": outcome})
}

/// The columns of the table of probes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Columns {
    All,
    /// Without the layer, for a narrow terminal.
    Narrow,
}

impl Columns {
    fn here() -> Self {
        match print::terminal_width() {
            Some(..100) => Self::Narrow,
            _ => Self::All,
        }
    }
}

fn report_text(report: &Value, columns: Columns) -> String {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut lines = vec![format!(
        "cage on this host: native {}, bubblewrap {}, Landlock ABI {}",
        text(&report["host"]["native"]),
        text(&report["host"]["bwrap"]),
        report["host"]["landlock_abi"]
    )];
    lines.extend(report["host"]["remedy"].as_str().map(|remedy| format!("hint: {remedy}")));
    let has_cage = match report["error"].as_str() {
        Some(why) => {
            lines.push(format!("no cage is available: {why}"));
            false
        }
        None => {
            lines.push(format!("held by: {}", text(&report["rung"])));
            lines.extend(examined(report, columns));
            true
        }
    };
    lines.push(String::new());
    lines.extend(NOT_HELD.iter().map(|what| format!("not held: {what}")));
    if report["isolation_enabled"] == false {
        lines.push(String::new());
        let place =
            if Fence::is_available() { "behind the fence (`tools.exec.fence`)" } else { "with your rights" };
        let off = format!("isolation is off in the configuration: commands run {place}");
        match has_cage {
            true => lines.extend([
                format!("{off}, not in the cage that was examined"),
                "hint: `isolation.enabled`: true puts them into the cage that was just examined".to_owned(),
            ]),
            false => lines.push(off),
        }
    }
    lines.join("\n")
}

/// The layers of the cage, and what was tried in it.
fn examined(report: &Value, columns: Columns) -> Vec<String> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut lines = Vec::new();
    if let Some(layers) = report["enforced"].as_object() {
        lines.extend(layers.iter().map(|(name, grade)| format!("  {name:<11} {}", text(grade))));
    }
    lines.push(String::new());
    let row = |question: &str, outcome: &str, observed: &str, layer: &str| match columns {
        Columns::All => format!("{question:<42} {outcome:<12} {observed:<28} {layer}"),
        Columns::Narrow => format!("{question:<38} {outcome:<12} {observed}"),
    };
    lines.push(row("probe", "outcome", "observed", "layer"));
    for probe in report["probes"].as_array().into_iter().flatten() {
        let cell = |name: &str| text(&probe[name]);
        lines.push(row(&cell("question"), &cell("outcome"), &cell("observed"), &cell("layer")));
    }
    lines
}
