//! `picoclaw run`: any command in the cage.
//!
//! Invariant: the command's own status is ours; what goes wrong about the cage is 125, before anything runs.

use crate::arguments::RunArguments;
use crate::settings::Loaded;
use crate::{compose, quantity};
use anyhow::{Context, Result, bail};
use picoclaw_policy::config::{Expose, ExposeMode, Grounds, IsolationConfig, Network, check_workspaces};
use picoclaw_policy::{AgentId, Origin};
use picoclaw_sandbox::exec::{Errand, ErrandError};
use picoclaw_sandbox::launch::{Output, Status, Stdin, Streams};
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::{Redactor, relay};
use std::ffi::OsString;
use std::io::IsTerminal;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

/// Exit status: the cage itself could not be built.
const NO_CAGE: u8 = 125;

/// Runs the command and answers its status.
pub(crate) fn run(arguments: &RunArguments, loaded: &Loaded) -> Result<ExitCode> {
    match prepared(arguments, loaded) {
        Ok(code) => Ok(code),
        Err(why) => {
            let code = why.downcast_ref::<ErrandError>().map_or(NO_CAGE.into(), ErrandError::exit_code);
            complain(&why);
            Ok(exit(code))
        }
    }
}

fn prepared(arguments: &RunArguments, loaded: &Loaded) -> Result<ExitCode> {
    let workspace = workspace(arguments, loaded)?;
    let isolation = isolation(arguments, loaded)?;
    let timeout = arguments.timeout.as_deref().map(quantity::duration).transpose()?;
    let variables = arguments.env.iter().map(|text| variable(text)).collect::<Result<Vec<_>>>()?;
    let instance = compose::instance(loaded)?;
    let ledger = Ledger::open(&instance.ledger())?.redacting(Redactor::new(&loaded.config.secrets));
    let terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let streams = if terminal {
        Streams::StandIn
    } else {
        Streams::Plain { stdin: Stdin::Inherit, output: Output::Inherit }
    };
    let signals = relay::listen().context("could not listen to signals")?;
    let errand = Errand {
        isolation: &isolation,
        instance: &instance,
        workspace: &workspace,
        command: &arguments.command,
        variables: &variables,
        host: std::env::vars_os().collect(),
        streams,
        subject: compose::subject(loaded, None, Origin::Cli)?,
    };
    let mut away = errand.start(&ledger)?;
    let status = if terminal {
        relay::relay(&mut away.running, &signals, timeout)
    } else {
        relay::attend(&mut away.running, &signals, timeout)
    };
    away.back(status);
    tell(status, timeout);
    Ok(exit(status.exit_code()))
}

/// The directory that the child may write: never one that holds more than a project.
fn workspace(arguments: &RunArguments, loaded: &Loaded) -> Result<PathBuf> {
    let named = match &arguments.workspace {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_dir().context("there is no current directory")?,
    };
    let real = named
        .canonicalize()
        .with_context(|| format!("could not use `{}` as the workspace", named.display()))?;
    if !real.is_dir() {
        bail!("`{}` is not a directory", named.display());
    }
    let name = AgentId::parse("run").unwrap_or_else(AgentId::main);
    let homes: Vec<PathBuf> =
        std::env::home_dir().into_iter().chain([PathBuf::from("/root"), PathBuf::from("/home")]).collect();
    let home = loaded.home.canonicalize().unwrap_or_else(|_| loaded.home.clone());
    let files = [loaded.config_path.clone(), loaded.secrets_path.clone()];
    let grounds = Grounds { instance: &home, homes: &homes, files: &files };
    if let Some(fault) = check_workspaces(&[(name, real.clone())], &grounds).first() {
        bail!("{fault}\nhint: run it in a project's directory, or name one with --workspace");
    }
    Ok(real)
}

/// The configuration's cage, with the flags on top.
fn isolation(arguments: &RunArguments, loaded: &Loaded) -> Result<IsolationConfig> {
    let mut isolation = loaded.config.isolation.clone();
    isolation.enabled = true;
    isolation.network = match arguments.net.as_str() {
        "host" => Network::Host,
        _ => Network::None,
    };
    if let Some(toolchains) = &arguments.toolchain {
        isolation.toolchains.clone_from(toolchains);
    }
    if let Some(memory) = &arguments.memory {
        isolation.limits.memory_mb = quantity::mebibytes(memory)?;
    }
    for (paths, mode) in [(&arguments.ro, ExposeMode::ReadOnly), (&arguments.rw, ExposeMode::ReadWrite)] {
        for path in paths {
            let full = std::path::absolute(path)?;
            isolation.expose_paths.push(Expose { source: full.clone(), target: full, mode });
        }
    }
    for text in &arguments.expose {
        isolation.expose_paths.push(exposure(text)?);
    }
    Ok(isolation)
}

/// `SRC:DST:MODE`.
fn exposure(text: &str) -> Result<Expose> {
    let mut parts = text.split(':');
    let (Some(source), Some(target), Some(mode), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        bail!("`--expose {text}` is not SRC:DST:MODE");
    };
    let mode = match mode {
        "ro" => ExposeMode::ReadOnly,
        "rw" => ExposeMode::ReadWrite,
        other => bail!("`--expose {text}`: the mode is `ro` or `rw`, not `{other}`"),
    };
    let target = if target.is_empty() { source } else { target };
    Ok(Expose { source: source.into(), target: target.into(), mode })
}

fn variable(text: &str) -> Result<(OsString, OsString)> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.into(), value.into())),
        _ => bail!("`--env {text}` is not K=V"),
    }
}

fn exit(code: i32) -> ExitCode {
    ExitCode::from(u8::try_from(code).unwrap_or(NO_CAGE))
}

#[expect(clippy::print_stderr, reason = "said whatever the log level is")]
fn tell(status: Status, timeout: Option<Duration>) {
    match (status, timeout) {
        (Status::TimedOut, Some(time)) => eprintln!("picoclaw run: timed out after {} s", time.as_secs_f64()),
        (Status::OutOfMemory, _) => {
            eprintln!("picoclaw run: out of memory (`--memory`, `isolation.limits.memory_mb`)")
        }
        _ => {}
    }
}

#[expect(clippy::print_stderr, reason = "said whatever the log level is")]
fn complain(why: &anyhow::Error) {
    eprintln!("picoclaw run: {why:#}");
}
