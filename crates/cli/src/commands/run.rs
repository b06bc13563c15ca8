//! `picoclaw run`: any command in the cage.
//!
//! Invariant: the command's own status is ours; what goes wrong about the cage is 125, before
//! anything runs.

use crate::arguments::RunArguments;
use crate::commands::cage_flags::CageOptions;
use crate::commands::profile::{AppliedProfile, suggest_profile};
use crate::commands::project::{Project, canonical_dir};
use crate::commands::run_hints::CommandText;
use crate::settings::{ProcessEnv, Settings, exposure_warnings, workspace_fault};
use crate::{app, exit, platform, print, units};
use anyhow::{Context, Result, bail};
use picoclaw_policy::config::{Expose, ExposeMode, looks_secret};
use picoclaw_policy::{AgentId, Origin};
use picoclaw_sandbox::broker::NetworkReport;
use picoclaw_sandbox::exec::{HiddenTarget, OperatorCommand, RunningCommand, git_paths};
use picoclaw_sandbox::isolate::CacheMode;
use picoclaw_sandbox::launch::{Deadline, Limit, Principal, PublishedPort, Status, Streams, find_program};
use picoclaw_sandbox::protect::Report;
use picoclaw_sandbox::{CommandError, HostAgents, printable, printable_path, shell_word, terminal};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

/// Exit status: the cage itself could not be built.
pub(crate) const NO_CAGE: u8 = 125;

/// Variables of builds, tests and git that pass, since the operator's shell has them for such
/// commands.
const PASSED: [&str; 37] = [
    "CI",
    "DEBUG",
    "NODE_ENV",
    "FORCE_COLOR",
    "CLICOLOR",
    "CLICOLOR_FORCE",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUSTFLAGS",
    "PKG_CONFIG_PATH",
    "CMAKE_PREFIX_PATH",
    "NODE_PATH",
    "CC",
    "CXX",
    "CFLAGS",
    "CXXFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "GOFLAGS",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "PYTHONPATH",
    "PYTHONUNBUFFERED",
    "PYTEST_ADDOPTS",
    "PORT",
    "EDITOR",
    "VISUAL",
    "GIT_EDITOR",
    "GIT_SEQUENCE_EDITOR",
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "SOURCE_DATE_EPOCH",
    "DEBIAN_FRONTEND",
];

/// Runs the command and answers its status.
pub(crate) fn run(arguments: &RunArguments, loaded: &Settings, process_env: &ProcessEnv) -> Result<ExitCode> {
    let timeout = arguments.timeout.as_deref().map(units::parse_duration).transpose();
    let asked = CageOptions::parse(&arguments.cage, &loaded.config.isolation);
    let profile = arguments.profile.as_deref().map(|name| AppliedProfile::load(name, loaded, process_env));
    let (mut asked, timeout, profile) = match (asked, timeout, profile.transpose()) {
        (Ok(asked), Ok(timeout), Ok(profile)) => (asked, timeout, profile),
        (Err(why), ..) | (_, Err(why), _) | (.., Err(why)) => return Ok(exit::bad_usage(&why).into()),
    };
    match &profile {
        Some(profile) => {
            asked.open_network(profile.hosts());
            print::note(&format!("picoclaw run: {}", profile.line(&asked.network())));
        }
        None => suggest_profile(&arguments.command, loaded),
    }
    let ports = match published_ports(&arguments.publish, &asked) {
        Ok(ports) => ports,
        Err(why) => return Ok(exit::bad_usage(&why).into()),
    };
    match caged(arguments, (&asked, &ports), profile.as_ref(), timeout, loaded, process_env) {
        Ok((status, limit)) => {
            tell(status, limit, timeout);
            Ok(code(status.exit_code()))
        }
        Err(why) => {
            let failed = why.downcast_ref::<CommandError>();
            complain(&why, failed.and_then(CommandError::hint));
            Ok(code(failed.map_or(NO_CAGE.into(), CommandError::exit_code)))
        }
    }
}

fn caged(
    arguments: &RunArguments,
    (asked, ports): (&CageOptions, &[PublishedPort]),
    profile: Option<&AppliedProfile>,
    timeout: Option<Duration>,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<(Status, Option<Limit>)> {
    let named = match &arguments.workspace {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_dir().context("there is no current directory")?,
    };
    let project = Project::find(&named, arguments.root.as_deref(), loaded, process_env)?;
    let instance = app::open_instance(loaded)?;
    let ledger = app::open_ledger(&instance, &loaded.config)?;
    let mut isolation = asked.apply_to(&loaded.config.isolation);
    let venv = virtual_env(&project.root, instance.home(), process_env);
    let venv = venv.filter(|_| isolation.toolchains != "none");
    isolation.expose_paths.splice(0..0, project.exposures.iter().cloned().chain(venv));
    let passed = PASSED.iter().filter_map(|name| Some((OsString::from(name), std::env::var_os(name)?)));
    let mut variables: Vec<_> = passed.filter(|(_, value)| !looks_secret(&value.to_string_lossy())).collect();
    variables.extend(profile.map(AppliedProfile::variables).unwrap_or_default());
    variables.extend(project.variables.iter().cloned());
    for name in &arguments.pass {
        match std::env::var_os(name) {
            Some(value) => variables.push((name.into(), value)),
            None => print::note(&format!("picoclaw run: `--pass {}`: it is not set", printable(name))),
        }
    }
    variables.extend(asked.variables.iter().cloned());
    for warning in exposure_warnings(&isolation.expose_paths, process_env) {
        tracing::warn!(target: "isolation", "{warning}");
    }
    let signals = terminal::listen().context("could not listen for signals")?;
    let words = profile.map_or_else(|| arguments.command.clone(), |known| known.command(&arguments.command));
    let command = OperatorCommand {
        isolation: &isolation,
        instance: &instance,
        principal: Principal::Project(project.root.clone()),
        dir: project.child_dir(),
        from: &project.dir,
        command: &words,
        home: profile.map_or(&[], |profile| &profile.home),
        variables: &variables,
        host: std::env::vars_os().collect(),
        streams: Streams::Own,
        deadline: timeout.map_or(Deadline::None, Deadline::After),
        subject: app::subject(loaded, None, Origin::Cli)?,
        tool: "run",
        agents: HostAgents { ssh: arguments.ssh_agent, gpg: arguments.gpg },
        cache: arguments.cache.into(),
        publish: ports,
    };
    let mut child = command.start(ledger)?;
    let status = terminal::relay(&mut child.running, &signals);
    print::after_command();
    let limit = child.running.reached_limit(status);
    print_withheld(&child, &CommandText::of(&arguments.command), status);
    if status == Status::Exited(0) {
        let text = CommandText::of(&arguments.command);
        print_private(&child, &text);
        print_report(&child.finish(status), "picoclaw run: ");
        let debugger = text.debugger_with_prompt();
        print_debugger(debugger.filter(|_| !asked.is_debugged()));
    } else {
        print_missed(child, status, arguments, asked, &project, process_env);
    }
    Ok((status, limit))
}

/// An activated virtual environment outside the project, read-only: without it another Python would
/// run.
fn virtual_env(root: &Path, instance: &Path, process_env: &ProcessEnv) -> Option<Expose> {
    let source = PathBuf::from(std::env::var_os("VIRTUAL_ENV")?);
    let real = source.canonicalize().ok()?;
    let is_one = source.is_absolute() && real.join("pyvenv.cfg").is_file();
    let is_own = [&source, &real].iter().any(|path| path.starts_with(root) || path.starts_with(instance));
    // A home is never to be shown as a whole.
    let holds_home = process_env.user_home().is_some_and(|home| home.starts_with(&real));
    (is_one && !is_own && !holds_home).then(|| Expose {
        target: source.clone(),
        source,
        mode: ExposeMode::ReadOnly,
    })
}

/// Says on standard error what became of the protected files, and what a failed command may have
/// missed.
fn print_missed(
    child: RunningCommand,
    status: Status,
    arguments: &RunArguments,
    asked: &CageOptions,
    project: &Project,
    process_env: &ProcessEnv,
) {
    let root = &project.root;
    let text = CommandText::of(&arguments.command);
    let search = std::env::var_os("PATH").unwrap_or_default();
    let programs = text.program_names().filter_map(|name| find_program(name, &search, &project.dir).ok());
    let words = text.words().into_iter().skip(1).chain(programs.map(PathBuf::into_os_string));
    let mut hidden = child.hidden_targets(&words.collect::<Vec<_>>());
    let mut removed = text.removed_words();
    if text.changes_work_tree() {
        removed.push(root.into());
    }
    let mut changed = text.changed_words();
    if text.writes_hooks() {
        changed.push(root.join(".git/hooks").into());
    }
    let mut protected = child.protected_targets(&changed, &removed);
    if !hidden.is_empty() {
        // What is hidden is the cause; the rest is a guess.
        protected.clear();
    } else if protected.is_empty() && text.runs_git() {
        hidden = child.hidden_targets(&git_paths(root));
    }
    let (missed_network, was_refused) = (child.missed_network(), child.was_refused());
    let missed_hosts = child.missed_hosts();
    let report = child.finish(status);
    print_report(&report, "picoclaw run: ");
    let refused = text.refused();
    if let Some(refused) = &refused {
        print::note(&format!("hint: a cage {refused}"));
    }
    let home = process_env.user_home().unwrap_or_default();
    for hidden in hidden.iter().filter(|_| refused.is_none() || text.is_line()) {
        print_hidden(hidden, &home);
    }
    // What was refused is the cause too.
    for path in protected.iter().filter(|_| report.refused.is_empty()) {
        print::note(&format!("hint: `{path}` is protected; `--unprotect {path}` lets the command change it"));
    }
    print_missed_hosts(&missed_hosts, "picoclaw run: ");
    if missed_network && asked.has_hosts() {
        print::note(
            "hint: this cage reaches hosts by name alone, and an address was tried: `--allow-host ADDRESS:PORT`",
        );
    } else if missed_network {
        print::note(
            "picoclaw run: this cage has no network: `--net host`, or `--allow-host NAME` for one host",
        );
    } else if !missed_hosts.is_empty() {
        // The cause is named.
    } else if was_refused && asked.has_hosts() {
        print::note(
            "hint: a connection was refused; an allowed host is reached at ports 443 and 80 unless `--allow-host NAME:PORT` names another, a service of this host with `--allow-host localhost:PORT`",
        );
    } else if was_refused {
        print::note(
            "hint: a port of this cage's own loopback refused a connection; `--net host` reaches the services of this host, `--allow-host localhost:PORT` one of them",
        );
    } else if text.fetches_packages() && !asked.has_open_network() && !asked.has_hosts() && hidden.is_empty()
    {
        print::note(match CacheMode::from(arguments.cache) {
            CacheMode::Shared => "hint: this cage has no network: `--net host` opens it",
            _ => {
                "hint: this cage has no network, and its own caches of packages: `--net host` opens it, \
                 `--cache shared` shows what you have downloaded"
            }
        });
    }
    if text.uses_descriptors() {
        print::note(
            "hint: only the standard streams pass, not your shell's other descriptors; run the shell's line in the cage: `bash -c '…'`",
        );
    }
    print_debugger(text.debugger().filter(|_| !asked.is_debugged()));
    if let Some(program) = text.sandboxed_browser() {
        print::note(&format!(
            "hint: the sandbox of `{program}` does not start in this cage, which confines it instead; `--no-sandbox` skips it"
        ));
    }
    if let Some(owner) = platform::owner_that_root_is_not(root) {
        let root = printable_path(root);
        print::note(&format!(
            "hint: `{root}` belongs to user {owner}, and root has no rights over files of others in a cage; run picoclaw as that user"
        ));
    }
}

/// Names hosts that are not allowed, and those that were not reached.
pub(crate) fn print_missed_hosts(missed: &NetworkReport, prefix: &str) {
    let refused = |host: &str| format!("`{host}` is not one of the allowed hosts: `--allow-host {host}`");
    missed.lines_with(refused).iter().for_each(|line| print::note(&format!("{prefix}{line}")));
}

fn print_debugger(program: Option<&str>) {
    if let Some(program) = program {
        print::note(&format!("hint: `{program}` cannot trace processes in this cage; `--debug` lets it"));
    }
}

/// The ports of `--publish`, for which a network must be closed.
fn published_ports(texts: &[String], asked: &CageOptions) -> Result<Vec<PublishedPort>> {
    if !texts.is_empty() && asked.has_open_network() {
        bail!(
            "`--publish` is not needed with an open network: the command listens on this host's own loopback"
        );
    }
    let parse = |text: &String| {
        PublishedPort::parse(text).with_context(|| {
            format!("`--publish {text}` is not HOSTPORT or HOSTPORT:CAGEPORT; `3000` and `8080:80` are")
        })
    };
    texts.iter().map(parse).collect()
}

/// The directory that the child may write: never one that holds more than a project.
pub(crate) fn workspace(named: &Path, loaded: &Settings, process_env: &ProcessEnv) -> Result<PathBuf> {
    let real = canonical_dir(named)?;
    let name = AgentId::parse("run").unwrap_or_else(AgentId::main);
    match workspace_fault(&real, &name, loaded, process_env) {
        Some(fault) => bail!("{fault}\nhint: run it in a project's directory, or name one with --workspace"),
        None => Ok(real),
    }
}

pub(crate) fn code(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(NO_CAGE))
}

fn tell(status: Status, limit: Option<Limit>, timeout: Option<Duration>) {
    match (status, limit, timeout) {
        (Status::TimedOut, _, Some(time)) => {
            print::note(&format!("picoclaw run: timed out after {} s", time.as_secs_f64()))
        }
        (_, Some(limit), _) => print::note(&format!("picoclaw run: {}", limit_text(limit))),
        _ => {
            if let Some(limit) = status.limit() {
                print::note(&format!("picoclaw run: {limit}"));
            }
        }
    }
}

/// Says on standard error what became of the protected files.
pub(crate) fn print_report(report: &Report, prefix: &str) {
    for file in &report.refused {
        print::note(&format!("{prefix}`{file}` is protected and was not changed"));
        print::note(&format!("hint: `--unprotect {file}` lets the command change it"));
    }
    if let Some(line) = report.line() {
        print::note(&format!("{prefix}{line}"));
    }
}

/// Names variables of the operator's that the command uses and that do not pass.
fn print_withheld(child: &RunningCommand, text: &CommandText, status: Status) {
    let mut names = text.variables();
    if status == Status::Exited(127) {
        // A loader that misses a library ends like this.
        names.push("LD_LIBRARY_PATH");
    }
    names.sort_unstable();
    names.dedup();
    let is_withheld = |name: &&str| std::env::var_os(name).is_some() && !child.has_variable(name);
    for name in names.into_iter().filter(is_withheld) {
        print::note(&format!("hint: your `{name}` does not pass into the cage; `--pass {name}` passes it"));
    }
}

/// Names files of the host's temporary directories that a command which went well wrote in its own.
fn print_private(child: &RunningCommand, text: &CommandText) {
    for path in child.private_files(&text.changed_words()) {
        let path = shell_word(&path.to_string_lossy());
        print::note(&format!(
            "hint: the cage has a `/tmp` of its own, and `{path}` of this host stayed as it is; `--rw {path}` shows it"
        ));
    }
}

/// Names what a failed command may have missed, and the flag that shows it.
fn print_hidden(hidden: &HiddenTarget, home: &Path) {
    if home.starts_with(&hidden.target) {
        // A home is never to be shown as a whole.
        if let Some(missing) = &hidden.missing {
            let missing = shell_word(&missing.to_string_lossy());
            print::note(&format!(
                "hint: `{missing}` does not exist, and your home is not visible in the cage; make it first, then `--rw {missing}`"
            ));
        }
        return;
    }
    let [name, target] = [&hidden.name, &hidden.target].map(|path| shell_word(&path.to_string_lossy()));
    let leads = if name == target { String::new() } else { format!(" leads to `{target}`, which") };
    print::note(&format!(
        "hint: `{name}`{leads} is not visible in the cage; `--ro {target}` shows it, `--rw` also for writing"
    ));
}

/// A limit that a command has reached, and what raises it.
pub(crate) fn limit_text(limit: Limit) -> String {
    match limit {
        Limit::Memory(_) => format!("{limit}; raise it with --memory"),
        Limit::Tmp { .. } => format!("{limit}; raise it with --tmp SIZE"),
        other => format!("{other}; {}", other.remedy()),
    }
}

fn complain(why: &anyhow::Error, hint: Option<String>) {
    print::note(&format!("picoclaw run: {why:#}"));
    if let Some(hint) = hint {
        print::note(&format!("hint: {hint}"));
    }
}
