//! The first of the two steps of a server that `npx` or `uvx` starts: its packages are fetched with
//! an open network, in a cage that shows nothing else. The second step runs them without it.

use crate::progress::Progress;
use crate::settings::Settings;
use crate::{app, print};
use anyhow::{Context, Result, bail};
use picoclaw_policy::Origin;
use picoclaw_policy::config::{ExposeMode, IsolationConfig, McpServerConfig, McpTransport, Network};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::exec::OperatorCommand;
use picoclaw_sandbox::fetched::{FetchPlace, FetchStep, PackageCommand};
use picoclaw_sandbox::isolate::CacheMode;
use picoclaw_sandbox::launch::{Deadline, Output, Principal, Status, Stdin, Streams};
use picoclaw_sandbox::{HostAgents, printable_lines};
use std::ffi::OsString;

/// Prefixes of variables that tell a package manager where its registry is.
const REGISTRY_VARIABLES: [&str; 4] = ["npm_config_", "NPM_CONFIG_", "UV_", "PIP_"];

/// Fetches the packages of a configured server, if it is one that has none yet and no open network.
pub(super) fn fetch_for_server(server: &McpServerConfig, loaded: &Settings) -> Result<()> {
    let McpTransport::Stdio { command, args, env, .. } = &server.transport else { return Ok(()) };
    let isolation = loaded.config.isolation.with_own(&server.isolation);
    if isolation.enabled && !isolation.network.is_open() {
        let words: Vec<OsString> = std::iter::once(command).chain(args).map(OsString::from).collect();
        let variables: Vec<_> =
            env.iter().map(|(name, value)| (name.into(), value.reveal().into())).collect();
        fetched_command(&words, &variables, "", loaded)?;
    }
    Ok(())
}

/// The command as it runs without an open network. `prefix` is that of messages.
pub(super) fn fetched_command(
    command: &[OsString],
    variables: &[(OsString, OsString)],
    prefix: &str,
    loaded: &Settings,
) -> Result<Vec<OsString>> {
    let Some(packages) = PackageCommand::parse(command) else { return Ok(command.to_vec()) };
    let instance = app::open_instance(loaded)?;
    let place = FetchPlace::new(instance.home(), &packages)?;
    if let Some(command) = place.find()? {
        return Ok(command);
    }
    let names = packages.packages();
    print::note(&format!(
        "{prefix}step 1 of 2: fetching `{names}` with the network open to every host; nothing of yours is shown to it"
    ));
    let mut step = place.prepare()?;
    let is_registry = |name: &OsString| name.to_str().is_some_and(is_registry_variable);
    step.variables.extend(variables.iter().filter(|(name, _)| is_registry(name)).cloned());
    run_fetch(&step, &place, loaded).with_context(|| format!("could not fetch `{names}`"))?;
    let command = place.record()?;
    print::note(&format!("{prefix}step 2 of 2: it runs from there, now and at every later start"));
    Ok(command)
}

fn is_registry_variable(name: &str) -> bool {
    REGISTRY_VARIABLES.iter().any(|prefix| name.starts_with(prefix))
}

fn run_fetch(step: &FetchStep, place: &FetchPlace<'_>, loaded: &Settings) -> Result<()> {
    let instance = app::open_instance(loaded)?;
    let mut isolation = IsolationConfig {
        enabled: true,
        network: Network::Host,
        expose_paths: Vec::new(),
        ..loaded.config.isolation.clone()
    };
    isolation.env_pass.retain(|name| is_registry_variable(name));
    let command = OperatorCommand {
        isolation: &isolation,
        instance: &instance,
        principal: Principal::Mcp(place.principal_name()),
        dir: ChildDir::Path { path: &step.directory, mode: ExposeMode::ReadWrite },
        from: &step.directory,
        command: &step.command,
        home: &[],
        variables: &step.variables,
        host: std::env::vars_os().collect(),
        streams: Streams::Plain { stdin: Stdin::Null, output: Output::Merged },
        deadline: Deadline::None,
        subject: app::subject(loaded, None, Origin::Mcp)?,
        tool: "mcp fetch",
        agents: HostAgents::default(),
        cache: CacheMode::default(),
        publish: &[],
    };
    let _progress = Progress::of("fetching");
    let finished = command.start(app::open_ledger(&instance, &loaded.config)?)?.finish_with_output();
    if finished.status != Status::Exited(0) {
        let text = finished.stdout.to_text();
        let lines: Vec<&str> = text.trim().lines().collect();
        let last = lines.get(lines.len().saturating_sub(5)..).unwrap_or_default().join("\n");
        bail!("exit code {}\n{}", finished.status.exit_code(), printable_lines(&last));
    }
    Ok(())
}
