//! `picoclaw mcp wrap`: somebody else's server, in a cage of its own, held to the tools it showed first.
//!
//! Invariant: standard output carries the server's protocol and nothing else; the server's own status is ours.

use super::arguments::WrapArguments;
use crate::commands::asked::Asked;
use crate::commands::run;
use crate::settings::{Loaded, Surroundings};
use crate::{compose, exit, print};
use anyhow::{Context, Result, ensure};
use picoclaw_agent::mcp::pins::{PinKey, Pins};
use picoclaw_agent::mcp::wrap::Gate;
use picoclaw_policy::config::ExposeMode;
use picoclaw_policy::{Origin, Subject};
use picoclaw_sandbox::confine::ChildDir;
use picoclaw_sandbox::exec::{Errand, ErrandError};
use picoclaw_sandbox::launch::{Output, Principal, Status, Stdin, Streams};
use picoclaw_sandbox::ledger::Ledger;
use picoclaw_sandbox::{Redactor, line_proxy, printable, terminal};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Before what is said on standard error here.
const OURS: &str = "picoclaw mcp wrap: ";

/// Runs the server and answers its status.
pub(crate) fn run(
    arguments: &WrapArguments,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<ExitCode> {
    let from = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    let asked = Asked::read(&arguments.cage).and_then(|asked| Ok((key(arguments, &from)?, asked)));
    let (key, asked) = match asked {
        Ok(asked) => asked,
        Err(why) => return Ok(exit::bad_usage(&why).into()),
    };
    match caged(arguments, &key, &asked, &from, loaded, surroundings) {
        Ok(status) => {
            if status == Status::OutOfMemory {
                print::note(&format!("{OURS}out of memory (`--memory`, `isolation.limits.memory_mb`)"));
            }
            Ok(run::code(status.exit_code()))
        }
        Err(why) => {
            let errand = why.downcast_ref::<ErrandError>();
            print::note(&format!("{OURS}{why:#}"));
            if let Some(hint) = errand.and_then(ErrandError::hint) {
                print::note(&format!("hint: {hint}"));
            }
            Ok(run::code(errand.map_or(run::NO_CAGE.into(), ErrandError::exit_code)))
        }
    }
}

fn caged(
    arguments: &WrapArguments,
    key: &PinKey,
    asked: &Asked,
    from: &Path,
    loaded: &Loaded,
    surroundings: &Surroundings,
) -> Result<Status> {
    let workspace = match &arguments.workspace {
        Some(path) => Some(run::workspace(&std::path::absolute(path)?, loaded, surroundings)?),
        None => None,
    };
    let dir = workspace
        .as_deref()
        .map_or(ChildDir::Private, |path| ChildDir::Path { path, mode: ExposeMode::ReadWrite });
    let instance = compose::instance(loaded)?;
    let ledger = Ledger::open(&instance.ledger())?.redacting(Redactor::new(&loaded.config.secrets));
    let pins = Pins::open(instance.home())?;
    let signals = terminal::listen().context("could not listen to signals")?;
    let mut variables = asked.variables.clone();
    for name in &arguments.pass {
        variables.extend(std::env::var_os(name).map(|value| (name.clone(), value)));
    }
    for remark in unseen(&arguments.command, from, workspace.as_deref(), instance.home()) {
        print::note(&format!("{OURS}{remark}"));
    }
    let session = format!("mcp:{}", key.name());
    let errand = Errand {
        isolation: &asked.on_top_of(&loaded.config.isolation),
        instance: &instance,
        principal: Principal::Mcp(key.name().to_owned()),
        dir,
        from,
        command: &arguments.command,
        variables: &variables,
        host: std::env::vars_os().collect(),
        streams: Streams::Plain { stdin: Stdin::Pipe, output: Output::Pipes },
        subject: Subject { session, ..compose::subject(loaded, None, Origin::Mcp)? },
        tool: "mcp wrap",
    };
    let mut away = errand.start(&ledger)?;
    let mut gate = Gate::new(pins, key.clone());
    let theirs = format!("[{}] ", key.name());
    let prefixes = line_proxy::StderrPrefixes { own: OURS, child: &theirs };
    let status = line_proxy::proxy_lines(&mut away.running, &signals, &mut gate, prefixes);
    away.back(status);
    Ok(status)
}

/// What the server's pin is kept under.
fn key(arguments: &WrapArguments, from: &Path) -> Result<PinKey> {
    const LONGEST: usize = 64;
    if let Some(name) = &arguments.name {
        let fits = !name.is_empty() && name.len() <= LONGEST && !name.starts_with('-');
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        ensure!(
            fits && plain,
            "`--name {}`: a name has 1 to {LONGEST} letters, digits, `.`, `_` and `-`",
            printable(name)
        );
    }
    let mut words: Vec<String> =
        arguments.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    // The same relative path is another program in another directory.
    if let Some(program) = words.first_mut().filter(|program| program.contains('/')) {
        *program = from.join(&*program).to_string_lossy().into_owned();
    }
    Ok(PinKey::wrapped(arguments.name.as_deref(), &words))
}

/// What the command line names and the server will not find, said before it fails for no visible reason.
fn unseen(command: &[OsString], from: &Path, workspace: Option<&Path>, home: &Path) -> Vec<String> {
    let mut remarks = Vec::new();
    for word in command.iter().skip(1) {
        let path = Path::new(word);
        let shown = printable(&word.to_string_lossy()).into_owned();
        if path.is_relative() && workspace.is_none() && looks_like_a_path(word) && from.join(path).exists() {
            remarks.push(format!("`{shown}` lies in the current directory, which the server does not see; give its full path, or `--workspace .`"));
        }
        if path.is_absolute() && path.canonicalize().is_ok_and(|real| home.starts_with(real)) {
            remarks.push(format!("`{shown}` is not shown: picoclaw's own files lie in it; `--ro` and `--rw` show directories below it"));
        }
    }
    remarks
}

/// A plain word is a subcommand more often than a file.
fn looks_like_a_path(word: &OsStr) -> bool {
    let text = word.to_string_lossy();
    !text.starts_with('-') && (text.contains('/') || text.contains('.'))
}
