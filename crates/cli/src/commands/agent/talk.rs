//! What the session itself answers: lists, checks, and changes of model and session.
//!
//! Invariant: nothing here reaches a model, and nothing here is an effect on the machine.

use super::interactive::Session;
use super::slash::{self, Slash};
use crate::compose::DIRECT;
use picoclaw_agent::dry_run::{Action, evaluate};
use picoclaw_agent::message::{Message, Role};
use picoclaw_policy::config::OnBlock;
use picoclaw_sandbox::{printable, printable_lines};
use std::path::Path;

/// Whether the session goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    /// The next line.
    Stay,
    /// The person leaves.
    Leave,
}

/// Answers a word for the session.
pub(super) fn answer(session: &mut Session<'_>, slash: Slash) -> Next {
    let text = match slash {
        Slash::Exit => return Next::Leave,
        Slash::Help => help(session),
        Slash::Tools => tools(session),
        Slash::Check(command) => would(session, &command),
        Slash::Agents => agents(session),
        Slash::Model(name) => model(session, name),
        Slash::Session(name) => rename(session, name),
        Slash::Context => context(session),
        Slash::History => said(session),
        Slash::Clear => clear(session),
        Slash::Approvals => approvals(session),
        Slash::Stop => "No active task to stop.".to_owned(),
        Slash::Unknown(word, nearest) => unknown(&word, nearest),
    };
    session.screen.lines(printable_lines(&text).trim_end_matches('\n'));
    Next::Stay
}

fn unknown(word: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("there is no `{}`; did you mean `{name}`?", printable(word)),
        None => format!("there is no `{}`; `/help` lists what there is", printable(word)),
    }
}

fn help(session: &Session<'_>) -> String {
    let how = if session.model_name() == DIRECT {
        "No model is configured, so nothing is guessed: what you type is what runs.\n  \
         ls -la                       runs as a command: guarded, and in the workspace\n  \
         read_file {\"path\": \"a.txt\"}  runs that tool with those arguments (see `/tools`)\n\
         To talk to a model, add one to `model_list` in the configuration: docs/guide/07-agent.md."
    } else {
        "What you type goes to the agent; its tool calls are judged one by one, and shown as they happen.\n\
         While it works, what you type is heard after the current step, and Ctrl-C stops it."
    };
    format!(
        "{how}\nA line that ends in `\\`, or an open ``` fence, goes on in the next line.\n{}",
        slash::help()
    )
}

fn tools(session: &Session<'_>) -> String {
    let policy = session.company.hall.warden().policy();
    let mut lines = Vec::new();
    for tool in session.company.hall.registry().tools() {
        let about = tool.about().lines().next().unwrap_or_default();
        let off = match policy.offers(tool.name(), &session.subject) {
            Ok(_) => "",
            Err(_) => " (switched off for this agent)",
        };
        let line = format!("  {:<12} {about}{off}", tool.name());
        lines.push(session.screen.style().fit(&line, session.screen.size().0));
    }
    lines.join("\n")
}

fn would(session: &Session<'_>, command: &str) -> String {
    if command.is_empty() {
        return "say which command: `/check rm -rf build`".to_owned();
    }
    let warden = session.company.hall.warden();
    evaluate(warden, &session.subject, Action::Exec, command, Path::new(""))
        .map_or_else(|why| why.to_string(), |findings| findings.to_words())
}

fn agents(session: &Session<'_>) -> String {
    let config = &session.loaded.config;
    let line = |agent: &picoclaw_policy::config::AgentConfig| {
        let mark = if agent.id == session.subject.agent { "*" } else { " " };
        let workspace = config.workspace_of(&agent.id, &session.loaded.home);
        format!("{mark} {}  {}", agent.id, workspace.display())
    };
    let lines: Vec<_> = config.agents.iter().map(line).collect();
    lines.join("\n")
}

fn model(session: &mut Session<'_>, name: String) -> String {
    if name.is_empty() {
        let others: Vec<_> = session.loaded.config.models.iter().map(|model| model.name.as_str()).collect();
        let others =
            if others.is_empty() { String::new() } else { format!("\nconfigured: {}", others.join(", ")) };
        return format!("the model is {}{others}", session.model_name());
    }
    match session.company.models.chain(&session.subject.agent, Some(&name)) {
        Ok(chain) => {
            session.model = Some(name);
            format!("from now on the model is {}", chain.model())
        }
        Err(why) => format!("{why}\nhint: {}", why.hint()),
    }
}

fn rename(session: &mut Session<'_>, name: String) -> String {
    if name.is_empty() {
        return format!("the session is {}", session.subject.session);
    }
    session.subject.session = name;
    format!("from now on the session is {}", session.subject.session)
}

fn messages(session: &Session<'_>) -> Option<Vec<Message>> {
    let read = session.company.sessions.read(&session.subject.agent, &session.subject.session);
    read.ok().map(|transcript| transcript.messages)
}

fn context(session: &Session<'_>) -> String {
    let messages = messages(session).unwrap_or_default();
    let window = session.loaded.config.turns.context_window;
    // As the loop itself estimates: two tokens for five characters.
    let characters: usize = messages.iter().map(|message| message.content.chars().count() + 12).sum();
    let tokens = characters as u64 * 2 / 5;
    let percent = (tokens * 100).checked_div(window).unwrap_or_default();
    format!("{} messages, about {tokens} tokens of {window} ({percent} %)", messages.len())
}

fn said(session: &Session<'_>) -> String {
    let messages = messages(session).unwrap_or_default();
    if messages.is_empty() {
        return "nothing was said in this session yet".to_owned();
    }
    let line = |message: &Message| {
        let who = match message.role {
            Role::System => "system",
            Role::User => "you",
            Role::Assistant => "agent",
            Role::Tool => "tool",
        };
        let first = message.content.lines().next().unwrap_or_default();
        let calls: Vec<_> = message.tool_calls.iter().map(|call| call.name.as_str()).collect();
        let calls = if calls.is_empty() { String::new() } else { format!("[calls {}]", calls.join(", ")) };
        session.screen.style().fit(&format!("{who:<6} {first}{calls}"), session.screen.size().0)
    };
    let lines: Vec<_> = messages.iter().map(line).collect();
    lines.join("\n")
}

fn clear(session: &Session<'_>) -> String {
    if messages(session).is_none_or(|messages| messages.is_empty()) {
        return "Chat history cleared!".to_owned();
    }
    match session.company.sessions.clear(&session.subject.agent, &session.subject.session) {
        Ok(()) => "Chat history cleared!".to_owned(),
        Err(why) => why.to_string(),
    }
}

fn approvals(session: &Session<'_>) -> String {
    match session.loaded.config.tools.exec.on_block {
        OnBlock::Ask => "a command that the guard would block is put to you here; Enter alone is a no, and an answer for \
             this session holds for that very content"
            .to_owned(),
        OnBlock::Deny => "a command that the guard blocks is refused; `tools.exec.on_block: \"ask\"` puts it to you instead".to_owned(),
    }
}
