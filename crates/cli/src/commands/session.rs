//! `picoclaw session`: lists, shows and removes stored sessions. Control characters are escaped on
//! a terminal.

use crate::arguments::{SessionArguments, SessionCommand};
use crate::exit::{self, Exit};
use crate::settings::Settings;
use crate::{app, print};
use anyhow::Result;
use picoclaw_agent::message::{Message, Role};
use picoclaw_agent::sessions::{Listed, SessionError, Sessions, Transcript};
use picoclaw_policy::{AgentId, Origin};
use picoclaw_sandbox::{Redactor, printable, printable_json, printable_lines};
use serde_json::{Value, json};

/// The session that is used when none is named.
const DEFAULT_SESSION: &str = "cli:default";

/// Lists, shows or clears sessions.
pub(crate) fn run(arguments: &SessionArguments, settings: &Settings) -> Result<Exit> {
    let agents = match &arguments.agent {
        None => settings.config.agents.iter().map(|agent| agent.id.clone()).collect(),
        Some(name) => match app::subject(settings, Some(name), Origin::Cli) {
            Ok(subject) => vec![subject.agent],
            Err(why) => return Ok(exit::bad_usage(&why)),
        },
    };
    let own = agents.first().cloned().filter(|_| arguments.agent.is_some());
    let agent = own.unwrap_or_else(|| settings.config.default_agent.clone());
    let sessions = Sessions::open(&settings.home, Redactor::new(&settings.config.secrets))?;
    let name = |name: &Option<String>| name.clone().unwrap_or_else(|| DEFAULT_SESSION.to_owned());
    match &arguments.command {
        SessionCommand::List { name, json } => print_list(&sessions, &agents, name.as_deref(), *json),
        SessionCommand::Show { name: named, json } => {
            exit_of(print_messages(&sessions, &agent, &name(named), *json))
        }
        SessionCommand::Clear { name: named } => exit_of(remove_session(&sessions, &agent, &name(named))),
    }
}

fn print_list(sessions: &Sessions, agents: &[AgentId], named: Option<&str>, as_json: bool) -> Result<Exit> {
    let mut found = Vec::new();
    for agent in agents {
        found.extend(sessions.list(agent)?);
    }
    found.retain(|listed| named.is_none_or(|name| listed.name == name));
    if as_json {
        let entries: Vec<Value> = found.iter().map(session_json).collect();
        print::line(&printable_json(&entries)?)?;
        return Ok(Exit::Done);
    }
    if found.is_empty() {
        print::note("there are no sessions yet");
    }
    for Listed { name, agent, messages, updated_at } in &found {
        print::line(&format!("{agent}  {}  {messages} messages  {updated_at}", printable(name)))?;
    }
    Ok(Exit::Done)
}

fn session_json(listed: &Listed) -> Value {
    json!({
        "name": listed.name,
        "agent": listed.agent.as_str(),
        "messages": listed.messages,
        "updated_at": listed.updated_at,
    })
}

fn print_messages(
    sessions: &Sessions,
    agent: &AgentId,
    name: &str,
    as_json: bool,
) -> Result<Result<(), SessionError>> {
    let transcript = match sessions.read(agent, name) {
        Ok(transcript) => transcript,
        Err(why) => return Ok(Err(why)),
    };
    if as_json {
        for message in &transcript.messages {
            print::line(&printable_json(message)?)?;
        }
        return Ok(Ok(()));
    }
    let Transcript { summary, messages, omitted } = &transcript;
    if *omitted > 0 {
        print::note(&format!("{omitted} older messages are left out"));
    }
    if !summary.is_empty() {
        print::line(&format!("summary: {}", printable_lines(summary)))?;
    }
    for message in messages {
        print::line(&message_text(message))?;
    }
    Ok(Ok(()))
}

/// A message as text.
fn message_text(message: &Message) -> String {
    let who = match message.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let mut text = format!("{who}: {}", printable_lines(&message.content));
    for call in &message.tool_calls {
        text.push_str(&format!("\n  calls {} {}", printable(&call.name), printable(&call.arguments)));
    }
    text
}

fn remove_session(sessions: &Sessions, agent: &AgentId, name: &str) -> Result<Result<(), SessionError>> {
    let cleared = sessions.clear(agent, name);
    if cleared.is_ok() {
        print::note(&format!("cleared session `{}` of agent `{agent}`", printable(name)));
    }
    Ok(cleared)
}

fn exit_of(done: Result<Result<(), SessionError>>) -> Result<Exit> {
    let Err(why) = done? else { return Ok(Exit::Done) };
    let hint = why.hint().map(|hint| format!("\nhint: {hint}")).unwrap_or_default();
    print::note(&format!("error: {why}{hint}"));
    Ok(match why {
        SessionError::BadName => Exit::Usage,
        _ => Exit::Refused,
    })
}
