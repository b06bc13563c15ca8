//! `picoclaw agent`: one turn, or a session at the terminal.

mod approval_prompt;
mod frontend;
mod history;
mod input_line;
mod interactive;
mod interactive_turn;
mod interrupt;
mod json;
mod key_decoder;
mod line_editor;
mod markdown;
mod one_shot;
mod raw_input;
mod sanitize_stream;
mod screen;
mod slash_actions;
mod slash_parse;
mod spent;
mod subagents;
mod trace;
mod turn_view;
mod word_wrap;

use crate::arguments::AgentArguments;
use crate::commands::workspace::{self, Asking};
use crate::exit::{self, Exit};
use crate::settings::{ProcessEnv, Settings};
use crate::{app, print};
use anyhow::Result;
use picoclaw_agent::providers::ModelError;
use picoclaw_agent::run::TurnError;
use picoclaw_policy::{Origin, Subject};
use picoclaw_sandbox::printable;
use std::process::ExitCode;

pub(crate) use frontend::Frontend;

/// The longest path that names a session.
const MAX_SESSION_PATH: usize = 1000;

/// Runs one turn, or an interactive session.
pub(crate) fn run(
    arguments: &AgentArguments,
    frontend: &Frontend,
    loaded: &Settings,
    process_env: &ProcessEnv,
) -> Result<ExitCode> {
    let prepared = subject(arguments, loaded).and_then(|subject| {
        let message = frontend.message(arguments)?;
        let (settings, subject) = in_project(arguments, frontend, loaded, subject, process_env)?;
        Ok((settings, subject, message))
    });
    let (settings, subject, message) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return report_misuse(arguments, &why),
    };
    let settings = &settings;
    match message {
        Some(message) => one_shot::run(arguments, frontend, settings, subject, message),
        None => interactive::run(arguments, frontend, settings, subject, process_env).map(ExitCode::from),
    }
}

fn subject(arguments: &AgentArguments, settings: &Settings) -> Result<Subject> {
    let mut subject = app::subject(settings, arguments.agent.as_deref(), Origin::Cli)?;
    if let Some(name) = &arguments.session {
        anyhow::ensure!(!name.trim().is_empty(), "a session needs a name");
        subject.session.clone_from(name);
    }
    Ok(subject)
}

/// The settings with the project that the agent works in, and the subject with that project's
/// session.
fn in_project(
    arguments: &AgentArguments,
    frontend: &Frontend,
    loaded: &Settings,
    mut subject: Subject,
    process_env: &ProcessEnv,
) -> Result<(Settings, Subject)> {
    let asking = if frontend.screen().is_some() { Asking::Person } else { Asking::Unattended };
    let found = match &arguments.workspace {
        Some(named) => Some(workspace::named_workspace(named, &subject.agent, loaded, process_env)?),
        None => workspace::project_here(&subject.agent, loaded, process_env, asking)?,
    };
    let Some(settings) = found else { return Ok((loaded.clone(), subject)) };
    let project = settings.config.workspace_of(&subject.agent, &settings.home);
    if frontend.screen().is_none() && arguments.workspace.is_none() {
        print::styled_note(&format!("picoclaw: working in `{}`", printable(&project.to_string_lossy())));
    }
    // Each project has its own conversation; a name that is too long for a session stays the
    // default.
    if let (None, Some(path)) =
        (&arguments.session, project.to_str().filter(|path| path.len() <= MAX_SESSION_PATH))
    {
        subject.session = format!("cli:{path}");
    }
    Ok((settings, subject))
}

/// Reports an error of the command line or the configuration, in the requested format.
fn report_misuse(arguments: &AgentArguments, why: &anyhow::Error) -> Result<ExitCode> {
    if arguments.json {
        json::print(&json::error_json(&why.to_string()))?;
    }
    Ok(exit::bad_usage(why).into())
}

/// The error of a missing model, with its hint.
fn model_error(why: &ModelError) -> anyhow::Error {
    anyhow::anyhow!("{why}\nhint: {}", why.hint())
}

/// A failed turn in words for a person.
fn failure_text(error: &TurnError) -> String {
    match error {
        TurnError::Provider(why) => why.explain(),
        other => other.to_string(),
    }
}

/// The exit code of a failed turn.
fn exit_of(error: &TurnError) -> Exit {
    match error {
        TurnError::NoAgent(_) | TurnError::NoModel(_) => Exit::Usage,
        _ => Exit::Refused,
    }
}
