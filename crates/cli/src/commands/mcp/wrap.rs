//! `picoclaw mcp wrap`: runs an MCP server in a cage with its instructions, tools, prompts and
//! resource templates pinned. Standard output carries
//! only the protocol; the exit status is the server's.

use super::arguments::WrapArguments;
use super::fetch::fetched_command;
use crate::commands::cage_flags::CageOptions;
use crate::commands::run;
use crate::settings::{ProcessEnv, Settings, exposure_warnings};
use crate::{app, exit, print};
use anyhow::{Context, Result, ensure};
use picoclaw_agent::mcp::pins::{PinKey, Pins};
use picoclaw_agent::mcp::wrap::{AllowedRequests, PinningProxy};
use picoclaw_policy::config::ExposeMode;
use picoclaw_policy::{Origin, Subject};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::exec::OperatorCommand;
use picoclaw_sandbox::isolate::CacheMode;
use picoclaw_sandbox::launch::{Deadline, Limit, Output, Principal, Status, Stdin, Streams};
use picoclaw_sandbox::{CommandError, HostAgents, line_proxy, printable, terminal};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Prefix of messages on standard error.
const PREFIX: &str = "picoclaw mcp wrap: ";

/// Runs the server and returns its exit status.
pub(crate) fn run(
    arguments: &WrapArguments,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<ExitCode> {
    let from = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let asked = CageOptions::parse(&arguments.cage, &loaded.config.isolation)
        .and_then(|asked| Ok((pin_key(arguments, &from)?, asked)));
    let (key, asked) = match asked {
        Ok(asked) => asked,
        Err(why) => return Ok(exit::bad_usage(&why).into()),
    };
    match run_server(arguments, &key, &asked, &from, loaded, process_env) {
        Ok((status, limit)) => {
            if let Some(limit) = limit {
                print::note(&format!("{PREFIX}{}", run::limit_text(limit)));
            }
            Ok(run::code(status.exit_code()))
        }
        Err(why) => {
            let failed = why.downcast_ref::<CommandError>();
            print::note(&format!("{PREFIX}{why:#}"));
            if let Some(hint) = failed.and_then(CommandError::hint) {
                print::note(&format!("hint: {hint}"));
            }
            Ok(run::code(failed.map_or(run::NO_CAGE.into(), CommandError::exit_code)))
        }
    }
}

fn run_server(
    arguments: &WrapArguments,
    key: &PinKey,
    asked: &CageOptions,
    from: &Path,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<(Status, Option<Limit>)> {
    let workspace = match &arguments.workspace {
        Some(path) => Some(run::workspace(&std::path::absolute(path)?, loaded, process_env)?),
        None => None,
    };
    let dir = workspace
        .as_deref()
        .map_or(ChildDir::Private, |path| ChildDir::Path { path, mode: ExposeMode::ReadWrite });
    let instance = app::open_instance(loaded)?;
    let ledger = app::open_ledger(&instance, &loaded.config)?;
    let pins = Pins::open(instance.home())?;
    let mut variables = asked.variables.clone();
    for name in &arguments.pass {
        variables.extend(std::env::var_os(name).map(|value| (name.clone(), value)));
    }
    for note in hidden_path_notes(&arguments.command, from, workspace.as_deref(), instance.home()) {
        print::note(&format!("{PREFIX}{note}"));
    }
    for warning in exposure_warnings(asked.exposures(), process_env) {
        tracing::warn!(target: "isolation", "{warning}");
    }
    let session = format!("mcp:{}", key.name());
    let isolation = asked.apply_to(&loaded.config.isolation);
    let words = if isolation.network.is_open() {
        arguments.command.clone()
    } else {
        fetched_command(&arguments.command, &variables, PREFIX, loaded)?
    };
    let command = OperatorCommand {
        isolation: &isolation,
        instance: &instance,
        principal: match &workspace {
            // What one project's server leaves in its home is not read by another's.
            Some(project) => Principal::wrapped_mcp(key.name(), project),
            None => Principal::Mcp(key.name().to_owned()),
        },
        dir,
        from,
        command: &words,
        home: &[],
        variables: &variables,
        host: std::env::vars_os().collect(),
        streams: Streams::Plain { stdin: Stdin::Pipe, output: Output::Pipes },
        deadline: Deadline::None,
        subject: Subject { session, ..app::subject(loaded, None, Origin::Mcp)? },
        tool: "mcp wrap",
        agents: HostAgents::default(),
        cache: CacheMode::default(),
        publish: &[],
    };
    let signals = terminal::listen().context("could not listen for signals")?;
    let mut child = command.start(ledger)?;
    let allowed =
        AllowedRequests { sampling: arguments.allow_sampling, elicitation: arguments.allow_elicitation };
    let mut proxy = PinningProxy::new(pins, key.clone(), allowed);
    let theirs = format!("[{}] ", key.name());
    let prefixes = line_proxy::StderrPrefixes { own: PREFIX, child: &theirs };
    let status = line_proxy::proxy_lines(&mut child.running, &signals, &mut proxy, prefixes);
    let limit = child.running.reached_limit(status);
    run::print_missed_hosts(&child.missed_hosts(), PREFIX);
    run::print_report(&child.finish(status), PREFIX);
    Ok((status, limit))
}

/// The key of the server's pin.
fn pin_key(arguments: &WrapArguments, from: &Path) -> Result<PinKey> {
    const MAX_NAME_BYTES: usize = 64;
    if let Some(name) = &arguments.name {
        let fits = !name.is_empty() && name.len() <= MAX_NAME_BYTES && !name.starts_with('-');
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        ensure!(
            fits && plain,
            "`--name {}`: a name has 1 to {MAX_NAME_BYTES} letters, digits, `.`, `_` and `-`",
            printable(name)
        );
    }
    let mut words: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // A relative path names another program in another directory.
    if let Some(program) = words.first_mut().filter(|program| program.contains('/')) {
        *program = from.join(&*program).to_string_lossy().into_owned();
    }
    Ok(PinKey::wrapped(arguments.name.as_deref(), &words))
}

/// Notes about paths of the command line that the server will not see.
fn hidden_path_notes(
    command: &[OsString],
    from: &Path,
    workspace: Option<&Path>,
    home: &Path,
) -> Vec<String> {
    let mut notes = Vec::new();
    for word in command.iter().skip(1) {
        let path = Path::new(word);
        let shown = printable(&word.to_string_lossy()).into_owned();
        if path.is_relative() && workspace.is_none() && looks_like_a_path(word) && from.join(path).exists() {
            notes.push(format!("`{shown}` lies in the current directory, which the server does not see; give its full path, or `--workspace .`"));
        }
        if path.is_absolute() && path.canonicalize().is_ok_and(|real| home.starts_with(real)) {
            notes.push(format!("`{shown}` is not shown: picoclaw's own files lie in it; `--ro` and `--rw` show directories below it"));
        }
    }
    notes
}

/// A word without `/` or `.` is more likely a subcommand than a file.
fn looks_like_a_path(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    !text.starts_with('-') && (text.contains('/') || text.contains('.'))
}
