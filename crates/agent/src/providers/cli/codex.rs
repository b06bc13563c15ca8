//! Codex: `codex exec --json`, which prints one JSON object a line. Calls count only in a completed
//! turn.

use super::parse_calls::parse_reply;
use super::process::{CliFormat, Exited, Invocation, Safety, failure};
use super::prompt;
use crate::providers::http::malformed;
use crate::providers::provider::{Answer, Finish, ProviderError, Request, Usage};
use crate::providers::sanitize::AnswerParts;
use serde_json::Value;

/// The command line of Codex.
pub(in crate::providers) struct Codex {
    model: Option<String>,
}

impl Codex {
    /// For the model `id`; the program's own name means its default model.
    pub(in crate::providers) fn new(id: &str) -> Self {
        let is_named = !matches!(id, "codex-cli" | "codexcli" | "codex" | "");
        Self { model: is_named.then(|| id.to_owned()) }
    }
}

impl CliFormat for Codex {
    fn program(&self) -> &'static str {
        "codex"
    }

    fn principal(&self) -> &'static str {
        "codex-cli"
    }

    fn invocation(&self, request: &Request, safety: Safety, directory: Option<&str>) -> Invocation {
        let mut command: Vec<String> = ["codex", "exec", "--json"].map(str::to_owned).into();
        if safety == Safety::Caged {
            command.push("--dangerously-bypass-approvals-and-sandbox".to_owned());
        }
        command.extend(["--skip-git-repo-check", "--color", "never"].map(str::to_owned));
        for (flag, value) in [("-m", self.model.as_deref()), ("-C", directory)] {
            command.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value.to_owned()]));
        }
        let (instructions, conversation) = (prompt::instructions(request), prompt::conversation(request));
        let input = match instructions.as_str() {
            "" => conversation,
            _ => format!("## System Instructions\n\n{instructions}\n\n## Task\n\n{conversation}"),
        };
        Invocation { command, arguments: vec!["-".to_owned()], input }
    }

    fn parse(&self, exited: &Exited) -> Result<Answer, ProviderError> {
        let events = Events::parse(&exited.stdout);
        let Some((last, earlier)) = events.texts.split_last() else {
            return Err(match events.error {
                Some(why) => failure(format!("codex cli returned error: {why}")),
                None if exited.code != Some(0) => exited.failure("codex"),
                None => malformed("`codex` printed no answer"),
            });
        };
        let reply = parse_reply(last);
        if !reply.calls.is_empty() && !events.is_completed && exited.code != Some(0) {
            return Err(malformed("`codex` broke off in the middle of its turn"));
        }
        let mut texts: Vec<&str> = earlier.iter().map(String::as_str).collect();
        texts.push(&reply.text);
        texts.retain(|text| !text.trim().is_empty());
        let parts = AnswerParts {
            content: texts.join("\n"),
            reasoning: String::new(),
            calls: reply.calls,
            usage: events.usage,
        };
        parts.finish(Finish::Stop)
    }
}

/// What the events report.
#[derive(Default)]
struct Events {
    texts: Vec<String>,
    error: Option<String>,
    usage: Usage,
    is_completed: bool,
}

impl Events {
    fn parse(output: &str) -> Self {
        let mut events = Self::default();
        for event in output.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
            let text = |value: &Value| value.as_str().map(str::to_owned);
            match event["type"].as_str().unwrap_or_default() {
                "item.completed" if event["item"]["type"] == "agent_message" => {
                    events.texts.extend(text(&event["item"]["text"]));
                }
                "turn.completed" => {
                    let count = |name: &str| event["usage"][name].as_u64().unwrap_or_default();
                    events.usage = Usage { input: count("input_tokens"), output: count("output_tokens") };
                    events.is_completed = true;
                }
                "error" => events.error = text(&event["message"]).or(events.error),
                "turn.failed" => events.error = text(&event["error"]["message"]).or(events.error),
                _ => {}
            }
        }
        events
    }
}
