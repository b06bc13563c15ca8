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
mod one_shot;
mod raw_input;
mod sanitize_stream;
mod screen;
mod slash_actions;
mod slash_parse;
mod style;
mod subagents;
mod trace;
mod turn_view;

use crate::app;
use crate::arguments::AgentArguments;
use crate::exit::{self, Exit};
use crate::settings::Settings;
use anyhow::Result;
use picoclaw_agent::providers::ModelError;
use picoclaw_agent::run::TurnError;
use picoclaw_policy::{Origin, Subject};
use std::process::ExitCode;

pub(crate) use frontend::Frontend;

/// Runs one turn, or an interactive session.
pub(crate) fn run(arguments: &AgentArguments, frontend: &Frontend, settings: &Settings) -> Result<ExitCode> {
    let prepared =
        subject(arguments, settings).and_then(|subject| Ok((subject, frontend.message(arguments)?)));
    let (subject, message) = match prepared {
        Ok(prepared) => prepared,
        Err(why) => return report_misuse(arguments, &why),
    };
    match message {
        Some(message) => one_shot::run(arguments, frontend, settings, subject, message),
        None => interactive::run(arguments, frontend, settings, subject).map(ExitCode::from),
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

/// The exit code of a failed turn.
fn exit_of(error: &TurnError) -> Exit {
    match error {
        TurnError::NoAgent(_) | TurnError::NoModel(_) => Exit::Usage,
        _ => Exit::Refused,
    }
}
