//! The embedded provider `direct`: no model. The user's text is the call.
//!
//! A line that names a tool, followed by a JSON object or by nothing, runs that tool; any other
//! line goes to `exec`. The answer is the tool's reply, unchanged. Only the user's messages become
//! calls, never a reply or a subagent's result.

use super::provider::{Answer, AnswerFuture, Finish, Provider, ProviderKind, Request, Sink, ToolSpec};
use crate::message::{Message, Role, ToolCall};
use serde_json::json;
use std::sync::atomic::{AtomicU64, Ordering};

/// Its name.
const NAME: &str = "direct";

/// The beginning of a subagent's result.
const SUBAGENT_RESULT: &str = "[SubTurn Result]";

/// The names of tools, also of those that are disabled here: they are not commands.
const TOOLS: &[&str] = &[
    "append_file",
    "cron",
    "edit_file",
    "exec",
    "list_dir",
    "message",
    "read_file",
    "spawn",
    "subagent",
    "delegate",
    "spawn_status",
    "web_fetch",
    "write_file",
];

/// The end of a reply to a command that the shell did not find.
const UNKNOWN_COMMAND: &str = "[Command exited with code 127]";

/// Ends the answer to a line that is no command.
const NO_MODEL: &str = "\nThere is no model yet, so a line runs as a command.\n\
    To talk to one: `picoclaw onboard`,\n\
    or set `ANTHROPIC_API_KEY` or `OPENAI_API_KEY`.";

/// Answers without a model.
#[derive(Debug, Default)]
pub(super) struct Direct {
    calls: AtomicU64,
}

impl Provider for Direct {
    fn model(&self) -> &str {
        NAME
    }

    fn kind(&self) -> ProviderKind {
        ProviderKind::Direct
    }

    fn ask<'a>(&'a self, request: &'a Request, _sink: &'a mut dyn Sink) -> AnswerFuture<'a> {
        let answer = self.answer(request);
        Box::pin(async move { Ok(answer) })
    }
}

impl Direct {
    fn answer(&self, request: &Request) -> Answer {
        let Some(last) = request.messages.last() else { return Answer::default() };
        match interpret(last, &request.tools) {
            Interpreted::Answer(content) => Answer { content, ..Answer::default() },
            Interpreted::Call { name, arguments } => {
                let id = format!("direct_{}", self.calls.fetch_add(1, Ordering::Relaxed) + 1);
                let call = ToolCall { id, name, arguments };
                Answer { tool_calls: vec![call], finish: Finish::ToolCalls, ..Answer::default() }
            }
        }
    }
}

#[derive(Debug, PartialEq)]
enum Interpreted {
    Answer(String),
    Call { name: String, arguments: String },
}

fn interpret(last: &Message, tools: &[ToolSpec]) -> Interpreted {
    let text = last.content.trim();
    if last.role != Role::User || text.is_empty() || text.starts_with(SUBAGENT_RESULT) || tools.is_empty() {
        let hint = if is_unknown_command(last) { NO_MODEL } else { "" };
        let said = if hint.is_empty() { &last.content } else { unknown_command(&last.content) };
        return Interpreted::Answer(format!("{said}{hint}"));
    }
    let (word, rest) = text.split_at(text.find(char::is_whitespace).unwrap_or(text.len()));
    let rest = rest.trim_start();
    let is_offered = tools.iter().any(|tool| tool.name == word);
    if (is_offered && rest.is_empty()) || (rest.starts_with('{') && (is_offered || TOOLS.contains(&word))) {
        let arguments = if rest.is_empty() { "{}" } else { rest };
        return Interpreted::Call { name: word.to_owned(), arguments: arguments.to_owned() };
    }
    Interpreted::Call { name: "exec".to_owned(), arguments: json!({ "command": text }).to_string() }
}

/// Whether a shell did not find the command that a person typed.
fn is_unknown_command(last: &Message) -> bool {
    last.role == Role::Tool && last.content.ends_with(UNKNOWN_COMMAND)
}

/// What the shell said about it, if that is all of the output.
fn unknown_command(content: &str) -> &str {
    let said = content.strip_prefix("STDERR:\n").and_then(|rest| rest.strip_suffix(UNKNOWN_COMMAND));
    said.map(str::trim).filter(|said| !said.contains('\n')).unwrap_or(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_is_no_command_is_told_how_to_get_a_model() {
        let answer = |text: &str| match interpret(&Message::result("direct_1", text), &[]) {
            Interpreted::Answer(answer) => answer,
            call => panic!("{call:?}"),
        };
        let unknown =
            answer("STDERR:\nbash: line 1: hi: command not found\n\n\n[Command exited with code 127]");
        assert!(
            unknown.starts_with("bash: line 1: hi: command not found\nThere is no model yet"),
            "{unknown}"
        );
        let more = answer("one\nSTDERR:\nx: not found\n\n[Command exited with code 127]");
        assert!(more.starts_with("one\nSTDERR:") && more.contains("picoclaw onboard"), "{more}");
        for known in ["ls: no such file\n\n[Command exited with code 1]", "code 127\n"] {
            assert_eq!(answer(known), known);
        }
    }

    #[test]
    fn what_a_person_writes_is_the_call() {
        let tool =
            |name: &str| ToolSpec { name: name.into(), description: String::new(), parameters: json!({}) };
        let tools = [tool("exec"), tool("list_dir"), tool("mcp_files_read")];
        let exec = |command: &str| ("exec".to_owned(), json!({ "command": command }).to_string());
        let call = |name: &str, arguments: &str| (name.to_owned(), arguments.to_owned());
        for (why, text, want) in [
            ("a command", "ls -l", exec("ls -l")),
            ("several lines are one command", "cd src\nls", exec("cd src\nls")),
            ("a tool with JSON", r#"list_dir {"path": "."}"#, call("list_dir", r#"{"path": "."}"#)),
            (
                "JSON over several lines",
                "list_dir\n{\"path\":\n\".\"}",
                call("list_dir", "{\"path\":\n\".\"}"),
            ),
            ("a tool alone", " list_dir ", call("list_dir", "{}")),
            ("a tool of a server", "mcp_files_read {}", call("mcp_files_read", "{}")),
            ("broken JSON is told by the tool, not run", r#"list_dir {"path"#, call("list_dir", r#"{"path"#)),
            ("a tool that is switched off is no command", "read_file {}", call("read_file", "{}")),
            ("a program that has a tool's name, with words", "exec ls", exec("exec ls")),
            ("a program fed with braces", r#"echo {"a":1}"#, exec(r#"echo {"a":1}"#)),
            ("a tool nobody offers, alone", "cron", exec("cron")),
        ] {
            let (name, arguments) = want;
            let got = interpret(&Message::text(Role::User, text), &tools);
            assert_eq!(got, Interpreted::Call { name, arguments }, "{why}: `{text}`");
        }
    }

    #[test]
    fn what_others_wrote_is_never_a_call() {
        let tools = [ToolSpec { name: "exec".into(), description: String::new(), parameters: json!({}) }];
        for (why, message, tools) in [
            ("a tool's reply is the answer", Message::result("direct_1", "ls\n"), &tools[..]),
            ("a subagent's result", Message::text(Role::User, "[SubTurn Result] ls"), &tools),
            ("nothing at all", Message::text(Role::User, "  "), &tools),
            ("nothing may be called", Message::text(Role::User, "ls"), &[]),
        ] {
            let content = message.content.clone();
            assert_eq!(interpret(&message, tools), Interpreted::Answer(content), "{why}");
        }
    }
}
