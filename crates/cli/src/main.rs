//! The front door: the `picoclaw` binary.
//!
//! Invariant: results go to stdout and everything else to stderr; the exit code is the only other
//! word.

mod app;
mod arguments;
mod commands;
mod console;
mod exit;
mod logs;
mod platform;
mod print;
mod progress;
mod settings;
mod style;
mod units;

use anyhow::Result;
use arguments::{Arguments, Command, ConfigCommand, DoctorArguments, Listing};
use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use commands::audit::AuditArgs;
use commands::config::{self, Format};
use exit::Exit;
use logs::LogProfile;
use picoclaw_policy::Origin;
use picoclaw_policy::config::LogLevel;
use picoclaw_sandbox::Redactor;
use picoclaw_sandbox::exec::ExecEnvError;
use settings::{ProcessEnv, Request, Settings, SettingsError};
use std::borrow::Cow;
use std::process::ExitCode;

/// musl's allocator returns memory to the kernel too eagerly: most of a long judgement was spent
/// there (`docs/adr/0012`).
#[cfg(target_env = "musl")]
#[global_allocator]
static ALLOCATOR: dlmalloc::GlobalDlmalloc = dlmalloc::GlobalDlmalloc;

/// What a person reads who types `picoclaw` alone.
const FIRST_WORDS: &str = "\
picoclaw lets AI agents work on this machine without being trusted.
  picoclaw onboard           choose a model, test it, and take a first turn
  picoclaw agent             talk to an agent; in a project it can work there
  picoclaw run -- npm test   run any command in a cage
  picoclaw doctor            see what this host can hold; `--help` lists all";

fn main() -> ExitCode {
    // Before anything else: in a bubblewrap cage this program is a step between bubblewrap and the
    // command.
    picoclaw_sandbox::isolate::enter_landlock_if_asked();
    // Before anything is read: what this process holds is not for its children or neighbours to
    // look at.
    if let Err(why) = picoclaw_sandbox::launch::harden_self() {
        complain(&format!("could not harden the process: {why}"));
        return Exit::Refused.into();
    }
    if std::env::args_os().len() <= 1 {
        print::note(FIRST_WORDS);
        return Exit::Usage.into();
    }
    let arguments = match Arguments::try_parse() {
        Ok(arguments) => arguments,
        Err(error) => return report_usage(&error),
    };
    let exit = match run(&arguments) {
        Ok(exit) => exit,
        // A reader of the output that went away is no error.
        Err(why) if is_broken_pipe(&why) => Exit::Done.into(),
        Err(why) => {
            complain(&format!("{why:#}"));
            // A cage that is asked for and cannot be had is a configuration that cannot be used
            // here.
            if why.is::<ExecEnvError>() { Exit::Usage.into() } else { Exit::Refused.into() }
        }
    };
    picoclaw_sandbox::launch::wait_for_supervisors();
    exit
}

/// Prints what clap prints; where a command of the host stands in place of ours, a hint says how to
/// run or check it.
fn report_usage(error: &clap::Error) -> ExitCode {
    let is_typo = error.get(ContextKind::SuggestedSubcommand).is_some();
    let is_action = error.get(ContextKind::InvalidArg) == Some(&ContextValue::String("<ACTION>".to_owned()));
    let _ = error.print();
    match error.kind() {
        ErrorKind::InvalidSubcommand if !is_typo => {
            print::note("hint: `picoclaw run -- CMD` runs any command in a cage");
        }
        ErrorKind::InvalidValue if is_action => {
            print::note("hint: `picoclaw check exec 'CMD'` checks a command");
        }
        _ => {}
    }
    if error.use_stderr() { Exit::Usage.into() } else { Exit::Done.into() }
}

fn run(arguments: &Arguments) -> Result<ExitCode> {
    let process_env = ProcessEnv::of_process();
    let request = Request { config: arguments.global.config.as_deref(), env: &process_env };
    match &arguments.command {
        Command::Version(listing) => return commands::version::run(listing).map(ExitCode::from),
        Command::Completions { shell } => return commands::manual::completions(*shell).map(ExitCode::from),
        Command::Man { dir } => return commands::manual::man(dir.as_deref()).map(ExitCode::from),
        Command::Config(command) => return configuration(command, &request).map(ExitCode::from),
        Command::Migrate(arguments) => {
            return commands::migrate::run(arguments, &process_env).map(ExitCode::from);
        }
        Command::Doctor(DoctorArguments { hold: Some(kind), mebibytes, .. }) => {
            return commands::doctor::hold(kind, *mebibytes).map(ExitCode::from);
        }
        Command::Doctor(DoctorArguments { connect: Some(socket), .. }) => {
            return commands::doctor::connect(socket).map(ExitCode::from);
        }
        _ => {}
    }
    let frontend = match &arguments.command {
        Command::Agent(arguments) => Some(commands::agent::Frontend::detect(arguments, &process_env)?),
        Command::Onboard(_) => {
            Some(commands::agent::Frontend::detect(&commands::onboard::first_turn(), &process_env)?)
        }
        _ => None,
    };
    let signals = match &arguments.command {
        Command::Gateway(_) => Some(commands::gateway::Signals::listen()?),
        _ => None,
    };
    let loaded = match load(&request, &arguments.command)? {
        Ok(loaded) => loaded,
        Err(why) => {
            config::print_error(&why, &mut std::io::stderr())?;
            return Ok(Exit::Usage.into());
        }
    };
    let _registration = commands::stop::register_run(&arguments.command, &loaded);
    if let (Command::Onboard(arguments), Some(frontend)) = (&arguments.command, &frontend) {
        start_logs(&loaded, &process_env, frontend.log_profile(), loaded.config.log_level)?;
        return commands::onboard::run(arguments, frontend, &loaded, &process_env);
    }
    if let (Command::Agent(arguments), Some(frontend)) = (&arguments.command, frontend) {
        let level = arguments.debug.then_some(LogLevel::Debug).or(loaded.config.log_level);
        start_logs(&loaded, &process_env, frontend.log_profile(), level)?;
        announce(&loaded);
        return commands::agent::run(arguments, &frontend, &loaded, &process_env);
    }
    if let (Command::Gateway(own), Some(signals)) = (&arguments.command, signals) {
        start_logs(&loaded, &process_env, LogProfile::Gateway, loaded.config.log_level)?;
        let config = arguments.global.config.clone();
        return commands::gateway::run(own, signals, &loaded, &process_env, config).map(ExitCode::from);
    }
    start_logs(&loaded, &process_env, LogProfile::OneShot, loaded.config.log_level)?;
    match &arguments.command {
        Command::Profile(command) => {
            commands::profile::run(command, &loaded, &process_env).map(ExitCode::from)
        }
        Command::Run(arguments) => commands::run::run(arguments, &loaded, &process_env),
        Command::Mcp(command) => {
            announce(&loaded);
            commands::mcp::run(command, &loaded, &process_env)
        }
        command => match with_workspace(command, &loaded, &process_env) {
            Ok(loaded) => with_settings(command, &loaded).map(ExitCode::from),
            Err(why) => Ok(exit::bad_usage(&why).into()),
        },
    }
}

/// The settings with the workspace that `-C` names.
fn with_workspace<'s>(
    command: &Command,
    loaded: &'s Settings,
    process_env: &ProcessEnv,
) -> Result<Cow<'s, Settings>> {
    let (named, agent) = match command {
        Command::Tool(arguments) => (&arguments.workspace, &arguments.agent),
        Command::Check(arguments) => (&arguments.workspace, &arguments.agent),
        _ => return Ok(Cow::Borrowed(loaded)),
    };
    let Some(named) = named else { return Ok(Cow::Borrowed(loaded)) };
    let agent = app::subject(loaded, agent.as_deref(), Origin::Tool)?.agent;
    commands::workspace::named_workspace(named, &agent, loaded, process_env).map(Cow::Owned)
}

/// Loads the settings; a command that needs an instance makes it first, so that it runs under what
/// it wrote.
fn load(request: &Request<'_>, command: &Command) -> Result<Result<Settings, SettingsError>> {
    let loaded = settings::load(request);
    let needs_instance = match command {
        Command::Agent(_)
        | Command::Session(_)
        | Command::Tool(_)
        | Command::Check(_)
        | Command::Run(_)
        | Command::Cron(_)
        | Command::Token(_)
        | Command::Gateway(_)
        | Command::Doctor(_) => true,
        Command::Mcp(command) => command.needs_instance(),
        _ => false,
    };
    match loaded {
        Ok(loaded) if needs_instance && app::is_new_instance(&loaded) => {
            app::create_instance(&loaded)?;
            Ok(settings::load(request))
        }
        other => Ok(other),
    }
}

fn start_logs(
    loaded: &Settings,
    process_env: &ProcessEnv,
    profile: LogProfile,
    level: Option<LogLevel>,
) -> Result<()> {
    let variable = |name: &str| process_env.variable(name).map(|value| value.to_string_lossy().into_owned());
    let settings = logs::LogSettings::new(profile, level, variable)?;
    Ok(logs::start(&settings, Redactor::new(&loaded.config.secrets))?)
}

fn with_settings(command: &Command, loaded: &Settings) -> Result<Exit> {
    match command {
        Command::Status(listing) => return commands::status::run(listing, loaded),
        Command::Stop => return commands::stop::run(loaded),
        Command::Clean(arguments) => return commands::clean::run(arguments, loaded),
        Command::Doctor(arguments) => return commands::doctor::run(arguments, loaded),
        Command::Audit(arguments) => return audit(arguments, loaded),
        Command::Token(command) => return commands::token::run(command, loaded),
        Command::Trust(arguments) => return commands::trust::run(arguments, loaded),
        Command::Approvals(command) => return commands::approvals::run(command, loaded),
        _ => {}
    }
    announce(loaded);
    match command {
        Command::Tool(arguments) => commands::tool::run(arguments, loaded),
        Command::Session(arguments) => commands::session::run(arguments, loaded),
        Command::Check(arguments) => commands::check::run(arguments, loaded),
        Command::Cron(command) => commands::cron::run(command, loaded),
        _ => Ok(Exit::Usage),
    }
}

/// Says what is switched off, and what is not served.
fn announce(loaded: &Settings) {
    for warning in loaded.warnings() {
        tracing::warn!(target: "config", "{warning}");
    }
    for reminder in loaded.reminders() {
        tracing::info!(target: "config", "{reminder}");
    }
}

fn audit(arguments: &AuditArgs, loaded: &Settings) -> Result<Exit> {
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr());
    let code = commands::audit::run(arguments, &loaded.home, &mut out, &mut err, print::terminal_width())?;
    Ok(if code == 0 { Exit::Done } else { Exit::Refused })
}

fn configuration(command: &ConfigCommand, request: &Request<'_>) -> Result<Exit> {
    let format = |listing: &Listing| if listing.json { Format::Json } else { Format::Text };
    let (mut out, mut err) = (std::io::stdout().lock(), std::io::stderr().lock());
    let done = match command {
        ConfigCommand::Check(listing) => config::check(request, format(listing), &mut out, &mut err),
        ConfigCommand::Show(listing) => config::show(request, format(listing), &mut out, &mut err),
        ConfigCommand::Schema => config::print_schema(&mut out),
    }?;
    Ok(if done == config::DONE { Exit::Done } else { Exit::Usage })
}

/// Whether standard output lost its reader: an error without a context is of an output.
fn is_broken_pipe(why: &anyhow::Error) -> bool {
    let cause = why.downcast_ref::<std::io::Error>();
    cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::BrokenPipe)
}

fn complain(text: &str) {
    print::note(&format!("error: {text}"));
}
