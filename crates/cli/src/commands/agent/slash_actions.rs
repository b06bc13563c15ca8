//! Executes slash commands: lists, checks, and changes of model and session. They reach no model
//! and have no effects.

use super::interactive::Session;
use super::interrupt::Interrupt;
use super::slash_parse::{self, Slash};
use crate::app::DIRECT_PROVIDER;
use crate::progress::Progress;
use picoclaw_agent::dry_run::{Action, evaluate};
use picoclaw_agent::message::{Message, Role};
use picoclaw_agent::run::{Summarized, SummaryReason};
use picoclaw_agent::sessions::Listed;
use picoclaw_policy::config::OnBlock;
use picoclaw_sandbox::launch::CancelToken;
use picoclaw_sandbox::ledger::Timestamp;
use picoclaw_sandbox::{printable, printable_lines};
use std::path::Path;
use tokio::runtime::Runtime;

/// The most sessions that are listed.
const MAX_LISTED: usize = 15;

/// Whether the session continues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AfterCommand {
    /// It continues.
    Stay,
    /// The user leaves.
    Leave,
}

/// Executes a slash command.
pub(super) fn execute(
    session: &mut Session<'_>,
    slash: Slash,
    runtime: &Runtime,
    stop: &Interrupt,
) -> AfterCommand {
    let text = match slash {
        Slash::Exit => return AfterCommand::Leave,
        Slash::Help => help_text(session),
        Slash::Tools => tools_text(session),
        Slash::Check(command) => check_text(session, &command),
        Slash::Agents => agents_text(session),
        Slash::Model(name) => change_model(session, name),
        Slash::Session(name) => change_session(session, name),
        Slash::Resume(which) => resume(session, &which),
        Slash::New => new_session(session),
        Slash::Compact => compact(session, runtime, stop),
        Slash::Cost => session.spent.text(&session.screen.style()),
        Slash::Context => context_text(session),
        Slash::History => history_text(session),
        Slash::Clear => clear_session(session),
        Slash::Approvals => approvals_text(session),
        Slash::Stop => "No active task to stop.".to_owned(),
        Slash::Unknown(word, nearest) => unknown_text(&word, nearest),
    };
    for line in printable_lines(&text).trim_end_matches('\n').lines() {
        session.screen.wrapped(line);
    }
    AfterCommand::Stay
}

fn unknown_text(word: &str, nearest: Option<&str>) -> String {
    match nearest {
        Some(name) => format!("there is no `{}`; did you mean `{name}`?", printable(word)),
        None => format!("there is no `{}`; `/help` lists what there is", printable(word)),
    }
}

fn help_text(session: &Session<'_>) -> String {
    let how = if session.model_name() == DIRECT_PROVIDER {
        "No model is configured, so nothing is guessed: what you type is what runs.\n  \
         ls -la                       runs as a command: guarded, and in the workspace\n  \
         read_file {\"path\": \"a.txt\"}  runs that tool with those arguments (see `/tools`)\n\
         To talk to a model: `picoclaw onboard`, or set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`."
    } else {
        "What you type goes to the agent; its tool calls are judged one by one, and shown as they happen.\n\
         While it works, what you type is sent after the current step, and Ctrl-C stops it."
    };
    format!(
        "{how}\n`!COMMAND` runs a command of yours in the cage, as `picoclaw run` does; `@` and Tab complete a file.\nA line that ends in `\\`, or an open ``` fence, goes on in the next line.\n{}",
        slash_parse::help()
    )
}

fn tools_text(session: &Session<'_>) -> String {
    let policy = session.services.executor.warden().policy();
    let mut lines = Vec::new();
    for tool in session.services.executor.registry().tools() {
        let about = tool.about().lines().next().unwrap_or_default();
        let off = match policy.check_tool(tool.name(), &session.subject) {
            Ok(_) => "",
            Err(_) => " (switched off for this agent)",
        };
        let line = format!("  {:<12} {about}{off}", tool.name());
        lines.push(session.screen.style().fit(&line, session.screen.size().0));
    }
    lines.join("\n")
}

fn check_text(session: &Session<'_>, command: &str) -> String {
    if command.is_empty() {
        return "name a command: `/check rm -rf build`".to_owned();
    }
    let warden = session.services.executor.warden();
    evaluate(warden, &session.subject, Action::Exec, command, Path::new(""))
        .map_or_else(|why| why.to_string(), |findings| findings.to_words())
}

fn agents_text(session: &Session<'_>) -> String {
    let config = &session.settings.config;
    let line = |agent: &picoclaw_policy::config::AgentConfig| {
        let mark = if agent.id == session.subject.agent { "*" } else { " " };
        let workspace = config.workspace_of(&agent.id, &session.settings.home);
        format!("{mark} {}  {}", agent.id, workspace.display())
    };
    let lines: Vec<_> = config.agents.iter().map(line).collect();
    lines.join("\n")
}

fn change_model(session: &mut Session<'_>, name: String) -> String {
    if name.is_empty() {
        let others: Vec<_> = session.settings.config.models.iter().map(|model| model.name.as_str()).collect();
        let others =
            if others.is_empty() { String::new() } else { format!("\nconfigured: {}", others.join(", ")) };
        return format!("the model is {}{others}", session.model_name());
    }
    match session.services.models.chain(&session.subject.agent, Some(&name)) {
        Ok(chain) => {
            session.model = Some(name);
            format!("from now on the model is {}", chain.model())
        }
        Err(why) => format!("{why}\nhint: {}", why.hint()),
    }
}

fn change_session(session: &mut Session<'_>, name: String) -> String {
    if name.is_empty() {
        return format!("the session is {}", session.subject.session);
    }
    session.subject.session = name;
    format!("from now on the session is {}", session.subject.session)
}

/// The sessions of the agent, the latest first.
fn latest(session: &Session<'_>) -> Vec<Listed> {
    let mut found = session.services.sessions.list(&session.subject.agent).unwrap_or_default();
    found.sort_by(|one, other| other.updated_at.cmp(&one.updated_at));
    found.truncate(MAX_LISTED);
    found
}

/// How a session began, on one line.
fn first_words(session: &Session<'_>, name: &str) -> String {
    let read = session.services.sessions.read(&session.subject.agent, name);
    let messages = read.map(|transcript| transcript.messages).unwrap_or_default();
    let first = messages.iter().find(|message| message.role == Role::User);
    first.map(|message| printable(message.content.trim()).into_owned()).unwrap_or_default()
}

/// Lists sessions, or goes on with one: by its number in the list, or its name.
fn resume(session: &mut Session<'_>, which: &str) -> String {
    let found = latest(session);
    if which.is_empty() {
        let width = found.iter().map(|listed| listed.name.chars().count()).max().unwrap_or(0);
        let line = |(at, listed): (usize, &Listed)| {
            let mark = if listed.name == session.subject.session { "*" } else { " " };
            let time = listed.updated_at.get(..16).unwrap_or(&listed.updated_at).replace('T', " ");
            let line = format!(
                "{mark} {:>2}  {:<width$}  {} messages, {time}  {}",
                at + 1,
                listed.name,
                listed.messages,
                first_words(session, &listed.name)
            );
            session.screen.style().fit(&line, session.screen.size().0)
        };
        let lines: Vec<_> = found.iter().enumerate().map(line).collect();
        return match lines.as_slice() {
            [] => "there are no sessions yet".to_owned(),
            lines => format!("{}\n`/resume N` goes on with one", lines.join("\n")),
        };
    }
    let by_number = which.parse::<usize>().ok().and_then(|number| found.get(number.checked_sub(1)?));
    let chosen = by_number.or_else(|| found.iter().find(|listed| listed.name == which));
    match chosen {
        Some(listed) => {
            session.subject.session.clone_from(&listed.name);
            format!("going on with {}: {} messages", listed.name, listed.messages)
        }
        None => format!("there is no session `{which}`; `/resume` lists them"),
    }
}

/// A session of its own name; what was said before is kept under the old one.
fn new_session(session: &mut Session<'_>) -> String {
    let now = Timestamp::now().to_string();
    let stamp: String = now.chars().filter(char::is_ascii_digit).take(14).collect();
    session.subject.session = format!("cli:{stamp}");
    format!("a new session: {}", session.subject.session)
}

fn compact(session: &Session<'_>, runtime: &Runtime, stop: &Interrupt) -> String {
    let halt = CancelToken::new();
    stop.turn_started(&halt);
    let progress = Progress::of("summarising the oldest messages; Ctrl-C stops it");
    let (runner, model) = (&session.services.runner, session.model.as_deref());
    let done = runtime.block_on(runner.summarize(&session.subject, model, SummaryReason::Request, &halt));
    drop(progress);
    stop.turn_ended();
    match done {
        Ok(Summarized::Messages(count)) => format!("{count} messages became a summary"),
        Ok(Summarized::Nothing) if halt.is_cancelled() => "stopped; the messages are as they were".to_owned(),
        Ok(Summarized::Nothing) => "there is nothing to summarise yet".to_owned(),
        Err(why) => why.to_string(),
    }
}

fn messages(session: &Session<'_>) -> Option<Vec<Message>> {
    let read = session.services.sessions.read(&session.subject.agent, &session.subject.session);
    read.ok().map(|transcript| transcript.messages)
}

fn context_text(session: &Session<'_>) -> String {
    let messages = messages(session).unwrap_or_default();
    let window = session.settings.config.turns.context_window;
    // The turn loop's estimate: two tokens for five characters.
    let characters: usize = messages.iter().map(|message| message.content.chars().count() + 12).sum();
    let tokens = characters as u64 * 2 / 5;
    let percent = (tokens * 100).checked_div(window).unwrap_or_default();
    format!("{} messages, about {tokens} tokens of {window} ({percent} %)", messages.len())
}

fn history_text(session: &Session<'_>) -> String {
    let messages = messages(session).unwrap_or_default();
    if messages.is_empty() {
        return "there are no messages in this session yet".to_owned();
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

fn clear_session(session: &Session<'_>) -> String {
    if messages(session).is_none_or(|messages| messages.is_empty()) {
        return "Chat history cleared!".to_owned();
    }
    match session.services.sessions.clear(&session.subject.agent, &session.subject.session) {
        Ok(()) => "Chat history cleared!".to_owned(),
        Err(why) => why.to_string(),
    }
}

fn approvals_text(session: &Session<'_>) -> String {
    match session.settings.config.tools.exec.on_block {
        OnBlock::Ask => "a command that the guard would block is put to you here; Enter alone is a no, and an answer for \
             this session holds for that very content"
            .to_owned(),
        OnBlock::Deny => "a command that the guard blocks is refused; `tools.exec.on_block: \"ask\"` puts it to you instead".to_owned(),
    }
}
